"""Item-level agreement and the agreement ratio.

Knowledge about an item that does not require reading it, such as its question, document or topic, can produce much
agreement: a judge that always gives the most common answer *to the question* agrees with annotators on pooled questions
far beyond chance. Therefore items are divided into strata by such knowledge, and all tests are within strata:

- **Item-level agreement**: are the judge's labels closer to the annotators of the same item than to those of other
  items in the stratum? Under H0 they are exchangeable within strata, so that permutations give the p-value for any
scale. - **Agreement ratio** R = A(judge, annotators) / A(annotators). A = 1 - observed / expected is chance-corrected
  agreement for the distance of the alignment score. Expected distances are those of labels by two different annotators
  on two *different* items of the same stratum, so that knowing the stratum gives no agreement. All items have equal
  weight, and a stratum counts by its items. A judge that is exchangeable with the annotators has R = 1 for any
  distribution of labels; a constant, a constant for each stratum and a coin have R = 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from assay.estimation.intervals import Estimate, EstimateByRule, Pseudo, missing
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.panels import (
    DENSE_CELLS,
    AlignmentScore,
    CustomScore,
    NegRMSE,
    PairwiseScore,
    Panel,
)
from assay.statistics.strata import Stratification, predicted_parts

MOST_CALLED = 500
"""Items that are drawn if each distance calls a similarity or a function: with 3 annotators 25,000 pairs of labels."""

BLOCK = 5
"""If each distance calls a function, a stratum is divided at random into blocks of about this size, and all
computations are within blocks: permutations within them are also exchangeable, and 4 other items estimate the expected
distance of an item almost as well as all, since an item's own distance varies as much as one of theirs."""

MOST_OTHERS = 3
"""Labels of an item that are compared with those of another item, if each distance calls a function."""

FEWEST_UNITS = 8
"""Items or clusters that an interval of agreement requires: with fewer, skewness cannot be estimated."""

FEWEST_DECIDING = 4.0
"""Effective number of units, such as items with a rare label: 60 items of 95/5 labels have 4. With fewer, R = 1/2 is
falsely below in up to .29 of studies instead of .05."""

CLEAR, OPEN = 1e-4, 0.3
"""If the p-value by moments lies between these, permutations are drawn, because its error could change the result."""

DRAWN_CELLS = 400_000
"""Labels that are permuted together: 1,999 permutations of 200 items, 399 of 1,000, in about 10 ms."""

FEWEST_DRAWN = 199
"""Permutations that are drawn of any number of items."""

MOST_DRAWN = 20_000
"""With more items the error of the p-value by moments is negligible."""


# -- distances of labels, in sums ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Side:
    """Labels of one side, the judge or the annotators; the weights of an item sum to 1.

    Attributes
    ----------
    item, who : (labels,) int
    value, weight : (labels,) float
    """

    item: Ints
    who: Ints
    value: Floats
    weight: Floats

    @classmethod
    def of(cls, item: Ints, who: Ints, value: Floats, weight: Floats, n_items: int) -> Side:
        """Return labels with weights that sum to 1 on each item."""
        return cls(item, who, value, weight / np.bincount(item, weight, n_items)[item])


@dataclass(frozen=True, eq=False)
class Fit:
    """Fit of the judge's labels to the annotators of their items, and in any other order.

    Attributes
    ----------
    value : float
        Minus its mean over all orders of the labels within strata.
    variance, third : float
        Second and third cumulant over these orders, summed over strata (Hoeffding 1951).
    again : function of (orders, items) positions
        The value of each order: (orders,).
    """

    value: float
    variance: float
    third: float
    again: Callable[[Ints], Floats]


class LabelDistance(ABC):
    """A distance of labels whose sums over groups need no loop over pairs."""

    @abstractmethod
    def toward(self, value: Floats, group: Ints, to: Side, groups: Ints, n: int) -> Floats:
        """Return the summed distance of each value to the labels of ``to`` in the same of n ``groups``: (values,)."""

    @abstractmethod
    def fit(self, judge: Floats, people: Side, part: Ints) -> Fit:
        """Return the fit of the judge's labels, (items,)."""


@dataclass(frozen=True)
class Different(LabelDistance):
    """1 if two labels differ. Values are codes from 0 to ``n_labels`` - 1."""

    n_labels: int

    def toward(self, value: Floats, group: Ints, to: Side, groups: Ints, n: int) -> Floats:
        """Return the weight of the group minus that of the same label."""
        theirs = groups * self.n_labels + to.value.astype(np.int64)
        mine = group * self.n_labels + value.astype(np.int64)
        total = np.bincount(groups, to.weight, n)[group]
        if n * self.n_labels <= DENSE_CELLS:
            return np.asarray(total - np.bincount(theirs, to.weight, n * self.n_labels)[mine])
        keys, where = np.unique(np.concatenate([theirs, mine]), return_inverse=True)
        return np.asarray(total - np.bincount(where[: len(theirs)], to.weight, len(keys))[where[len(theirs) :]])

    def fit(self, judge: Floats, people: Side, part: Ints) -> Fit:
        """Return the fit by the weight of each label, centred over items and the judge's labels of each stratum."""
        n, k, given = len(judge), self.n_labels, judge.astype(np.int64)
        size = np.bincount(part).astype(float)
        often = np.bincount(part * k + given, minlength=len(size) * k).reshape(-1, k).astype(float)
        same = np.bincount(people.item * k + people.value.astype(np.int64), people.weight, n * k).reshape(n, k)
        total = np.stack([np.bincount(part, same[:, label]) for label in range(k)], axis=1)
        same = same - (total / size[:, None])[part]
        same -= ((same * often[part]).sum(axis=1) / size[part])[:, None]
        sums = [sums_of(part, (same**power * often[part]).sum(axis=1)) for power in (2, 3)]
        rows = np.arange(n)
        value = float(same[rows, given].sum())
        return Fit(value, *_cumulants(sums, size), lambda order: same[rows, given[order]].sum(axis=1))


@dataclass(frozen=True)
class Squared(LabelDistance):
    """The squared difference of two numbers."""

    def toward(self, value: Floats, group: Ints, to: Side, groups: Ints, n: int) -> Floats:
        """Return the distances from the number of the others, their sum and their sum of squares."""
        w, s, q = (np.bincount(groups, to.weight * to.value**power, n)[group] for power in (0, 1, 2))
        return np.asarray(np.maximum(w * value**2 - 2 * value * s + q, 0.0))

    def fit(self, judge: Floats, people: Side, part: Ints) -> Fit:
        """Return the fit by the annotators' mean of the item, centred within strata."""
        size = np.bincount(part).astype(float)
        mean = np.bincount(people.item, people.weight * people.value, len(judge))
        own, mean = (value - (np.bincount(part, value) / size)[part] for value in (judge, mean))
        sums = [sums_of(part, mean**power) * sums_of(part, own**power) for power in (2, 3)]
        return Fit(float(mean @ own), *_cumulants(sums, size), lambda order: own[order] @ mean)


def _cumulants(sums: Sequence[Floats], size: Floats) -> tuple[float, float]:
    """Return cumulants of a sum over a random order, from sums of each stratum's doubly centred matrix."""
    second, third = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(size > 1, second / (size - 1), 0.0)
        cubed = np.where(size > 2, size * third / ((size - 1) * (size - 2)), 0.0)
    return float(variance.sum()), float(cubed.sum())


@dataclass(frozen=True, eq=False)
class Called:
    """Distances that call a similarity or a function, of all pairs of items in a block: arrays (items, width).

    Attributes
    ----------
    block, place : (items,) int
        The block of each item, and its position in it.
    member : int
        The items of the block, -1 if it has fewer.
    judge, people : float
        Mean distance of the judge's label, and of other annotators' labels, of the member to the labels of the item.
    """

    block: Ints
    place: Ints
    member: Ints
    judge: Floats
    people: Floats

    def own(self, of: Floats) -> Floats:
        """Return the distance of each item to itself: (items,)."""
        return np.asarray(of[np.arange(len(of)), self.place])

    def met(self, of: Floats, at: Arrangement) -> Met:
        """Return observed and expected distances, of the same item and of all pairs of items in a block."""
        return Met.of(self.own(of), chance_of_calls(self, of, at), at)

    def fit(self) -> Fit:
        """Return the fit of the judge's labels in their order."""
        there = self.member >= 0
        size = there.sum(axis=1)
        n_blocks, width = int(self.block.max()) + 1, there.shape[1]
        close = np.where(there, -self.judge, 0.0)
        close -= np.where(there, (close.sum(axis=1) / size)[:, None], 0.0)
        mean = np.stack([np.bincount(self.block, close[:, q], n_blocks) for q in range(width)], axis=1)
        close -= np.where(there, mean[self.block] / size[:, None], 0.0)
        sums = [sums_of(self.block, (close**power).sum(axis=1)) for power in (2, 3)]
        rows = np.arange(len(close))
        of_block = np.bincount(self.block).astype(float)
        return Fit(
            float(self.own(close).sum()), *_cumulants(sums, of_block),
            lambda order: close[rows, self.place[order]].sum(axis=-1),
        )  # fmt: skip


def call_distances(
    score: AlignmentScore, judge: Floats, people: Side, to: Side, label: Callable[[float], Any],
    part: Ints, seed: int,
) -> Called:  # fmt: skip
    """Return the distances within blocks; blocks and compared labels are drawn at random."""
    rng = np.random.default_rng(seed)
    ask = partial(_distances, score, label)
    n = len(judge)
    order = np.lexsort((rng.random(n), part))
    sizes = np.bincount(part)
    counts = np.concatenate([[len(one) for one in np.array_split(np.arange(k), max(k // BLOCK, 1))] for k in sizes])
    block = np.empty(n, dtype=np.int64)
    block[order] = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) - np.repeat(first, counts)
    member = np.full((len(counts), counts.max()), -1)
    member[block, place] = np.arange(n)
    member = member[block]
    # Some labels by annotators of each item, the same for all comparisons.
    theirs, start, many = sample_labels(to, n, rng)
    mine, first_of_mine, many_mine = (theirs, start, many) if to is people else sample_labels(people, n, rng)
    item, q = np.nonzero(member >= 0)
    other = member[item, q]
    pair = np.repeat(np.arange(len(item)), many[item])
    row = theirs[consecutive_ranges(start[item], many[item])]
    judged, among = np.full(member.shape, np.nan), np.full(member.shape, np.nan)
    judged[item, q] = np.bincount(pair, ask(judge[other[pair]], to.value[row]), len(item)) / many[item]
    # Each drawn label of an item with each drawn label, by another annotator, of the other item.
    twice = np.repeat(np.arange(len(pair)), many_mine[other[pair]])
    one, two = row[twice], mine[consecutive_ranges(first_of_mine[other[pair]], many_mine[other[pair]])]
    apart = to.who[one] != people.who[two]
    pair, found = pair[twice][apart], ask(to.value[one[apart]], people.value[two[apart]])
    with np.errstate(invalid="ignore", divide="ignore"):
        among[item, q] = np.bincount(pair, found, len(item)) / np.bincount(pair, minlength=len(item))
    return Called(block, place, member, judged, among)


def sample_labels(side: Side, n_items: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Return rows of up to `MOST_OTHERS` labels of each item, consecutively; their starts and numbers."""
    order = np.lexsort((rng.random(len(side.item)), side.item))
    rank = np.arange(len(order)) - np.searchsorted(side.item[order], side.item[order])
    row = order[rank < MOST_OTHERS]
    many = np.bincount(side.item[row], minlength=n_items)
    return row, np.cumsum(many) - many, many


def consecutive_ranges(start: Ints, many: Ints) -> Ints:
    """Return start, start + 1, … of each, consecutively."""
    ends = np.cumsum(many)
    return np.asarray(np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - (ends - many), many))


def _distances(score: AlignmentScore, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
    """Return the mean score of the two labels with themselves, minus their score with each other."""
    labels = np.unique(np.concatenate([first, second]))
    itself = score.of_pairs(label, labels, labels)
    a, b = (itself[np.searchsorted(labels, value)] for value in (first, second))
    return np.asarray((a + b) / 2 - score.of_pairs(label, first, second))


def sums_of(group: Ints, weight: Floats | None = None, n: int = 0) -> Floats:
    """Return the weight of each of n groups: (groups,)."""
    return np.bincount(group, weight, n).astype(np.float64)


# -- chance-corrected agreement, with and without each unit ---------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The stratum and the unit of each item, and the cells of unit and stratum with items."""

    part: Ints
    unit: Ints

    @cached_property
    def n_parts(self) -> int:
        """The number of strata."""
        return int(self.part.max()) + 1

    @cached_property
    def n_units(self) -> int:
        """The number of units."""
        return int(self.unit.max()) + 1

    @cached_property
    def by_item(self) -> bool:
        """Whether each item is a unit."""
        return self.n_units == len(self.unit)

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The unit and the stratum of each cell, and the cell of each item."""
        keys, cell = np.unique(self.unit * self.n_parts + self.part, return_inverse=True)
        return keys // self.n_parts, keys % self.n_parts, cell


@dataclass(frozen=True, eq=False)
class Chance:
    """Summed distances of labels of different items in each stratum, their number, and those of each cell."""

    far: Floats
    many: Floats
    far_without: Floats
    many_without: Floats

    def expected(self, at: Arrangement) -> tuple[Floats, Floats]:
        """Return the mean distance in each stratum, (strata,), and without each cell, (cells,)."""
        part = at.cells[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(self.many > TINY, self.far / self.many, 0.0)
            left = self.many[part] - self.many_without
            # A stratum without remaining items keeps its expectation, with weight 0.
            return each, np.where(left > TINY, (self.far[part] - self.far_without) / left, each[part])


def chance_of_sums(distance: LabelDistance, a: Side, b: Side, at: Arrangement) -> Chance:
    """Return the distances of labels of two sides, by different annotators on different items; sides can be equal."""
    same, n_cells, cell = a is b, len(at.cells[0]), at.cells[2]
    far, many = _toward(distance, a, b, at.part, at.n_parts, same)
    found = [sums_of(at.part[a.item], a.weight * one, at.n_parts) for one in (far, many)]
    left = [sums_of(cell[a.item], a.weight * one, n_cells) * (2 if same else 1) for one in (far, many)]
    if not same:
        for one, back in zip(left, _toward(distance, b, a, at.part, at.n_parts, same), strict=True):
            one += sums_of(cell[b.item], b.weight * back, n_cells)
    if not at.by_item:
        # Pairs within the cell were counted twice.
        for one, inside in zip(left, _toward(distance, a, b, cell, n_cells, same), strict=True):
            one -= sums_of(cell[a.item], a.weight * inside, n_cells)
    return Chance(found[0], found[1], left[0], left[1])


def _toward(distance: LabelDistance, a: Side, b: Side, part: Ints, n_parts: int, same: bool) -> tuple[Floats, Floats]:
    """Return for each label of ``a`` its distance to ``b``'s on other items by others, summed; and their number."""
    ga, gb, n_items = part[a.item], part[b.item], len(part)
    weight = [sums_of(g, b.weight, n) for g, n in ((gb, n_parts), (b.item, n_items))]
    far = distance.toward(a.value, ga, b, gb, n_parts) - distance.toward(a.value, a.item, b, b.item, n_items)
    many = weight[0][ga] - weight[1][a.item]
    if same:
        m = int(b.who.max()) + 1
        mine = ga * m + a.who
        far = far - distance.toward(a.value, mine, b, mine, n_parts * m)
        many = many - sums_of(mine, b.weight, n_parts * m)[mine] + a.weight
    return far, many


def chance_of_calls(called: Called, of: Floats, at: Arrangement) -> Chance:
    """Return the distances of all pairs of items in a block, in both orders."""
    n_cells, cell = len(at.cells[0]), at.cells[2]
    first, q = np.nonzero((called.member >= 0) & ~np.isnan(of))
    second = called.member[first, q]
    apart = first != second
    first, second, far = first[apart], second[apart], of[first, q][apart]
    found, left = [], []
    inside = cell[first] == cell[second]
    for one in (far, np.ones_like(far)):
        found.append(sums_of(at.part[first], one, at.n_parts))
        touched = sums_of(cell[first], one, n_cells) + sums_of(cell[second], one, n_cells)
        left.append(touched - sums_of(cell[first][inside], one[inside], n_cells))
    return Chance(found[0], found[1], left[0], left[1])


@dataclass(frozen=True, eq=False)
class Met:
    """Observed and expected distances of an item's labels, summed over items; and without each unit, (units,)."""

    observed: float
    expected: float
    observed_without: Floats
    expected_without: Floats

    @classmethod
    def of(cls, observed: Floats, chance: Chance, at: Arrangement) -> Met:
        """Return the sums from the mean distance of each item's labels, (items,), and each unit's contribution."""
        unit, part, cell = at.cells
        held, size = sums_of(cell), sums_of(at.part)
        each, without = chance.expected(at)
        expected, off = float(size @ each), size[part] * each[part] - (size[part] - held) * without
        return cls(
            float(observed.sum()), expected, float(observed.sum()) - sums_of(at.unit, observed, at.n_units),
            expected - sums_of(unit, off, at.n_units),
        )  # fmt: skip

    def agreement(self) -> tuple[float, Floats]:
        """Return A = 1 - observed / expected, and without each unit; NaN if labels do not vary."""
        if self.expected <= TINY:
            return math.nan, np.full(len(self.expected_without), math.nan)
        there = self.expected_without > TINY
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 - self.observed / self.expected, np.where(
                there, 1 - self.observed_without / self.expected_without, math.nan
            )

    @property
    def deciding(self) -> float:
        """The effective number of units: the squared sum of their contributions over the sum of squares."""
        value, without = self.covariance()
        each = np.abs(value - without)
        return float(each.sum() ** 2 / max((each**2).sum(), TINY))

    def covariance(self) -> tuple[float, Floats]:
        """Return expected minus observed, and without each unit: for squared distances twice a covariance."""
        return self.expected - self.observed, self.expected_without - self.observed_without


TINY = 1e-9
"""Distances and weights up to this are rounding."""


# -- one judge -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StratumResult:
    """The results of a judge within one stratification.

    Attributes
    ----------
    strata : str
        Name of the stratification; empty without one.
    by_stem : bool
        Whether strata are stems of item ids.
    p_item_level : float
        Of H0: the judge's labels are exchangeable within strata.
    pseudo : Pseudo or None
        Of A(judge, annotators) and A(annotators); None with too few effective units.
    agreements : (2,) float
        Both estimates, NaN if labels do not vary within strata.
    n_units : int
    beyond_chance : float
        The share of equal labels of two annotators minus that expected by chance within strata (for numbers, of squared
        distances); NaN if not estimable.
    """

    strata: str
    by_stem: bool
    p_item_level: float
    pseudo: Pseudo | None
    agreements: tuple[float, float]
    n_units: int
    beyond_chance: float = math.nan
    p_other: float = math.nan
    """If all labels agree and have no order: the probability that labels of two items differ; else NaN."""

    def p_ratio_above(self, least: float) -> float:
        """Return the p-value of H0: R <= ``least``.

        If all labels agree, the pseudo-values do not vary. The judge's labels of n units then all agree with
        probability (1 − (1 − R) p)ⁿ at most, p the probability that labels of different items differ.
        """
        if self.pseudo is None:
            return 1.0
        if math.isfinite(self.p_other):
            return float((1 - (1 - least) * self.p_other) ** self.n_units)
        return self.pseudo.p_above(np.array([1.0, -least]))

    def p_ratio_below(self, least: float) -> float:
        """Return the p-value of H0: R >= ``least``."""
        return 1.0 if self.pseudo is None else self.pseudo.p_above(np.array([-1.0, least]))

    @property
    def p_agreement(self) -> float:
        """The p-value of H0: annotators agree within strata at most by chance."""
        return 1.0 if self.pseudo is None else self.pseudo.p_above(np.array([0.0, 1.0]))

    def agreement(self, which: int, level: float) -> Estimate:
        """Return A of the judge with the annotators, 0, or among annotators, 1, with its interval."""
        if self.pseudo is None:
            return missing(NO_AGREEMENT if math.isnan(self.agreements[which]) else FEW_DECIDE)
        return _by_pseudo(self.pseudo, np.eye(2)[which], level, highest=1.0)

    def contrast(self, least: float, level: float) -> Estimate:
        """Return A(judge, annotators) - ``least`` · A(annotators)."""
        if self.pseudo is None:
            return missing(FEW_DECIDE)
        return _by_pseudo(self.pseudo, np.array([1.0, -least]), level)

    def agreement_ratio(self, level: float) -> Estimate:
        """Return R with Fieller's interval by Hall's statistic; none if the annotators' agreement can be 0."""
        if self.pseudo is None:
            return missing(NO_AGREEMENT if math.isnan(self.agreements[1]) else FEW_DECIDE)
        pseudo = self.pseudo
        judge, people = pseudo.mean.tolist()
        same_judge, same_people = (np.ptp(pseudo.values, axis=0) <= TINY).tolist()
        if same_judge and abs(judge) <= TINY:
            return Estimate(0.0, math.nan, math.nan, math.nan, NEVER_VARIES)
        if same_judge and same_people and people > TINY:
            return Estimate(judge / people, math.nan, math.nan, math.nan, SAME_AGREEMENT)
        low, high = pseudo.ratio_interval(level)
        if people <= 0 or not (math.isfinite(low) and math.isfinite(high)):
            return missing("agreement among annotators is too imprecise to divide by")
        error = float((pseudo.values @ np.array([1, -judge / people])).std(ddof=1)) / people / math.sqrt(self.n_units)

        def test(null: float) -> float:
            weights = np.array([1.0, -null])
            return min(1.0, 2 * min(pseudo.p_above(weights), pseudo.p_above(-weights)))

        return EstimateByRule(judge / people, low, high, error, ends=pseudo.ratio_interval, test=test)


NO_AGREEMENT = "labels do not vary within strata of items"
NEVER_VARIES = (
    "within each stratum, the judge gives one label, or labels that no annotator gives, so that its agreement is 0"
)
SAME_AGREEMENT = "agreement is the same on every item, so that no interval can be estimated"
FEW_DECIDE = "too few items determine the agreement"


def _by_pseudo(pseudo: Pseudo, weights: Floats, level: float, highest: float = math.inf) -> Estimate:
    """The weighted sum and its interval, up to the ``highest`` possible value."""
    error = float((pseudo.values @ weights).std(ddof=1)) / math.sqrt(len(pseudo.values))

    def test(null: float) -> float:
        return min(1.0, 2 * min(pseudo.p_above(weights, null), pseudo.p_above(-weights, -null)))

    def ends(at: float) -> tuple[float, float]:
        low, high = pseudo.interval(weights, at)
        return low, min(high, highest) if math.isfinite(high) else high

    return EstimateByRule(min(float(pseudo.mean @ weights), highest), *ends(level), error, ends=ends, test=test)


@dataclass(frozen=True, eq=False)
class ItemLevelAgreement:
    """Item-level agreement and agreement ratio of a judge, within each stratification.

    Attributes
    ----------
    within : tuple of StratumResult
        One for each stratification, those by stems last.
    least : float
        The required agreement ratio.
    n_items : int
        The number of items, drawn if there are very many.
    """

    within: tuple[StratumResult, ...]
    least: float
    n_items: int
    own_words: tuple[StratumResult, ...] = ()
    """The results within columns of the labels' own words."""

    @cached_property
    def _tested(self) -> list[StratumResult]:
        """The stratifications; stems only if the annotators agree within them."""
        return [one for one in self.within if not one.by_stem or one.p_agreement <= STEM_LEVEL]

    @cached_property
    def for_item_level(self) -> StratumResult:
        """The stratification with the largest p-value of item-level agreement; the first if all are below `CLEAR_P`."""
        return max(self._tested, key=lambda one: max(one.p_item_level, CLEAR_P))

    @cached_property
    def for_ratio(self) -> StratumResult:
        """The stratification, except stems, with the largest p-value of the agreement ratio; the first as above."""
        return max(self._plain, key=lambda one: max(one.p_ratio_above(self.least), CLEAR_P))

    @cached_property
    def for_people(self) -> StratumResult:
        """The stratification with the largest p-value of the annotators' agreement; the first as above.

        Neither stems nor strata made of the judge's labels count, so that judges of the same items have the same one.
        """
        known = [one for one in self._plain if one.strata != PREDICTED[1]]
        return max(known, key=lambda one: max(one.p_agreement, CLEAR_P))

    @property
    def _plain(self) -> list[StratumResult]:
        return [one for one in self.within if not one.by_stem]

    @property
    def p_item_level(self) -> float:
        """The p-value of H0: item-level agreement is absent within some stratification."""
        return max(one.p_item_level for one in self._tested)

    @property
    def p_ratio_above(self) -> float:
        """The p-value of H0: within some stratification R <= ``least``."""
        return max(one.p_ratio_above(self.least) for one in self._plain)

    @property
    def p_ratio_below(self) -> float:
        """The p-value of H0: R >= ``least`` within each stratification (Bonferroni)."""
        return min(1.0, len(self._plain) * self.for_ratio.p_ratio_below(self.least))

    @property
    def by_own_words(self) -> tuple[float, str]:
        """The largest p-value of both tests within a column of the labels' own words, and the column; 0 without one."""
        each = [(max(one.p_item_level, one.p_ratio_above(self.least)), one.strata) for one in self.own_words]
        return max(each, default=(0.0, ""))


CLEAR_P = 5e-4
"""P-values below this are printed as p < 0.001; a result names the first of several such strata."""

STEM_LEVEL = 0.05
"""Level at which annotators must agree within stems: otherwise no judge could have item-level agreement there."""


def item_level_agreement(
    score: AlignmentScore, panel: Panel, judge: Floats, strata: Sequence[Stratification], clusters: Ints | None,
    least: float, seed: int, design: Floats | None = None, own_words: Sequence[Stratification] = (),
) -> ItemLevelAgreement:  # fmt: skip
    """Compute item-level agreement and the agreement ratio of a judge.

    Parameters
    ----------
    score : AlignmentScore
    panel : Panel
    judge : (items,) float
        NaN without a label, or for excluded items.
    strata : sequence of Stratification
        Stratifications of the items; without any, all items are one stratum.
    clusters : (items,) int or None
        Clusters of items, which are left out together.
    least : float
        The required agreement ratio.
    design : (items, columns) float or None
        The item columns of a regression, whose predictions are strata (`assay.statistics.strata.predicted_parts`).
    own_words : sequence of Stratification
        Columns of the labels' own words, whose results are kept apart.
    """
    sides = JudgeSides.of(score, panel, judge, seed)
    units = np.arange(len(sides.items)) if clusters is None else clusters[sides.items]
    plain = [one for one in strata if not one.by_stem] or [Stratification("", np.zeros(panel.n_items, dtype=np.int64))]
    stems = [one for one in strata if one.by_stem]
    if design is not None and sides.distance is not None:
        plain += _predicted(sides, design, panel.n_items)
    test = partial(stratum_result, sides, units=units, clustered=clusters is not None, seed=seed)
    within, own = (tuple(test(one) for one in each) for each in ((*plain, *stems), own_words))
    return ItemLevelAgreement(within, least, len(sides.items), own)


PREDICTED = ("labels predicted from all item columns", "judge's labels predicted from all item columns")


def _predicted(sides: JudgeSides, design: Floats, n_items: int) -> list[Stratification]:
    """Return the strata by what the item columns predict of the annotators' and of the judge's labels."""
    n, people = len(sides.items), sides.people
    if not isinstance(sides.distance, Different) or sides.distance.n_labels == 2:
        outcomes = [sums_of(people.item, people.weight * people.value, n)[:, None], sides.judge[:, None]]
    else:
        k = sides.distance.n_labels
        shares = np.bincount(people.item * k + people.value.astype(np.int64), people.weight, n * k).reshape(n, k)
        outcomes = [shares.astype(float), (sides.judge[:, None] == np.arange(k)).astype(float)]
    found = []
    for name, part in zip(PREDICTED, predicted_parts(design[sides.items], outcomes[0], outcomes[1]), strict=False):
        whole = np.zeros(n_items, dtype=np.int64)
        whole[sides.items] = part
        found.append(Stratification(name, whole))
    return found


@dataclass(frozen=True, eq=False)
class AgreementRatioStudies:
    """Pseudo-values of A(judge, annotators) and A(annotators) in many studies.

    Attributes
    ----------
    values : (studies, items, 2) float
        Of the included items, in their order; 0 after the last.
    n_items : (studies,) int
        The number of included items; 0 in studies without an estimate.
    deciding : (studies,) float
        Their effective number.
    """

    values: Floats
    n_items: Ints
    deciding: Floats

    @classmethod
    def of(cls, score: AlignmentScore, panel: Panel, judge: Floats, n_studies: int) -> AgreementRatioStudies:
        """Return those of studies of one size by panels of one size, numbered by study, without strata."""
        width, members = panel.n_items // n_studies, panel.n_annotators // n_studies
        found = cls(np.zeros((n_studies, width, 2)), np.zeros(n_studies, dtype=np.int64), np.zeros(n_studies))
        sides = JudgeSides.of(score, panel, judge, 0)
        if sides.distance is None or not len(sides.items):
            return found
        people = replace(sides.people, who=sides.people.who % members)
        study = sides.items // width
        at = Arrangement(study, np.arange(len(study)))
        pairs = ((sides.own, people), (people, people))
        value, without, deciding = zip(*(_in_each_part(sides.distance, a, b, at) for a, b in pairs), strict=True)
        n = np.bincount(study)
        many, at_study, at_items = n[study][:, None], np.stack(value, axis=1)[study], np.stack(without, axis=1)
        values = many * at_study - (many - 1) * at_items
        missing_some = np.bincount(study[np.isnan(values).any(axis=1)], minlength=len(n)) > 0
        estimable = ~missing_some & (n >= FEWEST_UNITS) & (deciding[1] >= FEWEST_DECIDING)
        rank, keep = np.arange(len(study)) - (np.cumsum(n) - n)[study], estimable[study]
        found.values[study[keep], rank[keep]] = values[keep]
        found.n_items[: len(n)], found.deciding[: len(n)] = np.where(estimable, n, 0), deciding[1]
        return found


def _in_each_part(distance: LabelDistance, a: Side, b: Side, at: Arrangement) -> tuple[Floats, Floats, Floats]:
    """Return agreement in each stratum, without each item, (items,), and the effective numbers of items."""
    part, size, own = at.part, sums_of(at.part), _observed(distance, a, b, len(at.part))
    each, alone = chance_of_sums(distance, a, b, at).expected(at)
    observed, expected = sums_of(part, own), size * each
    observed_without, expected_without = observed[part] - own, (size[part] - 1) * alone
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(expected > TINY, 1 - observed / expected, math.nan)
        without = np.where(expected_without > TINY, 1 - observed_without / expected_without, math.nan)
    adds = np.abs((expected - observed)[part] - (expected_without - observed_without))
    return value, without, sums_of(part, adds) ** 2 / np.maximum(sums_of(part, adds**2), TINY)


@dataclass(frozen=True, eq=False)
class JudgeSides:
    """The labels of some items, renumbered.

    Attributes
    ----------
    items : (items,) int
        The items.
    judge : (items,) float
    people, to : Side
        The annotators' labels, and those that raters are compared with: the same, or references.
    distance : LabelDistance or None
        None if each distance calls ``score``.
    """

    items: Ints
    judge: Floats
    people: Side
    to: Side
    distance: LabelDistance | None
    score: AlignmentScore
    label: Callable[[float], Any]

    @classmethod
    def of(cls, score: AlignmentScore, panel: Panel, judge: Floats, seed: int) -> JudgeSides:
        """Return the items with the judge and a comparison, drawn if there are very many."""
        called = isinstance(score, PairwiseScore | CustomScore)
        others = panel.people if panel.reference is None else np.where(np.isnan(panel.reference), 0, panel.people + 1)
        items = np.flatnonzero(~np.isnan(judge) & (others >= 2))
        if called and len(items) > MOST_CALLED:
            items = np.sort(np.random.default_rng(seed).choice(items, MOST_CALLED, replace=False))
        n, place = len(items), np.full(panel.n_items, -1)
        place[items] = np.arange(n)
        row = np.flatnonzero(place[panel.item] >= 0)
        own, value = judge[items], panel.value[row]
        known = np.empty(0) if panel.reference is None else panel.reference[items]
        distance: LabelDistance | None = None
        if isinstance(score, NegRMSE):
            # In units of the annotators' standard deviation, so that rounding is recognised for any unit of the labels.
            centre, spread = (value.mean(), value.std() or 1.0) if n else (0.0, 1.0)
            own, value, known = ((one - centre) / spread for one in (own, value, known))
            distance = Squared()
        elif not called:
            labels = np.unique(np.concatenate([own, value, known]))
            own, value, known = (np.searchsorted(labels, one).astype(float) for one in (own, value, known))
            distance = Different(len(labels))
        people = Side.of(place[panel.item[row]], panel.annotator[row], value, panel.weights[row], n)
        to = people
        if panel.reference is not None:
            to = Side(np.arange(n), np.full(n, panel.n_annotators), known, np.ones(n))
        return cls(items, own, people, to, distance, score, panel.label)

    def part(self, keep: Bools, only: Bools | None = None) -> JudgeSides:
        """Return those of some items and, with ``only``, of some of the annotators' labels."""
        place = np.cumsum(keep) - 1

        def some(side: Side, rows: Bools) -> Side:
            rows = rows & keep[side.item]
            return Side.of(place[side.item[rows]], side.who[rows], side.value[rows], side.weight[rows], int(keep.sum()))

        everyone = np.ones(len(self.people.item), dtype=bool) if only is None else only
        people = some(self.people, everyone)
        to = people if self.to is self.people else some(self.to, np.ones(len(self.to.item), dtype=bool))
        return replace(self, items=self.items[keep], judge=self.judge[keep], people=people, to=to)

    @property
    def own(self) -> Side:
        """The judge's labels as a side."""
        n = len(self.judge)
        return Side(np.arange(n), np.full(n, -1), self.judge, np.ones(n))


def meet(distance: LabelDistance, a: Side, b: Side, at: Arrangement) -> Met:
    """Return distances of two sides, or within one side, on the same items and on different items."""
    return Met.of(_observed(distance, a, b, len(at.part)), chance_of_sums(distance, a, b, at), at)


def _observed(distance: LabelDistance, a: Side, b: Side, n: int) -> Floats:
    """Return the mean distance of two sides, or within one side, on each of n items: (items,)."""
    each = sums_of(a.item, a.weight * distance.toward(a.value, a.item, b, b.item, n), n)
    return each / (1 - sums_of(a.item, a.weight**2, n)) if a is b else each


def stratum_result(sides: JudgeSides, strata: Stratification, units: Ints, clustered: bool, seed: int) -> StratumResult:
    """Return the results within one stratification; items that are alone in their stratum are excluded."""
    part = strata.part[sides.items]
    keep = np.bincount(part)[part] > 1 if len(part) else np.zeros(0, dtype=bool)
    if np.count_nonzero(keep) < 2:
        return StratumResult(strata.name, strata.by_stem, 1.0, None, (math.nan, math.nan), 0)
    if not keep.all():
        sides = sides.part(keep)
    at = Arrangement(codes_of(part[keep]), codes_of(units[keep]))
    called = None
    if sides.distance is None:
        called = call_distances(sides.score, sides.judge, sides.people, sides.to, sides.label, at.part, seed)
        p_item_level = permutation_p(called.fit(), called.block, seed)
    else:
        p_item_level = permutation_p(sides.distance.fit(sides.judge, sides.to, at.part), at.part, seed)
    pseudo, agreements, beyond = pseudo_agreement(sides, at, called)
    # If all labels agree, `beyond` is the expected distance of labels of two items.
    agree = isinstance(sides.distance, Different) and min(agreements) >= 1 - TINY
    if clustered:
        # Items of a cluster are not exchangeable with others, so that agreement must also hold across clusters.
        p_item_level = max(p_item_level, 1.0 if pseudo is None else pseudo.p_above(np.array([1.0, 0.0])))
    return StratumResult(
        strata.name, strata.by_stem, p_item_level, pseudo, agreements, at.n_units, beyond, beyond if agree else math.nan
    )


def pseudo_agreement(
    sides: JudgeSides, at: Arrangement, called: Called | None = None
) -> tuple[Pseudo | None, tuple[float, float], float]:
    """Return pseudo-values of A(judge, annotators) and A(annotators), or None; both estimates; `beyond_chance`."""
    if called is not None:
        met = called.met(called.judge, at), called.met(called.people, at)
    else:
        assert sides.distance is not None
        met = meet(sides.distance, sides.own, sides.to, at), meet(sides.distance, sides.people, sides.to, at)
    (judge, less), (people, fewer) = (one.agreement() for one in met)
    without = np.column_stack([less, fewer])
    beyond = met[1].covariance()[0] / len(at.part)
    if at.n_units < FEWEST_UNITS or math.isnan(judge + people) or np.isnan(without).any():
        return None, (judge, people), beyond
    deciding = met[1].deciding
    if deciding < FEWEST_DECIDING:
        return None, (judge, people), beyond
    return Pseudo.of(np.array([judge, people]), without, deciding), (judge, people), beyond


def codes_of(values: Ints) -> Ints:
    """Return the position of each value among the distinct values."""
    return np.unique(values, return_inverse=True)[1]


def permutation_p(fit: Fit, part: Ints, seed: int) -> float:
    """Return the share of orders of the labels, within strata, with the same or a better fit.

    From the first three moments of all orders (Pearson's type III) and, if its error could change the result, from
    random orders, including the observed one.
    """
    from scipy.special import gammainc, gammaincc, ndtr

    if fit.variance <= TINY**2:
        return 1.0
    sd = math.sqrt(fit.variance)
    z, skewness = fit.value / sd, fit.third / sd**3
    if abs(skewness) < 1e-4:
        p = float(ndtr(-z))
    else:
        shape = 4 / skewness**2
        at = max(shape + math.copysign(z, z * skewness) * math.sqrt(shape), 0.0)
        p = float(gammaincc(shape, at) if skewness > 0 else gammainc(shape, at))
    if not CLEAR < p < OPEN or len(part) > MOST_DRAWN:
        return p
    many = int(np.clip(DRAWN_CELLS // len(part), FEWEST_DRAWN, 9_999))
    draw = _random_orders if many * len(part) <= DRAWN_CELLS else _random_orders.__wrapped__
    order = draw(np.asarray(part, dtype=np.int64).tobytes(), many, seed)
    return float((1 + np.count_nonzero(fit.again(order) >= fit.value - 1e-9 * sd)) / (1 + many))


@lru_cache(maxsize=8)
def _random_orders(part: bytes, many: int, seed: int) -> Ints:
    """Return random orders within strata, (many, items), from the strata as int64.

    Judges often have the same strata, and so have the sets of items that are tested one after another: of 434 draws for
    twelve routes over one table, 77 differ. The last eight are kept, 3 MB each at most.
    """
    strata = np.frombuffer(part, dtype=np.int64)
    rng = np.random.default_rng(seed)
    drawn = rng.random((many, len(strata)))
    drawn += strata
    place = np.argsort(np.argsort(strata, kind="stable"))
    order: Ints = np.take(np.argsort(drawn, axis=1), place, axis=1)  # a third less time than to write to columns
    order.flags.writeable = False
    return order
