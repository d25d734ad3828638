"""Lists and objects in the cells of a table: one row per answer.

Data sets on disagreement, summaries and dialogues store all answers on an item in one record: two lists of one length
(annotators and labels), one list of objects, or an object of annotators and labels. They become rows of a long table
before the structure of the table is found. Annotators without names are named by their place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from assay.data.columns import column_of
from assay.data.formats import Rows
from assay.data.role_names import called, called_people, plain_name
from assay.errors import DataError, listing

Record = dict[str, Any]

MOST_LABEL = 40
"""Characters up to which a text is a label, not the text of an item."""

NAMES = "annotator"
CHOICES = ("cat", "label", "categorie", "category")
"""Names, in the singular, of an object with a mark for each category, as doccano and spaCy write ``cats``."""

LABELS = ("label", "annotation", "rating", "score", "answer", "judgment", "response", "vote")
SCORES = ("individual_human_scores", "individual_scores", "scores", "ratings", "labels", "annotations")
"""Keys of a list of all answers on one criterion."""


def _single(name: str) -> str:
    return plain_name(name).removesuffix("s")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MOST_LABEL)


def records_in(values: Any) -> list[Record] | None:
    """Return the records of a JSON document; None if it has none.

    A document is a list of records, an object of records by item, or an object with a list of records.
    """
    if isinstance(values, list) and values and all(isinstance(one, dict) for one in values):
        return values
    if not isinstance(values, dict) or not values:
        return None
    inner = list(values.values())
    if all(isinstance(one, dict) for one in inner):
        kinds = [{type(v) for v in one.values()} for one in inner if one]
        varied = any(len(kind - {int, float, type(None)}) > (0 if kind & {int, float} else 1) for kind in kinds)
        same = len({tuple(sorted(one)) for one in inner}) == 1
        if same and varied:
            return [{"item": key, **one} for key, one in values.items()]
        return None
    lists = [v for v in inner if isinstance(v, list) and len(v) > 1 and all(isinstance(one, dict) for one in v)]
    nested = [v for v in lists if any(isinstance(cell, list | dict) for one in v for cell in one.values())]
    return (nested or lists)[0] if len(nested or lists) == 1 and len(inner) > 1 else None


def unfold(rows: Rows) -> Rows:
    """Return a table with one row per answer, if its cells contain the answers as lists or objects.

    Raises
    ------
    DataError
        If the lists of one record have different lengths.
    """
    frame, source = rows.labels.drop("_row", strict=False), rows.reading.source
    cells = {name: parsed for name in frame.columns if (parsed := _parsed(frame[name])) is not None}
    for name, values in cells.items():
        if any(_is_span(one) for each in values if isinstance(each, list) for one in each):
            raise DataError(
                f"{source}: '{name}' contains spans of text (start, end, label), not one label per item; export one "
                "row per item and annotator"
            )
    named = any(called_people(plain_name(n)) == 2 for n in frame.columns if n not in cells)
    marked = {
        name: marks
        for name, values in cells.items()
        if _single(name) in (CHOICES if named else CHOICES[:1])
        and (marks := _marked(values, name, source, alone=len(cells) == 1)) is not None
    }
    cells |= marked
    joined = _joined(frame.drop(cells))
    cells |= {name: [None if text is None else text.split(",") for text in frame[name]] for name in joined}
    if not cells:
        return rows
    records = [
        {**record, **{name: values[i] for name, values in cells.items()}}
        for i, record in enumerate(frame.iter_rows(named=True))
    ]
    found, notes = _unfold_records(records, source)
    if not notes:
        chosen = [
            n
            for n in cells
            if n in marked or (called(_single(n), "label") and all(isinstance(one, list) for one in cells[n] if one))
        ]
        made = [column_of(n, [_cell(one) for one in cells[n]], source, strict=False) for n in chosen]
        return replace(rows, labels=rows.labels.with_columns(made)) if made else rows
    if not found:
        raise DataError(f"{source}: the lists in {listing(list(cells))} contain no answer")
    names = list(dict.fromkeys(key for one in found for key in one))
    table = pl.DataFrame({n: column_of(n, [_cell(one.get(n)) for one in found], source, strict=False) for n in names})
    if table.height == frame.height and "_row" in rows.labels.columns:
        table = table.with_columns(rows.labels["_row"])
    reading = replace(rows.reading.add_notes(*notes), rows=rows.reading.rows + max(table.height - frame.height, 0))
    return replace(rows, labels=table, untyped=rows.untyped or bool(joined), reading=reading)


def _marked(values: Sequence[Any], name: str, source: str, *, alone: bool) -> list[Any] | None:
    """The categories that each object marks: ``{"good": 1, "bad": 0}`` is ``["good"]``; None for other objects.

    Raises
    ------
    DataError
        If the objects have a share for each category, and no other column has lists or objects.
    """
    there = [one for one in values if one]
    if not there or not all(isinstance(one, dict) for one in there) or len({frozenset(one) for one in there}) > 1:
        return None
    # Annotators with labels 0 and 1 have the same form, but only categories exclude each other in every record.
    numbers = [list(one.values()) for one in there]
    if len(numbers[0]) < 2 or not all(isinstance(v, int | float) and 0 <= v <= 1 for each in numbers for v in each):
        return None
    if any(v not in (0, 1) for each in numbers for v in each):
        if alone and all(abs(sum(each) - 1) < 1e-6 for each in numbers):
            raise DataError(
                f"{source}: '{name}' contains a share for each category ({listing(list(there[0]), 3)}), not a label; "
                "export the label that each annotator gave"
            )
        return None
    if _single(name) != "cat" and any(sum(each) != 1 for each in numbers):
        return None
    return [None if one is None else [key for key, value in one.items() if value] for one in values]


def _is_span(value: Any) -> bool:
    """Whether a value is a span of text: ``[0, 3, "PER"]``."""
    whole = isinstance(value, list) and len(value) == 3 and all(type(end) is int for end in value[:2])
    return whole and isinstance(value[2], str) and 0 <= value[0] <= value[1]


def _parsed(column: pl.Series) -> list[Any] | None:
    """The lists or objects in the cells of a column, also as JSON text; None if it has other cells."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        found = column.to_list()
    elif column.dtype == pl.String and bool(column.drop_nulls().str.contains(r"^\s*[\[{]").all()):
        try:
            found = [None if text is None else json.loads(text) for text in column]
        except json.JSONDecodeError:
            return None
    else:
        return None
    there = [one for one in found if one is not None]
    return found if there and all(isinstance(one, list | dict) for one in there) else None


def _joined(frame: pl.DataFrame) -> list[str]:
    """Columns of text with one comma-separated list in each cell: annotators, and answers of the same number."""
    texts = [n for n, dtype in frame.schema.items() if dtype == pl.String]
    half = frame.height / 2
    people = [n for n in texts if called_people(_single(n)) == 2 and frame[n].str.contains(",").sum() > half]
    if len(people) != 1:
        return []
    counts = frame[people[0]].str.count_matches(",")
    return [n for n in texts if (frame[n].str.count_matches(",") == counts).fill_null(value=True).all()]


def _unfold_records(records: list[Record], source: str) -> tuple[list[Record], list[str]]:
    """One record per answer, by the first way that fits all records."""
    names = list(dict.fromkeys(key for one in records for key in one))
    cells = {name: [one[name] for one in records if one.get(name) is not None] for name in names}
    for way in (_objects, _by_criterion, _side_by_side, _by_name):
        found = way(records, cells, source)
        if found is not None:
            return found
    return records, []


def _of_kind(cells: Mapping[str, Sequence[Any]], kind: type) -> list[str]:
    return [name for name, values in cells.items() if values and all(isinstance(v, kind) for v in values)]


def _objects(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str
) -> tuple[list[Record], list[str]] | None:
    """Lists of objects, one per answer: ``[{"coherence": 4, "fluency": 5}, ...]``."""
    lists = [n for n in _of_kind(cells, list) if any(cells[n]) and
             all(isinstance(one, dict) and one for each in cells[n] for one in each)]  # fmt: skip
    lists = [n for n in lists if all(any(_answers(k, v) for k, v in one.items()) for each in cells[n] for one in each)]
    if not lists:
        return None
    found, unnamed = [], False
    for record in records:
        rest = {k: v for k, v in record.items() if k not in lists}
        for name in lists:
            for place, answer in enumerate(record.get(name) or (), 1):
                who = next((k for k in answer if called_people(plain_name(k))), None)
                unnamed |= who is None
                named = answer[who] if who else (f"{name} {place}" if len(lists) > 1 else str(place))
                own = {(k if k not in rest else f"{name} {k}"): v for k, v in answer.items() if k != who}
                found.append({**rest, NAMES: str(named), **own})
    for name in lists if unnamed else ():
        _refuse_uneven(name, [len(each) for each in cells[name]], source)
    notes = [f"one row per answer in {listing(lists)}"]
    return found, notes + ([_places(lists)] if unnamed else [])


def _answers(key: str, value: Any) -> bool:
    """Whether a key and its value are a label: a number, or a short text under a usual name."""
    return _is_scalar(value) and (not isinstance(value, str) or called(plain_name(key), "label"))


def _by_criterion(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str
) -> tuple[list[Record], list[str]] | None:
    """Objects of criteria, each with a list of answers: ``{"fluency": {"individual_human_scores": [4, 5]}}``."""
    for name in _of_kind(cells, dict):
        inner = [one for each in cells[name] for one in each.values()]
        dicts = bool(inner) and all(isinstance(one, dict) for one in inner)
        key = next((k for k in SCORES if dicts and all(isinstance(one.get(k), list) for one in inner)), None)
        if key is None:
            continue
        _refuse_uneven(key, [len(one[key]) for one in inner], source)
        found = [
            {
                **{k: v for k, v in record.items() if k != name},
                NAMES: str(place),
                "criterion": criterion,
                "label": label,
            }
            for record in records
            for criterion, one in (record.get(name) or {}).items()
            for place, label in enumerate(one[key], 1)
        ]
        return found, [f"one row per answer in {name}", _places([name])]
    return None


def _side_by_side(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str
) -> tuple[list[Record], list[str]] | None:
    """Lists of one length: the annotators, and their labels."""
    lists = [n for n in _of_kind(cells, list) if all(_is_scalar(v) or v is None for each in cells[n] for v in each)]
    people = [n for n in lists if called_people(_single(n)) == 2]
    answers = [n for n in lists if n not in people and any(len(each) > 1 for each in cells[n])]
    labels = [n for n in answers if called(_single(n), "label")]
    if not answers:
        return None
    if not people and (len(labels) != 1 or any(called_people(plain_name(n)) == 2 for n in cells)):
        return None
    who = people[0] if people else None
    together = [n for n in answers if who is None or all(
        len(one.get(n) or ()) == len(one.get(who) or ()) for one in records)]  # fmt: skip
    if who is not None and not together:
        uneven = next(
            one for one in records for n in labels or answers if len(one.get(n) or ()) != len(one.get(who) or ())
        )
        place = records.index(uneven) + 1
        raise DataError(f"{source}, record {place}: '{who}' and {listing(labels or answers)} have different lengths")
    used = together if who is not None else labels
    if who is None:
        _refuse_uneven(used[0], [len(each) for each in cells[used[0]]], source)
    single = used[0] if len(used) == 1 else None
    found = []
    for record in records:
        rest = {k: v for k, v in record.items() if k not in (*used, who)}
        for place in range(len(record.get(used[0]) or ())):
            named = record[who][place] if who is not None else str(place + 1)
            own = {("label" if n == single else n): record[n][place] for n in used}
            found.append({**rest, NAMES: str(named).strip(), **own})
    notes = [f"one row per answer in {listing(used)}"]
    return found, notes + ([] if who is not None else [_places(used)])


def _by_name(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str
) -> tuple[list[Record], list[str]] | None:
    """An object of annotators and labels: ``{"Ann5": 1, "Ann3": 0}``."""
    if any(called_people(plain_name(n)) == 2 for n in cells):
        return None
    keys = {n: [{k for k, v in one.items() if v is not None} for one in cells[n]] for n in _of_kind(cells, dict)}
    objects = [n for n in keys if all(_is_scalar(v) or v is None for one in cells[n] for v in one.values())]
    varied = [n for n in objects if len(set(map(frozenset, keys[n]))) > 1]
    usual = [n for n in objects if _single(n) in LABELS or called(_single(n), "label")]
    named = [n for n in usual if n in varied] or usual or (varied if len(varied) == 1 else [])
    if len(named) != 1:
        return None
    name = named[0]
    found = [
        {**_without(record, name), NAMES: str(who), "label": label}
        for record in records
        for who, label in (record.get(name) or {}).items()
        if label is not None
    ]
    return found, [f"one row per answer in {name}: its keys are the annotators"]


def _refuse_uneven(name: str, lengths: Iterable[int], source: str) -> None:
    """Refuse answers without names whose number differs: the second of two is not the second of five.

    Raises
    ------
    DataError
        With the shortest and the longest list.
    """
    there = sorted({n for n in lengths if n})
    if len(there) > 1:
        raise DataError(
            f"{source}: the lists in '{name}' have no names of annotators and different lengths ({there[0]} to "
            f"{there[-1]}), so their places do not identify annotators; add a list of annotators of the same lengths"
        )


def _without(record: Record, name: str) -> Record:
    return {key: value for key, value in record.items() if key != name}


def _places(names: Iterable[str]) -> str:
    return f"annotators of {listing(list(names))} have no names; they are named by their place"


def _cell(value: Any) -> Any:
    """A cell: a list with one value is that value; choices are joined; other lists and objects are text."""
    if isinstance(value, list | tuple):
        if all(_is_scalar(one) for one in value):
            return None if not value else value[0] if len(value) == 1 else "; ".join(sorted(map(str, value)))
        return str(value)
    return str(value) if isinstance(value, dict) else value
