"""Differences of the means of two independent samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.estimation.statistic import Floats


@dataclass(frozen=True)
class WelchDifference:
    """The mean of one sample minus that of another, by Welch's t (1947), for unequal variances.

    Attributes
    ----------
    estimate : float
    error : float
        Standard error; 0 if neither sample varies.
    df : float
        Degrees of freedom (Welch–Satterthwaite); NaN without a standard error.
    """

    estimate: float
    error: float
    df: float

    @classmethod
    def of(cls, x: Floats, y: Floats) -> WelchDifference:
        """Compare two samples of at least two numbers.

        Examples
        --------
        >>> import numpy as np
        >>> found = WelchDifference.of(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]))
        >>> found.estimate, round(found.df, 3), round(found.p(), 3)
        (-3.0, 4.0, 0.021)
        """
        parts = [one.var(ddof=1) / len(one) for one in (x, y)]
        total, estimate = float(sum(parts)), float(x.mean() - y.mean())
        if not total > 0:
            return cls(estimate, 0.0, math.nan)
        df = total**2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, (x, y), strict=True))
        return cls(estimate, math.sqrt(total), float(df))

    def p(self) -> float:
        """The two-sided p-value of equal means; 1 without a standard error."""
        from scipy.special import stdtr

        return float(2 * stdtr(self.df, -abs(self.estimate) / self.error)) if self.error else 1.0

    def interval(self, confidence: float) -> tuple[float, float]:
        """The confidence interval of the difference."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.df, (1 + confidence) / 2)) * self.error
        return self.estimate - half, self.estimate + half
