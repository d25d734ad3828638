"""The difference estimator: the human mean, corrected by the judge's mean over all items and over the labelled items.

For m annotators with equal weights,

    θ = 1/m Σ_r [ȳ_r + λ (f̄ − f̄_r)],

where ȳ_r is the mean label of annotator r, f̄_r the judge's mean on the same items, and f̄ the judge's mean on all
items. With one label per item this is prediction-powered inference with a tuned weight (PPI++, Angelopoulos, Duchi &
Zrnic 2023); with a judge of 0 and 1 it is post-stratification on its label. This module has only arrays; labels become
arrays in `assay.estimates.checked`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from assay.estimation.intervals import EstimateByRule, p_of_ends
from assay.estimation.statistic import Floats, Ints

LEAST_ITEMS = 4
"""Least labelled items for an interval: a fitted line uses two, and one degree of freedom must remain."""

LEAST_SHARED = 10
"""Least items that two annotators share for the covariance of their residuals in the finite-population correction. With
fewer the covariance is mostly noise, and omitting it only widens the interval."""

FEW_OFF = 5
"""Numbers have the interval of a share if fewer items than this differ from the most frequent label."""

SCATTERED = 0.9
"""Least clusters with labelled items, as a share of the number expected for a random sample of items, for which
labelled items count as scattered. A sample of whole clusters with a tenth of the items is in a tenth of the
clusters."""

Ends = Callable[[float], tuple[float, float]]


def sum_at(codes: Ints, values: Floats, n: int = 0) -> Floats:
    """Sum values by code: (k,) and (k,) -> (n,), or the number of codes."""
    return np.asarray(np.bincount(codes, values, n), dtype=float)


@dataclass(frozen=True, eq=False)
class Checked:
    """The human-labelled items and their sampling design.

    Attributes
    ----------
    row, person : (labels,) int
        The labelled item, 0 to n − 1, and the annotator, 0 to m − 1, of each label.
    weight : (n,) float
        The inverse sampling probability of an item, up to a factor.
    n_people : int
    n_all : int
        Items in all, N.
    cluster : (n,) int, optional
        The cluster of each labelled item; `cluster_sizes` counts all items of each.
    stratum : (n,) int, optional
        The stratum of each labelled item; `stratum_sizes` counts all items of each.
    finite : bool
        Whether the mean is for these N items only.
    """

    row: Ints
    person: Ints
    weight: Floats
    n_people: int
    n_all: int
    cluster: Ints | None = None
    cluster_sizes: Ints | None = None
    stratum: Ints | None = None
    stratum_sizes: Ints | None = None
    finite: bool = False

    @property
    def n(self) -> int:
        """The number of labelled items."""
        return len(self.weight)

    @property
    def complete(self) -> bool:
        """Whether every annotator labelled every item, so that the judge's mean on them is that on all."""
        return len(self.row) == self.n_people * self.n_all

    @cached_property
    def loads(self) -> Ints:
        """Labelled items, or clusters of labelled items, of each annotator: (m,)."""
        if self.clustered is None:
            return np.bincount(self.person, minlength=self.n_people)
        pairs = np.unique(np.stack([self.person, self.clustered[self.row]]), axis=1)
        return np.bincount(pairs[0], minlength=self.n_people)

    @cached_property
    def share(self) -> Floats:
        """The weight of each label in the mean: (labels,); the weights sum to 1."""
        w = self.weight[self.row]
        return np.asarray(w / (self.n_people * self.sum_by_person(np.ones(len(w))))[self.person])

    def sum_by_person(self, values: Floats) -> Floats:
        """Sum labels by annotator, weighted by 1/probability: (labels,) -> (m,)."""
        return sum_at(self.person, self.weight[self.row] * values, self.n_people)

    def by_item(self, values: Floats) -> Floats:
        """Sum labels by item: (labels,) -> (n,)."""
        return sum_at(self.row, values, self.n)

    def mean_by_person(self, values: Floats) -> Floats:
        """Return the mean label of each annotator: (labels,) -> (m,)."""
        return np.asarray(self.sum_by_person(values) / self.sum_by_person(np.ones(len(values))))

    @cached_property
    def whole(self) -> bool:
        """Whether every cluster with a labelled item is labelled whole."""
        if self.cluster is None or self.cluster_sizes is None:
            return False
        labelled = np.bincount(self.cluster, minlength=len(self.cluster_sizes))
        return bool((labelled[labelled > 0] == self.cluster_sizes[labelled > 0]).all())

    @cached_property
    def scattered(self) -> bool:
        """Whether labelled items are distributed over the clusters like a random sample of items."""
        if self.cluster is None or self.cluster_sizes is None:
            return False
        touched = len(np.unique(self.cluster))
        expected = len(self.cluster_sizes) - ((1 - self.n / max(self.n_all, 1)) ** self.cluster_sizes).sum()
        return bool(touched >= SCATTERED * expected) and not self.whole

    @cached_property
    def clustered(self) -> Ints | None:
        """The clusters of the design; None for a sample of items of a finite population."""
        return None if self.finite and self.scattered else self.cluster

    def apart(self, e: Floats) -> tuple[Floats, Floats | None]:
        """Return the contributions of labelled items to the error within their strata, (n,), and the contribution of
        the stratum of any item, (strata,): its mean residual over N. Without strata, e and None."""
        if self.stratum is None or self.stratum_sizes is None:
            return e, None
        h, sizes = self.stratum, self.stratum_sizes
        number, total = np.bincount(h, minlength=len(sizes)), sum_at(h, e, len(sizes))
        # The variance of a stratum with one labelled item cannot be estimated; its residual is used unchanged.
        more = number[h] > 1
        factor = np.sqrt(number / np.maximum(number - 1.0, 1.0))
        centred = np.where(more, (e - (total / np.maximum(number, 1))[h]) * factor[h], e)
        return centred, total / np.maximum(sizes, 1)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom: the effective number of labelled items minus two, or of clusters minus one."""
        a = self.by_item(self.share)
        if self.clustered is not None:
            a = sum_at(self.clustered, a)
        return max(float(np.sum(a**2) ** 2 / np.sum(a**4)) - (2 if self.clustered is None else 1), 0.5)


@dataclass(frozen=True, eq=False)
class JudgeMean:
    """The labels of a judge, or a prediction, on all items.

    Attributes
    ----------
    row : (n,) float
        On the labelled items.
    mean, variance : float
        On all items.
    cluster_sums : (clusters,) float, optional
        Label minus mean, summed over all items of each cluster.
    everywhere : (items,) float, optional
        On all items, if these are stored one by one.
    """

    row: Floats
    mean: float
    variance: float
    cluster_sums: Floats | None = None
    everywhere: Floats | None = None


@dataclass(frozen=True, eq=False)
class Corrected:
    """A mean that is corrected for the judge's errors, with its variance.

    Attributes
    ----------
    value, variance : float
        For these annotators.
    by_person : (m,) float
        The corrected mean of each annotator.
    weight : float
        λ.
    n : int
        Labelled items.
    df : float
        Degrees of freedom of the variance.
    item_means : (n,) float
        The human mean of each labelled item.
    item_weights : (n,) float
        The inverse sampling probability of each, up to a factor.
    by_label : (labels,) float
        The contribution of each label to the error, before the judge's mean on all items.
    contributions : (n,) float
        The same of each labelled item.
    """

    value: float
    variance: float
    by_person: Floats
    weight: float
    n: int
    df: float
    item_means: Floats
    item_weights: Floats
    by_label: Floats
    contributions: Floats

    @property
    def between(self) -> float:
        """Variance of the mean over a population of annotators; NaN for one annotator."""
        m = len(self.by_person)
        return float(np.var(self.by_person, ddof=1)) / m if m > 1 else math.nan


def slope(checked: Checked, y: Floats, f: Floats) -> tuple[Floats, Floats]:
    """Return the contributions of items to the human mean and to the judge's: u and v of the weight λ = Σuv / Σv²."""
    dy = y - checked.mean_by_person(y)[checked.person]
    on = f[checked.row]
    dv = on - checked.mean_by_person(on)[checked.person]
    return checked.by_item(checked.share * dy), checked.by_item(checked.share * dv)


def tune_lambda(u: Floats, v: Floats, *, clip: bool) -> float:
    """Return λ = Σuv / Σv²; for a single judge 0 unless it is better than chance, for a prediction between 0 and 1.

    u and v are (items,) or (items, labels): one λ for all labels keeps the sum of their shares at 1. An uninformative
    judge with a free λ makes the interval up to 1.03 times as wide as without the judge. With λ = 0 unless F = r² (n −
    2) / (1 − r²) is above 1, it is at most 1.005 times as wide (12 cells of 400 studies), with the same coverage.
    """
    uv, vv, uu = float((u * v).sum()), float((v * v).sum()), float((u * u).sum())
    if vv <= 0 or uu <= 0:
        return 0.0
    r2 = min(uv * uv / (uu * vv), 1.0)
    if clip:
        return min(max(uv / vv, 0.0), 1.0)
    return uv / vv if r2 * (len(u) - 2) > 1 - r2 else 0.0


def difference(checked: Checked, y: Floats, judged: JudgeMean, weight: float) -> Corrected:
    """Return the corrected mean of labels y, (labels,), with a weight of the judge; 0 for humans only."""
    m, row, person = checked.n_people, checked.row, checked.person
    on = judged.row[row]
    y_mean, f_mean = checked.mean_by_person(y), checked.mean_by_person(on)
    by_person = y_mean + weight * (judged.mean - f_mean)
    residual = y - y_mean[person] - weight * (on - f_mean[person])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.sqrt(checked.loads / (checked.loads - 1.0))
    by_label = checked.share * residual * np.where(np.isfinite(factor), factor, 1.0)[person]
    e = checked.by_item(by_label)
    line = _line(checked, judged, f_mean, on, weight)
    return Corrected(
        value=float(by_person.mean()),
        variance=max(_variance(checked, judged, weight, e, residual, line), 0.0),
        by_person=by_person,
        weight=weight,
        n=checked.n,
        df=checked.df,
        item_means=checked.by_item(y) / np.maximum(np.bincount(row, minlength=checked.n), 1),
        item_weights=checked.weight,
        by_label=by_label,
        contributions=e,
    ) if m else _no_estimate()  # fmt: skip


def _no_estimate() -> Corrected:
    none = np.empty(0)
    return Corrected(math.nan, math.nan, none, 0.0, 0, 0.0, none, none, none, none)


def _line(checked: Checked, judged: JudgeMean, f_mean: Floats, on: Floats, weight: float) -> float:
    """The variance of a fitted line at the judge's mean on all items, relative to that of a mean.

    (n − 1) / (n − 2) · [1 + (f̄ − f̄_L)² / (n Σv²)]: without it 30 labelled items cover .93 instead of .945.
    """
    n = checked.n
    if weight == 0 or n < 3:
        return 1.0
    v = checked.by_item(checked.share * (on - f_mean[checked.person]))
    off = judged.mean - float(f_mean.mean())
    return (n - 1) / (n - 2) * (1 + off**2 / max(n * float(v @ v), 1e-300))


def _variance(
    checked: Checked, judged: JudgeMean, weight: float, e: Floats, residual: Floats, line: float
) -> float:  # fmt: skip
    """The variance of the estimator, from the contributions of items."""
    n_all = checked.n_all
    moved = weight * (judged.row - judged.mean) / n_all
    if checked.stratum is not None:
        return _stratum_variance(checked, judged, weight, e, line)
    if checked.clustered is not None:
        return _cluster_variance(checked, judged, weight, e, line)
    within = line * float(e @ e)
    if checked.finite:
        return within - line * _shared_variance(checked, residual) / n_all
    return within + weight**2 * judged.variance / n_all + 2 * float(e @ moved)


def _shared_variance(checked: Checked, residual: Floats) -> float:
    """Variance of the mean residual of these annotators on one item: (1/m²) Σ cov of the residuals of each pair."""
    m = checked.n_people
    cells, there = np.zeros((2, checked.n, m))
    cells[checked.row, checked.person] = residual
    there[checked.row, checked.person] = 1.0
    w = checked.weight[:, None]
    number, mass = there.T @ there, (w * there).T @ there
    with np.errstate(divide="ignore", invalid="ignore"):
        cov = (w * cells).T @ cells / mass * (number / (number - 1))
    known = (number >= LEAST_SHARED) | (np.eye(m, dtype=bool) & (number > 1))
    return max(float(np.where(known, np.nan_to_num(cov), 0.0).sum()) / m**2, 0.0)


def _cluster_variance(checked: Checked, judged: JudgeMean, weight: float, e: Floats, line: float) -> float:
    """The variance if clusters are sampled, whole or in part; the judge's labels of a cluster are sampled with it."""
    assert checked.clustered is not None
    assert checked.cluster_sizes is not None
    n_clusters = len(checked.cluster_sizes)
    labelled = np.bincount(checked.clustered, minlength=n_clusters) > 0
    phi = sum_at(checked.clustered, e, n_clusters)
    if checked.finite and checked.whole:
        return line * float(phi @ phi) * (1 - int(labelled.sum()) / n_clusters)
    if judged.cluster_sums is not None:
        phi = phi + weight * judged.cluster_sums / checked.n_all
    squared = phi**2
    return line * float(squared[labelled].sum()) + float(squared[~labelled].sum())


def _stratum_variance(checked: Checked, judged: JudgeMean, weight: float, e: Floats, line: float) -> float:
    """The variance if items are sampled within strata of known sizes: strata do not add sampling error."""
    assert checked.stratum is not None
    assert checked.stratum_sizes is not None
    sizes = checked.stratum_sizes.astype(float)
    centred, each = checked.apart(e)
    assert each is not None
    squares = sum_at(checked.stratum, centred**2, len(sizes))
    if checked.finite:
        drawn = np.bincount(checked.stratum, minlength=len(sizes))
        return line * float((squares * (1 - drawn / np.maximum(sizes, 1))).sum())
    between = float((sizes * each**2).sum())
    moved = weight * (judged.row - judged.mean) / checked.n_all
    return line * float(squares.sum()) + between + weight**2 * judged.variance / checked.n_all + 2 * float(e @ moved)


# -- intervals -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeanSpread:
    """The variance of an estimate, for its interval at any level.

    Attributes
    ----------
    value, variance, df : float
        ``value ± t √variance`` for an unbounded number.
    n : int
        Labelled items.
    bounds : (float, float) or None
        Ends of a share, or of a scale, whose interval is a score interval; None for a number.
    seen : float
        Labelled items on the rarer side (Σ of their means, or of 1 minus these), each by its part of squared weights.
    own : float
        The human mean on the labelled items.
    between : float
        Variance of the mean between annotators; 0 if they are fixed.
    n_people : int
    design : float
        The variance of a mean with the sampling weights over that with equal ones (Kish).
    """

    value: float
    variance: float
    df: float
    n: int
    bounds: tuple[float, float] | None = None
    seen: float = math.inf
    own: float = math.nan
    between: float = 0.0
    n_people: int = 1
    design: float = 1.0

    @classmethod
    def of(
        cls, found: Corrected, bounds: tuple[float, float] | None, *, random: bool, score: bool | None = None
    ) -> MeanSpread:
        """Return the spread of a corrected mean; ``score`` forces or forbids the score interval."""
        means = found.item_means
        made = cls(
            found.value, found.variance, found.df, found.n, own=float(means.mean()) if len(means) else 0.0,
            between=found.between if random else 0.0, n_people=len(found.by_person),
        )  # fmt: skip
        if bounds is None:
            return made
        low, high = bounds
        inside, w = (means - low) / (high - low), found.item_weights
        part = len(w) * w**2 / max(float(w @ w), 1e-300)
        seen = float(min(part @ inside, part @ (1 - inside)))
        if score is None:
            value, number = np.unique(means, return_counts=True)
            common = number.max(initial=0)
            score = len(means) - common < FEW_OFF
            seen = min(seen, float(part[means != value[number.argmax()]].sum()) if len(means) else 0.0)
        design = len(w) * float(w @ w) / max(float(w.sum()) ** 2, 1e-300)
        return replace(made, bounds=bounds, seen=seen, design=design) if score else made

    def ends(self, level: float) -> tuple[float, float]:
        """Return the interval at a level."""
        t = float(stdtrit(self.df, (1 + level) / 2))
        t_people = float(stdtrit(self.n_people - 1, (1 + level) / 2)) if self.between else 0.0
        if self.bounds is None:
            half = math.sqrt(t**2 * self.variance + t_people**2 * self.between)
            return self.value - half, self.value + half
        return self._score(t, t_people)

    def _score(self, t: float, t_people: float) -> tuple[float, float]:
        """Wilson's interval with a design effect that is shrunk to that of the weights by one observation.

        κ = n V / (p (1 − p)), κ' = (k κ + max(d, κ)) / (k + 1), with k labels on the rarer side and d = n Σw² / (Σw)²:
        for k = 0 and equal weights, κ' = 1, and the interval is Wilson's of n items. Of six methods only this one had
        the stated coverage in every cell with fewer than five expected labels (normal and t: .64 to .86). With strata
        of the judge's label, 100 labelled of 1,000 and a share of .05, the coverage is .98; with plain counts .70.
        """
        assert self.bounds is not None
        low, high = self.bounds
        span = high - low
        p = min(max((self.value - low) / span, 0.0), 1.0)
        own = min(max((self.own - low) / span, 0.0), 1.0)
        # A corrected share at or beyond an end has no binomial variance; a quarter of the variance of the human share
        # keeps the design effect finite.
        coin = max(p * (1 - p), own * (1 - own) / 4, 1e-12)
        kappa = self.n * self.variance / span**2 / coin if self.variance else 0.0
        k = self.seen
        pulled = (k * kappa + max(self.design, kappa)) / (k + 1) if math.isfinite(k) else kappa
        q = t**2 * pulled / self.n + t_people**2 * self.between / span**2 / coin
        centre, half = (p + q / 2) / (1 + q), math.sqrt(q * p * (1 - p) + q**2 / 4) / (1 + q)
        return low + span * max(centre - half, 0.0), low + span * min(centre + half, 1.0)

    def estimate(self, confidence: float, tests: int = 1) -> EstimateByRule:
        """Return the estimate with its interval, simultaneous for several estimates (Bonferroni)."""

        def ends(level: float) -> tuple[float, float]:
            return self.ends(1 - (1 - level) / tests)

        error = math.sqrt(self.variance + self.between)
        return EstimateByRule(
            self.value, *ends(confidence), error, ends=ends, test=lambda null: min(tests * self.p(null), 1.0)
        )

    def p(self, null: float) -> float:
        """Return the two-sided p-value: 1 minus the level at which the interval ends at the null."""
        if self.variance + self.between <= 0 and self.bounds is None:
            return math.nan
        return p_of_ends(self.ends, self.value, null)
