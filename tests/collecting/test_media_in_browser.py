"""Recordings and pictures in a real browser: played by keys, silent on other pages, enlarged by keys and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from annotating import STARS
from browsing import PHONE, Browser, Site, fits, in_browser, no_violations, picture, screenshot
from test_media import VTT, sound

from waiting import wait_until


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("media") / "study"
    folder.mkdir()
    (folder / "a.wav").write_bytes(sound(40))
    (folder / "a.vtt").write_text(VTT)
    picture(folder / "wide.png", (40, 120, 90), 640, 320)
    study = {
        "name": "Sounds",
        "items": {"file": "items.jsonl", "media": {"clip": "said"}, "images": ["photo"]},
        "questions": [{**STARS, "show": ["clip", "photo"]}],
        "people": {"order": "fixed", "overlap": 9},
    }
    rows = [{"item": f"i{n}", "clip": "a.wav", "said": "a.vtt" if n else "", "photo": "wide.png"} for n in range(3)]
    made = Site(folder, study, {"items.jsonl": rows})
    yield made
    made.close()


def until(page: Any, holds: str) -> None:
    """Wait in Python: the page's policy permits no script of the test."""
    wait_until(lambda: page.evaluate(holds), lambda: f"never: {holds}")


PLAYS = "document.querySelector('form.page:not([hidden]) .recording').paused === false"
STOPPED = "[...document.querySelectorAll('.recording')].every((one) => one.paused)"


@in_browser
def test_keys_play_a_recording_and_answer(browser: Browser, site: Site) -> None:
    page = browser.visit(site.invite("keys"))
    until(page, "document.querySelector('.recording').readyState >= 1")
    assert page.evaluate("document.querySelector('.recording').tagName") == "AUDIO"
    page.keyboard.press("k")
    until(page, PLAYS)
    page.keyboard.press("l")
    until(page, "document.querySelector('.recording').currentTime >= 5")
    page.keyboard.press("k")
    until(page, STOPPED)
    page.locator(".recording").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("3")
    assert page.evaluate("document.querySelector('form.page:not([hidden]) input:checked').value") == "3"
    no_violations(page, "a sound")
    screenshot(page, "media-sound")
    page.keyboard.press("k")
    until(page, PLAYS)
    page.keyboard.press("Enter")
    site.wait_for("keys", 1)
    until(page, STOPPED)
    page.wait_for_selector("form.page:not([hidden]) .captions")
    page.keyboard.press("k")
    page.wait_for_selector("form.page:not([hidden]) .captions:has-text('Hello.')")
    page.keyboard.press("k")
    no_violations(page, "a sound with captions")
    screenshot(page, "media-captions")


ZOOMED = "document.getElementById('zoom-picture').clientWidth > 1.4 * document.getElementById('zoom-place').clientWidth"


@in_browser
@pytest.mark.parametrize("look", [{}, PHONE | {"color_scheme": "dark"}], ids=["desktop", "phone"])
def test_picture_can_be_enlarged(browser: Browser, site: Site, look: dict[str, Any]) -> None:
    name = "phone" if look else "desktop"
    page = browser.visit(site.invite(name), **look)
    until(page, "document.querySelector('a.picture img').complete")
    link = page.locator("form.page:not([hidden]) a.picture")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#zoom[open] #zoom-picture[style]")
    fits(page)
    assert page.evaluate("document.activeElement.id") == "zoom-place"
    no_violations(page, "a picture, enlarged")
    screenshot(page, f"media-zoom-{name}", full=False)
    page.keyboard.press("+")
    page.keyboard.press("+")
    until(page, ZOOMED)
    assert page.inner_text("#zoom-scale") == "225 %"
    place = "document.getElementById('zoom-place')"
    before = page.evaluate(f"{place}.scrollLeft")
    assert before > 0, "the middle stays in the middle"
    page.keyboard.press("ArrowRight")
    until(page, f"{place}.scrollLeft > {before}")
    page.keyboard.press("1")
    assert page.locator("form.page:not([hidden]) input:checked").count() == 0, "no key answers behind it"
    page.click("[data-zoom=fit]")
    assert page.inner_text("#zoom-scale") == "100 %"
    page.keyboard.press("Escape")
    page.wait_for_selector("#zoom:not([open])", state="attached")
    assert link.evaluate("(one) => one === document.activeElement")
    fits(page)
    screenshot(page, f"media-page-{name}")
