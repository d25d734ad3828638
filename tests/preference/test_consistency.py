"""Rating sets by hand: values, bins, raters, savings and sentences."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from test_leaderboard import frame_of, votes_of

import assay
from assay.errors import DesignError
from assay.estimation.resampling import Mean, estimate
from assay.preference import words
from assay.preference.consistency import (
    Saving,
    _bin,
    _cautions,
    _even,
    _first,
    _groups,
    _row,
    _sets,
    _trends,
    chances,
)
from assay.preference.votes import SetSettings, Votes, weight
from assay.reporting import pictures

NAN = float("nan")


def sets_of(rows, by=None, **columns):
    labels = votes_of(frame_of(rows, **columns), judges=["m"] if any(row[1] == "m" for row in rows) else [])
    return _sets(Votes.of(labels, SetSettings(by=by), "consistency", by), by)


ROWS = [
    *(("i1", "w", "bert", "anna", v) for v in (-1, -1, 0)),  # for bert, and a tie
    *(("i1", "m", "anna", "bert", v) for v in (1, 1)),
    ("i2", "w", "anna", "bert", 1), ("i2", "w", "bert", "anna", 1),  # for bert, then for anna
    *(("i2", "m", "anna", "bert", v) for v in (0, 0)),
    ("i2", "w", "carl", "anna", 0),
]  # fmt: skip


def test_a_set_is_of_one_rater_item_and_pair_turned_to_its_first_system():
    found = sets_of(ROWS).drop("_item", "kind")
    assert found.select("item", "annotator", "first", "second", "n").rows() == [
        ("i1", "m", "anna", "bert", 2), ("i1", "w", "anna", "bert", 3), ("i2", "m", "anna", "bert", 2),
        ("i2", "w", "anna", "bert", 2), ("i2", "w", "anna", "carl", 1),
    ]  # fmt: skip
    assert found["consistency"].to_list() == pytest.approx([1, 2 / 3, 0, 0, 0])
    assert found["strength"].to_list() == pytest.approx([1, 2 / 3, 0, 0, 0])
    assert found["set"].to_list() == ["one-sided", "one-sided", "all ties", "mixed", "all ties"]
    lean = sets_of([("i", "w", "anna", "bert", v) for v in (-1, -1, -1, 1)])
    assert lean.select("consistency", "strength").rows() == [(0.0, -0.5)]


@pytest.mark.parametrize(
    ("binning", "bins", "names", "codes"),
    [
        ("width", 2, ["x 0 to 0.5", "x 0.5 to 1"], [0, 0, 0, 1, 1]),
        ("width", 4, ["x 0 to 0.25", "x 0.25 to 0.5", "x 0.5 to 0.75", "x 0.75 to 1"], [0, 0, 1, 2, 3]),
        ("count", 2, ["x 0 to 0.25", "x 0.25 to 1"], [0, 0, 1, 1, 1]),
        ("count", 4, ["x 0 to 0.1", "x 0.1 to 0.25", "x 0.25 to 0.5", "x 0.5 to 1"], [0, 1, 2, 3, 3]),
    ],
)
def test_bins_of_a_number_hold_their_lower_edge_and_the_last_its_upper(binning, bins, names, codes):
    sets = pl.DataFrame({"item": [*"abcde"], "_by": [0.0, 0.1, 0.25, 0.5, 1.0]})
    settings = SetSettings(by="x", bins=bins, binning=binning)
    found, order = _bin(sets, settings)
    assert order == names
    assert found["bin"].to_list() == [names[k] for k in codes]
    assert "_by" not in found.columns


def test_bins_of_words_are_in_natural_order_and_one_number_is_one_bin():
    words = pl.DataFrame({"item": [*"abc"], "_by": ["t10", "t9", "t10"]})
    found, order = _bin(words, SetSettings(by="x"))
    assert (order, found["bin"].to_list()) == (["t9", "t10"], ["t10", "t9", "t10"])
    flat = pl.DataFrame({"item": [*"ab"], "_by": [0.5, 0.5]})
    found, order = _bin(flat, SetSettings(by="x"))
    assert (order, found["bin"].to_list()) == (["x 0.5"], ["x 0.5"] * 2)
    none, order = _bin(flat.drop("_by"), SetSettings())
    assert (order, none["bin"].to_list()) == ([], [None, None])
    for gone, words in ((["t1", None, None], "2 rating sets"), (["t1", "t2", None], "1 rating set")):
        with pytest.raises(DesignError, match=rf"{words} \(item '[bc]'\) has no 'x'; fill it in, or exclude"):
            _bin(pl.DataFrame({"item": [*"abc"], "_by": gone}), SetSettings(by="x"))


SETS = pl.DataFrame(
    [("m", "judge", "a", "b", "lo", 2, "one-sided", -1.0), ("w2", "human", "a", "b", "lo", 3, "mixed", 1 / 3),
     ("w10", "human", "a", "b", "hi", 1, "all ties", 0.0), ("w2", "human", "a", "c", "hi", 4, "one-sided", 0.75)],
    schema=["annotator", "kind", "first", "second", "bin", "n", "set", "strength"], orient="row",
)  # fmt: skip


def test_groups_are_by_pair_rater_and_bin_where_there_is_a_set():
    found = [(g.pair, g.who, g.bin, g.inside.tolist()) for g in _groups(SETS, ["humans", "judges"], ["lo", "hi"])]
    yes, no = True, False
    ab, ac = ("a", "b"), ("a", "c")
    assert found == [
        (None, "humans", None, [no, yes, yes, yes]), (None, "humans", "lo", [no, yes, no, no]),
        (None, "humans", "hi", [no, no, yes, yes]), (None, "m", None, [yes, no, no, no]),
        (None, "m", "lo", [yes, no, no, no]), (ab, "humans", None, [no, yes, yes, no]),
        (ab, "humans", "lo", [no, yes, no, no]), (ab, "humans", "hi", [no, no, yes, no]),
        (ab, "m", None, [yes, no, no, no]), (ab, "m", "lo", [yes, no, no, no]), (ac, "humans", None, [no, no, no, yes]),
        (ac, "humans", "hi", [no, no, no, yes]),
    ]  # fmt: skip
    one = SETS.filter(pl.col("second") == "b")
    assert {g.pair for g in _groups(one, ["humans"], [])} == {ab}  # a single pair is all of them
    assert [g.who for g in _groups(one, ["annotators"], [])] == ["m", "w2", "w10"]


def test_a_row_counts_its_sets_and_votes_by_kind():
    (everyone, *_) = _groups(SETS, ["annotators"], [])
    group = everyone._replace(who="all", inside=np.array([True] * 4))
    assert _row(group, SETS) == {
        "first": None, "second": None, "who": "all", "bin": None, "sets": 4, "votes": 10, "one_sided": 0.5,
        "mixed": 0.25, "all_ties": 0.25, "unanimous": 0.25,
    }  # fmt: skip  # the set with a strength of 0.75 has a tie
    pair = _row(group._replace(pair=("a", "b"), bin="lo", inside=np.array([True, True, False, False])), SETS)
    assert (pair["first"], pair["second"], pair["bin"], pair["votes"], pair["one_sided"]) == ("a", "b", "lo", 5, 0.5)


def test_trend_is_highest_minus_lowest_bin():
    groups = list(_groups(SETS, ["humans", "judges"], ["lo", "hi"]))
    places = {(one.pair, one.who, one.bin): i for i, one in enumerate(groups)}
    data = np.random.default_rng(1).normal(size=(12, len(groups)))
    high, low = (data[:, places[None, "humans", name]].mean() for name in ("hi", "lo"))
    for method in ("percentile", "jackknife"):
        found = estimate(Mean(), data, method=method, n_resamples=50)
        trends = _trends(groups, found, ["lo", "hi"])
        assert list(trends) == ["humans"]  # the judge has no set in the highest
        assert trends["humans"].estimate == pytest.approx(high - low)
        assert trends["humans"].low < trends["humans"].estimate < trends["humans"].high
        assert _trends(groups, found, ["lo"]) == {}
    assert _trends(groups, estimate(Mean(), data, method="none"), ["lo", "hi"]) == {}


@pytest.mark.parametrize(
    ("n", "words"),
    [([2, 3], ()), ([1, 2], ("1 of 2 rating sets have one vote",)), ([1], ("1 of 1 rating set have one vote",))],
)
def test_sets_of_one_vote_are_counted(n, words):
    found = _cautions(pl.DataFrame({"n": n}))
    assert len(found) == len(words)
    assert all(one.startswith(start) for one, start in zip(found, words, strict=True))


# -- savings -------------------------------------------------------------------------------------


def test_saving_is_1_minus_ratio_of_means():
    """Consistencies 1, 1, 0, 0 have the mean 1/2; with chances .8, .4, .4, .4 it is 1.2 / 2: saved is 1 − 5/6."""
    moments = Saving().moments(np.array([1.0, 1, 0, 0]), np.array([0.8, 0.4, 0.4, 0.4]))
    assert moments.tolist() == [[1, 1, 0.8, 0.8], [1, 1, 0.4, 0.4], [0, 1, 0, 0.4], [0, 1, 0, 0.4]]
    assert Saving().value(moments.sum(axis=0)) == pytest.approx([1 / 6])
    assert np.isnan(Saving().value(np.array([1.0, 2, 0, 0.5]))).all()
    both = np.array([[2.0, 4, 1.2, 2.0], [2.0, 4, 0.6, 2.0]])
    assert Saving().value(both).ravel() == pytest.approx([1 / 6, -2 / 3])


def test_the_first_are_taken_and_ties_share_what_is_left():
    assert _first(np.array([3.0, 1, 2, 2]), 2).tolist() == [0, 1, 0.5, 0.5]
    assert _first(np.array([3.0, 1, 2, 2]), 3.5).tolist() == [0.5, 1, 1, 1]
    assert _first(np.array([1.0, 1, 1]), 1.5).tolist() == [0.5] * 3
    assert _first(np.array([2.0, 1]), 1).tolist() == [0, 1]
    assert _first(np.array([2.0, 1]), 0.25).tolist() == [0, 0.25]


def test_groups_give_as_many_each_and_small_ones_what_they_have():
    assert _even(np.array([10.0, 10]), 6).tolist() == [3, 3]
    assert _even(np.array([10.0, 1, 10]), 9).tolist() == pytest.approx([4, 1, 4])
    assert _even(np.array([10.0, 0, 1, 2]), 8).tolist() == pytest.approx([5, 0, 1, 2])
    assert _even(np.array([2.0, 1]), 99).tolist() == [2, 1]


def test_chances_have_the_share_as_their_mean():
    """Four ranges of equal width from 0 to 1; two of the eight have fewer than their turn."""
    delta = np.array([0.0, 0.1, 0.2, 0.3, 0.6, 0.7, 0.9, 1.0])
    assert chances(delta, 0.25, "top").tolist() == [0] * 6 + [1, 1]
    assert chances(delta, 0.5, "stratified") == pytest.approx([1 / 3] * 3 + [1] + [0.5] * 4)
    assert chances(delta, 0.25, "stratified") == pytest.approx([1 / 6] * 3 + [0.5] + [0.25] * 4)
    weighted = chances(delta, 0.4, "weighted")
    assert weighted.mean() == pytest.approx(0.4)
    # π is the probability that an exponential time of that rate ends: −log(1 − π) is proportional to the weight.
    times = -np.log1p(-weighted) / weight(delta)
    assert times == pytest.approx(times[0])


# -- sentences --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return assay.consistency(votes_of(frame_of(ROWS), judges=["m"]), method="none")


def saved(found, estimate, low, high, **options):
    settings = dataclasses.replace(found.run.settings, by="sep", choose="weighted", **options)
    saving = {"humans": SimpleNamespace(estimate=estimate, low=low, high=high)}
    return words.rating_set_lines(found.rows.head(0), {}, saving, settings)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "line"),
    [
        (0.2, 0.1, 0.3, "requires 20% [10, 30] fewer ratings than with items drawn at random."),
        (0.2, 0.0, 0.3, "requires 20% [0, 30] fewer ratings than with items drawn at random; not significant."),
        (-0.2, -0.3, -0.1, "requires 20% [10, 30] more ratings than with items drawn at random."),
        (-0.2, -0.3, 0.1, "requires 20% [−10, 30] more ratings than with items drawn at random; not significant."),
        (0.0, -0.1, 0.1, "requires 0% [−10, 10] fewer ratings than with items drawn at random; not significant."),
    ],
)
def test_what_choosing_saves_in_words(found, estimate, low, high, line):
    start = "humans: with 25% of the items, chosen by sep (weighted), the same number of consistent votes "
    assert saved(found, estimate, low, high, share=0.25) == [start + line]
    nothing = "humans: saving not estimable: no vote on the chosen items is consistent."
    assert saved(found, NAN, NAN, NAN) == [nothing]


def row_said(**more):
    base = {"first": "a", "second": "b", "who": "humans", "bin": None, "estimate": 0.5, "low": 0.25, "high": 0.75,
            "sets": 4, "votes": 9, "one_sided": 0.5, "mixed": 0.25, "all_ties": 0.126, "reason": None}  # fmt: skip
    return base | more


def with_rows(found, *rows, **more):
    schema = found.rows.schema
    return dataclasses.replace(found, rows=pl.DataFrame([row_said(**row) for row in rows], schema=schema), **more)


def test_a_sentence_for_each_row_that_is_read_first(found):
    one = with_rows(found, {}, {"who": "m", "bin": "lo", "sets": 1})
    assert one.headlines.height == 2
    assert one.summary().splitlines()[:2] == [
        "humans, a and b: mean consistency 0.500 [0.25, 0.75] (4 rating sets; 25% inconsistent, 13% all ties).",
        "m, a and b, lo: mean consistency 0.500 [0.25, 0.75] (1 rating set; 25% inconsistent, 13% all ties).",
    ]
    several = with_rows(found, {"first": None, "second": None}, {}, {"bin": "lo"},
                        {"first": None, "second": None, "bin": "hi"})  # fmt: skip
    assert [(row["first"], row["bin"]) for row in several.headlines.iter_rows(named=True)] == [
        (None, None), ("a", None), (None, "hi"),
    ]  # fmt: skip
    assert several.summary().startswith("humans, all pairs: mean consistency 0.500")
    trend = with_rows(found, {}, trend={"m": SimpleNamespace(estimate=-0.25, low=-0.5, high=0.0)})
    assert trend.summary().splitlines()[1] == (
        "m: consistency in the highest bin minus the lowest bin −0.250 [−0.50, 0.00]."
    )


def test_bars_are_named_by_rater_pair_and_bin(found):
    def names(one):
        return [tick.get_text() for tick in one.plot().get_yticklabels()]

    assert names(with_rows(found, {}, {"who": "m", "bin": "lo"})) == ["humans", "m, lo"]
    several = with_rows(found, {"first": None, "second": None}, {}, {"first": None, "second": None, "bin": "hi"})
    assert names(several) == ["humans, all", "humans, a & b", "humans, all, hi"]
    assert several.plot().get_xlabel() == "mean consistency"


def test_how_many_sets_have_which_value():
    labels = votes_of(frame_of(ROWS), judges=["m"])
    everyone = assay.consistency(labels, method="none", who=["humans", "judges"]).values
    assert everyone.select("first", "second", "who", "value", "sets").rows() == [
        ("anna", "bert", "humans", 0.0, 1), ("anna", "bert", "humans", round(2 / 3, 9), 1),
        ("anna", "bert", "m", 0.0, 1), ("anna", "bert", "m", 1.0, 1), ("anna", "carl", "humans", 0.0, 1),
    ]  # fmt: skip
    assert everyone["share"].to_list() == [0.5] * 4 + [1.0]
    for who, names in ((["judges"], {"m"}), (["humans"], {"humans"}), (["annotators"], {"m", "w"})):
        assert set(assay.consistency(labels, method="none", who=who).values["who"]) == names


def test_votes_that_all_agree_are_as_consistent_as_can_be():
    rows = [(f"i{k}", "w", "anna", "bert", -1) for k in range(3) for _ in range(2)]
    sure = assay.consistency(votes_of(frame_of(rows)), method="none")
    assert sure.rows["estimate"].to_list() == [1.0]
    turned = assay.consistency(votes_of(frame_of(rows)), measure="strength", method="none")
    assert turned.rows["estimate"].to_list() == [-1.0]


def test_plot_fades_pairs_within_bins(found):
    one = with_rows(found, {"first": None, "second": None}, {}, {"bin": "lo"})
    assert one.headlines.select("first", "bin").rows() == [(None, None), ("a", None)]


def test_a_summary_ends_with_how_intervals_were_made(found):
    run = dataclasses.replace(found.run, interval="95% jackknife interval over 2 items")
    said = with_rows(found, {}, run=run).summary().splitlines()
    assert said[1:] == ["Intervals: 95% jackknife interval over 2 items.", *found.run.closing()]


def test_bars_of_values_from_0_to_1():
    labels = votes_of(frame_of(ROWS), judges=["m"])
    ax = assay.consistency(labels, method="none", who=["humans", "judges"]).plot_values()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "humans, anna & bert", "m, anna & bert", "humans, anna & carl",
    ]  # fmt: skip
    assert ax.get_yticks().tolist() == [2, 1, 0]
    bars = [(round(bar.get_y() + 0.4), bar.get_x(), bar.get_width()) for bar in ax.patches if bar.get_width()]
    # Values 0, 2/3 and 1 from the left: half of people's sets of anna and bert are 0, half of the judge's are 1.
    assert sorted(bars) == [(0, 0, 1), (1, 0, 0.5), (1, 0.5, 0.5), (2, 0, 0.5), (2, 0.5, 0.5)]
    assert {round(bar.get_height(), 9) for bar in ax.patches} == {0.8}
    assert ax.get_xlim() == (0, 1)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "0.67", "1"]
    assert ax.get_xlabel() == "share of rating sets, by consistency"
    alone = assay.consistency(votes_of(frame_of(ROWS[:3])), method="none").plot_values()
    assert [tick.get_text() for tick in alone.get_yticklabels()] == ["humans"]


@pytest.mark.parametrize(("measure", "limits"), [("consistency", (-0.02, 1.02)), ("strength", (-1.04, 1.04))])
def test_means_are_drawn_over_all_that_they_may_be(found, measure, limits):
    ax = with_rows(found, {}, {"who": "m"}, measure=measure).plot()
    assert ax.get_xlim() == limits
    points = [(line.get_ydata()[0], to_hex(line.get_color())) for line in ax.lines if len(line.get_xydata()) == 1]
    assert sorted(points) == [(0, pictures.JUDGE), (1, pictures.HUMAN)]
