"""The first tables: items, questions, annotators, assignments, answers, runs, settings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision: str | None = None

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SECONDS: sa.Double[float] = sa.Double()


def upgrade() -> None:
    """Make the tables."""
    _what_is_asked()
    _who_is_to_answer()
    _answers()


def _what_is_asked() -> None:
    op.create_table(
        "items",
        sa.Column("item", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("document", sa.Text),
        sa.Column("fields", _JSON, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
    )
    op.create_table(
        "questions",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("definition", _JSON, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("current", sa.Boolean, nullable=False),
        sa.Column("made_at", _SECONDS, nullable=False),
        sa.UniqueConstraint("name", "version"),
    )
    op.create_table(
        "annotators",
        sa.Column("annotator", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("definition", _JSON, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.CheckConstraint("kind in ('human', 'judge')"),
    )


def _who_is_to_answer() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("process", sa.Text, nullable=False),
        sa.Column("started_at", _SECONDS, nullable=False),
        sa.Column("seen_at", _SECONDS, nullable=False),
        sa.Column("ended_at", _SECONDS),
        sa.Column("cost", sa.Double, nullable=False, server_default="0"),
    )
    op.create_table(
        "assignments",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("item", sa.Text, sa.ForeignKey("items.item"), nullable=False),
        sa.Column("question", _ID, sa.ForeignKey("questions.id"), nullable=False),
        sa.Column("annotator", sa.Text, sa.ForeignKey("annotators.annotator"), nullable=False),
        sa.Column("recipe", sa.Text, nullable=False),
        sa.Column("condition", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("shown", _JSON),
        sa.Column("session", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("run", _ID, sa.ForeignKey("runs.id")),
        sa.Column("expires_at", _SECONDS),
        sa.Column("answer", _ID),
        sa.UniqueConstraint("item", "question", "annotator", "recipe", "condition", "repeat"),
        sa.CheckConstraint("status in ('open', 'claimed', 'answered', 'missing', 'failed', 'withdrawn')"),
    )
    op.create_index("assignments_to_do", "assignments", ["status", "id"])


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("assignment", _ID, sa.ForeignKey("assignments.id"), nullable=False, index=True),
        sa.Column("request_key", sa.Text, nullable=False, unique=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("label", _JSON),
        sa.Column("reason", sa.Text),
        sa.Column("comment", sa.Text),
        sa.Column("reply", sa.Text),
        sa.Column("reasoning", sa.Text),
        sa.Column("shown", _JSON),
        sa.Column("run", _ID, sa.ForeignKey("runs.id")),
        sa.Column("model", sa.Text),
        sa.Column("fingerprint", sa.Text),
        sa.Column("tokens_in", sa.Integer),
        sa.Column("tokens_out", sa.Integer),
        sa.Column("cost", sa.Double),
        sa.Column("latency", _SECONDS),
        sa.Column("seconds", _SECONDS),
        sa.Column("answered_at", _SECONDS, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", _JSON, nullable=False),
    )


def downgrade() -> None:
    """Remove the tables."""
    for table in ("settings", "answers", "assignments", "runs", "annotators", "questions", "items"):
        op.drop_table(table)
