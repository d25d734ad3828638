"""How often do the intervals of the alternative annotator test hold the true value? The tables of docs/coverage.md.

    python benchmarks/coverage.py                  # prints the tables as Markdown; ten minutes
    python benchmarks/coverage.py "30 items"       # the designs whose name has these words

Studies are simulated as `assay.simulate` does; the true values come from one study of 400,000 items of the same kind.
An interval that is not given (NaN) covers nothing and misses nothing: the last columns say how often that is so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import assay
from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import Sums, add_rows, estimate_sums
from assay.replacement.panel import AltTestSettings, AltTestTable, labels_of
from assay.statistics.categories import Alpha
from assay.statistics.wins import AdvantageProbability, SideBySide

Row = tuple[str, float, float, float]
SEED = 20261101
N_STUDIES = 1000
N_TRUE = 400_000
PRIOR, STARS = (0.4, 0.3, 0.2, 0.1), (0.05, 0.1, 0.25, 0.35, 0.25)
JUDGES = {"a": 0.2, "b": 0.3, "c": 0.5}
EQUAL = {f"j{i}": 0.3 for i in range(6)}
INTERVALS = ("ρ", "ρ of an annotator", "mean difference", "lead", "leader", "human agreement")


@dataclass(frozen=True)
class Design:
    """One kind of study."""

    name: str
    n_items: int
    study: Mapping[str, Any] = field(default_factory=dict)
    test: Mapping[str, Any] = field(default_factory=dict)
    judges: Mapping[str, float] = field(default_factory=lambda: JUDGES)

    def draw(self, seed: int, n_studies: int) -> assay.Annotations:
        """So many studies, one after the other, as the items of one table."""
        options = {"prior": PRIOR, "n_annotators": 4, **self.study}
        if "documents" in options:
            options["documents"] *= n_studies
        return assay.simulate(self.n_items * n_studies, judges=self.judges, seed=seed, **options)

    @property
    def settings(self) -> AltTestSettings:
        """Options of the test."""
        return AltTestSettings.of({"epsilon": 0.15, "min_items": 2, **self.test})

    @property
    def unit_of_item(self) -> np.ndarray:
        """The item, or the cluster of each item of a study."""
        item, documents = np.arange(self.n_items), self.study.get("documents")
        return item if documents is None else item * documents // self.n_items


def designs() -> Iterator[Design]:
    """Sizes, scales, weights, panels with missing answers, and clusters."""
    stars = {"scale": "1-5", "prior": STARS, "annotator_noise": 0.1, "spread": 0.7}
    weights = {f"ann_{i}": q for i, q in enumerate((1, 1, 2, 4), 1)}
    for n in (15, 30, 60, 200):
        yield Design(f"4 categories, {n} items", n)
        yield Design(f"1–5, {n} items", n, stars)
        yield Design(f"easy (people err 4%), {n} items", n, {"annotator_noise": 0.06}, judges={"a": 0.03, "b": 0.06})
        yield Design(f"quality 1, 1, 2, 4, {n} items", n, {}, {"quality": weights})
        yield Design(f"8 people, 3 an item, {n} items", n, {"n_annotators": 8, "labels_per_item": 3})
        yield Design(f"six equal judges, {n} items", n, judges=EQUAL)
    for documents in (10, 30):
        for n in (60, 200):
            clusters = {"documents": documents}
            yield Design(f"{documents} clusters, {n} items", n, clusters, {"clusters": "document"})
            yield Design(f"{documents} clusters, 1–5, {n} items", n, {**stars, **clusters}, {"clusters": "document"})


@dataclass(frozen=True)
class Studies:
    """Studies as win counts by judge, item and annotator, and moments of the people's agreement by item."""

    wins: dict[str, np.ndarray]
    people: np.ndarray
    alpha: Alpha

    @classmethod
    def of(cls, design: Design, seed: int, n_studies: int) -> Studies:
        """So many studies of a design."""
        table = AltTestTable.of(design.draw(seed, n_studies), design.settings)
        n, m = table.ratings.n_items, len(table.humans)
        wins = {}
        for name in design.judges:
            compared = table.rule.compare(table.panel, labels_of(table.ratings.answers, table.judge_code(name)))
            group = table.panel.item[compared.row] * m + table.panel.annotator[compared.row]
            wins[name] = compared.counts(group, n * m).reshape(n_studies, design.n_items, m, 3)
        scale, values = table.ratings.scale, table.ratings.values
        alpha = (
            Alpha.of("interval", np.empty(0), table.ratings.centre) if scale.numeric else Alpha.of("nominal", values)
        )
        people = alpha.moments(table.ratings.only(table.humans).answers)
        return cls(wins, people.reshape(n_studies, design.n_items, -1), alpha)


def intervals(studies: Studies, i: int, design: Design, truth: Mapping[str, np.ndarray], alpha: float) -> Iterator[Row]:
    """Name, low, high and true value of every interval of a study, made as `assay.compare_judges` makes them."""
    unit = design.unit_of_item
    n_units, settings = int(unit.max()) + 1, design.settings
    wins = [one[i] for one in studies.wins.values()]
    tested = [np.flatnonzero(one.sum(axis=(0, 2)) >= 2) for one in wins]
    sums = [
        add_rows(one[:, which].reshape(len(one), -1), unit, n_units) for one, which in zip(wins, tested, strict=True)
    ]  # fmt: skip
    statistic = SideBySide(tuple(map(len, tested)), tuple(one.shape[1] for one in sums))
    found = estimate_sums(statistic, np.concatenate(sums, axis=1), settings, transform=statistic.transforms)
    edges = np.cumsum([0, *(2 + len(which) for which in tested)])
    for name, which, first in zip(design.judges, tested, edges, strict=False):
        names = ["ρ", *["ρ of an annotator"] * len(which), "mean difference"]
        true = truth[name][np.concatenate([[0], 1 + which, [-1]])]
        place = slice(first, first + len(names))
        yield from zip(names, found.low[place], found.high[place], true, strict=True)
    joint = found.part(edges[:-1])
    judges, order = list(design.judges), np.argsort(-joint.value, kind="stable")
    best, second = truth[judges[order[0]]][0], truth[judges[order[1]]][0]
    yield "leader", *joint[int(order[0])].interval(1 - 0.05 / len(judges)), best
    lead = joint.contrast(np.eye(len(joint))[order[0]] - np.eye(len(joint))[order[1]], "difference")
    yield "lead", lead.low[0], lead.high[0], best - second
    people = Sums(studies.alpha, add_rows(studies.people[i], unit, n_units), (design.n_items,), "items")
    agreement = people.estimate(IntervalSettings(method="jackknife"), "fisher")[0]
    yield "human agreement", agreement.low, agreement.high, alpha


def coverage(design: Design, n_studies: int = N_STUDIES, seed: int = SEED) -> dict[str, tuple[float, float]]:
    """Share of the intervals given that hold the true value, and the share given, by name."""
    many = Studies.of(design, seed, max(1, N_TRUE // design.n_items))
    truth = {
        name: AdvantageProbability(wins.shape[2]).value(wins.sum(axis=(0, 1)).ravel())
        for name, wins in many.wins.items()
    }
    alpha = float(many.alpha.value(many.people.sum(axis=(0, 1)))[0])
    inside, given, asked = (dict.fromkeys(INTERVALS, 0) for _ in range(3))
    studies = Studies.of(design, seed + 1, n_studies)
    for i in range(n_studies):
        for name, low, high, true in intervals(studies, i, design, truth, alpha):
            asked[name] += 1
            given[name] += not np.isnan(low)
            inside[name] += low <= true <= high
    return {name: (inside[name] / max(given[name], 1), given[name] / max(asked[name], 1)) for name in INTERVALS}


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    print("| studies | " + " | ".join(INTERVALS) + " | without an interval |")
    print("|" + "---|" * (len(INTERVALS) + 2))
    for design in designs():
        if wanted not in design.name:
            continue
        found = coverage(design)
        lacking = [f"{name} {1 - given:.2f}" for name, (_, given) in found.items() if given < 0.995]
        cells = [f"{share:.3f}" if given else "—" for share, given in found.values()]
        print(f"| {design.name} | " + " | ".join(cells) + f" | {', '.join(lacking)} |", flush=True)


if __name__ == "__main__":
    main()
