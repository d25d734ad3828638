"""One call to a model: the request, the body as sent, the response, and the stored part of each."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from time import time
from typing import Any, Literal, Protocol

from assay.judging.prompts import Message
from assay.reporting.tables import printable
from assay.study.items import canonical


@dataclass(frozen=True)
class Request:
    """One call: the request to the model and, in ``about``, the item and question, which are never sent."""

    model: str
    messages: Sequence[Message]
    temperature: float | None = None
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    effort: str | None = None
    """The reasoning effort, for models with such a setting."""
    alternatives: int = 0
    """The number of alternative tokens, with their probabilities, for each token of the response."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The displayed columns of the item, for judges that are programs; all columns, for trained raters."""

    @property
    def has_images(self) -> bool:
        """Whether an image goes along."""
        return any(not isinstance(message["content"], str) for message in self.messages)


@dataclass(frozen=True)
class Sent:
    """The body of a call, and the address that it goes to; None where nothing leaves this machine."""

    body: Mapping[str, Any]
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    """The key to mask before the body is stored."""
    has_images: bool = False
    """Whether there may be images in it, written out."""

    @property
    def text(self) -> str:
        """The body as it goes over the wire."""
        return _insert_images(self.body, json.dumps) if self.has_images else self._text

    @cached_property
    def _text(self) -> str:
        return json.dumps(self.body)


Finish = Literal["stop", "length", "refusal", "filtered", "broken"]
"""How a reply ended: whole; at the limit of its length; refused by the model; withheld by a filter of the service; or
interrupted, so that it is not whole."""

Alternatives = Sequence[tuple[str, float]]
"""The alternatives for one token, each with its log probability."""


@dataclass(frozen=True)
class Completion:
    """What came back."""

    text: str
    finish: Finish = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    reasoning: str | None = None
    sent: Sent | None = None
    """The call, as it went over the wire."""
    tokens: Sequence[tuple[str, Alternatives]] = ()
    """The response by token, each with its alternatives; empty if they were not requested or not returned."""
    cached_in: int | None = None
    """How many of the tokens in the service read from its cache."""
    written_in: int | None = None
    """How many of them it wrote to its cache."""
    reasoning_out: int | None = None
    """How many of the tokens out were reasoning."""
    why: str = ""
    """The service's own word for an end that is not "stop"."""

    abstained: Collection[str] | None = ()
    """Questions to which a program gave no label on purpose; None for all of them."""

    @property
    def is_counted(self) -> bool:
        """Whether the service reports the tokens of the call."""
        return self.tokens_in is not None and self.tokens_out is not None


FailureKind = Literal["retry", "fatal", "rejected", "filtered"]
"""``retry``: the service may answer yet. ``fatal``: no call to this judge can succeed (key, model).
``rejected``: this request cannot be served; others may be. ``filtered``: a content filter rejects this item."""


class CallFailed(Exception):  # noqa: N818 - named after the event
    """A call without a usable reply."""

    def __init__(
        self, kind: FailureKind, message: str, *, status: int = 0, wait: float | None = None, starting: bool = False
    ) -> None:
        super().__init__(printable(message))
        self.kind, self.status, self.wait = kind, status, wait
        self.starting = starting
        """Whether the service appears to be starting: it accepts no calls yet, or reports that it is loading."""


class Provider(Protocol):
    """A provider that can answer a request."""

    async def complete(self, request: Request) -> Completion:
        """Make one call; raise `CallFailed` if there is no response."""

    async def sent(self, request: Request) -> Sent:
        """Return the request of a call without sending it."""

    async def close(self) -> None:
        """Let go of connections."""


# -- what goes wrong -----------------------------------------------------------------------------------


_SAID = 300
"""Maximum number of characters of a service's error message: two lines, which contain the cause."""


def failure(status: int, body: str, wait: float | None, key: str | None) -> CallFailed:
    """Classify an HTTP status."""
    said = mask_key(_error_message(body), key)
    message = ("an error instead of a reply" if status == 200 else f"HTTP {status}") + (
        f": {said[:_SAID]}" if said else ""
    )
    if status == 400 and re.search(r"API_KEY_INVALID|API key not valid", body):  # so Google says it
        return CallFailed("fatal", message, status=status)
    codes = _codes(body)
    if status == 429 and _is_used_up(body):
        return CallFailed("fatal", message, status=status)
    if status < 500 and (codes & _FILTERED or _FILTER_WORDS.search(said) or _is_flagged(body)):
        return CallFailed("filtered", f"a content filter of the service rejects the item ({message})", status=status)
    kind: FailureKind = "rejected"
    if (
        status in (408, 409, 425, 429)
        or (status >= 500 and status not in (501, 505))
        or (codes & _BUSY and status not in _FOR_GOOD)
    ):
        kind = "retry"
    elif status in (401, 402, 403, 404) or codes & _USED_UP:
        kind = "fatal"
    if status in (400, 422) and (name := _REFUSED.search(said)):
        key = next((key for key, names in _KEYS.items() if name[1].lower() in names), name[1])
        what = "it" if key == name[1] else key
        message += f" (this model does not take {name[1]}: take {what} out of the judge, or give its own in params)"
    starting = (
        status == 503 and re.search(r"\b(?:loading|starting|warming|not ready)\b", said, re.IGNORECASE) is not None
    )
    return CallFailed(kind, message, status=status, wait=wait if kind == "retry" else None, starting=starting)


_FOR_GOOD = (401, 402, 404, 413)
"""Statuses that no wait changes, with any code: Groq says of a request that is too large that a limit is exceeded."""

_REFUSED = re.compile(
    r"(?:unsupported|unknown|unrecognized|not supported|not permitted|does not support)[^\n]{0,80}?"
    r"\b(max_tokens|max_completion_tokens|temperature|top_p|(?:top_|response_?)?logprobs|reasoning_effort|effort)\b",
    re.IGNORECASE,
)
"""A parameter that a service says it does not take."""

_KEYS = {
    "score": ("logprobs", "top_logprobs", "responselogprobs", "response_logprobs"),
    "effort": ("reasoning_effort",),
}
"""Keys of a judge by which parameters of other names are sent."""


_FILTERED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
"""Codes of a service that rejects a request because of its content."""

_FILTER_WORDS = re.compile(
    r"blocked by (?:the )?content filter|content violates (?:our |the )?usage guidelines|ContentPolicyViolationError",
    re.IGNORECASE,
)
"""Words for the same of Anthropic, xAI and LiteLLM, whose errors have the type of any invalid request."""


def _is_flagged(body: str) -> bool:
    """Whether OpenRouter's moderation rejects the input, with the status of a key without permission."""
    error = _error_of(body)
    about = error.get("metadata") if isinstance(error, Mapping) else None
    return isinstance(about, Mapping) and "flagged_input" in about


_BUSY = frozenset(
    {
        *("rate_limit_exceeded", "rate_limit_error", "overloaded_error", "overloaded", "server_error", "api_error"),
        *("timeout_error", "resource_exhausted", "unavailable", "deadline_exceeded", "internal", "throttlingexception"),
        *("serviceunavailableexception", "modelnotreadyexception", "modelerrorexception", "engine_overloaded"),
        "too_many_requests",
    }
)
"""Codes, types and states of errors after which the same request can succeed, with any status."""


def _codes(body: str) -> frozenset[str]:
    """The codes, types and states by which a service classifies an error, in lower case; never words of a message."""
    error = _error_of(body)
    found: set[str] = set()
    while isinstance(error, Mapping):
        named = (str(error[key]) for key in ("code", "type", "status", "__type") if key in error)
        found |= {one.rpartition("#")[2].casefold() for one in named}  # com.amazon.…#ThrottlingException
        error = error.get("innererror")
    return frozenset(found)


def error_in_reply(content: Any, key: str | None) -> CallFailed | None:
    """Return the failure that a body with status 200 reports instead of a reply; None if it is a reply.

    OpenRouter and other gateways send their errors in this way, at the top or in the first choice; OpenAI's responses
    have the state "failed".
    """
    if not isinstance(content, Mapping):
        return None
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    error = content.get("error") or first.get("error")
    if not error:
        return None
    code = error.get("code", error.get("status")) if isinstance(error, Mapping) else None
    status = count(code) or 200
    status = status if 400 <= status < 600 else 200
    body = json.dumps({"error": error})
    return failure(status, body, requested_wait({}, body), key)


_USED_UP = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of OpenAI's with which it says that the account has no money: no wait helps."""


def _is_used_up(body: str) -> bool:
    """Whether a 429 is about the account or the day, so that a wait of a minute is no use: by its codes alone.

    The text of a message is not a criterion: Google's message about a limit per minute mentions billing as well. Google
    names the limit in a ``QuotaFailure``, and asks for a wait of seconds even if the daily limit is used up.
    """
    error = _error_of(body)
    if not isinstance(error, Mapping):
        return False
    if _USED_UP & {str(error.get(key)) for key in ("code", "type")}:
        return True
    details = error.get("details")
    listed = [one.get("violations") for one in details if isinstance(one, Mapping)] if isinstance(details, list) else []
    violations = [one for found in listed if isinstance(found, list) for one in found if isinstance(one, Mapping)]
    return any("PerDay" in str(one.get("quotaId")) for one in violations)


def _error_of(body: str) -> Any:
    """Return the error in a response body: alone or the only one of a list; the text of a body that is not JSON."""
    try:
        content = json.loads(body)
    except (json.JSONDecodeError, RecursionError):
        return body
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0]
    return content.get("error", content) if isinstance(content, dict) else content


def _error_message(body: str) -> str:
    """The message in an error's body."""
    error = _error_of(body)
    message = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(message).split())


def requested_wait(headers: Mapping[str, str], body: str) -> float | None:
    """Seconds that a service asks to wait: in its headers, or as Google says it, in the body."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    found = re.search(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"', body)
    said = retry_after(headers.get("Retry-After"))
    return float(found[1]) if said is None and found else said


def retry_after(header: str | None) -> float | None:
    """Seconds that a service asks to wait, written as a number or as a date."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except ValueError:
        return None


def count(value: Any) -> int | None:
    """A count of tokens as a service reports it, also as text; None if it is no count."""
    try:
        number = None if isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number is not None and number >= 0 else None


# -- the request and its fingerprint -------------------------------------------------------------------


def chat_body(request: Request, schema: Mapping[str, Any] | None, *, most: str = "max_tokens") -> dict[str, Any]:
    """Return a request in OpenAI's chat format; ``most`` is the service's name for the limit of the response's
    length."""
    body: dict[str, Any] = {"model": request.model, "messages": list(request.messages)}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[most] = request.max_tokens
    if schema is not None:
        wrapped = {"name": "label", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wrapped}
    if request.effort is not None:
        body["reasoning_effort"] = request.effort
    if request.alternatives:
        body |= {"logprobs": True, "top_logprobs": request.alternatives}
    return body | dict(request.params)


def keepable(body: Any, key: str | None = None) -> Any:
    """Return a body with digests instead of the bytes of images, in any format, and without the key."""
    if isinstance(body, Mapping):
        of_an_image = isinstance(body.get("data"), str) and ("media_type" in body or "mimeType" in body)
        return {k: _digest(v) if of_an_image and k == "data" else keepable(v, key) for k, v in body.items()}
    if isinstance(body, list | tuple):
        return [keepable(one, key) for one in body]
    if not isinstance(body, str):
        return body
    if body.startswith("data:") and ";base64," in body[:200]:
        kind, _, data = body.partition(",")
        return f"{kind},{_digest(data)}"
    return mask_key(body, key)


def _digest(data: str) -> str:
    return f"(sha256 {hashlib.sha256(data.encode()).hexdigest()}, {len(data)} characters)"


def fingerprint(body: Any) -> str:
    """A name for exactly this body: model, messages, images, parameters, schema."""
    return _sha256(canonical(body))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


_LONG = 10_000
"""Number of characters from which an encoded image is inserted into JSON directly."""

_PLAIN = (string.ascii_letters + string.digits + "+/=:;,-").encode()
"""The characters of an encoded image, which JSON does not escape."""


def _insert_images(body: Any, encode: Callable[[Any], str]) -> str:
    """Return the JSON of a body with images inserted directly: escaping 2 MB of characters takes 8 ms, inserting 1
    ms."""
    images: list[str] = []
    found = encode(_take_images(body, images))
    parts = re.split(r"\\u0000(\d+)\\u0000", found)
    if sorted(map(int, parts[1::2])) != list(range(len(images))):  # a text that equals a placeholder
        return encode(body)
    return "".join(images[int(part)] if place % 2 else part for place, part in enumerate(parts))


def _take_images(value: Any, images: list[str]) -> Any:
    """Return a body with a placeholder for each image, which is appended to the list."""
    if isinstance(value, str):
        if len(value) < _LONG or value.encode("utf-8", "backslashreplace").translate(None, _PLAIN):
            return value
        images.append(value)
        return f"\0{len(images) - 1}\0"
    if isinstance(value, Mapping):
        return {key: _take_images(one, images) for key, one in value.items()}
    return [_take_images(one, images) for one in value] if isinstance(value, list | tuple) else value


def cached_call(sent: Sent) -> tuple[str, str]:
    """The text of a call's body as it is kept, and its fingerprint, by which it is found."""
    text = "" if sent.has_images else sent.text
    if not text or ";base64," in text or '"data": "' in text or (sent.key and _may_show(text, sent.key)):
        text = json.dumps(keepable(sent.body, sent.key))  # any but the usual call, which is kept as it was sent
    return _sha256(text), text


def identity(request: Request) -> str:
    """Return the identity of a request for any provider: the body in one format.

    The limit of the response's length is not part of it.
    """
    body = chat_body(replace(request, max_tokens=None), request.schema)
    return _sha256(_insert_images(body, canonical)) if request.has_images else fingerprint(body)


def sharing_key(request: Request) -> tuple[Any, ...]:
    """What must be equal for two questions to share a call."""
    return identity(request), request.max_tokens


# -- masking of keys in all that is stored or printed ----------------------------------------------------

_SHORT = 8
"""Keys with fewer characters are masked only as whole words, because they may be parts of other words."""

_IN_PART = re.compile(r"(?<![\w-])(?P<head>[\w-]{2,}+)(?:[*•…]{2,}|…|\.{3,})(?P<tail>[\w-]*)")
"""How a service repeats a key: its first characters, something in between, its last ones. A head is tried from where
its word begins alone: from each letter, a word of 20,000 took 18 s."""


_AFTER_HEAD = re.compile(r"(?<=[\w-]{2})(?:[*]|[.]{3}|\\u202[26])")
"""In JSON, where the preceding characters may be the head of a key."""


def _may_show(text: str, key: str) -> bool:
    """Whether a key may be readable in JSON, whole or in part: quicker to say than to mask it."""
    return json.dumps(key)[1:-1] in text or _AFTER_HEAD.search(text) is not None


def mask_key(text: str, key: str | None) -> str:
    """A text in which the key is not readable, whole or as services repeat it in part; all else is as it was.

    A short word in the key's place (``none``, ``EMPTY``, ``ollama``), as servers without keys are given, is no secret.
    """
    if not key or (key.isalpha() and len(key) < _SHORT):
        return text

    def masked(found: re.Match[str]) -> str:
        return "***" if key.startswith(found["head"]) and key.endswith(found["tail"]) else found[0]

    whole = re.escape(key) if len(key) >= _SHORT else rf"(?<!\w){re.escape(key)}(?!\w)"
    return _IN_PART.sub(masked, re.sub(whole, "***", text))


# -- which parameters did not get into a body ----------------------------------------------------------

_WORDS = frozenset(
    {"messages", "contents", "input", "system", "systeminstruction", "responseformat", "responsejsonschema", "schema"}
)
"""Parts of a body with messages or the JSON schema; parameters are not searched for in them."""

_MOST = ("maxtokens", "maxoutputtokens", "maxcompletiontokens")

_EFFORT = ("reasoningeffort", "effort", "thinkinglevel")

_OWN = ("model", "messages", "stream")
"""Keys that the body sets itself; a parameter of the same name would replace them."""


def not_sent(request: Request, body: Mapping[str, Any]) -> list[str]:
    """The parameters of a request that its body does not hold, or holds with another value."""
    missing = [k for k, v in request.params.items() if k in _OWN or not _holds(body, (_plain(k),), v)]
    if request.temperature is not None and not _holds(body, ("temperature",), request.temperature):
        missing.append("temperature")
    if request.max_tokens is not None and not _holds(body, _MOST, request.max_tokens):
        missing.append("max_tokens")
    if request.effort is not None and not _holds(body, _EFFORT, request.effort):
        missing.append("effort")
    return list(dict.fromkeys(missing))


def _holds(body: Mapping[str, Any], names: Sequence[str], value: Any) -> bool:
    found = [v for k, v in body.items() if _plain(k) in names] or list(_values(body, names))
    return any(_same(value, one) for one in found)


def _values(body: Any, names: Sequence[str]) -> Iterator[Any]:
    """Return the values under any of these names, at any depth."""
    if not isinstance(body, Mapping):
        return
    for name, value in body.items():
        if _plain(name) in names:
            yield value
        elif _plain(name) not in _WORDS:
            yield from _values(value, names)


def _same(wanted: Any, found: Any) -> bool:
    """Return whether a value is present, in any spelling of its keys; additional keys are allowed."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        there = {_plain(name): value for name, value in found.items()}
        return all(_plain(k) in there and _same(v, there[_plain(k)]) for k, v in wanted.items())
    return bool(wanted == found)


def _plain(name: str) -> str:
    """``thinkingConfig`` and ``thinking_config`` are one name."""
    return str(name).replace("_", "").lower()
