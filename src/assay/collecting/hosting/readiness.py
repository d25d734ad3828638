"""Whether a server would come up here: the checks of ``assay serve --check``. Nothing is kept."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Literal
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from assay.collecting.hosting.app import make_app
from assay.collecting.hosting.server import SIGN_OF_LIFE, check_reach, is_loopback
from assay.errors import AssayError, counted
from assay.study.definition import Study
from assay.study.store.answers import answers_so_far
from assay.study.store.connection import Store, file_of, open_scratch
from assay.study.store.intake import sync_study
from assay.study.store.work import Changed

State = Literal["ok", "warning", "problem"]
"""``problem``: the server would not come up, or would refuse people or lose answers."""

LEAST_FREE = 100e6
"""Bytes of free disk below which answers are at risk: SQLite's log of a busy study grows to some tens of megabytes."""

ENOUGH_FREE = 1e9
"""Bytes of free disk for a study with a few hundred thousand answers and its backup."""

SAME_TIME = 5.0
"""Seconds that two clocks can differ: less than any time limit of the page."""

REACH_SECONDS = 10.0
"""Seconds to wait for the public address."""


@dataclass(frozen=True)
class ReadinessCheck:
    """One check: its name, its state, what was found, and what to do about it.

    Attributes
    ----------
    name : {"study", "store", "disk", "clock", "secret", "port", "address", "workers"}
    state : {"ok", "warning", "problem"}
    found : str
    """

    name: str
    state: State
    found: str


def check_server(
    study: Study,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    workers: int = 1,
    secret: str | None = None,
    store: str | None = None,
    base_url: str | None = None,
    changed: Changed | None = None,
) -> Iterator[ReadinessCheck]:
    """Check, one after the other, what `assay.collecting.hosting.server.serve` needs; for the parameters see there.

    The store is opened as a copy, worker processes load the application and end, and a small server answers at the
    public address for as long as the check of the address takes.

    Yields
    ------
    ReadinessCheck
        The study, the store, the disk, the clock, the secret, the port, the public address, the worker processes.
    """
    yield from _check_study(study, store, secret, base_url, changed)
    yield _check_disk(study.folder)
    yield _check_secret(host, secret)
    port_check = _check_port(host, port, secret)
    yield port_check
    yield _check_address(host, port, base_url, is_free=port_check.state == "ok")
    yield _check_workers(workers)


def _check_study(
    study: Study, store: str | None, secret: str | None, base_url: str | None, changed: Changed | None
) -> Iterator[ReadinessCheck]:
    """The store, the clock, and the study as its annotators would get it."""
    try:
        scratch = open_scratch(study, store)
    except AssayError as error:
        yield ReadinessCheck("store", "problem", str(error))
        return
    with scratch:
        yield _check_store(scratch)
        yield _check_clock(scratch)
        try:
            sync_study(scratch, study, changed)
            make_app(study, scratch, secret or secrets.token_hex(16), base_url)
        except AssayError as error:
            yield ReadinessCheck("study", "problem", str(error))
        else:
            asked = counted(len(study.config.questions), "question")
            yield ReadinessCheck("study", "ok", f"{asked}, and every item can be shown")


def _check_store(scratch: Store) -> ReadinessCheck:
    with scratch.reading() as db:
        number, _ = answers_so_far(db)
    where = f"{scratch.where} ({counted(number, 'answer')})"
    path = file_of(scratch)
    if path is None:
        return ReadinessCheck("store", "ok", where)
    if path.is_dir() or not path.parent.is_dir():
        return ReadinessCheck(
            "store", "problem", f"{path} is not a file, or its folder is missing; give another --store"
        )
    for one in (path, path.parent):
        if one.exists() and not os.access(one, os.W_OK):
            return ReadinessCheck("store", "problem", f"{one} cannot be written; change its owner or permissions")
    return ReadinessCheck("store", "ok", where)


def _check_clock(scratch: Store) -> ReadinessCheck:
    """Compare the clock of the store with that of this machine and with the last answer."""
    with scratch.reading() as db:
        now = scratch.now(db)
        _, last = answers_so_far(db)
    if last is not None and last > now + SAME_TIME:
        found = f"the clock is {last - now:.0f} s behind the last answer; set it, so that deadlines and times are right"
        return ReadinessCheck("clock", "problem", found)
    apart = abs(now - time.time())
    if apart > SAME_TIME:
        found = f"the clock of the database differs by {apart:.0f} s from that of this machine; the page uses it"
        return ReadinessCheck("clock", "warning", found)
    return ReadinessCheck("clock", "ok", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def _check_disk(folder: Path) -> ReadinessCheck:
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB free at {folder}"
    if free < LEAST_FREE:
        return ReadinessCheck("disk", "problem", f"{found}; at least {LEAST_FREE / 1e9:.1f} GB are required")
    if free < ENOUGH_FREE:
        return ReadinessCheck("disk", "warning", f"{found}; a backup of a large study needs {ENOUGH_FREE / 1e9:.0f} GB")
    return ReadinessCheck("disk", "ok", found)


def _check_secret(host: str, secret: str | None) -> ReadinessCheck:
    try:
        check_reach(host, 0, secret)  # any port
    except AssayError as error:
        return ReadinessCheck("secret", "problem", str(error))
    return ReadinessCheck("secret", "ok", "set" if secret else "kept in the store; only this machine can connect")


def _check_port(host: str, port: int, secret: str | None) -> ReadinessCheck:
    try:
        check_reach(host, port, secret or secrets.token_hex(16))
    except AssayError as error:
        return ReadinessCheck("port", "problem", str(error))
    return ReadinessCheck("port", "ok", f"{port} of {host} is free")


def _check_workers(workers: int) -> ReadinessCheck:
    """Start as many processes as there would be workers, and time how long they take to load the application."""
    command = [sys.executable, "-c", "import assay.collecting.hosting.app"]
    began = time.monotonic()
    started = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(workers)]
    try:
        failed = sum(one.wait(max(0.1, began + 2 * SIGN_OF_LIFE - time.monotonic())) != 0 for one in started)
    except subprocess.TimeoutExpired:
        failed = 0
    finally:
        for one in started:
            one.kill()
            one.wait()
    seconds = time.monotonic() - began
    named = "1 worker process" if workers == 1 else f"{workers} worker processes"
    if failed:
        found = f"{failed} of {named} could not load the application; run: {sys.executable} -m assay --version"
        return ReadinessCheck("workers", "problem", found)
    found = f"{named} loaded the application in {seconds:.1f} s"
    if seconds > SIGN_OF_LIFE:
        found = f"{named} took more than {SIGN_OF_LIFE:.0f} s to load the application, after which they are replaced"
        return ReadinessCheck("workers", "problem", f"{found}; start fewer --workers, or on a less busy machine")
    if seconds > SIGN_OF_LIFE / 2:
        found = f"{found}, more than half of the limit of {SIGN_OF_LIFE:.0f} s"
        return ReadinessCheck("workers", "warning", f"{found}; start fewer --workers")
    return ReadinessCheck("workers", "ok", found)


def _check_address(host: str, port: int, base_url: str | None, *, is_free: bool) -> ReadinessCheck:
    """Whether a browser that opens the public address reaches a server on this port."""
    if base_url is None and is_loopback(host):
        return ReadinessCheck("address", "ok", f"http://{host}:{port}, only on this machine")
    if base_url is None:
        found = "links begin with http://127.0.0.1, which others cannot open; give the public address with --base-url"
        return ReadinessCheck("address", "problem", found)
    if not is_free:
        return ReadinessCheck("address", "warning", f"{base_url} was not tried, because the port is not free")
    token = secrets.token_hex(16)
    with _answering(host, port, token):
        state, found = _reached(base_url, token)
    if state == "ok" and urlsplit(base_url).scheme == "http" and not is_loopback(urlsplit(base_url).hostname or ""):
        found = f"{base_url} reaches this port without encryption: names and answers can be read on the way; use https"
        state = "warning"
    return ReadinessCheck("address", state, found)


def _reached(base_url: str, token: str) -> tuple[State, str]:
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{base_url}/health", timeout=REACH_SECONDS) as reply:
            said = json.loads(reply.read(10_000))
    except URLError as error:
        status = getattr(error, "code", None)
        if status is None:
            return (
                "problem",
                f"{base_url} cannot be reached: {error.reason}; check its name and certificate, and the proxy",
            )
        return "problem", f"{base_url} answers with status {status}; the proxy does not pass requests to this port"
    except (OSError, ValueError):
        said = None
    if not isinstance(said, dict) or said.get("check") != token:
        return "problem", f"{base_url} reaches another server; let the proxy pass requests to this port"
    scheme = urlsplit(base_url).scheme
    if scheme == "https" and said.get("proto") != "https":
        found = f"{base_url} reaches this port, but the proxy does not say that the page is encrypted"
        return "problem", f"{found}; let it send X-Forwarded-Proto: https"
    return "ok", f"{base_url} reaches this port"


@contextmanager
def _answering(host: str, port: int, token: str) -> Iterator[None]:
    """Answer requests on a port with a token and the protocol that a proxy reports."""

    class TokenReply(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"check": token, "proto": self.headers.get("X-Forwarded-Proto", "http")}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = HTTPServer((host, port), TokenReply)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
