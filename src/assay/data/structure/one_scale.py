"""Columns whose cells could be labels on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.data.names import label_key
from assay.data.structure.cells import LEAST_NUMERIC, ColumnView

MOST_SHARED_VALUES = 15
"""Numbers up to which two columns are compared by their values, not by their range."""

FEW_ROWS = 30
"""Rows up to which two columns on one scale can have few values in common."""

VERY_FEW_ROWS = 3
"""Rows up to which words of two columns are not compared."""

USUAL_SCALE = -3, 10
"""Numbers within these limits can be labels on one scale, if there are too few to compare their values."""


def values_of(view: ColumnView) -> set[Any]:
    """The different cells of a column: numbers by their value, so that 4.0 is 4, and words by their spelling key."""
    return set(label_key(view.distinct)) if view.values is None else set(view.values.tolist())


def on_one_scale(one: ColumnView, other: ColumnView) -> bool:
    """Whether the cells of two columns could be labels on one scale."""
    if (one.values is None) != (other.values is None):
        return False
    few = min(one.filled, other.filled) < FEW_ROWS
    first, second = values_of(one), values_of(other)
    if one.values is None:
        shared = len(first & second)
        if min(one.filled, other.filled) < VERY_FEW_ROWS:
            return True
        return shared > 0 if few else 2 * shared >= min(len(first), len(second))
    if few and all(USUAL_SCALE[0] <= x <= USUAL_SCALE[1] for x in first | second):
        return True
    if max(len(first), len(second)) <= MOST_SHARED_VALUES and not few:
        return len(first & second) >= 0.6 * min(len(first), len(second))
    shares = _share_within(one, other), _share_within(other, one)
    if max(shares) < 0.9:
        return False
    if min(len(first), len(second)) > 2:
        return min(shares) >= 0.25
    # 1 and 5 can be all labels of an annotator, and 0 and 1 lie between probabilities; but not all around an income.
    wide = shares[0] if len(first) > len(second) else shares[1]
    return (one.whole and other.whole) or wide >= 0.9


def on_same_values(one: ColumnView, other: ColumnView) -> bool:
    """Whether nearly all cells of a column of numbers are values of another one, or lie in its range if it has many."""
    if one.numbers is None or other.numbers is None or not on_one_scale(one, other):
        return False
    if other.n_values > MOST_SHARED_VALUES:
        return _share_within(one, other) >= LEAST_NUMERIC
    cells = one.numbers.drop_nulls().round(9)
    return float(cells.is_in([*values_of(other)]).mean() or 0) >= LEAST_NUMERIC  # type: ignore[arg-type]


def _share_within(one: ColumnView, other: ColumnView) -> float:
    """The share of a column's numbers within the range of another's."""
    there = one.numbers.drop_nulls()  # type: ignore[union-attr]
    return float(there.is_between(*(other.ends or (0, 0))).mean() or 0)  # type: ignore[arg-type]


def scale_groups(names: Sequence[str], views: Mapping[str, ColumnView]) -> list[list[str]]:
    """Group columns that could hold labels on one scale, the largest group first."""
    groups: list[list[str]] = []
    for name in names:
        near = [g for g in groups if any(on_one_scale(views[name], views[o]) for o in g)]
        joined = [n for g in near for n in g]
        groups = [[*joined, name], *(g for g in groups if g not in near)]
    order = {name: i for i, name in enumerate(names)}
    groups = [sorted(g, key=order.__getitem__) for g in groups]
    return sorted(groups, key=lambda g: (-len(g), order[g[0]]))
