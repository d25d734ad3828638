"""What labels of different lessons, people and judges have in common: covariances with people and objects as samples.

The card of judges rests on these. An object (a teacher, or an item that has no lessons) has a universe score: what
all people would say of it over all of its lessons. Labels of *different* lessons by *different* people share nothing
else, so their mean product, minus that of labels of different objects, is the variance of universe scores, and with a
judge in one place the covariance of the judge's scores with people's. Every contrast of such means is judged by leaving
out each object, each person, and each person's labels of each object (a two-way jackknife), so that both are samples.

Labels are vectors: numbers have one entry, categories one for each category, and a product of two labels is 1 where
they are the same category.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.intervals import Estimate, EstimateByRule, missing
from assay.estimation.statistic import Bools, Floats, Ints

MOST_UNITS = 2_000
"""Objects that are left out one by one; more are left out in as many random blocks, which changes no estimate."""

FEW_PEOPLE = (
    "not estimable without one of the annotators, so that nothing shows how others would differ; collect labels of "
    "these items by more annotators"
)
"""Why there is no contrast for annotators as a sample: two of them are one pair."""


@dataclass(frozen=True, eq=False)
class LabelTables:
    """Labels of one criterion, summed for each rater over items, lessons and objects.

    Attributes
    ----------
    item : (items, raters, d) float
        The label, centred by the grand mean of its side; 0 if missing.
    labelled : (items, raters) float
        1 if there is a label.
    lesson_of, object_of : (items,) int
        Codes from 0. Without lessons each item is an object.
    people : (raters,) bool
    lessons : bool
        Whether objects have lessons; otherwise pairs of humans on the same item replace pairs of lessons.
    centre : (raters, d) float
        The grand mean that was subtracted from each rater's labels.
    """

    item: Floats
    labelled: Floats
    lesson_of: Ints
    object_of: Ints
    people: Bools
    lessons: bool
    centre: Floats

    @classmethod
    def of(
        cls, value: Floats, item: Ints, rater: Ints, lesson_of: Ints, object_of: Ints, people: Bools, *, lessons: bool
    ) -> LabelTables:  # fmt: skip
        """From one row a label, values (labels, d); people's are centred together, a judge's alone."""
        shape = len(object_of), len(people)
        labelled = np.zeros(shape)
        labelled[item, rater] = 1.0
        cells = np.zeros((*shape, value.shape[1]))
        cells[item, rater] = value
        centre = np.zeros((len(people), value.shape[1]))
        for mine in (people, *np.eye(len(people), dtype=bool)[~people]):
            centre[mine] = cells[:, mine].sum(axis=(0, 1)) / max(labelled[:, mine].sum(), 1.0)
        return cls(cells - labelled[..., None] * centre, labelled, lesson_of, object_of, people, lessons, centre)

    @cached_property
    def n_objects(self) -> int:
        """How many objects there are."""
        return int(self.object_of.max(initial=-1)) + 1

    @cached_property
    def unit_of(self) -> Ints:
        """Which unit each object is left out with: itself, or its block."""
        if self.n_objects <= MOST_UNITS:
            return np.arange(self.n_objects)
        return np.asarray(np.random.default_rng(0).permutation(self.n_objects) % MOST_UNITS)

    @cached_property
    def lesson_means(self) -> LabelTables:
        """The same with one label a lesson and rater: the mean over its items."""
        total, number = _sum_by(self.item, self.lesson_of), _sum_by(self.labelled, self.lesson_of)
        first = np.full(len(number), -1)
        first[self.lesson_of] = self.object_of
        means = total / np.maximum(number, 1)[..., None]
        order = np.arange(len(number))
        return LabelTables(means, (number > 0).astype(float), order, first, self.people, self.lessons, self.centre)

    @cached_property
    def sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Labels and their number, summed over lessons, then over objects: (n, raters, d) and (n, raters)."""
        lesson, number = _sum_by(self.item, self.lesson_of), _sum_by(self.labelled, self.lesson_of)
        return lesson, number, _sum_by(self.item, self.object_of), _sum_by(self.labelled, self.object_of)

    @cached_property
    def object_of_lesson(self) -> Ints:
        """The object of each lesson."""
        found = np.zeros(len(self.sums[1]), dtype=np.int64)
        found[self.lesson_of] = self.object_of
        return found

    def by_unit(self, of_object: Floats) -> Floats:
        """Numbers of objects, summed over units."""
        return _sum_by(of_object, self.unit_of)


def _sum_by(values: Floats, codes: Ints) -> Floats:
    """Rows with the same code added up."""
    found = np.zeros((int(codes.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(found, codes, values)
    return found


# -- sums, and the same without each object, person or cell ------------------------------------------


@dataclass(frozen=True, eq=False)
class Leftout:
    """Sums over pairs of labels and the same sums without each unit, person and cell: the last axis is the sums.

    Attributes
    ----------
    whole : (k,) float
    units : (units, k) float
    persons : (people, k) float
    cells : (cells, k) float
        Without one human's labels of one unit, if there are any.
    """

    whole: Floats
    units: Floats
    persons: Floats
    cells: Floats

    @classmethod
    def join(cls, parts: Sequence[Leftout]) -> Leftout:
        """Sums side by side."""
        return cls(*(np.concatenate([getattr(p, f) for p in parts], axis=-1)
                     for f in ("whole", "units", "persons", "cells")))  # fmt: skip

    @classmethod
    def additive(cls, by_unit: Floats, by_cell: Floats, there: Bools) -> Leftout:
        """Leave-out sums by subtraction, from sums by unit, (units, k), and by cell, (units, people, k)."""
        whole = by_unit.sum(axis=0)
        return cls(whole, whole - by_unit, whole - by_cell.sum(axis=0), whole - by_cell[there])


@dataclass(frozen=True, eq=False)
class RaterSide:
    """A panel: humans, who are left out one by one, or a judge or the members of a family, who are fixed.

    Attributes
    ----------
    who : (raters,) bool
    itself : bool
        Whether a member may be paired with itself (a single judge).
    """

    who: Bools
    sampled: bool
    itself: bool = False


def _totals(item: Floats, who: Bools) -> Floats:
    return np.asarray(item[:, who].sum(axis=1))


class Products:
    """Mean products of labels of two sides, over pairs of one object and of different objects."""

    def __init__(self, tables: LabelTables) -> None:
        self.tables = tables
        self.people = tables.people
        number = tables.sums[3]
        self.there = tables.by_unit(number[:, self.people]) > 0

    def same_object(self, one: RaterSide, two: RaterSide) -> Leftout:
        """Over pairs of labels of one object, of different lessons if there are any: products and their number."""
        t = self.tables
        lesson, n_lesson, obj, n_obj = t.sums
        by_object, by_cell = [], []
        for values in ((obj, lesson), (n_obj[..., None], n_lesson[..., None])):
            unit, cell = self._object_products(*values, one, two)
            by_object.append(unit)
            by_cell.append(cell)
        units = t.by_unit(np.stack(by_object, axis=-1))
        return Leftout.additive(units, t.by_unit(np.stack(by_cell, axis=-1)), self.there)

    def _object_products(self, obj: Floats, lesson: Floats, one: RaterSide, two: RaterSide) -> tuple[Floats, Floats]:
        """Products within each object, (objects,), and the contribution of each human's labels, (objects, people)."""
        t = self.tables

        def pairs(table: Floats) -> tuple[Floats, Floats]:
            a, b = _totals(table, one.who), _totals(table, two.who)
            total = (a * b).sum(axis=-1)
            same = one.who & two.who
            if same.any() and not one.itself:
                total = total - (table[:, same] ** 2).sum(axis=(1, 2))
            mine = table[:, self.people]
            each = np.zeros(mine.shape[:2])
            if one.sampled:
                other = b[:, None] - (mine if two.sampled else 0.0)
                each = (mine * other).sum(axis=-1) * (2.0 if two.sampled else 1.0)
            return total, each

        total, each = pairs(obj)
        if not t.lessons:
            return total, each
        of_lesson, each_lesson = pairs(lesson)
        return total - _sum_by(of_lesson, t.object_of_lesson), each - _sum_by(each_lesson, t.object_of_lesson)

    def other_objects(self, one: RaterSide, two: RaterSide) -> Leftout:
        """Over pairs of labels of different objects by different raters: products and their number."""
        t = self.tables
        _, _, obj, n_obj = t.sums
        both = [self._cross_products(values, one, two) for values in (obj, n_obj[..., None])]
        return Leftout(*(np.stack([part[i] for part in both], axis=-1) for i in range(4)))

    def _cross_products(self, obj: Floats, one: RaterSide, two: RaterSide) -> tuple[Floats, Floats, Floats, Floats]:
        """All products of totals, minus those of one rater with itself and those within an object."""
        t, same = self.tables, one.who & two.who
        skip = bool(same.any()) and not one.itself
        unit = t.by_unit(obj)  # (units, raters, d)
        total = unit.sum(axis=0)
        a, b = total[one.who].sum(axis=0), total[two.who].sum(axis=0)
        unit_a, unit_b = unit[:, one.who].sum(axis=1), unit[:, two.who].sum(axis=1)
        squares = (total[same] ** 2).sum()

        def left(a: Floats, b: Floats, squares: Floats | float, within: Floats | float) -> Floats:
            return np.asarray((a * b).sum(axis=-1) - (squares if skip else 0.0) - within)

        inside, inside_cell = self._inside(obj, one, two, skip=skip)
        within = inside.sum()
        left_unit = ((total[None] - unit)[:, same] ** 2).sum(axis=(1, 2))
        units = left(a - unit_a, b - unit_b, left_unit, within - inside)
        mine, mine_unit = total[self.people], unit[:, self.people]
        if not one.sampled:
            whole = left(a, b, squares, within)
            return whole, units, np.full(len(mine), whole), np.full(int(self.there.sum()), whole)
        twice = two.sampled
        persons = left(
            a - mine, b - mine if twice else b[None], squares - (mine**2).sum(axis=-1),
            within - inside_cell.sum(axis=0),
        )  # fmt: skip
        fewer = squares + ((mine[None] - mine_unit) ** 2).sum(axis=-1) - (mine**2).sum(axis=-1)[None]
        cells = left(a - mine_unit, b - mine_unit if twice else b[None, None], fewer, within - inside_cell)
        return left(a, b, squares, within), units, persons, cells[self.there]

    def _inside(self, obj: Floats, one: RaterSide, two: RaterSide, *, skip: bool) -> tuple[Floats, Floats]:
        """Products of totals of the same object, by unit and by cell."""
        a, b = _totals(obj, one.who), _totals(obj, two.who)
        total = (a * b).sum(axis=-1)
        if skip:
            total = total - (obj[:, one.who & two.who] ** 2).sum(axis=(1, 2))
        mine = obj[:, self.people]
        each = np.zeros(mine.shape[:2])
        if one.sampled:
            each = (mine * (b[:, None] - (mine if two.sampled else 0.0))).sum(axis=-1) * (2.0 if two.sampled else 1.0)
        return self.tables.by_unit(total), self.tables.by_unit(each)

    def spread(self, one: RaterSide) -> Leftout:
        """Squares of labels, then products of one rater's labels of different objects; the number of each behind it."""
        t = self.tables
        _, _, obj, n_obj = t.sums
        squares = _sum_by((t.item**2).sum(axis=-1), t.object_of)
        parts = []
        for values in (squares, n_obj):
            cell = values[:, self.people] if one.sampled else np.zeros((len(values), self.people.sum()))
            parts.append((t.by_unit(values[:, one.who].sum(axis=1)), t.by_unit(cell)))
        units, cells = (np.stack([p[i] for p in parts], axis=-1) for i in range(2))
        alone = [self._own_products(values, one) for values in (obj, n_obj[..., None])]
        rest = Leftout(*(np.stack([part[i] for part in alone], axis=-1) for i in range(4)))
        return Leftout.join([Leftout.additive(units, cells, self.there), rest])

    def _own_products(self, obj: Floats, one: RaterSide) -> tuple[Floats, Floats, Floats, Floats]:
        """Products of each rater's own labels of different objects, added up over raters."""
        t = self.tables
        unit = t.by_unit(obj)
        total = unit.sum(axis=0)
        inside = t.by_unit((obj**2).sum(axis=-1))  # (units, raters)
        each = (total**2).sum(axis=-1) - inside.sum(axis=0)
        whole = each[one.who].sum()
        left = ((total[None] - unit) ** 2).sum(axis=-1) - (inside.sum(axis=0) - inside)
        units = left[:, one.who].sum(axis=1)
        n = int(self.people.sum())
        if not one.sampled:
            return whole, units, np.full(n, whole), np.full(int(self.there.sum()), whole)
        cells = whole - each[self.people] + left[:, self.people]
        return whole, units, whole - each[self.people], cells[self.there]

    def same_item(self, one: RaterSide, two: RaterSide, *, centred: bool = True) -> Leftout:
        """Over pairs of labels of one item: number, products, then sums and squares of each side's labels.

        2 + 2 d + 2 sums; of people with each other each pair counts in both orders. Labels that are not ``centred``
        keep the distance of the judge from people, so that a severe judge agrees less.
        """
        t = self.tables
        here, there = t.labelled, t.item
        if not centred:
            there = there + here[..., None] * (t.centre - t.centre[t.people].mean(axis=0))
        squares = (there**2).sum(axis=-1)
        d = there.shape[-1]
        a = np.concatenate([here[..., None], there, squares[..., None]], axis=-1)  # (items, raters, 1 + d + 1)
        same = one.who & two.who
        first, second = a[:, one.who].sum(axis=1), a[:, two.who].sum(axis=1)

        def products(x: Floats, y: Floats) -> Floats:
            n, m = x[..., :1], y[..., :1]
            return np.concatenate(
                [n * m, (x[..., 1:d + 1] * y[..., 1:d + 1]).sum(axis=-1, keepdims=True), x[..., 1:d + 1] * m,
                 n * y[..., 1:d + 1], x[..., d + 1:] * m, n * y[..., d + 1:]], axis=-1,
            )  # fmt: skip

        total = products(first, second)
        if same.any():
            total = total - products(a[:, same], a[:, same]).sum(axis=1)
        mine = a[:, self.people]
        each = np.zeros((*mine.shape[:2], total.shape[-1]))
        if one.sampled:
            other = second[:, None] - (mine if two.sampled else 0.0)
            each = products(mine, other) + (products(other, mine) if two.sampled else 0.0)
        units, cells = (t.by_unit(_sum_by(x, t.object_of)) for x in (total, each))
        return Leftout.additive(units, cells, self.there)


# -- contrasts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contrast:
    """A contrast whose true value is 0 on a boundary, with objects and people as samples.

    Attributes
    ----------
    value : float
        Corrected for its bias over objects.
    error, df : float
        The standard error and Satterthwaite's degrees of freedom.
    reason : str or None
        Why there is none.
    """

    value: float
    error: float
    df: float
    reason: str | None = None

    def above(self) -> float:
        """One-sided p-value of a true value of 0 or less."""
        return self._tail(-1.0)

    def below(self) -> float:
        """One-sided p-value of a true value of 0 or more."""
        return self._tail(1.0)

    def _tail(self, sign: float) -> float:
        from scipy.special import stdtr

        if self.reason is not None:
            return math.nan
        return float(stdtr(self.df, sign * self.value / self.error))

    def estimate(self, level: float) -> Estimate:
        """The contrast with its interval of that level."""
        from scipy.special import stdtr, stdtrit

        if self.reason is not None:
            return missing(self.reason)

        def ends(at: float) -> tuple[float, float]:
            reach = float(stdtrit(self.df, (1 + at) / 2)) * self.error
            return self.value - reach, self.value + reach

        def test(null: float) -> float:
            return float(2 * stdtr(self.df, -abs(self.value - null) / self.error))

        return EstimateByRule(self.value, *ends(level), self.error, ends=ends, test=test)


def contrast(sums: Leftout, of: Callable[[Floats], Floats], *, people: bool = True) -> Contrast:
    """A contrast of sums: value, error by leaving out objects, people and cells, degrees of freedom.

    V = V_objects + max(V_people − V_cells, 0), each a delete-one jackknife: the contribution of a
    human's labels of one object is in both of the others. The value is corrected for bias over objects only: over
    humans the correction is noise.

    Parameters
    ----------
    of : function
        (..., k) sums to (...) contrasts.
    people : bool
        Whether people take part in the contrast.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        whole, units = float(of(sums.whole)), of(sums.units)
        persons, cells = (of(sums.persons), of(sums.cells)) if people else (np.zeros(0), np.zeros(0))
    if not (np.isfinite(whole) and np.isfinite(units).all() and np.isfinite(cells).all()):
        return Contrast(math.nan, math.nan, math.nan, "not estimable: too few pairs of labels, or no variance")
    if not np.isfinite(persons).all():
        return Contrast(math.nan, math.nan, math.nan, FEW_PEOPLE)
    of_units, of_people, of_cells = (_leave_one_out(x) for x in (units, persons, cells))
    variance = of_units + max(of_people - of_cells, 0.0)
    if not variance > 0:
        return Contrast(math.nan, math.nan, math.nan, "no object or annotator changes the value")
    below = of_units**2 / max(len(units) - 1, 1) + of_people**2 / max(len(persons) - 1, 1)
    value = len(units) * whole - (len(units) - 1) * float(units.mean())
    return Contrast(value, math.sqrt(variance), variance**2 / below)


def _leave_one_out(values: Floats) -> float:
    n = len(values)
    return float((n - 1) / n * ((values - values.mean()) ** 2).sum()) if n > 1 else 0.0


@dataclass(frozen=True, eq=False)
class JudgeMoments:
    """Covariances and variances of people and one judge (or family), to be put into contrasts.

    Every property takes sums (..., k) as `sums` has them. h denotes humans, m the judge.
    """

    products: Products
    judge: Bools
    d: int = 1

    @cached_property
    def sides(self) -> tuple[RaterSide, RaterSide]:
        """People, and the judge's members."""
        single = int(self.judge.sum()) == 1
        return RaterSide(self.products.people, sampled=True), RaterSide(self.judge, sampled=False, itself=single)

    @cached_property
    def sums(self) -> Leftout:
        """All sums: same object and other objects for hh, hm, mm; spreads of both."""
        h, m = self.sides
        p = self.products
        parts = [each(*pair) for pair in ((h, h), (h, m), (m, m)) for each in (p.same_object, p.other_objects)]
        return Leftout.join([*parts, p.spread(h), p.spread(m)])

    @cached_property
    def on_items(self) -> Leftout:
        """Sums over pairs of labels of the same item: people with each other, then people with the judge."""
        h, m = self.sides
        return Leftout.join([self.products.same_item(h, each, centred=False) for each in (h, m)])

    def covariance(self, sums: Floats, which: int) -> Floats:
        """c_h (0), c_hm (1) or c_m (2): the mean product within objects minus that between different objects."""
        at = 4 * which
        # Products that cancel leave rounding behind: divided by no pairs it would be infinite, and not missing.
        same, other = (np.where(n > 0, n, np.nan) for n in (sums[..., at + 1], sums[..., at + 3]))
        return np.asarray(sums[..., at] / same - sums[..., at + 2] / other)

    def variances(self, sums: Floats, which: int) -> tuple[Floats, Floats]:
        """Of a single label of people (0) or of the judge (1): within a rater, and over all raters."""
        at = 12 + 4 * which
        square = sums[..., at] / sums[..., at + 1]
        within = square - sums[..., at + 2] / sums[..., at + 3]
        between = 4 * (0 if which == 0 else 2)
        overall = square - sums[..., between + 2] / sums[..., between + 3]
        return np.asarray(within), np.asarray(overall)

    def agreements(self, sums: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Of labels of the same item: r and 1 − D_o/D_e of people with each other, then of people with the judge."""
        width = 4 + 2 * self.d
        found = [_agreement(sums[..., i * width : (i + 1) * width], self.d) for i in range(2)]
        # A judge that always gives the same label is uncorrelated with all human labels.
        return found[0][0], found[0][1], np.where(self.constant, 0.0, found[1][0]), found[1][1]

    @cached_property
    def constant(self) -> bool:
        """Whether the judge gives one label only."""
        return not self.products.tables.item[:, self.judge].any()


def _agreement(sums: Floats, d: int) -> tuple[Floats, Floats]:
    """Correlation, and 1 less observed over expected squared distance, of pairs of labels."""
    n = sums[..., 0]
    product = sums[..., 1] / n
    x, y = sums[..., 2 : 2 + d] / n[..., None], sums[..., 2 + d : 2 + 2 * d] / n[..., None]
    xx, yy = sums[..., 2 + 2 * d] / n, sums[..., 3 + 2 * d] / n
    between = (x * y).sum(axis=-1)
    r = (product - between) / np.sqrt((xx - (x**2).sum(axis=-1)) * (yy - (y**2).sum(axis=-1)))
    return np.asarray(r), np.asarray(1 - (xx + yy - 2 * product) / (xx + yy - 2 * between))
