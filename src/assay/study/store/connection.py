"""The database under a study: how it is opened, its transactions, what both dialects need, and its migrations.

SQLite in the study folder, or PostgreSQL by URL, through the same statements.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from assay.errors import StudyError, require, require_installed
from assay.study.definition import Study
from assay.study.store import tables

Connection = sa.Connection
"""A connection to the database, mostly within a transaction."""

DatabaseError = sa.exc.DBAPIError
"""Any error of the database."""

DatabaseBusyError = sa.exc.TimeoutError
"""Others hold it for longer than one waits."""

MIGRATIONS = Path(__file__).parent / "migrations"

STORE_FILE = "study.db"

CHUNK = 2000
"""Rows that are written or read at a time: few enough to fit in memory, enough that statements cost little."""

_PATIENCE = 60
"""Seconds until SQLite gives up on a lock that another process holds: longer than any transaction here takes."""

_MIGRATING, _EXCLUSIVE = 7235077, 7235078
"""PostgreSQL's advisory locks: two arbitrary numbers that other programs do not use."""

# -- answers of judges as they arrive ----------------------------------------------------------------

CLOSING = "status = case new.status when 'valid' then 'answered' else new.status end, answer = new.id"
"""The columns of an assignment that an answer updates, with ``new`` the answer; shared by all closing statements."""

CLOSES = "new.status <> 'unreadable'"
"""Statuses that close an assignment: after an unparseable response the judge is queried again."""

_ROW = (
    *("assignment", "request_key", "revision", "status", "label", "reason", "reply", "reasoning", "shown"),
    *("run", "model", "fingerprint", "tokens_in", "tokens_out", "cost", "latency", "answered_at"),
)
_JSON_PLACES = (_ROW.index("label"), _ROW.index("shown"))
_IN_ORDER = itemgetter(*_ROW)
_AT_ONCE = 32
"""Maximum number of rows of one statement. SQLite lets the other threads run during each statement and then waits for
them, so one statement for many answers takes three quarters of the time."""


@lru_cache(maxsize=32)
def _insert_sqlite(table: str, columns: tuple[str, ...], number: int) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return f"insert into {table} ({', '.join(columns)}) values {', '.join([row] * number)} on conflict do nothing"


def _put_sqlite(connection: Any, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
    """Insert rows, in statements of a few sizes, which SQLite prepares once; return how many were new."""
    new, start = 0, 0
    while rest := len(rows) - start:
        number = min(_AT_ONCE, 1 << rest.bit_length() - 1)
        values = [value for row in rows[start : start + number] for value in row]
        new += connection.execute(_insert_sqlite(table, columns, number), values).rowcount
        start += number
    return new


_FOLLOW_SQLITE = f"""
create temp trigger answer_arrived after insert on main.answers begin
    update assignments set {CLOSING} where id = new.assignment and {CLOSES};
    update runs set cost = cost + new.cost where id = new.run and new.cost > 0;
end"""
_ADD_POSTGRES = f"""
with new as (
    insert into answers ({", ".join(_ROW)})
    values ({", ".join("%s::jsonb" if c in ("label", "shown") else "%s" for c in _ROW)})
    on conflict do nothing returning id, assignment, run, status, cost
), closed as (
    update assignments set {CLOSING} from new where assignments.id = new.assignment and {CLOSES}
), charged as (
    update runs set cost = runs.cost + new.cost from new where runs.id = new.run and new.cost > 0
) select id from new"""
_PROMPT = ("fingerprint", "body")
_PROMPT_POSTGRES = f"insert into prompts ({', '.join(_PROMPT)}) values (%s, %s) on conflict do nothing"


class AnswerRow(NamedTuple):
    """An answer on its way in: its columns, and the prompt that it replies to."""

    row: Mapping[str, Any]
    prompt: str | None = None


def _values(row: Mapping[str, Any]) -> list[Any]:
    values = [*_IN_ORDER(row)]
    for place in _JSON_PLACES:
        if values[place] is not None:
            values[place] = json.dumps(values[place])
    return values


class _KnownAnswerError(Exception):
    """One of several answers was there already: written one by one, each says whether it was."""


def _explain_error(error: Exception) -> sa.exc.DBAPIError:
    return sa.exc.DBAPIError("insert into answers", None, error)


class AnswerFeed:
    """Answers as they arrive: all that wait are written in one transaction.

    It adds each answer and, unless it is there, its prompt, closes its assignment and charges its run. It goes to the
    driver directly, on a persistent connection: the same statements take several times as long through SQLAlchemy.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._postgres = engine.dialect.name == "postgresql"
        self._lock = threading.Lock()
        self._held: sa.PoolProxiedConnection | None = None

    def add(self, arrived: Sequence[AnswerRow]) -> list[bool | Exception]:
        """Return for each answer whether it was new, or its error, after writing all that can be written.

        Raises
        ------
        sqlalchemy.exc.DBAPIError
            If the database accepts none of them.
        """
        with self._lock:
            try:
                return [*self._add(arrived)]
            except self._errors.OperationalError as error:
                # Of several that a disk has no room for, it may have room for some, and each was paid for.
                if len(arrived) == 1 or "full" not in str(error):
                    raise _explain_error(error) from error
            except Exception as error:
                if len(arrived) == 1:
                    return [_explain_error(error) if isinstance(error, self._errors.Error) else error]
        return [self.add([one])[0] for one in arrived]

    @property
    def _errors(self) -> Any:
        return self._engine.dialect.dbapi

    def _add(self, arrived: Sequence[AnswerRow]) -> list[bool]:
        rows = [_values(one.row) for one in arrived]
        # In order, so that of two processes none waits for a prompt of the other's and has one that it waits for.
        prompts = sorted({(one.row["fingerprint"], one.prompt) for one in arrived if one.prompt is not None})
        try:
            connection = self._connection()
            if self._postgres:
                connection.execute("begin")
                connection.cursor().executemany(_PROMPT_POSTGRES, prompts)
                new = [connection.execute(_ADD_POSTGRES, values).rowcount > 0 for values in rows]
            else:
                connection.execute("begin immediate")
                _put_sqlite(connection, "prompts", _PROMPT, prompts)
                number = _put_sqlite(connection, "answers", _ROW, rows)
                if 1 < len(rows) != number:
                    raise _KnownAnswerError
                new = [number > 0] * len(rows)
            connection.execute("commit")
        except BaseException:
            self._drop_connection()
            raise
        return new

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._drop_connection()

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

    def _drop_connection(self) -> None:
        if self._held is None:
            return
        raw, held, self._held = self._held.dbapi_connection, self._held, None
        held.invalidate()  # nothing is said over it any more, as it may be broken
        if raw is not None:
            raw.close()


# -- what SQLite has written, on its way to the disk --------------------------------------------------

flush_file: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
"""As SQLite does it."""


class Flushes:
    """One flush of SQLite's log for all who wait for theirs, while the next transaction is under way.

    SQLite would flush within each transaction (`synchronous=FULL`), and all others would wait for it. Here a
    transaction is only written (`NORMAL`), others continue, and the writer returns after a flush that began later has
    ended. Nothing is acknowledged earlier than with FULL.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._wanted = self._done = 0
        self._count, self._flushing = threading.Lock(), threading.Lock()
        self._failed: OSError | None = None

    def wait(self) -> None:
        """Return when all that was written before is on the disk.

        Raises
        ------
        DatabaseError
            If the disk fails, and on every later call: a second flush can skip what a failed flush left unwritten.
        """
        with self._count:
            self._wanted += 1
            mine = self._wanted
        with self._flushing:
            try:
                if self._done < mine:
                    self._flush()
            except OSError as error:
                raise sa.exc.DBAPIError("flush", None, error) from error

    def _flush(self) -> None:
        if self._failed is not None:
            raise OSError(*self._failed.args)
        reached = self._wanted  # of all who wait by now
        file = os.open(self._log, os.O_RDWR)
        try:
            flush_file(file)
        except OSError as error:
            self._failed = error
            raise
        finally:
            os.close(file)
        self._done = reached


# -- the database under a study ----------------------------------------------------------------------


@dataclass
class Store:
    """The database of a study; close it, or use it in a ``with`` block.

    Its content is read and written by the functions of the other modules of this package.
    """

    engine: sa.Engine
    is_scratch: bool = False
    """Whether nothing that is done here is kept."""
    patience: float = _PATIENCE
    """Seconds to wait for others who hold it."""
    where: str = field(init=False)
    answer_feed: AnswerFeed = field(init=False, repr=False)
    within: threading.local = field(init=False, repr=False, default_factory=threading.local)
    """What this thread is in the midst of: a transaction for all it does (`together`), a change of the study."""
    _turn: threading.RLock = field(init=False, repr=False, default_factory=threading.RLock)
    _rest: ExitStack = field(init=False, repr=False, default_factory=ExitStack)
    """Further resources to close with the database."""

    def __post_init__(self) -> None:
        self.where = self.engine.url.render_as_string(hide_password=True)
        self.answer_feed = AnswerFeed(self.engine)
        self._writing = self.engine.execution_options(assay_write=True)
        self._durable = self.engine.execution_options(assay_write=True, assay_full=True)
        self._flushes: Flushes | None = None

    # -- opening --------------------------------------------------------------------------------

    @classmethod
    def open(cls, where: str | Path, patience: float = _PATIENCE) -> Self:
        """Open a SQLite file or a ``postgresql://`` URL, and bring its tables up to date.

        Parameters
        ----------
        where : path or URL
        patience : float
            Seconds to wait for others who hold it.

        Raises
        ------
        StudyError
            If the database cannot be reached, or belongs to a newer assay.
        """
        store = cls(_engine(str(where), patience), patience=patience)
        with store._close_on_failure():
            with store.writing() as db:
                _migrate(db)
            store._flushes = _flushes(store.engine)
        return store

    @classmethod
    def scratch(cls, where: str | Path) -> Self:
        """A store that begins as the one that is there now, and of which nothing is kept; for one thread.

        It requires only read permission: a copy of a SQLite file, or a PostgreSQL transaction that is rolled back.

        Raises
        ------
        StudyError
            As `open`.
        """
        store = cls(_engine(str(where)), is_scratch=True)
        if store.engine.dialect.name == "sqlite":
            store.close()
            with ExitStack() as rest:
                folder = Path(rest.enter_context(TemporaryDirectory(prefix="assay-")))
                _copy_sqlite(Path(store.engine.url.database or ""), folder / "copy.db")
                copy = cls.open(folder / "copy.db")
                copy.is_scratch, copy.where, copy._rest = True, store.where, rest.pop_all()
            return copy
        with store._close_on_failure():
            db = store._rest.enter_context(store._writing.connect())
            store._rest.callback(db.begin().rollback)
            store.within.db = db
            _migrate(db)
        return store

    @contextmanager
    def _close_on_failure(self) -> Iterator[None]:
        """Close the database if the block fails, and word the failure."""
        try:
            yield
        except sa.exc.DBAPIError as error:
            self.close()
            raise StudyError(f"the store {self.where} cannot be used: {error.orig}") from None
        except StudyError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self.answer_feed.close()
        self._rest.close()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self, db: sa.Connection) -> float:
        """Return seconds since 1970 by the database's clock, so that machines do not have to agree on theirs."""
        if self.engine.dialect.name == "postgresql":
            return float(db.execute(sa.text("select extract(epoch from clock_timestamp())")).scalar_one())
        return time.time()

    # -- transactions ---------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that only reads."""
        with self._current_transaction() or self.engine.connect() as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes."""
        with self._current_transaction() or self._writing.begin() as db:
            yield db

    @contextmanager
    def writing_durably(self) -> Iterator[sa.Connection]:
        """A transaction that writes, and that is on disk, with all before it, once the block has ended."""
        with self._current_transaction() or self._durable.begin() as db:
            yield db

    @contextmanager
    def together(self) -> Iterator[sa.Connection]:
        """Run all reads and writes of this thread in the block in one transaction."""
        outer = getattr(self.within, "db", None)
        with self.writing() as db:
            self.within.db = db
            try:
                yield db
            finally:
                self.within.db = outer

    def _current_transaction(self) -> AbstractContextManager[sa.Connection] | None:
        """The current transaction of this thread; None if there is none."""
        db = getattr(self.within, "db", None)
        return None if db is None else nullcontext(db)

    @contextmanager
    def exclusive(self) -> Iterator[sa.Connection]:
        """Run an exclusive transaction that is on disk at the end of the block.

        For functions that read before they write: who gets which item, which answer is the latest. Threads wait for
        each other here; SQLite alone would make them retry. All reads and writes of this thread in the block are in
        this transaction.
        """
        inside = getattr(self.within, "db", None) is not None  # then it is on disk when that has ended
        with self._my_turn(), self._exclusively() as db:
            yield db
        if self._flushes is not None and not inside:
            self._flushes.wait()

    @contextmanager
    def _exclusively(self) -> Iterator[sa.Connection]:
        with self.writing_durably() if self._flushes is None else self.writing() as db:
            if self.engine.dialect.name == "postgresql":
                db.execute(sa.text(f"select pg_advisory_xact_lock({_EXCLUSIVE})"))
            outer = getattr(self.within, "db", None)
            self.within.db = db
            try:
                yield db
            finally:
                self.within.db = outer

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        # A caller after one that waits in vain would wait as long again, and so on, so all of them give up in time.
        if not self._turn.acquire(timeout=self.patience):
            raise sa.exc.TimeoutError("others wait for the database")
        try:
            yield
        finally:
            self._turn.release()

    def copy_to(self, target: Path) -> None:
        """Copy a SQLite database as of one moment, while others write.

        Raises
        ------
        StudyError
            For PostgreSQL, which has its own way.
        """
        if self.engine.dialect.name != "sqlite":
            raise StudyError(
                f"the store {self.where} is PostgreSQL, which copies itself: pg_dump --format=custom --file=study.dump "
                "NAME_OF_THE_DATABASE, and back with pg_restore --clean --dbname=NAME_OF_THE_DATABASE study.dump"
            )
        _copy_sqlite(Path(self.engine.url.database or ""), target)

    def checked_answers(self) -> int:
        """How many answers there are, in a SQLite database that is whole.

        Raises
        ------
        StudyError
            If it is damaged.
        """
        with self.reading() as db:
            said = db.execute(sa.text("PRAGMA integrity_check")).scalars().all()
            if said != ["ok"]:
                raise StudyError(f"{self.where} is damaged: {said[0]}")
            return int(db.execute(sa.select(sa.func.count()).select_from(tables.answers)).scalar_one())

    def overwrite_deleted(self) -> None:
        """Remove deleted rows from SQLite's files, which otherwise keep them until the space is needed.

        Raises
        ------
        StudyError
            While others have the database open and are at work in it.
        """
        if self.engine.dialect.name != "sqlite":
            return
        connection = self.engine.raw_connection()
        try:
            connection.execute("VACUUM")
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except self.engine.dialect.loaded_dbapi.OperationalError:
            busy = True
        finally:
            connection.close()
        if busy:
            raise StudyError(
                f"the rows are deleted, but traces stay in the files of {self.where} while others work in it; "
                f"stop assay serve and assay judge, then run: sqlite3 {self.engine.url.database} VACUUM"
            )

    # -- settings -------------------------------------------------------------------------------

    def setting(self, key: str) -> Any:
        """Return the value under a key, or None."""
        with self.reading() as db:
            return setting(db, key)

    def keep(self, key: str, value: Any) -> Any:
        """Keep a value under a key unless there is one; the value that is kept."""
        with self.writing() as db:
            db.execute(insert(db, tables.settings).on_conflict_do_nothing(), {"key": key, "value": value})
            return setting(db, key)

    def set(self, key: str, value: Any) -> None:
        """Store a value under a key, replacing the present one."""
        with self.writing() as db:
            put_setting(db, key, value)


def setting(db: sa.Connection, key: str) -> Any:
    """Return the value under a key, or None; within a transaction."""
    return db.execute(_SETTING, {"key": key}).scalar()


# A statement that is built once costs a third of one built for each call; those of every request are.
_SETTING = sa.select(tables.settings.c.value).where(tables.settings.c.key == sa.bindparam("key"))


def file_of(store: Store) -> Path | None:
    """Return the file of a SQLite store, also of the one that a copy was made of; None for a database of a server."""
    return Path(sa.make_url(store.where).database or "") if store.engine.dialect.name == "sqlite" else None


def put_setting(db: sa.Connection, key: str, value: Any) -> None:
    """Store a value under a key, replacing the present one; within a transaction."""
    upsert(db, tables.settings, ["key"], ["value"], [{"key": key, "value": value}])


# -- what both dialects need -------------------------------------------------------------------------


def connect(source: Store | sa.Connection) -> AbstractContextManager[sa.Connection]:
    """Return a connection to read from: a new one of a store, or the given one."""
    return source.reading() if isinstance(source, Store) else nullcontext(source)


def insert(db: sa.Connection, table: sa.TableClause) -> Any:
    """The dialect's own insert: both have ON CONFLICT, which SQLAlchemy keeps with each dialect."""
    return (postgresql.insert if db.dialect.name == "postgresql" else sqlite_insert)(table)


def upsert(
    db: sa.Connection, table: sa.TableClause, key: list[str], changed: Iterable[str], rows: list[dict[str, Any]]
) -> None:
    """Insert rows; those whose key is there change these columns instead."""
    statement = insert(db, table)
    new = {column: statement.excluded[column] for column in changed}
    db.execute(statement.on_conflict_do_update(index_elements=key, set_=new), rows)


def batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    """The values, `CHUNK` at a time."""
    rest = iter(values)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def _engine(where: str, patience: float = _PATIENCE) -> sa.Engine:
    if where.startswith(("postgresql:", "postgres:")):
        require("psycopg", "postgres", "a study in PostgreSQL")
        url = sa.make_url(where).set(drivername="postgresql+psycopg")
        about = {"connect_timeout": max(2, round(patience / 2))}
        return sa.create_engine(url, pool_pre_ping=True, pool_timeout=patience, connect_args=about)
    if "://" in where and not where.startswith("sqlite:"):
        raise StudyError("a store is a file (SQLite) or a postgresql:// URL")
    url = sa.make_url(where) if where.startswith("sqlite:") else sa.URL.create("sqlite", database=where)
    engine = sa.create_engine(url, connect_args={"timeout": patience}, pool_timeout=patience)

    @sa.event.listens_for(engine, "connect")
    def _settle(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy begins and ends transactions, not the driver
        _keep_a_log(connection)
        for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(db: sa.Connection) -> None:
        options = db.get_execution_options()
        wanted = "FULL" if options.get("assay_full") else "NORMAL"
        if db.info.get("synchronous") != wanted:
            db.exec_driver_sql(f"PRAGMA synchronous={wanted}")
            db.info["synchronous"] = wanted
        # A writer takes its lock at once: two that had both begun by reading could not both go on.
        db.exec_driver_sql("BEGIN IMMEDIATE" if options.get("assay_write") else "BEGIN")

    return engine


def _keep_a_log(connection: Any) -> None:
    """Switch to write-ahead logging, again while another one does.

    If two connections switch a new file, SQLite rejects one at once, with any patience, because each would wait for the
    other.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _flushes(engine: sa.Engine) -> Flushes | None:
    """Return a function that flushes the log of a database; None if it has none, as on some network disks."""
    if engine.dialect.name != "sqlite":
        return None
    with engine.connect() as db:
        path = next((row.file for row in db.execute(sa.text("PRAGMA database_list")) if row.name == "main"), "")
        log = Path(f"{path}-wal")
        mode = db.execute(sa.text("PRAGMA journal_mode")).scalar()
        return Flushes(log) if path and mode == "wal" and log.exists() else None


def _can_be_written(path: Path) -> bool:
    """Return whether SQLite can write here: to the file, if it exists, and in its folder."""
    beside = path.absolute().parent
    return beside.is_dir() and os.access(beside, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def _copy_sqlite(source: Path, target: Path) -> None:
    """Copy a database, with its log, without writing to its folder; nothing if there is none.

    In a read-only folder SQLite cannot open a database with a log; then the files themselves are copied.
    """
    if not source.is_file():
        return
    try:
        if _can_be_written(source):
            uri = f"{source.absolute().as_uri()}?mode=ro"
            with (
                closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE)) as there,
                closing(sqlite3.connect(target)) as here,
            ):
                there.backup(here)
            return
        for ending in ("", "-wal"):
            if (one := source.with_name(source.name + ending)).is_file():
                shutil.copyfile(one, target.with_name(target.name + ending))
    except (OSError, sqlite3.Error) as error:
        raise StudyError(f"the store {source} cannot be read: {error}") from None


def _migrate(db: sa.Connection) -> None:
    """Take the steps that this database has not seen; one process at a time."""
    if db.dialect.name == "postgresql":
        db.execute(sa.text(f"select pg_advisory_xact_lock({_MIGRATING})"))
    if is_current(db):  # alembic takes a third of a second to import, and nearly every store is current
        return
    _join_first_step(db)
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": db})
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StudyError(f"the database belongs to a newer assay ({error}); upgrade assay") from None


def is_current(db: sa.Connection) -> bool:
    """Whether the database has seen every step; a step's file is named by its place and what alembic writes down."""
    last = max(path.stem for path in (MIGRATIONS / "versions").glob("v*.py"))
    return _steps_seen(db) == [last.removeprefix("v")]


def _steps_seen(db: sa.Connection) -> list[str]:
    """What alembic wrote down: the last step, if any."""
    if not sa.inspect(db).has_table("alembic_version"):
        return []
    return list(db.execute(sa.text("select version_num from alembic_version")).scalars())


_BEFORE_FIRST = "0005_closed_and_excluded"
"""The last of the steps that were made one (``0001_first``), ten minutes after work on 0.2 began."""

_EARLIER = ("0001", "0002", "0003_identity", "0004_prompts")
"""Those before it."""

_LEFT_OUT = (("questions", "digest"), ("people", "seen_at"), ("assignments", "expires_at"))
"""The columns that those steps made and ``0001_first`` does not; nothing reads them any more."""


def _join_first_step(db: sa.Connection) -> None:
    """Let a database that has seen all steps before they were made one go on from that one."""
    seen = _steps_seen(db)
    if seen == [_BEFORE_FIRST]:
        for table, column in _LEFT_OUT:
            db.execute(sa.text(f"alter table {table} drop column {column}"))
        db.execute(sa.text("update alembic_version set version_num = '0001_first'"))
    elif seen and seen[0] in _EARLIER:
        raise StudyError(
            f"the database belongs to an assay older than 0.2 (its last step is '{seen[0]}') and cannot be upgraded "
            "directly; "
            "open it once with the first assay 0.2 (in a checkout of its commit 6ab766a8: assay export STUDY "
            "labels.csv), then with this version"
        )


# -- the database of a study -------------------------------------------------------------------------

Opening = Callable[[Study, str | None], Store]
"""One of the ways to open it: `open_store`, `open_scratch`, `open_to_read`."""


def open_store(study: Study, url: str | None = None, patience: float = _PATIENCE) -> Store:
    """The study's database: ``url``, else the one study.yaml names, else a file in the folder.

    A caller waits ``patience`` seconds for others who hold it.

    Raises
    ------
    StudyError
        If it cannot be used, see `Store.open`.
    """
    return Store.open(_place(study, url), patience)


def open_scratch(study: Study, url: str | None = None) -> Store:
    """Open a scratch copy of the study's database, of which no change is kept; see `Store.scratch`."""
    return Store.scratch(_place(study, url))


def open_to_read(study: Study, url: str | None = None) -> Store:
    """Open the study's database, or a copy of it if it is on a read-only mount."""
    where = _place(study, url)
    remote = "://" in where and not where.startswith("sqlite:")
    path = None if remote else sa.make_url(where).database if where.startswith("sqlite:") else where
    return Store.open(where) if path is None or _can_be_written(Path(path)) else Store.scratch(where)


_CHOSEN: ContextVar[dict[Path, str] | None] = ContextVar("assay_store", default=None)


def choose_store(folder: str | Path, url: str) -> None:
    """Set the location of a study's answers for all later calls that open its store without a location."""
    _CHOSEN.set({**(_CHOSEN.get() or {}), _study_folder(folder): url})


def _study_folder(folder: str | Path) -> Path:
    path = Path(folder).expanduser().resolve()
    return path.parent if path.suffix in (".yaml", ".yml") else path


def store_name(url: str) -> str:
    """A database in words, without its password."""
    return sa.make_url(url).render_as_string(hide_password=True) if "://" in url else url


def _place(study: Study, url: str | None) -> str:
    require_installed(("sqlalchemy", "alembic"), "judge", "a study's database")
    chosen = (_CHOSEN.get() or {}).get(_study_folder(study.folder))
    return url or chosen or study.config.store or str(study.folder / STORE_FILE)


def elsewhere(study: Study, store: Store) -> tuple[str, str | None] | None:
    """Return the address of an open store and its password, unless it is where the study's folder says.

    The address does not contain the password.
    """
    usual, url = study.config.store or str(study.folder / STORE_FILE), store.engine.url
    if url.get_backend_name() != "sqlite":
        if "://" in usual and sa.make_url(usual).set(drivername=url.drivername) == url:
            return None
        plain = sa.URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
        return plain.render_as_string(), None if url.password is None else str(url.password)
    place = sa.make_url(usual).database if "://" in usual else usual
    return None if Path(place or "").resolve() == Path(url.database or "").resolve() else (str(url.database), None)


@contextmanager
def store_in_use(study: Study, url: str | None = None, *, opening: Opening = open_store) -> Iterator[Store]:
    """The study's database while it is worked with: a full disk or a server that stops is said in words.

    Raises
    ------
    StudyError
        If the database fails; what was written before is kept.
    """
    with opening(study, url) as opened:
        try:
            yield opened
        except DatabaseError as error:
            raise store_error(opened, error) from None


def store_error(store: Store, error: BaseException) -> StudyError:
    """What went wrong in the database, and what to do about it."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    if store.is_scratch:
        return StudyError(
            f"copying the store {store.where} failed: {said}. The store is unchanged; fix the cause (space in the "
            "folder for temporary files, a running server) and run the command again"
        )
    return StudyError(
        f"the store {store.where} failed: {said}. Its earlier content is kept; fix the cause (space on the disk, a "
        "running server) and run the command again to continue"
    )
