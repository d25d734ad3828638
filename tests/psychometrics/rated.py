"""Tables of raters with a known truth: the hierarchical rater model, drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations
from assay.estimation.intervals import Estimate
from assay.estimation.result import Run
from assay.psychometrics.raters.density import Density, Layout
from assay.psychometrics.raters.fairness import Fairness
from assay.psychometrics.raters.fit import Chains, Mode, RaterFit
from assay.psychometrics.raters.model import RaterModel
from assay.psychometrics.raters.rasch import FacetRasch
from assay.psychometrics.raters.results import Diagnostics
from assay.psychometrics.raters.table import RaschSettings, RaterSettings, RaterTable


@dataclass(frozen=True)
class Truth:
    """A table, and what it was drawn from."""

    labels: Annotations
    phi: np.ndarray
    psi: np.ndarray
    ideal: np.ndarray


def rated(
    n_items: int = 60,
    phi: Sequence[float] = (-0.5, 0.0, 0.5, -0.25, 0.25),
    psi: Sequence[float] = (0.4, 0.5, 0.6, 0.8, 0.5),
    *,
    criteria: int = 1,
    categories: int = 5,
    gap: float = 0.0,
    bias: dict[int, float] | None = None,
    seen: float = 1.0,
    slope: float = 1.2,
    seed: int = 0,
) -> Truth:
    """Labels by the model: people, the last rater a judge.

    ``gap`` moves the second group's trait, ``bias`` the named raters' severity with it; ``seen`` is the share of items
    that a rater labels.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(n_items) % 2
    theta = rng.normal(size=n_items) - gap * group
    k = np.arange(categories)
    step = np.linspace(-1.2, 1.2, categories - 1)
    height = np.concatenate([[0.0], np.cumsum(step)])
    names = [f"ann_{r + 1}" for r in range(len(phi) - 1)] + ["gpt"]
    rows, kept = [], np.zeros((n_items, criteria), dtype=int)
    for j in range(criteria):
        logits = slope * theta[:, None] * k - height
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        kept[:, j] = (rng.random((n_items, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, categories - 1)
        for r, name in enumerate(names):
            center = kept[:, j] + phi[r] + (bias or {}).get(r, 0.0) * group
            q = np.exp(-0.5 * ((k - center[:, None]) / psi[r]) ** 2)
            q /= q.sum(axis=1, keepdims=True)
            label = (rng.random((n_items, 1)) > np.cumsum(q, axis=1)).sum(axis=1).clip(0, categories - 1)
            rows += [
                {"item": f"i{i:04d}", "annotator": name, "criterion": f"c{j + 1}", "label": int(label[i]) + 1}
                for i in np.flatnonzero(rng.random(n_items) < seen)
            ]
    frame = pl.DataFrame(rows)
    if criteria == 1:
        frame = frame.drop("criterion")
    items = pl.DataFrame(
        {"item": [f"i{i:04d}" for i in range(n_items)], "dialect": [["north", "south"][g] for g in group]}
    )
    labels = assay.read(frame, judges=["gpt"], scale=f"1-{categories}", items=items)
    truth = np.array(phi) + np.array([(bias or {}).get(r, 0.0) for r in range(len(phi))]) / 2
    return Truth(labels, truth - truth.mean(), np.array(psi), kept)


def crowd(
    n_raters: int = 60, n_items: int = 80, each: int = 4, *, sd: float = 0.5, error: float = 0.8, quality: float = 1.0,
    categories: int = 5, most: tuple[int, int] | None = None, seed: int = 0,
) -> Truth:  # fmt: skip
    """Labels by raters with few labels each: quality, severity and error on a line, rounded to 1 to ``categories``.

    ``most`` is the range of the largest numbers of labels per rater; an item then has fewer labels at the end.
    """
    rng = np.random.default_rng(seed)
    values, phi, rows = rng.normal((1 + categories) / 2, quality, n_items), rng.normal(0, sd, n_raters), []
    left = np.full(n_raters, n_items) if most is None else rng.integers(most[0], most[1] + 1, n_raters)
    for i in range(n_items):
        free = np.flatnonzero(left)
        for r in rng.choice(free, min(each, len(free)), replace=False):
            left[r] -= 1
            label = int(np.clip(round(values[i] + phi[r] + rng.normal(0, error)), 1, categories))
            rows.append({"item": f"i{i:03d}", "annotator": f"r{r:03d}", "label": label})
    labels = assay.read(pl.DataFrame(rows), scale=f"1-{categories}")
    phi = np.array([phi[int(name[1:])] for name in labels.humans])
    return Truth(labels, phi - phi.mean(), np.full(len(phi), error), values)


def lessons(
    phi: Sequence[float] = (-0.6, 0.0, 0.6, -0.3, 0.3, 0.0),
    *,
    parties: int = 1,
    teachers: int = 60,
    criteria: int = 3,
    categories: int = 4,
    seed: int = 0,
) -> Truth:
    """Lessons of teachers, each lesson with one rater who labels three segments of it: repeats of one item.

    Raters of a party see the same teachers; parties share none.
    """
    rng = np.random.default_rng(seed)
    k, psi, step = np.arange(categories), np.full(len(phi), 0.6), np.linspace(-1.0, 1.0, categories - 1)
    height = np.concatenate([[0.0], np.cumsum(step)])
    rows, kept = [], []
    for t in range(teachers):
        theta = rng.normal()
        for n, r in enumerate(r for r in range(len(phi)) if r % parties == t % parties):
            for j in range(criteria):
                ideal = _drawn(1.2 * theta * k - height, rng)
                kept.append(ideal)
                rows += [
                    {"item": f"t{t:02d}-{n}", "teacher": f"t{t:02d}", "annotator": f"r{r + 1}",
                     "criterion": f"c{j + 1}", "segment": s,
                     "label": 1 + _drawn(-0.5 * ((k - ideal - phi[r]) / psi[r]) ** 2, rng)}
                    for s in range(3)
                ]  # fmt: skip
    frame = pl.DataFrame(rows)
    labels = assay.read(
        frame.drop("teacher"), repeat="segment", scale=f"1-{categories}", items=frame.select("item", "teacher").unique()
    )
    return Truth(labels, np.array(phi) - np.mean(phi), psi, np.array(kept))


def _drawn(log_p: np.ndarray, rng: np.random.Generator) -> int:
    p = np.exp(log_p - log_p.max())
    return int(min((rng.random() > np.cumsum(p / p.sum())).sum(), len(p) - 1))


# -- fits that are known ----------------------------------------------------------------------------------


def planted(
    phi: Any, *, log_psi: Any = None, spread: Any = 0.0, draws: Any = None, judges: Sequence[int] = (),
    compared: Any = None, sizes: Sequence[int] = (), counts: Any = None, chains: Chains | None = None, **options: Any,
) -> RaterFit:  # fmt: skip
    """A fit of raters a, b, … to groups n, s, t, whose parameters are φ, (groups, criteria, raters), and then ln ψ.

    Its draws are those given of φ, or 2,000 around it with these standard deviations. ``sizes`` and ``counts`` are
    numbers of subjects by group, and of labels by group and rater: 40 and 40 if not given.
    """
    phi = np.array(phi, dtype=float)
    groups, criteria, raters = shape = phi.shape
    n, judge = phi.size, np.isin(np.arange(raters), judges)
    sizes, counts = sizes or (40,) * groups, np.full((groups, raters), 40) if counts is None else np.array(counts)
    first = np.cumsum([0, *sizes])
    rows = [(first[g] + k % sizes[g], r, g) for g in range(groups) for r in range(raters) for k in range(counts[g, r])]
    rows += [(first[g] + k, 0, g) for g in range(groups) for k in range(counts[g].max(), sizes[g])]
    item, rater, group = map(np.array, zip(*rows, strict=True))
    items = tuple(f"i{k}" for k in range(first[-1]))
    table = RaterTable(
        tuple("abcdefgh"[:raters]), judge, (None,) if criteria == 1 else tuple(f"c{j}" for j in range(criteria)),
        ((1, 2, 3),) * criteria, ("n", "s", "t")[:groups], item, 0 * item, rater, item % 3, group,
        item, items, items, "",
    )  # fmt: skip
    identity, none = np.identity(n), np.zeros((n, n))
    plan = Layout(
        np.hstack([identity, none]), np.hstack([none, identity]), np.full((groups * criteria, 2), -1), (),
        np.zeros(2 * n), np.ones(2 * n), ("phi",) * n + ("psi",) * n,
        np.ones((groups, raters), dtype=bool) if compared is None else np.array(compared, dtype=bool), shape,
    )  # fmt: skip
    psi = np.zeros(n) if log_psi is None else np.ravel(log_psi)
    x = np.concatenate([phi.ravel(), psi])
    if draws is None:
        away = np.random.default_rng(0).normal(size=(2000, n)) * np.broadcast_to(spread, shape).ravel()
        draws = phi.ravel() + away - away.mean(axis=0)
    draws = np.reshape(draws, (-1, n))
    every = np.hstack([draws, np.broadcast_to(psi, draws.shape)])
    best = Mode(x, 0.0, np.identity(2 * n), 0.0, 1, 0.0)
    return RaterFit(Density(table, plan), (best,), chains, every, RaterSettings(**{"group": "dialect", **options}))


def model_of(
    fit: RaterFit, *, modes: pl.DataFrame | None = None, checked: pl.DataFrame | None = None,
    problems: Sequence[str] = (), fair: Fairness | None = None,
) -> RaterModel:  # fmt: skip
    """A model of this fit, with a note, a caution and something left out."""
    value = fit.severity.value
    psi = fit.variability.value
    rows = pl.DataFrame({
        "annotator": fit.table.raters, "estimate": value, "low": value - 1, "high": value + 1, "p_adjusted": 1.0,
        "psi": psi, "psi_low": psi / 2, "psi_high": 2 * psi, "fit_p": 1.0, "misfit": 0.0,
    })  # fmt: skip
    types = {"quantity": pl.String, "annotator": pl.String, "rhat": pl.Float64, "effective_draws": pl.Float64}
    one = {"mode": [1], "share": [1.0], "severity_apart": [0.0], "variability_apart": [0.0]}
    told = Diagnostics(pl.DataFrame(schema=types) if checked is None else checked, 0, tuple(problems))
    run = Run("rater-model", fit.settings, "f", {}, "by hand", (7,), ("note",), ("careful",))
    modes = pl.DataFrame(one) if modes is None else modes
    return RaterModel(rows, modes, pl.DataFrame(), told, fair, None, run, fit)


def facet_rasch_of(rows: pl.DataFrame | None = None, **given: Any) -> FacetRasch:
    """A many-facet Rasch model with these tables, a note, a caution and something left out."""
    numbers = ("estimate", "low", "high", "p_adjusted", "infit", "fit_p")
    types = {"annotator": pl.String, **dict.fromkeys(numbers, pl.Float64)}
    bias = {"annotator": pl.String, "criterion": pl.String, "estimate": pl.Float64, "p_adjusted": pl.Float64}
    usual = {
        "rows": pl.DataFrame(schema=types) if rows is None else rows, "items": pl.DataFrame({"criterion": ["all"]}),
        "subjects": pl.DataFrame(), "bias": pl.DataFrame(schema=bias), "separation": pl.DataFrame({"facet": []}),
        "spread": Estimate(1.0, 0.5, 1.5, 0.2), "converged": True,
        "run": Run("facet-rasch", RaschSettings(), "f", {}, "by hand", (7,), ("note",), ("careful",)),
    }  # fmt: skip
    severity = planted([[[0.0, 0.0]]]).severity
    return FacetRasch(severity=severity, difficulty=severity, **{**usual, **given})
