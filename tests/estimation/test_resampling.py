"""Sums by group and of resamples, compared with slow methods, and the rules for merging items into blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import DataError, DesignError
from assay.estimation import resampling as module
from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import (
    Mean,
    Sums,
    Units,
    add_rows,
    estimate_sums,
    resample,
    resampling_counts,
    unit_limit,
    width_limit,
)

RNG = np.random.default_rng(2)
ROWS, GROUP, KIND = (
    RNG.normal(size=(9, 2)),
    np.array([3, 0, 0, 2, 3, 3, 0, 2, 5]),
    np.array([1, 0, 4, 4, 2, 8, 1, 3, 0]),
)


def slow_sums(rows, group, n):
    return np.array([sum((rows[i] for i in range(len(group)) if group[i] == g), np.zeros(2)) for g in range(n)])


@pytest.mark.parametrize("sparse", [8, 9])
@pytest.mark.parametrize("n", [6, 2**16 - 1, 2**16])
def test_add_rows_sums_by_group_in_any_way(sparse, n, monkeypatch):
    monkeypatch.setattr(module, "SPARSE", sparse)
    np.testing.assert_allclose(add_rows(ROWS, GROUP, n)[:6], slow_sums(ROWS, GROUP, 6), atol=1e-12)
    assert not add_rows(ROWS, GROUP, n)[6:].any()
    beside = add_rows(ROWS, GROUP, n, 2 * ROWS, kind=KIND)[:6]
    wanted = slow_sums(ROWS[KIND], GROUP, 6)
    np.testing.assert_allclose(beside, np.hstack([wanted, 2 * wanted]), atol=1e-12)


def test_add_rows_uses_sparse_product_for_large_tables(monkeypatch):
    asked = []
    monkeypatch.setattr("scipy.sparse.csr_array", lambda parts, shape: asked.append(shape) or np.zeros(shape))
    for sparse, shapes in ((9, []), (8, [(6, 9)])):
        monkeypatch.setattr(module, "SPARSE", sparse)
        add_rows(ROWS, GROUP, 6)
        assert asked == shapes


def test_add_rows_keeps_rows_that_are_groups():
    group = np.arange(9)
    assert add_rows(ROWS, group, 9) is ROWS
    np.testing.assert_array_equal(add_rows(ROWS, group, 9, ROWS, kind=KIND), np.hstack([ROWS[KIND]] * 2))
    assert add_rows(ROWS[:0], group[:0], 2).tolist() == [[0, 0], [0, 0]]
    np.testing.assert_array_equal(add_rows(ROWS, group, 10)[:9], ROWS)


def test_value_without_each_unit_uses_others():
    sums = Sums(Mean(), np.array([[6.0, 2], [0, 0], [1, 1], [5, 2]]), (5,), "items")
    assert sums.used.tolist() == [0, 2, 3]
    value, without = sums.value_and_without(sums.used)
    assert value.tolist() == pytest.approx([12 / 5])
    assert without.ravel().tolist() == pytest.approx([6 / 3, 11 / 4, 7 / 3])
    assert Sums(Mean(), np.zeros((3, 2)), (0,), "items").used.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("sums", "whole"),
    [
        ([[1.0], [2]], True), ([[1.0], [2.5]], False), ([[2.0**23 - 1], [0]], True), ([[2.0**23], [0]], False),
        ([[-(2.0**23)], [0]], False), ([[1 - 2.0**23], [0]], True), (np.zeros((0, 1)), False), ([[-1.0], [2]], True),
    ],
)  # fmt: skip
def test_sums_are_exact_in_single_precision_below_2_to_the_24(sums, whole):
    assert module._whole_numbers(np.array(sums)) == whole


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(("jobs", "parallel"), [(None, False), (1, False), (2, True)])
def test_blocks_run_in_order_and_through_joblib(blocks, jobs, parallel, monkeypatch):
    ran = []
    monkeypatch.setattr("joblib.parallel.get_active_backend", lambda: (None, jobs))
    monkeypatch.setattr("joblib.Parallel", lambda: lambda tasks: ran.append(1) or [f(*a, **k) for f, a, k in tasks])
    assert module._run(lambda b: b * 10, blocks) == [0, 10, 20][:blocks]
    assert bool(ran) == (parallel and blocks > 1)


@pytest.mark.parametrize(
    ("items", "width"), [(200, math.inf), (201, 12_000_000 // 201), (10_000, 1_200), (10_001, 0)]
)  # fmt: skip
def test_width_limit_without_blocks(items, width):
    assert width_limit(items) == width
    if 0 < width < math.inf:
        assert unit_limit(width) >= items


@pytest.mark.parametrize(
    ("width", "most", "limit"),
    [(0, 10_000, 10_000), (1, 10_000, 10_000), (1_200, 10_000, 10_000), (1_201, 10_000, 9_991), (10**6, 10_000, 200),
     (10**6, 50, 50), (1, 50, 50), (60_000, 10_000, 200), (59_000, 10_000, 203)],
)  # fmt: skip
def test_wide_sums_have_fewer_blocks_down_to_200(width, most, limit):
    assert unit_limit(width, most) == limit


def test_units_are_items_clusters_or_blocks_of_them():
    alone = Units.of(5)
    assert (alone.of_item.tolist(), alone.n, alone.name) == ([0, 1, 2, 3, 4], 5, "items")
    some = Units.of(5, used=np.array([1, 4]))
    assert (some.of_item.tolist(), some.n, some.name) == ([-1, 0, -1, -1, 1], 2, "items")
    cluster = Units.of(5, np.array([7, 7, 3, 9, 3]))
    assert (cluster.of_item.tolist(), cluster.n, cluster.name) == ([1, 1, 0, 2, 0], 3, "clusters")
    both = Units.of(5, np.array([7, 7, 3, 9, 3]), used=np.array([0, 1, 3]))
    assert (both.of_item.tolist(), both.n) == ([0, 0, -1, 1, -1], 2)
    assert Units.of(4, most=4).name == "items"
    block = Units.of(5, most=4)
    assert (block.n, block.name, sorted(np.bincount(block.of_item))) == (4, "blocks", [1, 1, 1, 2])
    blocks = Units.of(6, np.array([0, 0, 1, 1, 2, 2]), most=2)
    assert (blocks.n, blocks.name) == (2, "blocks")
    assert all(blocks.of_item[i] == blocks.of_item[i + 1] for i in (0, 2, 4))
    assert Units.of(20_000, most=None).n == 20_000
    assert Units.of(20_000).n == 10_000
    assert Units.of(300, width=10**6).n == 200
    none = Units.of(2, np.array([1, 1]), used=np.array([], dtype=int))
    assert (none.n, none.of_item.tolist()) == (0, [-1, -1])
    with pytest.raises(DataError, match="there are 5 items but 4 cluster labels"):
        Units.of(5, np.zeros(4))


@pytest.mark.parametrize("block", [0, 1])
def test_resample_draws_number_of_units(block):
    counts = resampling_counts(7, 50, 3, block)
    assert counts.shape == (50, 7)
    assert set(counts.sum(axis=1)) == {7}
    np.testing.assert_array_equal(counts, resampling_counts(7, 50, 3, block))
    assert (counts != resampling_counts(7, 50, 3, 1 - block)).any()
    assert (counts != resampling_counts(7, 50, 4, block)).any()


@pytest.mark.parametrize("n", [1, 64, 65, 130])
@pytest.mark.parametrize("whole", [True, False])
def test_resamples_are_sums_of_drawn_units_block_by_block(n, whole):
    sums = np.array([[1.0, 1], [3, 1], [8, 1], [4, 2]]) + (0 if whole else 0.25)
    found = resample(Mean(), sums, n_resamples=n, seed=5)
    counts = np.concatenate([resampling_counts(4, min(64, n - s), 5, s // 64) for s in range(0, n, 64)])
    drawn = counts.astype(float) @ sums
    np.testing.assert_allclose(found.ravel(), drawn[:, 0] / drawn[:, 1])


def test_nothing_can_be_estimated_from_no_items():
    for sums in (np.zeros((0, 2)), np.zeros(3)):
        with pytest.raises(DesignError, match="no items"):
            estimate_sums(Mean(), sums, IntervalSettings())
