"""The form of one item by hand: input elements, keys, sides, letters and the given answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from annotating import Served, write_study

from assay.collecting.design import Asked
from assay.collecting.forms import (
    FormField,
    _differing_columns,
    dialogue_turns,
    item_fields,
    question_form,
    slider_ticks,
)
from assay.collecting.markdown import item_html
from assay.data.scales import parse_scale
from assay.errors import MissingExtra
from assay.study.items import Item, canonical
from assay.study.schema import Question

ITEM = Item("i1", None, {"one": "x", "two_b": "y", "third": {"z": 1}, "empty": "", "photo": "p.png"})


def form(scale, order=(), label=None, images=None, **more):
    question = Question.model_validate({"name": "q", "text": "Q?", "scale": scale, **more})
    return question_form(Asked(7, question, parse_scale(scale)), ITEM, order, images or {}, label)


def choices(found):
    return [(one.value, one.text, one.meaning, one.key) for one in found.choices]


def test_listed_labels_have_keys():
    stars = form("1-3", meanings={"1": "bad"}, guidelines="G", label=2)
    assert (stars.id, stars.name, stars.text, stars.guidelines, stars.kind) == (7, "q", "Q?", "G", "choice")
    assert choices(stars) == [("1", "1", "bad", "1"), ("2", "2", None, "2"), ("3", "3", None, "3")]
    assert (stars.low, stars.high, stars.whole, stars.optional, stars.meanings) == (None, None, True, False, ())
    assert (stars.given, stars.allowed) == ("2", parse_scale("1-3").describe())
    words = form("nominal:no,yes,10", keys={"yes": "j"}, optional=True, label="yes")
    assert choices(words) == [('"no"', "no", None, "1"), ('"yes"', "yes", None, "J"), ('"10"', "10", None, "3")]
    assert (words.whole, words.optional, words.given) == (False, True, '"yes"')
    # One-digit numbers are their own keys; the tenth word has no key.
    assert [one.key for one in form("ordinal:0-10").choices] == [*map(str, range(10)), None]
    assert [one.key for one in form("nominal:" + ",".join("abcdefghij")).choices] == [*map(str, range(1, 10)), None]
    assert [one.key for one in form("ordinal:-1-1").choices] == [None, "0", "1"]


def test_long_scales_and_fractions_are_typed():
    eleven, twelve = form("ordinal:0-10"), form("ordinal:0-11", meanings={"0": "none"})
    assert (eleven.kind, len(eleven.choices)) == ("choice", 11)
    assert (twelve.kind, twelve.choices, twelve.low, twelve.high, twelve.whole) == ("number", (), 0, 11, True)
    assert twelve.meanings == (("0", "none"),)
    share = form("interval:0-1", label=0.5)
    assert (share.kind, share.low, share.high, share.whole, share.given) == ("number", 0, 1, False, "0.5")
    free = form("interval")
    assert (free.kind, free.low, free.high) == ("number", None, None)
    assert (form("text", label="so").kind, form("text", label="so").given) == ("text", '"so"')
    assert form("nominal:" + ",".join(f"c{k}" for k in range(12))).kind == "choice"


@pytest.mark.parametrize(
    ("scale", "numbers"),
    [
        ("interval:0-100", "0 20 40 60 80 100"), ("interval:0-1", "0 0.2 0.4 0.6 0.8 1"),
        ("interval:-1-1", "-1 -0.5 0 0.5 1"),
        ("ordinal:0-12", "0 3 6 9 12"), ("ordinal:1-20", "1 20"), ("ordinal:1-13", "1 4 7 10 13"),
        ("interval:1-7", "1 3 5 7"), ("interval:0-0.03", "0 0.006 0.012 0.018 0.024 0.03"), ("interval", ""),
    ],
)  # fmt: skip
def test_slider_ticks_are_round_numbers(scale, numbers):
    assert " ".join(form(scale).ticks) == numbers


@pytest.mark.parametrize(
    ("low", "high", "whole", "numbers"),
    [
        (-3, 3, False, "-3 0 3"),  # 0 is one of them if the scale has it
        (-2, 8, False, "-2 0 2 4 6 8"),
        (-1, 9, False, "-1 9"),
        (-10, 0, False, "-10 -8 -6 -4 -2 0"),
        (1, 11, False, "1 3 5 7 9 11"),
        (0, 2, False, "0 0.4 0.8 1.2 1.6 2"),
        (0, 2, True, "0 1 2"),
        (0, 8, False, "0 2 4 6 8"),
        (0, 9, False, "0 3 6 9"),
        (0, 14, False, "0 14"),
    ],
)
def test_numbers_along_a_slider_by_hand(low, high, whole, numbers):
    assert slider_ticks(low, high, whole=whole) == tuple(numbers.split())


def test_several_labels_have_a_choice_for_none():
    found = form("several:food,price", keys={"food": "d"}, meanings={"price": "what it costs"}, label='["price"]')
    assert (found.kind, found.given) == ("several", '["price"]')
    assert choices(found) == [
        ('"food"', "food", None, "D"), ('"price"', "price", "what it costs", "2"), ("", "None of these", None, "0")
    ]  # fmt: skip


def test_text_for_spans_is_shown_with_its_question_as_words():
    found = form("spans:a,b", label="[]", of="two_b", show=["one"], keys={"b": "n"})
    assert (found.kind, found.given, found.marked.title) == ("spans", "[]", "two b")
    assert choices(found) == [
        ('"a"', "a", None, "1"), ('"b"', "b", None, "N"), ("", "Nothing to mark", None, "0")
    ]  # fmt: skip
    marks = {"name": "q", "text": "?", "scale": "spans:a", "show": ["text"]}
    item = Item("i", None, {"text": "<i>It’s", "note": "n"})
    both = [
        Asked(k, Question.model_validate(one), parse_scale(one["scale"]))
        for k, one in enumerate([marks, marks | {"scale": "1-5", "show": ["text", "note"]}])
    ]
    assert [field.title for field in item_fields(both, item, (), {})] == ["note"]
    assert question_form(both[0], item, (), {}, None).marked.markup == (
        '<span class="word" data-from="0">&lt;</span><span class="word" data-from="1">i</span>'
        '<span class="word" data-from="2">&gt;</span><span class="word" data-from="3">It’s</span>'
    )


def test_preference_form_follows_the_order_of_sides():
    options = {"options": ["one", "two_b"]}
    found = form("preference", ["two_b", "one"], label=-1, **options)
    assert choices(found) == [
        ('"first"', "Left is better", None, "←"), ('"tie"', "No preference", None, "0"),
        ('"second"', "Right is better", None, "→"),
    ]  # fmt: skip
    assert [one.field for one in found.choices] == [FormField("Left", "y"), None, FormField("Right", "x")]
    assert (found.kind, found.given) == ("preference", '"second"')  # the item's first is on the right
    assert form("preference", ["one", "two_b"], label=-1, **options).given == '"first"'
    assert form("preference", ["one", "two_b"], label=0, **options).given == '"tie"'


def test_graded_preference_has_strongest_grades_outermost():
    options = {"options": ["one", "two_b"], "ties": "both-or-neither"}
    found = form("preference:a bit<much", ["two_b", "one"], label=-2, **options)
    assert choices(found) == [
        ('"first: much"', "Left: much", None, "1"), ('"first: a bit"', "Left: a bit", None, "2"),
        ('"both"', "Both are acceptable", None, "B"), ('"neither"', "Neither is acceptable", None, "N"),
        ('"second: a bit"', "Right: a bit", None, "3"), ('"second: much"', "Right: much", None, "4"),
    ]  # fmt: skip
    assert [one.field and one.field.text for one in found.choices] == ["y", None, None, None, None, "x"]
    assert found.given == '"second: much"'  # the item's first is on the right
    no_ties = form("preference:a bit<much", ["one", "two_b"], options=["one", "two_b"], ties=False)
    assert [one.key for one in no_ties.choices] == ["1", "2", "3", "4"]


def test_three_texts_have_letters():
    columns = ["one", "two_b", "third"]
    found = form("odd-one-out", ["third", "one", "two_b"], label="A", options=columns, images={"two_b": "/images/1"})
    assert [(one.value, one.key, one.field) for one in found.choices] == [
        ('"A"', "A", FormField("A", '{"z":1}')), ('"B"', "B", FormField("B", "x")),
        ('"C"', "C", FormField("C", image="/images/1")),
    ]  # fmt: skip
    assert (found.kind, found.given) == ("odd-one-out", '"B"')
    with pytest.raises(ValueError, match=r"shorter|longer"):
        form("odd-one-out", ["third", "one"], options=columns)


def test_ranking_follows_the_letters_shown():
    columns = ["one", "two_b", "third", "empty"]
    found = form("ranking:4", ["third", "one", "empty", "two_b"], label='["A","D","B","C"]', options=columns)
    assert [(one.value, one.key, one.field.text) for one in found.choices] == [
        ('"A"', "A", '{"z":1}'), ('"B"', "B", "x"), ('"C"', "C", ""), ('"D"', "D", "y")
    ]  # fmt: skip
    assert (found.kind, found.given) == ("ranking", '["B","C","D","A"]')
    question = Question.model_validate({"name": "q", "text": "?", "scale": "ranking", "options": columns})
    assert question.scale == "ranking:4"
    order = ["third", "one", "empty", "two_b"]
    assert question.unshuffle('["B","C","D","A"]', order) == ('["A","D","B","C"]', None)


def test_item_fields_are_those_of_any_question():
    def asked(**more):
        return Asked(
            1, Question.model_validate({"name": "q", "text": "Q?", "scale": "1-5", **more}), parse_scale("1-5")
        )

    both = item_fields([asked(show=["two_b"]), asked(show=["one", "two_b", "gone"])], ITEM, (), {"one": "/images/9"})
    assert both == (FormField("two b", "y"), FormField("one", image="/images/9"))
    everything = item_fields([asked()], ITEM, ("photo", "third"), {})
    assert [field.title for field in everything] == ["one", "two b", "empty"]
    assert everything[-1].text == ""


@pytest.mark.parametrize(("ties", "values"), [(True, 3), ("people", 3), (False, 2)])
def test_no_preference_is_offered_if_allowed(ties, values):
    found = form("preference", ("one", "two_b"), options=("one", "two_b"), ties=ties)
    assert [one.value for one in found.choices] == ['"first"', '"tie"', '"second"'][:: 1 if values == 3 else 2]
    assert ("tie" in found.allowed) == (values == 3)


@pytest.mark.slow
def test_no_preference_is_refused_in_forced_choice(serve):
    asked = {"name": "better", "text": "?", "scale": "preference", "options": ["a", "b"], "show": [], "ties": False}
    served = serve(items=[{"item": "p", "a": "x", "b": "y"}], questions=[asked])
    person = served.annotator()
    (task,) = person.work()
    (question,) = task.questions
    assert sorted(question.values) == ['"first"', '"second"']
    refused = person.send("POST", "/answers", person.body(task, {question.id: "tie"}))
    assert refused.status == 422
    assert "left or right" in refused.text
    person.keep(task, {question.id: "first"})


@pytest.mark.slow
def test_questions_about_one_triplet_share_a_page(serve):
    odd = {"name": "odd", "text": "Which is different?", "scale": "odd-one-out", "options": ["text"], "show": []}
    served = serve(items=4, questions=[odd, odd | {"name": "worst", "text": "Which is worst?"}], people={"pairs": 1})
    person = served.annotator()
    (task, *_) = person.work()
    assert [sorted(one.values) for one in task.questions] == [['"A"', '"B"', '"C"']] * 2
    assert person.work_through() == "done"


@pytest.mark.parametrize(
    ("text", "wanted", "never"),
    [
        ("**bold** and `x < y`", "<strong>bold</strong> and <code>x &lt; y</code>", ""),
        ("| a | b |\n|---|---|\n| 1 | 2 |", '<td class="one-line">2</td>', "|"),
        (
            "| a | b |\n|:--|--:|\n| x | 2 |",
            '<td class="to-left">x</td>\n<td class="to-right one-line">2</td>',
            "style",
        ),
        ('| "q" | b |\n|---|---|\n| 1 | 2 |', 'tabindex="0" role="group" aria-label="&#34;q&#34;, b"><table>', '"q"'),
        ("|  |\n|---|\n|  |", '<div class="table" tabindex="0"><table>', "aria-label"),
        ("2024. one\n2025. two", '<ol start="2024" class="digits-4">', "style"),
        ("9. nine\n10. ten", '<ol start="9" class="digits-2">', ""),
        ("1. one\n   7. seven", '<ol class="digits-1">', "digits-2"),
        ("# Title", '<p class="md-heading">Title</p>', "<h1"),
        ("<script>alert(1)</script><b onclick=x>hi</b>", "&lt;script&gt;", "<b"),
        ("[x](javascript:alert(1))", "javascript", "<a"),
        ("[x](data:text/html,hi)", "data:", "<a"),
        ('[x](https://a.org/"onmouseover=alert(1))', "https://a.org/%22onmouseover", 'href="https://a.org/"'),
        ("[x](https://a.org)", '<a href="https://a.org" target="_blank" rel="noopener noreferrer">x</a>', ""),
        ("![x](https://a.org/pixel.png)", "x", "<img"),
        ("&lt;img src=x onerror=alert(1)&gt;", "&lt;img", "<img"),
        ("```\n<i>code</i>\n```", "&lt;i&gt;code&lt;/i&gt;", "<i>"),
    ],
)
def test_markdown_is_rendered_safely(text: str, wanted: str, never: str) -> None:
    item = Item("i", None, {"one": text, "two_b": text})
    question = Question.model_validate({"name": "q", "text": "Q?", "scale": "1-5", "show": ["one", "two_b"]})
    laid, plain = item_fields([Asked(7, question, parse_scale("1-5"))], item, (), {}, {"one": False})
    assert laid.markup is not None
    assert wanted in laid.markup
    assert not never or never not in laid.markup
    assert (plain.markup, plain.text) == (None, text)


@pytest.mark.parametrize(
    ("text", "wanted", "never"),
    [
        ("so $E=mc^2$.", "<msup><mi>c</mi><mn>2</mn></msup>", "$"),
        (r"so \(a<b\).", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>", "a<b"),
        (r"so $$\frac{1}{n}$$ here", '<math display="block" alttext="\\frac{1}{n}"><mrow><mfrac>', "$"),
        ("\\[\nx_1\n\\]", '<math display="block"', "\\["),
        ("`$x$` for $5 or $6", "<code>$x$</code> for $5 or $6", "<math"),
        (r"$\text{<script>alert(1)</script>}$", "<mtext>&lt;script&gt;", "<script"),
        (r"$\text{&lt;img src=x onerror=alert(1)&gt;}$", "<mtext>", "<img"),
        (r"$\href{javascript:alert(1)}{x}$", "<mi>x</mi>", "href="),
        (r"$\style{position:fixed}{x} \class{bar}{y}$", "<mi>y</mi>", "style="),
        (r"$\newcommand{\a}{\a\a}\a$", "<code>\\newcommand{\\a}{\\a\\a}\\a</code>", "<math"),
        (rf"$\text{{{'x' * 4000}}}$", "<code>", "<math"),
        (r"$\begin{matrix} a & b$", "begin{matrix}", "<script"),
    ],
)  # fmt: skip
def test_formulas_are_rendered_safely(text: str, wanted: str, never: str) -> None:
    item = Item("i", None, {"one": text})
    question = Question.model_validate({"name": "q", "text": "Q?", "scale": "1-5", "show": ["one"]})
    asked = [Asked(7, question, parse_scale("1-5"))]
    (laid,) = item_fields(asked, item, (), {}, {"one": True})
    assert laid.markup is not None
    assert wanted in laid.markup
    assert never not in laid.markup
    (plain,) = item_fields(asked, item, (), {}, {"one": False})
    assert plain.markup is not None
    assert "<math" not in plain.markup


TURNS = [{"role": "user", "content": "Hi <b>"}, {"role": "bot", "content": "Yes?"}, {"role": "user", "content": "Bye"}]


@pytest.mark.parametrize(
    "value",
    [
        TURNS,
        json.dumps(TURNS),
        [{"from": one["role"], "value": one["content"]} for one in TURNS],
        [{"speaker": one["role"], "utterance": one["content"]} for one in TURNS],
    ],
)
def test_dialogue_has_turns(value: object) -> None:
    item = Item("i", None, {"talk": value, "other": "x"})
    question = Question.model_validate({"name": "q", "text": "Q?", "scale": "1-5", "show": ["talk", "other"]})
    talk, other = item_fields([Asked(7, question, parse_scale("1-5"))], item, (), {})
    assert [(one.speaker, one.text, one.side) for one in talk.turns] == [
        ("user", "Hi <b>", "start"),
        ("bot", "Yes?", "end"),
        ("user", "Bye", "start"),
    ]
    assert (talk.start, other.turns, other.start) == ("user: Hi <b>", (), "x")


@pytest.mark.parametrize(
    "value",
    [
        "[a text in brackets]",
        "[1, 2]",
        [],
        [{"role": "user"}],
        [{"role": "user", "content": ["parts"]}],
        [{"role": "user", "content": "Hi", "score": 3}],  # the score would not be shown
        [*TURNS, "a note"],
        {"role": "user", "content": "Hi"},
    ],
)
def test_other_values_appear_in_full(value: object) -> None:
    assert dialogue_turns(value) == ()
    item = Item("i", None, {"talk": value})
    question = Question.model_validate({"name": "q", "text": "Q?", "scale": "1-5", "show": ["talk"]})
    (talk,) = item_fields([Asked(7, question, parse_scale("1-5"))], item, (), {})
    assert talk.text == (value if isinstance(value, str) else canonical(value))


@pytest.mark.slow
def test_formulas_require_libraries(serve, tmp_path, monkeypatch):
    def study(name: str, **items: object) -> Path:
        folder = write_study(tmp_path / name, items=[{"item": "i", "text": "$x^2$"}])
        content = yaml.safe_load((folder / "study.yaml").read_text())
        content["items"] |= items
        (folder / "study.yaml").write_text(yaml.safe_dump(content))
        return folder

    folder = study("b", markdown={"text": "formulas"})
    with Served(folder) as page:
        assert "<msup><mi>x</mi><mn>2</mn></msup></mrow></math>" in page.annotator().send("GET", "/work").text
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    with pytest.raises(MissingExtra, match=r"laying out Markdown needs more than the base install: .*serve"):
        Served(folder, ())


@pytest.mark.parametrize(
    ("text", "laid"),
    [
        ("one\ntwo", "<p>one<br />\ntwo</p>\n"),  # line breaks are kept
        ("~~gone~~", "<p><s>gone</s></p>\n"),
        ("costs $ 5 and $ 6", "<p>costs $ 5 and $ 6</p>\n"),
        ("from $ x to y $", "<p>from $ x to y $</p>\n"),
        ("3$y$ and", "<p>3$y$ and</p>\n"),
        ("and $x$2", "<p>and $x$2</p>\n"),
        ("$$\nx\n$$ (one)", '<p><math display="block" alttext="x"><mrow><mi>x</mi></mrow></math> (one)</p>\n'),
        ("on $$x$$", '<p>on <math display="block" alttext="x"><mrow><mi>x</mi></mrow></math></p>\n'),
        ("on $x$", '<p>on <math display="inline" alttext="x"><mrow><mi>x</mi></mrow></math></p>\n'),
    ],
)
def test_dollar_amounts_are_not_formulas(text: str, laid: str) -> None:
    assert str(item_html(text, formulas=True)) == laid


def test_triplet_item_shows_its_own_fields() -> None:
    asked = {"name": "odd", "text": "Q?", "scale": "odd-one-out", "options": ["text"]}
    question = Question.model_validate(asked)
    assert question.choices == ("first", "second", "third")
    fields = {
        "text": {"first": "x", "second": "y", "third": "z"},
        "made_by": {"first": "me", "second": 0, "third": ""},
        "place": {"first": None, "second": "here", "third": None},
        "about": "all three",
        "note": {"first": "of one alone"},
    }
    item = Item("t1", None, fields)

    def beside(place: str, **more: object) -> list[tuple[str, str]]:
        one = Question.model_validate(asked | more)
        return [(field.title, field.text) for field in _differing_columns(one, item, place, {})]

    assert beside("first", show=["made_by", "place", "about", "note"]) == [("made by", "me")]
    assert beside("second", show=["made_by", "place", "gone"]) == [("made by", "0"), ("place", "here")]
    assert beside("third", show=["made_by", "place"]) == []
