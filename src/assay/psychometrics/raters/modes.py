"""The most probable parameters: fits from several starts, the modes that they find, how sure each is.

Moving an item's ideal ratings by one category and its η back changes the likelihood little, so the posterior has modes
a category apart. The best is taken; what the others would say of raters is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import Density

Progress = Callable[[str, int, int], None]

SAME = 0.02
"""Modes whose severities and variabilities differ by less, everywhere, are one."""

STEEP = 1e-2
"""A gradient, in posterior standard deviations, above which a fit has not arrived."""

MOST_STEPS = 500
MOST_POLISHED = 4
MOST_CARRIED = 2
"""Maxima of some subjects from which all are fitted."""

MANY_LABELS = 12_000
"""Of tables with more, some subjects are fitted first."""

NEAR, MOST_MEASURED = 12.0, 4
"""So many modes within e to this power of the best have their mass measured; it costs most of the time."""

MOST_NEWTON = 5


class Surface(Protocol):
    """A log posterior that can be climbed."""

    def value(self, x: Floats) -> float:
        """The log posterior, but for a constant."""

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

    @property
    def arrived(self) -> bool:
        """Whether it is a maximum, as far as numbers tell."""
        return bool(np.isfinite(self.steepness) and self.steepness < STEEP)


def find_modes(density: Density, starts: int, seed: int, progress: Progress | None = None) -> tuple[Mode, ...]:
    """The different maxima that fits from so many starts reach, the one with most mass first.

    The first start is made from the labels. Of the others, every second is the best maximum so far with the ideal
    ratings of one or two criteria moved by a category, which is where other modes are; the rest are anywhere. Of large
    tables some subjects are fitted from all starts, and all subjects from the best maxima of those.
    """
    often = int(np.ceil(len(density.table) / MANY_LABELS))
    if often > 1:
        some = Density(density.table.every(often), density.layout)
        there = find_modes(some, starts, seed, progress)[:MOST_CARRIED]
        reached = [climb(density, m.x, _root(m.covariance) / np.sqrt(often)) for m in there]
        best = mode_at(density, *max(reached, key=lambda pair: pair[1]), 1)
    else:
        first = _from_labels(density)
        wide = widths(density, first, density.layout.sd) * np.identity(len(first), dtype=np.float64)
        best = mode_at(density, *climb(density, first, wide), 1)
        # Coordinates in which the posterior around one mode is round suit the way to the others too.
        root = _root(best.covariance)
        reached = [(best.x, best.log_posterior)]
        for i in range(1, starts):
            if progress is not None:
                progress("fitting", i, starts)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, i)))
            top = max(reached, key=lambda pair: pair[1])[0]
            start = _anywhere(density, best.x, rng) if i % 2 == 0 else _a_category_off(density, top, rng)
            reached.append(climb(density, start, root))
    return _different(density, reached, best)


def _different(density: Density, reached: list[tuple[Floats, float]], best: Mode) -> tuple[Mode, ...]:
    """What was reached, each mode once, with its mass; ``best`` is the mode whose shape is known."""
    reached.sort(key=lambda pair: -pair[1])
    different: list[tuple[Floats, float, int]] = []
    for x, value in reached:
        same = next((n for n, one in enumerate(different) if _alike(density, x, one[0])), None)
        if same is None:
            different.append((x, value, 1))
        else:
            different[same] = (*different[same][:2], different[same][2] + 1)
    found = []
    for n, (x, value, often) in enumerate(different):
        if np.array_equal(x, best.x):
            found.append(replace(_polished(density, best) if n == 0 else best, found=often))
        elif n == 0 or (value > different[0][1] - NEAR and len(found) < MOST_MEASURED):
            found.append(_polished(density, mode_at(density, x, value, often)))
        else:
            # So far below that its mass is none, whatever its shape; it is taken for the best one's.
            apart = value - different[0][1]
            found.append(Mode(x, value, best.covariance, found[0].evidence + apart, often, np.inf))
    return tuple(sorted(found, key=lambda m: -m.evidence))


def _polished(density: Density, mode: Mode) -> Mode:
    """A maximum that a search has come near, reached in its own coordinates."""
    for _ in range(MOST_POLISHED):
        if mode.arrived:
            break
        mode = mode_at(density, *climb(density, mode.x, _root(mode.covariance)), mode.found)
    return mode


def _root(covariance: Floats) -> Floats:
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def climb(density: Surface, start: Floats, root: Floats) -> tuple[Floats, float]:
    """Up from a start, in the coordinates z of x = start + root z."""
    from scipy.optimize import minimize

    def down(z: Floats) -> tuple[float, Floats]:
        value, slope = density.value_and_gradient(start + root @ z)
        return -value, -(slope @ root)

    found = minimize(
        down, np.zeros(len(start)), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-2},
    )  # fmt: skip
    return start + root @ np.asarray(found.x), -float(found.fun)


def widths(density: Surface, x: Floats, sd: Floats) -> Floats:
    """Roughly how far each parameter alone may move."""
    width = 1e-3
    _, here = density.value_and_gradient(x)
    curvature = np.empty(len(x))
    for i in range(len(x)):
        step = x.copy()
        step[i] += width
        curvature[i] = (here[i] - density.value_and_gradient(step)[1][i]) / width
    return np.asarray(1 / np.sqrt(np.maximum(curvature, 1 / sd**2)))


def _alike(density: Density, x: Floats, other: Floats) -> bool:
    layout = density.layout
    gap = max(np.abs(m @ (x - other)).max() for m in (layout.phi, layout.psi))
    return bool(gap < SAME)


def mode_at(density: Surface, x: Floats, value: float, found: int) -> Mode:
    """A maximum with its covariance, after a last step of Newton's."""
    information = _information(density, x)
    curvature, vectors = np.linalg.eigh(information)
    # A ridge along which the likelihood is flat is as wide as the priors leave it, and no wider.
    root = np.maximum(curvature, 1e-2)
    covariance = (vectors / root) @ vectors.T
    for _ in range(MOST_NEWTON):
        _, slope = density.value_and_gradient(x)
        # Downhill of a ridge, a step along the curvature's size still leads up.
        way = (vectors / np.maximum(np.abs(curvature), 0.5)) @ (vectors.T @ slope)
        if float(np.sqrt(slope @ covariance @ slope)) < STEEP / 100:
            break
        tried = [(density.value(x + share * way), share) for share in (1.0, 0.5, 0.1)]
        higher, share = max(tried)
        if higher <= value:
            break
        x, value = x + share * way, higher
    _, slope = density.value_and_gradient(x)
    evidence = value - 0.5 * float(np.log(root).sum())
    return Mode(x, value, covariance, evidence, found, float(np.sqrt(slope @ covariance @ slope)))


def _information(density: Surface, x: Floats, width: float = 1e-4) -> Floats:
    """Minus the Hessian of the log posterior, from differences of the gradient."""
    found = np.empty((len(x), len(x)))
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = width
        up, down = (density.value_and_gradient(x + s * step)[1] for s in (1, -1))
        found[i] = (down - up) / (2 * width)
    return (found + found.T) / 2


# -- starts ---------------------------------------------------------------------------------------------


def _from_labels(density: Density) -> Floats:
    """Severity as the distance from a cell's mean, steps from the shares of the labels."""
    table, layout = density.table, density.layout
    x = layout.mean.copy()
    cell = np.unique(table.item * len(table.criteria) + table.criterion, return_inverse=True)[1]
    usual = np.bincount(table.criterion, table.value) / np.bincount(table.criterion)
    # A cell's mean, drawn to its criterion's, so that a cell of one label tells something too.
    of_cell = np.bincount(cell, usual[table.criterion]) / np.bincount(cell)
    mean = (np.bincount(cell, table.value) + of_cell) / (np.bincount(cell) + 1)
    away = np.bincount(table.rater, table.value - mean[cell]) / np.bincount(table.rater)
    wanted = away - away.mean()
    mine = layout.of_kind("phi")
    x[mine] = np.linalg.lstsq(layout.phi[: len(wanted)][:, mine], wanted, rcond=None)[0]
    _steps(density, x, np.zeros(len(table.criteria), dtype=int))
    return x


def _steps(density: Density, x: Floats, moved: Ints) -> None:
    """Set γ to the shares of the labels, each criterion's moved by so many categories."""
    table, layout = density.table, density.layout
    n, k = len(table.criteria), table.n_categories
    shares = np.bincount(table.block * k + table.value, minlength=table.n_blocks * k).reshape(-1, k) + 0.5
    for b, gamma in enumerate(layout.gamma):
        size = table.sizes[b % n]
        mine = np.full(size, 0.5)
        place = np.clip(np.arange(size) - moved[b % n], 0, size - 1).astype(int)
        np.add.at(mine, place, shares[b, :size])
        x[gamma[: size - 1]] = np.clip(-np.diff(np.log(mine)), -3, 3)


def _anywhere(density: Density, first: Floats, rng: np.random.Generator) -> Floats:
    """A start elsewhere: some criteria's ideal ratings a category off, everything else a little."""
    layout = density.layout
    x = first + 0.3 * layout.sd * rng.normal(size=layout.p)
    moved = rng.integers(-1, 2, len(density.table.criteria))
    _steps(density, x, moved)
    x[layout.of_kind("eta")] = moved + 0.1 * rng.normal(size=len(moved))
    return x


def _a_category_off(density: Density, best: Floats, rng: np.random.Generator) -> Floats:
    """A maximum with the ideal ratings of one or two criteria moved by a category, and their η moved back."""
    layout, x = density.layout, best.copy()
    n = len(density.table.criteria)
    eta = layout.of_kind("eta")
    for j in rng.choice(n, size=min(n, int(rng.integers(1, 3))), replace=False):
        by = int(rng.choice([-1, 1]))
        x[eta[j]] += by
        for gamma in layout.gamma[j::n]:
            mine = gamma[gamma >= 0]
            x[mine] = np.append(x[mine][1:], 3.0) if by > 0 else np.append(-3.0, x[mine][:-1])
    return x
