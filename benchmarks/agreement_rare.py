"""Coverage of agreement intervals when one of two labels is rare and raters give it at different rates.

    python benchmarks/agreement_rare.py --studies 150 --items 15 60 200 --rates .05 .1 .2 .25 .35 .5

Worlds: a normal or an exponential trait with a threshold for each rater (log odds of rates spread by .5), two latent
classes. Undefined coefficients have no interval and count as covered; their share is printed.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.special import expit, logit, ndtri

import assay
from assay.concordance import coefficient
from assay.data.annotations import Annotations
from assay.data.scales import Nominal

SLOPE, SPREAD, TRUTH_ITEMS = 1.3, 0.5, 300_000


def normal(rng: np.random.Generator, n: int, rates: np.ndarray) -> np.ndarray:
    score = SLOPE * rng.normal(size=(n, 1)) + rng.normal(size=(n, len(rates)))
    return score > -ndtri(rates) * np.hypot(SLOPE, 1)


def exponential(rng: np.random.Generator, n: int, rates: np.ndarray) -> np.ndarray:
    sample = np.random.default_rng(1)
    reference = SLOPE * (sample.exponential(size=200_000) - 1) + sample.normal(size=200_000)
    score = SLOPE * (rng.exponential(size=(n, 1)) - 1) + rng.normal(size=(n, len(rates)))
    return score > np.quantile(reference, 1 - rates)


def classes(rng: np.random.Generator, n: int, rates: np.ndarray) -> np.ndarray:
    there = rng.random((n, 1)) < rates.mean()
    return np.where(there, rng.random((n, len(rates))) < 0.7, rng.random((n, len(rates))) < 0.3 * rates)


WORLDS: dict[str, Callable[..., np.ndarray]] = {"normal": normal, "exponential": exponential, "classes": classes}
COEFFICIENTS: dict[str, Callable[..., coefficient.Coefficient]] = {
    "κ": assay.measures.cohen_kappa, "α": assay.measures.krippendorff_alpha,
    "Fleiss": assay.measures.fleiss_kappa, "AC1": assay.measures.gwet_ac,
}  # fmt: skip


def labels_of(cells: np.ndarray) -> Annotations:
    n, m = cells.shape
    frame = pl.DataFrame({
        "item": np.repeat(np.arange(n).astype(str), m), "annotator": np.tile([f"r{j}" for j in range(m)], n),
        "label": np.where(cells.ravel(), "yes", "no"),
    })  # fmt: skip
    return Annotations.from_frame(frame, scale=Nominal(["no", "yes"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=150)
    parser.add_argument("--items", type=int, nargs="+", default=[15, 60, 200])
    parser.add_argument("--raters", type=int, nargs="+", default=[3])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    how = parser.parse_args()
    print("| world | rate | items | raters | coefficient | ours | width | none | jackknife | width | none |")
    print("|---" * 11 + "|")
    most = coefficient.MOST_RARE, coefficient.LEAST, coefficient.FEW
    for world, rate, n, m in itertools.product(how.worlds, how.rates, how.items, how.raters):
        rng = np.random.default_rng(7)
        rates = expit(logit(rate) + SPREAD * np.linspace(-1, 1, m) * np.sqrt(3 / 2))
        whole = labels_of(WORLDS[world](rng, TRUTH_ITEMS, rates))
        truth = {name: ask(whole, method="none").estimate for name, ask in COEFFICIENTS.items()}
        each: dict[str, list[list[float]]] = {name: [] for name in truth}
        for _ in range(how.studies):
            labels = labels_of(WORLDS[world](rng, n, rates))
            for name, ask in COEFFICIENTS.items():
                row: list[float] = []
                for limits in ((1.0, most[1], most[2]), (-1.0, 0, 0)):
                    coefficient.MOST_RARE, coefficient.LEAST, coefficient.FEW = limits
                    found = ask(labels)
                    row += [found.low, found.high]
                each[name].append(row)
        for name, ends in each.items():
            low, high, plain_low, plain_high = np.array(ends).T
            cells = []
            for a, b in ((low, high), (plain_low, plain_high)):
                missing = np.isnan(a)
                held = np.mean(missing | ((a <= truth[name]) & (truth[name] <= b)))
                if a is plain_low:
                    held = np.mean(~missing & (a <= truth[name]) & (truth[name] <= b)) / max(np.mean(~missing), 1e-9)
                cells += [f"{held:.3f}", f"{np.nanmean(b - a):.2f}", f"{missing.mean():.2f}"]
            print(f"| {world} | {rate} | {n} | {m} | {name} | " + " | ".join(cells) + " |", flush=True)
    coefficient.MOST_RARE, coefficient.LEAST, coefficient.FEW = most


if __name__ == "__main__":
    main()
