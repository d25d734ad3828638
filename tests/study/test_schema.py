"""study.yaml by its fields: what each is when nothing is written, and the numbers that it takes."""

from __future__ import annotations

import re

import pytest
from annotated_types import Ge, Gt, Le, Lt, MinLen

from assay.data.scales import parse_scale
from assay.study import schema

FIELDS = {
    schema.ItemsPart: {
        "file": "items.csv", "id": "item", "document": None, "images": (), "markdown": (), "media": (),
        "media_hosts": (), "formulas": False,
    },
    schema.OnScale: {"guidelines": "", "meanings": None},
    schema.Question: {
        "name": "1 or more", "text": "1 or more", "guidelines": "", "options": (), "optional": False, "order": None,
        "show": None, "ties": True, "rubric": (), "of": None,
    },
    schema.Price: {
        "input": ">= 0", "output": ">= 0", "cached_input": "None >= 0", "cache_write": "None >= 0",
        "reasoning": "None >= 0",
    },
    schema.Demonstrations: {
        "count": "4 >= 1 <= 100", "use": "cross-fitted", "label": None, "folds": "5 >= 2", "reasons": None,
    },
    schema.JudgeLimits: {
        "concurrency": "None >= 1 <= 10000", "requests_per_minute": "None > 0", "tokens_per_minute": "None > 0",
        "timeout": "None > 0", "loading": "None >= 0", "tries": "None >= 1",
    },
    schema.Judge: {
        "model": "", "provider": "openai", "strategy": "zero-shot", "temperature": "None >= 0 <= 5",
        "repeats": "1 >= 1 <= 10000", "seed": 0, "max_tokens": "None >= 1", "structured": "auto", "name": "1 or more",
        "command": (), "prompt": None, "effort": None, "score": "label", "sibling": None, "route": None, "price": None,
    },
    schema.System: {"temperature": "0.5 >= 0 <= 5", "repeats": "5 >= 2 <= 100", "max_tokens": "None >= 1"},
    schema.OutputPairs: {
        "pairs": "5 >= 1 <= 100", "items": "None >= 1", "choose": "weighted", "similarity": "rouge-1", "seed": 0,
        "temperature": "None >= 0 <= 5",
    },
    schema.Ensemble: {"name": "1 or more", "of": "1 or more", "rule": "majority", "seed": 0},
    schema.Probes: {"of": "1 or more", "sample": "50 >= 1", "seed": 0},
    schema.Conditions: {"scale": (), "temperature": (), "prompt": (), "strategy": (), "system_temperature": ()},
    schema.RateLimits: {
        "concurrency": "20 >= 1 <= 10000", "requests_per_minute": "None > 0", "tokens_per_minute": "None > 0",
        "max_cost": "None >= 0", "timeout": "120 > 0", "tries": "8 >= 1", "loading": "300 >= 0",
        "unreadable": "20 >= 5",
    },
    schema.Checks: {
        "every": "10 >= 2", "most_failed": "None >= 0", "most_failed_share": "None >= 0 < 1", "share_from": "5 >= 1",
        "exclude": False,
    },
    schema.Screening: {"question": "1 or more", "options": "2 or more", "let_in": "1 or more", "attribute": None},
    schema.Pay: {
        "currency": "USD", "completed": "0 >= 0", "screened": "0 >= 0", "failed": "0 >= 0", "item": "0 >= 0",
        "hour": "0 >= 0",
    },
    schema.Crowd: {
        "platform": "other", "id": None, "keep": None, "places": ">= 1", "minutes": "None > 0", "screening": None,
        "back": None,
    },
    schema.People: {
        "overlap": None, "quota": "None >= 1", "order": "shuffled", "together": False, "days_apart": "0 >= 0",
        "pass_warm_up": "None > 0 <= 1", "retest": "0 >= 0 <= 1", "retest_gap": "10 >= 1", "pairs": "3 >= 1",
        "ahead": "4 >= 1 <= 50", "reserve": "30 > 0", "idle": "60 > 0", "link_days": "90 > 0", "seed": 0,
        "added_questions": "new-items", "new_text": "keep", "keep_until": None, "first": None,
        "auto_advance": False, "language": None, "until": None, "days": "None > 0",
        "consent": "", "instructions": "", "group": None, "warm_up": None, "checks": None, "crowd": None,
        "skip_reasons": ("I cannot tell", "The item is broken or unreadable", "I would rather not answer"),
    },
    schema.StudyFile: {
        "name": "", "questions": "1 or more", "systems": (), "judges": (), "labels": None, "store": None,
        "probes": None, "looks": "None >= 1 <= 100",
    },
}  # fmt: skip
SIGNS = {Ge: (">=", "ge"), Gt: (">", "gt"), Le: ("<=", "le"), Lt: ("<", "lt")}


def described(field):
    """The default alone where any value is taken."""
    least = [f"{m.min_length} or more" for m in field.metadata if isinstance(m, MinLen)]
    ends = [f"{SIGNS[type(m)][0]} {getattr(m, SIGNS[type(m)][1])}" for m in field.metadata if type(m) in SIGNS]
    if not least and not ends:
        return field.default
    return " ".join([*([] if field.is_required() else [str(field.default)]), *least, *ends])


@pytest.mark.parametrize("part", FIELDS, ids=lambda part: part.__name__)
def test_defaults_and_ranges(part):
    found = {name: described(part.model_fields[name]) for name in FIELDS[part]}
    assert found == FIELDS[part]
    assert [type(value) for value in found.values()] == [type(value) for value in FIELDS[part].values()]
    assert all(field.repr and not field.exclude for field in part.model_fields.values())
    assert (part.model_config["extra"], part.model_config["frozen"]) == ("forbid", True)


def test_what_people_see_of_a_question_is_its_version():
    asked = {"name": "q", "text": "Which?", "scale": "preference", "options": ["a", "b"], "guidelines": "Look."}
    seen = schema.Question(**asked).wording(["a", "b", "topic", "gone"], ["gone"])
    assert seen == {
        "text": "Which?", "guidelines": "Look.", "scale": "preference", "show": ["topic"], "options": ["a", "b"]
    }  # fmt: skip
    assert schema.Question(**asked, ties=False).wording([])["without ties"] is True
    assert "without ties" not in schema.Question(**asked, ties="people").wording([])
    assert schema.Question(**asked, order="fixed").wording([])["fixed"] is True
    plain = schema.Question(name="q", text="?", scale="1-5", ties=False, meanings={"1": "bad", "5": ""})
    assert plain.wording([]) == {"text": "?", "scale": "ordinal:1-5", "meanings": {"1": "bad"}}


@pytest.mark.parametrize(
    ("strategy", "column", "reasons"),
    [
        ("zero-shot", None, False), ("zero-shot", "why", False), ("few-shot", None, False), ("few-shot", "why", True),
        ("chain-of-thought", None, True), ("chain-of-thought", "why", True),
    ],
)  # fmt: skip
def test_a_judge_reasons_where_it_is_told_or_shown_to(strategy, column, reasons):
    judge = schema.Judge(name="m", model="x", strategy=strategy, demonstrations={"reasons": column})
    assert judge.reasons is reasons


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"base_url": "http://localhost:11434/v1/"}, None),
        ({"base_url": "ftp://host"}, "must begin with http:// or https://"),
        ({"base_url": "http:///v1"}, "must begin with http:// or https://"),
        ({"base_url": "https://me@host"}, "must not hold a name, a key or a query"),
        ({"base_url": "https://host/?key=1"}, "must not hold a name, a key or a query"),
        ({"function": "rules.more:stars"}, None),
        ({"function": "rules"}, "must be module:function, as in rules:stars"),
        ({"function": "rules:more.stars"}, "must be module:function"),
        ({"key": "OPENAI_API_KEY"}, None),
        ({"key": "sk-123"}, "must be the NAME of an environment variable"),
        ({"headers": {"X-Team": "a"}}, None),
        ({"headers": {"X Team": "a"}}, "'X Team' is no header of one line"),
        ({"headers": {"X-Team": "a\nb"}}, "'X-Team' is no header of one line"),
        ({"headers": {"Authorization": "Bearer abc"}}, "'Authorization' may hold a secret"),
        ({"headers": {"Authorization": "Bearer ${TEAM_KEY}"}}, None),
    ],
)
def test_no_key_and_no_name_stands_in_a_study(changed, words):
    if words is None:
        judge = schema.Judge(name="m", model="x", **changed)
        name, value = next(iter(changed.items()))
        assert getattr(judge, name) == (value.rstrip("/") if name == "base_url" else value)
    else:
        with pytest.raises(ValueError, match=re.escape(words)):
            schema.Judge(name="m", model="x", **changed)


def test_a_judge_under_a_condition():
    judge = schema.Judge(name="m", model="x", temperature=0.5)
    assert judge.variant({}) is judge
    assert judge.variant({"order": "a>b"}) is judge
    other = judge.variant({"temperature": 1.0, "strategy": "few-shot", "prompt": "p", "order": "a>b"})
    assert (other.temperature, other.strategy, other.prompt, other.name) == (1.0, "few-shot", "p", "m")
    kinds = ("python", "command", "openai")
    assert [judge.model_copy(update={"provider": kind}).is_program for kind in kinds] == [True, True, False]


def test_which_option_a_label_chooses_and_what_the_same_is_of_another():
    preference, odd, stars = (schema.kind_of(parse_scale(spec)) for spec in ("preference", "odd-one-out", "1-5"))
    graded = schema.kind_of(parse_scale("preference:slightly<much"))
    assert [preference.place_of(label) for label in (-1, 1, 0)] == [0, 1, None]
    assert [graded.place_of(label) for label in (-2, -1, 0, 1, 2)] == [0, 0, None, 1, 1]
    assert [odd.place_of(label) for label in ("A", "C", "D")] == [0, 2, None]
    assert [stars.place_of(label) for label in (1, 0, "1")] == [None, None, None]
    assert [preference.at_place(label, place) for label in (-1, 1) for place in (0, 1)] == [-1, 1, -1, 1]
    assert [graded.at_place(label, place) for label in (-2, 2) for place in (0, 1)] == [-2, 2, -2, 2]
    assert odd.at_place("A", 2) == "C"
    assert preference.allowed({-1: "first", 1: "second", 0: "tie"}) == "first, second or tie"
    assert graded.told == {-2: "left: much", -1: "left: slightly", 0: "no preference", 1: "right: slightly",
                           2: "right: much"}  # fmt: skip
    assert (preference.order, odd.order, stars.order) == ("all", "shuffled", "shuffled")


def test_what_a_scale_makes_of_a_question():
    ranked = schema.kind_of(parse_scale("ranking:3"))
    assert (ranked.places, ranked.titles, ranked.lists, ranked.drawn) == (("A", "B", "C"), ("A", "B", "C"), True, False)
    specs = ("several:a,b", "spans:a", "text", "odd-one-out", "1-5", "nominal:a,b")
    kinds = [schema.kind_of(parse_scale(spec)) for spec in specs]
    assert [(one.lists, one.free_text, one.drawn) for one in kinds] == [
        (True, False, False), (True, False, False), (False, True, False), (False, False, True),
        (False, False, False), (False, False, False),
    ]  # fmt: skip
    assert schema.listed_labels(parse_scale("several:a,b")) == ("a", "b")
    assert schema.listed_labels(parse_scale("nominal:a,b")) == ("a", "b")
    assert schema.listed_labels(parse_scale("interval:0-1")) == ()
