"""Batches of every service that takes them, at a local server: sent, taken in, resumed, and never asked twice."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from types import SimpleNamespace

import pytest
from chat_server import PRICE, ChatServer, Say
from own_process import send, start
from test_run import rows

from assay.errors import AssayError, JudgeError
from assay.judging import batch
from assay.judging.batch import batch_study
from assay.judging.run import judge_study
from assay.judging.services.http import CallFailed, Completion, Request, Sent
from assay.judging.services.providers import PROVIDERS
from assay.reading import study_labels
from assay.study.schema import Judge
from assay.study.store.answers import Answer

SERVICES = ["openai", "openai-responses", "anthropic", "google"]
FORMS = {
    "openai": ["/v1/files", "/v1/batches"],
    "groq": ["/v1/files", "/v1/batches"],
    "azure": ["/openai/files?api-version=2024-10-21", "/openai/batches?api-version=2024-10-21"],
    "mistral": ["/v1/files", "/v1/batch/jobs"],
    "anthropic": ["/v1/messages/batches"],
    "google": ["/v1beta/models/tiny:batchGenerateContent"],
}
"""Where each service is sent files and orders, as its documentation has it."""


def judged(server, provider):
    url = server.url if provider not in ("anthropic", "azure", "google") else server.url.removesuffix("/v1")
    query = "?api-version=2024-10-21" if provider == "azure" else ""
    return {"provider": provider, "base_url": url + query, "key": "TEST_KEY"} | PRICE


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", "test-key-0123456789")
    monkeypatch.setattr("assay.judging.services.batch_formats.FILE_LOOKS", 0.0)


TAKING = FORMS | {"openai-compatible": FORMS["openai"], "openai-responses": FORMS["openai"]}


@pytest.mark.slow
@pytest.mark.parametrize("provider", TAKING)
def test_batch_is_sent_looked_at_and_taken_in(make_study, provider):
    with ChatServer() as server:
        server.looks = 2
        study = make_study(7, judge=judged(server, provider))
        sent = batch_study(study)
        assert (sent.sent, sent.answered, sent.going) == (7, 0, 7)
        assert server.paths == TAKING[provider]
        assert server.orders["batch-1"]["model"] == ("tiny" if provider in ("mistral", "google") else None)
        assert "7 requests sent." in sent.summary()
        again = batch_study(study)
        assert (again.sent, again.answered, again.going) == (0, 0, 7), "nothing is asked twice"
        live = judge_study(study)
        assert (live.answered, live.elsewhere) == (0, 7)
        last = batch_study(study)
        assert (last.sent, last.answered, last.going, last.left) == (0, 7, 0, 0)
        assert last.cost == pytest.approx(7 * 0.0001)
        assert batch_study(study).summary() == "No requests sent.\nNo batch in progress; 0 labels remaining."
        assert (len(server.orders), set(server.answered.values()) or {1}) == (1, {1})
    labels = study_labels(study).labels
    assert labels["label"].to_list() == [3] * 7
    assert rows(study, "select round(sum(cost), 6) from answers") == [(0.0007,)]
    assert rows(study, "select count(*) from answers join prompts using (fingerprint)") == [(7,)]


@pytest.mark.slow
@pytest.mark.parametrize("provider", FORMS)
def test_replies_that_cannot_be_read_and_errors_are_asked_again(make_study, provider):
    def script(n, body, server):
        if "cannot be used" in json.dumps(body):
            return Say('{"label": 5}')
        if "@q00001@" in json.dumps(body) and server.answered["q00001"] == 0 and not script.failed:
            script.failed = True
            return Say(status=400, error="no")
        return Say("No idea.") if "@q00002@" in json.dumps(body) else Say()

    script.failed = False
    with ChatServer(script) as server:
        study = make_study(4, judge=judged(server, provider))
        assert batch_study(study).sent == 4
        second = batch_study(study)
        assert (second.answered, second.missing, second.failed, second.sent) == (2, 1, 1, 1)
        third = batch_study(study)
        assert (third.answered, third.sent) == (1, 1)
        assert batch_study(study).answered == 1
    assert study_labels(study).labels["label"].to_list() == [3, 3, 5, 3]
    assert "HTTP 400: no" in " ".join(second.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("provider", FORMS)
def test_batch_study_cancel_stores_results_and_releases_claims(make_study, provider):
    with ChatServer() as server:
        server.looks = 99
        study = make_study(6, judge=judged(server, provider))
        batch_study(study)
        assert batch_study(study, "status").going == 6
        assert "is being cancelled" in batch_study(study, "cancel").summary()
        done = batch_study(study, "cancel")
        assert (done.answered, done.returned, done.sent, done.left) == (3, 3, 0, 3)
        assert judge_study(study).answered == 3


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "orders"), [("openai", 1), ("mistral", 2), ("google", 2)])
def test_service_whose_orders_are_of_one_model_gets_one_for_each(make_study, provider, orders):
    with ChatServer() as server:
        judge = judged(server, provider) | {"sibling": "tiny-2"}
        study = make_study(4, judge=judge, probes={"sibling": 3})
        assert batch_study(study).sent == 7
        assert sorted(len(one["wanted"]) for one in server.orders.values()) == ([7] if orders == 1 else [3, 4])
        models = {one["model"] for one in server.orders.values()}
        assert models == ({None} if orders == 1 else {"tiny", "tiny-2"})
        assert batch_study(study).answered == 7


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_reply_in_no_format_is_an_error_of_its_question_alone(make_study, provider):
    def script(n, body, server):
        return Say(fault="half" if "@q00001@" in json.dumps(body) else None)

    with ChatServer(script) as server:
        study = make_study(3, judge=judged(server, provider))
        batch_study(study)
        done = batch_study(study)
    assert (done.answered, done.failed, done.sent) == (2, 1, 0)
    assert "m1: no reply: the reply is not in the service's format, or cut off" in done.reasons


class StrangeServer(ChatServer):
    """A service that returns a line without JSON, one of another batch, and one with its own name for the request."""

    def _result(self, order, at, name, body):
        line = super()._result(order, at, name, body)
        if order["id"] != "batch-1" or at > 2:
            return line
        return ["<html>busy</html>", line.replace(name, "0123456789ab-2-1"), line.replace(name, "request-b")][at]


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "mistral", "anthropic", "google"])
def test_result_with_an_unknown_name_is_counted_and_said(make_study, provider):
    with StrangeServer() as server:
        study = make_study(5, judge=judged(server, provider))
        batch_study(study)
        done = batch_study(study)
        assert (done.answered, done.returned, done.failed, done.sent, done.left) == (2, 3, 0, 0, 3)
        assert "3 lines of the results name no request of this batch, such as '" in done.summary()
        assert "--batch sends 3 questions again" in done.summary()
        assert batch_study(study).sent == 3
        assert batch_study(study).answered == 3
    assert study_labels(study).labels["label"].to_list() == [3] * 5


def test_file_is_not_sent_elsewhere_with_the_key(make_study):
    with ChatServer() as server:
        server.elsewhere = "http://127.0.0.2:9/upload"
        with pytest.raises(JudgeError, match=r"the file is at 127\.0\.0\.2:9, which is not sent the key"):
            batch_study(make_study(2, judge=judged(server, "google")))
        assert server.files == {}


def test_batch_whose_study_has_changed_waits_until_it_is_changed_back(make_study):
    question = [{"name": "quality", "text": "How bad is it?", "scale": "1-5"}]
    with ChatServer() as server:
        judge = judged(server, "openai")
        batch_study(make_study(3, judge=judge))
        changed = make_study(3, judge=judge, questions=question)
        held = batch_study(changed, "cancel", changed="new-version")
        assert "3 answers to questions that have changed" in held.summary()
        study = make_study(3, judge=judge)
        assert batch_study(study).answered == 3
        assert server.count == 3


@pytest.mark.slow
def test_form_that_a_model_refuses_is_said_with_what_to_do(make_study):
    words = "response_format json_schema is not supported"
    with ChatServer(lambda n, b, server: Say(status=400, error=words)) as server:
        study = make_study(1, judge=judged(server, "openai"))
        batch_study(study)
        assert "for batches set structured: never" in batch_study(study).summary()


def test_batch_study_respects_max_cost(make_study):
    told = []
    with ChatServer() as server:
        server.looks = 2
        judge = judged(server, "openai") | {"max_tokens": 10}
        study = make_study(20, judge=judge, limits={"max_cost": 0.001})
        first = batch_study(study, tell=told.append)
        assert 3 <= first.sent <= 8
        assert batch_study(study, tell=told.append).sent == 0, "what is under way counts"
    assert [one.split(" questions")[0] for one in told] == [f"max_cost ($0.001) lets {first.sent}",
                                                             "max_cost ($0.001) lets 0"]  # fmt: skip


def test_batch_study_skips_providers_without_batches(make_study):
    told = []
    with ChatServer() as server:
        judges = [{"name": "a", "model": "x"} | judged(server, "openai")]
        judges += [{"name": "b", "model": "y", "provider": "vllm", "base_url": server.url}]
        assert batch_study(make_study(2, judges=judges), tell=told.append).sent == 2
        assert told == ["b is skipped: vllm has no batch API; run it without --batch"]
        with pytest.raises(JudgeError, match="no judge of this study has a batch API; providers with one"):
            batch_study(make_study(2, judges=judges[1:]))


@pytest.mark.slow
def test_service_that_refuses_a_batch_keeps_no_question(make_study):
    with ChatServer() as server:
        study = make_study(3, judge=judged(server, "openai") | {"base_url": server.url + "x"})
        with pytest.raises(JudgeError, match="a service cannot be asked about batches: HTTP 404"):
            batch_study(study)
        study = make_study(3, judge=judged(server, "openai"))
        assert batch_study(study).sent == 3


def test_batch_that_fails_as_a_whole_is_said_and_not_sent_again_at_once(make_study):
    with ChatServer() as server:
        study = make_study(3, judge=judged(server, "openai"))
        batch_study(study)
        server.orders["batch-1"]["ended"] = "failed"
        done = batch_study(study)
        assert (done.sent, done.returned, done.left) == (0, 3, 3)
        assert "failed: " in done.summary()


@pytest.mark.slow
def test_at_the_command_line(make_study, capsys):
    from assay.cli.app import main

    def assay(*words):
        with pytest.raises(SystemExit) as ended:
            main(("judge", str(study.folder), *words))
        return ended.value.code, *capsys.readouterr()

    with ChatServer() as server:
        study = make_study(2, judge=judged(server, "openai"))
        assert assay("--batch")[:2] == (
            0,
            "2 requests sent.\nbatch batch-1 of m1: 2 questions sent\n"
            "2 requests in progress; run the same command again to store the results.\n",
        )
        assert "batches cost half" in assay("--batch", "--dry-run")[1]
        server.looks = 9
        assert "in_progress, 0 of 2 answered" in assay("--batch", "--status")[1]
        server.looks = 1
        assert "Results: 2 labels" in assay("--batch", "--wait")[1]
        code, _, err = assay("--status")
        assert (code, "--status, --cancel and --wait require --batch" in err) == (2, True)
        assert assay("--batch", "--retry", "missing")[0] == 2


# -- killed in between ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_process_that_is_killed_as_it_sends_leaves_an_order_that_is_found(make_study, monkeypatch, provider):
    with ChatServer() as server:
        study = make_study(5, judge=judged(server, provider))
        server.after_order = lambda: process.kill()
        process = start(send, study.folder, 1000)
        process.join(60)
        server.after_order = None
        assert len(server.orders) == 1
        done = batch_study(study)
        if provider == "anthropic":  # whose orders have no name until they are done
            assert (done.answered, done.going) in ((0, 5), (5, 0))
            done = batch_study(study)
            done = done if done.answered else batch_study(study)
        assert done.left == 0
        assert len(server.orders) == 1
    assert study_labels(study).labels.height == 5


@pytest.mark.parametrize("provider", ["azure", "mistral", "google"])
def test_batch_study_finds_unrecorded_batch_by_name(make_study, monkeypatch, provider):
    """As after a kill, without another process."""
    form = batch.FORMS[provider]

    async def killed(*about):
        await type(form).send(form, *about)
        raise KeyboardInterrupt

    with ChatServer() as server:
        study = make_study(5, judge=judged(server, provider))
        with monkeypatch.context() as patch:
            patch.setattr(form, "send", killed, raising=False)
            with pytest.raises(KeyboardInterrupt):
                batch_study(study)
        assert batch_study(study).answered == 5
        assert len(server.orders) == 1


def test_process_that_is_killed_before_it_sends_leaves_nothing_claimed(make_study, monkeypatch):
    monkeypatch.setattr(batch, "SETTLED", 0.0)
    with ChatServer() as server:
        study = make_study(5, judge=judged(server, "openai"))

        async def killed(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(batch.FORMS["openai"], "send", killed, raising=False)
            with pytest.raises(KeyboardInterrupt):
                batch_study(study)
        assert batch_study(study).sent == 5
        assert len(server.orders) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "wanted", "questions"),
    [("openai", 20, 1000), *((provider, 6, 320) for provider in SERVICES if provider != "openai")],
)
def test_many_kills_over_many_questions(make_study, monkeypatch, provider, wanted, questions):
    """In four wire formats: 38 kills over 1,960 questions in batches of 40, each asked and answered once."""
    monkeypatch.setattr(batch, "SETTLED", 1.0)
    rng = random.Random(provider)
    with ChatServer() as server:
        server.looks, server.pace = 2, 0.04  # so that no machine is through before it is killed
        study = make_study(questions, judge=judged(server, provider))
        kills = 0
        while kills < wanted:
            before, process = server.contacts, start(send, study.folder, 40)
            while server.contacts == before and process.exitcode is None:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.2))
            kills += process.exitcode is None
            process.kill()
            process.join()
            if len(server.orders) == questions // 40 and process.exitcode == 0:
                break
        print(f"{provider}: {kills} kills, {len(server.orders)} orders")
        server.pace = 0.0
        for _ in range(200):
            done = batch_study(study)
            if not done.going and not done.left:
                break
            time.sleep(1.0)
        assert kills >= wanted // 2
        asked = Counter(name.split("-")[1] for order in server.orders.values() for name, _ in order["wanted"])
        assert max(asked.values()) == 1
        assert len(asked) == questions
    query = "select count(*), count(distinct assignment) from answers where status = 'valid'"
    assert rows(study, query) == [(questions, questions)]


def test_every_provider_that_takes_batches_is_tried_here():
    assert set(TAKING) == {name for name, row in PROVIDERS.items() if row.batch}


def test_errors_are_ours():
    assert issubclass(JudgeError, AssayError)


# -- by hand, without a service -----------------------------------------------------------------------


def finished(**more):
    zeros = dict.fromkeys(("sent", "answered", "missing", "failed", "returned", "going", "left"), 0)
    return batch.BatchRun(**zeros | {"cost": 0.0} | more)


def test_batch_run_summary():
    assert finished(left=1).summary().splitlines() == ["No requests sent.", "No batch in progress; 1 label remaining."]
    whole = finished(
        sent=12, answered=7, missing=2, failed=1, returned=3, going=12, left=5, cost=0.12345,
        reasons={"m1: the model refused": 2, "m1: no reply": 1}, notes=("batch b1 of m1: going",),
    )  # fmt: skip
    assert whole.summary().splitlines() == [
        "12 requests sent.",
        "Results: 7 labels, 2 unparseable, 1 failed, 3 not processed; $0.1235.",
        "  1 × m1: no reply",
        "  2 × m1: the model refused",
        "batch b1 of m1: going",
        "12 requests in progress; run the same command again to store the results.",
    ]
    for one in ("answered", "missing", "failed", "returned"):
        assert finished(**{one: 1}).summary().splitlines()[1].startswith("Results: ")


def batches(monkeypatch, judge=None, *, price=None, most=None, typical=None):
    """The batches of a study that is in no store; of its judge each call costs what ``price`` says."""
    one = Judge(**{"name": "m1", "model": "tiny"} | (judge or {}))
    made = object.__new__(batch._Batches)
    request = lambda claim: Request(claim.model, [{"role": "user", "content": "x" * 398}])  # noqa: E731
    limits = SimpleNamespace(max_cost=most)
    study = SimpleNamespace(config=SimpleNamespace(limits=limits))
    made.plan, made.store = SimpleNamespace(study=study, request=request), None
    made.judges, made.prices, made.refused, made.notes = {"m1": one}, {"m1": price}, set(), {}
    made.told, made.back, made.going, made.part = [], [], 0, None
    made.tell = made.told.append
    monkeypatch.setattr(batch, "typical_output", lambda store, name: typical)
    monkeypatch.setattr(batch.work, "give_back", lambda store, claims: made.back.extend(claims))
    return made, one


class Sends:
    async def sent(self, request):
        return Sent({"model": request.model, "text": "y" * 78})


def claims_of(*models):
    return [SimpleNamespace(id=k, revision=k % 2, model=model) for k, model in enumerate(models)]


def dollars(tokens_in, tokens_out, **_):
    return tokens_in / 100 + tokens_out


@pytest.mark.parametrize(
    ("judge", "typical", "most", "committed", "n_sent"),
    [
        ({"max_tokens": 9}, None, 15.061, 0.0, 3),  # half of 104 / 100 + 9 each: 5.02
        ({"max_tokens": 9}, None, 15.059, 0.0, 2),
        ({"max_tokens": 9}, None, 15.061, 5.03, 1),  # 10.04 and 5.03 are more
        ({}, 9.4, 15.061, 0.0, 3),  # as long as replies were so far
        ({}, None, 250.0, 0.0, 1),  # 250 tokens until there are some: 125.52 each
        ({"max_tokens": 9}, None, 1.0, 0.0, 0),
        ({"max_tokens": 9}, None, None, 1e9, 4),
    ],
)
def test_as_many_are_sent_as_money_allows(monkeypatch, judge, typical, most, committed, n_sent):
    made, one = batches(monkeypatch, judge, price=dollars, most=most, typical=typical)
    claims = claims_of(*["tiny"] * 4)
    form = SimpleNamespace(one_model=False)
    model, bodies = asyncio.run(made._bodies(form, one, Sends(), "run", claims, committed))
    assert (model, list(bodies)) == ("tiny", [f"run-{k}-{k % 2}" for k in range(n_sent)])
    assert made.back == claims[n_sent:]
    if n_sent < 4:
        number = "1 question" if n_sent == 1 else f"{n_sent} questions"
        assert (made.refused, made.told) == ({"m1"}, [f"max_cost (${most:g}) lets {number} of m1 be sent now"])
    else:
        assert (made.refused, made.told) == (set(), [])


def test_batch_has_one_model_and_fits_the_limits(monkeypatch):
    made, one = batches(monkeypatch)
    claims = claims_of("a", "b", "a", "a")
    model, bodies = asyncio.run(made._bodies(SimpleNamespace(one_model=True), one, Sends(), "run", claims, 0.0))
    assert (model, list(bodies), made.back) == ("a", ["run-0-0", "run-2-0", "run-3-1"], [claims[1]])
    made, one = batches(monkeypatch)
    each = len(json.dumps({"model": "a", "text": "y" * 78})) + 200
    for room, n_sent in ((3 * each, 3), (3 * each - 1, 2)):
        monkeypatch.setattr(batch, "LARGEST_FILE", room)
        made.back.clear()
        _, bodies = asyncio.run(made._bodies(SimpleNamespace(one_model=False), one, Sends(), "run", claims, 0.0))
        assert len(bodies) == n_sent
        assert made.back == claims[n_sent:]
        assert made.refused == set(), "the rest goes into the next"


def test_limit_of_money_needs_a_price(monkeypatch):
    made, one = batches(monkeypatch, most=1.0)
    with pytest.raises(JudgeError, match="max_cost cannot be kept: the price of m1 is not known; give it a price"):
        asyncio.run(made._bodies(SimpleNamespace(one_model=False), one, Sends(), "run", claims_of("a"), 0.0))


@pytest.mark.parametrize(
    ("alive", "number", "age", "found", "ended", "words"),
    [
        (True, 3, 1e9, None, False, "is being sent by another process"),
        (False, 3, batch.SETTLED - 1, None, False, "was being sent when a run was ended; that is looked for again in"),
        (False, 3, batch.SETTLED, None, True, None),
        (False, None, 0, None, True, None),  # it had not come so far as to be sent
        (False, 3, 0, "b9", False, None),
    ],
)
def test_whether_a_batch_was_sent_of_which_that_is_not_known(monkeypatch, alive, number, age, found, ended, words):
    made, _ = batches(monkeypatch)
    ends, notes, asked = [], [], []

    async def find(service, record, known):
        asked.append(record["name"])
        return found

    monkeypatch.setattr(batch.work, "seconds_since", lambda store, at: age)
    monkeypatch.setattr(batch.work, "is_alive", lambda host, process: alive)
    monkeypatch.setattr(batch.work, "end_run", lambda store, run: ends.append(run))
    monkeypatch.setattr(batch.work, "note_batch", lambda store, record: notes.append(dict(record)))
    record = {"name": "n", "judge": "m1", "made_at": 0.0, "host": "h", "process": 1, "run": 7, "state": "making"}
    record |= {} if number is None else {"number": number}
    known = {"b1"}
    is_found = asyncio.run(made._is_found(SimpleNamespace(find=find), None, record, known))
    assert is_found == (found is not None)
    assert ends == ([7] if ended else [])
    assert [one["state"] for one in notes] == (["done"] if ended else ["sent"] if found else [])
    assert known == ({"b1", found} if found else {"b1"})
    assert made.going == (3 if words and not alive else 0)
    assert asked == ([] if alive or number is None else ["n"])
    assert (list(made.notes.values()) or [""])[0].startswith("" if words is None else f"batch n of m1: {words}")
    assert bool(made.notes) == (words is not None)


@pytest.mark.parametrize(
    ("action", "state", "looked", "cancelled", "taken", "going"),
    [
        ("send", "going", True, False, False, 3), ("send", "ended", True, False, True, 0),
        ("status", "going", True, False, False, 3), ("status", "ended", True, False, False, 3),
        ("cancel", "going", True, True, False, 3), ("cancel", "ended", True, False, True, 0),
        ("send", "silent", False, False, False, 3),
    ],
)  # fmt: skip
def test_batch_in_progress_by_action(monkeypatch, action, state, looked, cancelled, taken, going):
    made, _ = batches(monkeypatch)
    did = []

    class Form:
        async def look(self, service, number):
            if state == "silent":
                raise CallFailed("retry", "HTTP 503")
            did.append(f"look {number}")
            return batch.Order(number, state, state)

        async def cancel(self, service, number):
            did.append("cancel")

    async def take_in(form, service, record, order):
        did.append("take in")

    records = [
        {"name": "n", "judge": "m1", "id": "b1", "state": "sent", "number": 3},
        {"name": "o", "judge": "m1", "id": "b2", "state": "done", "number": 5},
        {"name": "p", "judge": "m2", "id": "b3", "state": "sent", "number": 7},  # of a judge who is not asked now
    ]
    monkeypatch.setattr(batch.work, "batches_kept", lambda store: records)
    monkeypatch.setattr(batch, "_form", lambda judge: Form())
    made.services, made._take_in, made.going = {"m1": None}, take_in, 99
    asyncio.run(made._look(action))
    assert did == ["look b1"] * looked + ["cancel"] * cancelled + ["take in"] * taken
    assert made.going == going
    said = {"silent": "HTTP 503"}.get(state, state)
    said = "is being cancelled; run --batch --cancel again to store its results" if cancelled else said
    assert made.notes == {"n": f"batch b1 of m1: {said}"}


@pytest.mark.slow
def test_parameters_are_looked_at_only_where_something_is_sent(make_study, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    judge = {"provider": "openai", "model": "gpt-4o-mini", "base_url": None}
    study = make_study(1, judge=judge)
    asked = []

    async def refuse(judges, services, config):
        asked.append([one.name for one in judges])
        raise JudgeError("temperature would not reach it")

    monkeypatch.setattr(batch, "refuse_what_is_not_sent", refuse)
    for action in ("status", "cancel"):
        assert batch.batch_study(study, action).going == 0
    assert asked == []
    with pytest.raises(JudgeError, match="temperature would not reach it"):
        batch.batch_study(study)
    assert asked == [["m1"]]


@pytest.mark.parametrize(
    ("result", "built", "status", "counted", "cost", "reason"),
    [
        (Completion("4", tokens_in=100, tokens_out=2), Answer("valid", 4), "valid", "valid", 1.5, None),
        (Completion("?", tokens_in=100, tokens_out=2), Answer("unreadable", reason="no label"), "unreadable", "missing",
         1.5, "no label"),
        (CallFailed("rejected", "HTTP 400: too long"), None, "failed", "failed", 0.0, "no reply: HTTP 400: too long"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_new", [True, False])
def test_result_is_written_once_at_half_the_price(monkeypatch, result, built, status, counted, cost, reason, is_new):
    """100 tokens in and 2 out are $3 by ``dollars``, and half of that in a batch."""
    made, _ = batches(monkeypatch, price=dollars)
    made.counts, made.reasons, made.cost = Counter(), Counter(), 0.0
    written, costs = [], []

    def build(plan, claim, completion, about, cost):
        costs.append(cost)
        return built

    def add(store, claim, run, answer, revision):
        written.append((run, answer.status, answer.reason, revision))
        return is_new

    monkeypatch.setattr(batch, "build_answer", build)
    monkeypatch.setattr(batch, "add_answer", add)
    claim = SimpleNamespace(id=3, revision=4, model="tiny", shown=None, annotator="m1")
    asyncio.run(made._write(Sends(), 7, claim, result))
    assert written == [(7, status, reason, 5)]
    assert costs == ([] if built is None else [1.5])
    assert made.cost == cost
    assert made.counts == ({counted: 1} if is_new else {})
    assert made.reasons == ({f"m1: {reason}": 1} if is_new and reason else {})
