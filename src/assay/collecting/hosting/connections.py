"""Connections to the server: time limits of requests, a limit on waiting connections, and the server log.

Every worker process imports this module before it can report that it is alive, so it does not import the application.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# -- many or slow connections ------------------------------------------------------------------------

HEAD_SECONDS = 10.0
"""Time limit for the head of a request, which a browser sends at once."""

BODY_SECONDS = 30.0
"""Time limit for the body: the largest (`serving.BIGGEST_BODY`) at 140 kbit a second."""

TAKE_SECONDS = 30.0
"""Time limit for the client to read the next 48 kB of the response (between asyncio's high and low water marks)."""


def open_files() -> int:
    """Raise the limit of open files as far as permitted, and return it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 2048
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(hard, 8192)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


class WaitingConnections:
    """Connections without a complete request, by address. Above the limit, the oldest of the busiest address is closed.

    A client that connects and sends its request at once is served, even if many other connections are idle.
    """

    def __init__(self, most: int) -> None:
        self.most, self._number = most, 0
        self._of: dict[str, OrderedDict[GuardedConnection, None]] = {}

    def add(self, one: GuardedConnection) -> None:
        """Add a waiting connection."""
        mine = self._of.setdefault(one.address, OrderedDict())
        self._number += one not in mine
        mine[one] = None
        if self._number > self.most:
            address = max(self._of, key=lambda one: len(self._of[one]))
            next(iter(self._of[address])).cut()

    def remove(self, one: GuardedConnection) -> None:
        """Remove a connection: its request is complete, or it is closed."""
        mine = self._of.get(one.address, OrderedDict())
        self._number -= one in mine
        mine.pop(one, None)
        if not mine:
            self._of.pop(one.address, None)


class GuardedConnection(H11Protocol):
    """uvicorn's connection with time limits for requests and responses, and a limit on waiting connections."""

    waiting = WaitingConnections(0)
    """The waiting connections of this process."""
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
        """Continue within the same time limit until the head and then the body are complete."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for("head")
        else:
            self._wait_for("body" if self.cycle.more_body else "")

    def on_response_complete(self) -> None:
        """Wait for the next request; an idle connection can be closed for others, and uvicorn ends it after 5 s."""
        super().on_response_complete()
        self._wait_for("next")

    def timeout_keep_alive_handler(self) -> None:
        """End the connection, with a time limit for the response, which uvicorn would wait for without limit."""
        super().timeout_keep_alive_handler()
        self._wait_for("")

    def pause_writing(self) -> None:
        """Wait for the client, which reads the response more slowly than it is produced."""
        super().pause_writing()
        self._wait_for("reply")

    def resume_writing(self) -> None:
        """Continue: the client has read the response so far."""
        super().resume_writing()
        self._wait_for("")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._end_wait()

    def _wait_for(self, part: str) -> None:
        if self.flow.write_paused or (self.transport.is_closing() and self.transport.get_write_buffer_size()):
            part = "reply"  # takes precedence over the other parts
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
        """Close the connection without a response: there was no request yet, or the client does not read."""
        self._end_wait()
        self.transport.abort()


# -- the log -------------------------------------------------------------------------------------------

SAME_EVERY = 60.0
"""Seconds in which a repeated line is written once; the next time with the number of repetitions."""

MOST_LINES = 1000
"""Different lines that are remembered: more than a server normally writes."""


class Seldom(logging.Filter):
    """Passes each line once a minute, so that invalid requests or a lost database cannot fill the disk."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._since: dict[tuple[str, str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; adds the number of lines suppressed before it."""
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
    "filters": {"seldom": {"()": "assay.collecting.hosting.connections.Seldom"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"log": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["seldom"]}},
    "root": {"handlers": ["log"], "level": "WARNING"},
}
"""One line per event on standard error, as systemd and Docker expect; unexpected errors have a traceback."""
