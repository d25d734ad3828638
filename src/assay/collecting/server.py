"""Start the page: `assay serve`; what keeps it answering when connections are many, slow or broken."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import logging
import math
import os
import socket
import time
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.collecting.app import app_of, make_app
from assay.collecting.invitations import Signer, personal_link, secret_of, signer_of
from assay.errors import StudyError
from assay.study.definition import Study, load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import everybody
from assay.study.store.work import Changed

USUAL_ADDRESS = "http://127.0.0.1:8321"
"""Of a page of which nothing else is said."""

_SETTINGS = "ASSAY_SERVE"
"""How worker processes learn what they serve; the secret among it, so it is in no argument list."""


def serve(
    study: Study,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    workers: int = 1,
    secret: str | None = None,
    store: str | None = None,
    base_url: str | None = None,
    changed: Changed | None = None,
) -> None:
    """Serve the page until it is stopped.

    Parameters
    ----------
    study : Study
    host, port : str, int
        Where to listen.
    workers : int
        Processes that answer; with more than one, the store is best PostgreSQL.
    secret : str, optional
        Signs links and cookies. Drawn and kept in the store where it is missing, which is enough for a
        page that only this machine reaches.
    store : str, optional
        A database in place of the one in the folder.
    base_url : str, optional
        Where people reach the page, if not at host and port.
    changed : {"new-version", "same-question"}, optional
        What a change of the study means after which answers no longer count.

    Raises
    ------
    StudyError
        Where answers would no longer count, and ``changed`` says nothing; where other machines can reach the page
        and there is no secret, or the study cannot be shown.
    """
    import uvicorn

    check_reach(host, port, secret)
    common: dict[str, Any] = {"host": host, "port": port, "log_level": "warning", "server_header": False}
    # Behind a proxy on this machine, its word on the protocol counts; nobody else's does.
    common |= {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1", "timeout_graceful_shutdown": 10}
    common |= {
        "http": GuardedConnection,
        "ws": "none",
        "loop": "asyncio",
        "log_config": LOGGING,
        "backlog": _files() // 4,
    }
    with open_store(study, store, patience=PATIENCE) as opened:
        sync_study(opened, study, changed)
        used = secret_of(opened, secret)
        if workers == 1:
            uvicorn.run(make_app(study, opened, used, base_url), **common)
            return
        make_app(study, opened, used, base_url)  # what is wrong is said here, once
    os.environ[_SETTINGS] = json.dumps(
        {"study": str(study.folder.resolve()), "store": store, "secret": used, "base_url": base_url}
    )
    uvicorn.run("assay.collecting.server:worker", factory=True, workers=workers, **common)


def take_in(study: Study, store: str | None = None, changed: Changed | None = None) -> None:
    """Bring the store to what the study's folder says, see `assay.study.store.intake.sync_study`."""
    with open_store(study, store) as opened:
        sync_study(opened, study, changed)


def worker() -> Any:
    """The application of one worker process."""
    settings = json.loads(os.environ[_SETTINGS])
    study = load_study(settings["study"])
    # As the store holds it: a worker that starts later goes on with the study that the others serve.
    store = open_store(study, settings["store"], patience=PATIENCE)
    return app_of(store, study.folder, settings["secret"], settings["base_url"])


# -- connections that are many or slow ---------------------------------------------------------------

PATIENCE = 10.0
"""Seconds until a request gives up on a database that another program holds: the browser asks again after 15."""

HEAD_SECONDS = 10.0
"""For the head of a request: what a browser sends at once."""

BODY_SECONDS = 30.0
"""For its body: the longest (`app.BIGGEST_BODY`) at 140 kbit a second."""

READ_SECONDS, READ_BYTES = 30.0, 32 * 1024
"""Whoever is sent an answer takes so many bytes of it in this time, or all that is left: 9 kbit a second."""


def _files() -> int:
    """How many files and connections this process may have open, once it has raised that as far as it may."""
    try:
        import resource
    except ImportError:  # Windows, which counts otherwise
        return 2048
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(hard, 8192)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


class WaitingConnections:
    """Connections whose request is not here yet, by address: of too many, the oldest of whoever has most is closed.

    Who opens a connection and asks at once is answered, however many others do nothing; nobody is refused for others.
    """

    def __init__(self, most: int) -> None:
        self.most, self._number = most, 0
        self._of: dict[str, OrderedDict[GuardedConnection, None]] = {}

    def add(self, one: GuardedConnection) -> None:
        """It begins to wait."""
        mine = self._of.setdefault(one.address, OrderedDict())
        self._number += one not in mine
        mine[one] = None
        if self._number > self.most:
            address = max(self._of, key=lambda one: len(self._of[one]))
            next(iter(self._of[address])).cut()

    def remove(self, one: GuardedConnection) -> None:
        """It waits no more: its request is here, or it is closed."""
        mine = self._of.get(one.address, OrderedDict())
        self._number -= one in mine
        mine.pop(one, None)
        if not mine:
            self._of.pop(one.address, None)


class GuardedConnection(H11Protocol):
    """uvicorn's connection, with an end to how long a request may take to come, and to how many may wait.

    An answer that its reader does not take is given up, too: until then it is held in memory, and the connection open.
    """

    waiting = WaitingConnections(0)
    """Of this process."""
    address = ""
    _part = ""
    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    """Runs while something that was sent is not taken."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the head of a request."""
        super().connection_made(transport)
        if not self.waiting.most:
            self.waiting.most = _files() // 4
        self.address = self.client[0] if self.client else ""
        self._wait_for("head")

    def data_received(self, data: bytes) -> None:
        """Go on, in the same time, until the head and then the body are here."""
        if not self.transport.get_write_buffer_size():
            self._forget_reader()  # who asks for more has taken what was sent
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for("head")
        elif self.cycle.more_body:
            self._wait_for("body")
        else:
            self._wait_for("")

    def on_response_complete(self) -> None:
        """Whoever keeps the connection may be cut off for somebody who asks; uvicorn ends it after five seconds."""
        self._await_reader()  # first: the connection may be closing, which waits for the reader without an end
        super().on_response_complete()
        self._wait_for("next")

    def pause_writing(self) -> None:
        """More is written than the reader has taken: they have a time to take it."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """Nearly all of it is taken."""
        super().resume_writing()
        self._forget_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for."""
        self._wait_for("")
        self._forget_reader()
        super().connection_lost(exc)

    def _await_reader(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left and self._reader is None:
            self._reader = self.loop.call_later(READ_SECONDS, self._check_reader, left)

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def _check_reader(self, before: int) -> None:
        """Go on waiting for a reader who takes something; more is written only after `resume_writing`."""
        self._reader = None
        if self.transport.get_write_buffer_size() > max(before - READ_BYTES, 0):
            self.cut()
        else:
            self._await_reader()

    def _wait_for(self, part: str) -> None:
        if part == self._part:
            return
        self._part = part
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not part or self.transport.is_closing():
            self.waiting.remove(self)
            return
        seconds = {"head": HEAD_SECONDS, "body": BODY_SECONDS}.get(part)
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.cut)
        self.waiting.add(self)

    def cut(self) -> None:
        """Close it; nothing is said, as nothing was asked yet."""
        self.waiting.remove(self)
        self.transport.abort()


# -- what is written down ------------------------------------------------------------------------------

SAME_EVERY = 60.0
"""Seconds in which the same line is written once, and then how often it would have been."""

MOST_LINES = 1000
"""Different lines that are remembered: more than a server has to say."""


class Seldom(logging.Filter):
    """Lets a line through once a minute: whoever sends nonsense cannot fill the disk, nor a database that is gone."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._since: dict[tuple[str, str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written, with how many like it were not."""
        now = time.monotonic()
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        key = (record.name, str(record.msg), kind)
        if len(self._since) > MOST_LINES:
            self._since.clear()
        since, left_out = self._since.get(key, (-math.inf, 0))
        if now - since < SAME_EVERY:
            self._since[key] = (since, left_out + 1)
            return False
        self._since[key] = (now, 0)
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} more times since this was last written)", None
        return True


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"seldom": {"()": "assay.collecting.server.Seldom"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"log": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["seldom"]}},
    "root": {"handlers": ["log"], "level": "WARNING"},
}
"""One line each on standard error, as systemd and Docker take them; what nobody foresaw has its traceback."""


# -- who may reach it, and by which links ---------------------------------------------------------------


def check_reach(host: str, port: int, secret: str | None) -> None:
    """Refuse to listen where other machines can come without a secret that somebody chose.

    Raises
    ------
    StudyError
        For that, for a secret that is too short, and for a port that is not free.
    """
    if secret is not None and len(secret) < 16:
        raise StudyError("the secret must have at least 16 characters; make one with: openssl rand -hex 32")
    if secret is None and not _is_loopback(host):
        raise StudyError(
            f"--host {host} lets other machines in; set a secret first, in the environment as ASSAY_SECRET "
            "(make one with: openssl rand -hex 32), so that nobody else can make links"
        )
    if not 0 <= port <= 65535:
        raise StudyError(f"--port {port}: a port is a number from 0 to 65535")
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        why = (
            "is taken already"
            if error.errno == errno.EADDRINUSE
            else f"cannot be used ({os.strerror(error.errno or 0)})"
        )
        raise StudyError(f"port {port} of {host} {why}; choose another with --host and --port") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def lead_link(signer: Signer, base_url: str) -> str:
    """The link of whoever leads the study."""
    return f"{base_url.rstrip('/')}/lead/join/{signer.lead_token()}"


def links(
    study: Study, base_url: str, secret: str | None = None, store: str | None = None
) -> tuple[str, dict[str, str]]:
    """The lead's link, and that of everybody who is invited, by name."""
    with open_store(study, store) as opened:
        signer = signer_of(study, opened, secret)
        return lead_link(signer, base_url), {
            person.name: personal_link(signer, person, base_url)
            for person in everybody(opened)
            if person.state != "revoked"
        }
