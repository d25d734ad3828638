"""Who came from a crowd, and how their visit ended; who adjudicates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002_crowd"
down_revision: str | None = "0001_first"

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Create the table of visits, and a column for the role of an invited person."""
    op.create_table(
        "visits",
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("given", _JSON, nullable=False),
        sa.Column("came_at", sa.Double, nullable=False),
        sa.Column("screening", sa.Text, nullable=True),
        sa.Column("outcome", sa.Text, nullable=True),
        sa.Column("ended_at", sa.Double, nullable=True),
    )
    op.add_column("people", sa.Column("role", sa.Text, nullable=False, server_default="annotator"))


def downgrade() -> None:
    """Take both away."""
    with op.batch_alter_table("people") as people:
        people.drop_column("role")
    op.drop_table("visits")
