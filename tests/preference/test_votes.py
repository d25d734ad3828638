"""Items chosen by separability, pairs of their outputs, and what that saves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_leaderboard import frame_of, votes_of
from test_separability import generations, outputs

import assay
from assay.cli.app import main
from assay.data.annotations import Annotations
from assay.data.scales import parse_scale
from assay.errors import DataError, DesignError
from assay.estimation.result import Exclusion
from assay.preference.consistency import chances
from assay.preference.votes import (
    RatingSettings,
    SetSettings,
    Votes,
    VotesSettings,
    chosen_items,
    has_separability,
    has_votes,
    pairs_of,
    strata,
    weight,
)

DELTA = np.concatenate([np.linspace(0, 0.2, 30), np.linspace(0.3, 1, 10)])


def items_of(delta: np.ndarray = DELTA) -> pl.DataFrame:
    names = [f"i{i:02d}" for i in range(len(delta))]
    return pl.DataFrame({"item": names, "first": "a", "second": "b", "separability": delta})


def test_the_most_separable_are_on_top():
    assert chosen_items(items_of(), 5, "top")["item"].to_list() == [f"i{i}" for i in range(35, 40)]


def test_strata_give_as_many_each_and_small_ones_leave_theirs_to_others():
    found = chosen_items(items_of(), 16, "stratified")
    in_each = np.bincount(strata(DELTA)[[int(name[1:]) for name in found["item"]]], minlength=4)
    assert np.bincount(strata(DELTA)).tolist() == [30, 3, 3, 4]
    assert in_each.tolist() == [6, 3, 3, 4]


@pytest.mark.slow
@pytest.mark.parametrize("choose", ["weighted", "stratified", "top"])
def test_chances_are_how_often_items_are_drawn(choose):
    drawn = np.zeros(len(DELTA))
    for seed in range(600):
        drawn[[int(name[1:]) for name in chosen_items(items_of(), 12, choose, seed)["item"]]] += 1
    expected = chances(DELTA, 12 / len(DELTA), choose)
    assert expected.sum() == pytest.approx(12)
    # The exponential times are independent, and the number drawn is fixed: near, not the same, with 40 items.
    assert drawn / 600 == pytest.approx(expected, abs=0.08)
    if choose == "weighted":
        assert (drawn[30:] / 600).mean() > 3 * (drawn[:30] / 600).mean()


def test_what_is_drawn_for_an_item_does_not_depend_on_the_others():
    some, more = items_of(), items_of(np.append(DELTA, 0.01))
    before = set(chosen_items(some, 10, "weighted", 3)["item"])
    after = set(chosen_items(more, 10, "weighted", 3)["item"])
    assert len(before - after) <= 1
    assert chosen_items(some, None, "weighted").equals(some)
    assert chosen_items(some, 99, "weighted").equals(some)


def test_no_pair_twice_and_each_output_as_often():
    table = outputs(generations(4, 5, systems=("m1", "m2"))).labels
    chosen = pl.DataFrame({"item": ["i00", "i02"], "first": "m1", "second": "m2", "separability": [0.1, 0.2]})
    for n, often in ((5, 1), (10, 2), (25, 5), (99, 5)):
        pairs = pairs_of(table, chosen, n)
        assert pairs.height == 2 * min(n, 25)
        assert pairs.select("pair_of", "first_output", "second_output").is_unique().all()
        for side in ("first", "second"):
            counts = pairs.group_by("pair_of", f"{side}_output").len()["len"]
            assert (counts.min(), counts.max()) == (often, often)
    text = {(r["item"], r["annotator"], r["repeat"]): r["label"] for r in table.iter_rows(named=True)}
    for row in pairs.iter_rows(named=True):
        assert row["first_text"] == text[row["pair_of"], "m1", row["first_output"]]
        assert row["second_text"] == text[row["pair_of"], "m2", row["second_output"]]
    orders = {tuple(pairs_of(table, chosen, 5, seed)["second_output"]) for seed in range(5)}
    assert len(orders) > 1


def test_pairs_go_to_raters_and_come_back_as_votes(tmp_path, capsys):
    generations(12, 3, systems=("m1", "m2")).write_csv(tmp_path / "outputs.csv")
    words = "--repeat repeat --scale text --humans m1,m2 --method none --choose top --n-items 4 --n-pairs 3"
    with pytest.raises(SystemExit, match="0"):
        main(["separability", str(tmp_path / "outputs.csv"), *words.split(), "--pairs", str(tmp_path / "pairs.csv")])
    assert "12 pairs of outputs of 4 items written to" in capsys.readouterr().err
    pairs = pl.read_csv(tmp_path / "pairs.csv")
    answers = pl.DataFrame({"item": pairs["item"], "annotator": "ann", "label": ["first", "tie", "first"] * 4})
    answers.write_csv(tmp_path / "answers.csv")
    votes = assay.read(tmp_path / "answers.csv", scale="preference", items=tmp_path / "pairs.csv")
    sets = assay.consistency(votes, by="separability", method="none").sets
    assert sets["item"].to_list() == sorted(pairs["pair_of"].unique())
    assert sets["n"].to_list() == [3] * 4
    assert sets["consistency"].to_list() == pytest.approx([2 / 3] * 4)
    for wrong in (["--n-items", "3"], ["--choose", "top"], ["--n-pairs", "4"],
                  ["--pairs", str(tmp_path / "p.csv"), "--n-items", "0"],
                  ["--pairs", str(tmp_path / "p.csv"), "--n-pairs", "0"]):  # fmt: skip
        with pytest.raises(SystemExit, match="2"):
            main(["separability", str(tmp_path / "outputs.csv"), *words.split()[:8], *wrong])
    assert "--n-pairs" in capsys.readouterr().err


def votes_that(link: bool, seed: int = 1, n: int = 80) -> assay.Annotations:
    """Five votes of two people and a judge on each item; more consistent where separability is high, or anyhow."""
    rng = np.random.default_rng(seed)
    rows, delta = [], []
    for i in range(n):
        separable = rng.random()
        sure = 0.5 + (separable if link else 0.5) / 2
        for who in ("w1", "w2", "m"):
            better = rng.random() < 0.5
            rows += [(f"i{i:03d}", who, "anna", "bert", -1 if better == (rng.random() < sure) else 1) for _ in "12345"]
            delta += [separable] * 5
    return votes_of(frame_of(rows, separability=delta), judges=["m"])


@pytest.mark.slow
def test_choosing_saves_ratings_only_where_separability_tells():
    found = assay.consistency(votes_that(link=True), by="separability", choose="weighted")
    assert set(found.saving) == {"humans", "m"}
    assert all(0.05 < one.low < one.estimate < one.high < 0.5 for one in found.saving.values())
    assert (
        "the same number of consistent votes requires 18% [11, 24] fewer ratings than with items drawn at random."
        in found.summary()
    )
    # A column unrelated to the votes saves nothing, and no saving is reported.
    found = assay.consistency(votes_that(link=False), by="separability", choose="weighted")
    assert all(one.low < 0 < one.high for one in found.saving.values())
    assert found.summary().count("; not significant") == 2


@pytest.mark.slow
def test_saving_agrees_with_direct_computation():
    """Over many draws of half the items, the mean consistency of the drawn items, compared with all."""
    found = assay.consistency(votes_that(link=True), by="separability", choose="top", share=0.25, method="none")
    sets = found.sets.filter(pl.col("kind") == "human")
    column = votes_that(link=True).labels.join(votes_that(link=True).items, on="item", how="left")
    delta = dict(column.select("item", "separability").unique().iter_rows())
    most = sorted(delta, key=delta.get, reverse=True)[:20]
    ratio = sets["consistency"].mean() / sets.filter(pl.col("item").is_in(most))["consistency"].mean()
    assert found.saving["humans"].estimate == pytest.approx(1 - ratio)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jackknife", "percentile"])
def test_a_saving_and_its_interval_do_not_depend_on_items_that_others_alone_rated(method):
    rows = votes_that(link=True).labels.join(votes_that(link=True).items, on="item", how="left")
    some = (pl.col("annotator") == "m") | (pl.col("item") < "i050")
    options = {"by": "separability", "choose": "weighted", "method": method, "n_resamples": 200}
    both, alone = (
        assay.consistency(assay.read(table, scale="preference", judges=["m"], repeat="repeat"), **options)
        for table in (rows.filter(some), rows.filter(pl.col("item") < "i050"))
    )
    one, other = both.saving["humans"], alone.saving["humans"]
    assert one.estimate == pytest.approx(other.estimate)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))
    assert both.saving["m"].estimate != alone.saving["m"].estimate


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choose": "top"}, "choose=... chooses items by a numeric column; name it"),
        ({"share": 0.2}, "share=... is the share of items for choose=..."),
        ({"choose": "best", "by": "separability"}, "choose must be weighted, stratified or top; got 'best'"),
        ({"choose": "top", "by": "more"}, "between -1 and 1; 'more' has 15"),
    ],
)
def test_words_of_what_cannot_be_chosen(options, words):
    frame = frame_of([(f"i{i}", "w", "anna", "bert", 1) for i in range(4)], separability=0.5, more=[1.0, 2, 3, 15])
    with pytest.raises(assay.errors.DesignError) as refused:
        assay.consistency(votes_of(frame), **options)
    assert words in str(refused.value)


def test_shares_of_each_value():
    rows = [("i", "w", "anna", "bert", 1)] * 2 + [("j", "w", "anna", "bert", v) for v in (1, 0)]
    rows += [("k", "w", "anna", "bert", v) for v in (1, -1)] + [("l", "w", "anna", "bert", 1)] * 2
    votes = votes_of(frame_of(rows, half=["x"] * 4 + ["y"] * 4))
    found = assay.consistency(votes, by="half", method="none").values
    assert found.select("bin", "value", "sets", "share").rows() == [
        ("x", 0.5, 1, 0.5), ("x", 1.0, 1, 0.5), ("y", 0.0, 1, 0.5), ("y", 1.0, 1, 0.5),
    ]  # fmt: skip
    drawn = assay.consistency(votes, measure="strength", by="half", method="none").plot_values()
    assert [bar.get_width() for bar in drawn.patches if bar.get_width()] == [0.5] * 4


def test_values_are_of_those_who_were_asked_about():
    file = Path(__file__).parents[2] / "examples/votes.csv"
    votes = assay.read(file, scale="preference", repeat="repeat", judges=["gpt-4o"])
    for who, wanted in (("humans", {"humans"}), ("judges", {"gpt-4o"}), ("annotators", {*votes.humans, "gpt-4o"})):
        assert set(assay.consistency(votes, method="none", who=[who]).values["who"]) == wanted


@pytest.mark.slow
def test_each_item_is_as_likely_to_be_drawn_and_a_draw_depends_on_the_seed_alone():
    """Of ten items of one separability 400 draws of one take each tenth, with a standard error of .015."""
    items = items_of(np.full(10, 0.5))
    drawn = [chosen_items(items, 1, "weighted", seed)["item"].item() for seed in range(400)]
    assert [drawn.count(name) / 400 for name in items["item"]] == pytest.approx([0.1] * 10, abs=0.06)
    assert chosen_items(items[::-1], 1, "weighted", 7)["item"].item() == drawn[7]


# -- by hand ------------------------------------------------------------------------------------------


def test_weights_are_those_of_equation_6():
    # alpha / (1 + exp(-beta (delta - threshold))), published with 2, 6 and .4: 1 at the threshold.
    assert weight(np.array([0.4, 0.5])) == pytest.approx([1.0, 2 / (1 + np.exp(-0.6))])
    assert weight(np.array([0.0, 0.9]), 3.0, 2.0, 0.5) == pytest.approx(
        [3 / (1 + np.exp(1.0)), 3 / (1 + np.exp(-0.8))]
    )  # fmt: skip


def test_ranges_of_separability_are_of_equal_width():
    delta = np.array([-0.2, -0.01, 0.0, 0.19, 0.2, 0.39, 0.41, 0.6])
    assert strata(delta).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]  # from −.2 to .6, .2 each
    assert strata(delta, 2).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert strata(np.full(3, 0.5)).tolist() == [0, 0, 0]


def test_ranges_take_turns_the_most_separable_first():
    items = items_of(np.array([0.0, 0.05, 0.1, 0.3, 1.0]))  # of four ranges, three in the lowest and none in the third
    chosen = [set(chosen_items(items, n, "stratified")["item"]) for n in range(1, 6)]
    assert chosen[:3] == [{"i04"}, {"i04", "i03"}, {"i04", "i03"} | chosen[2]]
    low = [(chosen[n] - chosen[n - 1]).pop() for n in (2, 3, 4)]
    assert sorted(low) == ["i00", "i01", "i02"]


def test_each_two_systems_have_their_own_items():
    items = pl.concat([items_of(), items_of().with_columns(second=pl.lit("c"))])
    found = chosen_items(items, 3, "top")
    assert found["second"].to_list() == ["b"] * 3 + ["c"] * 3
    assert found["item"].to_list() == ["i37", "i38", "i39"] * 2


@pytest.mark.parametrize(
    ("names", "others", "both", "moved", "where"),
    [
        ("bdf", "df", "bdf", None, [1, 2]),  # nothing new: positions of the first do not change
        ("bdf", "aeg", "abdefg", [1, 2, 4], [0, 3, 5]),
        ("bdf", "bcdh", "bcdfh", [0, 2, 3], [0, 1, 2, 4]),
        ("b", "xyz", "bxyz", [0], [1, 2, 3]),
        ("bdf", "abc", "abcdf", [1, 3, 4], [0, 1, 2]),
    ],
)
def test_further_names_are_put_between_those_there_are(names, others, both, moved, where):
    one, two = (
        arrays(*((k, 0, "a", "b", 1) for k in range(len(items))), items=items, people="p") for items in (names, others)
    )
    found = one.combine(two)
    assert found.items.to_list() == list(both)
    assert found.item.tolist() == [*(moved or range(len(names))), *where]


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        ([False, True, False], r"the vote of 'bob' on item 'i2' compares a system with itself \(a\)$"),
        ([False, True, True], r"the vote of 'bob' on item 'i2' .* \(a\); 1 other vote likewise$"),
        ([True, True, True], r"the vote of 'ann' on item 'i1' .* \(a\); 2 other votes likewise$"),
    ],
)
def test_the_first_strange_vote_is_named_and_the_others_are_counted(strange, words):
    rows = [(f"i{k + 1}", who, "a", "a" if strange[k] else "b", -1) for k, who in enumerate(("ann", "bob", "cho"))]
    with pytest.raises(assay.errors.DataError, match=words):
        assay.ratings(votes_of(frame_of(rows)))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1", "2", None], pl.Int64),
        (["1", "2.5"], pl.Float64),
        (["1", "two"], pl.String),
        ([None, None], pl.String),
        (["1e3", "7"], pl.Float64),
    ],
)
def test_text_that_is_a_number_in_every_row_is_one(values, dtype):
    def read(column):
        rows = [(f"i{k}", "w", "a", "b", -1) for k in range(len(column))]
        frame = frame_of(rows).with_columns(x=column)
        return Votes.of(Annotations.from_frame(frame, scale="preference"), RatingSettings(), "ratings", "x").columns[
            "x"
        ]

    found = read(pl.Series(values, dtype=pl.String))
    assert found.dtype == dtype
    assert found.null_count() == values.count(None)
    assert read(pl.Series([True])).dtype == pl.Boolean


@pytest.mark.parametrize(
    ("criteria", "kind", "columns", "votes"),
    [
        ((), "preference", {"first", "second"}, True),
        (("one",), "preference", {"first", "second", "item"}, True),
        (("one", "two"), "preference", {"first", "second"}, False),
        ((), "nominal", {"first", "second"}, False),
        ((), "preference", {"first"}, False),
    ],
)
def test_what_is_a_table_of_votes(criteria, kind, columns, votes):
    named = {name: [name] for name in columns - {"item"}}
    crossed = [{"item": "i", "annotator": "a", "label": 1, "criterion": one} for one in criteria] or [
        {"item": "i", "annotator": "a", "label": 1}
    ]
    frame = pl.DataFrame([row | {name: values[0] for name, values in named.items()} for row in crossed])
    scale = "preference" if kind == "preference" else parse_scale("nominal:1,2")
    assert has_votes(Annotations.from_frame(frame, scale=scale, humans=["a"])) is votes


@pytest.mark.parametrize(
    ("column", "known"),
    [(pl.Series([0.1, 0.2]), True), (pl.Series([0.1, None]), False), (pl.Series(["a", "b"]), False), (None, False)],
)
def test_separability_is_known_where_every_vote_has_a_number(column, known):
    items = pl.DataFrame({"item": ["i", "j"]} | ({} if column is None else {"separability": column}))
    rows = [("i", "w", "a", "b", -1), ("j", "w", "a", "b", 1)]
    assert has_separability(Annotations.from_frame(frame_of(rows), scale="preference", items=items)) is known


# -- votes as arrays ------------------------------------------------------------------------------------


def arrays(*rows, systems="abc", share=None, items=("i", "j"), people="pqm", **more):
    """Votes by (item, annotator, first, second, label) as places and names."""
    item, who, first, second, label = (np.array(x) for x in zip(*rows, strict=True))
    names = list(systems)
    given = {
        "clusters": None, "columns": {"x": pl.Series(range(len(rows)))}, "data": "data", "again": (np.ones_like(item),)
    } | more  # fmt: skip
    return Votes(
        systems=tuple(systems), first=np.array([names.index(x) for x in first]),
        second=np.array([names.index(x) for x in second]), label=label, item=item, annotator=who,
        items=pl.Series(list(items)),
        annotators=pl.DataFrame([(x, "judge" if x == "m" else "human") for x in people], schema=["annotator", "kind"],
                                orient="row"),
        share=np.ones(len(rows)) if share is None else np.array(share), **given,
    )  # fmt: skip


SIX = [(0, 0, "a", "b", -1), (0, 1, "b", "a", 1), (1, 0, "a", "b", 0), (1, 2, "c", "a", 1), (1, 2, "a", "b", 1),
       (0, 0, "a", "b", -1)]  # fmt: skip


def table(counts):
    """(outcome, first, second): number, of those that are not 0."""
    return {("first", "tie", "second")[k] + f" {'abc'[i]}{'abc'[j]}": counts[k, i, j]
            for k, i, j in zip(*np.nonzero(counts), strict=True)}  # fmt: skip


def test_votes_are_counted_by_outcome_and_systems():
    votes = arrays(*SIX)
    whole = {"first ab": 2, "second ba": 1, "tie ab": 1, "second ca": 1, "second ab": 1}
    assert table(votes.counts()[0]) == whole
    assert table(votes.tally) == whole
    assert votes.won.tolist() == [1, 0, 0.5, 0, 0, 1]
    weighted = votes.counts(np.array([1.0, 2, 3, 4, 5, 6]))
    assert table(weighted[0]) == {"first ab": 7, "second ba": 2, "tie ab": 3, "second ca": 4, "second ab": 5}
    by_item = votes.counts(unit=votes.item, n=2)
    assert table(by_item[0]) == {"first ab": 2, "second ba": 1}
    assert table(by_item[1]) == {"tie ab": 1, "second ca": 1, "second ab": 1}
    assert votes.counts(unit=np.zeros(6, dtype=int), n=3).shape == (3, 3, 3, 3)


def test_a_part_of_a_vote_is_a_tie():
    votes = arrays(*SIX, share=[1.0, 0.5, 1.0, 0.25, 1.0, 0.5])
    assert votes.won.tolist() == [1, 0.25, 0.5, 0.375, 0, 0.75]
    assert table(votes.counts()[0]) == {
        "first ab": 1.5, "tie ab": 1.5, "second ba": 0.5, "tie ba": 0.5, "second ca": 0.25, "tie ca": 0.75,
        "second ab": 1,
    }  # fmt: skip
    assert table(votes.tally) == table(arrays(*SIX).tally)
    doubled = votes.counts(np.full(6, 2.0), votes.item, 2)
    assert table(doubled[0]) == {"first ab": 3, "tie ab": 1, "second ba": 1, "tie ba": 1}


def test_who_and_what_was_asked_about():
    votes = arrays(*SIX, people="pqmz")
    assert votes.facts == {"items": 2, "votes": 6, "systems": 3, "humans": 2, "judges": 1}
    assert arrays(*SIX[:3]).facts["judges"] == 0
    assert (votes.judges, len(votes), votes.n_items) == ({"m"}, 6, 2)


def test_votes_are_sorted_by_item_name_and_repeat():
    again = np.array([2, 1, 1, 1, 1, 1])
    found = arrays(*SIX, people=["z", "y", "m"], again=(again,)).sorted()
    assert list(zip(found.item, found.annotator, found.again[0], found.label, found.columns["x"], strict=True)) == [
        (0, 1, 1, 1, 1), (0, 0, 1, -1, 5), (0, 0, 2, -1, 0), (1, 2, 1, 1, 4), (1, 2, 1, 1, 3), (1, 0, 1, 0, 2),
    ]  # fmt: skip
    assert found.sorted() is found


def test_some_votes_keep_the_systems_and_items_that_they_are_about():
    votes = arrays(*SIX, clusters=np.array([7, 9]), share=[1, 0.5, 1, 0.25, 1, 1])
    assert votes.among(np.ones(6, dtype=bool)) is votes
    found = votes.among(np.array([False, False, False, True, False, False]))
    assert (found.systems, found.items.to_list(), found.clusters.tolist()) == (("a", "c"), ["j"], [9])
    assert (found.first.tolist(), found.second.tolist(), found.item.tolist()) == ([1], [0], [0])
    assert (found.share.tolist(), found.columns["x"].to_list(), found.again[0].tolist()) == ([0.25], [3], [1])
    both = votes.among(np.array([True, False, False, False, True, False]))
    assert (both.systems, both.items.to_list()) == (("a", "b"), ["i", "j"])


def read_votes(rows, **options):
    """The votes of some rows as a leaderboard has them."""
    return assay.ratings(votes_of(frame_of(rows)), method="none", prior=1.0, **options).votes


def test_items_without_a_vote_are_left_out_and_the_others_sorted():
    rows = [("z", "p", "a", "b", -1), ("y", "p", "a", "c", 1), ("k", "q", "b", "a", 1), ("z", "q", "a", "b", 0)]
    votes = read_votes(rows)
    assert (votes.items.to_list(), votes.item.tolist()) == (["k", "y", "z"], [2, 1, 0, 2])
    fewer = read_votes(rows, systems=["a", "b"], clusters="item")
    assert (fewer.items.to_list(), fewer.item.tolist()) == (["k", "z"], [1, 0, 1])
    assert len(set(fewer.clusters.tolist())) == 2


def test_systems_that_are_not_wanted_take_their_votes_along():
    rows = [("ij"[item], "pqm"[who], first, second, label) for item, who, first, second, label in SIX]
    found = read_votes(rows, systems=["b", "a"])
    assert (found.systems, len(found), found.label.tolist()) == (("a", "b"), 5, [-1, 1, 0, 1, -1])
    assert found.exclusions == (Exclusion("vote", 1, "on a system that systems=... does not name"),)
    every = read_votes(rows, systems=["c", "b", "a"])
    assert (every.systems, every.exclusions, len(every)) == (("a", "b", "c"), (), 6)
    assert read_votes(rows).exclusions == ()
    with pytest.raises(DesignError, match="needs at least two systems"):
        read_votes(rows, systems=["a", "a"])
    with pytest.raises(DesignError, match=r"no vote compares two of b.* c"):
        read_votes(rows, systems=["b", "c"])
    with pytest.raises(DataError, match="'d'"):
        read_votes(rows, systems=["a", "d"])


def test_further_votes_bring_their_own_systems_items_and_raters():
    gone, more = Exclusion("vote", 1, "odd"), Exclusion("vote", 2, "odd")
    one = arrays(*SIX[:2], exclusions=(gone,))
    two = arrays((0, 0, "d", "a", -1), (1, 1, "a", "d", 0), systems="ad", items=("h", "j"), people="qn",
                 share=[0.5, 1.0], exclusions=(more,))  # fmt: skip
    both = one.combine(two)
    assert (both.systems, both.items.to_list()) == (("a", "b", "c", "d"), ["h", "i", "j"])
    assert both.annotators["annotator"].to_list() == ["p", "q", "m", "n"]
    rows = [
        (both.items[i], both.annotators["annotator"][w], both.systems[f], both.systems[s])
        for i, w, f, s in zip(*(x.tolist() for x in (both.item, both.annotator, both.first, both.second)), strict=True)
    ]
    assert rows == [("i", "p", "a", "b"), ("i", "q", "b", "a"), ("h", "q", "d", "a"), ("j", "n", "a", "d")]
    assert (both.label.tolist(), both.share.tolist()) == ([-1, 1, -1, 0], [1, 1, 0.5, 1])
    assert (both.exclusions, both.columns["x"].to_list()) == ((gone, more), [0, 1, 0, 1])
    assert [codes.tolist() for codes in both.again] == [[1] * 4]
    assert one.combine(arrays(*SIX[:1], again=())).again == ()
    assert both.data != one.data
    turned = arrays(*SIX[:1], people="p")
    judge = dataclasses.replace(turned, annotators=turned.annotators.with_columns(kind=pl.lit("judge")))
    with pytest.raises(DesignError, match="'p' is a human in one of the tables and a judge in the other"):
        one.combine(judge)


# -- votes from a table ---------------------------------------------------------------------------------


def of(rows, *columns, judges=(), scale="preference", settings=None, items=None, **more):
    items = pl.DataFrame({"item": [row[0] for row in rows], **items}) if items else None
    labels = assay.read(frame_of(rows, **more), scale=scale, repeat="repeat", judges=list(judges), items=items)
    return Votes.of(labels, settings or VotesSettings(), "this", *columns)


PLAIN = [("i2", "w", "b10", "b9", -1), ("i1", "v", "b9", "b10", 1), ("i1", "w", "b9", "b10", 0)]


def test_a_table_of_votes_as_arrays():
    found = of(PLAIN, "x", x=["1", "2", "3"])
    assert (found.systems, found.items.to_list()) == (("b9", "b10"), ["i1", "i2"])
    by_row = {(found.items[i], found.annotators["annotator"][w]): (f, s, label) for i, w, f, s, label in zip(
        *(x.tolist() for x in (found.item, found.annotator, found.first, found.second, found.label)), strict=True
    )}  # fmt: skip
    assert by_row == {("i2", "w"): (1, 0, -1), ("i1", "v"): (0, 1, 1), ("i1", "w"): (0, 1, 0)}
    assert found.columns["x"].dtype == pl.Int64
    assert found.share.tolist() == [1] * 3
    assert found.clusters is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("i3", "w", "b9", "b9", 1), r"the vote of 'w' on item 'i3' compares a system with itself \(b9\)"),
        (("i3", "w", "b9", None, 1), "the vote of 'w' on item 'i3' does not name both systems"),
        (("i3", "w", None, "b9", 1), "does not name both systems"),
    ],
)
def test_a_vote_is_on_two_systems(row, words):
    with pytest.raises(DataError, match=words):
        of([*PLAIN, row])


GRADED = "preference:slightly better<much better"


def test_grades_are_shares_of_the_highest_where_that_is_asked_for():
    rows = [("i1", "w", "a", "b", v) for v in (-2, -1, 0, 1, 2)]
    alike = of(rows, scale=GRADED)
    assert (sorted(alike.label.tolist()), set(alike.share.tolist())) == ([-1, -1, 0, 1, 1], {1.0})
    shares = of(rows, scale=GRADED, settings=RatingSettings(grades="shares"))
    assert sorted(zip(shares.label.tolist(), shares.share.tolist(), strict=True)) == [
        (-1, 0.5), (-1, 1.0), (0, 1.0), (1, 0.5), (1, 1.0),
    ]  # fmt: skip


def test_items_of_one_user_are_the_users_and_a_judges_are_its_own():
    users = VotesSettings(clusters="annotator")
    rows = [("i1", "w", "a", "b", 1), ("i2", "v", "a", "b", 1), ("i2", "m", "a", "b", -1), ("i3", "m", "a", "b", 0),
            ("i3", "k", "a", "b", 0), ("i4", "w", "a", "b", 0)]  # fmt: skip
    found = of(rows, judges=("m", "k"), settings=users)
    names = found.annotators["annotator"]
    assert [names[int(k)] for k in found.clusters[:2]] == ["w", "v"]
    assert names[int(found.clusters[2])] in ("m", "k")
    assert names[int(found.clusters[3])] == "w"
    with pytest.raises(DesignError, match=r"needs items with votes of one human each; v.*w voted on item 'i2'"):
        of([*rows, ("i2", "w", "a", "b", 1)], judges=("m", "k"), settings=users)


def test_votes_on_pairs_of_outputs_are_on_what_these_are_of():
    by_book = VotesSettings(clusters="book")
    rows = [("o1", "w", "a", "b", 1), ("o2", "w", "a", "b", 1), ("o3", "w", "a", "b", -1)]
    found = of(rows, pair_of=["t2", "t1", "t2"])
    assert found.items.to_list() == ["t1", "t2"]
    assert sorted(found.item.tolist()) == [0, 1, 1]
    clustered = of(
        rows, pair_of=["t2", "t1", "t2"], items={"book": ["x", "y", "x"]}, settings=VotesSettings(clusters="book")
    )
    assert clustered.clusters[0] != clustered.clusters[1]
    with pytest.raises(DesignError, match="pairs of 't2' are in several clusters of clusters='book'"):
        of(rows, pair_of=["t2", "t1", "t2"], items={"book": ["x", "y", "y"]}, settings=by_book)
    with pytest.raises(DataError, match="item 'o2' has no value of 'pair_of', the item of its pair of outputs"):
        of(rows, pair_of=["t2", None, "t2"])


def test_a_setting_for_one_system_is_a_list_of_one():
    assert SetSettings(systems="a", who="humans").systems == ("a",)
    assert SetSettings(who="judges").who == ("judges",)


@pytest.mark.parametrize("names", [("A", "B", "C", "D"), ("left", "right", "up", "down"), ("1", "2", "3", "4")])
def test_a_word_for_a_side_that_names_a_system_has_one_meaning_in_all_rows(names):
    rng = np.random.default_rng(4)
    pairs = [rng.choice(4, 2, replace=False) for _ in range(200)]
    won = [int(rng.random() < (0.8 if one < other else 0.2)) for one, other in pairs]  # 1: the first side
    words = names[:2]

    def read(systems, winners):
        frame = pl.DataFrame({
            "prompt": [f"q{k % 40}" for k in range(200)], "worker": [f"w{k // 40}" for k in range(200)],
            "model_a": [systems[one] for one, _ in pairs], "model_b": [systems[other] for _, other in pairs],
            "winner": winners,
        })  # fmt: skip
        return assay.ratings(assay.read(frame, item="prompt"), n_resamples=20).table["estimate"].to_list()

    others = ("gpt", "llama", "qwen", "phi")
    sides = [words[0] if first else words[1] for first in won]
    assert read(names, sides) == pytest.approx(read(others, sides)), "the side, also in rows with a system of that name"
    by_name = [names[one if first else other] for (one, other), first in zip(pairs, won, strict=True)]
    assert read(names, by_name) == pytest.approx(read(others, sides))
