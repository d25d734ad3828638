"""The first tables: questions, annotators, every answer, and all tasks with their page texts."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001_first"
down_revision: str | None = None

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TYPES: dict[str, Any] = {
    "id": _ID,
    "text": sa.Text,
    "int": sa.Integer,
    "bool": sa.Boolean,
    "json": _JSON,
    "seconds": sa.Double,
    "dollars": sa.Double,
}


def _columns(**types: str) -> list[sa.Column[Any]]:
    """Columns by name, each with a key of `_TYPES` for its type; followed by ``?`` if it can be null."""
    return [sa.Column(name, _TYPES[kind.rstrip("?")], nullable=kind.endswith("?")) for name, kind in types.items()]


def _reference(name: str, to: str, kind: Any = sa.Text, *, nullable: bool = False, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, sa.ForeignKey(to), nullable=nullable, **more)


def _number() -> sa.Column[Any]:
    return sa.Column("id", _ID, primary_key=True)


def upgrade() -> None:
    """Make the tables."""
    _make_what_is_asked()
    _make_what_is_answered()
    _make_what_people_are_given()
    op.create_table("settings", sa.Column("key", sa.Text, primary_key=True), *_columns(value="json"))


def _make_what_is_asked() -> None:
    content = {"document": "text?", "fields": "json", "pictures": "json"}
    op.create_table(
        "items",
        sa.Column("item", sa.Text, primary_key=True),
        *_columns(position="int", digest="text", active="bool", role="text", known="json?", **content),
    )
    op.create_table(
        "contents",
        _reference("item", "items.item", primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        *_columns(kept_at="seconds", **content),
    )
    op.create_table(
        "questions",
        _number(),
        *_columns(name="text", version="int", definition="json", current="bool", made_at="seconds"),
        sa.UniqueConstraint("name", "version"),
    )
    op.create_table(
        "wordings",
        _reference("question", "questions.id", _ID, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        *_columns(definition="json", made_at="seconds"),
    )


def _make_what_is_answered() -> None:
    op.create_table(
        "annotators",
        sa.Column("annotator", sa.Text, primary_key=True),
        *_columns(kind="text", definition="json", active="bool"),
        sa.CheckConstraint("kind in ('human', 'judge')"),
    )
    op.create_table(
        "runs",
        _number(),
        *_columns(host="text", process="text", started_at="seconds", seen_at="seconds", ended_at="seconds?"),
        sa.Column("cost", sa.Double, nullable=False, server_default="0"),
    )
    op.create_table(
        "assignments",
        _number(),
        _reference("item", "items.item"),
        _reference("question", "questions.id", _ID),
        _reference("annotator", "annotators.annotator"),
        *_columns(recipe="text", condition="text", repeat="int", shown="json?", session="text?", status="text"),
        *_columns(active="bool", answer="id?", content="text?"),
        _reference("run", "runs.id", _ID, nullable=True),
        sa.UniqueConstraint("item", "question", "annotator", "recipe", "condition", "repeat"),
        sa.CheckConstraint("status in ('open', 'claimed', 'answered', 'missing', 'failed', 'withdrawn')"),
    )
    op.create_index("assignments_to_do", "assignments", ["status", "id"])
    op.create_table(
        "same_requests",
        _reference("annotator", "annotators.annotator", primary_key=True),
        sa.Column("recipe", sa.Text, primary_key=True),
        *_columns(same_as="text"),
    )
    op.create_table(
        "answers",
        _number(),
        _reference("assignment", "assignments.id", _ID, index=True),
        sa.Column("request_key", sa.Text, nullable=False, unique=True),
        *_columns(revision="int", status="text", label="json?", reason="text?", comment="text?", flag="text?"),
        *_columns(reply="text?", reasoning="text?", shown="json?", model="text?", fingerprint="text?"),
        *_columns(tokens_in="int?", tokens_out="int?", cost="dollars?", latency="seconds?", seconds="seconds?"),
        *_columns(answered_at="seconds"),
        _reference("run", "runs.id", _ID, nullable=True),
    )
    op.create_table("prompts", sa.Column("fingerprint", sa.Text, primary_key=True), *_columns(body="text"))


def _make_what_people_are_given() -> None:
    op.create_table(
        "people",
        _reference("annotator", "annotators.annotator", primary_key=True),
        *_columns(link="int", state="text", invited_at="seconds", consented_at="seconds?", consented_to="text?"),
        *_columns(excluded_at="seconds?", excluded_for="text?"),
        sa.Column("closed", sa.Integer, nullable=False, server_default="0"),
        sa.CheckConstraint("state in ('active', 'paused', 'revoked')"),
    )
    op.create_table(
        "forms",
        _number(),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        *_columns(definition="json", made_at="seconds"),
    )
    op.create_table(
        "tasks",
        _number(),
        _reference("annotator", "people.annotator"),
        _reference("item", "items.item"),
        *_columns(questions="text", condition="text", repeat="int", role="text", party="text", session="int"),
        *_columns(page="int", place="int", state="text", extra="bool", shown="json"),
        *_columns(given_at="seconds", expires_at="seconds", closed_at="seconds?"),
        _reference("form", "forms.id", _ID),
        sa.UniqueConstraint("annotator", "questions", "condition", "item", "repeat"),
        sa.UniqueConstraint("annotator", "place"),
        sa.CheckConstraint("state in ('given', 'answered', 'skipped', 'reopened')"),
    )
    op.create_index("tasks_of_item", "tasks", ["item", "questions", "condition"])
    op.create_table(
        "drafts",
        _reference("task", "tasks.id", _ID, primary_key=True),
        *_columns(revision="int", body="json", kept_at="seconds"),
    )


def downgrade() -> None:
    """Remove the tables, those first that refer to others."""
    for table in ("settings", "drafts", "tasks", "forms", "people", "prompts", "answers", "same_requests"):
        op.drop_table(table)
    for table in ("assignments", "runs", "annotators", "wordings", "questions", "contents", "items"):
        op.drop_table(table)
