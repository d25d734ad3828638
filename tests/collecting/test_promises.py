"""The promises of the annotation page: no answer is lost, duplicated or disclosed to the wrong person."""

from __future__ import annotations

import json
import math
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from annotating import (
    SECRET,
    STARS,
    Annotator,
    Network,
    Served,
    Server,
    invite_people,
    lead_path,
    link_of,
    simulate,
    tasks_of,
    verify,
    write_study,
)

from assay.cli import app as cli
from assay.collecting.invitations import Signer, invite, study_id
from assay.errors import ChangedStudyError, StudyError
from assay.reading import study_labels
from assay.study import schema
from assay.study.definition import load_study
from assay.study.store import connection, tables
from assay.study.store.answers import history
from assay.study.store.connection import DatabaseError, open_store
from assay.study.store.intake import sync_study
from assay.study.store.items import known_items
from assay.study.store.people import new_link, set_state
from assay.study.store.table import stored_annotations
from assay.study.store.work import Changed
from waiting import wait_until

KINDS: tuple[dict[str, Any], ...] = (
    STARS,
    {"name": "tone", "text": "Which tone?", "scale": ["warm", "cold"]},
    {"name": "level", "text": "Which level?", "scale": "ordinal:low<mid<high"},
    {"name": "quality", "text": "How good?", "scale": "interval:0-10"},
    {"name": "anything", "text": "Any number?", "scale": "interval"},
    {"name": "percent", "text": "How many of a hundred?", "scale": "0-100"},
    {"name": "why", "text": "Why?", "scale": "text"},
    {"name": "better", "text": "Which is better?", "scale": "preference", "options": ["one", "two"], "show": ["text"]},
)
PAIRS = [{"item": f"p{n}", "text": f"Source {n}", "one": f"First {n}", "two": f"Second {n}"} for n in range(6)]


def all_kinds(**about: Any) -> dict[str, Any]:
    questions = [{"show": ["text"], **question} for question in KINDS]
    return {"questions": questions, "items": PAIRS, **about}


def by_name(task: Any) -> dict[str, str]:
    return {question.name: question.id for question in task.questions}


# -- 1, 3: acknowledged answers are stored ----------------------------------------------------------


def test_kill_with_many_writers_loses_no_acknowledged_answer(tmp_path: Path) -> None:
    people, wrong, kills, _ = simulate(tmp_path / "study", people=8, answers=20, think=0.2, kills=3, overlap=4)
    assert wrong == []
    assert kills == 3
    assert sum(len(person.saved) for person in people) == 160


@pytest.mark.slow
def test_kill_with_two_workers_loses_no_acknowledged_answer(tmp_path: Path, url: str) -> None:
    about = {"people": 10, "answers": 20, "think": 0.2, "kills": 3, "overlap": 4}
    people, wrong, kills, _ = simulate(tmp_path / "study", **about, store=url, workers=2)
    assert wrong == []
    assert kills == 3
    assert sum(len(person.saved) for person in people) == 200


@pytest.mark.slow
def test_fifty_people_and_five_kills(tmp_path: Path) -> None:
    """`benchmarks/collecting.py` does it with a hundred answers each and ten kills."""
    people, wrong, kills, _ = simulate(tmp_path / "study", people=50, answers=10, think=1.0, kills=5)
    assert wrong == []
    assert kills == 5
    assert sum(len(person.saved) for person in people) == 500


def test_killed_server_keeps_the_last_acknowledged_answer(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", items=4)
    study = load_study(folder)
    with open_store(study) as store:
        links = invite_people(study, store, ["ana"])
    server = Server(folder)
    ana = Annotator(Network(server.url), links["ana"])
    server.start()
    try:
        ana.join()
        task = ana.work()[0]
        body = ana.body(task)
        first = ana.send("POST", "/answers", body).json()
        server.kill()
        server.start()
        ana.wire.close()
        again = ana.send("POST", "/answers", body)
        assert (again.status, again.json()) == (200, {**first, "again": True})
        with open_store(study) as store:
            rows = history(store).to_dicts()
        assert [(row["label"], row["revision"]) for row in rows] == [(json.dumps(*body["labels"].values()), 1)]
    finally:
        ana.wire.close()
        server.close()


def test_save_is_acknowledged_after_writing_to_disk(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = serve(people={"consent": "Read this."}, store=str(tmp_path / "other.db"))
    begun: list[str] = []  # tables that were written, until the transaction ends
    lacking: set[str] = set()  # those whose transaction has ended, until they are on the disk
    flushed: set[str] = set()
    flush = connection.flush_file

    def look(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        written = statement.lower().replace("insert into", "update").replace("(", " ").split()
        if written[0] == "update" and written[1] in ("answers", "tasks", "drafts", "people"):
            begun.append(written[1])

    def end(_: Any) -> None:
        lacking.update(begun)
        begun.clear()

    def flushing(file: int) -> None:
        assert os.path.samestat(os.fstat(file), (tmp_path / "other.db-wal").stat())
        flush(file)
        flushed.update(lacking)
        lacking.clear()

    sa.event.listen(page.store.engine, "before_cursor_execute", look)
    sa.event.listen(page.store.engine, "commit", end)
    monkeypatch.setattr(connection, "flush_file", flushing)
    ana = page.annotator()
    assert not lacking
    task = ana.work()[0]
    assert ana.send("PUT", f"/drafts/{task.id}", {"revision": 0, "body": {"text": "half"}}).status == 204
    assert not lacking
    assert ana.answer(task).status == 200
    assert not lacking
    assert flushed == {"answers", "tasks", "drafts", "people"}


def test_many_who_save_at_once_share_a_flush_that_begins_after_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(load_study(write_study(tmp_path / "study"))) as store:
        flush, held, first = connection.flush_file, threading.Event(), threading.Event()
        flushed: list[set[str]] = []

        def flushing(file: int) -> None:
            with store.reading() as db:
                there = set(db.execute(sa.select(tables.settings.c.key)).scalars())
            flush(file)
            first.set()
            assert held.wait(60)
            flushed.append(there)

        def save(key: str) -> bool:
            with store.exclusive():
                store.set(key, 1)
            return any(key in there for there in flushed)

        monkeypatch.setattr(connection, "flush_file", flushing)
        with ThreadPoolExecutor(9) as pool:
            saved = [pool.submit(save, "key 0")]
            assert first.wait(60)
            saved += [pool.submit(save, f"key {number}") for number in range(1, 9)]
            # They write while the first flush is under way, and wait for the next.
            wait_until(lambda: store.setting("key 8") and store._flushes._wanted == 9, "others do not write meanwhile")
            assert not any(one.done() for one in saved)
            held.set()
            assert all(one.result(60) for one in saved)
        assert len(flushed) == 2

        def failing(file: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(connection, "flush_file", failing)
        with pytest.raises(DatabaseError, match="Input/output error"), store.exclusive():
            store.set("lost", 1)
        monkeypatch.setattr(connection, "flush_file", flush)
        with pytest.raises(DatabaseError, match="Input/output error"), store.exclusive():
            pass  # after a failed flush, a second flush would report success


def test_repeated_answer_after_restart_is_saved_once(serve: Any, url: str) -> None:
    page = serve(store=url)
    ana = page.annotator()
    task = ana.work()[0]
    body = ana.body(task)
    first = ana.send("POST", "/answers", body).json()
    assert (first["saved"], first["revision"], first["again"]) == (True, 1, False)
    with page.again() as restarted:
        ana = restarted.annotator()
        assert ana.send("POST", "/answers", body).json() == {**first, "again": True}
        # Even after a correction, a late copy of the first answer changes nothing.
        assert ana.answer(task.id, {task.questions[0].id: 2}, revision=1).json()["revision"] == 2
        assert ana.send("POST", "/answers", body).json() == {**first, "again": True}
        assert [row["label"] for row in restarted.history() if row["counts"]] == [2]


# -- 4, 5: once, and never over a newer one ---------------------------------------------------------


def test_concurrent_copies_of_an_answer_are_saved_once(serve: Any, url: str) -> None:
    page = serve(store=url)
    ana = page.annotator()
    task = ana.work()[0]
    body = ana.body(task)
    tabs = [page.annotator() for _ in range(8)]
    together = threading.Barrier(len(tabs))

    def press(tab: Annotator) -> list[dict[str, Any]]:
        together.wait()
        return [tab.send("POST", "/answers", body).json() for _ in range(3)]

    with ThreadPoolExecutor(len(tabs)) as pool:
        replies = [reply for found in pool.map(press, tabs) for reply in found]
    assert Counter(reply["again"] for reply in replies) == {False: 1, True: 23}
    assert {(reply["revision"], reply["at"]) for reply in replies} == {(1, replies[0]["at"])}
    assert len(page.rows(tables.answers)) == 1


def test_two_simultaneous_tabs_report_the_conflict(serve: Any, url: str) -> None:
    page = serve(store=url)
    task = page.annotator().work()[0]
    tabs = [page.annotator() for _ in range(6)]
    together = threading.Barrier(len(tabs))

    def save(number: int) -> int:
        together.wait()
        return tabs[number].answer(task, key=f"tab-number-{number}").status

    with ThreadPoolExecutor(len(tabs)) as pool:
        statuses = Counter(pool.map(save, range(len(tabs))))
    assert statuses == {200: 1, 409: 5}
    assert len(page.rows(tables.answers)) == 1


def test_answers_are_only_added_and_the_latest_counts(serve: Any) -> None:
    page = serve()
    ana = page.annotator()
    task = ana.work()[0]
    question = task.questions[0].id
    for revision, label in enumerate((1, 5, 3)):
        assert ana.answer(task.id, {question: label}, revision=revision).json()["revision"] == revision + 1
    assert [(row["revision"], row["label"], row["counts"]) for row in page.history()] == [
        (1, 1, False),
        (2, 5, False),
        (3, 3, True),
    ]
    assert stored_annotations(page.store).labels["label"].to_list() == [3]
    assert [one.questions[0].given for one in ana.work(task.page) if one.id == task.id] == ["3"]


def test_older_tab_or_draft_keeps_the_newer_answer(serve: Any) -> None:
    page = serve()
    ana = page.annotator()
    old = ana.work()[0]
    question = old.questions[0].id
    assert ana.send("PUT", f"/drafts/{old.id}", {"revision": 0, "body": {"q": "half"}}).status == 204
    assert ana.work(old.page)[0].draft["body"] == {"q": "half"}
    assert ana.answer(old, {question: 5}).status == 200
    before = page.rows(tables.answers)

    refused = ana.answer(old, {question: 1})
    assert refused.status == 409
    told = refused.json()
    assert (told["error"], told["revision"]) == ("newer", 1)
    assert "newer answer" in told["message"]
    (shown,) = tasks_of(told["html"])
    assert (shown.id, shown.revision, shown.questions[0].given) == (old.id, 1, "5")
    assert ana.answer(old, skip="late skip").status == 409
    assert ana.answer(old, {question: 1}, revision=7).status == 409
    assert ana.send("PUT", f"/drafts/{old.id}", {"revision": 0, "body": {"q": "older"}}).status == 409
    assert page.rows(tables.answers) == before
    assert page.rows(tables.drafts) == []
    assert ana.work(old.page)[0].draft is None
    # A draft of a correction is kept, and an older answer is refused.
    assert ana.send("PUT", f"/drafts/{old.id}", {"revision": 1, "body": {"q": "newer"}}).status == 204
    assert ana.answer(old, {question: 1}).status == 409
    assert ana.work(old.page)[0].draft["body"] == {"q": "newer"}


def test_item_without_any_answer_is_not_saved(serve: Any) -> None:
    page = serve(questions=[{**STARS, "optional": True}])
    ana = page.annotator()
    task = ana.work()[0]
    reply = ana.answer(task, {})
    assert reply.status == 422
    assert "at least one" in reply.json()["questions"][task.questions[0].id]
    assert page.rows(tables.answers) == []
    assert ana.answer(task, {}, skip="no idea").json()["revision"] == 1


# -- 6: overlap is exact ----------------------------------------------------------------------------


def test_overlap_is_exact_under_concurrency(tmp_path: Path, url: str) -> None:
    postgres = url.startswith("postgresql")
    folder = write_study(tmp_path / "study", items=30, people={"overlap": 3, "ahead": 3})
    study = load_study(folder)
    with open_store(study, url) as store:
        links = invite_people(study, store, [f"person {n}" for n in range(8)])
    with Server(folder, url, workers=2 if postgres else 1) as server:
        people = [Annotator(Network(server.url), link) for link in links.values()]
        with ThreadPoolExecutor(len(people)) as pool:
            ends = list(pool.map(lambda person: person.work_through(patience=60), people))
        for person in people:
            person.wire.close()
    assert set(ends) == {"done"}
    with open_store(study, url) as store:
        assert verify(people, store, overlap=3) == []


def test_expired_place_is_free_and_late_answer_is_extra(serve: Any, database_clock: Any, url: str) -> None:
    page = serve(items=2, people={"overlap": 1}, who=("ana", "ben", "chi"), store=url)
    ana, ben, chi = (page.annotator(name) for name in ("ana", "ben", "chi"))
    held = ana.work()
    assert len(held) == 2
    assert ben.pages()[1]["end"]["kind"] == "empty"
    database_clock.later(minutes=29)
    assert ben.pages()[0] == []
    database_clock.later(minutes=2)
    for task in ben.work():
        assert ben.answer(task).json()["extra"] is False
    late = ana.answer(held[0])
    assert (late.status, late.json()["extra"]) == (200, True)
    assert ana.answer(held[0].id, {held[0].questions[0].id: 4}, revision=1).json()["extra"] is True
    table = stored_annotations(page.store)
    marked = zip(table.labels["annotator"], table.column("extra"), strict=True)
    assert sorted(marked, key=str) == [("ana", True), ("ben", None), ("ben", None)]
    # The extra answer takes no place, and the item is not assigned again.
    assert chi.pages()[1]["end"]["kind"] == "done"
    assert ana.pages(held[-1].page)[1]["end"]["kind"] == "done"


def test_lead_reopens_an_answer(serve: Any) -> None:
    page = serve(items=3)
    ana = page.annotator()
    task = ana.work()[0]
    assert ana.answer(task).status == 200
    lead = page.lead()
    assert lead.form("/lead/reopen", task=str(task.id)).status == 303
    with pytest.raises(StudyError):
        stored_annotations(page.store)
    (again,) = [one for one in ana.work() if one.id == task.id]
    assert (again.state, again.revision, again.questions[0].given) == ("reopened", 2, None)
    assert ana.answer(task.id, {task.questions[0].id: 1}, revision=1).status == 409
    assert ana.answer(again, {task.questions[0].id: 4}).json()["revision"] == 3
    assert [(row["status"], row["counts"]) for row in page.history()] == [
        ("valid", False),
        ("withdrawn", False),
        ("valid", True),
    ]
    assert lead.form("/lead/reopen", task="999").status == 404


# -- 7: no one receives data of others --------------------------------------------------------------

PLANTED = "hush"
"""A marker in all texts that the browser must not receive."""


def planted_study(folder: Path) -> Path:
    def texts(kind: str, number: int) -> dict[str, Any]:
        # Letters for digits: "hush1" must not be found as a part of "hush12" and the other way round.
        return {
            "item": f"{PLANTED}-item-{kind}-{number}",
            "source": f"{PLANTED}-document-{kind}-{number // 2}",
            "shown text": f"Text {number} of {kind}.",
            f"{PLANTED}-column-one": f"First {number} of {kind}.",
            f"{PLANTED}-column-two": f"Second {number} of {kind}.",
            f"{PLANTED}-author": f"{PLANTED}-model-7b",
            "picture": f"{PLANTED}-{kind}.png",
        }

    questions = [
        {"name": "stars", "text": "How many stars?", "scale": "1-5", "show": ["shown text", "picture"]},
        {
            **{"name": "better", "text": "Which is better?", "scale": "preference", "show": ["shown text"]},
            "options": [f"{PLANTED}-column-one", f"{PLANTED}-column-two"],
        },
        {"name": "why", "text": "Why?", "scale": "text", "show": ["shown text"]},
    ]
    items = [texts("item", n) for n in range(6)]
    known = [{**texts("check", n), "why": f"{PLANTED}-known-{n}"} for n in range(2)]
    practice = [{**texts("practice", 0), "stars": 4, "feedback": "Because it is said so."}]
    reply = {"judge": f"{PLANTED}-judge", "question": "why", "reply": json.dumps({"label": f"{PLANTED}-judged"})}
    write_study(
        folder,
        items=items,
        questions=questions,
        people={
            **{"consent": "Read this.", "instructions": "Look well.", "ahead": 3},
            **{"overlap": {f"{PLANTED}-attribute": {"expert": 2, "lay": 1}}},
            **{"checks": {"file": "checks.jsonl", "every": 3}, "warm_up": "practice.jsonl"},
        },
        tables={
            "checks.jsonl": known,
            "practice.jsonl": practice,
            "replies.jsonl": [{**reply, "item": row["item"]} for row in items],
            "labels.jsonl": [
                {
                    "item": items[0]["item"],
                    "annotator": f"{PLANTED}-file",
                    "criterion": "why",
                    "label": f"{PLANTED}-lab",
                }
            ],
        },
        judges=[{"name": f"{PLANTED}-judge", "provider": "recorded", "file": "replies.jsonl"}],
        labels="labels.jsonl",
    )
    content = yaml.safe_load((folder / "study.yaml").read_text())
    content["items"] |= {"document": "source", "images": ["picture"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    for kind in ("item", "check", "practice"):
        (folder / f"{PLANTED}-{kind}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    return folder


def everything(person: Annotator, others: int, say: str) -> None:
    """A whole run with all requests, valid and invalid; all texts contain ``say``."""
    person.join(agree=False)
    person.send("GET", "/work")
    person.join()
    end, last = None, 0
    while end is None:
        tasks, rest = person.pages(last)
        end = rest["end"]
        for task in tasks:
            last = task.page
            ids = by_name(task)
            labels = {ids["stars"]: 2, ids["better"]: "first", ids["why"]: f"{say} written"}
            person.send("PUT", f"/drafts/{task.id}", {"revision": 0, "body": {"why": f"{say} half"}})
            person.send("GET", f"/work/{task.page}")
            person.answer(task, {**labels, ids["stars"]: 99})
            saved = person.answer(task, labels, comment=f"{say} comment", flag=f"{say} flag")
            assert saved.status == 200, saved.text
            assert person.answer(task, labels).status == 409
            assert person.answer(task, {}, revision=1, skip=f"{say} reason").status in (200, 409)
            for number in range(3):
                person.send("GET", f"/images/{task.id}/{number}")
            person.send("GET", f"/work/{task.page}")
        if not tasks and end is None:
            last = 0
    for path in ("/", "/work", "/work/999", "/consent", "/lead", "/lead/live", "/lead/labels.csv", "/lead/answers.zip"):
        person.send("GET", path)
    for number in range(1, others):
        person.send("GET", f"/images/{number}/0")
        person.send("PUT", f"/drafts/{number}", {"revision": 0, "body": {}})
        person.send("POST", "/answers", person.body(number, {"1": 1}))
    for name in ("assay.css", "work.js", "nothing.js"):
        person.send("GET", f"/static/now/{name}")


def test_responses_do_not_contain_data_of_others(tmp_path: Path) -> None:
    folder = planted_study(tmp_path / "a study")
    attribute = f"{PLANTED}-attribute"
    who = {f"{PLANTED}-ana": {attribute: "expert"}, "ben": {attribute: "expert"}, "chi": {attribute: "lay"}}
    from assay.judging.run import judge_study

    judge_study(load_study(folder))
    with Served(folder, who) as page:
        people = {name: page.annotator(name, join=False) for name in who}
        for name, person in people.items():
            person.heard = []
            everything(person, 40, f"{PLANTED}-said" if PLANTED in name else f"{name} himself")
        for person in people.values():  # and again, after the others have answered
            for path in ("/work", "/pages?after=0", *(f"/work/{number}" for number in range(1, 12))):
                person.send("GET", path)
        for name, person in people.items():
            assert person.heard is not None
            assert len(person.heard) > 100
            forbidden = {f"{one} himself" for one in ("ben", "chi") if one != name}
            forbidden |= set() if PLANTED in name else {PLANTED}
            forbidden |= {f"{PLANTED}-{one}" for one in ("item", "document", "column", "author", "model", "judge")}
            forbidden |= {f"{PLANTED}-{one}" for one in ("known", "file", "lab", "attribute", "check", "practice")}
            for reply in person.heard:
                told = repr((reply.headers, reply.cookies)) + reply.body.decode("utf-8", "replace")
                assert [one for one in forbidden if one in told] == [], (name, told)
        # All of it existed and could have been disclosed.
        lead = page.lead().send("GET", "/lead").text + json.dumps(page.history())
        for one in ("ana", "item", "column", "judge", "said written", "said comment", "said reason"):
            assert f"{PLANTED}-{one}" in lead, one


def test_no_answer_is_preselected(serve: Any) -> None:
    page = serve(**all_kinds())
    ana = page.annotator()
    html = ana.send("GET", "/work").text
    assert " checked" not in html
    assert " selected" not in html
    assert "data-given" not in html
    sliders = [part.split(">")[0] for part in html.split("<input")[1:] if 'type="range"' in part.split(">")[0]]
    assert sliders
    assert all("value=" not in slider.replace("aria-valuetext=", "") for slider in sliders)


def test_tasks_of_others_are_not_accessible(serve: Any) -> None:
    page = serve(items=PAIRS, questions=[{**STARS, "show": ["text"]}], who=("ana", "ben"))
    ana, ben = page.annotator("ana"), page.annotator("ben")
    theirs = ana.work()[0]
    ben.work()
    before = page.rows(tables.answers), page.rows(tables.drafts)
    refused = ben.answer(theirs)
    assert (refused.status, refused.json()["error"]) == (404, "unknown")
    assert ben.send("PUT", f"/drafts/{theirs.id}", {"revision": 0, "body": {}}).status == 404
    assert ben.send("GET", f"/images/{theirs.id}/0").status == 404
    assert ben.send("GET", "/work/77").status == 404
    assert ben.answer(10**9).status == 404
    assert (page.rows(tables.answers), page.rows(tables.drafts)) == before


# -- 9: stored answers are valid --------------------------------------------------------------------

GOOD: dict[str, Any] = {
    **{"stars": 4, "tone": "warm", "level": "mid", "quality": 3.5, "anything": -1e9, "percent": 100},
    **{"why": "Because.", "better": "tie"},
}
NEVER = (True, False, math.nan, math.inf, -math.inf, 10**30, -(10**400), 1e308, [], [1], {}, {"a": 1}, "", " \n", None)
BAD: dict[str, tuple[Any, ...]] = {
    "stars": (*NEVER, 0, 6, -1, 2.5, "six", "4 stars", "1e9", "nan", "∞", "0x4", "4\x00"),
    "tone": (*NEVER, "hot", "Warm", "warm,cold", 0, 1),
    "level": (*NEVER, "highest", 0, 2, "LOW"),
    "quality": (*NEVER, -0.01, 10.01, "ten", "1,2,3", "3.5.1", "inf", "NaN", "--3"),
    "anything": (*NEVER, "x", "1e999", "-inf", "1 000 000 km"),
    "percent": (*NEVER, 101, -1, 99.5, "99,5", "many"),
    "why": (*NEVER, 3, 2.5, "\x00\x01", "x" * 60_000),
    "better": (*NEVER, "First", "left", "third", 0, 1, -1, "−1"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_labels_off_the_scale_are_refused_with_message(serve: Any, name: str) -> None:
    page = serve(**all_kinds())
    ana = page.annotator()
    task = ana.work()[0]
    ids = by_name(task)
    for bad in BAD[name]:
        labels = {ids[one]: good for one, good in GOOD.items()} | {ids[name]: bad}
        reply = ana.answer(task, labels)
        assert reply.status == 422, (bad, reply.text)
        found = reply.json()
        assert list(found["questions"]) == [ids[name]], bad
        words = found["questions"][ids[name]]
        assert words.startswith(("The answer must be ", "Please answer this question")), bad
    assert page.rows(tables.answers) == []
    assert ana.answer(task, {ids[one]: good for one, good in GOOD.items()}).status == 200
    expected = GOOD | {"better": 0}
    assert {row["criterion"]: row["label"] for row in page.history()} == expected


def test_number_formats(serve: Any) -> None:
    page = serve(**all_kinds())
    ana = page.annotator()
    task = ana.work()[0]
    ids = by_name(task)
    for revision, (written, number) in enumerate({"3,5": 3.5, " 7 ": 7, "0.25": 0.25, "10": 10, "+2": 2}.items()):
        labels = {ids[one]: good for one, good in GOOD.items()} | {ids["quality"]: written, ids["stars"]: "4"}
        assert ana.answer(task, labels, revision=revision).status == 200, written
        last = {row["criterion"]: row["label"] for row in page.history() if row["counts"]}
        assert (last["quality"], last["stars"]) == (number, 4)
        assert all(isinstance(last[one], int | float) for one in ("quality", "stars", "anything", "percent"))


def test_odd_one_out_accepts_letters_only(serve: Any) -> None:
    question = {"name": "odd", "text": "Which one?", "scale": "odd-one-out", "options": ["one", "two", "text"]}
    page = serve(items=PAIRS, questions=[question])
    ana = page.annotator()
    task = ana.work()[0]
    for bad in (*NEVER, "D", "a", "AB", "one", 0, 1, 2.0):
        assert ana.answer(task, {task.questions[0].id: bad}).status == 422, bad
    assert ana.answer(task, {task.questions[0].id: "B"}).status == 200
    shown = page.history()[0]["shown"]
    assert shown["position"] == 2
    # The choice is stored in the item's own order, with the positions shown.
    assert page.history()[0]["label"] == "ABC"[["one", "two", "text"].index(shown["order"][1])]


def test_unknown_questions_and_invalid_times_are_refused(serve: Any, clock: Any) -> None:
    clock.stop()
    page = serve()
    ana = page.annotator()
    task = ana.work()[0]
    good = {task.questions[0].id: 3}
    assert "not asked here" in ana.answer(task, {**good, "999": 1}).text
    for wrong in (
        {"at": 0},
        {"seconds": -1},
        {"seconds": math.nan},
        {"seconds": "long"},
        {"revision": -1},
        {"key": "x"},
    ):
        assert ana.answer(task, good, **wrong).status == 422, wrong
    long_ago = {"Date": "Thu, 01 Jan 1970 00:00:00 GMT", "If-Modified-Since": "Thu, 01 Jan 2099 00:00:00 GMT"}
    reply = ana.send("POST", "/answers", ana.body(task, good), long_ago)
    assert reply.json()["at"] == clock.now()
    assert page.history()[0]["answered_at"] == reply.json()["at"]


# -- 10: versions -----------------------------------------------------------------------------------


def edit(page: Served, change: Any) -> None:
    """Change the study's file."""
    path = page.folder / "study.yaml"
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def edited(page: Served, change: Any, changed: Changed | None = None) -> Served:
    """The same study after its file was changed and the server was started again."""
    edit(page, change)
    return page.again(changed)


def test_changed_words_make_a_new_version_and_answers_keep_theirs(serve: Any) -> None:
    first = serve(items=2, people={"instructions": "As it was."})
    ana = first.annotator()
    held = ana.work()
    assert ana.answer(held[0]).status == 200
    with edited(first, lambda study: study["people"].update(instructions="As it is now.")) as second:
        # Only the instructions are new: the question is the same, so the answer still counts.
        ana = second.annotator()
        assert "As it is now." in ana.send("GET", "/work").text
        assert ana.answer(held[1]).status == 200
        assert stored_annotations(second.store).labels.height == 2
        forms = {row.id: row.definition["instructions"] for row in second.rows(tables.forms)}
        assert sorted(forms.values()) == ["As it is now.", "As it was."]
        shown = [forms[row["shown"]["form"]] for row in second.history()]
        assert shown[0] == "As it was."
    words = {"text": "How many stars, really?"}
    with pytest.raises(ChangedStudyError, match=r"2 answers to 'stars' \(2 by annotators"):
        edited(first, lambda study: study["questions"][0].update(words))
    with first.again("new-version") as third:
        ana = third.annotator()
        asked = ana.work()
        assert [one.revision for one in asked] == [0, 0]
        assert {one.id for one in asked}.isdisjoint({one.id for one in held})
        assert ana.answer(asked[0], {asked[0].questions[0].id: 5}).status == 200
        versions = [(row["version"], row["counts"]) for row in third.history()]
        assert versions == [(1, False), (1, False), (2, True)]
        table = stored_annotations(third.store)
        assert table.labels["label"].to_list() == [5]
        assert any("the question has changed" in str(note) for note in vars(table.reading).values())
        # An answer in transit to the old question is kept as an answer to the old question.
        assert ana.answer(held[0].id, {held[0].questions[0].id: 1}, revision=1).status == 200
        assert stored_annotations(third.store).labels["label"].to_list() == [5]


def test_reverted_words_restore_the_earlier_version(serve: Any) -> None:
    first = serve(items=3)
    held = first.annotator().work()
    assert first.annotator().answer(held[0]).status == 200
    for text, changed in (("Really?", "new-version"), ("How many stars?", None), ("How many stars? ", None)):
        with edited(first, lambda study, text=text: study["questions"][0].update(text=text), changed) as later:
            asked = later.annotator().work()
    assert [one.id for one in asked][:2] == [one.id for one in held][1:3], "the item that was answered is not asked"
    with edited(first, lambda study: study["questions"][0].update(optional=True, keys={})) as last:
        assert last.annotator().answer(held[1]).status == 200
        assert [row["version"] for row in last.history()] == [1, 1]
        assert len(stored_annotations(last.store)) == 2
        forms = [row.definition["questions"][0]["reads"] for row in last.rows(tables.forms)]
        assert [one.get("optional", False) for one in forms] == [False, False, True], "and the record has the texts"


# -- changes of the study while it is served --------------------------------------------------------


def reworded(study: Any) -> None:
    study["questions"][0]["text"] = "How many stars, really?"


def test_running_page_follows_a_changed_study_with_notice(serve: Any) -> None:
    page = serve(items=2)
    ana = page.annotator()
    lead = page.lead()
    for task in ana.work():
        assert ana.answer(task).status == 200
    assert "100%" in lead.send("GET", "/lead").text
    edit(page, reworded)
    study = load_study(page.folder)
    said = lead.send("GET", "/lead/live").text
    assert "was edited, but this page still serves the earlier version" in said
    assert len(stored_annotations(page.store)) == 2, "the page and the table belong to the earlier study"
    with open_store(study) as shell:  # as `assay people invite --new-version` does in another process
        sync_study(shell, study, "new-version")
    said = lead.send("GET", "/lead/live").text
    assert "The study was changed" in said
    assert "&#39;stars&#39; (version 2)" in said
    assert "still serves the earlier version" not in said
    assert ">0%" in said
    assert "100%" not in said
    assert "2 more items were answered with an earlier version of the questions" in said
    assert lead.send("GET", "/lead/labels.csv").status == 404, "the page reports that nothing counts yet"
    again = ana.work()
    assert "How many stars, really?" in ana.send("GET", "/work").text
    assert ana.answer(again[0]).status == 200
    assert "50%" in lead.send("GET", "/lead/live").text
    assert lead.send("GET", "/lead/labels.csv").text.count("\n") == 2, "a heading and the one answer"
    assert len(study_labels(study)) == 1


def test_answer_sent_during_a_change_belongs_to_its_question(serve: Any) -> None:
    page = serve(items=2)
    ana = page.annotator()
    held = ana.work()
    edit(page, reworded)
    with open_store(page.study) as shell:
        sync_study(shell, load_study(page.folder))
    assert ana.answer(held[0]).status == 200
    assert [(row["version"], row["counts"]) for row in page.history()] == [(1, False)]
    assert {one.id for one in ana.work()}.isdisjoint({one.id for one in held})


def test_page_that_cannot_show_a_change_reports_it_and_loses_nothing(serve: Any) -> None:
    page = serve(items=2)
    ana, lead = page.annotator(), page.lead()
    assert ana.answer(ana.work()[0]).status == 200
    edit(page, lambda study: study["questions"][0].update(show=["nothing"]))
    with open_store(page.study) as shell:
        sync_study(shell, load_study(page.folder), "same-question")
    reply = ana.send("GET", "/work")
    assert (reply.status, "being updated" in reply.text) == (503, True)
    assert "cannot be shown" in lead.send("GET", "/lead").text
    edit(page, lambda study: study["questions"][0].update(show=["text"]))
    with open_store(page.study) as shell:
        sync_study(shell, load_study(page.folder))
    assert ana.send("GET", "/work").status == 200


def test_labels_of_old_and_new_texts_are_distinguished(serve: Any) -> None:
    page = serve(items=1, who=("ana", "ben"))
    assert page.annotator("ana").answer(page.annotator("ana").work()[0]).status == 200
    (page.folder / "items.jsonl").write_text('{"item": "i000", "text": "Another text."}\n')
    with page.again() as later:
        ben = later.annotator("ben")
        assert ben.answer(ben.work()[0]).status == 200
        labels = stored_annotations(later.store)
        assert dict(zip(labels.labels["annotator"], labels.column("content_version"), strict=True)) == {
            "ana": 1,
            "ben": 2,
        }
        assert any("1 item has labels on several versions of the content" in line for line in labels.reading.lines())
        head, *rows = later.lead().send("GET", "/lead/labels.csv").text.splitlines()
        at = head.split(",").index("content_version")
        assert {row.split(",")[1]: row.split(",")[at] for row in rows} == {"ana": "1", "ben": "2"}


def test_changed_checks_file_is_read_again(serve: Any) -> None:
    checks = [{"item": "c1", "text": "Say four.", "stars": 4}]
    page = serve(people={"checks": {"file": "checks.jsonl", "every": 2}}, tables={"checks.jsonl": checks})
    assert known_items(page.store, "check")["c1"]["labels"] == {"stars": 4}
    (page.folder / "checks.jsonl").write_text(json.dumps({**checks[0], "stars": 5}) + "\n")
    with page.again() as later:
        assert known_items(later.store, "check")["c1"]["labels"] == {"stars": 5}


# -- links, consent, pauses -------------------------------------------------------------------------


def test_invalid_links_are_refused(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LINK_DAYS", 2)
    page = serve(who=("ana", "ben", "chi"), people={})
    good = page.annotator("ana")
    token = good.link.removeprefix("/join/")
    head, stamp, signature = token.split(".")
    study = study_id(page.store)
    other = Signer("another secret, also quite long", study).person_token("ana", 1)
    with monkeypatch.context() as past:
        past.setattr("itsdangerous.timed.time.time", lambda: 1_700_000_000)
        expired = Signer(SECRET, study, 2).person_token("ana", 1)
    stranger = Signer(SECRET, study).person_token("stranger", 1)
    new_link(page.store, "ben")
    set_state(page.store, "chi", "revoked")
    wrong = {
        "expired": (expired, "expired"),
        "another secret": (other, "invalid"),
        "truncated": (token[:-5], "incomplete"),
        "no signature": (f"{head}.{stamp}", "incomplete"),
        "altered": (f"WyJiZW4iLDFd.{stamp}.{signature}", "invalid"),
        "someone unknown": (stranger, "any participant"),
        "superseded": (page.links["ben"].removeprefix("/join/"), "newer link"),
        "revoked": (page.links["chi"].removeprefix("/join/"), "deactivated"),
        "the lead's": (lead_path(page.study, page.store).removeprefix("/lead/join/"), "invalid"),
        "rubbish": ("..%00%F0%9F", "invalid"),
    }
    for name, (one, words) in wrong.items():
        reply = page.visitor(f"/join/{one}").join()
        assert (reply.status, reply.headers.get("set-cookie")) == (403, None), name
        assert words in reply.text, name
        assert "<main" in reply.text, name
        cookie = {"Cookie": f"assay={one}"}
        for method, path, body in (
            ("GET", "/pages?after=0", None),
            ("POST", "/answers", good.body(1, {"1": 1})),
            ("PUT", "/drafts/1", {"revision": 0, "body": {}}),
        ):
            if name != "rubbish":
                refused = page.visitor().send(method, path, body, cookie)
                assert (refused.status, refused.json()["error"]) == (403, "link"), (name, path)
        lead = page.visitor().send("GET", "/lead", None, {"Cookie": f"assay_lead={one}"})
        assert lead.status == (200 if name == "the lead's" else 403), name
    assert page.visitor().send("GET", "/pages?after=0").status == 401
    assert page.visitor().send("POST", "/answers", good.body(1, {"1": 1})).status == 401
    assert page.visitor().send("GET", "/work").status == 401
    assert good.send("GET", "/lead").status == 403
    # A cookie is invalid after its link is revoked.
    set_state(page.store, "ana", "revoked")
    assert good.send("GET", "/pages?after=0").json()["error"] == "link"


def test_consent_is_required_again_after_a_change(serve: Any) -> None:
    page = serve(people={"consent": "We keep your <answers>."})
    ana = page.annotator(join=False)
    reply = ana.join(agree=False)
    assert reply.headers["location"] == "/consent"
    assert "We keep your &lt;answers&gt;." in ana.send("GET", "/consent").text
    for method, path, body in (
        ("GET", "/pages?after=0", None),
        ("POST", "/answers", ana.body(1, {"1": 1})),
        ("PUT", "/drafts/1", {"revision": 0, "body": {}}),
        ("GET", "/images/1/0", None),
    ):
        refused = ana.send(method, path, body)
        assert refused.status == 403, path
    assert ana.send("GET", "/work/1").headers["location"] == "/consent"
    assert ana.form("/consent", agree="no").status == 422
    assert ana.form("/consent").status == 422
    assert page.rows(tables.tasks) == []
    assert ana.form("/consent", agree="yes").status == 303
    assert len(ana.work()) > 0
    with edited(page, lambda study: study["people"].update(consent="We store more.")) as later:
        assert later.annotator(join=False).join(agree=False).headers["location"] == "/consent"


def test_pause_assigns_nothing_and_loses_nothing(serve: Any) -> None:
    page = serve(who=("ana", "ben"))
    ana, ben, lead = page.annotator("ana"), page.annotator("ben"), page.lead()
    task = ana.work()[0]
    assert lead.form("/lead/people/state", name="ana", state="paused").status == 303
    assert ana.pages()[1]["end"]["kind"] == "paused"
    assert ana.answer(task).status == 200  # an answer in transit is kept
    assert ben.pages()[1]["end"] is None
    assert lead.form("/lead/people/state", name="ana", state="active").status == 303
    assert lead.form("/lead/study", state="paused").status == 303
    for person in (ana, ben):
        assert person.pages()[1]["end"]["kind"] == "paused"
        assert "paused" in person.send("GET", "/work").text
    assert lead.form("/lead/study", state="open").status == 303
    assert ana.pages()[0]


def test_serving_other_machines_requires_a_secret(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("ASSAY_SECRET", raising=False)
    folder = write_study(tmp_path / "study", items=2)
    for arguments, words in (
        (("--host", "0.0.0.0"), "ASSAY_SECRET"),
        (("--host", "::"), "ASSAY_SECRET"),
        (("--host", "192.168.1.7"), "ASSAY_SECRET"),
        (("--host", "0.0.0.0", "--secret", "short"), "at least 16"),
    ):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["serve", str(folder), *arguments])
        assert stopped.value.code not in (0, None)
        assert words in capsys.readouterr().err
    assert not (folder / "study.db").exists()


# -- sessions ---------------------------------------------------------------------------------------


def test_sessions_have_one_scale_and_open_at_their_time(serve: Any, clock: Any) -> None:
    scales = ["interval:0-5", "interval:0-10"]
    who = [f"person {n}" for n in range(8)]
    page = serve(items=3, people={"days_apart": 2}, conditions={"scale": scales}, who=who)
    first = set()
    for name in who:
        person = page.annotator(name)
        highest = person.work()[0].questions[0].high
        first.add(highest)
    assert first == {5, 10}  # drawn for each person
    ana = page.annotator(who[0])
    task = ana.work()[0]
    high = task.questions[0].high
    assert high is not None
    assert "Session 1 of 2" in ana.send("GET", "/work").text
    assert ana.answer(task, {task.questions[0].id: high + 0.5}).status == 422
    assert ana.work_through() == "later"
    order = [row["item"] for row in page.history()]
    assert "opens on" in ana.send("GET", "/work").text
    clock.later(days=1.99)
    assert ana.pages()[1]["end"]["kind"] == "later"
    clock.later(days=0.02)
    task = ana.work()[0]
    assert {high, task.questions[0].high} == {5, 10}
    assert ana.work_through() == "done"
    assert Counter(json.loads(row["condition"])["scale"] for row in page.history()) == dict.fromkeys(scales, 3)
    assert sorted(order) == sorted(row["item"] for row in page.history()[3:])
    labels = stored_annotations(page.store).labels
    assert set(labels["scale"].to_list()) == set(scales)
    assert sorted(labels["session"].unique().to_list()) == [1, 2]


# -- on to the report -------------------------------------------------------------------------------


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def collected(serve: Any, capsys: Any, **people: Any) -> Path:
    """A study of 30 items that a judge and three people have answered; its folder."""
    replies = [{"item": f"i{n:03d}", "judge": "tiny", "reply": json.dumps({"label": n % 5 + 1})} for n in range(30)]
    page = serve(
        items=30,
        people=people,
        judges=[{"name": "tiny", "provider": "recorded", "file": "replies.jsonl"}],
        tables={"replies.jsonl": replies},
        who=("ana", "ben", "chi"),
    )
    assert run(capsys, "judge", str(page.folder))[0] == 0
    for name in ("ana", "ben", "chi"):
        assert page.annotator(name).work_through() == "done"
    assert stored_annotations(page.store).labels.height == 30 + 3 * (30 + int(30 * people.get("retest", 0)))
    return page.folder


def test_report_reads_a_collected_study(serve: Any, capsys: Any) -> None:
    folder = collected(serve, capsys)
    html = folder / "report.html"
    code, out, err = run(capsys, "report", str(folder), "--expertise", "crowd", "--output", str(html))
    assert code == 0, (out, err)
    assert "tiny" in out
    assert html.stat().st_size > 10_000


def test_repeated_answers_require_an_option(serve: Any, capsys: Any) -> None:
    folder = collected(serve, capsys, retest=0.5)
    command = ("alt-test", str(folder), "--expertise", "crowd", "--judge", "tiny")
    code, out, err = run(capsys, *command)
    assert (code, out) == (2, "")
    assert "specify how to combine them with --repeats first" in err
    code, out, err = run(capsys, *command, "--repeats", "first")
    assert code == 0, (out, err)
    assert "items:30|humans:3|judge:tiny" in out


# -- invitations ------------------------------------------------------------------------------------


def test_invalid_invitations_are_refused(tmp_path: Path) -> None:
    folder = write_study(
        tmp_path / "study",
        items=2,
        people={"overlap": {"job": {"nurse": 2, "lay": 1}}},
        judges=[{"name": "tiny", "provider": "recorded", "file": "replies.jsonl"}],
        labels="labels.jsonl",
        tables={"labels.jsonl": [{"item": "i000", "annotator": "Old Hand", "label": 3}], "replies.jsonl": []},
    )
    with Served(folder, {"ana": {"job": "nurse"}}) as page:
        design = page.design
        nurse = {"job": "nurse"}
        for name, about, words in (
            ("ana", nurse, "'ana' is invited already; choose another name, or make a new link on the lead's page"),
            (" ana ", nurse, "'ana' is invited already"),
            ("tiny", nurse, "'tiny' is the name of a judge; call the person something else"),
            ("Old Hand", nurse, "'Old Hand' has labels in the file of labels; choose another name"),
            ("ben", {}, "'ben' requires the attribute 'job' (nurse, lay)"),
            ("ben", {"job": "cook"}, "'cook' is not a group of the study"),
            ("", nurse, "a name must have 1 to 200"),
            ("x" * 201, nurse, "a name must have 1 to 200"),
        ):
            with pytest.raises(StudyError) as refused:
                invite(design, name, about)
            assert words in str(refused.value).replace("'nurse'", "nurse").replace("'lay'", "lay"), name
            told = page.lead().form(
                "/lead/people", name=name, attributes=", ".join(f"{k}={v}" for k, v in about.items())
            )
            assert told.status == 422, name
        assert page.lead().form("/lead/people", name="ben", attributes="job").status == 422
        assert page.lead().form("/lead/people", name="ben", attributes="job=lay, age=33").status == 303
        assert link_of(page.study, page.store, "ben").startswith("/join/")
