"""Matches of a judge with one annotator, and groups of annotators: sums by hand, planted copies, planted groups."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.statistics.copies import (
    MOST_GROUPED,
    Labels,
    PairSums,
    find_groups,
    find_match,
    find_weakest,
    jackknife_p,
    jackknife_t,
)


def labels_of(table: np.ndarray, unit: np.ndarray | None = None) -> Labels:
    item, annotator = np.nonzero(~np.isnan(table))
    unit = np.arange(len(table)) if unit is None else unit
    return Labels(item, annotator, table[item, annotator], unit, table.shape[1])


def beyond_chance(a: np.ndarray, b: np.ndarray) -> tuple[int, float]:
    """The items of both, and n · c, by the definition."""
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    if not len(a):
        return 0, 0.0
    chance = sum(np.mean(a == value) * np.mean(b == value) for value in np.unique(a))
    return len(a), len(a) * float(np.mean(a == b) - chance)


@pytest.mark.parametrize("clustered", [False, True])
def test_pair_sums_are_those_of_the_definition_with_and_without_each_unit(clustered):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (40, 4)).astype(float)
    table[rng.random((40, 4)) < 0.3] = np.nan
    unit = rng.integers(0, 12, 40) if clustered else np.arange(40)
    sums = PairSums.of(labels_of(table, unit))
    assert len(sums.first) == 6
    units = np.unique(unit[(~np.isnan(table)).sum(axis=1) > 1])
    assert sums.n_units == len(units)
    for a, b in zip(sums.first, sums.second, strict=True):
        found = sums.of_both(a, b)
        assert found[:, 0] == pytest.approx(beyond_chance(table[:, a], table[:, b]))
        for k, one in enumerate(units):
            rest = unit != one
            assert found[:, 1 + k] == pytest.approx(beyond_chance(table[rest, a], table[rest, b]))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    assert sums.everyone[:, 0] == pytest.approx(np.sum([beyond_chance(table[:, a], table[:, b]) for a, b in pairs], 0))
    third = [pair for pair in pairs if 2 in pair]
    assert sums.with_rater(2)[:, 0] == pytest.approx(np.sum([beyond_chance(*table.T[list(p)]) for p in third], 0))


def test_jackknife_of_a_mean_is_a_t_test():
    x = np.random.default_rng(1).normal(0.3, 1, 30)
    values = np.r_[x.mean(), (x.sum() - x) / 29]
    t = x.mean() / (x.std(ddof=1) / math.sqrt(30))
    assert jackknife_t(values) == pytest.approx(t)
    assert math.isnan(jackknife_t(values[:8]))  # seven units
    assert math.isnan(jackknife_t(np.r_[np.nan, values[1:]]))
    assert math.isnan(jackknife_t(np.full(20, 0.5)))  # nothing varies
    assert jackknife_p(np.full(20, 0.5)) == 1


def noisy(rng: np.random.Generator, truth: np.ndarray, error: float) -> np.ndarray:
    return np.where(rng.random(len(truth)) < error, rng.integers(0, 2, len(truth)), truth).astype(float)


def study(seed: int, n: int, errors: tuple[float, ...]) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.3).astype(int)
    return rng, truth, np.column_stack([noisy(rng, truth, error) for error in errors])


def rate(n: int, errors: tuple[float, ...], judge, seeds: int = 40) -> float:
    found = []
    for seed in range(seeds):
        rng, truth, table = study(seed, n, errors)
        match = find_match(labels_of(table), judge(rng, truth, table)).found
        found.append(match is not None and match.kind == "match")
    return float(np.mean(found))


@pytest.mark.parametrize("errors", [(0.2, 0.2, 0.2), (0.2, 0.2, 0.6), (0.05, 0.5, 0.5), (0.2, 0.2, 1.0, 1.0)])
def test_find_match_rarely_names_an_annotator_of_an_honest_judge(errors):
    """Also where one annotator is careless, or careful: 0 to .05 of 40 studies each, .03 at most in the long run."""
    assert rate(100, errors, lambda rng, truth, _: noisy(rng, truth, 0.2)) <= 0.05


def test_find_match_names_the_annotator_of_a_copy():
    rng, _, table = study(0, 200, (0.3, 0.3, 0.3))
    found = find_match(labels_of(table), table[:, 1].copy()).found
    assert found is not None
    assert (found.annotator, found.kind, found.n_given) == (1, "match", found.n_alone)
    alone = (table[:, 0] == table[:, 2]) & (table[:, 1] != table[:, 0])
    assert found.n_alone == alone.sum()
    judge = np.where(rng.random(200) < 0.5, table[:, 1], np.nan)
    half = find_match(labels_of(table), judge).found
    assert half is not None
    assert half.n_alone == (alone & ~np.isnan(judge)).sum()  # only items that the judge labelled
    assert rate(200, (0.3, 0.3, 0.3), lambda rng, truth, table: table[:, 1]) >= 0.9


def test_find_match_is_not_changed_by_names_orders_and_label_codes():
    rng, _, table = study(3, 80, (0.3, 0.3, 0.3, 0.3))
    one = find_match(labels_of(table), table[:, 2]).found
    order, people = rng.permutation(80), [3, 2, 1, 0]
    other = find_match(labels_of(table[order][:, people] * 7 + 2), table[order, 2] * 7 + 2).found
    assert one is not None
    assert other is not None
    assert (other.annotator, other.n_alone, other.n_given) == (1, one.n_alone, one.n_given)
    assert other.p == pytest.approx(one.p)


def test_find_match_states_what_is_not_testable():
    rng, _, table = study(1, 60, (0.2, 0.2))
    assert find_match(labels_of(table), table[:, 0]).untestable == "two_annotators"
    random = rng.integers(0, 2, (60, 3)).astype(float)
    assert find_match(labels_of(random), random[:, 0]).untestable == "others_do_not_agree"


def test_find_match_with_two_labels_per_item_cannot_see_an_annotator_alone():
    rng = np.random.default_rng(5)
    truth = (rng.random(900) < 0.4).astype(int)
    table = np.column_stack([noisy(rng, truth, 0.25) for _ in range(3)])
    table[np.arange(900), np.arange(900) % 3] = np.nan
    judge = np.where(np.isnan(table[:, 0]), noisy(rng, truth, 0.25), table[:, 0])
    found = find_match(labels_of(table), judge).found
    assert found is not None
    assert (found.annotator, found.kind, found.n_alone) == (0, "closer", 0)
    assert find_match(labels_of(table), noisy(rng, truth, 0.25)).found is None


def test_a_judge_that_shares_a_view_with_one_annotator_sides_with_them():
    rng, truth, table = study(2, 600, (0.15, 0.15, 0.15, 0.15))
    other = np.where(rng.random(600) < 0.3, 1 - truth, truth)
    table[:, 3] = noisy(rng, other, 0.15)
    found = find_match(labels_of(table), noisy(rng, other, 0.15)).found
    assert found is not None
    assert (found.annotator, found.kind) == (3, "sides_with")


def camps(seed: int, n: int, apart: float = 0.3) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng, truth, _ = study(seed, n, (0.1,))
    other = np.where(rng.random(n) < apart, 1 - truth, truth)
    return rng, truth, np.column_stack([noisy(rng, one, 0.15) for one in (truth, other, truth, other)])


def test_find_groups_finds_two_views():
    found = find_groups(labels_of(camps(0, 100)[2]))
    assert found is not None
    assert (found.first, found.second) == ((0, 2), (1, 3))
    assert found.p < 0.01
    power = [find_groups(labels_of(camps(seed, 100)[2])).p <= 0.05 for seed in range(20)]
    assert np.mean(power) >= 0.9


@pytest.mark.parametrize("errors", [(0.2,) * 4, (0.1, 0.2, 0.5, 0.9), (0.1, 0.1, 0.7, 0.7)])
def test_find_groups_of_one_truth_are_rare(errors):
    found = [find_groups(labels_of(study(seed, 100, errors)[2])) for seed in range(40)]
    assert np.mean([one is not None and one.p <= 0.05 for one in found]) <= 0.05


def test_find_groups_of_numbers_ignores_severity():
    rng = np.random.default_rng(0)
    truth = rng.normal(3, 1, 200)
    table = np.column_stack([np.clip(np.round(truth + shift + rng.normal(0, 0.7, 200)), 1, 5)
                             for shift in (0.7, 0.7, -0.7, -0.7)])  # fmt: skip
    found = find_groups(labels_of(table), ordered=True)
    assert found is None or found.p > 0.05


def test_find_groups_requires_complete_items_and_four_to_eight_annotators():
    table = camps(0, 100)[2]
    assert find_groups(labels_of(table[:, :3])) is None
    assert find_groups(labels_of(np.tile(table, 3)[:, : MOST_GROUPED + 1])) is None
    table[:, 0][8:] = np.nan
    assert find_groups(labels_of(table)) is not None  # eight complete items
    table[7, 1] = np.nan
    assert find_groups(labels_of(table)) is None


def test_groups_of_annotators_name_nobody():
    """A judge of one camp gives the label of a member where the others of the other camp agree."""
    named = 0
    for seed in range(20):
        rng, truth, table = camps(seed, 200, 0.35)
        match = find_match(labels_of(table), noisy(rng, truth, 0.15)).found
        named += match is not None and match.kind == "match"
    assert named == 0


def test_find_weakest_names_a_careless_annotator_and_rarely_another():
    table = study(0, 200, (0.1, 0.1, 0.1, 0.9))[2]
    name, p = find_weakest(labels_of(table))
    assert (name, p < 0.01) == (3, True)
    assert find_weakest(labels_of(table[:, 2:])) is None  # two annotators
    alike = [find_weakest(labels_of(study(seed, 100, (0.3, 0.3, 0.3))[2])) for seed in range(40)]
    assert np.mean([one is not None for one in alike]) <= 0.05


def numbers(seed: int, n: int, noise: tuple[float, ...], shared: float = 1.0) -> np.ndarray:
    """Labels with one decimal of annotators around a truth."""
    rng = np.random.default_rng(seed)
    truth = shared * rng.normal(5, 2, n)
    return np.stack([np.round(truth + rng.normal(0, one, n), 1) for one in noise], axis=1)


def test_find_weakest_compares_numbers_by_their_covariance():
    assert find_weakest(labels_of(numbers(0, 120, (0.8, 0.8, 0.8))), ordered=True) is None
    table = numbers(0, 120, (0.8, 0.8, 0.8, 0.8))
    table[:, 2] = numbers(1, 120, (2.0,))[:, 0]
    found = find_weakest(labels_of(table), ordered=True)
    assert (found[0], found[1] < 0.01) == (2, True)


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_find_weakest_names_no_annotator_of_pairs_who_share_no_item_with_others(shared):
    """Equal labels are rare, so that a pair without any was said to agree less than the others."""
    named = 0
    for seed in range(25):
        table = numbers(seed, 120, (2.0,) * 8, shared)
        for pair in range(4):
            table[np.arange(120) % 4 != pair, 2 * pair : 2 * pair + 2] = np.nan
        named += find_weakest(labels_of(table), ordered=True) is not None
    assert named <= 2


def test_pair_sums_of_numbers_are_covariances_without_each_unit():
    table = numbers(3, 12, (1.0, 1.0, 1.0))
    table[[2, 5], 1] = np.nan
    sums = PairSums.of_numbers(labels_of(table))

    def n_times_covariance(kept: np.ndarray) -> float:
        both = [table[kept][:, pair] for pair in ([0, 1], [0, 2], [1, 2])]
        whole = [one[~np.isnan(one).any(axis=1)] for one in both]
        return sum(len(one) * np.cov(one.T, ddof=0)[0, 1] for one in whole)

    expected = [n_times_covariance(np.delete(np.arange(12), k)) for k in range(12)]
    assert sums.everyone[1] == pytest.approx([n_times_covariance(np.arange(12)), *expected])


def test_find_match_of_texts_compares_equal_texts():
    """Labels that no two annotators share, as free texts: agreement of the others is not demonstrated."""
    rng = np.random.default_rng(0)
    table = np.arange(180.0).reshape(60, 3)
    judge = np.where(rng.random(60) < 0.5, table[:, 1], -1.0 - np.arange(60))
    found = find_match(labels_of(table), judge)
    assert (found.repeated, found.found.kind, found.found.n_alone) == (1, "equal", 60)
    assert found.found.n_given == np.count_nonzero(judge == table[:, 1])
    own = find_match(labels_of(table), -1.0 - np.arange(60.0))
    assert (own.found, own.untestable) == (None, "others_do_not_agree")
    judge = np.where(np.arange(60) < 4, table[:, 1], -1.0 - np.arange(60))  # four equal texts of 60 can be short ones
    assert find_match(labels_of(table), judge).repeated is None
