"""Codes and their words, from a sheet, a file or a mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.errors import DataError

LABELS = pl.DataFrame(
    {"item": ["a", "a", "b", "b", "c", "c"], "annotator": ["ann", "bob"] * 3, "label": [1, 2, 3, 3, 1, 1]}
)
KEY = pl.DataFrame({"code": [1, 2, 3], "meaning": ["never", "sometimes", "always"]})
WORDS = ["never", "sometimes", "always", "always", "never", "never"]


@pytest.mark.parametrize("codes", [KEY, {1: "never", 2: "sometimes", 3: "always"}], ids=["frame", "mapping"])
def test_codes_are_replaced_by_words(codes):
    labels = assay.read(LABELS, codes=codes)
    assert labels.labels["label"].to_list() == WORDS
    assert "codes replaced by words: 1 = never, 2 = sometimes, 3 = always" in labels.reading.notes
    ordered = assay.read(LABELS, codes=codes, scale="ordinal:never<sometimes<always")
    assert ordered.fingerprint != assay.read(LABELS).fingerprint
    assert ordered.scale.spec == "ordinal:never<sometimes<always"


@pytest.mark.parametrize("labels", [LABELS, LABELS.cast({"label": pl.Float64}), LABELS.cast({"label": pl.String})])
def test_codes_can_be_numbers_or_text(labels):
    assert assay.read(labels, codes=KEY).labels["label"].to_list() == WORDS


@pytest.mark.parametrize("dtype", [pl.Float64, pl.String])
def test_codes_match_equal_numbers(dtype):
    labels = LABELS.with_columns(label=pl.Series([0.0, 0.5, 1.0, 1.0, 0.0, 0.0]).cast(dtype))
    read = assay.read(labels, codes={"0": "never", "0.5": "sometimes", "1": "always"})
    assert read.labels["label"].to_list() == WORDS
    padded = LABELS.with_columns(label=pl.Series(["1", "01", "2", "2", "1", "1"]))
    assert assay.read(padded, codes={"1": "a", "01": "b", "2": "c"}).labels["label"].to_list() == [*"abccaa"]


def test_codes_from_separate_file(tmp_path):
    LABELS.write_csv(tmp_path / "labels.csv")
    KEY.write_csv(tmp_path / "key.csv")
    assert assay.read(tmp_path / "labels.csv", codes=tmp_path / "key.csv").labels["label"].to_list() == WORDS


def test_codes_by_criterion():
    labels = pl.concat([LABELS.with_columns(criterion=pl.lit(one)) for one in ("tone", "length")])
    key = pl.concat([
        KEY.with_columns(criterion=pl.lit("tone")),
        pl.DataFrame({"code": [1, 2, 3], "meaning": ["short", "right", "long"], "criterion": ["length"] * 3}),
    ])  # fmt: skip
    read = assay.read(labels, codes=key)
    assert read.where(criterion="length").labels["label"].to_list()[:3] == ["short", "right", "long"]
    assert read.where(criterion="tone").labels["label"].to_list() == WORDS
    nested = assay.read(labels, codes={"tone": {1: "never", 2: "sometimes", 3: "always"}})
    assert nested.where(criterion="length").labels["label"].to_list()[:3] == [1, 2, 3]
    assert "length: no codes were given; the labels stay unchanged" in nested.reading.notes
    assert not any("no code is given" in note for note in read.reading.notes)


def test_codes_keep_words_and_blanks_are_missing():
    labels = LABELS.cast({"label": pl.String}).with_columns(
        label=pl.Series(["1", "sometimes", "3", "-", " 1 ", None], dtype=pl.String)
    )
    read = assay.read(labels, codes=KEY, missing=["-"])
    assert read.labels["label"].drop_nulls().to_list() == ["never", "sometimes", "always", "never"]


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (KEY.head(2), r"such as '3' \(row 3: 3, row 4: 3\) are not among the codes: 1 = never, 2 = sometimes;"),
        (KEY.with_columns(why=pl.lit("x")), "a table of codes has two columns.*'code', 'meaning', 'why'"),
        (
            pl.concat([KEY, pl.DataFrame({"code": [1], "meaning": ["rarely"]})]),
            "code '1' has several words: 'never', 'rarely'; keep one",
        ),
        ("nowhere.csv", "the file or folder 'nowhere.csv' does not exist"),
    ],
)
def test_codes_refuse_invalid_tables(codes, words):
    with pytest.raises(DataError, match=words):
        assay.read(LABELS, codes=codes)


def test_numbers_with_their_meaning_next_to_plain_numbers_are_codes():
    """One spelling of a number is enough, and a meaning can contain numbers."""
    words = ["9: top 15%", "8: accept, good paper", "9.0", "8", "7"]
    frame = pl.DataFrame({"item": [f"p{k % 20}" for k in range(40)], "annotator": ["a"] * 20 + ["b"] * 20,
                          "label": [words[k % 5] for k in range(40)]})  # fmt: skip
    with pytest.raises(DataError, match="their numbers suggest codes=") as refused:
        assay.read(frame)
    codes = refused.value.advised["codes"]
    assert codes == {"9: top 15%": "9", "8: accept, good paper": "8", "9": "9", "8": "8", "7": "7"}
    read = assay.read(frame, codes=codes, scale="1-10")
    assert sorted(read.labels["label"].unique()) == [7, 8, 9]


def checked_replies(*, as_frame: bool, folder: Path) -> Any:
    """Replies rated on a scale and checked with true and false, as a JSON file or a frame."""
    rows = [
        {"reply": f"r{k}", "who": who, "clear": (k + len(who)) % 5 + 1, "safe": (k * len(who)) % 3 > 0}
        for k in range(24) for who in ("ann", "bo", "gpt-4o")
    ]  # fmt: skip
    (folder / "checked.json").write_text(json.dumps(rows))
    return pl.DataFrame(rows) if as_frame else folder / "checked.json"


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize(
    ("options", "values", "spec"),
    [
        ({}, ["false", "true"], "nominal"),
        ({"codes": {"True": "pass", "False": "fail"}}, ["fail", "pass"], "nominal"),
        ({"codes": {"safe": {"TRUE": "pass", "FALSE": "fail"}}}, ["fail", "pass"], "nominal"),
        ({"codes": {"false": "0", "true": "1"}}, [0, 1], "ordinal:0-1"),
        ({"scale": {"clear": "1-5", "safe": "nominal:False,True"}}, ["False", "True"], "nominal:False,True"),
        ({"scale": {"clear": "1-5", "safe": "ordinal:false<true"}}, ["false", "true"], "ordinal:false<true"),
        ({"scale": {"clear": "1-5", "safe": "0-1"}}, [0, 1], "ordinal:0-1"),
    ],
)  # fmt: skip
def test_true_and_false_are_one_category_each_next_to_numbers_and_alone(tmp_path, as_frame, options, values, spec):
    replies = checked_replies(as_frame=as_frame, folder=tmp_path)
    both = assay.read(replies, item="reply", annotator="who", label=["clear", "safe"], judges=["gpt-4o"], **options)
    assert both.scale_of("clear").spec == "ordinal:1-5"
    safe = both.where(criterion="safe")
    assert (safe.scale.spec, sorted(safe.labels["label"].unique())) == (spec, values)
    own = {name: given.get("safe", given) for name, given in options.items()}
    alone = assay.read(replies, item="reply", annotator="who", label="safe", judges=["gpt-4o"], **own)
    assert alone.labels["label"].to_list() == safe.labels["label"].to_list()


def test_errors_name_true_and_false_as_the_labels_do(tmp_path):
    replies = checked_replies(as_frame=True, folder=tmp_path)
    with pytest.raises(DataError, match=r"labels such as 'true' \(row 5: 'true', .* not among the codes: False = fail"):
        assay.read(replies, item="reply", annotator="who", label="safe", judges=["gpt-4o"], codes={"False": "fail"})


def test_codes_without_criteria_are_for_the_criteria_that_have_them():
    rows = [(f"t{k}", who, c, str(k % 4 + 1) if c == "tone" else "ny"[k % 2]) for k in range(12)
            for who in ("ann", "bob") for c in ("tone", "harm")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    labels = assay.read(frame, codes={"n": "0", "y": "1"}, scale={"tone": "1-4", "harm": "0-1"})
    assert (labels.scale_of("tone").spec, labels.scale_of("harm").spec) == ("ordinal:1-4", "ordinal:0-1")
    with pytest.raises(DataError, match=r"labels of criterion 'harm' such as 'y' .* not among the codes: n = no"):
        assay.read(frame, codes={"n": "no"})
