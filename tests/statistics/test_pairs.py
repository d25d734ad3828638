"""Statistics of two labels per item, each from its component sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.data.annotations import Answers
from assay.statistics.pairs import (
    Distance,
    Kappa,
    MeanOfPairs,
    Moments2,
    RankTable,
    WithinItems,
    label_pairs,
    mean_first,
)

X = np.array([1.0, 1, 2, 3, 3, 3])
Y = np.array([1.0, 2, 2, 3, 3, 1])
THREE = np.array([1.0, 2, 3])


def value_of(statistic, x=X, y=Y) -> float:
    moments = statistic.pair_moments(x, y)
    assert moments.shape == (len(x), statistic.width)
    return float(statistic.value(moments.sum(axis=0)))


def test_kappa_by_hand():
    # Agreement 4/6; shares (2, 1, 3) and (2, 2, 2) of 6: chance 12/36. (2/3 − 1/3) / (2/3).
    assert value_of(Kappa(THREE, "none")) == pytest.approx(1 / 2)
    # One distribution (4, 3, 5) of 12: chance (16 + 9 + 25) / 144.
    assert value_of(Kappa(THREE, "none", shared=True)) == pytest.approx((2 / 3 - 50 / 144) / (1 - 50 / 144))
    # Linear: credits 1, 1/2, 1, 1, 1, 0 are 4.5/6; chance of the shares (2, 1, 3) / 6 and a third each: by rows
    # (1 + 1/2) / 3 · 2/6 + (1/2 + 1 + 1/2) / 3 · 1/6 + 1.5 / 3 · 3/6 = 1/6 + 1/9 + 1/4.
    chance = 1 / 6 + 1 / 9 + 1 / 4
    assert value_of(Kappa(THREE, "linear")) == pytest.approx((0.75 - chance) / (1 - chance))
    assert math.isnan(value_of(Kappa(THREE, "none"), X[:1], X[:1]))  # both always the same: chance is 1


@pytest.mark.parametrize("centre", [0.0, 2.0])
def test_pearson_and_quadratic_kappa_from_six_sums(centre):
    assert value_of(Moments2(centre, "pearson")) == pytest.approx(stats.pearsonr(X, Y).statistic)
    # 1 − Σ (x − y)² / n over its expectation, Σ over all pairs of labels (x_i − y_j)² / n².
    wanted = 1 - ((X - Y) ** 2).mean() / ((X[:, None] - Y) ** 2).mean()
    assert value_of(Moments2(centre, "quadratic")) == pytest.approx(wanted)
    assert value_of(Kappa(THREE, "quadratic")) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["pearson", "quadratic"])
@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1])
def test_labels_that_do_not_vary_have_no_correlation(kind, value):
    same = np.full(7, value)
    assert math.isnan(value_of(Moments2(0.0, kind), same, same))
    if kind == "pearson":
        assert math.isnan(value_of(Moments2(0.0, kind), same[:6], Y))


@pytest.mark.parametrize(("kind", "slow"), [("spearman", stats.spearmanr), ("kendall", stats.kendalltau)])
def test_rank_correlations_of_a_table(kind, slow):
    assert value_of(RankTable(THREE, kind)) == pytest.approx(slow(X, Y).statistic)
    assert value_of(RankTable(THREE, kind), X, 4 - X) == pytest.approx(-1)
    assert math.isnan(value_of(RankTable(THREE, kind), X, np.ones(6)))
    both = RankTable(THREE, kind).value(
        np.stack([RankTable(THREE, kind).pair_moments(X, y).sum(axis=0) for y in (Y, X)])
    )
    assert both.tolist() == pytest.approx([slow(X, Y).statistic, 1])


def test_distances_by_hand():
    # Differences 0, 1, 0, 0, 0, −2.
    assert value_of(Distance("mae")) == pytest.approx(3 / 6)
    assert value_of(Distance("mae", 4.0)) == pytest.approx(3 / 24)
    assert value_of(Distance("rmse")) == pytest.approx(math.sqrt(5 / 6))
    assert value_of(Distance("rmse", 2.0)) == pytest.approx(math.sqrt(5 / 24))
    assert value_of(Distance("bias")) == pytest.approx(-1 / 6)
    assert Distance("bias").unit == 1


def test_mean_first_puts_mean_before_values():
    np.testing.assert_array_equal(mean_first(np.array([[0.3], [np.nan]])), [[0.3], [np.nan]])
    found = mean_first(np.array([[0.3, np.nan, 0.5], [np.nan, np.nan, np.nan]]))
    np.testing.assert_array_equal(found, [[0.4, 0.3, np.nan, 0.5], [np.nan] * 4])


NA = np.nan
CELLS = np.array([[1, 1, 2], [2, NA, 2], [NA, NA, NA], [3, 1, NA], [NA, 3, NA]])


def answers() -> Answers:
    item, annotator = np.nonzero(~np.isnan(CELLS))
    return Answers(item, annotator, CELLS[item, annotator], tuple("vwxyz"), ("a", "b", "c"))


def test_pairs_of_annotators_are_compared_on_what_both_labelled():
    # a and b: |0|, |2| on two items; a and c: 1, 0; b and c: 1.
    mean = MeanOfPairs(Distance("mae"), np.array([0, 0, 1]), np.array([1, 2, 2]))
    moments = mean.moments(answers())
    assert moments.shape == (5, mean.width) == (5, 6)
    assert mean.value(moments.sum(axis=0)).tolist() == pytest.approx([(1 + 0.5 + 1) / 3, 1, 0.5, 1])
    assert not moments[[2, 4]].any()


@pytest.mark.parametrize("kind", ["mae", "bias"])
def test_within_items_weights_items_equally(kind):
    people, judge = np.array([True, True, False]), np.array([False, False, True])
    two = MeanOfPairs(Distance(kind), np.array([0]), np.array([1]))
    across = WithinItems(two, people, judge)
    # v: 1 and 1 against 2, mean 1; w: 0.
    assert across.value(across.moments(answers()).sum(axis=0))[0] == pytest.approx(0.5)
    among = WithinItems(two, people, people)
    moments = among.moments(answers())
    assert moments.shape == (5, among.width)
    # v: 0 both ways; y: 2, or −2 and 2.
    assert among.value(moments.sum(axis=0))[0] == pytest.approx(1.0 if kind == "mae" else 0.0)
    nobody = WithinItems(two, judge, judge)
    assert not nobody.moments(answers()).any()


def test_pairs_of_labels_by_hand():
    everybody = np.ones(3, dtype=bool)
    found = label_pairs(answers(), everybody, everybody)
    assert found.item.tolist() == [0, 1, 3]
    assert found.number.tolist() == [6, 2, 2]
    assert found.starts.tolist() == [0, 6, 8]
    # Ten pairs of three values: those that differ are (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1).
    value = found.labels.value.reshape(-1, 2)
    assert value.tolist() == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [3, 1]]
    assert value[found.kind].tolist() == [
        [1, 1], [1, 2], [1, 1], [1, 2], [2, 1], [2, 1], [2, 2], [2, 2], [3, 1], [1, 3],
    ]  # fmt: skip
    # With fewer pairs than possible kinds, each is separate.
    few = label_pairs(answers(), everybody, np.array([True, False, False]))
    assert few.labels.n_items == len(few.kind) == 4
    assert few.labels.value.reshape(-1, 2).tolist() == [[1, 1], [2, 1], [2, 2], [1, 3]]
