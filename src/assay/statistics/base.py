"""What every statistic is, and the few sums that several are made of. Nothing in this folder checks.

A *panel* statistic takes all labels of an item at once; a *pair* statistic takes two labels of an item, x and y.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats, Ints

Made = TypeVar("Made")

ROUNDING = 1e-12
"""What is smaller than this share of the terms it is the difference of counts as zero."""


class PanelStatistic(Protocol):
    """A statistic of summed moments of the labels of items."""

    @property
    def width(self) -> int:
        """How many moments there are."""

    def moments(self, data: Answers) -> Floats:
        """What each item adds: (items, k)."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., k) -> (..., q)."""


class Based(Protocol):
    """A statistic that is made of a few numbers of which others are made, too."""

    @property
    def basis(self) -> Hashable:
        """What they are numbers of: statistics with the same are made of the same."""

    def numbers(self, sums: Floats) -> Floats:
        """The numbers from summed moments: (..., k) -> (..., b)."""

    def of(self, numbers: Floats) -> Floats:
        """The statistic from the numbers: (..., b) -> (..., q)."""


def based(statistic: PanelStatistic) -> Based | None:
    """The statistic, where it is made of numbers of which others may be made, too."""
    return None if getattr(statistic, "basis", None) is None else cast(Based, statistic)


@dataclass(frozen=True, eq=False)
class Slice(Answers):
    """Labels of which several statistics are taken: what they share is made once, and goes when the labels go.

    Statistics ask how many items there are; their names may be missing.
    """

    n_items: int = field(kw_only=True)
    made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, answers: Answers) -> Slice:
        """The same labels."""
        if isinstance(answers, Slice):
            return answers
        return cls(
            answers.item, answers.annotator, answers.value, answers.items, answers.annotators, answers.categories,
            n_items=answers.n_items,
        )  # fmt: skip


def once(answers: Answers, key: Hashable, make: Callable[[], Made]) -> Made:
    """What ``make`` says of these labels; it is not asked again where the labels can keep it."""
    if not isinstance(answers, Slice):
        return make()
    if key not in answers.made:
        answers.made[key] = make()
    found: Made = answers.made[key]
    return found


def item_sums(answers: Answers, *columns: Floats) -> list[Floats]:
    """Each column summed over the labels of an item, after the number of labels: (items,) each."""
    n = answers.n_items
    number = np.bincount(answers.item, minlength=n).astype(float)
    return [number, *(np.bincount(answers.item, weights=column, minlength=n) for column in columns)]


def grid(answers: Answers) -> Floats:
    """Labels as (items, annotators), NaN where nobody answered; not to be written to."""
    return once(answers, "grid", lambda: _grid(answers))


def _grid(answers: Answers) -> Floats:
    cells = np.full((answers.n_items, len(answers.annotators)), np.nan)
    cells[answers.item, answers.annotator] = answers.value
    return cells


def ratio(above: Floats, below: Floats, least: float | Floats = 0.0) -> Floats:
    """Division that gives NaN where what is below is at most ``least``, which stands for nothing up to rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.abs(below) > least, above / below, np.nan))


def label_runs(answers: Answers) -> tuple[Ints, Ints]:
    """Where each item's labels start among the labels, and how many there are: (items,) each."""
    number = np.bincount(answers.item, minlength=answers.n_items)
    return np.cumsum(number) - number, number


def mean_first(each: Floats) -> Floats:
    """The mean of the values that are defined, then the values themselves; one value stands alone."""
    if each.shape[-1] == 1:
        return each
    known = ~np.isnan(each)
    mean = ratio(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))
    return np.concatenate([np.asarray(mean)[..., None], each], axis=-1)


__all__ = [
    "ROUNDING",
    "Based",
    "Floats",
    "Ints",
    "PanelStatistic",
    "Slice",
    "based",
    "grid",
    "item_sums",
    "label_runs",
    "mean_first",
    "once",
    "ratio",
]
