"""Intervals if few items determine a statistic: score intervals, and intervals for heavy tails.

The jackknife estimates the variance of a statistic from the observed items. If very few items determine it, this fails.
"""

from __future__ import annotations

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
        Whether to apply the continuity correction, half of the change by a single item. It matters if only one item
        keeps the estimate from the end.
    name, words : str
        Its name in a signature, and in a sentence.
    """

    values: Floats
    errors: Floats
    stepwise: bool = False
    name: str = "score"
    words: str = "score interval under common correlation"

    def interval(self, value: float, error: float, step: float, t: float) -> tuple[float, float] | None:
        """Return the lowest and the highest compatible value; None if there are none.

        If the items vary more than under the values (``error`` at the estimate), every error increases in proportion.
        ``step`` is the largest change that a single item makes.
        """
        step = step if self.stepwise else 0.0
        reach = t * self._wider(value, error) * self.errors
        above, below = self.values - reach <= value + step / 2, value <= self.values + reach
        inside = np.flatnonzero(above & below)
        if not len(inside):
            return None
        first, last = inside[0], inside[-1]
        low = value - reach[0] if first == 0 else _interpolate(self.values, reach, value, first)
        at_end = last == len(self.values) - 1
        high = 1.0 if at_end else _interpolate(self.values, -reach, value + step / 2, last + 1)
        return max(float(low), -1.0), max(float(high), value)

    def deviation(self, value: float, error: float, step: float, null: float) -> float:
        """Return the distance of the estimate from ``null`` in standard errors under ``null``; 0 if within a step."""
        away = abs(value - null)
        if self.stepwise and value < null:
            away = max(away - step / 2, 0.0)
        order = np.argsort(self.values)
        there = float(np.interp(null, self.values[order], self.errors[order]))
        return away / (self._wider(value, error) * there) if there > 0 else np.nan

    def _wider(self, value: float, error: float) -> float:
        near = self.errors[np.abs(self.values - value).argmin()]
        return float(np.clip(error / near, 1.0, MOST_WIDER)) if np.isfinite(error) and near > 0 else 1.0


def _interpolate(values: Floats, reach: Floats, value: float, i: int) -> float:
    """Where value lies between two tried values, the one compatible and the other not."""
    left, right = values[i - 1] + reach[i - 1] - value, values[i] + reach[i] - value
    share = left / (left - right) if left != right else 0.5
    return float(values[i - 1] + np.clip(share, 0, 1) * (values[i] - values[i - 1]))


# -- A root mean square whose largest squares decide it --------------------------------------------
# The jackknife estimates the variance of a mean from the observed squares. With heavy tails most samples do not contain
# the squares that dominate the mean, so the mean and its standard error are too low. Here the upper end is the larger
# of two: the jackknife's, and that of a likelihood in which the distances follow a t distribution of any degrees of
# freedom from `LEAST_DEGREES` up.

LEAST_DEGREES = 3.0
"""The heaviest tails that are thought of: t with 3 degrees of freedom."""

DEGREES = np.array([LEAST_DEGREES, 3.5, 4.0, 5.0, 7.0, 10.0, 20.0, 1e4])

SCALES = np.exp(np.linspace(np.log(0.01), np.log(30.0), 100))
"""Grid of squared scales, as multiples of the observed mean square."""

MOST_DIMENSIONS = 8

LEAST_SQUARE = 1e-6
"""Smaller squares, as shares of their mean, count as this: two equal labels are equal to some rounding."""

EXACTLY, GROUPS = 500, 1_500
"""Numbers of the largest squares that are used one by one, and of groups of neighbours for the others."""


@dataclass(frozen=True, eq=False)
class Tailed:
    """The interval of a root mean square of distances with tails.

    Attributes
    ----------
    squares : (units,) float
        The contribution of each unit to the mean of squares.
    dimensions : int
        Number of independent errors in a unit's square: at most m - 1 for m annotators.
    highest : float
        The largest possible distance; infinite for a scale without ends.
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
        above = (value**2 * np.exp(2 * wide), self._likelihood_bound(t))
        return value * float(np.exp(-wide)), min(float(np.sqrt(max(above))), self.highest)

    def _likelihood_bound(self, t: float) -> float:
        """The largest mean square whose profile likelihood is within t² / 2 of the best.

        The square of a distance in d dimensions, over d and its squared scale s, is F(d, ν), whose mean is ν / (ν - 2):
        one dimension, t², for a distance of two annotators, and any up to `dimensions` for a mean over pairs.
        """
        from scipy.special import gammaln

        squares, often = group_squares(np.maximum(self.squares, LEAST_SQUARE * self.squares.mean()))
        n, logs, nu = often.sum(), often @ np.log(squares), DEGREES
        scale = SCALES[:, None] * float(often @ squares / n)
        far = np.stack([np.log1p(squares / (nu * row)[:, None]) @ often for row in scale])
        found, means = [], []
        for d in range(1, min(self.dimensions, MOST_DIMENSIONS) + 1):
            constant = gammaln((nu + d) / 2) - gammaln(nu / 2) - gammaln(d / 2) - d / 2 * np.log(nu * scale)
            found.append(n * constant + (d / 2 - 1) * logs - (nu + d) / 2 * far)
            means.append(d * scale * nu / (nu - 2))
        short = np.stack(found) - (np.max(found) - t**2 / 2)  # below 0 if a scale is not compatible
        last = (short >= 0) & np.concatenate([short[:, 1:] < 0, np.ones_like(short[:, :1], dtype=bool)], axis=1)
        k, i, v = np.nonzero(last)
        after = np.minimum(i + 1, len(scale) - 1)
        share = np.where(after > i, short[k, i, v] / np.where(after > i, short[k, i, v] - short[k, after, v], 1.0), 0.0)
        mean = np.stack(means)
        return float((mean[k, i, v] * (mean[k, after, v] / mean[k, i, v]) ** share).max())


def group_squares(squares: Floats) -> tuple[Floats, Floats]:
    """Fewer squares, with their multiplicities."""
    if len(squares) <= EXACTLY + GROUPS:
        return squares, np.ones(len(squares))
    ordered = np.sort(squares)
    parts = np.array_split(ordered[:-EXACTLY], GROUPS)
    means, sizes = np.array([part.mean() for part in parts]), np.array([float(len(part)) for part in parts])
    return np.concatenate([means, ordered[-EXACTLY:]]), np.concatenate([sizes, np.ones(EXACTLY)])
