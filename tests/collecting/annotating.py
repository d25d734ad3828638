"""Helpers of the tests and the load benchmark: a study on disk, its server, and people who answer over HTTP.

A person (`Annotator`) reaches the page through a wire: `Network` to a server in a separate process,
`InProcess` to the application itself. Both give back every byte that came.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlencode, urlsplit

import anyio
import sqlalchemy as sa
import yaml
from anyio.from_thread import start_blocking_portal

from assay.collecting.design import StudyDesign
from assay.collecting.hosting.app import make_app
from assay.collecting.invitations import invite, signer_of
from assay.study.definition import Study, load_study
from assay.study.store import tables
from assay.study.store.answers import history
from assay.study.store.connection import Store, open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import find
from assay.study.store.work import Changed
from waiting import wait_until

SECRET = "a secret for tests alone, 32 signs"
T = TypeVar("T")
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
STARS = {"name": "stars", "text": "How many stars?", "scale": "1-5"}


class Clock:
    """The clock of this process, moved ahead by some seconds; it can be stopped."""

    real = staticmethod(time.time)

    ahead = 0.0
    stopped: float | None = None

    def now(self) -> float:
        return (self.real() if self.stopped is None else self.stopped) + self.ahead

    def stop(self) -> None:
        self.stopped = self.real()

    def later(self, *, minutes: float = 0, days: float = 0) -> None:
        self.ahead += minutes * 60 + days * 86400


# -- a study ----------------------------------------------------------------------------------------


def write_study(
    folder: Path,
    *,
    items: int | Sequence[Mapping[str, Any]] = 12,
    questions: Sequence[Mapping[str, Any]] = (STARS,),
    people: Mapping[str, Any] | None = None,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    **rest: Any,
) -> Path:
    """A study folder: its items, its questions, its settings for people, and further tables by file name."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(items, int):
        items = [{"item": f"i{number:03d}", "text": f"Text number {number}."} for number in range(items)]
    for name, rows in {"items.jsonl": items, **(tables or {})}.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    content = {"name": "A study", "items": {"file": "items.jsonl"}, "questions": [dict(q) for q in questions]}
    content |= {"people": dict(people or {})} | rest
    (folder / "study.yaml").write_text(
        yaml.dump(content, Dumper=_Dumper, allow_unicode=True, sort_keys=False), encoding="utf-8"
    )
    return folder


def invite_people(
    study: Study,
    store: Store,
    people: Iterable[str] | Mapping[str, Mapping[str, Any]],
    secret: str = SECRET,
) -> dict[str, str]:
    """Invite people, with their attributes if given as a mapping; return the path of each link."""
    sync_study(store, study)
    return _invite_all(StudyDesign(study, store), people, secret)


def _invite_all(
    design: StudyDesign, people: Iterable[str] | Mapping[str, Mapping[str, Any]], secret: str
) -> dict[str, str]:
    attributes = people if isinstance(people, Mapping) else {name: {} for name in people}
    for name, about in attributes.items():
        invite(design, name, about)
    return {name: link_of(design.study, design.store, name, secret) for name in attributes}


def link_of(study: Study, store: Store, name: str, secret: str = SECRET) -> str:
    """The path of a person's current link."""
    person = find(store, name)
    assert person is not None
    return f"/join/{signer_of(study, store, secret).person_token(person.name, person.link)}"


def lead_path(study: Study, store: Store, secret: str = SECRET) -> str:
    """The path of the lead's link."""
    return f"/lead/join/{signer_of(study, store, secret).lead_token()}"


# -- its server -------------------------------------------------------------------------------------


def reserved_port() -> socket.socket:
    """A socket that reserves a port, so that only the test's server can listen there."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return held


class Server:
    """``assay serve`` in a separate process, which can be killed and started again on the same port.

    Its command follows the words of ``before``.
    """

    def __init__(
        self, folder: Path, store: str | None = None, workers: int = 1, secret: str = SECRET, before: Sequence[str] = ()
    ) -> None:
        self.folder, self.store, self.workers, self.secret, self.before = folder, store, workers, secret, before
        self._held = reserved_port()
        self.port = int(self._held.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, wait: float = 60) -> None:
        """Start it, and wait until it answers."""
        program = "from assay.cli.app import main; main()"
        command = [*self.before, sys.executable, "-c", program, "serve", str(self.folder), "--port", str(self.port)]
        command += ["--store", self.store] if self.store else []
        command += ["--workers", str(self.workers)] if self.workers > 1 else []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"ASSAY_SECRET": self.secret},
                start_new_session=True,
            )
        process = self._process
        wait_until(lambda: self.healthy() or process.poll() is not None, self._said, seconds=wait)
        assert process.poll() is None, self._said()

    def _said(self) -> str:
        return f"the server did not start:\n{self.log.read_text()[-4000:]}"

    def healthy(self) -> bool:
        """Whether it answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """Kill the server and its workers at once, as a power failure would: ``kill -9``."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        """Stop the server permanently, and release its port."""
        self.kill()
        self._held.close()

    @property
    def pid(self) -> int:
        """The id of the started process."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# -- wires ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    cookies: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:
        return json.loads(self.body)


class Wire(Protocol):
    """A wire to the server."""

    origin: str

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Reply: ...

    def close(self) -> None: ...


class LostError(Exception):
    """There was no reply; it is unknown whether the request arrived."""


class Network:
    """Requests over TCP, on one persistent connection."""

    def __init__(self, url: str, timeout: float = 60) -> None:
        self.origin, self.timeout = url.rstrip("/"), timeout
        self._connection: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
        """One request.

        Raises
        ------
        LostError
            If the connection broke before the reply was complete.
        """
        if self._connection is None:
            self._connection = http.client.HTTPConnection(urlsplit(self.origin).netloc, timeout=self.timeout)
        try:
            self._connection.request(method, path, body, dict(headers))
            found = self._connection.getresponse()
            content = found.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise LostError(str(error)) from error
        named = {name.lower(): value for name, value in found.getheaders()}
        return Reply(found.status, named, content, tuple(found.headers.get_all("set-cookie") or ()))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class InProcess:
    """Requests to the application itself; an exception in it is raised here instead of becoming a response.

    Parameters
    ----------
    app : ASGI application
    portal : BlockingPortal
        To the event loop in which it runs.
    """

    origin = "http://testserver"

    def __init__(self, app: Any, portal: Any) -> None:
        self._app, self._portal = app, portal

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
        """One request."""
        path, _, query = path.partition("?")
        sent = {"Host": "testserver", "Accept": "*/*", "User-Agent": "testclient"}
        sent |= {} if body is None and method == "GET" else {"Content-Length": str(len(body or b""))}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (name.lower().encode(), value.encode("latin-1")) for name, value in {**sent, **headers}.items()
            ],
            "client": ("testclient", 50000),
            "server": ("testserver", 80),
        }
        reply: Reply = self._portal.call(self._ask, scope, body or b"")
        return reply

    async def _ask(self, scope: dict[str, Any], body: bytes) -> Reply:
        messages = [{"type": "http.request", "body": body}]
        parts: list[bytes] = []
        start: dict[str, Any] = {}
        ended = anyio.Event()

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await ended.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                ended.set()

        await self._app(scope, receive, send)
        named = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in start["headers"]]
        cookies = tuple(value for name, value in named if name == "set-cookie")
        return Reply(start["status"], dict(named), b"".join(parts) if scope["method"] != "HEAD" else b"", cookies)

    def close(self) -> None:
        pass


# -- contents of a page -----------------------------------------------------------------------------


@dataclass
class AskedOnPage:
    """One question as shown on the page."""

    id: str
    name: str
    kind: str
    values: list[str] = field(default_factory=list)
    """The choices, as JSON."""
    low: float | None = None
    high: float | None = None
    optional: bool = False
    given: str | None = None


@dataclass
class TaskOnPage:
    """One item as shown on the page."""

    id: int
    page: int
    place: int
    revision: int
    state: str
    practice: bool
    draft: Any = None
    questions: list[AskedOnPage] = field(default_factory=list)
    text: str = ""
    """Everything that is read in it."""


# The standard library's parser is ten times slower, and pages are parsed thousands of times.
_PIECE = re.compile(r"""<([a-z]+)((?:[^<>"]|"[^"]*")*)>|<[^>]*>|([^<]+)""")
_ATTRIBUTE = re.compile(r'([a-z-]+)(?:="([^"]*)")?')


def tasks_of(html: str) -> list[TaskOnPage]:
    """The items on a page, with their questions."""
    tasks: list[TaskOnPage] = []
    page = 0
    for found in _PIECE.finditer(html):
        tag, attributes, text = found.groups()
        if text is not None and tasks:
            tasks[-1].text += unescape(text)
        if tag not in ("form", "section", "fieldset", "input"):
            continue
        about = {name: unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
        if tag == "form" and "data-page" in about:
            page = int(about["data-page"] or 0)
        elif tag == "section" and "data-task" in about:
            tasks.append(_task_on_page(about, page))
        elif tag == "fieldset" and "data-question" in about:
            tasks[-1].questions.append(_asked_on_page(about))
        elif tag == "input" and about.get("type") == "radio" and tasks and tasks[-1].questions:
            asked = tasks[-1].questions[-1]
            if about.get("name") == f"q-{tasks[-1].id}-{asked.id}":
                asked.values.append(about["value"])
    return tasks


def _task_on_page(about: Mapping[str, str], page: int) -> TaskOnPage:
    number, place, revision = (int(about[f"data-{name}"] or 0) for name in ("task", "place", "revision"))
    draft = json.loads(about["data-draft"]) if "data-draft" in about else None
    return TaskOnPage(number, page, place, revision, about["data-state"], "data-practice" in about, draft)


def _asked_on_page(about: Mapping[str, str]) -> AskedOnPage:
    asked = AskedOnPage(about["data-question"], about.get("data-name", ""), about.get("data-kind", ""))
    asked.low, asked.high = (float(about[end]) if end in about else None for end in ("data-low", "data-high"))
    asked.optional, asked.given = "data-optional" in about, about.get("data-given")
    return asked


def some_label(question: AskedOnPage, chance: random.Random) -> Any:
    """A valid label for the question."""
    if question.values:
        return json.loads(chance.choice(question.values))
    if question.kind == "number":
        low, high = question.low or 0.0, 100.0 if question.high is None else question.high
        return round(low + (high - low) * chance.random(), 2)
    return f"Words {chance.randrange(10**6)}."


# -- a person ---------------------------------------------------------------------------------------


class Annotator:
    """A person who opens their link and answers, as the page's script would.

    Parameters
    ----------
    wire : Network or InProcess
    link : str
        The path of the personal link.
    heard : list, optional
        Every reply is added to it.
    """

    def __init__(self, wire: Wire, link: str, heard: list[Reply] | None = None, seed: int = 0) -> None:
        self.wire, self.link, self.heard = wire, link, heard
        self.cookie = ""
        self.chance = random.Random(f"{seed}/{link}")
        self.saved: list[dict[str, Any]] = []
        """Acknowledged answers: task, key, labels, revision."""
        self.waits: list[float] = []
        """Seconds that each attempt to save took until its acknowledgement."""

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request with this person's cookie, from the page's own origin; a body is sent as JSON."""
        sent = {"Origin": self.wire.origin, "Sec-Fetch-Site": "same-origin"} if method not in ("GET", "HEAD") else {}
        content: bytes | None = None
        if isinstance(body, bytes):
            content = body
        elif body is not None:
            content, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        sent |= {"Cookie": self.cookie} if self.cookie else {}
        reply = self.wire.send(method, path, {**sent, **(headers or {})}, content)
        # Only 303 is followed with GET; 307 repeats the request at the address without a closing slash.
        assert "location" not in reply.headers or reply.status in (303, 307), f"{path}: {reply.status}"
        if self.heard is not None:
            self.heard.append(reply)
        return reply

    def form(self, path: str, **fields: str) -> Reply:
        """Post a form as a browser does."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, urlencode(fields).encode(), kind)

    def join(self, agree: bool = True) -> Reply:
        """Open the link and give consent, if required; return the next page."""
        reply = self.send("GET", self.link)
        if reply.status == 200 and self.link.startswith("/join/"):
            reply = self.send("POST", self.link)
        if reply.status != 303:
            return reply
        if reply.cookies:  # none if they have them already
            self.cookie = "; ".join(cookie.partition(";")[0] for cookie in reply.cookies)
        reply = self.send("GET", reply.headers["location"])
        if agree and reply.headers.get("location") == "/consent":
            self.send("GET", "/consent")
            self.form("/consent", agree="yes")
            reply = self.send("GET", "/work")
        return reply

    def work(self, number: int | None = None) -> list[TaskOnPage]:
        """The tasks of the current page and the following assigned pages; or those of one page."""
        reply = self.send("GET", "/work" if number is None else f"/work/{number}")
        assert reply.status == 200, (reply.status, reply.text)
        return tasks_of(reply.text)

    def pages(self, after: int = 0) -> tuple[list[TaskOnPage], dict[str, Any]]:
        """The tasks of the pages after one, and the rest of the response."""
        reply = self.send("GET", f"/pages?after={after}")
        assert reply.status == 200, (reply.status, reply.text)
        found = reply.json()
        return [task for page in found["pages"] for task in tasks_of(page["html"])], found

    def labels(self, task: TaskOnPage) -> dict[str, Any]:
        """Valid labels for the task's questions."""
        return {question.id: some_label(question, self.chance) for question in task.questions}

    def answer(self, task: TaskOnPage | int, labels: Mapping[str, Any] | None = None, **rest: Any) -> Reply:
        """Post an answer once."""
        return self.send("POST", "/answers", self.body(task, labels, **rest))

    def body(self, task: TaskOnPage | int, labels: Mapping[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
        """The request that the script would send for a task."""
        if isinstance(task, TaskOnPage):
            labels = self.labels(task) if labels is None and "skip" not in rest else labels
            rest = {"revision": task.revision} | rest
            task = task.id
        body = {"task": task, "key": str(uuid.UUID(int=self.chance.getrandbits(128))), "revision": 0}
        return body | {"labels": dict(labels or {}), "seconds": 1.5} | rest

    def keep(self, task: TaskOnPage, labels: Mapping[str, Any] | None = None, **rest: Any) -> Reply:
        """Post an answer until the server confirms it, with one key, as the script does."""
        body = self.body(task, labels, **rest)

        def post() -> Reply | None:
            begun = time.perf_counter()
            reply = self.send("POST", "/answers", body)
            if reply.status >= 500:
                return None
            assert reply.status == 200, (reply.status, reply.text)
            self.waits.append(time.perf_counter() - begun)
            return reply

        found = self.again(post)
        self.saved.append(body | {"revision": found.json()["revision"]})
        return found

    def again(self, what: Callable[[], T | None]) -> T:
        """Repeat an action until the server responds."""

        def once() -> T | None:
            try:
                return what()
            except LostError:
                return None

        return wait_until(once, "the server did not come back", every=0.1)

    def work_through(
        self, most: int | None = None, think: Callable[[], None] = lambda: None, patience: float = 0
    ) -> str:
        """Answer all items, or a given number of them; return why it ended.

        If others hold the remaining items, wait this many seconds for them.
        """
        done = 0
        self.again(self.join)
        queue: list[TaskOnPage] = []
        last = 0
        while most is None or done < most:
            if not queue:
                queue, rest = self._next(last, patience)
                if not queue and rest["end"] is not None:
                    return str(rest["end"]["kind"])
                if not queue and last == 0:
                    raise AssertionError(rest)
                if not queue:
                    last = 0
                    continue
            task = queue.pop(0)
            last = task.page
            think()
            self.keep(task)
            done += 1
        return "enough"

    def _next(self, after: int, patience: float) -> tuple[list[TaskOnPage], dict[str, Any]]:
        """The tasks after a page; with patience, wait until there are some or none can follow."""

        def look() -> tuple[list[TaskOnPage], dict[str, Any]] | None:
            tasks, rest = self.again(partial(self.pages, after))
            held_by_others = not tasks and rest["end"] is not None and rest["end"]["kind"] == "empty"
            return None if held_by_others and patience else (tasks, rest)

        return wait_until(look, "others kept the remaining items", seconds=patience, every=0.5)


# -- a study served in this process ------------------------------------------------------------------


class Served:
    """A study with its store and its application, in this process.

    Parameters
    ----------
    folder : path
        Written by `write_study`.
    people : list of str or dict
        Invited people, with attributes if it is a dictionary.
    store : str, optional
        A database instead of the one in the folder.
    changed : {"new-version", "same-question"}, optional
        How to treat answers that a change of the folder would invalidate.
    """

    def __init__(
        self,
        folder: Path,
        people: Iterable[str] | Mapping[str, Mapping[str, Any]] = ("ana",),
        store: str | None = None,
        changed: Changed | None = None,
    ) -> None:
        self.folder, self._where = folder, store
        self.heard: list[Reply] = []
        """Every reply to all people except the study lead."""
        self.study = load_study(folder)
        self.store = open_store(self.study, store)
        try:
            sync_study(self.store, self.study, changed)
            self.app = make_app(self.study, self.store, SECRET)
            self.links = _invite_all(self.design, people, SECRET)
            # One event loop for all requests; a client alone makes one for each.
            self._loop = contextlib.ExitStack()
            self._portal = self._loop.enter_context(start_blocking_portal())
        except BaseException:
            self.store.close()
            raise

    @property
    def design(self) -> StudyDesign:
        """The current design of the study."""
        found: StudyDesign = self.app.state.assay.now().design
        return found

    def again(self, changed: Changed | None = None) -> Served:
        """Stop, and serve the current folder."""
        self.close()
        return Served(self.folder, (), self._where, changed)

    def client(self, app: Any = None) -> InProcess:
        """A wire to the application, or to another one."""
        return InProcess(app or self.app, self._portal)

    def visitor(self, link: str = "/work") -> Annotator:
        """A person with a link, or without."""
        return Annotator(self.client(), link, self.heard)

    def annotator(self, name: str = "ana", *, join: bool = True) -> Annotator:
        """An invited annotator, by their current link."""
        person = self.visitor(link_of(self.study, self.store, name))
        if join:
            reply = person.join()
            assert reply.status == 200, (reply.status, reply.text)
        return person

    def lead(self) -> Annotator:
        """The study lead."""
        one = Annotator(self.client(), lead_path(self.study, self.store))
        reply = one.join()
        assert reply.status == 200, (reply.status, reply.text)
        return one

    def rows(self, table: sa.TableClause, *where: Any) -> list[Any]:
        """Rows of one of the store's tables."""
        with self.store.reading() as db:
            return list(db.execute(sa.select(table).where(*where)))

    def history(self) -> list[dict[str, Any]]:
        """Every stored answer, first to last, with its label and its record of the page."""
        rows = history(self.store).to_dicts()
        for row in rows:
            for column in ("label", "shown"):
                row[column] = None if row[column] is None else json.loads(row[column])
        return rows

    def close(self) -> None:
        self._loop.close()
        self.store.close()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# -- many at once -----------------------------------------------------------------------------------


def prepared(folder: Path, people: int, answers: int, overlap: int, store: str | None) -> dict[str, str]:
    """A study in which each person has the same number of items, and every item has ``overlap`` people; their links."""
    items = people * answers // overlap
    rows = [
        {"item": f"i{n:05d}", "text": f"Text number {n}. " + "It is neither good nor bad. " * 20} for n in range(items)
    ]
    write_study(folder, items=rows, people={"overlap": overlap, "quota": answers, "instructions": "Read all of it."})
    study = load_study(folder)
    with open_store(study, store) as opened:
        return invite_people(study, opened, [f"person {n:03d}" for n in range(people)])


def run_people(server: Server, links: dict[str, str], think: float) -> tuple[list[Annotator], list[str]]:
    """Let all people work at the same time until each has finished; return the errors."""
    people = [Annotator(Network(server.url), link, seed=n) for n, link in enumerate(links.values())]
    wrong: list[str] = []

    def work(person: Annotator) -> None:
        chance = random.Random(person.link)
        pause: Callable[[], None] = lambda: time.sleep(think * (0.5 + chance.random()))  # noqa: E731
        try:
            time.sleep(think * chance.random())
            end = person.work_through(think=pause, patience=120)
            if end != "done":
                wrong.append(f"{person.link}: {end} after {len(person.saved)}")
        except Exception as error:
            wrong.append(f"{person.link}: {error!r}")
        finally:
            person.wire.close()

    threads = [threading.Thread(target=partial(work, person), daemon=True) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return people, wrong


def killed(server: Server, kills: int, every: float, stop: threading.Event) -> int:
    """Kill the server and restart it several times; return the number of kills."""
    for number in range(kills):
        if stop.wait(every):
            return number
        server.kill()
        server.start()
    return kills


@contextlib.contextmanager
def crowded(port: int, half_open: int = 1500, slow: int = 100) -> Iterator[None]:
    """Open connections that send at most the beginning of a request, and others that never send the body."""
    body = b"POST /answers HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nSec-Fetch-Site: same-origin\r\n"
    body += b"Content-Type: application/json\r\nContent-Length: 400000\r\n\r\n{"
    with contextlib.ExitStack() as opened:
        for number in range(half_open + slow):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            with contextlib.suppress(OSError):
                one.sendall(body if number >= half_open else b"GET / HTTP/1.1\r\nHost: a\r\n"[: number % 25])
        yield


def verify(people: Sequence[Annotator], where: Store, overlap: int, quota: int | None = None) -> list[str]:
    """Messages about broken promises; empty if all hold."""
    wrong = []
    with where.reading() as db:
        rows = db.execute(sa.select(tables.answers)).all()
        tasks = {row.id: row for row in db.execute(sa.select(tables.tasks)).all()}
        n_items = db.execute(sa.select(sa.func.count()).select_from(tables.items)).scalar_one()
    kept: dict[tuple[int, str], list[object]] = {}
    for row in rows:
        kept.setdefault((row.shown["task"], row.request_key.rpartition("/")[2]), []).append(row)
    acknowledged = [body for person in people for body in person.saved]
    for body in acknowledged:
        found = kept.get((body["task"], body["key"]), [])
        labels = [row.label for row in found]
        if len(found) != len(body["labels"]) or sorted(map(str, labels)) != sorted(map(str, body["labels"].values())):
            wrong.append(f"task {body['task']}: acknowledged {body['labels']}, stored {labels}")
    if len(rows) != len(acknowledged):
        wrong.append(f"{len(rows)} rows for {len(acknowledged)} acknowledged answers")
    done = [task for task in tasks.values() if task.state == "answered"]
    items = Counter(task.item for task in done)
    counts = Counter(items.values()) + Counter({0: n_items - len(items)})
    if set(counts) != {overlap}:
        wrong.append(f"overlap, items by number of answers: {dict(counts)}")
    twice = [pair for pair, number in Counter((t.annotator, t.item) for t in tasks.values()).items() if number > 1]
    if twice:
        wrong.append(f"an item twice to one person: {twice[:3]}")
    most = max(Counter(task.annotator for task in done).values(), default=0)
    if quota is not None and most > quota:
        wrong.append(f"someone has answered {most}, over the quota of {quota}")
    if any(task.extra for task in done):
        wrong.append(f"{sum(bool(task.extra) for task in done)} answers are extra")
    return wrong


def simulate(
    folder: Path,
    *,
    people: int,
    answers: int,
    think: float,
    kills: int,
    overlap: int = 5,
    store: str | None = None,
    workers: int = 1,
) -> tuple[list[Annotator], list[str], int, float]:
    """One run: the people with their pages, broken promises, number of kills, seconds."""
    links = prepared(folder, people, answers, overlap, store)
    stop = threading.Event()
    done: list[int] = []
    begun = time.perf_counter()
    with Server(folder, store, workers) as server:
        every = max(1.0, answers * think * 0.6 / kills) if kills else 1.0
        killer = threading.Thread(target=lambda: done.append(killed(server, kills, every, stop)))
        killer.start()
        found, wrong = run_people(server, links, think)
        stop.set()
        killer.join()
    seconds = time.perf_counter() - begun
    with open_store(load_study(folder), store) as opened:
        wrong += verify(found, opened, overlap, answers)
    return found, wrong, done[0], seconds
