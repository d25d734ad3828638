"""Assignment of items to annotators: overlap, quotas, attention checks, repeated items, sessions.

A task is one item for one annotator. Its place is reserved until an expiry time. When the reservation expires, or the
annotator skips the item, the place is given to another annotator. Assignment runs in an exclusive transaction
(`Store.exclusive`), so that the last place of an item is given to one annotator only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.collecting.design import DesignPart, Session, StudyDesign, is_wrong
from assay.collecting.questionnaire import failed_questions, questionnaire
from assay.data.scales import Scale, parse_scale
from assay.errors import counted, listing
from assay.statistics.comparisons.triplets import Sampler
from assay.study import schema
from assay.study.items import canonical, chance
from assay.study.schema import Outcome, Role, kind_of, scale_of
from assay.study.store import table
from assay.study.store.connection import Connection
from assay.study.store.items import digests_of, known_items
from assay.study.store.people import (
    ADDED,
    ADJUDICATION,
    ADJUDICATOR,
    Person,
    Slot,
    Task,
    adjudicated_items,
    all_people,
    all_places_taken,
    answered_enough,
    answered_with,
    close_pages,
    closed_up_to,
    count_given,
    free_places_of,
    give,
    items_had,
    lapsed_tasks,
    left_out,
    newest_task,
    number_active,
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
"""Items of an annotator's order among which the one with most missing answers is chosen: one query counts them."""

WINDOW_PLACES = 4000
"""Most places of these items: with 400 items of 50 places each a page took twice as long while all others waited."""

FULL_FOR = 60.0
"""Seconds for which a complete item is skipped without counting; answers can be withdrawn."""

COUNT_SHARE = 0.02
"""Share of the empty places to assign before all are counted again: a count takes 0.3 s with 147,000 answers. With
counts every 10 s, 50 fast annotators had filled the last 200 places between two counts."""

DISPUTED_FOR = 10.0
"""Seconds between two searches for items with disagreement: each reads all labels."""

RENEW_SHARE = 0.1
"""A reservation is renewed once this share of its time has passed, because each renewal is a write."""

Reason = Literal["done", "later", "paused", "empty", "stopped", "over", "asks"] | Outcome


@dataclass(frozen=True)
class End:
    """Why there are no further items for an annotator now."""

    kind: Reason
    opens_at: float | None = None
    """Start of the next session, earliest expiry of a reservation, or the deadline: seconds since 1970."""


@dataclass(frozen=True)
class HeldPages:
    """Pages assigned to an annotator, in order, and why there are no further ones (None: there can be more)."""

    pages: tuple[int, ...]
    session: Session
    end: End | None
    closed: int = 0
    """Answers on pages up to this one are final and no longer shown."""


class Assigner:
    """Assigns the items of a study."""

    def __init__(self, design: StudyDesign) -> None:
        self.design, self.store = design, design.store
        self.order = lru_cache(maxsize=256)(DesignPart.order)
        self.known = {role: list(known_items(self.store, role)) for role in _KNOWN}
        self.drawing = None if design.drawn is None else TripletAssigner(design.drawn)
        self._full: dict[Slot, set[str]] = {}
        self._full_since = 0.0
        self._disputed: dict[int, tuple[float, list[str]]] = {}
        self._empty: dict[Slot, dict[str, int]] = {}
        """By page, the number of missing answers at the last count."""
        self._counted_for: dict[Slot, range] = {}
        """The range of newest task ids for which that count is used."""
        if design.people.quota is not None and design.people.overlap is not None:
            # Import it now: the first request that uses it would hold the store's lock for 0.14 s.
            import scipy.sparse.csgraph  # noqa: F401

    def hold(self, person: Person, after: int, most: int) -> HeldPages:
        """Return up to ``most`` open pages after page ``after`` for this person, and assign new ones if needed.

        Reservations of pages that they already hold are renewed.
        """
        with self.store.exclusive() as db:
            return AssignmentTurn(self, db, person).hold(after, most)

    def find_disputed(self, db: Connection, session: Session, now: float) -> list[str]:
        """Return items with disagreement, largest disagreement first; cached, because it reads all labels."""
        at, found = self._disputed.get(session.number, (0.0, []))
        if not 0 <= now - at <= DISPUTED_FOR or not found:  # the clock can have been set back
            found = list(disputed_items(session.part, label_frame(db), session.condition, left_out(all_people(db))))
            self._disputed[session.number] = (now, found)
        return found

    # -- missing answers of items ---------------------------------------------------------------

    def slot(self, session: Session, party: str) -> Slot:
        """Return the slot of a session and group: their tasks with the current questions are counted together."""
        return Slot(session.part.counted, session.condition, party)

    def has_place(self, db: Connection, task: Task, now: float) -> bool:
        """Return whether a task that has expired or was skipped can count toward its item again."""
        if task.party == ADJUDICATION:
            return True
        wanted = self.design.overlap(task.party)
        if wanted is None or task.role not in ("item", "triplet") or task.repeat > 1:
            return True
        sets = (part.counted for part in self.design.parts if task.questions in part.counted)
        questions = next(sets, (task.questions,))
        return places_of_others(db, Slot(questions, task.condition, task.party), task, now) < wanted

    def free(
        self,
        db: Connection,
        part: DesignPart,
        order: Iterable[list[str]],
        seen: set[str],
        slot: Slot,
        now: float,
        taken: dict[str, int],
        safe: Collection[str] | None = None,
    ) -> list[str] | None:
        """Return the next items of an order (one, or those of a document) with free places; fewest answers first.

        ``taken`` caches counts within one turn, which is exclusive. With ``safe``, only these pages are considered.
        """
        wanted = self.design.overlap(slot.party)
        if wanted == 0:
            return None
        full = self._full_items(slot, now)
        if safe is not None:
            order, full = (group for group in order if part.page_of(group[0]) in safe), set()
        rest = ([name for name in group if name not in seen and name not in full] for group in order)
        groups: Iterator[list[str]] = (group for group in rest if group)
        if wanted is None:
            return next(groups, None)
        size = self._window(slot)
        while window := list(islice(groups, size)):
            names = [name for group in window for name in group]
            best = neediest_group(window, taken, wanted)
            if best is None:
                taken.update(dict.fromkeys(names, 0) | places_taken(db, slot, names, now))
                best = neediest_group(window, taken, wanted)
            if best is not None:
                return best
            full.update(answered_enough(db, slot, names, wanted))
        return None

    def _full_items(self, slot: Slot, now: float) -> set[str]:
        """Items known to be complete; the cache is cleared from time to time."""
        if not 0 <= now - self._full_since <= FULL_FOR:  # the clock can have been set back
            self._full.clear()
            self._full_since = now
        return self._full.setdefault(slot, set())

    def rest(self, db: Connection, part: DesignPart, slot: Slot, now: float) -> OpenPlaces | None:
        """Return the empty places of a session for a group, if each assignment must keep them fillable; otherwise None.

        This applies only with quotas and pages of equal size, and only when few places are left.
        """
        wanted, quota, size = self.design.overlap(slot.party), self.design.people.quota, part.page_size
        if not wanted or quota is None or size is None or part.drawn_from is not None:
            return None
        newest = newest_task(db)
        if newest in self._counted_for.get(slot, ()):
            return None
        found = self._open_places(db, part, slot, now, wanted, quota, size)
        if found.n_people > 1 and len(found.places) * found.n_people <= MOST_PAIRS:
            listed = [name for name in part.names if part.page_of(name) in found.places]
            for name, item in items_had(db, slot, listed, found.room):
                found.had.setdefault(name, set()).add(part.page_of(item))
            return found
        self._empty[slot] = found.places
        self._counted_for[slot] = range(newest, newest + max(1, int(COUNT_SHARE * sum(found.places.values()))))
        return None

    def pages(self, person: str, session: Session, slot: Slot) -> Iterable[list[str]]:
        """Return the pages in a person's own order; those with most missing answers at the last count come first."""
        part = session.part
        pages = part.pages(self.order(part, person, session.condition))
        empty = self._empty.get(slot)
        if empty is None or len(part.names) <= self._window(slot):  # one window contains all items
            return pages
        return sorted(pages, key=lambda page: -empty.get(part.page_of(page[0]), 0))

    def _window(self, slot: Slot) -> int:
        """Number of pages that are compared at a time."""
        wanted = self.design.overlap(slot.party) or 1
        return max(WINDOW // 20, min(WINDOW, WINDOW_PLACES // wanted))

    def _open_places(
        self, db: Connection, part: DesignPart, slot: Slot, now: float, wanted: int, quota: int, size: int
    ) -> OpenPlaces:
        """The missing answers by page, and the number of pages that each person can still receive."""
        taken = all_places_taken(db, slot, now)
        places: dict[str, int] = {}
        for name in part.names:
            if (number := wanted - taken.get(name, 0)) > 0:
                page = part.page_of(name)
                places[page] = max(number, places.get(page, 0))
        names, given = self._people_of(db, slot.party), count_given(db, slot)
        room = {name: -(-(quota - given.get(name, 0)) // size) for name in names if given.get(name, 0) < quota}
        lapsed: dict[str, set[str]] = {}
        for name, item in lapsed_tasks(db, slot, now):
            if name in names and part.page_of(item) in places:
                lapsed.setdefault(name, set()).add(part.page_of(item))
        return OpenPlaces(places, room, {}, lapsed, -(-quota // size))

    def _people_of(self, db: Connection, party: str) -> set[str]:
        """Members of a group who can still answer."""
        here = [one for one in all_people(db) if one.state != "revoked" and one.role != ADJUDICATOR]
        ends, now = [self.design.deadline(one) for one in here], self.store.now(db)
        here = [one for one, end in zip(here, ends, strict=True) if end is None or now < end]
        return {one.name for one in here if self.design.party(one.attributes) == party}


def neediest_group(groups: Iterable[list[str]], taken: dict[str, int], wanted: int) -> list[str] | None:
    """Of the counted groups, the one with fewest answers, without items that have no free place."""
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
    """One request of a person for pages: the pages that they hold, and newly assigned ones."""

    def __init__(self, assigner: Assigner, db: Connection, person: Person) -> None:
        self.assigner, self.design, self.db, self.person = assigner, assigner.design, db, person
        self.people = self.design.people
        self.party = ADJUDICATION if person.role == ADJUDICATOR else self.design.party(person.attributes)
        self.now = assigner.store.now(db)
        self.deadline = self.design.deadline(person)
        self._taken: dict[int, dict[str, int]] = {}
        self._rest: dict[int, OpenPlaces | None] = {}
        self._pages: dict[int, list[list[str]]] = {}
        self._now = {q.id for q in self.design.questions}
        self.mine: list[Task] = tasks_of(db, person.name)

    @property
    def _reserved_until(self) -> float:
        """Expiry time of a reservation made now."""
        until = self.now + schema.PAGE_RESERVED_MINUTES * 60
        return until if self.deadline is None else min(until, self.deadline)

    def hold(self, after: int, most: int) -> HeldPages:
        """Return up to ``most`` pages after one, and close the pages whose answers are now final."""
        held = self._hold(after, most)
        close_pages(self.db, self.person.name, self._last_closed_page(held))
        return replace(held, closed=closed_up_to(self.db, self.person.name))

    def _last_closed_page(self, held: HeldPages) -> int:
        """The last page that must not be shown again: of an earlier session, or before a repeated item."""
        if held.end is not None and held.end.kind == "later":
            return max((t.page for t in self.mine), default=0)
        mine = [t for t in self.mine if self._current(t)]
        begins = min((t.page for t in mine if self._is_in(t, held.session)), default=0)
        earlier = [t.page for t in self.mine if not self._is_in(t, held.session) and t.page < begins]
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
        if questionnaire(self.design, self.db, self.person, "before"):
            return HeldPages((), session, End("asks"))
        # A person with earlier open pages receives fewer: each holds a place that others can be waiting for.
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
            # Completing a session opens the next one, if its time has come.
            if pages or end is None or end.kind != "done" or session.number == len(sessions):
                return HeldPages(tuple(pages), session, None if pages else self._asks_first(end))
            closed = [
                t.closed_at for t in self.mine if t.session == session.number and self._current(t) and t.closed_at
            ]
            following = sessions[session.number]
            apart = self.people.days_apart * 86400 if following.part is session.part else 0.0
            opens = max(closed, default=self.now) + apart
            if opens > self.now:
                return HeldPages((), session, End("later", opens))
            session = following

    def _asks_first(self, end: End | None) -> End | None:
        """The end; after the last item of a person who has answered any, the closing questions come first."""
        worked = any(t.state in ("answered", "skipped") for t in self.mine)
        asks = worked and end is not None and end.kind in ("done", "empty")
        return End("asks") if asks and questionnaire(self.design, self.db, self.person, "after") else end

    def _current(self, task: Task) -> bool:
        if task.role == ADDED:
            return bool(self._now.issuperset(json.loads(task.questions)))
        return task.questions in self.design.counted

    def _is_in(self, task: Task, session: Session) -> bool:
        """Return whether a task belongs to a session: to its condition and to the part with its questions."""
        part = self._part_of_questions(task.questions)
        return task.condition == session.condition and (part is None or part is session.part)

    def _part_of_questions(self, questions: str) -> DesignPart | None:
        """The part of a task by its questions; None for questions that are no longer asked."""
        if len(self.design.parts) == 1:
            return self.design.parts[0]
        named = (part for part in self.design.parts if questions in part.counted)
        return next(named, self.design.part_of(json.loads(questions)))

    def _renew_held(self, after: int, most: int) -> list[int]:
        """Pages that are already assigned; those that expired only if their place is still free."""
        held: dict[int, list[int]] = {}
        for task in self.mine:
            if task.state in ("given", "reopened") and task.page > after and self._current(task):
                lapsed = task.state == "given" and task.expires_at <= self.now
                if not lapsed or self.assigner.has_place(self.db, task, self.now):
                    held.setdefault(task.page, []).append(task.id)
        pages = sorted(held)[:most]
        ids = [number for page in pages for number in held[page]]
        if ids:
            seconds = schema.PAGE_RESERVED_MINUTES * 60
            renew(self.db, ids, self._reserved_until, older_than=self.now + (1 - RENEW_SHARE) * seconds)
        return pages

    # -- the next page --------------------------------------------------------------------------

    def _give(self, session: Session) -> tuple[int | None, End | None]:
        """The number of a new page; or None with the reason (None: open tasks must be answered first)."""
        mine = [t for t in self.mine if self._current(t) and self._is_in(t, session)]
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
            or self._repeat_item(session, mine, items, schema.RETEST_GAP)
        )
        if given is not None:
            return given, None
        quota = self.people.quota
        room = quota is None or len(items) < quota
        if room:
            names = self._new(session, {t.item for t in mine})
            if names is not None:
                names = names if quota is None else names[: quota - len(items)]
                role: Role = "triplet" if session.part.drawn_from else "item"
                return self._add(session, names, role, 1), None
        given = self._repeat_item(session, mine, items, 0)
        if given is not None:
            return given, None
        if any(t.state in ("given", "reopened") and self._keeps_place(t) for t in mine):
            return None, None
        back = None
        if room and self.design.overlap(self.party) is not None:
            back = soonest_back(self.db, self.assigner.slot(session, self.party), self.person.name, self.now)
        return None, End("done") if back is None else End("empty", back)

    def _give_disputed(self, session: Session, mine: Sequence[Task]) -> tuple[int | None, End | None]:
        """Assign to an adjudicator the undecided item with the largest disagreement."""
        if session.part.drawn_from is not None:
            return None, End("done")
        taken = adjudicated_items(self.db, session.condition, self.now) | {t.item for t in mine}
        ranked = self.assigner.find_disputed(self.db, session, self.now)
        name = next((one for one in ranked if one not in taken), None)
        if name is not None:
            return self._add(session, [name], "item", 1), None
        waits = any(t.state in ("given", "reopened") for t in mine)
        return None, None if waits else End("done")

    def _keeps_place(self, task: Task) -> bool:
        lapsed = task.state == "given" and task.expires_at <= self.now
        return not lapsed or self.assigner.has_place(self.db, task, self.now)

    def _warm_up(self, session: Session, mine: Sequence[Task]) -> int | None:
        if session.number > 1 or not session.part.is_checked:
            return None
        practice = [t for t in mine if t.role == "warm-up"]
        number = max((t.repeat for t in practice), default=1)
        had = {t.item for t in practice if t.repeat == number}
        rest = [name for name in self.assigner.known["warm-up"] if name not in had]
        if not rest and practice and self._practises_again(practice, number):
            rest, number = list(self.assigner.known["warm-up"]), number + 1
        return self._add(session, rest[:1], "warm-up", number) if rest else None

    def _practises_again(self, practice: Sequence[Task], number: int) -> bool:
        """Whether this round of required practice failed, and the person has another try."""
        if self.people.practice_share is None or number >= self.people.tries:
            return False
        if any(t.state in ("given", "reopened") for t in practice):
            return False
        rounds = practice_rounds(self.design, self.db, self.person.name).get(self.person.name, {})
        return not any(passed for passed, _ in rounds.values())

    def _practises(self, mine: Sequence[Task]) -> bool:
        """Whether required practice is not completed yet, so that no other items are assigned."""
        open_ = any(t.role == "warm-up" and t.state in ("given", "reopened") for t in mine)
        return self.people.practice_share is not None and open_

    def _check(self, session: Session, mine: Sequence[Task], items: Sequence[Task]) -> int | None:
        had = {t.item for t in mine if t.role == "check"}
        rest = [name for name in self.assigner.known["check"] if name not in had] if session.part.is_checked else []
        if not rest or self.people.checks is None or len(items) < (len(had) + 1) * self.people.checks.every:
            return None
        chance(self.people.seed, "checks", self.person.name, session.condition).shuffle(rest)
        return self._add(session, rest[:1], "check", 1)

    def _addition(self, session: Session) -> int | None:
        """Assign an item that was answered before questions were added, with the added questions only."""
        for task, missing in additions(session.part, self.mine)[:1]:
            of = replace(session, number=task.session, condition=task.condition)
            return self._add(of, [task.item], ADDED, 1, canonical(list(missing)))
        return None

    def _repeat_item(self, session: Session, mine: Sequence[Task], items: Sequence[Task], gap: int) -> int | None:
        """Assign an item again: evenly spaced in the person's random order, which makes a random sample."""
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
        part, at = session.part, session.number
        if part.drawn_from is not None and self.assigner.drawing is not None:
            drawn = self.assigner.drawing.next(self.db, self.person.name, self.party, self.now)
            return None if drawn is None else [drawn]
        slot = self.assigner.slot(session, self.party)
        if at not in self._rest:
            self._rest[at] = self.assigner.rest(self.db, part, slot, self.now)
        rest = self._rest[at]
        safe = None if rest is None else rest.safe_for(self.person.name)
        taken = self._taken.setdefault(at, {})
        if at not in self._pages:
            self._pages[at] = list(self.assigner.pages(self.person.name, session, slot))
        pages, names = self._pages[at], None
        if part.first:
            first = (page for page in pages if part.page_of(page[0]) in part.first)
            names = self.assigner.free(self.db, part, first, seen, slot, self.now, taken, safe)
        if names is None:
            names = self.assigner.free(self.db, part, pages, seen, slot, self.now, taken, safe)
        if rest is not None and names is not None:
            rest.take(self.person.name, part.page_of(names[0]))
        return names

    def _add(self, session: Session, names: Sequence[str], role: str, repeat: int, questions: str | None = None) -> int:
        page = max((t.page for t in self.mine), default=0) + 1
        place = max((t.place for t in self.mine), default=0)
        digests = digests_of(self.db, names)
        rows = [
            {
                "annotator": self.person.name,
                "item": name,
                "questions": questions or session.part.asked_now,
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
                    "order": session.part.orders(self.person.name, name, session.condition, repeat),
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
    """A task that was just assigned, with the columns of a stored one."""

    def __init__(self, **columns: Any) -> None:
        self.__dict__.update(columns)


def progress(design: StudyDesign, db: Connection, person: Person, session: Session) -> dict[str, int | None]:
    """Return the number of tasks of a session that a person has done, and the total; None if it is unknown.

    With an overlap and without a quota the total is ``about`` an equal share of the answers; exactly all items if there
    are no more annotators than answers of an item.
    """
    part, party = session.part, design.party(person.attributes)
    states = states_of(db, person.name, part.counted, session.condition)
    done = states.get("answered", 0) + states.get("skipped", 0)
    expected, about = None if person.role == ADJUDICATOR else part.expected_tasks(party), False
    if expected is None and person.role != ADJUDICATOR and design.people.group is None:
        crowd = design.people.crowd
        annotators = number_active(db) if crowd is None else crowd.places
        expected, about = part.expected_tasks(party, annotators), annotators > (design.overlap(party) or 0)
    total = None if expected is None else max(expected, done)
    if len(part.counted) > 1 and total is not None:
        mine = tasks_of(db, person.name)
        again = [t.state for t in mine if t.role == ADDED and part is design.part_of(json.loads(t.questions))]
        done += sum(state in ("answered", "skipped") for state in again)
        total += len(again) + len(additions(part, mine))
    return {"done": done, "total": total, "about": about and total is not None}


# -- Questions that were added while annotators answered -------------------------------------------


def additions(part: DesignPart, mine: Iterable[Task]) -> list[tuple[Task, tuple[int, ...]]]:
    """Return the items that a person answered before questions were added, each with the added questions."""
    if part.people.after_change != "ask-again" or len(part.counted) == 1:
        return []
    had: dict[tuple[str, str], list[Task]] = {}
    for task in mine:
        if task.repeat == 1 and (task.role == ADDED or task.questions in part.counted):
            had.setdefault((task.item, task.condition), []).append(task)
    found = []
    for tasks in had.values():
        whole = next((t for t in tasks if t.role in ("item", "triplet") and t.state == "answered"), None)
        missing = part.missing_questions(t.questions for t in tasks)
        if whole is not None and missing:
            found.append((whole, missing))
    return found


def additions_words(design: StudyDesign, db: Connection) -> str:
    """Return a notice about added questions for the study lead; empty if there are none."""
    names: dict[int, str] = {}
    without: dict[int, int] = {}
    for part in design.parts:
        mine = {q.id: q.definition.name for q in part.questions} if len(part.counted) > 1 else {}
        names |= mine
        for asked, role, number in answered_with(db, part.counted) if mine else ():
            had = set(json.loads(asked))
            for one in mine:
                if (one in had) == (role == ADDED):
                    without[one] = without.get(one, 0) + (-number if role == ADDED else number)
    short = [f"'{names[one]}' ({counted(number, 'answer')})" for one, number in without.items() if number > 0]
    if not short:
        return ""
    said = f"Questions added later, not part of earlier answers: {listing(short)}."
    if design.people.after_change == "ask-again":
        return f"{said} The annotators of these items receive the added questions only."
    return f"{said} To ask the annotators of these items, set 'after_change: ask-again' under people:."


# -- Attention checks and practice -----------------------------------------------------------------


def stop_reasons(design: StudyDesign, db: Connection, person: str | None = None) -> dict[str, str]:
    """Return, by person (or for one), why they receive no further items; others are omitted.

    Practice is graded by the first answers, because the page then shows the expected ones.
    """
    found = failed_questions(design, db, person)
    least, checks = design.people.practice_share, design.people.checks
    if checks is not None and checks.has_limit:
        for name, wrong in _wrong_answers(design, db, "check", person).items():
            if checks.too_many(sum(wrong), len(wrong)):
                found[name] = f"failed {sum(wrong)} of {len(wrong)} attention checks"
    if least is not None:
        of, tries = len(known_items(design.store, "warm-up")), design.people.tries
        for name, rounds in practice_rounds(design, db, person).items():
            if len(rounds) >= tries and not any(passed for passed, _ in rounds.values()):
                last = f" in the last of {tries} tries" if tries > 1 else ""
                found[name] = f"answered {rounds[max(rounds)][1]} of {of} practice items correctly{last}"
    return found


def practice_rounds(
    design: StudyDesign, db: Connection, person: str | None = None
) -> dict[str, dict[int, tuple[bool, int]]]:
    """Return, by person (or for one) and round of required practice, whether it passed and how many were right.

    Rounds in which practice items have no answer yet are left out.
    """
    of, least = len(known_items(design.store, "warm-up")), design.people.practice_share or 0.0
    found: dict[str, dict[int, tuple[bool, int]]] = {}
    for name, tasks in _graded(design, db, "warm-up", person).items():
        rounds: dict[int, list[bool]] = {}
        for (_item, _condition, repeat), wrong in tasks.items():
            rounds.setdefault(repeat, []).append(wrong)
        whole = {number: of - sum(wrong) for number, wrong in rounds.items() if len(wrong) == of}
        found[name] = {number: (right >= least * of, right) for number, right in whole.items()}
    return found


def failed_checks(design: StudyDesign, db: Connection) -> dict[str, list[bool]]:
    """Return, by person, whether they failed each attention check that they answered."""
    return _wrong_answers(design, db, "check")


def _wrong_answers(design: StudyDesign, db: Connection, role: Role, person: str | None = None) -> dict[str, list[bool]]:
    """By person, whether any answer is wrong, for each answered item of a role."""
    return {name: list(tasks.values()) for name, tasks in _graded(design, db, role, person).items()}


def _graded(
    design: StudyDesign, db: Connection, role: Role, person: str | None = None
) -> dict[str, dict[tuple[str, str, int], bool]]:
    """By person and (item, condition, repeat), whether any answer is wrong."""
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
    return found


def _scale_in(condition: str, scale: Scale) -> Scale:
    """The scale of a session, or else of the question."""
    varied = json.loads(condition).get("scale")
    return parse_scale(varied) if varied else scale


# -- Items on which annotators disagree ------------------------------------------------------------


def disputed_items(part: DesignPart, labels: DataFrame, condition: str, without: Collection[str]) -> dict[str, float]:
    """Return the disagreement of annotators by item, largest first, without items on which all labels agree.

    For the parameters see `item_disagreement`.
    """
    found = item_disagreement(part, labels, condition, without)
    return dict(sorted(((i, d) for i, d in found.items() if d > 0), key=lambda one: (-one[1], one[0])))


def item_disagreement(
    part: DesignPart, labels: DataFrame, condition: str, without: Collection[str]
) -> dict[str, float]:
    """Return the disagreement of annotators by item with at least two labels, from 0 to 1.

    The disagreement is the mean distance of two labels: for numbers, as a share of the range (of the observed labels,
    if the scale has no limits); otherwise 1 if they differ and 0 if not. With several questions, the largest counts.

    Parameters
    ----------
    labels : polars.DataFrame
        Human labels, see `assay.study.store.work_log.label_frame`.
    without : list of str
        Annotators whose labels are excluded.
    """
    found: dict[str, float] = {}
    for question in part.questions:
        scale = _scale_in(condition, scale_of(question.definition.scale))
        if kind_of(scale).free_text:
            continue
        given = first_labels(labels, question.id, without)
        for item, distance in mean_distances(scale, given.filter(given["condition"] == condition)).items():
            found[item] = max(distance, found.get(item, 0.0))
    return found


def mean_distances(scale: Scale, labels: DataFrame) -> dict[str, float]:
    """By item with at least two labels, the mean distance over all pairs of labels."""
    import polars as pl

    frame = labels.select("item", read_labels(labels))
    given: Any = frame["label"]
    low, high = (scale.bounds or (given.min(), given.max())) if scale.numeric and len(given) else (0.0, 0.0)
    number = pl.len().over("item").cast(pl.Int64)
    if high > low:
        # In sorted order, the k-th of n labels (from 0) is the larger one of k pairs and the smaller one of n - 1 - k.
        place = 2 * pl.int_range(pl.len()).over("item") - number + 1
        apart = frame.sort("label").select("item", (place * pl.col("label") / (high - low)).alias("apart"), n=number)
    else:
        same = pl.len().over("item", "label").cast(pl.Int64)
        apart = frame.select("item", ((number - same) / 2).alias("apart"), n=number)
    each = apart.filter(pl.col("n") > 1).group_by("item").agg(pl.col("apart").sum(), pl.col("n").first())
    mean = 2 * pl.col("apart") / (pl.col("n") * (pl.col("n") - 1))
    return dict(each.select("item", mean.round(12)).iter_rows())


# -- Triplets drawn while annotators answer --------------------------------------------------------


class TripletAssigner:
    """Assigns triplets, including those drawn by other processes."""

    def __init__(self, part: DesignPart) -> None:
        self.part = part
        people = part.people
        self._drawer = TripletDrawer(
            part.design.store, part.drawn_from or "", wanted=people.pairs, seed=people.seed, pool=part.pool
        )

    def sampler(self, db: Connection) -> Sampler:
        """Return the sampler, updated with the triplets drawn by all processes."""
        return self._drawer.sampler(db)

    def next(self, db: Connection, person: str, party: str, now: float) -> str | None:
        """Return the name of a drawn triplet with missing answers, else of a new one."""
        wanted = 1 if (overlap := self.part.design.overlap(party)) is None else overlap
        old = triplet_in_need(db, self.part.counted, party, person, wanted, now)
        return self._drawer.draw(db) if old is None and wanted > 0 else old


# -- Items that a person can receive so that all other places can still be filled ------------------
# If quotas leave little slack, the last annotators can find that the remaining places are of items that they have
# already answered. Near the end, each assignment must therefore keep a complete assignment of the remaining places
# possible: a maximum flow from items (remaining places) to people (remaining quota), with capacity 1 between an item
# and a person who has not had it. The people include those whose reservations expired, for these items only, and as
# many future annotators as the places require. An assignment is safe if some maximum flow contains it: if this flow
# does, or if the item and the person lie on a cycle of its residual graph (in one strongly connected component).

MOST_PAIRS = 8_000
"""Largest number of open items times people with remaining quota for this computation: such a maximum flow takes about
2 ms. Above it there is enough slack to assign the items with fewest answers."""


@dataclass
class OpenPlaces:
    """The remaining places of one group of people. An item here can be a whole document on one page.

    Attributes
    ----------
    places : dict of str to int
        Number of missing answers of each item.
    room : dict of str to int
        Number of items that each person can still receive.
    had : dict of str to set of str
        The items that each person has had, which they do not receive again.
    lapsed : dict of str to set of str
        The items whose reservation by each person expired; they receive them again if they return.
    quota : int, optional
        Number of items for a future annotator; as many future annotators are assumed as the places require.
    """

    places: dict[str, int]
    room: dict[str, int]
    had: dict[str, set[str]]
    lapsed: dict[str, set[str]] = field(default_factory=dict)
    quota: int | None = None

    @property
    def n_people(self) -> int:
        """Number of people who can fill places; all future annotators count as one."""
        missing = sum(self.places.values()) - sum(self.room.values())
        return len(self.room) + len(self.lapsed) + (self.quota is not None and missing > 0)

    def take(self, person: str, item: str) -> None:
        """Record that a person received an item."""
        self.places[item] -= 1
        self.room[person] -= 1
        self.had.setdefault(person, set()).add(item)

    def most_filled(self) -> int:
        """Return the largest number of places that these people can fill."""
        from scipy.sparse.csgraph import maximum_flow

        names = [name for name, number in self.places.items() if number > 0]
        people = [one for one, number in self.room.items() if number > 0]
        if not names or not (people or self.lapsed):
            return 0
        links, room = self._links(names, people)
        graph = _network(links, [self.places[name] for name in names], room)
        return int(maximum_flow(graph, graph.shape[0] - 2, graph.shape[0] - 1).flow_value)

    def safe_for(self, person: str) -> set[str]:
        """Return the items that this person can receive without reducing the number of places that can be filled."""
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
        mine = flow[[me], : len(names)].toarray()[0] != 0  # flow from the items has the opposite sign
        safe = (links[:, column] > 0) & (mine | (component[: len(names)] == component[me]))
        return {names[item] for item in np.flatnonzero(safe)}

    def _links(self, names: list[str], people: list[str]) -> tuple[Any, list[int]]:
        """The capacities between items and people, and the total capacity of each person.

        After the people come those with expired reservations, and one column for all future annotators.
        """
        number_of = {name: number for number, name in enumerate(names)}
        links = np.zeros((len(names), len(people) + len(self.lapsed) + 1), dtype=np.int32)
        links[:, : len(people)] = 1
        for column, one in enumerate(people):
            links[[number_of[name] for name in self.had.get(one, ()) if name in number_of], column] = 0
        for column, left in enumerate(self.lapsed.values(), start=len(people)):
            links[[number_of[name] for name in left if name in number_of], column] = 1
        room = [self.room[one] for one in people] + [len(left) for left in self.lapsed.values()]
        missing = sum(self.places[name] for name in names) - int(np.minimum(room, links[:, :-1].sum(axis=0)).sum())
        each = min(self.quota or 0, len(names))
        later = -(-missing // each) if each and missing > 0 else 0
        links[:, -1] = later
        return links, [*room, later * each]


def _network(links: Any, places: list[int], room: list[int]) -> Any:
    """The matrix of capacities; the nodes are items, people, source and sink."""
    from scipy.sparse import csr_array

    n_items, n_people = links.shape
    source, sink = n_items + n_people, n_items + n_people + 1
    item_at, person_at = np.nonzero(links)
    tails = np.concatenate([np.full(n_items, source), item_at, n_items + np.arange(n_people)])
    heads = np.concatenate([np.arange(n_items), n_items + person_at, np.full(n_people, sink)])
    widths = np.concatenate([places, links[item_at, person_at], room]).astype(np.int32)
    nodes = (tails.astype(np.int32), heads.astype(np.int32))  # SciPy before 1.15 requires int32
    return csr_array((widths, nodes), shape=(sink + 1, sink + 1))
