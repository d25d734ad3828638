"""Answers that people give on the page, to the questions of a task; within the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.answers import append
from assay.study.store.connection import insert
from assay.study.store.tasks import Task

PAGE = "page"
"""The recipe of an assignment that was answered on the page, which tells it from a label in a file."""


def _assignments_of(task: Task, questions: Collection[int] | None = None) -> sa.ColumnElement[bool]:
    """The assignments that hold the answers to a task, of all its questions or of these."""
    a = tables.assignments.c
    asked = json.loads(task.questions) if questions is None else questions
    return sa.and_(
        *(a.annotator == task.annotator, a.item == task.item, a.recipe == PAGE),
        *(a.condition == task.condition, a.repeat == task.repeat, a.question.in_(asked)),
    )


def answers_to(db: sa.Connection, task: Task) -> Sequence[Any]:
    """Every answer to a task so far: question, revision, request_key, answered_at, label."""
    a, s = tables.assignments.c, tables.answers.c
    joined = tables.assignments.join(tables.answers, s.assignment == a.id)
    query = sa.select(a.question, s.revision, s.request_key, s.answered_at, s.label).select_from(joined)
    return db.execute(query.where(_assignments_of(task)).order_by(s.id)).all()


def latest_revision(db: sa.Connection, task: Task) -> int:
    """How many answers to a task there are."""
    return max((row.revision for row in answers_to(db, task)), default=0)


def add_page_answer(db: sa.Connection, task: Task, question: int, answer: Mapping[str, Any]) -> None:
    """Add an answer to one question of a task; its assignment is made with the first."""
    place = {column: getattr(task, column) for column in ("item", "annotator", "condition", "repeat")}
    row = place | {"question": question, "recipe": PAGE, "session": PAGE, "status": "open", "active": True}
    row["content"] = task.shown["item"]
    statement = insert(db, tables.assignments)
    statement = statement.on_conflict_do_update(
        index_elements=["item", "question", "annotator", "recipe", "condition", "repeat"],
        set_={"status": statement.excluded.status, "content": statement.excluded.content},
    )
    number = db.execute(statement.returning(tables.assignments.c.id), row).scalar_one()
    append(db, {**answer, "assignment": number})


def withdraw(db: sa.Connection, task: Task, reason: str, now: float) -> None:
    """Take back the answers to a task, each with an answer of its own that says so."""
    a, s = tables.assignments.c, tables.answers.c
    count = sa.select(sa.func.max(s.revision)).where(s.assignment == a.id).scalar_subquery()
    rows = db.execute(sa.select(a.id, count.label("revision")).where(_assignments_of(task))).all()
    newest = max((row.revision or 0 for row in rows), default=0) + 1
    for row in rows:
        answer = {"assignment": row.id, "request_key": f"reopened/{row.id}/{newest}", "revision": newest}
        append(db, answer | {"status": "withdrawn", "reason": reason, "answered_at": now})


def given_by(db: sa.Connection, person: str, items: Collection[str]) -> Sequence[Any]:
    """A person's answers to these items, in the order in which they came."""
    a, s = tables.assignments.c, tables.answers.c
    joined = tables.assignments.join(tables.answers, s.assignment == a.id)
    query = sa.select(
        *(a.item, a.condition, a.repeat, a.question, s.label, s.revision, s.status, s.comment, s.flag, s.reason)
    )
    mine = sa.and_(a.annotator == person, a.recipe == PAGE, a.item.in_(items))
    return db.execute(query.select_from(joined).where(mine).order_by(s.id)).all()
