"""The application: what protects every route, the routes, and how a request that fails is answered."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from assay._version import __version__
from assay.collecting import crowd, lead, people, serving
from assay.collecting.languages import Said
from assay.collecting.serving import POLICY, Refused, Serving
from assay.study.definition import Study
from assay.study.store.connection import DatabaseBusyError, DatabaseError, Store
from assay.study.store.intake import sync_study

# -- Protection: of which origin and size requests are, and which headers go back -------------------

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BIGGEST_BODY = 512 * 1024
"""Bytes of a request: several answers of the longest text."""

_TOO_LONG = Said("This is too long to be saved.")
_ELSEWHERE = Said(
    "This request did not come from the address that the page is served at. Where a proxy stands before the server, "
    "start assay serve with the address that people see, --base-url."
)

_HEADERS = (
    (b"content-security-policy", POLICY.format(hosts="").encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), interest-cohort=()"),
)


class _TooLargeError(HTTPException):
    """Of the kind that FastAPI hands on from where it reads a body; any other it calls a body it cannot read."""

    def __init__(self) -> None:
        super().__init__(413, _TOO_LONG)


class Protection:
    """ASGI middleware.

    Parameters
    ----------
    app : ASGI application
    host : str, optional
        The host (and port) at which people reach the page, where that is not the one of the request.
    """

    def __init__(self, app: Any, host: str | None = None) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await _answer(send, headers, *_translate_refusal(scope, *refusal))
            return
        reply = _GuardedReply(send)
        try:
            await self.app(scope, _limit_body(receive), reply.send)
        except _TooLargeError:
            if not reply.began:
                await _answer(send, headers, *_translate_refusal(scope, 413, _TOO_LONG))

    def _refusal(self, method: str, headers: dict[bytes, str]) -> tuple[int, str] | None:
        """Status and words for a request that is refused unread."""
        if method not in ("GET", "HEAD", "OPTIONS") and not self._is_same_origin(headers):
            return 403, _ELSEWHERE
        length = headers.get(b"content-length", "")
        if length.isdecimal() and int(length) > BIGGEST_BODY:
            return 413, _TOO_LONG
        return None

    def _is_same_origin(self, headers: dict[bytes, str]) -> bool:
        """Whether a request that changes something was sent by a page of this server."""
        site = headers.get(b"sec-fetch-site")
        if site is not None and site != "same-origin":
            return False
        origin = headers.get(b"origin")
        if origin is None:
            return site == "same-origin"
        return urlsplit(origin).netloc.lower() in {headers.get(b"host", "").lower(), (self.host or "").lower()} - {""}


def _limit_body(receive: Receive) -> Receive:
    """What comes in, up to the longest body that is taken; a request need not say how long it is."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BIGGEST_BODY:
            raise _TooLargeError
        return message

    return limited


class _GuardedReply:
    """What goes back, with the headers that it lacks."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.began = False
        """Whether the status went out, so that it is too late for another."""

    async def send(self, message: Message) -> None:
        """Hand one message on."""
        if message["type"] == "http.response.start":
            self.began = True
            had = {name.lower() for name, _ in message["headers"]}
            lacking = [(name, value) for name, value in _HEADERS if name not in had]
            if b"cache-control" not in had:
                lacking.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message["headers"], *lacking]}
        await self._send(message)


def _translate_refusal(scope: Scope, status: int, said: str) -> tuple[int, str]:
    """What is refused here, in the language of whoever asks."""
    serving: Serving = scope["app"].state.assay
    return status, str(serving.held.words(Request(scope)).own(said))


async def _answer(send: Send, headers: dict[bytes, str], status: int, words: str) -> None:
    """Refuse in words: as JSON to the page's script, as text to anybody else."""
    as_json = headers.get(b"content-type", "").startswith("application/json")
    body = (json.dumps({"error": "refused", "message": words}) if as_json else words).encode()
    kind = b"application/json" if as_json else b"text/plain; charset=utf-8"
    own = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *_HEADERS]})
    await send({"type": "http.response.body", "body": body})


# -- The application -------------------------------------------------------------------------------


_ROUTERS = (serving.router, crowd.router, people.router, lead.entrance, lead.router)
# As they are: a router that is included in an application makes each of its routes anew, 0.1 s at the first request.
_ROUTES = tuple(route for router in _ROUTERS for route in router.routes)


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
    return app_of(store, study.folder, secret, base_url)


def app_of(store: Store, folder: Path, secret: str, base_url: str | None = None) -> FastAPI:
    """The page of the study that a store holds, see `make_app`."""
    app = FastAPI(
        title="assay", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, routes=list(_ROUTES)
    )
    app.state.assay = Serving(store, folder, secret, base_url)
    app.add_middleware(Protection, host=base_url and urlsplit(base_url).netloc)
    app.exception_handler(Refused)(_handle_refusal)
    app.exception_handler(HTTPException)(_handle_http_error)
    app.exception_handler(RequestValidationError)(_handle_malformed)
    for kind in (DatabaseError, DatabaseBusyError):
        app.exception_handler(kind)(_handle_fault)
    return app


def _handle_refusal(request: Request, error: Refused) -> Response:
    return _say(request, error.status, error.title, error.text, error.error)


_TITLES = {404: Said("There is no such page"), 405: Said("This cannot be done here")}
_DETAILS: dict[str, Said] = {
    one: one for one in (Said("Not Found"), Said("Method Not Allowed"), Said("No such image."))
}
"""What Starlette says, and what we do."""


def _handle_http_error(request: Request, error: HTTPException) -> Response:
    title = _TITLES.get(error.status_code, Said("Sorry"))
    return _say(request, error.status_code, title, _DETAILS.get(error.detail, error.detail), "unknown")


def _handle_malformed(request: Request, error: RequestValidationError) -> Response:
    where = {".".join(str(p) for p in one["loc"][1:])[:80] for one in error.errors()}
    text = Said("This request cannot be read: {where}.", where=", ".join(sorted(where)[:5]) or Said("its body"))
    return _say(request, 422, Said("This cannot be read"), text, "malformed")


def _handle_fault(request: Request, error: Exception) -> Response:
    """A database that fails: people are told that nothing is lost, the lead and the log why."""
    serving: Serving = request.app.state.assay
    cause = serving.faults.add(error)
    text: str = Said(
        "Its database cannot be reached now. What you answered is kept in your browser, and sent by itself later."
    )
    if request.url.path.startswith("/lead") and serving.held.leads(request, unread=True):
        text = f"The study's database cannot be used now: {cause}. Answers wait in people's browsers meanwhile."
    return _say(request, 503, Said("The server cannot answer now"), text, "fault")


def _say(request: Request, status: int, title: str, text: str, error: str) -> Response:
    """What is wrong, in words: JSON for the page's script, a page for everybody else."""
    state = request.app.state.assay.held
    if request.url.path.startswith(("/answers", "/drafts", "/pages")):
        return JSONResponse({"error": error, "message": state.words(request).own(text)}, status)
    reader = None if request.url.path.startswith("/lead") else request  # the lead's pages are English
    found: Response = state.page("notice.html", status, reader, title=title, text=text)
    return found
