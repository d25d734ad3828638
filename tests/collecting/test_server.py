"""Who may reach the page, and under which addresses: refused before anything listens."""

from __future__ import annotations

import contextlib
import logging
import logging.config
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from annotating import SECRET, Served
from uvicorn.importer import import_from_string

from assay.collecting.hosting import connections, server
from assay.collecting.hosting.connections import GuardedConnection, WaitingConnections
from assay.collecting.hosting.server import check_reach, links
from assay.collecting.invitations import LeadAccess, signer_of
from assay.errors import StudyError
from assay.study.store.people import set_state

LONG = "x" * 16


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
def test_local_server_requires_no_secret(host: str) -> None:
    check_reach(host, 0, None)
    check_reach(host, 0, LONG)


@pytest.mark.parametrize(
    ("host", "secret", "words"),
    [
        ("127.0.0.1", "x" * 15, r"^the secret must have at least 16 characters; make one with: openssl rand -hex 32$"),
        ("0.0.0.0", "", "^the secret must have at least 16 characters"),
        ("0.0.0.0", None, r"^--host 0\.0\.0\.0 gives other machines access, which requires a secret: set"),
        ("example.org", None, r"^--host example\.org gives other machines access"),
    ],
)
def test_public_server_requires_a_long_secret(host: str, secret: str | None, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        check_reach(host, 0, secret)
    check_reach("0.0.0.0", 0, LONG)


def test_check_reach_refuses_used_and_invalid_ports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StudyError, match=rf"^port {port} of 127\.0\.0\.1 is already in use; choose"):
            check_reach("127.0.0.1", port, None)
    check_reach("127.0.0.1", port, None)
    for none in (65536, -1):
        with pytest.raises(StudyError, match=rf"^--port {none} is not valid; a port is a number from 0 to 65535$"):
            check_reach("127.0.0.1", none, None)


def test_links_omit_revoked_annotators(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana", "ben"))
    set_state(page.store, "ben", "revoked")
    lead, people = links(page.study, "http://label.example.org/", SECRET)
    signer = signer_of(page.study, page.store, SECRET)
    # Links made in another second have another signature, so what they say is compared.
    assert signer.check_lead(lead.removeprefix("http://label.example.org/lead/join/")) == LeadAccess()
    assert list(people) == ["ana"]
    token, before = people["ana"].removeprefix("http://label.example.org/join/"), page.links["ana"]
    assert signer.person(token) == signer.person(before.removeprefix("/join/")) == ("ana", 1)


# -- connections that are slow, and lines that are many -------------------------------------------------


def test_oldest_waiting_connection_of_busiest_address_is_closed() -> None:
    cut: list[str] = []
    among = WaitingConnections(3)

    class One:
        def __init__(self, name: str, address: str) -> None:
            self.name, self.address = name, address

        def cut(self) -> None:
            cut.append(self.name)
            among.remove(self)  # type: ignore[arg-type]

    many: list[Any] = [One(f"a{n}", "a") for n in range(3)] + [One("b0", "b"), One("b1", "b")]
    for one in many[:3]:
        among.add(one)
        among.add(one)  # again: it waits for its body now
    assert cut == []
    among.add(many[3])
    assert cut == ["a0"]
    among.add(many[4])
    assert cut == ["a0", "a1"]
    among.remove(many[3])
    among.remove(many[3])
    among.add(many[0])
    assert cut == ["a0", "a1"]
    among.add(many[1])
    assert cut == ["a0", "a1", "a2"]


class Connection:
    """The state that `GuardedConnection._wait_for` needs: a loop that records its timers."""

    def __init__(self, *, paused: bool = False, closing: bool = False, unsent: int = 0) -> None:
        self.later: list[float] = []
        self.address, self._part, self._timer, self.cancelled = "a", "", None, 0
        self.waiting, self.flow = WaitingConnections(9), SimpleNamespace(write_paused=paused)
        self.transport = SimpleNamespace(is_closing=lambda: closing, get_write_buffer_size=lambda: unsent)
        self.loop = SimpleNamespace(call_later=self._call_later)

    def _call_later(self, seconds: float, _what: Any) -> Any:
        self.later.append(seconds)
        return SimpleNamespace(cancel=lambda: setattr(self, "cancelled", self.cancelled + 1))

    def cut(self) -> None: ...

    def _end_wait(self) -> None:
        GuardedConnection._end_wait(self)  # type: ignore[arg-type]

    def wait_for(self, *parts: str) -> tuple[str, list[float], int, int]:
        for part in parts:
            GuardedConnection._wait_for(self, part)  # type: ignore[arg-type]
        return self._part, self.later, self.cancelled, self.waiting._number


@pytest.mark.parametrize(
    ("parts", "state", "wanted"),
    [
        (["head"], {}, ("head", [10.0], 0, 1)),
        (["head", "head"], {}, ("head", [10.0], 0, 1)),
        (["head", "body"], {}, ("body", [10.0, 30.0], 1, 1)),
        (["head", ""], {}, ("", [10.0], 1, 0)),
        (["next"], {}, ("next", [], 0, 1)),
        (["next", "head"], {}, ("head", [10.0], 0, 1)),
        (["reply"], {}, ("reply", [30.0], 0, 1)),
        (["next"], {"paused": True}, ("reply", [30.0], 0, 1)),
        (["head"], {"closing": True}, ("", [], 0, 0)),
        (["head"], {"closing": True, "unsent": 1}, ("reply", [30.0], 0, 1)),
        (["reply"], {"closing": True}, ("reply", [30.0], 0, 1)),
    ],
)
def test_time_limits_of_requests(parts: list[str], state: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    assert Connection(**state).wait_for(*parts) == wanted


def test_connections_are_counted_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.H11Protocol, "connection_made", lambda self, transport: None)
    monkeypatch.setattr(connections, "open_files", lambda: 400)
    for client, address in ((("10.0.0.7", 5000), "10.0.0.7"), (None, "")):
        parts: list[str] = []
        found = object.__new__(GuardedConnection)
        found.client, found.waiting = client, WaitingConnections(0)
        found._wait_for = parts.append  # type: ignore[method-assign]
        found.connection_made(SimpleNamespace())  # type: ignore[arg-type]
        assert (found.address, found.waiting.most, parts) == (address, 100, ["head"])


def test_seldom_passes_a_repeated_line_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(connections.time, "monotonic", lambda: now[0])
    seldom = connections.Seldom()

    def line(words: str = "no %s", error: BaseException | None = None, **more: Any) -> str | None:
        about = None if error is None else (type(error), error, None)
        record = logging.LogRecord(more.get("name", "x"), logging.WARNING, "f", 1, words, ("database",), about)
        return record.getMessage() if seldom.filter(record) else None

    assert [line(), line(), line()] == ["no database", None, None]
    assert [line(error=OSError()), line(error=ValueError()), line(error=OSError())] == ["no database"] * 2 + [None]
    assert (line(name="y"), line("not a %s")) == ("no database", "not a database")
    now[0] += 59.9
    assert line() is None
    now[0] += 0.1
    assert line() == "no database (3 more times since this was last written)"
    now[0] += 60
    assert line() == "no database"
    monkeypatch.setattr(connections, "MOST_LINES", 5)
    assert [line(f"line {n} %s") is None for n in range(2)] == [False, False]  # the sixth and the first of a new five
    assert line("line 1 %s") is None
    assert line() == "no database", "earlier lines are forgotten"


def test_warnings_are_logged_once_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    known = logging.getLogger("known.before")
    try:
        logging.config.dictConfig(connections.LOGGING)
        for _ in range(2):
            known.warning("no %s", "database")
            known.info("a visitor")
    finally:
        root.handlers[:], root.level = handlers, level
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING no database", line)


class Connected(GuardedConnection):
    """A connection that only records its waits."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def _wait_for(self, part: str) -> None:
        self.parts.append(part)


@pytest.mark.parametrize(
    ("event", "more", "part"),
    [
        ("data_received", {"cycle": None}, "head"),
        ("data_received", {"cycle": SimpleNamespace(response_complete=True, more_body=True)}, "head"),
        ("data_received", {"cycle": SimpleNamespace(response_complete=False, more_body=True)}, "body"),
        ("data_received", {"cycle": SimpleNamespace(response_complete=False, more_body=False)}, ""),
        ("on_response_complete", {}, "next"),
        ("timeout_keep_alive_handler", {}, ""),
        ("pause_writing", {}, "reply"),
        ("resume_writing", {}, ""),
    ],
)
def test_order_of_waiting_states(event: str, more: dict[str, Any], part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    monkeypatch.setattr(connections.H11Protocol, event, lambda self, *given: done.append(given))
    found: Any = Connected()
    found.__dict__.update(more)
    given = (b"GET",) if event == "data_received" else ()
    getattr(found, event)(*given)
    assert (done, found.parts) == ([given], [part])


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "files"),
    [
        (1024, -1, (8192, -1), 8192),  # without an end
        (1024, 4096, (4096, 4096), 4096),
        (1024, 9000, (8192, 9000), 8192),
        (4096, 4096, None, 4096),
        (8192, -1, None, 8192),
        (10000, 20000, None, 10000),
    ],
)
def test_open_files_are_raised_up_to_8192(
    soft: int, hard: int, raised: tuple[int, int] | None, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    told: list[Any] = []
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, wanted: told.append(wanted))
    assert connections.open_files() == files
    assert told == ([] if raised is None else [raised])


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """The calls and arguments that start the server of a study in ``tmp_path``."""
    uvicorn = pytest.importorskip("uvicorn")
    done: dict[str, Any] = {}

    def note(name: str, answer: Any = None) -> Callable[..., Any]:
        def doing(*given: Any, **named: Any) -> Any:
            done[name] = (given, named)
            return answer

        return doing

    monkeypatch.setattr(uvicorn, "run", note("run"))
    monkeypatch.setattr(server, "open_files", lambda: 403)
    monkeypatch.setattr(server, "load_study", lambda folder: SimpleNamespace(folder=Path(folder)))
    monkeypatch.setattr(server, "open_store", note("open", contextlib.nullcontext("opened")))
    for name in ("check_reach", "sync_study"):
        monkeypatch.setattr(server, name, note(name))
    monkeypatch.setattr(server, "secret_of", lambda store, secret: secret or f"drawn by {store}")
    monkeypatch.setattr(server, "make_app", note("make_app", "app"))
    monkeypatch.setattr(server, "app_of", note("app_of", "app of a worker"))
    monkeypatch.delenv("ASSAY_SERVE", raising=False)
    return done


def test_single_worker_serves_the_application_directly(started: dict[str, Any], tmp_path: Path) -> None:
    study: Any = SimpleNamespace(folder=tmp_path)
    server.serve(study)
    assert started["check_reach"] == (("127.0.0.1", 8321, None), {})
    assert started["open"] == ((study, None), {"patience": 10.0})  # a browser asks again after 15 seconds
    assert started["sync_study"] == (("opened", study, None), {})
    assert started["make_app"] == ((study, "opened", "drawn by opened", None), {})
    given, named = started["run"]
    assert given == ("app",)
    assert (named["host"], named["port"], named["backlog"]) == ("127.0.0.1", 8321, 100)
    assert (named["server_header"], named["log_level"], named["ws"]) == (False, "warning", "none")
    # Only a proxy on this machine is trusted about the protocol.
    assert (named["proxy_headers"], named["forwarded_allow_ips"]) == (True, "127.0.0.1")
    # By name, because worker processes are handed it.
    assert (named["timeout_graceful_shutdown"], named["http"]) == (10, server.CONNECTION)
    assert import_from_string(server.CONNECTION) is GuardedConnection
    assert named["log_config"] is connections.LOGGING
    assert "ASSAY_SERVE" not in os.environ


def test_workers_get_settings_from_the_environment(started: dict[str, Any], tmp_path: Path) -> None:
    study: Any = SimpleNamespace(folder=tmp_path)
    address = {"host": "0.0.0.0", "port": 80, "base_url": "https://label.example.org"}
    try:
        server.serve(study, **address, workers=2, secret=LONG, store="sqlite:///s.db", changed="new-version")  # type: ignore[arg-type]
        assert started["check_reach"] == (("0.0.0.0", 80, LONG), {})
        assert started["sync_study"] == (("opened", study, "new-version"), {})
        assert started["make_app"] == ((study, "opened", LONG, "https://label.example.org"), {})
        given, named = started["run"]
        assert given == ("assay.collecting.hosting.server:worker",)
        assert (named["factory"], named["workers"], named["host"], named["port"]) == (True, 2, "0.0.0.0", 80)
        assert server.worker() == "app of a worker"
    finally:
        os.environ.pop("ASSAY_SERVE", None)
    (same, url), named = started["open"]
    assert (same.folder, url, named) == (tmp_path.resolve(), "sqlite:///s.db", {"patience": 10.0})
    (_, *served), _ = started["app_of"]
    assert served == [tmp_path.resolve(), LONG, "https://label.example.org"]
