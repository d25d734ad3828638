"""The consequences of a change of a running study for its annotators and their answers, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from assay.collecting.assignment import OpenPlaces, stop_reasons
from assay.collecting.design import Session, StudyDesign
from assay.collecting.desk.overview import Snapshot
from assay.errors import counted, listing
from assay.study.store.connection import Connection
from assay.study.store.people import (
    ADJUDICATOR,
    Person,
    Slot,
    all_people,
    all_places_taken,
    count_given,
    items_had,
    lapsed_tasks,
)
from assay.study.store.work_log import WorkLog

EditKey = Literal["until", "quota", "overlap", "instructions", "guidelines", "items"]
"""The parts of a study that can be changed from the dashboard."""


KEPT = "All answers that were given are kept, and count."


def setting_words(design: StudyDesign, key: EditKey, of: str = "") -> str:
    """Return the value of a setting in words.

    Parameters
    ----------
    of : str
        The group of the overlap.
    """
    people = design.people
    if key == "until":
        return "no end" if people.until is None else _end_words(people.end) or f"{people.until} after the invitation"
    if key == "quota":
        return "no quota" if people.quota is None else f"{people.quota:,}"
    wanted = design.overlap(of) if isinstance(people.per_item, dict) else people.per_item
    return "all annotators" if wanted is None else f"{wanted:,}"


def _end_words(end: datetime | None) -> str:
    return "" if end is None else end.isoformat(timespec="minutes" if end.second == 0 else "seconds")


def effects(key: EditKey, before: StudyDesign, after: StudyDesign, db: Connection, now: float) -> tuple[str, ...]:
    """Return the consequences of a change.

    Parameters
    ----------
    before, after : StudyDesign
        The study without and with the change.
    db : Connection
        If texts or items change, a transaction in which the store has the study after the change.
    now : float
        Seconds since 1970.
    """
    if key == "until":
        return tuple(_of_end(before, after, db, now))
    if key in ("instructions", "guidelines"):
        judges = key == "guidelines" and after.study.judge_names
        of_judges = ["Judges receive guidelines too: the next assay judge asks whether their labels count."]
        return (*_of_guides(before, after, db), *([KEPT] if key == "instructions" else of_judges if judges else []))
    lines = list(_of_quota(before, after, db)) if key == "quota" else []
    lines += _of_items(before, after) if key == "items" else []
    return (*lines, *_of_remaining(before, after, db, now), KEPT)


# -- annotators ---------------------------------------------------------------------------------------


def _active(design: StudyDesign, db: Connection) -> list[Person]:
    """The annotators who can receive items, if their time is not over."""
    stopped = stop_reasons(design, db)
    return [
        one
        for one in all_people(db)
        if one.state == "active" and one.role != ADJUDICATOR and one.excluded_at is None and one.name not in stopped
    ]


def _is_over(design: StudyDesign, person: Person, now: float) -> bool:
    end = design.deadline(person)
    return end is not None and end <= now


def _names(people: Sequence[Person]) -> str:
    return f"{counted(len(people), 'annotator')} ({listing([one.name for one in people])})"


def _of_end(before: StudyDesign, after: StudyDesign, db: Connection, now: float) -> Iterator[str]:
    people = _active(after, db)
    was, will = ([_is_over(design, one, now) for one in people] for design in (before, after))
    ended = [one for one, old, new in zip(people, was, will, strict=True) if new and not old]
    opened = [one for one, old, new in zip(people, was, will, strict=True) if old and not new]
    end = after.people.end
    if end is not None and end.timestamp() <= now:
        yield "This time has passed: annotation ends at once."
    if ended:
        yield f"The time of {_names(ended)} ends at once. Their open items are free again."
    if opened:
        yield f"{_names(opened)} whose time had ended can continue."
    rest = [one for one, new in zip(people, will, strict=True) if not new]
    if rest and after.people.until is None:
        yield f"{counted(len(rest), 'annotator')} can answer without an end."
    elif rest:
        last = max(after.deadline(one) or 0.0 for one in rest)
        until = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d %H:%M UTC")
        each = "until" if end is not None else "each for their own time, at the latest until"
        yield f"{counted(len(rest), 'annotator')} can answer {each} {until}."
    yield KEPT


def _of_guides(before: StudyDesign, after: StudyDesign, db: Connection) -> Iterator[str]:
    begun = {name for design in (before, after) for _session, given in _given(design, db) for name in given}
    people = [one for one in _active(after, db) if one.name in begun]
    number = after.guide_version[0]
    yield f"The instructions and guidelines become version {number} (now version {before.guide_version[0]})."
    if people:
        who = "1 annotator who has begun sees" if len(people) == 1 else f"{len(people):,} annotators who have begun see"
        yield f"{who} the changed passages once when they open the page, and later with the key I."


def _given(design: StudyDesign, db: Connection) -> Iterator[tuple[Session, dict[str, int]]]:
    """The number of items that each person was given, by session; without triplets, which are drawn."""
    for session in design.sessions(""):
        if session.part.drawn_from is None:
            yield session, count_given(db, Slot(session.part.counted, session.condition))


def _of_quota(before: StudyDesign, after: StudyDesign, db: Connection) -> Iterator[str]:
    people = _active(after, db)
    had: dict[str, list[int]] = {one.name: [] for one in people}
    for _session, given in _given(after, db):
        for name, numbers in had.items():
            numbers.append(given.get(name, 0))

    def full(design: StudyDesign, name: str) -> bool:
        quota = design.people.quota
        return quota is not None and min(had[name], default=0) >= quota

    closed = [one for one in people if full(after, one.name) and not full(before, one.name)]
    opened = [one for one in people if full(before, one.name) and not full(after, one.name)]
    if closed:
        yield f"{_names(closed)} reached the new quota. They can finish open items, and receive no further ones."
    if opened:
        yield f"{_names(opened)} had reached the quota, and can receive further items."


def _of_items(before: StudyDesign, after: StudyDesign) -> list[str]:
    lines = [f"{counted(after.n_items - before.n_items, 'item')} more; annotators receive them from now on."]
    if after.study.judge_names:
        lines.append(f"Judges have no labels for them: collect these with assay judge {after.study.folder.name}.")
    return lines


# -- remaining answers --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Supply:
    """Answers that annotators can give, and answers beyond the overlap.

    Attributes
    ----------
    missing, possible : int
        Missing answers; the most of them that annotators who are active now can give.
    able : frozenset of str
        The annotators who can give any.
    beyond, items : int
        Answers beyond the overlap, and their items.
    open : int
        Items with all answers that further annotators have open now.
    """

    missing: int = 0
    possible: int = 0
    able: frozenset[str] = frozenset()
    beyond: int = 0
    items: int = 0
    open: int = 0

    def __add__(self, other: _Supply) -> _Supply:
        """The supply of two groups or sessions."""
        return _Supply(
            *(self.missing + other.missing, self.possible + other.possible, self.able | other.able),
            *(self.beyond + other.beyond, self.items + other.items, self.open + other.open),
        )


def _of_remaining(before: StudyDesign, after: StudyDesign, db: Connection, now: float) -> Iterator[str]:
    log = WorkLog()
    log.update(db)
    was, will = (list(Snapshot(design, db, now, log).short()) for design in (before, after))
    old, new = (sum(one.answers for one in some) for some in (was, will))
    items = sum(one.items for one in will)
    about = f" ({counted(items, 'item')})" if items else ""
    yield f"Remaining answers: {new:,}{about} after the change, {old:,} before it."
    supply = _supply(after, db, now)
    if supply.beyond:
        yield (
            f"{counted(supply.beyond, 'answer')} beyond the overlap, on {counted(supply.items, 'item')}, "
            f"{'is' if supply.beyond == 1 else 'are'} kept, and counted."
        )
    if supply.open:
        yield f"{counted(supply.open, 'open item')} with enough answers can still be finished."
    if after.people.crowd is not None or not supply.missing:
        return
    able = counted(len(supply.able), "active annotator")
    if supply.possible >= supply.missing:
        yield f"{able} can give them." if supply.able else "Annotators have these items open now."
    elif supply.possible:
        yield f"{able} can give at most {supply.possible:,} of them; invite others for the rest."
    else:
        yield "No active annotator can give them; invite others."


def _supply(design: StudyDesign, db: Connection, now: float) -> _Supply:
    """The answers that annotators can give, without drawn triplets and items that every annotator answers."""
    people = [one for one in _active(design, db) if not _is_over(design, one, now)]
    parties = {design.party(one.attributes) for one in all_people(db) if one.role != ADJUDICATOR}
    found = _Supply()
    for session, given in _given(design, db):
        for party in parties.union(design.people.per_item if isinstance(design.people.per_item, dict) else ()):
            mine = [one.name for one in people if design.party(one.attributes) == party]
            quota = design.people.quota
            room = None if quota is None else {name: max(0, quota - given.get(name, 0)) for name in mine}
            wanted = design.overlap(party)
            if wanted is not None:
                slot = Slot(session.part.counted, session.condition, party)
                found += _supply_of(db, slot, session.part.names, wanted, mine, room, now)
    return found


def _supply_of(
    db: Connection,
    slot: Slot,
    names: Sequence[str],
    wanted: int,
    people: Sequence[str],
    room: Mapping[str, int] | None,
    now: float,
) -> _Supply:
    """The supply of one session and group; ``room`` has the further items for each annotator if there is a quota."""
    answered, taken = (all_places_taken(db, slot, at) for at in (math.inf, now))
    short = {name: wanted - answered.get(name, 0) for name in names if answered.get(name, 0) < wanted}
    over = [answered[name] - wanted for name in names if answered.get(name, 0) > wanted]
    held = {name: min(number, taken.get(name, 0) - answered.get(name, 0)) for name, number in short.items()}
    places = {name: number - held[name] for name, number in short.items()}
    had = _items_by_person(items_had(db, slot, list(short), people))
    open_to = _items_by_person(one for one in lapsed_tasks(db, slot, now) if one[0] in had and one[1] in short)
    further = {name: len(short) if room is None else room[name] for name in people}
    able = {name for name in people if open_to.get(name) or (further[name] and len(had.get(name, ())) < len(short))}
    without = Counter(item for name, some in had.items() for item in some - open_to.get(name, set()))
    possible = sum(min(number, len(people) - without[name]) for name, number in places.items())
    if room is not None and len(places) * len(people) <= MOST_LINKS:
        possible = OpenPlaces(places, dict(room), had, open_to).most_filled()
    elif room is not None:
        possible = min(possible, sum(further.values()) + sum(map(len, open_to.values())))
    return _Supply(
        *(sum(short.values()), possible + sum(held.values()), frozenset(able), sum(over), len(over)),
        open=sum(number - answered.get(name, 0) for name, number in taken.items() if answered.get(name, 0) >= wanted),
    )


MOST_LINKS = 1_000_000
"""Items times annotators up to which the answers that annotators can give are counted exactly if there is a quota: that
takes 0.1 s. Above it, the number is an upper limit."""


def _items_by_person(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, item in pairs:
        found.setdefault(name, set()).add(item)
    return found
