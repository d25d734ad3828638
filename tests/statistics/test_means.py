"""Differences of two means, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.means import WelchDifference


@pytest.mark.parametrize("sizes", [(5, 9), (2, 2), (40, 3)])
def test_mean_difference_equals_welch_test_of_scipy(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(0, 1, sizes[0]), rng.normal(0.4, 3, sizes[1])
    found, expected = WelchDifference.of(x, y), stats.ttest_ind(x, y, equal_var=False)
    assert (found.p(), found.df) == (pytest.approx(expected.pvalue), pytest.approx(expected.df))
    assert found.interval(0.9) == pytest.approx(tuple(expected.confidence_interval(0.9)))


def test_mean_difference_of_constant_samples_is_not_tested() -> None:
    found = WelchDifference.of(np.ones(5), np.full(4, 2.0))
    assert (found.estimate, found.p()) == (-1.0, 1.0)
    assert np.isnan(found.interval(0.95)).all()
