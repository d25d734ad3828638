"""The files people bring, one module a format, each ending in `Rows`."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from assay.data.annotations import Reading


@dataclass(frozen=True, eq=False)
class Rows:
    """What a format's reader found: a long table and what is known beside it.

    Attributes
    ----------
    labels : polars.DataFrame
        One row a label, under the file's own column names. A column ``_row`` says where each row came
        from (a line number, or words such as ``ann: q17``); it is used in messages only.
    items, annotators : polars.DataFrame or None
        One row an item (column ``item``) or an annotator (column ``annotator``).
    judges : tuple of str or None
        The annotators that the format itself marks as models; None where it does not say.
    reading : Reading
        What was read, left out and assumed so far.
    """

    labels: pl.DataFrame
    items: pl.DataFrame | None = None
    annotators: pl.DataFrame | None = None
    judges: tuple[str, ...] | None = None
    reading: Reading = field(default_factory=Reading)
