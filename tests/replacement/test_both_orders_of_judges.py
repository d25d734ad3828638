"""Votes of a judge in both orders of a pair, next to annotators who voted in one."""

from __future__ import annotations

import numpy as np
import polars as pl

import assay


def table(*, people_in_both: bool, seed: int = 3) -> assay.Annotations:
    """Battles of two systems; annotators, and the judge in each order, prefer the better one in 7 of 10 votes."""
    rng = np.random.default_rng(seed)
    rows = []

    def vote(who: str, k: int, first: str, second: str) -> None:
        better = "model_a" if first == "good" else "model_b"
        other = "model_b" if better == "model_a" else "model_a"
        rows.append((f"q{k}", first, second, better if rng.random() < 0.7 else other, who))

    for k in range(120):
        for who in ("ann", "bob", "cho", "gpt-4o"):
            orders = [("good", "weak"), ("weak", "good")]
            one = orders[int(rng.integers(2))]
            for pair in orders if who == "gpt-4o" or people_in_both else [one]:
                vote(who, k, *pair)
    frame = pl.DataFrame(rows, schema=["question_id", "model_a", "model_b", "winner", "judge"], orient="row")
    return assay.read(frame, judges=["gpt-4o"])


def test_ties_of_a_judge_that_voted_in_both_orders_are_stated() -> None:
    labels = table(people_in_both=False)
    votes = labels.labels.filter(pl.col("annotator") == "gpt-4o")
    ties = sum(len({*each}) > 1 for each in votes.group_by("item").agg("label")["label"].to_list())
    assert labels.with_one_vote.reading.as_one_vote == {"gpt-4o": (120, ties)}
    said = assay.alt_test(labels, "gpt-4o", expertise="crowd").summary()
    assert (
        f"Notes: its votes on 120 pairs in both orders count as one vote each, and as a tie on the {ties} "
        f"({100 * ties / 120:.0f}%) on which they differ; annotators voted in one order and have no such ties, which "
        "lowers its agreement with them."
    ) in said
    # Labels have the words of votes.
    assert "it gives “1”" not in said
    both = assay.alt_test(table(people_in_both=True), "gpt-4o", expertise="crowd").summary()
    assert "on which they differ." in both
    assert "annotators voted in one order" not in both


def test_probes_use_an_order_that_is_drawn_by_item() -> None:
    """A judge that mostly votes for the first position prefers neither system: over both orders, half for each."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(300):
        for first, second in (("good", "weak"), ("weak", "good")):
            rows.append((f"q{k}", first, second, "model_a" if rng.random() < 0.8 else "model_b", "gpt-4o"))
        for who in ("ann", "bob"):
            first, second = ("good", "weak") if rng.random() < 0.5 else ("weak", "good")
            rows.append((f"q{k}", first, second, "model_a" if rng.random() < 0.5 else "model_b", who))
    frame = pl.DataFrame(rows, schema=["question_id", "model_a", "model_b", "winner", "judge"], orient="row")
    found = assay.probes(assay.read(frame, judges=["gpt-4o"]))
    shares = found.table.filter((pl.col("probe") == "shares") & pl.col("measure").str.contains("first|second"))
    assert shares.height == 2
    assert shares["estimate"].abs().max() < 0.1
    assert not shares["detected"].any()
    (position,) = found.table.filter((pl.col("probe") == "position") & pl.col("measure").str.contains("first"))[
        "estimate"
    ]
    assert position > 0.75
