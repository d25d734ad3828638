"""A folder of Parquet files that does not fit in memory, read in chunks of whole items.

Items are divided into ranges of their names, so that every chunk contains whole items in the order of the table in
memory, and results do not depend on the chunks, the files or the number of workers.
"""

from __future__ import annotations

import difflib
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Answers, Reading, digits
from assay.data.chunked import chunk_store
from assay.data.chunked.chunk_store import MOST_VALUES, ChunkSource, Contents, Folder
from assay.data.columns import NO_LABEL
from assay.data.names import Coded, Spelling, settle_kinds, unify_spelling
from assay.data.scales import Label, Scale, parse_scale
from assay.data.structure.readings import read_call
from assay.data.structure.sides import PAIR
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import Limits, Settings, option, question


@dataclass(frozen=True, eq=False)
class Chunks:
    """Labels in a folder of Parquet files, which the coefficients accept like `Annotations`.

    Attributes
    ----------
    annotators : tuple of str
        The annotators to include, humans first, in natural order.
    scale : Scale
        The scale of the labels.
    n_items : int
        Number of items with at least one label.
    judges : tuple of str
        The annotators that are judges.
    reading : Reading
        The source of the labels, and exclusions.
    source : Source
        How the files are read.
    contents : tuple of Contents
        A summary of each chunk, so that it does not have to be read again.
    folder : Folder
        The folder of the chunks as arrays, as long as this table or one derived from it is in use.
    all_annotators : tuple of str
        All annotators of the folder, humans first.
    """

    annotators: tuple[str, ...]
    scale: Scale
    n_items: int
    judges: tuple[str, ...]
    reading: Reading
    source: ChunkSource = field(repr=False)
    contents: tuple[Contents, ...] = field(repr=False)
    folder: Folder = field(repr=False)
    all_annotators: tuple[str, ...] = field(repr=False)

    def __repr__(self) -> str:
        humans, judges = len(self.humans), len(self.annotators) - len(self.humans)
        counts = {"label": self.n_labels, "item": self.n_items, "human": humans, "judge": judges}
        chunks = f"{counted(len(self.contents), 'chunk')} of {self.reading.source}"
        return f"Chunks({', '.join(counted(n, noun) for noun, n in counts.items())}, {self.scale.spec}, {chunks})"

    @property
    def humans(self) -> tuple[str, ...]:
        """The human annotators."""
        return tuple(name for name in self.annotators if name not in self.judges)

    @property
    def n_labels(self) -> int:
        """Number of labels of the included annotators."""
        return sum(c.labels_of.get(name, 0) for c in self.contents for name in self.annotators)

    @property
    def labels_of(self) -> dict[str, int]:
        """Number of labels of each annotator."""
        return {name: sum(c.labels_of.get(name, 0) for c in self.contents) for name in self.annotators}

    @cached_property
    def human_labels(self) -> NDArray[np.uint8 | np.uint16]:
        """Number of human labels of each item: (items,); 65,535 means at least that many."""
        return np.concatenate([c.human_labels for c in self.contents])

    @property
    def mean(self) -> float:
        """The mean of all labels in the folder."""
        number = sum(c.n_labels for c in self.contents)
        return math.fsum(c.total for c in self.contents) / max(number, 1)

    @property
    def values(self) -> NDArray[np.float64]:
        """The distinct labels, lowest first.

        Raises
        ------
        DesignError
            If there are too many to list.
        """
        values = frozenset[float]().union(*(c.values for c in self.contents))
        many = any(not c.values for c in self.contents if c.n_labels)
        return require_few_values(np.arange(MOST_VALUES + 1.0) if many else np.array(sorted(values)))

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories that values point into; None if labels are not categories."""
        return self.source.categories

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the same labels in memory, of the included annotators, independent of the chunks."""
        wanted = set(self.annotators)
        total = np.zeros(3, dtype=np.uint64)
        for chunk in self.contents:
            total += chunk.sums[[name in wanted for name in chunk.annotators]].sum(axis=0, dtype=np.uint64)
        kinds = {name: "judge" if name in self.judges else "human" for name in self.annotators}
        return digits(total, [(self.source.criterion, self.scale.spec)], kinds)

    def in_memory(self, question: str) -> NoReturn:
        """Raise an error, for a question that requires the whole table.

        Raises
        ------
        DesignError
            Always; the message names the question.
        """
        raise DesignError(f"{question} requires the whole table in memory; read a part of the folder with assay.read")

    def only(self, annotators: Sequence[str]) -> Chunks:
        """Return the labels of some annotators, in that order."""
        for name in annotators:
            if name not in self.all_annotators:
                raise DataError(unknown("annotator", name, self.all_annotators, "the folder"))
        return replace(self, annotators=tuple(annotators))

    def pieces(self, most_items: int | None = None) -> Iterator[tuple[Callable[[], Answers], int, int]]:
        """Yield a function that reads each part of the items, with the positions of its first item and of its end.

        Parameters
        ----------
        most_items : int, optional
            Split the items at multiples of this number, independent of the chunks, so that sums equal those of a table
            in memory that is split in the same way; by default, one part per chunk.
        """
        if most_items is None:
            ends = np.cumsum([c.n_items for c in self.contents]).tolist()
        else:
            ends = [*range(most_items, self.n_items, most_items), self.n_items]
        for first, end in zip([0, *ends], ends, strict=False):
            yield self.between(first, end), first, end

    def between(self, first: int, end: int) -> Callable[[], Answers]:
        """Return a function that reads the items from one position to another."""
        parts = chunk_store.stretches(self.contents, first, end)
        return partial(chunk_store.answers, self.folder, parts, self.annotators, self.categories)


def require_few_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distinct labels if there are few enough to list.

    Raises
    ------
    DesignError
        If there are too many.
    """
    if len(values) > MOST_VALUES:
        raise DesignError(
            f"there are more than {MOST_VALUES:,} different labels, too many to count each; use a coefficient for "
            "numbers (interval alpha, icc, nmae), or convert the labels to a coarser scale"
        )
    return values


@dataclass(frozen=True, kw_only=True)
class ScanSettings(Settings):
    """The roles of the columns in a folder of Parquet files, and how it is read."""

    scale: Annotated[
        Scale | str,
        Limits("Scale of the labels: `assay.Ordinal(1, 5)` or `1-5`; a nominal scale lists its categories."),
    ]
    item: str = option("item", "Column with the item id.")
    annotator: str = option("annotator", "Column with the annotator.")
    label: str = option("label", "Column with the label.")
    judges: Sequence[str] = option((), "Names of all judges in the folder.")
    humans: Sequence[str] | None = option(None, "Human annotators whose names could be names of models.")
    spelling: Spelling = option(
        "refuse", "Whether annotators whose names differ only in case or inner spaces are refused or kept `apart`."
    )
    where: Mapping[str, Any] | None = option(
        None, "Column and value of the rows to include: one criterion, one condition, one repeat."
    )
    labels_per_chunk: int = option(
        4_000_000, "Approximate number of labels in memory for each worker; lower for long names.", low=1
    )
    cache: str | Path | None = option(
        None,
        "Parent of the working folder; by default the folder of temporary files.",
        details="The working folder takes about 4 to 14 bytes per label, and the item ids once. While rows that are "
        "not sorted by item are distributed, it also holds the three columns, compressed. It is removed after use.",
    )

    def __post_init__(self) -> None:
        scale: Any = self.scale
        if not isinstance(scale, Scale | str):
            message = f"scale must be a scale, such as assay.Ordinal(1, 5) or '1-5'; got {scale!r}"
            raise DesignError(message, option="scale", value=scale)
        if isinstance(self.judges, str) or not all(isinstance(name, str) for name in self.judges):
            raise DesignError(f"judges must be a list of names; got {self.judges!r}", option="judges")
        object.__setattr__(self, "judges", tuple(self.judges))
        super().__post_init__()
        if self.spelling == "merge":
            raise DesignError(
                "spelling='merge' requires the whole table in memory; use assay.read, or use one spelling per name",
                option="spelling",
            )


@question(ScanSettings)
def scan(folder: str | Path | Sequence[str | Path], settings: ScanSettings) -> Chunks:
    """Read any number of labels in bounded memory.

    The item ids are read once, to find out whether the files are sorted by item and where to split them. Sorted files
    are then read range by range; rows of other files are first distributed by ranges of items, in one pass. Each chunk
    is checked and stored as arrays in a working folder, and each question reads these arrays once.

    Chunks are processed with joblib: on all cores with ``joblib.parallel_config(n_jobs=-1)``, on a cluster that can
    access the files and the working folder with ``joblib.parallel_config(backend="dask")``; the results are the same.

    Parameters
    ----------
    folder : path or list of paths
        A folder of ``.parquet`` files (its subfolders too), or the files.

    Raises
    ------
    DataError
        If there are no files, no such column or value, labels off the scale, or repeated answers; or if the disk is too
        small.
    DesignError
        For an invalid option.

    Examples
    --------
    >>> import assay, polars as pl, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> rows = {"item": ["a", "a", "b", "b"], "annotator": ["ann", "gpt"] * 2, "label": [4, 5, 2, 2]}
    >>> pl.DataFrame(rows).write_parquet(f"{folder}/labels.parquet")
    >>> chunks = assay.scan(folder, scale="1-5", judges=["gpt"])
    >>> chunks.n_labels, chunks.humans, chunks.judges
    (4, ('ann',), ('gpt',))
    """
    source = _source(folder, settings)
    found = chunk_store.survey(source)
    if not found.n_rows:
        raise chunk_store.unknown_value(source) or DataError(_no_labels(source))
    place = Folder.make(settings.cache)
    try:
        contents, n_blank = _contents(source, found, place, settings.labels_per_chunk)
    except OSError as error:
        raise DataError(
            f"the working folder '{place.path}' cannot be written ({error.strerror or error}); "
            "specify a folder on a larger disk with cache=..."
        ) from error
    if not sum(c.n_labels for c in contents):
        raise DataError(_no_labels(source))
    all_annotators = chunk_store.in_order(sorted({name for c in contents for name in c.annotators}), source.judges)
    for name in settings.judges:
        if name not in all_annotators:
            raise DataError(unknown("judge", name, all_annotators, "the folder"))
    reading = Reading(str(folder) if isinstance(folder, str | Path) else _words(source.files), found.n_rows)
    reading = reading.without(NO_LABEL, n_blank)
    reading = reading.add_notes(*_checked_names(all_annotators, settings, reading.source))
    people = tuple(name for name in all_annotators if name in source.judges)
    return Chunks(
        all_annotators,
        source.scale,
        sum(c.n_items for c in contents),
        people,
        reading,
        source,
        contents,
        place,
        all_annotators,
    )


def _checked_names(all_annotators: Sequence[str], settings: ScanSettings, source: str) -> list[str]:
    """Check the annotators' names as `assay.read` does, and return the notes."""
    names = Coded(
        pl.Series("annotator", all_annotators, dtype=pl.String), np.arange(len(all_annotators), dtype=np.int32)
    )
    notes = unify_spelling(names, "annotator", settings.spelling, source)[1]
    kinds, assumed = settle_kinds(all_annotators, {}, settings.judges or None, settings.humans, source)
    models = [name for name, kind in zip(all_annotators, kinds, strict=True) if kind == "judge"]
    if set(models) != set(settings.judges):
        raise DesignError(f"assay.scan requires the names of all judges: judges={models}")
    return notes + assumed


def _source(folder: str | Path | Sequence[str | Path], settings: ScanSettings) -> ChunkSource:
    """Return the source, after checking the settings against the columns of the files."""
    scale = parse_scale(settings.scale) if isinstance(settings.scale, str) else settings.scale
    item, annotator, label, where = settings.item, settings.annotator, settings.label, settings.where or {}
    if scale.categories is None and not scale.numeric:
        raise DataError(f"assay.scan requires a scale that lists its categories; '{scale.spec}' lists none")
    files = _files(folder)
    frame = pl.scan_parquet(list(files))
    known = frame.collect_schema()
    for name in (item, annotator, label, *where):
        if name not in known:
            raise DataError(unknown("column", name, known, f"'{files[0]}'"))
    for name, value in where.items():
        if not (value is None or isinstance(value, str | bool | int | float)):
            raise DesignError(f"where requires one value per column; got {name}={value!r}")
    floats = [name for name in (item, annotator) if known[name].is_float()]
    whole = [n for n in floats if frame.select((pl.col(n).fill_nan(None).drop_nulls() % 1 == 0).all()).collect().item()]
    source = ChunkSource(
        files, item, annotator, label, scale, frozenset(settings.judges), tuple(where.items()), frozenset(whole)
    )
    if scale.kind == "preference" and set(PAIR) <= set(known):
        _refuse_changing_sides(source, folder, settings)
    for name, value in where.items():
        # Polars refuses to compare text with numbers; no row can have such a value.
        text = known[name] in (pl.String, pl.Categorical, pl.Enum)
        if value is not None and text != isinstance(value, str):
            raise chunk_store.unknown_value(source) or DataError(f"no row of '{files[0]}' has {name}={value!r}")
    return source


def _refuse_changing_sides(
    source: ChunkSource, folder: str | Path | Sequence[str | Path], settings: ScanSettings
) -> None:
    """Refuse votes whose items do not have the same two systems in the same order throughout."""
    rows = source.counted(pl.scan_parquet(list(source.files)))
    several = pl.any_horizontal(pl.col(side).min() != pl.col(side).max() for side in PAIR)
    found = rows.group_by(source.name("item")).agg(several.alias("several")).filter("several")
    item = found.select(pl.col("item").min()).collect(engine="streaming").item()
    if item is not None:
        given = str(folder) if isinstance(folder, str | Path) else list(map(str, folder))
        same = {name: value for name in ("item", "annotator", "label", "judges", "humans", "spelling")
                if (value := getattr(settings, name)) != getattr(ScanSettings(scale=source.scale), name)}  # fmt: skip
        where = f".where(**{dict(source.where)})" if source.where else ""
        raise DataError(
            f"votes on item '{item}' do not all name the same systems in 'first' and 'second', and assay.scan does not "
            f"change the sides of votes; assay.read assigns each system to one side: "
            f"{read_call(given, {'scale': source.scale.spec, **same})}{where}"
        )


def _contents(
    source: ChunkSource, found: chunk_store.Survey, place: Folder, labels_per_chunk: int
) -> tuple[tuple[Contents, ...], int]:
    """Store every chunk in the working folder; also return the number of rows without a label."""
    from joblib import Parallel, delayed

    _refuse_small_disk(found, place)
    ranges = found.ranges(math.ceil(found.n_rows / found.rows_in_a_chunk(labels_per_chunk)))
    chunks: Sequence[Any] = ranges
    people, n_blank = None, 0
    if len(ranges) > 1 and not found.in_order:
        chunks, people, n_blank = chunk_store.deal_out(source, ranges, place)
    kept = Parallel()(
        delayed(chunk_store.store)(source, part, place, f"chunk-{i}", people) for i, part in enumerate(chunks)
    )
    return tuple(kept), n_blank + sum(c.n_blank for c in kept)


def _refuse_small_disk(found: chunk_store.Survey, place: Folder) -> None:
    needed = found.n_rows * 16 + found.name_bytes
    free = shutil.disk_usage(place.path).free
    if needed > free:
        raise DataError(
            f"the working folder can take {needed / 1e9:.1f} GB, and '{place.path}' has {free / 1e9:.1f} GB left; "
            "specify a folder on a larger disk with cache=..."
        )


def _no_labels(source: ChunkSource) -> str:
    return f"no row of {_words(source.files)} has a label"


def _words(files: Sequence[str]) -> str:
    return f"'{files[0]}'" + (f" and {counted(len(files) - 1, 'other file')}" if len(files) > 1 else "")


def _files(folder: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    if isinstance(folder, str | Path):
        path = Path(folder).expanduser()
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not path.exists():
            near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], n=1)
            hint = f"; did you mean '{path.parent / near[0]}'?" if near else ""
            raise DataError(f"no Parquet file at {folder}{hint}")
    else:
        files = [Path(one) for one in folder]
    missing = [f for f in files if not f.is_file()]
    if missing or not files:
        raise DataError(f"no Parquet file at {listing(missing) if missing else folder}")
    return tuple(str(f) for f in files)
