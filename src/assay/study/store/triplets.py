"""Triplets in the store: drawn one at a time while people answer, or all at once for judges alone; and pairs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence

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
    pairs : bool
        Whether judges compare two items at a time: every pair of a document, once.
    """

    def __init__(self, store: Store, column: str, *, wanted: int, seed: int, pairs: bool = False) -> None:
        self.store, self.column, self.wanted, self.seed, self.pairs = store, column, wanted, seed, pairs
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
            if self.pairs:
                self._draw_pairs(db)
                return
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
        self._put(db, new, self._drawn_until)
        if new:
            self.sampler(db)
            put_setting(db, DRAWN, self._drawn_until)

    def _draw_pairs(self, db: sa.Connection) -> None:
        """Every pair of a document that is not there yet."""
        drawn = triplets_drawn(db, 0)
        known, start = {tuple(members) for _, members in drawn}, max((at for at, _ in drawn), default=-1) + 1
        pools = self._pools().values()
        new = [pair for pool in pools for pair in itertools.combinations(sorted(pool), 2) if pair not in known]
        if not new and not known:
            raise StudyError(
                "no pair can be drawn: its two items come from one document, and none has two items; leave "
                "items.document out to compare all of them, or add items"
            )
        if len(new) > MOST_AT_ONCE:
            raise StudyError(
                f"{len(new):,} pairs would be asked, and judges are asked {MOST_AT_ONCE:,} at most; name "
                "items.document so that pairs stay within documents, or take fewer items"
            )
        self._put(db, new, start)
        if new:
            put_setting(db, DRAWN, start + len(new))

    def _put(self, db: sa.Connection, new: Iterable[Sequence[str]], start: int) -> None:
        """Make items of what was drawn."""
        of = {item.name: item for item, _ in items(self.store)}
        for chunk in chunked(enumerate(new, start=start)):
            made = [NewItem(at, self._item(one, of), "triplet", {"members": list(one)}) for at, one in chunk]
            put_items(db, made, self.store.now(db))

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

    def _item(self, members: Sequence[str], of: Mapping[str, Item]) -> Item:
        """Make three items (or two) one: their texts side by side, and what is the same in all."""
        first, places = of[members[0]], TRIPLET[: len(members)]
        texts = {place: of[name].fields.get(self.column, "") for place, name in zip(places, members, strict=True)}
        beside = {c: v for c, v in first.fields.items() if c != self.column}
        shared = {c: v for c, v in beside.items() if all(of[name].fields.get(c) == v for name in members)}
        names = dict(zip(TRIPLET_ITEMS[: len(members)], members, strict=True))
        return Item(name_of(members), first.document, shared | texts | names)
