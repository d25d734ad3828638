"""Columns that are computed from other columns: means, medians, totals and majorities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.data.cells import ColumnView

MIN_DIFFERING_COMPUTED = 3
"""Rows in which the other columns differ, from which a column of their exact means or totals is called computed."""

MIN_DIFFERING_MAJORITY = 10
"""Rows in which the other columns differ, from which a column that equals their majority, median or rounded mean is
ambiguous: an annotator who agrees with it in three of four such rows does so in ten of ten with probability .06, in
three of three with .42."""


class Computed(NamedTuple):
    """A column that equals a quantity of others."""

    name: str
    how: str
    of: tuple[str, ...]
    could_be_person: bool
    """Whether an annotator could have given these labels."""


def computed_columns(
    views: Mapping[str, ColumnView], labels: Sequence[str], models: set[str], suspects: Sequence[str] = ()
) -> list[Computed]:
    """Find the columns that are computed from others.

    Parameters
    ----------
    views : mapping
    labels : sequence of str
        Columns that could hold an annotator's labels.
    models : set of str
        Those of judges: a column can be computed from people only, or from all.
    suspects : sequence of str
        Further columns, with names of computed columns.
    """
    if len(labels) < 3:
        return []
    values = {n: v.numbers.to_numpy() for n in labels if (v := views[n]).numbers is not None}  # type: ignore[union-attr]
    found: dict[str, Computed] = {}
    # A computed column usually follows the columns that it is computed from: of two equal columns, it is the later.
    for name in (*(n for n in reversed(labels) if n not in models), *suspects):
        others = [n for n in labels if n != name and n not in found]
        for group in dict.fromkeys((tuple(n for n in others if n not in models), tuple(others))):
            how = _follows(name, group, values, views) if len(group) >= 2 else None
            if how is None:
                continue
            # An annotator can agree with the others in every row of a small sheet, but gives no fractions.
            human = how in ("majority", "median", "rounded mean") or (how == "mean" and views[name].whole)
            found[name] = Computed(name, how, group, human)
            break
    return list(found.values())


def _follows(
    name: str, others: Sequence[str], values: Mapping[str, NDArray[np.float64]], views: Mapping[str, ColumnView]
) -> str | None:
    """How a column is computed from others: see `_arithmetic`; None if it is not."""
    view = views[name]
    if view.numbers is not None and all(n in values for n in others):
        return _arithmetic(view.numbers.to_numpy(), np.stack([values[n] for n in others]))
    if view.is_text and len(others) >= 3:
        return _majority_of_words(view, [views[n] for n in others])
    return None


def _majority_of_words(view: ColumnView, others: Sequence[ColumnView]) -> str | None:
    uneven = 0
    for said, *votes in zip(view.texts.to_list(), *(one.texts.to_list() for one in others), strict=True):
        there = [v for v in votes if v is not None]
        if said is None or len(set(there)) < 2:
            continue
        most = max(map(there.count, set(there)))
        first = [v for v in set(there) if there.count(v) == most]
        if len(first) > 1:
            continue
        if said != first[0]:
            return None
        uneven += 1
    return "majority" if uneven >= MIN_DIFFERING_MAJORITY else None


def _arithmetic(column: NDArray[np.float64], others: NDArray[np.float64]) -> str | None:
    """How a column is computed from the others, by all rows: mean, median, total, majority or rounded mean."""
    there = np.isfinite(column) & (np.isfinite(others).sum(axis=0) >= 2)
    column, others = column[there], others[:, there]
    if not len(column):
        return None
    uneven = np.nanmax(others, axis=0) > np.nanmin(others, axis=0)
    if uneven.sum() < MIN_DIFFERING_COMPUTED:
        return None
    decimals = max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in column[:200]), default=0)
    step = 0.5 * 10.0**-decimals + 1e-9 if decimals else 1e-9
    found = {
        "mean": np.nanmean(others, axis=0),
        "median": np.nanmedian(others, axis=0),
        "total": np.nansum(others, axis=0),
    }
    few = uneven.sum() < MIN_DIFFERING_MAJORITY
    whole = bool((column % 1 == 0).all())
    for how, value in found.items():
        by_chance = few and (how == "median" or (how == "mean" and whole))
        if not by_chance and bool((np.abs(column - value) <= step).all()):
            return how
    return "majority" if _is_majority(column, others, uneven) else _rounded_mean(column, others, found["mean"])


def _rounded_mean(column: NDArray[np.float64], others: NDArray[np.float64], mean: NDArray[np.float64]) -> str | None:
    """Halves can be rounded up or down. Rows in which the others differ by less than 2 do not count as evidence."""
    far = np.nanmax(others, axis=0) - np.nanmin(others, axis=0) >= 2
    whole = bool((column % 1 == 0).all())
    near = bool((np.abs(column - mean) <= 0.5 + 1e-9).all())
    return "rounded mean" if whole and near and far.sum() >= MIN_DIFFERING_MAJORITY else None


def _is_majority(column: NDArray[np.float64], others: NDArray[np.float64], uneven: NDArray[np.bool_]) -> bool:
    if len(others) < 3:
        return False
    counts = np.stack([(others == row).sum(axis=0) for row in others])
    most = counts.max(axis=0)
    values = np.where(counts == most, others, np.nan)
    single = np.nanmax(values, axis=0) == np.nanmin(values, axis=0)
    decided = uneven & single
    return bool(
        decided.sum() >= MIN_DIFFERING_MAJORITY and (column[decided] == np.nanmax(values, axis=0)[decided]).all()
    )
