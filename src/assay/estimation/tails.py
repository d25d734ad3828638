"""A root mean square whose largest squares decide it: how far up may it lie, where tails may be heavy?

The jackknife asks the squares at hand how much their mean varies. Where tails are heavy most samples lack the squares
that make up much of the mean, so that it is too low and its standard error is, too. Here the upper end is the largest
of three: the jackknife's, Hall's (1992), who corrects t for the skewness of the squares, and that of a likelihood in
which the distances follow a t distribution of any degrees of freedom from `LEAST_DEGREES` up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.estimation.statistic import Floats

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
        """The jackknife's lower end on the log scale, the highest of the three upper ends; None without an error."""
        if not (np.isfinite(error) and value > 0):
            return None
        wide = t * error / value
        above = (value**2 * np.exp(2 * wide), self._of_skewness(t), self._of_likelihood(t))
        return value * float(np.exp(-wide)), min(float(np.sqrt(max(above))), self.highest)

    def _of_skewness(self, t: float) -> float:
        """Hall (1992, eq. 2.5): the cubic transformation of t that takes out its skewness, turned round."""
        n, mean, spread = len(self.squares), self.squares.mean(), self.squares.std()
        if spread == 0:
            return float(mean)
        a = ((self.squares - mean) ** 3).mean() / spread**3 / np.sqrt(n)
        moved = 3 / a * (np.cbrt(1 + a * (-t - a / 6)) - 1) if abs(a) > 1e-9 else -t
        return float(mean - moved * spread * np.sqrt(n / (n - 1)) / np.sqrt(n))

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
