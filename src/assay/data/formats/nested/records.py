"""The records of a JSON document, and records without the objects around their labels.

``{"q1": {"tone": 4, "depth": 2}, "q2": ...}`` has a record for each item, and in each record
``{"result": {"scores": {"tone": 4}, "cost": 0.1}}`` becomes ``{"scores": {"tone": 4}, "result.cost": 0.1}``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from assay.data.formats.nested.cells import (
    NAMES,
    Nested,
    Record,
    entries,
    is_list_of_answers,
    is_scalar,
    keys_of,
    label_next_to_comments,
    labels_in,
    without,
)
from assay.data.formats.nested.key_names import (
    called_criterion,
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
from assay.data.structure.role_names import called, called_people, is_human, plain_name


def records_in(values: Any) -> list[Record] | None:
    """Return the records of a JSON document; None if it has none.

    A document is a list of records, an object of records by item, or an object with a list of records.
    """
    if isinstance(values, list) and values and all(isinstance(one, dict) for one in values):
        return values
    if not isinstance(values, dict) or not values:
        return None
    inner = list(values.values())
    if grouped := _records_of_groups(values):
        return grouped
    if all(isinstance(one, dict) for one in inner):
        kinds = [{type(v) for v in one.values()} for one in inner if one]
        varied = any(len(kind - {int, float, type(None)}) > (0 if kind & {int, float} else 1) for kind in kinds)
        same = len({tuple(sorted(one)) for one in inner}) == 1
        return [{"item": key, **one} for key, one in values.items()] if same and varied else _records_by_item(values)
    lists = [v for v in inner if isinstance(v, list) and len(v) > 1 and all(isinstance(one, dict) for one in v)]
    nested = [v for v in lists if any(isinstance(cell, list | dict) for one in v for cell in one.values())]
    if len(nested or lists) != 1 or len(inner) < 2:
        return None
    # Of the settings next to a list, the one that names who answered is about all of its records.
    found, who = (nested or lists)[0], raters_in({k: [v] for k, v in values.items() if isinstance(v, str)})
    own = any(name_people(one) or not one.keys().isdisjoint(who) for one in found)
    return found if own else [{**{k: values[k] for k in who}, **one} for one in found]


MOST_RATERS = 30
"""Largest number of keys of an item that are annotators or criteria if a document has fewer items than that."""


def _records_of_groups(values: Mapping[str, Any]) -> list[Record] | None:
    """The records of an object with one object of lists of them, by system or condition; None for other objects.

    ``{"judge": "gpt-4o", "scores": {"base": [{"id": 1, "tone": 4}], "tuned": [{"id": 1, "tone": 5}]}}``.
    """
    objects = [one for one in values.values() if isinstance(one, dict)]
    found = [one for one in objects if len(one) > 1 and all(map(_is_records, one.values()))]
    if len(found) != 1 or len(values) < 2:
        return None
    records = [(name, one) for name, own in found[0].items() for one in own]
    group = NAMES if name_annotators([*found[0]]) else "group"
    if any(2 * len(one) < len(keys_of(one for _, one in records)) or group in one for _, one in records):
        return None
    # Who answered is said next to the lists, or in an object of settings.
    settings = {**values, **{k: v for one in objects if one is not found[0] for k, v in one.items()}}
    about = {k: settings[k] for k in raters_in({k: [v] for k, v in settings.items() if isinstance(v, str)})}
    own = group == NAMES or any(name_people(one) or not one.keys().isdisjoint(about) for _, one in records)
    return [{**({} if own else about), group: name, **one} for name, one in records]


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, dict) and one for one in value)


def _records_by_item(values: Mapping[str, Mapping[str, Any]]) -> list[Record] | None:
    """The records of an object of items and criteria or annotators, or of annotators, items and criteria.

    None if the keys outside are annotators, or if no name says that those inside are criteria or annotators.
    """
    inside, people = keys_of(values.values()), name_annotators([*values])
    cells = [cell for one in values.values() for cell in one.values()]
    if people and cells and all(isinstance(one, dict) and one and all(map(is_scalar, one.values())) for one in cells):
        return [{NAMES: who, "item": item, "scores": cell} for who, one in values.items() for item, cell in one.items()]
    alike = all(2 * len(one) >= len(inside) for one in values.values())
    # More names inside than raters of an item: items, whose names can contain those of models, q1__gpt-4__llama-13b.
    many = len(inside) > max(MOST_RATERS, len(values))
    if people or many or not alike or not (any(map(called_criterion, inside)) or name_annotators(inside)):
        return None
    whole = all(cell is None or is_scalar(cell) for cell in cells)
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
    if lists:
        nested = [one for one in inner.values() if all(isinstance(v, list) for v in one.values())]
        columns = [pair for one in (lists, *nested) for pair in one.items()]
        made = {name: [_joined_id(cell) for cell in cells] for name, cells in columns}
        lengths = {len(cells) for _, cells in columns}
        even = len(lengths) == 1 and len(made) == len(columns) > 1
        if not even or min(lengths) < LEAST_OF_ARRAY or not any(is_list_of_answers(cells) for _, cells in columns):
            return None
        return [dict(zip(made, row, strict=True)) for row in zip(*made.values(), strict=True)]
    labels = [(key, one) for key, one in inner.items() if all(map(is_scalar, one.values()))]
    answers = [one for key, one in labels if any(called(single(part), "label") for part in key.split("_"))]
    if len(answers) != 1 or len(answers[0]) < LEAST_OF_ARRAY:
        return None
    texts = [key for key, one in values.items() if isinstance(one, str)]
    about = {k: values[k] for k in texts if called_people(plain_name(k)) or has_role(k, "judge", "system")}
    return [{"item": item, "label": label, **about} for item, label in answers[0].items()]


def _joined_id(cell: Any) -> Any:
    """A cell of a list: an id of several parts, ``["q1", "d7"]``, is one text."""
    return "/".join(map(str, cell)) if isinstance(cell, list) and all(map(is_scalar, cell)) else cell


def one_record_per_output(records: list[Record]) -> tuple[list[Record], list[str]]:
    """One record for each output, if each record has one list of outputs with a list of labels for each criterion."""
    lists = {n: [one.get(n) for one in records] for n in keys_of(records)}
    nested = [n for n, own in lists.items() if any(isinstance(one, list) and any(map(_has_lists, one)) for one in own)]
    if len(nested) != 1 or not all(all(map(_has_lists, one or ())) for one in lists[nested[0]]):
        return records, []
    name = nested[0]
    made = Nested(records).one_row_each([name], lambda record: [
        {(k if k not in record or k == name else f"{name} {k}"): v for k, v in one.items()}
        for one in record.get(name) or ()])  # fmt: skip
    return made, [f"each object in {name} is an output with its own labels"]


def _has_lists(value: Any) -> bool:
    """Whether an object contains several lists of labels."""
    lists = [one for one in value.values() if isinstance(one, list)] if isinstance(value, dict) else []
    return len(lists) > 1 and all(len(one) > 1 and all(isinstance(v, bool | int | float) for v in one) for one in lists)


def with_labels_by_criterion(records: list[Record], name: str, values: Sequence[Any]) -> list[Record]:
    """Records with an object of labels by criterion for a list: ``[{"criterion": "tone", "score": 4}, ...]``."""
    lists = [one for one in values if one]
    objects = [one for each in lists if isinstance(each, list) for one in each]
    if len(lists) < 2 or not all(
        isinstance(one, kind) for kind, own in ((list, lists), (dict, objects)) for one in own
    ):
        return records
    keys = keys_of(objects)
    kinds = [k for k in keys if has_role(k, "criterion")] or [k for k in keys if k in ("name", "key")]
    if not kinds or any(map(_called_rater, keys)):
        return records
    label = label_next_to_comments([without(one, kinds[0]) for one in objects], texts=True)
    criteria = [[one.get(kinds[0]) for one in each] for each in lists]
    every = [c for own in criteria for c in own]
    if label is None or not all(isinstance(c, str) for c in every) or any(len({*own}) < len(own) for own in criteria):
        return records
    again = len({frozenset(own) for own in criteria}) < len(criteria)
    if not again or (not has_role(kinds[0], "criterion") and name_annotators(every)):
        return records
    new = name if holds_answers(name) or "scores" in records[0] else "scores"
    made = [{one[kinds[0]]: one[label] for one in record.get(name) or ()} for record in records]
    return [without(record, name) | ({new: own} if own else {}) for record, own in zip(records, made, strict=True)]


def without_wrappers(records: list[Record], name: str, values: Sequence[Any]) -> list[Record]:
    """Records without an object around one object of labels: ``{"result": {"scores": {"tone": 4}, "cost": 0.1}}``.

    An object that says who answered, ``{"rater": {"name": "ann", "role": "expert"}}``, becomes the name.
    """
    if not values or not all(isinstance(one, dict) for one in values):
        return records
    if (who := _key_of_name(name, values)) is not None:
        return _promoted(records, name, who, name)
    inside = [v for one in values for v in one.values() if v is not None]
    if inside and all(isinstance(v, dict) and v for v in inside) and (key := _key_of_labels(inside)):
        made = [{k: _hoisted(v, [key]) for k, v in entries(record, name) if v} for record in records]
        return [record | {name: own} if record.get(name) else record for record, own in zip(records, made, strict=True)]
    key = _key_of_labels(values)
    # Next to objects such as items, a number is a label, too (`without_sections`).
    if not key or not (holds_answers(key) or not labels_in(values)):
        return records
    # `{"gpt": {"verdict": {"tone": 4}}}` has the labels of gpt.
    named = is_human(name) or bool(model_names([name]))
    return _promoted(records, name, key, key if holds_answers(key) and not named else name)


def _promoted(records: Sequence[Record], name: str, key: str, new: str) -> list[Record]:
    """Records with the keys of an object as their own; its main ``key`` has a new name."""
    new = f"{name}.{key}" if new != name and any(new in record for record in records) else new
    return [
        without(record, name) | {(new if k == key else f"{name}.{k}"): v for k, v in entries(record, name)}
        for record in records
    ]


def _hoisted(value: Record, sections: Collection[str]) -> Record:
    """An object with the keys of its sections."""
    return without(value, *sections) | {k: v for section in sections for k, v in entries(value, section)}


def _key_of_labels(objects: Sequence[Mapping[str, Any]]) -> str:
    """The key of the one object inside of objects, if it has labels by criterion; empty if there is none."""
    inner = {key for one in objects for key, v in one.items() if isinstance(v, dict)}
    key = next(iter(inner)) if len(inner) == 1 else ""
    usual = holds_labels(key) or single(key) == "item"
    found = [one[key] for one in objects if isinstance(one.get(key), dict)]
    return key if usual and labels_in(found) and not is_human(key) and not model_names([key]) else ""


NAME_KEYS = ("name", "id", "model", "username", "user", "email")
"""Keys of the name of an annotator in an object that describes the annotator, in the order in which they count."""


def _key_of_name(name: str, objects: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of the name in objects that say who answered; None for other objects."""
    others = [v for one in objects for k, v in one.items() if k not in NAME_KEYS and v is not None]
    keys = NAME_KEYS if _called_rater(name) and all(isinstance(v, str) for v in others) else ()
    return next((k for k in keys if all(isinstance(one.get(k), str | int) for one in objects)), None)


def _called_rater(key: str) -> bool:
    """Whether a key is called as a column of annotators or judges is."""
    return name_people([key]) or has_role(key, "judge")


def without_sections(records: list[Record], name: str, values: Sequence[Any]) -> list[Record]:
    """Records whose criteria are not in sections: ``{"scores": {"content": {"depth": 4}, "style": {"tone": 3}}}``.

    Objects with the same keys are of annotators or systems, not of sections.
    """
    if not holds_labels(name) or not values or not all(isinstance(one, dict) for one in values):
        return records
    sections = keys_of({k: v for k, v in one.items() if isinstance(v, dict) and v} for one in values)
    inside = {k: [one[k] for one in values if one.get(k)] for k in sections}
    if not all(isinstance(one, dict) for own in inside.values() for one in own):
        return records
    criteria = [k for own in inside.values() for k in keys_of(own)]
    further = [k for k in labels_in(values) if k not in inside]
    once = len({*further, *criteria}) == len(further) + len(criteria)
    if len(inside) + bool(further) < 2 or not once or any(map(tells_answer, criteria)):
        return records
    if not all(len(labels_in(own)) == len(keys_of(own)) for own in inside.values()):
        return records
    return [record | {name: _hoisted(record[name], inside)} if record.get(name) else record for record in records]
