"""Positions on the annotation page for every kind of question, from a small phone to a wide screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from browsing import Browser, Site, fits, in_browser, no_violations, screenshot

from assay.collecting.forms import Widget

SIZES = {320: 640, 390: 844, 1280: 800, 1920: 1080}
"""Width and height of the screens: two phones, a laptop and a desktop."""
PHONES = (320, 390)
SENTENCE = "The harbour towns welcome quieter boats, but the union asks who looks after the batteries. "
SOURCE = (SENTENCE * 17)[:1500]
DIALOGUE = [
    {"role": "user", "content": "When do the electric ferries start?"},
    {"role": "assistant", "content": "The first one is being built now. " * 3},
    {"role": "user", "content": "And what will a ticket cost?"},
]
ITEM = {"item": "i1", "source": SOURCE, "talk": DIALOGUE} | {
    name: f"Option {name}. {SENTENCE * 4}"[:360] for name in "abcd"
}


def question(scale: str, name: str = "asked", **more: Any) -> dict[str, Any]:
    return {"name": name, "text": "Which one fits the text best?", "scale": scale, "show": ["source"]} | more


def pair(scale: str = "preference", **more: Any) -> list[dict[str, Any]]:
    return [question(scale, options=["a", "b"], **more)]


COMPARED: dict[str, list[dict[str, Any]]] = {
    "pair": pair(),
    "pair-no-ties": pair(ties=False),
    "pair-both-or-neither": pair(ties="both-or-neither"),
    "pair-graded": pair("preference:slightly<much", ties="both-or-neither"),
    "pair-three-grades": pair("preference:slightly<clearly<much"),
    "pair-dialogue": pair(show=["talk"]),
    "odd-one-out": [question("odd-one-out", options=["a", "b", "c"])],
    "ranking-3": [question("ranking", options=["a", "b", "c"])],
    "ranking-4": [question("ranking", options=["a", "b", "c", "d"])],
    "spans": [question("spans:person,place,claim", of="d")],
}
RATED: dict[str, list[dict[str, Any]]] = {
    "points": [
        question("1-5", "five"),  # the smallest and the largest of each layout
        question("1-7", "seven"),
        question("ordinal:-3-3", "signed"),
        question("0-10", "eleven"),
        question("ordinal:A<B<C<D<E<F<G<H<I<J<K<L<M", "letters"),
        question("1-5", "worded", meanings={1: "very bad", 5: "excellent"}),
        question("1-7", "words", meanings={1: "very bad", 7: "excellent"}),
    ],
    "others": [
        question("several:food,price,staff", "several"),
        question("nominal:the text is true,the text is false", "list"),
        question("nominal:de,en,fr,es,it,pt,nl,pl,da,sv,fi,cs,hu,el", "codes"),
        question("interval:0-100", "number"),
        question("text", "text"),
    ],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    made: dict[str, Site] = {}

    def get(name: str) -> Site:
        if name not in made:
            study = {"name": "Ferries", "items": {"file": "items.jsonl"}, "questions": (COMPARED | RATED)[name]}
            made[name] = Site(tmp_path_factory.mktemp("positions") / name, study, {"items.jsonl": [ITEM]})
        return made[name]

    yield get
    for one in made.values():
        one.close()


MEASURE = r"""() => {
  const form = document.querySelector('form.page:not([hidden])');
  const box = (one) => (({ top, bottom, left, right }) => ({ top, bottom, left, right }))(one.getBoundingClientRect());
  const seen = (one) => one.checkVisibility() && one.getBoundingClientRect().height > 0;
  const firstLine = (one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const { top, bottom } = range.getClientRects()[0];
    return { top, bottom };
  };
  const isBroken = (choice, node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    const room = box(choice), at = range.getBoundingClientRect();
    return range.getClientRects().length > 1 || at.left < room.left || at.right > room.right;
  };
  const brokenIn = (one) => [...one.textContent.matchAll(/\S+/g)]
    .filter(({ 0: word, index }) => isBroken(one.closest('.choice'), one.firstChild, index, index + word.length))
    .map(({ 0: word }) => word);
  const boxes = (selector) => [...form.querySelectorAll(selector)].filter(seen).map(box);
  return {
    kind: form.querySelector('[data-question]').dataset.kind,
    legend: box(form.querySelector('legend')),
    options: [...form.querySelectorAll('.option .field-text')].map(firstLine),
    boxes: boxes('.option'),
    answers: boxes('.compared > .choices .choice'),
    source: boxes('.source .field-text, .source .turns')[0] ?? null,
    pane: boxes('.source')[0], fold: boxes('.fold')[0] ?? null,
    bar: box(document.querySelector('.bar')), foot: box(document.getElementById('foot')),
    broken: [...form.querySelectorAll('.choice .text')].flatMap(brokenIn),
    screens: document.documentElement.scrollHeight / innerHeight,
  };
}"""


def visit(browser: Browser, site: Site, width: int, who: str) -> Any:
    phone = {"has_touch": True, "is_mobile": True} if width in PHONES else {}
    page = browser.visit(site.invite(f"{who} {width}"), viewport={"width": width, "height": SIZES[width]}, **phone)
    page.wait_for_selector("form.page:visible")
    page.evaluate("document.activeElement.blur()")
    fits(page)
    return page


def test_every_kind_of_question_is_measured() -> None:
    scales = [one["scale"].partition(":")[0] for many in (COMPARED | RATED).values() for one in many]
    asked = {"choice" if scale in ("ordinal", "nominal") or scale[0].isdigit() else scale for scale in scales}
    assert asked - {"interval"} | {"number"} == set(get_args(Widget))


@in_browser
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("kind", COMPARED)
def test_comparison_is_in_view_with_its_source_and_answers(
    browser: Browser, site: Callable[[str], Site], kind: str, width: int
) -> None:
    page = visit(browser, site(kind), width, kind)
    at = page.evaluate(MEASURE)
    screenshot(page, f"compare-{kind}-{width}", full=False)
    no_violations(page, f"{kind} at {width}")
    for answer in at["answers"]:
        assert at["bar"]["bottom"] <= answer["top"], "not under the header"
        assert answer["bottom"] <= at["foot"]["top"] + 0.5, "not under the buttons"
        assert 0 <= answer["left"] < answer["right"] <= width
    assert len(at["answers"]) >= 2
    assert at["broken"] == [], "no answer has a word on two lines or over its edge"
    assert at["bar"]["bottom"] <= at["legend"]["top"]
    first_answer = min(one["top"] for one in at["answers"])
    assert at["legend"]["bottom"] <= first_answer
    if width in PHONES:
        assert at["source"] is None, "the source is folded"
        assert at["pane"]["bottom"] <= at["legend"]["top"]
        assert at["fold"]["bottom"] - at["fold"]["top"] <= 60
        if kind != "pair-three-grades":  # seven answers leave no room for it on the smallest screen
            assert at["options"][0]["bottom"] <= first_answer, "the first option is in view"
        tops = [one["top"] for one in at["boxes"]]
        assert tops == sorted(set(tops)), "options are stacked"
        if width == 390:
            assert at["screens"] <= {2: 2, 3: 2.05, 4: 2.6}.get(len(tops), 2)
    else:
        assert at["fold"] is None
        assert at["bar"]["bottom"] <= at["source"]["top"], "the source starts in view"
        assert at["pane"]["bottom"] <= at["foot"]["top"]
        assert at["pane"]["right"] <= at["legend"]["left"], "it has its own pane"
        for option in at["options"][:3] if kind != "ranking-4" else at["options"][:2]:  # the others are in a second row
            assert option["bottom"] <= first_answer, "the first line of each option is in view"
        rows = len({one["top"] for one in at["boxes"]})
        assert rows == (2 if kind == "ranking-4" and width == 1280 else 1), "options are side by side"


@in_browser
def test_folded_source_opens_over_the_options_and_keeps_the_answers(
    browser: Browser, site: Callable[[str], Site]
) -> None:
    page = visit(browser, site("pair"), 390, "opens")
    page.tap("form.page:visible .fold")
    at = page.evaluate(MEASURE)
    assert at["source"]["top"] < at["foot"]["top"]
    no_violations(page, "an open source")
    screenshot(page, "compare-pair-390-open", full=False)
    page.evaluate("scrollTo(0, 1e6)")
    at = page.evaluate(MEASURE)
    assert 0 <= at["pane"]["top"] < 1, "it stays at the top of the screen"
    assert at["pane"]["bottom"] <= min(one["top"] for one in at["answers"])
    page.tap("form.page:visible .fold")
    assert page.evaluate(MEASURE)["source"] is None
    page.tap("form.page:visible .choices .choice >> nth=0")
    page.tap("[data-act=save]")
    assert len(site("pair").wait_for("opens 390", 1)) == 1


@in_browser
@pytest.mark.parametrize("width", [*range(320, 440, 10), 480, 600, 768, 960, 1024, 1280, 1366, 1600, 1920])
def test_scale_is_on_one_line_or_has_one_point_per_line(
    browser: Browser, site: Callable[[str], Site], width: int
) -> None:
    page = browser.visit(site("points").invite(f"points {width}"), viewport={"width": width, "height": 800})
    page.wait_for_selector("form.page:visible")
    fits(page)
    found = page.evaluate(
        """() => {
          const point = (one) => {
            const words = document.createRange();
            words.selectNodeContents(one.querySelector('.text'));
            const { top, width } = one.getBoundingClientRect();
            return [top, width, words.getClientRects().length, one.scrollWidth - one.clientWidth];
          };
          const asked = [...document.querySelectorAll('form.page:not([hidden]) [data-question]')];
          const points = (question) => [...question.querySelectorAll('.choice')].map(point);
          return Object.fromEntries(asked.map((one) => [one.dataset.name, points(one)]));
        }"""
    )
    assert [len(points) for points in found.values()] == [5, 7, 7, 11, 13, 5, 7]
    for name, points in found.items():
        lines = len({round(top) for top, *_ in points})
        assert lines in (1, len(points)), f"{name} at {width}: {lines} lines"
        assert all(one >= 32 for _, one, *_ in points), f"{name} at {width}: points of {min(p[1] for p in points)} px"
        assert all(rows == 1 and over <= 0 for *_, rows, over in points), f"{name} at {width}"
    if width in SIZES:
        screenshot(page, f"points-{width}")
        no_violations(page, f"points at {width}")
    assert len({round(top) for top, *_ in found["seven"]}) == 1, "seven points are on one line on every screen"


@in_browser
@pytest.mark.parametrize("width", SIZES)
def test_rated_text_and_its_questions_fit(browser: Browser, site: Callable[[str], Site], width: int) -> None:
    page = visit(browser, site("others"), width, "others")
    at = page.evaluate(MEASURE)
    screenshot(page, f"others-{width}")
    no_violations(page, f"others at {width}")
    assert at["fold"] is None
    assert at["source"] is not None, "a text that is rated is never folded"
    assert (at["pane"]["right"] <= at["legend"]["left"]) == (width not in PHONES)


@in_browser
def test_dialogue_appears_turn_by_turn(browser: Browser, site: Callable[[str], Site]) -> None:
    page = visit(browser, site("pair-dialogue"), 1280, "dialogue")
    turns = page.locator("form.page:visible .source .turn")
    assert turns.locator(".speaker").all_inner_texts() == ["user", "assistant", "user"]
    assert turns.locator(".field-text").first.inner_text() == DIALOGUE[0]["content"]
    left, right, again = (one.bounding_box() for one in turns.all())
    assert left["x"] == again["x"] < right["x"]
    assert left["y"] < right["y"] < again["y"]
    narrow = visit(browser, site("pair-dialogue"), 320, "dialogue")
    start = narrow.locator("form.page:visible .fold-start").get_attribute("data-start")
    assert start == f"user: {DIALOGUE[0]['content']}"
