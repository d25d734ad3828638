"""The log of annotators' work, by hand: progress, missing answers, and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from small_store import small_store  # noqa: E402

from assay.study.store import people, tables, work_log  # noqa: E402
from assay.study.store.answers import add_page_answer  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.people import ADDED, Slot, give  # noqa: E402
from assay.study.store.work_log import PersonSums, Shortfall, WorkLog  # noqa: E402

NOW = 1000.0


def logged(*tasks: dict[str, Any], seconds: list[tuple[Any, ...]] | None = None) -> WorkLog:
    """A log that holds these tasks, each of Eva, to i1 and answered unless said otherwise."""
    log = WorkLog()
    own = {
        "annotator": "eva", "item": "i1", "questions": "q", "condition": "c", "role": "item", "party": "g",
        "state": "answered", "repeat": 1, "session": 1, "extra": False, "expires_at": NOW, "closed_at": None,
    }  # fmt: skip
    every = [{"id": number} | own | task for number, task in enumerate(tasks, 1)]
    log.tasks = work_log.log_frame([tuple(one[name] for name in work_log.TASKS) for one in every], work_log.TASKS)
    if seconds is not None:
        log.seconds = work_log.log_frame(seconds, work_log.SECONDS)
    return log


def test_progress_by_person():
    log = logged(
        {"session": 2, "closed_at": 7.0}, {"item": "i2", "state": "skipped", "closed_at": 9.0},
        {"item": "i3", "state": "given"}, {"item": "i4", "state": "reopened"}, {"role": "check"},
        {"role": "warm-up", "session": 3}, {"role": ADDED, "session": 4}, {"questions": "old", "session": 9},
        {"questions": "old", "state": "skipped"}, {"questions": "old", "role": "warm-up"},
        {"questions": "old", "role": ADDED}, {"questions": "q2"}, {"annotator": "fay", "questions": "old"},
    )  # fmt: skip
    assert log.progress_by_person(["q", "q2"]) == {
        "eva": PersonSums("eva", done=4, skipped=1, earlier=1, session=3, last=9.0),
        "fay": PersonSums("fay", done=0, skipped=0, earlier=1, session=None, last=None),
    }
    assert log.states_and_roles([2, 5, 99]) == {2: ("skipped", "item"), 5: ("answered", "check")}


def test_minutes_are_the_median_over_tasks_of_the_sum_over_saves():
    """Eva: i1 was saved twice, 60 s and then 30 s, each with two questions: 90 s; i2 30 s: the median is 60 s."""
    log = logged(seconds=[
        ("eva", "i1", "c", 1, 1, 1, 60.0), ("eva", "i1", "c", 1, 2, 1, 60.0), ("eva", "i1", "c", 1, 1, 2, 30.0),
        ("eva", "i2", "c", 1, 1, 1, 30.0), ("eva", "i2", "c", 1, 9, 1, 500.0), ("fay", "i1", "c", 1, 2, 1, 90.0),
        ("fay", "i1", "d", 1, 2, 1, 30.0), ("fay", "i1", "c", 2, 2, 1, 120.0),
    ])  # fmt: skip
    assert log.minutes_by_person([1, 2]) == {"eva": 1.0, "fay": 1.5}
    assert log.minutes_by_person([9]) == {"eva": 500 / 60}


def test_flagged_items_are_counted_once():
    def remark(name: str, item: str, flag: str | None = "odd", condition: str = "c", repeat: int = 1) -> Any:
        return SimpleNamespace(annotator=name, item=item, condition=condition, repeat=repeat, flag=flag)

    log = WorkLog()
    every = [remark("eva", "i1"), remark("eva", "i1"), remark("eva", "i2"), remark("eva", "i3", None),
             remark("fay", "i1"), remark("fay", "i1", condition="d"), remark("fay", "i1", repeat=2)]  # fmt: skip
    log.remarks = dict(enumerate(every))
    assert log.flags_by_person() == {"eva": 2, "fay": 3}


HELD = {"state": "given", "expires_at": NOW + 1}


def test_shortfall_lists_items_with_fewest_answers():
    log = logged(
        {}, {"annotator": "fay"}, {"item": "i2"}, {"item": "i2", "annotator": "fay", **HELD},
        {"item": "i2", "annotator": "gil", "state": "given"}, {"item": "i2", "annotator": "hal", "state": "reopened"},
        {"item": "i4", "state": "skipped"}, {"item": "i5", "role": "triplet"}, {"item": "i9"},
    )  # fmt: skip
    slot, names = Slot(("q",), "c", "g"), ["i5", "i4", "i3", "i2", "i1"]
    # By name (answered, held): i1 (2, 0), i2 (1, 2), i3 (0, 0), i4 (0, 0), i5 (1, 0).
    first = (("i5", 1, 0), ("i4", 0, 0), ("i3", 0, 0), ("i2", 1, 2))
    assert log.shortfall(slot, names, 2, NOW, 9) == Shortfall(4, 5, 2, 2, first)
    assert log.shortfall(slot, names, 2, NOW, 2) == Shortfall(4, 5, 2, 2, first[:2])
    assert log.shortfall(slot, names, 1, NOW, 9) == Shortfall(2, 5, 0, 0, first[1:3])
    assert log.shortfall(slot, names, 0, NOW, 9) == Shortfall(0, 5, 0, 0, ())
    assert log.shortfall(slot, ["i1", "i2"], 2, NOW, 9, without=["fay"]).first == (("i1", 1, 0), ("i2", 1, 1))
    assert log.missing_items(slot, names, 2) == {"i2", "i3", "i4", "i5"}
    assert log.missing_items(slot, names, 1) == {"i3", "i4"}
    assert log.missing_items(slot, names, 2, without=["eva"]) == set(names)
    assert sorted(log.items_by_person(slot, NOW)) == [(0, 0), (0, 1), (1, 1), (3, 0)]
    assert sorted(log.items_by_person(slot, NOW, without=["eva", "gil"])) == [(0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, True), ({"questions": "q2"}, True), ({"questions": "q3"}, False), ({"condition": "d"}, False),
        ({"party": "h"}, False), ({"role": ADDED}, False), ({"repeat": 2}, False), ({"extra": True}, False),
        ({"annotator": "out"}, False), ({"role": "check"}, True),
    ],
)  # fmt: skip
def test_which_tasks_count_in_a_slot(change, counts):
    log = logged(change)
    assert log._slot_tasks(Slot(("q", "q2"), "c", "g"), ["out"]).height == counts
    whatever_group = log._slot_tasks(Slot(("q", "q2"), "c", "elsewhere", ["eva", "out"]), ["out"]).height
    assert whatever_group == (counts or "party" in change)
    assert log._slot_tasks(Slot(("q", "q2"), "c", "g", ["fay"]), []).height == 0


# -- as the database has it ----------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with small_store(tmp_path) as opened:
        with opened.writing() as db:
            db.execute(sa.insert(tables.forms).values(id=1, digest="d", made_at=0.0, definition={}))
        yield opened


def task(place: int, item: str, **more: Any) -> dict[str, Any]:
    return {
        "annotator": "eva", "item": item, "questions": "[2, 3]", "condition": "{}", "repeat": 1, "role": "item",
        "party": "", "session": 1, "page": 1, "place": place, "state": "given", "form": 1, "given_at": 1.0,
        "expires_at": NOW, "shown": {"item": "d"}, "extra": False,
    } | more  # fmt: skip


def say(db: Any, of: Any, question: int, revision: int, status: str = "valid", **more: Any) -> None:
    row = {"request_key": f"{of.id}/{question}/{revision}", "revision": revision, "status": status, "label": 3}
    add_page_answer(db, of, question, row | {"answered_at": 1.0, "seconds": 30.0} | more)


def same(log: WorkLog, fresh: WorkLog) -> bool:
    """Return whether two logs are equal, in any order."""
    frames = [(log.tasks, fresh.tasks, "id"), (log.labels, fresh.labels, "assignment")]
    equal = [one.sort(by).cast({pl.Categorical: pl.String}).equals(other.sort(by).cast({pl.Categorical: pl.String}))
             for one, other, by in frames]  # fmt: skip
    return all(equal) and sorted(log.seconds.rows()) == sorted(fresh.seconds.rows()) and log.remarks == fresh.remarks


@pytest.mark.slow
def test_updated_log_equals_a_new_one(store, monkeypatch):
    log = WorkLog()

    def update() -> WorkLog:
        fresh = WorkLog()
        with store.reading() as db:
            log.update(db)
            fresh.update(db)
        assert same(log, fresh)
        return log

    assert update().tasks.height == 0
    with store.writing() as db:
        give(db, [task(1, "r1"), task(2, "r2"), task(3, "check", role="check"), task(1, "r1", annotator="out")])
        mine = people.tasks_on_pages(db, "eva", [1])
        say(db, mine[0], 2, 1, flag="odd")
        say(db, mine[0], 3, 1, comment="hm")
        people.set_task_state(db, mine[0].id, "answered", extra=False, closed_at=5.0)
    assert update().labels.select("question", "label").sort("question").rows() == [(2, "3"), (3, "3")]
    assert [(row.flag, row.comment) for row in log.remarks.values()] == [("odd", None), (None, "hm")]
    assert log.minutes_by_person([2, 3]) == {"eva": 0.5}
    with store.writing() as db:
        say(db, mine[0], 2, 2)  # the flag is taken back
        say(db, mine[1], 2, 1, "missing", reason="skipped: too long", seconds=5.0)
        say(db, mine[1], 3, 1, "missing", reason="refused")
        say(db, mine[2], 2, 1)
        people.set_task_state(db, mine[1].id, "skipped", extra=False, closed_at=6.0)
    assert [(row.item, row.comment, row.reason) for row in update().remarks.values()] == [
        ("r1", "hm", None), ("r2", None, "skipped: too long")
    ]  # fmt: skip
    assert log.labels.height == 2, "the one of a check is none"
    assert log.minutes_by_person([2, 3]) == {"eva": 1.0}  # another 30 s on r1; what was skipped is no work on an item
    assert dict(log.tasks.select("item", "state").filter(log.tasks["annotator"] == "eva").iter_rows()) == {
        "r1": "answered", "r2": "skipped", "check": "given"
    }  # fmt: skip
    monkeypatch.setattr(work_log, "MANY", 1)
    with store.writing() as db:
        say(db, mine[1], 2, 2)
        say(db, mine[1], 3, 2)
    assert update().labels.height == 4
    people.erase(store, "eva")
    assert (update().labels.height, log.tasks.height, log.remarks) == (0, 1, {})


def test_task_that_is_opened_again_is_seen_with_the_answer_that_opens_it(store):
    log = WorkLog()
    with store.writing() as db:
        give(db, [task(1, "r1"), task(2, "r2")])
        first, second = people.tasks_on_pages(db, "eva", [1])
        people.set_task_state(db, first.id, "answered", extra=False, closed_at=5.0)
        log.update(db)
        people.set_task_state(db, second.id, "answered", extra=True, closed_at=6.0)
        log.update(db)  # open tasks are read each time
        assert log.tasks.sort("id").select("state", "extra", "closed_at").rows() == [
            ("answered", False, 5.0), ("answered", True, 6.0)
        ]  # fmt: skip
        people.set_task_state(db, first.id, "reopened", extra=False, closed_at=None)
        say(db, first, 2, 1, "withdrawn", reason="opened again")
        log.update(db)
        assert log.tasks.sort("id")["state"].to_list() == ["reopened", "answered"]
        assert log.remarks == {}


def test_items_of_a_role_in_their_order(store):
    with store.reading() as db:
        assert work_log.item_names(db, "item") == ["r1", "r2", "r3", "r4"]
        assert work_log.item_names(db, "check") == ["check"]
        assert work_log.item_names(db, "triplet") == []
