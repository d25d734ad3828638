"""What the study lead did on the dashboard, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.connection import Store

What = Literal[
    "invited", "resumed", "paused", "link ended", "excluded", "included", "new link", "new lead link",
    "lead link ended", "study open", "study paused", "reopened", "reason", "adjudicator", "message",
    "blind phase ended", "study changed", "report",
]  # fmt: skip
"""The kinds of events."""


@dataclass(frozen=True)
class Event:
    """One event: ``about`` has the person, the item, the reason, or a setting before and after its change."""

    id: int
    at: float
    what: What
    about: Mapping[str, Any]


def record_event(store: Store, what: What, **about: Any) -> None:
    """Store an event that has just happened; values that are empty are left out."""
    with store.exclusive() as db:
        known = {name: value for name, value in about.items() if value not in (None, "")}
        db.execute(sa.insert(tables.events), {"at": store.now(db), "what": what, "about": known})


def events(db: sa.Connection, most: int | None = None) -> list[Event]:
    """Return the events, the newest first."""
    e = tables.events.c
    query = sa.select(e.id, e.at, e.what, e.about).order_by(e.id.desc()).limit(most)
    return [Event(*row) for row in db.execute(query)]


def ended_blind_phase(db: sa.Connection) -> float | None:
    """Return when the study lead first saw answers of judges; None if they are hidden."""
    e = tables.events.c
    query = sa.select(sa.func.min(e.at)).where(e.what == "blind phase ended")
    return db.execute(query).scalar()
