"""The answers that count, as the one table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from assay.data.annotations import Annotations, Reading
from assay.data.frames import CONTENT
from assay.data.scales import Interval, Nominal, Scale, parse_scale, plain_number
from assay.errors import StudyError, listing
from assay.study.digests import canonical
from assay.study.ensembles import with_ensembles
from assay.study.schema import Question, scale_of
from assay.study.store import tables
from assay.study.store.annotators import WRITES, active_annotators
from assay.study.store.connection import Store, setting
from assay.study.store.intake import NOT_KEPT, WITHOUT_ITEM
from assay.study.store.items import NOT_COUNTED, content_numbers
from assay.study.store.questions import current_questions


def stored_annotations(
    store: Store, notes: Sequence[str] = (), folder: Path | None = None, *, excluded_people: bool = False
) -> Annotations:
    """Every answer that counts, as the one table.

    The latest answer of each current assignment counts. Missing answers, answers to earlier versions of a question
    or to a judge since changed, and those of people who are excluded, are left out and counted in ``reading``.

    Parameters
    ----------
    store : Store
    notes : list of str
        Said in ``reading``.
    folder : Path, optional
        The study's, named in the message for a store without labels.
    excluded_people : bool
        Keep the answers of people who are excluded, with True in the column ``excluded``.

    Raises
    ------
    StudyError
        While there is no answer with a label.
    """
    with store.reading() as db:
        questions = {q.id: q.definition for q in current_questions(db)}
        annotators = [one for one in active_annotators(db) if not WRITES.items() <= one["definition"].items()]
        names = {one["annotator"] for one in annotators}
        rows, excluded = _counting(db, questions, names, excluded_people=excluded_people)
        items = _counted_items(db, drawn=any(q.drawn_from for q in questions.values()))
        excluded_before = _excluded_before(db)
    if not rows:
        raise StudyError(f"{store.where} holds no label yet; ask the judges with: assay judge {folder or 'STUDY'}")
    conditions = list(dict.fromkeys(name for row in rows for name in row["_condition"]))
    frame, further = with_ensembles(_frame(rows, conditions), conditions, annotators)
    said = (*notes, *further)
    reading = Reading(source=store.where, rows=len(rows) + sum(excluded.values()), notes=said)
    return Annotations.from_frame(
        frame,
        scale=_scales(questions.values(), frame),
        spelling="apart",  # the study has told them apart
        conditions=[c for c in conditions if c in frame.columns],
        items=_items_frame(items),
        annotators=_annotators_frame(annotators),
        reading=_with_exclusions(reading, excluded, *excluded_before),
    )


# -- which answers count ----------------------------------------------------------------------------


def _counting(
    db: sa.Connection, questions: Mapping[int, Question], annotators: Collection[str], *, excluded_people: bool
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The answers that count as rows, and how many do not, by reason."""
    a, s, i, p = tables.assignments, tables.answers, tables.items, tables.people
    query = sa.select(
        *(a.c.item, a.c.annotator, a.c.question, a.c.repeat, a.c.condition, a.c.active, a.c.content),
        *(s.c.label, s.c.status, s.c.reason, s.c.shown, s.c.seconds, i.c.active.label("there"), i.c.role),
        *(p.c.excluded_at, p.c.excluded_for),
    )
    joined = a.join(s, s.c.id == a.c.answer).join(i, i.c.item == a.c.item)
    joined = joined.outerjoin(p, p.c.annotator == a.c.annotator)
    rows: list[dict[str, Any]] = []
    excluded: Counter[str] = Counter()
    numbers = content_numbers(db, questions)
    query = query.where(i.c.role != "source")  # what systems wrote is no label, see `assay.study.store.pairs`
    for row in db.execute(query.select_from(joined).order_by(i.c.position, a.c.id)):
        why = _excluded(row, questions, annotators, excluded_people=excluded_people)
        if why is None:
            number = numbers.get((row.question, row.item, row.content), 1)
            rows.append(_label_row(row, questions[row.question].name, number))
        else:
            excluded[why] += 1
    return rows, excluded


def _excluded(
    row: Any, questions: Mapping[int, Question], annotators: Collection[str], *, excluded_people: bool
) -> str | None:
    """Why an answer does not count; None where it does."""
    if not row.there:
        return "the item is no longer in the study"
    if row.role in NOT_COUNTED:
        return NOT_COUNTED[row.role]
    if row.question not in questions:
        return "the question has changed since, or is no longer asked"
    if row.annotator not in annotators:
        return "the judge is no longer in the study"
    if not row.active:
        return "the judge, its prompt or the item has changed since"
    if row.excluded_at is not None and not excluded_people:
        return f"{row.annotator} is excluded" + (f": {row.excluded_for}" if row.excluded_for else "")
    return None if row.status == "valid" else f"{row.annotator}: {row.reason}"


def _label_row(row: Any, criterion: str, content: int) -> dict[str, Any]:
    shown, condition = row.shown or {}, json.loads(row.condition)
    own = {"item": row.item, "annotator": row.annotator, "label": row.label}
    own |= {"criterion": criterion, "repeat": row.repeat, "_condition": condition}
    own[CONTENT] = content
    if "order" in shown:
        own |= {"order": ">".join(shown["order"]), "position": shown.get("position")}
    about = shown.get("about", {}) | ({} if row.seconds is None else {"seconds": row.seconds})
    about |= {} if row.excluded_at is None else {"excluded": True}
    own |= condition | {"_about": about} | about
    return own


def sources_frame(db: sa.Connection) -> pl.DataFrame:
    """The items that systems write about, one row each; within a transaction."""
    i = tables.items
    query = sa.select(i).where(i.c.active, i.c.role == "source").order_by(i.c.position)
    return _items_frame([dict(row._mapping) for row in db.execute(query)])


def _counted_items(db: sa.Connection, *, drawn: bool) -> list[dict[str, Any]]:
    """The items that are asked about; of texts that pairs or triplets are drawn from, those alone."""
    i = tables.items
    others = (*NOT_COUNTED, "source", "item") if drawn else (*NOT_COUNTED, "source")
    query = sa.select(i).where(i.c.active, i.c.role.not_in(others))
    return [dict(row._mapping) for row in db.execute(query)]


def _excluded_before(db: sa.Connection) -> tuple[int, list[str]]:
    """Labels of the file, and columns of it, that did not come into the store."""
    return setting(db, WITHOUT_ITEM) or 0, setting(db, NOT_KEPT) or []


def _with_exclusions(reading: Reading, excluded: Counter[str], without_item: int, not_kept: list[str]) -> Reading:
    for reason, number in sorted(excluded.items()):
        reading = reading.without(reason, number)
    reading = reading.without("the label is of an item that the study does not have", without_item)
    if not_kept:
        reading = reading.noted(f"the file of labels has {listing(not_kept)} too; those of the items count")
    return reading


# -- frames and scales ------------------------------------------------------------------------------


def _scales(questions: Iterable[Question], frame: pl.DataFrame) -> dict[str, Scale]:
    """The scale of each criterion that the frame has labels on."""
    seen = set(frame["criterion"].to_list())
    return {q.name: _fitting(scale_of(q.scale), frame, q.name) for q in questions if q.name in seen}


def _frame(rows: list[dict[str, Any]], conditions: list[str]) -> pl.DataFrame:
    labels = [row["label"] for row in rows]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("item", "annotator", "criterion")}
    if any(isinstance(label, str) for label in labels):
        columns["label"] = [label if isinstance(label, str) else plain_number(label) for label in labels]
    else:
        columns["label"] = pl.Series(labels, strict=False)
    if any(row["repeat"] > 1 for row in rows):
        columns["repeat"] = [row["repeat"] for row in rows]
    if any(row[CONTENT] > 1 for row in rows):
        columns[CONTENT] = [row[CONTENT] for row in rows]
    shown = ["order", "position"] if any("order" in row for row in rows) else []
    about = [name for row in rows for name in row["_about"]]
    for name in dict.fromkeys([*conditions, *shown, *about]):
        columns[name] = pl.Series([row.get(name) for row in rows], strict=False)
    return pl.DataFrame(columns)


def _fitting(scale: Scale, frame: pl.DataFrame, criterion: str) -> Scale:
    """The question's scale, or one that also holds labels given on other scales and means of labels."""
    labels = frame.filter(pl.col("criterion") == criterion)
    if labels.height == 0 or not scale.numeric or "scale" not in frame.columns:
        off = labels.height and not scale.valid(labels["label"]).all()
        if off and scale.bounds is not None and labels["label"].dtype.is_numeric():
            return Interval(*scale.bounds)
        return Nominal() if off else scale
    given = [parse_scale(s) for s in labels["scale"].drop_nulls().unique().to_list()]
    bounds = [one.bounds for one in given if one.bounds is not None]
    if len(bounds) < len(given) or not given:
        return Interval() if given else scale
    return Interval(min(low for low, _ in bounds), max(high for _, high in bounds))


def _items_frame(items: list[dict[str, Any]]) -> pl.DataFrame:
    """One row an item: its columns, lists and objects among them left as JSON text."""
    names = dict.fromkeys(name for item in items for name in item["fields"] if name not in ("item", "document"))
    columns: dict[str, Any] = {"item": [item["item"] for item in items]}
    if any(item["document"] is not None for item in items):
        columns["document"] = [item["document"] for item in items]
    for name in names:
        values = [item["fields"].get(name) for item in items]
        plain = [canonical(v) if isinstance(v, list | dict) else v for v in values]
        kinds = {type(v) for v in plain if v is not None}
        mixed = len(kinds) > 1 and not kinds <= {int, float}
        columns[name] = pl.Series([str(v) if mixed and v is not None else v for v in plain], strict=False)
    return pl.DataFrame(columns)


def _annotators_frame(people: list[dict[str, Any]]) -> pl.DataFrame:
    about = ("model", "provider", "strategy", "attributes")
    rows = []
    for person in people:
        definition = person["definition"]
        row = {"annotator": person["annotator"], "kind": person["kind"]}
        row |= {name: definition[name] for name in about[:3] if definition.get(name)}
        if definition.get("strategy") == "few-shot":
            row["demonstrations"] = definition["demonstrations"]["use"]
        if "of" in definition:
            row["strategy"] = f"{definition['rule']} of {', '.join(definition['of'])}"
        rows.append(row | definition.get("attributes", {}))
    return pl.DataFrame(rows, infer_schema_length=None)
