"""Codes and their words, from a sheet, a file or a mapping."""

from __future__ import annotations

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
