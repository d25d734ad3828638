"""Connections to the page: how long a request may take, how many may wait, and which lines the server writes.

Every process that answers imports this before it can say that it is alive, so nothing here imports the application.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# -- connections that are many or slow ---------------------------------------------------------------

HEAD_SECONDS = 10.0
"""For the head of a request: what a browser sends at once."""

BODY_SECONDS = 30.0
"""For its body: the longest (`app.BIGGEST_BODY`) at 140 kbit a second."""

TAKE_SECONDS = 30.0
"""For whoever asked to take the next 48 kB of the reply (between asyncio's marks of a full and an empty buffer)."""


def open_files() -> int:
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
    """uvicorn's connection, with an end to how long a request may take to come, or its reply to be taken.

    And to how many may wait.
    """

    waiting = WaitingConnections(0)
    """Of this process."""
    address = ""
    _part = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the head of a request."""
        super().connection_made(transport)
        if not self.waiting.most:
            self.waiting.most = open_files() // 4
        self.address = self.client[0] if self.client else ""
        self._wait_for("head")

    def data_received(self, data: bytes) -> None:
        """Go on, in the same time, until the head and then the body are here."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for("head")
        else:
            self._wait_for("body" if self.cycle.more_body else "")

    def on_response_complete(self) -> None:
        """Whoever keeps the connection may be cut off for somebody who asks; uvicorn ends it after five seconds."""
        super().on_response_complete()
        self._wait_for("next")

    def timeout_keep_alive_handler(self) -> None:
        """End it; but uvicorn would wait forever until the reply is taken."""
        super().timeout_keep_alive_handler()
        self._wait_for("")

    def pause_writing(self) -> None:
        """The reply is not taken, or not as fast as it is made."""
        super().pause_writing()
        self._wait_for("reply")

    def resume_writing(self) -> None:
        """It was taken."""
        super().resume_writing()
        self._wait_for("")

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for."""
        super().connection_lost(exc)
        self._end_wait()

    def _wait_for(self, part: str) -> None:
        if self.flow.write_paused or (self.transport.is_closing() and self.transport.get_write_buffer_size()):
            part = "reply"  # whatever else comes meanwhile
        if part == self._part:
            return
        self._end_wait()
        if not part or (part != "reply" and self.transport.is_closing()):
            return
        self._part = part
        seconds = {"head": HEAD_SECONDS, "body": BODY_SECONDS, "reply": TAKE_SECONDS}.get(part)
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.cut)
        self.waiting.add(self)

    def _end_wait(self) -> None:
        self._part = ""
        self.waiting.remove(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def cut(self) -> None:
        """Close it; nothing is said, as nothing was asked yet or nobody listens."""
        self._end_wait()
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
    "filters": {"seldom": {"()": "assay.collecting.connections.Seldom"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"log": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["seldom"]}},
    "root": {"handlers": ["log"], "level": "WARNING"},
}
"""One line each on standard error, as systemd and Docker take them; what nobody foresaw has its traceback."""
