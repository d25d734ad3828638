"""Rating sets by hand: values, bins, raters, savings and sentences."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from test_leaderboard import frame_of, votes_of

import assay
from assay.errors import DesignError
from assay.estimation.intervals import Estimate
from assay.preference import words
from assay.preference.consistency import Saving, chances
from assay.preference.page import consistency_parts
from assay.preference.votes import weight
from assay.reporting import pictures

NAN = float("nan")


def consistency_of(rows, x=None, **options):
    """What votes give, if ``x`` is a number or word of each."""
    given = {} if x is None else {"x": x}
    labels = votes_of(frame_of(rows, **given), judges=["m"] if any(row[1] == "m" for row in rows) else [])
    by = None if x is None else "x"
    return assay.consistency(labels, **{"method": "none", "who": ["humans", "judges"], "by": by} | options)


def bins_of(found):
    """The bins, in the order of the rows."""
    return found.rows["bin"].drop_nulls().unique(maintain_order=True).to_list()


ROWS = [
    *(("i1", "w", "bert", "anna", v) for v in (-1, -1, 0)),  # for bert, and a tie
    *(("i1", "m", "anna", "bert", v) for v in (1, 1)),
    ("i2", "w", "anna", "bert", 1), ("i2", "w", "bert", "anna", 1),  # for bert, then for anna
    *(("i2", "m", "anna", "bert", v) for v in (0, 0)),
    ("i2", "w", "carl", "anna", 0),
]  # fmt: skip


def test_a_set_is_of_one_rater_item_and_pair_turned_to_its_first_system():
    found = consistency_of(ROWS).sets
    assert found.select("item", "annotator", "first", "second", "n").rows() == [
        ("i1", "m", "anna", "bert", 2), ("i1", "w", "anna", "bert", 3), ("i2", "m", "anna", "bert", 2),
        ("i2", "w", "anna", "bert", 2), ("i2", "w", "anna", "carl", 1),
    ]  # fmt: skip
    assert found["consistency"].to_list() == [1, pytest.approx(2 / 3), 0, 0, None]  # a single vote has no consistency
    assert found["strength"].to_list() == pytest.approx([1, 2 / 3, 0, 0, 0])
    assert found["set"].to_list() == ["one-sided", "one-sided", "all ties", "mixed", "all ties"]
    lean = consistency_of([("i", "w", "anna", "bert", v) for v in (-1, -1, -1, 1)]).sets
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
    rows = [(item, "w", "anna", "bert", 1) for item in "abcde"]
    found = consistency_of(rows, [0.0, 0.1, 0.25, 0.5, 1.0], bins=bins, binning=binning)
    assert bins_of(found) == names
    assert found.sets["bin"].to_list() == [names[k] for k in codes]
    assert "_by" not in found.sets.columns


def test_bins_of_words_are_in_natural_order_and_one_number_is_one_bin():
    rows = [(item, "w", "anna", "bert", 1) for item in "abc"]
    found = consistency_of(rows, ["t10", "t9", "t10"])
    assert (bins_of(found), found.sets["bin"].to_list()) == (["t9", "t10"], ["t10", "t9", "t10"])
    found = consistency_of(rows, [0.5] * 3)
    assert (bins_of(found), found.sets["bin"].to_list()) == (["x 0.5"], ["x 0.5"] * 3)
    none = consistency_of(rows)
    assert (bins_of(none), none.sets["bin"].to_list()) == ([], [None] * 3)
    for gone, sets in ((["t1", None, None], "2 rating sets"), (["t1", "t2", None], "1 rating set")):
        with pytest.raises(DesignError, match=rf"{sets} \(item '[bc]'\) has no 'x'; fill it in, or exclude"):
            consistency_of(rows, gone)


LOW, HIGH = "x 0 to 0.5", "x 0.5 to 1"
BINNED = [
    *(("i1", "m", "a", "b", v, 0) for v in (-1, -1)),
    *(("i1", "w2", "a", "b", v, 0) for v in (1, 1, -1)),
    ("i2", "w10", "a", "b", 0, 1),
    *(("i3", "w2", "a", "c", v, 1) for v in (1, 1, 1, 0)),
]  # fmt: skip
"""Sets of the judge and of w2 in the lower bin, of w10 and of w2 in the higher one."""


def binned(keep=lambda row: True, **options):
    rows = [row for row in BINNED if keep(row)]
    return consistency_of([row[:5] for row in rows], [row[5] for row in rows], bins=2, **options)


def test_groups_are_by_pair_rater_and_bin_where_there_is_a_set():
    found = binned(measure="strength").rows.select("first", "second", "who", "bin", "sets", "votes").rows()
    assert found == [
        (None, None, "humans", None, 3, 8), (None, None, "humans", LOW, 1, 3), (None, None, "humans", HIGH, 2, 5),
        (None, None, "m", None, 1, 2), (None, None, "m", LOW, 1, 2), ("a", "b", "humans", None, 2, 4),
        ("a", "b", "humans", LOW, 1, 3), ("a", "b", "humans", HIGH, 1, 1), ("a", "b", "m", None, 1, 2),
        ("a", "b", "m", LOW, 1, 2), ("a", "c", "humans", None, 1, 4), ("a", "c", "humans", HIGH, 1, 4),
    ]  # fmt: skip
    one = binned(lambda row: row[3] == "b", who=["annotators"]).rows
    assert one.select("first", "second").unique().rows() == [("a", "b")]  # a single pair is all of them
    assert one["who"].unique(maintain_order=True).to_list() == ["m", "w2", "w10"]


def test_a_row_counts_its_sets_and_votes_by_kind():
    shares = ("one_sided", "mixed", "all_ties", "unanimous")
    whole = binned(measure="strength").rows.filter(pl.col("bin").is_null())
    assert whole.select("who", *shares).row(0) == pytest.approx(("humans", 1 / 3, 1 / 3, 1 / 3, 0))
    assert whole.select("who", *shares).row(1) == ("m", 1, 0, 0, 1)
    # The set of a and c with a strength of .75 has a tie, so it is not unanimous.
    assert whole.filter(second="c").select("who", *shares).row(0) == ("humans", 1, 0, 0, 0)
    assert whole.filter(second="b").select("who", *shares).row(0) == ("humans", 0, 0.5, 0.5, 0)


@pytest.mark.parametrize("method", ["percentile", "jackknife"])
def test_trend_is_highest_minus_lowest_bin(method):
    rng = np.random.default_rng(1)
    rows, x = [], []
    for k in range(24):
        high = k % 2
        votes = [("w", "anna", ("bert", "carl")[k % 3 == 0], v) for v in rng.choice([-1, 1], 2, p=[0.2, 0.8])]
        votes += [] if high else [("m", "anna", "bert", 1), ("m", "anna", "bert", -1)]
        rows += [(f"i{k:02}", *vote) for vote in votes]
        x += [high] * len(votes)
    found = consistency_of(rows, x, bins=2, method=method, n_resamples=50)
    low, high = (found.sets.filter(annotator="w", bin=name)["consistency"].mean() for name in (LOW, HIGH))
    assert list(found.trend) == ["humans"]  # the judge has no set in the highest
    trend = found.trend["humans"]
    assert trend.estimate == pytest.approx(high - low)
    assert trend.low < trend.estimate < trend.high
    # None for one bin, for words, or without resamples.
    assert consistency_of(rows, [1] * len(x), method=method, n_resamples=50).trend == {}
    assert consistency_of(rows, [f"t{one}" for one in x], method=method, n_resamples=50).trend == {}
    assert consistency_of(rows, x, bins=2).trend == {}


def lopsided(rng, n_high):
    """Votes of three raters on 40 items, 5 a set, and a column with ``n_high`` items in the highest of four bins."""
    rows, x = [], []
    for k in range(40):
        place = 1.0 if k < n_high else 0.7 * (k - n_high) / (39 - n_high)
        wins = rng.random((3, 5)) < rng.beta(0.5, 0.5)
        rows += [(f"i{k:02}", who, "anna", "bert", 1 if won else -1)
                 for who, sets in zip("uvw", wins, strict=True) for won in sets]  # fmt: skip
        x += [place] * 15
    return rows, x


def test_trend_interval_covers_no_difference_with_two_items_in_the_highest_bin():
    """The jackknife of the difference itself contained 0 in 53% of studies."""
    rng = np.random.default_rng(5)
    found = [consistency_of(*lopsided(rng, 2), bins=4, who=["humans"], method="jackknife") for _ in range(40)]
    assert sum(one.trend["humans"].low <= 0 <= one.trend["humans"].high for one in found) >= 38
    one = found[0]
    low, *_, high = one.rows.filter(pl.col("bin").is_not_null()).iter_rows(named=True)
    trend = one.trend["humans"]
    assert trend.low == pytest.approx(
        trend.estimate - np.hypot(high["estimate"] - high["low"], low["high"] - low["estimate"]), abs=0.01
    )
    assert trend.high == pytest.approx(
        trend.estimate + np.hypot(high["high"] - high["estimate"], low["estimate"] - low["low"]), abs=0.01
    )
    assert trend.interval(0.5)[0] > trend.low
    assert trend.p(trend.low) == pytest.approx(0.05, abs=1e-4)
    assert "differences of bins: from the intervals of both bins." in one.summary()


def test_trend_of_a_bin_with_one_item_has_no_interval_and_the_reason():
    found = consistency_of(*lopsided(np.random.default_rng(1), 1), bins=4, who=["humans"], method="jackknife")
    trend = found.trend["humans"]
    assert np.isfinite(trend.estimate)
    assert np.isnan([trend.low, trend.high]).all()
    assert "(no interval): of one bin, a single unit cannot be resampled." in found.summary()
    assert "differences of bins" not in found.summary()


def test_strength_names_the_system_of_each_sign():
    assert (
        consistency_of(ROWS[:3], measure="strength")
        .summary()
        .startswith(
            "humans, anna and bert: mean preference strength 0.667 (−1 if every vote is for anna, 1 if for bert) "
        )
    )
    assert (
        "(−1 if every vote is for the first of each pair by name, 1 if for the second)"
        in binned(measure="strength").summary()
    )


def test_sets_of_one_vote_do_not_count_for_consistency():
    """The row of all sets of w2 and w10 has those of w2 with 3 and 4 votes: 0 and 3/4; w10 has one vote, a tie."""
    whole = binned().rows.filter(pl.col("bin").is_null(), pl.col("first").is_null()).row(0, named=True)
    assert (whole["estimate"], whole["sets"], whole["votes"]) == (pytest.approx(3 / 8), 2, 7)
    assert (whole["one_sided"], whole["mixed"], whole["all_ties"]) == (0.5, 0.5, 0)
    (excluded,) = binned().exclusions
    assert str(excluded) == "1 rating set: one vote cannot be inconsistent (1 of humans)"
    assert binned(measure="strength").exclusions == ()
    assert binned(lambda row: row[1] != "w10").exclusions == ()


@pytest.mark.parametrize("method", ["none", "jackknife"])
def test_raters_with_one_vote_per_set_have_no_consistency(method):
    """Annotators with one vote on each item, 1 in 5 a tie, are not consistent in 80%; the judge has both orders."""
    rows = [(f"i{k}", "w", "anna", "bert", 0 if k % 5 == 0 else 1) for k in range(20)]
    judge = [(f"i{k}", "m", "anna", "bert", v) for k in range(20) for v in (1, -1 if k < 10 else 1)]
    found = consistency_of([*rows, *judge], [k % 2 for k in range(20)] + [k // 2 % 2 for k in range(40)],
                           bins=2, method=method, n_resamples=50)  # fmt: skip
    people, judged = found.rows.filter(pl.col("bin").is_null()).iter_rows(named=True)
    assert np.isnan([people["estimate"], people["low"], people["mixed"], people["unanimous"]]).all()
    assert (people["sets"], people["reason"]) == (0, "every rating set has one vote")
    assert (judged["estimate"], judged["sets"]) == (0.5, 20)
    assert list(found.trend) == ([] if method == "none" else ["m"])
    said = found.summary()
    assert said.startswith("humans, anna and bert: consistency not estimable: every rating set has one vote.")
    assert "Excluded: 20 rating sets: one vote cannot be inconsistent (20 of humans)." in said
    assert set(found.values["who"]) == {"m"}
    assert found.plot() is not None
    assert found.plot_values() is not None
    alone = consistency_of(rows, method=method)
    assert (alone.rows["sets"][0], alone.trend) == (0, {})
    assert alone.values.height == 0
    assert alone.plot() is not None
    assert alone.plot_values() is not None
    assert len(consistency_parts(alone)) == 1


def test_savings_need_two_votes_per_set():
    rows = [(f"i{k}", "w", "anna", "bert", 1) for k in range(8)]
    found = consistency_of(rows, [k / 8 for k in range(8)], choose="top", share=0.5)
    assert np.isnan(found.saving["humans"].estimate)
    assert "humans: saving not estimable: every rating set has one vote." in found.summary()


# -- savings -------------------------------------------------------------------------------------


def test_saving_is_1_minus_ratio_of_means():
    """Consistencies 1, 1, 0, 0 have the mean 1/2; with chances .8, .4, .4, .4 it is 1.2 / 2: saved is 1 − 5/6."""
    moments = Saving().moments(np.array([1.0, 1, 0, 0]), np.array([0.8, 0.4, 0.4, 0.4]))
    assert moments.tolist() == [[1, 1, 0.8, 0.8], [1, 1, 0.4, 0.4], [0, 1, 0, 0.4], [0, 1, 0, 0.4]]
    assert Saving().value(moments.sum(axis=0)) == pytest.approx([1 / 6])
    assert np.isnan(Saving().value(np.array([1.0, 2, 0, 0.5]))).all()
    both = np.array([[2.0, 4, 1.2, 2.0], [2.0, 4, 0.6, 2.0]])
    assert Saving().value(both).ravel() == pytest.approx([1 / 6, -2 / 3])


@pytest.mark.parametrize(
    ("delta", "wanted", "taken"),
    [
        ([-0.3, -0.1, -0.2, -0.2], 2, [0, 1, 0.5, 0.5]), ([-0.3, -0.1, -0.2, -0.2], 3.5, [0.5, 1, 1, 1]),
        ([0.1] * 3, 1.5, [0.5] * 3), ([0.1, 0.2], 1, [0, 1]), ([0.1, 0.2], 0.25, [0, 0.25]),
    ],
)  # fmt: skip
def test_the_most_separable_are_taken_and_ties_share_the_rest(delta, wanted, taken):
    found = chances(np.array(delta), wanted / len(delta), "top")
    assert found.tolist() == pytest.approx(taken)


@pytest.mark.parametrize(
    ("sizes", "wanted", "taken"),
    [
        ([10, 0, 0, 10], 6, [3, 0, 0, 3]), ([10, 1, 0, 10], 9, [4, 1, 0, 4]), ([10, 0, 1, 2], 8, [5, 0, 1, 2]),
        ([2, 0, 0, 1], 3, [2, 0, 0, 1]),
    ],
)  # fmt: skip
def test_ranges_give_as_many_items_each_and_small_ones_all_they_have(sizes, wanted, taken):
    """Items of four ranges of separability from 0 to 1."""
    delta = np.repeat([0.0, 0.3, 0.6, 1.0], sizes)
    found = chances(delta, wanted / len(delta), "stratified")
    assert [found[delta == one].sum() for one in (0.0, 0.3, 0.6, 1.0)] == pytest.approx(taken)


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
    saving = {"humans": Estimate(estimate, low, high, 0.1)}
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
    trend = with_rows(found, {}, trend={"m": Estimate(-0.25, -0.5, 0.0, 0.1)})
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
        ("anna", "bert", "m", 0.0, 1), ("anna", "bert", "m", 1.0, 1),
    ]  # fmt: skip
    assert everyone["share"].to_list() == [0.5] * 4
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
        "humans, anna & bert", "m, anna & bert",
    ]  # fmt: skip
    assert ax.get_yticks().tolist() == [1, 0]
    bars = [(round(bar.get_y() + 0.4), bar.get_x(), bar.get_width()) for bar in ax.patches if bar.get_width()]
    # Values 0, 2/3 and 1 from the left: half of people's sets of anna and bert are 0, half of the judge's are 1.
    assert sorted(bars) == [(0, 0, 0.5), (0, 0.5, 0.5), (1, 0, 0.5), (1, 0.5, 0.5)]
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
