"""What the study lead did."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005_events"
down_revision: str | None = "0004_messages"

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Create the table of events."""
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("about", _JSON, nullable=False),
    )
    # A study lead who had judges shown saw them at a time that is not known: no decision counts as blind.
    key: sa.ColumnClause[str] = sa.column("key")
    about: sa.ColumnClause[Any] = sa.column("about", _JSON)
    seen = sa.select(key).select_from(sa.table("settings", key)).where(key == "judges shown to the lead")
    if op.get_bind().execute(seen).first() is not None:
        events = sa.table("events", sa.column("at"), sa.column("what"), about)
        op.execute(sa.insert(events).values(at=0.0, what="blind phase ended", about={}))


def downgrade() -> None:
    """Take it away."""
    op.drop_table("events")
