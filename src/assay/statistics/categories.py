"""Building blocks of statistics of labels, and statistics of categories: chance-corrected agreement, Krippendorff's α.

A *panel* statistic takes all labels of an item at once; a *pair* statistic (`assay.statistics.pairs`) takes two labels
of an item, x and y.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from assay.data.annotations import Answers
from assay.data.scales import Label
from assay.errors import DesignError
from assay.estimation.statistic import Bools, Floats, Ints

# -- the protocol of a statistic, and shared computations --------------------------------------------

Made = TypeVar("Made")

ROUNDING = 1e-12
"""A difference smaller than this share of its terms is treated as zero: about 10⁴ times the rounding error of a sum."""


class PanelStatistic(Protocol):
    """A statistic of summed moments of the labels of items."""

    @property
    def width(self) -> int:
        """How many moments there are."""

    def moments(self, data: Answers) -> Floats:
        """Return the contribution of each item: (items, k)."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., k) -> (..., q)."""


@dataclass(frozen=True, eq=False)
class Slice(Answers):
    """Labels for several statistics, with a cache of shared computations that has the lifetime of the labels.

    Statistics ask how many items there are; their names may be missing.
    """

    n_items: int = field(kw_only=True)
    made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, answers: Answers) -> Slice:
        """The same labels."""
        if isinstance(answers, Slice):
            return answers
        return cls(
            answers.item, answers.annotator, answers.value, answers.items, answers.annotators, answers.categories,
            n_items=answers.n_items,
        )  # fmt: skip


def reuse(answers: Answers, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return ``make()`` for these labels, from the cache if they have one."""
    if not isinstance(answers, Slice):
        return make()
    if key not in answers.made:
        answers.made[key] = make()
    found: Made = answers.made[key]
    return found


def item_sums(answers: Answers, *columns: Floats) -> list[Floats]:
    """Each column summed over the labels of an item, after the number of labels: (items,) each."""
    n = answers.n_items
    number = np.bincount(answers.item, minlength=n).astype(float)
    return [number, *(np.bincount(answers.item, weights=column, minlength=n) for column in columns)]


def grid(answers: Answers) -> Floats:
    """Return labels as (items, annotators), NaN if missing. Do not modify the array."""
    return reuse(answers, "grid", lambda: _grid(answers))


def _grid(answers: Answers) -> Floats:
    cells = np.full((answers.n_items, len(answers.annotators)), np.nan)
    cells[answers.item, answers.annotator] = answers.value
    return cells


def answers_of(cells: Floats) -> Slice:
    """Return the labels of a grid, (items, annotators) with NaN if missing, without names."""
    item, annotator = np.nonzero(~np.isnan(cells))
    found = Slice(item, annotator, cells[item, annotator], (), ("",) * cells.shape[1], n_items=len(cells))
    found.made["grid"] = cells
    return found


def ratio(above: Floats, below: Floats, least: float | Floats = 0.0) -> Floats:
    """Divide; NaN if the denominator is at most ``least``, which is zero up to rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.abs(below) > least, above / below, np.nan))


def label_runs(answers: Answers) -> tuple[Ints, Ints]:
    """Return the position of the first label of each item, and the number of its labels: (items,) each."""
    number = np.bincount(answers.item, minlength=answers.n_items)
    return np.cumsum(number) - number, number


# -- several statistics of the same labels, side by side --------------------------------------------


@dataclass(frozen=True, eq=False)
class Together:
    """Several statistics of the same labels under the same resamples; their values are concatenated.

    Attributes
    ----------
    statistics : tuple of PanelStatistic
    first_only : bool
        Whether each gives its first value only: a coefficient of pairs of annotators the mean over pairs.
    same_labels : bool
        Whether their sums are of the same labels, so that shared numbers are computed once: a statistic with shared
        numbers has ``value_sharing(sums, made)``.
    widths : tuple of int
        How many moments each statistic has.
    sides : tuple of (int, int) or None
        For a statistic of pairs of an item's labels, how many annotators meet how many.
    """

    statistics: tuple[PanelStatistic, ...]
    first_only: bool = False
    same_labels: bool = True
    widths: tuple[int, ...] = field(init=False)
    sides: tuple[tuple[int, int] | None, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(s.width for s in self.statistics))
        object.__setattr__(self, "sides", tuple(getattr(s, "sides", None) for s in self.statistics))

    def moments(self, data: Answers) -> Floats:
        """The moments of all, side by side; what several need of the labels is made once."""
        shared = Slice.of(data)
        each = [s.moments(shared) for s in self.statistics]
        return each[0] if len(each) == 1 else np.concatenate(each, axis=1)

    def parts(self, sums: Floats) -> list[Floats]:
        """Return the value of each statistic from the joint sums; shared numbers are computed once."""
        edges = np.cumsum((0, *self.widths)).tolist()
        made: dict[Hashable, Any] = {}
        values = []
        for s, a, b in zip(self.statistics, edges[:-1], edges[1:], strict=True):
            sharing = getattr(s, "value_sharing", None) if self.same_labels else None
            values.append(s.value(sums[..., a:b]) if sharing is None else sharing(sums[..., a:b], made))
        return [v[..., :1] for v in values] if self.first_only else values

    def value(self, sums: Floats) -> Floats:
        """All values, side by side."""
        return np.concatenate(self.parts(sums), axis=-1)

    def part(self, which: Sequence[int]) -> Together:
        """Some of the statistics."""
        return replace(self, statistics=tuple(self.statistics[i] for i in which))


# -- agreement, corrected for chance ----------------------------------------------------------------

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["none", "linear", "quadratic", "ordinal"]
LabelDistance = Callable[[Any, Any], float]
"""A caller's own distance of two labels."""


def agreement_weights(categories: Floats, weights: Weights | float | Floats) -> Floats:
    """Agreement of two categories: (C, C), 1 on the diagonal, 0 for the ends of the whole scale.

    ``ordinal`` are Gwet's (2014, section 3.5): from the number of pairs of categories between the two. A number says
    up to which distance two categories count as equal; a matrix is the credit itself.
    """
    if isinstance(weights, np.ndarray):
        return weights
    distance = np.abs(categories[:, None] - categories[None, :])
    if isinstance(weights, int | float):
        # Half a step of rounding, so that .1 + .2 counts as within .3.
        return (distance <= weights * (1 + 1e-9)).astype(float)
    span = max(float(np.ptp(categories)), np.finfo(float).tiny)
    if weights == "linear":
        return np.asarray(1 - distance / span)
    if weights == "quadratic":
        return np.asarray(1 - (distance / span) ** 2)
    if weights == "ordinal":
        position = np.arange(len(categories))
        steps = np.abs(position[:, None] - position[None, :])
        return np.asarray(1 - steps * (steps + 1) / max(1, len(categories) * (len(categories) - 1)))
    return np.eye(len(categories))


def category_counts(answers: Answers, categories: Floats) -> Floats:
    """How often each category was given to each item: (items, C); not to be written to."""
    return reuse(answers, ("counts", categories.tobytes()), lambda: _category_counts(answers, categories))


def _category_counts(answers: Answers, categories: Floats) -> Floats:
    cell = answers.item * len(categories) + np.searchsorted(categories, answers.value)
    size = answers.n_items * len(categories)
    return np.bincount(cell, minlength=size).reshape(answers.n_items, len(categories)).astype(float)


@dataclass(frozen=True, eq=False)
class ChanceCorrected:
    """Observed agreement of pairs of labels, corrected for chance: Fleiss's κ, Gwet's AC, Brennan and Prediger's.

    ``uniform`` chance is that of labels dealt out evenly over the categories.
    """

    categories: Floats
    weights: Weights | float | Floats
    chance: Literal["none", "fleiss", "gwet", "uniform"]

    @cached_property
    def credit(self) -> Floats:
        """Return the agreement of two categories: (C, C)."""
        return agreement_weights(self.categories, self.weights)

    @property
    def width(self) -> int:
        """How many moments there are."""
        return len(self.categories) + 2

    def moments(self, data: Answers) -> Floats:
        """Agreeing share of the item's pairs, whether it has a pair, share of each category."""
        counts = category_counts(data, self.categories)
        number = counts.sum(axis=1)
        agreeing = ((counts @ self.credit) * counts).sum(axis=1) - number
        pairs = number * (number - 1)
        paired = pairs > 0
        share = np.divide(agreeing, pairs, out=np.zeros_like(pairs), where=paired)
        prevalence = counts / np.maximum(number, 1)[:, None]
        if self.chance == "none":
            # A single label says nothing then, so its item adds nothing.
            prevalence[~paired] = 0.0
        return np.concatenate([share[:, None], paired[:, None].astype(float), prevalence], axis=1)

    def value(self, sums: Floats) -> Floats:
        """(observed - chance) / (1 - chance)."""
        observed = ratio(sums[..., 0], sums[..., 1])
        if self.chance == "none":
            return np.asarray(observed[..., None])
        prevalence = sums[..., 2:]
        prevalence = ratio(prevalence, prevalence.sum(axis=-1, keepdims=True))
        q = len(self.categories)
        if self.chance == "fleiss":
            expected = ((prevalence @ self.credit) * prevalence).sum(axis=-1)
        elif self.chance == "uniform":
            expected = np.full(observed.shape, self.credit.sum() / q**2)
        else:
            expected = self.credit.sum() * (prevalence * (1 - prevalence)).sum(axis=-1) / max(1, q * (q - 1))
        return np.asarray(ratio(observed - expected, 1 - expected, ROUNDING))[..., None]


@dataclass(frozen=True, eq=False)
class Conger:
    """Conger's (1980) κ of many annotators: chance from each two annotators' own distributions."""

    categories: Floats
    weights: Weights | float | Floats
    n_annotators: int

    @cached_property
    def credit(self) -> Floats:
        """Return the agreement of two categories: (C, C)."""
        return agreement_weights(self.categories, self.weights)

    @property
    def width(self) -> int:
        """Agreement, pairs, and each annotator's categories."""
        return 2 + self.n_annotators * len(self.categories)

    def moments(self, data: Answers) -> Floats:
        """Agreeing share of the item's pairs, whether it has a pair, who gave which category."""
        of_pairs = ChanceCorrected(self.categories, self.weights, "none").moments(data)[:, :2]
        c, n = len(self.categories), data.n_items
        code = np.searchsorted(self.categories, data.value)
        given = np.zeros((n, self.n_annotators * c))
        given[data.item, data.annotator * c + code] = 1.0
        return np.concatenate([of_pairs, given], axis=1)

    def value(self, sums: Floats) -> Floats:
        """(observed - chance) / (1 - chance), chance over pairs of different annotators who gave a label."""
        observed = ratio(sums[..., 0], sums[..., 1])
        given = sums[..., 2:].reshape(*sums.shape[:-1], self.n_annotators, len(self.categories))
        number = given.sum(axis=-1, keepdims=True)
        share, m = np.nan_to_num(ratio(given, number)), (number[..., 0] > 0).sum(axis=-1)
        whole = share.sum(axis=-2)
        own = ((share @ self.credit) * share).sum(axis=(-2, -1))
        expected = ratio(((whole @ self.credit) * whole).sum(axis=-1) - own, np.asarray(m * (m - 1.0)))
        return np.asarray(ratio(observed - expected, 1 - expected, ROUNDING))[..., None]


# -- Krippendorff's α -------------------------------------------------------------------------------


class AlphaDistance(Protocol):
    """Distance of two labels in Krippendorff's α."""

    @property
    def width(self) -> int:
        """How many moments there are."""

    def moments(self, data: Answers) -> Floats:
        """Return the contribution of each item with two labels or more: (items, width)."""

    def disagreement(self, sums: Floats) -> tuple[Floats, Floats]:
        """Observed and expected disagreement from summed moments: (...) each."""


@dataclass(frozen=True, eq=False)
class Alpha:
    """Krippendorff's α: 1 - observed / expected disagreement of the labels of items that have two or more."""

    distance: AlphaDistance

    @classmethod
    def of(cls, level: Level, categories: Floats, centre: float = 0.0) -> Alpha:
        """α of a level of measurement; only ``interval`` does without every value that a label may have."""
        if level == "interval":
            return cls(IntervalDistance(centre))
        if level == "ordinal":
            return cls(OrdinalDistance(categories))
        c, k = categories[:, None], categories[None, :]
        if level == "nominal":
            return cls(FixedDistance(categories, np.asarray(c != k, dtype=float)))
        relative = np.divide(c - k, c + k, out=np.zeros((len(categories), len(categories))), where=c + k != 0)
        return cls(FixedDistance(categories, relative**2))

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.distance.width

    def moments(self, data: Answers) -> Floats:
        """Return the disagreement of each item and the sums for the expected disagreement."""
        return self.distance.moments(data)

    def value(self, sums: Floats) -> Floats:
        """Krippendorff 2011, his ``1 - D_o / D_e`` with the n of each squared away."""
        observed, expected = self.distance.disagreement(sums)
        return np.asarray(1 - ratio(observed, expected))[..., None]


def _pairable_counts(data: Answers, categories: Floats) -> tuple[Floats, Floats]:
    """How often each category was given to each item with two labels or more, and one fewer than its labels, or 1."""
    counts = category_counts(data, categories)
    number = counts.sum(axis=1)
    return np.where(number[:, None] < 2, 0.0, counts), np.maximum(number - 1, 1)


@dataclass(frozen=True, eq=False)
class FixedDistance:
    """Distances of each two categories, (C, C), which do not depend on the labels: nominal, ratio, a caller's own."""

    categories: Floats
    between: Floats

    @property
    def width(self) -> int:
        """The item's disagreement, and its categories."""
        return 1 + len(self.categories)

    def moments(self, data: Answers) -> Floats:
        """The item's disagreement, and how often each category was given."""
        counts, others = _pairable_counts(data, self.categories)
        within = ((counts @ self.between) * counts).sum(axis=1) / others
        return np.concatenate([within[:, None], counts], axis=1)

    def disagreement(self, sums: Floats) -> tuple[Floats, Floats]:
        """Within items, and between all labels."""
        counts = sums[..., 1:]
        return sums[..., 0], ratio(((counts @ self.between) * counts).sum(axis=-1), counts.sum(axis=-1) - 1)


@dataclass(frozen=True, eq=False)
class OrdinalDistance:
    """The squared difference of ranks, which depend on how often each category was given to all items."""

    categories: Floats

    @property
    def width(self) -> int:
        """Categories, and each two of them."""
        return len(self.categories) * (len(self.categories) + 1) // 2

    @cached_property
    def _ordered_pairs(self) -> tuple[Ints, Ints]:
        """Each two categories, the lower first."""
        low, high = np.triu_indices(len(self.categories), 1)
        return low, high

    def moments(self, data: Answers) -> Floats:
        """How often each category was given, and each two of them together."""
        counts, others = _pairable_counts(data, self.categories)
        low, high = self._ordered_pairs
        return np.concatenate([counts, counts[:, low] * counts[:, high] / others[:, None]], axis=1)

    def disagreement(self, sums: Floats) -> tuple[Floats, Floats]:
        """Within items, and between all labels."""
        c = len(self.categories)
        counts, coincidences = sums[..., :c], sums[..., c:]
        rank = np.cumsum(counts, axis=-1) - counts / 2
        low, high = self._ordered_pairs
        squared = (rank[..., high] - rank[..., low]) ** 2
        expected = 2 * (counts[..., low] * counts[..., high] * squared).sum(axis=-1)
        return 2 * (coincidences * squared).sum(axis=-1), ratio(expected, counts.sum(axis=-1) - 1)


@dataclass(frozen=True, eq=False)
class IntervalDistance:
    """The squared difference of numbers, which needs no categories."""

    centre: float

    width = 4

    def moments(self, data: Answers) -> Floats:
        """The item's disagreement, labels, their sum and the sum of their squares."""
        y = data.value - self.centre
        number, total, squares = item_sums(data, y, y * y)
        within = 2 * (number * squares - total**2) / np.maximum(number - 1, 1)
        return np.where(number[:, None] > 1, np.stack([within, number, total, squares], axis=1), 0.0)

    def disagreement(self, sums: Floats) -> tuple[Floats, Floats]:
        """Within items, and between all labels."""
        observed, number, total, squares = np.moveaxis(sums, -1, 0)
        return observed, ratio(2 * (number * squares - total**2), number - 1)


def credits_of(weights: LabelDistance, labels: Sequence[Label]) -> Floats:
    """A caller's credit for each two labels: (labels, labels).

    Raises
    ------
    DesignError
        For invalid credits: not 1 for equal labels, more than 1, not finite, or not symmetric.
    """
    found = np.array([[float(weights(a, b)) for b in labels] for a in labels]).reshape(len(labels), len(labels))
    name = getattr(weights, "__name__", "weights")
    wrong = [
        (~np.isfinite(found) | (found > 1), "must be a number up to 1"),
        (np.eye(len(labels), dtype=bool) & (found != 1), "must be 1 between equal labels"),
        (~np.isclose(found, found.T), "must be the same both ways round"),
    ]
    for where, rule in wrong:
        if where.any():
            i, j = np.argwhere(where)[0]
            raise DesignError(
                f"a weight {rule}; {name}({labels[i]!r}, {labels[j]!r}) is {found[i, j]:g}", option="weights"
            )
    return found


def distances_of(distance: LabelDistance, labels: Sequence[Label]) -> Floats:
    """A caller's distance of each two labels: (labels, labels).

    Raises
    ------
    DesignError
        For invalid distances: not finite, below 0, not 0 for equal labels, or not symmetric.
    """
    found = np.array([[float(distance(a, b)) for b in labels] for a in labels]).reshape(len(labels), len(labels))
    name = getattr(distance, "__name__", "level")
    wrong = [
        (~np.isfinite(found) | (found < 0), "must be 0 or a larger number"),
        (np.eye(len(labels), dtype=bool) & (found != 0), "must be 0 between equal labels"),
        (~np.isclose(found, found.T), "must be the same both ways round"),
    ]
    for where, rule in wrong:
        if where.any():
            i, j = np.argwhere(where)[0]
            raise DesignError(
                f"a distance {rule}; {name}({labels[i]!r}, {labels[j]!r}) is {found[i, j]:g}", option="level"
            )
    return found


# -- items whose labels agree to a given degree -----------------------------------------------------
# Under common correlation every label of an item has the same distribution, and each two of them the same correlation
# (Bloch & Kraemer 1989; Dirichlet-multinomial for several categories). One number, the correlation, then says how often
# each pattern of labels occurs, and so what any coefficient is and with which standard error it is estimated.

CORRELATIONS: Floats = np.concatenate([np.linspace(0.001, 0.9, 60), 1 - np.geomspace(0.095, 0.0002, 32)])
"""Grid of correlations, from nearly 0 to nearly 1."""

MOST_CELLS = 3_000_000
"""Patterns times sums times degrees up to which they are tried: 24 MB, some ten ms."""

MANY_PATTERNS = 200
"""Patterns from which looking for equal ones takes less time than it saves."""

SAME_DIGITS = 12
"""Digits to which the sums of equal patterns agree, for any order of summation."""

STEP = 1e-5
"""Step of a numerical derivative, as a share of the items: small relative to 1, large relative to rounding."""

MANY = 1e6
"""Number of items of a population, so that small-sample corrections of a coefficient are negligible."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Every way in which the annotators of these items may have labelled one.

    Attributes
    ----------
    answers : Slice
        Each pattern as an item.
    log_share : (patterns,) float
        The logarithm of how many of the items have the pattern's annotators, times in how many orders the labels may
        have been given: thousands of digits for hundreds of annotators.
    counts : (patterns, values) int
        How often each value is given.
    prevalence : (values,) float
        How often each value was given to the items.
    """

    answers: Slice
    log_share: Floats
    counts: Ints
    prevalence: Floats

    @classmethod
    def of(cls, answers: Answers, *, anyone: bool, most_cells: int = MOST_CELLS) -> Patterns | None:
        """Return the patterns of these labels; None if they are too many for any statistic, or all labels are equal.

        With ``anyone`` it does not matter who gave which label, and patterns differ in how often each is given only.
        """
        values, code = np.unique(answers.value, return_inverse=True)
        there = ~np.isnan(grid(answers))
        if anyone:
            there = np.sort(there, axis=1)[:, ::-1]
        rows, number = np.unique(there[there.any(axis=1)], axis=0, return_counts=True)
        q, each = len(values), rows.sum(axis=1).tolist()
        size = sum(math.comb(k + q - 1, k) if anyone else q**k for k in each)
        if q < 2 or size * len(CORRELATIONS) > most_cells:
            return None
        ways = _ways_to_label(rows.shape[1], rows.tobytes(), q, anyone)
        found = Slice(
            ways.item, ways.annotator, values[ways.given], (), answers.annotators, answers.categories,
            n_items=len(ways.counts),
        )  # fmt: skip
        prevalence = np.bincount(code, minlength=len(values)) / len(code)
        return cls(found, np.log(number / number.sum())[ways.row] + ways.log_orders, ways.counts, prevalence)

    def too_many_for(self, statistic: PanelStatistic, most_cells: int = MOST_CELLS) -> bool:
        """Whether they are more than are tried for a statistic with this number of sums."""
        return len(self.log_share) * statistic.width * len(CORRELATIONS) > most_cells

    @cached_property
    def often(self) -> Floats:
        """How often each pattern occurs at each of `CORRELATIONS`: (correlations, patterns)."""
        return self.probabilities(CORRELATIONS)

    def probabilities(self, correlations: Floats) -> Floats:
        """How often each pattern occurs: (correlations, patterns)."""
        from scipy.special import gammaln

        total = ((1 - correlations) / correlations)[:, None]
        number = self.counts.sum(axis=1)
        most = np.arange(int(number.max()) + 1)  # labels are few, and patterns many
        log = gammaln(total) - gammaln(total + most)[:, number]
        for v, p in enumerate(self.prevalence):
            log = log + gammaln(total * p + most)[:, self.counts[:, v]] - gammaln(total * p)
        return np.asarray(np.exp(log + self.log_share))


class _Labellings(NamedTuple):
    """Every way in which some annotators may give one of a number of labels, one pattern after the other."""

    item: Ints
    """The pattern of each label, its annotator, and which label it is: (labels,) each."""
    annotator: Ints
    given: Ints
    row: Ints
    """Who answers in each pattern, the logarithm of the number of orders of its labels: (patterns,) each."""
    log_orders: Floats
    counts: Ints


@lru_cache(maxsize=64)
def _ways_to_label(n_annotators: int, rows: bytes, q: int, anyone: bool) -> _Labellings:
    """The ways of each row of annotators who answer."""
    answering = np.frombuffer(rows, dtype=bool).reshape(-1, n_annotators)
    ways = itertools.combinations_with_replacement if anyone else _arrangements
    made = [np.array(list(ways(range(q), int(row.sum())))) for row in answering]  # (patterns, labels) each
    sizes = [len(given) for given in made]
    counts = np.concatenate([np.stack([(given == v).sum(axis=1) for v in range(q)], axis=1) for given in made])
    log_orders = np.zeros(len(counts))
    if anyone:
        from scipy.special import gammaln

        log_orders = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    return _Labellings(
        item=np.repeat(np.arange(len(counts)), counts.sum(axis=1)),
        annotator=np.concatenate([np.tile(np.flatnonzero(row), k) for row, k in zip(answering, sizes, strict=True)]),
        given=np.concatenate([given.ravel() for given in made]),
        row=np.repeat(np.arange(len(made)), sizes),
        log_orders=log_orders,
        counts=counts,
    )


def _arrangements(values: Iterable[int], k: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(values, repeat=k)


# If one of two labels is rare, agreement depends on the different rates of raters. Each rater has a threshold on a
# common trait (a one-factor probit); the unknown parameter is the correlation of the raters' latent values.

TRAIT_CORRELATIONS: Floats = np.concatenate([
    [0.0, 0.02, 0.05], np.linspace(0.1, 0.9, 25), [0.925, 0.95, 0.97, 0.985, 0.998]
])  # fmt: skip
"""The degrees that are tried; finer grids moved no end by more than .005."""

MOST_THRESHOLDS = 10
"""Raters up to which all 1,024 patterns of two labels are integrated over the trait."""

TRAIT: Floats = np.linspace(-6.0, 6.0, 301)
"""Grid of the normal trait for integration."""

LOW_RATE = 0.3
"""The rate of a rare label is the lower end of Wilson's interval with this quantile: .976 to .98 covered, .964 to .971
with the observed rate, because chance agreement decreases with the square of the rate."""

LEAST_RATE = 0.2
"""A rater's own rate is no less than this share of the common one; a rater who never gave the label might have."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Every pattern of two labels from raters with different rates; as `Patterns`, for complete tables.

    Attributes
    ----------
    answers : Slice
        Each pattern as an item.
    given : (patterns, annotators) bool
        Who gives the rarer label.
    rates : (annotators,) float
        How often each gives it.
    """

    answers: Slice
    given: Bools
    rates: Floats

    @classmethod
    def of(cls, answers: Answers, *, item_rate: bool, unseen: float | None = None) -> Thresholds | None:
        """Return the patterns of these labels; None if there are not two labels, cells are missing, or too many raters.

        With ``item_rate`` the common rate is that of items, half an item of each kind added; else it is a low one. Of
        two labels one may be ``unseen``.
        """
        cells = grid(answers)
        n, m = cells.shape
        values, number = np.unique(answers.value, return_counts=True)
        if len(values) == 1 and unseen is not None:
            values, number = np.append(values, unseen), np.append(number, 0)
        if len(values) != 2 or not 2 <= m <= MOST_THRESHOLDS or np.isnan(cells).any():
            return None
        rare = cells == values[number.argmin()]
        rates = own_rates(rare, (rare.mean() * n + 0.5) / (n + 1) if item_rate else low_rate(float(rare.mean()), n))
        given = np.array(list(itertools.product([False, True], repeat=m)))
        item, annotator = np.divmod(np.arange(given.size), m)
        value = np.where(given.ravel(), values[number.argmin()], values[number.argmax()])
        if number[0] == number[1]:
            value = np.where(given.ravel(), values[0], values[1])
        found = Slice(item, annotator, value, (), answers.annotators, answers.categories, n_items=len(given))
        return cls(found, given, rates)

    @cached_property
    def often(self) -> Floats:
        """How often each pattern occurs at each of `TRAIT_CORRELATIONS`: (correlations, patterns)."""
        from scipy.special import ndtr, ndtri

        correlations = TRAIT_CORRELATIONS
        weight = np.exp(-(TRAIT**2) / 2)
        above = ndtri(self.rates)[:, None, None] + np.sqrt(correlations)[:, None] * TRAIT
        given = ndtr(above / np.sqrt(1 - correlations)[:, None])  # (annotators, correlations, trait)
        # Patterns are in the order of `itertools.product`: each further rater doubles them.
        found = np.ones((1, *given.shape[1:]))
        for chance in given:
            found = np.stack([found * (1 - chance), found * chance], axis=1).reshape(-1, *chance.shape)
        return np.asarray((found @ (weight / weight.sum())).T)


def low_rate(share: float, n: int) -> float:
    """Lower Wilson limit of a share of ``n``, `LOW_RATE` standard errors below it."""
    z = LOW_RATE
    centre, half = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (centre - half) / (1 + z**2 / n)


def own_rates(rare: Bools, common: float) -> Floats:
    """Each rater's rate, shrunk to the common rate by the share of the variation that is due to chance (Cochran's
    Q)."""
    n, m = rare.shape
    given, of_item = rare.sum(axis=0).astype(float), rare.sum(axis=1).astype(float)
    within = float((m * of_item - of_item**2).sum())
    q = (m - 1) * m * float(((given - given.mean()) ** 2).sum()) / within if within else 0.0
    kept = max(0.0, 1 - (m - 1) / q) if q > 0 else 0.0
    seen = max(float(rare.mean()), common / n)  # if no rater gave it, the rates are equal
    rates = common + kept * (given - given.mean()) / n * min(1.0, common / seen)
    return np.asarray(np.clip(rates, LEAST_RATE * common, 1 - LEAST_RATE * (1 - common)))


def curve(
    statistic: PanelStatistic, patterns: Patterns | Thresholds, n_items: int, many: int = MANY_PATTERNS
) -> tuple[Floats, Floats]:
    """The statistic's first value for each of the correlations, and its standard error on ``n_items`` items."""
    moments, often = merge_patterns(statistic.moments(patterns.answers), patterns.often, many)
    sums = often @ moments
    sharing = getattr(statistic, "value_sharing", None)

    def first_value(sums: Floats, which: Literal["value", "nearby"]) -> Floats:
        """The value of a statistic; numbers that several statistics share are computed once for these patterns."""
        made: dict[Hashable, Any] = reuse(patterns.answers, which, dict)
        return np.asarray((statistic.value(sums) if sharing is None else sharing(sums, made))[..., 0])

    value = first_value(MANY * sums, "value")
    nearby = first_value(MANY * (sums[:, None, :] * (1 - STEP) + STEP * moments), "nearby")
    influence = (nearby - value[:, None]) / STEP
    return value, np.sqrt((often * influence**2).sum(axis=1) / n_items)


def merge_patterns(moments: Floats, often: Floats, many: int = MANY_PATTERNS) -> tuple[Floats, Floats]:
    """Patterns that a statistic does not tell apart as one: of 4,096 of six annotators, 35 of any four of them.

    So many patterns and fewer are left as they are.
    """
    if len(moments) <= many:
        return moments, often
    size = np.abs(moments).max(axis=0)
    rounded = np.round(moments / np.where(size > 0, size, 1.0), SAME_DIGITS)
    _, first, place = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return moments[first], np.add.reduceat(often[:, order], starts, axis=1)
