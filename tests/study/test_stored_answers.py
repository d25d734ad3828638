"""Answers as the store keeps them: each is added once, closes its assignment, and counts or does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from small_store import answer, assign, rows  # noqa: E402

from assay.study.store import answers, tables  # noqa: E402
from assay.study.store.answers import FileLabel, HumanLabel, put_file_labels  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.items import digests_of  # noqa: E402


def given(store: Store, *columns: str) -> list[Any]:
    s = tables.answers.c
    with store.reading() as db:
        return [tuple(row) for row in db.execute(sa.select(*(s[c] for c in columns)).order_by(s.id))]


def test_answer_closes_its_assignment_unless_it_could_not_be_read(store):
    closing = {"valid": "answered", "unreadable": "open", "missing": "missing", "failed": "failed"}
    closing["withdrawn"] = "withdrawn"
    for n, status in enumerate(closing, 1):
        answer(store, assign(store, repeat=n), status)
    assign(store, item="r2")
    assert rows(store, "status", "answer") == [
        *((now, None if now == "open" else n) for n, now in enumerate(closing.values(), 1)), ("open", None)
    ]  # fmt: skip
    with store.writing() as db:  # the same request again adds nothing and changes nothing
        row = {"assignment": 2, "request_key": "2/0", "revision": 9, "status": "valid", "answered_at": 2.0}
        answers.append(db, row)
    assert given(store, "status", "revision") == [(status, 1) for status in closing]
    assert rows(store, "status")[1] == "open"


# -- labels from a file --------------------------------------------------------------------------------


def label(item: str, annotator: str = "ann", **more: Any) -> FileLabel:
    return FileLabel(item, **({"question": 2, "annotator": annotator, "condition": "{}", "repeat": 1} | more))


def put(store: Store, wanted: dict[FileLabel, tuple[Any, Any]]) -> None:
    with store.writing() as db:
        put_file_labels(db, wanted)


def test_labels_of_a_file_follow_it_and_what_they_were_stays(store):
    with store.reading() as db:
        digests = digests_of(db, ["r1", "r2"])
    first = {label("r1"): (3, None), label("r2"): (4, {"about": {"mood": "calm"}}), label("r1", "eva"): (1, None)}
    put(store, first)
    assert rows(store, "item", "annotator", "session", "recipe", "status", "active", "content") == [
        ("r1", "ann", "file", "", "answered", True, digests["r1"]),
        ("r2", "ann", "file", "", "answered", True, digests["r2"]),
        ("r1", "eva", "file", "", "answered", True, digests["r1"]),
    ]
    whole = ("assignment", "revision", "status", "label", "shown", "reason", "run")
    start = [(1, 1, "valid", 3, None, None, None), (2, 1, "valid", 4, {"about": {"mood": "calm"}}, None, None),
             (3, 1, "valid", 1, None, None, None)]  # fmt: skip
    assert given(store, *whole) == start
    put(store, first)  # nothing has changed
    assert given(store, *whole) == start
    # One label differs, one has other extra columns, and one is gone.
    put(store, {label("r1"): (5, None), label("r2"): (4, None)})
    gone = (3, 2, "withdrawn", None, None, "no longer in the file of labels", None)
    then = [(1, 2, "valid", 5, None, None, None), (2, 2, "valid", 4, None, None, None), gone]
    assert given(store, *whole) == [*start, *then]
    assert rows(store, "status") == ["answered", "answered", "withdrawn"]
    put(store, {label("r1"): (5, None), label("r2"): (4, None)})  # and is not withdrawn again
    assert given(store, *whole) == [*start, *then]
    put(store, {label("r1"): (5, None), label("r2"): (4, None), label("r1", "eva"): (2, None)})
    assert given(store, *whole)[len(start + then) :] == [(3, 3, "valid", 2, None, None, None)]
    assert rows(store, "status") == ["answered"] * 3


def test_label_that_is_corrected_is_of_the_content_of_now(store):
    put(store, {label("r1"): (3, None), label("r2"): (3, None)})
    a = tables.assignments
    with store.writing() as db:
        db.execute(sa.update(a).values(content="old"))
    put(store, {label("r1"): (4, None), label("r2"): (3, None)})
    with store.reading() as db:
        now = digests_of(db, ["r1"])["r1"]
    assert rows(store, "content") == [now, "old"]
    put(store, {label("r2"): (3, None)})
    with store.writing() as db:
        db.execute(sa.update(a).values(content="old"))
    put(store, {label("r1"): (4, None), label("r2"): (3, None)})  # given before, and only repeated
    assert rows(store, "content") == ["old", "old"]


def test_labels_to_questions_that_are_not_asked_now_stay(store):
    put(store, {label("r1"): (3, None), label("r1", question=3): (4, None)})
    page = assign(store, annotator="eva", session="page", recipe="page")
    answer(store, page)
    q = tables.questions
    with store.writing() as db:
        db.execute(sa.update(q).where(q.c.id == 3).values(current=False))
    put(store, {})
    assert rows(store, "status") == ["withdrawn", "answered", "answered"]


# -- answers on the page ---------------------------------------------------------------------------------


def task(**more: Any) -> Any:
    own = {"annotator": "eva", "item": "r1", "condition": "{}", "repeat": 1, "questions": "[2, 3]"}
    return SimpleNamespace(**own | {"shown": {"item": "d1"}} | more)


def say(store: Store, of: Any, question: int, revision: int, status: str = "valid", **more: Any) -> None:
    key = f"{of.annotator}{of.item}{of.condition}{of.repeat}{question}{revision}"
    row = {"request_key": key, "revision": revision, "status": status, "label": 3, "answered_at": 1.0}
    with store.writing() as db:
        answers.add_page_answer(db, of, question, row | more)


def test_answers_to_a_task_are_those_to_its_questions_about_its_item(store):
    mine = task()
    with store.reading() as db:
        assert answers.latest_revision(db, mine) == 0
    say(store, mine, 2, 1)
    say(store, mine, 3, 1)
    say(store, mine, 2, 2, label=5)
    others = [task(item="r2"), task(annotator="out"), task(condition="1"), task(repeat=2)]
    for one in others:
        say(store, one, 2, 7)
    say(store, mine, 1, 8)  # not a question of the task
    assign(store, annotator="eva", question=3, recipe="x")
    with store.reading() as db:
        found = [(row.question, row.revision, row.label) for row in answers.answers_to(db, mine)]
        assert found == [(2, 1, 3), (3, 1, 3), (2, 2, 5)]
        assert answers.latest_revision(db, mine) == 2
        about = [(row.item, row.question, row.revision, row.label) for row in answers.answers_by(db, "eva", ["r2"])]
        assert about == [("r2", 2, 7, 3)]
        assert len(answers.answers_by(db, "eva", ["r1", "r2"])) == 7
        assert answers.newest_answer(db) == 8
    with store.writing() as db:
        answers.withdraw(db, mine, "the text has changed", 9.0)
    assert given(store, "assignment", "revision", "status", "reason", "label", "answered_at")[8:] == [
        (1, 3, "withdrawn", "the text has changed", None, 9.0), (2, 3, "withdrawn", "the text has changed", None, 9.0)
    ]  # fmt: skip
    assert rows(store, "status")[:3] == ["withdrawn", "withdrawn", "answered"]


def test_first_answer_to_a_question_makes_its_assignment_and_later_ones_change_its_content(store):
    say(store, task(), 2, 1)
    columns = ("item", "question", "annotator", "recipe", "session", "status", "active", "content", "answer")
    assert rows(store, *columns) == [("r1", 2, "eva", "page", "page", "answered", True, "d1", 1)]
    say(store, task(shown={"item": "d2"}), 2, 2, "missing", label=None)
    assert rows(store, *columns) == [("r1", 2, "eva", "page", "page", "missing", True, "d2", 2)]


# -- what there is -----------------------------------------------------------------------------------------


def test_typical_output_requires_twenty_responses(store):
    """Tokens 1 to 19 and none of one reply: 19 are too few; with 120, the mean of twenty is (190 + 120) / 20."""
    number = assign(store)
    for n in range(1, 20):
        answer(store, number, "unreadable", tokens_out=n)
    answer(store, number, "failed", tokens_out=None)
    other = assign(store, annotator="n")
    for _ in range(20):
        answer(store, other, "unreadable", tokens_out=7)
    assert answers.typical_output(store, "m") is None
    answer(store, number, tokens_out=120)
    assert answers.typical_output(store, "m") == 15.5
    assert answers.typical_output(store, "n") == 7.0
    assert answers.typical_output(store, "old") is None


def test_labels_of_people_that_count_come_in_the_order_of_the_items(store):
    cases: list[tuple[dict[str, Any], str]] = [
        ({"item": "r2"}, "valid"), ({"condition": '{"scale":"0-10"}'}, "valid"), ({"annotator": "ann"}, "valid"),
        ({"annotator": "m"}, "valid"), ({"annotator": "out"}, "valid"), ({"annotator": "zoe"}, "valid"),
        ({"question": 3}, "valid"), ({"item": "gone"}, "valid"), ({"item": "r3"}, "missing"),
        ({"item": "r4", "active": False}, "valid"),
    ]  # fmt: skip
    for label, (more, status) in enumerate(cases, 1):
        answer(store, assign(store, **{"annotator": "eva"} | more), status, label=label)
    assert answers.human_labels(store, 2) == [
        HumanLabel("r1", "d1", 3, None), HumanLabel("r1", "d1", 2, "0-10"), HumanLabel("r2", "d0", 1, None)
    ]  # fmt: skip


def test_history_marks_answers_that_count(store):
    first = assign(store, condition='{"a":1}', repeat=2)
    answer(store, first, "unreadable", "valid", shown={"é": 1})
    answer(store, assign(store, active=False))
    answer(store, assign(store, question=1), "missing")
    found = answers.history(store)
    assert found.select("criterion", "version", "repeat", "status", "label", "shown", "counts").rows() == [
        ("quality", 2, 2, "unreadable", None, '{"é": 1}', False), ("quality", 2, 2, "valid", "3", '{"é": 1}', True),
        ("quality", 2, 1, "valid", "3", None, False), ("quality", 1, 1, "missing", None, None, False),
    ]  # fmt: skip
    assert found.columns[:6] == ["item", "criterion", "version", "annotator", "condition", "repeat"]
    assert not {"id", "assignment"} & set(found.columns)


def test_latest_reply_to_each_question_that_is_asked_now(store):
    def ask(*statuses: str, reply: str | None = "said", **more: Any) -> int:
        return answer(store, assign(store, **more), *statuses, reply=reply, fingerprint=more.get("recipe"))

    with store.writing() as db:
        db.execute(sa.insert(tables.prompts).values(fingerprint="f", body="[]"))
    ask("unreadable", item="r2", condition='{"t":1}')
    ask("valid", "failed", annotator="n", recipe="f")
    ask("missing", item="r3")
    for more in ({"question": 1}, {"active": False, "recipe": "x"}, {"item": "gone"}):
        ask("valid", **more)
    ask("valid", item="r4", reply=None)

    def found(**which: Any) -> list[tuple[str, str]]:
        return [(row["item"], row["status"]) for row in answers.latest_replies(store, **which)]

    every = answers.latest_replies(store)
    assert every[0] == {
        "annotator": "n", "item": "r1", "criterion": "quality", "condition": {}, "repeat": 1, "status": "valid",
        "label": 3, "reason": None, "reply": "said", "reasoning": None, "prompt": "[]",
    }  # fmt: skip
    assert every[1]["condition"] == {"t": 1}
    assert every[1]["prompt"] is None
    assert found() == [("r1", "valid"), ("r2", "unreadable"), ("r3", "missing")]
    assert found(unreadable=True) == [("r2", "unreadable"), ("r3", "missing")]
    assert found(judges=["n"]) == [("r1", "valid")]
    assert found(item="r3") == [("r3", "missing")]
    assert found(item="r3", judges=["n"]) == []


@pytest.mark.parametrize(
    ("text", "kept"), [("plain", "plain"), ("é", "é"), ("a\0b", "a\\x00b"), ("\ud83dé\0", "\\ud83dé\\x00")]
)
def test_texts_are_kept_as_both_databases_take_them(text, kept):
    assert answers._storable(text) == kept


def test_row_of_an_answer_of_a_judge():
    made = answers.Answer("valid", 4, reply="a\0", shown={"order": ["x"]}, prompt="{}", cost=0.5)
    row = answers._row(made, 7, 3, 2)
    assert row.pop("answered_at") > 1.7e9
    assert row == {
        "status": "valid", "label": 4, "reason": None, "reply": "a\\x00", "reasoning": None, "shown": {"order": ["x"]},
        "model": None, "fingerprint": None, "tokens_in": None, "tokens_out": None, "cost": 0.5, "latency": None,
        "assignment": 7, "run": 3, "revision": 2, "request_key": "7:2",
    }  # fmt: skip
