"""Coverage of intervals of pairs (equation 1) and of chance-corrected agreement.

    python benchmarks/ideas_coverage.py [studies] [first line] [last line]

Worlds of known similarities (tests/ideas/worlds.py), triplets by the rule, people who choose by Luce's rule. Prints a
row of docs/coverage.md for each setting; seeds are the numbers of the studies. Intervals of ρ, which apply to new
texts, are in `benchmarks/ideas_texts.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.ideas.worlds import World

import assay

SETTINGS = ((15, 0.2, 3), (15, 0.5, 3), (15, 1.5, 3), (15, 0.2, 8), (15, 0.5, 8), (15, 1.5, 8), (8, 0.5, 6))
"""Texts, sharpness, comparisons of each pair."""


def main(studies: int = 150, first: int = 1, last: int = len(SETTINGS)) -> None:
    print("| texts | experts agree | comparisons | eq. 1 |")
    print("|---|---|---|---|")
    for n, sharpness, floor in SETTINGS[first - 1 : last]:
        print(line(n, sharpness, floor, studies), flush=True)


def line(n: int, sharpness: float, floor: int, studies: int) -> str:
    world = World.of(n, sharpness=sharpness)
    truth = world.truth()
    inside = []
    for seed in range(studies):
        table = assay.triplet_similarity(world.study(floor=floor, seed=seed)).table
        wanted = [truth["d0", a, b] for a, b in table.select("first", "second").iter_rows()]
        inside.append(np.mean((table["low"].to_numpy() <= wanted) & (wanted <= table["high"].to_numpy())))
    agreed = assay.odd_one_out_agreement(world.study(floor=floor, overlap=2), who=["humans"]).humans["agreement"]
    return f"| {n} | {agreed:.0%} | {floor} | {np.mean(inside):.3f} |"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
