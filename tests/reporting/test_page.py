"""The page: what is drawn in cells, marks, Markdown, PDF; and in a browser sorting, filters, phones, accessibility."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.errors import AssayError
from assay.reporting import page as pages
from assay.reporting import tables
from assay.reporting.page import Card, Marks, NextStep, Page, Section, page_of, print_page

pytestmark = pytest.mark.xdist_group("page")  # one process, so that the page is made once

AXE = Path(__file__).parents[1] / "collecting" / "vendor" / "axe.min.js"


def test_intervals_of_a_column_share_an_axis() -> None:
    drawn = tables.IntervalColumn.of([0.5, 0.0, None], [0.25, -0.5, None], [1.5, 0.5, None])
    assert drawn is not None
    # The axis runs from -0.5 to 1.5 over 96 of 100, with 2 on each side: 0 is a quarter along.
    assert drawn.zero == 26
    assert drawn.rows == ((50, 38, 98), (26, 2, 50), None)


def test_an_axis_far_from_0_does_not_reach_it() -> None:
    far = tables.IntervalColumn.of([0.85, 0.9], [0.8, 0.85], [0.9, 1.0])
    near = tables.IntervalColumn.of([0.2, 0.6], [0.1, 0.5], [0.3, 0.7])
    assert far is not None
    assert near is not None
    assert far.zero is None
    assert far.rows[0][1] == 2
    assert near.zero == 2
    assert near.rows[0][1] > 10


def test_one_interval_has_nothing_to_stand_beside() -> None:
    assert tables.IntervalColumn.of([0.5, None], [0.4, None], [0.6, None]) is None


def test_a_column_that_is_not_shown_is_not_drawn() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": [0.1, 0.2], "b_low": [0.0, 0.1], "b_high": [0.2, 0.3]})
    assert not tables.shown(frame, drop=("b",)).intervals
    assert set(tables.shown(frame).intervals) == {1}


def small() -> Page:
    frame = pl.DataFrame(
        {"judge": ["x|y", "b", "c"], "estimate": [0.2, 0.9, 0.5], "low": [0.1, 0.8, 0.4], "high": [0.3, 1.0, 0.6]}
    )
    table = tables.shown(frame, caption="Three judges.")
    step = NextStep("mend it:", "disagreement", "b", command="assay disagreement labels.csv")
    card = Card("b", None, "bad", "Do not replace them with b.", "Shown worse.", "", step=step)
    marks = Marks(("replace",), (("b", ("✗",)), ("c", ("–",))), {"✗": "shown worse", "–": "cannot say"}, ("ask more",))
    sections = (Section("Agreement", ("They agree.", "a", "b", "c", "d"), (table, table)), Section("Agreement"))
    return Page(
        "May they?",
        "three labels",
        (card,),
        sections,
        "Asked of b.",
        "assay report x",
        marks=marks,
        data='{"a": "</script>"}',
    )


def test_sections_of_one_name_have_addresses_of_their_own() -> None:
    assert [place for place, _ in small().placed] == ["agreement", "agreement-2"]
    html = small().html()
    assert 'id="agreement-2"' in html
    assert html.count("</script>") == 2, "the numbers cannot end their element"


def test_markdown_has_the_marks_the_next_step_and_the_tables() -> None:
    text = small().markdown()
    assert "|  | replace |\n| --- | --- |\n| b | ✗ |" in text
    assert "- ✗ **Do not replace them with b.** mend it:\n\n      assay disagreement labels.csv" in text
    assert "| x\\|y | 0.20 [0.10, 0.30] |" in text
    assert "```\nassay report x\n```" in text


def test_markdown_is_written_by_its_name(tmp_path: Path) -> None:
    written = small().save(tmp_path / "page.md").read_text(encoding="utf-8")
    assert written.startswith(pages.REPORT_MARK)
    pages.refuse_overwriting(tmp_path / "page.md", (), force=False)
    (tmp_path / "mine.md").write_text("# Notes", encoding="utf-8")
    with pytest.raises(AssayError, match="is there already"):
        pages.refuse_overwriting(tmp_path / "mine.md", (), force=False)


def test_without_a_browser_a_pdf_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(AssayError, match="printed by Chromium or Chrome, and neither is on this machine; open"):
        print_page(small().save(tmp_path / "page.html"), tmp_path / "page.pdf")


def test_a_browser_that_prints_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho no display >&2\n", encoding="utf-8")
    broken.chmod(broken.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(AssayError, match=r"did not print .*: no display"):
        print_page(small().save(tmp_path / "page.html"), tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


def test_a_result_by_itself_has_a_page_too() -> None:
    page = page_of("A title", "", (), "signature|x:1")
    assert "signature|x:1" in page.html()


# -- in a browser ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    labels = assay.simulate(n_items=150, n_annotators=4, judges={"careful": 0.2, "middling": 0.42, "bad": 0.9}, seed=7)
    texts = labels.items.select("item", text=pl.lit("A long text that a person reads: ") + pl.col("item"))
    labels = assay.Annotations.from_frame(labels.labels, judges=labels.judges, scale=labels.scale, items=texts)
    return assay.report(labels, expertise="skilled").save(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


def opened(browser: Any, path: Path, width: int, scheme: str = "light", **options: Any) -> Any:
    """The page in a new window; a script that fails, or a request to anywhere, is a complaint."""
    context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme, **options)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: page.complaints.append(said.text))
    page.on("request", lambda asked: page.complaints.append(asked.url) if asked.url != path.as_uri() else None)
    page.goto(path.as_uri())
    return page


@pytest.mark.served
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_nothing_stands_in_the_way_of_a_reader(browser: Any, written: Path, width: int, scheme: str) -> None:
    page = opened(browser, written, width, scheme, bypass_csp=True)  # so that axe may be put in
    height, broad = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert broad <= width
    assert height < (5_000 if width > 1000 else 8_000)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "unfolded"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document).then((one) => one.violations)")
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
    assert page.complaints == []
    page.context.close()


@pytest.mark.served
def test_tables_are_sorted_and_narrowed_without_a_server(browser: Any, written: Path) -> None:
    page = opened(browser, written, 1280)
    table = page.locator("#annotator-by-annotator table.rows").first
    judges = table.locator("tbody tr td[data-column=judge]")
    assert judges.all_inner_texts()[0] == "careful"
    table.get_by_role("button", name="ρ", exact=True).click()
    assert judges.all_inner_texts()[0] == "bad"
    assert table.locator("th[aria-sort=ascending]").inner_text() == "ρ"
    table.get_by_role("button", name="ρ", exact=True).click()
    assert judges.all_inner_texts()[0] == "careful"
    page.locator("#filter select").first.select_option("middling")
    assert {one.inner_text() for one in judges.all() if one.is_visible()} == {"middling"}
    farthest = page.locator("#where-is-a-judge-farthest-from-people td[data-column=judge]")
    assert {one.inner_text() for one in farthest.all() if one.is_visible()} == {"middling"}
    assert "A long text" in page.locator("#where-is-a-judge-farthest-from-people").inner_text()
    assert page.complaints == []
    page.context.close()


@pytest.mark.served
def test_the_page_is_whole_without_its_script(browser: Any, written: Path) -> None:
    page = opened(browser, written, 1280, java_script_enabled=False)
    assert not page.locator("#filter").is_visible()
    assert page.locator("table.card td").count() > 20
    for link in page.locator("nav a").all():
        place = link.get_attribute("href")
        assert page.locator(f"section{place}").count() == 1, place
    page.context.close()


@pytest.mark.served
def test_a_printed_page_has_its_folded_parts_and_the_heads_of_its_tables(browser: Any, written: Path) -> None:
    page = opened(browser, written, 1000)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#how-to-report-this").get_by_text("We used the alternative annotator test").is_visible()
    assert page.locator("#annotator-by-annotator thead").first.inner_text().startswith("judge")
    assert not page.locator(".copy button").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#how-to-report-this details[open]").count() == 0
    page.context.close()


@pytest.mark.served
def test_a_pdf_holds_what_the_page_folds(written: Path) -> None:
    if shutil.which("pdftotext") is None or not any(shutil.which(name) for name in pages.BROWSERS):
        pytest.skip("needs a browser and pdftotext")
    pdf = print_page(written, written.with_suffix(".pdf"))
    text = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, text=True, check=True).stdout
    assert "We used the alternative annotator test" in text
    assert not re.search(r"\bCopy\b", text)
