"""From the one table to the arrays for formulas, in one place for every question.

`Ratings` contains the labels of one question: its annotators and its scale, in memory or in chunks of a folder. Sums
over items come from `Ratings.sums` (of statistics with moments) or `Ratings.add_up` (of anything else that can be
summed). Labels are processed a bounded number at a time, in whole items, and only this module decides which units are
resampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, Answers, Repeats, digest_of_columns
from assay.data.chunked.chunk_store import MOST_VALUES
from assay.data.chunked.chunks import Chunks, require_few_values
from assay.data.columns import KEY
from assay.data.names import Names, natural
from assay.data.scales import Label, Scale
from assay.data.values import plain_numbers
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.resampling import MAX_UNITS, JointSums, Units, add_rows, gather, sum_pieces
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints, MultipleEstimates

CELLS = 2**24
"""Largest number of moments of one slice of items (128 MiB); a constant, so that sums never differ."""

MOST_LEFT_OUT = 50
"""Number of annotators up to which they are left out one at a time; more are left out in this number of random groups,
because each leave-out is a separate computation."""

LABELS = 2**21
"""Approximate number of labels of one slice of items: 16 MiB a column; constant, like `CELLS`."""

HELD_ITEMS = MAX_UNITS
"""Labels derived from a folder stay in memory up to this number of items: rules for few items need them together."""

CENTRE_BITS = 20
"""A mean to one part in a million is as good a centre as the exact mean; rounding of sums is 10⁻¹⁶."""


class Summed(MultipleEstimates, Protocol):
    """Statistics of summed moments of the labels of items, side by side."""

    @property
    def sides(self) -> tuple[tuple[int, int] | None, ...]:
        """For each statistic of pairs of an item's labels, how many annotators meet how many."""

    def moments(self, data: Answers) -> Floats:
        """Return the contribution of each item: (items, k)."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Labels of one question in the form that formulas use.

    Attributes
    ----------
    source : Answers or Chunks
        The labels: in memory, or in a folder that is read in chunks.
    annotators : tuple of str
        In the order of the codes.
    humans, judges : tuple of str
        Which of them are human and which are judges.
    scale : Scale
        The scale of the labels.
    n_items, n_labels : int
        Items with a label, and labels.
    fingerprint : str
        Of the labels and of every column that was used.
    repeats : str
        How repeated labels are combined; ``error`` if there are none.
    clusters : (items,) int or None
        The cluster of each item, in which items are resampled together.
    facets : mapping of column to (items,) int
        Codes of further columns of the items: the facets of a design.
    exclusions, notes
        Excluded labels, and decisions made on the way.
    """

    source: Answers | Chunks | Derived | Labelled
    annotators: tuple[str, ...]
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    scale: Scale
    n_items: int
    n_labels: int
    fingerprint: str
    repeats: Repeats = "error"
    clusters: Ints | None = None
    cluster_name: str | None = None
    facets: Mapping[str, Ints] = field(default_factory=dict)
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        labels: Annotations | Chunks,
        annotators: Sequence[str] | None = None,
        *,
        repeats: Repeats = "error",
        clusters: str | None = None,
        facets: Sequence[str] = (),
    ) -> Ratings:
        """Return the labels of a table with one criterion, of all annotators or of those named, in that order.

        Raises
        ------
        DataError
            For an unknown annotator or column, and for items without a cluster.
        DesignError
            For several criteria, repeats without a rule, clusters of a folder in chunks.
        """
        if isinstance(labels, Chunks):
            if clusters is not None or facets:
                raise DesignError("clusters require the whole table in memory; chunks are resampled by item")
            return cls._of_chunks(labels if annotators is None else labels.only(annotators))
        if annotators is not None:
            labels = labels.where(annotator=list(annotators))
        repeated = labels.has_repeats
        fingerprint = labels.fingerprint
        labels = labels.resolve_repeats(repeats)
        answers = labels.answers()
        if annotators is not None and tuple(annotators) != answers.annotators:
            answers = choose(answers, tuple(annotators))
        named = {name: cluster_codes(labels, name) for name in (*facets, *([clusters] if clusters is not None else []))}
        return cls(
            source=answers,
            annotators=answers.annotators,
            humans=labels.humans,
            judges=labels.judges,
            scale=labels.scale,
            n_items=len(answers.items),
            n_labels=len(answers),
            fingerprint=fingerprint_with(fingerprint, **{name: codes.tobytes() for name, codes in named.items()}),
            repeats=repeats if repeated else "error",
            clusters=None if clusters is None else named[clusters],
            cluster_name=clusters,
            facets={name: named[name] for name in facets},
            notes=(f"repeated labels: {repeats}",) if repeated else (),
        )

    @classmethod
    def _of_chunks(cls, chosen: Chunks) -> Ratings:
        """Return the labels of a folder: in memory if they fit into one slice, otherwise read in chunks.

        Items without a label of the selected annotators are dropped, as from a table in memory.
        """
        whole = set(chosen.annotators) == set(chosen.all_annotators)
        source: Answers | Chunks | Labelled = chosen
        if chosen.n_labels <= LABELS:
            source = answers = chosen.between(0, chosen.n_items)()
            labelled = np.bincount(answers.item, minlength=chosen.n_items) > 0
            if not labelled.all():
                source = _labelled_only(answers, labelled)
            n_items = int(labelled.sum())
        elif whole:
            n_items = chosen.n_items
        else:
            number = np.concatenate(gather(partial(_labels_of_item, read) for read, _, _ in chosen.pieces()))
            source = Labelled(chosen, np.flatnonzero(number))
            n_items = source.n_items
        judges = tuple(j for j in chosen.judges if j in chosen.annotators)
        return cls(
            source, chosen.annotators, chosen.humans, judges, chosen.scale, n_items, chosen.n_labels,
            chosen.fingerprint,
        )  # fmt: skip

    def require_annotators(self, n: int, question: str) -> Ratings:
        """Return the same ratings if there are enough annotators.

        Raises
        ------
        DesignError
            If there are fewer.
        """
        if len(self.annotators) < n:
            raise DesignError(
                f"{question} requires {n} annotators; the table has {len(self.annotators)} "
                f"({listing(self.annotators) or 'none'})"
            )
        return self

    # -- quantities for formulas ------------------------------------------------------------------

    @cached_property
    def in_chunks(self) -> bool:
        """Whether the labels come in chunks of a folder."""
        return not isinstance(self.source, Answers)

    @property
    def answers(self) -> Answers:
        """The labels in memory.

        Raises
        ------
        DesignError
            If they come in chunks.
        """
        if not isinstance(self.source, Answers):
            raise DesignError("this analysis requires all labels in memory; read a part of the folder with assay.read")
        return self.source

    @cached_property
    def categories(self) -> Floats:
        """The possible labels on the whole scale as numbers, lowest first.

        Raises
        ------
        DesignError
            If the scale does not list its labels.
        """
        if self.scale.categories is not None:
            numbers = self.scale.numeric or self.scale.kind == "preference"
            return np.array(self.scale.categories if numbers else range(len(self.scale.categories)), dtype=float)
        if self.scale.kind == "nominal":
            return np.arange(len(self.source.categories or ()), dtype=float)
        raise DesignError(
            f"this coefficient requires categories, and the scale '{self.scale.spec}' has none; give the table a "
            "scale of whole numbers or categories (scale=assay.Ordinal(...)), or use a coefficient for numbers"
        )

    @cached_property
    def values(self) -> Floats:
        """The categories of the scale or, if it lists none, the distinct labels that occur, lowest first."""
        if self.scale.categories is not None or self.scale.kind == "nominal":
            return self.categories
        if not isinstance(self.source, Answers):
            return self.source.values
        return np.unique(self.source.value)

    @cached_property
    def centre(self) -> float:
        """A number near the middle of the labels, which is subtracted before squares are summed.

        A mean is rounded to `CENTRE_BITS`, so that it does not depend on the order of summation.
        """
        if self.scale.bounds is not None:
            return sum(self.scale.bounds) / 2
        mean = float(self.source.value.mean()) if isinstance(self.source, Answers) else self.source.mean
        if not math.isfinite(mean):
            return 0.0
        share, power = math.frexp(mean)
        return math.ldexp(round(math.ldexp(share, CENTRE_BITS)), power - CENTRE_BITS)

    @cached_property
    def complete(self) -> bool:
        """Whether every annotator labelled every item."""
        return self.n_labels == self.n_items * len(self.annotators)

    @cached_property
    def labels_of_item(self) -> Ints:
        """How many labels each item has: (items,)."""
        if isinstance(self.source, Answers):
            return np.bincount(self.source.item, minlength=self.n_items)
        parts = gather(partial(_labels_of_item, read) for read, _, _ in self.slices(1))
        return np.concatenate(parts).astype(np.int64)

    @cached_property
    def joint(self) -> Ints:
        """Number of items that both of two annotators labelled: (annotators, annotators)."""
        slices = self.slices(len(self.annotators))
        if isinstance(self.source, Answers):
            found = np.sum([_joint(read) for read, _, _ in slices], axis=0)
        else:
            found = sum_pieces(partial(_joint, read) for read, _, _ in slices)
        return np.asarray(np.rint(found), dtype=np.int64)

    @cached_property
    def varied(self) -> bool:
        """Whether there are at least two different labels."""
        return self.in_chunks or len(np.unique(self.answers.value)) > 1

    # -- selections and derived labels ---------------------------------------------------------------

    def only(self, names: tuple[str, ...]) -> Ratings:
        """Return the labels of some annotators, in that order; all items are kept."""
        found = self.derive(partial(choose, names=names), names)
        if "joint" in vars(self):
            place = [self.annotators.index(name) for name in names]
            vars(found).update(joint=self.joint[np.ix_(place, place)])
        return found

    def left_out(self) -> list[tuple[str, ...]]:
        """Groups of annotators for the leave-one-out: single annotators or, if there are very many, random groups."""
        if len(self.annotators) <= MOST_LEFT_OUT:
            return [(name,) for name in self.annotators]
        shuffled = np.random.default_rng(len(self.annotators)).permutation(len(self.annotators))
        groups = (np.sort(shuffled[start::MOST_LEFT_OUT]) for start in range(MOST_LEFT_OUT))
        return [tuple(self.annotators[i] for i in group) for group in groups]

    def without(self, names: tuple[str, ...]) -> Ratings:
        """Return the labels of all other annotators."""
        return self.only(tuple(name for name in self.annotators if name not in names))

    def derive(
        self, make: Callable[[Answers], Answers], names: tuple[str, ...], scale: Scale | None = None
    ) -> Ratings:  # fmt: skip
        """Derive other labels of the same items, slice by slice if the labels come in chunks."""
        if isinstance(self.source, Answers):
            other = make(self.source)
            found = replace(self, source=other, annotators=names, n_labels=len(other), scale=scale or self.scale)
        else:
            made = Derived(self.source, make, names)
            source: Answers | Derived = made.between(0, self.n_items)() if self.n_items <= HELD_ITEMS else made
            n_labels = len(source) if isinstance(source, Answers) else source.survey.n_labels
            found = replace(self, source=source, annotators=names, n_labels=n_labels, scale=scale or self.scale)
        return self._share_scale(found) if scale is None else found

    def _share_scale(self, found: Ratings) -> Ratings:
        """Other labels on the same scale, which share the numbers that the scale determines."""
        if self.scale.categories is not None or self.scale.kind == "nominal":
            vars(found).update(categories=self.categories, values=self.categories)
        if self.scale.bounds is not None:
            vars(found).update(centre=self.centre)
        return found

    # -- summing ------------------------------------------------------------------------------------

    def rows_of(self, width: int) -> int:
        """Return the number of items per slice: ``width`` numbers per item, and their labels, fit in memory."""
        labels = LABELS * max(self.n_items, 1) // max(self.n_labels, 1)
        return max(1, min(CELLS // max(width, 1), labels))

    def slices(self, width: int) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """Yield the labels in slices of whole items: a function that reads the slice, its first item and its end.

        In memory and in chunks, items are split at the same places, so that sums agree to the last digit.
        """
        if not isinstance(self.source, Answers):
            yield from self.source.pieces(self.rows_of(width))
            return
        for piece, start in cut(self.source, self.rows_of(width)):
            yield partial(_identity, piece), start, start + len(piece.items)

    def add_up(self, reduce: Callable[[Answers, Ints], Floats], units: Units, width: int) -> Floats:
        """Sum ``reduce(labels, unit of each item)`` over all slices of whole items.

        Slices are processed with joblib, on all cores or a cluster if the caller has configured it; only sums are sent.
        """
        if isinstance(self.source, Answers) and self.rows_of(width) >= self.n_items:
            return reduce(self.source, units.of_item)
        return sum_pieces(
            partial(_read_and_reduce, read, units.of_item[first:last], reduce)
            for read, first, last in self.slices(width)
        )  # fmt: skip

    def totals(self, statistics: Summed) -> Floats:
        """Return the moments of several statistics of the same labels, summed over all items."""
        everything = Units(np.zeros(self.n_items, dtype=np.int64), 1, "blocks")
        return self.add_up(partial(_totals, statistics), everything, self._work(statistics))

    def _work(self, statistics: Summed) -> int:
        """Numbers computed per item: one of each pair of labels if a statistic uses pairs."""
        labels = self.n_labels / max(self.n_items, 1)
        pairs = (1 if sides is None else min(sides[0], labels) * min(sides[1], labels) for sides in statistics.sides)
        return int(sum(width * number for width, number in zip(statistics.widths, pairs, strict=True)))

    def sums(self, statistics: Summed, units: Units | None = None) -> JointSums:
        """Return the moments of several statistics of the same labels, summed by resampling unit.

        Parameters
        ----------
        units : Units, optional
            The units of other labels of the same items, if both are left out together.
        """
        width = sum(statistics.widths)
        units = units or Units.of(self.n_items, self.clusters, width=width)
        found = self.add_up(partial(_count_units, statistics, units.n), units, self._work(statistics))
        moments, used = np.split(found, [width], axis=1)
        return JointSums(statistics, moments, tuple(used.sum(axis=0).astype(int).tolist()), units.name, units)


# -- slices ----------------------------------------------------------------------------------------


def cut(answers: Answers, rows: int) -> Iterator[tuple[Answers, int]]:
    """Split labels into whole items, at most ``rows`` items at a time; also yield the first item of each slice."""
    n_items = len(answers.items)
    if rows >= n_items:
        yield answers, 0
        return
    edges = np.searchsorted(answers.item, np.arange(0, n_items + rows, rows))
    for start, first, last in zip(range(0, n_items, rows), edges, edges[1:], strict=False):
        yield _slice(answers, start, min(start + rows, n_items), int(first), int(last)), start


def choose(answers: Answers, names: tuple[str, ...]) -> Answers:
    """Return the labels of some annotators, in that order; all items are kept."""
    code = np.full(len(answers.annotators), -1)
    for name in names:
        if name not in answers.annotators:
            raise DataError(unknown("annotator", name, answers.annotators))
    code[[answers.annotators.index(name) for name in names]] = range(len(names))
    kept = answers.select(code[answers.annotator] >= 0)
    return in_order(replace(kept, annotator=code[kept.annotator], annotators=names))


def in_order(answers: Answers) -> Answers:
    """Return the labels sorted by item, then annotator."""
    place = answers.item * len(answers.annotators) + answers.annotator
    if (place[1:] >= place[:-1]).all():
        return answers
    order = np.lexsort((answers.annotator, answers.item))
    return replace(
        answers, item=answers.item[order], annotator=answers.annotator[order], value=answers.value[order]
    )  # fmt: skip


def _read_and_reduce(read: Callable[[], Answers], unit: Ints, reduce: Callable[[Answers, Ints], Floats]) -> Floats:
    return reduce(read(), unit)


def _count_units(statistics: Summed, n_units: int, data: Answers, unit: Ints) -> Floats:
    """The moments of all statistics, and whether each item has any, summed by unit."""
    few, kind = distinct_items(data) or (data, None)
    moments = statistics.moments(few)
    edges = np.cumsum((0, *statistics.widths))
    there = [moments[:, a:b].any(axis=1) for a, b in pairwise(edges.tolist())]
    return add_rows(moments, unit, n_units, np.stack(there, axis=1).astype(float), kind=kind)


def _totals(statistics: Summed, data: Answers, unit: Ints) -> Floats:
    """The moments of all statistics, summed over all items."""
    del unit
    few, kind = distinct_items(data) or (data, None)
    moments = statistics.moments(few)
    each = moments if kind is None else np.bincount(kind)[:, None] * moments
    return np.asarray(each.sum(axis=0))


@dataclass(frozen=True, eq=False)
class LabelSurvey:
    """Summary of labels: their number, sum and distinct values (only the lowest, if very many)."""

    n_labels: int
    total: float
    values: Floats

    @classmethod
    def of(cls, pieces: Iterator[tuple[Callable[[], Answers], int, int]]) -> LabelSurvey:
        """Survey all slices."""
        parts = gather(partial(_survey, read) for read, _, _ in pieces)
        values = np.unique(np.concatenate([part.values for part in parts]))[: MOST_VALUES + 1]
        return cls(sum(part.n_labels for part in parts), math.fsum(part.total for part in parts), values)


def _survey(read: Callable[[], Answers]) -> LabelSurvey:
    value = read().value
    return LabelSurvey(len(value), math.fsum(value), np.unique(value)[: MOST_VALUES + 1].astype(float))


class LabelPieces:
    """Labels that are derived from those of a folder, with their survey."""

    source: Chunks | Derived | Labelled

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories that values point into; None if labels are not categories."""
        return self.source.categories

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """Read in chunks, as `Chunks.pieces`."""
        raise NotImplementedError

    @cached_property
    def survey(self) -> LabelSurvey:
        """The number of labels, and the distinct labels."""
        return LabelSurvey.of(self.pieces(self.most_read))

    @property
    def values(self) -> Floats:
        """The distinct labels, lowest first.

        Raises
        ------
        DesignError
            If there are too many to list.
        """
        return require_few_values(self.survey.values)

    @property
    def mean(self) -> float:
        """The mean of the labels."""
        return self.survey.total / max(self.survey.n_labels, 1)

    @property
    def most_read(self) -> int:
        """Number of items whose labels in the folder fit in memory."""
        if isinstance(self.source, LabelPieces):
            return self.source.most_read
        return max(1, LABELS * self.source.n_items // max(self.source.n_labels, 1))


@dataclass(frozen=True, eq=False)
class Labelled(LabelPieces):
    """Labels of a folder, without the items that have no label.

    Attributes
    ----------
    keep : (items,) int
        Positions, in the folder, of the items that have a label.
    """

    source: Chunks
    keep: Ints

    @property
    def n_items(self) -> int:
        """Number of remaining items."""
        return len(self.keep)

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """Read in chunks, as `Chunks.pieces`."""
        step = most_items or self.most_read
        for first in range(0, self.n_items, step):
            end = min(first + step, self.n_items)
            yield self.between(first, end), first, end

    def between(self, first: int, end: int) -> Callable[[], Answers]:
        """Read a range of items, as `Chunks.between`."""
        start, stop = int(self.keep[first]), int(self.keep[end - 1]) + 1
        labelled = np.zeros(stop - start, dtype=bool)
        labelled[self.keep[first:end] - start] = True
        return partial(_read_labelled, self.source.between(start, stop), labelled)


def _read_labelled(read: Callable[[], Answers], labelled: Bools) -> Answers:
    return _labelled_only(read(), labelled)


def _labelled_only(answers: Answers, labelled: Bools) -> Answers:
    """The same labels, without the items that have no label."""
    names = Names.later(int(labelled.sum()), partial(_chosen_names, answers.items, labelled))
    return replace(answers, item=(np.cumsum(labelled) - 1)[answers.item], items=names)


def _chosen_names(names: Sequence[str], chosen: Bools) -> pl.Series:
    return pl.Series([name for name, there in zip(names, chosen, strict=True) if there], dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Derived(LabelPieces):
    """Labels that are derived from those of a folder, slice by slice: of some annotators, of a consensus."""

    source: Chunks | Derived | Labelled
    make: Callable[[Answers], Answers]
    annotators: tuple[str, ...]

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """Read in chunks, as `Chunks.pieces`."""
        for _, first, last in self.source.pieces(most_items):
            yield self.between(first, last), first, last

    def between(self, first: int, end: int) -> Callable[[], Answers]:
        """Read a range of items, as `Chunks.between`; few derived labels can require many, so the range is divided."""
        edges = [*range(first, end, self.most_read), end]
        return partial(_make_joined, self.make, [self.source.between(a, b) for a, b in pairwise(edges)])


def _make_joined(make: Callable[[Answers], Answers], reads: Sequence[Callable[[], Answers]]) -> Answers:
    found = [make(read()) for read in reads]
    return found[0] if len(found) == 1 else _concatenate(found)


def _concatenate(parts: Sequence[Answers]) -> Answers:
    """Join labels of consecutive items."""
    starts = np.cumsum([0, *(len(part.items) for part in parts)])
    return replace(
        parts[0],
        item=np.concatenate([part.item + start for part, start in zip(parts, starts[:-1], strict=True)]),
        annotator=np.concatenate([part.annotator for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        items=Names.later(int(starts[-1]), partial(_names, [part.items for part in parts])),
    )


def _names(parts: Sequence[Sequence[str]]) -> pl.Series:
    return pl.Series([name for part in parts for name in part], dtype=pl.String)


def _labels_of_item(read: Callable[[], Answers]) -> NDArray[np.int32]:
    answers = read()
    return np.bincount(answers.item, minlength=len(answers.items)).astype(np.int32)


def _joint(read: Callable[[], Answers]) -> Floats:
    answers = read()
    cells = np.zeros((len(answers.items), len(answers.annotators)), dtype=np.float32)
    cells[answers.item, answers.annotator] = 1
    return (cells.T @ cells).astype(np.float64)


def _identity(answers: Answers) -> Answers:
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


# -- clusters --------------------------------------------------------------------------------------


def cluster_codes(labels: Annotations, column: str) -> NDArray[np.int64]:
    """Return the cluster of each item, from a column of the items: a document, a system, a lesson.

    Returns
    -------
    (items,) int
        In the order of ``labels.items``; clusters are numbered from 0 in the order of their names.

    Raises
    ------
    DataError
        If the items have no such column, or an item has no value in it.
    """
    clusters = labels.of_items(column)
    if clusters.dtype.is_float():
        clusters = clusters.fill_nan(None)
    if clusters.null_count():
        unassigned = labels.items["item"].filter(clusters.is_null())
        more = f" and {len(unassigned) - 3:,} more" if len(unassigned) > 3 else ""
        shown = listing([f"item '{item}'" for item in unassigned.head(3)]) + more
        have = "has" if len(unassigned) == 1 else "have"
        raise DataError(
            f"{counted(len(unassigned), 'item')} {have} no '{column}' ({shown}); fill in the values, drop those items, "
            f"or try without clusters='{column}'"
        )
    return level_codes(clusters)


def level_codes(values: pl.Series) -> Ints:
    """The rank of each value among the distinct values; names are sorted alphabetically."""
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        values = values.cast(pl.String)
        numbers = plain_numbers(values.str.strip_chars())
        if numbers.null_count() == values.null_count():
            values = numbers  # numbers as text: 4.0 is the level 4
    return values.rank("dense").to_numpy().astype(np.int64) - 1


def _level_names(values: pl.Series, codes: Ints) -> tuple[str, ...]:
    """The name of each level."""
    first = np.unique(codes, return_index=True)[1]
    return tuple(str(values[int(row)]) for row in first)


# -- distinct items --------------------------------------------------------------------------------
# The contribution of an item to a statistic depends only on its labels. With few annotators and few possible labels, a
# large table has few distinct items, and each contribution is computed once.

FROM_ITEMS = 2**15
"""Fewer items are processed individually, which takes milliseconds."""

MOST_KINDS = 2**22
"""Largest possible number of distinct items: their table takes 32 MiB."""

FEWER = 8
"""Ratio of items to distinct items from which they are used; below, finding them takes the time that it saves."""


def distinct_items(answers: Answers) -> tuple[Answers, Ints] | None:
    """Return one item of each kind, in order of occurrence, and the kind of each item: (items,).

    None if there are few items, if labels are not whole numbers in a short range, or if few items have equal labels.
    Each annotator labels an item at most once.
    """
    n, m = answers.n_items, len(answers.annotators)
    if n < FROM_ITEMS or not len(answers):
        return None
    low, high = float(answers.value.min()), float(answers.value.max())
    base = high - low + 2  # a label, or a missing label
    if m * np.log2(base) > np.log2(MOST_KINDS):  # base**m overflows if there are many annotators
        return None
    digit = answers.value - (low - 1)
    if answers.value.dtype.kind == "f" and (digit != np.rint(digit)).any():
        return None
    # Sums of whole numbers far below 2**53 are exact in floating point.
    key = np.bincount(answers.item, digit * (base ** np.arange(m))[answers.annotator], n).astype(np.int64)
    first = np.full(int(base**m), -1)
    first[key[::-1]] = np.arange(n)[::-1]
    kinds = np.flatnonzero(first >= 0)
    if len(kinds) * FEWER > n:
        return None
    kinds = kinds[np.argsort(first[kinds])]
    number = np.empty(len(first), dtype=np.int64)
    number[kinds] = np.arange(len(kinds))
    kind, chosen = number[key], np.zeros(n, dtype=bool)
    chosen[first[kinds]] = True
    few = answers.select(chosen[answers.item])
    return replace(few, item=kind[few.item], items=tuple(map(str, range(len(kinds))))), kind


# -- labels with the levels of facets ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Faceted:
    """Labels as numbers, with the level of each label on every facet.

    Attributes
    ----------
    value : (labels,) float
    codes : mapping of facet to (labels,) int
        The level, from 0 in the order of the column's values.
    n_items : int
    humans, judges : tuple of str
    fingerprint : str
        Of the labels and the columns.
    notes : tuple of str
    names : mapping of facet to tuple of str
        The names of its levels.
    """

    value: Floats
    codes: Mapping[str, Ints]
    n_items: int
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    fingerprint: str
    notes: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.value)

    def rows(self, keep: Ints) -> Faceted:
        """Select labels by position; repeated positions are allowed."""
        return replace(self, value=self.value[keep], codes={f: c[keep] for f, c in self.codes.items()})


def facet_ratings(
    labels: Annotations,
    columns: Mapping[str, str],
    *,
    annotators: Sequence[str] | None = None,
    repeats: Repeats = "error",
    reverse: Sequence[str] = (),
) -> Faceted:
    """Return the labels of a table with their level on each facet.

    Parameters
    ----------
    labels : Annotations
        Several criteria are allowed only if one of the columns is ``criterion``.
    columns : mapping of facet to column
        Columns of the answers, the items or the annotators.
    annotators, repeats
        The annotators to include, and how to combine repeated labels; if ``repeat`` is a facet, each is used.
    reverse : sequence of str
        Negatively worded criteria, whose labels are reversed on their scale.

    Raises
    ------
    DataError
        For an unknown column, or labels without a level.
    DesignError
        For labels that are not numbers, several criteria, or several labels in one cell that no facet distinguishes.
    """
    if annotators is not None:
        labels = labels.where(annotator=list(annotators))
    named = {facet: labels.column_name(column) for facet, column in columns.items()}
    used = set(named.values())
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *sorted(used)))
    repeated = labels.has_repeats and "repeat" not in used
    if "repeat" not in used:
        labels = labels.resolve_repeats(repeats)
    if "criterion" not in used:
        refuse_criteria(labels)
    refuse_conditions(labels, used)
    order = [c for c in (*KEY, *labels.conditions) if c in labels.labels.columns]
    labels = replace(labels, labels=labels.labels.sort(order, maintain_order=True))
    codes = {facet: _codes(labels, facet, columns[facet], name) for facet, name in named.items()}
    return Faceted(
        numbers_of(labels, reverse),
        codes,
        labels.n_items,
        labels.humans,
        labels.judges,
        data,
        (f"repeated labels: {repeats}",) if repeated else (),
        {facet: _level_names(labels.column(name), codes[facet]) for facet, name in named.items()},
    )


def refuse_criteria(labels: Annotations) -> None:
    """Refuse a table with several criteria, whose labels would count as repeats of one item."""
    if len(labels.criteria) > 1:
        raise DesignError(
            f"the table has {len(labels.criteria)} criteria ({listing(labels.criteria, 4)}); "
            "choose one with labels.where(criterion=...)"
        )


def refuse_conditions(
    labels: Annotations, used: Collection[str], instead: str = "make it a facet of the design"
) -> None:
    """Refuse several labels of an annotator for an item that differ in a condition other than those used."""
    key = [c for c in ("item", "annotator", "criterion", "repeat") if c in labels.labels.columns]
    if not labels.conditions or not labels.labels.select(key).is_duplicated().any():
        return
    for name in labels.conditions:
        if name not in used and len(labels.values_of(name)) > 1:
            raise DesignError(f"{labels.crossing_words(name)}; {instead}, or choose one with labels.where({name}=...)")


def numbers_of(labels: Annotations, reverse: Sequence[str], *, ordered: bool = False) -> Floats:
    """Return labels as numbers, each criterion on its scale, with those in ``reverse`` reversed.

    With ``ordered``, labels can also be ordered words, which are numbered 0, 1, 2 … from the lowest.

    Raises
    ------
    DesignError
        For labels that are not numbers, unknown criteria, or reversal on a scale without ends.
    """
    names = labels.criteria or (None,)
    for one in reverse:
        if one not in names:
            raise DesignError(
                f"reverse names '{one}', which is not a criterion; the criteria are {listing(labels.criteria)}"
            )
    found = np.empty(len(labels))
    for name in names:
        scale = labels.scale_of(name)
        if not scale.numeric and not (ordered and scale.ordered):
            raise DesignError(_no_numbers(labels, name, ordered=ordered))
        mine = np.ones(len(labels), dtype=bool) if name is None else (labels.labels["criterion"] == name).to_numpy()
        value = np.asarray(scale.values(labels.labels["label"].filter(pl.Series(mine))), dtype=float)
        if name in reverse:
            if scale.bounds is None:
                raise DesignError(f"'{name}' cannot be reversed: its scale has no ends; set them with scale=...")
            value = sum(scale.bounds) - value
        found[mine] = value
    return found


def _no_numbers(labels: Annotations, criterion: str | None, *, ordered: bool) -> str:
    """The error on a criterion without numbers, with the criteria that have them, and codes for its words."""
    scale = labels.scale_of(criterion)
    said = "raters require ordered labels" if ordered else "variances require numeric labels"
    if criterion is None or len(labels.criteria) == 1:
        said += f"; these are on the scale '{scale.spec}'"
    else:
        said += f"; those of '{criterion}' are on the scale '{scale.spec}'"
    fits = [c for c in labels.criteria if labels.scale_of(c).numeric or (ordered and labels.scale_of(c).ordered)]
    remedies = [f"choose other criteria with labels.where(criterion={fits})"] if fits else []
    own = labels if criterion is None else labels.where(criterion=criterion)
    words = scale.categories or natural(own.labels["label"].unique().to_list())
    if len(words) == 2 or (scale.ordered and scale.categories is not None):
        low = 0 if len(words) == 2 else 1
        codes = {str(word): str(low + place) for place, word in enumerate(words)}
        remedies.append(f"read the words as numbers from {low} to {low + len(words) - 1} with codes={codes}")
    return f"{said}; {', or '.join(remedies)}" if remedies else said


def _codes(labels: Annotations, facet: str, column: str, name: str) -> Ints:
    """The level of each label."""
    values = labels.column(name)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.null_count():
        items = labels.labels["item"].filter(values.is_null()).unique(maintain_order=True)
        raise DataError(
            f"{counted(values.null_count(), 'label')} have no '{column}', the facet {facet} (item '{items[0]}'"
            f"{' and others' if len(items) > 1 else ''}); fill in the values, or drop those labels"
        )
    return level_codes(values)
