"""Tables of rater models: cells and their labels, traits that cells share, and raters that share items.

A *cell* is one criterion of one item, with the labels that raters gave to it. Cells with the same labels by the same
raters have the same likelihood, so each different one is kept once; so are items (or what shares a trait) whose cells
are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.columns import KEY, natural
from assay.data.ratings import numbers_of, refuse_conditions
from assay.errors import DataError, DesignError, counted, listing
from assay.estimation.intervals import adjust_p
from assay.estimation.options import Settings, level_option, option, seed_option
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.reporting.tables import signed
from assay.statistics.components.blocks import untold
from assay.statistics.words import dependence_cautions

# -- Options ---------------------------------------------------------------------------------------

RepeatsKept = Literal["error", "first", "last", "majority", "each"]
Distribution = Literal["auto", "categories", "normal"]
Progress = Callable[[str, int, int], None]
"""Called with the name of the task, the steps done, and all steps."""


@dataclass(frozen=True, kw_only=True)
class FacetSettings(Settings):
    """Options about the labels of a rater model."""

    annotators: str | Sequence[str] | None = option(None, "Annotators to include, separated by commas (default: all).")
    repeats: RepeatsKept = option(
        "error", "How to combine repeated labels.",
        details="Several labels of one annotator for one item; ``each`` uses every one.",
    )  # fmt: skip
    reverse: str | Sequence[str] | None = option(
        None, "Negatively worded criteria, separated by commas.",
        details="Their labels are reversed on the scale.", first=True,
    )  # fmt: skip
    object: str | None = option(
        None, "Item column whose items share a trait, such as a teacher's lessons.",
        details="Default: each item has a separate trait.", first=True,
    )  # fmt: skip
    confidence: float = level_option()
    seed: int = seed_option()

    def __post_init__(self) -> None:
        for name in ("annotators", "reverse"):
            if isinstance(one := getattr(self, name), str):
                object.__setattr__(self, name, (one,))
        super().__post_init__()


@dataclass(frozen=True)
class RaterSettings(FacetSettings):
    """Options of `assay.rater_model`."""

    group: str | None = option(
        None, "Item column with the group of the subject, for differential severity.",
        details="φ and ψ are then estimated by group; ``hospital,sex`` for each combination.", first=True,
    )  # fmt: skip
    by: str | None = option(
        None, "Annotator column (gender, expertise) whose groups are compared.",
        details="Adds ``groups``: differences of mean φ and ψ between the humans of two groups.", first=True,
    )  # fmt: skip
    _: KW_ONLY
    renamed: ClassVar[Mapping[str, str]] = {"dimensions": "traits=..."}

    distribution: Distribution = option(
        "auto", "Distribution of labels around the ideal rating: ordered categories, or normal.",
        details="``normal`` is the linear model for numbers; ``auto`` uses it for labels with fractions and for scales "
        "of more than 20 steps.", first=True,
    )  # fmt: skip
    baseline: str | None = option(None, "Group to compare with (default: the one with most labels).")
    reference: Literal["all", "humans", "judges"] = option(
        "all", "Raters whose mean group difference is the reference (without significantly different raters)."
    )
    rope: float = option(
        0.1, "Equivalence margin for group differences, in categories.", low=0,
        details="0.1 is one label of ten moved by one category. In the linear model: in standard deviations of labels "
        "within criteria.",
    )  # fmt: skip
    traits: Mapping[str, str | Sequence[str]] | None = option(
        None, "Trait of each criterion: clarity=style,depth=content; style+content for two.",
        details="Traits are independent. Default: one trait for all criteria.", first=True,
    )  # fmt: skip
    quick: bool = option(
        False, "Penalized maximum likelihood instead of MCMC.",
        details="Posterior mode with standard errors from the observed information: takes seconds and needs only the "
        "base install; intervals are normal approximations. Of a crowd (12 raters or more with fewer than 50 labels in "
        "the median), draws of the posterior by Hamiltonian Monte Carlo, without ``starts``, ``chains`` and ``draws``; "
        "hundreds of raters can take minutes.", first=True,
    )  # fmt: skip
    starts: int = option(10, "Number of starts; the best fit is used.", low=1, details="The fit with most mass.")
    nodes: int = option(
        21, "Quadrature points per trait.", low=3,
        details="Two traits of one criterion have about two thirds as many each.",
    )  # fmt: skip
    chains: int = option(4, "Number of MCMC chains.", low=2, details="Sampled with NUTS.")
    warmup: int = option(500, "Warm-up draws per chain.", low=50)
    draws: int = option(1000, "Posterior draws per chain.", low=100)
    progress: Progress | None = option(
        None, "Called with (what, done, steps).", transient=True, details="For a progress bar."
    )


@dataclass(frozen=True, kw_only=True)
class RaschSettings(FacetSettings):
    """Options of `assay.many_facet_rasch`."""

    nodes: int = option(31, "Quadrature points of the trait.", low=5)


# -- The table -------------------------------------------------------------------------------------

NOTICED = 1.2
"""Intervals of severity this many times as wide as those of independent labels are noted."""

MANY_RATERS, FEW_LABELS = 12, 50
"""A crowd has at least so many raters, with fewer labels in the median. Without pooling, normal intervals of φ cover
92% of 60 raters with 15 to 40 labels each, 70 to 78% of 260 with 2 to 6, and 94% of 20 with 50 to 70. Of 5 to 10 raters
with 8 to 30 labels each they cover 92 to 96%: each item has more labels."""

MOST_CATEGORIES = 20
"""Largest number of categories: the work is proportional to its square."""


@dataclass(frozen=True, eq=False)
class RaterTable:
    """The labels of all raters, each different cell once.

    Attributes
    ----------
    raters : tuple of str
        People first, each in natural order.
    is_judge : (raters,) bool
    criteria : tuple of str or None
        ``None`` without criteria.
    categories : tuple of tuple
        The labels of each criterion from the lowest to the highest; of a reversed one, in reversed order. In the linear
        model, the ends of its scale.
    groups : tuple of str
        Groups of the subjects, the baseline first; one, unnamed, without groups.
    item, criterion, rater, group, subject : (labels,) int
        Codes of each label.
    value : (labels,) int or float
        The category of each label from 0; in the linear model, its number in ``unit``.
    items, subjects : tuple
        Names of the codes.
    unit : str
        ``categories``; in the linear model ``points`` of the scale, or ``percent of the range`` if criteria have
        different scales.
    """

    raters: tuple[str, ...]
    is_judge: Floats
    criteria: tuple[str | None, ...]
    categories: tuple[tuple[Any, ...], ...]
    groups: tuple[str, ...]
    item: Ints
    criterion: Ints
    rater: Ints
    value: Ints | Floats
    group: Ints
    subject: Ints
    items: tuple[str, ...]
    subjects: tuple[Any, ...]
    fingerprint: str
    notes: tuple[str, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    unit: str = "categories"
    cautions: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    @property
    def linear(self) -> bool:
        """Whether labels are numbers around an ideal rating on a line, not categories."""
        return self.unit != "categories"

    @property
    def sizes(self) -> Ints:
        """Categories of each criterion: (criteria,)."""
        return np.array([len(c) for c in self.categories])

    @property
    def n_categories(self) -> int:
        """Of the criterion that has most."""
        return int(self.sizes.max())

    @property
    def n_blocks(self) -> int:
        """Groups times criteria."""
        return len(self.groups) * len(self.criteria)

    @property
    def block(self) -> Ints:
        """Group and criterion of each label, as one code: (labels,)."""
        return self.group * len(self.criteria) + self.criterion

    @cached_property
    def cell(self) -> Ints:
        """Item and criterion of each label, as one code: (labels,)."""
        _, found = np.unique(self.item * len(self.criteria) + self.criterion, return_inverse=True)
        return np.asarray(found)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each rater: ``human`` or ``judge``."""
        return tuple("judge" if one else "human" for one in self.is_judge)

    @cached_property
    def column(self) -> Ints:
        """Block, rater and category of each label as one code: (labels,)."""
        return np.asarray((self.block * len(self.raters) + self.rater) * self.n_categories + self.value)

    @cached_property
    def cells(self) -> Cells:
        """The different cells."""
        first = np.unique(self.cell, return_index=True)[1]
        kind, pattern, count = distinct_contents(self.cell, self.column, len(first))
        block = np.empty(len(pattern), dtype=np.int64)
        block[kind] = self.block[first]
        order = np.argsort(block, kind="stable")
        place = np.argsort(order)
        patterns = [pattern[i] for i in order]
        return Cells(
            block[order], count[order], place[kind], self.item[first], self.criterion[first], self.subject[first],
            np.concatenate(patterns), np.concatenate([[0], np.cumsum([len(p) for p in patterns])]),
        )  # fmt: skip

    @cached_property
    def counts(self) -> Ints:
        """Labels by group and rater: (groups, raters)."""
        n = len(self.raters)
        found = np.bincount(self.group * n + self.rater, minlength=len(self.groups) * n)
        return found.reshape(len(self.groups), n)

    @cached_property
    def group_sizes(self) -> Ints:
        """Subjects of each group: (groups,)."""
        return np.array([len(np.unique(self.subject[self.group == g])) for g in range(len(self.groups))])

    @cached_property
    def widening(self) -> Floats:
        """Inflation of the standard error of a rater's severity over the model's, because the labels of a subject
        share the rater's error on it: (raters,), at least 1.

        Standard errors of a mean of labels, minus the mean of their cell, clustered by subjects over those by labels
        (Liang and Zeger 1986), and t instead of the normal for few subjects. 1 for a rater with one label a subject.
        """
        return self._widening(self._away)

    @cached_property
    def widening_of_spread(self) -> Floats:
        """The same of ln ψ, from squared distances: a rater is far from the others on whole subjects."""
        n = np.maximum(self.counts.sum(axis=0), 1)
        return self._widening((self._away - (np.bincount(self.rater, self._away, len(n)) / n)[self.rater]) ** 2)

    def _widening(self, value: Floats) -> Floats:
        by_label, by_subject, subjects = self._errors(value, self.rater, len(self.raters))
        return np.where(subjects < self.counts.sum(axis=0), _inflation(by_label, by_subject, subjects), 1.0)

    @cached_property
    def widening_of_gaps(self) -> Floats:
        """The same of the standard error of a rater's group difference: (groups − 1, raters)."""
        shape = len(self.groups), len(self.raters)
        errors = self._errors(self._away, self.group * shape[1] + self.rater, shape[0] * shape[1])
        by_label, by_subject, subjects = (one.reshape(shape) for one in errors)
        few = np.minimum(self.group_sizes[1:], self.group_sizes[0])[:, None]
        ratio = _inflation(by_label[1:] + by_label[0], by_subject[1:] + by_subject[0], few)
        several = subjects < self.counts
        return np.where(several[1:] | several[0], ratio, 1.0)

    @cached_property
    def _away(self) -> Floats:
        """Each label minus the mean of its cell: (labels,)."""
        return np.asarray(self.value - (np.bincount(self.cell, self.value) / np.bincount(self.cell))[self.cell])

    def unnamed_subjects(self, labels: Annotations) -> tuple[str, ...]:
        """A caution if a rater's errors on items with the same value of a column are alike, and no object is named."""
        place = _position(labels.items["item"], self.items)
        parts = []
        for r in range(len(self.raters)):
            mine = self.rater == r
            n = np.bincount(self.item[mine], minlength=len(self.items))
            mean = np.bincount(self.item[mine], self._away[mine] - self._away[mine].mean(), len(self.items))
            parts.append(np.where(n > 0, mean / np.maximum(n, 1), np.nan)[place])
        return dependence_cautions(parts, labels, (), "object")

    def _errors(self, value: Floats, place: Ints, n_places: int) -> tuple[Floats, Floats, Ints]:
        """The squared standard error of the mean value of each place, by labels and by subjects, and its subjects."""
        n = np.maximum(np.bincount(place, minlength=n_places), 2)
        away = value - (np.bincount(place, value, n_places) / n)[place]
        by_label = np.bincount(place, away**2, n_places) / (n * (n - 1))
        _, both = np.unique(place * len(self.subjects) + self.subject, return_inverse=True)
        first = np.unique(both, return_index=True)[1]
        total = np.bincount(both, away)
        subjects = np.bincount(place[first], minlength=n_places)
        many = np.maximum(subjects, 2)
        by_subject = np.bincount(place[first], total**2, n_places) / n**2 * many / (many - 1)
        return by_label, by_subject, subjects

    @property
    def crowd(self) -> bool:
        """Whether many raters have few labels each, so that their ψ are partially pooled."""
        return len(self.raters) >= MANY_RATERS and bool(np.median(self.counts.sum(axis=0)) < FEW_LABELS)

    def every_nth_subject(self, often: int) -> RaterTable:
        """The labels of one subject in ``often``."""
        rows = self.subject % often == 0
        codes = ("item", "criterion", "rater", "value", "group", "subject")
        return replace(self, **{name: getattr(self, name)[rows] for name in codes})


def _inflation(by_label: Floats, by_subject: Floats, subjects: Ints) -> Floats:
    """Return the inflation of a standard error that clusters of subjects cause, at least 1."""
    from scipy.special import ndtri, stdtrit

    ratio = np.sqrt(by_subject / np.maximum(by_label, 1e-12))
    return np.asarray(np.maximum(ratio, 1.0) * stdtrit(np.maximum(subjects - 1, 1), 0.975) / ndtri(0.975))


def widened(value: Floats, centre: Floats, by: Floats) -> Floats:
    """Return draws of severities, (..., raters), with their distances from ``centre`` multiplied, centred again."""
    found = centre + by * (value - centre)
    return np.asarray(found - found.mean(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Cells:
    """Each different cell once, sorted by block.

    Attributes
    ----------
    block : (cells,) int
    count : (cells,) int
        How many cells are like it.
    kind : (all cells,) int
        Which of the different ones each cell is like.
    item, criterion, subject : (all cells,) int
    column : (labels,) int
        `RaterTable.column` of the labels of each different cell, one after the other.
    start : (cells + 1,) int
        The first of each cell.
    """

    block: Ints
    count: Ints
    kind: Ints
    item: Ints
    criterion: Ints
    subject: Ints
    column: Ints
    start: Ints

    def __len__(self) -> int:
        return len(self.block)

    def units(self, among: Ints) -> tuple[Ints, list[Ints], Ints]:
        """What shares a trait, by the different cells among those of these criteria.

        Returns
        -------
        kind : (subjects,) int
            Which of the different units each subject is like; −1 for one without such cells.
        patterns : list of (cells,) int
            The cells of each different unit.
        count : (units,) int
            Subjects that are like it.
        """
        mine = np.isin(self.criterion, among)
        present, subject = np.unique(self.subject[mine], return_inverse=True)
        kind, patterns, count = distinct_contents(subject, self.kind[mine], len(present))
        of = np.full(int(self.subject.max()) + 1, -1)
        of[present] = kind
        return of, patterns, count


def distinct_contents(holder: Ints, content: Ints, n: int) -> tuple[Ints, list[Ints], Ints]:
    """Holders with the same contents: which kind each is, the contents of each kind, how many are of it."""
    tokens = np.random.default_rng(20_022).integers(0, 2**63, int(content.max()) + 1, dtype=np.uint64)
    total = np.zeros(n, dtype=np.uint64)
    np.add.at(total, holder, tokens[content] * np.uint64(2) + np.uint64(1))
    _, first, kind, count = np.unique(total, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((content, holder))
    start = np.searchsorted(holder[order], np.arange(n + 1))
    return kind, [content[order[start[h] : start[h + 1]]] for h in first], count


LEAST_DIFFERENCES = 3
"""Differences of items, at least: a spread of fewer is that of one or two numbers, as in a G-study."""

# -- The table from labels ---------------------------------------------------------------------------


def rater_table(labels: Annotations, settings: FacetSettings) -> RaterTable:
    """The labels of a table as codes.

    Raises
    ------
    DataError
        For columns that are not there, or items without a value in them.
    DesignError
        For labels that are not ordered categories, fewer than two raters, or unresolved repeats.
    """
    group, baseline, by = (
        (settings.group, settings.baseline, settings.by) if isinstance(settings, RaterSettings) else (None, None, None)
    )
    if baseline is not None and group is None:
        raise DesignError(
            f"baseline='{baseline}' is a group that others are compared with; name the column of groups with group=..."
        )
    if settings.annotators is not None:
        labels = labels.where(annotator=list(settings.annotators))
    crossed = [] if group is None else labels.crossed_columns(group)
    used = digest_of_columns(labels, *dict.fromkeys(c for c in (settings.object, *crossed, by) if c is not None))
    fingerprint = fingerprint_with(labels.fingerprint, **used)
    repeated = labels.has_repeats
    if repeated and settings.repeats == "error":
        raise DesignError(
            "the table contains repeated labels of the same annotator for the same question; use all with "
            "repeats='each', or one with 'first', 'last' or 'majority'"
        )
    if not (repeated and settings.repeats == "each"):
        labels = labels.resolve_repeats(settings.repeats)
    if settings.repeats != "each":
        refuse_conditions(labels, (), "count each answer with repeats='each'")
    order = [c for c in (*KEY, *labels.conditions) if c in labels.labels.columns]
    labels = replace(labels, labels=labels.labels.sort(order, maintain_order=True))
    number = numbers_of(labels, settings.reverse or (), ordered=True)
    criteria = labels.criteria or (None,)
    criterion = np.zeros(len(number), dtype=np.int64)
    if labels.criteria:
        criterion = _position(labels.labels["criterion"], criteria)
    notes = (f"repeated labels: {settings.repeats}",) if repeated else ()
    measured = _numbers if _is_linear(number, criterion, settings) else _categories
    coded = measured(labels, criteria, criterion, number, settings.reverse or ())
    raters = (*labels.humans, *labels.judges)
    subjects, subject = _levels(labels, settings.object or "item", "object")
    groups, of_group = _levels(labels, group, "group") if group else (("",), np.zeros(len(number), np.int64))
    items = natural(labels.labels["item"].unique().to_list())
    table = RaterTable(
        raters, np.array([r in labels.judges for r in raters]), criteria, coded.categories, tuple(map(str, groups)),
        _position(labels.labels["item"], items), criterion, _position(labels.labels["annotator"], raters),
        coded.value, of_group, subject, items, subjects, fingerprint, (*notes, *coded.notes), coded.exclusions,
        coded.unit,
    )  # fmt: skip
    table = put_baseline_first(_with_labels(drop_constant_raters(drop_constant_criteria(table))), baseline)
    if len(table.items) <= LEAST_DIFFERENCES:
        few = untold(np.asarray(table.value, dtype=float), table.item, least=LEAST_DIFFERENCES)
        raise DesignError(f"differences between raters are not estimable: {few}")
    if len(table.raters) < 2:
        raise DesignError(f"a rater model needs at least two raters; the only one is {table.raters[0]}")
    if group and len(table.groups) < 2:
        raise DesignError(f"'{group}' has one value only ({groups[0]}); fairness compares two groups or more")
    return table if settings.object is not None else replace(table, cautions=table.unnamed_subjects(labels))


# -- Labels as categories, or as numbers -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Coded:
    """Labels as a model uses them, with the names of the categories, or the ends of the scale, of each criterion."""

    value: Ints | Floats
    categories: tuple[tuple[Any, ...], ...]
    unit: str = "categories"
    notes: tuple[str, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()


def _is_linear(number: Floats, criterion: Ints, settings: FacetSettings) -> bool:
    """Whether the linear model applies: as the settings say, or to fractions and more steps than categories."""
    if not isinstance(settings, RaterSettings) or settings.distribution == "categories":
        return False
    if settings.distribution == "normal" or (number != np.rint(number)).any():
        return True
    return any(np.ptp(number[criterion == j]) >= MOST_CATEGORIES for j in np.unique(criterion))


def _categories(
    labels: Annotations, criteria: Sequence[str | None], criterion: Ints, number: Floats, reverse: Sequence[str]
) -> _Coded:
    """Each label as the position of its category, from 0."""
    value, names = np.zeros(len(number), dtype=np.int64), []
    notes, excluded = [], []
    for j, name in enumerate(criteria):
        mine = criterion == j
        whole = _whole_numbers(name, number[mine])
        value[mine] = whole - whole.min()
        names.append(_category_names(labels, name, whole, name in reverse))
        if len(names[j]) == 1:
            excluded.append(_constant(name, names[j][0]))
        elif len(labels.scale_of(name).categories or ()) > len(names[j]):
            place = "" if name is None else f" of '{name}'"
            ends = f"{names[j][0]} to {names[j][-1]}"
            notes.append(f"no label is the lowest or highest of the scale{place}; ideal ratings range from {ends}")
    return _Coded(value, tuple(names), notes=tuple(notes), exclusions=tuple(excluded))


def _numbers(
    labels: Annotations, criteria: Sequence[str | None], criterion: Ints, number: Floats, reverse: Sequence[str]
) -> _Coded:
    """Each label as a number: of its scale, or in percent of its range if criteria have different scales."""
    value, notes, excluded = number.copy(), [], []
    ends: list[tuple[float, ...]] = []
    for j, name in enumerate(criteria):
        mine, place = number[criterion == j], "" if name is None else f" of '{name}'"
        scale = labels.scale_of(name)
        if not scale.numeric:
            notes.append(f"the categories{place} are numbered {mine.min():g} to {mine.max():g}, at equal distances")
        if scale.bounds is None and scale.numeric:
            notes.append(f"the scale{place} has no ends; its labels are from {mine.min():g} to {mine.max():g}")
        if np.ptp(mine) == 0:
            excluded.append(_constant(name, f"{mine[0]:g}"))
            ends.append((float(mine[0]),))
            continue
        low, high = scale.bounds if scale.numeric and scale.bounds else (mine.min(), mine.max())
        ends.append((float(low), float(high)))
    unit = "points"
    if len({labels.scale_of(name).spec for name in criteria}) > 1:
        unit = "percent of the range"
        for j, each in enumerate(ends):
            rows = criterion == j
            value[rows] = 100 * (number[rows] - each[0]) / max(each[-1] - each[0], 1e-300)
    return _Coded(value, tuple(ends), unit, tuple(notes), tuple(excluded))


def _constant(name: str | None, label: Any) -> Exclusion:
    why = f"every label is {label}, which tells nothing of raters"
    return Exclusion("criterion", 1, why, () if name is None else (name,))


def _whole_numbers(name: str | None, value: Floats) -> Ints:
    """The labels of a criterion as whole numbers."""
    whole = np.rint(value).astype(np.int64)
    where = "" if name is None else f" of '{name}'"
    if (whole != value).any():
        odd = value[whole != value][0]
        raise DesignError(
            f"this rater model needs ordered categories, and labels{where} have fractions ({odd:g}); round the "
            "labels, or use the linear hierarchical rater model"
        )
    if np.ptp(whole) >= MOST_CATEGORIES:
        raise DesignError(
            f"this rater model sums over at most {MOST_CATEGORIES} categories; labels{where} go from {whole.min()} to "
            f"{whole.max()}; bin the labels, or use the linear hierarchical rater model"
        )
    return whole


def _category_names(labels: Annotations, name: str | None, whole: Ints, reverse: bool) -> tuple[Any, ...]:
    """Names of the categories from the lowest to the highest label."""
    scale, numbers = labels.scale_of(name), range(int(whole.min()), int(whole.max()) + 1)
    if scale.numeric or scale.categories is None:
        return tuple(numbers)
    listed = scale.categories[::-1] if reverse else scale.categories
    return tuple(listed[k] for k in numbers)


def _position(values: pl.Series, names: Sequence[Any]) -> Ints:
    place = values.cast(pl.String).replace_strict([str(n) for n in names], list(range(len(names))))
    return np.asarray(place.to_numpy()).astype(np.int64)


def _levels(labels: Annotations, column: str, role: str) -> tuple[tuple[Any, ...], Ints]:
    """The values of an item's column, in natural order, and each label's."""
    if any(labels.column_name(one) in labels.annotators.columns for one in labels.crossed_columns(column)):
        other = f"; compare groups of annotators with by='{column}'" if role == "group" else ""
        raise DesignError(f"'{column}' describes annotators, and the {role} is a column of the items{other}")
    values = labels.crossed(column)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if n := values.null_count():
        items = labels.labels["item"].filter(values.is_null()).unique(maintain_order=True)
        raise DataError(
            f"{counted(n, 'label')} {'has' if n == 1 else 'have'} no '{column}', the {role} (item '{items[0]}'"
            f"{' and others' if len(items) > 1 else ''}); fill it, or drop those labels"
        )
    names = natural(values.unique().to_list())
    if labels.labels.select("item").with_columns(v=values).group_by("item").agg(pl.col("v").n_unique())["v"].max() != 1:
        raise DesignError(f"'{column}' differs within an item; the {role} must be constant for each item")
    return names, _position(values, names)


def drop_constant_criteria(table: RaterTable) -> RaterTable:
    """Without criteria on which all labels are the same."""
    kept = np.flatnonzero(table.sizes > 1)
    if not len(kept):
        raise DesignError("every label is the same, which tells nothing of raters")
    if len(kept) == len(table.criteria):
        return table
    place = np.full(len(table.criteria), -1)
    place[kept] = np.arange(len(kept))
    rows = place[table.criterion] >= 0
    codes = {name: getattr(table, name)[rows] for name in ("item", "rater", "value", "group", "subject")}
    there = np.unique(codes["rater"])
    codes["rater"] = np.searchsorted(there, codes["rater"])
    return replace(
        table, criteria=tuple(table.criteria[j] for j in kept), categories=tuple(table.categories[j] for j in kept),
        criterion=place[table.criterion[rows]], raters=tuple(table.raters[r] for r in there),
        is_judge=table.is_judge[there], **codes,
    )  # fmt: skip


def drop_constant_raters(table: RaterTable) -> RaterTable:
    """Without raters whose labels barely vary, however the items do: no severity or variability fits them.

    A fit takes such labels as the ideal ratings, and all others as variable. A severity beyond the scale's ends has no
    maximum (FACETS leaves such elements out as extreme scores).

    Raises
    ------
    DesignError
        If fewer than two raters remain.
    """
    constant = [r for r in range(len(table.raters)) if _is_constant(table, r)]
    if not constant:
        return table
    names = [table.raters[r] for r in constant]
    if len(table.raters) - len(constant) < 2:
        raise DesignError(
            f"a rater model needs at least two raters whose labels vary with the items; those of {listing(names, 6)} "
            "do not"
        )
    why = "labels barely vary and do not follow the items: neither severity nor variability is estimable"
    rows = ~np.isin(table.rater, constant)
    kept = np.setdiff1d(np.arange(len(table.raters)), constant)
    codes = {name: getattr(table, name)[rows] for name in ("item", "criterion", "value", "group", "subject")}
    return replace(
        table, rater=np.searchsorted(kept, table.rater[rows]), raters=tuple(table.raters[r] for r in kept),
        is_judge=table.is_judge[kept], exclusions=(*table.exclusions, Exclusion("rater", len(names), why, (*names,))),
        **codes,
    )  # fmt: skip


def _with_labels(table: RaterTable) -> RaterTable:
    """Without subjects that only excluded raters labelled, or only on excluded criteria."""
    there, subject = np.unique(table.subject, return_inverse=True)
    return replace(table, subject=subject, subjects=tuple(table.subjects[s] for s in there))


def _is_constant(table: RaterTable, r: int) -> bool:
    """Whether a rater repeats one label of each criterion more often than the others use it on these items, by more
    than chance, and its labels do not rise with theirs."""
    from scipy.special import bdtrc

    mine = table.rater == r
    number = np.bincount(table.cell)
    usual = np.zeros(len(table.criteria))
    for j in np.unique(table.criterion[mine]):
        values, often = np.unique(table.value[mine & (table.criterion == j)], return_counts=True)
        usual[j] = values[often.argmax()]
    same = table.value == usual[table.criterion]
    mine &= number[table.cell] > 1
    n, repeated = int(mine.sum()), int((mine & same).sum())
    if n < LEAST_CONSTANT or repeated < MOSTLY * n:
        return False
    cells = table.cell[mine]
    share = float(((np.bincount(table.cell, same)[cells] - same[mine]) / (number[cells] - 1)).mean())
    if bdtrc(repeated - 1, n, share) > NO_CHANCE:
        return False
    if (found := _correlation_with_others(table, r)) is None:
        return repeated == n
    subjects = len(np.unique(table.subject[mine]))
    return bool(np.arctanh(found[0]) + 1.96 / np.sqrt(subjects - 3) < np.arctanh(WEAK))


def put_baseline_first(table: RaterTable, baseline: str | None) -> RaterTable:
    """The group that others are compared with first: the one named, or the one with most labels."""
    if len(table.groups) < 2:
        return table
    if baseline is not None and baseline not in table.groups:
        raise DataError(f"there is no group '{baseline}' to compare with; there are {listing(table.groups, cut=True)}")
    most = int(np.bincount(table.group).argmax()) if baseline is None else table.groups.index(baseline)
    order = [most, *(g for g in range(len(table.groups)) if g != most)]
    return replace(table, groups=tuple(table.groups[g] for g in order), group=np.argsort(order)[table.group])


# -- What raters share -----------------------------------------------------------------------------

LEAST_CONSTANT, MOSTLY, NO_CHANCE, WEAK = 30, 0.9, 0.001, 0.3
"""Labels of a rater from which it can count as constant, its share of one label, the probability of as large a share
among labels of the others, and the upper limit of its correlation with them, from which it is kept."""

ALONE = 0.05
"""Smallest share of a rater's labels in cells with other labels: with less, only model assumptions identify ψ."""


def disjoint_subsets(table: RaterTable, together: Sequence[Ints] = ()) -> tuple[tuple[str, ...], ...]:
    """Subsets of raters that are connected, directly or through others; one subset if all are.

    Raters are connected by cells, and for criteria ``together`` in one trait by its subjects.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n, shared = len(table.raters), table.cell.copy()
    first = shared.max() + 1
    for i, criteria in enumerate(together):
        mine = np.isin(table.criterion, criteria)
        shared[mine] = first + table.subject[mine] * len(together) + i
    _, shared = np.unique(shared, return_inverse=True)
    links = coo_matrix((np.ones(len(shared)), (table.rater, n + shared)), shape=(n + shared.max() + 1,) * 2)
    of = connected_components(links, directed=False)[1][:n]
    return tuple(tuple(table.raters[r] for r in np.flatnonzero(of == one)) for one in np.unique(of))


def link_cautions(table: RaterTable, together: Sequence[Ints], what: str | None, symbol: str) -> Iterator[str]:
    """Cautions about raters whose comparison depends on assumptions.

    Parameters
    ----------
    together : sequence of (criteria,) int
        The criteria of each trait.
    what : str or None
        The column whose items share a trait.
    """
    subsets, shared = disjoint_subsets(table, together), f"'{what}'"
    if len(subsets) > 1:
        yield (
            f"{_subset_words(subsets, shared if what else 'items')}, differences in {symbol} include differences of "
            "their items, unless items were assigned at random."
        )
        return
    subsets = disjoint_subsets(table)
    if len(subsets) > 1:
        yield (
            f"{_subset_words(subsets, 'items')}, comparisons use shared {shared if what else 'criteria'} and assume "
            "that the items of each subset differ only by chance."
        )


def shared_error_notes(table: RaterTable, what: str | None) -> Iterator[str]:
    """A note on severities whose intervals are wider than those of independent labels."""
    if (most := float(table.widening.max())) >= NOTICED:
        which = "item" if what is None else f"'{what}'"
        yield (
            f"intervals of severity allow for errors that a rater's labels of the same {which} share: they are up to "
            f"{most:.1f} times as wide as those of independent labels"
        )


def _subset_words(subsets: Sequence[Sequence[str]], shared: str) -> str:
    names = "; ".join(listing(one, 4) for one in subsets[:3]) + (" …" if len(subsets) > 3 else "")
    return f"raters form {len(subsets)} disjoint subsets that share no {shared} ({names}); between subsets"


def raters_upside_down(table: RaterTable, alpha: float) -> tuple[tuple[str, float], ...]:
    """Raters with a significantly negative correlation with the others (Holm-adjusted): name and correlation.

    The correlation is of a rater's labels with the mean of the others' of the same cell, within criteria; Fisher's z
    over subjects.
    """
    each = {name: _correlation_with_others(table, r) for r, name in enumerate(table.raters)}
    found = {name: one for name, one in each.items() if one is not None}
    if not found:
        return ()
    adjusted = adjust_p(np.array([p for _, p in found.values()]), "holm")
    return tuple((name, away) for (name, (away, _)), q in zip(found.items(), adjusted, strict=True) if q <= alpha)


def reversed_cautions(table: RaterTable, alpha: float, quantities: str) -> Iterator[str]:
    """A caution about raters whose scale may be reversed."""
    if turned := raters_upside_down(table, alpha):
        each = [f"{name} (r = {signed(away)} with the mean of the others)" for name, away in turned]
        yield (
            f"labels are negatively correlated with the others': {listing(each, 6)}. If their scale is reversed, "
            f"recode these labels, or exclude them with annotators=...; {quantities} otherwise meaningless."
        )


def _correlation_with_others(table: RaterTable, r: int) -> tuple[float, float] | None:
    """A rater's correlation with the mean of the others' labels, and the p-value of one that is not below 0; None
    without labels that vary on enough subjects."""
    from scipy.special import ndtr

    number, total = np.bincount(table.cell), np.bincount(table.cell, table.value)
    mine = np.flatnonzero((table.rater == r) & (number[table.cell] > 1))
    n = len(np.unique(table.subject[mine]))
    if n <= LEAST_DIFFERENCES + 1:
        return None
    others = (total[table.cell[mine]] - table.value[mine]) / (number[table.cell[mine]] - 1)
    own, theirs = (_centre_criteria(v, table.criterion[mine]) for v in (table.value[mine], others))
    size = float(np.sqrt((own @ own) * (theirs @ theirs)))
    if not size > 0:
        return None
    away = float(np.clip(own @ theirs / size, -0.9999, 0.9999))
    return away, float(ndtr(np.arctanh(away) * np.sqrt(n - 3)))


def _centre_criteria(value: Floats | Ints, criterion: Ints) -> Floats:
    """Subtract the mean of each criterion."""
    return np.asarray(value - (np.bincount(criterion, value) / np.maximum(np.bincount(criterion), 1))[criterion])


def raters_alone(table: RaterTable) -> tuple[str, ...]:
    """Raters whose labels are almost always the only one of their cell."""
    n, size = len(table.raters), np.bincount(table.cell)
    overlapping = np.bincount(table.rater, size[table.cell] > 1, n) / np.maximum(
        np.bincount(table.rater, minlength=n), 1
    )
    return tuple(name for name, share in zip(table.raters, overlapping, strict=True) if share < ALONE)
