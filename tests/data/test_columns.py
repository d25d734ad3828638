"""Sheets as people make them: blank rows, comments, columns named like a role, by a number, or twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assay
from assay.data.columns import (
    CONTENT,
    column_of,
    duplicate_words,
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
