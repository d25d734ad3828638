"""Who answers: an OpenAI-compatible endpoint, any provider pydantic-ai knows, or a file of replies.

All have one method, `complete`, which makes exactly one call. What goes wrong is said in one kind of
error; trying again is the client's business. To add a provider, add a row to `PROVIDERS`.
"""

from __future__ import annotations

import inspect
import ipaddress
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

from assay.errors import JudgeError, require, unknown
from assay.judging.http import (
    CallFailed,
    Completion,
    Provider,
    Request,
    Sent,
    chat_body,
    failure,
    mask_key,
    retry_after,
)
from assay.judging.prompts import Message
from assay.judging.records import Outputs, OutputsFirst, Recorded, TrainedReplies
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


@dataclass(frozen=True)
class ProviderRow:
    """How the judges of one provider are reached."""

    make: Callable[[Judge, ProviderRow, Access], Provider]
    url: str = ""
    """Where the service is, unless study.yaml says ``base_url``."""
    key: str | None = None
    """The environment variable of its key, unless study.yaml says ``key`` or ``base_url``."""
    is_free: bool = False


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
    if isinstance(judge, System) and judge.file is not None:
        outputs = Outputs(access.folder / judge.file, judge)
        return outputs if judge.provider == "recorded" else OutputsFirst(outputs, row.make(judge, row, access))
    return row.make(judge, row, access)


def _recorded(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    assert judge.file is not None
    return Recorded(access.folder / judge.file)


def _trained(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    return TrainedReplies(access.folder, judge.model)


def _chat(judge: Judge, row: ProviderRow, access: Access) -> Provider:
    variable = judge.key or (row.key if judge.base_url is None else None)
    key = _key(judge, variable) if access.asking else None
    url = judge.base_url or row.url
    return OpenAIChat(url, key, timeout=access.timeout, connections=access.connections)


def _library(judge: Judge, _row: ProviderRow, access: Access) -> Provider:
    return PydanticAI(judge, timeout=access.timeout, asking=access.asking)


def _key(judge: Judge, variable: str | None) -> str | None:
    """The key from the environment; a local endpoint needs none."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise JudgeError(f"judge '{judge.name}' needs a key: set the environment variable {variable}")
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

PROVIDERS: dict[str, ProviderRow] = {
    "openai": ProviderRow(_chat, OPENAI_URL, "OPENAI_API_KEY"),
    "openai-compatible": ProviderRow(_chat, OPENAI_URL, "OPENAI_API_KEY"),
    "recorded": ProviderRow(_recorded, is_free=True),
    "trained": ProviderRow(_trained, is_free=True),
    "anthropic": _IN_PYDANTIC_AI,
    "google": _IN_PYDANTIC_AI,
    "mistral": _IN_PYDANTIC_AI,
    "groq": _IN_PYDANTIC_AI,
    "bedrock": _IN_PYDANTIC_AI,
    "cohere": _IN_PYDANTIC_AI,
}
"""By what study.yaml says after ``provider:``."""

# -- anything that speaks OpenAI's chat format ----------------------------------------------------------


_NAMES_OF_MOST = ("max_tokens", "max_completion_tokens")
"""What services call the limit of a reply's length: most of them; OpenAI, and its newer models wherever they are."""

_NEWER_MODELS = re.compile(r"(?:.*/)?(?:gpt-[5-9]|o[1-9])(?![a-z0-9])", re.IGNORECASE)
"""Models that refuse ``max_tokens``, also behind a gateway: gpt-5, openai/gpt-5-mini, o3, o4-mini."""


class OpenAIChat:
    """Any endpoint that speaks OpenAI's chat format, over plain HTTP."""

    def __init__(self, base_url: str, key: str | None, *, timeout: float, connections: int) -> None:
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        self._key = key
        self._timeout = timeout
        self._connections = connections
        self._session: Any = None
        self._without_schema: set[str] = set()
        self._at_openai = base_url.startswith(OPENAI_URL)
        self._most: dict[str, str] = {}
        """What a model was found to call the limit of a reply's length, where it refused the usual name."""

    async def complete(self, request: Request) -> Completion:
        """One POST; a second, without the schema or with the limit's other name, where the endpoint refuses these."""
        try:
            return await self._complete(request)
        except CallFailed as error:
            other = self._other_name(request, error)
            if other is None:
                raise
            self._most[request.model] = other
            return await self._complete(request)

    def _other_name(self, request: Request, error: CallFailed) -> str | None:
        """The other name of the limit, where the endpoint does not know the one that was sent."""
        sent = self._name_of_most(request.model)
        other = next(name for name in _NAMES_OF_MOST if name != sent)
        refused = (
            request.max_tokens is not None and error.status in (400, 422) and re.search(rf"\b{sent}\b", str(error))
        )
        return other if refused and request.model not in self._most else None

    def _name_of_most(self, model: str) -> str:
        newer = self._at_openai or _NEWER_MODELS.match(model) is not None
        return self._most.get(model, _NAMES_OF_MOST[newer])

    async def _complete(self, request: Request) -> Completion:
        schema = None if request.model in self._without_schema else request.schema
        try:
            return await self._post(request, schema)
        except CallFailed as error:
            about_format = re.search(r"response_format|json_schema|structured|schema", str(error), re.IGNORECASE)
            if schema is None or error.status not in (400, 422, 501) or not about_format:
                raise
            self._without_schema.add(request.model)
            return await self._post(request, None)

    async def sent(self, request: Request) -> Sent:
        """The body of the next call, without the schema where the endpoint has refused one."""
        return self._sent(request, None if request.model in self._without_schema else request.schema)

    def _sent(self, request: Request, schema: Mapping[str, Any] | None) -> Sent:
        return Sent(chat_body(request, schema, most=self._name_of_most(request.model)), self.url, self._key)

    async def _post(self, request: Request, schema: Mapping[str, Any] | None) -> Completion:
        aiohttp = require("aiohttp", "judge", "asking models")
        sent = self._sent(request, schema)
        try:
            async with self._open(aiohttp).post(self.url, json=sent.body) as response:
                text = await response.text(errors="replace")
                if response.status != 200:
                    wait = retry_after(response.headers.get("Retry-After"))
                    raise failure(response.status, text, wait, self._key)
        except TimeoutError:
            raise CallFailed("retry", f"no reply within {self._timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            words = mask_key(f"{type(error).__name__}: {error}", self._key)
            # A server on this machine or in this house takes no calls until its model is there.
            starting = isinstance(error, aiohttp.ClientConnectorError) and is_near(self.url)
            raise CallFailed("retry", f"the connection broke ({words})", starting=starting) from None
        return replace(self._completion(text), sent=sent)

    def _completion(self, text: str) -> Completion:
        try:
            content = json.loads(text)
            choice = content["choices"][0]
            message = choice["message"]
        except (json.JSONDecodeError, KeyError, IndexError, TypeError):
            raise CallFailed("retry", "the reply is not in the chat format, or cut off") from None
        usage = content.get("usage") or {}
        said = message.get("content")
        if isinstance(said, list):
            said = "".join(part.get("text", "") for part in said if isinstance(part, dict))
        refusal = message.get("refusal")
        thought = message.get("reasoning_content") or message.get("reasoning")
        finish: Literal["stop", "length", "refusal"] = "stop"
        if refusal or choice.get("finish_reason") == "content_filter":
            finish = "refusal"
        elif choice.get("finish_reason") == "length":
            finish = "length"
        return Completion(
            text=mask_key(said or refusal or "", self._key),
            finish=finish,
            tokens_in=usage.get("prompt_tokens"),
            tokens_out=usage.get("completion_tokens"),
            model=content.get("model"),
            reasoning=mask_key(thought, self._key) if isinstance(thought, str) and thought else None,
        )

    def _open(self, aiohttp: Any) -> Any:
        if self._session is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._session = aiohttp.ClientSession(
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                connector=aiohttp.TCPConnector(limit=self._connections),
                trust_env=bool(getproxies()),  # looked up again at every call, in a thread
            )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


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
    """A provider with a format of its own (anthropic, google, mistral …), through ``pydantic_ai.direct``."""

    def __init__(self, judge: Judge, *, timeout: float, model: Any = None, asking: bool = True) -> None:
        self._timeout = timeout
        self._provider = judge.provider
        self._client: Any = None
        """The HTTP client of the provider's library, by which requests come; None where it takes none."""
        self._key = _key(judge, judge.key) if asking else os.environ.get(judge.key or "", "").strip() or None
        self._model = model or self._infer(judge, self._key if asking else self._key or NO_KEY)

    def _infer(self, judge: Judge, key: str | None) -> Any:
        require("pydantic_ai.direct", "judge", f"asking {judge.provider}")
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider

        def own(name: str) -> Any:
            given = {k: v for k, v in {"api_key": key, "base_url": judge.base_url}.items() if v is not None}
            gateway = name.startswith("gateway/") and not given
            provider: Any = infer_provider(name) if gateway else self._watched(name, given)
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

    def _watched(self, name: str, given: dict[str, Any]) -> Any:
        """A provider of the library whose requests can be seen, where it lets others bring the HTTP client."""
        from pydantic_ai import models
        from pydantic_ai.providers import infer_provider_class

        kind = infer_provider_class(name)
        if "http_client" in inspect.signature(kind).parameters:
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
            settings |= _settings_of(dict(request.params), self._provider)
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
"""What pydantic-ai calls the parameters of Google's format."""


def _settings_of(params: dict[str, Any], provider: str) -> dict[str, Any]:
    """Parameters as pydantic-ai takes them: into the body as they are, or, on Google, each under its name there."""
    if not provider.startswith("google"):
        return {"extra_body": params}
    inner = params.get("generationConfig")
    flat = params | inner if isinstance(inner, dict) else params
    named = {k.replace("_", "").lower(): v for k, v in flat.items()}
    return {setting: named[name] for name, setting in _GOOGLE.items() if name in named}
