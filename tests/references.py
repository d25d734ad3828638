"""Slow, obvious references for fast solvers: plain loops, straight from the formula, with the paper's equation.

Nothing here knows of the project. A table is a list of items, each a list of one label by annotator, None where no
label was given. The code is slow on purpose: a reader compares the loop with the paper, and a test compares it with the
fast method.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

Table = Sequence[Sequence[Any]]
"""(items, annotators), None for a missing label."""


# -- agreement ----------------------------------------------------------------------------------------


def distance(level: str, one: float, other: float, counts: Mapping[float, float]) -> float:
    """δ² of two labels (Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section D).

    Ordinal: the square of all labels from one rank to the other, half of both ends taken off.
    """
    if level == "nominal":
        return float(one != other)
    if level == "interval":
        return (one - other) ** 2
    if level == "ratio":
        return ((one - other) / (one + other)) ** 2 if one + other else 0.0
    low, high = sorted((one, other))
    between = sum(n for label, n in counts.items() if low <= label <= high)
    return (between - (counts[one] + counts[other]) / 2) ** 2 if one != other else 0.0


def krippendorff_alpha(table: Table, level: str) -> float:
    """α = 1 − D_o / D_e, from coincidences: each pair of labels of a unit counts 1 / (m_u − 1) (Krippendorff 2011)."""
    coincidences: Counter[tuple[float, float]] = Counter()
    for row in table:
        labels = [label for label in row if label is not None]
        for i, one in enumerate(labels):
            for j, other in enumerate(labels):
                if i != j:
                    coincidences[one, other] += 1 / (len(labels) - 1)
    counts: Counter[float] = Counter()
    for (one, _), number in coincidences.items():
        counts[one] += number
    n = sum(counts.values())
    seen = sum(number * distance(level, one, other, counts) for (one, other), number in coincidences.items()) / n
    expected = 0.0
    for one, other in itertools.product(counts, counts):
        expected += counts[one] * (counts[other] - (one == other)) * distance(level, one, other, counts) / n / (n - 1)
    return 1 - seen / expected


def weight(kind: str, one: int, other: int, categories: int) -> float:
    """How much two categories agree, from 1 to 0 (Gwet 2014, "Handbook of Inter-Rater Reliability", section 3.5)."""
    apart = abs(one - other)
    if kind == "linear":
        return 1 - apart / (categories - 1)
    if kind == "quadratic":
        return 1 - (apart / (categories - 1)) ** 2
    if kind == "ordinal":
        most = categories * (categories - 1) / 2
        return 1 - (apart + 1) * apart / 2 / most
    return float(one == other)


def cohen_kappa(table: Table, categories: Sequence[Any], weights: str = "none") -> float:
    """κ = (p_o − p_e) / (1 − p_e) with chance from each annotator's own shares (Cohen 1960, 1968)."""
    pairs = [(categories.index(a), categories.index(b)) for a, b in table if a is not None and b is not None]
    c, n = len(categories), len(pairs)
    seen = sum(weight(weights, a, b, c) for a, b in pairs) / n
    chance = 0.0
    for k in range(c):
        for m in range(c):
            first = sum(a == k for a, _ in pairs) / n
            second = sum(b == m for _, b in pairs) / n
            chance += weight(weights, k, m, c) * first * second
    return (seen - chance) / (1 - chance)


def fleiss_kappa(table: Table, categories: Sequence[Any]) -> float:
    """κ with chance from shares of all annotators together (Fleiss 1971), for any number of labels an item.

    Agreement is the mean over items with two labels or more; shares are means over items of the item's own shares, as
    in Gwet (2014, section 2.5).
    """
    agreed, items = 0.0, 0
    shares = dict.fromkeys(categories, 0.0)
    used = 0
    for row in table:
        labels = [label for label in row if label is not None]
        if labels:
            used += 1
            for label in labels:
                shares[label] += 1 / len(labels)
        if len(labels) > 1:
            items += 1
            alike = sum(a == b for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j)
            agreed += alike / (len(labels) * (len(labels) - 1))
    chance = sum((share / used) ** 2 for share in shares.values())
    return (agreed / items - chance) / (1 - chance)


def gwet_ac(table: Table, categories: Sequence[Any], weights: str = "none") -> float:
    """AC1, AC2: p_e = Σw / (q (q − 1)) · Σ π_k (1 − π_k) (Gwet 2008, eq. 6; 2014, section 3.5)."""
    c = len(categories)
    agreed, items, used = 0.0, 0, 0
    shares = [0.0] * c
    for row in table:
        labels = [categories.index(label) for label in row if label is not None]
        if labels:
            used += 1
            for label in labels:
                shares[label] += 1 / len(labels)
        if len(labels) > 1:
            items += 1
            alike = sum(weight(weights, a, b, c) for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j)
            agreed += alike / (len(labels) * (len(labels) - 1))
    shares = [share / used for share in shares]
    total = sum(weight(weights, k, m, c) for k in range(c) for m in range(c))
    chance = total / (c * (c - 1)) * sum(share * (1 - share) for share in shares)
    return (agreed / items - chance) / (1 - chance)


def icc(table: Table, form: str) -> float:
    """Intraclass correlations of a complete table from mean squares (McGraw & Wong 1996, table 4)."""
    n, k = len(table), len(table[0])
    grand = sum(sum(row) for row in table) / (n * k)
    rows = [sum(row) / k for row in table]
    columns = [sum(row[j] for row in table) / n for j in range(k)]
    between = k * sum((mean - grand) ** 2 for mean in rows) / (n - 1)
    annotators = n * sum((mean - grand) ** 2 for mean in columns) / (k - 1)
    within = sum((row[j] - rows[i]) ** 2 for i, row in enumerate(table) for j in range(k)) / (n * (k - 1))
    error = sum(
        (row[j] - rows[i] - columns[j] + grand) ** 2 for i, row in enumerate(table) for j in range(k)
    ) / ((n - 1) * (k - 1))  # fmt: skip
    return {
        "ICC(1)": (between - within) / (between + (k - 1) * within),
        "ICC(k)": (between - within) / between,
        "ICC(C,1)": (between - error) / (between + (k - 1) * error),
        "ICC(C,k)": (between - error) / between,
        "ICC(A,1)": (between - error) / (between + (k - 1) * error + k / n * (annotators - error)),
        "ICC(A,k)": (between - error) / (between + (annotators - error) / n),
    }[form]


# -- correlations -------------------------------------------------------------------------------------


def ranks(values: Sequence[float]) -> list[float]:
    """1 + how many are smaller + half of the others that are the same."""
    return [1 + sum(w < v for w in values) + (sum(w == v for w in values) - 1) / 2 for v in values]


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Covariance over both standard deviations."""
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    both = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return both / math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's correlation of ranks, ties at their mean."""
    return pearson(ranks(x), ranks(y))


def kendall(x: Sequence[float], y: Sequence[float]) -> float:
    """τ_b: pairs in the same order less pairs in the other, over pairs that are no ties (Kendall 1945)."""
    same = other = tied_x = tied_y = 0
    for i, j in itertools.combinations(range(len(x)), 2):
        sign = (x[i] - x[j]) * (y[i] - y[j])
        same, other = same + (sign > 0), other + (sign < 0)
        tied_x, tied_y = tied_x + (x[i] == x[j]), tied_y + (y[i] == y[j])
    pairs = len(x) * (len(x) - 1) // 2
    return (same - other) / math.sqrt((pairs - tied_x) * (pairs - tied_y))


# -- intervals ----------------------------------------------------------------------------------------


Statistic = Callable[[list[Any]], float]
"""Of a list of items."""


def jackknife(statistic: Statistic, items: Sequence[Any]) -> tuple[float, list[float]]:
    """The standard error √((n − 1) / n · Σ (θ₋ᵢ − mean)²) by leaving out each item (Efron 1982, eq. 3.1)."""
    n = len(items)
    without = [statistic([item for j, item in enumerate(items) if j != i]) for i in range(n)]
    mean = sum(without) / n
    return math.sqrt((n - 1) / n * sum((one - mean) ** 2 for one in without)), without


def jackknife_interval(
    statistic: Statistic, items: Sequence[Any], confidence: float = 0.95, scale: str = "none"
) -> tuple[float, float]:
    """Value ± t · se; on Fisher's z or the log scale by the delta method."""
    value, (error, _) = statistic(list(items)), jackknife(statistic, items)
    half = float(stats.t.ppf((1 + confidence) / 2, len(items) - 1)) * error
    if scale == "fisher":
        wide = half / (1 - value**2)
        return math.tanh(math.atanh(value) - wide), math.tanh(math.atanh(value) + wide)
    if scale == "log":
        return value * math.exp(-half / value), value * math.exp(half / value)
    return value - half, value + half


def random_raters_interval(
    statistic: Callable[[np.ndarray], float], cells: np.ndarray, raters: Sequence[int], *, scale: str = "none",
    level: float = 0.95,
) -> tuple[float, float, float]:  # fmt: skip
    """Standard error, low and high of a statistic of (items, raters) whose items and ``raters`` are samples.

    Each item, rater and both are left out, one at a time; the rest is the recipe, in its own letters. ``scale``: none,
    log or z.
    """
    n, m = len(cells), len(raters)
    value = statistic(cells)
    of_item = [statistic(np.delete(cells, i, 0)) for i in range(n)]
    of_rater = [statistic(np.delete(cells, j, 1)) for j in raters]
    both = [[statistic(np.delete(np.delete(cells, i, 0), j, 1)) for j in raters] for i in range(n)]

    def moments(each: Sequence[float], power: int) -> float:
        middle = sum(each) / len(each)
        return sum((middle - one) ** power for one in each)

    v_i, v_j = (n - 1) / n * moments(of_item, 2), (m - 1) / m * moments(of_rater, 2)
    across = [sum(row) / m for row in both]
    down = [sum(both[i][j] for i in range(n)) / n for j in range(m)]
    grand = sum(across) / n
    v_b = (n - 1) * (m - 1) / (n * m) * sum(
        (both[i][j] - across[i] - down[j] + grand) ** 2 for i in range(n) for j in range(m)
    )  # fmt: skip

    def degrees(each: Sequence[float]) -> float:
        k = len(each)
        kurtosis = k * moments(each, 4) / moments(each, 2) ** 2 if moments(each, 2) else 3.0
        return (k - 1) * min(1.0, 2 / (kurtosis * (k + 1) / (k - 1) - 1))

    v = v_i + max(v_j - v_b, 0.0)
    df = v**2 / (v_i**2 / degrees(of_item) + v_j**2 / degrees(of_rater) + v_b**2 / ((n - 1) * (m - 1)))
    gamma = moments(of_item, 3) / moments(of_item, 2) ** 1.5 * (v_i / v) ** 1.5

    def hall(y: float) -> float:
        return 3 / gamma * (np.cbrt(1 + gamma * (y - gamma / 6)) - 1) if abs(gamma) >= 1e-4 else y

    t, q = stats.t.ppf((1 + level) / 2, max(2.0, df)), stats.norm.ppf((1 + level) / 2)
    slope, there, back = {
        "none": (1.0, float, float), "log": (1 / value, np.log, np.exp), "z": (1 / (1 - value**2), np.arctanh, np.tanh)
    }[scale]  # fmt: skip
    wide = v**0.5 * slope
    return v**0.5, back(there(value) - wide * (t + hall(q) - q)), back(there(value) + wide * (t - hall(-q) - q))


def resampled(statistic: Statistic, items: Sequence[Any], counts: Iterable[Iterable[float]]) -> list[float]:
    """The statistic of each resample: every item as often as it was drawn."""
    return [
        statistic([item for item, number in zip(items, row, strict=True) for _ in range(int(number))]) for row in counts
    ]


def quantile(values: Sequence[float], share: float) -> float:
    """Between two ordered values in proportion (Hyndman & Fan 1996, type 7)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def percentile_interval(replicates: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The quantiles of the replicates that leave half of the rest on each side (Efron 1979)."""
    return quantile(replicates, (1 - confidence) / 2), quantile(replicates, (1 + confidence) / 2)


def bca_interval(
    value: float, replicates: Sequence[float], without: Sequence[float], confidence: float = 0.95
) -> tuple[float, float]:
    """Bias-corrected and accelerated (Efron 1987, eq. 3.8 and 6.6; DiCiccio & Efron 1996, eq. 3.2).

    Half of the replicates that equal the value up to rounding count as below.
    """
    alike = [math.isclose(one, value, rel_tol=1e-12, abs_tol=1e-12) for one in replicates]
    below = sum(0.5 if tie else one < value for one, tie in zip(replicates, alike, strict=True)) / len(replicates)
    z0 = float(stats.norm.ppf(below))
    mean = sum(without) / len(without)
    a = sum((mean - one) ** 3 for one in without) / (6 * sum((mean - one) ** 2 for one in without) ** 1.5)
    ends = []
    for share in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = z0 + float(stats.norm.ppf(share))
        ends.append(quantile(replicates, float(stats.norm.cdf(z0 + z / (1 - a * z)))))
    return ends[0], ends[1]


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """The two p at which |p̂ − p| = z √(p (1 − p) / n) (Wilson 1927), by halving."""
    z, seen = float(stats.norm.ppf((1 + confidence) / 2)), successes / n

    def end(inner: float, outer: float) -> float:
        for _ in range(100):
            middle = (inner + outer) / 2
            compatible = abs(seen - middle) <= z * math.sqrt(middle * (1 - middle) / n)
            inner, outer = (middle, outer) if compatible else (inner, middle)
        return (inner + outer) / 2

    return end(seen, 0.0), end(seen, 1.0)


def holm(p: Sequence[float]) -> list[float]:
    """The smallest level at which Holm's (1979) procedure rejects each: p_(j) · (m − j + 1), never falling."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, most = [0.0] * len(p), 0.0
    for j, i in enumerate(order):
        most = max(most, (len(p) - j) * p[i])
        adjusted[i] = min(most, 1.0)
    return adjusted


# -- pairwise comparisons -----------------------------------------------------------------------------

Votes = Sequence[tuple[str, str, float]]
"""(first, second, score of the first): 1 for a win, ½ for a tie, 0 for a loss."""


def bradley_terry(votes: Votes, iterations: int = 20_000) -> dict[str, float]:
    """Log strengths of mean 0 by Zermelo's iterations p_i = W_i / Σ n_ij / (p_i + p_j) (Hunter 2004, eq. 3)."""
    names = sorted({name for first, second, _ in votes for name in (first, second)})
    wins = dict.fromkeys(names, 0.0)
    number: Counter[tuple[str, str]] = Counter()
    for first, second, score in votes:
        wins[first] += score
        wins[second] += 1 - score
        number[first, second] += 1
        number[second, first] += 1
    strength = dict.fromkeys(names, 1.0)
    for _ in range(iterations):
        before = dict(strength)
        for one in names:
            below = sum(number[one, other] / (strength[one] + strength[other]) for other in names if other != one)
            strength[one] = wins[one] / below
        total = math.exp(sum(math.log(s) for s in strength.values()) / len(names))
        strength = {name: s / total for name, s in strength.items()}
        if max(abs(strength[name] / before[name] - 1) for name in names) < 1e-14:
            break
    return {name: math.log(s) for name, s in strength.items()}


def elo(
    votes: Votes, k: float = 32.0, rating_scale: float = 400.0, base: float = 10.0, start: float = 1000.0,
    weights: Sequence[float] | None = None,
) -> dict[str, float]:  # fmt: skip
    """One vote after the other: R ← R + K · (S − 1 / (1 + base^((R' − R) / s))) (Elo 1978)."""
    ratings: dict[str, float] = {}
    for (first, second, score), times in zip(votes, weights or [1.0] * len(votes), strict=True):
        a, b = ratings.get(first, start), ratings.get(second, start)
        step = k * times * (score - 1 / (1 + base ** ((b - a) / rating_scale)))
        ratings[first], ratings[second] = a + step, b - step
    return ratings


# -- variances ----------------------------------------------------------------------------------------


def covariance(codes: Sequence[Sequence[int]], theta: Sequence[float]) -> np.ndarray:
    """V = Σ θ_k Z_k Z_k' + θ_e I, label by label: (labels, labels)."""
    n = len(codes[0])
    found = np.eye(n) * theta[-1]
    for code, variance in zip(codes, theta, strict=False):
        for i in range(n):
            for j in range(n):
                if code[i] == code[j]:
                    found[i, j] += variance
    return found


def deviance(value: np.ndarray, codes: Sequence[Sequence[int]], theta: Sequence[float], restricted: bool) -> float:
    """−2 log L (Patterson & Thompson 1971): log|V| + log|1'V⁻¹1| + r'V⁻¹r with all constants, from dense matrices."""
    n, inverse, cov = len(value), np.linalg.inv(covariance(codes, theta)), covariance(codes, theta)
    one = np.ones(n)
    precision = one @ inverse @ one
    residual = value - (one @ inverse @ value) / precision
    found = np.linalg.slogdet(cov)[1] + residual @ inverse @ residual + n * math.log(2 * math.pi)
    return float(found + (math.log(precision) - math.log(2 * math.pi) if restricted else 0.0))


def average_information(
    value: np.ndarray, codes: Sequence[Sequence[int]], theta: Sequence[float], restricted: bool = True
) -> np.ndarray:
    """y'P V_j P V_k P y, the average of observed and expected information of −2 log L (Gilmour et al. 1995, eq. 7)."""
    n = len(value)
    inverse, one = np.linalg.inv(covariance(codes, theta)), np.ones((n, 1))
    projected = inverse - inverse @ one @ np.linalg.inv(one.T @ inverse @ one) @ one.T @ inverse
    parts = [np.array([[float(a == b) for b in code] for a in code]) for code in codes] + [np.eye(n)]
    inner = projected if restricted else inverse
    y = projected @ value
    return np.array([[y @ a @ inner @ b @ y for b in parts] for a in parts])


def d_study(variances: Mapping[str, float], object: str, sizes: Mapping[str, int]) -> tuple[float, float]:  # noqa: A002
    """Eρ² and Φ of means over other numbers (Brennan 2001, eq. 4.11 to 4.17), of a fully crossed design.

    Each effect is named by the letters of its facets; its variance is averaged over the levels of all but the object.
    """
    universe, relative, absolute = variances[object], 0.0, 0.0
    for effect, variance in variances.items():
        facets = effect.removesuffix(",e")
        if facets == object:
            continue
        part = variance / math.prod(sizes[f] for f in facets if f != object)
        absolute += part
        relative += part if object in facets else 0.0
    return universe / (universe + relative), universe / (universe + absolute)


# -- odd ones out -------------------------------------------------------------------------------------


def triplet_similarity(choices: Iterable[tuple[Sequence[str], int]]) -> dict[tuple[str, str], tuple[int, int]]:
    """How often each pair was kept together, and compared (Nam et al. 2025, eq. 1): {pair: (kept, compared)}.

    A choice is three texts and the place of the odd one.
    """
    kept: Counter[tuple[str, str]] = Counter()
    compared: Counter[tuple[str, str]] = Counter()
    for texts, odd in choices:
        for i, j in itertools.combinations(range(3), 2):
            first, second = sorted((texts[i], texts[j]))
            compared[first, second] += 1
            kept[first, second] += odd not in (i, j)
    return {pair: (kept[pair], number) for pair, number in compared.items()}


# -- probabilities by enumeration ---------------------------------------------------------------------


def outcomes(n: int) -> Iterator[tuple[int, int, int]]:
    """Wins, ties and losses of n items: every way to divide them."""
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            yield wins, n - wins - losses, losses


def multinomial(counts: Sequence[int], chances: Sequence[float]) -> float:
    """n! / (a! b! c!) · p^a q^b r^c."""
    ways = math.factorial(sum(counts))
    for number in counts:
        ways //= math.factorial(number)
    return ways * math.prod(p**number for p, number in zip(chances, counts, strict=True))


def level(rejects: Callable[[tuple[int, int, int]], bool], n: int, chances: Sequence[float]) -> float:
    """How often a test rejects, over every outcome of n items."""
    return sum(multinomial(one, chances) for one in outcomes(n) if rejects(one))


def exact_p(wins: int, ties: int, losses: int, epsilon: float, gamma: float, values: int) -> float:
    """P-value of H0: E[d] >= epsilon for differences of -1 (a win), 0 and 1, by Tango's score (Berger & Boos 1994).

    The largest probability of a score as low, over ``values`` discordances P(-1) + P(1) of the confidence set with
    error gamma that E[d] = epsilon allows; and gamma. As large, too, as that of any outcome with no fewer wins and no
    more losses.
    """
    n = wins + ties + losses
    scores = {one: round(_tango(one, epsilon), 9) for one in outcomes(n)}
    found = 0.0
    for at in outcomes(n):
        if at[0] < wins or at[2] > losses:
            continue
        b = at[0] + at[2]
        low = stats.beta.ppf(gamma / 2, b, n - b + 1) if b else 0.0
        high = stats.beta.ppf(1 - gamma / 2, b + 1, n - b) if b < n else 1.0
        as_low = np.array([one for one in scores if scores[one] <= scores[at]])
        for psi in np.linspace(max(low, abs(epsilon)), max(high, abs(epsilon)), values):
            chances = ((psi - epsilon) / 2, 1 - psi, (psi + epsilon) / 2)
            found = max(found, float(stats.multinomial.pmf(as_low, n, chances).sum()) + gamma)
    return min(found, 1.0)


def _tango(one: tuple[int, int, int], epsilon: float) -> float:
    """Tango's (1998) score: the mean difference minus epsilon over its standard error at a mean of epsilon."""
    wins, ties, losses = one
    n = wins + ties + losses
    b = wins + losses + epsilon * (losses - wins)
    c = epsilon * (wins - losses) + epsilon**2 * ties
    psi = min(max((b + math.sqrt(max(b * b + 4 * n * c, 0.0))) / (2 * n), abs(epsilon)), 1.0)
    above = losses - wins - n * epsilon
    return 0.0 if abs(above) < 1e-9 else above / math.sqrt(n * (psi - epsilon**2)) if psi > epsilon**2 else math.inf


# -- the alternative annotator test -------------------------------------------------------------------
#
# Calderon, Reichart & Dror (2025), as the paper words it. Scores are exact (fractions of the decimal numbers as they
# are written), so that a tie is a tie.

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
    return -Fraction(total) / sum(q for _, q in others)


@functools.cache
def _squared(label: Any, other: Any) -> int | Fraction:
    return (_exact(label) - _exact(other)) ** 2


def _exact(value: Any) -> int | Fraction:
    """As it is written; whole numbers stay such, with which sums are many times quicker."""
    found = Fraction(str(value))
    return int(found) if found.denominator == 1 else found


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
    weight = {name: _exact((quality or {}).get(name, 1)) for name in humans}
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
    # An item that belongs to two classes in halves is listed as two half items.
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


def chance_corrected(distance, first, second, part, same, weights=None):
    """A = 1 - observed / expected by loops over every two labels, items within parts (`replacement.item_agreement`).

    ``first`` and ``second`` are (items, annotators), NaN for a missing label; with ``same`` both are the same
    annotators, who are not compared with themselves.
    """
    weights = weights or (np.ones(first.shape[1]), np.ones(second.shape[1]))

    def between(i, other):
        mine, theirs = (np.flatnonzero(~np.isnan(row)) for row in (first[i], second[other]))
        total = much = 0.0
        for j in mine:
            for k in theirs:
                if not (same and j == k):
                    w = weights[0][j] / weights[0][mine].sum() * weights[1][k] / weights[1][theirs].sum()
                    total, much = total + w * distance(first[i, j], second[other, k]), much + w
        return total, much

    observed = expected = 0.0
    for one in np.unique(part):
        items = np.flatnonzero(part == one)
        far = many = 0.0
        for i in items:
            total, much = between(i, i)
            observed += total / much
            for other in items[items != i]:
                total, much = between(i, other)
                far, many = far + total, many + much
        expected += len(items) * (far / many if many else 0.0)
    return 1 - observed / expected


# -- opinions -----------------------------------------------------------------------------------------


def energy_terms(
    people: Sequence[float], probabilities: Mapping[float, float] | None, repeats: Sequence[float], far: Any
) -> tuple[float, float, float]:
    """a, h and s of one item, pair by pair; of a judge with probabilities, or with repeated labels."""
    h = [far(x, y) for i, x in enumerate(people) for j, y in enumerate(people) if i != j]
    if probabilities is not None:
        a = [sum(q * far(k, y) for k, q in probabilities.items()) for y in people]
        s = [sum(p * q * far(k, m) for k, p in probabilities.items() for m, q in probabilities.items())]
    else:
        a = [far(f, y) for f in repeats for y in people]
        s = [far(x, y) for i, x in enumerate(repeats) for j, y in enumerate(repeats) if i != j] or [0.0]
    return sum(a) / len(a), sum(h) / len(h), sum(s) / len(s)


def four_different(labels: Sequence[float], far: Any) -> float:
    """The mean of d(1, 2) d(3, 4) over four different labels, one by one."""
    found = [far(w, x) * far(y, z) for w, x, y, z in itertools.permutations(labels, 4)]
    return sum(found) / len(found)


# -- panels of judges ---------------------------------------------------------------------------------


def error_covariances(judges: np.ndarray, people: np.ndarray) -> np.ndarray:
    """C_jk = cov(f_j, f_k) − c_j − c_k + v, covariance by covariance; complete labels, (items, raters)."""
    size, m = judges.shape[1], people.shape[1]

    def cov(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.cov(x, y)[0, 1])

    c = [np.mean([cov(judges[:, j], people[:, r]) for r in range(m)]) for j in range(size)]
    v = np.mean([cov(people[:, r], people[:, s]) for r in range(m) for s in range(m) if r != s])
    return np.array([[cov(judges[:, j], judges[:, k]) - c[j] - c[k] + v for k in range(size)] for j in range(size)])


def squared_error_without(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """The squared error of a line at each item, fitted to the other items."""
    found = []
    for i in range(len(x)):
        others = [k for k in range(len(x)) if k != i]
        slope, intercept = np.polyfit([x[k] for k in others], [y[k] for k in others], 1)
        found.append(float((y[i] - slope * x[i] - intercept) ** 2))
    return found
