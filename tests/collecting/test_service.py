"""A long-running server: many and slow connections, invalid requests, database failures, and its log."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import uvicorn
from annotating import STARS, Annotator, Network, Served, Server, crowded, invite_people, write_study
from uvicorn.server import ServerState

from assay.collecting.hosting import connections
from assay.collecting.hosting.connections import Seldom, WaitingConnections
from assay.collecting.invitations import invite
from assay.collecting.serving import cause_of
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.store.connection import Store, open_store
from waiting import wait_until


class Waiting:
    """A connection as seen by the counter of connections."""

    def __init__(self, address: str, among: WaitingConnections) -> None:
        self.address, self._among, self.open = address, among, True
        among.add(self)  # type: ignore[arg-type]

    def cut(self) -> None:
        self.open = False
        self._among.remove(self)  # type: ignore[arg-type]


def test_oldest_connection_of_busiest_address_is_closed() -> None:
    among = WaitingConnections(5)
    ana = Waiting("10.0.0.1", among)
    crowd = [Waiting("10.0.0.2", among) for _ in range(20)]
    assert ana.open
    assert [one.open for one in crowd] == [False] * 16 + [True] * 4
    among.remove(ana)  # type: ignore[arg-type]  # her request is here
    assert all(one.open for one in crowd[16:])
    ben = Waiting("10.0.0.3", among)
    Waiting("10.0.0.3", among)
    assert ben.open
    assert not crowd[16].open


def test_seldom_passes_a_repeated_line_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    seldom = Seldom()

    def said(words: str, *values: object) -> str | None:
        record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, words, values, None)
        return record.getMessage() if seldom.filter(record) else None

    assert [said("Invalid %s", n) for n in range(100)] == ["Invalid 0"] + [None] * 99
    assert said("Another") == "Another"
    now[0] += 61
    assert said("Invalid %s", 7) == "Invalid 7 (99 more times since this was last written)"
    assert said("Another") == "Another"


# -- a database that fails ------------------------------------------------------------------------------


def break_store(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    def fail(self: Store) -> Any:
        raise sa.exc.OperationalError("select 1", None, sqlite3.OperationalError(words))

    for name in ("reading", "writing", "exclusive"):
        monkeypatch.setattr(Store, name, fail)


def test_database_failure_is_logged_once_and_shown_to_the_lead(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    page: Served = serve()
    ana, lead, stranger = page.annotator(), page.lead(), page.visitor("/lead")
    task = ana.work()[0]
    with monkeypatch.context() as broken:
        break_store(broken, "unable to open database file\nDETAIL: more lines")
        reply = ana.answer(task)
        assert (reply.status, reply.json()["error"]) == (503, "fault")
        assert reply.json()["message"].startswith("The study's database cannot be reached now. Your answers are kept")
        assert "The server cannot answer now" in ana.send("GET", "/work").text
        assert "unable to open" not in ana.heard[-1].text if ana.heard else True
        assert (
            "cannot be used now: unable to open database file. Meanwhile, answers wait"
            in lead.send("GET", "/lead/live").text
        )
        assert "unable to open" not in stranger.send("GET", "/lead").text
        assert ana.send("GET", "/health").status == 200
        assert ana.send("GET", "/health/store").status == 503
    said = {record.getMessage() for record in caplog.records}
    assert said == {"the study's database cannot be used: unable to open database file"}
    assert all(record.exc_info is None for record in caplog.records)
    assert ana.answer(task).status == 200
    told = lead.send("GET", "/lead").text
    assert re.search(r"could not be used \(<time [^>]*data-local>[^<]+ UTC</time> to .*; 5 requests\): unable", told)
    assert ana.send("GET", "/health/store").json() == {"ok": True}


@contextlib.contextmanager
def holding(lock: Any) -> Iterator[None]:
    """Another thread has the lock, because its own thread can acquire it again."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.slow
def test_locked_database_is_answered_in_time(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path / "study"))
    with open_store(study, patience=0.3) as store:
        invite_people(study, store, ["ana"])
        with contextlib.closing(sqlite3.connect(store.engine.url.database or "")) as other:
            other.execute("begin immediate")
            begun = time.monotonic()
            with pytest.raises(sa.exc.OperationalError) as failed, store.exclusive():
                pass
            assert time.monotonic() - begun < 5
            assert cause_of(failed.value) == "database is locked (by another program)"
            with holding(store._turn), pytest.raises(sa.exc.TimeoutError, match="others wait"), store.exclusive():
                pass
        with store.exclusive():
            pass


# -- connections ----------------------------------------------------------------------------------------


@pytest.fixture(params=["at most", "at first"])
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """A server limited to 1,024 open files, or able to raise the limit; and the link of an annotator."""
    folder = write_study(tmp_path / "study", items=4)
    study = load_study(folder)
    with open_store(study) as store:
        links = invite_people(study, store, ["ana"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = "ulimit -n 1024" if request.param == "at most" else "ulimit -S -n 1024"
    with Server(folder, before=("sh", "-c", f'{limit}; exec "$@"', "sh")) as server:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            yield server, links
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.served
def test_requests_are_served_despite_half_open_connections(running: Any) -> None:
    server, links = running
    with crowded(server.port):
        begun = time.monotonic()
        ana = Annotator(Network(server.url, timeout=10), links["ana"])
        assert ana.join().status == 200
        assert ana.answer(ana.work()[0]).status == 200
        took = time.monotonic() - begun
        ana.wire.close()
        assert took < 2, f"{took:.1f} s"
        for _ in range(300):  # invalid requests, each of which uvicorn logs
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one, contextlib.suppress(OSError):
                one.sendall(b"\0nonsense\r\n\r\n")
        assert server.healthy()
    written = server.log.read_text()
    assert len(written) < 4000, written[:4000]
    assert written.count("Invalid HTTP request") == 1


SLOW = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "assay.collecting.hosting.app" and "--multiprocessing-fork" in sys.orig_argv:
            time.sleep(12)
sys.meta_path.insert(0, Slow())
"""
"""A worker process needs twelve seconds more to import the application, as on a busy machine."""


def workers_of(server: Server) -> list[int]:
    """The worker processes."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return sorted(int(one) for one in children if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text())


@pytest.mark.served
def test_serve_starts_workers_that_take_twelve_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "sitecustomize.py").write_text(SLOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "slow"))
    with Server(write_study(tmp_path / "study", items=4), workers=2) as server:
        started = workers_of(server)
        assert len(started) == 2
        assert "worker process" not in server.log.read_text()  # none was replaced


@contextlib.contextmanager
def busy_machine(number: int, seconds: float) -> Iterator[None]:
    """So many processes that compute, a little after others in the queue; they end by themselves, too."""
    program = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    started = [subprocess.Popen(["nice", "-n", "10", sys.executable, "-c", program]) for _ in range(number)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


@pytest.mark.served
@pytest.mark.slow  # it takes a minute of a busy machine, which is when browsers are late
def test_serve_starts_two_workers_at_a_load_of_forty(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", items=4)
    study = load_study(folder)
    with open_store(study) as store:
        links = invite_people(study, store, ["ana"])
    server = Server(folder, workers=2)
    try:
        with busy_machine(40, seconds=240):
            server.start(wait=240)
            assert len(workers_of(server)) == 2
        ana = Annotator(Network(server.url, timeout=30), links["ana"])
        assert ana.join().status == 200
        assert ana.answer(ana.work()[0]).status == 200
        ana.wire.close()
    finally:
        server.close()


@pytest.mark.served
def test_serve_logs_a_worker_that_was_replaced(tmp_path: Path) -> None:
    with Server(write_study(tmp_path / "study", items=4), workers=2) as server:
        first, second = workers_of(server)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: "was replaced by worker process" in server.log.read_text(), server.log.read_text)
        assert second in workers_of(server)
        (new,) = set(workers_of(server)) - {second}
        written = server.log.read_text()
        assert f"worker process {first} ended (killed: " in written
        assert f" and was replaced by worker process {new}." in written
        wait_until(server.healthy, "the server does not answer")


def test_client_that_does_not_read_the_reply_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 2**24
    paused: set[Any] = set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        parts = int(scope["path"].strip("/"))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
        for number in range(1, parts + 1):
            await send({"type": "http.response.body", "body": b"." * (size // parts), "more_body": number < parts})

    class Watched(connections.GuardedConnection):
        waiting = WaitingConnections(100)

        def pause_writing(self) -> None:
            super().pause_writing()
            paused.add(self)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            paused.discard(self)

    async def until(condition: Callable[[], bool]) -> None:
        for _ in range(6000):
            if condition():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("nothing was cut off")

    async def took(port: int, asked: bytes, *, at_once: bool) -> int:
        """How many bytes came."""
        monkeypatch.setattr(connections, "TAKE_SECONDS", 600 if at_once else 0.1)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked + b"\r\n\r\n")
        found = 0
        with contextlib.suppress(ConnectionResetError):
            if not at_once:
                await until(lambda: bool(paused))
                await until(lambda: not paused)
            while found < size and (came := await reader.read(2**20)):
                found += len(came)
        writer.close()
        return found

    async def each() -> list[int]:
        config = uvicorn.Config(app, http=Watched, lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        made = functools.partial(Watched, config=config, server_state=state, app_state={})
        listening = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        in_parts, whole = (b"GET /%d HTTP/1.1\r\nHost: a" % parts for parts in (16, 1))
        asked = [in_parts, whole, whole + b"\r\nConnection: close"]
        found = [await took(port, one, at_once=at_once) for at_once in (True, False) for one in asked]
        listening.close()
        await until(lambda: not Watched.waiting._number)
        return found

    found = asyncio.run(each())
    assert min(found[:3]) >= size > max(found[3:]), found


@pytest.mark.served
def test_slow_request_is_closed(running: Any) -> None:
    server, _ = running
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as one:
        begun = time.monotonic()
        one.sendall(b"GET /health HTT")
        wait_until(lambda: _ended(one), "the connection stays open", seconds=30, every=0.5)
        assert 8 < time.monotonic() - begun < 20


def _ended(one: socket.socket) -> bool:
    one.settimeout(0.5)
    try:
        return one.recv(100) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


# -- small things that are not said twice, or to others -------------------------------------------------


@pytest.mark.slow
def test_name_that_differs_only_in_case_is_refused_with_suggestion(serve: Any) -> None:
    page: Served = serve(who=("Ana Ruiz",))
    with pytest.raises(StudyError, match=r"^'ana ruiz' differs only in case from 'Ana Ruiz', who is invited already"):
        invite(page.design, "ana  ruiz")
    assert page.lead().form("/lead/people", name="ANA RUIZ").status == 422
    assert invite(page.design, "Ana Ruiz the second").name == "Ana Ruiz the second"


@pytest.mark.slow
def test_referrer_does_not_contain_the_personal_link(serve: Any) -> None:
    page: Served = serve()
    joining = page.visitor(page.links["ana"]).send("GET", page.links["ana"]).text
    assert '<meta name="referrer" content="strict-origin">' in joining
    assert '<meta name="referrer" content="same-origin">' in page.annotator().send("GET", "/work").text


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.png", b"", "is an empty file; it would"),
        ("a.png", b"\xff\xd8\xff\xe0", "is no PNG inside; it would"),
        ("a.webp", b"RIFF1234WAVE", "is no WEBP inside; it would"),
        ("a.jpg", b"\xff\xd8\xff\xe0", ""),
        ("a.webp", b"RIFF1234WEBPVP8", ""),
        ("a.avif", b"\0\0\0\x20ftypavif", ""),
    ],
)
def test_invisible_image_is_refused(serve: Any, tmp_path: Path, name: str, content: bytes, words: str) -> None:
    about = {"items": [{"item": "i1", "text": "A text.", "photo": name}], "questions": [{**STARS, "show": ["text"]}]}
    folder = write_study(tmp_path / "pictures", **about)
    (folder / name).write_bytes(content)
    config = folder / "study.yaml"
    config.write_text(config.read_text().replace("file: items.jsonl", "file: items.jsonl\n  images: [photo]"))
    if not words:
        Served(folder).close()
        return
    with pytest.raises(StudyError, match=re.escape(f"the image '{name}' of item 'i1' (column 'photo') {words}")):
        Served(folder)


@pytest.mark.slow
def test_times_are_tagged_for_local_display(serve: Any, clock: Any) -> None:
    scales = ["1-5", "interval:0-10"]
    page: Served = serve(items=1, people={"days_apart": 1}, conditions={"scale": scales})
    ana = page.annotator()
    assert ana.work_through() == "later"
    said = ana.pages()[1]["end"]["html"]
    assert re.search(r'opens on <time datetime="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ" data-local>\d\d \w+ \d{4}, ', said)
