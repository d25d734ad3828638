"""May the fit be trusted: have the chains met, are there other modes, does the model give labels as raters did?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import Density
from assay.psychometrics.raters.fit import Fit
from assay.psychometrics.raters.modes import STEEP
from assay.psychometrics.raters.sampling import MOST_RHAT, rhat_and_samples

LEAST_OF_CHAIN = 100
"""Effective draws a chain, at least (Vehtari et al. 2021)."""

MOST_DIVERGENCES = 0.001
"""Share of draws."""

SIMULATED, LEAST_TABLES = 2_000_000, 120
"""Labels drawn for the predictive check, about; tables, at least, so that a p-value can be below `UNLIKELY`."""

UNLIKELY, FAR = 0.01, 0.05
"""A rater's labels are not described where a p-value is below the first and shares are off by more than the second."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Whether the numbers are what they claim.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a quantity that is reported: ``quantity``, ``annotator``, ``rhat``, ``effective_draws``; none by the
        quick road.
    divergences : int or None
    problems : tuple of str
        Why the fit did not converge; empty where it did.
    """

    rows: pl.DataFrame
    divergences: int | None
    problems: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.problems


def diagnose(found: Fit) -> Diagnostics:
    """R-hat, effective draws and divergences of what is reported; by the quick road, whether it arrived."""
    types = {"quantity": pl.String, "annotator": pl.String, "rhat": pl.Float64, "effective_draws": pl.Float64}
    if found.chains is None:
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
    return Diagnostics(frame, found.chains.divergences, tuple(_problems(found, frame)))


def _problems(found: Fit, rows: pl.DataFrame) -> list[str]:
    assert found.chains is not None
    problems = []
    chains, draws, _ = found.chains.x.shape
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
    if found.chains.divergences > MOST_DIVERGENCES * chains * draws:
        problems.append(f"{found.chains.divergences} of {chains * draws:,} draws diverged")
    return problems


def modes_frame(found: Fit) -> pl.DataFrame:
    """One row a mode: its share of the mass, and how far its φ and ψ are from the best."""
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
                np.abs(np.exp(layout.variability(m.x)) - np.exp(layout.variability(best.x))).max()
            ),
        }
        for n, m in enumerate(found.modes)
    ]
    return pl.DataFrame(rows)


# -- the posterior predictive check -------------------------------------------------------------------


def predictive(found: Fit) -> pl.DataFrame:
    """How often new labels of each rater, drawn from the model, are as far from what it expects as the real ones.

    Returns
    -------
    polars.DataFrame
        ``annotator``, ``p`` (of χ² between a rater's counts of categories and those expected, Gelman, Meng and Stern
        1996) and ``misfit``, the share of labels that would have to be others for counts as expected.
    """
    table = found.table
    n = int(np.clip(SIMULATED // max(len(table), 1), LEAST_TABLES, 200))
    rng = np.random.default_rng(np.random.SeedSequence(found.settings.seed, spawn_key=(10,)))
    observed = _tally(table.rater, table.value, len(table.raters), table.n_categories)
    beyond, expected = np.zeros(len(table.raters)), np.zeros(observed.shape)
    draws = found.some(n)
    for x in draws:
        mean, drawn = _simulated(found.density, x, rng)
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


def _simulated(density: Density, x: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Counts by rater and category: expected, and of labels drawn anew."""
    table, cells = density.table, density.table.cells
    stages = density.at(x)
    detect = np.exp(stages.detection).reshape(table.n_blocks, len(table.raters), *stages.detection.shape[1:])
    ideal = np.zeros(len(cells.kind), dtype=np.int64)
    marginal = np.zeros((table.n_blocks, table.n_categories))
    block = cells.block[cells.kind]
    for grid, share in zip(density.grids, stages.ideal, strict=True):
        weight = np.exp(grid.traits.log_weights)
        marginal[grid.blocks] = np.einsum("q,bqk->bk", weight, share)
        point = rng.choice(len(weight), size=len(table.subjects), p=weight / weight.sum())
        mine = np.flatnonzero(np.isin(cells.criterion, grid.traits.criteria))
        of_cell = share[np.searchsorted(grid.blocks, block[mine]), point[cells.subject[mine]]]
        ideal[mine] = _one_of(of_cell, rng)
    drawn = _one_of(detect[table.block, table.rater, :, ideal[table.cell]], rng)
    often = np.einsum("brkx,bx->brk", detect, marginal)
    seen = np.bincount(table.block * len(table.raters) + table.rater, minlength=often.shape[0] * often.shape[1])
    mean = (often * seen.reshape(often.shape[:2])[:, :, None]).sum(axis=0)
    return mean, _tally(table.rater, drawn, len(table.raters), table.n_categories)


def _one_of(p: Floats, rng: np.random.Generator) -> Ints:
    """One category a row."""
    at = np.cumsum(p, axis=1)
    return np.asarray(np.minimum((rng.random((len(p), 1)) * at[:, -1:] > at).sum(axis=1), p.shape[1] - 1))


def _tally(rater: Ints, value: Ints, n: int, k: int) -> Floats:
    return np.bincount(rater * k + value, minlength=n * k).reshape(n, k).astype(float)


def _distance(counts: Floats, mean: Floats) -> Floats:
    return np.asarray(((counts - mean) ** 2 / np.maximum(mean, 1e-9)).sum(axis=1))
