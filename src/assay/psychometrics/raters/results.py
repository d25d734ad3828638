"""Results of a fit: diagnostics, groups of annotators, ideal ratings of cells, traits of subjects."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl

from assay.estimation.intervals import adjust_p
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import Density, point_probabilities
from assay.psychometrics.raters.fit import MOST_DRIFT, MOST_RHAT, STEEP, Chains, RaterFit, drift, rhat_and_samples
from assay.psychometrics.raters.linear import LinearDensity, linear_ideal, linear_predictive, linear_traits
from assay.statistics.means import WelchDifference

# -- May the fit be trusted ------------------------------------------------------------------------

LEAST_OF_CHAIN = 100
"""Effective draws a chain, at least (Vehtari et al. 2021)."""

MOST_DIVERGENCES = 0.001
"""Share of draws: a few diverge by chance in long chains; more say that a part of the posterior was not reached."""

SIMULATED, LEAST_TABLES = 2_000_000, 120
"""Labels drawn for the predictive check, about; tables, at least, so that a p-value can be below `UNLIKELY`."""

LEAST_OF_GROUP = 2
"""Annotators per compared group, at least: one has no variance between annotators."""

UNLIKELY, FAR = 0.01, 0.05
"""Misfit: the p-value is at most the first, and shares of labels differ by more than the second."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Convergence diagnostics.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a quantity that is reported: ``quantity``, ``annotator``, ``rhat``, ``effective_draws``; empty with
        ``quick``.
    divergences : int or None
    problems : tuple of str
        Reasons if the fit did not converge.
    """

    rows: pl.DataFrame
    divergences: int | None
    problems: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.problems


def diagnose(found: RaterFit) -> Diagnostics:
    """R-hat, effective draws and divergences of the reported quantities; with ``quick``, whether the mode was
    reached."""
    types = {"quantity": pl.String, "annotator": pl.String, "rhat": pl.Float64, "effective_draws": pl.Float64}
    if found.chains is None:
        if found.sampled:
            return Diagnostics(pl.DataFrame(schema=types), None, tuple(_drifting(found)))
        best = found.modes[0]
        left = f"the fit stopped before a maximum: a gradient of {best.steepness:.2g} is left, and {STEEP:g} may be"
        return Diagnostics(pl.DataFrame(schema=types), None, () if best.arrived else (left,))
    layout, raters = found.density.layout, found.table.raters
    phi, psi = layout.severity(found.chains.x), layout.variability(found.chains.x)
    quantities = {"severity": phi.mean(axis=-2), "variability": psi.mean(axis=-2)}
    for g, group in enumerate(found.table.groups[1:], 1):
        quantities |= {f"severity, {group}": phi[:, :, g] - phi[:, :, 0]}
        quantities |= {f"variability, {group}": psi[:, :, g] - psi[:, :, 0]}
    rows = []
    for name, values in quantities.items():
        rhat, size = rhat_and_samples(values)
        rows += [
            {"quantity": name, "annotator": r, "rhat": a, "effective_draws": n}
            for r, a, n in zip(raters, rhat.tolist(), size.tolist(), strict=True)
        ]
    frame = pl.DataFrame(rows, schema=types).fill_nan(None)
    return Diagnostics(frame, found.chains.divergences, tuple(convergence_problems(found.chains, frame)))


def _drifting(found: RaterFit) -> Iterator[str]:
    """Why the draws of a crowd cannot be used."""
    apart = np.stack([drift(found.severity.replicates), drift(np.log(found.variability.replicates))])
    if not apart.max() < MOST_DRIFT:
        rater = found.table.raters[int(apart.max(axis=0).argmax())]
        yield (
            f"the two halves of the draws of {rater} differ by {apart.max():.2f} standard deviations; less than "
            f"{MOST_DRIFT:g} is required"
        )


def convergence_problems(found: Chains, rows: pl.DataFrame) -> list[str]:
    """Why the draws of these chains cannot be used: R-hat, effective draws (both in ``rows``) and divergences."""
    problems = []
    chains, draws, _ = found.x.shape
    worst = rows.filter(pl.col("rhat") > MOST_RHAT).sort("rhat", descending=True)
    if worst.height:
        problems.append(
            f"R-hat is {worst['rhat'][0]:.3f} for the {worst['quantity'][0]} of {worst['annotator'][0]}"
            f"{f' and above {MOST_RHAT} for {worst.height - 1} more' if worst.height > 1 else ''}"
        )
    least = rows.sort("effective_draws").head(1)
    if least.height and (least["effective_draws"][0] or 0.0) < LEAST_OF_CHAIN * chains:
        problems.append(
            f"the {least['quantity'][0]} of {least['annotator'][0]} has {least['effective_draws'][0] or 0:.0f} "
            f"effective draws, and {LEAST_OF_CHAIN * chains} are wanted"
        )
    if found.divergences > MOST_DIVERGENCES * chains * draws:
        problems.append(f"{found.divergences} of {chains * draws:,} draws diverged")
    return problems


def modes_frame(found: RaterFit) -> pl.DataFrame:
    """One row per mode: its share of the mass, and the largest differences of its φ and ψ from the best."""
    best, layout = found.modes[0], found.density.layout
    share = np.exp([m.evidence - best.evidence for m in found.modes])
    rows = [
        {
            "mode": n + 1,
            "log_posterior": m.log_posterior - best.log_posterior,
            "share": float(share[n] / share.sum()),
            "starts": m.found,
            "severity_apart": float(np.abs(layout.severity(m.x) - layout.severity(best.x)).max()),
            "variability_apart": float(
                layout.unit * np.abs(np.exp(layout.variability(m.x)) - np.exp(layout.variability(best.x))).max()
            ),
        }
        for n, m in enumerate(found.modes)
    ]
    return pl.DataFrame(rows)


# -- Groups of annotators ----------------------------------------------------------------------------

GROUPS: Mapping[str, Any] = {
    **dict.fromkeys(("quantity", "group", "other"), pl.String), **dict.fromkeys(("annotators", "others"), pl.Int64),
    **dict.fromkeys(("mean", "mean_other", "estimate", "low", "high", "p", "p_adjusted"), pl.Float64),
    "significant": pl.Boolean, "reason": pl.String,
}  # fmt: skip


def between_groups(found: RaterFit, groups: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Compare the means of φ and of ln ψ of two groups of raters by Welch's t: raters are a sample of their group."""
    level, raters = found.settings.confidence, np.array(found.table.raters)
    rows = []
    for quantity, value in (("severity", found.severity.value), ("variability", np.log(found.variability.value))):
        back = np.exp if quantity == "variability" else np.asarray
        each = {name: value[np.isin(raters, list(who))] for name, who in groups.items()}
        for group, other in itertools.combinations(each, 2):
            x, y = each[group], each[other]
            row = {"quantity": quantity, "group": group, "other": other, "annotators": len(x), "others": len(y)}
            row |= {name: float(back(v.mean())) for name, v in (("mean", x), ("mean_other", y)) if len(v)}
            if min(len(x), len(y)) < LEAST_OF_GROUP:
                row["reason"] = f"a group has fewer than {LEAST_OF_GROUP} annotators"
            else:
                apart = WelchDifference.of(x, y)
                low, high = (float(back(end)) for end in apart.interval(level))
                row |= {"estimate": float(back(apart.estimate)), "low": low, "high": high, "p": apart.p()}
            rows.append(row)
    frame = pl.DataFrame(rows, schema=GROUPS)
    adjusted = adjust_p(frame["p"].to_numpy().astype(float), "holm")
    frame = frame.with_columns(p_adjusted=pl.Series(adjusted, dtype=pl.Float64).fill_nan(None))
    return frame.with_columns(significant=pl.col("p_adjusted") <= 1 - level)


# -- The posterior predictive check ---------------------------------------------------------------------


def predictive(found: RaterFit) -> pl.DataFrame:
    """Predictive check: how often labels drawn from the model deviate from its expectation as much as the real ones.

    Returns
    -------
    polars.DataFrame
        ``annotator``, ``p`` (of χ² between a rater's counts of categories and those expected, Gelman, Meng and Stern
        1996) and ``misfit``, the share of labels that would have to be others for counts as expected.
    """
    table = found.table
    n = int(np.clip(SIMULATED // max(len(table), 1), LEAST_TABLES, 200))
    if isinstance(found.density, LinearDensity):
        return linear_predictive(found.density, found.spread_draws(n), found.settings.seed)
    rng = np.random.default_rng(np.random.SeedSequence(found.settings.seed, spawn_key=(10,)))
    observed = _tally(table.rater, cast("Ints", table.value), len(table.raters), table.n_categories)
    beyond, expected = np.zeros(len(table.raters)), np.zeros(observed.shape)
    draws = found.spread_draws(n)
    for x in draws:
        mean, drawn = _simulate(found.density, x, rng)
        expected += mean / len(draws)
        beyond += _distance(drawn, mean) >= _distance(observed, mean)
    total = observed.sum(axis=1)
    return pl.DataFrame(
        {
            "annotator": table.raters,
            "p": (1 + beyond) / (1 + len(draws)),
            "misfit": np.abs(observed - expected).sum(axis=1) / 2 / total,
        }
    )


def _simulate(density: Density, x: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Counts by rater and category: expected, and of newly drawn labels."""
    table, cells = density.table, density.table.cells
    _, _, detection = density.detection(x, np)
    detect = np.exp(detection).reshape(table.n_blocks, len(table.raters), *detection.shape[1:])
    ideal = np.zeros(len(cells.kind), dtype=np.int64)
    marginal = np.zeros((table.n_blocks, table.n_categories))
    block = cells.block[cells.kind]
    for grid in density.grids:
        share, weight = density.ideal(x, np, grid), np.exp(grid.traits.log_weights)
        marginal[grid.blocks] = np.einsum("q,bqk->bk", weight, share)
        point = rng.choice(len(weight), size=len(table.subjects), p=weight / weight.sum())
        mine = np.flatnonzero(np.isin(cells.criterion, grid.traits.criteria))
        of_cell = share[np.searchsorted(grid.blocks, block[mine]), point[cells.subject[mine]]]
        ideal[mine] = _draw_categories(of_cell, rng)
    drawn = _draw_categories(detect[table.block, table.rater, :, ideal[table.cell]], rng)
    often = np.einsum("brkx,bx->brk", detect, marginal)
    seen = np.bincount(table.block * len(table.raters) + table.rater, minlength=often.shape[0] * often.shape[1])
    mean = (often * seen.reshape(often.shape[:2])[:, :, None]).sum(axis=0)
    return mean, _tally(table.rater, drawn, len(table.raters), table.n_categories)


def _draw_categories(p: Floats, rng: np.random.Generator) -> Ints:
    """One category a row."""
    at = np.cumsum(p, axis=1)
    return np.asarray(np.minimum((rng.random((len(p), 1)) * at[:, -1:] > at).sum(axis=1), p.shape[1] - 1))


def _tally(rater: Ints, value: Ints, n: int, k: int) -> Floats:
    return np.bincount(rater * k + value, minlength=n * k).reshape(n, k).astype(float)


def _distance(counts: Floats, mean: Floats) -> Floats:
    return np.asarray(((counts - mean) ** 2 / np.maximum(mean, 1e-9)).sum(axis=1))


# -- Ideal ratings and traits, which were summed and integrated out -----------------------------------

AVERAGED = 40
"""Draws over which posteriors of ideal ratings are averaged: their spread between draws is small compared with the
posterior's."""

PIECE = 20_000
"""Cells at a time, so that (cells, points, categories) stays near 20 MB."""


def ideal_ratings(found: RaterFit) -> pl.DataFrame:
    """The posterior of each cell's ideal rating, as the label that the average rater gives to it.

    ξ itself is identified up to a shift compensated by η; the average rater's rating is the same in every mode.

    Returns
    -------
    polars.DataFrame
        ``item``, ``criterion``, ``ideal`` (the most probable label), ``certainty`` (its probability), ``expected`` and
        ``sd`` (numbers, before rounding to a label, with standard deviation), ``labels``. In the linear model ``ideal``
        is the number, without ``certainty`` and ``expected``.
    """
    if isinstance(found.density, LinearDensity):
        return linear_ideal(found.density, found.spread_draws(AVERAGED))
    table, cells = found.table, found.table.cells
    p = np.zeros((len(cells.kind), table.n_categories))
    first, second = np.zeros((2, len(p)))
    draws = found.spread_draws(AVERAGED)
    for x in draws:
        mine, said = _cell_posteriors(found.density, x), _average_label(found.density, x)
        each = said[cells.block[cells.kind]]
        p += _label_shares(found.density, mine, said) / len(draws)
        first += (mine * each).sum(axis=1) / len(draws)
        second += (mine * each**2).sum(axis=1) / len(draws)
    low = np.array([c[0] if isinstance(c[0], int) else 0 for c in table.categories])[cells.criterion]
    best = p.argmax(axis=1)
    rows = {
        "item": [table.items[i] for i in cells.item],
        "criterion": pl.Series([table.criteria[j] for j in cells.criterion], dtype=pl.String),
        "ideal": pl.Series([str(table.categories[j][k]) for j, k in zip(cells.criterion, best, strict=True)]),
        "certainty": p[np.arange(len(p)), best],
        "expected": low + first,
        "sd": np.sqrt(np.maximum(second - first**2, 0)),
        "labels": np.diff(cells.start)[cells.kind],
    }
    frame = pl.DataFrame(rows)
    return frame.drop("criterion") if table.criteria == (None,) else frame


def _label_shares(density: Density, p: Floats, said: Floats) -> Floats:
    """Probabilities of ideal ratings as those of the labels that the average rater gives to them."""
    k = density.table.n_categories
    to_label = (np.rint(said)[:, :, None] == np.arange(k)) & density.valid[:, :, None]
    cells = density.table.cells
    block = cells.block[cells.kind]
    found = np.zeros_like(p)
    for b in range(density.table.n_blocks):
        found[block == b] = p[block == b] @ to_label[b]
    return found


def traits(found: RaterFit) -> pl.DataFrame:
    """The posterior of each subject's trait: ``subject``, ``trait``, ``estimate``, ``sd``; none without traits."""
    if isinstance(found.density, LinearDensity):
        return linear_traits(found.density, found.spread_draws(AVERAGED))
    grids, draws = found.density.grids, found.spread_draws(AVERAGED)
    # Mean and mean square of each trait: (2, units, traits) a grid.
    moments = [np.zeros((2, len(grid.patterns), len(grid.traits.names))) for grid in grids]
    for x in draws:
        for grid, unit, sums in zip(grids, found.density.evaluate(x).unit, moments, strict=True):
            if grid.traits.names:
                weight = point_probabilities(unit)
                sums += np.stack([weight @ grid.traits.points**power for power in (1, 2)]) / len(draws)
    types = {"subject": pl.String, "trait": pl.String, "estimate": pl.Float64, "sd": pl.Float64}
    parts = [pl.DataFrame(schema=types)]
    for grid, sums in zip(grids, moments, strict=True):
        there = np.flatnonzero(grid.kind >= 0)
        for d, name in enumerate(grid.traits.names):
            mean, square = sums[:, grid.kind[there], d]
            subjects = [str(found.table.subjects[s]) for s in there]
            columns = (subjects, [name] * len(there), mean, np.sqrt(square - mean**2))
            parts.append(pl.DataFrame(dict(zip(types, columns, strict=True)), schema=types))
    return pl.concat(parts)


def _cell_posteriors(density: Density, x: Floats) -> Floats:
    """p(ξ | all labels) of every cell: (all cells, categories)."""
    cells, stages = density.table.cells, density.evaluate(x)
    found = np.zeros((len(cells.kind), density.table.n_categories))
    for i, grid in enumerate(density.grids):
        mine = np.flatnonzero(np.isin(cells.criterion, grid.traits.criteria))
        for start in range(0, len(mine), PIECE):
            some = mine[start : start + PIECE]
            kind = cells.kind[some]
            at = np.searchsorted(grid.cells, kind)
            weight = np.ones((len(some), 1))
            if grid.traits.names:
                weight = point_probabilities(stages.unit[i][grid.kind[cells.subject[some]]])
            share = stages.ideal[i][grid.block_of_cell[at]]
            p = np.einsum("uq,uqk->uk", weight / stages.mixed[i][at], share) * stages.likelihood[kind]
            found[some] = p / p.sum(axis=1, keepdims=True)
    return found


def _average_label(density: Density, x: Floats) -> Floats:
    """The label that the average rater would give at each ideal rating, from 0: (blocks, categories)."""
    layout, k = density.layout, np.arange(density.table.n_categories)
    shape = (density.table.n_blocks, len(density.table.raters))
    phi = (layout.phi @ x).reshape(shape).mean(axis=1)
    psi = np.exp(density.log_psi(x, np).reshape(shape).mean(axis=1))
    log_p = -0.5 * ((k[None, :, None] - k[None, None, :] - phi[:, None, None]) / psi[:, None, None]) ** 2
    p = np.where(density.valid[:, :, None], np.exp(log_p - log_p.max(axis=1, keepdims=True)), 0.0)
    return np.asarray((k[None, :, None] * p).sum(axis=1) / p.sum(axis=1))


def ideal_shares(found: RaterFit) -> Floats:
    """How often each label is the ideal one, as the average rater says it: (criteria, categories)."""
    assert isinstance(found.density, Density)
    table, cells = found.table, found.table.cells
    total = np.zeros((len(table.criteria), table.n_categories))
    draws = found.spread_draws(AVERAGED // 4)
    for x in draws:
        mine = _cell_posteriors(found.density, x)
        np.add.at(total, cells.criterion, _label_shares(found.density, mine, _average_label(found.density, x)))
    return np.asarray(total / total.sum(axis=1, keepdims=True))
