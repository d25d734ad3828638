"""Agreement on the odd one out: by hand, against pairs one by one, at chance, repeats, what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from worlds import World

import assay
from assay.errors import DesignError
from assay.ideas.reliability import _agreement, _correct_for_chance
from assay.reporting import pictures


def read(**labels):
    rows = [(f"t{i}", who, label) for who, row in labels.items() for i, label in enumerate(row) if label != "-"]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, scale="odd-one-out", humans=list(labels))


def test_by_hand():
    # Of the pairs: ann and bob 3 of 4, ann and cho 1 of 2, bob and cho 1 of 2: 5 of 8.
    found = assay.odd_one_out_agreement(read(ann="ABCA", bob="ABCB", cho="AC--"), who=["humans", "annotator", "pairs"])
    assert found.humans["agreement"] == 5 / 8
    assert found.humans["estimate"] == pytest.approx((5 / 8 - 1 / 3) / (2 / 3))
    rows = {(r["who"], r["first"], r["second"]): r for r in found.table.iter_rows(named=True)}
    assert rows["pairs", "ann", "bob"]["agreement"] == 3 / 4
    assert (rows["annotator", "cho", None]["agreement"], rows["annotator", "cho", None]["n"]) == (2 / 4, 2)


def test_people_together_are_all_their_pairs():
    labels = World.of(8).study(floor=3, people=4, overlap=4)
    found = assay.odd_one_out_agreement(labels, who=["humans", "pairs"])
    pairs = found.table.filter(pl.col("who") == "pairs")
    assert pairs.height == 6
    assert found.humans["agreement"] == pytest.approx(np.average(pairs["agreement"], weights=pairs["n"]))
    wide = labels.labels.pivot("annotator", index="item", values="label")
    for a, b in itertools.combinations(("p0", "p1", "p2", "p3"), 2):
        row = pairs.filter((pl.col("first") == a) & (pl.col("second") == b))
        assert row["agreement"][0] == pytest.approx((wide[a] == wide[b]).mean())


@pytest.mark.slow
def test_who_does_not_look_agrees_by_chance_alone():
    rng, letters = np.random.default_rng(3), np.array(list("ABC"))
    inside = 0
    for _ in range(30):
        drawn = {who: "".join(letters[rng.integers(0, 3, 80)]) for who in ("ann", "bob", "cho")}
        row = assay.odd_one_out_agreement(read(**drawn), who=["humans"]).humans
        inside += row["low"] <= 0 <= row["high"]
    assert inside >= 25


def test_constant_choice_has_no_agreement_above_chance():
    """The share of equal labels of two who always say A is 1; where triplets are shuffled, others say A by a third."""
    labels = read(ann="ABCABCABC", bob="AAAAAAAAA")
    assert assay.odd_one_out_agreement(labels, who=["humans"]).humans["estimate"] == pytest.approx(0)


def test_perfect_agreement_has_an_interval_with_width():
    row = assay.odd_one_out_agreement(read(ann="ABCABCABCA", bob="ABCABCABCA"), who=["humans"]).humans
    assert (row["estimate"], row["high"]) == pytest.approx((1.0, 1.0))
    assert 0 < row["low"] < 1


def test_repeats_measure_agreement_within_an_annotator():
    frame = pl.DataFrame(
        {"item": ["1", "1", "1", "2", "2"], "annotator": "gpt", "label": [*"AABCC"], "repeat": [1, 2, 3, 1, 2]}
    )
    found = assay.odd_one_out_agreement(assay.read(frame, scale="odd-one-out", judges=["gpt"]), who=["itself"])
    assert found.table["agreement"].to_list() == pytest.approx([(1 / 3 + 1) / 2])
    assert found.table["n"].to_list() == [2]


def test_answers_given_once_are_refused():
    with pytest.raises(DesignError, match="agreement needs triplets with choices of two humans"):
        assay.odd_one_out_agreement(World.of(6).study(floor=2))


@pytest.mark.parametrize(("agreement", "above"), [(1 / 3, 0), (1, 1), (2 / 3, 0.5), (0, -0.5)])
def test_one_choice_in_three_is_chance(agreement, above):
    assert _correct_for_chance(agreement) == pytest.approx(above)
    assert _agreement(above) == pytest.approx(agreement)


def table(answers, judges=("gpt",), **items):
    """Answers as (item, annotator, label, repeat)."""
    frame = pl.DataFrame(answers, schema=["item", "annotator", "label", "repeat"], orient="row")
    names = sorted(set(frame["item"]))
    about = pl.DataFrame({"item": names, **items})
    humans = sorted(set(frame["annotator"]) - set(judges))
    return assay.Annotations.from_frame(frame, scale="odd-one-out", humans=humans, judges=list(judges), items=about)


def row_of(found, who, first=None, second=None, group=None):
    rows = found.table.filter(
        (pl.col("who") == who) & pl.col("first").eq_missing(pl.lit(first, pl.String))
        & pl.col("second").eq_missing(pl.lit(second, pl.String)) & pl.col("group").eq_missing(pl.lit(group, pl.String))
    )  # fmt: skip
    return rows.row(0, named=True) if rows.height else None


FOUR = [(f"t{i}", who, label, 1) for who, row in {"ann": "ABCA", "bob": "ABBA", "gpt": "ABCC"}.items()
        for i, label in enumerate(row)]  # fmt: skip


def test_judge_is_compared_with_each_human():
    """gpt names the odd one of both on t0 and t1, that of one on t2 and of none on t3: 5 of 8."""
    found = assay.odd_one_out_agreement(table(FOUR), who=["humans", "annotator", "pairs"])
    assert found.humans["agreement"] == 3 / 4
    gpt, ann = (row_of(found, "annotator", name) for name in ("gpt", "ann"))
    assert (gpt["agreement"], gpt["n"]) == (5 / 8, 4)
    assert (ann["agreement"], ann["n"]) == (3 / 4, 4)
    assert row_of(found, "pairs", "ann", "gpt")["agreement"] == 3 / 4
    assert row_of(found, "pairs", "bob", "gpt")["agreement"] == 2 / 4
    assert found.run.facts == {"items": 4, "choices": 12, "humans": 2, "judges": 1}
    assert (found.judges, len(found.row_estimates())) == (("gpt",), 7)


def test_repeated_answers_are_shares():
    """ann names A twice and bob A and B: they agree on half; on t1 ann is alone, and nothing is compared."""
    rows = [("t0", "ann", "A", 1), ("t0", "ann", "A", 2), ("t0", "bob", "A", 1), ("t0", "bob", "B", 2),
            ("t1", "ann", "C", 1)]  # fmt: skip
    found = assay.odd_one_out_agreement(table(rows, judges=()), who=["humans", "annotator", "pairs", "itself"])
    for who, names in (("humans", ()), ("annotator", ("ann",)), ("annotator", ("bob",)), ("pairs", ("ann", "bob"))):
        assert (row_of(found, who, *names)["agreement"], row_of(found, who, *names)["n"]) == (0.5, 1)
    assert [row_of(found, "itself", name)["agreement"] for name in ("ann", "bob")] == [1, 0]


def test_each_value_of_a_column_has_its_rows_after_all_of_them():
    labels = table(FOUR, book=["b10", "b2", "b10", None])
    found = assay.odd_one_out_agreement(labels, who=["humans"], by="book")
    assert found.table.select("group", "agreement", "n").rows() == [(None, 0.75, 4), ("b2", 1.0, 1), ("b10", 0.5, 2)]
    assert found.humans["n"] == 4
    with pytest.raises(DesignError, match="by='kind' must be a column of the items"):
        assay.odd_one_out_agreement(labels, who=["humans"], by="kind")
    only = assay.odd_one_out_agreement(labels, who=["pairs"], by="book")
    assert only.humans is None


def test_triplets_are_left_out_by_their_cluster():
    labels = table(FOUR, book=["x", "x", "y", "z"])
    found = assay.odd_one_out_agreement(labels, who=["humans"], clusters="book", confidence=0.5)
    apart = assay.odd_one_out_agreement(labels, who=["humans"], confidence=0.5)
    assert found.humans["estimate"] == apart.humans["estimate"]
    assert (found.humans["low"], found.humans["high"]) != (apart.humans["low"], apart.humans["high"])
    assert found.run.data != apart.run.data
    one, other = (f.row_estimates()[0] for f in (found, apart))
    assert one.interval(0.5) == pytest.approx((found.humans["low"], found.humans["high"]))
    assert other.standard_error > 0


def test_agreement_is_said_and_drawn_of_each_row():
    rows = [*FOUR, ("t0", "gpt", "A", 2)]
    found = assay.odd_one_out_agreement(
        table(rows, book=["x", "x", "x", "y"]), who=["humans", "annotator", "pairs", "itself"], by="book",
        method="none",
    )  # fmt: skip
    lines = found.summary().split("\n")
    assert (
        lines[0]
        == "Two humans: same odd-one-out choice on 0.75 of 4 triplets, chance-corrected agreement 0.62 (no interval)."
    )
    assert lines[3] == (
        "gpt and a human: same odd-one-out choice on 0.62 of 4 triplets, chance-corrected agreement 0.44 (no interval)."
    )
    assert (
        lines[5]
        == "ann and gpt: same odd-one-out choice on 0.75 of 4 triplets, chance-corrected agreement 0.62 (no interval)."
    )
    assert lines[7] == (
        "gpt and itself, repeated: same odd-one-out choice on 1.00 of 1 triplet, chance-corrected agreement "
        "1.00 (no interval)."
    )
    assert lines[8] == (
        "Two humans: same odd-one-out choice on 0.67 of 3 triplets (x), chance-corrected agreement 0.50 (no interval)."
    )
    ax = found.plot()
    names = [one.get_text() for one in ax.get_yticklabels()]
    assert names[:8] == ["humans", "ann & humans", "bob & humans", "gpt & humans", "ann & bob", "ann & gpt",
                         "bob & gpt", "gpt, repeated"]  # fmt: skip
    assert names[8] == "humans, x"
    dots = [line.get_color() for line in ax.lines if line.get_marker() == "o"]
    assert [colour == pictures.JUDGE for colour in dots[:8]] == [False, False, False, True, False, True, True, True]
    assert list(ax.lines[-1].get_xdata()) == [0, 0]
    assert ax.get_xlabel() == "chance-corrected agreement on the odd one out"
