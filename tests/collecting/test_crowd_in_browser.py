"""A crowd participant in a real browser: from the platform's page of the study to the return link."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS, lead_path, reserved_port
from browsing import PHONE, Browser, Site, fits, in_browser, no_violations, screenshot

from assay.collecting.crowd import pay_table
from assay.collecting.design import StudyDesign
from assay.study.store import tables
from waiting import wait_until

SCREENING = {"native": {"Is Spanish your first language?": {"Yes": True, "No": False}}}

TEXT = """# Text {}

| model | score |
|---|---|
| small | **3** |

`print(1)` and a <b>tag</b>.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    # The stub of the platform: no server listens there; only the address matters.
    with reserved_port() as stub:
        back = f"http://127.0.0.1:{stub.getsockname()[1]}/submissions/complete?cc={{code}}&s={{SESSION_ID}}"
    people = {"pay": {"USD": {"completed": 2}}}
    named = ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"]  # so that short ids are participants as well
    crowd = {
        "platform": "prolific",
        "parameters": named,
        "places": 40,
        "codes": {"completed": "C-DONE", "screened": "C-OUT"},
        "back": back,
    }
    study = {
        "name": "Stars",
        "items": {"file": "items.jsonl", "markdown": ["text"]},
        "questions": [STARS],
        "people": {"crowd": crowd, "ask": {"screening": SCREENING}, **people},
    }
    items = [{"item": f"i{n}", "text": TEXT.format(n)} for n in range(3)]
    made = Site(tmp_path_factory.mktemp("crowd") / "study", study, {"items.jsonl": items})
    yield made
    made.close()


def address(site: Site, name: str) -> str:
    return f"{site.url}/enter?PROLIFIC_PID={name}&STUDY_ID=s&SESSION_ID=of-{name}"


def outcome(site: Site, name: str) -> Any:
    with site.store.reading() as db:
        rows = db.execute(tables.visits.select()).all()
    return next((row.outcome for row in rows if row.person == name), "never came")


@in_browser
@pytest.mark.parametrize("look", [{}, PHONE, {"color_scheme": "dark"}], ids=["light", "phone", "dark"])
def test_from_the_platform_and_back(browser: Browser, site: Site, look: dict[str, Any]) -> None:
    name = f"p{len(look)}{'d' * ('color_scheme' in look)}"
    page = browser.visit(address(site, name), **look)
    screenshot(page, f"crowd-enter-{name}")
    no_violations(page, "the entry")
    fits(page)
    page.click("text=Yes")
    page.click("text=Continue")
    page.wait_for_url("**/work*")
    page.wait_for_selector(".markup td:has-text('small')")
    assert "a <b>tag</b>" in page.inner_text("form.page:not([hidden]) .markup")
    screenshot(page, f"crowd-markdown-{name}")
    no_violations(page, "a text as Markdown")
    for number in range(3):
        page.wait_for_selector("form.page:not([hidden]) [data-state=open]")
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        site.wait_for(name, number + 1)
    page.wait_for_selector("#end[data-kind=completed]")
    assert page.inner_text(".code") == "C-DONE"
    assert page.get_attribute("#end a.button", "href").endswith(f"/submissions/complete?cc=C-DONE&s=of-{name}")
    screenshot(page, f"crowd-end-{name}")
    no_violations(page, "the end")
    fits(page)
    assert outcome(site, name) == "completed"
    page.goto(address(site, name))
    page.wait_for_selector("#end[data-kind=completed]")


@in_browser
def test_refused_and_leaving_participants(browser: Browser, site: Site) -> None:
    page = browser.visit(address(site, "other"))
    page.click("text=No")
    page.click("text=Continue")
    page.wait_for_selector("#end[data-kind=screened]")
    assert page.inner_text(".code") == "C-OUT"
    page = browser.visit(address(site, "leaves"))
    page.click("text=Yes")
    page.click("text=Continue")
    page.wait_for_url("**/work*")  # loaded, the script with it
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    site.wait_for("leaves", 1)
    page.click("text=Leave …")
    page.wait_for_url("**/leave")
    no_violations(page, "leaving")
    screenshot(page, "crowd-leave")
    page.click("text=withdraw my answers")
    page.wait_for_selector("#end[data-kind=withdrawn]")
    wait_until(lambda: outcome(site, "leaves") == "withdrawn", "it is not written down")
    page = browser.visit(site.url + lead_path(site.study, site.store))
    page.wait_for_selector("#crowd-title")
    screenshot(page, "crowd-lead")
    assert "{{%PROLIFIC_PID%}}" in page.input_value("[data-key=crowd] input")
    no_violations(page, "dashboard of a crowd")


TASK = """<!doctype html><html lang="en"><title>Rate texts</title><h1>Rate texts</h1>
<p><a id="go" href="{link}" target="_blank">Open the study in a new tab</a></p>
<form><label>Code <input name="code"></label></form></html>"""
"""A task of Mechanical Turk, as its requester writes it; the platform fills in the worker."""


@in_browser
def test_mechanical_turk_task_with_individual_code(browser: Browser, tmp_path: Path) -> None:
    study = {
        "name": "Stars",
        "items": {"file": "items.jsonl"},
        "questions": [STARS],
        "people": {"crowd": {"platform": "mturk", "places": 2}},
    }
    made = Site(tmp_path / "study", study, {"items.jsonl": [{"item": "i1", "text": "Fine."}]})
    with closing(made) as site, reserved_port() as stub:
        platform = f"http://localhost:{stub.getsockname()[1]}/task"
        lead = browser.visit(site.url + lead_path(site.study, site.store))
        written = lead.input_value("[data-key=crowd] input")
        assert written.endswith("/enter?workerId=${workerId}&assignmentId=${assignmentId}&hitId=${hitId}")

        def task(worker: str, assignment: str) -> Any:
            link = written.replace("${workerId}", worker).replace("${assignmentId}", assignment)
            html = TASK.format(link=link.replace("${hitId}", "H1"))
            page = browser.visit("about:blank")
            page.route(f"{platform}*", lambda route: route.fulfill(content_type="text/html", body=html))
            page.goto(platform)
            with page.expect_popup() as opened:
                page.click("#go")
            opened.value.wait_for_load_state()  # before that, the page is loaded but its script is not
            return page, opened.value

        _, looked = task("AWORKER001", "ASSIGNMENT_ID_NOT_AVAILABLE")
        looked.wait_for_selector("text=Please accept the task first")
        assert outcome(site, "AWORKER001") == "never came"
        codes = {}
        for worker in ("AWORKER001", "AWORKER002"):
            page, tab = task(worker, f"A-{worker}")
            tab.wait_for_selector("form.page:not([hidden]) [data-state=open]")
            tab.keyboard.press("4")
            tab.keyboard.press("Enter")
            tab.wait_for_selector("#end[data-kind=completed]")
            codes[worker] = tab.inner_text(".code")
            page.fill("[name=code]", codes[worker])
        assert codes["AWORKER001"] != codes["AWORKER002"]
        paid = {row["person"]: row for row in pay_table(StudyDesign(site.study, site.store)).to_dicts()}
        assert {name: paid[name]["code"] for name in codes} == codes
        first = paid["AWORKER001"]
        assert (first["assignmentId"], first["hitId"], first["outcome"]) == ("A-AWORKER001", "H1", "completed")
        _, late = task("AWORKER003", "A-AWORKER003")
        late.wait_for_selector("#end[data-kind=full]")
    browser.hosts.discard(urlsplit(platform).netloc)  # the stub itself: another site than the study's
