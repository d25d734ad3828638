"""Every answer that was ever given: adding one closes its assignment, and nothing is changed or removed.

An assignment points to the answer that counts, so a correction keeps the answer it corrects.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl
import sqlalchemy as sa

from assay.data.scales import Label
from assay.study.store import tables
from assay.study.store.connection import CLOSES, CLOSING, AnswerRow, Store, batches, insert
from assay.study.store.items import digests_of
from assay.study.store.people import Task, is_excluded
from assay.study.store.tables import FILE, PAGE
from assay.study.store.work import Claim

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
    prompt: str | None = None
    """The body that was sent, as JSON; kept once for all answers of its fingerprint."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None


class NewAnswer(NamedTuple):
    """A judge's answer to a claimed assignment; ``revision`` numbers the answers of the assignment."""

    claim: Claim
    run: int
    answer: Answer
    revision: int


def add_answers(store: Store, new: Sequence[NewAnswer]) -> list[bool | Exception]:
    """Write answers of judges in one transaction.

    Returns
    -------
    list of bool or Exception
        For each answer whether it was written, False if it existed already; or its error, while the others are written.
    """
    rows = [(_row(one.answer, one.claim.id, one.run, one.revision), one.answer.prompt) for one in new]
    return store.answer_feed.add([AnswerRow(*row) for row in rows])


def add_answer(store: Store, claim: Claim, run: int, answer: Answer, revision: int) -> bool:
    """Write a judge's answer in its own transaction; return False if it existed already."""
    (written,) = add_answers(store, [NewAnswer(claim, run, answer, revision)])
    if isinstance(written, Exception):
        raise written
    return written


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


_CLOSE_REVISION = sa.text(
    f"update assignments set {CLOSING} from answers as new where assignments.id = :assignment and {CLOSES} "
    "and new.assignment = assignments.id and new.revision = :revision"
)


def _row(answer: Answer, assignment: int, run: int | None, revision: int) -> dict[str, Any]:
    row = vars(answer) | {
        **{"assignment": assignment, "run": run, "revision": revision},
        **{"request_key": f"{assignment}:{revision}", "answered_at": time.time()},
    }
    del row["prompt"]
    for name in _TEXTS:
        if isinstance(row[name], str):
            row[name] = _storable(row[name])
    return row


_TEXTS = ("label", "reason", "reply", "reasoning", "model")
"""Columns that can have any text."""


def _storable(text: str) -> str:
    """Return a text that both databases accept: half a character, as at the end of a truncated response, and NUL as
    escapes."""
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


# -- labels from a file -------------------------------------------------------------------------------


class FileLabel(NamedTuple):
    """The item, annotator and question of a label in a file."""

    item: str
    question: int
    annotator: str
    condition: str
    repeat: int


def put_file_labels(db: sa.Connection, wanted: Mapping[FileLabel, tuple[Any, Any]]) -> None:
    """Make these (label, extra columns) the answers from the file; withdraw those that are no longer in it.

    Answers to questions that are not in the study now stay unchanged, and count again with their question.
    """
    a, s, q = tables.assignments, tables.answers, tables.questions.c
    mine = sa.select(a.c.item, a.c.question, a.c.annotator, a.c.condition, a.c.repeat, a.c.id, s.c.label, s.c.shown)
    mine = mine.select_from(a.outerjoin(s, s.c.id == a.c.answer)).where(a.c.session == FILE)
    mine = mine.where(a.c.question.in_(sa.select(q.id).where(q.current)))
    held = {FileLabel(*row[:5]) for row in db.execute(mine)}
    contents: dict[str, str] = {}
    for chunk in batches({one.item for one in wanted}):
        contents |= digests_of(db, chunk)
    rest = {"recipe": "", "session": FILE, "status": "open", "active": True}
    for chunk in batches(one for one in wanted if one not in held):
        db.execute(sa.insert(a), [one._asdict() | rest | {"content": contents[one.item]} for one in chunk])
    corrected: dict[int, Answer] = {}
    contents_now = []
    for there in db.execute(mine).all():
        label, shown = wanted.get(FileLabel(*there[:5]), (None, None))
        if label is None and there.label is not None:
            corrected[there.id] = Answer("withdrawn", reason="no longer in the file of labels")
        elif label is not None and (label, shown) != (there.label, there.shown):
            corrected[there.id] = Answer("valid", label, shown=shown)
            if there.label is not None:
                contents_now.append({"number": there.id, "now": contents[there.item]})
    _correct(db, corrected)
    if contents_now:
        shown_now = sa.update(a).where(a.c.id == sa.bindparam("number")).values(content=sa.bindparam("now"))
        db.execute(shown_now, contents_now)


def _correct(db: sa.Connection, corrected: Mapping[int, Answer]) -> None:
    """Add answers that no run has brought, by assignment, each after those that there are; many at a time."""
    s = tables.answers.c
    for chunk in batches(corrected):
        count = sa.select(s.assignment, sa.func.count()).where(s.assignment.in_(chunk)).group_by(s.assignment)
        counts = {row[0]: row[1] for row in db.execute(count)}
        rows = [_row(corrected[number], number, None, counts.get(number, 0) + 1) for number in chunk]
        db.execute(sa.insert(tables.answers), rows)
        db.execute(_CLOSE_REVISION, [{name: row[name] for name in ("assignment", "revision")} for row in rows])


# -- answers that people give on the page, to the questions of a task; within the caller's transaction ---


_A, _S = tables.assignments.c, tables.answers.c
_OF_TASK = sa.and_(
    *(getattr(_A, column) == sa.bindparam(column) for column in ("annotator", "item", "condition", "repeat")),
    *(_A.recipe == PAGE, _A.question.in_(sa.bindparam("asked"))),
)
_ANSWERS_TO = (
    sa.select(_A.question, _S.revision, _S.request_key, _S.answered_at, _S.label)
    .select_from(tables.EVERY)
    .where(_OF_TASK)
    .order_by(_S.id)
)
_GIVEN_BY = (
    sa.select(
        *(_A.item, _A.condition, _A.repeat, _A.question),
        *(_S.label, _S.revision, _S.status, _S.comment, _S.flag, _S.reason, _S.shown),
    )
    .select_from(tables.EVERY)
    .where(
        *(_A.annotator == sa.bindparam("person"), _A.recipe == PAGE),
        _A.item.in_(sa.bindparam("names")),
    )
    .order_by(_S.id)
)


def _task_filter(task: Task) -> dict[str, Any]:
    """What names the assignments that hold the answers to a task, to all of its questions."""
    place = {column: getattr(task, column) for column in ("annotator", "item", "condition", "repeat")}
    return place | {"asked": json.loads(task.questions)}


def answers_to(db: sa.Connection, task: Task) -> Sequence[Any]:
    """Every answer to a task so far: question, revision, request_key, answered_at, label."""
    return db.execute(_ANSWERS_TO, _task_filter(task)).all()


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
    """Withdraw the answers to a task, each with a separate answer that records it."""
    count = sa.select(sa.func.max(_S.revision)).where(_S.assignment == _A.id).scalar_subquery()
    rows = db.execute(sa.select(_A.id, count.label("revision")).where(_OF_TASK), _task_filter(task)).all()
    newest = max((row.revision or 0 for row in rows), default=0) + 1
    for row in rows:
        answer = {"assignment": row.id, "request_key": f"reopened/{row.id}/{newest}", "revision": newest}
        append(db, answer | {"status": "withdrawn", "reason": reason, "answered_at": now})


def answers_by(db: sa.Connection, person: str, items: Collection[str]) -> Sequence[Any]:
    """A person's answers to these items, in the order in which they came."""
    return db.execute(_GIVEN_BY, {"person": person, "names": list(items)}).all()


def newest_answer(db: sa.Connection) -> int:
    """The number of the last answer that was given; 0 before the first. Within a transaction."""
    return int(db.execute(sa.select(sa.func.coalesce(sa.func.max(tables.answers.c.id), 0))).scalar_one())


def answers_so_far(db: sa.Connection) -> tuple[int, float | None]:
    """The number of answers that were ever given, and the time of the last; within a transaction."""
    s = tables.answers.c
    number, last = db.execute(sa.select(sa.func.count(s.id), sa.func.max(s.answered_at))).one()
    return int(number), last


# -- what there is -------------------------------------------------------------------------------------

FEW_REPLIES = 20
"""With fewer replies their mean length says less than a guess by the kind of question."""

UNREADABLE = ("unreadable", "missing")
"""Statuses of answers without a label; the first are requested again."""


def typical_output(store: Store, judge: str) -> float | None:
    """Mean number of tokens of a judge's replies so far; None with fewer than `FEW_REPLIES`."""
    s = tables.answers.c
    query = sa.select(sa.func.avg(s.tokens_out), sa.func.count(s.tokens_out)).select_from(tables.EVERY)
    with store.reading() as db:
        mean, number = db.execute(query.where(tables.assignments.c.annotator == judge)).one()
    return float(mean) if number >= FEW_REPLIES else None


class HumanLabel(NamedTuple):
    """A human label: its item, document and, if the study varies it, its scale."""

    item: str
    document: str | None
    label: Label
    scale: str | None


def human_labels(store: Store, question: int) -> list[HumanLabel]:
    """Every label that a person gave to a question and that counts, in the order of the items."""
    a, i, s, n = (table.c for table in (tables.assignments, tables.items, tables.answers, tables.annotators))
    query = sa.select(i.item, i.document, s.label, a.condition)
    query = query.select_from(tables.join(tables.LATEST, tables.items, tables.annotators))
    query = query.where(s.status == "valid", a.active, i.active, a.question == question, n.kind == "human")
    query = query.where(sa.not_(is_excluded(a.annotator)))
    with store.reading() as db:
        rows = db.execute(query.order_by(i.position, a.annotator, a.id)).all()
    return [HumanLabel(*row[:3], json.loads(row.condition).get("scale")) for row in rows]


def history(store: Store) -> pl.DataFrame:
    """Every answer ever given, in order, those that no longer count included."""
    a, q, s = tables.assignments.c, tables.questions.c, tables.answers.c
    query = sa.select(
        *(a.item, q.name.label("criterion"), q.version, a.annotator, a.condition, a.repeat),
        *(c for c in s if c.name not in ("id", "assignment")),
        sa.and_(a.active, q.current, a.answer == s.id).label("counts"),
    )
    with store.reading() as db:
        found = db.execute(query.select_from(tables.join(tables.EVERY, tables.questions)).order_by(s.id))
        rows = [dict(row._mapping) for row in found]
    for row in rows:
        for name in ("label", "shown"):
            row[name] = None if row[name] is None else json.dumps(row[name], ensure_ascii=False)
    return pl.DataFrame(rows, infer_schema_length=None)


def latest_replies(
    store: Store, *, judges: Sequence[str] | None = None, item: str | None = None, unreadable: bool = False
) -> list[dict[str, Any]]:
    """Return the latest response to each current question for judges, in the order of the items.

    Parameters
    ----------
    store : Store
    judges : list of str, optional
        Only of these.
    item : str, optional
        Only about this one.
    unreadable : bool
        Only replies from which no label could be read.

    Returns
    -------
    list of dict
        annotator, item, criterion, condition, repeat, status, label, reason, reply, reasoning, and the ``prompt`` that
        it replies to: the body of the call as JSON.
    """
    a, s, i, q, p = (getattr(tables, name).c for name in ("assignments", "answers", "items", "questions", "prompts"))
    newest = sa.select(sa.func.max(s.id)).where(s.status != "failed").group_by(s.assignment)
    query = sa.select(
        *(a.annotator, a.item, q.name.label("criterion"), a.condition, a.repeat),
        *(s.status, s.label, s.reason, s.reply, s.reasoning, p.body.label("prompt")),
    )
    joined = tables.join(tables.EVERY, tables.items, tables.questions)
    query = query.select_from(joined.outerjoin(tables.prompts, p.fingerprint == s.fingerprint))
    query = query.where(s.id.in_(newest), s.reply.is_not(None), a.active, q.current, i.active)
    for column, values in ((a.annotator, judges), (a.item, item and [item]), (s.status, unreadable and UNREADABLE)):
        query = query.where(column.in_(values)) if values else query
    with store.reading() as db:
        rows = [dict(row._mapping) for row in db.execute(query.order_by(i.position, a.id))]
    return [row | {"condition": json.loads(row["condition"])} for row in rows]
