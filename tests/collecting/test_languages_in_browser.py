"""The annotation page in other languages, in a browser: messages, direction, choice of the language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browsing import PHONE, Browser, Site, fits, in_browser, no_violations, screenshot
from example_studies import STUDIES


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    sites: dict[str, Site] = {}

    def get(name: str) -> Site:
        if name not in sites:
            sites[name] = STUDIES[name](tmp_path_factory.mktemp("site") / name)
        return sites[name]

    yield get
    for one in sites.values():
        one.close()


def visible(page: Any, selector: str) -> Any:
    return page.locator(f"form.page:visible {selector}")


@in_browser
@pytest.mark.parametrize(("language", "look"), [("ar", "wide"), ("ar", "phone"), ("de", "phone"), ("zh", "wide")])
@pytest.mark.parametrize("study", ["pairs", "kinds"])
def test_every_language_is_accessible(
    browser: Browser, site: Callable[[str], Site], language: str, look: str, study: str
) -> None:
    options: dict[str, Any] = {"locale": language, **(PHONE if look == "phone" else {})}
    name = f"{study}-{language}-{look}"
    page = browser.visit(site(study).invite(name), **options)
    if "/consent" in page.url:
        no_violations(page, f"consent, {name}")
        screenshot(page, f"consent-{name}")
        page.check("input[name=agree]")
        page.click("button.primary")
        page.wait_for_url("**/work*")
    page.wait_for_selector("form.page:visible")
    assert page.get_attribute("html", "dir") == ("rtl" if language == "ar" else "ltr")
    no_violations(page, name)
    fits(page)
    screenshot(page, name)
    if study == "pairs":
        sides = page.locator("form.page:visible .option").first, page.locator("form.page:visible .option").nth(1)
        left, right = (side.bounding_box() for side in sides)
        assert left["x"] <= right["x"], "left is on the left in every language"
        assert look == "phone" or left["x"] < right["x"]
    page.click("[data-act=keys]")
    page.wait_for_selector("#keys[open]")
    no_violations(page, f"keys, {name}")
    fits(page)
    screenshot(page, f"keys-{name}", full=False)


@in_browser
def test_choosing_a_language_keeps_unsaved_changes(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("chooser"), locale="es-MX")
    assert page.inner_text("#save-words") == "Guardar y continuar"
    visible(page, "textarea").first.fill("half a thought")
    page.click("a[href^='/language']")
    no_violations(page, "languages")
    fits(page)
    screenshot(page, "languages")
    page.click("button[value=ar]")
    page.wait_for_selector("form.page:visible")
    page.wait_for_load_state()  # what was not saved is restored by the page's script, after its form is there
    Browser.close_dialog(page)
    assert page.get_attribute("html", "lang") == "ar"
    assert visible(page, "textarea").first.input_value() == "half a thought"
    assert visible(page, ".task-note").inner_text() == "استُعيد ما لم تكن قد حفظته بعد."
    page.click("[data-act=save]")
    assert visible(page, ".wrong").first.inner_text() == "اختر إجابة أو تخطَّ العنصر."
    page.keyboard.press("Escape")


@in_browser
def test_keys_work_on_an_arabic_keyboard_and_reasons_are_kept_in_english(
    browser: Browser, site: Callable[[str], Site]
) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("typist"), locale="ar")
    press = (
        "([key, code]) => document.activeElement.dispatchEvent("
        "new KeyboardEvent('keydown', {key, code, bubbles: true}))"
    )
    page.evaluate(press, ["٤", "Digit4"])
    assert page.eval_on_selector("form.page:visible input:checked", "one => one.value") == "4"
    page.evaluate(press, ["س", "KeyS"])
    page.wait_for_selector("#skip[open]")
    no_violations(page, "skip, ar")
    screenshot(page, "skip-ar", full=False)
    page.click("#skip label >> nth=0")
    page.click("#skip button[value=yes]")
    found = stars.wait_for("typist", 2)
    assert {row["reason"] for row in found} == {"skipped: I cannot tell"}  # dialect: kept
    page.wait_for_selector("form.page[data-page='2']:visible")
    page.click("[data-act=previous]")
    assert visible(page, ".mark.skipped .mark-words").inner_text() == "تم التخطي: لا أستطيع الحكم"


@in_browser
def test_titles_of_columns_are_in_the_language_of_the_page(browser: Browser, tmp_path: Path) -> None:
    question = {"name": "stars", "text": "؟", "scale": "1-5", "show": {"post_text": {"ar": "النص", "de": "Beitrag"}}}
    study = {"name": "Posts", "items": {"file": "items.jsonl"}, "questions": [question]}
    with closing(Site(tmp_path / "study", study, {"items.jsonl": [{"item": "i1", "post_text": "Fine."}]})) as site:
        for language, title in {"ar": "النص", "de": "Beitrag", "es": "post text"}.items():
            page = browser.visit(site.invite(f"p-{language}"), locale=language)
            page.wait_for_selector("form.page:visible")
            titles = page.locator("form.page:visible .field-title").all_text_contents()
            assert titles == [title]
            screenshot(page, f"title-{language}")
