"""The one table out again: as a plain table, or in the form that a platform reads.

What is written, read and written again is the same to the byte. Where a format has no place for something,
`Written` says so; where it would come back as something else, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.columns import KEY
from assay.data.formats.label_studio import write_label_studio
from assay.data.formats.tables import ITEMS, numbers_where_all_are, write_alt_test, write_hugging_face
from assay.errors import DataError, counted, unknown
from assay.reporting.page import atomic_write, writable

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
"""What the name of a plain table ends in."""


@dataclass(frozen=True)
class Written:
    """What was written, and what was not."""

    path: Path
    format: str
    labels: int
    """Labels in the table that was written from."""
    notes: tuple[str, ...] = ()
    """What the format has no place for."""

    def lines(self) -> list[str]:
        """One line a fact, fit to print."""
        return [f"{counted(self.labels, 'label')} written to {self.path} ({self.format})", *self.notes]


def write(labels: Annotations, path: str | Path, format: str = "table") -> Written:  # noqa: A002
    """Write annotations to a file or folder.

    Parameters
    ----------
    labels : Annotations
    path : path
        A file; a folder for ``alt-test``. Of a plain table the suffix says the kind: ``.csv``, ``.tsv``,
        ``.jsonl``, ``.parquet``.
    format : str
        ``table`` (one row a label with everything known of it), ``hugging-face`` (JSON Lines, one item a line
        with lists of labels), ``label-studio`` (judges' labels as predictions), ``alt-test`` (a folder).

    Raises
    ------
    DataError
        For an unknown format, or a table that would come back as another one.

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
    if format not in WRITERS:
        raise DataError(unknown("format", format, WRITERS, "the formats that are written"))
    path = writable(Path(path), folder=format == "alt-test", suffixes=SUFFIXES[format])
    if format != "alt-test" and not path.parent.is_dir():
        raise DataError(f"there is no folder '{path.parent}' to write into")
    with atomic_write(path) as place:
        notes = WRITERS[format](labels, place)
        if format == "alt-test" and not (place / ITEMS).exists():
            (path / ITEMS).unlink(missing_ok=True)  # of a table that was there before
    return Written(path, format, len(labels), tuple(notes))


def flat_table(labels: Annotations) -> pl.DataFrame:
    """One row a label with everything known of it: the answer, its item, its annotator."""
    table = labels.labels.join(labels.annotators, on="annotator", how="left", maintain_order="left")
    about = labels.items.select("item", *(c for c in labels.items.columns if c not in table.columns))
    table = table.join(about, on="item", how="left", maintain_order="left")
    first = [c for c in ("item", "annotator", "kind", "criterion", "label", *KEY[3:]) if c in table.columns]
    # By name, because an attribute may move between items, annotators and answers when it is read again.
    return table.select(*first, *sorted(c for c in table.columns if c not in first))


def write_table(labels: Annotations, path: Path) -> list[str]:
    """A plain table; the suffix says which kind."""
    _write_frame(flat_table(labels), path)
    return []


def write_frame(table: pl.DataFrame, path: Path) -> None:
    """A frame as a plain table; the suffix says which kind."""
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
    """The table as CSV can hold it; refused where a text would come back changed."""
    for name in table.columns:
        column = table[name]
        whole = column.cast(pl.Int64, strict=False) if column.dtype.is_float() else column
        if column.dtype.is_float() and bool((whole == column).fill_null(column.is_null()).all()):
            table = table.with_columns(whole)  # a column of whole numbers is read as such
        elif column.dtype == pl.String:
            back = numbers_where_all_are(table.select(name), leave=())[name]
            changed = table.filter((back.cast(pl.String) != column) | (column == "") | (column.str.contains("\r")))
            if changed.height:
                raise DataError(
                    f"column '{name}' holds {changed[name][0]!r}, which a CSV file would give back as something "
                    "else; write .jsonl or .parquet, which keep it"
                )
    return table


def import_counts(reading: Reading, used: int) -> pl.DataFrame:
    """What became of every row that was read: columns ``what`` and ``rows``.

    The rows used and the rows excluded, by reason, add up to the rows read.
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
"""Every format that is written, by name."""

SUFFIXES: dict[str, tuple[str, ...]] = {
    "table": TABLES, "hugging-face": (".jsonl", ".ndjson"), "label-studio": (".json",), "alt-test": (),
}  # fmt: skip
"""What the name of a file in each format ends in."""
