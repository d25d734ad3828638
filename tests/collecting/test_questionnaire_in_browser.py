"""The pages with questions to the person, in a browser: by keyboard, with feedback, on a phone, right to left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from annotating import STARS
from browsing import PHONE, Browser, Site, fits, in_browser, no_violations, screenshot

from assay.study.store import tables

ASK = {
    "before": {
        "gender": {"What is your gender?": ["woman", "man", "other", "I prefer not to say"]},
        "age": {"How old are you?": "18-99"},
        "goal": {"What do 5 stars mean?": {"The best": True, "The worst": "5 is the best, 1 the worst."}},
    },
    "after": {"remarks": {"Do you have any remarks?": "text"}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    people = {"ask": ASK, "tries": 2, "instructions": "Rate each text.\n\n- **5** is the best."}
    study = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": people}
    items = [{"item": f"i{n}", "text": f"Text {n}."} for n in range(2)]
    made = Site(tmp_path_factory.mktemp("asks") / "study", study, {"items.jsonl": items})
    yield made
    made.close()


def attributes(site: Site, name: str) -> Any:
    with site.store.reading() as db:
        rows = db.execute(tables.annotators.select().where(tables.annotators.c.annotator == name)).all()
    return rows[0].definition.get("attributes")


@in_browser
@pytest.mark.parametrize(
    "look",
    [{}, PHONE, {"color_scheme": "dark"}, {"locale": "ar"}, {"viewport": {"width": 320, "height": 640}}],
    ids=["wide", "phone", "dark", "ar", "narrow"],
)
def test_questions_before_and_after_by_keyboard(
    browser: Browser, site: Site, look: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    name = f"p-{request.node.callspec.id}"
    page = browser.visit(site.invite(name), **look)
    page.wait_for_url("**/questions")
    no_violations(page, f"questions, {name}")
    fits(page)
    screenshot(page, f"asks-{name}")
    page.click("button.primary")
    assert page.url.endswith("/questions"), "the browser asks for what is missing"
    page.focus("input[value=woman]")
    page.keyboard.press("ArrowDown")
    assert page.is_checked("input[value=man]")
    page.keyboard.press("Tab")
    page.keyboard.type("34")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert page.is_checked("input[value='The worst']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".wrong")
    assert page.inner_text(".wrong") == "5 is the best, 1 the worst."
    assert page.locator("fieldset").count() == 1
    no_violations(page, f"feedback, {name}")
    fits(page)
    screenshot(page, f"asks-again-{name}")
    page.check("input[value='The best']")
    page.click("button.primary")
    page.wait_for_url("**/work")
    for number in range(2):
        page.wait_for_selector("form.page:not([hidden]) [data-state=open]")
        Browser.close_dialog(page)
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        site.wait_for(name, number + 1)
    page.wait_for_selector("#end[data-kind=asks]")
    no_violations(page, f"the end, {name}")
    screenshot(page, f"asks-end-{name}")
    page.click("#end a.button")
    page.wait_for_url("**/questions")
    no_violations(page, f"closing questions, {name}")
    page.fill("textarea", "None.")
    screenshot(page, f"asks-after-{name}")
    page.click("button.primary")
    page.wait_for_selector("#end[data-kind=done]")
    assert attributes(site, name) == {"gender": "man", "age": 34, "remarks": "None."}


@in_browser
def test_entry_with_several_screening_questions(browser: Browser, tmp_path: Path) -> None:
    screening = {
        "native": {"Is Spanish your first language?": {"Yes": True, "No": False}},
        "age": {"How old are you?": "18-99"},
    }
    crowd = {"platform": "other", "places": 3}
    people = {"crowd": crowd, "ask": {"screening": screening}}
    study = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": people}
    site = Site(tmp_path / "study", study, {"items.jsonl": [{"item": "i1", "text": "Fine."}]})
    try:
        for name, age, ends in (("young", "17", "#end[data-kind=screened]"), ("old", "40", "form.page")):
            page = browser.visit(f"{site.url}/enter?id={name}")
            page.check("input[value=Yes]")
            page.fill("input[type=number]", age)
            no_violations(page, "screening")
            screenshot(page, "asks-screening")
            page.click("button.primary")
            page.wait_for_selector(ends)
    finally:
        site.close()
