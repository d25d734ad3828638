"""Everything that people were given, shown and asked, table by table: the rows of the whole record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.connection import Store
from assay.study.store.page_answers import PAGE

Rows = Iterable[dict[str, Any]]

_AT_ONCE = 1000
"""Rows that are in memory at a time."""


@contextmanager
def records(store: Store) -> Iterator[dict[str, Rows]]:
    """The rows of each table of the record, by its name, all as of one moment. Links and secrets are not in them."""
    with store.reading() as db:
        if db.dialect.name == "postgresql":  # all tables as of one moment, which SQLite gives anyway
            db = db.execution_options(isolation_level="REPEATABLE READ")
        yield {name: rows(db) for name, rows in _TABLES.items()}


def _rows(db: sa.Connection, query: sa.Select[Any]) -> Iterator[dict[str, Any]]:
    """The rows of a query, a few at a time."""
    for row in db.execute(query, execution_options={"yield_per": _AT_ONCE}):
        yield dict(row._mapping)


def _answers(db: sa.Connection) -> Rows:
    a, s, q = tables.assignments.c, tables.answers.c, tables.questions.c
    joined = tables.answers.join(tables.assignments, s.assignment == a.id).join(tables.questions, q.id == a.question)
    query = sa.select(
        *(s.id, a.annotator, a.item, a.question, q.name.label("criterion"), q.version, a.condition, a.repeat),
        *(s.revision, s.status, s.label, s.reason, s.comment, s.flag, s.seconds, s.answered_at, s.shown),
        sa.and_(a.active, a.answer == s.id, s.status == "valid").label("latest"),
    )
    for row in _rows(db, query.select_from(joined).where(a.recipe == PAGE).order_by(s.id)):
        shown = row.pop("shown") or {}
        row["condition"] = json.loads(row["condition"])
        latest = bool(row.pop("latest"))
        rest = {name: value for name, value in shown.items() if name != "task"}
        yield {"id": row.pop("id"), "task": shown.get("task"), **row, "shown": rest, "latest": latest}


def _tasks(db: sa.Connection) -> Rows:
    t = tables.tasks
    query = sa.select(
        *(t.c.id, t.c.annotator, t.c.item, t.c.role, t.c.questions, t.c.condition, t.c.repeat, t.c.party),
        *(t.c.session, t.c.page, t.c.place, t.c.state, t.c.extra, t.c.form, t.c.shown),
        *(t.c.given_at, t.c.expires_at, t.c.closed_at),
    )
    for row in _rows(db, query.order_by(t.c.annotator, t.c.place)):
        row["questions"], row["condition"] = json.loads(row["questions"]), json.loads(row["condition"])
        row["extra"] = bool(row["extra"])
        yield row


def _questions(db: sa.Connection) -> Rows:
    q = tables.questions.c
    for row in _rows(db, sa.select(q.id, q.name, q.version, q.current, q.made_at, q.definition).order_by(q.id)):
        yield row | {"current": bool(row["current"])}


def _forms(db: sa.Connection) -> Rows:
    f = tables.forms.c
    yield from _rows(db, sa.select(f.id, f.digest, f.made_at, f.definition).order_by(f.id))


def _items(db: sa.Connection) -> Rows:
    i = tables.items.c
    query = sa.select(i.item, i.role, i.position, i.document, i.digest, i.active, i.fields, i.pictures, i.known)
    for row in _rows(db, query.order_by(i.role, i.position, i.item)):
        yield row | {"active": bool(row["active"])}


def _contents(db: sa.Connection) -> Rows:
    c = tables.contents.c
    query = sa.select(c.item, c.digest, c.document, c.fields, c.pictures, c.kept_at)
    yield from _rows(db, query.order_by(c.kept_at, c.item, c.digest))


def _people(db: sa.Connection) -> Rows:
    p, n = tables.people.c, tables.annotators.c
    query = sa.select(p.annotator, n.definition, p.state, p.invited_at, p.consented_at, p.consented_to)
    joined = tables.people.join(tables.annotators, n.annotator == p.annotator)
    for row in _rows(db, query.select_from(joined).order_by(p.invited_at, p.annotator)):
        attributes = (row.pop("definition") or {}).get("attributes", {})
        yield {"annotator": row.pop("annotator"), "attributes": attributes, **row}


_TABLES: dict[str, Callable[[sa.Connection], Rows]] = {
    "answers": _answers,
    "tasks": _tasks,
    "questions": _questions,
    "forms": _forms,
    "items": _items,
    "contents": _contents,
    "people": _people,
}
