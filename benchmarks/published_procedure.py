"""The alternative annotator test as a plain Python loop, the way the published procedure goes about it.

Written from the paper for the benchmark: dictionaries of labels, one score at a time, numpy means of lists,
scipy's t-test. It computes no intervals.
"""

from __future__ import annotations

import random

import numpy as np
from scipy.stats import ttest_1samp

Labels = dict[str, dict[str, float]]


def accuracy(label: float, others: list[float]) -> float:
    return float(np.mean([label == other for other in others]))


def neg_rmse(label: float, others: list[float]) -> float:
    return -float(np.sqrt(np.mean([(label - other) ** 2 for other in others])))


def by_procedure(p_values: list[float], q: float) -> list[int]:
    m = len(p_values)
    c = sum(1 / (i + 1) for i in range(m))
    order = sorted(range(m), key=lambda i: p_values[i])
    last = -1
    for rank, i in enumerate(order):
        if p_values[i] <= (rank + 1) / m * q / c:
            last = rank
    return order[: last + 1]


def alt_test(humans: Labels, judge: dict[str, float], score, epsilon: float, q: float = 0.05, min_items: int = 30):
    raters: dict[str, list[str]] = {}
    for name, labels in humans.items():
        for item in labels:
            raters.setdefault(item, []).append(name)
    p_values, advantages = [], []
    for name, labels in humans.items():
        wins_judge, wins_human = [], []
        for item, label in labels.items():
            if item not in judge or len(raters[item]) < 2:
                continue
            others = [humans[other][item] for other in raters[item] if other != name]
            of_judge, of_human = score(judge[item], others), score(label, others)
            wins_judge.append(1.0 if of_judge >= of_human else 0.0)
            wins_human.append(1.0 if of_human >= of_judge else 0.0)
        if len(wins_judge) < min_items:
            continue
        differences = [h - f for h, f in zip(wins_human, wins_judge, strict=True)]
        p_values.append(float(ttest_1samp(differences, epsilon, alternative="less").pvalue))
        advantages.append(float(np.mean(wins_judge)))
    omega = len(by_procedure(p_values, q)) / len(p_values)
    return omega, float(np.mean(advantages))


def size_study(humans: Labels, judge: dict[str, float], score, epsilon: float, n_items: int, n_draws: int, seed: int):
    """Mean omega and rho over draws of three annotators and ``n_items`` items (section 5.1)."""
    rng = random.Random(seed)
    items = sorted({item for labels in humans.values() for item in labels})
    results = []
    for _ in range(n_draws):
        names = rng.sample(sorted(humans), 3)
        drawn = [(f"{i}", rng.choice(items)) for i in range(n_items)]
        study = {n: {key: humans[n][item] for key, item in drawn if item in humans[n]} for n in names}
        results.append(alt_test(study, {key: judge[item] for key, item in drawn}, score, epsilon, min_items=2))
    return np.mean([r[0] for r in results]), np.mean([r[1] for r in results])
