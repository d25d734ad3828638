"""Strengths of systems from votes on pairs of them: Bradley–Terry, with ties, and Elo, many of each at a time.

In *Bradley–Terry* (1952) the log odds of i being preferred to j are θ_i − θ_j. A tie counts as half a vote for each, or
has a separate probability (Davidson 1970): with D = θ_i − θ_j,

    P(i) : P(tie) : P(j) = exp(D/2) : ν : exp(−D/2).

Both likelihoods are concave; Newton's method finds their maximum for many tables of votes at once, so that a bootstrap
is one call. Votes determine only differences of θ: its mean is 0 here.

*Elo* goes through the votes one after the other (Elo 1978): the rating of the first system rises by
k · w · (S − E), that of the second falls by as much, where S is 1, 1/2 or 0, w the vote's weight, and
E = 1 / (1 + base^(−(R_first − R_second) / scale)).

With *covariates* x of a vote, such as how much longer the first output is, the log odds are θ_i − θ_j + x β: a logistic
regression whose strengths compare outputs with equal x (Chatbot Arena's style control: Li, Angelopoulos &
Chiang 2024).

References
----------
Bradley & Terry (1952), Biometrika 39: 324-345. Davidson (1970), JASA 65: 317-328. Elo (1978), The Rating of
Chessplayers, Past and Present. Li, Angelopoulos & Chiang (2024), Does style matter? Disentangling style and substance
in Chatbot Arena, lmsys.org/blog/2024-08-28-style-control.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.estimation.statistic import Floats, Ints

FARTHEST = 25.0
"""Systems whose log odds differ by more than this diverge: the votes have no finite estimate."""

STEPS = 60
"""Steps of Newton's method at most; it needs five to ten."""

CHORDS = 25
"""Joint steps of similar tables with one curvature, before the remaining tables are fitted one by one."""

LEAST_UNITS = 10
"""Items with votes on a pair, from which its residual is tested. Where the model holds, some pair of a board then
differs in .6% to 4% of boards (3 to 10 systems, 40 to 300 items of 1 to 10 votes, Holm over the pairs)."""

LEAST_JOINT = 8
"""Least tables for joint steps, because the shared curvature requires a separate Newton fit."""

FEW_RUNS = 16
"""Fewer runs of Elo are gone through one by one: a step over many costs as much as 16 votes of a plain loop."""

STEP_CELLS = 1 << 18
"""Votes of Elo, over all runs, that are laid out at a time."""

CELLS = 1 << 18
"""Cells of tables that are solved together: few enough for the processor's cache."""


def bradley_terry(wins: Floats, ties: Floats | None = None, start: Floats | None = None) -> Floats:
    """Return the maximum-likelihood strengths.

    Parameters
    ----------
    wins : (..., systems, systems) float
        Votes, or weights of votes, for the row's system over the column's. Without ``ties``, a tie is half a vote for
        each of the two.
    ties : (..., systems, systems) float, optional
        Ties, symmetric, for Davidson's model.
    start : (systems,) float, optional
        Where to begin; strengths of similar votes save steps.

    Returns
    -------
    (..., systems) float
        Log odds with mean 0; NaN without a finite maximum.
    """
    n = wins.shape[-1]
    flat = wins.reshape(-1, n, n)
    tied = None if ties is None else ties.reshape(-1, n, n)
    some = max(1, CELLS // (n * n))
    begin = np.zeros(n) if start is None or not np.isfinite(start).all() else np.asarray(start, dtype=float)
    middle = _middle(flat, tied, begin) if len(flat) >= LEAST_JOINT else None
    found = []
    for i in range(0, len(flat), some):
        part, tie = flat[i : i + some], None if tied is None else tied[i : i + some]
        strengths = np.full((len(part), n), np.nan) if middle is None else _chord(part, tie, *middle)
        left = np.isnan(strengths).any(axis=1)
        if left.any():
            strengths[left] = newton_ratings(part[left], None if tie is None else tie[left], begin)
        lost = np.isnan(strengths).any(axis=1)
        if begin.any() and lost.any():
            # From strengths of other votes a full step can diverge; from 0 it does not.
            strengths[lost] = newton_ratings(part[lost], None if tie is None else tie[lost], np.zeros(n))
        found.append(strengths)
    return np.concatenate(found).reshape(wins.shape[:-1])


def _middle(wins: Floats, ties: Floats | None, start: Floats) -> tuple[Floats, Floats] | None:
    """Parameters of the mean of the tables, and the inverse of its curvature; None without a finite estimate."""
    mean, tied = wins.mean(axis=0, keepdims=True), None if ties is None else ties.mean(axis=0, keepdims=True)
    first = newton_ratings(mean, tied, start, whole=True)
    if np.isnan(first).any():
        return None
    return first[0], np.linalg.inv(_fix_mean(likelihood_slopes(mean, tied, first)[1], wins.shape[-1])[0])


def _chord(wins: Floats, ties: Floats | None, first: Floats, inverse: Floats) -> Floats:
    """Newton's method with one curvature for all tables: a matrix product a step. NaN for what does not settle.

    Resamples of the same votes have nearly the same curvature, so that each step leaves a few per cent of the error.
    """
    n = wins.shape[-1]
    point = np.repeat(first[None], len(wins), axis=0)
    left, done = np.arange(len(wins)), np.full(point.shape, np.nan)
    for _ in range(CHORDS):
        step = (
            likelihood_slopes(wins[left], None if ties is None else ties[left], point[left], curved=False)[0] @ inverse
        )
        point[left] += step
        settled = np.abs(step).max(axis=1) < 1e-10
        done[left[settled]] = point[left[settled]]
        left = left[~settled]
        if not len(left):
            break
    strengths = done[:, :n]
    return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))


def newton_ratings(wins: Floats, ties: Floats | None, start: Floats, whole: bool = False) -> Floats:
    """`bradley_terry` for some tables, each with its own curvature: (tables, systems), or all parameters."""
    tables, n = wins.shape[:2]
    point = np.zeros((tables, n if ties is None else n + 1))
    point[:, :n] = start
    left, done = np.arange(tables), np.full(point.shape, np.nan)
    for _ in range(STEPS):
        gradient, curvature = likelihood_slopes(wins[left], None if ties is None else ties[left], point[left])
        step = solve_steps(_fix_mean(curvature, n), gradient)
        length = np.abs(step).max(axis=1)
        point[left] += step * np.minimum(1.0, 4.0 / np.maximum(length, 1e-300))[:, None]
        here = point[left]
        far = (np.ptp(here[:, :n], axis=1) > FARTHEST) | (np.abs(here[:, n:]) > FARTHEST).any(axis=1)
        settled = (length < 1e-9) & ~far
        done[left[settled]] = here[settled]
        left = left[~settled & ~far & np.isfinite(length)]
        if not len(left):
            break
    done[:, :n] -= done[:, :n].mean(axis=1, keepdims=True)
    return done if whole else done[:, :n]


def solve_steps(curvature: Floats, gradient: Floats) -> Floats:
    """Steps that make the gradients 0, (tables, parameters); NaN for a table that holds some parameter in no way.

    A resample of few items may leave out all votes on two systems.
    """
    try:
        return np.asarray(np.linalg.solve(curvature, gradient[..., None])[..., 0])
    except np.linalg.LinAlgError:
        found = np.full(gradient.shape, np.nan)
        for i, (one, slope) in enumerate(zip(curvature, gradient, strict=True)):
            if np.linalg.cond(one) < 1 / np.finfo(float).eps:
                found[i] = np.linalg.solve(one, slope)
        return found


def _fix_mean(curvature: Floats, n: int) -> Floats:
    """Fix the common shift of all strengths, which are determined up to a constant."""
    curvature[:, :n, :n] += curvature.diagonal(axis1=1, axis2=2)[:, :n].mean(axis=1)[:, None, None] / n + 1e-12
    return curvature


def likelihood_slopes(wins: Floats, ties: Floats | None, point: Floats, curved: bool = True) -> tuple[Floats, Floats]:
    """Gradient of the log likelihood and, if requested, minus its second derivatives."""
    return _half(wins, point, curved) if ties is None else _davidson(wins, ties, point, curved)


def _half(wins: Floats, point: Floats, curved: bool) -> tuple[Floats, Floats]:
    """`likelihood_slopes` with a tie as half a vote for each."""
    votes = wins + wins.swapaxes(1, 2)
    chance = point[:, None, :] - point[:, :, None]
    np.exp(chance, out=chance)
    chance += 1
    np.reciprocal(chance, out=chance)
    gradient = wins.sum(axis=2) - np.einsum("tij,tij->ti", votes, chance)
    return gradient, _laplacian(votes * chance * (1 - chance)) if curved else np.empty(0)


def _davidson(wins: Floats, ties: Floats, point: Floats, curved: bool) -> tuple[Floats, Floats]:
    """The same for Davidson's model; the last parameter is log ν. Each pair has two cells, and counts once."""
    n = wins.shape[-1]
    apart = point[:, :n, None] - point[:, None, :n]
    nu = np.exp(point[:, n])[:, None, None]
    up, down = np.exp(apart / 2), np.exp(-apart / 2)
    whole = up + down + nu
    lean, tie = (up - down) / whole, nu / whole
    votes = wins + wins.swapaxes(1, 2) + ties
    strengths = ((wins - wins.swapaxes(1, 2) - votes * lean) / 2).sum(axis=2)
    others = ((ties - votes * tie) / 2).sum(axis=(1, 2))
    gradient = np.concatenate([strengths, others[:, None]], axis=1)
    if not curved:
        return gradient, np.empty(0)
    curvature = np.zeros((len(wins), n + 1, n + 1))
    curvature[:, :n, :n] = _laplacian(votes * ((up + down) / whole - lean**2) / 4)
    cross = -(votes * lean * tie / 2).sum(axis=2)
    curvature[:, :n, n] = curvature[:, n, :n] = cross
    curvature[:, n, n] = (votes * tie * (1 - tie) / 2).sum(axis=(1, 2))
    return gradient, curvature


def _laplacian(weights: Floats) -> Floats:
    """Row sums on the diagonal, minus the weights: (tables, systems, systems)."""
    n = weights.shape[-1]
    found = -weights
    found[:, np.arange(n), np.arange(n)] += weights.sum(axis=2)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class CovariateVotes:
    """Votes with covariates, one entry a vote.

    Attributes
    ----------
    first, second : (votes,) int
        Systems.
    got : (votes,) float
        The result of the first system: 1, 1/2 or 0.
    x : (votes, covariates) float
        Of the first output minus that of the second.
    weight : (votes,) float or None
        Default 1 each.
    systems : int
    prior : float
        Votes added to every pair of systems, half for each, with equal x.
    """

    first: Ints
    second: Ints
    got: Floats
    x: Floats
    weight: Floats | None
    systems: int
    prior: float = 0.0

    @property
    def width(self) -> int:
        """Parameters: systems, then covariates."""
        return self.systems + int(self.x.shape[1])

    def fit(self, start: Floats | None = None) -> Floats:
        """Return the maximum-likelihood strengths with mean 0, and β; NaN if not finite: (systems + covariates,)."""
        point = np.zeros(self.width) if start is None else np.array(start, dtype=float)
        for _ in range(STEPS):
            step = newton_step(self.slopes(point)[0] + self.prior_slopes(point), self.systems)
            point = point + step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))
            if not np.isfinite(point).all() or np.ptp(point[: self.systems]) > FARTHEST:
                break  # far away, or nothing tells a covariate from the systems
            if np.abs(step).max() < 1e-9:
                point[: self.systems] -= point[: self.systems].mean()
                return point
        return np.full(self.width, np.nan)

    def slopes(self, point: Floats, unit: Ints | None = None, n: int = 1) -> Floats:
        """Gradient of the log likelihood and minus its second derivatives, by unit: (n, width + width²)."""
        s, p, k = self.systems, self.x.shape[1], self.width
        where = np.zeros(len(self.first), dtype=np.int64) if unit is None else unit
        apart = point[self.first] - point[self.second] + self.x @ point[s:]
        chance = 1 / (1 + np.exp(-apart))
        weight = 1.0 if self.weight is None else self.weight
        left, curved = weight * (self.got - chance), weight * chance * (1 - chance)

        def by_system(value: Floats) -> Floats:
            one, other = (np.bincount(where * s + side, value, n * s) for side in (self.first, self.second))
            return np.asarray((one - other).reshape(n, s), dtype=float)

        found = np.zeros((n, k + k * k))
        found[:, :s] = by_system(left)
        second = found[:, k:].reshape(n, k, k)
        cells = np.bincount((where * s + self.first) * s + self.second, curved, n * s * s)
        pairs: Floats = cells.reshape(n, s, s).astype(float, copy=False)
        second[:, :s, :s] = _laplacian(pairs + pairs.swapaxes(1, 2))
        for c in range(p):
            found[:, s + c] = np.bincount(where, left * self.x[:, c], n)
            second[:, :s, s + c] = second[:, s + c, :s] = by_system(curved * self.x[:, c])
            for d in range(c + 1):
                both = np.bincount(where, curved * self.x[:, c] * self.x[:, d], n)
                second[:, s + c, s + d] = second[:, s + d, s + c] = both
        return found

    def prior_slopes(self, point: Floats) -> Floats:
        """The contribution of the prior votes of every pair to `slopes`: (width + width²,)."""
        s, k = self.systems, self.width
        found = np.zeros(k + k * k)
        if self.prior:
            theta = point[:s]
            chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
            found[:s] = self.prior * (0.5 - chance).sum(axis=1)
            curved = self.prior * chance * (1 - chance) * (1 - np.eye(s))
            found[k:].reshape(k, k)[:s, :s] = _laplacian(curved[None])[0]
        return found


def newton_step(slopes: Floats, systems: int) -> Floats:
    """One step of Newton's method from gradient and curvature, (..., width + width²); NaN where nothing holds it."""
    k = math.isqrt(slopes.shape[-1])  # of k + k², which is less than (k + 1)²
    flat = slopes.reshape(-1, k + k * k)
    step = solve_steps(_fix_mean(flat[:, k:].reshape(-1, k, k).copy(), systems), flat[:, :k])
    step[:, :systems] -= step[:, :systems].mean(axis=1, keepdims=True)
    return np.asarray(step.reshape(*slopes.shape[:-1], k))


class PairFit(NamedTuple):
    """How the votes on each pair of systems agree with a Bradley–Terry fit; arrays have one entry per pair with votes.

    Attributes
    ----------
    first, second : int
        Systems.
    votes, wins, expected : float
        Votes on the pair, those for the first (a tie is half a vote), and their number under the fit.
    residual : float
        Wins minus expected wins, in standard errors; NaN if the pair is not tested.
    p : float
        Two-sided p-value of the residual.
    p_own : float
        Two-sided p-value of the pair's own votes: as many for each of the two.
    """

    first: Ints
    second: Ints
    votes: Floats
    wins: Floats
    expected: Floats
    residual: Floats
    p: Floats
    p_own: Floats


def pair_fit(wins: Floats, strengths: Floats) -> PairFit:
    """Compare the votes on each pair of systems with a Bradley–Terry fit, as standardised residuals.

    With e the wins of the first system minus their expectation, in all votes of an item, its contribution to the
    residual is e minus what the item adds to the fit: (score · H⁻¹) times the derivative of the expectation, H the
    curvature of the log likelihood. The squares of these contributions sum to a variance that is valid if the votes on
    an item are dependent.

    Parameters
    ----------
    wins : (units, systems, systems) float
        Votes for the row's system over the column's, of each item or cluster; a tie is half a vote for each.
    strengths : (systems,) float
        The fit of all votes, log odds.
    """
    from scipy.special import stdtr

    odds = strengths[:, None] - strengths[None, :]
    q = 1 / (1 + np.exp(-odds))
    votes = wins + wins.swapaxes(1, 2)
    off, total = wins - q * votes, votes.sum(axis=0)
    slope = total * q * (1 - q)
    moved = off.sum(axis=2) @ np.linalg.pinv(_laplacian(slope[None])[0])
    i, j = (at.astype(np.int64) for at in np.nonzero(np.triu(total, 1)))
    each = off[:, i, j] - slope[i, j] * (moved[:, i] - moved[:, j])
    n = (votes[:, i, j] > 0).sum(axis=0)
    lead = wins[:, i, j] - votes[:, i, j] / 2
    more, df = n / np.maximum(n - 1, 1), np.maximum(n - 1, 1)
    found = []
    for value, parts in ((off[:, i, j].sum(axis=0), each), (lead.sum(axis=0), lead)):
        variance = more * (parts**2).sum(axis=0)
        # Where votes connect two systems by one way only, the fit has their share, and the residual is rounding.
        tested = (n >= LEAST_UNITS) & (variance > 1e-9 * np.maximum(total[i, j], 1.0))
        z = np.where(tested, value / np.sqrt(np.where(tested, variance, 1.0)), np.nan)
        found += [z, 2 * stdtr(df, -np.abs(z))]
    return PairFit(i, j, total[i, j], wins.sum(axis=0)[i, j], (q * total)[i, j], found[0], found[1], found[3])


def components(met: Floats) -> tuple[Ints, ...]:
    """Groups of systems that votes connect, directly or through others: one where every two can be compared.

    Parameters
    ----------
    met : (systems, systems)
        Votes between each two.
    """
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(met + met.T > 0, directed=False)
    return tuple(np.flatnonzero(group == g) for g in range(count))


def unbounded_groups(wins: Floats, ties: Floats | None = None) -> tuple[Ints, ...]:
    """Groups of systems that have no finite strength with respect to each other: more than one if there are any.

    Strengths are finite if and only if from every system a way of wins (or ties) leads to every other (Ford 1957). The
    first group is one that lost no vote against any other group.
    """
    from scipy.sparse.csgraph import connected_components

    beats = wins + (0.0 if ties is None else ties) > 0
    count, group = connected_components(beats, directed=True, connection="strong")
    groups = [np.flatnonzero(group == g) for g in range(count)]
    beaten = [bool(np.delete(beats[:, g], g, axis=0).any()) for g in groups]
    return tuple(groups[i] for i in np.argsort(beaten, kind="stable"))


def elo(
    first: Ints, second: Ints, outcome: Floats, step: Floats, orders: NDArray[np.int64], start: Floats, slope: float
) -> Floats:
    """Elo ratings after the last vote, for many orders of the votes at a time.

    Parameters
    ----------
    first, second : (votes,) int
        Systems.
    outcome : (votes,) float
        The result of the first system: 1, 1/2 or 0.
    step : (votes,) float
        k times the weight of the vote.
    orders : (length, runs) int
        The order of votes in each run, padded with −1.
    start : (systems,) float
        Ratings before the first vote.
    slope : float
        log(base) / scale.

    Returns
    -------
    (runs, systems) float
    """
    # Ratings are kept times slope / 2, so that S - E is (S - 1/2) - tanh(R_first - R_second) / 2.
    half = slope / 2
    size = step * half
    sure, even = size * (outcome - 0.5), size / 2
    if orders.shape[1] < FEW_RUNS:
        runs = [_one_run(first, second, sure, even, order[order >= 0], start * half) for order in orders.T]
        return np.array(runs) / half
    return _many_runs(first, second, sure, even, orders, start * half) / half


def _one_run(first: Ints, second: Ints, sure: Floats, even: Floats, order: Ints, start: Floats) -> list[float]:
    """A plain loop, for which Python's numbers are several times as fast as numpy's."""
    ratings: list[float] = start.tolist()
    columns = (column[order].tolist() for column in (first, second, sure, even))
    for a, b, up, lean in zip(*columns, strict=True):
        one, other = ratings[a], ratings[b]
        rise = up - lean * math.tanh(one - other)
        ratings[a] = one + rise
        ratings[b] = other - rise
    return ratings


def _many_runs(
    first: Ints, second: Ints, sure: Floats, even: Floats, orders: NDArray[np.int64], start: Floats
) -> Floats:
    # A vote requires the ratings after the vote before it, so numpy works across runs: nine calls per step for any
    # number of runs; everything that does not depend on ratings is prepared. Considered: several votes between
    # different systems a step (finding them takes as long as it saves); compiled loops, which need numba (200 MB) for
    # one tenth of the time.
    length, runs = orders.shape
    dummy = len(start)
    ratings = np.repeat(np.append(start, 0.0)[:, None], runs, axis=1)
    flat, column = ratings.ravel(), np.arange(runs)
    # A padding vote is between two dummy systems, with a step of 0.
    pair = np.stack([np.append(first, dummy), np.append(second, dummy)], axis=1) * runs
    sure, even = np.append(sure, 0.0), np.append(even, 0.0)
    both, gap = np.empty((2, runs)), np.empty(runs)
    one, other = both
    some = max(1, STEP_CELLS // runs)
    for begin in range(0, length, some):
        votes = orders[begin : begin + some]
        places = np.ascontiguousarray(pair[votes].swapaxes(1, 2)) + column
        for at, up, lean in zip(places, sure[votes], even[votes], strict=True):
            flat.take(at, out=both, mode="clip")
            np.subtract(one, other, out=gap)
            np.tanh(gap, out=gap)
            np.multiply(gap, lean, out=gap)
            np.subtract(up, gap, out=gap)
            np.add(one, gap, out=one)
            np.subtract(other, gap, out=other)
            flat[at] = both
    return ratings[:-1].T
