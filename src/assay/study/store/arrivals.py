"""Answers of judges as they arrive: each is added with its prompt, and closes its assignment, at one stroke."""

from __future__ import annotations

import json
import threading
from typing import Any

import sqlalchemy as sa

CLOSING = "status = case new.status when 'valid' then 'answered' else new.status end, answer = new.id"
"""What an answer changes of its assignment, with ``new`` the answer: each statement that closes one is made of this."""

CLOSES = "new.status <> 'unreadable'"
"""Which answers close their assignment: after one that could not be read, the judge is asked again."""

_ROW = (
    *("assignment", "request_key", "revision", "status", "label", "reason", "reply", "reasoning", "shown"),
    *("run", "model", "fingerprint", "tokens_in", "tokens_out", "cost", "latency", "answered_at"),
)
_JSON_PLACES = (_ROW.index("label"), _ROW.index("shown"))
_ADD_SQLITE = f"insert into answers ({', '.join(_ROW)}) values ({', '.join('?' * len(_ROW))}) on conflict do nothing"
_PROMPT_SQLITE = "insert into prompts (fingerprint, body) values (?, ?) on conflict do nothing"
_FOLLOW_SQLITE = f"""
create temp trigger answer_arrived after insert on main.answers begin
    update assignments set {CLOSING} where id = new.assignment and {CLOSES};
    update runs set cost = cost + new.cost where id = new.run and new.cost > 0;
end"""
_ADD_POSTGRES = f"""
with prompt as (
    insert into prompts (fingerprint, body)
    select name, text from (values (%s::text, %s::text)) as sent (name, text) where text is not null
    on conflict do nothing
), new as (
    insert into answers ({", ".join(_ROW)})
    values ({", ".join("%s::jsonb" if c in ("label", "shown") else "%s" for c in _ROW)})
    on conflict do nothing returning id, assignment, run, status, cost
), closed as (
    update assignments set {CLOSING} from new where assignments.id = new.assignment and {CLOSES}
), charged as (
    update runs set cost = runs.cost + new.cost from new where runs.id = new.run and new.cost > 0
) select id from new"""


class Arrivals:
    """Answers as they arrive, each in a transaction of its own.

    It adds the answer and, unless it is there, its prompt, closes its assignment and charges its run. It goes to the
    driver as it stands, on a connection that is kept: SQLAlchemy takes several times as long to say the same.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._postgres = engine.dialect.name == "postgresql"
        self._statement = _ADD_POSTGRES if self._postgres else _ADD_SQLITE
        self._lock = threading.Lock()
        self._held: sa.PoolProxiedConnection | None = None

    def add(self, row: dict[str, Any], prompt: str | None = None) -> bool:
        """Whether the row was new."""
        values = [row[c] for c in _ROW]
        for place in _JSON_PLACES:
            if values[place] is not None:
                values[place] = json.dumps(values[place])
        assert self._engine.dialect.dbapi is not None
        with self._lock:
            try:
                return self._add(values, (row["fingerprint"], prompt))
            except self._engine.dialect.dbapi.Error as error:
                self._let_go()
                raise sa.exc.DBAPIError("insert into answers", None, error) from error

    def _add(self, values: list[Any], prompt: tuple[str | None, str | None]) -> bool:
        connection = self._connection()
        if self._postgres:
            return bool(connection.execute(self._statement, [*prompt, *values]).rowcount > 0)
        connection.execute("begin immediate")
        if prompt[1] is not None:
            connection.execute(_PROMPT_SQLITE, prompt)
        new = connection.execute(self._statement, values).rowcount > 0
        connection.execute("commit")
        return bool(new)

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._let_go()

    def _connection(self) -> Any:
        if self._held is None:
            self._held = self._engine.raw_connection()
            self._held.detach()
            connection: Any = self._held.dbapi_connection
            if self._postgres:
                connection.autocommit = True
            else:
                connection.execute(_FOLLOW_SQLITE)
        return self._held.dbapi_connection

    def _let_go(self) -> None:
        if self._held is None:
            return
        raw, held, self._held = self._held.dbapi_connection, self._held, None
        held.invalidate()  # nothing is said over it any more, as it may be broken
        if raw is not None:
            raw.close()
