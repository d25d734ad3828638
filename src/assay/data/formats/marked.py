"""Marks under the names of categories: one label per row.

A row of a table can have one column per category and a mark, ``x`` or ``1``, in the column that the annotator chose.
"""

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

LEAST_MARKED, LEAST_NUMBERED = 4, 8
"""Rows with one mark each from which columns are categories: ``x`` or nothing; 1 or 0, which also can be labels."""

CHOICE = "choice"
"""The column of labels, if the names of the categories do not begin with its name."""


def choices_of_marks(rows: Rows) -> Rows:
    """Return a table with one column of labels for columns of marks, of which each row has one."""
    frame = rows.labels
    for empty, least, size in ((True, LEAST_MARKED, 2), (False, LEAST_NUMBERED, 3)):
        columns = {n: _marks(frame[n], empty=empty) for n in frame.columns if n != "_row"}
        marks = {name: found for name, found in columns.items() if found is not None}
        for group in _groups(marks, size) if frame.height >= least else ():
            if len(human_names(group)) > 1 or model_names(group):
                continue
            chosen = np.argmax(np.stack([marks[n] for n in group]), axis=0)
            name, labels = _named(group)
            while name in frame.columns:
                name += " "
            column = pl.Series(name, labels).gather(chosen)
            at = frame.columns.index(group[0])
            frame = frame.insert_column(at, column).drop(group)
            note = f"one label for the marks in {listing([repr(n) for n in group], 4)}: each row has one"
            rows = replace(rows, labels=frame, reading=rows.reading.add_notes(note))
    return rows


def _marks(column: pl.Series, *, empty: bool) -> NDArray[np.bool_] | None:
    """The marked rows of a column: one text and empty cells, or 1 and 0; None for other columns."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return None
    texts = column.cast(pl.String).str.strip_chars().replace("", None)
    values = set(texts.drop_nulls().unique().to_list())
    if empty:
        fits = len(values) == 1 and texts.null_count() > 0
        return texts.is_not_null().to_numpy() if fits else None
    numbers = {"1", "0"} if values <= {"1", "0"} else {"1.0", "0.0"}
    return (texts == max(numbers)).to_numpy() if values == numbers and not texts.null_count() else None


def _groups(marks: dict[str, NDArray[np.bool_]], size: int) -> list[list[str]]:
    """Columns next to each other of which each row has exactly one mark."""
    found, group = [], list[str]()
    for name in marks:
        group.append(name)
        total = np.sum([marks[n] for n in group], axis=0)
        if (total > 1).any():
            group = [name]
        elif (total == 1).all():
            found += [group] if len(group) >= size else []
            group = []
    return found


def _named(group: Sequence[str]) -> tuple[str, list[str]]:
    """The name of the column of labels, and the labels: ``tone:::warm`` and ``tone:::cold`` are warm and cold."""
    same = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False)))
    start = re.sub(r"[^\s_.:/\[(-]*$", "", group[0][:same])
    name = start.rstrip(" _.:/[(-")
    if not name:
        return CHOICE, list(group)
    return name, [one.removeprefix(start).rstrip("])") for one in group]
