"""Differences of the means of two independent samples, and levels of raters that labelled different items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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


def rater_levels(labels: Floats) -> Floats:
    """Return the level of each rater, (items, raters) -> (raters,): the mean label that it would give on all items.

    Least squares of label = item + rater. With complete labels it is the rater's mean. With others a rater's mean
    includes the quality of its items: if one labels the long ones, and these are better, its level is still its own.
    Raters that share no items, even through others, are on the same items on average by assumption.

    Examples
    --------
    >>> import numpy as np
    >>> two = np.array([[1.0, 2], [2, 3], [np.nan, 5]])
    >>> np.diff(rater_levels(two)).tolist()  # the second is 1 higher on the same items; its mean is 1.8 higher
    [1.0]
    """
    from scipy.sparse.csgraph import connected_components

    there = ~np.isnan(labels)
    n, filled, here = there.sum(axis=1), np.where(there, labels, 0.0), there.astype(float)
    mean = filled.sum(axis=1) / np.maximum(n, 1)
    shared = here.T @ (here / np.maximum(n, 1)[:, None])
    number = here.sum(axis=0)
    level = np.linalg.lstsq(np.diag(number) - shared, filled.sum(axis=0) - here.T @ mean, rcond=1e-10)[0]
    _, subset = connected_components(shared > 0, directed=False)
    left = np.bincount(subset, filled.sum(axis=0) - number * level) / np.maximum(np.bincount(subset, number), 1)
    return np.asarray(level + left[subset])
