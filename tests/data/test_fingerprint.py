"""The same labels have the same fingerprint, and other labels a different one."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.annotations import LONG, Annotations, LabelHashes, digest_of_columns, hashes
from assay.data.scales import Interval, Nominal, Ordinal
from assay.errors import DataError

ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 4), st.sampled_from(["x", "y"]), st.integers(1, 5)),
    min_size=1,
    unique_by=lambda r: r[:3],
)
TEN = Interval(0, 9)
COLUMNS = ["item", "annotator", "criterion", "label"]


def table(rows, columns=COLUMNS, scale=TEN, **options):
    if "judges" not in options:
        options["humans"] = {row[list(columns).index("annotator")] for row in rows}
    frame = pl.DataFrame([tuple(r) for r in rows], schema=columns, orient="row", strict=False)
    return Annotations.from_frame(frame, scale=scale, **options)


def test_hashes_do_not_depend_on_batch_size(monkeypatch):
    texts = pl.Series(["", "a", None, "ab", "a name of forty characters and some more", "x" * (LONG + 1), "é", "zz"])
    whole = hashes(texts, "item")
    assert len(set(whole.tolist())) == len(texts)
    monkeypatch.setattr("assay.data.annotations.TEXTS", 3)
    np.testing.assert_array_equal(hashes(texts, "item"), whole)


@pytest.mark.slow
@given(ROWS, st.randoms(use_true_random=False))
def test_fingerprint_ignores_row_order_and_number_type(rows, shuffle):
    other = [(i, a, c, float(v)) for i, a, c, v in rows]
    shuffle.shuffle(other)
    wanted = table(rows).fingerprint
    assert table(other).fingerprint == wanted
    assert table([(f"{i}", f"{a}", c, f"{v}") for i, a, c, v in other]).fingerprint == wanted


@given(ROWS)
def test_fingerprint_of_part_equals_its_rows(rows):
    whole = table(rows)
    for criterion, part in whole.split("criterion"):
        assert part.fingerprint == table([r for r in rows if r[2] == criterion]).fingerprint


SMALL = [("a", "ann", 1), ("a", "gpt", 2), ("b", "ann", 2)]


@pytest.mark.parametrize(
    "options",
    [{"judges": ["gpt"]}, {"judges": ["ann", "gpt"]}, {"scale": Ordinal(0, 9)}, {"scale": Interval(0, 10)}],
)
def test_fingerprint_depends_on_scale_and_kind(options):
    plain = table(SMALL, columns=["item", "annotator", "label"])
    assert plain.fingerprint != table(SMALL, columns=["item", "annotator", "label"], **options).fingerprint


def test_fingerprint_distinguishes_roles():
    one = table([("a", "b", 1)], columns=["item", "annotator", "label"])
    two = table([("b", "a", 1)], columns=["item", "annotator", "label"])
    assert one.fingerprint != two.fingerprint


def test_fingerprint_of_first_repeat_equals_no_repeats():
    repeats = table([(*r, 1) for r in SMALL], columns=["item", "annotator", "label", "repeat"])
    assert repeats.fingerprint == table(SMALL, columns=["item", "annotator", "label"]).fingerprint
    second = table([(*r, 2) for r in SMALL], columns=["item", "annotator", "label", "repeat"])
    assert second.fingerprint != repeats.fingerprint


def test_fingerprint_includes_declared_conditions():
    columns = ["item", "annotator", "label", "temperature"]
    rows = [(*r, i / 2) for i, r in enumerate(SMALL)]
    undeclared, declared = table(rows, columns), table(rows, columns, conditions=["temperature"])
    assert undeclared.fingerprint == table(SMALL, columns[:3]).fingerprint != declared.fingerprint
    empty = table([(*r[:3], None) if r[3] == 0.5 else r for r in rows], columns, conditions=["temperature"])
    assert empty.fingerprint != declared.fingerprint


def test_fingerprint_of_numeric_and_text_criteria():
    scales = {"x": Ordinal(1, 5), "y": Nominal(["good", "bad"])}
    rows = [("a", "ann", "x", "4"), ("a", "ann", "y", "good")]
    both = table(rows, scale=scales)
    assert both.fingerprint == table([("a", "ann", "x", "4.0"), rows[1]], scale=scales).fingerprint
    assert both.where(criterion="x").fingerprint == table(rows[:1], scale=scales["x"]).fingerprint


def test_hashes_do_not_change_between_versions():
    assert [f"{h:016x}" for h in hashes(pl.Series(["", "a", "item-0000001", "é" * 8]), "item")] == TEXTS
    assert [f"{h:016x}" for h in hashes(pl.Series([0, 1, None]), "label")] == NUMBERS
    assert table(SMALL, columns=["item", "annotator", "label"], judges=["gpt"]).fingerprint == FINGERPRINT


TEXTS = ["bd308dce3bcc774e", "3aa6202020586047", "e6bc17600c8b2d3c", "f227af174eee80d0"]
NUMBERS = ["1c3b93ed5956986d", "0e574e9322049a58", "0000000000000000"]
FINGERPRINT = "8246cada74fa"


@given(st.lists(st.text(max_size=40), unique=True), st.integers(0, 3))
def test_hashes_of_texts_of_any_length_differ(texts, times):
    texts = [t + "long" * (times * LONG // 6) for t in texts]
    found = hashes(pl.Series(texts, dtype=pl.String), "label")
    assert len(set(found.tolist())) == len(texts)
    assert [int(hashes(pl.Series([t]), "label")[0]) for t in texts] == found.tolist()
    assert not set(found.tolist()) & set(hashes(pl.Series(texts, dtype=pl.String), "item").tolist())


def test_hashes_of_numbers_do_not_depend_on_type():
    whole = hashes(pl.Series([0, 1, 3]), "label")
    np.testing.assert_array_equal(whole, hashes(pl.Series([-0.0, 1.0, 3.0]), "label"))
    np.testing.assert_array_equal(whole, hashes(pl.Series([0, 1, 3], dtype=pl.UInt8), "label"))
    assert len(set(hashes(pl.Series(np.arange(10_000) / 8), "label").tolist())) == 10_000


def test_hash_sums_by_group_add_up():
    rng = random.Random(0)
    codes = np.array([rng.randrange(50) for _ in range(40_000)], dtype=np.int32)
    rows = LabelHashes(len(codes))
    rows.add("item", pl.Series([f"i{k}" for k in range(50)]), codes)
    rows.add_numbers("label", np.arange(len(codes)))
    by = rows.sums(codes % 7, 7)
    np.testing.assert_array_equal(by.sum(axis=0), rows.sums()[0])
    assert by[:, 2].tolist() == np.bincount(codes % 7).tolist()


def beside(rows=SMALL, seconds=(1.5, 2.5, 3.5), topic=("x", "y"), team=("north", "south")):
    """Labels with an additional column, and one column each of the items and annotators."""
    frame = pl.DataFrame([(*row, s) for row, s in zip(rows, seconds, strict=True)],
                         schema=["item", "annotator", "label", "seconds"], orient="row")  # fmt: skip
    items = pl.DataFrame({"item": ["a", "b"], "topic": topic, "length": [3, 4]})
    people = pl.DataFrame({"annotator": ["ann", "gpt"], "team": team})
    return Annotations.from_frame(frame, scale=TEN, judges=["gpt"], items=items, annotator_table=people)


def test_digest_of_columns_is_given_by_table():
    labels = beside()
    found = digest_of_columns(labels, "topic", "seconds", None, "team", "length", "topic")
    assert list(found) == ["items: length, topic", "annotators: team", "labels: seconds"]
    assert all(len(digest) == 12 and set(digest) <= set("0123456789abcdef") for digest in found.values())
    assert len(set(found.values())) == 3
    assert digest_of_columns(labels) == digest_of_columns(labels, None) == {}
    with pytest.raises(DataError, match="column 'gone' is not in the table"):
        digest_of_columns(labels, "gone")
    assert digest_of_columns(labels, "team") == {"annotators: team": found["annotators: team"]}
    assert list(digest_of_columns(labels, "item")) == ["items: item"]  # the first of several tables with the column
    turned = beside(SMALL[::-1], (3.5, 2.5, 1.5))
    assert digest_of_columns(turned, "topic", "seconds", "team", "length") == found


@pytest.mark.parametrize(
    ("changed", "table"),
    [
        ({"seconds": (1.5, 2.5, 4.0)}, "labels: seconds"),
        ({"seconds": (2.5, 1.5, 3.5)}, "labels: seconds"),  # the same numbers on other labels
        ({"seconds": (1.5, 2.5, None)}, "labels: seconds"),
        ({"topic": ("y", "x")}, "items: topic"),
        ({"topic": ("x", None)}, "items: topic"),
        ({"team": ("north", "east")}, "annotators: team"),
    ],
)
def test_digest_of_columns_changes_only_for_its_table(changed, table):
    plain, other = (digest_of_columns(labels, "seconds", "topic", "team") for labels in (beside(), beside(**changed)))
    assert [name for name in plain if plain[name] != other[name]] == [table]


def test_digest_of_columns_of_numbers_with_gaps():
    """Whole numbers and fractions of the same value have the same hash, also next to a gap, hashed one by one."""

    def of(*values):
        return digest_of_columns(beside(seconds=values), "seconds")

    assert of(1, 2, 3) == of(1.0, 2.0, 3.0)
    assert of(1, 2, None) == of(1.0, 2.0, None) != of(1, 2, 0)
