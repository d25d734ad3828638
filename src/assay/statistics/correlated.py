"""Items whose labels agree to a given degree: what a coefficient would be on them, and how much it would vary.

Under common correlation every label of an item has the same distribution, and each two of them the same correlation
(Bloch & Kraemer 1989; Dirichlet-multinomial for several categories). One number, the correlation, then says how often
each pattern of labels occurs, and so what any coefficient is and with which standard error it is estimated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats
from assay.statistics.base import PanelStatistic, grid

CORRELATIONS: Floats = np.concatenate([np.linspace(0.001, 0.9, 60), 1 - np.geomspace(0.095, 0.0002, 32)])
"""The degrees that are tried, from hardly any to nearly all."""

MOST_CELLS = 3_000_000
"""Patterns times sums times degrees up to which they are tried."""

STEP = 1e-5
MANY = 1e6
"""Items of a population: the coefficient's own corrections for few items play no part in what it estimates."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Every way in which the annotators of these items may have labelled one.

    Attributes
    ----------
    answers : Answers
        Each pattern as an item.
    share : (patterns,) float
        How many of the items have the pattern's annotators, times in how many orders the labels may have been given.
    counts : (patterns, values) int
        How often each value is given.
    prevalence : (values,) float
        How often each value was given to the items.
    """

    answers: Answers
    share: Floats
    counts: Floats
    prevalence: Floats

    @classmethod
    def of(cls, answers: Answers, width: int, *, anyone: bool) -> Patterns | None:
        """The patterns of these labels; None where they are too many, or one value is all that there is.

        With ``anyone`` it does not matter who gave which label, and patterns differ in how often each is given only.
        """
        values, code = np.unique(answers.value, return_inverse=True)
        there = ~np.isnan(grid(answers))
        if anyone:
            there = np.sort(there, axis=1)[:, ::-1]
        rows, number = np.unique(there[there.any(axis=1)], axis=0, return_counts=True)
        q, each = len(values), rows.sum(axis=1).tolist()
        size = sum(math.comb(k + q - 1, k) if anyone else q**k for k in each)
        if q < 2 or size * width * len(CORRELATIONS) > MOST_CELLS:
            return None
        ways = itertools.combinations_with_replacement if anyone else _ordered
        made = [
            (row, share * (_orders(given) if anyone else 1), given)
            for row, share, k in zip(rows, number / number.sum(), each, strict=True)
            for given in ways(range(q), k)
        ]
        item = np.concatenate([np.full(len(given), i) for i, (_, _, given) in enumerate(made)])
        annotator = np.concatenate([np.flatnonzero(row) for row, _, _ in made])
        given = np.concatenate([np.array(one) for _, _, one in made])
        counts = np.zeros((len(made), len(values)))
        np.add.at(counts, (item, given), 1)
        names = tuple(map(str, range(len(made))))
        found = Answers(item, annotator, values[given], names, answers.annotators, answers.categories)
        prevalence = np.bincount(code, minlength=len(values)) / len(code)
        return cls(found, np.array([share for _, share, _ in made]), counts, prevalence)

    def probabilities(self, correlations: Floats) -> Floats:
        """How often each pattern occurs: (correlations, patterns)."""
        from scipy.special import gammaln

        total = ((1 - correlations) / correlations)[:, None]
        number = self.counts.sum(axis=1)
        log = gammaln(total) - gammaln(total + number)
        for v, p in enumerate(self.prevalence):
            log = log + gammaln(total * p + self.counts[:, v]) - gammaln(total * p)
        return np.asarray(np.exp(log) * self.share)


def _ordered(values: Iterable[int], k: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(values, repeat=k)


def _orders(given: tuple[int, ...]) -> int:
    """In how many orders these labels may be given."""
    return math.factorial(len(given)) // math.prod(math.factorial(given.count(v)) for v in set(given))


def curve(statistic: PanelStatistic, patterns: Patterns, n_items: int) -> tuple[Floats, Floats]:
    """The statistic's first value for each of `CORRELATIONS`, and its standard error on so many items."""
    moments = statistic.moments(patterns.answers)
    often = patterns.probabilities(CORRELATIONS)
    sums = often @ moments
    value = statistic.value(MANY * sums)[..., 0]
    nearby = statistic.value(MANY * (sums[:, None, :] * (1 - STEP) + STEP * moments))[..., 0]
    influence = (nearby - value[:, None]) / STEP
    return value, np.sqrt((often * influence**2).sum(axis=1) / n_items)
