"""Rank statistics of labels that have too many values for a table: functions of the weight of each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats, Ints
from assay.statistics.categories import label_runs, ratio
from assay.statistics.pairs import mean_first


@dataclass(frozen=True, eq=False)
class Ranking:
    """A column's values in order: ranks for any weights."""

    code: Ints
    order: Ints
    start: Ints

    @classmethod
    def of(cls, column: Floats) -> Ranking:
        """Sort once."""
        _, code = np.unique(column, return_inverse=True)
        order = np.argsort(code, kind="stable")
        return cls(code, order, np.flatnonzero(np.diff(code[order], prepend=-1)))

    def ties(self, weights: Floats) -> Floats:
        """The weight of each different value: (..., values)."""
        return np.add.reduceat(weights[..., self.order], self.start, axis=-1)

    def midranks(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the centred midrank of each different value, and its weight."""
        tied = self.ties(weights)
        return np.cumsum(tied, axis=-1) - tied / 2 - tied.sum(axis=-1, keepdims=True) / 2, tied


@dataclass(frozen=True, eq=False)
class PairRanks:
    """Spearman's ρ or Kendall's τ-b for labels with many values: each pair of annotators, after their mean."""

    kind: Literal["spearman", "kendall"]
    cells: Floats
    first: Ints
    second: Ints

    @property
    def items_used(self) -> int:
        """Items that some pair of annotators both labelled."""
        return int((~np.isnan(self.cells[:, self.first] + self.cells[:, self.second])).any(axis=1).sum())

    def value(self, sums: Floats) -> Floats:
        """Return the statistic from weights; the mean comes first if there are several pairs."""
        return mean_first(np.stack([self._weigh(sums, a, b) for a, b in self._pairs()], axis=-1))

    def value_of_items(self, items: Ints) -> Floats:
        """From some items."""
        from scipy.stats import kendalltau

        each = []
        for a, b in self._pairs():
            x, y = self.cells[items, a], self.cells[items, b]
            both = ~(np.isnan(x) | np.isnan(y))
            if self.kind == "kendall":
                each.append(float(kendalltau(x[both], y[both]).statistic) if both.sum() > 1 else np.nan)
            else:
                each.append(float(_spearman(x[both], y[both], np.ones(int(both.sum())))))
        return mean_first(np.array(each))

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.first.tolist(), self.second.tolist(), strict=True))

    def _weigh(self, weights: Floats, a: int, b: int) -> Floats:
        x, y = self.cells[:, a], self.cells[:, b]
        both = ~(np.isnan(x) | np.isnan(y))
        of_pair = _spearman if self.kind == "spearman" else _kendall
        return of_pair(x[both], y[both], weights[..., both])


def _spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    if weights.shape[-1] < 2:
        return np.full(weights.shape[:-1], np.nan)
    one, two = Ranking.of(x), Ranking.of(y)
    (x_rank, x_tied), (y_rank, y_tied) = one.midranks(weights), two.midranks(weights)
    covariance = (weights * x_rank[..., one.code] * y_rank[..., two.code]).sum(axis=-1)
    spread = np.sqrt((x_tied * x_rank**2).sum(axis=-1) * (y_tied * y_rank**2).sum(axis=-1))
    return np.asarray(ratio(covariance, spread))


def _kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    if weights.shape[-1] < 2:
        return np.full(weights.shape[:-1], np.nan)
    # Single precision is exact for signs and makes the product of weights with all pairs twice as quick.
    signs = (np.sign(x[:, None] - x) * np.sign(y[:, None] - y)).astype(np.float32)
    concordance = ((weights.astype(np.float32) @ signs).astype(float) * weights).sum(axis=-1)
    n = weights.sum(axis=-1)
    untied = [n**2 - (Ranking.of(column).ties(weights) ** 2).sum(axis=-1) for column in (x, y)]
    return np.asarray(ratio(concordance, np.sqrt(untied[0] * untied[1])))


@dataclass(frozen=True, eq=False)
class AlphaRanks:
    """Krippendorff's ordinal α for labels with many values; only labels of items with two or more count."""

    answers: Answers

    @property
    def items_used(self) -> int:
        """Items with two or more labels."""
        return int((label_runs(self.answers)[1] > 1).sum())

    def value(self, sums: Floats) -> Floats:
        """From weights: the distance of two labels is that of their midranks, squared."""
        number = label_runs(self.answers)[1]
        pairable = number[self.answers.item] > 1
        item, number = self.answers.item[pairable], number[number > 1]
        ranking = Ranking.of(self.answers.value[pairable])
        rank, tied = ranking.midranks(sums[..., item])
        of_label = rank[..., ranking.code]
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        squares = np.add.reduceat(of_label**2, starts, axis=-1)
        total = np.add.reduceat(of_label, starts, axis=-1)
        weight = sums[..., item[starts]]
        observed = (weight * 2 * (number * squares - total**2) / (number - 1)).sum(axis=-1)
        n = tied.sum(axis=-1)
        spread = 2 * (n * (tied * rank**2).sum(axis=-1) - (tied * rank).sum(axis=-1) ** 2)
        return np.asarray(1 - ratio(observed, ratio(spread, n - 1)))[..., None]

    def value_of_items(self, items: Ints) -> Floats:
        """From some items."""
        weights = np.zeros(len(self.answers.items))
        weights[items] = 1.0
        return self.value(weights)


Ranks = PairRanks | AlphaRanks
"""Statistics of the weights of items, not of sums; with ``value_of_items`` for some items that weigh one each."""
