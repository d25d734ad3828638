"""A folder of labels larger than memory: scan, the alternative annotator test and agreement, here and on Dask.

    python benchmarks/chunks.py 10_000_000 [--dask]

Makes the folder (50 labels an item, 98 people and 2 judges, unsorted) in a temporary place, then prints wall
seconds and the largest memory of the process and of its workers. With --dask the same questions are asked on a
LocalCluster of two workers, and their digits are compared.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl

import assay
from assay.estimation.result import Result

PER_FILE = 5_000_000


def make(folder: Path, n_labels: int) -> None:
    """Labels 1-5 around a true label of each item, in files of mixed items."""
    n_items = n_labels // 50
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, n_items).astype(np.int8)
    for i, start in enumerate(range(0, n_labels, PER_FILE)):
        cell = np.arange(start, min(start + PER_FILE, n_labels))
        # Every item meets the judges (annotators 0 and 1) and 48 people; neighbours in a file are far apart.
        item = (cell * 7_919) % n_items
        turn = (cell // n_items) % 50
        who = np.where(turn < 2, turn, 2 + (item + turn) % 98)
        label = np.clip(truth[item] + rng.integers(-1, 2, len(cell)), 1, 5)
        pl.DataFrame(
            {
                "item": pl.Series(item).cast(pl.String),
                "annotator": pl.Series(who).cast(pl.String),
                "label": label.astype(np.int8),
            }
        ).write_parquet(folder / f"{i:04d}.parquet")


def peak() -> str:
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    return f"peak {own:.2f} GB" + (f", of a worker {workers:.2f} GB" if workers > 0.2 else "")


def timed(what: str, ask: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    found = ask()
    print(f"{what}: {time.perf_counter() - start:.1f} s; {peak()}", flush=True)
    return found


def questions(chunks: assay.Annotations) -> dict[str, Result]:
    return {
        "alt_test": timed("  alt_test", lambda: assay.alt_test(chunks, "0", expertise="crowd")),
        "agreement": timed(
            "  agreement (alpha of the panels)",
            lambda: assay.agreement(chunks, coefficients=["krippendorff-alpha-ordinal"], who=["humans", "judges"]),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("n_labels", type=lambda text: int(text.replace("_", "")))
    parser.add_argument("--dask", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        timed("making the folder", lambda: make(Path(place), arguments.n_labels))
        chunks = timed(
            f"scan of {arguments.n_labels:,} labels", lambda: assay.scan(place, scale="1-5", judges=["0", "1"])
        )
        here = questions(chunks)
        if not arguments.dask:
            return
        from dask.distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            print("on a Dask LocalCluster of two workers")
            for name, found in questions(chunks).items():
                same = found.signature == here[name].signature and found.table.equals(here[name].table, null_equal=True)
                print(f"  {name}: {'the same digits' if same else 'OTHER DIGITS'}")


if __name__ == "__main__":
    main()
