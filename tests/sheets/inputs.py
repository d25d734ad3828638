"""Inputs of users with their correct readings: how they are written, read and compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.errors import AssayError

Rng = np.random.Generator
Row = tuple[Any, Any, Any, Any]
PEOPLE = ("ann", "bob", "cho")
NAMED = {"humans": list(PEOPLE)}


@dataclass(frozen=True)
class Given:
    """A source, with its labels (item, annotator, criterion, label), or words of the message that refuses it."""

    source: Any
    rows: Iterable[Row] = ()
    refused: str = ""
    options: Mapping[str, Any] | None = None
    asked: bool = False
    """Whether a question is right: its choices contain the correct reading."""


Case = Callable[[Path, Rng], Given]
"""A function that writes a source and gives its correct reading."""


def scores(rng: Rng, n: int, k: int, top: int = 5) -> np.ndarray:
    """Labels of ``k`` annotators who agree on ``n`` items."""
    quality = rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, k))
    return np.clip(np.rint((top + 1) / 2 + (top - 1) / 3.2 * quality), 1, top).astype(int)


def written(folder: Path, columns: Mapping[str, Any] | pl.DataFrame, separator: str = ",") -> Path:
    frame = columns if isinstance(columns, pl.DataFrame) else pl.DataFrame(columns, strict=False)
    frame.write_csv(folder / "t.csv", separator=separator)
    return folder / "t.csv"


def text(folder: Path, content: str, name: str = "t.csv") -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def records(folder: Path, rows: Sequence[Any]) -> Path:
    return text(folder, "\n".join(json.dumps(row) for row in rows), "t.jsonl")


def long(folder: Path, names: Sequence[str], rows: Sequence[Sequence[Any]], **options: Any) -> Path:
    return written(folder, pl.DataFrame(rows, schema=list(names), orient="row"), **options)


def wide(folder: Path, columns: Mapping[str, Sequence[Any]], item: str = "item_id", separator: str = ",") -> Path:
    n = len(next(iter(columns.values())))
    cells = {name: [str(cell) for cell in column] for name, column in columns.items()}
    return written(folder, {item: [f"i{k:02}" for k in range(n)], **cells}, separator)


def cells_of(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    return [(f"i{k:02}", who, "", cell) for who, column in columns.items() for k, cell in enumerate(column)]


def words(rng: Rng, labels: Sequence[str], n: int = 40) -> dict[str, list[str]]:
    truth = rng.choice(len(labels), n)
    return {who: [labels[k if rng.random() < 0.8 else rng.choice(len(labels))] for k in truth] for who in PEOPLE}


def numbers(rng: Rng, n: int = 30, top: int = 5) -> dict[str, list[Any]]:
    return dict(zip(PEOPLE, scores(rng, n, 3, top).T.tolist(), strict=True))


def plain(value: Any) -> str:
    try:
        return str(round(float(value), 6))
    except (TypeError, ValueError):
        return str(value)


def wanted(rows: Iterable[Row]) -> Counter[tuple[str, ...]]:
    return Counter((str(item), str(who), str(kind), plain(label)) for item, who, kind, label in rows)


def found(labels: assay.Annotations) -> Counter[tuple[str, ...]]:
    rows = labels.labels.iter_rows(named=True)
    return wanted((row["item"], row["annotator"], row.get("criterion") or "", row["label"]) for row in rows)


def check_reading(make: Case, folder: Path) -> None:
    """A table is read correctly, or refused in the words of the case; each printed call is run."""
    case = make(folder, np.random.default_rng(sum(map(ord, make.__name__))))
    options, right = dict(case.options or {}), wanted(case.rows)
    error = None
    try:
        labels = assay.read(case.source, **options)
    except AssayError as refusal:
        error = refusal
    else:
        assert not case.refused, f"read as {labels!r}"
        assert found(labels) == right
    if error is not None:
        assert case.refused or case.asked, error
        assert case.refused in str(error)
        choices = [dict(one) for _, one in getattr(error, "choices", ()) if one] or [dict(error.advised or {})]
        # Every printed call reads the table, and one of them reads it correctly.
        readings = [found(assay.read(case.source, **options, **one)) for one in choices if one]
        assert not right or not readings or right in readings
        assert not case.asked or case.refused or right in readings
