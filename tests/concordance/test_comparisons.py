"""Closer or further: the test that swaps labels within items, by brute force and under a planted null."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid

from assay.concordance.agreement import SWAPPED, T_TEST, agreement
from assay.concordance.comparisons import Changes
from assay.data.scales import Ordinal

NAMES = ["a", "b", "c", "judge"]


def labels_of(cells, items=None):
    return from_grid(cells, Ordinal(0, 1), names=[*NAMES[: cells.shape[1] - 1], "judge"], judges=["judge"], items=items)


def difference(cells: np.ndarray) -> float:
    """Exact agreement of the judge (last) with people, less that of people with each other; NaN is missing."""
    with_judge, among = [], []
    for row in cells:
        people, judge = row[:-1][~np.isnan(row[:-1])], row[-1]
        if len(people) and not np.isnan(judge):
            with_judge.append(np.mean(people == judge))
        if len(people) > 1:
            among.append(np.mean([x == y for x, y in itertools.combinations(people, 2)]))
    return float(np.mean(with_judge) - np.mean(among))


def found_of(labels, **options):
    options = {"n_resamples": 4000, "coefficients": ["exact-agreement"], "who": ["human pairs"], **options}
    return agreement(labels, **options)


def every_swap(cells: np.ndarray) -> np.ndarray:
    """The difference with every label of every item in the judge's place."""
    found = []
    asked = [np.flatnonzero(~np.isnan(row[:-1])) if not np.isnan(row[-1]) else np.array([], int) for row in cells]
    for places in itertools.product(*[(-1, *one) for one in asked]):
        other = cells.copy()
        for i, place in enumerate(places):
            if place >= 0:
                other[i, place], other[i, -1] = cells[i, -1], cells[i, place]
        found.append(difference(other))
    return np.array(found)


@pytest.mark.parametrize("missing", [False, True])
def test_p_is_that_of_all_swaps(missing):
    cells = np.array([[0, 0, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]], dtype=float)
    if missing:
        cells[0, 0] = cells[3, 2] = cells[5, 3] = np.nan
    row = found_of(labels_of(cells)).differences.row(0, named=True)
    swaps, mine = every_swap(cells), difference(cells)
    assert row["estimate"] == pytest.approx(mine)
    p = 2 * min(np.mean(swaps >= mine - 1e-9), np.mean(swaps <= mine + 1e-9))
    assert row["p"] == pytest.approx(min(p, 1.0), abs=0.03)
    assert row["test"] == SWAPPED


def exchangeable(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    truth = rng.random((n, 1)) < share
    return np.where(rng.random((n, 4)) < 0.25, rng.random((n, 4)) < share, truth).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(60, 0.5), (60, 0.05), (20, 0.2)])
def test_an_exchangeable_judge_is_called_closer_no_more_often_than_claimed(n, share):
    rng = np.random.default_rng(n)
    closer = 0
    for _ in range(80):
        found = found_of(labels_of(exchangeable(rng, n, share)), n_resamples=200)
        closer += found.differences["closer"][0] == "yes"
    assert closer <= stats.binom.ppf(0.999, 80, 0.025)


def test_a_judge_that_knows_the_truth_is_called_closer():
    rng = np.random.default_rng(5)
    truth = rng.random((100, 1)) < 0.5
    cells = np.where(rng.random((100, 4)) < 0.5, rng.random((100, 4)) < 0.5, truth).astype(float)
    cells[:, 3] = truth[:, 0]
    found = found_of(labels_of(cells), n_resamples=500)
    assert found.differences["closer"][0] == "yes"
    assert found.differences["p"][0] == pytest.approx(2 / 501)  # of 500 swaps none is as far, on either side
    assert "Closer or further: labels swapped within items; holm over 1 comparison of a judge" in found.summary()


def test_clusters_are_swapped_whole():
    rng = np.random.default_rng(6)
    cells = np.repeat(exchangeable(rng, 6, 0.5), 5, axis=0)
    items = pl.DataFrame({"item": [f"i{i:06d}" for i in range(30)], "document": [f"d{i // 5}" for i in range(30)]})
    labels = labels_of(cells, items)
    apart, whole = (found_of(labels, clusters=c).differences["p"][0] for c in (None, "document"))
    # Five copies of each item are six items, not thirty.
    single = found_of(labels_of(cells[::5])).differences["p"][0]
    assert whole == pytest.approx(single, abs=0.03)
    assert apart < whole


def test_where_all_say_the_same_a_swap_changes_nothing():
    row = found_of(labels_of(np.repeat([[0.0], [1.0], [1.0]], 4, axis=1))).differences.row(0, named=True)
    assert (row["estimate"], row["p"], row["closer"]) == (0, 1, "not shown")


def test_many_items_are_tested_by_t():
    rng = np.random.default_rng(7)
    found = found_of(labels_of(exchangeable(rng, 3_001, 0.5)), n_resamples=60)
    assert found.differences["test"].to_list() == [T_TEST]


def test_items_that_change_alike_are_counted_together():
    """Sums over kinds of items are those over items, one by one."""
    rng = np.random.default_rng(9)
    moments = [rng.integers(0, 2, (40, 3))[:, [0, 1, 1, 2]].astype(float) for _ in range(3)]
    changes, drawn = Changes.of(moments), rng.integers(0, 3, (6, 40))
    slow = [sum(moments[c][i] - moments[0][i] for i, c in enumerate(row)) for row in drawn]
    assert np.array_equal(changes.sums(drawn), np.array(slow))
    assert changes.added.shape[0] < 2 * 40
    assert changes.added.shape[1] == 3
    still = Changes.of([moments[0], moments[0]])
    assert not still.sums(drawn[:, :40]).any()
