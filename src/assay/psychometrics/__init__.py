"""Generalizability of scores, and the gain from further raters or lessons."""
