"""Similarity of ideas: odd-one-out choices of experts, and the validity of similarity measures."""
