"""The state of the application that all routes share: the study, the annotator, the study lead.

The study can change while it is served. The application follows the store, so that both have the same study.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import Field

from assay.collecting import invitations
from assay.collecting.answers import LONGEST_WORDS, clean
from assay.collecting.assignment import Assigner
from assay.collecting.design import StudyDesign
from assay.collecting.desk.overview import Watch
from assay.collecting.invitations import LinkRefusedError
from assay.collecting.languages import Catalogue, Said, pick_language, words
from assay.errors import AssayError, StudyError, counted, listing
from assay.study.definition import STUDY_FILE, load_study, stored_study
from assay.study.store.connection import Store
from assay.study.store.intake import CONFIG, SYNCED, digest_of_study
from assay.study.store.items import OUTPUTS, PAIRS
from assay.study.store.people import Person

PERSON_COOKIE, LEAD_COOKIE = "assay", "assay_lead"
"""Names of the cookies, with the study's id as suffix: a browser has one set of cookies for all ports of a host.
Cookies without a suffix were set before links named their study."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'{hosts}; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; "
    "worker-src 'self'"
)
"""Content security policy of the pages; ``hosts`` are the hosts from which the study permits recordings."""

LANGUAGE_COOKIE = "assay_language"
"""Cookie with the language that a person chose, for all studies of a host."""

_STATIC = Path(__file__).parent / "static"


@cache
def _static_files() -> tuple[dict[str, Path], str]:
    """The static files by name, and a digest of their contents."""
    files = sorted(path for path in _STATIC.iterdir() if path.is_file())
    content = b"".join(path.read_bytes() for path in files)
    return {path.name: path for path in files}, hashlib.sha256(content).hexdigest()[:12]


@cache
def _templates() -> Environment:
    """The template environment; each template is compiled once, even if the study changes."""
    found = Environment(
        loader=PackageLoader("assay.collecting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["version"] = _static_files()[1]
    return found


BIGGEST_BODY = 512 * 1024
"""Most bytes of a request body: several answers of the longest text, or a file of new items."""

BIGGEST = 2**53
"""The largest whole number that a browser holds exactly."""

Id = Annotated[int, Field(ge=1, le=BIGGEST)]


class Refused(Exception):  # noqa: N818 - an answer to a request, not a mistake
    """A refused request; the response is a page, or JSON, with the reason."""

    def __init__(self, status: int, title: str, text: str, *, error: str = "refused") -> None:
        super().__init__(text)
        self.status, self.error = status, error
        self.title, self.text = (one if isinstance(one, Said) else Said(one) for one in (title, text))


class AppState:
    """The study that is served, with everything needed to answer requests; each application has one.

    Parameters
    ----------
    design : Design
    secret : str
        Signs links and cookies.
    base_url : str, optional
        Public address of the page, if it differs from the server's address.

    Attributes
    ----------
    notice : str
        Notice for the study lead that the study changed while it was served; empty if it did not.
    trouble : str
        Why the current study cannot be shown; empty if it can.
    """

    def __init__(self, design: StudyDesign, secret: str, base_url: str | None = None) -> None:
        self.notice = self.trouble = ""
        self.design, self.store = design, design.store
        self.secret, self.base_url = secret, base_url
        self.assigner = Assigner(design)
        self.signer = invitations.signer_of(design.study, self.store, secret)
        self.watch = Watch(design)
        self.static, self.version = _static_files()
        self._name = design.study.config.name or design.study.folder.resolve().name

    def words(self, request: Request) -> Catalogue:
        """Return the language of a request: the study's, else the person's choice or invitation, else the browser's."""
        accepted, of_person = request.headers.get("accept-language", ""), getattr(request.state, "language", "")
        picked = pick_language(request.cookies.get(LANGUAGE_COOKIE), accepted, of_person)
        return words(self.design.people.language or picked)

    def html(self, template: str, language: Catalogue | None = None, **values: Any) -> str:
        """Render a template; in English by default."""
        language = language or words("en")
        laid = partial(self.design.laid_out, address=values.pop("guide_at", "/guide"))
        own = {
            "laid": laid,
            "words": language,
            "say": language.say,
            "own": language.own,
            "back": "",
            "study": self._name,
            "reads": acting.get().role == "reader",
            "lead_name": acting.get().name,
            **values,
        }
        return _templates().get_template(template).render(own)

    def page(self, template: str, status: int = 200, request: Request | None = None, **values: Any) -> HTMLResponse:
        """Render a template as a response, in the language of the request, with a link to choose another one."""
        if request is None:
            return HTMLResponse(self.html(template, **values), status)
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        # A personal link is never part of another address, because addresses are logged.
        leads_back = request.method == "GET" and not address.startswith("/join/")
        back = address if leads_back and self.design.people.language is None else ""
        found = HTMLResponse(self.html(template, self.words(request), back=back, **values), status)
        if hosts := self.design.study.config.items.media_hosts:
            found.headers["content-security-policy"] = POLICY.format(hosts="".join(f" https://{one}" for one in hosts))
        return found

    def token_in(self, request: Request, cookie: str) -> str | None:
        """Return the browser's cookie for this study."""
        return request.cookies.get(self._cookie_name(cookie)) or request.cookies.get(cookie)

    def _cookie_name(self, cookie: str) -> str:
        return f"{cookie}_{self.signer.study}"

    def admit(self, to: str, cookie: str, token: str) -> Response:
        """Redirect to a page, with the token in a cookie."""
        secure = bool(self.base_url and self.base_url.startswith("https:"))
        response = RedirectResponse(to, 303)
        name, seconds = self._cookie_name(cookie), self.signer.seconds
        response.set_cookie(name, token, max_age=seconds, httponly=True, samesite="lax", secure=secure, path="/")
        return response

    def leads(self, request: Request, *, unread: bool = False) -> bool:
        """Whether a request comes from the study lead; ``unread`` if the database fails."""
        try:
            self.signer.check_lead(self.token_in(request, LEAD_COOKIE) or "", unread=unread)
        except LinkRefusedError:
            return False
        return True

    def has_agreed(self, person: Person) -> bool:
        """Whether a person has consented to the current consent text."""
        return not self.design.people.consent or person.consented_to == self.design.consent_digest()

    def name_in_browser(self, person: Person) -> str:
        """Return the name for a person's unsent answers in the browser: unique in this study, and not revealing."""
        whose = (self.secret, person.name) if self.signer.alone else (self.secret, self.signer.study, person.name)
        return hashlib.sha256("/".join(whose).encode()).hexdigest()[:16]


def time_tag(at: float | None) -> Markup:
    """Return a time in UTC as an HTML tag, which the page's script converts to local time."""
    if at is None:
        return Markup("")
    iso, words = (time.strftime(form, time.gmtime(at)) for form in ("%Y-%m-%dT%H:%M:%SZ", "%d %B %Y, %H:%M UTC"))
    return Markup('<time datetime="{}" data-local>{}</time>').format(iso, words)


# -- Database failures -----------------------------------------------------------------------------

log = logging.getLogger("assay.collecting")

FAULT_SHOWN = 86400.0
"""Seconds for which the dashboard reports a database failure."""


class Faults:
    """Database failures, with their time, number and cause, for the dashboard and the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first = self._last = 0.0
        self._number, self._cause = 0, ""

    def add(self, error: Exception) -> str:
        """Record a failure and return its cause."""
        cause = cause_of(error)
        with self._lock:
            now = time.time()
            if now - self._last > FAULT_SHOWN:
                self._first, self._number = now, 0
            self._last, self._cause = now, cause
            self._number += 1
        # The cause is part of the message, because the log suppresses equal messages only.
        log.error(f"the study's database cannot be used: {cause}")
        return cause

    def words(self) -> str:
        """Return the notice for the study lead; empty if nothing failed in the last day."""
        with self._lock:
            if not self._number or time.time() - self._last > FAULT_SHOWN:
                return ""
            first, last = time_tag(self._first), time_tag(self._last)
            when = first if self._number == 1 else Markup("{} to {}").format(first, last)
            return Markup(
                "The study's database could not be used ({}; {}): {}. Answers wait in the annotators' browsers until "
                "they are saved."
            ).format(when, counted(self._number, "request"), self._cause)


def cause_of(error: Exception) -> str:
    """Return the cause of a database failure in one line, without SQL, passwords or addresses."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
    cause = " ".join(said[0].split())[:300]
    return f"{cause} (by another program)" if "database is locked" in cause else cause


# -- Changes of the study while it is served -------------------------------------------------------

NOT_TAKEN_IN = (
    "The study's folder was edited, but this page still serves the earlier version. Restart assay serve to apply the "
    "change; it first reports how many answers will no longer count."
)


class Serving:
    """The study that an application serves: the one in its store.

    Parameters
    ----------
    store : Store
        The store, updated to the study.
    folder : path
        The study folder.
    secret, base_url : str
        As in `AppState`.

    Attributes
    ----------
    held : AppState
        The state that was served last.
    """

    def __init__(self, store: Store, folder: Path, secret: str, base_url: str | None = None) -> None:
        self.store, self.folder = store, folder
        self._lock = threading.Lock()
        self._secret, self._base_url = secret, base_url
        self._draws = bool((store.setting(CONFIG) or {}).get("systems"))
        self._of = self._stored_names()
        """Identifies the study that is served, or that could not be shown."""
        self.held = self._make_state()
        for name in ("work.html", "page.html"):  # compile before the first request: 20 ms each
            _templates().get_template(name)
        self.faults = Faults()
        self._seen: Any = None
        self._edited = ""

    def _stored_names(self) -> tuple[str | None, ...]:
        """Identifies the study in the store: the digest of its folder, and the outputs and pairs stored since."""
        made = (PAIRS, OUTPUTS) if self._draws else ()
        return self.store.setting(SYNCED), *(self.store.setting(one) for one in made)

    def _make_state(self) -> AppState:
        study = stored_study(self.folder, self.store.setting(CONFIG))
        return AppState(StudyDesign(study, self.store), self._secret, self._base_url)

    def now(self) -> AppState:
        """Return the state for the study that is now in the store."""
        if self._stored_names() != self._of:
            with self._lock:
                self._follow()
        return self.held

    def _follow(self) -> None:
        digest = self._stored_names()
        if digest == self._of:
            return
        try:
            made = self._make_state()
        except StudyError as error:
            self.held.trouble = f"The study was changed and cannot be shown: {error}"
        else:
            made.notice = _notice(self.held.design, made.design) or self.held.notice
            self.held = made
        self._of = digest

    def edit_notice(self) -> str:
        """Return a notice if the folder differs from the store; empty if both have the same study."""
        try:
            files = (self.folder / STUDY_FILE, *self.held.design.study.files())
            seen = (self._of, *(_stamp(path) for path in files))
            if seen != self._seen:
                self._edited = "" if digest_of_study(load_study(self.folder)) == self._of[0] else NOT_TAKEN_IN
                self._seen = seen
            return self._edited
        except (AssayError, OSError):  # while it is being edited
            return NOT_TAKEN_IN


def _stamp(path: Path) -> tuple[int, int] | None:
    return (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None


def _notice(before: StudyDesign, after: StudyDesign) -> str:
    """A notice about changes that annotators see; empty if there are none."""
    if before.form == after.form:
        return ""
    asked = listing([f"'{q.definition.name}' (version {q.version})" for q in after.questions])
    return Markup(
        "The study was changed on {}, while it was being served. Since then annotators answer {} in the current "
        "version. This dashboard and the downloads refer to the current version."
    ).format(time_tag(time.time()), asked)


# -- dependencies of the routes ---------------------------------------------------------------------


def app_state(request: Request) -> AppState:
    """The shared state of the application, for the study that is now in the store."""
    serving: Serving = request.app.state.assay
    return serving.now()


Shared = Annotated[AppState, Depends(app_state)]


# An `async def` here does not block, so it does not need a thread of the pool.


async def current_state(request: Request) -> AppState:
    """The shared state without a check for changes of the study."""
    found: AppState = request.app.state.assay.held
    return found


# -- annotator and study lead -----------------------------------------------------------------------


def person_of(state: AppState, request: Request, token: str | None) -> Person:
    """Return the person of a link or cookie, or refuse it. The response uses the language of their invitation."""
    if state.trouble:
        raise Refused(503, "The study is being updated", "Your answers are saved. Come back to this link later.")
    if not token:
        raise Refused(
            401, "Please open your personal link", "Open this page with the link that you were sent.", error="link"
        )
    try:
        found = invitations.admit_person(state.store, state.signer, token)
    except LinkRefusedError as error:
        raise Refused(403, "This link does not open the page", str(error), error="link") from None
    request.state.language = str(found.attributes.get("language", ""))
    return found


def person(state: Shared, request: Request) -> Person:
    """The annotator who has opened their link in this browser."""
    return person_of(state, request, state.token_in(request, PERSON_COOKIE))


Invited = Annotated[Person, Depends(person)]


async def participant(state: Shared, person: Invited) -> Person:
    """The annotator, who has consented."""
    if not state.has_agreed(person):
        raise Refused(
            403, "Please give your consent first", "Open the page again and read about the study.", error="consent"
        )
    return person


Participant = Annotated[Person, Depends(participant)]


def check_lead(state: AppState, token: str | None) -> invitations.LeadAccess:
    """Return who leads; refuse a request without a link or cookie of the study lead or of a further lead."""
    try:
        return state.signer.check_lead(token or "")
    except LinkRefusedError as error:
        text = str(error) if token else "Open the dashboard with the study lead's link; assay people links prints it."
        raise Refused(403, "This link does not open the page", text, error="link") from None


STUDY_LEAD = invitations.LeadAccess()

acting: ContextVar[invitations.LeadAccess] = ContextVar("acting", default=STUDY_LEAD)
"""Who leads in the current request."""


async def lead(state: Shared, request: Request) -> None:
    """Require the study lead or a further lead; a reader changes nothing."""
    who = check_lead(state, state.token_in(request, LEAD_COOKIE))
    if who.role == "reader" and request.method not in ("GET", "HEAD"):
        raise Refused(
            403, "This cannot be done", "Your link is for reading: you cannot change the study.", error="link"
        )
    acting.set(who)


# -- answers to questions about a person ------------------------------------------------------------


async def form_answers(request: Request) -> dict[str, str]:
    """The submitted answers to the questions to a person, by name: the fields that begin with ``q-``."""
    fields = (await request.form()).items()
    return {
        name.removeprefix("q-"): clean(value)[:LONGEST_WORDS]
        for name, value in fields
        if name.startswith("q-") and isinstance(value, str)
    }


FormAnswers = Annotated[dict[str, str], Depends(form_answers)]


# -- public routes ----------------------------------------------------------------------------------

router = APIRouter()


@router.get("/health")
async def health() -> dict[str, bool]:
    """Whether the server answers."""
    return {"ok": True}


@router.get("/health/store")
def health_of_store(request: Request) -> dict[str, bool]:
    """Whether the server can also read the study's database."""
    serving: Serving = request.app.state.assay
    with serving.store.reading():
        return {"ok": serving.store.setting(SYNCED) is not None}


# The version is part of the path, so that it also applies to files that a script imports by relative names.
@router.get("/static/{version}/{name}")
def static(version: str, name: str, state: Annotated[AppState, Depends(current_state)]) -> Response:
    """A file of the page: script, style, icon."""
    if name not in state.static:
        raise HTTPException(404, "No such file.")
    lasting = "public, max-age=31536000, immutable" if version == state.version else "no-store"
    return FileResponse(state.static[name], headers={"Cache-Control": lasting})
