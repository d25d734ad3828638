"""What a route may ask for: the study that is served, who is asking, and a page to answer with."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Cookie, Depends, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field

from assay.collecting import invitations
from assay.collecting.assignment import Assigner
from assay.collecting.design import Design
from assay.collecting.invitations import LinkRefusedError, Signer
from assay.collecting.overview import Watch
from assay.study.store.people import Person

PERSON_COOKIE, LEAD_COOKIE = "assay", "assay_lead"
_STATIC = Path(__file__).parents[1] / "static"

BIGGEST = 2**53
"""The largest whole number that a browser holds exactly."""

Id = Annotated[int, Field(ge=1, le=BIGGEST)]


class Refused(Exception):  # noqa: N818 - an answer to a request, not a mistake
    """A request that is not answered as asked: a page, or JSON, with the reason in words."""

    def __init__(self, status: int, title: str, text: str, *, error: str = "refused") -> None:
        super().__init__(text)
        self.status, self.title, self.text, self.error = status, title, text, error


# -- what all routes share ------------------------------------------------------------------------


class AppState:
    """The study that is served, with what it takes to answer; each application has one.

    Parameters
    ----------
    design : Design
    secret : str
        Signs links and cookies.
    base_url : str, optional
        Where people reach the page, if not where the server listens.

    Attributes
    ----------
    notice : str
        That the study was changed while the page was open, for the lead; empty where it was not.
    trouble : str
        Why the study cannot be shown as it is now; empty where it can.
    """

    def __init__(self, design: Design, secret: str, base_url: str | None = None) -> None:
        self.notice = self.trouble = ""
        self.design, self.store = design, design.store
        self.secret, self.base_url = secret, base_url
        self.assigner = Assigner(design)
        self.signer = Signer(secret, design.people.link_days)
        self.watch = Watch(design)
        files = sorted(path for path in _STATIC.iterdir() if path.is_file())
        self.static = {path.name: path for path in files}
        self.version = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
        self._templates = Environment(
            loader=PackageLoader("assay.collecting"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        name = design.study.config.name or design.study.folder.resolve().name
        self._templates.globals.update(version=self.version, study=name)

    def html(self, template: str, **values: Any) -> str:
        """A template, filled in."""
        return self._templates.get_template(template).render(values)

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A template, filled in, as what goes back."""
        return HTMLResponse(self.html(template, **values), status)

    def admit(self, to: str, cookie: str, token: str) -> Response:
        """On to a page, with the token in a cookie."""
        secure = bool(self.base_url and self.base_url.startswith("https:"))
        response = RedirectResponse(to, 303)
        response.set_cookie(
            cookie, token, max_age=self.signer.seconds, httponly=True, samesite="lax", secure=secure, path="/"
        )
        return response

    def has_agreed(self, person: Person) -> bool:
        """Whether a person has agreed to take part, to the text as it stands now."""
        return not self.design.people.consent or person.consented_to == self.design.consent_digest()

    def name_in_browser(self, person: Person) -> str:
        """What the browser keeps a person's unsent answers under: theirs in this study, and it tells nothing."""
        return hashlib.sha256(f"{self.secret}/{person.name}".encode()).hexdigest()[:16]


def app_state(request: Request) -> AppState:
    """What the routes of this application share; the study is the one that the store holds now."""
    served: Served = request.app.state.assay
    return served.now()


Shared = Annotated[AppState, Depends(app_state)]


# What follows as `async def` waits for nothing, so it takes no thread of the pool.


async def held_state(request: Request) -> AppState:
    """The same, whatever has happened to the study."""
    found: AppState = request.app.state.assay.held
    return found


class Served(Protocol):
    """What is served, see `assay.collecting.following.Serving`."""

    held: AppState

    def now(self) -> AppState:
        """With the study as the store holds it."""


# -- who is asking ----------------------------------------------------------------------------------


def person_of(state: AppState, token: str | None) -> Person:
    """Whose link or cookie this is; refused where it is nobody's."""
    if state.trouble:
        raise Refused(503, "The study is being changed", "What you answered is saved. Come back to this link later.")
    if not token:
        raise Refused(
            401, "Please open your personal link", "This page opens by the link that you were sent.", error="link"
        )
    try:
        return invitations.admitted(state.store, state.signer, token)
    except LinkRefusedError as error:
        raise Refused(403, "This link does not open the page", str(error), error="link") from None


def person(state: Shared, token: Annotated[str | None, Cookie(alias=PERSON_COOKIE)] = None) -> Person:
    """Whoever was invited and has opened their link."""
    return person_of(state, token)


Invited = Annotated[Person, Depends(person)]


async def participant(state: Shared, person: Invited) -> Person:
    """The person, who has agreed to take part."""
    if not state.has_agreed(person):
        raise Refused(403, "Please agree first", "Open the page again and read what it is about.", error="consent")
    return person


Participant = Annotated[Person, Depends(participant)]


def check_lead(state: AppState, token: str | None) -> None:
    """Refuse whoever does not hold the lead's link or cookie."""
    try:
        state.signer.check_lead(token or "")
    except LinkRefusedError as error:
        text = str(error) if token else "This page opens by the lead's link, which assay serve prints."
        raise Refused(403, "This link does not open the page", text, error="link") from None


async def lead(state: Shared, token: Annotated[str | None, Cookie(alias=LEAD_COOKIE)] = None) -> None:
    """Whoever leads the study."""
    check_lead(state, token)


# -- for anybody ------------------------------------------------------------------------------------

router = APIRouter()


@router.get("/health")
def health() -> dict[str, bool]:
    """Whether the server answers."""
    return {"ok": True}


# The version stands in the path, so that the files that a script imports by their names have it too.
@router.get("/static/{version}/{name}")
def static(version: str, name: str, state: Annotated[AppState, Depends(held_state)]) -> Response:
    """A file of the page: script, style, icon."""
    if name not in state.static:
        raise HTTPException(404, "No such file.")
    lasting = "public, max-age=31536000, immutable" if version == state.version else "no-store"
    return FileResponse(state.static[name], headers={"Cache-Control": lasting})
