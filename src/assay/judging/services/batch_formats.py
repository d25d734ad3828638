"""The batch APIs of services: where a batch goes, its state, and the lines of its results.

`assay.judging.batch` decides what to send and stores the results. To add a service, add a class and a row of `FORMS`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from assay.errors import listing
from assay.judging.services.http import CallFailed, Completion, failure
from assay.judging.services.providers import Service

Bodies = Mapping[str, Mapping[str, Any]]
"""The body of each single call, by the name of its request in the batch."""

Result = tuple[str, "Completion | CallFailed | None"]
"""The name of a request in its batch; its response, its error, or None if it was not processed."""

State = Literal["going", "ended", "failed"]

CLOCKS = 600.0
"""Seconds by which the clocks of a service and of this machine may differ."""

FILE_LOOKS, MOST_LOOKS = 2.0, 300
"""Seconds from one look at a file that is being taken in to the next, and how many there are: ten minutes."""

NOT_ASKED = ("batch_expired", "batch_cancelled", 1)
"""The services' names for unprocessed requests; 1 is Google's code."""


@dataclass(frozen=True)
class Order:
    """The state of a batch at its service."""

    id: str
    state: State
    words: str
    where: tuple[str, ...] = ()
    """The addresses of its results."""


class BatchForm(Protocol):
    """How a service takes orders."""

    @property
    def one_model(self) -> bool:
        """Whether all questions of an order are for one model."""

    async def send(self, service: Service, name: str, model: str, bodies: Bodies) -> str:
        """Send an order; its number there."""

    async def look(self, service: Service, number: str) -> Order:
        """Return the state of a batch."""

    async def cancel(self, service: Service, number: str) -> None:
        """Cancel a batch; its results so far are kept."""

    async def find(self, service: Service, record: Mapping[str, Any], known: set[str]) -> str | None:
        """Return the number of a batch that may have been sent; None if it was not."""

    def result(self, service: Service, line: Mapping[str, Any]) -> Result:
        """Parse one line of the results."""


def _versioned_address(service: Service) -> str:
    """Return the base address for batches: that of the calls, up to the version."""
    base = service.here.base
    return base if base.endswith("/v1") else f"{base}/v1"


async def _get(service: Service, address: str) -> Any:
    return json.loads(await service.fetch("GET", service.address(address)))


async def _post(service: Service, address: str, **options: Any) -> Any:
    return json.loads(await service.fetch("POST", service.address(address), **options))


def _lines(lines: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, lines)).encode()


def _read(service: Service, reply: Any) -> Completion | CallFailed:
    """Parse a response; one in an unknown format is an error of that request, not of the batch."""
    try:
        return service.read(json.dumps(reply))
    except CallFailed as error:
        return error


def _failed_call(service: Service, status: int, body: Any) -> CallFailed:
    return failure(status, service.here.masked(json.dumps(body)), None, None)


class OpenAIBatches:
    """OpenAI's batches, and Groq's: a file of requests, an order of it, a file of replies and one of errors."""

    one_model = False
    orders = "batches"
    listed = "batches?limit=100"

    def root(self, service: Service) -> str:
        """Where files and orders go."""
        return _versioned_address(service)

    def path(self, service: Service) -> str:
        """The type of requests that a batch declares."""
        return "/v1" + service.format.url("", "")

    async def send(self, service: Service, name: str, model: str, bodies: Bodies) -> str:
        """Upload the file, then order it."""
        file, path = await self._upload(service, name, bodies), self.path(service)
        order = self.order(file, path, model) | {"metadata": {"assay": name}}
        made = await _post(service, f"{self.root(service)}/{self.orders}", json=order)
        return str(made["id"])

    def order(self, file: str, path: str, model: str) -> dict[str, Any]:
        """The reference of a batch to its file; each line of the file names its model."""
        return {"input_file_id": file, "endpoint": path, "completion_window": "24h"}

    async def _upload(self, service: Service, name: str, bodies: Bodies) -> str:
        import aiohttp

        path, form = self.path(service), aiohttp.FormData()
        lines = [{"custom_id": one, "method": "POST", "url": path, "body": body} for one, body in bodies.items()]
        form.add_field("purpose", "batch")
        form.add_field("file", _lines(lines), filename=f"{name}.jsonl", content_type="application/jsonl")
        made = await _post(service, f"{self.root(service)}/files", data=form)
        for _ in range(MOST_LOOKS):
            if made.get("status") != "pending":  # Azure takes no order of a file that it has not read
                return str(made["id"])
            await asyncio.sleep(FILE_LOOKS)
            made = await _get(service, f"{self.root(service)}/files/{made['id']}")
        raise CallFailed("retry", "the service has not processed the file of the batch yet; send it again later")

    async def look(self, service: Service, number: str) -> Order:
        """Return the state, by the batch's status."""
        found = await _get(service, f"{self.root(service)}/{self.orders}/{number}")
        files = [found[name] for name in ("output_file_id", "error_file_id") if found.get(name)]
        done = found.get("request_counts") or {}
        return self._order(service, found, files, done.get("completed", 0), done.get("total", 0))

    def _order(self, service: Service, found: Mapping[str, Any], files: list[str], done: int, total: int) -> Order:
        status = str(found["status"]).lower()
        words = f"{status}, {done:,} of {total:,} answered"
        if status == "failed":
            errors = found.get("errors") or ()
            errors = errors.get("data") or () if isinstance(errors, Mapping) else errors
            words = f"failed: {listing([one.get('message', '') for one in errors], 2)}"
        ended = status in ("completed", "success", "expired", "timeout_exceeded", "cancelled")
        where = tuple(f"{self.root(service)}/files/{one}/content" for one in files)
        return Order(str(found["id"]), "failed" if status == "failed" else "ended" if ended else "going", words, where)

    async def cancel(self, service: Service, number: str) -> None:
        """By its address."""
        await _post(service, f"{self.root(service)}/{self.orders}/{number}/cancel")

    async def find(self, service: Service, record: Mapping[str, Any], known: set[str]) -> str | None:
        """By the name in its metadata."""
        listed = await _get(service, f"{self.root(service)}/{self.listed}")
        names = {(one.get("metadata") or {}).get("assay"): str(one["id"]) for one in listed.get("data") or ()}
        return names.get(record["name"])

    def result(self, service: Service, line: Mapping[str, Any]) -> Result:
        """A response with its status, or an error."""
        response, name = line.get("response") or {}, str(line["custom_id"])
        if response.get("status_code") == 200:
            return name, _read(service, response["body"])
        error = line.get("error") or {}
        if isinstance(error, Mapping) and error.get("code") in NOT_ASKED:
            return name, None
        return name, _failed_call(service, response.get("status_code") or 400, response.get("body") or error)


class AzureBatches(OpenAIBatches):
    """Azure's: OpenAI's, at the address of the resource, for a deployment that takes batches."""

    def root(self, service: Service) -> str:
        """The resource, without the deployment in the address of a call."""
        call = service.format.url(service.here.base, "x").removesuffix(self.path(service))
        return call.partition("/deployments/")[0]

    def path(self, service: Service) -> str:
        """Without a version."""
        return "/chat/completions"


class MistralBatches(OpenAIBatches):
    """Mistral's: jobs of one model, with OpenAI's files."""

    one_model = True
    orders = "batch/jobs"
    listed = "batch/jobs?page_size=100"

    def order(self, file: str, path: str, model: str) -> dict[str, Any]:
        """One job of one model."""
        return {"input_files": [file], "endpoint": path, "model": model, "timeout_hours": 24}

    async def look(self, service: Service, number: str) -> Order:
        """By its status."""
        found = await _get(service, f"{self.root(service)}/{self.orders}/{number}")
        files = [found[name] for name in ("output_file", "error_file") if found.get(name)]
        return self._order(service, found, files, found.get("succeeded_requests", 0), found.get("total_requests", 0))


class AnthropicBatches:
    """Anthropic's batches: requests in one body, results in one file."""

    one_model = False

    async def send(self, service: Service, name: str, model: str, bodies: Bodies) -> str:
        """One POST."""
        requests = [{"custom_id": one, "params": body} for one, body in bodies.items()]
        made = await service.fetch(
            "POST", f"{_versioned_address(service)}/messages/batches", json={"requests": requests}
        )
        return str(json.loads(made)["id"])

    async def look(self, service: Service, number: str) -> Order:
        """By its status."""
        found = await _get(service, f"{_versioned_address(service)}/messages/batches/{number}")
        done, status = found.get("request_counts") or {}, found["processing_status"]
        words = f"{status}, {done.get('succeeded', 0):,} of {sum(done.values()):,} answered"
        where = (found["results_url"],) if found.get("results_url") else ()
        return Order(number, "ended" if status == "ended" else "going", words, where)

    async def cancel(self, service: Service, number: str) -> None:
        """By its address."""
        await service.fetch("POST", f"{_versioned_address(service)}/messages/batches/{number}/cancel")

    async def find(self, service: Service, record: Mapping[str, Any], known: set[str]) -> str | None:
        """An order has no name here, but its results have: of those of this size and time, the one with ours.

        Raises
        ------
        CallFailed
            While one of them is running, and its sender is unknown.
        """
        listed = await _get(service, f"{_versioned_address(service)}/messages/batches?limit=100")
        for one in listed["data"]:
            made = datetime.fromisoformat(str(one["created_at"]).replace("Z", "+00:00")).timestamp()
            of_size = sum((one.get("request_counts") or {}).values()) == record.get("number")
            if one["id"] in known or made < record["made_at"] - CLOCKS or not of_size:
                continue
            order = await self.look(service, str(one["id"]))
            if order.state == "going":
                raise CallFailed(
                    "retry",
                    f"batch {one['id']} may be one that was sent when a run was ended; that shows once it is done",
                )
            async for line in service.lines(order.where[0]):
                if str(json.loads(line)["custom_id"]).startswith(f"{record['name']}-"):
                    return str(one["id"])
                break
        return None

    def result(self, service: Service, line: Mapping[str, Any]) -> Result:
        """A message, or how it ended without one."""
        found, name = line["result"], str(line["custom_id"])
        if found["type"] == "succeeded":
            return name, _read(service, found["message"])
        if found["type"] in ("canceled", "expired"):
            return name, None
        return name, _failed_call(service, 400, found.get("error") or {})


class GoogleBatches:
    """Gemini's batches: a file of requests that is uploaded in two steps, an order of one model, a file of replies."""

    one_model = True

    def _root(self, service: Service) -> str:
        return service.format.url(service.here.base, "").partition("/models/")[0]

    def _files_address(self, service: Service, word: str) -> str:
        """Where files are sent to and come from: the address with a word before the version."""
        host, _, version = self._root(service).rpartition("/")
        return f"{host}/{word}/{version}"

    async def send(self, service: Service, name: str, model: str, bodies: Bodies) -> str:
        """Request an upload address, upload the file, then create the batch."""
        content = _lines([{"key": one, "request": body} for one, body in bodies.items()])
        about = {"Protocol": "resumable", "Command": "start", "Header-Content-Type": "application/jsonl"}
        about["Header-Content-Length"] = str(len(content))
        start, file = f"{self._files_address(service, 'upload')}/files", {"file": {"display_name": name}}
        where = await service.fetch(
            "POST", service.address(start), json=file, headers=_upload(about), header="X-Goog-Upload-URL"
        )
        service.refuse_elsewhere(where)
        steps = _upload({"Offset": "0", "Command": "upload, finalize"})
        sent = json.loads(await service.fetch("POST", where, data=content, headers=steps))
        order = {"displayName": name, "inputConfig": {"fileName": sent["file"]["name"]}}
        address = service.format.url(service.here.base, model).rpartition(":")[0]
        made = await _post(service, f"{address}:batchGenerateContent", json={"batch": order})
        return str(made["name"])

    async def look(self, service: Service, number: str) -> Order:
        """Return the state, which has two spellings."""
        found = await _get(service, f"{self._root(service)}/{number}")
        about = found.get("metadata") or {}
        state = str(about.get("state", "")).rpartition("STATE_")[2].lower()
        stats = about.get("batchStats") or {}
        done, total = (int(stats.get(one) or 0) for one in ("successfulRequestCount", "requestCount"))
        words = f"{state or 'unknown'}, {done:,} of {total:,} answered"
        output = (found.get("response") or about.get("output") or {}).get("responsesFile")
        where = () if output is None else (f"{self._files_address(service, 'download')}/{output}:download?alt=media",)
        if state == "failed":
            return Order(number, "failed", f"failed: {(found.get('error') or {}).get('message', '')}", where)
        ended = state in ("succeeded", "cancelled", "expired") and (state != "succeeded" or bool(where))
        return Order(number, "ended" if ended else "going", words, where)

    async def cancel(self, service: Service, number: str) -> None:
        """By its address."""
        await service.fetch("POST", service.address(f"{self._root(service)}/{number}:cancel"))

    async def find(self, service: Service, record: Mapping[str, Any], known: set[str]) -> str | None:
        """By the name that is shown of it."""
        listed = await _get(service, f"{self._root(service)}/batches?pageSize=100")
        names = {(one.get("metadata") or {}).get("displayName"): one["name"] for one in listed.get("operations") or ()}
        return names.get(record["name"])

    def result(self, service: Service, line: Mapping[str, Any]) -> Result:
        """A response, or an error."""
        name, error = str(line["key"]), line.get("error") or line.get("status") or {}
        if line.get("response"):
            return name, _read(service, line["response"])
        if error.get("code") in NOT_ASKED:
            return name, None
        return name, _failed_call(service, 400, {"error": error})


def _upload(about: Mapping[str, str]) -> dict[str, str]:
    """The headers of one step of Google's upload."""
    return {f"X-Goog-Upload-{name}": value for name, value in about.items()}


FORMS: dict[str, BatchForm] = {
    "openai": OpenAIBatches(), "azure": AzureBatches(), "mistral": MistralBatches(), "anthropic": AnthropicBatches(),
    "google": GoogleBatches(),
}  # fmt: skip
"""By the word in `assay.judging.services.providers.PROVIDERS`."""
