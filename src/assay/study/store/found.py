"""Assignments of judges that are found again: what would be sent is what was sent before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.connection import insert

SENT = "sent:"
"""How the recipe of an assignment begins that names the request; earlier ones named the parts of study.yaml."""


@dataclass(frozen=True)
class Assignment:
    """One question about one item for one annotator, under one condition, for the n-th time."""

    item: str
    question: int
    annotator: str
    recipe: str
    condition: str
    repeat: int
    shown: dict[str, Any] | None = None
    content: str | None = None
    """Names the content of the item."""
    earlier: str | None = None
    """The recipe that assay 0.1 gave it."""


def found_again(
    db: sa.Connection, wanted: Sequence[Assignment], names: Mapping[int, str], counting: Collection[int]
) -> list[dict[str, Any]]:
    """The rows of assignments, under the recipe and in the version of the question in which they are there already.

    Parameters
    ----------
    names : dict
        The name of each version of each question.
    counting : set of int
        Assignments whose answers go on counting, whatever is sent now.
    """
    there = _there(db, wanted, names)
    same = _same(db, wanted)
    moved: list[dict[str, Any]] = []
    alike: list[dict[str, Any]] = []
    rows = []
    for one in wanted:
        recipe = same.get((one.annotator, one.recipe), one.recipe)
        mine = there.get(_place(one, names), [])
        found = _found(mine, one, recipe)
        if found is None and (kept := next((row for row in mine if row.id in counting), None)) is not None:
            found = kept
            if kept.recipe.startswith(SENT):
                recipe = kept.recipe
                alike.append({"annotator": one.annotator, "recipe": one.recipe, "same_as": recipe})
        if found is not None and (found.question, found.recipe) != (one.question, recipe):
            moved.append({"number": found.id, "now": one.question, "made": recipe})
        row = {**vars(one), "recipe": recipe}
        del row["earlier"]
        rows.append(row)
    if moved:
        a = tables.assignments
        put: dict[str, Any] = {"question": sa.bindparam("now"), "recipe": sa.bindparam("made")}
        db.execute(sa.update(a).where(a.c.id == sa.bindparam("number")).values(put), moved)
    if alike:
        db.execute(insert(db, tables.same_requests).on_conflict_do_nothing(), alike)
    return rows


def _place(one: Any, names: Mapping[int, str]) -> tuple[Any, ...]:
    return one.item, names[one.question], one.annotator, one.condition, one.repeat


def _there(db: sa.Connection, wanted: Sequence[Assignment], names: Mapping[int, str]) -> dict[tuple[Any, ...], Any]:
    """The judges' assignments that there are on these items, by item, question, judge, condition and repeat."""
    a = tables.assignments.c
    query = sa.select(a.id, a.item, a.question, a.annotator, a.recipe, a.condition, a.repeat)
    query = query.where(a.item.in_({one.item for one in wanted}), a.session.is_(None)).order_by(a.id)
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in db.execute(query):
        found.setdefault(_place(row, names), []).append(row)
    return found


def _same(db: sa.Connection, wanted: Sequence[Assignment]) -> dict[tuple[str, str], str]:
    """What counts as the same request as one before, by annotator and recipe."""
    s = tables.same_requests.c
    query = sa.select(s.annotator, s.recipe, s.same_as).where(s.recipe.in_({one.recipe for one in wanted}))
    return {(row.annotator, row.recipe): row.same_as for row in db.execute(query)}


def _found(mine: Sequence[Any], one: Assignment, recipe: str) -> Any:
    """The row that stands for an assignment: in this version of its question, in another, or as 0.1 named it."""
    fitting = [row for row in mine if row.recipe == recipe]
    fitting.sort(key=lambda row: row.question != one.question)
    fitting += [row for row in mine if row.recipe == one.earlier and row.question == one.question]
    return fitting[0] if fitting else None
