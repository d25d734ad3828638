"""The ASGI application: protection of all routes, the routes, and responses to failed requests."""

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
from assay.collecting import crowd, people, serving
from assay.collecting.desk import lead
from assay.collecting.desk import report as desk_report
from assay.collecting.languages import Said
from assay.collecting.serving import BIGGEST_BODY, POLICY, Refused, Serving
from assay.study.definition import Study
from assay.study.store.connection import DatabaseBusyError, DatabaseError, Store
from assay.study.store.intake import sync_study

# -- Protection: origin and size of requests, security headers of responses -------------------------

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_TOO_LONG = Said("This is too long to be saved.")
_ELSEWHERE = Said(
    "This request did not come from the address that the page is served at. If the server is behind a proxy, "
    "start assay serve with the public address, --base-url."
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
    """The body is too large. FastAPI passes on an HTTPException raised while it reads a body, and no other error."""

    def __init__(self) -> None:
        super().__init__(413, _TOO_LONG)


class Protection:
    """ASGI middleware.

    Parameters
    ----------
    app : ASGI application
    host : str, optional
        The public host (and port) of the page, if it differs from the host of the request.
    """

    def __init__(self, app: Any, host: str | None = None) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
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
        """Status and message for a request that is refused before its body is read."""
        if method not in ("GET", "HEAD", "OPTIONS") and not self._is_same_origin(headers):
            return 403, _ELSEWHERE
        length = headers.get(b"content-length", "")
        if length.isdecimal() and int(length) > BIGGEST_BODY:
            return 413, _TOO_LONG
        return None

    def _is_same_origin(self, headers: dict[bytes, str]) -> bool:
        """Whether a modifying request was sent by a page of this server."""
        site = headers.get(b"sec-fetch-site")
        if site is not None and site != "same-origin":
            return False
        origin = headers.get(b"origin")
        if origin is None:
            return site == "same-origin"
        return urlsplit(origin).netloc.lower() in {headers.get(b"host", "").lower(), (self.host or "").lower()} - {""}


def _limit_body(receive: Receive) -> Receive:
    """Limit the body to the largest size accepted, for requests that do not state their length."""
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
    """Adds the missing security headers to a response."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.began = False
        """Whether the status was sent already, so that it cannot be changed."""

    async def send(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self.began = True
            had = {name.lower() for name, _ in message["headers"]}
            missing = [(name, value) for name, value in _HEADERS if name not in had]
            if b"cache-control" not in had:
                missing.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message["headers"], *missing]}
        await self._send(message)


def _translate_refusal(scope: Scope, status: int, said: str) -> tuple[int, str]:
    """The message of a refusal, in the language of the request."""
    serving: Serving = scope["app"].state.assay
    return status, str(serving.held.words(Request(scope)).own(said))


async def _answer(send: Send, headers: dict[bytes, str], status: int, words: str) -> None:
    """Send a refusal: as JSON to the page's script, otherwise as text."""
    as_json = headers.get(b"content-type", "").startswith("application/json")
    body = (json.dumps({"error": "refused", "message": words}) if as_json else words).encode()
    kind = b"application/json" if as_json else b"text/plain; charset=utf-8"
    own = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *_HEADERS]})
    await send({"type": "http.response.body", "body": body})


# -- The application -------------------------------------------------------------------------------


_ROUTERS = (serving.router, crowd.router, people.router, lead.entrance, lead.router, desk_report.router)
# The routes are used directly: including a router in an application rebuilds each route, 0.1 s at the first request.
_ROUTES = tuple(route for router in _ROUTERS for route in router.routes)


def make_app(study: Study, store: Store, secret: str, base_url: str | None = None) -> FastAPI:
    """Make the ASGI application of a study.

    Parameters
    ----------
    study : Study
        The store is updated to this study.
    store : Store
    secret : str
        Signs links and cookies.
    base_url : str, optional
        Public address of the page, if it differs from the server's address: behind a proxy.

    Raises
    ------
    StudyError
        If annotators cannot be asked this study.
    """
    sync_study(store, study)
    return app_of(store, study.folder, secret, base_url)


def app_of(store: Store, folder: Path, secret: str, base_url: str | None = None) -> FastAPI:
    """Make the application of the study in a store, see `make_app`."""
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
"""Messages of Starlette and of this application."""


def _handle_http_error(request: Request, error: HTTPException) -> Response:
    title = _TITLES.get(error.status_code, Said("Sorry"))
    return _say(request, error.status_code, title, _DETAILS.get(error.detail, error.detail), "unknown")


def _handle_malformed(request: Request, error: RequestValidationError) -> Response:
    where = {".".join(str(p) for p in one["loc"][1:])[:80] for one in error.errors()}
    text = Said("This request cannot be read: {where}.", where=", ".join(sorted(where)[:5]) or Said("its body"))
    return _say(request, 422, Said("This request cannot be read"), text, "malformed")


def _handle_fault(request: Request, error: Exception) -> Response:
    """Respond to a database failure: annotators read that nothing is lost; the study lead and the log get the cause."""
    serving: Serving = request.app.state.assay
    cause = serving.faults.add(error)
    text: str = Said(
        "The study's database cannot be reached now. "
        "Your answers are kept in your browser and will be sent automatically later."
    )
    if request.url.path.startswith("/lead") and serving.held.leads(request, unread=True):
        text = f"The study's database cannot be used now: {cause}. Meanwhile, answers wait in the annotators' browsers."
    return _say(request, 503, Said("The server cannot answer now"), text, "fault")


def _say(request: Request, status: int, title: str, text: str, error: str) -> Response:
    """Send an error message: as JSON to the page's script, otherwise as a page."""
    state = request.app.state.assay.held
    if request.url.path.startswith(("/answers", "/drafts", "/pages")):
        return JSONResponse({"error": error, "message": state.words(request).own(text)}, status)
    reader = None if request.url.path.startswith("/lead") else request  # the dashboard is in English
    found: Response = state.page("notice.html", status, reader, title=title, text=text)
    return found
