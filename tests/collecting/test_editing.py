"""Changes of a running study from the dashboard: previews, study.yaml, the served pages, the log, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotating import STARS, SECRET, Annotator, Reply, Served, write_study

from assay.collecting import editing
from assay.collecting.app import app_of
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.store import tables
from assay.study.store.connection import open_store
from assay.study.store.intake import SYNCED, digest_of_study
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


def test_quota_that_is_too_small_for_the_rest(serve: Callable[..., Served]) -> None:
    page = serve(items=6, people={"overlap": 1}, who=("ana", "ben"))
    found = effects(preview(page.lead(), "quota", "2"))
    assert found[0] == "Remaining answers: 6 (6 items) after the change, 6 before it."
    assert found[1] == "2 active annotators can give at most 4 of them; invite others for the rest."


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


# -- refusals -----------------------------------------------------------------------------------------


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


def test_change_is_logged_with_the_name_of_a_further_lead(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    page.lead().form("/lead/leads", name="Mia", role="lead")
    link = re.findall(r'value="[^"]*(/lead/join/[^"]+)"', page.lead().send("GET", "/lead").text)[-1]
    mia = page.visitor(link)
    mia.join()
    assert change(mia, "quota", "1").status == 303
    assert logged(page) == [{"setting": "people.quota", "before": "no quota", "after": "1", "by": "Mia"}]


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


# -- other processes and databases ---------------------------------------------------------------------


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
