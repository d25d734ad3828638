"""People who may answer: who was invited, which link of theirs is good, what they agreed to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from assay.errors import StudyError, unknown
from assay.study.store import tables
from assay.study.store.annotators import kind_of, put_annotators
from assay.study.store.connection import Store, put_setting, setting

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


def add_people(store: Store, people: Mapping[str, Mapping[str, Any]]) -> None:
    """Add people who may answer, by name with their attributes: all of them, or nobody.

    Raises
    ------
    StudyError
        For a name that is taken: by a judge, by labels in a file, by somebody invited.
    """
    with store.exclusive() as db:
        for name, attributes in people.items():
            _check_free(db, name)
            put_annotators(db, [(name, "human", {"attributes": dict(attributes)} if attributes else {})])
            row = {"annotator": name, "link": 1, "state": "active", "invited_at": store.now(db)}
            db.execute(sa.insert(tables.people), row)


def _check_free(db: sa.Connection, name: str) -> None:
    a = tables.assignments.c
    if kind_of(db, name) == "judge":
        raise StudyError(f"'{name}' is the name of a judge; call the person something else")
    if name in invited_names(db):
        raise StudyError(f"'{name}' is invited already; choose another name, or make a new link on the lead's page")
    if db.execute(sa.select(a.id).where(a.annotator == name).limit(1)).first() is not None:
        raise StudyError(f"'{name}' has labels in the file of labels; choose another name for the page")


def set_state(store: Store, name: str, state: State) -> None:
    """Let a person answer, have them wait, or end their link for good."""
    with store.exclusive() as db:
        person = _invited(db, name)
        if state != "revoked":
            _check_counts(person)
        _change(db, name, state=state)


def new_link(store: Store, name: str) -> Person:
    """A new link for a person, who is let in again if theirs was ended; those before it open nothing any more."""
    with store.exclusive() as db:
        person = _invited(db, name)
        _check_counts(person)
        _change(db, name, link=person.link + 1, state="active" if person.state == "revoked" else person.state)
        return _invited(db, name)


def _check_counts(person: Person) -> None:
    if person.excluded_at is not None:
        raise StudyError(
            f"'{person.name}' is excluded, so what they answered would not count; let their answers count again first"
        )


def _invited(db: sa.Connection, name: str) -> Person:
    """A person by name; refused where nobody of that name is invited."""
    row = db.execute(_PEOPLE.where(tables.people.c.annotator == name)).first()
    if row is None:
        raise StudyError(unknown("person", name, sorted(invited_names(db)), "the people who are invited"))
    return _person(row)


def _change(db: sa.Connection, name: str, **columns: Any) -> None:
    p = tables.people
    db.execute(sa.update(p).where(p.c.annotator == name).values(columns))


# -- whose answers do not count, and whose are gone -------------------------------------------------


ERASED = "erased"
"""The setting that says when somebody was erased, and how much of theirs, but not who."""


def exclude(store: Store, name: str, reason: str = "") -> int:
    """Let what a person answered count no more: the record stays, their places are free, their link is ended.

    Returns
    -------
    int
        How many labels of theirs counted so far.
    """
    with store.exclusive() as db:
        person = _invited(db, name)
        if person.excluded_at is None:
            _change(db, name, excluded_at=store.now(db), excluded_for=reason, state="revoked")
        elif reason:
            _change(db, name, excluded_for=reason)
        return _n_labels(db, name)


def readmit(store: Store, name: str) -> int:
    """Let what an excluded person answered count again; their link stays ended.

    Returns
    -------
    int
        How many labels of theirs count again.
    """
    with store.exclusive() as db:
        if _invited(db, name).excluded_at is None:
            raise StudyError(f"'{name}' is not excluded")
        _change(db, name, excluded_at=None, excluded_for=None)
        return _n_labels(db, name)


def _n_labels(db: sa.Connection, name: str) -> int:
    a, s = tables.assignments, tables.answers
    joined = a.join(s, s.c.id == a.c.answer)
    query = sa.select(sa.func.count()).select_from(joined).where(a.c.annotator == name, s.c.status == "valid")
    return int(db.execute(query).scalar_one())


def erase(store: Store, name: str) -> int:
    """Remove a person and all that they answered for good, as the law may ask; nothing brings it back.

    What stays is that somebody was erased, when, and how many answers went with them.

    Returns
    -------
    int
        How many answers, all revisions counted.
    """
    t, d, a, s, p, n = (getattr(tables, one) for one in _OF_A_PERSON)
    with store.exclusive() as db:
        _invited(db, name)
        tasks = sa.select(t.c.id).where(t.c.annotator == name)
        assignments = sa.select(a.c.id).where(a.c.annotator == name)
        db.execute(sa.delete(d).where(d.c.task.in_(tasks)))
        number = db.execute(sa.delete(s).where(s.c.assignment.in_(assignments))).rowcount
        for table in (t, a, p, n):
            db.execute(sa.delete(table).where(table.c.annotator == name))
        entry = {"erased_at": store.now(db), "answers": number}
        put_setting(db, ERASED, [*(setting(db, ERASED) or []), entry])
    store.overwrite_deleted()
    return number


_OF_A_PERSON = ("tasks", "drafts", "assignments", "answers", "people", "annotators")


# -- what is known of them --------------------------------------------------------------------------


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


def invited(store: Store, name: str) -> Person:
    """A person by name; refused where nobody of that name is invited."""
    with store.reading() as db:
        return _invited(db, name)


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
