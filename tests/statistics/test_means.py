"""Differences of two means, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.means import WelchDifference, rater_levels


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


def test_rater_levels_are_those_of_a_regression_with_items() -> None:
    rng = np.random.default_rng(1)
    labels = rng.normal(size=(40, 4)) + rng.normal(size=(40, 1)) + np.array([-1, 0, 1, 2])
    np.testing.assert_allclose(rater_levels(labels), labels.mean(axis=0))
    labels[rng.random((40, 4)) < 0.4] = np.nan
    item, rater = np.nonzero(~np.isnan(labels))
    x = np.concatenate([np.eye(40)[item], np.eye(4)[rater]], axis=1)
    effects = np.linalg.lstsq(x, labels[item, rater], rcond=None)[0][40:]
    found = rater_levels(labels)
    np.testing.assert_allclose(found - found.mean(), effects - effects.mean())
    assert np.nansum(labels - found) == pytest.approx(0)


def test_levels_of_raters_without_shared_items_are_their_means() -> None:
    labels = np.full((6, 4), np.nan)
    labels[:2, 0], labels[2:4, 1:3], labels[4:, 3] = [1, 2], [[3, 4], [5, 6]], [9, 7]
    np.testing.assert_allclose(rater_levels(labels), [1.5, 4, 5, 8])
