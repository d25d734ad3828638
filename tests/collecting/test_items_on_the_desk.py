"""The table of items on the dashboard: counts by hand, sorting, filters, search, and the way to one item."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from annotating import Annotator, Network, Served, invite_people, lead_path, link_of, write_study
from browsing import Browser, Site, fits, in_browser, no_violations, screenshot

from assay.collecting.desk.overview import ItemProgress
from assay.study.store.people import exclude
from waiting import wait_until

TEXTS = ("Cold soup & figs.", "Lovely EVENING.", "Slow, but good.", "No one came.")
STARS = {"name": "stars", "text": "How many stars?", "scale": "1-5"}


def study(folder: Path, **people: Any) -> Path:
    rows = [{"item": f"r{n}", "review": text} for n, text in enumerate(TEXTS, start=1)]
    return write_study(folder, items=rows, questions=[STARS], people={"order": "fixed", **people})


def answer_by_hand(person_of: Callable[[str], Annotator]) -> None:
    """r1: 1, 5, 3; r2: 4, 4; r3: skipped, 2 and a flag; r4: none."""
    given = {
        "ana": {"r1": (1, 10.0), "r2": (4, 2.0), "r3": (None, 1.0)},
        "ben": {"r1": (5, 20.0), "r2": (4, 4.0), "r3": (2, 8.0)},
        "cem": {"r1": (3, 60.0)},
    }
    for name, rows in given.items():
        person = person_of(name)
        for number, (item, (label, seconds)) in enumerate(rows.items(), start=1):
            (task,) = person.work(number)[:1]
            flag = "is this a review?" if (name, item) == ("ben", "r3") else ""
            labels = {} if label is None else {task.questions[0].id: label}
            skip = {"skip": "The item is broken or unreadable"} if label is None else {}
            assert person.answer(task, labels, seconds=seconds, flag=flag, **skip).status == 200
        person.wire.close()


@pytest.fixture
def desk(tmp_path):
    with Served(study(tmp_path / "study"), ("ana", "ben", "cem")) as page:
        answer_by_hand(page.annotator)
        yield page


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The same desk for every test that only reads it."""
    with Served(study(tmp_path_factory.mktemp("desk") / "study"), ("ana", "ben", "cem")) as page:
        answer_by_hand(page.annotator)
        yield page


def names(html: str) -> list[str]:
    return re.findall(r"/lead/item\?name=[^\"]*\"><bdi>(.*?)</bdi>", html)


@pytest.mark.slow
def test_counts_by_hand(shown):
    # r1: (4 + 2 + 2) / 3 pairs / a range of 4; the median of 10, 20 and 60 s.
    assert shown.app.state.assay.now().watch.items() == (
        ItemProgress("r1", 3, 0, None, 0, 20.0, pytest.approx(2 / 3), False),
        ItemProgress("r2", 2, 0, None, 0, 3.0, 0.0, False),
        ItemProgress("r3", 1, 1, None, 1, 8.0, None, False),
        ItemProgress("r4", 0, 0, None, 0, None, None, False),
    )


@pytest.mark.slow
def test_excluded_answers_do_not_count(desk):
    exclude(desk.store, "ben", "too quick")
    first, second, third, _ = desk.app.state.assay.now().watch.items()
    assert (first.answered, first.spread, first.seconds) == (2, 0.5, 35.0)
    assert (second.answered, second.spread) == (1, None)
    assert (third.answered, third.skipped, third.remarks) == (0, 1, 0)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", ["r1", "r2", "r3", "r4"]),
        ("?sort=answers", ["r4", "r3", "r2", "r1"]),
        ("?sort=spread", ["r1", "r2", "r3", "r4"]),
        ("?sort=time", ["r1", "r3", "r2", "r4"]),
        ("?sort=skips", ["r3", "r1", "r2", "r4"]),
        ("?sort=remarks", ["r3", "r1", "r2", "r4"]),
        ("?sort=unknown&show=unknown", ["r1", "r2", "r3", "r4"]),
        ("?show=disagreement", ["r1"]),
        ("?show=undecided", ["r1"]),
        ("?show=skipped", ["r3"]),
        ("?show=remarks", ["r3"]),
        ("?show=unanswered", ["r4"]),
        ("?find=evening", ["r2"]),
        ("?find=R3", ["r3"]),
        ("?find=soup%20%26", ["r1"]),
        ("?find=nothing", []),
        ("?find=o&show=skipped", ["r3"]),
        ("?page=99", ["r1", "r2", "r3", "r4"]),
    ],
)
def test_table_is_sorted_filtered_and_searched(shown, query, wanted):
    reply = shown.lead().send("GET", f"/lead/items{query}")
    assert (reply.status, names(reply.text)) == (200, wanted)


def test_search_on_the_dashboard_finds_items(shown):
    text = shown.lead().send("GET", "/lead?find=evening").text
    assert 'href="/lead/items?find=evening">1 item</a>' in text
    assert "r2" in names(text)
    assert "No matching item." in shown.lead().send("GET", "/lead?find=zzz").text
    assert shown.annotator("ana").send("GET", "/lead/items").status in (401, 403)


@pytest.mark.slow
def test_a_long_table_has_pages(tmp_path):
    with Served(write_study(tmp_path / "study", items=230, people={"overlap": 2})) as page:
        lead = page.lead()
        first, last = (lead.send("GET", f"/lead/items?page={n}").text for n in (1, 3))
        assert (len(names(first)), names(last)) == (100, [f"i{n:03d}" for n in range(200, 230)])
        assert "page=2" in first
        assert first.count('<td class="n">0 of 2</td>') == 100
        assert "page=2" in last


def test_reason_of_a_disagreement_is_kept_and_filtered(desk):
    lead = desk.lead()
    assert names(lead.send("GET", "/lead/items?show=unexplained").text) == ["r1"]
    reply = lead.form("/lead/reason", item="r1", reason="guideline")
    assert (reply.status, reply.headers["location"]) == (303, "/lead/item?name=r1")
    assert (
        '<option value="guideline" selected>the guidelines are unclear</option>'
        in lead.send("GET", "/lead/item?name=r1").text
    )
    table = lead.send("GET", "/lead/items").text
    assert "the guidelines are unclear" in table
    assert names(lead.send("GET", "/lead/items?show=unexplained").text) == []
    lead.form("/lead/reason", item="r2", reason="slip")
    rows = pl.read_csv(lead.send("GET", "/lead/items.csv").body).rows_by_key("name", named=True, unique=True)
    assert {name: row["reason"] for name, row in rows.items()} == {"r1": "guideline", "r2": "slip", "r3": "", "r4": ""}
    assert (rows["r1"]["answered"], rows["r1"]["seconds"]) == (3, 20.0)
    assert rows["r1"]["spread"] == pytest.approx(2 / 3)
    assert rows["r3"]["spread"] is None
    lead.form("/lead/reason", item="r1", reason="")
    assert names(lead.send("GET", "/lead/items?show=unexplained").text) == ["r1"]
    assert lead.form("/lead/reason", item="r1", reason="a bad day").status == 422
    assert lead.form("/lead/reason", item="r9", reason="slip").status == 404


@pytest.mark.slow
def test_reopened_item_carries_the_words_of_the_lead(desk):
    lead, ana = desk.lead(), desk.annotator("ana")
    ana.chance = random.Random("another browser")  # whose saves have other keys than those of `answer_by_hand`
    (number,) = {
        int(n) for n in re.findall(r'name="task" value="(\d+)"', lead.send("GET", "/lead/item?name=r1").text)
    } & {task.id for task in ana.work(1)}
    words = "Is the soup <b>cold</b>?\nPlease read to the end."
    reply = lead.form("/lead/reopen", task=str(number), words=words, item="r1")
    assert (reply.status, reply.headers["location"]) == (303, "/lead/item?name=r1")
    text = ana.send("GET", "/work/1").text
    assert "<strong>The study lead writes:</strong>" in text
    assert "Is the soup &lt;b&gt;cold&lt;/b&gt;?\nPlease read to the end." in text
    assert "The study lead writes:" not in desk.annotator("ben").send("GET", "/work/1").text
    withdrawn = [row["reason"] for row in desk.history() if row["status"] == "withdrawn"]
    assert withdrawn == [f"reopened by the lead: {words}"]
    (task,) = ana.work(1)[:1]
    assert ana.answer(task, {task.questions[0].id: 2}).status == 200
    assert "The study lead writes:" not in ana.send("GET", "/work/1").text
    assert lead.form("/lead/reopen", task=str(number)).status == 303
    assert "The study lead writes:" not in ana.send("GET", "/work/1").text, "without words there are none"


@in_browser
def test_lead_goes_from_a_disagreement_to_its_answers(browser: Browser, tmp_path: Path) -> None:
    rows = [{"item": f"r{n}", "review": text} for n, text in enumerate(TEXTS, start=1)]
    content = {"name": "Reviews", "items": {"file": "items.jsonl"}, "questions": [STARS], "people": {"order": "fixed"}}
    site = Site(tmp_path / "study", content, {"items.jsonl": rows})
    invite_people(site.study, site.store, ("ana", "ben", "cem"))

    def person_of(name: str) -> Annotator:
        person = Annotator(Network(site.url), link_of(site.study, site.store, name))
        person.join()
        return person

    answer_by_hand(person_of)
    page = browser.visit(site.url + lead_path(site.study, site.store))
    wait_until(lambda: page.locator("a:text-is('Show the others')").count() > 0, "no disagreement is shown")
    page.click("a:text-is('Show the others')")
    assert page.locator("tbody tr").count() == 1
    no_violations(page, "disagreements")
    page.click("nav.filters a:text-is('All')")
    page.click("th a:text-is('Time per answer')")
    assert page.locator("tbody th").all_inner_texts() == ["r1", "r3", "r2", "r4"]
    assert page.locator("th[aria-sort]").inner_text() == "Time per answer"
    no_violations(page, "items")
    screenshot(page, "lead-items")
    page.fill("input[type=search]", "figs")
    page.press("input[type=search]", "Enter")
    assert page.locator("tbody tr").count() == 1
    page.click("tbody th a")
    assert page.locator("h1").inner_text() == "r1"
    page.select_option("select[name=reason]", "text")
    page.click("text=Save the reason")
    page.click("summary:has-text('Reopen') >> nth=0")
    no_violations(page, "an item")
    screenshot(page, "lead-item")
    page.fill("input[name=words]:visible", "Please read it again.")
    page.click("button:text-is('Reopen'):visible")
    assert page.locator("select[name=reason]").input_value() == "text"
    theirs = browser.visit(site.url + link_of(site.study, site.store, "ana"))
    theirs.goto(f"{site.url}/work/1")
    assert theirs.locator(".lead-note").inner_text() == "The study lead writes: Please read it again."
    theirs.keyboard.press("3")
    assert theirs.locator(".lead-note").is_visible(), "it stays while they answer"
    Browser.close_dialog(theirs)
    no_violations(theirs, "a reopened item")
    screenshot(theirs, "reopened")
    page.goto(f"{site.url}/lead/items")
    page.set_viewport_size({"width": 360, "height": 740})
    fits(page)
    no_violations(page, "items on a phone")
    site.close()
