"""Restricted maximum likelihood of variances, none below 0, and their profile-likelihood intervals.

The deviance (minus twice the restricted or full log-likelihood) comes from a balanced table's mean squares
(`balanced`) or from blocks of labels (`blocks`). It is lowered by scoring steps within the bounds: a quadratic is
minimised over variances of 0 and above, and the step is halved until the deviance falls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from assay.estimation.statistic import Bools, Floats

MOST_STEPS = 80
"""Most scoring steps until a search counts as not converged; a converging search takes a few. Each step is a
factorisation."""

ZERO = 1e-8
"""A variance below this share of their sum is at the bound, if setting it to 0 is no worse."""

INSIDE = 0.02
"""A search starts with no variance below this share of their sum, because a start at the bound may stay there."""


class Likelihood(Protocol):
    """The interface of a table and its terms for a fit."""

    def deviance(self, theta: Floats) -> float:
        """Minus twice the log-likelihood."""

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Its gradient and an approximation of its second derivatives."""

    def curvature(self, theta: Floats) -> Floats:
        """The second derivatives alone."""

    def simulate(self, theta: Floats, rng: np.random.Generator) -> Self:
        """The same table with other labels."""


@dataclass(frozen=True, eq=False)
class RemlFit:
    """Variances, the residual last, and the outcome of the search."""

    theta: Floats
    deviance: float
    converged: bool
    likelihood: Likelihood

    @property
    def at_zero(self) -> tuple[bool, ...]:
        """Which variances are at the bound."""
        return tuple(bool(t <= 0) for t in self.theta)

    def covariance(self) -> Floats:
        """Of the variances, from the curvature; NaN for those at the bound."""
        free = self.theta > 0
        found = np.full((len(self.theta),) * 2, np.nan)
        half = self.likelihood.curvature(self.theta)[np.ix_(free, free)] / 2
        with contextlib.suppress(np.linalg.LinAlgError):
            found[np.ix_(free, free)] = np.linalg.inv(half)
        return found


def fit(
    likelihood: Likelihood, starts: Sequence[Floats], tolerance: float = 1e-9, most_steps: int = MOST_STEPS
) -> RemlFit:
    """Return the maximum-likelihood variances from each start; later starts only if the first ends at a bound."""
    best: RemlFit | None = None
    for start in starts:
        if not np.isfinite(start).all() or not start.sum() > 0:
            continue
        found = _search(likelihood, np.maximum(start, INSIDE * np.maximum(start, 0).sum()), tolerance, most_steps)
        if best is None or found.deviance < best.deviance - 1e-9:
            best = found
        if best.converged and not any(best.at_zero):
            break
    assert best is not None, "one start at least is finite"
    return best


def _search(likelihood: Likelihood, theta: Floats, tolerance: float, most_steps: int) -> RemlFit:
    theta, deviance, converged = _descend(likelihood, theta, tolerance, most_steps=most_steps)
    low = theta < ZERO * theta.sum()
    if low.any() and (theta[low] > 0).any():
        # Variances near 0 are set to 0 if that is no worse.
        other = np.where(low, 0.0, theta)
        value = likelihood.deviance(other)
        if value <= deviance + 1e-6:
            theta, deviance = other, value
    return RemlFit(theta, deviance, converged, likelihood)


def _descend(
    likelihood: Likelihood, theta: Floats, tolerance: float, along: Floats | None = None, most_steps: int = MOST_STEPS
) -> tuple[Floats, float, bool]:
    """Scoring steps until nothing is gained; with ``along``, only moves with along'δ = 0 are made."""
    deviance = likelihood.deviance(theta)
    if not np.isfinite(deviance):
        return theta, deviance, False  # impossible variances have no gradient
    for _ in range(most_steps):
        gradient, curvature = likelihood.derivatives(theta)
        move = bounded_step(curvature, gradient, theta, along, 0.0)
        gain = -float(gradient @ move)
        if gain <= tolerance:
            return theta, deviance, True
        for _ in range(40):
            value = likelihood.deviance(theta + move)
            if value <= deviance - 1e-4 * -float(gradient @ move):
                break
            move = move / 2
        else:
            return theta, deviance, gain < 1e-5
        theta = np.maximum(theta + move, 0.0)
        deviance = value
    return theta, deviance, False


def bounded_step(
    curvature: Floats, gradient: Floats, theta: Floats, along: Floats | None = None, target: float = 0.0
) -> Floats:
    """The step δ that minimises δ'Hδ/2 + g'δ with θ + δ ≥ 0 and, where given, along'δ = target.

    By active sets: variables that would leave the bounds are held there, those that want to leave the bound are freed.
    """
    k = len(theta)
    scale = np.sqrt(np.maximum(np.diag(curvature), 1e-300))
    ridge = curvature + np.diag(1e-10 * scale**2)
    held = theta <= 0
    held &= gradient > 0
    best = np.zeros(k)
    for _ in range(4 * k + 8):
        best, multiplier = equality_step(ridge, gradient, theta, held, along, target)
        out = ~held & (theta + best < 0)
        if out.any():
            # Hold the one that would go furthest beyond.
            worst = int(np.argmin(np.where(out, (theta + best) * scale, np.inf)))
            held = held.copy()
            held[worst] = True
            continue
        slope = ridge @ best + gradient - (0.0 if along is None else multiplier * along)
        wants = held & (slope * theta.sum() < -1e-9)
        if not wants.any():
            break
        held = held.copy()
        held[int(np.argmin(np.where(wants, slope / scale, np.inf)))] = False
    return np.maximum(best, -theta)


def equality_step(
    curvature: Floats, gradient: Floats, theta: Floats, held: Bools, along: Floats | None, target: float
) -> tuple[Floats, float]:
    """The step with some variances taken to 0, and the multiplier of the constraint."""
    free = ~held
    move = np.where(held, -theta, 0.0)
    right = -(gradient + curvature @ move)[free]
    inner = curvature[np.ix_(free, free)]
    if not free.any():
        return move, 0.0
    plain = np.linalg.solve(inner, right)
    if along is None:
        move[free] = plain
        return move, 0.0
    direction = np.linalg.solve(inner, along[free])
    weight = float(along[free] @ direction)
    if abs(weight) < 1e-300:
        move[free] = plain
        return move, 0.0
    multiplier = (target - float(along @ move) - float(along[free] @ plain)) / weight
    move[free] = plain + multiplier * direction
    return move, multiplier


# -- intervals --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ratio:
    """A variance, or a share of variances: top'θ / (top'θ + rest'θ), or top'θ without a rest."""

    top: Floats
    rest: Floats | None = None

    def value(self, theta: Floats) -> Floats:
        """Return (...) from (..., terms + 1): NaN if all of it is 0."""
        top = theta @ self.top
        if self.rest is None:
            return np.asarray(top)
        whole = top + theta @ self.rest
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, top / np.where(whole > 0, whole, 1.0), np.nan)

    def constraint(self, value: float) -> tuple[Floats, float]:
        """Which linear condition on the variances gives it this value: a'θ = b."""
        if self.rest is None:
            return self.top, value
        return (1 - value) * self.top - value * self.rest, 0.0

    def slope(self, theta: Floats) -> Floats:
        """Its gradient."""
        if self.rest is None:
            return self.top
        top, rest = float(theta @ self.top), float(theta @ self.rest)
        return (rest * self.top - top * self.rest) / (top + rest) ** 2


def profile(fitted: RemlFit, quantity: Ratio, confidence: float, df: float | None = None) -> tuple[float, float]:
    """The values that the likelihood does not speak against: the profile-likelihood interval.

    At the ends the profile deviance is that of the fit plus the quantile of χ² with one degree of freedom, or of F with
    1 and ``df`` if it is given, for few objects. The lower end is 0 if this is never reached.
    """
    from scipy.special import ndtri, stdtrit

    value = float(quantity.value(fitted.theta))
    if not np.isfinite(value):
        return np.nan, np.nan
    upper = (1 + confidence) / 2
    level = float(ndtri(upper) if df is None else stdtrit(df, upper))
    cap = np.inf if quantity.rest is None else 1.0
    error = standard_error(fitted, quantity)
    scale = error if np.isfinite(error) and error > 0 else max(value, 0.05 * _total(fitted, quantity))
    down, up = _Side(fitted, quantity), _Side(fitted, quantity)
    low = 0.0 if value <= 0 else find_end(down.root, value, -scale, level, 0.0)
    return low, find_end(up.root, value, scale, level, cap)


def profile_p(fitted: RemlFit, quantity: Ratio, null: float, df: float | None = None) -> float:
    """Two-sided p-value of a true value of ``null``: the level at which `profile` would end there."""
    from scipy.special import ndtr, stdtr

    root = _Side(fitted, quantity).root(null)
    return float(2 * (ndtr(-root) if df is None else stdtr(df, -root)))


def standard_error(fitted: RemlFit, quantity: Ratio) -> float:
    """Return the standard error by the delta method; variances at the bound are treated as fixed."""
    covariance = np.nan_to_num(fitted.covariance(), nan=0.0)
    slope = quantity.slope(fitted.theta)
    found = float(slope @ covariance @ slope)
    return float(np.sqrt(found)) if found > 0 else np.nan


def _total(fitted: RemlFit, quantity: Ratio) -> float:
    return 1.0 if quantity.rest is not None else float(fitted.theta.sum())


class _Side:
    """Root of the profile deviance at a value of the quantity; each search starts at the end of the last one."""

    def __init__(self, fitted: RemlFit, quantity: Ratio) -> None:
        self.fitted, self.quantity, self.theta = fitted, quantity, fitted.theta

    def root(self, value: float) -> float:
        """Return √(profile deviance at the value minus the deviance of the fit)."""
        along, target = self.quantity.constraint(value)
        likelihood = self.fitted.likelihood
        start = project_variances(self.theta, along, target)
        if start is None:
            return np.inf
        try:
            theta, deviance, _ = _descend(likelihood, start, 1e-5, along)
        except np.linalg.LinAlgError:  # the residual is 0, and the likelihood is 0
            return np.inf
        if not np.isfinite(deviance):
            return np.inf
        self.theta = theta
        return float(np.sqrt(max(deviance - self.fitted.deviance, 0.0)))


def project_variances(theta: Floats, along: Floats, target: float) -> Floats | None:
    """Variances near these that meet a linear condition, with a residual above 0 if possible; None if there are
    none."""
    total = theta.sum()
    weights = np.diag(1 / np.maximum(theta, 1e-3 * total) ** 2)
    for least in (1e-3 * total, 0.0):
        floor = np.zeros(len(theta))
        floor[-1] = least
        start = np.maximum(theta - floor, 0.0)
        wanted = target - float(along @ floor)
        move = bounded_step(weights, np.zeros(len(theta)), start, along, wanted - float(along @ start))
        found = np.maximum(start + move, 0.0) + floor
        if abs(float(along @ found) - target) <= 1e-9 * float(np.abs(along) @ (found + theta)):
            return found
    return None


def find_end(root_at: Callable[[float], float], value: float, step: float, level: float, bound: float) -> float:
    """The value at which the root deviance reaches the level on one side: secants within a bracket."""
    inner, inner_root = value, 0.0
    outer, outer_root = bound, np.nan
    at = value + level * step
    for _ in range(60):
        at = min(max(at, bound), value) if step < 0 else max(min(at, bound), value)
        if at == bound and np.isfinite(bound):
            root = root_at(bound if step < 0 else 1 - 1e-9)
            if root <= level:
                return bound
            outer, outer_root = bound, root
        else:
            root = root_at(at)
            if abs(root - level) < 2e-3:
                return at
            if root < level:
                inner, inner_root = at, root
            else:
                outer, outer_root = at, root
        at = next_trial(inner, inner_root, outer, outer_root, value, step, level)
        if np.isfinite(outer) and abs(outer - inner) <= 1e-6 * max(abs(value), abs(step)):
            return at
    return at


def next_trial(
    inner: float, inner_root: float, outer: float, outer_root: float, value: float, step: float, level: float
) -> float:
    """Further out by the slope so far, or between the two ends of the bracket."""
    if np.isinf(outer_root):
        return (inner + outer) / 2
    if np.isnan(outer_root):
        far = abs(inner - value) * level / inner_root if inner_root > 0 else 2 * max(abs(inner - value), abs(step))
        ahead = value + np.sign(step) * min(max(far, 1.02 * abs(inner - value)), 5 * max(abs(inner - value), abs(step)))
        return float(ahead)
    share = (level - inner_root) / (outer_root - inner_root)
    return inner + min(max(share, 0.1), 0.9) * (outer - inner)


def replicates(fitted: RemlFit, n: int, seed: int) -> Floats:
    """Variances of n samples drawn from the fitted model: (n, terms + 1)."""
    start = np.maximum(fitted.theta, INSIDE * fitted.theta.sum())
    rngs = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,))) for i in range(n))
    return np.array([fit(fitted.likelihood.simulate(fitted.theta, rng), [start], 1e-6).theta for rng in rngs])
