"""What pydantic-ai puts on the wire: seen as it leaves, or stopped before it does."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from assay.judging.prompts import Message
from assay.study.items import canonical

# -- Keys, made unreadable in whatever is kept or printed ------------------------------------------


def without_secrets(text: str, key: str | None) -> str:
    """A text in which the key is not readable, whole or as services repeat it in part; all else is as it was.

    A short word in the key's place (``none``, ``EMPTY``, ``ollama``), as servers without keys are given, is no secret.
    """
    if not key or (key.isalpha() and len(key) < _SHORT):
        return text
    alone = (r"(?<!\w)", r"(?!\w)") if len(key) < _SHORT else ("", "")
    text = re.sub(alone[0] + re.escape(key) + alone[1], "***", text)
    return _IN_PART.sub(lambda found: "***" if _is_part(found, key) else found[0], text)


_SHORT = 8
"""Keys with fewer characters are looked for as words of their own: they may well be parts of others."""

_IN_PART = re.compile(r"(?P<head>[\w-]{2,})(?:[*•…]{2,}|…|\.{3,})(?P<tail>[\w-]*)")


def _is_part(found: re.Match[str], key: str) -> bool:
    """Whether this is how a service repeats the key: its first characters, something in between, its last ones."""
    return key.startswith(found["head"]) and key.endswith(found["tail"])


# -- What goes over the wire -----------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One call: what is wanted of the model, and (``about``, never sent) what it is for."""

    model: str
    messages: Sequence[Message]
    temperature: float | None = None
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sent:
    """The body of a call, and the address that it goes to; None where nothing leaves this machine."""

    body: Mapping[str, Any]
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    """What is made unreadable before the body is kept."""


def chat_body(request: Request, schema: Mapping[str, Any] | None, *, most: str = "max_tokens") -> dict[str, Any]:
    """A request in OpenAI's chat format; ``most`` is what the service calls the limit of the reply's length."""
    body: dict[str, Any] = {"model": request.model, "messages": list(request.messages)}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[most] = request.max_tokens
    if schema is not None:
        wrapped = {"name": "label", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wrapped}
    return body | dict(request.params)


# -- how it is kept ---------------------------------------------------------------------------------


def kept(body: Any, key: str | None = None) -> Any:
    """A body with digests in place of the bytes of images, in whichever format they stand, and without the key."""
    if isinstance(body, Mapping):
        of_an_image = isinstance(body.get("data"), str) and ("media_type" in body or "mimeType" in body)
        return {k: _digest(v) if of_an_image and k == "data" else kept(v, key) for k, v in body.items()}
    if isinstance(body, list | tuple):
        return [kept(one, key) for one in body]
    if not isinstance(body, str):
        return body
    if body.startswith("data:") and ";base64," in body[:200]:
        kind, _, data = body.partition(",")
        return f"{kind},{_digest(data)}"
    return without_secrets(body, key)


def _digest(data: str) -> str:
    return f"(sha256 {hashlib.sha256(data.encode()).hexdigest()}, {len(data)} characters)"


def fingerprint(body: Any) -> str:
    """A name for exactly this body: model, messages, images, parameters, schema."""
    return hashlib.sha256(canonical(body).encode("utf-8", "backslashreplace")).hexdigest()


def as_kept(sent: Sent) -> tuple[str, str]:
    """The fingerprint of a call, and the text under which its body is kept."""
    body = kept(sent.body, sent.key)
    return fingerprint(body), json.dumps(body)


def identity(request: Request) -> str:
    """Names what a call asks, whoever is asked: the body in one format for all providers.

    Where a reply is cut off is no part of it.
    """
    return fingerprint(chat_body(replace(request, max_tokens=None), request.schema))


# -- what did not get into it -----------------------------------------------------------------------

_WORDS = frozenset(
    {"messages", "contents", "input", "system", "systeminstruction", "responseformat", "responsejsonschema"}
)
"""Parts of a body that hold what is said, or the form of the reply; no parameter is looked for in them."""

_MOST = ("maxtokens", "maxoutputtokens", "maxcompletiontokens")


_OWN = ("model", "messages", "stream")
"""What a body says of itself; a parameter of the name would put something else in its place."""


def not_sent(request: Request, body: Mapping[str, Any]) -> list[str]:
    """The parameters of a request that its body does not hold, or holds with another value."""
    missing = [k for k, v in request.params.items() if k in _OWN or not _holds(body, (_plain(k),), v)]
    if request.temperature is not None and not _holds(body, ("temperature",), request.temperature):
        missing.append("temperature")
    if request.max_tokens is not None and not _holds(body, _MOST, request.max_tokens):
        missing.append("max_tokens")
    return list(dict.fromkeys(missing))


def _holds(body: Mapping[str, Any], names: Sequence[str], value: Any) -> bool:
    found = [v for k, v in body.items() if _plain(k) in names] or list(_values(body, names))
    return any(_same(value, one) for one in found)


def _values(body: Any, names: Sequence[str]) -> Iterator[Any]:
    """What stands under any of these names, at whatever depth."""
    if not isinstance(body, Mapping):
        return
    for name, value in body.items():
        if _plain(name) in names:
            yield value
        elif _plain(name) not in _WORDS:
            yield from _values(value, names)


def _same(wanted: Any, found: Any) -> bool:
    """Whether a value is there, however its keys are spelled; more beside it does no harm."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        there = {_plain(name): value for name, value in found.items()}
        return all(_plain(k) in there and _same(v, there[_plain(k)]) for k, v in wanted.items())
    return bool(wanted == found)


def _plain(name: str) -> str:
    """``thinkingConfig`` and ``thinking_config`` are one name."""
    return str(name).replace("_", "").lower()


# -- What pydantic-ai puts on the wire -------------------------------------------------------------

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
