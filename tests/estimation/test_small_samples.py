"""Upper ends of root mean squares whose distances have tails: each by its formula, on a fine grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.estimation.small_samples import DEGREES, Tailed

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
    assert Tailed(x, dimensions)._likelihood_bound(t) == pytest.approx(wanted, rel=0.01)


def test_the_ends_are_the_lower_of_the_log_scale_and_the_higher_of_two():
    x = SQUARES[:, 0]
    one = Tailed(x)
    value, error, t = float(np.sqrt(x.mean())), 0.2, 1.5
    low, high = one.interval(value, error, 0.0, t)
    assert low == pytest.approx(value * np.exp(-t * error / value))
    above = (value * np.exp(t * error / value), one._likelihood_bound(t) ** 0.5)
    assert high == pytest.approx(max(above))
    assert Tailed(x, highest=value + 0.01).interval(value, error, 0.0, t)[1] == value + 0.01
    assert one.interval(value, np.nan, 0.0, t) is None
    assert one.interval(0.0, error, 0.0, t) is None
