"""Frames and columns of any make, as Polars ones, with 1 and "1" kept apart."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from assay.errors import DataError


def to_polars(
    frame: Any, strict: Collection[str] = (), source: str = "a table in memory", *, orders: bool = False
) -> pl.DataFrame:
    """Any eager or lazy frame that narwhals knows, as a Polars frame; the original is never changed.

    ``strict`` names the columns in which a mixture of numbers and text is refused; in others it becomes text. With
    ``orders``, categories whose order is declared become an Enum, which keeps it; they become text otherwise. Class
    labels of Hugging Face's ``datasets`` become their names.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw

    frame, classes = _of_datasets(frame)
    try:
        native = nw.from_native(_with_names_of_text(frame))
    except TypeError:
        raise DataError(
            f"cannot read a table from {type(frame).__name__}; give a path, or a pandas, Polars or Arrow frame"
        ) from None
    eager = native.collect("polars") if isinstance(native, nw.LazyFrame) else native
    if not eager.implementation.is_pandas_like():
        found = eager.to_polars()
        if not eager.implementation.is_pyarrow():
            return found
        table = eager.to_native()
        found = with_orders(found, orders_of(table)) if orders else found
        return with_class_names(found, classes or class_names(table.schema.metadata))
    # Column by column, because pandas columns of objects may hold anything and Arrow may not be installed.
    columns = {}
    for name in eager.columns:
        column = eager[name]
        if column.dtype.is_numeric() and not column.is_null().any():
            columns[str(name)] = pl.Series(str(name), column.to_numpy())
        else:
            values = [None if gone else v for v, gone in zip(column.to_list(), column.is_null().to_list(), strict=True)]
            columns[str(name)] = column_of(str(name), values, source, strict=name in strict)
    ordered = {str(n): dtype for n, dtype in eager.schema.items() if isinstance(dtype, nw.Enum) and orders}
    return with_orders(pl.DataFrame(columns), {n: tuple(map(str, dtype.categories)) for n, dtype in ordered.items()})


# -- what columns declare -------------------------------------------------------------------------------


def with_orders(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Columns of text whose order is declared as Enums, which keep it."""
    return frame.with_columns(
        pl.col(name).cast(pl.String).cast(pl.Enum(list(order))) for name, order in orders.items() if len(order)
    )


def orders_of(table: Any) -> dict[str, tuple[str, ...]]:
    """The categories of an Arrow table's ordered columns, lowest first."""
    found = {}
    for field in table.schema:
        if getattr(field.type, "ordered", False):
            column = table[field.name].unify_dictionaries()
            chunk = column.chunk(0) if column.num_chunks else None
            found[field.name] = () if chunk is None else tuple(map(str, chunk.dictionary.to_pylist()))
    return found


def class_names(metadata: Mapping[Any, Any] | None) -> dict[str, list[str]]:
    """The names of class labels by column, as Hugging Face's ``datasets`` writes them beside a table."""
    known = {k.decode() if isinstance(k, bytes) else k: v for k, v in (metadata or {}).items()}
    try:
        features = json.loads(known.get("huggingface") or "{}").get("info", {}).get("features", {})
    except (ValueError, AttributeError):
        return {}
    classes = {n: f for n, f in features.items() if isinstance(f, dict) and f.get("_type") == "ClassLabel"}
    return {name: list(map(str, feature["names"])) for name, feature in classes.items() if feature.get("names")}


def with_class_names(frame: pl.DataFrame, classes: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Numbers of classes as the names of the classes; −1 stands for no label.

    Raises
    ------
    DataError
        For a number that no class has.
    """
    for name, names in classes.items():
        if name not in frame.columns or not frame[name].dtype.is_integer():
            continue
        strange = frame[name].filter(~frame[name].is_between(-1, len(names) - 1))
        if strange.len():
            raise DataError(f"column '{name}' has {len(names)} classes, and a label of number {strange[0]}")
        frame = frame.with_columns(
            pl.col(name).replace_strict(list(range(len(names))), list(names), default=None, return_dtype=pl.String)
        )
    return frame


def _of_datasets(frame: Any) -> tuple[Any, dict[str, list[str]]]:
    """A data set of Hugging Face's ``datasets`` as its Arrow table, and the names of its classes."""
    if not type(frame).__module__.startswith("datasets."):
        return frame, {}
    if not hasattr(frame, "with_format") or not hasattr(frame, "num_rows"):
        raise DataError(f"a {type(frame).__name__} holds several tables or none; give one of them: dataset['train']")
    if isinstance(frame.num_rows, dict):
        raise DataError(f"the data set has several parts ({', '.join(frame.num_rows)}); give one: dataset['train']")
    names = {n: list(f.names) for n, f in frame.features.items() if type(f).__name__ == "ClassLabel" and f.names}
    return frame.with_format("arrow")[:], names


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
