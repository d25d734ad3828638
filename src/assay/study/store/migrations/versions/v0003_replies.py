"""What people answered about themselves, every try."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003_replies"
down_revision: str | None = "0002_crowd"

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Create the table of replies."""
    op.create_table(
        "replies",
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("given", _JSON, nullable=False),
        sa.Column("wrong", _JSON, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("replies")
