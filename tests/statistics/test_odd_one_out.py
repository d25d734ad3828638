"""Ranks of short rows, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from assay.statistics.odd_one_out import mean_ranks


def slowly(values: np.ndarray) -> np.ndarray:
    ranks = rankdata(values, axis=-1)
    ranks = ranks - ranks.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return ranks / np.sqrt((ranks**2).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("shape", [(7,), (1, 28), (40, 12), (3, 2, 9)])
@pytest.mark.parametrize("different", [2, 5, 1000])
def test_ranks_are_those_of_scipy_with_ties_or_without(shape, different):
    rng = np.random.default_rng(len(shape) * different)
    values = rng.integers(0, different, shape) / 7
    np.testing.assert_allclose(mean_ranks(values), slowly(values), rtol=0, atol=1e-15)


def test_a_row_with_nan_or_with_ties_alone_has_no_ranks_and_others_have():
    values = np.array([[1.0, np.nan, 2.0], [3.0, 3.0, 3.0], [np.inf, -np.inf, 0.0]])
    found = mean_ranks(values)
    assert np.isnan(found[:2]).all()
    np.testing.assert_allclose(found[2], np.array([1, -1, 0]) / np.sqrt(2))


def test_their_product_is_spearmans_correlation():
    one, other = np.random.default_rng(1).integers(0, 4, (2, 30)).astype(float)
    assert mean_ranks(one) @ mean_ranks(other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)
