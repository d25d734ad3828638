"""A running study is changed in the browser, while an annotator works; and by one of several worker processes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS, Annotator, Network, Server, invite_people, lead_path, write_study
from browsing import Browser, Site, fits, in_browser, no_violations, screenshot
from test_editing import SETTINGS, hidden, preview

from assay.study.definition import load_study
from assay.study.store.connection import open_store

ITEMS = [{"item": f"i{n}", "text": f"Review {n}."} for n in range(2)]
NARROW = {"viewport": {"width": 390, "height": 800}}


@pytest.fixture
def site(tmp_path: Path) -> Any:
    people = {"overlap": 1, "order": "fixed", "instructions": "Read it.\n\nBe fair.\n"}
    study = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": people}
    made = Site(tmp_path / "study", study, {"items.jsonl": ITEMS})
    yield made
    made.close()


def settings(browser: Browser, site: Site, **options: Any) -> Any:
    """The page of settings, from the dashboard."""
    desk = browser.visit(site.url + lead_path(site.study, site.store), **options)
    desk.wait_for_selector("#connection.is-live")
    desk.get_by_role("link", name="Change the study").click()
    desk.get_by_role("heading", name="Change the study").wait_for()
    return desk


def rate(page: Any, number: int, label: int) -> None:
    page.get_by_text(f"Review {number}.").wait_for()
    page.keyboard.press(str(label))
    page.keyboard.press("Enter")


def apply(desk: Any) -> None:
    desk.get_by_role("button", name="Apply the change").click()
    desk.get_by_role("heading", name="Log").wait_for()
    desk.goto(desk.url.replace("/lead/log", SETTINGS))


@in_browser
def test_running_study_is_changed(browser: Browser, site: Site, tmp_path: Path) -> None:
    ana, ben = (browser.visit(site.invite(name)) for name in ("Ana", "Ben"))
    for number in range(2):
        rate(ana, number, 4)
    ana.wait_for_selector("#end-place .end")
    desk = settings(browser, site, viewport={"width": 1280, "height": 900})
    no_violations(desk, "settings")
    screenshot(desk, "settings")
    # The overlap: a second annotator receives the items.
    desk.get_by_label("Annotators per item").fill("2")
    desk.locator("section", has=desk.get_by_role("heading", name="Overlap")).get_by_role("button").click()
    desk.get_by_text("Remaining answers: 2 (2 items) after the change, 0 before it.").wait_for()
    no_violations(desk, "preview of a change")
    screenshot(desk, "settings-preview")
    apply(desk)
    ben.reload()
    ben.get_by_text("Review 0.").wait_for()
    browser.close_dialog(ben)
    rate(ben, 0, 5)
    site.wait_for("Ben", 1)
    # The instructions: Ben, who has begun, sees the changed passage.
    desk.get_by_role("textbox", name="Instructions").fill("Read it twice.\n\nBe fair.")
    desk.locator("form", has=desk.get_by_role("textbox", name="Instructions")).get_by_role("button").click()
    desk.locator("ins", has_text="Read it twice.").wait_for()
    no_violations(desk, "preview of instructions")
    screenshot(desk, "settings-instructions")
    apply(desk)
    ben.reload()
    ben.get_by_role("heading", name="Changed since you began").wait_for()
    browser.close_dialog(ben)
    rate(ben, 1, 3)
    ben.wait_for_selector("#end-place .end")
    # Items from a file.
    (tmp_path / "more.jsonl").write_text('{"item": "i2", "text": "Review 2."}\n')
    desk.get_by_label("A file").set_input_files(tmp_path / "more.jsonl")
    desk.locator("form", has=desk.get_by_label("A file")).get_by_role("button", name="Preview").click()
    desk.get_by_text("1 item more; annotators receive them from now on.").wait_for()
    apply(desk)
    ben.reload()
    ben.get_by_text("Review 2.").wait_for()
    browser.close_dialog(ben)
    rate(ben, 2, 1)
    site.wait_for("Ben", 3)
    # The end, at once.
    desk.get_by_role("button", name="Preview an end now").click()
    desk.get_by_text("This time has passed: annotation ends at once.").wait_for()
    apply(desk)
    ana.reload()
    ana.get_by_text("Answering ended on").wait_for()
    desk.goto(desk.url.replace(SETTINGS, "/lead/log"))
    for words in ("people.overlap: 1 → 2", "people.instructions: version 1 → version 2", "items: 2 → 3 (i2)"):
        desk.get_by_text(words).wait_for()
    no_violations(desk, "log of changes")
    assert load_study(site.study.folder).config.people.overlap == 2


@in_browser
def test_settings_on_a_phone(browser: Browser, site: Site) -> None:
    desk = settings(browser, site, **NARROW)
    desk.get_by_text("Guidelines of stars …").click()
    fits(desk)
    no_violations(desk, "settings on a phone")
    screenshot(desk, "settings-phone")
    desk.get_by_label("Guidelines of stars").fill("A very long guideline. " * 12 + "Unbroken" * 20)
    desk.locator("form", has=desk.get_by_label("Guidelines of stars")).get_by_role("button").click()
    desk.get_by_role("heading", name="Guidelines of stars").wait_for()
    fits(desk)
    no_violations(desk, "preview on a phone")
    screenshot(desk, "settings-preview-phone")


@in_browser
def test_answers_are_kept_for_the_same_question(browser: Browser, site: Site) -> None:
    ana = browser.visit(site.invite("Ana"))
    rate(ana, 0, 4)
    site.wait_for("Ana", 1)
    desk = settings(browser, site, color_scheme="dark")
    desk.get_by_text("Guidelines of stars …").click()
    desk.get_by_label("Guidelines of stars").fill("Whole stars only.")
    desk.locator("form", has=desk.get_by_label("Guidelines of stars")).get_by_role("button").click()
    desk.get_by_text("1 answer to 'stars' (1 by annotators) would no longer count").wait_for()
    no_violations(desk, "preview with a decision")
    screenshot(desk, "settings-guidelines")
    desk.get_by_role("button", name="Apply the change").click()
    assert desk.get_by_role("heading", name="Preview of a change").is_visible(), "a decision is required"
    desk.get_by_label("The same question").check()
    apply(desk)
    assert load_study(site.study.folder).config.questions[0].guidelines == "Whole stars only."


@pytest.mark.served
def test_all_worker_processes_follow_a_change(tmp_path: Path, url: str) -> None:
    folder = write_study(tmp_path / "study", items=4, people={"overlap": 1})
    study = load_study(folder)
    with open_store(study, url) as store:
        links = invite_people(study, store, ["ana", "ben"])
        lead_link = lead_path(study, store)
    with Server(folder, url, workers=2) as server, ExitStack() as opened:

        def visitor(link: str) -> Annotator:
            """A person with a new connection, which one of the processes accepts."""
            one = Annotator(Network(server.url), link)
            opened.callback(one.wire.close)
            one.join()
            return one

        ana = visitor(links["ana"])
        for _ in range(4):
            assert ana.keep(ana.work()[0]).status == 200
        assert [len(visitor(links["ben"]).work()) for _ in range(6)] == [0] * 6
        lead = visitor(lead_link)
        assert lead.form(SETTINGS, **hidden(preview(lead, "overlap", "2"))).status == 303
        assert [len(visitor(links["ben"]).work()) for _ in range(6)] == [4] * 6
        pages = [visitor(lead_link).send("GET", SETTINGS).text for _ in range(6)]
        assert all("2 annotators per item" in page for page in pages)
        assert "was edited" not in visitor(lead_link).send("GET", "/lead").text
    assert load_study(folder).config.people.overlap == 2
