"""The documentation's annotation studies run as pasted, with a browser instead of people."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from browsing import Browser, in_thread

if not (Path(__file__).parents[2] / "README.md").exists():
    pytest.skip("the documentation is not next to these tests", allow_module_level=True)

from pasted import ROOT, Newcomer, models, warm_start


@pytest.mark.parametrize("name", ["collecting.md", "commands.md", "ideas.md", "preferences.md"])
def test_pasted_page_with_annotators_runs(browser: Browser, name: str, tmp_path: Path) -> None:
    chance = random.Random(0)

    def answer(link: str) -> None:
        in_thread(_answer_everything, browser=browser, link=link, chance=chance)

    with warm_start() as warm, models() as address:
        assert Newcomer(tmp_path, warm, address, answer).paste(ROOT / "docs" / name) > 0


def _answer_everything(browser: Browser, link: str, chance: random.Random) -> None:
    """One choice per question, until the end page."""
    page = browser.visit(link)
    for _ in range(1000):
        page.wait_for_selector("form.page:visible, #end:visible")
        if page.locator("#end:visible").count():
            return
        before = page.url
        for group in page.locator("form.page:visible fieldset.question").all():
            choices = group.locator("label.choice")
            choices.nth(chance.randrange(choices.count())).click()
        page.click("[data-act=save]")
        page.wait_for_function("before => location.href !== before || document.querySelector('#end')", arg=before)
    raise AssertionError("the study does not end")
