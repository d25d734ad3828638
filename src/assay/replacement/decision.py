"""From labels to win counts, and from win counts to the verdict: tests of each annotator, correction, verdict tests.

Tests are functions of the numbers of items on which the judge was closer, equally close and further than each annotator
(by class of the majority label if labels are balanced). They broadcast over leading axes: resamples, values of epsilon,
sizes. `WinCounts` has the counts of one judge and the results that follow from them; `win_counts` makes it in one pass
through the labels.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.data.annotations import Answers
from assay.data.ratings import LABELS
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimates, adjust_p, partial_conjunction
from assay.estimation.options import one_thread
from assay.estimation.resampling import Units, estimate_open, estimate_sums
from assay.estimation.result import Exclusion
from assay.estimation.statistic import Bools, Floats, Ints
from assay.replacement.panel import AltTestTable, HeadToHead, Rule, Test, labels_of
from assay.reporting.pictures import Tone
from assay.statistics.clusters import Clustering, clustering_of
from assay.statistics.copies import MatchTests, find_match
from assay.statistics.item_agreement import ItemLevelAgreement, item_level_agreement
from assay.statistics.panels import ConstantBaseline, Panel, are_few, closest_constant
from assay.statistics.wins import (
    EXACT,
    FEWEST_SUMMED,
    LOSS,
    MOST_SUMMED,
    WIN,
    AdvantageProbability,
    NeededEpsilon,
    Posterior,
    exact_below,
    exact_p,
    noninferior_p,
    robust_p,
    score,
)

T = TypeVar("T")

Verdict = Literal["replace", "do_not_replace", "mixed", "undecided", "not_testable"]

Reason = Literal[
    "worse_than_half", "agreement_ratio_too_low",
    "comparison_undecided", "too_few_items_per_annotator", "too_few_clusters", "item_level_agreement_undecided",
    "agreement_ratio_undecided", "human_agreement_undecided", "matches_one_annotator", "annotators_differ",
    "depends_on_column",
    "human_agreement_too_low",
]  # fmt: skip
"""Why a verdict is not *replace* or *mixed*: of *do_not_replace*, of *undecided* and of *not_testable*. Their
sentences are in `assay.replacement.words`."""

TONES: Mapping[Verdict, Tone] = {
    "replace": "good", "do_not_replace": "bad", "mixed": "split", "undecided": "open",
    "not_testable": "open",
}  # fmt: skip
"""The colour of each verdict, on cards and in every picture."""

TOLERANCE = 1e-9
"""Rounding error of a winning rate: weights .1, .1, .1 and .3 add up to slightly less than half."""

FLAT = 1e-12
"""A standard error up to this is rounding: all differences are equal."""

FEWEST = 10
"""Clusters that the verdict requires: a fault in one of five documents misses all of ten with probability .11."""

SMALL = 30
"""Below this number of items the published rule uses Wilcoxon's signed-rank test instead of the t-test (3.3)."""


def t_parts(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean difference d = rho_h − rho_f, its standard error and degrees of freedom: (..., annotators) each.

    Unbalanced: s² with n − 1 (section 3.3). Balanced: the weighted mean, s and effective sample size of
    C.1, with n_eff − 1 degrees of freedom (not specified in the paper).
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
    """Return the t statistic and the two one-sided p-values of each annotator: (..., annotators) each.

    The first p tests H0: rho_f <= rho_h − epsilon (the judge wins when rejected, section 3.3); the second
    the reverse, H0: rho_f >= rho_h − epsilon (the judge loses when rejected).

    If all differences are equal, the t statistic is undefined. The p-value is then exact: the largest probability under
    the null of the observed result on all n items, (1 − epsilon)^n for n ties. It is 1 at epsilon = 0 and decreases
    with n, whereas the limit of the t-test would be 0 for any n.

    With ``clustering`` the standard error is cluster-robust, and clusters are counted instead of items.
    """
    return _t_test(t_parts(counts), counts.sum(axis=(-1, -2)), epsilon, clustering)


def _t_test(
    parts: tuple[Floats, Floats, Floats], n: Floats, epsilon: float | Floats, clustering: Clustering | None
) -> tuple[Floats, Floats, Floats]:
    """Return `p_values` from the mean differences, their standard errors and degrees of freedom."""
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
        # The mirror image; ties are evidence against the reverse hypothesis only if epsilon is below 0.
        least = np.where(mean > 0.5, (1 + epsilon) / 2, 1 + epsilon)
        reverse = np.where(mean > epsilon, np.clip(least, 0, 1) ** n, 1.0)
        wins, loses = np.where(flat, exact, wins), np.where(flat, reverse, loses)
    untestable = (n < 1.5) | np.isnan(mean)  # shares of an item may sum to a rounding less than it
    if untestable.any():
        wins, loses = np.where(untestable, np.nan, wins), np.where(untestable, np.nan, loses)
    return statistic, wins, loses


def best_p(counts: Floats, epsilon: float, clustering: Clustering | None = None) -> tuple[Floats, Floats]:
    """Return the two one-sided p-values of the verdict: exact if items are independent and have equal weight.

    Clusters and classes of the majority label have a score test, `robust_p`. With fewer clusters than `FEWEST` p is 1.
    """
    if clustering is None:
        return exact_p(counts[..., 0, :], epsilon) if counts.shape[-2] == 1 else robust_p(counts, epsilon)
    effective = clustering.share * counts.sum(axis=(-1, -2))
    enough = (clustering.n_clusters >= FEWEST) & (effective > 1) & ~np.isnan(clustering.design)
    design, df = np.where(enough, clustering.design, 1.0), np.where(enough, effective - 1, 1.0)
    p, reverse = robust_p(counts, epsilon, design, df)
    return np.where(enough, p, 1.0), np.where(enough, reverse, 1.0)


def is_flat(error: Floats) -> Bools:
    """Return whether all differences are equal, so that the t statistic is undefined."""
    return np.asarray(error <= FLAT)


def one_sided(
    counts: Floats, epsilon: float | Floats, test: Test, clustering: Clustering | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return the statistic and the p-values of `p_values`, from t-tests or exact tests."""
    if test != "exact":
        return p_values(counts, epsilon, clustering)
    whole = counts[..., 0, :]
    statistic, _ = score(whole[..., WIN], whole[..., LOSS], whole.sum(axis=-1), np.asarray(epsilon, dtype=float))
    return statistic, *exact_p(whole, epsilon)


def winning_p(counts: Floats, epsilon: float | Floats, test: Test, clustering: Clustering | None = None) -> Floats:
    """Return the first p of `one_sided`, by which the judge wins, without computing the reverse."""
    if test != "exact":
        return p_values(counts, epsilon, clustering)[1]
    return exact_below(counts[..., 0, :], epsilon)


def uses_ranks(counts: Floats, test: Test) -> Bools:
    """Return which annotators have Wilcoxon's signed-rank test: those with few items, or all: (..., annotators)."""
    n = counts.sum(axis=(-1, -2))
    if counts.shape[-2] > 1 or test not in ("published", "wilcoxon"):
        return np.zeros(n.shape, dtype=bool)
    return np.asarray(~is_flat(t_parts(counts)[1]) & (n > 0) & ((test == "wilcoxon") | (n < SMALL)))


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
    rejected: Bools
    p_reverse: Floats
    rejected_reverse: Bools
    tests: tuple[str, ...]

    def part(self, which: slice) -> Decision:
        """Return the tests of some annotators, with the correction over all."""
        return Decision(
            self.statistic[which], self.p[which], self.p_adjusted[which], self.rejected[which],
            self.p_reverse[which], self.rejected_reverse[which], self.tests[which],
        )  # fmt: skip


def decide(counts: Floats, epsilon: float, fdr: float, test: Test, clustering: Clustering | None = None) -> Decision:
    """Test every annotator at one epsilon and correct across them (Benjamini-Yekutieli, C.5)."""
    n = counts.sum(axis=(-1, -2))
    if test == "exact":
        names = tuple("exact score" if k <= EXACT else "score" for k in n.tolist())
        return correct(*one_sided(counts, epsilon, test), fdr, names)
    parts = t_parts(counts)
    statistic, p, reverse = _t_test(parts, n, epsilon, clustering)
    flat = is_flat(parts[1]) & ~np.isnan(p)
    by_rank = np.zeros(len(p), dtype=bool) if clustering is not None else uses_ranks(counts, test)
    if by_rank.any():
        p[by_rank], reverse[by_rank] = wilcoxon_p(counts[by_rank, 0], epsilon)
        statistic[by_rank] = np.nan
    each = zip(flat.tolist(), by_rank.tolist(), strict=True)
    tests = tuple("exact" if f else "wilcoxon" if r else "t" for f, r in each)
    return correct(statistic, p, reverse, fdr, tests)


def correct(statistic: Floats, p: Floats, reverse: Floats, fdr: float, tests: tuple[str, ...]) -> Decision:
    """Reject with the false discovery rate controlled at ``fdr`` over the p-values."""
    adjusted = adjust_p(np.stack([p, reverse]))
    rejected, rejected_reverse = adjusted <= fdr  # NaN is not a hypothesis, and never rejected
    return Decision(statistic, p, adjusted[0], rejected, reverse, rejected_reverse, tests)


def winning_rate(rejected: Bools, quality: Floats) -> float:
    """Return omega, the share of annotators over which the judge wins, weighted by quality (3.3, C.4)."""
    if len(rejected) == 0:
        return math.nan
    return float((quality * rejected).sum() / quality.sum())


def passes(winning: float | Floats, threshold: float) -> Any:
    """Return whether a winning rate reaches the threshold, up to rounding; never if it is NaN."""
    return winning >= threshold - TOLERANCE


def by_rejects(p: Floats, fdr: float) -> Floats:
    """Return 1 for p-values that Benjamini-Yekutieli rejects along the last axis; NaN is not a hypothesis."""
    known = ~np.isnan(p)
    m = known.sum(axis=-1, keepdims=True)
    ranked = np.sort(np.where(known, p, np.inf), axis=-1)
    rank = np.arange(1, p.shape[-1] + 1)
    harmonic = np.concatenate([[1.0], np.cumsum(1.0 / rank)])[m]
    below = ranked <= rank * fdr / (np.maximum(m, 1) * harmonic)
    last = np.where(below.any(axis=-1), p.shape[-1] - np.argmax(below[..., ::-1], axis=-1), 0)
    cut = np.where(last > 0, np.take_along_axis(ranked, np.maximum(last - 1, 0)[..., None], axis=-1)[..., 0], -1.0)
    return (known & (np.where(known, p, np.inf) <= cut[..., None])).astype(float)


@dataclass(frozen=True)
class VerdictTests:
    """The p-values of the tests behind a verdict.

    Attributes
    ----------
    p_noninferior : float
        Of H0: the judge is as good, within the margin epsilon, as fewer than ``least`` of the annotators.
    p_worse : float
        Of H0: it is worse, beyond the margin, than fewer than ``least_worse`` of them.
    p_item_level : float
        Of H0: within some stratification its labels do not depend on the item.
    p_ratio_above : float
        Of H0: its agreement ratio R is ``min_agreement_ratio`` or less.
    p_ratio_below : float
        Of H0: R is ``min_agreement_ratio`` or more.
    annotators_agree : bool or None
        Whether agreement among annotators beyond chance is demonstrated; None if its upper confidence limit is below
        `NO_AGREEMENT`, so that no judge can be tested.
    matched_annotator : str or None
        The annotator whose labels the judge matches unusually often (`assay.statistics.copies`).
    least, least_worse : int
        The required numbers of annotators.
    alpha : float
        Level of each.
    groups : GroupTests or None
        The tests within two groups of annotators, if they are demonstrated.
    p_own_words : float
        Of item-level agreement and of the agreement ratio within a column of the labels' own words, the larger: such a
        column can be known without reading the items, or be the labels of an annotator. 0 without one.
    own_words : str
        The column.
    """

    p_noninferior: float
    p_worse: float
    p_item_level: float
    p_ratio_above: float
    p_ratio_below: float
    annotators_agree: bool | None
    matched_annotator: str | None
    least: int
    least_worse: int
    alpha: float
    groups: GroupTests | None = None
    p_own_words: float = 0.0
    own_words: str = ""

    @property
    def p_replace(self) -> float:
        """Of ``replace``, which requires all three: an intersection-union test, without correction."""
        return float(np.max([self.p_noninferior, self.p_item_level, self.p_ratio_above]))

    @property
    def ratio_too_low(self) -> bool:
        """Whether the agreement ratio is below the required one, given demonstrated agreement among annotators."""
        return self.annotators_agree is True and self.p_ratio_below <= self.alpha

    @property
    def verdict(self) -> Verdict:
        """The code of the verdict."""
        # Without demonstrated agreement among annotators, the agreement ratio is undecided on both sides.
        agree = self.annotators_agree is True
        p_agrees = max(self.p_item_level, self.p_ratio_above) if agree and self.matched_annotator is None else 1.0
        p_below = self.p_ratio_below if agree else 1.0
        found = VERDICTS[int(verdicts(self.p_noninferior, self.p_worse, p_agrees, p_below, self.alpha))]
        if found == "replace" and self.groups is not None:
            # As good as half of the annotators is not enough where two groups of them follow different truths.
            found = ("undecided", "mixed", "replace")[len(self.groups.noninferior_to(self.alpha))]
        if found == "replace" and self.p_own_words > self.alpha:
            found = "undecided"
        return "not_testable" if found == "undecided" and self.annotators_agree is None else found


@dataclass(frozen=True)
class GroupTests:
    """Two groups of annotators who agree more within than between, and whether the judge is as good as each group.

    Attributes
    ----------
    first, second : tuple of str
        The annotators of each group.
    p : float
        Of H0: one truth explains the agreement among annotators (`assay.statistics.copies.find_groups`).
    p_first, p_second : float
        Of H0: the judge is not as good, within the margin epsilon, as each annotator of the group, compared with the
        rest of the group; Holm-adjusted for the two groups.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    p: float
    p_first: float
    p_second: float

    def noninferior_to(self, alpha: float) -> list[tuple[str, ...]]:
        """Return the groups that the judge is as good as."""
        each = ((self.first, self.p_first), (self.second, self.p_second))
        return [group for group, p in each if p <= alpha]


VERDICTS: tuple[Verdict, ...] = ("replace", "do_not_replace", "mixed", "undecided")


def verdicts(
    p_noninferior: float | Floats,
    p_worse: float | Floats,
    p_agrees: float | Floats,
    p_ratio_below: float | Floats,
    alpha: float,
) -> NDArray[np.int64]:
    """Return the verdict from its p-values, as its position in `VERDICTS`; NaN is not significant.

    ``p_agrees`` is the larger p-value of item-level agreement and agreement ratio. A judge whose agreement ratio is
    below the required one does not replace an annotator, even if it is non-inferior to some.
    """
    with np.errstate(invalid="ignore"):
        as_good, worse, agrees, below = (
            np.asarray(p) <= alpha for p in (p_noninferior, p_worse, p_agrees, p_ratio_below)
        )
    undecided = np.where(as_good & agrees, 0, 3)
    return np.where(below, 1, np.where(worse, np.where(as_good, 2, 1), undecided))


def conjunctions(p: Floats, reverse: Floats, quality: Floats, threshold: float) -> tuple[Floats, Floats, Ints, Ints]:
    """Return the partial conjunctions over annotators: as good as, and worse than, at least half (Simes' form).

    Parameters
    ----------
    p, reverse : (..., annotators) float
        NaN for annotators who are not tested.
    quality : (..., annotators) float
        Their weights.
    threshold : float
        The required share of annotators; at least half for the test that the judge is worse.

    Returns
    -------
    p_noninferior, p_worse : (...) float
    least, least_worse : (...) int
        The number of annotators that always has this share of the weight.
    """
    tested, same = ~np.isnan(p), quality.size > 0 and bool((quality == quality.flat[0]).all())
    # With equal weights only the number of tested annotators matters: a row for each number, for any number of studies.
    weight = quality.flat[0] * np.tri(p.shape[-1] + 1, p.shape[-1], -1) if same else np.where(tested, quality, 0.0)
    held = np.cumsum(np.sort(weight, axis=-1), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        held = held / held[..., -1:]
    # Annotators who are not tested come first and have no weight.
    none = np.count_nonzero(weight == 0, axis=-1)
    least, least_worse = (
        np.count_nonzero(held < share - TOLERANCE, axis=-1) + 1 - none for share in (threshold, max(threshold, 0.5))
    )
    if same:
        number = np.count_nonzero(tested, axis=-1)
        least, least_worse = least[number], least_worse[number]
    return partial_conjunction(p, least), partial_conjunction(reverse, least_worse), least, least_worse


NO_AGREEMENT = 0.2
"""If agreement beyond chance is not demonstrated and the upper limit of A is below this, no judge is testable: half of
such agreement cannot be distinguished from none with any feasible number of items."""


def verdict_tests_of(
    p: Floats, reverse: Floats, item_level: ItemLevelAgreement, quality: Floats, threshold: float, alpha: float,
    *, outcome: Floats | None = None, epsilon: float = 0.0, matched: str | None = None,
    groups: GroupTests | None = None,
) -> VerdictTests:  # fmt: skip
    """Return the tests behind the verdict on one judge."""
    stratum, noninferior, worse, least, least_worse = item_level.for_people, math.nan, math.nan, 0, 0
    if len(p):
        _, p_worse, needed, needed_worse = conjunctions(p, reverse, quality, threshold)
        worse, least, least_worse = float(p_worse), int(needed), int(needed_worse)
        noninferior = noninferior_p(p, least, outcome, epsilon)
    agree: bool | None = stratum.p_agreement <= alpha
    if not agree and stratum.pseudo is not None and stratum.agreement(1, 1 - 2 * alpha).high < NO_AGREEMENT:
        agree = None
    return VerdictTests(
        p_noninferior=noninferior,
        p_worse=worse,
        p_item_level=item_level.p_item_level,
        p_ratio_above=item_level.p_ratio_above,
        p_ratio_below=item_level.p_ratio_below,
        annotators_agree=agree,
        matched_annotator=matched,
        groups=groups,
        p_own_words=item_level.by_own_words[0],
        own_words=item_level.by_own_words[1],
        least=least,
        least_worse=least_worse,
        alpha=alpha,
    )


def adjust_verdict_tests(each: Sequence[VerdictTests]) -> list[VerdictTests]:
    """Return the tests of several verdicts, Holm-adjusted for their number.

    *Replace* requires three tests of a judge, so that Holm's method is applied to the largest of their p-values, and
    the others are multiplied by the same number. Adjusted one by one, two judges that fail different tests would have
    a probability of almost twice alpha of a false *replace*.
    """
    largest = np.array([one.p_replace for one in each])
    adjusted = adjust_p(largest, "holm")
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(largest > 0, adjusted / largest, np.where(np.isnan(largest), 1.0, len(each)))
    names = ("p_noninferior", "p_worse", "p_ratio_below")
    alone = {name: adjust_p(np.array([getattr(one, name) for one in each]), "holm").tolist() for name in names}
    found = []
    for i, one in enumerate(each):
        times = float(factor[i])
        known = {
            name: min(times * getattr(one, name), 1.0) for name in ("p_item_level", "p_ratio_above", "p_own_words")
        }
        noninferior = one.p_noninferior
        if not math.isnan(noninferior):
            noninferior = max(min(1.0, times * noninferior), alone["p_noninferior"][i])
        groups = one.groups
        if groups is not None:
            groups = replace(
                groups, p_first=min(1.0, times * groups.p_first), p_second=min(1.0, times * groups.p_second)
            )  # fmt: skip
        worse = {name: alone[name][i] for name in ("p_worse", "p_ratio_below")}
        found.append(replace(one, p_noninferior=noninferior, groups=groups, **known, **worse))
    return found


# -- the win counts of one judge ----------------------------------------------------------------------

Shapes = tuple[tuple[int, ...], ...]

OPTIMAL = -1
"""The code of the optimal judge of theorem 1, which is not in the table."""

FACTS = ("few", "missing", "unasked", "items", "labels")
"""Further counts: items with too few human labels, without the judge, without humans; compared items and labels."""


@dataclass(frozen=True, eq=False)
class WinCounts:
    """One judge against the annotators of a table, summed over items.

    Attributes
    ----------
    table : AltTestTable
    name : str
    code : int
        The judge's position among the annotators, or `OPTIMAL`.
    by_unit : (units, humans, classes, 3) float
        Wins, ties and losses by resampling unit; one unit without intervals.
    facts : (5,) int
        See `FACTS`.
    """

    table: AltTestTable
    name: str
    code: int
    by_unit: Floats
    facts: Ints

    @cached_property
    def all_counts(self) -> Floats:
        """Wins, ties and losses over each annotator: (humans, classes, 3)."""
        return np.asarray(self.by_unit.sum(axis=0))

    @cached_property
    def n(self) -> Ints:
        """Comparable items of each annotator: (humans,)."""
        return np.asarray(np.rint(self.all_counts.sum(axis=(1, 2))), dtype=np.int64)

    @cached_property
    def tested(self) -> Ints:
        """The annotators with enough items: (m,)."""
        return np.flatnonzero(self.n >= max(self.table.settings.min_items, 2))

    @property
    def n_compared(self) -> int:
        """The number of annotators with a comparable item."""
        return int(np.count_nonzero(self.n))

    @property
    def few_tested(self) -> bool:
        """Whether the tested annotators are too few of all for a verdict (`are_few`)."""
        tested = np.zeros(len(self.n), dtype=bool)
        tested[self.tested] = True
        return bool(are_few(self.n, tested))

    @cached_property
    def counts(self) -> Floats:
        """Wins, ties and losses over the tested annotators: (m, classes, 3)."""
        return self.all_counts if len(self.tested) == len(self.n) else self.all_counts[self.tested]

    @cached_property
    def units(self) -> Floats:
        """Win counts of each resampling unit: (units, m · classes · 3)."""
        kept = self.by_unit if len(self.tested) == len(self.n) else self.by_unit[:, self.tested]
        return kept.reshape(len(kept), -1)

    @cached_property
    def n_labels(self) -> int:
        """The number of compared labels of the tested annotators."""
        return int(self.n[self.tested].sum())

    @cached_property
    def n_items(self) -> int:
        """The number of items with a comparison of a tested annotator."""
        if len(self.tested) == np.count_nonzero(self.n):
            return int(self.facts[FACTS.index("items")])
        if not len(self.tested):
            return 0
        compared = self.compared
        mine = np.isin(compared.panel.annotator[compared.row], self.tested)
        return int(np.count_nonzero(np.bincount(compared.panel.item[compared.row[mine]])))

    @property
    def items_without_judge(self) -> int:
        """Items with enough human labels and none of the judge."""
        return int(self.facts[FACTS.index("missing")])

    @property
    def items_without_humans(self) -> int:
        """Items with a label of the judge and none of an annotator."""
        return int(self.facts[FACTS.index("unasked")])

    @cached_property
    def judge(self) -> Floats:
        """The judge's label of each item, in memory: (items,)."""
        if self.code == OPTIMAL:
            return _optimal(self.table.rule, self.table.panel)
        return labels_of(self.table.ratings.answers, self.code)

    @cached_property
    def compared(self) -> HeadToHead:
        """Every comparison, in memory: for curves, clusters and paired annotators."""
        return self.table.rule.compare(self.table.panel, self.judge)

    @cached_property
    def clustering(self) -> Clustering | None:
        """The effect of clusters on the tests; None for independent items, or without a tested annotator."""
        clusters = self.table.ratings.clusters
        return None if clusters is None or not len(self.tested) else self.clustering_by(clusters)

    def clustering_by(self, clusters: Ints) -> Clustering:
        """Return the effect of clusters, (items,), on the tests."""
        compared = self.compared
        position = np.full(len(self.table.humans), -1)
        position[self.tested] = np.arange(len(self.tested))
        used = compared.where(position[compared.panel.annotator[compared.row]] >= 0)
        annotator = position[used.panel.annotator[used.row]]
        cluster, error = clusters[used.panel.item[used.row]], t_parts(self.counts)[1]
        return clustering_of(self.counts, error, annotator, cluster, used.sign, used.shares)

    @cached_property
    def decided(self) -> Decision:
        """The tests of all annotators together."""
        s = self.table.settings
        return decide(self.counts, s.tolerance, s.fdr, s.test, self.clustering)

    @cached_property
    def verdict_p(self) -> tuple[Floats, Floats]:
        """The p-values of the verdict on both sides: exact, or robust with clusters or classes: (m,) each."""
        s = self.table.settings
        return best_p(self.counts, s.tolerance, self.clustering)

    @cached_property
    def item_agreement(self) -> ItemLevelAgreement:
        """Item-level agreement and agreement ratio, within each stratification."""
        s, table = self.table.settings, self.table.item_level_table
        if self.code == OPTIMAL:
            judge = _optimal(table.rule, table.panel)
        else:
            judge = labels_of(table.ratings.answers, self.code)
        return item_level_agreement(
            table.score, table.panel, table.rule.usable_labels(table.panel, judge), table.strata,
            table.ratings.clusters, s.min_agreement_ratio, s.seed, table.known.design, table.known.own_words,
        )  # fmt: skip

    @cached_property
    def match_tests(self) -> MatchTests:
        """Whether the judge's labels repeat those of one annotator; not with a reference instead of the others."""
        table = self.table.item_level_table
        if table.settings.fixed_reference:
            return MatchTests(None)
        judge = _optimal(table.rule, table.panel) if self.code == OPTIMAL else labels_of(table.given, self.code)
        return find_match(table.given_labels, judge, table.orders_labels)

    @cached_property
    def matched(self) -> str | None:
        """The annotator whose labels the judge matches unusually often."""
        j = self.match_tests.repeated
        return None if j is None else self.table.humans[j]

    @cached_property
    def group_tests(self) -> GroupTests | None:
        """The tests within two groups of annotators who agree more within than between; None without such groups."""
        table = self.table
        groups = table.groups
        if groups is None or groups.p > table.settings.alpha or self.code == OPTIMAL:
            return None
        p = []
        for left_out in (groups.second, groups.first):
            part = table
            for j in sorted(left_out, reverse=True):
                part = part.without(j)
            each = win_counts(part, [(self.name, self.code)])[0].verdict_p[0]
            p.append(float(each.max()) if len(each) == len(part.humans) else 1.0)
        first, second = adjust_p(np.array(p), "holm").tolist()
        names = [tuple(table.humans[j] for j in group) for group in (groups.first, groups.second)]
        return GroupTests(names[0], names[1], groups.p, first, second)

    @cached_property
    def outcome(self) -> Floats | None:
        """1 if the judge is closer, 0 for a tie, -1 if the annotator is, by item and tested annotator: (items, m).

        None with clusters, classes or labels in chunks, or for numbers of annotators whose sums are not tested.
        """
        table, m = self.table, len(self.tested)
        if table.ratings.clusters is not None or table.settings.balance or table.ratings.in_chunks:
            return None
        if not FEWEST_SUMMED <= m <= MOST_SUMMED:
            return None
        compared, position = self.compared, np.full(len(table.humans), -1)
        position[self.tested] = np.arange(m)
        annotator = position[compared.panel.annotator[compared.row]]
        found = np.full((compared.panel.n_items, m), np.nan)
        found[compared.panel.item[compared.row][annotator >= 0], annotator[annotator >= 0]] = compared.sign[
            annotator >= 0
        ]
        return found

    @cached_property
    def verdict_tests(self) -> VerdictTests:
        """The p-values behind the verdict; computed on access, since exact tests take longer than the rest."""
        s = self.table.settings
        found = verdict_tests_of(
            *self.verdict_p, self.item_agreement, self.quality, s.threshold, s.level, outcome=self.outcome,
            epsilon=s.tolerance, matched=self.matched, groups=self.group_tests,
        )  # fmt: skip
        return replace(found, p_noninferior=1.0, p_worse=1.0) if len(self.tested) and self.few_tested else found

    @cached_property
    def constant_baseline(self) -> ConstantBaseline | None:
        """The constant label that is closest to the annotators; None for texts and labels in chunks."""
        table = self.table
        if table.ratings.in_chunks:
            return None
        rule, panel = table.rule, table.panel
        judge = rule.usable_labels(panel, self.judge)
        return closest_constant(rule.score, panel, judge, lambda value: rule.label_names(np.array([value]))[0])

    @property
    def quality(self) -> Floats:
        """Weight of each tested annotator: (m,)."""
        return self.table.rule.quality[self.tested]

    def estimate(self) -> Estimates | None:
        """Return rho and every rho_f with their intervals; None without a tested annotator."""
        if not len(self.tested):
            return None
        statistic = AdvantageProbability(len(self.tested))
        return estimate_sums(
            statistic, self.units, self.table.settings, unit=self.table.units.name, transform=statistic.transforms
        )  # fmt: skip

    def exclusions(self) -> tuple[Exclusion, ...]:
        """Return the excluded items and annotators, counted, with the reason."""
        s = self.table.settings
        few = "a label of one annotator only" if s.min_humans == 2 else f"fewer than {s.min_humans} human labels"
        reasons = ("no reference label" if s.fixed_reference else few, "no label of the judge", "no human label")
        found = [Exclusion("item", int(k), why) for k, why in zip(self.facts.tolist(), reasons, strict=False) if k]
        if self.table.n_copied:
            found.append(Exclusion("item", self.table.n_copied, "a copy of another item: equal text and labels"))
        if len(self.tested) < len(self.n):
            left = np.setdiff1d(np.arange(len(self.n)), self.tested)
            names = tuple(f"{self.table.humans[j]} with {self.n[j]}" for j in left)
            why = f"fewer than {s.min_items} comparable items"
            why += "; not tested, but among the others" if len(self.tested) else ""
            found.append(Exclusion("annotator", len(left), why, names))
        return tuple(found)


# -- the smallest passing margin and the parity margin --------------------------------------------------


def winning_at(test: WinCounts, epsilons: Floats, among: Sequence[WinCounts] = ()) -> Floats:
    """Return the winning rate at each epsilon, corrected together with the tests in ``among``: (values,)."""
    together = among or (test,)
    mine = next(i for i, one in enumerate(together) if one is test)
    p = np.concatenate([_winning_p_at(one, epsilons) for one in together], axis=1)
    start = sum(len(one.tested) for one in together[:mine])
    rejected = by_rejects(p, test.table.settings.fdr)[:, start : start + len(test.tested)]
    return np.asarray(rejected @ (test.quality / test.quality.sum()))


def _winning_p_at(test: WinCounts, epsilons: Floats) -> Floats:
    """Return the p-value of each annotator by which the judge wins, at each epsilon: (values, annotators)."""
    p = winning_p(test.counts[None], epsilons[:, None], test.table.settings.test, test.clustering)
    for j in np.flatnonzero(np.array(test.decided.tests) == "wilcoxon"):
        p[:, j] = wilcoxon_p(test.counts[j, 0], epsilons)[0]
    return p


def smallest_epsilon(test: WinCounts, among: Sequence[WinCounts] = ()) -> float:
    """Return the smallest epsilon at which the published rule passes; NaN if it does not pass at 1.

    If the test is corrected together with those in ``among``, epsilon is the same for all of them.
    """
    s = test.table.settings

    def passing(epsilons: Floats) -> Bools:
        return np.asarray(passes(winning_at(test, epsilons, among), s.threshold))

    if not len(test.tested):
        return math.nan
    # omega never decreases with epsilon. Six rounds of 32 steps at once give nine digits; exact tests cost by their
    # number, so that bisection is used for six digits.
    parts, rounds = (2, 20) if s.test == "exact" else (32, 6)
    steps = parts**rounds
    likely = np.clip(np.ceil(_passing_from(test, among) * steps), 1, steps)
    at_0, at_1, *around = passing(np.array([0.0, 1.0, (likely - 1) / steps, likely / steps][: 2 if parts == 2 else 4]))
    if at_0 or not at_1:
        return 0.0 if at_0 else math.nan
    if around == [False, True]:
        return float(likely / steps)
    low, high = 0.0, 1.0
    for _ in range(rounds):
        tried = np.linspace(low, high, parts + 1)
        first = int(np.argmax(np.append(passing(tried[1:-1]), True)))
        low, high = float(tried[first]), float(tried[first + 1])
    return high


def _passing_from(test: WinCounts, among: Sequence[WinCounts]) -> float:
    """Return the smallest epsilon at which t-tests pass, from quantiles of t; 1 for other or jointly corrected tests.

    An annotator's p is at most c if epsilon is at least d − t_c · se. Benjamini and Yekutieli reject p-values up to
    c_r = r q / (m Σ 1/i) if r annotators have them.
    """
    from scipy.special import stdtrit

    if among or set(test.decided.tests) != {"t"}:
        return 1.0
    (mean, error, df), m = t_parts(test.counts), len(test.tested)
    if test.clustering is not None:
        error, df = error * test.clustering.inflation, (df + 1) * test.clustering.share - 1
    rank = np.arange(1, m + 1)
    level = rank * test.table.settings.fdr / (m * np.sum(1 / rank))
    least = mean - error * stdtrit(df, level[:, None])
    order = np.argsort(least, axis=1)
    enough = passes(np.cumsum(test.quality[order], axis=1) / test.quality.sum(), test.table.settings.threshold)
    needed = np.maximum(np.argmax(enough, axis=1), rank - 1)
    found = float(least[rank - 1, order[rank - 1, needed]].min())
    return found if math.isfinite(found) else 1.0


_NEEDED: dict[bytes, Estimates] = {}


def needed_epsilon(test: WinCounts) -> Estimates:
    """Return the parity margin: the epsilon at which the judge equals half of the annotators, with its interval."""
    s, unit = test.table.settings, test.table.units.name
    statistic = NeededEpsilon(test.quality, s.threshold)
    if test.table.ratings.clusters is not None:
        return estimate_sums(statistic, test.units, s, unit=unit)
    units = test.units.reshape(len(test.units), len(test.tested), -1, 3)

    def drawn(n: int) -> Floats:
        left = Posterior.of(units, test.n_items)
        return left.truths(n, np.random.default_rng(s.seed)) @ left.rows.reshape(len(left.rows), -1)

    how = (s.method, s.n_resamples, s.confidence, s.seed, unit, test.n_items)
    key = content_key(statistic, test.units, how)
    return remember(_NEEDED, key, lambda: estimate_open(statistic, test.units, drawn, s, unit=unit))


REMEMBERED = 256
"""Results that are cached for tests of the same counts: all judges of a large study, some kilobytes each."""


def remember(known: dict[bytes, T], key: bytes, make: Callable[[], T]) -> T:
    """Return the cached result of this key, or compute it."""
    if key not in known:
        if len(known) >= REMEMBERED:
            known.clear()
        with one_thread():
            known[key] = make()
    return known[key]


def content_key(*parts: object) -> bytes:
    """Return a key that is the same for equal arrays and numbers."""
    mixed = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            mixed.update(f"{part.shape}{part.dtype}".encode() + part.tobytes())
        elif is_dataclass(part):
            mixed.update(content_key(*(getattr(part, f.name) for f in fields(part))))
        else:
            mixed.update(f"{part!r};".encode())
    return mixed.digest()


# -- win counts from the labels --------------------------------------------------------------------


def win_counts(table: AltTestTable, judges: Sequence[tuple[str, int]], *, shared: bool = False) -> list[WinCounts]:
    """Return the win counts of judges, by name and code, in one read of the labels.

    ``shared`` omits the items that one of the judges did not label.
    """
    codes = tuple(code for _, code in judges)
    m, c = len(table.humans), table.n_classes
    units = Units(np.zeros(table.ratings.n_items, dtype=np.int64), 1, "items")
    if table.settings.method != "none":
        units = table.units
    # The optimal judge draws tied majorities for all items at once; the cached values of a panel serve all judges.
    whole = table.whole or OPTIMAL in codes or (not table.ratings.in_chunks and table.ratings.n_labels <= LABELS)
    shapes = (len(codes), units.n, m, c, 3), (len(codes), len(FACTS))
    reduce = partial(_count_slice, table.rule, codes, shared, table.panel if whole else None, shapes)
    if whole:
        found = reduce(table.ratings.answers, units.of_item)
    elif table.ratings.in_chunks or _uses_workers():
        found = table.ratings.add_up(reduce, units, 1)
    else:
        # One table for all slices: a table for each slice, and their sum, would take half of the time.
        found = np.zeros(sum(math.prod(shape) for shape in shapes))
        for read, first, last in table.ratings.slices(1):
            reduce(read(), units.of_item[first:last], found)
    wins, facts = _parts(found, shapes)
    counted = np.rint(facts).astype(np.int64)
    found_all = [WinCounts(table, name, code, wins[i], counted[i]) for i, (name, code) in enumerate(judges)]
    if table.settings.balance:
        for one in found_all:
            _refuse_small_classes(one)
    return found_all


def _uses_workers() -> bool:
    """Return whether the caller uses several joblib workers."""
    from joblib.parallel import get_active_backend

    return get_active_backend()[1] not in (None, 1)


def _refuse_small_classes(found: WinCounts) -> None:
    """Refuse classes with too few items for equal weights."""
    table, least = found.table, found.table.settings.min_class
    items = found.counts.sum(axis=2)
    small = np.argwhere((items < least - 1e-9) & (items.sum(axis=0) > 0))
    if not len(small):
        return
    names = listing(list(dict.fromkeys(f"'{table.classes[c]}'" for _, c in small)), 4)
    who, which = small[np.argmin([items[j, c] for j, c in small])]
    raise DesignError(
        f"balanced labels require at least {least} items per label. Too few have {names}: '{table.classes[which]}' is "
        f"the majority of the other labels on {items[who, which]:.3g} items of '{table.humans[found.tested[who]]}'. "
        "Label more items with these labels, merge rare labels, or omit the option balance; min_class=... lowers the "
        "limit"
    )


def _parts(flat: Floats, shapes: Shapes) -> list[Floats]:
    """Return the consecutive arrays of a flat one, as views that can be filled."""
    edges = itertools.accumulate((math.prod(shape) for shape in shapes), initial=0)
    return [flat[a:b].reshape(shape) for (a, b), shape in zip(itertools.pairwise(edges), shapes, strict=True)]


def _count_slice(
    rule: Rule, codes: tuple[int, ...], shared: bool, whole: Panel | None, shapes: Shapes, answers: Answers,
    unit: Ints, into: Floats | None = None,
) -> Floats:  # fmt: skip
    """Return win counts by judge and unit, then facts, as one flat array; or add them to ``into``."""
    panel = rule.panel_of(answers) if whole is None else whole
    found = np.zeros(sum(math.prod(shape) for shape in shapes)) if into is None else into
    wins, facts = _parts(found, shapes)
    n_units, m = shapes[0][1:3]
    labelled, usable = panel.people > 0, rule.usable(panel.people, panel.reference)
    judges = (_optimal(rule, panel) if code == OPTIMAL else labels_of(answers, code) for code in codes)
    for i, judge in enumerate(_where_all_are_known(list(judges)) if shared else judges):
        compared = rule.compare(panel, judge)
        item = panel.item[compared.row]
        group = (unit[item] * m + panel.annotator[compared.row]) if n_units > 1 else panel.annotator[compared.row]
        compared.counts(group, n_units * m, into=wins[i].reshape(n_units * m, *wins.shape[3:]))
        unknown = np.isnan(judge)
        there = np.zeros(panel.n_items, dtype=bool)
        there[item] = True
        each = (labelled & ~usable, usable & unknown, ~labelled & ~unknown, there)
        facts[i] += [float(np.count_nonzero(f)) for f in each] + [len(item)]
    return found


def _where_all_are_known(judges: Sequence[Floats]) -> list[Floats]:
    """Return the labels of each judge, NaN where one of them has none."""
    absent = np.isnan(judges).any(axis=0)
    return [np.where(absent, np.nan, judge) for judge in judges]


def _optimal(rule: Rule, panel: Panel) -> Floats:
    labels = rule.score.optimal(panel, np.random.default_rng(rule.settings.seed))
    assert labels is not None
    return labels
