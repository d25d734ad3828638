"""A study seen again and again, for the lead's page: what takes long is found anew only now and then."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from assay.collecting.agreed import Agreed, agreement_so_far
from assay.collecting.design import Design
from assay.collecting.drawing import Drawing
from assay.collecting.overview import Overview, Pairs
from assay.collecting.snapshot import Snapshot
from assay.errors import listing
from assay.study.store import standing
from assay.study.store.answers import newest_answer
from assay.study.store.connection import Connection

AGREEMENT_EVERY = 15.0
"""Seconds between two computations of agreement, at least."""

SHARE = 0.05
"""Of the time, how much finding the median times may take at most."""


class Watch:
    """Looks at a study again and again; reads, and never writes.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design) -> None:
        self.design, self.store = design, design.store
        self._agreement = Cached[tuple[Agreed, ...]](
            lambda db: agreement_so_far(design, db), (), lambda took: AGREEMENT_EVERY
        )
        self._minutes = Cached[dict[str, float]](
            lambda db: standing.minutes_by_person(db, [q.id for q in design.questions]), {}, lambda took: took / SHARE
        )
        self._counting = threading.Lock()
        self._drawing = Drawing(design)
        self._pairs: Pairs | None = None

    def look(self) -> Overview:
        """The study as it stands now."""
        with self.store.reading() as db:
            snapshot = Snapshot(self.design, db, self.store.now(db))
            pairs = self._pairs_now(db) if self.design.drawn_from else None
            newest = (newest_answer(db), tuple(one.name for one in snapshot.invited if one.excluded_at is not None))
            short = tuple(snapshot.short())
            people = snapshot.people(self._minutes.now(db, newest))
            return Overview(
                numbers=snapshot.numbers(people, short, pairs),
                people=people,
                agreement=self._agreement.now(db, newest),
                remarks=snapshot.remarks(),
                short=short,
                pairs=pairs,
                group=_group_words(self.design),
            )

    def _pairs_now(self, db: Connection) -> Pairs:
        """Counted anew only when another triplet was drawn."""
        with self._counting:
            sampler = self._drawing.sampler(db)
            drawn = standing.n_triplets(db)
            if self._pairs is None or self._pairs.triplets != drawn:
                self._pairs = Pairs(sampler.short(), standing.n_pairs(db), self.design.people.pairs, drawn)
            return self._pairs


T = TypeVar("T")


class Cached(Generic[T]):
    """What takes long: found anew when answers have come since, and not more often than every so many seconds.

    Parameters
    ----------
    find : function of a connection
    first : value
        For whoever comes while it is found for the first time.
    every : function of seconds
        By how long it took the last time, after how many seconds it is found again at the soonest.
    """

    def __init__(self, find: Callable[[Connection], T], first: T, every: Callable[[float], float]) -> None:
        self._find, self._every, self._value = find, every, first
        self._lock = threading.Lock()
        self._of: Hashable = None
        """The last answer that it rests on, and whose answers it leaves out."""
        self._at, self._took = -math.inf, 0.0

    def now(self, db: Connection, newest: Hashable) -> T:
        """What there is; whoever comes while it is found anew gets what was there before."""
        if not self._lock.acquire(blocking=False):
            return self._value
        try:
            began = time.monotonic()
            if newest != self._of and began - self._at >= self._every(self._took):
                self._value, self._of = self._find(db), newest
                self._at = time.monotonic()
                self._took = self._at - began
            return self._value
        finally:
            self._lock.release()


def _group_words(design: Design) -> str:
    group, wanted = design.people.group, design.people.overlap
    if group is None:
        return ""
    return f"{group} ({listing(list(wanted))})" if isinstance(wanted, dict) else group
