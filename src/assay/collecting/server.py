"""Start the page: `assay serve`; its worker processes, who may reach it, and by which links."""

from __future__ import annotations

import errno
import inspect
import ipaddress
import json
import logging
import multiprocessing
import os
import socket
import threading
from multiprocessing.process import BaseProcess
from typing import Any

from assay.collecting.app import app_of, make_app
from assay.collecting.connections import LOGGING, GuardedConnection, open_files
from assay.collecting.invitations import Signer, personal_link, secret_of, signer_of
from assay.errors import StudyError
from assay.study.definition import Study, load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import everybody
from assay.study.store.work import Changed

USUAL_ADDRESS = "http://127.0.0.1:8321"
"""Of a page of which nothing else is said."""

PATIENCE = 10.0
"""Seconds until a request gives up on a database that another program holds: the browser asks again after 15."""

SIGN_OF_LIFE = 30.0
"""Seconds that a worker process may take to say that it is alive, before it is ended and another is started. In
uvicorn's 5 s a busy machine gives a process no turn."""

WATCHED_EVERY = 0.2
"""Seconds between two looks at which worker processes there are: uvicorn takes up to half a second to replace one."""

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
        "backlog": open_files() // 4,
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
    # Before 0.37 the limit is fixed; before 0.30 uvicorn neither asks its workers nor replaces them.
    if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
        common |= {"timeout_worker_healthcheck": SIGN_OF_LIFE}
    ended = threading.Event()
    threading.Thread(target=_log_restarts, args=(ended,), daemon=True).start()
    try:
        uvicorn.run("assay.collecting.server:worker", factory=True, workers=workers, **common)
    finally:
        ended.set()


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


def _log_restarts(ended: threading.Event) -> None:
    """Write a line for each worker process that takes the place of another, until the server stops."""
    log = logging.getLogger("assay.collecting")
    known: dict[int, BaseProcess] = {}
    gone: list[BaseProcess] = []
    while not ended.wait(WATCHED_EVERY):
        here = {one.pid: one for one in multiprocessing.active_children() if one.pid is not None}
        gone += [one for number, one in known.items() if number not in here]
        for number in sorted(here.keys() - known.keys()):
            if gone:
                before = gone.pop(0)
                log.warning(
                    f"worker process {before.pid} ended ({_how(before)}); worker process {number} was started in its "
                    "place. Answers that were not saved yet wait in people's browsers. If this repeats, the machine "
                    "is too busy or has too little memory: start assay serve with fewer --workers"
                )
        known = here


def _how(process: BaseProcess) -> str:
    """How a process ended, in words."""
    if process.exitcode == -9:
        return f"killed: it gave no sign of life for {SIGN_OF_LIFE:.0f} s, or the system needed its memory"
    return f"exit status {process.exitcode}"


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
