"""Each provider of the table in docs/judging.md, asked over real HTTP at a local server."""

from __future__ import annotations

import asyncio
import json
import math
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Say

from assay.data.scales import parse_scale
from assay.errors import JudgeError, StudyError
from assay.judging.dry_run import requests_of
from assay.judging.run import judge_study
from assay.judging.services.formats import AnthropicFormat, ChatFormat, GoogleFormat, ResponsesFormat
from assay.judging.services.http import CallFailed, Request, failure, requested_wait
from assay.judging.services.likelihood import label_likelihood
from assay.judging.services.providers import PROVIDERS, Access, provider_for
from assay.reading import study_labels

DOCS = Path(__file__).parents[2] / "docs/judging.md"
KEY = "test-key-0123456789"


def documented():
    """The rows of the table: provider -> (effort, form, probabilities, batches)."""
    rows = re.findall(r"^\| (`[^|]*`) \|(.+)\|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    cells = {names: [cell.strip().strip("`") for cell in rest.split("|")] for names, rest in rows}
    return {name: row for names, row in cells.items() for name in re.findall(r"`([\w-]+)`", names)}


TOKENS = [('{"label', {}), ('":', {}), (" ", {}), ("4", {"4": 0.6, "5": 0.3, "3": 0.1}), ("}", {"}": 1.0})]


def judged(server, provider, query="", **more):
    root = server.url.removesuffix("/v1")
    bases = {"anthropic": root, "google": root, "azure": root}
    judge = {"provider": provider, "model": "tiny", "base_url": bases.get(provider, server.url) + query}
    judge["key"] = "TEST_KEY"
    return judge | more


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)


def at(body, path):
    for name in path.split("."):
        body = body.get(name, {}) if isinstance(body, dict) else {}
    return body


FORMS = {"response_format": "response_format.json_schema.schema", "text.format": "text.format.schema"}
FORMS |= {"output_config.format": "output_config.format.schema"}
FORMS |= {"responseJsonSchema": "generationConfig.responseJsonSchema"}
EFFORTS = {"thinkingLevel": "generationConfig.thinkingConfig.thinkingLevel"}
PROBABILITIES = {"top_logprobs": "top_logprobs", "logprobs": "generationConfig.logprobs"}


def test_table_names_every_provider_that_is_spoken_to_directly():
    assert set(documented()) == {name for name, row in PROVIDERS.items() if row.format is not None}
    for name, (_, _, probabilities, batches) in documented().items():
        assert (probabilities != "no") == PROVIDERS[name].format.has_probabilities, name
        assert (batches == "yes") == (PROVIDERS[name].batch is not None), name


@pytest.mark.slow
@pytest.mark.parametrize("provider", documented())
def test_row_of_the_table_is_what_goes_over_the_wire(make_study, provider):
    effort, form, probabilities, _ = documented()[provider]
    score = {} if probabilities == "no" else {"score": "expected"}
    with ChatServer(lambda n, body, server: Say('{"label": 4}', tokens=TOKENS)) as server:
        judge = judged(server, provider, effort="low", max_tokens=600, temperature=0, **score)
        study = make_study(2, judge=judge)
        done = judge_study(study)
    assert (done.answered, done.tokens_in, done.tokens_out) == (2, 200, 20)
    labels = study_labels(study).labels
    body = server.requests[0]
    assert at(body, EFFORTS.get(effort, effort)) == "low"
    assert at(body, FORMS[form])["properties"]["label"]["enum"] == [1, 2, 3, 4, 5]
    assert KEY in json.dumps(server.headers[0])
    assert "@q00000@" in json.dumps(body)
    if probabilities == "no":
        assert labels["label"].to_list() == [4, 4]
        with pytest.raises(JudgeError, match=rf"{provider} returns no token probabilities, which score: expected"):
            judge_study(make_study(2, judge=judge | {"score": "expected"}))
    else:
        assert at(body, PROBABILITIES[probabilities]) == 20
        assert labels["label"].to_list() == pytest.approx([4 * 0.6 + 5 * 0.3 + 3 * 0.1] * 2)
        assert labels["probability"].to_list() == pytest.approx([0.6, 0.6])
        assert labels["p_5"].to_list() == pytest.approx([0.3, 0.3])
        assert labels["said"].to_list() == [4, 4]


@pytest.mark.parametrize(
    ("provider", "more", "path"),
    [
        ("openai", {}, "/v1/chat/completions"),
        ("openai-responses", {}, "/v1/responses"),
        ("anthropic", {"max_tokens": 5}, "/v1/messages"),
        ("google", {}, "/v1beta/models/tiny:generateContent"),
        ("azure", {"query": "?api-version=2024-10-21"},
         "/openai/deployments/tiny/chat/completions?api-version=2024-10-21"),
    ],
)  # fmt: skip
def test_request_addresses(make_study, provider, more, path):
    with ChatServer() as server:
        judge_study(make_study(1, judge=judged(server, provider, **more)))
    assert server.paths == [path]


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [
        ("openai", "Authorization", f"Bearer {KEY}"), ("openai-responses", "Authorization", f"Bearer {KEY}"),
        ("azure", "api-key", KEY), ("anthropic", "x-api-key", KEY), ("google", "x-goog-api-key", KEY),
    ],
)  # fmt: skip
def test_how_the_key_is_sent(make_study, provider, header, value):
    with ChatServer() as server:
        judge_study(make_study(1, judge=judged(server, provider)))
    assert {k.lower(): v for k, v in server.headers[0].items()}[header.lower()] == value


@pytest.mark.slow
def test_key_from_the_environment_goes_to_its_own_service_alone(make_study, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-anthropic-0123456789")
    with ChatServer() as server:
        judge_study(make_study(1, judge=judged(server, "anthropic", key=None)))
    assert "of-anthropic" not in json.dumps(server.headers)


@pytest.mark.slow
def test_headers_and_query_are_sent_and_secrets_come_from_the_environment(make_study, monkeypatch):
    monkeypatch.setenv("TENANT_TOKEN", "tenant-secret-0123456789")
    headers = {"X-Team": "annotation", "X-Api-Token": "Bearer ${TENANT_TOKEN}"}
    words = "no tenant-secret-0123456789 here"
    with ChatServer(lambda n, b, server: Say(status=400, error=words) if n == 1 else Say()) as server:
        study = make_study(2, judge=judged(server, "openai", headers=headers, query="?tier=batch"))
        done = judge_study(study)
    assert server.headers[0]["X-Team"] == "annotation"
    assert server.headers[0]["X-Api-Token"] == "Bearer tenant-secret-0123456789"
    assert server.paths[0] == "/v1/chat/completions?tier=batch"
    assert "tenant-secret" not in str(done)
    monkeypatch.delenv("TENANT_TOKEN")
    with pytest.raises(JudgeError, match="needs a key: set the environment variable TENANT_TOKEN"):
        judge_study(study)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"headers": {"X-Api-Key": "sk-123"}}, r"judges\[0\].headers: 'X-Api-Key' may hold a secret: write \$\{NAME\}"),
        ({"headers": {"X-A": "a\nb"}}, "'X-A' is not a header of one line"),
        ({"base_url": "https://x.org?api_key=x"}, "must not hold 'api_key'; keys come from the environment"),
        ({"score": "expectd"}, "Input should be 'label', 'probabilities' or 'expected'|input should be"),
        ({"limits": {"max_cost": 3}}, "max_cost is for the whole study: write it under limits: at the top"),
    ],
)
def test_judge_rejects_invalid_settings(make_study, judge, words):
    with pytest.raises(StudyError, match=words):
        make_study(1, judge=judge)


def test_expected_score_needs_numbers(make_study):
    question = [{"name": "q", "text": "Is it?", "scale": "nominal:yes,no"}]
    with pytest.raises(StudyError, match="expected is a mean, and no question has a numeric scale; use probabilities"):
        make_study(1, judge={"score": "expected"}, questions=question)


@pytest.mark.slow
def test_probabilities_of_words_accompany_the_label(make_study):
    question = [{"name": "q", "text": "Is it?", "scale": "nominal:yes,no"}]
    tokens = [('{"label": "', {}), ("no", {"no": 0.7, "yes": 0.2, " Maybe": 0.1}), ('"}', {})]
    with ChatServer(lambda n, b, server: Say('{"label": "no"}', tokens=tokens)) as server:
        study = make_study(3, judge=judged(server, "openai", score="probabilities"), questions=question)
        assert judge_study(study).answered == 3
    labels = study_labels(study).labels
    assert labels["label"].to_list() == ["no"] * 3
    assert labels["p_yes"].to_list() == pytest.approx([2 / 9] * 3, abs=1e-6)
    assert labels["on_labels"].to_list() == pytest.approx([0.9] * 3)


def test_expected_score_requires_probabilities(make_study):
    with ChatServer() as server:
        study = make_study(2, judge=judged(server, "openai", score="expected"))
        done = judge_study(study)
    assert (done.answered, done.missing) == (0, 2)
    assert done.reasons["m1: the service sent no probabilities of tokens"] == 2


@pytest.mark.slow
def test_limits_of_a_judge_are_its_own(make_study):
    with ChatServer(lambda n, b, server: Say(delay=0.02)) as server:
        judges = [
            {"name": "slow", "model": "a", "base_url": server.url, "limits": {"concurrency": 1}},
            {"name": "fast", "model": "b", "base_url": server.url},
        ]
        study = make_study(10, judges=judges, limits={"concurrency": 8})
        assert judge_study(study, judges=["slow"]).answered == 10
        assert server.most_busy == 1
        assert judge_study(study).answered == 10
        assert server.most_busy > 2


def test_openai_itself_takes_the_newer_name_for_every_model(make_study):
    study = make_study(1, judge={"model": "gpt-4o-mini", "base_url": None, "max_tokens": 9})
    (shown,) = requests_of(study)
    assert (shown.url, shown.body["max_completion_tokens"]) == ("https://api.openai.com/v1/chat/completions", 9)


@pytest.mark.slow
def test_redirect_is_not_followed_with_the_key(make_study):
    with (
        ChatServer(lambda n, b, s: Say(status=307, headers={"Location": s.url + "/files"})) as server,
        pytest.raises(JudgeError, match=r"HTTP 307: the service redirects to http://.*/files; set base_url"),
    ):
        judge_study(make_study(1, judge=judged(server, "anthropic")))
    assert server.count == 2, "the second call is about no item"


def test_file_elsewhere_is_not_fetched_with_the_key(make_study):
    service = provider_for(make_study(1, judge={"key": "TEST_KEY"}).judges[0], Access(Path(), 1, 1))

    async def fetch():
        return [line async for line in service.lines("http://127.0.0.2:9/results")]

    with pytest.raises(CallFailed, match=r"the file is at 127\.0\.0\.2:9, which is not sent the key"):
        asyncio.run(fetch())


def test_azure_says_where_it_is(make_study):
    study = make_study(1, judge={"provider": "azure", "model": "x", "base_url": None})
    with pytest.raises(JudgeError, match=r"needs base_url: where azure is, such as https://NAME\.openai\.azure\.com"):
        judge_study(study)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai-responses", "anthropic", "google"])
def test_service_that_refuses_the_form_is_asked_without_it(make_study, provider):
    def script(n, body, server):
        form = {"openai-responses": "text", "anthropic": "output_config", "google": "generationConfig"}[provider]
        refuses = form in body and "chema" in json.dumps(body[form])
        return Say(status=400, error="output_format json_schema is not supported") if refuses else Say()

    with ChatServer(script) as server:
        assert judge_study(make_study(5, judge=judged(server, provider), limits={"concurrency": 1})).answered == 5
        assert server.count == 6, "found out once"


# -- formats by hand --------------------------------------------------------------------------------

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}
TALK = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "u"}, PICTURE]},
    {"role": "assistant", "content": "a"},
    {"role": "user", "content": "again"},
]


def test_turns_and_images_in_each_format():
    request = Request("m", TALK, 0.5, 7, None, {"top_k": 3})
    responses = ResponsesFormat().body(request, None)
    assert responses["input"][1]["content"][1] == {"type": "input_image", "image_url": PICTURE["image_url"]["url"]}
    assert (responses["max_output_tokens"], responses["top_k"], responses["store"]) == (7, 3, False)
    anthropic = AnthropicFormat().body(request, None)
    assert anthropic["system"] == "s"
    assert [turn["role"] for turn in anthropic["messages"]] == ["user", "assistant", "user"]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}
    assert anthropic["messages"][0]["content"][1] == {"type": "image", "source": source}
    google = GoogleFormat().body(request, None)
    assert google["systemInstruction"] == {"parts": [{"text": "s"}]}
    assert [turn["role"] for turn in google["contents"]] == ["user", "model", "user"]
    assert google["contents"][0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}}
    assert google["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 7, "topK": 3}


def test_ends_of_replies_in_each_format():
    chat = {"choices": [{"message": {"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "4"},
    ]}, "finish_reason": "length"}]}  # fmt: skip
    found = ChatFormat().completion(chat)  # as Mistral's reasoning models reply
    assert (found.text, found.reasoning, found.finish) == ("4", "hm", "length")
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    assert ResponsesFormat().completion(cut).finish == "length"
    refused = {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}
    assert ResponsesFormat().completion(refused) == ResponsesFormat().completion(refused)
    assert ResponsesFormat().completion(refused).finish == "refusal"
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "4"}]
    used = {"input_tokens": 3, "cache_read_input_tokens": 90, "output_tokens": 2}
    said = AnthropicFormat().completion({"content": blocks, "stop_reason": "max_tokens", "usage": used})
    assert (said.text, said.reasoning, said.finish, said.tokens_in) == ("4", "hm", "length", 93)
    blocked = GoogleFormat().completion({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (blocked.finish, blocked.text, blocked.why) == ("filtered", "(blocked: SAFETY)", "SAFETY")
    parts = [{"text": "hm", "thought": True}, {"text": "4"}]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 1, "thoughtsTokenCount": 5}
    found = GoogleFormat().completion({"candidates": [{"content": {"parts": parts}}], "usageMetadata": usage})
    assert (found.text, found.reasoning, found.tokens_out) == ("4", "hm", 6)


@pytest.mark.parametrize(
    ("form", "reply", "tokens"),
    [
        (ChatFormat(), {"choices": [{"message": {"content": "4"}}], "usage": {
            "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 7}}}, (100, 10, 80, None, 7)),
        (ChatFormat(), {"choices": [{"message": {"content": "4"}}], "usage": {
            "prompt_tokens": 100, "prompt_tokens_details": None, "completion_tokens": 10}},
         (100, 10, None, None, None)),
        (ResponsesFormat(), {"output": [], "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 80},
            "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 7}}}, (100, 10, 80, None, 7)),
        (AnthropicFormat(), {"content": [], "usage": {
            "input_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 15, "output_tokens": 10}},
         (100, 10, 80, 15, None)),
        (GoogleFormat(), {"candidates": [{}], "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 3,
            "thoughtsTokenCount": 7}}, (100, 10, 80, None, 7)),
    ],
)  # fmt: skip
def test_tokens_of_a_cache_and_of_reasoning_are_counted_in_each_format(form, reply, tokens):
    found = form.completion(reply)
    assert (found.tokens_in, found.tokens_out, found.cached_in, found.written_in, found.reasoning_out) == tokens


def test_wait_that_a_service_asks_for():
    assert requested_wait({"retry-after-ms": "250", "Retry-After": "9"}, "") == 0.25
    assert requested_wait({"Retry-After": "9"}, "") == 9
    assert requested_wait({}, '{"error": {"details": [{"retryDelay": "13.5s"}]}}') == 13.5
    assert requested_wait({}, "busy") is None


def test_dead_key_of_google_is_a_dead_key():
    body = '{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}'
    assert failure(400, body, None, None).kind == "fatal"


def test_reply_without_end_is_not_read_to_its_end(make_study, monkeypatch):
    monkeypatch.setattr("assay.judging.services.providers.LARGEST_REPLY", 50_000)
    with ChatServer(lambda n, b, server: Say("x" * 100_000)) as server:
        done = judge_study(make_study(1, server.url))
    assert "the reply has more than 50,000 bytes" in " ".join(done.reasons)


# -- how likely a label was -------------------------------------------------------------------------


def likely(pairs):
    return [(token, [(other, math.log(p)) for other, p in there.items()]) for token, there in pairs]


def likelihood(pairs, label, scale="1-5", words=()):
    return label_likelihood(likely(pairs), label, parse_scale(scale), dict(words))


def test_label_that_the_json_states_counts_and_not_one_that_is_mentioned():
    pairs = [('{"reasoning": "', {}), ("4", {"4": 1.0}), (' of 5", "label": ', {}), ("2", {"2": 0.8, "3": 0.2})]
    pairs += [("}", {"}": 1.0})]
    found = likelihood(pairs, 2)
    assert found.shares == pytest.approx({1: 0, 2: 0.8, 3: 0.2, 4: 0, 5: 0})


def test_spaces_quotes_and_case_do_not_make_another_label():
    pairs = [("Answer:", {}), (" Yes", {" Yes": 0.5, "yes": 0.1, ' "Yes': 0.1, " No": 0.2, "no": 0.1})]
    found = likelihood(pairs, "yes", "nominal:yes,no")
    assert found.shares == pytest.approx({"yes": 0.7, "no": 0.3})


def test_ten_is_not_one():
    whole = [('{"label": ', {}), ("1", {"1": 0.5, "10": 0.3, "9": 0.2}), ("}", {"}": 1.0})]
    assert likelihood(whole, 1, "1-10").shares[10] == pytest.approx(0.3)
    digits = [('{"label": ', {}), ("1", {"1": 0.8, "9": 0.2}), ("0", {"0": 0.25, "}": 0.75}), ("}", {"}": 1.0})]
    found = likelihood(digits, 10, "1-10")
    assert (found.shares[10], found.shares[1]) == pytest.approx((0.2, 0.6))
    other = [('{"label": ', {}), ("9", {"9": 0.6, "1": 0.4}), ("}", {"}": 1.0})]
    assert likelihood(other, 9, "1-10").reason == (
        "'1' and '10' begin with the same token, so their probabilities cannot be separated"
    )


def test_words_in_pieces():
    words = {-1: "first", 1: "second", 0: "tie"}
    pairs = [('{"label": "', {}), ("sec", {"sec": 0.6, "fir": 0.3, "tie": 0.1}), ('ond"}', {})]
    assert likelihood(pairs, 1, "preference", words).shares == pytest.approx({-1: 0.3, 1: 0.6, 0: 0.1})


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([("4", {})], "the service sent no probabilities of tokens"),
        ([("good", {"good": 1.0})], "the label is not where tokens have probabilities"),
        ([("4", {"4": 0.2, "Well": 0.8})], "the labels have 0.20 of the probability of their place"),
    ],
)
def test_label_likelihood_gives_reason_if_unknown(pairs, reason):
    assert likelihood(pairs, 4).reason == reason


@pytest.mark.slow
def test_probability_is_a_signal_for_a_route(make_study):
    import polars as pl

    from assay import Annotations, route

    def script(n, body, server):
        p = 0.5 + 0.49 * (n % 50) / 50
        return Say('{"label": 4}', tokens=[('{"label": ', {}), ("4", {"4": p, "2": 1 - p}), ("}", {})])

    with ChatServer(script) as server:
        study = make_study(60, judge=judged(server, "openai", score="probabilities"))
        assert judge_study(study).answered == 60
    mine = study_labels(study).labels.select("item", "annotator", "label", "probability")
    people = [
        mine.select("item", "label").with_columns(
            pl.lit(name).alias("annotator"), pl.lit(None, pl.Float64).alias("probability")
        )
        for name in ("p1", "p2")
    ]
    table = Annotations.from_frame(
        pl.concat([mine, *(one.select(mine.columns) for one in people)]), scale="1-5", judges=["m1"]
    )
    found = route(table, "m1", signal="probability", epsilon=0.1)
    assert found.decide()["signal"].null_count() == 0


def test_call_failed_says_no_key():
    assert isinstance(failure(500, "x", None, None), CallFailed)


# -- a rule of assay route --------------------------------------------------------------------------


ONE = {"questions": [{"name": "quality", "text": "How good is it?", "scale": "1-5", "show": ["text"]}]}


def routed_by(make_study, server, rule, **judge):
    parts = {"items": {"file": "items.csv"}, **ONE}
    study = make_study(6, judge=judged(server, "openai", route="rule.json", **judge), **parts)
    rows = "".join(f"q{i:05},@q{i:05}@,{i / 10 if i else ''}\n" for i in range(6))
    (study.folder / "items.csv").write_text("item,text,sure\n" + rows)
    (study.folder / "rule.json").write_text(json.dumps({"judge": "m1", "threshold": 0.3} | rule))
    return study


@pytest.mark.slow
def test_items_of_which_a_judge_is_not_sure_are_not_asked(make_study):
    with ChatServer() as server:
        study = routed_by(make_study, server, {"signal": "sure"})
        done = judge_study(study)
        assert (done.answered, server.count) == (3, 3)
        assert "m1 is not asked about 3 of 6 items: 'sure' is below 0.3 there (rule.json), so they" in done.notes[0]
        assert study_labels(study).labels["item"].to_list() == ["q00003", "q00004", "q00005"]
        (study.folder / "rule.json").write_text('{"judge": "m1", "signal": "sure", "threshold": 0.2}')
        assert judge_study(study).answered == 1, "a rule that changes costs what it adds"


def test_answers_of_which_a_judge_is_not_sure_do_not_count(make_study):
    def script(n, body, server):
        p = 0.9 if "@q00001@" in json.dumps(body) else 0.6
        return Say('{"label": 4}', tokens=[('{"label": ', {}), ("4", {"4": p, "2": 1 - p}), ("}", {})])

    with ChatServer(script) as server:
        rule = {"signal": "probability", "threshold": 0.8}
        study = routed_by(make_study, server, rule, score="probabilities")
        done = judge_study(study)
    assert (done.answered, done.missing) == (1, 5)
    assert done.reasons == {"m1: left to people: probability 0.6 is below 0.8 (rule.json)": 5}
    assert study_labels(study).labels["item"].to_list() == ["q00001"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"signal": "sure", "judge": "m2"}, r"rule\.json is a rule for 'm2'"),
        ({"signal": "repeats"}, "goes by 'repeats', which is known when all answers are there"),
        ({"signal": "probability"}, "goes by 'probability', which score: probabilities or expected brings"),
        ({"signal": "surre"}, "goes by 'surre': column 'surre' is not in the items; did you mean 'sure'?"),
        ({}, r"rule\.json does not contain a rule of assay route --rule"),
    ],
)
def test_rules_that_cannot_be_followed(make_study, rule, words):
    with ChatServer() as server, pytest.raises(StudyError, match=words.replace("?", r"\?")):
        judge_study(routed_by(make_study, server, rule))
    assert server.count == 0


def test_judge_that_may_have_nothing_is_asked_nothing(make_study):
    with ChatServer() as server:
        judge_study(routed_by(make_study, server, {"signal": "sure", "threshold": None}))
        assert server.count == 0


def test_google_format_places_parameters():
    params = {
        "safety_settings": [{"category": "x"}], "cachedContent": "c1", "top_p": 0.5,
        "generationConfig": {"topK": 3, "serviceTier": "flex"}, "nobody_knows": 1,
    }  # fmt: skip
    request = Request("m", [{"role": "user", "content": "?"}], 0.0, 7, None, params, effort="low", alternatives=5)
    body = GoogleFormat().body(request, None)
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": "?"}]}], "safetySettings": [{"category": "x"}],
        "cachedContent": "c1", "serviceTier": "flex",
        "generationConfig": {
            "temperature": 0.0, "maxOutputTokens": 7, "topP": 0.5, "topK": 3, "responseLogprobs": True, "logprobs": 5,
            "thinkingConfig": {"thinkingLevel": "low"},
        },
    }  # fmt: skip
    plain = GoogleFormat().body(Request("m", [{"role": "user", "content": "?"}]), None)
    assert plain == {"contents": [{"role": "user", "parts": [{"text": "?"}]}]}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("claude", "provider 'claude' is called 'anthropic' in assay"),
        ("OpenAI", "provider 'OpenAI' is called 'openai' in assay"),
        ("gemini", "provider 'gemini' is called 'google' in assay"),
        ("anthropc", "did you mean 'anthropic'?"),
        ("open_router", "write 'provider: openai', 'base_url: https://openrouter.ai/api/v1'"),
        ("nothing", "For an endpoint with OpenAI's chat format, set base_url"),
    ],
)
def test_unknown_provider_is_answered_with_the_right_name(make_study, name, words):
    with pytest.raises(JudgeError, match=re.escape(words) + "$"):
        judge_study(make_study(1, judge={"provider": name}))
