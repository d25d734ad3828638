"""Votes of a judge in both orders: one vote for tests and coefficients, both for the bias of position."""

from __future__ import annotations

import polars as pl
import pytest

import assay
from assay.data.scales import Preference


def votes(scale: Preference | None = None, n: int = 40) -> assay.Annotations:
    """Three annotators with one order each, and a judge with both: of every fifth pair it chooses the first place."""
    rows: list[tuple[str, str, int, str]] = []
    for i in range(n):
        side = (-1, 1)[i % 2]
        for k, name in enumerate(("ann", "bob", "cem")):
            rows.append((f"i{i}", name, -side if (i + k) % 9 == 0 else side, ("a>b", "b>a")[(i + k) % 2]))
        rows += [(f"i{i}", "gpt", side, "a>b"), (f"i{i}", "gpt", -side if i % 5 == 0 else side, "b>a")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "order"], orient="row")
    return assay.read(frame, judges=["gpt"], scale="preference", conditions=["order"])


def test_votes_in_both_orders_are_one_of_a_drawn_order() -> None:
    labels = votes()
    one = labels.resolve_repeats("error")
    judge = one.where(annotator="gpt").labels
    assert judge.height == 40
    assert all(v == (-1, 1)[i % 2] for i, v in enumerate(judge["label"].to_list()) if i % 5)
    # Each order is drawn about as often as the other, and the vote is the one given in it.
    assert 12 <= judge["order"].to_list().count("a>b") <= 28
    assert judge.join(labels.labels, on=["item", "annotator", "label", "order"]).height == 40
    assert "votes in both orders: 40 pairs of votes count as one, in an order that is drawn for each pair; 8 of them "\
        "differ" in one.reading.lines()  # fmt: skip
    # Those who saw one order keep it.
    assert (
        one.where(annotator="ann").labels["order"].to_list() == labels.where(annotator="ann").labels["order"].to_list()
    )
    assert one.resolve_repeats("error").labels.equals(one.labels)
    # The draw is that of every part of the table, for all rows and people's names.
    part = labels.where(item=["i5", "i10", "i15", "i20"], annotator="gpt").resolve_repeats("error").labels
    assert part["label"].to_list() == judge.filter(pl.col("item").is_in(part["item"].implode()))["label"].to_list()


def test_judges_draw_one_order_of_a_pair_and_each_person_another() -> None:
    """Who always names the first text agrees with others of this kind in half of the pairs, not in all of them."""
    rows = [(f"i{i}", name, label, order) for i in range(400) for name in ("ann", "bob", "gpt", "llm")
            for label, order in ((-1, "a>b"), (1, "b>a"))]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "order"], orient="row")
    labels = assay.read(frame, judges=["gpt", "llm"], scale="preference", conditions=["order"])
    ann, bob, gpt, llm = labels.resolve_repeats("error").matrix(["ann", "bob", "gpt", "llm"]).T
    assert (gpt == llm).all()
    assert all(0.4 < (one == other).mean() < 0.6 for one, other in ((ann, bob), (ann, gpt), (bob, gpt)))


@pytest.mark.parametrize(
    ("given", "one"), [((-2, -1), -1), ((2, 2), 2), ((1, 2), 1), ((-1, 2), 0), ((0, 2), 0), ((0, 0), 0)]
)
def test_weaker_grade_of_one_side(given: tuple[int, int], one: int) -> None:
    frame = pl.DataFrame(
        {"item": ["i"] * 3, "annotator": ["gpt", "gpt", "ann"], "label": [*given, 1], "order": ["a>b", "b>a", "a>b"]}
    )
    labels = assay.read(frame, judges=["gpt"], scale="preference:slightly<much", conditions=["order"])
    assert labels.resolve_repeats("majority").where(annotator="gpt").labels["label"].to_list() == [one]
    assert labels.resolve_repeats("error").where(annotator="gpt").labels["label"].item() in given


def test_repeats_in_both_orders_are_combined_by_their_rule() -> None:
    rows = [
        ("i", "gpt", label, order, repeat)
        for repeat, both in ((1, (1, 1)), (2, (-1, 1)), (3, (1, 1)))
        for order, label in zip(("a>b", "b>a"), both, strict=True)
    ]
    frame = pl.DataFrame([*rows, ("i", "ann", 1, "a", 1)],
                         schema=["item", "annotator", "label", "order", "repeat"], orient="row")  # fmt: skip
    labels = assay.read(frame, judges=["gpt"], scale="preference", conditions=["order"])
    found = labels.resolve_repeats("majority").where(annotator="gpt").labels["label"].to_list()
    assert found == [1]
    each = labels.resolve_repeats("each").where(kind="judge").labels.sort("annotator")["label"].to_list()
    # The order that is drawn for the item is that of all its repeats.
    assert each in ([1, -1, 1], [1, 1, 1])


def test_other_conditions_are_still_refused() -> None:
    frame = pl.DataFrame({"item": ["i", "i", "i"], "annotator": ["gpt", "gpt", "ann"], "label": [1, -1, 1],
                          "temperature": [0.0, 1.0, None], "order": ["a>b", "a>b", "a>b"]})  # fmt: skip
    labels = assay.read(frame, judges=["gpt"], scale="preference", conditions=["temperature", "order"])
    with pytest.raises(assay.errors.DesignError, match="several values of 'temperature'"):
        labels.answers()


def test_report_of_votes_in_both_orders() -> None:
    labels = votes()
    found = assay.report(labels, epsilon=0.2)
    assert found.cards[0].headline
    assert any("40 pairs of votes count as one, in an order" in line for line in found.page.notices)
    test = assay.alt_test(labels, "gpt", epsilon=0.2)
    rows = labels.resolve_repeats("error").labels
    by_hand = assay.alt_test(
        assay.read(rows.select("item", "annotator", "label"), judges=["gpt"], scale="preference"), "gpt", epsilon=0.2
    )
    assert test.advantage_probability == by_hand.advantage_probability
    assert labels.labels.height == 200, "the table keeps both votes, for the bias of position"


def battles(voters: dict[str, list[tuple[str, str]]], pairs: int = 12) -> pl.DataFrame:
    """Votes of a file on pairs of x and y: each voter's winners, in the shown orders."""
    rows = [
        {"question_id": f"q{i:02}", "judge": who, "model_a": order[0], "model_b": order[1], "winner": winner}
        for i in range(pairs)
        for who, votes in voters.items()
        for order, winner in votes
    ]
    return pl.DataFrame(rows)


def test_votes_of_a_file_in_both_orders_are_those_of_a_study(tmp_path) -> None:
    """The judge names the first shown, x and then y; an annotator prefers x in the one order that it saw."""
    frame = battles({"ann": [("xy", "A")], "bob": [("yx", "B")], "gpt": [("xy", "A"), ("yx", "A")]})
    frame.write_ndjson(tmp_path / "votes.jsonl")
    labels = assay.read(str(tmp_path / "votes.jsonl"), judges=["gpt"])
    assert (labels.conditions, labels.has_repeats, "repeat" in labels.labels.columns) == (("order",), False, False)
    one = labels.resolve_repeats("error")
    assert {*one.where(annotator="gpt").labels["label"]} == {-1, 1}
    ties = labels.resolve_repeats("majority")
    assert ties.where(annotator="gpt").labels["label"].to_list() == [0] * 12
    assert "votes in both orders: 12 pairs of votes count as one, 12 of them with different votes as ties" in (
        ties.reading.lines()
    )
    found = assay.position_bias(labels)
    share = found.shares.filter(annotator="gpt").row(0, named=True)
    assert (share["estimate"], share["n"]) == (1.0, 24)
    assert found.consistency.select("annotator", "estimate", "n").rows() == [("gpt", 0.0, 12)]
    # Two orders are no repeated responses.
    responses = next(row for row in assay.probes(labels).rows if row.one.probe == "consistency")
    assert responses.one.found.reason.startswith("requires several responses")
    written = tmp_path / "labels.csv"
    labels.to_polars().write_csv(written)
    again = assay.read(str(written), judges=["gpt"], scale="preference", item="item", annotator="annotator",
                       label="label")  # fmt: skip
    assert (again.conditions, again.fingerprint) == (labels.conditions, labels.fingerprint)


def test_repeated_votes_of_a_file_are_numbered_in_each_order() -> None:
    frame = battles({"ann": [("xy", "A")], "gpt": [("xy", "A"), ("yx", "A"), ("xy", "A"), ("yx", "B")]})
    labels = assay.read(frame, judges=["gpt"], item="question_id")
    mine = labels.where(annotator="gpt")
    assert (labels.conditions, mine.labels["repeat"].value_counts().sort("repeat").rows()) == (
        ("order",), [(1, 24), (2, 24)],
    )  # fmt: skip
    # The first two votes contradict each other, a tie; the others agree on x: x and the tie are equally frequent.
    assert {*mine.resolve_repeats("first").labels["label"]} == {-1, 1}
    assert mine.resolve_repeats("last").labels["label"].to_list() == [-1] * 12
    assert mine.resolve_repeats("majority").labels["label"].to_list() == [0] * 12


def test_voters_without_a_name_are_several() -> None:
    frame = battles({"anyone": [("xy", "A"), ("yx", "A")]}).drop("judge")
    labels = assay.read(frame, item="question_id", humans=["voters"])
    assert (labels.conditions, labels.has_repeats) == ((), True)
    # A vote for each side: neither is the majority.
    assert labels.resolve_repeats("majority").labels["label"].to_list() == [0] * 12


@pytest.mark.parametrize(
    ("given", "one"),
    [((-1, 1), 0), ((1, -1, -1), -1), ((2, 1), 1), ((0, 1), 0), ((1, 1, -1, -1, 0), 0), ((-2, -2), -2)],
)
def test_majority_of_votes_without_one_side_is_a_tie(given: tuple[int, ...], one: int) -> None:
    frame = pl.DataFrame({"item": "i", "annotator": "gpt", "label": given, "repeat": range(1, len(given) + 1)})
    labels = assay.read(frame, judges=["gpt"], scale="preference:slightly<much", repeat="repeat")
    assert labels.resolve_repeats("majority").labels["label"].to_list() == [one]
