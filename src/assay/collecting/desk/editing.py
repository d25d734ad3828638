"""Change a running study from the dashboard: its end, quota, overlap, instructions, guidelines and items.

A change is written to study.yaml (new items to the file of items), read as `assay serve` reads it, and taken in by the
store, all or nothing. Each worker process follows the store, so the file and the pages agree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.collecting.design import StudyDesign
from assay.collecting.desk.effects import EditKey, effects, setting_words
from assay.collecting.markdown import GuideChange, guide_changes, guide_passages
from assay.errors import ChangedStudyError, StudyError, listing
from assay.reporting.page import atomic_write
from assay.study.definition import STUDY_FILE, Study, load_study
from assay.study.items import format_of_text, with_more_items
from assay.study.rewriting import Step, rewritten
from assay.study.store.connection import Connection
from assay.study.store.events import record_event
from assay.study.store.intake import SYNCED, digest_of_study, sync_people, sync_study
from assay.study.store.items import form_of
from assay.study.store.work import Changed

EDITED_ELSEWHERE = (
    "The study's folder was edited, and this page serves the earlier version. Restart assay serve to apply that edit; "
    "then change the study here."
)

OF_PEOPLE: tuple[EditKey, ...] = ("until", "quota", "overlap")
"""Changes for which no item is read, so that annotators do not wait."""


class StaleEditError(StudyError):
    """The study was changed after the preview of a change."""


@dataclass(frozen=True)
class StudyEdit:
    """A change of the study.

    Attributes
    ----------
    key : str
    value : str
        The new value as the study lead enters it; empty removes the setting. For items, their rows.
    of : str
        The group of the overlap, the question of the guidelines, or the name of the file with the items.
    """

    key: EditKey
    value: str
    of: str = ""


@dataclass(frozen=True)
class EditPreview:
    """The consequences of a change that was not made yet.

    Attributes
    ----------
    edit : StudyEdit
    name : str
        The changed setting.
    before, after : str
        Its value, in words.
    effects : tuple of str
        The consequences for annotators and answers, one sentence or two each.
    passages : tuple of GuideChange
        The changed passages of the instructions and guidelines.
    lost : str
        The answers that would no longer count as answers to a new version of a question; empty if there are none.
    seen : str
        Identifies the study for which this preview was made.
    """

    edit: StudyEdit
    name: str
    before: str
    after: str
    effects: tuple[str, ...]
    passages: tuple[GuideChange, ...]
    lost: str
    seen: str


def preview_edit(design: StudyDesign, edit: StudyEdit) -> EditPreview:
    """Return the consequences of a change, and leave everything as it is.

    Raises
    ------
    StudyError
        If the change is refused: with the message of the reader of study.yaml.
    """
    study, seen = _study_in_folder(design)
    with _candidate(study, edit) as candidate:
        try:
            return _tried(design, candidate, edit, seen, None)
        except ChangedStudyError as error:
            return replace(
                _tried(design, candidate, edit, seen, "new-version"), lost=error.what.partition(", because")[0]
            )


def apply_edit(design: StudyDesign, edit: StudyEdit, seen: str, changed: Changed | None, by: str) -> None:
    """Change the study: its file, its store, and the log.

    Parameters
    ----------
    seen : str
        Identifies the study for which the preview was made.
    changed : {"new-version", "same-question"}, optional
        How to treat answers that would no longer count.
    by : str
        Name of a further lead; empty for the study lead.

    Raises
    ------
    StaleEditError
        If the study has changed since.
    StudyError
        If the change is refused; nothing was changed.
    """
    store, folder = design.store, design.study.folder
    with ExitStack() as undo, store.exclusive():
        study, now = _study_in_folder(design)
        if now != seen:
            raise StaleEditError("The study was changed after this preview. Go back and preview the change again.")
        path, content, added = _edited_file(study, edit)
        undo.enter_context(_replaced(path, content))
        after = _taken_in(design, load_study(folder), edit, changed)
        name, *values = _in_words(design, after, edit)
        about = dict(zip(("before", "after"), values, strict=True)) | {"by": by, "words": listing(added)}
        record_event(store, "study changed", setting=name, **about)


def _study_in_folder(design: StudyDesign) -> tuple[Study, str]:
    """The study in the folder and its digest, if the store has the same."""
    study = load_study(design.study.folder)
    digest = digest_of_study(study)
    if digest != design.store.setting(SYNCED):
        raise StudyError(EDITED_ELSEWHERE)
    return study, digest


# -- the files ------------------------------------------------------------------------------------------


def _edited_file(study: Study, edit: StudyEdit) -> tuple[Path, bytes, list[str]]:
    """The file that a change is made in, its new content, and the ids of new items."""
    if edit.key == "items":
        path = study.folder / study.config.items.file
        if study.systems:
            raise StudyError(
                f"systems write about the items: add the rows to {path.name} in the study folder, and run assay judge"
            )
        suffix = Path(edit.of).suffix.lower() if edit.of else format_of_text(edit.value)
        content, names = with_more_items(path, study.config.items, edit.value, suffix)
        return path, content, names
    path = study.folder / STUDY_FILE
    text = path.read_bytes().decode("utf-8")
    value = _value(edit)
    where = _place(study, edit)
    made = rewritten(path, text, where, value)
    if _read_value(load_study(study.folder, made), where) == _read_value(study, where):
        raise StudyError("This is the present value; nothing would change.")
    return path, made.encode("utf-8"), []


def _place(study: Study, edit: StudyEdit) -> tuple[Step, ...]:
    """The path to the changed value in study.yaml."""
    people = study.config.people
    if edit.key == "guidelines":
        if edit.of not in study.question_names:
            raise StudyError(f"the study has no question '{edit.of}'")
        return ("questions", study.question_names.index(edit.of), "guidelines")
    if edit.key == "overlap" and people.group is not None:
        if isinstance(people.per_item, dict):
            if edit.of not in people.per_item:
                raise StudyError(f"people.overlap has no group '{edit.of}'; it has {listing(list(people.per_item))}")
            return ("people", "overlap", people.group, edit.of)
        return ("people", "overlap", people.group)
    return ("people", edit.key)


def _value(edit: StudyEdit) -> Any:
    """The value as it is written; the reader of study.yaml decides whether it is valid."""
    text = "\n".join(line.rstrip() for line in edit.value.replace("\r\n", "\n").split("\n")).strip("\n")
    if edit.key in ("instructions", "guidelines"):
        return text + "\n" if "\n" in text else text
    text = text.strip()
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else text or None


def _read_value(study: Study, where: tuple[Step, ...]) -> Any:
    """The value at a place, as the reader understands it."""
    found: Any = study.config.model_dump(mode="json")
    for step in where:
        found = found[step]
    return found.rstrip("\n") if isinstance(found, str) else found


@contextmanager
def _candidate(study: Study, edit: StudyEdit) -> Iterator[Study]:
    """The study after a change, without a change of the folder."""
    path, content, _added = _edited_file(study, edit)
    if edit.key != "items":
        yield load_study(study.folder, content.decode("utf-8"))
        return
    with TemporaryDirectory(prefix="assay-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        part = study.config.items.model_copy(update={"file": str(copy)})
        yield Study(study.folder, study.config.model_copy(update={"items": part}))


@contextmanager
def _replaced(path: Path, content: bytes) -> Iterator[None]:
    """Replace a file; its earlier content comes back if the block fails."""
    before = path.read_bytes()
    _write(path, content)
    try:
        yield
    except BaseException:
        _write(path, before)
        raise


def _write(path: Path, content: bytes) -> None:
    try:
        with atomic_write(path) as part, part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StudyError(
            f"{path} cannot be written ({error.strerror}); allow the server to write to the study folder, or edit the "
            "file and restart assay serve"
        ) from None


# -- the preview ----------------------------------------------------------------------------------------


class _TakenBackError(Exception):
    """Ends a transaction without its changes."""


def _tried(design: StudyDesign, candidate: Study, edit: StudyEdit, seen: str, changed: Changed | None) -> EditPreview:
    """Describe a changed study; if texts or items change, take it in for that, and take it back."""
    if edit.key in OF_PEOPLE:
        with design.store.reading() as db:
            return _described(design, design.with_people(candidate), edit, seen, db)
    found = list[EditPreview]()
    try:
        with design.store.exclusive() as db:
            found.append(_described(design, _taken_in(design, candidate, edit, changed), edit, seen, db))
            raise _TakenBackError
    except _TakenBackError:
        return found[0]


def _taken_in(design: StudyDesign, study: Study, edit: StudyEdit, changed: Changed | None) -> StudyDesign:
    """Take in a changed study, and return its design."""
    if edit.key in OF_PEOPLE:
        sync_people(design.store, study)
        return design.with_people(study)
    sync_study(design.store, study, changed)
    return StudyDesign(study, design.store)


def _described(design: StudyDesign, after: StudyDesign, edit: StudyEdit, seen: str, db: Connection) -> EditPreview:
    passages = guide_changes(*(guide_passages(form_of(design.store, one.form)) for one in (design, after)))
    said = effects(edit.key, design, after, db, design.store.now(db))
    return EditPreview(edit, *_in_words(design, after, edit), said, passages, "", seen)


def _in_words(before: StudyDesign, after: StudyDesign, edit: StudyEdit) -> tuple[str, str, str]:
    """The name of a setting, and its value before and after a change."""
    if edit.key == "items":
        return "items", f"{before.n_items:,}", f"{after.n_items:,}"
    if edit.key in ("instructions", "guidelines"):
        name = "people.instructions" if edit.key == "instructions" else f"guidelines of '{edit.of}'"
        return name, f"version {before.guide_version[0]}", f"version {after.guide_version[0]}"
    name = f"people.{edit.key}" + (f" of {edit.of}" if edit.of and edit.key == "overlap" else "")
    return name, setting_words(before, edit.key, edit.of), setting_words(after, edit.key, edit.of)
