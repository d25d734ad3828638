"""Sheets as people make them: blank rows, comments, columns named like a role, by a number, or twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assay
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
