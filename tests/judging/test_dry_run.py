"""What a run would take: calls, tokens and dollars by hand, and the words for them."""

from __future__ import annotations

import pytest

from assay.errors import JudgeError
from assay.judging.client import expected_tokens
from assay.judging.dry_run import CostEstimate, JudgeEstimate, Shown, as_yaml, estimate_study, requests_of
from assay.judging.http import Request

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
def test_an_estimate_by_hand(make_study, judge, out):
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
        assert estimate.later == (
            f"Once all outputs are there, each judge is asked about {pairs} pairs of them on top."
        )
        assert [one.calls for one in estimate.judges] == [12, 18, 24, 0]


def test_what_an_estimate_says():
    one, two = JudgeEstimate("a", 10, 1234, 120, 0.0123), JudgeEstimate("b", 5, 10, 60, None)
    known = CostEstimate((one, JudgeEstimate("c", 0, 0, 0, None)), 0.5, 0.51, lost="3 answers would no longer count")
    assert known.cost == pytest.approx(0.0123)
    assert known.summary().splitlines() == [
        "3 answers would no longer count; these calls ask them again.",
        "a: 10 calls, about 1234 tokens in and 120 out, about $0.0123",
        "c: 0 calls, about 0 tokens in and 0 out, price unknown",
        "Together: 10 calls, cost about $0.0123, $0.5000 spent.",
        "This passes max_cost ($0.51): the run would stop there.",
        "Tokens are estimated from the length of the prompts; replies asked for again come on top.",
    ]
    enough = CostEstimate((one, one), 0.5, 0.5246, later="Later.").summary().splitlines()
    assert enough[2:4] == ["Together: 20 calls, cost about $0.0246, $0.5000 spent.", "Later."]
    assert "max_cost" not in "".join(enough)
    unknown = CostEstimate((one, two), 0.0, 0.001)
    assert unknown.cost is None
    assert "Together: 15 calls, cost unknown (give the judge a price), $0.0000 spent." in unknown.summary()
    assert "max_cost" not in unknown.summary()
    assert CostEstimate((), 0.0, None).cost == 0.0


def test_a_call_as_it_is_shown():
    call = Shown("m", "q", "i1", {"scale": "1-5"}, "http://x/v1", {"text": "two\nlines", "é": [1, "a"]})
    assert str(call) == (
        "# judge m, question q, item i1, scale 1-5\n# POST http://x/v1\ntext: |-\n  two\n  lines\né:\n- 1\n- a\n"
    )
    twice = Shown("m", "q", "i1", {}, None, {"a": 1}, times=2)
    assert str(twice).splitlines()[:2] == [
        "# judge m, question q, item i1, 2 times", "# answered from a file; a model would be sent",
    ]  # fmt: skip
    assert as_yaml({"a": "x" * 300}) == f"a: {'x' * 300}\n"


def test_who_is_asked(make_study):
    study = make_study(2)
    with pytest.raises(JudgeError, match=r"judge 'm2' is not in study\.yaml; it has m1"):
        estimate_study(study, judges=["m2"])
    assert [one.judge for one in estimate_study(study, judges=["m1"]).judges] == ["m1"]
