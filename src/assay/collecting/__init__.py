"""Collect human labels: the annotation page, the assignment of items, and the dashboard of the study lead."""
