"""A study at one moment, summed by the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from assay.collecting.checking import checks_failed, stopped
from assay.collecting.design import Design
from assay.collecting.overview import Moment, Numbers, Pairs, PersonRow, Remark, Short, ShortItem
from assay.study.store import standing
from assay.study.store.connection import Connection
from assay.study.store.items import Role
from assay.study.store.people import Person, everybody_invited
from assay.study.store.standing import Work

MOST_REMARKS = 200
MOST_ITEMS = 50
"""Of the items that are short, so many are named."""

BUSY = 600.0
"""Whoever answered within so many seconds is at work now."""


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
        checks, flags = checks_failed(self.design, self.db), standing.flags_by_person(self.db)
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
            excluded=person.excluded_at is not None,
            excluded_for=person.excluded_for,
            stopped=self._stopped.get(person.name, ""),
        )

    def _consented(self, to: str | None) -> bool | None:
        return to == self.design.consent_digest() if self.design.people.consent else None

    @cached_property
    def _stopped(self) -> dict[str, str]:
        return stopped(self.design, self.db)

    @cached_property
    def _done(self) -> dict[str, Any]:
        """By person, how many tasks they have done, and when last."""
        return standing.done_by_person(self.db, self.design.asked_now)

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
        """The study in a few numbers; what excluded people did is in none of them."""
        of_all, people = people, [one for one in people if not one.excluded]
        excluded = {one.name for one in of_all if one.excluded}
        return Numbers(
            items=self.design.n_items,
            answered=sum(one.done - one.skipped for one in people),
            skipped=sum(one.skipped for one in people),
            people=len(self.active),
            busy=sum(one.last is not None and one.last.seconds_ago < BUSY for one in people),
            filled=pairs.of - pairs.short if pairs else sum(one.filled for one in short),
            wanted=pairs.of if pairs else sum(one.wanted for one in short),
            earlier=sum(int(row.earlier) for name, row in self._done.items() if name not in excluded),
            excluded=len(excluded),
        )
