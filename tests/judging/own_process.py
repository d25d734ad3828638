"""Runs in separate processes that can be killed: forked from one that has imported all modules."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["assay.judging.batch", "assay.judging.run", "aiohttp", "alembic.command"])


def ask(folder: Path) -> None:
    from assay.judging.run import judge_study
    from assay.study.definition import load_study

    judge_study(load_study(folder))


def ask_without_posix(folder: Path) -> None:
    """On a system as Windows is: its loop takes no handlers of signals, and there are no groups of processes."""
    import asyncio
    import signal

    def refuse(*_: object) -> None:
        raise NotImplementedError

    for name in ("add_signal_handler", "remove_signal_handler"):
        setattr(asyncio.SelectorEventLoop, name, refuse)
    del os.killpg, signal.SIGKILL
    ask(folder)


def ask_in_notebook(folder: Path) -> None:
    """As a cell of a notebook does, where a loop is running."""
    import asyncio

    import assay

    async def cell() -> None:
        assay.open_study(folder).ask()

    asyncio.run(cell())


def send(folder: Path, most: int) -> None:
    """With no more questions than this in one batch."""
    from assay.judging import batch
    from assay.study.definition import load_study

    batch.MOST_IN_ONE = most
    batch.batch_study(load_study(folder))


def start(target: Callable[..., None], *args: object) -> ForkServerProcess:
    process = _FORKED.Process(target=_do, args=(dict(os.environ), target, *args))
    process.start()
    return process


def _do(environment: dict[str, str], target: Callable[..., None], *args: object) -> None:
    os.environ.update(environment)
    target(*args)
