"""Upper ends of root mean squares whose distances have tails: each by its formula, on a fine grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.estimation.intervals import DEGREES
from assay.estimation.small_samples import Tailed

SQUARES = np.random.default_rng(3).standard_t(5, size=(30, 2)) ** 2


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_the_largest_mean_square_that_the_likelihood_allows(dimensions):
    """x / (d s) is F(d, ν) with mean ν / (ν − 2), for any d up to that number and any ν; within t² / 2 of the best."""
    x, t = SQUARES.mean(axis=1), 2.0
    scales = np.exp(np.linspace(np.log(0.01), np.log(60), 500))
    logs, means = [], []
    for d, nu in itertools.product(range(1, dimensions + 1), DEGREES):
        each = stats.f.logpdf(x / (d * scales[:, None]), d, nu) - np.log(d * scales[:, None])
        logs.append(each.sum(axis=1))
        means.append(d * scales * nu / (nu - 2))
    logs, means = np.array(logs), np.array(means)
    wanted = means[logs >= logs.max() - t**2 / 2].max()
    assert Tailed(x, dimensions)._of_likelihood(t) == pytest.approx(wanted, rel=0.01)


def test_skewness_is_taken_out_of_t():
    """Hall (1992): where the transformed t is −t, the mean lies g⁻¹(−t) standard errors below its upper end."""
    x, t, n = SQUARES[:, 0], 1.7, 30
    mean, spread = x.mean(), x.std()
    skew = ((x - mean) ** 3).mean() / spread**3
    top = Tailed(x)._of_skewness(t)
    away = np.sqrt(n - 1) * (mean - top) / spread  # the studentized mean, were the top the true one
    a = skew / np.sqrt(n)
    # g(y) = y + a y² / 3 + a² y³ / 27 + a / 6 is about normal (Hall 1992, eq. 2.5).
    assert away + a * away**2 / 3 + a**2 * away**3 / 27 + a / 6 == pytest.approx(-t, abs=1e-9)
    even = np.array([1.0, 2.0, 3.0] * 10)
    assert Tailed(even)._of_skewness(t) == pytest.approx(2 + t * np.sqrt(2 / 3) / np.sqrt(29))
    assert Tailed(np.ones(5))._of_skewness(t) == 1.0


def test_the_ends_are_the_lower_of_the_log_scale_and_the_highest_of_three():
    x = SQUARES[:, 0]
    one = Tailed(x)
    value, error, t = float(np.sqrt(x.mean())), 0.2, 1.5
    low, high = one.interval(value, error, 0.0, t)
    assert low == pytest.approx(value * np.exp(-t * error / value))
    above = (value * np.exp(t * error / value), one._of_skewness(t) ** 0.5, one._of_likelihood(t) ** 0.5)
    assert high == pytest.approx(max(above))
    assert Tailed(x, highest=value + 0.01).interval(value, error, 0.0, t)[1] == value + 0.01
    assert one.interval(value, np.nan, 0.0, t) is None
    assert one.interval(0.0, error, 0.0, t) is None
