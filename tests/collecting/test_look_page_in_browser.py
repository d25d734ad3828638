"""The page of assay look --browser by keyboard and by touch: from two files to the report."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the browser of the tests needs the extra "serve"')

from browsing import PHONE, Browser, fits, in_browser, no_violations, screenshot
from test_look_page import WORDS

from assay.cli.labels import command_for
from assay.collecting.look_page import serving

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def address() -> Iterator[str]:
    with serving(0, WORDS, command_for) as (server, _, found):
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join(10)


def choose(page: Any, *names: str) -> None:
    page.locator("#file").set_input_files([str(EXAMPLES / name) for name in names])
    for name in names:
        page.get_by_role("heading", name=name).wait_for()


def press_to(page: Any, selector: str) -> None:
    """Press Tab until a control is in focus."""
    for _ in range(200):
        if page.evaluate("(one) => document.activeElement?.matches(one)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by keyboard")


@in_browser
def test_two_files_become_a_report_by_keyboard(browser: Browser, address: str, tmp_path: Path) -> None:
    page = browser.visit(address)
    no_violations(page, "empty")
    screenshot(page, "look-empty")
    press_to(page, "#file")
    choose(page, "form.csv", "model.csv")
    no_violations(page, "two files")
    page.get_by_text("no item id is in both").wait_for()
    press_to(page, "#match")
    page.keyboard.press("Enter")
    page.get_by_text("60 of 60 item ids match loosely").wait_for()
    page.wait_for_function("document.activeElement.id === 'match'")  # the focus returns once the page is drawn
    press_to(page, "input[name=expertise]")
    page.keyboard.press("ArrowDown")
    press_to(page, "#report")
    page.keyboard.press("Enter")
    page.locator("#made").wait_for(timeout=120_000)
    assert page.evaluate("document.activeElement.id") == "made"
    no_violations(page, "made")
    screenshot(page, "look-made")
    with page.expect_download() as found:
        page.get_by_text("Download the numbers").click()
    found.value.save_as(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["kind"] == "Report"
    press_to(page, "#open")
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    report = opened.value
    report.get_by_role("heading", name="Can gpt-4o replace a skilled annotator?").wait_for()
    assert report.evaluate("window.origin") == "null", "the report cannot use the page"


@in_browser
def test_role_is_changed_by_keyboard_and_file_is_dropped(browser: Browser, address: str) -> None:
    page = browser.visit(address, **PHONE)
    text = (EXAMPLES / "sheet.csv").read_text()
    page.evaluate(
        """(text) => {
            const moved = new DataTransfer();
            moved.items.add(new File([text], "sheet.csv"));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: moved, cancelable: true }));
        }""",
        text,
    )
    page.locator("section.card").first.wait_for()
    fits(page)
    no_violations(page, "phone")
    screenshot(page, "look-phone")
    row = page.locator("tr", has=page.locator("th:text-is('Ann')"))
    assert not row.get_by_role("button").is_visible()
    row.get_by_role("combobox").select_option(label="judge labels")
    row.get_by_role("button", name="Change the role of Ann").tap()
    page.get_by_text("2 humans, 2 judges").wait_for()
    page.get_by_role("button", name="Undo my changes of sheet.csv").tap()
    page.get_by_text("3 humans, 1 judge").wait_for()
