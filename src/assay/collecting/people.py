"""The routes of the annotation page: from the personal link to the last answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from markupsafe import Markup
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from assay.collecting import answers, crowd
from assay.collecting.answers import (
    LONGEST_WORDS,
    ClosedError,
    InvalidAnswerError,
    NewerAnswerError,
    Submission,
    TooLateError,
    UnknownTaskError,
)
from assay.collecting.assignment import End, HeldPages, progress
from assay.collecting.design import Session, StudyDesign
from assay.collecting.forms import (
    Clip,
    FormField,
    GivenAnswers,
    PageForm,
    TaskForm,
    item_fields,
    question_form,
)
from assay.collecting.languages import Catalogue, Said, languages
from assay.collecting.questionnaire import Questionnaire, keep_reply, questionnaire, read_reply
from assay.collecting.serving import (
    BIGGEST,
    LANGUAGE_COOKIE,
    PERSON_COOKIE,
    AppState,
    FormAnswers,
    Id,
    Invited,
    Participant,
    Refused,
    Shared,
    person,
    person_of,
    time_tag,
)
from assay.errors import StudyError
from assay.study.checks import CAPTIONS, IMAGES, MEDIA, is_allowed_address, media_kind
from assay.study.items import Item, chance, file_within
from assay.study.schema import IDLE_SECONDS, SKIP_REASONS, Language
from assay.study.store import people as store_people
from assay.study.store.answers import answers_by
from assay.study.store.connection import Connection
from assay.study.store.items import items_given, items_named
from assay.study.store.messages import messages
from assay.study.store.people import (
    ADJUDICATOR,
    Person,
    Task,
    closed_up_to,
    drafts_of,
    is_closed,
    task_by_id,
    tasks_on_pages,
    visit_of,
)
from assay.study.store.table import human_answers

# -- Pages of an annotator -------------------------------------------------------------------------


def pages_of(design: StudyDesign, person: Person, numbers: Sequence[int]) -> list[PageForm]:
    """Return pages of a person by number, without pages that they do not have and closed tasks."""
    with design.store.reading() as db:
        closed = closed_up_to(db, person.name)
        tasks = [task for task in tasks_on_pages(db, person.name, numbers) if not is_closed(task, closed)]
        given = _answers_by_task(db, person, tasks)
        drafts = drafts_of(db, [task.id for task in tasks])
    items = items_given(design.store, ((task.item, task.shown["item"]) for task in tasks))
    found: dict[int, list[TaskForm]] = {}
    for task in tasks:
        item = items[task.item, task.shown["item"]]
        form = _task_form(
            design,
            task,
            item,
            given.get(task.id, GivenAnswers({})),
            drafts.get(task.id),
        )
        if person.role == ADJUDICATOR:
            form = replace(form, fields=form.fields + _blinded_answers(design, task, item))
        found.setdefault(task.page, []).append(form)
    return [_page(number, found[number]) for number in numbers if number in found]


PREVIEWED = 3
"""Number of pages in the study lead's preview."""


def preview_pages(design: StudyDesign) -> list[PageForm]:
    """Return the first pages of a new annotator, without images; nothing is stored.

    Raises
    ------
    StudyError
        If triplets are drawn while annotators answer, so that there are none yet.
    """
    if not design.listed:
        raise StudyError("triplets are drawn while annotators answer, so there is no preview; invite yourself instead")
    shown = {session.part: session for session in reversed(design.sessions("")) if session.part in design.listed}
    each = -(-PREVIEWED // len(shown))
    pages: list[PageForm] = []
    for session in reversed(shown.values()):
        part = session.part
        names = islice(part.pages(part.order("", session.condition)), each)
        pages += _previewed(design, session, names, len(pages) + 1)
    return pages


def _previewed(design: StudyDesign, session: Session, names: Iterable[list[str]], start: int) -> list[PageForm]:
    """Pages of a session with these items, numbered from ``start``."""
    pages = []
    for number, group in enumerate(names, start=start):
        items = items_named(design.store, group)
        forms = []
        for place, name in enumerate(group, start=1):
            shown = {"order": session.part.orders("", name, session.condition, 1)}
            about = {"id": 1000 * number + place, "place": place, "page": number, "state": "given", "shown": shown}
            asked = {"questions": session.part.asked_now, "condition": session.condition, "role": "item", "party": ""}
            task = SimpleNamespace(item=name, **about, **asked)
            forms.append(_task_form(design, task, items[name], GivenAnswers({}), None))
        pages.append(_page(number, forms))
    return pages


def file_of(design: StudyDesign, person: Person, task: int, number: int) -> Path | None:
    """Return the file of an image, a recording or captions that a person is shown; None if there is none."""
    with design.store.reading() as db:
        row = task_by_id(db, task, person.name)
    if row is None:
        return None
    (found,) = items_given(design.store, [(row.item, row.shown["item"])]).values()
    columns = design.item_files(found)
    if not 0 <= number < len(columns):
        return None
    return file_within(design.study.folder, str(found.fields[columns[number]]))


def _page(number: int, tasks: Sequence[TaskForm]) -> PageForm:
    """A page; fields that are equal in all its tasks are shown once, above them."""
    if len(tasks) == 1:
        return PageForm(number, (), tuple(tasks))
    shared = tuple(
        f for f in tasks[0].fields if not (f.image or f.recording) and all(f in task.fields for task in tasks)
    )
    rest = (TaskForm(**{**vars(t), "fields": tuple(f for f in t.fields if f not in shared)}) for t in tasks)
    return PageForm(number, shared, tuple(rest))


def _task_form(
    design: StudyDesign, task: Task, item: Item, given: GivenAnswers, draft: Mapping[str, Any] | None
) -> TaskForm:
    asked = design.questions_of(task)
    images = _addresses(design, task, item)
    markdown = design.study.config.items.markup
    questions = tuple(
        question_form(
            *(one, item, task.shown["order"].get(str(one.id), ()), images),
            *(given.labels.get(one.id), markdown, given.ties.get(one.id)),
        )
        for one in asked
    )
    fields: tuple[FormField, ...] = item_fields(asked, item, design.hidden, images, markdown)
    return TaskForm(
        *(task.id, task.place, fields, questions, given.revision),
        state="open" if task.state == "given" else task.state,
        practice=task.role == "warm-up",
        again=task.role == "warm-up" and task.repeat > 1,
        skipped=given.skipped if task.state == "skipped" else "",
        comment=given.comment,
        flag=given.flag,
        draft=draft,
        note=given.note if task.state == "reopened" else "",
    )


def _addresses(design: StudyDesign, task: Task, item: Item) -> dict[str, str]:
    """By column, the address of an image or a recording."""
    part = design.study.config.items
    found = {column: f"/images/{task.id}/{n}" for n, column in enumerate(design.item_files(item))}
    for column in part.media:
        name = str(item.fields.get(column))
        if column in found and (kind := media_kind(name)) is not None:
            address = name if is_allowed_address(name, part.media_hosts) else found[column]
            found[column] = Clip(address, kind, found.get(part.captions.get(column, "")))
    return found


def _blinded_answers(design: StudyDesign, task: Task, item: Item) -> tuple[FormField, ...]:
    """The answers of others, each annotator under the same letter in all questions, in random order."""
    found = []
    with design.store.reading() as db:
        every = human_answers(db, json.loads(task.questions), item=task.item)
    rows = [row for row in every if row.condition == task.condition]
    people = sorted({row.annotator for row in rows})
    chance(design.people.seed, "adjudication", task.item).shuffle(people)
    for one in design.asked(task.questions, task.condition):
        given: dict[str, Any] = {}
        for row in rows:
            if row.question == one.id:
                given.setdefault(row.annotator, row.label)
        order, text = task.shown["order"].get(str(one.id), []), one.definition.marked_text(item.fields)
        lines = [
            f"{_letters(place)}: {answers.answer_words(one, given[name], order, text)}"
            for place, name in enumerate(people)
            if name in given
        ]
        found.append(
            FormField(Said("Answers of others to {question}", question=one.definition.name), text="\n".join(lines))
        )
    return tuple(found)


def _letters(place: int) -> str:
    """A, B, … Z, AA, AB, …"""
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _answers_by_task(db: Connection, person: Person, tasks: Iterable[Task]) -> dict[int, GivenAnswers]:
    """By task, the person's latest answer to each question."""
    place = {
        (task.item, task.condition, task.repeat, question): task.id
        for task in tasks
        for question in json.loads(task.questions)
    }
    if not place:
        return {}
    found: dict[int, GivenAnswers] = {}
    for row in answers_by(db, person.name, {key[0] for key in place}):
        task = place.get((row.item, row.condition, row.repeat, row.question))
        if task is None:
            continue
        before = found.get(task, GivenAnswers({}))
        label = row.label if row.status == "valid" else None
        skipped = (row.reason or "").removeprefix("skipped").removeprefix(": ") if row.status == "missing" else ""
        labels = {**before.labels, row.question: label}
        tie = (row.shown or {}).get("about", {}).get("tie")
        ties = {**before.ties, row.question: tie or ""}
        note = (row.reason or "").removeprefix(answers.REOPENED).removeprefix(": ") if row.status == "withdrawn" else ""
        remarks = (row.comment or "", row.flag or "", skipped)
        found[task] = GivenAnswers(labels, max(before.revision, row.revision), *remarks, ties, note)
    return found


# -- The routes ------------------------------------------------------------------------------------

_ENDS = {
    "done": (Said("You have finished"), Said("Everything is saved. Thank you! You can close this page.")),
    "paused": (
        Said("The study is paused"),
        Said("All your answers are saved. Come back to this link later."),
    ),
    "stopped": (
        Said("Thank you for your time"),
        Said(
            "All your answers are saved. You will not receive further items in this study; "
            "the study lead can explain why."
        ),
    ),
    "later": (
        Said("Session {number} of {of} is done"),
        Said("Everything is saved. The next session opens on {when}; come back to this link then."),
    ),
    "over": (
        Said("Your time for this study has ended"),
        Said("Answering ended on {when}. All answers that you saved before then are kept. Thank you!"),
    ),
    "asks": (
        Said("A few last questions"),
        Said("All items are answered. Please answer these questions to finish."),
    ),
    "empty": (
        Said("No items available right now"),
        Said(
            "Other annotators are working on the remaining items. "
            "Check again after {when}: items that they do not finish will be offered to you."
        ),
    ),
}
"""Why there are no further items: title and text."""

_LEAVING = ("over", *crowd.OUTCOMES)
"""Ends after which no remaining time is shown."""

_SKIP_REASONS: dict[str, Said] = {
    one: one
    for one in (
        Said("I cannot tell"),  # dialect: kept
        Said("The item is broken or unreadable"),
        Said("I would rather not answer"),
    )
}
"""Default reasons for skipping; the stored reason is the English text."""

router = APIRouter()


# -- request bodies -------------------------------------------------------------------------------

_Words = Annotated[
    str,
    BeforeValidator(lambda said: answers.clean(said) if isinstance(said, str) else said),
    Field(max_length=LONGEST_WORDS),
]
"""Free text of a person; a character that the length limit of a field cut in half is removed instead of refused."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AnswerBody(_Body):
    """An answer as the browser sends it."""

    task: Id
    key: str = Field(min_length=8, max_length=100, pattern=r"^[\w.:-]+$")
    revision: int = Field(ge=0, le=BIGGEST)
    labels: dict[str, Any] = Field(default_factory=dict, max_length=200)
    """Any value; the question's scale validates it."""
    skip: _Words | None = None
    comment: _Words = ""
    flag: _Words = ""
    seconds: float | None = Field(None, ge=0, le=1e6, allow_inf_nan=False)
    person: str = Field("", max_length=100)
    """The person of the page that sent it: links of two people can be open in one browser."""


class DraftBody(_Body):
    """A draft: any content that the script wants to restore."""

    revision: int = Field(ge=0, le=BIGGEST)
    body: dict[str, Any]


# -- links and consent ------------------------------------------------------------------------------


@router.get("/", dependencies=[Depends(person)])
def start() -> Response:
    """Redirect to the current page."""
    return RedirectResponse("/work", 303)


@router.get("/join/{token}")
def join(token: str, state: Shared, request: Request) -> Response:
    """The personal link, with its owner's name. The page's script continues automatically; link previews do not."""
    person = person_of(state, request, token)
    if state.token_in(request, PERSON_COOKIE) == token:
        return RedirectResponse("/work", 303)
    name = Markup("<strong><bdi>{}</bdi></strong>").format(person.name)
    return state.page("join.html", request=request, name_tag=name)


@router.post("/join/{token}")
def enter(token: str, state: Shared, request: Request) -> Response:
    """Store the personal link's token in a cookie."""
    person_of(state, request, token)
    return state.admit("/work", PERSON_COOKIE, token)


@router.get("/consent")
def consent(person: Invited, state: Shared, request: Request) -> Response:
    """Show the consent text."""
    people = state.design.people
    day = people.keep_until
    tag = day and Markup('<time datetime="{}">{}</time>').format(day.isoformat(), state.words(request).date(day))
    return state.page("consent.html", request=request, text=people.consent, day_tag=tag, person=person.name)


@router.post("/consent")
def agree(agree: Annotated[Literal["yes"], Form()], person: Invited, state: Shared) -> Response:
    """Record the person's consent."""
    design = state.design
    store_people.consent(state.store, person.name, design.consent_digest(), design.people.consent)
    return RedirectResponse("/work", 303)


# -- questions about the person ---------------------------------------------------------------------


@router.get("/questions")
def questions_page(person: Invited, state: Shared, request: Request) -> Response:
    """Show the questions to the person that have no answer yet."""
    asked = _asked_now(state, person)
    return RedirectResponse("/work", 303) if asked is None else _questions_page(state, request, person, asked)


@router.post("/questions")
def answer_questions(
    said: FormAnswers, number: Annotated[Id, Form()], person: Invited, state: Shared, request: Request
) -> Response:
    """Store the answers to the questions to the person; a form that was sent twice counts once."""
    with state.store.exclusive() as db:
        asked = _asked_now(state, person)
        if asked is None or asked.number != number:
            return RedirectResponse("/questions", 303)
        reply = read_reply(asked.questions, said)
        if reply.missing:
            return _questions_page(state, request, person, asked, said, reply.missing)
        keep_reply(state.design, db, person, asked, reply)
    return RedirectResponse("/questions", 303)


def _asked_now(state: AppState, person: Person) -> Questionnaire | None:
    """The questions that a person must answer before going on; None if there are none now."""
    if not state.has_agreed(person):
        return None
    held = crowd.hold(state, person, 0, 1)
    if held.end is None or held.end.kind != "asks":
        return None
    with state.store.reading() as db:
        before = questionnaire(state.design, db, person, "before")
        return before or questionnaire(state.design, db, person, "after")


def _questions_page(
    state: AppState,
    request: Request,
    person: Person,
    asked: Questionnaire,
    said: Mapping[str, str] = MappingProxyType({}),
    missing: Sequence[str] = (),
) -> Response:
    people = state.design.people
    checked = any(one.wrong for one in asked.questions)
    return state.page(
        "questions.html",
        422 if missing else 200,
        request=request,
        asked=asked,
        said=said,
        missing=missing,
        checked=checked,
        instructions=people.instructions if checked else "",
        may_leave=people.crowd is not None,
        person=person.name,
    )


# -- the language -----------------------------------------------------------------------------------

_HERE = r"^/([!-.0-\[\]-~][!-\[\]-~]*)?$"
"""An address on this server, to return to."""


@router.get("/language")
def language_page(
    state: Shared, request: Request, back: Annotated[str, Query(pattern=_HERE, max_length=4000)] = "/"
) -> Response:
    """Show the available languages."""
    if state.design.people.language is not None:
        return RedirectResponse(back, 303)
    return HTMLResponse(state.html("language.html", state.words(request), languages=languages(), to=back))


@router.post("/language")
def choose_language(
    language: Annotated[Language, Form()], back: Annotated[str, Form(pattern=_HERE, max_length=4000)]
) -> Response:
    """Store the chosen language in a cookie."""
    response = RedirectResponse(back, 303)
    response.set_cookie(LANGUAGE_COOKIE, language, max_age=365 * 86400, httponly=True, samesite="lax", path="/")
    return response


# -- answering --------------------------------------------------------------------------------------


@router.get("/work")
def work(person: Invited, state: Shared, request: Request) -> Response:
    """The person's current page and the following assigned pages."""
    return _work(state, request, person, None)


@router.get("/work/{number}")
def work_page(number: Id, person: Invited, state: Shared, request: Request) -> Response:
    """One page of the person and the following assigned pages."""
    return _work(state, request, person, number)


@router.get("/pages")
def pages(
    after: Annotated[int, Field(ge=0, le=BIGGEST)], person: Participant, state: Shared, request: Request
) -> Response:
    """The assigned pages after one, for the page's script."""
    held = crowd.hold(state, person, after, state.design.people.ahead)
    words = state.words(request)
    found = [
        {"number": one.number, "html": state.html("page.html", words, page=one)}
        for one in pages_of(state.design, person, held.pages)
    ]
    end = _end(state, person, held)
    if end is not None:
        end = {"kind": end["kind"], "html": state.html("end.html", words, end=end)}
    left = _seconds_left(state, person, held)
    content = {
        "left": left,
        "pages": found,
        "end": end,
        "progress": _progress(state, person, held),
        "session": _session(held, words),
        "messages": _messages(state, person),
    }
    return JSONResponse(content | {"person": state.name_in_browser(person), "closed": held.closed})


@router.post("/answers")
def answer(body: AnswerBody, person: Participant, state: Shared, request: Request) -> Response:
    """Save an answer; the response confirms that it is stored."""
    if body.person not in ("", state.name_in_browser(person)):
        text = "Another person's link was opened in this browser. Please open your own again."
        raise Refused(403, "This link does not open the page", text, error="other person")
    crowd.refuse_ended(state, person)
    words = state.words(request)
    try:
        saved = answers.save(state.assigner, person, Submission(**body.model_dump(exclude={"person"})))
    except UnknownTaskError:
        raise _no_such_item() from None
    except (ClosedError, TooLateError) as error:
        return JSONResponse({"error": "closed", "message": words.own(error.said)}, 409)
    except NewerAnswerError as error:
        (now,) = pages_of(state.design, person, [error.page])
        html = state.html("page.html", words, page=now)
        content = {"error": "newer", "message": words.own(error.said), "revision": error.revision, "html": html}
        return JSONResponse(content, 409)
    except InvalidAnswerError as error:
        wrong = {name: words.own(why) for name, why in error.questions.items()}
        return JSONResponse({"error": "invalid", "message": words.own(error.said), "questions": wrong}, 422)
    feedback = saved.feedback and [{name: words.own(value) for name, value in one.items()} for one in saved.feedback]
    return JSONResponse({"saved": True, **vars(saved), "feedback": feedback})


@router.get("/answers")
async def link_works(person: Participant, state: Shared) -> dict[str, str]:
    """Confirm that the browser's link is valid, and for which person, for an open page."""
    return {"person": state.name_in_browser(person)}


@router.put("/drafts/{task}")
def draft(task: Id, body: DraftBody, person: Participant, state: Shared) -> Response:
    """Store a draft."""
    crowd.refuse_ended(state, person)
    try:
        kept = answers.keep_draft(state.assigner, person, task, body.revision, answers.clean_all(body.body))
    except UnknownTaskError:
        raise _no_such_item() from None
    return Response(status_code=204 if kept else 409)


@router.get("/images/{task}/{number}")
def image(task: Id, number: Annotated[int, Field(ge=0, le=1000)], person: Participant, state: Shared) -> Response:
    """An image, a recording or captions of an item assigned to this person; supports Range requests."""
    path = file_of(state.design, person, task, number)
    kind = None if path is None else _SERVED.get(path.suffix.lower())
    if path is None or kind is None:
        raise HTTPException(404, "No such image.")
    # The file's own name is not sent: it can reveal who made the image.
    return FileResponse(path, media_type=kind)


@router.get("/guide/{number}")
def guide_picture(number: Annotated[int, Field(ge=0, le=1000)], person: Invited, state: Shared) -> Response:
    """A picture of the consent text, the instructions or the guidelines."""
    return served_guide_picture(state.design, number)


def served_guide_picture(design: StudyDesign, number: int) -> Response:
    """Return the file of a picture of the guidelines.

    Raises
    ------
    HTTPException
        404 if there is none.
    """
    path = design.guide_file(number)
    if path is None:
        raise HTTPException(404, "No such image.")
    return FileResponse(path, media_type=IMAGES[path.suffix.lower()])


_SERVED = IMAGES | MEDIA | CAPTIONS
"""Media types of the files of items, by file extension."""


# -- helpers ----------------------------------------------------------------------------------------


def _work(state: AppState, request: Request, person: Person, number: int | None) -> Response:
    """The page of a number, or the current one; redirect to the consent text first."""
    if not state.has_agreed(person):
        return RedirectResponse("/consent", 303)
    people = state.design.people
    held = crowd.hold(state, person, 0 if number is None else number - 1, people.ahead + 1)
    if number is None and held.end is not None and held.end.kind == "asks":
        return RedirectResponse("/questions", 303)
    numbers = list(held.pages)
    if number is not None and number not in numbers:
        numbers.insert(0, number)
    found = pages_of(state.design, person, numbers)
    if number is not None and number <= held.closed and (not found or found[0].number != number):
        return RedirectResponse("/work", 303)  # the answers on that page are final
    if number is not None and (not found or found[0].number != number):
        raise Refused(404, "There is no such page", "It is not assigned to you. Go to your current page: /work")
    return state.page(
        "work.html",
        request=request,
        name=person.name,
        instructions=people.instructions,
        changes=state.design.guide_changes(person.name),
        guide=state.design.guide_version,
        page=found[0] if found else None,
        further=found[1:],
        end=None if found else _end(state, person, held),
        may_leave=people.crowd is not None,
        messages=_messages(state, person),
        progress=_progress(state, person, held),
        session=_session(held, state.words(request)),
        settings={
            "idle": IDLE_SECONDS,
            "least": state.design.people.least_seconds,
            "skip_reasons": [_SKIP_REASONS.get(one, one) for one in SKIP_REASONS],
            "person": state.name_in_browser(person),
            "ahead": people.ahead,
            "closed": held.closed,
            "left": _seconds_left(state, person, held),
        },
    )


def _messages(state: AppState, person: Person) -> list[dict[str, Any]]:
    """The study lead's messages to a person, as the page's script shows them."""
    with state.store.reading() as db:
        found = messages(db, person.name, person.invited_at)
    return [{"id": one.id, "about": one.about, "words": one.words} for one in found]


def _progress(state: AppState, person: Person, held: HeldPages) -> dict[str, int | None]:
    with state.store.reading() as db:
        return progress(state.design, db, person, held.session)


def _seconds_left(state: AppState, person: Person, held: HeldPages) -> int | None:
    """Seconds until the person's deadline; None without one, or after the end."""
    if held.end is not None and held.end.kind in _LEAVING:
        return None
    limit = None if state.design.people.crowd is None else state.design.people.crowd.minutes
    with state.store.reading() as db:
        now, visit = state.store.now(db), None if limit is None else visit_of(db, person.name)
    ends = [state.design.deadline(person), None if visit is None or limit is None else visit.came_at + 60 * limit]
    left = [math.ceil(end - now) for end in ends if end is not None]
    return max(0, min(left)) if left else None


def _session(held: HeldPages, words: Catalogue) -> dict[str, Any]:
    return {"number": held.session.number, "of": held.session.of, "words": words.own(held.session.words)}


def _end(state: AppState, person: Person, held: HeldPages) -> dict[str, str] | None:
    """The contents of the end page; None if there can be further pages."""
    end: End | None = held.end
    if end is None:
        return None
    if end.kind in crowd.OUTCOMES:
        return crowd.end_contents(state, person.name, end.kind)
    title, text = _ENDS[end.kind]
    title = title.filled(number=held.session.number, of=held.session.of)
    text = text.filled(when=time_tag(end.opens_at))
    return {"kind": end.kind, "title": title, "text": text, "code": "", "back": ""}


def _no_such_item() -> Refused:
    return Refused(404, "There is no such item", "This item is not assigned to you.", error="unknown")
