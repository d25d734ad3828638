"""A study: its definition, and the store of its items and answers."""

PLAN_FILE = "plan.yaml"
"""The preregistered plan in a study's folder."""

PLAN_QUESTION = "alt-test"
"""The analysis of a plan file, its key ``question``."""

LOOKS = "looks"
"""The setting of a study's store with its interim analyses: fingerprint of the labels, number of items, time."""


def items_at_look(n_items: int, look: int, looks: int) -> int:
    """Return the number of items at an interim analysis: planned analyses are equally spaced."""
    return round(n_items * min(look, looks) / looks)
