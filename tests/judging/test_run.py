"""Runs against a real server on loopback: faults, limits, keys, money, resuming, several at once."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from chat_server import PRICE, QUICK, ChatServer, Say, StoppedClock, faults, item_of, patient, rows
from own_process import ask, ask_without_posix, start

from assay.errors import JudgeError, StudyError
from assay.judging import run as run_module
from assay.judging.dry_run import estimate_study
from assay.judging.plan import plan_study
from assay.judging.run import judge_study
from assay.judging.services.client import Clock
from assay.judging.services.http import Completion, Sent
from assay.reading import study_labels
from assay.study.definition import load_study
from assay.study.schema import Question
from assay.study.store import work
from assay.study.store.answers import Answer, add_answer, history
from assay.study.store.connection import open_store
from assay.study.store.table import stored_annotations
from waiting import wait_until


def test_progress_by_hand():
    """15 of 60 in 5 s are 3 a second; the other 45 take 15 s more."""
    progress = run_module.Progress(done=15, total=60, missing=2, cost=0.12345, seconds=5.0)
    assert progress.rate == 3.0
    assert progress.seconds_left == 15.0
    assert str(progress) == "15/60 questions, 3.0/s, $0.1235, 15.0 s left"
    assert run_module.Progress(15, 60, 0, 0.0, 0.5).rate == 30.0
    first = run_module.Progress(done=0, total=60, missing=0, cost=0.0, seconds=0.0)
    assert (first.rate, first.seconds_left) == (0.0, None)
    assert str(first) == "0/60 questions, 0.0/s, $0.0000"


@pytest.mark.parametrize(
    ("answer", "unread", "noted"),
    [
        (Answer("valid", 3), None, "readable"),
        (Answer("missing", reason="left to people: sure 0.5 is below 0.8 (r.json)"), None, "readable"),
        (Answer("unreadable", reason="no label in the reply"), None, ("no label in the reply", False)),
        (Answer("missing", reason="the model refused"), ("Hm.", "no label"), ("the model refused", True)),
        (Answer("unreadable"), None, ("", False)),
    ],
)
def test_health_counts_responses(monkeypatch, answer, unread, noted):
    """One that could be read, and does not count, is no sign against the judge."""
    found, learnt = [], []

    async def call(provider, request):
        return Completion("x", cached_in=7, reasoning_out=None, sent=None), 0.123456

    async def sent(request):
        return Sent({"model": "tiny"})

    health = SimpleNamespace(
        note_reply=lambda: found.append("reply"),
        note_readable=lambda: found.append("readable"),
        note_unreadable=lambda reason, *, again: found.append((reason, again)),
    )
    built = []

    def build(claim, request, completion, about):
        built.append(about)
        return answer

    run = SimpleNamespace(
        providers={"m1": SimpleNamespace(sent=sent)},
        health={"m1": health},
        budget=SimpleNamespace(learn=lambda *of: learnt.append(of[0])),
        counts=Counter(),
        ways=SimpleNamespace(recording=None),
        _build_answer=build,
        _complete=lambda endpoint, claim, request: endpoint.call(None, request),
    )
    claim = SimpleNamespace(annotator="m1", shown={"order": ["a"]}, unread=unread, item=SimpleNamespace(name="q1"))
    request = SimpleNamespace(model="tiny")
    given = asyncio.run(run_module._Run._answer(run, SimpleNamespace(call=call), claim, request))
    assert given is answer
    assert found == ["reply", noted]
    assert learnt == ["m1"]
    assert run.counts == {"cached": 7, "reasoning": 0}
    (about,) = built
    assert (about["shown"], about["model"], about["latency"]) == ({"order": ["a"]}, "tiny", 0.1235)
    assert json.loads(about["prompt"])["model"] == "tiny"


def finished(**more):
    zeros = dict.fromkeys(("answered", "missing", "failed", "reasked", "late", "left", "elsewhere"), 0)
    return run_module.JudgeRun(**zeros | {"cost": 0.0, "tokens_in": 0, "tokens_out": 0, "seconds": 5.0} | more)


def test_run_in_a_few_lines():
    done = finished(answered=7, missing=2, failed=1, reasked=3, tokens_in=900, tokens_out=80, cost=0.12345)
    assert done.summary() == (
        "7 of 10 labels collected in 5.0 s (2 unparseable, 1 failed, 3 retried).\n900 tokens in, 80 out, $0.1235."
    )
    more = finished(
        tokens_in=900, tokens_out=80, tokens_cached=600, tokens_reasoning=50, unpriced=("m1", "m2"), left=4,
        reasons={"m2: refused": 1, "m1: no label": 2}, notes=("pairs are drawn",), elsewhere=3,
    )  # fmt: skip
    assert more.summary().splitlines()[1:] == [
        "900 tokens in (600 of them from a cache), 80 out (50 of them reasoning), $0.0000.",
        "The price of m1, m2 is unknown and not included.",
        "  2 × m1: no label",
        "  1 × m2: refused",
        "Pairs are drawn.",
        "3 labels in progress in another run.",
        "4 labels remaining; run it again to continue.",
    ]
    # The labels that were due, also those that were not requested, because the server did not answer.
    for counts, first in (({"left": 4}, "0 of 4"), ({"answered": 3, "failed": 2, "left": 5}, "3 of 8")):
        assert finished(**counts).summary().startswith(f"{first} labels collected in 5.0 s")
    assert finished(stopped="interrupted", left=4).summary().splitlines()[2:] == [
        "Stopped: interrupted. 4 labels remaining; run it again to continue."
    ]


@pytest.mark.parametrize(
    ("counts", "is_vain"),
    [({}, False), ({"answered": 1, "failed": 9}, False), ({"missing": 1}, True), ({"failed": 1}, True)],
)
def test_run_is_in_vain_where_nothing_that_was_asked_was_answered(counts, is_vain):
    assert finished(**counts).is_vain == is_vain


def test_runs_of_systems_and_of_judges_are_one_run():
    first = finished(answered=7, left=1, cost=0.5, tokens_cached=2, seconds=3.0, reasons={"a: x": 1})
    second = finished(answered=2, failed=1, cost=0.25, tokens_cached=3, reasons={"b: x": 2}, stopped="interrupted")
    both = run_module._merge_runs([first, second])
    assert (both.answered, both.failed, both.left, both.cost, both.seconds) == (9, 1, 1, 0.75, 8.0)
    assert (both.tokens_cached, both.reasons, both.stopped) == (5, {"a: x": 1, "b: x": 2}, "interrupted")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (None, []),
        ("test", ["asked about the 1,200 test items: a prompt that is changed now has been tuned on them"]),
        (
            "development",
            ["labelled the development set; for the 1,200 test items, run: assay judge s --part test"],
        ),
    ],
)
def test_which_items_were_asked_about_where_others_are_set_apart(part, words):
    study = SimpleNamespace(folder="s", tested_items=lambda: range(1200))
    assert run_module._part_words(study, part) == words


def test_every_question_is_asked_once_and_the_table_has_the_labels(make_study):
    with ChatServer() as server:
        study = make_study(30, server.url)
        seen, begun = [], time.monotonic()
        done = judge_study(study, progress=seen.append)
        assert 0 < seen[-1].seconds <= time.monotonic() - begun
        assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
        assert (done.answered, done.left, server.count) == (30, 0, 30)
        assert judge_study(study).answered == 0
        assert server.count == 30
    labels = study_labels(study)
    assert labels.judges == ("m1",)
    assert labels.labels["label"].to_list() == [3] * 30
    assert str(labels.items["document"][0]) == "d0"
    assert seen[-1].done == seen[-1].total == 30
    assert "30/30 questions" in str(seen[-1])
    assert "30 of 30 labels collected" in done.summary()


@pytest.mark.slow
def test_answer_keeps_reply_fingerprint_tokens_cost_latency_and_time(make_study, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    clock = Clock()
    clock.now = itertools.count(100, 2.5).__next__
    with ChatServer() as server:
        study = make_study(1, server.url, judge=PRICE)
        judge_study(study, **patient(clock=clock))
    with open_store(study) as store:
        (row,) = history(store).to_dicts()
    assert row["reply"] == '{"label": 3}'
    assert len(row["fingerprint"]) == 64
    assert (row["tokens_in"], row["tokens_out"], row["model"]) == (100, 10, "tiny-served")
    assert row["cost"] == pytest.approx(0.0002)
    assert row["latency"] == 2.5
    assert row["answered_at"] == 1_800_000_000
    assert row["counts"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_thirty_percent_faults_leave_no_question_without_an_end_and_none_twice(make_study, seed):
    with ChatServer(faults(0.3, seed)) as server:
        study = make_study(300, server.url, limits={"concurrency": 40, "timeout": 5})
        done = judge_study(study, **QUICK)
    assert done.answered + done.missing + done.failed == 300
    assert done.failed == 0
    assert done.left == 0
    assert done.reasked > 0
    ends = "select assignment, count(*) from answers where status in ('valid', 'missing') group by 1"
    assert [n for _, n in rows(study, ends)] == [1] * 300
    # Every whole reply that the server sent is in the store: none was asked for and thrown away.
    assert sum(server.answered.values()) == rows(study, "select count(*) from answers")[0][0]
    with open_store(study) as store:
        missing = history(store).filter(pl.col("status") == "missing")
    assert missing["reason"].is_not_null().all()
    assert missing["reply"].is_not_null().all()
    assert missing["label"].is_null().all()


@pytest.mark.slow
def test_reply_off_the_scale_is_asked_again_with_the_complaint(make_study):
    def script(n, body, server):
        return Say('{"label": 9}' if len(body["messages"]) == 2 else '{"label": 2}')

    with ChatServer(script) as server:
        study = make_study(3, server.url)
        done = judge_study(study)
        again = [b for b in server.requests if len(b["messages"]) > 2]
    assert (done.answered, done.reasked) == (3, 3)
    assert again[0]["messages"][2] == {"role": "assistant", "content": '{"label": 9}'}
    assert "not on the scale" in again[0]["messages"][3]["content"]
    assert study_labels(study).labels["label"].to_list() == [2, 2, 2]


@pytest.mark.slow
def test_equal_replies_are_parsed_by_their_end_and_their_own_item(make_study):
    cut = iter(["stop", "length", "stop", "length"])
    with ChatServer(lambda n, body, server: Say("Answer: 1", finish=next(cut, "length"))) as server:
        done = judge_study(make_study(2, server.url, limits={"concurrency": 1, "timeout": 5}))
        assert (done.answered, done.reasked) == (2, 1), "of a reply that is cut off, 1 may be the beginning of 10"
    reply = '{"spans": [{"text": "@q00001@", "label": "place"}]}'
    asked = [{"name": "where", "text": "Which places?", "scale": "spans:place", "show": ["text"]}]
    with ChatServer(lambda n, body, server: Say(reply)) as server:
        study = make_study(3, server.url, questions=asked)
        done = judge_study(study, changed="new-version")
    assert (done.answered, done.missing) == (1, 2)
    assert {item.partition(":")[0] for item in study_labels(study).labels["item"]} == {"q00001"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (Say("I'm sorry, but I cannot help."), "the model refused"),
        (Say(""), "the reply is empty"),
        (Say('{"label": ', finish="length"), "the reply is cut off"),
        (Say("seven"), "the label is not on the scale"),
        (Say("It depends on who reads it."), "no label in the reply"),
    ],
)
def test_unparseable_twice_is_missing_with_reason(make_study, say, reason):
    with ChatServer(lambda n, body, server: say) as server:
        study = make_study(2, server.url)
        done = judge_study(study)
        assert server.count == 4
        judge_study(study)
        assert server.count == 4, "a missing label is not paid for again"
    assert done.missing == 2
    assert any(reason in key for key in done.reasons)
    with open_store(study) as store, pytest.raises(StudyError, match="has no labels"):
        stored_annotations(store)


@pytest.mark.slow
def test_service_that_never_answers_fails_the_question_and_the_next_run_asks_it(make_study):
    broken = {"q00001"}

    def script(n, body, server):
        return Say(status=500) if item_of(body) in broken else Say()

    with ChatServer(script) as server:
        study = make_study(4, server.url, limits={"concurrency": 2})
        done = judge_study(study, **patient(tries=3))
        assert (done.answered, done.failed, done.left) == (3, 1, 1)
        assert "HTTP 500" in " ".join(done.reasons)
        broken.clear()
        assert judge_study(study, **QUICK).answered == 1


def test_service_that_is_not_there_stops_the_run(make_study):
    study = make_study(100, "http://127.0.0.1:9/v1", limits={"concurrency": 5})
    with pytest.raises(JudgeError, match=r"judge 'm1' .* cannot be asked: the connection broke"):
        judge_study(study, **patient(tries=2))


def test_retry_after_is_obeyed(make_study):
    clock = StoppedClock()

    def script(n, body, server):
        return Say(status=429, headers={"Retry-After": "7"}) if n == 1 else Say()

    with ChatServer(script) as server:
        assert judge_study(make_study(1, server.url), **patient(clock=clock)).answered == 1
    assert clock.waits
    assert min(clock.waits) >= 7


@pytest.mark.slow
def test_call_that_takes_too_long_is_made_again(make_study):
    with ChatServer(lambda n, body, server: Say(delay=3 if n == 1 else 0)) as server:
        study = make_study(1, server.url, limits={"timeout": 0.2})
        assert judge_study(study, **QUICK).answered == 1
        assert server.count == 2


@pytest.mark.slow
@pytest.mark.parametrize(("status", "error"), [(401, "Incorrect API key provided: sk-sec***-123"), (404, "no model")])
def test_dead_key_or_an_unknown_model_stops_at_once_with_one_line(make_study, monkeypatch, status, error):
    monkeypatch.setenv("TEST_KEY", "sk-secret-123")
    with ChatServer(lambda n, body, server: Say(status=status, error=error)) as server:
        study = make_study(200, server.url, judge={"key": "TEST_KEY"})
        with pytest.raises(JudgeError) as caught:
            judge_study(study)
        assert server.count <= 10 + 1, "those in flight, and one about nothing that proves it"
    message = str(caught.value)
    assert message.startswith("judge 'm1' (tiny at http://127.0.0.1")
    assert "\n" not in message
    assert "sk-" not in message
    assert rows(study, "select count(*) from answers") == [(0,)]


@pytest.mark.slow
def test_key_comes_from_the_environment_and_is_written_nowhere(make_study, monkeypatch, caplog, tmp_path):
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("TEST_KEY", secret)
    caplog.set_level(logging.DEBUG)

    def script(n, body, server):
        if n % 3 == 0:
            return Say(status=500, error=f"bad key {secret}")
        return Say(f"Your key is {secret}. Label: 4")

    with ChatServer(script) as server:
        study = make_study(10, server.url, judge={"key": "TEST_KEY"})
        done = judge_study(study, record=tmp_path / "record.jsonl", **QUICK)
        assert server.headers[0]["Authorization"] == f"Bearer {secret}"
    assert done.answered == 10
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert secret not in caplog.text
    assert secret not in done.summary()


def test_no_key_says_which_variable(make_study, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeError, match="set the environment variable OPENAI_API_KEY"):
        judge_study(make_study(1, judge={"base_url": None}))


@pytest.mark.slow
def test_max_cost_is_not_passed_by_more_than_the_calls_in_flight(make_study):
    with ChatServer(lambda n, body, server: Say(delay=0.005)) as server:
        study = make_study(200, server.url, judge=PRICE, limits={"concurrency": 10, "max_cost": 0.01})
        done = judge_study(study)
        assert 50 <= server.count <= 60
        assert done.stopped is not None
        assert "max_cost" in done.stopped
        assert done.left + done.answered == 200
        before = server.count
        assert "max_cost" in str(judge_study(study).stopped)
        assert server.count == before
    assert rows(study, "select sum(cost) from runs")[0][0] == pytest.approx(0.0002 * before)


def test_price_that_is_not_known_is_said_and_not_guessed(make_study):
    with ChatServer() as server:
        study = make_study(2, server.url)
        done = judge_study(study)
        assert done.unpriced == ("m1",)
        assert "price of m1 is unknown" in done.summary()
        assert rows(study, "select cost from answers") == [(None,), (None,)]
        with pytest.raises(JudgeError, match="max_cost cannot be kept"):
            judge_study(make_study(3, server.url, limits={"max_cost": 1}))


@pytest.mark.slow
def test_dry_run_counts_calls_tokens_and_money_and_asks_nothing(make_study):
    with ChatServer() as server:
        study = make_study(40, server.url, judge=PRICE | {"repeats": 2})
        estimate = estimate_study(study)
        assert server.count == 0
        assert estimate.judges[0].calls == 80
        assert estimate.cost == pytest.approx((estimate.judges[0].tokens_in + 10 * estimate.judges[0].tokens_out) / 1e6)
        assert "80 calls" in estimate.summary()
        judge_study(study)
        assert estimate_study(study).judges[0].calls == 0


@pytest.mark.slow
def test_openai_prices_are_known_offline(make_study, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    study = make_study(10, judge={"base_url": None, "model": "gpt-4o-mini"})
    estimate = estimate_study(study)
    assert estimate.cost is not None
    assert 0 < estimate.cost < 0.01


@pytest.mark.slow
def test_requests_per_minute_are_kept(make_study):
    clock = StoppedClock()
    with ChatServer() as server:
        # 1,200 a minute are 20 a second; two seconds' worth may go at once, the rest one by one.
        study = make_study(60, server.url, limits={"concurrency": 60, "requests_per_minute": 1200})
        assert judge_study(study, **patient(clock=clock)).answered == 60
    assert clock.waits == pytest.approx([n / 20 for n in range(1, 21)])


@pytest.mark.parametrize("concurrency", [1, 3, 20])
def test_as_many_calls_are_in_flight_as_allowed_and_no_more(make_study, concurrency):
    with ChatServer(lambda n, body, server: Say(delay=0.02)) as server:
        study = make_study(60, server.url, limits={"concurrency": concurrency})
        assert judge_study(study).answered == 60
    assert server.most_busy == concurrency


@pytest.mark.slow
def test_busy_service_is_asked_less_at_once(make_study):
    def script(n, body, server):
        busy = server.busy >= 5
        return Say(status=429, headers={"Retry-After": "0.05"}) if busy else Say(delay=0.02)

    with ChatServer(script) as server:
        study = make_study(200, server.url, limits={"concurrency": 40})
        assert judge_study(study, **patient(tries=30)).answered == 200
        refused = server.count - 200
    assert refused < 200


@pytest.mark.slow
def test_two_runs_at_once_never_ask_the_same_question(make_study):
    # Of one run alone, at most ten questions are in progress: with the eleventh, both runs are at work.
    with ChatServer(lambda n, body, server: Say(until=lambda: server.count > 10)) as server:
        study = make_study(400, server.url, limits={"concurrency": 10, "timeout": 60})
        found = []
        both = [threading.Thread(target=lambda: found.append(judge_study(load_study(study.folder)))) for _ in "ab"]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert server.count == 400
        assert set(server.answered.values()) == {1}
    assert sum(done.answered for done in found) == 400
    assert min(done.answered for done in found) > 0


def let_run(process, server, requests):
    """Wait until a run has made so many requests, or has ended."""
    wait_until(lambda: server.count >= requests or process.exitcode is not None, "the run does not go on", every=0.001)


def kill_and_resume(make_study, *, questions, kills, delay):
    """Kill a run at random moments, let the last one end; the answers, and requests beyond them."""
    chance = random.Random(7)
    flying = 0
    with ChatServer(lambda n, body, server: Say(delay=delay)) as server:
        study = make_study(questions, server.url, judge=PRICE)
        for number in range(1, kills + 1):
            at = server.count
            process = start(ask, study.folder)
            goal = at + max(1, round((questions - at) / (kills - number + 2) * chance.uniform(0.2, 1.8)))
            let_run(process, server, goal)
            time.sleep(chance.uniform(0, 0.02))  # no wait: between two requests any moment will do
            process.kill()
            process.join()
            wait_until(server.is_idle, "the server still answers a run that was killed")
            answers = rows(study, "select count(*) from answers")[0][0]
            flying = server.count - answers
            assert flying <= 10 * number
        process = start(ask, study.folder)
        process.join(60)
        assert process.exitcode == 0
        answers = rows(study, "select count(*), count(distinct assignment) from answers where status = 'valid'")
        assert answers == [(questions, questions)]
        assert server.count <= questions + flying
    assert len(study_labels(study)) == questions
    return server.count


def test_answers_that_arrive_while_others_are_written_are_written_together():
    free, begun, calls = threading.Event(), threading.Event(), []

    def write(answers):
        calls.append(list(answers))
        begun.set()
        free.wait(60)
        return [ValueError("of this one") if answer == "c" else True for answer in answers]

    async def go():
        thread = run_module.StoreThread(write)
        first = thread.write("a")
        await asyncio.to_thread(begun.wait, 60)
        others = [thread.write(answer) for answer in "bcd"]
        after = thread.do(lambda: len(calls))
        free.set()
        found = await asyncio.gather(first, *others, return_exceptions=True)
        assert [str(one) for one in found] == ["True", "True", "of this one", "True"]
        assert await after == 2, "what comes after an answer finds it written"
        thread.close()

    asyncio.run(go())
    assert calls == [["a"], ["b", "c", "d"]]


@pytest.mark.slow
def test_garbage_is_looked_for_rarely_while_a_run_asks_and_as_before_after_it(make_study):
    found, before = [], gc.get_threshold()
    with ChatServer(lambda n, body, server: found.append(gc.get_threshold()[0]) or Say()) as server:
        study = make_study(2, server.url)
        judge_study(study)
        gc.set_threshold(0)
        try:
            judge_study(make_study(3, server.url))
        finally:
            gc.set_threshold(*before)
    assert found == [20_000, 20_000, 0]
    assert gc.get_threshold() == before


@pytest.mark.slow
def test_kill_9_at_random_moments_loses_and_repeats_nothing(make_study):
    kill_and_resume(make_study, questions=200, kills=2, delay=0.01)


@pytest.mark.slow
def test_kill_9_at_twenty_random_moments_over_eight_hundred_questions(make_study):
    kill_and_resume(make_study, questions=800, kills=20, delay=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("how", [ask, ask_without_posix])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_judge_study_waits_for_the_calls_in_flight_when_it_is_ended(make_study, number, how):
    with ChatServer(lambda n, body, server: Say(delay=0.1)) as server:
        study = make_study(500, server.url, judge=PRICE)
        process = start(how, study.folder)
        let_run(process, server, 30)
        os.kill(process.pid, number)
        process.join(60)
        assert process.exitcode == 0
        assert rows(study, "select count(*) from answers")[0][0] == server.count < 500
        assert rows(study, "select count(*) from assignments where status = 'claimed'") == [(0,)]


@pytest.mark.slow
def test_judge_command_resumes_after_sigterm(make_study):
    with ChatServer(lambda n, body, server: Say(delay=0.1)) as server:
        study = make_study(120, server.url, judge=PRICE)
        command = [sys.executable, "-m", "assay", "judge", str(study.folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: server.count >= 30 or process.poll() is not None, "a run under way")
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
        kept = server.count
        assert (process.returncode, said) == (1, "")
        assert 30 <= kept < 120
        assert f"Stopped: ended by SIGTERM. {120 - kept} labels remaining;" in out
        done = judge_study(study)
        assert (done.answered, server.count) == (120 - kept, 120)
        assert set(server.answered.values()) == {1}
        assert len(server.answered) == 120


@pytest.mark.slow
def test_second_sigterm_does_not_wait(make_study):
    with ChatServer(lambda n, body, server: Say(delay=30)) as server:
        study = make_study(20, server.url)
        process = start(ask, study.folder)
        wait_until(lambda: server.count >= 10, "ten calls in flight")

        def end():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)  # the first is taken, the second of them ends it
            return process.exitcode is not None

        wait_until(end, "the run does not end")
        assert process.exitcode == -signal.SIGTERM


@pytest.mark.slow
def test_endpoint_without_structured_output_is_asked_without(make_study):
    def script(n, body, server):
        if "response_format" in body:
            return Say(status=400, error="response_format json_schema is not supported")
        return Say("Answer: 4/5")

    with ChatServer(script) as server:
        done = judge_study(make_study(20, server.url, limits={"concurrency": 1}))
        assert (done.answered, server.count) == (20, 21)
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["label"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}


@pytest.mark.slow
def test_judge_study_reads_each_criterion_from_one_reply_with_all(make_study):
    # Four questions, the shipped prompt, and one reply to all of them: relevance 4, coherence 3.5, consistency 2.
    names = ["relevance", "coherence", "consistency", "overall"]
    asked = [{"name": one, "text": "How good?", "scale": "interval:0-5"} for one in names]
    reply = '{"relevance": 4, "coherence": 3.5, "fluency": 5, "consistency": 2, "overall": 3}'
    with ChatServer(lambda n, body, server: Say(reply)) as server:
        study = make_study(2, server.url, questions=asked)
        (study.folder / "prompts").mkdir()
        shipped = (Path(__file__).parents[2] / "examples/prompts/criteria-as-json.txt").read_text()
        shipped = shipped.replace("item.source", "item.text").replace("item.summary", "item.text")
        (study.folder / "prompts" / "own.txt").write_text(shipped)
        done = judge_study(make_study(2, server.url, questions=asked, judge={"prompt": "own"}))
        assert (done.answered, done.missing, server.count) == (8, 0, 2), "identical requests are one call"
        assert (done.tokens_in, done.tokens_out) == (200, 20), "which is counted once"
    labels = study_labels(study).labels
    found = {one: labels.filter(pl.col("criterion") == one)["label"].to_list() for one in names}
    assert found == {"relevance": [4, 4], "coherence": [3.5, 3.5], "consistency": [2, 2], "overall": [3, 3]}


@pytest.mark.slow
def test_request_that_is_refused_is_one_question_without_a_reply(make_study):
    def script(n, body, server):
        return Say(status=400, error="too long") if item_of(body) == "q00003" else Say()

    with ChatServer(script) as server:
        done = judge_study(make_study(10, server.url), **QUICK)
    assert (done.answered, done.failed) == (9, 1)
    assert done.reasons == {"m1: no reply: HTTP 400: too long": 1}


@pytest.mark.slow
def test_recording_can_be_replayed(make_study, tmp_path):
    chance = random.Random(3)
    record = tmp_path / "replies.jsonl"
    with ChatServer(lambda n, body, server: Say(json.dumps({"label": chance.randint(0, 5)}))) as server:
        study = make_study(60, server.url, judge={"repeats": 2}, conditions={"temperature": [0, 1]})
        judge_study(study, record=record)
        asked = study_labels(study)
    (study.folder / "study.db").replace(tmp_path / "old.db")
    replayed = make_study(
        60,
        judge={"provider": "recorded", "file": str(record), "base_url": None, "repeats": 2},
        conditions={"temperature": [0, 1]},
    )
    judge_study(replayed)
    key = ["item", "temperature", "repeat", "label"]
    assert study_labels(replayed).labels.select(key).sort(key).equals(asked.labels.select(key).sort(key))


@pytest.mark.slow
def test_run_charges_what_a_cache_and_reasoning_cost_also_when_it_is_replayed(make_study, tmp_path):
    usage = {"prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens_details": {"reasoning_tokens": 6}}
    price = {"price": {"input": 1.0, "output": 10.0, "cached_input": 0.1, "reasoning": 20.0}}
    each = (20 * 1 + 80 * 0.1 + 4 * 10 + 6 * 20) / 1e6
    record = tmp_path / "replies.jsonl"
    with ChatServer(lambda n, body, server: Say(usage=usage)) as server:
        done = judge_study(make_study(3, server.url, judge=price), record=record)
    assert done.cost == pytest.approx(3 * each)
    assert "300 tokens in (240 of them from a cache), 30 out (18 of them reasoning)" in done.summary()
    again = make_study(3, judge=price | {"name": "m2", "provider": "recorded", "file": str(record), "base_url": None})
    record.write_text(record.read_text().replace('"judge": "m1"', '"judge": "m2"'))
    assert judge_study(again, changed="new-version").cost == pytest.approx(3 * each)


def test_unknown_judges_are_named(make_study):
    with pytest.raises(JudgeError, match=r"judge 'm' is not in study\.yaml; did you mean 'm1'"):
        judge_study(make_study(1), judges=["m"])


# -- what a run counts --------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_counts_each_kind_of_answer(make_study):
    """A label; an unreadable reply twice; a refusal; a call that fails. Each call takes a second."""
    clock, told = StoppedClock(), []

    def script(n, body, server):
        clock.at += 1
        what = {"q00000": Say(), "q00001": Say("no idea"), "q00002": Say(None, refusal="I will not")}
        return what.get(item_of(body), Say(status=400, error="too long"))

    with ChatServer(script) as server:
        judges = [{"name": "m1", "model": "tiny", "base_url": server.url} | PRICE]
        judges.append({"name": "m2", "model": "tiny", "base_url": server.url, "params": {"seed": 1}})
        study = make_study(4, judges=judges, limits={"concurrency": 1})
        done = judge_study(study, judges=["m1"], progress=told.append, **patient(clock=clock, tries=1))
        assert (done.answered, done.missing, done.failed, done.reasked, done.late) == (1, 2, 1, 1, 0)
        assert (done.left, done.elsewhere, done.seconds, done.stopped) == (1, 0, 5.0, None)
        assert (done.tokens_in, done.tokens_out, done.unpriced) == (400, 40, ())
        assert done.cost == pytest.approx(4 * 0.0002)
        first, unread, refused, failed = done.reasons
        assert (first, refused) == (f"{unread}, asked again", "m1: the model refused")
        assert (unread[:4], failed) == ("m1: ", "m1: no reply: HTTP 400: too long")
        assert set(done.reasons.values()) == {1}
        again = judge_study(study, **patient(clock=clock, tries=1))
    assert (again.unpriced, again.failed) == (("m2",), 2)
    # Nothing is said of the unreadable reply that is asked about again.
    assert [(one.done, one.missing, one.total) for one in told] == [(1, 0, 4), (2, 1, 4), (3, 2, 4), (4, 2, 4)]
    assert [one.seconds for one in told] == [1, 3, 4, 5]
    assert [one.cost for one in told] == pytest.approx([0.0002, 0.0006, 0.0008, 0.0008])


@pytest.mark.slow
def test_questions_that_another_run_has_claimed_are_its_own(make_study):
    with ChatServer() as server:
        study = make_study(5, server.url)
        with open_store(study) as store:
            plan_study(study, store)
            claimed = work.claim(store, work.start_run(store), ["m1"], 2)
            done = judge_study(study)
    assert (len(claimed), done.answered, done.left, done.elsewhere) == (2, 3, 0, 2)


@pytest.mark.slow
def test_answer_that_another_run_gave_first_is_late(make_study):
    def script(n, body, server):
        if n == 1:
            with open_store(study) as other:
                (claim,) = work.item_claims(other, item_of(body), ["m1"])
                assert add_answer(other, claim, work.start_run(other), Answer("valid", 2), 1)
        return Say("Answer: 4")

    with ChatServer(script) as server:
        study = make_study(3, server.url)
        done = judge_study(study)
        assert (done.answered, done.late, done.left) == (2, 1, 0)
        assert sorted(rows(study, "select label from answers")) == [(2,), (4,), (4,)]


def running(**more):
    """A run of which only so much is there."""
    run = object.__new__(run_module._Run)
    usual = {"counts": Counter(), "reasons": Counter(), "cost": 0.0, "total": 9, "stopped": None, "begun": 0.0}
    usual |= {"ways": SimpleNamespace(progress=None, stop=None), "prices": {}, "health": {}}
    vars(run).update(usual | more)
    return run


@pytest.mark.parametrize(
    ("stopped", "is_spent", "over", "words"),
    [
        (None, False, False, None), ("interrupted", False, True, "interrupted"),
        (None, True, True, "max_cost is reached ($1.2346 of $1.5)"), ("interrupted", True, True, "interrupted"),
    ],
)  # fmt: skip
def test_run_is_over_when_it_was_stopped_or_all_is_spent(stopped, is_spent, over, words):
    budget = SimpleNamespace(is_spent=is_spent, spent=1.23456, wake=lambda: None)
    run = running(stopped=stopped, budget=budget, limits=SimpleNamespace(max_cost=1.5), stopping=asyncio.Event())
    assert run._is_over() == over
    assert run.stopped == words
    assert run.stopping.is_set() == (stopped is None and is_spent)


def test_first_error_says_why(monkeypatch):
    run = running(stopping=asyncio.Event(), budget=SimpleNamespace(wake=lambda: None), fatal=None)
    first, second = StudyError("one"), StudyError("two")
    run._fail(first, "why")
    run._fail(second, "and why")
    assert (run.fatal, run.stopped) == (first, "why")
    inner = ValueError("inner")
    assert run_module._first(ExceptionGroup("a", [ExceptionGroup("b", [inner, OSError()]), OSError()])) is inner


def test_claims_are_fetched_in_advance():
    """Batches of four: the next is claimed when two are left."""
    asked = []

    async def drawn():
        batches = [list("abcd"), list("ef"), []]

        def claim():
            asked.append(len(got))
            future = asyncio.get_running_loop().create_future()
            future.set_result(batches[len(asked) - 1])
            return future

        claims, got = run_module.Claims(claim, batch=4), []
        while (one := await claims.next()) is not None:
            got.append(one)
        assert await claims.next() is None
        return got

    assert asyncio.run(drawn()) == list("abcdef")
    assert asked == [0, 2, 4]


def test_failed_claim_raises_after_earlier_claims():
    async def drawn():
        calls = []

        def claim():
            calls.append(1)
            future = asyncio.get_running_loop().create_future()
            if len(calls) == 1:
                future.set_result(["a"])
            else:
                future.set_exception(ValueError("the store is gone"))
            return future

        claims = run_module.Claims(claim, batch=4)
        assert await claims.next() == "a"
        for _ in range(2):
            with pytest.raises(ValueError, match="the store is gone"):
                await claims.next()
        assert len(calls) == 2

    asyncio.run(drawn())


@pytest.mark.slow
def test_judge_study_reads_the_words_that_says_gives_for_labels(make_study):
    asked = {"name": "best", "text": "Which?", "scale": "preference", "options": ["text", "doc"]}
    asked["says"] = {"A": "m", "B": "M"}
    with ChatServer(lambda n, body, server: Say("M")) as server:
        study = make_study(2, server.url, questions=[asked], items={"file": "items.csv"})
        done = judge_study(study)
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert (done.answered, done.missing, server.count) == (4, 0, 4)
    assert schema["properties"]["label"]["enum"] == ["m", "M", "tie"]
    assert sorted(study_labels(study).labels["label"].to_list()) == [-1, -1, 1, 1], "M is the second that is displayed"


@pytest.mark.parametrize(
    ("scale", "says", "message"),
    [
        ("preference", {"C": "x"}, "says: 'C' is not a label of the scale; its labels are first, tie, second"),
        ("nominal:yes,no", {"yes": "ja", "no": "ja"}, "says: 'ja' is the word of two labels"),
        ("interval:0-1", {"0": "none"}, "says gives words for the labels of a list; interval:0-1 has none"),
    ],
)
def test_question_rejects_words_that_fit_no_label(scale, says, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Question.model_validate({"name": "q", "text": "?", "scale": scale, "says": says, "options": ["a", "b"]})


def criteria(study):
    """The shipped prompt for three criteria, as a prompt of the study."""
    shipped = (Path(__file__).parents[2] / "examples/prompts/criteria-as-json.txt").read_text()
    (study.folder / "prompts").mkdir(exist_ok=True)
    text = shipped.replace("item.source", "item.text").replace("item.summary", "item.text")
    (study.folder / "prompts" / "own.txt").write_text(text)


THREE = [{"name": one, "text": "How good?", "scale": "interval:0-5"} for one in ("relevance", "coherence", "fluency")]


@pytest.mark.slow
def test_questions_with_the_same_request_share_a_call_in_each_repeat_and_condition(make_study):
    with ChatServer(lambda n, body, server: Say('{"relevance": 1, "coherence": 2, "fluency": 3}')) as server:
        criteria(make_study(3))
        judge = {"prompt": "own", "repeats": 2} | PRICE
        study = make_study(3, server.url, questions=THREE, judge=judge, conditions={"temperature": [0, 1]})
        (estimate,) = estimate_study(study).judges
        done = judge_study(study)
        assert (done.answered, server.count, estimate.calls) == (36, 12, 12)
    assert done.cost == pytest.approx(12 * 0.0002), "each call is paid once"


@pytest.mark.slow
def test_shared_reply_without_one_criterion_is_requested_again_for_that_criterion_alone(make_study):
    def script(n, body, server):
        again = any(one["role"] == "assistant" for one in body["messages"])
        return Say('{"fluency": 3}' if again else '{"relevance": 1, "coherence": 2}')

    with ChatServer(script) as server:
        criteria(make_study(2))
        done = judge_study(make_study(2, server.url, questions=THREE, judge={"prompt": "own"}))
        assert (done.answered, done.reasked, server.count) == (6, 2, 4)


def test_shared_call_that_fails_fails_for_each_question_and_is_made_again_by_the_next_run(make_study):
    bad = [True]

    def script(n, body, server):
        return Say(status=400, error="too long") if bad else Say('{"relevance": 1, "coherence": 2, "fluency": 3}')

    with ChatServer(script) as server:
        criteria(make_study(1))
        study = make_study(1, server.url, questions=THREE, judge={"prompt": "own"})
        assert judge_study(study, **QUICK).failed == 3
        bad.clear()
        before = server.count
        assert (judge_study(study).answered, server.count - before) == (3, 1)


@pytest.mark.slow
def test_questions_with_their_own_texts_do_not_share_a_call(make_study):
    asked = [one | {"text": f"How is its {one['name']}?"} for one in THREE]
    with ChatServer(lambda n, body, server: Say('{"label": 2}')) as server:
        assert (judge_study(make_study(2, server.url, questions=asked)).answered, server.count) == (6, 6)
