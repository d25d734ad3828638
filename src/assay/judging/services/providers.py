"""Providers: a service over HTTP in its own format, a file of responses, or a program.

All have one method, `complete`, which makes exactly one call and raises one kind of error; the client retries. To add a
provider, add a row to `PROVIDERS`.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies

from assay.errors import JudgeError, listing, require, unknown
from assay.judging.prompts import is_near
from assay.judging.records import CommandJudge, FunctionJudge, Outputs, OutputsFirst, Program, Recorded, TrainedReplies
from assay.judging.services.formats import (
    MOST,
    AnthropicFormat,
    AzureFormat,
    ChatFormat,
    GoogleFormat,
    ResponsesFormat,
    ServiceFormat,
)
from assay.judging.services.http import (
    CallFailed,
    Completion,
    Provider,
    Request,
    Sent,
    error_in_reply,
    failure,
    mask_key,
    requested_wait,
)
from assay.plugins import Registry
from assay.study.schema import Judge, System


@dataclass(frozen=True)
class Access:
    """The context of a provider, in addition to its judge."""

    folder: Path
    """The study's, in which files are looked for."""
    timeout: float
    connections: int
    asking: bool = True
    """Whether it will be asked; without, it needs no key."""
    code: bool = False
    """Whether programs may run that the study's folder names."""


@dataclass(frozen=True)
class ProviderRow:
    """How the judges of one provider are reached."""

    make: Callable[[Judge, ProviderRow, Access], Provider]
    url: str = ""
    """The address of the service, unless study.yaml has ``base_url``."""
    keys: tuple[str, ...] = ()
    """The environment variables of its key, unless study.yaml says ``key`` or ``base_url``."""
    is_free: bool = False
    format: ServiceFormat | None = None
    """How it is written to; None where assay does not write itself."""
    batch: Literal["openai", "azure", "mistral", "anthropic", "google"] | None = None
    """Whose form of batches it takes."""
    example: str = ""
    """An example address, for services with individual addresses."""


def provider_for(judge: Judge, access: Access) -> Provider:
    """The provider that a judge of the study names.

    Raises
    ------
    JudgeError
        If the environment has no key, or the provider is unknown.
    StudyError
        If a file of responses cannot be parsed.
    """
    row = PROVIDERS.find(judge.provider)
    if row is None:
        raise JudgeError(f"judge '{judge.name}' cannot be queried: {_unknown_provider(judge.provider)}")
    _refuse_settings(judge, row)
    if isinstance(judge, System) and judge.file is not None:
        outputs = Outputs(access.folder / judge.file, judge)
        return outputs if judge.provider == "recorded" else OutputsFirst(outputs, row.make(judge, row, access))
    return row.make(judge, row, access)


OPENAI_COMPATIBLE = {
    "openrouter": "https://openrouter.ai/api/v1",
    "together": "https://api.together.xyz/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "xai": "https://api.x.ai/v1",
    "bedrock": "https://bedrock-runtime.REGION.amazonaws.com/openai/v1",
    "cohere": "https://api.cohere.ai/compatibility/v1",
}
"""Addresses at which further providers accept OpenAI's chat format."""


_OTHER_NAMES = {
    **dict.fromkeys(("claude", "anthropic-api"), "anthropic"),
    **dict.fromkeys(("gemini", "google-ai", "googleai", "google-genai", "vertex", "vertexai", "vertex-ai"), "google"),
    **dict.fromkeys(("azure-openai", "azureopenai", "openai-azure"), "azure"),
    **dict.fromkeys(("gpt", "chatgpt", "open-ai", "openai-chat"), "openai"),
    "mistralai": "mistral",
}
"""What users call providers."""


def _unknown_provider(name: str) -> str:
    typed = name.strip().casefold().replace("_", "-")
    meant = typed if typed in PROVIDERS.names else _OTHER_NAMES.get(typed)
    if meant is not None:
        return f"provider '{name}' is called '{meant}' in assay"
    near = get_close_matches(typed, OPENAI_COMPATIBLE, n=1, cutoff=0.8)
    if near:
        url = OPENAI_COMPATIBLE[near[0]]
        return f"'{near[0]}' accepts OpenAI's chat format: write 'provider: openai', 'base_url: {url}'"
    message = unknown("provider", name, PROVIDERS.names, "assay")
    if message.endswith("?"):
        return message
    return f"{message}. For an endpoint with OpenAI's chat format, set base_url"


def _refuse_settings(judge: Judge, row: ProviderRow) -> None:
    """Refuse settings that a provider does not support, before the first call.

    Raises
    ------
    JudgeError
    """
    if (
        judge.score != "label"
        and judge.provider != "recorded"
        and (row.format is None or not row.format.has_probabilities)
    ):
        raise JudgeError(
            f"judge '{judge.name}': {judge.provider} returns no token probabilities, which score: {judge.score} "
            "requires; use repeated calls instead (repeats: 10, with a temperature), and an ensemble with rule: mean"
        )
    lost = [name for name, value in (("headers", judge.headers), ("the query of base_url", judge.query)) if value]
    if lost and row.format is None:
        raise JudgeError(f"judge '{judge.name}': {listing(lost)} would not reach {judge.provider}; remove it")


def _recorded_provider(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    assert judge.file is not None
    return Recorded(access.folder / judge.file, judge)


def _program(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    what = judge.function or " ".join(judge.command)
    if not access.asking:
        return Program(judge, access.timeout)
    if not access.code:
        raise JudgeError(
            f"judge '{judge.name}' runs code that the study's folder names: {what}. Read it, and where you trust it, "
            "allow it with --allow-code (allow_code, in Python)"
        )
    kind = CommandJudge if judge.command else FunctionJudge
    return kind(judge, access.folder, access.timeout)


def _trained_provider(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    return TrainedReplies(access.folder, judge.model)


def _service(judge: Judge, row: ProviderRow, access: Access) -> Provider:
    url = judge.address or row.url
    assert row.format is not None
    if not url:
        raise JudgeError(f"judge '{judge.name}' needs base_url: where {judge.provider} is, such as {row.example}")
    variables = [judge.key] if judge.key else list(row.keys) if judge.base_url is None or not row.url else []
    here = _Here(judge, url, _key(judge, variables) if access.asking else None)
    if access.asking:
        require("aiohttp", "judge", "asking models")  # before the first call, which would wait for the import
        secrets = {
            name: _key(judge, [name]) or "" for value in judge.headers.values() for name in _header_variables(value)
        }
        filled = {name: _VARIABLE.sub(lambda found: secrets[found[1]], value) for name, value in judge.headers.items()}
        here = replace(here, headers=filled, secrets=tuple(secrets.values()))
    form = row.format
    if isinstance(form, ChatFormat) and url.startswith(OPENAI_URL):
        form = replace(form, at_openai=True)
    return Service(form, here, timeout=access.timeout, connections=access.connections)


_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


def _header_variables(value: str) -> list[str]:
    """The environment variables that a header names."""
    return _VARIABLE.findall(value)


def _key(judge: Judge, variables: Sequence[str]) -> str | None:
    """The key from the environment, from the first of these that has one; a local endpoint needs none."""
    if not variables:
        return None
    key = next(filter(None, (os.environ.get(name, "").strip() for name in variables)), None)
    if key is None:
        raise JudgeError(f"judge '{judge.name}' needs a key: set the environment variable {' or '.join(variables)}")
    return key


OPENAI_URL = "https://api.openai.com/v1"

_CHAT = ChatFormat()
_WITHOUT = ChatFormat(has_probabilities=False)
_OPENAI = ("OPENAI_API_KEY",)

PROVIDERS = Registry("assay.providers", ProviderRow, {
    "openai": ProviderRow(_service, OPENAI_URL, _OPENAI, format=_CHAT, batch="openai"),
    "openai-compatible": ProviderRow(_service, OPENAI_URL, _OPENAI, format=_CHAT, batch="openai"),
    "openai-responses": ProviderRow(_service, OPENAI_URL, _OPENAI, format=ResponsesFormat(), batch="openai"),
    "azure": ProviderRow(
        _service,
        "",
        ("AZURE_OPENAI_API_KEY",),
        format=AzureFormat(),
        batch="azure",
        example="https://NAME.openai.azure.com/openai/v1",
    ),
    "anthropic": ProviderRow(
        *(_service, "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)), format=AnthropicFormat(), batch="anthropic"
    ),
    "google": ProviderRow(
        *(_service, "https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
        format=GoogleFormat(),
        batch="google",
    ),
    "mistral": ProviderRow(
        _service, "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), format=_WITHOUT, batch="mistral"
    ),
    "groq": ProviderRow(_service, "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), format=_WITHOUT, batch="openai"),
    "vllm": ProviderRow(_service, "http://localhost:8000/v1", is_free=True, format=_CHAT),
    "ollama": ProviderRow(_service, "http://localhost:11434/v1", is_free=True, format=_CHAT),
    "recorded": ProviderRow(_recorded_provider, is_free=True),
    "python": ProviderRow(_program, is_free=True),
    "command": ProviderRow(_program, is_free=True),
    "trained": ProviderRow(_trained_provider, is_free=True),
})  # fmt: skip
"""By what study.yaml says after ``provider:``."""

# -- a service, over plain HTTP -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Here:
    """The address, key and headers of one judge's calls."""

    judge: Judge
    base: str
    key: str | None = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """As they are sent, with what comes from the environment."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What headers brought from the environment."""

    def masked(self, text: str) -> str:
        """A text without the key, and without what headers brought from the environment."""
        for secret in (self.key, *self.secrets):
            text = mask_key(text, secret)
        return text


ABOUT_FORM = re.compile(
    r"response_?format|response_?json_?schema|response_?mime_?type|output_(?:config|format)|text\.format|json_?schema|"
    r"structured|schema",
    re.IGNORECASE,
)
"""Words in the error of a service that rejects the JSON schema."""

_STREAM = re.compile(r"\s*(?::[^\n]*\s+)?(?:event|data|id):", re.IGNORECASE)
"""The beginning of a stream of events."""

LARGEST_REPLY = 20_000_000
"""Bytes: a hundred times the longest reply with the alternatives of all its tokens."""


_LONG_BODY = 2**20
"""Bytes from which aiohttp warns that a body would be sent at once."""

_JSON = {"Content-Type": "application/json"}


def _data(text: str) -> bytes | io.BytesIO:
    """A body; a long one goes in parts, between which other calls have their turn."""
    return io.BytesIO(text.encode()) if len(text) > _LONG_BODY else text.encode()


@dataclass(frozen=True)
class _BodyForm:
    """What endpoints refuse in a body though others need it: the name of the reply's limit, and the schema."""

    most: str | None
    """The name for the limit of the response's length; None in a format with a single name."""
    has_schema: bool = True


class Service:
    """Any service that is reached by one POST a call."""

    def __init__(self, form: ServiceFormat, here: _Here, *, timeout: float, connections: int) -> None:
        self.format, self.here, self._query = form, here, urlencode(here.judge.query)
        self._timeout = timeout
        self._connections = connections
        self._session: Any = None
        self._forms: dict[str, _BodyForm] = {}
        """The form of each model's calls: the usual one, or the one that it was found to take instead."""

    async def complete(self, request: Request) -> Completion:
        """One POST; a further one without the schema, or with the limit's other name, if the endpoint refuses these.

        Calls in flight that are refused are each sent again; calls that begin later have the new form at once.
        """
        form = usual = self._form(request)
        tried = [form]
        while True:
            try:
                completion = await self._post(request, form)
            except CallFailed as error:
                other = self._other_form(request, form, error)
                if other is None or other in tried:
                    raise
                form = other
                tried.append(form)
            else:
                self._learn(request.model, usual, form)
                return completion

    def _learn(self, model: str, usual: _BodyForm, taken: _BodyForm) -> None:
        """Store the form that a model accepts instead of the usual one, together with findings of other calls."""
        if taken is not usual:
            known = self._forms[model]
            most = known.most if taken.most == usual.most else taken.most
            self._forms[model] = _BodyForm(most, known.has_schema and taken.has_schema)

    def _form(self, request: Request) -> _BodyForm:
        """The form of the next call."""
        if request.model not in self._forms:
            usual = self.format.name_of_most(request.model) if isinstance(self.format, ChatFormat) else None
            self._forms[request.model] = _BodyForm(usual)
        return self._forms[request.model]

    def _other_form(self, request: Request, form: _BodyForm, error: CallFailed) -> _BodyForm | None:
        """The form to send a refused call in; None if the refusal is about something else."""
        said = str(error)
        if (
            form.has_schema
            and request.schema is not None
            and error.status in (400, 422, 501)
            and ABOUT_FORM.search(said)
        ):
            return replace(form, has_schema=False)
        if form.most is None or request.max_tokens is None or error.status not in (400, 422):
            return None
        if not re.search(rf"\b{form.most}\b", said):
            return None
        return replace(form, most=next(name for name in MOST if name != form.most))

    async def sent(self, request: Request) -> Sent:
        """The body of the next call, in the form that the endpoint was found to take."""
        return self._sent_in(request, self._form(request))

    def _sent_in(self, request: Request, form: _BodyForm) -> Sent:
        """Return the body of a call, and its address."""
        body = self.format.body(request, request.schema if form.has_schema else None)
        if isinstance(self.format, ChatFormat) and request.max_tokens is not None and form.most is not None:
            usual = self.format.name_of_most(request.model)
            body = {form.most if key == usual else key: value for key, value in body.items()}
        url = self.address(self.format.url(self.here.base, request.model))
        return Sent(body, url, self.here.key, request.has_images)

    def address(self, url: str) -> str:
        """An address, with the judge's query."""
        return f"{url}{'&' if '?' in url else '?'}{self._query}" if self._query else url

    async def _post(self, request: Request, form: _BodyForm) -> Completion:
        sent = self._sent_in(request, form)
        assert sent.url is not None
        return self.read(await self.fetch("POST", sent.url, data=_data(sent.text), headers=_JSON), sent)

    async def fetch(self, method: str, url: str, *, header: str | None = None, **options: Any) -> str:
        """Return the text of the response or, with ``header``, the value of that header.

        Raises
        ------
        CallFailed
            If there is no response, or an error.
        """
        import aiohttp

        try:
            async with self._open().request(method, url, allow_redirects=False, **options) as response:
                text = await _text(response)
                if 300 <= response.status < 400:
                    raise _redirected(response.status, response.headers.get("Location"))
                if response.status >= 300:
                    raise failure(response.status, self.here.masked(text), requested_wait(response.headers, text), None)
                return text if header is None else str(response.headers.get(header, ""))
        except TimeoutError:
            raise CallFailed("retry", f"no reply within {self._timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            words = self.here.masked(f"{type(error).__name__}: {error}")
            if _NO_TLS.search(words):
                raise CallFailed("fatal", f"{url} does not use TLS; write http:// in base_url") from None
            # A server on this machine or in this house takes no calls until its model is there.
            starting = isinstance(error, aiohttp.ClientConnectorError) and is_near(url)
            raise CallFailed("retry", f"the connection broke ({words})", starting=starting) from None

    async def lines(self, url: str) -> AsyncIterator[str]:
        """The lines of a file at the service, however large it is.

        Raises
        ------
        If the file does not arrive, or not completely.
            If the file does not arrive, or not completely.
        """
        import aiohttp

        self.refuse_elsewhere(url)
        how: dict[str, Any] = {"timeout": aiohttp.ClientTimeout(total=None), "allow_redirects": False}
        rest = b""
        try:
            async with self._open().get(self.address(url), **how) as response:
                if response.status >= 300:
                    raise failure(response.status, self.here.masked(await _text(response)), None, None)
                async for part in response.content.iter_any():
                    *whole, rest = (rest + part).split(b"\n")
                    for line in whole:
                        if line.strip():
                            yield line.decode("utf-8", "replace")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            words = self.here.masked(f"{type(error).__name__}: {error}")
            raise CallFailed("retry", f"the connection broke ({words})") from None
        if rest.strip():
            yield rest.decode("utf-8", "replace")

    def refuse_elsewhere(self, url: str) -> None:
        """Send the key to the service's own address alone, wherever it says that a file is.

        Raises
        ------
        CallFailed
        """
        if urlsplit(url).netloc != urlsplit(self.here.base).netloc:
            raise CallFailed("rejected", f"the file is at {urlsplit(url).netloc}, which is not sent the key")

    def read(self, text: str, sent: Sent | None = None) -> Completion:
        """Parse a response, and mask the key in it."""
        try:
            content = json.loads(text)
            error = error_in_reply(content, self.here.key)
            if error is not None:
                raise error
            found = self.format.completion(content)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            if _STREAM.match(text):
                raise CallFailed(
                    "fatal", "the server streams its replies; set params: {stream: false}, or use a server that can"
                ) from None
            raise CallFailed("retry", "the reply is not in the service's format, or cut off") from None
        thought = found.reasoning and self.here.masked(found.reasoning)
        return replace(found, text=self.here.masked(found.text), reasoning=thought, sent=sent)

    def _open(self) -> Any:
        if self._session is None:
            aiohttp = require("aiohttp", "judge", "asking models")
            self._session = aiohttp.ClientSession(
                headers=self.format.headers(self.here.key) | dict(self.here.headers),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                connector=aiohttp.TCPConnector(limit=self._connections),
                trust_env=bool(getproxies()),  # looked up again at every call, in a thread
            )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


_NO_TLS = re.compile(r"WRONG_VERSION_NUMBER|wrong version number|record layer failure|UNKNOWN_PROTOCOL", re.IGNORECASE)
"""What a client of TLS says about a server that answers in plain HTTP."""


def _redirected(status: int, address: str | None) -> CallFailed:
    """The failure of a call that is sent elsewhere: the key is not sent there, and no repeat helps."""
    where = f" to {address}; set base_url to the address of the service" if address else ""
    return CallFailed("fatal", f"HTTP {status}: the service redirects{where}", status=status)


async def _text(response: Any) -> str:
    """A reply's text, unless it has no end."""
    length = None if "Content-Encoding" in response.headers else response.content_length
    if length is not None and length <= LARGEST_REPLY:  # the usual reply: not part by part
        said: bytes = await response.read()
    else:
        parts, size = [], 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > LARGEST_REPLY:
                raise CallFailed("rejected", f"the reply has more than {LARGEST_REPLY:,} bytes")
            parts.append(part)
        said = b"".join(parts)
    try:
        text = said.decode(response.charset or "utf-8", "replace")
    except LookupError:  # a charset that is none
        text = said.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")
