"""Forty random designs of two to four facets, each fitted as by lme4.

Designs, labels and formulas come from a seed. ``python tests/psychometrics/test_random_designs.py`` writes the labels
where it is told, has lme4 fit them (R 4.2.2, lme4 1.1-31, Debian's ``r-cran-lme4``), and keeps its figures in
``random_designs.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tables import table

from assay.psychometrics.design import parse
from assay.psychometrics.g_study import g_study

RECORDED = Path(__file__).with_suffix(".json").with_name("random_designs.json")
DESIGNS = 40

Nests = dict[str, frozenset[str]]


def drawn_design(rng: np.random.Generator) -> tuple[str, Nests]:
    """A design's text and what each facet is nested in, joined at random from its facets."""
    n = int(rng.choice([2, 3, 3, 4, 4]))
    parts: list[tuple[str, Nests]] = [(f, {f: frozenset()}) for f in "abcd"[:n]]
    while len(parts) > 1:
        # Whatever two parts are joined, the brackets keep them as they are.
        (one, first), (other, second) = (parts.pop(int(rng.integers(len(parts)))) for _ in range(2))
        if rng.random() < 0.5:
            joined = {**first, **second}
            text = f"{_within(one, len(first))} x {_within(other, len(second))}"
        else:
            joined = {f: nest | frozenset(second) for f, nest in first.items()} | second
            text = f"{_within(one, len(first))}:{_within(other, len(second))}"
        parts.append((text, joined))
    return parts[0]


def _within(text: str, facets: int) -> str:
    return text if facets == 1 else f"({text})"


def index_sets(nests: Nests) -> list[frozenset[str]]:
    """The facets that index each effect: sets that hold, with a facet, all that it is nested in."""
    found = []
    for size in range(1, len(nests) + 1):
        found += [frozenset(s) for s in combinations(sorted(nests), size) if all(nests[f] <= set(s) for f in s)]
    return found


def drawn_labels(seed: int) -> tuple[str, Nests, bool, pl.DataFrame]:
    """A design, whether its cells hold several labels, and labels: about two thirds of the designs lose some."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(23,)))
    text, nests = drawn_design(rng)
    # Enough levels that each variance has its differences, few enough that lme4 is quick.
    sizes = {f: int(rng.integers(4, 7) if len(nests) == 4 else rng.integers(5, 9)) for f in sorted(nests)}
    replicated, missing = rng.random() < 0.4, rng.choice([0.0, 0.1, 0.25])
    effects = index_sets(nests)
    variance = rng.choice([0.0, 0.2, 0.5, 1.0, 2.0], len(effects))
    draws: list[dict[tuple[int, ...], float]] = [{} for _ in effects]
    rows: list[dict[str, Any]] = []
    names = sorted(nests)
    for cell in product(*(range(sizes[f]) for f in names)):
        level = dict(zip(names, cell, strict=True))
        total = 3.0
        for effect, var, drawn in zip(effects, variance, draws, strict=True):
            key = tuple(level[f] for f in sorted(effect))
            total += drawn.setdefault(key, float(np.sqrt(var) * rng.normal()))
        rows += [
            {**level, "label": round(total + float(rng.normal()), 6)}
            for _ in range(2 if replicated else 1) if rng.random() >= missing
        ]  # fmt: skip
    return text, nests, replicated, pl.DataFrame(rows)


def lme4_formula(nests: Nests, replicated: bool) -> str:
    """Every effect with a distinct variance; the highest only where cells hold several labels."""
    effects = index_sets(nests)
    kept = [e for e in effects if replicated or len(e) < len(nests)]
    return "label ~ 1 + " + " + ".join(f"(1 | {':'.join(sorted(e))})" for e in kept)


R = """
library(lme4)
for (k in 0:%d) {
  d <- read.csv(sprintf("%%s/%%d.csv", dir, k)); for (f in setdiff(names(d), "label")) d[[f]] <- factor(d[[f]])
  m <- lmer(as.formula(readLines(sprintf("%%s/%%d.txt", dir, k))), d, control = lmerControl(optimizer = "bobyqa",
    check.nobs.vs.nlev = "ignore", check.nobs.vs.nRE = "ignore", optCtrl = list(rhoend = 1e-8, maxfun = 1e6)))
  v <- as.data.frame(VarCorr(m))
  cat(k, sprintf("%%s=%%.9f", v$grp, v$vcov), sprintf("criterion=%%.9f", REMLcrit(m)), "\\n", sep = ";")
}
"""


def record(folder: Path) -> None:
    """Ask lme4."""
    for k in range(DESIGNS):
        _, nests, replicated, rows = drawn_labels(k)
        rows.write_csv(folder / f"{k}.csv")
        (folder / f"{k}.txt").write_text(lme4_formula(nests, replicated) + "\n")
    script = folder / "fit.R"
    script.write_text(f'dir <- "{folder}"\n' + R % (DESIGNS - 1))
    said = subprocess.run(["Rscript", str(script)], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.strip().splitlines():
        k, *fields = line.strip(";\n ").split(";")
        text = drawn_labels(int(k))[0]
        found[k] = {"design": text, **{n: float(v) for n, v in (f.split("=") for f in fields if "=" in f)}}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


@cache
def recorded() -> dict[str, dict[str, Any]]:
    return json.loads(RECORDED.read_text())


QUICK = 12
"""Designs of the default run; the others are slow, as each is a fit of its own."""


@pytest.mark.parametrize("k", [pytest.param(k, marks=[pytest.mark.slow] * (k >= QUICK)) for k in range(DESIGNS)])
def test_a_random_design_is_fitted_as_by_lme4(k):
    text, nests, replicated, rows = drawn_labels(k)
    wanted = dict(recorded()[str(k)])
    assert wanted.pop("design") == text
    criterion, error = wanted.pop("criterion"), wanted.pop("Residual")
    assert {e.index for e in parse(text).effects} == set(index_sets(nests))
    labels = table([{"annotator": "r", **row} for row in rows.iter_rows(named=True)])
    # The facet that is nested in least is measured, as people are.
    measured = min(nests, key=lambda f: (len(nests[f]), f))
    found = g_study(labels, text, measured, method="none").studies[0]
    design = parse(text)
    names = {":".join(sorted(e.index)): e.name for e in design.effects}
    mine = {c.name: c.variance.estimate for c in found.components}
    assert found.components[-1].name == ("e" if replicated else f"{design.effects[-1].name},e")
    scale = sum(wanted.values()) + error
    for index, variance in wanted.items():
        assert mine.pop(names[":".join(sorted(index.split(":")))]) == pytest.approx(
            variance, rel=1e-3, abs=1e-3 * scale
        )
    assert mine.pop(found.components[-1].name) == pytest.approx(error, rel=1e-3)
    assert not mine
    assert found.deviance == pytest.approx(criterion, abs=2e-3)


@pytest.mark.slow
def test_the_forty_have_every_kind_of_design():
    """Crossed, nested, nested in a crossing, a crossing nested; with missing cells and with replicates."""
    kinds = list(_kinds())
    assert sum("in a crossing" in k for k in kinds) >= 4
    assert sum("of crossed" in k for k in kinds) >= 4
    assert sum("replicated" in k for k in kinds) >= 8
    assert sum("complete" in k for k in kinds) >= 8
    assert sum("four" in k for k in kinds) >= 8


def _kinds() -> Iterator[set[str]]:
    for k in range(DESIGNS):
        _, nests, replicated, rows = drawn_labels(k)
        cells = int(np.prod([rows[f].n_unique() for f in nests]))
        found = {"four"} if len(nests) == 4 else set()
        found |= {"replicated"} if replicated else set()
        found |= {"complete"} if len(rows) % cells == 0 else set()
        for f, nest in nests.items():
            if any(a not in nests[b] and b not in nests[a] for a, b in combinations(sorted(nest), 2)):
                found.add("in a crossing")
            if nest and any(g not in nest and f not in nests[g] and nests[g] == nest for g in nests if g != f):
                found.add("of crossed")
        yield found


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    record(where)
