"""The web server: who is allowed, which function answers, what goes back. Decisions are made elsewhere."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import Cookie, FastAPI, Form, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from assay._version import __version__
from assay.collecting import answers, invitations, overview, records
from assay.collecting.answers import (
    LONGEST_WORDS,
    InvalidAnswerError,
    NewerAnswerError,
    Submission,
    UnknownTaskError,
)
from assay.collecting.assignment import PAUSED, Assigner, End, Held, progress
from assay.collecting.design import Design
from assay.collecting.invitations import LinkRefusedError, Signer
from assay.collecting.pages import image_of, pages_of
from assay.collecting.protection import Protection
from assay.errors import AssayError, StudyError
from assay.study.definition import Study
from assay.study.store import people
from assay.study.store.connection import Store
from assay.study.store.intake import sync_study
from assay.study.store.people import Person

log = logging.getLogger("assay.collecting")

PERSON_COOKIE, LEAD_COOKIE = "assay", "assay_lead"
_STATIC = Path(__file__).parent / "static"
_BIGGEST = 2**53

Token = Annotated[str | None, Cookie(alias=PERSON_COOKIE)]
LeadToken = Annotated[str | None, Cookie(alias=LEAD_COOKIE)]
Words = Annotated[str, Form(max_length=LONGEST_WORDS)]
_Id = Annotated[int, Field(ge=1, le=_BIGGEST)]
_Said = Annotated[
    str,
    BeforeValidator(lambda said: answers.clean(said) if isinstance(said, str) else said),
    Field(max_length=LONGEST_WORDS),
]
"""Words of a person; a sign that a field's end cut in two does not keep the rest from being saved."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AnswerBody(_Body):
    """An answer as the browser sends it."""

    task: _Id
    key: str = Field(min_length=8, max_length=100, pattern=r"^[\w.:-]+$")
    revision: int = Field(ge=0, le=_BIGGEST)
    labels: dict[str, Any] = Field(default_factory=dict, max_length=200)
    """Any value: the question's scale says, in its own words, what is not an answer."""
    skip: _Said | None = None
    comment: _Said = ""
    flag: _Said = ""
    seconds: float | None = Field(None, ge=0, le=1e6, allow_inf_nan=False)


class DraftBody(_Body):
    """What is half written: whatever the script wants to have back."""

    revision: int = Field(ge=0, le=_BIGGEST)
    body: dict[str, Any]


class Refused(Exception):  # noqa: N818 - an answer to a request, not a mistake
    """A request that is not answered as asked: a page, or JSON, with the reason in words."""

    def __init__(self, status: int, title: str, text: str, *, error: str = "refused") -> None:
        super().__init__(text)
        self.status, self.title, self.text, self.error = status, title, text, error


def make_app(study: Study, store: Store, secret: str, base_url: str | None = None) -> FastAPI:
    """The page of a study as an ASGI application.

    Parameters
    ----------
    study : Study
        It is taken into the store.
    store : Store
    secret : str
        Signs links and cookies.
    base_url : str, optional
        Where people reach the page, if not where the server listens: behind a proxy.

    Raises
    ------
    StudyError
        Where the study cannot be put before people as it is.
    """
    sync_study(store, study)
    return _Page(Design(study, store), store, secret, base_url).app


class _Page:
    def __init__(self, design: Design, store: Store, secret: str, base_url: str | None) -> None:
        self.design, self.store = design, store
        self.assigner = Assigner(design)
        self.signer = Signer(secret, design.people.link_days)
        self.secret = secret
        self.base_url = base_url
        self.secure = bool(base_url and base_url.startswith("https:"))
        self.watch = overview.Watch(design)
        self.templates = Environment(
            loader=PackageLoader("assay.collecting"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        files = sorted(path for path in _STATIC.iterdir() if path.is_file())
        self.static = {path.name: path for path in files}
        self.version = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
        self.templates.globals.update(
            version=self.version, study=design.study.config.name or design.study.folder.resolve().name
        )
        self.app = FastAPI(title="assay", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
        self.app.add_middleware(Protection, host=base_url and urlsplit(base_url).netloc)
        self._routes()

    # -- who asks -------------------------------------------------------------------------------

    def person(self, token: str | None) -> Person:
        if not token:
            raise Refused(
                401, "Please open your personal link", "This page opens by the link that you were sent.", error="link"
            )
        try:
            return invitations.admitted(self.store, self.signer, token)
        except LinkRefusedError as error:
            raise Refused(403, "This link does not open the page", str(error), error="link") from None

    def agreed(self, person: Person) -> bool:
        return not self.design.people.consent or person.consented_to == self.design.consent_digest()

    def working(self, token: str | None) -> Person:
        """The person, who has agreed to take part."""
        person = self.person(token)
        if not self.agreed(person):
            raise Refused(403, "Please agree first", "Open the page again and read what it is about.", error="consent")
        return person

    def lead(self, token: str | None) -> None:
        try:
            self.signer.check_lead(token or "")
        except LinkRefusedError as error:
            text = str(error) if token else "This page opens by the lead's link, which assay serve prints."
            raise Refused(403, "This link does not open the page", text, error="link") from None

    def in_browser(self, person: Person) -> str:
        """What the browser keeps a person's unsent answers under: theirs in this study, and it tells nothing."""
        return hashlib.sha256(f"{self.secret}/{person.name}".encode()).hexdigest()[:16]

    # -- what goes back -------------------------------------------------------------------------

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.templates.get_template(template).render(values), status)

    def notice(self, status: int, title: str, text: str) -> HTMLResponse:
        return self.render("notice.html", status, title=title, text=text)

    def end(self, end: End | None, held: Held) -> dict[str, str] | None:
        """Why there is nothing further, in words."""
        if end is None:
            return None
        title, text = {
            "done": ("You have finished", "Everything is saved. Thank you! You can close this page."),
            "paused": ("The study is paused", "Everything that you answered is saved. Come back to this link later."),
            "later": (
                f"Session {held.session.number} of {held.session.of} is done",
                "Everything is saved. The next session opens on {when}; come back to this link then.",
            ),
            "empty": (
                "Nothing is free for you now",
                "Others are at work on the items that remain. Look again after {when}: what they leave comes to you.",
            ),
        }[end.kind]
        when = "" if end.opens_at is None else time.strftime("%d %B %Y, %H:%M UTC", time.gmtime(end.opens_at))
        return {"kind": end.kind, "title": title, "text": text.format(when=when)}

    def working_page(self, person: Person, number: int | None) -> HTMLResponse:
        held = self.assigner.hold(person, 0 if number is None else number - 1, self.design.people.ahead + 1)
        numbers = list(held.pages)
        if number is not None and number not in numbers:
            numbers.insert(0, number)
        pages = pages_of(self.design, person, numbers)
        if number is not None and (not pages or pages[0].number != number):
            raise Refused(404, "There is no such page", "It is not one of yours. Go to your current page: /work")
        people = self.design.people
        with self.store.reading() as db:
            done = progress(self.design, db, person, held.session)
        return self.render(
            "work.html",
            instructions=people.instructions,
            page=pages[0] if pages else None,
            further=pages[1:],
            end=self.end(held.end, held) if not pages else None,
            progress=done,
            session=_session(held) if held.session.of > 1 else None,
            settings={
                "idle": people.idle,
                "skip_reasons": list(people.skip_reasons),
                "person": self.in_browser(person),
                "ahead": people.ahead,
            },
        )

    # -- routes ---------------------------------------------------------------------------------

    def _routes(self) -> None:
        self._errors()
        self._routes_of_people()
        self._routes_of_lead()

    def _errors(self) -> None:
        app = self.app

        @app.exception_handler(Refused)
        def refused(request: Request, error: Refused) -> Response:
            return self._say(request, error.status, error.title, error.text, error.error)

        @app.exception_handler(StarletteHTTPException)
        def failed(request: Request, error: StarletteHTTPException) -> Response:
            title = {404: "There is no such page", 405: "This cannot be done here"}.get(error.status_code, "Sorry")
            return self._say(request, error.status_code, title, str(error.detail), "unknown")

        @app.exception_handler(RequestValidationError)
        def malformed(request: Request, error: RequestValidationError) -> Response:
            where = {".".join(str(p) for p in one["loc"][1:])[:80] for one in error.errors()}
            text = f"This request cannot be read: {', '.join(sorted(where)[:5]) or 'its body'}."
            return self._say(request, 422, "This cannot be read", text, "malformed")

    def _routes_of_people(self) -> None:
        app = self.app

        @app.get("/health")
        def health() -> dict[str, bool]:
            return {"ok": True}

        # The version stands in the path, so that the files that a script imports by their names have it too.
        @app.get("/static/{version}/{name}")
        def static(version: str, name: str) -> Response:
            if name not in self.static:
                raise HTTPException(404, "No such file.")
            lasting = "public, max-age=31536000, immutable" if version == self.version else "no-store"
            return FileResponse(self.static[name], headers={"Cache-Control": lasting})

        @app.get("/")
        def start(assay: Token = None) -> Response:
            self.person(assay)
            return RedirectResponse("/work", 303)

        @app.get("/join/{token}")
        def join(token: str) -> Response:
            self.person(token)
            return self._with_cookie(RedirectResponse("/work", 303), PERSON_COOKIE, token)

        @app.get("/consent")
        def consent(assay: Token = None) -> Response:
            self.person(assay)
            return self.render("consent.html", text=self.design.people.consent)

        @app.post("/consent")
        def agree(agree: Annotated[Literal["yes"], Form()], assay: Token = None) -> Response:
            person = self.person(assay)
            people.consent(self.store, person.name, self.design.consent_digest())
            return RedirectResponse("/work", 303)

        @app.get("/work")
        def work(assay: Token = None) -> Response:
            person = self.person(assay)
            if not self.agreed(person):
                return RedirectResponse("/consent", 303)
            return self.working_page(person, None)

        @app.get("/work/{number}")
        def work_page(number: _Id, assay: Token = None) -> Response:
            person = self.person(assay)
            if not self.agreed(person):
                return RedirectResponse("/consent", 303)
            return self.working_page(person, number)

        @app.get("/pages")
        def pages(after: Annotated[int, Field(ge=0, le=_BIGGEST)], assay: Token = None) -> Response:
            person = self.working(assay)
            held = self.assigner.hold(person, after, self.design.people.ahead)
            page = self.templates.get_template("page.html")
            found = [
                {"number": one.number, "html": page.render(page=one)}
                for one in pages_of(self.design, person, held.pages)
            ]
            end = self.end(held.end, held)
            if end is not None:
                end = {"kind": end["kind"], "html": self.templates.get_template("end.html").render(end=end)}
            with self.store.reading() as db:
                done = progress(self.design, db, person, held.session)
            return JSONResponse(
                {"pages": found, "end": end, "progress": done, "session": _session(held)}
                | {"person": self.in_browser(person)}
            )

        @app.post("/answers")
        def answer(body: AnswerBody, assay: Token = None) -> Response:
            person = self.working(assay)
            try:
                saved = answers.save(self.assigner, person, Submission(**body.model_dump()))
            except UnknownTaskError:
                raise Refused(404, "There is no such item", "This item is not one of yours.", error="unknown") from None
            except NewerAnswerError as error:
                now = pages_of(self.design, person, [error.page])
                page = self.templates.get_template("page.html").render(page=now[0])
                content = {"error": "newer", "message": str(error), "revision": error.revision, "html": page}
                return JSONResponse(content, 409)
            except InvalidAnswerError as error:
                content = {"error": "invalid", "message": str(error), "questions": error.questions}
                return JSONResponse(content, 422)
            return JSONResponse({"saved": True, **vars(saved)})

        @app.put("/drafts/{task}")
        def draft(task: _Id, body: DraftBody, assay: Token = None) -> Response:
            person = self.working(assay)
            try:
                kept = answers.keep_draft(self.assigner, person, task, body.revision, answers.cleaned(body.body))
            except UnknownTaskError:
                raise Refused(404, "There is no such item", "This item is not one of yours.", error="unknown") from None
            return Response(status_code=204 if kept else 409)

        @app.get("/images/{task}/{number}")
        def image(task: _Id, number: Annotated[int, Field(ge=0, le=1000)], assay: Token = None) -> Response:
            path = image_of(self.design, self.working(assay), task, number)
            if path is None or path.suffix.lower() not in _IMAGES:
                raise HTTPException(404, "No such image.")
            # The file's own name stays here: it may tell who made the image.
            return Response(path.read_bytes(), media_type=_IMAGES[path.suffix.lower()])

    def _routes_of_lead(self) -> None:
        app = self.app

        @app.get("/lead/join/{token}")
        def lead_join(token: str) -> Response:
            self.lead(token)
            return self._with_cookie(RedirectResponse("/lead", 303), LEAD_COOKIE, token)

        @app.get("/lead")
        def lead_page(request: Request, assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return self.render("lead.html", **self._lead_values(request))

        @app.get("/lead/live")
        def lead_live(request: Request, assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return self.render("lead_live.html", **self._lead_values(request))

        @app.post("/lead/people")
        def add(name: Words, attributes: Words = "", assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return self._lead_does(
                lambda: invitations.invite(
                    self.design, answers.clean(name), invitations.read_attributes(answers.clean(attributes))
                )
            )

        @app.post("/lead/people/state")
        def state(name: Words, state: Annotated[people.State, Form()], assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return self._lead_does(lambda: people.set_state(self.store, answers.clean(name), state))

        @app.post("/lead/people/link")
        def link(name: Words, assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return self._lead_does(lambda: people.new_link(self.store, answers.clean(name)))

        @app.post("/lead/study")
        def pause(state: Annotated[Literal["open", "paused"], Form()], assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return self._lead_does(lambda: self.store.set(PAUSED, state == "paused"))

        @app.post("/lead/reopen")
        def reopen(task: Annotated[int, Form(ge=1, le=_BIGGEST)], assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            try:
                return self._lead_does(lambda: answers.reopen(self.assigner, task))
            except UnknownTaskError:
                raise Refused(404, "There is no such answer", "It is not answered, or is open again.") from None

        @app.get("/lead/labels.csv")
        def labels(assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            try:
                table = records.labels_csv(self.store)
            except StudyError as error:
                raise Refused(404, "There is nothing to download yet", str(error)) from None
            return _download(table, "labels.csv", "text/csv; charset=utf-8")

        @app.get("/lead/answers.zip")
        def everything(assay_lead: LeadToken = None) -> Response:
            self.lead(assay_lead)
            return _download(records.archive(self.store), "answers.zip", "application/zip")

    # -- parts of routes ------------------------------------------------------------------------

    def _say(self, request: Request, status: int, title: str, text: str, error: str) -> Response:
        wants_json = request.url.path.startswith(("/answers", "/drafts", "/pages"))
        if wants_json:
            return JSONResponse({"error": error, "message": text}, status)
        return self.notice(status, title, text)

    def _with_cookie(self, response: Response, name: str, token: str) -> Response:
        response.set_cookie(
            name, token, max_age=self.signer.seconds, httponly=True, samesite="lax", secure=self.secure, path="/"
        )
        return response

    def _lead_values(self, request: Request) -> Mapping[str, Any]:
        base = self.base_url or str(request.base_url)
        links = {
            person.name: invitations.personal_link(self.signer, person, base) for person in people.everybody(self.store)
        }
        return {"view": self.watch.look(), "links": links, "paused": bool(self.store.setting(PAUSED))}

    def _lead_does(self, work: Any) -> Response:
        try:
            work()
        except AssayError as error:
            raise Refused(422, "This cannot be done", str(error)) from None
        return RedirectResponse("/lead", 303)


_IMAGES = {
    **{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"},
    **{".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp"},
}
"""Kinds of images that cannot hold a script."""


def _session(held: Held) -> dict[str, Any]:
    return {"number": held.session.number, "of": held.session.of, "words": held.session.words}


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
