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


def test_one_who_always_names_the_same_place_earns_nothing():
    """The share of equal labels of two who always say A is 1; where triplets are shuffled, others say A by a third."""
    labels = read(ann="ABCABCABC", bob="AAAAAAAAA")
    assert assay.odd_one_out_agreement(labels, who=["humans"]).humans["estimate"] == pytest.approx(0)


def test_perfect_agreement_has_an_interval_with_width():
    row = assay.odd_one_out_agreement(read(ann="ABCABCABCA", bob="ABCABCABCA"), who=["humans"]).humans
    assert (row["estimate"], row["high"]) == pytest.approx((1.0, 1.0))
    assert 0 < row["low"] < 1


def test_repeats_speak_of_an_annotator_itself():
    frame = pl.DataFrame(
        {"item": ["1", "1", "1", "2", "2"], "annotator": "gpt", "label": [*"AABCC"], "repeat": [1, 2, 3, 1, 2]}
    )
    found = assay.odd_one_out_agreement(assay.read(frame, scale="odd-one-out", judges=["gpt"]), who=["itself"])
    assert found.table["agreement"].to_list() == pytest.approx([(1 / 3 + 1) / 2])
    assert found.table["n"].to_list() == [2]


def test_answers_given_once_are_refused():
    with pytest.raises(DesignError, match="no triplet was answered by two people"):
        assay.odd_one_out_agreement(World.of(6).study(floor=2))


@pytest.mark.parametrize(("agreement", "above"), [(1 / 3, 0), (1, 1), (2 / 3, 0.5), (0, -0.5)])
def test_one_choice_in_three_is_chance(agreement, above):
    assert _correct_for_chance(agreement) == pytest.approx(above)
    assert _agreement(above) == pytest.approx(agreement)
