"""Start the page: `assay serve`."""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import socket
from typing import Any

from assay.collecting.app import app_of, make_app
from assay.collecting.invitations import Signer, personal_link, secret_of, signer_of
from assay.errors import StudyError
from assay.study.definition import Study, load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import everybody
from assay.study.store.work import Changed

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
    with open_store(study, store) as opened:
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
    return app_of(open_store(study, settings["store"]), study.folder, settings["secret"], settings["base_url"])


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
