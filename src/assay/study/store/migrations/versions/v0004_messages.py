"""What the study lead writes to annotators."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004_messages"
down_revision: str | None = "0003_replies"


def upgrade() -> None:
    """Create the table of messages."""
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("person", sa.Text),
        sa.Column("item", sa.Text),
        sa.Column("about", sa.Text),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("messages")
