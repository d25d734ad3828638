"""The states of batches in each service's format; a service that is a dictionary of addresses and responses."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from assay.judging.services.batch_formats import CLOCKS, FORMS, AnthropicBatches, GoogleBatches, Order
from assay.judging.services.http import CallFailed


class Replies:
    """A service with a fixed response for each address, which records the requests."""

    def __init__(self, replies: dict[str, Any], base: str = "https://api.test/v1", path: str = "") -> None:
        self.replies, self.asked = replies, list[tuple[str, str, Any]]()
        self.here = SimpleNamespace(base=base, masked=lambda text: text)
        self.format = SimpleNamespace(url=lambda base, model: f"{base}{path.format(model=model)}")

    def address(self, where: str) -> str:
        return where

    def read(self, text: str) -> str:
        return f"read {text}"

    async def fetch(self, method: str, where: str, **options: Any) -> str:
        self.asked.append((method, where, options.get("json")))
        return json.dumps(self.replies[where])

    async def lines(self, where: str) -> Any:
        for line in self.replies[where]:
            yield json.dumps(line)


def run(work: Any) -> Any:
    return asyncio.run(work)


ROOT = "https://api.test/v1"
OPENAI = ("/chat/completions", f"{ROOT}/batches/b1")
AZURE = "https://me.test/openai/deployments/{model}/chat/completions"


@pytest.mark.parametrize(
    ("found", "state", "words", "files"),
    [
        ({"status": "in_progress", "request_counts": {"completed": 1200, "total": 4000}}, "going",
         "in_progress, 1,200 of 4,000 answered", ()),
        ({"status": "validating"}, "going", "validating, 0 of 0 answered", ()),
        ({"status": "COMPLETED", "request_counts": {"completed": 3, "total": 4}, "output_file_id": "o",
          "error_file_id": "e"}, "ended", "completed, 3 of 4 answered", ("o", "e")),
        ({"status": "expired", "error_file_id": "e"}, "ended", "expired, 0 of 0 answered", ("e",)),
        ({"status": "cancelled"}, "ended", "cancelled, 0 of 0 answered", ()),
        ({"status": "cancelling"}, "going", "cancelling, 0 of 0 answered", ()),
        ({"status": "failed", "errors": {"data": [{"message": "a"}, {"message": "b"}, {"message": "c"}]}}, "failed",
         "failed: a, b and 1 more", ()),
        ({"status": "failed", "errors": None}, "failed", "failed: ", ()),
    ],
)  # fmt: skip
def test_openai_s_orders(found: dict[str, Any], state: str, words: str, files: tuple[str, ...]) -> None:
    service = Replies({f"{ROOT}/batches/b1": {"id": "b1"} | found})
    order = run(FORMS["openai"].look(service, "b1"))
    assert order == Order("b1", state, words, tuple(f"{ROOT}/files/{one}/content" for one in files))


def test_mistral_s_orders() -> None:
    about = {"id": "j1", "output_file": "o", "succeeded_requests": 2, "total_requests": 5}
    service = Replies({f"{ROOT}/batch/jobs/j1": about | {"status": "SUCCESS"}})
    assert run(FORMS["mistral"].look(service, "j1")) == Order(
        "j1", "ended", "success, 2 of 5 answered", (f"{ROOT}/files/o/content",)
    )
    service.replies = {f"{ROOT}/batch/jobs/j1": {"id": "j1", "status": "TIMEOUT_EXCEEDED"}}
    assert run(FORMS["mistral"].look(service, "j1")) == Order("j1", "ended", "timeout_exceeded, 0 of 0 answered", ())
    service.replies = {f"{ROOT}/batch/jobs/j1": {"id": "j1", "status": "FAILED", "errors": [{"message": "no"}]}}
    assert run(FORMS["mistral"].look(service, "j1")) == Order("j1", "failed", "failed: no", ())
    assert FORMS["mistral"].order("f", "/v1/chat/completions", "small") == {
        "input_files": ["f"], "endpoint": "/v1/chat/completions", "model": "small", "timeout_hours": 24
    }  # fmt: skip
    assert FORMS["openai"].order("f", "/v1/chat/completions", "small") == {
        "input_file_id": "f", "endpoint": "/v1/chat/completions", "completion_window": "24h"
    }  # fmt: skip
    assert {name: form.one_model for name, form in FORMS.items()} == {
        "openai": False, "azure": False, "mistral": True, "anthropic": False, "google": True
    }  # fmt: skip


def test_anthropic_s_orders() -> None:
    where = f"{ROOT}/messages/batches/m1"
    counts = {"processing": 1, "succeeded": 2000, "errored": 3}
    service = Replies({where: {"processing_status": "in_progress", "request_counts": counts}})
    form = FORMS["anthropic"]
    assert run(form.look(service, "m1")) == Order("m1", "going", "in_progress, 2,000 of 2,004 answered", ())
    service.replies[where] = {"processing_status": "ended", "results_url": "https://api.test/r"}
    assert run(form.look(service, "m1")) == Order("m1", "ended", "ended, 0 of 0 answered", ("https://api.test/r",))
    bare = Replies({where: {"processing_status": "ended"}}, base="https://api.test")
    assert run(form.look(bare, "m1")).where == ()  # the version is added where the address has none


def test_whose_an_order_of_anthropic_s_is() -> None:
    """Sent at 12:00:00 UTC on 2 January 2026, three questions; clocks may differ by ten minutes."""
    sent = 1_767_355_200.0
    assert CLOCKS == 600
    listed = f"{ROOT}/messages/batches?limit=100"

    def order(name: str, made: str, number: int = 3) -> dict[str, Any]:
        return {"id": name, "created_at": made, "request_counts": {"succeeded": number}}

    orders = [order("known", "2026-01-02T12:00:01Z"), order("old", "2026-01-02T11:49:59Z"),
              order("large", "2026-01-02T12:00:01Z", 4), order("other", "2026-01-02T12:00:01Z"),
              order("ours", "2026-01-02T11:50:00+00:00")]  # fmt: skip
    replies: dict[str, Any] = {listed: {"data": orders}}
    for name in ("known", "old", "large", "other", "ours"):
        replies[f"{ROOT}/messages/batches/{name}"] = {"processing_status": "ended", "results_url": name}
        replies[name] = [{"custom_id": "theirs-1" if name == "other" else "run-1"}, {"custom_id": "run-2"}]
    service, record = Replies(replies), {"name": "run", "made_at": sent, "number": 3}
    form = AnthropicBatches()
    assert run(form.find(service, record, {"known"})) == "ours"
    assert run(form.find(service, record | {"name": "gone"}, {"known"})) is None
    replies[f"{ROOT}/messages/batches/other"] = {"processing_status": "in_progress"}
    with pytest.raises(CallFailed, match="batch other may be one that was sent when a run was ended"):
        run(form.find(service, record, {"known"}))


@pytest.mark.parametrize(
    ("about", "state", "words", "file"),
    [
        ({"metadata": {"state": "BATCH_STATE_RUNNING", "batchStats": {"successfulRequestCount": "1500",
          "requestCount": "2000"}}}, "going", "running, 1,500 of 2,000 answered", None),
        ({"metadata": {"state": "JOB_STATE_SUCCEEDED"}, "response": {"responsesFile": "files/r"}}, "ended",
         "succeeded, 0 of 0 answered", "files/r"),
        ({"metadata": {"state": "JOB_STATE_SUCCEEDED"}}, "going", "succeeded, 0 of 0 answered", None),
        ({"metadata": {"state": "JOB_STATE_CANCELLED"}}, "ended", "cancelled, 0 of 0 answered", None),
        ({"metadata": {"state": "JOB_STATE_EXPIRED", "output": {"responsesFile": "files/o"}}}, "ended",
         "expired, 0 of 0 answered", "files/o"),
        ({"metadata": {"state": "JOB_STATE_FAILED"}, "error": {"message": "too large"}}, "failed",
         "failed: too large", None),
        ({}, "going", "unknown, 0 of 0 answered", None),
    ],
)  # fmt: skip
def test_google_s_orders(about: dict[str, Any], state: str, words: str, file: str | None) -> None:
    base = "https://g.test/v1beta"
    service = Replies({f"{base}/batches/1": about}, base, "/models/{model}:generateContent")
    where = () if file is None else (f"https://g.test/download/v1beta/{file}:download?alt=media",)
    assert run(GoogleBatches().look(service, "batches/1")) == Order("batches/1", state, words, where)


def test_orders_are_found_by_the_name_that_was_sent_with_them() -> None:
    record = {"name": "run"}
    service = Replies({f"{ROOT}/batches?limit=100": {"data": [{"id": 1}, {"id": 2, "metadata": {"assay": "run"}}]}})
    assert run(FORMS["openai"].find(service, record, set())) == "2"
    assert run(FORMS["openai"].find(service, {"name": "other"}, set())) is None
    base = "https://g.test/v1beta"
    operations = [{"name": "batches/1"}, {"name": "batches/2", "metadata": {"displayName": "run"}}]
    google = Replies({f"{base}/batches?pageSize=100": {"operations": operations}}, base, "/models/{model}:g")
    assert run(FORMS["google"].find(google, record, set())) == "batches/2"
    azure = Replies({}, "https://me.test/openai", "/deployments/{model}/chat/completions")
    assert FORMS["azure"].root(azure) == "https://me.test/openai"
    assert FORMS["azure"].path(azure) == "/chat/completions"


@pytest.mark.parametrize(
    ("form", "line", "wanted"),
    [
        ("openai", {"response": {"status_code": 200, "body": {"a": 1}}}, 'read {"a": 1}'),
        ("openai", {"response": {"status_code": 400, "body": {"error": {"message": "too long"}}}}, "too long"),
        ("openai", {"response": None, "error": {"code": "batch_expired"}}, None),
        ("openai", {"error": {"code": "other", "message": "odd"}}, "odd"),
        ("anthropic", {"result": {"type": "succeeded", "message": {"a": 1}}}, 'read {"a": 1}'),
        ("anthropic", {"result": {"type": "canceled"}}, None),
        ("anthropic", {"result": {"type": "expired"}}, None),
        ("anthropic", {"result": {"type": "errored", "error": {"error": {"message": "bad"}}}}, "bad"),
        ("google", {"response": {"a": 1}}, 'read {"a": 1}'),
        ("google", {"error": {"code": 1}}, None),
        ("google", {"status": {"code": 3, "message": "wrong"}}, "wrong"),
    ],
)
def test_batch_result_lines(form: str, line: dict[str, Any], wanted: str | None) -> None:
    name, found = FORMS[form].result(Replies({}), line | {"custom_id": "q1", "key": "q1"})
    assert name == "q1"
    if isinstance(found, CallFailed):
        assert wanted in str(found)
    else:
        assert found == wanted


@pytest.mark.parametrize(
    ("form", "line", "status", "kind"),
    [
        # A question that went wrong says nothing about the judge where no status does.
        ("openai", {"error": {"code": "other", "message": "odd"}}, 400, "rejected"),
        ("openai", {"response": {"status_code": 401, "body": {}}}, 401, "fatal"),
        ("openai", {"response": {"status_code": 429, "body": {}}}, 429, "retry"),
        ("openai", {"response": {"status_code": 500}, "error": "broken"}, 500, "retry"),
        ("openai", {"error": "broken"}, 400, "rejected"),
        ("anthropic", {"result": {"type": "errored"}}, 400, "rejected"),
        ("google", {"status": {"code": 3, "message": "wrong"}}, 400, "rejected"),
        ("google", {}, 400, "rejected"),
    ],
)
def test_batch_errors_of_single_requests(form: str, line: Any, status: int, kind: str) -> None:
    _, found = FORMS[form].result(Replies({}), line | {"custom_id": "q1", "key": "q1"})
    assert isinstance(found, CallFailed)
    assert (found.status, found.kind) == (status, kind)


@pytest.mark.parametrize(("pending", "taken"), [(0, True), (3, True), (4, False)])
def test_file_is_waited_for_until_it_is_read(monkeypatch: pytest.MonkeyPatch, pending: int, taken: bool) -> None:
    monkeypatch.setattr("assay.judging.services.batch_formats.MOST_LOOKS", 4)
    monkeypatch.setattr("assay.judging.services.batch_formats.FILE_LOOKS", 0.0)
    pytest.importorskip("aiohttp")
    states = iter(["pending"] * pending + ["processed"] * 9)

    class Files(Replies):
        async def fetch(self, method: str, where: str, **options: Any) -> str:
            self.asked.append((method, where, options.get("json")))
            return json.dumps({"id": "b1"} if where.endswith("batches") else {"id": "f1", "status": next(states)})

    service = Files({}, path="/chat/completions")
    sending = FORMS["openai"].send(service, "run", "tiny", {"q1": {"a": 1}})
    if not taken:
        with pytest.raises(CallFailed, match="the service has not processed the file of the batch yet") as error:
            run(sending)
        assert error.value.kind == "retry"
        return
    assert run(sending) == "b1"
    order = {"input_file_id": "f1", "completion_window": "24h", "metadata": {"assay": "run"}}
    method, where, sent = service.asked[-1]
    assert (method, where) == ("POST", f"{ROOT}/batches")
    assert sent.items() >= order.items()
    assert [one[:2] for one in service.asked[1:-1]] == [("GET", f"{ROOT}/files/f1")] * pending


@pytest.mark.parametrize(
    ("base", "root"), [("https://a.test/v1", "https://a.test/v1"), ("https://a.test", "https://a.test/v1")]
)
def test_orders_go_to_the_version_of_the_address(base: str, root: str) -> None:
    assert FORMS["openai"].root(Replies({}, base)) == root


def test_order_of_mistral_s_names_its_model() -> None:
    assert FORMS["mistral"].order("f1", "/v1/chat/completions", "tiny") == {
        "input_files": ["f1"], "endpoint": "/v1/chat/completions", "model": "tiny", "timeout_hours": 24,
    }  # fmt: skip
    assert [FORMS[name].one_model for name in ("openai", "azure", "mistral", "anthropic", "google")] == [
        False, False, True, False, True,
    ]  # fmt: skip


def test_order_of_google_s_is_sent_in_two_steps() -> None:
    base = "https://g.test/v1beta"
    sent = list[tuple[str, dict[str, Any]]]()

    class Uploads(Replies):
        def refuse_elsewhere(self, where: str) -> None:
            assert where == "https://g.test/here"

        async def fetch(self, method: str, where: str, **options: Any) -> str:
            sent.append((f"{method} {where}", options))
            if where.endswith("/upload/v1beta/files"):
                return "https://g.test/here"
            return json.dumps({"file": {"name": "files/1"}} if where.endswith("here") else {"name": "batches/9"})

    service = Uploads({}, base, "/models/{model}:generateContent")
    assert run(GoogleBatches().send(service, "run", "pro", {"q1": {"a": 1}, "q2": {"b": 2}})) == "batches/9"
    start, upload, order = sent
    lines = b'{"key": "q1", "request": {"a": 1}}\n{"key": "q2", "request": {"b": 2}}'
    assert start[0] == "POST https://g.test/upload/v1beta/files"
    assert start[1] == {
        "json": {"file": {"display_name": "run"}},
        "header": "X-Goog-Upload-URL",
        "headers": {
            "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            "X-Goog-Upload-Header-Content-Length": str(len(lines)),
        },
    }  # fmt: skip
    assert upload == (
        "POST https://g.test/here",
        {"data": lines, "headers": {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}},
    )
    assert order == (
        "POST https://g.test/v1beta/models/pro:batchGenerateContent",
        {"json": {"batch": {"displayName": "run", "inputConfig": {"fileName": "files/1"}}}},
    )
