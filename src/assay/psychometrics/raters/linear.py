"""How likely are these numbers? The log posterior of the linear hierarchical rater model, and its gradient.

The rater model of `density` for labels that are numbers, not categories. Everything is normal, so that ideal ratings
and traits are integrated out exactly.

    y = ξ + φ + ψ ε                     a label: ideal rating, the rater's severity, and the rater's variability
    ξ = μ + α·θ + ω e                   the ideal rating of a cell: mean of group and criterion, trait, deviation
    φ = φ_r, ln ψ = ln ψ_r + ln τ_j     as in `density`, with differences by group

With w = 1 / ψ², W = Σ w and ȳ = Σ w (y − μ − φ) / W of a cell, v = ω² + 1 / W, and A = I + Σ α αᵀ / v, b = Σ α ȳ / v of
a subject (Woodbury's identity):

    ln p(y) = Σ ln(√w) − ½ Σ w (y − μ − φ − ȳ)² − ½ Σ [ln W + ln v + ȳ² / v] − ½ Σ [ln |A| − bᵀ A⁻¹ b] + constant
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import PRIORS, Columns, Layout, compared_raters, contrasts, criterion_traits
from assay.psychometrics.raters.table import RaterSettings, RaterTable

_SHARED = ("phi", "ln psi", "ln psi in a crowd", "ln tau", "phi by group", "ln psi by group")

LINEAR_PRIORS = {
    **{kind: PRIORS[kind] for kind in _SHARED},
    "ln alpha": (float(np.log(0.5)), 1.0),
    "ln omega": (float(np.log(0.5)), 1.0),
    "mean": (0.0, 3.0),
}
"""Mean and standard deviation of each kind of parameter, in standard deviations of labels within criteria."""

FARTHEST = 5.0
"""ln ψ, ln ω and ln α beyond this, either way: a hundredth of the standard deviation of labels is none."""

BINS = 10
"""Intervals of equal probability into which the predictive check counts labels."""

ENDS = 0.05
"""Share of labels at the ends of the scale that is reported: with 2%, differences in φ shrink by 2%; with 11%, by 11%,
and intervals of 100 items cover 89% (docs/coverage.md)."""

MOST_DENSE = 1_000_000
"""Entries of a matrix of zeros and ones by which labels are summed in jax (8 MB); beyond, they are scattered."""

Total = Callable[[Any, Ints, int], Any]
"""Sums of rows by code: values (n, ...), codes (n,), number of codes."""


@dataclass(frozen=True, eq=False)
class LinearStages:
    """Intermediate quantities of the likelihood; arrays of numpy or jax.

    Attributes
    ----------
    residual, weight : (labels,)
        y − μ − φ and 1 / ψ².
    weights, mean, variance : (cells,)
        W, ȳ and v.
    loads : (cells, traits)
        α.
    precision, score : (subjects, traits, traits), (subjects, traits)
        A and b.
    value : float
        The log likelihood, up to a constant.
    """

    residual: Any
    weight: Any
    weights: Any
    mean: Any
    variance: Any
    loads: Any
    precision: Any
    score: Any
    value: Any


def linear_layout(table: RaterTable, settings: RaterSettings) -> Layout:
    """The parameters for a table of numbers: φ is in the table's unit.

    Raises
    ------
    DesignError
        For traits of criteria that are not there.
    """
    shape = (len(table.groups), len(table.criteria), len(table.raters))
    unit = _pooled_sd(table)
    columns = Columns(shape)
    columns.add_columns("phi", "phi", contrasts(shape[2]))
    columns.add_variability(crowd=table.crowd)
    if shape[1] > 1:
        columns.add_columns("psi", "ln tau", contrasts(shape[1])[:, None, :])
    compared = compared_raters(table)
    columns.add_groups(compared)
    names, loads = _loads(table, settings)
    columns.add("ln alpha", int((loads >= 0).sum()))
    columns.add("mean", table.n_blocks)
    columns.add("ln omega", table.n_blocks)
    phi, psi = columns.matrices()
    prior = np.array([LINEAR_PRIORS[k] for k in columns.kinds])
    notes = []
    if not names:
        notes.append("ideal ratings have no shared trait; their spread is estimated directly")
    none = np.empty((0, 0), dtype=np.int64)
    return Layout(
        unit * phi, psi, none, (), prior[:, 0], prior[:, 1], tuple(columns.kinds), compared, shape, tuple(notes), unit
    )


def _pooled_sd(table: RaterTable) -> float:
    """The standard deviation of labels within criteria."""
    n = np.bincount(table.criterion)
    mean = np.bincount(table.criterion, table.value) / np.maximum(n, 1)
    return float(np.sqrt(np.mean((table.value - mean[table.criterion]) ** 2)))


def _loads(table: RaterTable, settings: RaterSettings) -> tuple[tuple[str, ...], Ints]:
    """Names of the traits, and the parameter ln α of each criterion on each: (criteria, traits), −1 for none.

    A trait of one criterion is a part of its ideal ratings if every subject has one item.
    """
    loading = criterion_traits(table, settings.traits)
    alone = len(table.subjects) == len(table.items)
    names = list(dict.fromkeys(n for each in loading for n in each))
    names = [n for n in names if not alone or sum(n in each for each in loading) > 1]
    found, at = np.full((len(loading), len(names)), -1), 0
    for j, each in enumerate(loading):
        for name in each:
            if name in names:
                found[j, names.index(name)] = at
                at += 1
    return tuple(names), found


@dataclass(frozen=True, eq=False)
class LinearDensity:
    """The log posterior of a table's parameters, in standard deviations of labels within criteria."""

    table: RaterTable
    layout: Layout
    settings: RaterSettings

    @cached_property
    def traits(self) -> tuple[str, ...]:
        """The names of the traits."""
        return _loads(self.table, self.settings)[0]

    def criteria_of_traits(self) -> list[Ints]:
        """The criteria of each trait."""
        return [np.flatnonzero(column >= 0) for column in self._positions.T]

    @cached_property
    def _positions(self) -> Ints:
        """The parameter ln α of each criterion and trait; −1 for none."""
        loads = _loads(self.table, self.settings)[1]
        start = self.layout.indices("ln alpha")
        return np.where(loads >= 0, (start[0] if len(start) else 0) + loads, -1)

    @cached_property
    def _place(self) -> Ints:
        """Block and rater of each label, as a row of the matrices of φ and ψ."""
        return np.asarray(self.table.block * len(self.table.raters) + self.table.rater)

    @cached_property
    def _cells(self) -> tuple[Ints, Ints]:
        """Block and subject of each cell."""
        first = np.unique(self.table.cell, return_index=True)[1]
        return self.table.block[first], self.table.subject[first]

    @cached_property
    def _scaled(self) -> Floats:
        """Labels in standard deviations from the mean of their criterion, so that no parameter depends on the unit."""
        return np.asarray((self.table.value - self.centers[self.table.criterion]) / self.layout.unit)

    @cached_property
    def centers(self) -> Floats:
        """The mean label of each criterion, in the table's unit."""
        table = self.table
        n = np.bincount(table.criterion, minlength=len(table.criteria))
        return np.asarray(np.bincount(table.criterion, table.value, len(table.criteria)) / np.maximum(n, 1))

    # -- forward, numpy or jax --------------------------------------------------------------------

    def stages(self, x: Any, xp: Any, total: Total, scaled: Floats | None = None) -> LinearStages:
        """The likelihood and its intermediate quantities, of the labels or of others of the same design."""
        table, layout = self.table, self.layout
        block, subject = self._cells
        n_cells, n_subjects = len(block), len(table.subjects)
        log_psi = self.log_psi(x, xp)[self._place]
        residual = (self._scaled if scaled is None else scaled) - x[layout.indices("mean")][table.block]
        residual = residual - ((xp.asarray(layout.phi) @ x) / layout.unit)[self._place]
        weight = xp.exp(-2 * log_psi)
        weights = total(weight, table.cell, n_cells)
        mean = total(weight * residual, table.cell, n_cells) / weights
        value = -0.5 * (weight * (residual - mean[table.cell]) ** 2).sum() - log_psi.sum()
        variance = self.omega(x, xp)[block] ** 2 + 1 / weights
        value = value - 0.5 * (xp.log(weights) + xp.log(variance) + mean**2 / variance).sum()
        loads = self.slopes(x, xp)[block % len(table.criteria)]
        d = loads.shape[1]
        products = loads[:, :, None] * loads[:, None, :] / variance[:, None, None]
        precision = np.eye(d) + total(products.reshape(n_cells, d * d), subject, n_subjects).reshape(n_subjects, d, d)
        score = total(loads * (mean / variance)[:, None], subject, n_subjects)
        if d:
            solved = xp.linalg.solve(precision, score[:, :, None])[:, :, 0]
            value = value - 0.5 * (xp.linalg.slogdet(precision)[1] - (score * solved).sum(axis=1)).sum()
        return LinearStages(residual, weight, weights, mean, variance, loads, precision, score, value)

    def log_psi(self, x: Any, xp: Any) -> Any:
        """ln ψ of each block and rater."""
        return xp.clip(xp.asarray(self.layout.psi) @ x, -FARTHEST, FARTHEST)

    def omega(self, x: Any, xp: Any) -> Any:
        """ω of each block."""
        return xp.exp(xp.clip(x[self.layout.indices("ln omega")], -FARTHEST, FARTHEST))

    def slopes(self, x: Any, xp: Any) -> Any:
        """α of each criterion on each trait: (criteria, traits)."""
        at = self._positions
        return xp.where(at >= 0, xp.exp(xp.clip(x[at], -FARTHEST, FARTHEST)), 0.0)

    def log_prior(self, x: Any) -> Any:
        """The log prior, up to a constant."""
        return -0.5 * (((x - self.layout.mean) / self.layout.sd) ** 2).sum()

    def in_jax(self) -> Callable[[Any], Any]:
        """The log posterior as a function that jax differentiates."""
        import jax
        import jax.numpy as jnp

        def total(values: Any, codes: Ints, n: int) -> Any:
            if len(codes) * n <= MOST_DENSE:
                # A product with zeros and ones is faster than scattering.
                return (np.arange(n)[:, None] == codes).astype(float) @ values
            return jax.ops.segment_sum(values, codes, num_segments=n)

        return lambda x: self.stages(x, jnp, total).value + self.log_prior(x)

    # -- numpy --------------------------------------------------------------------------------------

    def evaluate(self, x: Floats, scaled: Floats | None = None) -> LinearStages:
        """The likelihood and its intermediate quantities, in numpy."""
        return self.stages(x, np, _total, scaled)

    def value(self, x: Floats) -> float:
        """The log posterior, up to a constant."""
        return float(self.evaluate(x).value + self.log_prior(x))

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        """The log posterior and its gradient, which is the expected one of the complete data (Fisher's identity)."""
        table, layout, s = self.table, self.layout, self.evaluate(x)
        block, subject = self._cells
        criterion = block % len(table.criteria)
        slope = -(x - layout.mean) / layout.sd**2
        theta, spread = self.trait_moments(s)
        tilt = np.einsum("cd,cd->c", s.loads, theta[subject])
        lean = np.einsum("cd,cde->ce", s.loads, spread[subject])
        wide = np.einsum("cd,cd->c", lean, s.loads)
        omega = self.omega(x, np)[block]
        kappa = s.weights * omega**2 / (1 + s.weights * omega**2)
        # The deviation ω e of a cell: its posterior mean, mean square, and product with θ.
        away = kappa * (s.mean - tilt)
        square = away**2 + kappa**2 * wide + omega**2 * (1 - kappa)
        product = away[:, None] * theta[subject] - kappa[:, None] * lean
        ideal, uncertain = tilt + away, (1 - kappa) ** 2 * wide + omega**2 * (1 - kappa)
        left = s.residual - ideal[table.cell]
        per_phi = np.bincount(self._place, s.weight * left, len(layout.phi)) / layout.unit
        per_psi = np.bincount(self._place, s.weight * (left**2 + uncertain[table.cell]) - 1, len(layout.phi))
        per_psi[np.abs(layout.psi @ x) >= FARTHEST] = 0.0
        slope += per_phi @ layout.phi + per_psi @ layout.psi
        slope[layout.indices("mean")] += np.bincount(block, away / omega**2, table.n_blocks)
        at = layout.indices("ln omega")
        slope[at] += np.where(np.abs(x[at]) < FARTHEST, np.bincount(block, square / omega**2 - 1, table.n_blocks), 0.0)
        per_load = _total(product / omega[:, None] ** 2, criterion, len(table.criteria)) * self.slopes(x, np)
        mine = self._positions >= 0
        np.add.at(slope, self._positions[mine], np.where(np.abs(x[self._positions]) < FARTHEST, per_load, 0.0)[mine])
        return float(s.value + self.log_prior(x)), slope

    @staticmethod
    def trait_moments(s: LinearStages) -> tuple[Floats, Floats]:
        """Mean and covariance of each subject's traits, given all labels: (subjects, traits), (subjects, traits,
        traits)."""
        spread = np.linalg.inv(s.precision)
        return np.einsum("sde,se->sd", spread, s.score), spread

    def ideal_moments(self, x: Floats, s: LinearStages) -> tuple[Floats, Floats]:
        """Mean and variance of each cell's ideal rating minus μ, given all labels, in standard deviations: (cells,)."""
        block, subject = self._cells
        theta, spread = self.trait_moments(s)
        tilt = np.einsum("cd,cd->c", s.loads, theta[subject])
        wide = np.einsum("cd,cde,ce->c", s.loads, spread[subject], s.loads)
        omega = self.omega(x, np)[block]
        kappa = s.weights * omega**2 / (1 + s.weights * omega**2)
        return tilt + kappa * (s.mean - tilt), (1 - kappa) ** 2 * wide + omega**2 * (1 - kappa)

    def standardized(self, x: Floats, value: Floats | None = None) -> Floats:
        """Each label minus its expectation given all other labels, over its standard deviation: (labels,).

        With m and V, mean and variance of the ideal rating given *all* labels, the precision of a label given the
        others is w − w² V, and its residual w (y − m) over that (Rasmussen and Williams 2006, eq. 5.12).
        """
        scaled = None if value is None else (value - self.centers[self.table.criterion]) / self.layout.unit
        s = self.evaluate(x, scaled)
        mean, variance = self.ideal_moments(x, s)
        cell = self.table.cell
        left = s.weight * (s.residual - mean[cell])
        return np.asarray(left / np.sqrt(np.maximum(s.weight - s.weight**2 * variance[cell], 1e-12)))

    def drawn(self, x: Floats, rng: np.random.Generator) -> Floats:
        """New labels of the same design, in the table's unit: (labels,)."""
        table, layout = self.table, self.layout
        block, subject = self._cells
        loads = self.slopes(x, np)[block % len(table.criteria)]
        theta = rng.normal(size=(len(table.subjects), loads.shape[1]))
        ideal = np.einsum("cd,cd->c", loads, theta[subject]) + self.omega(x, np)[block] * rng.normal(size=len(block))
        label = ideal[table.cell] + x[layout.indices("mean")][table.block]
        label += np.exp(self.log_psi(x, np)[self._place]) * rng.normal(size=len(table))
        return np.asarray(self.centers[table.criterion] + layout.unit * label + (layout.phi @ x)[self._place])

    def start(self) -> Floats:
        """Starting values of the means: (p,), 0 or the prior's mean elsewhere."""
        x = self.layout.mean.copy()
        n = np.bincount(self.table.block, minlength=self.table.n_blocks)
        sums = np.bincount(self.table.block, self._scaled, self.table.n_blocks)
        x[self.layout.indices("mean")] = sums / np.maximum(n, 1)
        return x


def _total(values: Floats, codes: Ints, n: int) -> Floats:
    if values.ndim == 1:
        return np.asarray(np.bincount(codes, values, n), dtype=float)
    columns = [np.bincount(codes, column, n) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


# -- The predictive check, ideal ratings and traits ------------------------------------------------------


def linear_predictive(density: LinearDensity, draws: Floats, seed: int) -> pl.DataFrame:
    """Predictive check: each label given all others, in ten intervals of equal probability, by rater.

    Returns
    -------
    polars.DataFrame
        ``annotator``, ``p`` (of χ² between a rater's counts and equal ones, compared with labels drawn from the model;
        Gelman, Meng and Stern 1996) and ``misfit``, the share of labels that would have to be in other intervals.
    """
    table = density.table
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(10,)))
    n = table.counts.sum(axis=0).astype(float)
    beyond, counts = np.zeros(len(n)), np.zeros((len(n), BINS))
    for x in draws:
        observed = _tally(density, density.standardized(x))
        drawn = _tally(density, density.standardized(x, density.drawn(x, rng)))
        beyond += _distance(drawn, n) >= _distance(observed, n)
        counts += observed / len(draws)
    return pl.DataFrame(
        {
            "annotator": table.raters,
            "p": (1 + beyond) / (1 + len(draws)),
            "misfit": np.abs(counts / n[:, None] - 1 / BINS).sum(axis=1) / 2,
        }
    )


def _tally(density: LinearDensity, z: Floats) -> Floats:
    """Labels by rater and interval of probability: (raters, bins)."""
    from scipy.special import ndtr

    table = density.table
    at = np.minimum((ndtr(z) * BINS).astype(int), BINS - 1)
    found = np.bincount(table.rater * BINS + at, minlength=len(table.raters) * BINS)
    return np.asarray(found.reshape(-1, BINS), dtype=float)


def _distance(counts: Floats, n: Floats) -> Floats:
    return np.asarray(((counts - n[:, None] / BINS) ** 2).sum(axis=1))


def linear_ideal(density: LinearDensity, draws: Floats) -> pl.DataFrame:
    """The posterior of each cell's ideal rating, as the average rater gives it, in the table's unit.

    Returns
    -------
    polars.DataFrame
        ``item``, ``criterion``, ``ideal`` and its ``sd``, ``labels``.
    """
    table = density.table
    first = np.unique(table.cell, return_index=True)[1]
    block, criterion = table.block[first], table.criterion[first]
    mean, square, within = np.zeros((3, len(first)))
    for x in draws:
        away, variance = density.ideal_moments(x, density.evaluate(x))
        shift = (density.layout.phi @ x).reshape(table.n_blocks, -1).mean(axis=1)
        level = density.centers[criterion] + shift[block]
        ideal = level + density.layout.unit * (away + x[density.layout.indices("mean")][block])
        mean += ideal / len(draws)
        square += ideal**2 / len(draws)
        within += density.layout.unit**2 * variance / len(draws)
    frame = pl.DataFrame(
        {
            "item": [table.items[i] for i in table.item[first]],
            "criterion": pl.Series([table.criteria[j] for j in criterion], dtype=pl.String),
            "ideal": mean,
            "sd": np.sqrt(np.maximum(square - mean**2, 0) + within),
            "labels": np.bincount(table.cell),
        }
    )
    return frame.drop("criterion") if table.criteria == (None,) else frame


def linear_traits(density: LinearDensity, draws: Floats) -> pl.DataFrame:
    """The posterior of each subject's trait: ``subject``, ``trait``, ``estimate``, ``sd``; none without traits."""
    table, names = density.table, density.traits
    first, second = np.zeros((2, len(table.subjects), len(names)))
    for x in draws:
        mean, spread = density.trait_moments(density.evaluate(x))
        first += mean / len(draws)
        second += (mean**2 + np.einsum("sdd->sd", spread)) / len(draws)
    sd = np.sqrt(np.maximum(second - first**2, 0))
    types = {"subject": pl.String, "trait": pl.String, "estimate": pl.Float64, "sd": pl.Float64}
    subjects = [str(s) for s in table.subjects]
    parts = [
        pl.DataFrame(dict(zip(types, (subjects, [name] * len(subjects), first[:, d], sd[:, d]), strict=True)), types)
        for d, name in enumerate(names)
    ]
    return pl.concat([pl.DataFrame(schema=types), *parts])


def linear_items(density: LinearDensity, x: Floats) -> pl.DataFrame:
    """One row per criterion: the ends of its scale, ``spread`` (the factor of ψ), ``sd`` of ideal ratings, slopes."""
    table, layout = density.table, density.layout
    spread = (layout.psi @ x).reshape(layout.shape)[0].mean(axis=1)
    slopes, omega = density.slopes(x, np) * layout.unit, density.omega(x, np)[: len(table.criteria)] * layout.unit
    rows = [
        {
            "criterion": name or "all", "low": table.categories[j][0], "high": table.categories[j][-1],
            "spread": float(np.exp(spread[j] - spread.mean())),
            "sd": float(np.sqrt((slopes[j] ** 2).sum() + omega[j] ** 2)),
            "slope": ", ".join(f"{n} {v:.2f}" for n, v in zip(density.traits, slopes[j], strict=True) if v),
        }
        for j, name in enumerate(table.criteria)
    ]  # fmt: skip
    return pl.DataFrame(rows).sort("criterion")


def share_at_ends(table: RaterTable) -> float:
    """The share of labels that are the lowest or the highest number of their scale."""
    ends = np.array([[one[0], one[-1]] for one in table.categories])
    if table.unit == "percent of the range":
        ends = np.broadcast_to([0.0, 100.0], ends.shape)
    each = ends[table.criterion]
    return float(((table.value <= each[:, 0] + 1e-9) | (table.value >= each[:, 1] - 1e-9)).mean())
