"""Frames and columns of any make, as Polars ones, with 1 and "1" kept apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from assay.errors import DataError


def to_polars(frame: Any, strict: str | None = None, source: str = "a table in memory") -> pl.DataFrame:
    """Any eager or lazy frame that narwhals knows, as a Polars frame; the original is never changed.

    ``strict`` names the column in which a mixture of numbers and text is refused; in others it becomes text.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw

    try:
        native = nw.from_native(_with_names_of_text(frame))
    except TypeError:
        raise DataError(
            f"cannot read a table from {type(frame).__name__}; give a path, or a pandas, Polars or Arrow frame"
        ) from None
    eager = native.collect("polars") if isinstance(native, nw.LazyFrame) else native
    if not eager.implementation.is_pandas_like():
        return eager.to_polars()
    # Column by column, because pandas columns of objects may hold anything and Arrow may not be installed.
    columns = {}
    for name in eager.columns:
        column = eager[name]
        if column.dtype.is_numeric() and not column.is_null().any():
            columns[str(name)] = pl.Series(str(name), column.to_numpy())
        else:
            values = [None if gone else v for v, gone in zip(column.to_list(), column.is_null().to_list(), strict=True)]
            columns[str(name)] = column_of(str(name), values, source, strict=name == strict)
    return pl.DataFrame(columns)


def _with_names_of_text(frame: Any) -> Any:
    """A frame whose columns have one name each, a text: 1 becomes "1"."""
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    if any(isinstance(name, tuple) for name in names):
        raise DataError("the table has column names of several levels; give each column one name")
    texts = [str(name) for name in names]
    twice = next((name for name in texts if texts.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"the table has two columns '{twice}'; rename one of them")
    if names != texts and hasattr(frame, "set_axis"):
        return frame.set_axis(texts, axis=1)
    return frame


def column_of(name: str, values: Sequence[Any], source: str, *, strict: bool = True) -> pl.Series:
    """A column of Python values in the one type they have.

    Numbers mixed with text are refused by row, or become text with ``strict=False``; lists and objects
    become JSON text.
    """
    said = [v for v in values if v is not None]
    if any(isinstance(v, dict | list) for v in said):
        return pl.Series(name, [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in values])
    texts = [i for i, v in enumerate(values) if isinstance(v, str)]
    if texts and len(texts) < len(said):
        if not strict:
            return pl.Series(name, [None if v is None else str(v) for v in values])
        others = [i for i, v in enumerate(values) if v is not None and not isinstance(v, str)]
        few = min(texts, others, key=len)
        rows = ", ".join(f"row {i + 1}: {values[i]!r}" for i in few[:5])
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        raise DataError(
            f"{source}: column '{name}' mixes numbers and text ({rows}{more}); 1 is not \"1\": make them one type"
        )
    return pl.Series(name, values, strict=False)
