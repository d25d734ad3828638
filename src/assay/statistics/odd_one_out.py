"""Choices of the odd one of three: what they count for each pair, how alike pairs are, how choices arise.

A choice speaks of three pairs of texts at once: the two that are left are kept together, the odd one is parted from
both. Nothing here checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.statistic import Bools, Floats, Ints

# -- Choices of the odd one of three ---------------------------------------------------------------

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
    found: Floats = (ranks.reshape(rows.shape) - first).reshape(values.shape)
    found[np.isnan(values).any(axis=-1)] = np.nan
    return found


# -- Places of texts from choices of the odd one out -----------------------------------------------
# P(A and B are kept together, of A, B, C) = exp(s_AB) / (exp(s_AB) + exp(s_AC) + exp(s_BC)), s_ij = −|x_i − x_j|²
#
# Luce's choice rule among the three pairs, which for two would be Bradley and Terry's. Tamuz et al. (2011) and van der
# Maaten and Weinberger (2012) fit places to triplets of this kind. What is chosen about one pair says something of
# others, because all places lie in one space.

PENALTY = 0.3
"""Times the mean square of the places, added to the mean loss of a choice: keeps pairs that were always kept, or never,
at finite places."""


@dataclass(frozen=True, eq=False)
class Model:
    """Triplets and how often each of their pairs was kept.

    Attributes
    ----------
    member : (triplets, 3) int
    kept : (triplets, 3) float
        Choices that kept each pair of `PLACES`.
    n_texts, dimensions : int
    """

    member: Ints
    kept: Floats
    n_texts: int
    dimensions: int

    @classmethod
    def of(cls, member: Ints, odd: Ints, n_texts: int, dimensions: int) -> Model:
        """Choices about the same three texts are taken together, in one order."""
        order = np.argsort(member, axis=1)
        rank = np.take_along_axis(order.argsort(axis=1), odd[:, None], axis=1)[:, 0]
        same, which = np.unique(np.take_along_axis(member, order, axis=1), axis=0, return_inverse=True)
        code = which.ravel() * 3 + KEPT[rank]
        return cls(same, np.bincount(code, minlength=3 * len(same)).reshape(-1, 3).astype(float), n_texts, dimensions)

    def fit(self, start: Floats | None = None, seed: int = 0) -> Floats:
        """Places of the texts, (texts, dimensions), at the least penalised loss that is found."""
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)
        first = rng.normal(scale=0.5, size=(self.n_texts, self.dimensions)) if start is None else start
        found = minimize(self._loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300})
        return np.asarray(found.x.reshape(self.n_texts, self.dimensions))

    def _loss(self, flat: Floats) -> tuple[float, Floats]:
        """Mean loss of a choice with the penalty, and its slope."""
        x = flat.reshape(self.n_texts, self.dimensions)
        number = self.kept.sum()
        chance = choice_probabilities(strengths(x, self.member))
        loss = -(self.kept * np.log(np.maximum(chance, 1e-300))).sum() / number + PENALTY * (x**2).mean()
        slope = 2 * PENALTY * x / x.size
        pull = (self.kept - self.kept.sum(axis=1, keepdims=True) * chance) / number
        for k, (i, j) in enumerate(PLACES):
            a, b = self.member[:, i], self.member[:, j]
            push = 2 * pull[:, k, None] * (x[a] - x[b])
            np.add.at(slope, a, push)
            np.add.at(slope, b, -push)
        return float(loss), slope.ravel()

    def score(self, x: Floats) -> float:
        """Mean log likelihood of these choices."""
        chance = choice_probabilities(strengths(x, self.member))
        return float((self.kept * np.log(np.maximum(chance, 1e-300))).sum() / self.kept.sum())


def strengths(x: Floats, member: Ints) -> Floats:
    """s of the three pairs of each triplet: (triplets, 3)."""
    return np.stack([-((x[member[:, i]] - x[member[:, j]]) ** 2).sum(axis=1) for i, j in PLACES], axis=1)


def predicted_shares(x: Floats, first: Ints, second: Ints, pool: list[Ints]) -> Floats:
    """Equation 1 of endless answers: the mean chance over every third text of the pair's pool, (pairs,)."""
    found = np.empty(len(first))
    for k, (a, b, mine) in enumerate(zip(first.tolist(), second.tolist(), pool, strict=True)):
        thirds = mine[(mine != a) & (mine != b)]
        three = np.stack([np.full(len(thirds), a), np.full(len(thirds), b), thirds], axis=1)
        found[k] = choice_probabilities(strengths(x, three))[:, 0].mean()
    return found


# -- How well measures, and choices themselves, rank pairs as choices do ----------------------------
# Everything here is a function of what choices count for pairs, `assay.statistics.odd_one_out.PairTable`.

GROUPS = 20
"""Groups of choices that are left out in turn: t with 19 degrees is near normal; one choice at a time takes long."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Choices about pairs: which pairs each concerns, and which it keeps together.

    Attributes
    ----------
    position : (choices, 3) int
        The three pairs of each choice.
    kept : (choices,) int
        The pair that was kept.
    n_pairs : int
    """

    position: Ints
    kept: Ints
    n_pairs: int

    @classmethod
    def of(cls, pairs: PairTable, member: Ints, odd: Ints, n_texts: int) -> Judged:
        """From the texts of each choice and the place of the odd one."""
        position = pairs.position(member, n_texts)
        return cls(position, np.take_along_axis(position, KEPT[odd][:, None], axis=1)[:, 0], len(pairs))

    def __len__(self) -> int:
        return len(self.kept)

    def some(self, which: Ints | Bools) -> Judged:
        """Some of the choices, or some of them several times."""
        return Judged(self.position[which], self.kept[which], self.n_pairs)

    def counts(self) -> tuple[Floats, Floats]:
        """How often each pair was kept, and compared: (pairs,) each."""
        n = np.bincount(self.position.ravel(), minlength=self.n_pairs).astype(float)
        return np.bincount(self.kept, minlength=self.n_pairs).astype(float), n

    def shares(self) -> Floats:
        """Equation 1 of each pair; NaN where it was not compared."""
        kept, n = self.counts()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(kept / n)


def correlations(shares: Floats, measures: Floats) -> Floats:
    """Spearman's ρ of each row of shares with each measure: (draws, pairs), (measures, pairs) -> (draws, measures)."""
    return np.clip(mean_ranks(shares) @ mean_ranks(measures).T, -1.0, 1.0)


def correlation(first: Floats, second: Floats) -> float:
    """Spearman's ρ over what both have; NaN with fewer than three."""
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3:
        return float("nan")
    return float(correlations(first[both][None], second[both][None])[0, 0])


def half_agreement(judged: Judged, rng: np.random.Generator, n_splits: int, size: int | None = None) -> Floats:
    """ρ between two random sets of choices that share none, each of ``size`` or of half of them: (splits,)."""
    half = len(judged) // 2 if size is None else size
    found = np.empty(n_splits)
    for s in range(n_splits):
        order = rng.permutation(len(judged))
        found[s] = correlation(judged.some(order[:half]).shares(), judged.some(order[half : 2 * half]).shares())
    return found


def without_groups(judged: Judged, rng: np.random.Generator, value: Callable[[Judged], float]) -> Floats:
    """A value without each random group of the choices in turn: (groups,)."""
    group = rng.permutation(len(judged)) % GROUPS
    return np.array([value(judged.some(group != g)) for g in range(GROUPS)])


def stepped_up(reliability: float | Floats, times: float | Floats) -> Floats:
    """Spearman and Brown: the reliability of ``times`` as many choices."""
    return np.asarray(times * reliability / (1 + (times - 1) * reliability))
