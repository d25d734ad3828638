"""Intervals where few items or raters decide: which true values are compatible with what was seen, how heavy tails may
be, and how far three or twelve raters tell what others would say.

The jackknife asks the items at hand how much a statistic varies. Where a handful of them decides they cannot know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """

    values: Floats
    errors: Floats
    stepwise: bool = False

    name: ClassVar[str] = "score"
    words: ClassVar[str] = "score interval under common correlation"

    def interval(self, value: float, error: float, step: float, t: float) -> tuple[float, float] | None:
        """The lowest and the highest value that is compatible; None where none is.

        Where the items vary more than the values say (``error`` at the estimate), every error is larger by as much.
        ``step`` is the largest change that a single item makes.
        """
        step = step if self.stepwise else 0.0
        near = self.errors[np.abs(self.values - value).argmin()]
        wider = float(np.clip(error / near, 1.0, MOST_WIDER)) if np.isfinite(error) and near > 0 else 1.0
        reach = t * wider * self.errors
        above, below = self.values - reach <= value + step / 2, value <= self.values + reach
        inside = np.flatnonzero(above & below)
        if not len(inside):
            return None
        first, last = inside[0], inside[-1]
        low = value - reach[0] if first == 0 else _between(self.values, reach, value, first)
        at_end = last == len(self.values) - 1
        high = 1.0 if at_end else _between(self.values, -reach, value + step / 2, last + 1)
        return max(float(low), -1.0), max(float(high), value)


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


# -- Raters as a sample ------------------------------------------------------------------------------
# Leaving out an item, a rater, or both tells three variances apart (the two-way jackknife): of items V_I, of raters
# V_J, and of single labels V_B, which is in both of the others. V = V_I + max(V_J - V_B, 0). Over 916 cells of worlds
# that were not used to choose the rule (3 to 12 raters, 15 to 200 items, equal and unequal noise, skewed traits, nine
# coefficients) its 95% interval covers .958 on average, .872 at least; `docs/coverage.md` has the table.

LEAST_DEGREES_OF_RATERS = 2.0
"""Satterthwaite's degrees of freedom are an estimate from few raters themselves; with a floor of 1 the interval of
three raters is endless, and floors above 2 covered below .92 in twice as many cells."""

NEARLY_SYMMETRIC = 1e-4
"""Below this skewness the transformation is its own limit, y."""

NORMAL_KURTOSIS = 3.0
"""Where leave-outs do not vary."""


def interaction_of(without_both: Iterable[Floats]) -> Floats:
    """What leaving out an item and a rater changes beyond leaving out each: sums of squares and products, (q, q).

    Scaled to variances, V_B in the diagonal.

    Parameters
    ----------
    without_both : (items, q) float, one after the other
        The values without each rater and, row by row, each item besides.
    """
    total: Floats = np.zeros((0, 0))
    mean, m, n = np.zeros((0, 0)), 0, 0
    for part in without_both:
        apart = part - part.mean(axis=0)
        total = apart.T @ apart + (total if m else 0.0)
        mean = apart + (mean if m else 0.0)
        m, n = m + 1, len(part)
    if not m or not n:
        return total
    return np.asarray((n - 1) * (m - 1) / (n * m) * (total - mean.T @ mean / m))


def leave_out_variance(without: Floats) -> Floats:
    """The jackknife's variance of each value: (groups, q) -> (q,)."""
    n = len(without)
    return np.asarray((n - 1) / n * np.sum((without - without.mean(axis=0)) ** 2, axis=0))


def _leave_out_degrees(without: Floats) -> Floats:
    """Degrees of freedom of such a variance: fewer where few of the groups make up most of it."""
    n = len(without)
    squares = (without - without.mean(axis=0)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = n * (squares**2).sum(axis=0) / squares.sum(axis=0) ** 2
        kurtosis = np.where(np.isfinite(kurtosis), kurtosis, NORMAL_KURTOSIS)
        fewer = 2 / (kurtosis * (n + 1) / max(n - 1, 1) - 1)
    return np.asarray((n - 1) * np.minimum(1.0, np.where(fewer > 0, fewer, 1.0)))


@dataclass(frozen=True, eq=False)
class RaterSample:
    """How sure values are where items and raters are samples: (q,) each, on the values' own scale.

    Attributes
    ----------
    error : float
        The standard error.
    degrees : float
        Satterthwaite's, of the variances that it is made of.
    skewness : float
        Of the error, from that of the items.
    """

    error: Floats
    degrees: Floats
    skewness: Floats

    @classmethod
    def of(cls, items: Floats, raters: Sequence[Floats], interactions: Sequence[Floats]) -> RaterSample:
        """From the values without each item (n, q), without each rater of each group (m, q), and V_B of each group.

        An interaction that is NaN counts as nothing: the interval is then wider.
        """
        n, of_items = len(items), leave_out_variance(items)
        total, below = of_items.copy(), of_items**2 / _leave_out_degrees(items)
        for group, interaction in zip(raters, interactions, strict=True):
            m, of_raters, both = len(group), leave_out_variance(group), np.nan_to_num(np.maximum(interaction, 0.0))
            total = total + np.maximum(of_raters - both, 0.0)
            below = below + of_raters**2 / _leave_out_degrees(group) + both**2 / max((n - 1) * (m - 1), 1)
        influence = items.mean(axis=0) - items
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees = np.maximum(np.nan_to_num(total**2 / below, nan=LEAST_DEGREES_OF_RATERS), LEAST_DEGREES_OF_RATERS)
            skewness = (influence**3).sum(axis=0) / (influence**2).sum(axis=0) ** 1.5 * (of_items / total) ** 1.5
        return cls(np.sqrt(total), degrees, np.nan_to_num(skewness))

    def reach(self, tail: Floats) -> tuple[Floats, Floats]:
        """How many standard errors the ends lie below and above the value, with so much beyond each end.

        Hall's (1992) transformation of the normal quantile takes the skewness; what t has beyond the normal is added.
        """
        from scipy.special import ndtri, stdtrit

        q: Floats = -ndtri(tail)
        wider: Floats = stdtrit(self.degrees, 1 - tail) - q
        return wider + self._hall(q), wider - self._hall(-q)

    def _hall(self, y: Floats) -> Floats:
        flat = np.abs(self.skewness) < NEARLY_SYMMETRIC
        g = np.where(flat, 1.0, self.skewness)
        return np.asarray(np.where(flat, y, 3 / g * (np.cbrt(1 + g * (y - g / 6)) - 1)))

    def p(self, deviation: Floats) -> Floats:
        """Two-sided p-values of deviations in standard errors: the level at which an end of the interval is there."""
        low, high = np.full(np.shape(deviation), np.log(1e-15)), np.full(np.shape(deviation), np.log(0.5))
        for _ in range(50):
            middle = (low + high) / 2
            below, above = self.reach(np.exp(middle))
            beyond = np.where(deviation > 0, deviation > below, -deviation > above)
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.asarray(2 * np.exp((low + high) / 2))
