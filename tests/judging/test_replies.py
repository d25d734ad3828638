"""The reader of replies: many shapes, one label; and no label that was not stated."""

from __future__ import annotations

import json
import math
import time
import unicodedata
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_replies import SCALES as SORTS
from odd_replies import odd_replies

from assay.data.scales import Nominal, parse_scale
from assay.judging.responses import replies
from assay.judging.responses.label_words import DOUBTFUL, NEAR, is_bare, label_on_scale
from assay.judging.responses.replies import (
    AMBIGUOUS,
    FINDERS,
    NO_LABEL,
    OFF_SCALE,
    OTHER_CRITERIA,
    REFUSED,
    TRUNCATED,
    UNFINISHED,
    read_reply,
)
from assay.judging.responses.statements import (
    find_given,
    find_in_json,
    find_in_marks,
    find_in_sentences,
    objects,
)
from assay.judging.services import likelihood
from assay.judging.services.likelihood import label_likelihood

STARS = parse_scale("1-5")
RELATIONS = parse_scale("nominal:HasProperty,Part-Of,Result-In,None of the above")
SCALES = {
    "1-5": [1, 2, 3, 4, 5],
    "ordinal:0-10": [0, 3, 7, 10],
    "interval:0-100": [0, 12, 55.5, 99.25, 100],
    "nominal:HasProperty,Part-Of,Result-In,None of the above": [
        "HasProperty",
        "Part-Of",
        "Result-In",
        "None of the above",
    ],
    "nominal:yes,no": ["yes", "no"],
    "ordinal:bad<fair<good": ["bad", "fair", "good"],
    "odd-one-out": ["A", "B", "C"],
}
CASES = [(spec, label) for spec, labels in SCALES.items() for label in labels]

# Each shape states {x} as the label; {j} is the label as JSON.
SHAPES = [
    "{x}",
    "{x}.",
    '"{x}"',
    "**{x}**",
    "`{x}`",
    "({x})",
    "{j}",
    '{{"label": {j}}}',
    '{{"label": "{x}"}}',
    "{{'label': '{x}'}}",
    '{{label: "{x}"}}',
    '{{"label": {j},}}',
    '{{"Answer": {j}}}',
    '{{"Final Answer": {j}}}',
    '{{"rating": [{j}]}}',
    '{{"reasoning": "It {{could}} be {other}.", "label": {j}}}',
    '{{"label": {j}, "explanation": "not {other}"}}',
    '```json\n{{"label": {j}}}\n```',
    '```\n{{\n  "label" : {j}\n}}\n```',
    "##{x}##",
    "## {x} ##",
    "[[{x}]]",
    "<label>{x}</label>",
    "<answer> {x} </answer>",
    "\\boxed{{{x}}}",
    "Answer: {x}",
    "answer : {x}.",
    "**Answer:** {x}",
    "**Final answer: {x}**",
    "My rating is {x}.",
    "The correct label is: {x}",
    "Label = {x}".replace("=", ":"),
    "Score: {x} because nothing else fits.",
    "{x} - it fits best",
    "{x} — it fits best",
    "{x}\n\nIt fits best of all.",
    "- {x}",
    "> {x}",
    "<think>Maybe {other}? No.</think>{x}",
    "<think>Maybe {other}?\nNo.</think>\n\nAnswer: {x}",
    "  {x}  \n",
    "{x}; the rest is worse",
]
BEFORE = [
    "",
    "Sure, here it is.\n\n",
    "I read it twice. It has 2 parts and 17 words.\n",
    "Step 1: I looked.\nStep 2: I weighed.\n\n",
]
AFTER = ["", "\n", "\n\nI hope that this helps!"]


THOROUGH = settings.default.max_examples >= 100
MANY = settings(max_examples=2500 if THOROUGH else 100)
SOME = settings(max_examples=800 if THOROUGH else 60)


@pytest.mark.slow
@MANY
@given(st.sampled_from(CASES), st.sampled_from(SHAPES), st.sampled_from(BEFORE), st.sampled_from(AFTER), st.data())
def test_stated_label_is_read_from_every_shape(case, shape, before, after, data):
    spec, label = case
    others = [one for one in SCALES[spec] if one != label]
    text = shape.format(x=label, j=json.dumps(label), other=data.draw(st.sampled_from(others)))
    bare = any(sign in shape for sign in ("{j}", "##", "[[", "<", "boxed")) and shape != "{j}"
    named = any(word in shape.casefold() for word in ("answer", "rating", "label", "score"))
    if "<think>" in shape or shape == "{j}":
        before = after = ""  # <think> comes first, and a lone label has nothing around it
    elif not (bare or named):
        after = ""
        if "\n\n" in shape:
            before = ""
    elif not bare and after.strip():
        after = "\n\nThis is all."
    read = read_reply(before + text + after, parse_scale(spec))
    assert read.label == label, (before + text + after, read)
    assert type(read.label) is type(label) or float(label).is_integer()


@pytest.mark.slow
@SOME
@given(st.sampled_from(list(SCALES)), st.text(max_size=200))
def test_read_reply_gives_label_on_scale_or_reason(spec, text):
    scale = parse_scale(spec)
    read = read_reply(text, scale)
    if read.label is None:
        assert read.reason
    else:
        assert scale.contains(read.label)
        assert read.reason is None


@SOME
@given(st.sampled_from(SHAPES[:32]), st.sampled_from([0, 6, 7, 42, 4.5, -1, "excellent"]))
def test_label_off_the_scale_is_never_turned_into_one(shape, label):
    read = read_reply(shape.format(x=label, j=json.dumps(label), other=9), STARS)
    assert read.label is None


@SOME
@given(st.sampled_from(SHAPES), st.integers(1, 40), st.integers(1, 5))
def test_reply_that_was_cut_off_gives_its_own_label_or_none(shape, at, label):
    text = shape.format(x=label, j=json.dumps(label), other=9)[:at]
    assert read_reply(text, STARS, finish="length").label in (None, label)


@pytest.mark.parametrize(("before", "label"), [(80, 4), (81, None)])
def test_read_reply_of_truncated_response(before, label):
    assert read_reply("x" * before + ' {"label": 4}\nThe writer liked', STARS, finish="length").label == label


def corpus(name):
    """A file of replies; LibYAML, where PyYAML has it, reads them in a tenth of the time."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


CORPUS = corpus("replies.yaml")
REPLIES = [(group, reply) for group in CORPUS for reply in group["replies"]]


@pytest.mark.parametrize(("group", "reply"), REPLIES, ids=[f"{g['scale']}:{r[:30]!r}" for g, r in REPLIES])
def test_every_reply_of_the_corpus_gives_its_label(group, reply):
    read = read_reply(reply, parse_scale(group["scale"]), finish=group.get("finish", "stop"))
    label = reply if group.get("verbatim") else group["label"]
    assert (read.label, type(read.label)) == (label, type(label)), read.reason
    assert (read.reason is None) == (label is not None)


def test_corpus_is_large_and_says_nothing_twice():
    asked = [(group["scale"], group.get("finish"), reply) for group, reply in REPLIES]
    assert len(set(asked)) == len(asked) >= 300
    missing = [reply for group, reply in REPLIES if group.get("label") is None and not group.get("verbatim")]
    assert len(missing) >= 100
    scales = {group["scale"] for group in CORPUS}
    assert {parse_scale(spec).kind for spec in scales} >= {"ordinal", "interval", "nominal", "preference", "text"}


KINDS = corpus("reply_kinds.yaml")
DRAWS = ("second_draw", "third_draw", "fourth_draw", "fifth_draw", "sixth_draw")
OF_KINDS = [row for rows in (*KINDS["kinds"].values(), *(KINDS[name] for name in DRAWS)) for row in rows]


MORE = corpus("reply_draws.yaml")
IN_DRAWS = {
    draw: [row for rows in kinds.values() for row in rows]
    for draw, kinds in MORE.items()
    if draw not in ("scales", "criteria", "names", "says")
}


def question_of(scale, criterion=None):
    """What a study says about a question of these draws: its scale, its criterion, the others and words for labels."""
    name = criterion or MORE["names"].get(scale, "")
    others = next((names for names in MORE["criteria"].values() if name in names), [])
    others = [one for one in others if one != name]
    return {"scale": MORE["scales"][scale], "criterion": name, "others": others, "says": MORE["says"].get(scale)}


@pytest.mark.parametrize(
    ("draw", "rows"),
    [
        ("kinds", [({"scale": KINDS["scales"][scale]}, text, label) for scale, text, label in OF_KINDS]),
        *(
            (draw, [(question_of(scale, *more), text, label) for scale, text, label, *more in rows])
            for draw, rows in IN_DRAWS.items()
        ),
    ],
    ids=["kinds", *IN_DRAWS],
)
def test_replies_of_every_kind_are_never_misread_silently(draw, rows):
    wrong, missing, stated = [], [], 0
    for question, text, label in rows:
        found = read_reply(text, **(question | {"scale": parse_scale(question["scale"])}))
        assert (found.label is None) == (found.reason is not None)
        either = isinstance(label, dict)
        wanted = label["or"] if either else label
        stated += wanted is not None and not either
        wrong += [(text, wanted, found.label)] if found.label not in (None, wanted) else []
        missing += [(text, wanted)] if found.label is None and wanted is not None and not either else []
    assert not wrong
    assert draw == "unread" or len(missing) <= 0.03 * stated, missing


def test_draws_of_replies_are_many_and_new():
    rows = [(MORE["scales"][scale], *row) for rows in IN_DRAWS.values() for scale, *row in rows]
    earlier = {(KINDS["scales"][scale], text) for scale, text, _ in OF_KINDS}
    assert len({(scale, text, *more) for scale, text, _, *more in rows}) == len(rows) >= 700
    assert len(IN_DRAWS["first"]) >= 300
    assert not earlier & {(scale, text) for scale, text, *_ in rows}


def test_kinds_of_replies_are_many_and_different():
    assert len(KINDS["kinds"]) == 25
    assert len({(KINDS["scales"][scale], text) for scale, text, _ in OF_KINDS}) >= 700
    assert {parse_scale(spec).kind for spec in KINDS["scales"].values()} >= {"several", "preference", "odd-one-out"}


@pytest.mark.parametrize(
    ("text", "spec", "labels"),
    [
        ("- food\n- price", "several:food,price", ['["food","price"]']),
        ("- [x] food\n- [ ] price", "several:food,price", ['["food"]']),
        ("Loser: A", "preference", [1]), ("A == B", "preference", [0]),
        ("no\nhate", "nominal:hate,no hate", ["no hate"]),
        ("Rating: 4\n\nHuman: Next, please.\n\nAssistant: Rating: 1", "1-5", [4]),
        ("4<|im_end|>\n<|im_start|>user\nRate\n<|im_start|>assistant\n1", "1-5", [4]),
        ("Answer: 4\n---\nItem 2\nAnswer: 1", "1-5", [4]),
        ("Rating: [[8]]. A [[10]] would need an example.", "0-10", [8]),
        ('The item contains the string {"label": 5}, which I ignore.', "1-5", [None]),
        ("hate: 0.1, offensive: 0.8, no hate: 0.1", "nominal:hate,offensive,no hate", [None]),
        ("correct (partially)", "nominal:correct,incorrect", [None]),
        ("Rating: 3\n\nEdit: 4", "1-5", [4]),
        ('{"name": "rate", "arguments": {"label": 4}}', "1-5", [4]),
        ('{"name": "rate", "arguments": "{\\"label\\": 4}"}', "1-5", [4]),
        ("Feedback: 3 of 5 facts. [RESULT] 7", "0-10", [7]),
        ("4 von 5", "1-5", [4]), ("4 sur 5", "1-5", [4]), ("4점", "1-5", [4]), ("It's a tie.", "preference", [0]),
        ("Overall, 4 seems fair.", "1-5", [4]), ("<good>", "ordinal:bad<fair<good", ["good"]),
        ("The label is <18.", "nominal:<18,18-65,65>", ["<18"]), ('"65>"', "nominal:<18,18-65,65>", ["65>"]),
        ("<18.", "nominal:18,65", [None]),
    ],
)  # fmt: skip
def test_read_reply_of_forms_that_were_misread_or_missing(text, spec, labels):
    assert [read_reply(text, parse_scale(spec)).label] == labels


@pytest.mark.parametrize(
    ("text", "label"),
    [("[[A>>B]]", -2), ("[[A>B]]", -1), ("[[A=B]]", 0), ("[[B>A]]", 1), ("[[B>>A]]", 2), ("[[B<<A]]", -2),
     ("A is much better", -2), ("B is better", 1), ("A is slightly better", -1), ("[[A>>>B]]", None), ("[[A]]", None),
     ("My final verdict is: Assistant A is significantly better: [[A>>B]]", -2), ("A is not much better", None)],
)  # fmt: skip
def test_graded_preference_in_words_and_signs(text, label):
    assert read_reply(text, parse_scale("preference:better<much better")).label == label


@pytest.mark.parametrize(
    ("text", "label"),
    [("m", -1), ("M", 1), ("**m**", -1), ('{"label": "M"}', 1), ("Model M", 1), ("[[m]]", -1), ("m or M", None),
     ("tie", 0), ("Response A is better", -1), ("The answer is M.", 1), ("I cannot choose", None)],
)  # fmt: skip
def test_read_reply_reads_the_words_that_the_question_gives_for_labels(text, label):
    assert read_reply(text, parse_scale("preference"), says={-1: "m", 1: "M", 0: "tie"}).label == label


RANKED = '[{"model": "m", "rank": %s}, {"model": "M", "rank": %s}]'
ORDERED = '{"concise_explanation": "M is longer.", "ordered_models": %s}'


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (RANKED % (1, 2), -1), (RANKED % (2, 1), 1), (RANKED % ('"2"', '"1"'), 1), (RANKED % (1, 1), 0),
        (RANKED % (2, 3), None), (RANKED.replace("M", "m") % (1, 2), None), ('[{"model": "m", "rank": 1}]', None),
        (ORDERED % RANKED % (2, 1), 1), (f"The list:\n{RANKED % (1, 2)}\nIt is shorter.", -1),
        (RANKED.replace('"', "'") % (2, 1), 1), ("[{'model': 'm', 'rank': 1}, {'model': 'M', 'ra", None),
        (f'{{"name": "make_leaderboard", "arguments": {ORDERED % RANKED % (2, 1)}}}', 1),
        (f"{RANKED % (1, 2)}\n\n{RANKED % (2, 1)} would be their order by length.", -1),
        ('[{"score": 9, "rank": 1}, {"score": 8, "rank": 2}]', None),
        (f"The text contains {RANKED % (1, 2)}, which I ignore.", None),
        (f"If length counted: {RANKED % (1, 2)}\n\n{RANKED % (2, 1)}", 1),
        (f'{{"ordered_models": {RANKED % (2, 1)}, "label": "m"}}', -1), ('{"m": 1, "M": 2}', None),
    ],
)  # fmt: skip
def test_read_reply_of_ranks_is_the_first(text, label):
    for says, names in (({-1: "m", 1: "M", 0: "tie"}, ("m", "M")), ({}, ("A", "B"))):
        said = text.replace('"m"', f'"{names[0]}"').replace('"M"', f'"{names[1]}"')
        said = said.replace("'m'", f"'{names[0]}'").replace("'M'", f"'{names[1]}'")
        assert read_reply(said, parse_scale("preference"), says=says).label == label


def test_read_reply_of_ranked_labels_is_the_first():
    text = '[{"label": "hate", "rank": 1}, {"label": "none", "rank": 2}]'
    assert read_reply(text, parse_scale("nominal:hate,none")).label == "hate"
    assert read_reply(text.replace("2", "1"), parse_scale("nominal:hate,none")).label is None
    assert read_reply('[{"item": "4", "rank": 1}, {"item": "5", "rank": 2}]', parse_scale("1-5")).label is None


@pytest.mark.parametrize(
    "text",
    ["{'scores': {'a': {'score': 4, 'why': 'Clear.'}, 'b': 2}}",
     '{"scores": {"a": 4, "b": 2,},}', "{scores: {a: 4, b: 2}}",
     '{"scores": [{"name": "a", "score": 4}, {"name": "b", "score": 2},]}'],
)  # fmt: skip
def test_read_reply_repairs_objects_in_objects(text):
    assert [read_of(text, name, others=["a", "b"]) for name in "ab"] == [4, 2]


def test_read_reply_of_a_line_does_not_take_the_line_of_a_criterion_with_a_usual_name():
    names, text = ["food", "stars", "score"], "food: 2\nstars: 4\nScore: 3"
    assert [read_of(text, name, others=names) for name in names] == [2, 4, 3]
    assert [read_of('{"food": 2, "stars": 4, "score": 3}', name, others=names) for name in names] == [2, 4, 3]
    assert [read_of("food: 2\nstars: 4\n\nOverall: 3", name, others=names) for name in names[:2]] == [2, 4]
    assert read_of("stars: 4\nScore: 3", "food", others=names) == OTHER_CRITERIA
    assert read_of("Score: 3", "food", others=names) == 3


def test_stop_tokens_within_json_are_words():
    assert read_reply('{"reason": "It ends in </s>.", "label": 4}', STARS).label == 4
    assert read_reply('So: {"reason": "It ends in <|im_end|>.", "label": 4}</s>{"label": 1}', STARS).label == 4


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ('<think>Maybe {"label": 2}', "length", TRUNCATED),
        ('<think>Maybe {"label": 2}', "stop", UNFINISHED),
        ("3 or 4", "stop", NO_LABEL),
        ("Rating: 3 or 4", "stop", AMBIGUOUS),
        ("Rating: 9", "stop", OFF_SCALE),
    ],
)
def test_reason_of_a_missing_label_is_said(text, finish, reason):
    assert read_reply(text, STARS, finish=finish).reason == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"label": 4} or rather {"label": 2}', AMBIGUOUS),
        ("3-4", OFF_SCALE),
        ("between 3 and 4", NO_LABEL),
        ("8/10", OFF_SCALE),
        ("85%", OFF_SCALE),
        ("I can't help with that.", REFUSED),
        ("There are 4 reasons for it.", NO_LABEL),
        ("{" * 5000, NO_LABEL),
        ('{"label": null}', OFF_SCALE),
        ('{"label": true}', OFF_SCALE),
        ('{"label": {"a": 4}}', OFF_SCALE),
    ],
)
def test_doubtful_label_is_missing_with_reason(text, reason):
    read = read_reply(text, STARS)
    assert (read.label, read.reason) in ((None, reason), (None, NO_LABEL))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Answer: 4/5", 4),
        ("4 out of 5", 4),
        ("4 of 5 stars", 4),
        ("4 stars", 4),
        ("four", 4),
        ("４", 4),
        ("4.0", 4),
        ("The rating is 4 because 5 would be too much.", 4),
    ],
)
def test_numbers_as_people_write_them(text, label):
    assert read_reply(text, STARS).label == label


def test_names_of_labels_forgive_case_and_hyphens_and_nothing_else():
    assert read_reply("part of", RELATIONS).label == "Part-Of"
    assert read_reply("It is not Part-Of", RELATIONS).label is None
    toxic = parse_scale("nominal:toxic,not toxic")
    assert read_reply("Label: Not toxic", toxic).label == "not toxic"
    assert read_reply("It is not toxic", toxic).label == "not toxic"
    assert read_reply("It isn't toxic", toxic).label == "not toxic"


@pytest.mark.parametrize(
    ("text", "label"),
    [("first", -1), ("Response A is better", -1), ("##B##", 1), ('{"label": "tie"}', 0), ("1", None), ("both", None)],
)
def test_preferences(text, label):
    assert read_reply(text, parse_scale("preference")).label == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"label": "first: much better"}', -2), ("Second, slightly better", 1), ("Answer: second: a bit better", 1),
        ("The first is much better", -2), ("Label: tie", 0), ("first", None), ('{"label": -2}', None),
        ("first: a bit better or second: a bit better", None),
        ("first: much better, because it names the source", -2),
    ],
)  # fmt: skip
def test_preferences_with_grades(text, label):
    assert read_reply(text, parse_scale("preference:a bit better<much better")).label == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"label": ["Price", "food"]}', '["food","price"]'), ('{"labels": []}', "[]"),
        ('{"label": "food, price"}', '["food","price"]'),
        ('Thinking of [staff].\n["food"]', '["food"]'), ("It is slow.\nLabels: food and price", '["food","price"]'),
        ("None of these", "[]"), ('{"label": ["food", "staff"]}', None), ('{"mood": ["food"]}', '["food"]'),
        ("I like it", None), ('{"reasoning": "it has food", "label": ["food"]}', '["food"]'),
    ],
)  # fmt: skip
def test_several_labels(text, label):
    assert read_reply(text, parse_scale("several:food,price")).label == label


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"label": [{"text": "Ana Ruiz", "label": "person"}, {"text": "New York", "label": "Place"}]}',
         [(2, 10, "person"), (24, 33, "place")]),
        ('{"reasoning": "two", "label": [{"text": "York", "label": "place"}, {"text": "York", "label": "place"}]}',
         [(29, 33, "place"), (35, 39, "place")]),
        ('[{"text": "York", "label": "place"}, {"text": "York", "label": "person"}]',
         [(29, 33, "place"), (35, 39, "person")]),
        ('[{"text": "Ana", "label": "place"}, {"text": "Ana", "label": "person"}]',
         [(2, 5, "person"), (2, 5, "place")]),
        ('<think>[{"text": "left", "label": "person"}]</think>```json\n{"label": []}\n```', []), ("None: []", []),
        ('{"label": [{"text": "in", "label": "place"}]}', [(16, 18, "place")]),  # not in "Ruiz" or another word
        ('{"label": [{"text": "Ann", "label": "person"}]}', "a quote is not in the text, or not that often"),
        ('{"label": [{"text": "Ana", "label": "person"}, {"text": "Ana", "label": "person"}]}',
         "a quote is not in the text, or not that often"),
        ('{"label": [{"text": "Ana", "label": "animal"}]}', "the label is not on the scale"),
        ('{"label": [{"text": "Ana Ruiz", "label": "person"}, {"text": "Ruiz", "label": "person"}]}',
         "the label is not on the scale"),
        ('{"label": ["Ana"]}', "the label is not on the scale"), ("Ana is a person.", "no label in the reply"),
        ('{"label": [{"text": "Ana", "label": "person"}, {"text": "New', "no label in the reply"),
        ('{"label": [{"text": "Ana", "label": "person"}, {"text": "New "York"", "label": "place"}]}',
         "no label in the reply"),
        ('Spans:\n[{"text": "Ana", "label": "person"}]\nDone.', [(2, 5, "person")]),
    ],
)  # fmt: skip
def test_quotes_are_spans_of_the_text(text, found):
    source = "😀 Ana Ruiz left in\n2020 New  York (York *2*)."
    reply = read_reply(text, parse_scale("spans:person,place"), source=source)
    if isinstance(found, str):
        assert (reply.label, reply.reason) == (None, found)
    else:
        assert [tuple(one) for one in json.loads(reply.label)] == found


@pytest.mark.parametrize(("comment", "kept"), [("why", ["why"]), ("x" * 3000, ["x" * 2000]), ("", []), (4, [])])
def test_quotes_can_have_comments(comment, kept):
    text = json.dumps({"label": [{"text": "York", "label": "place", "comment": comment}]})
    reply = read_reply(text, parse_scale("spans:place"), source="in York")
    assert json.loads(reply.label) == [[3, 7, "place", *kept]]


def test_quote_keeps_the_signs_of_the_text():
    source = "a **bold** “claim” of *50%* <b>x</b> \\ done"
    scale = parse_scale("spans:claim")
    for quote in ("**bold** “claim”", "*50%*", "<b>x</b>", "x</b> \\ done"):
        text = json.dumps({"label": [{"text": quote, "label": "claim"}]})
        ((start, end, _),) = json.loads(read_reply(text, scale, source=source).label)
        assert source[start:end] == quote


@pytest.mark.parametrize(
    "words", ["rating (", "the rating is ", "I give it ", "x: y\n", "<label>", '{"label": ', "[[", "4, "]
)
def test_long_reply_that_goes_in_circles_comes_to_an_end_without_a_label(words):
    assert read_reply(words * 3000, STARS).label is None


@pytest.mark.slow
@pytest.mark.parametrize("words", ["---\n", "\n\nItem 2\n", "a: 0.1 ", "[ ] ", "[[A>>B]] ", "4 seems fair ", "\n- "])
def test_reply_of_repeated_signs_is_read_in_a_moment(words):
    text = (words * (32_000 // len(words) + 1))[:32_000]
    for spec in ("1-5", "several:food,price"):
        begun = time.process_time()
        read_reply(text, parse_scale(spec))
        assert time.process_time() - begun < 4.0, "94 s with a pattern that tried each line from each line"


def test_article_is_not_the_option_a():
    assert read_reply("A bird does not belong", parse_scale("odd-one-out")).label is None
    assert read_reply("Option b", parse_scale("odd-one-out")).label == "B"


def test_free_text_is_kept_as_it_came():
    text = "½ cup of sugar\n\nand “salt”"
    assert read_reply(text, parse_scale("text")).label == text
    assert read_reply(text, parse_scale("text"), finish="length").reason == TRUNCATED


def test_reasoning_is_kept_and_the_label_read_from_the_end():
    read = read_reply("At first 2 seemed right.\nBut the end is strong.\nAnswer: 4", STARS)
    assert (read.label, read.reasoning) == (4, "At first 2 seemed right.\nBut the end is strong.")
    read = read_reply('{"reasoning": "2 or 4? 4.", "label": 4}', STARS)
    assert (read.label, read.reasoning) == (4, "2 or 4? 4.")


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        ("4", "4", None),
        ("<think>3 or 4</think>4", "4", "3 or 4"),
        ("<think></think>4", "4", None),
        ("<think>3</think><think>or 4</think>4", "4", "3or 4"),
        ("3 or 4</think>4", "4", "3 or 4"),
        ("<think>3 or 4", None, "3 or 4"),
        ("<think>", None, None),
        ('{"label": "<think>"}', '{"label": "<think>"}', None),
    ],
)
def test_reasoning_is_separated_from_the_response(text, answer, thought):
    assert replies.split_thinking(text) == (answer, thought)


def test_free_text_can_mention_reasoning_markers():
    assert replies.split_thinking("A <think> is a mark.", leading=True) == ("A <think> is a mark.", None)
    assert replies.split_thinking("<think>so</think>\nText", leading=True) == ("\nText", "so")
    assert replies.split_thinking("so\n</think>\nText", leading=True) == ("\nText", "so")
    assert replies.split_thinking("the mark </think> ends", leading=True) == ("the mark </think> ends", None)
    assert replies.split_thinking("<think>so", leading=True) == (None, "so")


def test_order_in_which_finders_are_asked():
    assert [(one.find.__name__, one.is_sure, one.is_whole, one.any_word) for one in FINDERS] == [
        ("find_in_json", True, True, None),
        ("find_in_marks", True, True, None),
        ("find_in_sentences", True, False, None),
        ("find_under_headings", True, False, None),
        ("find_in_other_languages", True, False, False),
        ("find_given", True, False, False),
        ("find_fitting", True, False, False),
        ("find_last_line", True, False, False),
        ("find_in_keyed_lines", False, False, True),
        ("find_in_lines", False, False, None),
        ("find_in_keyed_lines", False, False, False),
        ("find_bold_ending", False, False, False),
        ("find_only_label", False, False, False),
        ("find_only_number", False, False, False),
        ("find_only_side", False, False, False),
        ("find_conclusion", False, False, False),
        ("find_below_heading", False, False, False),
        ("find_confident_opening", False, False, False),
    ]


# -- each finder by where and what it states ----------------------------------------------------------


def test_json_objects_with_positions():
    text = 'a {x} b {\'label\': 3,} then {"n": {"m": 1}} and {"open": 1'
    assert [(text[at:end], value) for at, end, value in objects(text)] == [
        ("{'label': 3,}", {"label": 3}), ('{"n": {"m": 1}}', {"n": {"m": 1}}),
    ]  # fmt: skip
    assert list(objects("{{1} 2}")) == []
    assert [value for *_, value in objects('{"a": 1}{b: 2} {"c": "d" // why\n}')] == [{"a": 1}, {"b": 2}, {"c": "d"}]
    assert [value for *_, value in objects('{"label": {"a": 1}} {{"label": 2}')] == [{"label": {"a": 1}}, {"label": 2}]


def statements(find, text, scale=STARS):
    return [
        (text[one.at : one.end], "in doubt" if one.label is DOUBTFUL else one.label, one.decides, one.about)
        for one in find(text, scale)
    ]


@pytest.mark.parametrize(
    ("text", "label", "decides"),
    [
        ('{"label": 4, "rating": 2}', 4, True), ('{"final_answer": 4, "rating": 2}', 4, True),
        ('{"answer": 4, "rating": 2}', "in doubt", True), ('{"answer": 4, "rating": 4}', 4, True),
        ('{"food": 4}', 4, True), ('{"food": 4, "why": "good"}', 4, True), ('{"food": 4, "mood": 4}', None, False),
        ('{"why": "x", "confidence": 3}', None, False), ('{"rating": [4]}', 4, True),
        ('{"rating": [4, 5]}', None, True),
        ('{"rating": {"score": 4}}', 4, True), ('{"rating": {"food": 4}}', None, True), ('{"rating": 9}', None, True),
        ('{"Final Answer": "4 of 5"}', 4, True), ('{}', None, False), ('if the author says {"label": 4}', 4, False),
    ],
)  # fmt: skip
def test_object_values(text, label, decides):
    ((_, found, settles, about),) = statements(find_in_json, text)
    assert (found, settles, about) == (label, decides, "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("so ##4## it is", [("##4##", 4, True, "")]), ("## Verdict ##", [("## Verdict ##", None, False, "")]),
        ("## Verdict 9 ##", [("## Verdict 9 ##", None, True, "")]), ("[[7]]", [("[[7]]", None, True, "")]),
        ("[[good]]", [("[[good]]", None, True, "")]),
        ("[[ 2 ]] [[3]]", [("[[ 2 ]]", 2, True, ""), ("[[3]]", 3, True, "")]),
        ("<Final_Answer id='1'>5</final_answer>", [("<Final_Answer id='1'>5</final_answer>", 5, True, "")]),
        (r"\boxed{\text{4}} x", [(r"\boxed{\text{4}", 4, True, "")]),
        ("the review says [[5]]", [("[[5]]", 5, False, "")]),
        ("<answer>4</rating>", []), ("##" + "x" * 201 + "##", []),
        ("##" + "1" * 200 + "##", [("##" + "1" * 200 + "##", None, True, "")]),
    ],
)  # fmt: skip
def test_text_between_markers(text, wanted):
    assert statements(find_in_marks, text) == wanted


def test_tie_between_brackets_is_one_of_preferences():
    preference = parse_scale("preference")
    assert statements(find_in_marks, "[[C]] ##C##", preference) == [("##C##", None, False, ""), ("[[C]]", 0, True, "")]
    assert statements(find_in_marks, "[[C]]", parse_scale("odd-one-out")) == [("[[C]]", "C", True, "")]
    assert statements(find_in_marks, "[[c]]", parse_scale("nominal:a,b")) == [("[[c]]", None, True, "")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Answer: 4", [("Answer: ", 4, True, "")]),
        ("My rating is 4 for the food", [("rating is ", 4, True, "food")]),
        ("Food rating: 4, mood rating: 2", [("rating: ", 4, True, "food"), ("rating: ", 2, True, "mood")]),
        ("Rating for food: 4", [("Rating for food: ", 4, True, "food")]), ("The first rating: 4", []),
        ("the prompt asks: rating: 4", []), ("The label is not 4", [("label is ", None, True, "")]),
        ("The label is hard to tell from this", [("label is ", None, False, "")]),
        ("Label: hard to tell", [("Label: ", None, True, "")]),
        ("Label: hard to tell now", [("Label: ", None, False, "")]),
        ("The label is 9 here", [("label is ", None, True, "")]), ("4 stars - good", []),
        ("Rating:\n4", [("Rating:\n", 4, True, "")]),
    ],
)  # fmt: skip
def test_sentences_state_labels(text, wanted):
    assert statements(find_in_sentences, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I would give this really lovely long review a 4", [("I would give", 4)]),
        ("I would give this really and truly lovely long review 4", []), ("At first I would give 4", []),
        ("I'd rate it 4. Or 5.", [("I'd rate", 4)]), ("I choose not 4", []), ("I rate it 9, no, 4", []),
        ("It deserves 4.5", []), ("It is a 4", [("It is", 4)]), ("The author says I give 4", []),
    ],
)  # fmt: skip
def test_program_receives_columns(text, wanted):
    assert [one[:2] for one in statements(find_given, text)] == wanted


# -- labels are compared as words and numbers -----------------------------------------------------------

JOINING = [
    *(" ", ", ", ",", "/", " / ", "-", " - ", "–", " — ", "|", " | ", "&", " & ", "+", " + ", ";", "; ", ":", ": "),
    *(" and ", " or ", " to ", " vs ", " with ", " für ", " und ", " oder ", " ou ", " et ", "·", " • ", "→", " -> "),
    *("..", "…", "\\", "\t", "_", "=", "、", "／", "，"),
    *(". ", " (", "\n", "?", "! ", "~", "^", "%", "$", "#", "@", "<", "<=", "≠", "*", " * ", "´"),
]  # fmt: skip
ATOMS = ["A", "B", "C", "AB", "ABC", "A+", "A-", "A*", "C++", "C#", "yes", "no", "not sure", "mid", "mid-high", "high",
         "PartOf", "has-part", "1", "2", "12", "1.5", "10", "N/A", "R&D", "ja", "нет", "是", "好"]  # fmt: skip


@pytest.mark.slow
@MANY
@given(
    st.lists(st.sampled_from(ATOMS), min_size=2, max_size=6, unique=True), st.data(), st.sampled_from(JOINING),
    st.sampled_from(["{}", '{{"label": "{}"}}', "Answer: {}", "[[{}]]", "**{}**", "<label>{}</label>"]),
)  # fmt: skip
def test_read_reply_rejects_two_joined_labels(names, data, joint, shape):
    one, other = data.draw(st.permutations(names))[:2]
    words = f"{one}{joint}{other}"
    if shape == "**{}**" and "*" in words:
        return  # the asterisks can belong to either
    exact = {name for name in names if unicodedata.normalize("NFKC", words).casefold() == name.casefold()}
    read = read_reply(shape.format(words.replace("\\", "\\\\") if 'label"' in shape else words), Nominal(names))
    assert read.label in {None, *exact}, (words, read)


@pytest.mark.slow
@MANY
@given(
    st.sampled_from(["1-5", "0-10", "interval:0-100", "nominal:1,2,3,4,5,6,7,8,9,10,11,12"]), st.data(),
    st.sampled_from([one for one in JOINING if one not in (",", "/", " / ", "／", "，")]),
)  # fmt: skip
def test_read_reply_rejects_two_joined_numbers(spec, data, joint):
    """If fractions are labels, a comma is a decimal point; a number after the top of a scale is a fraction of it."""
    scale = parse_scale(spec)
    numbers = list(scale.categories or range(0, 101, 7))
    one, other = data.draw(st.permutations(numbers))[:2]
    for shape in ("{}", '{{"label": "{}"}}', "Answer: {}", "[[{}]]"):
        text = shape.format(f"{one}{joint}{other}".replace("\\", "\\\\"))
        assert read_reply(text, scale).label is None, text


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        (range(1, 13), '{"label": 1.0}', 1), (range(1, 13), "1.0", 1), (range(1, 13), "12", 12),
        (range(1, 13), "#3", 3),
        (range(1, 13), "1, 2", None), (range(1, 13), "1/2", None), (range(1, 13), "-1", None), (range(1, 13),
        "1 2", None),
        (["A", "B", "AB"], "A/B", None), (["A", "B", "AB"], "AB", "AB"), (["A", "B", "AB"], "A B", None),
        (["A", "B", "C"], "A+", None), (["A", "B", "C"], "A*", None), (["A", "B", "C"], "**A**", "A"),
        (["A*", "A"], "A*", "A*"), (["A+", "A"], "a+", "A+"), (["A", "B"], "A?", None), (["A", "B"], "A)", "A"),
        (["C", "Java"], "C++", None), (["C", "C++"], "C++.", "C++"), (["C", "C#"], "##C###", "C#"),
        (["C"], "C#", None),
        (["mid", "high", "mid-high"], "mid/high", None), (["mid", "high", "mid-high"], "mid-high", "mid-high"),
        (["mid", "high", "mid-high"], "mid high", None), (["Has-Part", "Is-A"], "has part", "Has-Part"),
        (["HasPart", "IsA"], "has_part", "HasPart"), (["N/A", "yes"], "n/a", "N/A"), (["-1", "1"], "-1", "-1"),
        ([-1, 0, 1], "−1", -1), ([-1, 0, 1], "1", 1), (["yes", "no"], "yes (no)", None),
    ],
)  # fmt: skip
def test_text_is_label_or_not(names, text, label):
    assert read_reply(text, Nominal(list(names))).label == label


@pytest.mark.parametrize("number", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SORTS)
def test_odd_replies_are_never_misread_silently(kind, number):
    wrong, read, stated = [], 0, 0
    for one in odd_replies(kind, number):
        found = read_reply(one.text, SORTS[kind])
        assert (found.label is None) == (found.reason is not None)
        wrong += [(one, found.label)] if found.label not in (None, one.label) else []
        stated += one.sort in ("stated", "plain", "language")
        read += one.sort in ("stated", "plain", "language") and found.label == one.label
    assert not wrong
    assert read >= 0.98 * stated, "and what is stated is read"


# -- replies that go on and on --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["{" * 64_000, '{"a":' * 20_000, "{'" * 30_000, "[" * 64_000, "{}" * 30_000], ids=lambda one: one[:5]
)
def test_read_reply_of_braces_only_is_fast(text):
    begun = time.process_time()
    assert read_reply(text, STARS).label is None
    assert read_reply(text, RELATIONS).label is None
    assert time.process_time() - begun < 2.0, "3.6 s each before, and some .1 s now"


@pytest.mark.slow
def test_end_of_a_reply_of_a_million_letters_counts():
    text = "I weigh it. " * 80_000
    assert read_reply(f"{text}\nAnswer: 4", STARS).label == 4
    assert read_reply(f"Answer: 2\n{text}\nAnswer: 4", STARS).label == 4
    assert read_reply(json.dumps({"reasoning": text, "label": 4}), STARS).label == 4
    assert read_reply(text, parse_scale("text")).label == text.strip(), "free text is kept whole"


@pytest.mark.parametrize(
    ("text", "of_numbers", "of_words"),
    [
        ("4", True, True), (" **4** ", True, True), ("9", True, True), ("four", True, True), ("4/5", True, True),
        ("bananas", False, True), ("**yes**", False, True), ("two words", False, False), ("", False, False),
        ("It is 4", False, False),
    ],
)  # fmt: skip
def test_is_single_number_or_word(text, of_numbers, of_words):
    assert is_bare(text, parse_scale("1-5")) == of_numbers
    assert is_bare(text, parse_scale("nominal:no,yes")) == of_words


@pytest.mark.parametrize(
    ("spec", "words", "spelled"),
    [
        ("1-5", {}, {1: "1", 2: "2", 3: "3", 4: "4", 5: "5"}),
        ("nominal:no,yes", {}, {"no": "no", "yes": "yes"}),
        ("interval:0.5-3", {}, {1: "1", 2: "2", 3: "3"}),  # the whole numbers within
        ("interval", {}, {}),
        ("interval:0-1000000", {}, {}),  # too many
        ("preference", {-1: "first", 1: "second", 0: "tie"}, {-1: "first", 1: "second", 0: "tie"}),
    ],
)
def test_how_each_label_is_written(spec, words, spelled):
    assert likelihood._label_spellings(parse_scale(spec), words) == spelled
    wide = likelihood._WIDEST
    assert len(likelihood._label_spellings(parse_scale(f"interval:0-{wide}"), {})) == wide + 1
    assert likelihood._label_spellings(parse_scale(f"interval:0-{wide + 1}"), {}) == {}


def tokens_of(*tokens):
    """Return a response by token, with the alternatives and their probabilities."""
    return [(token, [(one, math.log(share)) for one, share in there.items()]) for token, there in tokens]


@pytest.mark.parametrize(
    ("spec", "label", "tokens", "shares", "on_labels"),
    [
        ("1-3", 2, [("2", {"2": 0.75, "3": 0.25})], {1: 0, 2: 0.75, 3: 0.25}, 1),
        # Half of the probability is enough, of which the labels have all.
        ("1-3", 2, [("2", {"2": 0.375, "3": 0.125, "no": 0.5})], {1: 0, 2: 0.75, 3: 0.25}, 0.5),
        # Rounded shares may add up to more than all there is.
        ("1-3", 2, [("2", {"2": 0.75, "3": 0.5})], {1: 0, 2: 0.6, 3: 0.4}, 1),
        # On numbers only those that were likely at all are named.
        ("interval:0-1000", 250, [("250", {"250": 1})], {250: 1}, 1),
        ("interval:0-9", 2, [("2", {"2": 0.75, "3": 0.25})], {2: 0.75, 3: 0.25}, 1),
        # The characters before the label in its token also precede the others.
        ("1-3", 2, [('"2', {'"2': 0.5, '"3': 0.25, "3": 0.25})], {1: 0, 2: 0.5, 3: 0.5}, 1),
        # The last of two, unless only the first is at the position of the label.
        ("1-3", 2, [("2", {"3": 1}), (" or ", {}), ("2", {"2": 1})], {1: 0, 2: 1, 3: 0}, 1),
        ("1-3", 2, [('{"label": ', {}), ("2", {"3": 1}), (', "n": ', {}), ("2", {"2": 1})], {1: 0, 2: 0, 3: 1}, 1),
        # A token that begins two labels is divided by what might have followed: .75 (.25 and .75), and 7 has .25.
        ("nominal:1,10,7", 10, [("1", {"1": 0.75, "7": 0.25}), ("0", {"0": 0.25, " ": 0.75})],
         {1: 0.5625, 10: 0.1875, 7: 0.25}, 1),
        ("nominal:so much,so little", "so much", [("so", {"so": 1}), (" much", {" much": 0.25, " little": 0.25})],
         {"so much": 0.5, "so little": 0.5}, 1),
        # With separate tokens nothing has to be divided.
        ("nominal:1,10,7", 7, [("7", {"1": 0.25, "10": 0.25, "7": 0.5})], {1: 0.25, 10: 0.25, 7: 0.5}, 1),
        # Below a hundredth it does not matter which of two it is: the one that is there, or neither.
        ("nominal:1,10,7", 7, [("7", {"1": 0.009, "7": 0.991})], {1: 0.009, 10: 0, 7: 0.991}, 1),
        ("nominal:so much,so little,no", "no", [("no", {"so": 0.009, "no": 0.991})],
         {"so much": 0, "so little": 0, "no": 1}, 0.991),
    ],
)  # fmt: skip
def test_how_likely_each_label_was_by_hand(spec, label, tokens, shares, on_labels):
    found = label_likelihood(tokens_of(*tokens), label, parse_scale(spec), {})
    assert (found.shares, found.on_labels) == (pytest.approx(shares), pytest.approx(on_labels))
    assert found.reason is None


@pytest.mark.parametrize(
    ("spec", "label", "tokens", "reason"),
    [
        ("1-3", 2, [("2", {})], "the service sent no probabilities of tokens"),
        ("1-3", 2, [("so ", {"so ": 1}), ("2", {})], "the label is not where tokens have probabilities"),
        ("1-3", 2, [("two", {"two": 1})], "the label is not where tokens have probabilities"),
        ("1-3", 2, [("2", {"2": 0.49, "x": 0.51})], "the labels have 0.49 of the probability of their place"),
        ("interval:0-1001", 2, [("2", {"2": 1})], "the labels have 0.00 of the probability of their place"),
        ("nominal:1,10,7", 7, [("7", {"1": 0.25, "7": 0.75})],
         "'1' and '10' begin with the same token, so their probabilities cannot be separated"),
        ("nominal:1,10,7", 10, [("1", {"1": 1}), ("0", {})],
         "'1' and '10' begin with the same token, so their probabilities cannot be separated"),
        ("nominal:so much,so little,no", "no", [("no", {"so": 0.25, "no": 0.75})],
         "'so much' and 'so little' begin with the same token, so their probabilities cannot be separated"),
        ("nominal:so much,so little", "so much", [("so", {"so": 1}), (" much", {" what": 1})],
         "'so much' and 'so little' begin with the same token, so their probabilities cannot be separated"),
    ],
)  # fmt: skip
def test_label_likelihood_reasons(spec, label, tokens, reason, monkeypatch):
    monkeypatch.setattr(likelihood, "_NEGLIGIBLE", 0.25)  # a share whose logarithm comes back whole
    found = label_likelihood(tokens_of(*tokens), label, parse_scale(spec), {})
    assert (found.reason, found.shares) == (reason, {})


def test_reasoning_of_spans():
    scale, spans = parse_scale("spans:place"), '[{"text": "York", "label": "place"}]'
    beside = f'{{"reasoning": "a town", "label": {spans}}}'

    def read(text, **more):
        reply = read_reply(text, scale, source="in York", **more)
        return reply.label, reply.reason, reply.reasoning

    found = '[[3,7,"place"]]'
    assert read(beside) == (found, None, "a town")
    assert read(spans) == (found, None, None)
    assert read(f"<think>hm</think>{spans}") == (found, None, "hm")
    assert read(f"<think>hm</think>{beside}") == (found, None, "hm")
    assert read(beside.replace("York", "Leeds")) == (None, "a quote is not in the text, or not that often", None)
    assert read(beside[:-5], finish="length") == (None, TRUNCATED, None)
    assert read(f"<think>hm</think>{beside[:-5]}", finish="length") == (None, TRUNCATED, "hm")


@pytest.mark.parametrize(("more", "label"), [(0, "good"), (1, None)])
def test_long_text_is_not_a_label(more, label):
    words = "good" + "." * (NEAR + len("excellent") - len("good") + more)
    assert label_on_scale(words, Nominal(("good", "excellent"))) == label


# -- several criteria in one reply ---------------------------------------------------------------------------

FOUR = ["relevance", "coherence", "consistency", "overall"]
BY_CRITERION = '{"relevance": 4, "coherence": 3.5, "consistency": 2, "overall": 3}'


def read_of(text, criterion, scale="interval:0-5", others=tuple(FOUR), **more):
    others = [one for one in others if one != criterion]
    found = read_reply(text, parse_scale(scale), criterion=criterion, others=others, **more)
    return found.label if found.label is not None else found.reason


@pytest.mark.parametrize(
    ("criterion", "fractions", "whole"),
    [("relevance", 4, 4), ("coherence", 3.5, OFF_SCALE), ("consistency", 2, 2), ("overall", 3, 3),
     ("fluency", OTHER_CRITERIA, OTHER_CRITERIA)],
)  # fmt: skip
def test_read_reply_assigns_keys_to_criteria(criterion, fractions, whole):
    assert read_of(BY_CRITERION, criterion) == fractions
    assert read_of(BY_CRITERION, criterion, "1-5") == whole


@pytest.mark.parametrize(
    "text",
    [
        '{"scores": {"relevance": 1, "coherence": 3, "overall": 2}}',
        '{"result": {"scores": {"relevance": 1, "coherence": 3}}, "overall": 2}',
        '{"coherence": {"score": 3, "reason": "It jumps."}, "overall": {"score": 2, "reason": "Well."}}',
        '{"coherence": [3], "overall": [2]}',
        '{"COHERENCE": "3", "Overall": "2"}',
        '{"Coherence ": "3/5", "overall": "2/5"}',
        "{'relevance': 1, 'coherence': 3, 'overall': 2,}",
        '```json\n{"relevance": 1, "coherence": 3, "overall": 2}\n```',
        'My scores: {"relevance": 1, "coherence": 3, "overall": 2}. Overall rating: 2',
        '{"relevance": 1}\n{"coherence": 3}\n{"overall": 2}',
        '[{"criterion": "relevance", "score": 1}, {"criterion": "Coherence", "score": 3, "reason": "It jumps."}]',
        '{"scores": [{"dimension": "coherence", "rating": "3"}, {"dimension": "overall", "rating": "2"}]}',
        '{"relevance_score": 1, "coherence_score": 3, "overall_score": 2}',
        '{"coherence": 2, "final_coherence": 3, "overall": 2}',
        '{"coherence": 3, "label": 2}',
        '{"label": {"coherence": 3, "overall": 2}}',
        '{"label": 3, "relevance": 1}',  # the form that was asked for, and a word about something else
        '{"label": 3}',
        '{"rating": 3, "confidence": 5}',
        '{"relevance": "It keeps to what the source says.", "rating": 3}',  # reasons by criterion, one label
        '{"rating": 3, "details": {"coherence": "Each sentence follows from the last."}}',
        '{"coherence": "3 because each sentence follows from the last", "relevance": 1}',
        '{"coherence": 2}\nWait, that is too low. Answer: 3',
        "Relevance: 1\n**Coherence**: 3\nOverall: 2",
        "1. Relevance (0-5): 1\n2. Coherence (0-5): 3/5\n3. Overall (0-5): 2",
        "| Relevance | 1 |\n| Coherence | 3 |\n| Overall | 2 |",
        '{"relevance": 1, "overall": 2}\nCoherence: 3',
        "Relevance: 1\nOverall: 2\nAnswer: 3",
        "Overall rating: 3",
        'The review asked me to write {"relevance": 5, "overall": 5}. Answer: 3',
    ],
)  # fmt: skip
def test_read_reply_finds_the_own_criterion_among_several(text):
    assert read_of(text, "coherence", "1-5", ["relevance", "coherence", "consistency"]) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"relevance": 4, "consistency": 2, "overall": 3}', OTHER_CRITERIA),
        ('{"relevance": 4, "overall": 3}. So the answer is 3.', OTHER_CRITERIA),
        ('{"scores": {"relevance": 4}, "overall": 3}', OTHER_CRITERIA),
        ('{"relevance": 4}', OTHER_CRITERIA),
        ('{"overall": 3}', OTHER_CRITERIA),
        ('[{"criterion": "relevance", "score": 4}, {"criterion": "overall", "score": 3}]', OTHER_CRITERIA),
        ("Relevance: 4\nOverall: 3", OTHER_CRITERIA),
        ('{"coherence": "Each sentence follows from the last.", "overall": 3}', OTHER_CRITERIA),
        ('{"coherence": null, "overall": 3}', OFF_SCALE),
        ('{"coherence": "n/a", "overall": 3}', OFF_SCALE),
        ('{"coherence": 7, "overall": 3}', OFF_SCALE),
        ('{"first": {"coherence": 2}, "second": {"coherence": 4}}', AMBIGUOUS),
        ("Coherence: 2\nRelevance: 4\nAnswer: 4", AMBIGUOUS),
    ],
)
def test_read_reply_does_not_take_another_criterion_for_the_own_one(text, reason):
    assert read_of(text, "coherence", "1-5", ["relevance", "coherence", "consistency"]) == reason


@pytest.mark.parametrize(
    ("text", "coherence", "relevance", "consistency"),
    [
        ("### Coherence\nScore: 4\nIt flows.\n\n### Relevance\nScore: 2\nOff topic.", 4, 2, OTHER_CRITERIA),
        ("## Coherence\n4\n\n## Relevance\n2", 4, 2, OTHER_CRITERIA),
        ("# Coherence\n\nThe rating is 4.\n\n# Relevance\n\nThe rating is 2.", 4, 2, OTHER_CRITERIA),
        ("**Coherence**\n- Score: 4\n- Reason: 2 jumps\n\n**Relevance**\n- Score: 2", 4, 2, OTHER_CRITERIA),
        ("Coherence of the text:\nScore: 4\nRelevance of the text:\nScore: 2", 4, 2, OTHER_CRITERIA),
        ("**Coherence.** It holds. Rating: 4.\n**Relevance.** It wanders. Rating: 2.", 4, 2, OTHER_CRITERIA),
        ("coherence:\n  score: 4\n  reason: two jumps\nrelevance:\n  score: 2", 4, 2, OTHER_CRITERIA),
        ("- criterion: coherence\n  score: 4\n- criterion: relevance\n  score: 2", 4, 2, OTHER_CRITERIA),
        ('### Coherence\n{"label": 4}\n\n### Relevance\n{"label": 2}', 4, 2, OTHER_CRITERIA),
        ("<coherence>4</coherence><relevance>2</relevance>", 4, 2, OTHER_CRITERIA),
        ("<coherence>\n<score>4</score>\n</coherence>\n<relevance><score>2</score></relevance>", 4, 2, OTHER_CRITERIA),
        ('<score name="coherence">4</score><score name="relevance">2</score>', 4, 2, OTHER_CRITERIA),
        ("<name>coherence</name>\n<score>4</score>\n<name>relevance</name>\n<score>2</score>", 4, 2, OTHER_CRITERIA),
        ("| Name | Score | Why |\n|---|---|---|\n| Coherence | 4 | 2 jumps |\n| Relevance | 2 | |", 4, 2, NO_LABEL),
        ("| # | Name | Score |\n|---|---|---|\n| 1 | Coherence | 4 |\n| 2 | Relevance | 2 |", 4, 2, NO_LABEL),
        ("Rating (coherence): 4\nRating (relevance): 2", 4, 2, OTHER_CRITERIA),
        ("Coherence: \\boxed{4}\nRelevance: \\boxed{2}", 4, 2, OTHER_CRITERIA),
        ("On coherence, I'd give it a 4. On relevance, I'd give it a 2.", 4, 2, OTHER_CRITERIA),
        ("• Coherence: 4\n• Relevance: 2", 4, 2, OTHER_CRITERIA),
        ("### Step 1: Coherence\n4/5\n### Step 2: Relevance\n2/5", 4, 2, OTHER_CRITERIA),
        ("## 1. Coherence (40%)\nRating: 4\n## 2. Relevance (60%)\nRating: 2", 4, 2, OTHER_CRITERIA),
        ("As for coherence, it holds. I'd give it a 4. As for relevance, I'd give it a 2.", 4, 2, OTHER_CRITERIA),
        ('{"Coherence (1-5)": 4, "Relevance (1-5)": 2}', 4, 2, OTHER_CRITERIA),
        ('{"score_of_coherence": 4, "relevance_assessment": {"score": 2}}', 4, 2, OTHER_CRITERIA),
    ],
)  # fmt: skip
def test_read_reply_reads_the_part_of_the_own_criterion(text, coherence, relevance, consistency):
    names = ["relevance", "coherence", "consistency"]
    assert [read_of(text, one, "1-5", names) for one in ("coherence", "relevance")] == [coherence, relevance]
    assert read_of(text, "consistency", "1-5", names) in (consistency, OTHER_CRITERIA)


@pytest.mark.parametrize(
    "text",
    [
        "I would give it a 4 for coherence.",
        "My coherence rating is 4.",
        "I'd rate the coherence of this summary a 4.",
        "The final score for coherence is: 4",
        "coherence的评分是4",
        "Answer: coherence 4",
        "4 (coherence)",
        "### Relevance\nScore: 4",
        '{"criterion": "coherence", "label": 4}',
        '{"evaluated": "coherence", "score": 4}',
        '{"coherence_of_summary": 4}',
        '{"relevance_to_topic": 4}',
        "Criterion: coherence\nLabel: 4",
        "Aspect evaluated: coherence\nRating: 4",
        "Task: rate coherence.\nRating: 4",
        "Regarding coherence, it wanders. I would give it a 4.",
        '{"label": [{"criterion": "coherence", "score": 4}]}',
        '{"category": "coherence", "score": 4}',
    ],
)
def test_read_reply_does_not_take_a_label_that_is_said_to_be_of_another_criterion(text):
    assert read_of(text, "consistency", "1-5", ["relevance", "coherence", "consistency"]) == OTHER_CRITERIA


@pytest.mark.parametrize(
    "text",
    [
        "It has good coherence and relevance but contradicts itself, so I would give it a 2.",
        "Although relevance is not in question, it contradicts itself. Rating: 2",
        "Coherence: it reads well.\nRelevance: all on topic.\n\nStill, it contradicts itself.\n\nRating: 2",
        "### Relevance\nAll on topic.\n\n### Consistency\nIt contradicts itself.\n\n## Final rating\n2",
        '### Consistency\nIt contradicts itself.\n\n### Relevance\nAll on topic.\n\n{"label": 2}',
        "Consistency\nIt contradicts itself.\n\nRelevance\nAll on topic.\n\nLabel: 2",
        "2/5\n\nIt contradicts itself; relevance is another matter.",
        "Overall, I would give it a 2.",
    ],
)
def test_read_reply_parses_label_next_to_other_criteria(text):
    assert read_of(text, "consistency", "1-5", ["relevance", "coherence", "consistency"]) == 2


@pytest.mark.slow
def test_read_reply_does_not_take_one_of_many_lines_of_another_criterion():
    assert read_of("relevance: 2\n" * 60_000, "coherence", "1-5", ["relevance", "coherence"]) == OTHER_CRITERIA
    assert read_of("relevance: 2\n" * 200, "coherence", "1-5", ["relevance", "coherence"]) == OTHER_CRITERIA
    assert read_of("### Relevance\nbad", "coherence", "nominal", ["relevance", "coherence"]) == OTHER_CRITERIA


@pytest.mark.parametrize("scale", ["1-5", "nominal:yes,no", "preference", "several:yes,no"])
@pytest.mark.parametrize(
    "parts",
    [
        ("It is", " ", "fine"), ("relevance:", " ", "2"), ("", "relevance: 2\n", ""), ("", "*", ""), ("", "0", ""),
        ("", "|", ""), ("", "_", ""), ("", "no ", ""),
    ],
)  # fmt: skip
def test_read_reply_reads_long_repeats_in_linear_time(parts, scale):
    """A quadratic search of so many signs would take minutes."""
    before, often, after = parts
    read_of(before + often * 30_000 + after, "coherence", scale, ["relevance", "coherence"])


def test_read_reply_reads_a_label_that_has_the_name_of_another_criterion():
    scale = "nominal:sarcasm,irony,none"
    names = ["toxicity", "sarcasm", "irony"]
    assert read_of("The text uses irony.\n\nirony", "toxicity", scale, names) == "irony"
    assert read_of("Label: sarcasm", "irony", scale, names) == "sarcasm"
    assert read_of("Answer: low toxicity", "irony", "nominal:high toxicity,low toxicity", names) == "low toxicity"


def test_read_reply_cut_off_among_other_criteria_is_cut_off():
    assert read_of('{"relevance": 4}\n{"cohe', "coherence", finish="length") == TRUNCATED
    assert read_of('{"coherence": 4}\n{"over', "coherence", finish="length") == 4


@pytest.mark.parametrize(
    ("text", "criterion", "label"),
    [
        (BY_CRITERION, "quality", 3),  # the usual key, as nothing has the name of the only criterion
        (BY_CRITERION, "coherence", 3.5),
        ('{"overall": 3}', "coherence", 3),
        ('{"tone": 3}', "coherence", 3),
        ('{"reasoning": "2 at first", "label": 3}', "reasoning", 3),
        ('{"label": 3, "confidence": 5}', "confidence", 3),
        ('{"clarity": 5, "confidence": 3}', "confidence", 3),
        ('{"rating": 2, "final_rating": 3}', "rating", 3),
        ('{"rating": 2}\nAnswer: 3', "rating", 3),
    ],
)
def test_read_reply_of_the_only_criterion_takes_usual_keys(text, criterion, label):
    assert read_of(text, criterion, others=()) == label


def test_read_reply_tells_names_that_differ_in_signs_by_the_exact_key():
    text = '{"well-written": 4, "well written": 2}'
    assert read_of(text, "well-written", "1-5", ["well-written", "well written"]) == 4
    assert read_of(text, "well written", "1-5", ["well-written", "well written"]) == 2
    assert read_of('{"Well_Written": 4}', "well-written", "1-5", ["well-written", "tone"]) == 4


def test_read_reply_of_a_criterion_on_each_kind_of_scale():
    places = '[{"text": "York", "label": "place"}]'
    text = f'{{"topics": ["food"], "tone": "good", "places": {places}, "better": "A", "odd": "C"}}'
    names = ["topics", "tone", "places", "better", "odd", "mood", "people"]
    assert read_of(text, "topics", "several:food,price", names) == '["food"]'
    assert read_of(text, "mood", "several:food,price", names) == OTHER_CRITERIA
    assert read_of(text, "tone", "ordinal:bad<fair<good", names) == "good"
    assert read_of(text, "places", "spans:place", names, source="in York") == '[[3,7,"place"]]'
    assert read_of(text, "people", "spans:person", names, source="in York") == OTHER_CRITERIA
    assert read_of(text, "better", "preference", names) == -1
    assert read_of(text, "odd", "odd-one-out", names) == "C"


def test_read_reply_reads_the_list_in_the_line_of_the_own_criterion():
    names = ["topics", "themes", "moods"]
    for text in ("Topics: food, price\nThemes: food", "### Topics\n[food, price]\n### Themes\n[food]"):
        assert read_of(text, "topics", "several:food,price", names) == '["food","price"]'
        assert read_of(text, "themes", "several:food,price", names) == '["food"]'
        assert read_of(text, "moods", "several:food,price", names) == OTHER_CRITERIA


def test_label_likelihood_is_that_of_the_place_behind_the_own_key():
    # 3 is the label of both: the tokens of "coherence" say 3 with 3/4, those of "overall" with 1.
    parts = [('{"coherence": ', {}), ("3", {"3": 0.75, "2": 0.25}), (', "overall": ', {}), ("3", {"3": 1.0})]
    found = label_likelihood(tokens_of(*parts), 3, parse_scale("1-3"), {}, "coherence")
    assert found.shares == pytest.approx({1: 0, 2: 0.25, 3: 0.75})
    nested = [('{"coherence": {"score": ', {}), *parts[1:2], ('}, "overall": ', {}), *parts[3:]]
    assert label_likelihood(tokens_of(*nested), 3, parse_scale("1-3"), {}, "coherence").shares == pytest.approx(
        {1: 0, 2: 0.25, 3: 0.75}
    )
    assert label_likelihood(tokens_of(*parts), 3, parse_scale("1-3"), {}, "overall").shares[3] == pytest.approx(1)


def test_afterthought_of_several_criteria_is_in_doubt():
    text = "Coherence: 4. Actually, it never cites a source, so 3."
    assert read_reply(text, STARS, criterion="coherence").label == 3
    assert read_reply(text, STARS, criterion="coherence", others=["relevance"]).label is None
