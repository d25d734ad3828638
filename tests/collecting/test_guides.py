"""Consent, instructions and guidelines as documents: Markdown, pictures of the study folder, versions, changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotating import Served, write_study
from browsing import Browser, Site, fits, in_browser, no_violations, picture, screenshot

from assay.collecting.design import StudyDesign
from assay.collecting.markdown import guide_changes, guide_passages
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study

GUIDE = """# How to rate

Read the **whole** review first.

| stars | meaning |
|--:|:--|
| 1 | never again |
| 5 | we come back |

![A plate of figs](pictures/figs%20and%20cheese.png)

<script>alert(1)</script> [a page](https://example.org)
"""
STARS = {"name": "stars", "text": "How many stars?", "scale": "1-5", "guidelines": "Judge *as the writer*."}


def folder_of(path: Path, people: dict[str, Any], question: dict[str, Any] = STARS) -> Path:
    folder = write_study(path, items=[{"item": f"i{n}", "text": f"Review {n}."} for n in range(3)])
    (folder / "pictures").mkdir()
    picture(folder / "pictures" / "figs and cheese.png", (92, 132, 60))
    change(folder, people, question)
    return folder


def change(folder: Path, people: dict[str, Any], question: dict[str, Any]) -> None:
    content = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    content |= {"questions": [question], "people": people}
    (folder / "study.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")


def test_guide_is_safe_markdown_with_pictures_of_the_folder(tmp_path):
    folder = folder_of(tmp_path / "study", {"instructions": GUIDE, "consent": "You **may** stop."})
    with Served(folder) as page:
        someone = page.annotator(join=False)
        someone.join(agree=False)
        consent = someone.send("GET", "/consent").text
        assert "<p>You <strong>may</strong> stop.</p>" in consent
        assert someone.send("GET", "/guide/0").status == 200, "also before the consent"
        someone.form("/consent", agree="yes")
        text = someone.send("GET", "/work").text
        assert '<p class="md-heading">How to rate</p>' in text
        assert '<td class="to-right one-line">1</td>' in text
        assert '<img src="/guide/0" alt="A plate of figs">' in text
        assert "&lt;script&gt;alert(1)" in text
        assert '<div class="guidelines markup" dir="auto"><p>Judge <em>as the writer</em>.</p>' in text
        found = someone.send("GET", "/guide/0")
        assert (found.status, found.headers["content-type"]) == (200, "image/png")
        assert "figs" not in str(found.headers)
        assert someone.send("GET", "/guide/1").status == 404
        assert {someone.send("GET", "/lead/guide/0").status, page.visitor().send("GET", "/guide/0").status} <= {
            401,
            403,
        }
        lead = page.lead()
        assert '<img src="/lead/guide/0"' in lead.send("GET", "/lead/preview").text
        assert lead.send("GET", "/lead/guide/0").body == found.body


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("![x](gone.png)", "the image 'gone.png' in people.instructions does not exist"),
        ("![x](../outside.png)", "does not exist, or is outside the study folder"),
        ("![x](https://example.org/a.png)", "is on another host"),
        ("![x](study.yaml)", "is not of a kind that the page shows"),
    ],
)
def test_pictures_that_would_not_be_shown_are_refused(tmp_path, text, words):
    picture(tmp_path / "outside.png", (1, 2, 3))
    folder = folder_of(tmp_path / "study", {"instructions": text})
    with pytest.raises(StudyError, match=re.escape(words)):
        Served(folder, ())


@pytest.mark.slow
def test_version_is_that_of_the_text(tmp_path):
    folder = folder_of(tmp_path / "study", {"instructions": "First."})
    numbers = []
    for text in ("First.", "Second.", "Third.", "First.", "Third."):
        change(folder, {"instructions": text, "consent": f"Consent to {text}"}, STARS)
        study = load_study(folder)
        with open_store(study) as store:
            sync_study(store, study)
            numbers.append(StudyDesign(study, store).guide_version[0])
    assert numbers == [1, 2, 3, 1, 3], "a restored text has its old number"


def test_changed_passages_are_listed_by_part():
    def form(instructions, **questions):
        asked = [{"name": name, "reads": reads} for name, reads in questions.items()]
        return guide_passages({"instructions": instructions, "questions": asked})

    one = form("A.\n\nB.\n \nC.", stars={"text": "Stars?", "guidelines": "Fair.", "meanings": {"1": "bad"}})
    two = form("A.\n\nB, too.\n\nC.", stars={"text": "Stars?", "guidelines": "Fair.", "meanings": {"1": "awful"}})
    more = form("A.\n\nB.\n\nC.", stars={"text": "Stars?", "guidelines": "Fair."}, tone={"text": "Tone?"})
    assert guide_changes(one, one) == ()
    first, second = guide_changes(one, two)
    assert (first.part, first.passages) == ("", ((False, "B."), (True, "B, too.")))
    assert (second.part, second.passages) == ("Stars?", ((False, "1: bad"), (True, "1: awful")))
    assert [one.passages for one in guide_changes(one, more)] == [((False, "1: bad"),)], "a new question is no change"


@pytest.mark.slow
def test_annotator_sees_changes_since_they_began_and_newcomers_do_not(tmp_path):
    folder = folder_of(tmp_path / "study", {"instructions": "Read it.\n\nBe fair."})
    with Served(folder) as page:
        assert "Changed since you began" not in page.annotator().send("GET", "/work").text
    change(folder, {"instructions": "Read it twice.\n\nBe fair."}, STARS | {"guidelines": "Judge as *you* see it."})
    with Served(folder, ("ben",), changed="same-question") as page:
        text = page.annotator("ana").send("GET", "/work").text
        changes = text[text.index('class="changes"') : text.index('class="prose markup"')]
        assert re.findall(r"<(ins|del)[^>]*><p>(.*?)</p>", changes) == [
            ("del", "Read it."),
            ("ins", "Read it twice."),
            ("del", "Judge <em>as the writer</em>."),
            ("ins", "Judge as <em>you</em> see it."),
        ]
        assert "Version 2 of" in text
        assert "Changed since you began" not in page.annotator("ben").send("GET", "/work").text


@in_browser
def test_changed_guide_opens_once(browser: Browser, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "study", {"instructions": GUIDE})
    content = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    site = Site(folder, content, {})
    page = browser.visit(site.invite("ana"), instructions=True)
    page.wait_for_selector("#instructions[open]")
    assert page.locator("#instructions img").evaluate("one => one.complete && one.naturalWidth") == 320
    no_violations(page, "a guide")
    screenshot(page, "guide", full=False)
    page.keyboard.press("Escape")
    assert page.locator("form.page:visible .guidelines em").inner_text() == "as the writer"
    page.reload()
    page.wait_for_selector("form.page:visible")
    assert page.locator("#instructions[open]").count() == 0
    change(folder, {"instructions": GUIDE.replace("Read the **whole**", "Read the **whole** _long_")}, STARS)
    site.server.kill()
    site.server.start()
    page.reload()
    page.wait_for_selector("#instructions[open]")
    assert page.locator(".changes .chip").all_inner_texts() == ["Removed", "New"]
    assert page.locator(".changes ins").inner_text() == "Read the whole long review first."
    no_violations(page, "a changed guide")
    screenshot(page, "guide-changed", full=False)
    page.set_viewport_size({"width": 360, "height": 740})
    fits(page)
    no_violations(page, "a changed guide on a phone")
    screenshot(page, "guide-changed-phone", full=False)
    site.close()
