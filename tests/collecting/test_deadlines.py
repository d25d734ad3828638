"""Deadlines: pages after the end, late answers, and reassignment of places."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from annotating import Served, invite_people, write_study
from test_crowd import Worker, crowd

from assay.collecting.crowd import crowd_counts
from assay.errors import StudyError
from assay.study import schema
from assay.study.definition import load_study


def in_minutes(clock: Any, minutes: int) -> str:
    """A time after a moment at which the clock is stopped, a whole second."""
    clock.stopped = float(int(time.time()))
    return datetime.fromtimestamp(clock.stopped + 60 * minutes, UTC).isoformat()


@pytest.mark.slow
def test_no_items_or_answers_after_the_deadline(serve: Callable[..., Served], clock: Any) -> None:
    page = serve(items=3, people={"until": in_minutes(clock, 40)})
    ana = page.annotator()
    task, other, _ = ana.work()
    assert 'data-left="2400"' in ana.send("GET", "/work").text
    assert ana.pages(after=3)[1]["left"] == 2400
    clock.later(minutes=41)
    # An answer saved in time can take a moment to arrive.
    assert ana.answer(task).status == 200
    clock.later(minutes=2)
    late = ana.answer(other)
    assert (late.status, late.json()["error"], late.json()["message"]) == (
        409,
        "closed",
        "Your time for this study has ended.",
    )
    assert len(page.history()) == 1
    ended = ana.send("GET", "/work").text
    assert "Answering ended on <time" in ended
    assert "data-left" not in ended
    assert ana.pages()[1]["end"]["kind"] == "over"
    assert ana.pages()[1]["left"] is None


@pytest.mark.slow
def test_expired_places_go_to_others(serve: Callable[..., Served], clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock.stop()
    monkeypatch.setattr(schema, "PAGE_RESERVED_MINUTES", 10_000)
    page = serve(items=2, who=("ana",), people={"overlap": 1, "until": "2 days"})
    ana = page.annotator("ana")
    first, *_ = ana.work()
    assert ana.answer(first).status == 200
    clock.later(days=1)
    invite_people(page.study, page.store, ["ben"])
    ben = page.annotator("ben")
    assert ben.pages()[1]["end"]["kind"] == "empty", "both places are ana's"
    clock.later(days=1.1)
    assert [task.questions for task in ben.pages()[0]], "ana's two days are over, and ben's are not"
    assert ana.pages()[1]["end"]["kind"] == "over"
    assert ben.work_through() == "done"
    assert sorted(row["annotator"] for row in page.history() if row["counts"]) == ["ana", "ben"]


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ({"until": "2027-03-01T18:00"}, r"people\.until: needs a time zone, as in 2027-03-01T18:00\+01:00"),
        ({"until": "soon"}, r"people\.until"),
        ({"until": "0 days"}, r"people\.until"),
        (
            {"until": "3 days", "crowd": {"places": 5}},
            "in days is for invited annotators; for a crowd",
        ),
        (
            {"until": "2027-03-01T18:00+01:00", "keep_until": "2027-02-01"},
            "is before people.until, the end of",
        ),
    ],
)
def test_invalid_deadlines_are_refused(tmp_path: Path, people: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        load_study(write_study(tmp_path / "s", people=people))


def test_crowd_visit_is_late_after_the_deadline(serve: Callable[..., Served], clock: Any) -> None:
    page = serve(items=3, who=(), people={"crowd": crowd(), "until": in_minutes(clock, 10)})
    here = Worker(page, "p1")
    assert here.come().status == 200
    assert here.pages()[1]["left"] == 600
    clock.later(minutes=11)
    assert here.pages()[1]["end"]["kind"] == "late"
    assert "Your time for this study has ended" in Worker(page, "p2").come().text
    assert crowd_counts(page.design).outcomes == (("late", 2),)  # type: ignore[union-attr]
