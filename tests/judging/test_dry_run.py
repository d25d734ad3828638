"""What a run would take: calls, tokens and dollars by hand, and the words for them."""

from __future__ import annotations

import re

import pytest
from chat_server import ChatServer, Say

from assay.errors import JudgeError, StudyError
from assay.judging.dry_run import (
    CostEstimate,
    JudgeEstimate,
    Shown,
    as_yaml,
    chosen_judges,
    estimate_study,
    part_asked,
    requests_of,
)
from assay.judging.run import judge_study
from assay.judging.services.client import expected_tokens
from assay.judging.services.http import Request
from assay.study.definition import load_study
from assay.study.split import split_study

PRICE = {"price": {"input": 1.0, "output": 10.0}}


def test_tokens_of_a_request_by_its_letters():
    words = [{"role": "system", "content": "x" * 70}, {"role": "user", "content": [
        {"type": "text", "text": "y" * 35}, {"type": "image_url", "image_url": {}}]}]  # fmt: skip
    assert expected_tokens(Request("m", words, None, None, None, {})) == pytest.approx(8 + 800 + (105 + 2) / 4)
    schema = {"type": "integer"}
    assert expected_tokens(Request("m", words[:1], None, None, schema, {})) == pytest.approx(
        4 + (70 + len('{"type":"integer"}')) / 4
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "out"),
    [
        ({}, 12), ({"strategy": "chain-of-thought"}, 300), ({"max_tokens": 50}, 12), ({"effort": "low"}, 300),
        ({"effort": "none"}, 12), ({"effort": "minimal"}, 12), ({"structured": "never"}, 12),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(("judge", "each"), [({}, 250), ({"max_tokens": 40}, 40), ({"effort": "low"}, 250)])
def test_texts_are_as_long_as_they_may_be(make_study, judge, each):
    questions = [{"name": "why", "text": "Why?", "scale": "text"}]
    (found,) = estimate_study(make_study(4, judge=judge, questions=questions)).judges
    assert (found.calls, found.tokens_out) == (4, 4 * each)


@pytest.mark.slow
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


MODEL = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
SYSTEMS = {
    "questions": [{"name": "better", "text": "Which?", "scale": "preference", "options": ["essay"], "show": []}],
    "systems": [{"name": name, **MODEL} for name in ("s1", "s2")],
    "comparisons": {"pairs": 1},
}
SYSTEMS["questions"].insert(0, {"name": "essay", "text": "Write.", "scale": "text"})


def test_chosen_judges_has_systems_first_and_all_by_default(make_study):
    study = make_study(1, **SYSTEMS)
    assert [one.name for one in chosen_judges(study, None)] == ["s1", "s2", "m1"]
    assert [one.name for one in chosen_judges(study, ["m1", "s2"])] == ["s2", "m1"]
    for none, names in ((study, []), (make_study(1, judges=[]), None)):
        with pytest.raises(JudgeError, match=r"study\.yaml has no judge that is a model"):
            chosen_judges(none, names)


@pytest.mark.parametrize(
    ("split", "part", "asked"),
    [
        (True, None, "development"), (True, "development", "development"), (True, "test", "test"), (True, "all", None),
        (False, None, None), (False, "all", None),
    ],
)  # fmt: skip
def test_which_part_is_asked_about(make_study, split, part, asked):
    study = make_study(16)
    if split:
        split_study(study, test=0.75)
    study = load_study(study.folder)
    assert part_asked(study, part) == asked
    n_asked = {"development": 4, "test": 12, None: 16}[asked]
    assert [one.calls for one in estimate_study(study, part=part).judges] == [n_asked]


@pytest.mark.parametrize("part", ["development", "test"])
def test_items_that_are_not_split_have_no_parts(make_study, part):
    study = make_study(8)
    words = f"the items of {study.folder} are not split; split them with: assay study split {study.folder}"
    with pytest.raises(StudyError, match=re.escape(words)):
        part_asked(study, part)


def test_calls_that_are_alike_are_shown_once_with_their_number(make_study):
    judges = [{"name": "m1", "repeats": 3, **MODEL}, {"name": "m2", **MODEL}]
    questions = [{"name": name, "text": f"How {name}?", "scale": "1-5"} for name in ("good", "long")]
    study = make_study(2, judges=judges, questions=questions)
    shown = requests_of(study)
    assert sorted((call.judge, call.question, call.item, call.times) for call in shown) == [
        ("m1", "good", "q00000", 3), ("m1", "long", "q00000", 3), ("m2", "good", "q00000", 1),
        ("m2", "long", "q00000", 1),
    ]  # fmt: skip
    assert all(f"How {call.question}?" in str(call.body) for call in shown)


@pytest.mark.slow
def test_claims_about_given_or_first_item(make_study):
    rotated = {"route": {"rotate": 0.0}, **MODEL}
    study = make_study(12, judges=[{"name": name, **rotated} for name in ("m1", "m2")])
    who = {item: [one.judge for one in requests_of(study, item)] for item in (f"q{n:05}" for n in range(12))}
    assert sorted(map(len, who.values())) == [1] * 12, "each item is dealt to one judge"
    for judge, other in (("m1", "m2"), ("m2", "m1")):
        first = next(item for item, names in who.items() if names == [judge])
        assert [one.item for one in requests_of(study, judges=[judge])] == [first]
        with pytest.raises(StudyError, match=f"no judge labels item '{first}'"):
            requests_of(study, first, judges=[other])
    with pytest.raises(StudyError, match="item 'q4' is not in the study"):
        requests_of(study, "q4")
    systems = make_study(2, **SYSTEMS)
    assert [(one.judge, one.item) for one in requests_of(systems)] == [("s1", "q00000"), ("s2", "q00000")]
    with pytest.raises(StudyError, match="no judge labels any item"):  # there are no outputs to compare yet
        requests_of(systems, judges=["m1"])


@pytest.mark.slow
def test_estimate_goes_by_the_replies_so_far_once_there_are_twenty(make_study):
    """19 labels of 33 tokens each, or 20; then 4 items without an answer, and 1 whose call failed: 5 calls."""
    for n, each in ((19, 12), (20, 33)):
        bad = f"@q{n:05}@"

        def script(number, body, server, bad=bad):
            return Say(status=400, error="no") if bad in str(body) else Say(usage={"completion_tokens": 33})

        with ChatServer(script) as server:
            done = judge_study(make_study(n + 1, server.url, judge=PRICE))
        assert (done.answered, done.failed) == (n, 1)
        study = make_study(n + 5, server.url, judge=PRICE)
        (found,) = estimate_study(study).judges
        (one,) = requests_of(study, "q00000")
        tokens_in = round(5 * expected_tokens(Request("tiny", one.body["messages"], None, None, _schema(one.body), {})))
        assert (found.calls, found.tokens_in, found.tokens_out) == (5, tokens_in, 5 * each)
        assert found.cost == pytest.approx((tokens_in + 10 * 5 * each) / 1e6)
        (study.folder / "study.db").unlink()


def test_estimate_of_no_open_questions_is_zero(make_study):
    with ChatServer() as server:
        study = make_study(2, server.url, judge=PRICE)
        judge_study(study)
    assert estimate_study(study).judges == (JudgeEstimate("m1", 0, 0, 0, 0.0),)


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
