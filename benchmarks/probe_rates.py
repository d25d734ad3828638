"""How often do probes detect a planted fault, and flag a judge without it? The tables of docs/coverage.md.

    python benchmarks/probe_rates.py 200        # all of it
    python benchmarks/probe_rates.py 200 rest   # without length and own family
    python benchmarks/probe_rates.py 200 calls  # the probes that a study asks its judges

Items have a quality and a correlated covariate (a length, an own family). The error variance of annotators equals the
variance of quality; they are severe or lenient, and label on 1-5, four of eight on each item. Judges follow quality
with a small error, and have one fault. The tables have shares of studies for unadjusted tests at .05, with the minimal
effects of the probes; *naive* is the correlation of judge and covariate.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations

SIZES = (100, 300, 1000)
CUTS = (-1.2, -0.4, 0.4, 1.2)
LEVELS = 10


def cut(x: np.ndarray, cuts: Any = CUTS) -> np.ndarray:
    return 1 + np.digitize(x, cuts)


def table(
    rng: np.random.Generator, columns: dict[str, np.ndarray], per_item: int, scale: str, **items: Any
) -> Annotations:
    """The labels of all raters; ``per_item`` annotators per item."""
    people = [name for name in columns if name.startswith("p")]
    n = len(next(iter(columns.values())))
    chosen = rng.random((n, len(people))).argsort(axis=1).argsort(axis=1) < per_item
    keep = {name: chosen[:, i] for i, name in enumerate(people)}
    names = np.array([f"i{i:04}" for i in range(n)])
    frames = []
    for name, label in columns.items():
        here = keep.get(name, np.ones(n, dtype=bool))
        frames.append(pl.DataFrame({"item": names[here], "annotator": name, "label": label[here]}))
    judges = [name for name in columns if name not in people]
    return Annotations.from_frame(
        pl.concat(frames), judges=judges, scale=scale, items=pl.DataFrame({"item": names, **items})
    )


def world(rng: np.random.Generator, n: int, r: float) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Quality, a covariate correlated with it by ``r``, and annotators."""
    quality = rng.standard_normal(n)
    along = r * quality + np.sqrt(1 - r**2) * rng.standard_normal(n)
    people = {f"p{k}": cut(quality + 0.3 * rng.standard_normal() + rng.standard_normal(n)) for k in range(8)}
    return quality, along, people


def alone(found: Any, probe: str, judge: str = "m") -> bool:
    """Whether any measure of a probe is significant without adjustment."""
    mine = [row.one for row in found.rows if row.one.probe == probe and row.judge == judge]
    return any(one.p <= 0.05 and one.large_enough for one in mine)


def covariates(n: int, studies: int, r: float, effect: float, *, own: bool, per_item: int = 4) -> tuple[float, float]:
    """Return the shares detected here and by correlation if the judge follows quality and ``effect`` of a covariate."""
    shown, naive = 0, 0.0
    for seed in range(studies):
        rng = np.random.default_rng([1, n, int(10 * r), int(100 * effect), own, per_item, seed])
        quality, z, people = world(rng, n, r)
        z = (z > 0.4).astype(float) if own else z
        judge = cut(quality + effect * z + 0.4 * rng.standard_normal(n))
        naive += float(np.corrcoef(judge, z)[0, 1]) / studies
        about = {"system": np.where(z > 0, "m", "other")} if own else {"length": z}
        found = assay.probes(table(rng, {**people, "m": judge}, per_item, "1-5", **about), adjust=False,
                             **({"system": "system"} if own else {"length": "length"}))  # fmt: skip
        shown += alone(found, "own" if own else "length")
    return shown / studies, naive


def halo(n: int, studies: int, r: float) -> float:
    """Two criteria whose qualities correlate by .8, and a judge whose labels correlate by ``r`` beyond that."""
    shown = 0
    for seed in range(studies):
        rng = np.random.default_rng([2, n, int(100 * r), seed])
        shared, bad = rng.standard_normal((2, n))
        frames = []
        severity = 0.3 * rng.standard_normal(6)
        for criterion in ("fluent", "correct"):
            quality = np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.standard_normal(n)
            columns = {f"p{k}": cut(quality + severity[k] + rng.standard_normal(n)) for k in range(6)}
            columns["m"] = cut(quality + np.sqrt(1.6 * r) * bad + np.sqrt(0.6 - 1.6 * r) * rng.standard_normal(n))
            frames.append(table(rng, columns, 3, "1-5").labels.with_columns(criterion=pl.lit(criterion)))
        found = assay.probes(Annotations.from_frame(pl.concat(frames), judges=["m"], scale="1-5"), adjust=False)
        shown += alone(found, "halo")
    return shown / studies


def resolution(n: int, studies: int, step: int) -> float:
    """Ten levels, of which the judge uses every ``step``-th."""
    cuts = np.linspace(-2, 2, LEVELS - 1)
    shown = 0
    for seed in range(studies):
        rng = np.random.default_rng([3, n, step, seed])
        quality = rng.standard_normal(n)
        columns = {f"p{k}": cut(quality + 0.5 * rng.standard_normal(n), cuts) for k in range(5)}
        judge = cut(quality + 0.5 * rng.standard_normal(n), cuts)
        columns["m"] = judge if step == 1 else np.minimum(1 + (judge - 1) // step * step, LEVELS)
        shown += alone(assay.probes(table(rng, columns, 3, f"1-{LEVELS}"), adjust=False), "resolution")
    return shown / studies


def others(n: int, studies: int) -> Counter[str]:
    """Shares, missing replies and repeats of a judge without a fault, and of one with it."""
    found: Counter[str] = Counter()
    for seed in range(studies):
        rng = np.random.default_rng([4, n, seed])
        quality = rng.standard_normal(n)
        columns = {f"p{k}": cut(quality + 0.6 * rng.standard_normal(n)) for k in range(5)}
        columns["m"] = cut(quality + 0.6 * rng.standard_normal(n))
        columns["k"] = np.where(rng.random(n) < 0.15, 3, cut(quality + 0.6 * rng.standard_normal(n)))
        labels = table(rng, columns, 3, "1-5")
        gone = {"m": rng.random(n) < 0.15, "k": rng.random(n) < 0.3 / (1 + np.exp(-1.5 * quality))}
        place = labels.labels["item"].str.slice(1).cast(pl.Int64).to_numpy()
        who = labels.labels["annotator"].to_numpy()
        lost = np.array([name in gone and gone[name][i] for name, i in zip(who, place, strict=True)])
        rows = labels.labels.filter(pl.Series(~lost))
        asked = assay.probes(Annotations.from_frame(rows, judges=["m", "k"], scale="1-5", items=labels.items))
        for judge in ("m", "k"):
            for probe in ("shares", "missing"):
                found[f"{probe} {judge}"] += any(
                    row.detected for row in asked.rows if row.judge == judge and row.one.probe == probe
                )
    return Counter({key: value / studies for key, value in found.items()})  # type: ignore[misc]


def calls(n: int, studies: int, noise: float, *, words: bool, fault: float = 0.0) -> dict[str, float]:
    """Further answers: labels on 1-5 (or three words) that change at random, and with a fault by list and hint."""
    found: Counter[str] = Counter()
    for seed in range(studies):
        rng = np.random.default_rng([5, n, seed])
        quality, drawn = rng.standard_normal(n), rng.integers(3 if words else 5, size=n)
        if words:
            truth = rng.integers(3, size=n)

            def said(to: np.ndarray, much: float, truth: np.ndarray = truth, rng: Any = rng) -> np.ndarray:
                own = np.where(rng.random(n) < noise, rng.integers(3, size=n), truth)
                return np.where(rng.random(n) < much, to, own)

            labels = [said(drawn, 0), said(drawn, 0), said(rng.integers(3, size=n), fault), said(drawn, fault)]
            names = np.array(["a", "b", "c"])
            labels, hints, scale = [names[one] for one in labels], names[drawn], "nominal:a,b,c"
        else:
            own = [quality + noise * rng.standard_normal(n) for _ in range(4)]
            labels = [cut(own[0]), cut(own[1]), cut(own[2] + fault), cut(own[3] + fault * (drawn - 2))]
            hints, scale = drawn + 1, "1-5"
        frames = [
            pl.DataFrame({"item": [f"i{i:04}" for i in range(n)], "annotator": "m", "label": label}).with_columns(
                probe=pl.lit(probe, pl.String), hint=pl.Series(hints) if probe == "hint" else pl.lit(None)
            )
            for probe, label in zip((None, "repeat", "padded", "hint"), labels, strict=True)
        ]
        frame = pl.concat(frames, how="vertical_relaxed")
        asked = assay.probes(Annotations.from_frame(frame, judges=["m"], scale=scale, conditions=["probe"]))
        for row in asked.rows:
            if row.one.probe in ("padded", "hint"):
                found[row.one.measure] += row.one.p <= 0.05 and row.one.large_enough
    return {name: number / studies for name, number in found.items()}


def main(studies: int, of: str = "") -> None:
    """Print every table, all but those of covariates, or those of calls alone."""
    for words in (False, True):
        for noise, fault in ((0.2, 0.0), (0.6, 0.0), (0.4, 0.2), (0.4, 0.4)):
            cells = [calls(n, studies, noise, words=words, fault=fault) for n in (50, 200)]
            print(f"further answers, {'words' if words else 'numbers'}, noise {noise}, fault {fault}:", cells)
    if of == "calls":
        return
    for own in () if of == "rest" else (False, True):
        print("own family" if own else "length")
        for r, effect in ((0.8, 0.0), (0.3, 0.25), (0.3, 0.5), (0.8, 0.5)):
            cells = [covariates(n, studies, r, effect, own=own) for n in SIZES]
            shown = ", ".join(f"{share:.3f} (naive {naive:.2f})" for share, naive in cells)
            print(f"  quality .{10 * r:.0f}, effect {effect}: {shown}")
        few = [covariates(n, studies, 0.8, 0.0, own=own, per_item=2)[0] for n in SIZES]
        print("  two people an item, effect 0:", few)
    print("halo")
    for r in (0.0, 0.1, 0.2, 0.3):
        print(f"  {r}:", [halo(n, studies, r) for n in SIZES], flush=True)
    print("resolution")
    for step in (1, 2):
        print(f"  every {step}:", [resolution(n, studies, step) for n in SIZES])
    print("others, corrected (m innocent, k guilty)")
    for n in SIZES:
        print(f"  {n}:", dict(others(n, studies)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, *sys.argv[2:])
