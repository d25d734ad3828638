"""Writing and reading: a table that is written, read and written again gives the same bytes."""

from __future__ import annotations

import json
import string

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.data.formats.exports import WRITERS, import_counts, write
from assay.errors import AssayError, DataError

STARS = pl.DataFrame(
    {
        "item": ["q1", "q1", "q2", "q2", "q10"],
        "annotator": ["ann", "gpt", "ann", "gpt", "gpt"],
        "label": [4, 5, 2, 1, 3],
        "kind": ["human", "judge", "human", "judge", "judge"],
        "seconds": [1.5, None, 2.0, None, None],
        "text": ['a, "b"\nc', 'a, "b"\nc', "é", "é", "x"],
    }
)


def labels_of(frame=STARS, scale="1-5", **more):
    return assay.read(frame, scale=scale, **more)


def mixed():
    """Numbers and text under two criteria, repeats and a condition."""
    frame = pl.DataFrame(
        {
            "item": ["q1", "q1", "q1", "q2"],
            "annotator": ["ann", "gpt", "gpt", "ann"],
            "criterion": ["stars", "stars", "stars", "kind"],
            "label": ["4", "5", "3", "good"],
            "repeat": [1, 1, 2, 1],
        }
    )
    return assay.read(frame, judges=["gpt"], scale={"stars": "1-5", "kind": "nominal"})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("make", [labels_of, mixed])
def test_write_then_read_gives_same_table(tmp_path, suffix, make):
    labels = make()
    first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
    written = write(labels, first)
    assert (written.labels, written.notes) == (len(labels), ())
    back = assay.read(first, scale=dict(labels.scales) if labels.criteria else labels.scale)
    assert back.fingerprint == labels.fingerprint
    assert (back.humans, back.judges) == (labels.humans, labels.judges)
    write(back, second)
    assert second.read_bytes() == first.read_bytes()


def test_write_table_contains_all_attributes(tmp_path):
    write(labels_of(), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == "item,annotator,kind,label,seconds,text"


texts = st.text(string.ascii_letters + string.digits + " ,;\"'\n\t|é.-+#", max_size=6)


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(texts, st.sampled_from(["ann", "bob", "7"]), texts, texts), min_size=1, max_size=12),
    suffix=st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
)
def test_write_then_read_gives_same_table_or_error(tmp_path_factory, rows, suffix):
    """Either byte for byte, or an error that names the value that a text file would change."""
    folder = tmp_path_factory.mktemp("out")
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "note"], orient="row").unique(
        ["item", "annotator"]
    )
    try:
        labels = assay.read(frame, scale="text", spelling="apart")
        write(labels, folder / f"first.{suffix}")
    except AssayError as error:
        known = ("no row has a label", "without item", "preserve it")
        if not any(words in str(error) for words in known):
            raise
        return
    again = assay.read(folder / f"first.{suffix}", scale="text", spelling="apart")
    write(again, folder / f"second.{suffix}")
    assert (folder / f"second.{suffix}").read_bytes() == (folder / f"first.{suffix}").read_bytes()


@pytest.mark.slow
@given(
    values=st.lists(
        st.one_of(st.integers(-5, 10**15), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=8
    ),
    suffix=st.sampled_from(["csv", "jsonl", "parquet"]),
)
def test_write_then_read_gives_same_numbers(tmp_path_factory, values, suffix):
    folder = tmp_path_factory.mktemp("out")
    whole = all(isinstance(v, int) for v in values)
    labels = pl.Series("label", values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    frame = pl.DataFrame({"item": [f"q{i}" for i in range(len(values))], "annotator": "ann", "label": labels})
    write(assay.read(frame, scale="interval"), folder / f"first.{suffix}")
    back = assay.read(folder / f"first.{suffix}", scale="interval")
    assert back.labels["label"].to_list() == values
    write(back, folder / f"second.{suffix}")
    assert (folder / f"second.{suffix}").read_bytes() == (folder / f"first.{suffix}").read_bytes()


def test_write_refuses_text_that_csv_changes(tmp_path):
    frame = STARS.with_columns(code=pl.Series(["1.50", "2.0", "1.50", "2.0", "3"]))
    with pytest.raises(DataError, match=r"column 'code' contains '1.50', .*write .jsonl or .parquet"):
        write(labels_of(frame), tmp_path / "t.csv")
    write(labels_of(frame), tmp_path / "t.jsonl")


def test_write_hugging_face_one_item_per_line(tmp_path):
    labels = labels_of()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert write(labels, first, "hugging-face").notes == ()
    line = json.loads(first.read_text().splitlines()[0])
    assert line == {
        "item": "q1",
        "text": 'a, "b"\nc',
        "annotator": ["ann", "gpt"],
        "kind": ["human", "judge"],
        "label": [4, 5],
        "seconds": [1.5, None],
    }
    back = assay.read(first, scale="1-5")
    assert back.fingerprint == labels.fingerprint
    assert back.judges == ("gpt",)
    write(back, second, "hugging-face")
    assert second.read_bytes() == first.read_bytes()
    write(mixed(), first, "hugging-face")
    write(assay.read(first, scale={"stars": "1-5", "kind": "nominal"}), second, "hugging-face")
    assert second.read_bytes() == first.read_bytes()


def test_read_hugging_face_refuses_uneven_lists(put):
    path = put("x.jsonl", [{"item": "a", "annotator": ["ann"], "label": [1, 2]}])
    with pytest.raises(DataError, match="line 1: 'annotator' has 1 entries and 'label' 2"):
        assay.read(path)


@pytest.mark.parametrize("words", [False, True])
def test_write_alt_test_folder(tmp_path, words):
    scale = "nominal" if words else "1-5"
    labels = labels_of(STARS.with_columns(pl.col("label").cast(pl.String)) if words else STARS, scale)
    first, second = tmp_path / "first", tmp_path / "second"
    written = write(labels, first, "alt-test")
    assert written.notes == ("columns not written, because the folder has no place for them: seconds",)
    people = json.loads((first / "human_annotations.json").read_text())
    assert people == {"ann": {"q1": "4", "q2": "2"} if words else {"q1": 4, "q2": 2}}
    back = assay.read(first, scale=scale)
    assert back.fingerprint == labels.fingerprint
    assert back.items["text"].to_list() == labels.items["text"].to_list()
    write(back, second, "alt-test")
    for file in first.iterdir():
        assert (second / file.name).read_bytes() == file.read_bytes()


def test_write_alt_test_adds_criterion_to_item_id(tmp_path):
    labels = mixed().resolve_repeats("first")
    write(labels, tmp_path / "a", "alt-test")
    back = assay.read(tmp_path / "a", split_item="__", scale=dict(labels.scales))
    assert back.fingerprint == labels.fingerprint
    with pytest.raises(AssayError, match="repeat"):
        write(mixed(), tmp_path / "b", "alt-test")


@pytest.mark.parametrize(
    ("labels", "scale", "kind", "value"),
    [
        ([4, 2], "1-5", "rating", {"rating": 4}),
        ([0.5, 2.0], "interval:0-3", "number", {"number": 0.5}),
        (["good", "bad"], "nominal", "choices", {"choices": ["good"]}),
        (["so", "not"], "text", "textarea", {"text": ["so"]}),
        ([-1, 0], "preference", "choices", {"choices": ["first"]}),
        (["A", "C"], "odd-one-out", "choices", {"choices": ["A"]}),
    ],
)
def test_write_label_studio_predictions(tmp_path, labels, scale, kind, value):
    frame = pl.DataFrame({"item": ["q1", "q2"], "annotator": ["gpt", "gpt"], "label": labels, "text": ["one", "two"]})
    first = tmp_path / "first.json"
    table = labels_of(frame, scale, judges=["gpt"])
    write(table, first, "label-studio")
    made = {"from_name": "label", "to_name": "text", "type": kind, "value": value}
    assert json.loads(first.read_text())[0] == {
        "data": {"item": "q1", "text": "one"},
        "predictions": [{"model_version": "gpt", "result": [made]}],
    }
    back = assay.read(first, item="item", format="label-studio", scale=scale)
    assert back.labels["label"].to_list() == labels
    assert back.judges == ("gpt",)


def test_write_label_studio_then_read_keeps_criterion(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    frame = STARS.with_columns(criterion=pl.lit("stars"))
    written = write(labels_of(frame), first, "label-studio")
    assert written.notes == ("2 human labels not written: predictions are labels of models",)
    write(assay.read(first, item="item", format="label-studio", scale="1-5"), second, "label-studio")
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(("name", "form"), [("p.json", "label-studio"), ("folder", "alt-test")])
def test_write_refuses_several_conditions(tmp_path, name, form):
    frame = pl.concat([STARS.with_columns(heat=pl.lit(heat)) for heat in (0.0, 1.0)])
    labels = assay.read(frame, scale="1-5", conditions=["heat"])
    with pytest.raises(AssayError, match=r"for different conditions \(heat\); choose with labels.where"):
        write(labels, tmp_path / name, form)
    write(labels.where(heat=0.0), tmp_path / name, form)


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("t.xlsx", "table", r"a table is written as .csv"),
        ("nowhere/t.csv", "table", "the folder .* does not exist"),
        ("t.csv", "tabel", "format 'tabel' .*did you mean 'table'"),
        ("t.json", "label-studio", "judge labels; the table contains none"),
    ],
)
def test_write_errors_name_the_problem(tmp_path, name, form, message):
    people = labels_of(STARS.drop("kind"), humans=["ann", "gpt"])
    with pytest.raises(AssayError, match=message):
        write(people, tmp_path / name, form)
    assert set(WRITERS) == {"table", "hugging-face", "label-studio", "alt-test"}


def test_import_counts_add_up():
    labels = assay.read(STARS.with_columns(pl.when(pl.col("item") != "q10").then("label").alias("label")), scale="1-5")
    counts = import_counts(labels.reading, len(labels))
    assert counts.rows() == [("read", 5), ("used", 4), ("excluded: without a label", 1)]
