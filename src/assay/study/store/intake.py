"""Synchronize the store with the study folder: items, questions, judges, and the labels in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import polars as pl
import sqlalchemy as sa

from assay.data.annotations import Annotations
from assay.data.columns import PART, PARTS
from assay.data.formats.registry import read_labels
from assay.data.names import KindUnknownError, SpellingError
from assay.data.scales import Label
from assay.errors import AssayError, StudyError, listing
from assay.study.definition import STUDY_FILE, Study
from assay.study.items import SPLIT_FILE, Item, canonical, picture_digests
from assay.study.schema import OUTPUT_ABOUT, PAIR, PAIR_ABOUT, Role, scale_of
from assay.study.store.answers import FileLabel, put_file_labels, withdraw
from assay.study.store.connection import Store, batches, put_setting
from assay.study.store.items import (
    NewItem,
    active_items,
    digests_of,
    keep_pairs,
    put_items,
    put_questions,
    questions,
    retire_items,
    retire_outputs,
)
from assay.study.store.people import (
    WRITES,
    drop_draft,
    invited_names,
    put_annotators,
    retire_judges,
    show_item,
    tasks_with_old_text,
)
from assay.study.store.work import Changed, change_study

SYNCED = "taken in"
"""The setting with the digest of the folder at the last synchronization."""

WITHOUT_ITEM, NOT_KEPT = "labels without item", "labels' columns not kept"
"""Settings: how many labels of the file are of items that the study does not have; columns not taken from it."""

OF_A_LABEL = ("item", "annotator", "label", "criterion", "repeat", "scale", "order")
"""Columns of the file of labels that say which label it is; others are kept with the answer."""

FIRST = "first items"
"""The setting that names the items that people are given before all others."""

CONFIG = "study"
"""The setting that holds what study.yaml said then, for a server that goes on while the folder changes."""


def sync_study(store: Store, study: Study, changed: Changed | None = None) -> None:
    """Synchronize items, questions, annotators and human labels with the folder.

    One transaction, and none at all where nothing has changed. A question that people see otherwise than before becomes
    a new version, or the version again that once read so; answers to other versions stay, and do not count.

    Parameters
    ----------
    changed : {"new-version", "same-question"}, optional
        How to treat a change after which answers would no longer count.

    Raises
    ------
    ChangedStudyError
        Where nothing is said and answers would no longer count; nothing was changed.
    """
    digest = digest_of_study(study)
    if store.setting(SYNCED) == digest:
        return
    labels = _labels_of_people(study)
    with change_study(store, changed) as change:
        db = change.db
        now = store.now(db)
        columns = _sync_items(db, study, now)
        put_setting(db, FIRST, _first_items(db, study))
        put_questions(
            db,
            study.config.questions,
            now,
            columns=columns,
            hidden=study.config.items.hidden,
            same=change.changed == "same-question",
        )
        if study.config.people.after_change == "ask-again" and change.changed != "same-question":
            _ask_again(db, now)
        retire_judges(db)
        put_annotators(
            db, [(j.name, "judge", j.model_dump(mode="json") | {"seed": j.seed}) for j in study.config.judges]
        )
        put_annotators(db, [(s.name, "judge", s.model_dump(mode="json") | WRITES) for s in study.systems])
        if labels is not None:
            _sync_labels(db, labels, study)
        _keep_study(db, study, digest)


def sync_people(store: Store, study: Study) -> None:
    """Synchronize settings under ``people:`` that concern no item, question or label, and nothing else.

    With 100,000 items `sync_study` takes 5 s, while annotators wait.
    """
    with store.together() as db:
        _keep_study(db, study, digest_of_study(study))


def _keep_study(db: sa.Connection, study: Study, digest: str) -> None:
    put_setting(db, CONFIG, study.config.model_dump(mode="json", exclude_unset=True))
    put_setting(db, SYNCED, digest)


def digest_of_study(study: Study) -> str:
    """Of everything that `sync_study` reads."""
    config = study.config
    whole = hashlib.sha256(canonical(config.model_dump(mode="json", exclude_defaults=True)).encode())
    for path in study.files():
        if path.is_file():
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    if config.items.file_columns:
        known = (one.item for role in _KNOWN for one in study.known_items(role))
        for item in chain(study.items(), known):
            whole.update(canonical(picture_digests(item, config.items.file_columns, study.folder)).encode())
    return whole.hexdigest()


_KNOWN: tuple[Literal["check", "warm-up"], ...] = ("check", "warm-up")


def _sync_items(db: sa.Connection, study: Study, now: float) -> list[str]:
    """Make the items those of the files; the columns that they have."""
    files, folder = study.config.items.file_columns, study.folder
    columns: dict[str, None] = {}
    role: Role = "source" if study.systems else "item"
    retire_items(db)
    for chunk in batches(enumerate(study.items())):
        columns |= dict.fromkeys(column for _, item in chunk for column in item.fields)
        if taken := [c for c in _reserved_columns(study) if c in columns]:
            raise StudyError(f"the items' column '{taken[0]}' is reserved for the outputs of systems; rename it")
        new = (NewItem(n, item, role, _part_of(item, study), picture_digests(item, files, folder)) for n, item in chunk)
        put_items(db, list(new), now)
    if study.config.compares_outputs:
        keep_pairs(db)
    if not study.config.single_outputs:
        retire_outputs(db)
    for role in _KNOWN:
        known = study.known_items(role)
        taken = active_items(db, among=[k.item.name for k in known])
        if taken:
            raise StudyError(f"{listing(taken)} is in two of the files of items; give each item a unique id")
        answers = [{"labels": k.known, "feedback": k.feedback} for k in known]
        pictures = [picture_digests(k.item, files, folder) for k in known]
        put_items(db, [NewItem(n, k.item, role, answers[n], pictures[n]) for n, k in enumerate(known)], now)
    return list(columns)


def _reserved_columns(study: Study) -> tuple[str, ...]:
    """Return the columns that outputs and pairs of them have."""
    config = study.config
    pairs = (*PAIR, *PAIR_ABOUT) if config.compares_outputs else ()
    return (*pairs, *((str(config.written), *OUTPUT_ABOUT) if config.single_outputs else ()))


def _first_items(db: sa.Connection, study: Study) -> list[str]:
    names = study.first_items()
    known = {name for role in ("item", "source", "output") for name in active_items(db, role)}
    if strange := [name for name in names if name not in known]:
        raise StudyError(f"{study.config.people.first} names {listing(strange)}, which the study does not have")
    return names


def _ask_again(db: sa.Connection, now: float) -> None:
    """Put items whose text has changed before those again who were given the old one; their answers stay on record."""
    tasks = tasks_with_old_text(db)
    digests = digests_of(db, {task.item for task in tasks})
    for task in tasks:
        if task.state == "answered":
            withdraw(db, task, "the item's text has changed", now)
            drop_draft(db, task.id)
        show_item(db, task, digests[task.item])


def _part_of(item: Item, study: Study) -> dict[str, Any] | None:
    """Return the stored part of an item; an item that was not split is in the test set."""
    if not study.parts:
        return None
    if PART in item.fields:
        raise StudyError(
            f"{study.folder}/{SPLIT_FILE} says which part an item is in; rename the items' column '{PART}'"
        )
    return {PART: study.parts.get(item.name, PARTS[1])}


# -- the file of labels -------------------------------------------------------------------------------


def _labels_of_people(study: Study) -> Annotations | None:
    """Read the labels in the file that study.yaml names; None if it names none."""
    if study.config.labels is None:
        return None
    scales = {q.name: scale_of(q.scale) for q in study.config.questions}
    path = study.folder / study.config.labels
    if (path / STUDY_FILE).is_file():
        raise StudyError(f"{path} is a study; study.yaml must name a file of labels")
    try:
        labels = read_labels(path, scales if len(scales) > 1 else next(iter(scales.values())))
    except KindUnknownError as error:
        raise StudyError(
            f"{path}: {listing(error.names)} may be a model; add a column 'kind' with human or judge for every "
            "annotator"
        ) from None
    except SpellingError as error:
        raise StudyError(f"{path}: names differ only in case or spaces: {error.shown}; spell each in one way") from None
    except AssayError as error:
        raise StudyError(f"{error} (study.yaml names {path.name} as the labels that people gave)") from None
    strange = [c for c in labels.criteria if c not in scales]
    if strange:
        raise StudyError(f"{path} has answers to {listing(strange)}; study.yaml asks {listing(list(scales))}")
    if len(scales) > 1 and not labels.criteria:
        raise StudyError(f"{path} must say in a column 'criterion' which question was answered")
    return labels


def _sync_labels(db: sa.Connection, labels: Annotations, study: Study) -> None:
    """Add the labels of the study's file that are new or have changed; withdraw those that are gone."""
    both = sorted(invited_names(db).intersection(labels.labels["annotator"].to_list()))
    if both:
        raise StudyError(
            f"{study.config.labels} has labels of {listing(both)}, who answer on the page of this study; remove those "
            "labels from the file (answers on the page count in any case)"
        )
    put_annotators(db, _people_of(labels))
    taken = {*OF_A_LABEL, *(f for item in study.items() for f in item.fields)}
    extra = [c for f in (labels.labels, labels.items) for c in f.columns if c not in OF_A_LABEL]
    put_setting(db, NOT_KEPT, [c for c in extra if c in taken])
    wanted, without_item = _file_labels(db, labels, study, [c for c in extra if c not in taken])
    put_setting(db, WITHOUT_ITEM, without_item)
    put_file_labels(db, wanted)


def _people_of(labels: Annotations) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Annotators of the file of labels, with their kind and what else it says of them."""
    for row in labels.annotators.iter_rows(named=True):
        about = {c: v for c, v in row.items() if c not in ("kind", *OF_A_LABEL) and v is not None}
        yield row["annotator"], row["kind"], {"attributes": json.loads(canonical(about))} if about else {}


def _file_labels(
    db: sa.Connection, labels: Annotations, study: Study, kept: Sequence[str]
) -> tuple[dict[FileLabel, tuple[Any, Any]], int]:
    """Return each label with its extra columns, by item, annotator and question; and the number of unknown items."""
    known = set(active_items(db, "item"))
    ids = {q.definition.name: q.id for q in questions(db)}
    frames = (labels.labels, labels.items, labels.annotators)
    varied = [c for c in ("scale", "order") if any(c in frame.columns for frame in frames)]
    columns = {c: labels.column(c).to_list() for c in (*varied, *kept)}
    own = _labels_on_own_scale(labels, study)
    wanted: dict[FileLabel, tuple[Any, Any]] = {}
    without_item = 0
    for number, row in enumerate(labels.labels.iter_rows(named=True)):
        if row["item"] not in known:
            without_item += 1
            continue
        question = ids[row.get("criterion") or study.question_names[0]]
        condition, about = (
            {c: columns[c][number] for c in names if columns[c][number] is not None} for names in (varied, kept)
        )
        key = FileLabel(row["item"], question, row["annotator"], canonical(condition), int(row.get("repeat") or 1))
        wanted[key] = (own[number], {"about": json.loads(canonical(about))} if about else None)
    return wanted, without_item


def _labels_on_own_scale(labels: Annotations, study: Study) -> list[Label]:
    """Each label in the type of its question's scale; one column of the table has one type for all of them."""
    frame = labels.labels.with_row_index("_place")
    if not labels.criteria:
        frame = frame.with_columns(criterion=pl.lit(study.question_names[0]))
    own: dict[int, Label] = {}
    for question in study.config.questions:
        part = frame.filter(pl.col("criterion") == question.name)
        cast = scale_of(question.scale).cast(part["label"])
        plain = (int(x) if isinstance(x, float) and x.is_integer() else x for x in cast)
        own |= zip(part["_place"], plain, strict=True)
    return [own[number] for number in range(frame.height)]
