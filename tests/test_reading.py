"""Reading every kind of source as the one table, and the errors of invalid sources."""

from __future__ import annotations

import functools
import inspect
import json
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assay
from assay import reading
from assay.data.scales import Interval, Nominal, Ordinal, Preference, Text
from assay.errors import DataError, DesignError, StudyError
from assay.estimation.result import Exclusion
from assay.reading import _is_paths, _paths, read, study_outputs, write_reading

LONG = pl.DataFrame(
    {
        "item": ["a", "a", "b", "b", "c"],
        "annotator": ["ann", "bob", "ann", "gpt", "gpt"],
        "label": [1, 2, 5, 4, 3],
        "text": ["Ä", "Ä", "a, b", "a, b", 'say "c"\nthen d'],
    }
)


@functools.cache
def fingerprint():
    return read(LONG, judges=["gpt"], scale="1-5").fingerprint


def write(path, text, **options):
    path.write_text(text, **options)
    return path


def parquet_folder(folder):
    folder.mkdir()
    LONG.head(2).write_parquet(folder / "part-0.parquet")
    LONG.tail(3).write_parquet(folder / "part-1.parquet")
    return folder


def in_memory(tmp_path):
    """The same five labels in every supported format."""
    yield "polars", LONG
    yield "lazy", LONG.lazy()
    yield "pandas", LONG.to_pandas()
    yield "pandas with arrow", LONG.to_pandas(use_pyarrow_extension_array=True)
    yield "arrow", LONG.to_arrow()
    yield "categorical", LONG.with_columns(pl.col("item", "annotator").cast(pl.Categorical))


def on_disk(tmp_path):
    LONG.write_csv(tmp_path / "a.csv")
    yield "csv", tmp_path / "a.csv"
    yield "csv by name", str(tmp_path / "a.csv")
    LONG.write_csv(tmp_path / "a.tsv", separator="\t")
    yield "tsv", tmp_path / "a.tsv"
    LONG.write_csv(tmp_path / "semicolon.csv", separator=";")
    yield "semicolons", tmp_path / "semicolon.csv"
    LONG.write_csv(tmp_path / "pipe.txt", separator="|")
    yield "pipes", tmp_path / "pipe.txt"
    plain = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + plain)
    yield "byte order mark", tmp_path / "bom.csv"
    head, rest = plain.split(b"\n", 1)
    crlf = b'say "c"\nthen d'.join([])  # quoted newlines are preserved; rows end in CRLF
    (tmp_path / "crlf.csv").write_bytes(
        crlf + head + b"\r\n" + rest.replace(b"\na,", b"\r\na,").replace(b"\nb,", b"\r\nb,")
    )
    yield "crlf", tmp_path / "crlf.csv"
    LONG.write_parquet(tmp_path / "a.parquet")
    yield "parquet", tmp_path / "a.parquet"
    yield "folder of parquet", parquet_folder(tmp_path / "parts")
    rows = LONG.to_dicts()
    yield "json", write(tmp_path / "a.json", json.dumps(rows))
    yield "json with a byte order mark", write(tmp_path / "bom.json", json.dumps(rows), encoding="utf-8-sig")
    yield "json of columns", write(tmp_path / "columns.json", json.dumps(LONG.to_dict(as_series=False)))
    lines = "\n".join(json.dumps(r) for r in rows)
    yield "json lines with a byte order mark", write(tmp_path / "bom.jsonl", lines, encoding="utf-8-sig")
    yield "json lines", write(tmp_path / "a.jsonl", "\n".join(json.dumps(r) for r in rows))
    yield (
        "ndjson with blank lines",
        write(tmp_path / "a.ndjson", "\n\n".join(json.dumps(r, ensure_ascii=False) for r in rows)),
    )


@pytest.mark.parametrize("where", [in_memory, on_disk])
def test_read_gives_same_labels_from_every_format(tmp_path, where):
    seen = 0
    for name, source in where(tmp_path):
        labels = read(source, judges=["gpt"], scale="1-5")
        assert labels.fingerprint == fingerprint(), name
        assert labels.judges == ("gpt",), name
        assert labels.items["text"].to_list() == ["Ä", "a, b", 'say "c"\nthen d'], name
        assert labels.reading.rows == 5, name
        seen += 1
    assert seen > 5


WIDE = pl.DataFrame({"id": ["a", "b"], "ann": [4, 2], "bob": [5, None], "gpt": [4, 3]})


@pytest.mark.parametrize("form", ["polars", "pandas", "csv", "jsonl"])
def test_read_wide_tables(tmp_path, form):
    source = {"polars": WIDE, "pandas": WIDE.to_pandas()}.get(form)
    if form == "csv":
        source = tmp_path / "w.csv"
        WIDE.write_csv(source)
    elif form == "jsonl":
        source = tmp_path / "w.jsonl"
        WIDE.write_ndjson(source)
    labels = read(source, item="id", layout="wide", judges=["gpt"], scale="1-5")
    assert repr(labels) == "Annotations(5 labels, 2 items, 2 humans, 1 judge, ordinal:1-5)"
    np.testing.assert_array_equal(labels.matrix(), [[4, 5, 4], [2, np.nan, 3]])
    # An empty cell is not an excluded row.
    assert labels.reading.exclusions == ()
    assert labels.reading.rows == 5


def test_read_codes_from_sheet_or_file(monkeypatch, tmp_path):
    key, asked = pl.DataFrame({"code": [1], "meaning": ["never"], "_row": [2]}), []

    def sheet(path: Path, name: str | None = None) -> SimpleNamespace:
        asked.append((path.name, name))
        return SimpleNamespace(labels=key)

    monkeypatch.setattr(reading, "read_table", sheet)
    book = tmp_path / "book.xlsx"
    assert reading._codes("Key", (book,)).equals(key.drop("_row"))
    assert asked == [("book.xlsx", "Key")]
    for paths in ((book, tmp_path / "more.xlsx"), (tmp_path / "labels.csv",), ()):
        with pytest.raises(DataError, match="Key"):
            reading._codes("Key", paths)
    beside = write(tmp_path / "Key", "")
    monkeypatch.chdir(tmp_path)
    reading._codes("Key", (book,))  # a file of that name has priority
    assert asked[1:] == [(beside.name, None)]
    assert reading._codes({1: "never"}, (book,)) == {1: "never"}


def test_read_wide_drops_mean_column():
    """A mean would reveal the labels; metadata of the items is kept."""
    frame = pl.DataFrame({"item": list("abcdef"), "ann": [1, 2, 3, 4, 5, 1], "bob": [1, 3, 3, 5, 5, 2],
                          "mean": [1.0, 2.5, 3, 4.5, 5, 1.5], "topic": list("xxyyzz")})  # fmt: skip
    assert read(frame, scale="1-5", layout="wide").items.columns == ["item", "topic"]
    long = frame.unpivot(["ann", "bob"], index=["item", "mean", "topic"], variable_name="who", value_name="label")
    kept = read(long.rename({"who": "annotator"}), scale="1-5").items.columns
    assert kept == ["item", "mean", "topic"]


def test_read_wide_with_other_columns(tmp_path):
    path = write(tmp_path / "w.csv", "id,text,ann,gpt\n007,one,1,2\n008,two,3,\n")
    labels = read(path, item="id", layout="wide", columns=["ann", "gpt"], judges=["gpt"])
    assert labels.items.to_dict(as_series=False) == {"item": ["007", "008"], "text": ["one", "two"]}
    np.testing.assert_array_equal(labels.matrix(), [[1, 2], [3, np.nan]])


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            "id,ann,gpt\na,1,2\na,2,3\n",
            {},
            "'a' has more than one row (rows 2, 3); a wide table has one row per item",
        ),
        ("name,ann\na,1\n", {}, "column 'id' is not in"),
        ("id,ann\na,1\n", {"columns": ["anne"]}, "column 'anne' is not in"),
        ("id,ann,why\na,1,good\nb,2,bad\n", {}, "name the annotators' columns with columns=['ann']"),
    ],
)
def test_read_wide_errors_name_the_problem(tmp_path, text, options, words):
    path = write(tmp_path / "w.csv", text)
    with pytest.raises(DataError) as caught:
        read(path, item="id", layout="wide", **options)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_read_wide_refuses_numbers_and_text():
    frame = pl.DataFrame({"id": ["a"], "ann": [1], "why": ["good"]})
    with pytest.raises(DataError, match=r"column 'why' holds text and column 'ann' holds num.*with columns=\['ann'\]"):
        read(frame, item="id", layout="wide")


def test_read_columns_requires_wide_layout():
    with pytest.raises(DataError, match="also set layout='wide'"):
        read(LONG, columns=["ann"])


# -- types ------------------------------------------------------------------------------------------


def test_read_keeps_leading_zeros_of_ids(tmp_path):
    plain = write(tmp_path / "b.csv", "item,annotator,label,criterion\nq1,ann,1,1.0\nq2,ann,2,2.50\n")
    assert read(plain).criteria == ("1.0", "2.50")
    path = write(tmp_path / "a.csv", "item,annotator,label,criterion\n007,01,1,02\n7,1,2,2\n")
    labels = read(path)
    assert set(labels.items["item"]) == {"007", "7"}
    assert labels.humans == ("01", "1")
    assert set(labels.criteria) == {"02", "2"}


def test_read_keeps_codes_with_leading_zeros(tmp_path):
    path = write(tmp_path / "a.csv", "item,annotator,label,zip,age\nq1,ann,1,02139,30\nq2,bob,2,10001,40\n")
    labels = read(path)
    assert labels.column("zip").to_list() == ["02139", "10001"]
    assert labels.column("age").to_list() == [30, 40]


@pytest.mark.parametrize(
    ("cells", "wanted", "scale"),
    [
        (["1", "2", "5"], [1, 2, 5], Ordinal(1, 5)),
        (["1.0", " 2 ", "5"], [1, 2, 5], Ordinal(1, 5)),
        (["0.5", "2"], [0.5, 2], Interval(0.5, 2)),
        (["-1", "1e1", "1"], [-1, 10, 1], Ordinal(-1, 10)),
        (["yes", "no"], ["yes", "no"], Nominal()),
    ],
)
def test_read_infers_type_of_text_file_labels(tmp_path, cells, wanted, scale):
    rows = "".join(f"q{k},ann,{c}\n" for k, c in enumerate(cells))
    labels = read(write(tmp_path / "a.csv", "item,annotator,label\n" + rows))
    assert labels.labels["label"].to_list() == wanted
    assert labels.scale == scale


@pytest.mark.parametrize("nothing", ["", "NA", "n/a", "NaN", "null", "None", "-"])
def test_read_missing_marks_among_numbers(tmp_path, nothing):
    labels = read(write(tmp_path / "a.csv", f"item,annotator,label\na,ann,1\nb,ann,{nothing}\nc,ann,3\n"))
    assert labels.labels["label"].to_list() == [1, 3]
    assert labels.reading.exclusions == (Exclusion("row", 1, "without a label"),)
    with_scale = read(write(tmp_path / "b.csv", f"item,annotator,label\na,ann,1\nb,ann,{nothing}\n"), scale="1-5")
    assert with_scale.labels["label"].to_list() == [1]


def test_read_numbers_as_categories(tmp_path):
    path = write(tmp_path / "a.csv", "item,annotator,label\na,ann,1\nb,ann,x\n")
    assert read(path, scale=Nominal()).labels["label"].to_list() == ["1", "x"]
    assert read(path, scale="nominal:1,x").labels["label"].to_list() == ["1", "x"]
    path = write(tmp_path / "b.csv", "item,annotator,label\na,ann,1\nb,ann,2\n")
    assert read(path, scale="nominal:1,2").labels["label"].to_list() == [1, 2]
    assert read(path, scale=Text()).labels["label"].to_list() == ["1", "2"]
    assert read(write(tmp_path / "p.csv", "item,annotator,label\na,x,first\nb,x,Tie\n"), scale=Preference()).labels[
        "label"
    ].to_list() == [-1, 0]


def test_read_json_distinguishes_numbers_and_text(tmp_path):
    rows = [{"item": "a", "annotator": "x", "label": 1}, {"item": "b", "annotator": "x", "label": "2"}]
    for path in (
        write(tmp_path / "a.json", json.dumps(rows)),
        write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))),
    ):
        with pytest.raises(DataError) as caught:
            read(path)
        assert "column 'label' mixes numbers and text (row 2: '2')" in str(caught.value)
        assert "convert all values to one type" in str(caught.value)


def test_read_keeps_infinite_and_large_numbers(tmp_path):
    path = write(tmp_path / "a.csv", "item,annotator,label\na,ann,1\nb,ann,1e300\n")
    assert read(path).labels["label"].to_list() == [1, 1e300]
    with pytest.raises(DataError, match=r"1 label off the scale \(row 3: inf\)"):
        read(write(tmp_path / "b.csv", "item,annotator,label\na,ann,1\nb,ann,inf\n"))


def test_read_pandas_with_gaps(tmp_path):
    frame = pd.DataFrame({"item": [1, 2, None], "annotator": ["a", "a", "a"], "label": [1.0, None, 2.0]})
    with pytest.raises(DataError, match=r"1 row without item \(row 3\)"):
        read(frame)
    labels = read(frame.assign(item=[1, 2, 3]))
    assert labels.items["item"].to_list() == ["1", "3"]
    assert labels.reading.exclusions == (Exclusion("row", 1, "without a label"),)
    copy = frame.copy()
    read(frame.head(1))
    pd.testing.assert_frame_equal(frame, copy)


@pytest.mark.parametrize(
    "label",
    [
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="int8"),
        pd.Series([1, 2, 3], dtype=object),
        pd.Series(pd.Categorical(["a", "b", "a"])),
        pd.Series(["a", "b", None], dtype="string"),
        pd.Series([True, False, True]),
        pd.Series([1.5, np.nan, 2.5]),
    ],
    ids=lambda s: str(s.dtype),
)
def test_read_pandas_columns_of_any_type(label):
    frame = pd.DataFrame({"item": ["x", "y", "z"], "annotator": ["a", "a", "a"]}, index=[5, 5, 9]).assign(
        label=label.to_numpy()
    )
    labels = read(frame)
    assert len(labels) == label.notna().sum()


def test_read_arrow_dictionaries():
    table = pa.table({"item": ["x", "y"], "annotator": pa.array(["a", "b"]).dictionary_encode(), "label": [1, 2]})
    assert read(table).humans == ("a", "b")


def test_read_refuses_other_objects():
    for thing in ({"a": 1}, 5, [1, 2], None):
        with pytest.raises(DataError, match=r"cannot read a table from \w+; give a path, or a pandas, Polars or Arrow"):
            read(thing)


# -- invalid files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("empty.json", b"", "empty.json is empty"),
        ("blank.csv", b"\n\n", "blank.csv"),
        ("header.csv", b"item,annotator,label\n", "header.csv has a header but no rows"),
        ("none.json", b"[]", "none.json is empty"),
        ("text.pdf", b"%PDF-1.7", "this file type is not supported"),
        ("sheet.csv", b"PK\x03\x04\0\0", "is a binary file (a spreadsheet or zip archive), not a text table"),
        ("binary.csv", bytes(range(256)), "is a binary file, not a text table; save it as CSV or Parquet"),
        ("fake.parquet", b"item,annotator,label\na,b,1\n", "is not a Parquet file, despite its name"),
        ("real.csv", b"PAR1\0\0\0\0PAR1", "is a Parquet file, despite its name"),
        ("cut.parquet", b"PAR1\0\0\0\0PAR1", "cannot be read as a table"),
        ("strange.csv", "item,annotator,label\nä\x81,b,1\n".encode("latin-1"), "neither UTF-8 nor UTF-16 nor"),
        ("latin.json", '[{"item": "ä"}]'.encode("latin-1"), "is not UTF-8 text; save it as UTF-8"),
        ("latin.jsonl", '{"item": "ä"}'.encode("latin-1"), "is not UTF-8 text; save it as UTF-8"),
        ("broken.json", b'[{"item": "a",\n "label": }]', "broken.json, line 2: not JSON"),
        ("broken.jsonl", b'{"item": "a"}\n{"item": \n', "broken.jsonl, line 2: not JSON"),
        ("numbers.json", b"[1, 2]", "must contain a list of objects, one per answer"),
        ("numbers.jsonl", b"1\n2\n", "must contain a list of objects, one per answer"),
        ("text.json", b'"a"', "must contain a list of objects, one per answer"),
        ("twice.json", b'{"ann": {"a": 1, "a": 2}}', "key 'a' occurs more than once in one object"),
        ("uneven.json", b'{"item": ["a"], "label": [1, 2]}', "the columns have different lengths"),
        (
            "mixed.csv",
            b"item,annotator,label\na,x,1\nb,x,two\nc,x,3\nd,x,four\n",
            "labels mix numbers and text; 2 rows of text (row 3: 'two', row 5: 'four')",
        ),
        ("ragged.csv", b"item,annotator,label\na,x,1,9\n", "cannot be read as a table"),
        ("twice.csv", b"item,annotator,label\na,x,1\nb,x,2\na,x,3\n", "item 'a', annotator 'x': rows 2, 4"),
        ("names.csv", b"it's,annotator,label\na,x,1\n", "no column with the item id was found (set item=...)"),
        ("no_id.csv", b"item,annotator,label\n,x,1\nb,x,2\n", "1 row without item (row 2); fill or remove them"),
    ],
)
def test_read_errors_name_the_problem(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(tmp_path / name)
    message = str(caught.value)
    assert words in message
    assert str(tmp_path / name) in message
    assert "\n" not in message


def test_read_names_lines_off_scale(tmp_path):
    path = write(tmp_path / "a.csv", "item,annotator,label\na,x,1\nb,x,7\nc,x,many\n")
    with pytest.raises(DataError) as caught:
        read(path, scale="1-5")
    assert (
        f"{path}: 2 labels off the scale (row 3: '7', row 4: 'many'); each must be a whole number from 1 to 5"
        in str(caught.value)
    )


def test_read_counts_rows_not_text_lines(tmp_path):
    # A quoted line break inside a cell: the row number is that of the record, the header being row 1.
    path = write(tmp_path / "a.csv", 'item,annotator,label\n"a\nb",x,1\nc,x,9\n')
    with pytest.raises(DataError, match=r"row 3: 9"):
        read(path, scale="1-5")


def test_read_refuses_missing_path(tmp_path):
    write(tmp_path / "labels.csv", "x")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "labls.csv")
    assert (
        f"the file or folder '{tmp_path / 'labls.csv'}' does not exist; did you mean '{tmp_path / 'labels.csv'}'?"
        in str(caught.value)
    )
    with pytest.raises(DataError, match=r"the file or folder .* does not exist"):
        read(tmp_path / "nowhere" / "at" / "all.csv")


def test_read_refuses_empty_folder(tmp_path):
    with pytest.raises(
        DataError, match=r"contains no study\.yaml, no human_annotations\.json and no Parquet or Arrow files"
    ):
        read(tmp_path)


def test_read_refuses_different_parquet_parts(tmp_path):
    folder = parquet_folder(tmp_path / "parts")
    pl.DataFrame({"item": ["z"], "who": ["ann"]}).write_parquet(folder / "part-2.parquet")
    with pytest.raises(DataError, match="cannot be read as a table"):
        read(folder)


def test_read_attributes_from_files(tmp_path):
    items = write(tmp_path / "items.jsonl", '{"item": "a", "topic": "x"}\n{"item": "b", "topic": "y"}\n')
    people = write(tmp_path / "people.csv", "annotator,kind,years\ngpt,judge,\nann,human,3\nbob,human,5\n")
    labels = read(LONG, items=items, annotator_table=people)
    assert labels.items["topic"].to_list() == ["x", "y", None]
    assert labels.judges == ("gpt",)


def test_read_parses_numbers_of_additional_tables(tmp_path):
    """A zip code and names stay text, and the types of a frame are not changed."""
    items = write(tmp_path / "items.csv", "item,length,zip,sure\n1,500,02139,.5\n2,40,10001,\n")
    people = write(tmp_path / "people.csv", "annotator,weight\n7,2\n8,0.5\n")
    long = pl.DataFrame({"item": ["1", "1", "2"], "annotator": ["7", "8", "7"], "label": [1, 2, 3]})
    labels = read(long, items=items, annotator_table=people, scale="1-5")
    assert labels.items.rows() == [("1", 500, "02139", 0.5), ("2", 40, "10001", None)]
    assert labels.annotators["weight"].to_list() == [2.0, 0.5]
    kept = read(long, items=pl.DataFrame({"item": ["1", "2"], "length": ["500", "40"]}), scale="1-5")
    assert kept.items["length"].to_list() == ["500", "40"]


# -- the folder of the alt-test ---------------------------------------------------------------------


def alt_test_folder(folder, humans=None, judges=None, items=None):
    folder.mkdir(exist_ok=True)
    humans = {"ann": {"a": 1, "b": 2}} if humans is None else humans
    (folder / "human_annotations.json").write_text(json.dumps(humans))
    if judges is not None:
        (folder / "llm_annotations.json").write_text(json.dumps(judges))
    if items is not None:
        (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    return folder


def test_read_alt_test_files_separately(tmp_path):
    folder = alt_test_folder(tmp_path / "x", judges={"careful": {"a": 1, "b": 3}})
    people, judges = folder / "human_annotations.json", folder / "llm_annotations.json"
    assert (read(judges).humans, read(judges).judges) == ((), ("careful",))
    assert read(people).judges == ()
    assert read([people, judges]).judges == read(folder).judges == ("careful",)
    other = folder / "others.json"
    other.write_text(people.read_text())
    assert read([other, judges]).judges == ("careful",)


def test_read_file_of_annotators_whose_items_name_models(tmp_path):
    """The published annotations of MT-Bench: items are a question, two systems and a turn; few people label many."""
    pairs = ("alpaca-13b__gpt-4", "claude-v1__gpt-3.5-turbo")
    items = [f"{question}__{pair}__{turn}" for question in range(80, 100) for pair in pairs for turn in (1, 2)]
    cells = ("model_a", "model_b", "tie")
    answers = {who: {item: cells[(k + n) % 3] for k, item in enumerate(items)}
               for n, who in enumerate(("author_0", "author_4", "expert_24"))}  # fmt: skip
    path = tmp_path / "human_annotations.json"
    path.write_text(json.dumps(answers))
    labels = read(path)
    assert (labels.humans, labels.judges, labels.n_items) == (("author_0", "author_4", "expert_24"), (), 80)


def test_read_alt_test_folder(tmp_path):
    items = [{"item": "a", "text": "A", "tags": ["x"]}, {"item": "b", "text": 5}]
    labels = read(alt_test_folder(tmp_path / "x", judges={"gpt": {"a": 1, "b": 3}}, items=items))
    assert (labels.humans, labels.judges) == (("ann",), ("gpt",))
    assert labels.items.to_dict(as_series=False) == {"item": ["a", "b"], "text": ["A", "5"], "tags": ['["x"]', None]}
    assert read(alt_test_folder(tmp_path / "y")).judges == ()
    assert read(tmp_path / "x", judges=["ann", "gpt"]).judges == ("ann", "gpt")


@pytest.mark.parametrize(
    ("humans", "judges", "words"),
    [
        ({"ann": {"a": 1}}, {"ann": {"a": 2}}, "'ann' is both a human and a judge"),
        ({"ann": {"a": 1}}, {"gpt": {"a": "1"}}, "contains text labels, the other numbers"),
        ({"ann": {"a": 1, "b": "2"}}, None, "labels mix numbers and text"),
        ({"ann": {"a": [1]}}, None, "annotator 'ann', item 'a' has [1]; a label must be one number or text"),
        ({"ann": 3}, None, "must contain {annotator: {item: label}}"),
        ([1], None, "must contain {annotator: {item: label}}"),
        ({}, None, "contains no labels"),
    ],
)
def test_read_alt_test_errors_name_the_problem(tmp_path, humans, judges, words):
    with pytest.raises(DataError) as caught:
        read(alt_test_folder(tmp_path / "x", humans, judges))
    assert words in str(caught.value)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "n", "words"),
    [
        ("wax", 246, "8 humans, 6 judges, nominal"),
        ("mtbench", 120, "3 humans, 6 judges, nominal"),
        ("cebab_stars", 711, "10 humans, 6 judges, ordinal:1-5"),
        ("kilogram", 993, "50 humans, 4 judges, text"),
    ],
)
def test_read_data_of_paper(real_data, name, n, words):
    labels = read(real_data / "alt_test" / name)
    assert labels.n_items == n
    assert words in repr(labels)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["wax", "mtbench", "cebab_stars", "lesion"])
def test_files_of_paper_are_read_as_their_folder(real_data, name):
    folder = real_data / "alt_test" / name
    apart = read([folder / "human_annotations.json", folder / "llm_annotations.json"])
    whole = read(folder)
    assert (apart.n_items, apart.humans, apart.judges) == (whole.n_items, whole.humans, whole.judges)


@pytest.mark.real_data
def test_read_lesion_data(real_data):
    labels = read(real_data / "alt_test" / "lesion")
    assert labels.reading.notes[0] == (
        "500 item ids = 100 items × 5 questions (Asymmetry, Blue, Border, Color, Dermo): each question is a "
        "criterion; split_item='no' pools them"
    )
    assert labels.fingerprint == read(real_data / "alt_test" / "lesion", split_item="__").fingerprint
    whole = read(real_data / "alt_test" / "lesion", split_item="no")
    assert "500 items, 6 humans, 4 judges, ordinal:0-6" in repr(whole)
    assert labels.criteria == ("Asymmetry", "Blue", "Border", "Color", "Dermo")
    assert labels.n_items == 100
    assert labels.scale_of("Color") == Ordinal(1, 6)


# -- large ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_read_large_file(tmp_path, suffix):
    n_items, m = 600_000, 6
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(n_items), m),
            "annotator": np.tile([f"annotator-{j}" for j in range(m)], n_items),
            "label": rng.integers(1, 6, n_items * m),
        }
    ).with_columns(item=pl.format("item-with-a-long-name-{}", "item"))
    path = tmp_path / f"big.{suffix}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[suffix](path)
    if suffix != "parquet":
        assert path.stat().st_size > 120 * 2**20
    start = time.perf_counter()
    labels = read(path, judges=["annotator-5"], scale="1-5")
    print(f"{suffix}: {path.stat().st_size / 2**20:.0f} MiB in {time.perf_counter() - start:.1f} s")
    assert len(labels) == n_items * m
    assert labels.labels["label"].sum() == frame["label"].sum()
    assert labels.n_items == n_items


def test_read_accepts_users_names_in_every_layout(tmp_path):
    wide = pl.DataFrame({"id": ["a", "b"], "ann": [4, 2], "gpt": [4, 3]})
    labels = read(wide, item="id", layout="wide", judges=["gpt"])
    assert labels.where(id="a").n_items == 1
    long = pl.DataFrame({"id": ["a", "b"], "worker": ["ann", "gpt"], "stars": [4, 2]})
    assert read(long, item="id", annotator="worker", label="stars", judges=["gpt"]).where(worker="ann").n_items == 1


def test_read_refuses_unused_options(tmp_path):
    (tmp_path / "study.yaml").write_text("")
    for source in (pl.DataFrame({"item": ["a"], "annotator": ["ann"], "label": [1]}), tmp_path):
        with pytest.raises(DesignError, match="option 'lable' is not in the options of read; did you mean 'label'"):
            read(source, lable="x")


def test_read_refuses_platform_options_for_frames(tmp_path):
    frame = pl.DataFrame({"item": ["a"], "annotator": ["ann"], "label": [1]})
    with pytest.raises(DesignError, match=r"^option 'salt' is only for platform exports, not for a frame$"):
        read(frame, salt="x")
    pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
    from assay.study.definition import load_study
    from assay.study.starter import init_study

    init_study(tmp_path / "study")
    for source in (tmp_path / "study", str(tmp_path / "study"), [tmp_path / "study"]):
        with pytest.raises(DesignError, match=r"^option 'scale' is not for a study: study.yaml states how its labels"):
            assay.read(tmp_path / "study", scale="1-9")
        with pytest.raises(DesignError, match=r"keep the other rows with labels.*, or run: assay people exclude$"):
            assay.read(tmp_path / "study", exclude=["ana"])
        with pytest.raises(DesignError, match=r"^option 'users' is only for platform exports, not for a study$"):
            read(source, users={"1": "ann"})
        labels = read(source)
        assert (labels.humans, labels.judges, labels.n_items) == (("ana", "ben", "chi"), (), 8)
    with pytest.raises(StudyError) as refused:
        study_outputs(load_study(tmp_path / "study"))
    assert str(refused.value) == (
        f"{tmp_path / 'study'}/study.yaml names no systems; to compare other texts, read them with scale='text'"
    )


def test_read_joins_files_and_refuses_rows(tmp_path):
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": ["ann", "ann"], "label": [1, 2]})
    parts = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for part, who in zip(parts, ("ann", "bob"), strict=True):
        frame.with_columns(annotator=pl.lit(who)).write_csv(part)
    (tmp_path / "study.yaml").write_text("")  # in the same folder: they are not a study
    assert read(parts).humans == ("ann", "bob")
    assert read([str(parts[0])]).humans == ("ann",)
    people = tmp_path / "people.csv"
    people.write_text("annotator,team\nann,x\nbob,y\n")
    for given in (people, str(people), pl.read_csv(people)):
        assert read(parts, annotator_table=given).annotators["team"].to_list() == ["x", "y"]
    for rows in ([], [1, 2], [{"item": "a"}], ("a", 3)):
        with pytest.raises(DataError, match=f"cannot read a table from {type(rows).__name__}; give a path"):
            read(rows)


def test_read_keeps_lists_as_text(tmp_path):
    """JSON text of lists and objects keeps its characters."""
    rows = [
        {"item": "a", "annotator": "ann", "label": ["é", 1]},
        {"item": "b", "annotator": "ann", "label": {"ü": None}},
    ]
    (tmp_path / "lists.json").write_text(json.dumps(rows), "utf-8")
    assert read(tmp_path / "lists.json").labels["label"].to_list() == ['["é", 1]', '{"ü": null}']


@pytest.mark.parametrize(("n", "more"), [(5, "row 5: 'x'); convert"), (6, "row 5: 'x' and 1 more); convert")])
def test_read_names_rows_of_mixed_labels(tmp_path, n, more):
    rows = [{"item": f"i{i}", "annotator": "ann", "label": "x" if i < n else i} for i in range(20)]
    (tmp_path / "mixed.json").write_text(json.dumps(rows), "utf-8")
    with pytest.raises(DataError) as refused:
        read(tmp_path / "mixed.json")
    assert "column 'label' mixes numbers and text (row 1: 'x', " in str(refused.value)
    assert more in str(refused.value)


def test_is_paths_of_lists(tmp_path):
    one, other = write(tmp_path / "one.csv", ""), write(tmp_path / "two.csv", "")
    assert _paths(one) == _paths(str(one)) == _paths([str(one)]) == [one]
    assert _paths((one, str(other))) == [one, other]
    for none in ([], (), [one, 3], [3], {"a": one}, LONG, None):
        assert _paths(none) == [], none
    with pytest.raises(DataError, match=r"gone\.csv"):
        _paths([one, tmp_path / "gone.csv"])
    # Lists of words are labels, not missing files.
    assert _is_paths([one, str(other)])
    assert _is_paths([tmp_path / "gone.csv"])
    for labels in ([], ["yes", str(one)], ["yes", "no"], [1, 2], str(one), None):
        assert not _is_paths(labels), labels


# -- reading files -----------------------------------------------------------------------------------


@pytest.fixture
def sheets(tmp_path):
    """Two files of labels in one folder, and another folder for their reading file."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "kept").mkdir()
    for who in ("ann", "gpt"):
        LONG.select("item", "label").with_columns(who=pl.lit(who)).unique("item", maintain_order=True).write_csv(
            tmp_path / "raw" / f"{who}.csv"
        )
    return [tmp_path / "raw" / "ann.csv", tmp_path / "raw" / "gpt.csv"]


HOW = {"annotator": "who", "judges": ("gpt",), "scale": "1-5"}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_reading_file_uses_relative_paths(sheets, tmp_path, monkeypatch, n, suffix):
    how = HOW | {"judges": HOW["judges"][: n - 1]}
    kept = write_reading(tmp_path / "kept" / f"r.{suffix}", sheets[:n], how)
    assert kept == tmp_path / "kept" / f"r.{suffix}"
    lines = kept.read_text("utf-8").splitlines()
    assert lines[0].startswith("# How a table of labels is read. assay accepts this file instead of the table.")
    assert lines[1 : 2 + n] == ["read:", "- ../raw/ann.csv", "- ../raw/gpt.csv"][: 1 + n]
    wanted = read(sheets[:n] if n > 1 else sheets[0], **how)
    assert (wanted.n_items, wanted.humans, wanted.judges) == (3, ("ann",), ("gpt",)[: n - 1])
    for source in (kept, str(kept), [kept]):
        assert read(source).fingerprint == wanted.fingerprint
    # The files can be moved together, and the reader can be in any folder.
    (tmp_path / "there").mkdir()
    for folder in ("raw", "kept"):
        (tmp_path / folder).rename(tmp_path / "there" / folder)
    monkeypatch.chdir(tmp_path / "there" / "kept")
    assert read(f"r.{suffix}").fingerprint == wanted.fingerprint


def test_reading_file_is_plain_yaml(sheets, tmp_path):
    grade = (tmp_path / "raw" / "größe.csv").resolve()
    sheets[0].rename(grade)
    kept = write_reading(
        tmp_path / "kept" / "r.yaml", [grade], {"judges": ("é",), "annotator": "who", "codes": {1: "nie"}}
    )
    assert kept.read_text("utf-8").splitlines()[1:] == [
        "read:", "- ../raw/größe.csv", "judges:", "- é", "annotator: who", "codes:", "  1: nie",
    ]  # fmt: skip


def test_options_override_reading_file(sheets, tmp_path):
    kept = write_reading(tmp_path / "kept" / "r.yaml", sheets, HOW)
    assert read(kept).scale == Ordinal(1, 5)
    assert read(kept, scale="interval:0-9").scale == Interval(0, 9)
    assert read(kept, judges=["ann"], scale="interval:0-9", humans=["gpt"]).judges == ("ann",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a.csv\n", "r.yaml is not a reading file; make one with: assay look FILE --write r.yaml"),
        ("read: a.csv\n", "r.yaml is not a reading file"),
        ("scale: 1-5\n", "r.yaml is not a reading file"),
        ("read: [a.csv, 3]\n", "r.yaml is not a reading file"),
        ("", "r.yaml is not a reading file"),
        ("read: [a.csv\n", "r.yaml is not a reading file: while parsing a flow sequence"),
        ("read: [gone.csv]\n", "gone.csv"),
        ("read: [a.csv]\nscales: 1-5\n", "scales"),
    ],
)
def test_read_refuses_invalid_reading_file(tmp_path, text, words):
    write(tmp_path / "a.csv", "item,annotator,label\na,ann,1\n")
    write(tmp_path / "r.yaml", text)
    with pytest.raises(assay.errors.AssayError) as refused:
        read(tmp_path / "r.yaml")
    assert words in str(refused.value)


def test_read_refuses_binary_reading_file(tmp_path):
    (tmp_path / "r.yaml").write_bytes(b"read: [\xff]")
    with pytest.raises(DataError, match="is not a reading file: 'utf-8' codec"):
        read(tmp_path / "r.yaml")


def test_write_reading_requires_files_and_keeps_others(tmp_path):
    with pytest.raises(DataError, match="a reading file names files, but this table is in memory"):
        write_reading(tmp_path / "r.yaml", [], {})
    with pytest.raises(assay.errors.AssayError, match="yaml"):
        write_reading(tmp_path / "r.csv", [tmp_path / "a.csv"], {})
    assert list(tmp_path.iterdir()) == []


# -- arrays instead of a table ------------------------------------------------------------------------


def test_labels_of_arrays_and_matrix():
    """Two arrays are first and second; a row of a matrix is an item, even if there are more columns than rows."""
    two = reading.labels_of("q", ([1, 2, 3], np.array([1, None, 5]), "more"), None)
    assert two[1:] == ("more",)
    np.testing.assert_array_equal(two[0].matrix(), [[1, 1], [2, np.nan], [3, 5]])
    assert two[0].labels["item"].unique().sort().to_list() == ["item 1", "item 2", "item 3"]
    assert (two[0].humans, two[0].reading.source, two[0].reading.rows) == (("first", "second"), "plain arrays", 6)
    assert not any("matrix" in note for note in two[0].reading.notes)
    for matrix in (
        [[1, 1], [2, float("nan")], [3, 5]],
        np.array([[1, 2, 3], [1, np.nan, 5]]).T,
        ((1, 1), (2, None), (3, 5)),
    ):
        (one,) = reading.labels_of("q", (matrix,), None)
        np.testing.assert_array_equal(one.matrix(), [[1, 1], [2, np.nan], [3, 5]])
        assert one.humans == ("annotator 1", "annotator 2")
        assert one.reading.notes[0] == (
            "each row of the matrix is one item: 3 items by 2 annotators; if the rows are annotators, give the "
            "transpose"
        )


def test_labels_of_matrix_with_one_row_or_column():
    (row,), (column,) = (reading.labels_of("q", (matrix,), None) for matrix in ([[1, 2, 3]], [[1], [2], [3]]))
    assert (len(row.humans), row.n_items) == (3, 1)
    assert (len(column.humans), column.n_items) == (1, 3)


def test_labels_of_square_matrix_has_items_in_rows():
    (one,) = reading.labels_of("q", ([[1, 2], [3, 4]],), None)
    np.testing.assert_array_equal(one.matrix(), [[1, 2], [3, 4]])


def test_read_declared_order_of_frame():
    size = pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"item": ["a", "b"], "annotator": "ann", "label": size})
    assert read(frame).scale == Ordinal(["low", "mid", "high"])


def test_outputs_of_makes_texts_of_judges():
    """A system is an annotator, its outputs are repeats; the temperature is a condition if the study varies it."""
    pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
    from assay.study.store.items import SystemOutput

    written = [("a", "s", 1, "one"), ("a", "s", 2, "two"), ("b", "t", 1, "three")]
    plain = reading.outputs_of(SystemOutput(*one) for one in written)
    assert (plain.scale, plain.judges, plain.humans, plain.conditions) == (Text(), ("s", "t"), (), ())
    assert plain.labels.select("item", "annotator", "repeat", "label").sort("item", "repeat").rows() == [
        ("a", "s", 1, "one"), ("a", "s", 2, "two"), ("b", "t", 1, "three"),
    ]  # fmt: skip
    assert "temperature" not in plain.labels.columns
    varied = reading.outputs_of(
        [SystemOutput(*one, 0.5) for one in written], items=pl.DataFrame({"item": ["a", "b"], "topic": ["x", "y"]})
    )
    assert varied.conditions == ("temperature",)
    assert varied.labels["temperature"].to_list() == [0.5] * 3
    assert varied.items["topic"].to_list() == ["x", "y"]


def test_study_labels_excludes_by_default():
    settings = inspect.signature(reading.study_labels).parameters
    assert {name: settings[name].default for name in ("excluded_people", "probes", "reasoning")} == {
        "excluded_people": False, "probes": False, "reasoning": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([1, 2], [1, 2, 3]), "q: two arrays are labels of the same items; they have 2 and 3"),
        (([[], []],), "got a list"),
        (([[1, 2], [3]],), "got a list"),
        (([1, 2, 3],), "got a list"),
        (([],), "got a list"),
        (([None, None], [None, float("nan")]), "q: the arrays contain no label"),
    ],
)
def test_labels_of_refuses_other_arrays(given, words):
    with pytest.raises(DataError) as refused:
        reading.labels_of("q", given, None)
    assert words in str(refused.value)


def test_labels_of_treats_named_judges_as_judges():
    frame = LONG.select("item", "annotator", "label")
    (labels,) = reading.labels_of("q", (frame,), "gpt")
    assert labels.judges == ("gpt",)
    with pytest.raises(DataError, match="'gpt' could be a judge"):
        reading.labels_of("q", (frame,), None)
    with pytest.raises(DataError, match="label"):
        reading.labels_of("q", (frame.drop("label"),), "gpt")
    assert reading.labels_of("q", (frame, 7), "gpt")[1:] == reading.labels_of("q", ([[1], [2]], 7), None)[1:] == (7,)
    people = frame.filter(pl.col("annotator") != "gpt")
    assert reading.labels_of("q", (people, 7), None)[1:] == (7,)
    several, more = reading.labels_of("separability", ({"x": [[1, 1], [2, 2], [3, 2]], "y": labels}, 4), None)
    assert (several["x"].n_items, several["y"], more) == (3, labels, 4)


def test_labels_of_several_tables():
    """A single table is also accepted; tables by name are refused by other questions."""
    frame = LONG.select("item", "annotator", "label")
    (labels,) = reading.labels_of("separability", (frame,), "gpt")
    assert labels.judges == ("gpt",)
    with pytest.raises(DataError, match="cannot read a table from dict; give a path"):
        reading.labels_of("q", ({"x": frame},), "gpt")


# -- the column with the item id ---------------------------------------------------------------------

PEOPLE_OF_SHEET = ("mia", "tom", "ling")


def rated(column: str, ids: list, annotators: tuple[str, ...]) -> pl.DataFrame:
    """One row per item: its id, and whole numbers from 1 to 5 that differ between items and annotators."""
    labels = {who: [(3 * i + 2 * k) % 5 + 1 for i in range(len(ids))] for k, who in enumerate(annotators)}
    return pl.DataFrame({column: ids, **labels})


IDS = [f"Answer {i}" for i in range(60)]


@pytest.mark.parametrize(
    ("column", "ids"),
    [*((name, IDS) for name in ("answer_id", "Answer ID", "response_id", "ResponseId", "comment_id", "Comment", "url")),
     ("answer_id", [1000 + 7 * i for i in range(60)]),
     ("url", [f"https://example.org/questions/{i}/answers/{i + 1}" for i in range(60)])],
)  # fmt: skip
def test_read_joins_files_by_a_column_with_another_value_in_each_row(tmp_path, column, ids):
    rated(column, ids, PEOPLE_OF_SHEET).write_csv(tmp_path / "people.csv")
    rated(column, ids[::-1], ("gpt-4o",)).write_csv(tmp_path / "judge.csv")
    alone = read(tmp_path / "people.csv", layout="wide")
    assert alone.items["item"].to_list() == sorted(map(str, ids))
    both = read([tmp_path / "people.csv", tmp_path / "judge.csv"], judges=["gpt-4o"])
    assert (both.n_items, len(both)) == (60, 240)
    # The judge's file has the items in reverse order: its i-th label belongs to the i-th item from the end.
    judge = dict(both.labels.filter(pl.col("annotator") == "gpt-4o").select("item", "label").iter_rows())
    assert [judge[str(one)] for one in ids[::-1]] == [(3 * i) % 5 + 1 for i in range(60)]


@pytest.mark.parametrize(
    ("columns", "ids"),
    [
        (("Antwort", "Antwort"), [1000 + 7 * i for i in range(60)]),
        (("Comment", "Comment"), [f"this is comment number {i} of those that people wrote" for i in range(60)]),
        (("Comment", "remark"), [f"this is comment number {i} of those that people wrote" for i in range(60)]),
    ],
)
def test_read_joins_files_by_the_column_whose_values_they_share(tmp_path, columns, ids):
    rated(columns[0], ids[:40], PEOPLE_OF_SHEET).write_csv(tmp_path / "people.csv")
    rated(columns[1], ids[::-1], ("gpt-4o",)).write_csv(tmp_path / "judge.csv")
    both = read([tmp_path / "people.csv", tmp_path / "judge.csv"], judges=["gpt-4o"])
    assert both.items["item"].to_list() == sorted(map(str, ids))
    assert both.matrix(["mia", "gpt-4o"]).shape == (60, 2)
    assert np.isfinite(both.matrix(["mia", "gpt-4o"])).all(axis=1).sum() == 40


def test_read_refuses_files_that_share_no_column_of_names(tmp_path):
    rated("x", [3] * 9, PEOPLE_OF_SHEET).drop("x").write_csv(tmp_path / "people.csv")
    rated("x", [3] * 9, ("gpt-4o", "note")).drop("x").write_csv(tmp_path / "judge.csv")
    with pytest.raises(DataError, match=r"people.csv: no column with the item id.*ids that \S+judge.csv also has"):
        read([tmp_path / "people.csv", tmp_path / "judge.csv"], judges=["gpt-4o"])


def test_read_uses_named_index_of_pandas_frame():
    wide = pd.DataFrame({"mia": [1, 2, 3], "tom": [1, 2, 2]}, index=pd.Index(["a", "b", "c"], name="id"))
    assert read(wide, layout="wide").items["item"].to_list() == ["a", "b", "c"]
    # An unnamed index numbers the rows, and an index that is already a column is not added.
    assert read(wide.reset_index(), layout="wide").fingerprint == read(wide, layout="wide").fingerprint
    assert read(wide.assign(id=["x", "y", "z"]), layout="wide").items["item"].to_list() == ["x", "y", "z"]


@pytest.mark.slow
def test_read_uses_text_index_of_pandas_frame(tmp_path):
    wide = pd.DataFrame({"mia": [1, 2, 3], "tom": [1, 2, 2], "gpt-4o": [1, 3, 3]}, index=["a", "b", "c"])
    for frame in (wide, wide.T):
        frame.to_csv(tmp_path / "wide.csv")
        labels = read(frame, judges=["gpt-4o"])
        assert labels.fingerprint == read(tmp_path / "wide.csv", judges=["gpt-4o"]).fingerprint
        assert (labels.items["item"].to_list(), labels.humans) == (["a", "b", "c"], ("mia", "tom"))
    numbered = read(wide.set_axis([7, 8, 9]), judges=["gpt-4o"])
    assert "no item id found; rows are numbered" in numbered.reading.notes


def test_read_uses_named_and_text_levels_of_index():
    index = pd.MultiIndex.from_product([["l1", "l2"], ["s1", "s2"]], names=["lesson", None])
    wide = pd.DataFrame({"mia": [1, 2, 3, 3], "tom": [1, 2, 2, 3]}, index=index)
    labels = read(wide, item=["lesson", "level_1"], layout="wide")
    assert labels.items["item"].to_list() == ["l1/s1", "l1/s2", "l2/s1", "l2/s2"]


def test_questions_refuse_an_array_of_three_dimensions():
    with pytest.raises(DataError, match=r"krippendorff_alpha takes a table of labels.*got a ndarray"):
        assay.measures.krippendorff_alpha(np.zeros((4, 3, 2)))


# -- items of several files --------------------------------------------------------------------------


def alone(tmp_path: Path, *items: str, name: str = "id", **options: object) -> list[str]:
    """The notes on items in only one file; each text of names makes one file."""
    paths = []
    for k, names in enumerate(items):
        table = pl.DataFrame({name: names.split(), f"rater {k}": [1 + i % 3 for i in range(len(names.split()))]})
        paths.append(tmp_path / f"f{k}.csv")
        table.write_csv(paths[-1])
    notes = read(paths, **options).reading.notes
    return [note.replace(f"{tmp_path}/", "") for note in notes if "only one file" in note or "two files" in note]


@pytest.mark.slow
def test_read_notes_items_in_one_file(tmp_path):
    assert alone(tmp_path, "a b c d", "d c b a") == []
    assert alone(tmp_path, "a b c d", "c d e") == [
        "items in only one file: 2 of 4 in f0.csv ('a'), 1 of 3 in f1.csv ('e')"
    ]
    assert alone(tmp_path, "a b c", "c b a", "x y z") == ["items in only one file: 3 of 3 in f2.csv ('x')"]
    assert alone(tmp_path, "a b c", "A c b", spelling="merge") == []


def test_read_asks_whether_ids_match_loosely(tmp_path):
    with pytest.raises(DataError, match=r"no item id is in both, but 3 of 3 match loosely \('01' = '1'\)") as refused:
        alone(tmp_path, "1 2 3", "01 02 03", name="item")
    assert refused.value.advised == {"match": "loose"}
    assert alone(tmp_path, "1 2 3", "01 02 03", name="item", match="loose") == []


@pytest.mark.parametrize("form", ["{}-run1", "{}_v2", "{}/0", "{}#gpt", "run1/{}", "gpt-4o:{}:2", "{}.0"])
def test_ids_match_loosely_without_what_all_of_a_file_share(tmp_path, form):
    own, other = ["q1", "q2", "q3"], [form.format(f"q{k}") for k in (1, 2, 3)]
    with pytest.raises(DataError, match="3 of 3 match loosely"):
        alone(tmp_path, " ".join(own), " ".join(other), name="item")
    assert alone(tmp_path, " ".join(own), " ".join(other), name="item", match="loose") == []
    # Marks that differ between ids are part of them.
    apart = ["q1-run1", "q2-run2", "q3-run1"]
    assert "no item is in two files" in alone(tmp_path, " ".join(own), " ".join(apart), name="item", match="loose")[0]


def test_read_notes_files_without_common_item(tmp_path):
    found = alone(tmp_path, "1 2 3", "x y z", name="item")
    assert found == ["no item is in two files: f0.csv has '1', f1.csv has 'x'; items are joined by their ids"]


@pytest.mark.parametrize("ids", [[1, 2, 3], ["1", "2", "3"], [1.0, 2.0, 3.0]])
def test_read_joins_ids_that_are_whole_numbers_of_any_type(tmp_path, ids):
    # A missing value elsewhere turns whole numbers into floats: 1.0 is 1, also next to text of another file.
    for who, items in (("ann", [1.0, 2.0, 3.0]), ("bob", ids)):
        rows = {"item": items, "annotator": [who] * 3, "label": [1, 2, 3]}
        pl.DataFrame(rows).write_parquet(tmp_path / f"{who}.parquet")
    labels = read([tmp_path / "ann.parquet", tmp_path / "bob.parquet"])
    assert labels.items["item"].to_list() == ["1", "2", "3"]
    assert not [note for note in labels.reading.notes if "file" in note and "rows read" not in note]


def test_read_notes_items_in_one_long_file(tmp_path):
    for who, items in (("ann", ["a", "b", "c"]), ("bob", ["b", "c", "d"])):
        rows = {"item": items, "annotator": [who] * 3, "label": [1, 2, 3]}
        pl.DataFrame(rows).write_csv(tmp_path / f"{who}.csv")
    notes = read([tmp_path / "ann.csv", tmp_path / "bob.csv"]).reading.notes
    expected = "items in only one file: 1 of 3 in ann.csv ('a'), 1 of 3 in bob.csv ('d')"
    assert expected in [note.replace(f"{tmp_path}/", "") for note in notes]


# -- rows that are annotators ------------------------------------------------------------------------


def forms(column: str) -> pl.DataFrame:
    """One row per annotator, one column per item: 4 items by 6 annotators."""
    names = ["ann", "bob", "cho", "dan", "eva", "gpt-4o"]
    return pl.DataFrame({column: names, **{f"q{j}": [1 + (i * j) % 3 for i in range(6)] for j in (1, 2, 3, 4)}})


@pytest.mark.parametrize("column", ["rater", "annotator", "id", "", "Unnamed: 0"])
def test_read_rows_are_annotators_if_they_name_the_judge(tmp_path, column):
    forms(column).write_csv(tmp_path / "forms.csv")
    labels = read(tmp_path / "forms.csv", judges=["gpt-4o"])
    assert (labels.n_items, len(labels.humans), labels.judges) == (4, 5, ("gpt-4o",))
    # Item q2 by cho, the third row: 1 + (2 · 2) mod 3 = 2.
    assert labels.labels.filter((pl.col("item") == "q2") & (pl.col("annotator") == "cho"))["label"].to_list() == [2]


@pytest.mark.parametrize("column", ["rater", "annotator", "id", ""])
def test_read_refuses_possible_judge_in_rows_with_call(tmp_path, column):
    forms(column).write_csv(tmp_path / "forms.csv")
    with pytest.raises(DataError, match="rows look like annotators") as refused:
        read(tmp_path / "forms.csv")
    labels = read(tmp_path / "forms.csv", **refused.value.advised)
    assert (labels.n_items, len(labels.humans), labels.judges) == (4, 5, ("gpt-4o",))


def test_read_refuses_first_row_of_numbers(tmp_path):
    (tmp_path / "plain.csv").write_text("1,2,3,3,\n1,2,3,3,2\n,3,3,3,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"the first row contains numbers \(1, 2, 3, 3"):
        read(tmp_path / "plain.csv")


@pytest.mark.parametrize(("name", "slip"), [("Mean", "Meen"), ("alpha", "alphb"), ("bob", "bpb")])
def test_excluded_name_must_exist(name, slip):
    frame = pl.DataFrame({"id": ["alpha", "beta"], "ann": [1, 2], "bob": [2, 2], "cho": [2, 2], "Mean": [1.5, 2.0]})
    options = {"layout": "wide", "item": "id"}
    assert {"ann", "cho"} <= {*assay.read(frame, exclude=[name], **options).humans}
    with pytest.raises(DataError, match=f"excluded name '{slip}' is not in .*; did you mean '{name}'"):
        assay.read(frame, exclude=[slip], **options)
