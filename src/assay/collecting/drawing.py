"""Triplets drawn while people answer: the rule of `triplets`, on what the store has."""

from __future__ import annotations

from assay.collecting.design import Design
from assay.collecting.triplets import Sampler, Triplet, name_of
from assay.study.digests import chance
from assay.study.items import Item
from assay.study.schema import TRIPLET, TRIPLET_ITEMS
from assay.study.store.connection import Connection, put_setting
from assay.study.store.items import DRAWN, NewItem, items, items_by_name, put_items
from assay.study.store.tasks import triplet_in_need, triplets_drawn


class Drawing:
    """Draws the triplets of a study; knows those that other processes have drawn."""

    def __init__(self, design: Design) -> None:
        self.design, self.store = design, design.store
        self._sampler: Sampler | None = None
        self._drawn_until = 0

    def sampler(self, db: Connection) -> Sampler:
        """The sampler, which knows of every triplet drawn so far, by whichever process."""
        if self._sampler is None:
            pools: dict[str, list[str]] = {}
            for item, _digest in items(self.store):
                pools.setdefault(item.document or "", []).append(item.name)
            self._sampler = Sampler(pools, self.design.people.pairs)
        for position, (first, second, third) in triplets_drawn(db, self._drawn_until):
            self._sampler.add([(first, second, third)])
            self._drawn_until = position + 1
        return self._sampler

    def next(self, db: Connection, person: str, party: str, now: float) -> str | None:
        """The name of a triplet that was drawn before and lacks answers, else of a new one."""
        sampler = self.sampler(db)
        wanted = self.design.overlap(party)
        if wanted is None:
            wanted = 1
        old = triplet_in_need(db, self.design.asked_now, party, person, wanted, now)
        if old is not None:
            return old
        new = sampler.next(chance(self.design.people.seed, "triplet", self._drawn_until))
        return None if new is None or wanted == 0 else self._add(db, new)

    def _add(self, db: Connection, triplet: Triplet) -> str:
        """Make three items one: their texts side by side, and what is the same in all."""
        of = items_by_name(db, triplet)
        first = of[triplet[0]]
        column = self.design.drawn_from
        assert column is not None
        texts = {place: of[name].fields.get(column, "") for place, name in zip(TRIPLET, triplet, strict=True)}
        beside = {c: v for c, v in first.fields.items() if c != column}
        shared = {c: v for c, v in beside.items() if all(of[name].fields.get(c) == v for name in triplet)}
        names = dict(zip(TRIPLET_ITEMS, triplet, strict=True))
        one = Item(name_of(triplet), first.document, shared | texts | names)
        new = NewItem(self._drawn_until, one, "triplet", {"members": list(triplet)})
        put_items(db, [new], self.store.now(db))
        self.sampler(db)
        put_setting(db, DRAWN, self._drawn_until)
        return one.name
