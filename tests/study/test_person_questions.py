"""Questions to a person: their forms in study.yaml, and the answers that they take."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pydantic", reason='a study needs the extra "judge"')

from assay.study.person_questions import PersonQuestion, person_question
from assay.study.schema import People, ValidationError


@pytest.mark.parametrize(
    ("options", "said", "read"),
    [
        ("18-99", " 30 ", 30), ("18-99", "17", None), ("18-99", "30.5", None), ("18-99", "", None),
        ("interval:0-100", "12.5", 12.5), ("interval:0-100", "101", None), ("text", " A note. ", "A note."),
        ("text", "", ""), ("nominal:yes,no", "yes", "yes"), (("a", "b"), "b", "b"), (("a", "b"), "c", None),
        ({"a": True, "b": False}, "b", "b"),
    ],
)  # fmt: skip
def test_read_returns_the_stored_answer(options: Any, said: str, read: Any) -> None:
    found = person_question("q", "?", options).read(said)
    assert (found, type(found)) == (read, type(read))


def test_question_of_each_form() -> None:
    age, note = person_question("age", "?", "18-99"), person_question("note", "?", "text")
    assert (age.ends, age.whole, age.optional) == (("18", "99"), True, False)
    assert (note.ends, note.whole, note.optional) == (("", ""), False, True)
    quiz = person_question("goal", "?", {"a": True, "b": False, "c": "It is a."})
    assert quiz == PersonQuestion("goal", "?", ("a", "b", "c"), wrong={"b": "", "c": "It is a."})


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"before": {"q": {"?": ["a"]}}}, "must have at least two different answers"),
        ({"before": {"q": {"?": ["a", "a"]}}}, "must have at least two different answers"),
        ({"before": {"q": {"?": {"a": False, "b": "no"}}}}, "must have at least one right answer"),
        ({"before": {"q": {"?": "one to five"}}}, "is not a scale"),
        ({"before": {"q": {"?": "several:a,b"}}}, "is not for people; write a list, a range such as 18-99, or text"),
        ({"before": {"q": {"?": ["a", "b"], "!": ["a", "b"]}}}, "must be one question with its answers"),
        ({"before": {"q": {"?": "text"}}, "after": {"q": {"?": "text"}}}, "'q' is used twice"),
        ({"before": {"item": {"?": "text"}}}, "'item' is a column of the table"),
        ({"during": {"q": {"?": "text"}}}, "'screening', 'before' or 'after'"),
    ],
)
def test_people_reject_questions_that_cannot_be_asked(ask: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        People.model_validate({"ask": ask})


def test_numbers_among_the_answers_are_text() -> None:
    people = People.model_validate({"ask": {"before": {"n": {"How many?": [1, 2, 2.5]}}}})
    assert [one.choices for one in people.asked("before")] == [("1", "2", "2.5")]
    assert people.asked("after") == ()
