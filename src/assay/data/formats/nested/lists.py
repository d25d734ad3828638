"""Answers in lists: with a list of their annotators, with the annotator in each answer, or by place alone.

``{"annotators": ["ann", "bo"], "labels": [4, 3]}``, ``{"reviews": [{"worker": "ann", "stars": 4}, ...]}``, and without
names of annotators ``{"fluency": [4, 3], "tone": [5, 5]}``; in columns, ``rater1_id, rater1_score, rater2_id, ...``.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import polars as pl

from assay.data import words
from assay.data.columns import Reading
from assay.data.formats import Rows
from assay.data.formats.nested.cells import (
    NAMES,
    Nested,
    Record,
    Unfolded,
    entries,
    is_list_of_answers,
    is_scalar,
    last,
    without,
)
from assay.data.formats.nested.key_names import called_machines, has_role, holds_answers, name_people, single
from assay.data.names import model_names, natural, places_within
from assay.data.notations import are_labels
from assay.data.structure.readings import unclear
from assay.data.structure.role_names import PEOPLE_KINDS, called, called_people, called_person_ids, is_human, plain_name
from assay.data.structure.roles import PLACE
from assay.errors import DataError, listing


def lists_of_objects(given: Nested) -> Unfolded | None:
    """Lists of objects, one per answer: ``[{"coherence": 4, "fluency": 5}, ...]``."""
    cells = given.cells
    lists = [n for n in given.of_kind(list) if any(cells[n]) and
             all(isinstance(one, dict) and one for each in cells[n] for one in each)]  # fmt: skip
    records = [{k: [*map(_flat, v)] if k in lists and v else v for k, v in record.items()} for record in given.records]
    lists = [n for n in lists if _are_answers([one for record in records for one in record.get(n) or ()])]
    if not lists:
        return None
    found, unnamed = [], False
    for record in records:
        rest = without(record, *lists)
        for name in lists:
            of_models = called_machines(name) and not name_people(rest)
            for place, answer in enumerate(record.get(name) or (), 1):
                who = next((k for k in answer if called_people(plain_name(last(k)))), None)
                if who is None and of_models:  # {"model": "gpt-4o", "label": 4}
                    systems = (k for k, v in answer.items() if has_role(last(k), "system") and isinstance(v, str))
                    who = next((k for k in systems if model_names([answer[k]])), None)
                unnamed |= who is None
                named = answer[who] if who else (f"{name} {place}" if len(lists) > 1 else str(place))
                own = {(k if k not in rest else f"{name} {k}"): v for k, v in answer.items() if k != who}
                found.append({**rest, NAMES: str(named), **own})
    lengths = _lengths(each for name in lists for each in cells[name])
    return Unfolded(found, [words.one_row_per_answer(lists)], lists if unnamed else (), lengths=lengths)


def offered_choices(cells: Mapping[str, Sequence[Any]], frame: pl.DataFrame) -> list[str]:
    """The lists of texts from which another column has one in each record: what could be chosen, not who chose it.

    A list of the labels of several people has one twice, where two of them agree.
    """
    texts = {n: frame[n].to_list() for n in frame.columns if n not in cells and frame[n].dtype == pl.String}
    found = []
    for name, own in cells.items():
        full = len(own) > 1 and all(isinstance(one, list) and len(one) > 1 for one in own)
        if full and all(isinstance(v, str) for one in own for v in one) and all(len({*one}) == len(one) for one in own):
            picked = (all(cell in one for cell, one in zip(said, own, strict=True)) for said in texts.values())
            found += [name] if any(picked) else []
    return found


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


def _are_answers(objects: list[Record]) -> bool:
    """Whether objects all have a label, a number or a short text under a usual name, and are not a metric's."""
    # Sums and counts are a metric's, and its name is no annotator.
    measured = all(sum(has_role(last(k), "computed") for k in one) > 1 for one in objects)
    return not measured and all(
        any(is_scalar(v) and (not isinstance(v, str) or has_role(last(k), "label")) for k, v in one.items())
        for one in objects
    )


def _lengths(lists: Iterable[Sequence[Any]]) -> tuple[int, int]:
    """The lengths of the shortest and the longest list that is not empty."""
    there = {len(each) for each in lists if each}
    return min(there, default=0), max(there, default=0)


SCORES = ("individual_human_scores", "individual_scores", "scores", "ratings", "labels", "annotations")
"""Keys of a list of all answers on one criterion."""


def lists_by_criterion(given: Nested) -> Unfolded | None:
    """Objects of criteria, each with a list of answers: ``{"fluency": {"individual_human_scores": [4, 5]}}``."""
    inner = {n: [one for each in given.cells[n] for one in each.values()] for n in given.of_kind(dict)}
    inner = {n: own for n, own in inner.items() if own and all(isinstance(one, dict) for one in own)}
    fits = ((n, k) for n, own in inner.items() for k in SCORES if all(is_list_of_answers(one.get(k)) for one in own))
    name, key = next(fits, ("", ""))
    if not key:
        return None
    found = given.one_row_each([name], lambda record: [
        {NAMES: str(place), "criterion": criterion, "label": label}
        for criterion, one in entries(record, name) for place, label in enumerate(one[key], 1)])  # fmt: skip
    lengths = _lengths(one[key] for one in inner[name])
    return Unfolded(found, [words.one_row_per_answer([name])], (name,), lengths=lengths)


def parallel_lists(given: Nested) -> Unfolded | None:
    """Lists of one length: the annotators, and their labels. Other lengths than that of the annotators are refused."""
    cells, records = given.cells, given.records
    lists = [n for n in given.of_kind(list) if all(map(is_list_of_answers, cells[n]))]
    people = [n for n in lists if n not in given.packed and called_people(single(n)) == 2]
    answers = [n for n in lists if n not in people and any(len(each) > 1 for each in cells[n])]
    labels = [n for n in answers if n in given.packed or holds_answers(n)]
    if not answers or (not people and (len(labels) != 1 or name_people(cells))):
        return None
    who = people[0] if people else ""
    used = [n for n in answers if all(_length(one, n) == _length(one, who) for one in records)] if who else labels
    if not used:
        uneven = labels or answers
        even = [{_length(one, n) for n in uneven} == {_length(one, who)} for one in records]
        raise DataError(
            f"{given.source}, record {even.index(False) + 1}: '{who}' and {listing(uneven)} have different lengths"
        )
    found = given.one_row_each([*used, *people[:1]], lambda record: [
        {NAMES: str(record[who][place] if who else place + 1).strip(),
         **{("label" if len(used) == 1 else n): record[n][place] for n in used}}
        for place in range(_length(record, used[0]))
    ])  # fmt: skip
    lengths = _lengths(cells[used[0]])
    return Unfolded(found, [words.one_row_per_answer(used)], () if people else used, lengths=lengths)


def _length(record: Record, name: str) -> int:
    return len(record.get(name) or ())


MOST_PLACES = 20
"""Most annotators without names whose labels are lists next to each other; longer lists are tokens or features."""


def lists_of_criteria(given: Nested) -> Unfolded | None:
    """Lists of labels of one length without annotators, one for each criterion: ``"Style": [2, 3], "Overall": [4, 5]``.

    They are refused if no name says that they are labels, so that the places might be turns or sentences.
    """
    cells, records = given.cells, given.records
    if name_people(cells):
        return None
    lists = [n for n in given.of_kind(list) if len(cells[n]) == len(records) and are_labels(cells[n])]
    lengths = {len(each) for n in lists for each in cells[n]}
    if len(lists) < 2 or len(lengths) != 1 or not 1 < (length := min(lengths)) <= MOST_PLACES:
        return None
    if not any(n in given.packed or has_role(n, "questions") or holds_answers(n) for n in lists):
        raise DataError(
            f"{given.source}: {listing([repr(n) for n in lists], 4)} contain lists of {length} labels without names of "
            "annotators: their places can be annotators or parts of the item; add a list of annotators of this length"
        )
    found = given.one_row_each(lists, lambda record: [
        {NAMES: str(place + 1), **{n: record[n][place] for n in lists}} for place in range(length)])  # fmt: skip
    return Unfolded(found, [words.one_row_per_answer(lists)], lists, lists, (length, length))


_PEOPLE = ("annot", "crowd", "review")


def with_places(
    table: pl.DataFrame, found: Unfolded, stated: Mapping[str, Any], reading: Reading, *, counted: bool
) -> tuple[pl.DataFrame, Reading]:
    """The table of answers in lists without names, whose places are annotators or repeats of one; and how it was read.

    Labels that are also ``counted``, in another column, are of several annotators.

    Raises
    ------
    UnclearTableError
        If neither the names of the lists nor the user say which.
    """
    names, place = list(found.unnamed), PLACE if PLACE not in table.columns else f"{PLACE} in list"
    known = {*table[NAMES].cast(pl.String)}
    people = {*(stated.get("humans") or ()), *(stated.get("judges") or ())}
    who, label = names[0] if len(names) == 1 else NAMES, {"label": [*found.labels]} if found.labels else {}
    if stated.get("repeat") == place:
        made = table.rename({NAMES: place}).with_columns(pl.lit(who).alias(NAMES))
        return made, reading.add_notes(words.repeats_by_place(names, who))
    # A place that the user names is an annotator.
    table, drawn = (table, False) if people & known else _draw_sorted(table)
    by_place = replace(reading.add_notes(words.annotators_by_place(names, drawn=drawn)), places=(*natural(known),))
    if stated.get("annotator") == place:
        return table.rename({NAMES: place}), by_place
    # human_scores and annotations are answers of several people.
    parts = [plain_name(name).split() for name in names]
    told = all(any(is_human(w) or w in PEOPLE_KINDS or w.startswith(_PEOPLE) for w in each) for each in parts)
    least, most = found.lengths
    # The second of two answers is not that of the second person of five.
    if least == most and (counted or told or people & known):
        return table, by_place
    choices = [
        (words.place_is(names, what, repeats=role == "repeat"), {**stated, role: place, **label, **judges})
        for role, own in (("annotator", natural(known)), ("repeat", [who]))
        for what, judges in (("annotator", {}), ("judge", {"judges": [*own]}))
    ]
    readings = choices if not people else choices[::2]
    raise unclear(reading.source, [words.people_or_repeats(names, least, most)], readings)


LEAST_SORTED = 20
"""Lists with several labels, all in one order, from which lists are sorted; a place is then no annotator."""


def _draw_sorted(table: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """The table of answers with places drawn within each list, if all lists are sorted by label; and whether they are.

    The first place of lists from low to high would be severe and the last lenient, and the first of lists by number,
    ``joy, joy, fear``, would hold the opinion of most.
    """
    if "label" not in table.columns or not (table[NAMES] == "1").any():
        return table, False
    of_list = (table[NAMES] == "1").cum_sum()
    labels = table["label"].cast(pl.String)
    numbers = labels.cast(pl.Float64, strict=False)
    values = labels if (numbers.is_null() & labels.is_not_null()).any() else numbers
    lists = pl.DataFrame({"list": of_list, "label": values}).drop_nulls().group_by("list").agg("label")["label"]
    if not _are_sorted(lists.to_list()):
        return table, False
    return table.with_columns(places_within(of_list.to_frame(), drawn=True).alias(NAMES)), True


def _are_sorted(lists: Sequence[Sequence[Any]]) -> bool:
    """Whether lists of labels are in the order of the labels, or of how often they are there."""
    differ = [each for each in lists if len({*each}) > 1]
    up = [each for each in differ if [*each] == sorted(each)]
    if LEAST_SORTED <= len(differ) in (len(up), sum([*each] == sorted(each, reverse=True) for each in differ)):
        return True
    counts = [[sum(1 for _ in run) for _, run in groupby(each)] for each in differ]
    uneven = [(each, runs) for each, runs in zip(differ, counts, strict=True) if max(Counter(each).values()) > 1]
    by_number = [len(runs) == len({*each}) and runs == sorted(runs, reverse=True) for each, runs in uneven]
    return len(uneven) >= LEAST_SORTED and all(by_number)


_NUMBER = re.compile(r"[ _.-]?(\d+)(?=\D|$)")

LEAST_ROWS = 4
"""Rows from which columns with different cells in each row name annotators."""


def rows_of_numbered_columns(rows: Rows) -> Rows | None:
    """One row per answer in columns that name annotators next to those of their labels; None if there are none.

    ``rater1_id, rater1_score, rater2_id, rater2_score`` or ``worker_1, answer_1, worker_2, answer_2``.
    """
    frame = rows.labels.drop("_row", strict=False)
    stems: dict[str, dict[str, str]] = {}
    for name in frame.columns:
        found = _NUMBER.findall(name)
        if len(found) == 1:
            stems.setdefault(plain_name(_NUMBER.sub(" ", name)), {})[found[0]] = name
    stems = {stem: columns for stem, columns in stems.items() if len(columns) > 1}
    named = [one for one in stems if called_person_ids(one)] or [one for one in stems if called_people(one) == 2]
    if len(named) != 1:
        return None
    who = stems.pop(named[0])
    people = set(re.sub(r" (id|name|code|nr|no|number|email)$", "", named[0]).split())
    answers = {
        " ".join(part for part in stem.split() if part not in people) or stem: [columns[k] for k in who]
        for stem, columns in stems.items()
        if set(columns) == set(who)
    }
    if not answers or not (called_person_ids(named[0]) or any(called(one, "label") for one in answers)):
        return None
    ids = frame.select(pl.col(list(who.values())).cast(pl.String))
    apart = ids.filter(pl.all_horizontal(pl.all().is_not_null())).rows()
    again = ids.unpivot()["value"].drop_nulls()
    several = len(apart) >= LEAST_ROWS and all(len(set(row)) == len(row) for row in apart)
    return _one_row_per_annotator(rows, [*who.values()], answers) if several and again.n_unique() > len(who) else None


def _one_row_per_annotator(rows: Rows, who: Sequence[str], answers: Mapping[str, Sequence[str]]) -> Rows:
    names = [name for columns in answers.values() for name in columns]
    rest = rows.labels.drop("_row", strict=False).drop({*who, *names})
    parts = [
        rest.with_columns(
            rows.labels[one].cast(pl.String).alias(NAMES),
            *(
                rows.labels[columns[k]].alias("label" if len(answers) == 1 else name)
                for name, columns in answers.items()
            ),
        )
        for k, one in enumerate(who)
    ]
    table = pl.concat(parts, how="vertical_relaxed").filter(pl.col(NAMES).is_not_null())
    note = f"{words.one_row_per_answer([listing(names, 4)])}: {listing(who, 4)} name the annotators"
    reading = replace(rows.reading.add_notes(note), rows=rows.reading.rows + max(table.height - rest.height, 0))
    return replace(rows, labels=table, reading=reading)
