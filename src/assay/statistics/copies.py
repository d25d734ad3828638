"""Does a judge repeat one annotator, and do annotators form groups? From chance-corrected agreement of pairs.

With c_ab the share of items on which a and b give equal labels, minus the sum over labels of the product of their
shares, and r the other annotators: if one truth causes all agreement and errors are independent, c_Jj · c_rr =
c_Jr · c_jr for any quality of judge J and annotators. A judge that has seen j's labels makes the left side larger.
Annotators who differ in care satisfy the equation; groups of annotators who follow different truths do not, so that
`find_match` asks `find_groups` as well. Error rates and power are in docs/type-one-error.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from assay.estimation.statistic import Bools, Floats, Ints

LEVEL = 0.05
"""Level of the test of each annotator."""

FEWEST_ALONE = 4
"""Items on which an annotator gives a label alone, against others who agree, that a match requires."""

MOSTLY = 0.8
"""Share of these items on which a judge that matches the annotator gives the label."""

LEANING = 1 / 3
"""Share of these items above which (exact binomial test at `LEVEL_OF_LEANING`) a judge sides with the annotator."""

LEVEL_OF_LEANING = 0.01

FEWEST_UNITS = 8
"""Items or clusters that a jackknife requires."""

MOST_DF, MOST_GROUPED = 60, 8
"""Degrees of freedom are at most the first; groups are searched among at most the second number of annotators."""

TWO_ERRORS = 2.0
"""Jackknife errors that the agreement among the others must exceed; otherwise an annotator cannot be tested."""

SIMILAR = 0.8
"""Agreement between groups of annotators is compared with the geometric mean of agreement within, times the square root
of this: annotators of one truth who use the scale differently stay below it."""

MatchKind = Literal["match", "equal", "sides_with", "closer"]
Untestable = Literal["two_annotators", "others_do_not_agree"]


@dataclass(frozen=True)
class AnnotatorMatch:
    """An annotator to whose labels a judge is closer than agreement with the others explains.

    Attributes
    ----------
    annotator : int
        Position of the annotator.
    kind : str
        ``match``: the judge gives the annotator's label on at least 80% of the items on which no other does, so that
        these labels may have been shown to it. ``sides_with``: on more than half of them. ``closer``: no item has
        labels of two other annotators, so that the annotator cannot be alone against others. ``equal``: it gives equal
        labels where two annotators rarely do, as for texts.
    p : float
        Of H0: agreement with the others explains it; not adjusted for the number of annotators.
    n_alone, n_given : int
        Items on which only this annotator gives the label while several others agree on another one (for ``equal``, the
        items of both); and on how many of these the judge gives it.
    """

    annotator: int
    kind: MatchKind
    p: float
    n_alone: int
    n_given: int


@dataclass(frozen=True)
class MatchTests:
    """Tests of a judge against each annotator.

    Attributes
    ----------
    found : AnnotatorMatch or None
        The annotator with the smallest p-value among those with the strongest kind of match.
    repeated : int or None
        The position of the annotator whose labels the judge is said to match: the kinds ``match`` and ``equal``.
    untestable : str or None
        Why no annotator can be tested: ``two_annotators`` (fewer than two others), ``others_do_not_agree`` (agreement
        among the others is not demonstrated for any annotator).
    """

    found: AnnotatorMatch | None
    untestable: Untestable | None = None

    @property
    def repeated(self) -> int | None:
        """The annotator whose labels the judge matches."""
        return self.found.annotator if self.found is not None and self.found.kind in ("match", "equal") else None


@dataclass(frozen=True)
class Groups:
    """A division of the annotators into two groups that agree more within than between.

    Attributes
    ----------
    first, second : tuple of int
        Positions of the annotators.
    p : float
        Of H0: one truth explains the agreement; adjusted for the number of divisions (Bonferroni).
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    p: float


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of annotators, one row per label, at most one per item and annotator.

    Attributes
    ----------
    item, annotator : (labels,) int
    value : (labels,) float
        Equal numbers are equal labels.
    unit : (items,) int
        The unit of each item that the jackknife leaves out: the item, or its cluster.
    n_annotators : int
    """

    item: Ints
    annotator: Ints
    value: Floats
    unit: Ints
    n_annotators: int

    @cached_property
    def code(self) -> Ints:
        """The position of each label among the distinct labels."""
        return np.unique(self.value, return_inverse=True)[1].reshape(-1)

    def with_judge(self, judge: Floats) -> Labels:
        """Return the labels with those of a judge, (items,), as the last annotator."""
        known = np.flatnonzero(~np.isnan(judge))
        return Labels(
            np.concatenate([self.item, known]),
            np.concatenate([self.annotator, np.full(len(known), self.n_annotators)]),
            np.concatenate([self.value, judge[known]]),
            self.unit,
            self.n_annotators + 1,
        )

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the rows of every two labels of an item, the smaller annotator first."""
        order = np.lexsort((self.annotator, self.item))
        item = self.item[order]
        size = np.bincount(item, minlength=len(self.unit))[item]
        after = np.searchsorted(item, item) + size - np.arange(len(item)) - 1
        first = np.repeat(np.arange(len(item)), after)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
        return order[first], order[second]


@dataclass(frozen=True, eq=False)
class _PairRows:
    """Each item of each pair of raters that share it.

    Attributes
    ----------
    a, b : (rows,) int
        The labels of both raters.
    of_row, cell : (rows,) int
        The pair of each row, and the cell: a pair in a unit.
    pair : (pairs,) int
        The first rater times the number of raters, plus the second.
    of_pair, of_unit : (cells,) int
    """

    a: Ints
    b: Ints
    of_row: Ints
    cell: Ints
    pair: Ints
    of_pair: Ints
    of_unit: Ints
    n_raters: int
    n_units: int

    @classmethod
    def of(cls, labels: Labels) -> _PairRows:
        """Return the pairs of labels of one item."""
        a, b = labels.pairs()
        pair, of_row = np.unique(labels.annotator[a] * labels.n_annotators + labels.annotator[b], return_inverse=True)
        unit = np.unique(labels.unit[labels.item[a]], return_inverse=True)[1].reshape(-1)
        n_units = int(unit.max(initial=-1)) + 1
        key, cell = np.unique(of_row * max(n_units, 1) + unit, return_inverse=True)
        of_pair, of_unit = divmod(key, max(n_units, 1))
        return cls(a, b, of_row, cell, pair, of_pair, of_unit, labels.n_annotators, n_units)

    def sums(self, number: Floats, total: Floats, fewer: Floats, less: Floats) -> PairSums:
        """Return the sums of each pair, and what each cell takes from them."""
        first, second = divmod(self.pair, self.n_raters)
        return PairSums(first, second, number, total, self.of_pair, self.of_unit, fewer, less, self.n_units)


@dataclass(frozen=True, eq=False)
class PairSums:
    """n · c of every pair of raters that share items, whole and as changed by each unit.

    Attributes
    ----------
    first, second : (pairs,) int
        The raters of each pair.
    number, total : (pairs,) float
        Shared items n, and n · c.
    of_pair, of_unit : (changes,) int
        Pair and unit of each change; units are numbered from 0.
    fewer, less : (changes,) float
        The shared items of the unit, and the amount by which n · c decreases without it.
    n_units : int
    """

    first: Ints
    second: Ints
    number: Floats
    total: Floats
    of_pair: Ints
    of_unit: Ints
    fewer: Floats
    less: Floats
    n_units: int

    @classmethod
    def of(cls, labels: Labels) -> PairSums:
        """Return the sums of equal labels beyond chance."""
        rows = _PairRows.of(labels)
        a, b, of_row, cell, of_pair = rows.a, rows.b, rows.of_row, rows.cell, rows.of_pair
        code, k = labels.code, int(labels.code.max(initial=0)) + 1
        equal = (code[a] == code[b]).astype(float)
        number = np.bincount(of_row).astype(float)
        keys_a, many_a = np.unique(of_row * k + code[a], return_counts=True)
        keys_b, many_b = np.unique(of_row * k + code[b], return_counts=True)
        products = _products(keys_a, many_a, keys_b, many_b, k, len(number))
        same = np.bincount(of_row, equal)
        # Labels of a whose value is that of b on the row's item, and the reverse: what a row takes from the products.
        theirs = _found(keys_a, many_a, of_row * k + code[b]) + _found(keys_b, many_b, of_row * k + code[a])
        fewer = np.bincount(cell).astype(float)
        inside_a, inside_b = (np.unique(cell * k + code[own], return_counts=True) for own in (a, b))
        both = _products(inside_a[0], inside_a[1], inside_b[0], inside_b[1], k, len(of_pair))
        left = number[of_pair] - fewer
        rest = products[of_pair] - np.bincount(cell, theirs) + both
        with np.errstate(divide="ignore", invalid="ignore"):
            total = same - products / number
            without = same[of_pair] - np.bincount(cell, equal) - np.where(left > 0, rest / left, 0.0)
        return rows.sums(number, total, fewer, total[of_pair] - without)

    @classmethod
    def of_numbers(cls, labels: Labels) -> PairSums:
        """Return the same of numbers, with their covariance as c: equal labels are rare on a fine scale."""
        rows = _PairRows.of(labels)
        value = labels.value - labels.value.mean()
        first, second = value[rows.a], value[rows.b]
        each = np.ones(len(first)), first, second, first * second
        whole: Floats = np.stack([np.bincount(rows.of_row, one) for one in each])
        inside: Floats = np.stack([np.bincount(rows.cell, one) for one in each])

        def total(sums: Floats) -> Floats:
            number, first, second, both = sums
            return np.asarray(both - first * second / np.maximum(number, 1.0))

        found = total(whole)
        without = total(whole[:, rows.of_pair] - inside)
        return rows.sums(whole[0], found, inside[0], found[rows.of_pair] - without)

    @cached_property
    def everyone(self) -> Floats:
        """n and n · c summed over all pairs, whole and without each unit: (2, 1 + units)."""
        return self._sum(slice(None), slice(None))

    def agreement(self, pairs: Bools) -> Floats:
        """Return the mean of c over these pairs of raters, (pairs,), whole and without each unit: (1 + units,).

        Each pair counts by its items minus one, so that pairs of few items have the same expectation.
        """
        counted = pairs & (self.number > 1)
        number, total = self._sum(counted, np.flatnonzero(counted[self.of_pair]))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / (number - np.count_nonzero(counted)))

    def with_rater(self, rater: int) -> Floats:
        """Return the sums over the pairs of a rater: (2, 1 + units)."""
        start, end = np.searchsorted(self._rater_of_change[0], [rater, rater + 1])
        pairs = (self.first == rater) | (self.second == rater)
        return self._sum(pairs, self._rater_of_change[1][start:end])

    def of_both(self, first: int, second: int) -> Floats:
        """Return the sums of one pair of raters: (2, 1 + units)."""
        pairs = (self.first == first) & (self.second == second)
        return self._sum(pairs, np.flatnonzero(pairs[self.of_pair]))

    @cached_property
    def _rater_of_change(self) -> tuple[Ints, Ints]:
        """The rater of each change, sorted, and the change; each change has two raters."""
        rater = np.concatenate([self.first[self.of_pair], self.second[self.of_pair]])
        order = np.argsort(rater, kind="stable")
        return rater[order], order % max(len(self.of_pair), 1)

    def _sum(self, pairs: Any, changes: Any) -> Floats:
        unit = self.of_unit[changes]
        found = np.empty((2, 1 + self.n_units))
        for row, (whole, change) in zip(found, ((self.number, self.fewer), (self.total, self.less)), strict=True):
            row[0] = whole[pairs].sum()
            row[1:] = row[0] - np.bincount(unit, change[changes], self.n_units)
        return found


def _products(keys_a: Ints, many_a: Ints, keys_b: Ints, many_b: Ints, k: int, n: int) -> Floats:
    """Return the sum over labels of the product of both counts, for each of n groups (key // k)."""
    shared, in_a, in_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    return np.asarray(np.bincount(shared // k, many_a[in_a].astype(float) * many_b[in_b], n), dtype=float)


def _found(keys: Ints, many: Ints, wanted: Ints) -> Ints:
    """Return the count of each wanted key, 0 if it is missing."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, many[at], 0)


def jackknife_t(values: Floats) -> float:
    """Return a value over its jackknife error, from the value and those without each unit; NaN if not estimable."""
    value, without, n = float(values[0]), values[1:], len(values) - 1
    if n < FEWEST_UNITS or not np.isfinite(values).all():
        return math.nan
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    return value / error if error > 1e-12 * max(abs(value), 1.0) else math.nan


def jackknife_p(values: Floats) -> float:
    """Return the one-sided p-value of H0: the value is at most 0; 1 if it is not estimable."""
    from scipy.special import stdtr

    t = jackknife_t(values)
    return 1.0 if math.isnan(t) else float(stdtr(min(len(values) - 1, MOST_DF), -t))


def find_match(labels: Labels, judge: Floats, ordered: bool = False) -> MatchTests:
    """Test whether a judge's labels repeat those of one annotator.

    Parameters
    ----------
    labels : Labels
        Of the annotators.
    judge : (items,) float
        NaN without a label.
    ordered : bool
        Whether labels are numbers, for groups of annotators.

    Returns
    -------
    MatchTests
        The judge is said to match an annotator (kind ``match``) if the pair test has p <= .05, it gives the annotator's
        label on at least 80% of four items or more on which the annotator is alone, and groups of annotators are not
        demonstrated.
    """
    m = labels.n_annotators
    if m < 3:
        return MatchTests(None, "two_annotators")
    equal = _same_rare_labels(labels, judge)
    if equal is not None:
        return MatchTests(equal)
    sums = PairSums.of(labels.with_judge(judge))
    alone, given = _alone(labels, judge)
    p, testable = np.ones(m), False
    n_people, judged = np.bincount(labels.item, minlength=len(labels.unit)), sums.with_rater(m)
    for j in range(m):
        both, of_j = sums.of_both(j, m), sums.with_rater(j)
        parts = (both, judged - both, of_j - both, sums.everyone - of_j - judged + both)
        with np.errstate(divide="ignore", invalid="ignore"):
            own, others, theirs, rest = (np.where(n > 0, total / n, math.nan) for n, total in parts)
        if rest[0] > 0 and jackknife_t(rest) > TWO_ERRORS:
            testable, p[j] = True, jackknife_p(own * rest - others * theirs)
    if not testable:
        return MatchTests(None, "others_do_not_agree")

    def match(which: Bools, kind: MatchKind) -> MatchTests | None:
        if not which.any():
            return None
        j = int(np.where(which, p, np.inf).argmin())
        return MatchTests(AnnotatorMatch(j, kind, float(p[j]), int(alone[j]), int(given[j])))

    named = (p <= LEVEL) & (alone >= FEWEST_ALONE) & (given >= MOSTLY * alone)
    if named.any() and (groups := find_groups(labels, ordered, 1.0)) is not None and groups.p <= LEVEL:
        named[:] = False
    leaning = (m * p <= LEVEL) & (2 * given > alone) & (_binomial_p(given, alone) <= LEVEL_OF_LEANING)
    nearer = (m * p <= LEVEL_OF_LEANING) & (int(n_people.max(initial=0)) < 3)
    return match(named, "match") or match(leaning, "sides_with") or match(nearer, "closer") or MatchTests(None)


RARELY_EQUAL = 0.05
"""Share of equal labels of two annotators up to which equal labels are no coincidence: texts, and fine scales."""


def _same_rare_labels(labels: Labels, judge: Floats) -> AnnotatorMatch | None:
    """Return an annotator whose labels a judge repeats where two annotators rarely agree: texts, fine scales.

    The exact binomial test of twice the share of equal labels among annotators, at least `RARELY_EQUAL`, is adjusted
    for the number of annotators.
    """
    from scipy.special import bdtrc

    first, second = labels.pairs()
    among = float(np.mean(labels.code[first] == labels.code[second])) if len(first) else 1.0
    if among > RARELY_EQUAL:
        return None
    known = ~np.isnan(judge[labels.item])
    both = np.bincount(labels.annotator[known], minlength=labels.n_annotators)
    equal = known & (judge[labels.item] == labels.value)
    given = np.bincount(labels.annotator[equal], minlength=labels.n_annotators)
    p = np.where(given > 0, bdtrc(np.maximum(given - 1, 0), np.maximum(both, 1), max(2 * among, RARELY_EQUAL)), 1.0)
    j = int(p.argmin())
    if labels.n_annotators * p[j] > LEVEL_OF_LEANING or given[j] < FEWEST_ALONE:
        return None
    return AnnotatorMatch(j, "equal", float(p[j]), int(both[j]), int(given[j]))


def _binomial_p(given: Ints, alone: Ints) -> Floats:
    """Return P(X >= given) of a binomial variable with the share `LEANING`."""
    from scipy.special import bdtrc

    return np.asarray(np.where(given > 0, bdtrc(np.maximum(given - 1, 0), np.maximum(alone, 1), LEANING), 1.0))


def _alone(labels: Labels, judge: Floats) -> tuple[Ints, Ints]:
    """Return the items on which each annotator is alone against others who agree, and where the judge sides with them.

    Only items with a label of the judge count.
    """
    k = int(labels.code.max(initial=0)) + 1
    key, of_row, many = np.unique(labels.item * k + labels.code, return_inverse=True, return_counts=True)
    most = np.zeros(len(labels.unit), dtype=np.int64)
    np.maximum.at(most, key // k, many)
    known = ~np.isnan(judge[labels.item])
    lone = (many[of_row.reshape(-1)] == 1) & (most[labels.item] > 1) & known
    taken = lone & (judge[labels.item] == labels.value)
    counts = (np.bincount(labels.annotator[rows], minlength=labels.n_annotators) for rows in (lone, taken))
    alone, given = counts
    return alone, given


DEMONSTRATED = 0.01
"""The level at which the others agree with each other, before an annotator is said to agree less with them. Without
this condition, one of six annotators whose labels have nothing in common was named in up to half of the studies (labels
of 20 and 101 values); with it, in at most .07 of 200 (3 to 6 annotators, 40 and 120 items, agreement 0, .3 and .6)."""


def find_weakest(labels: Labels, ordered: bool = False) -> tuple[int, float] | None:
    """Return the annotator who agrees with the others less than half as much as they do with each other, with p.

    The p-value of H0: 2 c_jr >= c_rr, by the jackknife, is adjusted for the number of annotators (Bonferroni). None if
    there is no such annotator at `LEVEL`, or fewer than three annotators. Of numbers, c is the covariance.
    """
    m = labels.n_annotators
    if m < 3:
        return None
    sums, best = PairSums.of_numbers(labels) if ordered else PairSums.of(labels), (0, 1.0)
    for j in range(m):
        of_j = sums.with_rater(j)
        with np.errstate(divide="ignore", invalid="ignore"):
            theirs, rest = (np.where(n > 0, total / n, math.nan) for n, total in (of_j, sums.everyone - of_j))
        p = min(1.0, m * jackknife_p(rest - 2 * theirs))
        if p < best[1] and jackknife_p(rest) <= DEMONSTRATED:
            best = j, p
    return best if best[1] <= LEVEL else None


def find_groups(labels: Labels, ordered: bool = False, similar: float = SIMILAR) -> Groups | None:
    """Return the division of annotators into two groups with the smallest p-value; None if none can be tested.

    For groups S1 and S2 of two annotators or more, with W1, W2 the mean agreement within and B the mean between, on the
    items that all of them labelled: F = ``similar`` · W1 · W2 − B·|B|. One truth gives F <= 0 at ``similar`` = 1, with
    errors of any size. Agreement is the covariance for numbers.

    Parameters
    ----------
    labels : Labels
    ordered : bool
        Whether labels are numbers.
    similar : float
        1 for the test of one truth alone.
    """
    m, n = labels.n_annotators, len(labels.unit)
    if not 4 <= m <= MOST_GROUPED:
        return None
    table = np.full((n, m), np.nan)
    table[labels.item, labels.annotator] = labels.value if ordered else labels.code
    complete = ~np.isnan(table).any(axis=1)
    units = np.unique(labels.unit[complete], return_inverse=True)[1].reshape(-1)
    if int(units.max(initial=-1)) + 1 < FEWEST_UNITS:
        return None
    pairs = list(combinations(range(m), 2))
    values = _of_pairs(table[complete], units, pairs, ordered)
    best: Groups | None = None
    divisions = list(_divisions(m))
    for first in divisions:
        in_first = np.array([(a in first) + (b in first) for a, b in pairs])
        one, two, between = (values[in_first == k].mean(axis=0) for k in (2, 0, 1))
        if one[0] <= 0 or two[0] <= 0:
            continue
        p = min(1.0, jackknife_p(similar * one * two - between * np.abs(between)) * len(divisions))
        if best is None or p < best.p:
            best = Groups(first, tuple(j for j in range(m) if j not in first), p)
    return best


def _divisions(m: int) -> Iterator[tuple[int, ...]]:
    """Yield the group of the first annotator in each division into two groups of two or more."""
    for size in range(2, m - 1):
        for rest in combinations(range(1, m), size - 1):
            yield (0, *rest)


def _of_pairs(table: Floats, units: Ints, pairs: Sequence[tuple[int, int]], ordered: bool) -> Floats:
    """Return the agreement of each pair on complete items, whole and without each unit: (pairs, 1 + units)."""
    n, n_units = len(table), int(units.max()) + 1
    size = np.bincount(units, minlength=n_units).astype(float)
    if ordered:
        features = (table - table.mean(axis=0))[:, :, None]
    else:
        features = (table[:, :, None] == np.unique(table)).astype(float)
    by_unit = np.zeros((n_units, *features.shape[1:]))
    np.add.at(by_unit, units, features)
    whole = by_unit.sum(axis=0)
    left = n - size
    found = np.empty((len(pairs), 1 + n_units))
    for at, (a, b) in enumerate(pairs):
        cross = np.bincount(units, (features[:, a] * features[:, b]).sum(axis=1), n_units)
        total = float(cross.sum())
        found[at, 0] = total / n - float(whole[a] @ whole[b]) / n**2
        rest_a, rest_b = whole[a] - by_unit[:, a], whole[b] - by_unit[:, b]
        found[at, 1:] = (total - cross) / left - (rest_a * rest_b).sum(axis=1) / left**2
    return found
