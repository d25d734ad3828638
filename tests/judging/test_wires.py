"""Recorded behaviours of services, played back over HTTP: each gives a label, or is refused in true words.

`wires/` has one file per service, and is the place for the next behaviour. The requests of each are counted: nothing is
paid twice that cannot come out differently.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import QUICK, rows

from assay.errors import JudgeError
from assay.judging.run import judge_study

OK = {
    "choices": [{"message": {"content": '{"label": 3}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 40, "completion_tokens": 6},
}
KEYS = ("AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "OPENAI_API_KEY")


def behaviours() -> Iterator[Any]:
    for path in sorted((Path(__file__).parent / "wires").glob("*.yaml")):
        service = yaml.safe_load(path.read_text(encoding="utf-8"))
        for one in service["behaviours"]:
            yield pytest.param(service, one, id=f"{path.stem}: {one['name']}")


@contextmanager
def playing(replies: list[Any], ok: Any) -> Iterator[tuple[str, list[Any]]]:
    """A server that gives the replies in order, and the last one from then on; and the requests.

    A reply with ``pack`` is compressed, and one with ``cut`` ends after so many bytes.
    """
    requests: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            reply = replies[min(len(requests), len(replies)) - 1]
            reply = {"body": ok} if reply == "ok" else reply
            text = reply["text"] if "text" in reply else json.dumps(reply["body"])
            self.send_response(reply.get("status", 200))
            for name, value in {"Content-Type": "application/json", **reply.get("headers", {})}.items():
                self.send_header(name, value)
            said = gzip.compress(text.encode()) if reply.get("pack") else text.encode()
            self.send_header("Content-Length", str(len(said)))
            if reply.get("cut") != 0:
                self.end_headers()
                self.wfile.write(said[: reply.get("cut")])
            self.close_connection = "cut" in reply

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(("service", "wanted"), list(behaviours()))
def test_behaviour_of_a_service_gives_a_label_or_true_words(make_study, monkeypatch, service, wanted):
    for name in KEYS:
        monkeypatch.setenv(name, "a-key-that-is-long-enough")
    judge = {"provider": service["provider"], "model": "m", "price": {"input": 1, "output": 2}} | wanted.get(
        "judge", {}
    )
    with playing(wanted["replies"], service.get("ok", OK)) as (url, requests):
        study = make_study(1, judge=judge | {"base_url": url + service["base"]})
        if "stops" in wanted:
            with pytest.raises(JudgeError, match=wanted["stops"]):
                judge_study(study, **QUICK)
        else:
            done = judge_study(study, **QUICK)
    assert len(requests) == wanted.get("calls", len(wanted["replies"]))
    if "stops" in wanted:
        return
    assert done.cost >= 0
    assert done.estimated >= wanted.get("estimated", 0)
    (last,) = rows(
        study, "SELECT status, label, reason, tokens_in, tokens_out FROM answers ORDER BY revision DESC LIMIT 1"
    )
    if "label" in wanted:
        assert (done.answered, last[0], last[1], last[2]) == (1, "valid", wanted["label"], None)
    elif "reason" in wanted:
        assert (done.missing, done.left, last[0]) == (1, 0, "missing"), "it is not asked for ever"
        assert last[2].startswith(wanted["reason"])
    else:
        assert (done.failed, last[0]) == (1, "failed")
        assert wanted["failed"] in last[2]
    if "tokens" in wanted:
        assert list(last[3:]) == wanted["tokens"]


@pytest.mark.slow
def test_wires_have_every_service_and_many_behaviours():
    found = [one.values for one in behaviours()]
    assert len(found) >= 128
    assert {service["provider"] for service, _ in found} >= {
        "openai-compatible", "azure", "openai-responses", "anthropic", "google", "mistral",
    }  # fmt: skip
    assert all({"label", "reason", "failed", "stops"} & set(one) for _, one in found)


def test_run_says_that_tokens_are_estimated(make_study):
    with playing([{"body": {"choices": OK["choices"]}}], OK) as (url, _):
        done = judge_study(make_study(2, url + "/v1", judge={"price": {"input": 1, "output": 2}}))
    assert done.estimated == 2
    assert "no token counts for 2 calls; their tokens and cost are estimated" in done.summary()
    assert done.cost > 0
