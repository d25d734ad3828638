"""The alternative annotator test as its paper words it: plain Python, one loop inside another, no cleverness.

Calderon, Reichart & Dror (2025). Scores are exact (fractions of the decimal numbers as they
are written), so that a tie is a tie. It is the second road
for `assay.replacement`, and as slow as it looks.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from scipy import stats

Labels = Mapping[str, Mapping[str, Any]]
"""{annotator: {item: label}}"""


@dataclass
class Outcome:
    """Everything the paper defines, by annotator."""

    n: dict[str, int] = field(default_factory=dict)
    rho_judge: dict[str, float] = field(default_factory=dict)
    rho_human: dict[str, float] = field(default_factory=dict)
    better: dict[str, int] = field(default_factory=dict)
    tied: dict[str, int] = field(default_factory=dict)
    worse: dict[str, int] = field(default_factory=dict)
    statistic: dict[str, float] = field(default_factory=dict)
    p: dict[str, float] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    winning_rate: float = math.nan
    advantage_probability: float = math.nan


def accuracy(label: Any, others: list[tuple[Any, Fraction]]) -> Fraction:
    """ACC, weighted by quality (3.1, C.4)."""
    return sum((q for other, q in others if other == label), Fraction(0)) / sum(q for _, q in others)


def neg_rmse(label: Any, others: list[tuple[Any, Fraction]]) -> Fraction:
    """The square of RMSE with a minus sign (3.1, C.4): the same order as −RMSE, and exact."""
    total = sum(q * _squared(label, other) for other, q in others)
    return -total / sum(q for _, q in others)


@functools.cache
def _squared(label: Any, other: Any) -> Fraction:
    return (Fraction(str(label)) - Fraction(str(other))) ** 2


def similarity(function: Callable[[Any, Any], float]) -> Callable[[Any, list[tuple[Any, Fraction]]], Fraction]:
    """SIM with a given function of two labels (3.1, C.4)."""

    def score(label: Any, others: list[tuple[Any, Fraction]]) -> Fraction:
        return sum(q * Fraction(str(function(label, other))) for other, q in others) / sum(q for _, q in others)

    return score


def alt_test(
    humans: Labels,
    judge: Mapping[str, Any],
    score: Callable[[Any, list[tuple[Any, Fraction]]], Fraction],
    epsilon: float,
    *,
    q: float = 0.05,
    min_items: int = 2,
    quality: Mapping[str, float] | None = None,
    reference: Mapping[str, Any] | None = None,
    classes: str | None = None,
) -> Outcome:
    """The whole procedure.

    ``reference`` holds one label an item, the expert's or gold (C.2, C.3). ``classes`` balances (C.1) and says
    what a tied majority is: ``lowest``, ``highest`` or ``share`` (an item belongs to the tied classes in parts).
    """
    found = Outcome()
    weight = {name: Fraction(str((quality or {}).get(name, 1))) for name in humans}
    for j, own in humans.items():
        differences: list[tuple[int, dict[Any, Fraction]]] = []
        for item, label in own.items():
            if reference is None:
                others = [(humans[k][item], weight[k]) for k in humans if k != j and item in humans[k]]
            else:
                others = [(reference[item], Fraction(1))] if item in reference else []
            if not others or item not in judge:
                continue
            of_judge, of_human = score(judge[item], others), score(label, others)
            w_f = 1 if of_judge >= of_human else 0
            w_h = 1 if of_judge <= of_human else 0
            differences.append((w_h - w_f, _majority(others, classes)))
        if len(differences) < max(min_items, 2):
            continue
        found.n[j] = len(differences)
        found.better[j] = sum(d == -1 for d, _ in differences)
        found.tied[j] = sum(d == 0 for d, _ in differences)
        found.worse[j] = sum(d == 1 for d, _ in differences)
        if classes is None:
            _unbalanced(found, j, [d for d, _ in differences], epsilon)
        else:
            _balanced(found, j, differences, epsilon)
    found.rejected = benjamini_yekutieli(found.p, q)
    if found.n:
        total = sum(weight[j] for j in found.n)
        found.winning_rate = float(sum(weight[j] for j in found.rejected) / total)
        found.advantage_probability = sum(found.rho_judge.values()) / len(found.rho_judge)
    return found


def _unbalanced(found: Outcome, j: str, d: list[int], epsilon: float) -> None:
    """Sections 3.2 and 3.3."""
    n = len(d)
    found.rho_judge[j] = sum(x <= 0 for x in d) / n
    found.rho_human[j] = sum(x >= 0 for x in d) / n
    mean = sum(d) / n
    s = math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1))
    _test(found, j, mean, s, n, epsilon, d)


def _balanced(found: Outcome, j: str, differences: list[tuple[int, dict[Any, Fraction]]], epsilon: float) -> None:
    """Appendix C.1: every item weighed by how rare its majority label is among this annotator's items."""
    size: Counter[Any] = Counter()
    for _, shares in differences:
        size.update(shares)
    n = len(differences)
    # An item that belongs to two classes in halves stands there as two half items.
    parts = [(d, share, float(n / size[c])) for d, shares in differences for c, share in shares.items()]
    total = sum(float(share) * pi for _, share, pi in parts)
    found.rho_judge[j] = sum(float(share) * pi for d, share, pi in parts if d <= 0) / total
    found.rho_human[j] = sum(float(share) * pi for d, share, pi in parts if d >= 0) / total
    mean = found.rho_human[j] - found.rho_judge[j]
    s = math.sqrt(sum(float(share) * pi * (d - mean) ** 2 for d, share, pi in parts) / total)
    effective = total**2 / sum(float(share) * pi**2 for _, share, pi in parts)
    _test(found, j, mean, s, effective, epsilon, [d for d, _ in differences])


def _test(found: Outcome, j: str, mean: float, s: float, n: float, epsilon: float, d: list[int]) -> None:
    if len(set(d)) == 1:
        # The t statistic has no value. The exact probability, under the null that is easiest to confuse with
        # what was seen, of n outcomes that are all the same: assay's rule, since the paper has none.
        found.statistic[j] = math.nan
        easiest = {0: 1 - epsilon, -1: (1 - epsilon) / 2, 1: 1.0}[d[0]]
        found.p[j] = easiest ** len(d) if d[0] < epsilon else 1.0
        return
    t = (mean - epsilon) / (s / math.sqrt(n))
    found.statistic[j] = t
    found.p[j] = float(stats.t.cdf(t, n - 1))


def _majority(others: list[tuple[Any, Fraction]], ties: str | None) -> dict[Any, Fraction]:
    """The majority label of the others, as shares that sum to 1."""
    if ties is None:
        return {}
    votes: dict[Any, Fraction] = {}
    for label, weight in others:
        votes[label] = votes.get(label, Fraction(0)) + weight
    top = sorted(label for label, v in votes.items() if v == max(votes.values()))
    if ties == "share":
        return {label: Fraction(1, len(top)) for label in top}
    return {top[0] if ties == "lowest" else top[-1]: Fraction(1)}


def benjamini_yekutieli(p: Mapping[str, float], q: float) -> set[str]:
    """Algorithm 1 of the paper (C.5)."""
    ordered = sorted(p, key=lambda name: p[name])
    m = len(ordered)
    harmonic = sum(1 / j for j in range(1, m + 1))
    largest = 0
    for i, name in enumerate(ordered, 1):
        if p[name] <= i / m * (q / harmonic):
            largest = i
    return set(ordered[:largest])
