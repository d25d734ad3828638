"""Wins, ties and losses of a judge against each annotator in closeness to the others, and their statistics.

Win counts are sums over items, so the advantage probabilities broadcast over leading axes: resamples, values of
epsilon, sizes. With balancing weights (Calderon et al. 2025, appendix C.1) counts are kept by class of the majority
label, because inverse probability weights make every mean a mean over classes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np

from assay.estimation.intervals import PRIOR, hall_statistic, partial_conjunction
from assay.estimation.resampling import add_rows
from assay.estimation.statistic import Bools, Floats, Ints

WIN, TIE, LOSS = 0, 1, 2
"""Places of the three outcomes on the last axis of all counts."""

Scale = Literal["share", "difference"]


def count_wins(
    sign: Ints, group: Ints, n_groups: int, shares: Floats | None = None, into: Floats | None = None
) -> Floats:  # fmt: skip
    """Wins, ties and losses by group: (groups, classes, 3).

    Parameters
    ----------
    sign : (n,) int
        1 if the judge is closer, 0 for a tie, −1 if the annotator is closer.
    group : (n,) int
        Of each comparison.
    shares : (n, classes) float, optional
        Class of the majority label without the answer (C.1).
    into : (groups, classes, 3) float, optional
        An array to add the counts to.
    """
    k = 1 if shares is None else shares.shape[1]
    found = np.zeros((n_groups, k, 3)) if into is None else into
    place = 1 - sign
    if len(sign) < n_groups * 3:
        # If the table is larger than the data, copying takes longer than counting into it.
        place += group * (3 * k)
        for c in range(k):
            np.add.at(found.reshape(-1), place + 3 * c, 1.0 if shares is None else shares[:, c])
        return found
    if n_groups > 1:
        place += group * 3
    for c in range(k):
        each = np.bincount(place, None if shares is None else shares[:, c], n_groups * 3)
        found[:, c] += each.reshape(n_groups, 3)
    return found


def advantage(counts: Floats) -> tuple[Floats, Floats]:
    """Advantage probabilities of judge and annotator, rho_f and rho_h (section 3.2, with C.1).

    Parameters
    ----------
    counts : (..., annotators, classes, 3)
        Wins, ties and losses of the judge; one class if labels are not balanced.

    Returns
    -------
    rho_judge, rho_human : (..., annotators)
        NaN if the annotator has no item. With several classes, the mean over the classes that occur.
    """
    wins, ties, losses = counts[..., WIN], counts[..., TIE], counts[..., LOSS]
    as_close = wins + ties
    n = as_close + losses
    with np.errstate(invalid="ignore", divide="ignore"):
        judge, human = as_close / n, (losses + ties) / n
        if counts.shape[-2] == 1:
            return judge[..., 0], human[..., 0]
        there = n > 0
        classes = there.sum(axis=-1)
        return (
            np.where(there, judge, 0).sum(axis=-1) / classes,
            np.where(there, human, 0).sum(axis=-1) / classes,
        )


def average_advantage(counts: Floats) -> Floats:
    """rho, the mean of rho_f over the annotators that have items (section 3.4): (...,)."""
    return annotator_mean(advantage(counts)[0])


def annotator_mean(each: Floats) -> Floats:
    """The mean over the last axis, of those that are there."""
    there = each == each
    if there.all():
        return np.asarray(each.sum(axis=-1) / each.shape[-1])
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, each, 0).sum(axis=-1) / there.sum(axis=-1))


@dataclass(frozen=True)
class AdvantageProbability:
    """rho, every rho_f, and the mean of rho_h − rho_f, from summed win counts (sections 3.2 to 3.4)."""

    n_annotators: int

    @property
    def transforms(self) -> tuple[Scale, ...]:
        """Scale of the interval of each value: shares, and a difference of shares."""
        share: tuple[Scale, ...] = ("share",)
        return share * (1 + self.n_annotators) + ("difference",)

    def support(self, sums: Floats) -> Ints:
        """Units and items that each value rests on: all of them, or those that the annotator has: (2, q)."""
        n = sums.reshape(len(sums), self.n_annotators, -1).sum(axis=2)
        # The annotator with most items of a unit has nearly all of them.
        each = np.concatenate([n.max(axis=1, keepdims=True), n, n.max(axis=1, keepdims=True)], axis=1)
        return np.rint([np.count_nonzero(each, axis=0), each.sum(axis=0)]).astype(np.int64)

    def value(self, sums: Floats) -> Floats:
        """(..., annotators · classes · 3) -> (..., 1 + annotators + 1)."""
        counts = sums.reshape(*sums.shape[:-1], self.n_annotators, -1, 3)
        judge, human = advantage(counts)
        means = annotator_mean(judge)[..., None], annotator_mean(human - judge)[..., None]
        return np.concatenate([means[0], judge, means[1]], axis=-1)


@dataclass(frozen=True, eq=False)
class NeededEpsilon:
    """The smallest epsilon at which the judge is as good as a share of the annotators, from summed win counts.

    That is the smallest value that rho_h − rho_f of annotators with that share of the weight does not exceed; below 0
    if the judge is closer than they are.
    """

    quality: Floats
    threshold: float

    def value(self, sums: Floats) -> Floats:
        """(..., annotators · classes · 3) -> (..., 1)."""
        judge, human = advantage(sums.reshape(*sums.shape[:-1], len(self.quality), -1, 3))
        difference = human - judge
        order = np.argsort(difference, axis=-1)  # NaN comes last
        weight = np.where(np.isnan(difference), 0.0, self.quality)
        held = np.cumsum(np.take_along_axis(weight, order, axis=-1), axis=-1)
        first = np.argmax(held >= (self.threshold - 1e-9) * held[..., -1:], axis=-1)[..., None]
        return np.take_along_axis(np.take_along_axis(difference, order, axis=-1), first, axis=-1)


@dataclass(frozen=True)
class SideBySide:
    """rho and every rho_f of several judges, from concatenated win counts."""

    n_annotators: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def transforms(self) -> tuple[Scale, ...]:
        """Scale of the interval of each value."""
        return tuple(t for m in self.n_annotators for t in AdvantageProbability(m).transforms)

    def support(self, sums: Floats) -> Ints:
        """Units and items that each value rests on: (2, q)."""
        return np.concatenate([one.support(part) for one, part in self._each(sums)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """(..., all counts) -> (..., all values)."""
        return np.concatenate([one.value(part) for one, part in self._each(sums)], axis=-1)

    def _each(self, sums: Floats) -> Iterator[tuple[AdvantageProbability, Floats]]:
        """Each judge's statistic and sums."""
        edges = np.cumsum([0, *self.widths])
        for m, (a, b) in zip(self.n_annotators, itertools.pairwise(edges), strict=True):
            yield AdvantageProbability(m), sums[..., a:b]


@dataclass(frozen=True)
class PairedAdvantage:
    """rho, averaged over pairings of annotators: their win counts add."""

    n_annotators: int
    first: Ints
    pairings: Ints

    def value(self, sums: Floats) -> Floats:
        """(..., annotators · classes · 3) -> (..., 1)."""
        counts = sums.reshape(*sums.shape[:-1], self.n_annotators, -1, 3)
        each = [
            average_advantage(counts[..., self.first, :, :] + counts[..., pairing, :, :])[..., None]
            for pairing in self.pairings
        ]
        return np.asarray(np.mean(each, axis=0))


# -- Posterior of win counts -------------------------------------------------------------------------

MOST_KINDS = 500
"""Where more different items occur, they are merged at random into that many blocks: time and memory of a draw grow
with them, and the variance that 500 blocks show is unsure by 6% only (√(2 / 500))."""

SINGLY = 100
"""Units of a study that are drawn one at a time; the sum of more is as good as normal. Assurances of 18 pilots (1 to 13
annotators, losses in 1% of comparisons and more) so differ from those of studies drawn one at a time throughout by .03
at most, within what chance makes of 1,800 studies; with none drawn one at a time, by .2."""

FLATTEST = 1e-12
"""Added to variances, as a share of their sum, so that rounding leaves none below 0."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the frequencies of each kind of unit.

    Attributes
    ----------
    rows : (kinds, comparisons, classes, 3) float
        Wins, ties and losses in a unit of each kind.
    weight : (kinds,) float
        How many units of a kind there are, with the prior: the parameters of the Dirichlet distribution.
    per_unit : float
        Items in a unit: 1, unless they are clustered or too many to be held apart.
    """

    rows: Floats
    weight: Floats
    per_unit: float

    @classmethod
    def of(cls, by_unit: Floats, n_items: int) -> Posterior:
        """From the units of ``n_items``, (units, comparisons, classes, 3); those that show nothing do not count."""
        used = by_unit[by_unit.any(axis=(1, 2, 3))]
        kinds, times = different_rows(used.reshape(len(used), -1))
        if len(kinds) > MOST_KINDS:
            block = np.random.default_rng(len(used)).permutation(len(used)) % MOST_KINDS
            kinds, times = add_rows(used.reshape(len(used), -1), block, MOST_KINDS), np.ones(MOST_KINDS, dtype=np.int64)
        per_unit = n_items / max(times.sum(), 1)
        # The three items of the prior, each as large as a unit and correspondingly rarer.
        of_class = used.sum(axis=(0, 1, 3))
        prior = np.zeros((3, *used.shape[1:]))
        for outcome in range(3):
            prior[outcome, ..., outcome] = per_unit * of_class / max(of_class.sum(), 1e-300)
        rows = np.concatenate([kinds.reshape(-1, *used.shape[1:]), prior])
        return cls(rows, np.concatenate([times, np.full(3, PRIOR / per_unit)]), per_unit)

    def truths(self, n: int, rng: np.random.Generator) -> Floats:
        """The share of each kind, drawn: (n, kinds)."""
        drawn = rng.standard_gamma(self.weight, (n, len(self.weight)))
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))

    def totals(
        self, share: Floats, n_each: int, units: Ints, rng: np.random.Generator, also: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """What studies of several sizes add up to, the smaller ones the beginning of the larger.

        Up to `SINGLY` units are drawn one at a time; what more units add is drawn as if normal, with the mean and the
        covariances of as many draws, which takes no longer for 2,000 units than for 200.

        Parameters
        ----------
        share : (truths, kinds) float
            How common each kind of unit is.
        n_each : int
            Studies of each truth.
        units : (sizes,) int
            Ascending.
        rng : numpy.random.Generator
        also : (kinds, columns) float, optional
            Further numbers of a unit of each kind to add up.

        Returns
        -------
        (truths · n_each, sizes, comparisons, classes, 3) float
            From 0; integers for whole rows that are drawn one at a time, else real numbers.
        (truths · n_each, sizes, columns) float
            Sums of ``also``.
        """
        rows = self.rows.reshape(len(self.rows), -1)
        n_counts = rows.shape[1]
        rows = rows if also is None else np.concatenate([rows, also], axis=1)
        few = units[units <= SINGLY]
        steps = np.diff(units, prepend=few[-1:] if len(few) else 0)[len(few) :]
        added = [_drawn_singly(rows, share, n_each, few, rng), draw_normal_sums(rows, share, n_each, steps, rng)]
        found = np.concatenate(added, axis=2).cumsum(axis=2).reshape(-1, len(units), rows.shape[1])
        counts = np.maximum(found[..., :n_counts], 0.0)
        return np.asarray(counts.reshape(-1, len(units), *self.rows.shape[1:])), np.asarray(found[..., n_counts:])


def _drawn_singly(rows: Floats, share: Floats, n_each: int, units: Ints, rng: np.random.Generator) -> Floats:
    """Sums of rows drawn between one number of units and the next: (truths, n_each, sizes, columns)."""
    (n_truths, n_kinds), n = share.shape, int(units.max(initial=0))
    # The shares of all truths are searched at once, those of truth t between t and t + 1.
    truth = np.arange(n_truths)[:, None]
    edges, at = np.minimum(share.cumsum(axis=1), 1.0) + truth, rng.random((n_truths, n_each * n)) + truth
    kind = np.searchsorted(edges.ravel(), at.ravel(), side="right").reshape(at.shape) - truth * n_kinds
    # A number beyond the last edge, which rounding leaves below 1, is of the last kind.
    kind = np.minimum(kind, n_kinds - 1).reshape(n_truths * n_each, n)
    step = np.arange(len(kind))[:, None] * len(units) + np.searchsorted(units, np.arange(n), side="right")
    shape = (n_truths, n_each, len(units), n_kinds)
    return np.bincount((step * n_kinds + kind).ravel(), minlength=math.prod(shape)).reshape(shape) @ rows


def draw_normal_sums(rows: Floats, share: Floats, n_each: int, steps: Ints, rng: np.random.Generator) -> Floats:
    """Sums of rows in the normal approximation: (truths, n_each, steps, columns)."""
    n_kinds, n_columns = rows.shape
    mean = share @ rows
    moved = np.empty((len(share), n_each, len(steps), n_columns))
    for t, of_kind in enumerate(share if len(steps) else ()):
        # Its square, transposed times itself, is the covariance of one row.
        root = np.sqrt(of_kind)[:, None] * (rows - mean[t])
        if n_columns < n_kinds:
            square = root.T @ root
            square.flat[:: n_columns + 1] += max(FLATTEST * np.trace(square), 1e-300)
            root = np.linalg.cholesky(square).T
        moved[t] = rng.standard_normal((*moved.shape[1:3], len(root))) @ root
    n = steps[:, None].astype(float)
    return np.asarray(n * mean[:, None, None, :] + np.sqrt(n) * moved)


def different_rows(rows: Floats) -> tuple[Floats, Ints]:
    """`numpy.unique` of rows, and how often each occurs; of small whole numbers by one number a row, much faster."""
    base = int(rows.max(initial=0.0)) + 1
    if rows.min(initial=0.0) < 0 or base ** rows.shape[1] > MOST_KEYS or (rows != np.rint(rows)).any():
        return np.unique(rows, axis=0, return_counts=True)
    keys = rows @ float(base) ** np.arange(rows.shape[1])[::-1]
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return rows[first], times


MOST_KEYS = 2**53
"""Largest integer that is exact in double precision."""


# -- an exact test of the mean of differences that are −1, 0 or 1 -----------------------------------
#
# With n independent differences the numbers of wins w (−1), ties t and losses l (1) are trinomial. Let δ = P(1) −
# P(−1), the mean, and ψ = P(1) + P(−1), the discordance. The test of H0: δ >= ε has three steps.
#
# 1. *Order* the outcomes by how strongly they speak against H0: by Tango's (1998) score statistic, see `score`.
# 2. For each value of ψ, add up the probability of all outcomes that speak as strongly as the one observed, or more
#    strongly, at the boundary δ = ε.
# 3. The p-value is the *largest* of these sums over ψ, from |ε| to 1 (Barnard 1947; Hsueh, Liu & Chen 2001): so the
#    test rejects a true hypothesis at most at its level, for any share of ties.
#
# Up to `ESTIMATED` differences, outcomes are ordered by their estimated p-value instead, the sum of step 2 at the ψ
# with the largest likelihood under H0 given the outcome (E + M: Lloyd 2008; Lloyd & Moldovan 2008). Up to `EXACT`, by
# the score itself, and the maximum is taken over a confidence set of ψ, whose error γ is added (Berger & Boos 1994).
# Both are exact: it is the maximum that guarantees the level, the ordering decides about power alone. Beyond, the score
# statistic is compared with the normal distribution: at .05 that rejects a true hypothesis in .060 of studies at most,
# at .01 in .018.
#
# References
# ----------
# Barnard (1947), Biometrika 34: 123-138. Berger & Boos (1994), JASA 89: 1012-1016. Tango (1998), Statistics in
# Medicine 17: 891-908. Hsueh, Liu & Chen (2001), Biometrics 57: 478-483. Lloyd (2008), Biometrics 64: 716-723. Lloyd &
# Moldovan (2008), Statistics in Medicine 27: 3540-3549.

ESTIMATED = 50
"""Up to this number of differences, outcomes are ordered by their estimated p-value. That takes all outcomes by all
discordances at once: 1,300 by 100 numbers here, 45,000 by 220 (80 MB) at `EXACT`."""

EXACT = 300
"""Up to this number of differences the p-value is exact; beyond, it is that of the score statistic. A table of 300
takes a tenth of a second, and its time grows as n to the power of 2.5."""

GAMMA = 1e-6
"""Berger and Boos' γ, how often the confidence set of the discordance may miss; no p-value from it is smaller."""

POINTS = 12
"""Values of the discordance that are tried, times √n; see `ExactOutcomes.tried`."""

LARGE = 3.0
"""Outcomes with a score above this have the p-value 1: it is above .99 by then, and no decision rests on it."""

HALO = 3
"""Further values of the discordance on either side, for the polynomials through six of them."""

MARGIN = 1e-4
"""Share of a peak between rows that is added to it: more than the error of the polynomials."""

UNLIKELY = -58.0
"""Logarithm of a probability, 10⁻²⁵, below which an outcome adds nothing to p-values of `GAMMA` and more: the 45,000
outcomes of `EXACT` differences add 10⁻²⁰ together."""

SINGLE = 450
"""Up to n² / 450 outcomes of n differences are computed one by one: 8 of 60, 200 of 300. This takes as long as the
table of all: 0.3 ms each, and a table of 60 takes 2.5 ms, of 246 55 ms."""

CELLS = 1 << 17
"""Probabilities held at a time: few enough for the processor's cache."""


def exact_p(counts: Floats, epsilon: float | Floats) -> tuple[Floats, Floats]:
    """The two one-sided exact p-values of the mean difference, E[d] against epsilon.

    Parameters
    ----------
    counts : (..., 3) float
        Wins (d = −1), ties and losses (d = 1): whole numbers.
    epsilon : float or (...)
        Between −1 and 1; broadcasts with the leading axes of ``counts``.

    Returns
    -------
    p, reverse : (...) float
        Of H0: E[d] >= epsilon, small if wins prevail; and of H0: E[d] <= epsilon. NaN without a difference.
    """
    return exact_below(counts, epsilon), exact_below(counts[..., ::-1], -np.asarray(epsilon, dtype=float))


def exact_below(counts: Floats, epsilon: float | Floats) -> Floats:
    """The p-value of H0: E[d] >= epsilon alone, as `exact_p` has it."""
    from scipy.special import ndtr

    whole = np.rint(counts).astype(np.int64)
    bounds, which = np.unique(np.asarray(epsilon, dtype=float), return_inverse=True)
    wins, losses, n, which = np.broadcast_arrays(
        whole[..., WIN], whole[..., LOSS], whole.sum(axis=-1), which.reshape(np.shape(epsilon))
    )
    p = np.full(n.shape, np.nan)
    z, _ = score(wins, losses, n, bounds[which])
    large, small = n > EXACT, (n > 0) & (n <= EXACT)
    p[large] = ndtr(z[large])
    # Outcomes far from the rejection of H0 have the p-value 1 in every table, which is not computed for them.
    far = small & (np.round(z, 9) > LARGE)
    p[far], small = 1.0, small & ~far
    place, tables = outcome_index(wins[small], losses[small]), n[small] * len(bounds) + which[small]
    p[small] = _p_of_places(place, tables, bounds)
    return p


def _p_of_places(place: Ints, tables: Ints, bounds: Floats) -> Floats:
    """The p-value of each outcome: of few of a table one by one, of many from the table."""
    _, mine, many = np.unique(tables, return_inverse=True, return_counts=True)
    n, epsilon = tables // len(bounds), bounds[tables % len(bounds)]
    single = (n > ESTIMATED) & (many[mine] * SINGLE <= n**2)
    found = np.empty(len(place))
    asked = zip(*(one[single].tolist() for one in (n, epsilon, place)), strict=True)
    found[single] = [_single_p(*one) for one in asked]
    for one in np.unique(tables[~single]).tolist():
        of = tables == one
        found[of] = table(one // len(bounds), float(bounds[one % len(bounds)]))[place[of]]
    return found


def score(
    wins: Floats | Ints, losses: Floats | Ints, n: Floats | Ints | int, epsilon: float | Floats
) -> tuple[Floats, Floats]:
    """Return Tango's score statistic and the maximum-likelihood discordance for a mean difference of epsilon.

    With E[d] = ε, P(−1) = (ψ − ε)/2 and P(1) = (ψ + ε)/2. The derivative of the log likelihood
    w log(ψ − ε) + l log(ψ + ε) + t log(1 − ψ) is zero where

        n ψ² − (w + l + ε (l − w)) ψ − (ε (w − l) + ε² t) = 0,

    whose larger root, kept within |ε| and 1, is the estimate. Var(d) is then ψ − ε², and the score
    z = (l − w − n ε) / √(n (ψ − ε²)), equation (12) of Tango (1998) with q₂₁ = (ψ − ε)/2. At ε = 0 it is McNemar's.
    """
    ties = n - wins - losses
    b = wins + losses + epsilon * (losses - wins)
    c = epsilon * (wins - losses) + epsilon**2 * ties
    root = np.sqrt(np.maximum(b * b + 4 * n * c, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        psi = np.clip((b + root) / (2 * n), np.abs(epsilon), 1.0)
        above = losses - wins - n * epsilon
        z = above / np.sqrt(n * np.maximum(psi - epsilon**2, 0.0))
    return np.where(np.abs(above) < 1e-9, 0.0, z), psi


def outcome_index(wins: Ints, losses: Ints) -> Ints:
    """The index of an outcome among all of its size: by the number of discordant pairs, then by wins."""
    discordant = wins + losses
    return np.asarray(discordant * (discordant + 1) // 2 + wins)


@lru_cache(maxsize=200)
def table(n: int, epsilon: float) -> Floats:
    """Return the p-value of every outcome of ``n`` differences, H0: E[d] >= epsilon, by `outcome_index`."""
    outcomes = ExactOutcomes(n, epsilon)
    if n <= ESTIMATED:
        p = outcomes.largest(outcomes.estimated())
    else:
        # An error of gamma, once. A maximum over less than all of psi may fall towards a stronger outcome.
        p = outcomes.monotone(outcomes.largest(outcomes.z, *outcomes.confidence_set()) + GAMMA)
    p = np.minimum(p, 1.0)
    p.flags.writeable = False
    return p


@dataclass(frozen=True, eq=False)
class ExactOutcomes:
    """All outcomes of ``n`` differences: arrays (outcomes,), (n + 1)(n + 2)/2 of them."""

    n: int
    epsilon: float

    @cached_property
    def wins(self) -> Ints:
        """Wins of each outcome."""
        return np.asarray(np.tril_indices(self.n + 1)[1], dtype=np.int64)

    @cached_property
    def discordant(self) -> Ints:
        """Wins and losses of each outcome."""
        return np.asarray(np.tril_indices(self.n + 1)[0], dtype=np.int64)

    @cached_property
    def scored(self) -> tuple[Floats, Floats]:
        """The score, rounded so that equal scores are equal, and the maximum-likelihood discordance."""
        z, psi = score(self.wins, self.discordant - self.wins, self.n, self.epsilon)
        return np.round(z, 9), psi

    @property
    def z(self) -> Floats:
        """The score of each outcome: small values speak against H0."""
        return self.scored[0]

    @property
    def steps(self) -> int:
        """Points at which the nuisance parameter is tried."""
        return int(np.ceil(POINTS * np.sqrt(self.n))) + 8

    @cached_property
    def tried(self) -> Floats:
        """Values of ψ from |ε| to 1, ascending, and `HALO` more on either side with mirrored curves.

        With ψ = |ε| + (1 − |ε|)(1 − cos θ)/2, a probability of outcomes is a sum of bumps in θ whose standard
        deviations are at least about 1/√n. Between two steps of π / (12 √n) it is a polynomial to five digits.
        """
        theta = np.arange(-HALO, self.steps + 1 + HALO) * (np.pi / self.steps)
        least = abs(self.epsilon)
        return np.asarray(least + (1 - least) * (1 - np.cos(theta)) / 2)

    @cached_property
    def terms(self) -> Floats:
        """Factors of the log probabilities of `_probabilities`: (4, outcomes)."""
        from scipy.special import gammaln

        counts = np.stack([self.wins, self.discordant - self.wins, self.n - self.discordant])
        ways = gammaln(self.n + 1) - gammaln(counts + 1).sum(axis=0)
        return np.concatenate([counts, ways[None]])

    def monotone(self, value: Floats) -> Floats:
        """The largest value of an outcome and of all that have no fewer wins and no more losses.

        Such an ordering satisfies Barnard's convexity: a tie instead of a win, or a loss instead of a tie, is never
        stronger evidence against H0. Then no δ above ε makes strong outcomes more likely than δ = ε.
        """
        grid = np.full((self.n + 1, self.n + 1), -np.inf)
        losses = self.discordant - self.wins
        grid[self.wins, losses] = value
        grid = np.maximum.accumulate(grid, axis=1)
        grid = np.maximum.accumulate(grid[::-1], axis=0)[::-1]
        return np.asarray(grid[self.wins, losses])

    def estimated(self) -> Floats:
        """Ranks by the estimated p-value, the probability of a score as low at the outcome's own discordance."""
        z, psi = self.scored
        order, end = _order_outcomes(z, z <= LARGE)
        sums = np.cumsum(_probabilities(self.epsilon, self.tried, self.terms[:, order]), axis=1)[:, end]
        least = abs(self.epsilon)
        share = (psi[order] - least) / max(1 - least, 1e-300)
        row = np.arccos(np.clip(1 - 2 * share, -1, 1)) * (self.steps / np.pi)
        p = np.full(len(z), 2.0)
        p[order] = _between(sums, HALO + row, np.arange(len(order)))
        # Rounded, so that the ordering is the same on every machine; negligible differences follow the score.
        keys = np.stack([z, np.round(p, 12)])
        sequence = np.lexsort(keys)
        new = (keys[:, sequence[1:]] != keys[:, sequence[:-1]]).any(axis=0)
        rank = np.empty(len(z))
        rank[sequence] = np.concatenate([[0], np.cumsum(new)])
        return self.monotone(rank)

    def confidence_set(self) -> tuple[Ints, Ints]:
        """First and last of the discordances that are tried for each outcome (Clopper & Pearson, with error γ).

        One value beyond either end is also tried. The smallest possible value, |ε|, is tried if the set extends below
        it: if ε < 0, a discordance below |ε| can be true with δ above ε, and is no better than |ε|.
        """
        first, last = self.sets
        return first[self.discordant], last[self.discordant]

    @cached_property
    def sets(self) -> tuple[Ints, Ints]:
        """`confidence_set` by the number of discordant pairs: (n + 1,) each."""
        low, high = _clopper_pearson(self.n)
        tried = self.tried[HALO:-HALO]
        first = np.maximum(np.searchsorted(tried, low, side="right") - 1, 0)
        return first, np.minimum(np.searchsorted(tried, high), len(tried) - 1)

    @cached_property
    def strongest(self) -> float:
        """The lowest score of an outcome whose largest probability is not negligible in a p-value."""
        z, psi = self.scored
        logs = np.log(np.maximum(_chances(self.epsilon, psi), 1e-300)).T
        return float(z[(self.terms[:3] * logs).sum(axis=0) + self.terms[3] > UNLIKELY].min())

    def largest(self, order: Floats, first: Ints | None = None, last: Ints | None = None) -> Floats:
        """The largest probability of outcomes up to each one in the order, over the discordances first to last.

        If only some discordances are tried, the order is that of the score, and `GAMMA` is added to the result:
        outcomes before the `strongest` contribute nothing, and have 0.
        """
        near = self.z <= LARGE
        used, end = _order_outcomes(order, near if first is None else near & (self.z >= self.strongest))
        first = np.zeros(len(order), dtype=np.int64) if first is None else first
        last = np.full(len(order), self.steps) if last is None else last
        found, so_far = np.zeros(len(used)), np.zeros((len(self.tried), 1))
        size = max(1, CELLS // len(self.tried))
        start = 0
        while start < len(used):
            stop = int(end[min(start + size, len(used)) - 1]) + 1
            part = used[start:stop]
            sums = _probabilities(self.epsilon, self.tried, self.terms[:, part])
            sums[:, :1] += so_far
            np.cumsum(sums, axis=1, out=sums)
            so_far = sums[:, -1:].copy()
            found[start:stop] = _highest(sums, end[start:stop] - start, first[part], last[part])
            start = stop
        p = np.where(near, 0.0, 1.0)
        p[used] = found
        return p


@lru_cache(maxsize=200)
def _clopper_pearson(n: int) -> tuple[Floats, Floats]:
    """The interval of the discordance, with error γ, by the number of discordant pairs of ``n``: (n + 1,) each."""
    from scipy.special import betaincinv

    k = np.arange(n + 1)
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, GAMMA / 2))
    return low, np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - GAMMA / 2))


def _order_outcomes(order: Floats, used: Bools) -> tuple[Ints, Ints]:
    """The outcomes in order, and for each place the last place of those that are tied with it."""
    sequence = np.argsort(order, kind="stable")
    sequence = sequence[used[sequence]]
    values = order[sequence]
    return sequence, np.searchsorted(values, values, side="right") - 1


def _chances(epsilon: float, psi: Floats) -> Floats:
    """Probability of a win, a loss and a tie at each discordance, where δ = ε: (values, 3)."""
    return np.stack([(psi - epsilon) / 2, (psi + epsilon) / 2, 1 - psi], axis=1)


def _probabilities(epsilon: float, psi: Floats, terms: Floats) -> Floats:
    """Probability of outcomes at each discordance: (values, outcomes), where δ = ε."""
    chances = _chances(epsilon, psi)
    logs = np.concatenate([np.log(np.maximum(chances, 1e-300)), np.ones((len(psi), 1))], axis=1) @ terms
    # Not below the smallest normal number: with subnormal ones, arithmetic is many times slower.
    return np.asarray(np.exp(np.maximum(logs, -700.0, out=logs), out=logs))


def _highest(sums: Floats, column: Ints, first: Ints, last: Ints) -> Floats:
    """The maximum of each of these columns in its rows or between neighbours; rows without `HALO`."""
    width = int((last - first).max()) + 2
    row = HALO + first + np.arange(-1, width)[:, None]
    near = sums[np.minimum(row, len(sums) - 1), column]
    below, inner, above = near[:-2], near[1:-1], near[2:]
    rows = inner * (row[1:-1] <= HALO + last)
    highest = np.asarray(rows.max(axis=0))
    # A peak between rows is above the nearest of them by less than a hundredth of itself.
    step, of = np.divmod(np.flatnonzero((rows > 0.98 * highest) & (inner > below) & (inner >= above)), len(column))
    if not len(of):
        return highest
    low, middle, high = below[step, of], inner[step, of], above[step, of]
    vertex = (high - low) / (2 * ((middle - low) + (middle - high)))
    top = _between(sums, row[step + 1, of] + vertex, column[of]) * np.where(np.abs(vertex) < 1e-6, 1.0, 1 + MARGIN)
    np.maximum.at(highest, of, top)
    return highest


NODES = np.arange(-2, 4)
"""The rows around a point between two rows that `_between` uses."""

_APART = np.array([np.prod(k - NODES[k != NODES]) for k in NODES], dtype=float)


def _between(sums: Floats, row: Floats, column: Ints) -> Floats:
    """Values between rows, by the polynomial through the six nearest (Lagrange)."""
    i = np.clip(row.astype(np.int64), HALO - 1, len(sums) - HALO - 1)
    away = (row - i) - NODES[:, None]
    weight = np.empty_like(away)
    weight[0], weight[1:] = 1.0, np.cumprod(away[:-1], axis=0)
    weight[:-1] *= np.cumprod(away[:0:-1], axis=0)[::-1]
    weight /= _APART[:, None]
    return np.asarray((weight * sums[i + NODES[:, None], column]).sum(axis=0))


# One outcome's p-value needs no table of all. Let D be the number of discordant pairs, W that of wins among them, and
# w_d the fewest wins among d with which an outcome speaks as strongly as the one observed. From d to d + 1 it stays or
# rises by one, since one loss more never speaks more strongly and one win more never less. So P(W ≥ w_d | d) changes
# by one probability a step: a win more takes the outcomes with w_d − 1 in, a loss more those with w_d out. Added up,
#
#     P(as strong) = P(W ≥ w_c | c) + Σ_{d ≥ c} s_d P(D > d) − Σ_{d < c} s_d P(D ≤ d)   for any c,
#
# where s_d = P(W = w_d − 1 | d) P(win | discordant) if w stays and −P(W = w_d | d) P(loss | discordant) if it rises: n
# terms instead of n² / 2 outcomes. With c near the mean of D, all terms are about as small as their sum.

NEXT = (1, 4, 13)
"""Positions, from the end of a confidence set, at which values of the discordance beyond it are grouped."""

EVERY = (1, 2, 9)
"""... which of them are looked at ..."""

BETWEEN = (1.012, 1.04, 2.0)
"""Bounds on a sum of bumps, with standard deviations of four values, between those positions. With them very few
outcomes require the probability of others: one of the 189 outcomes of 22 published judges."""


IGNORED = 1e-10 * GAMMA
"""A probability far below the error `GAMMA`."""


class _Group(NamedTuple):
    """Outcomes, the weakest first, and at which values of the discordance that is looked at."""

    wins: Ints
    discordant: Ints
    since: int
    until: int
    every: int
    between: float


@lru_cache(maxsize=32)
def _tails(n: int, epsilon: float) -> OutcomeTails:
    return OutcomeTails(n, epsilon)


@lru_cache(maxsize=4096)
def _single_p(n: int, epsilon: float, place: int) -> float:
    """The p-value of one outcome, as `table` has it."""
    found = _tails(n, epsilon).p(place)
    return float(table(n, epsilon)[place]) if found is None else found


class OutcomeTails(ExactOutcomes):
    """How likely outcomes are that speak as strongly as a single one."""

    @cached_property
    def starts(self) -> Ints:
        """Where outcomes with each number of discordant pairs begin: (n + 1,)."""
        d = np.arange(self.n + 1)
        return d * (d + 1) // 2

    @cached_property
    def factorials(self) -> Floats:
        """Logarithms of 0! to n!."""
        from scipy.special import gammaln

        return np.asarray(gammaln(np.arange(self.n + 1) + 1.0))

    @cached_property
    def by_discordance(self) -> tuple[Floats, Floats, Ints, Floats]:
        """The parts of the sum above that depend only on each tried value.

        Logarithms of P(win | discordant) and P(loss | discordant) and 1, (tried, 3); the factors of s_d,
        (tried, n); c and P(win | discordant), (tried,).
        """
        n, d = self.n, np.arange(self.n + 1)
        win, loss, tie = np.log(np.maximum(_chances(self.epsilon, self.tried), 1e-300)).T
        either = np.logaddexp(win, loss)
        ways = self.factorials[n] - self.factorials - self.factorials[::-1]
        chance = np.exp(np.stack([either, tie, np.ones(len(tie))], axis=1) @ np.stack([d, n - d, ways]))
        middle = np.rint(n * (1 - np.exp(tie))).astype(np.int64)
        above, below = chance[:, ::-1].cumsum(axis=1)[:, -2::-1], chance.cumsum(axis=1)[:, :-1]
        weight = np.where(d[:-1] >= middle[:, None], above, -below)
        return np.stack([win - either, loss - either, np.ones(len(tie))], axis=1), weight, middle, np.exp(win - either)

    def beyond(self, z: Floats, rows: Ints) -> Floats | None:
        """Return the probability of outcomes with scores up to each ``z``, at rows of `tried`; None if not stepwise.

        Parameters
        ----------
        z : (scores,) float
        rows : (scores, k) int

        Returns
        -------
        (scores, k) float
        """
        from scipy.special import bdtrc

        logs, weight, middle, win = self.by_discordance
        d, f = np.arange(self.n), self.factorials
        least = np.array([np.add.reduceat(self.z <= one, self.starts, dtype=np.int64) for one in z])
        least = np.arange(1, self.n + 2) - least
        rises, w = least[:, 1:] - least[:, :-1], least[:, :-1]
        k = w - 1 + rises
        there = (k >= 0) & (k <= d)
        k = np.where(there, k, 0)
        powers = np.stack([w, d + 1 - w, f[d] - f[k] - f[d - k]], axis=1)
        terms = logs[rows] @ powers
        np.exp(terms, out=terms)
        terms *= weight[rows]
        start = middle[rows]
        at_start = bdtrc(least[np.arange(len(z))[:, None], start] - 1, start, win[rows])
        if not ((rises == 0) | (rises == 1)).all():
            return None
        return np.asarray(at_start + (terms @ np.where(there, 1.0 - 2 * rises, 0.0)[:, :, None])[..., 0])

    def raw(self, wins: int, discordant: int) -> float | None:
        """The largest probability over the confidence set, γ added."""
        z = self.z[self.starts[discordant] + wins]
        first, last = (one[discordant : discordant + 1] for one in self.sets)
        rows = np.arange(max(first[0] - 4 + HALO, 0), min(last[0] + 4 + HALO, len(self.tried) - 1) + 1)
        sums = np.zeros((len(self.tried), 1))
        found = self.beyond(z[None], rows[None])
        if found is None:
            return None
        sums[rows, 0] = found[0]
        return float(_highest(sums, np.zeros(1, dtype=np.int64), first, last)[0]) + GAMMA

    def p(self, place: int) -> float | None:
        """Return the p-value of the outcome at this index, as in `monotone`; None if it requires the table.

        Of outcomes that speak more strongly, those with the same number of discordant pairs have no larger p. Of those
        with another number, the weakest is that with as many losses, or wins; and only at discordances outside the
        outcome's own confidence set may its probability exceed p.
        """
        discordant = int(np.searchsorted(self.starts, place, side="right")) - 1
        wins = place - int(self.starts[discordant])
        largest = self.raw(wins, discordant)
        if largest is None:
            return None
        groups = [*self._stronger(wins, discordant, True), *self._stronger(wins, discordant, False)]
        doubtful = self._doubtful(groups, largest - GAMMA)
        if doubtful is None:
            return None
        further = [self.raw(*one) for one in doubtful]
        return min(1.0, max([largest, *(one for one in further if one is not None)]))

    def _stronger(self, wins: int, discordant: int, more: bool) -> Iterator[_Group]:
        """The weakest outcomes that speak more strongly with more discordant pairs, or fewer, in groups."""
        first, last = self.sets
        if more:
            d = np.arange(discordant + 1, self.n + 1)
            w, end, own, sign = wins + d - discordant, last[d], last[discordant], 1
        else:
            d = np.arange(discordant - 1, wins - 1, -1)
            w, end, own, sign = np.full(len(d), wins), first[d], first[discordant], -1
        edges = np.searchsorted(sign * (end - own), (*NEXT, self.steps + 2)).tolist()
        for i, (a, b) in enumerate(itertools.pairwise(edges)):
            if a < b:
                # The weakest of them, wherever one of them reaches that no earlier group does.
                since, until = sorted((int(own) + sign * NEXT[i], int(end[b - 1])))
                yield _Group(w[a:b], d[a:b], since, until, EVERY[i], BETWEEN[i])

    def _doubtful(self, groups: Sequence[_Group], highest: float) -> list[tuple[int, int]] | None:
        """Stronger outcomes, as wins and discordant pairs, whose probability may exceed this."""
        if not groups:
            return []
        since, until, every = (np.array([[one[i]] for one in groups]) for i in (2, 3, 4))
        rows = np.minimum(since + every * np.arange(int(((until - since) // every).max()) + 2), until)
        z = self.z[[self.starts[one.discordant[0]] + one.wins[0] for one in groups]]
        found = self.beyond(z, HALO + rows)
        if found is None:
            return None
        doubtful: list[tuple[int, int]] = []
        for group, one in zip(groups, found.max(axis=1).tolist(), strict=True):
            # Either the outcomes or all others are the bumps.
            if min(one * group.between, 1 - (1 - one) / group.between) > max(highest, IGNORED):
                doubtful += zip(group.wins.tolist(), group.discordant.tolist(), strict=True)
        return doubtful


# -- a score test of the mean of class means ---------------------------------------------------------
#
# Differences d are −1, 0 or 1, counted by class; δ = Σ δ_c / K is the mean of class means, Var(δ̂) = Σ σ²_c / n_c /
# K². With few items in a class its observed variance is unreliable: five ties have none. So, as in Tango's
# (1998) test of one class, σ²_c are from the maximum-likelihood probabilities *under the hypothesis* δ = ε (Miettinen &
# Nurminen 1985, with their n / (n − 1) for each class): a class without a loss gets the losses that the hypothesis
# requires.
#
# The likelihood Σ_c (w log p₋ + t log p₀ + l log p₊) is largest under the hypothesis where, in each class,
#
#     p₊ = l / (μ − κ),   p₀ = t / μ,   p₋ = w / (μ + κ),   p₊ + p₀ + p₋ = 1,
#
# with one multiplier κ for all classes, found so that Σ δ_c = K ε; a class without a loss has p₊ > 0 from κ = t + w /
# 2 on, where μ = κ. The test compares (δ̂ − ε) / se with the normal distribution; in clusters se is multiplied by
# √deff, the design effect, and the distribution is t.
#
# References
# ----------
# Miettinen & Nurminen (1985), Statistics in Medicine 4: 213-226. Tango (1998), Statistics in Medicine 17: 891-908. Rao
# & Scott (1992), Biometrics 48: 577-585 (score tests divided by a design effect).

STEPS = 60
"""Rounds in which the multiplier is looked for; a dozen do nearly always."""

CLOSE = 1e-9
"""Tolerance of the mean under the hypothesis: far below the precision of a p-value."""


FEWEST_SUMMED, MOST_SUMMED = 5, 12
"""Numbers of annotators for which the sums over annotators are tested with Simes' test: with fewer nothing is gained,
and with more there are too many intersections. Error rates and power: docs/type-one-error.md."""


def noninferior_p(p: Floats, least: int, outcome: Floats | None, epsilon: float) -> float:
    """Return the p-value of H0: the judge is as good, within the margin, as fewer than ``least`` annotators.

    The largest p-value over the intersections of m - least + 1 hypotheses. That of an intersection is Simes', or with
    ``outcome`` the smaller of Simes' and of the mean over its annotators (Hall's transformed t), doubled.

    Parameters
    ----------
    p : (m,) float
        Of each annotator.
    outcome : (items, m) float or None
        1 if the judge is closer, 0 for a tie, -1 if the annotator is closer, NaN if not compared.
    """
    from scipy.special import stdtr

    m = len(p)
    if outcome is None or not FEWEST_SUMMED <= m <= MOST_SUMMED or np.isnan(p).any() or not 1 <= least <= m:
        return float(partial_conjunction(p, least))
    chosen = np.array(list(itertools.combinations(range(m), m - least + 1)))
    simes = np.min(np.sort(p[chosen], axis=1) * (chosen.shape[1] / np.arange(1, chosen.shape[1] + 1)), axis=1)
    member = np.zeros((len(chosen), m))
    np.put_along_axis(member, chosen, 1.0, axis=1)
    there = ~np.isnan(outcome)
    number = there @ member.T
    known = number > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(known, np.where(there, outcome, 0.0) @ member.T / number + epsilon, 0.0)
        n = known.sum(axis=0)
        mean = each.sum(axis=0) / n
        off = np.where(known, each - mean, 0.0)
        spread = np.sqrt((off**2).sum(axis=0) / (n - 1))
        skewness = (off**3).sum(axis=0) / n / spread**3
        t = hall_statistic(mean / spread * np.sqrt(n), skewness, n)
        sums = stdtr(n - 1, -t)
    # Without variation, as for ties only, Simes' test of exact tests is right, and a t-test is not.
    sums = np.where((n > 1) & (spread > 1e-12) & ~np.isnan(sums), sums, 1.0)
    return float(np.minimum(2 * np.minimum(simes, sums), 1.0).max())


def robust_p(
    counts: Floats, epsilon: float | Floats, design: float | Floats = 1.0, df: float | Floats = np.inf
) -> tuple[Floats, Floats]:
    """The two one-sided p-values of the mean of class means.

    Parameters
    ----------
    counts : (..., classes, 3) float
        Wins (d = −1), ties and losses (d = 1); shares of items are allowed. Classes without items do not count.
    epsilon : float or (...)
    design, df : float or (...)
        The design effect and the degrees of freedom: 1 and infinity for independent items.

    Returns
    -------
    p, reverse : (...) float
        Of H0: E[d] >= epsilon, small if wins prevail; and of H0: E[d] <= epsilon. NaN without items.
    """
    from scipy.special import ndtr, stdtr

    mean, variance = restricted(counts, epsilon)
    above = mean - epsilon
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(np.abs(above) < CLOSE, np.where(np.isnan(mean), np.nan, 0.0), above / np.sqrt(variance * design))
    df = np.broadcast_to(np.asarray(df, dtype=float), z.shape)
    few = np.isfinite(df)
    p, reverse = ndtr(z), ndtr(-z)
    if few.any():
        p, reverse = (np.where(few, stdtr(np.where(few, df, 1.0), s), one) for s, one in ((z, p), (-z, reverse)))
    return p, reverse


def restricted(counts: Floats, epsilon: float | Floats) -> tuple[Floats, Floats]:
    """The mean of class means, and its variance under the hypothesis that it is epsilon: (...) each."""
    n = counts.sum(axis=-1)
    there = n > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(there, (counts[..., LOSS] - counts[..., WIN]) / n, 0.0)
        classes = there.sum(axis=-1)
        mean = means.sum(axis=-1) / classes
    bound = np.broadcast_to(np.asarray(epsilon, dtype=float), mean.shape)
    # The multiplier increases the mean; if it must decrease, wins and losses are swapped.
    turned = mean > bound
    wins, losses = (
        np.where(turned[..., None], counts[..., other], counts[..., one]) for one, other in ((WIN, LOSS), (LOSS, WIN))
    )
    each = _constrained_variance(wins, counts[..., TIE], losses, np.where(turned, -bound, bound) * classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        # A class of at most one item has no variance estimate, so any value is acceptable.
        variance = np.where(there, each / np.maximum(n - 1, CLOSE), 0.0).sum(axis=-1) / classes**2
    return mean, variance


def _constrained_variance(wins: Floats, ties: Floats, losses: Floats, total: Floats) -> Floats:
    """Var(d) of each class at the maximum likelihood under Σ δ_c = ``total``, which is at least the current sum."""
    k = wins.shape[-1]
    counts = np.stack([one.reshape(-1, k) for one in (wins, ties, losses)])
    n, total = counts.sum(axis=0), total.reshape(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Every δ_c is at least 1 − n_c / κ.
        high = n.sum(axis=-1) / np.maximum(np.count_nonzero(n > 0, axis=-1) - total, 1e-12)
    low, kappa, mu = np.zeros(len(high)), np.minimum(high, 1e-3 * n.sum(axis=-1)), n.copy()
    variance = np.zeros(n.shape)
    left = np.arange(len(high))
    for _ in range(STEPS):
        delta, slope, variance[left], mu[left] = _tilt_classes(counts[:, left], kappa[left, None], mu[left])
        lacking = total[left] - delta.sum(axis=-1)
        rise = slope.sum(axis=-1)
        open_ = np.abs(lacking) > CLOSE
        if not open_.any():
            break
        left, lacking, rise = left[open_], lacking[open_], rise[open_]
        at = kappa[left]
        low[left], high[left] = np.where(lacking > 0, at, low[left]), np.where(lacking > 0, high[left], at)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = at + lacking / rise
        inside = (step > low[left]) & (step < high[left])
        kappa[left] = np.where(inside, step, (low[left] + high[left]) / 2)
    return variance.reshape(wins.shape)


def _tilt_classes(counts: Floats, kappa: Floats, near: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """δ of each class at a multiplier, its slope in the multiplier, Var(d), and μ, looked for from ``near`` on."""
    (wins, ties, losses), n = counts, counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        least = kappa + losses
        mu = np.maximum(near, least)
        for _ in range(STEPS):
            # Σ p − 1 is convex and falls in μ, so from the left Newton's steps never pass the root.
            a, b, c = losses / (mu - kappa), wins / (mu + kappa), ties / mu
            steps = (a + b + c - 1) / (a / (mu - kappa) + b / (mu + kappa) + c / mu)
            moved = np.maximum(mu + np.where(losses > 0, steps, 0.0), least)
            still = np.abs(moved - mu) <= 1e-13 * moved
            mu = moved
            if still.all():
                break
        # Without a loss the equation is quadratic; its root falls below κ where p₊ > 0.
        root = ((n - kappa) + np.sqrt((n - kappa) ** 2 + 4 * ties * kappa)) / 2
        mu = np.where(losses > 0, mu, np.maximum(root, kappa))
        granted = (losses == 0) & (root <= kappa)
        minus, zero = wins / (mu + kappa), ties / mu
        plus = np.where(granted, 1 - minus - zero, np.where(losses > 0, losses / (mu - kappa), 0.0))
        a, b, c = (np.where(k > 0, p**2 / k, 0.0) for k, p in ((losses, plus), (wins, minus), (ties, zero)))
        slope = np.where(granted, n / kappa**2, a + b - (a - b) ** 2 / np.maximum(a + b + c, 1e-300))
        delta = plus - minus
        delta, slope, variance = (np.where(n > 0, v, 0.0) for v in (delta, slope, plus + minus - delta**2))
        return delta, slope, variance, mu
