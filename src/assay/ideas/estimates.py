"""Numbers of these questions whose intervals are no resamples of theirs: each can still be asked for another level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.estimation.intervals import Estimate, EstimateByRule, Estimates, ends_of
from assay.estimation.statistic import Floats


def map_estimate(
    found: Estimate, there: Callable[[float], float], back: Callable[[float], float], *, slope: float
) -> Estimate:
    """A rising function of an estimate: its ends are moved, a null is brought back; the error by the delta method.

    Parameters
    ----------
    there, back : function of a number
        From the estimate's value to the new one, and its inverse.
    slope : float
        Of the function at the value.
    """

    def ends(level: float) -> tuple[float, float]:
        low, high = found.interval(level)
        return float(there(low)), float(there(high))

    def test(null: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return found.p(float(back(null)))

    value, low, high = (float(there(v)) for v in (found.estimate, found.low, found.high))
    return EstimateByRule(value, low, high, slope * found.standard_error, found.reason, ends=ends, test=test)


def jackknife_groups(value: float, without: Floats, confidence: float) -> Estimate:
    """A value ± t · se, from the values without each group of judgments (the delete-a-group jackknife)."""
    each, values, n = np.asarray(without, dtype=float)[:, None], np.array([value]), len(without)
    error, low, high, (still,) = ends_of("jackknife", values, each[:0], each, confidence, ("none",))
    reasons = (None if still is None else "every group of judgments gives the same value",)
    return Estimates(
        values, error, low, high, reasons, n, n, "jackknife", confidence, 0, 0, each[:0], np.zeros(1, dtype=np.int64),
        "groups", each, ("none",),
    )[0]  # fmt: skip
