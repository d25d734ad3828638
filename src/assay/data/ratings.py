"""From the one table to the arrays that formulas speak of: once, for every question.

`Ratings` holds the labels of one question: who answered, on which scale, in memory or in chunks of a folder. Whoever
needs sums over items asks for `Ratings.sums` (of statistics with moments) or `Ratings.add_up` (of anything that is
summed); labels come a bounded number at a time, whole items together, and the units that are resampled are decided
here and nowhere else.
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
from assay.data.chunk_store import MOST_VALUES
from assay.data.chunks import Chunks, require_few_values
from assay.data.columns import KEY
from assay.data.names import Names
from assay.data.scales import Label, Scale
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.resampling import MAX_UNITS, JointSums, Units, add_rows, gather, sum_pieces
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints, Several

CELLS = 2**24
"""Numbers that the moments of one slice of items may have (128 MiB); a constant, so that sums never differ."""

MOST_LEFT_OUT = 50
"""Annotators are left out one by one up to this number; more are left out in this number of random groups, because
each costs a computation of its own."""

LABELS = 2**21
"""Labels, about, of one slice of items: 16 MiB a column; a constant, as `CELLS` is. A folder with no more is held."""

HELD_ITEMS = MAX_UNITS
"""Labels made of a folder's are held where they are of no more items: the rules for few items need them at once."""

CENTRE_BITS = 20
"""A mean to one part in a million is as good a centre as the mean; rounding of sums is 10⁻¹⁶."""


class Summed(Several, Protocol):
    """Statistics of summed moments of the labels of items, side by side."""

    @property
    def of_label_pairs(self) -> tuple[bool, ...]:
        """Whether each meets every label of an item with every other."""

    def moments(self, data: Answers) -> Floats:
        """What each item adds: (items, k)."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Labels of one question, as formulas take them.

    Attributes
    ----------
    source : Answers or Chunks
        The labels: in memory, or in a folder that is read piece by piece.
    annotators : tuple of str
        In the order of the codes.
    humans, judges : tuple of str
        Which of them are people and which are models.
    scale : Scale
        What a label may be.
    n_items, n_labels : int
        Items with a label, and labels.
    fingerprint : str
        Of the labels and of every column that was used.
    repeats : str
        What repeated answers stand for; ``error`` where there are none.
    clusters : (items,) int or None
        Items that are resampled together, and the column that says so.
    facets : mapping of column to (items,) int
        Codes of further columns of the items: the facets of a design.
    exclusions, notes
        What does not count and what was decided on the way.
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
        """The labels of a table with one criterion, of all annotators or of those named, in that order.

        Raises
        ------
        DataError
            For an annotator or a column that is not there, and for items without a cluster.
        DesignError
            For several criteria, repeats that nobody decided about, clusters of a folder in chunks.
        """
        if isinstance(labels, Chunks):
            if clusters is not None or facets:
                raise DesignError("clusters need the whole table in memory; chunks are resampled by item")
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
            notes=(f"repeated answers: {repeats}",) if repeated else (),
        )

    @classmethod
    def _of_chunks(cls, chosen: Chunks) -> Ratings:
        """The labels of a folder: held in memory where they are one slice, else read piece by piece.

        Items without a label of the annotators that count are left out, as they are of a table in memory.
        """
        whole = set(chosen.annotators) == set(chosen.everybody)
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
        """The same ratings, where there are enough annotators.

        Raises
        ------
        DesignError
            Where there are fewer.
        """
        if len(self.annotators) < n:
            raise DesignError(
                f"{question} needs {n} annotators; the table has {len(self.annotators)} "
                f"({listing(self.annotators) or 'none'})"
            )
        return self

    # -- what formulas need to know ---------------------------------------------------------------

    @cached_property
    def in_chunks(self) -> bool:
        """Whether the labels come in pieces of a folder."""
        return not isinstance(self.source, Answers)

    @property
    def answers(self) -> Answers:
        """The labels in memory.

        Raises
        ------
        DesignError
            Where they come in chunks.
        """
        if not isinstance(self.source, Answers):
            raise DesignError("this needs all labels in memory; read a part of the folder with assay.read")
        return self.source

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
            return np.arange(len(self.source.categories or ()), dtype=float)
        raise DesignError(
            f"this coefficient counts categories, and labels on '{self.scale.spec}' have none; give the table a "
            "scale of whole numbers or categories (scale=assay.Ordinal(...)), or take a coefficient for numbers"
        )

    @cached_property
    def values(self) -> Floats:
        """The categories of the scale or, where it lists none, the different labels seen, lowest first."""
        if self.scale.categories is not None or self.scale.kind == "nominal":
            return self.categories
        if not isinstance(self.source, Answers):
            return self.source.values
        return np.unique(self.source.value)

    @cached_property
    def centre(self) -> float:
        """A number in the midst of the labels, to be subtracted before squares are summed.

        A mean is rounded to `CENTRE_BITS`, so that it does not depend on the order in which labels were added up.
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
        """Whether every annotator answered every item."""
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
        """Items that each two annotators both answered: (annotators, annotators)."""
        slices = self.slices(len(self.annotators))
        if isinstance(self.source, Answers):
            found = np.sum([_joint(read) for read, _, _ in slices], axis=0)
        else:
            found = sum_pieces(partial(_joint, read) for read, _, _ in slices)
        return np.asarray(np.rint(found), dtype=np.int64)

    @cached_property
    def varied(self) -> bool:
        """Whether there are two different labels."""
        return self.in_chunks or len(np.unique(self.answers.value)) > 1

    # -- the same labels, otherwise -----------------------------------------------------------------

    def only(self, names: tuple[str, ...]) -> Ratings:
        """The labels of some annotators, in that order; the items stay."""
        found = self.derive(partial(choose, names=names), names)
        if "joint" in vars(self):
            place = [self.annotators.index(name) for name in names]
            vars(found).update(joint=self.joint[np.ix_(place, place)])
        return found

    def left_out(self) -> list[tuple[str, ...]]:
        """Who is left out together where annotators are a sample: each by itself or, of very many, random groups."""
        if len(self.annotators) <= MOST_LEFT_OUT:
            return [(name,) for name in self.annotators]
        shuffled = np.random.default_rng(len(self.annotators)).permutation(len(self.annotators))
        groups = (np.sort(shuffled[start::MOST_LEFT_OUT]) for start in range(MOST_LEFT_OUT))
        return [tuple(self.annotators[i] for i in group) for group in groups]

    def without(self, names: tuple[str, ...]) -> Ratings:
        """The labels of all others."""
        return self.only(tuple(name for name in self.annotators if name not in names))

    def derive(
        self, make: Callable[[Answers], Answers], names: tuple[str, ...], scale: Scale | None = None
    ) -> Ratings:  # fmt: skip
        """Other labels of the same items, made slice by slice where the labels come in chunks."""
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
        """Other labels on the same scale, with the numbers that it decides, made once."""
        if self.scale.categories is not None or self.scale.kind == "nominal":
            vars(found).update(categories=self.categories, values=self.categories)
        if self.scale.bounds is not None:
            vars(found).update(centre=self.centre)
        return found

    # -- summing ------------------------------------------------------------------------------------

    def rows_of(self, width: int) -> int:
        """Items that are looked at at a time, so that ``width`` numbers for each, and their labels, stay in bounds."""
        labels = LABELS * max(self.n_items, 1) // max(self.n_labels, 1)
        return max(1, min(CELLS // max(width, 1), labels))

    def slices(self, width: int) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """The labels by whole items: how to get each slice, its first item and the one after its last.

        In memory and in chunks items are cut at the same places, so that sums are the same to the last digit.
        """
        if not isinstance(self.source, Answers):
            yield from self.source.pieces(self.rows_of(width))
            return
        for piece, start in cut(self.source, self.rows_of(width)):
            yield partial(_identity, piece), start, start + len(piece.items)

    def add_up(self, reduce: Callable[[Answers, Ints], Floats], units: Units, width: int) -> Floats:
        """What ``reduce(labels, unit of each item)`` says of each slice of whole items, added up.

        Slices run through joblib, on all cores or a cluster where the caller has set that up; only sums travel.
        """
        if isinstance(self.source, Answers) and self.rows_of(width) >= self.n_items:
            return reduce(self.source, units.of_item)
        return sum_pieces(
            partial(_read_and_reduce, read, units.of_item[first:last], reduce)
            for read, first, last in self.slices(width)
        )  # fmt: skip

    def totals(self, statistics: Summed) -> Floats:
        """Moments of statistics of the same labels, side by side, summed over all items."""
        everything = Units(np.zeros(self.n_items, dtype=np.int64), 1, "blocks")
        return self.add_up(partial(_totals, statistics), everything, self._work(statistics))

    def _work(self, statistics: Summed) -> int:
        """Numbers that are made of an item: every label meets every other where pairs of labels are taken."""
        pairs = (self.n_labels / max(self.n_items, 1)) ** 2
        each = zip(statistics.widths, statistics.of_label_pairs, strict=True)
        return int(sum(one * (pairs if of_pairs else 1) for one, of_pairs in each))

    def sums(self, statistics: Summed, units: Units | None = None) -> JointSums:
        """Moments of statistics of the same labels, side by side, summed into the units that are resampled.

        Parameters
        ----------
        units : Units, optional
            Those of other labels of the same items, where these are left out together.
        """
        width = sum(statistics.widths)
        units = units or Units.of(self.n_items, self.clusters, width=width)
        found = self.add_up(partial(_count_units, statistics, units.n), units, self._work(statistics))
        moments, used = np.split(found, [width], axis=1)
        return JointSums(statistics, moments, tuple(used.sum(axis=0).astype(int).tolist()), units.name, units)


# -- pieces ----------------------------------------------------------------------------------------


def cut(answers: Answers, rows: int) -> Iterator[tuple[Answers, int]]:
    """Labels by whole items, at most ``rows`` items at a time; and each piece's first item."""
    n_items = len(answers.items)
    if rows >= n_items:
        yield answers, 0
        return
    edges = np.searchsorted(answers.item, np.arange(0, n_items + rows, rows))
    for start, first, last in zip(range(0, n_items, rows), edges, edges[1:], strict=False):
        yield _slice(answers, start, min(start + rows, n_items), int(first), int(last)), start


def choose(answers: Answers, names: tuple[str, ...]) -> Answers:
    """The labels of some annotators, in that order; the items stay."""
    code = np.full(len(answers.annotators), -1)
    for name in names:
        if name not in answers.annotators:
            raise DataError(unknown("annotator", name, answers.annotators))
    code[[answers.annotators.index(name) for name in names]] = range(len(names))
    kept = answers.select(code[answers.annotator] >= 0)
    return in_order(replace(kept, annotator=code[kept.annotator], annotators=names))


def in_order(answers: Answers) -> Answers:
    """Sorted by item, then annotator."""
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
    """The moments of all, and whether there are any of each, summed into units."""
    few, kind = distinct_items(data) or (data, None)
    moments = statistics.moments(few)
    edges = np.cumsum((0, *statistics.widths))
    there = [moments[:, a:b].any(axis=1) for a, b in pairwise(edges.tolist())]
    return add_rows(moments, unit, n_units, np.stack(there, axis=1).astype(float), kind=kind)


def _totals(statistics: Summed, data: Answers, unit: Ints) -> Floats:
    """The moments of all, summed over all items."""
    del unit
    few, kind = distinct_items(data) or (data, None)
    moments = statistics.moments(few)
    each = moments if kind is None else np.bincount(kind)[:, None] * moments
    return np.asarray(each.sum(axis=0))


@dataclass(frozen=True, eq=False)
class LabelSurvey:
    """What a pass over labels says of them: how many, their sum, the different ones (the lowest, where very many)."""

    n_labels: int
    total: float
    values: Floats

    @classmethod
    def of(cls, pieces: Iterator[tuple[Callable[[], Answers], int, int]]) -> LabelSurvey:
        """Of all labels."""
        parts = gather(partial(_survey, read) for read, _, _ in pieces)
        values = np.unique(np.concatenate([part.values for part in parts]))[: MOST_VALUES + 1]
        return cls(sum(part.n_labels for part in parts), math.fsum(part.total for part in parts), values)


def _survey(read: Callable[[], Answers]) -> LabelSurvey:
    value = read().value
    return LabelSurvey(len(value), math.fsum(value), np.unique(value)[: MOST_VALUES + 1].astype(float))


class LabelPieces:
    """What labels that are no longer those of the folder say of themselves, after a pass over them."""

    source: Chunks | Derived | Labelled

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories that values point into, where labels are categories."""
        return self.source.categories

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """As `Chunks.pieces`."""
        raise NotImplementedError

    @cached_property
    def survey(self) -> LabelSurvey:
        """How many labels there are, and which."""
        return LabelSurvey.of(self.pieces(self.most_read))

    @property
    def values(self) -> Floats:
        """The different labels, lowest first.

        Raises
        ------
        DesignError
            Where there are too many to list.
        """
        return require_few_values(self.survey.values)

    @property
    def mean(self) -> float:
        """The mean of the labels."""
        return self.survey.total / max(self.survey.n_labels, 1)

    @property
    def most_read(self) -> int:
        """Items whose labels in the folder stay in bounds."""
        if isinstance(self.source, LabelPieces):
            return self.source.most_read
        return max(1, LABELS * self.source.n_items // max(self.source.n_labels, 1))


@dataclass(frozen=True, eq=False)
class Labelled(LabelPieces):
    """Labels of a folder, without the items that have none.

    Attributes
    ----------
    keep : (items,) int
        Positions, in the folder, of the items that have a label.
    """

    source: Chunks
    keep: Ints

    @property
    def n_items(self) -> int:
        """How many items are left."""
        return len(self.keep)

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """As `Chunks.pieces`."""
        step = most_items or self.most_read
        for first in range(0, self.n_items, step):
            end = min(first + step, self.n_items)
            yield self.between(first, end), first, end

    def between(self, first: int, end: int) -> Callable[[], Answers]:
        """As `Chunks.between`."""
        start, stop = int(self.keep[first]), int(self.keep[end - 1]) + 1
        labelled = np.zeros(stop - start, dtype=bool)
        labelled[self.keep[first:end] - start] = True
        return partial(_read_labelled, self.source.between(start, stop), labelled)


def _read_labelled(read: Callable[[], Answers], labelled: Bools) -> Answers:
    return _labelled_only(read(), labelled)


def _labelled_only(answers: Answers, labelled: Bools) -> Answers:
    """The same labels, without the items that have none."""
    names = Names.later(int(labelled.sum()), partial(_chosen_names, answers.items, labelled))
    return replace(answers, item=(np.cumsum(labelled) - 1)[answers.item], items=names)


def _chosen_names(names: Sequence[str], chosen: Bools) -> pl.Series:
    return pl.Series([name for name, there in zip(names, chosen, strict=True) if there], dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Derived(LabelPieces):
    """Labels that are made from those of a folder, slice by slice: of some annotators, of a consensus."""

    source: Chunks | Derived | Labelled
    make: Callable[[Answers], Answers]
    annotators: tuple[str, ...]

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """As `Chunks.pieces`."""
        for _, first, last in self.source.pieces(most_items):
            yield self.between(first, last), first, last

    def between(self, first: int, end: int) -> Callable[[], Answers]:
        """As `Chunks.between`; few labels an item may be made of many, so these are not read all at once."""
        edges = [*range(first, end, self.most_read), end]
        return partial(_make_joined, self.make, [self.source.between(a, b) for a, b in pairwise(edges)])


def _make_joined(make: Callable[[Answers], Answers], reads: Sequence[Callable[[], Answers]]) -> Answers:
    found = [make(read()) for read in reads]
    return found[0] if len(found) == 1 else _concatenate(found)


def _concatenate(parts: Sequence[Answers]) -> Answers:
    """Labels of items that follow each other."""
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


# -- which items belong together -------------------------------------------------------------------


def cluster_codes(labels: Annotations, column: str) -> NDArray[np.int64]:
    """The cluster of each item, from a column of the items: a document, a system, a lesson.

    Returns
    -------
    (items,) int
        In the order of ``labels.items``; clusters count from 0 in the order of their names.

    Raises
    ------
    DataError
        Where there is no such column of the items, or an item has no value in it.
    """
    name = labels.names.get(column, column) if column not in labels.items.columns else column
    if name not in labels.items.columns:
        raise DataError(unknown("item column", column, labels.items.columns, "the table of items"))
    clusters = labels.items[name]
    if clusters.dtype.is_float():
        clusters = clusters.fill_nan(None)
    if clusters.null_count():
        lacking = labels.items["item"].filter(clusters.is_null())
        more = f" and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
        shown = listing([f"item '{item}'" for item in lacking.head(3)]) + more
        have = "has" if len(lacking) == 1 else "have"
        raise DataError(
            f"{counted(len(lacking), 'item')} {have} no '{column}' ({shown}); fill it, drop those items, "
            f"or do without clusters='{column}'"
        )
    return _level_codes(clusters)


def _level_codes(values: pl.Series) -> Ints:
    """The place of each value among the different ones; names in the order of their letters."""
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        values = values.cast(pl.String)
    return values.rank("dense").to_numpy().astype(np.int64) - 1


def _level_names(values: pl.Series, codes: Ints) -> tuple[str, ...]:
    """What each level is called."""
    first = np.unique(codes, return_index=True)[1]
    return tuple(str(values[int(row)]) for row in first)


# -- items that differ -----------------------------------------------------------------------------
# What an item adds to a statistic follows from its labels alone. Where few annotators choose among few labels, a large
# table has few kinds of items, and what each kind adds is worked out once.

FROM_ITEMS = 2**15
"""Fewer items are looked at one by one, which takes milliseconds."""

MOST_KINDS = 2**22
"""The most kinds of items that there could be: their table takes 32 MiB."""

FEWER = 8
"""Kinds are used where items are at least this many times as numerous; below, finding them costs what it saves."""


def distinct_items(answers: Answers) -> tuple[Answers, Ints] | None:
    """One item of each kind, in the order in which kinds occur, and the kind of each item: (items,).

    None where there are few items, where labels are not whole numbers of a short range, or hardly any items are alike.
    An annotator answers an item once.
    """
    n, m = answers.n_items, len(answers.annotators)
    if n < FROM_ITEMS or not len(answers):
        return None
    low, high = float(answers.value.min()), float(answers.value.max())
    base = high - low + 2  # a label, or none
    if m * np.log2(base) > np.log2(MOST_KINDS):  # base**m is no number where annotators are many
        return None
    digit = answers.value - (low - 1)
    if answers.value.dtype.kind == "f" and (digit != np.rint(digit)).any():
        return None
    # Sums of whole numbers far below 2**53, which floating point holds exactly.
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


# -- one row a label with its level of each facet --------------------------------------------------


@dataclass(frozen=True, eq=False)
class Faceted:
    """Labels as numbers, each with its level of every facet.

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
        What its levels are called.
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
        """Some of the labels, or some several times."""
        return replace(self, value=self.value[keep], codes={f: c[keep] for f, c in self.codes.items()})


def facet_ratings(
    labels: Annotations,
    columns: Mapping[str, str],
    *,
    annotators: Sequence[str] | None = None,
    repeats: Repeats = "error",
    reverse: Sequence[str] = (),
) -> Faceted:
    """The labels of a table with the level of each facet.

    Parameters
    ----------
    labels : Annotations
        Several criteria only where one of the columns is ``criterion``.
    columns : mapping of facet to column
        Of the answers, the items or the annotators.
    annotators, repeats
        Whose labels count, and what repeated answers stand for; where ``repeat`` is a facet, each counts.
    reverse : sequence of str
        Criteria whose labels are turned round on their scale: those that are worded negatively.

    Raises
    ------
    DataError
        For a column that is not there, or labels without a level.
    DesignError
        For labels that are no numbers, several criteria, or several answers to one cell that no facet tells apart.
    """
    if annotators is not None:
        labels = labels.where(annotator=list(annotators))
    named = {facet: labels.column_name(column) for facet, column in columns.items()}
    used = set(named.values())
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *sorted(used)))
    repeated = labels.has_repeats and "repeat" not in used
    if "repeat" not in used:
        labels = labels.resolve_repeats(repeats)
    if len(labels.criteria) > 1 and "criterion" not in used:
        raise DesignError(
            f"the table has {len(labels.criteria)} criteria ({listing(labels.criteria, 4)}); "
            "choose one with labels.where(criterion=...)"
        )
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
        (f"repeated answers: {repeats}",) if repeated else (),
        {facet: _level_names(labels.column(name), codes[facet]) for facet, name in named.items()},
    )


def refuse_conditions(
    labels: Annotations, used: Collection[str], instead: str = "make it a facet of the design"
) -> None:
    """Refuse several answers of an annotator to an item that differ in a condition which is not among those used."""
    key = [c for c in ("item", "annotator", "criterion", "repeat") if c in labels.labels.columns]
    if not labels.conditions or not labels.labels.select(key).is_duplicated().any():
        return
    for name in labels.conditions:
        if name not in used and len(labels.values_of(name)) > 1:
            raise DesignError(
                f"annotators answered items under several values of '{name}' ({listing(labels.values_of(name), 4)}); "
                f"{instead}, or choose one with labels.where({name}=...)"
            )


def numbers_of(labels: Annotations, reverse: Sequence[str], *, ordered: bool = False) -> Floats:
    """Labels as numbers, each criterion on its scale, those in ``reverse`` turned round.

    With ``ordered``, labels may also be ordered words, which count 0, 1, 2 … from the lowest.

    Raises
    ------
    DesignError
        For labels that are no numbers, criteria that are not there, or a scale without ends that is turned round.
    """
    names = labels.criteria or (None,)
    for one in reverse:
        if one not in names:
            raise DesignError(f"reverse names '{one}', which is no criterion here; it has {listing(labels.criteria)}")
    found = np.empty(len(labels))
    for name in names:
        scale = labels.scale_of(name)
        if not scale.numeric and not (ordered and scale.ordered):
            wanted = "raters need labels that are ordered" if ordered else "variances need labels that are numbers"
            raise DesignError(f"{wanted}; these are on the scale '{scale.spec}'")
        mine = np.ones(len(labels), dtype=bool) if name is None else (labels.labels["criterion"] == name).to_numpy()
        value = np.asarray(scale.values(labels.labels["label"].filter(pl.Series(mine))), dtype=float)
        if name in reverse:
            if scale.bounds is None:
                raise DesignError(f"'{name}' cannot be reversed: its scale has no ends; give it one with scale=...")
            value = sum(scale.bounds) - value
        found[mine] = value
    return found


def _codes(labels: Annotations, facet: str, column: str, name: str) -> Ints:
    """The level of each label."""
    values = labels.column(name)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.null_count():
        items = labels.labels["item"].filter(values.is_null()).unique(maintain_order=True)
        raise DataError(
            f"{counted(values.null_count(), 'label')} have no '{column}', the facet {facet} (item '{items[0]}'"
            f"{' and others' if len(items) > 1 else ''}); fill it, or drop those labels"
        )
    return _level_codes(values)
