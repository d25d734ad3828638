"""How a folder of Parquet files is read, split into chunks and stored: the same arrays as in memory, in any order."""

from __future__ import annotations

import gc
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_chunks import scanned, write

from assay.data.annotations import Annotations
from assay.data.chunked import chunk_store
from assay.data.chunked.chunks import scan
from assay.data.scales import Nominal, Ordinal
from assay.errors import DataError, DesignError
from assay.estimation.result import Exclusion


def labels_in(folder, frame, files=3, **options):
    """The frame split into files in its order."""
    folder.mkdir(exist_ok=True)
    step = -(-len(frame) // files)
    for i in range(files):
        frame[i * step : (i + 1) * step].write_parquet(folder / f"part-{i}.parquet", row_group_size=50)
    return scan(folder, **({"scale": "1-5"} | options))


def rows_of(rng, n=60, m=5, missing=0.3):
    there = rng.random((n, m)) >= missing
    item, who = np.nonzero(there)
    names = np.array([f"t{i}" for i in range(n)])
    label = rng.integers(1, 6, len(item))
    return pl.DataFrame({"item": names[item], "annotator": [f"a{j}" for j in who], "label": label})


@pytest.mark.slow
@pytest.mark.parametrize("order", ["shuffled", "sorted", "files in another order"])
@pytest.mark.parametrize("labels_per_chunk", [pytest.param(1, marks=pytest.mark.slow), 7, 10_000])
def test_scan_equals_memory_for_every_layout(tmp_path, order, labels_per_chunk):
    frame = rows_of(np.random.default_rng(1))
    memory = Annotations.from_frame(frame, judges=["a1"], scale=Ordinal(1, 5))
    frame = frame.sort("item") if order != "shuffled" else frame.sample(fraction=1, shuffle=True, seed=0)
    chunks = labels_in(tmp_path, frame, judges=["a1"], labels_per_chunk=labels_per_chunk)
    if order == "files in another order":
        (tmp_path / "part-0.parquet").rename(tmp_path / "zzz.parquet")
        chunks = scan(tmp_path, scale="1-5", judges=["a1"], labels_per_chunk=labels_per_chunk)
    assert len(chunks.contents) == (1 if labels_per_chunk == 10_000 else len(chunks.contents))
    assert chunks.fingerprint == memory.fingerprint
    assert chunks.only(["a3", "a1"]).fingerprint == memory.where(annotator=["a3", "a1"]).fingerprint
    whole = memory.answers()
    again = np.array([whole.annotators.index(name) for name in chunks.annotators])
    for pieces in (chunks.pieces(), chunks.pieces(7), chunks.pieces(1000)):
        found = [(read(), first, end) for read, first, end in pieces]
        assert [name for a, _, _ in found for name in a.items] == list(whole.items)
        grid = {(first + i, again[w], v) for a, first, _ in found for i, w, v in zip(a.item, a.annotator, a.value)}  # noqa: B905
        assert grid == set(zip(whole.item, whole.annotator, whole.value, strict=True))
        assert [end - first for _, first, end in found] == [len(a.items) for a, _, _ in found]
    people = (~np.isnan(memory.matrix(list(memory.humans)))).sum(axis=1)
    np.testing.assert_array_equal(chunks.human_labels, people)
    assert chunks.labels_of == {n: int((~np.isnan(memory.matrix([n]))).sum()) for n in chunks.annotators}
    assert chunks.mean == pytest.approx(whole.value.mean())


def test_scan_splits_sorted_files_between_items(tmp_path):
    frame = pl.DataFrame({"item": [f"q{i:03d}" for i in range(100) for _ in range(3)], "annotator": list("abc") * 100})
    chunks = labels_in(tmp_path, frame.with_columns(label=3), labels_per_chunk=10)
    assert sum(c.n_labels for c in chunks.contents) == 300
    assert all(c.n_labels == 3 * c.n_items <= 24 for c in chunks.contents)
    assert not [name for name in (p.name for p in Path(chunks.folder.path).iterdir()) if name.startswith("rows")]


@pytest.mark.slow
@settings(max_examples=6)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 4), st.booleans())
def test_fingerprint_does_not_depend_on_chunks_or_files(tmp_path_factory, seed, labels_per_chunk, files, whole):
    rng = np.random.default_rng(seed)
    frame = rows_of(rng, n=20, m=3)
    memory = Annotations.from_frame(frame, judges=["a0"], scale=Ordinal(1, 5))
    frame = frame.sample(fraction=1, shuffle=True, seed=seed)
    if whole:
        frame = frame.with_columns(pl.col("label").cast(pl.Float64))
    chunks = labels_in(tmp_path_factory.mktemp("f"), frame, files, judges=["a0"], labels_per_chunk=labels_per_chunk)
    assert chunks.fingerprint == memory.fingerprint


def test_fingerprint_of_categories_equals_memory(tmp_path):
    frame = rows_of(np.random.default_rng(2)).with_columns(
        pl.col("label").replace_strict({1: "x", 2: "y"}, default="z")
    )
    scale = Nominal(["z", "y", "x", "never"])
    chunks = labels_in(tmp_path, frame, scale=scale, labels_per_chunk=20)
    memory = Annotations.from_frame(frame, scale=scale)
    assert chunks.fingerprint == memory.fingerprint
    assert {v.dtype.kind for v in (read().value for read, _, _ in chunks.pieces())} == {"i"}


def test_scan_where_selects_criterion_as_memory(tmp_path):
    frame = pl.concat([rows_of(np.random.default_rng(k)).with_columns(criterion=pl.lit(c)) for k, c in enumerate("xy")])
    memory = Annotations.from_frame(frame, scale=Ordinal(1, 5)).where(criterion="y")
    for sort in (True, False):
        ordered = frame.sort("item") if sort else frame
        chunks = labels_in(tmp_path / f"{sort}", ordered, where={"criterion": "y"}, labels_per_chunk=30)
        assert chunks.fingerprint == memory.fingerprint
        assert chunks.n_labels == len(memory)


@pytest.mark.slow
def test_scan_counts_rows_without_label(tmp_path):
    frame = rows_of(np.random.default_rng(3)).with_columns(label=pl.col("label").cast(pl.String).replace("3", " "))
    for n in (10, 1000):
        chunks = labels_in(tmp_path, frame, labels_per_chunk=n)
        blank = int((frame["label"] == " ").sum())
        assert chunks.reading.exclusions == (Exclusion("row", blank, "without a label"),)
        assert chunks.reading.rows == len(frame) == chunks.n_labels + blank
        assert chunks.reading.source == str(tmp_path)


def test_scan_reads_numeric_ids_as_memory(tmp_path):
    frame = pl.DataFrame({"item": [1.0, 10.0, 2.0, 2.0], "annotator": [1, 1, 1, 2], "label": [1, 2, 3, 4]})
    chunks = labels_in(tmp_path, frame, labels_per_chunk=2)
    assert chunks.fingerprint == Annotations.from_frame(frame, scale=Ordinal(1, 5)).fingerprint


@pytest.fixture
def collect() -> Callable[[], int]:
    """Collect what the test has made, not also what all tests before it have left, which takes a third of a second."""
    gc.freeze()
    return gc.collect


def test_scan_removes_working_folder_with_table(tmp_path, collect):
    cache = tmp_path / "cache"
    cache.mkdir()
    chunks = labels_in(tmp_path / "labels", rows_of(np.random.default_rng(0)), cache=cache, labels_per_chunk=20)
    place = Path(chunks.folder.path)
    assert place.parent == cache
    assert chunks.folder.bytes > 0
    copy = pickle.loads(pickle.dumps(chunks))
    part = chunks.only(["a1"])
    assert copy.fingerprint == chunks.fingerprint
    del copy, chunks
    collect()
    assert place.is_dir()
    assert sum(len(read()) for read, _, _ in part.pieces()) == part.n_labels
    del part
    collect()
    assert not place.exists()


def test_scan_removes_working_folder_after_failure(tmp_path, collect):
    write(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    with pytest.raises(DataError, match="off the scale"):
        scan(tmp_path, item="text", annotator="who", label="stars", scale="1-4", labels_per_chunk=50, cache=cache)
    collect()
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"labels_per_chunk": 0}, DesignError, "labels_per_chunk must be a whole number of at least 1; got 0"),
        ({"labels_per_chunk": "many"}, DesignError, "labels_per_chunk must be a whole number"),
        ({"scale": 5}, DesignError, "scale must be a scale, such as"),
        ({"scale": "one to five"}, DataError, "'one to five' is not a scale"),
        ({"judges": "a1"}, DesignError, "judges must be a list of names; got 'a1'"),
        ({"where": {"criterion": "fluenzy"}}, DataError, r"criterion 'fluenzy' is not in .*did you mean 'fluency'"),
        ({"where": {"criterion": 3}}, DataError, r"criterion '3' is not in .*; it has fluency"),
        ({"where": {"stars": "3"}}, DataError, r"stars '3' is not in .*did you mean '3'"),
        ({"where": {"criterion": ["a", "b"]}}, DesignError, "where requires one value per column"),
        ({"where": {"criterium": "a"}}, DataError, "column 'criterium' is not in .*did you mean 'criterion'"),
        ({"cache": "no/such/folder"}, DataError, "the folder 'no/such/folder' of cache="),
    ],
)
def test_scan_errors_name_invalid_options(tmp_path, options, error, said):
    write(tmp_path)
    with pytest.raises(error, match=said):
        scan(tmp_path, **({"item": "text", "annotator": "who", "label": "stars", "scale": "1-5"} | options))


def test_scan_refuses_missing_and_blank_names(tmp_path):
    frame = rows_of(np.random.default_rng(0))
    for k, (column, value) in enumerate([("item", None), ("annotator", None), ("item", " "), ("annotator", "")]):
        broken = frame.with_columns(
            pl.when(pl.int_range(pl.len()) < 2).then(pl.lit(value)).otherwise(column).alias(column)
        )
        for n in (10, 1000):
            with pytest.raises(DataError, match="rows have no item or no annotator; fill or remove them"):
                labels_in(tmp_path / f"{k}", broken, labels_per_chunk=n)


def test_scan_reports_small_disk(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(
        DataError, match=r"the working folder can take .* specify a folder on a larger disk with cache="
    ):
        scanned(tmp_path)


def test_scan_suggests_nearest_folder(tmp_path):
    (tmp_path / "labels").mkdir()
    with pytest.raises(DataError, match=r"no Parquet file at .*did you mean '.*labels'"):
        scanned(tmp_path / "lables")


def test_rows_in_a_chunk_is_bounded_by_256_mib():
    """A row takes 56 bytes and the mean length of the names: with 8 bytes each, 2²⁸ / 64 = 2²² rows fit."""
    survey = chunk_store.Survey(n_rows=10, name_bytes=80)
    assert survey.rows_in_a_chunk(10**9) == 2**22
    assert survey.rows_in_a_chunk(1000) == 1000
    assert chunk_store.Survey(n_rows=10, name_bytes=89).rows_in_a_chunk(10**9) == 2**22  # 8.9 bytes count as 8
    assert chunk_store.Survey().rows_in_a_chunk(10**9) == 2**28 // 56  # no rows, no names
    assert chunk_store.Survey(n_rows=1, name_bytes=1).rows_in_a_chunk(10**9) == 2**28 // 57
    assert chunk_store.Survey(n_rows=1, name_bytes=2**30).rows_in_a_chunk(10**9) == 1  # one at least
    assert chunk_store.Survey(n_rows=1, name_bytes=2**27).rows_in_a_chunk(10**9) == 1


@pytest.mark.parametrize(
    ("sample", "n", "ranges"),
    [
        ("abcd", 2, [(None, "c"), ("c", None)]),
        ("dbca", 4, [(None, "b"), ("b", "c"), ("c", "d"), ("d", None)]),
        ("abcdef", 3, [(None, "c"), ("c", "e"), ("e", None)]),
        ("abcde", 1, [(None, None)]),
        ("aaab", 2, [(None, None)]),  # the lowest name does not start a second range
        ("abbbbc", 3, [(None, "b"), ("b", None)]),  # two splits at the same name are merged
        ("", 3, [(None, None)]),
    ],
)
def test_ranges_have_about_equally_many_rows(sample, n, ranges):
    names = [pl.Series([*sample[:2], None], dtype=pl.String), pl.Series(list(sample[2:]), dtype=pl.String)]
    assert chunk_store.Survey(sample=names).ranges(n) == ranges
