"""Sheets kept by hand: blank rows, comments, columns named like a role, by a number, or twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assay
from assay.data.columns import (
    CONTENT,
    _id_texts,
    _marks_not_found,
    _named_rows,
    cast_together,
    class_names,
    column_of,
    drop_blank_rows,
    duplicate_words,
    factorize_ids,
    name_classes,
    several_contents,
    split_items,
    to_polars,
)
from assay.data.formats.exports import write
from assay.errors import AssayError, DataError, DesignError
from assay.estimation.result import Exclusion
from assay.similarity.lexical import word_similarity

Write = Callable[[str], Path]
BLANK = "blank"


@pytest.fixture
def sheet(tmp_path: Path) -> Write:
    def make(text: str) -> Path:
        path = tmp_path / "sheet.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return make


# -- rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("item,annotator,label\na,ann,1\nb,ann,2\n,,\n , ,\n", {}),
        ("item,ann,bob\na,1,\nb,,2\n,,\n,,\n", {"layout": "wide"}),
        ("item,annotator,stars\na,ann,1\nb,ann,2\n,,\n,,\n", {"label": ["stars"]}),
    ],
)
def test_read_counts_blank_rows(sheet, text, options):
    labels = assay.read(sheet(text), **options)
    assert len(labels) == 2
    assert labels.reading.exclusions[0] == Exclusion("row", 2, BLANK)
    assert labels.reading.rows == len(labels) + sum(e.count for e in labels.reading.exclusions)


def test_read_counts_blank_rows_of_frame():
    frame = pd.DataFrame({"item": ["a", None, None], "annotator": ["ann", None, None], "label": [1.0, None, None]})
    labels = assay.read(frame)
    assert (len(labels), labels.reading.exclusions) == (1, (Exclusion("row", 2, BLANK),))
    assert assay.Annotations.from_frame(frame).reading.exclusions == labels.reading.exclusions


def test_read_refuses_partly_blank_row(sheet):
    with pytest.raises(DataError, match=r"1 row without item \(row 3\)"):
        assay.read(sheet("item,annotator,label\na,ann,1\n,ann,\n,,\n"))


# -- columns ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_read_wide_refuses_comment_column(sheet):
    for text, scale in (("item,ann,bob,Comments\na,1,1,\nb,2,2,odd one\n", None),
                        ("item,ann,bob,Comments\na,1,1,\nb,2,2,odd one\n", "1-5"),
                        ("item,ann,bob,Notes\na,yes,no,\nb,no,no,odd one\n", None)):  # fmt: skip
        labels = assay.read(sheet(text), layout="wide", scale=scale)
        assert any("ignored (comment)" in note for note in labels.reading.notes)
        assert labels.humans == ("ann", "bob")
        assert assay.read(sheet(text), layout="wide", scale=scale, columns=["ann", "bob"]).humans == ("ann", "bob")


def test_read_notes_selected_columns(sheet):
    labels = assay.read(sheet("item,ann,bob\na,1,1\nb,2,2\n"), layout="wide")
    assert "'ann', 'bob' parsed as human labels" in labels.reading.notes


def test_read_names_row_of_word_among_numbers(sheet):
    with pytest.raises(DataError, match=r"labels mix numbers and text; 1 row of text \(row 3: 'two'\)"):
        assay.read(sheet("item,ann,bob\na,1,1\nb,two,2\n"), layout="wide")


def test_read_joins_column_names_of_several_levels():
    names = [("ID", ""), *((who, what) for who in ("ann", "bob") for what in ("clarity", "depth"))]
    frame = pd.DataFrame([["a", 1, 2, 3, 4], ["b", 2, 2, 1, 5]], columns=pd.MultiIndex.from_tuples(names))
    labels = assay.read(frame)
    assert (labels.humans, labels.criteria) == (("ann", "bob"), ("clarity", "depth"))
    assert labels.where(annotator="bob", criterion="depth").labels["label"].to_list() == [4, 5]


def test_read_wide_keeps_columns_named_as_roles():
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": [1, 2], "bob": [2, 2]})
    assert assay.read(frame, layout="wide").humans == ("annotator", "bob")
    assert assay.read(frame.rename({"annotator": "label"}), layout="wide").humans == ("bob", "label")
    about = pl.DataFrame({"item": ["a", "b"], "annotator": ["x", "y"], "ann": [1, 2], "bob": [2, 2]})
    labels = assay.read(about, layout="wide", columns=["ann", "bob"])
    assert labels.items["annotator (original)"].to_list() == ["x", "y"]


ANSWERS = pl.DataFrame(
    {"item": ["a", "a", "b"], "annotator": ["x", "y", "x"], "label": [1, 2, 3], "confidence": [0.5, 0.25, 1.0]}
)


def test_read_long_keeps_second_label_column():
    labels = assay.read(ANSWERS, label=["label", "confidence"])
    assert labels.criteria == ("confidence", "label")
    assert labels.where(criterion="confidence").labels["label"].to_list() == [0.5, 0.25, 1.0]
    again = assay.read(ANSWERS.with_columns(criterion=pl.lit("old")), label=["label", "confidence"])
    assert again.criteria == ("confidence", "label")
    assert "criterion (original)" in (*again.labels.columns, *again.items.columns, *again.annotators.columns)


def test_read_wide_refuses_words_and_numbers():
    frame = ANSWERS.with_columns(label=pl.Series(["yes", "no", "no"]))
    inferred = assay.read(frame, label=["label", "confidence"])
    assert inferred.scales == {"label": assay.Nominal(), "confidence": assay.Interval(0.25, 1)}
    scales = {"label": "nominal:no,yes", "confidence": "interval:0-1"}
    labels = assay.read(frame, label=["label", "confidence"], scale=scales)
    assert labels.where(criterion="confidence").labels["label"].to_list() == [0.5, 0.25, 1.0]


def test_read_accepts_numeric_column_names():
    frame = pd.DataFrame([["a", "ann", 1], ["b", "ann", 2]])
    assert assay.read(frame, item=0, annotator=1, label=2).humans == ("ann",)
    assert assay.read(frame, item="0", annotator="1", label="2").n_items == 2
    wide = pd.DataFrame([["a", 1, 2], ["b", 2, 2]], columns=["item", 1, 2])
    assert assay.read(wide, layout="wide").humans == ("1", "2")
    assert list(wide.columns) == ["item", 1, 2]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (
            pd.DataFrame([["a", "x", 1, 2]], columns=["item", "annotator", "label", "label"]),
            "two columns named 'label'",
        ),
        (pd.DataFrame([["a", "x", 1, 2]], columns=["item", "annotator", 1, "1"]), "two columns named '1'"),
        (
            pa.table([["a"], ["x"], [1], [2]], names=["item", "annotator", "label", "label"]),
            "two columns named 'label'",
        ),
    ],
)
def test_read_refuses_duplicate_columns_of_frame(frame, words):
    with pytest.raises(DataError, match=words):
        assay.read(frame)


@pytest.mark.parametrize("options", [{}, {"layout": "wide"}])
def test_read_refuses_duplicate_columns_of_file(sheet, options):
    with pytest.raises(DataError, match="has two columns named 'label'; rename one of them"):
        assay.read(sheet("item,annotator,label, label\na,ann,1,2\n"), **options)


def test_read_drops_empty_unnamed_columns(sheet):
    assert assay.read(sheet("item,ann,bob,,\na,1,4,,\nb,2,2,,\n"), layout="wide").humans == ("ann", "bob")
    assert assay.read(sheet(" item ,annotator, label\na,ann,1\n")).n_items == 1


# -- questions and sources --------------------------------------------------------------------------


def test_similarity_refuses_numeric_labels():
    labels = assay.simulate(40, scale="1-5", seed=1)
    with pytest.raises(DesignError, match="the similarity 'words' compares texts; the labels are a whole number from"):
        assay.alt_test(labels, "judge", epsilon=0.1, similarity=word_similarity)


def test_agreement_refuses_free_text():
    rows = [{"item": f"q{i}", "annotator": who, "label": f"{i} {who}"} for i in range(60) for who in ("ann", "bob")]
    with pytest.raises(
        DesignError, match=r"these labels are free text\. Name .* scale=\.\.\., or compare the texts by a simil"
    ):
        assay.agreement(assay.read(pl.DataFrame(rows)))


@pytest.mark.parametrize(
    ("name", "form"), [("t.csv", "table"), ("t.jsonl", "hugging-face"), ("t.json", "label-studio")]
)
def test_read_refuses_folder_instead_of_file(tmp_path, name, form):
    labels = assay.simulate(20, scale="1-5", seed=1)
    (tmp_path / name).mkdir()
    with pytest.raises(AssayError, match="is a folder; name a file in it"):
        write(labels, tmp_path / name, form)


@pytest.mark.slow
def test_read_refuses_file_instead_of_folder(tmp_path):
    labels = assay.simulate(40, scale="1-5", seed=1)
    (tmp_path / "file").touch()
    with pytest.raises(AssayError, match="file' is a file; name another folder"):
        write(labels, tmp_path / "file", "alt-test")
    report = assay.report(labels, expertise="skilled", method="none")
    with pytest.raises(AssayError, match="is a folder; name a file in it"):
        report.save(tmp_path)
    with pytest.raises(AssayError, match="is a file; name another folder"):
        report.save(tmp_path / "file" / "page.html")


# -- frames, parts of items, and messages ---------------------------------------------------------------


def test_to_polars_keeps_declared_order_on_request():
    size = pd.Categorical(["low", "high", None], categories=["low", "mid", "high"], ordered=True)
    plain = pd.Categorical(["x", "y", "x"])
    frame = pd.DataFrame({"size": size, "plain": plain, "n": [1, 2, 3]})
    for source in (frame, pa.Table.from_pandas(frame)):
        ordered, texts = to_polars(source, orders=True), to_polars(source)
        assert ordered.schema["size"] == pl.Enum(["low", "mid", "high"])
        assert ordered["size"].cast(pl.String).to_list() == ["low", "high", None]
        assert texts["size"].cast(pl.String).to_list() == ["low", "high", None]
        assert not isinstance(texts.schema["size"], pl.Enum)
        assert not isinstance(ordered.schema["plain"], pl.Enum)
        assert ordered["n"].to_list() == [1, 2, 3]
    own = pl.DataFrame({"a": [1]})
    assert to_polars(own) is own
    assert to_polars(own.lazy()).equals(own)
    labels = pd.DataFrame({"item": ["a", "b"], "annotator": "ann", "label": size[:2]})
    assert assay.Annotations.from_frame(labels).scale == assay.Ordinal(["low", "mid", "high"])


def test_column_of_infers_one_type():
    assert column_of("x", [1, None, 2.5], "t").to_list() == [1.0, None, 2.5]
    assert column_of("x", ["a", None], "t").to_list() == ["a", None]
    assert column_of("x", [1, "é", None], "t", strict=False).to_list() == ["1", "é", None]
    assert column_of("x", [["é"], None, {"b": 1}], "t").to_list() == ['["é"]', None, '{"b": 1}']
    assert column_of("x", [], "t").to_list() == []
    with pytest.raises(DataError) as few:
        column_of("x", [1, 2, "a", None], "t")
    assert str(few.value) == "t: column 'x' mixes numbers and text (row 3: 'a'); convert all values to one type"
    with pytest.raises(DataError, match=r"\(row 1: 1, row 2: 2, row 3: 3, row 4: 4, row 5: 5 and 1 more\)"):
        column_of("x", [1, 2, 3, 4, 5, 6, *"abcdefg"], "t")
    with pytest.raises(DataError, match=r"row 5: 5\); convert"):
        column_of("x", [1, 2, 3, 4, 5, *"abcdefg"], "t")


def rows(**columns: object) -> pl.DataFrame:
    found = pl.DataFrame(columns)
    return found.with_columns(_row=pl.int_range(1, found.height + 1))


def test_split_items_notes_lost_attributes():
    table = rows(item=["a__food", "a__mood", "b__food"], label=[1, 2, 3])
    about = pl.DataFrame({"item": ["a__food", "a__mood", "b__food"], "same": ["x", "x", "y"],
                          "other": ["p", "q", "r"], "gap": ["g", None, "h"]})  # fmt: skip
    found, items, notes = split_items(table, about, "__")
    assert found.select("item", "criterion", "label").rows() == [("a", "food", 1), ("a", "mood", 2), ("b", "food", 3)]
    assert items.rows(named=True) == [
        {"item": "a", "same": "x", "other": "p", "gap": "g"}, {"item": "b", "same": "y", "other": "r", "gap": "h"},
    ]  # fmt: skip
    assert notes == ["other of the item table: kept the value of the first part of each item"]
    assert split_items(table, about.drop("other"), "__")[2] == []
    alone = split_items(table, None, "__")
    assert (alone[1].rows(), alone[2]) == ([("a",), ("b",)], [])


def test_split_items_makes_attributes_of_groups():
    table = rows(item=["doc1-s2/1", "doc1-s3/2"], label=[1, 2])
    found, items, notes = split_items(table, None, r"^(?P<item>(?P<doc>\w+)-\w+)/(?P<repeat>\d)$")
    assert found.select("item", "repeat").rows() == [("doc1-s2", "1"), ("doc1-s3", "2")]
    assert (items.columns, items.rows(), notes) == (["item", "doc"], [("doc1-s2", "doc1"), ("doc1-s3", "doc1")], [])
    found, items, _ = split_items(table, None, r"^(?P<doc>\w+)-")
    assert found["item"].to_list() == ["doc1-s2/1", "doc1-s3/2"]
    assert items["doc"].to_list() == ["doc1", "doc1"]
    with pytest.raises(DataError, match=r"split_item '__' does not match item 'doc1-s2/1' \(2 rows, rows 1, 2\)"):
        split_items(table, None, "__")
    with pytest.raises(DataError, match=r"is not a regular expression"):
        split_items(table, None, r"(?P<item>")


def test_several_contents_lists_items():
    table = pl.DataFrame({
        "item": ["a", "a", "b", "b", "c", "c"], "criterion": ["x", "x", "x", "y", "x", "x"],
        CONTENT: [1, 2, 1, 2, 3, None],
    })  # fmt: skip
    words = f"labels on several versions of the content (column {CONTENT})"
    assert several_contents(table) == [
        f"1 item has {words}: a"
    ]  # b has one version per question, and a version of c is unknown
    assert several_contents(table.drop("criterion")) == [f"2 items have {words}: a, b"]
    assert several_contents(table.filter(item="c")) == []
    assert several_contents(table.drop(CONTENT)) == []


def test_duplicate_words_name_each_pair_of_rows_once_for_several_criteria():
    """Two rows with labels on three criteria are three repeated answers in one place."""
    cells = [(item, who, name) for item in ("i0", "i1") for who in ("ann",) for name in ("x", "y", "z") for _ in (1, 2)]
    item, annotator, criterion = map(list, zip(*cells, strict=True))
    table = rows(item=item, annotator=annotator, label=1, criterion=criterion)
    said = duplicate_words(table, ["item", "annotator", "criterion"])[0]
    assert said.startswith(
        "6 answers given several times (item 'i0', annotator 'ann': rows 1, 2; item 'i1', annotator 'ann': rows 7, 8); "
    )


def test_duplicate_words_name_rows_and_remedy():
    def words(n: int, **more: list[object]) -> str:
        cells = [f"i{i}" for i in range(n) for _ in range(2)]
        table = rows(item=[*cells, "z"], annotator="ann", label=1, **{k: [*v, v[0]] for k, v in more.items()})
        return duplicate_words(table, ["item", "annotator"])[0]

    extra = (
        "remove the extra rows, number the answers in a column 'repeat', or write one label for all of them, such as "
        "the number of errors"
    )
    assert words(1) == f"1 answer given several times (item 'i0', annotator 'ann': rows 1, 2); {extra}"
    shown = "; ".join(f"item 'i{i}', annotator 'ann': rows {2 * i + 1}, {2 * i + 2}" for i in range(5))
    assert words(5) == f"5 answers given several times ({shown}); {extra}"
    assert words(6) == f"6 answers given several times ({shown}; and 1 more); {extra}"
    assert words(1, prompt=["p", "q"]).endswith(
        "; if column 'prompt' is an experimental condition, set conditions=['prompt']"
    )
    assert words(1, trait=["p", "q"]).endswith(
        "; if column 'trait' names criteria, set criterion='trait'; if it is an experimental condition, set "
        "conditions=['trait']"
    )
    assert words(1, prompt=["p", "p"]).endswith(extra)
    assert words(2, prompt=["p", "q", "p", "p"]).endswith(extra)


def test_to_polars_reads_pandas_numbers_with_gaps_and_texts():
    frame = pd.DataFrame({"n": [1, 2, 3], "gap": [1.5, None, 2.5], "whole": pd.array([1, None, 3], dtype="Int64"),
                          "mixed": [1, "a", None]})  # fmt: skip
    found = to_polars(frame)
    assert found.to_dict(as_series=False) == {
        "n": [1, 2, 3], "gap": [1.5, None, 2.5], "whole": [1, None, 3], "mixed": ["1", "a", None],
    }  # fmt: skip
    with pytest.raises(DataError, match=r"a table in memory: column 'mixed' mixes numbers and text"):
        to_polars(frame, strict=["mixed"])
    assert to_polars(frame, strict=["n"]).equals(found)


INFO = {"info": {"features": {
    "label": {"_type": "ClassLabel", "names": ["no", "yes"]}, "text": {"_type": "Value", "names": ["x"]},
    "none": {"_type": "ClassLabel", "names": []}, "list": ["ClassLabel"],
}}}  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ({"huggingface": json.dumps(INFO)}, {"label": ["no", "yes"]}),
        ({b"huggingface": json.dumps(INFO).encode()}, {"label": ["no", "yes"]}),
        (None, {}), ({}, {}), ({"huggingface": ""}, {}), ({"huggingface": "{"}, {}), ({"huggingface": "[1]"}, {}),
        ({"pandas": json.dumps(INFO)}, {}),
    ],
)  # fmt: skip
def test_class_names_reads_metadata(metadata, wanted):
    assert class_names(metadata) == wanted


def test_name_classes_replaces_numbers():
    frame = pl.DataFrame({"label": [0, 1, -1, None], "text": ["0", "1", "a", None]})
    named = name_classes(frame, {"label": ["no", "yes"], "text": ["x"], "gone": ["y"]})
    assert named.to_dict(as_series=False) == {"label": ["no", "yes", None, None], "text": ["0", "1", "a", None]}
    for strange in (2, -2):
        with pytest.raises(DataError, match=f"column 'label' has 2 classes, but contains class number {strange}"):
            name_classes(pl.DataFrame({"label": [0, strange]}), {"label": ["no", "yes"]})
    table = pa.table({"label": [1, 0]}).replace_schema_metadata({"huggingface": json.dumps(INFO)})
    assert to_polars(table)["label"].to_list() == ["yes", "no"]
    assert to_polars(pa.table({"label": [1, 0]}))["label"].to_list() == [1, 0]


def dataset(**more: object) -> object:
    """An object that claims to be from Hugging Face's datasets."""
    return type("Dataset", (), {"__module__": "datasets.arrow_dataset", **more})()


def test_to_polars_reads_one_data_set_with_class_names():
    of = {"label": type("ClassLabel", (), {"names": ["no", "yes"]})(), "n": type("Value", (), {"names": ["x", "y"]})(),
          "bare": type("ClassLabel", (), {"names": None})()}  # fmt: skip
    table = pa.table({"label": [1, 0], "n": [0, 1], "bare": [1, 1]})
    asked: list[str] = []
    found = to_polars(dataset(num_rows=2, features=of, with_format=lambda self, form: asked.append(form) or table))
    assert asked == ["arrow"]
    assert found.to_dict(as_series=False) == {"label": ["yes", "no"], "n": [0, 1], "bare": [1, 1]}
    for lacking in ({"num_rows": 2}, {"with_format": None}, {}):
        with pytest.raises(DataError, match=r"a Dataset contains several tables or none; give one of them"):
            to_polars(dataset(**lacking))
    with pytest.raises(DataError, match=r"the data set has several parts \(train, test\); give one"):
        to_polars(dataset(num_rows={"train": 1, "test": 2}, with_format=None))


def test_ids_are_text_and_whole_numbers_stay_whole():
    assert _id_texts(pl.Series("item", [1.0, None, 12.0])).to_list() == ["1", None, "12"]
    assert _id_texts(pl.Series("item", [1.0, 1.5])).to_list() == ["1.0", "1.5"]
    assert _id_texts(pl.Series("item", [0.5, 1.5])).to_list() == ["0.5", "1.5"]
    assert _id_texts(pl.Series("item", [1.0, float("nan")])).to_list() == ["1", None]
    assert _id_texts(pl.Series("item", ["a", " ", "", None])).to_list() == ["a", None, None, None]
    for cells in ([10, 9, 10], ["b", "a", "b"]):
        names, codes = factorize_ids(pl.Series("item", cells))
        assert names.to_list() == sorted(map(str, set(cells)))
        assert [names[int(code)] for code in codes] == list(map(str, cells))


def test_additional_tables_accept_role_or_users_column_name():
    frame = pl.DataFrame({"id": [1, 2], "item": ["x", "y"]})
    assert _named_rows(frame, "item", "id").to_dict(as_series=False) == {"id": [1, 2], "item": ["x", "y"]}
    assert _named_rows(frame.drop("item"), "item", "id").to_dict(as_series=False) == {"item": ["1", "2"]}
    with pytest.raises(DataError, match="column 'item' is not in the table of items"):
        _named_rows(frame.drop("item"), "item", "name")


WIDE = pl.DataFrame({
    "id": [f"x{i}" for i in range(20)], "ann": [1 + i % 5 for i in range(20)], "bob": [1 + i % 4 for i in range(20)]
})  # fmt: skip


@pytest.mark.parametrize("name", ["item", "id", "key"])
def test_table_of_items_is_matched_by_its_ids(name):
    about = pl.DataFrame({"n": range(20), "genre": ["a", "b"] * 10, name: WIDE["id"]})
    for options in ({}, {"item": "id"}, {"item": "id", "layout": "wide"}):
        labels = assay.read(WIDE, items=about, humans=["ann", "bob"], **options)
        assert labels.items["genre"].to_list() == ["a", "b"] * 10
        assert name == "item" or name not in labels.items.columns
    long = WIDE.unpivot(["ann", "bob"], index="id", variable_name="annotator", value_name="label")
    assert assay.read(long.rename({"id": "item"}), items=about).items["genre"].to_list() == ["a", "b"] * 10


def test_table_of_other_items_is_refused():
    people = {"humans": ["ann", "bob"]}
    other = pl.DataFrame({"item": [f"y{i}" for i in range(20)], "genre": ["a", "b"] * 10})
    with pytest.raises(DataError, match="no item of the table of items has a label: it has 'y0', and the labels have"):
        assay.read(WIDE, items=other, **people)
    with pytest.raises(
        DataError, match="'item' is not in the table of items; it has key, genre; no column has the ids"
    ):
        assay.read(WIDE, items=other.rename({"item": "key"}), **people)
    twice = pl.DataFrame({"key": WIDE["id"], "again": WIDE["id"]})
    with pytest.raises(DataError, match="; 'key', 'again' have the ids of the labels, such as 'x0'"):
        assay.read(WIDE, items=twice, **people)
    few = pl.concat([other, pl.DataFrame({"item": ["x3"], "genre": ["a"]})])
    notes = assay.read(WIDE, items=few, **people).reading.notes
    assert "19 of 20 items with labels are not in the table of items, such as 'x0'" in notes


def test_errors_name_at_most_five_rows():
    for n, words in ((1, "1 row without item (row 1)"), (5, "5 rows without item (rows 1, 2, 3, 4, 5)"),
                     (6, "6 rows without item (rows 1, 2, 3, 4, 5 and 1 more)")):  # fmt: skip
        frame = pl.DataFrame({"item": [*[None] * n, "a"], "annotator": "ann", "label": 1})
        with pytest.raises(DataError) as refused:
            assay.read(frame)
        assert words in str(refused.value)


def test_criteria_share_one_label_type():
    whole, some, words, none = (pl.Series([1, 2]), pl.Series([0.5, None]), pl.Series(["a", None]),
                                pl.Series([None, None], dtype=pl.String))  # fmt: skip

    def types(*columns: pl.Series) -> list[pl.DataType]:
        return [column.dtype for column in cast_together(list(columns))]

    assert types(whole, whole) == [pl.Int64()] * 2
    assert types(whole, some) == [pl.Float64()] * 2
    assert types(whole, words) == [pl.String()] * 2
    assert types(whole, none) == [pl.Int64()] * 2  # an empty column has no influence
    assert types(none, none) == [pl.String()] * 2


def test_read_notes_unused_missing_marks():
    note = "no label is '{}', listed in missing=...".format
    assert _marks_not_found([], {"x": 1}) == []
    assert _marks_not_found(["n/a", "9", " x "], {"x": 1, "9.0": 2}) == [note("n/a")]
    assert _marks_not_found([9, -1, ""], {"9": 1}) == [note("-1")]
    assert _marks_not_found(["n/a"], {}) == [note("n/a")]


def test_scale_note_names_every_criterion():
    frame = pl.DataFrame({"item": ["a", "b", "a", "b"], "annotator": "ann", "criterion": ["x", "x", "y", "y"],
                          "label": [1, 2, None, None]})  # fmt: skip
    assert assay.read(frame, scale={"x": "1-5"}).scales["x"] == assay.Ordinal(1, 5)
    with pytest.raises(DataError, match="criterion 'y' is not in scale="):
        assay.read(frame.with_columns(label=pl.Series([1, 2, 3, None])), scale={"x": "1-5"})
    with pytest.raises(DataError, match=r"1 label of criterion 'x' off the scale \(row 2: 9\)"):
        assay.read(frame.with_columns(label=pl.Series([1, 9, None, None])), scale={"x": "1-5"})


def test_drop_blank_rows_checks_every_column():
    """Null, NaN and spaces are blank; the internal row numbers are ignored."""

    def dropped(**columns: Any) -> tuple[list[int], int]:
        n = len(next(iter(columns.values())))
        table, count = drop_blank_rows(pl.DataFrame({"_row": range(1, n + 1), **columns}, strict=False))
        return table["_row"].to_list(), count

    assert dropped(a=["x", None, "  ", "", None], b=[None, float("nan"), None, 2.0, 0.0]) == ([1, 4, 5], 2)
    assert dropped(a=[None, None], b=[None, None], c=[1, None]) == ([1], 1)
    assert dropped(a=["x", "y"], b=["", ""]) == ([1, 2], 0)
    assert dropped(a=["", "y"], b=["z", ""]) == ([1, 2], 0)
    assert dropped(a=["", "y", ""]) == ([2], 2)
    assert dropped(a=[False, None]) == ([1], 1)
    alone = pl.DataFrame({"_row": [1, 2]})
    assert drop_blank_rows(alone)[0].equals(alone)
    assert drop_blank_rows(alone)[1] == 0


def test_scale_notes_name_criteria_if_scales_differ():
    def notes_of(third, criteria=("clear", "true")):
        rows = [(f"q{k}", "ann", criterion, f"{k % top + 1}/{top}")
                for k in range(6) for criterion, top in zip(criteria, (5, third, 5), strict=False)]  # fmt: skip
        frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
        return assay.read(frame).reading.notes

    to_five = "labels such as '1/5' parsed as numbers up to 5"
    differ, alike = notes_of(3), notes_of(5)
    assert differ[0] == f"clear: {to_five}"
    assert differ[2] == "true: labels such as '1/3' parsed as numbers up to 3"
    assert all(note.startswith(("clear: ", "true: ")) for note in differ)
    assert alike[0] == to_five
    assert not any(note.startswith(("clear", "true")) for note in alike)
    assert f"clear, whole: {to_five}" in notes_of(3, ("clear", "true", "whole"))


def test_answers_repeated_within_stated_conditions_name_what_tells_them_apart():
    frame = pl.DataFrame({"item": list("abc") * 4, "annotator": "m", "label": [1, 2, 1] * 4,
                          "prompt": (["p"] * 3 + ["q"] * 3) * 2, "speed": ["low"] * 6 + ["high"] * 6})  # fmt: skip
    with pytest.raises(DataError, match=r"6 answers given several times .* set conditions=\['speed', 'prompt'\]") as no:
        assay.Annotations.from_frame(frame, conditions=["prompt"], judges=["m"])
    assert no.value.advised == {"conditions": ["speed", "prompt"]}
    told = assay.Annotations.from_frame(frame, judges=["m"], **no.value.advised)
    assert told.labels.height == 12
