"""Choices of the odd one of three: what they count for each pair, how alike pairs are, how choices arise.

A choice speaks of three pairs of texts at once: the two that are left are kept together, the odd one is parted from
both. Nothing here checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.statistic import Floats, Ints

PLACES = ((0, 1), (0, 2), (1, 2))
"""The three pairs of a triplet, by place."""

KEPT = np.array([2, 1, 0])
"""Which of `PLACES` a choice keeps together: choosing A keeps B and C."""

MOST_CELLS = 60_000_000
"""Pairs are counted in a table of all possible ones up to this size, by sorting beyond."""

CHANCE = 1 / 3
"""How often two who choose without looking agree; also the mean of all similarities."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """How often each pair of texts was compared, and kept together.

    Attributes
    ----------
    first, second : (pairs,) int
        Positions of the texts, first < second; sorted.
    n, kept : (pairs,) int
        Choices that concern both; those of them in which neither was the odd one.
    """

    first: Ints
    second: Ints
    n: Ints
    kept: Ints

    @classmethod
    def of(cls, member: Ints, odd: Ints, n_texts: int) -> PairTable:
        """From the positions of the three texts of each choice, (choices, 3), and the place of the odd one."""
        codes = pair_codes(member, n_texts)
        together = np.take_along_axis(codes, KEPT[odd][:, None], axis=1)[:, 0]
        cells = n_texts * (n_texts - 1) // 2
        if cells <= max(MOST_CELLS, codes.size):
            n_all = np.bincount(codes.ravel(), minlength=cells)
            code = np.flatnonzero(n_all)
            n, kept = n_all[code], np.bincount(together, minlength=cells)[code]
        else:
            code, n = np.unique(codes, return_counts=True)
            kept = np.bincount(np.searchsorted(code, together), minlength=len(code))
        return cls(*pair_of_code(code, n_texts), n, kept)

    def __len__(self) -> int:
        return len(self.n)

    @cached_property
    def share(self) -> Floats:
        """Equation 1: choices that keep both together over choices that concern both."""
        return np.asarray(self.kept / self.n)

    def position(self, member: Ints, n_texts: int) -> Ints:
        """Which pair each pair of a choice is: (choices, 3)."""
        mine = code_of_pair(self.first, self.second, n_texts)
        return np.searchsorted(mine, pair_codes(member, n_texts))


def pair_codes(member: Ints, n_texts: int) -> Ints:
    """One number for each of the three pairs of a choice, whatever the order of its texts: (choices, 3)."""
    found = np.empty((len(member), 3), dtype=np.int64)
    for column, (i, j) in enumerate(PLACES):
        a, b = member[:, i], member[:, j]
        found[:, column] = code_of_pair(np.minimum(a, b), np.maximum(a, b), n_texts)
    return found


def code_of_pair(first: Ints, second: Ints, n_texts: int) -> Ints:
    """Position of the pair in the upper triangle, row by row."""
    first = first.astype(np.int64, copy=False)
    return first * (2 * n_texts - first - 1) // 2 + second - first - 1


def pair_of_code(code: Ints, n_texts: int) -> tuple[Ints, Ints]:
    """The way back from `code_of_pair`."""
    starts = code_of_pair(np.arange(n_texts), np.arange(n_texts) + 1, n_texts)
    first = np.searchsorted(starts, code, side="right") - 1
    return first, code - starts[first] + first + 1


def alike_within(position: Ints, kept: Floats, n_pairs: int, item: Ints) -> tuple[float, Floats]:
    """How much more alike choices about one triplet are, and what that leaves of each pair's number of choices.

    Several people who are asked the same triplet see the same third text, which counts for less than as many thirds.

    Parameters
    ----------
    position : (choices, 3) int
        Of each pair, see `PairTable.position`.
    kept : (choices, 3) float
        1 for the pair that was kept together.
    item : (choices,) int
        The triplet.

    Returns
    -------
    icc : float
        Intraclass correlation of choices about one pair and triplet, pooled over pairs by one-way analysis of
        variance, 0 to 1.
    n : (pairs,) float
        Independent choices that are worth as much: n² / Σ m (1 + (m − 1) icc) over triplets of m choices.
    """
    cell, which = np.unique(item[:, None] * np.int64(n_pairs) + position, return_inverse=True)
    pair, which = cell % n_pairs, which.ravel()
    m = np.bincount(which).astype(float)
    x = np.bincount(which, kept.ravel()) / m
    number = np.bincount(pair, m, n_pairs)
    mean = np.bincount(pair, m * x, n_pairs) / number
    cells = np.bincount(pair, minlength=n_pairs)
    within, freedom = float((m * x * (1 - x)).sum()), float((m - 1).sum())
    between, apart = float((m * (x - mean[pair]) ** 2).sum()), float((cells - 1).sum())
    squares = np.bincount(pair, m**2, n_pairs)
    size = (number.sum() - float((squares / number).sum())) / apart if apart else 0.0
    icc = 0.0
    if freedom and apart and size > 0:
        inside = within / freedom
        outside = max(between / apart - inside, 0.0) / size
        icc = outside / (outside + inside) if outside + inside > 0 else 0.0
    return icc, number**2 / np.bincount(pair, m * (1 + (m - 1) * icc), n_pairs)


def choice_probabilities(alike: Floats) -> Floats:
    """How likely each pair of a triplet is kept together, from how alike its three pairs are: (..., 3) -> (..., 3).

    Luce's rule, as of Bradley and Terry for two: exp(s) over the sum of exp(s) of the three pairs.
    """
    weight = np.exp(alike - alike.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def mean_ranks(values: Floats) -> Floats:
    """Ranks along the last axis, ties at their mean, less their mean and to length 1; NaN where all are tied."""
    ranks = _ranks(values)
    ranks = ranks - ranks.mean(axis=-1, keepdims=True)
    length = np.sqrt((ranks**2).sum(axis=-1, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(length > 0, ranks / length, np.nan))


def _ranks(values: Floats) -> Floats:
    """Ranks from 0 on along the last axis, ties at their mean; NaN in a row with a NaN.

    `scipy.stats.rankdata` gives the same, several times slower for the short rows that are ranked by the thousand.
    """
    n, rows = values.shape[-1], values.reshape(-1, values.shape[-1])
    first = n * np.arange(len(rows))[:, None]
    order = (np.argsort(rows, axis=-1) + first).ravel()
    ordered = rows.ravel()[order]
    # Where ties begin, counted on through all rows.
    new = np.ones(len(ordered) + 1, dtype=bool)
    new[1:-1] = ordered[1:] != ordered[:-1]
    new[:-1:n] = True
    begin = np.flatnonzero(new)
    number = begin[1:] - begin[:-1]
    ranks = np.empty(len(ordered))
    ranks[order] = np.repeat(begin[:-1] + (number - 1) / 2, number)
    ranks = np.asarray((ranks.reshape(rows.shape) - first).reshape(values.shape))
    ranks[np.isnan(values).any(axis=-1)] = np.nan
    return ranks
