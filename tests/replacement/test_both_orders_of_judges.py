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


def test_votes_of_a_judge_in_both_orders_are_stated() -> None:
    labels = table(people_in_both=False)
    votes = labels.labels.filter(pl.col("annotator") == "gpt-4o")
    apart = sum(len({*each}) > 1 for each in votes.group_by("item").agg("label")["label"].to_list())
    assert labels.with_one_vote.reading.as_one_vote == {"gpt-4o": (120, apart)}
    share = f"{apart} ({100 * apart / 120:.0f}%)"
    said = assay.alt_test(labels, "gpt-4o", expertise="crowd").summary()
    assert (
        "Notes: its votes on 120 pairs in both orders count as one vote each, in an order that is drawn for each pair; "
        f"they differ on {share}."
    ) in said
    # Labels have the words of votes.
    assert "it gives “1”" not in said
    ties = assay.alt_test(labels, "gpt-4o", expertise="crowd", repeats="majority").summary()
    assert (
        f"count as one vote each, and as a tie on the {share} on which they differ; annotators voted in one order and "
        "have no such ties, which lowers its agreement with them; with another rule for repeated labels, an order is "
        "drawn."
    ) in ties
    both = table(people_in_both=True)
    said = assay.alt_test(both, "gpt-4o", expertise="crowd", repeats="majority").summary()
    assert "on which they differ." in said
    assert "annotators voted in one order" not in said


def simulated(rng: np.random.Generator, *, bias: float = 0.0, n: int = 200) -> tuple[assay.Annotations, ...]:
    """Pairs of two texts; three people vote in one drawn order, and a judge in one order, and in both.

    A vote for the text x has the log-odds of the pair; the judge adds ``bias`` for the first text shown.
    """
    rows: list[tuple[str, str, str, str, str]] = []
    second: list[tuple[str, str, str, str, str]] = []

    def vote(who: str, k: int, odds: float, shown: str, more: float = 0.0) -> tuple[str, str, str, str, str]:
        x_first = shown == "xy"
        chose_x = rng.random() < 1 / (1 + np.exp(-odds - (more if x_first else -more)))
        return f"q{k}", shown[0], shown[1], "model_a" if chose_x == x_first else "model_b", who

    for k, odds in enumerate(rng.normal(0, 2.6, n)):
        rows.extend(vote(who, k, odds, ("xy", "yx")[rng.integers(2)]) for who in ("ann", "ben", "chi"))
        rows.append(vote("gpt-4o", k, odds, "xy", bias))
        second.append(vote("gpt-4o", k, odds, "yx", bias))
    columns = ["question_id", "model_a", "model_b", "winner", "judge"]
    return tuple(
        assay.read(pl.DataFrame(each, schema=columns, orient="row"), judges=["gpt-4o"])
        for each in (rows, [*rows, *second])
    )


def test_judge_like_a_person_that_voted_in_both_orders_may_replace() -> None:
    """With ties for different votes none of 40 such judges could replace, and 16 were said to be worse."""
    rng = np.random.default_rng(9)
    found = [tuple(assay.alt_test(one, "gpt-4o", expertise="crowd").verdict for one in simulated(rng))
             for _ in range(12)]  # fmt: skip
    one_order, both_orders = zip(*found, strict=True)
    assert one_order.count("replace") >= 9
    assert both_orders.count("replace") >= one_order.count("replace") - 1
    assert "do_not_replace" not in both_orders


def test_judge_with_a_bias_of_position_does_not_profit_from_both_orders() -> None:
    rng = np.random.default_rng(10)
    verdicts = [assay.alt_test(simulated(rng, bias=3.0)[1], "gpt-4o", expertise="crowd").verdict for _ in range(6)]
    assert "replace" not in verdicts


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


def test_statements_on_annotators_do_not_depend_on_the_judge() -> None:
    """Whether annotators agree is decided within the same strata for all judges, not those of a judge's ratio."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        systems, rows = ["a", "b", "c", "d"], []
        for k in range(300):
            one, other = rng.choice(systems, 2, replace=False)
            odds = 0.5 * (systems.index(other) - systems.index(one)) + rng.normal(0, 0.6)
            for who, weight in (("ann", 1.0), ("ben", 1.0), ("gpt-4o", 1.0), ("claude-3", 0.6), ("llama-70b", 0.2)):
                chose = rng.random() < 1 / (1 + np.exp(-weight * odds))
                rows.append((f"q{k}", one, other, "model_a" if chose else "model_b", who))
        frame = pl.DataFrame(rows, schema=["question_id", "model_a", "model_b", "winner", "judge"], orient="row")
        labels = assay.read(frame, judges=["gpt-4o", "claude-3", "llama-70b"])
        tests = [assay.alt_test(labels, name, expertise="crowd") for name in labels.judges]
        agree = {test.verdict_tests.annotators_agree for test in tests}
        assert len(agree) == 1
        assert len({test.item_agreement.for_people.strata for test in tests}) == 1
        found += agree
    assert {None, False} & {*found}, "people who barely agree are among them"
