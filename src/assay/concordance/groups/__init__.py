"""Disagreement among annotators, and groups of them."""
