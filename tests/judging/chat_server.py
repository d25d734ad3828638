"""A scripted chat server over real HTTP on loopback, and queries of a study's database."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from aiohttp import web

from assay.judging.services.client import Clock, Patience

QUICK = {"patience": Patience(first_wait=0.005, loading=0)}


def patient(**ways: Any) -> dict[str, Patience]:
    """As `QUICK`, with another patience in these ways."""
    return {"patience": replace(QUICK["patience"], **ways)}


class StoppedClock(Clock):
    """A clock that does not run, or that only waits move, and the waits, none of which takes any time."""

    def __init__(self, at: float = 100.0, *, moves: bool = False) -> None:
        self.at, self.moves = at, moves
        self.waits: list[float] = []

    def now(self) -> float:
        return self.at

    async def wait(self, seconds: float, stopping: asyncio.Event) -> None:
        await asyncio.sleep(0)
        if seconds > 0 and not stopping.is_set():
            self.waits.append(seconds)
            self.at += seconds if self.moves else 0.0


PRICE = {"price": {"input": 1.0, "output": 10.0}}  # 100 and 10 tokens a call: $0.0002

Script = Callable[[int, dict[str, Any], "ChatServer"], "Say"]


class Say:
    """One reply: a status, what is said, and how it goes wrong."""

    def __init__(
        self,
        content: str | None = '{"label": 3}',
        *,
        status: int = 200,
        delay: float = 0.0,
        until: Callable[[], bool] = lambda: True,
        headers: dict[str, str] | None = None,
        finish: str = "stop",
        fault: str | None = None,
        error: str = "scripted",
        refusal: str | None = None,
        reasoning: str | None = None,
        tokens: list[tuple[str, dict[str, float]]] | None = None,
        usage: dict[str, Any] | None = None,
    ) -> None:
        self.content, self.status, self.delay, self.headers = content, status, delay, headers or {}
        self.until = until
        self.finish, self.fault, self.error, self.refusal = finish, fault, error, refusal
        self.reasoning = reasoning
        self.usage = usage or {}
        self.tokens = tokens
        """Tokens of the response, each with the probabilities of its alternatives."""


ORDERS = {
    "/v1/batches": "openai",
    "/openai/batches": "azure",
    "/v1/batch/jobs": "mistral",
    "/v1/messages/batches": "anthropic",
}
"""Where orders of a batch go, and in whose form."""


def form_of(path: str) -> str:
    """Whose form of batches a path is of."""
    words = {**ORDERS, "/v1beta/": "google", "/openai/": "azure"}
    return next((form for one, form in words.items() if one in path), "openai")


def rows(study: Any, query: str) -> list[Any]:
    """What a query finds in the database of a study."""
    with sqlite3.connect(study.folder / "study.db") as db:
        found = db.execute(query).fetchall()
    db.close()
    return found


def item_of(body: dict[str, Any]) -> str:
    """The item that a request is about: its text holds its name between @ signs."""
    if "contents" in body:
        return re.search(r"@([^@]+)@", json.dumps(body["contents"]))[1]  # type: ignore[index]
    messages = body.get("messages") or body["input"]
    content = messages[-1]["content"]
    for message in reversed(messages):
        content = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
        found = re.search(r"@([^@]+)@", content)
        if found and message["role"] == "user":
            return found[1]
    return content


class ChatServer:
    """Runs in a thread; ``script`` says what is answered to the n-th request."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or (lambda n, body, server: Say())
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answered: Counter[str] = Counter()
        self.count = 0
        self.keep = True
        self.files: dict[str, list[str]] = {}
        self.orders: dict[str, dict[str, Any]] = {}
        self.looks = 1
        self.contacts = 0
        """Calls about batches so far."""
        self.pace = 0.0
        """Seconds that each of them takes."""
        self.elsewhere: str | None = None
        """The upload address that Google returns, if it differs from this server."""
        self.after_order: Callable[[], None] | None = None
        self.busy = self.most_busy = 0

    def __enter__(self) -> ChatServer:
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), daemon=True)
        self._thread.start()
        started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def is_idle(self) -> bool:
        """Whether no client is connected, and no request is in progress."""

        async def look() -> bool:
            for _ in range(10):  # turns of the loop, in which it learns of closed connections
                await asyncio.sleep(0)
            assert self._runner.server is not None
            return not self._runner.server.connections and not self.busy

        return asyncio.run_coroutine_threadsafe(look(), self._loop).result(10)

    def _serve(self, started: threading.Event) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._stop = asyncio.Event()
            app = web.Application()
            app.router.add_post("/v1/chat/completions", self._chat)
            app.router.add_post("/openai/deployments/{deployment}/chat/completions", self._chat)
            app.router.add_post("/v1/responses", partial(self._other, form=responses_form))
            app.router.add_post("/v1/messages", partial(self._other, form=anthropic_form))
            app.router.add_post("/v1beta/models/{model}:generateContent", partial(self._other, form=google_form))
            paths = ["/v1/files", "/openai/files", *ORDERS]
            for path in paths:
                app.router.add_post(path, self._batch)
                app.router.add_get(path, self._batches)
            for root in ("/v1", "/openai"):
                app.router.add_get(root + "/files/{id}/content", self._results)
            app.router.add_get("/openai/files/{id}", self._file)
            app.router.add_post("/upload/v1beta/files", self._upload)
            app.router.add_post("/v1beta/models/{model}:batchGenerateContent", self._batch)
            app.router.add_get("/v1beta/batches", self._batches)
            app.router.add_get("/download/v1beta/files/{id}:download", self._results)
            app.router.add_get("/v1/messages/batches/{id}/results", self._results)
            for path, cancel in [*((one, "/cancel") for one in ORDERS), ("/v1beta/batches", ":cancel")]:
                app.router.add_get(path + "/{id:[a-z0-9-]+}", self._look)
                app.router.add_post(path + "/{id:[a-z0-9-]+}" + cancel, self._look)
            self._runner = runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            started.set()
            await self._stop.wait()
            await runner.cleanup()

        asyncio.run(main())

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.count += 1
        if self.keep:
            self.requests.append(body)
            self.headers.append(dict(request.headers))
            self.paths.append(request.path_qs)
        say = self.script(self.count, body, self)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            await asyncio.sleep(say.delay)
            while not say.until():
                await asyncio.sleep(0.001)
        finally:
            self.busy -= 1
        if say.fault == "drop":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if say.status != 200:
            error = {"error": {"message": say.error, "type": "scripted"}}
            return web.json_response(error, status=say.status, headers=say.headers)
        message = {"role": "assistant", "content": say.content, "refusal": say.refusal}
        if say.reasoning is not None:
            message["reasoning_content"] = say.reasoning
        choice = {"index": 0, "message": message, "finish_reason": say.finish}
        if say.tokens is not None and body.get("logprobs"):
            choice["logprobs"] = {"content": openai_tokens(say)}
        text = json.dumps(
            {
                "id": f"chat-{self.count}",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"] + "-served",
                "choices": [choice],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} | say.usage,
            }
        )
        if say.fault == "half":
            return web.Response(text=text[: len(text) // 2], content_type="application/json")
        if self.keep:
            self.answered[item_of(body)] += 1
        return web.Response(text=text, content_type="application/json")

    # -- batches: each is done at the ``looks``-th look ----------------------------------------------

    async def _batch(self, request: web.Request) -> web.StreamResponse:
        """A file of requests, or an order of one."""
        form = form_of(request.path)
        self.contacts += 1
        self.paths.append(request.path_qs)
        await asyncio.sleep(self.pace)
        if request.path.endswith("/files"):
            sent = await request.post()
            name = f"file-{len(self.files) + 1}"
            self.files[name] = sent["file"].file.read().decode().splitlines()  # type: ignore[union-attr]
            return web.json_response({"id": name, "status": "pending" if form == "azure" else "uploaded"})
        body = json.loads(await request.read())
        if form == "anthropic":
            wanted = [(one["custom_id"], one["params"]) for one in body["requests"]]
        elif form == "google":
            file = body["batch"]["inputConfig"]["fileName"].removeprefix("files/")
            wanted = [(one["key"], one["request"]) for one in map(json.loads, self.files[file])]
        else:
            file = body["input_files"][0] if form == "mistral" else body["input_file_id"]
            wanted = [(one["custom_id"], one["body"]) for one in map(json.loads, self.files[file])]
            assert {json.loads(line)["url"] for line in self.files[file]} == {body["endpoint"]}
        number = f"batch-{len(self.orders) + 1}"
        named = body.get("batch", {}).get("displayName") or (body.get("metadata") or {}).get("assay")
        self.orders[number] = {
            "id": number, "wanted": wanted, "looks": 0, "name": named, "form": form, "ended": None,
            "made": datetime.now(UTC).isoformat(), "model": body.get("model") or request.match_info.get("model"),
        }  # fmt: skip
        if self.after_order is not None:
            self.after_order()
        return web.json_response(self._state(number))

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        """A file in two steps, as Google takes it: where it may go, then what it holds."""
        if request.headers["X-Goog-Upload-Command"] == "start":
            where = self.elsewhere or str(request.url.with_query(upload_id="1"))
            return web.json_response({}, headers={"X-Goog-Upload-URL": where})
        name = f"file-{len(self.files) + 1}"
        self.files[name] = (await request.read()).decode().splitlines()
        return web.json_response({"file": {"name": f"files/{name}"}})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """A file that Azure has read by now."""
        self.contacts += 1
        return web.json_response({"id": request.match_info["id"], "status": "processed"})

    def _state(self, number: str) -> dict[str, Any]:
        order = self.orders[number]
        total, ended = len(order["wanted"]), order["ended"]
        over, file = ended is not None, number if ended not in (None, "failed") else None
        done = total if over else 0
        if order["form"] == "anthropic":
            counts = {"processing": 0 if over else total, "succeeded": done, "errored": 0}
            where = f"{self.url}/messages/batches/{number}/results" if over else None
            state = {"processing_status": "ended" if over else "in_progress", "results_url": where}
            return {"id": number, "request_counts": counts, "created_at": order["made"]} | state
        if order["form"] == "google":
            states = {None: "RUNNING", "completed": "SUCCEEDED"}
            stats = {"requestCount": str(total), "successfulRequestCount": str(done)}
            state = f"BATCH_STATE_{states.get(ended, str(ended).upper())}"
            about = {"state": state, "displayName": order["name"], "batchStats": stats}
            response = {"response": {"responsesFile": f"files/{file}"}} if file else {}
            return {"name": f"batches/{number}", "metadata": about, "done": over} | response
        if order["form"] == "mistral":
            states = {None: "RUNNING", "completed": "SUCCESS"}
            counts = {"total_requests": total, "succeeded_requests": done}
            state = {"status": states.get(ended, str(ended).upper()), "output_file": file, "errors": []}
            return {"id": number, "metadata": {"assay": order["name"]}} | counts | state
        state = {"status": ended or "in_progress", "metadata": {"assay": order["name"]}, "output_file_id": file}
        return {"id": number, "request_counts": {"total": total, "completed": done, "failed": 0}} | state

    async def _batches(self, request: web.Request) -> web.StreamResponse:
        form = form_of(request.path)
        listed = [self._state(number) for number, one in self.orders.items() if one["form"] == form]
        return web.json_response({"operations" if form == "google" else "data": listed})

    async def _look(self, request: web.Request) -> web.StreamResponse:
        order = self.orders[request.match_info["id"]]
        self.contacts += 1
        await asyncio.sleep(self.pace)
        order["looks"] += 1
        if request.path.endswith("cancel"):
            order["ended"] = "cancelled"
        elif order["looks"] >= self.looks and order["ended"] is None:
            order["ended"] = "completed"
        return web.json_response(self._state(order["id"]))

    async def _results(self, request: web.Request) -> web.StreamResponse:
        """Every request of an order, answered by the script; of a cancelled one, every second."""
        order = self.orders[request.match_info["id"]]
        if "lines" not in order:
            order["lines"] = [self._result(order, at, *one) for at, one in enumerate(order["wanted"])]
            random.Random(0).shuffle(order["lines"])
        return web.Response(text="\n".join(order["lines"]))

    def _result(self, order: dict[str, Any], at: int, name: str, body: dict[str, Any]) -> str:
        form = order["form"]
        if order["ended"] == "cancelled" and at % 2:
            error = {"custom_id": name, "response": None, "error": {"code": "batch_cancelled"}}
            gone = {"custom_id": name, "result": {"type": "canceled"}}
            never = {"key": name, "error": {"code": 1, "message": "The operation was cancelled."}}
            return json.dumps({"anthropic": gone, "google": never}.get(form, error))
        self.count += 1
        self.requests.append(body)
        say = self.script(self.count, body, self)
        self.answered[item_of(body)] += say.status == 200
        said, half = {"error": {"message": say.error}}, say.fault == "half"
        if form == "anthropic":
            good = {"type": "succeeded", "message": {} if half else anthropic_form(say)}
            return json.dumps({"custom_id": name, "result": good if say.status == 200 else {"type": "errored"} | said})
        if form == "google":
            reply = {"response": {"modelVersion": "served"} if half else google_form(say)}
            return json.dumps({"key": name} | (reply if say.status == 200 else said))
        message = {"role": "assistant", "content": say.content}
        good = {"model": "served", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        good |= {"usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        good = {} if half else responses_form(say) if "input" in body else good
        response = {"status_code": say.status, "body": good if say.status == 200 else said}
        return json.dumps({"custom_id": name, "response": response, "error": None})

    async def _other(self, request: web.Request, form: Callable[[Say], dict[str, Any]]) -> web.StreamResponse:
        """The same script in another format: of the faults, only delays and statuses are played."""
        body = json.loads(await request.read())
        self.count += 1
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        say = self.script(self.count, body, self)
        await asyncio.sleep(say.delay)
        if say.status != 200:
            return web.json_response({"error": {"message": say.error}}, status=say.status, headers=say.headers)
        return web.json_response(form(say))


def openai_tokens(say: Say) -> list[dict[str, Any]]:
    """Return tokens with their alternatives, in OpenAI's format."""
    return [
        {
            "token": token,
            "logprob": math.log(there.get(token, 1.0)),
            "top_logprobs": [{"token": other, "logprob": math.log(p)} for other, p in there.items()],
        }
        for token, there in say.tokens or ()
    ]


def responses_form(say: Say) -> dict[str, Any]:
    """A reply as OpenAI's responses are written."""
    part = {"type": "output_text", "text": say.content, "annotations": [], "logprobs": openai_tokens(say)}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": say.reasoning or ""}]}
    output = [thought, {"type": "message", "role": "assistant", "content": [part]}]
    used = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    return {"id": "r", "object": "response", "status": "completed", "model": "served", "output": output, "usage": used}


def anthropic_form(say: Say) -> dict[str, Any]:
    """A reply as Anthropic writes it."""
    content = [{"type": "text", "text": say.content}]
    about = {"id": "m", "type": "message", "role": "assistant", "model": "served", "stop_reason": "end_turn"}
    return about | {"stop_sequence": None, "content": content, "usage": {"input_tokens": 100, "output_tokens": 10}}


def google_form(say: Say) -> dict[str, Any]:
    """A reply as Google writes it."""
    candidate = {"content": {"role": "model", "parts": [{"text": say.content}]}, "finishReason": "STOP", "index": 0}
    if say.tokens is not None:
        listed = [
            {"candidates": [{"token": t, "logProbability": math.log(p)} for t, p in there.items()]}
            for _, there in say.tokens
        ]
        chosen = [{"token": token, "logProbability": 0.0} for token, _ in say.tokens]
        candidate["logprobsResult"] = {"topCandidates": listed, "chosenCandidates": chosen}
    used = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return {"candidates": [candidate], "usageMetadata": used, "modelVersion": "served", "responseId": "r"}


def faults(share: float, seed: int = 0) -> Script:
    """Return good responses with a share of faults, of every kind in turn."""
    chance = random.Random(seed)
    kinds = [
        lambda: Say(status=429, headers={"Retry-After": "0.01"}),
        lambda: Say(status=500),
        lambda: Say(status=503),
        lambda: Say(status=408),
        lambda: Say(fault="drop"),
        lambda: Say(fault="half"),
        lambda: Say("I'm sorry, I can't help with that."),
        lambda: Say('{"label": 9}'),
        lambda: Say('{"lab', finish="length"),
        lambda: Say(""),
    ]

    def script(n: int, body: dict[str, Any], server: ChatServer) -> Say:
        return kinds[n % len(kinds)]() if chance.random() < share else Say('{"label": 4}')

    return script
