"""How often intervals hold for the population that annotators come from, and how often a scale is called better.

    python benchmarks/agreement_sample.py              # ICC(A,1), over items and over items and annotators
    python benchmarks/agreement_sample.py --scales     # studies of scales that differ only in raters' habits

ICC(A,1): variance 1 of items, .25 of annotators, .49 of error, or error that differs between annotators with a log sd
of .5; items normal, or exponential (skewed). The last columns are F intervals (McGraw & Wong). Scales: two scales,
errors of sd .07 on 0-1; each rater uses each scale a little higher or lower (``--habits``).
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import polars as pl

from assay.concordance.grading_scale import grading_scale_study
from assay.concordance.measures import icc
from assay.data.annotations import Annotations
from assay.data.scales import Interval


def labels_of(cells: np.ndarray) -> Annotations:
    n, m = cells.shape
    names = [f"r{j}" for j in range(m)]
    frame = pl.DataFrame({"item": np.repeat(np.arange(n), m), "annotator": names * n, "label": cells.ravel()})
    return Annotations.from_frame(frame.with_columns(pl.col("item").cast(pl.String)), scale=Interval())


WORLDS = {"equal": (0.0, False), "unequal": (0.5, False), "unequal, skewed": (0.5, True)}


def correlations(how: argparse.Namespace) -> None:
    columns = ["fixed, equal", *(f"random, {w}" for w in WORLDS), *(f"F, {w}" for w in WORLDS), "width, equal"]
    print("| items | annotators | " + " | ".join(columns) + " |")
    print("|---" * (2 + len(columns)) + "|")
    rng = np.random.default_rng(how.seed)
    for n, m in itertools.product(how.items, how.annotators):
        held, width = dict.fromkeys(columns, 0.0), []
        for world, (spread, skewed) in WORLDS.items():
            truth = 1 / (1 + 0.25 + 0.49 * np.exp(2 * spread**2))
            for _ in range(how.studies):
                noise = 0.7 * np.exp(spread * rng.normal(size=m))
                items = rng.exponential(size=(n, 1)) if skewed else rng.normal(size=(n, 1))
                labels = labels_of(items + 0.5 * rng.normal(size=m) + noise * rng.normal(size=(n, m)))
                found = icc(labels)
                held[f"random, {world}"] += found.low <= truth <= found.high
                f = found.f_test
                held[f"F, {world}"] += f is not None and f.low <= truth <= f.high
                if world == "equal":
                    fixed = icc(labels, raters="fixed")
                    held["fixed, equal"] += fixed.low <= truth <= fixed.high
                    width.append(found.high - found.low)
        shares = [f"{held[c] / how.studies:.2f}" for c in columns[:-1]]
        print(f"| {n} | {m} | " + " | ".join([*shares, f"{np.median(width):.2f}"]) + " |", flush=True)


def study(rng: np.random.Generator, n: int, people: int, judges: int, habits: float) -> Annotations:
    names = [*(f"p{j}" for j in range(people)), *(f"j{j}" for j in range(judges))]
    quality, rows = rng.uniform(0.15, 0.85, n), []
    for scale in ("0-5", "0-10"):
        top = float(scale.split("-")[1])
        for name, habit in zip(names, habits * rng.normal(size=len(names)), strict=True):
            answers = np.clip(quality + habit + 0.07 * rng.normal(size=n), 0, 1) * top
            rows += [(str(i), name, a, scale) for i, a in enumerate(answers)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "scale"], orient="row")
    return Annotations.from_frame(frame, judges=names[people:], scale=Interval(0, 10), conditions=["scale"])


def scales(how: argparse.Namespace) -> None:
    print("| items | people | judges | better, fixed | better, random |")
    print("|---" * 5 + "|")
    rng = np.random.default_rng(how.seed)
    for n, (people, judges) in itertools.product(how.items, ((3, 1), (5, 2), (12, 6))):
        better = np.zeros(2)
        for _ in range(how.studies):
            labels = study(rng, n, people, judges, how.habits)
            for i, raters in enumerate(("fixed", "random")):
                better[i] += ", better than" in grading_scale_study(labels, raters=raters).summary()
        fixed, random = better / how.studies
        print(f"| {n} | {people} | {judges} | {fixed:.2f} | {random:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", action="store_true")
    parser.add_argument("--items", type=int, nargs="+", default=[15, 60, 200])
    parser.add_argument("--annotators", type=int, nargs="+", default=[3, 5, 12])
    parser.add_argument("--habits", type=float, default=0.065)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    how = parser.parse_args()
    if how.scales:
        scales(how)
    else:
        correlations(how)


if __name__ == "__main__":
    main()
