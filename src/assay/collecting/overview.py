"""What the lead's page shows: who did how much, what is short, what was remarked, do they agree?"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.collecting.assignment import TripletAssigner, disputed_items, failed_checks, stop_reasons
from assay.collecting.design import StudyDesign
from assay.data.columns import PARTS
from assay.data.scales import Preference, Scale, parse_scale
from assay.errors import AssayError, listing
from assay.study.schema import LOOKS, PLAN_FILE, Question, items_at_look, kind_of
from assay.study.store import table
from assay.study.store.answers import newest_answer
from assay.study.store.connection import Connection, setting
from assay.study.store.people import ADJUDICATOR, Person, Slot, everybody, left_out
from assay.study.store.table import criteria_of, labels_in_table
from assay.study.store.work_log import PersonSums, WorkLog, first_labels, item_names, read_labels

if TYPE_CHECKING:
    from polars import DataFrame

log = logging.getLogger("assay.collecting")

FEWEST_ITEMS = 5
"""With fewer items that two people answered, nothing is said of agreement: its interval would say nothing."""


@dataclass(frozen=True)
class AgreementSoFar:
    """How well people agree on one question so far.

    Attributes
    ----------
    question, scale : str
        The question's name; and its scale, where the study varies it.
    title : str
        Of the coefficient.
    estimate, low, high : float, optional
        With its 95% interval; None where there is none, and `reason` says why.
    items, people : int
        Items that two people or more answered, and people.
    """

    question: str
    scale: str
    title: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    items: int = 0
    people: int = 0
    reason: str = ""


def agreement_so_far(design: StudyDesign, labels: DataFrame, without: Collection[str]) -> tuple[AgreementSoFar, ...]:
    """Krippendorff's alpha of the people, for every question and every scale on which it was asked.

    Parameters
    ----------
    labels : polars.DataFrame
        Those of people, see `assay.study.store.work_log.label_frame`.
    without : list of str
        People whose labels do not count.
    """
    found = []
    for question in design.questions:
        one, given = question.definition, first_labels(labels, question.id, without)
        if one.marked is not None:
            why = "spans are compared word by word in the labels: assay agreement STUDY --clusters span_of"
            found.append(AgreementSoFar(one.name, "", people=given["annotator"].n_unique(), reason=why))
            continue
        for spec in design.scales or (None,):
            on = given
            if spec:
                on = given.filter([json.loads(each).get("scale") == spec for each in given["condition"]])
            by_criterion = _labels_by_criterion(one, on) if one.kind.lists else {one.name: on}
            for name, scale in criteria_of(one).items():
                asked_on = parse_scale(spec) if spec else scale
                found.append(_question_agreement(name, spec or "", asked_on, by_criterion[name]))
    return tuple(found)


def _labels_by_criterion(question: Question, labels: DataFrame) -> dict[str, DataFrame]:
    """Answers that are lists as the table has them."""
    import polars as pl

    rows: dict[str, list[tuple[str, str, str]]] = {name: [] for name in criteria_of(question)}
    for item, person, raw in labels.select("item", "annotator", "label").iter_rows():
        for name, place, own in labels_in_table(question, item, json.loads(raw)):
            rows[name].append((place, person, json.dumps(own)))
    schema = dict.fromkeys(("item", "annotator", "label"), pl.String())
    return {name: pl.DataFrame(some, schema=schema, orient="row") for name, some in rows.items()}


def _question_agreement(question: str, spec: str, scale: Scale, labels: DataFrame) -> AgreementSoFar:
    """The coefficient that suits the scale, or why there is none."""
    items = sum(number > 1 for number in labels.group_by("item").len()["len"])
    people = labels["annotator"].n_unique()
    so_far = AgreementSoFar(question, spec, items=items, people=people)
    if kind_of(scale).free_text:
        return replace(so_far, reason="free text has no labels that could be the same; read the answers")
    if people < 2:
        who = "nobody has" if people == 0 else "only one person has"
        return replace(so_far, reason=f"{who} answered so far; agreement needs two people on the same items")
    if items < FEWEST_ITEMS:
        have = "1 item has" if items == 1 else f"{items} items have"
        return replace(so_far, reason=f"{have} answers of two people so far; it is computed from {FEWEST_ITEMS} on")
    try:
        return replace(so_far, **_alpha(scale, labels))
    except AssayError as error:
        return replace(so_far, reason=str(error))
    except Exception:
        log.exception("agreement on %s could not be computed", question)
        return replace(so_far, reason="it could not be computed; the server's log says why")


def _alpha(scale: Scale, labels: DataFrame) -> dict[str, Any]:
    import polars as pl

    from assay.concordance.measures import krippendorff_alpha
    from assay.data.annotations import Annotations

    frame = labels.select(pl.col("item", "annotator").cast(pl.String), read_labels(labels))
    level = {"interval": "interval", "ordinal": "ordinal"}.get(scale.kind, "nominal")
    level = "ordinal" if isinstance(scale, Preference) and scale.grades else level
    # Items and people have been told apart by the study already.
    table = Annotations.from_frame(frame, humans=set(frame["annotator"]), spelling="apart", scale=scale)
    one = krippendorff_alpha(table, level=level)  # type: ignore[arg-type]
    estimate, low, high = (value if math.isfinite(value) else None for value in (one.estimate, one.low, one.high))
    words = "" if None not in (estimate, low, high) else one.reason or "there is no interval"
    return {"title": one.title, "estimate": estimate, "low": low, "high": high, "reason": words}


# -- What the lead's page shows --------------------------------------------------------------------


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
class StudyCounts:
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
    excluded : int
        People whose answers must not count, and do not here.
    """

    items: int
    answered: int
    skipped: int
    people: int
    busy: int
    filled: int
    wanted: int
    earlier: int
    excluded: int

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
    excluded : bool
        Whether their answers must not count; and why, in ``excluded_for``.
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
    excluded: bool
    excluded_for: str
    stopped: str
    """Why they are given nothing further; empty where they may go on."""
    adjudicates: bool = False
    """Whether they decide between the answers of others, and give none that counts."""

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
class GroupShortfall:
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
class PairProgress:
    """Where triplets are drawn: pairs of items that were drawn together less often than wanted."""

    short: int
    of: int
    wanted: int
    triplets: int
    """Drawn so far."""


@dataclass(frozen=True)
class PlannedLook:
    """One of the times that the verdict is asked for while labels come in.

    Attributes
    ----------
    items : int, optional
        At which it is planned; None where no plan says it.
    spends, spent : float
        Of alpha, at this look and until then.
    taken : Moment, optional
        When it was; None where it is still to come.
    taken_items : int, optional
        On how many items.
    """

    number: int
    items: int | None
    spends: float
    spent: float
    taken: Moment | None
    taken_items: int | None


@dataclass(frozen=True)
class VerdictProgress:
    """What the verdict still needs, seen without asking for it: no label of a judge is compared here.

    Attributes
    ----------
    answered, of : int
        Items that have all the answers that count for it, of those that are tested.
    each : str
        How many answers an item needs, in words.
    items : int, optional
        That are planned in all.
    needed : int, optional
        Items that the next look still needs, or the only one; None where no plan says it.
    looks : tuple of PlannedLook
        All that are planned, and those beyond; empty where there is one.
    alpha : float
    trouble : str
        Why the plan is not read; empty where it is, or there is none.
    """

    answered: int
    of: int
    each: str
    items: int | None
    needed: int | None
    looks: tuple[PlannedLook, ...]
    alpha: float
    trouble: str

    @property
    def taken(self) -> int:
        """How many looks were taken."""
        return sum(one.taken is not None for one in self.looks)

    @property
    def planned(self) -> int:
        """How many looks are planned."""
        return sum(one.spends > 0 for one in self.looks)


@dataclass(frozen=True)
class Overview:
    """A study at a moment."""

    numbers: StudyCounts
    people: tuple[PersonRow, ...]
    agreement: tuple[AgreementSoFar, ...]
    remarks: tuple[Remark, ...]
    short: tuple[GroupShortfall, ...]
    pairs: PairProgress | None
    disputed: frozenset[str]
    """Items on which people differ, as looked up now and then."""
    group: str
    """What a new person must be said to be: ``expertise (nurse, doctor)``; empty where nothing."""
    verdict: VerdictProgress | None = None
    """None where the study asks no judges and nothing is planned, or triplets are drawn."""
    every: float = 0.0
    """Seconds between two sums, where they take so long that not every look has its own; else 0."""


# -- A study at one moment -------------------------------------------------------------------------

MOST_REMARKS = 200
"""Remarks that are shown, newest first: what a lead reads at a sitting."""

MOST_ITEMS = 50
"""Items that lack answers: the most that are named; their number is always shown."""

BUSY = 600.0
"""Seconds since the last answer, up to which somebody is at work now: longer than an item takes."""


class Snapshot:
    """The numbers of one moment, summed from what the log holds of it."""

    def __init__(self, design: StudyDesign, db: Connection, now: float, log: WorkLog) -> None:
        self.design, self.db, self.now, self.log = design, db, now, log
        self.sessions = design.sessions("")  # whose they are changes their order, not what they are
        self.invited = everybody(db)
        self.answering = [person for person in self.invited if person.role != ADJUDICATOR]
        self.active = [person.name for person in self.answering if person.state == "active"]
        self.left_out = left_out(self.invited)

    def moment(self, at: float) -> Moment:
        """A time, as seen from this one."""
        return Moment(at, self.now - at)

    # -- people -----------------------------------------------------------------------------------

    def people(self, minutes: Mapping[str, float]) -> tuple[PersonRow, ...]:
        """Everybody who was invited, in the order of their invitations."""
        checks, flags = failed_checks(self.design, self.db), self.log.flags_by_person()
        return tuple(
            self._row(person, checks.get(person.name, []), flags.get(person.name, 0), minutes.get(person.name))
            for person in self.invited
        )

    def _row(self, person: Person, checks: list[bool], flags: int, minutes: float | None) -> PersonRow:
        expected = self.design.expected_tasks(self.design.party(person.attributes))
        expected = None if expected is None or person.role == ADJUDICATOR else expected * len(self.sessions)
        mine = self._person_sums.get(person.name)
        last = mine and mine.last
        return PersonRow(
            name=person.name,
            attributes=tuple((str(k), str(v)) for k, v in person.attributes.items()),
            state=person.state,
            consented=self._has_consented(person.consented_to),
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
            stopped=self._stop_reasons.get(person.name, ""),
            adjudicates=person.role == ADJUDICATOR,
        )

    def _has_consented(self, to: str | None) -> bool | None:
        return to == self.design.consent_digest() if self.design.people.consent else None

    @cached_property
    def _stop_reasons(self) -> dict[str, str]:
        return stop_reasons(self.design, self.db)

    @cached_property
    def _person_sums(self) -> dict[str, PersonSums]:
        """By person, how many tasks they have done, and when last."""
        return self.log.progress_by_person(self.design.counted)

    # -- what was remarked --------------------------------------------------------------------------

    def remarks(self) -> tuple[Remark, ...]:
        """Flags, comments and skips of the answers that count, newest first."""
        rows: dict[int, Any] = {}
        # Every question of a task has a row, and every row of a task says the same.
        for row in sorted(self.log.remarks.values(), key=lambda row: -row.id):
            task = (row.shown or {}).get("task")
            if len(rows) == MOST_REMARKS:
                break
            if task is not None:
                rows.setdefault(int(task), row)
        tasks = self.log.states_and_roles(rows)
        return tuple(self._remark(number, row, *tasks[number]) for number, row in rows.items() if number in tasks)

    def _remark(self, number: int, row: Any, state: str, role: str) -> Remark:
        skip = row.reason or "" if row.status == "missing" else ""
        return Remark(
            person=row.annotator,
            item=row.item,
            flag=row.flag or "",
            comment=row.comment or "",
            skip=skip.removeprefix("skipped").removeprefix(": ") or ("no reason given" if skip else ""),
            at=self.moment(row.answered_at),
            task=number,
            practice=role == "warm-up",
            can_reopen=state in ("answered", "skipped"),
        )

    # -- what is short ------------------------------------------------------------------------------

    def short(self) -> Iterator[GroupShortfall]:
        """By session and group, what is still to be answered."""
        several = len(self.sessions) > 1
        for session in sorted(self.sessions, key=lambda session: session.condition):
            words = session.words.removeprefix("answer with ") if several else ""
            if self.design.people.overlap is None and self.design.drawn_from is None:
                yield self._shortfall_of_everybody(session.condition, words)
                continue
            for party in self._parties():
                wanted = self.design.overlap(party)
                work = Slot(self.design.counted, session.condition, party=party)
                yield self._shortfall(work, words, 1 if wanted is None else wanted)

    def _parties(self) -> list[str]:
        wanted = self.design.people.overlap
        if isinstance(wanted, dict):
            return list(wanted)
        parties = sorted({self.design.party(person.attributes) for person in self.answering})
        return parties if self.design.people.group else [""]

    def _shortfall(self, work: Slot, session: str, wanted: int) -> GroupShortfall:
        lack = self.log.shortfall(work, self._names, wanted, self.now, MOST_ITEMS, without=self.left_out)
        answers, whole = wanted * lack.items - lack.have, wanted * lack.of
        return GroupShortfall(
            group=work.party,
            session=session,
            everybody=work.people is not None,
            items=lack.items,
            answers=answers,
            held=lack.held,
            filled=whole - answers,
            wanted=whole,
            first=tuple(ShortItem(item, have, wanted, held) for item, have, held in lack.first),
        )

    @cached_property
    def _names(self) -> Sequence[str]:
        """What is answered, in the order of its file; triplets in the order in which they were drawn."""
        return item_names(self.db, "triplet") if self.design.drawn_from else self.design.names

    def _shortfall_of_everybody(self, condition: str, session: str) -> GroupShortfall:
        """Where all people answer everything, or as much of it as their quota: those who are active."""
        work = Slot(self.design.counted, condition, people=self.active)
        quota = self.design.people.quota
        if quota is None or quota >= self.design.n_items:
            return self._shortfall(work, session, len(self.active))
        each = self.log.items_by_person(work, self.now, self.left_out)
        filled, whole = sum(min(have, quota) for have, _ in each), quota * len(self.active)
        held = sum(held for _, held in each)
        return GroupShortfall("", session, True, 0, whole - filled, held, filled, whole, ())

    # -- what the verdict needs -----------------------------------------------------------------------

    def verdict(self, tested: Collection[str]) -> VerdictProgress | None:
        """What the verdict still needs, by the plan in the study's folder and the looks that its store has counted."""
        study, plan = self.design.study, _plan_of(self.design.study.folder)
        taken = setting(self.db, LOOKS) or []
        if self.design.drawn_from or not (study.judge_names or plan or taken):
            return None
        n_looks, n_items = (_whole(plan.get(key)) for key in ("looks", "items"))
        n_looks = (n_looks or 1) if plan else study.config.looks or 1
        people = _whole(plan.get("annotators")) or FEWEST_ANSWERS
        answered = self._complete(tested, people)
        number = len(taken) + 1
        wanted = None if n_items is None else items_at_look(n_items, number, n_looks)
        alpha = _alpha_of(plan)
        each = f"{people} people" if self.design.people.overlap is None else "as many people as are wanted"
        return VerdictProgress(
            *(answered, len(tested), each, n_items, None if wanted is None else max(wanted - answered, 0)),
            looks=tuple(self._looks(taken, n_items, n_looks, alpha)) if n_looks > 1 or len(taken) > 1 else (),
            alpha=alpha,
            trouble=str(plan.get("trouble", "")),
        )

    def _complete(self, tested: Collection[str], people: int) -> int:
        """How many of these items have all their answers, of every group and in every session."""
        lacking: set[str] = set()
        for session in self.sessions:
            for party in [""] if self.design.people.overlap is None else self._parties():
                wanted = self.design.overlap(party)
                everybody_here = [one.name for one in self.answering] if wanted is None else None
                work = Slot(self.design.counted, session.condition, party=party, people=everybody_here)
                lacking |= self.log.lacking(work, self._names, people if wanted is None else wanted, self.left_out)
        return sum(name not in lacking for name in tested)

    def _looks(
        self, taken: Sequence[Mapping[str, Any]], n_items: int | None, n_looks: int, alpha: float
    ) -> Iterator[PlannedLook]:
        from assay.replacement.panel import spent

        for number in range(1, max(n_looks, len(taken)) + 1):
            was = taken[number - 1] if number <= len(taken) else None
            of = alpha if number > n_looks else spent(alpha, number, n_looks)
            before = alpha if number > n_looks else spent(alpha, number - 1, n_looks)
            yield PlannedLook(
                number,
                None if n_items is None or number > n_looks else items_at_look(n_items, number, n_looks),
                of - before,
                of,
                None if was is None else self.moment(was["at"]),
                None if was is None else was["items"],
            )

    # -- all of it ----------------------------------------------------------------------------------

    def numbers(
        self, people: Sequence[PersonRow], short: Sequence[GroupShortfall], pairs: PairProgress | None
    ) -> StudyCounts:
        """The study in a few numbers; what excluded people did is in none of them."""
        people = [one for one in people if not one.adjudicates]
        of_all, people = people, [one for one in people if not one.excluded]
        excluded = {one.name for one in of_all if one.excluded}
        return StudyCounts(
            items=self.design.n_items,
            answered=sum(one.done - one.skipped for one in people),
            skipped=sum(one.skipped for one in people),
            people=len(self.active),
            busy=sum(one.last is not None and one.last.seconds_ago < BUSY for one in people),
            filled=pairs.of - pairs.short if pairs else sum(one.filled for one in short),
            wanted=pairs.of if pairs else sum(one.wanted for one in short),
            earlier=sum(int(row.earlier) for name, row in self._person_sums.items() if name not in excluded),
            excluded=len(excluded),
        )


FEWEST_ANSWERS = 2
"""Of people to an item, from which it tells of a judge, where neither plan nor overlap say how many are wanted."""


def _plan_of(folder: Path) -> Mapping[str, Any]:
    """What the plan in a study's folder says; empty where there is none."""
    path = folder / PLAN_FILE
    try:
        about = path.stat()
    except OSError:
        return {}
    return _read_plan(path, (about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=16)
def _read_plan(path: Path, _stamp: tuple[int, int]) -> Mapping[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        content = None
    return content if isinstance(content, dict) else {"trouble": f"{path.name} cannot be read; assay report says why"}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _alpha_of(plan: Mapping[str, Any]) -> float:
    from assay.replacement.panel import AltTestSettings

    said = plan.get("verdict")
    value = said.get("alpha") if isinstance(said, dict) else None
    return float(value) if isinstance(value, int | float) and 0 < value < 1 else AltTestSettings.alpha


# -- A study seen again and again, for the lead's page ---------------------------------------------

AGREEMENT_EVERY = 15.0
"""Seconds between two computations of agreement, at least: they run on the machine that answers people."""

SHARE = 0.05
"""Of the time, how much finding the median times, and the sums of a large study, may take at most."""

COSTLY = 0.2
"""Seconds of work from which on not every look has sums of its own: people are answered by the same machine."""


class Watch:
    """Looks at a study again and again; reads, and never writes.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: StudyDesign) -> None:
        self.design, self.store = design, design.store
        self._agreement = Cached[tuple[AgreementSoFar, ...]](
            lambda db: agreement_so_far(design, self._log.labels, left_out(everybody(db))),
            (),
            lambda took: max(AGREEMENT_EVERY, took / SHARE),
        )
        self._minutes = Cached[dict[str, float]](
            lambda _: self._log.minutes_by_person([q.id for q in design.questions]), {}, lambda took: took / SHARE
        )
        self._disputed = Cached[frozenset[str]](
            lambda db: self._find_disputed(left_out(everybody(db))),
            frozenset(),
            lambda took: max(AGREEMENT_EVERY, took / SHARE),
        )
        self._counting, self._looking = threading.Lock(), threading.Lock()
        self._log = WorkLog()
        parts = {} if design.drawn_from else design.study.parts
        self._tested = frozenset(name for name in design.names if parts.get(name) != PARTS[0])
        self._seen: Overview | None = None
        self._of: Hashable = None
        self._at, self._took, self._last_took = -math.inf, 0.0, 0.0
        self._drawing = TripletAssigner(design)
        self._pairs: PairProgress | None = None

    def _find_disputed(self, without: Collection[str]) -> frozenset[str]:
        conditions = [session.condition for session in self.design.sessions("")]
        each = (disputed_items(self.design, self._log.labels, condition, without) for condition in conditions)
        return frozenset(item for some in each for item in some)

    def look(self) -> Overview:
        """The study as it stands now; of a large one as it stood when it was last summed, unless its people changed."""
        with self.store.reading() as db, self._looking:
            of = tuple((one.name, one.state, one.excluded_at) for one in everybody(db))
            every = self._took / SHARE if self._took > COSTLY else 0.0
            began = time.monotonic()
            if self._seen is None or of != self._of or began - self._at >= every:
                self._seen, self._of, self._at = self._sum(db), of, began
            return replace(self._seen, every=every)

    def minutes(self) -> dict[str, float]:
        """Median minutes on an item, by person, as `look` has them."""
        return {one.name: one.minutes for one in self.look().people if one.minutes is not None}

    def _sum(self, db: Connection) -> Overview:
        began = time.thread_time()
        self._log.update(db)
        snapshot = Snapshot(self.design, db, self.store.now(db), self._log)
        short = tuple(snapshot.short())
        remarks, verdict = snapshot.remarks(), snapshot.verdict(self._tested)
        took = time.thread_time() - began
        pairs = self._pairs_now(db) if self.design.drawn_from else None
        newest = (newest_answer(db), tuple((one.name, one.excluded_at) for one in snapshot.invited))
        minutes, agreement = self._minutes.now(db, newest), self._agreement.now(db, newest)  # found less often still
        disputed = self._disputed.now(db, newest)
        people = snapshot.people(minutes)
        self._took, self._last_took = min(took, self._last_took), took  # the first one of all imports what it needs
        return Overview(
            numbers=snapshot.numbers(people, short, pairs),
            people=people,
            agreement=agreement,
            remarks=remarks,
            short=short,
            pairs=pairs,
            disputed=disputed,
            verdict=verdict,
            group=_group_words(self.design),
        )

    def _pairs_now(self, db: Connection) -> PairProgress:
        """Counted anew only when another triplet was drawn."""
        with self._counting:
            sampler = self._drawing.sampler(db)
            drawn = table.n_triplets(db)
            if self._pairs is None or self._pairs.triplets != drawn:
                self._pairs = PairProgress(sampler.short(), table.n_pairs(db), self.design.people.pairs, drawn)
            return self._pairs


T = TypeVar("T")


class Cached(Generic[T]):
    """What takes long: found anew when answers have come since, and not too often.

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
        self._of: Hashable = None
        """The last answer that it rests on, and whose answers it leaves out."""
        self._at, self._took = -math.inf, 0.0

    def now(self, db: Connection, newest: Hashable) -> T:
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


def _group_words(design: StudyDesign) -> str:
    group, wanted = design.people.group, design.people.overlap
    if group is None:
        return ""
    return f"{group} ({listing(list(wanted))})" if isinstance(wanted, dict) else group
