"""The most probable parameters: fits from several starts, the modes that they find, how sure each is.

Moving an item's ideal ratings by one category and its η back changes the likelihood little, so the posterior has modes
a category apart. The best is taken; what the others would say of raters is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import Density

Progress = Callable[[str, int, int], None]

SAME = 0.02
"""Modes whose severities and variabilities differ by less, everywhere, are one."""

STEEP = 1e-2
"""A gradient, in posterior standard deviations, above which a fit has not arrived."""

MOST_STEPS = 500
MOST_NEWTON = 5


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
    """The different maxima that fits from so many starts reach, the one with most mass first."""
    first = _from_labels(density)
    reached = [_climb(density, first, _widths(density, first) * np.identity(len(first), dtype=np.float64))]
    # Coordinates in which the posterior around one mode is round suit the way to the others too.
    round_there: Floats = np.linalg.cholesky(_mode(density, *reached[0], 1).covariance)
    for i in range(1, starts):
        if progress is not None:
            progress("fitting", i, starts)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, i)))
        reached.append(_climb(density, _other_start(density, first, rng), round_there))
    reached.sort(key=lambda pair: -pair[1])
    different: list[tuple[Floats, float, int]] = []
    for x, value in reached:
        same = next((n for n, one in enumerate(different) if _alike(density, x, one[0])), None)
        if same is None:
            different.append((x, value, 1))
        else:
            different[same] = (*different[same][:2], different[same][2] + 1)
    found = [_mode(density, *one) for one in different]
    return tuple(sorted(found, key=lambda m: -m.evidence))


def _climb(density: Density, start: Floats, root: Floats) -> tuple[Floats, float]:
    """Up from a start, in the coordinates z of x = start + root z."""
    from scipy.optimize import minimize

    def down(z: Floats) -> tuple[float, Floats]:
        value, slope = density.value_and_gradient(start + root @ z)
        return -value, -(slope @ root)

    found = minimize(
        down, np.zeros(len(start)), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "maxcor": 10, "ftol": 1e-9, "gtol": 1e-2},
    )  # fmt: skip
    return start + root @ np.asarray(found.x), -float(found.fun)


def _widths(density: Density, x: Floats) -> Floats:
    """Roughly how far each parameter alone may move."""
    width = 1e-3
    _, here = density.value_and_gradient(x)
    curvature = np.empty(len(x))
    for i in range(len(x)):
        step = x.copy()
        step[i] += width
        curvature[i] = (here[i] - density.value_and_gradient(step)[1][i]) / width
    return np.asarray(1 / np.sqrt(np.maximum(curvature, 1 / density.layout.sd**2)))


def _alike(density: Density, x: Floats, other: Floats) -> bool:
    layout = density.layout
    gap = max(np.abs(m @ (x - other)).max() for m in (layout.phi, layout.psi))
    return bool(gap < SAME)


def _mode(density: Density, x: Floats, value: float, found: int) -> Mode:
    """A maximum with its covariance, after a last step of Newton's."""
    information = _information(density, x)
    root, vectors = np.linalg.eigh(information)
    # A ridge along which the likelihood is flat is as wide as the priors leave it, and no wider.
    root = np.maximum(root, 1e-2)
    covariance = (vectors / root) @ vectors.T
    for _ in range(MOST_NEWTON):
        _, slope = density.value_and_gradient(x)
        if float(np.sqrt(slope @ covariance @ slope)) < STEEP / 100:
            break
        step = x + covariance @ slope
        if density.value(step) < value:
            break
        x, value = step, density.value(step)
    _, slope = density.value_and_gradient(x)
    evidence = value - 0.5 * float(np.log(root).sum())
    return Mode(x, value, covariance, evidence, found, float(np.sqrt(slope @ covariance @ slope)))


def _information(density: Density, x: Floats, width: float = 1e-4) -> Floats:
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
    mean = np.bincount(cell, table.value) / np.bincount(cell)
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


def _other_start(density: Density, first: Floats, rng: np.random.Generator) -> Floats:
    """A start elsewhere: some criteria's ideal ratings a category off, everything else a little."""
    layout = density.layout
    x = first + 0.3 * layout.sd * rng.normal(size=layout.p)
    moved = rng.integers(-1, 2, len(density.table.criteria))
    _steps(density, x, moved)
    x[layout.of_kind("eta")] = moved + 0.1 * rng.normal(size=len(moved))
    return x
