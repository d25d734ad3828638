"""How a study stands, for whoever leads it: who did how much, what is short, what was remarked, do they agree?"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from assay.collecting.agreed import Agreed, agreement_so_far
from assay.collecting.design import Design, is_wrong
from assay.collecting.drawing import Drawing
from assay.data.scales import Scale, parse_scale
from assay.errors import listing
from assay.study.schema import scale_of
from assay.study.store import standing
from assay.study.store.answers import newest_answer
from assay.study.store.connection import Connection
from assay.study.store.items import Role, known_items
from assay.study.store.people import Person, everybody_invited
from assay.study.store.standing import Work

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
        Items answered and skipped so far, attention checks and retest items among them.
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
        How many are expected of them, in all sessions; None where that depends on the others.
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
        self._agreement = Cached[tuple[Agreed, ...]](
            lambda db: agreement_so_far(design, db), (), lambda took: AGREEMENT_EVERY
        )
        self._minutes = Cached[dict[str, float]](
            lambda db: standing.minutes_by_person(db, [q.id for q in design.questions]), {}, lambda took: took / SHARE
        )
        self._counting = threading.Lock()
        self._drawing = Drawing(design)
        self._pairs: Pairs | None = None

    def look(self) -> Overview:
        """The study as it stands now."""
        with self.store.reading() as db:
            snapshot = Snapshot(self.design, db, self.store.now(db))
            pairs = self._pairs_now(db) if self.design.drawn_from else None
            newest = newest_answer(db)
            short = tuple(snapshot.short())
            people = snapshot.people(self._minutes.now(db, newest))
            return Overview(
                numbers=snapshot.numbers(people, short, pairs),
                people=people,
                agreement=self._agreement.now(db, newest),
                remarks=snapshot.remarks(),
                short=short,
                pairs=pairs,
                group=_group_words(self.design),
            )

    def _pairs_now(self, db: Connection) -> Pairs:
        """Counted anew only when another triplet was drawn."""
        with self._counting:
            sampler = self._drawing.sampler(db)
            drawn = standing.n_triplets(db)
            if self._pairs is None or self._pairs.triplets != drawn:
                self._pairs = Pairs(sampler.short(), standing.n_pairs(db), self.design.people.pairs, drawn)
            return self._pairs


T = TypeVar("T")


class Cached(Generic[T]):
    """What takes long: found anew when answers have come since, and not more often than every so many seconds.

    Parameters
    ----------
    find : function of a connection
    first : value
        For whoever comes while it is found for the first time.
    every : function of seconds
        By how long it took the last time, after how many seconds it is found again at the soonest.
    """

    def __init__(self, find: Callable[[Connection], T], first: T, every: Callable[[float], float]) -> None:
        self._find, self._every, self._value = find, every, first
        self._lock = threading.Lock()
        self._of: int | None = None
        """The last answer that it rests on."""
        self._at, self._took = -math.inf, 0.0

    def now(self, db: Connection, newest: int) -> T:
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


class Snapshot:
    """The numbers of one moment, each summed by the database."""

    def __init__(self, design: Design, db: Connection, now: float) -> None:
        self.design, self.db, self.now = design, db, now
        self.sessions = design.sessions("")  # whose they are changes their order, not what they are
        self.invited = everybody_invited(db)
        self.active = [person.name for person in self.invited if person.state == "active"]

    def moment(self, at: float) -> Moment:
        """A time, as seen from this one."""
        return Moment(at, self.now - at)

    # -- people -----------------------------------------------------------------------------------

    def people(self, minutes: Mapping[str, float]) -> tuple[PersonRow, ...]:
        """Everybody who was invited, in the order of their invitations."""
        checks, flags = self._checks(), standing.flags_by_person(self.db)
        return tuple(
            self._row(person, checks.get(person.name, []), flags.get(person.name, 0), minutes.get(person.name))
            for person in self.invited
        )

    def _row(self, person: Person, checks: list[bool], flags: int, minutes: float | None) -> PersonRow:
        expected = self.design.expected(self.design.party(person.attributes))
        expected = None if expected is None else expected * len(self.sessions)
        mine = self._done.get(person.name)
        last = mine and mine.last
        return PersonRow(
            name=person.name,
            attributes=tuple((str(k), str(v)) for k, v in person.attributes.items()),
            state=person.state,
            consented=self._consented(person.consented_to),
            done=mine.done if mine else 0,
            skipped=mine.skipped if mine else 0,
            of=None if expected is None else max(expected, mine.done if mine else 0),
            session=mine.session or 1 if mine else 1,
            sessions=len(self.sessions),
            minutes=minutes,
            checks_failed=sum(checks),
            checks=len(checks),
            flags=flags,
            last=self.moment(last) if last else None,
        )

    def _consented(self, to: str | None) -> bool | None:
        return to == self.design.consent_digest() if self.design.people.consent else None

    @cached_property
    def _done(self) -> dict[str, Any]:
        """By person, how many tasks they have done, and when last."""
        return standing.done_by_person(self.db, self.design.asked_now)

    def _checks(self) -> dict[str, list[bool]]:
        """By person, for each attention check that they answered, whether they failed it."""
        known = known_items(self.design.store, "check")
        if not known:
            return {}
        names = {q.id: (q.definition.name, scale_of(q.definition.scale)) for q in self.design.questions}
        found: dict[str, dict[tuple[Any, ...], bool]] = {}
        for row in standing.check_answers(self.db, list(names)):
            name, scale = names[row.question]
            if row.item in known and name in known[row.item]["labels"]:
                wrong = is_wrong(row.label, known[row.item]["labels"][name], _scale_in(row.condition, scale), scale)
                mine = found.setdefault(row.annotator, {})
                task = (row.item, row.condition, row.repeat)
                mine[task] = mine.get(task, False) or wrong
        return {person: list(tasks.values()) for person, tasks in found.items()}

    # -- what was remarked --------------------------------------------------------------------------

    def remarks(self) -> tuple[Remark, ...]:
        """Flags, comments and skips of the answers that count, newest first."""
        rows: dict[int, Any] = {}
        # Every question of a task has a row, and every row of a task says the same.
        for row in standing.remarks(self.db, MOST_REMARKS * max(len(self.design.questions), 1)):
            task = (row.shown or {}).get("task")
            if task is not None and len(rows) < MOST_REMARKS:
                rows.setdefault(int(task), row)
        tasks = standing.states_and_roles(self.db, rows)
        return tuple(self._remark(number, row, tasks[number]) for number, row in rows.items() if number in tasks)

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
        several = len(self.sessions) > 1
        for session in sorted(self.sessions, key=lambda session: session.condition):
            words = session.words.removeprefix("answer with ") if several else ""
            if self.design.people.overlap is None and self.design.drawn_from is None:
                yield self._everybody(session.condition, words)
                continue
            for party in self._parties():
                wanted = self.design.overlap(party)
                work = Work(self.design.asked_now, session.condition, party=party)
                yield self._short_of(work, words, 1 if wanted is None else wanted)

    def _parties(self) -> list[str]:
        wanted = self.design.people.overlap
        if isinstance(wanted, dict):
            return list(wanted)
        parties = sorted({self.design.party(person.attributes) for person in self.invited})
        return parties if self.design.people.group else [""]

    def _short_of(self, work: Work, session: str, wanted: int) -> Short:
        role: Role = "triplet" if self.design.drawn_from else "item"
        lack = standing.shortfall(self.db, work, role, wanted, self.now, MOST_ITEMS)
        answers, whole = wanted * lack.items - lack.have, wanted * lack.of
        return Short(
            group=work.party or "",
            session=session,
            everybody=work.people is not None,
            items=lack.items,
            answers=answers,
            held=lack.held,
            filled=whole - answers,
            wanted=whole,
            first=tuple(ShortItem(row.item, int(row.have), wanted, int(row.held)) for row in lack.first),
        )

    def _everybody(self, condition: str, session: str) -> Short:
        """Where all people answer everything, or as much of it as their quota: those who are active."""
        work = Work(self.design.asked_now, condition, people=self.active)
        quota = self.design.people.quota
        if quota is None or quota >= self.design.n_items:
            return self._short_of(work, session, len(self.active))
        each = standing.items_by_person(self.db, work, self.now)
        filled, whole = sum(min(have, quota) for have, _ in each), quota * len(self.active)
        held = sum(held for _, held in each)
        return Short("", session, True, 0, whole - filled, held, filled, whole, ())

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


def _scale_in(condition: str, scale: Scale) -> Scale:
    """The scale of a session, or the question's own."""
    varied = json.loads(condition).get("scale")
    return parse_scale(varied) if varied else scale


def _group_words(design: Design) -> str:
    group, wanted = design.people.group, design.people.overlap
    if group is None:
        return ""
    return f"{group} ({listing(list(wanted))})" if isinstance(wanted, dict) else group
