"""Who is to answer what: judges' assignments, the runs that ask them, and who holds which."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from assay.study.items import Item
from assay.study.store import tables
from assay.study.store.changes import Changed, counting_answers, deciding
from assay.study.store.connection import Store, chunked, insert, put_setting
from assay.study.store.found import Assignment, found_again
from assay.study.store.questions import question_names
from assay.study.store.tables import FILE

LEASE = 60.0
"""Seconds after which a run on another machine that gives no sign of life loses what it had claimed."""

PLANNED = "plan"
"""The setting that names the plan whose assignments are in the store."""


@dataclass(frozen=True)
class Claim:
    """An assignment that a run holds, with what is needed to ask it."""

    id: int
    item: Item
    question: int
    annotator: str
    condition: dict[str, Any]
    repeat: int
    shown: dict[str, Any] | None
    revision: int
    """How many answers there are already."""
    unread: tuple[str, str] | None
    """The last reply and what was wrong with it, where it could not be read and is to be asked again."""


# -- what is planned --------------------------------------------------------------------------------


def plan(store: Store, assignments: Iterable[Assignment], digest: str, changed: Changed | None = None) -> None:
    """Make exactly these the assignments of the judges; others of theirs no longer count.

    Answers that fit an assignment made before are found again, whatever was planned in between, and in whatever
    version of its question. Nothing happens where ``digest`` is that of the plan before.

    Raises
    ------
    ChangedStudyError
        Where answers would no longer count and nobody said (``changed``) what the change means; nothing was changed.
    """
    if store.setting(PLANNED) == digest:
        return
    a, n = tables.assignments, tables.annotators.c
    of_judges = a.c.annotator.in_(sa.select(n.annotator).where(n.kind == "judge"))
    from_file = sa.func.coalesce(a.c.session, "") == FILE
    with deciding(store, changed) as change:
        db = change.db
        counting = set(counting_answers(db)) if change.changed == "same-question" else set()
        db.execute(sa.update(a).where(of_judges, sa.not_(from_file)).values(active=False))
        key = ["item", "question", "annotator", "recipe", "condition", "repeat"]
        statement = insert(db, a).on_conflict_do_update(index_elements=key, set_={"active": True})
        names = question_names(db)
        for chunk in chunked(assignments):
            rows = found_again(db, chunk, names, counting)
            db.execute(statement, [row | {"status": "open", "active": True} for row in rows])
        put_setting(db, PLANNED, digest)


# -- runs -------------------------------------------------------------------------------------------


def start_run(store: Store) -> int:
    """Say that a run begins; what runs that have died had claimed becomes open again.

    Questions that had no reply in an earlier run are open again too.
    """
    a = tables.assignments
    with store.writing() as db:
        now = store.now(db)
        row = {"host": _host(), "process": _process(os.getpid()), "started_at": now, "seen_at": now, "cost": 0.0}
        run = db.execute(sa.insert(tables.runs).returning(tables.runs.c.id), row).scalar_one()
        release_expired(db, now)
        db.execute(sa.update(a).where(a.c.status == "failed").values(status="open"))
    return int(run)


def heartbeat(store: Store, run: int) -> None:
    """Give a sign of life, and make everything written so far safe against a loss of power."""
    r = tables.runs
    with store.writing_durably() as db:
        now = store.now(db)
        db.execute(sa.update(r).where(r.c.id == run).values(seen_at=now))
        release_expired(db, now)


def end_run(store: Store, run: int) -> None:
    """Say that a run is over; what it has claimed and not answered becomes open again."""
    r = tables.runs
    with store.writing() as db:
        db.execute(sa.update(r).where(r.c.id == run).values(ended_at=store.now(db)))
        _release(db, [run])


def spent(store: Store) -> float:
    """Dollars paid so far, by all runs."""
    with store.reading() as db:
        return float(db.execute(sa.select(sa.func.coalesce(sa.func.sum(tables.runs.c.cost), 0.0))).scalar_one())


def release_expired(db: sa.Connection, now: float) -> None:
    """Open again what is claimed by runs whose process is gone, or whose lease is over."""
    a, r = tables.assignments.c, tables.runs
    claimed = sa.select(a.run).where(a.status == "claimed").distinct()
    rows = db.execute(sa.select(r).where(r.c.id.in_(claimed))).all()
    host = _host()
    dead = [row.id for row in rows if now - row.seen_at > LEASE or (row.host == host and not _alive(row.process))]
    if dead:
        _release(db, dead)


def _release(db: sa.Connection, runs: Sequence[int]) -> None:
    a = tables.assignments
    held = sa.and_(a.c.status == "claimed", a.c.run.in_(runs))
    db.execute(sa.update(a).where(held).values(status="open", run=None))


# -- claims -----------------------------------------------------------------------------------------


def claim(store: Store, run: int, judges: Sequence[str], most: int) -> list[Claim]:
    """Take up to ``most`` open assignments of these judges; nobody else gets them."""
    a = tables.assignments
    wanted = sa.select(a.c.id).where(a.c.status == "open", a.c.active, a.c.annotator.in_(judges))
    wanted = wanted.order_by(a.c.id).limit(most).with_for_update(skip_locked=True)
    take = sa.update(a).where(a.c.id.in_(wanted.scalar_subquery())).values(status="claimed", run=run)
    with store.writing() as db:
        ids = list(db.execute(take.returning(a.c.id)).scalars())
        return _claims(db, ids)


def sample(store: Store, judge: str, most: int) -> list[Claim]:
    """Some open assignments of a judge, as if claimed: for estimates."""
    a = tables.assignments
    wanted = sa.select(a.c.id).where(a.c.status.in_(("open", "failed")), a.c.active, a.c.annotator == judge)
    with store.reading() as db:
        return _claims(db, list(db.execute(wanted.order_by(a.c.id).limit(most)).scalars()))


def counts(store: Store, judges: Sequence[str] | None = None) -> dict[str, int]:
    """How many of the judges' current assignments are open, claimed, answered, missing, failed."""
    a = tables.assignments
    query = sa.select(a.c.status, sa.func.count()).where(a.c.active).group_by(a.c.status)
    if judges is not None:
        query = query.where(a.c.annotator.in_(judges))
    with store.reading() as db:
        return {status: int(number) for status, number in db.execute(query)}


def _claims(db: sa.Connection, ids: list[int]) -> list[Claim]:
    a, i, s = tables.assignments, tables.items, tables.answers.c
    before = sa.select(s.assignment, s.status, s.reply, s.reason).where(s.assignment.in_(ids)).order_by(s.id)
    earlier: dict[int, list[Any]] = {}
    for row in db.execute(before):
        earlier.setdefault(row.assignment, []).append(row)
    wanted = sa.select(
        *(a.c.id, a.c.question, a.c.annotator, a.c.condition, a.c.repeat, a.c.shown),
        *(i.c.item, i.c.document, i.c.fields),
    )
    wanted = wanted.select_from(a.join(i, i.c.item == a.c.item)).where(a.c.id.in_(ids)).order_by(a.c.id)
    return [_claim(row, earlier.get(row.id, [])) for row in db.execute(wanted)]


def _claim(row: Any, earlier: Sequence[Any]) -> Claim:
    unread = next((answer for answer in reversed(earlier) if answer.status == "unreadable"), None)
    return Claim(
        id=row.id,
        item=Item(row.item, row.document, row.fields),
        question=row.question,
        annotator=row.annotator,
        condition=json.loads(row.condition),
        repeat=row.repeat,
        shown=row.shown,
        revision=len(earlier),
        unread=None if unread is None else (unread.reply or "", unread.reason or ""),
    )


# -- processes --------------------------------------------------------------------------------------


def _host() -> str:
    """This machine since its last start, and this container on it."""
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(str(Path(path).readlink()) if "ns" in path else Path(path).read_text().strip())
        except OSError:
            parts.append("")
    return "/".join(parts)


def _process(pid: int) -> str:
    """A process's number with the moment it began, as numbers are given out again."""
    try:
        return f"{pid}:{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:
        return f"{pid}:"


def _alive(process: str) -> bool:
    """Whether a process of this machine still runs; True where that cannot be told."""
    pid = int(process.partition(":")[0])
    if Path("/proc/self/stat").exists():
        return _process(pid) == process
    if sys.platform == "win32":
        return True  # there, signal 0 would end it; the lease decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
