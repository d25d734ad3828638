"""Some rows of a table, read from its frames as by a user."""

from __future__ import annotations

import polars as pl

from assay import Annotations


def keep_rows(labels: Annotations, keep: pl.Series) -> Annotations:
    """The labels for which ``keep`` is true, and their items; all criteria share a scale."""
    rows = labels.labels.filter(keep)
    items = labels.items.filter(pl.col("item").is_in(rows["item"].implode()))
    judges = [name for name in labels.judges if name in rows["annotator"]]
    return Annotations.from_frame(rows, items=items, judges=judges, scale=labels.scale, conditions=labels.conditions)
