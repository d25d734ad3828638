"""Agreement of labels that are categories: shares of equal labels, corrected for chance, Krippendorff's α."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats, Ints
from assay.statistics.base import ROUNDING, item_sums, once, ratio

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["none", "linear", "quadratic", "ordinal"]


def agreement_weights(categories: Floats, weights: Weights | float) -> Floats:
    """How far two categories agree: (C, C), 1 on the diagonal, 0 for the ends of the whole scale.

    ``ordinal`` are Gwet's (2014, section 3.5): from the number of pairs of categories between the two. A number says
    up to which distance two categories count as equal.
    """
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
    return once(answers, ("counts", categories.tobytes()), lambda: _category_counts(answers, categories))


def _category_counts(answers: Answers, categories: Floats) -> Floats:
    cell = answers.item * len(categories) + np.searchsorted(categories, answers.value)
    size = answers.n_items * len(categories)
    return np.bincount(cell, minlength=size).reshape(answers.n_items, len(categories)).astype(float)


@dataclass(frozen=True, eq=False)
class ChanceCorrected:
    """Observed agreement of pairs of labels, corrected for chance: Fleiss's κ, Gwet's AC; or not corrected."""

    categories: Floats
    weights: Weights | float
    chance: Literal["none", "fleiss", "gwet"]

    @cached_property
    def credit(self) -> Floats:
        """How far two categories agree: (C, C)."""
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
        if self.chance == "fleiss":
            expected = ((prevalence @ self.credit) * prevalence).sum(axis=-1)
        else:
            q = len(self.categories)
            expected = self.credit.sum() * (prevalence * (1 - prevalence)).sum(axis=-1) / max(1, q * (q - 1))
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
        counts = np.where(number[:, None] < 2, 0.0, counts)
        if self.level == "ordinal":
            low, high = self._below
            coincidences = counts[:, low] * counts[:, high] / np.maximum(number - 1, 1)[:, None]
            return np.concatenate([counts, coincidences], axis=1)
        within = ((counts @ self._distance) * counts).sum(axis=1) / np.maximum(number - 1, 1)
        return np.concatenate([within[:, None], counts], axis=1)

    @cached_property
    def _below(self) -> tuple[Ints, Ints]:
        """Each two categories, the lower first."""
        low, high = np.triu_indices(len(self.categories), 1)
        return low, high

    @cached_property
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
            low, high = self._below
            distance = (rank[..., high] - rank[..., low]) ** 2
            observed = 2 * (coincidences * distance).sum(axis=-1)
            expected = ratio(2 * (counts[..., low] * counts[..., high] * distance).sum(axis=-1), number - 1)
        else:
            observed, counts = sums[..., 0], sums[..., 1:]
            expected = ratio(((counts @ self._distance) * counts).sum(axis=-1), counts.sum(axis=-1) - 1)
        return np.asarray(1 - ratio(observed, expected))[..., None]
