"""People: up to which page their answers are closed to them, and whether their answers are excluded."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005_closed_and_excluded"
down_revision: str | None = "0004_prompts"

_SECONDS: sa.Double[float] = sa.Double()

_OF_EARLIER_SESSIONS = """
    select max(t.page) from tasks t where t.annotator = people.annotator and t.session < (
        select max(later.session) from tasks later
        where later.annotator = t.annotator and later.questions = t.questions
    )"""
_GIVEN_AGAIN = """
    select max(t.page) from tasks t where t.annotator = people.annotator and t.repeat = 1 and exists (
        select 1 from tasks again where again.annotator = t.annotator and again.item = t.item
        and again.questions = t.questions and again.condition = t.condition and again.repeat > 1
    )"""


def upgrade() -> None:
    """Add the columns; what lies in an earlier session, or was given a second time since, is closed."""
    op.add_column("people", sa.Column("closed", sa.Integer, nullable=False, server_default="0"))
    op.add_column("people", sa.Column("excluded_at", _SECONDS))
    op.add_column("people", sa.Column("excluded_for", sa.Text))
    for pages in (_OF_EARLIER_SESSIONS, _GIVEN_AGAIN):
        op.execute(f"update people set closed = ({pages}) where coalesce(({pages}), 0) > closed")


def downgrade() -> None:
    """Remove what was added."""
    with op.batch_alter_table("people") as batch:
        for column in ("excluded_for", "excluded_at", "closed"):
            batch.drop_column(column)
