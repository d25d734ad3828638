"""Triplets drawn while people answer: one that lacks answers, else a new one."""

from __future__ import annotations

from assay.collecting.design import Design
from assay.statistics.triplets import Sampler
from assay.study.store.connection import Connection
from assay.study.store.tasks import triplet_in_need
from assay.study.store.triplets import TripletDrawer


class Drawing:
    """Gives people the triplets of a study; knows those that other processes have drawn."""

    def __init__(self, design: Design) -> None:
        self.design = design
        people = design.people
        self._drawer = TripletDrawer(design.store, design.drawn_from or "", wanted=people.pairs, seed=people.seed)

    def sampler(self, db: Connection) -> Sampler:
        """The sampler, which knows of every triplet drawn so far, by whichever process."""
        return self._drawer.sampler(db)

    def next(self, db: Connection, person: str, party: str, now: float) -> str | None:
        """The name of a triplet that was drawn before and lacks answers, else of a new one."""
        wanted = self.design.overlap(party)
        if wanted is None:
            wanted = 1
        old = triplet_in_need(db, self.design.asked_now, party, person, wanted, now)
        return self._drawer.draw(db) if old is None and wanted > 0 else old
