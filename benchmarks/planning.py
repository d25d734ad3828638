"""Power of studies of the recommended size (target 80%), and coverage of the interval of the smallest epsilon.

    python benchmarks/planning.py            # prints the tables of docs/coverage.md; about ten minutes

Humans and judges come from `assay.simulate`, with judge noise chosen to give the planted difference in closeness. The
comparisons of closeness are counted on 40,000 items, and pilots and studies are drawn from them. The agreement ratio is
not tested: these judges exceed its threshold.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import estimate_open, estimate_sums
from assay.replacement import studies
from assay.replacement.panel import AltTestSettings, AltTestTable
from assay.replacement.studies import OutcomeSums, Pilot, SimulatedStudies, is_conclusive
from assay.simulation import LabelSource, simulate
from assay.statistics.panels import Panel
from assay.statistics.wins import LOSS, WIN, NeededEpsilon, Posterior
from type_one_error import PRIOR, boundary_noise, show

SEED = 20261122
EPSILON = 0.15
POOLED = (0.0, 0.05, 0.10, 0.25, 0.35)
TRUTHS = (*POOLED, EPSILON)
PILOTS, PANELS = (30, 60, 120), (3, 5, 10)
ITEMS = 40_000
HUMAN = 0.3
PILOTS_EACH, STUDIES_EACH, COVERED = 16, 40, 800


class World:
    """Items with human and judge labels, grouped by the outcomes of the closeness comparisons."""

    def __init__(self, judge: float, people: Sequence[float], seed: int) -> None:
        source, self.m = LabelSource.of(4, PRIOR), len(people)
        self.settings = AltTestSettings(epsilon=EPSILON)
        table = AltTestTable.of(simulate(2, 2, scale=source.scale, prior=PRIOR), self.settings)
        rng = np.random.default_rng([SEED, seed])
        cumulative = source.priors(rng, 1)
        truth = source.draw(rng.random((1, ITEMS)), cumulative)
        judged = source.answer(rng, truth, cumulative, np.array([judge]))[0, :, 0]
        given = source.answer(rng, truth, cumulative, np.array(people))[0]
        panel = Panel(
            item=np.repeat(np.arange(ITEMS), self.m), annotator=np.tile(np.arange(self.m), ITEMS),
            value=given.ravel(), n_items=ITEMS, n_annotators=self.m, quality=np.ones(self.m), labels=table.rule.labels,
        )  # fmt: skip
        found = studies.unit_wins(table.rule, panel, judged, np.arange(ITEMS), ITEMS)
        kinds, times = np.unique(found.reshape(ITEMS, -1), axis=0, return_counts=True)
        self.kinds, self.share = kinds.reshape(-1, *found.shape[1:]), times / ITEMS

    def draw(self, n: int, times: int, rng: np.random.Generator) -> np.ndarray:
        """The number of items of each kind among n items in each study: (studies, kinds)."""
        return rng.multinomial(n, self.share, size=times)

    def assurance(self, drawn: np.ndarray, exact: bool = True) -> np.ndarray:
        """Which studies end in a verdict, by the test itself."""
        counts = (drawn @ self.kinds.reshape(len(self.kinds), -1)).reshape(len(drawn), 1, *self.kinds.shape[1:])
        sums = None
        if OutcomeSums.are_tested(self.m):
            added = drawn @ OutcomeSums.columns(self.kinds[..., 0, WIN] - self.kinds[..., 0, LOSS])
            sums = OutcomeSums.of(added[:, None], drawn[:1].sum(axis=1))
        studies = SimulatedStudies(counts, np.ones((len(drawn), self.m)), exact=exact, sums=sums)
        return is_conclusive(studies.ends(self.settings, EPSILON))[:, 0]

    def enough(self, rng: np.random.Generator) -> float:
        """The number of items with which four studies in five end in a verdict."""
        sizes = studies.sizes_up_to(studies.LIMIT, 30)
        power = [self.assurance(self.draw(int(n), 600, rng), exact=False).mean() for n in sizes]
        return float(studies.crossing(sizes, studies.rising(np.array([power])), 0.8)[0])


def planted(difference: float, m: int) -> float:
    """The judge noise that gives the planted difference in closeness."""
    return boundary_noise(difference, HUMAN, m, np.array(PRIOR), 0.0, "accuracy")


COLUMNS = ("N", "pilot conclusive", "conclusive", "conclusive with the pilot", "low", "high", "range covers")


def planned() -> dict[tuple[float, int, int], np.ndarray]:
    """`COLUMNS` of each pilot, by truth, annotators and items of the pilot; infinite if no number is given."""
    worlds = {
        (d, m): World(planted(d, m), [HUMAN] * m, 10 * i + m) for m in PANELS for i, d in enumerate(TRUTHS)
    }  # fmt: skip
    rows, waiting = defaultdict(list), []
    for (d, m), world in worlds.items():
        truly = world.enough(np.random.default_rng([SEED, 3, m, round(100 * d)]))
        for n in PILOTS:
            rng = np.random.default_rng([SEED, 1, m, n, round(100 * d)])
            drawn = world.draw(n, PILOTS_EACH, rng)
            for one, conclusive in zip(drawn, world.assurance(drawn), strict=True):
                pilot = Pilot.of(np.repeat(world.kinds, one, axis=0), n, np.ones(m))
                found = studies.sample_size(pilot, n, world.settings)
                ends = [found.n_items or np.inf, found.low or np.inf, found.high or np.inf]
                covers = (found.n_items is None or ends[1] <= truly) and truly <= ends[2]
                waiting.append((ends[0], (d, m, n), one, conclusive, ends[1:], covers))
    for size, (d, m, n), one, conclusive, ends, covers in sorted(waiting, key=lambda w: w[0]):
        world, fresh, more = worlds[d, m], np.nan, np.nan
        if np.isfinite(size):
            rng = np.random.default_rng([SEED, 2, m, n, int(size)])
            fresh = world.assurance(world.draw(int(size), STUDIES_EACH, rng)).mean()
            if size > n:
                more = world.assurance(one + world.draw(int(size) - n, STUDIES_EACH, rng)).mean()
        rows[d, m, n].append((size, conclusive, fresh, more, *ends, covers))
    return {key: np.array(found, dtype=float) for key, found in rows.items()}


def mean(rows: np.ndarray, column: int) -> float | str:
    """The mean of the known values; a dash if none."""
    known = rows[~np.isnan(rows[:, column]), column]
    return float(known.mean()) if len(known) else "—"


def plan_tables() -> None:
    found = planned()
    for title, chosen in (("All pilots", (0, 1)), ("Undecided pilots", (0,))):
        kept = {key: rows[np.isin(rows[:, 1], chosen)] for key, rows in found.items()}
        by_truth = [np.concatenate([kept[d, m, n] for m in PANELS for n in PILOTS]) for d in TRUTHS]
        pooled = np.concatenate(by_truth[: len(POOLED)])
        rows = [
            [f"{m} annotators, pilot of {n}", *(mean(kept[d, m, n], 2) for d in TRUTHS),
             mean(np.concatenate([kept[d, m, n] for d in POOLED]), 2)]
            for m, n in itertools.product(PANELS, PILOTS)
        ]  # fmt: skip
        rows.append(["all", *(mean(r, 2) for r in by_truth), mean(pooled, 2)])
        rows.append(["all, the pilot's items among the N", *(mean(r, 3) for r in by_truth), mean(pooled, 3)])
        rows.append(["no number is named", *(float(np.isinf(r[:, 0]).mean()) for r in [*by_truth, pooled])])
        rows.append(["the range holds the true number", *(mean(r, 6) for r in [*by_truth, pooled])])
        for i in (0, 4, 5):
            middle = [np.median(r[:, i]) for r in by_truth]
            rows.append([f"median {COLUMNS[i]}", *(f"{v:.0f}" if np.isfinite(v) else "none" for v in middle), ""])
        show(title, ["", *(f"Δ = {d:g}" for d in TRUTHS), f"pooled, without {EPSILON:g}"], rows)


DESIGNS = {
    "3 equal, as good": (planted(0.0, 3), [HUMAN] * 3),
    "3 equal, worse by .2": (planted(0.2, 3), [HUMAN] * 3),
    "3 who differ": (0.3, [0.1, 0.3, 0.5]),
    "4 equal, worse by .1": (planted(0.1, 4), [HUMAN] * 4),
    "5 who differ": (0.35, [0.1, 0.2, 0.3, 0.4, 0.5]),
    "10 equal, as good": (HUMAN, [HUMAN] * 10),
    "10 who differ": (0.35, list(np.linspace(0.05, 0.55, 10))),
    "3 on an easy task (5% errors)": (0.1, [0.05] * 3),
}


def covers(world: World, n: int, clusters: int = 0) -> float:
    """Coverage of the interval of the smallest epsilon, with independent items and with clustered items."""
    statistic, rng = NeededEpsilon(np.ones(world.m), 0.5), np.random.default_rng([SEED, n, clusters])
    rows = world.kinds
    truth = statistic.value((world.share @ rows.reshape(len(rows), -1))[None])[0, 0]
    hits = 0
    for _ in range(COVERED):
        kind = rng.choice(len(rows), n, p=world.share)
        if clusters:
            of = np.arange(n) * clusters // n
            kind = np.where(rng.random(n) < 0.5, rng.choice(len(rows), clusters, p=world.share)[of], kind)
            sums = np.zeros((clusters, rows[0].size))
            np.add.at(sums, of, rows[kind].reshape(n, -1))
            found = estimate_sums(statistic, sums, IntervalSettings(method="jackknife"))
        else:
            left, sums = Posterior.of(rows[kind], n), rows[kind].reshape(n, -1)
            found = estimate_open(
                statistic, sums, lambda k, left=left: left.truths(k, rng) @ left.rows.reshape(len(left.rows), -1),
                IntervalSettings(method="jackknife", n_resamples=500),
            )  # fmt: skip
        hits += found.low[0] - 1e-9 <= truth <= found.high[0] + 1e-9
    return hits / COVERED


def epsilon_tables() -> None:
    rows = []
    for i, (name, (judge, people)) in enumerate(DESIGNS.items()):
        world = World(judge, people, 100 + i)
        rows.append(
            [name, *(covers(world, n) for n in (15, 30, 60, 200)), covers(world, 60, 10), covers(world, 120, 30)]
        )
    show(
        "Coverage of the 95% interval of the smallest epsilon",
        ["annotators", *(f"{n} items" for n in (15, 30, 60, 200)), "60 items, 10 clusters", "120 items, 30 clusters"],
        rows,
    )


if __name__ == "__main__":
    asked = sys.argv[1:] or ["plans", "epsilon"]
    if "plans" in asked:
        plan_tables()
    if "epsilon" in asked:
        epsilon_tables()
