"""Tasks: one item before one person, and how many places of each item are taken.

The functions here work within the caller's transaction: whoever reads what others hold before giving
something writes it in the same `Store.exclusive`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.annotators import is_excluded
from assay.study.store.connection import upsert

Task = Any
"""A row of the tasks."""


@dataclass(frozen=True)
class Slot:
    """What counts together toward the overlap of an item.

    Attributes
    ----------
    questions : str
        Names the questions in their versions.
    condition : str
        What is varied, such as the scale of a session.
    party : str
        The group of people.
    """

    questions: str
    condition: str
    party: str

    @property
    def tasks(self) -> sa.ColumnElement[bool]:
        """Which tasks they are."""
        return sa.and_(counting(self.questions, self.condition), tables.tasks.c.party == self.party)


def counting(questions: str, condition: str) -> sa.ColumnElement[bool]:
    """Which tasks of a session may count: not those that come a second time, came too late, or are of the excluded."""
    t = tables.tasks.c
    asked = sa.and_(t.questions == questions, t.condition == condition)
    return sa.and_(asked, t.repeat == 1, sa.not_(t.extra), sa.not_(is_excluded(t.annotator)))


def held(now: float) -> sa.ColumnElement[bool]:
    """Whether a task is before somebody at this moment: open again, or given and not yet run out."""
    t = tables.tasks.c
    return sa.or_(t.state == "reopened", sa.and_(t.state == "given", t.expires_at > now))


def _taken(now: float) -> sa.ColumnElement[bool]:
    """Whether a task takes a place of its item: answered, or held."""
    return sa.or_(tables.tasks.c.state == "answered", held(now))


# -- places -----------------------------------------------------------------------------------------


def places_taken(db: sa.Connection, slot: Slot, items: Collection[str], now: float) -> dict[str, int]:
    """How many places of each item are taken, by item; those of which none is are left out."""
    t = tables.tasks.c
    query = sa.select(t.item, sa.func.count()).where(t.item.in_(items), slot.tasks, _taken(now)).group_by(t.item)
    return {item: int(number) for item, number in db.execute(query)}


def places_of_others(db: sa.Connection, task: Task, now: float) -> int:
    """How many places of a task's item other tasks take."""
    t = tables.tasks.c
    slot = Slot(task.questions, task.condition, task.party)
    others = sa.select(sa.func.count()).where(t.item == task.item, slot.tasks, t.id != task.id, _taken(now))
    return int(db.execute(others).scalar_one())


def answered_enough(db: sa.Connection, slot: Slot, items: Collection[str], wanted: int) -> list[str]:
    """The items that have as many answers as are wanted."""
    t = tables.tasks.c
    query = sa.select(t.item).where(t.item.in_(items), slot.tasks, t.state == "answered")
    return list(db.execute(query.group_by(t.item).having(sa.func.count() >= wanted)).scalars())


@dataclass(frozen=True)
class Taken:
    """What has been given of a study in one slot, to see what is left.

    Attributes
    ----------
    full : set of str
        Items all of whose places are taken.
    given : dict of str to int
        How many items each person has been given, by person.
    """

    full: set[str]
    given: dict[str, int]


def taken_so_far(db: sa.Connection, slot: Slot, wanted: int, now: float) -> Taken:
    """Which items have all their places taken, and how many each person of any group has been given."""
    t = tables.tasks.c
    counted = sa.select(t.annotator, sa.func.count()).where(_items_of(slot)).group_by(t.annotator)
    full = set(db.execute(_full(slot, wanted, now)).scalars())
    return Taken(full, {str(name): int(number) for name, number in db.execute(counted)})


def given_of_the_rest(db: sa.Connection, slot: Slot, wanted: int, now: float) -> list[tuple[str, str, bool]]:
    """(person, item, whether it takes a place) for every item that is not full and was given to somebody."""
    t = tables.tasks.c
    counts = sa.case((sa.and_(slot.tasks, _taken(now)), 1), else_=0)
    query = sa.select(t.annotator, t.item, counts).where(_items_of(slot), t.item.not_in(_full(slot, wanted, now)))
    return [(person, item, bool(taken)) for person, item, taken in db.execute(query)]


def _items_of(slot: Slot) -> sa.ColumnElement[bool]:
    """The first time that items were given in the slot's session, to people of any group."""
    t = tables.tasks.c
    asked = (t.questions == slot.questions, t.condition == slot.condition)
    return sa.and_(*asked, t.repeat == 1, t.role == "item")


def _full(slot: Slot, wanted: int, now: float) -> sa.Select[Any]:
    t = tables.tasks.c
    query = sa.select(t.item).where(_items_of(slot), slot.tasks, _taken(now))
    return query.group_by(t.item).having(sa.func.count() >= wanted)


def soonest_back(db: sa.Connection, slot: Slot, person: str, now: float) -> float | None:
    """When the first place that others hold, on an item that this person has not had, may come back."""
    t = tables.tasks.c
    mine = sa.select(t.item).where(t.annotator == person, t.condition == slot.condition)
    query = sa.select(sa.func.min(t.expires_at)).where(
        *(slot.tasks, t.state == "given", t.expires_at > now, t.annotator != person, t.item.not_in(mine)),
        t.role.in_(("item", "triplet")),
    )
    found = db.execute(query).scalar()
    return None if found is None else float(found)


# -- triplets ---------------------------------------------------------------------------------------


def triplets_drawn(db: sa.Connection, since: int) -> list[tuple[int, list[str]]]:
    """(position, names of its three items) of each triplet drawn at this position or later, in order."""
    i = tables.items.c
    query = sa.select(i.position, i.known).where(i.role == "triplet", i.position >= since).order_by(i.position)
    return [(row.position, row.known["members"]) for row in db.execute(query).all()]


def triplet_in_need(db: sa.Connection, questions: str, party: str, person: str, wanted: int, now: float) -> str | None:
    """The first triplet that lacks answers of a group and that this person has not had; None where there is none."""
    i, t = tables.items.c, tables.tasks.c
    mine = sa.select(t.item).where(t.annotator == person)
    taken = (
        sa.select(sa.func.count())
        .where(t.item == i.item, t.questions == questions, t.party == party)
        .where(t.repeat == 1, sa.not_(t.extra), sa.not_(is_excluded(t.annotator)), _taken(now))
        .scalar_subquery()
    )
    lacking = sa.select(i.item).where(i.role == "triplet", i.active, i.item.not_in(mine), taken < wanted)
    found = db.execute(lacking.order_by(i.position).limit(1)).scalar()
    return None if found is None else str(found)


# -- one person's tasks -----------------------------------------------------------------------------


def is_closed(task: Task, closed: int) -> bool:
    """Whether what a person answered to a task is shown to them no more, with pages closed up to this one.

    What they have not answered yet, or what the lead has given back to them, is theirs to answer.
    """
    return bool(task.page <= closed and task.state in ("answered", "skipped"))


def task_by_id(db: sa.Connection, number: int, person: str | None = None) -> Task | None:
    """A task, and only where it is this person's; None where there is none."""
    t = tables.tasks
    query = sa.select(t).where(t.c.id == number)
    return db.execute(query if person is None else query.where(t.c.annotator == person)).first()


def tasks_of(db: sa.Connection, person: str) -> list[Task]:
    """All that a person was ever given, in the order of its places, without what was shown."""
    t = tables.tasks.c
    mine = sa.select(
        *(t.id, t.item, t.questions, t.condition, t.repeat, t.role, t.party, t.session, t.page, t.place),
        *(t.state, t.extra, t.expires_at, t.closed_at),
    )
    return list(db.execute(mine.where(t.annotator == person).order_by(t.place)))


def tasks_on_pages(db: sa.Connection, person: str, pages: Sequence[int]) -> list[Task]:
    """A person's tasks on these pages, in the order of their places."""
    t = tables.tasks
    query = sa.select(t).where(t.c.annotator == person, t.c.page.in_(list(pages)))
    return list(db.execute(query.order_by(t.c.place)).all())


def states_of(db: sa.Connection, person: str, questions: str, condition: str) -> dict[str, int]:
    """How many tasks of a session a person has in each state, without practice."""
    t = tables.tasks.c
    mine = sa.select(t.state, sa.func.count()).where(
        *(t.annotator == person, t.questions == questions, t.condition == condition), t.role != "warm-up"
    )
    return {state: int(number) for state, number in db.execute(mine.group_by(t.state))}


def give(db: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Put items before somebody."""
    db.execute(sa.insert(tables.tasks), rows)


def renew(db: sa.Connection, numbers: Sequence[int], until: float, older_than: float) -> None:
    """Let tasks be held until then, where they would run out earlier than ``older_than``."""
    t = tables.tasks
    db.execute(sa.update(t).where(t.c.id.in_(numbers), t.c.expires_at < older_than).values(expires_at=until))


def set_task_state(db: sa.Connection, number: int, state: str, *, extra: bool, closed_at: float | None) -> None:
    """Say that a task was answered or skipped, or is open again."""
    t = tables.tasks
    db.execute(sa.update(t).where(t.c.id == number).values(state=state, closed_at=closed_at, extra=extra))


# -- what is half written ---------------------------------------------------------------------------


def put_draft(db: sa.Connection, task: int, revision: int, body: Mapping[str, Any], now: float) -> None:
    """Keep what is half written, in place of what was."""
    row = {"task": task, "revision": revision, "body": body, "kept_at": now}
    upsert(db, tables.drafts, ["task"], ["revision", "body", "kept_at"], [row])


def drop_draft(db: sa.Connection, task: int) -> None:
    """Forget what was half written."""
    db.execute(sa.delete(tables.drafts).where(tables.drafts.c.task == task))


def drafts_of(db: sa.Connection, tasks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What is half written, by task."""
    d = tables.drafts
    rows = db.execute(sa.select(d).where(d.c.task.in_(tasks)))
    return {row.task: {"revision": row.revision, "at": row.kept_at, "body": row.body} for row in rows}
