"""Two labels of an item, x and y: κ, correlations, distances; and pairs among more than two annotators."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.categories import (
    ROUNDING,
    PanelStatistic,
    Slice,
    Weights,
    agreement_weights,
    grid,
    label_runs,
    ratio,
    reuse,
)


class PairStatistic(Protocol):
    """A statistic of two labels of each item."""

    @property
    def width(self) -> int:
        """How many moments a pair has."""

    def pair_moments(self, x: Floats, y: Floats) -> Floats:
        """Return the contribution of each pair: (..., width)."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., width) -> (...)."""


@dataclass(frozen=True, eq=False)
class Kappa:
    """Cohen's κ, or Scott's π where both annotators share one distribution; any weights on finite categories."""

    categories: Floats
    weights: Weights | Floats
    shared: bool = False

    @cached_property
    def credit(self) -> Floats:
        """Return the agreement of two categories: (C, C)."""
        return agreement_weights(self.categories, self.weights)

    @property
    def width(self) -> int:
        """Agreement, pairs, categories of both."""
        return 1 + 2 * len(self.categories)

    def pair_moments(self, x: Floats, y: Floats) -> Floats:
        """Agreement and the categories that were given."""
        c = len(self.categories)
        x_code, y_code = np.searchsorted(self.categories, x), np.searchsorted(self.categories, y)
        moments = np.zeros((*x.shape, self.width))
        moments[..., 0] = self.credit[x_code, y_code]
        np.put_along_axis(moments, 1 + x_code[..., None], 1.0, axis=-1)
        np.put_along_axis(moments, 1 + c + y_code[..., None], 1.0, axis=-1)
        return moments

    def value(self, sums: Floats) -> Floats:
        """(observed - expected) / (1 - expected)."""
        c = len(self.categories)
        first, second = sums[..., 1 : 1 + c], sums[..., 1 + c :]
        number = first.sum(axis=-1)
        if self.shared:
            first = second = (first + second) / 2
        observed = ratio(sums[..., 0], number)
        expected = ratio(((first @ self.credit) * second).sum(axis=-1), number**2)
        return np.asarray(ratio(observed - expected, 1 - expected, ROUNDING))


@dataclass(frozen=True, eq=False)
class Moments2:
    """Statistics of Σ1, Σx, Σy, Σx², Σy², Σxy: Pearson's r, and κ with quadratic weights, which needs no categories."""

    centre: float
    kind: Literal["pearson", "quadratic"]

    width = 6

    def pair_moments(self, x: Floats, y: Floats) -> Floats:
        """The six sums."""
        x, y = x - self.centre, y - self.centre
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)

    def value(self, sums: Floats) -> Floats:
        """R, or 1 - Σ(x - y)² / its expectation when x and y are independent."""
        n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
        covariance = n * xy - x * y
        if self.kind == "quadratic":
            return np.asarray(ratio(2 * covariance, n * (xx + yy) - 2 * x * y, ROUNDING * n * (xx + yy)))
        least = ROUNDING * n**2 * xx * yy
        variances = (n * xx - x * x) * (n * yy - y * y)
        return np.asarray(ratio(covariance, np.sqrt(np.maximum(variances, 0.0)), np.sqrt(least)))


@dataclass(frozen=True, eq=False)
class RankTable:
    """Spearman's ρ or Kendall's τ-b from the cross table of two annotators' labels on finitely many values."""

    categories: Floats
    kind: Literal["spearman", "kendall"]

    @property
    def width(self) -> int:
        """Cells of the table."""
        return len(self.categories) ** 2

    def pair_moments(self, x: Floats, y: Floats) -> Floats:
        """The cell that a pair falls into."""
        cell = np.searchsorted(self.categories, x) * len(self.categories) + np.searchsorted(self.categories, y)
        moments = np.zeros((*x.shape, self.width))
        np.put_along_axis(moments, cell[..., None], 1.0, axis=-1)
        return moments

    def value(self, sums: Floats) -> Floats:
        """Ranks are midranks; τ-b corrects for ties."""
        c = len(self.categories)
        table = sums.reshape(*sums.shape[:-1], c, c)
        rows, columns = table.sum(axis=-1), table.sum(axis=-2)
        n = rows.sum(axis=-1)
        if self.kind == "spearman":
            x = np.cumsum(rows, axis=-1) - rows / 2 - n[..., None] / 2
            y = np.cumsum(columns, axis=-1) - columns / 2 - n[..., None] / 2
            covariance = np.einsum("...ij,...i,...j->...", table, x, y)
            spread = np.sqrt((rows * x * x).sum(axis=-1) * (columns * y * y).sum(axis=-1))
            return np.asarray(ratio(covariance, spread))
        # Pairs below and to the right of a cell are concordant with it, below and to the left discordant.
        below = np.cumsum(table[..., ::-1, :], axis=-2)[..., ::-1, :] - table
        left = np.cumsum(below, axis=-1) - below
        right = below.sum(axis=-1, keepdims=True) - left - below
        concordance = (table * (right - left)).sum(axis=(-2, -1))
        untied = (n**2 - (rows**2).sum(axis=-1)) * (n**2 - (columns**2).sum(axis=-1))
        return np.asarray(ratio(2 * concordance, np.sqrt(untied)))


@dataclass(frozen=True, eq=False)
class Distance:
    """Mean absolute error, root mean squared error, or mean signed difference (second minus first)."""

    kind: Literal["mae", "rmse", "bias"]
    unit: float = 1.0
    """What counts as 1: the range of the scale for a normalised error."""

    width = 2

    def pair_moments(self, x: Floats, y: Floats) -> Floats:
        """A pair's difference, and one."""
        d = (y - x) / self.unit
        d = np.abs(d) if self.kind == "mae" else d * d if self.kind == "rmse" else d
        return np.stack([d, np.ones_like(d)], axis=-1)

    def value(self, sums: Floats) -> Floats:
        """The mean."""
        mean = ratio(sums[..., 0], sums[..., 1])
        return np.asarray(np.sqrt(mean) if self.kind == "rmse" else mean)


def mean_first(each: Floats) -> Floats:
    """Return the mean of the defined values, then the values; a single value is returned alone."""
    if each.shape[-1] == 1:
        return each
    known = ~np.isnan(each)
    mean = ratio(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))
    return np.concatenate([np.asarray(mean)[..., None], each], axis=-1)


@dataclass(frozen=True, eq=False)
class MeanOfPairs:
    """A pair statistic for each pair of annotators on the items that both labelled, averaged (Light 1971)."""

    statistic: PairStatistic
    first: Ints
    second: Ints

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.statistic.width * len(self.first)

    def moments(self, data: Answers) -> Floats:
        """The moments of every pair of annotators, side by side."""
        key = ("columns", self.first.tobytes(), self.second.tobytes())
        x, y, both = reuse(data, key, lambda: _columns(data, self.first, self.second))
        moments = self.statistic.pair_moments(x, y)
        if not both.all():
            moments *= both[..., None]
        return moments.reshape(len(both), -1)

    def value(self, sums: Floats) -> Floats:
        """Return the value of each pair, after the mean of the defined values if there are several."""
        return mean_first(self.statistic.value(sums.reshape(*sums.shape[:-1], len(self.first), -1)))


@dataclass(frozen=True, eq=False)
class WithinItems:
    """A statistic of two annotators over pairs of labels of the same item, each item counting once.

    The first label is by an annotator of ``first``, the second by another of ``second``: what to expect of
    one drawn at random against one drawn at random.
    """

    statistic: PanelStatistic
    first: Bools
    second: Bools

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.statistic.width

    @property
    def sides(self) -> tuple[int, int]:
        """How many annotators meet how many."""
        return int(self.first.sum()), int(self.second.sum())

    def moments(self, data: Answers) -> Floats:
        """The mean over the item's pairs."""
        key = ("label pairs", self.first.tobytes(), self.second.tobytes())
        found = reuse(data, key, lambda: label_pairs(data, self.first, self.second))
        total = np.zeros((data.n_items, self.statistic.width))
        if len(found.starts):
            each = self.statistic.moments(found.labels)[found.kind]
            rows = each / np.repeat(found.number, found.number)[:, None]
            total[found.item] = np.add.reduceat(rows, found.starts, axis=0)
        return total

    def value(self, sums: Floats) -> Floats:
        """The statistic."""
        return self.statistic.value(sums)

    def value_sharing(self, sums: Floats, made: dict[Hashable, Any]) -> Floats:
        """Return the statistic, from numbers that are shared with others of the same annotators."""
        sharing = getattr(self.statistic, "value_sharing", None)
        if sharing is None:
            return self.statistic.value(sums)
        found: Floats = sharing(sums, made.setdefault((self.first.tobytes(), self.second.tobytes()), {}))
        return found


def _columns(data: Answers, first: Ints, second: Ints) -> tuple[Floats, Floats, Bools]:
    """The labels of the first and second of each pair of annotators, and whether both are there: (items, pairs)."""
    cells = grid(data)
    x, y = cells[:, first], cells[:, second]
    both = ~(np.isnan(x) | np.isnan(y))
    fill = data.value[0] if len(data.value) else 0.0
    return np.where(both, x, fill), np.where(both, y, fill), both


class LabelPairs(NamedTuple):
    """Pairs of labels of the same item, as if each pair were an item with two annotators.

    Attributes
    ----------
    item, starts, number : (items with a pair,) int
        The item, its first pair, and how many pairs it has.
    labels : Slice
        Pairs as items, without names; only the different pairs if there are more pairs than possible kinds.
    kind : (pairs,) int
        Which of them each pair is.
    """

    item: Ints
    starts: Ints
    number: Ints
    labels: Slice
    kind: Ints


def label_pairs(answers: Answers, first: Bools, second: Bools) -> LabelPairs:
    """Every two labels of an item by an annotator of ``first`` and another of ``second``."""
    if not (either := (first | second)[answers.annotator]).all():
        answers = answers.select(either)
    start, number = label_runs(answers)
    one = np.flatnonzero(first[answers.annotator])
    partners = number[answers.item[one]]
    step = np.arange(partners.sum()) - np.repeat(np.cumsum(partners) - partners, partners)
    one = np.repeat(one, partners)
    other = start[answers.item[one]] + step
    keep = (one != other) & second[answers.annotator[other]]
    one, other = one[keep], other[keep]
    item = answers.item[one]
    starts = np.flatnonzero(np.diff(item, prepend=-1))
    values, code = np.unique(answers.value, return_inverse=True)
    x, y, kind = code[one], code[other], np.arange(len(one))
    if len(values) ** 2 < len(one):
        key = x * len(values) + y
        there = np.bincount(key, minlength=len(values) ** 2) > 0
        x, y = np.divmod(np.flatnonzero(there), len(values))
        kind = (np.cumsum(there) - 1)[key]
    labels = Slice(
        np.repeat(np.arange(len(x)), 2), np.tile([0, 1], len(x)), values[np.stack([x, y], axis=1).ravel()], (),
        ("first", "second"), answers.categories, n_items=len(x),
    )  # fmt: skip
    return LabelPairs(item[starts], starts, np.diff(starts, append=len(item)), labels, kind)
