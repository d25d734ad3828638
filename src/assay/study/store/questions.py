"""Questions in all their versions, and the words that people read with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.study.digests import canonical, digest_of
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


def question_names(db: sa.Connection) -> dict[int, str]:
    """What each version of each question is called, by its number; within a transaction."""
    q = tables.questions.c
    return {row.id: row.name for row in db.execute(sa.select(q.id, q.name))}


def questions_by_id(store: Store, ids: Sequence[int]) -> dict[int, Question]:
    """Questions in whatever version, in the order asked for."""
    q = tables.questions
    with store.reading() as db:
        rows = {row.id: row.definition for row in db.execute(sa.select(q).where(q.c.id.in_(ids)))}
    return {number: Question.model_validate(rows[number]) for number in ids}


# -- versions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Put:
    """How questions are put to people: what it takes to tell whether two wordings are one question."""

    columns: Sequence[str]
    """Those of the items."""
    hidden: Sequence[str]
    """Those that are never shown."""

    def digest(self, question: Question) -> str:
        """Names what people see of a question and may answer."""
        return digest_of(question.as_put(self.columns, self.hidden))


def put_questions(db: sa.Connection, asked: Sequence[Question], put: Put, now: float, *, same: bool = False) -> None:
    """Make these the questions that are asked.

    One that people see as they did before, however long ago, is that version again, with all its answers. Another
    wording is a new version, or (``same``) one more wording of the version that is asked now.
    """
    for question in asked:
        _put_question(db, question, put, now, same)
    q = tables.questions
    gone = q.c.name.not_in([question.name for question in asked])
    db.execute(sa.update(q).where(gone).values(current=False))


def _put_question(db: sa.Connection, question: Question, put: Put, now: float, same: bool) -> None:
    q = tables.questions
    digest, definition = put.digest(question), question.model_dump(mode="json")
    mine = q.c.name == question.name
    versions = db.execute(sa.select(q).where(mine).order_by(q.c.current.desc(), q.c.version.desc())).all()
    wordings = _wordings(db, versions, put)
    alike = [row.id for row in versions if digest in wordings[row.id]]
    if not alike and same and versions:
        alike = [versions[0].id]
    db.execute(sa.update(q).where(mine).values(current=False))
    if alike:
        for other in alike[1:]:  # before versions were compared with all before them, one might be made twice
            _merge(db, alike[0], other)
        db.execute(sa.update(q).where(q.c.id == alike[0]).values(current=True, definition=definition))
        _keep_wording(db, alike[0], digest, definition, now)
        return
    version = max((row.version for row in versions), default=0) + 1
    row = {"name": question.name, "version": version, "definition": definition}
    row |= {"digest": digest_of(definition), "current": True, "made_at": now}
    number = db.execute(sa.insert(q).returning(q.c.id), row).scalar_one()
    _keep_wording(db, number, digest, definition, now)


def _wordings(db: sa.Connection, versions: Sequence[Any], put: Put) -> dict[int, set[str]]:
    """The wordings of each version; those of versions that an earlier assay made are worked out first."""
    w = tables.wordings.c
    found: dict[int, set[str]] = {row.id: set() for row in versions}
    for row in db.execute(sa.select(w.question, w.digest).where(w.question.in_(found))):
        found[row.question].add(row.digest)
    for row in versions:
        if not found[row.id]:
            found[row.id].add(put.digest(Question.model_validate(row.definition)))
    return found


def _keep_wording(db: sa.Connection, question: int, digest: str, definition: dict[str, Any], now: float) -> None:
    row = {"question": question, "digest": digest, "definition": definition, "made_at": now}
    db.execute(insert(db, tables.wordings).on_conflict_do_nothing(), row)


def _merge(db: sa.Connection, kept: int, other: int) -> None:
    """Let the answers to one version be answers to another, where that has none of its own in their place."""
    _move(db, tables.assignments, "question", other, kept, ("item", "annotator", "recipe", "condition", "repeat"))
    t = tables.tasks.c
    for asked in db.execute(sa.select(t.questions).distinct()).scalars().all():
        ids = json.loads(asked)
        if other in ids:
            now = canonical([kept if number == other else number for number in ids])
            _move(db, tables.tasks, "questions", asked, now, ("annotator", "condition", "item", "repeat"))


def _move(db: sa.Connection, table: sa.TableClause, column: str, old: Any, new: Any, rest: Sequence[str]) -> None:
    """Put a value in place of another, where no row with the new one has the rest of the key."""
    there = table.alias()
    taken = sa.select(there.c[column]).where(there.c[column] == new, *(there.c[name] == table.c[name] for name in rest))
    moving = sa.update(table).where(table.c[column] == old, sa.not_(taken.correlate(table).exists()))
    db.execute(moving.values({column: new}))


# -- what people read beside them -------------------------------------------------------------------


def keep_form(store: Store, digest: str, definition: dict[str, Any]) -> int:
    """Keep the words that people read under a number; the same words have the same number."""
    f = tables.forms
    with store.writing() as db:
        row = {"digest": digest, "definition": definition, "made_at": store.now(db)}
        db.execute(insert(db, f).on_conflict_do_nothing(), row)
        return int(db.execute(sa.select(f.c.id).where(f.c.digest == digest)).scalar_one())
