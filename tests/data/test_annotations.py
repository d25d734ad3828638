"""The one table: construction, display, selection, and arrays."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import random
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.data.annotations import OTHER_NAMES, Annotations, Reading, natural
from assay.data.names import natural_places
from assay.data.scales import Interval, Nominal, Ordinal, Preference, Text
from assay.errors import DataError, DesignError
from assay.estimation.result import Exclusion


def frame_of(*rows, columns=("item", "annotator", "label")):
    return pl.DataFrame([tuple(r) for r in rows], schema=list(columns), orient="row", strict=False)


def labels_of(*rows, columns=("item", "annotator", "label"), **options):
    frame = frame_of(*rows, columns=columns)
    if (
        "annotator" in columns
        and "gpt" in frame["annotator"].to_list()
        and not {"judges", "annotator_table", "kind"} & {*options, *columns}
    ):
        options["humans"] = [name for name in frame["annotator"].drop_nulls().unique() if name.strip()]
    return Annotations.from_frame(frame, **options)


SMALL = (("a", "ann", 1), ("a", "bob", 2), ("b", "ann", 3), ("b", "gpt", 3))


# -- construction -----------------------------------------------------------------------------------


def test_annotations_of_six_labels_by_hand():
    labels = labels_of(*SMALL, judges=["gpt"])
    assert len(labels) == 4
    assert labels.n_items == 2
    assert labels.humans == ("ann", "bob")
    assert labels.judges == ("gpt",)
    assert labels.criteria == ()
    assert labels.scale == Ordinal(1, 3)
    assert repr(labels) == "Annotations(4 labels, 2 items, 2 humans, 1 judge, ordinal:1-3)"
    assert labels.items.to_dict(as_series=False) == {"item": ["a", "b"]}
    assert labels.annotators.to_dict(as_series=False) == {
        "annotator": ["ann", "bob", "gpt"], "kind": ["human", "human", "judge"]
    }  # fmt: skip
    assert labels.reading.notes == ("Assumed scale 1-3. If wrong, set scale=...",)


def test_from_frame_accepts_other_column_names():
    frame = frame_of(*SMALL, columns=("id", "worker", "stars"))
    labels = Annotations.from_frame(
        frame, item="id", annotator="worker", label="stars", scale=Ordinal(1, 5), judges=["gpt"]
    )
    assert labels.labels.columns == ["item", "annotator", "label"]
    assert labels.reading.notes == ()
    assert frame.columns == ["id", "worker", "stars"]


def test_from_frame_keeps_column_named_as_a_role():
    rows = [("a", "ann", 1, "x"), ("b", "ann", 2, "y"), ("b", "bob", 2, "y")]
    frame = frame_of(*rows, columns=("id", "annotator", "label", "item"))
    labels = Annotations.from_frame(frame, item="id")
    assert labels.items.columns == ["item", "item (original)"]
    assert labels.items["item (original)"].to_list() == ["x", "y"]


def test_from_frame_reads_ids_as_text_with_leading_zeros():
    labels = labels_of(("007", "01", 1), ("7", "1", 2))
    assert labels.items["item"].to_list() == ["007", "7"]
    assert labels.humans == ("01", "1")
    numbers = labels_of((7, 1.0, 1), (8, 2.0, 2))
    assert numbers.items["item"].to_list() == ["7", "8"]
    assert numbers.humans == ("1", "2")
    halves = labels_of((7.5, 1, 1), (8.0, 1, 2))
    assert halves.items["item"].to_list() == ["7.5", "8.0"]


def test_from_frame_accepts_ids_in_any_script():
    labels = labels_of(("Größe", "أحمد", 1), ("尺寸", "Ῥόδος", 2), ("size\n2", "a b", 3))
    assert set(labels.items["item"]) == {"Größe", "尺寸", "size\n2"}
    assert set(labels.humans) == {"أحمد", "Ῥόδος", "a b"}


def test_annotators_are_in_natural_order():
    labels = labels_of(*[("q", a, 1) for a in ("r10", "r2", "r1")], ("p", "r1", 2))
    assert labels.humans == ("r1", "r2", "r10")


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["b10", "b9", "a"], ("a", "b9", "b10")),
        ([10, 9, 8.5], (8.5, 9, 10)),
        (["2", "10", "x"], ("2", "10", "x")),
        (["²", "1" * 40, "٣"], None),
    ],
)
def test_natural_sorts_numbers_by_value(names, wanted):
    if wanted is None:  # digits that int() refuses, or of other scripts: in any order, but a fixed one
        assert natural(names) == natural(names[::-1])
    else:
        assert natural(names) == wanted == natural(names[::-1])


def test_from_frame_determines_judges():
    rows = [("a", "ann", 1, "human"), ("a", "gpt", 2, "Judge")]
    columns = ("item", "annotator", "label", "kind")
    assert labels_of(*rows, columns=columns).judges == ("gpt",)
    # judges=... overrides a column, but a judge of the table cannot be dropped without an error.
    assert labels_of(*rows, columns=columns, judges=["ann", "gpt"]).judges == ("ann", "gpt")
    assert labels_of(*rows, columns=columns, judges=["ann"], humans=["gpt"]).judges == ("ann",)
    with pytest.raises(DataError, match=r"lists gpt as a judge, .* add it with judges=\['ann', 'gpt'\], or, if"):
        labels_of(*rows, columns=columns, judges=["ann"])
    people = pl.DataFrame({"annotator": ["gpt"], "kind": ["judge"], "family": ["gpt-4"]})
    labels = labels_of(*SMALL, annotator_table=people)
    assert labels.judges == ("gpt",)
    assert labels.annotators["family"].to_list() == [None, None, "gpt-4"]
    assert labels_of(*SMALL, judges="gpt").judges == ("gpt",)
    assert labels_of(*SMALL).judges == ()


@pytest.mark.parametrize(
    ("rows", "columns", "options", "words"),
    [
        (SMALL, ("id", "annotator", "label"), {}, "column 'item' is not in a table in memory; it has id"),
        (SMALL, None, {"label": "lable"}, "column 'lable' is not in a table in memory; did you mean 'label'?"),
        (SMALL, None, {"label": "lable"}, "(it should contain the label; name another column with label=...)"),
        (SMALL, None, {"criterion": "aspect"}, "column 'aspect' is not in a table in memory"),
        (SMALL, None, {"conditions": ["heat"], "judges": ["gpt"]}, "condition 'heat' is not in a table in memory"),
        (SMALL, None, {"judges": ["gtp"]}, "judge 'gtp' is not in a table in memory; did you mean 'gpt'?"),
        ((), None, {}, "a table in memory has no rows"),
        (((None, "ann", 1), ("a", "ann", 1)), None, {}, "1 row without item (row 1); fill or remove them"),
        ((("a", " ", 1), ("b", "", 1)), None, {}, "2 rows without annotator (rows 1, 2)"),
        ((("a", "ann", None),), None, {}, "no row has a label in column 'label'"),
        (
            (("a", "ann", 1), ("a", "ann", 2)),
            None,
            {},
            "1 answer given several times (item 'a', annotator 'ann': rows 1, 2); remove the extra rows, "
            "number the answers in a column 'repeat', or write one label for all of them, such as the number of errors",
        ),
        (
            (("a", "ann", 1, 0.1), ("a", "ann", 2, 0.9), ("b", "ann", 2, 0.9)),
            ("item", "annotator", "label", "heat"),
            {},
            "if column 'heat' is an experimental condition, set conditions=['heat']",
        ),
        (
            (("a", "ann", 1), ("b", "ann", 9), ("c", "ann", 0)),
            None,
            {"scale": Ordinal(1, 5)},
            "2 labels off the scale (row 2: 9, row 3: 0); each must be a whole number from 1 to 5",
        ),
        (
            tuple((f"i{k}", "ann", "x") for k in range(9)),
            None,
            {"scale": Nominal(["a", "b"])},
            "9 labels off the scale (row 1: 'x', row 2: 'x', row 3: 'x', row 4: 'x', row 5: 'x' and 4 more)",
        ),
        (
            (("a", "ann", 1, "human"), ("b", "ann", 2, "judge")),
            ("item", "annotator", "label", "kind"),
            {},
            "annotator 'ann' is both human and judge",
        ),
        (
            (("a", "ann", 1, "robot"),),
            ("item", "annotator", "label", "kind"),
            {},
            "column 'kind' must contain human or judge; annotator 'ann' has 'robot'",
        ),
        (
            (("a", "ann", 1, 1.5),),
            ("item", "annotator", "label", "repeat"),
            {},
            "column 'repeat' must contain whole numbers; check row 1",
        ),
        (
            (("a", "ann", 1, "1.5"),),
            ("item", "annotator", "label", "repeat"),
            {},
            "column 'repeat' must contain whole numbers; check row 1",
        ),
        (
            (("a", "ann", 1, "x"),),
            ("item", "annotator", "label", "criterion"),
            {"scale": {"depth": Ordinal(1, 5)}},
            "criterion 'x' is not in scale=...; it has depth",
        ),
        (
            SMALL,
            None,
            {"judges": ["gpt"], "items": pl.DataFrame({"item": ["a", "a"]})},
            "the table of items contains 'a' twice",
        ),
        (SMALL, None, {"items": pl.DataFrame({"name": ["z"]})}, "column 'item' is not in the table of items"),
        (
            SMALL,
            None,
            {"annotator_table": pl.DataFrame({"annotator": ["ann", "ann"]})},
            "the table of annotators contains 'ann' twice",
        ),
        (SMALL, None, {"split_item": "__"}, "split_item '__' does not match item 'a' (4 rows, rows 1, 2, 3, 4)"),
        (SMALL, None, {"split_item": "(?P<item>"}, "is not a regular expression"),
    ],
)
def test_from_frame_errors_name_the_remedy(rows, columns, options, words):
    frame = frame_of(*rows, columns=columns or ("item", "annotator", "label"))
    with pytest.raises(DataError) as caught:
        Annotations.from_frame(frame, **options)
    assert words in str(caught.value)


def test_from_frame_refuses_mixed_labels_by_row():
    frame = pd.DataFrame({"item": ["a", "b", "c"], "annotator": "ann", "label": [1, "2", 3]})
    with pytest.raises(DataError, match=r"column 'label' mixes numbers and text \(row 2: '2'\)"):
        Annotations.from_frame(frame)


def test_from_frame_excludes_and_counts_rows_without_label():
    labels = labels_of(("a", "ann", 1.0), ("b", "ann", None), ("c", "ann", math.nan))
    assert len(labels) == 1
    assert labels.reading.exclusions == (Exclusion("row", 2, "without a label"),)
    assert labels.items["item"].to_list() == ["a"]
    text = labels_of(("a", "ann", "x"), ("b", "ann", " "), ("c", "ann", ""))
    assert text.reading.exclusions == (Exclusion("row", 2, "without a label"),)
    assert text.reading.lines()[0] == "2 rows without a label excluded"


def test_from_frame_counts_blank_and_missing_labels_separately():
    rows = [("a", "ann", "1"), ("b", "ann", "n/a"), ("c", "ann", "n/a"), ("d", "ann", ""), ("e", "ann", "skip"),
            ("f", "ann", "2")]  # fmt: skip
    labels = labels_of(*rows, scale="1-2", missing=["n/a", "skip"])
    assert labels.reading.lines()[:2] == [
        "1 row without a label excluded",
        "3 rows excluded: missing label (n/a, skip)",
    ]


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1, 2, 5], Ordinal(1, 5)),
        ([1.0, 2.0, 5.0], Ordinal(1, 5)),
        ([0, 1, 20], Ordinal(0, 20)),
        ([0, 1, 21], Interval(0, 21)),
        ([0.5, 1, 2], Interval(0.5, 2)),
        ([3, 3, 3], Interval()),
        (["a", "b", "a"], Nominal()),
        ([True, False, True], Nominal()),
        ([f"a sentence, number {k}" for k in range(60)], Text()),
    ],
)
def test_from_frame_notes_inferred_scale(values, scale):
    labels = labels_of(*[(f"i{k}", "ann", v) for k, v in enumerate(values)])
    assert labels.scale == scale
    assert labels.reading.notes[0].startswith("Assumed scale ")


def test_from_frame_moves_attributes_to_items_and_annotators():
    columns = ("item", "annotator", "label", "text", "age", "seconds")
    labels = labels_of(
        ("a", "ann", 1, "A", 30, 5), ("a", "bob", 2, "A", 40, 6), ("b", "ann", 3, "B", 30, 7),
        ("b", "bob", 3, "B", 40, 8), columns=columns,
    )  # fmt: skip
    assert labels.labels.columns == ["item", "annotator", "label", "seconds"]
    assert labels.items.to_dict(as_series=False) == {"item": ["a", "b"], "text": ["A", "B"]}
    assert labels.annotators["age"].to_list() == [30, 40]


def test_from_frame_does_not_fill_incomplete_attribute():
    # Ann's row contains the text, bob's does not: it is not a property of the item.
    labels = labels_of(
        ("a", "ann", 1, "A"),
        ("a", "bob", 2, None),
        ("b", "bob", 1, "B"),
        columns=("item", "annotator", "label", "text"),
    )
    assert labels.labels["text"].to_list() == ["A", None, "B"]


def test_from_frame_joins_item_table():
    about = pl.DataFrame({"item": ["b", "a", "z"], "text": ["B", "A", "Z"]})
    labels = labels_of(*SMALL, items=about)
    assert labels.items["text"].to_list() == ["A", "B"]
    assert "1 item of the item table without a label" in labels.reading.notes
    numbers = labels_of((1, "ann", 1), (2, "ann", 2), items=pl.DataFrame({"item": [1, 2], "text": ["A", "B"]}))
    assert numbers.items["text"].to_list() == ["A", "B"]


def test_from_frame_accepts_several_answers_under_conditions():
    rows = [("a", "m", 1, 0.0), ("a", "m", 2, 0.7), ("b", "m", 1, 0.0)]
    labels = labels_of(*rows, columns=("item", "annotator", "label", "temperature"), conditions=["temperature"])
    assert labels.conditions == ("temperature",)
    assert len(labels.where(temperature=0.7)) == 1
    with pytest.raises(DesignError, match=r"several values of 'temperature' \(0.0, 0.7\); choose one with"):
        labels.answers()
    assert len(labels.where(temperature=0.0).answers()) == 2


def test_where_keeps_annotators_who_labelled_without_the_condition():
    rows = [("a", "m", 1, 0.0), ("a", "m", 2, 0.7), ("a", "ann", 1, None), ("b", "ann", 2, None), ("b", "k", 2, 0.7)]
    columns = ("item", "annotator", "label", "temperature")
    labels = labels_of(*rows, columns=columns, conditions=["temperature"])
    assert labels.where(temperature=0.0).values_of("annotator") == ("ann", "m")
    assert len(labels.where(temperature=[0.0, 0.7])) == 5
    assert len(labels.where(temperature=None)) == 2
    with pytest.raises(DesignError, match=r"several values of 'temperature' \(0.0, 0.7\); choose one with"):
        labels.answers()
    # A column that is no condition selects its rows alone.
    plain = labels_of(*[r for r in rows if r[3] != 0.0], columns=columns)
    assert plain.where(temperature=0.7).values_of("annotator") == ("k", "m")


VALUES = {
    "float": (pl.Float64, [0.0, 1.5], [0, 0.0, "0", "0.0", np.int64(0)]),
    "short float": (pl.Float32, [0.3, 1.5], [0.3, "0.3", np.float32(0.3)]),
    "whole": (pl.Int64, [2, 3], [2, 2.0, "2", "2.0"]),
    "byte": (pl.UInt8, [2, 3], [2, 2.0, "2"]),
    "text": (pl.String, ["0", "1.5"], [0, 0.0, "0"]),
    "words": (pl.String, ["True", "False"], [True, "True"]),
    "yes or no": (pl.Boolean, [True, False], [True, "True"]),
    "category": (pl.Categorical, ["low", "high"], ["low"]),
    "date": (pl.Date, [date(2026, 4, 1), date(2026, 5, 1)], [date(2026, 4, 1), "2026-04-01"]),
    "decimal": (pl.Decimal(9, 2), [Decimal("0.10"), Decimal("0.50")], [Decimal("0.1"), 0.1, "0.1", "0.10"]),
}


@pytest.mark.parametrize("n", [20, 3_000])
@pytest.mark.parametrize("kind", VALUES)
def test_where_selects_value_in_any_type_of_column_and_size(kind: str, n: int):
    dtype, values, wanted = VALUES[kind]
    rows = {"item": [f"i{i // 4}" for i in range(n)], "annotator": ["ann", "ann", "bob", "bob"] * (n // 4)}
    frame = pl.DataFrame(rows).with_columns(label=pl.lit(1), setting=pl.Series(values * (n // 2), dtype=dtype))
    labels = Annotations.from_frame(frame, conditions=["setting"], scale="1-5")
    for one in wanted:
        assert len(labels.where(setting=one)) == len(labels.where(setting=[one])) == n // 2
    with pytest.raises(DataError, match="setting '7' is not in the table; it has"):
        labels.where(setting=7)


# -- splitting item ids -----------------------------------------------------------------------------


def test_split_item_splits_at_last_separator():
    labels = labels_of(("a__b__Color", "ann", 1), ("a__b__Blue", "ann", 2), split_item="__")
    assert labels.items["item"].to_list() == ["a__b"]
    assert labels.criteria == ("Blue", "Color")


def test_split_item_makes_columns_of_named_groups():
    pattern = r"(?P<item>(?P<document>[^/]+)/(?P<model>\w+)) (?P<criterion>\w+)"
    labels = labels_of(
        ("d1/m1 depth", "ann", 1), ("d1/m2 depth", "ann", 2), ("d1/m1 style", "ann", 2), split_item=pattern
    )
    assert labels.items.to_dict(as_series=False) == {
        "item": ["d1/m1", "d1/m2"], "document": ["d1", "d1"], "model": ["m1", "m2"]
    }  # fmt: skip
    assert labels.criteria == ("depth", "style")


def test_split_item_without_item_group_keeps_whole_id():
    labels = labels_of(("d1-x", "ann", 1), ("d2-x", "ann", 2), split_item=r"(?P<document>d\d)-x")
    assert labels.items.to_dict(as_series=False) == {"item": ["d1-x", "d2-x"], "document": ["d1", "d2"]}


def test_split_item_reads_repeat():
    labels = labels_of(("a#1", "m", 1), ("a#2", "m", 2), split_item=r"(?P<item>\w)#(?P<repeat>\d)")
    assert labels.has_repeats
    assert labels.labels["repeat"].to_list() == [1, 2]


def test_split_item_keeps_item_attributes():
    about = pl.DataFrame({"item": ["a__x", "a__y", "b__x"], "text": ["A", "A", "B"]})
    labels = labels_of(("a__x", "n", 1), ("a__y", "n", 2), ("b__x", "n", 1), items=about, split_item="__")
    assert labels.items.to_dict(as_series=False) == {"item": ["a", "b"], "text": ["A", "B"]}


# -- criteria and scales ----------------------------------------------------------------------------

MIXED = (
    ("a", "ann", "4", "stars"),
    ("a", "ann", "nice", "why"),
    ("b", "ann", "2", "stars"),
    ("b", "ann", "bad", "why"),
)


def test_scale_can_differ_by_criterion():
    labels = labels_of(
        *MIXED, columns=("item", "annotator", "label", "criterion"), scale={"stars": Ordinal(1, 5), "why": Text()}
    )
    assert labels.criteria == ("stars", "why")
    assert labels.scale_of("why") == Text()
    with pytest.raises(DesignError, match="the criteria are on different scales"):
        _ = labels.scale
    stars = labels.where(criterion="stars")
    assert stars.scale == Ordinal(1, 5)
    assert stars.labels["label"].to_list() == [4, 2]
    assert labels.where(criterion="why").labels["label"].to_list() == ["nice", "bad"]


def test_scale_is_inferred_by_criterion():
    rows = [("a", "ann", 1, "x"), ("b", "ann", 5, "x"), ("a", "ann", 0, "y"), ("b", "ann", 100, "y")]
    labels = labels_of(*rows, columns=("item", "annotator", "label", "criterion"))
    assert labels.scale_of("x") == Ordinal(1, 5)
    assert labels.scale_of("y") == Interval(0, 100)
    assert labels.reading.notes == (
        "x: Assumed scale 1-5. If wrong, set scale=...",
        "y: Assumed scale interval:0-100. If wrong, set scale=...",
    )


def test_answers_refuses_several_criteria():
    rows = [("a", "ann", 1, "x"), ("b", "ann", 5, "y")]
    labels = labels_of(*rows, columns=("item", "annotator", "label", "criterion"))
    with pytest.raises(DesignError, match=r"the table has 2 criteria \(x, y\); choose one with"):
        labels.answers()


# -- selection --------------------------------------------------------------------------------------


def test_where_selects_rows():
    labels = labels_of(*SMALL, judges=["gpt"], items=pl.DataFrame({"item": ["a", "b"], "topic": ["art", None]}))
    assert labels.where(annotator="ann").items["item"].to_list() == ["a", "b"]
    assert labels.where(kind="judge").humans == ()
    assert labels.where(topic="art", annotator=["ann", "bob"]).labels["label"].to_list() == [1, 2]
    assert labels.where(topic=None).items["item"].to_list() == ["b"]
    assert labels.where(topic=["art", None]).labels.height == 4
    assert labels.where(annotator="gpt").scale == labels.scale
    with pytest.raises(DataError, match=r"annotator 'anne' is not in the table; did you mean 'ann'\?"):
        labels.where(annotator="anne")
    with pytest.raises(DataError, match=r"column 'topics' is not in the table; did you mean 'topic'\?"):
        labels.where(topics="art")


@pytest.mark.parametrize("column", ["annotator", "worker", "code"])
def test_table_of_annotators_has_their_ids_in_one_column(column: str):
    """By its name, by the column that the labels call so, or as the only column with the names of the labels."""
    frame = pl.DataFrame({"id": ["a", "a", "b"], "worker": ["ann", "bob", "ann"], "stars": [1, 2, 2]})
    about = pl.DataFrame({column: ["ann", "bob"], "gender": ["f", "m"]})
    read = assay.read(frame, item="id", annotator="worker", label="stars", scale="1-5", annotator_table=about)
    assert read.annotators.select("annotator", "gender").rows() == [("ann", "f"), ("bob", "m")]
    with pytest.raises(DataError, match=r"column 'annotator' is not in .*; no column has the ids"):
        assay.read(frame, item="id", annotator="worker", label="stars", scale="1-5",
                   annotator_table=pl.DataFrame({"code": ["x", "y"], "gender": ["f", "m"]}))  # fmt: skip


def test_where_of_a_column_of_people_keeps_judges_who_have_no_value():
    about = pl.DataFrame({"annotator": ["ann", "bob", "gpt"], "gender": ["f", "m", None]})
    labels = labels_of(*SMALL, judges=["gpt"], annotator_table=about)
    assert labels.where(gender="f").annotators["annotator"].to_list() == ["ann", "gpt"]
    assert labels.where(gender=["m"], kind="human").judges == ()
    known = labels_of(*SMALL, judges=["gpt"], annotator_table=about.with_columns(gender=pl.Series(["f", "m", "none"])))
    assert known.where(gender="f").judges == ()


def test_items_of_the_source_without_a_label_are_kept_apart():
    wide = pl.DataFrame({"id": ["a", "b", "c"], "topic": ["x", "x", "y"], "ann": [1, None, None], "bob": [2, None, 3]})
    read = assay.read(wide, layout="wide", item="id", columns=["ann", "bob"], judges=[], scale="1-5")
    assert (read.n_items, read.unlabelled.to_dicts()) == (2, [{"item": "b", "topic": "x"}])
    assert read.where(annotator="bob").unlabelled.height == read.where(topic="x").unlabelled.height == 1
    assert read.where(topic="y").unlabelled is None
    bare = wide.drop("topic")
    assert assay.read(bare, layout="wide", item="id", judges=[], scale="1-5").unlabelled["item"].to_list() == ["b"]
    assert assay.read(bare[:1], layout="wide", item="id", judges=[], scale="1-5").unlabelled is None
    rows = pl.DataFrame({"item": ["a", "b", "b", "c"], "annotator": ["ann", "ann", "bob", "bob"],
                         "label": ["1", "NA", "", "2"]})  # fmt: skip
    long = assay.read(rows, judges=[], scale="1-5", missing=["NA"])
    assert long.unlabelled["item"].to_list() == ["b"]
    # Items of a table of the user's can be of other studies.
    about = pl.DataFrame({"item": ["a", "c", "d"], "topic": ["x", "y", "y"]})
    assert assay.read(rows.filter(pl.col("item") != "b"), judges=[], scale="1-5", items=about).unlabelled is None
    model = pl.DataFrame({"id": ["a", "b", "c", "d"], "gpt": [1, 4, None, None]})
    judged = assay.read(model, layout="wide", item="id", columns=["gpt"], judges=["gpt"], scale="1-5")
    assert judged.unlabelled["item"].to_list() == ["c", "d"]
    # The judge labelled b, and people c.
    assert read.join(judged).unlabelled["item"].to_list() == ["d"]


def test_natural_places_are_those_of_natural():
    rng = np.random.default_rng(1)
    names = ["", "a", "a9", "a10", "a10b2", "a10b11", "007", "7", "x_99", "x_100", "b" + "9" * 15, "b1", "Ä2", "Ä10"]
    names += sorted({str(number) for number in rng.integers(0, 5000, 800)})
    places = natural_places(pl.Series(names))
    assert [names[i] for i in np.argsort(places)] == list(natural(names))
    for some in (
        [f"item {i}" for i in (3, 20, 100, 1)],
        ["k2", "k02", "k1"],
        ["1", "+1", "-2"],
        ["a 1", "a1", "a-1", "a"],
        [],
        ["b"],
    ):
        places = natural_places(pl.Series(some, dtype=pl.String))
        assert [some[i] for i in np.argsort(places)] == list(natural(some))
    # Longer numbers are sorted as text.
    assert natural_places(pl.Series(["k" + "2" * 16, "k" + "1" * 17])).tolist() == [1, 0]


def test_split_yields_parts_in_natural_order():
    labels = labels_of(
        *[(f"i{k}", "ann", k % 3, f"d{k}") for k in (10, 9, 2)], columns=("item", "annotator", "label", "doc")
    )
    assert [(name, len(part)) for name, part in labels.split("doc")] == [("d2", 1), ("d9", 1), ("d10", 1)]


# -- repeats ----------------------------------------------------------------------------------------

REPEATED = labels_of(
    ("a", "m", 5, 3), ("a", "m", 1, 1), ("a", "m", 1, 2), ("b", "m", 4, 1), ("a", "n", 2, 1),
    columns=("item", "annotator", "label", "repeat"), scale=Ordinal(1, 5),
)  # fmt: skip


@pytest.mark.parametrize(("how", "label"), [("first", 1), ("last", 5), ("mean", 7 / 3), ("majority", 1)])
def test_resolve_repeats_by_each_rule(how, label):
    one = REPEATED.resolve_repeats(how)
    assert not one.has_repeats
    found = {(i, a): v for i, a, v in one.labels.select("item", "annotator", "label").iter_rows()}
    assert found == {("a", "m"): pytest.approx(label), ("b", "m"): 4, ("a", "n"): 2}
    assert "repeated labels" in one.reading.notes[-1]
    assert one.scale == (Interval(1, 5) if how == "mean" else Ordinal(1, 5))


def test_resolve_repeats_each_makes_separate_annotators():
    each = REPEATED.resolve_repeats("each")
    assert each.humans == ("m (repeat 1)", "m (repeat 2)", "m (repeat 3)", "n (repeat 1)")
    assert len(each) == 5
    assert len(each.answers()) == 5


def test_resolve_repeats_majority_uses_earliest_of_a_tie():
    labels = labels_of(
        ("a", "m", 5, 2), ("a", "m", 1, 3), ("a", "m", 4, 1), columns=("item", "annotator", "label", "repeat")
    )
    assert labels.resolve_repeats("majority").labels["label"].to_list() == [4]


def test_answers_names_repeated_labels():
    rows = [("a", "m", 5, 1), ("a", "m", 1, 2), ("a", "m", 1, 3), ("b", "n", 1, 1), ("b", "n", 2, 2), ("c", "o", 1, 1)]
    labels = labels_of(*rows, columns=("item", "annotator", "label", "repeat"))
    with pytest.raises(DesignError, match=r"\(2 questions, by m, n; such as 3 labels of 'a' by m\); specify how"):
        labels.answers()


def test_answers_requires_rule_for_repeats():
    with pytest.raises(DesignError, match="specify how to combine them with repeats='first'"):
        REPEATED.resolve_repeats("error")
    with pytest.raises(DesignError, match="the table contains repeated labels"):
        REPEATED.answers()
    words = labels_of(("a", "m", "x", 1), ("a", "m", "y", 2), columns=("item", "annotator", "label", "repeat"))
    with pytest.raises(DesignError, match="repeats='mean' requires numeric labels"):
        words.resolve_repeats("mean")
    with pytest.raises(DesignError, match=r"with repeats='first', 'last', 'majority' or 'each'$"):
        words.resolve_repeats("error")
    with pytest.raises(DesignError, match=r"with repeats='first', 'last', 'mean', 'majority' or 'each'$"):
        REPEATED.resolve_repeats("error")


def test_each_repeat_of_a_judge_is_a_judge():
    rows = [("a", "m", 1, 1), ("a", "m", 2, 2), ("a", "k", 1, 1), ("a", "n", 1, 1)]
    labels = labels_of(*rows, judges=["m", "k"], columns=("item", "annotator", "label", "repeat"))
    every = ["k (repeat 1)", "m (repeat 1)", "m (repeat 2)"]
    assert sorted(labels.each_repeat(None, "each")[1]) == every
    made, names = labels.each_repeat(["m"], "each")
    assert (names, sorted(made.judges)) == (every[1:], every)
    assert labels.each_repeat(["m (repeat 2)", "who"], "each")[1] == ["m (repeat 2)", "who"]
    assert labels.each_repeat(["m"], "first") == (labels, ["m"])


def test_answers_accepts_repeat_column_without_repeats():
    labels = labels_of(("a", "m", 1, 1), ("b", "m", 2, None), columns=("item", "annotator", "label", "repeat"))
    assert not labels.has_repeats
    assert len(labels.answers()) == 2


# -- arrays -----------------------------------------------------------------------------------------


def test_matrix_by_hand():
    labels = labels_of(*SMALL, judges=["gpt"])
    np.testing.assert_array_equal(labels.matrix(), [[1, 2, np.nan], [3, np.nan, 3]])
    np.testing.assert_array_equal(labels.matrix(["gpt", "ann"]), [[np.nan, 1], [3, 3]])
    with pytest.raises(DataError, match="annotator 'eve' is not in the table"):
        labels.matrix(["eve"])


def test_answers_code_categories_by_position():
    rows = [("a", "ann", "good"), ("b", "ann", "bad")]
    ordered = labels_of(*rows, scale=Ordinal(["bad", "fair", "good"])).answers()
    assert ordered.categories == ("bad", "fair", "good")
    assert ordered.value.tolist() == [2, 0]
    free = labels_of(*rows).answers()
    assert free.categories == ("bad", "good")
    assert free.value.tolist() == [1, 0]
    assert labels_of(("a", "ann", "first"), ("b", "ann", "tie"), scale=Preference()).answers().value.tolist() == [-1, 0]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(1, 5)), min_size=1, unique_by=lambda r: r[:2]),
    st.randoms(use_true_random=False),
)
def test_answers_do_not_depend_on_row_order(rows, shuffle):
    named = [(f"q{i}", f"r{j}", v) for i, j, v in rows]
    other = list(named)
    shuffle.shuffle(other)
    a, b = (labels_of(*r, scale=Ordinal(1, 5)) for r in (named, other))
    assert a.fingerprint == b.fingerprint
    np.testing.assert_array_equal(a.matrix(), b.matrix())
    for name in ("item", "annotator", "value"):
        np.testing.assert_array_equal(getattr(a.answers(), name), getattr(b.answers(), name))
    assert len(a.answers()) == len(rows)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 5)), min_size=2, unique_by=lambda r: r[:2]),
    st.data(),
)
def test_fingerprint_changes_with_every_label(rows, data):
    named = [(f"q{i}", f"r{j}", v) for i, j, v in rows]
    k = data.draw(st.integers(0, len(named) - 1))
    item, who, value = named[k]
    changed = [
        *named[:k],
        data.draw(st.sampled_from([(item, who, value % 5 + 1), ("new", who, value), (item, "new", value)])),
        *named[k + 1 :],
    ]
    before, after, fewer = (labels_of(*r, scale=Ordinal(1, 5)).fingerprint for r in (named, changed, named[1:]))
    assert before != after
    assert before != fewer


def test_fingerprint_changes_if_two_labels_are_swapped():
    a = labels_of(("q1", "r", 1), ("q2", "r", 2), ("q1", "s", 3), ("q2", "s", 4))
    b = labels_of(("q1", "r", 2), ("q2", "r", 1), ("q1", "s", 3), ("q2", "s", 4))
    assert a.fingerprint != b.fingerprint


def test_fingerprint_does_not_depend_on_source():
    scale = Interval(0, 10)
    whole = labels_of(("a", "ann", 1), ("b", "ann", 2), scale=scale)
    floats = labels_of(("a", "ann", 1.0), ("b", "ann", 2.0), scale=scale)
    text = labels_of(("a", "ann", "1"), ("b", "ann", "2"), scale=scale)
    assert whole.fingerprint == floats.fingerprint == text.fingerprint
    kinds = labels_of(("a", "ann", 1), ("b", "ann", 2), scale=scale, judges=["ann"])
    assert len(kinds.fingerprint) == 12


@given(st.integers(0, 10**6))
def test_answers_codes_index_names(seed):
    rng = random.Random(seed)
    cells = {(rng.choice("abcdefgh"), rng.choice(["r1", "r2", "r10"])): rng.choice(["x", "y", "z"]) for _ in range(20)}
    labels = labels_of(*[(i, a, v) for (i, a), v in cells.items()])
    found = labels.answers()
    again = {
        (found.items[i], found.annotators[a]): found.categories[v]
        for i, a, v in zip(found.item, found.annotator, found.value, strict=True)
    }
    assert again == cells


def test_annotations_are_immutable():
    frame = frame_of(*SMALL)
    copy = frame.clone()
    labels = Annotations.from_frame(frame, judges=["gpt"])
    before = labels.labels.clone()
    labels.where(annotator="ann").resolve_repeats("each")
    labels.matrix()
    _ = labels.fingerprint
    assert frame.equals(copy)
    assert labels.labels.equals(before)


def test_reading_lines_list_exclusions_and_notes():
    reading = Reading("x.csv", 9).without("without a label", 1).without("nothing", 0).add_notes("a note")
    assert reading.lines() == ["1 row without a label excluded", "a note"]


# -- the user's own names ---------------------------------------------------------------------------

OWN = Annotations.from_frame(
    frame_of(*SMALL, columns=("id", "worker", "stars")), item="id", annotator="worker", label="stars", judges=["gpt"]
)


def test_column_accepts_users_name_of_role():
    assert OWN.names == {"id": "item", "worker": "annotator", "stars": "label"}
    assert OWN.where(worker="ann", stars=[1, 3]).labels.rows() == [("a", "ann", 1), ("b", "ann", 3)]
    assert [value for value, _ in OWN.split("worker")] == ["ann", "bob", "gpt"]
    assert OWN.column("stars").to_list() == [1, 2, 3, 3]
    assert OWN.where(kind="human").where(id="b").n_items == 1
    assert OWN.column_name("id") == OWN.column_name("item") == "item"
    with pytest.raises(DataError, match="worker 'an' is not in the table; did you mean 'ann'"):
        OWN.where(worker="an")
    with pytest.raises(DataError, match="column 'wrker' is not in the table; did you mean 'worker'"):
        OWN.where(wrker="ann")


def test_column_name_prefers_existing_column():
    frame = frame_of(("a", "ann", 1), ("b", "ann", 2), columns=("id", "annotator", "label"))
    items = pl.DataFrame({"item": ["a", "b"], "id": [7, 8]})
    labels = Annotations.from_frame(frame, item="id", items=items)
    assert labels.where(id=7).labels["item"].to_list() == ["a"]


def test_conditions_accept_users_column_names():
    frame = frame_of(("a", "ann", 1, 1), ("a", "ann", 2, 2), columns=("item", "annotator", "label", "run"))
    labels = Annotations.from_frame(frame, repeat="run", conditions=["run"])
    assert labels.conditions == ("repeat",)


def test_column_name_forgets_split_item_column():
    frame = frame_of(("a__x", "ann", 1), ("a__y", "ann", 2), columns=("id", "annotator", "label"))
    assert Annotations.from_frame(frame, item="id", split_item="__").names == {}


@pytest.mark.parametrize("table", [REPEATED, labels_of(*SMALL)])
def test_resolve_repeats_refuses_unknown_rule(table):
    with pytest.raises(DesignError, match=r"repeats must be error, first, .* or each; got 'meen'; did you mean 'mean'"):
        table.resolve_repeats("meen")
    with pytest.raises(DesignError, match=r"repeats must be .*; got 'median'"):
        table.resolve_repeats("median")


def test_annotations_repr_and_html():
    rows = [(f"q{i}", who, 1 + i % 5, "x" * 100) for i in range(9) for who in ("ann", "<gpt>")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "why"], orient="row")
    labels = Annotations.from_frame(frame, judges=["<gpt>"], scale="1-5", conditions=["why"])
    line = "18 labels, 9 items, 1 human, 1 judge, ordinal:1-5"
    assert repr(labels) == f"Annotations({line})"
    page = labels._repr_html_()
    assert page.startswith(f"<p><b>Annotations</b>: {line}</p><table><thead><tr><th>item</th><th>annotator</th>")
    assert page.count("<tr>") == 1 + 10
    assert "<td>&lt;gpt&gt;</td>" in page
    assert f"<td>{'x' * 77}...</td>" in page
    assert page.endswith("</table><p>... and 8 more labels</p>")
    few = labels.where(item="q0")._repr_html_()
    assert few.count("<tr>") == 1 + 2
    assert few.endswith("</table>")


def test_from_frame_accepts_integers_of_any_width(tmp_path):
    path = tmp_path / "labels.json"
    rows = [{"item": name, "annotator": "ann", "label": label} for name, label in (("a", 1), ("b", 2**70))]
    path.write_text(json.dumps(rows))
    assert assay.read(path).answers().value.tolist() == [1.0, 2.0**70]


def test_from_frame_signature_lists_options():
    known = inspect.signature(Annotations.from_frame).parameters
    assert [*known][:4] == ["frame", "item", "annotator", "label"]
    assert {"judges", "humans", "missing", "label_spelling", "decimal", "split_item"} < set(known)
    assert "\njudges : iterable, optional\n    Names of all judges in the table" in Annotations.from_frame.__doc__
    with pytest.raises(DesignError, match="option 'judgse' is not in the options of from_frame; did you mean 'judges'"):
        Annotations.from_frame(pl.DataFrame({"item": []}), judgse=["gpt"])


def test_frames_have_one_row_per_label_with_all_attributes():
    frame = pl.DataFrame({
        "item": ["a", "a", "b"], "annotator": ["ann", "m", "ann"], "label": [1, 2, 3], "topic": ["x", "x", "y"],
    })  # fmt: skip
    labels = Annotations.from_frame(frame, judges=["m"])
    found = labels.to_polars()
    assert found.columns == ["item", "annotator", "kind", "label", "topic"]
    assert found.sort("item", "annotator").rows() == [
        ("a", "ann", "human", 1, "x"), ("a", "m", "judge", 2, "x"), ("b", "ann", "human", 3, "y"),
    ]  # fmt: skip
    assert labels.to_pandas().to_dict("list") == found.to_dict(as_series=False)


@pytest.mark.parametrize("name", [*OTHER_NAMES])
def test_names_of_data_frames_are_answered_with_what_does_the_same(name) -> None:
    labels = assay.read(pl.DataFrame({"item": ["a", "b"], "annotator": ["x", "y"], "label": [1, 2]}))
    with pytest.raises(AttributeError, match=rf"^'Annotations' object has no attribute '{name}'; use \.\w+") as refused:
        getattr(labels, name)
    assert hasattr(labels, str(refused.value).rpartition("use .")[2].partition("(")[0])
    assert not hasattr(labels, "banana")
    assert pickle.loads(pickle.dumps(labels)).labels.equals(labels.labels)
