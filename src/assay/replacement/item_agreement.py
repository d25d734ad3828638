"""Does a judge look at the items, and how much of what people agree on does it keep?

What is known of an item without reading it, such as the question that is asked, the document that it is from or its
topic, can be worth a lot: a judge that always gives the commonest answer *to the question* agrees with people on pooled
questions far beyond chance. So items are divided by each such structure, and everything is asked within its parts:

- **Looks**: are the judge's labels closer to the people of their own items than to those of other items of the part?
  Under H0 they are exchangeable within parts, so their permutations give the p-value, whatever the scale.
- **Keeps**: retention R = A(judge, people) / A(people, people). A = 1 - observed / expected is chance-corrected
  agreement on the distance of the alignment score; expected distances are those of labels by two different annotators
  on two *different* items of the same part, so nobody is rewarded for knowing the part. Each item counts the same; a
  part counts by its items. A judge that is exchangeable with the people has R = 1 however skewed the labels are; one
  that gives a constant, a constant per part, or tosses a coin has R = 0.
- **Repeats**: does it agree with one person beyond what that person and the judge share with the others?
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from assay.estimation.intervals import Estimate, EstimateByRule, Pseudo, missing
from assay.estimation.result import Exclusion
from assay.estimation.statistic import Bools, Floats, Ints
from assay.replacement.panel import (
    DENSE_CELLS,
    AlignmentScore,
    CustomScore,
    NegRMSE,
    PairwiseScore,
    Panel,
    Stratification,
)

MOST_CALLED = 500
"""Items that are drawn where each distance calls a similarity or a function: of 3 people 25,000 pairs of labels."""

BLOCK = 5
"""Where each distance calls a function, a part is cut at random into blocks of about this size, and everything is asked
within blocks: permutations within them are exchangeable too, and 4 other items tell what to expect of an item
nearly as well as all, since an item's own distance varies as much as one of theirs."""

MOST_OTHERS = 3
"""Labels of an item that meet those of another one, where each distance calls a function."""

FEWEST_UNITS = 8
"""Items or clusters from which on agreement has an interval: fewer say nothing of their own skewness."""

FEWEST_DECIDING = 4.0
"""Units that decide, at least, as items with a rare label do: of 95/5 labels 60 items have 4. With fewer, R = 1/2
is called less in up to .29 of studies in place of .05."""

CLEAR, OPEN = 1e-4, 0.3
"""Where the p-value by moments lies between these, permutations are drawn: there its error might decide."""

DRAWN_CELLS = 400_000
"""Labels that are permuted together: 1,999 permutations of 200 items, 399 of 1,000, in about 10 ms."""

MOST_DRAWN = 20_000
"""With more items the p-value by moments has no error that could decide."""


# -- distances of labels, in sums ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Side:
    """Labels of one side, the judge's or people's; those of an item weigh 1 together.

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
        """Labels whose weights are made to add up to 1 on each item."""
        return cls(item, who, value, weight / np.bincount(item, weight, n_items)[item])


@dataclass(frozen=True, eq=False)
class Fit:
    """How well the judge's labels fit the people of their items, and how well they would fit in any other order.

    Attributes
    ----------
    value : float
        Less its mean over all orders of the labels within parts.
    variance, third : float
        Second and third cumulant over these orders, those of parts added up (Hoeffding 1951).
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
        """Summed distance of each value to the labels of ``to`` that are in the same of n ``groups``: (values,)."""

    @abstractmethod
    def fit(self, judge: Floats, people: Side, part: Ints) -> Fit:
        """How well the judge's labels, (items,), fit."""


@dataclass(frozen=True)
class Different(LabelDistance):
    """1 where two labels differ. Values are codes from 0 to ``n_labels`` - 1."""

    n_labels: int

    def toward(self, value: Floats, group: Ints, to: Side, groups: Ints, n: int) -> Floats:
        """All that is in the group less what has the same label."""
        theirs = groups * self.n_labels + to.value.astype(np.int64)
        mine = group * self.n_labels + value.astype(np.int64)
        total = np.bincount(groups, to.weight, n)[group]
        if n * self.n_labels <= DENSE_CELLS:
            return np.asarray(total - np.bincount(theirs, to.weight, n * self.n_labels)[mine])
        keys, where = np.unique(np.concatenate([theirs, mine]), return_inverse=True)
        return np.asarray(total - np.bincount(where[: len(theirs)], to.weight, len(keys))[where[len(theirs) :]])

    def fit(self, judge: Floats, people: Side, part: Ints) -> Fit:
        """By the weight of people with each label, centred over the items and over the judge's labels of each part."""
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
        """From the number of the others, their sum and their sum of squares."""
        w, s, q = (np.bincount(groups, to.weight * to.value**power, n)[group] for power in (0, 1, 2))
        return np.asarray(np.maximum(w * value**2 - 2 * value * s + q, 0.0))

    def fit(self, judge: Floats, people: Side, part: Ints) -> Fit:
        """The judge's labels by people's mean of the item, each less the mean of its part."""
        size = np.bincount(part).astype(float)
        mean = np.bincount(people.item, people.weight * people.value, len(judge))
        own, mean = (value - (np.bincount(part, value) / size)[part] for value in (judge, mean))
        sums = [sums_of(part, mean**power) * sums_of(part, own**power) for power in (2, 3)]
        return Fit(float(mean @ own), *_cumulants(sums, size), lambda order: own[order] @ mean)


def _cumulants(sums: Sequence[Floats], size: Floats) -> tuple[float, float]:
    """Of a sum over a random order, from the sums of squares and cubes of each part's doubly centred matrix."""
    second, third = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(size > 1, second / (size - 1), 0.0)
        cubed = np.where(size > 2, size * third / ((size - 1) * (size - 2)), 0.0)
    return float(variance.sum()), float(cubed.sum())


@dataclass(frozen=True, eq=False)
class Called:
    """Distances that call a similarity or a function: of every two items of a block, arrays (items, width).

    Attributes
    ----------
    block, place : (items,) int
        The block of each item, and its place there.
    member : int
        The items of the block, -1 where it has fewer.
    judge, people : float
        Mean distance of the member's label by the judge, of its labels by other people, to people's of the item.
    """

    block: Ints
    place: Ints
    member: Ints
    judge: Floats
    people: Floats

    def own(self, of: Floats) -> Floats:
        """Each item's with itself: (items,)."""
        return np.asarray(of[np.arange(len(of)), self.place])

    def met(self, of: Floats, at: Arrangement) -> Met:
        """Labels of the same item, and of every two items of a block, in both orders."""
        return Met.of(self.own(of), chance_of_calls(self, of, at), at)

    def fit(self) -> Fit:
        """How well the judge's labels fit, in the order they have."""
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
    """Ask for the distances of items of one block; blocks, and whose labels are asked about, are drawn."""
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
    # Some labels by people of each item, the same whatever they are compared with.
    theirs, start, many = _some_labels(to, n, rng)
    mine, first_of_mine, many_mine = (theirs, start, many) if to is people else _some_labels(people, n, rng)
    item, q = np.nonzero(member >= 0)
    other = member[item, q]
    pair = np.repeat(np.arange(len(item)), many[item])
    row = theirs[_ranges(start[item], many[item])]
    judged, among = np.full(member.shape, np.nan), np.full(member.shape, np.nan)
    judged[item, q] = np.bincount(pair, ask(judge[other[pair]], to.value[row]), len(item)) / many[item]
    # Every label that is kept of an item with every one, by another, that is kept of the other item.
    twice = np.repeat(np.arange(len(pair)), many_mine[other[pair]])
    one, two = row[twice], mine[_ranges(first_of_mine[other[pair]], many_mine[other[pair]])]
    apart = to.who[one] != people.who[two]
    pair, found = pair[twice][apart], ask(to.value[one[apart]], people.value[two[apart]])
    with np.errstate(invalid="ignore", divide="ignore"):
        among[item, q] = np.bincount(pair, found, len(item)) / np.bincount(pair, minlength=len(item))
    return Called(block, place, member, judged, among)


def _some_labels(side: Side, n_items: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Rows of up to `MOST_OTHERS` labels of each item, one item behind the other; where each starts, and how many."""
    order = np.lexsort((rng.random(len(side.item)), side.item))
    rank = np.arange(len(order)) - np.searchsorted(side.item[order], side.item[order])
    row = order[rank < MOST_OTHERS]
    many = np.bincount(side.item[row], minlength=n_items)
    return row, np.cumsum(many) - many, many


def _ranges(start: Ints, many: Ints) -> Ints:
    """start, start + 1, … of each, one behind the other."""
    ends = np.cumsum(many)
    return np.asarray(np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - (ends - many), many))


def _distances(score: AlignmentScore, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
    """Half of what each label scores with itself, added up, less what they score with each other."""
    labels = np.unique(np.concatenate([first, second]))
    itself = score.of_pairs(label, labels, labels)
    a, b = (itself[np.searchsorted(labels, value)] for value in (first, second))
    return np.asarray((a + b) / 2 - score.of_pairs(label, first, second))


def sums_of(group: Ints, weight: Floats | None = None, n: int = 0) -> Floats:
    """How much weight each of n groups has: (groups,)."""
    return np.bincount(group, weight, n).astype(np.float64)


# -- chance-corrected agreement, with and without each unit ---------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Which part and which unit each item is in, and the cells of a unit and a part that hold items."""

    part: Ints
    unit: Ints

    @cached_property
    def n_parts(self) -> int:
        """How many parts there are."""
        return int(self.part.max()) + 1

    @cached_property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.unit.max()) + 1

    @cached_property
    def by_item(self) -> bool:
        """Whether each item is a unit."""
        return self.n_units == len(self.unit)

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The unit and the part of each cell, and the cell of each item."""
        keys, cell = np.unique(self.unit * self.n_parts + self.part, return_inverse=True)
        return keys // self.n_parts, keys % self.n_parts, cell


@dataclass(frozen=True, eq=False)
class Chance:
    """Summed distances of labels of different items of each part, and how many; and what falls away with each cell."""

    far: Floats
    many: Floats
    far_without: Floats
    many_without: Floats

    def expected(self, at: Arrangement) -> tuple[Floats, Floats]:
        """The mean distance in each part, (parts,), and without each cell, (cells,)."""
        part = at.cells[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(self.many > TINY, self.far / self.many, 0.0)
            left = self.many[part] - self.many_without
            # A part that falls away keeps its expectation: none of its items is left to count.
            return each, np.where(left > TINY, (self.far[part] - self.far_without) / left, each[part])


def chance_of_sums(distance: LabelDistance, a: Side, b: Side, at: Arrangement) -> Chance:
    """All labels of one side with those of the other, by others on other items; both sides may be the same."""
    same, n_cells, cell = a is b, len(at.cells[0]), at.cells[2]
    far, many = _toward(distance, a, b, at.part, at.n_parts, same)
    found = [sums_of(at.part[a.item], a.weight * one, at.n_parts) for one in (far, many)]
    left = [sums_of(cell[a.item], a.weight * one, n_cells) * (2 if same else 1) for one in (far, many)]
    if not same:
        for one, back in zip(left, _toward(distance, b, a, at.part, at.n_parts, same), strict=True):
            one += sums_of(cell[b.item], b.weight * back, n_cells)
    if not at.by_item:
        # What lies within the cell altogether was counted from both ends.
        for one, inside in zip(left, _toward(distance, a, b, cell, n_cells, same), strict=True):
            one -= sums_of(cell[a.item], a.weight * inside, n_cells)
    return Chance(found[0], found[1], left[0], left[1])


def _toward(distance: LabelDistance, a: Side, b: Side, part: Ints, n_parts: int, same: bool) -> tuple[Floats, Floats]:
    """For each label of ``a``: summed distance to ``b``'s on other items of the part, by others; and how many."""
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
    """Every two items of a block, in both orders."""
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
    """Observed and expected distance of an item's labels, summed over items; and without each unit, (units,)."""

    observed: float
    expected: float
    observed_without: Floats
    expected_without: Floats

    @classmethod
    def of(cls, observed: Floats, chance: Chance, at: Arrangement) -> Met:
        """From the mean distance of each item's labels, (items,), and what falls away with each unit."""
        unit, part, cell = at.cells
        held, size = sums_of(cell), sums_of(at.part)
        each, without = chance.expected(at)
        expected, off = float(size @ each), size[part] * each[part] - (size[part] - held) * without
        return cls(
            float(observed.sum()), expected, float(observed.sum()) - sums_of(at.unit, observed, at.n_units),
            expected - sums_of(unit, off, at.n_units),
        )  # fmt: skip

    def agreement(self) -> tuple[float, Floats]:
        """A = 1 - observed / expected, and without each unit; NaN where labels do not vary."""
        if self.expected <= TINY:
            return math.nan, np.full(len(self.expected_without), math.nan)
        there = self.expected_without > TINY
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 - self.observed / self.expected, np.where(
                there, 1 - self.observed_without / self.expected_without, math.nan
            )

    @property
    def deciding(self) -> float:
        """How many units the agreement rests on: the squared sum of what each adds to it over the sum of squares."""
        value, without = self.covariance()
        each = np.abs(value - without)
        return float(each.sum() ** 2 / max((each**2).sum(), TINY))

    def covariance(self) -> tuple[float, Floats]:
        """Expected less observed, and without each unit: twice a covariance, where distances are squares."""
        return self.expected - self.observed, self.expected_without - self.observed_without


TINY = 1e-9
"""Distances and weights up to this are rounding."""


# -- one judge -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StratumResult:
    """A judge within the parts of one structure.

    Attributes
    ----------
    strata : str
        What divides the items; empty where nothing does.
    by_stem : bool
        Whether that are stems of names.
    p_item_level : float
        Of H0: within parts the judge's labels are exchangeable.
    pseudo : Pseudo or None
        Of A(judge, people) and A(people, people); None where too few units, or one alone, decide.
    agreements : (2,) float
        Both as they are, NaN where labels do not vary within parts.
    n_units : int
    """

    strata: str
    by_stem: bool
    p_item_level: float
    pseudo: Pseudo | None
    agreements: tuple[float, float]
    n_units: int

    def p_ratio_above(self, least: float) -> float:
        """Of H0: R is truly ``least`` or less."""
        return 1.0 if self.pseudo is None else self.pseudo.p_above(np.array([1.0, -least]))

    def p_ratio_below(self, least: float) -> float:
        """Of H0: R is truly ``least`` or more."""
        return 1.0 if self.pseudo is None else self.pseudo.p_above(np.array([-1.0, least]))

    @property
    def p_agreement(self) -> float:
        """Of H0: people agree within parts no more than chance."""
        return 1.0 if self.pseudo is None else self.pseudo.p_above(np.array([0.0, 1.0]))

    def agreement(self, which: int, level: float) -> Estimate:
        """A of the judge with people, 0, or of people with each other, 1, with its interval."""
        if self.pseudo is None:
            return missing(NO_AGREEMENT if math.isnan(self.agreements[which]) else FEW_DECIDE)
        weights = np.eye(2)[which]
        return _by_pseudo(self.pseudo, weights, level)

    def contrast(self, least: float, level: float) -> Estimate:
        """A(judge, people) - ``least`` · A(people, people)."""
        if self.pseudo is None:
            return missing(FEW_DECIDE)
        return _by_pseudo(self.pseudo, np.array([1.0, -least]), level)

    def agreement_ratio(self, level: float) -> Estimate:
        """R, with Fieller's interval by Hall's statistic; none where people's own agreement may be none."""
        if self.pseudo is None:
            return missing(NO_AGREEMENT if math.isnan(self.agreements[1]) else FEW_DECIDE)
        pseudo = self.pseudo
        if np.ptp(pseudo.values[:, 0]) <= TINY:
            return Estimate(0.0, math.nan, math.nan, math.nan, NEVER_VARIES)
        judge, people = pseudo.mean.tolist()
        low, high = pseudo.ratio_interval(level)
        if people <= 0 or not (math.isfinite(low) and math.isfinite(high)):
            return missing("agreement among annotators is too imprecise to divide by")
        error = float((pseudo.values @ np.array([1, -judge / people])).std(ddof=1)) / people / math.sqrt(self.n_units)

        def test(null: float) -> float:
            weights = np.array([1.0, -null])
            return min(1.0, 2 * min(pseudo.p_above(weights), pseudo.p_above(-weights)))

        return EstimateByRule(judge / people, low, high, error, ends=pseudo.ratio_interval, test=test)


NO_AGREEMENT = "labels do not vary within strata of items"
NEVER_VARIES = "the judge gives one label within each stratum, so that its agreement is 0"
FEW_DECIDE = "too few items determine the agreement"


def _by_pseudo(pseudo: Pseudo, weights: Floats, level: float) -> Estimate:
    error = float((pseudo.values @ weights).std(ddof=1)) / math.sqrt(len(pseudo.values))

    def test(null: float) -> float:
        return min(1.0, 2 * min(pseudo.p_above(weights, null), pseudo.p_above(-weights, -null)))

    return EstimateByRule(
        float(pseudo.mean @ weights), *pseudo.interval(weights, level), error,
        ends=partial(pseudo.interval, weights), test=test,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ItemLevelAgreement:
    """What a judge sees of the items, within each structure.

    Attributes
    ----------
    within : tuple of StratumResult
        By structure, those by stems last.
    least : float
        The retention that is asked for.
    n_items : int
        Items that were looked at, drawn where there are very many.
    match : AnnotatorMatch or None
        The person that it repeats.
    """

    within: tuple[StratumResult, ...]
    least: float
    n_items: int
    match: AnnotatorMatch | None = None

    @cached_property
    def _asked(self) -> list[StratumResult]:
        """Those in which people are known to agree, where stems alone might say all that they see."""
        return [one for one in self.within if not one.by_stem or one.p_agreement <= STEM_LEVEL]

    @cached_property
    def for_item_level(self) -> StratumResult:
        """The structure within which it is the least sure that the judge looks."""
        return max(self._asked, key=lambda one: one.p_item_level)

    @cached_property
    def for_ratio(self) -> StratumResult:
        """The structure within which it is the least sure that R is large enough; stems are no such structure."""
        return max((one for one in self.within if not one.by_stem), key=lambda one: one.p_ratio_above(self.least))

    @property
    def p_item_level(self) -> float:
        """Of H0: there is a structure beyond which the judge does not look."""
        return self.for_item_level.p_item_level

    @property
    def p_ratio_above(self) -> float:
        """Of H0: there is a structure within which R is ``least`` or less."""
        return self.for_ratio.p_ratio_above(self.least)

    @property
    def p_ratio_below(self) -> float:
        """Of H0: R is ``least`` or more within each structure (Bonferroni)."""
        n = sum(not one.by_stem for one in self.within)
        return min(1.0, n * self.for_ratio.p_ratio_below(self.least))


STEM_LEVEL = 0.05
"""Stems are a structure only where people are shown to agree within them: else nobody could be seen to look there."""


@dataclass(frozen=True)
class AnnotatorMatch:
    """The person with whom a judge agrees beyond what both share with the others.

    Attributes
    ----------
    annotator : str
    p : float
        Corrected for the number of people (Bonferroni).
    same, others : float
        The share of items on which the judge gives the person's label, and on which two people give the same.
    """

    annotator: str
    p: float
    same: float
    others: float

    def exclusion(self) -> Exclusion:
        """That the person was left out, and why."""
        return Exclusion("annotator", 1, "the judge repeats the labels", (self.annotator,))


def item_level_agreement(
    score: AlignmentScore, panel: Panel, judge: Floats, strata: Sequence[Stratification], clusters: Ints | None,
    least: float, seed: int, names: Sequence[str],
) -> ItemLevelAgreement:  # fmt: skip
    """What a judge sees of the items.

    Parameters
    ----------
    score : AlignmentScore
    panel : Panel
    judge : (items,) float
        NaN where it has no label or the item does not count.
    strata : sequence of Stratification
        What is known of items without reading them; none: all items are alike.
    clusters : (items,) int or None
        Items that are left out together.
    least : float
        The retention that is asked for.
    names : sequence of str
        Of the people.
    """
    sides = _Sides.of(score, panel, judge, seed)
    units = np.arange(len(sides.items)) if clusters is None else clusters[sides.items]
    plain = [one for one in strata if not one.by_stem] or [Stratification("", np.zeros(panel.n_items, dtype=np.int64))]
    stems = [one for one in strata if one.by_stem]
    within = tuple(_test_looks(sides, one, units, clusters is not None, seed) for one in (*plain, *stems))
    return ItemLevelAgreement(
        within, least, len(sides.items), _find_match(sides, units, plain[-1].part[sides.items], names)
    )


@dataclass(frozen=True, eq=False)
class AgreementRatioStudies:
    """Pseudo-values of A(judge, people) and A(people, people) in many studies.

    Attributes
    ----------
    values : (studies, items, 2) float
        Of the items that count, in their order; 0 behind the last.
    n_items : (studies,) int
        How many count; 0 in studies in which it cannot be told.
    deciding : (studies,) float
        How many of them decide.
    """

    values: Floats
    n_items: Ints
    deciding: Floats

    @classmethod
    def of(cls, score: AlignmentScore, panel: Panel, judge: Floats, n_studies: int) -> AgreementRatioStudies:
        """Of studies of one size by panels of one size, numbered study by study; nothing divides their items."""
        width, members = panel.n_items // n_studies, panel.n_annotators // n_studies
        found = cls(np.zeros((n_studies, width, 2)), np.zeros(n_studies, dtype=np.int64), np.zeros(n_studies))
        sides = _Sides.of(score, panel, judge, 0)
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
        untold = np.bincount(study[np.isnan(values).any(axis=1)], minlength=len(n)) > 0
        told = ~untold & (n >= FEWEST_UNITS) & (deciding[1] >= FEWEST_DECIDING)
        rank, kept = np.arange(len(study)) - (np.cumsum(n) - n)[study], told[study]
        found.values[study[kept], rank[kept]] = values[kept]
        found.n_items[: len(n)], found.deciding[: len(n)] = np.where(told, n, 0), deciding[1]
        return found


def _in_each_part(distance: LabelDistance, a: Side, b: Side, at: Arrangement) -> tuple[Floats, Floats, Floats]:
    """Agreement in each part, (parts,), without each item, (items,), and how many items decide it, (parts,)."""
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
class _Sides:
    """The labels of some items, numbered anew.

    Attributes
    ----------
    items : (items,) int
        Which they are.
    judge : (items,) float
    people, to : Side
        People's labels, and those that everybody is compared with: the same, or references.
    distance : LabelDistance or None
        None where each distance calls ``score``.
    """

    items: Ints
    judge: Floats
    people: Side
    to: Side
    distance: LabelDistance | None
    score: AlignmentScore
    label: Callable[[float], Any]

    @classmethod
    def of(cls, score: AlignmentScore, panel: Panel, judge: Floats, seed: int) -> _Sides:
        """Items with the judge and somebody to compare both with, drawn where there are very many."""
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
            # In units of people's spread, so that rounding is told from differences whatever the unit of the labels.
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

    def part(self, keep: Bools, only: Bools | None = None) -> _Sides:
        """Those of some of the items and, where ``only`` is given, some of people's labels."""
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
    """Labels of two sides, or of one side by different annotators, on the same items and on different ones."""
    return Met.of(_observed(distance, a, b, len(at.part)), chance_of_sums(distance, a, b, at), at)


def _observed(distance: LabelDistance, a: Side, b: Side, n: int) -> Floats:
    """Mean distance of labels of two sides, or of one side by different annotators, on each of n items: (items,)."""
    each = sums_of(a.item, a.weight * distance.toward(a.value, a.item, b, b.item, n), n)
    return each / (1 - sums_of(a.item, a.weight**2, n)) if a is b else each


def _test_looks(sides: _Sides, strata: Stratification, units: Ints, clustered: bool, seed: int) -> StratumResult:
    """A judge within the parts of one structure: of items that are alone in theirs nothing is expected."""
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
    pseudo, agreements = _pseudo(sides, at, called)
    if clustered:
        # Items of a cluster are not exchangeable with others: agreement that holds over clusters is asked for besides.
        p_item_level = max(p_item_level, 1.0 if pseudo is None else pseudo.p_above(np.array([1.0, 0.0])))
    return StratumResult(strata.name, strata.by_stem, p_item_level, pseudo, agreements, at.n_units)


def _pseudo(sides: _Sides, at: Arrangement, called: Called | None = None) -> tuple[Pseudo | None, tuple[float, float]]:
    """Pseudo-values of A(judge, people) and A(people, people), None where too few units decide; and both as seen."""
    if called is not None:
        met = called.met(called.judge, at), called.met(called.people, at)
    else:
        assert sides.distance is not None
        met = meet(sides.distance, sides.own, sides.to, at), meet(sides.distance, sides.people, sides.to, at)
    (judge, less), (people, fewer) = (one.agreement() for one in met)
    without = np.column_stack([less, fewer])
    if at.n_units < FEWEST_UNITS or math.isnan(judge + people) or np.isnan(without).any():
        return None, (judge, people)
    deciding = met[1].deciding
    if deciding < FEWEST_DECIDING:
        return None, (judge, people)
    return Pseudo.of(np.array([judge, people]), without, deciding), (judge, people)


def codes_of(values: Ints) -> Ints:
    """Each value's position among those there are."""
    return np.unique(values, return_inverse=True)[1]


def permutation_p(fit: Fit, part: Ints, seed: int) -> float:
    """How often labels in another order, within parts, fit as well or better.

    By the first three moments of all orders (Pearson's type III) and, where that might decide wrongly, by orders that
    are drawn, the one at hand among them.
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
    rng, n = np.random.default_rng(seed), len(part)
    many = int(np.clip(DRAWN_CELLS // n, 199, 9_999))
    sorted_by_part = np.argsort(part, kind="stable")
    order = np.empty((many, n), dtype=np.int64)
    order[:, sorted_by_part] = np.argsort(part + rng.random((many, n)), axis=1)
    return float((1 + np.count_nonzero(fit.again(order) >= fit.value - 1e-9 * sd)) / (1 + many))


# -- the judge repeats a person --------------------------------------------------------------------------

REPEATS = 0.01
"""Level at which a judge is said to repeat somebody. How often honest judges and copies are named
stands in docs/type-one-error.md (`benchmarks/planted_judges.py`)."""

FEWEST_REPEATED = 30
"""Items that a person must share with the judge to be named."""


def _find_match(sides: _Sides, units: Ints, part: Ints, names: Sequence[str]) -> AnnotatorMatch | None:
    """The person j whose labels the judge shares beyond what both share with the others.

    With c the mean expected less observed distance (twice a covariance), and r the others: where one trait makes all
    agree and errors are independent, c_Jj = c_Jr · c_jr / c_rr, however good the judge or the person. So c_Jj is set
    beside c_Jr times what the person agrees better with the others than they do, as far as that is shown (`_better`),
    by the jackknife. That c_Jj be larger than what two people share is not asked: a judge that repeats somebody on
    most items and guesses on the rest shares less.
    """
    if sides.to is not sides.people or not len(sides.items):
        return None
    distance = sides.distance
    if distance is None:
        labels = np.unique(np.concatenate([sides.judge, sides.people.value]))
        distance = Different(len(labels))
        value = np.searchsorted(labels, sides.people.value).astype(float)
        people = replace(sides.people, value=value)
        sides = replace(sides, judge=np.searchsorted(labels, sides.judge).astype(float), people=people, to=people)
    people, n, m = sides.people, len(sides.items), len(names)
    near = distance.toward(people.value, people.item, sides.own, np.arange(n), n)
    total, often = sums_of(people.item, near, n), np.bincount(people.item, minlength=n)
    rest = (total[people.item] - near) / np.maximum(often[people.item] - 1, 1)
    count = np.bincount(people.who, minlength=m)
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = sums_of(people.who, rest - near, m) / count
        spread = np.sqrt(np.maximum(sums_of(people.who, (rest - near) ** 2, m) / count - ahead**2, 0) / count)
    # Only whom the judge is the most surely closer to than to the others of the same items can be who it repeats; that
    # the others are not asked about costs nothing, as p is corrected for all.
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where((count >= FEWEST_REPEATED) & (ahead > 2 * spread), ahead / spread, -1.0)
    if not len(lead) or lead.max() < 0:
        return None
    best = _copy_test(sides, distance, int(lead.argmax()), units, part)
    if best[0] * m > REPEATS:
        return None
    return AnnotatorMatch(names[best[1]], min(1.0, best[0] * m), best[2], best[3])


def _better(values: Floats, without: Floats) -> float:
    """How much better a person agrees with the others than they do: c_jr / c_rr, at least 1, shrunk towards it.

    By as much as the ratio may be chance (James & Stein): 1 where people are alike or the others' agreement is not
    shown. Errors of the ratio by the jackknife.
    """
    if Pseudo.of(values[3:], without[:, 3:]).p_above(np.ones(1)) > STEM_LEVEL or values[2] <= values[3]:
        return 1.0
    above = values[2] / values[3] - 1
    each = without[:, 2] / without[:, 3]
    n = len(each)
    chance = (n - 1) / n * float(((each - each.mean()) ** 2).sum()) / above**2
    return float(1 + above * max(0.0, 1 - chance))


def _copy_test(
    sides: _Sides, distance: LabelDistance, j: int, units: Ints, part: Ints
) -> tuple[float, int, float, float]:
    """The p-value of one person, the person, and how often labels are the same."""
    people, n = sides.people, len(sides.items)
    has = np.zeros(n, dtype=bool)
    has[people.item[people.who == j]] = True
    has &= np.bincount(part[has], minlength=int(part.max()) + 1)[part] > 1
    if np.count_nonzero(has) < FEWEST_UNITS:
        return 1.0, j, math.nan, math.nan
    mine, others = sides.part(has, people.who == j), sides.part(has, people.who != j)
    at = Arrangement(codes_of(part[has]), codes_of(units[has]))
    if at.n_units < FEWEST_UNITS:
        return 1.0, j, math.nan, math.nan
    said = np.unique(np.column_stack([at.part, mine.judge]), axis=0)
    if len(said) == at.part.max() + 1:
        # One label where items are alike repeats nobody: what it shares is 0, and rounding would test as more.
        return 1.0, j, math.nan, math.nan
    pairs = [(mine.own, mine.people), (mine.own, others.people), (mine.people, others.people)]
    several = bool((np.bincount(others.people.item) > 1).all())
    met = [meet(distance, a, b, at) for a, b in pairs]
    if several:
        met.append(meet(distance, others.people, others.people, at))
    values, without = (np.array(one) for one in zip(*(m.covariance() for m in met), strict=True))
    values, without = values / len(at.part), (without / (len(at.part) - sums_of(at.unit))).T
    better = _better(values, without) if several else 1.0
    more, each = values[0] - better * values[1], without[:, 0] - better * without[:, 1]
    p = Pseudo.of(np.array([more]), each[:, None]).p_above(np.ones(1))
    given = mine.people.value[np.argsort(mine.people.item)]
    same = float(np.mean(mine.judge == given))
    with_others = float(np.average(others.people.value == given[others.people.item], weights=others.people.weight))
    return p, j, same, with_others
