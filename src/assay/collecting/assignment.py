"""Who gets which item next: overlap, quotas, checks, items that come again, sessions.

A task is one item before one person. It is given with a date until which nobody else gets its place;
a place whose date has passed, or whose person has skipped the item, goes to somebody else. All of it
happens in turn (`Store.in_turn`), so that no two people are given the last place of an item.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import sqlalchemy as sa

from assay.collecting.design import Design, Session
from assay.collecting.invitations import Person, everybody
from assay.collecting.lookahead import MOST_PAIRS, Rest
from assay.collecting.triplets import Sampler, Triplet, name_of
from assay.study import schema
from assay.study.store import Role, chance
from assay.study.study import TRIPLET, TRIPLET_ITEMS, Item

PAUSED = "paused"
WINDOW = 400
"""So many items of a person's order are looked at together for the one that lacks most answers."""
LOOK_EVERY = 10.0
"""Seconds until it is counted again whether few enough places are left to look ahead."""

Reason = Literal["done", "later", "paused", "empty"]


@dataclass(frozen=True)
class End:
    """Why there is nothing further for a person now."""

    kind: Reason
    opens_at: float | None = None
    """Of the next session, or when a place may come back: seconds since 1970."""


@dataclass(frozen=True)
class Held:
    """Pages that a person holds, in order, and why there are no further ones (None: there may be)."""

    pages: tuple[int, ...]
    session: Session
    end: End | None


class Assigner:
    """Gives out the items of a study."""

    def __init__(self, design: Design) -> None:
        self.design, self.store = design, design.store
        self.order = lru_cache(maxsize=256)(design.order)
        self.known = {role: list(self.store.known_items(role)) for role in _KNOWN}
        self._full: dict[tuple[str, str], set[str]] = {}
        self._full_since = 0.0
        self._look_at: dict[tuple[str, str], float] = {}
        self._sampler: Sampler | None = None
        self._drawn_until = 0

    def hold(self, person: Person, after: int, most: int) -> Held:
        """Up to ``most`` pages after page ``after`` for this person to answer, given now where none are held.

        What they hold already is theirs for another while.
        """
        with self.store.in_turn() as db:
            return _Giving(self, db, person).hold(after, most)

    # -- what the items still need --------------------------------------------------------------

    def _that_count(self, condition: str, party: str) -> tuple[sa.ColumnElement[bool], ...]:
        """The tasks of a session and group that may count toward their items' overlap."""
        t = schema.tasks.c
        asked = (t.questions == self.design.asked_now, t.condition == condition, t.party == party)
        return (*asked, t.repeat == 1, sa.not_(t.extra))

    def live(self, db: sa.Connection, items: Sequence[str], condition: str, party: str, now: float) -> dict[str, int]:
        """How many places of each item are taken: answered, or given and not yet run out."""
        t = schema.tasks.c
        which = (t.item.in_(items), *self._that_count(condition, party), _taken(now))
        query = sa.select(t.item, sa.func.count()).where(*which).group_by(t.item)
        return {item: int(number) for item, number in db.execute(query)}

    def has_place(self, db: sa.Connection, task: Any, now: float) -> bool:
        """Whether a task whose date has passed, or that was skipped, may count toward its item again."""
        wanted = self.design.overlap(task.party)
        if wanted is None or task.role not in ("item", "triplet") or task.repeat > 1:
            return True
        t = schema.tasks.c
        others = sa.select(sa.func.count()).where(
            *(t.item == task.item, t.questions == task.questions, t.condition == task.condition),
            *(t.party == task.party, t.repeat == 1, t.id != task.id, sa.not_(t.extra), _taken(now)),
        )
        return int(db.execute(others).scalar_one()) < wanted

    def free(
        self,
        db: sa.Connection,
        order: Iterable[list[str]],
        seen: set[str],
        condition: str,
        party: str,
        now: float,
        taken: dict[str, int],
        safe: Collection[str] | None = None,
    ) -> list[str] | None:
        """The next items of an order (one, or those of a document) with places free; the least answered first.

        ``taken`` keeps what was counted for the next look in the same turn, as nobody else gives meanwhile.
        With ``safe``, no other pages than those.
        """
        wanted = self.design.overlap(party)
        if wanted == 0:
            return None
        full = self._known_full(condition, party, now)
        if safe is not None:
            order = (group for group in order if self.design.page_of(group[0]) in safe)
        rest = ([name for name in group if name not in seen and name not in full] for group in order)
        groups: Iterator[list[str]] = (group for group in rest if group)
        if wanted is None:
            return next(groups, None)
        while window := list(islice(groups, WINDOW)):
            best = _least_answered(window, taken, wanted)
            if best is not None:
                return best
            names = [name for group in window for name in group]
            taken.update(dict.fromkeys(names, 0) | self.live(db, names, condition, party, now))
            best = _least_answered(window, taken, wanted)
            if best is not None:
                return best
            full.update(self._answered_enough(db, names, condition, party, wanted))
        return None

    def _known_full(self, condition: str, party: str, now: float) -> set[str]:
        """Items found to have all their answers; forgotten every minute, as an answer may be taken back."""
        if now - self._full_since > 60:
            self._full.clear()
            self._full_since = now
        return self._full.setdefault((condition, party), set())

    def _answered_enough(
        self, db: sa.Connection, items: Sequence[str], condition: str, party: str, wanted: int
    ) -> list[str]:
        t = schema.tasks.c
        which = (t.item.in_(items), *self._that_count(condition, party), t.state == "answered")
        query = sa.select(t.item).where(*which).group_by(t.item).having(sa.func.count() >= wanted)
        return list(db.execute(query).scalars())

    def rest(self, db: sa.Connection, condition: str, party: str, now: float) -> Rest | None:
        """What is left of a session for a group; None where any item will do for anybody.

        Only where quotas bind and pages are of one size; and only once there is little enough to look ahead.
        """
        wanted, quota, size = self.design.overlap(party), self.design.people.quota, self.design.page_size
        if not wanted or quota is None or size is None or self.design.drawn_from is not None:
            return None
        if now < self._look_at.get((condition, party), 0.0):
            return None
        t = schema.tasks.c
        about = (t.questions == self.design.asked_now, t.condition == condition, t.repeat == 1, t.role == "item")
        counting = (*self._that_count(condition, party), _taken(now))
        full = sa.select(t.item).where(*about, *counting).group_by(t.item).having(sa.func.count() >= wanted)
        lacking = dict.fromkeys(self.design.names, wanted)
        for item in db.execute(full).scalars():
            lacking.pop(item, None)
        counted = sa.select(t.annotator, sa.func.count()).where(*about).group_by(t.annotator)
        given = {str(name): int(number) for name, number in db.execute(counted)}
        here = [one for one in everybody(self.store) if one.state != "revoked"]
        names = [one.name for one in here if self.design.party(one.attributes) == party]
        room = {name: -(-(quota - given.get(name, 0)) // size) for name in names if given.get(name, 0) < quota}
        if len(lacking) // size * len(room) > MOST_PAIRS:
            self._look_at[condition, party] = now + LOOK_EVERY
            return None
        had: dict[str, set[str]] = {}
        counts = sa.case((sa.and_(*counting), 1), else_=0)
        for name, item, number in db.execute(sa.select(t.annotator, t.item, counts).where(*about, t.item.not_in(full))):
            had.setdefault(name, set()).add(self.design.page_of(item))
            if item in lacking:
                lacking[item] -= number
        places: dict[str, int] = {}
        for item, number in lacking.items():
            page = self.design.page_of(item)
            places[page] = max(number, places.get(page, 0))
        return Rest(places, room, had)

    def soonest_back(self, db: sa.Connection, person: str, condition: str, party: str, now: float) -> float | None:
        """When the first place that others hold, on an item that this person has not had, may come back."""
        t = schema.tasks.c
        mine = sa.select(t.item).where(t.annotator == person, t.condition == condition)
        query = sa.select(sa.func.min(t.expires_at)).where(
            *self._that_count(condition, party),
            *(t.state == "given", t.expires_at > now, t.annotator != person, t.item.not_in(mine)),
            t.role.in_(("item", "triplet")),
        )
        found = db.execute(query).scalar()
        return None if found is None else float(found)

    # -- triplets -------------------------------------------------------------------------------

    def drawn(self, db: sa.Connection) -> Sampler:
        """The sampler, which knows of every triplet drawn so far, by whichever process."""
        if self._sampler is None:
            pools: dict[str, list[str]] = {}
            for item, _digest in self.store.items():  # noqa: PERF102
                pools.setdefault(item.document or "", []).append(item.name)
            self._sampler = Sampler(pools, self.design.people.pairs)
        i = schema.items.c
        query = sa.select(i.position, i.known).where(i.role == "triplet", i.position >= self._drawn_until)
        for row in db.execute(query.order_by(i.position)).all():
            first, second, third = row.known["members"]
            self._sampler.add([(first, second, third)])
            self._drawn_until = row.position + 1
        return self._sampler

    def triplet(self, db: sa.Connection, person: str, seen: set[str], party: str, now: float) -> list[str] | None:
        """A triplet that was drawn before and lacks answers, else a new one."""
        sampler = self.drawn(db)
        wanted = self.design.overlap(party)
        if wanted is None:
            wanted = 1
        i, t = schema.items.c, schema.tasks.c
        mine = sa.select(t.item).where(t.annotator == person)
        taken = (
            sa.select(sa.func.count())
            .where(t.item == i.item, t.questions == self.design.asked_now, t.party == party)
            .where(t.repeat == 1, sa.not_(t.extra), _taken(now))
            .scalar_subquery()
        )
        lacking = sa.select(i.item).where(i.role == "triplet", i.active, i.item.not_in(mine), taken < wanted)
        old = db.execute(lacking.order_by(i.position).limit(1)).scalar()
        if old is not None:
            return [str(old)]
        new = sampler.next(chance(self.design.people.seed, "triplet", self._drawn_until))
        return None if new is None or wanted == 0 else [self._add_triplet(db, new)]

    def _add_triplet(self, db: sa.Connection, triplet: Triplet) -> str:
        i = schema.items.c
        rows = {row.item: row for row in db.execute(sa.select(schema.items).where(i.item.in_(triplet))).all()}
        first = rows[triplet[0]]
        column = self.design.drawn_from
        assert column is not None
        texts = {place: rows[name].fields.get(column, "") for place, name in zip(TRIPLET, triplet, strict=True)}
        beside = {c: v for c, v in first.fields.items() if c != column}
        shared = {c: v for c, v in beside.items() if all(rows[name].fields.get(c) == v for name in triplet)}
        names = dict(zip(TRIPLET_ITEMS, triplet, strict=True))
        one = Item(name_of(triplet), first.document, shared | texts | names)
        self.store.put_items(db, [(self._drawn_until, one, "triplet", {"members": list(triplet)})])
        self.drawn(db)
        self.store.put(db, "triplets", self._drawn_until)
        return one.name


def _least_answered(groups: Iterable[list[str]], taken: dict[str, int], wanted: int) -> list[str] | None:
    """Of the groups that were counted, the one that was answered least, without items that have no place."""
    best, least = None, float("inf")
    for group in groups:
        free = [name for name in group if taken.get(name, wanted) < wanted]
        mean = sum(taken[name] for name in free) / len(free) if free else least
        if mean < least:
            best, least = free, mean
        if least == 0:
            break
    return best


_KNOWN: tuple[Role, ...] = ("check", "warm-up")


def _taken(now: float) -> sa.ColumnElement[bool]:
    t = schema.tasks.c
    return sa.or_(t.state.in_(("answered", "reopened")), sa.and_(t.state == "given", t.expires_at > now))


class _Giving:
    """One person's turn: what they hold, and what they are given beside it."""

    def __init__(self, assigner: Assigner, db: sa.Connection, person: Person) -> None:
        self.assigner, self.design, self.db, self.person = assigner, assigner.design, db, person
        self.people = self.design.people
        self.party = self.design.party(person.attributes)
        self.now = assigner.store.now(db)
        self._taken: dict[str, dict[str, int]] = {}
        self._rest: dict[str, Rest | None] = {}
        t = schema.tasks.c
        mine = sa.select(
            *(t.id, t.item, t.questions, t.condition, t.repeat, t.role, t.party, t.session, t.page, t.place),
            *(t.state, t.extra, t.expires_at, t.closed_at),
        )
        self.mine: list[Any] = list(db.execute(mine.where(t.annotator == person.name).order_by(t.place)))

    def hold(self, after: int, most: int) -> Held:
        sessions = self.design.sessions(self.person.name)
        at = max((t.session for t in self.mine if self._current(t)), default=1)
        session = sessions[min(at, len(sessions)) - 1]
        waiting = self.assigner.store.setting(PAUSED) or self.person.state == "paused"
        if waiting:
            return Held((), session, End("paused"))
        # Who has pages open before these is given fewer: each holds a place that somebody else may wait for.
        before = {t.page for t in self.mine if t.page <= after and t.state == "given" and self._held(t)}
        most = max(1, min(most, self.people.ahead + 1 - len(before)))
        while True:
            pages = self._renewed(after, most)
            end: End | None = None
            while len(pages) < most:
                given, end = self._give(session)
                if given is None:
                    break
                pages.append(given)
            # The last of a session opens the next, if its time has come.
            if pages or end is None or end.kind != "done" or session.number == len(sessions):
                return Held(tuple(pages), session, end if not pages else None)
            closed = [
                t.closed_at for t in self.mine if t.session == session.number and self._current(t) and t.closed_at
            ]
            opens = max(closed, default=self.now) + self.people.days_apart * 86400
            if opens > self.now:
                return Held((), session, End("later", opens))
            session = sessions[session.number]

    def _current(self, task: Any) -> bool:
        return bool(task.questions == self.design.asked_now)

    def _renewed(self, after: int, most: int) -> list[int]:
        """Pages that are held already; those whose date has passed only where their place is still free."""
        held: dict[int, list[int]] = {}
        for task in self.mine:
            if task.state in ("given", "reopened") and task.page > after and self._current(task):
                lapsed = task.state == "given" and task.expires_at <= self.now
                if not lapsed or self.assigner.has_place(self.db, task, self.now):
                    held.setdefault(task.page, []).append(task.id)
        pages = sorted(held)[:most]
        ids = [number for page in pages for number in held[page]]
        if ids:
            t = schema.tasks
            until = self.now + self.people.reserve * 60
            stale = (
                t.c.expires_at < until - self.people.reserve * 6
            )  # not at every look: a tenth of the time is close enough
            self.db.execute(sa.update(t).where(t.c.id.in_(ids), stale).values(expires_at=until))
        return pages

    # -- what comes next ------------------------------------------------------------------------

    def _give(self, session: Session) -> tuple[int | None, End | None]:
        """The number of a new page; or None and why there is none (None: not before open tasks are answered)."""
        mine = [t for t in self.mine if self._current(t) and t.condition == session.condition]
        items = [t for t in mine if t.role in ("item", "triplet") and t.repeat == 1]
        given = (
            self._warm_up(session, mine)
            or self._check(session, mine, items)
            or self._again(session, mine, items, self.people.retest_gap)
        )
        if given is not None:
            return given, None
        quota = self.people.quota
        room = quota is None or len(items) < quota
        if room:
            names = self._new(session, {t.item for t in mine})
            if names is not None:
                names = names if quota is None else names[: quota - len(items)]
                role: Role = "triplet" if self.design.drawn_from else "item"
                return self._add(session, names, role, 1), None
        given = self._again(session, mine, items, 0)
        if given is not None:
            return given, None
        if any(t.state in ("given", "reopened") and self._held(t) for t in mine):
            return None, None
        back = None
        if room and self.design.overlap(self.party) is not None:
            back = self.assigner.soonest_back(self.db, self.person.name, session.condition, self.party, self.now)
        return None, End("done") if back is None else End("empty", back)

    def _held(self, task: Any) -> bool:
        lapsed = task.state == "given" and task.expires_at <= self.now
        return not lapsed or self.assigner.has_place(self.db, task, self.now)

    def _warm_up(self, session: Session, mine: Sequence[Any]) -> int | None:
        if session.number > 1:
            return None
        had = {t.item for t in mine if t.role == "warm-up"}
        rest = [name for name in self.assigner.known["warm-up"] if name not in had]
        return self._add(session, rest[:1], "warm-up", 1) if rest else None

    def _check(self, session: Session, mine: Sequence[Any], items: Sequence[Any]) -> int | None:
        had = {t.item for t in mine if t.role == "check"}
        rest = [name for name in self.assigner.known["check"] if name not in had]
        if not rest or self.people.checks is None or len(items) < (len(had) + 1) * self.people.checks.every:
            return None
        chance(self.people.seed, "checks", self.person.name, session.condition).shuffle(rest)
        return self._add(session, rest[:1], "check", 1)

    def _again(self, session: Session, mine: Sequence[Any], items: Sequence[Any], gap: int) -> int | None:
        """An item a second time: evenly spread over a person's own random order, so a random share."""
        share = self.people.retest
        if not share:
            return None
        had = {t.item for t in mine if t.repeat == 2}
        for number, task in enumerate(items, start=1):
            drawn = int(number * share) > int((number - 1) * share)
            if drawn and task.state == "answered" and task.item not in had and len(items) - number >= gap:
                return self._add(session, [task.item], task.role, 2)
        return None

    def _new(self, session: Session, seen: set[str]) -> list[str] | None:
        if self.design.drawn_from is not None:
            return self.assigner.triplet(self.db, self.person.name, seen, self.party, self.now)
        about = (session.condition, self.party, self.now)
        if session.condition not in self._rest:
            self._rest[session.condition] = self.assigner.rest(self.db, *about)
        rest = self._rest[session.condition]
        safe = None if rest is None else rest.safe_for(self.person.name)
        order = self.design.pages(self.assigner.order(self.person.name, session.condition))
        taken = self._taken.setdefault(session.condition, {})
        names = self.assigner.free(self.db, order, seen, *about, taken, safe)
        if rest is not None and names is not None:
            rest.take(self.person.name, self.design.page_of(names[0]))
        return names

    def _add(self, session: Session, names: Sequence[str], role: Role, repeat: int) -> int:
        page = max((t.page for t in self.mine), default=0) + 1
        place = max((t.place for t in self.mine), default=0)
        i = schema.items.c
        known = self.db.execute(sa.select(i.item, i.digest).where(i.item.in_(names)))
        digests = {row.item: row.digest for row in known}
        rows = [
            {
                "annotator": self.person.name,
                "item": name,
                "questions": self.design.asked_now,
                "condition": session.condition,
                "repeat": repeat,
                "role": role,
                "party": self.party,
                "session": session.number,
                "page": page,
                "place": place + number,
                "state": "given",
                "extra": False,
                "form": self.design.form,
                "shown": {
                    "item": digests[name],
                    "order": self.design.orders(self.person.name, name, session.condition, repeat),
                },
                "given_at": self.now,
                "expires_at": self.now + self.people.reserve * 60,
            }
            for number, name in enumerate(names, start=1)
        ]
        self.db.execute(sa.insert(schema.tasks), rows)
        self.mine += [_New(**{**row, "id": 0, "closed_at": None}) for row in rows]
        return page


class _New:
    """A task that was just given, with the columns of one that was read."""

    def __init__(self, **columns: Any) -> None:
        self.__dict__.update(columns)


def progress(design: Design, db: sa.Connection, person: Person, session: Session) -> dict[str, int | None]:
    """How many tasks of a session a person has done, and of how many; None where that is not known."""
    t = schema.tasks.c
    mine = sa.select(t.state, sa.func.count()).where(
        *(t.annotator == person.name, t.questions == design.asked_now, t.condition == session.condition),
        t.role != "warm-up",
    )
    states = {state: int(number) for state, number in db.execute(mine.group_by(t.state))}
    done = states.get("answered", 0) + states.get("skipped", 0)
    expected = design.expected(design.party(person.attributes))
    return {"done": done, "total": None if expected is None else max(expected, done)}


def parsed(text: str) -> Any:
    """What is kept as canonical JSON: a condition, a list of questions."""
    return json.loads(text)
