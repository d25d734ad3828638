"""A long text next to many questions, and closed sessions, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, Site, in_browser, no_violations
from example_studies import STUDIES

from waiting import wait_until

WORDS = "A sentence of the report that an annotator has to read before they can answer. "


def twelve(folder: Path) -> Site:
    """Twelve questions next to a text of many screens, then next to a short one."""
    return Site(
        folder,
        {
            "name": "Twelve questions",
            "items": {"file": "items.jsonl"},
            "questions": [
                {"name": f"q{n}", "text": f"Question {n}?", "scale": "1-5", "show": ["report"]} for n in range(1, 13)
            ],
            "people": {"order": "fixed"},
        },
        {
            "items.jsonl": [
                {"item": "long", "report": "\n\n".join(WORDS * 6 for _ in range(40)) + "\n\nThe very end."},
                {"item": "short", "report": WORDS},
            ]
        },
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = twelve(tmp_path_factory.mktemp("twelve") / "study")
    yield site
    site.close()


@pytest.fixture(scope="module")
def two_sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = STUDIES["sessions"](tmp_path_factory.mktemp("sessions") / "study")
    yield site
    site.close()


def boxes(page: Any) -> dict[str, float]:
    """Positions of the text's pane and its last line, and the area between the bars."""
    found: dict[str, float] = page.evaluate(
        """() => {
          const form = document.querySelector('form.page:not([hidden])');
          const pane = form.querySelector('.source'), words = form.querySelector('.field-text');
          const range = document.createRange();
          range.setStart(words.lastChild, words.lastChild.length - 5);
          range.setEnd(words.lastChild, words.lastChild.length);
          const box = (one) => one.getBoundingClientRect();
          return {
            top: box(pane).top, bottom: box(pane).bottom, height: box(pane).height, scrolled: pane.scrollTop,
            end: box(range).bottom, bar: box(document.querySelector('.bar')).bottom,
            foot: box(document.getElementById('foot')).top, window: innerHeight,
          };
        }"""
    )
    return found


@in_browser
def test_long_text_next_to_many_questions_is_readable(browser: Browser, many: Site) -> None:
    page = browser.visit(many.invite("reader"), viewport={"width": 1024, "height": 768})
    page.wait_for_selector("form.page:visible")
    at = boxes(page)
    assert at["height"] <= at["window"], "the pane is not taller than the window"
    page.evaluate("document.querySelector('form.page:not([hidden]) .source').scrollTo(0, 1e6)")
    page.evaluate("scrollTo(0, 300)")
    at = boxes(page)
    assert at["scrolled"] > 0
    assert at["bar"] <= at["top"]
    assert at["end"] <= at["bottom"] <= at["foot"], "the last line is visible and not covered"
    page.evaluate("scrollTo(0, 1e6)")
    at = boxes(page)
    assert at["bar"] <= at["top"] and at["end"] <= at["bottom"] <= at["foot"], "so it is next to the last question"  # noqa: PT018
    page.focus("form.page:not([hidden]) .source")
    page.keyboard.press("Home")
    wait_until(lambda: boxes(page)["scrolled"] == 0, "the text is not scrolled by keyboard")
    no_violations(page, "a long text next to many questions")


@in_browser
def test_number_keys_answer_one_question_after_the_other(browser: Browser, many: Site) -> None:
    page = browser.visit(many.invite("quick"), viewport={"width": 1024, "height": 768})
    page.wait_for_selector("form.page:visible")
    wanted = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]
    for label in wanted:
        page.keyboard.press(str(label))
    given = page.eval_on_selector_all(
        "form.page:not([hidden]) input:checked", "all => all.map(one => Number(one.value))"
    )
    assert given == wanted
    active = page.evaluate("document.activeElement.closest('[data-question]').dataset.name")
    assert active == "q12"
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    found = many.wait_for("quick", 12)
    assert [one["label"] for one in found] == [*wanted[:-1], 4], "the last answer can be changed before it is saved"


@in_browser
def test_key_before_enter_answers_and_held_key_answers_once(browser: Browser, many: Site) -> None:
    page = browser.visit(many.invite("careful"), viewport={"width": 1024, "height": 768})
    page.wait_for_selector("form.page:visible")
    page.keyboard.down("3")
    for _ in range(4):
        page.keyboard.down("3")  # the events of a key that is held down
    page.keyboard.up("3")
    assert page.locator("form.page:visible input:checked").count() == 1
    page.keyboard.press("Enter")
    for _ in range(11):
        page.keyboard.press("2")
        page.keyboard.press("Enter")
    assert [one["label"] for one in many.wait_for("careful", 12)] == [3, *[2] * 11]
    assert page.locator(".wrong:visible").count() == 0


@in_browser
def test_earlier_session_is_removed_from_the_browser(browser: Browser, two_sessions: Site) -> None:
    page = browser.visit(two_sessions.invite("sessions"))
    page.wait_for_selector("form.page[data-page='1']:visible")
    assert page.inner_text(".bar .who bdi") == "sessions"
    for number in (1, 2):
        page.keyboard.type("4.25")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"form.page[data-page='{number + 1}']:visible")
    wait_until(lambda: page.locator("form.page[data-page='2']").count() == 0, "page 2 is still in the document")
    assert page.locator("form.page[data-page='1']").count() == 0
    assert page.locator("[data-act=previous]").is_disabled()
    page.keyboard.press("p")
    page.keyboard.press("u")
    assert page.locator("form.page[data-page='3']:visible").count() == 1
    for reach in (lambda: page.goto(f"{two_sessions.url}/work/1"), page.go_back):
        reach()
        page.wait_for_selector("form.page[data-page='3']:visible")
        assert "4.25" not in page.content()
        assert page.evaluate("[...document.querySelectorAll('.figure')].filter(one => one.value).length") == 0
        kept = page.evaluate("JSON.stringify(localStorage)")
        assert "4.25" not in kept
