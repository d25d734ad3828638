"""A study led by browser alone: from the first invitation to adjudicated labels and the judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS, lead_path
from browsing import Browser, Site, fits, in_browser, no_violations, screenshot

import assay
from waiting import wait_until

ITEMS = [{"item": f"i{n}", "text": f"Review {n}."} for n in range(3)]
GIVEN = {"Ana": [1, 4, 5], "Ben": [5, 4, 5]}


def judged(folder: Path) -> dict[str, Any]:
    """A study with a judge whose replies are in a file."""
    labels = {"i0": 5, "i1": 2, "i2": 5}
    replies = [{"item": item, "judge": "gpt-4o", "reply": json.dumps({"label": one})} for item, one in labels.items()]
    folder.mkdir(parents=True)
    (folder / "replies.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in replies))
    return {
        "name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": {"order": "fixed"},
        "judges": [{"name": "gpt-4o", "provider": "recorded", "file": "replies.jsonl"}],
    }  # fmt: skip


def annotate(browser: Browser, link: str, labels: list[int], comment: str = "") -> None:
    page = browser.visit(link)
    for number, label in enumerate(labels):
        page.get_by_text(f"Review {number}.").wait_for()
        if comment and number == 0:
            page.keyboard.press("c")
            page.keyboard.type(comment)
            page.keyboard.press("Escape")
        page.keyboard.press(str(label))
        page.keyboard.press("Enter")
    page.wait_for_selector("#end-place .end")
    page.close()


def link_on_desk(desk: Any, name: str) -> str:
    """The personal link in the row of an annotator on the dashboard."""
    row = desk.locator(f".people tbody tr:has(bdi:text-is('{name}'))")
    row.wait_for()
    row.get_by_text("Manage").click()
    return str(row.get_by_label("Personal link").input_value())


@in_browser
def test_study_is_led_from_invitation_to_adjudicated_labels(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    site = Site(folder, judged(folder), {"items.jsonl": ITEMS})
    try:
        assert assay.open_study(folder).ask(progress=False).answered == 3
        desk = browser.visit(site.url + lead_path(site.study, site.store), viewport={"width": 1280, "height": 800})
        desk.wait_for_selector("#connection.is-live")
        for name in GIVEN:
            desk.get_by_role("textbox", name="Name", exact=True).fill(name)
            desk.locator("form[action='/lead/people']").get_by_role("button", name="Add").click()
            annotate(browser, link_on_desk(desk, name), GIVEN[name], comment="Is it ironic?" if name == "Ana" else "")
        # A comment is answered, and a disagreement is explained.
        desk.reload()
        desk.wait_for_selector("#connection.is-live")
        desk.get_by_text("Reply").first.click()
        desk.get_by_label("Words to Ana").last.fill("No, take it literally.")
        desk.get_by_role("button", name="Send", exact=True).click()
        desk.get_by_text("Sent to Ana.").wait_for()
        desk.get_by_role("link", name="All items").click()
        desk.get_by_role("link", name="Disagreement without a reason").click()
        desk.get_by_role("link", name="i0").click()
        assert "gpt-4o" not in desk.content()
        desk.get_by_label("Why annotators disagree").select_option(label="the text is ambiguous")
        desk.get_by_role("button", name="Save the reason").click()
        desk.get_by_label("Why annotators disagree").wait_for()
        # An adjudicator decides.
        desk.get_by_role("link", name="Back to the dashboard").click()
        desk.wait_for_selector("#connection.is-live")
        desk.get_by_label("Name of an adjudicator").fill("Eva")
        desk.locator("form[action='/lead/adjudicators']").get_by_role("button").click()
        page = browser.visit(link_on_desk(desk, "Eva"))
        page.get_by_text("Review 0.").wait_for()
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        wait_until(lambda: len(site.answers("Eva")) == 1, "the decision is not stored")
        # The blind phase ends.
        desk.reload()
        desk.wait_for_selector("#connection.is-live")
        desk.get_by_text("End the blind phase …").click()
        desk.get_by_role("button", name="End the blind phase").click()
        desk.get_by_text("The blind phase ended").wait_for()
        no_violations(desk, "the dashboard after the blind phase")
        desk.get_by_role("link", name="Items on which a judge differs most").click()
        desk.get_by_role("columnheader", name="Distance of judges").wait_for()
        no_violations(desk, "items with judges")
        fits(desk)
        screenshot(desk, "items-with-judges")
        assert desk.locator("table.items tbody tr").count() == 1  # the judge says 2 where both say 4
        desk.get_by_role("link", name="i1").click()
        desk.get_by_text("gpt-4o").wait_for()
        no_violations(desk, "an item with judges")
        screenshot(desk, "item-with-judge")
        desk.get_by_role("link", name="Back to the dashboard").click()
        desk.wait_for_selector("#connection.is-live")
        desk.get_by_role("link", name="Log").click()
        for what in ("invited", "message", "reason", "adjudicator", "blind phase ended"):
            desk.get_by_role("rowheader", name=what, exact=True).first.wait_for()
        no_violations(desk, "the log")
        screenshot(desk, "log")
        # The labels are downloaded.
        desk.get_by_role("link", name="Back to the dashboard").click()
        with desk.expect_download() as download:
            desk.get_by_role("link", name="Labels").click()
        download.value.save_as(tmp_path / "labels.csv")
        adjudicated = desk.request.get(site.url + "/lead/adjudicated.csv").text()
    finally:
        site.close()
    labels = assay.read(tmp_path / "labels.csv", scale="1-5", judges=["gpt-4o"])
    assert labels.humans == ("Ana", "Ben")
    assert sorted(labels.where(kind="human").labels["label"].to_list()) == [1, 4, 4, 5, 5, 5]
    assert adjudicated == "item,criterion,label,annotator,comment,blind\ni0,stars,2,Eva,,true\n"
