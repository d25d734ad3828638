"""The labels of one question as formulas take them, in memory or in chunks, and the estimate of a statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypedDict, Unpack

import numpy as np

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunks import Chunks
from assay.data.scales import Scale
from assay.errors import DataError, DesignError, listing, unknown
from assay.estimation import (
    MAX_UNITS,
    Estimate,
    Estimated,
    Floats,
    Method,
    Together,
    Transform,
    estimate_units,
    sum_chunks,
    units_of,
)
from assay.statistics.base import Ints, PanelStatistic
from assay.statistics.pairs import WithinItems
from assay.statistics.ranks import AlphaRanks, PairRanks, Ranks

CELLS = 2**24
"""Numbers that the moments of one slice of items may have (128 MiB); a constant, so that sums never differ."""

MOST_VALUES = 32
"""A rank statistic takes its table of values up to this many different labels, and weights of items above."""

MOST_WEIGHED = 3_000
"""Up to this many items a statistic of weights is resampled; above, its interval comes from batches."""

BATCHES = 100


class How(TypedDict, total=False):
    """How an interval is made; every coefficient takes these.

    Attributes
    ----------
    method : {"jackknife", "percentile", "bca", "none"}
        The default, ``jackknife``, is made on Fisher's z scale for coefficients that end at 1, and covers
        best in our simulations; the other two are bootstraps.
    n_resamples : int
        Bootstrap resamples, 2,000 by default.
    confidence : float
        Level of the interval, .95 by default.
    seed : int
        Same seed, same numbers; 0 by default.
    """

    method: Method
    n_resamples: int
    confidence: float
    seed: int


@dataclass(frozen=True)
class Counted:
    """Statistics that also count the items which add anything to each."""

    statistics: tuple[PanelStatistic, ...]

    def moments(self, data: Answers) -> Floats:
        """The moments of all, and whether there are any of each."""
        parts = [s.moments(data) for s in self.statistics]
        return np.concatenate([*parts, *((p != 0).any(axis=1, keepdims=True) for p in parts)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """What `sum_chunks` never asks for."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Sheet:
    """Labels of one question: who answered, on which scale, and the labels themselves.

    Attributes
    ----------
    labels : Answers or Chunks
        In memory, or in a folder that is read piece by piece.
    annotators : tuple of str
        In the order of the codes.
    scale : Scale
        What a label may be.
    n_items, n_labels : int
        Items with a label, and labels.
    fingerprint : str
        Of the table they came from.
    clusters : (items,) int or None
        Items that are resampled together.
    notes : tuple of str
        What was decided on the way.
    """

    labels: Answers | Chunks
    annotators: tuple[str, ...]
    scale: Scale
    n_items: int
    n_labels: int
    fingerprint: str
    repeats: Repeats = "error"
    clusters: Ints | None = None
    cluster_name: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        labels: Annotations | Chunks,
        annotators: Sequence[str] | None = None,
        *,
        repeats: Repeats = "error",
        clusters: str | None = None,
        least: int = 2,
    ) -> Sheet:
        """The sheet of a table with one criterion, of all annotators or of those named.

        Raises
        ------
        DataError
            For an annotator who is not there.
        DesignError
            For several criteria, repeats that nobody decided about, fewer annotators than ``least``.
        """
        if isinstance(labels, Chunks):
            if clusters is not None:
                raise DesignError("clusters need the whole table in memory; chunks are resampled by item")
            chosen = labels if annotators is None else labels.only(annotators)
            found = chosen.annotators
            sheet = cls(chosen, found, chosen.scale, chosen.n_items, chosen.n_labels, chosen.fingerprint)
        else:
            if annotators is not None:
                labels = labels.where(annotator=list(annotators))
            repeated = labels.has_repeats
            labels = labels.resolve_repeats(repeats)
            answers = labels.answers()
            sheet = cls(
                answers,
                answers.annotators,
                labels.scale,
                len(answers.items),
                len(answers),
                labels.fingerprint,
                repeats if repeated else "error",
                None if clusters is None else cluster_codes(labels, clusters),
                clusters,
                (f"repeated answers: {repeats}",) if repeated else (),
            )
            if annotators is not None:
                sheet = sheet.ordered(tuple(annotators))
        if len(sheet.annotators) < least:
            raise DesignError(
                f"agreement needs {least} annotators; the table has {len(sheet.annotators)} "
                f"({listing(sheet.annotators) or 'none'})"
            )
        return sheet

    def ordered(self, names: tuple[str, ...]) -> Sheet:
        """The same labels with annotators in the order given: signs and tables follow it."""
        if set(names) != set(self.annotators) or not isinstance(self.labels, Answers):
            return self
        code = np.array([names.index(name) for name in self.annotators])[self.labels.annotator]
        return replace(self, labels=in_order(replace(self.labels, annotator=code, annotators=names)), annotators=names)

    # -- what formulas need to know ---------------------------------------------------------------

    @cached_property
    def categories(self) -> Floats:
        """The numbers that a label may be, on the whole scale, lowest first.

        Raises
        ------
        DesignError
            Where the scale does not list its labels.
        """
        if self.scale.categories is not None:
            numbers = self.scale.numeric or self.scale.kind == "preference"
            return np.array(self.scale.categories if numbers else range(len(self.scale.categories)), dtype=float)
        if self.scale.kind == "nominal":
            return np.arange(len(self.labels.categories or ()), dtype=float)
        raise DesignError(
            f"this coefficient counts categories, and labels on '{self.scale.spec}' have none; give the table a "
            "scale of whole numbers or categories (scale=assay.Ordinal(...)), or take a coefficient for numbers"
        )

    @cached_property
    def values(self) -> Floats:
        """The categories of the scale or, where it lists none, the different labels seen, lowest first."""
        if self.scale.categories is not None or self.scale.kind == "nominal":
            return self.categories
        if isinstance(self.labels, Chunks):
            return self.labels.values
        return np.unique(self.labels.value)

    @cached_property
    def centre(self) -> float:
        """A number in the midst of the labels, to be subtracted before squares are summed."""
        if self.scale.bounds is not None:
            return sum(self.scale.bounds) / 2
        return self.labels.mean if isinstance(self.labels, Chunks) else float(self.labels.value.mean())

    @property
    def answers(self) -> Answers:
        """The labels in memory.

        Raises
        ------
        DesignError
            Where they come in chunks.
        """
        if isinstance(self.labels, Chunks):
            raise DesignError("this coefficient needs all labels in memory; read a part of the folder with assay.read")
        return self.labels

    @cached_property
    def complete(self) -> bool:
        """Whether every annotator answered every item."""
        return self.n_labels == self.n_items * len(self.annotators)

    @cached_property
    def joint(self) -> Ints:
        """Items that each two annotators both answered: (annotators, annotators); in memory only."""
        cells = np.zeros((self.n_items, len(self.annotators)), dtype=np.float32)
        cells[self.answers.item, self.answers.annotator] = 1
        return np.asarray(np.rint(cells.T @ cells), dtype=np.int64)

    # -- estimating -------------------------------------------------------------------------------

    def slices(self, unit: Ints, width: int) -> Iterator[Callable[[], tuple[Answers, Ints]]]:
        """The labels by whole items, a bounded number at a time, with the unit of each item."""
        if isinstance(self.labels, Chunks):
            for read, first, last in self.labels.pieces():
                yield partial(_with_unit, read, unit[first:last])
            return
        rows = max(1, CELLS // max(width, 1))
        edges = np.searchsorted(self.labels.item, np.arange(0, self.n_items + rows, rows))
        for start, first, last in zip(range(0, self.n_items, rows), edges, edges[1:], strict=False):
            piece = _slice(self.labels, start, min(start + rows, self.n_items), int(first), int(last))
            yield partial(_with_unit, partial(_same, piece), unit[start : start + rows])

    def units(self, *statistics: PanelStatistic) -> Units:
        """Moments of statistics of the same labels, side by side, summed into the units that are resampled."""
        widths = tuple(s.width for s in statistics)
        most = min(MAX_UNITS, max(1_000, 4 * CELLS // sum(widths)))
        unit, n_units = units_of(self.n_items, self.clusters, max_units=most)
        # Every label of an item meets every other where pairs of labels are taken.
        work = [
            w * (self.n_labels / self.n_items) ** 2 if isinstance(s, WithinItems) else w
            for s, w in zip(statistics, widths, strict=True)
        ]
        sums = sum_chunks(Counted(statistics), self.slices(unit, int(sum(work))), n_units)
        moments, used = np.split(sums, [sum(widths)], axis=1)
        joint: Estimated = statistics[0] if len(statistics) == 1 else Together(statistics, widths)
        name = "clusters" if self.clusters is not None else "items" if n_units == self.n_items else "blocks"
        return Units(joint, moments, tuple(used.sum(axis=0).astype(int).tolist()), name)

    def estimate(
        self, statistic: PanelStatistic | Ranks, transform: Transform = "none", **how: Unpack[How]
    ) -> Estimate:
        """The statistic with its interval; see `How` for what may be asked."""
        if isinstance(statistic, PairRanks | AlphaRanks):
            return self._estimate_ranks(statistic, transform, **how)
        return self.units(statistic).estimate(transform, **how)

    def _estimate_ranks(self, statistic: Ranks, transform: Transform, **how: Unpack[How]) -> Estimate:
        """For rank statistics of labels with many values, which are no sums over items.

        Up to `MOST_WEIGHED` items every resample weighs the items anew. Above, the statistic of each of
        `BATCHES` random batches of items shows how it varies: its mean over batches varies as it does itself.
        """
        if self.n_items <= MOST_WEIGHED:
            unit, n_units = units_of(self.n_items, self.clusters)
            weights = np.zeros((n_units, self.n_items))
            weights[unit, np.arange(self.n_items)] = 1.0
            name = "items" if self.clusters is None else "clusters"
            moving: Estimated = statistic
        else:
            unit, n_units = units_of(self.n_items, self.clusters, max_units=BATCHES)
            batches = np.stack([statistic.of_items(np.flatnonzero(unit == u)) for u in range(n_units)])
            value = statistic.of_items(np.arange(self.n_items))
            weights = np.concatenate([batches, np.ones_like(batches)], axis=1)
            name = "batches"
            moving = Shifted(value - batches.mean(axis=0))
        return Units(moving, weights, (statistic.n_used,), name).estimate(transform, **how)


@dataclass(frozen=True, eq=False)
class Units:
    """What is resampled: moments summed over items, clusters or blocks of either: (units, k).

    Attributes
    ----------
    statistic : Estimated
        What is made of their sum.
    sums : (units, k) float
    n_items : tuple of int
        Items that add anything, to each statistic where there are several.
    name : str
        What a unit is.
    """

    statistic: Estimated
    sums: Floats
    n_items: tuple[int, ...]
    name: str

    def estimate(self, transform: Transform = "none", **how: Unpack[How]) -> Estimate:
        """The statistic with its interval, from the units that add anything."""
        chosen: How = {"method": "jackknife", **how}
        used = self.sums[(self.sums != 0).any(axis=1)]
        sums = used if len(used) else self.sums
        return estimate_units(
            self.statistic, sums, n_items=max(self.n_items), unit=self.name, transform=transform, **chosen
        )

    def apart(self) -> Iterator[tuple[list[int], Units]]:
        """The statistics by how many items they rest on, so that each is resampled over its own items."""
        joint = self.statistic
        if not isinstance(joint, Together):
            yield [0], self
            return
        edges = np.cumsum((0, *joint.widths))
        for n in dict.fromkeys(self.n_items):
            mine = [i for i, used in enumerate(self.n_items) if used == n]
            part: Together[Answers] = Together(
                tuple(joint.statistics[i] for i in mine), tuple(joint.widths[i] for i in mine)
            )
            columns = np.concatenate([np.arange(edges[i], edges[i + 1]) for i in mine])
            yield mine, Units(part, self.sums[:, columns], (n,) * len(mine), self.name)


@dataclass(frozen=True, eq=False)
class Shifted:
    """The mean over batches, moved to where the statistic of all items is."""

    by: Floats

    def value(self, sums: Floats) -> Floats:
        """Sum over number, and the shift."""
        total, number = np.split(sums, 2, axis=-1)
        return np.asarray(total / np.maximum(number, 1) + self.by)


def in_order(answers: Answers) -> Answers:
    """The same labels sorted by item, then annotator."""
    order = np.lexsort((answers.annotator, answers.item))
    return replace(answers, item=answers.item[order], annotator=answers.annotator[order], value=answers.value[order])


def _with_unit(read: Callable[[], Answers], unit: Ints) -> tuple[Answers, Ints]:
    return read(), unit


def _same(answers: Answers) -> Answers:
    return answers


def _slice(answers: Answers, start: int, stop: int, first: int, last: int) -> Answers:
    """The items from ``start`` to ``stop``, whose labels are ``first`` to ``last``."""
    return replace(
        answers,
        item=answers.item[first:last] - start,
        annotator=answers.annotator[first:last],
        value=answers.value[first:last],
        items=answers.items[start:stop],
    )


def cluster_codes(labels: Annotations, name: str) -> Ints:
    """The cluster of each item, from a column of the items."""
    if name not in labels.items.columns:
        raise DataError(unknown("item column", name, labels.items.columns, "the table of items"))
    column = labels.items[name]
    if column.null_count():
        raise DataError(f"{column.null_count()} items have no '{name}'; fill it, or do without clusters='{name}'")
    return column.rank("dense").to_numpy().astype(np.int64) - 1
