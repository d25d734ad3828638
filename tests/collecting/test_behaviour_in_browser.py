"""The page of an annotator who is out of line, in a real browser: marks, pausing and excluding by keyboard."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS, Annotator, Network, invite_people, lead_path, link_of
from browsing import PHONE, Browser, Site, fits, in_browser, no_violations, screenshot

from waiting import wait_until

PEOPLE = ("Ana Lima", "Ben", "Chi", "Dora", "Efe", "Fay")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    items = [{"item": f"i{n}", "text": f"Text {n}."} for n in range(14)]
    study = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": {"order": "fixed"}}
    made = Site(tmp_path_factory.mktemp("behaviour") / "study", study, {"items.jsonl": items})
    invite_people(made.study, made.store, PEOPLE)
    for name in PEOPLE:
        chance = random.Random(name)
        person = Annotator(Network(made.url), link_of(made.study, made.store, name))
        person.join()
        for n in range(14):
            task = person.pages()[0][0]
            label = 3 if name == "Fay" else 1 + (n + (chance.random() < 0.2)) % 5
            seconds = 1.5 if name == "Fay" else 20 * chance.uniform(0.6, 1.7)
            assert person.answer(task, {task.questions[0].id: label}, seconds=seconds).status == 200
        person.wire.close()
    yield made
    made.close()


@in_browser
@pytest.mark.parametrize("look", ["desk", "phone"])
def test_annotator_out_of_line_is_excluded_on_their_page(browser: Browser, site: Site, look: str) -> None:
    options: dict[str, Any] = PHONE if look == "phone" else {"viewport": {"width": 1280, "height": 800}}
    page = browser.visit(site.url + lead_path(site.study, site.store), **options)
    page.wait_for_selector("#connection.is-live")
    row = page.locator(".people tbody tr:has(bdi:text-is('Fay'))")
    row.get_by_text("out of line").first.wait_for()
    screenshot(page, f"out-of-line-{look}")
    no_violations(page, look)
    row.get_by_role("link", name="Fay").click()
    page.get_by_role("heading", name="Compared with the others").wait_for()
    assert "1.5 s per item (others " in page.content()
    fits(page)
    no_violations(page, look)
    screenshot(page, f"person-out-of-line-{look}")
    reason = page.get_by_label("Reason, for the record")
    assert "per item" in reason.input_value()
    reason.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Excluded: ").wait_for()
    no_violations(page, look)
    page.get_by_role("button", name="Include their answers again").click()
    page.get_by_role("button", name="Exclude their answers").wait_for()


@in_browser
def test_first_answer_to_an_item_waits_for_the_least_time(browser: Browser, tmp_path_factory: Any) -> None:
    items = [{"item": f"i{n}", "text": f"Text {n}."} for n in range(3)]
    people = {"order": "fixed", "least_seconds": 3}
    study = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": people}
    made = Site(tmp_path_factory.mktemp("least") / "study", study, {"items.jsonl": items})
    try:
        page = browser.visit(made.invite("Ana"))
        page.get_by_text("Text 0.").wait_for()
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        page.get_by_text("Please read the item again. You can save in").wait_for()
        no_violations(page, "least")
        assert made.answers("Ana") == []
        page.wait_for_timeout(3200)
        page.keyboard.press("Enter")
        page.get_by_text("Text 1.").wait_for()
        # To skip an item needs no time, and a saved answer is changed at once.
        page.keyboard.press("p")
        page.get_by_text("Text 0.").wait_for()
        page.keyboard.press("5")
        page.keyboard.press("Enter")
        page.get_by_text("Text 1.").wait_for()
        wait_until(
            lambda: [row["label"] for row in made.answers("Ana")][-1:] == [5], "the changed answer is not stored"
        )
    finally:
        made.close()


@in_browser
def test_message_is_shown_until_it_is_closed(browser: Browser, site: Site) -> None:
    lead = browser.visit(site.url + lead_path(site.study, site.store))
    lead.wait_for_selector("#connection.is-live")
    page = browser.visit(site.invite("Gus"))
    page.get_by_text("Text 0.").wait_for()
    assert not page.get_by_text("Message from the study lead:").is_visible()
    lead.get_by_text("Write to all annotators …").click()
    lead.get_by_role("textbox", name="Message").fill("Rate the service only.")
    lead.get_by_role("button", name="Send to all").click()
    lead.get_by_text("Sent to all annotators.").wait_for()
    no_violations(lead, "lead with a message")
    screenshot(lead, "message-lead")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.get_by_text("Message from the study lead:").wait_for()
    assert page.get_by_text("Rate the service only.").is_visible()
    no_violations(page, "a message")
    fits(page)
    screenshot(page, "message")
    page.locator("#message").get_by_role("button", name="Close").click()
    assert not page.get_by_text("Rate the service only.").is_visible()
    page.reload()
    page.get_by_text("Text 1.").wait_for()
    assert not page.get_by_text("Rate the service only.").is_visible()
