"""Items as they stand in the store, with what they said before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from assay.study.digests import canonical, digest_of
from assay.study.items import Item
from assay.study.schema import Question
from assay.study.store import tables
from assay.study.store.connection import CHUNK, Store, chunked, insert, upsert

Role = Literal["item", "triplet", "source", "check", "warm-up"]
"""What an item is for: to be judged (also a pair of outputs), three items drawn for odd-one-out, to be written about by
the systems whose outputs are compared, to see who reads, to practise on."""

NOT_COUNTED: dict[str, str] = {
    "check": "the item is an attention check",
    "warm-up": "the item is one to warm up on",
}
"""Why answers to items of these roles are not in the table."""


DRAWN = "triplets"
"""The setting that says how many triplets were drawn, for whoever plans what to ask of judges."""


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
    i = tables.items.c
    last = -1
    while True:
        query = sa.select(tables.items).where(i.active, i.role == role, i.position > last)
        with store.reading() as db:
            rows = db.execute(query.order_by(i.position).limit(CHUNK)).all()
        for row in rows:
            yield _item(row), row.digest
        if len(rows) < CHUNK:
            return
        last = rows[-1].position


def items_named(store: Store, names: Iterable[str]) -> dict[str, Item]:
    """Items by name."""
    with store.reading() as db:
        return items_by_name(db, names)


def items_by_name(db: sa.Connection, names: Iterable[str]) -> dict[str, Item]:
    """Items by name; within a transaction."""
    rows = db.execute(sa.select(tables.items).where(tables.items.c.item.in_(list(names)))).all()
    return {row.item: _item(row) for row in rows}


def items_given(store: Store, given: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Item]:
    """Items by name and digest: as they were when they were given to somebody."""
    wanted = set(given)
    names = {name for name, _ in wanted}
    found = {}
    with store.reading() as db:
        for table in (tables.items, tables.contents):
            for row in db.execute(sa.select(table).where(table.c.item.in_(names))):
                found[row.item, row.digest] = _item(row)
    return {key: found[key] for key in wanted}


def known_items(store: Store, role: Role) -> dict[str, dict[str, Any]]:
    """The known answers of each check, or of each item to warm up on, in the order of their file."""
    i = tables.items.c
    with store.reading() as db:
        rows = db.execute(sa.select(i.item, i.known).where(i.active, i.role == role).order_by(i.position)).all()
    return {row.item: row.known for row in rows}


def active_items(db: sa.Connection, role: Role | None = None, among: Collection[str] | None = None) -> list[str]:
    """Names of what the study has now, of one role or of any, and among these names; within a transaction."""
    i = tables.items.c
    query = sa.select(i.item).where(i.active)
    query = query if role is None else query.where(i.role == role)
    return list(db.execute(query if among is None else query.where(i.item.in_(among))).scalars())


def digests_of(db: sa.Connection, names: Iterable[str]) -> dict[str, str]:
    """What names the contents of items now, by item; within a transaction."""
    i = tables.items.c
    rows = db.execute(sa.select(i.item, i.digest).where(i.item.in_(list(names))))
    return {row.item: row.digest for row in rows}


def content_numbers(db: sa.Connection, questions: Mapping[int, Question]) -> dict[tuple[int, str, str], int]:
    """By question, item and digest, the number of what the question shows of an item that was changed: 1 is the first.

    Contents that differ only in what a question does not show have one number.
    """
    contents: dict[str, dict[str, Any]] = {}
    for row in db.execute(sa.select(tables.contents).order_by(tables.contents.c.kept_at)):
        contents.setdefault(row.item, {})[row.digest] = row
    for chunk in chunked(contents):
        for row in db.execute(sa.select(tables.items).where(tables.items.c.item.in_(chunk))):
            contents[row.item].setdefault(row.digest, row)
    numbers = {}
    for number, question in questions.items():
        for item, rows in contents.items():
            seen: dict[str, int] = {}
            for digest, row in rows.items():
                columns = {*question.shown_columns(row.fields), *question.choices}
                shown = [{c: v for c, v in (part or {}).items() if c in columns} for part in (row.fields, row.pictures)]
                numbers[number, item, digest] = seen.setdefault(canonical(shown), len(seen) + 1)
    return numbers


# -- writing ----------------------------------------------------------------------------------------


def retire_items(db: sa.Connection) -> None:
    """Let no item count but triplets, which are drawn and stand in no file."""
    db.execute(sa.update(tables.items).where(tables.items.c.role != "triplet").values(active=False))


def put_items(db: sa.Connection, new: Sequence[NewItem], now: float) -> None:
    """Add items, or change those of the same name; what they said before is kept."""
    rows = [
        {
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
    ]
    if rows:
        _keep_contents(db, {str(row["item"]): row for row in rows}, now)
        changed = ("position", "document", "fields", "pictures", "digest", "role", "known", "active")
        upsert(db, tables.items, ["item"], changed, rows)


def _keep_contents(db: sa.Connection, new: Mapping[str, Mapping[str, Any]], now: float) -> None:
    """Keep what items have said so far, where that is about to change."""
    i = tables.items.c
    query = sa.select(i.item, i.digest, i.document, i.fields, i.pictures).where(i.item.in_(new))
    old = []
    for row in db.execute(query):
        if row.digest != new[row.item]["digest"]:
            # An earlier assay kept no digests of images; those that are there now count as the ones there were.
            pictures = new[row.item]["pictures"] if row.pictures is None else row.pictures
            old.append({**row._mapping, "pictures": pictures, "kept_at": now})
    if old:
        db.execute(insert(db, tables.contents).on_conflict_do_nothing(), old)


def _item(row: Any) -> Item:
    return Item(row.item, row.document, row.fields)
