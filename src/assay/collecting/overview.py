"""How a study stands, for whoever leads it: who did how much, what is short, what was remarked, do they agree?"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from assay.collecting.agreed import Agreed, agreement_so_far
from assay.collecting.answers import RECIPE
from assay.collecting.assignment import Assigner
from assay.collecting.design import Design, is_wrong
from assay.data.scales import Scale, parse_scale
from assay.errors import listing
from assay.study import schema
from assay.study.store import NOT_COUNTED
from assay.study.study import scale_of

log = logging.getLogger("assay.collecting")

MOST_REMARKS = 200
MOST_ITEMS = 50
"""Of the items that are short, so many are named."""

BUSY = 600.0
"""Whoever answered within so many seconds is at work now."""

AGREEMENT_EVERY = 15.0
"""Seconds between two computations of agreement, at least."""

SHARE = 0.05
"""Of the time, how much finding the median times may take at most."""


@dataclass(frozen=True)
class Moment:
    """A time, and how long ago that was when one looked."""

    at: float
    seconds_ago: float

    @property
    def iso(self) -> str:
        """For machines: UTC."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at))

    @property
    def words(self) -> str:
        """``just now``, ``5 min ago``, ``2 h ago``, ``3 days ago``."""
        seconds = max(self.seconds_ago, 0)
        for limit, unit, name in ((60, 0, ""), (3600, 60, "min"), (172_800, 3600, "h")):
            if seconds < limit:
                return f"{int(seconds // unit)} {name} ago" if unit else "just now"
        return f"{int(seconds // 86_400)} days ago"


@dataclass(frozen=True)
class Numbers:
    """The study in a few numbers; practice is in none of them.

    Attributes
    ----------
    items : int
        In the study.
    answered, skipped : int
        Items answered and skipped so far, attention checks and second times among them.
    people, busy : int
        Who may answer; and who has in the last ten minutes.
    filled, wanted : int
        Answers that count toward the overlap, and how many it takes in all; pairs where triplets are drawn.
    earlier : int
        Items answered with an earlier version of the questions: kept, and not counted here.
    """

    items: int
    answered: int
    skipped: int
    people: int
    busy: int
    filled: int
    wanted: int
    earlier: int

    @property
    def percent(self) -> int:
        """Of what is wanted; 100 only when nothing is missing."""
        return 100 * self.filled // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class PersonRow:
    """What one person has done.

    Attributes
    ----------
    attributes : tuple of (name, value)
    state : {"active", "paused", "revoked"}
    consented : bool, optional
        To the text as it stands now; None where the study has none.
    done, skipped : int
        Of their items, answered or skipped, and only skipped; without practice.
    of : int, optional
        How many are expected of them, in all sessions; None where that hangs on the others.
    session, sessions : int
        The one that they are in, of how many.
    minutes : float, optional
        At work on an item, median; None before the first answer.
    checks_failed, checks : int
        Attention checks that they failed, of those they answered.
    flags : int
        Items that they flagged.
    last : Moment, optional
        Of their last answer.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]
    state: str
    consented: bool | None
    done: int
    skipped: int
    of: int | None
    session: int
    sessions: int
    minutes: float | None
    checks_failed: int
    checks: int
    flags: int
    last: Moment | None

    @property
    def pace(self) -> str:
        """Median time on an item in words: ``45 s``, ``2.5 min``."""
        if self.minutes is None:
            return ""
        return f"{60 * self.minutes:.0f} s" if self.minutes < 1.5 else f"{self.minutes:.1f} min"


@dataclass(frozen=True)
class Remark:
    """What somebody said of an item beside the label."""

    person: str
    item: str
    flag: str
    comment: str
    skip: str
    """Why it was skipped; empty where it was not."""
    at: Moment
    task: int
    practice: bool
    can_reopen: bool


@dataclass(frozen=True)
class ShortItem:
    """An item that lacks answers."""

    name: str
    have: int
    want: int
    held: int
    """Before somebody at this moment."""


@dataclass(frozen=True)
class Short:
    """What one group still has to answer in one session.

    Attributes
    ----------
    group, session : str
        Empty where there is only one.
    everybody : bool
        Whether all people answer every item, so that ``want`` counts those who are active.
    items : int
        How many lack answers.
    answers : int
        How many answers are lacking in all.
    held : int
        Places before somebody at this moment.
    filled, wanted : int
        Answers that count, and how many it takes.
    first : tuple of ShortItem
        The first of the items, in the order of their file.
    """

    group: str
    session: str
    everybody: bool
    items: int
    answers: int
    held: int
    filled: int
    wanted: int
    first: tuple[ShortItem, ...]


@dataclass(frozen=True)
class Pairs:
    """Where triplets are drawn: pairs of items that were drawn together less often than wanted."""

    short: int
    of: int
    wanted: int
    triplets: int
    """Drawn so far."""


@dataclass(frozen=True)
class Overview:
    """A study at a moment."""

    numbers: Numbers
    people: tuple[PersonRow, ...]
    agreement: tuple[Agreed, ...]
    remarks: tuple[Remark, ...]
    short: tuple[Short, ...]
    pairs: Pairs | None
    group: str
    """What a new person must be said to be: ``expertise (nurse, doctor)``; empty where nothing."""


class Watch:
    """Looks at a study again and again; reads, and never writes.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design) -> None:
        self.design, self.store = design, design.store
        self._agreement = _Kept[tuple[Agreed, ...]](
            lambda db: agreement_so_far(design, db), (), lambda took: AGREEMENT_EVERY
        )
        self._minutes = _Kept[dict[str, float]](lambda db: _minutes(design, db), {}, lambda took: took / SHARE)
        self._drawing = threading.Lock()
        self._assigner = Assigner(design)
        self._pairs: Pairs | None = None

    def look(self) -> Overview:
        """The study as it stands now."""
        with self.store.reading() as db:
            look = _Look(self.design, db, self.store.now(db))
            pairs = self._pairs_now(db) if self.design.drawn_from else None
            newest = int(db.execute(sa.select(sa.func.coalesce(sa.func.max(schema.answers.c.id), 0))).scalar_one())
            short = tuple(look.short())
            people = look.people(self._minutes.now(db, newest))
            return Overview(
                numbers=look.numbers(people, short, pairs),
                people=people,
                agreement=self._agreement.now(db, newest),
                remarks=look.remarks(),
                short=short,
                pairs=pairs,
                group=_group_words(self.design),
            )

    def _pairs_now(self, db: sa.Connection) -> Pairs:
        """Counted anew only when another triplet was drawn."""
        with self._drawing:
            sampler = self._assigner.drawn(db)
            i = schema.items.c
            drawn = int(db.execute(sa.select(sa.func.count()).where(i.role == "triplet")).scalar_one())
            if self._pairs is None or self._pairs.triplets != drawn:
                self._pairs = Pairs(sampler.short(), self._n_pairs(db), self.design.people.pairs, drawn)
            return self._pairs

    def _n_pairs(self, db: sa.Connection) -> int:
        i = schema.items.c
        pools = db.execute(sa.select(sa.func.count()).where(i.active, i.role == "item").group_by(i.document)).scalars()
        return sum(n * (n - 1) // 2 for n in pools if n > 2)


T = TypeVar("T")


class _Kept(Generic[T]):
    """What takes long: found anew when answers have come since, and not more often than every so many seconds.

    Parameters
    ----------
    find : function of a connection
    first : value
        For whoever comes while it is found for the first time.
    every : function of seconds
        By how long it took the last time, after how many seconds it is found again at the soonest.
    """

    def __init__(self, find: Callable[[sa.Connection], T], first: T, every: Callable[[float], float]) -> None:
        self._find, self._every, self._value = find, every, first
        self._lock = threading.Lock()
        self._of: int | None = None
        """The last answer that it rests on."""
        self._at, self._took = -math.inf, 0.0

    def now(self, db: sa.Connection, newest: int) -> T:
        """What there is; whoever comes while it is found anew gets what was there before."""
        if not self._lock.acquire(blocking=False):
            return self._value
        try:
            began = time.monotonic()
            if newest != self._of and began - self._at >= self._every(self._took):
                self._value, self._of = self._find(db), newest
                self._at = time.monotonic()
                self._took = self._at - began
            return self._value
        finally:
            self._lock.release()


# -- one look ---------------------------------------------------------------------------------------


class _Look:
    """The numbers of one moment, each summed by the database."""

    def __init__(self, design: Design, db: sa.Connection, now: float) -> None:
        self.design, self.db, self.now = design, db, now
        self.sessions = design.sessions("")  # whose they are changes their order, not what they are
        p, a = schema.people.c, schema.annotators.c
        query = sa.select(p.annotator, p.state, p.consented_to, a.definition)
        joined = schema.people.join(schema.annotators, a.annotator == p.annotator)
        self.invited = db.execute(query.select_from(joined).order_by(p.invited_at, p.annotator)).all()
        self.active = [row.annotator for row in self.invited if row.state == "active"]

    def moment(self, at: float) -> Moment:
        return Moment(at, self.now - at)

    # -- people -----------------------------------------------------------------------------------

    def people(self, minutes: Mapping[str, float]) -> tuple[PersonRow, ...]:
        """Everybody who was invited, in the order of their invitations."""
        done, checks, flags = self._done, self._checks(), self._flags()
        found = []
        for row in self.invited:
            attributes = (row.definition or {}).get("attributes", {})
            expected = self.design.expected(self.design.party(attributes))
            expected = None if expected is None else expected * len(self.sessions)
            mine = done.get(row.annotator)
            last = mine and mine.last
            found.append(
                PersonRow(
                    name=row.annotator,
                    attributes=tuple((str(k), str(v)) for k, v in attributes.items()),
                    state=row.state,
                    consented=self._consented(row.consented_to),
                    done=mine.done if mine else 0,
                    skipped=mine.skipped if mine else 0,
                    of=None if expected is None else max(expected, mine.done if mine else 0),
                    session=mine.session or 1 if mine else 1,
                    sessions=len(self.sessions),
                    minutes=minutes.get(row.annotator),
                    checks_failed=sum(failed for failed in checks.get(row.annotator, ())),
                    checks=len(checks.get(row.annotator, ())),
                    flags=flags.get(row.annotator, 0),
                    last=self.moment(last) if last else None,
                )
            )
        return tuple(found)

    def _consented(self, to: str | None) -> bool | None:
        return to == self.design.consent_digest() if self.design.people.consent else None

    @cached_property
    def _done(self) -> dict[str, Any]:
        """By person, how many tasks they have done, and when last."""
        t = schema.tasks.c
        current = t.questions == self.design.asked_now
        counted = sa.and_(current, t.role != "warm-up")
        query = sa.select(
            t.annotator,
            _number(counted, t.state.in_(("answered", "skipped"))).label("done"),
            _number(counted, t.state == "skipped").label("skipped"),
            _number(t.questions != self.design.asked_now, t.role != "warm-up", t.state == "answered").label("earlier"),
            sa.func.max(sa.case((current, t.session))).label("session"),
            sa.func.max(t.closed_at).label("last"),
        )
        return {row.annotator: row for row in self.db.execute(query.group_by(t.annotator))}

    def _checks(self) -> dict[str, list[bool]]:
        """By person, for each attention check that they answered, whether they failed it."""
        known = self.design.store.known_items("check")
        if not known:
            return {}
        names = {q.id: (q.definition.name, scale_of(q.definition.scale)) for q in self.design.questions}
        a, s, i = schema.assignments.c, schema.answers.c, schema.items.c
        joined = schema.assignments.join(schema.answers, s.id == a.answer).join(schema.items, i.item == a.item)
        query = (
            sa.select(a.annotator, a.item, a.condition, a.repeat, a.question, s.label)
            .select_from(joined)
            .where(a.recipe == RECIPE, i.role == "check", i.active, s.status == "valid", a.question.in_(list(names)))
        )
        found: dict[str, dict[tuple[Any, ...], bool]] = {}
        for row in self.db.execute(query):
            name, scale = names[row.question]
            if row.item in known and name in known[row.item]["labels"]:
                wrong = is_wrong(row.label, known[row.item]["labels"][name], _scale_in(row.condition, scale), scale)
                mine = found.setdefault(row.annotator, {})
                task = (row.item, row.condition, row.repeat)
                mine[task] = mine.get(task, False) or wrong
        return {person: list(tasks.values()) for person, tasks in found.items()}

    def _flags(self) -> dict[str, int]:
        a, s = schema.assignments.c, schema.answers.c
        joined = schema.assignments.join(schema.answers, s.id == a.answer)
        tasks = (
            sa.select(a.annotator, a.item, a.condition, a.repeat)
            .distinct()
            .select_from(joined)
            .where(a.recipe == RECIPE, s.flag.is_not(None))
        ).subquery()
        query = sa.select(tasks.c.annotator, sa.func.count()).group_by(tasks.c.annotator)
        return {name: int(number) for name, number in self.db.execute(query)}

    # -- what was remarked --------------------------------------------------------------------------

    def remarks(self) -> tuple[Remark, ...]:
        """Flags, comments and skips of the answers that count, newest first."""
        a, s = schema.assignments.c, schema.answers.c
        joined = schema.assignments.join(schema.answers, s.id == a.answer)
        skipped = sa.and_(s.status == "missing", s.reason.like("skipped%"))
        query = (
            sa.select(a.annotator, a.item, s.flag, s.comment, s.reason, s.status, s.answered_at, s.shown)
            .select_from(joined)
            .where(a.recipe == RECIPE, sa.or_(s.flag.is_not(None), s.comment.is_not(None), skipped))
            .order_by(s.id.desc())
            # Every question of a task has a row, and every row of a task says the same.
            .limit(MOST_REMARKS * max(len(self.design.questions), 1))
        )
        rows: dict[int, Any] = {}
        for row in self.db.execute(query):
            task = (row.shown or {}).get("task")
            if task is not None and len(rows) < MOST_REMARKS:
                rows.setdefault(int(task), row)
        tasks = self._tasks(rows)
        return tuple(self._remark(number, row, tasks[number]) for number, row in rows.items() if number in tasks)

    def _tasks(self, numbers: Iterable[int]) -> dict[int, Any]:
        t = schema.tasks.c
        query = sa.select(t.id, t.state, t.role).where(t.id.in_(list(numbers)))
        return {row.id: row for row in self.db.execute(query)}

    def _remark(self, number: int, row: Any, task: Any) -> Remark:
        skip = row.reason or "" if row.status == "missing" else ""
        return Remark(
            person=row.annotator,
            item=row.item,
            flag=row.flag or "",
            comment=row.comment or "",
            skip=skip.removeprefix("skipped").removeprefix(": ") or ("no reason given" if skip else ""),
            at=self.moment(row.answered_at),
            task=number,
            practice=task.role == "warm-up",
            can_reopen=task.state in ("answered", "skipped"),
        )

    # -- what is short ------------------------------------------------------------------------------

    def short(self) -> Iterator[Short]:
        """By session and group, what is still to be answered."""
        t = schema.tasks.c
        several = len(self.sessions) > 1
        for session in sorted(self.sessions, key=lambda session: session.condition):
            words = session.words.removeprefix("answer with ") if several else ""
            if self.design.people.overlap is None and self.design.drawn_from is None:
                yield self._everybody(session.condition, words)
                continue
            for party in self._parties():
                wanted = self.design.overlap(party)
                mine = sa.and_(t.condition == session.condition, t.party == party)
                yield self._of_group(party, words, mine, 1 if wanted is None else wanted)

    def _parties(self) -> list[str]:
        wanted = self.design.people.overlap
        if isinstance(wanted, dict):
            return list(wanted)
        attributes = [(row.definition or {}).get("attributes", {}) for row in self.invited]
        parties = sorted({self.design.party(one) for one in attributes})
        return parties if self.design.people.group else [""]

    def _of_group(
        self, party: str, session: str, mine: sa.ColumnElement[bool], wanted: int, everybody: bool = False
    ) -> Short:
        t, i = schema.tasks.c, schema.items.c
        taken = (
            sa.select(
                t.item,
                _number(t.state == "answered").label("have"),
                _number(sa.or_(t.state == "reopened", sa.and_(t.state == "given", t.expires_at > self.now))).label(
                    "held"
                ),
            )
            .where(t.questions == self.design.asked_now, t.repeat == 1, sa.not_(t.extra), mine)
            .group_by(t.item)
        ).subquery()
        have, held = (sa.func.coalesce(taken.c[name], 0).label(name) for name in ("have", "held"))
        role = "triplet" if self.design.drawn_from else "item"
        lacking = (
            sa.select(i.item, i.position, have, held)
            .select_from(schema.items.outerjoin(taken, taken.c.item == i.item))
            .where(i.active, i.role == role, have < wanted)
        )
        all_of_them = lacking.subquery().c
        number, there, before = self.db.execute(
            sa.select(sa.func.count(all_of_them.item), sa.func.sum(all_of_them.have), sa.func.sum(all_of_them.held))
        ).one()
        rows = self.db.execute(lacking.order_by(i.position).limit(MOST_ITEMS)).all()
        n_items = self.db.execute(sa.select(sa.func.count()).where(i.active, i.role == role)).scalar_one()
        answers = wanted * number - int(there or 0)
        whole = wanted * n_items
        first = tuple(ShortItem(row.item, int(row.have), wanted, int(row.held)) for row in rows)
        return Short(
            *(party, session, everybody, int(number), answers, int(before or 0), whole - answers, whole), first=first
        )

    def _everybody(self, condition: str, session: str) -> Short:
        """Where all people answer everything, or as much of it as their quota: those who are active."""
        t = schema.tasks.c
        mine = sa.and_(t.condition == condition, t.annotator.in_(self.active))
        quota = self.design.people.quota
        if quota is None or quota >= self.design.n_items:
            return self._of_group("", session, mine, len(self.active), everybody=True)
        items = sa.and_(t.role == "item", t.repeat == 1, sa.not_(t.extra), t.questions == self.design.asked_now)
        held = sa.or_(t.state == "reopened", sa.and_(t.state == "given", t.expires_at > self.now))
        query = sa.select(t.annotator, _number(t.state == "answered").label("have"), _number(held).label("held"))
        rows = {row.annotator: row for row in self.db.execute(query.where(items, mine).group_by(t.annotator))}
        filled = sum(min(int(row.have), quota) for row in rows.values())
        whole = quota * len(self.active)
        before = sum(int(row.held) for row in rows.values())
        return Short("", session, True, 0, whole - filled, before, filled, whole, ())

    # -- all of it ----------------------------------------------------------------------------------

    def numbers(self, people: Sequence[PersonRow], short: Sequence[Short], pairs: Pairs | None) -> Numbers:
        """The study in a few numbers."""
        return Numbers(
            items=self.design.n_items,
            answered=sum(one.done - one.skipped for one in people),
            skipped=sum(one.skipped for one in people),
            people=len(self.active),
            busy=sum(one.last is not None and one.last.seconds_ago < BUSY for one in people),
            filled=pairs.of - pairs.short if pairs else sum(one.filled for one in short),
            wanted=pairs.of if pairs else sum(one.wanted for one in short),
            earlier=sum(int(row.earlier) for row in self._done.values()),
        )


def _minutes(design: Design, db: sa.Connection) -> dict[str, float]:
    """Median minutes on an item, by person.

    All questions of a task are saved together with the same seconds; each save has those since the last.
    """
    a, s, i = schema.assignments.c, schema.answers.c, schema.items.c
    joined = schema.answers.join(schema.assignments, s.assignment == a.id).join(schema.items, i.item == a.item)
    task = (a.annotator, a.item, a.condition, a.repeat)
    saves = (
        sa.select(*task, sa.func.max(s.seconds).label("seconds"))
        .select_from(joined)
        .where(a.recipe == RECIPE, s.status == "valid", s.seconds.is_not(None), i.role.not_in(NOT_COUNTED))
        .where(a.question.in_([q.id for q in design.questions]))
        .group_by(*task, s.revision)
    ).subquery()
    tasks = (
        sa.select(saves.c.annotator, sa.func.sum(saves.c.seconds).label("seconds")).group_by(
            *(saves.c[c.name] for c in task)
        )
    ).subquery()
    ranked = sa.select(
        *(tasks.c.annotator, tasks.c.seconds),
        sa.func.row_number().over(partition_by=tasks.c.annotator, order_by=tasks.c.seconds).label("place"),
        sa.func.count().over(partition_by=tasks.c.annotator).label("of"),
    ).subquery()
    r = ranked.c
    middle = sa.and_(2 * r.place >= r.of, 2 * r.place <= r.of + 2)
    query = sa.select(r.annotator, sa.func.avg(r.seconds)).where(middle).group_by(r.annotator)
    return {name: float(seconds) / 60 for name, seconds in db.execute(query)}


def _number(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    """How many rows of a group fulfil all conditions."""
    return sa.func.coalesce(sa.func.sum(sa.case((sa.and_(*conditions), 1), else_=0)), 0)


def _scale_in(condition: str, scale: Scale) -> Scale:
    """The scale of a session, or the question's own."""
    varied = json.loads(condition).get("scale")
    return parse_scale(varied) if varied else scale


def _group_words(design: Design) -> str:
    group, wanted = design.people.group, design.people.overlap
    if group is None:
        return ""
    return f"{group} ({listing(list(wanted))})" if isinstance(wanted, dict) else group
