"""Variance components of items, annotators and the rest, and the intraclass correlations made of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats
from assay.statistics.categories import grid, item_sums, ratio, reuse

Form = Literal["1", "k", "C,1", "C,k", "A,1", "A,k"]


@dataclass(frozen=True)
class OneWay:
    """Variance between and within items, ignoring the identity of annotators: (σ²_I, 0, σ²_E)."""

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


SHARES = np.concatenate([np.linspace(0.0, 0.999, 80), 1 - 10.0 ** np.arange(-3.5, -12.0, -0.5)])
"""Grid of the share of the variance between items. Above .999 it is a grid of the variance within items, down to four
digits of 1 − share: labels of an item then differ by a millionth of the differences between items."""


@dataclass(frozen=True, eq=False)
class OneWayLikely:
    """The same two variances by restricted maximum likelihood, none below 0: (σ²_I, 0, σ²_E).

    Items of as many labels each are one term of the likelihood, so that sums over them are all that it needs.

    Attributes
    ----------
    sizes : tuple of int
        The different numbers of labels that items have.
    """

    centre: float
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, data: Answers, centre: float) -> OneWayLikely:
        """For items with these numbers of labels."""
        return cls(centre, tuple(np.unique(np.bincount(data.item)).tolist()))

    @property
    def width(self) -> int:
        """How many moments there are."""
        return 3 * len(self.sizes) + 1

    def moments(self, data: Answers) -> Floats:
        """Of each size: items, their mean, its square; and squares about the mean."""
        y = data.value - self.centre
        number, total, squares = item_sums(data, y, y * y)
        mean = total / np.maximum(number, 1)
        place = (number[:, None] == np.array(self.sizes)).astype(float)
        each = [place, place * mean[:, None], place * mean[:, None] ** 2]
        return np.concatenate([*each, (squares - number * mean**2)[:, None]], axis=1)

    def value(self, sums: Floats) -> Floats:
        """The ratio of both variances at which the criterion is least, and what follows: (..., 3).

        Looked for on a grid of γ/(1 + γ), then by golden sections.
        """
        flat = sums.reshape(-1, self.width)
        criteria = np.stack([self._criterion(flat, np.full(len(flat), s))[0] for s in SHARES], axis=1)
        best = np.argmin(np.where(np.isnan(criteria), np.inf, criteria), axis=1)
        low, high = SHARES[np.maximum(best - 1, 0)], SHARES[np.minimum(best + 1, len(SHARES) - 1)]
        golden = (np.sqrt(5) - 1) / 2
        for _ in range(48):
            left, right = high - golden * (high - low), low + golden * (high - low)
            lower = self._criterion(flat, left)[0] <= self._criterion(flat, right)[0]
            low, high = np.where(lower, low, left), np.where(lower, right, high)
        share_best = (low + high) / 2
        at_zero = self._criterion(flat, np.zeros(len(flat)))[0] <= self._criterion(flat, share_best)[0]
        share_best = np.where(at_zero, 0.0, share_best)
        within = self._criterion(flat, share_best)[1]
        between = within * share_best / (1 - share_best)
        return np.stack([between, np.zeros_like(within), within], axis=-1).reshape(*sums.shape[:-1], 3)

    def _criterion(self, sums: Floats, share: Floats) -> tuple[Floats, Floats]:
        """The restricted deviance at γ/(1 + γ) for each row of sums, and the corresponding variance within items."""
        items, mean, square = np.split(sums[:, :-1], 3, axis=1)
        size = np.array(self.sizes, dtype=float)
        ratio_of = (share / (1 - share))[:, None]
        spread = 1 + size * ratio_of
        weight = size / spread
        number = items @ size
        total = (items * weight).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = (weight * mean).sum(axis=1) / total
            about = (weight * square).sum(axis=1) - total * centre**2
            within = (sums[:, -1] + np.maximum(about, 0.0)) / (number - 1)
            found = (number - 1) * np.log(within) + (items * np.log(spread)).sum(axis=1) + np.log(total)
        several = (number > items.sum(axis=1)) & (items.sum(axis=1) > 1) & (within > 0)
        return np.where(several, found, np.nan), np.where(several, within, np.nan)


@dataclass(frozen=True)
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
        value_of_items, of_annotators = rows / k - grand, ratio((columns**2).sum(axis=-1), n) - grand
        error = ratio(squares - grand - value_of_items - of_annotators, (n - 1) * (k - 1))
        item, annotator = ratio(value_of_items, n - 1), ratio(of_annotators, np.asarray(k - 1))
        return np.stack([(item - error) / k, ratio(annotator - error, n), error], axis=-1)


@dataclass(frozen=True)
class Components:
    """The same three variances in a table with missing labels: Henderson's (1953) method 1, the analysis of
    variance of unbalanced data. Unbiased when labels are missing at random; equal to `TwoWay` when none is.

    NaN if the number of labels is at most the number of items plus annotators: with very few items labelled twice, the
    variances of items, annotators and error cannot be separated.
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
        left = np.where(np.isfinite(left), left, 0.0)  # without a label there are no equations
        solvable = (np.abs(np.linalg.det(left)) > 1e-9 * np.maximum(labels, 1) ** 2) & (left_over > 0)
        solution = np.linalg.solve(np.where(solvable[..., None, None], left, np.eye(3)), right[..., None])[..., 0]
        return np.where(solvable[..., None], solution, np.nan)


@dataclass(frozen=True, eq=False)
class TwoWayLikely:
    """The three variances by restricted maximum likelihood, none below 0, in a table with or without missing labels.

    The likelihood depends on sums over the items of each number of labels: their number, who labelled which together,
    and totals. NaN in the cases of `Components`.

    `assay.statistics.components.reml` fits one table at a time from its labels. Here thousands of resamples, known only
    by their sums, are fitted in one search.

    Attributes
    ----------
    sizes : tuple of int
        The different numbers of labels that items have.
    """

    centre: float
    n_annotators: int
    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many moments there are."""
        m = self.n_annotators
        return 2 + m + len(self.sizes) * (2 + m + m * m)

    def moments(self, data: Answers) -> Floats:
        """Items, Σy², each annotator's y; of each size: items, (Σy)², each annotator's Σy of its items, and pairs."""
        cells = grid(data) - self.centre
        there = (~np.isnan(cells)).astype(float)
        cells = np.where(there > 0, cells, 0.0)
        number, total = there.sum(axis=1), cells.sum(axis=1)
        place = (number[:, None] == np.array(self.sizes)).astype(float)
        pairs = there[:, :, None] * there[:, None, :]
        of_size = [place, place * total[:, None] ** 2, place[:, :, None] * (there * total[:, None])[:, None, :],
                   place[:, :, None, None] * pairs[:, None]]  # fmt: skip
        each = [np.stack([np.minimum(number, 1.0), (cells**2).sum(axis=1)], axis=1), cells]
        return np.concatenate([*each, *(one.reshape(len(cells), -1) for one in of_size)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """The variances at which the criterion is least: (..., 3)."""
        flat = sums.reshape(-1, self.width)
        found = np.full((len(flat), 3), np.nan)
        parts = self._parts(flat)
        rough = parts.henderson(self.centre)
        known = np.flatnonzero(np.isfinite(rough).all(axis=1) & (parts.spread > 0))
        if len(known):
            start = np.maximum(rough[known], LEAST_START * parts.of(known).spread[:, None])
            found[known] = _most_likely(parts.of(known), start)
        return found.reshape(*sums.shape[:-1], 3)

    def _parts(self, flat: Floats) -> _TwoWaySums:
        m, k, n = self.n_annotators, len(self.sizes), len(flat)
        ends = np.cumsum([1, 1, m, k, k, k * m])
        items, squares, totals, count, square, mean, pairs = np.split(flat, ends, axis=1)
        return _TwoWaySums(
            np.array(self.sizes, dtype=float), items[:, 0], squares[:, 0], totals, count, square,
            mean.reshape(n, k, m), pairs.reshape(n, k, m, m),
        )  # fmt: skip


LEAST_START = 0.01
"""Least share of each variance in the whole at the start of the search."""

LEAST_REST = 1e-8
"""Share of the whole variance, below which that of the rest is 0: annotators agree up to their severity."""

ROUNDED = 1e-11
"""Share of the sum of squares, below which a variance is lost in rounding."""

MOST_DEVIANT = 1e12
"""The criterion of variances that cannot be computed."""

MOST_STEPS = 60
"""Steps of the search for the largest likelihood."""


@dataclass(frozen=True, eq=False)
class _TwoWaySums:
    """Sums of tables, one table a row; see `TwoWayLikely.moments`."""

    sizes: Floats
    items: Floats
    squares: Floats
    totals: Floats
    count: Floats
    square: Floats
    mean: Floats
    pairs: Floats

    def of(self, rows: NDArray[np.int64]) -> _TwoWaySums:
        each = (self.items, self.squares, self.totals, self.count, self.square, self.mean, self.pairs)
        return _TwoWaySums(self.sizes, *(one[rows] for one in each))

    @property
    def number(self) -> Floats:
        """Labels of each annotator."""
        found: Floats = np.einsum("bkii->bi", self.pairs)
        return found

    @property
    def spread(self) -> Floats:
        """The variance of all labels."""
        labels = self.number.sum(axis=1)
        return ratio(self.squares - ratio(self.totals.sum(axis=1) ** 2, labels), labels)

    def henderson(self, centre: float) -> Floats:
        """The variances by the analysis of variance: (tables, 3)."""
        rows = (self.square / self.sizes).sum(axis=1)
        of_items = np.stack([self.items, self.count @ self.sizes**2, self.squares, rows], axis=1)
        sums = np.concatenate([of_items, self.totals, self.number], axis=1)
        return Components(centre, self.totals.shape[1]).value(sums)

    def criterion(self, roots: Floats) -> tuple[Floats, Floats]:
        """The restricted deviance, and the variance of the rest: (tables,).

        ``roots`` are those of the variances of items and annotators relative to the rest, (tables, 2).
        """
        of_item, of_annotator = (roots**2).T
        weight = of_item[:, None] / (1 + self.sizes * of_item[:, None])
        number = self.number
        labels = number.sum(axis=1)
        inner = -np.einsum("bk,bkij->bij", weight, self.pairs)
        inner[:, np.arange(number.shape[1]), np.arange(number.shape[1])] += number
        right = self.totals - np.einsum("bk,bki->bi", weight, self.mean)
        square = self.squares - (weight * self.square).sum(axis=1)
        ones = inner.sum(axis=2)
        outer = np.eye(number.shape[1]) + of_annotator[:, None, None] * inner
        both = np.stack([right, ones], axis=2)
        solved = of_annotator[:, None, None] * (np.swapaxes(both, 1, 2) @ np.linalg.solve(outer, both))
        information = ones.sum(axis=1) - solved[:, 1, 1]
        about = square - solved[:, 0, 0] - ratio((right.sum(axis=1) - solved[:, 0, 1]) ** 2, information)
        # Near 0 it is a difference of rounded numbers: the criterion is far above its minimum there.
        known = (about > ROUNDED * self.squares) & (information > 0)
        about, information = np.where(known, about, 1.0), np.where(known, information, 1.0)
        rest = about / (labels - 1)
        spread = (self.count * np.log1p(self.sizes * of_item[:, None])).sum(axis=1) + np.linalg.slogdet(outer)[1]
        deviance = (labels - 1) * np.log(rest) + spread + np.log(information)
        return np.where(known, deviance, MOST_DEVIANT), rest


def _most_likely(tables: _TwoWaySums, rough: Floats) -> Floats:
    """The variances of each table at the least criterion, from the better of two starts, all above 0: (tables, 3)."""
    shares = rough[:, :2] / rough[:, 2:]
    ends = [_descend(tables, np.sqrt(start)) for start in (shares, np.ones_like(shares))]
    values = [tables.criterion(end)[0] for end in ends]
    roots = np.where((values[0] <= values[1])[:, None], *ends)
    # The derivative at a root of 0 is always 0.
    for k in (0, 1):
        without = roots.copy()
        without[:, k] = 0.0
        lower = tables.criterion(without)[0] <= tables.criterion(roots)[0]
        roots = np.where(lower[:, None], without, roots)
    rest = tables.criterion(roots)[1]
    found = np.concatenate([roots**2, np.ones((len(roots), 1))], axis=1) * rest[:, None]
    found[found[:, 2] <= LEAST_REST * found.sum(axis=1), 2] = 0.0
    return found


def _descend(tables: _TwoWaySums, roots: Floats) -> Floats:
    """Newton's method on the roots, with differences for derivatives and steps that lower the criterion."""
    roots, damping = roots.copy(), np.full(len(roots), 1e-3)
    active = np.arange(len(roots))
    for _ in range(MOST_STEPS):
        here, at = tables.of(active), roots[active]
        value = here.criterion(at)[0]
        slope, bend = _derivatives(here, at, value)
        least = (bend[:, 0, 0] + bend[:, 1, 1]) / 2 - np.hypot((bend[:, 0, 0] - bend[:, 1, 1]) / 2, bend[:, 0, 1])
        shift = np.maximum(-1.1 * least, 0.0) + damping[active] * (1e-3 + np.abs(least))
        step = -np.linalg.solve(bend + shift[:, None, None] * np.eye(2), slope[..., None])[..., 0]
        step = np.clip(step, -0.5 * (1 + at), 0.5 * (1 + at))
        moved = np.abs(at + step)
        lower = here.criterion(moved)[0] <= value
        roots[active] = np.where(lower[:, None], moved, at)
        damping[active] = np.where(lower, damping[active] / 10, damping[active] * 10)
        small = (np.abs(step) <= 1e-10 * (1 + at)).all(axis=1)
        active = active[~small]
        if not len(active):
            break
    return roots


def _derivatives(tables: _TwoWaySums, at: Floats, value: Floats) -> tuple[Floats, Floats]:
    """First and second derivatives of the criterion: (tables, 2) and (tables, 2, 2)."""
    width = 1e-4 * (0.1 + at)
    up, down = (
        [tables.criterion(at + sign * width * unit)[0] for unit in (np.array([1, 0]), np.array([0, 1]), np.ones(2))]
        for sign in (1, -1)
    )
    slope = np.stack([(up[k] - down[k]) / (2 * width[:, k]) for k in (0, 1)], axis=1)
    own = [up[k] + down[k] - 2 * value for k in (0, 1)]
    mixed = (up[2] + down[2] - 2 * value - own[0] - own[1]) / 2
    a, b = width.T
    bend = np.stack([np.stack([own[0] / a**2, mixed / (a * b)], axis=1),
                     np.stack([mixed / (a * b), own[1] / b**2], axis=1)], axis=2)  # fmt: skip
    return slope, bend


@dataclass(frozen=True, eq=False)
class IntraclassCorrelation:
    """One or more forms of ICC from variance components."""

    components: OneWay | OneWayLikely | TwoWay | Components | TwoWayLikely
    forms: tuple[Form, ...]
    k: float

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.components.width

    def moments(self, data: Answers) -> Floats:
        """Those of the components; not to be written to."""
        return reuse(data, self.components, lambda: self.components.moments(data))

    def value(self, sums: Floats) -> Floats:
        """Each form: (..., forms)."""
        return self.value_sharing(sums, {})

    def value_sharing(self, sums: Floats, made: dict[Hashable, Any]) -> Floats:
        """Return each form, from components that are shared with other forms of the model: (..., forms)."""
        if self.components not in made:
            made[self.components] = self.components.value(sums)
        item, annotator, error = np.moveaxis(made[self.components], -1, 0)
        values = []
        for form in self.forms:
            noise = error + (annotator if form.startswith("A") else 0.0)
            values.append(ratio(item, item + noise / (self.k if form.endswith("k") else 1)))
        return np.stack(values, axis=-1)
