"""Labels of judges next to those of annotators, item by item, after the blind phase."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.collecting.design import StudyDesign
from assay.data.scales import parse_scale
from assay.study.schema import kind_of, scale_of

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class JudgedItem:
    """What judges answered about one item.

    Attributes
    ----------
    labels : tuple of (judge, label), sorted
        In words; several questions and repeats are separated by commas.
    distance : float or None
        Mean distance of the labels of the judge that is farthest from the annotators' labels, 0 to 1: as a share of the
        scale for numbers, otherwise the share that differs. With several questions the largest. None without labels of
        both.
    """

    labels: tuple[tuple[str, str], ...]
    distance: float | None


def judged_items(
    design: StudyDesign, people: DataFrame, judges: DataFrame, without: Collection[str]
) -> dict[str, JudgedItem]:
    """Return the judges' labels by item, and how far they are from those of annotators.

    Parameters
    ----------
    people, judges : polars.DataFrame
        See `assay.study.store.work_log.label_frame`.
    without : list of str
        Annotators whose labels do not count.
    """
    questions = {q.id: q.definition for q in design.questions}
    given: dict[Place, list[Any]] = {}
    for question, item, condition, annotator, label in _rows(people):
        if annotator not in without and question in questions:
            given.setdefault((question, item, _scale_of(condition)), []).append(label)
    ranges = {key: _ranges(one, [k for k in given if k[0] == key], given) for key, one in questions.items()}
    words: dict[str, dict[str, list[str]]] = {}
    far: dict[tuple[str, str, int], list[float]] = {}
    for question, item, condition, annotator, label in _rows(judges):
        if question not in questions:
            continue
        words.setdefault(item, {}).setdefault(annotator, []).append(_words(label))
        asked_on = _scale_of(condition)
        span, others = ranges[question].get(asked_on), given.get((question, item, asked_on), [])
        if span is not None and others:
            distances = [_distance(label, one, span) for one in others]
            far.setdefault((item, annotator, question), []).append(sum(distances) / len(distances))
    most: dict[str, float] = {}
    for (item, _annotator, _question), each in far.items():
        most[item] = max(most.get(item, 0.0), sum(each) / len(each))
    return {
        item: JudgedItem(tuple((name, ", ".join(some)) for name, some in sorted(by.items())), most.get(item))
        for item, by in words.items()
    }


def _rows(labels: DataFrame) -> Iterator[tuple[int, str, str, str, Any]]:
    frame = labels.sort("question", "repeat", "assignment").select(
        "question", "item", "condition", "annotator", "label"
    )
    for question, item, condition, annotator, label in frame.iter_rows():
        yield question, item, condition, annotator, json.loads(label)


def _scale_of(condition: str) -> str | None:
    """The scale of an answer, if the study varies it; other conditions are the judge's alone."""
    found = json.loads(condition).get("scale")
    return None if found is None else str(found)


Place = tuple[int, str, str | None]
"""A question, an item, and the scale if the study varies it."""


def _ranges(question: Any, places: Sequence[Place], given: Mapping[Place, list[Any]]) -> dict[str | None, float]:
    """By scale, the distance that counts as 1, and 0 for categories; nothing for lists and free text."""
    scale = scale_of(question.scale)
    if question.kind.lists or question.marked is not None or kind_of(scale).free_text:
        return {}
    found = {}
    for asked_on in {place[2] for place in places}:
        numbers = [
            one for place in places if place[2] == asked_on for one in given[place] if isinstance(one, int | float)
        ]
        found[asked_on] = _range(scale if asked_on is None else parse_scale(asked_on), numbers)
    return found


def _range(scale: Any, numbers: list[float]) -> float:
    if not scale.numeric:
        return 0.0
    low, high = scale.bounds or ((min(numbers), max(numbers)) if numbers else (0.0, 0.0))
    return float(high - low)


def _distance(one: Any, other: Any, span: float) -> float:
    if span > 0 and isinstance(one, int | float) and isinstance(other, int | float):
        return min(abs(one - other) / span, 1.0)
    return float(one != other)


def _words(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)
