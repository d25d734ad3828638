"""The measures of the probes: for one judge, numbers that are 0, or a boundary, if the judge does not have the fault.

Human labels have errors. A judge that follows quality better than the annotators do therefore appears to follow
everything that is correlated with quality: with the mean human label as a regressor a faultless judge is flagged. Here
the variance of the ideal label comes from pairs of *different* annotators of an item, whose errors are independent, and
so does its covariance with other variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from assay.estimation.intervals import Estimate, missing, same_everywhere, wilson, wilson_estimate
from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.statistic import Bools, Estimated, Floats
from assay.statistics.means import rater_levels

Probe = Literal["position", "length", "own", "resolution", "shares", "halo", "consistency", "missing"]

CalledProbe = Literal["repeat", "swapped", "padded", "stripped", "hint", "sibling"]
"""Probes that need calls, by their names in study.yaml."""

LEAST_ITEMS = 30
"""Items with labels of the judge and of two annotators that a probe requires: with 30, a covariance has an error of .2
or more."""

OWN_CENTRE = 20
"""Labels of an annotator from which these are centred by the annotator's level: with fewer, it removes more than a
twentieth of the variance. The others are centred together."""

LEAST_EFFECT = 0.1
"""Standard deviations of human labels, or correlation, below which an effect is not reported: discrete labels give up
to .03 to .05 without an effect."""

LEAST_LEVELS = 0.8
"""Share of the annotators' effective levels that a judge should use. At this boundary none of 600 faultless judges is
flagged (docs/coverage.md); without it most are, if annotators label only some of the items."""

LABELS_A_LEVEL = 5
"""Labels that an annotator shares with the judge, per level: with fewer, rare levels dominate the entropy."""

LEAST_USES = 10
"""Items with a label, by any rater, from which its share is compared."""

LEAST_MISSING = 5
"""Items without a label of the judge, but with human labels, from which they are compared with the others."""

WANTED = 0.9
"""Φ from which the mean of several responses counts as consistent."""

MOST_LABELS = 25
"""Different labels, at most, whose shares are compared."""

VARYING_LABELS = "requires labels of the judge that vary"

TWO_LABELS = f"requires {LEAST_ITEMS} items with labels of the judge and two annotators"


@dataclass(frozen=True)
class ProbeMeasure:
    """One number of a probe.

    Attributes
    ----------
    probe : Probe or CalledProbe
    measure : str
    found : Estimate
    null : float
        The value without the fault; NaN if nothing is tested.
    p : float
        Two-sided, of the null.
    least : float
        Smallest difference from the null that is reported.
    side : {-1, 0, 1}
        On which side of the null the fault lies; 0 for both.
    human : float
        The same measure of the annotators, if there is one.
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
    human: float = math.nan
    n: int = 0

    @classmethod
    def absent(cls, probe: Probe, needs: str) -> Self:
        """A probe that the table does not support, with the data that it requires."""
        return cls(probe, "", missing(needs))

    @classmethod
    def of(
        cls, probe: Probe | CalledProbe, measure: str, found: Estimate, null: float, p: float, *, n: int,
        exact: float = math.nan, **more: Any,
    ) -> Self:  # fmt: skip
        """A measure; without an interval, ``exact`` is the p-value, and without both nothing is tested.

        A fault has one side, or both.
        """
        one = cls(probe, measure, found, null, exact if found.reason is not None else p, n=n, **more)
        # A value on the opposite side is not evidence of the fault and does not count for the adjustment.
        wrong = one.side and (found.estimate - null) * one.side <= 0
        return replace(one, p=1.0) if wrong and (never_varies(found) or not math.isnan(one.p)) else one

    @property
    def untested(self) -> bool:
        """Whether there is a value that should be tested and cannot be."""
        return math.isfinite(self.found.estimate) and math.isnan(self.p) and not math.isnan(self.null)

    @property
    def large_enough(self) -> bool:
        """Whether the value is on the side of the fault, by at least ``least``."""
        off = self.found.estimate - self.null
        return abs(off) >= self.least and (self.side == 0 or off * self.side > 0)


@dataclass(frozen=True, eq=False)
class ProbeRow:
    """One measure of one judge on one criterion.

    Attributes
    ----------
    levels : int
        Number of different labels of the judge.
    covariate : str
        Column of the probe of length.
    adjusted : float
        The adjusted p-value.
    detected : bool
        Whether the fault is detected.
    """

    judge: str
    criterion: str | None
    one: ProbeMeasure
    levels: int = 0
    covariate: str = ""
    adjusted: float = math.nan
    detected: bool = False

    @property
    def label(self) -> str:
        """The judge, with its criterion if there are several."""
        return self.judge if self.criterion is None else f"{self.judge}, {self.criterion}"

    @property
    def share_of(self) -> str:
        """The label whose share it is, in quotes."""
        return self.one.measure.removeprefix("share of ").removesuffix(" minus annotators'")


def estimate_moments(
    statistic: Estimated, units: Units, level: float, *moments: NDArray[Any],
    transform: Literal["none", "fisher"] = "none",
) -> Sequence[Estimate]:  # fmt: skip
    """Estimate a statistic of sums over items by the jackknife over units.

    Moments are tables (items, k), which are joined by columns; each is summed separately to save memory.
    """
    summed = [add_rows(one.astype(float), units.of_item, units.n) for one in moments]
    sums = np.concatenate(summed, axis=1)
    used = (sums != 0).any(axis=1)
    items = int(np.any([one.any(axis=1) for one in moments], axis=0).sum())
    how = IntervalSettings(confidence=level)
    return list(estimate_sums(statistic, sums[used], how, n_items=items, unit=units.name, transform=transform))


@dataclass(frozen=True, eq=False)
class JudgeLabels:
    """The labels of one judge and of the annotators on one criterion.

    Attributes
    ----------
    judge : (items,) float
        NaN if the judge gave no label; categories as their position.
    humans : (items, annotators) float
    levels : (levels,) float
        The labels of the scale or, if it lists none, the labels in the table.
    numeric : bool
        Whether labels have an order; two categories have one.
    units : Units
        The units of the jackknife.
    level : float
        Level of the intervals.
    """

    judge: Floats
    humans: Floats
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
        """Human labels minus the annotator's level, or the mean of all with few labels: (items, annotators)."""
        n = (~np.isnan(self.humans)).sum(axis=0)
        own = n >= OWN_CENTRE
        centre = np.zeros(len(n))
        if own.any():
            centre[own] = rater_levels(self.humans[:, own])
        if (few := ~own & (n > 0)).any():
            centre[few] = np.nanmean(self.humans[:, few])
        return np.asarray(self.humans - centre)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of human labels."""
        there = self.humans[~np.isnan(self.humans)]
        return float(there.std()) if len(there) else math.nan

    @property
    def paired(self) -> int:
        """Items with labels of the judge and of two annotators."""
        return int((~np.isnan(self.judge) & ((~np.isnan(self.humans)).sum(axis=1) > 1)).sum())

    # -- at equal quality --------------------------------------------------------------------------

    def covariate(self, probe: Probe, z: Floats, measure: str) -> ProbeMeasure:
        """The change of the judge's label with ``z`` at equal ideal label: λ in judge = b · ideal + λ · z."""
        if not self.numeric:
            return ProbeMeasure.absent(probe, "requires numbers, ordered labels or two categories")
        use = ~np.isnan(self.judge) & ~np.isnan(z) & (~np.isnan(self.humans)).any(axis=1)
        n = int((use & ((~np.isnan(self.humans)).sum(axis=1) > 1)).sum())
        if n < LEAST_ITEMS:
            return ProbeMeasure.absent(probe, TWO_LABELS)
        if not np.ptp(z[use]) > 0:
            return ProbeMeasure.absent(probe, "requires items that differ in this column")
        if not np.ptp(self.judge[use]) > 0:
            return ProbeMeasure.absent(probe, VARYING_LABELS)
        mean, _, pair, pairs = _pairs(self.ideal[use], self.ideal[use])
        y, x = self.judge[use] - self.judge[use].mean(), z[use] - z[use].mean()
        moments = np.zeros((len(z), 6))
        moments[use] = np.stack([y * x, y * mean, mean * x, x * x, pair, pairs], axis=1)
        counted = np.column_stack([moments, use.astype(float)])
        found, numerator = self.estimate(AtEqualQuality(), counted)
        p, exact = _with_numerator(found, numerator)
        return ProbeMeasure.of(probe, measure, found, 0.0, p, exact=exact, least=LEAST_EFFECT * self.deviation, n=n)

    def halo(self, others: JudgeLabels) -> Floats:
        """The contribution of each item to the halo between two criteria: (items, 14), see `HaloStatistic`."""
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

    # -- use of labels -----------------------------------------------------------------------------

    def resolution(self) -> ProbeMeasure:
        """Levels used by the judge and by each annotator, on the same items: a difference of entropies."""
        used = np.unique(self.humans[~np.isnan(self.humans)])
        both = ~np.isnan(self.judge)[:, None] & ~np.isnan(self.humans)
        least = max(LEAST_ITEMS, LABELS_A_LEVEL * len(used))
        enough = np.flatnonzero(both.sum(axis=0) >= least)
        if not len(enough):
            return ProbeMeasure.absent(
                "resolution",
                f"requires an annotator with {least} items that the judge also labelled ({LABELS_A_LEVEL} per level)",
            )
        levels = np.unique(np.concatenate([used, self.judge[~np.isnan(self.judge)]]))
        mine = self.judge[:, None] == levels
        counts = [np.concatenate([mine & both[:, [r]], (self.humans[:, [r]] == levels) & both[:, [r]]], axis=1)
                  for r in enough]  # fmt: skip
        found = self.estimate(EntropyDifference(len(enough), len(levels)), *counts)[0]
        null = math.log(LEAST_LEVELS)
        shared = np.asarray(both[:, enough].any(axis=1))
        n, exact = int(shared.sum()), math.nan
        if never_varies(found) and not np.ptp(self.judge[shared]) > 0:
            exact = p_of_one_label(null - found.estimate, len(levels), self._n_units(shared))
        return ProbeMeasure.of(
            "resolution", "log ratio of levels used", found, null, found.p(null), exact=exact, side=-1, n=n,
            human=float(np.mean([len(np.unique(self.humans[both[:, r], r])) for r in enough])),
        )  # fmt: skip

    @property
    def levels_used(self) -> int:
        """Number of different labels of the judge."""
        return len(np.unique(self.judge[~np.isnan(self.judge)]))

    def shares(self, names: Sequence[object]) -> list[ProbeMeasure]:
        """The judge's share of each label minus the annotators' share, on the same items."""
        use = ~np.isnan(self.judge) & (~np.isnan(self.humans)).any(axis=1)
        if use.sum() < LEAST_ITEMS:
            return [
                ProbeMeasure.absent("shares", f"requires {LEAST_ITEMS} items with labels of the judge and an annotator")
            ]
        if len(self.levels) > MOST_LABELS:
            return [ProbeMeasure.absent("shares", f"requires a scale of at most {MOST_LABELS} labels")]
        here = self.humans[use]
        number = (~np.isnan(here)).sum(axis=1)
        found = []
        for level, name in zip(self.levels, names, strict=True):
            mine, theirs = self.judge[use] == level, (here == level).sum(axis=1) / number
            if ((theirs > 0) | mine).sum() < LEAST_USES:
                continue
            moments = np.zeros((len(self.judge), 2))
            moments[use] = np.stack([mine - theirs, np.ones(len(mine))], axis=1)
            one, signs = (
                self.estimate(Mean(), moments)[0],
                sign_p(add_rows(moments[:, :1], self.units.of_item, self.units.n)),
            )
            if never_varies(one) and one.estimate != 0:
                one = same_everywhere(one.estimate, self._n_units(use), signs, self.level)
            found.append(ProbeMeasure.of(
                "shares", f"share of '{name}' minus annotators'", one, 0.0, one.p(0.0), exact=signs, n=len(mine),
                human=float(theirs.mean()),
            ))  # fmt: skip
        return found or [ProbeMeasure.absent("shares", f"requires a label with {LEAST_USES} items")]

    def missing(self) -> list[ProbeMeasure]:
        """The share of items without a label, and whether the annotators rate these differently."""
        gone, n = np.isnan(self.judge), len(self.judge)
        share, level = float(gone.mean()), self.level
        low, high = wilson(np.array(share), n, level)
        found = [ProbeMeasure("missing", "share of items without a label",
                              wilson_estimate(share, float(low), float(high), n), n=n)]  # fmt: skip
        there = np.asarray((~np.isnan(self.humans)).any(axis=1))
        if not gone.any() or not self.numeric:
            return found
        if min((gone & there).sum(), (~gone & there).sum()) < LEAST_MISSING:
            found.append(
                ProbeMeasure.absent(
                    "missing", f"requires {LEAST_MISSING} items without a label of the judge that annotators labelled"
                )
            )
            return found
        mean = np.where(there, np.nansum(self.ideal, axis=1) / np.maximum((~np.isnan(self.humans)).sum(axis=1), 1), 0.0)
        sides = [side & there for side in (gone, ~gone)]
        moments = np.stack([*(mean * side for side in sides), *map(np.asarray, sides)], axis=1).astype(float)
        one, exact = self.estimate(MeanDifference(), moments)[0], math.nan
        if never_varies(one) and self._n_units(there) == there.sum():
            # Each group has one value. If they differ, of all divisions into such groups two are so extreme.
            exact = 1.0 if one.estimate == 0 else min(1.0, 2 / math.comb(int(there.sum()), int(sides[0].sum())))
        found.append(ProbeMeasure.of("missing", "human label of these items minus the others", one, 0.0, one.p(0.0),
                                     exact=exact, least=LEAST_EFFECT * self.deviation, n=int(gone.sum())))  # fmt: skip
        return found

    def _n_units(self, use: Bools) -> int:
        """The number of independent units of some items."""
        return len(np.unique(self.units.of_item[use]))

    def consistency(self, replies: Floats) -> ProbeMeasure:
        """Φ of one response: the share of the variance of responses that is due to items; (items, repeats)."""
        number = (~np.isnan(replies)).sum(axis=1)
        use = number > 1
        if use.sum() < LEAST_ITEMS:
            return ProbeMeasure.absent(
                "consistency", f"requires {LEAST_ITEMS} items with at least two responses of the judge"
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
        found = self.estimate(OneResponse(), moments, transform="fisher")[0]
        exact = math.nan
        if never_varies(found) and found.estimate < WANTED:
            step = float(np.diff(self.levels).min()) if self.numeric and len(self.levels) > 1 else math.nan
            exact = p_of_contradictions(kept, step, self._n_units(use))
        return ProbeMeasure.of(
            "consistency", "Φ of one response", found, WANTED, found.p(WANTED), exact=exact, side=-1, n=int(use.sum())
        )


def halo_of(criteria: Sequence[JudgeLabels]) -> ProbeMeasure:
    """The correlation of labels of two criteria beyond quality, averaged over pairs of criteria."""
    if len(criteria) < 2:
        return ProbeMeasure.absent("halo", "requires two or more criteria")
    if not all(one.numeric for one in criteria):
        return ProbeMeasure.absent("halo", "requires numbers, ordered labels or two categories")
    n = min(one.paired for one in criteria)
    if n < LEAST_ITEMS:
        return ProbeMeasure.absent("halo", TWO_LABELS)
    several = [(j, k) for j in range(len(criteria)) for k in range(j)]
    moments = np.concatenate([criteria[j].halo(criteria[k]) for j, k in several], axis=1)
    spread = [float(np.nanstd(one.judge)) for one in criteria]
    if min(spread) <= 0:
        return ProbeMeasure.absent("halo", VARYING_LABELS)
    theirs = [one.deviation for one in criteria]
    statistic = HaloStatistic(
        np.array([spread[j] * spread[k] for j, k in several]), np.array([theirs[j] * theirs[k] for j, k in several])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        found, numerator, people = criteria[0].estimate(statistic, moments)
    p, exact = _with_numerator(found, numerator)
    return ProbeMeasure.of("halo", "correlation of criteria beyond quality", found, 0.0, p, exact=exact,
                           least=LEAST_EFFECT, side=1, human=people.estimate, n=n)  # fmt: skip


def responses_needed(phi: float) -> float:
    """The number of responses whose mean has Φ = `WANTED` (Spearman–Brown); infinite if one response has Φ ≤ 0."""
    if phi >= WANTED:
        return 1.0
    return math.inf if phi <= 0 else float(math.ceil(WANTED * (1 - phi) / ((1 - WANTED) * phi) - 1e-9))


# -- tests of values that are the same without any item ------------------------------------------------


def never_varies(found: Estimate) -> bool:
    """Whether the estimate is the same without each unit in turn, so that the jackknife has no interval."""
    without = np.empty((0, 1)) if found.among is None else found.among.leave_one_out
    if not len(without) or not math.isfinite(found.estimate):
        return False
    return bool(np.ptp(without[:, found.at]) <= 1e-12 * max(1.0, abs(found.estimate)))


def sign_p(values: Floats) -> float:
    """Two-sided exact p-value of the sign test; 1 if all values are 0."""
    up, down = int((values > 0).sum()), int((values < 0).sum())
    tail: int = sum(math.comb(up + down, k) for k in range(max(up, down), up + down + 1))
    return min(1.0, float(Fraction(2 * tail, 2 ** (up + down))))


def p_of_one_label(entropy: float, n_levels: int, n: int) -> float:
    """The p-value of one label on all ``n`` units, if labels have at least this entropy, in nats.

    Of all distributions with that entropy, the one with the most frequent label has the others equally often.
    """
    if entropy <= 0 or n_levels < 2:
        return 1.0
    low, high = 1 / n_levels, 1.0
    for _ in range(60):
        most = (low + high) / 2
        rest = 0.0 if most >= 1 else (1 - most) * math.log((1 - most) / (n_levels - 1))
        low, high = (most, high) if -most * math.log(most) - rest > entropy else (low, most)
    return min(1.0, 2 * high**n)


def p_of_contradictions(replies: Floats, step: float, n: int) -> float:
    """A bound of the p-value of Φ ≥ `WANTED` if on every unit two responses, (items, repeats), differ; else NaN.

    For labels without an order Φ ≥ .9 means that two responses differ with probability .1 or less; for numbers, that
    half their mean squared difference is .1 of the variance or less, which is a quarter of the squared range or less.
    """
    if not (np.nanmax(replies, axis=1) > np.nanmin(replies, axis=1)).all():
        return math.nan
    most = 1 - WANTED
    if not math.isnan(step):
        most *= float(np.nanmax(replies) - np.nanmin(replies)) ** 2 / (2 * step**2)
    repeats = replies.shape[1]
    p = (most * repeats * (repeats - 1) / 2) ** n
    return float(p) if p < 1 else math.nan


def _with_numerator(found: Estimate, numerator: Estimate) -> tuple[float, float]:
    """The p-value of a ratio if its numerator must also be significant, and if the ratio never varies."""
    alone = numerator.p(0.0)
    return larger(found.p(0.0), alone), alone if never_varies(found) else math.nan


def larger(one: float, other: float) -> float:
    """The p-value if both tests have to reject."""
    return math.nan if math.isnan(one) or math.isnan(other) else max(one, other)


def _pairs(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """From two tables of human labels, (items, annotators): the mean of the first, whether there is one, the mean
    product of labels by different annotators, and whether there is one; a number per item each."""
    here, there = ~np.isnan(first), ~np.isnan(second)
    a, b = np.where(here, first, 0.0), np.where(there, second, 0.0)
    n = here.sum(axis=1)
    number = n * there.sum(axis=1) - (here & there).sum(axis=1)
    product = (a.sum(axis=1) * b.sum(axis=1) - (a * b).sum(axis=1)) / np.maximum(number, 1)
    return a.sum(axis=1) / np.maximum(n, 1), n > 0, product, (number > 0).astype(float)


# -- statistics of sums ------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtEqualQuality:
    """λ = (C_yz V_ξ − C_yh C_hz) / (V_ξ V_z − C_hz²), and its numerator, without the imprecise denominator."""

    def value(self, sums: Floats) -> Floats:
        """From sums of yz, yh, hz, z², products of two annotators and their number, and the number of items."""
        yz, yh, hz, zz = np.moveaxis(sums[..., :4] / sums[..., 6:7], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ideal = sums[..., 4] / sums[..., 5]
            over = yz * ideal - yh * hz
            below = ideal * zz - hz**2
            return np.stack([np.where(below > 0, over / below, np.nan), over], axis=-1)


@dataclass(frozen=True, eq=False)
class HaloStatistic:
    """C_jk of the judge − b_j b_k C_jk of the annotators, b = C_yh / V_ξ, as a correlation; its numerator; human halo.

    Means over pairs of criteria. The human halo is the covariance of one annotator's labels of two criteria beyond that
    of different annotators.
    """

    spread: Floats
    theirs: Floats

    def value(self, sums: Floats) -> Floats:
        """From 14 sums per pair of criteria: sums and numbers alternate."""
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
    """The judge's entropy minus an annotator's on the same items, averaged; in nats, Miller–Madow corrected."""

    humans: int
    levels: int

    def value(self, sums: Floats) -> Floats:
        """From counts by annotator, side (judge, annotator) and level."""
        counts = sums.reshape(*sums.shape[:-1], self.humans, 2, self.levels)
        n = counts.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = counts / n
            entropy = -np.where(share > 0, share * np.log(share), 0.0).sum(axis=-1)
            entropy = entropy + ((share > 0).sum(axis=-1) - 1) / (2 * n[..., 0])
        return np.asarray((entropy[..., 0] - entropy[..., 1]).mean(axis=-1))[..., None]


@dataclass(frozen=True)
class MeanDifference:
    """One mean minus another, from two sums and their two numbers."""

    def value(self, sums: Floats) -> Floats:
        """NaN if a side is empty."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 2] - sums[..., 1] / sums[..., 3])[..., None]


@dataclass(frozen=True)
class OneResponse:
    """Φ of a response: the covariance of two responses for an item over the variance of one; categories as vectors."""

    def value(self, sums: Floats) -> Floats:
        """From sums of products of two responses, of squares, of items and of means."""
        pair, square = (sums[..., i] / sums[..., 2] for i in (0, 1))
        mean = ((sums[..., 3:] / sums[..., 2:3]) ** 2).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((pair - mean) / (square - mean))[..., None]
