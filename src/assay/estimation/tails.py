"""A root mean square whose largest squares decide it: how far up may it lie, where tails may be heavy?

The jackknife asks the squares at hand how much their mean varies. Where tails are heavy most samples lack the squares that
make up much of the mean, so that it is too low and its standard error is, too. Here the upper end is the largest of three:
the jackknife's, Hall's (1992), who corrects t for the skewness of the squares, and that of a likelihood in which the
distances follow a t distribution of any degrees of freedom from `LEAST_DEGREES` up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.estimation.statistic import Floats

LEAST_DEGREES = 3.0
"""The heaviest tails that are thought of: t with 3 degrees of freedom."""

DEGREES = np.array([LEAST_DEGREES, 3.5, 4.0, 5.0, 7.0, 10.0, 20.0, 1e4])

RATIOS = np.exp(np.linspace(np.log(0.3), np.log(60.0), 90))
"""True mean squares that are tried, as multiples of the one at hand."""

EXACTLY, GROUPS = 500, 1_500
"""Of more squares than both together, the largest are taken as they are, the others in groups of neighbours."""


@dataclass(frozen=True, eq=False)
class Tailed:
    """The interval of a root mean square of distances with tails.

    Attributes
    ----------
    squares : (units,) float
        What each unit adds to the mean of squares.
    highest : float
        The largest distance that there is; infinite where the scale has no ends.
    """

    squares: Floats
    highest: float = np.inf

    name: ClassVar[str] = "tails"
    words: ClassVar[str] = f"interval for tails as heavy as t({LEAST_DEGREES:g})"

    def interval(self, value: float, error: float, step: float, t: float) -> tuple[float, float] | None:
        """The jackknife's lower end on the log scale, and the highest of the three upper ends; None without an error."""
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
        """The largest mean square whose profile likelihood, over degrees of freedom, is within t² / 2 of the best."""
        from scipy.special import gammaln

        squares, often = _grouped(np.maximum(self.squares, 0.0))
        mean = RATIOS * float(often @ squares / often.sum())
        scale = mean[:, None] * (DEGREES - 2) / DEGREES  # the variance of t is its scale times degrees / (degrees − 2)
        constant = gammaln((DEGREES + 1) / 2) - gammaln(DEGREES / 2) - np.log(DEGREES * scale) / 2
        far = np.stack([np.log1p(squares / (DEGREES * row)[:, None]) @ often for row in scale])
        best = (often.sum() * constant - (DEGREES + 1) / 2 * far).max(axis=1) + t**2 / 2
        short = best - (best.max() - t**2 / 2)  # below 0 where a mean square is not compatible
        last = int(np.flatnonzero(short >= 0)[-1])
        if last == len(mean) - 1:
            return float(mean[-1])
        share = short[last] / (short[last] - short[last + 1])
        return float(mean[last] * (mean[last + 1] / mean[last]) ** share)


def _grouped(squares: Floats) -> tuple[Floats, Floats]:
    """Fewer squares, and how many each stands for."""
    if len(squares) <= EXACTLY + GROUPS:
        return squares, np.ones(len(squares))
    ordered = np.sort(squares)
    parts = np.array_split(ordered[:-EXACTLY], GROUPS)
    means, sizes = np.array([part.mean() for part in parts]), np.array([float(len(part)) for part in parts])
    return np.concatenate([means, ordered[-EXACTLY:]]), np.concatenate([sizes, np.ones(EXACTLY)])
