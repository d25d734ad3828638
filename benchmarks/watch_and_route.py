"""How late a monitor finds a change, how often it cries wolf, and how large a share a route finds.

    python benchmarks/watch_and_route.py alarms --studies 300    # no change, 5,000 observations
    python benchmarks/watch_and_route.py delays --studies 200    # a change after 1,000 observations
    python benchmarks/watch_and_route.py routes --studies 300

Tables go to standard output as Markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from assay.estimates.monitor import detector
from assay.estimates.route import STARTS, STEP, largest
from assay.estimation.intervals import Pseudo

ALPHA, LOOKS, AT = 0.05, 5000, 1000

Draw = Callable[[np.random.Generator, int, float], np.ndarray]


def coin(share: float) -> Draw:
    """Labels of 0 and 1."""
    return lambda rng, n, shift: (rng.random(n) < share + shift).astype(float)


def gap(rng: np.random.Generator, n: int, shift: float) -> np.ndarray:
    """A judge less a person, from −1 to 1 put on 0 to 1: they agree on .8."""
    u = rng.random(n)
    return np.where(u < 0.1, 0.0, np.where(u < 0.9 - 2 * shift, 0.5, 1.0))


def documents(rng: np.random.Generator, n: int, shift: float) -> np.ndarray:
    """Means of documents."""
    return rng.beta(4 * (0.4 + shift), 4 * (0.6 - shift), n)


STREAMS: dict[str, Draw] = {
    **{f"share {p}": coin(p) for p in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)}, "gap": gap, "documents": documents
}  # fmt: skip


def delay(rng: np.random.Generator, draw: Draw, baseline: int, shift: float, known: float | None = None) -> float:
    """Observations from the change to the alarm: infinite without an alarm, negative for an earlier one."""
    base = draw(rng, baseline, 0.0)
    x = np.concatenate([draw(rng, AT, 0.0), draw(rng, LOOKS - AT, shift)])
    wealth, _ = detector(x, base if known is None else known, LOOKS)
    over = np.flatnonzero(wealth >= 1 / ALPHA)
    return float(over[0]) - AT if len(over) else math.inf


def alarms(studies: int, seed: int) -> None:
    """The share of trajectories with a false alarm."""
    print("| labels | baseline 300 | 2,000 | 10,000 |\n|---|---|---|---|")
    for name, draw in STREAMS.items():
        rng = np.random.default_rng(seed)
        row = [np.mean([delay(rng, draw, n, 0.0) < math.inf for _ in range(studies)]) for n in (300, 2000, 10_000)]
        print(f"| {name} | {' | '.join(f'{each:.3f}' for each in row)} |", flush=True)


def delays(studies: int, seed: int) -> None:
    """Looks until a change is found."""
    print("| labels | change | baseline | median | ninth decile | found within 1,600 | within 4,000 |")
    print("|---|---|---|---|---|---|---|")
    for name, draw in STREAMS.items():
        for shift, baseline in ((0.1, 300), (0.1, 2000), (0.05, 10_000)):
            rng = np.random.default_rng(seed)
            found = np.array([delay(rng, draw, baseline, shift) for _ in range(studies)])
            middle, late = (np.quantile(found, q, method="lower") for q in (0.5, 0.9))
            within = " | ".join(f"{np.mean(found <= looks):.3f}" for looks in (1600, 4000))
            print(f"| {name} | {shift} | {baseline:,} | {middle:.0f} | {late:.0f} | {within} |", flush=True)
    for share in (0.3, 0.5):
        rng = np.random.default_rng(seed)
        found = np.array([delay(rng, coin(share), 1, 0.05, known=share) for _ in range(studies)])
        middle, late = (np.quantile(found, q, method="lower") for q in (0.5, 0.9))
        within = " | ".join(f"{np.mean(found <= looks):.3f}" for looks in (1600, 4000))
        print(f"| share {share} | 0.05 | known | {middle:.0f} | {late:.0f} | {within} |", flush=True)


def routes(studies: int, seed: int) -> None:
    """The mean estimated share (truth .70), the rate of larger ones, and the rate of any share if the truth is 0."""
    print("| judge | labelled items | mean share | above .70 | any |\n|---|---|---|---|---|")
    shares = np.round(np.arange(min(STARTS), 1 + STEP / 2, STEP), 10)
    for judge, n in (
        ("good on the most confident .4", 600),
        ("good on the most confident .4", 2000),
        ("at the edge", 600),
    ):
        rng, found = np.random.default_rng(seed), []
        for _ in range(studies):
            sure = rng.random(n)
            errs = rng.random(n) < (np.where(sure > 0.6, 0.08, 0.42) if judge != "at the edge" else 0.225)
            person = rng.random((n, 3)) < 0.1
            among = np.mean([person[:, a] == person[:, b] for a, b in ((0, 1), (0, 2), (1, 2))], axis=0)
            d = (person == errs[:, None]).mean(axis=1) - among + 0.1  # ε = .1
            p = np.array([Pseudo(d[sure >= 1 - share][:, None]).p_above(np.ones(1)) for share in shares])
            at = largest(shares, p, ALPHA)
            found.append(shares[at] if at >= 0 else 0.0)
        each = np.array(found)
        print(f"| {judge} | {n:,} | {each.mean():.3f} | {np.mean(each > 0.705):.3f} | {np.mean(each > 0):.3f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["alarms", "delays", "routes"])
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    {"alarms": alarms, "delays": delays, "routes": routes}[given.what](given.studies, given.seed)
