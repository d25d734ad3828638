"""What stands before every route: no request from elsewhere, no body without end, headers that keep scripts out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BIGGEST_BODY = 512 * 1024
_TOO_LONG = "This is too long to be saved."
_ELSEWHERE = (
    "This request did not come from the address that the page is served at. Where a proxy stands before the server, "
    "assay serve must be told the address that people see, with --base-url."
)

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; worker-src 'self'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
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
            await _answer(send, headers, *refusal)
            return
        reply = _GuardedReply(send)
        try:
            await self.app(scope, _measured(receive), reply.send)
        except _TooLargeError:
            if not reply.began:
                await _answer(send, headers, 413, _TOO_LONG)

    def _refusal(self, method: str, headers: dict[bytes, str]) -> tuple[int, str] | None:
        """Status and words for a request that is refused unread."""
        if method not in ("GET", "HEAD", "OPTIONS") and not self._from_here(headers):
            return 403, _ELSEWHERE
        length = headers.get(b"content-length", "")
        if length.isdecimal() and int(length) > BIGGEST_BODY:
            return 413, _TOO_LONG
        return None

    def _from_here(self, headers: dict[bytes, str]) -> bool:
        """Whether a request that changes something was sent by a page of this server."""
        site = headers.get(b"sec-fetch-site")
        if site is not None and site != "same-origin":
            return False
        origin = headers.get(b"origin")
        if origin is None:
            return site == "same-origin"
        return urlsplit(origin).netloc.lower() in {headers.get(b"host", "").lower(), (self.host or "").lower()} - {""}


def _measured(receive: Receive) -> Receive:
    """What comes in, up to the longest body that is taken; a request need not say how long it is."""
    seen = 0

    async def measured() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BIGGEST_BODY:
            raise _TooLargeError
        return message

    return measured


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


async def _answer(send: Send, headers: dict[bytes, str], status: int, words: str) -> None:
    """Refuse in words: as JSON to the page's script, as text to anybody else."""
    as_json = headers.get(b"content-type", "").startswith("application/json")
    body = (json.dumps({"error": "refused", "message": words}) if as_json else words).encode()
    kind = b"application/json" if as_json else b"text/plain; charset=utf-8"
    own = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *_HEADERS]})
    await send({"type": "http.response.body", "body": body})
