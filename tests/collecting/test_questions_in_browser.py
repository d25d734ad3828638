"""Grades, sliders, several labels, rankings, time that is left: by keyboard, on a phone, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browsing import SCREENSHOTS, Browser, Site, fits, in_browser, in_thread, no_violations

from waiting import wait_until

KINDS = {
    "name": "Kinds of questions",
    "items": {"file": "items.jsonl"},
    "questions": [
        {
            "name": "better",
            "text": "Which is better?",
            "scale": "preference:slightly<much",
            "options": ["a", "b"],
            "show": ["article"],
            "ties": "both-or-neither",
        },
        {
            "name": "about",
            "text": "What is it about?",
            "scale": "several:food,price,staff,animals",
            "keys": {"animals": "m"},
            "show": ["article"],
        },
        {
            "name": "best",
            "text": "Which is best?",
            "scale": "ranking",
            "options": ["a", "b", "article"],
            "show": [],
            "order": "fixed",
        },
        {"name": "good", "text": "How good is it?", "scale": "interval:0-100", "show": ["article"]},
    ],
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    items = [
        {"item": f"i{k}", "a": "The first text. " * 9, "b": "The other. " * 5, "article": "An article. " * 20}
        for k in range(2)
    ]
    ends = datetime.now(UTC) + timedelta(hours=20, minutes=30)
    study = KINDS | {"people": {"until": ends.isoformat()}}
    site = Site(tmp_path_factory.mktemp("kinds") / "study", study, {"items.jsonl": items})
    yield site
    site.close()


def chosen(page: Any, name: str) -> list[str]:
    """The chosen values in a question of the visible page."""
    found: list[str] = page.eval_on_selector_all(
        f"form.page:not([hidden]) [data-name={name}] input",
        "all => all.filter((one) => one.checked).map((one) => one.value)",
    )
    return found


@in_browser
def test_grades_and_labels_by_keyboard(browser: Browser, kinds: Site) -> None:
    page = browser.visit(kinds.invite("ana"))
    assert page.text_content("#left") == "20 hours left"
    page.keyboard.press("n")
    assert chosen(page, "better") == ['"neither"']
    page.keyboard.press("Shift+Tab")  # back into the first question, which its own key answers again
    page.keyboard.press("4")
    assert chosen(page, "better") == ['"second: much"']
    for key in ("1", "m", "3", "3"):
        page.keyboard.press(key)
    assert chosen(page, "about") == ['"food"', '"animals"']
    page.keyboard.press("0")
    assert chosen(page, "about") == [""], '"None of these" clears all other labels'
    page.keyboard.press("2")
    page.keyboard.press("m")
    assert chosen(page, "about") == ['"price"', '"animals"']
    page.keyboard.press("Enter")
    page.keyboard.press("c")
    page.keyboard.press("Enter")
    assert "Rank all of them, best first." in page.locator("form.page:visible .wrong:visible").all_text_contents()
    page.keyboard.press("b")  # the remaining text gets the last rank
    ranks = page.locator("form.page:visible [data-name=best] .rank").all_text_contents()
    assert ranks == ["rank 3", "rank 2", "rank 1"]
    page.keyboard.press("6")
    page.keyboard.press("0")
    # The knob is at its number.
    knob, tick = page.evaluate(
        """() => {
          const form = document.querySelector('form.page:not([hidden])');
          const slider = form.querySelector('.slider').getBoundingClientRect();
          const size = 1.6 * parseFloat(getComputedStyle(document.documentElement).fontSize);
          const ticks = [...form.querySelectorAll('.ticks span')].find((one) => one.textContent === '60');
          return [slider.left + size / 2 + 0.6 * (slider.width - size), ticks.getBoundingClientRect().left];
        }"""
    )
    assert abs(knob - tick) < 3
    no_violations(page, "desktop")
    fits(page)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations(page, "phone")
    fits(page)
    page.reload()
    page.wait_for_selector("form.page:not([hidden])")
    assert chosen(page, "about") == ['"price"', '"animals"'], "a draft survives a reload"
    page.keyboard.press("Enter")
    answers = {one["question"]: one for one in kinds.wait_for("ana", 4)}
    assert (answers["about"]["label"], answers["good"]["label"]) == ('["price","animals"]', 60)
    assert answers["best"]["label"] == '["C","B","A"]'
    assert abs(answers["better"]["label"]) == 2
    assert answers["better"]["shown"]["position"] == 2


SPANS = {
    "name": "Names in texts",
    "items": {"file": "items.jsonl"},
    "questions": [
        {
            "name": "names",
            "text": "Who and where?",
            "scale": "spans:person,place",
            "of": "text",
            "show": [],
            "meanings": {"place": "a town or a country"},
        }
    ],
}
SENTENCE = "😀 Ana Ruiz left\r\nSão Paulo for New York, where her aunt Ada lives. " * 4


def test_spans_by_mouse_and_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    items = [{"item": f"i{k}", "text": SENTENCE} for k in range(2)]
    site = Site(tmp_path / "study", SPANS, {"items.jsonl": items})
    try:
        in_thread(_mark_spans, browser=browser, site=site)
    finally:
        site.close()


def _mark_spans(browser: Browser, site: Site) -> None:
    page = browser.visit(site.invite("ana"))
    form = page.locator("form.page:not([hidden])")

    def spans() -> str:
        return str(form.locator("[data-name=names]").get_attribute("data-spans") or "")

    page.keyboard.press("1")
    assert form.locator(".wrong:visible").all_text_contents() == ["Select words of the text first."]
    words = form.locator(".word")
    # By mouse from within a word to within another; whole words are marked.
    first, last = words.nth(1).bounding_box(), words.nth(2).bounding_box()
    page.mouse.move(first["x"] + first["width"] * 0.7, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] * 0.4, last["y"] + last["height"] / 2, steps=4)
    page.mouse.up()
    wait_until(lambda: form.locator(".word.picked").count() == 2, "the two words are not picked")
    form.locator("[data-span-label=person]").click()
    assert spans() == '[[2,10,"person"]]'
    # A click on a word, a label by its digit; within a span of another label.
    words.nth(2).click()
    page.keyboard.press("2")
    assert spans() == '[[2,10,"person"],[6,10,"place"]]'
    assert words.nth(2).get_attribute("data-tags") == "person, place"
    # By keyboard: move by two words, and extend the selection by two words.
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    assert form.locator(".span-news").text_content() == "São Paulo"
    page.keyboard.press("2")
    assert spans() == '[[2,10,"person"],[6,10,"place"],[17,26,"place"]]'
    assert form.locator(".span-news").text_content() == "place: São Paulo"
    rows = form.locator(".marked li span[dir]").all_text_contents()
    assert rows == ["person: Ana Ruiz", "place: Ruiz", "place: São Paulo"]
    no_violations(page, "desktop")
    fits(page)
    page.screenshot(path=str(SCREENSHOTS / "spans.png"))
    # Backspace removes the spans of the selected words; a button removes one span.
    form.get_by_role("button", name="Remove place: Ruiz").click()
    assert spans() == '[[2,10,"person"],[17,26,"place"]]'
    for key in ("ArrowLeft", "Backspace"):
        page.keyboard.press(key)
    assert spans() == '[[2,10,"person"]]'
    page.keyboard.press("0")
    assert spans() == "[]", '"Nothing to mark" removes all spans'
    page.keyboard.press("0")
    assert spans() == ""
    page.keyboard.press("Enter")
    assert form.locator(".wrong:visible").all_text_contents() == [
        "Mark the requested spans, or choose “Nothing to mark”."
    ]
    words.nth(9).click()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("2")
    place = spans()
    page.reload()
    page.wait_for_selector("form.page:not([hidden])")
    assert spans() == place, "a draft survives a reload"
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations(page, "phone")
    fits(page)
    page.screenshot(path=str(SCREENSHOTS / "spans-phone.png"))
    page.keyboard.press("Enter")
    (answer,) = site.wait_for("ana", 1)
    assert answer["label"] == place
    page.keyboard.press("u")  # back to the saved answer
    wait_until(lambda: spans() == place, "undo has not restored the saved answer")


def test_comments_on_spans(browser: Browser, tmp_path: Path) -> None:
    asked = {**SPANS["questions"][0], "of": {"text": "What do you notice?"}}
    items = [{"item": f"i{k}", "text": "Ana Ruiz left Rome for her aunt."} for k in range(2)]
    site = Site(tmp_path / "study", SPANS | {"questions": [asked]}, {"items.jsonl": items})
    try:
        in_thread(_comment_on_spans, browser=browser, site=site)
    finally:
        site.close()


def _comment_on_spans(browser: Browser, site: Site) -> None:
    page = browser.visit(site.invite("ana"))
    form = page.locator("form.page:not([hidden])")

    def spans() -> str:
        return str(form.locator("[data-name=names]").get_attribute("data-spans") or "")

    words, boxes = form.locator(".word"), form.locator(".span-text")
    for word, key in ((0, "1"), (3, "2")):
        words.nth(word).click()
        page.keyboard.press(key)
    boxes.nth(0).fill("the 1st name")
    assert boxes.nth(1).get_attribute("aria-label") == "What do you notice? place: Rome"
    boxes.nth(1).press_sequentially("2 towns ")  # digits and arrows are text in a box
    assert spans() == '[[0,3,"person","the 1st name"],[14,18,"place","2 towns"]]'
    no_violations(page, "desktop")
    fits(page)
    page.screenshot(path=str(SCREENSHOTS / "span-comments.png"))
    # A longer span of the label keeps the text; a removed span takes its own along.
    words.nth(1).click()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("1")
    assert spans() == '[[0,8,"person","the 1st name"],[14,18,"place","2 towns"]]'
    form.get_by_role("button", name="Remove place: Rome").click()
    place = '[[0,8,"person","the 1st name"]]'
    assert spans() == place
    page.reload()
    page.wait_for_selector("form.page:not([hidden])")
    assert (spans(), boxes.nth(0).input_value()) == (place, "the 1st name")
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations(page, "phone")
    fits(page)
    boxes.nth(0).press("Control+Enter")
    (answer,) = site.wait_for("ana", 1)
    assert answer["label"] == place
