"""Whether a judge can be asked: what its failures and its unreadable replies prove, and what they do not.

A call that fails is a failure of its item until a call about nothing fails too: then it is the key's, the model's or
the service's. Only that judge stops; the others are asked on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from assay.judging.providers import CallFailed
from assay.judging.sending import Request

HOPELESS = 10
"""So many questions in a row without a reply (or as many as are asked at once) make it look as if it were no use."""

UNREADABLE_TWICE = 3
"""So many of the replies in a row that cannot be read, and that stop a judge, came after the complaint."""

Probe = Callable[[], Awaitable[None]]
"""A call about nothing, made once; `CallFailed` where it brings no reply."""


class Health:
    """What is known of one judge while it is asked."""

    def __init__(self, at_once: int, unreadable: int | None) -> None:
        self.stopped: str | None = None
        """Why it is asked no further."""
        self.dead = False
        """Whether it is proved that it cannot be asked."""
        self._hopeless = max(HOPELESS, at_once)
        self._unreadable = unreadable
        self._replies = 0
        self._silent = 0
        self._unread = self._unread_twice = 0
        self._suspicions = 0
        self._on_trial, self._again = asyncio.Lock(), asyncio.Lock()
        self._going = asyncio.Event()
        self._going.set()

    async def going(self) -> bool:
        """Wait while it is being seen whether it can be asked; whether it can."""
        await self._going.wait()
        return self.stopped is None

    # -- failures -------------------------------------------------------------------------------

    def replied(self) -> None:
        """A call brought a reply."""
        self._replies += 1
        self._silent = 0

    async def failed(self, error: CallFailed, probe: Probe) -> bool:
        """Whether a failure was the item's; where it looks like the judge's, a call about nothing tells."""
        # A reply that was never recorded says nothing about the next; a service that fails does.
        self._silent += error.kind == "retry" or error.status > 0
        many = self._silent >= self._hopeless
        if error.kind != "fatal" and not many:
            return True
        before = self._replies
        self._suspicions += 1
        self._going.clear()
        try:
            async with self._on_trial:
                if self.stopped is None and self._replies == before:
                    await self._try(error, probe, many=many)
        finally:
            self._suspicions -= 1
            if not self._suspicions:
                self._going.set()
        return self.stopped is None

    async def _try(self, error: CallFailed, probe: Probe, *, many: bool) -> None:
        try:
            await probe()
        except CallFailed as told:
            if told.kind == "fatal" or many:
                self.dead, self.stopped = True, f"cannot be asked: {error if told.kind == 'retry' else told}"
            return
        self.replied()

    # -- replies that cannot be read ------------------------------------------------------------

    def read(self) -> None:
        """A reply could be read."""
        self._unread = self._unread_twice = 0

    def unreadable(self, reason: str, *, again: bool) -> None:
        """A reply could not be read; ``again`` where it was the one after the complaint."""
        self._unread += 1
        self._unread_twice += again
        many = self._unreadable is not None and self._unread >= self._unreadable
        if many and self._unread_twice >= UNREADABLE_TWICE and self.stopped is None:
            self.stopped = f"gave {self._unread} replies in a row that could not be read (the last: {reason})"

    @asynccontextmanager
    async def asking_again(self) -> AsyncIterator[None]:
        """The place of a call with the complaint: one at a time, once it looks as if no reply could be read."""
        if self._unread < HOPELESS:
            yield
            return
        async with self._again:
            yield


def nothing(request: Request) -> Request:
    """A call about nothing, in a judge's own way: whoever may ask at all gets a reply to it."""
    words = [{"role": "user", "content": "Reply with the word: ok"}]
    return Request(
        request.model, words, request.temperature, request.max_tokens, None, request.params, {"item": "(none)"}
    )
