"""What judges were sent: every prompt once, by its content."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004_prompts"
down_revision: str | None = "0003_identity"


def upgrade() -> None:
    """Make the table; answers name the prompts by their fingerprint."""
    op.create_table(
        "prompts",
        sa.Column("fingerprint", sa.Text, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("prompts")
