"""Plain tables: row numbers, stacked columns, pairwise comparisons, and columns that cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.data.annotations import Reading
from assay.data.formats import Rows, tables
from assay.data.formats.exports import write
from assay.data.formats.tables import _is_plain, arena_rows, read_delimited, read_table, stack_criteria, unpivot
from assay.errors import DataError


def test_read_numbers_rows_as_an_editor(tmp_path):
    """The header of a text file is line 1; JSON and Parquet have none."""
    frame = pl.DataFrame({"item": ["a", "b"], "label": [1, 2]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text(frame.write_ndjson())
    (tmp_path / "t.json").write_text(json.dumps(frame.to_dict(as_series=False)))
    for name, first, untyped in (("csv", 2, True), ("parquet", 1, False), ("jsonl", 1, False), ("json", 1, False)):
        found = read_table(tmp_path / f"t.{name}")
        assert found.labels["_row"].to_list() == [first, first + 1], name
        assert (found.untyped, found.reading.rows, found.reading.source) == (untyped, 2, str(tmp_path / f"t.{name}"))


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("t.csv", "a;b\n1,5;2\n", {"a": ["1,5"], "b": ["2"]}),
        ("t.csv", "a|b,c|d\n1|2|3\n", {"a": ["1"], "b,c": ["2"], "d": ["3"]}),
        ("t.tsv", "a,b\tc\n1\t2\n", {"a,b": ["1"], "c": ["2"]}),
        ("t.csv", " a ,,b,\n1,2,3,\n", {"a": ["1"], "column 2": ["2"], "b": ["3"]}),
        ("t.csv", ",b\n1,2\n", {"": ["1"], "b": ["2"]}),
    ],
)
def test_read_separators_and_unnamed_columns(tmp_path, name, text, columns):
    path = tmp_path / name
    path.write_text(text)
    assert read_delimited(path).to_dict(as_series=False) == columns


def test_read_notes_unreadable_order(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    size = pandas.Categorical(["low", "high", "low"], categories=["low", "mid", "high"], ordered=True)
    plain = pandas.Categorical(["x", "y", "x"])
    path = tmp_path / "t.parquet"
    pandas.DataFrame({"item": [1, 2, 3], "size": size, "plain": plain}).to_parquet(path)
    found = read_table(path)
    assert found.reading.notes == ()
    assert found.labels.schema["size"] == pl.Enum(["low", "mid", "high"])
    monkeypatch.setattr(tables.importlib.util, "find_spec", lambda name: None)
    without = read_table(path)
    assert without.reading.notes == (
        "the order of column 'size' cannot be read without pyarrow; set scale='ordinal:...'",
    )
    assert without.labels["size"].cast(pl.String).to_list() == ["low", "high", "low"]


def test_stack_criteria_keeps_row_numbers():
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": ["x", "y"], "food": [1, 2], "mood": ["3", "good"]})
    rows = Rows(frame, reading=Reading("t", 2))
    found = stack_criteria(rows, ["food", "mood"])
    assert found.labels.rows() == [
        ("a", "x", "food", "1", 1), ("b", "y", "food", "2", 2), ("a", "x", "mood", "3", 1),
        ("b", "y", "mood", "good", 2),
    ]  # fmt: skip
    assert (found.reading.rows, found.reading.as_text) == (4, True)
    alike = stack_criteria(Rows(frame.with_columns(mood=pl.Series([3, 4])), reading=Reading("t", 2)), ["food", "mood"])
    assert alike.reading.as_text is False
    assert alike.labels["label"].to_list() == [1, 2, 3, 4]


def test_read_wide_counts_labels():
    frame = pl.DataFrame({"q": ["a", "b"], "ann": [1, None], "bob": [2, 3], "label": ["x", "y"]})
    found = unpivot(Rows(frame, reading=Reading("t", 2)), "q", ["ann", "bob"])
    assert found.labels.rows() == [("a", "ann", 1), ("a", "bob", 2), ("b", "bob", 3)]
    assert found.items.rows(named=True) == [
        {"item": "a", "label (original)": "x"}, {"item": "b", "label (original)": "y"},
    ]  # fmt: skip
    assert found.reading.rows == 3
    empty = frame.with_columns(ann=pl.lit(None, pl.Int64), label=pl.lit("so"))
    with pytest.raises(DataError, match=r"'label' holds text and column 'bob' holds numbers; .* columns=\['bob'\]"):
        unpivot(Rows(empty, reading=Reading("t", 2)), "q", ["ann", "bob", "label"])


@pytest.mark.parametrize(
    ("winner", "label"),
    [("model_a", -1), (" A", -1), ("b", 1), ("Model_B", 1), ("tie", 0), ("tie (bothbad)", 0), ("bothbad", 0),
     ("both_bad", 0), ("tie (both bad)", 0)],
)  # fmt: skip
def test_read_arena_winners(winner, label):
    frame = pl.DataFrame({"model_a": ["m", "m"], "model_b": ["n", "n"], "winner": [winner, "nobody"]})
    found = arena_rows(frame)
    assert found.labels.rows(named=True) == [
        {"first": "m", "second": "n", "_row": 1, "label": label, "item": "battle 1", "annotator": "voters"}
    ]
    assert [str(e) for e in found.reading.exclusions] == [
        "1 row: winner names neither model_a, model_b nor a tie ('nobody')"
    ]
    assert found.reading.rows == 2
    assert found.reading.notes == (
        "comparisons read as votes: first is model_a, second is model_b; each is an item",
        "no column names who voted; the annotator is called 'voters', and is human unless judges=['voters'] is set",
    )


def test_read_arena_numbers_votes_and_names_voters():
    frame = pl.DataFrame(
        {"model_a": ["m"] * 3, "model_b": ["n"] * 3, "winner": ["a", "b", "tie"], "question_id": [7, 7, 8],
         "judge": ["j", "j", "j"]}
    )  # fmt: skip
    found = arena_rows(frame, "battles")
    assert found.labels.select("item", "annotator", "repeat", "label").rows() == [
        ("7", "j", 1, -1), ("7", "j", 2, 1), ("8", "j", 1, 0),
    ]  # fmt: skip
    assert "judge" not in found.labels.columns
    assert found.reading.notes[0].endswith("; the item is question_id")
    assert found.reading.notes[1] == (
        "several votes of one voter on one item are numbered in the order of the table (repeat)"
    )


def battles(n: int = 120) -> pl.DataFrame:
    """Battles of three systems, of which Teak wins most, by one person a battle."""
    pairs = [("Teak 2", "oak"), ("oak", "ash"), ("ash", "Teak 2")]
    won = ["model_a" if k % 5 else "tie" if k % 2 else "model_b" for k in range(n)]
    return pl.DataFrame({
        "question_id": [f"q{k // 3}" for k in range(n)], "model_a": [pairs[k % 3][0] for k in range(n)],
        "model_b": [pairs[k % 3][1] for k in range(n)], "judge": [f"p{k % 4}" for k in range(n)], "winner": won,
    })  # fmt: skip


@pytest.mark.parametrize("word", ["modelA", "Model A", "model-a", "MODEL_A ", "(a)", "Response A", "[[A]]"])
def test_read_recognizes_spellings_of_a_side(word):
    plain = battles()
    spelled = plain.with_columns(pl.col("winner").replace({"model_a": word}))
    read = [assay.read(one, judges=["p0"]) for one in (plain, spelled)]
    assert read[1].labels.equals(read[0].labels)
    assert read[1].reading.exclusions == ()


def test_read_recognizes_spellings_of_a_system():
    plain = battles()
    name = pl.when(pl.col("winner") == "model_a").then(pl.col("model_a").str.replace("Teak 2", "teak_2"))
    named = plain.with_columns(winner=name.otherwise("winner"))
    assert assay.read(named, judges=["p0"]).labels.equals(assay.read(plain, judges=["p0"]).labels)
    # Names that differ only in such a sign are two systems.
    close = battles().with_columns(pl.col("model_a", "model_b").replace({"oak": "t.2", "Teak 2": "t2"}))
    with pytest.raises(DataError, match=r"'winner' names no winner in 40 rows \('t-2'\)"):
        assay.read(close.with_columns(winner=pl.when(pl.arange(120) % 3 == 0).then(pl.lit("t-2")).otherwise("winner")))


def test_read_refuses_winners_of_unknown_meaning_beyond_a_few():
    few, many = (
        battles().with_columns(winner=pl.when(pl.arange(120) < n).then(pl.lit("unsure")).otherwise("winner"))
        for n in (6, 7)
    )
    (gone,) = assay.read(few, judges=["p0"]).reading.exclusions
    assert str(gone) == "6 rows: winner names neither model_a, model_b nor a tie ('unsure')"
    with pytest.raises(DataError, match=r"names no winner in 7 rows \('unsure'\); .* leave the cells of missing votes"):
        assay.read(many, judges=["p0"])
    empty = many.with_columns(pl.col("winner").replace({"unsure": "N/A"}))
    (gone,) = assay.read(empty, judges=["p0"]).reading.exclusions
    assert str(gone) == "7 rows: winner names neither model_a, model_b nor a tie"


def test_read_excludes_battles_of_a_system_with_itself():
    twice = battles().with_columns(model_b=pl.when(pl.arange(120) < 9).then("model_a").otherwise("model_b"))
    read = assay.read(twice, judges=["p0"])
    assert [str(one) for one in read.reading.exclusions] == ["9 rows: compares a system with itself"]
    assert read.labels.equals(assay.read(battles()[9:], judges=["p0"]).labels)


def test_read_counts_votes_that_equal_an_earlier_row():
    read = assay.read(pl.concat([battles(), battles()[:7]]), judges=["p0"])
    assert "7 votes equal an earlier row in every cell and count as further votes: remove them if they are copies" in (
        read.reading.notes
    )
    other = battles()[:7].with_columns(winner=pl.lit("tie"))
    notes = assay.read(pl.concat([battles(), other.filter(battles()["winner"][:7] != "tie")])).reading.notes
    assert not any("every cell" in one for one in notes)


def table():
    frame = pl.DataFrame(
        {"item": ["q1", "q2", "q10"], "annotator": ["ann", "gpt", "ann"], "label": [4, 5, 2],
         "kind": ["human", "judge", "human"], "seconds": [1.5, None, 2.0]}
    )  # fmt: skip
    items = pl.DataFrame({"item": ["q1", "q2", "q10"], "text": ["a", "é", None]})
    people = pl.DataFrame({"annotator": ["ann", "gpt"], "team": ["x", "y"]})
    return assay.read(frame, scale="1-5", annotator_table=people, items=items)


def test_write_reports_columns_not_written(tmp_path):
    labels = table()
    written = write(labels, tmp_path / "folder", "alt-test")
    assert written.notes == ("columns not written, because the folder has no place for them: seconds, team",)
    files = {path.name: path.read_text("utf-8") for path in (tmp_path / "folder").iterdir()}
    assert files == {
        "human_annotations.json": '{\n "ann": {\n  "q1": 4,\n  "q10": 2\n }\n}\n',
        "llm_annotations.json": '{\n "gpt": {\n  "q2": 5\n }\n}\n',
        "items.jsonl": '{"item": "q1", "text": "a"}\n{"item": "q10", "text": null}\n{"item": "q2", "text": "é"}\n',
    }
    bare = assay.read(labels.labels.select("item", "annotator", "label"), scale="1-5", judges=["gpt"])
    assert write(bare, tmp_path / "folder", "alt-test").notes == ()
    assert not (tmp_path / "folder" / "items.jsonl").exists(), "the file of the earlier table is removed"
    written = write(labels, tmp_path / "t.jsonl", "hugging-face")
    assert written.notes == ("attributes of annotators not written: team",)
    assert (tmp_path / "t.jsonl").read_text("utf-8").splitlines()[1] == (
        '{"item": "q2", "text": "é", "annotator": ["gpt"], "kind": ["judge"], "label": [5], "seconds": [null]}'
    )
    assert write(bare, tmp_path / "t.jsonl", "hugging-face").notes == ()


def test_read_lists_at_most_five_mixed_labels(tmp_path):
    path = tmp_path / "t.json"
    start = r"labels mix numbers and text \(annotator 'ann', item 'i0': '0'; "
    for n, end in ((5, r"item 'i4': '4'\)"), (7, r"item 'i4': '4'; and 2 more\)")):
        path.write_text(json.dumps({"ann": {f"i{k}": str(k) for k in range(n)}, "bob": {f"i{k}": k for k in range(9)}}))
        with pytest.raises(DataError, match=rf"{start}.*{end}; convert"):
            read_table(path)


def test_load_json_names_repeated_key(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"ann": {"a": 1, "b": 2, "b": 3}}')
    with pytest.raises(DataError, match="key 'b' occurs more than once"):
        read_table(path)


def test_read_mentions_quotation_mark_if_widths_differ(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(
        '"[]\tannotator\tlabel\ttext\nq1\t"ann\t[]\tone\nq1\tbob\t2\tone\nq2\tann\t3\ttwo\nq2\tbob\t1\ttwo\n\n'
    )
    with pytest.raises(DataError, match="check for an unclosed quotation mark"):
        assay.read(path)


# -- data sets of Hugging Face on disk, files of Arrow and SPSS ---------------------------------------------

VISITS = pl.DataFrame({"item": ["a", "a", "b", "b"], "annotator": ["ann", "bob"] * 2, "label": [1, 0, 1, -1]})
CLASSES = {"features": {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}, "item": {"_type": "Value"}}}


def save_to_disk(folder: Path, frame: pl.DataFrame, shards: int = 1) -> Path:
    """As ``datasets`` 4 writes it: streams of Arrow, with metadata of the columns in a separate file."""
    folder.mkdir(parents=True)
    (folder / "dataset_info.json").write_text(json.dumps(CLASSES))
    (folder / "state.json").write_text("{}")
    size = frame.height // shards
    for i in range(shards):
        name = f"data-{i:05}-of-{shards:05}.arrow"
        frame[i * size : (i + 1) * size].write_ipc_stream(folder / name)
    return folder


@pytest.mark.parametrize("shards", [1, 2])
def test_read_data_set_on_disk(tmp_path: Path, shards: int) -> None:
    labels = assay.read(save_to_disk(tmp_path / "visits", VISITS, shards))
    assert labels.labels["label"].to_list() == ["yes", "no", "yes"]
    assert not any("split" in note for note in labels.reading.notes)
    assert [(one.reason, one.count) for one in labels.reading.exclusions] == [("without a label", 1)]


def test_read_splits_as_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    save_to_disk(folder / "train", VISITS)
    save_to_disk(folder / "test", VISITS.with_columns(item="x" + pl.col("item")))
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    labels = assay.read(folder)
    assert dict(labels.items.select("item", "split").rows()) == {"a": "train", "b": "train", "xa": "test", "xb": "test"}
    assert "joined 2 splits: test, train" in labels.reading.notes
    save_to_disk(folder / "more", VISITS.rename({"label": "stars"}))
    with pytest.raises(DataError, match="have different columns; name one of them"):
        assay.read(folder)


def test_read_clone_of_hub(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    VISITS[:2].write_parquet(tmp_path / "data" / "train-00000-of-00002.parquet")
    VISITS[2:3].write_parquet(tmp_path / "data" / "train-00001-of-00002.parquet")
    assert assay.read(tmp_path).labels["label"].to_list() == [1, 0, 1]
    VISITS.with_columns(item="x" + pl.col("item")).write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet")
    assert sorted(set(assay.read(tmp_path, scale="interval:-1-1").items["split"])) == ["test", "train"]


@pytest.mark.parametrize("name", ["t.arrow", "t.feather"])
def test_read_arrow_files(tmp_path: Path, name: str) -> None:
    VISITS[:3].write_ipc(tmp_path / name)
    assert assay.read(tmp_path / name).labels["label"].to_list() == [1, 0, 1]
    (tmp_path / name).write_bytes(b"ARROW1 and nothing more")
    with pytest.raises(DataError):
        assay.read(tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet or Arrow files"):
        assay.read(tmp_path / "empty")


def test_read_spss_files(tmp_path: Path) -> None:
    spss = pytest.importorskip("pyreadstat", reason='files of SPSS need the extra "spss"')
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"item": ["a", "a", "b", "b"], "annotator": [1.0, 2.0, 1.0, 2.0], "label": [1.0, 5.0, 3.0, None]}
    )
    path = tmp_path / "t.sav"
    spss.write_sav(
        table, str(path),
        variable_value_labels={"annotator": {1.0: "ann", 2.0: "bob"}, "label": {1.0: "bad", 5.0: "good"}},
        variable_measure={"annotator": "nominal", "label": "ordinal"},
    )  # fmt: skip
    labels = assay.read(path, scale="1-5")
    assert labels.labels.select("item", "annotator", "label").rows() == [
        ("a", "ann", 1),
        ("a", "bob", 5),
        ("b", "ann", 3),
    ]
    assert "'label' keeps its codes: 1 = bad, 5 = good" in " ".join(labels.reading.notes)
    path.write_bytes(b"$FL2 no more")
    with pytest.raises(DataError, match="cannot be read as a file of SPSS"):
        assay.read(path)


@pytest.mark.parametrize(
    ("name", "content", "plain"),
    [
        ("t.csv", b"item,ann,ben\na,1,2\n", True),
        ("t.csv", "item,ann,ben\né,1,2\n".encode(), True),
        ("t.csv", "\ufeffitem,ann,ben\na,1,2\n".encode(), True),
        ("t.csv", "item,ann,ben\né,1,2\n".encode("latin-1"), False),  # the letter requires detection
        ("t.csv", b"item,ann,ben\na,1,2\n" + "é,1,2".encode("latin-1"), True),  # an incomplete line
        ("t.csv", b"", False),
        ("t.TSV", b"item\tann\tben\na\t1\t2\n", True),
        ("t.tsv", b"item,ann,ben\na,1,2\n", False),
        ("t.txt", b"item|ann|ben\na|1|2\n", True),
        ("t.json", b"item,ann,ben\na,1,2\n", False),
    ],
)
def test_is_simple_table(tmp_path, name, content, plain):
    (tmp_path / name).write_bytes(content)
    assert _is_plain(tmp_path / name) is plain


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_read_accepts_one_row_and_refuses_none(tmp_path, suffix):
    frame = pl.DataFrame({"item": ["a"], "ann": [1], "ben": [2]})

    def path_of(table: pl.DataFrame) -> Path:
        path = tmp_path / f"t.{suffix}"
        if suffix in ("csv", "tsv"):
            table.write_csv(path, separator="," if suffix == "csv" else "\t")
        else:
            {"jsonl": table.write_ndjson, "parquet": table.write_parquet}[suffix](path)
        return path

    assert read_table(path_of(frame)).labels.height == 1
    with pytest.raises(DataError, match="is empty" if suffix == "jsonl" else "has a header but no rows"):
        read_table(path_of(frame.head(0)))
    (tmp_path / f"t.{suffix}").write_bytes(b"")
    with pytest.raises(DataError, match=r"t\."):
        read_table(tmp_path / f"t.{suffix}")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (pl.exceptions.NoDataError("empty CSV"), "f.csv is empty"),
        (pl.exceptions.ComputeError("invalid UTF-8 sequence\nand more"), "f.csv is not UTF-8 text; save it as UTF-8"),
        (pl.exceptions.ComputeError("too many fields\nutf"), "f.csv cannot be read as a table: too many fields"),
        (OSError("  "), "f.csv cannot be read as a table: OSError"),
        (OSError("gone"), "f.csv cannot be read as a table: gone"),
    ],
)
def test_read_errors_are_one_line(error, words):
    def read():
        raise error

    with pytest.raises(DataError) as caught:
        tables.read_safely(Path("f.csv"), read)
    assert str(caught.value) == words


# -- function by function ------------------------------------------------------------------------------------


def rows_of(untyped: bool = False, **columns) -> Rows:
    frame = pl.DataFrame(columns, strict=False)
    return Rows(frame, reading=Reading("t", frame.height), untyped=untyped)


def test_read_transposed_gives_rows_of_items():
    form = rows_of(who=["ann", "bob"], q1=[1, None], q2=[3, 4], age=[30, 40], _row=[2, 3])
    found = tables.transpose(form, "who", ["q1", "q2"])
    assert sorted(found.labels.select("annotator", "item", "label", "_row").rows()) == [
        ("ann", "q1", 1, 2), ("ann", "q2", 3, 2), ("bob", "q2", 4, 3),
    ]  # fmt: skip
    assert (found.reading.rows, found.orders, found.untyped) == (3, {}, False)
    every = tables.transpose(form, "who", None)
    assert set(every.labels["item"]) == {"q1", "q2", "age"}
    rows = tables.transpose(form, "_row", ["q1", "q2"])
    assert set(rows.labels["annotator"]) == {"row 2", "row 3"}
    for name in ("label", "item", "annotator", "who"):
        taken = tables.transpose(rows_of(**{name: ["ann", "bob"], "q1": [1, 2]}), name, None)
        assert taken.labels.select("annotator", "item", "label").rows() == [("ann", "q1", 1), ("bob", "q1", 2)]
    with pytest.raises(
        DataError, match=r"t: 'ann' has more than one row; a transposed table has one row per annotator"
    ):
        tables.transpose(rows_of(who=["ann", "ann"], q1=[1, 2]), "who", None)
    with pytest.raises(DataError, match="t: except 'who', no column could be an item"):
        tables.transpose(rows_of(who=["ann"], _row=[1]), "who", None)
    with pytest.raises(DataError, match=r"'name' is not in t.*\(it should contain the annotator\)"):
        tables.transpose(form, "name", None)
    with pytest.raises(DataError, match="'q9' is not in t"):
        tables.transpose(form, "who", ["q9"])


LOW, HIGH = pl.Enum(["low", "high"]), pl.Enum(["high", "low"])


def test_read_wide_refuses_different_orders():
    size = pl.Series(["low", "high"], dtype=LOW)
    two = rows_of(who=["ann", "bob"], q1=size, q2=size)
    assert tables.transpose(two, "who", None).orders == {None: ("low", "high")}
    other = rows_of(who=["ann", "bob"], q1=size, q2=pl.Series(["low", "high"], dtype=HIGH))
    assert tables.transpose(other, "who", None).orders == {}
    assert unpivot(two, "who", None).orders == {None: ("low", "high")}
    with pytest.raises(DataError, match="columns q1, q2 declare different orders of their categories"):
        unpivot(other, "who", None)
    assert stack_criteria(other, ["q1", "q2"]).orders == {"q1": ("low", "high"), "q2": ("high", "low")}
    assert unpivot(rows_of(who=["ann"], q1=pl.Series(["x"], dtype=pl.Categorical)), "who", None).orders == {}


def test_read_wide_without_columns():
    found = unpivot(rows_of(q=["a", "b"], ann=[1, 2], bob=[2, 3], _row=[2, 3]), "q", None)
    assert set(found.labels["annotator"]) == {"ann", "bob"}
    assert found.items is None
    for name in ("label", "annotator", "criterion", "item", "doc"):
        taken = unpivot(rows_of(**{name: ["a", "b"], "ann": [1, 2]}), name, None)
        assert taken.labels.select("item", "annotator", "label").rows() == [("a", "ann", 1), ("b", "ann", 2)]
    beside = unpivot(rows_of(q=["a"], item=["x"], ann=[1]), "q", ["ann"])
    assert beside.items.rows(named=True) == [{"item": "a", "item (original)": "x"}]
    numbered = unpivot(rows_of(ann=[1, 2], bob=[2, 3], _row=[2, 3]), "_row", None)
    assert set(numbered.labels["item"]) == {"row 2", "row 3"}
    with pytest.raises(DataError, match="t: except 'q', no column could contain an annotator's labels"):
        unpivot(rows_of(q=["a"], _row=[1]), "q", None)
    with pytest.raises(DataError, match=r"'id' is not in t.*\(it should contain the item id\)"):
        unpivot(rows_of(q=["a"], ann=[1]), "id", None)
    with pytest.raises(DataError, match="t: item 'a' has more than one row; a wide table has one row per item"):
        unpivot(rows_of(q=["a", "a"], ann=[1, 2]), "q", None)
    mixed = rows_of(q=["a", "b"], ann=[1, 2], bob=["x", "y"], cho=["x", "y"])
    assert unpivot(mixed, "q", ["bob", "cho"]).labels.height == 4
    with pytest.raises(
        DataError, match=r"columns 'bob', 'cho' hold text and column 'ann' holds numbers; .*=\['bob', 'cho'\]"
    ):
        unpivot(mixed, "q", None)
    with pytest.raises(DataError, match=r"column 'x' holds text and columns 'a', 'b' hold numbers; .*=\['a', 'b'\]"):
        unpivot(rows_of(q=["i"], x=["w"], a=[1], b=[2]), "q", None)
    words = rows_of(q=["a", "b"], ann=["x", "y"], Notes=["so", "hm"])
    with pytest.raises(DataError, match=r"column 'Notes' holds no labels .by name.; .* columns=\['ann'\]"):
        unpivot(words, "q", None)
    assert unpivot(words, "q", ["ann", "Notes"]).labels.height == 4
    assert unpivot(words, "q", None, check=False).labels.height == 4
    assert unpivot(rows_of(q=["a"], Notes=["so"]), "q", None).labels.height == 1  # no other column could hold labels


@pytest.mark.parametrize(
    ("cells", "untyped", "held"),
    [
        ([1, 2], False, "numbers"), ([1, None], False, "numbers"), ([1.5, 2], True, "numbers"),
        (["1", "2"], False, "text"), (["1", "2"], True, "numbers"), (["1", " 2 ", "n/a", ""], True, "numbers"),
        (["1", "x"], True, "both"), (["x", "y"], True, "text"), (["NA", " "], True, "nothing"),
        ([None, None], True, "nothing"), ([None, None], False, "nothing"), ([True, False], True, "text"),
    ],
)  # fmt: skip
def test_content_of_column(cells, untyped, held):
    assert tables._holds(rows_of(untyped, x=cells), "x") == held


def test_content_of_empty_numeric_column():
    empty = Rows(pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Int64)}), reading=Reading("t", 2))
    assert tables._holds(empty, "x") == "nothing"


def test_number_rows_on_request():
    plain = rows_of(a=[5, 6])
    assert tables.number_rows(plain, [{"item": "_row"}]).labels["_row"].to_list() == [1, 2]
    assert tables.number_rows(plain, [{"item": "a"}]) is plain
    there = rows_of(a=[5, 6], _row=[7, 8])
    assert tables.number_rows(there, [{"annotator": "_row"}]) is there
    assert tables._rows_named(plain.labels, "_row", "item") is plain.labels
    assert tables._rows_named(there.labels, "a", "item") is there.labels
    assert tables._rows_named(there.labels, "_row", "item")["_row"].to_list() == ["row 7", "row 8"]


def test_join_items_of_several_columns():
    found = tables.join_items(rows_of(lesson=["x", "y"], part=[1, 2], label=[3, 4]), ["lesson", "part"])
    assert found.labels["item"].to_list() == ["x/1", "y/2"]
    with pytest.raises(DataError, match=r"'page' is not in t.*\(it should contain a part of the item id\)"):
        tables.join_items(rows_of(lesson=["x"]), ["lesson", "page"])
    numbered = stack_criteria(
        rows_of(item=["a", "b"], criterion=["u", "v"], p=[1, 2], q=[3, 4], _row=[5, 6]), ["p", "q"]
    )
    assert numbered.labels.rows(named=True)[1] == {
        "item": "b", "criterion (original)": "v", "_row": 6, "criterion": "p", "label": 2,
    }  # fmt: skip
    with pytest.raises(DataError, match=r"'r' is not in t.*\(it should contain labels\)"):
        stack_criteria(rows_of(item=["a"]), ["r"])


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["1", "-2", None], [1, -2, None]), (["1", "2.5"], [1.0, 2.5]),
        (["0", "0.5", "-0.1"], [0.0, 0.5, -0.1]), (["01", "2"], ["01", "2"]), (["-02"], ["-02"]),
        (["1", "x"], ["1", "x"]), ([" 01"], [" 01"]), ([None, None], [None, None]),
    ],
)  # fmt: skip
def test_parse_numeric_columns_of_text(cells, read):
    frame = pl.DataFrame({"a": cells, "b": cells}, schema={"a": pl.String, "b": pl.String})
    found = tables.parse_numeric_columns(frame, leave=["b"])
    assert found["a"].to_list() == read
    assert found["b"].to_list() == cells


def test_records_by_hand():
    found = tables.records([{"a": 1}, {"b": "x", "a": 2}], "t")
    assert found.to_dict(as_series=False) == {"a": [1, 2], "b": [None, "x"]}
    loose = tables.records([{"a": 1}, {"a": "x"}], "t", strict=False)
    assert loose["a"].to_list() == ["1", "x"]
    with pytest.raises(DataError, match="mixes numbers and text"):
        tables.records([{"a": 1}, {"a": "x"}], "t")
    for values in ({"a": 1}, [1], [{"a": 1}, [2]]):
        with pytest.raises(DataError, match="t must contain a list of objects, one per answer"):
            tables.records(values, "t")


def test_load_json_names_line_of_error(tmp_path):
    def refused(read, content: bytes) -> str:
        (tmp_path / "t.jsonl").write_bytes(content)
        with pytest.raises(DataError) as error:
            read(tmp_path / "t.jsonl")
        return str(error.value).removeprefix(f"{tmp_path / 't.jsonl'}")

    assert refused(tables.json_objects, b'{"a": 1}\n\n{"a": \n') == ", line 3: not JSON (Expecting value)"
    assert refused(tables.json_objects, b'{"a": "\xff"}\n') == " is not UTF-8 text; save it as UTF-8"
    assert refused(tables.load_json, b'[\n{"a": }]') == ", line 2: not JSON (Expecting value)"
    assert refused(tables.load_json, b'["\xff"]') == " is not UTF-8 text; save it as UTF-8"
    (tmp_path / "t.jsonl").write_text('\ufeff{"a": 1}\n \n{"a": 2}\n', "utf-8")
    assert tables.json_objects(tmp_path / "t.jsonl") == [{"a": 1}, {"a": 2}]


def test_read_json_layouts(tmp_path):
    def read(content, name="t.json"):
        (tmp_path / name).write_text(json.dumps(content))
        return tables._json(tmp_path / name)

    nested = {"ann": {"a": 1, "b": 2}, "bob": {"a": 3}}
    assert read(nested).rows() == [("a", "ann", 1), ("b", "ann", 2), ("a", "bob", 3)]
    assert read(nested, "llm_annotations.json")["kind"].to_list() == ["judge"] * 3
    assert read(nested, "human_annotations.json")["kind"].to_list() == ["human"] * 3
    assert read({"item": ["a", "b"], "label": [1, 2]}).rows() == [("a", 1), ("b", 2)]
    assert read([{"item": "a", "label": 1}]).rows() == [("a", 1)]
    with pytest.raises(DataError, match="the columns have different lengths"):
        read({"item": ["a", "b"], "label": [1]})
    for content in ({}, {"a": 1}, {"a": {}, "b": []}):
        with pytest.raises(DataError, match="must contain a list of objects"):
            read(content)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.docx", b"x", ": this file type is not supported (.arrow, .csv, "),
        ("t.csv", b"", " is empty"),
        ("t.csv", b"PAR1", " is a Parquet file, despite its name"),
        ("t.parquet", b"a,b", " is not a Parquet file, despite its name"),
        ("t.csv", b"PK\0", " is a binary file (a spreadsheet or zip archive), not a text table; save it as CSV"),
        ("t.csv", b"a\0", " is a binary file, not a text table; save it as CSV or Parquet"),
        ("t.csv", b"PKa,b", None), ("t.csv", b"\xff\xfea\0", None), ("t.csv", b"\xfe\xff\0a", None),
        ("t.xlsx", b"PK\0", None), ("t.arrow", b"\0", None), ("t.sav", b"\0", None), ("t.PQ", b"PAR1\0", None),
        ("t.CSV", b"a,b", None),
    ],
)  # fmt: skip
def test_read_refuses_other_files(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    if words is None:
        tables._refuse_other_files(tmp_path / name)
        return
    with pytest.raises(DataError) as error:
        tables._refuse_other_files(tmp_path / name)
    assert str(error.value).startswith(f"{tmp_path / name}{words}")


def test_read_drops_empty_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,,\n1,2,,\n3,4,,x\n")
    assert read_delimited(path).columns == ["a", "b", "column 4"]
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match="has two columns named 'a'; rename one of them"):
        read_delimited(path)


def test_read_arena_requires_columns():
    battles = {"model_a": ["m", "m"], "model_b": ["n", "n"], "winner": ["a", "b"]}
    own = arena_rows(
        pl.DataFrame({**battles, "prompt": ["x", "x"], "annotator": ["u", "v"], "_row": [5, 6]}), item="prompt"
    )
    assert own.labels.select("item", "annotator", "_row").rows() == [("x", "u", 5), ("x", "v", 6)]
    assert "repeat" not in own.labels.columns
    assert "prompt" not in own.labels.columns
    again = pl.DataFrame({**battles, "id": ["x", "x"], "repeat": [4, 9]})
    assert arena_rows(again).labels["repeat"].to_list() == [4, 9]
    assert len(arena_rows(again).reading.notes) == 2
    assert arena_rows(again).reading.exclusions == ()
    first = arena_rows(pl.DataFrame({**battles, "id": [1, 2], "question_id": [8, 9], "judge": ["j", "k"]}))
    assert first.labels.select("item", "annotator", "id").rows() == [("8", "j", 1), ("9", "k", 2)]
    with pytest.raises(
        DataError, match="t has no column 'winner'; a table of comparisons has model_a, model_b, winner"
    ):
        arena_rows(pl.DataFrame({"model_a": ["m"], "model_b": ["n"]}), "t")
    with pytest.raises(DataError, match="t has no column 'prompt'; it has model_a, model_b, winner"):
        arena_rows(pl.DataFrame(battles), "t", item="prompt")
    with pytest.raises(DataError, match="t: 'winner' names no winner in 1 row"):
        arena_rows(pl.DataFrame({**battles, "winner": ["k", None]}), "t")
    assert [tables.is_arena(c) for c in ([*battles], [*battles, "x"], [*battles, "label"], ["model_a", "winner"])] == [
        True, True, False, False,
    ]  # fmt: skip


def test_read_hugging_face_lists(tmp_path):
    def read(*lines):
        path = tmp_path / "t.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return tables.read_hugging_face(path)

    one = {"item": "a", "text": "t", "annotator": ["ann", "bob"], "label": [1, 2], "time": [5, 6], "criterion": "q"}
    found = read(
        one, {**one, "text": "other", "criterion": "p"}, {"item": "b", "annotator": [], "label": [], "text": "u"}
    )
    assert found.labels.select("item", "annotator", "label", "time", "criterion", "_row").rows() == [
        ("a", "ann", 1, 5, "q", "line 1"), ("a", "bob", 2, 6, "q", "line 1"), ("a", "ann", 1, 5, "p", "line 2"),
        ("a", "bob", 2, 6, "p", "line 2"),
    ]  # fmt: skip
    assert found.items.rows() == [("a", "t"), ("b", "u")]
    assert found.reading.rows == 4
    needed = "line 2: 'item' and lists 'annotator' and 'label' are required"
    for bad in ({**one, "label": 1}, {**one, "annotator": "ann"}, {k: v for k, v in one.items() if k != "item"}):
        with pytest.raises(DataError, match=needed):
            read(one, bad)
    with pytest.raises(DataError, match="line 1: 'time' has 1 entries and 'label' 2"):
        read({**one, "time": [5]})
    with pytest.raises(DataError, match="is empty"):
        read({"item": "b", "annotator": [], "label": []})


def test_read_alt_test_folder(tmp_path):
    def read(humans=None, judges=None):
        for name, content in (("human_annotations.json", humans), ("llm_annotations.json", judges)):
            (tmp_path / name).unlink(missing_ok=True)
            if content is not None:
                (tmp_path / name).write_text(json.dumps(content))
        return tables.read_alt_test(tmp_path)

    found = read({"ann": {"a": 1, "b": 2}}, {"gpt": {"a": 2.5}})
    assert found.labels.rows() == [
        ("a", "ann", 1.0, "human", "ann: a"), ("b", "ann", 2.0, "human", "ann: b"),
        ("a", "gpt", 2.5, "judge", "gpt: a"),
    ]  # fmt: skip
    assert (found.items, found.reading.rows) == (None, 3)
    assert read({"ann": {"a": 1}}).labels.height == 1
    assert read({"ann": {"a": "x"}}, {"gpt": {}}).labels.height == 1
    with pytest.raises(DataError, match="'ann' is both a human and a judge; rename one of them"):
        read({"ann": {"a": 1}, "bob": {}}, {"bob": {}, "ann": {}})
    with pytest.raises(DataError, match="contains no labels"):
        read({"ann": {}}, {})
    with pytest.raises(DataError, match="contains text labels, the other numbers"):
        read({"ann": {"a": 1}}, {"gpt": {"a": "x"}})
    for bad in ([], {"ann": [1]}):
        with pytest.raises(DataError, match=r"human_annotations.json must contain \{annotator: \{item: label\}\}"):
            read(bad)


def test_read_parquet_orders_of_pandas():
    about = {"columns": [{"name": "a", "metadata": {"ordered": True}}, {"name": "b", "metadata": {"ordered": False}},
                         {"name": "c", "metadata": None}, {"name": "d"}]}  # fmt: skip
    assert tables.pandas_orders({"pandas": json.dumps(about)}) == ["a"]
    assert tables.pandas_orders({}) == tables.pandas_orders({"pandas": "{}"}) == []


def test_splits_of_folder(tmp_path):
    def put(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()

    put("one/x.txt", "two/b.arrow", "two/a.arrow", "four/train/x.arrow", "four/none/x.txt")
    put("three/data/train-00000-of-00002.parquet", "three/data/train-00001-of-00002.parquet", "three/data/a.parquet")

    def names(folder):
        return {name: [one.name for one in files] for name, files in tables._splits(tmp_path / folder).items()}

    assert names("one") == names("four") == {}
    assert names("two") == {"": ["a.arrow", "b.arrow"]}
    assert names("three") == {
        "a": ["a.parquet"], "train": ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    }  # fmt: skip
    put("four/dataset_dict.json", "five/x.parquet")
    assert names("four") == {"train": ["x.arrow"]}
    assert [tables.is_dataset(tmp_path / n) for n in ("one", "two", "three", "four", "five")] == [False, *[True] * 4]


def test_split_names_at_the_mark_that_crosses_names():
    names = ["a b x", "a b y", "c x", "c y"]
    rows = Rows(pl.DataFrame({"item": ["i"] * 4, "annotator": names, "label": [1, 2, 3, 4]}))
    found = tables.split_names(rows, "annotator criterion").labels
    assert found["annotator"].to_list() == ["a b", "a b", "c", "c"]
    assert found["criterion"].to_list() == ["x", "y", "x", "y"]


@pytest.mark.slow
def test_wide_file_has_the_numbers_of_items_that_a_long_file_and_a_frame_have(tmp_path):
    """Numbers next to labels are numbers in every layout; a code that begins with 0 stays a text."""
    wide = pl.DataFrame({
        "essay": [f"e{k}" for k in range(12)], "words": [100 + 7 * k for k in range(12)],
        "age": [k / 8 - 0.5 for k in range(12)], "postcode": [f"0{k}139" for k in range(12)],
        "ann": [1, 2, 3] * 4, "bob": [1, 3, 2] * 4, "gpt-4o": [2, 2, 3] * 4,
    })  # fmt: skip
    kinds = {"item": pl.String, "words": pl.Int64, "age": pl.Float64, "postcode": pl.String}
    wide.write_csv(tmp_path / "wide.csv")
    wide.write_parquet(tmp_path / "wide.parquet")
    raters = ["ann", "bob", "gpt-4o"]
    long = wide.unpivot(raters, index=["essay", "words", "age", "postcode"], variable_name="rater", value_name="score")
    long.write_csv(tmp_path / "long.csv")
    how = {"item": "essay", "judges": ["gpt-4o"], "scale": "1-3"}
    for found in (
        assay.read(tmp_path / "wide.csv", columns=raters, **how), assay.read(wide, columns=raters, **how),
        assay.read(tmp_path / "wide.parquet", columns=raters, **how), assay.read(tmp_path / "long.csv", **how),
    ):  # fmt: skip
        assert dict(found.items.schema) == kinds
        assert found.items["age"].sort().to_list() == wide["age"].to_list()


def settings_of_judge(humans: tuple[str, str, str]) -> pl.DataFrame:
    """Labels of two people, who have these values of style, heat and topic, and of a model under four settings."""
    rows = [(f"t{k}", who, *humans, str(k % 3 + 1)) for k in range(9) for who in ("ann", "bob")]
    rows += [
        (f"t{k}", "gpt-4o", style, heat, "art", str(k % 3 + 1))
        for k in range(9)
        for style in ("terse", "chatty")
        for heat in ("0", "0.7")
    ]
    return pl.DataFrame(rows, schema=["text", "rater", "style", "heat", "topic", "score"], orient="row")


@pytest.mark.parametrize(
    ("mark", "missing", "topics"),
    [
        ("NA", ["NA"], ("art", None)), ("NA", None, ("NA", "art")), ("not asked", ["not asked"], ("art", None)),
        ("none", None, ("art", "none")), ("", None, ("art", None)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_frame", [False, True])
def test_missing_word_is_missing_in_conditions_and_other_columns(tmp_path, mark, missing, topics, as_frame):
    """R writes NA for the settings of people, who labelled without any: choosing a setting keeps them."""
    frame = settings_of_judge((mark, mark, mark))
    frame.write_csv(tmp_path / "t.csv")
    if as_frame:
        frame = frame.with_columns(pl.col("heat").cast(pl.Float64, strict=False), pl.col("score").cast(pl.Int64))
        frame = frame.with_columns(pl.when(pl.col("style", "topic") != "").then(pl.col("style", "topic")))
    labels = assay.read(
        frame if as_frame else tmp_path / "t.csv", item="text", annotator="rater", label="score", judges=["gpt-4o"],
        conditions=["style", "heat"], missing=missing, scale="1-5",
    )  # fmt: skip
    assert labels.values_of("style") == ("chatty", "terse", None)
    assert labels.values_of("heat") == (0.0, 0.7, None)
    assert labels.values_of("topic") == topics
    one = labels.where(style="terse", heat=0)
    assert (len(one.humans), len(one)) == (2, 27)
    if mark and not as_frame:
        assert any(f"'{mark}' is a missing value in column" in note for note in labels.reading.notes)


def test_marks_are_values_with_an_empty_list_of_missing_ones():
    frame = settings_of_judge(("none", "0", "NA"))
    labels = assay.read(
        frame,
        item="text",
        annotator="rater",
        label="score",
        judges=["gpt-4o"],
        conditions=["style", "heat"],
        missing=[],
    )
    assert labels.values_of("style") == ("chatty", "none", "terse")
    assert labels.values_of("topic") == ("NA", "art")
