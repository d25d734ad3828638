"""Answers of an earlier session, or before an item was repeated, are neither shown nor changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from annotating import Annotator, Served

from assay.study import schema
from assay.study.store import tables
from assay.study.store.connection import connect
from assay.study.store.people import closed_up_to

TWO_SCALES = {
    "questions": [{"name": "quality", "text": "How good is it?", "scale": "interval:0-10"}],
    "conditions": {"scale": ["interval:0-5", "interval:0-100"]},
}


def answer_session(ana: Annotator, items: int) -> list[Any]:
    """Answer a number of items, each with a number to search for later; return the tasks."""
    found = []
    for number in range(items):
        task = ana.work()[0]
        reply = ana.keep(task, {task.questions[0].id: 3.25 + number / 100}, comment=f"mine {number}")
        assert reply.json()["saved"]
        found.append(task)
    return found


def says_nothing_of(page: Served, ana: Annotator, tasks: list[Any]) -> None:
    """No response contains the answers to these tasks, and they cannot be changed."""
    pages = [ana.send("GET", path) for path in ("/work", "/pages?after=0", *(f"/work/{one.page}" for one in tasks))]
    for task in tasks:
        before = page.history()
        changed = ana.answer(task, {task.questions[0].id: 4}, revision=1)
        assert (changed.status, changed.json()["error"]) == (409, "closed")
        assert "html" not in changed.json()
        pages += [changed, ana.answer(task, {task.questions[0].id: 4}, revision=0)]
        body = {"revision": 1, "body": {"answers": {}}}
        assert ana.send("PUT", f"/drafts/{task.id}", body).status == 409
        assert page.history() == before, "nothing was written"
    for reply in pages:
        assert "3.2" not in reply.text, reply.text
        assert "mine" not in reply.text, reply.text
        assert not {one.id for one in tasks} & {int(one) for one in _tasks_in(reply.text)}


def _tasks_in(text: str) -> list[str]:
    return re.findall(r'data-task=\\?"(\d+)', text)


def test_session_closes_when_the_next_begins(serve: Callable[..., Served]) -> None:
    page = serve(items=3, **TWO_SCALES)
    ana = page.annotator()
    first = answer_session(ana, 3)
    assert [one.page for one in ana.pages(after=3)[0]] == [4, 5, 6], "the second session has begun"
    says_nothing_of(page, ana, first)
    assert ana.send("GET", "/work/1").headers["location"] == "/work"
    assert ana.pages()[1]["closed"] == 3
    with connect(page.store) as db:
        assert (closed_up_to(db, "ana"), closed_up_to(db, "nobody")) == (3, 0)


@pytest.mark.slow
def test_session_is_closed_while_the_next_waits(serve: Callable[..., Served], clock: Any) -> None:
    page = serve(items=2, people={"days_apart": 7}, **TWO_SCALES)
    ana = page.annotator()
    (first,) = answer_session(ana, 1)
    own = ana.work(first.page)[0]
    assert own.questions[0].given == "3.25", "earlier pages are accessible during the session"
    assert ana.answer(own, {own.questions[0].id: 3.27}).status == 200
    (last,) = answer_session(ana, 1)
    assert ana.pages(after=2)[1]["end"]["kind"] == "later"
    says_nothing_of(page, ana, [first, last])
    clock.later(days=8)
    assert ana.pages(after=2)[0][0].page == 3
    says_nothing_of(page, ana, [first, last])


@pytest.mark.slow
def test_repeated_item_closes_its_first_answer(serve: Callable[..., Served]) -> None:
    page = serve(items=24, people={"retest": 0.5, "ahead": 1, "order": "fixed"}, **{
        "questions": TWO_SCALES["questions"]
    })  # fmt: skip
    ana = page.annotator()
    first = answer_session(ana, schema.RETEST_GAP + 3)
    again = [row for row in page.rows(tables.tasks) if row.repeat == 2]
    (once,) = [one for one in page.rows(tables.tasks) if one.item == again[0].item and one.repeat == 1]
    says_nothing_of(page, ana, [one for one in first if one.page <= once.page])
    later = ana.work(once.page + 1)[0]
    assert later.questions[0].given is not None, "the later pages are still open"


@pytest.mark.slow
def test_repeated_save_is_acknowledged_after_the_session_closed(serve: Callable[..., Served]) -> None:
    page = serve(items=1, **TWO_SCALES)
    ana = page.annotator()
    (task,) = ana.work()
    body = ana.body(task, {task.questions[0].id: 2})
    assert ana.send("POST", "/answers", body).status == 200
    assert ana.pages(after=1)[0], "the next session"
    again = ana.send("POST", "/answers", body)
    assert (again.status, again.json()["again"]) == (200, True)


@pytest.mark.slow
def test_reopened_item_is_answered_in_a_closed_session(serve: Callable[..., Served]) -> None:
    page = serve(items=2, **TWO_SCALES)
    ana = page.annotator()
    first = answer_session(ana, 2)
    ana.pages(after=2)
    assert page.lead().form("/lead/reopen", task=str(first[0].id)).status == 303
    (back,) = [one for one in ana.pages()[0] if one.id == first[0].id]
    assert (back.state, back.questions[0].given) == ("reopened", None)
    assert ana.answer(back, {back.questions[0].id: 1}).status == 200
    assert ana.answer(back, {back.questions[0].id: 2}, revision=3).json()["error"] == "closed"


@pytest.mark.slow
def test_first_answer_in_transit_is_kept(serve: Callable[..., Served], clock: Any) -> None:
    """Assigned in session 1, answered offline, sent when its place was taken and session 2 had begun."""
    page = serve(items=1, who=("ana", "ben"), people={"overlap": 1, "days_apart": 0}, **TWO_SCALES)
    ana, ben = page.annotator("ana"), page.annotator("ben")
    (task,) = ana.work()
    clock.later(minutes=schema.PAGE_RESERVED_MINUTES + 1)
    ben.work_through()
    ana.pages()
    reply = ana.answer(task, {task.questions[0].id: 1})
    assert (reply.status, reply.json()["extra"]) == (200, True)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1])
def test_earlier_pages_are_accessible_without_sessions(serve: Callable[..., Served], after: int) -> None:
    page = serve(items=3, questions=TWO_SCALES["questions"])
    ana = page.annotator()
    first = answer_session(ana, 3)
    assert ana.pages(after=3)[1]["end"]["kind"] == "done"
    own = ana.work(first[after].page)[0]
    assert own.questions[0].given == f"{3.25 + after / 100:g}"
    assert f"mine {after}" in ana.send("GET", f"/work/{own.page}").text, "the typed text is there as well"
    assert ana.answer(own, {own.questions[0].id: 1}).status == 200
