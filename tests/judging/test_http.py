"""What is sent and what comes back, without a service: failures by status, bodies, digests, limits, who is to blame."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time

import pytest

from assay.judging.services.client import HOPELESS, UNREADABLE_TWICE, Bucket, Gate, Health, duration, probe_request
from assay.judging.services.http import (
    CallFailed,
    Request,
    Sent,
    cached_call,
    chat_body,
    failure,
    fingerprint,
    identity,
    keepable,
    mask_key,
    not_sent,
    requested_wait,
    retry_after,
)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (429, '{"error": {"message": "slow\\n down"}}', "retry", "HTTP 429: slow down"),
        (429, '{"error": {"code": "insufficient_quota"}}', "fatal", "HTTP 429: {'code': 'insufficient_quota'}"),
        (429, "check your Billing", "retry", "HTTP 429: check your Billing"),  # a word is no code
        (500, "", "retry", "HTTP 500"), (503, "[1]", "retry", "HTTP 503: [1]"), (408, "{}", "retry", "HTTP 408: {}"),
        (409, '{"error": "x"}', "retry", "HTTP 409: x"), (499, "", "rejected", "HTTP 499"),
        (400, '{"message": "bad sk-secret-key-1"}', "rejected", "HTTP 400: bad ***"),
        (401, "", "fatal", "HTTP 401"), (402, "", "fatal", "HTTP 402"), (403, "", "fatal", "HTTP 403"),
        (404, "", "fatal", "HTTP 404"), (422, "y" * 400, "rejected", "HTTP 422: " + "y" * 300),
    ],
)  # fmt: skip
def test_failure_by_http_status(status, body, kind, words):
    found = failure(status, body, 2.5, "sk-secret-key-1")
    assert (found.kind, str(found), found.status) == (kind, words, status)
    assert found.wait == (2.5 if kind == "retry" else None)


GEMINI_WORDS = "You exceeded your current quota, please check your plan and billing details."


def gemini_429(*quotas, wait="13s"):
    """The body of a 429 as Google documents it: QuotaFailure names the limits, RetryInfo asks to wait."""
    google = "type.googleapis.com/google.rpc."
    failed = {"@type": google + "QuotaFailure", "violations": [
        {"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": one,
         "quotaDimensions": {"location": "global", "model": "gemini-2.0-flash"}, "quotaValue": "15"} for one in quotas
    ]}  # fmt: skip
    details = [failed, {"@type": google + "Help"}, {"@type": google + "RetryInfo", "retryDelay": wait}]
    return {"error": {"code": 429, "message": GEMINI_WORDS, "status": "RESOURCE_EXHAUSTED", "details": details}}


MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (gemini_429(MINUTE), "retry"),
        ([gemini_429(MINUTE)], "retry"),
        (gemini_429(DAY), "fatal"),
        ([gemini_429(DAY)], "fatal"),  # its chat format answers with a list
        (gemini_429(MINUTE, DAY), "fatal"),
        ({"error": {"code": 429, "message": GEMINI_WORDS, "status": "RESOURCE_EXHAUSTED"}}, "retry"),
        ({"error": {"message": GEMINI_WORDS, "type": "insufficient_quota", "code": "insufficient_quota"}}, "fatal"),
        ({"error": {"message": "Not active.", "type": "billing_not_active", "code": "billing_not_active"}}, "fatal"),
        ({"error": {"message": "See your billing page.", "type": "requests", "code": "rate_limit_exceeded"}}, "retry"),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "no insufficient_quota"}}, "retry"),
        ({"error": {"details": [{"violations": None}, None, {"violations": ["PerDay"]}]}}, "retry"),
        ({"error": "insufficient_quota"}, "retry"),
    ],
)
def test_failure_of_a_limit_goes_by_codes_and_not_by_words(body, kind):
    said = json.dumps(body)
    found = failure(429, said, requested_wait({}, said), None)
    assert found.kind == kind
    asked = 13.0 if "retryDelay" in said else None
    assert found.wait == (asked if kind == "retry" else None)


def test_request_as_a_body():
    words = [{"role": "user", "content": "?"}]
    plain = Request("m", words, None, None, None, {})
    assert chat_body(plain, None) == {"model": "m", "messages": words}
    full = Request("m", words, 0.0, 7, {"type": "integer"}, {"top_p": 0.5, "model": "n"})
    body = chat_body(full, full.schema, most="max_completion_tokens")
    assert body == {
        "model": "n", "messages": words, "temperature": 0.0, "max_completion_tokens": 7, "top_p": 0.5,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "label", "strict": True, "schema": {"type": "integer"}},
        },
    }  # fmt: skip
    assert identity(full) == identity(Request("m", words, 0.0, None, {"type": "integer"}, full.params))
    assert identity(full) != identity(Request("m", words, 0.1, 7, {"type": "integer"}, full.params))
    assert identity(full) != identity(Request("m", words, 0.0, 7, None, full.params))
    assert fingerprint({"b": 1, "a": "é"}) == fingerprint({"a": "é", "b": 1})
    assert len(fingerprint({})) == 64
    probe = probe_request(full)
    assert (probe.model, probe.temperature, probe.max_tokens, probe.schema) == ("m", 0.0, 7, None)
    assert (probe.params, probe.about) == (full.params, {"item": "(none)"})


def test_images_are_kept_as_digests_and_keys_not_at_all():
    data = "QUJD" * 20
    digest = f"(sha256 {hashlib.sha256(data.encode()).hexdigest()}, 80 characters)"
    body = {
        "messages": [{"content": [{"url": f"data:image/png;base64,{data}"}, "sk-secret-key-1", 3]}],
        "source": {"media_type": "image/png", "data": data}, "inline": {"mimeType": "image/png", "data": data},
        "plain": {"data": data}, "none": None,
    }  # fmt: skip
    found = keepable(body, "sk-secret-key-1")
    assert found == {
        "messages": [{"content": [{"url": f"data:image/png;base64,{digest}"}, "***", 3]}],
        "source": {"media_type": "image/png", "data": digest}, "inline": {"mimeType": "image/png", "data": digest},
        "plain": {"data": data}, "none": None,
    }  # fmt: skip
    name, text = cached_call(Sent(body=body, url="http://x", key="sk-secret-key-1"))
    assert (name, json.loads(text)) == (hashlib.sha256(text.encode()).hexdigest(), found)


@pytest.mark.parametrize(
    "said",
    ["plain", "\0" + "0\0", "\0" + "1\0", "é …", "x" * 20_000, '"' * 20_000, "\ud83d" * 20_000, "\n" * 20_000],
    ids=range(8),
)
def test_json_of_a_body_with_images_is_that_of_any_other(said):
    url = f"data:image/svg+xml;base64,{'QUJD' * 5000}="
    turns = [{"role": "user", "content": [{"text": said}, {"image_url": {"url": url}}, {"image_url": {"url": url}}, 3]}]
    request = Request("m", turns, schema={"type": "integer"})
    sent = Sent(chat_body(request, request.schema), "http://x", "k" * 9, request.has_images)
    assert request.has_images
    assert sent.text == json.dumps(sent.body)
    assert identity(request) == fingerprint(sent.body)
    assert cached_call(sent) == cached_call(Sent(sent.body, "http://x", "k" * 9))
    assert "QUJD" not in cached_call(sent)[1]
    assert not Request("m", [{"role": "user", "content": url}]).has_images


@pytest.mark.parametrize(
    ("said", "key", "kept"),
    [
        ('{"label": …} and **5** stars', "sk-secret-key-1", '{"label": …} and **5** stars'),
        ("a bold*, a list…", "sk-secret-key-1", "a bold*, a list…"),
        ("whole sk-secret-key-1", "sk-secret-key-1", "whole ***"),
        ("quoted \\\"k\u00e9y-é", "k\u00e9y-é", "quoted \\\"***"),
        *((f"part sk-se{gap}y-1", "sk-secret-key-1", "part ***") for gap in ("****", "…", "...", "…*")),
    ],
)  # fmt: skip
def test_cached_call_masks_key_in_both_ways(said, key, kept):
    body = {"messages": [{"content": said}]}
    found = keepable(body, key)
    assert found == {"messages": [{"content": kept}]}
    assert cached_call(Sent(body, key=key))[1] == json.dumps(found)


@pytest.mark.parametrize("said", ["x" * 1_000_000, "x-" * 500_000, "x…" * 50_000], ids=["a word", "hyphens", "many"])
def test_key_is_looked_for_in_a_long_text_in_a_moment(said):
    begun = time.process_time()
    assert mask_key(f"{said} sk-a…, sk-se…y-1", "sk-secret-key-1") == f"{said} sk-a…, ***"
    assert time.process_time() - begun < 5.0, "hours, where each letter of a word may begin a key; some .05 s now"


@pytest.mark.parametrize(
    ("params", "temperature", "most", "body", "missing"),
    [
        ({}, None, None, {}, []), ({"top_p": 0.5}, 0.0, 7, {"top_p": 0.5, "temperature": 0.0, "max_tokens": 7}, []),
        ({"topP": 0.5}, 1, 7, {"config": {"top_p": 0.5, "temperature": 1.0, "maxOutputTokens": 7}}, []),
        ({"top_p": 0.5}, 0.0, 7, {"top_p": 0.6, "temperature": 0.1, "max_tokens": 8},
         ["top_p", "temperature", "max_tokens"]),
        ({"top_p": 0.5}, None, None, {"messages": {"top_p": 0.5}}, ["top_p"]),
        ({"model": "n"}, None, None, {"model": "n"}, ["model"]),
        ({"stream": True}, None, None, {"stream": True}, ["stream"]),
        ({"thinking": {"budget_tokens": 5}}, None, None, {"thinking": {"budgetTokens": 5, "more": 1}}, []),
        ({"thinking": {"budget_tokens": 5}}, None, None, {"thinking": {"budgetTokens": 6}}, ["thinking"]),
        ({}, 0.5, None, {"temperature": 0.7, "deep": {"temperature": 0.5}}, ["temperature"]),
    ],
)  # fmt: skip
def test_parameters_that_got_lost(params, temperature, most, body, missing):
    assert not_sent(Request("m", [], temperature, most, None, params), body) == missing


def test_waits_in_words():
    assert [duration(s) for s in (0, 12.04, 59.94, 60, 303.4, 3599.4, 3600, 7265)] == [
        "0.0 s", "12.0 s", "59.9 s", "1 min 0 s", "5 min 3 s", "59 min 59 s", "1 h 0 min", "2 h 1 min",
    ]  # fmt: skip
    assert retry_after(None) is retry_after("") is None
    assert retry_after("-3") == 0


# -- limits -------------------------------------------------------------------------------------------


def test_amount_a_minute_is_spent_evenly():
    now = [0.0]
    bucket = Bucket(120, clock=lambda: now[0])  # 2 a second, 4 at once
    assert [bucket.take(1) for _ in range(6)] == [0, 0, 0, 0, 0.5, 1.0]
    now[0] = 2.0
    assert bucket.take(1) == 0
    bucket.correct(3)
    assert bucket.take(1) == 1.5
    now[0] = 100.0
    assert [bucket.take(4), bucket.take(1)] == [0, 0.5], "at most two seconds' worth is kept"
    assert Bucket(6, clock=lambda: 0.0).take(1) == 0, "one is allowed at any rate"
    assert Bucket(None).take(1e9) == 0


def test_places_are_halved_and_grow_again():
    async def go():
        now = [10.0]
        gate = Gate(4, clock=lambda: now[0])
        await asyncio.gather(*(gate.enter() for _ in range(4)))
        waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        assert (gate.busy, [task.done() for task in waiting]) == (4, [False, False])
        gate.leave()
        await asyncio.sleep(0)
        assert (gate.busy, [task.done() for task in waiting]) == (4, [True, False])
        gate.was_busy(5.0)
        assert gate.limit == 2.0
        gate.was_busy(5.0)  # begun before it was halved
        assert gate.limit == 2.0
        gate.leave()
        gate.leave()
        await asyncio.sleep(0)
        assert (gate.busy, waiting[1].done()) == (2, False)
        gate.leave()
        await asyncio.sleep(0)
        assert (gate.busy, waiting[1].done()) == (2, True)
        gate.went_well()
        assert gate.limit == 2.5
        for _ in range(20):
            gate.went_well()
        assert gate.limit == 4.0
        for _ in range(5):
            gate.was_busy(float("inf"))
        assert gate.limit == 1.0

    asyncio.run(go())


# -- whose fault it is --------------------------------------------------------------------------------


def blamed(health, error, proof=None):
    """Whether the item is to blame, and whether the judge was asked about nothing."""
    asked = []

    async def probe():
        asked.append(1)
        if proof is not None:
            raise proof

    return asyncio.run(health.blames_item(error, probe)), bool(asked)


def test_failures_in_a_row_make_the_judge_suspect():
    health, busy = Health(2, unreadable=20), CallFailed("retry", "busy", status=503)
    assert [blamed(health, busy) for _ in range(HOPELESS)] == [(True, False)] * (HOPELESS - 1) + [(True, True)]
    assert blamed(health, busy) == (True, False), "a reply to the probe counts as one"
    many = Health(HOPELESS + 2, unreadable=20)
    assert [blamed(many, busy, busy)[1] for _ in range(HOPELESS + 2)] == [False] * (HOPELESS + 1) + [True]
    assert (many.stopped, many.dead) == ("cannot be asked: busy", True)
    quiet = Health(1, unreadable=20)
    lost = CallFailed("rejected", "not recorded")
    assert [blamed(quiet, lost) for _ in range(HOPELESS + 1)] == [(True, False)] * (HOPELESS + 1)


def test_one_fatal_failure_is_enough_to_ask_about_nothing():
    fatal, gone = CallFailed("fatal", "no such model", status=404), CallFailed("fatal", "wrong key", status=401)
    health = Health(2, unreadable=20)
    assert blamed(health, fatal) == (True, True)
    assert blamed(health, fatal, CallFailed("retry", "busy", status=503)) == (True, True)
    assert (health.stopped, health.dead) == (None, False)
    assert blamed(health, fatal, gone) == (False, True)
    assert (health.stopped, health.dead) == ("cannot be asked: wrong key", True)
    assert blamed(health, fatal) == (False, False)


def test_health_stops_after_unparseable_responses():
    health = Health(1, unreadable=5)
    for again in (False, True, True, False, False):
        health.note_unreadable("no label", again=again)
    assert health.stopped is None, f"{UNREADABLE_TWICE} of them after the complaint"
    health.note_unreadable("no label", again=True)
    assert health.stopped == "gave 6 replies in a row that could not be read (the last: no label)"
    other = Health(1, unreadable=5)
    for _ in range(3):
        other.note_unreadable("x", again=True)
    other.note_readable()
    for _ in range(4):
        other.note_unreadable("x", again=True)
    assert other.stopped is None


def test_call_failed_attributes():
    plain = CallFailed("fatal", "wrong key")
    assert (str(plain), plain.kind, plain.status, plain.wait, plain.starting) == ("wrong key", "fatal", 0, None, False)
    told = CallFailed("retry", "loading", status=503, wait=2.0, starting=True)
    assert (told.kind, told.status, told.wait, told.starting) == ("retry", 503, 2.0, True)
