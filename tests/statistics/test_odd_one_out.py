"""Odd ones out by loops: ranks of short rows, the likelihood of places, shares of pairs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from assay.statistics.odd_one_out import (
    PENALTY,
    Judged,
    Model,
    PairTable,
    correlation,
    mean_ranks,
    predicted_shares,
    stepped_up,
    without_groups,
)


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


# -- choices ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(4)
MEMBER = np.stack([RNG.choice(7, 3, replace=False) for _ in range(60)])
MEMBER[30:40] = MEMBER[:10, [2, 0, 1]]  # asked again, in another order
ODD = RNG.integers(0, 3, 60)
TABLE = PairTable.of(MEMBER, ODD, 7)
NAMES = list(zip(TABLE.first.tolist(), TABLE.second.tolist(), strict=True))
CHOICES = Judged.of(TABLE, MEMBER, ODD, 7)


def kept_pair(three: np.ndarray, odd: int) -> tuple[int, int]:
    first, second = (int(text) for place, text in enumerate(three) if place != odd)
    return min(first, second), max(first, second)


def test_choices_are_counted_pair_by_pair():
    kept, n = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for k, (three, odd) in enumerate(zip(MEMBER, ODD, strict=True)):
        kept[kept_pair(three, odd)] += 1
        pairs = [(min(a, b), max(a, b)) for a, b in itertools.combinations(three.tolist(), 2)]
        assert [NAMES[p] for p in CHOICES.position[k]] == pairs
        for pair in pairs:
            n[pair] += 1
    for found, wanted in zip(CHOICES.counts(), (kept, n), strict=True):
        assert found.tolist() == list(wanted.values())
    np.testing.assert_allclose(CHOICES.shares(), [kept[p] / n[p] for p in NAMES])
    assert len(CHOICES) == 60
    assert np.isnan(CHOICES.some(np.array([0])).shares()).sum() == len(NAMES) - 3
    assert CHOICES.some(np.array([0, 0, 1])).counts()[1].sum() == 9


def test_groups_of_choices_are_left_out_in_turn():
    sizes = without_groups(CHOICES, np.random.default_rng(1), lambda some: float(len(some)))
    assert sizes.tolist() == [57.0] * 20
    total = without_groups(CHOICES, np.random.default_rng(1), lambda some: float(some.kept.sum()))
    assert total.sum() == pytest.approx(19 * CHOICES.kept.sum())


def test_a_correlation_needs_three_pairs_that_both_know():
    nan = math.nan
    assert correlation(np.array([1.0, 2, 3, nan]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.5)
    assert math.isnan(correlation(np.array([1.0, 2, nan, 3]), np.array([1.0, 2, 3, nan])))


def test_spearman_and_brown():
    assert stepped_up(0.5, 2) == pytest.approx(2 / 3)
    assert stepped_up(np.array([0.2, 0.8]), np.array([3.0, 0.5])).tolist() == pytest.approx([0.6 / 1.4, 0.4 / 0.6])


# -- places -------------------------------------------------------------------------------------------


def alike(x: np.ndarray, a: int, b: int) -> float:
    return math.exp(-((x[a] - x[b]) ** 2).sum())


def test_the_likelihood_of_places_choice_by_choice():
    """exp(−|x_i − x_j|²) of the kept pair over the sum of those of the three pairs; PENALTY times the mean square."""
    x = np.random.default_rng(2).normal(size=(7, 2))
    model = Model.of(MEMBER, ODD, 7, 2)
    assert len(model.member) < 60  # the same three texts are one triplet
    slow = 0.0
    for three, odd in zip(MEMBER, ODD, strict=True):
        weights = {p: alike(x, *p) for p in itertools.combinations(sorted(three.tolist()), 2)}
        slow += math.log(weights[kept_pair(three, odd)] / sum(weights.values())) / 60
    assert model.score(x) == pytest.approx(slow)
    assert model._loss(x.ravel())[0] == pytest.approx(PENALTY * (x**2).mean() - slow)
    assert PENALTY == 0.3
    best = model.fit(seed=3)
    assert best.shape == (7, 2)
    assert model._loss(best.ravel())[0] <= model._loss(model.fit(x).ravel())[0] + 0.02
    np.testing.assert_allclose(model._loss(best.ravel())[1], 0, atol=1e-4)


def test_foretold_shares_are_means_over_third_texts():
    x = np.random.default_rng(5).normal(size=(6, 2))
    first, second, pool = np.array([0, 1]), np.array([2, 5]), [np.arange(6), np.array([1, 3, 5])]
    for value, a, b, mine in zip(predicted_shares(x, first, second, pool), first, second, pool, strict=True):
        each = [alike(x, a, b) / (alike(x, a, b) + alike(x, a, c) + alike(x, b, c)) for c in mine if c not in (a, b)]
        assert value == pytest.approx(np.mean(each))
