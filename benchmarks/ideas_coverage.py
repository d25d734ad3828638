"""How often intervals of ideas hold the truth: eq. 1, ρ of a measure, agreement above chance, the number needed.

    python benchmarks/ideas_coverage.py [studies] [first line] [last line]

Worlds of known similarities (tests/ideas/worlds.py), triplets by the rule, people who choose by Luce's rule. The
truth of ρ
is its mean over further studies of the same size: what so many judgments of these experts about these texts give.
Prints the
table of docs/coverage.md; seeds are the numbers of the studies.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.ideas.worlds import World, noisy, pair_values

import assay
from assay.ideas import validate

SETTINGS = ((15, 0.2, 3), (15, 0.5, 3), (15, 1.5, 3), (15, 0.2, 8), (15, 0.5, 8), (15, 1.5, 8), (8, 0.5, 6))
"""Texts, sharpness, comparisons of each pair."""


validate.SPLITS = 2  # ceilings and sweeps are not looked at here


def main(studies: int = 150, first: int = 1, last: int = len(SETTINGS)) -> None:
    print("| texts | experts agree | comparisons | eq. 1 | ρ | true ρ | difference of ρ |")
    print("|---|---|---|---|---|---|---|")
    for n, sharpness, floor in SETTINGS[first - 1 : last]:
        print(line(n, sharpness, floor, studies), flush=True)


def line(n: int, sharpness: float, floor: int, studies: int) -> str:
    world = World.of(n, sharpness=sharpness)
    truth = world.truth()
    measures = {"good": pair_values(noisy(world, 0.5)), "bad": pair_values(noisy(world, 1.5, seed=9))}
    inside, rho, ends, apart = [], [], [], []
    for seed in range(studies):
        labels = world.study(floor=floor, seed=seed)
        table = assay.triplet_similarity(labels).table
        wanted = [truth["d0", a, b] for a, b in table.select("first", "second").iter_rows()]
        inside.append(np.mean((table["low"].to_numpy() <= wanted) & (wanted <= table["high"].to_numpy())))
        found = assay.validate_similarity(labels, measures, n_resamples=300)
        row = found.estimates[0]
        rho.append([found.estimates.value[0], found.estimates.value[1]])
        ends.append((row.low, row.high))
        one = found.difference("good", "bad")
        apart.append((one["low"], one["high"]))
    true = np.mean(rho, axis=0)
    gap = true[0] - true[1]
    agreed = assay.odd_one_out_agreement(world.study(floor=floor, overlap=2), who=["humans"]).humans["agreement"]
    held = np.mean([low <= true[0] <= high for low, high in ends])
    differs = np.mean([low <= gap <= high for low, high in apart])
    return f"| {n} | {agreed:.0%} | {floor} | {np.mean(inside):.3f} | {held:.3f} | {true[0]:.2f} | {differs:.3f} |"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
