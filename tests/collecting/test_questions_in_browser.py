"""Grades, sliders, several labels, rankings, time that is left: by keyboard, on a phone, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from browsing import Browser, Site, fits, in_browser, no_violations

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
    """The values that are chosen in a question of the page that is seen."""
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
    page.keyboard.press("Shift+Tab")  # back into the first question, which a key of its own answers anew
    page.keyboard.press("4")
    assert chosen(page, "better") == ['"second: much"']
    for key in ("1", "m", "3", "3"):
        page.keyboard.press(key)
    assert chosen(page, "about") == ['"food"', '"animals"']
    page.keyboard.press("0")
    assert chosen(page, "about") == [""], "none of these takes back all others"
    page.keyboard.press("2")
    page.keyboard.press("m")
    assert chosen(page, "about") == ['"price"', '"animals"']
    page.keyboard.press("Enter")
    page.keyboard.press("c")
    page.keyboard.press("Enter")
    assert "Rank all of them, the best first." in page.locator("form.page:visible .wrong:visible").all_text_contents()
    page.keyboard.press("b")  # the last place is that of the one that is left
    ranks = page.locator("form.page:visible [data-name=best] .rank").all_text_contents()
    assert ranks == ["place 3", "place 2", "place 1"]
    page.keyboard.press("6")
    page.keyboard.press("0")
    # The knob stands at its number.
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
    assert chosen(page, "about") == ['"price"', '"animals"'], "a draft outlives a reload"
    page.keyboard.press("Enter")
    answers = {one["question"]: one for one in kinds.wait_for("ana", 4)}
    assert (answers["about"]["label"], answers["good"]["label"]) == ('["price","animals"]', 60)
    assert answers["best"]["label"] == '["C","B","A"]'
    assert abs(answers["better"]["label"]) == 2
    assert answers["better"]["shown"]["position"] == 2
