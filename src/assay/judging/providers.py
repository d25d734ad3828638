"""Who answers: an OpenAI-compatible endpoint, any provider pydantic-ai knows, or a file of replies.

All have one method, `complete`, which makes exactly one call. What goes wrong is said in one kind of
error; trying again is the client's business.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import time
from typing import Any, Literal, Protocol
from urllib.request import getproxies

from assay.errors import JudgeError, StudyError, counted, require
from assay.judging.http import NO_KEY, Request, Sent, Wire, chat_body, settings_of, without_secrets
from assay.judging.prompts import Message
from assay.study.items import canonical
from assay.study.schema import Judge, System

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Completion:
    """What came back."""

    text: str
    finish: Literal["stop", "length", "refusal"] = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    reasoning: str | None = None
    sent: Sent | None = None
    """The call, as it went over the wire."""


class CallFailed(Exception):  # noqa: N818 - it reads as what it is
    """A call without a usable reply.

    ``retry``: the service may answer yet. ``fatal``: no call to this judge can succeed (key, model).
    ``rejected``: this request cannot be served; others may be.
    """

    def __init__(
        self, kind: Literal["retry", "fatal", "rejected"], message: str, *, status: int = 0, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.wait = kind, status, wait


class Provider(Protocol):
    """Whoever can answer a request."""

    async def complete(self, request: Request) -> Completion:
        """Make one call; `CallFailed` where it brings no reply."""

    async def sent(self, request: Request) -> Sent:
        """What a call would send; nothing is sent."""

    async def close(self) -> None:
        """Let go of connections."""


def provider_for(judge: Judge, *, folder: Path, timeout: float, connections: int, asking: bool = True) -> Provider:
    """The provider that a judge of the study names; without ``asking``, one that needs no key and is never asked.

    Raises
    ------
    JudgeError
        Where the environment has no key, or the provider is unknown.
    """
    if isinstance(judge, System) and judge.file is not None:
        written = Outputs(folder / judge.file, judge)
        if judge.provider == "recorded":
            return written
        asked = judge.model_copy(update={"file": None})
        others = provider_for(asked, folder=folder, timeout=timeout, connections=connections, asking=asking)
        return OutputsFirst(written, others)
    if judge.provider == "recorded":
        assert judge.file is not None
        return Recorded(folder / judge.file)
    if judge.provider in ("openai", "openai-compatible"):
        key = _key(judge) if asking else None
        return OpenAIChat(judge.base_url or OPENAI_URL, key, timeout=timeout, connections=connections)
    return PydanticAI(judge, timeout=timeout, asking=asking)


def _key(judge: Judge) -> str | None:
    """The key from the environment; a local endpoint needs none."""
    name = judge.key or ("OPENAI_API_KEY" if judge.base_url is None else None)
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise JudgeError(f"judge '{judge.name}' needs a key: set the environment variable {name}")
    return key


def _own_key(provider: Any) -> str | None:
    """The key that a library's provider has found in the environment."""
    client = getattr(provider, "client", None)
    keys = [getattr(one, "api_key", None) for one in (client, getattr(client, "_api_client", None))]
    return next((key for key in keys if isinstance(key, str)), None)


def failure(status: int, body: str, wait: float | None, key: str | None) -> CallFailed:
    """What an HTTP status means for the call."""
    said = without_secrets(_said(body), key)
    message = f"HTTP {status}" + (f": {said[:300]}" if said else "")
    if status == 429 and re.search(r"insufficient_quota|billing|credit balance", body, re.IGNORECASE):
        return CallFailed("fatal", message, status=status)
    if status in (408, 409, 429) or status >= 500:
        return CallFailed("retry", message, status=status, wait=wait)
    if status in (401, 402, 403, 404):
        return CallFailed("fatal", message, status=status)
    return CallFailed("rejected", message, status=status)


def _said(body: str) -> str:
    """The message in an error's body."""
    try:
        content = json.loads(body)
    except json.JSONDecodeError:
        return " ".join(body.split())
    error = content.get("error", content) if isinstance(content, dict) else content
    message = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(message).split())


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


class OpenAIChat:
    """Any endpoint that speaks OpenAI's chat format, over plain HTTP."""

    def __init__(self, base_url: str, key: str | None, *, timeout: float, connections: int) -> None:
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        self._key = key
        self._timeout = timeout
        self._connections = connections
        self._session: Any = None
        self._without_schema: set[str] = set()
        # OpenAI's newer models refuse the old name, most other servers do not know the new one.
        self._most = "max_completion_tokens" if base_url.startswith(OPENAI_URL) else "max_tokens"

    async def complete(self, request: Request) -> Completion:
        """One POST; a second, without the schema, where the endpoint knows no structured output."""
        schema = None if request.model in self._without_schema else request.schema
        try:
            return await self._post(request, schema)
        except CallFailed as error:
            about_format = re.search(r"response_format|json_schema|structured|schema", str(error), re.IGNORECASE)
            if schema is None or error.status not in (400, 422, 501) or not about_format:
                raise
            self._without_schema.add(request.model)
            return await self._post(request, None)

    def body(self, request: Request, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """What is sent."""
        return chat_body(request, schema, most=self._most)

    async def sent(self, request: Request) -> Sent:
        """The body of the next call, without the schema where the endpoint has refused one."""
        schema = None if request.model in self._without_schema else request.schema
        return Sent(self.body(request, schema), self.url, self._key)

    async def _post(self, request: Request, schema: Mapping[str, Any] | None) -> Completion:
        aiohttp = require("aiohttp", "judge", "asking models")
        body = self.body(request, schema)
        try:
            async with self._open().post(self.url, json=body) as response:
                text = await response.text(errors="replace")
                if response.status != 200:
                    wait = retry_after(response.headers.get("Retry-After"))
                    raise failure(response.status, text, wait, self._key)
        except TimeoutError:
            raise CallFailed("retry", f"no reply within {self._timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            words = without_secrets(f"{type(error).__name__}: {error}", self._key)
            raise CallFailed("retry", f"the connection broke ({words})") from None
        return replace(self._completion(text), sent=Sent(body, self.url, self._key))

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
            text=without_secrets(said or refusal or "", self._key),
            finish=finish,
            tokens_in=usage.get("prompt_tokens"),
            tokens_out=usage.get("completion_tokens"),
            model=content.get("model"),
            reasoning=without_secrets(thought, self._key) if isinstance(thought, str) and thought else None,
        )

    def _open(self) -> Any:
        if self._session is None:
            aiohttp = require("aiohttp", "judge", "asking models")
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


class PydanticAI:
    """A provider with a format of its own (anthropic, google, mistral …), through ``pydantic_ai.direct``."""

    def __init__(self, judge: Judge, *, timeout: float, model: Any = None, asking: bool = True) -> None:
        self._timeout = timeout
        self._provider = judge.provider
        self._wire = Wire()
        self._key = os.environ.get(judge.key, "").strip() if judge.key else None
        if judge.key and not self._key and asking:
            raise JudgeError(f"judge '{judge.name}' needs a key: set the environment variable {judge.key}")
        self._model = model or self._infer(judge, self._key if asking else self._key or NO_KEY)

    def _infer(self, judge: Judge, key: str | None) -> Any:
        require("pydantic_ai.direct", "judge", f"asking {judge.provider}")
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider, infer_provider_class

        def own(name: str) -> Any:
            given = {k: v for k, v in {"api_key": key, "base_url": judge.base_url}.items() if v is not None}
            if name.startswith("gateway/") and not given:
                provider: Any = infer_provider(name)
            else:
                provider = self._wire.provider(infer_provider_class(name), given)
            self._key = self._key or _own_key(provider)
            return provider

        try:
            return infer_model(f"{judge.provider}:{judge.model}", own)
        except (UserError, ValueError, TypeError, ImportError) as error:
            words = without_secrets(" ".join(str(error).split()), self._key)
            raise JudgeError(f"judge '{judge.name}' cannot be asked: {words}") from None

    async def complete(self, request: Request) -> Completion:
        """One request to the model."""
        from pydantic_ai import exceptions as wrong

        seen = self._wire.watch()
        try:
            response = await self._request(request)
        except wrong.ModelHTTPError as error:
            body = error.body if isinstance(error.body, str) else canonical(error.body)
            raise failure(error.status_code, body, error.retry_after, self._key) from None
        except wrong.ContentFilterError:
            return Completion("", "refusal")
        except (wrong.ModelAPIError, TimeoutError) as error:
            raise CallFailed("retry", without_secrets(str(error), self._key)) from None
        except wrong.UserError as error:
            raise CallFailed("fatal", without_secrets(str(error), self._key)) from None
        except wrong.UnexpectedModelBehavior as error:
            raise CallFailed("retry", without_secrets(str(error), self._key)) from None
        finish = {"length": "length", "content_filter": "refusal"}.get(str(response.finish_reason), "stop")
        return Completion(
            text=without_secrets(response.text or "", self._key),
            finish=finish,  # type: ignore[arg-type]
            tokens_in=response.usage.input_tokens,
            tokens_out=response.usage.output_tokens,
            model=response.model_name,
            reasoning=without_secrets(response.thinking or "", self._key) or None,
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
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        return await model_request(
            self._model,
            _as_pydantic_ai(request.messages),
            model_settings=settings | settings_of(dict(request.params), self._provider),  # type: ignore[arg-type]
            model_request_parameters=wanted,
        )

    async def sent(self, request: Request) -> Sent:
        """What the library makes of a request, stopped before it leaves."""
        if not self._wire.is_seen:
            return self._unseen(request)
        seen = self._wire.watch(stop=True)
        with suppress(Exception), warnings.catch_warnings():  # each library has its own error for what did not get out
            warnings.simplefilter("ignore")
            await self._request(request)
        self._wire.watch()
        return self._unseen(request) if seen.sent is None else replace(seen.sent, key=self._key)

    def _unseen(self, request: Request) -> Sent:
        """Where no request comes by: the same in the chat format, less what the library says that it drops."""
        drops = "extra_body" in getattr(self._model, "unsupported_settings", ())
        return Sent(chat_body(replace(request, params={}) if drops else request, request.schema), key=self._key)

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()


def _as_pydantic_ai(messages: Sequence[Message]) -> list[Any]:
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


# -- recorded replies -------------------------------------------------------------------------------


class Recorded:
    """Replies from a JSONL file: ``item``, ``judge`` and ``reply``, and whatever else they hang on.

    A line answers a request when all it says besides (``question``, ``repeat``, ``attempt``, ``order``,
    a condition) is so of the request; the line that says most is taken.
    """

    _REPLY = ("reply", "finish", "tokens_in", "tokens_out", "model", "reasoning")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
        if not path.is_file():
            raise StudyError(f"{path} is not there; study.yaml names it as a file of recorded replies")
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    record = self._named(json.loads(line))
                    key = (str(record["item"]), str(record["judge"]))
                    record["reply"] = str(record["reply"])
                except (json.JSONDecodeError, KeyError, TypeError) as error:
                    raise StudyError(f"{path}, line {number}: needs item, judge and reply ({error!r})") from None
                self._lines.setdefault(key, []).append(record)

    def _named(self, record: dict[str, Any]) -> dict[str, Any]:
        """A line under the names that are read here."""
        return record

    async def complete(self, request: Request) -> Completion:
        """The recorded reply; `CallFailed` where there is none."""
        about = request.about
        lines = self._lines.get((str(about["item"]), str(about["judge"])), [])
        fitting = [line for line in lines if self._fits(line, about)]
        if not fitting:
            raise CallFailed("rejected", f"no reply is recorded in {self._path.name}")
        line = max(fitting, key=len)
        return Completion(
            text=line["reply"], **{name: line[name] for name in self._REPLY[1:] if line.get(name) is not None}
        )

    async def sent(self, request: Request) -> Sent:
        """What a model in OpenAI's format would be sent."""
        return Sent(chat_body(request, request.schema))

    def _fits(self, line: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
        return all(about.get(k) == v for k, v in line.items() if k not in ("item", "judge", *self._REPLY))

    async def close(self) -> None:
        """Nothing to close."""


class Outputs(Recorded):
    """Outputs of a system from a JSONL file: ``item``, ``system`` (or ``judge``) and ``text`` (or ``reply``).

    Lines that do not say which output of the item they are (``repeat``) are numbered in the order of the file.

    Raises
    ------
    StudyError
        Where an item has more or fewer outputs than the study wants of the system.
    """

    def __init__(self, path: Path, system: System) -> None:
        super().__init__(path)
        self._lines = {key: lines for key, lines in self._lines.items() if key[1] == system.name}
        for (item, _), lines in self._lines.items():
            for number, line in enumerate(lines, 1):
                line.setdefault("repeat", number)
            if sorted(line["repeat"] for line in lines) != list(range(1, system.repeats + 1)):
                raise StudyError(
                    f"{path} has {counted(len(lines), 'output')} of '{system.name}' on item '{item}', and "
                    f"{system.repeats} are wanted, numbered from 1; complete them, take that item's lines out so that "
                    f"the model is asked, or say 'repeats: {len(lines)}' for this system"
                )

    def _named(self, record: dict[str, Any]) -> dict[str, Any]:
        other = {"system": "judge", "text": "reply"}
        return {other.get(name, name): value for name, value in record.items()}

    def has(self, request: Request) -> bool:
        """Whether there are outputs of this item."""
        return (str(request.about["item"]), str(request.about["judge"])) in self._lines


@dataclass(frozen=True)
class OutputsFirst:
    """Outputs from a file for the items that it has, and a model's for the others."""

    written: Outputs
    others: Provider

    async def complete(self, request: Request) -> Completion:
        """From the file, or from one call."""
        return await (self.written if self.written.has(request) else self.others).complete(request)

    async def sent(self, request: Request) -> Sent:
        """What the model would be sent."""
        return await self.others.sent(request)

    async def close(self) -> None:
        """Let go of connections."""
        await self.others.close()
