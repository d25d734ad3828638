"""The one way in which a test waits: for a condition, up to a deadline that only a mistake reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None], wrong: str | Callable[[], str], *, seconds: float = 60, every: float = 0.02
) -> T:
    """What the condition gives, once that is true.

    Parameters
    ----------
    condition : function
        Asked again and again; what it raises is raised.
    wrong : str, or function that gives one
        What is said at the deadline.
    seconds : float
        Until the deadline.
    every : float
        Seconds between two looks.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(wrong if isinstance(wrong, str) else wrong())
        time.sleep(every)
