"""The server of `assay serve`: worker processes, access from other machines, and links."""

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

from assay.collecting.hosting.app import app_of, make_app
from assay.collecting.hosting.connections import LOGGING, open_files
from assay.collecting.invitations import Signer, personal_link, secret_of, signer_of
from assay.errors import StudyError
from assay.study.definition import Study, load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import all_people
from assay.study.store.work import Changed

USUAL_ADDRESS = "http://127.0.0.1:8321"
"""The default address of the annotation page."""

PATIENCE = 10.0
"""Seconds until a request gives up on a locked database: the browser tries again after 15."""

SIGN_OF_LIFE = 30.0
"""Seconds without a sign of life after which a worker process is replaced. uvicorn's default of 5 s is too short for a
busy machine."""

WATCHED_EVERY = 0.2
"""Seconds between two checks of the worker processes: uvicorn replaces one within half a second."""

CONNECTION = "assay.collecting.hosting.connections:GuardedConnection"
"""The class of connections, by name: worker processes are handed the settings, and load the class themselves."""

_SETTINGS = "ASSAY_SERVE"
"""Environment variable with the settings of worker processes, because the secret must not be in an argument list."""


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
    """Serve the annotation page and the dashboard until stopped.

    Parameters
    ----------
    study : Study
    host, port : str, int
        The address to listen on.
    workers : int
        Number of worker processes; use PostgreSQL with more than one.
    secret : str, optional
        Signs links and cookies. By default a random secret is stored in the study, which is sufficient if only this
        machine can reach the server.
    store : str, optional
        A database instead of the one in the folder.
    base_url : str, optional
        Public address of the page, if it differs from host and port.
    changed : {"new-version", "same-question"}, optional
        How to treat existing answers after a change of the study.

    Raises
    ------
    StudyError
        If a change would invalidate existing answers and ``changed`` is not given; if other machines can reach the
        server and there is no secret; or if the study cannot be shown.
    """
    import uvicorn

    check_reach(host, port, secret)
    common: dict[str, Any] = {"host": host, "port": port, "log_level": "warning", "server_header": False}
    # Trust the forwarded protocol of a proxy on this machine only.
    common |= {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1", "timeout_graceful_shutdown": 10}
    common |= {
        "http": CONNECTION,
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
        make_app(study, opened, used, base_url)  # report errors here, once, rather than in every worker
    os.environ[_SETTINGS] = json.dumps(
        {"study": str(study.folder.resolve()), "store": store, "secret": used, "base_url": base_url}
    )
    # Before uvicorn 0.37 the limit is fixed; before 0.30 workers are neither checked nor replaced.
    if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
        common |= {"timeout_worker_healthcheck": SIGN_OF_LIFE}
    ended = threading.Event()
    threading.Thread(target=_log_restarts, args=(ended,), daemon=True).start()
    try:
        uvicorn.run("assay.collecting.hosting.server:worker", factory=True, workers=workers, **common)
    finally:
        ended.set()


def take_in(study: Study, store: str | None = None, changed: Changed | None = None) -> None:
    """Update the store to the study's folder, see `assay.study.store.intake.sync_study`."""
    with open_store(study, store) as opened:
        sync_study(opened, study, changed)


def worker() -> Any:
    """Make the application of one worker process."""
    settings = json.loads(os.environ[_SETTINGS])
    study = load_study(settings["study"])
    # From the store, so that a worker that starts later serves the same study as the others.
    store = open_store(study, settings["store"], patience=PATIENCE)
    return app_of(store, study.folder, settings["secret"], settings["base_url"])


def _log_restarts(ended: threading.Event) -> None:
    """Log each replacement of a worker process until the server stops."""
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
                    f"worker process {before.pid} ended ({_how(before)}) and was replaced by worker process {number}. "
                    "Answers that were not saved yet wait in the annotators' browsers. If this repeats, the machine "
                    "is too busy or has too little memory: start assay serve with fewer --workers"
                )
        known = here


def _how(process: BaseProcess) -> str:
    """The reason why a process ended."""
    if process.exitcode == -9:
        return f"killed: no sign of life for {SIGN_OF_LIFE:.0f} s, or the system was out of memory"
    return f"exit status {process.exitcode}"


# -- access and links -----------------------------------------------------------------------------------


def check_reach(host: str, port: int, secret: str | None) -> None:
    """Check the address and the secret.

    Raises
    ------
    StudyError
        If other machines can reach the server and no secret was set, if the secret is too short, or if the port is
        not free.
    """
    if secret is not None and len(secret) < 16:
        raise StudyError("the secret must have at least 16 characters; make one with: openssl rand -hex 32")
    if secret is None and not is_loopback(host):
        raise StudyError(
            f"--host {host} gives other machines access, which requires a secret: set the environment variable "
            "ASSAY_SECRET (make one with: openssl rand -hex 32), so that no one else can make links"
        )
    if not 0 <= port <= 65535:
        raise StudyError(f"--port {port} is not valid; a port is a number from 0 to 65535")
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        why = (
            "is already in use"
            if error.errno == errno.EADDRINUSE
            else f"cannot be used ({os.strerror(error.errno or 0)})"
        )
        raise StudyError(f"port {port} of {host} {why}; choose another with --host and --port") from None


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def lead_link(signer: Signer, base_url: str) -> str:
    """Return the study lead's link."""
    return f"{base_url.rstrip('/')}/lead/join/{signer.lead_token()}"


def links(
    study: Study, base_url: str, secret: str | None = None, store: str | None = None
) -> tuple[str, dict[str, str]]:
    """Return the study lead's link, and the links of all invited annotators by name."""
    with open_store(study, store) as opened:
        signer = signer_of(study, opened, secret)
        return lead_link(signer, base_url), {
            person.name: personal_link(signer, person, base_url)
            for person in all_people(opened)
            if person.state != "revoked"
        }
