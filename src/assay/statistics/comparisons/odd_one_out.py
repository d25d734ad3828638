"""Odd-one-out choices: their counts for pairs, a model of choices, and the reliability of the ranking of pairs.

A choice is about three pairs of texts: the two remaining texts are kept together, and the odd one is separated from
both. There are no input checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.comparisons.round_robin import RoundRobin, TextBlocks

# -- Choices of the odd one of three ---------------------------------------------------------------

PLACES = ((0, 1), (0, 2), (1, 2))
"""The three pairs of a triplet, by place."""

KEPT = np.array([2, 1, 0])
"""Which of `PLACES` a choice keeps together: choosing A keeps B and C."""

MOST_CELLS = 60_000_000
"""Pairs are counted in a table of all possible ones up to this size, by sorting beyond."""

CHANCE = 1 / 3
"""How often two who choose without looking agree; also the mean of all similarities."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """How often each pair of texts was compared, and kept together.

    Attributes
    ----------
    first, second : (pairs,) int
        Positions of the texts, first < second; sorted.
    n, kept : (pairs,) int
        Choices that concern both; those of them in which neither was the odd one.
    """

    first: Ints
    second: Ints
    n: Ints
    kept: Ints

    @classmethod
    def of(cls, member: Ints, odd: Ints, n_texts: int, most_cells: int = MOST_CELLS) -> PairTable:
        """From the positions of the three texts of each choice, (choices, 3), and the place of the odd one.

        Of more pairs than ``most_cells``, those that occur are counted by sorting.
        """
        codes = pair_codes(member, n_texts)
        together = np.take_along_axis(codes, KEPT[odd][:, None], axis=1)[:, 0]
        cells = n_texts * (n_texts - 1) // 2
        if cells <= max(most_cells, codes.size):
            n_all = np.bincount(codes.ravel(), minlength=cells)
            code = np.flatnonzero(n_all)
            n, kept = n_all[code], np.bincount(together, minlength=cells)[code]
        else:
            code, n = np.unique(codes, return_counts=True)
            kept = np.bincount(np.searchsorted(code, together), minlength=len(code))
        return cls(*pair_of_code(code, n_texts), n, kept)

    def __len__(self) -> int:
        return len(self.n)

    @cached_property
    def share(self) -> Floats:
        """Equation 1: choices that keep both together over choices that concern both."""
        return np.asarray(self.kept / self.n)

    def position(self, member: Ints, n_texts: int) -> Ints:
        """Which pair each pair of a choice is: (choices, 3)."""
        mine = code_of_pair(self.first, self.second, n_texts)
        return np.searchsorted(mine, pair_codes(member, n_texts))


def pair_codes(member: Ints, n_texts: int) -> Ints:
    """Return one code for each of the three pairs of a choice, for any order of its texts: (choices, 3)."""
    found = np.empty((len(member), 3), dtype=np.int64)
    for column, (i, j) in enumerate(PLACES):
        a, b = member[:, i], member[:, j]
        found[:, column] = code_of_pair(np.minimum(a, b), np.maximum(a, b), n_texts)
    return found


def code_of_pair(first: Ints, second: Ints, n_texts: int) -> Ints:
    """Position of the pair in the upper triangle, row by row."""
    first = first.astype(np.int64, copy=False)
    return first * (2 * n_texts - first - 1) // 2 + second - first - 1


def pair_of_code(code: Ints, n_texts: int) -> tuple[Ints, Ints]:
    """The way back from `code_of_pair`."""
    starts = code_of_pair(np.arange(n_texts), np.arange(n_texts) + 1, n_texts)
    first = np.searchsorted(starts, code, side="right") - 1
    return first, code - starts[first] + first + 1


def within_triplet_icc(position: Ints, kept: Floats, n_pairs: int, item: Ints) -> tuple[float, Floats]:
    """Return the intraclass correlation of choices within triplets, and the effective number of choices of each pair.

    Several annotators of the same triplet see the same third text, which gives less information than different thirds.

    Parameters
    ----------
    position : (choices, 3) int
        Of each pair, see `PairTable.position`.
    kept : (choices, 3) float
        1 for the pair that was kept together.
    item : (choices,) int
        The triplet.

    Returns
    -------
    icc : float
        Intraclass correlation of choices about one pair and triplet, pooled over pairs by one-way analysis of
        variance, 0 to 1.
    n : (pairs,) float
        Effective number of independent choices: n² / Σ m (1 + (m − 1) icc) over triplets of m choices.
    """
    cell, which = np.unique(item[:, None] * np.int64(n_pairs) + position, return_inverse=True)
    pair, which = cell % n_pairs, which.ravel()
    m = np.bincount(which).astype(float)
    x = np.bincount(which, kept.ravel()) / m
    number = np.bincount(pair, m, n_pairs)
    mean = np.bincount(pair, m * x, n_pairs) / number
    cells = np.bincount(pair, minlength=n_pairs)
    within, freedom = float((m * x * (1 - x)).sum()), float((m - 1).sum())
    between, apart = float((m * (x - mean[pair]) ** 2).sum()), float((cells - 1).sum())
    squares = np.bincount(pair, m**2, n_pairs)
    size = (number.sum() - float((squares / number).sum())) / apart if apart else 0.0
    icc = 0.0
    if freedom and apart and size > 0:
        inside = within / freedom
        outside = max(between / apart - inside, 0.0) / size
        icc = outside / (outside + inside) if outside + inside > 0 else 0.0
    return icc, number**2 / np.bincount(pair, m * (1 + (m - 1) * icc), n_pairs)


def choice_probabilities(similarity: Floats) -> Floats:
    """Return the probability that each pair of a triplet is kept together, from its similarities: (..., 3) -> (..., 3).

    Luce's rule, as of Bradley and Terry for two: exp(s) over the sum of exp(s) of the three pairs.
    """
    weight = np.exp(similarity - similarity.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def mean_ranks(values: Floats) -> Floats:
    """Return mean ranks along the last axis, centred and scaled to length 1; NaN if all are tied."""
    ranks = _ranks(values)
    ranks = ranks - ranks.mean(axis=-1, keepdims=True)
    length = np.sqrt((ranks**2).sum(axis=-1, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(length > 0, ranks / length, np.nan))


def _ranks(values: Floats) -> Floats:
    """Ranks from 0 on along the last axis, ties at their mean; NaN in a row with a NaN.

    `scipy.stats.rankdata` gives the same, several times slower for the short rows that are ranked by the thousand.
    """
    n, rows = values.shape[-1], values.reshape(-1, values.shape[-1])
    first = n * np.arange(len(rows))[:, None]
    order = (np.argsort(rows, axis=-1) + first).ravel()
    ordered = rows.ravel()[order]
    # Where ties begin, counted on through all rows.
    new = np.ones(len(ordered) + 1, dtype=bool)
    new[1:-1] = ordered[1:] != ordered[:-1]
    new[:-1:n] = True
    begin = np.flatnonzero(new)
    number = begin[1:] - begin[:-1]
    ranks = np.empty(len(ordered))
    ranks[order] = np.repeat(begin[:-1] + (number - 1) / 2, number)
    found: Floats = (ranks.reshape(rows.shape) - first).reshape(values.shape)
    found[np.isnan(values).any(axis=-1)] = np.nan
    return found


# -- Embedding of texts from odd-one-out choices ---------------------------------------------------
# P(A and B are kept together, of A, B, C) = exp(s_AB) / (exp(s_AB) + exp(s_AC) + exp(s_BC)), s_ij = −|x_i − x_j|²
#
# Luce's choice rule among the three pairs, which for two would be Bradley and Terry's. Tamuz et al. (2011) and van der
# Maaten and Weinberger (2012) fit embeddings to triplets of this kind. Choices about one pair inform others, because
# all positions are in one space.

PENALTY = 0.3
"""Times the mean square of the places, added to the mean loss of a choice: keeps pairs that were always kept, or never,
at finite places."""


@dataclass(frozen=True, eq=False)
class Model:
    """Triplets and how often each of their pairs was kept.

    Attributes
    ----------
    member : (triplets, 3) int
    kept : (triplets, 3) float
        Choices that kept each pair of `PLACES`.
    n_texts, dimensions : int
    """

    member: Ints
    kept: Floats
    n_texts: int
    dimensions: int

    @classmethod
    def of(cls, member: Ints, odd: Ints, n_texts: int, dimensions: int) -> Model:
        """Choices about the same three texts are taken together, in one order."""
        order = np.argsort(member, axis=1)
        rank = np.take_along_axis(order.argsort(axis=1), odd[:, None], axis=1)[:, 0]
        same, which = np.unique(np.take_along_axis(member, order, axis=1), axis=0, return_inverse=True)
        code = which.ravel() * 3 + KEPT[rank]
        return cls(same, np.bincount(code, minlength=3 * len(same)).reshape(-1, 3).astype(float), n_texts, dimensions)

    def fit(self, start: Floats | None = None, seed: int = 0) -> Floats:
        """Places of the texts, (texts, dimensions), at the least penalised loss that is found."""
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)
        first = rng.normal(scale=0.5, size=(self.n_texts, self.dimensions)) if start is None else start
        found = minimize(self._loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300})
        return np.asarray(found.x.reshape(self.n_texts, self.dimensions))

    def _loss(self, flat: Floats) -> tuple[float, Floats]:
        """Mean loss of a choice with the penalty, and its slope."""
        x = flat.reshape(self.n_texts, self.dimensions)
        number = self.kept.sum()
        chance = choice_probabilities(strengths(x, self.member))
        loss = -(self.kept * np.log(np.maximum(chance, 1e-300))).sum() / number + PENALTY * (x**2).mean()
        slope = 2 * PENALTY * x / x.size
        pull = (self.kept - self.kept.sum(axis=1, keepdims=True) * chance) / number
        for k, (i, j) in enumerate(PLACES):
            a, b = self.member[:, i], self.member[:, j]
            push = 2 * pull[:, k, None] * (x[a] - x[b])
            np.add.at(slope, a, push)
            np.add.at(slope, b, -push)
        return float(loss), slope.ravel()

    def score(self, x: Floats) -> float:
        """Mean log likelihood of these choices."""
        chance = choice_probabilities(strengths(x, self.member))
        return float((self.kept * np.log(np.maximum(chance, 1e-300))).sum() / self.kept.sum())


def strengths(x: Floats, member: Ints) -> Floats:
    """s of the three pairs of each triplet: (triplets, 3)."""
    return np.stack([-((x[member[:, i]] - x[member[:, j]]) ** 2).sum(axis=1) for i, j in PLACES], axis=1)


def predicted_shares(x: Floats, first: Ints, second: Ints, pool: list[Ints]) -> Floats:
    """Equation 1 of endless answers: the mean chance over every third text of the pair's pool, (pairs,)."""
    found = np.empty(len(first))
    for k, (a, b, mine) in enumerate(zip(first.tolist(), second.tolist(), pool, strict=True)):
        thirds = mine[(mine != a) & (mine != b)]
        three = np.stack([np.full(len(thirds), a), np.full(len(thirds), b), thirds], axis=1)
        found[k] = choice_probabilities(strengths(x, three))[:, 0].mean()
    return found


# -- How well measures, and choices themselves, rank pairs as choices do ----------------------------
# Everything in this part is a function of what choices count for pairs, `PairTable`.

GROUPS = 20
"""Groups of choices that are left out in turn: t with 19 degrees is near normal; one choice at a time takes long."""


@dataclass(frozen=True, eq=False)
class PairChoices:
    """Choices about pairs: which pairs each concerns, and which it keeps together.

    Attributes
    ----------
    position : (choices, 3) int
        The three pairs of each choice.
    kept : (choices,) int
        The pair that was kept.
    n_pairs : int
    """

    position: Ints
    kept: Ints
    n_pairs: int

    @classmethod
    def of(cls, pairs: PairTable, member: Ints, odd: Ints, n_texts: int) -> PairChoices:
        """From the texts of each choice and the place of the odd one."""
        position = pairs.position(member, n_texts)
        return cls(position, np.take_along_axis(position, KEPT[odd][:, None], axis=1)[:, 0], len(pairs))

    def __len__(self) -> int:
        return len(self.kept)

    def some(self, which: Ints | Bools) -> PairChoices:
        """Some of the choices, or some of them several times."""
        return PairChoices(self.position[which], self.kept[which], self.n_pairs)

    def counts(self) -> tuple[Floats, Floats]:
        """How often each pair was kept, and compared: (pairs,) each."""
        n = np.bincount(self.position.ravel(), minlength=self.n_pairs).astype(float)
        return np.bincount(self.kept, minlength=self.n_pairs).astype(float), n

    def shares(self) -> Floats:
        """Return equation 1 of each pair; NaN if it was not compared."""
        kept, n = self.counts()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(kept / n)


def correlations(shares: Floats, measures: Floats) -> Floats:
    """Spearman's ρ of each row of shares with each measure: (draws, pairs), (measures, pairs) -> (draws, measures)."""
    return np.clip(mean_ranks(shares) @ mean_ranks(measures).T, -1.0, 1.0)


def correlation(first: Floats, second: Floats) -> float:
    """Spearman's ρ over what both have; NaN with fewer than three."""
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3:
        return float("nan")
    return float(correlations(first[both][None], second[both][None])[0, 0])


def half_agreement(judged: PairChoices, rng: np.random.Generator, n_splits: int, size: int | None = None) -> Floats:
    """ρ between two random sets of choices that share none, each of ``size`` or of half of them: (splits,)."""
    half = len(judged) // 2 if size is None else size
    found = np.empty(n_splits)
    for s in range(n_splits):
        order = rng.permutation(len(judged))
        found[s] = correlation(judged.some(order[:half]).shares(), judged.some(order[half : 2 * half]).shares())
    return found


def leave_groups_out(judged: PairChoices, rng: np.random.Generator, value: Callable[[PairChoices], float]) -> Floats:
    """A value without each random group of the choices in turn: (groups,)."""
    group = rng.permutation(len(judged)) % GROUPS
    return np.array([value(judged.some(group != g)) for g in range(GROUPS)])


def spearman_brown(reliability: float | Floats, times: float | Floats) -> Floats:
    """Spearman and Brown: the reliability of ``times`` as many choices."""
    return np.asarray(times * reliability / (1 + (times - 1) * reliability))


# -- How well other choices of the same experts, or the strengths behind them, would rank pairs ------
# Two random halves of the choices give the correlation of half rankings; the whole ranks better. The Spearman–Brown
# formula does not apply: halves have pairs with unequal counts, and with different third texts. So a model of pairs,
# fitted to the choices, is simulated, and only its *step* from halves to the whole is taken; the level stays as seen.
#
#     again = tanh(z(H) + z(A) − z(H_m)),   best = tanh(z(B) + z(√again) − z(√A)),   z = atanh
#
# with H the halves as seen; in the model H_m the halves, A two whole sets of choices about the same texts, B one set
# and the share of choices over all thirds.

HALVES = 20
"""Random halves of the choices: their mean is known to a quarter of their spread."""

HALVES_OF_MANY = 4
"""Random halves of very many choices, each of which knows ρ to .003."""

DRAWS = 12
"""Simulated studies for the step: its error is .01 at 10 texts, less than the uncertainty from the choices."""

HALVES_OF_DRAW = 3
"""Random halves of each simulated study."""

ROUNDS = 6
"""Of expectation and maximisation: the ridge variances no longer move the step after this number."""

MOST_MODELLED = 200_000
"""The model of pairs is fitted to at most this many choices: with more, its gradients take longer than all else."""

MOST_OF_MODEL = 45_000
"""The same for pairs of one document (300 texts): each is a mean over all thirds in every draw."""

MOST_SIMULATED = 200_000
"""Pairs in the simulation that replaces the model if it is not fitted."""

NEARLY_ALIKE = 0.9999
"""Correlations are kept below, so that z stays finite."""


@dataclass(frozen=True)
class Step:
    """ρ of halves, of the whole and of the strengths behind the choices, in the model.

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
        """Return ρ with the same number of new choices, from the observed halves."""
        return math.tanh(clipped_z(halves) + clipped_z(self.again) - clipped_z(self.halves))

    def best_from(self, again: float) -> float:
        """Return ρ with the true similarities, from ρ with new choices; 0 if those do not agree."""
        if not again > 0:
            return 0.0
        return max(
            math.tanh(clipped_z(self.mind) + clipped_z(math.sqrt(again)) - clipped_z(math.sqrt(max(self.again, 0.0)))),
            0.0,
        )


def clipped_z(value: float) -> float:
    """Fisher's z of a correlation, clipped at ±`NEARLY_ALIKE`."""
    return math.atanh(min(max(value, -NEARLY_ALIKE), NEARLY_ALIKE))


def mean_half_correlation(
    robin: RoundRobin, rng: np.random.Generator, n: int | None = None, most: int = MOST_MODELLED
) -> float:
    """Return the mean ρ of random halves of the choices over the ranked pairs in both halves; NaN if there are none.

    By default there are `HALVES`, and `HALVES_OF_MANY` of more choices than ``most``.
    """
    if n is None:
        n = HALVES if len(robin.at) <= most else HALVES_OF_MANY
    found = np.array([_half_correlation(robin.at, robin.kept.astype(float), len(robin), rng) for _ in range(n)])
    known = found[np.isfinite(found)]
    return float(known.mean()) if len(known) else float("nan")


def _half_correlation(at: Ints, kept: Floats, n_pairs: int, rng: np.random.Generator) -> float:
    half = rng.permutation(len(at)) < len(at) // 2
    return correlation(pair_shares(at[half], kept[half], n_pairs), pair_shares(at[~half], kept[~half], n_pairs))


def pair_shares(at: Ints, kept: Floats, n_pairs: int) -> Floats:
    """Equation 1 of each ranked pair; NaN if it was not compared."""
    n = np.bincount(at.ravel() + 1, minlength=n_pairs + 1)[1:]
    together = np.bincount(at.ravel() + 1, kept.ravel(), n_pairs + 1)[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(together / n)


def step_to_whole(
    robin: RoundRobin, member: Ints, rng: np.random.Generator, most_choices: int = MOST_MODELLED,
    most_pairs: int = MOST_OF_MODEL,
) -> Step:  # fmt: skip
    """The step from halves of these choices to the whole: by the model or, of many pairs, without their third texts.

    Many are more choices than ``most_choices``, or more pairs of a document's texts than ``most_pairs``.
    """
    sizes = np.bincount(robin.document)
    if len(member) > most_choices or int((sizes * (sizes - 1) // 2).max()) > most_pairs:
        return step_of_pairs(robin, rng)
    model = PairModel.of(robin, member)
    model.fit()
    drawn = [model.draw(rng) for _ in range(DRAWS)]
    return Step(*(float(np.nanmean(column)) if np.isfinite(column).any() else 0.0 for column in np.array(drawn).T))


def step_of_pairs(robin: RoundRobin, rng: np.random.Generator, most: int = MOST_SIMULATED) -> Step:
    """Pairs whose chance to be kept is drawn from a beta distribution with the moments of equation 1.

    Of more pairs than ``most``, so many are drawn.
    """
    x, n = robin.share, robin.counts[1]
    many = n > 1
    chance = float(((x * (1 - x))[many] / (n[many] - 1)).mean()) if many.any() else float(x.var())
    mean, spread = float(x.mean()), max(float(x.var()) - chance, 1e-6)
    strength = max(mean * (1 - mean) / spread - 1, 1e-3)
    found = []
    for _ in range(DRAWS):
        some = n if len(n) <= most else n[rng.integers(0, len(n), most)]
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
        """The positions of the values of each pair of texts."""
        return TextBlocks.of(self.robin.document)

    @cached_property
    def triplets(self) -> tuple[Ints, Floats, Ints]:
        """Different triplets (triplets, 3), choices that kept each of their pairs, and those pairs."""
        order = np.argsort(self.member, axis=1)
        member = np.take_along_axis(self.member, order, axis=1)
        kept = np.argmax(self.robin.kept, axis=1)
        # The pair that is kept is told by the text that is parted.
        odd = KEPT[kept]
        place = np.take_along_axis(order.argsort(axis=1), odd[:, None], axis=1)[:, 0]
        same, which = np.unique(member, axis=0, return_inverse=True)
        code = which.ravel() * 3 + KEPT[place]
        index = np.full(self.blocks.size, -1)
        index[self.blocks.where(self.first, self.second)] = np.arange(len(self.first))
        index[self.blocks.where(self.second, self.first)] = np.arange(len(self.first))
        pairs = np.stack([index[self.blocks.where(same[:, i], same[:, j])] for i, j in PLACES], axis=1)
        return same, np.bincount(code, minlength=3 * len(same)).reshape(-1, 3).astype(float), pairs

    def fit(self, rounds: int = ROUNDS) -> None:
        """θ at its mode, and the variances of t and u around it; spreads are estimated in so many rounds."""
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

        for _ in range(rounds):
            x = minimize(loss, x, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
            self.t, self.u = x[:n], x[n:]
            chance = choice_probabilities((self.t[self.first] + self.t[self.second] + self.u)[pairs])
            open_ = number * chance * (1 - chance)
            # A text's own level moves its two pairs together, so its information is that of the pair without it.
            information_t = sum(np.bincount(same[:, 2 - k], open_[:, k], n) for k in range(3))
            information_u = np.bincount(pairs.ravel(), open_.ravel(), p)
            self.variance_t, self.variance_u = (
                1 / (information_t + 1 / self.spread_t),
                1 / (information_u + 1 / self.spread_u),
            )
            there = information_t > 0
            self.spread_t = max(float((self.t**2 + self.variance_t)[there].mean()), 1e-4)
            seen = information_u > 0
            self.spread_u = max(float((self.u**2 + self.variance_u)[seen].mean()), 1e-4)

    def draw(self, rng: np.random.Generator) -> tuple[float, float, float]:
        """A study simulated from the fit and its uncertainty: ρ of its halves, of another study, of true strengths."""
        theta = self.draw_strengths(rng)
        at, n = self.robin.at, len(self.robin)
        kept = self.draw_kept_pairs(theta, self.member, rng)
        shares = pair_shares(at, kept, n)
        renamed = self.permute_texts(rng)[self.member]
        other = pair_shares(self.ranked_pairs(renamed), self.draw_kept_pairs(theta, renamed, rng), n)
        halves = [_half_correlation(at, kept, n, rng) for _ in range(HALVES_OF_DRAW)]
        known = [one for one in halves if math.isfinite(one)]
        mean = float(np.mean(known)) if known else float("nan")
        return mean, correlation(shares, other), correlation(shares, self.mean_chances(theta))

    def draw_strengths(self, rng: np.random.Generator) -> Floats:
        """θ of every two texts, drawn around its mode, as spread as equation 1 is; laid out as `blocks`."""
        t = self.t + np.sqrt(self.variance_t) * rng.normal(size=len(self.t))
        u = self.u + np.sqrt(self.variance_u) * rng.normal(size=len(self.u))
        theta = self.blocks.fill(self.first, self.second, t[self.first] + t[self.second] + u)
        wanted = float(self.robin.share.var())
        low, high = 0.0, 4.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if self.expected_variance(middle * theta) < wanted else (low, middle)
        return np.asarray(theta * (low + high) / 2)

    def expected_variance(self, theta: Floats) -> float:
        """Of equation 1 over the ranked pairs, on these triplets."""
        chance = choice_probabilities(theta[self.pair_places(self.member)])
        at, n = self.robin.at, len(self.robin)
        number = self.robin.counts[1]
        mean = np.bincount(at.ravel() + 1, chance.ravel(), n + 1)[1:] / number
        noise = np.bincount(at.ravel() + 1, (chance * (1 - chance)).ravel(), n + 1)[1:] / number**2
        return float(mean.var() + noise.mean() * (1 - 1 / n))

    def pair_places(self, member: Ints) -> Ints:
        """Places of the three pairs of each triplet in `blocks`: (choices, 3)."""
        return np.stack([self.blocks.where(member[:, i], member[:, j]) for i, j in PLACES], axis=1)

    def draw_kept_pairs(self, theta: Floats, member: Ints, rng: np.random.Generator) -> Floats:
        """Which pair each choice keeps: (choices, 3) of 0 and 1."""
        edges = np.cumsum(choice_probabilities(theta[self.pair_places(member)]), axis=1)[:, :2]
        place = (rng.random(len(member))[:, None] > edges).sum(axis=1)
        return np.asarray(place[:, None] == np.arange(3), dtype=float)

    def permute_texts(self, rng: np.random.Generator) -> Ints:
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

    def ranked_pairs(self, member: Ints) -> Ints:
        """Ranked pairs of each triplet, −1 for a pair that is not ranked: (choices, 3)."""
        return np.asarray(self._index[self.pair_places(member)])

    def mean_chances(self, theta: Floats, at_once: int = MOST_SIMULATED) -> Floats:
        """Mean chance of each ranked pair over all thirds of its document: (pairs,)."""
        first, second, document = self.robin.first, self.robin.second, self.robin.document
        there = np.unique(self.member)
        found = np.empty(len(first))
        for d in np.unique(document[there]):
            mine = there[document[there] == d]
            size = len(mine)
            similarity = theta[self.blocks.where(np.repeat(mine, size), np.tile(mine, size))].reshape(size, size)
            weight = np.exp(similarity - np.nanmax(similarity))
            np.fill_diagonal(weight, 0.0)
            place = np.full(len(document), -1)
            place[mine] = np.arange(size)
            pairs = np.flatnonzero(place[first] >= 0)
            i, j = place[first[pairs]], place[second[pairs]]
            for start in range(0, len(pairs), at_once // size + 1):
                some = slice(start, start + at_once // size + 1)
                own = weight[i[some], j[some]][:, None]
                chance = own / (own + weight[i[some]] + weight[j[some]])
                rows = np.arange(len(chance))
                chance[rows, i[some]] = chance[rows, j[some]] = 0.0
                found[pairs[some]] = chance.sum(axis=1) / (size - 2)
        return found
