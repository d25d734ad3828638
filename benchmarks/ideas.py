"""10 million odd-one-out choices over 5,000 texts to similarities of all pairs, compared with plain polars.

    python benchmarks/ideas.py [choices] [texts]

Prints seconds of each step in one process, and the peak memory. What a user would write instead is a group-by of three
rows a choice, without intervals.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import polars as pl

from assay.estimation.intervals import wilson
from assay.ideas.choices import Choices
from assay.ideas.triplets import similarities, unseen_pairs
from assay.statistics.comparisons.odd_one_out import KEPT, PLACES

TEXTS = {"document": pl.String, "text": pl.String}


def main(n: int = 10_000_000, n_texts: int = 5_000) -> None:
    rng = np.random.default_rng(0)
    member = rng.integers(0, n_texts, (n, 3))
    for column in (1, 2):
        # Three different texts: duplicates move on by one or two.
        for _ in range(2):
            for before in range(column):
                same = member[:, column] == member[:, before]
                member[same, column] = (member[same, column] + 1) % n_texts
    odd = rng.integers(0, 3, n)
    choices = Choices(
        pl.DataFrame({"document": [None] * n_texts, "text": [f"t{i}" for i in range(n_texts)]}, schema=TEXTS),
        member, odd, np.arange(n), np.zeros(n, dtype=np.int64), ("ann",), {"ann": "human"}, ("a", "b", "c"), "", member,
    )  # fmt: skip
    start, cpu = time.perf_counter(), time.process_time()
    table = similarities(choices, 3, 0.95)[0]
    unseen = unseen_pairs(choices)
    ours, ours_cpu = time.perf_counter() - start, time.process_time() - cpu
    start, cpu = time.perf_counter(), time.process_time()
    plain = _plain(member, odd)
    theirs, theirs_cpu = time.perf_counter() - start, time.process_time() - cpu
    assert plain.height == table.height
    assert plain["kept"].sum() == table["kept"].sum()
    low, _ = wilson(plain["kept"].to_numpy() / plain["n"].to_numpy(), plain["n"].to_numpy().astype(float))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n:,} choices, {n_texts:,} texts: {table.height:,} pairs seen, {unseen:,} never")
    print(f"assay, with names, Wilson intervals and marks: {ours:.1f} s, {ours_cpu:.1f} s of CPU")
    print(f"group-by in polars, counts alone:              {theirs:.1f} s, {theirs_cpu:.1f} s of CPU")
    print(f"peak memory of both: {peak:,.0f} MiB; lowest bound {low.min():.3f}")


def _plain(member: np.ndarray, odd: np.ndarray) -> pl.DataFrame:
    """Three rows a choice, grouped by pair."""
    parts = []
    for place, (i, j) in enumerate(PLACES):
        a, b = np.minimum(member[:, i], member[:, j]), np.maximum(member[:, i], member[:, j])
        parts.append(pl.DataFrame({"a": a, "b": b, "kept": KEPT[odd] == place}))
    return pl.concat(parts).group_by("a", "b").agg(pl.len().alias("n"), pl.col("kept").sum())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
