"""The routes of whoever leads the study: how it stands, who takes part, what there is to download."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from assay.collecting import answers, invitations, records
from assay.collecting.answers import LONGEST_WORDS, UnknownTaskError
from assay.collecting.assignment import PAUSED
from assay.collecting.routes.common import BIGGEST, LEAD_COOKIE, AppState, Refused, Shared, check_lead, lead
from assay.errors import AssayError, StudyError
from assay.study.store import people as store_people

Words = Annotated[str, Form(max_length=LONGEST_WORDS)]

entrance = APIRouter(prefix="/lead")
"""The one route that anybody may ask for: it opens the others."""

router = APIRouter(prefix="/lead", dependencies=[Depends(lead)])


@entrance.get("/join/{token}")
def lead_join(token: str, state: Shared) -> Response:
    """The lead's link: what it opens stays open in this browser."""
    check_lead(state, token)
    return state.admit("/lead", LEAD_COOKIE, token)


# -- how the study stands ---------------------------------------------------------------------------


@router.get("")
def lead_page(request: Request, state: Shared) -> Response:
    """The lead's page."""
    return state.page("lead.html", **_overview(state, request))


@router.get("/live")
def lead_live(request: Request, state: Shared) -> Response:
    """The part of the lead's page that changes while people answer."""
    return state.page("lead_live.html", **_overview(state, request))


def _overview(state: AppState, request: Request) -> Mapping[str, Any]:
    base = state.base_url or str(request.base_url)
    links = {
        person.name: invitations.personal_link(state.signer, person, base)
        for person in store_people.everybody(state.store)
    }
    said = [state.trouble, state.notice, request.app.state.assay.edited()]
    return {
        "view": state.watch.look(),
        "links": links,
        "paused": bool(state.store.setting(PAUSED)),
        "changes": [one for one in said if one],
    }


# -- what the lead decides --------------------------------------------------------------------------


@router.post("/people")
def add(name: Words, state: Shared, attributes: Words = "") -> Response:
    """Invite somebody."""
    with _in_words():
        given = invitations.read_attributes(answers.clean(attributes))
        invitations.invite(state.design, answers.clean(name), given)
    return _back()


@router.post("/people/state")
def set_state(name: Words, state: Annotated[store_people.State, Form()], shared: Shared) -> Response:
    """Let a person answer, have them wait, or end their link."""
    with _in_words():
        store_people.set_state(shared.store, answers.clean(name), state)
    return _back()


@router.post("/people/link")
def new_link(name: Words, state: Shared) -> Response:
    """Give a person a new link in place of theirs."""
    with _in_words():
        store_people.new_link(state.store, answers.clean(name))
    return _back()


@router.post("/study")
def pause(state: Annotated[Literal["open", "paused"], Form()], shared: Shared) -> Response:
    """Pause the study, or open it again."""
    with _in_words():
        shared.store.set(PAUSED, state == "paused")
    return _back()


@router.post("/reopen")
def reopen(task: Annotated[int, Form(ge=1, le=BIGGEST)], state: Shared) -> Response:
    """Give an answered item back to the person who answered it."""
    try:
        with _in_words():
            answers.reopen(state.assigner, task)
    except UnknownTaskError:
        raise Refused(404, "There is no such answer", "It is not answered, or is open again.") from None
    return _back()


@contextmanager
def _in_words() -> Iterator[None]:
    """What cannot be done is told as a page."""
    try:
        yield
    except AssayError as error:
        raise Refused(422, "This cannot be done", str(error)) from None


def _back() -> Response:
    return RedirectResponse("/lead", 303)


# -- what there is to download ----------------------------------------------------------------------


@router.get("/labels.csv")
def labels(state: Shared) -> Response:
    """The labels as a table."""
    try:
        table = records.labels_csv(state.store)
    except StudyError as error:
        raise Refused(404, "There is nothing to download yet", str(error)) from None
    return _download(table, "labels.csv", "text/csv; charset=utf-8")


@router.get("/answers.zip")
def everything(state: Shared) -> Response:
    """The whole record."""
    return _download(records.archive(state.store), "answers.zip", "application/zip")


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
