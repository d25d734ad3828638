"""Places of texts from choices of the odd one out: for designs too sparse to count each pair.

P(A and B are kept together, of A, B, C) = exp(s_AB) / (exp(s_AB) + exp(s_AC) + exp(s_BC)), s_ij = −|x_i − x_j|²

Luce's choice rule among the three pairs, which for two would be Bradley and Terry's. Tamuz et al. (2011) and van der
Maaten and Weinberger (2012) fit places to triplets of this kind. What is chosen about one pair says something of
others, because all places lie in one space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.estimation.statistic import Floats, Ints
from assay.statistics.odd_one_out import KEPT, PLACES, choice_probabilities

PENALTY = 0.3
"""Times the mean square of the places, added to the mean loss of a choice."""


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


def predicted(x: Floats, first: Ints, second: Ints, pool: list[Ints]) -> Floats:
    """Equation 1 of endless answers: the mean chance over every third text of the pair's pool, (pairs,)."""
    found = np.empty(len(first))
    for k, (a, b, mine) in enumerate(zip(first.tolist(), second.tolist(), pool, strict=True)):
        thirds = mine[(mine != a) & (mine != b)]
        three = np.stack([np.full(len(thirds), a), np.full(len(thirds), b), thirds], axis=1)
        found[k] = choice_probabilities(strengths(x, three))[:, 0].mean()
    return found
