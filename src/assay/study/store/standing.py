"""How a study stands, summed by the database; only reads, within the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.annotators import is_excluded
from assay.study.store.items import NOT_COUNTED, Role
from assay.study.store.page_answers import PAGE
from assay.study.store.tasks import counting, held


def _number(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    """How many rows of a group fulfil all conditions."""
    return sa.func.coalesce(sa.func.sum(sa.case((sa.and_(*conditions), 1), else_=0)), 0)


# -- what each person did ---------------------------------------------------------------------------


def done_by_person(db: sa.Connection, questions: str) -> dict[str, Any]:
    """By person: tasks ``done``, ``skipped``, done of an ``earlier`` version, ``session``, and when ``last``."""
    t = tables.tasks.c
    current = t.questions == questions
    counted = sa.and_(current, t.role != "warm-up")
    query = sa.select(
        t.annotator,
        _number(counted, t.state.in_(("answered", "skipped"))).label("done"),
        _number(counted, t.state == "skipped").label("skipped"),
        _number(t.questions != questions, t.role != "warm-up", t.state == "answered").label("earlier"),
        sa.func.max(sa.case((current, t.session))).label("session"),
        sa.func.max(t.closed_at).label("last"),
    )
    return {row.annotator: row for row in db.execute(query.group_by(t.annotator))}


def known_answers(
    db: sa.Connection, questions: Collection[int], role: Role, person: str | None = None, *, first: bool = False
) -> Sequence[Any]:
    """What people, or one, answered to items whose answers are known, by annotator, item, condition, repeat, question.

    The labels that count; or the first answer of each, with no label where it was skipped.
    """
    a, s, i = tables.assignments.c, tables.answers.c, tables.items.c
    every = tables.answers.alias().c
    earliest = s.id.in_(sa.select(sa.func.min(every.id)).group_by(every.assignment))
    which = sa.and_(s.assignment == a.id, earliest) if first else s.id == a.answer
    joined = tables.assignments.join(tables.answers, which)
    query = sa.select(a.annotator, a.item, a.condition, a.repeat, a.question, s.label)
    query = query.select_from(joined.join(tables.items, i.item == a.item))
    query = query.where(a.recipe == PAGE, i.role == role, i.active, a.question.in_(questions))
    query = query if first else query.where(s.status == "valid")
    return db.execute(query if person is None else query.where(a.annotator == person)).all()


def flags_by_person(db: sa.Connection) -> dict[str, int]:
    """How many items each person has flagged."""
    a, s = tables.assignments.c, tables.answers.c
    joined = tables.assignments.join(tables.answers, s.id == a.answer)
    tasks = (
        sa.select(a.annotator, a.item, a.condition, a.repeat)
        .distinct()
        .select_from(joined)
        .where(a.recipe == PAGE, s.flag.is_not(None))
    ).subquery()
    query = sa.select(tasks.c.annotator, sa.func.count()).group_by(tasks.c.annotator)
    return {name: int(number) for name, number in db.execute(query)}


def minutes_by_person(db: sa.Connection, questions: Collection[int]) -> dict[str, float]:
    """Median minutes on an item, by person.

    All questions of a task are saved together with the same seconds; each save has those since the last.
    """
    a, s, i = tables.assignments.c, tables.answers.c, tables.items.c
    joined = tables.answers.join(tables.assignments, s.assignment == a.id).join(tables.items, i.item == a.item)
    task = (a.annotator, a.item, a.condition, a.repeat)
    saves = (
        sa.select(*task, sa.func.max(s.seconds).label("seconds"))
        .select_from(joined)
        .where(a.recipe == PAGE, s.status == "valid", s.seconds.is_not(None), i.role.not_in(NOT_COUNTED))
        .where(a.question.in_(questions))
        .group_by(*task, s.revision)
    ).subquery()
    whole = sa.select(saves.c.annotator, sa.func.sum(saves.c.seconds).label("seconds"))
    tasks = whole.group_by(*(saves.c[c.name] for c in task)).subquery()
    r = (
        sa.select(
            *(tasks.c.annotator, tasks.c.seconds),
            sa.func.row_number().over(partition_by=tasks.c.annotator, order_by=tasks.c.seconds).label("place"),
            sa.func.count().over(partition_by=tasks.c.annotator).label("of"),
        )
        .subquery()
        .c
    )
    middle = sa.and_(2 * r.place >= r.of, 2 * r.place <= r.of + 2)
    query = sa.select(r.annotator, sa.func.avg(r.seconds)).where(middle).group_by(r.annotator)
    return {name: float(seconds) / 60 for name, seconds in db.execute(query)}


# -- what was said ----------------------------------------------------------------------------------


def remarks(db: sa.Connection, most: int) -> Sequence[Any]:
    """Answers that count and have a flag, a comment or were skipped, newest first."""
    a, s = tables.assignments.c, tables.answers.c
    joined = tables.assignments.join(tables.answers, s.id == a.answer)
    skipped = sa.and_(s.status == "missing", s.reason.like("skipped%"))
    query = (
        sa.select(a.annotator, a.item, s.flag, s.comment, s.reason, s.status, s.answered_at, s.shown)
        .select_from(joined)
        .where(a.recipe == PAGE, sa.or_(s.flag.is_not(None), s.comment.is_not(None), skipped))
    )
    return db.execute(query.order_by(s.id.desc()).limit(most)).all()


def states_and_roles(db: sa.Connection, tasks: Collection[int]) -> dict[int, Any]:
    """State and role of tasks, by their numbers."""
    t = tables.tasks.c
    query = sa.select(t.id, t.state, t.role).where(t.id.in_(list(tasks)))
    return {row.id: row for row in db.execute(query)}


def human_answers(db: sa.Connection, questions: Collection[int]) -> Sequence[Any]:
    """The labels of people that count (question, condition, item, annotator, label), the first time first."""
    a, s, i, n = (table.c for table in (tables.assignments, tables.answers, tables.items, tables.annotators))
    joined = tables.assignments.join(tables.answers, s.id == a.answer).join(tables.items, i.item == a.item)
    joined = joined.join(tables.annotators, n.annotator == a.annotator)
    query = (
        sa.select(a.question, a.condition, a.item, a.annotator, s.label)
        .select_from(joined)
        .where(a.active, s.status == "valid", n.kind == "human", i.active, i.role.not_in(NOT_COUNTED))
        .where(a.question.in_(questions), sa.not_(is_excluded(a.annotator)))
    )
    return db.execute(query.order_by(a.repeat, a.id)).all()


# -- what is short ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """Tasks that are counted together: of one session, and of one group or of these people.

    Attributes
    ----------
    questions, condition : str
        As in `assay.study.store.tasks.Slot`.
    party : str, optional
    people : list of str, optional
    """

    questions: str
    condition: str
    party: str | None = None
    people: Collection[str] | None = None

    @property
    def tasks(self) -> sa.ColumnElement[bool]:
        """Which tasks they are."""
        t = tables.tasks.c
        who = [] if self.party is None else [t.party == self.party]
        who += [] if self.people is None else [t.annotator.in_(self.people)]
        return sa.and_(counting(self.questions, self.condition), *who)


@dataclass(frozen=True)
class Shortfall:
    """Items that lack answers.

    Attributes
    ----------
    items, of : int
        How many lack answers, of how many.
    have, held : int
        Answers that they have, and places before somebody at this moment.
    first : rows of item, have, held
        The first of them, in the order of their file.
    """

    items: int
    of: int
    have: int
    held: int
    first: Sequence[Any]


def shortfall(db: sa.Connection, work: Work, role: Role, wanted: int, now: float, most: int) -> Shortfall:
    """Which items of a role have fewer answers than wanted; the first of them by name, ``most`` at most."""
    t, i = tables.tasks.c, tables.items.c
    counts = (_number(t.state == "answered").label("have"), _number(held(now)).label("held"))
    taken = sa.select(t.item, *counts).where(work.tasks).group_by(t.item).subquery()
    have, before = (sa.func.coalesce(taken.c[name], 0).label(name) for name in ("have", "held"))
    lacking = (
        sa.select(i.item, i.position, have, before)
        .select_from(tables.items.outerjoin(taken, taken.c.item == i.item))
        .where(i.active, i.role == role, have < wanted)
    )
    each = lacking.subquery().c
    sums = sa.select(sa.func.count(each.item), sa.func.sum(each.have), sa.func.sum(each.held))
    number, n_have, n_held = db.execute(sums).one()
    first = db.execute(lacking.order_by(i.position).limit(most)).all()
    n_items = db.execute(sa.select(sa.func.count()).where(i.active, i.role == role)).scalar_one()
    return Shortfall(int(number), int(n_items), int(n_have or 0), int(n_held or 0), first)


def items_by_person(db: sa.Connection, work: Work, now: float) -> list[tuple[int, int]]:
    """(answered, held) for each person who was given items."""
    t = tables.tasks.c
    query = sa.select(_number(t.state == "answered").label("have"), _number(held(now)).label("held"))
    rows = db.execute(query.where(work.tasks, t.role == "item").group_by(t.annotator))
    return [(int(row.have), int(row.held)) for row in rows]


def n_triplets(db: sa.Connection) -> int:
    """How many triplets were drawn so far."""
    return int(db.execute(sa.select(sa.func.count()).where(tables.items.c.role == "triplet")).scalar_one())


def n_pairs(db: sa.Connection) -> int:
    """How many pairs of items there are from which triplets are drawn, each within its document."""
    i = tables.items.c
    pools = db.execute(sa.select(sa.func.count()).where(i.active, i.role == "item").group_by(i.document)).scalars()
    return sum(n * (n - 1) // 2 for n in pools if n > 2)
