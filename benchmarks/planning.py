"""Do studies of the size that assay names tell, four in five? And does the interval of the smallest epsilon cover? The
tables of docs/planning.md.

    python benchmarks/planning.py            # prints the tables as Markdown; about eight minutes

People and judges of `assay.simulate`: the judge's noise is such that people are closer, on average, by the planted
difference. Of 40,000 items it is counted who is closer to whom; pilots and studies are drawn from these.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict

import numpy as np
from type_one_error import PRIOR, boundary_noise, show

from assay.replacement import assurance
from assay.replacement.alignment import Panel
from assay.replacement.assurance import Pilot, Studies, settles
from assay.replacement.panel import AltTestTable
from assay.replacement.settings import AltTestSettings
from assay.simulation import Source, simulate

SEED = 20261122
EPSILON = 0.15
TRUTHS = (0.0, 0.05, 0.10, 0.25, 0.35)
PILOTS = (30, 60)
PANELS = (3, 4, 5)
ITEMS = 40_000
HUMAN = 0.3


class World:
    """Items of people and a judge with a planted difference, by who is closer to whom."""

    def __init__(self, difference: float, m: int, seed: int) -> None:
        source = Source.of(4, PRIOR)
        self.settings = AltTestSettings(epsilon=EPSILON)
        table = AltTestTable.of(simulate(2, 2, scale=source.scale, prior=PRIOR), self.settings)
        noise = boundary_noise(difference, HUMAN, m, np.array(PRIOR), 0.0, "accuracy")
        rng = np.random.default_rng([SEED, seed])
        cumulative = source.priors(rng, 1)
        truth = source.draw(rng.random((1, ITEMS)), cumulative)
        judge = source.answer(rng, truth, cumulative, np.array([noise]))[0, :, 0]
        people = source.answer(rng, truth, cumulative, np.full(m, HUMAN))[0]
        panel = Panel(
            item=np.repeat(np.arange(ITEMS), m), annotator=np.tile(np.arange(m), ITEMS), value=people.ravel(),
            n_items=ITEMS, n_annotators=m, quality=np.ones(m), labels=table.rule.labels,
        )  # fmt: skip
        found = assurance.by_unit(table.rule, panel, judge, np.arange(ITEMS), ITEMS)
        kinds, times = np.unique(found.reshape(ITEMS, -1), axis=0, return_counts=True)
        self.kinds, self.share, self.m = kinds.reshape(-1, *found.shape[1:]), times / ITEMS, m

    def draw(self, n: int, times: int, rng: np.random.Generator) -> np.ndarray:
        """How often each kind is among n items, in so many studies: (studies, kinds)."""
        return rng.multinomial(n, self.share, size=times)

    def settled(self, drawn: np.ndarray) -> np.ndarray:
        """Which studies end in a verdict, by the test itself."""
        counts = (drawn @ self.kinds.reshape(len(self.kinds), -1)).reshape(len(drawn), 1, *self.kinds.shape[1:])
        studies = Studies(counts[:, :, : self.m], counts[:, :, self.m :], np.ones((len(drawn), self.m)))
        return settles(studies.ends(self.settings, EPSILON))[:, 0]


def planned(n_pilots: int) -> dict[tuple[float, int, int], np.ndarray]:
    """By truth, panel and items of the pilot: N (0 where there is none), whether the pilot settles, whether a study of N
    does, whether the pilot with N − n more does, the range's ends."""
    worlds = {(d, m): World(d, m, 10 * i + m) for m in PANELS for i, d in enumerate(TRUTHS)}
    rows, waiting = defaultdict(list), []
    for (d, m), world in worlds.items():
        for n in PILOTS:
            rng = np.random.default_rng([SEED, 1, m, n, round(100 * d)])
            drawn = world.draw(n, n_pilots, rng)
            told = world.settled(drawn)
            for one, tells in zip(drawn, told, strict=True):
                pilot = Pilot.of(np.repeat(world.kinds, one, axis=0), n, np.ones(m))
                found = assurance.enough(pilot, n, world.settings)
                waiting.append((found.n_items or 0, d, m, n, one, tells, found.low or 0, found.high or 0))
    for size, d, m, n, one, tells, low, high in sorted(waiting, key=lambda w: w[0]):
        world, rng = worlds[d, m], np.random.default_rng([SEED, 2, m, n, size])
        fresh = more = np.nan
        if size:
            fresh = world.settled(world.draw(size, 40, rng)).mean()
            if size > n:
                more = world.settled(one + world.draw(size - n, 40, rng)).mean()
        rows[d, m, n].append((size, tells, fresh, more, low, high))
    return {key: np.array(found, dtype=float) for key, found in rows.items()}


def plan_tables(n_pilots: int) -> None:
    found = planned(n_pilots)
    for title, chosen in (("All pilots", lambda r: r[:, 0] >= 0), ("Pilots that cannot tell", lambda r: r[:, 1] == 0)):
        rows = []
        for m, n in itertools.product(PANELS, PILOTS):
            each = [r[chosen(r)] for r in (found[d, m, n] for d in TRUTHS)]
            rates = [np.nanmean(r[:, 2]) for r in each]
            rows.append([m, n, *map(float, rates), float(np.nanmean(np.concatenate(each)[:, 2]))])
        everything = [np.concatenate([found[d, m, n][chosen(found[d, m, n])] for m in PANELS for n in PILOTS]) for d in TRUTHS]
        rows.append(["all", "all", *(float(np.nanmean(r[:, 2])) for r in everything),
                     float(np.nanmean(np.concatenate(everything)[:, 2]))])
        rows.append(["", "pilot and N − n more", *(float(np.nanmean(r[:, 3])) for r in everything),
                     float(np.nanmean(np.concatenate(everything)[:, 3]))])
        rows.append(["", "no number", *(float(np.mean(r[:, 0] == 0)) for r in everything),
                     float(np.mean(np.concatenate(everything)[:, 0] == 0))])
        for name, column in (("median N", 0), ("median low", 4), ("median high", 5)):
            rows.append(["", name, *(f"{np.median(np.where(r[:, column] > 0, r[:, column], np.inf)):.0f}" for r in everything), ""])
        show(title, ["annotators", "pilot", *(f"Δ = {d:g}" for d in TRUTHS), "pooled"], rows)


if __name__ == "__main__":
    plan_tables(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
