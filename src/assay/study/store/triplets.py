"""Triplets in the store: drawn one at a time while people answer, or all at once for judges alone."""

from __future__ import annotations

import random
from collections.abc import Mapping

import sqlalchemy as sa

from assay.errors import StudyError
from assay.statistics.triplets import Sampler, Triplet, name_of
from assay.study.digests import chance
from assay.study.items import Item
from assay.study.schema import TRIPLET, TRIPLET_ITEMS
from assay.study.store.connection import Store, chunked, put_setting
from assay.study.store.items import DRAWN, NewItem, items, items_by_name, put_items
from assay.study.store.people import invited_names
from assay.study.store.tasks import triplets_drawn

MOST_AT_ONCE = 6000
"""More triplets are not drawn for judges alone: drawing takes longer for each, and every one is asked."""


class TripletDrawer:
    """Draws the triplets of a study; knows those that other processes have drawn.

    Parameters
    ----------
    store : Store
        Into which the study has been taken.
    column : str
        The items' column that is compared.
    wanted : int
        How often each pair is to be seen.
    seed : int
    """

    def __init__(self, store: Store, column: str, *, wanted: int, seed: int) -> None:
        self.store, self.column, self.wanted, self.seed = store, column, wanted, seed
        self._sampler: Sampler | None = None
        self._drawn_until = 0

    def sampler(self, db: sa.Connection) -> Sampler:
        """The sampler, which knows of every triplet drawn so far, by whichever process."""
        if self._sampler is None:
            self._sampler = Sampler(self._pools(), self.wanted)
        for position, (first, second, third) in triplets_drawn(db, self._drawn_until):
            self._sampler.add([(first, second, third)])
            self._drawn_until = position + 1
        return self._sampler

    def draw(self, db: sa.Connection) -> str | None:
        """The name of a new triplet; None once every pair has been drawn often enough."""
        triplet = self.sampler(db).next(self._chance(self._drawn_until))
        if triplet is None:
            return None
        one = self._item(triplet, items_by_name(db, triplet))
        put_items(db, [NewItem(self._drawn_until, one, "triplet", {"members": list(triplet)})], self.store.now(db))
        self.sampler(db)
        put_setting(db, DRAWN, self._drawn_until)
        return one.name

    def draw_for_judges(self) -> None:
        """Where nobody is invited, all triplets that are still to be drawn: those that people would have seen.

        Raises
        ------
        StudyError
            Where people are invited and nobody has begun yet; where no triplet, or too many, would be drawn.
        """
        with self.store.exclusive() as db:
            sampler = self.sampler(db)
            if not invited_names(db):
                self._draw_all(db, sampler)
            elif not self._drawn_until:
                raise StudyError(
                    "triplets are drawn while people answer, and nobody has begun yet; judges are asked the triplets "
                    "that people were given, so ask them once people have answered"
                )

    def _draw_all(self, db: sa.Connection, sampler: Sampler) -> None:
        self._check_number(sampler)
        new: list[Triplet] = []
        while (triplet := sampler.next(self._chance(self._drawn_until + len(new)))) is not None:
            sampler.add([triplet])
            new.append(triplet)
        of = {item.name: item for item, _ in items(self.store)}
        for chunk in chunked(enumerate(new, start=self._drawn_until)):
            made = [NewItem(at, self._item(one, of), "triplet", {"members": list(one)}) for at, one in chunk]
            put_items(db, made, self.store.now(db))
        if new:
            self.sampler(db)
            put_setting(db, DRAWN, self._drawn_until)

    def _check_number(self, sampler: Sampler) -> None:
        pools = self._pools().values()
        pairs = sum(len(pool) * (len(pool) - 1) // 2 for pool in pools if len(pool) > 2)
        number = pairs * self.wanted // 3
        if not pairs:
            raise StudyError(
                "no triplet can be drawn: its three items come from one document, and none has three items; "
                "leave items.document out to draw from all of them, or add items"
            )
        if number > MOST_AT_ONCE and sampler.short():
            raise StudyError(
                f"about {number} triplets would be drawn, and judges alone are asked {MOST_AT_ONCE} at most; name "
                "items.document so that triplets stay within documents, take fewer items, or let each pair be seen "
                "less often (people.pairs)"
            )

    def _pools(self) -> dict[str, list[str]]:
        pools: dict[str, list[str]] = {}
        for item, _digest in items(self.store):
            pools.setdefault(item.document or "", []).append(item.name)
        return pools

    def _chance(self, position: int) -> random.Random:
        return chance(self.seed, "triplet", position)

    def _item(self, triplet: Triplet, of: Mapping[str, Item]) -> Item:
        """Make three items one: their texts side by side, and what is the same in all."""
        first = of[triplet[0]]
        texts = {place: of[name].fields.get(self.column, "") for place, name in zip(TRIPLET, triplet, strict=True)}
        beside = {c: v for c, v in first.fields.items() if c != self.column}
        shared = {c: v for c, v in beside.items() if all(of[name].fields.get(c) == v for name in triplet)}
        names = dict(zip(TRIPLET_ITEMS, triplet, strict=True))
        return Item(name_of(triplet), first.document, shared | texts | names)
