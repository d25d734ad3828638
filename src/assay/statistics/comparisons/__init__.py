"""Votes between systems and choices among three."""
