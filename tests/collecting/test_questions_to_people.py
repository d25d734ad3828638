"""Questions to the person: before the first item and after the last, a quiz with tries, columns of the annotator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from annotating import Annotator, Served
from test_crowd import CODES, PROLIFIC, Worker, outcomes

from assay.errors import StudyError
from assay.study.store import tables
from assay.study.store.table import stored_annotations

ASK = {
    "before": {
        "gender": {"What is your gender?": ["woman", "man", "other"]},
        "age": {"How old are you?": "18-99"},
        "goal": {"What does 5 stars mean?": {"Excellent": True, "Very bad": "5 is the best.", "Nothing": False}},
    },
    "after": {"remarks": {"Anything to add?": "text"}, "hard": {"How hard was it?": "1-5"}},
}
ABOUT = {"q-gender": "woman", "q-age": "34", "q-goal": "Excellent"}


def attributes(page: Served, name: str = "ana") -> Any:
    (row,) = page.rows(tables.annotators, tables.annotators.c.annotator == name)
    return (row.definition or {}).get("attributes", {})


def joined(page: Served, name: str = "ana") -> Annotator:
    """A person who has opened their link."""
    person = page.annotator(name, join=False)
    person.join()
    return person


def work_on(ana: Annotator) -> str:
    """Answer all items; return the kind of end."""
    while True:
        tasks, rest = ana.pages()
        if not tasks:
            return str(rest["end"]["kind"])
        assert ana.answer(tasks[0], {tasks[0].questions[0].id: 3}).status == 200


@pytest.mark.slow
def test_answers_become_columns_of_the_annotator(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana", "ben"), items=2, people={"ask": ASK})
    for name, gender, age in (("ana", "woman", "34"), ("ben", "man", "51")):
        person = joined(page, name)
        reply = person.send("GET", "/work")
        assert (reply.status, reply.headers["location"]) == (303, "/questions")
        assert "What does 5 stars mean?" in person.send("GET", "/questions").text
        tasks, rest = person.pages()
        assert (tasks, rest["end"]["kind"]) == ([], "asks"), "no item before the questions are answered"
        person.form("/questions", number="1", **ABOUT | {"q-gender": gender, "q-age": age})
        assert person.send("GET", "/work").status == 200
        assert work_on(person) == "asks"
        html = person.send("GET", "/questions").text
        assert ("A few last questions" in html, "How hard was it?" in html) == (True, True)
        person.form("/questions", number="2", **{"q-remarks": "", "q-hard": "2"})
        assert person.pages()[1]["end"]["kind"] == "done"
    assert attributes(page) == {"gender": "woman", "age": 34, "hard": 2}, "the quiz and an empty text are no columns"
    about = stored_annotations(page.store).annotators.select("annotator", "gender", "age", "hard")
    assert about.rows() == [("ana", "woman", 34, 2), ("ben", "man", 51, 2)]
    replies = page.rows(tables.replies, tables.replies.c.person == "ana")
    assert [(row.number, row.stage, row.wrong) for row in replies] == [(1, "before", []), (2, "after", [])]
    assert replies[0].given == {"gender": "woman", "age": 34, "goal": "Excellent"}


def test_wrong_answers_are_asked_again_with_feedback(serve: Callable[..., Served]) -> None:
    page = serve(items=1, people={"ask": ASK, "tries": 2, "instructions": "Read **first**."})
    ana = joined(page)
    first = ana.send("GET", "/questions").text
    assert "<strong>first</strong>" in first
    ana.form("/questions", number="1", **ABOUT | {"q-goal": "Very bad"})
    html = ana.send("GET", "/questions").text
    assert ("5 is the best." in html, "Tries left: 1" in html) == (True, True)
    assert "What is your gender?" not in html, "accepted answers are not asked again"
    ana.form("/questions", number="1", **ABOUT | {"q-goal": "Very bad"})
    assert "Tries left: 1" in ana.send("GET", "/questions").text, "a form that is sent twice is one try"
    ana.form("/questions", number="2", **{"q-goal": "Excellent"})
    assert ana.send("GET", "/work").status == 200
    assert attributes(page) == {"gender": "woman", "age": 34}


@pytest.mark.slow
def test_person_without_tries_gets_no_items(serve: Callable[..., Served]) -> None:
    page = serve(items=1, people={"ask": ASK, "tries": 2})
    ana = joined(page)
    for number in ("1", "2"):
        ana.form("/questions", number=number, **ABOUT | {"q-goal": "Nothing"})
    assert ana.pages()[1]["end"]["kind"] == "stopped"
    assert ana.send("GET", "/questions").headers["location"] == "/work"
    assert ana.form("/questions", number="3", **ABOUT).status == 303
    assert len(page.rows(tables.replies)) == 2
    html = page.lead().send("GET", "/lead").text
    assert "answered comprehension questions incorrectly (2 of 2 tries)" in html


def test_incomplete_answers_are_refused(serve: Callable[..., Served]) -> None:
    page = serve(items=1, people={"ask": ASK})
    ana = joined(page)
    for wrong in ({"q-age": "17"}, {"q-age": "x"}, {"q-gender": "none of these"}, {"q-goal": ""}):
        reply = ana.form("/questions", number="1", **ABOUT | wrong)
        assert (reply.status, reply.text.count("Please answer this question.")) == (422, 1), wrong
        assert "Please answer every question." in reply.text
    assert page.rows(tables.replies) == []
    assert ana.form("/questions", **ABOUT).status == 422, "a form without its number"
    assert page.visitor().send("GET", "/questions").status == 401


def test_answers_that_the_sheet_has_are_not_asked(serve: Callable[..., Served]) -> None:
    page = serve(who={"ana": {"gender": "woman", "age": "34"}}, items=1, people={"ask": ASK})
    html = joined(page).send("GET", "/questions").text
    assert ("your gender" in html, "How old" in html, "5 stars" in html) == (False, False, True)


@pytest.mark.slow
def test_group_of_overlap_can_be_asked(serve: Callable[..., Served]) -> None:
    ask = {"before": {"job": {"What is your job?": ["nurse", "doctor"]}}}
    page = serve(who=("ana", "ben", "chi"), items=2, people={"ask": ask, "overlap": {"job": {"nurse": 1, "doctor": 1}}})
    for name, job in (("ana", "nurse"), ("ben", "doctor"), ("chi", "nurse")):
        person = joined(page, name)
        person.form("/questions", number="1", **{"q-job": job})
        assert work_on(person) == "done"
    done = page.rows(tables.tasks, tables.tasks.c.state == "answered")
    assert sorted((row.annotator, row.party) for row in done) == [("ana", "nurse")] * 2 + [("ben", "doctor")] * 2
    with pytest.raises(StudyError, match="'cook' is not a group of the study"):
        page.design.check_attributes("dan", {"job": "cook"})


@pytest.mark.slow
def test_crowd_answers_before_and_after(serve: Callable[..., Served]) -> None:
    screening = {"native": {"Is English your first language?": {"yes": True, "no": False}}, "years": {"Age?": "18-99"}}
    people = {"crowd": PROLIFIC, "ask": {"screening": screening, **ASK}, "tries": 1}
    page = serve(who=(), items=2, people=people)

    def come(name: str, **said: str) -> Worker:
        worker = Worker(page, name)
        fields = {f"q-{key}": value for key, value in said.items()}
        given = worker.send("GET", f"/enter?{worker.query}").text
        given = given.partition('name="given" value="')[2].partition('"')[0].replace("&#34;", '"')
        worker.reply = worker.form("/enter", given=given, **fields)
        worker.cookie = "; ".join(one.partition(";")[0] for one in worker.reply.cookies)
        return worker

    assert CODES["screened"] in come("p1", native="no", years="30").reply.text
    assert CODES["screened"] in come("p2", native="yes", years="17").reply.text
    assert come("p3", native="yes").reply.status == 422
    p4 = come("p4", native="yes", years="30")
    p4.form("/questions", number="1", **ABOUT)
    assert p4.work_on() == "asks"
    assert outcomes(page)["p4"] is None, "the visit ends after the closing questions"
    p4.form("/questions", number="2", **{"q-remarks": "Nice.", "q-hard": "1"})
    assert CODES["completed"] in p4.send("GET", "/work").text
    assert attributes(page, "p4") == {
        "native": "yes", "years": 30, "gender": "woman", "age": 34, "remarks": "Nice.", "hard": 1,
    }  # fmt: skip
    p5 = come("p5", native="yes", years="30")
    p5.form("/questions", number="1", **ABOUT | {"q-goal": "Nothing"})
    assert CODES["failed"] in p5.send("GET", "/work").text
    assert outcomes(page) == {"p1": "screened", "p2": "screened", "p4": "completed", "p5": "failed"}
    visits = {row.person: row.screening for row in page.rows(tables.visits)}
    assert visits["p1"] == '{"native":"no","years":"30"}'


def test_erase_removes_the_replies(serve: Callable[..., Served]) -> None:
    from assay.study.store.people import erase

    page = serve(who=("ana", "ben"), items=1, people={"ask": ASK})
    for name in ("ana", "ben"):
        joined(page, name).form("/questions", number="1", **ABOUT)
    erase(page.store, "ana")
    assert [row.person for row in page.rows(tables.replies)] == ["ben"]
