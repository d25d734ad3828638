"""What is known of items without reading them: strata for item-level agreement and the agreement ratio.

Strata are item columns, pairs of them, parts of item ids, and what all item columns together predict of the labels: a
judge that knows several columns, and nothing else of an item, can agree with annotators within the values of each one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.names import Coded, NameParts
from assay.data.ratings import cluster_codes
from assay.data.structure.groups import LEAST_HELD, LEAST_PER_PART, MOST_VALUES, THIRDS, ItemGroups, item_groups
from assay.errors import DesignError
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.components.blocks import cross_codes


@dataclass(frozen=True, eq=False)
class Stratification:
    """Strata of items that are known without reading them: a name, and the stratum of each item, (items,)."""

    name: str
    part: Ints
    by_stem: bool = False
    """Whether strata are stems of item ids, such as documents, whose text the items can share."""
    numbers: Floats | None = None
    """The numbers of a column that is cut into parts: (items,)."""
    order: bool = False
    """Whether the numbers are an order of the items: the numbers in their ids, or dates."""
    finer: bool = False
    """Whether it is a pattern in a column: the weekday of a date, or one tag of a list."""
    names: Sequence[str] = ()
    """The names of strata that are no values of a column, such as suffixes of item ids."""

    @property
    def combined(self) -> bool:
        """Whether it is combined with other columns: a judge that also knows a pattern or an order would be rare."""
        return not (self.by_stem or self.order or self.finer)


# -- item columns and item ids ---------------------------------------------------------------------------

LEAST_CROSSED = 5
"""Items per cell of two stratifications."""

FROM_ITEMS_CROSSED = 100
"""Items from which each pair of three columns or more is crossed: with fewer it costs good judges much power."""

LEAST_OF_STEM = 2
"""Items per stem on average."""

ORDER = "item order"
"""The name of the strata by the number in item ids."""

NUMBERED = re.compile(r"^(\D*)\d+(\D*)$")
"""An item id whose number is a place in an order."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of items without reading them: the strata of a table that item columns give.

    Attributes
    ----------
    columns : tuple of Stratification
        Columns that are strata.
    own_words : tuple of Stratification
        Columns of the labels' own words, which may be labels of an annotator: a verdict must not depend on them.
    unused : mapping of str to str
        The columns that are not strata, each with its reason.
    design : (items, columns) float or None
        The columns of a regression of labels on two item columns or more.
    """

    columns: tuple[Stratification, ...] = ()
    own_words: tuple[Stratification, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    design: Floats | None = None

    def at(self, items: Ints) -> Known:
        """Return the same for some items, or in another order."""

        def some(each: Sequence[Stratification]) -> tuple[Stratification, ...]:
            return tuple(
                replace(one, part=one.part[items], numbers=None if one.numbers is None else one.numbers[items])
                for one in each
            )

        design = None if self.design is None else self.design[items]
        return Known(some(self.columns), some(self.own_words), self.unused, design)

    @classmethod
    def of(
        cls, columns: tuple[Stratification, ...], own_words: tuple[Stratification, ...], unused: Mapping[str, str],
        used: Bools,
    ) -> Known:  # fmt: skip
        """Return what the columns show about the used items, with their regression if there are two or more."""
        plain = [one for one in columns if one.combined]
        if len(plain) < 2 or not used.any():
            return cls(columns, own_words, unused)
        numbers = [one.numbers[used] for one in plain if one.numbers is not None]
        found = design_of(numbers, [one.part[used] for one in plain if one.numbers is None])
        design = np.zeros((len(used), found.shape[1]))
        design[used] = found
        return cls(columns, own_words, unused, design)


def known_columns(labels: Annotations, wanted: Sequence[str] | str, gold: object, used: Bools) -> Known:
    """Return the item columns that are strata of the used items: those named, or all.

    Which columns can be strata, `assay.data.structure.groups` states.
    """
    frame = labels.items
    if wanted != "auto":
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        names = [name for name in names if name in frame.columns or name not in ("none", "stem", "suffix")]
        return Known(tuple(Stratification(name, cluster_codes(labels, name)) for name in names))
    skip = ["item", *labels.technical_columns, *([gold] if isinstance(gold, str) else [])]
    found = item_groups(frame, labels.scale.categories or (), skip, used) if frame.width > 1 else ItemGroups((), {})
    columns, own = (
        tuple(Stratification(one.name, one.codes, one.documents, one.numbers, one.order, one.finer) for one in each)
        for each in (found.strata, found.own_words)
    )
    return Known.of(columns, own, found.unused, used)


def numbers_of_ids(names: pl.Series) -> Floats | None:
    """Return the number in each item id: (items,); None if ids are not the same text with a number each."""
    if len(names) < MOST_VALUES * LEAST_PER_PART:
        return None
    forms = names.str.extract_groups(NUMBERED.pattern)
    around = forms.struct.unnest()
    if forms.null_count() or around.n_unique() > 1:
        return None
    if around.null_count().sum_horizontal().item():
        return None
    return np.asarray(names.str.extract(r"(\d+)").cast(pl.Float64).to_numpy())


def strata_of_order(order: Floats, used: Bools) -> Stratification:
    """Return five parts of the used items by the number in their ids.

    A sorted file, or answers that were given one after another, make the place of an item tell something about it.
    """
    part = np.zeros(len(order), dtype=np.int64)
    part[used] = quantile_parts(order[used])
    return Stratification(ORDER, part, numbers=order, order=True)


def all_strata(
    columns: tuple[Stratification, ...], documents: NameParts | None, suffix: Coded | None, wanted: Sequence[str] | str,
    used: Bools,
) -> tuple[Stratification, ...]:  # fmt: skip
    """Return columns and the suffix, their combination if its cells have several items, then the stem.

    Only the used items count, (items,); others are in the same strata and have no effect.
    """
    plain, stem = [one for one in columns if not one.by_stem], [one for one in columns if one.by_stem]
    auto = wanted == "auto"
    named = {wanted} if isinstance(wanted, str) else set(wanted)
    asked, known = named - {one.name for one in columns}, {"stem": documents, "suffix": suffix}
    if not auto and any(name in asked and part is None for name, part in known.items()):
        raise DesignError(f"strata={wanted!r}: the item ids share no prefix or suffix")
    if suffix is not None and ("suffix" in named or (auto and _per_value(suffix, used) >= LEAST_HELD)):
        plain.append(Stratification("suffix", suffix.codes.astype(np.int64), names=suffix.names.to_list()))
    if documents is not None and ("stem" in named or (auto and _per_value(documents.stem, used) >= LEAST_OF_STEM)):
        stem.append(Stratification("stem", documents.stem.codes.astype(np.int64), by_stem=auto))
    crossed = [one for one in plain if one.combined]
    together = [crossed] if len(crossed) > 1 else []
    if auto and len(crossed) > 2:
        enough = np.count_nonzero(used) >= FROM_ITEMS_CROSSED
        together = [list(two) for two in combinations(crossed, 2)] if enough else []
    for parts in together:
        both, _ = cross_codes(*(_in_thirds(one) if len(parts) == 2 else one.part for one in parts))
        if np.count_nonzero(used) >= LEAST_CROSSED * len(np.unique(both[used])) > 0:
            plain = [*plain, Stratification(" × ".join(one.name for one in parts), both)]
    if plain and all(one.order or one.finer for one in plain):
        plain = [Stratification("", np.zeros(len(plain[0].part), dtype=np.int64)), *plain]
    return (*plain, *stem)


def _per_value(codes: Coded, used: Bools) -> float:
    """Return the used items per value, on average."""
    return np.count_nonzero(used) / max(len(np.unique(codes.codes[used])), 1)


def _in_thirds(one: Stratification) -> Ints:
    """Return the parts of a column in a combination of two: numbers in thirds."""
    if one.numbers is None:
        return one.part
    known = ~np.isnan(one.numbers)
    part = np.zeros(len(one.part), dtype=np.int64)
    part[known] = 1 + quantile_parts(one.numbers[known], THIRDS)
    return part


# -- all item columns together ---------------------------------------------------------------------------

FOLDS, PARTS = 10, 5
LEAST_FITTED = 30
"""Items with fewer of which no regression is made."""

PENALTIES = np.logspace(-1, 3, 9)
"""Ridge penalties, in squared standard deviations of a column; chosen by generalised cross-validation."""


def design_of(numbers: list[Floats], words: list[Ints]) -> Floats:
    """Return the columns of a regression, centred: numbers standardised and by quintile, words by value.

    Parameters
    ----------
    numbers : list of (items,) float
        NaN is the mean.
    words : list of (items,) int
    """
    found = []
    for each in numbers:
        known = ~np.isnan(each)
        centred = np.where(known, each - each[known].mean(), 0.0)
        spread = centred.std()
        found.append((centred / spread if spread > 0 else centred)[:, None])
        found.append(_dummies(quantile_parts(centred)))
    found += [_dummies(each) for each in words]
    together = np.hstack(found)
    return np.asarray(together - together.mean(axis=0), dtype=np.float64)


def _dummies(codes: Ints) -> Floats:
    return np.asarray(codes[:, None] == np.unique(codes), dtype=float)


def quantile_parts(values: Floats, parts: int = PARTS) -> Ints:
    """Return the part of each value, of about equal size; equal values stay together."""
    rounded = np.round(values, 9)
    at = (np.arange(1, parts) * len(values)) // parts
    cuts = np.sort(rounded)[at[at < len(values)]]  # none of no values
    codes = np.searchsorted(np.unique(cuts), rounded, side="right")
    return np.asarray(np.unique(codes, return_inverse=True)[1].reshape(-1), dtype=np.int64)


def predicted_parts(design: Floats, people: Floats, judge: Floats) -> list[Ints]:
    """Return the parts by what the columns predict of the annotators' labels, and of the judge's.

    Nothing if they predict nothing: the parts of the annotators' labels require a cross-validated R² above 0, and those
    of the judge's that both are.

    Parameters
    ----------
    design : (items, columns) float
        See `design_of`.
    people, judge : (items, outcomes) float
        The annotators' mean label, or their share of each label; and the judge's.
    """
    n = len(design)
    if n < LEAST_FITTED:
        return []
    # Folds are drawn in an order of the items that depends on their contents only, not on their names.
    order = np.lexsort(np.round(np.hstack([design, people, judge]), 9).T)
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.random.default_rng(0).permutation(np.arange(n) % FOLDS)
    found = []
    for outcome in (people, judge):
        predicted, share = _cross_predicted(design, outcome, fold)
        if not share > 0:
            break
        found.append(quantile_parts(_first_component(predicted)))
    return [part for part in found if part.max() > 0]


def _cross_predicted(design: Floats, outcome: Floats, fold: Ints) -> tuple[Floats, float]:
    """Return predictions of each fold from the others, minus the others' mean; and the cross-validated R²."""
    predicted, rest = np.zeros_like(outcome), np.zeros_like(outcome)
    for k in range(FOLDS):
        out = fold == k
        mean_x, mean_y = design[~out].mean(axis=0), outcome[~out].mean(axis=0)
        slopes = ridge_slopes(design[~out] - mean_x, outcome[~out] - mean_y)
        predicted[out], rest[out] = (design[out] - mean_x) @ slopes, outcome[out] - mean_y
    total = float((rest**2).sum())
    return predicted, 1 - float(((rest - predicted) ** 2).sum()) / total if total > 0 else 0.0


def ridge_slopes(x: Floats, y: Floats) -> Floats:
    """Return the slopes of a ridge regression of centred columns, penalised by generalised cross-validation."""
    n = len(x)
    values, vectors = np.linalg.eigh(x.T @ x)
    values = np.maximum(values, 0.0)
    along = vectors.T @ (x.T @ y)
    squared = (along**2).sum(axis=1)
    best, slopes = np.inf, np.zeros((x.shape[1], y.shape[1]))
    for penalty in PENALTIES:
        shrunk = 1 / (values + penalty)
        residual = float((y**2).sum() - (squared * (2 * shrunk - values * shrunk**2)).sum())
        score = residual / max(n - 1 - float((values * shrunk).sum()), 1.0) ** 2
        if score < best:
            best, slopes = score, vectors @ (along * shrunk[:, None])
    return np.asarray(slopes)


def _first_component(values: Floats) -> Floats:
    """Return the first principal component of several outcomes."""
    if values.shape[1] == 1:
        return values[:, 0]
    centred = values - values.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axis = vectors[:, -1]
    # The sign of an eigenvector is arbitrary; parts are the same for both.
    return np.asarray(centred @ axis * np.sign(axis[np.abs(axis).argmax()]))
