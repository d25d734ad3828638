"""The contents of the dashboard: progress, annotators, remaining items, remarks and agreement so far."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from assay.collecting.assignment import TripletAssigner, disputed_items, failed_checks, item_disagreement, stop_reasons
from assay.collecting.behaviour import (
    NOT_COMPARED,
    Comparison,
    JudgedItem,
    OutOfLine,
    compare_annotators,
    judged_items,
)
from assay.collecting.design import DesignPart, Session, StudyDesign
from assay.data.columns import PARTS
from assay.data.scales import Preference, Scale, parse_scale
from assay.errors import AssayError, listing
from assay.study import LOOKS, PLAN_FILE, PLAN_QUESTION, items_at_look
from assay.study.schema import Question, kind_of
from assay.study.store import table
from assay.study.store.answers import newest_answer
from assay.study.store.connection import Connection, setting
from assay.study.store.events import ended_blind_phase
from assay.study.store.people import ADJUDICATOR, Person, Slot, adjudicated_items, all_people, left_out
from assay.study.store.table import criteria_of, labels_in_table
from assay.study.store.work_log import PersonSums, WorkLog, first_labels, item_names, label_frame, read_labels

if TYPE_CHECKING:
    from polars import DataFrame

log = logging.getLogger("assay.collecting")

FEWEST_ITEMS = 5
"""Agreement is not computed for fewer items with answers of two annotators: its interval would be uninformative."""


@dataclass(frozen=True)
class AgreementSoFar:
    """Agreement of the annotators on one question so far.

    Attributes
    ----------
    question, scale : str
        Name of the question; and its scale, if the study varies the scale.
    title : str
        Name of the coefficient.
    estimate, low, high : float, optional
        The coefficient with its 95% interval. None if it is not estimable; `reason` then gives the reason.
    items, people : int
        Number of items that at least two annotators answered; number of annotators.
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
    """Compute Krippendorff's alpha of the annotators, for every question and every scale on which it was asked.

    Parameters
    ----------
    labels : polars.DataFrame
        Human labels, see `assay.study.store.work_log.label_frame`.
    without : list of str
        Annotators whose labels are excluded.
    """
    found = []
    for part, question in [(each, one) for each in design.parts for one in each.questions]:
        one, given = question.definition, first_labels(labels, question.id, without)
        if one.marked is not None:
            why = "agreement on spans is computed word by word with: assay agreement STUDY"
            found.append(AgreementSoFar(one.name, "", people=given["annotator"].n_unique(), reason=why))
            continue
        for spec in part.scales or (None,):
            on = given
            if spec:
                on = given.filter([json.loads(each).get("scale") == spec for each in given["condition"]])
            by_criterion = _labels_by_criterion(one, on) if one.kind.lists else {one.name: on}
            for name, scale in criteria_of(one).items():
                asked_on = parse_scale(spec) if spec else scale
                found.append(_question_agreement(name, spec or "", asked_on, by_criterion[name]))
    return tuple(found)


def _labels_by_criterion(question: Question, labels: DataFrame) -> dict[str, DataFrame]:
    """Answers that are lists, as labels by criterion in the table."""
    import polars as pl

    rows: dict[str, list[tuple[str, str, str]]] = {name: [] for name in criteria_of(question)}
    for item, person, raw in labels.select("item", "annotator", "label").iter_rows():
        for name, place, own in labels_in_table(question, item, json.loads(raw)):
            rows[name].append((place, person, json.dumps(own)))
    schema = dict.fromkeys(("item", "annotator", "label"), pl.String())
    return {name: pl.DataFrame(some, schema=schema, orient="row") for name, some in rows.items()}


def _question_agreement(question: str, spec: str, scale: Scale, labels: DataFrame) -> AgreementSoFar:
    """The coefficient for the scale, or the reason why it is missing."""
    items = sum(number > 1 for number in labels.group_by("item").len()["len"])
    people = labels["annotator"].n_unique()
    so_far = AgreementSoFar(question, spec, items=items, people=people)
    if kind_of(scale).free_text:
        return replace(so_far, reason="agreement is not defined for free text; read the answers")
    if people < 2:
        who = "no annotator has" if people == 0 else "only one annotator has"
        return replace(so_far, reason=f"{who} answered so far; agreement requires two annotators on the same items")
    if items < FEWEST_ITEMS:
        have = "1 item has" if items == 1 else f"{items} items have"
        return replace(so_far, reason=f"{have} answers of two annotators so far; at least {FEWEST_ITEMS} are required")
    try:
        return replace(so_far, **_alpha(scale, labels))
    except AssayError as error:
        return replace(so_far, reason=str(error))
    except Exception:
        log.exception("agreement on %s could not be computed", question)
        return replace(so_far, reason="it could not be computed; see the server log for the error")


def _alpha(scale: Scale, labels: DataFrame) -> dict[str, Any]:
    import polars as pl

    from assay.concordance.measures import krippendorff_alpha
    from assay.data.annotations import Annotations

    frame = labels.select(pl.col("item", "annotator").cast(pl.String), read_labels(labels))
    level = {"interval": "interval", "ordinal": "ordinal"}.get(scale.kind, "nominal")
    level = "ordinal" if isinstance(scale, Preference) and scale.grades else level
    # The study already distinguishes items and annotators, so similar spellings are not merged.
    table = Annotations.from_frame(frame, humans=set(frame["annotator"]), spelling="apart", scale=scale)
    one = krippendorff_alpha(table, level=level)  # type: ignore[arg-type]
    estimate, low, high = (value if math.isfinite(value) else None for value in (one.estimate, one.low, one.high))
    words = "" if None not in (estimate, low, high) else one.reason or "there is no interval"
    return {"title": one.title, "estimate": estimate, "low": low, "high": high, "reason": words}


# -- Contents of the dashboard ---------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """A time, and how long ago it was when the overview was made."""

    at: float
    seconds_ago: float

    @property
    def iso(self) -> str:
        """The time in ISO 8601, UTC."""
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
    """The counts of a study, without practice items.

    Attributes
    ----------
    items : int
        Number of items in the study.
    answered, skipped : int
        Items answered and skipped so far, including attention checks and retest items.
    people, busy : int
        Annotators with an active link; and those who answered in the last ten minutes.
    filled, wanted : int
        Answers that count toward the overlap, and the number required in total; pairs if triplets are drawn.
    earlier : int
        Items answered with an earlier version of the questions: kept, but not counted here.
    excluded : int
        Excluded annotators, whose answers are not counted here.
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
        """Percentage of the required answers; 100 only if no answer is missing."""
        return 100 * self.filled // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class PersonRow:
    """The progress of one annotator.

    Attributes
    ----------
    attributes : tuple of (name, value)
    state : {"active", "paused", "revoked"}
    consented : bool, optional
        Whether they agreed to the current consent text; None if the study has none.
    done, skipped : int
        Items answered or skipped, and items skipped; without practice.
    of : int, optional
        Number of items expected of them in all sessions; None if it depends on the other annotators.
    session, sessions : int
        Their current session, and the number of sessions.
    minutes : float, optional
        Median working time per item; None before the first answer.
    checks_failed, checks : int
        Attention checks failed, and attention checks answered.
    flags : int
        Number of items that they flagged.
    last : Moment, optional
        Time of their last answer.
    excluded : bool
        Whether their answers are excluded; ``excluded_for`` is the reason.
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
    """Why they receive no further items; empty if they can continue."""
    adjudicates: bool = False
    """Whether they adjudicate between the answers of others, so that their own answers are not labels."""
    out_of_line: tuple[OutOfLine, ...] = ()
    """How they differ from the other annotators, see `assay.collecting.behaviour`."""

    @property
    def pace(self) -> str:
        """Median time per item in words: ``45 s``, ``2.5 min``."""
        if self.minutes is None:
            return ""
        return f"{60 * self.minutes:.0f} s" if self.minutes < 1.5 else f"{self.minutes:.1f} min"


@dataclass(frozen=True)
class Remark:
    """A flag, comment or skip of one annotator on one item."""

    person: str
    item: str
    flag: str
    comment: str
    skip: str
    """Why it was skipped; empty if it was not."""
    at: Moment
    task: int
    practice: bool
    can_reopen: bool


@dataclass(frozen=True)
class ItemProgress:
    """The answers to one item so far.

    Attributes
    ----------
    answered, skipped : int
        Annotators and sessions that answered and skipped it.
    wanted : int, optional
        Required number of answers per session; None if every annotator answers every item, or by group.
    remarks : int
        Flags and comments.
    seconds : float, optional
        Median working time of an answer; None before the first.
    spread : float, optional
        Mean distance of two annotators' labels, 0 to 1, see `assay.collecting.assignment.item_disagreement`. None with
        fewer than two labels.
    adjudicated : bool
        Whether an adjudicator has decided.
    """

    name: str
    answered: int
    skipped: int
    wanted: int | None
    remarks: int
    seconds: float | None
    spread: float | None
    adjudicated: bool
    reason: str = ""
    """Why annotators disagree, if the study lead gave a reason: a key of `REASONS`."""
    judged: JudgedItem | None = None
    """The labels of judges, after the blind phase."""


DisagreementReason = Literal["text", "guideline", "slip"]
"""Why annotators disagree on an item: its text allows both readings, the guidelines leave it open, or one slipped."""

REASONS: dict[str, str] = {
    "text": "the text is ambiguous",
    "guideline": "the guidelines are unclear",
    "slip": "an annotator made a mistake",
}
"""The reasons of a disagreement, with their words."""

DISAGREEMENT_REASONS = "reasons of disagreements"
"""Setting: the study lead's reasons by item."""


@dataclass(frozen=True)
class ShortItem:
    """An item with missing answers."""

    name: str
    have: int
    wanted: int
    held: int
    """Number of annotators who have it open now."""


@dataclass(frozen=True)
class GroupShortfall:
    """The answers that are still missing in one group and session.

    Attributes
    ----------
    group, session : str
        Empty if there is only one.
    all_answer : bool
        Whether every annotator answers every item, so that ``wanted`` counts the active annotators.
    items : int
        Number of items with missing answers.
    answers : int
        Total number of missing answers.
    held : int
        Answers in progress: items that an annotator has open now.
    filled, wanted : int
        Answers that count, and the number required.
    first : tuple of ShortItem
        The first of these items, in the order of their file.
    drawn : bool
        Whether the items are triplets that are drawn during annotation.
    """

    group: str
    session: str
    all_answer: bool
    items: int
    answers: int
    held: int
    filled: int
    wanted: int
    first: tuple[ShortItem, ...]
    drawn: bool = False


@dataclass(frozen=True)
class PairProgress:
    """Pairs of items that were drawn together less often than required, if the study draws triplets."""

    short: int
    of: int
    wanted: int
    triplets: int
    """Number of triplets drawn so far."""


@dataclass(frozen=True)
class PlannedAnalysis:
    """One interim analysis of the verdict, planned or done.

    Attributes
    ----------
    items : int, optional
        Number of items at which it is planned; None without a plan.
    spends, spent : float
        The part of alpha that it spends, and the total spent up to it.
    done : Moment, optional
        When it was done; None if it is still to come.
    done_items : int, optional
        Number of items that it was done on.
    """

    number: int
    items: int | None
    spends: float
    spent: float
    done: Moment | None
    done_items: int | None


@dataclass(frozen=True)
class VerdictProgress:
    """The sample size for the verdict so far. No label of a judge is compared, so this is not an interim analysis.

    Attributes
    ----------
    answered, of : int
        Items with all required answers, and number of tested items.
    each : str
        Number of answers that an item requires, in words.
    items : int, optional
        Planned number of items.
    needed : int, optional
        Further items required for the next (or only) analysis; None without a plan.
    analyses : tuple of PlannedAnalysis
        All planned interim analyses, and any beyond the plan; empty if there is only one.
    alpha : float
    trouble : str
        Why the plan cannot be read; empty if it can, or if there is none.
    """

    answered: int
    of: int
    each: str
    items: int | None
    needed: int | None
    analyses: tuple[PlannedAnalysis, ...]
    alpha: float
    trouble: str

    @property
    def n_done(self) -> int:
        """Number of interim analyses done."""
        return sum(one.done is not None for one in self.analyses)

    @property
    def n_planned(self) -> int:
        """Number of interim analyses planned."""
        return sum(one.spends > 0 for one in self.analyses)


@dataclass(frozen=True)
class Overview:
    """The state of a study at one moment."""

    numbers: StudyCounts
    people: tuple[PersonRow, ...]
    agreement: tuple[AgreementSoFar, ...]
    remarks: tuple[Remark, ...]
    short: tuple[GroupShortfall, ...]
    pairs: PairProgress | None
    disputed: frozenset[str]
    """Items on which annotators disagree, updated from time to time."""
    group: str
    """The attribute that a new annotator must have: ``expertise (nurse, doctor)``; empty if none is required."""
    verdict: VerdictProgress | None = None
    """None if the study has neither judges nor a plan, or if it draws triplets."""
    every: float = 0.0
    """Seconds between two updates, if summing takes too long to be repeated for every request; otherwise 0."""


# -- A study at one moment -------------------------------------------------------------------------

MOST_REMARKS = 200
"""Remarks that the dashboard shows, newest first."""

MOST_ITEMS = 50
"""Items with missing answers that are listed by name, at most; their number is always shown."""

BUSY = 600.0
"""An annotator counts as working now up to this many seconds after their last answer: longer than one item takes."""


class Snapshot:
    """The counts at one moment, summed from the work log."""

    def __init__(self, design: StudyDesign, db: Connection, now: float, log: WorkLog) -> None:
        self.design, self.db, self.now, self.log = design, db, now, log
        self.sessions = design.sessions("")  # annotators differ only in the order of their sessions
        self.invited = all_people(db)
        self.answering = [person for person in self.invited if person.role != ADJUDICATOR]
        self.active = [person.name for person in self.answering if person.state == "active"]
        self.left_out = left_out(self.invited)

    def moment(self, at: float) -> Moment:
        """A time, relative to this moment."""
        return Moment(at, self.now - at)

    # -- people -----------------------------------------------------------------------------------

    def people(self, minutes: Mapping[str, float], compared: Comparison) -> tuple[PersonRow, ...]:
        """All invited annotators, in the order of their invitations."""
        checks, flags = failed_checks(self.design, self.db), self.log.flags_by_person()
        rows = (
            self._row(person, checks.get(person.name, []), flags.get(person.name, 0), minutes.get(person.name))
            for person in self.invited
        )
        return tuple(replace(row, out_of_line=compared.marks.get(row.name, ())) for row in rows)

    def _row(self, person: Person, checks: list[bool], flags: int, minutes: float | None) -> PersonRow:
        party = self.design.party(person.attributes)
        each = [one.part.expected_tasks(party) for one in self.sessions if person.role != ADJUDICATOR]
        expected = None if not each or None in each else sum(number or 0 for number in each)
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
        """By annotator, the number of tasks done and the time of the last one."""
        return self.log.progress_by_person(self.design.counted)

    # -- remarks ------------------------------------------------------------------------------------

    def remarks(self) -> tuple[Remark, ...]:
        """Flags, comments and skips of the answers that count, newest first."""
        rows: dict[int, Any] = {}
        # Every question of a task has a row, and all rows of a task have the same remarks.
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

    # -- remaining items ----------------------------------------------------------------------------

    def short(self) -> Iterator[GroupShortfall]:
        """The missing answers, by session and group."""
        several = len(self.sessions) > 1
        for session in sorted(self.sessions, key=lambda session: session.condition):
            words = self._session_words(session) if several else ""
            if self.design.people.overlap is None and session.part.drawn_from is None:
                yield self._shortfall_of_all(session, words)
                continue
            for party in self._parties():
                wanted = self.design.overlap(party)
                work = Slot(session.part.counted, session.condition, party=party)
                yield self._shortfall(work, session.part, words, 1 if wanted is None else wanted)

    def _session_words(self, session: Session) -> str:
        """Return the questions of a session's part, if there are several, and its scale, if it is varied."""
        asked = listing([q.definition.name for q in session.part.questions]) if len(self.design.parts) > 1 else ""
        return ", ".join(filter(None, (asked, session.words.removeprefix("answer with "))))

    def _parties(self) -> list[str]:
        wanted = self.design.people.per_item
        if isinstance(wanted, dict):
            return list(wanted)
        parties = sorted({self.design.party(person.attributes) for person in self.answering})
        return parties if self.design.people.group else [""]

    def _shortfall(self, work: Slot, part: DesignPart, session: str, wanted: int) -> GroupShortfall:
        names = self._names(part)
        short = self.log.shortfall(work, names, wanted, self.now, MOST_ITEMS, without=self.left_out)
        answers, whole = wanted * short.items - short.have, wanted * short.of
        return GroupShortfall(
            group=work.party,
            session=session,
            all_answer=work.people is not None,
            items=short.items,
            answers=answers,
            held=short.held,
            filled=whole - answers,
            wanted=whole,
            first=tuple(ShortItem(item, have, wanted, held) for item, have, held in short.first),
            drawn=part.drawn_from is not None,
        )

    def _names(self, part: DesignPart) -> Sequence[str]:
        """The names of the items, in the order of their file; of triplets, in the order in which they were drawn."""
        return item_names(self.db, "triplet") if part.drawn_from else part.names

    def _shortfall_of_all(self, session: Session, words: str) -> GroupShortfall:
        """The missing answers of the active annotators, if each of them answers every item or a quota of the items."""
        work = Slot(session.part.counted, session.condition, people=self.active)
        quota = self.design.people.quota
        if quota is None or quota >= session.part.n_items:
            return self._shortfall(work, session.part, words, len(self.active))
        each = self.log.items_by_person(work, self.now, self.left_out)
        filled, whole = sum(min(have, quota) for have, _ in each), quota * len(self.active)
        held = sum(held for _, held in each)
        return GroupShortfall("", words, True, 0, whole - filled, held, filled, whole, ())

    # -- sample size for the verdict ------------------------------------------------------------------

    def verdict(self, tested: Collection[str]) -> VerdictProgress | None:
        """The items still required, by the plan in the study folder and the interim analyses recorded in its store."""
        study, plan = self.design.study, plan_of(self.design.study.folder)
        done = setting(self.db, LOOKS) or []
        if not self.design.listed or not (study.judge_names or plan or done):
            return None
        planned, n_items = (_whole(plan.get(key)) for key in ("looks", "items"))
        n_analyses = (planned or 1) if plan else study.config.analyses or 1
        people = _whole(plan.get("annotators")) or FEWEST_ANSWERS
        answered = self._complete(tested, people)
        number = len(done) + 1
        wanted = None if n_items is None else items_at_look(n_items, number, n_analyses)
        alpha = _alpha_of(plan)
        each = f"{people} annotators" if self.design.people.overlap is None else "the required number of annotators"
        several = n_analyses > 1 or len(done) > 1
        return VerdictProgress(
            *(answered, len(tested), each, n_items, None if wanted is None else max(wanted - answered, 0)),
            analyses=tuple(self._analyses(done, n_items, n_analyses, alpha)) if several else (),
            alpha=alpha,
            trouble=str(plan.get("trouble", "")),
        )

    def _complete(self, tested: Collection[str], people: int) -> int:
        """How many of these items have all their answers, from every group and in every session."""
        incomplete: set[str] = set()
        for session in self.sessions:
            if session.part is not self.design.listed[0]:
                continue
            for party in [""] if self.design.people.overlap is None else self._parties():
                wanted = self.design.overlap(party)
                names = [one.name for one in self.answering] if wanted is None else None
                work = Slot(session.part.counted, session.condition, party=party, people=names)
                incomplete |= self.log.missing_items(
                    work, session.part.names, people if wanted is None else wanted, self.left_out
                )
        return sum(name not in incomplete for name in tested)

    def _analyses(
        self, done: Sequence[Mapping[str, Any]], n_items: int | None, n_planned: int, alpha: float
    ) -> Iterator[PlannedAnalysis]:
        from assay.replacement.panel import spent

        for number in range(1, max(n_planned, len(done)) + 1):
            was = done[number - 1] if number <= len(done) else None
            of = alpha if number > n_planned else spent(alpha, number, n_planned)
            before = alpha if number > n_planned else spent(alpha, number - 1, n_planned)
            yield PlannedAnalysis(
                number,
                None if n_items is None or number > n_planned else items_at_look(n_items, number, n_planned),
                of - before,
                of,
                None if was is None else self.moment(was["at"]),
                None if was is None else was["items"],
            )

    # -- totals -------------------------------------------------------------------------------------

    def numbers(
        self, people: Sequence[PersonRow], short: Sequence[GroupShortfall], pairs: PairProgress | None
    ) -> StudyCounts:
        """The counts of the study, without the work of excluded annotators."""
        people = [one for one in people if not one.adjudicates]
        of_all, people = people, [one for one in people if not one.excluded]
        listed = [one for one in short if not (pairs and one.drawn)]
        excluded = {one.name for one in of_all if one.excluded}
        return StudyCounts(
            items=self.design.n_items,
            answered=sum(one.done - one.skipped for one in people),
            skipped=sum(one.skipped for one in people),
            people=len(self.active),
            busy=sum(one.last is not None and one.last.seconds_ago < BUSY for one in people),
            filled=(pairs.of - pairs.short if pairs else 0) + sum(one.filled for one in listed),
            wanted=(pairs.of if pairs else 0) + sum(one.wanted for one in listed),
            earlier=sum(int(row.earlier) for name, row in self._person_sums.items() if name not in excluded),
            excluded=len(excluded),
        )


FEWEST_ANSWERS = 2
"""Answers that a tested item must have, if neither the plan nor the overlap gives a number."""


def plan_of(folder: Path) -> Mapping[str, Any]:
    """The plan in a study's folder; empty if there is none."""
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
    reason = f"{path.name} cannot be read; run assay report for the reason"
    return content if isinstance(content, dict) and _is_plan(content) else {"trouble": reason}


def _is_plan(content: Mapping[str, Any]) -> bool:
    """Whether a command would accept a plan: its question, and the values of the options that it decides."""
    from assay.replacement.panel import AltTestSettings

    verdict = content.get("verdict") or {}
    if content.get("question") != PLAN_QUESTION or not isinstance(verdict, dict):
        return False
    margin = {} if {"epsilon", "expertise"} & verdict.keys() else {"epsilon": 0.1}
    try:
        AltTestSettings.of({**verdict, **margin}, PLAN_FILE)
    except AssayError:
        return False
    return True


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _alpha_of(plan: Mapping[str, Any]) -> float:
    """The significance level of a plan, whose options are checked as it is read, or the default."""
    from assay.replacement.panel import AltTestSettings

    return float((plan.get("verdict") or {}).get("alpha", AltTestSettings.alpha))


# -- Repeated overviews of a study, for the dashboard ----------------------------------------------

AGREEMENT_EVERY = 15.0
"""Minimum seconds between two computations of agreement: they run on the machine that serves the annotators."""

SHARE = 0.05
"""Largest share of the time to spend on the median times and, in a large study, on the sums."""

COSTLY = 0.2
"""If summing takes longer than this many seconds, sums are reused: the same machine serves the annotators."""


class Watch:
    """Makes overviews of a running study; reads the store and never writes to it.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: StudyDesign) -> None:
        self.design, self.store = design, design.store
        self._agreement = Cached[tuple[AgreementSoFar, ...]](
            lambda db: agreement_so_far(design, self._log.labels, left_out(all_people(db))),
            (),
            lambda took: max(AGREEMENT_EVERY, took / SHARE),
        )
        self._minutes = Cached[dict[str, float]](
            lambda _: self._log.minutes_by_person([q.id for q in design.questions]), {}, lambda took: took / SHARE
        )
        self._disputed = Cached[frozenset[str]](
            lambda db: self._find_disputed(left_out(all_people(db))),
            frozenset(),
            lambda took: max(AGREEMENT_EVERY, took / SHARE),
        )
        self._compared = Cached[Comparison](
            self._compare,
            NOT_COMPARED,
            lambda took: max(AGREEMENT_EVERY, took / SHARE),
        )
        self._judged = Cached[dict[str, JudgedItem]](
            lambda db: judged_items(design, self._log.labels, label_frame(db, kind="judge"), left_out(all_people(db))),
            {},
            lambda took: took / SHARE,
        )
        self._items = Cached[tuple[ItemProgress, ...]](self._sum_items, (), lambda took: took / SHARE)
        self._counting, self._looking = threading.Lock(), threading.Lock()
        self._log = WorkLog()
        parts = {} if design.drawn is not None else design.study.parts
        tested = (name for part in design.listed[:1] for name in part.names)
        self._tested = frozenset(name for name in tested if parts.get(name) != PARTS[0])
        self._seen: Overview | None = None
        self._of: Hashable = None
        self._at, self._took, self._last_took = -math.inf, 0.0, 0.0
        self._drawing = None if design.drawn is None else TripletAssigner(design.drawn)
        self._pairs: PairProgress | None = None

    def _find_disputed(self, without: Collection[str]) -> frozenset[str]:
        sessions = self.design.sessions("")
        each = (disputed_items(one.part, self._log.labels, one.condition, without) for one in sessions)
        return frozenset(item for some in each for item in some)

    def _compare(self, db: Connection) -> Comparison:
        """Compare the annotators who are not excluded and do not adjudicate."""
        people = all_people(db)
        without = {*left_out(people), *(one.name for one in people if one.role == ADJUDICATOR)}
        try:
            return compare_annotators(self.design, self._log, without)
        except Exception:
            log.exception("annotators could not be compared")
            return NOT_COMPARED

    def compared(self) -> Comparison:
        """The annotators who are out of line, as of the last comparison in `look`."""
        self.look()
        return self._compared.latest

    def look(self) -> Overview:
        """The study now; for a large study, as of the last summation, unless its annotators changed since."""
        with self.store.reading() as db, self._looking:
            of = tuple((one.name, one.state, one.excluded_at) for one in all_people(db))
            every = self._took / SHARE if self._took > COSTLY else 0.0
            began = time.monotonic()
            if self._seen is None or of != self._of or began - self._at >= every:
                self._seen, self._of, self._at = self._sum(db), of, began
            return replace(self._seen, every=every)

    def items(self) -> tuple[ItemProgress, ...]:
        """The progress of every item, in the order of their file."""
        self.look()
        with self.store.reading() as db:
            people = tuple((one.name, one.role, one.excluded_at) for one in all_people(db))
            of = (newest_answer(db), people, len(adjudicated_items(db)))
            found, blind = self._items.now(db, of), ended_blind_phase(db) is None
            judged = {} if blind else self._judged.now(db, of)
        given = self.reasons()
        if not given and not judged:
            return found
        return tuple(replace(one, reason=given.get(one.name, ""), judged=judged.get(one.name)) for one in found)

    def reasons(self) -> dict[str, DisagreementReason]:
        """The study lead's reasons of disagreements, by item."""
        return dict(self.store.setting(DISAGREEMENT_REASONS) or {})

    def set_reason(self, item: str, reason: DisagreementReason | Literal[""]) -> None:
        """Record why annotators disagree on an item, or remove the record; within an exclusive transaction."""
        given: dict[str, str] = {name: why for name, why in self.reasons().items() if name != item}
        self.store.set(DISAGREEMENT_REASONS, given | ({item: reason} if reason else {}))

    def _sum_items(self, db: Connection) -> tuple[ItemProgress, ...]:
        design, without = self.design, left_out(all_people(db))
        with self._looking:
            self._log.update(db)
            sums = self._log.progress_by_item(design.counted, [q.id for q in design.questions], without)
            # Every question of a task has a row with the same remarks.
            said = {
                (row.item, row.annotator, row.condition, row.repeat)
                for row in self._log.remarks.values()
                if row.annotator not in without and (row.flag is not None or row.comment is not None)
            }
            remarks = Counter(item for item, *_ in said)
            spread: dict[str, float] = {}
            for session in design.sessions(""):
                found = item_disagreement(session.part, self._log.labels, session.condition, without)
                for item, distance in found.items():
                    spread[item] = max(distance, spread.get(item, 0.0))
        wanted = None if design.people.group else design.overlap("")
        decided, by_item = adjudicated_items(db), {row[0]: row[1:] for row in sums.iter_rows()}
        names = [name for part in design.listed for name in part.names]
        names += [] if design.drawn is None else item_names(db, "triplet")
        rows = ((name, *by_item.get(name, (0, 0, None))) for name in names)
        return tuple(
            ItemProgress(name, answered, skipped, wanted, remarks[name], seconds, spread.get(name), name in decided)
            for name, answered, skipped, seconds in rows
        )

    def minutes(self) -> dict[str, float]:
        """Median minutes per item, by annotator, as in `look`."""
        return {one.name: one.minutes for one in self.look().people if one.minutes is not None}

    def _sum(self, db: Connection) -> Overview:
        began = time.thread_time()
        self._log.update(db)
        snapshot = Snapshot(self.design, db, self.store.now(db), self._log)
        short = tuple(snapshot.short())
        remarks, verdict = snapshot.remarks(), snapshot.verdict(self._tested)
        took = time.thread_time() - began
        pairs = None if self._drawing is None else self._pairs_now(db, self._drawing)
        newest = (newest_answer(db), tuple((one.name, one.excluded_at) for one in snapshot.invited))
        minutes, agreement = self._minutes.now(db, newest), self._agreement.now(db, newest)  # updated even less often
        disputed = self._disputed.now(db, newest)
        people = snapshot.people(minutes, self._compared.now(db, newest))
        self._took, self._last_took = min(took, self._last_took), took  # the very first one includes imports
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

    def _pairs_now(self, db: Connection, drawing: TripletAssigner) -> PairProgress:
        """Progress of the pairs, counted again only when a triplet was drawn."""
        with self._counting:
            sampler = drawing.sampler(db)
            drawn = table.n_triplets(db)
            if self._pairs is None or self._pairs.triplets != drawn:
                self._pairs = PairProgress(
                    sampler.short(), table.n_pairs(db, drawing.part.pool), self.design.people.pairs, drawn
                )
            return self._pairs


T = TypeVar("T")


class Cached(Generic[T]):
    """A slow computation, repeated when there are new answers, but not too often.

    Parameters
    ----------
    find : function of a connection
    first : value
        Returned to other requests during the first computation.
    every : function of seconds
        From the duration of the last computation, the minimum seconds until the next one.
    """

    def __init__(self, find: Callable[[Connection], T], first: T, every: Callable[[float], float]) -> None:
        self._find, self._every, self._value = find, every, first
        self._lock = threading.Lock()
        self._of: Hashable = None
        """The last answer that it includes, and the annotators that it excludes."""
        self._at, self._took = -math.inf, 0.0

    @property
    def latest(self) -> T:
        """The value of the last computation."""
        return self._value

    def now(self, db: Connection, newest: Hashable) -> T:
        """The current value; the previous one while another request computes it."""
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
    group, wanted = design.people.group, design.people.per_item
    if group is None:
        return ""
    return f"{group} ({listing(list(wanted))})" if isinstance(wanted, dict) else group
