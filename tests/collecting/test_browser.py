"""The annotation page in a real browser with a real server, checked against the database."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import PHONE, VENDOR, Browser, Site, fits, in_browser, no_violations, screenshot
from example_studies import STUDIES, stars

import assay.collecting
from assay.study.definition import RESERVED_KEYS
from assay.study.store.people import set_state
from waiting import wait_until

SAVED = re.compile(r"^Saved \d\d:\d\d$")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    """The site of a study by name, served once for all tests."""
    sites: dict[str, Site] = {}

    def get(name: str) -> Site:
        if name not in sites:
            sites[name] = STUDIES[name](tmp_path_factory.mktemp("site") / name)
        return sites[name]

    yield get
    for one in sites.values():
        one.close()


# -- helpers ----------------------------------------------------------------------------------------


def heading(page: Any) -> str:
    return page.locator("form.page:visible .page-title").inner_text()


def wait_for_page(page: Any, number: int) -> None:
    page.wait_for_selector(f"form.page[data-page='{number}']:visible")
    assert page.url.endswith(f"/work/{number}")


def status(page: Any) -> str:
    return page.inner_text("#status")


def wait_for_status(page: Any, words: str | re.Pattern[str]) -> None:
    def says() -> bool:
        return bool(re.search(words, status(page)) if isinstance(words, re.Pattern) else status(page) == words)

    wait_until(says, lambda: f"the page says '{status(page)}', not '{words}'")


def wait_for_pages_ahead(page: Any) -> None:
    """The shown page and the four following pages are loaded."""
    page.locator("form.page").nth(4).wait_for(state="attached")


def chosen(page: Any) -> list[str]:
    """The values of the chosen radio buttons on the shown page."""
    return page.eval_on_selector_all("form.page:not([hidden]) input:checked", "all => all.map(one => one.value)")


def visible(page: Any, selector: str) -> Any:
    return page.locator(f"form.page:visible {selector}")


def consent(page: Any) -> None:
    page.check("input[name=agree]")
    page.click("text=Continue")
    page.wait_for_url("**/work*")
    page.wait_for_selector("form.page:visible")


# -- each question by keyboard and by mouse ------------------------------------------------------------


@in_browser
def test_choice_by_keyboard(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("key stars"))
    assert heading(page) == "Page 1"
    assert page.locator("input:checked").count() == 0, "nothing is preselected, on this page or the following ones"
    page.keyboard.press("Enter")
    assert "Choose an answer" in visible(page, ".wrong:visible").inner_text()
    page.keyboard.press("Alt+3")
    page.keyboard.press("Control+3")
    assert chosen(page) == [], "the browser uses these keys"
    page.keyboard.press("4")
    assert chosen(page) == ["4"]
    assert visible(page, ".wrong:visible").count() == 0
    page.keyboard.press("Enter")
    wait_for_page(page, 2)
    assert page.inner_text("#progress-words") == "1 of 6"
    assert page.evaluate("document.activeElement.textContent").strip() == "Page 2", "the new page is announced"
    wait_for_status(page, SAVED)
    page.keyboard.press("2")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_for_page(page, 3)
    found = stars.wait_for("key stars", 2)
    assert [(one["item"], one["label"], one["status"]) for one in found] == [("r1", 4, "valid"), ("r2", 1, "valid")]


@in_browser
def test_working_time_excludes_idle_time(browser: Browser, site: Callable[[str], Site]) -> None:
    odd = site("odd")  # more than a minute without input does not count as work
    page = browser.visit(odd.invite("seconds"), stopped_clock=True)
    for milliseconds, key in ((700, "b"), (900, "c"), (61_000, "a"), (400, "Enter")):
        page.clock.run_for(milliseconds)
        page.keyboard.press(key)
    assert [one["seconds"] for one in odd.wait_for("seconds", 1)] == [2.0]


@in_browser
def test_choice_by_mouse_with_optional_question(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("mouse stars"))
    visible(page, "label.choice").nth(2).click()
    visible(page, "textarea:visible").fill("It was <i>fine</i>.")
    page.click("[data-act=save]")
    wait_for_page(page, 2)
    assert "<b>Try the figs</b> & the cheese." in visible(page, ".field-text").inner_text(), "markup is text"
    found = stars.wait_for("mouse stars", 2)
    assert {one["question"]: one["label"] for one in found} == {"stars": 3, "why": "It was <i>fine</i>."}
    page.click("[data-act=previous]")
    assert visible(page, "textarea:visible").input_value() == "It was <i>fine</i>."


@in_browser
def test_letters_numbers_and_text_by_keyboard(browser: Browser, site: Callable[[str], Site]) -> None:
    kinds = site("kinds")
    page = browser.visit(kinds.invite("key kinds"))
    assert "/consent" in page.url, "the consent text comes first"
    page.goto(f"{kinds.url}/work")
    assert "/consent" in page.url
    page.keyboard.press("Tab")
    page.focus("input[name=agree]")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/work*")  # loaded, the script with it
    page.wait_for_selector("form.page:visible")
    assert visible(page, "input:checked").count() == 0
    assert visible(page, ".slider.unset").count() == 1, "no slider has a value before it is touched"
    assert visible(page, ".figure").evaluate_all("all => all.map(one => one.value)") == ["", ""]
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.keyboard.type("7,5")
    assert visible(page, ".slider").evaluate("one => [one.value, one.classList.contains('unset')]") == ["7.5", False]
    page.keyboard.press("Enter")
    page.keyboard.type("-12.25")
    page.keyboard.press("Enter")
    page.keyboard.type("s f u p c i ? 1 0")  # keys have no function while typing
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("Enter")
    page.keyboard.type("second line")
    page.keyboard.press("Control+Enter")
    wait_for_page(page, 2)
    labels = {one["question"]: one["label"] for one in kinds.wait_for("key kinds", 4)}
    assert labels == {"tone": "no", "quality": 7.5, "words": -12.25, "summary": "s f u p c i ? 1 0\nsecond line"}
    page.keyboard.press("3")
    assert chosen(page) == ['"neither of the two"'], "an answer without a letter has a number"
    page.keyboard.press("Enter")
    page.keyboard.press("8")
    page.keyboard.press("Enter")
    visible(page, ".figure").first.fill("11")
    visible(page, ".figure").last.fill("1,000")
    visible(page, "textarea:visible").fill("x")
    page.keyboard.press("Control+Enter")
    assert "one thousand as 1000" in visible(page, ".wrong:visible").last.inner_text()
    visible(page, ".figure").last.fill("many")
    visible(page, "textarea:visible").fill("x")
    page.keyboard.press("Control+Enter")
    wrong = visible(page, ".wrong:visible").all_inner_texts()
    assert wrong == ["The answer must be a number from 0 to 10.", "The answer must be a number."]
    assert visible(page, ".figure").first.get_attribute("aria-invalid") == "true"
    assert len(kinds.answers("key kinds")) == 4


@in_browser
def test_sliders_and_text_by_mouse(browser: Browser, site: Callable[[str], Site]) -> None:
    kinds = site("kinds")
    page = browser.visit(kinds.invite("mouse kinds"))
    consent(page)
    assert visible(page, "img").get_attribute("alt").lower() == "photo"
    assert visible(page, "img").evaluate("one => one.complete && one.naturalWidth") == 320
    visible(page, "label.choice").first.click()
    slider = visible(page, ".slider")
    box = slider.bounding_box()
    slider.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert visible(page, ".figure").first.input_value() == "5", "a click on the exact middle counts"
    slider.click(position={"x": box["width"] * 0.755, "y": box["height"] / 2})
    value = float(visible(page, ".figure").first.input_value())
    assert 7.2 < value < 7.9
    assert value == round(value, 2)
    visible(page, ".figure").last.fill("40")
    visible(page, "textarea:visible").fill("Cold soup.")
    page.click("[data-act=save]")
    wait_for_page(page, 2)
    labels = {one["question"]: one["label"] for one in kinds.wait_for("mouse kinds", 4)}
    assert labels == {"tone": "yes", "quality": value, "words": 40, "summary": "Cold soup."}


@in_browser
def test_preferences_of_a_document_by_keyboard(browser: Browser, site: Callable[[str], Site]) -> None:
    pairs = site("pairs")
    page = browser.visit(pairs.invite("key pairs"))
    assert visible(page, "[data-task]").count() == 3
    assert page.locator("form.page:visible >> text=A ferry company").count() == 1, "shared fields are shown once"
    for key in ("ArrowLeft", "0", "ArrowRight"):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    wait_for_page(page, 2)
    assert page.inner_text("#progress-words") == "3 of 6"
    found = pairs.wait_for("key pairs", 3)
    assert [one["shown"].get("position") for one in found] == [1, None, 2]
    for one in found:
        position = one["shown"].get("position")
        picked = one["shown"]["order"][position - 1] if position else None
        assert one["label"] == {"one": -1, None: 0, "two": 1}[picked]
    screenshot(page, "pairs-second")
    page.keyboard.press("p")
    wait_for_page(page, 1)
    assert chosen(page) == ['"first"', '"tie"', '"second"']


@in_browser
def test_preferences_by_mouse(browser: Browser, site: Callable[[str], Site]) -> None:
    pairs = site("pairs")
    page = browser.visit(pairs.invite("mouse pairs"))
    visible(page, "label:has-text('Right is better')").nth(0).click()
    visible(page, "label:has-text('No preference')").nth(1).click()
    page.click("[data-act=save]")
    assert "Choose an answer" in visible(page, ".wrong:visible").inner_text()
    assert pairs.answers("mouse pairs") == []
    visible(page, "label:has-text('Left is better')").nth(2).click()
    page.click("[data-act=save]")
    wait_for_page(page, 2)
    found = pairs.wait_for("mouse pairs", 3)
    assert [one["shown"].get("position") for one in found] == [2, None, 1]


@in_browser
def test_odd_one_out_choice(browser: Browser, site: Callable[[str], Site]) -> None:
    odd = site("odd")
    page = browser.visit(odd.invite("odd"))
    # The focus ring, 5 pixels wide, is inside the box that scrolls, so that no side of it is cut.
    room = page.evaluate("""() => [".choice:first-child", ".choice:last-child"].map((one) => {
      const box = document.querySelector(".letters").getBoundingClientRect();
      const choice = document.querySelector(`.letters > ${one}`).getBoundingClientRect();
      const sides = [choice.left - box.left, box.right - choice.right];
      return Math.min(...sides, choice.top - box.top, box.bottom - choice.bottom);
    })""")
    assert min(room) >= 5, room
    page.keyboard.press("b")
    assert chosen(page) == ['"B"']
    page.keyboard.press("c")
    assert chosen(page) == ['"C"'], "if C is an answer, it does not open the comment"
    page.keyboard.press("Enter")
    wait_for_page(page, 2)
    visible(page, "label.choice").first.click()
    page.click("[data-act=save]")
    wait_for_page(page, 3)
    found = odd.wait_for("odd", 2)
    assert [one["shown"]["position"] for one in found] == [3, 1]
    assert all(
        "ABC"[("first", "second", "third").index(one["shown"]["order"][one["shown"]["position"] - 1])] == one["label"]
        for one in found
    )
    assert found[0]["seconds"] < 1.5


@in_browser
def test_practice_waits_for_feedback(browser: Browser, site: Callable[[str], Site]) -> None:
    page = browser.visit(site("practice").invite("practice"))
    assert heading(page) == "Practice Page 1"
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_selector(".feedback:visible")
    assert visible(page, ".feedback").inner_text() == "Expected here: 5. Praise without a but is a five."
    screenshot(page, "practice-feedback")
    page.keyboard.press("Enter")
    wait_for_page(page, 2)
    visible(page, "label.choice").first.click()
    page.dblclick("[data-act=save]")
    page.wait_for_selector(".feedback:visible")
    assert visible(page, ".feedback").inner_text() == "Correct."
    page.click("[data-act=save]")
    wait_for_page(page, 3)
    assert heading(page) == "Page 3"
    assert page.inner_text("#progress-words") == "0 of 2", "practice does not count"
    assert site("practice").labels("practice") == [4, 1]


@in_browser
def test_sessions_follow_in_order(browser: Browser, site: Callable[[str], Site]) -> None:
    sessions = site("sessions")
    page = browser.visit(sessions.invite("sessions"))
    first = page.inner_text(".session")
    assert first.startswith("Session 1 of 2: answer with a number from 0 to ")
    final = page.locator("#session-end")
    for number in (1, 2):
        wait_for_page(page, number)
        assert final.is_visible(), "the answers of this session cannot be changed in the next one"
        assert final.inner_text() == "When this session is complete, its answers can no longer be changed."
        page.keyboard.type("4.5")
        page.keyboard.press("Enter")
    wait_for_page(page, 3)
    second = page.inner_text(".session")
    assert second.startswith("Session 2 of 2")
    assert second[-2:] != first[-2:], "on the other scale"
    assert not final.is_visible(), "the answers of the last session can be changed at the end"
    assert page.inner_text("#progress-words") == "0 of 2"
    assert sessions.labels("sessions") == [4.5, 4.5]


@in_browser
def test_new_session_restarts_the_count_before_the_last_reply(browser: Browser, site: Callable[[str], Site]) -> None:
    page = browser.visit(site("sessions").invite("late"))
    held: list[tuple[Any, Any]] = []
    for number in (1, 2):
        wait_for_page(page, number)
        if number == 2:
            wait_for_status(page, SAVED)
            page.route("**/answers", lambda route: held.append((route, route.fetch())))
        page.keyboard.type("4.5")
        page.keyboard.press("Enter")
    wait_for_page(page, 3)
    assert page.inner_text(".session").startswith("Session 2 of 2")
    assert page.inner_text("#progress-words") == "0 of 2"
    for route, reply in held:
        route.fulfill(response=reply)
    wait_for_status(page, SAVED)
    assert page.inner_text("#progress-words") == "0 of 2"


# -- going back, undoing, skipping -------------------------------------------------------------------


@in_browser
def test_back_and_change_an_answer(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("back"))
    for key in "45":
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    wait_for_page(page, 3)
    page.go_back()
    wait_for_page(page, 2)
    page.keyboard.press("p")
    wait_for_page(page, 1)
    assert chosen(page) == ["4"]
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    wait_for_page(page, 3)
    assert page.inner_text("#progress-words") == "2 of 6", "a changed answer is not counted again"
    stars.wait_for("back", 3)
    page.goto(f"{stars.url}/work/1")
    assert chosen(page) == ["2"]
    page.keyboard.press("Enter")  # nothing changed: continue, and send nothing before the next answer
    wait_for_page(page, 3)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    history = [(one["item"], one["label"], one["revision"]) for one in stars.wait_for("back", 4)]
    assert history == [("r1", 4, 1), ("r2", 5, 1), ("r1", 2, 2), ("r3", 1, 1)]


@in_browser
def test_undo(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("undo"))
    page.keyboard.press("3")
    visible(page, "textarea:visible").fill("because")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    assert chosen(page) == []
    assert visible(page, "textarea:visible").input_value() == ""
    page.click("button:text-is('Restore')")
    assert (chosen(page), visible(page, "textarea:visible").input_value()) == (["3"], "because")
    page.keyboard.press("u")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    wait_for_page(page, 2)
    page.keyboard.press("u")
    wait_for_page(page, 1)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    stars.wait_for("undo", 2)
    assert stars.labels("undo") == [5, 4]


@in_browser
def test_skip_flag_and_comment(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("skips"))
    page.keyboard.press("s")
    page.wait_for_selector("#skip[open]")
    page.keyboard.press("Enter")
    assert page.locator("#skip-wrong").is_visible(), "a skip requires a reason"
    page.keyboard.press("2")
    screenshot(page, "skip", full=False)
    page.keyboard.press("Enter")
    wait_for_page(page, 2)
    page.keyboard.press("f")
    page.keyboard.type("names a <person>")
    page.keyboard.press("Enter")
    page.wait_for_selector(".flagged:visible")
    assert "names a <person>" in visible(page, ".flagged").inner_text()
    page.keyboard.press("c")
    page.keyboard.type("I know this place")
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    wait_for_page(page, 3)
    visible(page, "[data-act=flag]:visible").click()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.dataset.act") == "flag", "the focus is restored"
    first, second = stars.wait_for("skips", 3)[0], stars.answers("skips")[-1]
    assert (first["status"], first["label"], first["reason"]) == (
        "missing",
        None,
        "skipped: The item is broken or unreadable",
    )
    assert (second["label"], second["flag"], second["comment"]) == (3, "names a <person>", "I know this place")
    page.goto(f"{stars.url}/work/1")
    assert "Skipped: The item is broken" in visible(page, ".skipped").inner_text()
    visible(page, "[data-act=unskip]").click()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    stars.wait_for("skips", 5)  # the optional question, skipped before, is also withdrawn
    assert stars.labels("skips", "stars") == [None, 3, 1]


# -- nothing is lost, nothing is twice ---------------------------------------------------------------


@in_browser
def test_reload_in_mid_answer(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("reload"))
    page.keyboard.press("2")
    visible(page, "textarea:visible").press_sequentially("half a sent")
    page.reload()
    assert visible(page, "textarea:visible").input_value() == "half a sent"
    assert chosen(page) == ["2"]
    assert visible(page, ".task-note").inner_text() == "Your unsaved changes were restored."
    visible(page, "textarea:visible").press_sequentially("ence")
    wait_until(lambda: "half a sentence" in str(stars.drafts()), "the draft has not come to the server")
    assert stars.answers("reload") == []
    page.evaluate("localStorage.clear()")  # another device: the server's draft
    page.goto(f"{stars.url}/work")
    Browser.close_dialog(page)
    assert visible(page, "textarea:visible").input_value() == "half a sentence"
    page.keyboard.press("Enter")
    wait_for_page(page, 2)
    stars.wait_for("reload", 2)
    page.goto(f"{stars.url}/work/1")
    assert visible(page, ".task-note:visible").count() == 0, "saved answers need no restoring"


@in_browser
def test_older_tab_reports_newer_answer(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("tabs"))
    other = page.context.new_page()
    other.goto(f"{stars.url}/work/1")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    stars.wait_for("tabs", 1)
    other.keyboard.press("1")
    other.keyboard.press("Enter")
    other.wait_for_selector("#alert:visible")
    other.keyboard.press("2")
    other.keyboard.press("Enter")
    wait_for_page(other, 3)
    assert "newer answer" in other.inner_text("#alert"), "it stays when the person continues quickly"
    other.click("text=Show page 1")
    wait_for_page(other, 1)
    assert chosen(other) == ["5"]
    screenshot(other, "a-newer-answer", full=False)
    other.click("text=Restore my answer")
    assert chosen(other) == ["1"], "unsaved changes are not lost"
    other.keyboard.press("u")
    assert chosen(other) == ["5"]
    other.keyboard.press("3")  # after seeing the newer one, they can still change it
    other.keyboard.press("Enter")
    stars.wait_for("tabs", 3)
    assert [(one["label"], one["revision"]) for one in stars.answers("tabs")] == [(5, 1), (2, 1), (3, 2)]


@in_browser
def test_double_click_saves_one_answer(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("double"))
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.post_data or "") if one.url.endswith("/answers") else None)
    page.keyboard.press("4")
    page.dblclick("[data-act=save]")
    wait_for_page(page, 2)
    wait_for_status(page, SAVED)
    assert visible(page, ".wrong:visible").count() == 0
    page.keyboard.press(
        "5"
    )  # answers are sent in order: a second one to the first page would have arrived before this one
    page.keyboard.press("Enter")
    stars.wait_for("double", 2)
    wait_for_page(page, 3)  # by then the browser has reported all earlier requests
    assert stars.labels("double") == [4, 5]
    assert len(sent) == 2


@in_browser
def test_offline_answers_are_sent_in_order(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("offline"))
    wait_for_pages_ahead(page)
    page.context.set_offline(True)
    for number, key in enumerate("123", start=1):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        wait_for_page(page, number + 1)
    wait_for_status(page, "Offline, 3 answers kept on this device")
    screenshot(page, "offline", full=False)
    assert page.inner_text("#progress-words") == "3 of 6"
    page.keyboard.press("p")
    wait_for_page(page, 3)
    assert chosen(page) == ["3"]
    page.keyboard.press("5")  # changed while the first one still waits
    page.keyboard.press("Enter")
    for key in "44":
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    page.wait_for_selector("#waiting:visible")
    assert "load automatically" in page.inner_text("#waiting")
    assert stars.answers("offline") == []
    page.context.set_offline(False)
    wait_for_status(page, SAVED)
    wait_for_page(page, 6)
    history = [(one["item"], one["label"], one["revision"]) for one in stars.answers("offline")]
    assert history == [("r1", 1, 1), ("r2", 2, 1), ("r3", 3, 1), ("r3", 5, 2), ("r4", 4, 1), ("r5", 4, 1)]


@in_browser
def test_lost_reply_is_requested_again(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("lost reply"))
    keys: list[str] = []

    def lose(route: Any) -> None:
        keys.append(route.request.post_data_json["key"])
        if len(keys) == 1:
            route.fetch()  # it arrives and is saved, but the browser gets no reply
            route.abort()
        elif len(keys) == 2:
            route.fulfill(status=500, body="down")
        else:
            route.continue_()

    page.route("**/answers", lose)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    wait_for_status(page, "Not saved, trying again")
    wait_for_page(page, 2)
    wait_for_status(page, SAVED)
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert [(one["label"], one["revision"]) for one in stars.answers("lost reply")] == [(4, 1)]
    page.unroute("**/answers")
    page.keyboard.press("p")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    stars.wait_for("lost reply", 2)
    assert stars.labels("lost reply") == [4, 2]


@in_browser
def test_answers_survive_a_killed_server_and_a_closed_tab(browser: Browser, tmp_path: Path) -> None:
    site = stars(tmp_path / "killed")
    try:
        page = browser.visit(site.invite("survivor"))
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        wait_for_status(page, SAVED)
        site.server.kill()
        for key in "23":
            page.keyboard.press(key)
            page.keyboard.press("Enter")
        wait_for_page(page, 4)
        wait_for_status(page, "Not saved, trying again (2 answers kept on this device)")
        site.server.start()
        wait_for_status(page, SAVED)
        assert site.labels("survivor") == [1, 2, 3]
        site.server.kill()
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        wait_for_page(page, 5)
        page.close()
        site.server.start()
        page = browser._contexts[-1].new_page()
        page.goto(f"{site.url}/work/4")
        assert chosen(page) == ["4"], "unsent answers are shown"
        site.wait_for("survivor", 4)
        assert site.labels("survivor") == [1, 2, 3, 4]
    finally:
        site.close()


@in_browser
def test_refused_answer_is_reported_at_its_question(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("refused"))
    number = page.get_attribute("[data-name=stars]", "data-question")
    words = {
        "error": "invalid",
        "message": "This answer is not valid and was not saved.",
        "questions": {number: "Not so."},
    }
    page.route("**/answers", lambda route: route.fulfill(status=422, json=words))
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_selector(".wrong:visible")
    assert (heading(page), visible(page, ".wrong:visible").inner_text()) == ("Page 1", "Not so.")
    assert chosen(page) == ["4"]
    assert page.inner_text("#progress-words") == "0 of 6"
    page.unroute("**/answers")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    stars.wait_for("refused", 1)
    assert stars.labels("refused") == [3]


@in_browser
def test_revoked_link_keeps_unsent_answers(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("revoked"))
    wait_for_pages_ahead(page)
    set_state(stars.store, "revoked", "revoked")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_selector("#alert:visible")
    assert "1 answer is kept on this device" in page.inner_text("#alert")
    assert stars.answers("revoked") == []
    set_state(stars.store, "revoked", "active")
    page.goto(f"{stars.url}/work")
    stars.wait_for("revoked", 1)
    page.goto(f"{stars.url}/join/nonsense")
    assert "link" in page.inner_text("h1").lower()
    screenshot(page, "bad-link", full=False)


@in_browser
def test_tab_with_revoked_link_stops_and_resumes(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    page = browser.visit(stars.invite("ended"), stopped_clock=True)
    wait_for_pages_ahead(page)
    number = page.inner_text("form.page:not([hidden]) .page-title")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    stars.wait_for("ended", 1)
    set_state(stars.store, "ended", "revoked")
    page.clock.run_for(21_000)  # nothing is done meanwhile
    page.wait_for_selector("#alert:visible")
    assert "The study lead has deactivated this link. This page will continue automatically" in page.inner_text(
        "#alert"
    )
    assert page.inner_text("#status") == "Link no longer works"
    title = page.inner_text("form.page:not([hidden]) .page-title")
    assert title != number
    screenshot(page, "ended-link", full=False)
    for key in ("4", "Enter", "5", "Enter"):
        page.keyboard.press(key)
    assert page.inner_text("form.page:not([hidden]) .page-title") == title, "it accepts no answers"
    assert chosen(page) == []
    assert page.evaluate("document.getElementById('pages').inert")
    set_state(stars.store, "ended", "active")
    page.clock.run_for(21_000)
    page.wait_for_selector("#alert", state="hidden")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    assert [row["label"] for row in stars.wait_for("ended", 2)] == [4, 3]


@in_browser
def test_two_people_in_one_browser_are_separate(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    mine = stars.invite("one of two")
    page = browser.visit(mine)
    wait_for_pages_ahead(page)
    other = page.context.new_page()
    other.goto(stars.invite("the other"))
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_selector("#alert:visible")
    assert "Another person's link" in page.inner_text("#alert")
    assert "1 answer is kept on this device" in page.inner_text("#alert")
    page.keyboard.press("p")
    assert chosen(page) == ["4"]
    page.goto(mine)
    stars.wait_for("one of two", 1)
    assert stars.labels("one of two") == [4]
    assert stars.answers("the other") == []


@in_browser
def test_late_refusal_after_reopening_the_link_loses_no_answer(browser: Browser, site: Callable[[str], Site]) -> None:
    stars = site("stars")
    mine, theirs = stars.invite("open again"), stars.invite("open between")
    page = browser.visit(mine)
    wait_for_pages_ahead(page)
    held: list[Any] = []
    page.route("**/answers", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    other = page.context.new_page()
    other.goto(theirs)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    wait_until(lambda: (page.evaluate("0"), held)[1], "nothing was sent")
    refusal = held[0].fetch()
    assert (refusal.status, refusal.json()["error"]) == (403, "other person")
    other.goto(mine)
    held[0].fulfill(response=refusal)
    page.wait_for_selector("#alert:visible")
    assert "1 answer is kept on this device" in page.inner_text("#alert")
    page.unroute("**/answers")
    page.goto(mine)
    stars.wait_for("open again", 1)
    assert stars.labels("open again") == [4]
    assert stars.answers("open between") == []


@in_browser
def test_end_page_is_announced(browser: Browser, site: Callable[[str], Site]) -> None:
    odd = site("odd")
    page = browser.visit(odd.invite("finisher"))
    for number, key in enumerate("abca", start=1):
        wait_for_page(page, number)
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    page.wait_for_selector("text=You have finished")
    odd.wait_for("finisher", 4)
    assert page.inner_text("#progress-words") == "4 of 4"
    wait_for_status(page, SAVED)
    no_violations(page, "end")
    page.reload()
    page.wait_for_selector("text=You have finished")
    screenshot(page, "done", full=False)
    no_violations(page, "end, loaded")
    page.click("[data-act=previous]")
    wait_for_page(page, 4)
    assert chosen(page) == ['"A"'], "finished pages are still accessible"
    page.keyboard.press("Enter")
    page.wait_for_selector("text=You have finished")
    page.goto(f"{odd.url}/work/2")
    assert chosen(page) == ['"B"']


# -- for every eye, hand and screen ---------------------------------------------------------------------


EYES = {("stars", "light"), ("stars", "dark"), ("kinds", "phone"), ("odd", "light"), ("pairs", "phone")}
"""Each study and each display mode once; the slow run has all of them."""


@in_browser
@pytest.mark.parametrize(
    ("study", "look"),
    [
        pytest.param(study, look, marks=() if (study, look) in EYES else pytest.mark.slow)
        for study, look in itertools.product(("stars", "kinds", "pairs", "odd"), ("light", "dark", "phone"))
    ],
)
def test_every_page_is_accessible(browser: Browser, site: Callable[[str], Site], study: str, look: str) -> None:
    options: dict[str, Any] = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}[look]
    page = browser.visit(site(study).invite(f"eyes {look}"), instructions=True, **options)
    if "/consent" in page.url:
        no_violations(page, f"consent, {look}")
        fits(page)
        screenshot(page, f"consent-{look}")
        consent(page)
    if study == "stars":
        page.wait_for_selector("#instructions[open]")
        no_violations(page, f"instructions, {look}")
        screenshot(page, f"instructions-{look}", full=False)
    Browser.close_dialog(page)
    page.evaluate("document.activeElement.blur()")
    screenshot(page, f"{study}-{look}", full=False)
    no_violations(page, f"{study}, {look}")
    fits(page)
    if look == "phone":
        small = "label.choice:visible, form.page button:visible, nav button:visible, header button:visible"
        for box in (one.bounding_box() for one in page.locator(small).all()):
            assert box["height"] >= 43.5
            assert box["width"] >= 43.5
        visible(page, "label.choice").first.evaluate("one => one.scrollIntoView({block: 'center'})")
        visible(page, "label.choice").first.tap()
    else:
        visible(page, "label.choice").first.click()
    if study == "stars":
        page.click("[data-act=keys]")
        page.wait_for_selector("#keys[open]")
        no_violations(page, f"keys, {look}")
        fits(page)
        screenshot(page, f"keys-{look}", full=False)
        page.keyboard.press("Escape")
    page.click("[data-act=save]")
    screenshot(page, f"{study}-{look}-chosen", full=False)
    no_violations(page, f"{study} with an answer, {look}")


def test_page_keys_are_reserved_in_studies() -> None:
    folder = Path(assay.collecting.__file__).parent
    reserved = {key.upper() for key in RESERVED_KEYS}
    helped = set(re.findall(r"<kbd>(.)</kbd>", (folder / "templates" / "work.html").read_text(encoding="utf-8")))
    letters = re.search(r"const LETTERS = \{(.*?)\}", (folder / "static" / "keys.js").read_text(encoding="utf-8"))
    assert letters is not None
    acts = set(re.findall(r'"?([A-Z?])"?: "', letters[1]))
    assert acts == {key for key in reserved if not key.isdigit()}
    assert acts < helped
    assert {"0", "1", "9"} < helped


def test_axe_matches_its_published_checksum() -> None:
    for line in (VENDOR / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
