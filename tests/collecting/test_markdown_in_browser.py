"""Markdown on the annotation page, in a real browser: tables whose numbers stay whole, lists with all their digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import STARS
from browsing import Browser, Site, fits, in_browser, no_violations, screenshot

pytestmark = pytest.mark.served

NAMES = ["Model", "n", "Score", "Interval", "Cost", "Date", "Change", *(f"Run {n}" for n in range(1, 6))]
RIGHT = "|:---|" + "---:|" * (len(NAMES) - 1)
ROWS = [
    ["a small judge", "120", "0.61", "0.52 – 0.70", "$1,204.50", "2026-11-26", "−0.02", *(["0.613"] * 5)],
    ["an incomprehensibilities-judge", "12 000", "0.7", "[0.6, 0.8]", "€ 9", "2024", "+12 %", *(["120"] * 5)],
]
LONG = "A long sentence with several words that may go on for more than one line of the cell"
TEXT = "\n".join(
    [
        *("| Model | n | Score |", "|:---|---:|---:|", f"| {LONG} | 120 | 0.61 |", "| large | 96 | 0.58 |", ""),
        *("|".join(["", *NAMES, ""]), RIGHT, *("|".join(["", *row, ""]) for row in ROWS), ""),
        *("2024. the first year", "2025. the second", "", "Words after it.", "", "9. nine", "10. ten"),
    ]
)

BROKEN = """
[...document.querySelectorAll("form.page:not([hidden]) .markup :is(th, td)")].flatMap((cell) => {
  const lines = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from); range.setEnd(node, to);
    return new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size;
  };
  const found = [];
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    for (const word of node.data.matchAll(/[\\p{L}\\d]+/gu))  // no hyphens, at which a line may end
      if (lines(node, word.index, word.index + word[0].length) > 1) found.push(word[0]);
  const text = cell.textContent.trim();
  if (/\\d/.test(text) && !/\\p{L}/u.test(text) && lines(cell, 0, cell.childNodes.length) > 1) found.push(text);
  return found;
})
"""
"""Words and numbers of table cells that occupy more than one line."""

COLUMNS = """
[...document.querySelectorAll("form.page:not([hidden]) .markup table")].map((table) => [...table.rows].map((row) => {
  const tops = [...row.cells].map((cell) => cell.getBoundingClientRect().top);
  return tops.filter((top) => top === tops[0]).length;
})).sort((one, other) => other.length - one.length)
"""
"""By table, the longest first, the number of adjacent cells in each row."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    sides = {"name": "better", "text": "Which is better?", "scale": "preference", "options": ["one", "two"]}
    study = {
        "name": "Tables",
        "items": {"file": "items.jsonl", "markdown": ["text", "one", "two"]},
        "questions": [STARS | {"show": ["text"]}, sides | {"show": []}],
    }
    item = {"item": "i1", "text": TEXT, "one": TEXT, "two": "| n |\n|--:|\n| 120 |\n"}
    made = Site(tmp_path_factory.mktemp("tables") / "study", study, {"items.jsonl": [item]})
    yield made
    made.close()


def unfold(page: Any) -> None:
    """Open the text that the options are about; on a wide screen it is unfolded."""
    for bar in page.locator("form.page:not([hidden]) .fold:visible").all():
        bar.click()


@in_browser
@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_page_breaks_no_number_and_no_word_of_a_table(browser: Browser, site: Site, width: int) -> None:
    page = browser.visit(site.invite(f"w{width}"), viewport={"width": width, "height": 900})
    unfold(page)
    page.wait_for_selector("form.page:not([hidden]) .markup td")
    screenshot(page, f"tables-{width}")
    assert page.locator("form.page:not([hidden]) .markup .one-line").count() > 20
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(COLUMNS) == [[3] * 3, [12] * 3, [3] * 3, [12] * 3, [1] * 2]
    fits(page)
    no_violations(page, f"tables, {width} px wide")


@in_browser
def test_page_aligns_columns_as_markdown_says(browser: Browser, site: Site) -> None:
    page = browser.visit(site.invite("aligned"))
    cells = page.locator("form.page:not([hidden]) .markup table").first.locator("tr").last.locator("td")
    aligned = cells.evaluate_all("cells => cells.map((one) => getComputedStyle(one).textAlign)")
    assert aligned == ["left", "right", "right"]
    assert browser.complaints == []  # as of a style that the page's policy forbids


@in_browser
def test_keys_scroll_a_table_that_is_wider_than_the_page(browser: Browser, site: Site) -> None:
    page = browser.visit(site.invite("keys"), viewport={"width": 390, "height": 900})
    table = page.get_by_role("group", name="Model, n, Score, Interval").last
    sizes: dict[str, Any] = table.evaluate("one => ({inside: one.scrollWidth, outside: one.clientWidth})")
    assert sizes["inside"] > sizes["outside"] > 200
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("one => one.scrollLeft > 0", arg=table.element_handle())
    # The table is one side of a pair, which this key would choose elsewhere.
    assert page.locator("form.page:not([hidden]) input[type=radio]:checked").count() == 0
    fits(page)


@in_browser
@pytest.mark.parametrize("width", [320, 1280])
def test_page_shows_all_digits_of_a_list_that_begins_with_a_year(browser: Browser, site: Site, width: int) -> None:
    page = browser.visit(site.invite(f"list{width}"), viewport={"width": width, "height": 900})
    unfold(page)
    lists = page.locator("form.page:not([hidden]) .source .markup ol, form.page:not([hidden]) .markup ol")
    found = lists.evaluate_all(
        """lists => lists.map((one) => {
          const last = one.start + one.children.length - 1, ruler = document.createElement("span");
          ruler.textContent = `${last}. `; ruler.style.whiteSpace = "pre"; one.append(ruler);
          const needs = ruler.getBoundingClientRect().width; ruler.remove();
          const box = one.closest(".markup").getBoundingClientRect(), item = one.children[0];
          return [one.start, needs, item.getBoundingClientRect().left - box.left];
        })"""
    )
    assert {start for start, *_ in found} == {2024, 9}
    for _start, needs, room in found:
        assert needs < room
