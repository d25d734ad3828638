"""How well other choices of the same experts, or a measure that knew their minds, would rank pairs as these choices do.

Two random halves of the choices show how alike halves rank; the whole ranks better, and how much better is not what
Spearman and Brown say: halves see pairs unequally often, and beside other third texts. So a model of pairs, fitted to
the choices, is simulated, and only its *step* from halves to the whole is taken; the level stays as seen.

    again = tanh(z(H) + z(A) − z(H_m)),   best = tanh(z(B) + z(√again) − z(√A)),   z = atanh

with H the halves as seen; in the model H_m the halves, A two whole sets of choices about the same texts, B one set and
the share of choices over all thirds. Nothing here checks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.statistic import Floats, Ints
from assay.statistics.odd_one_out import PLACES, choice_probabilities, correlation
from assay.statistics.round_robin import RoundRobin, TextBlocks

HALVES = 20
"""Random halves of the choices: their mean is known to a quarter of their spread."""

HALVES_OF_MANY = 4
"""Random halves of very many choices, each of which knows ρ to .003."""

DRAWS = 12
"""Simulated studies behind the step: it is then known to .01 at 10 texts, less than what the choices leave open."""

HALVES_OF_DRAW = 3
"""Random halves of each simulated study."""

ROUNDS = 6
"""Of expectation and maximisation: the ridge variances no longer move the step after this number."""

MOST_MODELLED = 200_000
"""Choices up to which pairs are modelled: beyond, hundreds of gradients take longer than all else."""

MOST_OF_MODEL = 45_000
"""Pairs of one document up to which they are modelled (300 texts): each is a mean over all thirds in every draw."""

MOST_SIMULATED = 200_000
"""Pairs of the simulation that stands in for the model beyond."""

NEARLY_ALIKE = 0.9999
"""Correlations are kept below, so that z stays finite."""


@dataclass(frozen=True)
class Step:
    """What the model says of halves and of the whole.

    Attributes
    ----------
    halves : float
        H_m.
    again : float
        A.
    mind : float
        B.
    """

    halves: float
    again: float
    mind: float

    def again_from(self, halves: float) -> float:
        """ρ of the same number of other choices, from the halves as they are seen."""
        return math.tanh(_z(halves) + _z(self.again) - _z(self.halves))

    def best_from(self, again: float) -> float:
        """ρ of what knew the experts' minds, from that of other choices; 0 where those do not agree."""
        if not again > 0:
            return 0.0
        return max(math.tanh(_z(self.mind) + _z(math.sqrt(again)) - _z(math.sqrt(max(self.again, 0.0)))), 0.0)


def _z(value: float) -> float:
    return math.atanh(min(max(value, -NEARLY_ALIKE), NEARLY_ALIKE))


def halves_seen(robin: RoundRobin, rng: np.random.Generator, n: int | None = None) -> float:
    """Mean ρ of random halves of the choices over the ranked pairs that both halves hold; NaN where there is none."""
    if n is None:
        n = HALVES if len(robin.at) <= MOST_MODELLED else HALVES_OF_MANY
    found = np.array([_halved(robin.at, robin.kept.astype(float), len(robin), rng) for _ in range(n)])
    known = found[np.isfinite(found)]
    return float(known.mean()) if len(known) else float("nan")


def _halved(at: Ints, kept: Floats, n_pairs: int, rng: np.random.Generator) -> float:
    half = rng.permutation(len(at)) < len(at) // 2
    return correlation(_shares(at[half], kept[half], n_pairs), _shares(at[~half], kept[~half], n_pairs))


def _shares(at: Ints, kept: Floats, n_pairs: int) -> Floats:
    """Equation 1 of each ranked pair; NaN where it was not compared."""
    n = np.bincount(at.ravel() + 1, minlength=n_pairs + 1)[1:]
    together = np.bincount(at.ravel() + 1, kept.ravel(), n_pairs + 1)[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(together / n)


def step_of(robin: RoundRobin, member: Ints, rng: np.random.Generator) -> Step:
    """The step of these choices: by the model of pairs, or by pairs that know nothing of thirds where they are many."""
    sizes = np.bincount(robin.document)
    if len(member) > MOST_MODELLED or int((sizes * (sizes - 1) // 2).max()) > MOST_OF_MODEL:
        return _pairs_alone(robin, rng)
    model = PairModel.of(robin, member)
    model.fit()
    drawn = [model.draw(rng) for _ in range(DRAWS)]
    return Step(*(float(np.nanmean(column)) if np.isfinite(column).any() else 0.0 for column in np.array(drawn).T))


def _pairs_alone(robin: RoundRobin, rng: np.random.Generator) -> Step:
    """Pairs whose chance to be kept is drawn from a beta distribution with the moments of equation 1."""
    x, n = robin.share, robin.counts[1]
    many = n > 1
    chance = float(((x * (1 - x))[many] / (n[many] - 1)).mean()) if many.any() else float(x.var())
    mean, spread = float(x.mean()), max(float(x.var()) - chance, 1e-6)
    strength = max(mean * (1 - mean) / spread - 1, 1e-3)
    found = []
    for _ in range(DRAWS):
        some = n if len(n) <= MOST_SIMULATED else n[rng.integers(0, len(n), MOST_SIMULATED)]
        p = rng.beta(mean * strength, (1 - mean) * strength, len(some))
        half = rng.binomial(some, 0.5)
        kept, other = rng.binomial(half, p), rng.binomial(some - half, p)
        with np.errstate(invalid="ignore", divide="ignore"):
            halves = correlation(kept / half, other / (some - half))
        whole = (kept + other) / some
        found.append((halves, correlation(whole, rng.binomial(some, p) / some), correlation(whole, p)))
    return Step(*(float(v) for v in np.nanmean(found, axis=0)))


@dataclass(eq=False)
class PairModel:
    """How choices arise, pair by pair: softmax of θ over the three pairs of a triplet, θ_ij = t_i + t_j + u_ij.

    Fitted by penalised likelihood; the variances of t and u by expectation and maximisation.

    Attributes
    ----------
    robin : RoundRobin
    member : (choices, 3) int
    first, second : (all pairs,) int
        Every two texts of each document.
    """

    robin: RoundRobin
    member: Ints
    first: Ints
    second: Ints

    @classmethod
    def of(cls, robin: RoundRobin, member: Ints) -> PairModel:
        """All pairs of texts of each document that choices concern."""
        there = np.unique(member)
        parts = [there[robin.document[there] == d] for d in np.unique(robin.document[there])]
        ends = [np.triu_indices(len(part), 1) for part in parts]
        first = np.concatenate([part[i] for part, (i, _) in zip(parts, ends, strict=True)])
        second = np.concatenate([part[j] for part, (_, j) in zip(parts, ends, strict=True)])
        return cls(robin, member, first, second)

    @cached_property
    def blocks(self) -> TextBlocks:
        """Where the value of each two texts lies."""
        return TextBlocks.of(self.robin.document)

    @cached_property
    def triplets(self) -> tuple[Ints, Floats, Ints]:
        """Different triplets (triplets, 3), choices that kept each of their pairs, and those pairs."""
        order = np.argsort(self.member, axis=1)
        member = np.take_along_axis(self.member, order, axis=1)
        kept = np.argmax(self.robin.kept, axis=1)
        # The pair that is kept is told by the text that is parted.
        odd = np.array([2, 1, 0])[kept]
        place = np.take_along_axis(order.argsort(axis=1), odd[:, None], axis=1)[:, 0]
        same, which = np.unique(member, axis=0, return_inverse=True)
        code = which.ravel() * 3 + np.array([2, 1, 0])[place]
        index = np.full(self.blocks.size, -1)
        index[self.blocks.where(self.first, self.second)] = np.arange(len(self.first))
        index[self.blocks.where(self.second, self.first)] = np.arange(len(self.first))
        pairs = np.stack([index[self.blocks.where(same[:, i], same[:, j])] for i, j in PLACES], axis=1)
        return same, np.bincount(code, minlength=3 * len(same)).reshape(-1, 3).astype(float), pairs

    def fit(self) -> None:
        """θ at its mode, and how sure it is of t and u."""
        from scipy.optimize import minimize

        n, p = len(self.robin.document), len(self.first)
        same, kept, pairs = self.triplets
        number = kept.sum(axis=1, keepdims=True)
        self.spread_t = self.spread_u = 1.0
        x = np.zeros(n + p)

        def loss(x: Floats) -> tuple[float, Floats]:
            t, u = x[:n], x[n:]
            theta = (t[self.first] + t[self.second] + u)[pairs]
            theta -= theta.max(axis=1, keepdims=True)
            chance = np.exp(theta)
            total = chance.sum(axis=1, keepdims=True)
            value = -(kept * (theta - np.log(total))).sum()
            pull = np.bincount(pairs.ravel(), (kept - number * chance / total).ravel(), p)
            slope_t = np.bincount(self.first, pull, n) + np.bincount(self.second, pull, n)
            value += (t @ t) / (2 * self.spread_t) + (u @ u) / (2 * self.spread_u)
            return float(value), np.concatenate([t / self.spread_t - slope_t, u / self.spread_u - pull])

        for _ in range(ROUNDS):
            x = minimize(loss, x, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
            self.t, self.u = x[:n], x[n:]
            chance = choice_probabilities((self.t[self.first] + self.t[self.second] + self.u)[pairs])
            open_ = number * chance * (1 - chance)
            # A text's own level moves its two pairs together, so what it tells is that of the pair without it.
            told_t = sum(np.bincount(same[:, 2 - k], open_[:, k], n) for k in range(3))
            told_u = np.bincount(pairs.ravel(), open_.ravel(), p)
            self.sure_t, self.sure_u = 1 / (told_t + 1 / self.spread_t), 1 / (told_u + 1 / self.spread_u)
            there = told_t > 0
            self.spread_t = max(float((self.t**2 + self.sure_t)[there].mean()), 1e-4)
            seen = told_u > 0
            self.spread_u = max(float((self.u**2 + self.sure_u)[seen].mean()), 1e-4)

    def draw(self, rng: np.random.Generator) -> tuple[float, float, float]:
        """One study in a world that these choices leave possible: ρ of its halves, of another, of the minds behind."""
        theta = self._world(rng)
        at, n = self.robin.at, len(self.robin)
        kept = self._choose(theta, self.member, rng)
        shares = _shares(at, kept, n)
        renamed = self._rename(rng)[self.member]
        other = _shares(self._ranked_at(renamed), self._choose(theta, renamed, rng), n)
        halves = [_halved(at, kept, n, rng) for _ in range(HALVES_OF_DRAW)]
        known = [one for one in halves if math.isfinite(one)]
        mean = float(np.mean(known)) if known else float("nan")
        return mean, correlation(shares, other), correlation(shares, self._minds(theta))

    def _world(self, rng: np.random.Generator) -> Floats:
        """θ of every two texts, drawn around its mode, as spread as equation 1 is; laid out as `blocks`."""
        t = self.t + np.sqrt(self.sure_t) * rng.normal(size=len(self.t))
        u = self.u + np.sqrt(self.sure_u) * rng.normal(size=len(self.u))
        theta = self.blocks.fill(self.first, self.second, t[self.first] + t[self.second] + u)
        wanted = float(self.robin.share.var())
        low, high = 0.0, 4.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if self._expected_variance(middle * theta) < wanted else (low, middle)
        return np.asarray(theta * (low + high) / 2)

    def _expected_variance(self, theta: Floats) -> float:
        """Of equation 1 over the ranked pairs, on these triplets."""
        chance = choice_probabilities(theta[self._where(self.member)])
        at, n = self.robin.at, len(self.robin)
        number = self.robin.counts[1]
        mean = np.bincount(at.ravel() + 1, chance.ravel(), n + 1)[1:] / number
        noise = np.bincount(at.ravel() + 1, (chance * (1 - chance)).ravel(), n + 1)[1:] / number**2
        return float(mean.var() + noise.mean() * (1 - 1 / n))

    def _where(self, member: Ints) -> Ints:
        return np.stack([self.blocks.where(member[:, i], member[:, j]) for i, j in PLACES], axis=1)

    def _choose(self, theta: Floats, member: Ints, rng: np.random.Generator) -> Floats:
        """Which pair each choice keeps: (choices, 3) of 0 and 1."""
        edges = np.cumsum(choice_probabilities(theta[self._where(member)]), axis=1)[:, :2]
        place = (rng.random(len(member))[:, None] > edges).sum(axis=1)
        return np.asarray(place[:, None] == np.arange(3), dtype=float)

    def _rename(self, rng: np.random.Generator) -> Ints:
        """Other names for the texts of each document: the same design with other thirds."""
        there = np.unique(self.member)
        document = self.robin.document[there]
        found = np.arange(len(self.robin.document))
        found[there[np.argsort(document, kind="stable")]] = there[np.argsort(document + rng.random(len(there)))]
        return found

    @cached_property
    def _index(self) -> Ints:
        """Which ranked pair each two texts are; −1 for those that are none."""
        index = np.full(self.blocks.size, -1)
        first, second = self.robin.first, self.robin.second
        index[self.blocks.where(first, second)] = index[self.blocks.where(second, first)] = np.arange(len(first))
        return index

    def _ranked_at(self, member: Ints) -> Ints:
        return np.asarray(self._index[self._where(member)])

    def _minds(self, theta: Floats) -> Floats:
        """Mean chance of each ranked pair over all thirds of its document: (pairs,)."""
        first, second, document = self.robin.first, self.robin.second, self.robin.document
        there = np.unique(self.member)
        found = np.empty(len(first))
        for d in np.unique(document[there]):
            mine = there[document[there] == d]
            size = len(mine)
            alike = theta[self.blocks.where(np.repeat(mine, size), np.tile(mine, size))].reshape(size, size)
            weight = np.exp(alike - np.nanmax(alike))
            np.fill_diagonal(weight, 0.0)
            place = np.full(len(document), -1)
            place[mine] = np.arange(size)
            pairs = np.flatnonzero(place[first] >= 0)
            i, j = place[first[pairs]], place[second[pairs]]
            for start in range(0, len(pairs), MOST_SIMULATED // size + 1):
                some = slice(start, start + MOST_SIMULATED // size + 1)
                own = weight[i[some], j[some]][:, None]
                chance = own / (own + weight[i[some]] + weight[j[some]])
                rows = np.arange(len(chance))
                chance[rows, i[some]] = chance[rows, j[some]] = 0.0
                found[pairs[some]] = chance.sum(axis=1) / (size - 2)
        return found
