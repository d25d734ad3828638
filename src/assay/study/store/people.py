"""People who may answer: who was invited, which link of theirs is good, what they agreed to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from assay.errors import StudyError
from assay.study.store import tables
from assay.study.store.annotators import kind_of, put_annotators
from assay.study.store.connection import Store

State = Literal["active", "paused", "revoked"]


@dataclass(frozen=True)
class Person:
    """Somebody who was invited."""

    name: str
    attributes: Mapping[str, Any]
    link: int
    """How many links they have had; only the last is good."""
    state: State
    consented_to: str | None
    """Digest of the text that they agreed to."""
    closed: int = 0
    """What they answered on pages up to this one is shown to them no more, and stays as it is."""
    excluded_at: float | None = None
    """Since when their answers do not count; None where they do."""
    excluded_for: str = ""
    """Why."""


def add_person(store: Store, name: str, attributes: Mapping[str, Any]) -> Person:
    """Add somebody who may answer.

    Raises
    ------
    StudyError
        For a name that is taken: by a judge, by labels in a file, by somebody invited.
    """
    with store.exclusive() as db:
        _check_free(db, name)
        put_annotators(db, [(name, "human", {"attributes": dict(attributes)} if attributes else {})])
        row = {"annotator": name, "link": 1, "state": "active", "invited_at": store.now(db)}
        db.execute(sa.insert(tables.people), row)
    found = find(store, name)
    assert found is not None
    return found


def _check_free(db: sa.Connection, name: str) -> None:
    p, a = tables.people.c, tables.assignments.c
    if kind_of(db, name) == "judge":
        raise StudyError(f"'{name}' is the name of a judge; call the person something else")
    if db.execute(sa.select(p.link).where(p.annotator == name)).first() is not None:
        raise StudyError(f"'{name}' is invited already; choose another name, or make a new link on the lead's page")
    if db.execute(sa.select(a.id).where(a.annotator == name).limit(1)).first() is not None:
        raise StudyError(f"'{name}' has labels in the file of labels; choose another name for the page")


def set_state(store: Store, name: str, state: State) -> None:
    """Let a person answer, have them wait, or end their link for good."""
    p = tables.people
    with store.exclusive() as db:
        changed = db.execute(sa.update(p).where(p.c.annotator == name).values(state=state))
    if changed.rowcount == 0:
        raise StudyError(f"'{name}' is not invited")


def new_link(store: Store, name: str) -> Person:
    """A new link for a person, who is let in again if theirs was ended; those before it open nothing any more."""
    p = tables.people
    with store.exclusive() as db:
        state = sa.case((p.c.state == "revoked", "active"), else_=p.c.state)
        changed = db.execute(sa.update(p).where(p.c.annotator == name).values(link=p.c.link + 1, state=state))
    found = find(store, name)
    if changed.rowcount == 0 or found is None:
        raise StudyError(f"'{name}' is not invited")
    return found


def consent(store: Store, name: str, digest: str) -> None:
    """Keep that a person has agreed to the text of this digest."""
    p = tables.people
    with store.exclusive() as db:
        agreed = {"consented_at": store.now(db), "consented_to": digest}
        db.execute(sa.update(p).where(p.c.annotator == name).values(agreed))


def closed_up_to(db: sa.Connection, name: str) -> int:
    """Up to which page a person's answers are closed to them; within a transaction."""
    p = tables.people.c
    return int(db.execute(sa.select(p.closed).where(p.annotator == name)).scalar() or 0)


def close_pages(db: sa.Connection, name: str, up_to: int) -> None:
    """Close what a person answered up to this page; within a transaction. No page is opened again by it."""
    p = tables.people
    db.execute(sa.update(p).where(p.c.annotator == name, p.c.closed < up_to).values(closed=up_to))


def find(store: Store, name: str) -> Person | None:
    """A person by name; None where nobody of that name is invited."""
    with store.reading() as db:
        row = db.execute(_PEOPLE.where(tables.people.c.annotator == name)).first()
    return None if row is None else _person(row)


def everybody(store: Store) -> list[Person]:
    """All who were invited, in the order of their invitations."""
    with store.reading() as db:
        return everybody_invited(db)


def everybody_invited(db: sa.Connection) -> list[Person]:
    """All who were invited, in the order of their invitations; within a transaction."""
    p = tables.people.c
    return [_person(row) for row in db.execute(_PEOPLE.order_by(p.invited_at, p.annotator))]


def invited_names(db: sa.Connection) -> set[str]:
    """The names of all who were invited; within a transaction."""
    return set(db.execute(sa.select(tables.people.c.annotator)).scalars())


_PEOPLE = sa.select(
    *(tables.people.c.annotator, tables.people.c.link, tables.people.c.state, tables.people.c.consented_to),
    *(tables.people.c.closed, tables.people.c.excluded_at, tables.people.c.excluded_for),
    tables.annotators.c.definition,
).select_from(tables.people.join(tables.annotators, tables.annotators.c.annotator == tables.people.c.annotator))


def _person(row: Any) -> Person:
    definition = json.loads(row.definition) if isinstance(row.definition, str) else row.definition
    attributes = (definition or {}).get("attributes", {})
    stands = (row.link, row.state, row.consented_to, row.closed, row.excluded_at, row.excluded_for or "")
    return Person(row.annotator, attributes, *stands)
