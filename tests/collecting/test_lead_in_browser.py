"""The dashboard in a real browser: it updates itself without disturbing typing, and is accessible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS, Annotator, Network, invite_people, lead_path, link_of
from browsing import PHONE, Browser, Site, fits, in_browser, no_violations, screenshot

from waiting import wait_until

LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": PHONE,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    people = {"overlap": {"role": {"nurse": 2, "doctor": 1}}, "order": "fixed", "consent": "Please read."}
    items = [{"item": f"i{n}", "text": f"Text {n}."} for n in range(12)]
    study = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": people}
    made = Site(tmp_path_factory.mktemp("lead") / "study", study, {"items.jsonl": items})
    roles = {"Ana Lima": {"role": "nurse"}, "<b>Ben</b>": {"role": "nurse"}, "Chi": {"role": "doctor"}}
    invite_people(made.study, made.store, roles)
    for name in ("Ana Lima", "<b>Ben</b>"):
        person = Annotator(Network(made.url), link_of(made.study, made.store, name))
        person.join()
        for n in range(8):
            task = person.pages()[0][0]
            said = {"comment": "Half of it is <i>missing</i>"} if n == 2 else {"flag": "odd"} if n == 3 else {}
            assert person.answer(task, {task.questions[0].id: 1 + n % 5}, **said).status == 200
        person.wire.close()
    yield made
    made.close()


def lead(browser: Browser, site: Site, **options: Any) -> Any:
    page = browser.visit(site.url + lead_path(site.study, site.store), **options)
    page.wait_for_selector("#connection.is-live")
    return page


def row(page: Any, name: str) -> Any:
    return page.locator(f".people tbody tr:has(bdi:text-is('{name}'))")


@in_browser
@pytest.mark.parametrize("look", LOOKS)
def test_dashboard_is_accessible(browser: Browser, site: Site, look: str) -> None:
    page = lead(browser, site, **LOOKS[look])
    screenshot(page, f"lead-{look}")
    for one in range(page.locator("details").count()):
        page.locator("details").nth(one).evaluate("one => { one.open = true; }")
    no_violations(page, f"dashboard, {look}")
    fits(page)


@in_browser
@pytest.mark.parametrize("look", LOOKS)
def test_item_and_person_pages_are_accessible(browser: Browser, site: Site, look: str) -> None:
    page = lead(browser, site, **LOOKS[look])
    page.locator(".remarks tbody th a").first.click()
    page.wait_for_selector("#answers-title")
    screenshot(page, f"lead-item-{look}")
    no_violations(page, f"an item, {look}")
    fits(page)
    page.locator("td a").first.click()
    page.wait_for_selector("#time-title")
    screenshot(page, f"lead-person-{look}")
    no_violations(page, f"a person, {look}")
    fits(page)


@in_browser
def test_annotators_are_searched_and_sorted(browser: Browser, site: Site) -> None:
    page = lead(browser, site)
    page.fill("[name=find]", "lima")
    page.click(".find button")
    page.wait_for_selector("#connection.is-live")
    page.click(".people th a:text-is('Done')")
    page.wait_for_selector("th[aria-sort]")
    page.wait_for_timeout(6000)  # it has renewed itself since
    assert page.locator(".people tbody tr").count() == 1
    assert page.input_value("[name=find]") == "lima"


@in_browser
def test_lead_renews_their_link(browser: Browser, site: Site) -> None:
    page = lead(browser, site)
    page.click("summary:has-text('Your own link')")
    before = page.input_value("[data-key=own] input")
    page.click("text=Make a new study lead link")
    page.wait_for_selector("#said:has-text('There is a new study lead link')")
    wait_until(lambda: page.input_value("[data-key=own] input") != before, "the old link is still there")
    again = page.context.new_page()
    again.goto(before)
    assert "newer link" in again.inner_text("main")


@in_browser
def test_dashboard_updates_without_losing_typed_text(browser: Browser, site: Site) -> None:
    page = lead(browser, site)
    row(page, "Ana Lima").locator("summary:has-text('Manage')").click()
    page.fill(".add input[name=name]", "Half a na")
    page.focus(".add input[name=attributes]")
    page.keyboard.type("ro")
    invite_people(site.study, site.store, {"From elsewhere": {"role": "doctor"}})
    page.wait_for_selector(".people bdi:text-is('From elsewhere')")
    page.keyboard.type("le=nurse")
    assert page.input_value(".add input[name=attributes]") == "role=nurse"
    assert page.input_value(".add input[name=name]") == "Half a na"
    assert page.locator("details[open]").count() == 1
    page.fill(".add input[name=name]", "A new one")
    page.keyboard.press("Enter")
    row(page, "A new one").wait_for()
    assert page.input_value(".add input[name=name]") == ""
    assert page.inner_text("#said").startswith("Added.")


@in_browser
def test_refusal_has_a_message(browser: Browser, site: Site) -> None:
    page = lead(browser, site)
    page.fill(".add input[name=name]", "Someone")
    page.fill(".add input[name=attributes]", "role=cook")
    page.keyboard.press("Enter")
    page.wait_for_selector("#wrong:not(:empty)")
    assert "'cook' is not a group of the study" in page.inner_text("#wrong")
    assert page.input_value(".add input[name=name]") == "Someone"


@in_browser
def test_link_can_be_copied_replaced_and_revoked(browser: Browser, site: Site) -> None:
    page = lead(browser, site)
    mine = row(page, "Chi")
    mine.locator("summary:has-text('Manage')").click()
    field = mine.locator("input[data-link]")
    first = field.input_value()
    assert first.startswith(f"{site.url}/join/")
    mine.locator("[data-copy]").click()
    page.wait_for_selector("#said:not(:empty)")
    mine.locator("summary:has-text('Make a new link')").click()
    mine.locator("button:has-text('Make a new link')").click()
    page.wait_for_selector("#said:has-text('There is a new link for Chi')")
    wait_until(lambda: field.input_value() != first, "the old link is still there")
    mine.locator("summary:has-text('End their link')").click()
    mine.locator("[data-key=end] button.danger").click()
    mine.locator(".tag:text-is('ended')").wait_for()
    assert mine.locator("input[data-link]").count() == 0


@in_browser
def test_pause_resume_and_unreachable_server(browser: Browser, site: Site) -> None:
    page = lead(browser, site)
    page.click("text=Pause the study")
    page.wait_for_selector("h2:text-is('The study is paused')")
    screenshot(page, "lead-paused", full=False)
    page.click("text=Resume the study")
    page.wait_for_selector("h2:text-is('The study is running')")
    page.context.set_offline(True)
    page.wait_for_selector("#connection-words:text-is('Cannot reach the server; trying again')")
    page.context.set_offline(False)
    page.wait_for_selector("#connection-words:text-is('Live')")
