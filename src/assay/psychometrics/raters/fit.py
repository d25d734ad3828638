"""Which parameters fit these labels? The best mode of the posterior, or draws around it.

With ``quick``, draws come from the normal approximation at the mode with the observed information, and of a crowd from
Hamiltonian Monte Carlo in numpy; otherwise from NUTS.
All reported quantities are computed from the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from assay.errors import require
from assay.estimation.intervals import Estimates
from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import estimate_replicates
from assay.estimation.statistic import Bools, Floats, Ints
from assay.psychometrics.raters.density import Density, layout
from assay.psychometrics.raters.linear import LinearDensity, linear_layout
from assay.psychometrics.raters.table import (
    FacetSettings,
    Progress,
    RaterSettings,
    RaterTable,
    disjoint_subsets,
    widened,
)

# -- The fitted model ------------------------------------------------------------------------------

Quantity = Callable[[Floats], Floats]
"""A function of parameters: (..., p) to (..., q)."""

Model = Density | LinearDensity
"""The log posterior of a table of categories, or of numbers."""


@dataclass(frozen=True, eq=False)
class RaterFit:
    """The model fitted to a table.

    Attributes
    ----------
    density : Density or LinearDensity
    modes : tuple of Mode
        The one with most mass first.
    chains : Chains or None
        None with ``quick``.
    draws : (s, p) float
        Draws of the posterior; with ``quick``, of the normal with the observed information, except in a crowd.
    sampled : bool
        Whether draws without ``chains`` are of the posterior, as of a crowd.
    """

    density: Model
    modes: tuple[Mode, ...]
    chains: Chains | None
    draws: Floats
    settings: RaterSettings
    sampled: bool = False

    @property
    def table(self) -> RaterTable:
        """The table of labels."""
        return self.density.table

    @property
    def rope(self) -> float:
        """The equivalence margin for group differences, in the unit of φ."""
        return self.settings.rope * self.density.layout.unit

    @property
    def normal(self) -> bool:
        """Whether the draws are of the normal approximation at the mode."""
        return self.chains is None and not self.sampled

    @property
    def center(self) -> Floats:
        """The point estimate: the mode with a normal approximation, otherwise the mean of the draws."""
        return self.modes[0].x if self.normal else self.draws.mean(axis=0)

    def spread_draws(self, n: int) -> Floats:
        """n of the draws, evenly spread: (n, p)."""
        at: Ints = np.unique(np.linspace(0, len(self.draws) - 1, n).round().astype(int))
        return self.draws[at]

    @cached_property
    def severity(self) -> Estimates:
        """φ of each rater, centred over raters, of groups as frequent as in the labels: (raters,) values."""

        def phi(x: Floats) -> Floats:
            return self._over_groups(self.density.layout.severity(x))

        return self.estimates(lambda x: widened(phi(x), phi(self.center), self.table.widening))

    @cached_property
    def variability(self) -> Estimates:
        """ψ of each rater at a criterion in the middle, the geometric mean of groups: (raters,) values."""
        layout = self.density.layout

        def log_psi(x: Floats) -> Floats:
            return self._over_groups(layout.variability(x))

        def psi(x: Floats) -> Floats:
            centre = log_psi(self.center)
            return layout.unit * np.exp(centre + self.table.widening_of_spread * (log_psi(x) - centre))

        return self.estimates(psi)

    def _over_groups(self, value: Floats) -> Floats:
        """The mean over groups, weighted by their labels, as of a fit without groups: (..., raters)."""
        labels = self.table.counts.sum(axis=1)
        return np.asarray(np.average(value, axis=-2, weights=labels))

    def severity_gaps(self, anchors: Bools) -> Estimates:
        """φ with each further group minus φ with the first, minus the mean of the anchors: (groups − 1) · raters.

        Parameters
        ----------
        anchors : (groups − 1, raters) bool
        """
        weights = anchors / np.maximum(anchors.sum(axis=1, keepdims=True), 1)
        layout = self.density.layout
        middle = (layout.phi @ self.center).reshape(layout.shape).mean(axis=-2)
        centre = middle[1:] - middle[:1]

        def gaps(x: Floats) -> Floats:
            phi = (x @ self.density.layout.phi.T).reshape(*x.shape[:-1], *self.density.layout.shape).mean(axis=-2)
            gap = phi[..., 1:, :] - phi[..., :1, :]
            gap = centre + self.table.widening_of_gaps * (gap - centre)
            gap = gap - (gap * weights).sum(axis=-1, keepdims=True)
            return np.where(self.density.layout.compared[1:], gap, np.nan).reshape(*x.shape[:-1], -1)

        return self.estimates(gaps)

    @cached_property
    def variability_ratios(self) -> Estimates:
        """ψ with each further group over ψ with the first: (groups − 1) · raters values."""

        def ratios(x: Floats) -> Floats:
            psi = self.density.layout.variability(x)
            found = np.exp(psi[..., 1:, :] - psi[..., :1, :])
            return np.where(self.density.layout.compared[1:], found, np.nan).reshape(*x.shape[:-1], -1)

        return self.estimates(ratios)

    def estimates(self, of: Quantity) -> Estimates:
        """Functions of the parameters with the draws as their replicates."""
        draws = of(self.draws)
        value = of(self.modes[0].x) if self.normal else draws.mean(axis=0)
        found = estimate_from_draws(value, draws, self.table, self.settings)
        return found if self.normal else replace(found, drawn="posterior")


def estimate_from_draws(value: Floats, draws: Floats, table: RaterTable, settings: FacetSettings) -> Estimates:
    """Values with the percentile intervals of draws of them: (q,) of (draws, q)."""
    n, s = len(table.subjects), settings
    how = IntervalSettings(method="percentile", confidence=s.confidence, seed=s.seed)
    found = estimate_replicates(value, draws, how, n_items=n, n_units=n)
    return replace(found, drawn="normal")


def model_of(table: RaterTable, settings: RaterSettings) -> Model:
    """The log posterior of the model for a table."""
    if table.linear:
        return LinearDensity(table, linear_layout(table, settings), settings)
    return Density(table, layout(table, settings))


def fit(table: RaterTable, settings: RaterSettings) -> RaterFit:
    """Fit the model by the method in the settings."""
    density = model_of(table, settings)
    if settings.quick and table.crowd:
        mode = crowd_mode(density)
        draws = hamiltonian_draws(density, mode, settings.seed, settings.progress)
        return RaterFit(density, (mode,), None, draws, settings, sampled=True)
    modes = find_modes(density, settings.starts, settings.seed, settings.progress)
    if settings.quick:
        draws = modes[0].normal_draws(settings.chains * settings.draws, settings.seed, 9)
        return RaterFit(density, modes, None, draws, settings)
    chains = sample(density, modes[0], settings)
    return RaterFit(density, modes, chains, chains.all, settings)


# -- Modes -----------------------------------------------------------------------------------------
# Moving an item's ideal ratings by one category and its η back changes the likelihood little, so the posterior has
# modes a category apart. The best is used; the differences of the others are reported.

SAME = 0.02
"""Modes are equal if all their severities and variabilities differ by less: less than the reported digits."""

STEEP = 1e-2
"""A gradient, in posterior standard deviations, above which a fit has not arrived: an interval moves by less."""

COARSE, ROUGH, FINE = 1e-2, 1e-4, 1e-9
"""A climb ends with a step that gains less log posterior: looking for other maxima, on the way to one, and at it."""

FLAT = 1e-3
"""A gradient at which a climb ends, the largest of its coordinates."""

MOST_STEPS = 500
MOST_POLISHED = 4
"""Steps of a climb, and climbs in new coordinates, after which a fit that has not arrived is reported as such."""

MOST_CARRIED = 2
"""Maxima of some subjects from which all are fitted: each costs a climb of the whole table."""

MANY_LABELS = 12_000
"""Of tables with more, some subjects are fitted first, because every start climbs the whole table."""

NEAR, MOST_MEASURED = 12.0, 4
"""This many modes within e to this power of the best have their mass measured; it costs most of the time."""


class Surface(Protocol):
    """A log posterior that can be climbed."""

    def value(self, x: Floats) -> float:
        """The log posterior, up to a constant."""

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        """The same with its gradient."""


@dataclass(frozen=True, eq=False)
class Mode:
    """A maximum of the posterior.

    Attributes
    ----------
    x : (p,) float
    log_posterior : float
    covariance : (p, p) float
        Inverse of the observed information.
    evidence : float
        Logarithm of the posterior's mass around it, as a normal would have.
    found : int
        Starts that led to it.
    steepness : float
        The gradient that is left, in posterior standard deviations.
    """

    x: Floats
    log_posterior: float
    covariance: Floats
    evidence: float
    found: int
    steepness: float

    def normal_draws(self, n: int, seed: int, stream: int) -> Floats:
        """Draws of the normal that has the observed information: (n, p)."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
        root = np.linalg.cholesky(self.covariance)
        return self.x + rng.normal(size=(n, len(root))) @ root.T

    @property
    def arrived(self) -> bool:
        """Whether it is a maximum, as far as numbers tell."""
        return bool(np.isfinite(self.steepness) and self.steepness < STEEP)


def find_modes(density: Model, starts: int, seed: int, progress: Progress | None = None) -> tuple[Mode, ...]:
    """The different maxima that fits from these starts reach, the one with most mass first.

    Of tables with more than `MANY_LABELS` labels some subjects are fitted from all starts, and from the best of those
    with every criterion, and every subset of raters, moved by a category; then all subjects from the best two maxima.
    """
    often = int(np.ceil(len(density.table) / MANY_LABELS))
    if often == 1 or isinstance(density, LinearDensity):
        return _measure_modes(density, _climb_from_starts(density, starts, seed, progress)[0])
    some = Density(density.table.every_nth_subject(often), density.layout)
    reached, root = _climb_from_starts(some, starts, seed, progress)
    if starts > 1:
        reached += _sweep(some, max(reached, key=lambda pair: pair[1]), root, progress)
    there = [x for x, _, _ in _distinct_maxima(density, reached)[:MOST_CARRIED]]
    return _measure_modes(density, [climb(density, x, root / np.sqrt(often)) for x in there])


def _climb_from_starts(
    density: Model, starts: int, seed: int, progress: Progress | None
) -> tuple[list[tuple[Floats, float]], Floats]:
    """The maximum from each start, and coordinates in which the first of these maxima is round.

    The first start is computed from the labels. Every second of the others is the best maximum so far with the ideal
    ratings of one or two criteria moved by a category, near which other modes are; the rest are random. In the linear
    model all others are random.
    """
    first = _start_from_labels(density)
    wide = widths(density, first, density.layout.sd) * np.identity(len(first), dtype=np.float64)
    begun, value = climb(density, first, wide)
    # Coordinates in which the posterior around one mode is round suit the way to the others too.
    root = _round_coordinates(observed_information(density, begun))
    begun, value = climb(density, begun, root)
    reached = [(begun, value)]
    for i in range(1, starts):
        if progress is not None:
            progress("fitting", i, starts)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, i)))
        top = max(reached, key=lambda pair: pair[1])[0]
        if isinstance(density, LinearDensity):
            start = begun + 0.5 * density.layout.sd * rng.normal(size=density.layout.p)
        else:
            start = _random_start(density, begun, rng) if i % 2 == 0 else _nearby_start(density, top, rng)
            start = _widened(density, start)
        reached.append(climb(density, start, root))
    return reached, root


def _sweep(
    density: Density, best: tuple[Floats, float], root: Floats, progress: Progress | None
) -> list[tuple[Floats, float]]:
    """The maxima from the best one with one criterion, or one subset of raters, moved by a category; each in turn."""
    raters, criteria = density.table.raters, range(len(density.table.criteria))
    apart = [[raters.index(r) for r in subset] for subset in disjoint_subsets(density.table)]
    moves: list[Callable[[Floats], Floats]] = [
        partial(_move_criterion, density, j=j, by=by) for j in criteria for by in (-1, 1)
    ]
    if len(apart) > 1:
        # Ideal ratings of cells without other raters move with their raters' severity.
        moves += [partial(_move_subset, density, subset=p, by=by) for p in apart for by in (-1.0, 1.0)]
    reached = []
    for i, move in enumerate(moves):
        if progress is not None:
            progress("looking for other modes", i, len(moves))
        reached.append(climb(density, move(best[0]), root, COARSE))
        best = max(best, reached[-1], key=lambda pair: pair[1])
    return reached


def _distinct_maxima(density: Model, reached: list[tuple[Floats, float]]) -> list[tuple[Floats, float, int]]:
    """The maxima, the highest first, each mode once, with the number of its starts."""
    different: list[tuple[Floats, float, int]] = []
    for x, value in sorted(reached, key=lambda pair: -pair[1]):
        same = next((n for n, one in enumerate(different) if _same_mode(density, x, one[0])), None)
        if same is None:
            different.append((x, value, 1))
        else:
            different[same] = (*different[same][:2], different[same][2] + 1)
    return different


def _measure_modes(density: Model, reached: list[tuple[Floats, float]]) -> tuple[Mode, ...]:
    """Each mode once, with its mass."""
    found: list[Mode] = []
    for x, value, often in _distinct_maxima(density, reached):
        if not found or (value > found[0].log_posterior - NEAR and len(found) < MOST_MEASURED):
            found.append(mode_near(density, x, often))
        else:
            # Its mass is negligible for any shape; the shape of the best mode is used.
            apart = value - found[0].log_posterior
            found.append(Mode(x, value, found[0].covariance, found[0].evidence + apart, often, np.inf))
    return tuple(sorted(found, key=lambda m: -m.evidence))


def climb(density: Surface, start: Floats, root: Floats, gain: float = ROUGH) -> tuple[Floats, float]:
    """Ascend from a start, in the coordinates z of x = start + root z, while a step gains at least ``gain``."""
    from scipy.optimize import minimize

    def down(z: Floats) -> tuple[float, Floats]:
        value, slope = density.value_and_gradient(start + root @ z)
        return -value, -(slope @ root)

    # ``ftol`` is relative to the log posterior, which grows with the table.
    relative = gain / max(abs(density.value(start)), 1.0)
    found = minimize(
        down, np.zeros(len(start)), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "maxcor": 20, "ftol": relative, "gtol": FLAT},
    )  # fmt: skip
    return start + root @ np.asarray(found.x), -float(found.fun)


def widths(density: Surface, x: Floats, sd: Floats) -> Floats:
    """Approximate scale of each parameter alone."""
    width = 1e-3
    _, here = density.value_and_gradient(x)
    curvature = np.empty(len(x))
    for i in range(len(x)):
        step = x.copy()
        step[i] += width
        curvature[i] = (here[i] - density.value_and_gradient(step)[1][i]) / width
    return np.asarray(1 / np.sqrt(np.maximum(curvature, 1 / sd**2)))


def _same_mode(density: Model, x: Floats, other: Floats) -> bool:
    layout = density.layout
    gap = max(np.abs(m @ (x - other)).max() for m in (layout.phi / layout.unit, layout.psi))
    return bool(gap < SAME)


def mode_near(density: Surface, x: Floats, found: int = 1) -> Mode:
    """The maximum that a search has come near, with its covariance.

    It has converged if the Newton decrement √(gᵀ I⁻¹ g) is small: the distance of the maximum in posterior standard
    deviations, the unit of the intervals. Until then, the search continues in coordinates in which the posterior
    around the latest point is round, so that ridges have the same length as other directions.
    """
    for left in range(MOST_POLISHED, -1, -1):
        information = observed_information(density, x)
        curvature, vectors = np.linalg.eigh(information)
        # A ridge along which the likelihood is flat is as wide as the priors leave it, and no wider.
        root = np.maximum(curvature, 1e-2)
        covariance = (vectors / root) @ vectors.T
        value, slope = density.value_and_gradient(x)
        steepness = float(np.sqrt(slope @ covariance @ slope))
        if left == 0 or steepness < STEEP / 2:
            break
        x = climb(density, x, _round_coordinates(information), FINE)[0]
    evidence = value - 0.5 * float(np.log(root).sum())
    return Mode(x, value, covariance, evidence, found, steepness)


def _round_coordinates(information: Floats) -> Floats:
    """Coordinates in which the posterior is round; at a saddle, by the absolute curvature."""
    curvature, vectors = np.linalg.eigh(information)
    return np.asarray(vectors / np.sqrt(np.maximum(np.abs(curvature), 0.5)))


def observed_information(density: Surface, x: Floats, width: float = 1e-4) -> Floats:
    """Minus the Hessian of the log posterior, from differences of the gradient."""
    found = np.empty((len(x), len(x)))
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = width
        up, down = (density.value_and_gradient(x + s * step)[1] for s in (1, -1))
        found[i] = (down - up) / (2 * width)
    return (found + found.T) / 2


# -- Starts ----------------------------------------------------------------------------------------


def _start_from_labels(density: Model) -> Floats:
    """Severity as the distance from a cell's mean, steps from the shares of the labels."""
    table = density.table
    x = density.start() if isinstance(density, LinearDensity) else density.layout.mean.copy()
    cell = table.cell
    # Of a large table's part, a rater or a criterion may have no label.
    usual = mean_by_code(table.criterion, table.value, len(table.criteria))
    # A cell's mean, drawn to its criterion's, so that a cell of one label tells something too.
    of_cell = np.bincount(cell, usual[table.criterion]) / np.bincount(cell)
    mean = (np.bincount(cell, table.value) + of_cell) / (np.bincount(cell) + 1)
    away = mean_by_code(table.rater, table.value - mean[cell], len(table.raters))
    x += _severities(density, away)
    if isinstance(density, Density):
        _set_steps(density, x, np.zeros(len(table.criteria), dtype=int))
    return x


def _severities(density: Model, wanted: Floats) -> Floats:
    """The parameters with these severities of raters, minus their mean: (p,), 0 except for φ."""
    layout, mine = density.layout, density.layout.indices("phi")
    found = np.zeros(layout.p)
    found[mine] = np.linalg.lstsq(layout.phi[: len(wanted)][:, mine], wanted - wanted.mean(), rcond=None)[0]
    return found


def mean_by_code(of: Ints, value: Floats | Ints, n: int) -> Floats:
    """The mean value of each code; 0 for one without any."""
    return np.asarray(np.bincount(of, value, n) / np.maximum(np.bincount(of, minlength=n), 1))


def _set_steps(density: Density, x: Floats, moved: Ints) -> None:
    """Set γ to the shares of the labels, each criterion's moved by a number of categories."""
    table, layout = density.table, density.layout
    n, k = len(table.criteria), table.n_categories
    shares = np.bincount(table.block * k + table.value, minlength=table.n_blocks * k).reshape(-1, k) + 0.5
    for b, gamma in enumerate(layout.gamma):
        size = table.sizes[b % n]
        mine = np.full(size, 0.5)
        place = np.clip(np.arange(size) - moved[b % n], 0, size - 1).astype(int)
        np.add.at(mine, place, shares[b, :size])
        x[gamma[: size - 1]] = np.clip(-np.diff(np.log(mine)), -3, 3)


def _random_start(density: Density, first: Floats, rng: np.random.Generator) -> Floats:
    """A start elsewhere: some criteria's ideal ratings a category off, everything else a little."""
    layout = density.layout
    x = first + 0.3 * layout.sd * rng.normal(size=layout.p)
    moved = rng.integers(-1, 2, len(density.table.criteria))
    _set_steps(density, x, moved)
    x[layout.indices("eta")] = moved + 0.1 * rng.normal(size=len(moved))
    return x


def _nearby_start(density: Density, best: Floats, rng: np.random.Generator) -> Floats:
    """A maximum with the ideal ratings of one or two criteria moved by a category, and their η moved back."""
    n = len(density.table.criteria)
    for j in rng.choice(n, size=min(n, int(rng.integers(1, 3))), replace=False):
        best = _move_criterion(density, best, int(j), int(rng.choice([-1, 1])))
    return best


def _widened(density: Density, x: Floats) -> Floats:
    """The same with no ψ below that of its prior: next to a ψ near 0 no other start has a likelihood.

    Of 250 items with a constant judge, the climbs from ten starts need 1,617 evaluations instead of 2,245.
    """
    mine, x = density.layout.indices("ln psi"), x.copy()
    x[mine] = np.maximum(x[mine], density.layout.mean[mine])
    x[density.layout.indices("ln psi in a crowd")] = 0.0
    return x


def _move_criterion(density: Density, x: Floats, j: int, by: int) -> Floats:
    """The ideal ratings of a criterion a category lower or higher, and its η moved back."""
    layout, x = density.layout, x.copy()
    x[layout.indices("eta")[j]] += by
    for gamma in layout.gamma[j :: len(density.table.criteria)]:
        mine = gamma[gamma >= 0]
        x[mine] = np.append(x[mine][1:], 3.0) if by > 0 else np.append(-3.0, x[mine][:-1])
    return x


def _move_subset(density: Density, x: Floats, subset: Sequence[int], by: float) -> Floats:
    """Some raters less or more severe, in categories, compared with the others."""
    moved = np.zeros(len(density.table.raters))
    moved[subset] = by
    return x + _severities(density, moved)


# -- Sampling a crowd, in numpy ---------------------------------------------------------------------
# With few labels per rater, the mode is not the middle of the posterior: at the φ that fit best, the labels seem less
# variable than they are (with four labels per rater by a quarter of ψ²; Neyman and Scott 1948), and φ is not normal.

CROWD_DRAWS, CROWD_WARMUP = 800, 100
"""Draws after those that set the step: worth 400 independent ones."""

FAR_ENOUGH = 2.2
"""The length of a trajectory, in posterior standard deviations: of 260 reviewers, draws have an autocorrelation time of
2 in the median; with 1.6, of 3."""

ACCEPTED = 0.8
"""Share of trajectories accepted, to which the step is set (Neal 2011: .65 is best, higher is safer)."""

MOST_DRIFT, MOST_BATCHES = 0.5, 4
"""The largest difference between the means of the halves of the draws, in standard deviations, until which more batches
are drawn; of 260 reviewers it is .3 to .65 after the first."""


def crowd_mode(density: Model) -> Mode:
    """The maximum next to the start from the labels, where the draws begin; they move between local optima."""
    x = _start_from_labels(density)
    for _ in range(2):
        x, value = climb(density, x, _round_coordinates(crowd_information(density, x)))
    curvature, vectors = np.linalg.eigh(crowd_information(density, x))
    root = np.maximum(curvature, 0.1)
    covariance = (vectors / root) @ vectors.T
    slope = density.value_and_gradient(x)[1]
    steepness = float(np.sqrt(slope @ covariance @ slope))
    return Mode(x, value, covariance, value - 0.5 * float(np.log(root).sum()), 1, steepness)


def crowd_information(density: Model, x: Floats, width: float = 1e-4) -> Floats:
    """The observed information; of raters by formula, because each difference of gradients costs a likelihood."""
    if isinstance(density, LinearDensity):
        return observed_information(density, x)
    layout = density.layout
    found = density.rater_information(x) + np.diag(layout.sd**-2)
    for i in np.concatenate([layout.indices(kind) for kind in ("gamma", "ln alpha")]):
        step = np.zeros(len(x))
        step[i] = width
        up, down = (density.value_and_gradient(x + s * step)[1] for s in (1, -1))
        found[i] = found[:, i] = (down - up) / (2 * width)
    return found


def hamiltonian_draws(density: Model, mode: Mode, seed: int, progress: Progress | None = None) -> Floats:
    """Draws of the posterior by Hamiltonian Monte Carlo, until the reported quantities do not drift: (n, p)."""
    chain = _trajectories(density, mode, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(12,))))
    layout, draws = density.layout, np.empty((0, len(mode.x)))
    for batch in range(MOST_BATCHES):
        for i in range(CROWD_DRAWS):
            if progress is not None:
                progress("sampling", batch * CROWD_DRAWS + i, (batch + 1) * CROWD_DRAWS)
            draws = np.vstack([draws, next(chain)])
        reported = [one(draws).mean(axis=-2) for one in (layout.severity, layout.variability)]
        if drift(np.hstack(reported)).max() < MOST_DRIFT:
            break
    return draws


def _trajectories(density: Model, mode: Mode, rng: np.random.Generator) -> Iterator[Floats]:
    """Ends of trajectories, in coordinates in which the posterior is round at the mode; the first ones set the step."""
    root, p = np.linalg.cholesky(mode.covariance), len(mode.x)
    step, warmup = p**-0.25, CROWD_WARMUP
    x = mode.x + 0.5 * root @ rng.normal(size=p)
    value, slope = density.value_and_gradient(x)
    while True:
        momentum, leap = rng.normal(size=p), step * rng.uniform(0.8, 1.2)
        before = value - momentum @ momentum / 2
        at, height, rise = x, value, slope
        momentum = momentum + leap / 2 * (rise @ root)
        for left in reversed(range(max(round(FAR_ENOUGH / step), 2))):
            at = at + leap * (root @ momentum)
            height, rise = density.value_and_gradient(at)
            momentum = momentum + (leap if left else leap / 2) * (rise @ root)
        chance = float(np.exp(min(0.0, height - momentum @ momentum / 2 - before)))
        if rng.random() < chance:
            x, value, slope = at, height, rise
        if warmup:
            warmup -= 1
            step *= np.exp(0.1 * (chance - ACCEPTED))
        else:
            yield x


def drift(values: Floats) -> Floats:
    """The difference between the means of two halves of draws, in standard deviations: (q,) of (draws, q)."""
    half = len(values) // 2
    apart = np.abs(values[:half].mean(axis=0) - values[half:].mean(axis=0))
    return np.asarray(apart / np.maximum(values.std(axis=0), 1e-12))


# -- Sampling, by NUTS in numpyro and jax ----------------------------------------------------------
# Chains run around the best mode in coordinates in which the posterior there is a standard normal, so that few draws
# are needed to find the step and the mass matrix. Each has a separate thread and the same compiled program, so digits
# do not depend on the number of cores.

PURPOSE = "sampling the rater model (quick=True fits it without)"
MOST_RHAT = 1.01
"""Vehtari et al. (2021)."""

MOST_DEPTH = 8
"""Doublings of a trajectory: 256 steps; for a round posterior, 7 are usual."""

DRAWS_AT_ONCE = 50
"""Draws of a chain between two calls of ``progress``; fewer make no difference to them."""

MOST_DENSE = 4_000_000
"""Entries of a matrix of zeros and ones by which labels are summed (32 MB); beyond, they are gathered."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws from the posterior.

    Attributes
    ----------
    x : (chains, draws, p) float
    divergences : int
    seconds : float
        That sampling took, compiling excluded.
    """

    x: Floats
    divergences: int
    seconds: float

    @property
    def all(self) -> Floats:
        """Every draw: (chains · draws, p)."""
        return self.x.reshape(-1, self.x.shape[-1])


def sample(density: Model, mode: Mode, settings: RaterSettings) -> Chains:
    """Draws around a mode, some at a time, so that progress can be shown between them.

    Raises
    ------
    MissingExtra
        Without numpyro and jax.
    """
    jax = require("jax", "raters", PURPOSE)
    require("numpyro", "raters", PURPOSE)
    from numpyro.infer import NUTS

    chains, warmup, n, seed = settings.chains, settings.warmup, settings.warmup + settings.draws, settings.seed
    root = np.linalg.cholesky(mode.covariance)
    starts = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(8,))).normal(size=(chains, len(mode.x)))
    with jax.enable_x64(True):
        value = jax_value(density)
        kernel = NUTS(
            potential_fn=lambda z: -value(mode.x + root @ z), dense_mass=True, max_tree_depth=MOST_DEPTH,
            target_accept_prob=0.85,
        )  # fmt: skip

        def step(state: Any, _: Any) -> tuple[Any, Any]:
            state = kernel.sample(state, (), {})
            return state, (state.z, state.diverging)

        def run(state: Any) -> Any:
            return jax.lax.scan(step, state, None, length=DRAWS_AT_ONCE)

        def chain(state: Any) -> tuple[Any, ...]:
            found = []
            with jax.enable_x64(True):
                for _ in range(0, n, DRAWS_AT_ONCE):
                    state, drawn = compiled(state)
                    found.append([np.asarray(one) for one in drawn])
                    count()
            return tuple(np.concatenate(one)[warmup:n] for one in zip(*found, strict=True))

        count = _reporter(settings.progress, chains * n)
        keys = jax.random.split(jax.random.PRNGKey(seed), chains)
        begin = jax.jit(lambda key, start: kernel.init(key, warmup, start, (), {}))
        states = [begin(key, start) for key, start in zip(keys, starts, strict=True)]
        compiled = jax.jit(run).lower(states[0]).compile()
        began = perf_counter()
        with ThreadPoolExecutor(chains) as pool:
            found = list(pool.map(chain, states))
        seconds = perf_counter() - began
    z, diverging = (np.stack(part) for part in zip(*found, strict=True))
    return Chains(mode.x + z @ root.T, int(diverging.sum()), seconds)


def _reporter(progress: Progress | None, n: int) -> Callable[[], None]:
    """A function that several threads call after each ``DRAWS_AT_ONCE`` draws of ``n``."""
    lock, done = Lock(), 0

    def count() -> None:
        nonlocal done
        with lock:
            done = min(done + DRAWS_AT_ONCE, n)
            if progress is not None:
                progress("sampling", done, n)

    return count


def jax_value(density: Model) -> Callable[[Any], Any]:
    """The log posterior as a function that jax differentiates."""
    if isinstance(density, LinearDensity):
        return density.in_jax()
    import jax.numpy as jnp

    cells = density.table.cells
    width = density.table.n_blocks * len(density.table.raters) * density.table.n_categories
    by_label = padded_positions(
        [cells.column[a:b] for a, b in zip(cells.start[:-1], cells.start[1:], strict=True)], width
    )
    by_cell = [padded_positions(g.patterns, len(g.cells)) for g in density.grids]

    def summing(place: Ints, blank: int) -> Callable[[Any], Any]:
        if len(place) * blank <= MOST_DENSE:
            # A product with zeros and ones is faster than gathering, whose gradient scatters.
            often = np.zeros((len(place), blank + 1))
            np.add.at(often, (np.arange(len(place))[:, None], place), 1.0)
            return lambda rows: often[:, :blank] @ rows
        return lambda rows: jnp.concatenate([rows, jnp.zeros((1, rows.shape[1]))])[place].sum(axis=1)

    sums = (
        summing(by_label, width),
        tuple(summing(p, len(g.cells)) for p, g in zip(by_cell, density.grids, strict=True)),
    )

    def value(x: Any) -> Any:
        return density.stages(x, jnp, *sums).value + density.log_prior(x)

    return value


def padded_positions(rows: Sequence[Ints], blank: int) -> Ints:
    """Rows of positions of the same length, filled with a position that holds nothing."""
    found = np.full((len(rows), max(map(len, rows))), blank)
    for i, row in enumerate(rows):
        found[i, : len(row)] = row
    return found


def rhat_and_samples(values: Floats) -> tuple[Floats, Floats]:
    """Rank-normalised R-hat and effective draws (the smaller of bulk and tail): two (q,) of (chains, draws, q)."""
    stats = require("arviz_stats.base", "raters", PURPOSE).array_stats

    def diagnose(chains: Floats) -> tuple[float, float]:
        if not np.ptp(chains) > 0:
            return np.nan, np.nan
        bulk, tail = stats.ess(chains, method="bulk"), stats.ess(chains, method="tail", prob=0.95)
        return float(stats.rhat(chains)), float(np.minimum(bulk, tail))

    rhat, samples = np.array([diagnose(c) for c in np.moveaxis(values, -1, 0)]).reshape(-1, 2).T
    return rhat, samples
