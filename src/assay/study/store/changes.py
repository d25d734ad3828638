"""A change of the study: how many answers it takes out of count, and whether anybody has said that it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import sqlalchemy as sa

from assay.errors import ChangedStudyError, counted, listing
from assay.study.store import tables
from assay.study.store.connection import Connection, Store
from assay.study.store.items import NOT_COUNTED
from assay.study.store.tables import FILE

Changed = Literal["new-version", "same-question"]
"""What a change is said to make: another question, to which earlier answers are none; or the same one still."""


@dataclass
class Change:
    """A change under way: what it takes out of count is known when its block has ended."""

    db: Connection
    changed: Changed | None
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many answers no longer count, by question and kind of annotator."""


@contextmanager
def deciding(store: Store, changed: Changed | None) -> Iterator[Change]:
    """One transaction that takes no answer out of count unless somebody has said that it may.

    Labels from a file follow the file. A block within another is decided by the outer one.

    Raises
    ------
    ChangedStudyError
        At the end of the block, which then has changed nothing.
    """
    outer: Change | None = getattr(store.within, "change", None)
    if outer is not None:
        yield outer
        return
    with store.together() as db:
        store.within.change = change = Change(db, changed)
        try:
            before = counting_answers(db)
            yield change
            # Where another answer counts in the same place now, as after a change is taken back, none is lost.
            gone = set(before.values()).difference(counting_answers(db).values())
        finally:
            store.within.change = None
        change.lost = Counter((place.question, place.kind) for place in gone)
        if change.lost and changed is None:
            raise ChangedStudyError(in_words(change.lost))
        if change.lost and changed == "same-question":
            raise ChangedStudyError(
                f"{in_words(change.lost)}, whatever the words: their question, item, judge or condition is gone",
                can_keep=False,
            )


class Place(NamedTuple):
    """What an answer answers, in whatever words it was asked."""

    question: str
    kind: str
    item: str
    annotator: str
    condition: str
    repeat: int


def counting_answers(db: sa.Connection) -> dict[int, Place]:
    """The assignments whose answer is in the table, but for labels of a file, and what each of them answers."""
    a, i, q, n = tables.assignments, tables.items.c, tables.questions.c, tables.annotators.c
    joined = a.join(tables.answers, tables.answers.c.id == a.c.answer).join(tables.items, i.item == a.c.item)
    joined = joined.join(tables.questions, q.id == a.c.question)
    joined = joined.join(tables.annotators, n.annotator == a.c.annotator)
    columns = (a.c.id, q.name, n.kind, a.c.item, a.c.annotator, a.c.condition, a.c.repeat)
    query = sa.select(*columns).select_from(joined)
    query = query.where(a.c.active, q.current, i.active, i.role.not_in(NOT_COUNTED), tables.answers.c.status == "valid")
    query = query.where(sa.or_(n.kind == "human", n.active), sa.func.coalesce(a.c.session, "") != FILE)
    return {row[0]: Place(*row[1:]) for row in db.execute(query)}


def in_words(lost: Mapping[tuple[str, str], int]) -> str:
    """``20 answers to 'quality' (12 of people, 8 of judges) would no longer count``."""
    questions: dict[str, dict[str, int]] = {}
    for (question, kind), number in sorted(lost.items()):
        questions.setdefault(question, {})[kind] = number
    parts = []
    for question, kinds in questions.items():
        who = [f"{kinds[kind]} of {name}" for kind, name in (("human", "people"), ("judge", "judges")) if kind in kinds]
        parts.append(f"{counted(sum(kinds.values()), 'answer')} to '{question}' ({', '.join(who)})")
    return f"{listing(parts)} would no longer count, because the study has changed since they were given"
