"""Pages as a person sees them: their tasks, with what they have answered and half written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.collecting.design import Design, image_file
from assay.collecting.forms import Field, Given, PageForm, TaskForm, item_fields, question_form
from assay.study.items import Item
from assay.study.store.connection import Connection
from assay.study.store.items import items_given
from assay.study.store.page_answers import given_by
from assay.study.store.people import Person, closed_up_to
from assay.study.store.tasks import Task, drafts_of, is_closed, task_by_id, tasks_on_pages


def pages_of(design: Design, person: Person, numbers: Sequence[int]) -> list[PageForm]:
    """Pages of a person by number; numbers that they do not have are left out, and so is what is closed to them."""
    with design.store.reading() as db:
        closed = closed_up_to(db, person.name)
        tasks = [task for task in tasks_on_pages(db, person.name, numbers) if not is_closed(task, closed)]
        given = _given(db, person, tasks)
        drafts = drafts_of(db, [task.id for task in tasks])
    items = items_given(design.store, ((task.item, task.shown["item"]) for task in tasks))
    found: dict[int, list[TaskForm]] = {}
    for task in tasks:
        form = _task_form(
            design, task, items[task.item, task.shown["item"]], given.get(task.id, Given({})), drafts.get(task.id)
        )
        found.setdefault(task.page, []).append(form)
    return [_page(number, found[number]) for number in numbers if number in found]


def image_of(design: Design, person: Person, task: int, number: int) -> Path | None:
    """The file of an image that a person is shown; None where there is none."""
    with design.store.reading() as db:
        row = task_by_id(db, task, person.name)
    if row is None:
        return None
    (found,) = items_given(design.store, [(row.item, row.shown["item"])]).values()
    columns = design.item_images(found)
    if not 0 <= number < len(columns):
        return None
    return image_file(design.study.folder, str(found.fields[columns[number]]))


def _page(number: int, tasks: Sequence[TaskForm]) -> PageForm:
    """A page; what all its tasks show alike stands once, above them."""
    if len(tasks) == 1:
        return PageForm(number, (), tuple(tasks))
    shared = tuple(f for f in tasks[0].fields if f.image is None and all(f in task.fields for task in tasks))
    rest = (TaskForm(**{**vars(t), "fields": tuple(f for f in t.fields if f not in shared)}) for t in tasks)
    return PageForm(number, shared, tuple(rest))


def _task_form(design: Design, task: Task, item: Item, given: Given, draft: Mapping[str, Any] | None) -> TaskForm:
    asked = design.asked(task.questions, task.condition)
    images = {column: f"/images/{task.id}/{n}" for n, column in enumerate(design.item_images(item))}
    questions = tuple(
        question_form(one, item, task.shown["order"].get(str(one.id), ()), images, given.labels.get(one.id))
        for one in asked
    )
    fields: tuple[Field, ...] = item_fields(asked, item, design.hidden, images)
    return TaskForm(
        *(task.id, task.place, fields, questions, given.revision),
        state="open" if task.state == "given" else task.state,
        practice=task.role == "warm-up",
        skipped=given.skipped if task.state == "skipped" else "",
        comment=given.comment,
        flag=given.flag,
        draft=draft,
    )


def _given(db: Connection, person: Person, tasks: Iterable[Task]) -> dict[int, Given]:
    """By task, what the person has answered: the latest of each question."""
    place = {
        (task.item, task.condition, task.repeat, question): task.id
        for task in tasks
        for question in json.loads(task.questions)
    }
    if not place:
        return {}
    found: dict[int, Given] = {}
    for row in given_by(db, person.name, {key[0] for key in place}):
        task = place.get((row.item, row.condition, row.repeat, row.question))
        if task is None:
            continue
        before = found.get(task, Given({}))
        label = row.label if row.status == "valid" else None
        skipped = (row.reason or "").removeprefix("skipped").removeprefix(": ") if row.status == "missing" else ""
        labels = {**before.labels, row.question: label}
        found[task] = Given(labels, max(before.revision, row.revision), row.comment or "", row.flag or "", skipped)
    return found
