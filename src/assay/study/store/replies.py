"""What judges replied, word for word, beside what was read from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from assay.study.store import tables
from assay.study.store.connection import Store

UNREADABLE = ("unreadable", "missing")
"""What answers are called whose reply gave no label; the first are asked again."""


def latest_replies(
    store: Store, *, judges: Sequence[str] | None = None, item: str | None = None, unreadable: bool = False
) -> list[dict[str, Any]]:
    """The latest reply to each question that judges are asked now, in the order of the items.

    Parameters
    ----------
    store : Store
    judges : list of str, optional
        Only of these.
    item : str, optional
        Only about this one.
    unreadable : bool
        Only replies from which no label could be read.

    Returns
    -------
    list of dict
        annotator, item, criterion, condition, repeat, status, label, reason, reply, reasoning, and the ``prompt`` that
        it replies to: the body of the call as JSON, None for replies that were kept before prompts were.
    """
    a, s, i, q, p = (tables.assignments, tables.answers, tables.items, tables.questions, tables.prompts)
    newest = sa.select(sa.func.max(s.c.id)).where(s.c.status != "failed").group_by(s.c.assignment)
    query = sa.select(
        *(a.c.annotator, a.c.item, q.c.name.label("criterion"), a.c.condition, a.c.repeat),
        *(s.c.status, s.c.label, s.c.reason, s.c.reply, s.c.reasoning, p.c.body.label("prompt")),
    )
    joined = s.join(a, a.c.id == s.c.assignment).join(i, i.c.item == a.c.item).join(q, q.c.id == a.c.question)
    query = query.select_from(joined.outerjoin(p, p.c.fingerprint == s.c.fingerprint))
    query = query.where(s.c.id.in_(newest), s.c.reply.is_not(None), a.c.active, q.c.current, i.c.active)
    for column, values in ((a.c.annotator, judges), (a.c.item, item and [item])):
        query = query if not values else query.where(column.in_(values))
    query = query.where(s.c.status.in_(UNREADABLE)) if unreadable else query
    with store.reading() as db:
        rows = [dict(row._mapping) for row in db.execute(query.order_by(i.c.position, a.c.id))]
    return [row | {"condition": json.loads(row["condition"])} for row in rows]
