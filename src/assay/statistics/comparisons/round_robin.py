"""How sure a rank correlation over pairs of texts is, where other texts of the documents might have been taken.

Pairs share texts, and odd-one-out choices share them again: a pair's similarity depends on every third text that was
shown with it. So the variance of a statistic of pairs has three parts, of texts, of pairs and of choices, computed in
one pass from the *influence* of each: its contribution to the statistic. Nothing is resampled.

    V = max(V_text, 0) + V_pair + V_choice

V_choice alone is the variance over new choices about these very texts. Nothing here checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.statistic import Bools, Floats, Ints

FEWEST_DEGREES = 7.0
"""Degrees of freedom of t are half of Σ (texts − 1), but no fewer than this where Σ gives as many: with half
alone, intervals of one document of 8 to 12 texts, which are wide already, become a fifth wider."""


@dataclass(frozen=True, eq=False)
class Ordering:
    """Values in order: how many of them, weighted or not, lie above any value.

    Attributes
    ----------
    values : (different,) float
        Rising.
    code : (pairs,) int
        Which of them each pair has.
    """

    values: Floats
    code: Ints

    @classmethod
    def of(cls, x: Floats) -> Ordering:
        """Sort once."""
        values, code = np.unique(x, return_inverse=True)
        return cls(values, code)

    @cached_property
    def number(self) -> Ints:
        """Pairs of each value."""
        return np.bincount(self.code, minlength=len(self.values))

    @cached_property
    def steps(self) -> Floats:
        """Mid-rank of each value over the number of pairs, less a half: (different,)."""
        upto = np.cumsum(self.number)
        return np.asarray((upto - self.number / 2) / len(self.code) - 0.5)

    def rank(self) -> Floats:
        """The mid-rank of each pair over their number, less a half: (pairs,)."""
        return self.steps[self.code]

    def above(self, weights: Floats) -> Floats:
        """Mean over pairs of the weight of those above, half of those equal, by value: (different,)."""
        sums = np.bincount(self.code, weights, minlength=len(self.values))
        return np.asarray((sums.sum() - np.cumsum(sums) + sums / 2) / len(self.code))

    def place(self, x: Floats) -> tuple[Ints, Bools]:
        """Where values lie among these, and whether they are one of them."""
        at = np.searchsorted(self.values, x)
        return at, self.values[np.minimum(at, len(self.values) - 1)] == x

    def between(self, at: Ints, equal: Bools, table: Floats, weights: Floats) -> Floats:
        """Return `above` for values between these, and ``table`` for values equal to one of them."""
        sums = np.bincount(self.code, weights, minlength=len(self.values))
        beyond = np.append((sums.sum() - np.cumsum(sums) + sums), 0.0) / len(self.code)
        return np.where(equal, table[np.minimum(at, len(self.values) - 1)], beyond[at])


@dataclass(frozen=True, eq=False)
class Influence:
    """A statistic of pairs, and the influence of each pair and each choice.

    Attributes
    ----------
    value : float
    pair : (pairs,) float
        Influence of each pair, centred by document.
    without_kept, without_parted : (pairs,) float
        Change of the pair's influence when one of the choices that kept it, or separated it, is removed; 0 if the
        statistic does not depend on choices.
    turned : (pairs,) float
        How it changes when one of its choices keeps it that did not.
    """

    value: float
    pair: Floats
    without_kept: Floats
    without_parted: Floats
    turned: Floats

    def plus(self, other: Influence, times: float) -> Influence:
        """A sum of two statistics, the other one ``times`` over."""
        return Influence(
            self.value + times * other.value, self.pair + times * other.pair,
            self.without_kept + times * other.without_kept, self.without_parted + times * other.without_parted,
            self.turned + times * other.turned,
        )  # fmt: skip

    def times(self, factor: float) -> Influence:
        """The statistic on another scale."""
        return Influence(
            factor * self.value, factor * self.pair, factor * self.without_kept, factor * self.without_parted,
            factor * self.turned,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TextVariance:
    """The variance of a statistic in its parts, each document's over the square of the number of all pairs.

    Attributes
    ----------
    text, pair, choice : float
        What texts, pairs beyond their texts, and choices beyond both, add. ``text`` may be below 0.
    texts : (documents,) int
        Texts of each.
    """

    text: float
    pair: float
    choice: float
    texts: Ints

    @property
    def total(self) -> float:
        """The variance over new texts with new choices."""
        return max(self.text, 0.0) + self.pair + self.choice

    @property
    def df(self) -> float:
        """Degrees of freedom of t."""
        return degrees(int((self.texts - 1).sum()))


def degrees(among: int) -> float:
    """Degrees of freedom from Σ (texts − 1)."""
    return max(among / 2, min(float(among), FEWEST_DEGREES))


@dataclass(frozen=True, eq=False)
class RoundRobin:
    """Pairs that are ranked, their texts, and the choices that concern them.

    Attributes
    ----------
    first, second : (pairs,) int
        Texts of each pair.
    document : (texts,) int
        Of each text, from 0.
    at : (choices, 3) int
        Which of the pairs each pair of a choice is; −1 for one that is not ranked.
    third : (choices, 3) int
        The third text that was shown with it.
    kept : (choices, 3) bool
        Whether it was kept together.
    """

    first: Ints
    second: Ints
    document: Ints
    at: Ints
    third: Ints
    kept: Bools

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def n_documents(self) -> int:
        """Documents of the texts."""
        return int(self.document.max()) + 1

    @cached_property
    def of_pair(self) -> Ints:
        """The document of each pair."""
        return self.document[self.first]

    @cached_property
    def of_choice(self) -> Ints:
        """The document of each choice."""
        return self.document[self.third[:, 0]]

    @cached_property
    def ranked(self) -> Bools:
        """Texts that some ranked pair holds."""
        found = np.zeros(len(self.document), dtype=bool)
        found[self.first] = found[self.second] = True
        return found

    @cached_property
    def texts(self) -> Ints:
        """Ranked texts of each document."""
        return np.bincount(self.document[self.ranked], minlength=self.n_documents)

    @cached_property
    def pairs(self) -> Ints:
        """Ranked pairs of each document."""
        return np.bincount(self.of_pair, minlength=self.n_documents)

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """How often each pair was kept, and compared."""
        known = self.at >= 0
        n = np.bincount(self.at[known], minlength=len(self))
        return np.bincount(self.at[known & self.kept], minlength=len(self)), n

    @cached_property
    def share(self) -> Floats:
        """Equation 1 of each pair."""
        kept, n = self.counts
        return np.asarray(kept / n)

    def centre(self, pair: Floats) -> Floats:
        """Subtract the mean of each document."""
        sums = np.bincount(self.of_pair, pair, minlength=self.n_documents)
        return np.asarray(pair - (sums / np.maximum(self.pairs, 1))[self.of_pair])

    def restricted(self, d: int) -> tuple[RoundRobin, Ints]:
        """One document alone, and which pairs it has."""
        mine = np.flatnonzero(self.of_pair == d)
        place = np.full(len(self) + 1, -1)
        place[mine] = np.arange(len(mine))
        choices = self.of_choice == d
        texts = np.cumsum(self.document == d) - 1
        alone = np.zeros(int((self.document == d).sum()), dtype=np.int64)
        part = RoundRobin(
            texts[self.first[mine]], texts[self.second[mine]], alone,
            place[self.at[choices]], texts[self.third[choices]], self.kept[choices],
        )  # fmt: skip
        return part, mine

    def variance(self, of: Influence) -> TextVariance:
        """The parts of the variance of a statistic, from its influences."""
        n_texts, d = len(self.document), self.n_documents
        e = of.pair
        known = self.at >= 0
        delta = np.where(self.kept, of.without_kept[self.at], of.without_parted[self.at])
        delta[~known] = 0.0
        sums = np.bincount(self.first, e, n_texts) + np.bincount(self.second, e, n_texts)
        moved = sums - np.bincount(self.third.ravel(), delta.ravel(), n_texts)
        squares = self._squares(np.asarray(moved[self.ranked], dtype=float), self.document[self.ranked])
        choice = self._squares(delta.sum(axis=1), self.of_choice)
        own = np.bincount(self.of_choice, (delta**2).sum(axis=1), d)
        e2 = np.bincount(self.of_pair, e**2, d)
        s2 = np.bincount(self.document[self.ranked], sums[self.ranked] ** 2, d)
        n, p = self.texts.astype(float), self.pairs.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            c1 = n * (n - 1) / (n - 2) ** 2
            rest = np.maximum(e2 - s2 / (2 * p / n - 1), 0.0) / (p - n)
            pair = np.maximum(p * rest - own, 0.0)
            text = c1 * squares - 2 * (n - 1) / (n - 2) * pair - 3 * (1 - 3 / n) * c1 * choice
        # With three texts, or very few pairs, the variances of texts and pairs cannot be separated: all is attributed
        # to texts, which is conservative.
        few = (p <= n) | (2 * p <= n)
        pair = np.where(few, 0.0, pair)
        text = np.where(few, np.where(n > 2, c1, 2.0) * squares, text)
        some = p > 0
        whole = float(p.sum()) ** 2
        return TextVariance(
            float(text[some].sum()) / whole, float(pair[some].sum()) / whole, float(choice[some].sum()) / whole,
            self.texts[some],
        )  # fmt: skip

    def shrunk(self) -> Floats:
        """Equation 1 shrunk to its mean by the share of its variance that is due to chance: (pairs,).

        A beta prior with its strength from the moments: without it, pairs that were always kept, or never, would have
        no variance.
        """
        kept, n = self.counts
        x, mean = self.share, float(self.share.mean())
        chance = x * (1 - x) / np.maximum(n - 1, 1)
        spread = float(np.average((x - mean) ** 2 - chance, weights=n))
        strength = max(mean * (1 - mean) / max(spread, 1e-3) - 1, 0.0)
        return np.asarray((kept + strength * mean) / (n + strength))

    def choice_variance(self, of: Influence) -> float:
        """The variance over new choices about these very texts.

        Each choice keeps one of its three pairs with a probability proportional to the shrunk shares, and has the
        influence of that pair.
        """
        known = self.at >= 0
        value = np.where(known, of.turned[self.at], 0.0)
        # A pair that is not ranked is kept as often as pairs are on average.
        chance = np.where(known, np.maximum(self.shrunk(), 1e-9)[self.at], 1 / 3)
        chance = chance / chance.sum(axis=1, keepdims=True)
        mean = (chance * value).sum(axis=1, keepdims=True)
        return float((chance * (value - mean) ** 2).sum()) / len(self) ** 2

    def _squares(self, values: Floats, document: Ints) -> Floats:
        """Sum of squares around the mean of each document."""
        number = np.maximum(np.bincount(document, minlength=self.n_documents), 1)
        total = np.bincount(document, values, self.n_documents)
        return np.maximum(np.bincount(document, values**2, self.n_documents) - total**2 / number, 0.0)


@dataclass(frozen=True, eq=False)
class ExpertRanks:
    """The experts' ranking of pairs, made ready to be held against measures.

    Attributes
    ----------
    robin : RoundRobin
    """

    robin: RoundRobin

    @cached_property
    def order(self) -> Ordering:
        """Equation 1 in order."""
        return Ordering.of(self.robin.share)

    @cached_property
    def rank(self) -> Floats:
        """Mid-ranks of pairs."""
        return self.order.rank()

    @cached_property
    def moved(self) -> tuple[tuple[Ints, Bools], ...]:
        """Equation 1 of each pair without one choice that kept it, without one that separated it, with one choice
        changed to keep it, and with one changed to separate it."""
        kept, n = self.robin.counts
        less = np.maximum(n - 1, 1)
        shares = (np.maximum(kept - 1, 0) / less, np.minimum(kept, less) / less, np.minimum(kept + 1, n) / n,
                  np.maximum(kept - 1, 0) / n)  # fmt: skip
        return tuple(map(self.order.place, shares))

    @cached_property
    def own(self) -> tuple[Floats, list[tuple[Floats, Floats]]]:
        """Of the ranks' own variance: `Ordering.above` by value; rank and the same without a choice."""
        table = self.order.above(self.rank)
        ones = np.ones(len(self.rank))
        even = self.order.above(ones)
        found = []
        for at, equal in self.moved:
            # A rank is the share that lies below, less a half.
            rank = 0.5 - self.order.between(at, equal, even, ones)
            found.append((rank, self.order.between(at, equal, table, self.rank)))
        return table, found

    def influence(self, values: Floats) -> Influence:
        """Return Spearman's ρ with a measure, and the influence of each pair and choice.

        With a the experts' ranks and b the measure's, both centred, ρ = mean(ab) / √(mean(a²) mean(b²)). The influence
        of a pair is that of its product, and of its count in the ranks of all others.
        """
        other = Ordering.of(values)
        a, b = self.rank, other.rank()
        c, s_a, s_b = float((a * b).mean()), float((a * a).mean()), float((b * b).mean())
        size = float(np.sqrt(s_a * s_b))
        if size <= 0:
            nothing = np.full(len(a), np.nan)
            return Influence(float("nan"), nothing, nothing, nothing, nothing)
        rho = c / size
        above_b = self.order.above(b)
        own_a, without = self.own
        h_b, h_a = above_b[self.order.code], other.above(a)[other.code]
        spread_a = (a**2 - s_a + 2 * (own_a[self.order.code] - s_a)) / s_a
        spread_b = (b**2 - s_b + 2 * (other.above(b)[other.code] - s_b)) / s_b
        e = (a * b - c + h_b - c + h_a - c) / size - rho / 2 * (spread_a + spread_b)
        changes = []
        for (at, equal), (rank, own) in zip(self.moved, without, strict=True):
            other_b = self.order.between(at, equal, above_b, b)
            change = ((rank - a) * b + other_b - h_b) / size
            change -= rho / 2 * (rank**2 - a**2 + 2 * (own - own_a[self.order.code])) / s_a
            changes.append(change)
        kept, n = self.robin.counts
        alone = n <= 1  # nothing is left of such a pair without its choice
        turned = (changes[2] - changes[3]) / np.maximum(np.minimum(kept + 1, n) - np.maximum(kept - 1, 0), 1)
        kept_less, parted_less = (np.where(alone, 0.0, change) for change in changes[:2])
        return Influence(rho, self.robin.centre(e), kept_less, parted_less, turned)

    def reliability(self) -> Influence:
        """Share of the variance of equation 1 that is no chance of choices: 1 − Q / W, in the terms of pairs.

        Q is the mean of x (1 − x) / (n − 1), W the variance of x. Pairs that were compared once say nothing of Q.
        """
        x, n = self.robin.share, self.robin.counts[1]
        d2 = (x - x.mean()) ** 2
        w = float(d2.mean())
        many = n > 1
        nothing = np.zeros(len(x))
        if w <= 0 or not many.any():
            return Influence(float("nan"), np.full(len(x), np.nan), nothing, nothing, nothing)
        q = np.zeros(len(x))
        q[many] = (x * (1 - x))[many] / (n[many] - 1)
        mean = float(q[many].mean())
        # A pair that says nothing of Q adds nothing to it.
        part = np.where(many, (q - mean) / many.mean(), 0.0)
        e = -part / w + mean / w**2 * (d2 - w)
        return Influence(1 - mean / w, self.robin.centre(e), nothing, nothing, nothing)


# -- permutation test of a measure against choices ---------------------------------------------------

MOST_PERMUTED = 500_000
"""Most pairs of a permutation, sampled in advance, which keeps the test exact: 0.1 s per permutation."""


@dataclass(frozen=True, eq=False)
class TextBlocks:
    """Values of every two texts of each document, laid out one document after the other.

    Attributes
    ----------
    start : (texts,) int
        The first index of the row of each text.
    place : (texts,) int
        Of each text in its document.
    size : int
        Numbers in all.
    """

    start: Ints
    place: Ints
    size: int

    @classmethod
    def of(cls, document: Ints) -> TextBlocks:
        """From the document of each text."""
        sizes = np.bincount(document)
        order = np.argsort(document, kind="stable")
        before = np.concatenate([[0], np.cumsum(sizes)])
        place = np.empty(len(document), dtype=np.int64)
        place[order] = np.arange(len(document)) - before[document[order]]
        block = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
        return cls(block[document] + place * sizes[document], place, int(block[-1]))

    def where(self, first: Ints, second: Ints) -> Ints:
        """The position of the value of two texts of one document."""
        return np.asarray(self.start[first] + self.place[second])

    def fill(self, first: Ints, second: Ints, values: Floats) -> Floats:
        """Return all values in both orders; NaN if missing."""
        found = np.full(self.size, np.nan)
        found[self.where(first, second)] = found[self.where(second, first)] = values
        return found


def permuted_correlations(
    ranks: ExpertRanks, values: list[Floats], n: int, rng: np.random.Generator, most: int = MOST_PERMUTED
) -> tuple[Floats, Floats]:
    """ρ of measures with the experts, and the same when the measures' texts are renamed within documents.

    Ranks are unchanged, of all values of a measure; a pair whose permuted texts have no value is excluded from that
    permutation.

    Parameters
    ----------
    ranks : ExpertRanks
    values : list of (numbers,) float
        Of each measure, laid out as `TextBlocks` of the documents say.
    n : int
        Permutations.
    most : int
        Of more pairs, so many are drawn.

    Returns
    -------
    found : (measures,) float
    drawn : (n, measures) float
    """
    robin = ranks.robin
    blocks = TextBlocks.of(robin.document)
    some = np.arange(len(robin))
    if len(some) > most:
        some = np.sort(rng.choice(len(some), most, replace=False))
    rank, first, second = ranks.rank[some], robin.first[some], robin.second[some]
    scores = [known_ranks(one) for one in values]
    mine = np.flatnonzero(robin.ranked)
    document = robin.document[mine]
    by_document = mine[np.argsort(document, kind="stable")]

    def correlate(place: Ints) -> list[float]:
        at = blocks.where(place[first], place[second])
        return [known_correlation(rank, one[at]) for one in scores]

    place = np.arange(len(robin.document))
    found, drawn = np.array(correlate(place)), np.empty((n, len(values)))
    for k in range(n):
        place[by_document] = mine[np.argsort(document + rng.random(len(mine)))]
        drawn[k] = correlate(place)
    return found, drawn


def known_ranks(values: Floats) -> Floats:
    """Mid-ranks of the values that are known."""
    found = np.full(len(values), np.nan)
    known = np.isfinite(values)
    found[known] = Ordering.of(values[known]).rank()
    return found


def known_correlation(a: Floats, b: Floats) -> float:
    """Correlation over the pairs with both values; 0 if one of them does not vary."""
    known = np.isfinite(b)
    if not known.all():
        a, b = a[known], b[known]
    if len(a) < 3:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 1e-12 else 0.0


def p_of_permutations(found: float, drawn: Floats) -> float:
    """Return the one-sided p: the share of permutations that reach the observed value, including itself."""
    # Sums of the same numbers in another order differ in their last digits.
    return float((1 + (drawn >= found - 1e-10).sum()) / (1 + len(drawn)))
