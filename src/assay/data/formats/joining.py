"""Several files as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from assay.data.annotations import Reading
from assay.data.formats import Rows
from assay.errors import DataError, counted, listing


def joined(parts: Sequence[Rows]) -> Rows:
    """Several files as one table; every count and note says of which file it speaks. One alone stays as it is."""
    if len(parts) == 1:
        return parts[0]
    parts = _of_one_type(parts)
    first = parts[0]
    labels = pl.concat(
        [p.labels.with_columns(_row=pl.format("{}, {}", pl.lit(p.reading.source), pl.col("_row"))) for p in parts],
        how="diagonal_relaxed",
    )
    tables = [p.items for p in parts if p.items is not None]
    items = (
        pl.concat(tables, how="diagonal_relaxed").unique("item", keep="first", maintain_order=True) if tables else None
    )
    reading = Reading(
        f"{counted(len(parts), 'file')} ({listing([p.reading.source for p in parts], 3)})",
        sum(p.reading.rows for p in parts),
        tuple(replace(e, reason=f"{e.reason} ({p.reading.source})") for p in parts for e in p.reading.exclusions),
        tuple(f"{p.reading.source}: {note}" for p in parts for note in _notes(p.reading)),
    )
    scales = None if first.scales is None else {c: s for p in reversed(parts) for c, s in (p.scales or {}).items()}
    return Rows(
        labels,
        items=items,
        reading=reading,
        scales=scales,
        untyped=any(p.untyped for p in parts),
    )


def _notes(reading: Reading) -> list[str]:
    return [f"{counted(reading.rows, 'row')} read", *reading.notes]


def _of_one_type(parts: Sequence[Rows]) -> Sequence[Rows]:
    """The files with labels of one type; numbers become text only where criteria of both kinds meet."""
    first = parts[0]
    types = [part.labels.schema.get("label") for part in parts]
    for part, dtype in zip(parts, types, strict=True):
        both = f"{first.reading.source} and {part.reading.source}"
        if (dtype is None) != (types[0] is None):
            raise DataError(f"{both} have different columns; read them one by one")
        if (dtype == pl.String) != (types[0] == pl.String) and (part.scales is None or first.scales is None):
            raise DataError(f"{both}: labels are text in one and numbers in the other; make them one type")
    if pl.String in types and not all(dtype == pl.String for dtype in types):
        return [replace(part, labels=part.labels.cast({"label": pl.String})) for part in parts]
    return parts
