"""Rogan & Gladen (1978): true shares from a judge's shares and its error rates, estimated on other items with gold
labels.

At least 1.5 times as wide as the difference estimator, but also valid if items with gold labels are not a random
sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from assay.errors import DesignError
from assay.estimation.intervals import Estimate, EstimateByRule, missing
from assay.estimation.statistic import Floats

LEAST_GOLD = 5
"""Least items with a gold label for the judge's error rates on that label: with 4, the interval of a rate is .8
wide."""

SINGULAR = 3.0
"""The judge distinguishes the labels if Youden's index is at least this number of standard errors from 0."""


def true_shares(
    values: Sequence[float], gold: Floats, judged: Floats, elsewhere: Floats, confidence: float
) -> list[Estimate]:
    """Estimate the share of each label among items without gold labels: M p = q, where M[j, k] is the probability that
    the judge gives j to a true k.

    For two labels, p = (q + specificity − 1) / (sensitivity + specificity − 1). The variance is from the delta method,
    of q and of each column of M; intervals are cut to 0 and 1.

    Parameters
    ----------
    values : list of float
        The labels.
    gold, judged : (n,) float
        True labels and the judge's, of items with both.
    elsewhere : (N,) float
        The judge's labels of the other items.

    Raises
    ------
    DesignError
        If a label of the judge has too few gold items, or the judge does not distinguish the labels.
    """
    known = np.isfinite(judged)
    gold, judged = gold[known], judged[known]
    q_count = np.array([(elsewhere == v).sum() for v in values], dtype=float)
    number = np.array([(gold == v).sum() for v in values], dtype=float)
    used = [k for k in range(len(values)) if number[k] > 0 or q_count[k] > 0]
    for k in used:
        if number[k] < LEAST_GOLD:
            raise DesignError(
                f"label {values[k]:g} has {int(number[k])} gold items; {LEAST_GOLD} are required to estimate the "
                "judge's error rates. Add gold items with that label, or merge it with another label"
            )
    m = np.array([[((gold == values[k]) & (judged == values[j])).sum() / number[k] for k in used] for j in used])
    q = q_count[used] / q_count.sum()
    found = [missing("no gold label and no label of the judge")] * len(values)
    inverse, p = _solve(m, q, number[used])
    variance = _variance(m, inverse, p, q, number[used], float(q_count.sum()))
    for place, k in enumerate(used):
        found[k] = _estimate(float(p[place]), math.sqrt(float(variance[place])), confidence)
    return found


def _solve(m: Floats, q: Floats, number: Floats) -> tuple[Floats, Floats]:
    """The inverse of the matrix of error rates, and the true shares."""
    separation = 1.0
    if len(q) == 2:
        youden = m[0, 0] + m[1, 1] - 1
        error = math.sqrt(sum(m[k, k] * (1 - m[k, k]) / number[k] for k in (0, 1)) or 1e-12)
        separation = abs(youden) / error / SINGULAR
    elif np.linalg.cond(m) > 1 / 0.02:  # a column within 2% of a mixture of the others
        separation = 0.0
    if separation < 1:
        raise DesignError(
            "on the gold items the judge does not distinguish the labels well enough to correct its shares; use a "
            "better judge, or have annotators label a sample of these items"
        )
    inverse: Floats = np.linalg.inv(m).astype(float)
    return inverse, inverse @ q


def _variance(m: Floats, inverse: Floats, p: Floats, q: Floats, number: Floats, n_rest: float) -> Floats:
    """The delta-method variance, of the judge's shares elsewhere and of each column of its error rates."""
    cov = (np.diag(q) - np.outer(q, q)) / n_rest
    for k, share in enumerate(p):
        column = (number[k] * m[:, k] + 1 / len(q)) / (number[k] + 1)  # avoids columns with variance 0
        cov = cov + share**2 * (np.diag(column) - np.outer(column, column)) / number[k]
    return np.asarray(np.diag(inverse @ cov @ inverse.T))


def _estimate(p: float, error: float, confidence: float) -> Estimate:
    if not error > 0:
        return Estimate(p, math.nan, math.nan, math.nan, "only one label")

    def ends(level: float) -> tuple[float, float]:
        z = float(ndtri((1 + level) / 2))
        return min(max(p - z * error, 0.0), 1.0), min(max(p + z * error, 0.0), 1.0)

    low, high = ends(confidence)
    if low == high:
        return Estimate(p, math.nan, math.nan, math.nan, "the judge's shares are incompatible with its error rates")
    return EstimateByRule(min(max(p, 0.0), 1.0), low, high, error, ends=ends)
