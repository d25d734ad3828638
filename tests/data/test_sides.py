"""Votes on pairs of systems: labels of one item refer to the same system, for any side that each rater saw."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.formats.exports import write
from assay.errors import DataError, DesignError

ELO = partial(assay.ratings, model="elo")

RATERS = ("ann", "bob", "cho", "gpt-4o")
SYSTEMS = ("birch", "aspen", "cedar")
COLUMNS = ["item", "annotator", "first", "second", "label"]


def votes(choice, pairs, *, seed: int | None, n_items: int = 40) -> pl.DataFrame:
    """Votes: ``choice(item, annotator, pair)`` names the winner; the sides of each vote are random."""
    draw, rows = random.Random(seed), []
    for i in range(n_items):
        for annotator in RATERS:
            one, other = pairs[i % len(pairs)]
            if seed is not None and draw.random() < 0.5:
                one, other = other, one
            winner = choice(i, annotator, (one, other))
            label = "tie" if winner is None else "first" if winner == one else "second"
            rows.append((f"q{i:02d}", annotator, one, other, label))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def noisy(i: int, annotator: str, pair: tuple[str, str]) -> str | None:
    """The winner: mostly the earlier in `SYSTEMS`, sometimes a tie."""
    draw = random.Random(f"{i} {annotator} {sorted(pair)}").random()
    better, worse = sorted(pair, key=SYSTEMS.index)
    return None if draw > 0.9 else better if draw < 0.65 else worse


ONE_PAIR = [("birch", "aspen")]
THREE_PAIRS = [("birch", "aspen"), ("aspen", "cedar"), ("cedar", "birch")]


def read(frame: pl.DataFrame) -> assay.Annotations:
    return assay.read(frame, judges=["gpt-4o"], scale="preference")


def as_battles(frame: pl.DataFrame) -> pl.DataFrame:
    names = {"item": "question_id", "annotator": "judge", "first": "model_a", "second": "model_b", "label": "winner"}
    winner = pl.col("winner").replace({"first": "model_a", "second": "model_b"})
    return frame.rename(names).with_columns(winner)


# -- each system on one side --------------------------------------------------------------------------


def test_exact_agreement_of_votes_is_1_if_all_prefer_one_system():
    frame = votes(lambda *_: "birch", ONE_PAIR, seed=1)
    assert frame["label"].n_unique() == 2
    for labels in (read(frame), assay.read(as_battles(frame), judges=["gpt-4o"])):
        assert assay.measures.exact_agreement(labels).estimate == 1


def test_exact_agreement_of_votes_counts_equal_winners():
    # Winners: q1 birch, birch; q2 aspen, aspen; q3 birch, aspen: 2 of 3 are equal. By side 1 of 3 would be.
    rows = [("q1", "ann", "birch", "aspen", "first"), ("q1", "bob", "aspen", "birch", "second"),
            ("q2", "ann", "aspen", "birch", "first"), ("q2", "bob", "birch", "aspen", "second"),
            ("q3", "ann", "birch", "aspen", "first"), ("q3", "bob", "aspen", "birch", "first")]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows, schema=COLUMNS, orient="row"), scale="preference")
    assert assay.measures.exact_agreement(labels).estimate == pytest.approx(2 / 3)
    # Birch and aspen won three votes each, and aspen is the first by name: a label of −1 is a vote for aspen.
    assert labels.labels.sort("item", "annotator")["label"].to_list() == [1, 1, -1, -1, 1, -1]
    assert labels.items.select("first", "second").unique().rows() == [("aspen", "birch")]


@pytest.mark.parametrize("pairs", [ONE_PAIR, THREE_PAIRS])
def test_read_votes_gives_one_table_for_any_sides(pairs):
    one, other = (read(votes(noisy, pairs, seed=seed)) for seed in (1, 2))
    columns = ["item", "annotator", "label"]
    assert one.labels.select(columns).equals(other.labels.select(columns))
    assert one.items.equals(other.items)
    assert not one.labels["sides_swapped"].equals(other.labels["sides_swapped"])


@pytest.mark.parametrize("pairs", [ONE_PAIR, THREE_PAIRS])
def test_agreement_and_alt_test_of_votes_do_not_depend_on_names_or_rows(pairs):
    frame = votes(noisy, pairs, seed=3)
    new = {"birch": "b", "aspen": "z", "cedar": "a"}
    renamed = frame.with_columns(pl.col("first", "second").replace(new)).sample(fraction=1, shuffle=True, seed=4)
    one, other = read(frame), read(renamed)
    for question in (assay.measures.exact_agreement, assay.measures.krippendorff_alpha, assay.measures.fleiss_kappa):
        assert question(one).estimate == pytest.approx(question(other).estimate, abs=1e-12)
    tests = [assay.alt_test(labels, "gpt-4o", epsilon=0.1) for labels in (one, other)]
    assert tests[0].summary().splitlines()[:5] == tests[1].summary().splitlines()[:5]


def test_alt_test_of_votes_does_not_depend_on_the_sides_of_each_rater():
    tests = [assay.alt_test(read(votes(noisy, ONE_PAIR, seed=seed)), "gpt-4o", epsilon=0.1) for seed in (5, 6)]
    one, other = (t.summary().rpartition("|data:")[0] for t in tests)
    assert one == other


def test_read_votes_keeps_sides_if_each_item_has_one_order():
    frame = votes(noisy, [("birch", "aspen"), ("aspen", "birch")], seed=None)
    labels = read(frame)
    assert "sides_swapped" not in labels.labels.columns
    assert labels.column("first").to_list() == frame["first"].to_list()
    counts = [labels.labels["label"].to_list().count(v) for v in (-1, 1, 0)]
    assert counts == [frame["label"].to_list().count(word) for word in ("first", "second", "tie")]


def test_read_votes_from_files_of_people_and_of_a_judge(tmp_path):
    frame = votes(noisy, ONE_PAIR, seed=7)
    is_judge = pl.col("annotator") == "gpt-4o"
    frame.filter(~is_judge).write_csv(tmp_path / "people.csv")
    frame.filter(is_judge).write_csv(tmp_path / "judge.csv")
    files = assay.read([tmp_path / "people.csv", tmp_path / "judge.csv"], judges=["gpt-4o"], scale="preference")
    assert files.fingerprint == read(frame).fingerprint


def test_read_grades_of_votes_keeps_how_much_better():
    rows = [("q1", "ann", "birch", "aspen", -2), ("q1", "bob", "aspen", "birch", 1), ("q2", "ann", "birch", "aspen", 2)]
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    labels = assay.read(frame, scale="preference:slightly<much")
    # Birch won twice: it is the first, and the vote of bob, who saw it second, is swapped.
    assert labels.labels.sort("item", "annotator")["label"].to_list() == [-2, -1, 2]


def test_read_words_that_name_two_columns_as_votes():
    labels = assay.read(votes(lambda *_: "birch", ONE_PAIR, seed=1), judges=["gpt-4o"])
    assert labels.scale == assay.Preference()
    assert any("Assumed scale preference" in note for note in labels.reading.notes)
    assert assay.measures.exact_agreement(labels).estimate == 1
    words = assay.read(votes(noisy, ONE_PAIR, seed=1), judges=["gpt-4o"], scale="nominal:first,second,tie")
    assert words.scale.kind == "nominal"


def test_write_votes_keeps_which_were_swapped(tmp_path):
    labels = read(votes(noisy, THREE_PAIRS, seed=8))
    write(labels, tmp_path / "votes.csv")
    again = assay.read(tmp_path / "votes.csv", scale="preference")
    assert again.fingerprint == labels.fingerprint
    one, other = (assay.ratings(table, prior=1, method="none") for table in (labels, again))
    assert one.rows.equals(other.rows)
    assert one.signature == other.signature


def test_scan_refuses_votes_whose_sides_vary_and_names_a_call_that_reads_them(tmp_path):
    frame = votes(noisy, ONE_PAIR, seed=9)
    frame.write_parquet(tmp_path / "votes.parquet")
    with pytest.raises(DataError, match=r"votes on item 'q\d\d' do not all name the same systems") as refused:
        assay.scan(tmp_path, scale="preference", judges=["gpt-4o"])
    call = str(refused.value).partition("assigns each system to one side: ")[2]
    labels = eval(call, {"assay": assay})  # the printed call
    assert labels.fingerprint == read(frame).fingerprint
    write(labels, tmp_path / "votes.parquet")
    chunks = assay.scan(tmp_path, scale="preference", judges=["gpt-4o"])
    assert assay.measures.exact_agreement(chunks).estimate == assay.measures.exact_agreement(labels).estimate


# -- two tables of votes --


def run(winners: list[str], *, seed: int, people: Sequence[str] = ()) -> assay.Annotations:
    """The judge's votes on one question each, with new random sides; humans prefer birch, seen first."""
    draw, rows = random.Random(seed), []
    for i, winner in enumerate(winners):
        pair = draw.sample(["birch", "aspen"], 2)
        rows.append((f"q{i:02d}", "gpt-4o", *pair, ("first", "second")[pair.index(winner)]))
        rows += [(f"q{i:02d}", who, "birch", "aspen", "first") for who in people]
    return read(pl.DataFrame(rows, schema=COLUMNS, orient="row"))


@pytest.mark.parametrize("seeds", [(1, 2), (3, 4), (5, 5)])
def test_drift_of_votes_compares_the_systems_of_two_runs(seeds):
    # The judge chose birch 8 times of 12, then 5 times: 3 votes of 12 changed, by 2 of 1 − (−1). Humans chose birch
    # always, so the share of equal votes, or the nearness of -1 and 1, falls by 3/12 × 2.
    before, after = ["birch"] * 8 + ["aspen"] * 4, ["birch"] * 5 + ["aspen"] * 7
    # Aspen has more wins in the later run, and birch in the earlier one.
    found = assay.drift(run(before, seed=seeds[0], people=("ann", "bob")), run(after, seed=seeds[1])).lines
    expected = {"judge drift": 0.5, "changed labels": 0.25, "total change": 0.5, "agreement with humans": -0.5}
    assert {name: found[name].estimate for name in expected} == pytest.approx(expected)


def test_drift_of_votes_that_have_not_changed_is_0_if_all_sides_have():
    winners = ["birch", "birch", "aspen"] * 6
    frame = votes(lambda i, *_: winners[i], [("birch", "aspen")], seed=None, n_items=18)
    other = votes(lambda i, *_: winners[i], [("aspen", "birch")], seed=None, n_items=18)
    found = assay.drift(read(frame), read(other)).lines
    assert [found[name].estimate for name in ("judge drift", "changed labels", "total change")] == [0, 0, 0]


def test_drift_of_votes_finds_different_anchors_for_any_sides():
    # Birch has 100 to 104 characters on the 20 anchors, and 200 to 204 on the 40 other texts.
    def later(first: str, second: str) -> assay.Annotations:
        frame = votes(noisy, [(first, second)], seed=None, n_items=60)
        number = pl.col("item").str.slice(1).cast(pl.Int64)
        length = {"birch": 100 + 100 * (number >= 20) + number % 5, "aspen": pl.lit(100.0)}
        return read(frame.with_columns(first_length=length[first], second_length=length[second]))

    before = read(votes(noisy, ONE_PAIR, seed=None, n_items=20))
    one, other = (assay.drift(before, later(*pair)) for pair in (("birch", "aspen"), ("aspen", "birch")))
    assert "the mean of 'first_length' is 102 on anchors, 202 else" in one.not_apportioned
    assert one.not_apportioned == other.not_apportioned
    assert str(one.table) == str(other.table)


def test_drift_of_votes_is_refused_if_one_run_does_not_name_the_systems():
    before = run(["birch", "aspen"] * 6, seed=1)
    frame = votes(noisy, ONE_PAIR, seed=None, n_items=12).drop("first", "second")
    with pytest.raises(DataError, match="compared by system, and after does not name the two systems of a vote"):
        assay.drift(before, read(frame))


# -- the shown side -----------------------------------------------------------------------------------


def test_position_bias_counts_the_side_that_was_shown():
    # Each rater names the text shown first in 2 of 3 votes, for any system: 2 of the 3 choices of each.
    sides = [("birch", "aspen"), ("aspen", "birch")]
    rows = [(f"q{i}", who, *sides[(i + k) % 2], ("first", "first", "second")[i])
            for i in range(3) for k, who in enumerate(RATERS)]  # fmt: skip
    found = assay.position_bias(read(pl.DataFrame(rows, schema=COLUMNS, orient="row")), method="none")
    assert found.shares["estimate"].to_list() == pytest.approx([2 / 3] * 4)


def test_position_bias_counts_ties_of_votes_that_were_swapped():
    frame = votes(lambda i, who, pair: None if i == 0 else pair[0], ONE_PAIR, seed=1)
    found = assay.position_bias(read(frame), method="none")
    assert found.shares.select("estimate", "n", "ties").rows() == [(1.0, 39, 1)] * 4


@pytest.mark.parametrize("ask", [assay.ratings, ELO])
def test_ratings_of_votes_are_those_of_the_sides_that_were_shown(ask):
    frame = votes(noisy, THREE_PAIRS, seed=10)
    # With each vote an item, each item has one order, and no vote is swapped.
    apart = frame.with_columns(item=pl.format("{} {}", "item", "annotator"))
    one, other = (ask(read(table), method="none").rows for table in (frame, apart))
    assert one.equals(other)


@pytest.mark.slow
def test_bradley_terry_takes_covariates_of_the_sides_that_were_shown():
    frame = votes(noisy, THREE_PAIRS, seed=11)
    shown = pl.int_range(pl.len())
    frame = frame.with_columns(first_length=100 + shown * 37 % 240, second_length=100 + shown * 53 % 240, place=1.0)
    frame = frame.with_columns(lead=pl.col("first_length") - pl.col("second_length"))
    apart = frame.with_columns(item=pl.format("{} {}", "item", "annotator"))
    for covariates in (["length"], ["lead"], ["place"]):
        one, other = (assay.ratings(read(t), covariates=covariates, method="none").coefficients for t in (frame, apart))
        assert one["estimate"].to_list() == pytest.approx(other["estimate"].to_list(), abs=1e-9)
    labels = read(frame)
    longer = labels.labels.filter("sides_swapped")["first_length"].to_list()
    assert longer == frame["second_length"].filter(labels.labels["sides_swapped"]).to_list()
    assert "also swapped, by their names: first_length, second_length)" in " ".join(labels.reading.notes)


# -- several pairs per question -----------------------------------------------------------------------


def all_pairs(seed: int) -> pl.DataFrame:
    """Votes on three pairs of systems of each of 30 questions; the sides of each vote are random."""
    parts = [votes(noisy, [pair], seed=seed + k, n_items=30) for k, pair in enumerate(THREE_PAIRS)]
    return pl.concat(parts)


def test_read_battles_makes_each_pair_of_a_question_an_item():
    labels = assay.read(as_battles(all_pairs(1)), judges=["gpt-4o"])
    assert (len(labels), labels.n_items, labels.has_repeats) == (360, 90, False)
    assert labels.items["item"].to_list()[:3] == ["q00: aspen / birch", "q00: aspen / cedar", "q00: birch / cedar"]
    assert labels.items["pair_of"].n_unique() == 30
    assert "several pairs of systems share an item" in " ".join(labels.reading.notes)


def test_read_battles_of_one_pair_keeps_the_question_as_the_item():
    labels = assay.read(as_battles(votes(noisy, ONE_PAIR, seed=1)), judges=["gpt-4o"])
    assert labels.items["item"].to_list()[:2] == ["q00", "q01"]
    assert "pair_of" not in labels.items.columns


def test_alt_test_of_battles_is_that_of_an_item_for_each_pair():
    frame = all_pairs(2)
    pair = pl.concat_str(pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second"), separator="+")
    apart = frame.with_columns(item=pl.format("{}/{}", "item", pair))
    battles = assay.read(as_battles(frame), judges=["gpt-4o"])
    one, other = (assay.alt_test(t, "gpt-4o", epsilon=0.1) for t in (battles, read(apart)))
    assert one.n_items == 90
    assert one.table.equals(other.table)


@pytest.mark.parametrize("method", ["none", "percentile"])
def test_elo_of_several_pairs_does_not_depend_on_the_sides(method):
    one, other = (
        assay.ratings(
            assay.read(as_battles(all_pairs(seed)), judges=["gpt-4o"]), model="elo", method=method, n_resamples=20
        ).rows
        for seed in (1, 5)
    )
    assert one.equals(other)


def test_alt_test_of_battles_does_not_depend_on_the_names_of_systems():
    frame = all_pairs(2)
    new = {"birch": "b", "aspen": "z", "cedar": "a"}
    frames = (frame, frame.with_columns(pl.col("first", "second").replace(new)))
    tests = [assay.alt_test(assay.read(as_battles(f), judges=["gpt-4o"]), "gpt-4o", epsilon=0.1) for f in frames]
    one, other = (test.summary().splitlines() for test in tests)
    # Item-level agreement is a permutation, which is generated in the order of the items' names.
    assert [one[k] for k in (0, 1, 3, 4)] == [other[k] for k in (0, 1, 3, 4)]
    strata = [re.findall(r"“(.+?)”", "".join(lines)) for lines in (one, other)]
    assert strata[0] == strata[1] == ["second", "first", "first"]


def test_item_of_question_and_systems_ignores_order_of_systems(tmp_path):
    frame = all_pairs(3)
    battles = as_battles(frame)
    battles.write_csv(tmp_path / "battles.csv")
    found = assay.read(battles, judges=["gpt-4o"])
    for source in (battles, tmp_path / "battles.csv"):
        named = assay.read(source, judges=["gpt-4o"], item=["question_id", "model_a", "model_b"])
        assert named.items["item"].to_list() == found.items["item"].to_list()
        assert named.fingerprint == found.fingerprint
        assert any("question_id, model_a, model_b" in note for note in named.reading.notes)
    long = assay.read(frame, judges=["gpt-4o"], scale="preference", item=["item", "first", "second"])
    assert long.fingerprint == found.fingerprint


def test_item_of_one_column_is_read_from_battles_in_memory():
    battles = as_battles(votes(noisy, ONE_PAIR, seed=1)).rename({"question_id": "prompt"})
    labels = assay.read(battles, judges=["gpt-4o"], item="prompt")
    assert labels.items["item"].to_list()[:2] == ["q00", "q01"]
    assert assay.read(battles, judges=["gpt-4o"], item=["prompt"]).fingerprint == labels.fingerprint
    with pytest.raises(DataError, match="has no column 'promt'"):
        assay.read(battles, judges=["gpt-4o"], item=["promt", "model_a"])


def test_item_of_several_fields_is_refused_for_an_export_of_a_platform(tmp_path):
    path = tmp_path / "log.eval"
    path.write_bytes(b"")
    with pytest.raises(DesignError, match=r"in the format 'inspect-ai' one field contains the item id.*a, b; give one"):
        assay.read(path, item=["a", "b"])


def test_items_of_a_question_are_those_of_each_of_its_pairs():
    items = pl.DataFrame({"item": [f"q{i:02d}" for i in range(31)], "topic": ["food", "law"] * 15 + ["food"]})
    labels = assay.read(as_battles(all_pairs(4)), judges=["gpt-4o"], items=items)
    expected = ["law" if int(name[1:]) % 2 else "food" for name in labels.items["pair_of"]]
    assert labels.items["topic"].to_list() == expected
    assert "1 item of the item table without a label" in labels.reading.notes


def test_clusters_take_the_name_of_the_question_column():
    labels = assay.read(as_battles(all_pairs(5)), judges=["gpt-4o"], item="question_id")
    one, other = (assay.measures.exact_agreement(labels, clusters=name) for name in ("question_id", "pair_of"))
    assert (one.low, one.high) == (other.low, other.high)
    assert one.low < assay.measures.exact_agreement(labels).estimate < one.high


def test_ratings_of_battles_resample_questions():
    labels = assay.read(as_battles(all_pairs(6)), judges=["gpt-4o"])
    assert assay.ratings(labels, prior=1, n_resamples=50).run.facts["items"] == 30
    found = assay.consistency(labels, measure="strength", method="none")
    assert np.isfinite(found.rows["estimate"].to_numpy()).all()
    once = assay.consistency(labels, method="none").rows  # each annotator votes once on each pair
    assert once["reason"].unique().to_list() == ["every rating set has one vote"]
