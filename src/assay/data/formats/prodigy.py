"""Prodigy's JSON Lines, as ``prodigy db-out`` writes them: ``choice`` and binary views."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.data.formats import Rows
from assay.data.formats.intake import EMPTY, SKIPPED, UNKNOWN_ANNOTATOR, Intake, PlatformAnswer, own_id, set_of
from assay.data.formats.tables import json_objects
from assay.data.scales import Nominal, Preference
from assay.errors import DataError

BAD_TASK = "the annotator rejected the task itself"
REVIEW = "a consensus made in review, not an annotator's answer"
OTHER_VIEW = "a view whose answer is no label of the whole item"
START_TIME = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")


def read_prodigy(
    path: Path,
    *,
    item: str | None = None,
    criteria: Sequence[str] | None = None,
    dataset: str | None = None,
    question: str | None = None,
    pair: Sequence[str] | None = None,
) -> Rows:
    """Answers of one dataset.

    Parameters
    ----------
    item : str
        The task's field that holds your item id; the hash of its input when not given.
    dataset : str
        The dataset's name, to be taken off the annotators' names (``food-ann`` is ``ann`` of ``food``).
    question : str
        The criterion of ``choice`` tasks, which do not name it; binary tasks name their label.
    pair : list of two str
        The option ids that are the first and the second of a comparison; any other option is a tie.
    """
    if pair is not None and len(pair) != 2:
        raise DataError(f"pair=... names the two options that are compared; got {len(pair)}")
    intake = Intake(path)
    options: dict[Any, None] = {}
    for number, task in enumerate(json_objects(path), 1):
        where = f"line {number}"
        name = own_id(item, task, f"{path}, {where}")
        if name is None:
            name = str(task.get("_input_hash"))
            intake.note("items are named by the hash of their input; name your own field with item=...")
        found = _answer(task, question)
        if isinstance(found, str):
            intake.exclude(found)
            continue
        criterion, label, about = found
        who = _annotator(task, dataset)
        if who is None:
            intake.exclude(UNKNOWN_ANNOTATOR)
            continue
        if "options" in task:
            options.update(dict.fromkeys(o["id"] for o in task["options"]))
            if pair is not None:
                label = {pair[0]: -1, pair[1]: 1}.get(label, 0)
        intake.item(name, {k: v for k, v in task.items() if _is_own(k)})
        intake.answers.append(
            PlatformAnswer(name, who, where, label, criterion, time=task.get("_timestamp"), about=about)
        )
    for option in pair or ():
        if option not in options:
            raise DataError(f"{path}: option {option!r} of pair=... is not there; the options are {list(options)}")
    _offer(intake, list(options), pair, question)
    if any(START_TIME.fullmatch(a.annotator) for a in intake.answers):
        intake.note("some sessions have no name: their annotators are starting times, perhaps of several people")
    return intake.rows(criteria)


def _answer(task: dict[str, Any], question: str | None) -> tuple[str | None, Any, dict[str, Any]] | str:
    """(criterion, label, about) of one task, or why it has none."""
    answer, options = task.get("answer"), task.get("options")
    if task.get("_view_id") == "review":
        return REVIEW
    if answer == "ignore":
        return SKIPPED
    if options is None:
        # In a binary task the verdict is the label, in any other it says whether the answer counts.
        if isinstance(task.get("label"), str) and "spans" not in task:
            return task["label"], answer, {}
        return OTHER_VIEW
    if answer == "reject":
        return BAD_TASK
    chosen = task.get("accept") or []
    if not chosen:
        return EMPTY
    if len(chosen) > 1:
        return question, set_of(chosen), {}
    ids = [o["id"] for o in options]
    return question, chosen[0], {"position": ids.index(chosen[0]) + 1 if chosen[0] in ids else None}


def _annotator(task: dict[str, Any], dataset: str | None) -> str | None:
    who = task.get("_annotator_id") or task.get("_session_id")
    return None if not who else str(who).removeprefix(f"{dataset}-") if dataset else str(who)


def _is_own(key: str) -> bool:
    """Whether a field is the user's and not Prodigy's."""
    return not key.startswith("_") and key not in ("answer", "accept", "options", "config", "label")


def _offer(intake: Intake, options: list[Any], pair: Sequence[str] | None, question: str | None) -> None:
    """The scales that the tasks themselves state."""
    if pair is not None:
        intake.scales[question] = Preference()
    elif options and {a.label for a in intake.answers if a.criterion == question} <= {
        o for o in options if o == str(o)
    }:
        intake.scales[question] = Nominal(options)
    for criterion in {a.criterion for a in intake.answers} - {question}:
        intake.scales[criterion] = Nominal(["accept", "reject"])
