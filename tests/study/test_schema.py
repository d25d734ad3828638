"""The keys of study.yaml: their number, defaults and ranges."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from annotated_types import Ge, Gt, Le, Lt, MinLen

from assay.data.scales import parse_scale
from assay.study import old_keys, schema

FIELDS = {
    schema.ItemsPart: {
        "file": "items.csv", "id": "item", "document": None, "images": (), "markdown": (), "media": (),
        "media_hosts": (),
    },
    schema.OnScale: {"guidelines": "", "meanings": None},
    schema.Question: {
        "name": "1 or more", "text": "1 or more", "guidelines": "", "options": (), "optional": False, "order": None,
        "show": None, "ties": True, "rubric": (), "of": None,
    },
    schema.Demonstrations: {"count": "4 >= 1 <= 100", "use": "cross-fitted", "reasons": None},
    schema.Judge: {
        "model": "", "provider": "openai", "strategy": "zero-shot", "temperature": "None >= 0 <= 5",
        "repeats": "1 >= 1 <= 10000", "max_tokens": "None >= 1", "structured": "auto", "name": "1 or more",
        "prompt": None, "effort": None, "score": "label", "sibling": None, "route": None, "price": None, "file": None,
    },
    schema.OutputPairs: {
        "pairs": "5 >= 1 <= 100", "items": None, "similarity": "rouge-1",
    },
    schema.Ensemble: {"name": "1 or more", "of": "1 or more", "rule": "majority"},
    schema.Conditions: {"scale": (), "temperature": (), "prompt": (), "strategy": ()},
    schema.RateLimits: {
        "concurrency": "20 >= 1 <= 10000", "requests_per_minute": "None > 0", "tokens_per_minute": "None > 0",
        "max_cost": "None >= 0", "timeout": "120 > 0",
    },
    schema.Checks: {"every": "10 >= 2", "most_failed": None, "exclude": False},
    schema.Crowd: {
        "platform": "other", "parameters": None, "places": ">= 1", "minutes": "None > 0", "back": None,
    },
    schema.People: {
        "overlap": None, "quota": "None >= 1", "order": "shuffled", "together": False, "days_apart": "0 >= 0",
        "retest": "0 >= 0 <= 1", "pairs": "3 >= 1", "ahead": "4 >= 1 <= 50", "after_change": "keep",
        "keep_until": None, "language": None, "until": None, "tries": "1 >= 1 <= 10",
        "consent": "", "instructions": "", "warm_up": None, "checks": None, "crowd": None,
    },
    schema.StudyFile: {
        "name": "", "questions": "1 or more", "systems": (), "judges": (), "labels": None, "store": None,
        "analyses": "None >= 1 <= 100", "seed": 0,
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


def parts_of(annotation):
    """The parts of study.yaml in the type of a key."""
    if isinstance(annotation, type) and issubclass(annotation, schema.StudyPart):
        yield annotation
    for one in get_args(annotation):
        yield from parts_of(one)


def key_paths(part, above=()):
    """The path of every key; a system has the keys of a judge, and a judge's limits those of the study."""
    above = {("systems",): ("judges",), ("judges", "limits"): ("limits",)}.get(above, above)
    for name, field in part.model_fields.items():
        yield ".".join((*above, name))
        for inner in parts_of(field.annotation):
            yield from key_paths(inner, (*above, name))


def test_study_file_has_at_most_110_keys():
    paths = set(key_paths(schema.StudyFile))
    assert {"seed", "judges.model", "people.crowd.places", "limits.max_cost"} <= paths
    assert len(paths) <= 110, sorted(paths)


def test_old_keys_are_not_keys():
    paths = set(key_paths(schema.StudyFile))
    assert not paths & set(old_keys.OLD_KEYS)


def at(path, value):
    """A study with a value at a path: lists have one part."""
    *above, last = path.split(".")
    content = {last: value}
    for name in reversed(above):
        content = {name: [content] if name in ("judges", "systems", "questions") else content}
    return content


@pytest.mark.parametrize("path", old_keys.OLD_KEYS)
def test_old_key_problems_names_the_new_key(path):
    ((where, words),) = old_keys.old_key_problems(at(path, 1))
    assert ".".join(str(part) for part in where if not isinstance(part, int)) == path
    assert words == f"old key '{path.rpartition('.')[2]}': {old_keys.OLD_KEYS[path]}"
    if path.startswith("judges."):
        assert [w for _, w in old_keys.old_key_problems(at(path.replace("judges", "systems", 1), 1))] == [words]


def test_converted_keeps_the_choices_of_a_stored_study():
    question = {"name": "q", "text": "?", "scale": "1-5"}
    system = {"name": "a", "model": "m", "base_url": "https://x.org/v1", "query": {"v": "1"}, "max_tokens_as": None}
    stored = {
        "questions": [question], "looks": 3, "systems": [system],
        "items": {"media": ["clip", "talk"], "captions": {"clip": "vtt"}, "markdown": ["proof"], "formulas": True},
        "judges": [
            {"name": "f", "provider": "python", "function": "rules:stars", "seed": 7, "demonstrations": {"folds": 3}},
            {"name": "c", "provider": "command", "command": ["./a b", "--x"], "limits": {"tries": 2, "timeout": 9}},
        ],
        "conditions": {"system_temperature": [0.2, 0.7], "temperature": [0.1]},
        "comparisons": {"temperature": 0.7, "items": 4, "choose": "top"},
        "probes": {"of": ["hint", "repeat"], "sample": 9}, "limits": {"unreadable": None},
        "people": {
            "group": "job", "overlap": {"nurse": 2}, "first": "queue.csv", "days": 3, "warm_up": "w.csv",
            "pass_warm_up": 0.5, "new_text": "ask-again", "reserve": 3, "pay": {"currency": "GBP", "item": 0.1},
            "checks": {"file": "c.csv", "most_failed_share": 0.4, "share_from": 3},
            "crowd": {
                "platform": "mturk", "places": 2, "keep": ["batch"],
                "screening": {"question": "?", "options": ["yes", "no"], "let_in": ["yes"], "attribute": "x"},
            },
        },
    }  # fmt: skip
    study = schema.StudyFile.model_validate(old_keys.converted(stored))
    people, function, command = study.people, *study.judges
    assert (study.analyses, study.seed, people.seed, function.seed) == (3, 7, 7, 7)
    assert (function.function, command.command, command.limits.timeout) == ("rules:stars", ("./a b", "--x"), 9)
    assert (study.systems[0].address, study.systems[0].query) == ("https://x.org/v1", {"v": "1"})
    assert (study.items.captions, list(study.items.media)) == ({"clip": "vtt"}, ["clip", "talk"])
    assert study.conditions.temperatures == {"judges": (0.1,), "systems": (0.7, 0.2)}
    assert (study.comparisons.n_items, study.comparisons.choose) == (4, "top")
    assert (study.items.markup, study.probes) == ({"proof": True}, {"hint": 9, "repeat": 9})
    assert (people.group, people.per_item, people.first, people.days) == ("job", {"nurse": 2}, "queue.csv", 3)
    assert (people.practice_file, people.practice_share, people.after_change) == ("w.csv", 0.5, "ask-again")
    assert (people.payment, people.checks.most_failed) == (schema.Pay("GBP", item=0.1), 0.4)
    assert (people.crowd.id_parameter, people.crowd.stored_parameters) == ("workerId", ("batch",))
    (asked,) = people.asked("screening")
    assert (asked.text, asked.choices, asked.wrong) == ("?", ("yes", "no"), {"no": ""})
    now = {"questions": [question], "seed": 2}
    assert old_keys.converted(now) is now


def test_system_defaults():
    system = schema.System(name="a", model="m")
    assert (system.temperature, system.repeats) == (0.5, 5)
    assert schema.System(name="a", model="m", temperature=None, repeats=2).temperature is None
    for repeats in (1, 101):
        with pytest.raises(schema.ValidationError, match="must be 2 to 100"):
            schema.System(name="a", model="m", repeats=repeats)


def test_question_wording_has_what_annotators_see():
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
def test_judge_reasons_by_strategy_or_examples(strategy, column, reasons):
    judge = schema.Judge(name="m", model="x", strategy=strategy, demonstrations={"reasons": column})
    assert judge.reasons is reasons


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"base_url": "http://localhost:11434/v1/"}, None),
        ({"base_url": "ftp://host"}, "must begin with http:// or https://"),
        ({"base_url": "http:///v1"}, "must begin with http:// or https://"),
        ({"base_url": "https://me@host"}, "must not hold a name or a key"),
        ({"base_url": "https://host/?key=1"}, "must not hold 'key'; keys come from the environment"),
        ({"price": {"input": 1}}, "output is missing: dollars per million tokens"),
        ({"limits": {"max_cost": 1}}, "max_cost is for the whole study: write it under limits: at the top"),
        ({"key": "OPENAI_API_KEY"}, None),
        ({"key": "sk-123"}, "must be the NAME of an environment variable"),
        ({"headers": {"X-Team": "a"}}, None),
        ({"headers": {"X Team": "a"}}, "'X Team' is not a header of one line"),
        ({"headers": {"X-Team": "a\nb"}}, "'X-Team' is not a header of one line"),
        ({"headers": {"Authorization": "Bearer abc"}}, "'Authorization' may hold a secret"),
        ({"headers": {"Authorization": "Bearer ${TEAM_KEY}"}}, None),
    ],
)
def test_judge_rejects_secrets(changed, words):
    if words is None:
        judge = schema.Judge(name="m", model="x", **changed)
        name, value = next(iter(changed.items()))
        assert getattr(judge, name) == (value.rstrip("/") if name == "base_url" else value)
    else:
        with pytest.raises(ValueError, match=re.escape(words)):
            schema.Judge(name="m", model="x", **changed)


def test_judge_under_a_condition():
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
    assert [preference.moved_label(label, place) for label in (-1, 1) for place in (0, 1)] == [-1, 1, -1, 1]
    assert [graded.moved_label(label, place) for label in (-2, 2) for place in (0, 1)] == [-2, 2, -2, 2]
    assert odd.moved_label("A", 2) == "C"
    assert preference.allowed({-1: "first", 1: "second", 0: "tie"}) == "first, second or tie"
    assert graded.page_labels == {-2: "left: much", -1: "left: slightly", 0: "no preference", 1: "right: slightly",
                           2: "right: much"}  # fmt: skip
    assert (preference.order, odd.order, stars.order) == ("all", "shuffled", "shuffled")


def test_kind_of_scale():
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


def question(scale="1-5", *options, **more):
    return schema.Question(name="q", text="?", scale=scale, options=options, **more)


@pytest.mark.parametrize(
    ("asked", "drawn", "outputs", "choices", "titles", "order"),
    [
        (question("1-5", "notes"), "notes", None, ("first", "second"), ("A", "B"), "shuffled"),
        (question("nominal:a,b", "notes"), None, None, ("notes",), (), "shuffled"),
        (question("1-5", "a", "b"), None, None, ("a", "b"), (), "shuffled"),
        (question("odd-one-out", "notes"), "notes", None, ("first", "second", "third"), ("A", "B", "C"), "shuffled"),
        (question("odd-one-out", "a", "b", "c"), None, None, ("a", "b", "c"), ("A", "B", "C"), "shuffled"),
        (question("preference", "why"), None, "why", ("first_text", "second_text"), ("first", "second"), "shuffled"),
        (question("preference", "a", "b"), None, None, ("a", "b"), ("first", "second"), "all"),
        (
            question("preference", "why", order="fixed"),
            None,
            "why",
            ("first_text", "second_text"),
            ("first", "second"),
            "fixed",
        ),
        (question(), None, None, (), (), "shuffled"),
    ],
)
def test_question_choices(asked, drawn, outputs, choices, titles, order):
    """Of one column two items are drawn on a scale of numbers, three for the odd one out; votes compare outputs."""
    assert (asked.drawn_from, asked.outputs_of, asked.choices) == (drawn, outputs, choices)
    assert (tuple(asked.titles), asked.orders) == (titles, order)
    assert asked.draws_pairs is (choices == ("first", "second"))


def test_option_values_of_drawn_items():
    three, own = question("odd-one-out", "notes"), question("odd-one-out", "first", "second", "third")
    each = {"third": 3, "first": 1, "second": 2}
    assert three.option_values(each) == each
    assert own.option_values(each) is None
    assert question("1-5", "notes").option_values(each) is None
    assert question("1-5", "notes").option_values({"first": 1, "second": 2}) == {"first": 1, "second": 2}
    for value in ({"first": 1, "second": 2}, each | {"more": 4}, ["first", "second", "third"], "first", None):
        assert three.option_values(value) is None


@pytest.mark.parametrize(
    ("asked", "order", "shown", "own", "place"),
    [
        (question("preference", "a", "b"), ("b", "a"), -1, 1, 1),
        (question("preference", "a", "b"), ("b", "a"), 1, -1, 2),
        (question("preference", "a", "b"), ("a", "b"), 1, 1, 2),
        (question("preference", "a", "b"), ("b", "a"), 0, 0, None),
        (question("preference", "a", "b"), (), -1, -1, None),
        (question("preference:slightly<much", "a", "b"), ("b", "a"), -2, 2, 1),
        (question("odd-one-out", "notes"), ("second", "third", "first"), "A", "B", 1),
        (question("odd-one-out", "notes"), ("second", "third", "first"), "C", "A", 3),
        (question("odd-one-out", "a", "b", "c"), (), "A", "A", None),
        (question("1-5", "notes"), ("second", "first"), 3, 3, None),
    ],
)  # fmt: skip
def test_labels_are_turned_to_the_items_own_order_and_back(asked, order, shown, own, place):
    assert asked.unshuffle(shown, order) == (own, place)
    assert asked.shuffle(own, order) == shown


def test_rankings_are_turned_to_the_items_own_order_and_back():
    """Displayed as c, a, b: the displayed A is C of the item, B is A, and C is B."""
    asked, read = question("ranking:3", "a", "b", "c"), parse_scale("ranking:3").read
    shown, own = read(["A", "C", "B"]), read(["C", "B", "A"])
    assert asked.unshuffle(shown, ("c", "a", "b")) == (own, None)
    assert asked.shuffle(own, ("c", "a", "b")) == shown
    assert asked.unshuffle(shown, ()) == (shown, None)
    assert asked.shuffle(shown, ()) == shown
    assert asked.unshuffle("nothing", ("c", "a", "b")) == ("nothing", None)


def test_question_on_another_scale_has_what_belongs_there():
    parts = {
        "ordinal:0-100": {"guidelines": "Finely."},
        "1-3": {"meanings": {"1": "poor"}},
        "1-5": {"guidelines": "So."},
    }
    plain = question(guidelines="Look.", meanings={"1": "bad"})
    whole = plain.model_copy(update={"by_scale": {spec: schema.OnScale(**part) for spec, part in parts.items()}})
    own, fine, three, none = (parse_scale(spec) for spec in ("1-5", "0-100", "1-3", "1-7"))
    assert plain.rescaled(own) is plain
    said = [(one.guidelines, dict(one.meanings)) for one in map(whole.rescaled, (own, fine, three, none))]
    assert said == [
        ("Look.\nSo.", {"1": "bad"}), ("Look.\nFinely.", {}), ("Look.", {"1": "poor"}), ("Look.", {})
    ]  # fmt: skip
    assert whole.scale_part(none) is None
    assert whole.scale_part(fine).guidelines == "Finely."


def test_shown_columns_accompany_the_options():
    columns = ["topic", "a", "b", "key"]
    assert question("preference", "a", "b").shown_columns(columns) == ["topic", "key"]
    assert question("preference", "a", "b").shown_columns(columns, ["key"]) == ["topic"]
    assert question("preference", "a", "b", show=["key", "a"]).shown_columns(columns, ["key"]) == ["key"]
    assert question(show=()).shown_columns(columns) == []
    drawn = ["first_item", "first", "third", "pair", "topic", "first_text"]
    assert question("odd-one-out", "notes").shown_columns(drawn) == ["pair", "topic", "first_text"]
    assert question("preference", "why").shown_columns(drawn) == ["third", "topic"]
    spans = question("spans:a", of="text", show=["topic"])
    assert spans.shown_columns(columns) == ["topic", "text"]
    assert question("spans:a", of="text", show=["text", "topic"]).shown_columns(columns) == ["text", "topic"]
    assert (spans.marked, question().marked) == ("text", None)
    assert [spans.marked_text(one) for one in ({"text": "so"}, {"text": 3}, {"text": None}, {})] == ["so", "3", "", ""]


def test_tie_words():
    words = {-1: "first", 0: "tie", 1: "second"}
    scale = parse_scale("preference")
    sides = {-1: "first", 1: "second"}
    for ties, people, judges, told in (
        (True, words, True, ()), ("people", words, False, ()), (False, sides, False, ()),
        ("both-or-neither", sides, True, schema.BOTH_OR_NEITHER),
    ):  # fmt: skip
        asked = question("preference", "a", "b", ties=ties)
        assert asked.page_words(words) == people
        assert asked.tie_words == told
        assert asked.closed == (frozenset() if judges else {0})
        assert (0 in asked.judge_words(scale)) is judges
        assert set(asked.judge_words(scale)) - {0} == {-1, 1}
    stars = question(ties=False)
    assert (stars.page_words({0: "none", 1: "one"}), stars.closed) == ({0: "none", 1: "one"}, frozenset())


def test_demonstrations_key_parts_are_stable():
    usual = {"count": 4, "use": "cross-fitted", "label": None, "folds": 5}
    assert schema.Demonstrations().key_parts == usual
    assert schema.Demonstrations(reasons="why").key_parts == usual | {"reasons": "why"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [("", {}), ("api-version=2024&1=x", {"api-version": "2024", "1": "x"}), ("a=", {"a": ""}), ("api_key=x", "api_key"),
     ("a=1&Signature=x", "Signature")],
)  # fmt: skip
def test_base_url_has_a_query_without_secrets(given, kept):
    url = f"https://x.org/v1?{given}"
    if isinstance(kept, str):
        with pytest.raises(ValueError, match=f"must not hold '{kept}'; keys come from the environment"):
            schema.Judge(name="m", model="x", base_url=url)
    else:
        judge = schema.Judge(name="m", model="x", base_url=url)
        assert (judge.address, judge.query) == ("https://x.org/v1", kept)


def test_json_schema_describes_every_key():
    """By itself, or as a part, which says what it is for."""
    found = schema.StudyFile.model_json_schema()
    parts = {"": found, **found["$defs"]}

    def explained(key: dict[str, Any]) -> bool:
        named = [one["$ref"].rpartition("/")[2] for one in (key, *key.get("anyOf", ())) if "$ref" in one]
        return bool(key.get("description") or any(parts[name].get("description") for name in named))

    bare = [f"{part}.{key}" for part, of in parts.items() for key, said in of.get("properties", {}).items()
            if not explained(said)]  # fmt: skip
    assert not bare
