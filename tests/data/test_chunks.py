"""A folder of Parquet files gives the numbers of the table in memory, wherever it is computed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.concordance.categorical import cohen_kappa, exact_agreement, fleiss_kappa, gwet_ac, krippendorff_alpha
from assay.concordance.icc import icc
from assay.concordance.numerical import correlation, mae
from assay.data.annotations import Annotations
from assay.data.chunks import scan
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
    """Rows in no order over several files."""
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


@pytest.mark.parametrize("labels_per_chunk", [100, 10_000])
@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_chunks_give_the_numbers_of_memory(tmp_path, coefficient, labels_per_chunk):
    memory = in_memory(write(tmp_path))
    chunks = scanned(tmp_path, labels_per_chunk=labels_per_chunk)
    assert (chunks.n_items, chunks.n_labels) == (memory.n_items, len(memory))
    for how in ({}, {"method": "percentile", "n_resamples": 128, "seed": 5}):
        one, two = coefficient(memory, **how), coefficient(chunks, **how)
        assert (two.estimate, two.low, two.high) == pytest.approx((one.estimate, one.low, one.high), abs=1e-9)
        assert two.n_items == one.n_items


def test_blocks_of_many_items_are_those_of_memory(tmp_path, monkeypatch):
    monkeypatch.setitem(Units.of.__func__.__kwdefaults__, "most", 50)
    memory, chunks = in_memory(write(tmp_path)), scanned(tmp_path, labels_per_chunk=100)
    one, two = krippendorff_alpha(memory), krippendorff_alpha(chunks)
    assert "50 blocks" in one.interval
    assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=1e-9)


def test_annotators_can_be_chosen(tmp_path):
    memory, chunks = in_memory(write(tmp_path)), scanned(tmp_path, judges=["a2"], labels_per_chunk=100)
    assert (chunks.humans, chunks.judges) == (("a0", "a1"), ("a2",))
    one, two = (cohen_kappa(labels, ["a2", "a0"]) for labels in (memory, chunks))
    assert (two.estimate, two.low, two.n_labels) == pytest.approx((one.estimate, one.low, one.n_labels))
    with pytest.raises(DataError, match="annotator 'a9' is not in the folder"):
        cohen_kappa(chunks, ["a9", "a0"])


def test_rows_can_be_chosen(tmp_path):
    write(tmp_path, files=1)
    (tmp_path / "more").mkdir()
    pl.read_parquet(tmp_path / "part-0.parquet").with_columns(criterion=pl.lit("style")).write_parquet(
        tmp_path / "more" / "style.parquet"
    )
    with pytest.raises(DataError, match=r"given more than once.*where="):
        krippendorff_alpha(scanned(tmp_path))
    assert scanned(tmp_path, where={"criterion": "style"}).n_items <= 300


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(DataError, match="no Parquet file"):
        scanned(tmp_path)
    write(tmp_path)
    with pytest.raises(DataError, match="did you mean 'stars'"):
        scan(tmp_path, item="text", annotator="who", label="star", scale=Ordinal(1, 5))
    with pytest.raises(DataError, match="off the scale"):
        scan(tmp_path, item="text", annotator="who", label="stars", scale=Ordinal(1, 4))
    with pytest.raises(DataError, match="judge 'gpt'"):
        scanned(tmp_path, judges=["gpt"])
    with pytest.raises(DataError, match="categories of its scale"):
        scan(tmp_path, item="text", annotator="who", label="criterion", scale=Nominal())
    with pytest.raises(DesignError, match="in memory"):
        krippendorff_alpha(scanned(tmp_path), clusters="document")


def test_ranks_of_many_values_need_memory(tmp_path):
    many = _many(tmp_path)
    with pytest.raises(DesignError, match="all labels in memory"):
        correlation(many)
    assert krippendorff_alpha(many, level="interval").low > 0


def _many(folder):
    frame = write(folder, files=4).with_columns(stars=pl.col("stars") + pl.int_range(pl.len()) / 1000)
    for i in range(4):
        frame[i::4].write_parquet(folder / f"part-{i}.parquet")
    return scan(folder, item="text", annotator="who", label="stars", scale=Interval(0, 10))


@pytest.mark.filterwarnings("ignore")
def test_two_processes_of_a_dask_cluster_give_the_same_numbers(tmp_path):
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
