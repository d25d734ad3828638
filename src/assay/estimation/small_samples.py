"""Intervals where few items decide: which true values are compatible with what was seen, and how heavy tails may be.

The jackknife asks the items at hand how much a statistic varies. Where a handful of them decides they cannot know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.estimation.statistic import Floats

MOST_WIDER = 5.0
"""Clusters and annotators that differ widen a score interval up to this many times."""


@dataclass(frozen=True, eq=False)
class Score:
    """Which true values are compatible with an estimate: each judged by the standard error that it would give.

    Attributes
    ----------
    values : (v,) float
        True values, rising to the largest that there is.
    errors : (v,) float
        The standard error of the estimate if each of them were the true one.
    stepwise : bool
        Whether an estimate may be too low by half of what a single item changes: the correction for continuity, which
        matters where one item alone keeps it from the end.
    name, words : str
        What it is called in a signature, and in a sentence.
    """

    values: Floats
    errors: Floats
    stepwise: bool = False
    name: str = "score"
    words: str = "score interval under common correlation"

    def interval(self, value: float, error: float, step: float, t: float) -> tuple[float, float] | None:
        """The lowest and the highest value that is compatible; None where none is.

        Where the items vary more than the values say (``error`` at the estimate), every error is larger by as much.
        ``step`` is the largest change that a single item makes.
        """
        step = step if self.stepwise else 0.0
        reach = t * self._wider(value, error) * self.errors
        above, below = self.values - reach <= value + step / 2, value <= self.values + reach
        inside = np.flatnonzero(above & below)
        if not len(inside):
            return None
        first, last = inside[0], inside[-1]
        low = value - reach[0] if first == 0 else _between(self.values, reach, value, first)
        at_end = last == len(self.values) - 1
        high = 1.0 if at_end else _between(self.values, -reach, value + step / 2, last + 1)
        return max(float(low), -1.0), max(float(high), value)

    def deviation(self, value: float, error: float, step: float, null: float) -> float:
        """How many standard errors, as they are where ``null`` is true, the estimate lies from it; 0 where within."""
        away = abs(value - null)
        if self.stepwise and value < null:
            away = max(away - step / 2, 0.0)
        order = np.argsort(self.values)
        there = float(np.interp(null, self.values[order], self.errors[order]))
        return away / (self._wider(value, error) * there) if there > 0 else np.nan

    def _wider(self, value: float, error: float) -> float:
        near = self.errors[np.abs(self.values - value).argmin()]
        return float(np.clip(error / near, 1.0, MOST_WIDER)) if np.isfinite(error) and near > 0 else 1.0


def _between(values: Floats, reach: Floats, value: float, i: int) -> float:
    """Where value lies between two tried values, the one compatible and the other not."""
    left, right = values[i - 1] + reach[i - 1] - value, values[i] + reach[i] - value
    share = left / (left - right) if left != right else 0.5
    return float(values[i - 1] + np.clip(share, 0, 1) * (values[i] - values[i - 1]))


# -- A root mean square whose largest squares decide it --------------------------------------------
# The jackknife asks the squares at hand how much their mean varies. Where tails are heavy most samples lack the squares
# that make up much of the mean, so that it is too low and its standard error is, too. Here the upper end is the larger
# of two: the jackknife's, and that of a likelihood in which the distances follow a t distribution of any degrees of
# freedom from `LEAST_DEGREES` up.

LEAST_DEGREES = 3.0
"""The heaviest tails that are thought of: t with 3 degrees of freedom."""

DEGREES = np.array([LEAST_DEGREES, 3.5, 4.0, 5.0, 7.0, 10.0, 20.0, 1e4])

SCALES = np.exp(np.linspace(np.log(0.01), np.log(30.0), 100))
"""Squared scales that are tried, as multiples of the mean square at hand."""

MOST_DIMENSIONS = 8

LEAST_SQUARE = 1e-6
"""Smaller squares, as shares of their mean, count as this: two equal labels are equal to some rounding."""

EXACTLY, GROUPS = 500, 1_500
"""Of more squares than both together, the largest are taken as they are, the others in groups of neighbours."""


@dataclass(frozen=True, eq=False)
class Tailed:
    """The interval of a root mean square of distances with tails.

    Attributes
    ----------
    squares : (units,) float
        What each unit adds to the mean of squares.
    dimensions : int
        Independent errors that a unit's square may be made of: of m annotators at most m - 1.
    highest : float
        The largest distance that there is; infinite where the scale has no ends.
    """

    squares: Floats
    dimensions: int = 1
    highest: float = np.inf

    name: ClassVar[str] = "tails"
    words: ClassVar[str] = f"interval for tails as heavy as t({LEAST_DEGREES:g})"

    def interval(self, value: float, error: float, step: float, t: float) -> tuple[float, float] | None:
        """The jackknife's lower end on the log scale, the higher of the two upper ends; None without an error."""
        if not (np.isfinite(error) and value > 0):
            return None
        wide = t * error / value
        above = (value**2 * np.exp(2 * wide), self._of_likelihood(t))
        return value * float(np.exp(-wide)), min(float(np.sqrt(max(above))), self.highest)

    def _of_likelihood(self, t: float) -> float:
        """The largest mean square whose profile likelihood is within t² / 2 of the best.

        The square of a distance in d dimensions, over d and its squared scale s, is F(d, ν), whose mean is ν / (ν - 2):
        one dimension, t², for a distance of two annotators, and any up to `dimensions` for a mean over pairs.
        """
        from scipy.special import gammaln

        squares, often = _grouped(np.maximum(self.squares, LEAST_SQUARE * self.squares.mean()))
        n, logs, nu = often.sum(), often @ np.log(squares), DEGREES
        scale = SCALES[:, None] * float(often @ squares / n)
        far = np.stack([np.log1p(squares / (nu * row)[:, None]) @ often for row in scale])
        found, means = [], []
        for d in range(1, min(self.dimensions, MOST_DIMENSIONS) + 1):
            constant = gammaln((nu + d) / 2) - gammaln(nu / 2) - gammaln(d / 2) - d / 2 * np.log(nu * scale)
            found.append(n * constant + (d / 2 - 1) * logs - (nu + d) / 2 * far)
            means.append(d * scale * nu / (nu - 2))
        short = np.stack(found) - (np.max(found) - t**2 / 2)  # below 0 where a scale is not compatible
        last = (short >= 0) & np.concatenate([short[:, 1:] < 0, np.ones_like(short[:, :1], dtype=bool)], axis=1)
        k, i, v = np.nonzero(last)
        after = np.minimum(i + 1, len(scale) - 1)
        share = np.where(after > i, short[k, i, v] / np.where(after > i, short[k, i, v] - short[k, after, v], 1.0), 0.0)
        mean = np.stack(means)
        return float((mean[k, i, v] * (mean[k, after, v] / mean[k, i, v]) ** share).max())


def _grouped(squares: Floats) -> tuple[Floats, Floats]:
    """Fewer squares, and how many each stands for."""
    if len(squares) <= EXACTLY + GROUPS:
        return squares, np.ones(len(squares))
    ordered = np.sort(squares)
    parts = np.array_split(ordered[:-EXACTLY], GROUPS)
    means, sizes = np.array([part.mean() for part in parts]), np.array([float(len(part)) for part in parts])
    return np.concatenate([means, ordered[-EXACTLY:]]), np.concatenate([sizes, np.ones(EXACTLY)])


# -- A mean of skewed pseudo-values ----------------------------------------------------------------
# Hall (1992), On the removal of skewness by transformation: the t statistic of a mean whose units are skewed, moved so
# that it follows t to second order. Beside the plain jackknife-t it moves the level of "R = 1/2" at 30 items from up to
# .13 to at most .08 (`benchmarks/verdict_error.py`).


def hall_statistic(t: Floats | float, skewness: Floats | float, n: int) -> Floats:
    """The t statistic of a mean less its null, corrected for the skewness of the n units it is the mean of."""
    a = np.asarray(skewness) / np.sqrt(n)
    return np.asarray(t + a * (np.square(t) / 3 + 1 / 6) + np.square(a) * np.power(t, 3) / 27)


@dataclass(frozen=True, eq=False)
class Pseudo:
    """Pseudo-values of statistics whose true value is that of their mean: (units, statistics).

    Their weighted sums have pseudo-values that are sums too, so a ratio's interval is that of every contrast at once.
    Fewer units than there are may decide, ``deciding``; then degrees of freedom are fewer, too.
    """

    values: Floats
    deciding: float = math.inf

    @classmethod
    def of(cls, value: Floats, without: Floats, deciding: float = math.inf) -> Pseudo:
        """From the statistics, (k,), and those without each unit in turn, (units, k)."""
        n = len(without)
        return cls(n * np.asarray(value) - (n - 1) * without, deciding)

    @property
    def df(self) -> float:
        """Degrees of freedom."""
        return max(min(DECIDING * self.deciding, len(self.values)) - 1, 1.0)

    @property
    def mean(self) -> Floats:
        """The statistics, their bias of order 1 / n taken off: (k,)."""
        return np.asarray(self.values.mean(axis=0))

    def corrected_t(self, weights: Floats, null: float = 0.0) -> Floats:
        """Hall's statistic of each weighted sum: weights (sums, k) -> (sums,); ±infinity where nothing varies."""
        n, k = self.values.shape
        centred = self.values - self.mean
        second = centred.T @ centred / (n - 1)
        third = np.einsum("ua,ub,uc->abc", centred, centred, centred) / n if k < 3 else None
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.einsum("sa,ab,sb->s", weights, second, weights)
            if third is None:
                skewed = ((centred @ weights.T) ** 3).mean(axis=0)
            else:
                skewed = np.einsum("sa,sb,sc,abc->s", weights, weights, weights, third)
            off = weights @ self.mean - null
            flat = variance <= FLAT_SHARE * np.square(np.abs(weights) @ np.abs(self.values).max(axis=0))
            t = off / np.sqrt(variance / n)
            found = hall_statistic(t, skewed / variance**1.5, n)
            surely = np.where(off == 0, 0.0, np.copysign(np.inf, off))
        return np.where(flat, surely, found)

    def p_above(self, weights: Floats, null: float = 0.0) -> float:
        """One-sided p-value of H0: the weighted sum, weights (k,), is truly ``null`` or less."""
        from scipy.special import stdtr

        found = float(stdtr(self.df, -self.corrected_t(np.atleast_2d(weights), null)[0]))
        return 1.0 if math.isnan(found) else found

    def interval(self, weights: Floats, level: float) -> tuple[float, float]:
        """The two-sided interval of a weighted sum, weights (k,)."""
        from scipy.special import stdtrit

        n = len(self.values)
        each = self.values @ weights
        mean, error = float(each.mean()), float(each.std(ddof=1)) / math.sqrt(n)
        if error <= 0:
            return math.nan, math.nan
        a = float(((each - mean) ** 3).mean()) / (error * math.sqrt(n)) ** 3 / math.sqrt(n)
        ends = [float(stdtrit(self.df, p)) for p in ((1 + level) / 2, (1 - level) / 2)]
        low, high = (_hall_inverse(y, a) for y in ends)
        return mean - error * low, mean - error * high

    def ratio_interval(self, level: float) -> tuple[float, float]:
        """Every ratio r of the first statistic to the second whose contrast, first - r second, may truly be 0.

        Fieller's set, with Hall's statistic; infinite where it has no end within `RATIOS`, which is all that may be
        said where the second statistic may be 0.
        """
        from scipy.special import stdtrit

        limit = float(stdtrit(self.df, (1 + level) / 2))
        at = RATIOS
        t = self.corrected_t(np.column_stack([np.ones_like(at), -at]))
        first, second = self.mean[:2]
        if not second > 0:
            return -math.inf, math.inf
        middle = int(np.abs(at - first / second).argmin())
        over, under = np.flatnonzero(t[: middle + 1] > limit), np.flatnonzero(t[middle:] < -limit)
        low = -math.inf if not len(over) else _where(at, t - limit, int(over[-1]))
        high = math.inf if not len(under) else _where(at, t + limit, middle + int(under[0]) - 1)
        return low, high


RATIOS = np.linspace(-3.0, 5.0, 1601)
"""Ratios that are tried, in steps of .005; between them the line through two neighbours decides."""

DECIDING = 1.5
"""Degrees of freedom for each unit that decides: with 1 the level at 95/5 is .03 in place of .05 and power .16 in place
of .25 (60 items); with as many as units it is .10, since most samples lack the units that vary."""

FLAT_SHARE = 1e-24
"""A variance up to this share of the squared values is rounding."""


def _hall_inverse(y: float, a: float) -> float:
    """The t whose corrected statistic is y, where skewness / √n is a."""
    if abs(a) < 1e-9:
        return y
    return 3 / a * (float(np.cbrt(1 + a * (y - a / 6))) - 1)


def _where(at: Floats, off: Floats, i: int) -> float:
    """Where ``off`` is 0 between the places i and i + 1."""
    left, right = float(off[i]), float(off[min(i + 1, len(at) - 1)])
    if not (math.isfinite(left) and math.isfinite(right)) or left == right:
        return float(at[i])
    return float(at[i] + (at[min(i + 1, len(at) - 1)] - at[i]) * np.clip(left / (left - right), 0, 1))
