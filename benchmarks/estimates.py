"""Coverage and width of corrected estimates, compared with peers on the same studies, and the time of a large table.

    python benchmarks/estimates.py coverage --studies 400
    python benchmarks/estimates.py peers --studies 150      # ppi-python, if it is installed
    python benchmarks/estimates.py others --python /tmp/peers/bin/python   # truescore, judgy: pip install them there
    python benchmarks/estimates.py speed
    python benchmarks/estimates.py large --items 1e8        # in chunks: time and memory

Studies have a known truth: an item's propensity and each person's leniency decide labels; a judge is good, useless (a
coin) or adversarial (the good one, turned round). Tables go to standard output as Markdown.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from assay.data.scales import Nominal
from assay.estimates.checked import SpotChecks
from assay.estimates.corrected import EstimateSettings, _lines

SD = math.sqrt(2.0)
"""Of an item's propensity and a label's own error together, each of variance 1."""


@dataclass(frozen=True)
class Cell:
    """One design."""

    n: int = 100
    n_all: int = 4000
    share: float = 0.2
    people: int = 1
    judge: str = "good"
    loads: str = "equal"  # equal, unequal
    clusters: int = 0  # items a cluster
    whole: bool = False
    drawn: str = "alike"  # alike, probabilities
    raters: str = "fixed"
    population: str = "infinite"

    def named(self) -> str:
        """The non-default fields."""
        return " ".join(f"{k}={v}" for k, v in vars(self).items() if v != getattr(Cell, k))


def study(cell: Cell, rng: np.random.Generator) -> tuple[SpotChecks, float]:
    """A study and its truth."""
    n_all, m = cell.n_all, cell.people
    groups = None if not cell.clusters else np.arange(n_all) // cell.clusters
    z = rng.normal(size=n_all)
    if groups is not None:
        z = math.sqrt(0.4) * rng.normal(size=int(groups.max()) + 1)[groups] + math.sqrt(0.6) * z
    cut = -SD * float(ndtri(cell.share))
    lenient = 0.3 * (rng.normal(size=m) if cell.raters == "random" else np.linspace(-1, 1, m) if m > 1 else np.zeros(1))
    labels = (z[:, None] + lenient + rng.normal(size=(n_all, m)) > cut).astype(float)
    judge = (z + 0.3 * rng.normal(size=n_all) + 0.2 > cut).astype(float)
    if cell.judge == "useless":
        judge = (rng.random(n_all) < 0.4).astype(float)
    if cell.judge == "adversarial":
        judge = 1 - judge
    each = ndtr((lenient - cut) / SD)
    truth = float(each.mean())
    if cell.raters == "random":
        truth = float(ndtr(-cut / math.sqrt(2 + 0.09)))
    elif cell.population == "finite":
        truth = float(labels.mean())
    chance = np.full(n_all, cell.n / n_all)
    if cell.drawn == "probabilities":
        raw = np.where(judge == 1, 3.0, 1.0)
        chance = np.minimum(raw * cell.n / raw.sum(), 1.0)
        mine = np.flatnonzero(rng.random(n_all) < chance)
    elif cell.whole and groups is not None:
        chosen = rng.permutation(int(groups.max()) + 1)[: max(cell.n // cell.clusters, 2)]
        mine = np.flatnonzero(np.isin(groups, chosen))
    else:
        mine = np.sort(rng.permutation(n_all)[: cell.n])
    there = np.ones((len(mine), m), dtype=bool)
    if cell.loads == "unequal" and m > 1:
        part = np.linspace(1.0, 0.4, m)
        there = rng.random((len(mine), m)) < part
        there[np.flatnonzero(~there.any(axis=1)), 0] = True
    row, person = np.nonzero(there)
    return SpotChecks(
        ("judge",), tuple(f"p{i}" for i in range(m)), Nominal(["no", "yes"]), ("no", "yes"), n_all, judge[:, None],
        None, mine, row, person, labels[mine][row, person], judge[mine][:, None], 1 / chance[mine], "", groups,
    ), truth  # fmt: skip


def measured(cell: Cell, studies: int, seed: int) -> dict[str, float]:
    """Coverage, width, and width relative to human labels only."""
    settings = EstimateSettings(target="shares", raters=cell.raters, population=cell.population)
    rng = np.random.default_rng(seed)
    covered, width, alone = [], [], []
    for _ in range(studies):
        checks, truth = study(cell, rng)
        line = _lines(checks, settings, "shares", None)[1]
        covered.append(line.found.low <= truth <= line.found.high)
        width.append(line.found.high - line.found.low)
        alone.append(line.humans_only.high - line.humans_only.low)
    return {"coverage": np.mean(covered), "width": np.mean(width), "ratio": np.mean(width) / np.mean(alone)}


def cells(which: str) -> list[Cell]:
    """The designs of a table."""
    if which == "plain":
        return [
            Cell(n, n_all, share, people, judge)
            for n, n_all, share, people, judge in itertools.product(
                (30, 100, 600), (4000,), (0.02, 0.2, 0.5, 0.98), (1, 3), ("good", "useless", "adversarial")
            )
        ]
    return [
        Cell(30, 300, 0.5, 3, population="finite"),
        Cell(100, 300, 0.2, 3, population="finite"),
        Cell(100, 300, 0.2, 3, "good", "unequal", population="finite"),
        Cell(100, 300, 0.5, 1, "useless", population="finite"),
        Cell(100, 4000, 0.2, 2, "good", "unequal"),
        Cell(600, 4000, 0.2, 3, "good", "unequal"),
        Cell(600, 4000, 0.5, 5, "good", "unequal"),
        Cell(600, 100_000, 0.2, 3),
        Cell(600, 4000, 0.2, 5),
        Cell(100, 4000, 0.5, 1, clusters=10, whole=True),
        Cell(100, 4000, 0.2, 3, clusters=5, whole=True),
        Cell(480, 4000, 0.5, 1, clusters=10, whole=True),
        Cell(50, 4000, 0.5, 1, clusters=10, whole=True),
        Cell(600, 4000, 0.5, 3, clusters=10),
        Cell(100, 4000, 0.2, 3, clusters=20),
        Cell(100, 4000, 0.5, 1, clusters=10, whole=True, population="finite"),
        Cell(600, 4000, 0.5, 3, clusters=10, population="finite"),
        Cell(100, 4000, 0.2, 1, drawn="probabilities"),
        Cell(600, 4000, 0.2, 3, drawn="probabilities"),
        Cell(100, 4000, 0.5, 2, raters="random"),
        Cell(600, 4000, 0.2, 3, raters="random"),
        Cell(100, 4000, 0.5, 5, raters="random"),
    ]


def coverage(studies: int, seed: int) -> None:
    """The table of docs/coverage.md."""
    print("| design | expected of the rarer label | coverage | width | ÷ people only |\n|---|---|---|---|---|")
    for which in ("plain", "designs"):
        for i, cell in enumerate(cells(which)):
            found = measured(cell, studies, seed + i)
            rarer = cell.n * min(cell.share, 1 - cell.share)
            ratio = f"{found['ratio']:.3f}"
            print(
                f"| {cell.named()} | {rarer:.1f} | {found['coverage']:.3f} | {found['width']:.3f} | {ratio} |",
                flush=True,
            )


def peers(studies: int, seed: int) -> None:
    """ppi-python and truescore on the same studies, with people's majority as the one gold label."""
    sys.path.pop(0)  # this folder holds a coverage.py, which numba would take for the package
    try:
        from ppi_py import ppi_mean_ci
    except ImportError:
        sys.exit("peers need ppi-python: pip install ppi-python==0.2.3")
    print("| design | assay | ppi-python (majority) | ppi-python (item mean) |\n|---|---|---|---|")
    designs = [
        Cell(100, 4000, 0.5), Cell(30, 4000, 0.2), Cell(30, 4000, 0.02), Cell(100, 4000, 0.5, judge="adversarial"),
        Cell(600, 4000, 0.2, 3), Cell(600, 4000, 0.2, 3, "good", "unequal"),
        Cell(100, 4000, 0.5, 1, clusters=10, whole=True), Cell(600, 4000, 0.2, 3, raters="random"),
        Cell(100, 4000, 0.2, drawn="probabilities"),
    ]  # fmt: skip
    for i, cell in enumerate(designs):
        rng, found = np.random.default_rng(seed + i), np.zeros((studies, 3))
        settings = EstimateSettings(target="shares", raters=cell.raters, population=cell.population)
        for s in range(studies):
            checks, truth = study(cell, rng)
            line = _lines(checks, settings, "shares", None)[1]
            found[s, 0] = line.found.low <= truth <= line.found.high
            mean = np.bincount(checks.row, checks.y) / np.bincount(checks.row)
            rest = np.delete(checks.values[:, 0], checks.position)
            for place, y in ((1, (mean >= 0.5).astype(float)), (2, mean)):
                low, high = ppi_mean_ci(y, checks.judged[:, 0], rest, alpha=0.05)
                found[s, place] = low[0] <= truth <= high[0]
        print(f"| {cell.named()} | " + " | ".join(f"{x:.2f}" for x in found.mean(axis=0)) + " |", flush=True)


PEER = """
import json, sys, time, warnings
from pathlib import Path
import numpy as np
import judgy
from truescore.correct import ppi_estimate, rogan_gladen_estimate
warnings.simplefilter("ignore")

def timed(make):
    start = time.perf_counter()
    try:
        low, high = make()
    except (ValueError, RuntimeError):
        low = high = None
    return low, high, time.perf_counter() - start

def ends(one):
    return float(one.low), float(one.high)

for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    one = np.load(path)
    judge, at, mean = one["judge"], one["at"], one["mean"]
    gold = (mean >= 0.5).astype(float)
    rest = np.delete(judge, at)
    groups = one["groups"] if len(one["groups"]) else None
    found = {
        "truescore (majority)": timed(lambda: ends(ppi_estimate(judge, gold, at, clusters=groups))),
        "truescore (item mean)": timed(lambda: ends(ppi_estimate(judge, mean, at, clusters=groups))),
        "Rogan-Gladen (truescore)": timed(lambda: ends(rogan_gladen_estimate(judge, gold, at))),
        "judgy": timed(lambda: judgy.estimate_success_rate(gold, judge[at], rest, bootstrap_iterations=1000)[1:]),
    }
    print(json.dumps(found))
"""
"""The script that a peer's own Python runs on the files of the studies; None if it raises."""


def others(python: str, studies: int, seed: int) -> None:
    """truescore and judgy on the same files as assay: coverage, mean width ÷ people only, milliseconds a study."""
    designs = [
        Cell(100, 4000, 0.5), Cell(30, 4000, 0.2), Cell(100, 4000, 0.5, judge="useless"), Cell(600, 4000, 0.2, 3),
        Cell(600, 4000, 0.2, 3, "good", "unequal"), Cell(100, 4000, 0.5, clusters=10, whole=True),
        Cell(600, 4000, 0.5, 3, clusters=10),
    ]  # fmt: skip
    for i, cell in enumerate(designs):
        rng, mine, truths, wide = np.random.default_rng(seed + i), [], [], []
        settings = EstimateSettings(target="shares", raters=cell.raters, population=cell.population)
        with tempfile.TemporaryDirectory() as folder:
            for s in range(studies):
                checks, truth = study(cell, rng)
                start = time.perf_counter()
                line = _lines(checks, settings, "shares", None)[1]
                mine.append((line.found.low, line.found.high, time.perf_counter() - start))
                truths.append(truth)
                wide.append(line.humans_only.high - line.humans_only.low)
                mean = np.bincount(checks.row, checks.y) / np.bincount(checks.row)
                groups = np.array([]) if checks.cluster is None else checks.cluster
                judge = checks.values[:, 0]
                np.savez(f"{folder}/{s:05}.npz", judge=judge, at=checks.position, mean=mean, groups=groups)
            said = subprocess.run([python, "-c", PEER, folder], stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = [json.loads(line) for line in said.splitlines()]
        print(f"{cell.named() or 'n=100 n_all=4000'}: people only {np.mean(wide):.3f} wide")
        for name in ("assay", *rows[0]):
            each = mine if name == "assay" else [row[name] for row in rows]
            known = [(*one, t, w) for one, t, w in zip(each, truths, wide, strict=True) if one[0] is not None]
            kept = [(low <= t <= high, (high - low) / w, took) for low, high, took, t, w in known]
            if not kept:
                print(f"  {name}: refuses")
                continue
            covered, ratio, took = np.mean(kept, axis=0)
            gone = "" if len(kept) == len(each) else f", refuses {len(each) - len(kept)} of {len(each)}"
            print(f"  {name}: {covered:.2f} covered, {ratio:.2f} wide, {1000 * took:.1f} ms{gone}", flush=True)


def drawn(first: int, n: int, people: int, seed: int) -> Any:
    """A judge's labels of n items and a person's of some of them, as a frame."""
    import polars as pl

    rng = np.random.default_rng(seed)
    z = rng.random(n)
    names = pl.select(pl.format("i{}", pl.int_range(first, first + n).cast(pl.String).str.zfill(9))).to_series()
    some = np.sort(rng.permutation(n)[:people])
    given = (z[some] + rng.normal(0, 0.2, people) > 0.5).astype(np.int64)
    return pl.concat([
        pl.DataFrame({"item": names, "annotator": "judge", "label": (z > 0.4).astype(np.int64)}),
        pl.DataFrame({"item": names.gather(some), "annotator": "ann", "label": given}),
    ])  # fmt: skip


class Clock:
    """Seconds since it was last asked: of the processor, and on the wall (other programs run here too)."""

    def __init__(self) -> None:
        self.at = time.process_time(), time.perf_counter()

    def __call__(self) -> str:
        """Both, in words."""
        now = time.process_time(), time.perf_counter()
        cpu, wall = (b - a for a, b in zip(self.at, now, strict=True))
        self.at = now
        return f"{cpu:.2f} s of processor ({wall:.2f} s)"


def speed() -> None:
    """10⁷ judge labels and 5,000 people's, after reading."""
    import assay

    frame = drawn(0, 10**7, 5_000, 1)
    clock = Clock()
    labels = assay.Annotations.from_frame(frame, judges=["judge"], scale=assay.Ordinal(0, 1))
    print("read", clock())
    labels.answers(), labels.fingerprint  # codes and hash of the table, made once for all questions
    print("codes and fingerprint", clock())
    found = assay.estimate(labels, "judge")
    print("estimate", clock())
    print(found.summary().splitlines()[0])


def write_parts(folder: str, items: int) -> None:
    """Parquet files of up to 5·10⁶ items; 5,000 items in all are labelled by a person."""
    each = min(items, 5 * 10**6)
    for part in range(items // each):
        frame = drawn(part * each, each, 5_000 * each // items, part).sort("item")
        frame.write_parquet(f"{folder}/{part:04}.parquet")


def read_parts(folder: str) -> None:
    """Scan and estimate, with the memory that it took."""
    import resource

    import assay

    clock = Clock()
    chunks = assay.scan(folder, judges=["judge"], scale=assay.Ordinal(0, 1))
    print(f"scan of {chunks.n_labels:,} labels", clock(), flush=True)
    found = assay.estimate(chunks, "judge")
    print("estimate", clock())
    print(found.summary().splitlines()[0])
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def large(items: int) -> None:
    """So many judge labels in chunks; each step in a separate process, to measure its memory."""
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for target, given in ((write_parts, (folder, items)), (read_parts, (folder,))):
            one = processes.Process(target=target, args=given)
            one.start()
            one.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["coverage", "peers", "others", "speed", "large"])
    parser.add_argument("--items", type=float, default=1e8)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.what == "speed":
        speed()
    elif given.what == "large":
        large(int(given.items))
    elif given.what == "others":
        others(given.python, given.studies, given.seed)
    else:
        {"coverage": coverage, "peers": peers}[given.what](given.studies, given.seed)
