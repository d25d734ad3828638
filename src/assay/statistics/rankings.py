"""How well a measure ranks pairs as choices of the odd one do; how far choices agree with choices like them.

Everything here is a function of what choices count for pairs, `assay.statistics.odd_one_out.PairTable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.odd_one_out import CHANCE, KEPT, PairTable, mean_ranks

CELLS = 4_000_000
"""Choices that are drawn anew together."""


@dataclass(frozen=True, eq=False)
class Judged:
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
    def of(cls, pairs: PairTable, member: Ints, odd: Ints, n_texts: int) -> Judged:
        """From the texts of each choice and the place of the odd one."""
        position = pairs.position(member, n_texts)
        return cls(position, np.take_along_axis(position, KEPT[odd][:, None], axis=1)[:, 0], len(pairs))

    def __len__(self) -> int:
        return len(self.kept)

    def some(self, which: Ints | Bools) -> Judged:
        """Some of the choices, or some of them several times."""
        return Judged(self.position[which], self.kept[which], self.n_pairs)

    def counts(self) -> tuple[Floats, Floats]:
        """How often each pair was kept, and compared: (pairs,) each."""
        n = np.bincount(self.position.ravel(), minlength=self.n_pairs).astype(float)
        return np.bincount(self.kept, minlength=self.n_pairs).astype(float), n

    def shares(self) -> Floats:
        """Equation 1 of each pair; NaN where it was not compared."""
        kept, n = self.counts()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(kept / n)

    def shrunk(self) -> Floats:
        """Similarities drawn towards 1/3 as far as their spread is no more than chance gives: (pairs,).

        A beta prior of mean 1/3 whose strength comes from the moments of the shares.
        """
        kept, n = self.counts()
        share = kept / np.maximum(n, 1)
        chance = share * (1 - share) / np.maximum(n - 1, 1)
        spread = float(np.average((share - CHANCE) ** 2 - chance, weights=n))
        strength = CHANCE * (1 - CHANCE) / max(spread, 1e-3) - 1
        return np.asarray((kept + strength * CHANCE) / (n + strength))

    def redrawn(self, n_draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Shares of each pair when every choice is made anew, some draws at a time: (draws, pairs).

        A choice keeps each of its pairs with a chance that goes with their shrunk similarities: with the
        similarities as
        they are, pairs that were kept never, or always, would not vary at all.
        """
        chances = self.shrunk()[self.position]
        edges = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)[:, :2]
        n = self.counts()[1]
        some = max(1, CELLS // max(len(self), 1))
        for start in range(0, n_draws, some):
            draws = min(some, n_draws - start)
            place = (rng.random((draws, len(self)))[:, :, None] > edges).sum(axis=2)
            kept = np.take_along_axis(
                np.broadcast_to(self.position, (draws, *self.position.shape)), place[:, :, None], 2
            )
            code = np.arange(draws)[:, None] * self.n_pairs + kept[:, :, 0]
            yield np.bincount(code.ravel(), minlength=draws * self.n_pairs).reshape(draws, -1) / n


def correlations(shares: Floats, measures: Floats) -> Floats:
    """Spearman's ρ of each row of shares with each measure: (draws, pairs), (measures, pairs) -> (draws, measures)."""
    return np.clip(mean_ranks(shares) @ mean_ranks(measures).T, -1.0, 1.0)


def correlation(first: Floats, second: Floats) -> float:
    """Spearman's ρ over what both have; NaN with fewer than three."""
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3:
        return float("nan")
    return float(correlations(first[both][None], second[both][None])[0, 0])


def half_agreement(judged: Judged, rng: np.random.Generator, n_splits: int, size: int | None = None) -> Floats:
    """ρ between two random sets of choices that share none, each of ``size`` or of half of them: (splits,)."""
    half = len(judged) // 2 if size is None else size
    found = np.empty(n_splits)
    for s in range(n_splits):
        order = rng.permutation(len(judged))
        found[s] = correlation(judged.some(order[:half]).shares(), judged.some(order[half : 2 * half]).shares())
    return found


def stepped_up(reliability: float | Floats, times: float | Floats) -> Floats:
    """Spearman and Brown: the reliability of so many times as many choices."""
    return np.asarray(times * reliability / (1 + (times - 1) * reliability))
