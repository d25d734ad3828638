"""Items chosen by separability, pairs of their outputs, and what that saves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from test_leaderboard import frame_of, votes_of
from test_separability import generations, outputs

import assay
from assay.cli.app import main
from assay.preference.consistency import chances
from assay.preference.votes import (
    _merge_names,
    _numbers,
    _refuse_votes,
    _take_turns,
    _uniform,
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
    assert "12 pairs of outputs, of 4 items, written to" in capsys.readouterr().err
    pairs = pl.read_csv(tmp_path / "pairs.csv")
    answers = pl.DataFrame({"item": pairs["item"], "annotator": "ann", "label": ["first", "tie", "first"] * 4})
    answers.write_csv(tmp_path / "answers.csv")
    votes = assay.read(tmp_path / "answers.csv", scale="preference", items=tmp_path / "pairs.csv")
    sets = assay.consistency(votes, by="separability", method="none").sets
    assert sets["item"].to_list() == sorted(pairs["pair_of"].unique())
    assert sets["n"].to_list() == [3] * 4
    assert sets["consistency"].to_list() == pytest.approx([2 / 3] * 4)
    for wrong in (["--n-items", "3"], ["--choose", "top"], ["--pairs", str(tmp_path / "p.csv"), "--n-pairs", "0"]):
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


def test_choosing_saves_ratings_only_where_separability_tells():
    found = assay.consistency(votes_that(link=True), by="separability", choose="weighted")
    assert set(found.saving) == {"humans", "m"}
    assert all(0.05 < one.low < one.estimate < one.high < 0.5 for one in found.saving.values())
    assert (
        "the same number of consistent votes takes 18% [11, 24] fewer ratings than of items drawn alike."
        in found.summary()
    )
    # A column that has nothing to do with the votes saves nothing, and nobody says that it does.
    found = assay.consistency(votes_that(link=False), by="separability", choose="weighted")
    assert all(one.low < 0 < one.high for one in found.saving.values())
    assert found.summary().count("so not clearly fewer") == 2


def test_the_saving_by_the_slow_road():
    """Of many draws of half the items, the mean consistency of what was drawn, against that of all."""
    found = assay.consistency(votes_that(link=True), by="separability", choose="top", share=0.25, method="none")
    sets = found.sets.filter(pl.col("kind") == "human")
    column = votes_that(link=True).labels.join(votes_that(link=True).items, on="item", how="left")
    delta = dict(column.select("item", "separability").unique().iter_rows())
    most = sorted(delta, key=delta.get, reverse=True)[:20]
    ratio = sets["consistency"].mean() / sets.filter(pl.col("item").is_in(most))["consistency"].mean()
    assert found.saving["humans"].estimate == pytest.approx(1 - ratio)


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
        ({"choose": "top"}, "choose=... chooses items by a number; name its column"),
        ({"share": 0.2}, "share=... is the share of items that choose=... takes"),
        ({"choose": "best", "by": "separability"}, "choose must be weighted, stratified or top; got 'best'"),
        ({"choose": "top", "by": "more"}, "from -1 to 1, and 'more' goes to 15"),
    ],
)
def test_words_of_what_cannot_be_chosen(options, words):
    frame = frame_of([(f"i{i}", "w", "anna", "bert", 1) for i in range(4)], separability=0.5, more=[1.0, 2, 3, 15])
    with pytest.raises(assay.DesignError) as refused:
        assay.consistency(votes_of(frame), **options)
    assert words in str(refused.value)


def test_shares_of_each_value():
    rows = [("i", "w", "anna", "bert", 1)] * 2 + [("j", "w", "anna", "bert", v) for v in (1, 0)]
    rows += [("k", "w", "anna", "bert", v) for v in (1, -1)] + [("l", "w", "anna", "bert", 1)]
    votes = votes_of(frame_of(rows, half=["x"] * 4 + ["y"] * 3))
    found = assay.consistency(votes, by="half", method="none").values
    assert found.select("bin", "value", "sets", "share").rows() == [
        ("x", 0.5, 1, 0.5), ("x", 1.0, 1, 0.5), ("y", 0.0, 1, 0.5), ("y", 1.0, 1, 0.5),
    ]  # fmt: skip
    drawn = assay.preference_strength(votes, by="half", method="none").plot_values()
    assert [bar.get_width() for bar in drawn.patches if bar.get_width()] == [0.5] * 4


def test_values_are_of_those_who_were_asked_about():
    file = Path(__file__).parents[2] / "examples/votes.csv"
    votes = assay.read(file, scale="preference", repeat="repeat", judges=["gpt-4o"])
    for who, wanted in (("humans", {"humans"}), ("judges", {"gpt-4o"}), ("annotators", {*votes.humans, "gpt-4o"})):
        assert set(assay.consistency(votes, method="none", who=[who]).values["who"]) == wanted


def test_a_chance_depends_on_what_it_is_for_and_lies_between_0_and_1():
    drawn = np.array([_uniform(1, "item", k) for k in range(400)])
    assert ((drawn > 0) & (drawn < 1)).all()
    # The mean of 400 has a standard error of .29 / 20, shares of each tenth one of .015.
    assert drawn.mean() == pytest.approx(0.5, abs=0.05)
    assert np.histogram(drawn, 10, (0, 1))[0] / 400 == pytest.approx(0.1, abs=0.06)
    assert len(set(drawn.tolist())) == 400
    assert _uniform(1, "item", 7) == drawn[7]


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


def test_groups_take_turns_the_most_separable_first():
    order, group = np.array([10, 11, 12, 13, 14]), np.array([0, 0, 2, 0, 1])
    assert _take_turns(order, group).tolist() == [12, 14, 10, 11, 13]


def test_each_two_systems_have_their_own_items():
    items = pl.concat([items_of(), items_of().with_columns(second=pl.lit("c"))])
    found = chosen_items(items, 3, "top")
    assert found["second"].to_list() == ["b"] * 3 + ["c"] * 3
    assert found["item"].to_list() == ["i37", "i38", "i39"] * 2


@pytest.mark.parametrize(
    ("names", "others", "both", "moved", "where"),
    [
        ("bdf", "df", "bdf", None, [1, 2]),  # nothing new: the first stay where they are
        ("bdf", "aeg", "abdefg", [1, 2, 4], [0, 3, 5]),
        ("bdf", "bcdh", "bcdfh", [0, 2, 3], [0, 1, 2, 4]),
        ("b", "xyz", "bxyz", [0], [1, 2, 3]),
        ("bdf", "abc", "abcdf", [1, 3, 4], [0, 1, 2]),
    ],
)
def test_further_names_are_put_between_those_there_are(names, others, both, moved, where):
    found, (first, second) = _merge_names(pl.Series(list(names)), pl.Series(list(others)))
    assert found.to_list() == list(both)
    assert (None if first is None else first.tolist()) == moved
    assert second.tolist() == where


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        ([False, True, False], "the vote of 'bob' on item 'i2' is odd$"),
        ([False, True, True], "the vote of 'bob' on item 'i2' is odd; so does 1 other vote$"),
        ([True, True, True], "the vote of 'ann' on item 'i1' is odd; so do 2 other votes$"),
    ],
)
def test_the_first_strange_vote_is_named_and_the_others_are_counted(strange, words):
    rows = pl.DataFrame({"annotator": ["ann", "bob", "cho"], "item": ["i1", "i2", "i3"]})
    with pytest.raises(assay.DataError, match=words):
        _refuse_votes(SimpleNamespace(labels=rows), np.array(strange), "is odd")


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
    found = _numbers(pl.Series(values, dtype=pl.String))
    assert found.dtype == dtype
    assert found.null_count() == values.count(None)
    assert _numbers(pl.Series([True])).dtype == pl.Boolean


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
    none = SimpleNamespace(columns=[])
    table = SimpleNamespace(criteria=criteria, scale=SimpleNamespace(kind=kind), items=none, annotators=none, names={},
                            labels=SimpleNamespace(columns=sorted(columns)))  # fmt: skip
    assert has_votes(table) is votes


@pytest.mark.parametrize(
    ("column", "known"),
    [(pl.Series([0.1, 0.2]), True), (pl.Series([0.1, None]), False), (pl.Series(["a", "b"]), False), (None, False)],
)
def test_separability_is_known_where_every_vote_has_a_number(column, known):
    none = SimpleNamespace(columns=[])
    items = SimpleNamespace(columns=[] if column is None else ["separability"])
    table = SimpleNamespace(labels=none, items=items, annotators=none, names={}, column=lambda name: column)
    assert has_separability(table) is known
