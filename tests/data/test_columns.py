"""Sheets as people make them: blank rows, comments, columns named like a role, by a number, or twice."""

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
    _cast_alike,
    _factorize_ids,
    _id_texts,
    _marks_not_found,
    _named_rows,
    class_names,
    column_of,
    drop_blank_rows,
    duplicate_words,
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
BLANK = "blank, as sheets end in"


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
def test_blank_rows_are_counted_not_refused(sheet, text, options):
    labels = assay.read(sheet(text), **options)
    assert len(labels) == 2
    assert labels.reading.exclusions[0] == Exclusion("row", 2, BLANK)
    assert labels.reading.rows == len(labels) + sum(e.count for e in labels.reading.exclusions)


def test_blank_rows_of_a_frame():
    frame = pd.DataFrame({"item": ["a", None, None], "annotator": ["ann", None, None], "label": [1.0, None, None]})
    labels = assay.read(frame)
    assert (len(labels), labels.reading.exclusions) == (1, (Exclusion("row", 2, BLANK),))
    assert assay.Annotations.from_frame(frame).reading.exclusions == labels.reading.exclusions


def test_a_row_with_something_in_it_is_still_refused(sheet):
    with pytest.raises(DataError, match=r"1 row without item \(row 3\)"):
        assay.read(sheet("item,annotator,label\na,ann,1\n,ann,\n,,\n"))


# -- columns ----------------------------------------------------------------------------------------


def test_a_column_of_comments_is_no_annotator(sheet):
    for text, scale in (("item,ann,bob,Comments\na,1,1,\nb,2,2,odd one\n", None),
                        ("item,ann,bob,Comments\na,1,1,\nb,2,2,odd one\n", "1-5"),
                        ("item,ann,bob,Notes\na,yes,no,\nb,no,no,odd one\n", None)):  # fmt: skip
        labels = assay.read(sheet(text), layout="wide", scale=scale)
        assert any("left out, comments" in note for note in labels.reading.notes)
        assert labels.humans == ("ann", "bob")
        assert assay.read(sheet(text), layout="wide", scale=scale, columns=["ann", "bob"]).humans == ("ann", "bob")


def test_which_columns_were_taken_is_said(sheet):
    labels = assay.read(sheet("item,ann,bob\na,1,1\nb,2,2\n"), layout="wide")
    assert "'ann', 'bob' taken as an annotator's labels each" in labels.reading.notes


def test_a_word_among_numbers_is_named_by_its_row(sheet):
    with pytest.raises(DataError, match=r"mixture of numbers and text; 1 row of text \(row 3: 'two'\)"):
        assay.read(sheet("item,ann,bob\na,1,1\nb,two,2\n"), layout="wide")


def test_names_of_several_levels_are_joined():
    names = [("ID", ""), *((who, what) for who in ("ann", "bob") for what in ("clarity", "depth"))]
    frame = pd.DataFrame([["a", 1, 2, 3, 4], ["b", 2, 2, 1, 5]], columns=pd.MultiIndex.from_tuples(names))
    labels = assay.read(frame)
    assert (labels.humans, labels.criteria) == (("ann", "bob"), ("clarity", "depth"))
    assert labels.where(annotator="bob", criterion="depth").labels["label"].to_list() == [4, 5]


def test_columns_that_bear_the_name_of_a_role():
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": [1, 2], "bob": [2, 2]})
    assert assay.read(frame, layout="wide").humans == ("annotator", "bob")
    assert assay.read(frame.rename({"annotator": "label"}), layout="wide").humans == ("bob", "label")
    about = pl.DataFrame({"item": ["a", "b"], "annotator": ["x", "y"], "ann": [1, 2], "bob": [2, 2]})
    labels = assay.read(about, layout="wide", columns=["ann", "bob"])
    assert labels.items["annotator (original)"].to_list() == ["x", "y"]


ANSWERS = pl.DataFrame(
    {"item": ["a", "a", "b"], "annotator": ["x", "y", "x"], "label": [1, 2, 3], "confidence": [0.5, 0.25, 1.0]}
)


def test_a_label_column_beside_another():
    labels = assay.read(ANSWERS, label=["label", "confidence"])
    assert labels.criteria == ("confidence", "label")
    assert labels.where(criterion="confidence").labels["label"].to_list() == [0.5, 0.25, 1.0]
    again = assay.read(ANSWERS.with_columns(criterion=pl.lit("old")), label=["label", "confidence"])
    assert again.criteria == ("confidence", "label")
    assert "criterion (original)" in (*again.labels.columns, *again.items.columns, *again.annotators.columns)


def test_words_beside_numbers_are_not_made_categories():
    frame = ANSWERS.with_columns(label=pl.Series(["yes", "no", "no"]))
    inferred = assay.read(frame, label=["label", "confidence"])
    assert inferred.scales == {"label": assay.Nominal(), "confidence": assay.Interval(0.25, 1)}
    scales = {"label": "nominal:no,yes", "confidence": "interval:0-1"}
    labels = assay.read(frame, label=["label", "confidence"], scale=scales)
    assert labels.where(criterion="confidence").labels["label"].to_list() == [0.5, 0.25, 1.0]


def test_columns_named_by_numbers():
    frame = pd.DataFrame([["a", "ann", 1], ["b", "ann", 2]])
    assert assay.read(frame, item=0, annotator=1, label=2).humans == ("ann",)
    assert assay.read(frame, item="0", annotator="1", label="2").n_items == 2
    wide = pd.DataFrame([["a", 1, 2], ["b", 2, 2]], columns=["item", 1, 2])
    assert assay.read(wide, layout="wide").humans == ("1", "2")
    assert list(wide.columns) == ["item", 1, 2]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame([["a", "x", 1, 2]], columns=["item", "annotator", "label", "label"]), "two columns 'label'"),
        (pd.DataFrame([["a", "x", 1, 2]], columns=["item", "annotator", 1, "1"]), "two columns '1'"),
        (pa.table([["a"], ["x"], [1], [2]], names=["item", "annotator", "label", "label"]), "two columns 'label'"),
    ],
)
def test_columns_named_twice(frame, words):
    with pytest.raises(DataError, match=words):
        assay.read(frame)


@pytest.mark.parametrize("options", [{}, {"layout": "wide"}])
def test_columns_named_twice_in_a_file(sheet, options):
    with pytest.raises(DataError, match="has two columns 'label'; rename one of them"):
        assay.read(sheet("item,annotator,label, label\na,ann,1,2\n"), **options)


def test_columns_without_a_name_to_the_right(sheet):
    assert assay.read(sheet("item,ann,bob,,\na,1,4,,\nb,2,2,,\n"), layout="wide").humans == ("ann", "bob")
    assert assay.read(sheet(" item ,annotator, label\na,ann,1\n")).n_items == 1


# -- questions and places ---------------------------------------------------------------------------


def test_a_similarity_of_texts_on_numbers():
    labels = assay.simulate(40, scale="1-5", seed=1)
    with pytest.raises(DesignError, match="the similarity 'words' compares texts; the labels are a whole number from"):
        assay.alt_test(labels, "judge", epsilon=0.1, similarity=word_similarity)


def test_agreement_on_free_text():
    rows = [{"item": f"q{i}", "annotator": who, "label": f"{i} {who}"} for i in range(60) for who in ("ann", "bob")]
    with pytest.raises(
        DesignError, match=r"these are free text\. Say with scale=\.\.\. .* or compare texts by a simil"
    ):
        assay.agreement(assay.read(pl.DataFrame(rows)))


@pytest.mark.parametrize(
    ("name", "form"), [("t.csv", "table"), ("t.jsonl", "hugging-face"), ("t.json", "label-studio")]
)
def test_a_folder_in_the_place_of_a_file(tmp_path, name, form):
    labels = assay.simulate(20, scale="1-5", seed=1)
    (tmp_path / name).mkdir()
    with pytest.raises(AssayError, match="is a folder; name a file in it"):
        write(labels, tmp_path / name, form)


def test_a_file_in_the_place_of_a_folder(tmp_path):
    labels = assay.simulate(40, scale="1-5", seed=1)
    (tmp_path / "file").touch()
    with pytest.raises(AssayError, match="file' is a file; name another folder"):
        write(labels, tmp_path / "file", "alt-test")
    report = assay.report(labels, expertise="skilled", method="none")
    with pytest.raises(AssayError, match="is a folder; name a file in it"):
        report.save(tmp_path)
    with pytest.raises(AssayError, match="is a file; name another folder"):
        report.save(tmp_path / "file" / "page.html")


# -- frames, parts of items, and what is said of a table ----------------------------------------------


def test_a_declared_order_is_kept_where_it_is_asked_for():
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


def test_values_in_the_one_type_they_have():
    assert column_of("x", [1, None, 2.5], "t").to_list() == [1.0, None, 2.5]
    assert column_of("x", ["a", None], "t").to_list() == ["a", None]
    assert column_of("x", [1, "é", None], "t", strict=False).to_list() == ["1", "é", None]
    assert column_of("x", [["é"], None, {"b": 1}], "t").to_list() == ['["é"]', None, '{"b": 1}']
    assert column_of("x", [], "t").to_list() == []
    with pytest.raises(DataError) as few:
        column_of("x", [1, 2, "a", None], "t")
    assert str(few.value) == "t: column 'x' mixes numbers and text (row 3: 'a'); 1 is not \"1\": make them one type"
    with pytest.raises(DataError, match=r"\(row 1: 1, row 2: 2, row 3: 3, row 4: 4, row 5: 5 and 1 more\)"):
        column_of("x", [1, 2, 3, 4, 5, 6, *"abcdefg"], "t")
    with pytest.raises(DataError, match=r"row 5: 5\); 1 is not"):
        column_of("x", [1, 2, 3, 4, 5, *"abcdefg"], "t")


def rows(**columns: object) -> pl.DataFrame:
    found = pl.DataFrame(columns)
    return found.with_columns(_row=pl.int_range(1, found.height + 1))


def test_parts_of_an_item_s_name_become_columns_and_what_is_lost_is_said():
    table = rows(item=["a__food", "a__mood", "b__food"], label=[1, 2, 3])
    about = pl.DataFrame({"item": ["a__food", "a__mood", "b__food"], "same": ["x", "x", "y"],
                          "other": ["p", "q", "r"], "gap": ["g", None, "h"]})  # fmt: skip
    found, items, notes = split_items(table, about, "__")
    assert found.select("item", "criterion", "label").rows() == [("a", "food", 1), ("a", "mood", 2), ("b", "food", 3)]
    assert items.rows(named=True) == [
        {"item": "a", "same": "x", "other": "p", "gap": "g"}, {"item": "b", "same": "y", "other": "r", "gap": "h"},
    ]  # fmt: skip
    assert notes == ["of other in the item table the first of each item is kept: its parts differ"]
    assert split_items(table, about.drop("other"), "__")[2] == []
    alone = split_items(table, None, "__")
    assert (alone[1].rows(), alone[2]) == ([("a",), ("b",)], [])


def test_groups_of_a_pattern_are_attributes_of_the_items():
    table = rows(item=["doc1-s2/1", "doc1-s3/2"], label=[1, 2])
    found, items, notes = split_items(table, None, r"^(?P<item>(?P<doc>\w+)-\w+)/(?P<repeat>\d)$")
    assert found.select("item", "repeat").rows() == [("doc1-s2", "1"), ("doc1-s3", "2")]
    assert (items.columns, items.rows(), notes) == (["item", "doc"], [("doc1-s2", "doc1"), ("doc1-s3", "doc1")], [])
    found, items, _ = split_items(table, None, r"^(?P<doc>\w+)-")
    assert found["item"].to_list() == ["doc1-s2/1", "doc1-s3/2"]
    assert items["doc"].to_list() == ["doc1", "doc1"]
    with pytest.raises(DataError, match=r"split_item '__' does not fit item 'doc1-s2/1' \(2 rows, rows 1, 2\)"):
        split_items(table, None, "__")
    with pytest.raises(DataError, match=r"is not a regular expression"):
        split_items(table, None, r"(?P<item>")


def test_items_on_several_contents_are_said():
    table = pl.DataFrame({
        "item": ["a", "a", "b", "b", "c", "c"], "criterion": ["x", "x", "x", "y", "x", "x"],
        CONTENT: [1, 2, 1, 2, 3, None],
    })  # fmt: skip
    words = f"labels given on several contents, as the column {CONTENT} says"
    assert several_contents(table) == [f"1 item has {words}: a"]  # of b each question on one, of c one is not known
    assert several_contents(table.drop("criterion")) == [f"2 items have {words}: a, b"]
    assert several_contents(table.filter(item="c")) == []
    assert several_contents(table.drop(CONTENT)) == []


def test_answers_given_twice_are_named_with_what_may_mend_them():
    def words(n: int, **more: list[object]) -> str:
        cells = [f"i{i}" for i in range(n) for _ in range(2)]
        table = rows(item=[*cells, "z"], annotator="ann", label=1, **{k: [*v, v[0]] for k, v in more.items()})
        return duplicate_words(table, ["item", "annotator"])

    extra = "remove the extra rows, or number the answers in a column 'repeat'"
    assert words(1) == f"1 answer given more than once (item 'i0', annotator 'ann': rows 1, 2); {extra}"
    shown = "; ".join(f"item 'i{i}', annotator 'ann': rows {2 * i + 1}, {2 * i + 2}" for i in range(5))
    assert words(5) == f"5 answers given more than once ({shown}); {extra}"
    assert words(6) == f"6 answers given more than once ({shown}; and 1 more); {extra}"
    assert words(1, prompt=["p", "q"]).endswith("; if column 'prompt' was varied on purpose, say conditions=['prompt']")
    assert words(1, prompt=["p", "p"]).endswith(extra)
    assert words(2, prompt=["p", "q", "p", "p"]).endswith(extra)


def test_columns_of_pandas_are_numbers_with_gaps_or_texts():
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
def test_names_of_class_labels_beside_a_table(metadata, wanted):
    assert class_names(metadata) == wanted


def test_numbers_of_classes_become_their_names():
    frame = pl.DataFrame({"label": [0, 1, -1, None], "text": ["0", "1", "a", None]})
    named = name_classes(frame, {"label": ["no", "yes"], "text": ["x"], "gone": ["y"]})
    assert named.to_dict(as_series=False) == {"label": ["no", "yes", None, None], "text": ["0", "1", "a", None]}
    for strange in (2, -2):
        with pytest.raises(DataError, match=f"column 'label' has 2 classes, and a label of number {strange}"):
            name_classes(pl.DataFrame({"label": [0, strange]}), {"label": ["no", "yes"]})
    table = pa.table({"label": [1, 0]}).replace_schema_metadata({"huggingface": json.dumps(INFO)})
    assert to_polars(table)["label"].to_list() == ["yes", "no"]
    assert to_polars(pa.table({"label": [1, 0]}))["label"].to_list() == [1, 0]


def dataset(**more: object) -> object:
    """Something that says it is of Hugging Face's datasets."""
    return type("Dataset", (), {"__module__": "datasets.arrow_dataset", **more})()


def test_a_data_set_is_one_table_and_names_its_classes():
    of = {"label": type("ClassLabel", (), {"names": ["no", "yes"]})(), "n": type("Value", (), {"names": ["x", "y"]})(),
          "bare": type("ClassLabel", (), {"names": None})()}  # fmt: skip
    table = pa.table({"label": [1, 0], "n": [0, 1], "bare": [1, 1]})
    asked: list[str] = []
    found = to_polars(dataset(num_rows=2, features=of, with_format=lambda self, form: asked.append(form) or table))
    assert asked == ["arrow"]
    assert found.to_dict(as_series=False) == {"label": ["yes", "no"], "n": [0, 1], "bare": [1, 1]}
    for lacking in ({"num_rows": 2}, {"with_format": None}, {}):
        with pytest.raises(DataError, match=r"a Dataset holds several tables or none; give one of them"):
            to_polars(dataset(**lacking))
    with pytest.raises(DataError, match=r"the data set has several parts \(train, test\); give one"):
        to_polars(dataset(num_rows={"train": 1, "test": 2}, with_format=None))


def test_names_are_text_and_whole_numbers_stay_whole():
    assert _id_texts(pl.Series("item", [1.0, None, 12.0])).to_list() == ["1", None, "12"]
    assert _id_texts(pl.Series("item", [1.0, 1.5])).to_list() == ["1.0", "1.5"]
    assert _id_texts(pl.Series("item", [0.5, 1.5])).to_list() == ["0.5", "1.5"]
    assert _id_texts(pl.Series("item", [1.0, float("nan")])).to_list() == ["1", None]
    assert _id_texts(pl.Series("item", ["a", " ", "", None])).to_list() == ["a", None, None, None]
    for cells in ([10, 9, 10], ["b", "a", "b"]):
        names, codes = _factorize_ids(pl.Series("item", cells))
        assert names.to_list() == sorted(map(str, set(cells)))
        assert [names[int(code)] for code in codes] == list(map(str, cells))


def test_a_table_beside_the_labels_has_its_names_under_the_role_or_the_user_s_own():
    frame = pl.DataFrame({"id": [1, 2], "item": ["x", "y"]})
    assert _named_rows(frame, "item", "id").to_dict(as_series=False) == {"id": [1, 2], "item": ["x", "y"]}
    assert _named_rows(frame.drop("item"), "item", "id").to_dict(as_series=False) == {"item": ["1", "2"]}
    with pytest.raises(DataError, match="column 'item' is not in the table of items"):
        _named_rows(frame.drop("item"), "item", "name")


def test_rows_are_named_up_to_five():
    for n, words in ((1, "1 row without item (row 1)"), (5, "5 rows without item (rows 1, 2, 3, 4, 5)"),
                     (6, "6 rows without item (rows 1, 2, 3, 4, 5 and 1 more)")):  # fmt: skip
        frame = pl.DataFrame({"item": [*[None] * n, "a"], "annotator": "ann", "label": 1})
        with pytest.raises(DataError) as refused:
            assay.read(frame)
        assert words in str(refused.value)


def test_labels_of_several_criteria_in_one_type():
    whole, some, words, none = (pl.Series([1, 2]), pl.Series([0.5, None]), pl.Series(["a", None]),
                                pl.Series([None, None], dtype=pl.String))  # fmt: skip

    def types(*columns: pl.Series) -> list[pl.DataType]:
        return [column.dtype for column in _cast_alike(list(columns))]

    assert types(whole, whole) == [pl.Int64()] * 2
    assert types(whole, some) == [pl.Float64()] * 2
    assert types(whole, words) == [pl.String()] * 2
    assert types(whole, none) == [pl.Int64()] * 2  # what is empty decides nothing
    assert types(none, none) == [pl.String()] * 2


def test_a_mark_of_no_answer_that_no_label_is_is_said():
    note = "no label is '{}', which missing=... names".format
    assert _marks_not_found([], {"x": 1}) == []
    assert _marks_not_found(["n/a", "9", " x "], {"x": 1, "9.0": 2}) == [note("n/a")]
    assert _marks_not_found([9, -1, ""], {"9": 1}) == [note("-1")]
    assert _marks_not_found(["n/a"], {}) == [note("n/a")]


def test_scales_by_criterion_name_each_that_has_labels():
    frame = pl.DataFrame({"item": ["a", "b", "a", "b"], "annotator": "ann", "criterion": ["x", "x", "y", "y"],
                          "label": [1, 2, None, None]})  # fmt: skip
    assert assay.read(frame, scale={"x": "1-5"}).scales["x"] == assay.Ordinal(1, 5)
    with pytest.raises(DataError, match="criterion 'y' is not in scale="):
        assay.read(frame.with_columns(label=pl.Series([1, 2, 3, None])), scale={"x": "1-5"})
    with pytest.raises(DataError, match=r"1 label of criterion 'x' off the scale \(row 2: 9\)"):
        assay.read(frame.with_columns(label=pl.Series([1, 9, None, None])), scale={"x": "1-5"})


def test_only_rows_that_are_blank_in_every_column_are_dropped():
    """Null, NaN and spaces are nothing; assay's own row numbers are no content."""

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


def test_what_is_assumed_of_labels_names_the_criteria_whose_scales_differ():
    def notes_of(third, criteria=("clear", "true")):
        rows = [(f"q{k}", "ann", criterion, f"{k % top + 1}/{top}")
                for k in range(6) for criterion, top in zip(criteria, (5, third, 5), strict=False)]  # fmt: skip
        frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
        return assay.read(frame).reading.notes

    to_five = "labels such as '1/5' are read as numbers up to 5"
    differ, alike = notes_of(3), notes_of(5)
    assert differ[0] == f"clear: {to_five}"
    assert differ[2] == "true: labels such as '1/3' are read as numbers up to 3"
    assert all(note.startswith(("clear: ", "true: ")) for note in differ)
    assert alike[0] == to_five
    assert not any(note.startswith(("clear", "true")) for note in alike)
    assert f"clear, whole: {to_five}" in notes_of(3, ("clear", "true", "whole"))
