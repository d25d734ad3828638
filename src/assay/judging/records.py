"""The file of replies that a run writes, for ``provider: recorded`` to answer from."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from assay.errors import StudyError
from assay.judging.http import Request
from assay.judging.providers import Completion
from assay.study.store.work import Claim

# -- The store beside the calls --------------------------------------------------------------------


class StoreThread:
    """A thread in which the store is used, one thing after the other, while the calls go on.

    An executor wakes the loop for every result; this thread wakes it once for all that are there.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._work: SimpleQueue[tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self._done: deque[tuple[asyncio.Future[Any], Any, Exception | None]] = deque()
        self._woken = False
        self._thread = threading.Thread(target=self._go, name="assay-store", daemon=True)
        self._thread.start()

    def do(self, work: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """What ``work(*arguments)`` gives, once it was its turn."""
        result: asyncio.Future[Any] = self._loop.create_future()
        self._work.put((result, work, arguments))
        return result

    def close(self) -> None:
        """End the thread once everything is done."""
        self._work.put(None)
        self._thread.join()

    def _go(self) -> None:
        while (job := self._work.get()) is not None:
            future, work, arguments = job
            try:
                self._done.append((future, work(*arguments), None))
            except Exception as error:  # handed to whoever waits for it
                self._done.append((future, None, error))
            if not self._woken:
                self._woken = True
                self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._woken = False  # before looking: what comes from now on wakes the loop again
        while self._done:
            future, result, error = self._done.popleft()
            if future.cancelled():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


class Claims:
    """Open questions, claimed a batch at a time; the next batch comes while this one is asked."""

    def __init__(self, claim: Callable[[], asyncio.Future[list[Claim]]], *, batch: int) -> None:
        self._claim, self._low = claim, batch // 2
        self._ready: deque[Claim] = deque()
        self._coming: asyncio.Future[list[Claim]] | None = None
        self._ended = False
        self._broken: asyncio.Future[list[Claim]] | None = None

    async def next(self) -> Claim | None:
        """A question that nobody else asks; None when there is none left."""
        while True:
            if self._coming is None and not self._ended and len(self._ready) <= self._low:
                self._coming = self._claim()
                self._coming.add_done_callback(self._arrived)
            if self._ready:
                return self._ready.popleft()
            if self._broken is not None:
                self._broken.result()
            if self._coming is None:
                return None
            if self._coming.done():  # before the loop has come to say so: to await it would not let the loop go on
                self._arrived(self._coming)
            else:
                await asyncio.shield(self._coming)

    def _arrived(self, coming: asyncio.Future[list[Claim]]) -> None:
        if coming is not self._coming:
            return
        self._coming = None
        if coming.cancelled() or coming.exception() is not None:
            self._ended, self._broken = True, coming
            return
        self._ready.extend(coming.result())
        self._ended = not coming.result()


# -- The file of replies that a run writes, for ``provider -----------------------------------------


class Recording:
    """Writes replies as lines that `assay.judging.providers.Recorded` reads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, request: Request, completion: Completion) -> None:
        """Write a reply down.

        Raises
        ------
        StudyError
            Where the file cannot be written; what the store holds stays.
        """
        line = dict(request.about) | {"reply": completion.text}
        line |= {k: v for k, v in vars(completion).items() if k not in ("text", "sent") and v is not None}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StudyError(
                f"{self._path} cannot be written ({error.strerror}); what was answered is in the store, "
                "and is not asked again"
            ) from None
