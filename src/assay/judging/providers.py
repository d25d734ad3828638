"""Who answers: a service over HTTP in its own format, any provider pydantic-ai knows, a file of replies, a program.

All have one method, `complete`, which makes exactly one call. What goes wrong is said in one kind of
error; trying again is the client's business. To add a provider, add a row to `PROVIDERS`.
"""

from __future__ import annotations

import inspect
import io
import ipaddress
import json
import os
import re
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies

from assay.errors import JudgeError, MissingExtra, listing, require, unknown
from assay.judging.formats import (
    MOST,
    AnthropicFormat,
    AzureFormat,
    ChatFormat,
    GoogleFormat,
    ResponsesFormat,
    ServiceFormat,
)
from assay.judging.http import (
    CallFailed,
    Completion,
    Provider,
    Request,
    Sent,
    chat_body,
    failure,
    mask_key,
    requested_wait,
)
from assay.judging.prompts import Message
from assay.judging.records import CommandJudge, FunctionJudge, Outputs, OutputsFirst, Program, Recorded, TrainedReplies
from assay.study.items import canonical
from assay.study.schema import Judge, System


@dataclass(frozen=True)
class Access:
    """What a provider is made with, besides its judge."""

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
    """Where the service is, unless study.yaml says ``base_url``."""
    keys: tuple[str, ...] = ()
    """The environment variables of its key, unless study.yaml says ``key`` or ``base_url``."""
    is_free: bool = False
    format: ServiceFormat | None = None
    """How it is written to; None where assay does not write itself."""
    batch: Literal["openai", "azure", "mistral", "anthropic", "google"] | None = None
    """Whose form of batches it takes."""
    example: str = ""
    """An address of such a service, where everybody has another."""


def provider_for(judge: Judge, access: Access) -> Provider:
    """The provider that a judge of the study names.

    Raises
    ------
    JudgeError
        Where the environment has no key, or the provider is unknown.
    StudyError
        Where a file of replies cannot be read.
    """
    row = PROVIDERS.get(judge.provider, _IN_PYDANTIC_AI)
    _refuse_settings(judge, row)
    if isinstance(judge, System) and judge.file is not None:
        outputs = Outputs(access.folder / judge.file, judge)
        return outputs if judge.provider == "recorded" else OutputsFirst(outputs, row.make(judge, row, access))
    return row.make(judge, row, access)


def _refuse_settings(judge: Judge, row: ProviderRow) -> None:
    """What a provider cannot do, said before it is asked.

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
            f"judge '{judge.name}': {judge.provider} gives no probabilities of tokens, which score: {judge.score} "
            "needs; ask several times in its place (repeats: 10, with a temperature), and take an ensemble's mean"
        )
    lost = [name for name in ("headers", "query", "max_tokens_as") if getattr(judge, name)]
    if lost and row.format is None:
        raise JudgeError(f"judge '{judge.name}': {listing(lost)} would not reach {judge.provider}; leave it out")
    if judge.max_tokens_as and not isinstance(row.format, ChatFormat):
        raise JudgeError(
            f"judge '{judge.name}': max_tokens_as is for OpenAI's chat format; {judge.provider} has its own"
        )


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
    url = judge.base_url or row.url
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


def _library(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    return PydanticAI(judge, timeout=access.timeout, asking=access.asking)


def _key(judge: Judge, variables: Sequence[str]) -> str | None:
    """The key from the environment, from the first of these that has one; a local endpoint needs none."""
    if not variables:
        return None
    key = next(filter(None, (os.environ.get(name, "").strip() for name in variables)), None)
    if key is None:
        raise JudgeError(f"judge '{judge.name}' needs a key: set the environment variable {' or '.join(variables)}")
    return key


def is_near(url: str) -> bool:
    """Whether an address is of this machine or this network."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".internal"))


OPENAI_URL = "https://api.openai.com/v1"

_IN_PYDANTIC_AI = ProviderRow(_library)
"""Of a provider that has no row, too: pydantic-ai may know it."""

_CHAT = ChatFormat()
_WITHOUT = ChatFormat(has_probabilities=False)
_OPENAI = ("OPENAI_API_KEY",)

PROVIDERS: dict[str, ProviderRow] = {
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
    "bedrock": _IN_PYDANTIC_AI,
    "cohere": _IN_PYDANTIC_AI,
}
"""By what study.yaml says after ``provider:``."""

# -- a service, over plain HTTP -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Here:
    """Where one judge's calls go, and with what."""

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
"""What a service names that refuses the form of a reply."""

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
    """What the limit of a reply's length is called; None in a format that has one name for it."""
    has_schema: bool = True


class Service:
    """Any service that is reached by one POST a call."""

    def __init__(self, form: ServiceFormat, here: _Here, *, timeout: float, connections: int) -> None:
        self.format, self.here = form, here
        self._timeout = timeout
        self._connections = connections
        self._session: Any = None
        self._forms: dict[str, _BodyForm] = {}
        """The form that a model was found to take, if it refused the usual one."""

    async def complete(self, request: Request) -> Completion:
        """One POST; a further one without the schema, or with the limit's other name, if the endpoint refuses these.

        Calls in flight that are refused are each sent again; calls that begin later have the new form at once.
        """
        form = usual = self._form(request)
        tried: set[_BodyForm] = set()
        while True:
            tried.add(form)
            try:
                completion = await self._post(request, form)
            except CallFailed as error:
                other = self._other_form(request, form, error)
                if other is None or other in tried:
                    raise
                form = other
            else:
                self._learn(request.model, usual, form)
                return completion

    def _learn(self, model: str, usual: _BodyForm, taken: _BodyForm) -> None:
        """Keep what a model was found to take in place of the usual, beside what other calls have found out."""
        if taken != usual:
            known = self._forms.get(model, usual)
            most = known.most if taken.most == usual.most else taken.most
            self._forms[model] = _BodyForm(most, known.has_schema and taken.has_schema)

    def _form(self, request: Request) -> _BodyForm:
        """The form of the next call."""
        if request.model in self._forms:
            return self._forms[request.model]
        usual = self.format.name_of_most(request.model) if isinstance(self.format, ChatFormat) else None
        return _BodyForm(self.here.judge.max_tokens_as or usual)

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
        is_given = self.here.judge.max_tokens_as is not None or request.max_tokens is None
        if form.most is None or is_given or error.status not in (400, 422) or not re.search(rf"\b{form.most}\b", said):
            return None
        return replace(form, most=next(name for name in MOST if name != form.most))

    async def sent(self, request: Request) -> Sent:
        """The body of the next call, in the form that the endpoint was found to take."""
        return self._sent_in(request, self._form(request))

    def _sent_in(self, request: Request, form: _BodyForm) -> Sent:
        """The body of a call, and where it goes."""
        body = self.format.body(request, request.schema if form.has_schema else None)
        if isinstance(self.format, ChatFormat) and request.max_tokens is not None and form.most is not None:
            usual = self.format.name_of_most(request.model)
            body = {form.most if key == usual else key: value for key, value in body.items()}
        url = self.address(self.format.url(self.here.base, request.model))
        return Sent(body, url, self.here.key, request.has_images)

    def address(self, url: str) -> str:
        """An address, with the judge's query."""
        query = urlencode(self.here.judge.query)
        return f"{url}{'&' if '?' in url else '?'}{query}" if query else url

    async def _post(self, request: Request, form: _BodyForm) -> Completion:
        sent = self._sent_in(request, form)
        assert sent.url is not None
        return self.read(await self.fetch("POST", sent.url, data=_data(sent.text), headers=_JSON), sent)

    async def fetch(self, method: str, url: str, *, header: str | None = None, **options: Any) -> str:
        """What the service replies, as text; with ``header``, what that header of the reply says.

        Raises
        ------
        CallFailed
            Where it brings no reply, or says no.
        """
        import aiohttp

        try:
            async with self._open().request(method, url, allow_redirects=False, **options) as response:
                text = await _text(response)
                if response.status >= 300:
                    raise failure(response.status, self.here.masked(text), requested_wait(response.headers, text), None)
                return text if header is None else str(response.headers.get(header, ""))
        except TimeoutError:
            raise CallFailed("retry", f"no reply within {self._timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            words = self.here.masked(f"{type(error).__name__}: {error}")
            # A server on this machine or in this house takes no calls until its model is there.
            starting = isinstance(error, aiohttp.ClientConnectorError) and is_near(url)
            raise CallFailed("retry", f"the connection broke ({words})", starting=starting) from None

    async def lines(self, url: str) -> AsyncIterator[str]:
        """The lines of a file at the service, however large it is.

        Raises
        ------
        CallFailed
            Where the file does not come, or not to its end.
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
        """What a reply says, without a key that it repeats."""
        try:
            found = self.format.completion(json.loads(text))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
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


async def _text(response: Any) -> str:
    """A reply's text, unless it has no end."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > LARGEST_REPLY:
            raise CallFailed("rejected", f"the reply has more than {LARGEST_REPLY:,} bytes")
        parts.append(part)
    return b"".join(parts).decode(response.charset or "utf-8", "replace")


# -- providers with a format of their own, through pydantic-ai -----------------------------------------

NO_KEY = "no-key-is-needed-to-show-a-request"
"""Stands in for a key where nothing is asked."""


class _Seen:
    """The request of one call, once it has come by; with ``stop``, it goes no further."""

    def __init__(self, *, stop: bool = False) -> None:
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


class PydanticAI:
    """A provider with a format that is not spoken here (bedrock, cohere …), through ``pydantic_ai.direct``."""

    def __init__(self, judge: Judge, *, timeout: float, model: Any = None, asking: bool = True) -> None:
        self._timeout = timeout
        self._client: Any = None
        """The HTTP client of the provider's library, by which requests come; None where it takes none."""
        self._key = (
            _key(judge, [judge.key] if judge.key else [])
            if asking
            else os.environ.get(judge.key or "", "").strip() or None
        )
        self._model = model or self._infer(judge, self._key if asking else self._key or NO_KEY)

    def _infer(self, judge: Judge, key: str | None) -> Any:
        try:
            require("pydantic_ai.direct", "providers", f"asking {judge.provider}")
        except MissingExtra as error:
            words = (
                "" if judge.provider in PROVIDERS else unknown("provider", judge.provider, PROVIDERS, "assay") + "; "
            )
            raise JudgeError(f"judge '{judge.name}' cannot be asked: {words}{error}") from None
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider

        def own(name: str) -> Any:
            given = {k: v for k, v in {"api_key": key, "base_url": judge.base_url}.items() if v is not None}
            gateway = name.startswith("gateway/") and not given
            provider: Any = infer_provider(name) if gateway else self._watch_requests(name, given)
            if self._key is None:  # the library has found one in the environment
                client = getattr(provider, "client", None)
                keys = [getattr(one, "api_key", None) for one in (client, getattr(client, "_api_client", None))]
                self._key = next((key for key in keys if isinstance(key, str)), None)
            return provider

        try:
            return infer_model(f"{judge.provider}:{judge.model}", own)
        except (UserError, ValueError, TypeError, ImportError) as error:
            words = mask_key(" ".join(str(error).split()), self._key)
            if words.startswith("Unknown provider"):
                words = unknown("provider", judge.provider, PROVIDERS, "assay or pydantic-ai")
            raise JudgeError(f"judge '{judge.name}' cannot be asked: {words}") from None

    def _watch_requests(self, name: str, given: dict[str, Any]) -> Any:
        """A provider of the library whose requests can be seen, where it lets others bring the HTTP client."""
        from pydantic_ai import models
        from pydantic_ai.providers import infer_provider_class

        kind = infer_provider_class(name)
        takes = inspect.signature(kind).parameters
        if "http_client" in takes and "hf_client" not in takes:  # Hugging Face's says that it ignores the first
            make = getattr(models, "create_async_httpx2_client", None) or models.create_async_http_client
            self._client = make()
            self._client.event_hooks = {"request": [_look], "response": []}
            given = given | {"http_client": self._client}
        return kind(**given)

    async def complete(self, request: Request) -> Completion:
        """One request to the model."""
        from pydantic_ai import exceptions as wrong

        seen = _Seen()
        _CALL.set(seen)
        try:
            response = await self._request(request)
        except wrong.ModelHTTPError as error:
            body = error.body if isinstance(error.body, str) else canonical(error.body)
            raise failure(error.status_code, body, error.retry_after, self._key) from None
        except wrong.ContentFilterError:
            return Completion("", "refusal")
        except wrong.UserError as error:
            raise CallFailed("fatal", mask_key(str(error), self._key)) from None
        except (wrong.ModelAPIError, wrong.UnexpectedModelBehavior, TimeoutError) as error:
            raise CallFailed("retry", mask_key(str(error), self._key)) from None
        finish = {"length": "length", "content_filter": "refusal"}.get(str(response.finish_reason), "stop")
        return Completion(
            text=mask_key(response.text or "", self._key),
            finish=finish,  # type: ignore[arg-type]
            tokens_in=response.usage.input_tokens,
            tokens_out=response.usage.output_tokens,
            cached_in=response.usage.cache_read_tokens or None,
            written_in=response.usage.cache_write_tokens or None,
            reasoning_out=response.usage.details.get("reasoning_tokens"),
            model=response.model_name,
            reasoning=mask_key(response.thinking or "", self._key) or None,
            sent=None if seen.sent is None else replace(seen.sent, key=self._key),
        )

    async def _request(self, request: Request) -> Any:
        from pydantic_ai.direct import model_request
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        wanted = ModelRequestParameters()
        if request.schema is not None and (self._model.profile or {}).get("supports_json_schema_output"):
            form = OutputObjectDefinition(json_schema=dict(request.schema), name="label", strict=True)
            wanted = ModelRequestParameters(output_mode="native", output_object=form)
        settings: dict[str, Any] = {"timeout": self._timeout, "max_retries": 0}
        for name in ("temperature", "max_tokens"):
            if getattr(request, name) is not None:
                settings[name] = getattr(request, name)
        if request.params:
            settings["extra_body"] = dict(request.params)
        return await model_request(
            self._model,
            _pydantic_messages(request.messages),
            model_settings=settings,  # type: ignore[arg-type]
            model_request_parameters=wanted,
        )

    async def sent(self, request: Request) -> Sent:
        """What the library makes of a request, stopped before it leaves.

        Where no request comes by, the same in the chat format, less what the library says that it drops.
        """
        seen = _Seen(stop=True)
        if self._client is not None:
            _CALL.set(seen)
            with suppress(Exception), warnings.catch_warnings():  # each library has its own error for what was stopped
                warnings.simplefilter("ignore")
                await self._request(request)
            _CALL.set(None)
        if seen.sent is not None:
            return replace(seen.sent, key=self._key)
        drops = "extra_body" in getattr(self._model, "unsupported_settings", ())
        return Sent(chat_body(replace(request, params={}) if drops else request, request.schema), key=self._key)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


def _pydantic_messages(messages: Sequence[Message]) -> list[Any]:
    """Chat messages in pydantic-ai's words."""
    from pydantic_ai import messages as m

    out: list[Any] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "assistant":
            out.append(m.ModelResponse(parts=[m.TextPart(content)]))
            continue
        if message["role"] == "system":
            part: Any = m.SystemPromptPart(content)
        elif isinstance(content, str):
            part = m.UserPromptPart(content)
        else:
            part = m.UserPromptPart([_part(one) for one in content])
        if out and isinstance(out[-1], m.ModelRequest):
            out[-1] = m.ModelRequest(parts=[*out[-1].parts, part])
        else:
            out.append(m.ModelRequest(parts=[part]))
    return out


def _part(part: Message) -> Any:
    from pydantic_ai import messages as m

    if part["type"] == "text":
        return part["text"]
    url = part["image_url"]["url"]
    return m.BinaryContent.from_data_uri(url) if url.startswith("data:") else m.ImageUrl(url)
