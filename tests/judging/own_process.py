"""Runs in processes of their own, to be killed: forked from one that has imported what they need."""

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
