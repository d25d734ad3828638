"""Closer or further: the test that swaps labels within items, by brute force and under a planted null."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid

from assay.concordance import comparisons as module
from assay.concordance.agreement import BOTH, PERMUTATION, T_TEST, agreement
from assay.concordance.comparisons import (
    WHO,
    Changes,
    Comparisons,
    _medians,
    _places,
    _swap_labels,
    draw_humans,
    majorities,
    row_means,
    swap_slots,
)
from assay.concordance.words import judge_comparisons
from assay.data.annotations import Annotations
from assay.data.ratings import Ratings
from assay.data.scales import Interval, Nominal, Ordinal
from assay.estimation.resampling import Units
from assay.statistics.categories import Slice

NAMES = ["a", "b", "c", "judge"]


def labels_of(cells, items=None):
    return from_grid(cells, Ordinal(0, 1), names=[*NAMES[: cells.shape[1] - 1], "judge"], judges=["judge"], items=items)


def difference(cells: np.ndarray) -> float:
    """Exact agreement of the judge (last) with humans, minus that of humans with each other; NaN is missing."""
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
    """The difference with every label of every item swapped with the judge's."""
    found = []
    asked = [np.flatnonzero(~np.isnan(row[:-1])) if not np.isnan(row[-1]) else np.array([], int) for row in cells]
    for places in itertools.product(*[(-1, *one) for one in asked]):
        other = cells.copy()
        for i, place in enumerate(places):
            if place >= 0:
                other[i, place], other[i, -1] = cells[i, -1], cells[i, place]
        found.append(difference(other))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
def test_p_is_that_of_all_swaps(missing):
    cells = np.array([[0, 0, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]], dtype=float)
    if missing:
        cells[0, 0] = cells[3, 2] = cells[5, 3] = np.nan
    row = found_of(labels_of(cells)).differences.row(0, named=True)
    cells = cells[~np.isnan(cells[:, -1])]  # both sides are of the items that the judge labelled
    swaps, mine = every_swap(cells), difference(cells)
    assert row["estimate"] == pytest.approx(mine)
    p = 2 * min(np.mean(swaps >= mine - 1e-9), np.mean(swaps <= mine + 1e-9))
    assert row["p"] == pytest.approx(min(p, 1.0), abs=0.03)
    assert row["test"] == PERMUTATION


def exchangeable(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    truth = rng.random((n, 1)) < share
    return np.where(rng.random((n, 4)) < 0.25, rng.random((n, 4)) < share, truth).astype(float)


@pytest.mark.simulation
@pytest.mark.parametrize(("n", "share"), [(60, 0.5), (60, 0.05), (20, 0.2)])
def test_permutation_p_holds_level_for_exchangeable_judge(n, share):
    rng = np.random.default_rng(n)
    closer = 0
    for _ in range(80):
        found = found_of(labels_of(exchangeable(rng, n, share)), n_resamples=200)
        closer += found.differences["closer"][0] == "yes"
    assert closer <= stats.binom.ppf(0.999, 80, 0.025)


def test_permutation_p_detects_accurate_judge():
    rng = np.random.default_rng(5)
    truth = rng.random((100, 1)) < 0.5
    cells = np.where(rng.random((100, 4)) < 0.5, rng.random((100, 4)) < 0.5, truth).astype(float)
    cells[:, 3] = truth[:, 0]
    found = found_of(labels_of(cells), n_resamples=500)
    assert found.differences["closer"][0] == "yes"
    assert found.differences["p"][0] == pytest.approx(2 / 501)  # of 500 swaps none is as far, on either side
    assert (
        "Judge minus human differences: within-item permutation test, adjusted for 1 comparison (holm)"
        in found.summary()
    )


@pytest.mark.parametrize(
    ("cells", "scale", "person"),
    [
        # Equal total distance, but others are much further from "a": ordinal |difference|, else same or not.
        ([[1, 3, 2], [1, 3, 2], [3, 1, 2], [3, 3, 3]], Ordinal(1, 3), "a"),
        ([[1, 2, 2], [2, 1, 2], [1, 2, 2], [1, 2, 3]], Nominal([1, 2, 3]), "b"),
        # "b" gave the judge's label once and only once, "a" in two of three: what few items show counts for little.
        ([[2, np.nan, 2], [2, np.nan, 2], [1, 2, 2], [1, np.nan, 2]], Nominal([1, 2]), "b"),
        ([[1, 1, np.nan], [1, 2, 2], [np.nan, 1, 2]], Nominal([1, 2]), "b"),  # items without the judge do not count
        ([[2, 1, 2], *[[1, np.nan, 2]] * 3], Nominal([1, 2]), "a"),  # items of a single human do not count
    ],
)
def test_closest_human_leads_others_on_same_items(cells, scale, person):
    labels = from_grid(np.array(cells, dtype=float), scale, names=["a", "b", "judge"], judges=["judge"])
    assert module.closest_human(Ratings.of(labels), "judge") == person


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


def crowd(rng: np.random.Generator, n_documents: int, error: float, *, whole: bool, misread: float = 0.2):
    """Six items a document, two of 40 people each (``whole``: of each document). A rater inverts documents misread.

    People err with .15 apart from that, the judge with ``error``.
    """
    rows = []
    for d in range(n_documents):
        truth, inverted = rng.random(6) < 0.5, rng.random(41) < misread
        crew = rng.choice(40, 2, replace=False)
        for i in range(6):
            for who in (*(crew if whole else rng.choice(40, 2, replace=False)), 40):
                label = truth[i] ^ inverted[who] ^ (rng.random() < (error if who == 40 else 0.15))
                rows.append((f"d{d}i{i}", f"d{d}", "judge" if who == 40 else f"w{who}", int(label)))
    frame = pl.DataFrame(rows, schema=["item", "document", "annotator", "label"], orient="row")
    items = frame.select("item", "document").unique(maintain_order=True)
    return Annotations.from_frame(frame.drop("document"), judges=["judge"], scale=Nominal([0, 1]), items=items)


@pytest.mark.parametrize(("whole", "test"), [(True, PERMUTATION), (False, BOTH)])
def test_worse_judge_is_found_with_many_annotators_of_clusters(whole, test):
    found = found_of(
        crowd(np.random.default_rng(1), 150, 0.45, whole=whole, misread=0.05), n_resamples=500, clusters="document"
    )
    row = found.differences.row(0, named=True)
    assert row["high"] < -0.05  # no annotator labelled many documents, so that swaps with any of the 40 change little
    assert (row["test"], row["closer"]) == (test, "no")
    assert row["p"] < 0.01


@pytest.mark.simulation
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("n_documents", [12, 60])
def test_clustered_p_holds_level_for_judge_that_misreads_documents_as_people_do(whole, n_documents):
    low = 0
    for seed in range(100):
        labels = crowd(np.random.default_rng(seed), n_documents, 0.15, whole=whole)
        low += found_of(labels, n_resamples=200, clusters="document").differences["p"][0] <= 0.05
    assert low <= stats.binom.ppf(0.999, 100, 0.05)


def test_sentence_gives_p_if_interval_excludes_zero_without_significance():
    rows = ["0000", "1111", "1101", "1100", "0100", "0101", "0111", "0111", "1111", "0011", "1101", "1101"]
    found = found_of(labels_of(np.array([[float(x) for x in row] for row in rows])))
    row = found.differences.row(0, named=True)
    assert (row["closer"], row["low"] > 0) == ("undecided", True)
    p = f"adjusted p = {row['p_adjusted']:.3f}"
    assert f"no significant difference (within-item permutation test, {p}; the interval is not adjusted)" in (
        found.summary()
    )


def test_sentence_gives_p_if_interval_includes_zero_with_significance():
    found = found_of(crowd(np.random.default_rng(1), 12, 0.3, whole=True))
    for closer, words in (("yes", "agrees more with humans than they do with each other"), ("no", "agrees less")):
        shown = found.differences.with_columns(
            low=pl.lit(-0.01), high=pl.lit(0.2), closer=pl.lit(closer), without=pl.lit(None, pl.String),
            p_adjusted=pl.lit(0.021), test=pl.lit("within-item permutation"),
        )  # fmt: skip
        (line,) = judge_comparisons(replace(found, differences=shown))
        assert f"it {words}" in line
        assert "(within-item permutation test, adjusted p = 0.021; the interval is not that of the test)" in line
        (line,) = judge_comparisons(replace(found, differences=shown.with_columns(low=pl.lit(0.01))))
        assert "0.021" not in line


def test_permutation_p_is_one_for_constant_labels():
    row = found_of(labels_of(np.repeat([[0.0], [1.0], [1.0]], 4, axis=1))).differences.row(0, named=True)
    assert (row["estimate"], row["p"], row["closer"]) == (0, 1, "undecided")


def test_many_items_are_tested_by_t():
    rng = np.random.default_rng(7)
    found = found_of(labels_of(exchangeable(rng, 3_001, 0.5)), n_resamples=60)
    assert found.differences["test"].to_list() == [T_TEST]


def test_changes_groups_items_with_equal_changes():
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


# -- the compared pairs ---------------------------------------------------------------------------------


def comparisons(people: int, judges: int, **options) -> Comparisons:
    names = [*"abc"[:people], *"jkl"[:judges]]
    cells = np.tile([[1.0], [2], [3]], len(names))
    return Comparisons(Ratings.of(from_grid(cells, Ordinal(1, 5), names=names, judges=names[people:])), **options)


ALL_OF = {
    (1, 1): {"pairs": ["a j"], "human pairs": ["a human-j"], "random human": ["a random human-j"]},
    (2, 0): {
        "humans": ["humans-None"], "pairs": ["a b"], "human pairs": ["another human-a human"],
        "random human": ["another random human-a", "another random human-b"],
    },
    (2, 2): {
        "humans": ["humans-None"], "judges": ["judges-None"], "pairs": ["a b", "a j", "a k", "b j", "b k", "j k"],
        "consensus": ["humans' consensus-j", "humans' consensus-k", "humans' consensus-judges' consensus"],
        "human pairs": ["another human-a human", "a human-j", "a human-k"],
        "random human": ["another random human-a", "another random human-b", "a random human-j", "a random human-k"],
    },
    (3, 1): {
        "humans": ["humans-None"], "pairs": ["a b", "a c", "a j", "b c", "b j", "c j"],
        "consensus": ["humans' consensus-j"], "rest": [f"other humans' consensus-{name}" for name in "abc"],
        "human pairs": ["another human-a human", "a human-j"],
        "random human": [*(f"another random human-{name}" for name in "abc"), "a random human-j"],
    },
    (0, 3): {"judges": ["judges-None"], "pairs": ["j k", "j l", "k l"],
             "rest": [f"other judges' consensus-{name}" for name in "jkl"]},
}  # fmt: skip


@pytest.mark.parametrize("number", ALL_OF)
def test_comparisons_cover_all_kinds(number):
    for kind in WHO:
        found = comparisons(*number).of([kind])
        said = [f"{one.first} {one.second}" if kind == "pairs" else f"{one.first}-{one.second}" for one in found]
        assert said == ALL_OF[number].get(kind, [])
        assert {one.who for one in found} <= {kind}
    both = comparisons(*number).of(["pairs", "humans"])
    assert [one.who for one in both] == sorted((one.who for one in both), reverse=True)


def test_pairs_have_two_items_in_common():
    cells = [[1, 1, np.nan], [2, 2, 2], [3, np.nan, 3], [np.nan, 1, np.nan]]
    found = Comparisons(Ratings.of(from_grid(cells, Ordinal(1, 5), names=["a", "b", "c"]))).of(["pairs"])
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize(
    ("people", "members", "found"),
    [
        (2, ("a", "b"), ["another random human"]), (1, ("a",), []), (2, ("j", "k"), ["a random human"]),
        (1, ("j", "k"), ["a random human"]), (2, ("j",), []), (2, ("a", "j"), ["a random human"]),
    ],
)  # fmt: skip
def test_family_of_two_is_compared(people, members, found):
    drawn = comparisons(people, 2, families=[("a family", members)]).of(["random human"])
    assert [one.first for one in drawn if one.second == "a family"] == found
    for one in drawn:
        assert one.masks[0].tolist() == [True] * people + [False] * 2
    if found:
        names = (*"abc"[:people], "j", "k")
        assert drawn[-1].masks[1].tolist() == [name in members for name in names]


def test_consensus_without_each_human_and_rest_of_others():
    for one in comparisons(3, 1).of(["rest"]):
        rest = " + ".join(name for name in "abc" if name != one.second)
        assert one.ratings(True).annotators == (rest, one.second)
        assert [f.ratings(True).annotators[0] for f in one.fewer()] == rest.split(" + ")[::-1]
    (one,) = comparisons(3, 1).of(["consensus"])
    assert one.ratings(True).annotators == ("3 annotators", "j")
    assert sorted(f.ratings(False).annotators[0] for f in one.fewer()) == ["a + b", "a + c", "b + c"]
    (panel,) = comparisons(3, 1).of(["humans"])
    assert sorted(f.ratings(False).annotators for f in panel.fewer()) == [("a", "b"), ("a", "c"), ("b", "c")]
    with_judge = comparisons(3, 1).of(["human pairs"])
    for whole, first in ((with_judge[0], 3), (with_judge[1], 3)):
        assert whole.masks[0].sum() == first
        assert sorted(tuple(f.masks[0]) for f in whole.fewer()) == [
            (False, True, True, False), (True, False, True, False), (True, True, False, False),
        ]  # fmt: skip
    assert with_judge[1].masks[1].tolist() == [False, False, False, True]
    assert all((f.masks[1] == f.masks[0]).all() for f in with_judge[0].fewer())


@pytest.mark.parametrize(
    ("scale", "mean", "label", "of"),
    [
        (Ordinal(1, 5), True, 2.5, "interval"), (Ordinal(1, 5), False, 3, "ordinal"),
        (Interval(), False, 2.5, "interval"),
    ],
)  # fmt: skip
def test_consensus_is_mean_only_if_coefficient_accepts_means(scale, mean, label, of):
    cells = [[2.0, 3, 1], [1, 1, 1]]
    table = Ratings.of(from_grid(cells, scale, names=["a", "b", "j"], judges=["j"]))
    found = Comparisons(table).of(["consensus"])[0].ratings(mean)
    assert found.answers.value[0] == label
    assert found.scale.kind == of


def test_rows_have_their_mean_median_and_majority():
    nan = np.nan
    cells = np.array([[1, 2, 2, 4, nan], [nan] * 5, [5, nan, nan, nan, nan], [1, 1, 3, 3, nan], [3, 3, 1, 3, 1]])
    np.testing.assert_array_equal(row_means(cells), [9 / 4, nan, 5, 2, 11 / 5])
    np.testing.assert_array_equal(majorities(cells), [2, nan, 5, nan, 3])
    np.testing.assert_array_equal(_medians(cells, None), [2, nan, 5, 2, 3])
    between = np.array([[1.0, 2], [2, 3], [3, 4], [4, 5]])
    # To the one nearer 3; and at the centre, here 3.5, to the lower.
    assert _medians(between, 3.0).tolist() == [2, 3, 3, 4]
    assert _medians(between, 3.5).tolist() == [2, 3, 3, 4]
    assert _medians(between, 2.4).tolist() == [2, 2, 3, 4]


def test_ties_are_counted_for_unordered_labels():
    cells = [[1, 2, 1], [1, 1, 2], [np.nan, np.nan, 1], [2, 1, np.nan]]
    for scale, tied in ((Nominal([1, 2]), 2), (Ordinal(1, 2), 0)):
        table = Ratings.of(from_grid(cells, scale, names=["a", "b", "j"], judges=["j"]))
        assert Comparisons(table).of(["consensus"])[0].tied == {"humans' consensus": tied}


def test_draw_humans_draws_pairs_uniformly(monkeypatch):
    """Two items with pairs of kinds 0, 1 and 2, 2, 1: each pair as often; the value is each kind's share."""
    pairs = SimpleNamespace(starts=np.array([0, 2]), number=np.array([2, 3]), kind=np.array([0, 1, 2, 2, 1]))
    drawn = draw_humans(pairs, np.identity(3), lambda sums: sums / 2, 6_000, 4, items=False)
    assert drawn.shape == (6_000, 3)
    assert set(drawn.sum(axis=1)) == {1}
    np.testing.assert_allclose(drawn.mean(axis=0), [1 / 4, (1 / 2 + 1 / 3) / 2, 1 / 3], atol=0.01)
    # The first item is there once: kind 0 never twice; with items resampled in one draw of 16.
    assert (drawn[:, 0] < 1).all()
    again = draw_humans(pairs, np.identity(3), lambda sums: sums / 2, 6_000, 4, items=True)
    assert (again[:, 0] == 1).mean() == pytest.approx(1 / 16, abs=0.01)
    blocks = []
    monkeypatch.setattr(module, "MOST_DRAWN_PAIRS", 12)
    draw_humans(pairs, np.identity(3), lambda sums: blocks.append(len(sums)) or sums, 5, 4, items=False)
    assert blocks == [2, 2, 1]


def test_labels_are_swapped_with_those_of_a_place():
    """Items x (a 1, j 4, b 2), y (j 5, k 9), z (a 3, k 8); the judge is j, people are a and b."""
    grid = [[1, 2, 4, np.nan], [np.nan, np.nan, 5, 9], [3, np.nan, np.nan, 8]]
    table = Ratings.of(from_grid(grid, Ordinal(1, 9), names=["a", "b", "j", "k"], judges=["j", "k"]))
    labels = Slice.of(table.answers)
    slot = swap_slots(table, labels, "j")
    assert dict(zip(labels.value.tolist(), slot.tolist(), strict=True)) == {1: 1, 2: 2, 4: 0, 5: 0, 9: -1, 3: -1, 8: -1}
    assert _places(labels, slot, Units.of(3)).tolist() == [3, 1, 1]
    for place, swapped in ((0, {}), (1, {1: 4, 4: 1}), (2, {2: 4, 4: 2}), (3, {})):
        found = _swap_labels(labels, slot, place)
        assert found.value.tolist() == [swapped.get(v, v) for v in labels.value]


@pytest.mark.parametrize(("chunks", "items"), [(True, 5), (False, 10_001), (True, 10_001)])
def test_places_are_not_swapped_in_chunks_or_in_very_many_items(chunks, items):
    ratings = SimpleNamespace(in_chunks=chunks, n_items=items)
    assert module.permutation_p(ratings, None, "m", permutations=9, seed=0) is None
