"""The study lead's preview of the annotation page, and requests of the browser."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from annotating import Served, write_study
from pydantic import ValidationError

from assay.collecting import people
from assay.collecting.assignment import End, HeldPages
from assay.collecting.forms import Clip, FormField, GivenAnswers, TaskForm
from assay.collecting.languages import Said, words
from assay.collecting.people import AnswerBody, preview_pages
from assay.errors import StudyError
from assay.study.checks import media_kind
from assay.study.store import tables


def test_preview_shows_three_pages_with_separate_tasks(serve: Callable[..., Served]) -> None:
    page = serve(items=5)
    pages = preview_pages(page.design)
    assert [one.number for one in pages] == [1, 2, 3]
    assert [[task.place for task in one.tasks] for one in pages] == [[1], [1], [1]]
    (session,) = page.design.sessions("")
    order = session.part.order("", session.condition)
    shown = [task.fields[0].text for one in pages for task in one.tasks]
    assert shown == [f"Text number {int(name[1:])}." for name in order[:3]]
    ids = [task.id for one in pages for task in one.tasks]
    assert all(isinstance(one, int) for one in ids)
    assert len(set(ids)) == 3
    tasks = [task for one in pages for task in one.tasks]
    assert {(task.state, task.practice, task.revision, task.draft) for task in tasks} == {("open", False, 0, None)}
    assert page.rows(tables.tasks) == []


def test_fewer_pages_than_three_are_all_shown(tmp_path: Path) -> None:
    texts = [{"item": f"r{n}", "text": f"Text {n}.", "document": f"d{n // 2}"} for n in range(4)]
    folder = write_study(tmp_path / "s", items=texts, people={"together": True})
    path = folder / "study.yaml"
    path.write_text(path.read_text().replace("file: items.jsonl", "file: items.jsonl\n  document: document"))
    with Served(folder) as page:
        pages = preview_pages(page.design)
    assert [[task.place for task in one.tasks] for one in pages] == [[1, 2], [1, 2]]
    assert len({task.id for one in pages for task in one.tasks}) == 4


def test_drawn_triplets_have_no_preview(serve: Callable[..., Served]) -> None:
    odd = {"name": "odd", "text": "?", "scale": "odd-one-out", "options": ["idea"]}
    page = serve(items=[{"item": f"i{n}", "idea": f"idea {n}"} for n in range(4)], questions=[odd])
    with pytest.raises(StudyError, match="there is no preview; invite yourself instead"):
        preview_pages(page.design)


SENT: dict[str, Any] = {"task": 1, "key": "x" * 8, "revision": 0}


@pytest.mark.parametrize(
    ("field", "longest", "unit"),
    [("person", 100, "y"), ("key", 100, "y")],
)
def test_free_text_has_a_maximum_length(field: str, longest: int, unit: str) -> None:
    assert len(getattr(AnswerBody(**SENT | {field: unit * longest}), field)) == longest
    with pytest.raises(ValidationError):
        AnswerBody(**SENT | {field: unit * (longest + 1)})


@pytest.mark.parametrize(
    ("field", "taken", "refused"),
    [
        ("key", ["a" * 8, "a.b:c-d_9"], ["a" * 7, "a b c d e", "<aaaaaaaa>"]), ("revision", [0, 7], [-1]),
        ("seconds", [None, 0, 1e6], [-0.1, 1e6 + 1, float("inf"), float("nan")]),
        ("labels", [{}, {str(n): 1 for n in range(200)}], [{str(n): 1 for n in range(201)}]),
    ],
)  # fmt: skip
def test_given_answers_have_flag_comment_and_tie(field: str, taken: list[Any], refused: list[Any]) -> None:
    for one in taken:
        assert getattr(AnswerBody(**SENT | {field: one}), field) == one
    for one in refused:
        with pytest.raises(ValidationError):
            AnswerBody(**SENT | {field: one})
    with pytest.raises(ValidationError, match="extra"):
        AnswerBody(**SENT, other=1)


# -- the parts, one by one --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "letters"),
    [(0, "A"), (1, "B"), (25, "Z"), (26, "AA"), (27, "AB"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")],
)
def test_letters_name_annotators(place: int, letters: str) -> None:
    assert people._letters(place) == letters


def field(name: str, **more: Any) -> FormField:
    return FormField(Said(name), **more)


def task_form(*fields: FormField, number: int = 1) -> TaskForm:
    no = {"practice": False, "again": False, "skipped": "", "comment": "", "flag": "", "draft": None}
    return TaskForm(number, 1, fields, (), 0, "open", **no)


def test_shared_fields_are_shown_once() -> None:
    same, one, other = field("same", text="x"), field("own", text="1"), field("own", text="2")
    image = field("image", image="/images/1/0")
    recording = field("recording", recording=Clip("/images/1/1", "audio", None))
    page = people._page(4, [task_form(same, one, image, recording), task_form(image, other, same, recording, number=2)])
    assert (page.number, page.shared) == (4, (same,))
    assert [task.fields for task in page.tasks] == [(one, image, recording), (image, other, recording)]
    assert [task.id for task in page.tasks] == [1, 2]
    alone = people._page(1, [task_form(same, one)])
    assert (alone.shared, [task.fields for task in alone.tasks]) == ((), [(same, one)])


def test_addresses_of_media() -> None:
    part = SimpleNamespace(
        media=["sound", "film", "broken", "away"],
        media_hosts=["media.org"],
        captions={"film": "words", "sound": "lost"},
    )
    design = SimpleNamespace(
        study=SimpleNamespace(config=SimpleNamespace(items=part)),
        item_files=lambda item: ["picture", "sound", "film", "words", "broken", "away"],
    )
    fields = {"sound": "a.mp3", "film": "b.mp4", "broken": "c.xyz", "away": "https://media.org/d.mp3", "words": "b.vtt"}
    found = people._addresses(design, SimpleNamespace(id=7), SimpleNamespace(fields=fields))
    assert {name: found[name] for name in ("picture", "words", "broken")} == {
        "picture": "/images/7/0", "words": "/images/7/3", "broken": "/images/7/4",
    }  # fmt: skip
    clips = {name: (str(one), one.type, one.captions) for name, one in found.items() if isinstance(one, Clip)}
    assert clips == {
        "sound": ("/images/7/1", media_kind("a.mp3"), None),
        "film": ("/images/7/2", media_kind("b.mp4"), "/images/7/3"),
        "away": ("https://media.org/d.mp3", media_kind("d.mp3"), None),
    }


@pytest.mark.parametrize(("number", "there"), [(-1, False), (0, True), (1, True), (2, False)])
def test_file_of_returns_only_files_of_the_item(
    number: int, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_text("")
    rows = {(5, "ana"): SimpleNamespace(item="i", shown={"item": "d"})}
    item = SimpleNamespace(fields={"first": "a.png", "second": "b.png"})
    monkeypatch.setattr(people, "task_by_id", lambda db, task, name: rows.get((task, name)))
    monkeypatch.setattr(people, "items_given", lambda store, keys: dict.fromkeys(keys, item))
    design = SimpleNamespace(
        store=SimpleNamespace(reading=contextlib.nullcontext), study=SimpleNamespace(folder=tmp_path),
        item_files=lambda item: ["first", "second"],
    )  # fmt: skip
    found = people.file_of(design, SimpleNamespace(name="ana"), 5, number)
    assert (found and found.name) == ({0: "a.png", 1: "b.png"}[number] if there else None)
    assert people.file_of(design, SimpleNamespace(name="ben"), 5, 0) is None


def answered(**more: Any) -> SimpleNamespace:
    row = {"item": "i", "condition": "", "repeat": 1, "question": 1, "label": 4, "status": "valid", "reason": None}
    return SimpleNamespace(**row | {"shown": None, "revision": 1, "comment": None, "flag": None} | more)


def test_answers_are_collected_by_task(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [
        SimpleNamespace(id=n, item=item, condition="", repeat=1, questions="[1, 2]")
        for n, item in ((10, "i"), (20, "j"))
    ]
    rows = [
        answered(revision=3, comment="c", flag="f"),
        answered(question=2, label="x", revision=2, shown={"about": {"tie": "t"}}, flag="g"),
        answered(item="j", status="missing", reason="skipped: I cannot tell", label=9, revision=5),  # dialect: kept
        answered(item="k"), answered(repeat=2), answered(question=3), answered(condition="other"),
    ]  # fmt: skip
    asked = []
    monkeypatch.setattr(people, "answers_by", lambda db, name, items: asked.append((name, items)) or rows)
    found = people._answers_by_task(None, SimpleNamespace(name="ana"), tasks)
    assert asked == [("ana", {"i", "j"})]
    assert sorted(found) == [10, 20]
    # Comment and flag are those of the row that came last.
    assert vars(found[10]) == vars(GivenAnswers({1: 4, 2: "x"}, 3, "", "g", "", {1: "", 2: "t"}))
    assert vars(found[20]) == vars(GivenAnswers({1: None}, 5, "", "", "I cannot tell", {1: ""}))  # dialect: kept
    assert people._answers_by_task(None, SimpleNamespace(name="ana"), []) == {}
    rows[:] = [answered(status="missing", reason="skipped"), answered(question=2, reason="skipped: why")]
    assert found is not (again := people._answers_by_task(None, SimpleNamespace(name="ana"), tasks))
    assert (again[10].skipped, again[10].labels) == ("", {1: None, 2: 4})


def serving_state(now: float = 1000.0, **parts: Any) -> SimpleNamespace:
    people_of = {"crowd": None, "ahead": 2, "language": None} | parts.pop("people", {})
    guide = {"guide_changes": lambda name: (), "guide_version": (1, date(2026, 11, 27))}
    people_part = SimpleNamespace(**people_of)
    design = SimpleNamespace(people=people_part, deadline=lambda person: parts.get("deadline"), **guide)
    store = SimpleNamespace(reading=lambda: contextlib.nullcontext("db"), now=lambda db: now)
    return SimpleNamespace(design=design, store=store)


def held(kind: str | None = None, opens_at: float | None = None, number: int = 1, of: int = 1) -> HeldPages:
    end = None if kind is None else End(kind, opens_at)  # type: ignore[arg-type]
    return HeldPages((), SimpleNamespace(number=number, of=of, words=Said("Session")), end)


@pytest.mark.parametrize(
    ("deadline", "minutes", "came_at", "end", "left"),
    [
        (None, None, None, None, None),
        (1030.2, None, None, None, 31),  # of a second that has begun, all of it
        (1030.0, None, None, "done", 30),
        (990.0, None, None, None, 0),
        (1030.0, None, None, "over", None),
        (1030.0, 5, 800.0, None, 30),
        (2000.0, 5, 800.0, None, 100),  # 800 + 5 · 60 − 1000
        (None, 5, 800.0, None, 100),
        (None, 5, None, None, None),  # who has not come yet
        (None, 5, 800.0, "complete", None),
    ],
)
def test_seconds_left(
    deadline: float | None, minutes: int | None, came_at: float | None, end: str | None, left: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    visit = None if came_at is None else SimpleNamespace(came_at=came_at)
    monkeypatch.setattr(people, "visit_of", lambda db, name: visit)
    crowd = None if minutes is None else SimpleNamespace(minutes=minutes)
    state = serving_state(people={"crowd": crowd}, deadline=deadline)
    assert people._LEAVING[0] == "over"
    kind = people._LEAVING[1] if end == "complete" else end
    assert people._seconds_left(state, SimpleNamespace(name="ana"), held(kind)) == left


def test_end_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    state, ana = serving_state(), SimpleNamespace(name="ana")
    assert people._end(state, ana, held()) is None
    later = people._end(state, ana, held("later", 0.0, number=2, of=3))
    assert later is not None
    in_english = words("en")
    assert in_english.own(later["title"]) == "Session 2 of 3 is done"
    assert "The next session opens on <time" in in_english.own(later["text"])
    assert "1970-01-01T00:00:00Z" in in_english.own(later["text"])
    assert (later["kind"], later["code"], later["back"]) == ("later", "", "")
    for kind, title in (
        ("done", "You have finished"), ("paused", "The study is paused"), ("stopped", "Thank you for your time"),
        ("over", "Your time for this study has ended"), ("empty", "No items available right now"),
    ):  # fmt: skip
        found = people._end(state, ana, held(kind, 0.0))
        assert found is not None
        assert (found["kind"], in_english.own(found["title"])) == (kind, title)
    monkeypatch.setattr(people.crowd, "end_contents", lambda state, name, kind: {"kind": kind, "name": name})
    outcome = people._LEAVING[1]
    assert people._end(state, ana, held(outcome)) == {"kind": outcome, "name": "ana"}


@pytest.mark.parametrize(("number", "after", "most"), [(None, 0, 3), (1, 0, 3), (2, 1, 3), (9, 8, 3)])
def test_work_loads_the_required_pages(
    number: int | None, after: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current page and two ahead; or the pages after the previous one."""
    asked: list[Any] = []

    def hold(state: Any, person: Any, after: int, most: int) -> HeldPages:
        asked.append((after, most))
        return held(None)

    monkeypatch.setattr(people.crowd, "hold", hold)
    monkeypatch.setattr(people, "pages_of", lambda design, person, numbers: asked.append(list(numbers)) or [])
    state = serving_state()
    state.has_agreed = lambda person: True
    state.page = lambda template, **values: values
    state.words = lambda request: words("en")
    state.name_in_browser = lambda person: "x"
    vars(state.design.people).update(instructions="", least_seconds=0)
    monkeypatch.setattr(people, "_progress", lambda *about: {})
    monkeypatch.setattr(people, "_messages", lambda *about: [])
    ana = SimpleNamespace(name="ana")
    if number is not None:
        with pytest.raises(people.Refused) as refused:
            people._work(state, None, ana, number)
        assert refused.value.status == 404
        assert asked == [(after, most), [number]]
        return
    found = people._work(state, None, ana, number)
    assert asked == [(after, most), []]
    assert (found["page"], found["further"], found["end"], found["may_leave"]) == (None, [], None, False)
    assert found["settings"] == {
        "idle": 60, "least": 0, "skip_reasons": [*people._SKIP_REASONS.values()], "person": "x", "ahead": 2,
        "closed": 0, "left": None,
    }  # fmt: skip
    state.has_agreed = lambda person: False
    turned = people._work(state, None, ana, None)
    assert (turned.status_code, turned.headers["location"]) == (303, "/consent")
