"""The files people bring, one module a format, each ending in `Rows`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.scales import Scale
from assay.errors import DesignError, listing


@dataclass(frozen=True, eq=False)
class Rows:
    """What a format's reader found: a long table and what is known beside it.

    Attributes
    ----------
    labels : polars.DataFrame
        One row a label, under the file's own column names; ``kind`` where the format says who is a judge.
        A column ``_row`` says where each row came
        from (a line number, or words such as ``ann: q17``); it is used in messages only.
    items, annotators : polars.DataFrame or None
        One row an item (column ``item``) or an annotator (column ``annotator``).
    reading : Reading
        What was read, excluded and assumed so far.
    scales : mapping of criterion to Scale, or None
        What a platform's own configuration says a label may be (under ``None`` where there is only one
        question); it is offered, and what the user says goes before it. None where the file is of no platform.
    untyped : bool
        The file writes everything as text (CSV), so numbers are still to be read as such.
    orders : mapping of criterion to tuple of str
        Labels in the order that their columns declared, where the labels themselves no longer tell.
    """

    labels: pl.DataFrame
    items: pl.DataFrame | None = None
    annotators: pl.DataFrame | None = None
    reading: Reading = field(default_factory=Reading)
    scales: Mapping[str | None, Scale] | None = None
    untyped: bool = False
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)


def one_answer_each(labels: Annotations, place: str) -> Annotations:
    """The table without its repeat column; refused where an annotator answered more than once, as ``place`` cannot."""
    if labels.has_repeats:
        raise DesignError(
            f"{place} holds one answer of an annotator to a question, and the table has repeated ones; choose with "
            f"labels.where(repeat={labels.values_of('repeat')[0]})"
        )
    single = labels.resolve_repeats("first")
    key = [c for c in ("item", "annotator", "criterion") if c in single.labels.columns]
    if single.labels.select(key).is_duplicated().any():
        raise DesignError(
            f"{place} holds one answer of an annotator to a question, and the table has several under different "
            f"conditions ({listing(labels.conditions)}); choose with labels.where({labels.conditions[0]}=...)"
        )
    return single
