"""Battles under any names: two sides that never meet themselves, and a column that says who won."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.structure.cells import views_of
from assay.data.structure.sides import Battle, find_battles, votes_in
from assay.errors import DataError
from assay.replacement.page import card

SYSTEMS = ["oak", "elm", "ash", "fir"]


def battles(winner: Any, names: tuple[str, str, str], n: int = 60, seed: int = 0) -> pl.DataFrame:
    """Battles of four systems, of which the first by place in `SYSTEMS` wins most often."""
    rng, rows = np.random.default_rng(seed), []
    for k in range(n):
        one, other = rng.choice(4, 2, replace=False)
        won = 0 if rng.random() < 0.1 else -1 if one < other or rng.random() < 0.2 else 1
        said = (SYSTEMS[one], SYSTEMS[other], winner(won, SYSTEMS[one], SYSTEMS[other]))
        rows += [(f"p{k}", who, *said) for who in ("uma", "vic")]
    return pl.DataFrame(rows, schema=["prompt_id", "voter", *names], orient="row")


WAYS = {
    "by name": (lambda w, a, b: {-1: a, 1: b, 0: "tie"}[w], ("model_1", "model_2", "preferred")),
    "left and right": (lambda w, a, b: {-1: "Left", 1: "Right", 0: "Both"}[w], ("left", "right", "winner")),
    "letters": (lambda w, a, b: {-1: "A", 1: "B", 0: "tie"}[w], ("output_a", "output_b", "verdict")),
    "brackets": (lambda w, a, b: {-1: "[[A]]", 1: "[[B]]", 0: "[[C]]"}[w], ("system_x", "system_y", "judgment")),
    "numbers": (lambda w, a, b: {-1: 1, 1: 2, 0: None}[w], ("first", "second", "choice")),
    "without names": (lambda w, a, b: {-1: a, 1: b, 0: "draw"}[w], ("c3", "c1", "c2")),
}


@pytest.mark.parametrize("way", WAYS)
def test_read_battles_by_any_names(way):
    winner, names = WAYS[way]
    frame = battles(winner, names)
    (found,) = find_battles(frame, views_of(frame))
    assert {found.first, found.second} == set(names[:2])
    assert found.winner == names[2]
    labels = assay.read(frame, item="prompt_id", annotator="voter")
    by_name = battles(*WAYS["by name"]).rename({"model_1": "model_a", "model_2": "model_b", "preferred": "winner"})
    canonical = assay.read(by_name, item="prompt_id")
    # The same votes for each system, on either side; ties that are empty cells are excluded.
    assert wins(labels) == wins(canonical)
    assert labels.humans == ("uma", "vic")


def wins(table: assay.Annotations) -> Counter[str]:
    side = pl.when(pl.col("label") < 0).then("first").otherwise("second")
    votes = table.labels.join(table.items, on="item")
    return Counter(votes.filter(pl.col("label") != 0).select(side).to_series().to_list())


def test_votes_in_reads_grades():
    frame = pl.DataFrame({"a": ["m"] * 6, "b": ["n"] * 6, "w": ["A>B", "A>>B", "A=B", "B>A", "[[B>>A]]", "A<B"]})
    assert votes_in(frame, Battle("a", "b", "w")).to_list() == [-1, -2, 0, 1, 2, 1]
    graded = assay.read(frame.rename({"a": "model_a", "b": "model_b", "w": "winner"}))
    assert graded.scale.spec == "preference:slightly<much"


@pytest.mark.parametrize("way", WAYS)
def test_votes_in_reads_long_tables_row_by_row(way):
    winner, names = WAYS[way]
    frame, battle = battles(winner, names, n=1_100), Battle(*names)
    rows = [votes_in(frame.slice(at, 200), battle) for at in range(0, frame.height, 200)]
    assert votes_in(frame, battle).to_list() == pl.concat(rows).to_list()


def test_read_battles_without_a_question_are_items():
    frame = pl.DataFrame({"model_a": ["oak"] * 3, "model_b": ["elm"] * 3, "winner": ["model_a", "tie", "model_a"]})
    table = assay.read(frame)
    assert table.n_items == 3
    assert "repeat" not in table.labels.columns


def test_find_battle_ignores_other_tables():
    rng = np.random.default_rng(0)
    n = 80
    raters = pl.DataFrame({
        "item": [f"i{k}" for k in range(n)], "rater_a": rng.integers(1, 6, n), "rater_b": rng.integers(1, 6, n),
        "label_c": rng.integers(1, 6, n),
    })  # fmt: skip
    assert find_battles(raters, views_of(raters)) == []
    pairs = pl.DataFrame({"from": rng.choice(["x", "y"], n), "to": rng.choice(["x", "y"], n), "choice": ["ok"] * n})
    assert find_battles(pairs, views_of(pairs)) == []


def test_read_battles_refuses_unknown_winners():
    frame = pl.DataFrame({"model_a": ["m"] * 4, "model_b": ["n"] * 4, "winner": ["k", "k", "m", "k"]})
    with pytest.raises(DataError, match=r"'winner' names no winner in 3 rows \('k'\); it must contain a side"):
        assay.read(frame)


def test_read_texts_of_two_responses_as_votes():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({
        "prompt_id": [f"p{k}" for k in range(20)] * 2, "worker": ["u"] * 20 + ["v"] * 20,
        "response_a": [f"This is the first response to prompt number {k}." for k in range(20)] * 2,
        "response_b": [f"This is another response to prompt number {k}." for k in range(20)] * 2,
        "verdict": rng.choice(["A", "B"], 40),
    })  # fmt: skip
    labels = assay.read(frame)
    assert (labels.n_items, labels.humans, labels.scale.spec) == (20, ("u", "v"), "preference")


def test_read_battles_finds_the_question():
    rows = [(f"q{k}", "oak", "elm", who, ("left", "right", "equal")[(k + len(who)) % 3])
            for k in range(12) for who in ("u", "vv")]  # fmt: skip
    frame = pl.DataFrame(
        rows, schema=["qid", "resp_left", "resp_right", "annotator_id", "preferred_side"], orient="row"
    )
    assert assay.read(frame).n_items == 12


@pytest.mark.slow
@pytest.mark.parametrize("way", ["by name", "left and right", "letters", "without names"])
def test_read_takes_each_column_that_names_the_winner_as_a_rater(way):
    """In wide tables of votes, under any words for the sides; the first column is not the only one that is read."""
    winner, names = WAYS[way]
    long = battles(winner, names).filter(pl.col("voter") == "uma").drop("voter")
    raters = ["annotator1", "annotator2", "gpt"]
    wide = long.rename({names[2]: "annotator1"}).with_columns(annotator2="annotator1", gpt="annotator1")
    swapped = battles(lambda won, a, b: winner(-won, a, b), names).filter(pl.col("voter") == "uma")
    wide = wide.with_columns(swapped[names[2]].alias("annotator2"))
    alone = wins(assay.read(long.with_columns(voter=pl.lit("uma")), item="prompt_id"))
    turned = wins(assay.read(swapped, item="prompt_id"))
    for options in ({}, {"layout": "wide", "columns": raters}, {"scale": "preference"}):
        labels = assay.read(wide, item="prompt_id", judges=["gpt"], **options)
        assert (labels.humans, labels.judges, labels.scale.spec) == (
            ("annotator1", "annotator2"),
            ("gpt",),
            "preference",
        )
        one, other, same = (wins(labels.where(annotator=name)) for name in raters)
        assert one == same == alone
        assert other == turned != one
    systems = assay.ratings(labels, prior=1, n_resamples=20).table["system"]
    assert set(systems) >= {str(v) for v in wide[names[0]]}


def test_read_refuses_wide_votes_whose_columns_can_be_criteria():
    winner, names = WAYS["by name"]
    wide = battles(winner, names).filter(pl.col("voter") == "uma").drop("voter")
    wide = wide.with_columns(clear=pl.col("preferred"), kind=pl.col("preferred")).drop("preferred")
    wide = wide.rename({"kind": "safe"})
    with pytest.raises(DataError, match="are they annotators, or questions to one person"):
        assay.read(wide, item="prompt_id")


SIDES = {
    "texts": (["The cat sat on the mat.", "Rain falls in town.", "He left early.", "The soup is salty."] * 2,
              ["A feline rested.", "It rains today.", "He is gone.", "Salty soup again."] * 2),
    "systems": (["oak", "oak", "elm", "elm", "fir", "fir", "oak", "elm"],
                ["elm", "fir", "fir", "oak", "oak", "elm", "fir", "oak"]),
}  # fmt: skip


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("names", [("A", "B"), ("response_1", "response_2"), ("model_a", "model_b")])
def test_read_takes_columns_of_sides_for_what_is_compared(sides, names):
    """Columns of named sides are neither labels nor annotators, although each annotator has a column of few words."""
    one, other = SIDES[sides]
    votes = {"ann1": list("ABAAABBA"), "ann2": ["B", "B", "A", "tie", "A", "A", "B", "A"], "gpt-4o": list("ABBAABBA")}
    frame = pl.DataFrame({"prompt_id": [f"q{k}" for k in range(8)], names[0]: one, names[1]: other, **votes})
    labels = assay.read(frame, judges=["gpt-4o"])
    assert (labels.humans, labels.judges, labels.scale.spec) == (("ann1", "ann2"), ("gpt-4o",), "preference")
    assert Counter(labels.where(annotator="ann1").labels["label"].to_list()) == {-1: 5, 1: 3}


@pytest.mark.parametrize("names", [("rater 1", "rater 2"), ("left", "right"), ("essay_1", "essay_2")])
def test_numbers_next_to_columns_of_sides_are_labels(names):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.integers(1, 3, 30) for name in (*names, "rater 3", "rater 4")})
    assert find_battles(frame, views_of(frame)) == []
    words = pl.DataFrame({name: rng.choice(["A", "B"], 30) for name in (*names, "rater 3", "rater 4")})
    assert find_battles(words, views_of(words)) == []


def arena(*names: str) -> pl.DataFrame:
    """60 prompts, on each of which two people and a model voted once about each of three pairs of systems."""
    rng = np.random.default_rng(3)
    pairs = [("oak", "elm"), ("ash", "oak"), ("elm", "ash")]
    rows = [
        (f"p{k}", *pair, who, str(rng.choice(["model_a", "model_b", "tie"])))
        for k in range(60) for pair in pairs for who in names
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["prompt", "model_a", "model_b", "who", "winner"], orient="row")


@pytest.mark.parametrize("column", ["voter", "juror_id", "given by", "source"])
@pytest.mark.parametrize("stated", [{}, {"judges": ["gpt-judge"]}])
def test_arena_finds_who_voted_by_name_or_by_models_among_people(column: str, stated: dict[str, Any], tmp_path: Any):
    """A column of people and models is who voted, not a part of the question."""
    table = arena("h1", "h2", "gpt-judge").rename({"who": column})
    table.write_csv(tmp_path / "votes.csv")
    for source in (table, tmp_path / "votes.csv"):
        found = assay.look(source, **stated)
        assert "180 items, 2 humans, 1 judge, preference" in found.summary()
    read = assay.read(table, judges=["gpt-judge"])
    assert (read.humans, read.judges, read.n_items) == (("h1", "h2"), ("gpt-judge",), 180)
    assert set(assay.ratings(read, n_resamples=20).table["who"]) == {"humans", "gpt-judge"}


def test_arena_column_with_one_value_per_question_is_not_who_voted():
    """The source of a prompt can be a model, a book or a person."""
    table = arena("h1").drop("who")
    sources = pl.col("prompt").str.slice(1).cast(pl.Int64) % 2
    table = table.with_columns(source=pl.when(sources == 0).then(pl.lit("gpt-4")).otherwise(pl.lit("books")))
    assert assay.read(table).humans == ("voters",)


@pytest.mark.parametrize("graded", [False, True])
def test_annotations_of_alpaca_eval_are_votes(graded, tmp_path):
    """Preferences from 1, for the first output, to 2; 1.5 or 0 is a tie, and a weighted annotator's are fractions."""
    values = [1.0, 2.0, 1.5, 1.02, 1.97] if graded else [1, 2, 1.5, 0, None]
    records = [
        {"instruction": f"Explain {k}.", "output_1": f"one {k}", "generator_1": "base", "dataset": "koala",
         "output_2": f"two {k}", "generator_2": model, "annotator": "alpaca_eval_gpt4", "preference": values[k % 5]}
        for k in range(20) for model in ("llama-3", "mistral-7b")
    ]  # fmt: skip
    (tmp_path / "annotations.json").write_text(json.dumps(records))
    votes = assay.read(tmp_path / "annotations.json", judges=["alpaca_eval_gpt4"])
    assert (len(votes), votes.scale.kind) == (40 if graded else 32, "preference")
    wins = {1.0: "base", 1.02: "base", 2.0: "other", 1.97: "other"}
    for row in votes.labels.iter_rows(named=True):
        number = int(row["pair_of"].split()[1].rstrip("."))
        sides = (row["first"], row["second"])
        winner = "tie" if row["label"] == 0 else "base" if sides[row["label"] > 0] == "base" else "other"
        assert winner == wins.get(values[number % 5], "tie")
    assert any("; its size is not read" in note for note in votes.reading.notes) is graded
    board = assay.ratings(votes, method="none")
    assert {*board.rows["system"]} == {"base", "llama-3", "mistral-7b"}


def arena_of_a_crowd() -> pl.DataFrame:
    """Sixty voters cast six votes each, on 120 pairs of two systems, three a pair; a judge votes on each."""
    rng = np.random.default_rng(6)
    voters = np.concatenate([rng.permutation([f"u{k:02}" for k in range(60)]) for _ in range(6)])
    rows = []
    for k in range(120):
        better = ("x", "y")[k % 2]
        for who in (*voters[3 * k : 3 * k + 3], "gpt-4o"):
            first, second = ("x", "y") if rng.random() < 0.5 else ("y", "x")
            winner = better if rng.random() < 0.85 else "xy".replace(better, "")
            rows.append((f"q{k}", first, second, "model_a" if winner == first else "model_b", str(who)))
    return pl.DataFrame(rows, schema=["question_id", "model_a", "model_b", "winner", "judge"], orient="row")


@pytest.mark.parametrize("how", ["frame", "csv", "jsonl"])
def test_voters_of_an_arena_are_places_of_a_crowd(tmp_path, how: str) -> None:
    source = frame = arena_of_a_crowd()
    if how != "frame":
        source = tmp_path / f"votes.{how}"
        frame.write_csv(source) if how == "csv" else frame.write_ndjson(source)
    labels = assay.read(source, annotator="place", judges=["gpt-4o"])
    assert (labels.humans, labels.judges) == (("1", "2", "3"), ("gpt-4o",))
    assert labels.labels.group_by("annotator").len()["len"].to_list() == [120] * 4
    assert any("people are named by a place among the votes on one pair" in line for line in labels.reading.lines())
    test = assay.alt_test(labels, "gpt-4o", expertise="crowd")
    assert test.n_annotators == 3
    assert "annotators 1, 2, 3 have no names" in test.summary()
    # The sides are those of the votes: each place prefers the better system about as often as the voters do.
    named = assay.read(frame, judges=["gpt-4o"])
    assert labels.labels["label"].sum() == named.labels["label"].sum()


def test_voters_with_few_votes_each_are_advised_to_be_read_as_a_crowd() -> None:
    test = assay.alt_test(assay.read(arena_of_a_crowd(), judges=["gpt-4o"]), "gpt-4o", expertise="crowd")
    assert test.reason == "too_few_items_per_annotator"
    assert "annotator='place' (--annotator place)" in str(card(test))


def test_places_of_votes_are_drawn_for_people_alone() -> None:
    frame = arena_of_a_crowd().with_columns(judge=pl.col("judge").replace("gpt-4o", "ranker"))
    labels = assay.read(frame, annotator="place", judges=["ranker"])
    assert labels.judges == ("ranker",)
    # Without a column of voters, each vote on a pair is a place.
    nobody = assay.read(frame.filter(pl.col("judge") != "ranker").drop("judge"), annotator="place")
    assert nobody.humans == ("1", "2", "3")


def test_systems_have_one_spelling() -> None:
    frame = arena_of_a_crowd().with_row_index("k").with_columns(
        model_a=pl.when(pl.col("k") == 3).then(pl.col("model_a").str.to_uppercase()).otherwise("model_a"),
        model_b=pl.when(pl.col("k") == 5).then(pl.col("model_b") + " ").otherwise("model_b"),
    ).drop("k")  # fmt: skip
    with pytest.raises(DataError, match=r"systems differ only in case or spaces: 'X', 'x'. Set spelling='merge'"):
        assay.read(frame, judges=["gpt-4o"])
    labels = assay.read(frame, judges=["gpt-4o"], spelling="merge")
    assert labels.fingerprint == assay.read(arena_of_a_crowd(), judges=["gpt-4o"]).fingerprint
    assert {*labels.column("first"), *labels.column("second")} == {"x", "y"}
    notes = " ".join(labels.reading.lines())
    assert "removed spaces around names of systems in 1 row" in notes
    assert "systems that differ only in spelling are merged" in notes
    apart = assay.read(frame, judges=["gpt-4o"], spelling="apart")
    assert len({*apart.column("first"), *apart.column("second")}) == 3
