"""Answers in objects, by annotator, judge, system or criterion.

``{"scores": {"ann": 4, "bo": 3}}``, ``{"scores": {"clarity": 4, "tone": 5}}``, both in one object of objects
``{"scores": {"ann": {"clarity": 4, "tone": 5}}}``, and a label next to comments ``{"tone": {"score": 4, "why": ""}}``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.data import words
from assay.data.formats import KeyColumns
from assay.data.formats.nested.cells import (
    NAMES,
    Nested,
    Record,
    Unfolded,
    entries,
    is_scalar,
    keys_of,
    label,
    label_next_to_comments,
    labels_in,
    without,
)
from assay.data.formats.nested.key_names import (
    ABOUT_JUDGE,
    EVALUATIONS,
    called_criterion,
    called_machines,
    could_be_rated,
    has_role,
    holds_answers,
    holds_labels,
    name_annotators,
    name_people,
    raters_in,
    single,
    tells_answer,
)
from assay.data.names import model_names
from assay.data.structure.cells import total_of_counts
from assay.data.structure.role_names import called, criteria_of_one, crossed_names, is_human, plain_name
from assay.errors import DataError, listing

CROSS = " / "
"""The text between an annotator, or a system, and a criterion in the name of a column."""


def objects_of_objects(given: Nested) -> Unfolded | None:
    """An object of annotators or systems and criteria, in either order: ``{"ann": {"fluency": 4, "tone": 3}}``.

    They are refused if the keys inside are called as labels or annotators are.
    """
    for name in given.of_kind(dict):
        values = given.cells[name]
        inner = [one for each in values for one in each.values() if one is not None]
        if not inner or not all(isinstance(one, dict) and one for one in inner):
            continue
        names = keys_of(values)
        likely = holds_labels(name) or name_annotators(names, values)
        commented = label_next_to_comments(inner, texts=True) if likely else None
        if commented is not None:
            return _objects_with_comments(given, name, commented)
        inside = labels_in(inner)
        if not inside or (any(isinstance(v, dict | list) for one in inner for v in one.values()) and len(inside) < 2):
            continue
        if all(map(tells_answer, inside)) or name_people(inside):  # {"correctness": {"score": 4}} has no annotator
            raise DataError(
                f"{given.source}: '{name}' contains an object of objects, and it is uncertain which keys are "
                f"annotators, which criteria ({listing(sorted(names), 3)}; {listing(sorted(inside), 3)}); export one "
                "row per label"
            )
        return _labels_by_two_keys(given, name, inner, inside, swapped=_are_criteria(names, inside))
    return None


def _are_criteria(keys: Sequence[str], others: Sequence[str]) -> bool:
    """Whether keys are criteria by their names, rather than others are."""
    shares = [sum(has_role(key, "questions") for key in side) / len(side) for side in (keys, others)]
    if shares[0] == shares[1]:
        shares = [-float(name_annotators(side) or could_be_rated(side)) for side in (keys, others)]
    return shares[0] > shares[1]


def _labels_by_two_keys(
    given: Nested, name: str, inner: Sequence[Record], inside: Sequence[str], *, swapped: bool
) -> Unfolded:
    """The labels of an object of objects by annotator, or system, and criterion, which is outside if ``swapped``.

    If no name says whether the other keys are annotators, each label is a column, and the user is asked.
    """
    labels = [
        [((b, a) if swapped else (a, b), label(one[b]))
         for a, one in entries(record, name) if one for b in inside if one.get(b) is not None]
        for record in given.records
    ]  # fmt: skip
    flat = [(without(record, name), own) for record, own in zip(given.records, labels, strict=True)]
    who = list(dict.fromkeys(a for own in labels for (a, _), _ in own))
    answered = bool(raters_in(given.cells))
    if answered or not given.people.isdisjoint(who) or (name_annotators(who) and len(model_names(who)) < len(who)):
        role, kind = ("system", "systems") if answered else (NAMES, "annotators")
        found = [{**record, role: a, "criterion": b, "label": v} for record, own in flat for (a, b), v in own]
        notes = _notes(words.one_row_per_answer([name], f"{kind} and the criteria"), {name: inside}, {name: inner})
        return Unfolded(found, notes, untyped=_as_texts(found))
    made = [record | {f"{a}{CROSS}{b}": v for (a, b), v in own} for record, own in flat]
    columns = list(dict.fromkeys(f"{a}{CROSS}{b}" for own in labels for (a, b), _ in own))
    keys = KeyColumns((name,), tuple(columns), tuple(who))
    return Unfolded(made, _notes(f"one column per label in {name}", {name: inside}, {name: inner}), keys=keys)


JURY = {"panel", "jury", "juror", "jurors", "judge", "judges", "llm", "llms"}
"""Words in the name of an object of judges."""


def _objects_with_comments(given: Nested, name: str, key: str) -> Unfolded | None:
    """Objects of one label next to comments, by criterion or annotator: ``{"tone": {"score": 4, "reason": "..."}}``."""
    outer = keys_of(given.cells[name])
    stated = not given.people.isdisjoint(outer)
    named = name_annotators(outer, given.cells[name]) or stated
    # Models in an object that is not called as answers of models are could be what is rated.
    rated = named and not stated and len(model_names(outer)) == len(outer)
    rated = rated and not (called_machines(name) or JURY & {*plain_name(name).split()})
    if bool(raters_in(given.cells)) != named and not rated:
        role, kind = (NAMES, "annotators") if named else ("criterion", "criteria")
        found = given.one_row_each([name], lambda record: [
            {role: who, **without(one, key), "label": one[key]} for who, one in entries(record, name) if one
        ])  # fmt: skip
        return Unfolded(found, [words.one_row_per_answer([name], kind)])
    labels = [{who: one[key] for who, one in entries(record, name) if one} for record in given.records]
    bare = [record | ({name: own} if own else {}) for record, own in zip(given.records, labels, strict=True)]
    return labels_by_key(replace(given, records=bare))


WEAK = ("output", "result", "response", "answer", "code", "class", "given")
"""Names, in the singular, of an object that describes an answer if another key has its label."""

WINNER = {"winner", "winning", "preference", "preferred", "prefer", "better", "best", "choice", "vote", "verdict"}
"""Words in the name of a key that says which of two sides won."""

_SIDE = re.compile(r"^(first|second|left|right|a|b) | (first|second|left|right|a|b|1|2)$")


def labels_by_key(given: Nested) -> Unfolded | None:
    """Objects of labels whose keys are criteria, or could be: ``{"scores": {"clarity": 4, "tone": 5}}``.

    Keys that are annotators by their names are left to `labels_by_annotator`.
    """
    cells, found = given.cells, _objects_of_labels(given)
    keys = keys_of(found.values())
    if not found or ("label" in cells and "label" not in found):
        return None
    who = raters_in(cells)
    if len(found) > 1 and len(keys) < sum(map(len, found.values())):
        sides = len(found) == 2 and len({_SIDE.sub("", plain_name(n)) for n in found}) == 1
        compared = sides and any(WINNER & {*plain_name(n).split()} for n in cells)
        if who or compared:
            return None
        columns = {(n, k): f"{n}{CROSS}{k}" for n, own in found.items() for k in own}  # human_scores / tone
        named = len({*filter(is_human, found), *model_names(found)}) == len(found)
        asked = None if named else KeyColumns((), tuple(columns.values()), tuple(found))
        return _one_column_per_key(given, found, columns, asked)
    crossed = crossed_names(keys) or criteria_of_one(keys)
    crossed = crossed if any(has_role(part, "questions") for k in keys for part in plain_name(k).split()) else None
    of_name = [one for n in found for one in cells[n]]
    stated = not given.people.isdisjoint(keys_of(of_name))
    if crossed is None and (stated or name_annotators(keys, of_name)):
        models = len(model_names(keys)) == len(keys) and not stated
        if who:
            return _labels_next_to_rater(given, found, "system") if models else None
        if not models or len(found) > 1 or any(map(called_machines, found)):
            return None
    if who:
        items = len(who) == 1 and _are_items(cells, who[0], keys)
        role = "item" if items else "system" if could_be_rated(keys) else "criterion"
        return _labels_next_to_rater(given, found, role)
    if not any(has_role(k, "questions") for k in keys):
        _refuse_counts(given, found)
    taken = {*keys_of(given.records)} - {*found}
    columns = {(n, k): f"{n} {k}" if k in taken else k for n, own in found.items() for k in own}
    unclear = crossed is None and len(columns) > 1 and not any(map(tells_answer, keys))
    names = tuple(columns.values())
    asked = KeyColumns(tuple(found), names, names if could_be_rated(keys) else ()) if unclear else None
    return _one_column_per_key(given, found, columns, asked)


def _objects_of_labels(given: Nested) -> dict[str, list[str]]:
    """The columns of objects with labels, and the keys of these."""
    cells = given.cells
    found = {n: keys for n in given.of_kind(dict) if (keys := labels_in(cells[n])) and not _are_shares(cells[n], keys)}
    labelled = any(called(single(n), "label") and own and all(map(is_scalar, own)) for n, own in cells.items())
    usual = {n: keys for n, keys in found.items() if (holds_answers(n) or holds_answers(_SIDE.sub("", plain_name(n))))
             and not (labelled and single(n) in WEAK)}  # fmt: skip
    if usual or labelled:
        return usual
    return {n: keys for n, keys in found.items() if len(keys) > 1 and (
        single(n) in EVALUATIONS or plain_name(n).split()[-1:] in [[e] for e in EVALUATIONS]
        or is_human(n) or model_names([plain_name(n)]))}  # fmt: skip


def _one_column_per_key(
    given: Nested, found: Mapping[str, Sequence[str]], columns: Mapping[tuple[str, str], str], asked: KeyColumns | None
) -> Unfolded:
    """Records with the label under each key of their objects in a column."""
    values = [[(c, (record.get(n) or {}).get(k)) for (n, k), c in columns.items()] for record in given.records]
    made = [
        without(record, *found) | {column: label(v) for column, v in own if v is not None}
        for record, own in zip(given.records, values, strict=True)
    ]
    return Unfolded(made, _notes(f"one column per key of {listing(list(found))}", found, given.cells), keys=asked)


def _notes(
    note: str, found: Mapping[str, Sequence[str]], cells: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """A note, and those on the other keys of objects of labels."""
    there = {n: keys_of([k for k, v in one.items() if v is not None] for one in cells[n]) for n in found}
    left = {n: [k for k in keys if k not in found[n]] for n, keys in there.items()}
    return [note, *(words.keys_without_labels(keys, n) for n, keys in left.items() if keys)]


def _labels_next_to_rater(given: Nested, found: Mapping[str, Sequence[str]], role: str) -> Unfolded | None:
    """One row per label of objects next to a column that names who answered; ``role`` is that of their keys."""
    if any(role in record for record in given.records):
        return None
    made = given.one_row_each([*found], lambda record: [
        {role: key, "label": label(value)}
        for n, own in found.items() for key, value in entries(record, n) if key in own and value is not None
    ])  # fmt: skip
    kind = {"criterion": "criteria", "system": "systems", "item": "items"}[role]
    notes = _notes(words.one_row_per_answer(list(found), kind), found, given.cells)
    return Unfolded(made, notes, untyped=_as_texts(made), who=_hidden_rater(given.cells))


def _are_items(cells: Mapping[str, Sequence[Any]], who: str, keys: Sequence[str]) -> bool:
    """Whether keys are the items of annotators with one record each: ``{"rater": "ann", "labels": {"e1": 1, ...}}``."""
    once = len({*map(str, cells[who])}) == len(cells[who]) < len(keys)
    return once and not any(has_role(n, "item") for n in cells if n != who) and not any(map(called_criterion, keys))


def _hidden_rater(cells: Mapping[str, Sequence[Any]]) -> str | None:
    """The one column that names who answered, if other names hide it: a judge's family, or one next to rated models."""
    about = raters_in(cells)
    if len(about) != 1 or NAMES in cells:
        return None
    models = any(has_role(n, "system") and len({*map(str, cells[n])}) > 1 for n in cells if n not in about)
    return about[0] if models or {*plain_name(about[0]).split()[1:]} & ABOUT_JUDGE else None


def _as_texts(records: Sequence[Record]) -> bool:
    """Write labels as texts if criteria have labels of several kinds; return whether they have."""
    kinds = {"text" if isinstance(v, str) else "flag" if isinstance(v, bool) else "number"
             for v in (one["label"] for one in records)}  # fmt: skip
    if len(kinds) > 1:
        for one in records:
            one["label"] = str(one["label"]).lower() if isinstance(one["label"], bool) else str(one["label"])
    return len(kinds) > 1


def _are_shares(objects: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> bool:
    """Whether objects have a share for each category, or its probability."""
    numbers = [[one[k] for k in keys if isinstance(one.get(k), int | float)] for one in objects]
    whole = all(v in (0, 1) for each in numbers for v in each)
    return not whole and all(
        len(each) > 1 and min(each) >= 0 and min(abs(sum(each) - total) for total in (1, 100)) < 0.01 * len(each)
        for each in numbers)  # fmt: skip


def _refuse_counts(given: Nested, found: Mapping[str, Sequence[str]]) -> None:
    """Refuse objects with the number of annotators who chose each category."""
    for name, keys in found.items():
        objects, same = given.cells[name], sorted(keys)
        if all(type(one.get(key)) is int for one in objects for key in same) and (
            total := total_of_counts(np.array([[one[key] for key in same] for one in objects], float))
        ):
            raise DataError(f"{given.source}, '{name}': {words.counts(same, total)}")


def labels_by_annotator(given: Nested) -> Unfolded | None:
    """An object of annotators and labels: ``{"Ann5": 1, "Ann3": 0}``."""
    cells = given.cells
    if raters_in(cells):
        return None
    keys = {n: [{k for k, v in one.items() if v is not None} for one in cells[n]] for n in given.of_kind(dict)}
    every = {n: set().union(*own) for n, own in keys.items()}
    # An output is an object with one key, such as its text; its answer and reason are no annotators either.
    objects = [
        n for n, own in every.items()
        if len(own) > 1 and all(is_scalar(v) or v is None for one in cells[n] for v in one.values())
        and not any(map(tells_answer, own)) and (own & given.people or name_annotators(sorted(own), cells[n]))
        and not _are_shares(cells[n], sorted(own))
    ]  # fmt: skip
    names = [n for n in objects if holds_answers(n)]
    apart = len(names) > 1 and sum(len(every[n]) for n in names) == len(set().union(*(every[n] for n in names)))
    if not (apart and any(map(called_machines, names))):
        varied = [n for n in objects if len(set(map(frozenset, keys[n]))) > 1]
        usual = [n for n in objects if called(single(n), "label") or JURY & {*plain_name(n).split()}]
        people = [n for n in objects if all(map(is_human, every[n]))]
        names = [n for n in usual if n in varied] or usual or (varied if len(varied) == 1 else people)
        if len(names) != 1:
            return None
        if names[0] not in varied:
            _refuse_counts(given, {names[0]: sorted(every[names[0]])})
    found = given.one_row_each(names, lambda record: [
        {NAMES: str(who), "label": label} for n in names for who, label in entries(record, n) if label is not None
    ])  # fmt: skip
    return Unfolded(found, [words.one_row_per_answer(names, "annotators")])


def labels_next_to_comments(given: Nested) -> Unfolded | None:
    """Objects of one label next to comments as this label: ``"tone": {"score": 4, "reason": "..."}``."""
    cells, objects = given.cells, given.of_kind(dict)
    forms = Counter(frozenset(cells[n][0]) for n in objects)
    labels = {
        n: key for n in objects
        if (key := label_next_to_comments(cells[n], texts=forms[frozenset(cells[n][0])] > 1)) is not None
    }  # fmt: skip
    if not labels:
        return None
    made = [
        {k: v if k not in labels or v is None else label(v[labels[k]]) for k, v in record.items()}
        for record in given.records
    ]
    return Unfolded(made, [words.labels_of_objects(labels)])
