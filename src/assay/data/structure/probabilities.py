"""Columns with a judge's probabilities of the labels: one for each label, ``p_no`` and ``p_yes``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

PREFIXES = ("p_", "p:")
"""How the names of columns with the probabilities of labels begin."""

OFF_ONE = 0.01
"""Largest deviation from 1 of the sum of an item's probabilities; smaller deviations are normalised."""


def probability_columns(columns: Mapping[str, pl.Series], labels: Iterable[Collection[Any]]) -> tuple[str, ...]:
    """Return the columns that hold the probabilities of labels.

    Their names are a prefix and a label each, and the sum of each row that has a value is 1. Labels that do not occur
    can have a column too.

    Parameters
    ----------
    columns : mapping of name to Series of float
        Numeric columns, null if a cell is missing.
    labels : iterable of collections
        Sets of labels that could be those of the table: the columns contain every label of one of them.
    """
    known = [{_plain(label) for label in one} for one in labels]
    for prefix in PREFIXES:
        named = {name: _plain(name[len(prefix) :]) for name in columns if name.startswith(prefix)}
        inside = [one for one in known if one and one <= set(named.values())] if len(named) > 1 else []
        # Another column can have such a name: p_value.
        for wanted in [set(named.values()), *inside] if inside else []:
            group = [name for name, label in named.items() if label in wanted]
            if len(group) > 1 and _sum_to_one([columns[name] for name in group]):
                return tuple(group)
    return ()


def _plain(label: Any) -> Any:
    """A label as columns name it: a number is the same number in any spelling."""
    text = str(label).strip()
    try:
        return float(text)
    except ValueError:
        return text


def _sum_to_one(columns: Sequence[pl.Series]) -> bool:
    """Whether numbers are probabilities: none is negative, and each row with a value sums to 1."""
    frame = pl.DataFrame([one.cast(pl.Float64).fill_nan(None).alias(str(i)) for i, one in enumerate(columns)])
    there = frame.filter(pl.any_horizontal(pl.all().is_not_null())).fill_null(0.0)
    if not there.height:
        return False
    sums = there.sum_horizontal()
    least = there.min_horizontal().min()
    return bool(((sums - 1).abs() <= OFF_ONE).all()) and isinstance(least, float) and least >= 0
