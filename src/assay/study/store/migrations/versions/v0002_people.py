"""People: who is invited, what they were told, what lies before them, what they have half written."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision: str | None = "0001"

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SECONDS: sa.Double[float] = sa.Double()


def upgrade() -> None:
    """Make the tables; items are told apart by their role."""
    op.add_column("items", sa.Column("role", sa.Text, nullable=False, server_default="item"))
    op.add_column("items", sa.Column("known", _JSON))
    op.add_column("answers", sa.Column("flag", sa.Text))
    _people()
    _tasks()
    _what_is_kept()


def _people() -> None:
    op.create_table(
        "people",
        sa.Column("annotator", sa.Text, sa.ForeignKey("annotators.annotator"), primary_key=True),
        sa.Column("link", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("invited_at", _SECONDS, nullable=False),
        sa.Column("consented_at", _SECONDS),
        sa.Column("consented_to", sa.Text),
        sa.Column("seen_at", _SECONDS),
        sa.CheckConstraint("state in ('active', 'paused', 'revoked')"),
    )
    op.create_table(
        "forms",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("definition", _JSON, nullable=False),
        sa.Column("made_at", _SECONDS, nullable=False),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("annotator", sa.Text, sa.ForeignKey("people.annotator"), nullable=False),
        sa.Column("item", sa.Text, sa.ForeignKey("items.item"), nullable=False),
        sa.Column("questions", sa.Text, nullable=False),
        sa.Column("condition", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("party", sa.Text, nullable=False),
        sa.Column("session", sa.Integer, nullable=False),
        sa.Column("page", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("extra", sa.Boolean, nullable=False),
        sa.Column("form", _ID, sa.ForeignKey("forms.id"), nullable=False),
        sa.Column("shown", _JSON, nullable=False),
        sa.Column("given_at", _SECONDS, nullable=False),
        sa.Column("expires_at", _SECONDS, nullable=False),
        sa.Column("closed_at", _SECONDS),
        sa.UniqueConstraint("annotator", "questions", "condition", "item", "repeat"),
        sa.UniqueConstraint("annotator", "place"),
        sa.CheckConstraint("state in ('given', 'answered', 'skipped', 'reopened')"),
    )
    op.create_index("tasks_of_item", "tasks", ["item", "questions", "condition"])


def _what_is_kept() -> None:
    op.create_table(
        "contents",
        sa.Column("item", sa.Text, sa.ForeignKey("items.item"), primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("document", sa.Text),
        sa.Column("fields", _JSON, nullable=False),
        sa.Column("kept_at", _SECONDS, nullable=False),
    )
    op.create_table(
        "drafts",
        sa.Column("task", _ID, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("body", _JSON, nullable=False),
        sa.Column("kept_at", _SECONDS, nullable=False),
    )


def downgrade() -> None:
    """Remove what was added."""
    for table in ("drafts", "contents", "tasks", "forms", "people"):
        op.drop_table(table)
    for table, column in (("answers", "flag"), ("items", "known"), ("items", "role")):
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)
