"""Ranks of labels with many values: a weight counts an item that often, against loops over the labels repeated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import references
from assay.data.annotations import Answers
from assay.statistics.ranks import AlphaRanks, PairRanks

NA = np.nan
CELLS = np.array(
    [[1.0, 2, 1], [2, 2, NA], [3, 5, 4], [3, NA, 3], [4, 4, 5], [5, 3, 5], [NA, 1, 2], [2, 4, NA], [NA, 7, NA]]
)
WEIGHTS = np.array([[1.0, 2, 1, 0, 3, 1, 2, 1, 4], [2, 1, 1, 1, 1, 0, 1, 3, 1]])
PAIRS = [(0, 1), (0, 2), (1, 2)]


def repeated(weights: np.ndarray) -> np.ndarray:
    return np.repeat(CELLS, weights.astype(int), axis=0)


@pytest.mark.parametrize(("kind", "slow"), [("spearman", stats.spearmanr), ("kendall", stats.kendalltau)])
def test_weights_are_item_multiplicities(kind, slow):
    found = PairRanks(kind, CELLS, *map(np.array, zip(*PAIRS, strict=True))).value(WEIGHTS)
    for row, weights in zip(found, WEIGHTS, strict=True):
        rows = repeated(weights)
        each = [slow(*rows[~np.isnan(rows[:, [a, b]]).any(axis=1)][:, [a, b]].T).statistic for a, b in PAIRS]
        np.testing.assert_allclose(row, [np.mean(each), *each], rtol=1e-6)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_two_labels_are_the_fewest_with_a_rank_correlation(kind):
    one = np.array([[1.0, 2.0], [NA, 3.0], [4.0, NA]])
    two = np.array([[1.0, 2.0], [2.0, 5.0], [NA, 3.0]])
    at = np.array([0]), np.array([1])
    assert np.isnan(PairRanks(kind, one, *at).value(np.ones((4, 3)))).tolist() == [[True]] * 4
    assert PairRanks(kind, two, *at).value(np.ones(3)).tolist() == pytest.approx([1.0])
    for cells, wanted in ((one, NA), (two, 1.0)):
        assert PairRanks(kind, cells, *at).value_of_items(np.arange(3)).tolist() == pytest.approx([wanted], nan_ok=True)
    three = PairRanks(
        kind, np.array([[1.0, 2, NA], [NA, 3, 4], [NA, NA, 1], [2, 3, 4]]), *map(np.array, ([0, 0], [1, 2]))
    )
    assert three.items_used == 2


def test_alpha_of_weighted_items():
    item, annotator = np.nonzero(~np.isnan(CELLS))
    names = tuple(f"i{i}" for i in range(len(CELLS)))
    ranks = AlphaRanks(Answers(item, annotator, CELLS[item, annotator], names, ("a", "b", "c")))
    assert ranks.items_used == 8
    for row, weights in zip(ranks.value(WEIGHTS), WEIGHTS, strict=True):
        rows = [[None if np.isnan(v) else v for v in row] for row in repeated(weights)]
        pairable = [row for row in rows if sum(v is not None for v in row) > 1]
        assert row[0] == pytest.approx(references.krippendorff_alpha(pairable, "ordinal"))
