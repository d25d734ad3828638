"""The cells of a table: the lists and objects that they contain, also as text, and the labels in these.

``{"ann": 4, "bo": 3}`` and ``[4, 3]`` as JSON or Python write them, ``['a' 'b']`` as NumPy prints it, an object of
lists ``{"rater": ["ann", "bo"], "label": [4, 3]}``, and a mark for each category ``{"good": 1, "bad": 0}``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from assay.data.formats import KeyColumns
from assay.data.formats.nested.key_names import has_role, name_people, single
from assay.data.names import model_names
from assay.data.structure.label_lists import BETWEEN, parts_of
from assay.data.structure.role_names import called_people, plain_name
from assay.errors import DataError, listing

Record = dict[str, Any]

NAMES = "annotator"
"""The column with the annotators of unfolded answers."""


@dataclass(frozen=True, eq=False)
class Nested:
    """The records of a table.

    ``people`` are the annotators and judges that the user has specified, and ``packed`` the columns of text whose cells
    have several annotators' labels.
    """

    records: list[Record]
    source: str = ""
    people: frozenset[str] = frozenset()
    packed: frozenset[str] = frozenset()

    @cached_property
    def cells(self) -> dict[str, list[Any]]:
        """The values under each key of the records that have one."""
        return cells_of(self.records)

    def of_kind(self, kind: type) -> list[str]:
        """The keys under which each value is a list, or an object."""
        return [name for name, values in self.cells.items() if values and all(isinstance(v, kind) for v in values)]

    def one_row_each(self, names: Sequence[str], answers: Callable[[Record], Iterable[Record]]) -> list[Record]:
        """Each record without some keys, once for each of its answers."""
        about = [without(record, *names) for record in self.records]
        return [{**own, **one} for own, record in zip(about, self.records, strict=True) for one in answers(record)]


class Unfolded(NamedTuple):
    """One record per answer, with the notes on them.

    ``unnamed`` are the lists in which answers have no annotators but only their place, ``labels`` those that are
    criteria, and ``lengths`` those of the shortest and the longest. ``keys`` are the columns that were keys of objects,
    one record for each of which is left, and ``who`` is a column to be called as those of annotators are.
    """

    records: list[Record]
    notes: list[str]
    unnamed: Sequence[str] = ()
    labels: Sequence[str] = ()
    lengths: tuple[int, int] = (0, 0)
    keys: KeyColumns | None = None
    untyped: bool = False
    who: str | None = None


def cells_of(objects: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values under each key of the objects that have one."""
    return {key: [one[key] for one in objects if one.get(key) is not None] for key in keys_of(objects)}


def keys_of(objects: Iterable[Iterable[str]]) -> list[str]:
    """The keys of objects, in order of their first occurrence."""
    return list(dict.fromkeys(key for one in objects for key in one))


def entries(record: Record, name: str) -> Iterable[tuple[str, Any]]:
    """The keys and values of an object in a record, which can be missing."""
    return (record.get(name) or {}).items()


def without(record: Record, *names: str) -> Record:
    """A record without some keys."""
    return {key: value for key, value in record.items() if key not in names}


_NESTED = r"^\s*[\[{]"
_TOKEN = r"""'[^']*'|"[^"]*"|[-+\w.]+"""
_PRINTED = re.compile(rf"\[\s*(?:(?:{_TOKEN})\s*)*\]")
"""An array as NumPy prints it, without commas: ``['a' 'b']``, ``[1 0 1]``."""


def parsed_columns(frame: pl.DataFrame, names: Iterable[str]) -> dict[str, list[Any]]:
    """The columns all of whose cells are lists or objects, also as text."""
    return {name: found for name in names if (found := _parsed(frame[name])) is not None}


def _parsed(column: pl.Series) -> list[Any] | None:
    if column.dtype.is_nested() or column.dtype == pl.Object:
        found = column.to_list()
    elif column.dtype == pl.String and bool(column.drop_nulls().str.contains(_NESTED).all()):
        try:
            found = [None if text is None else _literal(text) for text in column]
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    else:
        return None
    there = [one for one in found if one is not None]
    return found if there and all(isinstance(one, list | dict) for one in there) else None


def _literal(text: str) -> Any:
    """A list or object as JSON, Python or NumPy writes it; other texts raise ValueError or SyntaxError."""
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


def comma_lists(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """Columns of text with one comma-separated list in each cell: annotators, and answers of the same number."""
    texts = [n for n, dtype in frame.schema.items() if dtype == pl.String and not frame[n].str.contains(_NESTED).any()]
    half = frame.height / 2
    people = [n for n in texts if called_people(single(n)) == 2 and frame[n].str.contains(",").sum() > half]
    if len(people) != 1:
        return {}
    counts = frame[people[0]].str.count_matches(",")
    joined = [n for n in texts if (frame[n].str.count_matches(",") == counts).fill_null(value=True).all()]
    return {n: [None if text is None else text.split(",") for text in frame[n]] for n in joined}


LEAST_PACKED, MOST_LABELS = 10, 24
"""Cells, at least, and different labels, at most, of columns that contain several annotators' labels in one cell."""

LEAST_SEVERAL = 0.9
"""Share of different cells with several labels from which all cells are lists: a crowd's item can have one label."""

LEAST_DIFFERENT = 3
"""Different cells from which these are lists of labels."""


def packed_lists(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """Columns of text with several labels in one cell, ``joy|joy|fear`` or ``1 0 0 0``, some of them more than once.

    The choices of one annotator, ``joy; fear``, are different from each other in every cell, so they are left as they
    are.
    """
    texts = [n for n, dtype in frame.schema.items() if dtype == pl.String and not has_role(n, "comment")]
    return {n: found for n in texts if (found := _packed(frame[n])) is not None}


def _packed(column: pl.Series) -> list[Any] | None:
    there = column.drop_nulls()
    if len(there) < LEAST_PACKED or there.str.contains(_NESTED).any():
        return None
    for mark in (*BETWEEN, " "):
        # The first cells are enough to see that a column has texts.
        if _split_packed(there.head(MOST_PARSED), mark) and (made := _split_packed(there, mark)):
            return [None if text is None else made[text] for text in column]
    return None


def _split_packed(column: pl.Series, mark: str) -> dict[str, list[Any]]:
    """The labels in each cell, if what is between them is the mark; else nothing."""
    cells = column.unique(maintain_order=True)
    parts = [parts_of(text, mark) for text in cells]
    several = [one for one in parts if len(one) > 1]
    known = {token for one in parts for token in one}
    few = len(parts) < LEAST_DIFFERENT or len(several) < LEAST_SEVERAL * len(parts)
    if few or len(known) > MOST_LABELS or not all(map(is_scalar, known)):
        return {}
    # Two numbers are one with a decimal comma, and words with spaces a text.
    decimal = mark == "," and any(len(one) == 2 and all(map(_is_number, one)) for one in several)
    text = mark == " " and not all(map(_is_number, known))
    if decimal or text or "" in known or all(len({*one}) == len(one) for one in several):
        return {}
    return {cell: [label(token) for token in one] for cell, one in zip(cells, parts, strict=True)}


def objects_of_lists(values: list[Any]) -> list[Any]:
    """Lists of objects, one per answer, that are written as an object of lists: ``{"rater": [...], "label": [...]}``.

    Hugging Face's ``datasets`` writes lists of objects so. One list names annotators or models. Other values are
    returned unchanged.
    """
    there = [one for one in values if one]
    if not there or not all(isinstance(one, dict) and len(one) > 1 for one in there):
        return values
    lists = [[*one.values()] for one in there]
    if not all(isinstance(each, list) and len(each) == len(one[0]) for one in lists for each in one):
        return values
    named = [[name_people([key]) or (has_role(key, "system") and len(model_names(map(str, own))) == len(own))
              for key, own in one.items()] for one in there]  # fmt: skip
    if not all(map(any, named)):
        return values
    return [
        one and [dict(zip(one, answer, strict=True)) for answer in zip(*one.values(), strict=True)] for one in values
    ]


def refuse_spans(cells: Mapping[str, Sequence[Any]], source: str) -> None:
    """Refuse lists of spans of text: ``[[0, 3, "PER"], [7, 9, "LOC"]]``."""
    for name, values in cells.items():
        threes = [one for each in values if isinstance(each, list) for one in each
                  if isinstance(one, list) and [*map(type, one)] == [int, int, str]]  # fmt: skip
        if any(0 <= start <= end for start, end, _ in threes):
            raise DataError(
                f"{source}: '{name}' contains spans of text (start, end, label), not one label per item; export one "
                "row per item and annotator"
            )


CHOICES = ("cat", "label", "categorie", "category")
"""Names, in the singular, of an object with a mark for each category, as doccano and spaCy write ``cats``."""


def marked_categories(cells: Mapping[str, Sequence[Any]], others: Iterable[str], source: str) -> dict[str, list[Any]]:
    """The categories that each object of a column marks: ``{"good": 1, "bad": 0}`` is ``["good"]``.

    Next to ``others`` that name annotators, an object called ``label`` or ``category`` can have marks, too. A share for
    each category is refused if no other column has lists or objects.
    """
    usual = CHOICES if name_people(others) else CHOICES[:1]
    found = {name: _marks(cells, name, source) for name in cells if single(name) in usual}
    return {name: marks for name, marks in found.items() if marks is not None}


def _marks(cells: Mapping[str, Sequence[Any]], name: str, source: str) -> list[Any] | None:
    there = [one for one in cells[name] if one]
    if not there or not all(isinstance(one, dict) for one in there) or len({frozenset(one) for one in there}) > 1:
        return None
    # Annotators with labels 0 and 1 have the same form, but only categories exclude each other in every record.
    numbers = [list(one.values()) for one in there]
    if len(numbers[0]) < 2 or not all(isinstance(v, int | float) and 0 <= v <= 1 for each in numbers for v in each):
        return None
    if any(v not in (0, 1) for each in numbers for v in each):
        if len(cells) == 1 and all(abs(sum(each) - 1) < 1e-6 for each in numbers):
            raise DataError(
                f"{source}: '{name}' contains a share for each category ({listing(list(there[0]), 3)}), not a label; "
                "export the label that each annotator gave"
            )
        return None
    if single(name) != "cat" and any(sum(each) != 1 for each in numbers):
        return None
    return [None if one is None else [key for key, value in one.items() if value] for one in cells[name]]


MOST_PARSED = 200
"""Rows next to votes whose objects are inspected."""


def objects_like_answers(frame: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """The columns whose cells are objects with numbers, as answers have, or objects under the name of a judge."""
    cells = parsed_columns(frame.head(MOST_PARSED), names)
    return [n for n, values in cells.items() if like_answers(n, [one for one in values if isinstance(one, dict)])]


def like_answers(name: str, values: Sequence[Any]) -> bool:
    """Whether all cells are objects that have a number, as answers have, or any values under the name of a judge."""
    there = [one for one in values if one]
    if not all(isinstance(one, dict) for one in there):
        return False
    flat = [[v for cell in one.values() for v in (cell if isinstance(cell, list) else [cell])] for one in there]
    numbers = bool(there) and all(any(isinstance(v, int | float) for v in each) for each in flat)
    return numbers or (bool(values) and bool(model_names([plain_name(name)])))


MOST_LABEL = 40
"""Characters up to which a text is a label, not the text of an item."""


def is_scalar(value: Any) -> bool:
    """Whether a value can be a label: a number, a truth value or a short text."""
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MOST_LABEL)


def is_list_of_answers(value: Any) -> bool:
    """Whether a value is a list of labels, some of which can be missing."""
    return isinstance(value, list) and all(is_scalar(one) or one is None for one in value)


def label(value: Any) -> Any:
    """A value as a label: a number in a text, ``"1"``, is a number."""
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+(\.\d+)?\s*", value):
        return float(value) if "." in value else int(value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(label(value), bool | int | float)


NO_LABELS = ("computed", "comment", "technical", "confidence", "time stamp")
"""Roles of `roles.toml` whose keys in an object are no labels."""


def last(key: str) -> str:
    """The last part of a key: that of the annotator in ``created.user``."""
    return key.rpartition(".")[2] or key


def labels_in(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys of the labels of objects: numbers and truth values or, if there are none, short texts."""
    found = cells_of(objects)
    there = [k for k, values in found.items() if values and all(map(is_scalar, values))
             and not has_role(last(k), *NO_LABELS)]  # fmt: skip
    numbers = [k for k in there if any(map(_is_number, found[k]))]
    return numbers or (there if len(there) == len(found) else [])


def label_next_to_comments(objects: Sequence[Any], *, texts: bool = False) -> str | None:
    """The key of the one label in each object, next to comments: ``{"value": "C", "explanation": "..."}``.

    With ``texts``, texts under any name next to a number are comments, too.
    """
    if not objects or not all(isinstance(one, dict) for one in objects):
        return None
    labels = [key for key in keys_of(objects) if not has_role(key, "comment", "technical", "confidence")]
    usual = [key for key in labels if key == "value" or has_role(key, "label")]
    if len(usual) != 1 or not all(is_scalar(one.get(usual[0])) for one in objects):
        return None
    further = [one.get(key) for one in objects for key in labels if key not in usual]
    only_texts = all(v is None or (isinstance(v, str) and not _is_number(v)) for v in further)
    numbers = texts and any(_is_number(one.get(usual[0])) for one in objects)
    return usual[0] if len(labels) == 1 or (numbers and only_texts) else None
