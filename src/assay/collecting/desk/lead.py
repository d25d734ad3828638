"""The dashboard of the study lead: progress, one item, one annotator, adjudication, downloads.

Adjudicators decide between the answers of others. They receive the items on which annotators disagree, those with the
largest disagreement first, with the answers but without names. Their decisions are stored separately.
"""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Depends, File, Form, Query, Request, Response, UploadFile
from fastapi.responses import RedirectResponse
from pydantic import Field

from assay._version import __version__
from assay.collecting import answers, crowd, invitations
from assay.collecting.answers import LONGEST_WORDS, UnknownTaskError
from assay.collecting.assignment import PAUSED, additions_words, failed_checks
from assay.collecting.behaviour import FEWEST_ITEMS as FEWEST_COMPARED
from assay.collecting.behaviour import label_words
from assay.collecting.design import Asked, StudyDesign, is_wrong
from assay.collecting.desk.editing import StaleEditError, StudyEdit, apply_edit, preview_edit
from assay.collecting.desk.effects import EditKey, setting_words
from assay.collecting.desk.overview import REASONS, DisagreementReason, ItemProgress, Moment, Overview, PersonRow
from assay.collecting.desk.report import report_choices, report_on_desk
from assay.collecting.people import preview_pages, served_guide_picture
from assay.collecting.serving import (
    BIGGEST,
    BIGGEST_BODY,
    LEAD_COOKIE,
    AppState,
    Refused,
    Shared,
    acting,
    check_lead,
    lead,
    time_tag,
)
from assay.data.annotations import Annotations
from assay.data.scales import Label, RankedTexts, Scale
from assay.errors import AssayError, StudyError
from assay.statistics.outliers import LEAST_PEOPLE
from assay.study.items import EXTENDABLE, canonical
from assay.study.schema import Role, kind_of, scale_of
from assay.study.store import messages
from assay.study.store import people as store_people
from assay.study.store.connection import Connection, Store
from assay.study.store.events import What, ended_blind_phase, events, record_event
from assay.study.store.items import items, items_named
from assay.study.store.people import ADJUDICATOR, all_people
from assay.study.store.table import answers_about, human_answers, stored_annotations, study_record
from assay.study.store.work import Changed

FEWEST_ITEMS = 5
"""Agreement with others is not computed for fewer items that others answered."""


# -- one item ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerLine:
    """One answer to one question of an item, as the study lead reads it."""

    who: str
    kind: str
    question: str
    answer: str
    condition: str
    repeat: int
    seconds: float | None
    remarks: tuple[str, ...]
    counts: bool
    task: int | None = None
    """The task on the annotation page; None for judges, labels from files and withdrawn answers."""
    reasoning: str = ""
    """A judge's reasoning, if it was asked for."""
    probability: float | None = None
    """The probability that a judge gave to its label, if the service returned it."""


@dataclass(frozen=True)
class ItemSheet:
    """An item and all answers to it."""

    name: str
    fields: tuple[tuple[str, str], ...]
    lines: tuple[AnswerLine, ...]
    judges_hidden: int
    """Number of judges' answers that exist but are hidden."""


def item_sheet(design: StudyDesign, name: str) -> ItemSheet | None:
    """Return an item and its answers; None if the study has no item of this name."""
    with design.store.reading() as db:
        found = items_named(db, [name]).get(name)
        if found is None:
            return None
        rows = answers_about(db, item=name)
        judges = ended_blind_phase(db) is not None
    lines = tuple(_answer_line(design, row, found.fields) for row in rows if judges or row.kind == "human")
    fields = tuple(
        (column, value if isinstance(value, str) else canonical(value)) for column, value in found.fields.items()
    )
    return ItemSheet(name, fields, lines, 0 if judges else sum(row.kind == "judge" for row in rows))


def _answer_line(design: StudyDesign, row: Any, fields: Mapping[str, Any]) -> AnswerLine:
    remarks = [f"flagged: {row.flag}"] if row.flag else []
    remarks += [row.comment] if row.comment else []
    counts = row.status == "valid" and row.excluded_at is None and row.does != ADJUDICATOR
    return AnswerLine(
        who=row.annotator,
        kind=row.kind if row.does != ADJUDICATOR else ADJUDICATOR,
        question=row.criterion,
        answer=_answer(design, row, fields) if row.status == "valid" else row.reason or row.status,
        condition=", ".join(f"{key} {value}" for key, value in json.loads(row.condition).items()),
        repeat=row.repeat,
        seconds=row.seconds,
        remarks=tuple(remarks),
        counts=counts,
        task=(row.shown or {}).get("task") if row.kind == "human" and row.status != "withdrawn" else None,
        reasoning=row.reasoning or "",
        probability=(row.shown or {}).get("about", {}).get(f"p_{label_words(row.label)}"),
    )


def _answer(design: StudyDesign, row: Any, fields: Mapping[str, Any]) -> str:
    """An answer as the study lead reads it: the names of a list, the words of spans."""
    one = next((q.definition for q in design.questions if q.id == row.question), None)
    if one is None or not one.kind.lists:
        return label_words(row.label)
    scale = scale_of(one.scale)
    if isinstance(scale, RankedTexts):
        return " > ".join(one.options[scale.names.index(letter)] for letter in scale.chosen(row.label) or ())
    return answers.answer_words(Asked(row.question, one, scale), row.label, (), one.marked_text(fields))


# -- one person --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuestionStyle:
    """How one annotator answers a question, compared with all others.

    Attributes
    ----------
    shares : tuple of (label, share of their answers, share of the others' answers)
        Empty for free text and for numbers with fractions.
    run, of : int
        The longest run of equal answers, and the number of their answers.
    agree, low, high : float, optional
        Share of the others' answers to the same items that equal theirs, with its 95% interval over items (on scales
        with fractions: within a tenth of the range). None with fewer than `FEWEST_ITEMS` items.
    others : float, optional
        The same share among the others, on these items.
    items : int
        Number of items that others also answered.
    """

    question: str
    shares: tuple[tuple[str, float, float], ...]
    run: int
    of: int
    agree: float | None
    low: float | None
    high: float | None
    others: float | None
    items: int


@dataclass(frozen=True)
class PersonSheet:
    """The answers of one annotator."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    quartiles: tuple[float, float, float] | None
    """Quartiles of the seconds per item."""
    others_median: float | None
    checks_failed: int
    checks: int
    styles: tuple[QuestionStyle, ...]
    lines: tuple[tuple[str, AnswerLine], ...]
    """(item, answer), newest first; at most a hundred."""


MOST_LINES = 100
"""Answers of an annotator that the page lists, newest first."""


def person_sheet(design: StudyDesign, name: str, minutes: Mapping[str, float]) -> PersonSheet | None:
    """Return an annotator's answers and how they compare with others; None if no annotator has this name.

    Parameters
    ----------
    minutes : dict
        Median minutes per item, by annotator, see `assay.collecting.desk.overview.Watch.minutes`.
    """
    with design.store.reading() as db:
        person = store_people.find(db, name)
        if person is None:
            return None
        rows = answers_about(db, person=name)
        checks = failed_checks(design, db).get(name, [])
        styles = tuple(_styles(design, db, name, rows))
        shown = rows[-MOST_LINES:]
        fields = {item: found.fields for item, found in items_named(db, {row.item for row in shown}).items()}
    seconds = sorted({(row.item, row.repeat, row.condition): row.seconds for row in rows if row.seconds}.values())
    quartiles = tuple(statistics.quantiles(seconds, n=4, method="inclusive")) if len(seconds) > 1 else None
    others = [value for other, value in minutes.items() if other != name]
    lines = tuple((row.item, _answer_line(design, row, fields.get(row.item, {}))) for row in reversed(shown))
    attributes = tuple((str(k), str(v)) for k, v in person.attributes.items())
    return PersonSheet(
        *(name, attributes, quartiles, 60 * statistics.median(others) if others else None),
        *(sum(checks), len(checks), styles, lines),
    )


def _styles(design: StudyDesign, db: Connection, name: str, rows: Sequence[Any]) -> Iterable[QuestionStyle]:
    for question in design.questions:
        scale = scale_of(question.definition.scale)
        if kind_of(scale).free_text:
            continue
        theirs = [row for row in rows if row.question == question.id and row.status == "valid"]
        mine = {(row.item, row.condition): row.label for row in reversed(theirs)}  # the first, if there are two
        others: dict[tuple[str, str], dict[str, Label]] = {}
        for row in human_answers(db, [question.id]):
            if row.annotator != name:
                others.setdefault((row.item, row.condition), {}).setdefault(row.annotator, row.label)
        if theirs:
            given = [row.label for row in theirs]
            rest = {place: list(some.values()) for place, some in others.items()}
            yield question_style(question.definition.name, scale, given, mine, rest)


def question_style(
    name: str, scale: Scale, given: Sequence[Label], mine: Mapping[Any, Label], others: Mapping[Any, Sequence[Label]]
) -> QuestionStyle:
    """How one annotator answers a question: their labels compared with those of others, and how often both agree.

    Parameters
    ----------
    given : list
        Their labels, in the order of answers.
    mine, others : mapping
        By item and session, their first label, and the labels of others.
    """
    from assay.estimation.intervals import wilson

    both = [place for place in mine if others.get(place)]
    agree = low = high = among = None
    if len(both) >= FEWEST_ITEMS:
        # The mean of shares: each item counts as one trial, so the interval is conservative.
        agree = statistics.fmean(_equal_share([(mine[place], one) for one in others[place]], scale) for place in both)
        low, high = (float(end) for end in wilson(np.array(agree), len(both)))
        pairs = [list(combinations(others[place], 2)) for place in both if len(others[place]) > 1]
        among = statistics.fmean(_equal_share(some, scale) for some in pairs) if pairs else None
    labels = [] if scale.kind == "interval" else list(scale.categories or ())
    theirs, rest = Counter(given), Counter(label for some in others.values() for label in some)
    shares = tuple((label_words(c), theirs[c] / len(given), rest[c] / max(rest.total(), 1)) for c in labels)
    return QuestionStyle(name, shares, longest_run(given), len(given), agree, low, high, among, len(both))


def _equal_share(pairs: Sequence[tuple[Label, Label]], scale: Scale) -> float:
    return statistics.fmean(not is_wrong(one, other, scale, scale) for one, other in pairs)


def longest_run(labels: Sequence[Label]) -> int:
    """The length of the longest run of equal labels."""
    longest = now = 0
    before: Any = object()
    for label in labels:
        now = now + 1 if label == before else 1
        longest, before = max(longest, now), label
    return longest


# -- adjudication ------------------------------------------------------------------------------------


def adjudicated_csv(store: Store) -> bytes:
    """The adjudicated labels in the order of the decisions: item, criterion, label, adjudicator, comment, whether the
    blind phase lasted at the decision, and the experimental conditions, if there are any."""
    import polars as pl

    with store.reading() as db:
        people = [person.name for person in all_people(db) if person.role == ADJUDICATOR]
        rows = [row for name in people for row in answers_about(db, person=name) if row.status == "valid"]
        ended = ended_blind_phase(db)
    columns = ("item", "criterion", "label", "annotator", "comment")
    found: dict[str, list[Any]] = {
        c: [label_words(row.label) if c == "label" else getattr(row, c) for row in rows] for c in columns
    }
    found["blind"] = [ended is None or row.answered_at < ended for row in rows]
    conditions = [json.loads(row.condition) for row in rows]
    varied = dict.fromkeys(name for one in conditions for name in one)
    found |= {name: [None if name not in one else str(one[name]) for one in conditions] for name in varied}
    schema = {**dict.fromkeys((*columns, *varied), pl.String), "blind": pl.Boolean}
    schema = {name: schema[name] for name in found}
    return pl.DataFrame(found, schema=schema).write_csv().encode()


# -- Downloads -------------------------------------------------------------------------------------

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every file, so that equal records give equal archives."""


def labels_csv(store: Store) -> bytes:
    """Return every answer that counts as one row of a table.

    Returns
    -------
    bytes
        CSV in UTF-8: item, annotator, criterion, label, further columns of the answer (repeat, scale, order, position,
        place, seconds) and of the annotator (kind, attributes). `assay.read` reads it without options.

    Raises
    ------
    StudyError
        If there is no answer with a label yet.
    """
    table = stored_annotations(store)
    columns = {name: table.column(name).to_list() for name in _columns(store, table)}
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return held.getvalue().encode()


def _columns(store: Store, table: Annotations) -> list[str]:
    """The columns of answers and annotators, without the items' texts.

    A column that is constant over all answers to an item has become item metadata, although it describes answers.
    """
    own: set[str] = set()
    for item, _digest in items(store):
        own.update(item.fields)
    of_items = [name for name in table.items.columns if name not in (*own, "item", "document")]
    return list(dict.fromkeys([*table.labels.columns, *of_items, *table.annotators.columns]))


def archive(store: Store, person: str | None = None) -> bytes:
    """Return everything that was shown and answered as a zip archive.

    The archive alone determines who saw which item, in which order and in which words; its README.txt describes the
    files. It contains no links and no secret. With ``person``, it contains the records of that person only.

    Returns
    -------
    bytes
        A zip archive of JSON Lines files, one per table. Equal records give equal bytes.
    """
    held = io.BytesIO()
    with study_record(store) as found, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_entry("README.txt"), README)
        for name, rows in (found if person is None else rows_of_person(found, person)).items():
            with file.open(_entry(f"{name}.jsonl"), "w") as out:
                for row in rows:
                    out.write(_line(row))
    return held.getvalue()


def rows_of_person(record: Mapping[str, Iterable[dict[str, Any]]], person: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of the record about one person, and about the items and questions that they were shown."""
    mine = {
        name: [row for row in record[name] if row["annotator"] == person] for name in ("answers", "tasks", "people")
    }
    asked = {number for task in mine["tasks"] for number in task["questions"]}
    seen = {task["item"] for task in mine["tasks"]}
    forms = {task["form"] for task in mine["tasks"]}
    agreed = {row["consented_to"] for row in mine["people"]} | {row["shown"].get("consent") for row in mine["answers"]}
    return mine | {
        "questions": [row for row in record["questions"] if row["id"] in asked],
        "forms": [row for row in record["forms"] if row["id"] in forms],
        "items": [row | {"known": None} for row in record["items"] if row["item"] in seen],
        "contents": [row for row in record["contents"] if row["item"] in seen],
        "consents": [row for row in record["consents"] if row["digest"] in agreed],
        **{name: [row for row in record[name] if row["person"] == person] for name in ("visits", "replies")},
        "messages": [row for row in record["messages"] if row["person"] in (None, person)],
    }


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _line(row: dict[str, Any]) -> bytes:
    # An unpaired surrogate, which UTF-8 cannot encode, becomes a JSON escape.
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


README = (Path(__file__).parents[1] / "templates" / "record.txt").read_text("utf-8").replace("{version}", __version__)
"""Description of each file and column of the archive."""


# -- The routes of the study lead ------------------------------------------------------------------

Words = Annotated[str, Form(max_length=LONGEST_WORDS)]
Named = Annotated[str, Query(max_length=LONGEST_WORDS)]
Setting = Annotated[str, Form(max_length=BIGGEST_BODY)]

entrance = APIRouter(prefix="/lead")
"""The only route without a check of the cookie: it sets the cookie."""

router = APIRouter(prefix="/lead", dependencies=[Depends(lead)])


@entrance.get("/join/{token}")
def lead_join(token: str, state: Shared) -> Response:
    """Open the study lead's link; the browser keeps access in a cookie."""
    check_lead(state, token)
    return state.admit("/lead", LEAD_COOKIE, token)


# -- progress ----------------------------------------------------------------------------------------


@router.get("")
def lead_page(request: Request, state: Shared) -> Response:
    """The dashboard."""
    return state.page("lead.html", **_overview(state, request))


@router.get("/live")
def lead_live(request: Request, state: Shared) -> Response:
    """The part of the dashboard that is updated while annotators answer."""
    return state.page("lead_live.html", **_overview(state, request))


def _overview(state: AppState, request: Request) -> Mapping[str, Any]:
    base = state.base_url or str(request.base_url)
    reads = acting.get().role == "reader"
    links = {
        person.name: "" if reads else invitations.personal_link(state.signer, person, base)
        for person in store_people.all_people(state.store)
    }
    sort, find = request.query_params.get("sort", ""), request.query_params.get("find", "").strip()
    with state.store.reading() as db:
        now = state.store.now(db)
        decided = store_people.adjudicated_items(db)
        added = additions_words(state.design, db)
        ended = ended_blind_phase(db)
        to_all = [(one, Moment(one.at, now - one.at)) for one in messages.messages(db, to_all=True)]
    said = [
        state.trouble,
        request.app.state.assay.faults.words(),
        state.notice,
        request.app.state.assay.edit_notice(),
        *(added, state.design.expiry_notice(datetime.now(UTC).date())),
    ]
    view = state.watch.look()
    if view.every:
        said.append(f"This is a large study, so these numbers are updated about every {view.every:.0f} s.")
    return {
        "view": arrange(view, sort, find),
        "now": time_tag(now),
        "links": links,
        "paused": bool(state.store.setting(PAUSED)),
        "changes": [one for one in said if one],
        "crowd": crowd.crowd_counts(state.design),
        "to_all": to_all[::-1],
        "judges": bool(state.design.study.judge_names),
        "choices": report_choices(state.design.study),
        "blind_ended": None if ended is None else Moment(ended, now - ended),
        "folder": state.design.study.folder.name,
        "lead_link": "" if reads else f"{base.rstrip('/')}/lead/join/{state.signer.lead_token()}",
        "leads": []
        if reads
        else [
            (name, role, f"{base.rstrip('/')}/lead/join/{state.signer.lead_token(name)}")
            for name, role in invitations.further_leads(state.store).items()
        ],
        "decided": len(view.disputed & decided),
        "sort": sort,
        "find": find,
        "found_items": _sorted_items(state, find) if find else [],
        "entrance": f"{base.rstrip('/')}/enter",
    }


def _sorted_items(state: AppState, find: str) -> list[str]:
    """The items that a search finds, in the order of their file."""
    found = find_items(state.store, find)
    return [name for part in state.design.parts for name in part.names if name in found]


SORTS: dict[str, Callable[[PersonRow], Any]] = {
    "name": lambda one: one.name.lower(),
    "done": lambda one: -one.done,
    "time": lambda one: math.inf if one.minutes is None else one.minutes,
    "checks": lambda one: -one.checks_failed,
    "flags": lambda one: -one.flags,
    "last": lambda one: -(one.last.at if one.last else 0.0),
}
"""Sort keys of the table of annotators, in addition to the order of invitations."""


def arrange(view: Overview, sort: str, find: str) -> Overview:
    """Sort the annotators; keep those whose name or attributes contain the search words, and matching remarks."""
    words = find.lower()
    people = [one for one in view.people if words in f"{one.name} {dict(one.attributes)}".lower()]
    remarks = [one for one in view.remarks if words in f"{one.person} {one.item} {one.flag} {one.comment}".lower()]
    people = sorted(people, key=SORTS[sort]) if sort in SORTS else people
    return replace(view, people=tuple(people), remarks=tuple(remarks))


def _judge_distance(one: ItemProgress) -> float:
    """The distance of the farthest judge from the annotators; −1 without labels of both."""
    return -1.0 if one.judged is None or one.judged.distance is None else one.judged.distance


ITEM_SORTS: dict[str, Callable[[ItemProgress], Any]] = {
    "answers": lambda one: one.answered,
    "spread": lambda one: math.inf if one.spread is None else -one.spread,
    "skips": lambda one: -one.skipped,
    "remarks": lambda one: -one.remarks,
    "time": lambda one: -(one.seconds or 0.0),
    "judges": lambda one: -_judge_distance(one),
}
"""Sort keys of the table of items, in addition to the order of their file: fewest answers, then the largest first."""

ITEM_FILTERS: dict[str, tuple[str, Callable[[ItemProgress], bool]]] = {
    "disagreement": ("Disagreement", lambda one: bool(one.spread)),
    "undecided": ("Disagreement, not adjudicated", lambda one: bool(one.spread) and not one.adjudicated),
    "unexplained": ("Disagreement without a reason", lambda one: bool(one.spread) and not one.reason),
    "skipped": ("Skipped", lambda one: one.skipped > 0),
    "remarks": ("With flags or comments", lambda one: one.remarks > 0),
    "unanswered": ("Without answers", lambda one: not one.answered),
    "judges": ("A judge differs more than annotators", lambda one: _judge_distance(one) > (one.spread or 0.0)),
}
"""Filters of the table of items: words and condition."""

ITEMS_A_PAGE = 100
"""Rows of the table of items on one page."""


def find_items(store: Store, words: str) -> set[str]:
    """Return the items whose id or one of whose texts contains some words; upper and lower case are the same."""
    words = words.casefold()
    found = set()
    for role in ("item", "triplet"):
        for item, _digest in items(store, role):
            texts = (item.name, *(v if isinstance(v, str) else canonical(v) for v in item.fields.values()))
            if any(words in text.casefold() for text in texts):
                found.add(item.name)
    return found


@router.get("/items")
def items_page(
    state: Shared,
    sort: Named = "",
    show: Named = "",
    find: Named = "",
    page: Annotated[int, Query(ge=1, le=BIGGEST)] = 1,
) -> Response:
    """The table of items."""
    rows = list(state.watch.items())
    with state.store.reading() as db:
        blind = ended_blind_phase(db) is None
    filters = {name: one for name, one in ITEM_FILTERS.items() if not (blind and name == "judges")}
    counts = {name: sum(map(wanted, rows)) for name, (_words, wanted) in filters.items()}
    if show in ITEM_FILTERS:
        rows = [one for one in rows if ITEM_FILTERS[show][1](one)]
    if find.strip():
        named = find_items(state.store, find.strip())
        rows = [one for one in rows if one.name in named]
    rows = sorted(rows, key=ITEM_SORTS[sort]) if sort in ITEM_SORTS else rows
    pages = max(1, math.ceil(len(rows) / ITEMS_A_PAGE))
    page = min(page, pages)
    return state.page(
        "lead_items.html",
        reasons=REASONS,
        rows=rows[(page - 1) * ITEMS_A_PAGE : page * ITEMS_A_PAGE],
        number=len(rows),
        filters={name: (words, counts[name]) for name, (words, _) in filters.items()},
        blind=blind,
        report=None if blind else report_on_desk(state),
        sort=sort,
        show=show,
        find=find.strip(),
        at=page,
        pages=pages,
    )


@router.get("/item")
def item_page(name: Named, state: Shared) -> Response:
    """One item and all its answers."""
    sheet = item_sheet(state.design, name)
    if sheet is None:
        raise Refused(404, "There is no such item", f"The study has no item '{name}'.")
    reason = state.watch.reasons().get(name, "")
    choices = report_choices(state.design.study)
    return state.page("lead_item.html", sheet=sheet, reasons=REASONS, reason=reason, choices=choices)


@router.get("/person")
def person_page(name: Named, state: Shared) -> Response:
    """One annotator and their answers."""
    sheet = person_sheet(state.design, name, state.watch.minutes())
    if sheet is None:
        raise Refused(404, "There is no such annotator", f"No annotator is called '{name}'.")
    with state.store.reading() as db:
        person = store_people.find(db, name)
        sent = messages.messages(db, name, 0.0 if person is None else person.invited_at)
        now = state.store.now(db)
    compared = state.watch.compared()
    return state.page(
        "lead_person.html",
        sheet=sheet,
        person=person,
        compared=compared,
        sent=[(one, Moment(one.at, now - one.at)) for one in reversed(sent)],
        least=LEAST_PEOPLE,
        fewest=FEWEST_COMPARED,
    )


@router.get("/preview")
def preview(state: Shared) -> Response:
    """The first pages as an annotator sees them; without a script, so that nothing is sent or saved."""
    try:
        pages = preview_pages(state.design)
    except AssayError as error:
        raise Refused(422, "There is no preview", str(error)) from None
    people = state.design.people
    texts: dict[str, Any] = {"consent": people.consent, "instructions": people.instructions}
    return state.page("lead_preview.html", pages=pages, guide_at="/lead/guide", **texts)


@router.get("/guide/{number}")
def guide_picture(number: Annotated[int, Field(ge=0, le=1000)], state: Shared) -> Response:
    """A picture of the preview's instructions or guidelines."""
    return served_guide_picture(state.design, number)


@router.post("/blind")
def end_blind_phase(state: Shared, item: Words = "") -> Response:
    """End the blind phase: from now on the dashboard shows the answers of judges."""
    _record(state.store, "blind phase ended")
    return _to_item(item) if item else _back()


@router.get("/log")
def log_page(state: Shared) -> Response:
    """What the study lead did."""
    with state.store.reading() as db:
        now, done = state.store.now(db), events(db, MOST_EVENTS)
    rows = [(one, Moment(one.at, now - one.at)) for one in done]
    return state.page("lead_log.html", rows=rows, most=MOST_EVENTS)


# -- settings of the running study -------------------------------------------------------------------


@router.get("/settings")
def settings_page(state: Shared) -> Response:
    """The settings that can be changed while the study runs, and the items."""
    design = state.design
    wanted = design.people.per_item
    role: Role = "source" if design.study.systems else "item"
    file = design.study.config.items.file
    with state.store.reading() as db:
        now = state.store.now(db)
    return state.page(
        "lead_settings.html",
        people=design.people,
        until=setting_words(design, "until") if design.people.until is not None else "",
        example=datetime.fromtimestamp(now + 7 * 86400, UTC).strftime("%Y-%m-%dT18:00Z"),
        right_now=datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        overlap=wanted if isinstance(wanted, dict) else {"": wanted},
        questions=[one.definition for one in design.questions],
        n_items=design.n_items,
        columns=[design.study.config.items.id, *next(iter(items(state.store, role)))[0].fields],
        systems=bool(design.study.systems),
        file=file,
        formats=next((some for some in EXTENDABLE if Path(file).suffix in some), ()),
    )


@router.post("/settings/preview")
def preview_settings(
    key: Annotated[EditKey, Form()],
    state: Shared,
    value: Setting = "",
    of: Words = "",
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """The consequences of a change; nothing is changed."""
    if file is not None and file.filename:
        of = file.filename
        try:
            value = file.file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refused(422, "This cannot be done", f"{of} is not text in UTF-8; save it as csv or jsonl.") from None
    with _refuse_in_words():
        found = preview_edit(state.design, StudyEdit(key, answers.clean(value), answers.clean(of)))
    return state.page("lead_edit.html", found=found)


@router.post("/settings")
def change_settings(
    key: Annotated[EditKey, Form()],
    seen: Words,
    state: Shared,
    value: Setting = "",
    of: Words = "",
    changed: Annotated[Changed | Literal[""], Form()] = "",
) -> Response:
    """Change the study."""
    edit = StudyEdit(key, answers.clean(value), answers.clean(of))
    try:
        with _refuse_in_words():
            apply_edit(state.design, edit, seen, changed or None, acting.get().name)
    except StaleEditError as error:
        raise Refused(409, "The study has changed", str(error)) from None
    return RedirectResponse("/lead/log", 303)


MOST_EVENTS = 500
"""Events that the page lists, the newest first; all are in the record."""


# -- actions of the study lead ----------------------------------------------------------------------


@router.post("/people")
def add(name: Words, state: Shared, attributes: Words = "") -> Response:
    """Invite an annotator."""
    with _refuse_in_words():
        given = invitations.read_attributes(answers.clean(attributes))
        invitations.invite(state.design, answers.clean(name), given)
    _record(state.store, "invited", person=answers.clean(name))
    return _back()


STATES: Mapping[store_people.State, What] = {"active": "resumed", "paused": "paused", "revoked": "link ended"}
"""The event of each state of an annotator."""


@router.post("/people/state")
def set_state(name: Words, state: Annotated[store_people.State, Form()], shared: Shared, back: Words = "") -> Response:
    """Set the state of an annotator: active, paused or revoked."""
    with _refuse_in_words():
        store_people.set_state(shared.store, answers.clean(name), state)
    _record(shared.store, STATES[state], person=answers.clean(name))
    return _to_person(name) if back else _back()


@router.post("/people/exclude")
def exclude(name: Words, state: Shared, reason: Words = "", back: Words = "") -> Response:
    """Exclude an annotator's answers."""
    with _refuse_in_words():
        store_people.exclude(state.store, answers.clean(name), answers.clean(reason).strip())
    _record(state.store, "excluded", person=answers.clean(name), reason=answers.clean(reason).strip())
    return _to_person(name) if back else _back()


@router.post("/people/readmit")
def readmit(name: Words, state: Shared, back: Words = "") -> Response:
    """Include the answers of an excluded annotator again."""
    with _refuse_in_words():
        store_people.readmit(state.store, answers.clean(name))
    _record(state.store, "included", person=answers.clean(name))
    return _to_person(name) if back else _back()


@router.post("/people/link")
def new_link(name: Words, state: Shared) -> Response:
    """Replace an annotator's link with a new one."""
    with _refuse_in_words():
        store_people.new_link(state.store, answers.clean(name))
    _record(state.store, "new link", person=answers.clean(name))
    return _back()


@router.post("/link")
def renew_own_link(state: Shared) -> Response:
    """Replace the study lead's link; the old link and the browsers that used it lose access."""
    invitations.renew_lead_link(state.store)
    _record(state.store, "new lead link")
    return state.admit("/lead", LEAD_COOKIE, state.signer.lead_token())


@router.post("/study")
def pause(state: Annotated[Literal["open", "paused"], Form()], shared: Shared) -> Response:
    """Pause the study, or open it again."""
    with _refuse_in_words():
        shared.store.set(PAUSED, state == "paused")
    _record(shared.store, "study paused" if state == "paused" else "study open")
    return _back()


@router.post("/reopen")
def reopen(
    task: Annotated[int, Form(ge=1, le=BIGGEST)], state: Shared, words: Words = "", item: Words = ""
) -> Response:
    """Return an answered item to the annotator who answered it, with the study lead's words."""
    try:
        with _refuse_in_words():
            answers.reopen(state.assigner, task, answers.clean(words).strip())
    except UnknownTaskError:
        raise Refused(404, "There is no such answer", "The item is not answered, or was reopened.") from None
    _record(state.store, "reopened", task=task, item=answers.clean(item), words=answers.clean(words).strip())
    return _to_item(item) if item else _back()


@router.post("/messages")
def write_message(
    words: Words, state: Shared, name: Words = "", item: Words = "", about: Words = "", back: Words = ""
) -> Response:
    """Send a message to an annotator, or to all of them without a name."""
    said, person = answers.clean(words).strip(), answers.clean(name)
    if not said:
        raise Refused(422, "This cannot be done", "The message is empty.")
    with _refuse_in_words(), state.store.exclusive() as db:
        if person and store_people.find(db, person) is None:
            raise StudyError(f"no annotator is called '{person}'")
        about_what = {"item": answers.clean(item) or None, "about": answers.clean(about) or None}
        messages.add_message(db, said, state.store.now(db), person=person or None, **about_what)
    _record(state.store, "message", person=person, item=answers.clean(item), words=said)
    return _to_person(person) if back and person else _back()


@router.post("/reason")
def give_reason(
    item: Words, state: Shared, reason: Annotated[DisagreementReason | Literal[""], Form()] = ""
) -> Response:
    """Record why annotators disagree on an item; an empty reason removes the record."""
    with state.store.exclusive() as db:
        if item not in items_named(db, [item]):
            raise Refused(404, "There is no such item", f"The study has no item '{item}'.")
        state.watch.set_reason(item, reason)
    _record(state.store, "reason", item=item, reason=REASONS.get(reason, "none"))
    return _to_item(item)


@router.post("/adjudicators")
def add_adjudicator(name: Words, state: Shared) -> Response:
    """Invite an adjudicator."""
    with _refuse_in_words():
        invitations.invite_adjudicator(state.design, answers.clean(name))
    _record(state.store, "adjudicator", person=answers.clean(name))
    return _back()


def _record(store: Store, what: What, **about: Any) -> None:
    """Record what a lead did; the study lead has no name."""
    record_event(store, what, **about, by=acting.get().name)


@router.post("/leads")
def add_lead(name: Words, state: Shared, role: Annotated[invitations.LeadRole, Form()] = "lead") -> Response:
    """Make a link to the dashboard for a further lead or a reader; an earlier link of the same name ends."""
    with _refuse_in_words():
        invitations.set_lead(state.store, answers.clean(name), role)
    _record(state.store, "new lead link", lead=answers.clean(name), words=role)
    return _back()


@router.post("/leads/end")
def end_lead(name: Words, state: Shared) -> Response:
    """End the link of a further lead."""
    with _refuse_in_words():
        invitations.set_lead(state.store, answers.clean(name), None)
    _record(state.store, "lead link ended", lead=answers.clean(name))
    return _back()


@contextmanager
def _refuse_in_words() -> Iterator[None]:
    """Turn an error into a page with its message."""
    try:
        yield
    except StaleEditError:
        raise
    except AssayError as error:
        raise Refused(422, "This cannot be done", str(error)) from None


def _to_item(item: str) -> Response:
    return RedirectResponse(f"/lead/item?name={quote(item, safe='')}", 303)


def _to_person(name: str) -> Response:
    return RedirectResponse(f"/lead/person?name={quote(answers.clean(name), safe='')}", 303)


def _back() -> Response:
    return RedirectResponse("/lead", 303)


# -- downloads --------------------------------------------------------------------------------------


@router.get("/labels.csv")
def labels(state: Shared) -> Response:
    """The labels as a table."""
    try:
        table = labels_csv(state.store)
    except StudyError as error:
        raise Refused(404, "There is nothing to download yet", str(error)) from None
    return _download(table, "labels.csv", "text/csv; charset=utf-8")


@router.get("/person.zip")
def of_person(name: Named, state: Shared) -> Response:
    """All records of one person, for a request for access to personal data."""
    with _refuse_in_words():
        person = store_people.invited_person(state.store, answers.clean(name))
    return _download(archive(state.store, person.name), "person.zip", "application/zip")


@router.get("/pay.csv")
def pay(state: Shared) -> Response:
    """Each person's work and payment."""
    with _refuse_in_words():
        table = crowd.pay_table(state.design)
    return _download(table.write_csv().encode(), "pay.csv", "text/csv; charset=utf-8")


@router.get("/pay-{form}.csv")
def pay_on_platform(form: crowd.PlatformForm, state: Shared) -> Response:
    """The payments as a platform takes them."""
    with _refuse_in_words():
        content = crowd.platform_file(state.design, form)
    return _download(content.encode(), f"{form}.csv", "text/csv; charset=utf-8")


@router.get("/answers.zip")
def everything(state: Shared) -> Response:
    """The whole record."""
    return _download(archive(state.store), "answers.zip", "application/zip")


@router.get("/items.csv")
def items_csv(state: Shared) -> Response:
    """The table of items."""
    import polars as pl

    rows = state.watch.items()
    names = [name for name in ItemProgress.__dataclass_fields__ if name != "judged"]
    columns: dict[str, list[Any]] = {name: [getattr(one, name) for one in rows] for name in names}
    if any(one.judged for one in rows):
        said = [one.judged.labels if one.judged else () for one in rows]
        columns["judges"] = ["; ".join(f"{judge}: {label}" for judge, label in some) for some in said]
        columns["judge_distance"] = [one.judged.distance if one.judged else None for one in rows]
    return _download(pl.DataFrame(columns, strict=False).write_csv().encode(), "items.csv", "text/csv; charset=utf-8")


@router.get("/adjudicated.csv")
def adjudicated(state: Shared) -> Response:
    """The adjudicated labels as a table."""
    return _download(adjudicated_csv(state.store), "adjudicated.csv", "text/csv; charset=utf-8")


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
