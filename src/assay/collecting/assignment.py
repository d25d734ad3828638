"""Who gets which item next: overlap, quotas, checks, items that come again, sessions.

A task is one item before one person. It is given with a date until which nobody else gets its place;
a place whose date has passed, or whose person has skipped the item, goes to somebody else. All of it
happens in an exclusive transaction (`Store.exclusive`), so that no two people are given the last place of an item.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.collecting.design import Session, StudyDesign, is_wrong
from assay.data.scales import Scale, parse_scale
from assay.errors import counted, listing
from assay.statistics.triplets import Sampler
from assay.study.items import canonical, chance
from assay.study.schema import Outcome, kind_of, scale_of
from assay.study.store import table
from assay.study.store.connection import Connection
from assay.study.store.items import Role, digests_of, known_items
from assay.study.store.people import (
    ADDED,
    ADJUDICATION,
    ADJUDICATOR,
    Person,
    Slot,
    Task,
    adjudicated_items,
    all_places_taken,
    answered_enough,
    answered_with,
    close_pages,
    closed_up_to,
    count_given,
    everybody,
    free_places_of,
    give,
    items_had,
    lapsed_tasks,
    left_out,
    newest_task,
    places_of_others,
    places_taken,
    renew,
    soonest_back,
    states_of,
    tasks_of,
    triplet_in_need,
)
from assay.study.store.work import TripletDrawer
from assay.study.store.work_log import first_labels, label_frame, read_labels

if TYPE_CHECKING:
    from polars import DataFrame

PAUSED = "paused"
"""Setting: whether the study is paused."""

WINDOW = 400
"""Items of a person's order that are looked at together for the one that lacks most answers: one query counts them."""

WINDOW_PLACES = 4000
"""Places that these may have: with 400 items of 50 places each a page took twice the time, all others waiting."""

FULL_FOR = 60.0
"""Seconds for which an item with all its answers is passed over uncounted; an answer may be taken back."""

COUNT_SHARE = 0.02
"""Of the empty places, how many are given before all are counted again: a count takes .3 s among 147,000 answers. By
time (every 10 s) 50 quick people had filled the last 200 places between two counts."""

DISPUTED_FOR = 10.0
"""Seconds for which the items on which people differ are not looked up again: that reads all labels."""

RENEW_SHARE = 0.1
"""Of its time, how much a held place must have lost to be renewed: not at every look, which would be a write each."""

Reason = Literal["done", "later", "paused", "empty", "stopped", "over"] | Outcome


@dataclass(frozen=True)
class End:
    """Why there is nothing further for a person now."""

    kind: Reason
    opens_at: float | None = None
    """Of the next session, when a place may come back, or when the time was over: seconds since 1970."""


@dataclass(frozen=True)
class HeldPages:
    """Pages that a person holds, in order, and why there are no further ones (None: there may be)."""

    pages: tuple[int, ...]
    session: Session
    end: End | None
    closed: int = 0
    """What was answered on pages up to this one is shown no more, and stays as it is."""


class Assigner:
    """Gives out the items of a study."""

    def __init__(self, design: StudyDesign) -> None:
        self.design, self.store = design, design.store
        self.order = lru_cache(maxsize=256)(design.order)
        self.known = {role: list(known_items(self.store, role)) for role in _KNOWN}
        self.drawing = TripletAssigner(design)
        self._full: dict[Slot, set[str]] = {}
        self._full_since = 0.0
        self._disputed: dict[str, tuple[float, list[str]]] = {}
        self._empty: dict[Slot, dict[str, int]] = {}
        """By page, how many answers were missing when all were counted."""
        self._counted_for: dict[Slot, range] = {}
        """The numbers of the newest task for which that count will do."""
        if design.people.quota is not None and design.people.overlap is not None:
            # Before anybody waits: the first to look ahead would import it for .14 s with the store's lock held.
            import scipy.sparse.csgraph  # noqa: F401

    def hold(self, person: Person, after: int, most: int) -> HeldPages:
        """Up to ``most`` pages after page ``after`` for this person to answer, given now where none are held.

        What they hold already is theirs for another while.
        """
        with self.store.exclusive() as db:
            return AssignmentTurn(self, db, person).hold(after, most)

    def find_disputed(self, db: Connection, condition: str, now: float) -> list[str]:
        """Items on which people differ, most of all first; looked up now and then, as it reads all labels."""
        at, found = self._disputed.get(condition, (0.0, []))
        if not 0 <= now - at <= DISPUTED_FOR or not found:  # the clock may have gone back
            found = list(disputed_items(self.design, label_frame(db), condition, left_out(everybody(db))))
            self._disputed[condition] = (now, found)
        return found

    # -- what the items still need --------------------------------------------------------------

    def slot(self, condition: str, party: str) -> Slot:
        """What counts together: the tasks of a session and group, with the questions as they read now."""
        return Slot(self.design.counted, condition, party)

    def has_place(self, db: Connection, task: Task, now: float) -> bool:
        """Whether a task whose date has passed, or that was skipped, may count toward its item again."""
        if task.party == ADJUDICATION:
            return True
        wanted = self.design.overlap(task.party)
        if wanted is None or task.role not in ("item", "triplet") or task.repeat > 1:
            return True
        questions = self.design.counted if task.questions in self.design.counted else (task.questions,)
        return places_of_others(db, Slot(questions, task.condition, task.party), task, now) < wanted

    def free(
        self,
        db: Connection,
        order: Iterable[list[str]],
        seen: set[str],
        slot: Slot,
        now: float,
        taken: dict[str, int],
        safe: Collection[str] | None = None,
    ) -> list[str] | None:
        """The next items of an order (one, or those of a document) with places free; the least answered first.

        ``taken`` keeps what was counted for the next look in the same turn, as nobody else gives meanwhile.
        With ``safe``, no other pages than those.
        """
        wanted = self.design.overlap(slot.party)
        if wanted == 0:
            return None
        full = self._full_items(slot, now)
        if safe is not None:
            order, full = (group for group in order if self.design.page_of(group[0]) in safe), set()
        rest = ([name for name in group if name not in seen and name not in full] for group in order)
        groups: Iterator[list[str]] = (group for group in rest if group)
        if wanted is None:
            return next(groups, None)
        size = self._window(slot)
        while window := list(islice(groups, size)):
            names = [name for group in window for name in group]
            best = _neediest_group(window, taken, wanted)
            if best is None:
                taken.update(dict.fromkeys(names, 0) | places_taken(db, slot, names, now))
                best = _neediest_group(window, taken, wanted)
            if best is not None:
                return best
            full.update(answered_enough(db, slot, names, wanted))
        return None

    def _full_items(self, slot: Slot, now: float) -> set[str]:
        """Items found to have all their answers, forgotten from time to time."""
        if not 0 <= now - self._full_since <= FULL_FOR:  # the clock may have gone back
            self._full.clear()
            self._full_since = now
        return self._full.setdefault(slot, set())

    def rest(self, db: Connection, slot: Slot, now: float) -> OpenPlaces | None:
        """The empty places of a session for a group, if each choice must be held to them; None if it need not be.

        Only if quotas bind and pages are of one size; and only once there are few enough places to look ahead.
        """
        wanted, quota, size = self.design.overlap(slot.party), self.design.people.quota, self.design.page_size
        if not wanted or quota is None or size is None or self.design.drawn_from is not None:
            return None
        newest = newest_task(db)
        if newest in self._counted_for.get(slot, ()):
            return None
        found = self._open_places(db, slot, now, wanted, quota, size)
        if found.n_people > 1 and len(found.places) * found.n_people <= MOST_PAIRS:
            for name, item in items_had(db, slot, self._items_of(found.places), found.room):
                found.had.setdefault(name, set()).add(self.design.page_of(item))
            return found
        self._empty[slot] = found.places
        self._counted_for[slot] = range(newest, newest + max(1, int(COUNT_SHARE * sum(found.places.values()))))
        return None

    def pages(self, person: str, condition: str, slot: Slot) -> Iterable[list[str]]:
        """The pages in a person's own order, those first that lacked most answers when all were counted."""
        pages = self.design.pages(self.order(person, condition))
        empty = self._empty.get(slot)
        if empty is None or len(self.design.names) <= self._window(slot):  # one window has them all
            return pages
        return sorted(pages, key=lambda page: -empty.get(self.design.page_of(page[0]), 0))

    def _window(self, slot: Slot) -> int:
        """How many pages are looked at together."""
        wanted = self.design.overlap(slot.party) or 1
        return max(WINDOW // 20, min(WINDOW, WINDOW_PLACES // wanted))

    def _open_places(self, db: Connection, slot: Slot, now: float, wanted: int, quota: int, size: int) -> OpenPlaces:
        """By page, how many answers are missing; who may still be given how many pages."""
        taken = all_places_taken(db, slot, now)
        places: dict[str, int] = {}
        for name in self.design.names:
            if (number := wanted - taken.get(name, 0)) > 0:
                page = self.design.page_of(name)
                places[page] = max(number, places.get(page, 0))
        names, given = self._people_of(db, slot.party), count_given(db, slot)
        room = {name: -(-(quota - given.get(name, 0)) // size) for name in names if given.get(name, 0) < quota}
        lapsed: dict[str, set[str]] = {}
        for name, item in lapsed_tasks(db, slot, now):
            if name in names and self.design.page_of(item) in places:
                lapsed.setdefault(name, set()).add(self.design.page_of(item))
        return OpenPlaces(places, room, {}, lapsed, -(-quota // size))

    def _items_of(self, pages: Collection[str]) -> list[str]:
        return [name for name in self.design.names if self.design.page_of(name) in pages]

    def _people_of(self, db: Connection, party: str) -> set[str]:
        """Who of a group may still answer."""
        here = [one for one in everybody(db) if one.state != "revoked" and one.role != ADJUDICATOR]
        ends, now = [self.design.deadline(one) for one in here], self.store.now(db)
        here = [one for one, end in zip(here, ends, strict=True) if end is None or now < end]
        return {one.name for one in here if self.design.party(one.attributes) == party}


def _neediest_group(groups: Iterable[list[str]], taken: dict[str, int], wanted: int) -> list[str] | None:
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


class AssignmentTurn:
    """One person's turn: what they hold, and what they are given beside it."""

    def __init__(self, assigner: Assigner, db: Connection, person: Person) -> None:
        self.assigner, self.design, self.db, self.person = assigner, assigner.design, db, person
        self.people = self.design.people
        self.party = ADJUDICATION if person.role == ADJUDICATOR else self.design.party(person.attributes)
        self.now = assigner.store.now(db)
        self.deadline = self.design.deadline(person)
        self._taken: dict[str, dict[str, int]] = {}
        self._rest: dict[str, OpenPlaces | None] = {}
        self._pages: dict[str, list[list[str]]] = {}
        self._now = {q.id for q in self.design.questions}
        self.mine: list[Task] = tasks_of(db, person.name)

    @property
    def _reserved_until(self) -> float:
        """Until when a place that is given now is nobody else's."""
        until = self.now + self.people.reserve * 60
        return until if self.deadline is None else min(until, self.deadline)

    def hold(self, after: int, most: int) -> HeldPages:
        """Up to ``most`` pages after one, and what is closed to the person from now on."""
        held = self._hold(after, most)
        close_pages(self.db, self.person.name, self._last_closed_page(held))
        return replace(held, closed=closed_up_to(self.db, self.person.name))

    def _last_closed_page(self, held: HeldPages) -> int:
        """The last page of what must not be seen again: of earlier sessions, or before an item that came again."""
        if held.end is not None and held.end.kind == "later":
            return max((t.page for t in self.mine), default=0)
        mine = [t for t in self.mine if self._current(t)]
        begins = min((t.page for t in mine if t.condition == held.session.condition), default=0)
        earlier = [t.page for t in self.mine if t.condition != held.session.condition and t.page < begins]
        again = {(t.item, t.condition) for t in mine if t.repeat > 1}
        return max([*earlier, *(t.page for t in mine if t.repeat == 1 and (t.item, t.condition) in again)], default=0)

    def _hold(self, after: int, most: int) -> HeldPages:
        sessions = self.design.sessions(self.person.name)
        at = max((t.session for t in self.mine if self._current(t)), default=1)
        session = sessions[min(at, len(sessions)) - 1]
        if self.deadline is not None and self.now >= self.deadline:
            free_places_of(self.db, self.person.name, self.now)
            return HeldPages((), session, End("over", self.deadline))
        waiting = self.assigner.store.setting(PAUSED) or self.person.state == "paused"
        if waiting:
            return HeldPages((), session, End("paused"))
        if stop_reasons(self.design, self.db, self.person.name):
            return HeldPages((), session, End("stopped"))
        # Who has pages open before these is given fewer: each holds a place that somebody else may wait for.
        before = {t.page for t in self.mine if t.page <= after and t.state == "given" and self._keeps_place(t)}
        most = max(1, min(most, self.people.ahead + 1 - len(before)))
        while True:
            pages = self._renew_held(after, most)
            end: End | None = None
            while len(pages) < most:
                given, end = self._give(session)
                if given is None:
                    break
                pages.append(given)
            # The last of a session opens the next, if its time has come.
            if pages or end is None or end.kind != "done" or session.number == len(sessions):
                return HeldPages(tuple(pages), session, end if not pages else None)
            closed = [
                t.closed_at for t in self.mine if t.session == session.number and self._current(t) and t.closed_at
            ]
            opens = max(closed, default=self.now) + self.people.days_apart * 86400
            if opens > self.now:
                return HeldPages((), session, End("later", opens))
            session = sessions[session.number]

    def _current(self, task: Task) -> bool:
        if task.role == ADDED:
            return bool(self._now.issuperset(json.loads(task.questions)))
        return task.questions in self.design.counted

    def _renew_held(self, after: int, most: int) -> list[int]:
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
            seconds = self.people.reserve * 60
            renew(self.db, ids, self._reserved_until, older_than=self.now + (1 - RENEW_SHARE) * seconds)
        return pages

    # -- what comes next ------------------------------------------------------------------------

    def _give(self, session: Session) -> tuple[int | None, End | None]:
        """The number of a new page; or None and why there is none (None: not before open tasks are answered)."""
        mine = [t for t in self.mine if self._current(t) and t.condition == session.condition]
        if self.person.role == ADJUDICATOR:
            return self._give_disputed(session, mine)
        items = [t for t in mine if t.role in ("item", "triplet") and t.repeat == 1]
        given = self._warm_up(session, mine)
        if given is None and self._practises(mine):
            return None, None
        given = (
            given
            or self._addition(session)
            or self._check(session, mine, items)
            or self._repeat_item(session, mine, items, self.people.retest_gap)
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
        given = self._repeat_item(session, mine, items, 0)
        if given is not None:
            return given, None
        if any(t.state in ("given", "reopened") and self._keeps_place(t) for t in mine):
            return None, None
        back = None
        if room and self.design.overlap(self.party) is not None:
            back = soonest_back(self.db, self.assigner.slot(session.condition, self.party), self.person.name, self.now)
        return None, End("done") if back is None else End("empty", back)

    def _give_disputed(self, session: Session, mine: Sequence[Task]) -> tuple[int | None, End | None]:
        """To an adjudicator: of the items that nobody has decided, the one on which people differ most."""
        taken = adjudicated_items(self.db, session.condition, self.now) | {t.item for t in mine}
        ranked = self.assigner.find_disputed(self.db, session.condition, self.now)
        name = next((one for one in ranked if one not in taken), None)
        if name is not None:
            return self._add(session, [name], "item", 1), None
        waits = any(t.state in ("given", "reopened") for t in mine)
        return None, None if waits else End("done")

    def _keeps_place(self, task: Task) -> bool:
        lapsed = task.state == "given" and task.expires_at <= self.now
        return not lapsed or self.assigner.has_place(self.db, task, self.now)

    def _warm_up(self, session: Session, mine: Sequence[Task]) -> int | None:
        if session.number > 1:
            return None
        had = {t.item for t in mine if t.role == "warm-up"}
        rest = [name for name in self.assigner.known["warm-up"] if name not in had]
        return self._add(session, rest[:1], "warm-up", 1) if rest else None

    def _practises(self, mine: Sequence[Task]) -> bool:
        """Whether practice that must be passed is not done yet, so that nothing else is given."""
        open_ = any(t.role == "warm-up" and t.state in ("given", "reopened") for t in mine)
        return self.people.pass_warm_up is not None and open_

    def _check(self, session: Session, mine: Sequence[Task], items: Sequence[Task]) -> int | None:
        had = {t.item for t in mine if t.role == "check"}
        rest = [name for name in self.assigner.known["check"] if name not in had]
        if not rest or self.people.checks is None or len(items) < (len(had) + 1) * self.people.checks.every:
            return None
        chance(self.people.seed, "checks", self.person.name, session.condition).shuffle(rest)
        return self._add(session, rest[:1], "check", 1)

    def _addition(self, session: Session) -> int | None:
        """Questions that were added, alone, to an item that was answered before."""
        for task, lacking in additions(self.design, self.mine)[:1]:
            of = replace(session, number=task.session, condition=task.condition)
            return self._add(of, [task.item], ADDED, 1, canonical(list(lacking)))
        return None

    def _repeat_item(self, session: Session, mine: Sequence[Task], items: Sequence[Task], gap: int) -> int | None:
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
            drawn = self.assigner.drawing.next(self.db, self.person.name, self.party, self.now)
            return None if drawn is None else [drawn]
        slot = self.assigner.slot(session.condition, self.party)
        if session.condition not in self._rest:
            self._rest[session.condition] = self.assigner.rest(self.db, slot, self.now)
        rest = self._rest[session.condition]
        safe = None if rest is None else rest.safe_for(self.person.name)
        taken = self._taken.setdefault(session.condition, {})
        if session.condition not in self._pages:
            self._pages[session.condition] = list(self.assigner.pages(self.person.name, session.condition, slot))
        pages, names = self._pages[session.condition], None
        if self.design.first:
            first = (page for page in pages if self.design.page_of(page[0]) in self.design.first)
            names = self.assigner.free(self.db, first, seen, slot, self.now, taken, safe)
        if names is None:
            names = self.assigner.free(self.db, pages, seen, slot, self.now, taken, safe)
        if rest is not None and names is not None:
            rest.take(self.person.name, self.design.page_of(names[0]))
        return names

    def _add(self, session: Session, names: Sequence[str], role: str, repeat: int, questions: str | None = None) -> int:
        page = max((t.page for t in self.mine), default=0) + 1
        place = max((t.place for t in self.mine), default=0)
        digests = digests_of(self.db, names)
        rows = [
            {
                "annotator": self.person.name,
                "item": name,
                "questions": questions or self.design.asked_now,
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
                "expires_at": self._reserved_until,
            }
            for number, name in enumerate(names, start=1)
        ]
        give(self.db, rows)
        self.mine += [_New(**{**row, "id": 0, "closed_at": None}) for row in rows]
        return page


class _New:
    """A task that was just given, with the columns of one that was read."""

    def __init__(self, **columns: Any) -> None:
        self.__dict__.update(columns)


def progress(design: StudyDesign, db: Connection, person: Person, session: Session) -> dict[str, int | None]:
    """How many tasks of a session a person has done, and of how many; None where that is not known."""
    states = states_of(db, person.name, design.counted, session.condition)
    done = states.get("answered", 0) + states.get("skipped", 0)
    expected = None if person.role == ADJUDICATOR else design.expected_tasks(design.party(person.attributes))
    total = None if expected is None else max(expected, done)
    if len(design.counted) > 1 and total is not None:
        mine = tasks_of(db, person.name)
        again = [t.state for t in mine if t.role == ADDED]
        done += sum(state in ("answered", "skipped") for state in again)
        total += len(again) + len(additions(design, mine))
    return {"done": done, "total": total}


# -- Questions that were added while people answered -----------------------------------------------


def additions(design: StudyDesign, mine: Iterable[Task]) -> list[tuple[Task, tuple[int, ...]]]:
    """The items that a person answered before questions were added, each with those that are to be put alone."""
    if design.people.added_questions != "all-items" or len(design.counted) == 1:
        return []
    had: dict[tuple[str, str], list[Task]] = {}
    for task in mine:
        if task.repeat == 1 and (task.role == ADDED or task.questions in design.counted):
            had.setdefault((task.item, task.condition), []).append(task)
    found = []
    for tasks in had.values():
        whole = next((t for t in tasks if t.role in ("item", "triplet") and t.state == "answered"), None)
        lacking = design.lacking(t.questions for t in tasks)
        if whole is not None and lacking:
            found.append((whole, lacking))
    return found


def additions_words(design: StudyDesign, db: Connection) -> str:
    """How far questions that were added have come, for the lead; empty where none was added."""
    if len(design.counted) == 1:
        return ""
    names = {q.id: q.definition.name for q in design.questions}
    without: dict[int, int] = {}
    for asked, role, number in answered_with(db, design.counted):
        had = set(json.loads(asked))
        for one in names:
            if (one in had) == (role == ADDED):
                without[one] = without.get(one, 0) + (-number if role == ADDED else number)
    short = [f"'{names[one]}' ({counted(number, 'item')})" for one, number in without.items() if number > 0]
    if not short:
        return ""
    said = f"Added later, and not asked on items answered before: {listing(short)}."
    if design.people.added_questions == "all-items":
        return f"{said} Whoever answered them gets what was added, alone."
    return f"{said} To ask it, alone, of those who answered them, write 'added_questions: all-items' under people:."


# -- Whether people answer as is known to be right -------------------------------------------------


def stop_reasons(design: StudyDesign, db: Connection, person: str | None = None) -> dict[str, str]:
    """By person (or of one), why they are given nothing further; those who may go on are left out.

    Whether practice was passed is judged by the first answers, as the page says afterwards what was expected.
    """
    found = {}
    least, checks = design.people.pass_warm_up, design.people.checks
    if checks is not None and checks.stops:
        for name, wrong in _wrong_answers(design, db, "check", person).items():
            if checks.too_many(sum(wrong), len(wrong)):
                found[name] = f"failed {sum(wrong)} of {len(wrong)} checks"
    if least is not None:
        of = len(known_items(design.store, "warm-up"))
        for name, wrong in _wrong_answers(design, db, "warm-up", person).items():
            right = len(wrong) - sum(wrong)
            if len(wrong) == of and right < least * of:
                found[name] = f"had {right} of {of} right in the practice"
    return found


def failed_checks(design: StudyDesign, db: Connection) -> dict[str, list[bool]]:
    """By person, for each attention check that they answered, whether they failed it."""
    return _wrong_answers(design, db, "check")


def _wrong_answers(design: StudyDesign, db: Connection, role: Role, person: str | None = None) -> dict[str, list[bool]]:
    """By person, for each item of a role that they answered, whether one of its answers is wrong."""
    known = known_items(design.store, role)
    if not known:
        return {}
    names = {q.id: (q.definition.name, scale_of(q.definition.scale)) for q in design.questions}
    found: dict[str, dict[tuple[str, str, int], bool]] = {}
    for row in table.known_answers(db, list(names), role, person, first=role == "warm-up"):
        name, scale = names[row.question]
        if row.item in known and name in known[row.item]["labels"]:
            wrong = is_wrong(row.label, known[row.item]["labels"][name], _scale_in(row.condition, scale), scale)
            mine = found.setdefault(row.annotator, {})
            task = (row.item, row.condition, row.repeat)
            mine[task] = mine.get(task, False) or wrong
    return {one: list(tasks.values()) for one, tasks in found.items()}


def _scale_in(condition: str, scale: Scale) -> Scale:
    """The scale of a session, or the question's own."""
    varied = json.loads(condition).get("scale")
    return parse_scale(varied) if varied else scale


# -- Items on which people differ ------------------------------------------------------------------


def disputed_items(
    design: StudyDesign, labels: DataFrame, condition: str, without: Collection[str]
) -> dict[str, float]:
    """How far people's labels of an item lie apart, by item, farthest first; items on which they agree are left out.

    The mean distance of two labels: on numbers as a share of the range (of the labels given, where the scale has no
    ends), else whether they differ; of the question on which they are farthest apart.

    Parameters
    ----------
    labels : polars.DataFrame
        Those of people, see `assay.study.store.work_log.label_frame`.
    without : list of str
        People whose labels do not count.
    """
    found: dict[str, float] = {}
    for question in design.questions:
        scale = _scale_in(condition, scale_of(question.definition.scale))
        if kind_of(scale).free_text:
            continue
        given = first_labels(labels, question.id, without)
        for item, distance in _mean_distances(scale, given.filter(given["condition"] == condition)).items():
            found[item] = max(distance, found.get(item, 0.0))
    return dict(sorted(((i, d) for i, d in found.items() if d > 0), key=lambda one: (-one[1], one[0])))


def _mean_distances(scale: Scale, labels: DataFrame) -> dict[str, float]:
    """By item that two or more have labelled, the mean over all pairs of its labels."""
    import polars as pl

    frame = labels.select("item", read_labels(labels))
    given: Any = frame["label"]
    low, high = (scale.bounds or (given.min(), given.max())) if scale.numeric and len(given) else (0.0, 0.0)
    number = pl.len().over("item").cast(pl.Int64)
    if high > low:
        # Sorted, the k-th of n labels (from 0) is the larger one of k pairs, and the smaller one of n - 1 - k.
        place = 2 * pl.int_range(pl.len()).over("item") - number + 1
        apart = frame.sort("label").select("item", (place * pl.col("label") / (high - low)).alias("apart"), n=number)
    else:
        same = pl.len().over("item", "label").cast(pl.Int64)
        apart = frame.select("item", ((number - same) / 2).alias("apart"), n=number)
    each = apart.filter(pl.col("n") > 1).group_by("item").agg(pl.col("apart").sum(), pl.col("n").first())
    mean = 2 * pl.col("apart") / (pl.col("n") * (pl.col("n") - 1))
    return dict(each.select("item", mean.round(12)).iter_rows())


# -- Triplets drawn while people answer ------------------------------------------------------------


class TripletAssigner:
    """Gives people the triplets of a study; knows those that other processes have drawn."""

    def __init__(self, design: StudyDesign) -> None:
        self.design = design
        people = design.people
        self._drawer = TripletDrawer(design.store, design.drawn_from or "", wanted=people.pairs, seed=people.seed)

    def sampler(self, db: Connection) -> Sampler:
        """The sampler, which knows of every triplet drawn so far, by whichever process."""
        return self._drawer.sampler(db)

    def next(self, db: Connection, person: str, party: str, now: float) -> str | None:
        """The name of a triplet that was drawn before and lacks answers, else of a new one."""
        wanted = 1 if (overlap := self.design.overlap(party)) is None else overlap
        old = triplet_in_need(db, self.design.counted, party, person, wanted, now)
        return self._drawer.draw(db) if old is None and wanted > 0 else old


# -- Which items a person may take so that those who come after can still answer the rest ----------
# Where quotas hold hardly more than the items need, whoever is last may find that what is left is what they
# have answered already. So near the end each choice is held to a complete assignment of all places that are
# left: a maximum flow from items (places left) to people (room left), with one unit at most between an item and
# somebody who has not had it. Among the people are those who left items until their time was over, for these
# items alone, and as many who are still to come as the places need. A choice loses nothing if some maximum flow
# makes it: if this one does, or if the item and the person lie on a cycle of its residual graph (in one strong
# component).

MOST_PAIRS = 8_000
"""Open items times people with room, up to which one looks ahead: such a maximum flow takes some 2 ms. With more
of both there is room enough to go wherever fewest answers are."""


@dataclass
class OpenPlaces:
    """What is left of a study for one group of people; an item here may be a whole document on one page.

    Attributes
    ----------
    places : dict of str to int
        How many answers each item lacks.
    room : dict of str to int
        How many items each person may still be given.
    had : dict of str to set of str
        The items that each person has had; they are not given to them again.
    lapsed : dict of str to set of str
        The items that each person was given and left until their time was over; they are theirs again if they return.
    quota : int, optional
        How many items somebody may be given who comes later, of whom there are as many as the places need.
    """

    places: dict[str, int]
    room: dict[str, int]
    had: dict[str, set[str]]
    lapsed: dict[str, set[str]] = field(default_factory=dict)
    quota: int | None = None

    @property
    def n_people(self) -> int:
        """How many may fill places; all who come later are one."""
        lacking = sum(self.places.values()) - sum(self.room.values())
        return len(self.room) + len(self.lapsed) + (self.quota is not None and lacking > 0)

    def take(self, person: str, item: str) -> None:
        """A person was given an item."""
        self.places[item] -= 1
        self.room[person] -= 1
        self.had.setdefault(person, set()).add(item)

    def safe_for(self, person: str) -> set[str]:
        """The items that this person may take; as many places can be filled after it as before."""
        from scipy.sparse.csgraph import connected_components, maximum_flow

        names = [name for name, number in self.places.items() if number > 0]
        people = [one for one, number in self.room.items() if number > 0]
        if person not in people or not names:
            return set()
        links, room = self._links(names, people)
        graph = _network(links, [self.places[name] for name in names], room)
        source, sink = graph.shape[0] - 2, graph.shape[0] - 1
        flow = maximum_flow(graph, source, sink).flow
        residual = graph - flow
        residual.eliminate_zeros()
        _, component = connected_components(residual, directed=True, connection="strong")
        column = people.index(person)
        me = len(names) + column
        mine = flow[[me], : len(names)].toarray()[0] != 0  # what comes from the items has the other sign
        safe = (links[:, column] > 0) & (mine | (component[: len(names)] == component[me]))
        return {names[item] for item in np.flatnonzero(safe)}

    def _links(self, names: list[str], people: list[str]) -> tuple[Any, list[int]]:
        """How often each item may be given to each person, and how many items each may be given in all.

        Behind the people come those whose items have lapsed, and one who is all that come later.
        """
        number_of = {name: number for number, name in enumerate(names)}
        links = np.zeros((len(names), len(people) + len(self.lapsed) + 1), dtype=np.int32)
        links[:, : len(people)] = 1
        for column, one in enumerate(people):
            links[[number_of[name] for name in self.had.get(one, ()) if name in number_of], column] = 0
        for column, left in enumerate(self.lapsed.values(), start=len(people)):
            links[[number_of[name] for name in left if name in number_of], column] = 1
        room = [self.room[one] for one in people] + [len(left) for left in self.lapsed.values()]
        lacking = sum(self.places[name] for name in names) - int(np.minimum(room, links[:, :-1].sum(axis=0)).sum())
        each = min(self.quota or 0, len(names))
        later = -(-lacking // each) if each and lacking > 0 else 0
        links[:, -1] = later
        return links, [*room, later * each]


def _network(links: Any, places: list[int], room: list[int]) -> Any:
    """The capacities: nodes are items, people, the source, the sink."""
    from scipy.sparse import csr_array

    n_items, n_people = links.shape
    source, sink = n_items + n_people, n_items + n_people + 1
    item_at, person_at = np.nonzero(links)
    tails = np.concatenate([np.full(n_items, source), item_at, n_items + np.arange(n_people)])
    heads = np.concatenate([np.arange(n_items), n_items + person_at, np.full(n_people, sink)])
    widths = np.concatenate([places, links[item_at, person_at], room]).astype(np.int32)
    nodes = (tails.astype(np.int32), heads.astype(np.int32))  # all that scipy before 1.15 takes
    return csr_array((widths, nodes), shape=(sink + 1, sink + 1))
