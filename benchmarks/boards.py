"""How often a judge's board is said to flip a pair of systems, and how often wrongly.

    python benchmarks/boards.py [--studies 300] [--method percentile]

Four systems; each item is a pair of them, on which three people and a judge vote, ties included; an item moves all
votes on it. The judge's strengths are the people's, or turn a pair round, or are others.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import polars as pl

import assay

CASES = {
    "the same order": ([0, 0.4, 0.8, 1.2], [0, 0.4, 0.8, 1.2]),
    "one pair turned round": ([0, 0.4, 1.2, 1.6], [0, 1.2, 0.4, 1.6]),
    "a judge at random": ([0, 0.4, 0.8, 1.2], [0, 0, 0, 0]),
    "two systems equal to people, not to the judge": ([0, 0, 0.8, 1.6], [0, 0.8, 0.8, 1.6]),
    "all equal to people, not to the judge": ([0, 0, 0, 0], [0, 0.5, 1, 1.5]),
    "all equal": ([0, 0, 0, 0], [0, 0, 0, 0]),
}


def study(seed: int, n: int, people: list[float], judge: list[float]) -> assay.Annotations:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    shift, parts = rng.normal(0, 0.6, n), []
    for who in ("ann", "bob", "cho", "judge"):
        strength = np.asarray(judge if who == "judge" else people, dtype=float)
        lean = strength[b] - strength[a] + shift + rng.logistic(size=n)
        label = np.where(np.abs(lean) < 0.15, 0, np.sign(lean)).astype(int)
        names = {side: [f"s{x}" for x in which] for side, which in (("first", a), ("second", b))}
        parts.append(pl.DataFrame({"item": [f"i{i:04d}" for i in range(n)], "annotator": who, **names, "label": label}))
    return assay.read(pl.concat(parts), scale="preference", judges=["judge"])


def rates(people: list[float], judge: list[float], n: int, studies: int, method: str) -> tuple[float, ...]:
    """Return the shares of studies with a reversal, all pairs in the same order, a wrong order, and τ covered."""
    pairs = list(itertools.combinations(range(4), 2))
    tau = np.mean([np.sign(people[a] - people[b]) * np.sign(judge[a] - judge[b]) for a, b in pairs])
    found = []
    for seed in range(studies):
        try:
            board = assay.ratings(study(seed, n, people, judge), method=method, n_resamples=300, seed=seed)
        except assay.errors.DesignError:
            continue
        shown = board.pairs.filter("demonstrated")
        said = [1 if order == "same" else -1 for order in shown["order"]]
        truth = [
            np.sign(people[int(a[1])] - people[int(b[1])]) * np.sign(judge[int(a[1])] - judge[int(b[1])])
            for a, b in shown.select("first", "second").iter_rows()
        ]
        interval = board.agreement.get("judge")
        held = interval is None or interval.low - 1e-9 <= tau <= interval.high + 1e-9
        found.append((-1 in said, said == [1] * 6, said != truth, held))
    return tuple(np.mean(found, axis=0).tolist())


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--studies", type=int, default=300)
    arguments.add_argument("--method", default="percentile")
    chosen = arguments.parse_args()
    print("judge | items | reversal | all the same | wrong order | τ covered")
    for name, (people, judge) in CASES.items():
        for n in (60, 200, 600):
            shares = rates(people, judge, n, chosen.studies, chosen.method)
            print(f"{name} | {n} | " + " | ".join(f"{share:.3f}" for share in shares), flush=True)
