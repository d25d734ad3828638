"""Is the mean of differences that are −1, 0 or 1 below epsilon? An exact test, from how many there are of each.

With n independent differences the numbers of wins w (−1), ties t and losses l (1) are trinomial. Let
δ = P(1) − P(−1), the mean, and ψ = P(1) + P(−1), the discordance. The test of H0: δ >= ε has three steps.

1. *Order* the outcomes by how strongly they speak against H0: by Tango's (1998) score statistic, see `score`.
2. For each value of ψ, add up the probability of all outcomes that speak as strongly as the one observed, or
   more strongly, at the boundary δ = ε.
3. The p-value is the *largest* of these sums over ψ, from |ε| to 1 (Barnard 1947; Hsueh, Liu & Chen 2001): so the
   test rejects a true hypothesis at most as often as it claims, whatever the share of ties is.

Up to `ESTIMATED` differences, outcomes are ordered by their estimated p-value instead, the sum of step 2 at the ψ that
is likeliest under H0 given the outcome (E + M: Lloyd 2008; Lloyd & Moldovan 2008). Up to `EXACT`, by the score itself,
and the maximum is taken over a confidence set of ψ, whose error γ is added (Berger & Boos 1994). Both are exact: it
is the maximum that guarantees the level, the ordering decides about power alone. Beyond, the score statistic is
compared with the normal distribution: at .05 that rejects a true hypothesis in .060 of studies at most, at .01 in .018.

References
----------
Barnard (1947), Biometrika 34: 123-138. Berger & Boos (1994), JASA 89: 1012-1016. Tango (1998), Statistics in
Medicine 17: 891-908. Hsueh, Liu & Chen (2001), Biometrics 57: 478-483. Lloyd (2008), Biometrics 64: 716-723. Lloyd &
Moldovan (2008), Statistics in Medicine 27: 3540-3549.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.wins import LOSS, WIN

ESTIMATED = 50
"""Up to so many differences, outcomes are ordered by their estimated p-value."""

EXACT = 300
"""Up to so many differences the p-value is exact; beyond, it is that of the score statistic."""

GAMMA = 1e-6
"""Berger and Boos' γ, how often the confidence set of the discordance may miss; no p-value from it is smaller."""

POINTS = 12
"""Values of the discordance that are tried, times √n; see `_Outcomes.tried`."""

LARGE = 3.0
"""Outcomes with a score above this have the p-value 1."""

HALO = 3
"""Further values of the discordance on either side, for the polynomials through six of them."""

MARGIN = 1e-4
"""What is added to a peak between rows, as a share of it: more than the polynomials miss."""

CELLS = 1 << 15
"""Probabilities held at a time: few enough for the processor's cache."""


def exact_p(counts: Floats, epsilon: float | Floats) -> tuple[Floats, Floats]:
    """The two one-sided exact p-values of the mean difference, E[d] against epsilon.

    Parameters
    ----------
    counts : (..., 3) float
        Wins (d = −1), ties and losses (d = 1): whole numbers.
    epsilon : float or (...)
        Between −1 and 1; broadcasts with the leading axes of ``counts``.

    Returns
    -------
    p, reverse : (...) float
        Of H0: E[d] >= epsilon, small where wins prevail; and of H0: E[d] <= epsilon. NaN where there is no difference.
    """
    return exact_below(counts, epsilon), exact_below(counts[..., ::-1], -np.asarray(epsilon, dtype=float))


def exact_below(counts: Floats, epsilon: float | Floats) -> Floats:
    """The p-value of H0: E[d] >= epsilon alone, as `exact_p` has it."""
    from scipy.special import ndtr

    whole = np.rint(counts).astype(np.int64)
    bounds, which = np.unique(np.asarray(epsilon, dtype=float), return_inverse=True)
    wins, losses, n, which = np.broadcast_arrays(
        whole[..., WIN], whole[..., LOSS], whole.sum(axis=-1), which.reshape(np.shape(epsilon))
    )
    p = np.full(n.shape, np.nan)
    large, small = n > EXACT, (n > 0) & (n <= EXACT)
    if large.any():
        p[large] = ndtr(score(wins[large], losses[large], n[large], bounds[which[large]])[0])
    place, tables = _place(wins[small], losses[small]), n[small] * len(bounds) + which[small]
    found = np.empty(len(place))
    for one in np.unique(tables):
        mine = tables == one
        found[mine] = table(int(one // len(bounds)), float(bounds[one % len(bounds)]))[place[mine]]
    p[small] = found
    return p


def score(
    wins: Floats | Ints, losses: Floats | Ints, n: Floats | Ints | int, epsilon: float | Floats
) -> tuple[Floats, Floats]:
    """Tango's score statistic and the likeliest discordance where the mean difference is epsilon.

    With E[d] = ε, P(−1) = (ψ − ε)/2 and P(1) = (ψ + ε)/2. The derivative of the log likelihood
    w log(ψ − ε) + l log(ψ + ε) + t log(1 − ψ) is zero where

        n ψ² − (w + l + ε (l − w)) ψ − (ε (w − l) + ε² t) = 0,

    whose larger root, kept within |ε| and 1, is the estimate. Var(d) is then ψ − ε², and the score
    z = (l − w − n ε) / √(n (ψ − ε²)), equation (12) of Tango (1998) with q₂₁ = (ψ − ε)/2. At ε = 0 it is McNemar's.
    """
    ties = n - wins - losses
    b = wins + losses + epsilon * (losses - wins)
    c = epsilon * (wins - losses) + epsilon**2 * ties
    root = np.sqrt(np.maximum(b * b + 4 * n * c, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        psi = np.clip((b + root) / (2 * n), np.abs(epsilon), 1.0)
        above = losses - wins - n * epsilon
        z = above / np.sqrt(n * np.maximum(psi - epsilon**2, 0.0))
    return np.where(np.abs(above) < 1e-9, 0.0, z), psi


def _place(wins: Ints, losses: Ints) -> Ints:
    """Where an outcome stands among all of its size: by the number of discordant pairs, then by wins."""
    discordant = wins + losses
    return np.asarray(discordant * (discordant + 1) // 2 + wins)


@lru_cache(maxsize=200)
def table(n: int, epsilon: float) -> Floats:
    """The p-value of every outcome of ``n`` differences, H0: E[d] >= epsilon; where each stands says `_place`."""
    outcomes = _Outcomes(n, epsilon)
    if n <= ESTIMATED:
        p = outcomes.largest(outcomes.estimated())
    else:
        # An error of gamma, once. A maximum over less than all of psi may fall towards a stronger outcome.
        p = outcomes.monotone(outcomes.largest(outcomes.z, *outcomes.confidence_set()) + GAMMA)
    p = np.minimum(p, 1.0)
    p.flags.writeable = False
    return p


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """All outcomes of ``n`` differences: arrays (outcomes,), (n + 1)(n + 2)/2 of them."""

    n: int
    epsilon: float

    @cached_property
    def wins(self) -> Ints:
        return np.asarray(np.tril_indices(self.n + 1)[1], dtype=np.int64)

    @cached_property
    def discordant(self) -> Ints:
        return np.asarray(np.tril_indices(self.n + 1)[0], dtype=np.int64)

    @cached_property
    def scored(self) -> tuple[Floats, Floats]:
        """The score, rounded so that equal scores are equal, and the likeliest discordance."""
        z, psi = score(self.wins, self.discordant - self.wins, self.n, self.epsilon)
        return np.round(z, 9), psi

    @property
    def z(self) -> Floats:
        return self.scored[0]

    @property
    def steps(self) -> int:
        return int(np.ceil(POINTS * np.sqrt(self.n))) + 8

    @cached_property
    def tried(self) -> Floats:
        """Values of ψ from |ε| to 1, ascending, and `HALO` more on either side, where the curves are mirrored.

        With ψ = |ε| + (1 − |ε|)(1 − cos θ)/2, a probability of outcomes is a sum of bumps in θ whose standard
        deviations are at least about 1/√n. Between two steps of π / (12 √n) it is a polynomial to five digits.
        """
        theta = np.arange(-HALO, self.steps + 1 + HALO) * (np.pi / self.steps)
        least = abs(self.epsilon)
        return np.asarray(least + (1 - least) * (1 - np.cos(theta)) / 2)

    @cached_property
    def terms(self) -> Floats:
        """What the log probabilities of `_probabilities` are multiplied by: (4, outcomes)."""
        from scipy.special import gammaln

        counts = np.stack([self.wins, self.discordant - self.wins, self.n - self.discordant])
        ways = gammaln(self.n + 1) - gammaln(counts + 1).sum(axis=0)
        return np.concatenate([counts, ways[None]])

    def monotone(self, value: Floats) -> Floats:
        """The largest value of an outcome and of all that have no fewer wins and no more losses.

        An ordering like this is Barnard's convexity: a tie in place of a win, or a loss in place of a tie, never
        speaks more strongly against H0. Then no δ above ε makes strong outcomes likelier than δ = ε does.
        """
        grid = np.full((self.n + 1, self.n + 1), -np.inf)
        losses = self.discordant - self.wins
        grid[self.wins, losses] = value
        grid = np.maximum.accumulate(grid, axis=1)
        grid = np.maximum.accumulate(grid[::-1], axis=0)[::-1]
        return np.asarray(grid[self.wins, losses])

    def estimated(self) -> Floats:
        """Ranks by the estimated p-value, the probability of a score as low at the outcome's own discordance."""
        z, psi = self.scored
        order, end = _sorted(z, z <= LARGE)
        sums = np.cumsum(_probabilities(self.epsilon, self.tried, self.terms[:, order]), axis=1)[:, end]
        least = abs(self.epsilon)
        share = (psi[order] - least) / max(1 - least, 1e-300)
        row = np.arccos(np.clip(1 - 2 * share, -1, 1)) * (self.steps / np.pi)
        p = np.full(len(z), 2.0)
        p[order] = _between(sums, HALO + row, np.arange(len(order)))
        # Rounded, so that the ordering is the same on every machine; what is too small to tell follows the score.
        keys = np.stack([z, np.round(p, 12)])
        sequence = np.lexsort(keys)
        new = (keys[:, sequence[1:]] != keys[:, sequence[:-1]]).any(axis=0)
        rank = np.empty(len(z))
        rank[sequence] = np.concatenate([[0], np.cumsum(new)])
        return self.monotone(rank)

    def confidence_set(self) -> tuple[Ints, Ints]:
        """First and last of the discordances that are tried for each outcome (Clopper & Pearson, with error γ).

        One value beyond either end is tried, too. The smallest possible, |ε|, is tried wherever the set reaches
        below it: where ε < 0 a discordance below |ε| may be true, with δ above ε, and is no better than |ε|.
        """
        from scipy.special import betaincinv

        k, n = np.arange(self.n + 1), self.n
        low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, GAMMA / 2))
        high = np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - GAMMA / 2))
        tried = self.tried[HALO:-HALO]
        first = np.maximum(np.searchsorted(tried, low, side="right") - 1, 0)
        last = np.minimum(np.searchsorted(tried, high), len(tried) - 1)
        return first[self.discordant], last[self.discordant]

    def largest(self, order: Floats, first: Ints | None = None, last: Ints | None = None) -> Floats:
        """The largest probability of outcomes up to each one in the order, over the discordances first to last."""
        used, end = _sorted(order, self.z <= LARGE)
        found, so_far = np.zeros(len(used)), np.zeros((len(self.tried), 1))
        row, size = np.arange(self.steps + 1)[:, None], max(1, CELLS // len(self.tried))
        start = 0
        while start < len(used):
            stop = int(end[min(start + size, len(used)) - 1]) + 1
            part = used[start:stop]
            sums = _probabilities(self.epsilon, self.tried, self.terms[:, part])
            sums[:, :1] += so_far
            np.cumsum(sums, axis=1, out=sums)
            so_far = sums[:, -1:].copy()
            allowed = None if first is None or last is None else (row >= first[part]) & (row <= last[part])
            found[start:stop] = _highest(sums[:, end[start:stop] - start], allowed)
            start = stop
        p = np.ones(len(order))
        p[used] = found
        return p


def _sorted(order: Floats, used: Bools) -> tuple[Ints, Ints]:
    """The outcomes in order, and for each place the last place of those that are tied with it."""
    sequence = np.argsort(order, kind="stable")
    sequence = sequence[used[sequence]]
    values = order[sequence]
    return sequence, np.searchsorted(values, values, side="right") - 1


def _probabilities(epsilon: float, psi: Floats, terms: Floats) -> Floats:
    """Probability of outcomes at each discordance: (values, outcomes), where δ = ε."""
    chances = np.stack([(psi - epsilon) / 2, (psi + epsilon) / 2, 1 - psi], axis=1)
    logs = np.concatenate([np.log(np.maximum(chances, 1e-300)), np.ones((len(psi), 1))], axis=1) @ terms
    # Not below the smallest normal number: with subnormal ones, arithmetic is many times slower.
    return np.asarray(np.exp(np.maximum(logs, -700.0, out=logs), out=logs))


def _highest(sums: Floats, allowed: Bools | None) -> Floats:
    """The highest that each column reaches in the rows allowed, or beside one of them: (columns,)."""
    below, inner, above = sums[HALO - 1 : -HALO - 1], sums[HALO:-HALO], sums[HALO + 1 : len(sums) - HALO + 1]
    rows = inner if allowed is None else inner * allowed
    highest = np.asarray(rows.max(axis=0))
    # A peak between rows is above the nearest of them by less than a hundredth of itself.
    row, column = np.divmod(
        np.flatnonzero((rows > 0.98 * highest) & (inner > below) & (inner >= above)), sums.shape[1]
    )  # fmt: skip
    low, middle, high = below[row, column], inner[row, column], above[row, column]
    vertex = (high - low) / (2 * ((middle - low) + (middle - high)))
    top = _between(sums, HALO + row + vertex, column) * np.where(np.abs(vertex) < 1e-6, 1.0, 1 + MARGIN)
    np.maximum.at(highest, column, top)
    return highest


def _between(sums: Floats, row: Floats, column: Ints) -> Floats:
    """Values between rows, by the polynomial through the six nearest (Lagrange)."""
    i = np.clip(row.astype(np.int64), HALO - 1, len(sums) - HALO - 1)
    u, nodes = row - i, np.arange(-2, 4)
    value = np.zeros(len(row))
    for k in nodes:
        others = nodes[nodes != k]
        value += np.prod((u - others[:, None]) / (k - others[:, None]), axis=0) * sums[i + k, column]
    return value
