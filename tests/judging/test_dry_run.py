"""What a run would take: calls, tokens and dollars by hand, and the words for them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from assay.errors import JudgeError, StudyError
from assay.judging import dry_run
from assay.judging.dry_run import (
    CostEstimate,
    JudgeEstimate,
    Shown,
    _claims_about,
    _render_calls,
    as_yaml,
    chosen_judges,
    estimate_study,
    part_asked,
    requests_of,
)
from assay.judging.services.client import expected_tokens
from assay.judging.services.http import Request, Sent
from assay.study.schema import Judge

PRICE = {"price": {"input": 1.0, "output": 10.0}}


def test_tokens_of_a_request_by_its_letters():
    words = [{"role": "system", "content": "x" * 70}, {"role": "user", "content": [
        {"type": "text", "text": "y" * 35}, {"type": "image_url", "image_url": {}}]}]  # fmt: skip
    assert expected_tokens(Request("m", words, None, None, None, {})) == pytest.approx(8 + 800 + (105 + 2) / 4)
    schema = {"type": "integer"}
    assert expected_tokens(Request("m", words[:1], None, None, schema, {})) == pytest.approx(
        4 + (70 + len('{"type":"integer"}')) / 4
    )


@pytest.mark.parametrize(
    ("judge", "out"),
    [({}, 12), ({"strategy": "chain-of-thought"}, 300), ({"max_tokens": 50}, 12), ({"effort": "low"}, 300)],
)
def test_estimate_by_hand(make_study, judge, out):
    """Each of 5 items, asked twice: the mean of the prompts that would be sent, and a usual reply."""
    study = make_study(5, judge=PRICE | {"repeats": 2} | judge)
    (found,) = estimate_study(study).judges
    each = [
        expected_tokens(Request("tiny", one.body["messages"], None, None, _schema(one.body), {}))
        for item in range(5) for one in requests_of(study, f"q{item:05}")
    ]  # fmt: skip
    assert (found.judge, found.calls, found.tokens_out) == ("m1", 10, 10 * out)
    assert found.tokens_in == round(10 * sum(each) / len(each))
    assert found.cost == pytest.approx((found.tokens_in + 10 * found.tokens_out) / 1e6)


def _schema(body):
    return body.get("response_format", {}).get("json_schema", {}).get("schema")


@pytest.mark.parametrize(("max_tokens", "each"), [(None, 250), (40, 40)])
def test_texts_are_as_long_as_they_may_be(make_study, max_tokens, each):
    questions = [{"name": "why", "text": "Why?", "scale": "text"}]
    (found,) = estimate_study(make_study(4, judge={"max_tokens": max_tokens}, questions=questions)).judges
    assert (found.calls, found.tokens_out) == (4, 4 * each)


def test_pairs_that_are_not_drawn_yet_are_counted_in_words(make_study):
    parts = {
        "questions": [
            {"name": "essay", "text": "Write.", "scale": "text"},
            {"name": "better", "text": "Which?", "scale": "preference", "options": ["essay"], "show": []},
        ],
        "systems": [
            {"name": f"s{k}", "model": "m", "base_url": "http://127.0.0.1:9/v1", "repeats": 2 + k} for k in range(3)
        ],
    }
    for comparisons, pairs in (({"pairs": 3}, 6 * 3 * 3), ({"pairs": 9}, 6 * 3 * 4), ({"items": 2}, 2 * 3 * 4)):
        estimate = estimate_study(make_study(6, comparisons=comparisons, **parts))
        assert estimate.later == (f"After all outputs exist, each judge also compares {pairs} pairs of them.")
        assert [one.calls for one in estimate.judges] == [12, 18, 24, 0]


def test_cost_estimate_summary():
    one, two = JudgeEstimate("a", 10, 1234, 120, 0.0123), JudgeEstimate("b", 5, 10, 60, None)
    known = CostEstimate((one, JudgeEstimate("c", 0, 0, 0, None)), 0.5, 0.51, lost="3 answers would no longer count")
    assert known.cost == pytest.approx(0.0123)
    assert known.summary().splitlines() == [
        "3 answers would no longer count; these calls request them again.",
        "a: 10 calls, about 1234 tokens in and 120 out, about $0.0123",
        "c: 0 calls, about 0 tokens in and 0 out, price unknown",
        "Total: 10 calls, estimated $0.0123 ($0.5000 spent so far).",
        "This exceeds max_cost ($0.51): the run would stop there.",
        "Token counts are estimates; retries are extra.",
    ]
    enough = CostEstimate((one, one), 0.5, 0.5246, later="Later.").summary().splitlines()
    assert enough[2:4] == ["Total: 20 calls, estimated $0.0246 ($0.5000 spent so far).", "Later."]
    assert "max_cost" not in "".join(enough)
    unknown = CostEstimate((one, two), 0.0, 0.001)
    assert unknown.cost is None
    assert "Total: 15 calls, cost unknown (set price for the judge) ($0.0000 spent so far)." in unknown.summary()
    assert "max_cost" not in unknown.summary()
    assert CostEstimate((), 0.0, None).cost == 0.0


def test_call_as_it_is_shown():
    call = Shown("m", "q", "i1", {"scale": "1-5"}, "http://x/v1", {"text": "two\nlines", "é": [1, "a"]})
    assert str(call) == (
        "# judge m, question q, item i1, scale 1-5\n# POST http://x/v1\ntext: |-\n  two\n  lines\né:\n- 1\n- a\n"
    )
    twice = Shown("m", "q", "i1", {}, None, {"a": 1}, times=2)
    assert str(twice).splitlines()[:2] == [
        "# judge m, question q, item i1, 2 times", "# answered from a file; a model would be sent",
    ]  # fmt: skip
    assert as_yaml({"a": "x" * 300}) == f"a: {'x' * 300}\n"


def test_chosen_judges(make_study):
    study = make_study(2)
    with pytest.raises(JudgeError, match=r"judge 'm2' is not in study\.yaml; it has m1"):
        estimate_study(study, judges=["m2"])
    assert [one.judge for one in estimate_study(study, judges=["m1"]).judges] == ["m1"]


def test_chosen_judges_has_systems_first_and_all_by_default():
    models = tuple(SimpleNamespace(name=name) for name in ("s1", "s2", "m1"))
    study = SimpleNamespace(models=models)
    assert [one.name for one in chosen_judges(study, None)] == ["s1", "s2", "m1"]
    assert [one.name for one in chosen_judges(study, ["m1", "s2"])] == ["s2", "m1"]
    for none in ([], None):
        with pytest.raises(JudgeError, match=r"study\.yaml has no judge that is a model"):
            chosen_judges(SimpleNamespace(models=() if none is None else models), none)


@pytest.mark.parametrize(
    ("split", "part", "asked"),
    [
        (True, None, "development"), (True, "development", "development"), (True, "test", "test"), (True, "all", None),
        (False, None, None), (False, "all", None),
    ],
)  # fmt: skip
def test_which_part_is_asked_about(split, part, asked):
    assert part_asked(SimpleNamespace(parts={"q1": "test"} if split else {}, folder="s"), part) == asked


@pytest.mark.parametrize("part", ["development", "test"])
def test_items_that_are_not_split_have_no_parts(part):
    with pytest.raises(StudyError, match="the items of s are not split; split them with: assay study split s"):
        part_asked(SimpleNamespace(parts={}, folder="s"), part)


def test_calls_that_are_alike_are_shown_once_with_their_number():
    closed = []

    class Given:
        async def sent(self, request):
            return Sent({"text": request}, "http://x/v1")

        async def close(self):
            closed.append(self)

    def claim(item, judge, number=1):
        about = {"annotator": judge, "question": number, "condition": {"n": item.name}}
        return SimpleNamespace(item=item, **about)

    one, two = SimpleNamespace(name="i1", text="a"), SimpleNamespace(name="i2", text="b")
    questions = {k: SimpleNamespace(definition=SimpleNamespace(name=f"q{k}")) for k in (1, 2)}
    plan = SimpleNamespace(questions=questions, request=lambda claim: claim.item.text)
    claims = [
        claim(one, "m1"),
        claim(one, "m1"),
        claim(two, "m1"),
        claim(one, "m2"),
        claim(one, "m1", 2),
        claim(one, "m1"),
    ]
    providers = {"m1": Given(), "m2": Given()}
    shown = asyncio.run(_render_calls(plan, providers, claims))
    assert [(call.judge, call.question, call.item, call.body["text"], call.times) for call in shown] == [
        ("m1", "q1", "i1", "a", 3), ("m1", "q1", "i2", "b", 1), ("m2", "q1", "i1", "a", 1), ("m1", "q2", "i1", "a", 1),
    ]  # fmt: skip
    assert closed == list(providers.values())


def test_claims_about_given_or_first_item(monkeypatch):
    names = {"source": ["s1", "s2"], "item": ["p1", "p2", "p3"]}
    there = {"s2": ["s2 by m1"], "p2": ["p2 by m1"], "p3": ["p3 by m1"]}
    monkeypatch.setattr(dry_run, "items", lambda store, role: [(SimpleNamespace(name=one), "") for one in names[role]])
    monkeypatch.setattr(dry_run.work, "item_claims", lambda store, name, judges: there.get(name, []))
    plan = SimpleNamespace(store=None, parts=[SimpleNamespace(role="source"), SimpleNamespace(role="item")])
    assert _claims_about(plan, ["m1"], None) == ["s2 by m1", "p2 by m1"]
    assert _claims_about(plan, ["m1"], "p3") == ["p3 by m1"]
    with pytest.raises(StudyError, match="no judge labels item 'p1'"):
        _claims_about(plan, ["m1"], "p1")
    with pytest.raises(StudyError, match="item 'p4' is not in the study"):
        _claims_about(plan, ["m1"], "p4")
    there.clear()
    with pytest.raises(StudyError, match="no judge labels any item"):
        _claims_about(plan, ["m1"], None)


@pytest.mark.parametrize(
    ("judge", "schema", "out"),
    [
        ({}, {}, 12), ({"effort": "none"}, {}, 12), ({"effort": "minimal"}, {}, 12), ({"effort": "low"}, {}, 300),
        ({}, None, 250), ({"max_tokens": 40}, None, 40), ({"effort": "low"}, None, 250),
        ({"structured": "never"}, None, 12),
    ],
)  # fmt: skip
@pytest.mark.parametrize("known", [None, 33.0])
def test_tokens_and_dollars_of_open_questions(monkeypatch, judge, schema, out, known):
    """Three open and two failed calls of 4 + 38 / 4 tokens at $1, and of replies as long as those so far."""
    request = Request("m", [{"role": "user", "content": "x" * 36}], None, None, schema, {})
    monkeypatch.setattr(dry_run.work, "counts", lambda store, names, part: {"open": 3, "failed": 2, "valid": 9})
    asked = []
    monkeypatch.setattr(dry_run.work, "sample", lambda store, name, n, part: asked.append(n) or [0, 1])
    monkeypatch.setattr(dry_run.work, "count_probes", lambda store, name, part: 4)
    monkeypatch.setattr(dry_run, "typical_output", lambda store, name: known)
    given = Judge(name="m1", model="m", **PRICE, **judge)
    found = dry_run._estimate(SimpleNamespace(store=None, questions={}, request=lambda claim: request), given, None)
    assert asked == [100], "prompts that are rendered, at most"
    tokens_in, tokens_out = round(5 * (4 + 38 / 4)), 5 * (out if known is None else 33)
    assert (found.calls, found.tokens_in, found.tokens_out, found.probes) == (5, tokens_in, tokens_out, 4)
    assert found.cost == pytest.approx((tokens_in + 10 * tokens_out) / 1e6)


def test_estimate_of_no_open_questions_is_zero(monkeypatch):
    monkeypatch.setattr(dry_run.work, "counts", lambda store, names, part: {"valid": 9})
    monkeypatch.setattr(dry_run.work, "sample", lambda store, name, n, part: [])
    monkeypatch.setattr(dry_run.work, "count_probes", lambda store, name, part: 0)
    monkeypatch.setattr(dry_run, "typical_output", lambda store, name: None)
    found = dry_run._estimate(SimpleNamespace(store=None, questions={}), Judge(name="m1", model="m", **PRICE), None)
    assert found == JudgeEstimate("m1", 0, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("judge", "tokens"),
    [
        ({"model": "gpt-5-mini"}, 300), ({"model": "o4-mini", "max_tokens": 100}, 100), ({"model": "gpt-4o-mini"}, 12),
        ({"model": "gpt-5-mini", "effort": "minimal"}, 12), ({"model": "openai/gpt-oss-20b"}, 300),
        ({"model": "tiny", "strategy": "chain-of-thought", "max_tokens": 40}, 40), ({"model": "deepseek-r1"}, 300),
    ],
)  # fmt: skip
def test_estimate_expects_reasoning_and_no_more_than_max_tokens(make_study, judge, tokens):
    (one,) = estimate_study(make_study(2, judge=judge)).judges
    assert one.tokens_out == 2 * tokens
