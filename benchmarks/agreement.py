"""Time agreement and the usual alternatives in one run, in seconds of processor time.

    python benchmarks/agreement.py             # intervals on 6,400 x 9 labels; 10 million labels
    python benchmarks/agreement.py --folder 100_000_000   # a folder of Parquet files, in chunks

The libraries compute one point; their bootstrap is a loop, timed over a few resamples and scaled up.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from assay.concordance.measures import (
    bias,
    cohen_kappa,
    correlation,
    exact_agreement,
    fleiss_kappa,
    gwet_ac,
    icc,
    krippendorff_alpha,
    mae,
    nmae,
    rmse,
    scott_pi,
)
from assay.data.annotations import Annotations
from assay.data.chunked.chunks import scan
from assay.data.scales import Ordinal
from assay.estimation import resampling

RESAMPLES = 2_000


def seconds(run: Callable[[], object], times: int = 1) -> float:
    """Processor time, which other work on the machine does not lengthen much; the least of several runs."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def cells(n: int, m: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    made = rng.normal(size=(n, 1)).astype(np.float32) + 0.7 * rng.normal(size=(n, m)).astype(np.float32)
    return np.clip(np.round(3 + made), 1, 5).astype(np.int8)


def frame_of(table: np.ndarray) -> pl.DataFrame:
    n, m = table.shape
    return pl.DataFrame(
        {
            "item": np.repeat(np.arange(n, dtype=np.int32), m),
            "annotator": np.tile([f"a{j}" for j in range(m)], n),
            "label": table.ravel(),
        }
    )


def libraries(table: np.ndarray) -> dict[str, Callable[[], object]]:
    """One resample of each by a library's function."""
    rng = np.random.default_rng(1)
    made: dict[str, Callable[[], object]] = {}

    def resampled() -> np.ndarray:
        return table[rng.integers(0, len(table), len(table))]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import krippendorff

            made["alpha, interval"] = lambda: krippendorff.alpha(
                resampled().T.astype(float), level_of_measurement="interval"
            )
        except ImportError:
            print("krippendorff is not installed")
        try:
            from sklearn.metrics import cohen_kappa_score

            pairs = [(a, b) for a in range(table.shape[1]) for b in range(a)]

            def kappas() -> float:
                t = resampled()
                return float(np.mean([cohen_kappa_score(t[:, a], t[:, b], weights="quadratic") for a, b in pairs]))

            made["QWK, mean of pairs"] = kappas
        except ImportError:
            print("scikit-learn is not installed")
        try:
            import pingouin

            long = frame_of(table).to_pandas()

            def correlations() -> object:
                long["label"] = resampled().ravel()
                return pingouin.intraclass_corr(long, targets="item", raters="annotator", ratings="label")

            made["ICC(A,1)"] = correlations
        except ImportError:
            print("pingouin is not installed")
    return made


def intervals() -> None:
    table = cells(6_400, 9)
    labels = Annotations.from_frame(frame_of(table), scale=Ordinal(1, 5))
    labels.answers()
    ours: dict[str, Callable[[str], object]] = {
        "ICC(A,1)": lambda method: icc(labels, method=method, n_resamples=RESAMPLES),
        "QWK, mean of pairs": lambda method: cohen_kappa(
            labels, weights="quadratic", method=method, n_resamples=RESAMPLES
        ),
        "alpha, interval": lambda method: krippendorff_alpha(
            labels, level="interval", method=method, n_resamples=RESAMPLES
        ),
    }
    icc(labels, n_resamples=64, method="percentile")
    print(f"{RESAMPLES:,} resamples of 6,400 items x 9 annotators (seconds)")
    print(f"{'':20s}{'assay':>9s}{'jackknife':>11s}{'library loop':>14s}{'ratio':>9s}")
    loops = libraries(table)
    for name, run in ours.items():
        mine = seconds(lambda run=run: run("percentile"), 3)
        jackknife = seconds(lambda run=run: run("jackknife"), 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loop = seconds(loops[name], 3) * RESAMPLES if name in loops else np.nan
        print(f"{name:20s}{mine:9.3f}{jackknife:11.3f}{loop:14.1f}{loop / mine:8.0f}x")
    print(f"{'together, first time':20s}{min(first_time(list(ours.values())) for _ in range(3)):9.3f}")


def first_time(run: Sequence[Callable[[str], object]]) -> float:
    """All of them, if no resamples are stored."""
    resampling._all_counts.cache_clear()
    resampling._all_small_counts.cache_clear()
    return seconds(lambda: [one("percentile") for one in run])


COEFFICIENTS: dict[str, Callable[..., object]] = {
    "exact agreement": exact_agreement,
    "Cohen's kappa": cohen_kappa,
    "QWK": lambda labels, **o: cohen_kappa(labels, weights="quadratic", **o),
    "Scott's pi": scott_pi,
    "Fleiss's kappa": fleiss_kappa,
    "AC2": lambda labels, **o: gwet_ac(labels, weights="quadratic", **o),
    **{
        f"alpha {level}": lambda labels, level=level, **o: krippendorff_alpha(labels, level=level, **o)
        for level in ("nominal", "ordinal", "interval", "ratio")
    },
    **{
        kind: lambda labels, kind=kind, **o: correlation(labels, kind=kind, **o)
        for kind in ("pearson", "spearman", "kendall")
    },
    "MAE": mae,
    "nMAE": nmae,
    "RMSE": rmse,
    "ICC(1)": lambda labels, **o: icc(labels, form="ICC(1)", **o),
    "ICC(A,1)": icc,
    "ICC(A,1), components": lambda labels, **o: icc(labels, estimator="components", **o),
}


def many() -> None:
    n, m = 2_000_000, 5
    print(f"\n{n * m:,} labels in memory, value and interval (seconds; peak memory of the process in GB)")
    start = time.process_time()
    labels = Annotations.from_frame(frame_of(cells(n, m)), scale=Ordinal(1, 5))
    print(f"{'making the table':24s}{time.process_time() - start:8.2f}{peak():8.2f}")
    # The first coefficient also turns the table into arrays.
    print(f"{'the table as arrays':24s}{seconds(labels.answers):8.2f}{peak():8.2f}")
    total = 0.0
    for name, run in COEFFICIENTS.items():
        total += (took := seconds(lambda run=run: run(labels)))
        print(f"{name:24s}{took:8.2f}{peak():8.2f}", flush=True)
    pair = lambda: bias(labels, ["a0", "a1"])  # noqa: E731
    total += (took := seconds(pair))
    print(f"{'bias of two':24s}{took:8.2f}{peak():8.2f}\n{'all':24s}{total:8.2f}")


def folder(n_labels: int) -> None:
    m, per_file = 5, min(n_labels, 1_000_000)
    print(f"\n{n_labels:,} labels in a folder of Parquet files (seconds; peak memory in GB)")
    with tempfile.TemporaryDirectory() as place:
        for i in range(n_labels // per_file):
            items = per_file // m
            frame = frame_of(cells(items, m)).with_columns(item=pl.format("t{}", pl.col("item") + i * items))
            frame.write_parquet(Path(place) / f"{i:05d}.parquet")
        start = time.perf_counter()
        chunks = scan(place, scale=Ordinal(1, 5))
        print(f"{'scan':24s}{time.perf_counter() - start:8.2f}{peak():8.2f}")
        for name, run in {
            "alpha ordinal": krippendorff_alpha,
            "ICC(A,1)": icc,
            "QWK": lambda c: cohen_kappa(c, weights="quadratic"),
        }.items():
            print(f"{name:24s}{seconds(lambda run=run: run(chunks)):8.2f}{peak():8.2f}", flush=True)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=int, metavar="LABELS", help="time a folder of this many labels instead")
    asked = parser.parse_args()
    if asked.folder:
        folder(asked.folder)
    else:
        intervals()
        many()
