"""What a page that is open goes on with when its study is changed, and what its lead is told of it."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
import yaml
from annotating import STARS, Served

from assay.collecting.serving import NOT_TAKEN_IN, Serving
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.store.intake import sync_study


def rewrite(page: Served, **changes: Any) -> None:
    path = page.folder / "study.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def test_what_people_are_asked_is_followed_and_the_notice_of_it_stays(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    serving: Serving = page.app.state.assay
    first = serving.now()
    assert (first.notice, serving.edit_notice(), serving.now() is first) == ("", "", True)
    rewrite(page, questions=[STARS, {"name": "why", "text": "Why?", "scale": "text"}])
    assert serving.edit_notice() == NOT_TAKEN_IN
    assert serving.now() is first
    sync_study(page.store, load_study(page.folder))
    second = serving.now()
    asked = "Since then people are asked 'stars' (version 1), 'why' (version 1) as the study reads now"
    assert asked in unescape(second.notice)
    assert [one.definition.name for one in second.design.questions] == ["stars", "why"]
    assert serving.edit_notice() == ""
    rewrite(page, name="Another name")  # people see nothing of it
    sync_study(page.store, load_study(page.folder))
    third = serving.now()
    assert third is not second
    assert third.design.study.config.name == "Another name"
    assert third.notice == second.notice


def test_a_folder_that_is_being_edited_is_not_taken_in(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    serving: Serving = page.app.state.assay
    path = page.folder / "study.yaml"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2] + "\n: [")
    assert serving.edit_notice() == NOT_TAKEN_IN
    path.write_text(whole)
    assert serving.edit_notice() == ""
    (page.folder / "items.jsonl").unlink()
    assert serving.edit_notice() == NOT_TAKEN_IN


def test_a_study_that_cannot_be_shown_leaves_the_one_before_with_words(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = serve(items=2)
    serving: Serving = page.app.state.assay
    first = serving.now()
    rewrite(page, name="Another name")
    sync_study(page.store, load_study(page.folder))

    def fail() -> Any:
        raise StudyError("no items are left")

    with monkeypatch.context() as patched:
        patched.setattr(serving, "_make_state", fail)
        assert serving.now() is first
    assert first.trouble == "The study was changed and cannot be shown as it is now: no items are left"
    assert serving.now() is first, "it is not tried again before the study changes again"
