"""Commands in separate processes that import nothing: forked from one that has imported everything they need.

Most of the time of a short command is its start, and the pages of the documents have more than a hundred. ``serve``
waits at a socket and forks for each who asks; ``ask`` hands its streams, folder, environment and words over and ends as
the command ends. Nothing but imports is done before a fork, so that no thread of Polars is there to be lost.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def ask(address: str, words: list[str]) -> int:
    """What is typed, in a fork of the process at this address; its exit status."""
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(address)
        wanted = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
        socket.send_fds(there, [json.dumps(wanted).encode() + b"\n"], [0, 1, 2])
        status = there.recv(1)
    return status[0] if status else 1


def serve(address: str) -> None:
    """Import what commands need, and fork for each who asks."""
    import contextlib
    import importlib
    import signal

    for name in (
        "assay.cli.app", "assay.cli.labels", "assay.cli.plans", "assay.cli.estimates", "assay.cli.studies",
        "assay.cli.service", "assay.verdict.report", "assay.verdict.probes", "assay.judging.run",
        "assay.judging.dry_run", "assay.judging.batch", "assay.collecting.hosting.app", "assay.collecting.desk.lead",
        "assay.ideas.validate", "assay.psychometrics.raters.model", "assay.preference.boards", "assay.planning",
        "assay.reporting.page", "matplotlib.figure", "matplotlib.backends.backend_svg", "jinja2", "alembic.command",
        "scipy.stats",
    ):  # fmt: skip
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind(f"{address}.new")
        waiting.listen(16)
        os.rename(f"{address}.new", address)  # noqa: PTH104 - it is there once it answers
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a fork is not waited for: its status goes through the socket
        while True:
            there, _ = waiting.accept()
            message, streams, *_ = socket.recv_fds(there, 1 << 16, 3)
            while not message.endswith(b"\n"):
                message += there.recv(1 << 16)
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                waiting.close()
                _run(there, streams, **json.loads(message))
            there.close()
            for one in streams:
                os.close(one)


def _run(there: socket.socket, streams: list[int], words: list[str], folder: str, environment: dict[str, str]) -> None:
    """In the fork: the command, its status to who asked, and the end."""
    import traceback

    from assay.cli.app import main

    status = 1
    try:
        for number, one in enumerate(streams):
            os.dup2(one, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["assay", *words]
        main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        there.sendall(bytes([status]))
        os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        sys.exit(ask(sys.argv[2], sys.argv[3:]))
    serve(sys.argv[2])
