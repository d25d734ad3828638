"""The page: drawn intervals, marks, Markdown, PDF; and in a browser sorting, filters, phones, accessibility."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
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
from assay.errors import AssayError, DesignError
from assay.reporting import page as pages
from assay.reporting import pictures, tables
from assay.reporting.page import (
    Card,
    Copy,
    Marks,
    NextStep,
    Page,
    Part,
    Picture,
    Section,
    keep_whole,
    page_of,
    print_page,
)
from chromium import launch_chromium

pytestmark = pytest.mark.xdist_group("page")  # one process, so that the page is made once

AXE = Path(__file__).parents[1] / "collecting" / "vendor" / "axe.min.js"


def test_intervals_of_a_column_share_an_axis() -> None:
    drawn = tables.IntervalColumn.of([0.5, 0.0, None], [0.25, -0.5, None], [1.5, 0.5, None])
    assert drawn is not None
    # The axis runs from -0.5 to 1.5 over 96 of 100, with 2 on each side: 0 is a quarter along.
    assert drawn.zero == 26
    assert drawn.rows == ((50, 38, 98), (26, 2, 50), None)


def test_interval_column_axis_starts_at_0_only_if_near() -> None:
    far = tables.IntervalColumn.of([0.85, 0.9], [0.8, 0.85], [0.9, 1.0])
    near = tables.IntervalColumn.of([0.2, 0.6], [0.1, 0.5], [0.3, 0.7])
    assert far is not None
    assert near is not None
    assert far.zero is None
    assert far.rows[0][1] == 2
    assert near.zero == 2
    assert near.rows[0][1] > 10


def test_interval_column_needs_two_intervals() -> None:
    assert tables.IntervalColumn.of([0.5, None], [0.4, None], [0.6, None]) is None


def test_shown_draws_no_intervals_of_dropped_columns() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": [0.1, 0.2], "b_low": [0.0, 0.1], "b_high": [0.2, 0.3]})
    assert not tables.shown(frame, drop=("b",)).intervals
    assert set(tables.shown(frame).intervals) == {1}


def small() -> Page:
    frame = pl.DataFrame(
        {"judge": ["x|y", "b", "c"], "estimate": [0.2, 0.9, 0.5], "low": [0.1, 0.8, 0.4], "high": [0.3, 1.0, 0.6]}
    )
    table = tables.shown(frame, caption="Three judges.")
    step = NextStep("revise it:", "disagreement", "b", command="assay disagreement labels.csv")
    card = Card("b", None, "bad", "Do not replace them with b.", "It is worse.", "", step=step)
    marks = Marks(
        ("replace",), (("b", ("✗",)), ("c", ("–",))), {"✗": "fail", "–": "insufficient data"}, ("more labels",)
    )
    sections = (Section("Agreement", ("They agree.", "a", "b", "c", "d"), (table, table)), Section("Agreement"))
    return Page(
        "Can they?",
        "three labels",
        (card,),
        sections,
        "Judge: b.",
        "assay report x",
        marks=marks,
        data='{"a": "</script>"}',
    )


def test_page_anchors_are_unique() -> None:
    assert [place for place, _ in small().anchored] == ["agreement", "agreement-2"]
    html = small().html()
    assert 'id="agreement-2"' in html
    assert html.count("</script>") == 2, "the numbers cannot end their element"


def test_markdown_has_the_marks_the_next_step_and_the_tables() -> None:
    text = small().markdown()
    assert "|  | replace |\n| --- | --- |\n| b | ✗ |" in text
    assert "- ✗ **Do not replace them with b.** revise it:\n\n      assay disagreement labels.csv" in text
    assert "| x\\|y | 0.20 [0.10, 0.30] |" in text
    assert "```\nassay report x\n```" in text


def test_markdown_is_written_by_its_name(tmp_path: Path) -> None:
    written = small().save(tmp_path / "page.md").read_text(encoding="utf-8")
    assert written.startswith(pages.REPORT_MARK)
    pages.refuse_overwriting(tmp_path / "page.md", (), force=False)
    (tmp_path / "mine.md").write_text("# Notes", encoding="utf-8")
    with pytest.raises(AssayError, match="exists and is not overwritten"):
        pages.refuse_overwriting(tmp_path / "mine.md", (), force=False)


def test_without_a_browser_a_pdf_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(AssayError, match="a PDF requires Chromium or Chrome, and neither is installed; open"):
        print_page(small().save(tmp_path / "page.html"), tmp_path / "page.pdf")


def test_print_page_reports_browser_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho no display >&2\n", encoding="utf-8")
    broken.chmod(broken.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(AssayError, match=r"did not print .*: no display"):
        print_page(small().save(tmp_path / "page.html"), tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


def test_page_of_includes_signature() -> None:
    page = page_of("A title", "", (), "signature|x:1")
    assert "signature|x:1" in page.html()


def test_section_shows_four_sentences_and_first_table_or_picture() -> None:
    table = tables.shown(pl.DataFrame({"judge": ["a"], "n": [1]}), caption="One judge.")
    two = (Picture(lambda: None, "one", "first"), Picture(lambda: None, "two", "second"))
    words = tuple("abcdef")
    whole = Section("Is it? It's so!", words, (table, table, table), two, ("left out",))
    assert (whole.anchor, Section("?!").anchor) == ("is-it-it-s-so", "part")
    assert whole.shown_words == ("b", "c", "d")
    assert whole.more_words == ("e", "f")
    assert (whole.shown_picture, whole.more_pictures) == (None, two)
    assert whole.more == "Details and 2 charts"
    assert dataclasses.replace(whole, cautions=("careful",)).shown_words == ("b", "c", "d", "careful")
    drawn = Section("x", words[:4], (), two)
    assert (drawn.shown_picture, drawn.more_pictures) == (two[0], two[1:])
    assert drawn.more == "1 chart"
    folded = Section("x", words, (), two, folded=True)
    assert folded.more_words == ()  # all six are shown first, so none is repeated
    assert (folded.shown_picture, folded.more_pictures) == (None, two)
    empty = Section("x", ("a",), (table,))
    assert (empty.shown_picture, empty.more_pictures, empty.more, empty.wide) == (None, (), "", False)
    # 3 columns of 32 characters, each with 2 between, are more than 95.
    wide = tables.Table(("a", "b", "c"), (("x" * 32,) * 3,), (False,) * 3)
    assert Section("x", (), (table, wide)).wide
    # A table without a frame has no data.
    assert Section("x", ("a", "b"), (table, wide)).to_dict() == {
        "title": "x", "words": ["a", "b"],
        "tables": [{"caption": "One judge.", "columns": {"judge": ["a"], "n": [1]}}],
    }  # fmt: skip


def test_page_anchors_and_filters() -> None:
    page = Page("t", "s", (), (Section("A"), Section("a"), Section("A!")))
    assert [anchor for anchor, _ in page.anchored] == ["a", "a-2", "a-3"]
    usual = [("criterion", ["criterion"]), ("judge", ["judge"]), ("annotator", ["annotator", "first", "second"])]
    assert page.filters == usual
    assert Page("t", "s", (), (), document="essay").filters == [*usual, ("essay", ["essay"])]


def test_markdown_whole() -> None:
    frame = pl.DataFrame({"who": ["a"], "n": [1234]})
    marks = Marks(
        ("replace",), (("b", ("✗",)),), {"✗": "fail", "–": "no data"}, ("more labels",), faults=("odd labels",)
    )
    cards = (
        Card("b", None, "bad", "No.", "tested", "Add annotators."),
        Card("c", None, "open", "Undecided.", "tested", "", step=NextStep("label more")),
    )
    sections = (
        Section("Agreement", ("They agree.",), (tables.shown(frame, caption="All of them."),), (), ("one", "two")),
        Section("Cite", copies=(Copy("As text", "x=1"),)),
    )
    page = Page("Can they?", "3 labels", cards, sections, notices=("Few.",), marks=marks, rule="Three tests.")
    assert page.markdown() == "\n\n".join([
        "<!-- assay report -->", "# Can they?", "3 labels", "- Few.",
        "- ✗ **No.** Add annotators.", "- ? **Undecided.** label more",
        "|  | replace |\n| --- | --- |\n| b | ✗ |", "✗ fail · – no data.", "- odd labels", "- more labels",
        "Three tests.",
        "## Agreement", "They agree.", "All of them.", "| who | items |\n| --- | --: |\n| a | 1,234 |", "- one\n- two",
        "## Cite", "As text:\n\n```\nx=1\n```",
    ]) + "\n"  # fmt: skip


def test_marks_have_a_class_of_colour() -> None:
    marks = Marks(("one", "two"), (("b", ("✗", "–")),), {})
    assert [marks.tone(one) for one in "✓✗?≠–"] == ["good", "bad", "open", "split", "none"]
    assert marks.table == tables.Table(("", "one", "two"), (("b", "✗", "–"),), (False, False, False))
    assert Card("b", None, "split", "", "", "").sign == "≠"


def test_picture_that_cannot_be_drawn_is_a_sentence() -> None:
    def draw() -> Any:
        raise DesignError("fewer than 2 & more")

    assert Picture(draw, "a < b", "").svg() == "<p>a &lt; b: not drawn; fewer than 2 &amp; more.</p>"


def test_parts_are_rounded_and_the_signature_is_folded() -> None:
    part = Part("Agreement", ("Yes.",), (("all", pl.DataFrame({"x": [0.126]})),), (("drawn", lambda: None),), ("left",))
    page = page_of("t", "s", [part], "signed|x:1", "again")
    section, cite = page.sections
    assert (section.title, section.words, section.lines, section.folded) == ("Agreement", ("Yes.",), ("left",), False)
    assert (section.tables[0].caption, section.tables[0].rows) == ("all", (("0.13",),))
    assert [(one.title, one.caption) for one in section.pictures] == [("drawn", "drawn")]
    assert (cite.title, cite.lines, cite.folded) == ("How to cite this", ("signed|x:1",), True)
    assert (page.title, page.source, page.cards, page.command) == ("t", "s", (), "again")


def test_writable_accepts_or_explains_paths(tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.touch()
    writable, pages_of = pages.writable, pages.PAGES
    for good, options in (
        (file, {}), (tmp_path / "new" / "x.html", {"suffixes": pages_of}), (tmp_path / "X.HTM", {"suffixes": pages_of}),
        (tmp_path, {"folder": True}), (tmp_path / "new", {"folder": True}), (Path(os.devnull), {"suffixes": pages_of}),
    ):  # fmt: skip
        assert writable(good, **options) == good
    for bad, options, words in (
        (tmp_path, {}, f"'{tmp_path}' is a folder; name a file in it"),
        (file, {"folder": True}, f"'{file}' is a file; name another folder"),
        (file / "x", {}, f"'{file / 'x'}' cannot be written, because '{file}' is a file; name another folder"),
        (file / "x", {"folder": True}, f"'{file / 'x'}' cannot be written, because '{file}' is a file; "
                                       "name another folder"),
        (tmp_path / "x.pdf", {"suffixes": pages_of},
         f"a page is written as .html, .htm, not as 'x.pdf'; name {tmp_path / 'x.html'}"),
        (tmp_path / "x", {"suffixes": (".parquet", ".csv")},
         f"a table is written as .parquet, .csv, not as 'x'; name {tmp_path / 'x.parquet'}"),
        (tmp_path / "x", {"suffixes": (".pdf",)}, f"this is written as .pdf, not as 'x'; name {tmp_path / 'x.pdf'}"),
    ):  # fmt: skip
        with pytest.raises(AssayError) as caught:
            writable(bad, **options)
        assert str(caught.value) == words


@pytest.mark.parametrize(
    ("name", "head", "own"),
    [
        ("a.html", '<meta name="generator" content="assay 1">', True),
        ("a.HTM", '<meta name="generator" content="assay', True),
        ("a.yaml", f"# {pages.READING_MARK}", True), ("a.yml", f"# {pages.READING_MARK}", True),
        ("a.md", "assay gate", True), ("a.md", "<!-- assay report -->", True), ("a.xml", "<x>assay gate", True),
        ("a.json", '{"kind": "Report", "assay":1}', True), ("a.xml", "<!-- assay report -->", False),
        ("a.html", "assay gate", False), ("a.csv", "assay gate", False), ("a.md", "x" * 4086 + "assay gate", True),
        ("a.md", "x" * 4087 + "assay gate", False), ("a.md", "", False),
    ],
)  # fmt: skip
def test_refuse_overwriting_accepts_only_own_files(tmp_path: Path, name: str, head: str, own: bool) -> None:
    """The mark must be in the first 4096 bytes."""
    path, other = tmp_path / name, tmp_path / "other.csv"
    pages.refuse_overwriting(path, [path], force=False)  # it does not exist
    path.write_text(head, encoding="utf-8")
    other.touch()
    pages.refuse_overwriting(path, [other, tmp_path / "gone"], force=True)
    with pytest.raises(AssayError, match="is an input file, and its labels would be lost; write to another file"):
        pages.refuse_overwriting(path, [other, path], force=True)
    if own:
        pages.refuse_overwriting(path, [other], force=False)
    else:
        with pytest.raises(AssayError, match="exists and is not overwritten; name another file, or use --force"):
            pages.refuse_overwriting(path, [other], force=False)


def test_refuse_overwriting_rejects_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(AssayError, match="exists and is not overwritten"):
        pages.refuse_overwriting(tmp_path / "a.md", (), force=False)
    pages.refuse_overwriting(Path(os.devnull), (os.devnull,), force=False)


def test_print_page_uses_first_browser_and_its_last_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last 200 characters of its message are reported; the first known browser is used."""
    asked: list[list[str]] = []
    said = ""

    def run(words: list[str], **options: Any) -> Any:
        asked.append(words)
        assert options == {"capture_output": True, "text": True, "check": False}
        return subprocess.CompletedProcess(words, 1, "", said)

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in ("chrome", "google-chrome") else None)
    monkeypatch.setattr(subprocess, "run", run)
    page = tmp_path / "page.html"
    for who, sandbox in ((0, ["--no-sandbox"]), (1, [])):
        monkeypatch.setattr(os, "geteuid", lambda who=who: who)
        with pytest.raises(AssayError, match=r"^/bin/google-chrome did not print .*page\.html: no message$"):
            print_page(page, tmp_path / "page.pdf")
        assert asked[-1][:-2] == [
            "/bin/google-chrome", "--headless", "--disable-gpu", *sandbox, "--no-pdf-header-footer"
        ]  # fmt: skip
        assert asked[-1][-1] == page.as_uri()
    said = "a" + "b" * 200 + "\n"
    with pytest.raises(AssayError, match=r"html: b{200}$"):
        print_page(page, tmp_path / "page.pdf")
    with pytest.raises(AssayError, match=r"this is written as \.pdf"):
        print_page(page, tmp_path / "page.png")


def test_page_allows_only_its_script_and_escapes_text(tmp_path: Path) -> None:
    """The hash in its policy is that of the script at its end; sentences are text, not HTML."""
    marks = Marks(("replace",), (("b & c", ("–",)),), {"–": "<b>no data</b>"}, ("more labels",))
    page = Page("Fewer than 2 < 3?", "labels", (), (), marks=marks, document="Fächer")
    text = page.save(tmp_path / "new" / "folder" / "page.html").read_text(encoding="utf-8")
    folder = Path(pages.__file__).with_name("templates")
    script, style = ((folder / f"page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    assert text.endswith(f"<script>{script}</script>\n</body>\n</html>")
    assert f"<style>\n{style}" in text
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "<h1>Fewer than 2 &lt; 3?</h1>" in text
    assert "&lt;b&gt;no data&lt;/b&gt;" in text
    assert "[&#34;Fächer&#34;, [&#34;Fächer&#34;]]" in text
    assert '<ul class="muted">\n<li>– more labels</li>\n</ul>' in text


# -- in a browser ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    labels = assay.simulate(
        n_items=150, n_annotators=4, judges={"careful-4o-mini": 0.2, "middling": 0.42, "bad": 0.9}, seed=7
    )
    texts = labels.items.select("item", text=pl.lit("A long text for annotators: ") + pl.col("item"))
    labels = assay.Annotations.from_frame(labels.labels, judges=labels.judges, scale=labels.scale, items=texts)
    return assay.report(labels, expertise="skilled").save(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    with sync_api.sync_playwright() as playwright:
        found = launch_chromium(playwright)
        yield found
        found.close()


def opened(browser: Any, path: Path, width: int, scheme: str = "light", **options: Any) -> Any:
    """The page in a new window; script errors and requests are recorded as complaints."""
    context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme, **options)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: page.complaints.append(said.text))
    page.on("request", lambda asked: page.complaints.append(asked.url) if asked.url != path.as_uri() else None)
    page.goto(path.as_uri())
    return page


@pytest.mark.served
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1280, "light"), (1280, "dark"), (1100, "light"), (800, "light"), (390, "light"), (390, "dark")],
)
def test_page_is_accessible(browser: Any, written: Path, width: int, scheme: str) -> None:
    page = opened(browser, written, width, scheme, bypass_csp=True)  # to add axe
    height, broad = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert broad <= width
    assert height < (5_000 if width > 1000 else 8_300)  # on a phone the card has whole words, which take 300 pixels
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "unfolded"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document).then((one) => one.violations)")
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
    assert page.complaints == []
    page.context.close()


@pytest.mark.served
@pytest.mark.parametrize("width", [390, 1280])
def test_names_and_options_break_only_if_they_fit_no_line(browser: Any, written: Path, width: int) -> None:
    page = opened(browser, written, width)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    words = page.evaluate(
        "[...document.querySelectorAll('.unbroken')].map((one) => [one, one.getBoundingClientRect()])"
        ".map(([one, box]) => [one.textContent, box.height, parseFloat(getComputedStyle(one).fontSize), box.width])"
    )
    assert any(name.startswith("careful-4o-mini") for name, *_ in words)
    assert [name for name, height, size, broad in words if height > 2 * size and broad < 0.5 * width] == []
    page.context.close()


@pytest.mark.served
@pytest.mark.parametrize("width", [700, 980, 1000, 1060, 1089, 1400])
def test_names_of_the_card_are_not_broken_by_letters(browser: Any, written: Path, width: int) -> None:
    page = opened(browser, written, width)
    names = page.locator("table.card th[scope=row]")
    assert names.count() == 3
    for name in names.all():
        box = name.bounding_box()
        assert box["width"] >= 150, name.inner_text()
        assert box["height"] < 70, name.inner_text()  # at most two lines
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


@pytest.mark.served
@pytest.mark.parametrize("width", [1100, 1280])
def test_long_names_leave_room_for_intervals_and_numbers(browser: Any, tmp_path: Path, width: int) -> None:
    names = ["api-embeddings:fake-emb,url=http://127.0.0.1:9911/v1,key=none", "words"]
    frame = pl.DataFrame({
        "measure": names, "kind": "similarity", "verdict": "partly_valid_undecided", "estimate": [0.62, 0.15],
        "low": [0.56, 0.07], "high": [0.67, 0.22], "pairs": 780, "share_of_the_ceiling": [0.81, 0.2], "p": 0.0001,
    })  # fmt: skip
    made = page_of("Measures", "", [Part("Validity", ("One.",), (("Measures.", frame),))], "x|1")
    page = opened(browser, made.save(tmp_path / "page.html"), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = [one.bounding_box()["width"] for one in page.locator(".drawn .iv").all()]
    assert min(drawn) > 60, "an interval is a line and no dot"
    assert "< 0.001" in page.inner_text("table.rows")
    assert page.evaluate(
        "[...document.querySelectorAll('td.number')].every((one) => {"
        " const range = document.createRange(); range.selectNodeContents(one);"
        " return range.getClientRects().length < 2 })"
    ), "no number breaks its line"
    page.context.close()


def test_words_with_hyphens_are_kept_whole_and_escaped() -> None:
    kept = '<span class="unbroken">&lt;a-b&gt;</span> is <span class="unbroken">--judges</span>  - 1 − 2 &amp; -x'
    assert str(keep_whole("<a-b> is --judges  - 1 − 2 & -x")) == kept


@pytest.mark.served
def test_verdict_begins_in_the_first_third_of_a_phone_and_the_card_has_whole_words(browser: Any, written: Path) -> None:
    page = opened(browser, written, 390)
    verdict, card = (page.locator(one).first.bounding_box() for one in (".judge h2", "table.card"))
    assert verdict["y"] < 844 / 3
    assert card["y"] > verdict["y"]
    words = page.evaluate(
        "[...document.querySelectorAll('table.card tr td[data-column]')].map((one) => [one.dataset.column, "
        "getComputedStyle(one, '::before').content, getComputedStyle(one, '::before').writingMode])"
    )
    assert words
    assert all(shown in (f'"{name}"', "attr(data-column)") and mode == "horizontal-tb" for name, shown, mode in words)
    page.context.close()


@pytest.mark.served
def test_tables_are_sorted_and_narrowed_without_a_server(browser: Any, written: Path) -> None:
    page = opened(browser, written, 1280)
    table = page.locator("#by-annotator table.rows").first
    judges = table.locator("tbody tr td[data-column=judge]")
    assert judges.all_inner_texts()[0] == "careful-4o-mini"
    table.get_by_role("button", name="ρ", exact=True).click()
    assert judges.all_inner_texts()[0] == "bad"
    assert table.locator("th[aria-sort=ascending]").inner_text() == "ρ"
    table.get_by_role("button", name="ρ", exact=True).click()
    assert judges.all_inner_texts()[0] == "careful-4o-mini"
    page.locator("#filter select").first.select_option("middling")
    assert {one.inner_text() for one in judges.all() if one.is_visible()} == {"middling"}
    largest = page.locator("#largest-disagreements-with-annotators td[data-column=judge]")
    assert {one.inner_text() for one in largest.all() if one.is_visible()} == {"middling"}
    assert "A long text" in page.locator("#largest-disagreements-with-annotators").inner_text()
    assert page.complaints == []
    page.context.close()


@pytest.mark.served
def test_page_is_complete_without_script(browser: Any, written: Path) -> None:
    page = opened(browser, written, 1280, java_script_enabled=False)
    assert not page.locator("#filter").is_visible()
    assert page.locator("table.card td").count() > 20
    for link in page.locator("nav a").all():
        place = link.get_attribute("href")
        assert page.locator(f"section{place}").count() == 1, place
    page.context.close()


@pytest.mark.served
def test_printed_page_includes_folded_sections_and_table_heads(browser: Any, written: Path) -> None:
    page = opened(browser, written, 1000)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#methods-text-and-citation").get_by_text("We used the alternative annotator test").is_visible()
    assert page.locator("#by-annotator thead").first.inner_text().startswith("judge")
    assert not page.locator(".copy button").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#methods-text-and-citation details[open]").count() == 0
    page.context.close()


@pytest.mark.served
def test_printed_tables_fit_the_page(browser: Any, written: Path) -> None:
    """A4 without its margins is 688 pixels wide; a browser shrinks all text of a page that is wider."""
    page = opened(browser, written, 688)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("table.many").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    page.context.close()


@pytest.mark.served
def test_pdf_includes_folded_sections(written: Path) -> None:
    if shutil.which("pdftotext") is None or not any(shutil.which(name) for name in pages.BROWSERS):
        pytest.skip("needs a browser and pdftotext")
    pdf = print_page(written, written.with_suffix(".pdf"))
    text = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, text=True, check=True).stdout
    assert "We used the alternative annotator test" in text
    assert not re.search(r"\bCopy\b", text)


def test_svg_keeps_letters_missing_in_the_font():
    def draw() -> Any:
        ax = pictures.axes()
        pictures.title(ax, "通义千问")
        return ax

    assert "通义千问</text>" in pictures.svg(draw, "names")
