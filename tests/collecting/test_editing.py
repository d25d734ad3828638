"""Changes of a running study from the dashboard: previews, study.yaml, the served pages, the log, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from annotating import SECRET, STARS, Annotator, Clock, Reply, Served, write_study
from systems import Scripted, prefers_beta, systems_study

import assay
from assay.collecting.desk import editing
from assay.collecting.hosting.app import app_of
from assay.errors import ChangedStudyError, StudyError
from assay.judging.run import judge_study
from assay.study.definition import load_study
from assay.study.store import tables
from assay.study.store.connection import open_store
from assay.study.store.intake import CONFIG, SYNCED, digest_of_study, sync_study
from assay.study.store.items import items, questions
from assay.study.store.people import exclude, set_state
from assay.study.store.table import stored_annotations

SETTINGS = "/lead/settings"


def preview(lead: Annotator, key: str, value: str, **fields: str) -> Reply:
    return lead.form(f"{SETTINGS}/preview", key=key, value=value, **fields)


def effects(reply: Reply) -> list[str]:
    """The consequences on the preview."""
    assert reply.status == 200, words(reply)
    return [unescape(one) for one in re.findall(r"<li>(.*?)</li>", reply.text)]


def words(reply: Reply) -> str:
    """The text of a refusal."""
    return unescape(re.sub(r"<[^>]+>", "", reply.text.partition('<p class="prose">')[2].partition("</p>")[0]))


def hidden(reply: Reply) -> dict[str, str]:
    """The hidden fields of the form that applies a change."""
    form = reply.text.partition('action="/lead/settings"')[2].partition("</form>")[0]
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)}


def change(lead: Annotator, key: str, value: str, changed: str = "", **fields: str) -> Reply:
    """Preview a change and apply it."""
    return lead.form(SETTINGS, **hidden(preview(lead, key, value, **fields)), changed=changed)


def in_step(page: Served) -> None:
    """study.yaml, the store and the served pages have the same study."""
    now = load_study(page.folder)
    assert page.store.setting(SYNCED) == digest_of_study(now)
    state = page.app.state.assay.now()
    assert state.design.study.config == now.config
    assert page.app.state.assay.edit_notice() == ""
    assert state.trouble == ""


def answer(page: Served, name: str, number: int) -> None:
    person = page.annotator(name)
    for _ in range(number):
        assert person.keep(person.work()[0]).status == 200


def logged(page: Served) -> list[dict[str, Any]]:
    return [row.about for row in page.rows(tables.events) if row.what == "study changed"]


# -- overlap ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_overlap_is_raised(serve: Callable[..., Served]) -> None:
    page = serve(items=4, people={"overlap": 1}, who=("ana", "ben"))
    answer(page, "ana", 4)
    assert page.annotator("ben").work() == []
    path = page.folder / "study.yaml"
    path.write_text("# Our study\n" + path.read_text().replace("overlap: 1", "overlap: 1  # each"))
    lead = page.lead()
    seen = preview(lead, "overlap", "2")
    assert effects(seen) == [
        "Remaining answers: 4 (4 items) after the change, 0 before it.",
        "1 active annotator can give them.",
        "All answers that were given are kept, and count.",
    ]
    assert "overlap: 1  # each" in path.read_text(), "a preview changes nothing"
    assert page.annotator("ben").work() == []
    in_step(page)
    reply = lead.form(SETTINGS, **hidden(seen))
    assert (reply.status, reply.headers["location"]) == (303, "/lead/log")
    assert path.read_text().startswith("# Our study\n")
    assert "overlap: 2  # each" in path.read_text()
    in_step(page)
    assert len(page.annotator("ben").work()) == 4
    assert logged(page) == [{"setting": "people.overlap", "before": "1", "after": "2"}]
    assert "people.overlap: 1 → 2" in lead.send("GET", "/lead/log").text
    assert len(stored_annotations(page.store)) == 4
    assert "2 annotators per item" in lead.send("GET", SETTINGS).text
    assert "Remaining answers" not in words(lead.send("GET", "/lead"))


def test_overlap_is_lowered_and_answers_beyond_it_count(serve: Callable[..., Served]) -> None:
    page = serve(items=3, people={"overlap": 2}, who=("ana", "ben"))
    answer(page, "ana", 3)
    answer(page, "ben", 2)
    lead = page.lead()
    assert effects(preview(lead, "overlap", "1")) == [
        "Remaining answers: 0 after the change, 1 before it.",
        "2 answers beyond the overlap, on 2 items, are kept, and counted.",
        "1 open item with enough answers can still be finished.",
        "All answers that were given are kept, and count.",
    ]
    assert change(lead, "overlap", "1").status == 303
    in_step(page)
    assert len(stored_annotations(page.store)) == 5
    answer(page, "ben", 1)
    assert page.annotator("ben").pages()[1]["end"]["kind"] == "done"
    assert len(stored_annotations(page.store)) == 6


@pytest.mark.slow
def test_overlap_preview_counts_annotators_who_can_answer(serve: Callable[..., Served]) -> None:
    page = serve(items=4, people={"overlap": 1}, who=("ana", "ben", "chi", "dan"))
    answer(page, "ana", 4)
    set_state(page.store, "ben", "paused")
    exclude(page.store, "chi", "test")
    lead = page.lead()
    assert "1 active annotator can give them." in effects(preview(lead, "overlap", "2"))
    short = effects(preview(lead, "overlap", "3"))
    assert "1 active annotator can give at most 4 of them; invite others for the rest." in short
    set_state(page.store, "dan", "revoked")
    assert "No active annotator can give them; invite others." in effects(preview(lead, "overlap", "2"))


def test_overlap_of_one_group_is_changed(serve: Callable[..., Served]) -> None:
    groups = {"ana": {"job": "nurse"}, "ben": {"job": "nurse"}, "eva": {"job": "doctor"}}
    page = serve(items=2, people={"overlap": {"job": {"nurse": 1, "doctor": 1}}}, who=groups)
    lead = page.lead()
    found = effects(preview(lead, "overlap", "2", of="nurse"))
    assert found[0] == "Remaining answers: 6 (4 items) after the change, 4 before it."
    assert "3 active annotators can give them." in found
    assert change(lead, "overlap", "2", of="nurse").status == 303
    in_step(page)
    assert load_study(page.folder).config.people.overlap == {"job": {"nurse": 2, "doctor": 1}}
    assert logged(page)[0]["setting"] == "people.overlap of nurse"
    assert "no group 'cook'" in words(preview(lead, "overlap", "2", of="cook"))


@pytest.mark.slow
def test_overlap_becomes_every_annotator(serve: Callable[..., Served]) -> None:
    page = serve(items=3, people={"overlap": 1}, who=("ana", "ben"))
    answer(page, "ana", 3)
    lead = page.lead()
    assert effects(preview(lead, "overlap", ""))[0] == "Remaining answers: 3 (3 items) after the change, 0 before it."
    assert change(lead, "overlap", "").status == 303
    in_step(page)
    assert len(page.annotator("ben").work()) == 3
    assert "every annotator answers every item" in lead.send("GET", SETTINGS).text


# -- quota --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_quota_is_raised_and_lowered(serve: Callable[..., Served]) -> None:
    page = serve(items=6, people={"overlap": 1, "quota": 2, "ahead": 1}, who=("ana", "ben"))
    answer(page, "ana", 2)
    assert page.annotator("ana").pages()[1]["end"]["kind"] == "done"
    lead = page.lead()
    found = effects(preview(lead, "quota", "4"))
    assert "1 annotator (ana) had reached the quota, and can receive further items." in found
    assert "2 active annotators can give them." in found
    assert change(lead, "quota", "4").status == 303
    in_step(page)
    assert len(page.annotator("ana").work()) == 2
    assert change(lead, "quota", "6").status == 303
    answer(page, "ana", 1)
    found = effects(preview(lead, "quota", "2"))
    assert "1 annotator (ana) reached the new quota. They can finish open items, and receive no further ones." in found
    assert change(lead, "quota", "").status == 303
    in_step(page)
    assert load_study(page.folder).config.people.quota is None
    assert [(one["before"], one["after"]) for one in logged(page)] == [("2", "4"), ("4", "6"), ("6", "no quota")]


@pytest.mark.slow
def test_quota_that_is_too_small_for_the_rest(serve: Callable[..., Served]) -> None:
    page = serve(items=6, people={"overlap": 1}, who=("ana", "ben"))
    found = effects(preview(page.lead(), "quota", "2"))
    assert found[0] == "Remaining answers: 6 (6 items) after the change, 6 before it."
    assert found[1] == "2 active annotators can give at most 4 of them; invite others for the rest."


@pytest.mark.slow
def test_preview_counts_the_answers_that_annotators_can_give_exactly(serve: Callable[..., Served]) -> None:
    """Only Ana has not had i2 and i3, and the quota leaves her one item."""
    page = serve(items=5, people={"overlap": 1, "order": "fixed", "ahead": 1}, who=("ana", "ben", "chi"))
    for name in ("ana", "ben", "chi"):
        person = page.annotator(name)
        for task in person.work()[:2]:
            assert person.answer(task, **({} if name == "ana" else {"skip": "unclear"})).status == 200
    given = [(row.annotator, row.item) for row in page.rows(tables.tasks)]
    assert given == [("ana", "i000"), ("ana", "i001"), *((who, i) for who in ("ben", "chi") for i in ("i002", "i003"))]
    assert effects(preview(page.lead(), "quota", "3"))[:2] == [
        "Remaining answers: 3 (3 items) after the change, 3 before it.",
        "3 active annotators can give at most 2 of them; invite others for the rest.",
    ]


def test_preview_does_not_count_who_can_only_return_to_items_with_enough_answers(
    serve: Callable[..., Served], database_clock: Clock
) -> None:
    """Ana and Ben skipped i001, and Ana left i000 and i002, which Ben then answered: only Chi can answer i001."""
    page = serve(items=3, people={"overlap": 1, "order": "fixed", "ahead": 3}, who=("ana", "ben", "chi"))
    ana, ben = page.annotator("ana"), page.annotator("ben")
    assert ana.answer(ana.work()[1], skip="unclear").status == 200
    database_clock.later(days=30)
    for task in ben.work():
        assert ben.answer(task, **({"skip": "unclear"} if "number 1" in task.text else {})).status == 200
    assert effects(preview(page.lead(), "quota", "9"))[:2] == [
        "Remaining answers: 1 (1 item) after the change, 1 before it.",
        "1 active annotator can give them.",
    ]


# -- end of annotation --------------------------------------------------------------------------------


def test_end_is_moved_and_annotation_ends_at_once(serve: Callable[..., Served]) -> None:
    page = serve(items=3, people={}, who=("ana", "ben"))
    ana, lead = page.annotator(), page.lead()
    later = (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M+00:00")
    (first, last) = effects(preview(lead, "until", later))
    assert first == f"2 annotators can answer until {later[:10]} {later[11:16]} UTC."
    assert last == "All answers that were given are kept, and count."
    assert change(lead, "until", later).status == 303
    in_step(page)
    assert ana.pages()[1]["left"] is not None
    found = effects(preview(lead, "until", "2026-01-01T00:00Z"))
    assert found[0] == "This time has passed: annotation ends at once."
    assert found[1] == "The time of 2 annotators (ana, ben) ends at once. Their open items are free again."
    assert change(lead, "until", "2026-01-01T00:00Z").status == 303
    in_step(page)
    assert ana.pages()[1]["end"]["kind"] == "over"
    assert effects(preview(lead, "until", ""))[0] == "2 annotators (ana, ben) whose time had ended can continue."
    assert change(lead, "until", "").status == 303
    in_step(page)
    assert len(ana.work()) == 3
    assert logged(page)[0] == {"setting": "people.until", "before": "no end", "after": later}


@pytest.mark.slow
def test_end_in_days_from_the_invitation(serve: Callable[..., Served], clock: Any) -> None:
    clock.stop()
    page = serve(items=3, people={"until": "10 days"}, who=("ana",))
    clock.later(days=4)
    lead = page.lead()
    lead.form("/lead/people", name="ben")
    found = effects(preview(lead, "until", "3 days"))
    assert found[0] == "The time of 1 annotator (ana) ends at once. Their open items are free again."
    assert found[1].startswith("1 annotator can answer each for their own time, at the latest until 2")
    assert change(lead, "until", "3 days").status == 303
    in_step(page)
    assert page.annotator("ana").pages()[1]["end"]["kind"] == "over"
    assert len(page.annotator("ben").work()) == 3


# -- instructions and guidelines -----------------------------------------------------------------------


@pytest.mark.slow
def test_instructions_are_a_new_version_that_annotators_compare(serve: Callable[..., Served]) -> None:
    page = serve(items=3, people={"instructions": "Read it.\n\nBe fair.\n"}, who=("ana", "ben"))
    answer(page, "ana", 1)
    lead = page.lead()
    seen = preview(lead, "instructions", "Read it twice.\r\n\r\nBe fair.\r\n")
    assert effects(seen) == [
        "The instructions and guidelines become version 2 (now version 1).",
        "1 annotator who has begun sees the changed passages once when they open the page, and later with the key I.",
        "All answers that were given are kept, and count.",
    ]
    assert '<ins class="field-text" dir="auto">Read it twice.</ins>' in seen.text
    assert '<del class="field-text" dir="auto">Read it.</del>' in seen.text
    assert "Be fair." not in seen.text.partition("<form")[0]
    assert lead.form(SETTINGS, **hidden(seen)).status == 303
    in_step(page)
    assert "  instructions: |\n    Read it twice.\n\n    Be fair.\n" in (page.folder / "study.yaml").read_text()
    work = page.annotator().send("GET", "/work").text
    assert "Changed since you began" in work
    assert "Read it twice." in work
    assert "Changed since you began" not in page.annotator("ben").send("GET", "/work").text
    assert logged(page) == [{"setting": "people.instructions", "before": "version 1", "after": "version 2"}]
    assert len(stored_annotations(page.store)) == 1
    assert 'dir="auto">\n\nRead' not in lead.send("GET", SETTINGS).text
    assert 'dir="auto">\nRead it twice.\n\nBe fair.\n</textarea>' in lead.send("GET", SETTINGS).text


@pytest.mark.slow
def test_guidelines_are_the_same_question_or_a_new_version(serve: Callable[..., Served]) -> None:
    page = serve(items=3, questions=[STARS, {"name": "why", "text": "Why?", "scale": "text"}])
    answer(page, "ana", 2)
    lead = page.lead()
    seen = preview(lead, "guidelines", "Whole stars only.", of="stars")
    assert "2 answers to 'stars' (2 by annotators) would no longer count" in unescape(seen.text)
    reply = lead.form(SETTINGS, **hidden(seen))
    assert reply.status == 422
    assert "would no longer count" in words(reply), "the lead has to decide"
    assert lead.form(SETTINGS, **hidden(seen), changed="same-question").status == 303
    in_step(page)
    assert load_study(page.folder).config.questions[0].guidelines == "Whole stars only."
    assert len(stored_annotations(page.store)) == 4
    assert change(lead, "guidelines", "Half stars.\nOr whole ones.", "new-version", of="stars").status == 303
    in_step(page)
    assert load_study(page.folder).config.questions[0].guidelines == "Half stars.\nOr whole ones."
    assert len(stored_annotations(page.store)) == 2, "those to the other question"
    assert [one["setting"] for one in logged(page)] == ["guidelines of 'stars'"] * 2
    assert "the study has no question 'cost'" in words(preview(lead, "guidelines", "x", of="cost"))


@pytest.mark.slow
def test_guidelines_of_judges_are_announced(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    replies = [{"item": f"i{n:03d}", "judge": "m", "reply": json.dumps({"label": 3})} for n in range(3)]
    judge = {"name": "m", "provider": "recorded", "file": "replies.jsonl"}
    write_study(folder, items=3, tables={"replies.jsonl": replies}, judges=[judge])
    assert assay.open_study(folder).ask(progress=False).answered == 3
    with Served(folder) as page:
        answer(page, "ana", 1)
        lead = page.lead()
        seen = preview(lead, "guidelines", "Whole stars only.", of="stars")
        assert "4 answers to 'stars' (1 by annotators, 3 by judges) would no longer count" in unescape(seen.text)
        assert "the next assay judge asks whether their labels count" in effects(seen)[-1]
        assert lead.form(SETTINGS, **hidden(seen), changed="same-question").status == 303
        in_step(page)
        assert len(stored_annotations(page.store)) == 4
        with pytest.raises(ChangedStudyError, match="3 by judges"):
            assay.open_study(folder).ask(progress=False)
        found = effects(preview(lead, "items", '{"item": "new", "text": "N."}'))
        assert found[1] == "Judges have no labels for them: collect these with assay judge study."


@pytest.mark.slow
def test_triplets_are_drawn_for_a_higher_overlap(tmp_path: Path) -> None:
    odd = {"name": "odd", "text": "Which is the odd one out?", "scale": "odd-one-out", "options": ["text"]}
    with Served(write_study(tmp_path / "study", items=5, questions=[odd], people={"overlap": 1, "pairs": 1})) as page:
        answer(page, "ana", 1)
        lead = page.lead()
        (remaining, _kept) = effects(preview(lead, "overlap", "2"))
        assert remaining.startswith("Remaining answers: ")
        assert len(effects(preview(lead, "quota", "1"))) == 2, "no annotator is counted by items"
        assert change(lead, "items", '{"item": "new", "text": "N."}').status == 303
        in_step(page)
        assert load_study(page.folder).config.people.overlap == 1


@pytest.mark.slow
def test_overlap_of_each_group_is_changed(serve: Callable[..., Served]) -> None:
    page = serve(items=2, people={"overlap": {"job": 1}}, who={"ana": {"job": "nurse"}, "eva": {"job": "doctor"}})
    lead = page.lead()
    found = effects(preview(lead, "overlap", "2"))
    assert found[0] == "Remaining answers: 8 (4 items) after the change, 4 before it."
    assert found[1] == "2 active annotators can give at most 4 of them; invite others for the rest."
    assert change(lead, "overlap", "2").status == 303
    in_step(page)
    assert load_study(page.folder).config.people.overlap == {"job": 2}
    assert "must be a whole number" in words(preview(lead, "overlap", ""))


@pytest.mark.slow
def test_guidelines_without_answers_need_no_decision(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    lead = page.lead()
    seen = preview(lead, "guidelines", "Whole stars only.", of="stars")
    assert "no longer count" not in seen.text
    assert lead.form(SETTINGS, **hidden(seen)).status == 303
    in_step(page)
    # An answer that comes between the preview and the change is not lost without a decision.
    seen = preview(lead, "guidelines", "Half stars.", of="stars")
    answer(page, "ana", 1)
    assert "1 answer to 'stars'" in words(lead.form(SETTINGS, **hidden(seen)))
    in_step(page)


# -- items ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_items_are_added(serve: Callable[..., Served]) -> None:
    page = serve(items=2, people={"overlap": 1}, who=("ana", "ben"))
    answer(page, "ana", 2)
    lead = page.lead()
    rows = "".join(json.dumps({"item": f"n{number}", "text": f"Näw {number}."}) + "\n" for number in range(2))
    seen = preview(lead, "items", rows)
    assert effects(seen) == [
        "2 items more; annotators receive them from now on.",
        "Remaining answers: 2 (2 items) after the change, 0 before it.",
        "2 active annotators can give them.",
        "All answers that were given are kept, and count.",
    ]
    assert len((page.folder / "items.jsonl").read_text().splitlines()) == 2
    assert lead.form(SETTINGS, **hidden(seen)).status == 303
    in_step(page)
    assert (page.folder / "items.jsonl").read_text().splitlines()[3] == '{"item": "n1", "text": "Näw 1."}'
    assert sorted(re.findall(r"Näw \d", " ".join(task.text for task in page.annotator("ben").work()))) == [
        "Näw 0",
        "Näw 1",
    ]
    assert logged(page) == [{"setting": "items", "before": "2", "after": "4", "words": "n0, n1"}]
    assert len(stored_annotations(page.store)) == 2


def test_items_are_added_from_an_uploaded_table(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", items=2)
    (folder / "items.csv").write_bytes(b'\xef\xbb\xbfitem,text\r\na,"One, or two"\r\nb,Three')
    path = folder / "study.yaml"
    path.write_text(path.read_text().replace("items.jsonl", "items.csv"))
    with Served(folder) as page:
        lead = page.lead()
        reply = upload(lead, "more.tsv", b"text\titem\nFour, five\tc\n")
        assert effects(reply)[0] == "1 item more; annotators receive them from now on."
        assert lead.form(SETTINGS, **hidden(reply)).status == 303
        in_step(page)
        expected = b'\xef\xbb\xbfitem,text\r\na,"One, or two"\r\nb,Three\r\nc,"Four, five"\r\n'
        assert (folder / "items.csv").read_bytes() == expected
        assert len(page.annotator().work()) == 3
        reply = upload(lead, "more.xlsx", b"PK\x03\x04\xff")
        assert words(reply) == "more.xlsx is not text in UTF-8; save it as csv or jsonl."


def upload(lead: Annotator, name: str, content: bytes) -> Reply:
    head = 'Content-Disposition: form-data; name="{}"'
    parts = [f"--x\r\n{head.format('key')}\r\n\r\nitems\r\n".encode()]
    parts += [f'--x\r\n{head.format("file")}; filename="{name}"\r\n\r\n'.encode(), content, b"\r\n--x--\r\n"]
    return lead.send(
        "POST", f"{SETTINGS}/preview", b"".join(parts), {"Content-Type": "multipart/form-data; boundary=x"}
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ('{"item": "i000", "text": "Again."}', "the study already has i000; give every new item a new id"),
        ('{"item": "x", "text": "1"}\n{"item": "x", "text": "2"}', "the new items.jsonl: item 'x' appears twice"),
        ('{"item": "x"}', "new item 1 has no column text"),
        ('{"item": "x", "text": "1", "gold": 5}', "new item 1 has the column gold, which the items do not have"),
        ('{"text": "1"}', "new item 1 has no column item"),
        ('{"item": "", "text": "1"}', "the new items.jsonl: item 1 has no id in column 'item'"),
        ("item,text\nx,1", "the new items are csv; the items of the study are jsonl"),
        ('[{"item": "x", "text": "1"}]', "the new items are json; the items of the study are jsonl"),
        ('{"item": "x", ', "the new items.jsonl, line 1: "),
        ("", "the new items are csv"),
        ('{"item": "c1", "text": "1"}', "c1 is in two of the files of items"),
    ],
)
def test_items_that_do_not_fit_are_refused(serve: Callable[..., Served], rows: str, said: str) -> None:
    checks = [{"item": "c1", "text": "Say 5.", "stars": 5}]
    page = serve(items=2, people={"checks": {"file": "checks.jsonl", "every": 5}}, tables={"checks.jsonl": checks})
    reply = preview(page.lead(), "items", rows)
    assert reply.status == 422
    assert said in words(reply), words(reply)
    assert "/tmp" not in words(reply)
    in_step(page)


def test_items_in_a_spreadsheet_are_not_extended(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    path = page.folder / "items.json"
    path.write_text(json.dumps([{"item": "a", "text": "A"}]))
    file = page.folder / "study.yaml"
    file.write_text(file.read_text().replace("items.jsonl", "items.json"))
    with page.again() as now:
        lead = now.lead()
        assert "does not add items to a file of this format" in lead.send("GET", SETTINGS).text
        said = words(preview(lead, "items", '{"item": "b", "text": "B"}'))
    assert said.startswith("items.json cannot be extended here; add the rows to it in the study folder")


@pytest.mark.slow
def test_items_of_systems_are_added_in_the_folder(tmp_path: Path) -> None:
    folder = systems_study(tmp_path / "s", people={"overlap": 1})
    judge_study(load_study(folder), providers={"m1": Scripted(prefers_beta)})
    with Served(folder) as page:
        lead = page.lead()
        assert "add further ones to this file, and run assay judge" in lead.send("GET", SETTINGS).text
        reply = preview(lead, "items", '{"item": "new", "dialogue": "Hello."}')
        assert words(reply).startswith("systems write about the items: add the rows to items.jsonl in the study folder")
        assert change(lead, "overlap", "2").status == 303
        in_step(page)


# -- refusals -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("overlap", "0", r"study\.yaml, line \d+, people\.overlap: must be at least 1"),
        ("overlap", "two", r"study\.yaml, line \d+, people\.overlap: must be a whole number or a mapping"),
        ("quota", "-1", r"study\.yaml, line \d+, people\.quota: input should be greater than or equal to 1"),
        ("until", "2027-01-01T10:00", r"people\.until: needs a time zone"),
        ("until", "tomorrow", r"people\.until: 'tomorrow' is neither a date with a time zone"),
        ("instructions", "![x](no.png)", r"the image 'no\.png' in people\.instructions does not exist"),
        ("overlap", "2", r"This is the present value; nothing would change"),
    ],
)
def test_change_is_refused_in_the_words_of_the_reader(
    serve: Callable[..., Served], key: str, value: str, said: str
) -> None:
    page = serve(items=2, people={"overlap": 2, "keep_until": "2030-01-01"})
    lead, text = page.lead(), (page.folder / "study.yaml").read_bytes()
    reply = preview(lead, key, value)
    assert reply.status == 422
    assert re.search(said, words(reply)), words(reply)
    seen = hidden(preview(lead, "overlap", "3"))["seen"]
    reply = lead.form(SETTINGS, key=key, value=value, seen=seen)
    assert reply.status == 422
    assert re.search(said, words(reply)), words(reply)
    assert (page.folder / "study.yaml").read_bytes() == text
    assert logged(page) == []
    in_step(page)


def test_stale_preview_is_refused(serve: Callable[..., Served]) -> None:
    page = serve(items=2, people={"overlap": 2})
    lead = page.lead()
    first, second = (hidden(preview(lead, "overlap", value)) for value in ("3", "4"))
    assert lead.form(SETTINGS, **first).status == 303
    reply = lead.form(SETTINGS, **second)
    assert (reply.status, words(reply)) == (
        409, "The study was changed after this preview. Go back and preview the change again."
    )  # fmt: skip
    assert load_study(page.folder).config.people.overlap == 3
    in_step(page)


@pytest.mark.slow
def test_one_of_two_simultaneous_changes_is_refused(serve: Callable[..., Served]) -> None:
    page = serve(items=2, people={"overlap": 2})
    leads = [page.lead() for _ in range(4)]
    fields = [hidden(preview(lead, "overlap", str(3 + number))) for number, lead in enumerate(leads)]
    with ThreadPoolExecutor(len(leads)) as pool:
        replies = list(pool.map(lambda lead, own: lead.form(SETTINGS, **own).status, leads, fields))
    assert sorted(replies) == [303, 409, 409, 409]
    assert load_study(page.folder).config.people.overlap == 3 + replies.index(303)
    assert len(logged(page)) == 1
    in_step(page)


def test_folder_with_another_edit_is_refused(serve: Callable[..., Served]) -> None:
    page = serve(items=2, people={"overlap": 2})
    lead = page.lead()
    fields = hidden(preview(lead, "overlap", "3"))
    path = page.folder / "study.yaml"
    text = path.read_text() + "# and\n"
    path.write_text(text.replace("How many stars?", "How many?"))
    for reply in (preview(lead, "overlap", "3"), lead.form(SETTINGS, **fields)):
        assert reply.status == 422
        assert "The study's folder was edited, and this page serves the earlier version." in words(reply)
    path.write_text("people: [")
    assert "line 1" in words(preview(lead, "overlap", "3"))
    path.write_text(text)
    assert lead.form(SETTINGS, **fields).status == 303, "a comment is no change of the study"


@pytest.mark.slow
def test_reader_previews_and_changes_nothing(serve: Callable[..., Served]) -> None:
    page = serve(items=2, people={"overlap": 2, "instructions": "Read it."})
    lead = page.lead()
    fields = hidden(preview(lead, "overlap", "3"))
    lead.form("/lead/leads", name="Rio", role="reader")
    link = re.findall(r'value="[^"]*(/lead/join/[^"]+)"', lead.send("GET", "/lead").text)[-1]
    rio = page.visitor(link)
    rio.join()
    assert preview(rio, "overlap", "3").status == 403
    assert rio.form(SETTINGS, **fields).status == 403
    seen = rio.send("GET", SETTINGS)
    assert seen.status == 200
    assert "Read it." in seen.text
    assert 'class="lead reads"' in seen.text
    assert page.visitor().send("GET", SETTINGS).status == 403
    assert load_study(page.folder).config.people.overlap == 2


@pytest.mark.slow
def test_change_is_logged_with_the_name_of_a_further_lead(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    page.lead().form("/lead/leads", name="Mia", role="lead")
    link = re.findall(r'value="[^"]*(/lead/join/[^"]+)"', page.lead().send("GET", "/lead").text)[-1]
    mia = page.visitor(link)
    mia.join()
    assert change(mia, "quota", "1").status == 303
    assert logged(page) == [{"setting": "people.quota", "before": "no quota", "after": "1", "by": "Mia"}]


@pytest.mark.slow
def test_file_is_restored_if_the_store_fails(serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch) -> None:
    page = serve(items=2, people={"overlap": 2})
    lead, text = page.lead(), (page.folder / "study.yaml").read_bytes()
    fields = hidden(preview(lead, "overlap", "3"))
    seen: list[bytes] = []

    def fail(*_: Any, **__: Any) -> None:
        seen.append((page.folder / "study.yaml").read_bytes())
        raise StudyError("the disk is full")

    monkeypatch.setattr(editing, "record_event", fail)
    assert words(lead.form(SETTINGS, **fields)) == "the disk is full"
    assert seen != [text], "the file was written before"
    assert (page.folder / "study.yaml").read_bytes() == text
    in_step(page)


def test_folder_that_cannot_be_written_is_refused(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = serve(items=2, people={"overlap": 2})
    lead = page.lead()
    fields = hidden(preview(lead, "overlap", "3"))

    def deny(_: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(editing.os, "fsync", deny)
    said = words(lead.form(SETTINGS, **fields))
    assert "study.yaml cannot be written (Permission denied); allow the server to write to the study folder" in said
    assert sorted(one.name for one in page.folder.iterdir() if one.name.startswith(".")) == []
    in_step(page)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "value"), [("overlap", "2"), ("quota", "3"), ("until", "2030-01-01T00:00Z")])
def test_store_is_as_after_a_restart(serve: Callable[..., Served], tmp_path: Path, key: str, value: str) -> None:
    """Settings that concern no item are taken in without the items; a new store of the folder has the same."""
    page = serve(items=3, people={"overlap": 1}, who=("ana", "ben"))
    assert change(page.lead(), key, value).status == 303
    study = load_study(page.folder)
    with open_store(study, str(tmp_path / "new.db")) as new:
        sync_study(new, study)
        for name in (CONFIG, SYNCED):
            assert page.store.setting(name) == new.setting(name)
        assert [(i.name, d) for i, d in items(page.store)] == [(i.name, d) for i, d in items(new)]
        assert questions(page.store) == questions(new)
    with page.again() as again:
        in_step(again)


# -- other processes and databases ---------------------------------------------------------------------


@pytest.mark.slow
def test_other_workers_follow_a_change(tmp_path: Path, url: str | None) -> None:
    """A second application on the same database, as a further worker process has it."""
    folder = write_study(tmp_path / "study", items=2, people={"overlap": 1})
    with Served(folder, ("ana", "ben"), url) as page:
        answer(page, "ana", 2)
        with open_store(load_study(folder), url) as store:
            other = app_of(store, folder, SECRET)
            ben = Annotator(page.client(other), page.links["ben"])
            ben.join()
            assert ben.work() == []
            assert change(page.lead(), "overlap", "2").status == 303
            in_step(page)
            assert len(ben.work()) == 2
            assert other.state.assay.edit_notice() == ""
            lead = Annotator(page.client(other), page.lead().link)
            lead.join()
            assert change(lead, "quota", "1").status == 303
        in_step(page)
        assert load_study(folder).config.people.quota == 1
