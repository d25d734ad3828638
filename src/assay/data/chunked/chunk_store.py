"""Parquet files in any order -> chunks of whole items, stored as arrays in a working folder.

A chunk is a range of item ids. If every file is sorted by item, Polars reads a range with the statistics of the row
groups. Otherwise the rows are first distributed to files by range, in one pass. Each chunk is then read once, checked,
and stored as arrays: later questions read only numbers.
"""

from __future__ import annotations

import bisect
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Answers, LabelHashes
from assay.data.columns import natural
from assay.data.names import Names, factorize, sort_cells, strip_spaces
from assay.data.scales import Label, Scale
from assay.errors import DataError, counted, unknown

BATCH = 500_000
"""Rows that are processed together when the files are read: about 20 MB of names, and few calls of Polars."""

BUFFERED = 3_000_000
"""Rows that are buffered in memory while they are distributed: about 100 MB, to avoid many small files."""

CHUNK_BYTES = 2**28
"""Approximate size of a chunk's names and numbers while it is read, so that two workers stay below 1 GB."""

ROW_BYTES = 56
"""Bytes per row in addition to the item id: codes, values and the order of sorting, 7 numbers of 8 bytes."""

SAMPLE = 200_000
"""Item ids at which the items are split: with 100 chunks, the number of rows of a chunk then varies by about 2%."""

ROWS = 2**21
"""Rows of a chunk that are read at a time when some annotators are selected: 16 MB a column."""

MOST_VALUES = 10_000
"""Largest number of distinct labels that are listed: ordinal distances require a table of their squares."""

Range = tuple[str | None, str | None]
"""Range of item ids, including the first, excluding the second; None for no end."""


class Folder:
    """A working folder that is removed with the last table that reads it, or at the latest when Python exits.

    A copy in another process contains only the path and does not remove the folder.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def make(cls, parent: str | Path | None) -> Folder:
        """Make a new folder in ``parent``, or in the folder of temporary files."""
        if parent is not None and not Path(parent).is_dir():
            raise DataError(f"the folder '{parent}' of cache=... does not exist; create it first")
        made = cls(tempfile.mkdtemp(prefix="assay-", dir=parent))
        made._remove = weakref.finalize(made, _remove, made.path, os.getpid())
        return made

    _remove: weakref.finalize[Any, Any] | None = None

    def __reduce__(self) -> tuple[type[Folder], tuple[str]]:
        return Folder, (self.path,)

    def file(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(Path(self.path) / name)

    @property
    def bytes(self) -> int:
        """Total size of its files in bytes."""
        return sum(entry.stat().st_size for entry in os.scandir(self.path) if entry.is_file())


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child shares the object, but does not own the folder
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class ChunkSource:
    """The files and how to read them; small, so that it can be sent to workers."""

    files: tuple[str, ...]
    item: str
    annotator: str
    label: str
    scale: Scale
    judges: frozenset[str] = frozenset()
    where: tuple[tuple[str, Any], ...] = ()
    whole: frozenset[str] = frozenset()
    """Columns of ids that contain whole numbers as floats; the decimals are dropped."""

    def counted(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Select the rows to include."""
        for column, value in self.where:
            frame = frame.filter(pl.col(column).is_null() if value is None else pl.col(column) == value)
        return frame

    def name(self, role: str) -> pl.Expr:
        """Convert items or annotators to text."""
        column = self.item if role == "item" else self.annotator
        found = pl.col(column)
        if column in self.whole:
            found = found.fill_nan(None).cast(pl.Int64)
        return found.cast(pl.String).alias(role)

    def rows(self, within: Range = (None, None)) -> pl.LazyFrame:
        """Return item, annotator and label of the included rows, of all items or of a range of them."""
        frame = self.counted(pl.scan_parquet(list(self.files)))
        low, high = within
        if low is not None:
            frame = frame.filter(pl.col(self.item) >= low)
        if high is not None:
            frame = frame.filter(pl.col(self.item) < high)
        return frame.select(self.name("item"), self.name("annotator"), label=pl.col(self.label))

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories that values point into; None if labels are not categories."""
        return None if self.scale.numeric or self.scale.kind == "preference" else self.scale.categories

    @property
    def criterion(self) -> str | None:
        """The criterion, if one was selected."""
        return next((str(value) for column, value in self.where if column == "criterion"), None)

    def values(self, labels: pl.Series) -> NDArray[np.float64]:
        """Convert labels to numbers."""
        return self.scale.values(self.scale.cast(labels))


# -- survey of the files --------------------------------------------------------------------------------


@dataclass(eq=False)
class Survey:
    """Summary of the item ids."""

    n_rows: int = 0
    name_bytes: int = 0
    sample: list[pl.Series] = field(default_factory=list)
    in_order: bool = True
    """Whether every file seems to be sorted by item, so that ranges are read from the files themselves."""

    def rows_in_a_chunk(self, most: int) -> int:
        """Return the number of rows at which a chunk has the intended size."""
        return max(1, min(most, CHUNK_BYTES // (ROW_BYTES + self.name_bytes // max(self.n_rows, 1))))

    def ranges(self, n_chunks: int) -> list[Range]:
        """Return ranges of item ids with about equally many rows each."""
        names = pl.concat(self.sample).drop_nulls().sort()
        cuts = dict.fromkeys(names[len(names) * c // n_chunks] for c in range(1, n_chunks) if len(names))
        return [*pairwise([None, *(cut for cut in cuts if cut != names[0]), None])]


def survey(source: ChunkSource) -> Survey:
    """Read every item id once: the number of rows, the length of the names, and whether they are sorted."""
    found = Survey()
    everything = pl.scan_parquet(list(source.files))
    # Numbers have another order than their names as text.
    found.in_order = everything.collect_schema()[source.item] == pl.String
    step = max(1, int(everything.select(pl.len()).collect().item()) // SAMPLE)
    for file in source.files:
        sample = []
        rows = source.counted(pl.scan_parquet(file)).select(source.name("item"))
        for batch in rows.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
            names = batch["item"]
            sample.append(names.gather_every(step))
            # A range contains no row without an id, and such rows have to be refused.
            found.in_order = found.in_order and not names.null_count()
            found.name_bytes += int(names.str.len_bytes().sum() or 0)
            found.n_rows += len(names)
        if sample:
            found.sample.append(pl.concat(sample))
            found.in_order = found.in_order and found.sample[-1].is_sorted()
    return found


# -- distribution of the rows ---------------------------------------------------------------------------


def deal_out(
    source: ChunkSource, ranges: Sequence[Range], folder: Folder
) -> tuple[list[tuple[str, ...]], tuple[str, ...], int]:
    """Write every row with a label to the files of its range of items, while the source is read once.

    Returns
    -------
    files : list of tuple of str
        The files of each range: text of the item, number of the annotator, label as a number.
    annotators : tuple of str
        By their numbers.
    n_blank : int
        Number of rows without a label.
    """
    cuts = pl.Series("item", [low for low, _ in ranges[1:]], dtype=pl.String)
    written: list[list[str]] = [[] for _ in ranges]
    waiting: list[list[pl.DataFrame]] = [[] for _ in written]
    people = AnnotatorCodes()
    n_waiting = n_blank = 0

    def write() -> None:
        for part, frames in enumerate(waiting):
            if frames:
                file = folder.file(f"rows-{part}-{len(written[part])}.arrow")
                # The oldest layout contains only the bytes of these texts, not of all texts that were read with them.
                pl.concat(frames, how="vertical_relaxed").write_ipc(file, compat_level=pl.CompatLevel.oldest())
                written[part].append(file)
                frames.clear()

    for batch in source.rows().collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming"):
        checked, blank = number_rows(source, batch, people)
        part = cuts.search_sorted(checked["item"], side="right").to_numpy().astype(np.min_scalar_type(len(cuts)))
        dealt = checked[np.argsort(part, kind="stable")]
        start = 0
        for which, number in enumerate(np.bincount(part, minlength=len(written)).tolist()):
            if number:
                waiting[which].append(dealt[start : start + number])
            start += number
        n_blank += blank
        n_waiting += batch.height
        if n_waiting >= BUFFERED:
            write()
            n_waiting = 0
    write()
    return [tuple(files) for files in written if files], tuple(people.names), n_blank


class AnnotatorCodes:
    """Numbers of annotators, in order of appearance."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._dtype = pl.Enum([])

    def codes(self, names: pl.Series) -> pl.Series:
        """Return the number of each name; new names get the next number."""
        found = names.cast(self._dtype, strict=False)
        if found.null_count():
            self.names += names.filter(found.is_null()).unique().sort().to_list()
            self._dtype = pl.Enum(self.names)
            found = names.cast(self._dtype)
        return found.to_physical()


def number_rows(source: ChunkSource, table: pl.DataFrame, people: AnnotatorCodes) -> tuple[pl.DataFrame, int]:
    """Return the checked rows with a label, annotators and labels as numbers, and the number of rows without one."""
    labels = table["label"]
    blank = labels.is_null()
    if labels.dtype.is_float():
        blank = blank | labels.is_nan()
    elif labels.dtype == pl.String:
        blank = blank | (labels.str.strip_chars() == "")
    n_blank = int(blank.sum())
    if n_blank:
        table = table.filter(~blank)
        labels = table["label"]
    valid = source.scale.valid(labels).fill_null(False)
    if not valid.all():
        off = table.filter(~valid)
        shown = ", ".join(f"item '{i}': {v!r}" for i, v in off.head(5).select("item", "label").iter_rows())
        raise DataError(f"{off.height} labels are off the scale ({shown}); each must be {source.scale.describe()}")
    nameless = int((table["item"].is_null() | table["annotator"].is_null()).sum())
    if nameless:
        raise _nameless_error(source, nameless)
    values = pl.Series("label", narrow(source.values(labels)))
    return table.select("item").with_columns(people.codes(table["annotator"]).alias("annotator"), values), n_blank


def _nameless_error(source: ChunkSource, rows: int) -> DataError:
    return DataError(f"{rows} rows have no {source.item} or no {source.annotator}; fill or remove them")


# -- one chunk ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Contents:
    """Summary of one chunk, so that it does not have to be read again.

    Attributes
    ----------
    place : str
        Prefix of the chunk's files in the working folder.
    n_items, n_labels, n_blank : int
        Items and labels; rows without a label.
    annotators : tuple of str
        The annotators in this chunk, humans first, in natural order.
    labels_of : mapping of annotator to number of labels
    total : float
        Sum of the labels as numbers.
    values : frozenset of float
        The distinct labels; empty if there are too many.
    sums : (annotators, 3) uint64
        The sums of hashes for the fingerprint, by annotator.
    human_labels : (items,) uint8 or uint16
        The number of human labels of each item: for 10⁸ items, one byte each is 100 MB.
    """

    place: str
    n_items: int
    n_labels: int
    n_blank: int
    annotators: tuple[str, ...]
    labels_of: Mapping[str, int]
    total: float
    values: frozenset[float]
    sums: NDArray[np.uint64]
    human_labels: NDArray[np.uint8 | np.uint16]


def store(
    source: ChunkSource,
    part: Range | tuple[str, ...],
    folder: Folder,
    place: str,
    people: tuple[str, ...] | None = None,
) -> Contents:
    """Read a chunk, check it, and store it as arrays: offsets of the items, annotators, values, names.

    With ``people`` the part consists of distributed files, in which annotators and labels are numbers already.
    """
    if people is None:
        known = AnnotatorCodes()
        low, high = part
        table, n_blank = number_rows(source, source.rows((low, high)).collect(engine="streaming"), known)
        people = tuple(known.names)
    else:
        files = [str(file) for file in part]
        table, n_blank = pl.concat([pl.read_ipc(file) for file in files], how="vertical_relaxed"), 0
        for file in files:
            with suppress(PermissionError):  # Windows locks a mapped file; it is removed with its folder
                Path(file).unlink()
    names, item = factorize(table["item"])
    annotator, value = table["annotator"].to_numpy(), table["label"].to_numpy()
    del table
    number = np.bincount(annotator, minlength=len(people))
    who = in_order([name for name, n in zip(people, number.tolist(), strict=True) if n], source.judges)
    at = {name: i for i, name in enumerate(who)}
    annotator = np.array([at.get(name, -1) for name in people], dtype=np.int32)[annotator]
    _refuse_blank_or_spaced(source, names, item, who, annotator)
    order, cells = sort_cells(item.astype(np.int64) * len(who) + annotator, len(names) * len(who))
    _refuse_twice(cells, names, who)
    item = (cells // max(len(who), 1)).astype(np.int32)
    annotator = (cells - item.astype(np.int64) * len(who)).astype(np.int32)
    value = value if order is None else value[order]
    del cells, order
    judge = np.array([name in source.judges for name in who], dtype=bool)
    answered = np.bincount(item[~judge[annotator]], minlength=len(names))
    few = np.minimum(answered, np.iinfo(np.uint16).max)
    distinct = _different(value)
    found = Contents(
        place,
        len(names),
        len(value),
        n_blank,
        who,
        dict(zip(who, np.bincount(annotator, minlength=len(who)).tolist(), strict=True)),
        float(value.sum(dtype=np.float64)),
        frozenset(distinct.tolist() if len(distinct) <= MOST_VALUES else ()),
        _sums(source, names, item, who, annotator, value),
        few.astype(np.min_scalar_type(int(few.max(initial=0)))),
    )
    _keep(folder, place, names, item, annotator.astype(np.min_scalar_type(max(len(who) - 1, 0))), value)
    return found


def _keep(
    folder: Folder, place: str, names: pl.Series, item: NDArray[Any], who: NDArray[Any], value: NDArray[Any]
) -> None:
    """Write a chunk, its labels sorted by item."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=len(names)))])
    np.save(folder.file(f"{place}-offsets.npy"), offsets.astype(np.uint32))
    np.save(folder.file(f"{place}-annotator.npy"), who)
    np.save(folder.file(f"{place}-value.npy"), value)
    items = names.alias("item").to_frame()
    items.write_parquet(folder.file(f"{place}-items.parquet"), compression="lz4", statistics=False)


def in_order(annotators: Sequence[str], judges: frozenset[str]) -> tuple[str, ...]:
    """Sort annotators: humans first, in natural order."""
    return (*natural(a for a in annotators if a not in judges), *natural(a for a in annotators if a in judges))


def _refuse_blank_or_spaced(
    source: ChunkSource, names: pl.Series, item: NDArray[Any], who: Sequence[str], annotator: NDArray[Any]
) -> None:
    """Check each name, not each row, for blanks."""
    items = (names.str.strip_chars() == "").to_numpy()
    annotators = np.array([not name.strip() for name in who], dtype=bool)
    if items.any() or annotators.any():
        raise _nameless_error(source, int((items[item] | annotators[annotator]).sum()))
    for some in (names, pl.Series(list(who), dtype=pl.String)):
        spaced = some.filter(some != strip_spaces(some))
        if len(spaced):
            raise DataError(
                f"spaces around the name {spaced[0]!r} ({counted(len(spaced), 'name')} in a chunk); write the files "
                "without them, or read the whole table with assay.read, which removes them"
            )


def _refuse_twice(cells: NDArray[np.int64], names: pl.Series, who: Sequence[str]) -> None:
    twice = np.flatnonzero(cells[1:] == cells[:-1])
    if len(twice):
        item, annotator = divmod(int(cells[twice[0]]), len(who))
        raise DataError(
            f"{len(twice)} answers are given several times (item '{names[item]}', annotator "
            f"'{who[annotator]}'); choose one criterion, condition or repeat with where={{...}}"
        )


def _sums(
    source: ChunkSource,
    names: pl.Series,
    item: NDArray[Any],
    who: Sequence[str],
    annotator: NDArray[Any],
    value: NDArray[Any],
) -> NDArray[np.uint64]:
    """The sums of hashes for the fingerprint, by annotator; equal to those of a table in memory."""
    rows = LabelHashes(len(value))
    rows.add("item", names, item)
    rows.add("annotator", pl.Series(who, dtype=pl.String), annotator)
    if source.categories is None:
        rows.add_numbers("label", value)
    else:
        rows.add("label", pl.Series(list(source.categories)), value.astype(np.int32))
    nothing = np.zeros(len(value), dtype=np.uint8)
    for column, chosen in source.where:
        if column == "criterion":
            rows.add(column, pl.Series([str(chosen)]), nothing)
        elif column == "repeat" and chosen != 1:
            rows.add(column, pl.Series([chosen]), nothing)
    return rows.sums(annotator, len(who))


def _different(value: NDArray[Any]) -> NDArray[Any]:
    if value.dtype != np.int8:
        return np.unique(value)
    return np.flatnonzero(np.bincount(value.astype(np.int16) + 128)) - 128


def narrow(value: NDArray[np.float64]) -> NDArray[Any]:
    """The same numbers in the smallest sufficient type."""
    for dtype in (np.int8, np.int16):
        few = value.astype(dtype)
        if (few == value).all():
            return few
    return value


# -- reading chunks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """Items ``first`` to ``end`` of a chunk."""

    place: str
    annotators: tuple[str, ...]
    first: int
    end: int


def stretches(contents: Sequence[Contents], first: int, end: int) -> tuple[Stretch, ...]:
    """Return the chunks, and the positions in them, of the items from ``first`` to ``end`` over all chunks."""
    starts = np.cumsum([0, *(c.n_items for c in contents)]).tolist()
    found = []
    for which in range(bisect.bisect_right(starts, first) - 1, len(contents)):
        start, stop = starts[which], starts[which + 1]
        if start >= end:
            break
        one = contents[which]
        found.append(Stretch(one.place, one.annotators, max(first, start) - start, min(end, stop) - start))
    return tuple(found)


def answers(
    folder: Folder, parts: Sequence[Stretch], annotators: tuple[str, ...], categories: tuple[Label, ...] | None
) -> Answers:
    """Return items of one or more chunks as arrays: the labels of ``annotators``, in their order."""
    position = {name: i for i, name in enumerate(annotators)}
    items, people, values = [], [], []
    start = 0
    for part, offsets in _steps(folder, parts):
        rows = slice(int(offsets[0]), int(offsets[-1]))
        code = np.array([position.get(name, -1) for name in part.annotators], dtype=np.int64)
        who = code[np.load(folder.file(f"{part.place}-annotator.npy"), mmap_mode="r")[rows]]
        item = np.repeat(np.arange(start, start + len(offsets) - 1), offsets[1:] - offsets[:-1])
        value = np.array(np.load(folder.file(f"{part.place}-value.npy"), mmap_mode="r")[rows])
        if (code < 0).any():
            keep = who >= 0
            item, who, value = item[keep], who[keep], value[keep]
        if (np.diff(code[code >= 0]) < 0).any():
            order = np.lexsort((who, item))
            item, who, value = item[order], who[order], value[order]
        items.append(item)
        people.append(who)
        values.append(value.astype(np.int64 if categories is not None else np.float64))
        start += len(offsets) - 1
    return Answers(
        np.concatenate(items),
        np.concatenate(people),
        np.concatenate(values),
        Names.later(start, partial(_names, folder, tuple(parts))),
        annotators,
        categories,
    )


def _steps(folder: Folder, parts: Sequence[Stretch]) -> Iterator[tuple[Stretch, NDArray[np.int64]]]:
    """The offsets of each item's rows and the end of the last, for as many items as have `ROWS` rows together.

    If few of many annotators are selected, most rows are discarded again.
    """
    for part in parts:
        kept = np.load(folder.file(f"{part.place}-offsets.npy"), mmap_mode="r")
        offsets = kept[part.first : part.end + 1].astype(np.int64)
        first = 0
        while first < len(offsets) - 1:
            last = max(int(np.searchsorted(offsets, int(offsets[first]) + ROWS, side="right")) - 1, first + 1)
            yield part, offsets[first : last + 1]
            first = last


def _names(folder: Folder, parts: Sequence[Stretch]) -> pl.Series:
    return pl.concat(pl.read_parquet(folder.file(f"{p.place}-items.parquet"))["item"][p.first : p.end] for p in parts)


def unknown_value(source: ChunkSource) -> DataError | None:
    """Return the error on the first value of ``where`` that no row has."""
    for column, value in source.where:
        seen = pl.scan_parquet(list(source.files)).select(pl.col(column).unique()).collect(engine="streaming")
        values = natural(v for v in seen[column].to_list() if v is not None)
        if value not in (*values, *([None] if seen[column].null_count() else [])):
            first, *others = source.files
            more = f" and {counted(len(others), 'other file')}" if others else ""
            return DataError(unknown(column, value, values, f"'{first}'{more}"))
    return None
