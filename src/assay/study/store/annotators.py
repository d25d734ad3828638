"""Annotators: the models and the people whose answers the store keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from assay.errors import StudyError
from assay.study.store import tables
from assay.study.store.connection import upsert

WRITES = {"writes": True}
"""What the definition of a system has: a model whose outputs are compared, and which judges nothing."""


def kind_of(db: sa.Connection, name: str) -> str | None:
    """Whether an annotator is a human or a judge; None where the name is not known."""
    n = tables.annotators.c
    return db.execute(sa.select(n.kind).where(n.annotator == name)).scalar()


def put_annotators(db: sa.Connection, rows: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
    """Add annotators (name, kind, definition), or change those of the same name and kind."""
    for name, kind, definition in rows:
        known = kind_of(db, name)
        if known is not None and known != kind:
            raise StudyError(f"'{name}' is the name of a {known} already; call the {kind} something else")
        row = {"annotator": name, "kind": kind, "definition": definition, "active": True}
        upsert(db, tables.annotators, ["annotator"], ["kind", "definition", "active"], [row])


def is_excluded(name: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Whether an annotator of this name is a person whose answers must not count."""
    p = tables.people.c
    return name.in_(sa.select(p.annotator).where(p.excluded_at.is_not(None)))


def retire_judges(db: sa.Connection) -> None:
    """Let no judge count until it is named again."""
    n = tables.annotators
    db.execute(sa.update(n).where(n.c.kind == "judge").values(active=False))


def active_annotators(db: sa.Connection) -> list[dict[str, Any]]:
    """Everybody who counts now, with their definitions."""
    n = tables.annotators
    return [dict(row._mapping) for row in db.execute(sa.select(n).where(n.c.active))]
