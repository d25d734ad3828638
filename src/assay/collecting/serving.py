"""The study that an application serves, and what every route may ask for: the state, the person, the lead.

The study may be changed while its page is open: the page follows the store, so that both are of one study.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import Field

from assay.collecting import invitations
from assay.collecting.assignment import Assigner
from assay.collecting.design import StudyDesign
from assay.collecting.invitations import LinkRefusedError
from assay.collecting.languages import Catalogue, Said, pick_language, words
from assay.collecting.overview import Watch
from assay.errors import AssayError, StudyError, counted, listing
from assay.study.definition import STUDY_FILE, Study, load_study
from assay.study.schema import StudyFile
from assay.study.store.connection import Store
from assay.study.store.intake import CONFIG, SYNCED, digest_of_study
from assay.study.store.items import PAIRS
from assay.study.store.people import Person

PERSON_COOKIE, LEAD_COOKIE = "assay", "assay_lead"
"""With the study's name behind them, as a browser has one set of cookies for all ports of a host. Without it they were
set before links named their study."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'{hosts}; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; "
    "worker-src 'self'"
)
"""What a page may load, and from where; ``hosts`` are those that the study lets recordings come from."""

LANGUAGE_COOKIE = "assay_language"
"""What a person chose on the page, for all studies of a host."""

_STATIC = Path(__file__).parent / "static"


@cache
def _static_files() -> tuple[dict[str, Path], str]:
    """By name, and what names their contents."""
    files = sorted(path for path in _STATIC.iterdir() if path.is_file())
    content = b"".join(path.read_bytes() for path in files)
    return {path.name: path for path in files}, hashlib.sha256(content).hexdigest()[:12]


@cache
def _templates() -> Environment:
    """Each template is compiled once, however often the study is changed."""
    found = Environment(
        loader=PackageLoader("assay.collecting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["version"] = _static_files()[1]
    return found


BIGGEST = 2**53
"""The largest whole number that a browser holds exactly."""

Id = Annotated[int, Field(ge=1, le=BIGGEST)]


class Refused(Exception):  # noqa: N818 - an answer to a request, not a mistake
    """A request that is not answered as asked: a page, or JSON, with the reason in words."""

    def __init__(self, status: int, title: str, text: str, *, error: str = "refused") -> None:
        super().__init__(text)
        self.status, self.error = status, error
        self.title, self.text = (one if isinstance(one, Said) else Said(one) for one in (title, text))


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
        """In which language somebody reads: the study's, the one they chose or were invited in, or their browser's."""
        accepted, of_person = request.headers.get("accept-language", ""), getattr(request.state, "language", "")
        picked = pick_language(request.cookies.get(LANGUAGE_COOKIE), accepted, of_person)
        return words(self.design.people.language or picked)

    def html(self, template: str, language: Catalogue | None = None, **values: Any) -> str:
        """A template, filled in; in English for the lead."""
        language = language or words("en")
        own = {"words": language, "say": language.say, "own": language.own, "back": "", "study": self._name, **values}
        return _templates().get_template(template).render(own)

    def page(self, template: str, status: int = 200, request: Request | None = None, **values: Any) -> HTMLResponse:
        """A template, filled in, as what goes back; in the language of whoever asks, who may choose another."""
        if request is None:
            return HTMLResponse(self.html(template, **values), status)
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        # A personal link stands in no other address: it would go into logs.
        leads_back = request.method == "GET" and not address.startswith("/join/")
        back = address if leads_back and self.design.people.language is None else ""
        found = HTMLResponse(self.html(template, self.words(request), back=back, **values), status)
        if hosts := self.design.study.config.items.media_hosts:
            found.headers["content-security-policy"] = POLICY.format(hosts="".join(f" https://{one}" for one in hosts))
        return found

    def token_in(self, request: Request, cookie: str) -> str | None:
        """What a browser holds for this study."""
        return request.cookies.get(self._cookie_name(cookie)) or request.cookies.get(cookie)

    def _cookie_name(self, cookie: str) -> str:
        return f"{cookie}_{self.signer.study}"

    def admit(self, to: str, cookie: str, token: str) -> Response:
        """On to a page, with the token in a cookie."""
        secure = bool(self.base_url and self.base_url.startswith("https:"))
        response = RedirectResponse(to, 303)
        name, seconds = self._cookie_name(cookie), self.signer.seconds
        response.set_cookie(name, token, max_age=seconds, httponly=True, samesite="lax", secure=secure, path="/")
        return response

    def leads(self, request: Request, *, unread: bool = False) -> bool:
        """Whether a request comes from whoever leads the study; ``unread`` where the database fails."""
        try:
            self.signer.check_lead(self.token_in(request, LEAD_COOKIE) or "", unread=unread)
        except LinkRefusedError:
            return False
        return True

    def has_agreed(self, person: Person) -> bool:
        """Whether a person has agreed to take part, to the text as it stands now."""
        return not self.design.people.consent or person.consented_to == self.design.consent_digest()

    def name_in_browser(self, person: Person) -> str:
        """What the browser keeps a person's unsent answers under: theirs in this study, and it tells nothing."""
        whose = (self.secret, person.name) if self.signer.alone else (self.secret, self.signer.study, person.name)
        return hashlib.sha256("/".join(whose).encode()).hexdigest()[:16]


def time_tag(at: float | None) -> Markup:
    """A time in UTC, which the page's script writes as the clock of whoever reads it has it."""
    if at is None:
        return Markup("")
    iso, words = (time.strftime(form, time.gmtime(at)) for form in ("%Y-%m-%dT%H:%M:%SZ", "%d %B %Y, %H:%M UTC"))
    return Markup('<time datetime="{}" data-local>{}</time>').format(iso, words)


# -- What fails while it is served -----------------------------------------------------------------

log = logging.getLogger("assay.collecting")

FAULT_SHOWN = 86400.0
"""Seconds for which the lead's page says that the database had failed."""


class Faults:
    """When the database failed, how often and why: for the lead, and in one line for the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first = self._last = 0.0
        self._number, self._cause = 0, ""

    def add(self, error: Exception) -> str:
        """Note a failure; its cause in words."""
        cause = cause_of(error)
        with self._lock:
            now = time.time()
            if now - self._last > FAULT_SHOWN:
                self._first, self._number = now, 0
            self._last, self._cause = now, cause
            self._number += 1
        # The words come with the message, so that a log that leaves out what is the same leaves out other causes not.
        log.error(f"the study's database cannot be used: {cause}")
        return cause

    def words(self) -> str:
        """What the lead is told; empty where nothing failed in the last day."""
        with self._lock:
            if not self._number or time.time() - self._last > FAULT_SHOWN:
                return ""
            first, last = time_tag(self._first), time_tag(self._last)
            when = first if self._number == 1 else Markup("{} to {}").format(first, last)
            return Markup(
                "The study's database could not be used ({}; {}): {}. Answers wait in people's browsers until they are "
                "saved."
            ).format(when, counted(self._number, "request"), self._cause)


def cause_of(error: Exception) -> str:
    """Why a database failed, in one line without the statement, a password or an address of ours."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
    cause = " ".join(said[0].split())[:300]
    return f"{cause} (another program holds it)" if "database is locked" in cause else cause


# -- A study that is changed while its page is open ------------------------------------------------

NOT_TAKEN_IN = (
    "The study's folder was edited and is not taken in yet: this page goes on with the study as it was. Starting "
    "assay serve again takes the change in, and says first how many answers will no longer count."
)


class Serving:
    """What an application serves: the study that its store holds, whoever brought it there.

    Parameters
    ----------
    store : Store
        Into which the study has been taken.
    folder : path
        Of the study.
    secret, base_url : str
        As in `AppState`.

    Attributes
    ----------
    held : AppState
        What was served last.
    """

    def __init__(self, store: Store, folder: Path, secret: str, base_url: str | None = None) -> None:
        self.store, self.folder = store, folder
        self._lock = threading.Lock()
        self._secret, self._base_url = secret, base_url
        self._draws = bool((store.setting(CONFIG) or {}).get("systems"))
        self._of = self._stored_names()
        """Names the study that is served, or that could not be."""
        self.held = self._make_state()
        for name in ("work.html", "page.html"):  # before anybody waits: each takes 20 ms to compile
            _templates().get_template(name)
        self.faults = Faults()
        self._seen: Any = None
        self._edited = ""

    def _stored_names(self) -> tuple[str | None, str | None]:
        """Names the study that the store holds: what its folder said, and the pairs that were drawn since."""
        return self.store.setting(SYNCED), self.store.setting(PAIRS) if self._draws else None

    def _make_state(self) -> AppState:
        study = Study(self.folder, StudyFile.model_validate(self.store.setting(CONFIG)))
        return AppState(StudyDesign(study, self.store), self._secret, self._base_url)

    def now(self) -> AppState:
        """What is served, of the study as the store holds it now."""
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
            self.held.trouble = f"The study was changed and cannot be shown as it is now: {error}"
        else:
            made.notice = _notice(self.held.design, made.design) or self.held.notice
            self.held = made
        self._of = digest

    def edit_notice(self) -> str:
        """Words for a folder that says something else than the store; empty where both say the same."""
        try:
            files = (self.folder / STUDY_FILE, *self.held.design.study.files())
            seen = (self._of, *(_stamp(path) for path in files))
            if seen != self._seen:
                self._edited = "" if digest_of_study(load_study(self.folder)) == self._of[0] else NOT_TAKEN_IN
                self._seen = seen
            return self._edited
        except (AssayError, OSError):  # in the midst of being edited
            return NOT_TAKEN_IN


def _stamp(path: Path) -> tuple[int, int] | None:
    return (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None


def _notice(before: StudyDesign, after: StudyDesign) -> str:
    """Words for what people see otherwise than before; empty where they see the same."""
    if (before.asked_now, before.form) == (after.asked_now, after.form):
        return ""
    asked = listing([f"'{q.definition.name}' (version {q.version})" for q in after.questions])
    return Markup(
        "The study was changed on {}, while this page was open. Since then people are asked {} as the study reads now, "
        "and this page and what you download are of that study."
    ).format(time_tag(time.time()), asked)


# -- what routes share ------------------------------------------------------------------------------


def app_state(request: Request) -> AppState:
    """What the routes of this application share; the study is the one that the store holds now."""
    serving: Serving = request.app.state.assay
    return serving.now()


Shared = Annotated[AppState, Depends(app_state)]


# What is `async def` here waits for nothing, so it takes no thread of the pool.


async def current_state(request: Request) -> AppState:
    """The same, whatever has happened to the study."""
    found: AppState = request.app.state.assay.held
    return found


# -- who is asking ----------------------------------------------------------------------------------


def person_of(state: AppState, request: Request, token: str | None) -> Person:
    """Whose link or cookie this is; refused where it is nobody's. They are answered in the language of theirs."""
    if state.trouble:
        raise Refused(503, "The study is being changed", "What you answered is saved. Come back to this link later.")
    if not token:
        raise Refused(
            401, "Please open your personal link", "This page opens by the link that you were sent.", error="link"
        )
    try:
        found = invitations.admit_person(state.store, state.signer, token)
    except LinkRefusedError as error:
        raise Refused(403, "This link does not open the page", str(error), error="link") from None
    request.state.language = str(found.attributes.get("language", ""))
    return found


def person(state: Shared, request: Request) -> Person:
    """Whoever was invited and has opened their link."""
    return person_of(state, request, state.token_in(request, PERSON_COOKIE))


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
        text = str(error) if token else "This page opens by the lead's link, which assay links prints."
        raise Refused(403, "This link does not open the page", text, error="link") from None


async def lead(state: Shared, request: Request) -> None:
    """Whoever leads the study."""
    check_lead(state, state.token_in(request, LEAD_COOKIE))


# -- for anybody ------------------------------------------------------------------------------------

router = APIRouter()


@router.get("/health")
async def health() -> dict[str, bool]:
    """Whether the server answers."""
    return {"ok": True}


@router.get("/health/store")
def health_of_store(request: Request) -> dict[str, bool]:
    """Whether it can read the study's database, too."""
    serving: Serving = request.app.state.assay
    with serving.store.reading():
        return {"ok": serving.store.setting(SYNCED) is not None}


# The version stands in the path, so that the files that a script imports by their names have it too.
@router.get("/static/{version}/{name}")
def static(version: str, name: str, state: Annotated[AppState, Depends(current_state)]) -> Response:
    """A file of the page: script, style, icon."""
    if name not in state.static:
        raise HTTPException(404, "No such file.")
    lasting = "public, max-age=31536000, immutable" if version == state.version else "no-store"
    return FileResponse(state.static[name], headers={"Cache-Control": lasting})
