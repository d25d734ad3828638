"""The one way in which a test waits: for a condition, up to a deadline that only a mistake reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None],
    wrong: str | Callable[[], str],
    *,
    seconds: float = 60,
    every: float | None = None,
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
    every : float, optional
        Seconds between two looks. When not given a tenth of the time waited, at most a quarter of a second: a look
        takes processor time from what is waited for.
    """
    start = time.monotonic()
    while True:
        found = condition()
        if found:
            return found
        waited = time.monotonic() - start
        if waited > seconds:
            raise AssertionError(wrong if isinstance(wrong, str) else wrong())
        time.sleep(min(max(waited / 10, 0.01), 0.25) if every is None else every)
