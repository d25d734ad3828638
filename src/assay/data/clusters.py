"""Which items belong together: one rule for every question that resamples clusters of items."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import KEY, Annotations
from assay.errors import DataError, counted, listing, unknown


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
    if not (clusters.dtype.is_numeric() or clusters.dtype.is_temporal()):
        clusters = clusters.cast(pl.String)
    return clusters.rank("dense").to_numpy().astype(np.int64) - 1


def digest_of_columns(labels: Annotations, *columns: str | None) -> dict[str, str]:
    """Fingerprints of further columns that a question uses, by name; the order of rows does not matter."""
    found = {}
    for column in columns:
        if column is None:
            continue
        name = labels.column_name(column)
        frame = next((f for f in (labels.items, labels.annotators) if name in f.columns), labels.labels)
        key = [k for k in (*KEY, name) if k in frame.columns]
        rows = frame.select(pl.concat_str([pl.col(k).cast(pl.String).fill_null("\0") for k in key], separator="\x1f"))
        text = rows.to_series().sort().str.join("\x1e").item() or ""
        found[column] = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    return found
