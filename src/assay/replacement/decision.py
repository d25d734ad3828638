"""From win counts to the verdict: the test of each annotator, the correction, the winning rate.

Everything here is a function of how often the judge was closer, equally close and farther (`wins`, `ties`,
`losses`) than each annotator, so it broadcasts over leading axes: resamples, values of epsilon, sizes.

With balancing weights (Calderon et al. 2025, appendix C.1) counts are kept by class of the majority label,
because inverse probability weights make every mean a mean over classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.estimation.multiplicity import adjust_p
from assay.estimation.statistic import Floats
from assay.replacement.settings import Test
from assay.statistics.wins import LOSS, WIN

Verdict = Literal["replace", "do not replace", "cannot tell yet"]

SMALL = 30
"""Below this many items the t-test's normality is in doubt and Wilcoxon's signed-rank test is used (3.3)."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """How much less items of shared clusters say than as many independent ones: arrays (annotators,).

    Attributes
    ----------
    inflation : float
        Cluster-robust standard error of the mean difference over the one that takes items as independent.
    share : float
        Clusters per item.
    """

    inflation: Floats
    share: Floats

    @classmethod
    def of(
        cls, counts: Floats, annotator: NDArray[np.int64], cluster: NDArray[np.int64], influence: Floats
    ) -> Clustering:
        """From what each comparison adds to its annotator's mean difference, less its share of the mean.

        Sums of ``influence`` over clusters, squared and summed, are the robust variance, with U / (U − 1) for U
        clusters; with clusters of one item it is s² / n.
        """
        m = len(counts)
        sums = np.bincount(cluster * m + annotator, influence).reshape(-1)
        held = np.bincount(cluster * m + annotator) > 0
        who = np.arange(len(sums)) % m
        n_clusters = np.bincount(who[held], minlength=m)
        _, error, _ = t_parts(counts)
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.bincount(who, sums**2, m) * n_clusters / (n_clusters - 1)
            inflation = np.where(error > 1e-12, np.sqrt(variance) / error, 1.0)
            return cls(inflation, n_clusters / counts.sum(axis=(1, 2)))


def t_parts(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean difference d = rho_h − rho_f, its standard error and degrees of freedom: (..., annotators) each.

    Unbalanced: s² with n − 1 (section 3.3). Balanced: the weighted mean, s and effective sample size of
    C.1, with n_eff − 1 degrees of freedom, which the paper leaves open.
    """
    n = counts.sum(axis=-1)
    wins, losses = counts[..., WIN], counts[..., LOSS]
    with np.errstate(invalid="ignore", divide="ignore"):
        if counts.shape[-2] == 1:
            n, wins, losses = n[..., 0], wins[..., 0], losses[..., 0]
            mean = (losses - wins) / n
            variance = np.maximum((losses + wins) - n * mean**2, 0.0) / (n - 1)
            return mean, np.sqrt(variance / n), n - 1
        total = n.sum(axis=-1)
        weight = np.where(n > 0, total[..., None] / n, 0.0)
        weights = (weight * n).sum(axis=-1)
        mean = (weight * (losses - wins)).sum(axis=-1) / weights
        variance = np.maximum((weight * (losses + wins)).sum(axis=-1) / weights - mean**2, 0.0)
        effective = weights**2 / (weight**2 * n).sum(axis=-1)
        return mean, np.sqrt(variance / effective), effective - 1


def p_values(
    counts: Floats, epsilon: float | Floats, clustering: Clustering | None = None
) -> tuple[Floats, Floats, Floats]:
    """t statistic and the two one-sided p-values of each annotator: (..., annotators) each.

    The first p tests H0: rho_f <= rho_h − epsilon (the judge wins when rejected, section 3.3); the second
    the reverse, H0: rho_f >= rho_h − epsilon (the judge loses when rejected).

    Where all differences are equal the t statistic is undefined. The p-value is then exact: the largest
    probability, under the null, that all n items come out as they did, (1 − epsilon)^n for n ties. It is
    1 at epsilon = 0 and falls with n, where the limit of the t-test would claim certainty from any n.

    With ``clustering`` the standard error is the cluster-robust one and clusters are counted, not items.
    """
    return _p_values(t_parts(counts), counts.sum(axis=(-1, -2)), epsilon, clustering)


def _p_values(
    parts: tuple[Floats, Floats, Floats], n: Floats, epsilon: float | Floats, clustering: Clustering | None
) -> tuple[Floats, Floats, Floats]:
    """`p_values` from the mean differences, their standard errors and degrees of freedom."""
    from scipy.special import stdtr

    mean, error, df = parts
    if clustering is not None:
        error, df, n = error * clustering.inflation, (df + 1) * clustering.share - 1, n * clustering.share
    flat = is_flat(error) & (n > 0)
    any_flat = flat.any()
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.asarray((mean - epsilon) / error)
        if any_flat:
            statistic[np.broadcast_to(flat, statistic.shape)] = np.nan
        wins, loses = stdtr(df, statistic), stdtr(df, -statistic)
    if any_flat:
        epsilon = np.asarray(epsilon, dtype=float)
        # A difference that is always 0 (or −1), though its mean is epsilon or more: P(d > 0) >= epsilon.
        largest = np.where(mean < -0.5, (1 - epsilon) / 2, 1 - epsilon)
        exact = np.where(mean < epsilon, np.clip(largest, 0, 1) ** n, 1.0)
        # The mirror image; ties alone speak against the reverse hypothesis only where epsilon is below 0.
        least = np.where(mean > 0.5, (1 + epsilon) / 2, 1 + epsilon)
        reverse = np.where(mean > epsilon, np.clip(least, 0, 1) ** n, 1.0)
        wins, loses = np.where(flat, exact, wins), np.where(flat, reverse, loses)
    untestable = (n < 1.5) | np.isnan(mean)  # shares of an item may sum to a rounding less than it
    if untestable.any():
        wins, loses = np.where(untestable, np.nan, wins), np.where(untestable, np.nan, loses)
    return statistic, wins, loses


def is_flat(error: Floats) -> NDArray[np.bool_]:
    """Where all differences are equal, so that the t statistic is undefined."""
    return np.asarray(error <= 1e-12)


def wilcoxon_p(counts: Floats, epsilon: float | Floats) -> tuple[Floats, Floats]:
    """The two one-sided p-values of the signed-rank test of d − epsilon: counts (..., 3), (...) each.

    Differences take three values only, so there are ties among the ranks and exact tables do not apply: the
    normal approximation with the correction for ties, zeros left out, as ``scipy.stats.wilcoxon`` has it.
    """
    from scipy.special import ndtr

    shifted = np.array([-1.0, 0.0, 1.0]) - np.asarray(epsilon, dtype=float)[..., None]
    n = np.where(shifted == 0, 0.0, counts)
    size = np.abs(shifted)
    equal = size[..., :, None] == size[..., None, :]
    smaller = size[..., :, None] > size[..., None, :]
    tied = (equal * n[..., None, :]).sum(axis=-1)
    rank = (smaller * n[..., None, :]).sum(axis=-1) + (tied + 1) / 2
    total = n.sum(axis=-1)
    above = (n * rank * (shifted > 0)).sum(axis=-1) - total * (total + 1) / 4
    # The sum of t³ − t over groups of t equal sizes, each group's share taken by its members.
    variance = total * (total + 1) * (2 * total + 1) / 24 - (n * (tied**2 - 1)).sum(axis=-1) / 48
    with np.errstate(invalid="ignore", divide="ignore"):
        z = above / np.sqrt(variance)
    return np.where(total > 0, ndtr(z), 1.0), np.where(total > 0, ndtr(-z), 1.0)


@dataclass(frozen=True, eq=False)
class Decision:
    """Tests of all annotators together, arrays (annotators,)."""

    statistic: Floats
    p: Floats
    p_adjusted: Floats
    rejected: NDArray[np.bool_]
    p_reverse: Floats
    rejected_reverse: NDArray[np.bool_]
    tests: tuple[str, ...]

    def part(self, which: slice) -> Decision:
        """The tests of some annotators; the correction stays that of all."""
        return Decision(
            self.statistic[which], self.p[which], self.p_adjusted[which], self.rejected[which],
            self.p_reverse[which], self.rejected_reverse[which], self.tests[which],
        )  # fmt: skip


def decide(counts: Floats, epsilon: float, fdr: float, test: Test, clustering: Clustering | None = None) -> Decision:
    """Test every annotator at one epsilon and correct across them (Benjamini-Yekutieli, C.5)."""
    parts = t_parts(counts)
    n = counts.sum(axis=(-1, -2))
    statistic, p, reverse = _p_values(parts, n, epsilon, clustering)
    flat = is_flat(parts[1]) & ~np.isnan(p)
    ranked = np.zeros(len(p), dtype=bool)
    if counts.shape[-2] == 1 and clustering is None:
        ranked = ~flat & ((test == "wilcoxon") | ((test == "auto") & (n < SMALL)))
    if ranked.any():
        p[ranked], reverse[ranked] = wilcoxon_p(counts[ranked, 0], epsilon)
        statistic[ranked] = np.nan
    each = zip(flat.tolist(), ranked.tolist(), strict=True)
    tests = tuple("exact" if f else "wilcoxon" if r else "t" for f, r in each)
    return correct(statistic, p, reverse, fdr, tests)


def correct(statistic: Floats, p: Floats, reverse: Floats, fdr: float, tests: tuple[str, ...]) -> Decision:
    """Reject with the false discovery rate held at ``fdr`` over the p-values given."""
    adjusted = adjust_p(np.stack([p, reverse]))
    rejected, rejected_reverse = adjusted <= fdr  # NaN is no hypothesis, and never rejected
    return Decision(statistic, p, adjusted[0], rejected, reverse, rejected_reverse, tests)


def winning_rate(rejected: NDArray[np.bool_], quality: Floats) -> float:
    """omega, the share of annotators over whom the judge wins, weighted by quality (3.3, C.4)."""
    if len(rejected) == 0:
        return float("nan")
    return float((quality * rejected).sum() / quality.sum())


def rates(
    counts: Floats, epsilon: float | Floats, fdr: float, quality: Floats, clustering: Clustering | None = None
) -> tuple[Floats, Floats]:
    """omega and its reverse by t-tests, over leading axes: (..., annotators, classes, 3) -> (...,) each."""
    _, p, reverse = p_values(counts, epsilon, clustering)
    weight = quality / quality.sum()
    return by_rejects(p, fdr) @ weight, by_rejects(reverse, fdr) @ weight


def by_rejects(p: Floats, fdr: float) -> Floats:
    """1 where Benjamini-Yekutieli rejects along the last axis; NaN is no hypothesis."""
    known = ~np.isnan(p)
    m = known.sum(axis=-1, keepdims=True)
    ranked = np.sort(np.where(known, p, np.inf), axis=-1)
    rank = np.arange(1, p.shape[-1] + 1)
    harmonic = np.concatenate([[1.0], np.cumsum(1.0 / rank)])[m]
    below = ranked <= rank * fdr / (np.maximum(m, 1) * harmonic)
    last = np.where(below.any(axis=-1), p.shape[-1] - np.argmax(below[..., ::-1], axis=-1), 0)
    cut = np.where(last > 0, np.take_along_axis(ranked, np.maximum(last - 1, 0)[..., None], axis=-1)[..., 0], -1.0)
    return (known & (np.where(known, p, np.inf) <= cut[..., None])).astype(float)


def verdict_of(winning: float, losing: float, threshold: float) -> Verdict:
    """Replace, do not replace (shown not), or cannot tell yet (not shown)."""
    if winning >= threshold:
        return "replace"
    return "do not replace" if losing >= max(threshold, 0.5) else "cannot tell yet"
