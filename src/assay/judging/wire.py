"""What pydantic-ai puts on the wire: seen as it leaves, or stopped before it does."""

from __future__ import annotations

import inspect
import json
from contextvars import ContextVar
from typing import Any

from assay.judging.sending import Sent

NO_KEY = "no-key-is-needed-to-show-a-request"
"""Stands in for a key where nothing is asked."""


class _Seen:
    """The request of one call, once it has come by."""

    def __init__(self, *, stop: bool) -> None:
        self.stop = stop
        self.sent: Sent | None = None


class _Stopped(Exception):  # noqa: N818 - it is no error
    """The request was only wanted to be seen."""


_CALL: ContextVar[_Seen | None] = ContextVar("assay_call", default=None)


async def _look(request: Any) -> None:
    """What the HTTP client does before it sends a request."""
    seen = _CALL.get()
    if seen is None:
        return
    try:
        body = json.loads(request.content)
    except ValueError:
        return
    seen.sent = Sent(body, str(request.url).partition("?")[0])
    if seen.stop:
        raise _Stopped


class Wire:
    """The HTTP client of a provider's library, and what the call at hand sends through it."""

    def __init__(self) -> None:
        self._client: Any = None

    def provider(self, kind: type[Any], given: dict[str, Any]) -> Any:
        """A provider of pydantic-ai that sends through this wire, where it lets others bring the HTTP client."""
        if "http_client" in inspect.signature(kind).parameters:
            from pydantic_ai import models

            make = getattr(models, "create_async_httpx2_client", None) or models.create_async_http_client
            self._client = make()
            self._client.event_hooks = {"request": [_look], "response": []}
            given = given | {"http_client": self._client}
        return kind(**given)

    def watch(self, *, stop: bool = False) -> _Seen:
        """Look at the request of the call that this task makes next; with ``stop``, it goes no further."""
        seen = _Seen(stop=stop)
        _CALL.set(seen)
        return seen

    @property
    def is_seen(self) -> bool:
        """Whether requests come by here."""
        return self._client is not None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


# -- parameters of Google's format ------------------------------------------------------------------

_GOOGLE = {
    "seed": "seed",
    "topp": "top_p",
    "topk": "top_k",
    "stopsequences": "stop_sequences",
    "presencepenalty": "presence_penalty",
    "frequencypenalty": "frequency_penalty",
    "thinkingconfig": "google_thinking_config",
    "safetysettings": "google_safety_settings",
}


def settings_of(params: dict[str, Any], provider: str) -> dict[str, Any]:
    """Parameters as pydantic-ai takes them: into the body as they are, or, on Google, each under its name there."""
    if not params:
        return {}
    if not provider.startswith("google"):
        return {"extra_body": params}
    inner = params.get("generationConfig")
    flat = params | inner if isinstance(inner, dict) else params
    named = {k.replace("_", "").lower(): v for k, v in flat.items()}
    return {setting: named[name] for name, setting in _GOOGLE.items() if name in named}
