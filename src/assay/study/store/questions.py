"""Questions in all their versions, and the words that people read with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.study.digests import digest_of
from assay.study.schema import Question
from assay.study.store import tables
from assay.study.store.connection import Store, insert


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it stands in the store: its current version."""

    id: int
    version: int
    digest: str
    definition: Question


def questions(store: Store) -> list[AskedQuestion]:
    """The current version of every question."""
    with store.reading() as db:
        return current_questions(db)


def current_questions(db: sa.Connection) -> list[AskedQuestion]:
    """The current version of every question; within a transaction."""
    q = tables.questions
    rows = db.execute(sa.select(q).where(q.c.current).order_by(q.c.id))
    return [AskedQuestion(r.id, r.version, r.digest, Question.model_validate(r.definition)) for r in rows]


def questions_by_id(store: Store, ids: Sequence[int]) -> dict[int, Question]:
    """Questions in whatever version, in the order asked for."""
    q = tables.questions
    with store.reading() as db:
        rows = {row.id: row.definition for row in db.execute(sa.select(q).where(q.c.id.in_(ids)))}
    return {number: Question.model_validate(rows[number]) for number in ids}


def put_questions(db: sa.Connection, asked: Sequence[Question], now: float) -> None:
    """Make these the questions that are asked; one whose words or scale have changed becomes a new version."""
    for question in asked:
        _put_question(db, question, now)
    q = tables.questions
    gone = q.c.name.not_in([question.name for question in asked])
    db.execute(sa.update(q).where(gone).values(current=False))


def _put_question(db: sa.Connection, question: Question, now: float) -> None:
    q = tables.questions
    definition = question.model_dump(mode="json")
    digest = digest_of(definition)
    mine = q.c.name == question.name
    last = db.execute(sa.select(q).where(mine).order_by(q.c.version.desc()).limit(1)).first()
    if last is not None and last.digest == digest:
        db.execute(sa.update(q).where(q.c.id == last.id).values(current=True))
        return
    db.execute(sa.update(q).where(mine).values(current=False))
    row = {"name": question.name, "version": last.version + 1 if last else 1, "definition": definition}
    row |= {"digest": digest, "current": True, "made_at": now}
    db.execute(sa.insert(q), row)


def keep_form(store: Store, digest: str, definition: dict[str, Any]) -> int:
    """Keep the words that people read under a number; the same words have the same number."""
    f = tables.forms
    with store.writing() as db:
        row = {"digest": digest, "definition": definition, "made_at": store.now(db)}
        db.execute(insert(db, f).on_conflict_do_nothing(), row)
        return int(db.execute(sa.select(f.c.id).where(f.c.digest == digest)).scalar_one())
