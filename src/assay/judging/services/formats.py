"""The wire formats of services: address, request body and response of a call.

A format makes no call: `assay.judging.services.providers.Service` posts one body at a time, `assay.judging.batch` many.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.judging.prompts import Message
from assay.judging.services.http import Alternatives, Completion, Finish, Request, chat_body, count


class ServiceFormat(Protocol):
    """How a service is written to, and how it writes."""

    @property
    def has_probabilities(self) -> bool:
        """Whether it supports token probabilities."""

    def url(self, base: str, model: str) -> str:
        """Return the address of a call."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers of a call, with the key."""

    def body(self, request: Request, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the body of a call."""

    def completion(self, content: Any) -> Completion:
        """Parse a response; raise KeyError, IndexError or TypeError for anything else."""


MOST = ("max_tokens", "max_completion_tokens")
"""What services call the limit of a reply's length: most of them; OpenAI, and its newer models wherever they are."""

_NEWER_MODELS = re.compile(r"(?:.*/)?(?:gpt-[5-9]|o[1-9])(?![a-z0-9])", re.IGNORECASE)
"""Models that refuse ``max_tokens``, also behind a gateway: gpt-5, openai/gpt-5-mini, o3, o4-mini."""


_ENDS: Mapping[str, Finish] = {
    **dict.fromkeys(
        (
            "stop",
            "eos",
            "eos_token",
            "end_turn",
            "stop_sequence",
            "complete",
            "completed",
            "end",
            "done",
            "null",
            "none",
        ),
        "stop",
    ),
    **dict.fromkeys(("tool_calls", "tool_call", "function_call", "tool_use", "finish_reason_unspecified", ""), "stop"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "max_length"),
        "length",
    ),
    "refusal": "refusal",
    **dict.fromkeys(
        ("content_filter", "content_filtered", "guardrail_intervened", "safety", "recitation", "blocklist", "spii"),
        "filtered",
    ),
    **dict.fromkeys(("prohibited_content", "language", "image_safety", "sensitive", "other"), "filtered"),
}
"""What each service calls the end of a reply. A reply that ends in any other way is not whole."""


def _end(reason: Any) -> tuple[Finish, str]:
    """How a reply ended, and the service's word for it unless it is whole."""
    finish = _ENDS.get(str(reason if reason is not None else "").casefold(), "broken")
    return finish, "" if finish == "stop" else str(reason)


def _arguments(call: Any) -> str:
    """The arguments of a function call as JSON: some servers answer with a call though no function was offered."""
    return call if isinstance(call, str) else json.dumps(call or {})


def _join_parts(said: Any, kind: str = "text") -> str:
    """Return a whole text, or join the parts of one type."""
    if isinstance(said, str):
        return said
    parts = [one for one in said or () if isinstance(one, Mapping)]
    return "".join(_join_parts(one[kind], "text") for one in parts if one.get(kind) is not None)


def _parts(message: Message) -> list[Message]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _system(messages: Sequence[Message]) -> str:
    """Return the system prompt as one text."""
    texts = (part["text"] for one in messages if one["role"] == "system" for part in _parts(one))
    return "\n\n".join(texts)


def _turns(messages: Sequence[Message]) -> Iterable[Message]:
    return (one for one in messages if one["role"] != "system")


def _image(url: str) -> tuple[str, str] | None:
    """Return the type and bytes of an image in its URL; None if the URL is elsewhere."""
    found = re.match(r"data:([^;,]+);base64,", url)
    return None if found is None else (found[1], url[found.end() :])


# -- OpenAI's chat format, which most endpoints accept --------------------------------------------------


@dataclass(frozen=True)
class ChatFormat:
    """OpenAI's chat format: OpenAI, Mistral, Groq, vLLM, Ollama, llama.cpp, gateways."""

    at_openai: bool = False
    has_probabilities: bool = True
    key_header: str = "Authorization"

    def url(self, base: str, model: str) -> str:
        """One address for all models."""
        return f"{base}/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key as a bearer token, or in a separate header."""
        if key is None:
            return {}
        return {self.key_header: f"Bearer {key}" if self.key_header == "Authorization" else key}

    def name_of_most(self, model: str) -> str:
        """Return the model's name for the limit of the response's length."""
        return MOST[self.at_openai or _NEWER_MODELS.match(model) is not None]

    def body(self, request: Request, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """See `chat_body`."""
        return chat_body(request, schema, most=self.name_of_most(request.model))

    def completion(self, content: Any) -> Completion:
        """The first choice."""
        choice = content["choices"][0]
        message = choice["message"]
        usage = content.get("usage") or {}
        refusal, said = message.get("refusal"), message.get("content")
        thought = message.get("reasoning_content") or message.get("reasoning") or _join_parts(
            said if isinstance(said, list) else None, "thinking"
        )  # fmt: skip
        finish, why = _end(choice.get("finish_reason"))
        if refusal:
            finish = "refusal"
        calls = message.get("tool_calls") or ([{"function": one}] if (one := message.get("function_call")) else [])
        called = _arguments(calls[0]["function"]["arguments"]) if calls else ""
        return Completion(
            text=_join_parts(said) or refusal or called,
            finish=finish,
            why=why,
            tokens_in=count(usage.get("prompt_tokens")),
            tokens_out=count(usage.get("completion_tokens")),
            cached_in=count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
            reasoning_out=count((usage.get("completion_tokens_details") or {}).get("reasoning_tokens")),
            model=content.get("model"),
            reasoning=thought if isinstance(thought, str) and thought else None,
            tokens=chat_tokens((choice.get("logprobs") or {}).get("content")),
        )


@dataclass(frozen=True)
class AzureFormat(ChatFormat):
    """OpenAI's chat format at Azure: the key in a separate header, and the model's deployment in the address."""

    key_header: str = "api-key"

    def url(self, base: str, model: str) -> str:
        """Return the deployment's address: unchanged if ``base_url`` has one, or the newer ``/openai/v1``."""
        if "/deployments/" in base or base.endswith("/v1"):
            return f"{base}/chat/completions"
        root = base if base.endswith("/openai") else f"{base}/openai"
        return f"{root}/deployments/{model}/chat/completions"


def chat_tokens(listed: Any) -> tuple[tuple[str, Alternatives], ...]:
    """Tokens with their alternatives, as OpenAI lists them."""
    return tuple(
        (one["token"], tuple((other["token"], float(other["logprob"])) for other in one.get("top_logprobs") or ()))
        for one in listed or ()
    )


# -- OpenAI's responses ---------------------------------------------------------------------------------


class ResponsesFormat:
    """OpenAI's responses."""

    has_probabilities = True

    def url(self, base: str, model: str) -> str:
        """One address for all models."""
        return f"{base}/responses"

    def headers(self, key: str | None) -> dict[str, str]:
        """The key as a bearer's."""
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, request: Request, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """Turns as input; nothing is kept by the service."""
        body: dict[str, Any] = {
            "model": request.model,
            "input": [{"role": one["role"], "content": self._content(one)} for one in request.messages],
            "store": False,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body["max_output_tokens"] = request.max_tokens
        if schema is not None:
            body["text"] = {"format": {"type": "json_schema", "name": "label", "strict": True, "schema": schema}}
        if request.effort is not None:
            body["reasoning"] = {"effort": request.effort}
        if request.alternatives:
            body |= {"include": ["message.output_text.logprobs"], "top_logprobs": request.alternatives}
        return body | dict(request.params)

    def _content(self, message: Message) -> Any:
        if isinstance(message["content"], str):
            return message["content"]
        return [
            {"type": "input_text", "text": part["text"]}
            if part["type"] == "text"
            else {"type": "input_image", "image_url": part["image_url"]["url"]}
            for part in message["content"]
        ]

    def completion(self, content: Any) -> Completion:
        """Return the message of the output, and the summary of the reasoning."""
        output, usage = content["output"], content.get("usage") or {}
        parts = [part for one in output if one.get("type") == "message" for part in one["content"]]
        thoughts = [_join_parts(one.get("summary")) for one in output if one.get("type") == "reasoning"]
        refusal = "".join(part.get("refusal") or "" for part in parts)
        called = next((_arguments(one.get("arguments")) for one in output if one.get("type") == "function_call"), "")
        state = content.get("status")
        finish, why = _end((content.get("incomplete_details") or {}).get("reason") if state == "incomplete" else state)
        if refusal:
            finish = "refusal"
        return Completion(
            text=_join_parts(parts) or refusal or called,
            finish=finish,
            why=why,
            tokens_in=count(usage.get("input_tokens")),
            tokens_out=count(usage.get("output_tokens")),
            cached_in=count((usage.get("input_tokens_details") or {}).get("cached_tokens")),
            reasoning_out=count((usage.get("output_tokens_details") or {}).get("reasoning_tokens")),
            model=content.get("model"),
            reasoning="\n\n".join(filter(None, thoughts)) or None,
            tokens=chat_tokens([token for part in parts for token in part.get("logprobs") or ()]),
        )


# -- Anthropic's messages -------------------------------------------------------------------------------


class AnthropicFormat:
    """Anthropic's messages."""

    has_probabilities = False

    def url(self, base: str, model: str) -> str:
        """One address for all models."""
        return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """The format's version, and the key."""
        return {"anthropic-version": "2023-06-01"} | ({} if key is None else {"x-api-key": key})

    def body(self, request: Request, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """The system prompt is a separate key; the JSON schema and the effort are in ``output_config``."""
        turns = [{"role": one["role"], "content": self._content(one)} for one in _turns(request.messages)]
        body: dict[str, Any] = {"model": request.model, "messages": turns}
        if system := _system(request.messages):
            body["system"] = system
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        config: dict[str, Any] = {} if request.effort is None else {"effort": request.effort}
        if schema is not None:
            config["format"] = {"type": "json_schema", "schema": schema}
        return body | ({"output_config": config} if config else {}) | dict(request.params)

    def _content(self, message: Message) -> Any:
        if isinstance(message["content"], str):
            return message["content"]
        return [
            {"type": "text", "text": part["text"]}
            if part["type"] == "text"
            else {"type": "image", "source": self._source(part["image_url"]["url"])}
            for part in message["content"]
        ]

    def _source(self, url: str) -> dict[str, str]:
        found = _image(url)
        if found is None:
            return {"type": "url", "url": url}
        return {"type": "base64", "media_type": found[0], "data": found[1]}

    def completion(self, content: Any) -> Completion:
        """The texts among the blocks, and the thinking."""
        blocks, usage = content["content"], content.get("usage") or {}
        finish, why = _end(content.get("stop_reason"))
        written, cached = (count(usage.get(f"cache_{name}_input_tokens")) for name in ("creation", "read"))
        tokens_in = count(usage.get("input_tokens"))
        called = next((_arguments(one.get("input")) for one in blocks if one.get("type") == "tool_use"), "")
        return Completion(
            text=_join_parts([one for one in blocks if one.get("type") == "text"]) or called,
            finish=finish,
            why=why,
            tokens_in=None if tokens_in is None else tokens_in + (written or 0) + (cached or 0),
            tokens_out=count(usage.get("output_tokens")),
            cached_in=cached,
            written_in=written,
            model=content.get("model"),
            reasoning=_join_parts([one for one in blocks if one.get("type") == "thinking"], "thinking") or None,
        )


# -- Google's Gemini ------------------------------------------------------------------------------------

_GENERATION = {
    name.lower(): name
    for name in (
        *("topP", "topK", "candidateCount", "stopSequences", "seed", "presencePenalty", "frequencyPenalty"),
        *("thinkingConfig", "mediaResolution", "temperature", "maxOutputTokens"),
    )
}
"""Parameters of ``generationConfig``, by their names in lower case."""

_BESIDE = {name.lower(): name for name in ("safetySettings", "cachedContent", "labels", "serviceTier")}
"""Parameters of the top level."""


class GoogleFormat:
    """Google's Gemini."""

    has_probabilities = True

    def url(self, base: str, model: str) -> str:
        """An address for each model."""
        root = base if re.search(r"/v\d\w*$", base) else f"{base}/v1beta"
        return f"{root}/models/{model.removeprefix('models/')}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key in a separate header."""
        return {} if key is None else {"x-goog-api-key": key}

    def body(self, request: Request, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """Turns as contents. A parameter that the format does not know is not in it."""
        roles = {"assistant": "model"}
        contents = [
            {"role": roles.get(one["role"], one["role"]), "parts": [self._part(part) for part in _parts(one)]}
            for one in _turns(request.messages)
        ]
        body: dict[str, Any] = {"contents": contents}
        if system := _system(request.messages):
            body["systemInstruction"] = {"parts": [{"text": system}]}
        config: dict[str, Any] = {}
        if request.temperature is not None:
            config["temperature"] = request.temperature
        if request.max_tokens is not None:
            config["maxOutputTokens"] = request.max_tokens
        if schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        if request.alternatives:
            config |= {"responseLogprobs": True, "logprobs": request.alternatives}
        if request.effort is not None:
            config["thinkingConfig"] = {"thinkingLevel": request.effort}
        inner = request.params.get("generationConfig")
        for name, value in {**request.params, **(inner if isinstance(inner, Mapping) else {})}.items():
            plain = str(name).replace("_", "").lower()
            if plain in _GENERATION:
                config[_GENERATION[plain]] = value
            elif plain in _BESIDE:
                body[_BESIDE[plain]] = value
        return body | ({"generationConfig": config} if config else {})

    def _part(self, part: Message) -> dict[str, Any]:
        if part["type"] == "text":
            return {"text": part["text"]}
        found = _image(url := part["image_url"]["url"])
        return {"fileData": {"fileUri": url}} if found is None else {
            "inlineData": {"mimeType": found[0], "data": found[1]}
        }  # fmt: skip

    def completion(self, content: Any) -> Completion:
        """The first candidate; a prompt that a filter blocks has none."""
        usage = content.get("usageMetadata") or {}
        blocked = (content.get("promptFeedback") or {}).get("blockReason")
        if blocked and not content.get("candidates"):
            return Completion(
                f"(blocked: {blocked})", "filtered", count(usage.get("promptTokenCount")), 0, why=str(blocked)
            )
        candidate = content["candidates"][0]
        finish, why = _end(candidate.get("finishReason", "STOP"))
        parts = (candidate.get("content") or {}).get("parts") or []
        called = next((_arguments(one["functionCall"].get("args")) for one in parts if "functionCall" in one), "")
        out = (count(usage.get("candidatesTokenCount")) or 0) + (count(usage.get("thoughtsTokenCount")) or 0)
        return Completion(
            text=_join_parts([one for one in parts if not one.get("thought")]) or called,
            finish=finish,
            why=why,
            tokens_in=count(usage.get("promptTokenCount")),
            tokens_out=out if usage else None,
            cached_in=count(usage.get("cachedContentTokenCount")),
            reasoning_out=count(usage.get("thoughtsTokenCount")),
            model=content.get("modelVersion"),
            reasoning=_join_parts([one for one in parts if one.get("thought")]) or None,
            tokens=self._tokens(candidate.get("logprobsResult") or {}),
        )

    def _tokens(self, result: Mapping[str, Any]) -> tuple[tuple[str, Alternatives], ...]:
        chosen, top = result.get("chosenCandidates") or (), result.get("topCandidates") or ()
        return tuple(
            (one["token"], tuple((other["token"], float(other["logProbability"])) for other in there["candidates"]))
            for one, there in zip(chosen, top, strict=True)
        )
