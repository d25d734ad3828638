"""Read the whole store: the table of labels, sums of the annotators' work, and the record of all tasks and answers.

Only reads; what takes a connection works within the caller's transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from assay.data.annotations import Annotations, Reading
from assay.data.columns import CONTENT, PART
from assay.data.formats.tables import parse_numeric_columns
from assay.data.scales import (
    Interval,
    Label,
    NamedLabels,
    Nominal,
    Preference,
    RankedTexts,
    Scale,
    SeveralLabels,
    SpanLabels,
    parse_scale,
    plain_number,
    words_of,
)
from assay.errors import StudyError, listing
from assay.study.items import canonical, chance
from assay.study.schema import DRAWN, TRIPLET, TRIPLET_ITEMS, Question, Role, role_of, scale_of, written_question
from assay.study.store import tables
from assay.study.store.connection import Store, setting
from assay.study.store.intake import NOT_KEPT, WITHOUT_ITEM
from assay.study.store.items import NOT_COUNTED, content_numbers, marked_texts, questions
from assay.study.store.people import ADJUDICATOR, CONSENTS, ERASED, WRITES, active_annotators, is_excluded
from assay.study.store.tables import PAGE

# -- the answers that count, as the one table ---------------------------------------------------------


def stored_annotations(
    store: Store,
    notes: Sequence[str] = (),
    folder: Path | None = None,
    *,
    excluded_people: bool = False,
    probes: bool = False,
    reasoning: bool = False,
    only: Collection[str] | None = None,
) -> Annotations:
    """Every answer that counts, as the one table.

    The latest answer of each current assignment counts. Missing answers, answers to earlier versions of a question
    or to a judge since changed, and those of people who are excluded, are not in it and counted in ``reading``.

    Parameters
    ----------
    store : Store
    notes : list of str
        Said in ``reading``.
    folder : Path, optional
        The study's, named in the message for a store without labels.
    excluded_people : bool
        Keep the answers of people who are excluded, with True in the column ``excluded``.
    probes : bool
        Keep the answers to probes, with the name of the probe in the column ``probe``.
    reasoning : bool
        Add the judges' reasoning in the column ``reasoning``.
    only : list of str, optional
        The questions; by default all.

    Raises
    ------
    StudyError
        While there is no answer with a label.
    """
    with store.reading() as db:
        asked = {q.id: q.definition for q in questions(db)}
        systems = {one["annotator"] for one in active_annotators(db) if WRITES.items() <= one["definition"].items()}
        annotators = [one for one in active_annotators(db) if one["annotator"] not in systems]
        names = {one["annotator"] for one in annotators}
        written = written_question(asked.values()) if systems else None
        asked = {number: one for number, one in asked.items() if one.name != written and (not only or one.name in only)}
        named = tuple(one.name for one in asked.values()) if only else ()
        rows, excluded = _counted_rows(db, asked, names, named, excluded_people=excluded_people, probes=probes)
        if reasoning:
            for row in rows:
                row["_about"]["reasoning"] = row["reasoning"] = row["_reasoning"]
        # Items from which pairs or triplets are drawn, or about which systems write, are often not labelled themselves.
        roles = dict.fromkeys(role_of(q, written) for q in asked.values())
        about_draw = (*DRAWN, *TRIPLET) if "triplet" in roles else DRAWN if written is not None else ()
        about_draw = (*about_draw, ITEM_KIND) if len(roles) > 1 else about_draw
        items = _with_sources(db, _items_frame(db, tables.items.c.role.in_(list(roles))), roles, written)
        if "triplet" in roles:
            items, placed = _with_members(db, items, {q.drawn_from for q in asked.values()})
            about_draw = (*about_draw, *placed)
        without_item, not_kept = setting(db, WITHOUT_ITEM) or 0, setting(db, NOT_KEPT) or []
        tried = _settings_tried(db, [one.name for one in asked.values()])
    if not rows:
        raise StudyError(
            f"{store.where} has no labels; if the judges ran with --store, repeat it here or add store: to study.yaml, "
            f"otherwise collect them with: assay judge {folder or 'STUDY'}"
        )
    conditions = list(dict.fromkeys(name for row in rows for name in row["_condition"]))
    items = add_parts(items, asked.values())
    frame, further = add_ensembles(_frame(rows, conditions), conditions, annotators)
    reading = Reading(
        store.where, len(rows) + sum(excluded.values()), notes=(*notes, *further), study=str(folder or ""),
        asked=tuple(one["annotator"] for one in annotators if one["kind"] == "judge"), tried=tried,
        clusters=next((name for name in GROUPS if name in items.columns), ""), drawn=about_draw,
    )  # fmt: skip
    for reason, number in sorted(excluded.items()):
        reading = reading.without(reason, number)
    reading = reading.without("the label is of an item that the study does not have", without_item)
    if not_kept:
        reading = reading.add_notes(f"the file of labels has {listing(not_kept)} too; those of the items count")
    seen = set(frame["criterion"].to_list())
    return Annotations.from_frame(
        frame,
        scale={
            name: common_scale(scale, frame, name)
            for question in asked.values()
            for name, scale in criteria_of(question).items()
            if name in seen
        },
        spelling="apart",  # the study distinguishes them
        exclude=(),  # and who is called majority is one of its raters
        conditions=[c for c in conditions if c in frame.columns],
        items=items,
        annotator_table=_annotators_frame(annotators),
        reading=reading,
    )


def _settings_tried(db: sa.Connection, names: Collection[str]) -> int:
    """Settings of judges and prompts with answers to one of these questions, at most: judges times conditions times
    versions of a prompt. Versions are the different recipes under which one item was answered, as in `prompt_versions`.
    """
    a, n, q = tables.assignments.c, tables.annotators.c, tables.questions.c
    judges = sa.select(n.annotator).where(n.kind == "judge")
    place = (q.name, a.annotator, a.condition)
    versions = sa.func.count(a.recipe.distinct()).label("versions")
    query = sa.select(*place, versions).join_from(tables.assignments, tables.questions, a.question == q.id)
    query = query.where(a.annotator.in_(judges), q.name.in_(names), a.session.is_(None), a.answer.is_not(None))
    each = query.group_by(*place, a.item, a.repeat, a.content).subquery().c
    most = sa.select(each.name, each.condition, sa.func.max(each.versions).label("versions"))
    counts = Counter[str]()
    for row in db.execute(most.group_by(each.name, each.annotator, each.condition)):
        if "probe" not in json.loads(row.condition):
            counts[row.name] += row.versions
    return max(counts.values(), default=0)


GROUPS = ("document", "pair_of", "span_of")
"""Columns of items that belong together: the first that a study has is the clusters of every analysis."""


ITEM_KIND = "item_kind"
"""Column of items in a study with several kinds of them: item, output, pair or triplet."""


def _with_sources(db: sa.Connection, items: pl.DataFrame, roles: Collection[Role], written: str | None) -> pl.DataFrame:
    """Add to items of several kinds their kind and common document, and to pairs the ids of their two outputs."""
    if written is not None and "pair_of" in items.columns:
        items = _with_output_ids(items)
    if len(roles) < 2:
        return items
    i = tables.items.c
    rows = db.execute(sa.select(i.item, i.role, i.document, i.known).where(i.active, i.role.in_(list(roles)))).all()
    of_source = dict(db.execute(sa.select(i.item, i.document).where(i.active, i.role == "source")).all())
    kinds = {"source": "item", "item": "item" if written is None else "pair"}
    kind_of_item = {row.item: kinds.get(row.role, row.role) for row in rows}
    documents = {row.item: of_source.get(row.document or row.item) or row.document or row.item for row in rows}
    return items.with_columns(
        pl.Series(ITEM_KIND, [kind_of_item[name] for name in items["item"]]),
        document=pl.Series([documents[name] for name in items["item"]]),
    )


def _with_members(
    db: sa.Connection, items: pl.DataFrame, compared: Collection[str | None]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Triplets with a column per place for what differs between their texts, such as ``first_author``; these columns.

    A value of a triplet in such a column itself is only of the triplets whose texts share it, and is removed.
    """
    i = tables.items.c
    drawn = db.execute(sa.select(i.item, i.known).where(i.active, i.role == "triplet")).all()
    members = {item: known["members"] for item, known in drawn}
    fields = {item: own or {} for item, own in db.execute(sa.select(i.item, i.fields).where(i.role == "item"))}
    texts = [[fields.get(name, {}) for name in members.get(item, ())] for item in items["item"]]
    placed: list[str] = []
    for column in dict.fromkeys(c for some in texts for one in some for c in one if c not in compared):
        names = [f"{place}_{column}" for place in TRIPLET]
        values = [[one.get(column) for one in some] for some in texts]
        if all(one == some[0] for some in values for one in some) or {*names} & {*items.columns}:
            continue
        parts = [_series([some[at] if at < len(some) else None for some in values]) for at in range(len(names))]
        table = parse_numeric_columns(pl.DataFrame(dict(zip(names, parts, strict=True))), leave=())
        items = items.with_columns(table)
        if column in items.columns:
            own = pl.Series([not some for some in texts])
            items = items.with_columns(pl.when(own).then(pl.col(column)).alias(column))
            items = items if items[column].count() else items.drop(column)
        placed += names
    return items, tuple(placed)


def _with_output_ids(items: pl.DataFrame) -> pl.DataFrame:
    """Pairs with the item ids of their outputs in ``first_item`` and ``second_item``, as triplets have them."""
    made = {}
    for side, column in zip(("first", "second"), TRIPLET_ITEMS, strict=False):
        parts = (pl.col("pair_of"), pl.lit(" | "), pl.col(side), pl.lit(" "), pl.col(f"{side}_output").cast(pl.Int64))
        there = [pl.col(column)] if column in items.columns else []
        made[column] = pl.coalesce(*there, pl.concat_str(*parts))
    return items.with_columns(**made)


def sources_frame(db: sa.Connection) -> pl.DataFrame:
    """The items that systems write about, one row each; within a transaction."""
    return _items_frame(db, tables.items.c.role == "source")


def _counted_rows(
    db: sa.Connection,
    asked: Mapping[int, Question],
    annotators: Collection[str],
    only: Collection[str],
    *,
    excluded_people: bool,
    probes: bool,
    spans: bool = False,
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The answers that count as rows, and how many do not, by reason."""
    a, s, i, p = (table.c for table in (tables.assignments, tables.answers, tables.items, tables.people))
    query = sa.select(
        *(a.item, a.annotator, a.question, a.repeat, a.condition, a.active, a.content),
        *(s.label, s.status, s.reason, s.shown, s.seconds, s.reasoning, i.active.label("there"), i.role),
        *(p.excluded_at, p.excluded_for, p.role.label("does")),
    )
    joined = tables.join(tables.join(tables.LATEST, tables.items), tables.people, outer=True)
    q, n = tables.questions.c, tables.annotators.c
    systems = [name for name, of in db.execute(sa.select(n.annotator, n.definition)) if WRITES.items() <= of.items()]
    query = query.where(a.annotator.not_in(systems))  # their outputs are not labels, see `assay.study.store.items`
    if only:
        query = query.where(a.question.in_(sa.select(q.id).where(q.name.in_(only))))
    rows: list[dict[str, Any]] = []
    excluded: Counter[str] = Counter()
    numbers = content_numbers(db, asked)
    marked = {number: marked_texts(db, one) for number, one in asked.items() if one.marked is not None}
    for row in db.execute(query.select_from(joined).order_by(i.position, a.id)):
        why = _exclusion_reason(row, asked, annotators, excluded_people=excluded_people)
        if why is None and not probes and "probe" in json.loads(row.condition):
            why = "it answers a probe, which is no further label"
        texts, now = marked.get(row.question, ({}, {}))
        text = texts.get((row.item, row.content), "")
        if why is None and text != now.get(row.item, ""):
            why = "the text has changed since its spans were marked"
        if why is None:
            number = numbers.get((row.question, row.item, row.content), 1)
            question = asked[row.question]
            rows += (
                (_span_rows if spans else _label_rows)(row, question, number, text)
                if question.kind.lists
                else [_label_row(row, question.name, row.label, number)]
            )
        else:
            excluded[why] += 1
    return rows, excluded


def _exclusion_reason(
    row: Any, asked: Mapping[int, Question], annotators: Collection[str], *, excluded_people: bool
) -> str | None:
    """Return the reason why an answer does not count; None if it does."""
    if not row.there:
        return "the item is no longer in the study"
    if row.role in NOT_COUNTED:
        return NOT_COUNTED[row.role]
    if row.question not in asked:
        return "the question has changed since, or is no longer asked"
    if row.annotator not in annotators:
        return "the judge is no longer in the study"
    if not row.active:
        return "the judge, its prompt or the item has changed since"
    if row.excluded_at is not None and not excluded_people:
        return f"{row.annotator} is excluded" + (f": {row.excluded_for}" if row.excluded_for else "")
    if row.does == ADJUDICATOR and not excluded_people:
        return f"{row.annotator} decides between the answers of others"
    return None if row.status == "valid" else f"{row.annotator}: {row.reason}"


_APPLIES = Nominal(("no", "yes"))
"""Of one of several labels: whether it was chosen."""


def criteria_of(question: Question) -> dict[str, Scale]:
    """The criteria of a question in the table, with their scales: one, or one for each of several labels."""
    scale = scale_of(question.scale)
    if isinstance(scale, NamedLabels):
        return {f"{question.name}: {name}": _APPLIES for name in scale.names}
    return {question.name: Preference() if isinstance(scale, RankedTexts) else scale}


def labels_in_table(question: Question, item: str, label: Label, text: str = "") -> Iterator[tuple[str, str, Label]]:
    """An answer as the table has it, (criterion, item, label).

    Each of several labels; every two texts that were ranked; each label at every word of the text that was marked.
    """
    scale = scale_of(question.scale)
    if isinstance(scale, SeveralLabels):
        chosen = scale.chosen(label) or ()
        for name in scale.names:
            yield f"{question.name}: {name}", item, "yes" if name in chosen else "no"
    elif isinstance(scale, RankedTexts):
        ranked = scale.chosen(label) or ()
        place = {column: ranked.index(name) for name, column in zip(scale.names, question.options, strict=True)}
        for name, first, second in ranked_pairs(item, question.options):
            yield question.name, name, -1 if place[first] < place[second] else 1
    elif isinstance(scale, SpanLabels):
        spans = scale.chosen(label) or ()
        for number, (start, end) in enumerate(words_of(text), start=1):
            inside = {name for first, last, name in spans if first < end and start < last}
            for name in scale.names:
                word = _word_item(item, question.marked, number)
                yield f"{question.name}: {name}", word, "yes" if name in inside else "no"
    else:
        yield question.name, item, label


def _word_item(item: str, column: str | None, number: int) -> str:
    """Return the item id of a word of a text."""
    return f"{item}: {column} {number}"


@lru_cache(maxsize=100_000)
def ranked_pairs(item: str, options: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """Return every two texts of a ranked item: the item id of the pair, the first, the second.

    The first of two is drawn by item: with a fixed order one label would be much more common, and agreement beyond
    chance would look small for any agreement on ranks.
    """
    found = []
    for pair in combinations(options, 2):
        first, second = pair if chance("ranked", item, *pair).random() < 0.5 else pair[::-1]
        found.append((f"{item}: {first} / {second}", first, second))
    return tuple(found)


def add_parts(items: pl.DataFrame, asked: Iterable[Question]) -> pl.DataFrame:
    """The items, with every two texts that are ranked, and every word of a text with spans, as an item.

    ``pair_of``, ``first`` and ``second`` say which pair, ``span_of`` and ``word`` which word.
    """
    every = list(asked)
    ranked = [one.options for one in every if isinstance(scale_of(one.scale), RankedTexts)]
    marked = [one.marked for one in every if one.marked is not None]
    parts = []
    if ranked:
        rows = ((one, *pair) for options in ranked for one in items["item"] for pair in ranked_pairs(one, options))
        parts.append(_part_items(items, ["pair_of", "item", "first", "second"], rows))
    if marked:
        words = (
            (one, _word_item(one, column, number), str(text)[start:end])
            for column in marked if column in items.columns
            for one, text in items.select("item", column).iter_rows() if text is not None
            for number, (start, end) in enumerate(words_of(str(text)), start=1)
        )  # fmt: skip
        parts.append(_part_items(items, ["span_of", "item", "word"], words))
    whole = [] if parts and len(ranked) + len(marked) == len(every) else [items]
    return pl.concat([*whole, *parts], how="diagonal_relaxed")


def _part_items(items: pl.DataFrame, columns: list[str], rows: Iterable[tuple[str, ...]]) -> pl.DataFrame:
    """Parts of items as items, with all that is known of the whole."""
    parts = pl.DataFrame(list(dict.fromkeys(rows)), schema=dict.fromkeys(columns, pl.String()), orient="row")
    return parts.join(items, left_on=columns[0], right_on="item", how="left", maintain_order="left", suffix="_of_item")


def _label_rows(row: Any, question: Question, content: int, text: str) -> Iterator[dict[str, Any]]:
    """An answer that is a list as rows of the table."""
    pairs = ranked_pairs(row.item, question.options) if isinstance(scale_of(question.scale), RankedTexts) else ()
    for number, (criterion, item, label) in enumerate(labels_in_table(question, row.item, row.label, text)):
        own = _label_row(row, criterion, label, content) | {"item": item}
        if pairs and "order" in own:
            shown = [one for one in row.shown["order"] if one in pairs[number][1:]]
            own |= {"order": ">".join(shown), "position": shown.index(pairs[number][1 + (label == 1)]) + 1}
        yield own


def _span_rows(row: Any, question: Question, content: int, text: str) -> Iterator[dict[str, Any]]:
    """An answer that marks spans as rows, one a span: the text about it, otherwise its words."""
    scale = scale_of(question.scale)
    assert isinstance(scale, SpanLabels)
    for start, end, name, about in scale.with_texts(row.label) or ():
        words = text[start:end]
        span = {"item": f"{row.item}: {question.marked} {start}-{end}", "span_of": row.item, "words": words}
        span |= {"start": start, "end": end}
        yield _label_row(row, f"{question.name}: {name}", about or words, content) | {
            "item": span["item"],
            "_span": span,
        }


def stored_spans(store: Store, folder: Path, *, only: Collection[str] | None = None) -> Annotations:
    """Every marked span of the answers that count, as the one table on the scale text.

    An item is a span: ``ITEM: COLUMN START-END``, with ``span_of``, ``words``, ``start`` and ``end`` (in characters),
    and the columns of the whole item. Its label is the text about it, otherwise its words; its criterion is
    ``QUESTION: LABEL``.

    Raises
    ------
    StudyError
        If no span is marked yet.
    """
    with store.reading() as db:
        asked = {q.id: q.definition for q in questions(db) if q.definition.marked is not None}
        asked = {number: one for number, one in asked.items() if not only or one.name in only}
        annotators = active_annotators(db)
        names = {one["annotator"] for one in annotators}
        rows, excluded = _counted_rows(
            db, asked, names, [one.name for one in asked.values()], excluded_people=False, probes=False, spans=True
        )
        items = _items_frame(db, tables.items.c.role.in_(["item", "source"]))
    if not rows:
        raise StudyError(f"{folder} has no marked spans yet")
    spans = pl.DataFrame([row["_span"] for row in rows]).unique("item", maintain_order=True)
    items = spans.join(items, left_on="span_of", right_on="item", how="left", maintain_order="left", suffix="_of_item")
    conditions = list(dict.fromkeys(name for row in rows for name in row["_condition"]))
    frame = _frame(rows, conditions)
    reading = Reading(
        store.where, len(rows) + sum(excluded.values()), study=str(folder), clusters="span_of", drawn=("start", "end")
    )
    for reason, number in sorted(excluded.items()):
        reading = reading.without(reason, number)
    return Annotations.from_frame(
        frame, scale=parse_scale("text"), spelling="apart", exclude=(), items=items, reading=reading,
        conditions=[c for c in conditions if c in frame.columns], annotator_table=_annotators_frame(annotators),
    )  # fmt: skip


def _label_row(row: Any, criterion: str, label: Label, content: int) -> dict[str, Any]:
    shown, condition = row.shown or {}, json.loads(row.condition)
    own = {"item": row.item, "annotator": row.annotator, "label": label}
    own |= {"criterion": criterion, "repeat": row.repeat, "_condition": condition}
    own |= {CONTENT: content, "_reasoning": row.reasoning}
    if "order" in shown:
        own |= {"order": ">".join(shown["order"]), "position": shown.get("position")}
    about = shown.get("about", {}) | ({} if row.seconds is None else {"seconds": row.seconds})
    about |= {} if row.excluded_at is None and row.does != ADJUDICATOR else {"excluded": True}
    own |= condition | {"_about": about} | about
    return own


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


def common_scale(scale: Scale, frame: pl.DataFrame, criterion: str) -> Scale:
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


def _items_frame(db: sa.Connection, which: sa.ColumnElement[bool]) -> pl.DataFrame:
    """One row an item of the study: its columns, texts that are all numbers as such, lists and objects as JSON text."""
    i = tables.items
    items = db.execute(sa.select(i).where(i.c.active, which).order_by(i.c.position)).all()
    columns: dict[str, Any] = {"item": [item.item for item in items]}
    parts = [(item.known or {}).get(PART) for item in items]
    if any(parts):
        columns[PART] = parts
    if any(item.document is not None for item in items):
        columns["document"] = [item.document for item in items]
    for name in dict.fromkeys(name for item in items for name in item.fields if name not in ("item", "document")):
        columns[name] = _series([item.fields.get(name) for item in items])
    return parse_numeric_columns(pl.DataFrame(columns), leave=("item", "document", PART))


def _series(values: Sequence[Any]) -> pl.Series:
    """A column of items: lists and objects as JSON text, values of several types as text."""
    plain = [canonical(v) if isinstance(v, list | dict) else v for v in values]
    kinds = {type(v) for v in plain if v is not None}
    mixed = len(kinds) > 1 and not kinds <= {int, float}
    return pl.Series([str(v) if mixed and v is not None else v for v in plain], strict=False)


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
    names = ("annotator", "kind", *about, "demonstrations")
    return parse_numeric_columns(pl.DataFrame(rows, infer_schema_length=None), leave=names)


# -- what several judges, or one judge asked several times, say together ------------------------------


def add_ensembles(
    frame: pl.DataFrame, conditions: Sequence[str], annotators: Sequence[dict[str, Any]]
) -> tuple[pl.DataFrame, list[str]]:
    """The table with a row for each answer of an ensemble, and a note on each.

    Parameters
    ----------
    frame : polars.DataFrame
        One row a label: ``item``, ``annotator``, ``criterion``, ``label`` and the conditions.
    conditions : list of str
        Experimental conditions. An ensemble has one label under each combination, computed from all repeats and orders
        of the options.
    annotators : list of dict
        Annotators with their ``definition``; those that have ``of`` are ensembles.
    """
    notes: list[str] = []
    parts = [frame]
    kept = [c for c in conditions if c != "order"]
    for annotator in annotators:
        name, definition = annotator["annotator"], annotator["definition"]
        if "of" not in definition:
            continue
        members, rule = frame.filter(pl.col("annotator").is_in(definition["of"])), definition["rule"]
        if members.height == 0:
            notes.append(f"{name}: none of its judges has answered yet")
            continue
        if rule != "majority" and not frame["label"].dtype.is_numeric():
            notes.append(f"{name}: labels that are not numbers have no {rule}; their majority counts")
            rule = "majority"
        grouped = members.group_by(["item", "criterion", *kept], maintain_order=True).agg(pl.col("label"))
        combined = [
            combine_votes(votes, rule, f"{definition['seed']}/{name}/{item}/{criterion}")
            for item, criterion, votes in grouped.select("item", "criterion", "label").iter_rows()
        ]
        dtype = frame["label"].dtype if rule == "majority" else pl.Float64
        labels = pl.Series([label for label, _ in combined], dtype=dtype)
        parts.append(grouped.with_columns(label=labels, annotator=pl.lit(name)))
        if ties := sum(tied for _, tied in combined):
            notes.append(f"{name}: {ties} of {grouped.height} majorities were ties, drawn by seed")
    if len(parts) == 1:
        return frame, notes
    whole = pl.concat(parts, how="diagonal_relaxed")
    if "repeat" in whole.columns:
        whole = whole.with_columns(pl.col("repeat").fill_null(1))
    return whole, notes


def combine_votes(votes: Sequence[Any], rule: str, draw: str) -> tuple[Any, bool]:
    """One label from several, and whether it had to be drawn (by ``draw``) from a tie."""
    if rule == "mean":
        return sum(votes) / len(votes), False
    if rule == "median":
        ordered = sorted(votes)
        middle = len(ordered) // 2
        return (ordered[middle] + ordered[~middle]) / 2, False
    most = max(votes.count(v) for v in votes)
    best = sorted({v for v in votes if votes.count(v) == most}, key=str)
    chance = int.from_bytes(hashlib.sha256(draw.encode()).digest()[:8], "big")
    return best[chance % len(best)], len(best) > 1


# -- sums of the annotators' work -----------------------------------------------------------------------


def _number(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    """How many rows of a group fulfil all conditions."""
    return sa.func.coalesce(sa.func.sum(sa.case((sa.and_(*conditions), 1), else_=0)), 0)


def known_answers(
    db: sa.Connection, questions: Collection[int], role: Role, person: str | None = None, *, first: bool
) -> Sequence[Any]:
    """Return the answers to items with known answers, by annotator, item, condition, repeat, question.

    The labels that count; or the first answer of each, without a label if it was skipped.
    """
    a, s, i = tables.assignments.c, tables.answers.c, tables.items.c
    every = tables.answers.alias().c
    query = sa.select(a.annotator, a.item, a.condition, a.repeat, a.question, s.label)
    query = query.select_from(tables.join(tables.EVERY if first else tables.LATEST, tables.items))
    earliest = s.id.in_(sa.select(sa.func.min(every.id)).group_by(every.assignment))
    query = query.where(a.recipe == PAGE, i.role == role, i.active, a.question.in_(questions))
    query = query.where(earliest if first else s.status == "valid")
    return db.execute(query if person is None else query.where(a.annotator == person)).all()


def _seconds_by_task(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """By person and task, the seconds at work on it."""
    a, s = tables.assignments.c, tables.answers.c
    task = (a.annotator, a.item, a.condition, a.repeat)
    saves = (
        sa.select(*task, sa.func.max(s.seconds).label("seconds"))
        .select_from(tables.join(tables.EVERY, tables.items))
        .where(a.recipe == PAGE, s.seconds.is_not(None), *conditions)
        .group_by(*task, s.revision)
    ).subquery()
    whole = sa.select(saves.c.annotator, sa.func.sum(saves.c.seconds).label("seconds"))
    return whole.group_by(*(saves.c[c.name] for c in task))


def seconds_by_person(db: sa.Connection) -> dict[str, float]:
    """Seconds at work in all, by person: practice, checks and skipped items among them."""
    each = _seconds_by_task().subquery().c
    query = sa.select(each.annotator, sa.func.sum(each.seconds)).group_by(each.annotator)
    return {name: float(seconds) for name, seconds in db.execute(query)}


def answered_by_person(db: sa.Connection) -> dict[str, Any]:
    """By person: how many items they ``answered``, checks among them and practice not, and when ``first``, ``last``."""
    t = tables.tasks.c
    answered = _number(t.state == "answered", t.role != "warm-up").label("answered")
    query = sa.select(
        t.annotator, answered, sa.func.min(t.given_at).label("first"), sa.func.max(t.closed_at).label("last")
    )
    return {row.annotator: row for row in db.execute(query.group_by(t.annotator))}


def human_answers(db: sa.Connection, questions: Collection[int], item: str | None = None) -> Sequence[Any]:
    """The labels of people that count (question, condition, item, annotator, label), the first time first."""
    a, s, i, n = (table.c for table in (tables.assignments, tables.answers, tables.items, tables.annotators))
    query = sa.select(a.question, a.condition, a.item, a.annotator, s.label)
    query = query.select_from(tables.join(tables.LATEST, tables.items, tables.annotators))
    query = query.where(a.active, s.status == "valid", n.kind == "human", i.active, i.role.not_in(NOT_COUNTED))
    query = query.where(a.question.in_(questions), sa.not_(is_excluded(a.annotator)))
    query = query if item is None else query.where(a.item == item)
    return db.execute(query.order_by(a.repeat, a.id)).all()


def answers_about(db: sa.Connection, *, item: str | None = None, person: str | None = None) -> Sequence[Any]:
    """Return the latest answers to the current questions, about an item or by an annotator, in chronological order."""
    a, s, q, n, p = (
        t.c for t in (tables.assignments, tables.answers, tables.questions, tables.annotators, tables.people)
    )
    query = sa.select(
        *(a.annotator, a.item, a.question, a.condition, a.repeat, q.name.label("criterion"), n.kind),
        *(s.label, s.status, s.reason, s.comment, s.flag, s.seconds, s.answered_at, s.shown, s.reasoning),
        *(p.excluded_at, p.role.label("does")),
    )
    joined = tables.join(tables.join(tables.LATEST, tables.questions, tables.annotators), tables.people, outer=True)
    query = query.select_from(joined).where(a.active, q.current, s.status != "failed")
    query = query if item is None else query.where(a.item == item)
    query = query if person is None else query.where(a.annotator == person)
    return db.execute(query.order_by(s.id)).all()


# -- triplets ------------------------------------------------------------------------------------------


def n_triplets(db: sa.Connection) -> int:
    """How many triplets were drawn so far."""
    return int(db.execute(sa.select(sa.func.count()).where(tables.items.c.role == "triplet")).scalar_one())


def n_pairs(db: sa.Connection, pool: Role = "item") -> int:
    """How many pairs of items of a role there are from which triplets are drawn, each within its document."""
    i = tables.items.c
    pools = db.execute(sa.select(sa.func.count()).where(i.active, i.role == pool).group_by(i.document)).scalars()
    return sum(n * (n - 1) // 2 for n in pools if n > 2)


# -- the record: everything that people were given, shown and asked, table by table ------------------

Rows = Iterable[dict[str, Any]]

_AT_ONCE = 1000
"""Rows that are in memory at a time: a server writes the record while it answers people."""


@contextmanager
def study_record(store: Store) -> Iterator[dict[str, Rows]]:
    """The rows of each table of the record, by its name, all as of one moment. Links and secrets are not in them."""
    with store.reading() as db:
        if db.dialect.name == "postgresql":  # all tables as of one moment, which SQLite gives anyway
            db = db.execution_options(isolation_level="REPEATABLE READ")
        yield {name: rows(db) for name, rows in _RECORD.items()}


def _rows(db: sa.Connection, query: sa.Select[Any]) -> Iterator[dict[str, Any]]:
    """The rows of a query, a few at a time."""
    for row in db.execute(query, execution_options={"yield_per": _AT_ONCE}):
        yield dict(row._mapping)


def _answer_rows(db: sa.Connection) -> Rows:
    a, s, q = tables.assignments.c, tables.answers.c, tables.questions.c
    query = sa.select(
        *(s.id, a.annotator, a.item, a.question, q.name.label("criterion"), q.version, a.condition, a.repeat),
        *(s.revision, s.status, s.label, s.reason, s.comment, s.flag, s.seconds, s.answered_at, s.shown),
        sa.and_(a.active, a.answer == s.id, s.status == "valid").label("latest"),
        is_excluded(a.annotator).label("excluded"),
    )
    query = query.select_from(tables.join(tables.EVERY, tables.questions)).where(a.recipe == PAGE)
    for row in _rows(db, query.order_by(s.id)):
        shown = row.pop("shown") or {}
        row["condition"] = json.loads(row["condition"])
        about = {"latest": bool(row.pop("latest")), "excluded": bool(row.pop("excluded"))}
        rest = {name: value for name, value in shown.items() if name != "task"}
        number = row.pop("id")
        yield {"id": number, "task": shown.get("task"), **row, "shown": rest, **about}


def _task_rows(db: sa.Connection) -> Rows:
    t = tables.tasks.c
    query = sa.select(
        *(t.id, t.annotator, t.item, t.role, t.questions, t.condition, t.repeat, t.party, t.session, t.page, t.place),
        *(t.state, t.extra, t.form, t.shown, t.given_at, t.expires_at, t.closed_at),
    )
    for row in _rows(db, query.order_by(t.annotator, t.place)):
        yield row | {name: json.loads(row[name]) for name in ("questions", "condition")}


def _people_rows(db: sa.Connection) -> Rows:
    p, n = tables.people.c, tables.annotators.c
    query = sa.select(
        *(p.annotator, n.definition, p.state, p.invited_at, p.consented_at, p.consented_to),
        *(p.excluded_at, p.excluded_for, p.role),
    )
    joined = tables.people.join(tables.annotators, n.annotator == p.annotator)
    for row in _rows(db, query.select_from(joined).order_by(p.invited_at, p.annotator)):
        attributes = (row.pop("definition") or {}).get("attributes", {})
        yield {"annotator": row.pop("annotator"), "attributes": attributes, **row}


def _whole(table: sa.TableClause, columns: str, order: str) -> Callable[[sa.Connection], Rows]:
    """The rows of one table, with these of its columns."""
    query = sa.select(*(table.c[name] for name in columns.split()))
    query = query.order_by(*(table.c[name] for name in order.split()))
    return lambda db: _rows(db, query)


_RECORD: dict[str, Callable[[sa.Connection], Rows]] = {
    "answers": _answer_rows,
    "tasks": _task_rows,
    "questions": _whole(tables.questions, "id name version current made_at definition", "id"),
    "forms": _whole(tables.forms, "id digest made_at definition", "id"),
    "items": _whole(
        tables.items,
        "item role position document digest active fields pictures known",
        "role position item",
    ),
    "contents": _whole(tables.contents, "item digest document fields pictures kept_at", "kept_at item digest"),
    "people": _people_rows,
    "consents": lambda db: [{"digest": one, **about} for one, about in (setting(db, CONSENTS) or {}).items()],
    "visits": _whole(tables.visits, "person given came_at screening outcome ended_at", "came_at person"),
    "replies": _whole(tables.replies, "person number stage given wrong at", "person number"),
    "messages": _whole(tables.messages, "id person item about words at", "id"),
    "events": _whole(tables.events, "id at what about", "id"),
    "erased": lambda db: setting(db, ERASED) or [],
}
