"""The database under a study: connections, transactions, dialects, migrations, settings."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from assay.errors import StudyError, require
from assay.study.store import tables
from assay.study.store.arrivals import Arrivals
from assay.study.store.copying import can_be_written, copy_of_sqlite

Connection = sa.Connection
"""A connection to the database, mostly within a transaction."""

DatabaseError = sa.exc.DBAPIError
"""Whatever goes wrong in the database."""

MIGRATIONS = Path(__file__).parent / "migrations"

CHUNK = 2000
"""Rows that are written or read at a time."""


@dataclass
class Store:
    """The database of a study; close it, or use it in a ``with`` block.

    What is in it is read and written by the functions of the modules beside this one.
    """

    engine: sa.Engine
    where: str
    is_scratch: bool = False
    """Whether nothing that is done here is kept."""
    arrivals: Arrivals = field(init=False, repr=False)
    _writing: sa.Engine = field(init=False, repr=False)
    _durable: sa.Engine = field(init=False, repr=False)
    _turn: threading.Lock = field(init=False, repr=False, default_factory=threading.Lock)
    within: threading.local = field(init=False, repr=False, default_factory=threading.local)
    """What this thread is in the midst of: a transaction for all it does (`together`), a change of the study."""
    _rest: ExitStack = field(init=False, repr=False, default_factory=ExitStack)
    """What else is let go of with the database."""

    def __post_init__(self) -> None:
        self.arrivals = Arrivals(self.engine)
        self._writing = self.engine.execution_options(assay_write=True)
        self._durable = self.engine.execution_options(assay_write=True, assay_full=True)

    # -- opening --------------------------------------------------------------------------------

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Open a SQLite file or a ``postgresql://`` URL, and bring its tables up to date.

        Raises
        ------
        StudyError
            Where the database cannot be reached, or was made by a newer assay.
        """
        engine = _engine(str(where))
        store = cls(engine, engine.url.render_as_string(hide_password=True))
        try:
            with store.writing() as db:
                _migrate(db)
        except sa.exc.DBAPIError as error:
            store.close()
            raise StudyError(f"the store {store.where} cannot be used: {error.orig}") from None
        except StudyError:
            store.close()
            raise
        return store

    @staticmethod
    def can_be_written(where: str) -> bool:
        """Whether a SQLite file and its folder may be written to; True for any other database."""
        if "://" in where and not where.startswith("sqlite:"):
            return True
        path = sa.make_url(where).database if where.startswith("sqlite:") else where
        return path is None or can_be_written(Path(path))

    @classmethod
    def scratch(cls, where: str | Path) -> Self:
        """A store that begins as the one that is there now, and of which nothing is kept; for one thread.

        It needs no more than leave to read: a copy of a SQLite file, a transaction that PostgreSQL takes back.

        Raises
        ------
        StudyError
            As `open`.
        """
        engine = _engine(str(where))
        if engine.dialect.name == "sqlite":
            engine.dispose()
            with ExitStack() as rest:
                folder = Path(rest.enter_context(TemporaryDirectory(prefix="assay-")))
                if engine.url.database:
                    _copy(Path(engine.url.database), folder / "copy.db")
                store = cls.open(folder / "copy.db")
                store.is_scratch = True
                store.where = engine.url.render_as_string(hide_password=True)
                store._rest = rest.pop_all()
            return store
        store = cls(engine, engine.url.render_as_string(hide_password=True), is_scratch=True)
        try:
            db = store._rest.enter_context(store._writing.connect())
            store._rest.callback(db.begin().rollback)
            store.within.db = db
            _migrate(db)
        except sa.exc.DBAPIError as error:
            store.close()
            raise StudyError(f"the store {store.where} cannot be used: {error.orig}") from None
        return store

    def close(self) -> None:
        """Let go of the database."""
        self.arrivals.close()
        self._rest.close()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self, db: sa.Connection) -> float:
        """Seconds since 1970 by the database's clock, so that machines need not agree on theirs."""
        if self.engine.dialect.name == "postgresql":
            return float(db.execute(sa.text("select extract(epoch from clock_timestamp())")).scalar_one())
        return time.time()

    # -- transactions ---------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that only reads."""
        with self._within() or self.engine.connect() as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes."""
        with self._within() or self._writing.begin() as db:
            yield db

    @contextmanager
    def together(self) -> Iterator[sa.Connection]:
        """One transaction for all that this thread reads and writes in the block, whatever it calls."""
        with self.writing() as db:
            before, self.within.db = self._within(), db
            try:
                yield db
            finally:
                self.within.db = before and db

    def _within(self) -> AbstractContextManager[sa.Connection] | None:
        """The transaction that holds all that this thread does now; None where there is none."""
        db = getattr(self.within, "db", None)
        return None if db is None else nullcontext(db)

    @contextmanager
    def writing_durably(self) -> Iterator[sa.Connection]:
        """A transaction that writes, and that is on disk, with all before it, once the block has ended."""
        with self._within() or self._durable.begin() as db:
            yield db

    @contextmanager
    def exclusive(self) -> Iterator[sa.Connection]:
        """A transaction that no other of its kind runs beside, and that is on disk once the block has ended.

        For whatever reads what others write before it writes itself: who gets which item, which answer is
        the latest. Threads wait for each other here; SQLite alone would have them ask again and again.
        """
        with self._turn, self.writing_durably() as db:
            if self.engine.dialect.name == "postgresql":
                db.execute(sa.text("select pg_advisory_xact_lock(7235078)"))
            yield db

    def overwrite_deleted(self) -> None:
        """Leave nothing of deleted rows in SQLite's files, where they would lie until their place is needed.

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
        """What was kept under a key, or None."""
        with self.reading() as db:
            return setting(db, key)

    def keep(self, key: str, value: Any) -> Any:
        """Keep a value under a key unless there is one; the value that is kept."""
        with self.writing() as db:
            db.execute(insert(db, tables.settings).on_conflict_do_nothing(), {"key": key, "value": value})
            return setting(db, key)

    def set(self, key: str, value: Any) -> None:
        """Keep a value under a key, in place of the one there was."""
        with self.writing() as db:
            put_setting(db, key, value)


def setting(db: sa.Connection, key: str) -> Any:
    """What was kept under a key, or None; within a transaction."""
    return db.execute(sa.select(tables.settings.c.value).where(tables.settings.c.key == key)).scalar()


def put_setting(db: sa.Connection, key: str, value: Any) -> None:
    """Keep a value under a key, in place of the one there was; within a transaction."""
    upsert(db, tables.settings, ["key"], ["value"], [{"key": key, "value": value}])


# -- what both dialects need ------------------------------------------------------------------------


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


def chunked(values: Iterable[Any]) -> Iterator[list[Any]]:
    """The values, as many at a time as are written at a time."""
    rest = iter(values)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def _engine(where: str) -> sa.Engine:
    if where.startswith(("postgresql:", "postgres:")):
        require("psycopg", "postgres", "a study in PostgreSQL")
        url = sa.make_url(where).set(drivername="postgresql+psycopg")
        return sa.create_engine(url, pool_pre_ping=True)
    if "://" in where and not where.startswith("sqlite:"):
        raise StudyError("a store is a file (SQLite) or a postgresql:// URL")
    url = sa.make_url(where) if where.startswith("sqlite:") else sa.URL.create("sqlite", database=where)
    engine = sa.create_engine(url, connect_args={"timeout": 60})

    @sa.event.listens_for(engine, "connect")
    def _settle(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy begins and ends transactions, not the driver
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
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


def _copy(source: Path, target: Path) -> None:
    try:
        copy_of_sqlite(source, target)
    except (OSError, sqlite3.Error) as error:
        raise StudyError(f"the store {source} cannot be read: {error}") from None


def _migrate(db: sa.Connection) -> None:
    """Take the steps that this database has not seen; one process at a time."""
    if db.dialect.name == "postgresql":
        db.execute(sa.text("select pg_advisory_xact_lock(7235077)"))
    if _is_current(db):  # alembic takes a third of a second to import, and nearly every store is current
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": db})
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StudyError(f"the database was made by a newer assay ({error}); upgrade assay") from None


def _is_current(db: sa.Connection) -> bool:
    """Whether the database has seen every step; a step's file is named by its place and what alembic writes down."""
    if not sa.inspect(db).has_table("alembic_version"):
        return False
    last = max(path.stem for path in (MIGRATIONS / "versions").glob("v*.py"))
    return list(db.execute(sa.text("select version_num from alembic_version")).scalars()) == [last.removeprefix("v")]
