"""Upper ends of root mean squares whose distances have tails: each by its formula, on a fine grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.estimation.small_samples import (
    DEGREES,
    EXACTLY,
    GROUPS,
    LEAST_SQUARE,
    SCALES,
    Score,
    Tailed,
    _interpolate,
    group_squares,
)

SQUARES = np.random.default_rng(3).standard_t(5, size=(30, 2)) ** 2


EVEN = np.random.default_rng(5).chisquare(5, 20) / 5


def bound(tailed: Tailed, t: float) -> float:
    """The largest compatible root mean square: the upper end of a tiny estimate without an error."""
    return tailed.interval(1e-9, 0.0, 0.0, t)[1]


@pytest.mark.parametrize(
    ("x", "dimensions"),
    [(SQUARES.mean(axis=1), 1), (SQUARES[:, 0], 3), (SQUARES.mean(axis=1), 3), (EVEN, 2), (EVEN, 5)],
)
def test_tailed_finds_largest_compatible_mean_square(x, dimensions):
    """x / (d s) is F(d, ν) with mean ν / (ν − 2), for any d up to that number and any ν; within t² / 2 of the best."""
    t = 2.0
    scales = np.exp(np.linspace(np.log(0.05), np.log(20), 800))
    logs, means = [], []
    for d, nu in itertools.product(range(1, dimensions + 1), DEGREES):
        each = stats.f.logpdf(x / (d * scales[:, None]), d, nu) - np.log(d * scales[:, None])
        logs.append(each.sum(axis=1))
        means.append(d * scales * nu / (nu - 2))
    logs, means = np.array(logs), np.array(means)
    wanted = means[logs >= logs.max() - t**2 / 2].max()
    assert bound(Tailed(x, dimensions), t) ** 2 == pytest.approx(wanted, rel=0.01)


def test_tailed_ends_combine_log_scale_and_likelihood():
    x = SQUARES[:, 0]
    one = Tailed(x)
    value, error, t = float(np.sqrt(x.mean())), 0.2, 1.5
    low, high = one.interval(value, error, 0.0, t)
    assert low == pytest.approx(value * np.exp(-t * error / value))
    above = (value * np.exp(t * error / value), bound(one, t))
    assert high == pytest.approx(max(above))
    assert Tailed(x, highest=value + 0.01).interval(value, error, 0.0, t)[1] == value + 0.01
    assert one.interval(value, np.nan, 0.0, t) is None
    assert one.interval(0.0, error, 0.0, t) is None


def test_tailed_uses_jackknife_if_wider():
    x = np.full(40, 0.25) + 0.01 * np.cos(np.arange(40))
    one, value, t = Tailed(x), 0.5, 2.0
    assert bound(one, t) < 0.5 * np.exp(2 * 0.5 / 0.5)
    low, high = one.interval(value, 0.5, 0.0, t)
    assert (low, high) == pytest.approx((0.5 * np.exp(-2), 0.5 * np.exp(2)))
    assert Tailed.words == "interval for tails as heavy as t(3)"
    assert DEGREES[0] == 3
    assert (DEGREES[1:] > DEGREES[:-1]).all()
    assert (SCALES[0], SCALES[-1]) == pytest.approx((0.01, 30))


def test_equal_labels_count_as_equal_to_some_rounding():
    """A square of nothing has no logarithm; it counts as a millionth of the mean."""
    x = np.r_[np.zeros(5), SQUARES[:, 0]]
    floor = 1e-6 * x.mean()
    assert LEAST_SQUARE == 1e-6
    assert bound(Tailed(x), 2.0) == pytest.approx(bound(Tailed(np.maximum(x, floor)), 2.0))


def test_group_squares_keeps_largest():
    most = EXACTLY + GROUPS
    rng = np.random.default_rng(2)
    few = rng.random(most)
    squares, often = group_squares(few)
    assert squares is few
    assert (often == 1).all()
    many = rng.random(most + GROUPS + 7)
    squares, often = group_squares(many)
    ordered = np.sort(many)
    assert (len(squares), often.sum()) == (most, len(many))
    assert squares[-EXACTLY:].tolist() == ordered[-EXACTLY:].tolist()
    assert (often[-EXACTLY:] == 1).all()
    # Two neighbours a group, and seven of three.
    assert sorted(np.unique(often[:GROUPS], return_counts=True)[1].tolist()) == [7, GROUPS - 7]
    assert squares[0] == pytest.approx(ordered[:3].mean())
    assert squares @ often == pytest.approx(many.sum())
    assert len(group_squares(rng.random(most + 1))[0]) == most


@pytest.mark.parametrize(
    ("reach", "value", "wanted"),
    [([0.0, 0.0], 1.5, 1.5), ([1.0, 2.0], 3.0, 1.5), ([0.0, 0.0], 2.5, 2.0), ([0.0, 0.0], 0.5, 1.0)],
)  # fmt: skip
def test_between_two_tried_values_the_end_lies_on_a_line(reach, value, wanted):
    """Values 1 and 2 with what they reach: 1 + 1 and 2 + 2 pass 3 halfway; it never leaves the two."""
    assert _interpolate(np.array([1.0, 2.0]), np.array(reach), value, 1) == pytest.approx(wanted)


def score(errors, **options):
    """True values 0, 0.25 … 1, and the standard error of the estimate under each."""
    return Score(np.linspace(0.0, 1.0, 5), np.asarray(errors, dtype=float), **options)


def test_compatible_values_are_within_t_errors():
    """With errors a + b x the ends solve x + t (a + b x) = value and x − t (a + b x) = value."""
    one, t = score(0.05 + 0.1 * np.linspace(0, 1, 5)), 2.0
    low, high = one.interval(0.5, np.nan, 0.0, t)
    assert (low, high) == pytest.approx(((0.5 - t * 0.05) / (1 + t * 0.1), (0.5 + t * 0.05) / (1 - t * 0.1)))
    # The largest value is compatible: 1 − 2 × 0.15 is below 0.9. From the least one on, the end is what is reached.
    assert one.interval(0.9, np.nan, 0.0, t)[1] == 1.0
    assert one.interval(0.05, np.nan, 0.0, t)[0] == pytest.approx(0.05 - t * 0.05)
    assert score([0.01] * 5).interval(0.4, np.nan, 0.0, 1.0) is None  # between two values that both miss it


def test_items_that_vary_more_widen_a_score_interval_up_to_five_times():
    one = score([0.02] * 5)
    for error, wide in [(0.02, 1.0), (0.01, 1.0), (0.04, 2.0), (0.06, 3.0), (0.4, 5.0)]:
        # Errors are the same everywhere, so the ends are t errors away.
        t = 0.12 / wide / 0.02
        assert one.interval(0.5, error, 0.0, t) == pytest.approx((0.38, 0.62)), error
        assert one.deviation(0.5, error, 0.0, 0.25) == pytest.approx(0.25 / (0.02 * wide)), error


def test_continuity_correction_applies_below_null():
    plain, stepwise = score([0.1] * 5), score([0.1] * 5, stepwise=True)
    assert plain.interval(0.5, np.nan, 0.08, 2.0) == pytest.approx((0.3, 0.7))
    assert stepwise.interval(0.5, np.nan, 0.08, 2.0) == pytest.approx((0.3, 0.74))
    assert plain.deviation(0.5, np.nan, 0.08, 0.75) == pytest.approx(2.5)
    assert stepwise.deviation(0.5, np.nan, 0.08, 0.75) == pytest.approx((0.25 - 0.04) / 0.1)
    assert stepwise.deviation(0.5, np.nan, 0.08, 0.25) == pytest.approx(2.5)  # above the null nothing is missing
    assert stepwise.deviation(0.74, np.nan, 0.08, 0.75) == 0.0
    # Under a value between two that were tried, the error is between theirs; without one nothing is said.
    assert score([0.1, 0.1, 0.2, 0.2, 0.2]).deviation(0.75, np.nan, 0.0, 0.375) == pytest.approx(0.375 / 0.15)
    assert np.isnan(score([0.0] * 5).deviation(0.5, np.nan, 0.0, 0.75))
