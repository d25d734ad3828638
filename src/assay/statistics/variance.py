"""Variance components of items, annotators and the rest, and the intraclass correlations made of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

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
