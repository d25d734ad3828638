"""Intervals for ratios of sums, means and slopes over items, for these annotators or for a population of annotators.

`RatioSample` is for the relative distance, whose terms are skewed; `LeaveOuts` is for annotators that are a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from assay.errors import counted
from assay.estimation.intervals import TOO_FEW, EndsAt, Estimate, estimate_by_ends, missing, without_interval
from assay.estimation.statistic import Floats, Ints

ENOUGH = 50
"""Units with disagreement from which Hall's interval alone has its coverage (.92 to .98); with fewer, each end is the
wider of Hall's and Fieller's."""

LEAST = 20
"""Least items with disagreement for an interval: below, coverage falls to .77."""

LEAST_UNITS = 10
"""Least clusters for an interval, and least items for the interval of a panel."""

LEAST_SKEW = 1e-6
"""Skewness below which Hall's transformation is the identity."""


# -- items ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RatioSample:
    """A ratio of two sums over units (items, or clusters of items).

    Attributes
    ----------
    top, bottom : (units,) float
    clustered : bool
        Whether a unit has several items.
    """

    top: Floats
    bottom: Floats
    clustered: bool = False

    @classmethod
    def of(cls, top: Floats, bottom: Floats, unit: Ints) -> RatioSample:
        """Sum the terms of items by unit: (items,) each."""
        sums = [np.bincount(unit, one).astype(float) for one in (top, bottom)]
        return cls(sums[0], sums[1], len(sums[0]) < len(unit))

    @property
    def value(self) -> float:
        """The ratio."""
        whole = float(self.bottom.sum())
        return float(self.top.sum()) / whole if whole > 0 else math.nan

    @property
    def residuals(self) -> Floats:
        """u = (top − ratio · bottom) / mean of bottom: (units,)."""
        return np.asarray((self.top - self.value * self.bottom) / self.bottom.mean())

    @property
    def error(self) -> float:
        """The standard error by linearisation."""
        return float(self.residuals.std(ddof=1)) / math.sqrt(len(self.top))

    def hall(self, level: float) -> tuple[float, float]:
        """Return Hall's (1992) interval, which takes out the skewness of the units' contributions."""
        n, u = len(self.top), self.residuals
        sd = float(u.std(ddof=1))
        skew = float((u**3).mean() / (u**2).mean() ** 1.5) if sd > 0 else 0.0
        x = float(stdtrit(n - 1, (1 + level) / 2)) / math.sqrt(n)

        def straight(v: float) -> float:
            if abs(skew) < LEAST_SKEW:
                return v
            return float(3 / skew * (np.cbrt(1 + skew * (v - skew / (6 * n))) - 1))

        return self.value - sd * straight(x), self.value - sd * straight(-x)

    def fieller(self, level: float) -> tuple[float, float]:
        """Return Fieller's (1954) interval; infinite ends if the denominator is not significantly above 0."""
        n = len(self.top)
        x, y = float(self.top.mean()), float(self.bottom.mean())
        (vx, vxy), (_, vy) = (np.cov(self.top, self.bottom) / n).tolist()
        t2 = float(stdtrit(n - 1, (1 + level) / 2)) ** 2
        a, b, c = y**2 - t2 * vy, x * y - t2 * vxy, x**2 - t2 * vx
        if a <= 0 or b**2 - a * c < 0:
            return -math.inf, math.inf
        half = math.sqrt(b**2 - a * c)
        return (b - half) / a, (b + half) / a

    def widest(self, level: float) -> tuple[float, float]:
        """Return Hall's interval; with few units with disagreement each end is the wider of Hall's and Fieller's."""
        low, high = self.hall(level)
        if np.count_nonzero(self.bottom > 0) >= ENOUGH:
            return low, high
        other = self.fieller(level)
        return min(low, other[0]), max(high, other[1])

    def relative_distance(self, level: float, disagreed: int) -> Estimate:
        """Return the ratio with its interval, or the reason for none.

        Parameters
        ----------
        disagreed : int
            Items on which annotators disagree.
        """
        if disagreed == 0 or len(self.top) < 3:
            return missing("the annotators disagree on no item" if disagreed == 0 else "fewer than 3 items")
        if disagreed < LEAST:
            found = counted(disagreed, "item")
            return without_interval(self.value, f"the annotators disagree on only {found}; {LEAST} are required")
        return too_few_units(self.value, len(self.top)) or estimate_by_ends(self.value, self.error, self.widest, level)

    def ratio(self, level: float) -> Estimate:
        """Return the ratio with Fieller's interval."""
        if math.isnan(self.value) or len(self.top) < 3:
            return missing("the annotators disagree on no item" if math.isnan(self.value) else "fewer than 3 items")
        few = too_few_units(self.value, len(self.top)) if self.clustered else None
        return few or estimate_by_ends(self.value, self.error, self.fieller, level)

    def mean(self, level: float) -> Estimate:
        """Return the ratio with the t interval of its linearisation: a mean per item, if ``bottom`` counts items."""
        if len(self.top) < 3:
            return missing("fewer than 3 items")
        few = too_few_units(self.value, len(self.top)) if self.clustered else None
        ends = t_ends(self.value, self.error, len(self.top) - 1)
        return few or estimate_by_ends(self.value, self.error, ends, level)


def too_few_units(value: float, n_clusters: int) -> Estimate | None:
    """Return the value without an interval if there are too few clusters."""
    if n_clusters >= LEAST_UNITS:
        return None
    return without_interval(value, f"{counted(n_clusters, 'cluster')}; at least {LEAST_UNITS} are required")


def t_ends(value: float, error: float, df: float) -> EndsAt:
    """The interval of Student's t."""

    def ends(level: float) -> tuple[float, float]:
        half = float(stdtrit(df, (1 + level) / 2)) * error
        return value - half, value + half

    return ends


def one_sided(found: Estimate, *, below: bool = True) -> float:
    """Return the one-sided p-value of a true value of at least 0 (of at most 0, if not ``below``)."""
    p = found.p(0.0) / 2
    return p if (found.estimate < 0) == below else 1 - p


def jackknife(value: float, without: Floats, level: float) -> Estimate:
    """Return a value with the t interval from its leave-outs: (units,)."""
    n = len(without)
    if not (math.isfinite(value) and np.isfinite(without).all()):
        return missing("undefined without one of the items")
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    return estimate_by_ends(value, error, t_ends(value, error, n - 1), level)


# -- slopes ---------------------------------------------------------------------------------------------


def slope_hc3(x: Floats, y: Floats, level: float) -> Estimate:
    """Return the least-squares slope of y on x with its HC3 standard error and t with n − 2 degrees of freedom."""
    n, away = len(x), x - x.mean()
    square = float(away @ away)
    if n < 4 or square <= 1e-12 * max(float(x @ x), 1e-300):
        return missing("the judge's spread is the same for all items" if n >= 4 else "fewer than 4 items")
    value = float(away @ y) / square
    residual = y - y.mean() - value * away
    lever = np.minimum(1 / n + away**2 / square, 1 - 1e-9)
    error = math.sqrt(float((away**2 * (residual / (1 - lever)) ** 2).sum())) / square
    return estimate_by_ends(value, error, t_ends(value, error, n - 2), level)


def known_slope(sums: Floats) -> Floats:
    """Return the least-squares slope from the sums of 1, x, y, x y and x²: (..., 5) -> (...)."""
    n, x, y, xy, xx = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((n * xy - x * y) / (n * xx - x**2))


def repeated_slope(sums: Floats) -> Floats:
    """Return the slope on a spread that is estimated from repeats, without its attenuation.

    Parameters
    ----------
    sums : (..., 6)
        Sums of 1, x, y, x y, x² and of the products of two distances of four different repeats.
    """
    n, x, y, xy, xx, quadruples = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        together = xy / n - (x * y - xy) / (n * (n - 1))
        alone = quadruples / n - (x**2 - xx) / (n * (n - 1))
        return np.asarray(np.where(alone > 0, together / alone, np.nan))


# -- annotators that are a sample -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeaveOuts:
    """What leaving out each annotator changes in the sums of each unit.

    Attributes
    ----------
    moments : (units, k) float
        The contributions of each unit.
    unit, person : (changes,) int
        The unit and annotator of each change.
    change : (changes, k) float
        Contribution without the annotator minus contribution with all.
    n_people : int
    """

    moments: Floats
    unit: Ints
    person: Ints
    change: Floats
    n_people: int

    def estimate(self, value: Callable[[Floats], Floats], level: float) -> Estimate:
        """Return a statistic of the sums with an interval for annotators like these.

        The variances among items and among annotators are jackknifed, each with its own t: with the leave-outs z of
        items, annotators and both, half² = t²_ν V_I + t²_(m−1) max(V_P − V_B, 0).
        """
        n, m = len(self.moments), self.n_people
        if m < 3:
            return missing(TOO_FEW)
        total = self.moments.sum(axis=0)
        whole = float(value(total))
        items = value(total - self.moments)
        change = np.stack([np.bincount(self.person, self.change[:, k], m) for k in range(len(total))], axis=1)
        people = value(total + change)
        if not (math.isfinite(whole) and np.isfinite(items).all() and np.isfinite(people).all()):
            return without_interval(whole, "undefined without one of the annotators")
        v_items = (n - 1) / n * float(((items - items.mean()) ** 2).sum())
        v_people = (m - 1) / m * float(((people - people.mean()) ** 2).sum())
        v_both = self._interaction(value, total + change)
        away = items.mean() - items
        square = float((away**2).sum())
        kurtosis = n * float((away**4).sum()) / square**2 if square > 0 else 3.0
        df = (n - 1) * min(1.0, 2 / (kurtosis * (n + 1) / (n - 1) - 1))
        between = max(v_people - v_both, 0.0)

        def ends(at: float) -> tuple[float, float]:
            t, t_people = (float(stdtrit(d, (1 + at) / 2)) for d in (df, m - 1))
            half = math.sqrt(t**2 * v_items + t_people**2 * between)
            return whole - half, whole + half

        return estimate_by_ends(whole, math.sqrt(v_items + between), ends, level)

    def _interaction(self, value: Callable[[Floats], Floats], without: Floats) -> float:
        """V_B from the leave-outs of each unit and annotator together, one annotator at a time."""
        n, m = len(self.moments), self.n_people
        order = np.argsort(self.person, kind="stable")
        bounds = np.searchsorted(self.person[order], np.arange(m + 1))
        both = np.empty((n, m))
        for p in range(m):
            mine = order[bounds[p] : bounds[p + 1]]
            own = np.stack(
                [np.bincount(self.unit[mine], self.change[mine, k], n) for k in range(self.moments.shape[1])], axis=1
            )
            both[:, p] = value(without[p] - self.moments - own)
        centred = both - both.mean(axis=0) - both.mean(axis=1, keepdims=True) + both.mean()
        return (n - 1) * (m - 1) / (n * m) * float(np.nansum(centred**2))
