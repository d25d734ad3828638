"""The store's tables as statements need them, and their joins; the migrations define them in full."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

_JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")

PAGE = "page"
"""The recipe and session of an assignment that is answered on the page."""

FILE = "file"
"""The session of an assignment that a file of labels has answered."""


def _table(name: str, *columns: str, **typed: Any) -> sa.TableClause:
    return sa.table(name, *(sa.column(c) for c in columns), *(sa.column(c, t) for c, t in typed.items()))


items = _table(
    "items",
    *("item", "position", "document", "digest", "role"),
    fields=_JSON,
    known=_JSON,
    pictures=_JSON,
    active=sa.Boolean,
)
questions = _table("questions", "id", "name", "version", "made_at", definition=_JSON, current=sa.Boolean)
wordings = _table("wordings", "question", "digest", "made_at", definition=_JSON)
annotators = _table("annotators", "annotator", "kind", definition=_JSON, active=sa.Boolean)
runs = _table("runs", "id", "host", "process", "started_at", "seen_at", "ended_at", "cost")
assignments = _table(
    "assignments",
    *("id", "item", "question", "annotator", "recipe", "condition", "repeat", "session", "status", "run"),
    *("answer", "content"),
    shown=_JSON,
    active=sa.Boolean,
)
same_requests = _table("same_requests", "annotator", "recipe", "same_as")
answers = _table(
    "answers",
    *("id", "assignment", "request_key", "revision", "status", "reason", "comment", "flag", "reply", "reasoning"),
    *("run", "model", "fingerprint", "tokens_in", "tokens_out", "cost", "latency", "seconds", "answered_at"),
    label=_JSON,
    shown=_JSON,
)
prompts = _table("prompts", "fingerprint", "body")
settings = _table("settings", "key", value=_JSON)
people = _table(
    "people",
    *("annotator", "link", "state", "invited_at", "consented_at", "consented_to", "closed"),
    *("excluded_at", "excluded_for", "role"),
)
visits = _table("visits", "person", "came_at", "screening", "outcome", "ended_at", given=_JSON)
replies = _table("replies", "person", "number", "stage", "at", given=_JSON, wrong=_JSON)
messages = _table("messages", "id", "person", "item", "about", "words", "at")
events = _table("events", "id", "at", "what", about=_JSON)
forms = _table("forms", "id", "digest", "made_at", definition=_JSON)
tasks = _table(
    "tasks",
    *("id", "annotator", "item", "questions", "condition", "repeat", "role", "party", "session", "page", "place"),
    *("state", "form", "given_at", "expires_at", "closed_at"),
    shown=_JSON,
    extra=sa.Boolean,
)
contents = _table("contents", "item", "digest", "document", "kept_at", fields=_JSON, pictures=_JSON)
drafts = _table("drafts", "task", "revision", "kept_at", body=_JSON)

TABLES = (
    *(items, questions, wordings, annotators, runs, assignments, same_requests, answers, prompts, settings),
    *(people, visits, replies, messages, events, forms, tasks, contents, drafts),
)

# -- joins -------------------------------------------------------------------------------------------

LATEST = assignments.join(answers, answers.c.id == assignments.c.answer)
"""Each assignment that is closed, with the answer that closed it."""

EVERY = assignments.join(answers, answers.c.assignment == assignments.c.id)
"""Each answer that was ever given, with its assignment."""

_SHARED = {"items": "item", "questions": "question", "annotators": "annotator", "people": "annotator"}
"""The column of an assignment that names a row of the table."""


def join(start: Any, *others: sa.TableClause, outer: bool = False) -> sa.Join:
    """Assignments, or a join of them, with the item, question, annotator or person of each."""
    for other in others:
        here = assignments.c[_SHARED[other.name]]
        key = other.c.id if other is questions else other.c[_SHARED[other.name]]
        start = start.join(other, key == here, isouter=outer)
    joined: sa.Join = start
    return joined
