"""Items with their earlier contents, questions in all versions, and pairs of systems' outputs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.errors import StudyError
from assay.study.items import Item, canonical, digest_of
from assay.study.schema import OUTPUT_ABOUT, PAIR, OutputPairs, Question, Role, written_question
from assay.study.store import tables
from assay.study.store.connection import CHUNK, Store, batches, connect, insert, put_setting, setting, upsert

NOT_COUNTED: dict[str, str] = {
    "check": "the item is an attention check",
    "warm-up": "the item is one to warm up on",
}
"""Why answers to items of these roles are not in the table."""

DRAWN = "triplets"
"""The setting with the number of drawn triplets, for the plan of the judges."""

PAIRS, _NAMES = "pairs", "pairs by name"
"""Settings: the digest of the outputs from which pairs were drawn, and the names of the pairs."""

OUTPUTS = "outputs"
"""Setting: the digest of the outputs that are items themselves."""


# -- items -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewItem:
    """An item on its way into the store."""

    position: int
    item: Item
    role: Role = "item"
    known: dict[str, Any] | None = None
    """The known answers of a check; the members of a triplet; the item that a pair of outputs is of."""
    pictures: dict[str, str] | None = None
    """Digests of its images by column, see `assay.study.items.picture_digests`."""

    @property
    def digest(self) -> str:
        """Names its content: document, fields and images."""
        return digest_of([self.item.document, self.item.fields, *([self.pictures] if self.pictures else [])])


def items(store: Store, role: Role = "item") -> Iterator[tuple[Item, str]]:
    """Every item with the digest of its contents, in the order of the file, a few at a time."""
    last = -1
    while True:
        with store.reading() as db:
            rows = db.execute(_ITEMS, {"role": role, "last": last}).all()
        for row in rows:
            yield _item(row), row.digest
        if len(rows) < CHUNK:
            return
        last = rows[-1].position


def items_named(source: Store | sa.Connection, names: Iterable[str]) -> dict[str, Item]:
    """Items by name."""
    with connect(source) as db:
        rows = db.execute(sa.select(tables.items).where(tables.items.c.item.in_(list(names)))).all()
    return {row.item: _item(row) for row in rows}


def items_given(store: Store, given: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Item]:
    """Return items by name and digest: with the content at the time of the task."""
    wanted = set(given)
    names = {name for name, _ in wanted}
    found = {}
    with store.reading() as db:
        for statement in _AS_GIVEN:
            for row in db.execute(statement, {"names": list(names)}):
                found[row.item, row.digest] = _item(row)
    return {key: found[key] for key in wanted}


def known_items(store: Store, role: Role) -> dict[str, dict[str, Any]]:
    """The known answers of each check, or of each item to warm up on, in the order of their file."""
    i = tables.items.c
    with store.reading() as db:
        rows = db.execute(sa.select(i.item, i.known).where(i.active, i.role == role).order_by(i.position)).all()
    return {row.item: row.known for row in rows}


def active_items(db: sa.Connection, role: Role | None = None, among: Collection[str] | None = None) -> list[str]:
    """Return the names of the current items, of one role or of any, and among these names."""
    i = tables.items.c
    query = sa.select(i.item).where(i.active)
    query = query if role is None else query.where(i.role == role)
    return list(db.execute(query if among is None else query.where(i.item.in_(among))).scalars())


def digests_of(db: sa.Connection, names: Iterable[str]) -> dict[str, str]:
    """What names the contents of items now, by item."""
    return {row.item: row.digest for row in db.execute(_DIGESTS, {"names": list(names)})}


_ITEMS = (
    sa.select(tables.items)
    .where(tables.items.c.active, tables.items.c.role == sa.bindparam("role"))
    .where(tables.items.c.position > sa.bindparam("last"))
    .order_by(tables.items.c.position)
    .limit(CHUNK)
)
_AS_GIVEN = [
    sa.select(table).where(table.c.item.in_(sa.bindparam("names"))) for table in (tables.items, tables.contents)
]
_DIGESTS = sa.select(tables.items.c.item, tables.items.c.digest).where(tables.items.c.item.in_(sa.bindparam("names")))


def content_numbers(db: sa.Connection, questions: Mapping[int, Question]) -> dict[tuple[int, str, str], int]:
    """Return by question, item and digest the version of an item's displayed content: 1 is the first.

    Contents that differ only in columns that the question does not show have the same version.
    """
    contents: dict[str, dict[str, Any]] = {}
    for row in db.execute(sa.select(tables.contents).order_by(tables.contents.c.kept_at)):
        contents.setdefault(row.item, {})[row.digest] = row
    for chunk in batches(contents):
        for row in db.execute(sa.select(tables.items).where(tables.items.c.item.in_(chunk))):
            contents[row.item].setdefault(row.digest, row)
    numbers = {}
    for number, question in questions.items():
        for item, rows in contents.items():
            seen: dict[str, int] = {}
            for digest, row in rows.items():
                columns = {*question.shown_columns(row.fields), *question.choices}
                shown = [{c: v for c, v in part.items() if c in columns} for part in (row.fields, row.pictures)]
                numbers[number, item, digest] = seen.setdefault(canonical(shown), len(seen) + 1)
    return numbers


def marked_texts(db: sa.Connection, question: Question) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """Return the texts in which a question marks spans: by item and digest, with earlier ones; and the current ones."""
    rows = [row for table in (tables.contents, tables.items) for row in db.execute(sa.select(table))]
    texts = {(row.item, row.digest): question.marked_text(row.fields) for row in rows}
    return texts, {row.item: question.marked_text(row.fields) for row in rows}


def retire_items(db: sa.Connection) -> None:
    """Retire all items except triplets and outputs, which are not in a file."""
    kept = tables.items.c.role.in_(("triplet", "output"))
    db.execute(sa.update(tables.items).where(sa.not_(kept)).values(active=False))


def put_items(db: sa.Connection, new: Sequence[NewItem], now: float) -> None:
    """Add items, or update those of the same name; their earlier content is kept."""
    if not new:
        return
    rows = {
        one.item.name: {
            "item": one.item.name,
            "position": one.position,
            "document": one.item.document,
            "fields": one.item.fields,
            "pictures": one.pictures or {},
            "digest": one.digest,
            "role": one.role,
            "known": one.known,
            "active": True,
        }
        for one in new
    }
    i = tables.items.c
    old = sa.select(i.item, i.digest, i.document, i.fields, i.pictures).where(i.item.in_(rows))
    changed = [{**r._mapping, "kept_at": now} for r in db.execute(old) if r.digest != rows[r.item]["digest"]]
    if changed:
        db.execute(insert(db, tables.contents).on_conflict_do_nothing(), changed)
    upsert(db, tables.items, ["item"], [c.name for c in i if c.name != "item"], list(rows.values()))


def _item(row: Any) -> Item:
    return Item(row.item, row.document, row.fields)


# -- questions in all their versions, and the words that people read with them ------------------------


@dataclass(frozen=True)
class AskedQuestion:
    """A question of the study: its current version."""

    id: int
    version: int
    definition: Question


def questions(source: Store | sa.Connection) -> list[AskedQuestion]:
    """The current version of every question."""
    q = tables.questions
    with connect(source) as db:
        rows = db.execute(sa.select(q).where(q.c.current).order_by(q.c.id)).all()
    return [AskedQuestion(r.id, r.version, Question.model_validate(r.definition)) for r in rows]


def question_names(db: sa.Connection) -> dict[int, str]:
    """Return the name of each version of each question, by its number."""
    q = tables.questions.c
    return {row.id: row.name for row in db.execute(sa.select(q.id, q.name))}


def questions_by_id(store: Store, ids: Sequence[int]) -> dict[int, Question]:
    """Return questions, in any version, in the given order."""
    q = tables.questions
    with store.reading() as db:
        rows = {row.id: row.definition for row in db.execute(sa.select(q).where(q.c.id.in_(ids)))}
    return {number: Question.model_validate(rows[number]) for number in ids}


def put_questions(
    db: sa.Connection,
    asked: Sequence[Question],
    now: float,
    *,
    columns: Sequence[str],
    hidden: Sequence[str],
    same: bool = False,
) -> None:
    """Make these the current questions.

    A question that annotators see as they saw an earlier version is that version again, with all its answers. Another
    wording is a new version or, with ``same``, another wording of the current version.

    Parameters
    ----------
    columns, hidden : list of str
        Those of the items, and those that are never shown, see `assay.study.schema.Question.wording`.
    """
    q = tables.questions
    db.execute(sa.update(q).where(q.c.name.not_in([question.name for question in asked])).values(current=False))
    for question in asked:
        _put_question(db, question, digest_of(question.wording(columns, hidden)), now, same)


def _put_question(db: sa.Connection, question: Question, digest: str, now: float, same: bool) -> None:
    """``digest`` identifies the displayed text and the possible answers."""
    q, w = tables.questions, tables.wordings.c
    mine, definition = q.c.name == question.name, question.model_dump(mode="json")
    versions = db.execute(sa.select(q).where(mine).order_by(q.c.current.desc(), q.c.version.desc())).all()
    alike = sa.select(w.question).where(w.question.in_([row.id for row in versions]), w.digest == digest)
    number = db.execute(alike).scalar()
    if number is None and same and versions:
        number = versions[0].id
    db.execute(sa.update(q).where(mine).values(current=False))
    if number is None:
        version = max((row.version for row in versions), default=0) + 1
        row = {"name": question.name, "version": version, "definition": definition, "current": True, "made_at": now}
        number = db.execute(sa.insert(q).returning(q.c.id), row).scalar_one()
    else:
        db.execute(sa.update(q).where(q.c.id == number).values(current=True, definition=definition))
    wording = {"question": number, "digest": digest, "definition": definition, "made_at": now}
    db.execute(insert(db, tables.wordings).on_conflict_do_nothing(), wording)


def keep_form(store: Store, digest: str, definition: dict[str, Any]) -> int:
    """Store the page texts that accompany the questions under a number; equal texts have the same number."""
    f = tables.forms
    with store.writing() as db:
        row = {"digest": digest, "definition": definition, "made_at": store.now(db)}
        db.execute(insert(db, f).on_conflict_do_nothing(), row)
        return int(db.execute(sa.select(f.c.id).where(f.c.digest == digest)).scalar_one())


def form_of(store: Store, number: int) -> dict[str, Any]:
    """Return page texts by their number."""
    f = tables.forms.c
    with store.reading() as db:
        return dict(db.execute(sa.select(f.definition).where(f.id == number)).scalar_one())


def forms_until(store: Store, number: int) -> list[tuple[int, float, dict[str, Any]]]:
    """Return the number, time and texts of all page texts up to a number, oldest first."""
    f = tables.forms.c
    with store.reading() as db:
        rows = db.execute(sa.select(f.id, f.made_at, f.definition).where(f.id <= number).order_by(f.id))
        return [(row.id, row.made_at, row.definition) for row in rows]


def first_form(store: Store, person: str) -> tuple[int, dict[str, Any]] | None:
    """Return the number and the page texts of an annotator's first task; None before it."""
    f, t = tables.forms.c, tables.tasks.c
    query = sa.select(f.id, f.definition).select_from(tables.tasks.join(tables.forms, t.form == f.id))
    with store.reading() as db:
        row = db.execute(query.where(t.annotator == person).order_by(t.id).limit(1)).first()
        return None if row is None else (row.id, row.definition)


# -- outputs of systems, one at a time and in pairs, as items for annotators and judges ----------------


@dataclass(frozen=True)
class SystemOutput:
    """The n-th output of a system about an item."""

    item: str
    system: str
    number: int
    text: str
    temperature: float | None = None
    """If the study varies it."""

    @property
    def id(self) -> str:
        """The item id of the output, ``d07 | alpha 2``; at varied temperatures, with the temperature."""
        varied = "" if self.temperature is None else f" at {self.temperature:g}"
        return f"{self.item} | {self.system} {self.number}{varied}"


@dataclass(frozen=True)
class WrittenOutputs:
    """The outputs of the systems so far."""

    outputs: tuple[SystemOutput, ...]
    missing: int
    """Outputs still to generate."""
    unreadable: int
    """Outputs that were asked for and are none: empty, or cut off."""

    def made_of(self, comparisons: OutputPairs | None = None) -> str:
        """Return a digest of the outputs, and of how pairs are drawn from them."""
        # A temperature that is not varied is omitted, as in stores of earlier versions.
        parts = [[*vars(one).items()] for one in self.outputs]
        outputs = [{k: v for k, v in part if (k, v) != ("temperature", None)} for part in parts]
        return digest_of([outputs, *([] if comparisons is None else [comparisons.stored()])])


def system_outputs(db: sa.Connection, temperature: float | None = None) -> WrittenOutputs:
    """The outputs that count, by item and system, at a temperature or all of them; within a transaction."""
    a, s, i, q = (table.c for table in (tables.assignments, tables.answers, tables.items, tables.questions))
    joined = tables.assignments.outerjoin(tables.answers, s.id == a.answer)
    query = sa.select(a.item, a.annotator, a.repeat, a.condition, a.status, s.label, s.status.label("came"))
    query = query.select_from(tables.join(joined, tables.items, tables.questions))
    if temperature is not None:
        query = query.where(a.condition == canonical({"temperature": temperature}))
    written = written_question(one.definition for one in questions(db))
    query = query.where(a.active, q.current, i.active, i.role == "source")
    query = query if written is None else query.where(q.name == written)  # others are about the sources themselves
    found, lacking, unreadable = [], 0, 0
    for row in db.execute(query.order_by(i.position, a.annotator, a.condition, a.repeat)):
        if row.came == "valid":
            varied = json.loads(row.condition).get("temperature")
            found.append(SystemOutput(row.item, row.annotator, row.repeat, str(row.label), varied))
        elif row.status == "missing":
            unreadable += 1
        else:
            lacking += 1
    return WrittenOutputs(tuple(found), lacking, unreadable)


def are_stored(db: sa.Connection, found: WrittenOutputs, comparisons: OutputPairs | None, *, single: bool) -> bool:
    """Return whether the outputs in the store are those found: as pairs (with comparisons) and as items (single)."""
    paired = comparisons is None or setting(db, PAIRS) == found.made_of(comparisons)
    return paired and (not single or setting(db, OUTPUTS) == found.made_of())


def put_outputs(db: sa.Connection, found: WrittenOutputs, column: str, now: float) -> None:
    """Make each output an item, with the columns of its source and the text in a column; others no longer count."""
    retire_outputs(db)
    for chunk in batches(enumerate(found.outputs)):
        of = items_named(db, {one.item for _, one in chunk})
        new = [
            NewItem(n, _output_item(one, of[one.item], column), "output", {"output of": one.item}) for n, one in chunk
        ]
        taken = {*active_items(db, among=[one.item.name for one in new])}
        if taken:
            raise StudyError(f"the item '{min(taken)}' has the id of an output; rename it")
        put_items(db, new, now)
    put_setting(db, OUTPUTS, found.made_of())
    _retire_triplets(db)


def retire_outputs(db: sa.Connection) -> None:
    """Let outputs no longer count as items: no question is about them."""
    db.execute(sa.update(tables.items).where(tables.items.c.role == "output").values(active=False))
    if setting(db, OUTPUTS):
        put_setting(db, OUTPUTS, "")


def _retire_triplets(db: sa.Connection) -> None:
    """Retire the triplets of outputs that no longer count."""
    i = tables.items.c
    outputs = {*db.execute(sa.select(i.item).where(i.role == "output")).scalars()}
    gone = outputs.difference(active_items(db, "output"))
    drawn = db.execute(sa.select(i.item, i.known).where(i.role == "triplet", i.active)) if gone else ()
    for chunk in batches(row.item for row in drawn if gone.intersection(row.known["members"])):
        db.execute(sa.update(tables.items).where(i.item.in_(chunk)).values(active=False))


def _output_item(one: SystemOutput, of: Item, column: str) -> Item:
    about = dict(zip(OUTPUT_ABOUT, (one.system, one.number, of.name), strict=True))
    return Item(one.id, of.name, of.fields | {column: one.text} | about)


def put_pairs(db: sa.Connection, pairs: Iterable[Mapping[str, Any]], made_of: str, now: float) -> None:
    """Make these the pairs of the study, in this order; others no longer count.

    Parameters
    ----------
    pairs : iterable of mapping
        With `assay.study.schema.PAIR` and `PAIR_ABOUT`.
    """
    i = tables.items
    db.execute(sa.update(i).where(i.c.role == "item").values(active=False))
    taken = set(active_items(db))
    names: list[str] = []
    for chunk in batches(enumerate(pairs)):
        of = items_named(db, {str(pair["pair_of"]) for _, pair in chunk})
        new = [
            NewItem(n, _pair_item(pair, of[pair["pair_of"]]), known={"pair of": pair["pair_of"]}) for n, pair in chunk
        ]
        for one in new:
            if one.item.name in taken:
                raise StudyError(f"the item '{one.item.name}' has the name of a pair of outputs; rename it")
        put_items(db, new, now)
        names += [one.item.name for one in new]
    put_setting(db, _NAMES, names)
    put_setting(db, PAIRS, made_of)


def keep_pairs(db: sa.Connection) -> None:
    """Let the drawn pairs count again after the items were read again."""
    i = tables.items
    for chunk in batches(setting(db, _NAMES) or ()):
        db.execute(sa.update(i).where(i.c.item.in_(chunk)).values(active=True))


def _pair_item(pair: Mapping[str, Any], of: Item) -> Item:
    """Return a pair as an item: the columns of its item, the two texts, and the columns about the pair."""
    texts = digest_of([pair[column] for column in PAIR])[:8]
    sides = (f"{pair[side]} {pair[f'{side}_output']}" for side in ("first", "second"))
    return Item(" | ".join([of.name, *sides, texts]), of.name, of.fields | dict(pair))
