"""Lists, objects and crosses in the cells of a table, and annotators next to their labels: one row per answer.

Data sets on disagreement, summaries and dialogues store all answers on an item in one record: two lists of one length
(annotators and labels), one list of objects, or an object of annotators and labels. They become rows of a long table
before the structure of the table is found. Annotators without names are named by their place.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.data import words
from assay.data.columns import column_of
from assay.data.formats import KeyColumns, Rows
from assay.data.names import model_names, natural
from assay.data.notations import are_labels, tallies_in
from assay.data.structure.cells import total_of_counts
from assay.data.structure.readings import unclear
from assay.data.structure.role_names import (
    MACHINE_KINDS,
    MOST_INITIALS,
    PEOPLE_KINDS,
    SYSTEM_NAME,
    called,
    called_people,
    called_person_ids,
    criteria_of_one,
    crossed_names,
    is_human,
    plain_name,
)
from assay.errors import DataError, listing

Record = dict[str, Any]

MOST_LABEL = 40
"""Characters up to which a text is a label, not the text of an item."""

MOST_NAME = 3
"""Words up to which a name that ends in ``scores`` names a list of answers."""

NAMES = "annotator"
CHOICES = ("cat", "label", "categorie", "category")
"""Names, in the singular, of an object with a mark for each category, as doccano and spaCy write ``cats``."""

LABELS = ("label", "annotation", "rating", "score", "answer", "judgment", "response", "vote")
SCORES = ("individual_human_scores", "individual_scores", "scores", "ratings", "labels", "annotations")
"""Keys of a list of all answers on one criterion."""


PLACE = "place"
"""The column with the place of each label in a list without names of annotators."""


class Unfolded(NamedTuple):
    """One record per answer, with the notes on them.

    ``unnamed`` are the lists in which answers have no annotators but only their place, and ``labels`` those that are
    criteria. ``keys`` are the columns that were keys of objects, one record for each of which is left,
    and ``who`` is a column to be called as those of annotators are.
    """

    records: list[Record]
    notes: list[str]
    unnamed: Sequence[str] = ()
    labels: Sequence[str] = ()
    keys: KeyColumns | None = None
    untyped: bool = False
    who: str | None = None


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
        return _records_by_item(values)
    lists = [v for v in inner if isinstance(v, list) and len(v) > 1 and all(isinstance(one, dict) for one in v)]
    nested = [v for v in lists if any(isinstance(cell, list | dict) for one in v for cell in one.values())]
    if len(nested or lists) != 1 or len(inner) < 2:
        return None
    # Of the settings next to a list, the one that names who answered is about all of its records.
    who = {k: v for k, v in values.items() if isinstance(v, str) and _names_who(k, [v])}
    found = (nested or lists)[0]
    return (
        [{**who, **one} for one in found]
        if not any(_name_people(one) or who.keys() & one.keys() for one in found)
        else found
    )


def _records_by_item(values: Mapping[str, Mapping[str, Any]]) -> list[Record] | None:
    """The records of an object of items and criteria or annotators, or of annotators, items and criteria.

    None if the keys outside are annotators, or if no name says that those inside are criteria or annotators.
    """
    inside = list(dict.fromkeys(key for one in values.values() for key in one))
    people = _name_annotators([*values], [])
    cells = [cell for one in values.values() for cell in one.values()]
    if (
        people
        and cells
        and all(isinstance(cell, dict) and cell and all(map(_is_scalar, cell.values())) for cell in cells)
    ):
        return [{NAMES: who, "item": item, "scores": cell} for who, one in values.items() for item, cell in one.items()]
    alike = all(2 * len(one) >= len(inside) for one in values.values())
    if people or not alike or not (any(map(_called_criterion, inside)) or _name_annotators(inside, [])):
        return None
    whole = all(cell is None or _is_scalar(cell) for cell in cells)
    return [{"item": item, **one} for item, one in values.items()] if whole else None


LEAST_OF_ARRAY = 3
"""Labels from which lists of one length, or an object of labels by item, are a table."""


def records_of_arrays(values: Any) -> list[Record] | None:
    """Return the records of a JSON object of lists of one length, or of labels by item; None for other objects.

    ``{"pair_id": [1, 2], "human_scores": [3, 4], "scores_of_judges": {"gpt-4o": [3, 3]}, "version": 2}`` and
    ``{"model": "gpt-4o", "scores_by_id": {"a": 4, "b": 5}}``. Single values are settings, not labels.
    """
    if not isinstance(values, dict):
        return None
    inner = {key: one for key, one in values.items() if isinstance(one, dict) and one}
    lists = {key: one for key, one in values.items() if isinstance(one, list) and len(one) > 1}
    nested = {key: one for key, one in inner.items() if all(isinstance(v, list) for v in one.values())}
    if lists:
        columns = [*lists.items(), *(pair for one in nested.values() for pair in one.items())]
        names = [name for name, _ in columns]
        lengths = {len(cells) for _, cells in columns}
        even = len(lengths) == 1 and len(columns) > 1 and len({*names}) == len(names)
        if not even or min(lengths) < LEAST_OF_ARRAY or not any(map(_is_list_of_answers, dict(columns).values())):
            return None
        made = {name: [_joined_id(cell) for cell in cells] for name, cells in columns}
        return [dict(zip(made, row, strict=True)) for row in zip(*made.values(), strict=True)]
    labels = [(key, one) for key, one in inner.items() if all(map(_is_scalar, one.values()))]
    answers = [(key, one) for key, one in labels if any(called(_single(part), "label") for part in key.split("_"))]
    if len(answers) != 1 or len(answers[0][1]) < LEAST_OF_ARRAY:
        return None
    usual = ("judge", "system")
    about = {
        key: one
        for key, one in values.items()
        if isinstance(one, str) and (called_people(plain_name(key)) or any(called(plain_name(key), r) for r in usual))
    }
    return [{"item": item, "label": label, **about} for item, label in answers[0][1].items()]


def _joined_id(cell: Any) -> Any:
    """A cell of a list: an id of several parts, ``["q1", "d7"]``, is one text."""
    return "/".join(map(str, cell)) if isinstance(cell, list) and all(map(_is_scalar, cell)) else cell


def unfold(rows: Rows, stated: Mapping[str, Any] | None = None) -> Rows:
    """Return a table with one row per answer, if its cells contain the answers as lists or objects.

    ``stated`` are the options of `assay.read` that the user has specified.

    Raises
    ------
    DataError
        If the lists of one record have different lengths.
    """
    frame, source = rows.labels.drop("_row", strict=False), rows.reading.source
    if (numbered := _numbered(frame)) is not None:
        who, answers = numbered
        return _one_row_per_annotator(rows, who, answers)
    cells = {name: _as_objects(parsed) for name in frame.columns if (parsed := _parsed(frame[name])) is not None}
    for name, values in cells.items():
        if any(_is_span(one) for each in values if isinstance(each, list) for one in each):
            raise DataError(
                f"{source}: '{name}' contains spans of text (start, end, label), not one label per item; export one "
                "row per item and annotator"
            )
    named = _name_people(n for n in frame.columns if n not in cells)
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
    records, outputs = _one_record_per_output(records)
    records = _without_sections(_without_wrappers(_by_criterion_in_lists(records)))
    unfolded = _unfold_records(records, source, stated or {})
    found, notes = unfolded.records, unfolded.notes
    tallies = tallies_in(cells)
    if tallies and not notes:
        raise DataError(f"{source}, {words.counts(tallies, 0)}")
    if notes:
        notes += [f"{listing([repr(n) for n in tallies])}: counts of labels, not read as labels"] if tallies else []
        left = [n for n in cells if n not in tallies and any(n in one for one in found) and _like_answers(n, cells[n])]
        notes += [words.unread_answers(left)] if left else []
        notes = [*outputs, *notes]
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
    if unfolded.unnamed:
        table, note = _with_places(table, unfolded, stated or {}, source, counted=bool(tallies))
        notes.append(note)
    if table.height == frame.height and "_row" in rows.labels.columns:
        table = table.with_columns(rows.labels["_row"])
    reading = replace(rows.reading.add_notes(*notes), rows=rows.reading.rows + max(table.height - frame.height, 0))
    untyped = rows.untyped or bool(joined) or unfolded.untyped
    return replace(rows, labels=table, untyped=untyped, reading=reading, keys=unfolded.keys)


_NUMBER = re.compile(r"[ _.-]?(\d+)(?=\D|$)")


def _numbered(frame: pl.DataFrame) -> tuple[list[str], dict[str, list[str]]] | None:
    """Columns that name annotators next to those of their labels, in order of their numbers; None if there are none.

    ``rater1_id, rater1_score, rater2_id, rater2_score`` or ``worker_1, answer_1, worker_2, answer_2``.
    """
    stems: dict[str, dict[str, str]] = {}
    for name in frame.columns:
        found = _NUMBER.findall(name)
        if len(found) == 1:
            stems.setdefault(plain_name(_NUMBER.sub(" ", name)), {})[found[0]] = name
    stems = {stem: columns for stem, columns in stems.items() if len(columns) > 1}
    named = [one for one in stems if called_person_ids(one)] or [one for one in stems if called_people(one) == 2]
    if len(named) != 1:
        return None
    who = stems[named[0]]
    people = set(re.sub(r" (id|name|code|nr|no|number|email)$", "", named[0]).split())
    answers = {
        " ".join(part for part in stem.split() if part not in people) or stem: [columns[k] for k in who]
        for stem, columns in stems.items()
        if stem != named[0] and set(columns) == set(who)
    }
    usual = any(called(one, "label") for one in answers)
    if not answers or not (usual or called_person_ids(named[0])):
        return None
    ids = frame.select(pl.col(list(who.values())).cast(pl.String))
    apart = ids.filter(pl.all_horizontal(pl.all().is_not_null())).rows()
    again = ids.unpivot()["value"].drop_nulls()
    several = len(apart) >= LEAST_ROWS and all(len(set(row)) == len(row) for row in apart)
    return (list(who.values()), answers) if several and again.n_unique() > len(who) else None


LEAST_ROWS = 4
"""Rows from which columns with different cells in each row name annotators."""


def _one_row_per_annotator(rows: Rows, who: Sequence[str], answers: Mapping[str, Sequence[str]]) -> Rows:
    used = {*who, *(name for columns in answers.values() for name in columns)}
    rest = rows.labels.drop("_row", strict=False).drop(used)
    single = len(answers) == 1
    parts = [
        rest.with_columns(
            rows.labels[one].cast(pl.String).alias(NAMES),
            *(rows.labels[columns[k]].alias("label" if single else name) for name, columns in answers.items()),
        )
        for k, one in enumerate(who)
    ]
    table = pl.concat(parts, how="vertical_relaxed").filter(pl.col(NAMES).is_not_null())
    names = [name for columns in answers.values() for name in columns]
    note = f"one row per answer in {listing(names, 4)}: {listing(list(who), 4)} name the annotators"
    reading = replace(rows.reading.add_notes(note), rows=rows.reading.rows + max(table.height - rest.height, 0))
    return replace(rows, labels=table, reading=reading)


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
            found = [None if text is None else _literal(text) for text in column]
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    else:
        return None
    there = [one for one in found if one is not None]
    return found if there and all(isinstance(one, list | dict) for one in there) else None


def _name_people(names: Iterable[str]) -> bool:
    """Whether a column or key is called as those of annotators are."""
    return any(called_people(plain_name(name)) == 2 for name in names)


def _as_objects(values: list[Any]) -> list[Any]:
    """Lists of objects, one per answer, that are written as an object of lists: ``{"rater": [...], "label": [...]}``.

    Hugging Face's ``datasets`` writes lists of objects so. Other values are returned unchanged.
    """
    there = [one for one in values if one]
    if not there or not all(isinstance(one, dict) and len(one) > 1 for one in there):
        return values
    lists = [[*one.values()] for one in there]
    even = all(isinstance(each, list) and len(each) == len(one[0]) for one in lists for each in one)
    if not even or not all(any(map(_names_answers, one.items())) for one in there):
        return values
    return [
        one and [dict(zip(one, answer, strict=True)) for answer in zip(*one.values(), strict=True)] for one in values
    ]


def _names_answers(column: tuple[str, Sequence[Any]]) -> bool:
    """Whether the list under a key names who gave each answer: annotators, or models."""
    key, cells = plain_name(column[0]), [*map(str, column[1])]
    return called_people(key) == 2 or (called(key, "system") and len(model_names(cells)) == len(cells))


_TOKEN = r"""'[^']*'|"[^"]*"|[-+\w.]+"""
_PRINTED = re.compile(rf"\[\s*(?:(?:{_TOKEN})\s*)*\]")
"""An array as NumPy prints it, without commas: ``['a' 'b']``, ``[1 0 1]``."""


def _literal(text: str) -> Any:
    """A list or object as JSON, Python or NumPy writes it.

    Raises
    ------
    ValueError, SyntaxError
        For other texts.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if not _PRINTED.fullmatch(text.strip()):
            return ast.literal_eval(text.strip())
    return [_scalar(one) for one in re.findall(_TOKEN, text)]


def _scalar(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _joined(frame: pl.DataFrame) -> list[str]:
    """Columns of text with one comma-separated list in each cell: annotators, and answers of the same number."""
    texts = [n for n, dtype in frame.schema.items() if dtype == pl.String]
    texts = [n for n in texts if not frame[n].str.contains(r"^\s*[\[{]").any()]
    half = frame.height / 2
    people = [n for n in texts if called_people(_single(n)) == 2 and frame[n].str.contains(",").sum() > half]
    if len(people) != 1:
        return []
    counts = frame[people[0]].str.count_matches(",")
    return [n for n in texts if (frame[n].str.count_matches(",") == counts).fill_null(value=True).all()]


def _unfold_records(records: list[Record], source: str, stated: Mapping[str, Any]) -> Unfolded:
    """One record per answer, by the first way that fits all records."""
    people = {*(stated.get("humans") or ()), *(stated.get("judges") or ())}
    people = set() if {"columns", "split_columns"} & stated.keys() else people
    cells = _cells_of(records)
    by_two, by_key, by_name = (partial(way, people=people) for way in (_by_name_and_criterion, _by_key, _by_name))
    for way in (_objects, _by_criterion, by_two, _side_by_side, _criteria_by_place, by_key, by_name, _without_comments):
        found = way(records, cells, source)
        if found is not None and found.who is not None and "annotator" not in stated:
            named = [{(NAMES if k == found.who else k): v for k, v in one.items()} for one in found.records]
            return found._replace(records=named, notes=[*found.notes, words.names_annotators(found.who)])
        if found is not None:
            return found
    return Unfolded(records, [])


def _cells_of(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The values under each key of the records that have one."""
    names = list(dict.fromkeys(key for one in records for key in one))
    return {name: [one[name] for one in records if one.get(name) is not None] for name in names}


def _of_kind(cells: Mapping[str, Sequence[Any]], kind: type) -> list[str]:
    return [name for name, values in cells.items() if values and all(isinstance(v, kind) for v in values)]


def _objects(records: list[Record], cells: Mapping[str, Sequence[Any]], source: str) -> Unfolded | None:
    """Lists of objects, one per answer: ``[{"coherence": 4, "fluency": 5}, ...]``."""
    lists = [n for n in _of_kind(cells, list) if any(cells[n]) and
             all(isinstance(one, dict) and one for each in cells[n] for one in each)]  # fmt: skip
    records = [{k: [*map(_flat, v)] if k in lists and v else v for k, v in record.items()} for record in records]
    objects = {n: [one for record in records for one in record.get(n) or ()] for n in lists}
    # Sums and counts are a metric's, and its name is no annotator.
    measured = [n for n in lists if all(sum(called(_last(k), "computed") for k in one) > 1 for one in objects[n])]
    lists = [n for n in lists if n not in measured]
    lists = [n for n in lists if all(any(_answers(k, v) for k, v in one.items()) for one in objects[n])]
    if not lists:
        return None
    found, unnamed = [], False
    for record in records:
        rest = {k: v for k, v in record.items() if k not in lists}
        for name in lists:
            of_models = _called_machines(name) and not _name_people(rest)
            for place, answer in enumerate(record.get(name) or (), 1):
                who = next((k for k in answer if called_people(_last(k))), None)
                who = who or (_key_of_model(answer) if of_models else None)
                unnamed |= who is None
                named = answer[who] if who else (f"{name} {place}" if len(lists) > 1 else str(place))
                own = {(k if k not in rest else f"{name} {k}"): v for k, v in answer.items() if k != who}
                found.append({**rest, NAMES: str(named), **own})
    for name in lists if unnamed else ():
        _refuse_uneven(name, [len(each) for each in cells[name]], source)
    notes = [f"one row per answer in {listing(lists)}"]
    return Unfolded(found, notes, lists if unnamed else ())


def _key_of_model(answer: Mapping[str, Any]) -> str | None:
    """The key of the model that gave an answer: ``{"model": "gpt-4o", "label": 4}``; None without one."""
    return next((k for k, v in answer.items()
                 if called(_last(k), "system") and isinstance(v, str) and model_names([v])), None)  # fmt: skip


def _called_machines(name: str) -> bool:
    """Whether a list is called as the answers of models are: ``llm_annotations``, ``judge_scores``."""
    first = plain_name(name).split()[0] if plain_name(name) else ""
    return _holds_answers(name) and (first in MACHINE_KINDS or bool(model_names([first])))


def _flat(answer: Mapping[str, Any]) -> Record:
    """An object without objects inside, also in JSON text: ``{"data": {"label": 4}}`` becomes ``{"data.label": 4}``."""
    found: Record = {}
    for key, value in answer.items():
        if isinstance(value, str) and value.startswith("{"):
            with contextlib.suppress(ValueError):
                value = json.loads(value)
        inner = _flat(value) if isinstance(value, dict) else {}
        found |= {f"{key}.{name}": one for name, one in inner.items()} if inner else {key: value}
    return found


def _last(key: str) -> str:
    """The plain name of the last part of a key: that of the annotator in ``created.user``."""
    return plain_name(key.rpartition(".")[2] or key)


def _answers(key: str, value: Any) -> bool:
    """Whether a key and its value are a label: a number, or a short text under a usual name."""
    return _is_scalar(value) and (not isinstance(value, str) or called(_last(key), "label"))


def _by_criterion(records: list[Record], cells: Mapping[str, Sequence[Any]], source: str) -> Unfolded | None:
    """Objects of criteria, each with a list of answers: ``{"fluency": {"individual_human_scores": [4, 5]}}``."""
    for name in _of_kind(cells, dict):
        inner = [one for each in cells[name] for one in each.values()]
        dicts = bool(inner) and all(isinstance(one, dict) for one in inner)
        lists = {k: [one.get(k) for one in inner] for k in SCORES if dicts}
        key = next((k for k, found in lists.items() if all(map(_is_list_of_answers, found))), None)
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
        return Unfolded(found, [f"one row per answer in {name}"], (name,))
    return None


def _is_list_of_answers(value: Any) -> bool:
    return isinstance(value, list) and all(_is_scalar(one) or one is None for one in value)


def _side_by_side(records: list[Record], cells: Mapping[str, Sequence[Any]], source: str) -> Unfolded | None:
    """Lists of one length: the annotators, and their labels."""
    lists = [n for n in _of_kind(cells, list) if all(_is_scalar(v) or v is None for each in cells[n] for v in each)]
    people = [n for n in lists if called_people(_single(n)) == 2]
    answers = [n for n in lists if n not in people and any(len(each) > 1 for each in cells[n])]
    labels = [n for n in answers if _holds_answers(n)]
    if not answers:
        return None
    if not people and (len(labels) != 1 or _name_people(cells)):
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
    return Unfolded(found, notes, () if who is not None else used)


MOST_PLACES = 20
"""Most annotators without names whose labels are lists next to each other; longer lists are tokens or features."""


def _criteria_by_place(records: list[Record], cells: Mapping[str, Sequence[Any]], source: str) -> Unfolded | None:
    """Lists of labels of one length without annotators, one for each criterion: ``"Style": [2, 3], "Overall": [4, 5]``.

    Raises
    ------
    DataError
        If no name says that they are labels, so that the places might be turns or sentences.
    """
    if _name_people(cells):
        return None
    lists = [n for n in _of_kind(cells, list) if len(cells[n]) == len(records) and are_labels(cells[n])]
    lengths = {len(each) for n in lists for each in cells[n]}
    if len(lists) < 2 or len(lengths) != 1 or not 1 < min(lengths) <= MOST_PLACES:
        return None
    if not any(called(plain_name(n), "questions") or _holds_answers(n) for n in lists):
        raise DataError(
            f"{source}: {listing([repr(n) for n in lists], 4)} contain lists of {min(lengths)} labels without names of "
            "annotators: their places can be annotators or parts of the item; add a list of annotators of this length"
        )
    found = [
        {**{k: v for k, v in record.items() if k not in lists}, NAMES: str(place + 1), **{
            n: record[n][place] for n in lists}}
        for record in records for place in range(min(lengths))
    ]  # fmt: skip
    return Unfolded(found, [f"one row per answer in {listing(lists)}"], lists, lists)


def _one_record_per_output(records: list[Record]) -> tuple[list[Record], list[str]]:
    """One record for each output, if each record has one list of outputs with a list of labels for each criterion."""
    names = list(dict.fromkeys(key for one in records for key in one))
    nested = [n for n in names if any(isinstance(one.get(n), list) and any(map(_has_lists, one[n])) for one in records)]
    if len(nested) != 1 or not all(all(map(_has_lists, one.get(nested[0]) or ())) for one in records):
        return records, []
    name = nested[0]
    made = [
        _without(record, name) | {(k if k not in record or k == name else f"{name} {k}"): v for k, v in one.items()}
        for record in records
        for one in record.get(name) or ()
    ]
    return made, [f"each object in {name} is an output with its own labels"]


def _has_lists(value: Any) -> bool:
    """Whether an object contains several lists of labels."""
    lists = [one for one in value.values() if isinstance(one, list)] if isinstance(value, dict) else []
    return len(lists) > 1 and all(len(one) > 1 and all(isinstance(v, bool | int | float) for v in one) for one in lists)


def _like_answers(name: str, values: Sequence[Any]) -> bool:
    """Whether all cells are objects that have a number, as answers have, or any values under the name of a judge."""
    if model_names([plain_name(name)]) and values and all(isinstance(one, dict) for one in values if one):
        return True
    there = [one for one in values if one]
    cells = [[*one.values()] if isinstance(one, dict) else [] for one in there]
    return bool(there) and all(
        any(isinstance(v, int | float) for cell in each for v in (cell if isinstance(cell, list) else [cell]))
        for each in cells
    )


MOST_PARSED = 200
"""Rows next to votes whose objects are inspected."""


def objects_like_answers(frame: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """The columns whose cells are objects with numbers, as answers have, or objects under the name of a judge."""
    some = frame.head(MOST_PARSED)
    cells = {name: parsed for name in names if (parsed := _parsed(some[name])) is not None}
    return [n for n, values in cells.items() if _like_answers(n, [one for one in values if isinstance(one, dict)])]


def _holds_answers(name: str) -> bool:
    """Whether a list is called as labels are: ``scores``, ``human_scores``."""
    parts = _single(name).split()
    return called(" ".join(parts), "label") or (len(parts) <= MOST_NAME and called(parts[-1], "label"))


def _by_name_and_criterion(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str, *, people: Collection[str] = ()
) -> Unfolded | None:
    """An object of annotators or systems and criteria, in either order: ``{"ann": {"fluency": 4, "tone": 3}}``.

    Raises
    ------
    DataError
        If the keys inside are called as labels or annotators are.
    """
    for name in _of_kind(cells, dict):
        inner = [one for each in cells[name] for one in each.values() if one is not None]
        if not inner or not all(isinstance(one, dict) and one for one in inner):
            continue
        names = list(dict.fromkeys(key for each in cells[name] for key in each))
        likely = _holds_answers(name) or _single(name) in EVALUATIONS or _name_annotators(names, cells[name])
        label = _answer_next_to_comments(inner, texts=True) if likely else None
        if label is not None:
            return _next_to_comments(records, cells, source, name, label, people)
        inside = _labels_in(inner)
        if not inside or (any(isinstance(v, dict | list) for one in inner for v in one.values()) and len(inside) < 2):
            continue
        sides = names, inside
        criteria = [sum(called(plain_name(key), "questions") for key in keys) / len(keys) for keys in sides]
        if criteria[0] == criteria[1]:
            criteria = [-float(_name_annotators(keys, []) or _could_be_rated(keys)) for keys in sides]
        answer = all(map(_tells_answer, inside))  # {"correctness": {"score": 4}}: a label has no annotator
        sure = criteria[0] != criteria[1]
        if answer or _name_people(inside):
            raise DataError(
                f"{source}: '{name}' contains an object of objects, and it is uncertain which keys are annotators, "
                f"which criteria ({listing(sorted(names), 3)}; {listing(sorted(inside), 3)}); export one row per label"
            )
        swapped = criteria[0] > criteria[1]
        pairs = [[(a, b, _label(one[b])) for a, one in (record.get(name) or {}).items() if one
                  for b in inside if one.get(b) is not None] for record in records]  # fmt: skip
        flat = [(_without(record, name), [((b, a) if swapped else (a, b), v) for a, b, v in own])
                for record, own in zip(records, pairs, strict=True)]  # fmt: skip
        return _by_two_keys(flat, cells, name, _not_labels(name, inner, inside), people, sure=sure)
    return None


def _by_two_keys(
    flat: Sequence[tuple[Record, Sequence[tuple[tuple[str, str], Any]]]], cells: Mapping[str, Sequence[Any]], name: str,
    notes: Sequence[str], people: Collection[str], *, sure: bool,
) -> Unfolded:  # fmt: skip
    """Records with their labels by annotator, or system, and criterion; if it is not ``sure`` which, it is asked."""
    who = list(dict.fromkeys(pair[0] for _, own in flat for pair, _ in own))
    answered = any(_names_who(n, values) for n, values in cells.items() if n != name)
    named = bool({*who} & {*people}) or (_name_annotators(who, []) and len(model_names(who)) < len(who))
    if answered or named:
        first = "system" if answered else NAMES
        found = [{**record, first: a, "criterion": b, "label": v} for record, own in flat for (a, b), v in own]
        kind = "systems" if answered else "annotators"
        note = f"one row per answer in {name}: its keys are the {kind} and the criteria"
        return Unfolded(found, [note, *notes], untyped=_as_texts(found))
    made = [{**record, **{f"{a}{CROSS}{b}": v for (a, b), v in own}} for record, own in flat]
    columns = list(dict.fromkeys(f"{a}{CROSS}{b}" for _, own in flat for (a, b), _ in own))
    return Unfolded(
        made, [f"one column per label in {name}", *notes], keys=KeyColumns((name,), tuple(columns), tuple(who))
    )


def _next_to_comments(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str, name: str, label: str,
    people: Collection[str],
) -> Unfolded | None:  # fmt: skip
    """Objects of one label next to comments, by criterion or annotator: ``{"tone": {"score": 4, "reason": "..."}}``."""
    outer = list(dict.fromkeys(key for each in cells[name] for key in each))
    person = any(_names_who(n, values) for n, values in cells.items() if n != name)
    named = _name_annotators(outer, cells[name]) or bool({*outer} & {*people})
    # Models in an object that is not called as answers of models are could be what is rated.
    rated = named and not {*outer} & {*people} and len(model_names(outer)) == len(outer)
    rated = rated and not (_called_machines(name) or JURY & {*plain_name(name).split()})
    if person != named and not rated:
        role, kind = (NAMES, "annotators") if named else ("criterion", "criteria")
        found = [
            {**_without(record, name), role: key, **_without(one, label), "label": one[label]}
            for record in records
            for key, one in (record.get(name) or {}).items()
            if one
        ]
        return Unfolded(found, [f"one row per answer in {name}: its keys are the {kind}"])
    labels = [{key: one[label] for key, one in (record.get(name) or {}).items() if one} for record in records]
    bare = [{**record, **({name: own} if own else {})} for record, own in zip(records, labels, strict=True)]
    return _by_key(bare, _cells_of(bare), source, people=people)


JURY = {"panel", "jury", "juror", "jurors", "judge", "judges", "llm", "llms"}
"""Words in the name of an object of judges."""


def _answer_next_to_comments(objects: Sequence[Any], *, texts: bool = False) -> str | None:
    """The key of the one label in each object, next to comments: ``{"value": "C", "explanation": "..."}``.

    With ``texts``, texts under any name next to a number are comments, too.
    """
    if not objects or not all(isinstance(one, dict) for one in objects):
        return None
    keys = {key for one in objects for key in one}
    labels = [key for key in keys if not any(called(plain_name(key), role) for role in ("comment", "technical"))]
    usual = [key for key in labels if key == "value" or called(plain_name(key), "label")]
    others = {key: [one.get(key) for one in objects] for key in labels if key not in usual}
    further = [
        k for k, own in others.items() if all(v is None or (isinstance(v, str) and _number(v) is None) for v in own)
    ]
    numbers = len(usual) == 1 and any(_number(one.get(usual[0])) is not None for one in objects)
    single = len(usual) == 1 and (len(labels) == 1 or (texts and numbers and len(further) + 1 == len(labels)))
    return usual[0] if single and all(_is_scalar(one.get(usual[0])) for one in objects) else None


CROSS = " / "
"""The text between an annotator, or a system, and a criterion in the name of a column."""

NO_LABELS = ("computed", "comment", "technical", "time stamp")
"""Roles of `roles.toml` whose keys in an object are no labels."""

EVALUATIONS = (
    "evaluation", "eval", "assessment", "criteria", "criterion", "dimension", "rubric", "aspect", "feedback", "grading",
    "scoring", "check", "checklist", "flag",
)  # fmt: skip
"""Names, in the singular, of an object of labels by criterion, next to no other label."""

WEAK = ("output", "result", "response", "answer", "code", "class", "given")
"""Names, in the singular, of an object that describes an answer if another key has its label."""

ABOUT_JUDGE = {"family", "provider", "vendor", "persona", "alias", "slug", "engine"}
"""Words after ``judge`` in the name of a column that names the judge."""

MOST_ID = 100
"""Characters up to which a text names an annotator."""

SHORT_CRITERIA = {
    "acc", "rel", "flu", "coh", "con", "inf", "cor", "com", "cla", "gra", "hel", "saf", "fac", "nat", "ade", "ton",
    "sty", "rea", "use", "eng", "cre", "int", "det", "dep", "log", "sim", "val", "nov",
}  # fmt: skip
"""Abbreviations of criteria, which are no initials."""


def _number(value: Any) -> Any:
    """A number or truth value, also in a text: ``"1"``; None for other values."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+(\.\d+)?\s*", value):
        return float(value) if "." in value else int(value)
    return None


def _label(value: Any) -> Any:
    number = _number(value)
    return value if number is None else number


def _labels_in(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys of the labels of objects: numbers and truth values or, if there are none, short texts."""
    found: dict[str, list[Any]] = {}
    for one in objects:
        for key, value in one.items():
            found.setdefault(key, []).extend([] if value is None else [value])
    there = [k for k, values in found.items() if values and all(map(_is_scalar, values))
             and not any(called(_last(k), role) for role in NO_LABELS)]  # fmt: skip
    numbers = [k for k in there if any(_number(v) is not None for v in found[k])]
    return numbers or (there if len(there) == len(found) else [])


def _not_labels(name: str, objects: Iterable[Mapping[str, Any]], labels: Collection[str]) -> list[str]:
    """The note on the other keys of objects of labels."""
    left = list(dict.fromkeys(k for one in objects for k, v in one.items() if k not in labels and v is not None))
    return [words.keys_without_labels(left, name)] if left else []


def _names_who(name: str, values: Sequence[Any]) -> bool:
    """Whether a column names who answered: ``annotator``, ``rater_id``, ``judge_model``, ``judge_family``."""
    plain = plain_name(name)
    judge = called(plain, "judge") or (plain.split()[:1] == ["judge"] and {*plain.split()[1:]} <= ABOUT_JUDGE)
    names = all(type(v) in (str, int) and len(str(v)) <= MOST_ID for v in values)
    again = called_people(plain) == 1 and plain != "name" and names and len({*values}) < len(values)
    return bool(values) and names and (called_people(plain) == 2 or judge or again)


def _name_annotators(keys: Sequence[str], objects: Sequence[Mapping[str, Any]]) -> bool:
    """Whether keys are annotators by their names: people, models, first names, initials, or ids of a crowd."""
    plain = {key: plain_name(key) for key in keys}
    if not keys or any(called(one, "questions") or one in SHORT_CRITERIA for one in plain.values()):
        return False
    people = [k for k in keys if is_human(k)]
    machines = [k for k in keys if k in model_names(keys, keys) or plain[k] in MACHINE_KINDS or "@" in k]
    # A key such as human_likeness is called as a person, but only next to others.
    if {*people, *machines} < {*keys}:
        people = [k for k in people if re.sub(r" ?(\d+|\b[a-z])$", "", plain[k]) in PEOPLE_KINDS
                  or called_people(re.sub(r" ?\d+$", "", plain[k])) == 2]  # fmt: skip
    numbered = [k for k in keys if re.fullmatch(r"(?i)[ahrw]\d+", k)]
    names = [k for k in keys if called(plain[k], "first names")]
    sure = {*people, *machines, *names, *(numbered if len(numbered) == len(keys) else ())}
    # Single letters are the sides of a pair, or options, as often as people.
    letters = max(map(len, keys)) == 1
    initials = {k for k in keys if len(k) <= MOST_INITIALS and k.isalpha() and not letters}
    return 2 * len(sure) >= len(keys) or sure | initials == {*keys} or _are_crowd(keys, objects)


def _are_crowd(keys: Sequence[str], objects: Sequence[Mapping[str, Any]]) -> bool:
    """Whether keys are numbered ids, some of which are in each object: a few of many annotators, not its criteria."""
    sets = {frozenset(k for k, v in one.items() if v is not None) for one in objects}
    several = len(keys) >= 1.5 * max(map(len, sets), default=len(keys))
    return several and all(any(c.isdigit() for c in key) for key in keys) and any(
        one & other and one != other for one in sets for other in sets)  # fmt: skip


def _could_be_rated(keys: Sequence[str]) -> bool:
    """Whether keys are called as models or systems are, whose outputs can be rated."""
    return all(called(plain_name(k), "rated") or SYSTEM_NAME.fullmatch(k) or model_names([k]) for k in keys)


def _are_shares(objects: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> bool:
    """Whether objects have a share for each category, or its probability."""
    numbers = [[one[k] for k in keys if isinstance(one.get(k), int | float)] for one in objects]
    whole = all(v in (0, 1) for each in numbers for v in each)
    return not whole and all(
        len(each) > 1 and min(each) >= 0 and min(abs(sum(each) - total) for total in (1, 100)) < 0.01 * len(each)
        for each in numbers)  # fmt: skip


def _objects_of_labels(cells: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """The columns of objects with labels, and the keys of these."""
    found = {n: keys for n in _of_kind(cells, dict) if (keys := _labels_in(cells[n]))
             and not _are_shares(cells[n], keys)}  # fmt: skip
    single = any(called(_single(n), "label") and all(map(_is_scalar, values)) for n, values in cells.items() if values)
    usual = {n: keys for n, keys in found.items()
             if (_single(n) in LABELS or _holds_answers(n) or _holds_answers(_SIDE.sub("", plain_name(n))))
             and not (single and _single(n) in WEAK)}  # fmt: skip
    if usual or single:
        return usual
    return {n: keys for n, keys in found.items()
            if len(keys) > 1 and (_single(n) in EVALUATIONS or plain_name(n).split()[-1:] in [[e] for e in EVALUATIONS]
                                  or is_human(n) or model_names([plain_name(n)]))}  # fmt: skip


def _by_key(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str, *, people: Collection[str] = ()
) -> Unfolded | None:
    """Objects of labels whose keys are criteria, or could be: ``{"scores": {"clarity": 4, "tone": 5}}``.

    Keys that are annotators by their names are left to `_by_name`.
    """
    found = _objects_of_labels(cells)
    keys = list(dict.fromkeys(key for own in found.values() for key in own))
    if not found or ("label" in cells and "label" not in found):
        return None
    who = [n for n, values in cells.items() if _names_who(n, values)]
    every = {key for n in found for one in cells[n] for key in one}
    if len(found) > 1 and len(keys) < sum(map(len, found.values())):
        compared = _are_sides(list(found)) and any(WINNER & {*plain_name(n).split()} for n in cells)
        return None if who or compared else _by_object_and_key(records, cells, found)
    crossed = crossed_names(keys) or criteria_of_one(keys)
    crossed = crossed if any(called(part, "questions") for k in keys for part in plain_name(k).split()) else None
    of_name = [one for n in found for one in cells[n]]
    if crossed is None and (every & {*people} or _name_annotators(keys, of_name)):
        models = len(model_names(keys)) == len(keys) and not every & {*people}
        if who:
            return _answered_by(records, cells, found, "system") if models else None
        if not models or len(found) > 1 or any(map(_called_machines, found)):
            return None
    if who:
        items = len(who) == 1 and _are_items(cells, who[0], keys)
        return _answered_by(
            records, cells, found, "item" if items else "system" if _could_be_rated(keys) else "criterion"
        )
    if not any(called(plain_name(k), "questions") for k in keys):
        _refuse_counts(cells, found, source)
    taken = {k for record in records for k in record}
    made, columns = [], {(n, k): f"{n} {k}" if k in taken - {*found} else k for n, own in found.items() for k in own}
    for record in records:
        own = {
            name: _label(record[n][k]) for (n, k), name in columns.items() if (record.get(n) or {}).get(k) is not None
        }
        made.append({k: v for k, v in record.items() if k not in found} | own)
    notes = [f"one column per key of {listing(list(found))}"]
    notes += [note for n, own in found.items() for note in _not_labels(n, cells[n], own)]
    unclear = crossed is None and len(columns) > 1 and not any(map(_tells_answer, keys))
    names, systems = tuple(columns.values()), _could_be_rated(keys)
    asked = KeyColumns(tuple(found), names, names if systems else ()) if unclear else None
    return Unfolded(made, notes, keys=asked)


WINNER = {"winner", "winning", "preference", "preferred", "prefer", "better", "best", "choice", "vote", "verdict"}
"""Words in the name of a key that says which of two sides won."""


_SIDE = re.compile(r"^(first|second|left|right|a|b) | (first|second|left|right|a|b|1|2)$")


def _are_sides(names: Sequence[str]) -> bool:
    """Whether objects are those of the two sides of a comparison: ``scores_a``, ``scores_b``."""
    return len(names) == 2 and len({_SIDE.sub("", plain_name(n)) for n in names}) == 1


def _by_object_and_key(
    records: list[Record], cells: Mapping[str, Sequence[Any]], found: Mapping[str, Sequence[str]]
) -> Unfolded:
    """One column for each of several objects and its criteria: ``human_scores / tone``, ``judge_scores / tone``."""
    made = [
        {k: v for k, v in record.items() if k not in found}
        | {f"{n}{CROSS}{k}": _label(v) for n, own in found.items() for k, v in (record.get(n) or {}).items()
           if k in own and v is not None}
        for record in records
    ]  # fmt: skip
    notes = [f"one column per key of {listing(list(found))}"]
    notes += [note for n, own in found.items() for note in _not_labels(n, cells[n], own)]
    columns = tuple(f"{n}{CROSS}{k}" for n, own in found.items() for k in own)
    named = len({*(n for n in found if is_human(n)), *model_names([*found])}) == len(found)
    return Unfolded(made, notes, keys=None if named else KeyColumns((), columns, tuple(found)))


def _answered_by(
    records: list[Record], cells: Mapping[str, Sequence[Any]], found: Mapping[str, Sequence[str]], role: str
) -> Unfolded | None:
    """One row per label of objects next to a column that names who answered; ``role`` is that of their keys."""
    if any(role in record for record in records):
        return None
    made = [
        {**{k: v for k, v in record.items() if k not in found}, role: key, "label": _label(value)}
        for record in records for n, own in found.items()
        for key, value in (record.get(n) or {}).items() if key in own and value is not None
    ]  # fmt: skip
    what = {"criterion": "criteria", "system": "systems", "item": "items"}[role]
    notes = [
        f"one row per answer in {listing(list(found))}: {'its' if len(found) == 1 else 'their'} keys are the {what}"
    ]
    notes += [note for n, own in found.items() for note in _not_labels(n, cells[n], own)]
    return Unfolded(made, notes, untyped=_as_texts(made), who=_called_otherwise(cells))


def _called_criterion(key: str) -> bool:
    """Whether a key is called as a criterion is; a numbered question can be an item, too."""
    return called(plain_name(key), "questions") and not re.search(r"\d", key)


def _are_items(cells: Mapping[str, Sequence[Any]], who: str, keys: Sequence[str]) -> bool:
    """Whether keys are the items of annotators with one record each: ``{"rater": "ann", "labels": {"e1": 1, ...}}``."""
    values, others = cells[who], [n for n in cells if n != who]
    once = len({*map(str, values)}) == len(values) < len(keys)
    return once and not any(called(plain_name(n), "item") for n in others) and not any(
        _called_criterion(k) for k in keys)  # fmt: skip


def _called_otherwise(cells: Mapping[str, Sequence[Any]]) -> str | None:
    """The one column that names who answered, if other names hide it: a judge's family, or one next to rated models."""
    about = [n for n in cells if _names_who(n, cells[n])]
    models = any(called(plain_name(n), "system") and len({*map(str, cells[n])}) > 1 for n in cells if n not in about)
    family = len(about) == 1 and {*plain_name(about[0]).split()[1:]} & ABOUT_JUDGE
    return about[0] if len(about) == 1 and (models or family) and NAMES not in cells else None


def _as_texts(records: Iterable[Record]) -> bool:
    """Write labels as texts if criteria have labels of several kinds; return whether they have."""
    records = list(records)
    kinds = {"text" if isinstance(v, str) else "flag" if isinstance(v, bool) else "number"
             for v in (one["label"] for one in records)}  # fmt: skip
    if len(kinds) > 1:
        for one in records:
            one["label"] = str(one["label"]).lower() if isinstance(one["label"], bool) else str(one["label"])
    return len(kinds) > 1


def _without_comments(records: list[Record], cells: Mapping[str, Sequence[Any]], _source: str) -> Unfolded | None:
    """Objects of one label next to comments as this label: ``"tone": {"score": 4, "reason": "..."}``."""
    forms = Counter(frozenset(cells[n][0]) for n in _of_kind(cells, dict))
    labels = {
        n: key for n in _of_kind(cells, dict)
        if (key := _answer_next_to_comments(cells[n], texts=forms[frozenset(cells[n][0])] > 1)) is not None
    }  # fmt: skip
    if not labels:
        return None
    made = [
        {k: v if k not in labels or v is None else _label(v[labels[k]]) for k, v in record.items()}
        for record in records
    ]
    return Unfolded(made, [words.labels_of_objects(labels)])


def _refuse_counts(cells: Mapping[str, Sequence[Any]], found: Mapping[str, Sequence[str]], source: str) -> None:
    """Refuse objects with the number of annotators who chose each category.

    Raises
    ------
    DataError
        With the names of the categories.
    """
    for name, keys in found.items():
        if all(type(one.get(key)) is int for one in cells[name] for key in keys):
            same = sorted(keys)
            if total := total_of_counts(np.array([[one[key] for key in same] for one in cells[name]], float)):
                raise DataError(f"{source}, '{name}': {words.counts(same, total)}")


def _by_criterion_in_lists(records: list[Record]) -> list[Record]:
    """Records with an object of labels by criterion for a list: ``[{"criterion": "tone", "score": 4}, ...]``."""
    for name, values in _cells_of(records).items():
        lists = [one for one in values if isinstance(one, list) and one]
        objects = [one for each in lists for one in each]
        if len(lists) < len([one for one in values if one]) or not all(isinstance(one, dict) for one in objects):
            continue
        keys = list(dict.fromkeys(key for one in objects for key in one))
        if any(called_people(plain_name(k)) == 2 or called(plain_name(k), "judge") for k in keys):
            continue
        kinds = [k for k in keys if called(plain_name(k), "criterion")] or [k for k in keys if k in ("name", "key")]
        rest = [_without(one, kinds[0]) for one in objects] if kinds else []
        label = _answer_next_to_comments(rest, texts=True)
        criteria = [[one.get(kinds[0]) for one in each] for each in lists] if kinds else []
        every = [c for own in criteria for c in own]
        if label is None or len(criteria) < 2 or not all(isinstance(c, str) for c in every):
            continue
        once = all(len({*own}) == len(own) for own in criteria)
        if not once or len({frozenset(own) for own in criteria}) == len(criteria):
            continue
        if not called(plain_name(kinds[0]), "criterion") and _name_annotators(every, []):
            continue
        new = name if _holds_answers(name) or "scores" in records[0] else "scores"
        made = [{one[kinds[0]]: one[label] for one in record.get(name) or ()} for record in records]
        records = [
            _without(record, name) | ({new: own} if own else {}) for record, own in zip(records, made, strict=True)
        ]
    return records


def _without_wrappers(records: list[Record]) -> list[Record]:
    """Records without an object around one object of labels: ``{"result": {"scores": {"tone": 4}, "cost": 0.1}}``.

    An object that says who answered, ``{"rater": {"name": "ann", "role": "expert"}}``, becomes the name.
    """
    for name, values in _cells_of(records).items():
        if not values or not all(isinstance(one, dict) for one in values):
            continue
        if (who := _key_of_name(name, values)) is not None:
            records = _promoted(records, name, who, name)
            continue
        inside = [v for one in values for v in one.values() if v is not None]
        if inside and all(isinstance(v, dict) and v for v in inside) and (key := _key_of_labels(inside)):
            records = [
                record if not record.get(name) else {
                    **record, name: {k: _hoisted(v, [key]) for k, v in record[name].items() if v}}
                for record in records
            ]  # fmt: skip
            continue
        key = _key_of_labels(values)
        named = _single(key) in LABELS or (bool(key) and _holds_answers(key))
        # Next to objects such as items, a number is a label, too (`_without_sections`).
        if key and (named or not _labels_in(values)):
            records = _promoted(records, name, key, key if named else name)
    return records


def _promoted(records: Sequence[Record], name: str, key: str, new: str) -> list[Record]:
    """Records with the keys of an object as their own; its main ``key`` has a new name."""
    taken = {k for record in records for k in record} - {name}
    new = f"{name}.{key}" if new in taken else new
    return [
        _without(record, name) | {(new if k == key else f"{name}.{k}"): v for k, v in (record.get(name) or {}).items()}
        for record in records
    ]


def _key_of_labels(objects: Sequence[Mapping[str, Any]]) -> str:
    """The key of the one object inside of objects, if it has labels by criterion; empty if there is none."""
    inner = {key for one in objects for key, v in one.items() if isinstance(v, dict)}
    key = next(iter(inner)) if len(inner) == 1 else ""
    usual = _single(key) in (*LABELS, *EVALUATIONS, "item") or (bool(key) and _holds_answers(key))
    found = [one[key] for one in objects if isinstance(one.get(key), dict)]
    return key if usual and _labels_in(found) and not is_human(key) and not model_names([key]) else ""


NAME_KEYS = ("name", "id", "model", "username", "user", "email")
"""Keys of the name of an annotator in an object that describes the annotator, in the order in which they count."""


def _key_of_name(name: str, objects: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of the name in objects that say who answered; None for other objects."""
    plain = plain_name(name)
    if not (called_people(plain) == 2 or called(plain, "judge")):
        return None
    if any(not isinstance(v, str) and k not in NAME_KEYS for one in objects for k, v in one.items() if v is not None):
        return None
    return next((k for k in NAME_KEYS if all(isinstance(one.get(k), str | int) for one in objects)), None)


def _without_sections(records: list[Record]) -> list[Record]:
    """Records whose criteria are not in sections: ``{"scores": {"content": {"depth": 4}, "style": {"tone": 3}}}``.

    Objects with the same keys are of annotators or systems, not of sections.
    """
    for name, values in _cells_of(records).items():
        usual = _single(name) in (*LABELS, *EVALUATIONS) or _holds_answers(name)
        if not usual or not values or not all(isinstance(one, dict) for one in values):
            continue
        inside: dict[str, list[Record]] = {}
        for key, value in ((k, v) for one in values for k, v in one.items() if isinstance(v, dict) and v):
            inside.setdefault(key, []).append(value)
        whole = {k: [one[k] for one in values if one.get(k)] for k in inside}
        keys = [list(dict.fromkeys(k for one in own for k in one)) for own in inside.values()]
        further = [k for k in _labels_in(values) if k not in inside]
        every = [*further, *(k for own in keys for k in own)]
        answers = any(_tells_answer(k) for own in keys for k in own)
        if len(keys) + bool(further) < 2 or len({*every}) < len(every) or answers:
            continue
        if not all(len(_labels_in(own)) == len(k) for own, k in zip(inside.values(), keys, strict=True)):
            continue
        if all(len(whole[k]) == len(own) for k, own in inside.items()):
            records = [one if not one.get(name) else {**one, name: _hoisted(one[name], inside)} for one in records]
    return records


def _hoisted(value: Record, sections: Collection[str]) -> Record:
    """An object with the keys of its sections."""
    inner = {k: v for section in sections for k, v in (value.get(section) or {}).items()}
    return {k: v for k, v in value.items() if k not in sections} | inner


def _by_name(
    records: list[Record], cells: Mapping[str, Sequence[Any]], source: str, *, people: Collection[str] = ()
) -> Unfolded | None:
    """An object of annotators and labels: ``{"Ann5": 1, "Ann3": 0}``."""
    if any(_names_who(n, values) for n, values in cells.items()):
        return None
    keys = {n: [{k for k, v in one.items() if v is not None} for one in cells[n]] for n in _of_kind(cells, dict)}
    objects = [n for n in keys if all(_is_scalar(v) or v is None for one in cells[n] for v in one.values())]
    # An output is an object with one key, such as its text; its answer and reason are no annotators either.
    every = {n: set().union(*keys[n]) for n in objects}
    objects = [n for n in objects if len(every[n]) > 1 and not any(_tells_answer(k) for k in every[n])]
    objects = [n for n in objects if every[n] & {*people} or _name_annotators(sorted(every[n]), cells[n])]
    objects = [n for n in objects if not _are_shares(cells[n], sorted(every[n]))]
    varied = [n for n in objects if len(set(map(frozenset, keys[n]))) > 1]
    usual = [n for n in objects if _single(n) in LABELS or called(_single(n), "label")]
    both = [n for n in objects if _holds_answers(n)]
    apart = len(both) > 1 and sum(len(every[n]) for n in both) == len(set().union(*(every[n] for n in both)))
    if apart and any(map(_called_machines, both)):
        note = f"one row per answer in {listing(both)}: their keys are the annotators"
        return Unfolded(_rows_by_name(records, both), [note])
    people_alone = [n for n in objects if all(map(is_human, every[n]))]
    named = [n for n in usual if n in varied] or usual or (varied if len(varied) == 1 else people_alone)
    if len(named) != 1:
        return None
    name = named[0]
    if name not in varied:
        _refuse_counts(cells, {name: sorted(every[name])}, source)
    return Unfolded(_rows_by_name(records, [name]), [f"one row per answer in {name}: its keys are the annotators"])


def _rows_by_name(records: list[Record], names: Sequence[str]) -> list[Record]:
    """One record per answer in objects of annotators and labels: one object, or one of people and one of models."""
    rest = [{k: v for k, v in record.items() if k not in names} for record in records]
    return [
        {**about, NAMES: str(who), "label": label}
        for record, about in zip(records, rest, strict=True)
        for name in names
        for who, label in (record.get(name) or {}).items()
        if label is not None
    ]


def _tells_answer(key: str) -> bool:
    """Whether a key is called as a label or a comment is, not as an annotator."""
    return called(plain_name(key), "label") or called(plain_name(key), "comment")


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


def _with_places(
    table: pl.DataFrame, found: Unfolded, stated: Mapping[str, Any], source: str, *, counted: bool
) -> tuple[pl.DataFrame, str]:
    """The table of answers in lists without names, whose places are annotators or repeats of one; and the note.

    Labels that are also ``counted``, in another column, are of several annotators.

    Raises
    ------
    UnclearTableError
        If neither the names of the lists nor the user say which.
    """
    names, place = list(found.unnamed), PLACE if PLACE not in table.columns else f"{PLACE} in list"
    known = {*table[NAMES].cast(pl.String)}
    people = {*(stated.get("humans") or ()), *(stated.get("judges") or ())}
    if stated.get("repeat") == place:
        who = names[0] if len(names) == 1 else NAMES
        made = table.rename({NAMES: place}).with_columns(pl.lit(who).alias(NAMES))
        return made, words.repeats_by_place(names, who)
    if stated.get("annotator") == place:
        return table.rename({NAMES: place}), words.annotators_by_place(names)
    if counted or all(map(_tells_people, names)) or people & known:
        return table, words.annotators_by_place(names)
    who, label = names[0] if len(names) == 1 else NAMES, {"label": [*found.labels]} if found.labels else {}
    choices = [
        (words.place_is(names, what, repeats=role == "repeat"), {**stated, role: place, **label, **judges})
        for role, own in (("annotator", natural(known)), ("repeat", [who]))
        for what, judges in (("annotator", {}), ("judge", {"judges": [*own]}))
    ]
    readings = choices if not people else choices[::2]
    raise unclear(source, [words.people_or_repeats(names, len(known))], readings)


def _tells_people(name: str) -> bool:
    """Whether a list is called as answers of several people are: ``human_scores``, ``annotations``."""
    usual = ("annot", "crowd", "review")
    return any(is_human(one) or one in PEOPLE_KINDS or one.startswith(usual) for one in plain_name(name).split())


def _cell(value: Any) -> Any:
    """A cell: a list with one value is that value; choices are joined; other lists and objects are text."""
    if isinstance(value, list | tuple):
        if all(_is_scalar(one) for one in value):
            return None if not value else value[0] if len(value) == 1 else "; ".join(sorted(map(str, value)))
        return str(value)
    return str(value) if isinstance(value, dict) else value
