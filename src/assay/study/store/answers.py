"""Answers: adding one closes its assignment, and nothing is ever changed or removed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl
import sqlalchemy as sa

from assay.data.scales import Label
from assay.study.store import tables
from assay.study.store.arrivals import CLOSES, CLOSING
from assay.study.store.connection import Store, chunked, insert
from assay.study.store.items import digests_of
from assay.study.store.queue import Claim
from assay.study.store.tables import FILE

Status = Literal["valid", "unreadable", "missing", "failed", "withdrawn"]
"""Of an answer. ``unreadable`` will be asked again, ``missing`` will not, ``failed`` had no reply."""


@dataclass(frozen=True)
class Answer:
    """What came back for an assignment."""

    status: Status
    label: str | int | float | None = None
    reason: str | None = None
    reply: str | None = None
    reasoning: str | None = None
    shown: dict[str, Any] | None = None
    model: str | None = None
    fingerprint: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None


# -- adding -----------------------------------------------------------------------------------------


def add_answer(store: Store, claim: Claim, run: int, answer: Answer, revision: int) -> bool:
    """Write a judge's answer in a transaction of its own; False where this one had been written already."""
    return store.arrivals.add(_row(answer, claim.id, run, revision))


def append(db: sa.Connection, row: Mapping[str, Any]) -> None:
    """Add an answer and close its assignment; within a transaction. The same request key twice adds nothing."""
    statement = insert(db, tables.answers).on_conflict_do_nothing().returning(tables.answers.c.id)
    number = db.execute(statement, row).scalar()
    if number is not None:
        db.execute(_CLOSE, {"answer": number})


_CLOSE = sa.text(
    f"update assignments set {CLOSING} from answers as new "
    f"where new.id = :answer and assignments.id = new.assignment and {CLOSES}"
)


def _row(answer: Answer, assignment: int, run: int | None, revision: int) -> dict[str, Any]:
    row = vars(answer) | {"assignment": assignment, "run": run, "revision": revision}
    return row | {"request_key": f"{assignment}:{revision}", "answered_at": time.time()}


# -- labels from a file -----------------------------------------------------------------------------


class FileLabel(NamedTuple):
    """What a label in a file answers."""

    item: str
    question: int
    annotator: str
    condition: str
    repeat: int


def put_file_labels(db: sa.Connection, wanted: Mapping[FileLabel, tuple[Any, Any]]) -> None:
    """Make these (label, what is kept beside it) the answers from the file; those that are gone are withdrawn.

    Answers to questions that are not asked now stay as they are, for when they are asked again.
    """
    a, s, q = tables.assignments, tables.answers, tables.questions.c
    key = (a.c.item, a.c.question, a.c.annotator, a.c.condition, a.c.repeat)
    mine = sa.select(a.c.id, *key, s.c.label, s.c.shown)
    mine = mine.select_from(a.outerjoin(s, s.c.id == a.c.answer)).where(a.c.session == FILE)
    mine = mine.where(a.c.question.in_(sa.select(q.id).where(q.current)))
    held = {FileLabel(*row[1:6]) for row in db.execute(mine)}
    new = [one._asdict() for one in wanted if one not in held]
    contents: dict[str, str] = {}
    for chunk in chunked({one.item for one in wanted}):
        contents |= digests_of(db, chunk)
    rest = {"recipe": "", "session": FILE, "status": "open", "active": True}
    for chunk in chunked(new):
        db.execute(sa.insert(a), [row | rest | {"content": contents[row["item"]]} for row in chunk])
    for there in db.execute(mine).all():
        label, shown = wanted.get(FileLabel(*there[1:6]), (None, None))
        if label is None and there.label is not None:
            _correct(db, there.id, Answer("withdrawn", reason="no longer in the file of labels"))
        elif label is not None and (label, shown) != (there.label, there.shown):
            _correct(db, there.id, Answer("valid", label, shown=shown))
            if there.label is not None:
                db.execute(sa.update(a).where(a.c.id == there.id).values(content=contents[there.item]))


def _correct(db: sa.Connection, assignment: int, answer: Answer) -> None:
    """Add an answer that no run has brought, after those that there are."""
    count = sa.select(sa.func.count()).where(tables.answers.c.assignment == assignment)
    append(db, _row(answer, assignment, None, db.execute(count).scalar_one() + 1))


# -- what there is ----------------------------------------------------------------------------------


def newest_answer(db: sa.Connection) -> int:
    """The number of the last answer that was given; 0 before the first. Within a transaction."""
    return int(db.execute(sa.select(sa.func.coalesce(sa.func.max(tables.answers.c.id), 0))).scalar_one())


def typical_output(store: Store, judge: str) -> float | None:
    """Mean number of tokens of a judge's replies so far; None with fewer than 20."""
    a, s = tables.assignments, tables.answers
    query = sa.select(sa.func.avg(s.c.tokens_out), sa.func.count(s.c.tokens_out))
    joined = s.join(a, a.c.id == s.c.assignment)
    with store.reading() as db:
        mean, number = db.execute(query.select_from(joined).where(a.c.annotator == judge)).one()
    return float(mean) if number >= 20 else None


class HumanLabel(NamedTuple):
    """A label that a person gave: to which item, of which document, and on which scale where that was varied."""

    item: str
    document: str | None
    label: Label
    scale: str | None


def human_labels(store: Store, question: int) -> list[HumanLabel]:
    """Every label that a person gave to a question and that counts, in the order of the items."""
    a, i, s, n = tables.assignments, tables.items, tables.answers, tables.annotators
    joined = a.join(s, s.c.id == a.c.answer).join(i, i.c.item == a.c.item).join(n, n.c.annotator == a.c.annotator)
    query = sa.select(i.c.item, i.c.document, s.c.label, a.c.condition).select_from(joined)
    query = query.where(s.c.status == "valid", a.c.active, i.c.active, a.c.question == question, n.c.kind == "human")
    with store.reading() as db:
        rows = db.execute(query.order_by(i.c.position, a.c.annotator, a.c.id)).all()
    return [HumanLabel(*row[:3], json.loads(row.condition).get("scale")) for row in rows]


def history(store: Store) -> pl.DataFrame:
    """Every answer ever given, in order, those that no longer count included."""
    a, q, s = tables.assignments, tables.questions, tables.answers
    query = sa.select(
        *(a.c.item, q.c.name.label("criterion"), q.c.version, a.c.annotator, a.c.condition, a.c.repeat),
        *(c for c in s.c if c.name not in ("id", "assignment")),
        sa.and_(a.c.active, q.c.current, a.c.answer == s.c.id).label("counts"),
    )
    joined = s.join(a, a.c.id == s.c.assignment).join(q, q.c.id == a.c.question)
    with store.reading() as db:
        rows = [dict(r._mapping) for r in db.execute(query.select_from(joined).order_by(s.c.id))]
    for row in rows:
        row["label"] = None if row["label"] is None else json.dumps(row["label"], ensure_ascii=False)
        row["shown"] = None if row["shown"] is None else json.dumps(row["shown"], ensure_ascii=False)
    return pl.DataFrame(rows, infer_schema_length=None)
