"""How often a judge is significantly ahead of another one whose labels are coarser or finer, by ρ and without ties.

    python benchmarks/judge_lead.py                 # every cell, 300 studies each

A cell has the share of studies in which the judge on 1-5 / the finer judge is ahead: by ρ, by ρ minus the annotators' ρ
(`assay.compare_judges`), and by the squared distance to the annotators' mean. Tests are paired t-tests over items.

Items have a normal quality with mean 3 and SD 1; annotators see it with error .75 and round to 1-5. "equal error": the
error of the judge on 1-5 is chosen so that both have the same squared distance to the quality.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]
ERROR = 0.75
CELLS = {
    "same noise, ten points": (0.75, 0.75, 9), "same noise, hundred points": (0.75, 0.75, 99),
    "equal error, ten points": (None, 0.75, 9), "equal error, hundred points": (None, 0.75, 99),
    "finer is better": (0.85, 0.60, 99), "coarser is better": (0.60, 0.85, 99), "both on 1-5": (0.75, 0.75, 4),
}  # fmt: skip
"""Error of the judge on 1-5, of the finer judge, and steps of the finer scale."""


def given(seen: Floats, steps: int) -> Floats:
    """The labels on a scale from 1 to 5 with so many steps."""
    return np.asarray(np.clip(np.round((seen - 1) * steps / 4) * 4 / steps + 1, 1, 5))


def equal_error(finer: float, steps: int) -> float:
    """The error of a judge on 1-5 whose squared distance to the quality is that of the finer judge."""
    rng = np.random.default_rng(5)
    quality, noise = rng.normal(3, 1, 200_000), rng.normal(0, 1, 200_000)

    def squared(error: float, steps: int) -> float:
        return float(((given(quality + error * noise, steps) - quality) ** 2).mean())

    aim = squared(finer, steps)
    return float(brentq(lambda error: squared(error, 4) - aim, 0.3, 1.2))


def signs(judge: Floats, people: Floats) -> Floats:
    """1 if the judge is closer to the others than the one left out, 0 for a tie, -1 if further: (people, items)."""
    found = np.zeros(people.shape)
    for j in range(len(people)):
        others = np.delete(people, j, axis=0)
        mine, theirs = (((one - others) ** 2).mean(axis=0) for one in (judge, people[j]))
        found[j] = np.where(np.isclose(mine, theirs), 0, np.sign(theirs - mine))
    return found


def study(rng: np.random.Generator, n: int, m: int, coarse: float, fine: float, steps: int) -> list[float]:
    """The t statistics of the judge on 1-5 minus the finer judge: by ρ, without ties, by squared distance."""
    quality = rng.normal(3, 1, n)
    people = np.stack([given(quality + rng.normal(0, ERROR, n), 4) for _ in range(m)])
    judges = given(quality + rng.normal(0, coarse, n), 4), given(quality + rng.normal(0, fine, n), steps)
    one, other = (signs(judge, people) for judge in judges)
    far = [(judge - people.mean(axis=0)) ** 2 for judge in judges]
    rho, net = (one >= 0).mean(axis=0) - (other >= 0).mean(axis=0), one.mean(axis=0) - other.mean(axis=0)
    differences = rho, net, far[1] - far[0]
    return [float(d.mean() / (d.std(ddof=1) / np.sqrt(n) + 1e-12)) for d in differences]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--studies", type=int, default=300)
    options.add_argument("--items", type=int, nargs="+", default=[60, 250])
    chosen = options.parse_args()
    for (name, (coarse, fine, steps)), n, m in itertools.product(CELLS.items(), chosen.items, (3, 4, 6)):
        rng = np.random.default_rng(1)
        error = equal_error(fine, steps) if coarse is None else coarse
        t = np.array([study(rng, n, m, error, fine, steps) for _ in range(chosen.studies)])
        ahead = [f"{(one > 1.96).mean():.2f} / {(one < -1.96).mean():.2f}" for one in t.T]
        print(f"{name}, {n} items, {m} annotators: ρ {ahead[0]}, without ties {ahead[1]}, squared distance {ahead[2]}")


if __name__ == "__main__":
    main()
