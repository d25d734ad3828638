"""How often 95% intervals of agreement hold: few items, rare labels, missing labels, clusters, heavy tails.

    python benchmarks/agreement_intervals.py                  # every cell, 1,000 studies each
    python benchmarks/agreement_intervals.py --items 15 30    # some of them
    python benchmarks/agreement_intervals.py --missing        # three labels in ten missing
    python benchmarks/agreement_intervals.py --clusters       # items in clusters of five
    python benchmarks/agreement_intervals.py --tails          # the root mean squared error of labels without ends

Each item has a true label, the rarer of two with the share that is named; an annotator gives it, or, with the
probability that is the annotators' noise, a draw from the same shares. The truth is the coefficient of all items there
could be. Studies with the same counts have the same interval, which is computed once. Each cell is the share of
intervals that contain the true value and, if it is below 1, the share of studies with an interval.

With --tails an annotator's error is normal, or t with few degrees of freedom; the second number is the share of the
jackknife on the log scale, and the median of the upper end over the value.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
from dataclasses import replace

import numpy as np

from assay.concordance.coefficient import CoefficientSettings, Measure, estimate_ratings
from assay.concordance.measures import all_measures
from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Interval, Ordinal
from assay.errors import DesignError

NAMES = ("exact-agreement", "krippendorff-alpha-nominal", "cohen-kappa", "gwet-ac1")
NOISE = {"moderate": 0.3, "high": 0.1, "near 1": 0.015}
SHARES = (0.5, 0.2, 0.05)
PEOPLE = (2, 3, 5)
MISSING = 0.3
CLUSTER, ALIKE = 5, 0.5
"""Items of a cluster, and the share of them that have their cluster's true label."""


def patterns_of(m: int, share: float, noise: float, *, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return every pattern of labels (NaN if missing) and its probability given each true label: (patterns, 2)."""
    rows = np.array(list(itertools.product((0.0, 1.0, np.nan) if missing else (0.0, 1.0), repeat=m)))
    given = np.array([1 - share, share])
    often = np.ones((len(rows), 2))
    for truth in (0, 1):
        for label in (0, 1):
            chance = noise * given[label] + (1 - noise) * (truth == label)
            often[:, truth] *= chance ** (rows == label).sum(axis=1)
    if missing:
        gone = np.isnan(rows).sum(axis=1)
        often *= (MISSING**gone * (1 - MISSING) ** (m - gone))[:, None]
    return rows, often


@functools.lru_cache(maxsize=16)
def names_of(n: int) -> tuple[str, ...]:
    return tuple(f"{i:07d}" for i in range(n))


def ratings_of(cells: np.ndarray, clusters: np.ndarray | None = None) -> Ratings:
    item, annotator = np.nonzero(~np.isnan(cells))
    names = tuple(f"r{j}" for j in range(cells.shape[1]))
    answers = Answers(item, annotator, cells[item, annotator], names_of(len(cells)), names)
    return Ratings(answers, names, names, (), Ordinal(0, 1), len(cells), len(answers), "", clusters=clusters)


def truth_of(measure: Measure, rows: np.ndarray, often: np.ndarray) -> float:
    """The coefficient when each pattern's frequency equals its probability."""
    ratings = ratings_of(rows)
    ends = (np.array(pair) for pair in np.triu_indices(rows.shape[1], 1)) if measure.pair is not None else ()
    statistic = measure.statistic(ratings, *ends)
    return float(statistic.value(1e9 * often @ statistic.moments(ratings.answers))[0])


def drawn(n: int, often: np.ndarray, share: float, studies: int, seed: int, *, clusters: bool) -> np.ndarray:
    """The pattern of each item: (studies, items)."""
    rng = np.random.default_rng(seed)
    true = rng.random((studies, n)) < share
    if clusters:
        whole = np.repeat(rng.random((studies, math.ceil(n / CLUSTER))) < share, CLUSTER, axis=1)[:, :n]
        true = np.where(rng.random((studies, n)) < ALIKE, whole, true)
    edges = np.cumsum(often, axis=0)
    at = rng.random((studies, n))
    found = [np.searchsorted(edges[:, t] / edges[-1, t], at) for t in (0, 1)]
    return np.where(true, found[1], found[0])


def cover(name: str, n: int, m: int, share: float, noise: float, how: argparse.Namespace) -> tuple[float, float]:
    """The share of intervals that contain the truth, and of studies that have one."""
    measure = all_measures()[name]
    rows, often = patterns_of(m, share, noise, missing=how.missing)
    truth = truth_of(measure, rows, often @ np.array([1 - share, share]))
    which = drawn(n, often, share, how.studies, how.seed, clusters=how.clusters)
    clusters = np.arange(n) // CLUSTER if how.clusters else None
    if clusters is None:
        which = np.sort(which, axis=1)
    settings, held, given = CoefficientSettings(), 0, 0
    different, number = np.unique(which, axis=0, return_counts=True)
    for one, times in zip(different, number, strict=True):
        cells = rows[one]
        there = ~np.isnan(cells).all(axis=1)
        try:
            ratings = ratings_of(cells[there], None if clusters is None else clusters[there])
            found = estimate_ratings(measure, ratings, settings)
        except DesignError:  # no two annotators have two items in common
            continue
        if np.isfinite(found.low):
            given += times
            held += times * (found.low - 1e-9 <= truth <= found.high + 1e-9)
    return held / max(given, 1), given / how.studies


def tails(how: argparse.Namespace) -> None:
    """The root mean squared error: coverage, coverage of the jackknife, and the upper end of the interval."""
    measure, rng = all_measures()["rmse"], np.random.default_rng(how.seed)
    print("| errors | people | " + " | ".join(f"n = {n}" for n in how.items) + " |")
    print("|---" * (2 + len(how.items)) + "|")
    for degrees, m in itertools.product(how.degrees, how.people):
        truth, cells = math.sqrt(2 * (1 if math.isinf(degrees) else degrees / (degrees - 2))), []
        for n in how.items:
            size, held, plain, reach = (how.studies, n, m), 0, 0, []
            error = rng.normal(size=size) if math.isinf(degrees) else rng.standard_t(degrees, size=size)
            for labels in rng.normal(0, 3, (how.studies, n, 1)) + error:
                ratings = replace(ratings_of(labels), scale=Interval())
                found = estimate_ratings(measure, ratings, CoefficientSettings())
                jackknife = replace(found.found, score=None).at_level(0.9501)
                held += found.low <= truth <= found.high
                plain += float(jackknife.low[0]) <= truth <= float(jackknife.high[0])
                reach.append(found.high / found.estimate)
            cells.append(f"{held / how.studies:.3f} ({plain / how.studies:.3f}), {np.median(reach):.2f}")
        name = "normal" if math.isinf(degrees) else f"t({degrees:g})"
        print(f"| {name} | {m} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[15, 30, 60, 200])
    parser.add_argument("--people", type=int, nargs="+", default=list(PEOPLE))
    parser.add_argument("--coefficients", nargs="+", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--clusters", action="store_true")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--degrees", type=float, nargs="+", default=[math.inf, 10.0, 5.0, 4.0, 3.0])
    how = parser.parse_args()
    if how.tails:
        tails(how)
        return
    print("| coefficient | people | rare label | agreement | " + " | ".join(f"n = {n}" for n in how.items) + " |")
    print("|---" * (4 + len(how.items)) + "|")
    for name, m, share, (words, noise) in itertools.product(how.coefficients, how.people, SHARES, NOISE.items()):
        cells = []
        for n in how.items:
            held, given = cover(name, n, m, share, noise, how)
            cells.append(("–" if not given else f"{held:.3f}") + ("" if given == 1 else f" ({given:.2f})"))
        print(f"| {name} | {m} | {share:.0%} | {words} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
