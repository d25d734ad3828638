"""When things go wrong: lost parameters, poisoned items, dead keys, full disks, money, unreadable replies."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import suppress

import pytest
from chat_server import PRICE, QUICK, ChatServer, Say, StoppedClock, item_of, patient, rows

from assay.errors import JudgeError, StudyError
from assay.judging.dry_run import estimate_study, requests_of
from assay.judging.prompts import is_near
from assay.judging.run import Claims, judge_study
from assay.judging.services import client
from assay.judging.services.client import Bucket, Budget, Patience
from assay.judging.services.http import CallFailed, Completion, Request, failure, keepable, not_sent
from assay.reading import study_labels
from assay.study.schema import Judge, RateLimits
from assay.study.store.answers import latest_replies
from assay.study.store.connection import open_store

sa = pytest.importorskip("sqlalchemy")


def of_format(server, provider):
    """A judge of each wire format at a local server."""
    root = server.url.removesuffix("/v1")
    models = {"openai": "tiny", "anthropic": "claude-haiku-4-5", "google": "gemini-2.5-flash"}
    url = server.url if provider == "openai" else root
    return {"provider": provider, "model": models[provider], "base_url": url, "key": "TEST_KEY", "max_tokens": 700}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", "test-key-0123456789")


# -- what is sent is what is kept -------------------------------------------------------------------

PARAMS = {
    "openai": {"seed": 3, "top_p": 0.5},
    "anthropic": {"top_k": 5},
    "google": {"seed": 3, "topP": 0.5, "thinkingConfig": {"thinkingBudget": 128}},
}


def test_two_seconds_of_an_amount_a_minute_may_be_spent_at_once():
    now = [0.0]
    bucket = Bucket(60, clock=lambda: now[0])  # one a second
    assert [bucket.take(1), bucket.take(1), bucket.take(1)] == [0, 0, 1]
    now[0] = 1.5  # one was missing, half a one is left
    assert bucket.take(1) == 0.5
    now[0] = 60  # at most two are kept
    assert [bucket.take(2), bucket.take(0.5)] == [0, 0.5]
    bucket.correct(-0.5)
    assert bucket.take(0) == 0
    slow = Bucket(6, clock=lambda: 0.0)  # a single one may be spent, however few there are a minute
    assert [slow.take(1), slow.take(1)] == [0, 10]
    assert [Bucket(None).take(10**9), Bucket(None).take(1)] == [0, 0]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("provider", PARAMS)
def test_every_parameter_is_in_the_body_and_the_body_is_kept_as_it_was_sent(make_study, provider):
    with ChatServer() as server:
        judge = of_format(server, provider) | {"params": PARAMS[provider], "temperature": 0.5}
        study = make_study(2, judge=judge)
        assert judge_study(study).answered == 2
        assert study_labels(study).labels["label"].to_list() == [3, 3]
        bodies = server.requests
    for body in bodies:
        assert not_sent(Request("m", [], 0.5, 700, None, PARAMS[provider]), body) == []
    by_text = {json.dumps(body, sort_keys=True) for body in bodies}
    kept_bodies = {json.dumps(json.loads(body), sort_keys=True) for (body,) in rows(study, "select body from prompts")}
    assert kept_bodies == by_text
    assert rows(study, "select count(*) from answers join prompts using (fingerprint)") == [(2,)]


@pytest.mark.parametrize(
    ("provider", "judge", "lost"),
    [
        ("google", {"params": {"seed": 3, "num_ctx": 4096}}, "num_ctx"),
        ("openai", {"params": {"model": "another"}}, "model"),
        ("openai", {"params": {"stream": True}}, "stream"),
        ("openai", {"params": {"temperature": 1}, "temperature": 0}, "temperature"),
    ],
)
def test_judge_study_rejects_lost_parameters(make_study, provider, judge, lost):
    with ChatServer() as server:
        study = make_study(2, judge=of_format(server, provider) | judge)
        for way in (judge_study, estimate_study):
            with pytest.raises(JudgeError, match=rf"judge 'm1': {lost} would not reach .* nothing was sent"):
                way(study)
        assert server.count == 0
        assert not (study.folder / "study.db").exists(), "nothing is planned either"


def test_parameter_is_found_however_a_format_spells_it():
    body = {"generationConfig": {"thinkingConfig": {"thinking_budget": 5}, "seed": 3}, "messages": [{"seed": 4}]}
    wanted = {"seed": 3, "thinkingConfig": {"thinkingBudget": 5}}
    assert not_sent(Request("m", [], params=wanted), body) == []
    assert not_sent(Request("m", [], params=wanted | {"seed": 4, "top_k": 1}), body) == ["seed", "top_k"]
    assert not_sent(Request("m", [], 0.5, 9), body) == ["temperature", "max_tokens"]


def test_prompts_are_kept_once_and_images_by_their_digest(make_study):
    with ChatServer() as server:
        items = {"file": "items.csv", "images": ["photo"]}
        study = make_study(1, server.url, items=items, judge={"repeats": 3})
        (study.folder / "cat.png").write_bytes(b"\x89PNG" * 1000)
        (study.folder / "items.csv").write_text("item,text,photo\nq1,@q1@,cat.png\nq2,@q2@,cat.png\n")
        assert judge_study(study).answered == 6
    bodies = [body for (body,) in rows(study, "select body from prompts")]
    assert len(bodies) == 2
    assert all("sha256" in body and len(body) < 3000 for body in bodies)
    inline = {"parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}], "data": "is kept"}
    assert keepable(inline)["data"] == "is kept"
    assert keepable(inline)["parts"][0]["inlineData"]["data"].startswith("(sha256 ")


@pytest.mark.parametrize("provider", PARAMS)
def test_key_that_is_sent_within_a_prompt_is_not_readable_in_what_is_kept(make_study, provider):
    def script(n, body, server):
        return Say(status=400, error="no") if "@q00001@" in json.dumps(body) else Say()

    secret = "test-key-0123456789"
    with ChatServer(script) as server:
        study = make_study(2, judge=of_format(server, provider))
        (study.folder / "items.csv").write_text(f"item,text,doc\na,@q00000@ {secret},1\nb,@q00001@ {secret},2\n")
        assert (judge_study(study).answered, len(server.requests)) == (1, 2)
        assert all(secret in json.dumps(body) for body in server.requests), "the model gets every word"
    bodies = [body for (body,) in rows(study, "select body from prompts")]
    assert len(bodies) == 2
    assert all("***" in body and secret not in body for body in bodies)
    assert rows(study, "select count(*) from answers join prompts using (fingerprint)") == [(2,)]


@pytest.mark.slow
def test_estimate_writes_nothing(make_study, monkeypatch):
    with ChatServer() as server:
        study = make_study(2, server.url)
        assert requests_of(study)
        estimate_study(study)
        assert not (study.folder / "study.db").exists()

        def full(*_, **__):
            raise sa.exc.OperationalError("insert", None, sqlite3.OperationalError("database or disk is full"))

        monkeypatch.setattr("assay.judging.dry_run.plan_study", full)
        for way in (requests_of, estimate_study):
            with pytest.raises(StudyError, match=r"copying the store .*study\.db failed: database or disk is full"):
                way(study)
        assert server.count == 0


# -- items and keys ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("provider", PARAMS)
def test_one_poisoned_item_is_one_question_without_a_reply(make_study, provider):
    def script(n, body, server):
        text = json.dumps(body)
        return Say(status=403, error="flagged by moderation") if "@q00007@" in text else Say()

    with ChatServer(script) as server:
        study = make_study(200, judge=of_format(server, provider))
        done = judge_study(study, **QUICK)
        assert (done.answered, done.failed, done.left, done.stopped) == (199, 1, 1, None)
        assert done.reasons == {"m1: no reply: HTTP 403: flagged by moderation": 1}
        asked = server.count
        assert judge_study(study, **QUICK).failed == 1
        assert server.count == asked + 2, "the one again, and one about nothing"


@pytest.mark.parametrize("status", [400, 403, 404])
def test_many_poisoned_items_in_a_row_do_not_stop_the_judge(make_study, status):
    def script(n, body, server):
        return Say(status=status, error="no") if "q00000" <= item_of(body) < "q00015" else Say()

    with ChatServer(script) as server:
        study = make_study(30, server.url, limits={"concurrency": 1}, judge=PRICE)
        done = judge_study(study, **QUICK)
    assert (done.answered, done.failed, done.stopped) == (15, 15, None)
    # What the calls about nothing cost is in the run's cost, and in the store's.
    calls_about_nothing = sum("@" not in json.dumps(body) for body in server.requests)
    assert calls_about_nothing > 0
    assert done.cost == pytest.approx(0.0002 * (15 + calls_about_nothing))
    assert rows(study, "select sum(cost) from runs")[0][0] == pytest.approx(done.cost)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_dead_key_stops_its_own_judge_only(make_study, status):
    def script(n, body, server):
        return Say(status=status, error="no such key") if body["model"] == "dead" else Say()

    with ChatServer(script) as server:
        judges = [{"name": name, "model": name, "base_url": server.url} for name in ("dead", "live")]
        study = make_study(60, judges=judges)
        done = judge_study(study, **QUICK)
        asked = Counter(body["model"] for body in server.requests)
    assert (done.answered, done.failed, done.left) == (60, 0, 60)
    assert asked["dead"] <= 10 + 1
    assert f"judge 'dead' (dead at {server.url}) cannot be asked: HTTP {status}: no such key" in str(done.stopped)
    assert "live" not in str(done.stopped)
    assert "60 labels remaining; run it again" in done.summary()


def test_dead_key_costs_two_calls_where_money_is_counted(make_study):
    with ChatServer(lambda n, body, server: Say(status=401, error="no such key")) as server:
        study = make_study(60, server.url, judge=PRICE, limits={"concurrency": 20, "max_cost": 5})
        with pytest.raises(JudgeError, match="cannot be asked: HTTP 401"):
            judge_study(study, **QUICK)
        assert server.count == 2, "the first, which goes alone, and one about nothing"


def test_key_that_dies_in_mid_run_is_found_out_and_nothing_is_lost(make_study):
    def script(n, body, server):
        return Say() if n <= 25 else Say(status=401, error="expired")

    with ChatServer(script) as server:
        study = make_study(100, server.url)
        with pytest.raises(JudgeError, match="cannot be asked: HTTP 401: expired"):
            judge_study(study, **QUICK)
        assert server.count <= 25 + 10 + 1
    assert rows(study, "select status, count(*) from answers group by 1") == [("valid", 25)]
    assert rows(study, "select count(*) from assignments where status = 'open'") == [(75,)]


# -- unreadable replies -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 20])
def test_thirty_unreadable_replies_of_thirty_stop_the_judge_with_words(make_study, concurrency):
    with ChatServer(lambda n, body, server: Say("It depends on who reads it.")) as server:
        study = make_study(30, server.url, limits={"concurrency": concurrency})
        done = judge_study(study)
        assert server.count <= 20 + client.HOPELESS + client.UNREADABLE_TWICE
    assert re.search(r"gave 2\d replies in a row that could not be read \(the last: no label in ", str(done.stopped))
    assert f"assay study responses {study.folder} --missing" in str(done.stopped)
    with open_store(study) as store:
        found = latest_replies(store, unreadable=True)
    assert len(found) >= 10
    assert {row["reply"] for row in found} == {"It depends on who reads it."}


@pytest.mark.slow
def test_how_many_unreadable_replies_stop_a_judge_is_a_limit(make_study):
    with ChatServer(lambda n, body, server: Say("It depends on who reads it.")) as server:
        study = make_study(30, server.url, limits={"concurrency": 1})
        done = judge_study(study, **patient(unreadable=math.inf))
        assert (done.missing, done.stopped, server.count) == (30, None, 60)
        study = make_study(60, server.url, limits={"concurrency": 1})
        assert "gave 6 " in str(judge_study(study, **patient(unreadable=6)).stopped)
        assert server.count == 66


@pytest.mark.slow
def test_judge_that_needs_the_complaint_every_time_is_asked_to_the_end(make_study):
    def script(n, body, server):
        return Say("Hm." if len(body["messages"]) == 2 else '{"label": 2}')

    with ChatServer(script) as server:
        study = make_study(60, server.url, limits={"concurrency": 40})
        done = judge_study(study)
    assert (done.answered, done.reasked, done.stopped) == (60, 60, None)


@pytest.mark.slow
def test_missing_labels_are_listed_and_retried(make_study):
    said = {"q00001": "No idea.", "q00004": "I'm sorry, but I cannot help."}

    def script(n, body, server):
        return Say(said.get(item_of(body), '{"label": 4}'))

    with ChatServer(script) as server:
        study = make_study(6, server.url)
        assert judge_study(study).missing == 2
        with open_store(study) as store:
            found = latest_replies(store, unreadable=True)
            assert [(r["item"], r["reason"], r["reply"]) for r in found] == [
                ("q00001", "no label in the reply", "No idea."),
                ("q00004", "the model refused", "I'm sorry, but I cannot help."),
            ]
            assert "@q00001@" in json.loads(found[0]["prompt"])["messages"][1]["content"]
            assert len(latest_replies(store)) == 6
            assert [r["item"] for r in latest_replies(store, item="q00001")] == ["q00001"]
        study = make_study(8, server.url)
        del said["q00001"]
        before = server.count
        done = judge_study(study, retry="missing")
        assert [len(body["messages"]) for body in server.requests[before:]].count(2) == 2, "each from the start"
        assert {item_of(body) for body in server.requests[before:]} == {"q00001", "q00004"}
        assert (done.answered, done.missing, done.left) == (1, 1, 2), "new items are not asked"
        assert judge_study(study).answered == 2
    assert len(study_labels(study)) == 7


def test_unfinished_retry_stays_missing(make_study):
    with ChatServer(lambda n, body, server: Say("No idea.")) as server:
        study = make_study(8, server.url, judge=PRICE)
        judge_study(study)
        study = make_study(8, server.url, judge=PRICE, limits={"max_cost": 0.0001})
        assert judge_study(study, retry="missing").stopped is not None
        assert server.count == 16
    assert rows(study, "select status, count(*) from assignments group by 1") == [("missing", 8)]


# -- money and time ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_money_in_flight_is_reserved(make_study):
    with ChatServer(lambda n, body, server: Say(delay=0.02)) as server:
        study = make_study(100, server.url, judge=PRICE, limits={"concurrency": 20, "max_cost": 0.0031})
        done = judge_study(study)
        assert server.count == 15, "fifteen cost $0.0030, sixteen $0.0032"
    assert (
        "max_cost would be passed ($0.0030 of $0.0031 is spent, and the next call may cost $0.0002)" in done.summary()
    )
    assert rows(study, "select sum(cost) from runs")[0][0] <= 0.0031


def test_max_tokens_is_what_a_call_may_bring(make_study):
    with ChatServer() as server:
        judge = PRICE | {"max_tokens": 100}  # 100 tokens in and at most 100 out: at most $0.0011
        study = make_study(50, server.url, judge=judge, limits={"max_cost": 0.002})
        assert judge_study(study).stopped is not None
        assert server.count == 5, "after five, $0.0010 is spent and $0.0011 may be wanted"


PARTS = {"input": 1.0, "output": 10.0, "cached_input": 0.1, "cache_write": 1.25, "reasoning": 20.0}


@pytest.mark.parametrize(
    ("price", "counts", "dollars"),
    [
        (PARTS, (1000, 100, 600, 200, 40), 200 + 60 + 250 + 600 + 800),
        (PRICE["price"], (1000, 100, 600, 200, 40), 1000 + 1000),
        (PARTS, (1000, 100, None, None, None), 1000 + 1000),
        (PARTS, (1000, 100, 1500, 500, 300), 100 + 2000),  # a service that counts them in addition to the others
        (PARTS | {"cached_input": 0.0}, (1000, 0, 1000, 0, 0), 0),
        # Of a service that counts no tokens, by letters: 4 for a message, a quarter of 10 and 2 in, of 9 out.
        (PRICE["price"], (None, None, None, None, None), 7 + 10 * 3),
        (PRICE["price"], (None, 100, None, None, None), 7 + 1000),
    ],
)
def test_tokens_of_a_cache_and_of_reasoning_cost_what_they_cost(price, counts, dollars):
    judge = Judge.model_validate({"name": "a", "price": price})
    names = ("tokens_in", "tokens_out", "cached_in", "written_in", "reasoning_out")
    reply = Completion("labels: 3", **dict(zip(names, counts, strict=True)))
    request = Request("m", [{"role": "user", "content": "ten signs."}])
    assert client.cost_of(client.pricer(judge), request, reply) == pytest.approx(dollars / 1e6)
    assert client.cost_of(None, request, reply) is None
    budget = Budget(1.0, {"a": judge}, {"a": client.pricer(judge)})
    budget.learn("a", request, reply)
    assert budget.may_cost("a", request, alone=True) >= dollars / 1e6, "no call costs more than was kept for it"


def test_known_prices_are_those_of_one_call_and_of_its_cache():
    judge = Judge.model_validate({"name": "a", "provider": "anthropic", "model": "claude-sonnet-4-5"})
    price = client.pricer(judge)
    assert price(1000, 10) == pytest.approx(0.003 + 0.00015)
    assert price(1000, 0, cached=1000) == pytest.approx(0.0003)
    assert price(1000, 0, written=1000) == pytest.approx(0.00375)
    assert price(1_000_000, 0) > 1000 * price(1000, 0), "a long prompt costs more a token, many short ones do not"


@pytest.mark.slow
def test_dry_run_prices_calls_one_by_one(make_study, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 20)
    study = make_study(2000, judge={"provider": "anthropic", "model": "claude-sonnet-4-5", "base_url": None})
    (found,) = estimate_study(study).judges
    assert found.tokens_in > 250_000
    assert found.cost == pytest.approx((3 * found.tokens_in + 15 * found.tokens_out) / 1e6, rel=0.01)


def dear(tokens_in, tokens_out, *, cached=0, written=0, reasoning=0):
    """1 a token in and 2 more where it is written to a cache; 1000 a token out and 500 more for reasoning."""
    return tokens_in + 2 * written + 1000 * tokens_out + 500 * reasoning


def discount(tokens_in, tokens_out, *, cached=0, written=0, reasoning=0):
    return tokens_in + 1000 * tokens_out - written - 500 * reasoning


def letters(n):
    """A request of n letters: 4 tokens for its message and a token for each 4 letters, with 2 for no schema."""
    return Request("m", [{"role": "user", "content": "x" * n}])


@pytest.mark.parametrize(
    ("price", "most_tokens", "replies", "alone", "together"),
    [
        (dear, None, [], 104 * 3, 104 * 3),  # nothing is known: 4 + 400 / 4 tokens, and no reply yet
        (dear, 7, [], 312 + 7 * 1500, 312 + 7 * 1500),
        (dear, None, [(208, 5)], 208 * 3 + 5 * 1500, 208 * 3 + 10 * 1500),  # twice as many in; the longest, or twice it
        (dear, 7, [(208, 5)], 624 + 7 * 1500, 624 + 7 * 1500),
        (dear, None, [(208, 5), (52, 9)], 624 + 9 * 1500, 624 + 18 * 1500),  # the most of each so far
        (dear, None, [(52, 5)], 52 * 3 + 5 * 1500, 52 * 3 + 10 * 1500),
        (discount, None, [(104, 5)], 104 + 5000, 104 + 10000),  # where a cache is cheaper, the plain price is kept
        (None, 7, [(104, 5)], 0, 0),
    ],
)
def test_budget_reserve_by_hand(price, most_tokens, replies, alone, together):
    judges = {"a": Judge(name="a", model="m", max_tokens=most_tokens), "b": Judge(name="b", model="m")}
    budget = Budget(1e6, judges, {"a": price, "b": dear})
    for tokens_in, tokens_out in replies:
        budget.learn("a", letters(398), Completion("x", tokens_in=tokens_in, tokens_out=tokens_out))
    assert budget.may_cost("a", letters(398), alone=True) == alone
    assert budget.may_cost("a", letters(398), alone=False) == together
    assert budget.may_cost("b", letters(398), alone=True) == 312, "what one judge brings says nothing about another"


def test_without_a_limit_of_money_nothing_is_kept_and_nothing_learnt():
    budget = Budget(None, {"a": Judge(name="a", model="m")}, {"a": dear})
    budget.learn("a", letters(398), Completion("x", tokens_in=208, tokens_out=5))
    assert budget.may_cost("a", letters(398), alone=True) == 312
    assert asyncio.run(budget.place("a", letters(398), asyncio.Event())) == client.Reservation(0.0, "a")
    budget.spent = 1e9
    assert not budget.is_spent


@pytest.mark.parametrize(
    ("spent", "is_spent", "fits"),
    [(0.0, False, True), (688.0, False, True), (688.001, False, False), (999.999, False, False), (1000.0, True, False)],
)
def test_call_is_made_where_the_most_that_it_may_cost_is_left(spent, is_spent, fits):
    budget = Budget(1000.0, {"a": Judge(name="a", model="m")}, {"a": dear})
    budget.spent = spent
    assert budget.is_spent == is_spent
    placed = asyncio.run(budget.place("a", letters(398), asyncio.Event()))
    assert placed == (client.Reservation(312.0, "a") if fits else None)
    stopping = asyncio.Event()
    stopping.set()
    assert asyncio.run(budget.place("a", letters(398), stopping)) is None


def test_budget_reserves_calls_in_flight():
    async def go():
        budget = Budget(1000.0, {"a": Judge(name="a", model="m")}, {"a": dear})
        budget.learn("a", letters(398), Completion("x", tokens_in=104, tokens_out=0))
        stopping = asyncio.Event()
        flying = [await budget.place("a", letters(398), stopping) for _ in range(3)]  # 936 of 1000
        fourth = asyncio.ensure_future(budget.place("a", letters(398), stopping))
        await asyncio.sleep(0)
        assert not fourth.done()
        budget.spent = 300.0
        budget.home(flying[0])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not fourth.done(), "300 are spent, and 624 in flight: 76 are left"
        budget.home(flying[1])
        assert (await asyncio.wait_for(fourth, 5)).amount == 312

    asyncio.run(go())


class Scripted:
    """A provider with scripted responses, in order."""

    def __init__(self, *replies):
        self.replies = list(replies)

    async def complete(self, request):
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def endpoint(told=None, tries=3, loading=0, clock=None, **limits):
    stopping = asyncio.Event()
    tell = (lambda words: None) if told is None else told.append
    patience = Patience(tries=tries, loading=loading, clock=clock or StoppedClock())
    own = RateLimits(**{"concurrency": 4} | limits)
    return client.Endpoint(own, stopping=stopping, where="x.org", tell=tell, patience=patience)


@pytest.fixture
def drawn(monkeypatch):
    """Where in its range every wait falls, from 0 to 1."""
    found = [1.0]
    monkeypatch.setattr(client.random, "uniform", lambda low, high: low + found[0] * (high - low))
    return found


@pytest.mark.parametrize(
    ("reply", "wait"),
    [
        # 6,000 a minute are 100 a second, of which two seconds may be used at once: 200. The next call takes 104.
        (Completion("x", tokens_in=110, tokens_out=40), (104 - (200 - 150)) / 100),
        (Completion("x", tokens_in=150), (104 - (200 - 150)) / 100),
        (Completion("x"), (104 - (200 - 104)) / 100),  # what was expected, as none were said
    ],
)
def test_tokens_of_a_reply_are_taken_off_what_may_be_used_a_minute(reply, wait):
    async def waits(**limits):
        clock = StoppedClock()
        found = endpoint(clock=clock, **limits)
        for _ in range(2):
            await found.call(Scripted(reply), letters(398))
        return clock.waits

    assert asyncio.run(waits(tokens_per_minute=6000)) == pytest.approx([wait])
    assert asyncio.run(waits()) == []


def test_call_is_tried_as_often_as_the_limits_say(drawn):
    clock = StoppedClock()
    busy, good = CallFailed("retry", "busy", status=503), Completion("x")
    assert asyncio.run(endpoint(clock=clock).call(Scripted(busy, busy, good), letters(1)))[0] is good
    assert clock.waits == [0.5, 1.0]  # ever longer
    with pytest.raises(CallFailed, match="the third"):
        asyncio.run(endpoint().call(Scripted(busy, busy, CallFailed("retry", "the third"), good), letters(1)))
    with pytest.raises(CallFailed, match="no such model"):
        asyncio.run(endpoint().call(Scripted(CallFailed("fatal", "no such model", status=404), good), letters(1)))


@pytest.mark.parametrize(("where", "most"), [(0.0, 0.5), (1.0, 1.0)])
def test_how_long_is_waited_before_the_next_try(drawn, where, most):
    drawn[0], clock = where, StoppedClock()
    plain = [CallFailed("retry", "no route")] * 20
    asyncio.run(endpoint(tries=21, clock=clock).call(Scripted(*plain, Completion("x")), letters(1)))
    # Half to all of half a second, doubled each time, a minute at most.
    assert clock.waits == [min(60, 0.5 * 2**number) * most for number in range(20)]


def test_half_as_many_calls_are_in_flight_where_a_service_is_busy():
    seen = []

    class Watched(Scripted):
        async def complete(self, request):
            seen.append(found.gate.limit)
            return await super().complete(request)

    found = endpoint(tries=9)
    replies = [CallFailed("retry", "busy", status=status) for status in (0, 429, 503, 529, 500)]
    asyncio.run(found.call(Watched(*replies, Completion("x")), letters(1)))
    assert seen == [4, 4, 2, 1, 1, 1]


def test_wait_that_a_service_asks_for_is_reported_once(drawn):
    told, clock = [], StoppedClock()
    replies = [CallFailed("retry", "slow down", wait=wait) for wait in (9.9, 120, 129.9, 60, 139.9)]
    asyncio.run(endpoint(told, tries=6, clock=clock).call(Scripted(*replies, Completion("x")), letters(1)))
    # Each wait has a tenth of .5 more; and the clock does not run, so the longest of them is to be waited for again.
    assert clock.waits == pytest.approx([9.95, 9.9, 120.05, 120, 129.95, 129.9, 60.05, 129.9, 139.95, 139.9])
    # Neither 9.9 s, which is short, nor 129.9 and 60 s, which add little to 120 s, is reported.
    assert told == [
        f"x.org asks to wait 2 min {seconds} s (slow down); the run waits. Press Ctrl-C to stop: answers are kept, and "
        "the next run continues"
        for seconds in (0, 20)
    ]


def test_service_that_loads_its_model_is_waited_for_so_long_and_once(drawn):
    starting, busy = CallFailed("retry", "refused", starting=True), CallFailed("retry", "busy", status=503)

    def waits(*replies, stop=False, **ways):
        told, clock = [], StoppedClock(moves=True)
        found = endpoint(told, clock=clock, **ways)
        if stop:
            found.stopping.set()
        with suppress(CallFailed):
            asyncio.run(found.call(Scripted(*replies), letters(1)))
        return clock.waits, told

    loading = (
        "x.org does not accept calls yet (refused). If it is loading its model, the run continues afterwards; it waits "
        "at most 1 min 30 s. Press Ctrl-C to stop"
    )
    assert waits(*[starting] * 99, loading=90, tries=1) == ([2.0] * 45, [loading])
    assert waits(*[starting] * 99, loading=0, tries=1) == ([], [])
    assert waits(busy, *[starting] * 99, loading=90) == ([0.5, 1.0], []), "it has answered that it is busy"
    replies = [CallFailed("retry", "refused", status=503, starting=True), starting, CallFailed("fatal", "no")]
    assert waits(*replies, loading=90) == ([2.0, 2.0], [loading])
    assert waits(starting, loading=90, stop=True) == ([], [])


def test_first_call_of_each_judge_flies_alone():
    async def go():
        judges = {name: Judge.model_validate({"name": name, **PRICE}) for name in "ab"}
        budget = Budget(1.0, judges, {name: client.pricer(judge) for name, judge in judges.items()})
        request, stopping = Request("m", [{"role": "user", "content": "x"}]), asyncio.Event()
        first = await budget.place("a", request, stopping)
        others = [asyncio.ensure_future(budget.place(name, request, stopping)) for name in "aab"]
        await asyncio.sleep(0)
        assert not any(other.done() for other in others)
        budget.learn("a", request, Completion("x", tokens_in=100, tokens_out=10))
        budget.home(first)
        _, waiting = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
        assert len(waiting) < 3
        for place in [other.result() for other in others if other.done()]:
            budget.home(place)
        budget.learn("b", request, Completion("x", tokens_in=100, tokens_out=10))
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for other in done:
                budget.home(other.result())

    asyncio.run(asyncio.wait_for(go(), 20))


def test_long_wait_is_said(make_study):
    told = []
    with ChatServer(
        lambda n, b, server: Say(status=429, headers={"Retry-After": "3600"}) if n <= 5 else Say()
    ) as server:
        study = make_study(5, server.url, limits={"concurrency": 5})
        assert judge_study(study, tell=told.append, **patient(clock=StoppedClock())).answered == 5
    assert len(told) == 1, "once, not for each call in flight"
    assert told[0].startswith(f"{server.url} asks to wait 1 h 0 min (HTTP 429: scripted); the run waits")


# -- a store that fails -----------------------------------------------------------------------------


@pytest.fixture
def small_disk():
    """Databases that take so many pages: as on a disk that is full."""

    def settle(connection, _record):
        if isinstance(connection, sqlite3.Connection):
            connection.execute("pragma max_page_count=70")

    sa.event.listen(sa.pool.Pool, "connect", settle)
    yield
    sa.event.remove(sa.pool.Pool, "connect", settle)


@pytest.mark.slow
def test_full_disk_is_said_in_one_line(make_study, small_disk, caplog):
    with ChatServer(lambda n, b, server: Say('{"label": 3}' + " " * 2000)) as server:
        study = make_study(300, server.url)
        with pytest.raises(StudyError, match=r"the store .*study\.db failed: database or disk is full\. Its earlier"):
            judge_study(study)
        assert 0 < rows(study, "select count(*) from answers")[0][0] < 300
    assert caplog.text.count("Traceback") == 0


def test_full_disk_at_the_command_line(make_study, small_disk, capfd):
    from assay.cli.app import main

    with ChatServer(lambda n, b, server: Say('{"label": 3}' + " " * 2000)) as server:
        study = make_study(300, server.url)
        with pytest.raises(SystemExit) as ended:
            main(["judge", str(study.folder)])
    out, err = capfd.readouterr()
    assert (ended.value.code, out, len(err.splitlines())) == (2, "", 1)
    assert "mistake of assay" not in err


def test_file_of_replies_that_cannot_be_written_stops_the_run_and_the_store_has_the_reply(make_study):
    with ChatServer() as server:
        study = make_study(50, server.url, limits={"concurrency": 2})
        with pytest.raises(StudyError, match=r"/dev/full cannot be written \(No space left on device\)"):
            judge_study(study, record="/dev/full")
        assert rows(study, "select count(*) from answers")[0][0] == server.count <= 2


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_postgresql_that_stops_in_mid_run_is_said_in_one_line(make_study, url, caplog, capfd):
    where = sa.make_url(url).set(drivername="postgresql+psycopg", database="postgres")
    root = sa.create_engine(where, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    name = sa.make_url(url).database

    def close_down(n, body, server):
        if n == 30:
            with root.connect() as db:
                db.execute(sa.text(f"alter database {name} allow_connections false"))
                db.execute(sa.text(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"))
        return Say()

    with ChatServer(close_down) as server:
        study = make_study(200, server.url)
        words = r"the store postgresql.* failed: .* run the command again to continue"
        with pytest.raises(StudyError, match=words) as caught:
            judge_study(study, store=url)
        assert "\n" not in str(caught.value)
        with root.connect() as db:
            db.execute(sa.text(f"alter database {name} allow_connections true"))
        server.script = lambda n, body, server: Say()
        done = judge_study(study, store=url)
    # What the run that failed had claimed is its own until its process, which is this one, has gone.
    assert 100 < done.answered < 200
    assert done.left == 0
    assert "Traceback" not in caplog.text + capfd.readouterr().err


def test_claims_come_ahead_and_end_with_what_went_wrong():
    async def go(*batches):
        asked = []

        def claim():
            future = asyncio.get_running_loop().create_future()
            found = batches[len(asked)]
            asked.append(found)
            asyncio.get_running_loop().call_soon(
                *((future.cancel,) if found is None else (future.set_exception, found)
                  if isinstance(found, Exception) else (future.set_result, found))
            )  # fmt: skip
            return future

        claims, given = Claims(claim, batch=2), []
        try:
            while (one := await claims.next()) is not None:
                given.append(one)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        except (OSError, asyncio.CancelledError) as error:
            given.append(type(error))
        return given, len(asked)

    assert asyncio.run(go([1, 2], [3], [])) == ([1, 2, 3], 3)
    assert asyncio.run(go([])) == ([], 1)
    assert asyncio.run(go([1, 2], OSError(), [3])) == ([1, 2, OSError], 2), "what was there is asked first"
    assert asyncio.run(go([1, 2], None, [3])) == ([1, 2, asyncio.CancelledError], 2)


def test_claims_that_arrive_early_are_used(monkeypatch):
    turns, shield = itertools.count(), asyncio.shield

    def counted(future):  # who awaits what is done already never lets the loop go on
        assert next(turns) < 100
        return shield(future)

    monkeypatch.setattr(asyncio, "shield", counted)

    async def go():
        first = asyncio.get_running_loop().create_future()
        coming = iter([first])
        claims = Claims(lambda: next(coming, None) or done([]), batch=2)
        waiting = asyncio.ensure_future(claims.next())
        await asyncio.sleep(0)
        first.set_result(["one"])
        assert await claims.next() == "one", "its arrival is said to the loop only after this"
        assert await waiting is None

    def done(found):
        future = asyncio.get_running_loop().create_future()
        future.set_result(found)
        return future

    asyncio.run(asyncio.wait_for(go(), 20))


# -- what would be sent -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("provider", PARAMS)
def test_show_equals_the_request(make_study, monkeypatch, provider):
    monkeypatch.delenv("TEST_KEY")
    with ChatServer() as server:
        judge = of_format(server, provider) | {"params": PARAMS[provider], "repeats": 2}
        study = make_study(3, judge=judge, conditions={"temperature": [0, 1]})
        shown = requests_of(study, "q00001")
        first = requests_of(study)
        assert server.count == 0
        monkeypatch.setenv("TEST_KEY", "test-key-0123456789")
        assert judge_study(study).answered == 12
    assert [(s.item, s.condition, s.times) for s in shown] == [
        ("q00001", {"temperature": 0}, 2),
        ("q00001", {"temperature": 1}, 2),
    ]
    assert {s.item for s in first} == {"q00000"}
    sent = [body for body in server.requests if "@q00001@" in json.dumps(body)]
    for one in shown:
        assert sent.count(one.body) == 2
        assert str(one).startswith("# judge m1, question quality, item q00001, temperature ")
        assert f"POST http://127.0.0.1:{server.port}/" in str(one)
        assert "test-key" not in str(one)
    with pytest.raises(StudyError, match="item 'q99' is not in the study"):
        requests_of(study, "q99")


@pytest.mark.slow
def test_terminal_output_is_escaped(make_study, run):
    """In a separate process what goes through the log; in this one the commands that only print."""
    steering = "\x1b]0;pwned\x07\x1b[2J\x9b1m\u202e[red]4[/red]"
    shown = r"\u001b]0;pwned\u0007\u001b[2J\u009b1m\u202e[red]4[/red]"

    def alone(*words):
        done = subprocess.run([sys.executable, "-m", "assay", *words], capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout, done.stderr

    def assay(*words, by=run):
        _, out, err = by(*words)
        text = (out + err).replace("\n", "").replace("\t", "")
        assert [one for one in text if ord(one) < 32 or 127 <= ord(one) < 160 or one == "\u202e"] == []
        return out + err

    def script(n, body, server):
        return Say(steering) if item_of(body) == "q00000" else Say(status=400, error=steering)

    with ChatServer(script) as server:
        folder = str(make_study(2, server.url).folder)
        refusals = assay("judge", folder, "--verbose", by=alone).count(f"no reply: HTTP 400: {shown}")
        assert refusals == 2, "in the log and below it"
        assert f"\n    {shown}\n" in assay("study", "responses", folder)
        assert shown in assay("study", "responses", folder, "--prompts")
        (reply,) = json.loads(assay("study", "responses", folder, "q00000", "--json"))
        assert reply["reply"] == steering, "the exact text"
        with ChatServer(lambda n, body, server: Say(status=401, error=steering)) as closed:
            study = make_study(2, closed.url)
            assert shown in assay("judge", folder, "--new-version")
            with pytest.raises(JudgeError) as refused:
                judge_study(study)
        assert shown in str(refused.value)


def test_show_replies_and_retry_at_the_command_line(make_study, capsys):
    from assay.cli.app import main

    def assay(*words):
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code, *capsys.readouterr()

    with ChatServer(lambda n, b, server: Say("No idea.\nNone.")) as server:
        folder = str(make_study(2, server.url).folder)
        code, out, err = assay("judge", folder, "--show", "q00001")
        assert (code, err, server.count) == (0, "", 0)
        assert "\n    text: text @q00001@\n" in out
        code, out, err = assay("judge", folder, "q00001")
        assert (code, out) == (2, "")
        assert f"assay judge {folder} q00001 --show" in err
        assert assay("judge", folder)[0] == 1, "no question was answered"
        code, out, err = assay("study", "responses", folder, "--missing")
        assert out.startswith("m1, q00000, quality: no label in the reply\n    No idea.\n    None.\n")
        assert err == "2 unparseable responses\n"
        rest = json.loads(assay("study", "responses", folder, "--json", "--prompts")[1])
        assert [row["reply"] for row in rest] == ["No idea.\nNone."] * 2
        assert json.loads(rest[0]["prompt"])["model"] == "tiny"
        server.script = lambda n, b, server: Say()
        assert "2 of 2 labels collected" in assay("judge", folder, "--retry", "missing")[1]
        assert assay("study", "responses", folder, "--missing") == (0, "", "0 unparseable responses\n")
        assert assay("study", "responses", folder, "--missing", "--csv")[1].startswith("annotator,item,criterion,")
        for words in (("--only", "m2"), ("q99",)):
            code, out, err = assay("study", "responses", folder, *words)
            assert (code, out, len(err.splitlines())) == (2, "", 1)


# -- what services are sent, and what they say -----------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-mini", "max_tokens"), ("gpt-5", "max_completion_tokens"), ("llama3.1", "max_tokens"),
        ("o3", "max_completion_tokens"), ("azure/o4-mini", "max_completion_tokens"),
        ("openai/gpt-5-mini", "max_completion_tokens"),
        ("gpt-50x", "max_tokens"), ("open-mixtral", "max_tokens"), ("o1x", "max_tokens"),
    ],
)  # fmt: skip
def test_limit_has_the_name_that_the_model_knows_wherever_it_is(make_study, model, name):
    with ChatServer() as server:
        judge_study(make_study(1, server.url, judge={"model": model, "max_tokens": 50}))
        (body,) = server.requests
    assert body[name] == 50
    assert not {"max_tokens", "max_completion_tokens"} - {name} & set(body)


@pytest.mark.slow
@pytest.mark.parametrize("known", ["max_tokens", "max_completion_tokens"])
def test_model_that_refuses_the_name_of_the_limit_is_asked_with_the_other(make_study, known):
    def script(n, body, server):
        other = next(one for one in ("max_tokens", "max_completion_tokens") if one != known)
        return Say(status=400, error=f"Unsupported parameter: '{other}'. Use '{known}'.") if other in body else Say()

    model = "house-model" if known == "max_completion_tokens" else "gpt-5-house"
    with ChatServer(script) as server:
        study = make_study(12, server.url, judge={"model": model, "max_tokens": 50}, limits={"concurrency": 1})
        assert judge_study(study).answered == 12
        assert server.count == 13, "found out once"


REFUSALS = {
    "max_tokens": ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    "form": ("response_format", "response_format json_schema is not supported"),
}


@pytest.mark.slow
@pytest.mark.parametrize("refused", [("max_tokens",), ("form",), ("max_tokens", "form")])
def test_judge_study_sends_each_refused_call_in_flight_again(make_study, refused):
    # 20 of 60 are in flight before the first refusal comes: each of them is sent again, once for each thing refused.
    def script(n, body, server):
        for parameter, words in (REFUSALS[one] for one in refused):
            if parameter in body:
                return Say(status=400, error=words, until=lambda: server.count >= 20)
        return Say()

    with ChatServer(script) as server:
        limits = {"concurrency": 20}
        done = judge_study(make_study(60, server.url, judge={"max_tokens": 50}, limits=limits), **QUICK)
        assert (done.answered, done.failed, done.left) == (60, 0, 0)
        assert server.count == 60 + 20 * len(refused)
        assert set(server.answered.values()) == {1}, "none is answered, and paid for, twice"


@pytest.mark.slow
def test_judge_study_gives_up_a_call_that_is_refused_with_either_name(make_study):
    # The item is too long for its limit, which the service says with both names: one item fails, the name stays.
    def script(n, body, server):
        if item_of(body) == "q00001":
            return Say(status=400, error="max_tokens or max_completion_tokens is too large")
        return Say()

    with ChatServer(script) as server:
        study = make_study(6, server.url, judge={"max_tokens": 50}, limits={"concurrency": 1})
        done = judge_study(study, **QUICK)
        assert (done.answered, done.failed) == (5, 1)
        assert server.count == 7
        assert all("max_tokens" in body for body in server.requests if item_of(body) != "q00001")


def test_parameter_that_a_model_does_not_take_is_said_with_what_to_do(make_study):
    words = "Unsupported value: 'temperature' does not support 0 with this model."
    with ChatServer(lambda n, body, server: Say(status=400, error=words)) as server:
        done = judge_study(make_study(2, server.url, judge={"temperature": 0}))
    assert "this model does not take temperature: take it out of the judge" in " ".join(done.reasons)
    said = str(failure(400, "Unsupported parameter: 'top_logprobs' is not supported with this model.", None, None))
    assert "this model does not take top_logprobs: take score out of the judge" in said


@pytest.mark.slow
def test_one_label_is_not_given_the_room_of_a_book(make_study):
    with ChatServer() as server:
        judge = of_format(server, "anthropic") | {"max_tokens": None}
        for strategy, most in (("zero-shot", 512), ("chain-of-thought", 8192)):
            assert judge_study(make_study(1, judge=judge | {"strategy": strategy}), changed="new-version").answered == 1
            assert server.requests[-1]["max_tokens"] == most
            assert not server.requests[-1].get("stream")
        judge |= {"strategy": "zero-shot", "max_tokens": 7}
        assert judge_study(make_study(1, judge=judge)).answered == 0, "where a reply is cut off is no part of a request"


@pytest.mark.slow
def test_nothing_answered_is_no_success(make_study, capsys):
    from assay.cli.app import main

    with ChatServer(lambda n, b, server: Say(status=400)) as server:
        folder = str(make_study(3, server.url).folder)
        for status, code in ((400, 1), (200, 0), (200, 0)):
            server.script = lambda n, b, server, status=status: Say(status=status)
            with pytest.raises(SystemExit) as ended:
                main(["judge", folder])
            assert ended.value.code == code, capsys.readouterr().out


# -- servers that still load their model ------------------------------------------------------------------


@pytest.mark.slow
def test_server_that_loads_its_model_is_waited_for_and_that_is_said(make_study):
    told = []
    loading = Say(status=503, error="Loading model")
    with ChatServer(lambda n, body, server: loading if n <= 30 else Say()) as server:
        study = make_study(3, server.url, limits={"concurrency": 2})
        done = judge_study(study, **patient(tries=2, first_wait=0.001, loading=60), tell=told.append)
    assert (done.answered, done.failed) == (3, 0)
    (words,) = told
    assert "does not accept calls yet (HTTP 503: Loading model). If it is loading its model, the run continues" in words
    assert "it waits at most 1 min 0 s" in words


@pytest.mark.slow
def test_server_that_never_comes_is_given_up_after_the_wait(make_study):
    told = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    study = make_study(20, f"http://127.0.0.1:{port}/v1")
    with pytest.raises(JudgeError, match="cannot be asked: the connection broke"):
        judge_study(study, **patient(tries=2, first_wait=0.01, loading=1.5), tell=told.append)
    assert len(told) == 1
    assert "does not accept calls yet (the connection broke" in told[0]


def test_server_that_is_busy_and_loads_nothing_is_tried_as_often_as_before(make_study):
    told = []
    with ChatServer(lambda n, body, server: Say(status=503, error="overloaded")) as server:
        study = make_study(1, server.url, limits={"concurrency": 1})
        done = judge_study(study, **patient(tries=3, first_wait=0.001, loading=60), tell=told.append)
        assert done.failed == 1
        assert server.count == 3
    assert not told


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://localhost:8000/v1", True), ("http://127.0.0.1/v1", True), ("http://192.168.3.4:11434/v1", True),
        ("http://vllm:8000/v1", True), ("http://gpu.local/v1", True), ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False), ("http://169.254.169.254/latest", True), ("http://[::1]:8500/", True),
        ("http://2130706433/", True), ("http://127.1/", True), ("http://[::ffff:10.0.0.1]/", True),
        ("http://user@127.0.0.1:80@evil.example/", False), ("http://localhost./", True), ("http://0/", True),
    ],
)  # fmt: skip
def test_which_servers_are_near(url, near):
    assert is_near(url) is near


# -- a store elsewhere, for all commands that read a study -------------------------------------------------


def test_store_elsewhere_is_read_by_every_command_that_reads_a_study(make_study, capsys, tmp_path):
    from assay.cli.app import main

    def assay(*words):
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code, *capsys.readouterr()

    with ChatServer(lambda n, b, s: Say(json.dumps({"label": 1 + int(item_of(b)[1:]) % 5}))) as server:
        judges = [{"name": n, "model": n, "base_url": server.url} for n in ("m1", "m2")]
        study = make_study(20, server.url, judges=judges)
        folder, elsewhere = str(study.folder), str(tmp_path / "elsewhere.db")
        code, _, err = assay("judge", folder, "--store", elsewhere)
        assert code == 0
        assert f"the labels are in {elsewhere}, which study.yaml does not name: give --store" in " ".join(err.split())
        assert not (study.folder / "study.db").exists()
        code, _, err = assay("agreement", folder, "--json")
        assert code == 2
        assert "if the judges ran with --store, repeat it here" in " ".join(err.split())
        (study.folder / "study.db").unlink(missing_ok=True)
        for command in ("agreement", "disagreement"):
            code, _, err = assay(command, folder, "--store", elsewhere)
            assert (code, "holds no label" in err) == (0, False), (command, err)
            assert not (study.folder / "study.db").exists(), command
        table = str(tmp_path / "t.csv")
        assert assay("export", folder, table, "--store", elsewhere)[0] == 0
        code, _, err = assay("agreement", table, "--store", elsewhere)
        assert code == 2
        assert "--store names the database of a study" in " ".join(err.split())


def test_service_that_loads_is_asked_again_every_two_seconds_and_no_try_is_counted():
    clock = StoppedClock(moves=True)
    starting, good = CallFailed("retry", "refused", starting=True), Completion("x")
    found = endpoint(loading=90, tries=1, clock=clock)
    assert asyncio.run(found.call(Scripted(starting, starting, starting, good), letters(1))) == (good, 0.0)
    assert clock.waits == [2.0, 2.0, 2.0]  # four times the first wait of half a second


def test_fewer_calls_are_in_flight_once_it_is_busy_and_slowly_more():
    gate = client.Gate(4, clock=lambda: 10.0)
    gate.was_busy(5.0)
    assert gate.limit == 2
    gate.was_busy(9.9)
    assert gate.limit == 2, "that call began before it was halved"
    # One more after as many good calls as there are places: 2, 2.5, 2.9, and 4 are never passed.
    limits = []
    for _ in range(2):
        gate.went_well()
        limits.append(gate.limit)
    assert limits == pytest.approx([2.5, 2.9])
    for _ in range(9):
        gate.went_well()
    assert gate.limit == 4
    for wanted in (2.0, 1.0, 1.0):
        gate.was_busy(10.0)
        assert gate.limit == wanted


@pytest.mark.parametrize(("seconds", "stops", "waited"), [(0.0, False, []), (-1.0, False, []), (0.5, False, [0.5]),
                                                          (2.0, False, [2.0]), (0.5, True, [])])  # fmt: skip
def test_wait_ends_when_its_time_is_over_or_the_run_stops(seconds, stops, waited, monkeypatch):
    asked = []

    async def wait_for(what, most):
        what.close()
        asked.append(most)
        raise TimeoutError

    async def go():
        stopping = asyncio.Event()
        if stops:
            stopping.set()
        await client.Clock().wait(seconds, stopping)

    monkeypatch.setattr(client.asyncio, "wait_for", wait_for)
    asyncio.run(go())
    assert asked == waited
