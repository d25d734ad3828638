"""Protection of every request: permitted origins, size limit, and headers of the response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from annotating import Served, write_study

from assay.collecting.hosting.app import BIGGEST_BODY, Protection

HOST = b"label.example.org"

Ask = Callable[..., tuple[int, dict[bytes, bytes], bytes, int]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask a protected application; a refusal is in the language of a study that is served."""
    with Served(write_study(tmp_path_factory.mktemp("protection") / "study")) as page:
        yield partial(send_protected, page.app)


def send_protected(
    served: Any,
    method: str = "POST",
    headers: dict[bytes, bytes] | None = None,
    parts: tuple[int, ...] = (10,),
    *,
    host: str | None = None,
    early: bool = False,
    own: tuple[tuple[bytes, bytes], ...] = (),
) -> tuple[int, dict[bytes, bytes], bytes, int]:
    """Status, headers and body of the reply, and the number of bytes that the application received."""
    sent: list[dict[str, Any]] = []
    seen = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal seen
        if early:
            await send({"type": "http.response.start", "status": 200, "headers": list(own)})
        for _ in parts:
            seen += len((await receive())["body"])
        if not early:
            await send({"type": "http.response.start", "status": 200, "headers": list(own)})
        await send({"type": "http.response.body", "body": b"hello"})

    coming = iter(parts)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * next(coming)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = {b"host": HOST, b"sec-fetch-site": b"same-origin"} if headers is None else headers
    scope = {"type": "http", "method": method, "headers": list(given.items()), "app": served}
    asyncio.run(Protection(app, host)(scope, receive, send))
    first = sent[0]
    return first["status"], dict(first["headers"]), b"".join(one.get("body", b"") for one in sent), seen


@pytest.mark.parametrize(
    ("headers", "host", "taken"),
    [
        ({b"sec-fetch-site": b"same-origin"}, None, True),
        ({b"sec-fetch-site": b"same-site"}, None, False),
        ({b"sec-fetch-site": b"cross-site", b"origin": b"https://label.example.org"}, None, False),
        ({}, None, False),  # neither states its origin
        ({b"origin": b"https://label.example.org"}, None, True),
        ({b"origin": b"https://LABEL.example.org"}, None, True),
        ({b"origin": b"https://label.example.org:8"}, None, False),
        ({b"origin": b"https://evil.example.org"}, None, False),
        ({b"origin": b"https://people.example.org"}, "people.example.org", True),  # behind a proxy
        ({b"origin": b"https://people.example.org"}, "other.example.org", False),
        ({b"origin": b"null"}, None, False),
        ({b"origin": b"https://evil.example.org", b"sec-fetch-site": b"same-origin"}, None, False),
    ],
)
def test_modifying_requests_must_be_same_origin(
    ask: Ask, headers: dict[bytes, bytes], host: str | None, taken: bool
) -> None:
    status, _, _, seen = ask(headers={b"Host": HOST, **headers}, host=host)
    assert (status, seen) == ((200, 10) if taken else (403, 0))
    for method in ("PUT", "DELETE", "PATCH"):
        assert ask(method, {b"host": HOST, **headers}, host=host)[0] == status
    for method in ("GET", "HEAD", "OPTIONS"):
        assert ask(method, {b"host": HOST, **headers}, host=host)[0] == 200, (
            "safe requests are permitted from any origin"
        )


def test_request_without_host_is_not_same_origin(ask: Ask) -> None:
    assert ask(headers={b"origin": b"null"})[0] == 403


@pytest.mark.parametrize(
    ("said", "parts", "status", "seen"),
    [
        (None, (BIGGEST_BODY,), 200, BIGGEST_BODY),
        (None, (BIGGEST_BODY + 1,), 413, 0),
        (None, (BIGGEST_BODY - 9, 9), 200, BIGGEST_BODY),
        (None, (BIGGEST_BODY - 9, 10), 413, BIGGEST_BODY - 9),
        (BIGGEST_BODY, (10,), 200, 10),
        (BIGGEST_BODY + 1, (10,), 413, 0),  # refused unread
        ("many", (10,), 200, 10),
    ],
)
def test_body_limit_applies_regardless_of_stated_length(
    ask: Ask, said: Any, parts: Any, status: int, seen: int
) -> None:
    headers = {b"host": HOST, b"sec-fetch-site": b"same-origin"}
    headers |= {} if said is None else {b"content-length": str(said).encode()}
    found = ask(headers=headers, parts=parts)
    assert (found[0], found[3]) == (status, seen)
    if status == 200:
        assert found[2] == b"hello"


def test_started_reply_is_not_started_again(ask: Ask) -> None:
    status, _, body, _ = ask(parts=(BIGGEST_BODY + 1,), early=True)
    assert (status, body) == (200, b"")


def test_refusals_are_json_for_scripts_and_text_otherwise(ask: Ask) -> None:
    for kind in (b"application/json", b"application/json; charset=utf-8"):
        status, headers, body, _ = ask(headers={b"host": HOST, b"Content-Type": kind})
        assert (status, headers[b"content-type"]) == (403, b"application/json")
        said = json.loads(body)
        assert said.keys() == {"error", "message"}
        assert said["error"] == "refused"
    _, headers, text, _ = ask(headers={b"host": HOST, b"content-type": b"text/html"})
    assert (headers[b"content-type"], text.decode()) == (b"text/plain; charset=utf-8", said["message"])
    assert headers[b"content-length"] == str(len(text)).encode()
    assert headers[b"cache-control"] == b"no-store"


def test_missing_headers_are_added(ask: Ask) -> None:
    plain = ask()[1]
    refused = ask(headers={b"host": HOST})[1]
    assert plain.keys() == refused.keys() - {b"content-type", b"content-length"}
    assert plain[b"cache-control"] == b"no-store"
    name = b"referrer-policy"
    assert name in plain
    own = ask(own=((b"Cache-Control", b"public"), (name.title(), b"own")))[1]
    assert own[b"Cache-Control"] == b"public"
    assert (own[name.title()], b"cache-control" in own, name in own) == (b"own", False, False)
    assert {key: value for key, value in own.items() if key in plain} == {
        key: value for key, value in plain.items() if key not in (b"cache-control", name)
    }


def test_other_scopes_are_passed_on() -> None:
    given: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        given.append((scope, receive, send))

    asyncio.run(Protection(app)({"type": "lifespan"}, "receive", "send"))  # type: ignore[arg-type]
    assert given == [({"type": "lifespan"}, "receive", "send")]


@pytest.mark.slow
def test_missing_and_malformed_requests_get_messages(serve: Callable[..., Served]) -> None:
    page = serve(items=1)
    ana, lead = page.annotator(), page.lead()
    gone = ana.send("GET", "/nowhere")
    assert (gone.status, "There is no such page" in gone.text) == (404, True)
    here = ana.send("DELETE", "/work")
    assert (here.status, "This cannot be done here" in here.text) == (405, True)
    wrong = ana.send("POST", "/answers", {"task": "x"})
    assert (wrong.status, wrong.json()["error"]) == (422, "malformed")
    assert wrong.json()["message"].startswith("This request cannot be read: ")
    assert {"key", "revision", "task"} <= set(wrong.json()["message"].partition(": ")[2].rstrip(".").split(", "))
    assert lead.send("GET", "/lead/nowhere").status == 404
