"""How often a judge is closer to the others than each annotator is: wins, ties, losses, and what they add up to.

Win counts are sums over items, so the advantage probabilities broadcast over leading axes: resamples, values of
epsilon, sizes. With balancing weights (Calderon et al. 2025, appendix C.1) counts are kept by class of the majority
label, because inverse probability weights make every mean a mean over classes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.estimation.statistic import Floats, Ints

WIN, TIE, LOSS = 0, 1, 2

Scale = Literal["share", "difference"]


def count_wins(
    sign: Ints, group: Ints, n_groups: int, shares: Floats | None = None, out: Floats | None = None
) -> Floats:  # fmt: skip
    """Wins, ties and losses by group: (groups, classes, 3).

    Parameters
    ----------
    sign : (n,) int
        1 where the judge is closer, 0 for a tie, −1 where the annotator is.
    group : (n,) int
        Of each comparison.
    shares : (n, classes) float, optional
        Class of the majority label without the answer (C.1).
    out : (groups, classes, 3) float, optional
        Where they are written to; a table of many groups is long to copy.
    """
    place = 1 - sign
    if n_groups > 1:
        place += group * 3
    found = np.empty((n_groups, 1 if shares is None else shares.shape[1], 3)) if out is None else out
    for c in range(found.shape[1]):
        each = np.bincount(place, None if shares is None else shares[:, c], n_groups * 3)
        found[:, c] = each.reshape(n_groups, 3)
    return found


def advantage(counts: Floats) -> tuple[Floats, Floats]:
    """Advantage probabilities of judge and annotator, rho_f and rho_h (section 3.2, with C.1).

    Parameters
    ----------
    counts : (..., annotators, classes, 3)
        Wins, ties and losses of the judge; one class where labels are not balanced.

    Returns
    -------
    rho_judge, rho_human : (..., annotators)
        NaN where the annotator has no item. With several classes, the mean over the classes that occur.
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
    return _over_annotators(advantage(counts)[0])


def _over_annotators(each: Floats) -> Floats:
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
        # Whoever has the most items of a unit has nearly all of them.
        each = np.concatenate([n.max(axis=1, keepdims=True), n, n.max(axis=1, keepdims=True)], axis=1)
        return np.rint([np.count_nonzero(each, axis=0), each.sum(axis=0)]).astype(np.int64)

    def value(self, sums: Floats) -> Floats:
        """(..., annotators · classes · 3) -> (..., 1 + annotators + 1)."""
        counts = sums.reshape(*sums.shape[:-1], self.n_annotators, -1, 3)
        judge, human = advantage(counts)
        means = _over_annotators(judge)[..., None], _over_annotators(human - judge)[..., None]
        return np.concatenate([means[0], judge, means[1]], axis=-1)


@dataclass(frozen=True, eq=False)
class NeededEpsilon:
    """The smallest epsilon at which the judge is as good as a share of the annotators, from summed win counts.

    That is the smallest value that rho_h − rho_f of annotators with so much of the weight does not exceed; below 0
    where the judge is closer than they are.
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
    """rho and every rho_f of several judges, from win counts that stand side by side."""

    n_annotators: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def transforms(self) -> tuple[Scale, ...]:
        """Scale of the interval of each value."""
        return tuple(t for m in self.n_annotators for t in AdvantageProbability(m).transforms)

    def support(self, sums: Floats) -> Ints:
        """Units and items that each value rests on: (2, q)."""
        edges = np.cumsum([0, *self.widths])
        each = zip(self.n_annotators, itertools.pairwise(edges), strict=True)
        return np.concatenate([AdvantageProbability(m).support(sums[:, a:b]) for m, (a, b) in each], axis=1)

    def value(self, sums: Floats) -> Floats:
        """(..., all counts) -> (..., all values)."""
        edges = np.cumsum([0, *self.widths])
        each = zip(self.n_annotators, itertools.pairwise(edges), strict=True)
        return np.concatenate([AdvantageProbability(m).value(sums[..., a:b]) for m, (a, b) in each], axis=-1)


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
