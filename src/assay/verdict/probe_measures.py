"""What a probe measures of one judge beside people: numbers that are 0, or a boundary, for a judge without the fault.

People's labels err, so a judge that follows quality better than they do looks as if it followed whatever goes with
quality: the mean of people's labels as a regressor accuses the innocent. Here the variance of the ideal label comes
from pairs of *different* people on an item, whose errors are their own, and so does its covariance with anything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from assay.estimation.intervals import Estimate, missing, wilson, wilson_estimate
from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.statistic import Estimated, Floats

Probe = Literal["position", "length", "own", "resolution", "shares", "halo", "consistency", "missing"]

CalledProbe = Literal["repeat", "swapped", "padded", "stripped", "hint", "sibling"]
"""Probes that need calls, by their names in study.yaml."""

LEAST_ITEMS = 30
"""Items with labels of the judge and of two people that a probe needs: 30 give a covariance an error of .2 at best."""

OWN_CENTRE = 20
"""Labels from which a person is centred by its own mean: with fewer, that mean takes more than a twentieth of the
person's variance away. The others are centred together."""

LEAST_EFFECT = 0.1
"""Standard deviations of people's labels, or of correlation, below which nothing is said: labels that are cut into
steps leave up to .03 to .05 where there is no effect."""

LEAST_LEVELS = 0.8
"""Share of people's levels in use that a judge should have: shown to have less, none of 600 faultless judges is accused
(docs/coverage.md), where any difference from people is shown of most that people label a part of the items."""

LABELS_A_LEVEL = 5
"""Labels that a person shares with the judge, for each level: with fewer, rare levels decide an entropy."""

LEAST_USES = 10
"""Items on which somebody gave a label, for its share to be compared."""

LEAST_MISSING = 5
"""Items without a reply that people labelled, for them to be compared with the others."""

WANTED = 0.9
"""Φ of a mean of replies that is called consistent."""

MOST_LABELS = 25
"""Different labels whose shares are compared one by one."""


@dataclass(frozen=True)
class ProbeMeasure:
    """One number of a probe.

    Attributes
    ----------
    probe : Probe or CalledProbe
    measure : str
    found : Estimate
    null : float
        What it is without the fault; NaN where nothing is tested.
    p : float
        Two-sided, of the null.
    least : float
        How far from the null counts.
    side : {-1, 0, 1}
        On which side of the null the fault lies; 0 for both.
    people : float
        The same of people, where there is such a thing.
    n : int
        Items.
    """

    probe: Probe | CalledProbe
    measure: str
    found: Estimate
    null: float = math.nan
    p: float = math.nan
    least: float = 0.0
    side: int = 0
    people: float = math.nan
    n: int = 0

    @classmethod
    def absent(cls, probe: Probe, needs: str) -> Self:
        """What the table cannot support, and what the probe needs."""
        return cls(probe, "", missing(needs))

    @classmethod
    def of(
        cls, probe: Probe | CalledProbe, measure: str, found: Estimate, null: float, p: float, *, n: int, **more: Any
    ) -> Self:  # fmt: skip
        """A measure that may have no interval: then nothing is tested. A fault has one side, or both."""
        one = cls(probe, measure, found, null, math.nan if found.reason is not None else p, n=n, **more)
        # A value on the other side than the fault's is no evidence of it, and must not use up the correction.
        wrong = one.side and (found.estimate - null) * one.side <= 0
        return replace(one, p=1.0) if wrong and not math.isnan(one.p) else one

    @property
    def amiss(self) -> bool:
        """Whether the value lies on the side of the fault, and as far as counts."""
        off = self.found.estimate - self.null
        return abs(off) >= self.least and (self.side == 0 or off * self.side > 0)


def estimate_moments(
    statistic: Estimated, units: Units, level: float, *moments: NDArray[Any],
    transform: Literal["none", "fisher"] = "none",
) -> Sequence[Estimate]:  # fmt: skip
    """The values of a statistic of sums over items, leaving out each unit that adds anything.

    Moments are tables (items, k) that stand side by side; each is summed by itself, so that memory holds one.
    """
    summed = [add_rows(one.astype(float), units.of_item, units.n) for one in moments]
    sums = np.concatenate(summed, axis=1)
    used = (sums != 0).any(axis=1)
    items = int(np.any([one.any(axis=1) for one in moments], axis=0).sum())
    how = IntervalSettings(confidence=level)
    return list(estimate_sums(statistic, sums[used], how, n_items=items, unit=units.name, transform=transform))


@dataclass(frozen=True, eq=False)
class JudgeLabels:
    """One judge beside people on one criterion.

    Attributes
    ----------
    judge : (items,) float
        NaN where there is no label; categories as their position.
    people : (items, people) float
    levels : (levels,) float
        The labels of the scale or, where it lists none, those that were given.
    numeric : bool
        Whether labels have an order: two categories do.
    units : Units
        What is left out together.
    level : float
        Of the intervals.
    """

    judge: Floats
    people: Floats
    levels: Floats
    numeric: bool
    units: Units
    level: float

    def estimate(
        self, statistic: Estimated, *moments: NDArray[Any], transform: Literal["none", "fisher"] = "none"
    ) -> Sequence[Estimate]:
        """See `estimate_moments`."""
        return estimate_moments(statistic, self.units, self.level, *moments, transform=transform)

    @cached_property
    def ideal(self) -> Floats:
        """People's labels less each person's mean, or the mean of all who gave few: (items, people)."""
        n = (~np.isnan(self.people)).sum(axis=0)
        own = n >= OWN_CENTRE
        centre = np.zeros(len(n))
        if own.any():
            centre[own] = np.nanmean(self.people[:, own], axis=0)
        if (few := ~own & (n > 0)).any():
            centre[few] = np.nanmean(self.people[:, few])
        return np.asarray(self.people - centre)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of people's labels."""
        there = self.people[~np.isnan(self.people)]
        return float(there.std()) if len(there) else math.nan

    @property
    def paired(self) -> int:
        """Items with labels of the judge and of two people."""
        return int((~np.isnan(self.judge) & ((~np.isnan(self.people)).sum(axis=1) > 1)).sum())

    # -- at equal quality --------------------------------------------------------------------------

    def covariate(self, probe: Probe, z: Floats, measure: str) -> ProbeMeasure:
        """How the judge's label changes with ``z`` at equal ideal label: λ of judge = b · ideal + λ · z."""
        if not self.numeric:
            return ProbeMeasure.absent(probe, "needs numbers, ordered labels or two categories")
        use = ~np.isnan(self.judge) & ~np.isnan(z) & (~np.isnan(self.people)).any(axis=1)
        n = int((use & ((~np.isnan(self.people)).sum(axis=1) > 1)).sum())
        if n < LEAST_ITEMS:
            return ProbeMeasure.absent(probe, f"needs {LEAST_ITEMS} items with the judge's label and two people's")
        if not np.ptp(z[use]) > 0:
            return ProbeMeasure.absent(probe, "needs items that differ in it")
        mean, _, pair, pairs = _pairs(self.ideal[use], self.ideal[use])
        y, x = self.judge[use] - self.judge[use].mean(), z[use] - z[use].mean()
        moments = np.zeros((len(z), 6))
        moments[use] = np.stack([y * x, y * mean, mean * x, x * x, pair, pairs], axis=1)
        counted = np.column_stack([moments, use.astype(float)])
        found, numerator = self.estimate(AtEqualQuality(), counted)
        p = _larger(found.p(0.0), numerator.p(0.0))
        return ProbeMeasure.of(probe, measure, found, 0.0, p, least=LEAST_EFFECT * self.deviation, n=n)

    def halo(self, others: JudgeLabels) -> Floats:
        """What an item adds to the halo between two criteria: (items, 14), see `HaloStatistic`."""
        found = np.zeros((len(self.judge), 14))
        both = ~np.isnan(self.judge) & ~np.isnan(others.judge)
        for j, one in enumerate((self, others)):
            mean, there, pair, pairs = _pairs(one.ideal, one.ideal)
            use = ~np.isnan(one.judge) & there
            y = one.judge - np.nanmean(one.judge)
            found[use, 4 * j] = (y * mean)[use]
            found[use, 4 * j + 1] = 1.0
            found[:, 4 * j + 2], found[:, 4 * j + 3] = pair, pairs
        product = (self.judge - np.nanmean(self.judge)) * (others.judge - np.nanmean(others.judge))
        found[both, 8], found[both, 9] = product[both], 1.0
        _, _, cross, crossed = _pairs(self.ideal, others.ideal)
        same = self.ideal * others.ideal
        here = (~np.isnan(same)).sum(axis=1)
        found[:, 10], found[:, 11] = cross, crossed
        found[:, 12], found[:, 13] = np.nansum(same, axis=1) / np.maximum(here, 1), here > 0
        return found

    # -- how labels are used -----------------------------------------------------------------------

    def resolution(self) -> ProbeMeasure:
        """How many levels the judge uses beside each person, on the same items: a difference of entropies."""
        used = np.unique(self.people[~np.isnan(self.people)])
        both = ~np.isnan(self.judge)[:, None] & ~np.isnan(self.people)
        least = max(LEAST_ITEMS, LABELS_A_LEVEL * len(used))
        enough = np.flatnonzero(both.sum(axis=0) >= least)
        if not len(enough):
            return ProbeMeasure.absent(
                "resolution",
                f"needs a person with {least} items that the judge labelled too ({LABELS_A_LEVEL} a level)",
            )
        levels = np.unique(np.concatenate([used, self.judge[~np.isnan(self.judge)]]))
        mine = self.judge[:, None] == levels
        counts = [np.concatenate([mine & both[:, [r]], (self.people[:, [r]] == levels) & both[:, [r]]], axis=1)
                  for r in enough]  # fmt: skip
        found = self.estimate(EntropyDifference(len(enough), len(levels)), *counts)[0]
        null = math.log(LEAST_LEVELS)
        n = int(both[:, enough].any(axis=1).sum())
        return ProbeMeasure.of(
            "resolution", "log of levels in use beside people's", found, null, found.p(null), side=-1, n=n,
            people=float(np.mean([len(np.unique(self.people[both[:, r], r])) for r in enough])),
        )  # fmt: skip

    @property
    def levels_used(self) -> int:
        """Different labels that the judge gave."""
        return len(np.unique(self.judge[~np.isnan(self.judge)]))

    def shares(self, names: Sequence[object]) -> list[ProbeMeasure]:
        """How often the judge gives each label less how often people do, on the same items."""
        use = ~np.isnan(self.judge) & (~np.isnan(self.people)).any(axis=1)
        if use.sum() < LEAST_ITEMS:
            return [ProbeMeasure.absent("shares", f"needs {LEAST_ITEMS} items with the judge's label and a person's")]
        if len(self.levels) > MOST_LABELS:
            return [ProbeMeasure.absent("shares", f"needs a scale of at most {MOST_LABELS} labels")]
        here = self.people[use]
        number = (~np.isnan(here)).sum(axis=1)
        found = []
        for level, name in zip(self.levels, names, strict=True):
            mine, theirs = self.judge[use] == level, (here == level).sum(axis=1) / number
            if ((theirs > 0) | mine).sum() < LEAST_USES:
                continue
            moments = np.zeros((len(self.judge), 2))
            moments[use] = np.stack([mine - theirs, np.ones(len(mine))], axis=1)
            one = self.estimate(Mean(), moments)[0]
            found.append(ProbeMeasure.of(
                "shares", f"share of '{name}' less people's", one, 0.0, one.p(0.0), n=len(mine),
                people=float(theirs.mean()),
            ))  # fmt: skip
        return found or [ProbeMeasure.absent("shares", f"needs a label that somebody gave to {LEAST_USES} items")]

    def missing(self) -> list[ProbeMeasure]:
        """On how many items the judge has no label, and whether people rate those otherwise."""
        gone, n = np.isnan(self.judge), len(self.judge)
        share, level = float(gone.mean()), self.level
        low, high = wilson(np.array(share), n, level)
        found = [ProbeMeasure("missing", "share of items without a label",
                              wilson_estimate(share, float(low), float(high), n), n=n)]  # fmt: skip
        there = (~np.isnan(self.people)).any(axis=1)
        if not gone.any() or not self.numeric:
            return found
        if min((gone & there).sum(), (~gone & there).sum()) < LEAST_MISSING:
            found.append(
                ProbeMeasure.absent(
                    "missing", f"needs {LEAST_MISSING} items without a label that people labelled, to compare them"
                )
            )
            return found
        mean = np.where(there, np.nansum(self.ideal, axis=1) / np.maximum((~np.isnan(self.people)).sum(axis=1), 1), 0.0)
        sides = [side & there for side in (gone, ~gone)]
        moments = np.stack([*(mean * side for side in sides), *map(np.asarray, sides)], axis=1).astype(float)
        one = self.estimate(MeanDifference(), moments)[0]
        found.append(ProbeMeasure.of("missing", "people's label of items without one, less of the others", one, 0.0,
                                     one.p(0.0), least=LEAST_EFFECT * self.deviation, n=int(gone.sum())))  # fmt: skip
        return found

    def consistency(self, replies: Floats) -> ProbeMeasure:
        """Φ of one reply: how much of the variance of single replies is the item's. Replies are (items, repeats)."""
        number = (~np.isnan(replies)).sum(axis=1)
        use = number > 1
        if use.sum() < LEAST_ITEMS:
            return ProbeMeasure.absent(
                "consistency", f"needs {LEAST_ITEMS} items with two replies of the judge or more"
            )
        kept, n = replies[use], number[use][:, None]
        if self.numeric:
            there = ~np.isnan(kept)
            vectors = np.where(there, kept - np.nanmean(kept), 0.0)[..., None]
            size = (vectors**2).sum(axis=(1, 2))[:, None]
        else:
            vectors = (kept[..., None] == np.unique(kept[~np.isnan(kept)])).astype(float)
            size = n.astype(float)
        total = vectors.sum(axis=1)
        pairs = ((total**2).sum(axis=1)[:, None] - size) / (n * (n - 1))
        moments = np.zeros((len(replies), 3 + total.shape[1]))
        moments[use] = np.concatenate([pairs, size / n, np.ones(n.shape), total / n], axis=1)
        found = self.estimate(OneReply(), moments, transform="fisher")[0]
        return ProbeMeasure.of(
            "consistency", "Φ of one reply", found, WANTED, found.p(WANTED), side=-1, n=int(use.sum())
        )


def halo_of(criteria: Sequence[JudgeLabels]) -> ProbeMeasure:
    """What labels of two criteria share beyond quality, as a correlation, averaged over pairs of criteria."""
    if len(criteria) < 2:
        return ProbeMeasure.absent("halo", "needs two criteria or more")
    if not all(one.numeric for one in criteria):
        return ProbeMeasure.absent("halo", "needs numbers, ordered labels or two categories")
    n = min(one.paired for one in criteria)
    if n < LEAST_ITEMS:
        return ProbeMeasure.absent("halo", f"needs {LEAST_ITEMS} items with the judge's label and two people's")
    several = [(j, k) for j in range(len(criteria)) for k in range(j)]
    moments = np.concatenate([criteria[j].halo(criteria[k]) for j, k in several], axis=1)
    spread = [float(np.nanstd(one.judge)) for one in criteria]
    if min(spread) <= 0:
        return ProbeMeasure.absent("halo", "needs labels of the judge that vary")
    theirs = [one.deviation for one in criteria]
    statistic = HaloStatistic(
        np.array([spread[j] * spread[k] for j, k in several]), np.array([theirs[j] * theirs[k] for j, k in several])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        found, numerator, people = criteria[0].estimate(statistic, moments)
    p = _larger(found.p(0.0), numerator.p(0.0))
    return ProbeMeasure.of("halo", "correlation of criteria beyond quality", found, 0.0, p, least=LEAST_EFFECT, side=1,
                           people=people.estimate, n=n)  # fmt: skip


def replies_needed(phi: float) -> float:
    """How many replies have a mean with a Φ of `WANTED` (Spearman and Brown); infinite where one has none."""
    if phi >= WANTED:
        return 1.0
    return math.inf if phi <= 0 else float(math.ceil(WANTED * (1 - phi) / ((1 - WANTED) * phi) - 1e-9))


def _larger(one: float, other: float) -> float:
    """Both tests have to reject."""
    return math.nan if math.isnan(one) or math.isnan(other) else max(one, other)


def _pairs(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Of two tables of people's labels, (items, people): the first's mean, where there is one; the mean product of
    labels by different people, and where there is one, each as a number an item."""
    here, there = ~np.isnan(first), ~np.isnan(second)
    a, b = np.where(here, first, 0.0), np.where(there, second, 0.0)
    n = here.sum(axis=1)
    number = n * there.sum(axis=1) - (here & there).sum(axis=1)
    product = (a.sum(axis=1) * b.sum(axis=1) - (a * b).sum(axis=1)) / np.maximum(number, 1)
    return a.sum(axis=1) / np.maximum(n, 1), n > 0, product, (number > 0).astype(float)


# -- statistics of sums ------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtEqualQuality:
    """λ = (C_yz V_ξ − C_yh C_hz) / (V_ξ V_z − C_hz²), and its numerator, which has no poorly known denominator."""

    def value(self, sums: Floats) -> Floats:
        """From sums of yz, yh, hz, z², products of two people and their number, and the number of items."""
        yz, yh, hz, zz = np.moveaxis(sums[..., :4] / sums[..., 6:7], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ideal = sums[..., 4] / sums[..., 5]
            over = yz * ideal - yh * hz
            below = ideal * zz - hz**2
            return np.stack([np.where(below > 0, over / below, np.nan), over], axis=-1)


@dataclass(frozen=True, eq=False)
class HaloStatistic:
    """C_jk of the judge − b_j b_k C_jk of people, b = C_yh / V_ξ, as a correlation; its numerator; and people's own.

    Means over pairs of criteria. People's own halo is what one person's labels of two criteria share beyond those of
    different people.
    """

    spread: Floats
    theirs: Floats

    def value(self, sums: Floats) -> Floats:
        """From 14 sums a pair of criteria: sums and numbers in turn."""
        each = sums.reshape(*sums.shape[:-1], -1, 14)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = each[..., 0::2] / each[..., 1::2]
            y1, v1, y2, v2, own, cross, same = np.moveaxis(mean, -1, 0)
            ideal = np.where((v1 > 0) & (v2 > 0), v1 * v2, np.nan)
            halo = (own - y1 * y2 * cross / ideal) / self.spread
            over = own * v1 * v2 - y1 * y2 * cross
            people = (same - cross) / self.theirs
        return np.stack([one.mean(axis=-1) for one in (halo, over, people)], axis=-1)


@dataclass(frozen=True)
class EntropyDifference:
    """The judge's entropy less a person's on the same items, averaged over people; in nats, after Miller and Madow."""

    people: int
    levels: int

    def value(self, sums: Floats) -> Floats:
        """From counts by person, side (judge, person) and level."""
        counts = sums.reshape(*sums.shape[:-1], self.people, 2, self.levels)
        n = counts.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = counts / n
            entropy = -np.where(share > 0, share * np.log(share), 0.0).sum(axis=-1)
            entropy = entropy + ((share > 0).sum(axis=-1) - 1) / (2 * n[..., 0])
        return np.asarray((entropy[..., 0] - entropy[..., 1]).mean(axis=-1))[..., None]


@dataclass(frozen=True)
class MeanDifference:
    """One mean less another, from two sums and their two numbers."""

    def value(self, sums: Floats) -> Floats:
        """NaN where a side is empty."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 2] - sums[..., 1] / sums[..., 3])[..., None]


@dataclass(frozen=True)
class OneReply:
    """Φ of a reply: what two replies about an item share, over the variance of one; categories as vectors."""

    def value(self, sums: Floats) -> Floats:
        """From sums of products of two replies, of squares, of items and of means."""
        pair, square = (sums[..., i] / sums[..., 2] for i in (0, 1))
        mean = ((sums[..., 3:] / sums[..., 2:3]) ** 2).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((pair - mean) / (square - mean))[..., None]
