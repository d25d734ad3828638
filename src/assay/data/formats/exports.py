"""Write the one table: as a plain table, or in the format of a platform.

Writing a table, reading it and writing it again gives the same bytes. If a format has no place for something,
`Written` reports it; if it would be read back differently, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.formats.platforms.label_studio import write_label_studio
from assay.data.formats.platforms.writing import TITLES, verdicts_of, write_platform
from assay.data.formats.tables import ITEMS, parse_numeric_columns, without_marks, write_alt_test, write_hugging_face
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.result import Result
from assay.reporting.page import atomic_write, writable

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
"""Suffixes of plain tables."""


@dataclass(frozen=True)
class Written:
    """The written file, and everything that was not written."""

    path: Path
    format: str
    labels: int
    """Number of labels in the table."""
    notes: tuple[str, ...] = ()
    """Parts of the table that the format cannot store."""

    def lines(self) -> list[str]:
        """Return the facts, one per line."""
        return [f"{counted(self.labels, 'label')} written to {self.path} ({self.format})", *self.notes]


def write(
    labels: Annotations,
    path: str | Path,
    format: str = "table",  # noqa: A002
    *,
    verdicts: Result | str | Path | None = None,
    trace: str | None = None,
) -> Written:
    """Write annotations to a file or folder.

    Parameters
    ----------
    labels : Annotations
    path : path
        A file, or a folder for ``alt-test``. For a plain table, the suffix determines the kind: ``.csv``, ``.tsv``,
        ``.jsonl``, ``.parquet``.
    format : str
        ``table`` (one row per label with all attributes), ``hugging-face`` (JSON Lines, one item per line
        with lists of labels), ``label-studio`` (judge labels as predictions), ``alt-test`` (a folder); ``langfuse``,
        ``phoenix``, ``mlflow`` (JSON Lines of scores, one call of the platform's interface each) and ``inspect-ai``
        (a log).
    verdicts : Result or path, optional
        A report or test of the same labels, or the JSON file of one: the four platforms store one annotation for each
        judge and criterion.
    trace : str, optional
        Id of the trace that receives the verdicts in Langfuse, Phoenix and MLflow.

    Raises
    ------
    DataError
        For an unknown format, a table that would be read back differently, or verdicts on other labels.
    DesignError
        For verdicts without a trace, or verdicts in a format that has no place for them.

    Examples
    --------
    >>> import assay, polars as pl, tempfile, pathlib
    >>> labels = assay.read(pl.DataFrame({"item": ["a", "b"], "annotator": ["ann", "ann"], "label": [4, 2]}))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
    >>> write(labels, file).labels
    2
    >>> print(file.read_text())
    item,annotator,kind,label
    a,ann,human,4
    b,ann,human,2
    <BLANKLINE>
    """
    if format not in SUFFIXES:
        raise DataError(unknown("format", format, SUFFIXES, "the formats that are written"))
    if format not in TITLES and (verdicts is not None or trace is not None):
        raise DesignError(f"only the formats {listing(list(TITLES))} store verdicts, not '{format}'", option="verdicts")
    if trace is not None and verdicts is None:
        raise DesignError("a trace is for verdicts; give their report with verdicts='...'", option="verdicts")
    path = writable(Path(path), folder=format == "alt-test", suffixes=SUFFIXES[format])
    if format != "alt-test" and not path.parent.is_dir():
        raise DataError(f"the folder '{path.parent}' does not exist; create it first")
    found = () if verdicts is None else verdicts_of(verdicts, labels)
    with atomic_write(path) as place:
        if format in TITLES:
            notes = write_platform(format, labels, place, found, trace)
        else:
            notes = WRITERS[format](labels, place)
        if format == "alt-test" and not (place / ITEMS).exists():
            (path / ITEMS).unlink(missing_ok=True)  # from an earlier table
    if found:
        notes = [f"{counted(len(found), 'verdict')} written", *notes]
    return Written(path, format, len(labels), tuple(notes))


def write_table(labels: Annotations, path: Path) -> list[str]:
    """Write a plain table; the suffix determines the kind."""
    _write_frame(labels.to_polars(), path)
    return []


def write_frame(table: pl.DataFrame, path: Path) -> None:
    """Write a frame as a plain table; the suffix determines the kind."""
    with atomic_write(writable(path, suffixes=TABLES)) as place:
        _write_frame(table, place)


def _write_frame(table: pl.DataFrame, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        table.write_parquet(path)
    elif suffix in (".jsonl", ".ndjson"):
        table.write_ndjson(path)
    else:
        _csv_cells(table).write_csv(path, separator="\t" if suffix == ".tsv" else ",")


def _csv_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table as CSV can store it; refuse text that would be read back differently."""
    for name in table.columns:
        column = table[name]
        whole = column.cast(pl.Int64, strict=False) if column.dtype.is_float() else column
        if column.dtype.is_float() and bool((whole == column).fill_null(column.is_null()).all()):
            table = table.with_columns(whole)  # a column of whole numbers is read as integers
        elif column.dtype == pl.String:
            read, _ = without_marks(table.select(name), (), None, untyped=True)
            back = parse_numeric_columns(read, leave=())[name]
            changed = table.filter(
                back.cast(pl.String).ne_missing(column) | (column == "") | (column.str.contains("\r"))
            )
            if changed.height:
                raise DataError(
                    f"column '{name}' contains {changed[name][0]!r}, which would be read back differently from CSV; "
                    "write .jsonl or .parquet, which preserve it"
                )
    return table


def import_counts(reading: Reading, used: int) -> pl.DataFrame:
    """Return the number of rows that were read, used and excluded: columns ``what`` and ``rows``.

    The used and the excluded rows, by reason, add up to the rows read.
    """
    excluded = [(f"excluded: {e.reason}", e.count) for e in reading.exclusions]
    found = [("read", reading.rows), ("used", used), *excluded]
    return pl.DataFrame(found, schema={"what": pl.String, "rows": pl.Int64}, orient="row")


WRITERS: dict[str, Callable[[Annotations, Path], list[str]]] = {
    "table": write_table,
    "hugging-face": write_hugging_face,
    "label-studio": write_label_studio,
    "alt-test": write_alt_test,
}
"""Functions that write each format, by name; those of `platforms.TITLES` are written by `write_platform`."""

SUFFIXES: dict[str, tuple[str, ...]] = {
    "table": TABLES, "hugging-face": (".jsonl", ".ndjson"), "label-studio": (".json",), "alt-test": (),
    **dict.fromkeys(("langfuse", "phoenix", "mlflow"), (".jsonl", ".ndjson")), "inspect-ai": (".json",),
}  # fmt: skip
"""Suffixes of each format."""
