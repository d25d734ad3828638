"""A folder of Parquet files that does not fit in memory, read some whole items at a time.

Items are cut into ranges of their names, so that every chunk holds whole items in the order that the table in
memory would have, and numbers do not depend on the chunks, the files or the number of workers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, Answers, natural
from assay.data.scales import Label, Scale
from assay.errors import DataError, DesignError, listing, unknown

LABELS_PER_CHUNK = 4_000_000
"""Labels that are in memory at a time, about, for each worker."""

SAMPLE = 200_000
"""Item names that are looked at to cut the items into ranges."""

MOST_VALUES = 10_000
"""More different labels than these are not listed."""


@dataclass(frozen=True)
class Range:
    """The items whose names run from ``first`` (or the start) up to but without ``end`` (or the end)."""

    first: str | None
    end: str | None


@dataclass(frozen=True)
class Contents:
    """What one chunk holds."""

    n_items: int
    labels_of: Mapping[str, int]
    total: float
    values: frozenset[float]
    digest: bytes


@dataclass(frozen=True)
class Source:
    """Where the labels stand and how to read them; small, so that it travels to workers."""

    files: tuple[str, ...]
    item: str
    annotator: str
    label: str
    scale: Scale
    where: tuple[tuple[str, Any], ...] = ()

    def rows(self) -> pl.LazyFrame:
        """Item, annotator, label of every row that has a label."""
        frame = pl.scan_parquet(list(self.files))
        for column, value in self.where:
            frame = frame.filter(pl.col(column) == value)
        named = frame.select(
            item=pl.col(self.item).cast(pl.String),
            annotator=pl.col(self.annotator).cast(pl.String),
            label=pl.col(self.label),
        )
        is_float = frame.collect_schema()[self.label].is_float()
        there = pl.col("label").is_not_nan() if is_float else pl.lit(True)
        return named.filter(pl.col("label").is_not_null() & there)

    def read(self, within: Range) -> pl.DataFrame:
        """The rows of a range of items, checked."""
        frame = self.rows()
        if within.first is not None:
            frame = frame.filter(pl.col("item") >= within.first)
        if within.end is not None:
            frame = frame.filter(pl.col("item") < within.end)
        table = frame.collect(engine="streaming")
        off = table.filter(~self.scale.valid(table["label"]).fill_null(False))
        if off.height:
            shown = ", ".join(f"item '{i}': {v!r}" for i, v in off.head(5).select("item", "label").iter_rows())
            raise DataError(f"{off.height} labels are off the scale ({shown}); each must be {self.scale.describe()}")
        nameless = table.filter(pl.col("item").is_null() | pl.col("annotator").is_null()).height
        if nameless:
            raise DataError(f"{nameless} rows have no {self.item} or no {self.annotator}; fill or remove them")
        return table

    def answers(self, within: Range, annotators: tuple[str, ...], only: tuple[str, ...]) -> Answers:
        """A range of items as arrays; the labels of the annotators in ``only``."""
        table = self.read(within)
        items = table["item"].unique().sort()
        item = table["item"].cast(pl.Enum(items)).to_physical().to_numpy().astype(np.int64)
        annotator = table["annotator"].cast(pl.Enum(list(annotators))).to_physical().to_numpy().astype(np.int64)
        value = self._values(table["label"])
        cell = item * len(annotators) + annotator
        order = np.argsort(cell, kind="stable")
        cell = cell[order]
        twice = np.flatnonzero(cell[1:] == cell[:-1])
        if len(twice):
            first = int(order[twice[0]])
            raise DataError(
                f"{len(twice)} answers are given more than once (item '{table['item'][first]}', annotator "
                f"'{table['annotator'][first]}'); choose one criterion, condition or repeat with where={{...}}"
            )
        found = Answers(
            item[order], annotator[order], value[order], tuple(items.to_list()), annotators, self.categories
        )
        if only == annotators:
            return found
        code = np.full(len(annotators), -1)
        code[[annotators.index(name) for name in only]] = range(len(only))
        kept = found.select(code[found.annotator] >= 0)
        order = np.lexsort((code[kept.annotator], kept.item))
        kept = replace(kept, item=kept.item[order], annotator=kept.annotator[order], value=kept.value[order])
        return replace(kept, annotator=code[kept.annotator], annotators=only)

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories that values point into, where labels are categories."""
        return None if self.scale.numeric or self.scale.kind == "preference" else self.scale.categories

    def contents(self, within: Range) -> Contents:
        """Look at a range of items."""
        table = self.read(within)
        value = self._values(table["label"])
        distinct = np.unique(value)
        digest = hashlib.blake2b(digest_size=12)
        for row in table.sort("item", "annotator").iter_slices(100_000):
            digest.update("\0".join(row["item"].to_list()).encode())
            digest.update("\0".join(row["annotator"].to_list()).encode())
            digest.update("\0".join(row["label"].cast(pl.String).to_list()).encode())
        return Contents(
            table["item"].n_unique(),
            dict(table["annotator"].value_counts().iter_rows()),
            float(value.sum()),
            frozenset(distinct.tolist() if len(distinct) <= MOST_VALUES else ()),
            digest.digest(),
        )

    def _values(self, labels: pl.Series) -> NDArray[np.float64]:
        return self.scale.values(self.scale.cast(labels))


@dataclass(frozen=True, eq=False)
class Chunks:
    """Labels in a folder of Parquet files; the coefficients take it where they take `Annotations`.

    Attributes
    ----------
    annotators : tuple of str
        Whose labels count, people first, in natural order.
    scale : Scale
        What a label may be.
    n_items, n_labels : int
        Items, and labels of these annotators.
    judges : tuple of str
        The annotators that are models.
    fingerprint : str
        Of the labels, as they were cut.
    """

    annotators: tuple[str, ...]
    scale: Scale
    n_items: int
    judges: tuple[str, ...]
    fingerprint: str
    source: Source
    ranges: tuple[Range, ...] = field(repr=False)
    contents: tuple[Contents, ...] = field(repr=False)
    everybody: tuple[str, ...] = field(repr=False)

    @property
    def humans(self) -> tuple[str, ...]:
        """The annotators that are people."""
        return tuple(name for name in self.annotators if name not in self.judges)

    @property
    def n_labels(self) -> int:
        """Labels of the annotators that count."""
        return sum(c.labels_of.get(name, 0) for c in self.contents for name in self.annotators)

    @property
    def mean(self) -> float:
        """The mean of all labels in the folder."""
        number = sum(sum(c.labels_of.values()) for c in self.contents)
        return sum(c.total for c in self.contents) / max(number, 1)

    @property
    def values(self) -> NDArray[np.float64]:
        """The different labels, lowest first.

        Raises
        ------
        DataError
            Where there are too many to list.
        """
        values = frozenset[float]().union(*(c.values for c in self.contents))
        if any(not c.values for c in self.contents) or len(values) > MOST_VALUES:
            raise DataError(f"there are more than {MOST_VALUES} different labels; put them on a coarser scale first")
        return np.array(sorted(values))

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories that values point into, where labels are categories."""
        return self.source.categories

    def only(self, annotators: Sequence[str]) -> Chunks:
        """The labels of some annotators, in that order."""
        for name in annotators:
            if name not in self.everybody:
                raise DataError(unknown("annotator", name, self.everybody, "the folder"))
        return replace(self, annotators=tuple(annotators))

    def pieces(self) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """How to read each chunk, and the positions of its first item and of the one after its last."""
        start = 0
        for within, contents in zip(self.ranges, self.contents, strict=True):
            read = partial(self.source.answers, within, self.everybody, self.annotators)
            yield read, start, start + contents.n_items
            start += contents.n_items


def scan(
    folder: str | Path | Sequence[str | Path],
    *,
    scale: Scale,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    judges: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    labels_per_chunk: int = LABELS_PER_CHUNK,
) -> Chunks:
    """Labels of any number, in bounded memory.

    Reads the folder twice: once for the names of the items, to cut them into chunks, and once chunk by chunk
    to see who answered. Each coefficient then reads it once more. Chunks run through joblib: on all cores
    with ``joblib.parallel_config(n_jobs=-1)``, on a cluster that sees the same folder with
    ``joblib.parallel_config(backend="dask")``; the numbers are the same.

    Parameters
    ----------
    folder : path or list of paths
        A folder of ``.parquet`` files (its subfolders too), or the files.
    scale : Scale
        What a label may be; a nominal scale lists its categories.
    item, annotator, label : str
        The columns.
    judges : list of str
        The annotators that are models.
    where : mapping, optional
        Column and value of the rows that count: one criterion, one condition, one repeat.
    labels_per_chunk : int
        Labels in memory at a time, about, for each worker.

    Raises
    ------
    DataError
        Where there are no files, no such column, labels off the scale, or an answer given twice.
    """
    from joblib import Parallel, delayed

    files = _files(folder)
    source = Source(files, item, annotator, label, scale, tuple((where or {}).items()))
    known = pl.scan_parquet(list(files)).collect_schema().names()
    for name in (item, annotator, label, *(where or {})):
        if name not in known:
            raise DataError(unknown("column", name, known, f"'{files[0]}'"))
    if scale.categories is None and not scale.numeric:
        raise DataError(f"a folder in chunks needs the categories of its scale; '{scale.spec}' lists none")
    ranges = _ranges(source, labels_per_chunk)
    contents = tuple(Parallel()(delayed(source.contents)(within) for within in ranges))
    everybody = {name for c in contents for name in c.labels_of}
    for name in judges:
        if name not in everybody:
            raise DataError(unknown("judge", name, natural(everybody), "the folder"))
    names = (*natural(everybody - set(judges)), *natural(judges))
    digest = hashlib.blake2b(b"".join(c.digest for c in contents), digest_size=6).hexdigest()
    n_items = sum(c.n_items for c in contents)
    return Chunks(names, scale, n_items, tuple(natural(judges)), digest, source, ranges, contents, names)


def _files(folder: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    if isinstance(folder, str | Path):
        path = Path(folder)
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    else:
        files = [Path(one) for one in folder]
    missing = [f for f in files if not f.is_file()]
    if missing or not files:
        raise DataError(f"no Parquet file at {listing(missing) if missing else folder}")
    return tuple(str(f) for f in files)


def _ranges(source: Source, labels_per_chunk: int) -> tuple[Range, ...]:
    """Item names cut where a sample of the rows says that chunks are about equally long."""
    rows = source.rows()
    n_labels = int(rows.select(pl.len()).collect(engine="streaming").item())
    if n_labels == 0:
        raise DataError(f"no row of '{source.files[0]}' and its neighbours has a label")
    n_chunks = math.ceil(n_labels / labels_per_chunk)
    if n_chunks == 1:
        return (Range(None, None),)
    step = max(1, n_labels // SAMPLE)
    every = rows.select("item").with_row_index("_row").filter(pl.col("_row") % step == 0)
    sample = every.select("item").collect(engine="streaming")["item"].sort()
    cuts = [sample[len(sample) * c // n_chunks] for c in range(1, n_chunks)]
    ends = list(dict.fromkeys(cuts))
    return tuple(Range(first, end) for first, end in zip([None, *ends], [*ends, None], strict=True))


def in_memory(labels: Annotations | Chunks, question: str) -> Annotations:
    """The table, where it is in memory.

    Raises
    ------
    DesignError
        For a folder in chunks.
    """
    if isinstance(labels, Chunks):
        raise DesignError(f"{question} needs the whole table in memory; read a part of the folder with assay.read")
    return labels
