"""Leaderboards of systems whose outputs were scored: scores of one annotator on one source are votes."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError

SYSTEMS = {"deep": 1.0, "fast": 0.2, "old": -0.8}
SCORED = {"scored": "system", "sources": "segment"}


def scores(n: int = 30, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Scores of two humans from 0 to 100, with some missing, and of a judge from 1 to 5."""
    rng = np.random.default_rng(seed)
    rows, items = [], []
    for k in range(n):
        for system, quality in SYSTEMS.items():
            item, true = f"{k}-{system}", quality + rng.normal()
            items.append((item, f"s{k}", system, f"d{k // 3}", rng.random()))
            noisy = true + 0.5 * rng.normal(size=3)
            rows.append((item, "ann", float(np.clip(round(60 + 15 * noisy[0]), 0, 100))))
            rows.append((item, "m1", float(np.clip(round(3 + noisy[2]), 1, 5))))
            if (k + len(system)) % 4:
                rows.append((item, "bob", float(np.clip(round(50 + 15 * noisy[1]), 0, 100))))
    names = ["item", "segment", "system", "document", "length"]
    return (pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"),
            pl.DataFrame(items, schema=names, orient="row"))  # fmt: skip


def table(n: int = 30, seed: int = 0) -> assay.Annotations:
    labels, items = scores(n, seed)
    return assay.read(labels, items=items, judges=["m1"], scale="interval:0-100")


def test_scores_are_the_votes_of_a_plain_loop() -> None:
    labels, items = scores()
    about = {item: (segment, system) for item, segment, system, *_ in items.rows()}
    of = {(who, *about[item]): score for item, who, score in labels.rows()}
    votes = []
    for who in ("ann", "bob", "m1"):
        for k in range(30):
            for one, other in combinations(SYSTEMS, 2):
                if (who, f"s{k}", one) in of and (who, f"s{k}", other) in of:
                    label = np.sign(of[who, f"s{k}", other] - of[who, f"s{k}", one])
                    votes.append((f"s{k}", who, one, other, int(label)))
    frame = pl.DataFrame(votes, schema=["item", "annotator", "first", "second", "label"], orient="row")
    plain = assay.ratings(assay.read(frame, scale="preference", judges=["m1"]), n_resamples=200, seed=3)
    found = assay.ratings(table(), **SCORED, n_resamples=200, seed=3)
    columns = ["who", "system", "estimate", "low", "high", "votes", "wins", "ties"]
    assert found.rows.select(columns).equals(plain.rows.select(columns))
    assert found.pairs.equals(plain.pairs)
    assert plain.rows["ties"].sum() > 0


def test_the_judges_order_is_compared_with_that_of_humans() -> None:
    found = assay.ratings(table(120), **SCORED, n_resamples=400)
    said = found.summary()
    assert said.startswith("m1 and humans: same order demonstrated for all 3 pairs.")
    assert "A vote compares an annotator's scores of two systems on one value of 'segment'." in said
    assert "|scored:system|sources:segment|" in found.signature


def test_scores_without_a_second_system_are_counted() -> None:
    labels, items = scores()
    alone = pl.DataFrame({"item": ["x"], "annotator": ["ann"], "label": [50.0]})
    more = pl.DataFrame({"item": ["x"], "segment": ["sx"], "system": ["old"], "document": ["dx"], "length": [0.5]})
    together = assay.read(pl.concat([labels, alone]), items=pl.concat([items, more]), judges=["m1"],
                          scale="interval:0-100")  # fmt: skip
    found, before = (assay.ratings(one, **SCORED, method="none") for one in (together, table()))
    assert found.rows.equals(before.rows)
    counts = [sum(one.count for one in each.run.exclusions) for each in (found, before)]
    assert counts[0] == counts[1] + 1
    assert "no score of another system by the annotator on the same source" in found.summary()
    assert found.signature != before.signature


@pytest.mark.parametrize("options", [{"model": "elo", "n_orders": 3}, {"clusters": "document"}, {"by": "half"}])
def test_other_options_hold_for_scores(options: dict[str, object]) -> None:
    labels, items = scores()
    halves = items.with_columns(half=pl.when(pl.col("segment").str.slice(1).cast(pl.Int64) < 15).then(pl.lit("a"))
                                .otherwise(pl.lit("b")))  # fmt: skip
    read = assay.read(labels, items=halves, judges=["m1"], scale="interval:0-100")
    found = assay.ratings(read, **SCORED, **options, n_resamples=60)
    groups = 3 if "by" in options else 1
    assert found.rows.height == groups * 2 * len(SYSTEMS)
    assert {*found.rows["system"]} == {*SYSTEMS}


def test_several_outputs_of_a_system_are_all_compared() -> None:
    rows = [("a1", "s", "a", 3.0), ("a2", "s", "a", 5.0), ("b1", "s", "b", 4.0), ("a3", "t", "a", 2.0),
            ("b2", "t", "b", 1.0)]  # fmt: skip
    labels = assay.read(
        pl.DataFrame([(i, "ann", v) for i, _, _, v in rows], schema=["item", "annotator", "label"], orient="row"),
        items=pl.DataFrame([(i, s, m) for i, s, m, _ in rows], schema=["item", "segment", "system"], orient="row"),
        scale="1-5",
    )
    found = assay.ratings(labels, **SCORED, method="none")
    assert dict(found.rows.select("system", "wins").rows()) == {"a": 2, "b": 1}


def test_what_cannot_be_compared_is_refused() -> None:
    labels = table(6)
    with pytest.raises(DesignError, match=r"both scored=\.\.\. .* and sources=\.\.\."):
        assay.ratings(labels, scored="system")
    with pytest.raises(DesignError, match=r"both scored=\.\.\. .* and sources=\.\.\."):
        assay.ratings(labels, sources="segment")
    with pytest.raises(DesignError, match="no annotator scored two systems"):
        assay.ratings(labels, scored="system", sources="item")
    with pytest.raises(DataError, match="column 'sytem' is not in the table; did you mean 'system'"):
        assay.ratings(labels, scored="sytem", sources="segment")
    with pytest.raises(DesignError, match=r"scores of systems are votes with scored=\.\.\. and sources=\.\.\."):
        assay.ratings(labels)
    words = assay.read(labels.labels.with_columns(label=pl.lit("good")), items=labels.items, judges=["m1"])
    with pytest.raises(DesignError, match="scored='system' compares scores; each label is"):
        assay.ratings(words, **SCORED)
    gaps = labels.items.with_columns(system=pl.when(pl.col("item") == "0-old").then(None).otherwise("system"))
    read = assay.read(labels.labels, items=gaps, judges=["m1"], scale="interval:0-100")
    with pytest.raises(DataError, match="item '0-old' has no value of 'system'"):
        assay.ratings(read, **SCORED)


def test_a_wide_sheet_of_scores_is_ranked_by_the_command(tmp_path: Path, run) -> None:
    labels, items = scores(40)
    wide = items.join(labels.pivot("annotator", index="item", values="label"), on="item").drop("item")
    wide.with_columns(m1=25 * (pl.col("m1") - 1)).rename({"m1": "gpt-4o"}).write_csv(tmp_path / "mt.csv")
    code, out, err = run(
        "ratings", str(tmp_path / "mt.csv"), "--wide", "--item", "segment,system", "--columns", "ann,bob,gpt-4o",
        "--judges", "gpt-4o", "--scale", "interval:0-100", "--scored", "system", "--sources", "segment",
        "--clusters", "document", "--n-resamples", "60",
    )  # fmt: skip
    assert (code, "gpt-4o and humans: same order demonstrated" in out) == (0, True), err


def test_one_score_per_item_ranks_systems() -> None:
    """With one annotator, the columns about items are columns of the labels."""
    rows = [(f"q{k}-{name}", f"q{k}", name, "en" if k % 2 else "de", "gpt-4o", score)
            for k in range(20) for name, score in (("a", 4 if k % 4 else 2), ("b", 3))]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "question", "system", "language", "annotator", "label"], orient="row")
    labels = assay.read(frame, judges=["gpt-4o"], scale="1-5")
    assert labels.items.columns == ["item"]
    found = assay.ratings(labels, scored="system", sources="question", by="language", method="none")
    assert found.rows.filter(pl.col("group").is_null())["system"].to_list() == ["a", "b"]
    assert found.wins.filter(pl.col("group").is_null(), first="a")["wins"].to_list() == [15]
    assert {*found.rows["group"].drop_nulls()} == {"de", "en"}


def votes_and_scores(seed: int = 2) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Three people vote on one pair of three systems for each question; a judge scores all systems of all questions."""
    rng = np.random.default_rng(seed)
    worth = {"alpha": 1.0, "bravo": 0.0, "cedar": -1.0}
    votes, scores = [], []
    for k in range(90):
        a, b = rng.choice(list(worth), 2, replace=False)
        here = {name: value + rng.normal(0, 1.5) for name, value in worth.items()}
        for who in ("ann", "ben", "chi"):
            one, other = (a, b) if rng.random() < 0.5 else (b, a)
            first = here[one] + rng.normal(0, 0.5) > here[other] + rng.normal(0, 0.5)
            votes.append((f"q{k}", one, other, "model_a" if first else "model_b", who))
        scores += [(f"q{k}", name, "gpt-4o", round(min(10, max(1, 5.5 + 1.5 * (value + rng.normal(0, 0.4))))))
                   for name, value in here.items()]  # fmt: skip
    return (
        pl.DataFrame(votes, schema=["question_id", "model_a", "model_b", "winner", "judge"], orient="row"),
        pl.DataFrame(scores, schema=["question_id", "system", "annotator", "label"], orient="row"),
    )


def test_scores_of_a_judge_join_the_votes_of_people_on_their_pairs() -> None:
    votes, scores = votes_and_scores()
    people, judge = assay.read(votes), assay.read(scores, judges=["gpt-4o"], scale="1-10")
    both = people.join(judge, scored="system", sources="question_id")
    mine = both.where(annotator="gpt-4o")
    assert (mine.labels.height, both.n_items) == (90, 90)
    assert "90 votes made of scores of two 'system' on one 'question_id', for 90 of 90 pairs with votes" in (
        both.reading.lines()
    )
    given = {(q, name): score for q, name, _, score in scores.iter_rows()}
    sides = zip(mine.column("item"), mine.column("first"), mine.column("second"), mine.labels["label"], strict=True)
    for question, first, second, label in sides:
        assert label == np.sign(given[question, second] - given[question, first])
    found = assay.ratings(both)
    assert found.raters == ("humans", "gpt-4o")
    assert found.rows.filter(who="gpt-4o")["votes"].sum() == 180
    assert found.headlines()[0].startswith("gpt-4o and humans: same order demonstrated for ")
    # The same table serves the alternative annotator test.
    assert assay.alt_test(both, "gpt-4o", expertise="crowd").advantage_probability.estimate > 0.85


def test_scores_that_are_on_no_pair_are_refused() -> None:
    votes, scores = votes_and_scores()
    people = assay.read(votes)
    other = assay.read(scores.with_columns(pl.col("system").str.to_uppercase()), judges=["gpt-4o"], scale="1-10")
    with pytest.raises(DataError, match="no pair of systems with a vote has two scores of one annotator"):
        people.join(other, scored="system", sources="question_id")
    with pytest.raises(DesignError, match="join a table of votes with a table of scores, in this order"):
        other.join(people, scored="system", sources="question_id")


def test_ratings_of_a_file_of_votes_and_one_of_scores(tmp_path: Path, run) -> None:
    for name, frame in zip(("people.csv", "judge.csv"), votes_and_scores(), strict=True):
        frame.write_csv(tmp_path / name)
    files = [str(tmp_path / name) for name in ("people.csv", "judge.csv")]
    with pytest.raises(DataError, match=r"assay ratings VOTES SCORES --scored SYSTEM --sources QUESTION"):
        assay.read(files, judges=["gpt-4o"])
    for order in (files, files[::-1]):
        status, out, _ = run("ratings", *order, "--judges", "gpt-4o", "--scored", "system", "--sources", "question_id")
        assert status == 0
        assert "gpt-4o and humans: same order demonstrated for" in out.replace("\n", " ")
