"""The votes of one table as they were shown, and those of several tables with each system on one side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations
from assay.data.joining import texts_on_first_sides
from assay.data.scales import Preference
from assay.data.structure.sides import PAIR, SWAPPED, Sides, marked_as_swapped, side_columns, swap_sides
from assay.errors import DataError, listing


def as_shown(labels: Annotations) -> Annotations:
    """Return the votes with their two systems in the order in which they were shown."""
    if SWAPPED not in _columns(labels):
        return labels
    return _swap(labels, marked_as_swapped(labels.column(SWAPPED)))


def align_sides(tables: Sequence[Annotations], names: Sequence[str]) -> list[Annotations]:
    """Return tables of votes with each system on the same side in all of them, as if they had been read together.

    Parameters
    ----------
    tables : sequence of Annotations
        Those without votes are returned unchanged; of votes on two texts, the texts have the sides of the first.
    names : sequence of str
        The names of the tables in messages.

    Raises
    ------
    DataError
        If some tables of votes name the systems and others do not.
    """
    votes = [all(isinstance(scale, Preference) for scale in one.scales.values()) for one in tables]
    named = [set(PAIR) <= set(_columns(one)) for one in tables]
    if not (all(votes) and any(named)):
        return [tables[0], *(_with_texts_of(tables[0], one) for one in tables[1:])] if all(votes) else list(tables)
    if not all(named):
        without = [name for name, has in zip(names, named, strict=True) if not has]
        raise DataError(
            f"votes are compared by system, and {listing(without)} {'do' if len(without) > 1 else 'does'} not name the "
            f"two systems of a vote; add the columns {listing(PAIR)}, or leave them out of all tables"
        )
    parts = [one.labels.select("label").with_columns(one.column(side).cast(pl.String).alias(side) for side in PAIR)
             for one in tables]  # fmt: skip
    together = pl.concat(parts, how="vertical_relaxed")
    sides = Sides(together, np.ones(together.height, dtype=bool))
    swapped = sides.swapped(sides.pairs, together["label"].cast(pl.Float64).to_numpy())
    found, start = [], 0
    for one in tables:
        rows, start = swapped[start : start + len(one)], start + len(one)
        found.append(_with_items(_swap(one, rows), one.items.columns) if rows.any() else one)
    return found


def _with_texts_of(first: Annotations, other: Annotations) -> Annotations:
    votes, turned = texts_on_first_sides(first, other, other.labels)
    return replace(other, labels=other.labels.with_columns(votes["label"])) if turned else other


def _with_items(swapped: Annotations, columns: Sequence[str]) -> Annotations:
    """The table with those columns of the items that swapping made columns of the labels."""
    moved = [name for name in columns if name not in swapped.items.columns]
    about = swapped.labels.select("item", *moved).unique("item", keep="first")
    items = swapped.items.join(about, on="item", how="left", maintain_order="left")
    return replace(swapped, labels=swapped.labels.drop(moved), items=items)


def _swap(labels: Annotations, rows: NDArray[np.bool_]) -> Annotations:
    """The table with the two systems of some votes in the other order."""
    known = _columns(labels)
    sides = [name for pair in side_columns(known) for name in pair]
    table = labels.labels.with_columns(labels.column(name).alias(name) for name in sides)
    if SWAPPED in known:
        table = table.with_columns(pl.Series(SWAPPED, marked_as_swapped(labels.column(SWAPPED)) ^ rows))
    items, annotators = (frame.drop(*sides, SWAPPED, strict=False) for frame in (labels.items, labels.annotators))
    return replace(labels, labels=swap_sides(table, rows), items=items, annotators=annotators)


def _columns(labels: Annotations) -> list[str]:
    return [c for frame in (labels.labels, labels.items, labels.annotators) for c in frame.columns]
