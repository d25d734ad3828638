"""What the study's folder says goes into the store: items, questions, judges, and the labels in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from assay.data.annotations import Annotations
from assay.data.formats.labels import read_labels
from assay.data.kinds import KindUnknownError
from assay.errors import AssayError, StudyError, listing
from assay.study.definition import STUDY_FILE, Study
from assay.study.digests import canonical
from assay.study.schema import scale_of
from assay.study.store.annotators import put_annotators, retire_judges
from assay.study.store.answers import FileLabel, put_file_labels
from assay.study.store.connection import Store, chunked, put_setting
from assay.study.store.items import NewItem, active_items, put_items, retire_items
from assay.study.store.people import invited_names
from assay.study.store.questions import current_questions, put_questions

SYNCED = "taken in"
"""The setting that names what the folder said when it was last taken into the store."""

WITHOUT_ITEM, NOT_KEPT = "labels without item", "labels' columns not kept"
"""Settings: how many labels of the file are of items that the study does not have; columns not taken from it."""

OF_A_LABEL = ("item", "annotator", "label", "criterion", "repeat", "scale", "order")
"""Columns of the file of labels that say which label it is; others are kept with the answer."""


def sync_study(store: Store, study: Study) -> None:
    """Bring items, questions, annotators and the people's labels to what the folder says now.

    One transaction, and none at all where nothing has changed. A question whose words or scale
    have changed becomes a new version; answers to older versions stay, and do not count.
    """
    digest = _digest_of_study(study)
    if store.setting(SYNCED) == digest:
        return
    labels = _labels_of_people(study)
    with store.writing() as db:
        now = store.now(db)
        _sync_items(db, study, now)
        put_questions(db, study.config.questions, now)
        retire_judges(db)
        put_annotators(db, [(j.name, "judge", j.model_dump(mode="json")) for j in study.config.judges])
        if labels is not None:
            _sync_labels(db, labels, study)
        put_setting(db, SYNCED, digest)


def _digest_of_study(study: Study) -> str:
    """Of everything that `sync_study` reads."""
    config = study.config
    whole = hashlib.sha256(canonical(config.model_dump(mode="json")).encode())
    checks = None if config.people.checks is None else config.people.checks.file
    for name in (config.items.file, config.labels, config.people.warm_up, checks):
        path = None if name is None else study.folder / name
        if path is not None and path.is_file():
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _sync_items(db: sa.Connection, study: Study, now: float) -> None:
    retire_items(db)
    for chunk in chunked(enumerate(study.items())):
        put_items(db, [NewItem(position, item) for position, item in chunk], now)
    for role in ("check", "warm-up"):
        known = study.known_items(role)
        taken = active_items(db, among=[k.item.name for k in known])
        if taken:
            raise StudyError(f"{listing(taken)} stands in two of the files of items; give each item a name of its own")
        answers = [{"labels": k.known, "feedback": k.feedback} for k in known]
        put_items(db, [NewItem(n, k.item, role, answers[n]) for n, k in enumerate(known)], now)


# -- the file of labels -----------------------------------------------------------------------------


def _labels_of_people(study: Study) -> Annotations | None:
    """The labels in the file that study.yaml names; None where it names none."""
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
            f"{path}: {listing(error.names)} looks like a model; say in a column 'kind' of every annotator whether it "
            "is human or judge"
        ) from None
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
            f"{study.config.labels} has labels of {listing(both)}, who answer on the page of this study; "
            "take those labels out of the file (what was answered on the page counts anyway)"
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
    """By what it answers, each label with what is kept beside it; and how many are of unknown items."""
    known = set(active_items(db, "item"))
    ids = {q.definition.name: q.id for q in current_questions(db)}
    frames = (labels.labels, labels.items, labels.annotators)
    varied = [c for c in ("scale", "order") if any(c in frame.columns for frame in frames)]
    conditions = {c: labels.column(c).to_list() for c in varied}
    beside = {c: labels.column(c).to_list() for c in kept}
    wanted: dict[FileLabel, tuple[Any, Any]] = {}
    without_item = 0
    for number, row in enumerate(labels.labels.iter_rows(named=True)):
        if row["item"] not in known:
            without_item += 1
            continue
        question = ids[row.get("criterion") or study.question_names[0]]
        condition = canonical(_there(conditions, number))
        key = FileLabel(row["item"], question, row["annotator"], condition, int(row.get("repeat") or 1))
        about = _there(beside, number)
        wanted[key] = (row["label"], {"about": json.loads(canonical(about))} if about else None)
    return wanted, without_item


def _there(columns: Mapping[str, Sequence[Any]], row: int) -> dict[str, Any]:
    """What a row has in these columns."""
    return {column: values[row] for column, values in columns.items() if values[row] is not None}
