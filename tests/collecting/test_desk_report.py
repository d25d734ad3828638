"""The report on the dashboard: after the blind phase only, counted as an analysis, and the same for all workers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS, Annotator, Reply, Served, write_study
from browsing import Browser, Site, fits, in_browser, no_violations, screenshot
from test_leads import lead_link, opened

import assay
from assay.collecting.desk.report import LONGEST, report_choices, report_on_desk
from assay.collecting.report_process import ReportProcess
from assay.replacement.panel import EPSILON
from assay.study import LOOKS
from waiting import wait_until

N_ITEMS = 40
ITEMS = [{"item": f"i{n}", "text": f"Review {n}."} for n in range(N_ITEMS)]
STARS_OF = [1 + n % 5 for n in range(N_ITEMS)]


def labelled(**study: Any) -> dict[str, Any]:
    """A study whose labels of three annotators and replies of a judge are in files."""
    people = [{"item": f"i{n}", "annotator": name, "label": min(5, max(1, star + (n % k == 0) * (-1) ** n))}
              for k, name in ((7, "Ana"), (9, "Ben"), (11, "Cem")) for n, star in enumerate(STARS_OF)]  # fmt: skip
    replies = [{"item": f"i{n}", "judge": "gpt-4o", "reply": json.dumps({"label": star})}
               for n, star in enumerate(STARS_OF)]  # fmt: skip
    return {
        "items": ITEMS, "tables": {"labels.jsonl": people, "replies.jsonl": replies}, "labels": "labels.jsonl",
        "judges": [{"name": "gpt-4o", "provider": "recorded", "file": "replies.jsonl"}], **study,
    }  # fmt: skip


@pytest.fixture
def page(serve: Callable[..., Served]) -> Served:
    found = serve(**labelled(analyses=2))
    assert assay.open_study(found.folder).ask(progress=False).answered == N_ITEMS
    return found


@dataclass
class Reported:
    """A page with a report, and what was seen while it was made."""

    page: Served
    processes: list[ReportProcess]
    at_once: int
    alive: bool
    while_made: str


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reported]:
    """A report asked for three times while it is made, from a folder with a file of a library's name."""
    place = tmp_path_factory.mktemp("reported")
    (place / "json.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    processes: list[ReportProcess] = []
    begin = ReportProcess.__post_init__
    with pytest.MonkeyPatch.context() as patch, Served(write_study(place / "study", **labelled(analyses=2))) as page:
        patch.setattr(ReportProcess, "__post_init__", lambda self: (processes.append(self), begin(self))[1])
        patch.setattr("assay.collecting.desk.report.BEAT", 0.01)
        patch.chdir(place)
        assert assay.open_study(page.folder).ask(progress=False).answered == N_ITEMS
        lead = page.lead()
        lead.form("/lead/blind")
        for _ in range(3):
            assert lead.form("/lead/report", expertise="crowd").status == 303
        kept = page.store.setting("report")
        wait_until(lambda: "alive" in (page.store.setting("report") or kept), "there is no sign of life")
        now = page.store.setting("report")
        page.store.set("report", {**now, "started": 0.0})
        state = report_on_desk(page.app.state.assay.now()).state
        wait(page)
        yield Reported(page, processes, len(processes), "alive" in now, state)


def wait(page: Served) -> None:
    lead = page.lead()
    wait_until(lambda: not lead.send("GET", "/lead/report/state").json()["running"], "it still runs", seconds=120)


@pytest.mark.slow
def test_report_is_made_after_the_blind_phase_and_counted(page: Served) -> None:
    lead = page.lead()
    for send in (lambda: lead.send("GET", "/lead/report"), lambda: lead.form("/lead/report", expertise="crowd")):
        assert send().status == 409
    assert lead.send("GET", "/lead/report/open").status == 409
    assert "Verdict and card" not in lead.send("GET", "/lead/live").text
    lead.form("/lead/blind")
    assert "Verdict and card" in lead.send("GET", "/lead/live").text
    before = lead.send("GET", "/lead/report").text
    assert "interim analysis 1 of 2" in before
    for kind, epsilon in EPSILON.items():
        assert re.search(rf'value="{kind}" required> [^<]*ε = {str(epsilon).removeprefix("0")}<', before), kind
    assert lead.send("GET", "/lead/report/open").status == 404
    assert lead.form("/lead/report").status == 422, "the type of annotator is chosen"
    assert lead.form("/lead/report", expertise="anybody").status == 422
    assert lead.form("/lead/report", expertise="skilled").headers["location"] == "/lead/report"
    assert "The report is being made" in lead.send("GET", "/lead/report").text
    wait(page)
    found = report_on_desk(page.app.state.assay.now())
    assert (found.state, found.done, found.planned, found.said) == ("made", 1, 2, "")
    assert len(page.store.setting(LOOKS)) == 1
    (card,) = found.cards
    text = lead.send("GET", "/lead/report").text
    assert card["headline"] in text
    assert "Interim analysis 1 of 2." in text
    assert "interim analysis 2 of 2" in text
    ((judge, marks),) = found.marks
    numbers = lead.send("GET", "/lead/report/report.json").json()
    rows = {row["dimension"]: row["mark"] for row in numbers["card"]["table"] if row["kind"] == "judge"}
    assert (judge, marks) == ("gpt-4o", rows)
    whole = lead.send("GET", "/lead/report/open")
    assert whole.headers["content-security-policy"].startswith("sandbox ")
    assert "a skilled annotator" in whole.text
    assert str(page.folder) not in numbers["signature"]
    assert lead.send("GET", "/lead/report/report.html").headers["content-disposition"].startswith("attachment")
    assert card["headline"] in lead.send("GET", "/lead/items").text
    assert ">report</th>" in lead.send("GET", "/lead/log").text


def varied(**study: Any) -> dict[str, Any]:
    """The same study with two temperatures, in which the judge answers twice and is wrong at 0.7 in the second call."""
    made = labelled(**study)
    wrong = [{"item": f"i{n}", "judge": "gpt-4o", "temperature": 0.7, "repeat": 2,
              "reply": json.dumps({"label": 1 + (star + 2) % 5})} for n, star in enumerate(STARS_OF)]  # fmt: skip
    made["tables"]["replies.jsonl"] += wrong
    made["judges"] = [{**made["judges"][0], "repeats": 2}]
    return {**made, "conditions": {"temperature": [0, 0.7], "prompt": ["default"]}}


@pytest.mark.slow
def test_report_is_made_for_chosen_condition_and_repeats(serve: Callable[..., Served]) -> None:
    page = serve(**varied(analyses=2))
    assert assay.open_study(page.folder).ask(progress=False).answered == 4 * N_ITEMS
    lead, before = page.lead(), "Decide on it before you see the labels of judges."
    assert lead.send("GET", "/lead/live").text.count(before) == 2
    assert "several values of temperature, and the report is made for one of them: 0.0, 0.7." in (
        lead.send("GET", "/lead/live").text
    )
    lead.form("/lead/blind")
    form = lead.send("GET", "/lead/report").text
    assert re.findall(r'<option value="([^"]+)"', form) == [
        "temperature=0.0", "temperature=0.7", "repeats=first", "repeats=majority", "repeats=mean"
    ]  # fmt: skip
    for given in ([], ["temperature=0.0"], ["temperature=1", "repeats=first"], ["repeats=last", "temperature=0.7"]):
        assert report(lead, *given).status == 422, given
    assert page.store.setting("report") is None, "none was begun"
    assert report(lead, "temperature=0.0", "repeats=majority").status == 303
    wait(page)
    found = report_on_desk(page.app.state.assay.now())
    assert (found.state, found.said) == ("made", "")
    assert dict(found.made_of) == {"temperature": "0.0", "repeats": "majority"}
    assert "with temperature = 0.0, repeats = majority." in lead.send("GET", "/lead/report").text
    (good,) = found.cards
    assert report(lead, "temperature=0.7", "repeats=mean").status == 303
    wait(page)
    (bad,) = report_on_desk(page.app.state.assay.now()).cards
    assert (good["tone"], bad["tone"]) == ("good", "bad")
    assert "skilled, temperature = 0.7, repeats = mean" in lead.send("GET", "/lead/log").text


def report(lead: Annotator, *choices: str) -> Reply:
    body = urlencode([("expertise", "skilled"), *(("choice", one) for one in choices)]).encode()
    return lead.send("POST", "/lead/report", body, {"Content-Type": "application/x-www-form-urlencoded"})


def test_planned_repeats_are_not_chosen_on_the_dashboard(serve: Callable[..., Served]) -> None:
    page = serve(**varied())
    assert [one.name for one in report_choices(page.study)] == ["temperature", "repeats"]
    (page.folder / "plan.yaml").write_text("question: alt-test\nverdict: {epsilon: 0.1, repeats: first}\n")
    assert [one.name for one in report_choices(page.study)] == ["temperature"]


def test_reader_sees_the_report_and_makes_none(page: Served) -> None:
    lead = page.lead()
    lead.form("/lead/blind")
    lead.form("/lead/leads", name="Rio", role="reader")
    rio = opened(page, lead_link(lead.send("GET", "/lead").text, "Rio"))
    seen = rio.send("GET", "/lead/report")
    assert (seen.status, 'action="/lead/report"' in seen.text) == (200, False)
    assert rio.form("/lead/report", expertise="crowd").status == 403
    assert report_on_desk(page.app.state.assay.now()).state == ""


def test_study_without_judges_has_no_report(serve: Callable[..., Served]) -> None:
    page = serve()
    lead = page.lead()
    for reply in (lead.send("GET", "/lead/report"), lead.form("/lead/report", expertise="crowd")):
        assert (reply.status, "Add judges to study.yaml" in reply.text) == (404, True)


@pytest.mark.slow
def test_only_one_report_is_made_at_a_time(reported: Reported) -> None:
    assert reported.at_once == 1


def test_long_report_shows_signs_of_life(reported: Reported) -> None:
    assert (reported.alive, reported.while_made in ("running", "made")) == (True, True), "it still runs"
    assert report_on_desk(reported.page.app.state.assay.now()).state == "made"


def test_python_files_of_the_current_folder_are_not_imported(reported: Reported) -> None:
    assert (reported.page.folder.parent / "json.py").exists()
    assert report_on_desk(reported.page.app.state.assay.now()).state == "made"


@pytest.mark.slow
def test_numbers_of_another_form_are_ignored(reported: Reported) -> None:
    numbers = reported.page.folder / "report.json"
    made = numbers.read_text(encoding="utf-8")
    for cards in ("x", [{}], [{"headline": "Yes"}]):
        numbers.write_text(json.dumps({"kind": "Report", "cards": cards}), encoding="utf-8")
        for path in ("/lead/report", "/lead/items"):
            assert reported.page.lead().send("GET", path).status == 200
        assert report_on_desk(reported.page.app.state.assay.now()).cards == (), cards
    numbers.write_text(made, encoding="utf-8")
    assert len(report_on_desk(reported.page.app.state.assay.now()).cards) == 1


def test_report_that_fails_says_why_and_the_last_one_stays(page: Served) -> None:
    lead = page.lead()
    lead.form("/lead/blind")
    (page.folder / "report.html").write_text("my own notes", encoding="utf-8")
    lead.form("/lead/report", expertise="crowd")
    wait(page)
    text = lead.send("GET", "/lead/report").text
    assert "The last report could not be made:" in text
    assert "exists and is not overwritten" in text
    assert str(page.folder.parent) not in text, "a reader sees no paths of the server"
    assert (page.folder / "report.html").read_text(encoding="utf-8") == "my own notes"


@pytest.mark.slow
def test_report_of_a_stopped_server_is_not_waited_for(page: Served) -> None:
    page.lead().form("/lead/blind")
    now = page.store.setting(LOOKS) or 0
    page.store.set("report", {"state": "running", "started": now - LONGEST, "made": None})
    found = report_on_desk(page.app.state.assay.now())
    assert (found.state, found.said) == ("failed", "The server was stopped before the report was made.")


@pytest.mark.slow
def test_second_analysis_without_a_plan_is_warned_of(serve: Callable[..., Served], tmp_path: Path) -> None:
    """The labels are in a store elsewhere, which the command of the report is given."""
    page = serve(**labelled(), store=str(tmp_path / "other.db"))
    assay.open_study(page.folder, store=str(tmp_path / "other.db")).ask(progress=False)
    lead = page.lead()
    lead.form("/lead/blind")
    assert "One analysis is planned." in lead.send("GET", "/lead/report").text
    lead.form("/lead/report", expertise="crowd")
    wait(page)
    text = lead.send("GET", "/lead/report").text
    assert "The planned analysis is done: after a further one on new answers" in text
    assert "One analysis is planned." not in text
    assert '<th scope="col">Replacement</th>' in text
    assert "– insufficient data" in text


def test_command_does_not_contain_the_password(
    serve: Callable[..., Served], postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ReportProcess] = []
    begin = ReportProcess.__post_init__
    monkeypatch.setattr(ReportProcess, "__post_init__", lambda self: (made.append(self), begin(self))[1])
    store = postgres.replace("assay@", "assay:a%40b@")
    page = serve(**labelled(), store=store)
    assay.open_study(page.folder, store=store).ask(progress=False)
    lead = page.lead()
    lead.form("/lead/blind")
    lead.form("/lead/report", expertise="crowd")
    wait(page)
    (one,) = made
    assert (report_on_desk(page.app.state.assay.now()).state, one.environment) == ("made", {"PGPASSWORD": "a@b"})
    address = one.words[one.words.index("--store") + 1]
    assert address.startswith("postgresql://assay@"), "SQLAlchemy writes a password as ***"


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        "verdict: {expertise: expert}",
        "question: alt-test\nverdict: {expertise: cook}",
        "question: alt-test\nverdict: 1",
    ],
)
def test_file_that_is_not_a_plan_decides_nothing(page: Served, plan: str) -> None:
    lead = page.lead()
    lead.form("/lead/blind")
    path = page.folder / "plan.yaml"
    path.write_text("question: alt-test\nverdict: {expertise: expert}\n")
    assert "The plan decides the margin ε." in lead.send("GET", "/lead/report").text
    path.write_text(f"# changed\n{plan}\n")
    text = lead.send("GET", "/lead/report").text
    assert "plan.yaml cannot be read; run assay report for the reason." in text
    assert ("The plan decides" in text, "Make the report</button>" in text) == (False, False)
    assert lead.form("/lead/report", expertise="crowd").status == 409, "a report would be refused for the same reason"
    path.unlink()
    assert "Whose place would the judge take?" in lead.send("GET", "/lead/report").text


@in_browser
def test_report_is_made_in_browser(browser: Browser, tmp_path: Path) -> None:
    study = labelled()
    tables = {"items.jsonl": study.pop("items"), **study.pop("tables")}
    about = {"name": "Stars", "items": {"file": "items.jsonl"}, "questions": [STARS], **study}
    site = Site(tmp_path / "study", about, tables)
    try:
        assay.open_study(tmp_path / "study").ask(progress=False)
        from annotating import lead_path

        desk = browser.visit(site.url + lead_path(site.study, site.store), viewport={"width": 1280, "height": 800})
        desk.wait_for_selector("#connection.is-live")
        desk.get_by_text("End the blind phase …").click()
        desk.get_by_role("button", name="End the blind phase").click()
        desk.get_by_role("link", name="Verdict and card").click()
        no_violations(desk, "before the report")
        desk.get_by_label("Crowd workers").check()
        desk.get_by_role("button", name="Make the report").click()
        desk.get_by_role("heading", name="Verdict").wait_for(timeout=120_000)
        no_violations(desk, "the report on the dashboard")
        fits(desk)
        screenshot(desk, "desk-report")
        with desk.context.expect_page() as opened:
            desk.get_by_role("link", name="Open the whole report").click()
        opened.value.get_by_role("heading", name="Can gpt-4o replace a crowd worker?").wait_for()
        assert opened.value.evaluate("window.origin") == "null"
    finally:
        site.close()
