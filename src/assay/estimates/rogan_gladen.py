"""Rogan & Gladen (1978): true shares from a judge's shares and its errors, measured on gold from elsewhere.

Wider than the difference estimator by half and more, and the only one where gold items are no sample of the items.
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
"""Gold items of a label below which the judge's errors on it are not known: at 4 the width of a rate is .8."""

SINGULAR = 3.0
"""The judge tells labels apart where Youden's index is at least this many standard errors from 0."""


def true_shares(
    values: Sequence[float], gold: Floats, judged: Floats, elsewhere: Floats, confidence: float
) -> list[Estimate]:
    """The true share of each label among items without gold: M p = q, M[j, k] how often the judge says j of a true k.

    Of two labels, p = (q + specificity − 1) / (sensitivity + specificity − 1). The variance is the delta method's, of q
    and of each column of M; ends are cut to 0 and 1.

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
        Where a label that the judge gives has too few gold items, or the judge cannot tell labels apart.
    """
    there = np.isfinite(judged)
    gold, judged = gold[there], judged[there]
    q_count = np.array([(elsewhere == v).sum() for v in values], dtype=float)
    number = np.array([(gold == v).sum() for v in values], dtype=float)
    used = [k for k in range(len(values)) if number[k] > 0 or q_count[k] > 0]
    for k in used:
        if number[k] < LEAST_GOLD:
            raise DesignError(
                f"the judge's errors on label {values[k]:g} are known from {int(number[k])} gold items, and "
                f"{LEAST_GOLD} are needed; add gold items of that label, or merge it with another"
            )
    m = np.array([[((gold == values[k]) & (judged == values[j])).sum() / number[k] for k in used] for j in used])
    q = q_count[used] / q_count.sum()
    found = [missing("neither gold nor the judge names it")] * len(values)
    inverse, p = _solve(m, q, number[used])
    variance = _variance(m, inverse, p, q, number[used], float(q_count.sum()))
    for place, k in enumerate(used):
        found[k] = _estimate(float(p[place]), math.sqrt(float(variance[place])), confidence)
    return found


def _solve(m: Floats, q: Floats, number: Floats) -> tuple[Floats, Floats]:
    """The inverse of the matrix of errors, and the true shares."""
    told = 1.0
    if len(q) == 2:
        youden = m[0, 0] + m[1, 1] - 1
        error = math.sqrt(sum(m[k, k] * (1 - m[k, k]) / number[k] for k in (0, 1)) or 1e-12)
        told = abs(youden) / error / SINGULAR
    elif np.linalg.cond(m) > 1 / 0.02:  # a column within 2% of a mixture of the others
        told = 0.0
    if told < 1:
        raise DesignError(
            "on gold the judge hardly tells labels apart, so its shares elsewhere say nothing; take a better judge, or "
            "have a sample of these items labelled"
        )
    inverse: Floats = np.linalg.inv(m).astype(float)
    return inverse, inverse @ q


def _variance(m: Floats, inverse: Floats, p: Floats, q: Floats, number: Floats, n_rest: float) -> Floats:
    """Delta method: of the judge's shares elsewhere, and of each column of its errors."""
    cov = (np.diag(q) - np.outer(q, q)) / n_rest
    for k, share in enumerate(p):
        column = (number[k] * m[:, k] + 1 / len(q)) / (number[k] + 1)  # so that no column has variance 0
        cov = cov + share**2 * (np.diag(column) - np.outer(column, column)) / number[k]
    return np.asarray(np.diag(inverse @ cov @ inverse.T))


def _estimate(p: float, error: float, confidence: float) -> Estimate:
    if not error > 0:
        return Estimate(p, math.nan, math.nan, math.nan, "one label alone")

    def ends(level: float) -> tuple[float, float]:
        z = float(ndtri((1 + level) / 2))
        return min(max(p - z * error, 0.0), 1.0), min(max(p + z * error, 0.0), 1.0)

    low, high = ends(confidence)
    if low == high:
        return Estimate(p, math.nan, math.nan, math.nan, "the judge's shares lie outside what its errors allow")
    return EstimateByRule(min(max(p, 0.0), 1.0), low, high, error, ends=ends)
