"""Annotators compared with each other (time per item, agreement with others, repeated answers), and judges with them.

Annotators who are out of line with the others are marked on the dashboard, with the reason. Of studies without such
annotators at most 5% mark any (see `assay.statistics.outliers`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.collecting.design import StudyDesign
from assay.data.scales import Label, Scale, parse_scale
from assay.estimation.statistic import Floats, Ints
from assay.reporting.tables import p_value
from assay.statistics.outliers import LEAST_PEOPLE, Mark, out_of_line
from assay.study.schema import kind_of, scale_of
from assay.study.store.work_log import WorkLog, first_labels, read_labels

if TYPE_CHECKING:
    from polars import DataFrame

FEWEST_ITEMS = 10
"""Least items of an annotator who is compared."""

Measure = Literal["time", "agreement", "repeats"]
MEASURES: tuple[Measure, ...] = ("time", "agreement", "repeats")
"""Seconds per item; chance-corrected agreement with others; answers that equal the one before."""

MOST_OPTIONS = 100
"""More options than a question can have: places are below this number."""

HALF = 0.5
"""A time, or an agreement, is marked only if it is also below this multiple of the others' median, because small
differences are significant with many items."""


@dataclass(frozen=True)
class OutOfLine:
    """Why one annotator is out of line with the others.

    Attributes
    ----------
    measure : str
        ``time``: median seconds per item; ``agreement``: chance-corrected agreement with others, 1 at most;
        ``repeats``: share of answers that equal the answer before, on the page: always
        the left one of two is one answer.
    value, others : float
        The annotator's value, and the median of the others.
    p : float
        Adjusted over all annotators and measures.
    """

    measure: Measure
    value: float
    others: float
    p: float

    @property
    def words(self) -> str:
        """The reason in one line: ``2 s per item (others 21 s)``."""
        if self.measure == "time":
            return f"{_seconds(self.value)} per item (others {_seconds(self.others)})"
        if self.measure == "agreement":
            return f"agreement with others {self.value:.2f} (others {self.others:.2f})".replace("-", "−")
        return f"same answer as before in {100 * self.value:.0f}% (others {100 * self.others:.0f}%)"

    @property
    def p_words(self) -> str:
        """The p-value, such as ``p = 0.012``."""
        return p_value(self.p)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 9.95 else f"{value:.0f} s"


@dataclass(frozen=True)
class Comparison:
    """The annotators who are out of line.

    Attributes
    ----------
    marks : mapping of name to tuple of OutOfLine
    compared : int
        Annotators with enough items. With fewer than `LEAST_PEOPLE` none is marked.
    """

    marks: Mapping[str, tuple[OutOfLine, ...]]
    compared: int

    @property
    def enough(self) -> bool:
        """Whether annotators were compared."""
        return self.compared >= LEAST_PEOPLE


NOT_COMPARED = Comparison({}, 0)


def compare_annotators(design: StudyDesign, log: WorkLog, without: Collection[str]) -> Comparison:
    """Compare the annotators of a study with each other.

    Parameters
    ----------
    without : list of str
        Annotators who are not compared: excluded ones and adjudicators.
    """
    times = log.seconds_by_person([q.id for q in design.questions])
    numbers = [
        _numbers(scale, labels_on_scale(first_labels(log.labels, number, without), spec))
        for number, scale, spec in compared_questions(design)
    ]
    people = sorted({*times, *(name for one in numbers for name in one.people)} - {*without})
    values, errors = np.full((len(people), 3), np.nan), np.full((len(people), 3), np.nan)
    agreements = [agreements_with_others(one) for one in numbers]
    for i, name in enumerate(people):
        values[i, 0], errors[i, 0] = median_log_time(times.get(name, []))
        values[i, 1], errors[i, 1] = _pooled([one[name] for one in agreements if name in one])
        values[i, 2], errors[i, 2] = _pooled([repeated_answers(one, name) for one in numbers if name in one.people])
    compared = int((~np.isnan(values)).any(axis=1).sum())
    if compared < LEAST_PEOPLE:
        return Comparison({}, compared)
    found = out_of_line(values, errors, (False, False, True), far_below_others(values))
    marks: dict[str, list[OutOfLine]] = {}
    for one in found:
        marks.setdefault(people[one.person], []).append(_reason(one))
    return Comparison({name: tuple(some) for name, some in marks.items()}, compared)


def _reason(mark: Mark) -> OutOfLine:
    """A mark in the units of its measure."""
    measure = MEASURES[mark.measure]
    value, others = (_in_units(measure, one) for one in (mark.value, mark.others))
    return OutOfLine(measure, value, others, mark.p)


def _in_units(measure: Measure, value: float) -> float:
    """Seconds of their logarithm, a share of its arcsine."""
    return {"time": math.exp(value), "agreement": value, "repeats": math.sin(value) ** 2}[measure]


def far_below_others(values: Floats) -> Any:
    """Where a value is below half of the others' median; every share of repeats."""
    far = np.ones(values.shape, dtype=bool)
    for k, back in ((0, np.exp), (1, np.asarray)):
        column = back(values[:, k])
        for i in range(len(column)):
            rest = np.delete(column, i)
            rest = rest[~np.isnan(rest)]
            far[i, k] = bool(len(rest)) and bool(column[i] < HALF * np.median(rest))
    return far


# -- measures ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelsInOrder:
    """The labels of one question as numbers, in the order in which they were given.

    Attributes
    ----------
    people : tuple of str
    item, person : (labels,) int
    value : (labels,) float
        Codes of categories; numbers on a scale with an order.
    place : (labels,) float
        The label as it is on the page: the place of the chosen option, whose order is drawn for each item; otherwise
        equal if labels are.
    span : float
        The distance that counts as disagreement in full; 0 for categories, any two of which disagree.
    """

    people: tuple[str, ...]
    item: Ints
    person: Ints
    value: Floats
    place: Floats
    span: float


def compared_questions(design: StudyDesign) -> Iterator[tuple[int, Scale, str | None]]:
    """The questions whose labels can be equal (no free text, lists or spans), on each scale that the study varies."""
    for part, question in [(each, one) for each in design.parts for one in each.questions]:
        one = question.definition
        if one.kind.lists or one.marked is not None or kind_of(scale_of(one.scale)).free_text:
            continue
        for spec in part.scales or (None,):
            yield question.id, parse_scale(spec) if spec else scale_of(one.scale), spec


def labels_on_scale(labels: DataFrame, spec: str | None) -> DataFrame:
    """The labels given on one of the scales that the study varies."""
    return labels if spec is None else labels.filter([_scale_of(one) == spec for one in labels["condition"]])


def _numbers(scale: Scale, labels: DataFrame) -> LabelsInOrder:
    import polars as pl

    frame = labels.sort("assignment").select("annotator", "item", "condition", "position", read_labels(labels))
    label, position = frame["label"], frame["position"].cast(pl.Float64)
    if scale.numeric and label.dtype.is_numeric():
        value = label.cast(pl.Float64).to_numpy()
        span = _range(scale, value)
    else:
        value, span = label.cast(pl.String).rank("dense").cast(pl.Float64).to_numpy(), 0.0
    place = pl.concat_str(pl.col("item").cast(pl.String), pl.col("condition").cast(pl.String), separator="\0")
    items = frame.select(place.rank("dense"))["item"].cast(pl.Int64).to_numpy() - 1
    names = frame["annotator"].cast(pl.String)
    people = tuple(sorted(set(names)))
    number = {name: i for i, name in enumerate(people)}
    code = np.array([number[name] for name in names], dtype=np.int64)
    kinds = label.rank("dense").cast(pl.Float64) + MOST_OPTIONS
    return LabelsInOrder(people, items, code, value, position.fill_null(kinds).to_numpy(), span)


def median_log_time(seconds: Sequence[float]) -> tuple[float, float]:
    """The median log seconds per item, and its standard error."""
    if len(seconds) < FEWEST_ITEMS:
        return np.nan, np.nan
    x = np.log(np.maximum(seconds, 0.1))
    middle = float(np.median(x))
    # The standard error of a median of normal values: √(π / 2) σ / √n.
    return middle, float(1.2533 * 1.4826 * np.median(np.abs(x - middle)) / np.sqrt(len(x)))


def agreements_with_others(numbers: LabelsInOrder) -> dict[str, tuple[float, float, int]]:
    """By annotator: agreement with others on the same items, corrected for that with labels of other items.

    The mean, its standard error, and the number of items that others labelled too. Annotators with fewer items than
    `FEWEST_ITEMS` are left out.
    """
    each = _closeness_to_others(numbers)
    codes, kinds = _codes(numbers)
    given = np.zeros((len(numbers.people), len(kinds)))
    np.add.at(given, (numbers.person, codes), 1.0)
    near = np.stack([_closeness(one, kinds, numbers.span) for one in kinds]) if len(kinds) else np.zeros((0, 0))
    rest = given.sum(axis=0) - given
    found = {}
    for k, name in enumerate(numbers.people):
        mine = (numbers.person == k) & ~np.isnan(each)
        if mine.sum() < FEWEST_ITEMS:
            continue
        chance = (rest[k] @ near)[codes[mine]] / rest[k].sum()
        most = 1 - float(chance.mean())
        if most > 0:
            corrected = (each[mine] - chance) / most
            error = float(corrected.std(ddof=1) / np.sqrt(len(corrected)))
            found[name] = (float(corrected.mean()), error, len(corrected))
    return found


def _closeness_to_others(numbers: LabelsInOrder) -> Floats:
    """For each label, its mean closeness to the labels of others of the same item; NaN without one."""
    found = np.full(len(numbers.value), np.nan)
    order = np.argsort(numbers.item, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(numbers.item[order])) + 1):
        if len(rows) > 1:
            value = numbers.value[rows]
            near = _closeness(value[:, None], value, numbers.span)
            found[rows] = (near.sum(axis=1) - 1) / (len(rows) - 1)
    return found


MOST_KINDS = 200
"""Different labels up to which chance is computed exactly; more numbers are rounded to this many steps of the scale."""


def _codes(numbers: LabelsInOrder) -> tuple[Ints, Floats]:
    """The code of each label among the different ones, and these."""
    value = numbers.value
    if numbers.span > 0 and len(np.unique(value)) > MOST_KINDS:
        value = np.round(value / numbers.span * MOST_KINDS) / MOST_KINDS * numbers.span
    kinds, codes = np.unique(value, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), kinds


def _closeness(one: Any, others: Floats, span: float) -> Floats:
    return np.asarray(1 - np.abs(one - others) / span if span > 0 else one == others, dtype=float)


def repeated_answers(numbers: LabelsInOrder, name: str) -> tuple[float, float, int]:
    """The share of answers that equal the answer before, as its arcsine, whose standard error is 1 / (2 √n)."""
    place = numbers.place[numbers.person == numbers.people.index(name)]
    n = len(place) - 1
    if n + 1 < FEWEST_ITEMS:
        return np.nan, np.nan, 0
    return float(np.arcsin(np.sqrt(np.mean(place[1:] == place[:-1])))), float(1 / (2 * np.sqrt(n))), n


def _pooled(each: Sequence[tuple[float, float, int]]) -> tuple[float, float]:
    """The mean over questions, weighted by items; answers to several questions about an item are dependent."""
    known = [one for one in each if one[2]]
    if not known:
        return np.nan, np.nan
    weight = np.array([n for _, _, n in known], dtype=float)
    value, error = (np.array([one[k] for one in known]) for k in (0, 1))
    return float(weight @ value / weight.sum()), float(weight @ error / weight.sum())


# -- judges next to annotators, after the blind phase --------------------------------------------------


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
    """Return the labels of judges by item, with their distance from those of annotators.

    Parameters
    ----------
    people, judges : polars.DataFrame
        See `assay.study.store.work_log.label_frame`.
    without : list of str
        Annotators whose labels do not count.
    """
    questions = {q.id: q.definition for q in design.questions}
    given: dict[Place, list[Any]] = {}
    for question, item, condition, annotator, label in _label_rows(people):
        if annotator not in without and question in questions:
            given.setdefault((question, item, _scale_of(condition)), []).append(label)
    ranges = {key: _ranges(one, [k for k in given if k[0] == key], given) for key, one in questions.items()}
    words: dict[str, dict[str, list[str]]] = {}
    far: dict[tuple[str, str, int], list[float]] = {}
    for question, item, condition, annotator, label in _label_rows(judges):
        if question not in questions:
            continue
        words.setdefault(item, {}).setdefault(annotator, []).append(label_words(label))
        asked_on = _scale_of(condition)
        span, others = ranges[question].get(asked_on), given.get((question, item, asked_on), [])
        if span is not None and others:
            near = float(_closeness(label, np.array(others), span).mean())
            far.setdefault((item, annotator, question), []).append(1 - near)
    most: dict[str, float] = {}
    for (item, _annotator, _question), each in far.items():
        most[item] = max(most.get(item, 0.0), sum(each) / len(each))
    return {
        item: JudgedItem(tuple((name, ", ".join(some)) for name, some in sorted(by.items())), most.get(item))
        for item, by in words.items()
    }


def _label_rows(labels: DataFrame) -> Iterator[tuple[int, str, str, str, Any]]:
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


def _range(scale: Scale, numbers: Sequence[float] | Floats) -> float:
    """The distance that counts as 1: the range of the scale, or of these numbers without one; 0 for categories."""
    if not scale.numeric:
        return 0.0
    low, high = scale.bounds or ((min(numbers), max(numbers)) if len(numbers) else (0.0, 0.0))
    return float(high - low)


def label_words(label: Label | None) -> str:
    """Return a label as the study lead reads it."""
    return "" if label is None else f"{label:g}" if isinstance(label, float) else str(label)
