"""Messages of the study lead to one annotator or to all."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from assay.study.store import tables

MOST_MESSAGES = 50
"""Messages that a page receives, the newest; all are in the record."""


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes
    ----------
    person : str or None
        The annotator who receives it; None for all annotators.
    item, about : str or None
        The item and the comment that it answers.
    at : float
        When it was sent.
    """

    id: int
    person: str | None
    item: str | None
    about: str | None
    words: str
    at: float


def add_message(
    db: sa.Connection,
    words: str,
    at: float,
    *,
    person: str | None = None,
    item: str | None = None,
    about: str | None = None,
) -> None:
    """Store a message."""
    db.execute(sa.insert(tables.messages), {"person": person, "item": item, "about": about, "words": words, "at": at})


def messages(
    db: sa.Connection, person: str | None = None, since: float = 0.0, *, to_all: bool = False
) -> list[Message]:
    """Return the newest messages, in order: to a person and, from a time on, to all; without a person all.

    Parameters
    ----------
    since : float
        Messages to all that were sent before are left out: they were for those who were invited then.
    to_all : bool
        Only messages to all annotators.
    """
    m = tables.messages.c
    query = sa.select(m.id, m.person, m.item, m.about, m.words, m.at).order_by(m.id.desc())
    if person is not None:
        query = query.where(sa.or_(m.person == person, sa.and_(m.person.is_(None), m.at >= since)))
    if to_all:
        query = query.where(m.person.is_(None))
    return [Message(*row) for row in reversed(db.execute(query.limit(MOST_MESSAGES)).all())]
