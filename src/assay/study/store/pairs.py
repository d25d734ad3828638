"""Outputs of the systems of a study, and the pairs of them that are put before people and judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.errors import StudyError
from assay.study.digests import digest_of
from assay.study.items import Item
from assay.study.schema import PAIR, Comparisons
from assay.study.store import tables
from assay.study.store.connection import chunked, put_setting, setting
from assay.study.store.items import NewItem, active_items, items_by_name, put_items

PAIRS, _NAMES = "pairs", "pairs by name"
"""Settings: what the pairs were drawn from, and their names."""


@dataclass(frozen=True)
class Output:
    """What a system wrote about an item, for the n-th time."""

    item: str
    system: str
    number: int
    text: str


@dataclass(frozen=True)
class Written:
    """What the systems have written so far."""

    outputs: tuple[Output, ...]
    lacking: int
    """Outputs that are still to be asked for."""
    unreadable: int
    """Outputs that were asked for and are none: empty, or cut off."""

    def made_of(self, comparisons: Comparisons) -> str:
        """Names what pairs are drawn from."""
        return digest_of([[vars(one) for one in self.outputs], comparisons.model_dump(mode="json")])


def written(db: sa.Connection) -> Written:
    """The outputs that count, by item and system; within a transaction."""
    a, s, i, q = tables.assignments, tables.answers, tables.items.c, tables.questions.c
    joined = a.outerjoin(s, s.c.id == a.c.answer).join(tables.items, i.item == a.c.item)
    joined = joined.join(tables.questions, q.id == a.c.question)
    query = sa.select(a.c.item, a.c.annotator, a.c.repeat, a.c.status, s.c.label, s.c.status.label("came"))
    query = query.select_from(joined).where(a.c.active, q.current, i.active, i.role == "source")
    found, lacking, unreadable = [], 0, 0
    for row in db.execute(query.order_by(i.position, a.c.annotator, a.c.repeat)):
        if row.came == "valid":
            found.append(Output(row.item, row.annotator, row.repeat, str(row.label)))
        elif row.status == "missing":
            unreadable += 1
        else:
            lacking += 1
    return Written(tuple(found), lacking, unreadable)


def are_drawn(db: sa.Connection, made_of: str) -> bool:
    """Whether the pairs in the store are those that would be drawn from this."""
    return bool(setting(db, PAIRS) == made_of)


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
    for chunk in chunked(enumerate(pairs)):
        of = items_by_name(db, {str(pair["pair_of"]) for _, pair in chunk})
        new = [NewItem(n, _item(pair, of), known={"pair of": pair["pair_of"]}) for n, pair in chunk]
        for one in new:
            if one.item.name in taken:
                raise StudyError(f"the item '{one.item.name}' has the name of a pair of outputs; rename it")
        put_items(db, new, now)
        names += [one.item.name for one in new]
    put_setting(db, _NAMES, names)
    put_setting(db, PAIRS, made_of)


def keep_pairs(db: sa.Connection) -> None:
    """Let the pairs that were drawn count again, where the items have been taken in anew."""
    i = tables.items
    for chunk in chunked(setting(db, _NAMES) or ()):
        db.execute(sa.update(i).where(i.c.item.in_(chunk)).values(active=True))


def _item(pair: Mapping[str, Any], of: Mapping[str, Item]) -> Item:
    """A pair as an item: what the item has, the two texts, and what is known of them."""
    texts = digest_of([pair[column] for column in PAIR])[:8]
    sides = (f"{pair[side]} {pair[f'{side}_output']}" for side in ("first", "second"))
    name = " | ".join([pair["pair_of"], *sides, texts])
    return Item(name, pair["pair_of"], of[pair["pair_of"]].fields | dict(pair))
