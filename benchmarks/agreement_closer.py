"""How often a judge is called closer to people than they are to each other, by swapping labels and by a t-test.

    python benchmarks/agreement_closer.py                  # every cell, 300 studies each
    python benchmarks/agreement_closer.py --items 60       # some of them

A cell has the share that is called closer, the share that is so "by one", and in brackets the first by the t-test.

Each item has a true label, the rarer of two with the share that is named. A person gives it or, with probability .3, a
draw from the same shares; so does the judge, with another probability. A judge with .3 is also exchangeable with
people, and is called closer by mistake, as is one that repeats the first person. The t-test is of the difference, by
the jackknife.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import polars as pl

from assay.concordance import agreement
from assay.concordance.comparisons import permutation_p
from assay.data.annotations import Annotations
from assay.data.scales import Ordinal

NOISE = 0.3
JUDGES = {
    "exchangeable": NOISE,
    "repeats a person": None,
    "somewhat closer": 0.2,
    "closer": 0.1,
    "knows the truth": 0.0,
}
SHARES = (0.5, 0.2, 0.05)
COEFFICIENTS = ("krippendorff-alpha-nominal", "exact-agreement")


def study(rng: np.random.Generator, n: int, m: int, share: float, noise: float | None) -> Annotations:
    truth = rng.random((n, 1)) < share
    often = np.append(np.full(m, NOISE), NOISE if noise is None else noise)
    cells = np.where(rng.random((n, m + 1)) < often, rng.random((n, m + 1)) < share, truth)
    if noise is None:
        cells[:, m] = cells[:, 0]
    names = [*(f"p{j}" for j in range(m)), "judge"]
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(n), m + 1).astype(str),
            "annotator": np.tile(names, n),
            "label": cells.astype(int).ravel(),
        }
    )
    return Annotations.from_frame(frame, judges=["judge"], scale=Ordinal(0, 1))


def called(labels: Annotations, *, swapping: bool) -> np.ndarray:
    """Of each coefficient, whether the judge is called closer, and whether by one person alone: (2, coefficients)."""
    setattr(agreement, "permutation_p", permutation_p if swapping else lambda *_, **__: None)  # noqa: B010
    found = agreement.agreement(labels, coefficients=COEFFICIENTS, who=["human pairs"], n_resamples=1000)
    rows = dict(found.differences.select("coefficient", "closer").iter_rows())
    return np.array([[rows.get(name) == said for name in COEFFICIENTS] for said in ("yes", "by one")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[15, 30, 60, 200])
    parser.add_argument("--people", type=int, default=3)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    how = parser.parse_args()
    print("| coefficient | rare label | judge | " + " | ".join(f"n = {n}" for n in how.items) + " |")
    print("|---" * (3 + len(how.items)) + "|")
    for share, (judge, noise) in itertools.product(SHARES, JUDGES.items()):
        rng, cells = np.random.default_rng(how.seed), []
        for n in how.items:
            made = [study(rng, n, how.people, share, noise) for _ in range(how.studies)]
            cells.append([np.mean([called(one, swapping=s) for one in made], axis=0) for s in (True, False)])
        for i, name in enumerate(COEFFICIENTS):
            words = [f"{swapped[0, i]:.2f}, {swapped[1, i]:.2f} ({by_t[0, i]:.2f})" for swapped, by_t in cells]
            print(f"| {name} | {share:.0%} | {judge} | " + " | ".join(words) + " |", flush=True)


if __name__ == "__main__":
    main()
