"""Who is to answer what: changes of the study, the plan of its judging, runs and their claims, triplets."""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from assay.data.columns import PART
from assay.errors import ChangedStudyError, StudyError, counted, listing
from assay.statistics.comparisons.triplets import Sampler, name_of
from assay.study.items import Item, chance
from assay.study.schema import OUTPUT_ABOUT, TRIPLET, TRIPLET_ITEMS, Role
from assay.study.store import tables
from assay.study.store.connection import Connection, Store, batches, insert, put_setting, setting
from assay.study.store.items import (
    DRAWN,
    NOT_COUNTED,
    NewItem,
    items,
    items_named,
    put_items,
    question_names,
    questions,
)
from assay.study.store.people import invited_names, is_excluded, triplets_drawn
from assay.study.store.tables import FILE

# -- a change of the study ---------------------------------------------------------------------------

Changed = Literal["new-version", "same-question"]
"""How to treat a change: another question, to which earlier answers do not apply; or still the same one."""


@dataclass
class Change:
    """A change under way: which answers will no longer count is known when its block has ended."""

    db: Connection
    changed: Changed | None
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many answers no longer count, by question and kind of annotator."""

    @property
    def words(self) -> str:
        """Word the lost answers: ``20 answers to 'quality' (12 by annotators, 8 by judges) would no longer count``;
        empty if none."""
        if not self.lost:
            return ""
        parts = []
        for question in dict.fromkeys(question for question, _ in sorted(self.lost)):
            kinds = {name: self.lost[question, kind] for kind, name in (("human", "annotators"), ("judge", "judges"))}
            who = [f"{number} by {name}" for name, number in kinds.items() if number]
            parts.append(f"{counted(sum(kinds.values()), 'answer')} to '{question}' ({', '.join(who)})")
        return f"{listing(parts)} would no longer count, because the study has changed since they were given"


@contextmanager
def change_study(store: Store, changed: Changed | None) -> Iterator[Change]:
    """Run one transaction that fails if answers would no longer count, unless the caller allows it.

    Labels from a file follow the file. A block within another is decided by the outer one.

    Raises
    ------
    ChangedStudyError
        At the end of the block, which then has changed nothing.
    """
    outer: Change | None = getattr(store.within, "change", None)
    if outer is not None:
        yield outer
        return
    with store.together() as db:
        store.within.change = change = Change(db, changed)
        try:
            _note_counting(db)
            yield change
            change.lost = _lost(db)
        finally:
            store.within.change = None
        if change.lost and changed is None:
            raise ChangedStudyError(change.words)
        if change.lost and changed == "same-question":
            raise ChangedStudyError(
                f"{change.words} with either option: their question, item, judge or condition is gone",
                can_keep=False,
            )


_PLACE = ("question", "kind", "item", "annotator", "condition", "repeat")
"""The identity of an answer, in any wording of its question."""

_BEFORE = sa.table("counting_before", sa.column("id"), *map(sa.column, _PLACE))
"""The answers that counted before a change: a table, as there may be more than fit in memory."""


@cache
def counting_answers() -> sa.Select[Any]:
    """Return the assignments whose answer is in the table, except labels of a file, with the identity of each
    answer."""
    a, s, i, q, n = (
        t.c for t in (tables.assignments, tables.answers, tables.items, tables.questions, tables.annotators)
    )
    query = sa.select(a.id, q.name.label("question"), n.kind, a.item, a.annotator, a.condition, a.repeat)
    query = query.select_from(tables.join(tables.LATEST, tables.items, tables.questions, tables.annotators))
    query = query.where(a.active, q.current, i.active, i.role.not_in(NOT_COUNTED), s.status == "valid")
    query = query.where(sa.or_(n.kind == "human", n.active), sa.func.coalesce(a.session, "") != FILE)
    return query.where(sa.not_(is_excluded(a.annotator)))


def _note_counting(db: sa.Connection) -> None:
    """Write down which answers count, for `_lost`."""
    columns = "id integer primary key, question text, kind text, item text, annotator text, condition text, "
    db.execute(sa.text(f"create temporary table if not exists {_BEFORE.name} ({columns} repeat integer)"))
    db.execute(sa.delete(_BEFORE))
    db.execute(sa.insert(_BEFORE).from_select(["id", *_PLACE], counting_answers()))


def _lost(db: sa.Connection) -> Counter[tuple[str, str]]:
    """By question and kind of annotator, how many answers that were written down no longer count.

    An answer that has another name now still counts; and where another answer counts in the same place, as after a
    change is taken back, none is lost.
    """
    now = counting_answers().cte("now")
    gone = sa.select(*(_BEFORE.c[name] for name in _PLACE)).where(_BEFORE.c.id.not_in(sa.select(now.c.id)))
    lost: Counter[tuple[str, str]] = Counter()
    if db.execute(gone.limit(1)).first() is not None:
        places = gone.except_(sa.select(*(now.c[name] for name in _PLACE))).subquery()
        by = (places.c.question, places.c.kind)
        lost.update(
            {(one[0], one[1]): int(one[2]) for one in db.execute(sa.select(*by, sa.func.count()).group_by(*by))}
        )
    db.execute(sa.delete(_BEFORE))
    return lost


# -- the plan ------------------------------------------------------------------------------------------

LEASE = 60.0
"""Seconds without a sign of life after which a run on another machine loses its claims: many times the second between
two signs, so that a slow machine keeps its claims."""

PLANNED = "plan"
"""The setting that names the plan whose assignments are in the store."""


@dataclass(frozen=True)
class Assignment:
    """One question about one item for one annotator, under one condition, for the n-th time."""

    item: str
    question: int
    annotator: str
    recipe: str
    """Names the request that is sent."""
    condition: str
    repeat: int
    shown: dict[str, Any] | None = None
    content: str | None = None
    """Names the content of the item."""


def plan(store: Store, assignments: Iterable[Assignment], digest: str, changed: Changed | None = None) -> None:
    """Make exactly these the assignments of the judges; others of theirs no longer count.

    Answers that fit an earlier assignment are found again, from any earlier plan and version of the question; so are
    answers to the same request under another name (of its judge, question or condition). Nothing happens if ``digest``
    is that of the last plan.

    Raises
    ------
    ChangedStudyError
        If answers would no longer count and ``changed`` is not given; nothing was changed.
    """
    if store.setting(PLANNED) == digest:
        return
    a, n = tables.assignments, tables.annotators.c
    of_judges = a.c.annotator.in_(sa.select(n.annotator).where(n.kind == "judge"))
    from_file = sa.func.coalesce(a.c.session, "") == FILE
    with change_study(store, changed) as change:
        db = change.db
        ids = sa.select(counting_answers().subquery().c.id)
        counting = set(db.execute(ids).scalars()) if change.changed == "same-question" else set()
        db.execute(sa.update(a).where(of_judges, sa.not_(from_file)).values(active=False))
        key = ["item", "question", "annotator", "recipe", "condition", "repeat"]
        statement = insert(db, a).on_conflict_do_update(index_elements=key, set_={"active": True})
        names = question_names(db)
        for chunk in batches(assignments):
            rows = _rows_as_before(db, chunk, names, counting)
            db.execute(statement, [row | {"status": "open", "active": True} for row in rows])
        _rename_answered(db)
        put_setting(db, PLANNED, digest)


def _rename_answered(db: sa.Connection) -> None:
    """Reuse answers that no plan needs for the same request under another name that has no answer.

    A request is its words, images, schema and parameters: an arm that is added, or a judge that gets another name, does
    not ask it again.
    """
    a, n = tables.assignments, tables.annotators.c
    of_judges = sa.and_(a.c.annotator.in_(sa.select(n.annotator).where(n.kind == "judge")), a.c.session.is_(None))
    unasked = sa.not_(sa.exists().where(tables.answers.c.assignment == a.c.id))
    wanted = sa.select(a).where(a.c.active, of_judges, a.c.status.in_(("open", "failed")), unasked)
    answered = sa.select(a.c.id, a.c.item, a.c.recipe, a.c.repeat, a.c.annotator, a.c.condition)
    answered = answered.where(sa.not_(a.c.active), of_judges, a.c.answer.is_not(None))
    if db.execute(answered.limit(1)).first() is None:
        return
    for chunk in batches(db.execute(wanted.order_by(a.c.id)).all()):
        there: dict[tuple[str, str, int], list[Any]] = {}
        some = answered.where(a.c.item.in_({one.item for one in chunk}), a.c.recipe.in_({one.recipe for one in chunk}))
        for row in db.execute(some.order_by(a.c.id)):
            there.setdefault((row.item, row.recipe, row.repeat), []).append(row)
        pairs = []
        for one in chunk:
            mine = there.get((one.item, one.recipe, one.repeat), [])
            if mine:
                found = next((row for row in mine if row.annotator == one.annotator), mine[0])
                mine.remove(found)
                place = {"question": one.question, "annotator": one.annotator, "condition": one.condition}
                pairs.append((one.id, found.id, place))
        if pairs:
            db.execute(sa.delete(a).where(a.c.id.in_([number for number, _, _ in pairs])))
        for _, number, place in pairs:
            db.execute(sa.update(a).where(a.c.id == number).values(active=True, **place))


def _rows_as_before(
    db: sa.Connection, wanted: Sequence[Assignment], names: Mapping[int, str], counting: Collection[int]
) -> list[dict[str, Any]]:
    """The rows of assignments, under the recipe and in the version of the question in which they are there already.

    Parameters
    ----------
    names : dict
        The name of each version of each question.
    counting : set of int
        Assignments whose answers count in any case.
    """
    a, s = tables.assignments, tables.same_requests

    def place(one: Any) -> tuple[Any, ...]:
        return one.item, names[one.question], one.annotator, one.condition, one.repeat

    there: dict[tuple[Any, ...], list[Any]] = {}
    query = sa.select(a.c.id, a.c.item, a.c.question, a.c.annotator, a.c.recipe, a.c.condition, a.c.repeat)
    query = query.where(a.c.item.in_({one.item for one in wanted}), a.c.session.is_(None))
    for row in db.execute(query.order_by(a.c.id)):
        there.setdefault(place(row), []).append(row)
    query = sa.select(s).where(s.c.recipe.in_({one.recipe for one in wanted}))
    same = {(row.annotator, row.recipe): row.same_as for row in db.execute(query)}
    rows, moved, alike = [], [], []
    for one in wanted:
        recipe = same.get((one.annotator, one.recipe), one.recipe)
        mine = there.get(place(one), [])
        fitting = [row for row in mine if row.recipe == recipe]
        found: Any = next((row for row in fitting if row.question == one.question), fitting[0] if fitting else None)
        if found is None and (kept := next((row for row in mine if row.id in counting), None)) is not None:
            found, recipe = kept, kept.recipe
            alike.append({"annotator": one.annotator, "recipe": one.recipe, "same_as": recipe})
        if found is not None and found.question != one.question:
            moved.append({"number": found.id, "now": one.question})
        rows.append({**vars(one), "recipe": recipe})
    if moved:
        db.execute(sa.update(a).where(a.c.id == sa.bindparam("number")).values(question=sa.bindparam("now")), moved)
    if alike:
        db.execute(insert(db, s).on_conflict_do_nothing(), alike)
    return rows


# -- runs --------------------------------------------------------------------------------------------


def start_run(store: Store) -> int:
    """Say that a run begins; what runs that have died had claimed becomes open again.

    Questions without a response in an earlier run become open again as well.
    """
    a = tables.assignments
    with store.writing() as db:
        now = store.now(db)
        row = {"host": _host(), "process": _process(os.getpid()), "started_at": now, "seen_at": now, "cost": 0.0}
        run = db.execute(sa.insert(tables.runs).returning(tables.runs.c.id), row).scalar_one()
        _release_expired(db, now)
        db.execute(sa.update(a).where(a.c.status == "failed").values(status="open"))
    return int(run)


def heartbeat(store: Store, run: int) -> None:
    """Give a sign of life, and make everything written so far safe against a loss of power."""
    r = tables.runs
    with store.writing_durably() as db:
        now = store.now(db)
        db.execute(sa.update(r).where(r.c.id == run).values(seen_at=now))
        _release_expired(db, now)


def end_run(store: Store, run: int) -> None:
    """Record that a run is over; its claims without an answer become open again."""
    r = tables.runs
    with store.writing() as db:
        db.execute(sa.update(r).where(r.c.id == run).values(ended_at=store.now(db)))
        _release(db, [run])


def charge(store: Store, run: int, cost: float) -> None:
    """Add the cost of a call that answers no question to a run."""
    r = tables.runs
    with store.writing() as db:
        db.execute(sa.update(r).where(r.c.id == run).values(cost=r.c.cost + cost))


def dollars_spent(store: Store) -> float:
    """Dollars paid so far, by all runs."""
    with store.reading() as db:
        return float(db.execute(sa.select(sa.func.coalesce(sa.func.sum(tables.runs.c.cost), 0.0))).scalar_one())


def _release_expired(db: sa.Connection, now: float) -> None:
    """Release the claims of runs whose process is gone, or whose lease is over."""
    a, r = tables.assignments.c, tables.runs
    claimed = sa.select(a.run).where(a.status == "claimed").distinct()
    rows = db.execute(sa.select(r).where(r.c.id.in_(claimed))).all()
    host = _host()
    dead = [row.id for row in rows if now - row.seen_at > LEASE or (row.host == host and not _alive(row.process))]
    if dead:
        _release(db, dead)


def _release(db: sa.Connection, runs: Sequence[int]) -> None:
    a, s = tables.assignments, tables.answers
    held = sa.and_(a.c.status == "claimed", a.c.run.in_(runs))
    missing = sa.exists().where(s.c.id == a.c.answer, s.c.status == "missing")
    db.execute(sa.update(a).where(held).values(status=sa.case((missing, "missing"), else_="open"), run=None))


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
    """Return whether a process of this machine still runs; True if unknown."""
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


# -- batches -----------------------------------------------------------------------------------------
# A batch is a separate run without a process: its claims outlive the process that sent it.

BATCH_DAYS = 30
"""Days for which a batch keeps its claims: as long as services keep its results."""

_BATCHES, _BATCH_HOST = "batches", "batch"


def start_batch(store: Store, about: Mapping[str, Any]) -> dict[str, Any]:
    """Say that a batch is being made; the record that is kept of it, with its ``run``."""
    with store.exclusive() as db:
        now = store.now(db)
        row = {"host": _BATCH_HOST, "process": about["name"], "started_at": now, "cost": 0.0}
        row["seen_at"] = now + BATCH_DAYS * 86_400
        run = db.execute(sa.insert(tables.runs).returning(tables.runs.c.id), row).scalar_one()
        record = {**about, "run": int(run), "made_at": now}
        put_setting(db, _BATCHES, [*(setting(db, _BATCHES) or []), record])
    return record


def batches_kept(store: Store) -> list[dict[str, Any]]:
    """The records of all batches, in the order in which they were made."""
    return list(store.setting(_BATCHES) or [])


def note_batch(store: Store, record: Mapping[str, Any]) -> None:
    """Store a record, replacing the one of the same name."""
    with store.exclusive() as db:
        kept = [record if one["name"] == record["name"] else one for one in setting(db, _BATCHES) or []]
        put_setting(db, _BATCHES, [dict(one) for one in kept])


def this_process() -> dict[str, str]:
    """Names this process, see `is_alive`."""
    return {"host": _host(), "process": _process(os.getpid())}


def is_alive(host: str, process: str) -> bool:
    """Return whether another process of this machine still runs; for other machines it is unknown."""
    return host == _host() and process != _process(os.getpid()) and _alive(process)


def seconds_since(store: Store, moment: float) -> float:
    """Seconds that have gone by, on the store's clock."""
    with store.reading() as db:
        return store.now(db) - moment


def open_failed(store: Store) -> None:
    """Open again the questions that had no reply."""
    a = tables.assignments
    with store.writing() as db:
        db.execute(sa.update(a).where(a.c.status == "failed").values(status="open"))


def give_back(store: Store, claims: Sequence[Claim]) -> None:
    """Release claims that will not be requested."""
    a = tables.assignments
    with store.writing_durably() as db:
        for chunk in batches([one.id for one in claims]):
            db.execute(sa.update(a).where(a.c.id.in_(chunk), a.c.status == "claimed").values(status="open", run=None))


def claims_held(store: Store, run: int) -> tuple[dict[int, Claim], int]:
    """Return the claims of a run that are still in the plan, by assignment; and the number of those that are not."""
    a = tables.assignments
    with store.reading() as db:
        held = db.execute(sa.select(a.c.id, a.c.active).where(a.c.status == "claimed", a.c.run == run)).all()
        active = [row.id for row in held if row.active]
        claims = [one for chunk in batches(active) for one in _claims(db, chunk)]
        return {one.id: one for one in claims}, len(held) - len(active)


# -- claims ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A claimed assignment, with all that a request needs."""

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
    """The last response and its error, if it was unparseable and is to be requested again."""


def claim(
    store: Store, run: int, judges: Sequence[str], most: int, *, unread: bool = False, part: str | None = None
) -> list[Claim]:
    """Claim up to ``most`` open assignments of these judges; no other run gets them.

    With ``unread``, those whose reply could not be read in an earlier run instead. With ``part``, those about items of
    this part alone.
    """
    a = tables.assignments
    which = _unread(run) if unread else a.c.status == "open"
    wanted = sa.select(a.c.id).where(which, a.c.active, a.c.annotator.in_(judges), _part_clause(part))
    wanted = wanted.order_by(a.c.id).limit(most).with_for_update(skip_locked=True)
    take = sa.update(a).where(a.c.id.in_(wanted.scalar_subquery())).values(status="claimed", run=run)
    with store.writing() as db:
        return _claims(db, db.execute(take.returning(a.c.id)).scalars().all())


def _unread(run: int) -> sa.ColumnElement[bool]:
    """Assignments without a label, whose replies could not be read in a run before this one."""
    a, s = tables.assignments, tables.answers
    of_it = sa.exists().where(s.c.assignment == a.c.id)
    return sa.and_(
        a.c.status.in_(("missing", "open")),
        of_it.where(s.c.status.in_(("missing", "unreadable"))),
        sa.not_(of_it.where(s.c.run == run)),
    )


def _part_clause(part: str | None) -> sa.ColumnElement[bool]:
    """Assignments about items of a part; all of them without one."""
    if part is None:
        return sa.true()
    i = tables.items.c
    return tables.assignments.c.item.in_(sa.select(i.item).where(i.known[PART].as_string() == part))


def count_unread(store: Store, run: int, judges: Sequence[str], part: str | None = None) -> int:
    """How many assignments of these judges `claim` gives to a run with ``unread``."""
    a = tables.assignments
    query = sa.select(sa.func.count()).select_from(a)
    query = query.where(_unread(run), a.c.active, a.c.annotator.in_(judges), _part_clause(part))
    with store.reading() as db:
        return int(db.execute(query).scalar_one())


def item_claims(store: Store, item: str, judges: Sequence[str]) -> list[Claim]:
    """Return the assignments of these judges for an item, answered or not, as if for the first time."""
    a = tables.assignments
    wanted = sa.select(a.c.id).where(a.c.item == item, a.c.active, a.c.annotator.in_(judges))
    with store.reading() as db:
        return [replace(one, unread=None) for one in _claims(db, db.execute(wanted).scalars().all())]


def sample(store: Store, judge: str, most: int, part: str | None = None) -> list[Claim]:
    """Some open assignments of a judge, as if claimed: for estimates."""
    a = tables.assignments
    wanted = sa.select(a.c.id).where(a.c.status.in_(("open", "failed")), a.c.active, a.c.annotator == judge)
    wanted = wanted.where(_part_clause(part))
    with store.reading() as db:
        return _claims(db, db.execute(wanted.order_by(a.c.id).limit(most)).scalars().all())


def counts(store: Store, judges: Sequence[str], part: str | None = None) -> dict[str, int]:
    """Count the judges' current assignments: open, claimed, answered, missing, failed."""
    a = tables.assignments
    query = sa.select(a.c.status, sa.func.count()).where(a.c.active, a.c.annotator.in_(judges), _part_clause(part))
    query = query.group_by(a.c.status)
    with store.reading() as db:
        return {status: int(number) for status, number in db.execute(query)}


def count_probes(store: Store, judge: str, part: str | None = None) -> int:
    """Count a judge's open questions that are probes."""
    a = tables.assignments
    query = sa.select(a.c.condition, sa.func.count()).where(a.c.active, a.c.annotator == judge, _part_clause(part))
    query = query.where(a.c.status.in_(("open", "failed"))).group_by(a.c.condition)
    with store.reading() as db:
        return sum(int(number) for condition, number in db.execute(query) if "probe" in json.loads(condition))


def prompt_versions(store: Store, among: Collection[str]) -> dict[str, int]:
    """How many versions of each judge's prompt have been answered about one of these items, at most.

    An assignment's recipe identifies its request, so versions of a prompt are the different recipes under which one
    question about one content of an item, under one condition, was answered, whether they count today or not.
    """
    a, n = tables.assignments.c, tables.annotators.c
    answered = sa.exists().where(tables.answers.c.assignment == a.id, tables.answers.c.status != "failed")
    judges = sa.select(n.annotator).where(n.kind == "judge")
    most: dict[str, int] = {}
    with store.reading() as db:
        names = question_names(db)
        for chunk in batches(among):
            seen: dict[tuple[Any, ...], set[str]] = {}
            query = sa.select(a.annotator, a.item, a.question, a.condition, a.repeat, a.content, a.recipe)
            query = query.where(a.item.in_(chunk), a.session.is_(None), a.annotator.in_(judges), answered)
            for row in db.execute(query):
                key = (row.annotator, row.item, names[row.question], row.condition, row.repeat, row.content)
                seen.setdefault(key, set()).add(row.recipe)
            for (judge, *_), recipes in seen.items():
                most[judge] = max(most.get(judge, 0), len(recipes))
    return most


def answers_before(store: Store, moment: float, among: Collection[str]) -> int:
    """How many answers about these items, of people and judges, were there at a moment (seconds since 1970)."""
    a, s = tables.assignments.c, tables.answers.c
    query = sa.select(sa.func.count()).select_from(tables.EVERY).where(s.answered_at < moment, s.status != "failed")
    with store.reading() as db:
        return sum(int(db.execute(query.where(a.item.in_(chunk))).scalar_one()) for chunk in batches(among))


def _claims(db: sa.Connection, ids: Sequence[int]) -> list[Claim]:
    a, i, s = tables.assignments, tables.items, tables.answers.c
    earlier: dict[int, list[Any]] = {}
    before = sa.select(s.assignment, s.status, s.reply, s.reason).where(s.assignment.in_(ids)).order_by(s.id)
    for row in db.execute(before):
        earlier.setdefault(row.assignment, []).append(row)
    wanted = sa.select(
        *(a.c.id, a.c.question, a.c.annotator, a.c.condition, a.c.repeat, a.c.shown),
        *(i.c.item, i.c.document, i.c.fields),
    )
    wanted = wanted.select_from(tables.join(a, i)).where(a.c.id.in_(ids)).order_by(a.c.id)
    return [_claim(*row, earlier=earlier.get(row[0], ())) for row in db.execute(wanted)]


def _claim(
    number: int, question: int, annotator: str, condition: str, repeat: int, shown: dict[str, Any] | None,
    *item: Any, earlier: Sequence[Any],
) -> Claim:  # fmt: skip
    # A missing question starts again: its unparseable response is of no further use.
    last = next((answer for answer in reversed(earlier) if answer.status != "failed"), None)
    unread = last if last is not None and last.status == "unreadable" else None
    return Claim(
        id=number,
        item=Item(*item),
        question=question,
        annotator=annotator,
        condition={} if condition == "{}" else json.loads(condition),
        repeat=repeat,
        shown=shown,
        revision=len(earlier),
        unread=None if unread is None else (unread.reply or "", unread.reason or ""),
    )


# -- triplets and pairs of items that are drawn ------------------------------------------------------

MOST_AT_ONCE = 6000
"""Maximum number of triplets drawn for judges alone: drawing takes longer for each, and every one is a request."""


class TripletDrawer:
    """Draws the triplets of a study one at a time while people answer, or all at once for judges alone.

    It knows those that other processes have drawn.

    Parameters
    ----------
    store : Store
        Into which the study has been taken.
    column : str
        The items' column that is compared.
    wanted : int
        How often each pair is to be seen.
    seed : int
    pairs : bool
        Whether judges compare two items at a time: every pair of a document, once.
    pool : str
        The role of the items that are drawn.
    most : int
        Maximum number of triplets or pairs drawn for judges alone.
    """

    def __init__(
        self, store: Store, column: str, *, wanted: int, seed: int, pairs: bool = False, pool: Role = "item",
        most: int = MOST_AT_ONCE,
    ) -> None:  # fmt: skip
        self.store, self.column, self.wanted, self.seed, self.pairs = store, column, wanted, seed, pairs
        self.most = most
        self.pool: Role = pool
        asked = [one.definition for one in questions(store)]
        self._shown = {c for one in asked if one.drawn_from == column for c in one.show or ()}
        self._sampler: Sampler | None = None
        self._drawn_until = 0

    def sampler(self, db: sa.Connection) -> Sampler:
        """The sampler, which includes every triplet drawn so far, by any process."""
        if self._sampler is None:
            self._sampler = Sampler(self._pools(), self.wanted)
        for position, members in triplets_drawn(db, self._drawn_until):
            if len(members) == len(TRIPLET):  # another question of the study may be about pairs
                self._sampler.add([(members[0], members[1], members[2])])
            self._drawn_until = position + 1
        return self._sampler

    def draw(self, db: sa.Connection) -> str | None:
        """The name of a new triplet; None once every pair has been drawn often enough."""
        triplet = self.sampler(db).next(self._chance(self._drawn_until))
        if triplet is None:
            return None
        self._put(db, [triplet], self._drawn_until, items_named(db, triplet))
        self.sampler(db)
        return name_of(triplet)

    def draw_for_judges(self) -> None:
        """If no annotator is invited, draw all remaining triplets: those that annotators would have seen.

        Raises
        ------
        StudyError
            If annotators are invited and have not begun yet; if no triplet, or too many, would be drawn.
        """
        with self.store.exclusive() as db:
            if self.pairs:
                self._draw_pairs(db)
                return
            sampler = self.sampler(db)
            if not invited_names(db):
                self._draw_all(db, sampler)
            elif not self._drawn_until:
                raise StudyError(
                    "triplets are drawn during annotation, which has not begun; judges label the triplets of the "
                    "annotators, so run them after the annotators have answered"
                )

    def _draw_all(self, db: sa.Connection, sampler: Sampler) -> None:
        pairs = sum(len(pool) * (len(pool) - 1) // 2 for pool in self._pools().values() if len(pool) > 2)
        if not pairs:
            raise StudyError(
                "no triplet can be drawn: its three items come from one document, and none has three items; "
                "leave items.document out to draw from all of them, or add items"
            )
        number = pairs * self.wanted // 3
        if number > self.most and sampler.short():
            raise StudyError(
                f"about {number} triplets would be drawn, and the maximum for judges alone is {self.most}; set "
                "items.document so that triplets stay within documents, use fewer items, or display each pair less "
                "often (people.pairs)"
            )
        new: list[Sequence[str]] = []
        while (triplet := sampler.next(self._chance(self._drawn_until + len(new)))) is not None:
            sampler.add([triplet])
            new.append(triplet)
        self._put(db, new, self._drawn_until)
        self._drawn_until += len(new)

    def _draw_pairs(self, db: sa.Connection) -> None:
        """Every pair of a document that is not there yet."""
        drawn = triplets_drawn(db, 0)
        known, start = {tuple(members) for _, members in drawn}, max((at for at, _ in drawn), default=-1) + 1
        pools = self._pools().values()
        new = [pair for pool in pools for pair in itertools.combinations(sorted(pool), 2) if pair not in known]
        if not new and not known:
            raise StudyError(
                "no pair can be drawn: its two items come from one document, and none has two items; leave "
                "items.document out to compare all of them, or add items"
            )
        if len(new) > self.most:
            raise StudyError(
                f"{len(new):,} pairs would be compared, and the maximum for judges alone is {self.most:,}; set "
                "items.document so that pairs stay within documents, or use fewer items"
            )
        self._put(db, new, start)
        self._drawn_until = start + len(new)

    def _put(
        self, db: sa.Connection, new: Sequence[Sequence[str]], start: int, of: Mapping[str, Item] | None = None
    ) -> None:
        """Make items of the drawn triplets, at the positions from ``start`` on."""
        of = of or {item.name: item for item, _ in items(self.store, self.pool)}
        for chunk in batches(enumerate(new, start=start)):
            made = [NewItem(at, self._item(one, of), "triplet", {"members": list(one)}) for at, one in chunk]
            put_items(db, made, self.store.now(db))
        if new:
            put_setting(db, DRAWN, start + len(new))

    def _pools(self) -> dict[str, list[str]]:
        """Return the items that can be in one triplet: those of a document."""
        pools: dict[str, list[str]] = {}
        for item, _digest in items(self.store, self.pool):
            pools.setdefault(item.document or "", []).append(item.name)
        return pools

    def _chance(self, position: int) -> random.Random:
        return chance(self.seed, "triplet", position)

    def _item(self, members: Sequence[str], of: Mapping[str, Item]) -> Item:
        """Combine three items (or two) into one: their texts, their common columns, and by place the columns of
        each."""
        first, places = of[members[0]], TRIPLET[: len(members)]
        texts = {place: of[name].fields.get(self.column, "") for place, name in zip(places, members, strict=True)}
        beside = {}
        never = (self.column, *(OUTPUT_ABOUT if self.pool == "output" else ()))
        for column in dict.fromkeys(c for name in members for c in of[name].fields if c not in never):
            values = [of[name].fields.get(column) for name in members]
            if all(value == values[0] for value in values):
                beside[column] = values[0]
            elif column in self._shown:
                beside[column] = dict(zip(places, values, strict=True))
        names = dict(zip(TRIPLET_ITEMS[: len(members)], members, strict=True))
        return Item(name_of(members), first.document, beside | texts | names)
