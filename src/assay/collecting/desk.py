"""The lead's desk: one item with all its answers, one person with all of theirs, and what the answers differ on.

Adjudicators decide between the answers of others: they are given the items on which people differ, those first on which
they differ most, with the answers but not whose they are. What they say is kept as theirs, beside all others.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Form, Query, Response
from fastapi.responses import RedirectResponse

from assay.collecting import answers, invitations
from assay.collecting.answers import LONGEST_WORDS
from assay.collecting.assignment import failed_checks
from assay.collecting.design import Asked, StudyDesign, is_wrong
from assay.collecting.people import preview_pages
from assay.collecting.serving import Refused, Shared, lead
from assay.data.scales import Label, RankedTexts, Scale
from assay.errors import AssayError
from assay.study.items import canonical
from assay.study.schema import kind_of, scale_of
from assay.study.store import people as store_people
from assay.study.store import table
from assay.study.store.connection import Connection, Store
from assay.study.store.items import items_named
from assay.study.store.people import ADJUDICATOR, everybody

JUDGES_SHOWN = "judges shown to the lead"
"""Setting: whether the lead's pages show what judges answered. Off at first, as a lead may answer too."""

FEWEST_ITEMS = 5
"""With fewer items that others answered too, nothing is said of a person's agreement with them."""


# -- one item ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerLine:
    """One answer to one question of an item, as the lead reads it."""

    who: str
    kind: str
    question: str
    answer: str
    condition: str
    repeat: int
    seconds: float | None
    remarks: tuple[str, ...]
    counts: bool


@dataclass(frozen=True)
class ItemSheet:
    """An item, and what was answered about it."""

    name: str
    fields: tuple[tuple[str, str], ...]
    lines: tuple[AnswerLine, ...]
    judges_hidden: int
    """Answers of judges that are there and not shown."""


def item_sheet(design: StudyDesign, name: str) -> ItemSheet | None:
    """What is known of an item; None where the study has none of this name."""
    with design.store.reading() as db:
        found = items_named(db, [name]).get(name)
        if found is None:
            return None
        rows = table.answers_about(db, item=name)
        judges = bool(design.store.setting(JUDGES_SHOWN))
    lines = tuple(_line(design, row, found.fields) for row in rows if judges or row.kind == "human")
    fields = tuple(
        (column, value if isinstance(value, str) else canonical(value)) for column, value in found.fields.items()
    )
    return ItemSheet(name, fields, lines, 0 if judges else sum(row.kind == "judge" for row in rows))


def _line(design: StudyDesign, row: Any, fields: Mapping[str, Any]) -> AnswerLine:
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
    )


def _answer(design: StudyDesign, row: Any, fields: Mapping[str, Any]) -> str:
    """An answer as the lead reads it: of a list its names, of spans their words."""
    one = next((q.definition for q in design.questions if q.id == row.question), None)
    if one is None or not one.kind.lists:
        return _words(row.label)
    scale = scale_of(one.scale)
    if isinstance(scale, RankedTexts):
        return " > ".join(one.options[scale.names.index(letter)] for letter in scale.chosen(row.label) or ())
    return answers.answer_words(Asked(row.question, one, scale), row.label, (), one.marked_text(fields))


def _words(label: Label | None) -> str:
    return "" if label is None else f"{label:g}" if isinstance(label, float) else str(label)


# -- one person --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuestionStyle:
    """How a person answers one question, and how all others do.

    Attributes
    ----------
    shares : tuple of (label, share of theirs, share of everybody else's)
        Empty for free text and for numbers with fractions.
    run, of : int
        The longest row of equal answers one after the other, and how many they gave.
    agree, low, high : float, optional
        Of the answers of others to the same items, the share that is theirs too, with its 95% interval over items (on
        scales with fractions: within a tenth of the range). None with fewer than `FEWEST_ITEMS` items.
    others : float, optional
        The same share among the others, on these items.
    items : int
        Items that others answered too.
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
    """What one person did."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    quartiles: tuple[float, float, float] | None
    """Seconds on an item: a quarter took less, half, three quarters."""
    everybody_median: float | None
    checks_failed: int
    checks: int
    styles: tuple[QuestionStyle, ...]
    lines: tuple[tuple[str, AnswerLine], ...]
    """(item, answer), the newest first; the first hundred."""


MOST_LINES = 100


def person_sheet(design: StudyDesign, name: str, minutes: Mapping[str, float]) -> PersonSheet | None:
    """What is known of how a person answers; None where nobody of this name is invited.

    Parameters
    ----------
    minutes : dict
        Median minutes on an item, by person, see `assay.collecting.overview.Watch.minutes`.
    """
    with design.store.reading() as db:
        person = store_people.find(db, name)
        if person is None:
            return None
        rows = table.answers_about(db, person=name)
        checks = failed_checks(design, db).get(name, [])
        styles = tuple(_styles(design, db, name, rows))
        shown = rows[-MOST_LINES:]
        fields = {item: found.fields for item, found in items_named(db, {row.item for row in shown}).items()}
    seconds = sorted({(row.item, row.repeat, row.condition): row.seconds for row in rows if row.seconds}.values())
    quartiles = tuple(statistics.quantiles(seconds, n=4, method="inclusive")) if len(seconds) > 1 else None
    others = [value for other, value in minutes.items() if other != name]
    lines = tuple((row.item, _line(design, row, fields.get(row.item, {}))) for row in reversed(shown))
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
        mine = {(row.item, row.condition): row.label for row in reversed(theirs)}  # the first, where there are two
        others: dict[tuple[str, str], dict[str, Label]] = {}
        for row in table.human_answers(db, [question.id]):
            if row.annotator != name:
                others.setdefault((row.item, row.condition), {}).setdefault(row.annotator, row.label)
        if theirs:
            given = [row.label for row in theirs]
            rest = {place: list(some.values()) for place, some in others.items()}
            yield _style(question.definition.name, scale, given, mine, rest)


def _style(
    name: str, scale: Scale, given: Sequence[Label], mine: Mapping[Any, Label], others: Mapping[Any, Sequence[Label]]
) -> QuestionStyle:
    from assay.estimation.intervals import wilson

    both = [place for place in mine if others.get(place)]
    agree = low = high = among = None
    if len(both) >= FEWEST_ITEMS:
        # A share of shares: each item is one trial at most, which makes the interval wide rather than narrow.
        agree = statistics.fmean(_share_alike([(mine[place], one) for one in others[place]], scale) for place in both)
        low, high = (float(end) for end in wilson(np.array(agree), len(both)))
        pairs = [list(combinations(others[place], 2)) for place in both if len(others[place]) > 1]
        among = statistics.fmean(_share_alike(some, scale) for some in pairs) if pairs else None
    labels = [] if scale.kind == "interval" else list(scale.categories or ())
    theirs, rest = Counter(given), Counter(label for some in others.values() for label in some)
    shares = tuple((_words(c), theirs[c] / len(given), rest[c] / max(rest.total(), 1)) for c in labels)
    return QuestionStyle(name, shares, _longest_run(given), len(given), agree, low, high, among, len(both))


def _share_alike(pairs: Sequence[tuple[Label, Label]], scale: Scale) -> float:
    return statistics.fmean(not is_wrong(one, other, scale, scale) for one, other in pairs)


def _longest_run(labels: Sequence[Label]) -> int:
    """How many equal labels follow one another at most."""
    longest = now = 0
    before: Any = object()
    for label in labels:
        now = now + 1 if label == before else 1
        longest, before = max(longest, now), label
    return longest


# -- adjudication ------------------------------------------------------------------------------------


def adjudicated_csv(store: Store) -> bytes:
    """The outcomes: item, criterion, label, who decided; those of an item in the order in which they came."""
    import polars as pl

    with store.reading() as db:
        people = [person.name for person in everybody(db) if person.role == ADJUDICATOR]
        rows = [row for name in people for row in table.answers_about(db, person=name) if row.status == "valid"]
    columns = ("item", "criterion", "label", "annotator", "comment")
    found = {c: [_words(row.label) if c == "label" else getattr(row, c) for row in rows] for c in columns}
    return pl.DataFrame(found, schema=dict.fromkeys(columns, pl.String)).write_csv().encode()


# -- the routes --------------------------------------------------------------------------------------

router = APIRouter(prefix="/lead", dependencies=[Depends(lead)])

Words = Annotated[str, Form(max_length=LONGEST_WORDS)]
Named = Annotated[str, Query(max_length=LONGEST_WORDS)]


@router.get("/item")
def item_page(name: Named, state: Shared) -> Response:
    """One item, and every answer to it."""
    sheet = item_sheet(state.design, name)
    if sheet is None:
        raise Refused(404, "There is no such item", f"The study has no item '{name}'.")
    shown = bool(state.store.setting(JUDGES_SHOWN))
    return state.page("lead_item.html", sheet=sheet, judges_shown=shown)


@router.get("/person")
def person_page(name: Named, state: Shared) -> Response:
    """One person, and how they answer."""
    sheet = person_sheet(state.design, name, state.watch.minutes())
    if sheet is None:
        raise Refused(404, "There is no such person", f"Nobody called '{name}' is invited.")
    return state.page("lead_person.html", sheet=sheet)


@router.get("/preview")
def preview(state: Shared) -> Response:
    """The study as a person sees it first; without a script, so that nothing of it is sent or kept."""
    try:
        pages = preview_pages(state.design)
    except AssayError as error:
        raise Refused(422, "There is no preview", str(error)) from None
    people = state.design.people
    return state.page("lead_preview.html", pages=pages, consent=people.consent, instructions=people.instructions)


@router.post("/judges")
def show_judges(shown: Annotated[Literal["yes", "no"], Form()], item: Words, state: Shared) -> Response:
    """Show the lead what judges answered, or no longer."""
    from urllib.parse import quote

    state.store.set(JUDGES_SHOWN, shown == "yes")
    return RedirectResponse(f"/lead/item?name={quote(item, safe='')}", 303)


@router.post("/adjudicators")
def add_adjudicator(name: Words, state: Shared) -> Response:
    """Invite somebody to decide between the answers of others."""
    try:
        invitations.invite_adjudicator(state.design, answers.clean(name))
    except AssayError as error:
        raise Refused(422, "This cannot be done", str(error)) from None
    return RedirectResponse("/lead", 303)


@router.get("/adjudicated.csv")
def adjudicated(state: Shared) -> Response:
    """What was decided."""
    headers = {"Content-Disposition": 'attachment; filename="adjudicated.csv"'}
    return Response(adjudicated_csv(state.store), media_type="text/csv; charset=utf-8", headers=headers)
