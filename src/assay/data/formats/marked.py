"""Crosses under the names of categories: one column per category, and a mark in the one that was chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.formats import Rows
from assay.data.names import model_names
from assay.data.role_names import human_names
from assay.errors import listing

LEAST_MARKED = 4
"""Rows with one mark each from which columns are categories."""

CHOICE = "marked"
"""The column of labels, if the names of the categories do not begin with its name."""


def add_choices(rows: Rows) -> Rows:
    """Return a table with a further column, the category that is marked in each row, if each row has one mark."""
    frame = rows.labels
    marks = {n: found for n in frame.columns if n != "_row" and (found := _marks(frame[n])) is not None}
    for group in _groups(marks) if frame.height >= LEAST_MARKED else ():
        if len(human_names(group)) > 1 or model_names(group):
            continue
        name, labels = _named(group)
        while name in frame.columns:
            name += " "
        chosen = np.argmax(np.stack([marks[n] for n in group]), axis=0)
        frame = frame.with_columns(pl.Series(name, labels).gather(chosen))
        note = f"'{name}' contains the marked one of {listing([repr(n) for n in group], 4)}: each row has one mark"
        rows = replace(rows, labels=frame, reading=rows.reading.add_notes(note))
    return rows


def _marks(column: pl.Series) -> NDArray[np.bool_] | None:
    """The marked rows of a column with one text and empty cells; None for other columns."""
    if column.dtype != pl.String and not 0 < column.null_count() < len(column):
        return None
    texts = column.cast(pl.String, strict=False).str.strip_chars().replace("", None)
    one = 0 < texts.null_count() < len(texts) and texts.drop_nulls().n_unique() == 1
    return texts.is_not_null().to_numpy() if one else None


def _groups(marks: dict[str, NDArray[np.bool_]]) -> list[list[str]]:
    """Columns next to each other of which each row has exactly one mark."""
    found: list[list[str]] = []
    group: list[str] = []
    for name in marks:
        group.append(name)
        total = np.sum([marks[n] for n in group], axis=0)
        if (total > 1).any():
            group = [name]
        elif (total == 1).all():
            found, group = [*found, group], []
    return found


def _named(group: Sequence[str]) -> tuple[str, list[str]]:
    """The name of the column of labels, and the labels: ``tone:::warm`` and ``tone:::cold`` are warm and cold."""
    same = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False)))
    start = re.sub(r"[^\s_.:/\[(-]*$", "", group[0][:same])
    name = start.rstrip(" _.:/[(-")
    return (name, [one.removeprefix(start).rstrip("])") for one in group]) if name else (CHOICE, list(group))
