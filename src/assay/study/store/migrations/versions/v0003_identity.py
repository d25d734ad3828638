"""Identity: the wordings of a question, requests that count as the same, the content that an answer was given on."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003_identity"
down_revision: str | None = "0002"

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SECONDS: sa.Double[float] = sa.Double()


def upgrade() -> None:
    """Make the tables and columns, and say on which content the answers that there are were given."""
    op.create_table(
        "wordings",
        sa.Column("question", _ID, sa.ForeignKey("questions.id"), primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("definition", _JSON, nullable=False),
        sa.Column("made_at", _SECONDS, nullable=False),
    )
    op.create_table(
        "same_requests",
        sa.Column("annotator", sa.Text, sa.ForeignKey("annotators.annotator"), primary_key=True),
        sa.Column("recipe", sa.Text, primary_key=True),
        sa.Column("same_as", sa.Text, nullable=False),
    )
    op.add_column("assignments", sa.Column("content", sa.Text))
    for table in ("items", "contents"):
        op.add_column(table, sa.Column("pictures", _JSON))
    _fill_contents(op.get_bind())


def _fill_contents(db: sa.Connection) -> None:
    """The content of each answer so far: as its task has it, else as the item was when the answer came."""
    items = {row.item: row.digest for row in db.execute(sa.text("select item, digest from items"))}
    kept: dict[str, list[tuple[float, str]]] = {}
    for row in db.execute(sa.text("select item, digest, kept_at from contents order by kept_at")):
        kept.setdefault(row.item, []).append((row.kept_at, row.digest))
    tasks = {row.id: _read(row.shown)["item"] for row in db.execute(sa.text("select id, shown from tasks"))}
    query = "select a.id, a.item, s.shown, s.answered_at from assignments a join answers s on s.id = a.answer"
    rows = []
    for row in db.execute(sa.text(query)):
        later = [digest for until, digest in kept.get(row.item, []) if until > row.answered_at]
        then = tasks.get((_read(row.shown) or {}).get("task"))
        rows.append({"number": row.id, "content": then or (later[0] if later else items[row.item])})
    if rows:
        db.execute(sa.text("update assignments set content = :content where id = :number"), rows)


def _read(value: Any) -> Any:
    """JSON as it is, whether or not the driver has read it."""
    return json.loads(value) if isinstance(value, str) else value


def downgrade() -> None:
    """Remove what was added."""
    for table, column in (("contents", "pictures"), ("items", "pictures"), ("assignments", "content")):
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)
    for table in ("same_requests", "wordings"):
        op.drop_table(table)
