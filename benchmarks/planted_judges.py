"""Verdicts of useless and of honest planted judges. Tables of docs/type-one-error.md.

    python benchmarks/planted_judges.py                 # 20 studies a cell; fifteen minutes
    python benchmarks/planted_judges.py --studies 12    # as in the documents
    python benchmarks/planted_judges.py 95/5 1-5        # the worlds with these names

Every study is made from labels and put to `assay.compare_judges` as a user would put it. Judges: a coin that knows how
common labels are, a constant, the commonest label of each question or of each value of an item column, a copy of one
annotator (whole, or of 80% of the labels) who is good or answers at random, one that looks at a tenth of the items, and
one that errs as people do.
"""

from __future__ import annotations

import argparse
import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations
from assay.data.scales import Nominal, Ordinal, Scale, Text
from assay.replacement.alt_test import AltTest
from assay.similarity.lexical import word_similarity
from type_one_error import show

SEED, EPSILON, LEVEL = 20261122, 0.2, 0.05
SIZES, PANELS = (30, 60, 200), (3, 5, 10)
VERDICTS = ("replace", "do_not_replace", "mixed", "undecided", "not_testable")
WORDS = ("river", "bank", "market", "price", "storm", "cloud", "engine", "wheel")


@dataclass(frozen=True)
class World:
    """Items whose labels are drawn from priors, one for each of several groups of items, and people who err alike.

    Attributes
    ----------
    priors : tuple of tuples
        How common each label is, in each group.
    noise : float
        Probability that a person answers with a draw from the prior.
    spread : float
        Standard deviation of all raters' error on a scale of steps.
    grouped : {"", "question", "column"}
        Whether groups are questions, the suffix of the items' names, or values of an item column.
    """

    name: str
    priors: tuple[tuple[float, ...], ...]
    noise: float = 0.2
    spread: float = 0.0
    grouped: str = ""
    scale: Scale = field(default_factory=lambda: Nominal(("a", "b", "c", "d", "e")))
    options: Mapping[str, Any] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator, group: np.ndarray) -> np.ndarray:
        """A label of each item, from the prior of its group."""
        edges = np.cumsum(np.array(self.priors), axis=1)[group]
        return np.minimum((rng.random(len(group))[:, None] > edges).sum(axis=1), edges.shape[1] - 1)

    def answer(self, rng: np.random.Generator, truth: np.ndarray, group: np.ndarray) -> np.ndarray:
        """What a person says."""
        found = np.where(rng.random(len(truth)) < self.noise, self.draw(rng, group), truth)
        moved = np.rint(found + self.spread * rng.standard_normal(len(truth))).astype(int)
        return np.clip(moved, 0, len(self.priors[0]) - 1)

    def words(self, rng: np.random.Generator, codes: np.ndarray) -> list[Any]:
        """The labels behind codes; texts are five words of which two are the label's own."""
        if isinstance(self.scale, Text):
            stray = rng.choice(WORDS, (len(codes), 3))
            return [" ".join([WORDS[c], WORDS[c + 4], *row]) for c, row in zip(codes.tolist(), stray, strict=True)]
        labels = np.array(self.scale.categories)
        return list(labels[codes].tolist())

    def table(self, rng: np.random.Generator, group: np.ndarray, columns: Mapping[str, np.ndarray]) -> Annotations:
        """Return the codes of all raters as one table; a copy has exactly the copied words."""
        n = len(group)
        items = [f"i{i:04}" for i in range(n)]
        if self.grouped == "question":  # of each text all questions, one after the other
            items = [f"i{i // len(self.priors):04}__q{g}" for i, g in enumerate(group.tolist())]
        said: dict[str, list[Any]] = {}
        for who, codes in columns.items():
            own = self.words(rng, codes)
            if (source := who.split(":")[-1]) in said:  # "80% copy:h0"
                own = [said[source][i] if codes[i] == columns[source][i] else own[i] for i in range(n)]
            said[who] = own
        frame = pl.DataFrame(
            {
                "item": items * len(said),
                "annotator": np.repeat(list(said), n),
                "label": [label for own in said.values() for label in own],
            }
        )
        about = pl.DataFrame({"item": items, "topic": [f"t{g}" for g in group.tolist()]})
        judges = [who for who in said if not who.startswith("h")]
        return Annotations.from_frame(
            frame, judges=judges, scale=self.scale, items=about if self.grouped == "column" else None
        )


WORLDS = (
    World("95/5", ((0.95, 0.05),)),
    World("80/20", ((0.8, 0.2),)),
    World("50/50", ((0.5, 0.5),)),
    World("4 labels", ((0.4, 0.3, 0.2, 0.1),), 0.3),
    World("1-5", ((0.05, 0.1, 0.25, 0.4, 0.2),), 0.1, 0.6, scale=Ordinal(1, 5)),
    World("questions", ((0.9, 0.1), (0.1, 0.9), (0.6, 0.4)), grouped="question"),
    World("column", ((0.9, 0.1), (0.1, 0.9), (0.6, 0.4)), grouped="column"),
    World("texts", ((0.4, 0.3, 0.2, 0.1),), 0.2, scale=Text(), options={"similarity": word_similarity}),
)


def planted(
    world: World, rng: np.random.Generator, truth: np.ndarray, group: np.ndarray, people: np.ndarray
) -> dict[str, np.ndarray]:
    """The judges of a panel: people's labels are (items, people)."""
    n, k = len(truth), len(world.priors[0])
    often = np.bincount(people.ravel(), minlength=k).argmax()
    coin = rng.permutation(world.draw(rng, group))
    copied = people[:, 0]
    judges = {
        "as good": world.answer(rng, truth, group),
        "coin": coin,
        "constant": np.full(n, often),
        "looks at a tenth": np.where(rng.random(n) < 0.1, truth, often),
        "copy:h0": copied,
        "80% copy:h0": np.where(rng.random(n) < 0.8, copied, coin),
    }
    if world.grouped:
        of_group = [np.bincount(people[group == g].ravel(), minlength=k).argmax() for g in range(len(world.priors))]
        judges["constant by group"] = np.array(of_group)[group]
    return judges


def study(world: World, n: int, m: int, rng: np.random.Generator) -> Iterator[tuple[str, AltTest]]:
    """The judges of one study, each tested at its own level; then copies of an annotator who answers at random."""
    group = np.arange(n) % len(world.priors)
    truth = world.draw(rng, group)
    people = np.stack([world.answer(rng, truth, group) for _ in range(m)], axis=1)
    blind = people.copy()
    blind[:, 0] = rng.integers(0, len(world.priors[0]), n)
    for panel, only, of in ((people, None, " of a good one"), (blind, ("copy:h0", "80% copy:h0"), " of a random one")):
        judges = planted(world, rng, truth, group, panel)
        kept = {name: one for name, one in judges.items() if only is None or name in only}
        labels = world.table(rng, group, {**{f"h{j}": panel[:, j] for j in range(m)}, **kept})
        options: dict[str, Any] = {"epsilon": EPSILON, "method": "none", **world.options}
        for name in kept:
            title = name.removesuffix(":h0") + of if name.endswith(":h0") else name
            yield title, assay.alt_test(labels, name, **options)


Cell = tuple[str, str, int, int]


def simulate(worlds: Sequence[World], studies: int) -> tuple[dict[Cell, Counter[str]], dict[Cell, int]]:
    """How often each thing is so, by world, judge, items and people; and of how many studies."""
    found: dict[Cell, Counter[str]] = defaultdict(Counter)
    made: dict[Cell, int] = defaultdict(int)
    for world, n, m in itertools.product(worlds, SIZES, PANELS):
        rng = np.random.default_rng([SEED, zlib.crc32(world.name.encode()), n, m])
        for _ in range(studies):
            for judge, test in study(world, n, m, rng):
                g, cell = test.verdict_tests, (world.name, judge, n, m)
                made[cell] += 1
                found[cell][test.verdict] += 1
                found[cell]["named"] += g.matched_annotator is not None
                found[cell]["as good as half"] += g.p_noninferior <= LEVEL
                found[cell]["looks"] += g.p_item_level <= LEVEL
                found[cell]["keeps"] += g.p_ratio_above <= LEVEL
                found[cell]["all but named"] += max(g.p_noninferior, g.p_item_level, g.p_ratio_above) <= LEVEL
                found[cell]["published"] += bool(test.passed)
        print(f"{world.name}, {n} items, {m} people", flush=True)
    return found, made


def share(found: dict[Cell, Counter[str]], made: dict[Cell, int], what: str, cells: Sequence[Cell]) -> float | str:
    """Over several cells; a dash where there are none."""
    total = sum(made.get(cell, 0) for cell in cells)
    return sum(found[cell][what] for cell in cells if cell in made) / total if total else "—"


def tables(worlds: Sequence[World], studies: int) -> None:
    """Replace by judge and world; an honest judge's grounds; copies that are named; the five answers."""
    found, made = simulate(worlds, studies)
    names, judges = [w.name for w in worlds], list(dict.fromkeys(judge for _, judge, _, _ in made))
    rows = []
    for judge, n in itertools.product([j for j in judges if j != "as good"], SIZES):
        each = [[(w, judge, n, m) for m in PANELS] for w in names]
        worst = max((found[c]["replace"] / made[c] for cells in each for c in cells if c in made), default=0.0)
        rows.append([judge, n, *(share(found, made, "replace", cells) for cells in each), float(worst)])
    show(
        f"Judges worth nothing: replace, ε = {EPSILON:g}, {studies} studies for each number of people",
        ["judge", "items", *names, "worst cell"], rows,
    )  # fmt: skip
    rows = [
        [w, n, m, *(share(found, made, what, [(w, "as good", n, m)]) for what in HONEST)]
        for w, n, m in itertools.product(names, SIZES, PANELS)
    ]
    show("A judge that errs as people do", ["labels", "items", "people", *HONEST], rows)
    rows = [
        [judge, n, *(share(found, made, "named", [(w, judge, n, m) for m in PANELS]) for w in names)]
        for judge, n in itertools.product([j for j in judges if "copy" in j or j == "as good"], SIZES)
    ]
    show("Whose labels are said to be repeated", ["judge", "items", *names], rows)
    rows = []
    for judge, n in itertools.product(judges, SIZES):
        cells = [(w, judge, n, m) for w in names for m in PANELS]
        rows.append([judge, n, *(share(found, made, v, cells) for v in VERDICTS)])
    show("The five answers, over all worlds and panels", ["judge", "items", *VERDICTS], rows)


HONEST = ("as good as half", "looks", "keeps", "all but named", "named", "replace", "published")
"""What is shown of an honest judge: each ground alone, all of them, the leak guard, the verdict, the published rule."""


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("worlds", nargs="*")
    asked.add_argument("--studies", type=int, default=20)
    given = asked.parse_args()
    tables([w for w in WORLDS if not given.worlds or w.name in given.worlds], given.studies)


if __name__ == "__main__":
    main()
