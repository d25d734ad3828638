"""The cells of a judge's card: one contrast per measure, whose true value is 0 on the boundary.

A cell is ✓ if every contrast is significantly above 0, ✗ if one is significantly below 0, and undecided otherwise. No
contrast is a ratio: the reliability of the annotators, which is estimated with little precision, enters linearly, so
that a small study gives an undecided cell and not a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from assay.estimation.intervals import Estimate, EstimateByRule, missing
from assay.estimation.statistic import Bools, Floats, Ints
from assay.psychometrics.covariances import Contrast, JudgeMoments, LabelTables, Leftout, Products, contrast
from assay.replacement.alt_test import AltTest

Dimension = Literal["replacement", "concordance", "confidence", "validity", "bias", "fairness", "helpfulness"]

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

Mark = Literal["✓", "✗", "?", "–"]

LEAST_ANNOTATORS, LEAST_SHARED = 6, 5
"""Annotators whose severities have a spread, and labels that each shares with the judge: with fewer the interval of the
spread is so wide that no judge ever fails the bias criterion."""

LEAST_IN_GROUP = 10
"""Objects of a group: with fewer a difference of groups was claimed falsely in .42 to .67 of simulated studies."""

SPREAD_FLOOR = 0.1
"""Standard deviations of labels below which a severity does not count if the annotators do not differ."""

TOWARD = "correlation with the annotators' scores"
"""For a single judge, whose confidence is not estimable: the correlation of one label with the universe scores."""

MORE_OBJECTS = (
    "collect labels of more objects, or of more items or lessons of each. If the items of an object are outputs of "
    "different systems, give the option object the column of systems"
)
MORE_ITEMS = "collect labels of more items, each by two annotators"
"""How agreement among annotators can be demonstrated: on objects, and on items that are the objects."""

SCORES = "correlation with universe scores"

TWO_ANNOTATORS = "requires two or more annotators"

NO_SEVERITY = "severity is not defined for unordered categories"

HALVINGS = 60
"""Steps of the search for a p-value: as exact as a double."""


@dataclass(frozen=True)
class CellMeasure:
    """One measure of a cell.

    Attributes
    ----------
    measure : str
    found : Estimate
        The contrast, above 0 if the judge is within the boundary.
    above, below : float
        One-sided p-values of a true contrast of 0 or less, and of 0 or more; NaN if there is none.
    judge, human : float
        The compared values, if both are single numbers; NaN otherwise.
    needs : tuple of float
        Further one-sided p-values that ✓ requires.
    """

    measure: str
    found: Estimate
    above: float
    below: float
    judge: float = math.nan
    human: float = math.nan
    needs: tuple[float, ...] = ()

    @property
    def margin(self) -> float:
        """Of a group difference: its largest size within the boundary."""
        return self.found.estimate + abs(self.judge)

    @property
    def p_difference(self) -> float:
        """Two-sided p-value of a group difference of 0."""
        return self.found.p(self.margin) if math.isfinite(self.judge) else math.nan

    def difference_ends(self, level: float) -> tuple[float, float]:
        """The interval of a group difference."""
        low, high = self.found.interval(level)
        near, far = self.margin - high, self.margin - low
        return (near, far) if self.judge >= 0 else (-far, -near)

    @classmethod
    def absent(cls, why: str) -> CellMeasure:
        """A measure that this table does not support, with the data that it requires."""
        return cls("", missing(why), math.nan, math.nan)

    @classmethod
    def of(cls, measure: str, one: Contrast, level: float, judge: float, human: float, *needs: float) -> CellMeasure:
        """From a contrast of sums, with its interval of that level."""
        return cls(measure, one.estimate(level), one.above(), one.below(), judge, human, needs)


def cell_p_values(parts: tuple[CellMeasure, ...]) -> tuple[float, float]:
    """P-values of a cell: every contrast is above its boundary, and one of them is below (Bonferroni)."""
    above = [1.0 if math.isnan(p) else p for one in parts for p in (one.above, *one.needs)]
    below = [one.below for one in parts]
    if not parts or any(math.isnan(one.above) for one in parts):
        return math.nan, math.nan
    return max(above), min(1.0, len(below) * min(below))


@dataclass(frozen=True, eq=False)
class CardRow:
    """One judge, family or annotator on one criterion.

    Attributes
    ----------
    kind : {"judge", "family", "annotator"}
    parts : mapping of dimension to its measures
    test : AltTest or None
        The alternative annotator test behind the first cell.
    marks, alone : mapping of dimension to mark
        Adjusted over judges and criteria, and not adjusted.
    unequal : tuple of (CellMeasure, float)
        Group differences that are significantly different from 0, with their p-values, adjusted (Holm) over judges,
        criteria and groups; they may be within the boundary of fairness.
    """

    name: str
    kind: str
    criterion: str | None
    parts: Mapping[Dimension, tuple[CellMeasure, ...]]
    test: AltTest | None = None
    marks: Mapping[Dimension, Mark] = field(default_factory=dict)
    alone: Mapping[Dimension, Mark] = field(default_factory=dict)
    unequal: tuple[tuple[CellMeasure, float], ...] = ()

    @property
    def repeats(self) -> str | None:
        """The annotator whose labels the judge's labels match unusually often."""
        return None if self.test is None else self.test.verdict_tests.matched_annotator

    @property
    def label(self) -> str:
        """The judge, with its criterion if there are several."""
        return self.name if self.criterion is None else f"{self.name}, {self.criterion}"


@dataclass(frozen=True)
class Boundaries:
    """The boundaries between ✓ and ✗.

    Attributes
    ----------
    concordance, confidence : float
        Share of the annotators' value.
    validity : float
        Universe-score correlation.
    bias : float
        Standard deviations of the annotators' severities.
    fairness : float
        Standard deviations of the annotators' labels.
    """

    concordance: float = 0.75
    confidence: float = 0.5
    validity: float = 0.5
    bias: float = 1.5
    fairness: float = 0.25


@dataclass(frozen=True, eq=False)
class JudgeCells:
    """The contrasts of one judge or family on one criterion.

    Attributes
    ----------
    tables : LabelTables
    judge : (raters,) bool
        The judge, or the members of the family.
    group_of : (items,) int or None
        Group of each item's object, −1 if it has none.
    groups : tuple of str
    numeric : bool
        Whether labels are numbers or ordered.
    level : float
        One-sided, of each end.
    """

    tables: LabelTables
    judge: Bools
    group_of: Ints | None
    groups: tuple[str, ...]
    numeric: bool
    at: Boundaries
    level: float

    @property
    def both_ends(self) -> float:
        """The level of a two-sided interval whose ends are one-sided limits."""
        return 1 - 2 * self.level

    @cached_property
    def moments(self) -> JudgeMoments:
        """Covariances of single labels."""
        return JudgeMoments(Products(self.tables), self.judge, self.tables.item.shape[2])

    def cells(self) -> dict[Dimension, tuple[CellMeasure, ...]]:
        """Every dimension except the replacement."""
        every: dict[Dimension, Callable[[], tuple[CellMeasure, ...]]] = {
            "concordance": self.concordance, "confidence": self.confidence, "validity": self.validity,
            "bias": self.bias, "fairness": self.fairness, "helpfulness": self.helpfulness,
        }  # fmt: skip
        if not (self.tables.labelled[:, self.judge].any() and self.tables.labelled[:, self.tables.people].any()):
            return {name: (CellMeasure.absent("no human labels, or no labels of the judge"),) for name in every}
        if self.moments.constant:
            why = (CellMeasure.absent("the judge gives only one label"),)
            every |= dict.fromkeys(("confidence", "validity", "helpfulness"), lambda: why)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {name: make() for name, make in every.items()}

    def concordance(self) -> tuple[CellMeasure, ...]:
        """Human–judge agreement compared with human–human agreement, on the same items: r, and 1 − D_o/D_e."""
        sums, m, share = self.moments.on_items, self.moments, self.at.concordance
        people_r, people_d, judge_r, judge_d = (float(x) for x in m.agreements(sums.whole))
        if not math.isfinite(people_r):
            return (CellMeasure.absent("requires items with labels of two annotators, and labels that vary"),)

        def of(i: int) -> Contrast:
            return contrast(sums, lambda s: m.agreements(s)[2 + i] - share * m.agreements(s)[i])

        return (
            CellMeasure.of("correlation", of(0), self.both_ends, judge_r, people_r),
            CellMeasure.of("chance-corrected agreement", of(1), self.both_ends, judge_d, people_d),
        )

    def _unscored(self) -> tuple[CellMeasure, ...] | None:
        """Why objects have no universe scores; None if they have."""
        if not self.tables.lessons:
            return (CellMeasure.absent("requires several items of each object of measurement (--object)"),)
        if self.tables.people.sum() < 2:
            return (CellMeasure.absent(TWO_ANNOTATORS),)
        return None

    @cached_property
    def human_covariance(self) -> Contrast:
        """c_h: the covariance of labels of one object by different annotators, of different lessons if there are some.

        The annotators are fixed: with annotators as a sample it is demonstrated in .46 of the 80 studies of 40
        teachers behind docs/coverage.md, for these annotators in .69. Of 200 such studies without it, .04 claim it.
        """
        return contrast(self.moments.sums, lambda s: self.moments.covariance(s, 0), people=False)

    def _undemonstrated(self) -> tuple[CellMeasure, ...] | None:
        """Why the annotators' scores are not a reference; None if their covariance is significantly above 0.

        Both sides of each contrast of scores contain c_h or an analogous covariance. If every object has outputs of
        the same good and bad system, these are below 0, also for a judge drawn like the annotators: its cells are –.
        """
        c_h = self.human_covariance
        if c_h.above() <= self.level:
            return None
        objects = self.tables.lessons
        finding = f"not demonstrated at level {self.level:g}" if c_h.reason is None else "not estimable"
        return (
            CellMeasure.absent(
                f"agreement among annotators{' on the objects' if objects else ''} is {finding}; "
                f"{MORE_OBJECTS if objects else MORE_ITEMS}"
            ),
        )

    def confidence(self) -> tuple[CellMeasure, ...]:
        """Eρ² and Φ of single labels of the family, compared with those of the annotators."""
        m, share = self.moments, self.at.confidence
        if absent := self._unscored() or self._undemonstrated():
            return absent
        if self.judge.sum() < 2:
            return CellMeasure.absent("requires two or more judges of one family (--family)"), self._toward()

        def coefficients(s: Floats) -> tuple[tuple[Floats, Floats], ...]:
            pairs = []
            for which, place in ((0, 0), (2, 1)):
                c = m.covariance(s, which)
                pairs.append((c / m.variances(s, place)[0], c / m.variances(s, place)[1]))
            return tuple(pairs)

        def of(i: int, name: str) -> CellMeasure:
            people, judge = (float(pair[i]) for pair in coefficients(m.sums.whole))
            found = contrast(m.sums, lambda s: coefficients(s)[1][i] - share * coefficients(s)[0][i])
            return CellMeasure.of(name, found, self.both_ends, judge, people)

        return of(0, "Eρ²"), of(1, "Φ")

    def _toward(self) -> CellMeasure:
        """The correlation of one label with the annotators' universe scores, compared with one annotator's label.

        T = c_hm / √V_m − √κ c_h / √V_h, with κ the share that confidence requires. It does not decide the cell.
        """
        m, share = self.moments, math.sqrt(self.at.confidence)

        def sides(s: Floats) -> tuple[Floats, Floats]:
            return (
                m.covariance(s, 1) / np.sqrt(m.variances(s, 1)[1]),
                m.covariance(s, 0) / np.sqrt(m.variances(s, 0)[1]),
            )

        judge, people = (float(x) for x in sides(m.sums.whole))
        c_h = float(m.covariance(m.sums.whole, 0))
        scale = 1 / math.sqrt(c_h) if c_h > 0 else math.nan
        found = contrast(m.sums, lambda s: sides(s)[0] - share * sides(s)[1])
        return CellMeasure.of(TOWARD, found, self.both_ends, judge * scale, people * scale)

    def validity(self) -> tuple[CellMeasure, ...]:
        """The universe-score correlation of judge and annotators."""
        if absent := self._unscored() or self._undemonstrated():
            return absent
        m, least = self.moments, self.at.validity

        def value(s: Floats) -> Floats:
            c = [m.covariance(s, i) for i in range(3)]
            return np.asarray(c[1] - least * np.sqrt(np.maximum(c[0], 0) * np.maximum(c[2], 0)))

        people = contrast(m.sums, lambda s: m.covariance(s, 0)).above()
        judge = contrast(m.sums, lambda s: m.covariance(s, 2), people=False).above()
        c_h, c_hm, c_m = (float(m.covariance(m.sums.whole, i)) for i in range(3))
        implied = c_hm / math.sqrt(c_h * c_m) if c_h > 0 and c_m > 0 else math.nan
        found = contrast(m.sums, value)
        return (CellMeasure.of("universe-score correlation", found, self.both_ends, implied, math.nan, people, judge),)

    def helpfulness(self) -> tuple[CellMeasure, ...]:
        """The mean of an annotator and the judge against the annotator alone: correlation with the universe scores."""
        if self.tables.people.sum() < 2:
            return (CellMeasure.absent(TWO_ANNOTATORS),)
        if absent := self._undemonstrated():
            return absent
        m = JudgeMoments(Products(self.tables.lesson_means), self.judge, self.tables.item.shape[2])
        h, judge = m.sides
        k = m.sums.whole.shape[-1]
        sums = Leftout.join([m.sums, m.products.same_item(h, judge)])

        def together(s: Floats) -> tuple[Floats, Floats]:
            c_h, c_hm = m.covariance(s, 0), m.covariance(s, 1)
            v_h, v_m = m.variances(s, 0)[1], m.variances(s, 1)[1]
            same = s[..., k + 1] / s[..., k] - s[..., 6] / s[..., 7]
            return (c_h + c_hm) / np.sqrt(v_h + v_m + 2 * same), c_h / np.sqrt(v_h)

        def value(s: Floats) -> Floats:
            both, alone = together(s)
            return np.asarray(both - alone)

        both, alone = (float(x) for x in together(sums.whole))
        c_h = float(m.covariance(sums.whole, 0))
        scale = 1 / math.sqrt(c_h) if c_h > 0 else math.nan
        return (CellMeasure.of(SCORES, contrast(sums, value), self.both_ends, both * scale, alone * scale),)

    # -- severity --------------------------------------------------------------------------------

    @cached_property
    def apart(self) -> tuple[Floats, Floats]:
        """The judge's label minus each annotator's, (items, annotators), and whether both labelled the item."""
        here, there = self.tables.labelled[:, self.tables.people], self.tables.labelled[:, self.judge]
        label = self.tables.item[..., 0] + self.tables.labelled * self.tables.centre[:, 0]
        number = there.sum(axis=1)
        mean = label[:, self.judge].sum(axis=1) / np.maximum(number, 1)
        both = here * (number > 0)[:, None]
        return (mean[:, None] - label[:, self.tables.people]) * both, both

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the annotators' labels."""
        here = self.tables.labelled[:, self.tables.people] > 0
        return float(self.tables.item[:, self.tables.people, 0][here].std())

    def bias(self) -> tuple[CellMeasure, ...]:
        """The distance of the judge's severity from the annotators' mean, compared with their spread."""
        if not self.numeric:
            return (CellMeasure.absent(NO_SEVERITY),)
        difference, both = self.apart
        enough = both.sum(axis=0) >= LEAST_SHARED
        if enough.sum() < LEAST_ANNOTATORS:
            needs = f"requires {LEAST_ANNOTATORS} annotators with {LEAST_SHARED} items that the judge also labelled"
            return (CellMeasure.absent(needs),)
        d = difference[:, enough].sum(axis=0) / both[:, enough].sum(axis=0)
        errors = self._errors(difference[:, enough], both[:, enough])
        spread = SpreadContrast(float(d.mean()), d, float((errors**2).mean()), self.at.bias,
                                SPREAD_FLOOR * self.deviation)  # fmt: skip
        return (spread.part("severity", self.both_ends),)

    def _errors(self, difference: Floats, both: Floats) -> Floats:
        """Standard errors of each annotator's mean difference, with objects as clusters."""
        n = both.sum(axis=0)
        rest = difference - both * (difference.sum(axis=0) / n)
        of_object = np.zeros((self.tables.n_objects, rest.shape[1]))
        np.add.at(of_object, self.tables.object_of, rest)
        used = np.zeros_like(of_object)
        np.add.at(used, self.tables.object_of, both)
        clusters = np.maximum((used > 0).sum(axis=0), 2)
        return np.asarray(np.sqrt((of_object**2).sum(axis=0) * clusters / (clusters - 1)) / n)

    def fairness(self) -> tuple[CellMeasure, ...]:
        """Whether the judge differs from the annotators by group of objects: each group against the largest."""
        if not self.numeric:
            return (CellMeasure.absent(NO_SEVERITY),)
        if self.group_of is None:
            return (CellMeasure.absent("requires a column with groups of objects (--group)"),)
        of_object = np.full(self.tables.n_objects, -1)
        of_object[self.tables.object_of] = self.group_of
        sizes = np.bincount(of_object[of_object >= 0], minlength=len(self.groups))
        large = np.flatnonzero(sizes >= LEAST_IN_GROUP)
        if len(large) < 2:
            return (CellMeasure.absent(f"requires two groups of at least {LEAST_IN_GROUP} objects; the largest have "
                                f"{', '.join(str(n) for n in sorted(sizes, reverse=True)[:2])}"),)  # fmt: skip
        first = int(sizes.argmax())
        return tuple(self.group_difference(first, int(g), sizes) for g in large if g != first)

    def group_difference(self, first: int, other: int, sizes: Ints) -> CellMeasure:
        """Δ: the difference judge minus annotator between the groups, within annotators."""
        assert self.group_of is not None
        difference, both = self.apart
        among = np.isin(self.group_of, (first, other))
        y, w = difference[among], both[among]
        z = w * (self.group_of[among] == other)[:, None]
        n = np.maximum(w.sum(axis=0), 1)
        y, z = y - w * (y.sum(axis=0) / n), z - w * (z.sum(axis=0) / n)
        below = float((z**2).sum())
        name = f"{self.groups[other]} minus {self.groups[first]}"
        if below <= 0:
            return CellMeasure.absent(f"{name}: no annotator labelled both groups")
        delta = float((z * y).sum()) / below
        influence = np.zeros(self.tables.n_objects)
        np.add.at(influence, self.tables.object_of[among], (z * (y - delta * z)).sum(axis=1))
        clusters = int(sizes[first] + sizes[other])
        error = math.sqrt(float((influence**2).sum()) * clusters / (clusters - 1)) / below
        if error <= 1e-12 * max(1.0, abs(delta)):
            # No object is an exception: as if one label of each annotator on one object were off by a deviation.
            weight = np.bincount(self.tables.object_of[among], np.abs(z).sum(axis=1)).max()
            error = float(weight) * self.deviation * math.sqrt(clusters / (clusters - 1)) / below
        one = Contrast(self.at.fairness * self.deviation - abs(delta), error, float(min(sizes[[first, other]]) - 1),
                       None if error > 0 else "the labels do not vary")  # fmt: skip
        return CellMeasure.of(name, one, self.both_ends, delta, math.nan)


@dataclass(frozen=True, eq=False)
class SpreadContrast:
    """√((κ σ_h)² + floor²) − |φ|: the annotators' spread of severities minus the judge's distance from their mean.

    Its ends come from those of both (MOVER): φ by t over annotators, σ_h² by χ² minus the error of single means.
    """

    phi: float
    d: Floats
    noise: float
    times: float
    floor: float

    @property
    def spread(self) -> float:
        """σ_h: of the annotators' severities, corrected for the errors of their means."""
        return math.sqrt(max(float(self.d.var(ddof=1)) - self.noise, 0.0))

    def bound(self, variance: float) -> float:
        """The boundary for a variance of severities."""
        return math.sqrt(self.times**2 * max(variance, 0.0) + self.floor**2)

    @property
    def value(self) -> float:
        """The contrast."""
        return self.bound(self.spread**2) - abs(self.phi)

    def ends(self, level: float) -> tuple[float, float]:
        """The interval of that level."""
        from scipy.special import gammaincinv, stdtrit

        n, variance = len(self.d), float(self.d.var(ddof=1))
        reach = float(stdtrit(n - 1, (1 + level) / 2)) * math.sqrt(variance / n)
        near, far = max(abs(self.phi) - reach, 0.0), abs(self.phi) + reach
        with np.errstate(divide="ignore"):  # a level of 1 has infinite ends
            low, high = (self.bound(float((n - 1) * variance / (2 * gammaincinv((n - 1) / 2, q))) - self.noise)
                         for q in ((1 + level) / 2, (1 - level) / 2))  # fmt: skip
        here = self.bound(self.spread**2)
        return (self.value - math.hypot(far - abs(self.phi), here - low),
                self.value + math.hypot(abs(self.phi) - near, high - here))  # fmt: skip

    def one_sided(self, side: int, null: float = 0.0) -> float:
        """The p-value of a true contrast of ``null`` or beyond; .5 if the value itself is beyond.

        From the level at which the lower (0) or the upper end (1) equals ``null``.
        """
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            end = self.ends(middle)[side] - null
            low, high = (middle, high) if (end > 0 if side == 0 else end < 0) else (low, middle)
        return (1 - low) / 2

    def part(self, measure: str, level: float) -> CellMeasure:
        """With its interval and p-values."""

        def test(null: float) -> float:
            return min(1.0, 2 * min(self.one_sided(0, null), self.one_sided(1, null)))

        found = EstimateByRule(self.value, *self.ends(level), math.nan, ends=self.ends, test=test)
        return CellMeasure(measure, found, self.one_sided(0), self.one_sided(1), self.phi, self.spread)
