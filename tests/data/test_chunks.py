"""A folder of Parquet files gives the same numbers as the table in memory, in any process."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.concordance.measures import (
    cohen_kappa,
    correlation,
    exact_agreement,
    fleiss_kappa,
    gwet_ac,
    icc,
    krippendorff_alpha,
    mae,
)
from assay.data.annotations import Annotations
from assay.data.chunked import chunk_store
from assay.data.chunked.chunks import scan
from assay.data.ratings import Derived, choose
from assay.data.scales import Interval, Nominal, Ordinal
from assay.errors import DataError, DesignError
from assay.estimation.resampling import Units

COEFFICIENTS = [
    exact_agreement,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    lambda labels, **o: krippendorff_alpha(labels, level="interval", **o),
    lambda labels, **o: cohen_kappa(labels, weights="quadratic", **o),
    lambda labels, **o: correlation(labels, kind="spearman", **o),
    mae,
    icc,
    lambda labels, **o: icc(labels, form="ICC(1)", **o),
]


def write(folder, n: int = 300, m: int = 3, seed: int = 0, missing: float = 0.2, files: int = 4) -> pl.DataFrame:
    """Unsorted rows in several files."""
    rng = np.random.default_rng(seed)
    cells = np.clip(np.round(3 + rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, m))), 1, 5).astype(int)
    frame = pl.DataFrame(
        {
            "text": np.repeat([f"t{i}" for i in range(n)], m),
            "who": np.tile([f"a{j}" for j in range(m)], n),
            "stars": cells.ravel(),
            "criterion": "fluency",
        }
    )
    frame = frame.with_columns(stars=pl.when(pl.Series(rng.random(n * m) >= missing)).then("stars"))
    frame = frame.sample(fraction=1, shuffle=True, seed=seed)
    for i in range(files):
        frame[i::files].write_parquet(folder / f"part-{i}.parquet")
    return frame


def scanned(folder, **options):
    return scan(folder, item="text", annotator="who", label="stars", scale=Ordinal(1, 5), **options)


def in_memory(frame: pl.DataFrame) -> Annotations:
    return Annotations.from_frame(frame, item="text", annotator="who", label="stars", scale=Ordinal(1, 5))


@pytest.fixture(scope="module", autouse=True)
def _too_large_to_be_held():
    """Folders in these tests are read in chunks, like those of millions of labels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.data.ratings.LABELS", 100)
        patch.setattr("assay.data.ratings.HELD_ITEMS", 0)
        yield


@pytest.mark.parametrize(
    ("coefficient", "labels_per_chunk"),
    [*((one, 100) for one in COEFFICIENTS), (exact_agreement, 10_000), (icc, 10_000)],
)
def test_coefficients_of_chunks_equal_memory(tmp_path, coefficient, labels_per_chunk):
    memory = in_memory(write(tmp_path))
    chunks = scanned(tmp_path, labels_per_chunk=labels_per_chunk)
    assert (chunks.n_items, chunks.n_labels) == (memory.n_items, len(memory))
    for how in ({}, {"method": "percentile", "n_resamples": 128, "seed": 5}):
        one, two = coefficient(memory, **how), coefficient(chunks, **how)
        assert (two.estimate, two.low, two.high) == pytest.approx((one.estimate, one.low, one.high), abs=1e-9)
        assert two.n_items == one.n_items


def test_blocks_of_chunks_equal_memory(tmp_path, monkeypatch):
    monkeypatch.setitem(Units.of.__func__.__kwdefaults__, "most", 50)
    memory, chunks = in_memory(write(tmp_path)), scanned(tmp_path, labels_per_chunk=100)
    one, two = krippendorff_alpha(memory), krippendorff_alpha(chunks)
    assert "50 blocks" in one.run.interval
    assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=1e-9)


def test_scan_works_if_a_file_that_is_mapped_cannot_be_removed(tmp_path, monkeypatch):
    frame, kept = write(tmp_path), []

    def refuse(path, missing_ok=False):  # as Windows does
        kept.append(path)
        raise PermissionError(13, "in use", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    found = krippendorff_alpha(scanned(tmp_path, labels_per_chunk=100))
    assert kept
    assert found.estimate == pytest.approx(krippendorff_alpha(in_memory(frame)).estimate, abs=1e-9)


def test_chunks_only_selects_annotators(tmp_path):
    memory, chunks = in_memory(write(tmp_path)), scanned(tmp_path, judges=["a2"], labels_per_chunk=100)
    assert (chunks.humans, chunks.judges) == (("a0", "a1"), ("a2",))
    one, two = (cohen_kappa(labels, ["a2", "a0"]) for labels in (memory, chunks))
    assert (two.estimate, two.low, two.n_labels) == pytest.approx((one.estimate, one.low, one.n_labels))
    with pytest.raises(DataError, match="annotator 'a9' is not in the folder"):
        cohen_kappa(chunks, ["a9", "a0"])


def few_of_many(tmp_path, monkeypatch):
    """Twelve annotators, two of them selected; 120 labels at a time; sizes of the reads."""
    monkeypatch.setattr("assay.data.ratings.LABELS", 120)
    monkeypatch.setattr(chunk_store, "ROWS", 120)
    frame, seen = write(tmp_path, m=12), []
    repeat = np.repeat
    monkeypatch.setattr(
        "assay.data.chunked.chunk_store.np.repeat", lambda *given: seen.append(repeat(*given)) or seen[-1]
    )
    return in_memory(frame), scanned(tmp_path, labels_per_chunk=10_000), seen


def test_chunks_only_reads_labels_of_selected_annotators(tmp_path, monkeypatch):
    memory, chunks, seen = few_of_many(tmp_path, monkeypatch)
    two_of_twelve = {"annotators": ["a2", "a0"], "level": "interval"}
    one = krippendorff_alpha(memory, **two_of_twelve)
    seen.clear()
    two = krippendorff_alpha(chunks, **two_of_twelve)
    assert (two.estimate, two.low, two.n_items) == (one.estimate, one.low, one.n_items)
    assert max(map(len, seen)) <= 120


def test_derived_labels_are_made_in_slices(tmp_path, monkeypatch):
    _, chunks, seen = few_of_many(tmp_path, monkeypatch)
    seen.clear()
    derived = Derived(chunks, partial(choose, names=("a2", "a0")), ("a2", "a0"))
    made = [derived.make(read()) for read in (chunks.between(0, 300),)]
    asked, read_at_once = [], chunk_store.answers
    monkeypatch.setattr(chunk_store, "answers", lambda *given: asked.append(read_at_once(*given)) or asked[-1])
    parts = [read() for read, _, _ in derived.pieces(100)]
    assert [len(part.items) for part in parts] == [100, 100, 100]
    assert np.array_equal(np.concatenate([p.value for p in parts]), np.concatenate([m.value for m in made]))
    assert max(map(len, asked)) < 1.3 * 120


def test_derived_labels_keep_item_names(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.data.ratings.LABELS", 120)
    write(tmp_path, m=12)
    source = scanned(tmp_path)
    derived = Derived(source, partial(choose, names=("a2", "a0")), ("a2", "a0"))
    parts = [read() for read, _, _ in derived.pieces(100)]
    assert [len(part.items) for part in parts] == [100, 100, 100]
    names = [name for read, _, _ in source.pieces() for name in read().items]
    assert [name for part in parts for name in part.items] == names


def test_scan_where_selects_rows(tmp_path):
    write(tmp_path, files=1)
    (tmp_path / "more").mkdir()
    pl.read_parquet(tmp_path / "part-0.parquet").with_columns(criterion=pl.lit("style")).write_parquet(
        tmp_path / "more" / "style.parquet"
    )
    with pytest.raises(DataError, match=r"given several times.*where="):
        krippendorff_alpha(scanned(tmp_path))
    assert scanned(tmp_path, where={"criterion": "style"}).n_items <= 300


def test_scan_errors_name_the_problem(tmp_path):
    with pytest.raises(DataError, match="no Parquet file"):
        scanned(tmp_path)
    write(tmp_path)
    with pytest.raises(DataError, match="did you mean 'stars'"):
        scan(tmp_path, item="text", annotator="who", label="star", scale=Ordinal(1, 5))
    with pytest.raises(DataError, match="off the scale"):
        scan(tmp_path, item="text", annotator="who", label="stars", scale=Ordinal(1, 4))
    with pytest.raises(DataError, match="judge 'gpt'"):
        scanned(tmp_path, judges=["gpt"])
    with pytest.raises(DataError, match="requires a scale that lists its categories"):
        scan(tmp_path, item="text", annotator="who", label="criterion", scale=Nominal())
    with pytest.raises(DesignError, match="in memory"):
        krippendorff_alpha(scanned(tmp_path), clusters="document")


def test_ranks_of_many_values_require_memory(tmp_path):
    many = _many(tmp_path)
    with pytest.raises(DesignError, match="all labels in memory"):
        correlation(many)
    assert krippendorff_alpha(many, level="interval").low > 0


def test_ratings_keep_small_folder_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.data.ratings.LABELS", 2**21)
    assert -1 < correlation(_many(tmp_path)).low < 1


def test_values_refuses_too_many_distinct_labels(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.data.chunked.chunks.MOST_VALUES", 100)
    with pytest.raises(DesignError, match="more than 100 different labels"):
        exact_agreement(_many(tmp_path))


def _many(folder):
    frame = write(folder, files=4).with_columns(stars=pl.col("stars") + pl.int_range(pl.len()) / 1000)
    for i in range(4):
        frame[i::4].write_parquet(folder / f"part-{i}.parquet")
    return scan(folder, item="text", annotator="who", label="stars", scale=Interval(0, 10))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_cluster_gives_same_results(tmp_path):
    distributed = pytest.importorskip("distributed")
    import joblib

    write(tmp_path)
    chunks = scanned(tmp_path, labels_per_chunk=100)
    how = {"method": "percentile", "n_resamples": 256, "seed": 2}
    here = [coefficient(chunks, **how) for coefficient in (krippendorff_alpha, icc)]
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        again = scanned(tmp_path, labels_per_chunk=100)
        there = [coefficient(again, **how) for coefficient in (krippendorff_alpha, icc)]
    assert again.fingerprint == chunks.fingerprint
    for one, two in zip(here, there, strict=True):
        assert (one.estimate, one.low, one.high) == (two.estimate, two.low, two.high)


def test_in_memory_refuses_chunks_by_question(tmp_path):
    write(tmp_path)
    chunks = scanned(tmp_path)
    memory = in_memory(pl.read_parquet(tmp_path / "*.parquet"))
    assert memory.in_memory("the study") is memory
    with pytest.raises(DesignError, match=r"^the study requires the whole table in memory; read a part .* assay.read$"):
        chunks.in_memory("the study")
    assert repr(chunks).startswith("Chunks(")
    assert "3 humans, 0 judges, ordinal:1-5, 1 chunk of" in repr(chunks)
