"""A person's pages as the lead sees them before anybody comes, and what a browser may send."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotating import Served, write_study
from pydantic import ValidationError

from assay.collecting.people import AnswerBody, preview_pages
from assay.errors import StudyError
from assay.study.store import tables


def test_the_first_three_pages_are_shown_with_a_task_of_its_own_for_each_item(serve: Callable[..., Served]) -> None:
    page = serve(items=5)
    pages = preview_pages(page.design)
    assert [one.number for one in pages] == [1, 2, 3]
    assert [[task.place for task in one.tasks] for one in pages] == [[1], [1], [1]]
    (session,) = page.design.sessions("")
    order = page.design.order("", session.condition)
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


def test_triplets_that_are_drawn_have_no_preview(serve: Callable[..., Served]) -> None:
    odd = {"name": "odd", "text": "?", "scale": "odd-one-out", "options": ["idea"]}
    page = serve(items=[{"item": f"i{n}", "idea": f"idea {n}"} for n in range(4)], questions=[odd])
    with pytest.raises(StudyError, match="there is none to preview; open a link of your own"):
        preview_pages(page.design)


SENT: dict[str, Any] = {"task": 1, "key": "x" * 8, "revision": 0}


@pytest.mark.parametrize(
    ("field", "longest", "unit"),
    [("person", 100, "y"), ("key", 100, "y")],
)
def test_words_of_a_browser_have_a_longest(field: str, longest: int, unit: str) -> None:
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
def test_what_else_an_answer_may_have(field: str, taken: list[Any], refused: list[Any]) -> None:
    for one in taken:
        assert getattr(AnswerBody(**SENT | {field: one}), field) == one
    for one in refused:
        with pytest.raises(ValidationError):
            AnswerBody(**SENT | {field: one})
    with pytest.raises(ValidationError, match="extra"):
        AnswerBody(**SENT, other=1)
