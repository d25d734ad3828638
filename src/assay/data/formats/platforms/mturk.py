"""Batch results of Amazon Mechanical Turk: one row per assignment, ``Input.*`` and ``Answer.*`` columns."""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.data import words
from assay.data.formats import FormatSettings, Rows
from assay.data.formats.platforms.intake import (
    EMPTY,
    REJECTED,
    SET,
    Intake,
    PlatformAnswer,
    is_number,
    own_id,
    parse_cell,
    set_of,
)
from assay.data.formats.tables import read_delimited
from assay.data.scales import Preference
from assay.data.structure.readings import unclear
from assay.data.structure.role_names import called, plain_name
from assay.errors import DataError, counted, listing

_Row = tuple[dict[str, Any], dict[str, str | None]]
"""The cells of an assignment, and its answers by question."""

SWAPS = {"1": 1, "2": -1}
"""Values of a column with the order of the sides: 1 as listed, 2 swapped."""


def read_mturk(path: Path, item: str | None, settings: FormatSettings) -> Rows:
    """Read the answers of a batch.

    ``item`` is the column with your item id (``Input.id`` or ``id``); not the HIT, which changes when a batch is
    published again. By default, equal inputs are one item.
    """
    numbered, swap, by_id = settings.numbered, settings.swap, settings.workers == "ids"
    table = read_delimited(path)
    if "WorkerId" not in table.columns:
        raise DataError(f"{path} has no column 'WorkerId'; it is not a batch file of Mechanical Turk")
    intake = Intake(path)
    rows = _without_echoes([(row, dict(_answers(row))) for row in table.to_dicts()])
    if not numbered and settings.criteria is None and not any(map(_common_input, table.columns)):
        _ask_numbered(path, [answers for _, answers in rows])
    sides = set() if swap is None else _sides(path, [answers for _, answers in rows], numbered)
    comments = _comments([answers for _, answers in rows], settings.criteria)
    for line, (row, answers) in enumerate(rows, 2):
        where = f"row {line}"
        inputs = {c[6:]: html.unescape(v) for c, v in row.items() if c.startswith("Input.") and v is not None}
        said = {question: answers.pop(question, None) for question in comments}
        if _is_rejected(row) and not settings.rejected:
            intake.exclude(REJECTED, max(1, sum(v is not None for v in answers.values())))
            continue
        name = own_id(item, {**inputs, **row}, f"{path}, {where}")
        if name is None:
            name = _digest(inputs) if inputs else str(row.get("HITId") or where)
            if inputs:
                intake.note(f"equal inputs are one item; name your own id with item=... ({listing(list(inputs), 4)})")
        base = PlatformAnswer(
            name,
            row["WorkerId"] if by_id else _code(row["WorkerId"], settings.salt),
            where,
            time=_time(row.get("SubmitTime")),
            submission=row.get("AssignmentId"),
            about={"seconds": None if not row.get("WorkTimeInSeconds") else float(row["WorkTimeInSeconds"]), **said},
        )
        for question, value in answers.items():
            if value is None:
                intake.exclude(EMPTY)
            else:
                place = swap if _stem(question, numbered) in sides else None
                _add(intake, base, question, value, inputs, numbered, place)
    intake.scales = {question: Preference() for question in sides}
    _notes(
        intake, submitted=sum(row.get("AssignmentStatus") == "Submitted" for row, _ in rows), swapped=swap is not None
    )
    if comments:
        names = listing([repr(one) for one in comments])
        intake.note(f"{names}: remarks on the answers, not labels; to read them as labels, name them in criteria=[...]")
    if not by_id:
        intake.note("workers are named by codes; to keep their ids, set workers='ids'")
    return intake.rows(settings.criteria, texts=True)


def _common_input(column: str) -> bool:
    """Whether a column is an input of the whole HIT, on which numbered questions can be asked."""
    return re.fullmatch(r"Input\..*\D", column) is not None


IDS = ("HITId", "HITTypeId", "AssignmentId", "WorkerId", "RequesterAnnotation")
"""Columns with ids of an assignment."""


def _without_echoes(rows: Sequence[_Row]) -> list[_Row]:
    """Rows without answers that repeat an id of the assignment, as forms send along: the worker, the HIT."""
    asked = dict.fromkeys(question for _, answers in rows for question in answers)
    echoes = set()
    for question in asked:
        given = [(row, answers[question]) for row, answers in rows if answers.get(question) is not None]
        if given and any(all(row.get(name) == value for row, value in given) for name in IDS):
            echoes.add(question)
    return [(row, {q: value for q, value in answers.items() if q not in echoes}) for row, answers in rows]


def _ask_numbered(path: Path, answers: Sequence[Mapping[str, str | None]]) -> None:
    """Refuse questions that differ in their number alone: they can be one on several items, or several on one."""
    questions = list(dict.fromkeys(question for row in answers for question in row))
    stems = Counter(stem for question in questions if (stem := _unnumbered(question)) != question)
    again = [stem for stem, n in stems.items() if n > 1 and stem]
    if not again:
        return
    named = listing([f"{stem}1, {stem}2, ... ({stems[stem]})" for stem in again], 4)
    raise unclear(str(path), [words.numbered_answers(named)], [
        (words.NUMBERED_ARE_ITEMS, {"numbered": again}), (words.NUMBERED_ARE_CRITERIA, {"criteria": questions}),
    ])  # fmt: skip


def _is_rejected(row: Mapping[str, Any]) -> bool:
    """Whether an assignment was rejected, by its status or, without one, by the time of the rejection."""
    status = str(row.get("AssignmentStatus") or "").strip().lower()
    return status == "rejected" or (not status and bool((row.get("RejectionTime") or "").strip()))


LEAST_REMARKS = 3
"""Different texts with a space from which an optional question is one of free text."""


def _comments(answers: Sequence[Mapping[str, str | None]], criteria: Sequence[str] | None) -> list[str]:
    """The questions whose answers are remarks: text under a usual name, or optional free text; others have labels."""
    given: dict[str, list[str]] = {}
    for row in answers:
        for question, value in row.items():
            given.setdefault(question, []).extend([] if value is None else [value])
    found = []
    for question, values in given.items():
        if all(map(is_number, values)) or question in (criteria or ()):
            continue
        texts = {value for value in values if " " in value.strip() and SET not in value}
        optional = 2 * len(values) < len(answers) and 2 * len(texts) > len(values) and len(texts) >= LEAST_REMARKS
        if called(plain_name(question), "comment") or optional:
            found.append(question)
    return found if len(found) < len(given) else []


def _add(
    intake: Intake,
    base: PlatformAnswer,
    question: str,
    value: str,
    inputs: Mapping[str, str],
    numbered: Sequence[str],
    swap: str | None,
) -> None:
    """Add one answer for the item with its number, with its side swapped back."""
    criterion = _stem(question, numbered)
    place = question.removeprefix(criterion)
    name = f"{base.item}#{place}" if place else base.item
    intake.item(name, _inputs(inputs, place))
    label: str | int = value
    about = dict(base.about)
    if swap is not None and value in ("-1", "0", "1"):
        order = inputs.get(f"{swap}{place}")
        if order not in SWAPS:
            raise DataError(
                f"{intake.source}, {base.where}: 'Input.{swap}{place}' must be 1 (as listed) or 2 (swapped); "
                f"it is {'missing' if order is None else repr(order)}"
            )
        about["position"] = {"-1": 1, "0": None, "1": 2}[value]
        label = int(value) * SWAPS[order]
    intake.answers.append(replace(base, item=name, label=label, criterion=criterion, about=about))


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+$", "", name)


def _stem(question: str, numbered: Sequence[str]) -> str:
    """The question without the number of its item."""
    stem = _unnumbered(question)
    return stem if stem in numbered else question


def _sides(path: Path, answers: Sequence[Mapping[str, str | None]], numbered: Sequence[str]) -> set[str]:
    """The questions whose answers are sides: those with a −1; other answers than −1, 0 and 1 are off their scale."""
    seen: dict[str, set[str]] = {}
    for row in answers:
        for question, value in row.items():
            if value is not None:
                seen.setdefault(_stem(question, numbered), set()).add(value)
    sides = {question for question, values in seen.items() if "-1" in values}
    if not sides:
        raise DataError(f"{path}: swap=... requires answers of −1, 0 and 1; the questions are {listing(list(seen))}")
    return sides


def _inputs(inputs: Mapping[str, str], place: str) -> dict[str, str]:
    """The inputs for one of several numbered items: its own without the number, and the common ones."""
    if not place:
        return dict(inputs)
    bases = {base for c in inputs if (base := _unnumbered(c)) != c}
    common = {c: v for c, v in inputs.items() if _unnumbered(c) not in bases}
    return {**common, **{base: inputs[f"{base}{place}"] for base in sorted(bases) if f"{base}{place}" in inputs}}


def _answers(row: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """(question, answer) of one row; None for unanswered questions."""
    nested: dict[str, dict[str, Any]] = {}
    for column, cell in row.items():
        if not column.startswith("Answer."):
            continue
        name = column.removeprefix("Answer.").removeprefix("Answer.")
        question, dot, option = name.partition(".")
        value = parse_cell(cell)
        if name == "taskAnswers" and isinstance(value, list):
            for form in value:
                for asked, given in form.items():
                    yield asked, _answer_word(given)
        elif dot:
            nested.setdefault(question, {})[option] = cell
        else:
            yield name, _answer_word(cell)
    for question, given in nested.items():
        yield question, _answer_word(given)


def _answer_word(given: Any) -> str | None:
    """An answer as one value: the ticked options, the label, the number or the text."""
    if isinstance(given, dict):
        if set(given) == {"label"}:
            return _answer_word(given["label"])
        ticked = [option for option, on in given.items() if str(on).lower() == "true"]
        return set_of(ticked) if ticked else None
    if given is None or given == "":
        return None
    return html.unescape(str(given))


def _digest(inputs: Mapping[str, str]) -> str:
    """A name for equal inputs, independent of their HIT."""
    told = "\0".join(f"{k}\0{v}" for k, v in sorted(inputs.items()))
    return "input-" + hashlib.blake2b(told.encode(), digest_size=6).hexdigest()


def _code(worker: str, salt: str) -> str:
    key = salt.encode()[: hashlib.blake2b.MAX_KEY_SIZE]
    return "worker-" + hashlib.blake2b(worker.encode(), digest_size=6, key=key).hexdigest()


def _time(text: str | None) -> float | None:
    """The time of an assignment (``Fri Nov 20 09:10:00 PST 2026``); all times in a file have one time zone."""
    parts = (text or "").split()
    if len(parts) != 6:
        return None
    try:
        return datetime.strptime(" ".join(parts[1:4] + parts[5:]), "%b %d %H:%M:%S %Y").timestamp()
    except ValueError:
        return None


def _notes(intake: Intake, *, submitted: int, swapped: bool) -> None:
    if submitted:
        intake.note(f"{counted(submitted, 'assignment')} submitted but not yet approved")
    if not swapped and any(a.label == "-1" for a in intake.answers):
        intake.note(
            "answers −1 and 1 are assumed to be the first and the second shown, unchanged. If sides were swapped, "
            "name the input with the order in swap=..."
        )
