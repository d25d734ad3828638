"""What the coefficients compute: each is a function of sums over items.

A *panel* statistic takes all labels of an item at once (`ChanceCorrected`, `Alpha`, `OneWay`, `TwoWay`). A
*pair* statistic takes two labels of an item, x and y (`Kappa`, `Pearson`, `RankTable`, `Distance`); `MeanOfPairs`
and `WithinItems` carry it over to more than two annotators. `Ranks` takes the weight of each item
instead of sums, for rank statistics of labels that have too many values for a table.

Nothing here checks: the functions in the neighbouring modules do, and say what a statistic means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.data.annotations import Answers
from assay.estimation import Floats

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["none", "linear", "quadratic", "ordinal"]
Ints = NDArray[np.int64]

ROUNDING = 1e-12
"""What is smaller than this share of the terms it is the difference of counts as zero."""


# -- weights and counts -----------------------------------------------------------------------------


def agreement_weights(categories: Floats, weights: Weights) -> Floats:
    """How far two categories agree: (C, C), 1 on the diagonal, 0 for the ends of the whole scale.

    ``ordinal`` are Gwet's (2014, section 3.5): from the number of pairs of categories between the two.
    """
    distance = np.abs(categories[:, None] - categories[None, :])
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
    """How often each category was given to each item: (items, C)."""
    cell = answers.item * len(categories) + np.searchsorted(categories, answers.value)
    size = len(answers.items) * len(categories)
    return np.bincount(cell, minlength=size).reshape(len(answers.items), len(categories)).astype(float)


def item_sums(answers: Answers, *columns: Floats) -> list[Floats]:
    """Each column summed over the labels of an item, after the number of labels: (items,) each."""
    n = len(answers.items)
    number = np.bincount(answers.item, minlength=n).astype(float)
    return [number, *(np.bincount(answers.item, weights=column, minlength=n) for column in columns)]


def grid(answers: Answers) -> Floats:
    """Labels as (items, annotators), NaN where nobody answered."""
    cells = np.full((len(answers.items), len(answers.annotators)), np.nan)
    cells[answers.item, answers.annotator] = answers.value
    return cells


def ratio(above: Floats, below: Floats, least: float | Floats = 0.0) -> Floats:
    """Division that gives NaN where what is below is at most ``least``, which stands for nothing up to rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.abs(below) > least, above / below, np.nan))


class PanelStatistic(Protocol):
    """A statistic of summed moments of the labels of items."""

    @property
    def width(self) -> int:
        """How many moments there are."""

    def moments(self, data: Answers) -> Floats:
        """What each item adds: (items, k)."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., k) -> (..., q)."""


# -- panels -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChanceCorrected:
    """Observed agreement of pairs of labels, corrected for chance: Fleiss's κ, Gwet's AC; or not corrected."""

    categories: Floats
    weights: Floats
    chance: Literal["none", "fleiss", "gwet"]

    @property
    def width(self) -> int:
        """How many moments there are."""
        return len(self.categories) + 2

    def moments(self, data: Answers) -> Floats:
        """Agreeing share of the item's pairs, whether it has a pair, share of each category."""
        counts = category_counts(data, self.categories)
        number = counts.sum(axis=1)
        agreeing = ((counts @ self.weights) * counts).sum(axis=1) - number
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
        if self.chance == "fleiss":
            expected = ((prevalence @ self.weights) * prevalence).sum(axis=-1)
        else:
            q = len(self.categories)
            expected = self.weights.sum() * (prevalence * (1 - prevalence)).sum(axis=-1) / max(1, q * (q - 1))
        return np.asarray(ratio(observed - expected, 1 - expected, ROUNDING))[..., None]


@dataclass(frozen=True, eq=False)
class Alpha:
    """Krippendorff's α: 1 - observed / expected disagreement of the labels of items that have two or more.

    ``interval`` needs no categories; the other levels take every value that a label may have.
    """

    level: Level
    categories: Floats
    centre: float = 0.0

    @property
    def width(self) -> int:
        """How many moments there are."""
        c = len(self.categories)
        return 4 if self.level == "interval" else c * (c + 1) // 2 if self.level == "ordinal" else 1 + c

    def moments(self, data: Answers) -> Floats:
        """The item's disagreement and what the expected disagreement is made of."""
        if self.level == "interval":
            y = data.value - self.centre
            number, total, squares = item_sums(data, y, y * y)
            pairable = number > 1
            within = 2 * (number * squares - total**2) / np.maximum(number - 1, 1)
            return np.where(pairable[:, None], np.stack([within, number, total, squares], axis=1), 0.0)
        counts = category_counts(data, self.categories)
        number = counts.sum(axis=1)
        counts[number < 2] = 0
        if self.level == "ordinal":
            low, high = np.triu_indices(len(self.categories), 1)
            coincidences = counts[:, low] * counts[:, high] / np.maximum(number - 1, 1)[:, None]
            return np.concatenate([counts, coincidences], axis=1)
        within = ((counts @ self._distance()) * counts).sum(axis=1) / np.maximum(number - 1, 1)
        return np.concatenate([within[:, None], counts], axis=1)

    def _distance(self) -> Floats:
        c, k = self.categories[:, None], self.categories[None, :]
        if self.level == "nominal":
            return np.asarray(c != k, dtype=float)
        return np.asarray(np.divide(c - k, c + k, out=np.zeros((len(c), len(c))), where=c + k != 0) ** 2)

    def value(self, sums: Floats) -> Floats:
        """Krippendorff 2011, his ``1 - D_o / D_e`` with the n of each squared away."""
        if self.level == "interval":
            observed, number, total, squares = np.moveaxis(sums, -1, 0)
            expected = ratio(2 * (number * squares - total**2), number - 1)
        elif self.level == "ordinal":
            c = len(self.categories)
            counts, coincidences = sums[..., :c], sums[..., c:]
            number = counts.sum(axis=-1)
            rank = np.cumsum(counts, axis=-1) - counts / 2
            low, high = np.triu_indices(c, 1)
            distance = (rank[..., high] - rank[..., low]) ** 2
            observed = 2 * (coincidences * distance).sum(axis=-1)
            expected = ratio(2 * (counts[..., low] * counts[..., high] * distance).sum(axis=-1), number - 1)
        else:
            observed, counts = sums[..., 0], sums[..., 1:]
            expected = ratio(((counts @ self._distance()) * counts).sum(axis=-1), counts.sum(axis=-1) - 1)
        return np.asarray(1 - ratio(observed, expected))[..., None]


# -- intraclass correlations ------------------------------------------------------------------------

Form = Literal["1", "k", "C,1", "C,k", "A,1", "A,k"]


@dataclass(frozen=True, eq=False)
class OneWay:
    """Variance between and within items where an item's annotators are any annotators: (σ²_I, 0, σ²_E)."""

    centre: float

    width = 6

    def moments(self, data: Answers) -> Floats:
        """Items, labels, their squares, Σy, Σy² and (Σy)²/n of each item."""
        y = data.value - self.centre
        number, total, squares = item_sums(data, y, y * y)
        there = np.minimum(number, 1.0)
        return np.stack([there, number, number**2, total, squares, total**2 / np.maximum(number, 1)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """Analysis of variance, also for unequal numbers of labels: (..., 3)."""
        items, labels, squared, total, squares, between = np.moveaxis(sums, -1, 0)
        within = ratio(squares - between, labels - items)
        above = ratio(between - ratio(total**2, labels), items - 1)
        each = ratio(labels - ratio(squared, labels), items - 1)
        return np.stack([ratio(above - within, each), np.zeros_like(within), within], axis=-1)


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Variance of items, annotators and the rest in a complete table: (σ²_I, σ²_J, σ²_E); McGraw & Wong 1996, table 3.

    Items with a missing label are left out.
    """

    centre: float
    n_annotators: int

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.n_annotators + 3

    def moments(self, data: Answers) -> Floats:
        """Items, Σy², (Σy)² and each annotator's y."""
        cells = grid(data) - self.centre
        complete = np.asarray(~np.isnan(cells).any(axis=1))
        cells = np.where(complete[:, None], cells, 0.0)
        squares, total = (cells**2).sum(axis=1), cells.sum(axis=1)
        return np.concatenate([np.stack([complete.astype(float), squares, total**2], axis=1), cells], axis=1)

    def value(self, sums: Floats) -> Floats:
        """Components from mean squares: (..., 3)."""
        k = self.n_annotators
        n, squares, rows, columns = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
        grand = ratio(columns.sum(axis=-1) ** 2, n * k)
        of_items, of_annotators = rows / k - grand, ratio((columns**2).sum(axis=-1), n) - grand
        error = ratio(squares - grand - of_items - of_annotators, (n - 1) * (k - 1))
        item, annotator = ratio(of_items, n - 1), of_annotators / (k - 1)
        return np.stack([(item - error) / k, ratio(annotator - error, n), error], axis=-1)


@dataclass(frozen=True, eq=False)
class Components:
    """The same three variances in a table with missing labels: Henderson's (1953) method 1, the analysis of
    variance of unbalanced data. Unbiased when labels are missing at random; equal to `TwoWay` when none is.

    NaN where labels are no more than items and annotators together: with hardly any item labelled twice, nothing
    is left by which the differences of items could be told from those of annotators and from error.
    """

    centre: float
    n_annotators: int

    @property
    def width(self) -> int:
        """How many moments there are."""
        return 2 * self.n_annotators + 4

    def moments(self, data: Answers) -> Floats:
        """Items, squared numbers of labels, Σy², (Σy)²/n, and each annotator's y and number of labels."""
        cells = grid(data) - self.centre
        there = ~np.isnan(cells)
        cells = np.where(there, cells, 0.0)
        number, total = there.sum(axis=1).astype(float), cells.sum(axis=1)
        of_item = [(number > 0).astype(float), number**2, (cells**2).sum(axis=1), total**2 / np.maximum(number, 1)]
        return np.concatenate([np.stack(of_item, axis=1), cells, there.astype(float)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """Three expectations of sums of squares solved for three components: (..., 3)."""
        items, squared, squares, rows = np.moveaxis(sums[..., :4], -1, 0)
        total, number = np.split(sums[..., 4:], 2, axis=-1)
        labels, annotators = number.sum(axis=-1), (number > 0).sum(axis=-1)
        grand = ratio(total.sum(axis=-1) ** 2, labels)
        columns = (total**2 / np.maximum(number, 1)).sum(axis=-1)
        k_items, k_annotators = ratio(squared, labels), ratio((number**2).sum(axis=-1), labels)
        one = np.ones_like(labels)
        left = np.stack(
            [
                np.stack([labels - k_items, items - k_annotators, items - one], axis=-1),
                np.stack([annotators - k_items, labels - k_annotators, annotators - one], axis=-1),
                np.stack([labels - k_items, labels - k_annotators, labels - one], axis=-1),
            ],
            axis=-2,
        )
        right = np.stack([rows, columns, squares], axis=-1) - grand[..., None]
        left_over = labels - items - annotators + 1
        solvable = (np.abs(np.linalg.det(left)) > 1e-9 * np.maximum(labels, 1) ** 2) & (left_over > 0)
        solution = np.linalg.solve(np.where(solvable[..., None, None], left, np.eye(3)), right[..., None])[..., 0]
        return np.where(solvable[..., None], solution, np.nan)


@dataclass(frozen=True, eq=False)
class IntraclassCorrelation:
    """One or more forms of ICC from variance components."""

    components: OneWay | TwoWay | Components
    forms: tuple[Form, ...]
    k: float

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.components.width

    def moments(self, data: Answers) -> Floats:
        """Those of the components."""
        return self.components.moments(data)

    def value(self, sums: Floats) -> Floats:
        """Each form: (..., forms)."""
        item, annotator, error = np.moveaxis(self.components.value(sums), -1, 0)
        values = []
        for form in self.forms:
            noise = error + (annotator if form.startswith("A") else 0.0)
            values.append(ratio(item, item + noise / (self.k if form.endswith("k") else 1)))
        return np.stack(values, axis=-1)


# -- pairs ------------------------------------------------------------------------------------------


class PairStatistic(Protocol):
    """A statistic of two labels of each item."""

    @property
    def width(self) -> int:
        """How many moments a pair has."""

    def of_pairs(self, x: Floats, y: Floats) -> Floats:
        """What each pair adds: (..., width)."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., width) -> (...)."""


@dataclass(frozen=True, eq=False)
class Kappa:
    """Cohen's κ, or Scott's π where both annotators share one distribution; any weights on finite categories."""

    categories: Floats
    weights: Floats
    shared: bool = False

    @property
    def width(self) -> int:
        """Agreement, pairs, categories of both."""
        return 1 + 2 * len(self.categories)

    def of_pairs(self, x: Floats, y: Floats) -> Floats:
        """Agreement and the categories that were given."""
        c = len(self.categories)
        x_code, y_code = np.searchsorted(self.categories, x), np.searchsorted(self.categories, y)
        moments = np.zeros((*x.shape, self.width))
        moments[..., 0] = self.weights[x_code, y_code]
        np.put_along_axis(moments, 1 + x_code[..., None], 1.0, axis=-1)
        np.put_along_axis(moments, 1 + c + y_code[..., None], 1.0, axis=-1)
        return moments

    def value(self, sums: Floats) -> Floats:
        """(observed - expected) / (1 - expected)."""
        c = len(self.categories)
        first, second = sums[..., 1 : 1 + c], sums[..., 1 + c :]
        number = first.sum(axis=-1)
        if self.shared:
            first = second = (first + second) / 2
        observed = ratio(sums[..., 0], number)
        expected = ratio(((first @ self.weights) * second).sum(axis=-1), number**2)
        return np.asarray(ratio(observed - expected, 1 - expected, ROUNDING))


@dataclass(frozen=True, eq=False)
class Moments2:
    """Statistics of Σ1, Σx, Σy, Σx², Σy², Σxy: Pearson's r, and κ with quadratic weights, which needs no categories."""

    centre: float
    kind: Literal["pearson", "quadratic"]

    width = 6

    def of_pairs(self, x: Floats, y: Floats) -> Floats:
        """The six sums."""
        x, y = x - self.centre, y - self.centre
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)

    def value(self, sums: Floats) -> Floats:
        """R, or 1 - Σ(x - y)² / its expectation when x and y are independent."""
        n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
        covariance = n * xy - x * y
        if self.kind == "quadratic":
            return np.asarray(ratio(2 * covariance, n * (xx + yy) - 2 * x * y, ROUNDING * n * (xx + yy)))
        least = ROUNDING * n**2 * xx * yy
        variances = (n * xx - x * x) * (n * yy - y * y)
        return np.asarray(ratio(covariance, np.sqrt(np.maximum(variances, 0.0)), np.sqrt(least)))


@dataclass(frozen=True, eq=False)
class RankTable:
    """Spearman's ρ or Kendall's τ-b from the cross table of two annotators' labels on finitely many values."""

    categories: Floats
    kind: Literal["spearman", "kendall"]

    @property
    def width(self) -> int:
        """Cells of the table."""
        return len(self.categories) ** 2

    def of_pairs(self, x: Floats, y: Floats) -> Floats:
        """The cell that a pair falls into."""
        cell = np.searchsorted(self.categories, x) * len(self.categories) + np.searchsorted(self.categories, y)
        moments = np.zeros((*x.shape, self.width))
        np.put_along_axis(moments, cell[..., None], 1.0, axis=-1)
        return moments

    def value(self, sums: Floats) -> Floats:
        """Ranks are midranks; τ-b corrects for ties."""
        c = len(self.categories)
        table = sums.reshape(*sums.shape[:-1], c, c)
        rows, columns = table.sum(axis=-1), table.sum(axis=-2)
        n = rows.sum(axis=-1)
        if self.kind == "spearman":
            x = np.cumsum(rows, axis=-1) - rows / 2 - n[..., None] / 2
            y = np.cumsum(columns, axis=-1) - columns / 2 - n[..., None] / 2
            covariance = np.einsum("...ij,...i,...j->...", table, x, y)
            spread = np.sqrt((rows * x * x).sum(axis=-1) * (columns * y * y).sum(axis=-1))
            return np.asarray(ratio(covariance, spread))
        # Pairs below and to the right of a cell are concordant with it, below and to the left discordant.
        below = np.cumsum(table[..., ::-1, :], axis=-2)[..., ::-1, :] - table
        left = np.cumsum(below, axis=-1) - below
        right = below.sum(axis=-1, keepdims=True) - left - below
        concordance = (table * (right - left)).sum(axis=(-2, -1))
        untied = (n**2 - (rows**2).sum(axis=-1)) * (n**2 - (columns**2).sum(axis=-1))
        return np.asarray(ratio(2 * concordance, np.sqrt(untied)))


@dataclass(frozen=True, eq=False)
class Distance:
    """Mean absolute error, root mean squared error, or mean signed difference (second minus first)."""

    kind: Literal["mae", "rmse", "bias"]
    unit: float = 1.0
    """What counts as 1: the range of the scale for a normalised error."""

    width = 2

    def of_pairs(self, x: Floats, y: Floats) -> Floats:
        """A pair's difference, and one."""
        d = (y - x) / self.unit
        d = np.abs(d) if self.kind == "mae" else d * d if self.kind == "rmse" else d
        return np.stack([d, np.ones_like(d)], axis=-1)

    def value(self, sums: Floats) -> Floats:
        """The mean."""
        mean = ratio(sums[..., 0], sums[..., 1])
        return np.asarray(np.sqrt(mean) if self.kind == "rmse" else mean)


@dataclass(frozen=True, eq=False)
class MeanOfPairs:
    """A pair statistic for each pair of annotators on the items that both labelled, averaged (Light 1971)."""

    statistic: PairStatistic
    first: Ints
    second: Ints

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.statistic.width * len(self.first)

    def moments(self, data: Answers) -> Floats:
        """The moments of every pair of annotators, side by side."""
        cells = grid(data)
        x, y = cells[:, self.first], cells[:, self.second]
        both = ~(np.isnan(x) | np.isnan(y))
        fill = data.value[0] if len(data) else 0.0
        moments = self.statistic.of_pairs(np.where(both, x, fill), np.where(both, y, fill)) * both[..., None]
        return moments.reshape(len(cells), -1)

    def value(self, sums: Floats) -> Floats:
        """Each pair's value, after the mean of those that are defined where there are several."""
        return _mean_first(self.statistic.value(sums.reshape(*sums.shape[:-1], len(self.first), -1)))


@dataclass(frozen=True, eq=False)
class WithinItems:
    """A statistic of two annotators over pairs of labels of the same item, each item counting once.

    The first label is by an annotator of ``first``, the second by another of ``second``: what to expect of
    one drawn at random against one drawn at random.
    """

    statistic: PanelStatistic
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.statistic.width

    def moments(self, data: Answers) -> Floats:
        """The mean over the item's pairs."""
        item, pairs = label_pairs(data, self.first, self.second)
        moments = self.statistic.moments(pairs) if len(pairs) else np.zeros((0, self.statistic.width))
        rows = moments / np.bincount(item, minlength=len(data.items))[item][:, None]
        total = np.zeros((len(data.items), rows.shape[1]))
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        if len(starts):
            total[item[starts]] = np.add.reduceat(rows, starts, axis=0)
        return total

    def value(self, sums: Floats) -> Floats:
        """The statistic."""
        return self.statistic.value(sums)


def label_pairs(answers: Answers, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> tuple[Ints, Answers]:
    """Every two labels of an item by an annotator of ``first`` and another of ``second``, as if each pair were
    an item with two annotators; and the item of each pair."""
    start, number = label_runs(answers)
    partners = number[answers.item]
    one = np.repeat(np.arange(len(answers)), partners)
    step = np.arange(len(one)) - np.repeat(np.cumsum(partners) - partners, partners)
    other = start[answers.item[one]] + step
    keep = (one != other) & first[answers.annotator[one]] & second[answers.annotator[other]]
    one, other = one[keep], other[keep]
    value = np.stack([answers.value[one], answers.value[other]], axis=1).ravel()
    row = np.arange(len(one))
    pairs = Answers(
        np.repeat(row, 2),
        np.tile([0, 1], len(one)),
        value,
        tuple(map(str, row)),
        ("first", "second"),
        answers.categories,
    )
    return answers.item[one], pairs


def label_runs(answers: Answers) -> tuple[Ints, Ints]:
    """Where each item's labels start among the labels, and how many there are: (items,) each."""
    number = np.bincount(answers.item, minlength=len(answers.items))
    return np.cumsum(number) - number, number


# -- ranks of many values ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ranking:
    """A column's values in order: ranks for any weights."""

    code: Ints
    order: Ints
    start: Ints

    @classmethod
    def of(cls, column: Floats) -> Ranking:
        """Sort once."""
        _, code = np.unique(column, return_inverse=True)
        order = np.argsort(code, kind="stable")
        return cls(code, order, np.flatnonzero(np.diff(code[order], prepend=-1)))

    def ties(self, weights: Floats) -> Floats:
        """The weight of each different value: (..., values)."""
        return np.add.reduceat(weights[..., self.order], self.start, axis=-1)

    def midranks(self, weights: Floats) -> tuple[Floats, Floats]:
        """The midrank of each different value less the mean rank, and its weight."""
        tied = self.ties(weights)
        return np.cumsum(tied, axis=-1) - tied / 2 - tied.sum(axis=-1, keepdims=True) / 2, tied


@dataclass(frozen=True, eq=False)
class PairRanks:
    """Spearman's ρ or Kendall's τ-b for labels with many values: each pair of annotators, after their mean."""

    kind: Literal["spearman", "kendall"]
    cells: Floats
    first: Ints
    second: Ints

    @property
    def n_used(self) -> int:
        """Items that some pair of annotators both labelled."""
        return int((~np.isnan(self.cells[:, self.first] + self.cells[:, self.second])).any(axis=1).sum())

    def value(self, sums: Floats) -> Floats:
        """From weights; the mean stands first where there are several pairs."""
        return _mean_first(np.stack([self._weighted(sums, a, b) for a, b in self._pairs()], axis=-1))

    def of_items(self, items: Ints) -> Floats:
        """From some items."""
        from scipy.stats import kendalltau

        each = []
        for a, b in self._pairs():
            x, y = self.cells[items, a], self.cells[items, b]
            both = ~(np.isnan(x) | np.isnan(y))
            if self.kind == "kendall":
                each.append(float(kendalltau(x[both], y[both]).statistic) if both.sum() > 1 else np.nan)
            else:
                each.append(float(_spearman(x[both], y[both], np.ones(int(both.sum())))))
        return _mean_first(np.array(each))

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.first.tolist(), self.second.tolist(), strict=True))

    def _weighted(self, weights: Floats, a: int, b: int) -> Floats:
        x, y = self.cells[:, a], self.cells[:, b]
        both = ~(np.isnan(x) | np.isnan(y))
        of_pair = _spearman if self.kind == "spearman" else _kendall
        return of_pair(x[both], y[both], weights[..., both])


def _spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    if weights.shape[-1] < 2:
        return np.full(weights.shape[:-1], np.nan)
    one, two = Ranking.of(x), Ranking.of(y)
    (x_rank, x_tied), (y_rank, y_tied) = one.midranks(weights), two.midranks(weights)
    covariance = (weights * x_rank[..., one.code] * y_rank[..., two.code]).sum(axis=-1)
    spread = np.sqrt((x_tied * x_rank**2).sum(axis=-1) * (y_tied * y_rank**2).sum(axis=-1))
    return np.asarray(ratio(covariance, spread))


def _kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    if weights.shape[-1] < 2:
        return np.full(weights.shape[:-1], np.nan)
    # Single precision is exact for signs and makes the product of weights with all pairs twice as quick.
    signs = (np.sign(x[:, None] - x) * np.sign(y[:, None] - y)).astype(np.float32)
    concordance = ((weights.astype(np.float32) @ signs).astype(float) * weights).sum(axis=-1)
    n = weights.sum(axis=-1)
    untied = [n**2 - (Ranking.of(column).ties(weights) ** 2).sum(axis=-1) for column in (x, y)]
    return np.asarray(ratio(concordance, np.sqrt(untied[0] * untied[1])))


@dataclass(frozen=True, eq=False)
class AlphaRanks:
    """Krippendorff's ordinal α for labels with many values; only labels of items with two or more count."""

    answers: Answers

    @property
    def n_used(self) -> int:
        """Items with two or more labels."""
        return int((label_runs(self.answers)[1] > 1).sum())

    def value(self, sums: Floats) -> Floats:
        """From weights: the distance of two labels is that of their midranks, squared."""
        number = label_runs(self.answers)[1]
        pairable = number[self.answers.item] > 1
        item, number = self.answers.item[pairable], number[number > 1]
        ranking = Ranking.of(self.answers.value[pairable])
        rank, tied = ranking.midranks(sums[..., item])
        of_label = rank[..., ranking.code]
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        squares = np.add.reduceat(of_label**2, starts, axis=-1)
        total = np.add.reduceat(of_label, starts, axis=-1)
        weight = sums[..., item[starts]]
        observed = (weight * 2 * (number * squares - total**2) / (number - 1)).sum(axis=-1)
        n = tied.sum(axis=-1)
        spread = 2 * (n * (tied * rank**2).sum(axis=-1) - (tied * rank).sum(axis=-1) ** 2)
        return np.asarray(1 - ratio(observed, ratio(spread, n - 1)))[..., None]

    def of_items(self, items: Ints) -> Floats:
        """From some items."""
        weights = np.zeros(len(self.answers.items))
        weights[items] = 1.0
        return self.value(weights)


Ranks = PairRanks | AlphaRanks
"""Statistics of the weights of items, not of sums; with ``of_items`` for some items that weigh one each."""


def _mean_first(each: Floats) -> Floats:
    """The mean of the values that are defined, then the values themselves; one value stands alone."""
    if each.shape[-1] == 1:
        return each
    known = ~np.isnan(each)
    mean = ratio(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))
    return np.concatenate([np.asarray(mean)[..., None], each], axis=-1)
