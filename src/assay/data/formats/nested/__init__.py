"""Tables whose cells contain the answers, as lists, objects or marks: one row per answer.

Data sets on disagreement, summaries and dialogues store all answers on an item in one record: two lists of one length
(annotators and labels), one list of objects, or an object of annotators and labels. They become rows of a long table
before the structure of the table is found. Annotators without names are named by their place.

``{"id": "q1", "annotations": {"ann": 4, "bo": 3}}`` becomes the rows ``q1, ann, 4`` and ``q1, bo, 3``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from assay.data import words
from assay.data.columns import column_of
from assay.data.formats import Rows
from assay.data.formats.nested import lists, objects, records
from assay.data.formats.nested.cells import (
    NAMES,
    Nested,
    Unfolded,
    cells_of,
    comma_lists,
    is_scalar,
    keys_of,
    like_answers,
    marked_categories,
    objects_of_lists,
    packed_lists,
    parsed_columns,
    refuse_spans,
)
from assay.data.formats.nested.key_names import single
from assay.data.notations import tallies_in
from assay.data.structure.role_names import called
from assay.errors import DataError, listing

SHAPES: dict[Callable[[Nested], Unfolded | None], str] = {
    # Before lists by criterion, which have places only: each of these objects can name its annotator.
    lists.lists_of_objects: '{"reviews": [{"worker": "ann", "stars": 4}, {"worker": "bo", "stars": 3}]}',
    # Before objects of objects, for which other numbers next to a list, such as its first, would be the labels.
    lists.lists_by_criterion: '{"evals": {"tone": {"scores": [4, 3]}, "depth": {"scores": [2, 2]}}}',
    # Before lists, because two keys say more than a place: labels next to them can be the topics of the item.
    objects.objects_of_objects: '{"scores": {"ann": {"tone": 4, "depth": 2}, "bo": {"tone": 3, "depth": 1}}}',
    # Before lists of criteria, because numbers in a list of annotators are their ids, not labels on a criterion.
    lists.parallel_lists: '{"annotators": [17, 23], "labels": [4, 3]}',
    # Before objects of labels, which have one label on a criterion, and these have one for each annotator.
    lists.lists_of_criteria: '{"fluency": [4, 3], "tone": [2, 2]}',
    # Before labels by annotator, because models as keys can be rated systems, too: it asks which they are.
    objects.labels_by_key: '{"scores": {"clarity": 4, "tone": 5}}',
    # Before labels next to comments, which do not say who gave them.
    objects.labels_by_annotator: '{"scores": {"ann": 4, "bo": 5}}',
    objects.labels_next_to_comments: '{"tone": {"score": 4, "reason": "too short"}}',
}
"""What reads each shape of answers, or returns None, with a record that has this shape. The first that fits is used.

Comments say why a shape is tried before the next one.
"""

REWRITINGS = (
    # [{"criterion": "tone", "score": 4}, ...] becomes {"tone": 4, ...}, which needs no other rewriting.
    records.with_labels_by_criterion,
    # {"result": {"scores": {"tone": 4}}} becomes {"scores": {"tone": 4}}, in which there can be sections.
    records.without_wrappers,
    # {"scores": {"content": {"depth": 4}, "style": {"tone": 3}}} becomes {"scores": {"depth": 4, "tone": 3}}.
    records.without_sections,
)
"""What makes records simpler before their shape is found, in this order."""


def unfold(rows: Rows, stated: Mapping[str, Any] | None = None) -> Rows:
    """Return a table with one row per answer, if its cells contain the answers as lists or objects.

    ``stated`` are the options of `assay.read` that the user has specified.

    Raises
    ------
    DataError
        If the lists of one record have different lengths.
    """
    if (numbered := lists.rows_of_numbered_columns(rows)) is not None:
        return numbered
    frame, source, stated = rows.labels.drop("_row", strict=False), rows.reading.source, stated or {}
    cells = {name: objects_of_lists(values) for name, values in parsed_columns(frame, frame.columns).items()}
    refuse_spans(cells, source)
    cells |= {n: [json.dumps(one) for one in cells[n]] for n in lists.offered_choices(cells, frame)}
    marked = marked_categories(cells, [n for n in frame.columns if n not in cells], source)
    joined = comma_lists(frame.drop(cells))
    packed = {} if "columns" in stated else packed_lists(frame.drop([*cells, *joined]))
    joined |= packed
    cells |= marked | joined
    if not cells:
        return rows
    made = [
        {**record, **{name: values[i] for name, values in cells.items()}}
        for i, record in enumerate(frame.iter_rows(named=True))
    ]
    made, notes = records.one_record_per_output(made)
    for rewrite in REWRITINGS:
        for name, values in cells_of(made).items():
            made = rewrite(made, name, values)
    unfolded, tallies = _unfolded(made, source, stated, packed), tallies_in(cells)
    if not unfolded.notes:
        if tallies:
            raise DataError(f"{source}, {words.counts(tallies, 0)}")
        return _with_choices(rows, cells, marked)
    found = unfolded.records
    if not found:
        raise DataError(f"{source}: the lists in {listing(list(cells))} contain no answer")
    table = pl.DataFrame([_column(n, [one.get(n) for one in found], source) for n in keys_of(found)])
    notes += unfolded.notes
    notes += [f"{listing([repr(n) for n in tallies])}: counts of labels, not read as labels"] if tallies else []
    left = [n for n in cells if n not in tallies and any(n in one for one in found) and like_answers(n, cells[n])]
    notes += [words.unread_answers(left)] if left else []
    reading = rows.reading.add_notes(*notes)
    if unfolded.unnamed:
        table, reading = lists.with_places(table, unfolded, stated, reading, counted=bool(tallies))
    if table.height == frame.height and "_row" in rows.labels.columns:
        table = table.with_columns(rows.labels["_row"])
    reading = replace(reading, rows=reading.rows + max(table.height - frame.height, 0))
    untyped = rows.untyped or bool(joined) or unfolded.untyped
    return replace(rows, labels=table, untyped=untyped, reading=reading, keys=unfolded.keys)


def _unfolded(made: list[dict[str, Any]], source: str, stated: Mapping[str, Any], packed: Collection[str]) -> Unfolded:
    """One record per answer, by the first shape that all records have; no notes if there is none."""
    columns = {"columns", "split_columns"} & stated.keys()
    people = () if columns else (*(stated.get("humans") or ()), *(stated.get("judges") or ()))
    given = Nested(made, source, frozenset(people), frozenset(packed))
    found = next((found for read in SHAPES if (found := read(given)) is not None), Unfolded(made, []))
    if found.who is None or "annotator" in stated:
        return found
    named = [{(NAMES if k == found.who else k): v for k, v in one.items()} for one in found.records]
    return found._replace(records=named, notes=[*found.notes, words.names_annotators(found.who)])


def _with_choices(rows: Rows, cells: Mapping[str, list[Any]], marked: Collection[str]) -> Rows:
    """The table with the categories in lists of labels, or with a mark, as text; each row is one answer."""
    chosen = [
        n
        for n, values in cells.items()
        if n in marked or (called(single(n), "label") and all(isinstance(one, list) for one in values if one))
    ]
    made = [_column(n, cells[n], rows.reading.source) for n in chosen]
    return replace(rows, labels=rows.labels.with_columns(made)) if made else rows


def _column(name: str, values: Iterable[Any], source: str) -> pl.Series:
    return column_of(name, [_cell(one) for one in values], source, strict=False)


def _cell(value: Any) -> Any:
    """A cell: a list with one value is that value; choices are joined; other lists and objects are text."""
    if isinstance(value, list | tuple):
        if all(is_scalar(one) for one in value):
            return None if not value else value[0] if len(value) == 1 else "; ".join(sorted(map(str, value)))
        return str(value)
    return str(value) if isinstance(value, dict) else value
