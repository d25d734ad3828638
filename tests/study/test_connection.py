"""The database under a study: where it is, how answers arrive in it, its flushes, copies, and words when it fails."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from small_store import assign, rows, small_store  # noqa: E402

from assay.errors import StudyError  # noqa: E402
from assay.study.store import connection, tables  # noqa: E402
from assay.study.store.connection import AnswerRow, Flushes, Store, batches, store_error, store_in_use  # noqa: E402


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


def pragma(db: Any, name: str) -> Any:
    return db.execute(sa.text(f"PRAGMA {name}")).scalar()


# -- where it is -----------------------------------------------------------------------------------------


def a_study(folder: Path, store: str | None = None) -> Any:
    return SimpleNamespace(folder=folder, config=SimpleNamespace(store=store))


def test_database_is_the_one_given_else_chosen_else_of_the_study_else_in_its_folder(tmp_path):
    token = connection._CHOSEN.set(None)
    try:
        one, two = a_study(tmp_path / "one"), a_study(tmp_path / "two", "own.db")
        assert connection._place(one, None) == str(tmp_path / "one" / "study.db")
        assert connection._place(two, None) == "own.db"
        connection.choose_store(tmp_path / "two" / "study.yaml", "chosen.db")
        connection.choose_store(str(tmp_path / "three"), "third.db")
        assert connection._place(two, None) == "chosen.db"
        assert connection._place(two, "given.db") == "given.db"
        assert connection._place(one, None) == str(tmp_path / "one" / "study.db")
        assert connection._place(a_study(tmp_path / "three"), None) == "third.db"
    finally:
        connection._CHOSEN.reset(token)


@pytest.mark.parametrize(("named", "folder"), [("a/study.yaml", "a"), ("a/b.yml", "a"), ("a/b", "a/b"), ("a.x", "a.x")])
def test_folder_of_a_study_is_that_of_its_file(tmp_path, named, folder):
    assert connection._study_folder(tmp_path / named) == tmp_path / folder


def test_store_name_hides_the_password():
    assert connection.store_name("postgresql://eva:secret@host/db") == "postgresql://eva:***@host/db"
    assert connection.store_name("folder/study.db") == "folder/study.db"


@pytest.mark.parametrize(("patience", "seconds"), [(60, 30), (7, 4), (5, 2), (4, 2), (1, 2)])
def test_server_is_waited_for_half_as_long_as_one_waits_in_all(monkeypatch, patience, seconds):
    made: list[Any] = []

    def create(url: Any, **more: Any) -> Any:
        made.append((str(url), more))
        return SimpleNamespace(dialect=SimpleNamespace(name="postgresql"))

    monkeypatch.setattr(connection, "require", lambda *of: made.append(of))
    monkeypatch.setattr(connection.sa, "create_engine", create)
    connection._engine("postgres://eva@host/db", patience)
    assert made == [
        ("psycopg", "postgres", "a study in PostgreSQL"),
        ("postgresql+psycopg://eva@host/db", {
            "pool_pre_ping": True, "pool_timeout": patience, "connect_args": {"connect_timeout": seconds}
        }),
    ]  # fmt: skip


def test_file_is_opened_by_path_or_url_with_a_log_and_keys_that_hold(tmp_path):
    for where in (str(tmp_path / "a.db"), f"sqlite:///{tmp_path}/b.db"):
        with Store.open(where) as opened, opened.reading() as db:
            found = [pragma(db, name) for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")]
            assert found == ["wal", 1, 1, 60_000]
            assert opened.patience == 60
            assert not opened.is_scratch
    assert (tmp_path / "a.db").exists()
    assert (tmp_path / "b.db").exists()
    with Store.open(tmp_path / "a.db", 2.5) as opened, opened.reading() as db:
        assert (pragma(db, "busy_timeout"), opened.patience) == (2500, 2.5)
    for where in ("mysql://x", "https://x/study.db"):
        with pytest.raises(StudyError, match=r"^a store is a file \(SQLite\) or a postgresql:// URL$"):
            Store.open(where)


def test_open_without_log_after_its_patience(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(connection.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(connection.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + 30))

    def asked(*errors: str) -> int:
        left = list(errors)
        said = []

        def execute(statement: str) -> None:
            said.append(statement)
            if left:
                raise sqlite3.OperationalError(left.pop(0))

        clock[0] = 0.0
        connection._keep_a_log(SimpleNamespace(execute=execute))
        assert set(said) == {"PRAGMA journal_mode=WAL"}
        return len(said)

    assert asked() == 1
    assert asked(*["database is locked"] * 3) == 4, "after 30, 60 and 90 seconds: the third began at 60"
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        asked(*["database is locked"] * 4)
    with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        asked("disk I/O error")


def test_store_of_nothing_is_current_only_once_it_has_seen_every_step(store):
    with store.writing() as db:
        assert connection.is_current(db)
        db.execute(sa.text("update alembic_version set version_num = '0001_first'"))
        assert not connection.is_current(db)
        db.execute(sa.text("drop table alembic_version"))
        assert not connection.is_current(db)


# -- transactions ------------------------------------------------------------------------------------------


def test_transaction_that_writes_is_flushed_where_that_is_asked_for(store):
    for way, level in ((store.writing, 1), (store.writing_durably, 2), (store.reading, 1), (store.writing_durably, 2)):
        with way() as db:
            assert pragma(db, "synchronous") == level


def test_one_writes_at_a_time_and_many_read(tmp_path, store):
    with Store.open(tmp_path / "store.db", 0) as other, store.writing() as db:
        db.execute(sa.text("select 1"))
        with other.reading() as reads:
            assert reads.execute(sa.select(sa.func.count()).select_from(tables.items)).scalar() == 0
        with pytest.raises(sa.exc.OperationalError, match="locked"), other.writing():
            pass


def test_exclusive_is_atomic(store):
    def both() -> None:
        with store.together() as db:
            store.set("a", 1)
            with store.writing() as inner, store.reading() as again:
                assert inner is again is db
            store.set("b", 2)
            raise KeyError

    with pytest.raises(KeyError):
        both()
    assert (store.setting("a"), store.setting("b")) == (None, None)
    with store.together() as outer, store.together() as inner:
        assert outer is inner
    assert store.within.db is None
    with store.exclusive() as db:
        assert store.within.db is db
    assert store.within.db is None


def test_exclusive_raises_after_its_patience(store):
    store.patience = 0.01
    entered, leave = threading.Event(), threading.Event()

    def holding() -> None:
        with store.exclusive():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=holding)
    thread.start()
    entered.wait(10)
    with pytest.raises(connection.DatabaseBusyError, match="others wait for the database"), store.exclusive():
        pass
    leave.set()
    thread.join()
    with store.exclusive(), store.exclusive():
        store.set("a", 1)
    assert store.setting("a") == 1


def test_settings_are_stored_once_or_replaced(store):
    assert store.setting("a") is None
    assert store.keep("a", [1]) == [1]
    assert store.keep("a", [2]) == [1]
    store.set("a", {"b": 3})
    store.set("c", 4)
    assert (store.setting("a"), store.setting("c")) == ({"b": 3}, 4)


def test_values_come_in_batches():
    most = connection.CHUNK
    found = [[list(one) for one in batches(range(n))] for n in (0, 1, most, most + 1)]
    assert found == [[], [[0]], [list(range(most))], [list(range(most)), [most]]]


# -- answers as they arrive --------------------------------------------------------------------------------


def arrived(number: int, *, key: str | None = None, prompt: str | None = None, **more: Any) -> AnswerRow:
    row = dict.fromkeys(tables.answers.c.keys()) | {
        "assignment": number,
        "request_key": key or f"{number}:1",
        "revision": 1,
    }
    return AnswerRow(row | {"status": "valid", "answered_at": 1.0} | more, prompt)


def test_labels_and_what_was_shown_are_stored_as_json(tmp_path):
    with small_store(tmp_path) as store:
        new = [arrived(assign(store, repeat=n), label=label, shown=shown)
               for n, (label, shown) in enumerate(((["a"], None), ("x", {"b": 1}), (3, "text")))]  # fmt: skip
        assert store.answer_feed.add(new) == [True] * 3
        texts = sa.text("select label, shown from answers order by assignment")
        with store.reading() as db:
            assert db.execute(texts).all() == [('["a"]', None), ('"x"', '{"b": 1}'), (3, '"text"')]


def test_add_closes_assignments_and_charges_runs(tmp_path):
    with small_store(tmp_path) as store:
        one, two, three = (assign(store, repeat=n) for n in (1, 2, 3))
        with store.writing() as db:
            new = {"host": "h", "process": "1", "started_at": 0.0, "seen_at": 0.0, "cost": 1.0}
            mine, other = (db.execute(sa.insert(tables.runs).returning(tables.runs.c.id), new).scalar() for _ in "ab")
        written = store.answer_feed.add([
            arrived(one, run=mine, cost=0.5, label=3, prompt="{}", fingerprint="b"),
            arrived(two, run=mine, cost=-9.0, status="unreadable", prompt="[]", fingerprint="a"),
            arrived(one, run=mine, cost=7.0),  # the same request again
            arrived(three, run=mine, status="missing", prompt="{}", fingerprint="b"),
        ])  # fmt: skip
        assert written == [True, True, False, True]
        assert rows(store, "status", "answer") == [("answered", 1), ("open", None), ("missing", 3)]
        with store.reading() as db:
            runs = sa.select(tables.runs.c.id, tables.runs.c.cost).order_by(tables.runs.c.id)
            assert db.execute(runs).all() == [(mine, 1.5), (other, 1.0)]
            prompts = db.execute(sa.select(tables.prompts).order_by("fingerprint")).all()
            assert prompts == [("a", "[]"), ("b", "{}")]
        assert store.answer_feed.add([]) == []


@pytest.mark.parametrize(
    ("error", "given", "single"),
    [
        (sqlite3.OperationalError("database or disk is full"), 2, True),
        (sqlite3.OperationalError("database is locked"), 2, False),
        (sqlite3.OperationalError("database or disk is full"), 1, False), (ValueError("odd"), 2, True),
    ],
)  # fmt: skip
def test_add_retries_failed_answers_one_by_one(store, monkeypatch, error, given, single):
    """But where the database takes none of them, as when it is locked, all fail at once."""
    tried = []

    def add(several: Any) -> list[bool]:
        tried.append(len(several))
        if len(several) == given and len(tried) == 1:
            raise error
        return [True] * len(several)

    monkeypatch.setattr(store.answer_feed, "_add", add)
    new = [arrived(n) for n in range(given)]
    if single:
        assert store.answer_feed.add(new) == [True] * given
        assert tried == [given, *[1] * given]
    else:
        with pytest.raises(connection.DatabaseError) as failed:
            store.answer_feed.add(new)
        assert failed.value.orig is error
        assert tried == [given]


def test_add_returns_errors_in_order(tmp_path):
    with small_store(tmp_path) as store:
        known = assign(store, repeat=1)
        no_json = {"label": object()}
        first, second, third = store.answer_feed.add([arrived(99), arrived(known, **no_json), arrived(known, label=3)])
        assert isinstance(first, connection.DatabaseError)
        assert isinstance(first.orig, sqlite3.IntegrityError)
        assert isinstance(second, TypeError)
        assert third is True
        assert rows(store, "status", "answer") == [("answered", 1)]


# -- on its way to the disk --------------------------------------------------------------------------------


def test_one_flush_is_for_all_who_waited_before_it_and_a_disk_that_failed_is_not_asked_again(tmp_path, monkeypatch):
    log = tmp_path / "x-wal"
    log.touch()
    flushed: list[int] = []
    monkeypatch.setattr(connection, "flush_file", flushed.append)
    one = Flushes(log)
    one.wait()
    one.wait()
    assert len(flushed) == 2
    one._done = 99  # a flush that began later than all of these has ended
    one.wait()
    assert len(flushed) == 2
    other = Flushes(log)
    other._wanted = 5
    other.wait()
    assert (other._wanted, other._done) == (6, 6)
    closed: list[int] = []
    monkeypatch.setattr(connection.os, "close", lambda file, close=os.close: (closed.append(file), close(file)))

    def fail(file: int) -> None:
        flushed.append(file)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(connection, "flush_file", fail)
    for n in (1, 2):
        with pytest.raises(connection.DatabaseError, match="Input/output error"):
            other.wait()
        assert (len(flushed), len(closed)) == (4, 1), n


def test_database_without_a_log_has_nothing_to_flush(tmp_path, store):
    assert store._flushes is not None
    assert store._flushes._log == tmp_path / "store.db-wal"
    assert connection._flushes(sa.create_engine("sqlite://")) is None
    plain = sa.create_engine(f"sqlite:///{tmp_path}/plain.db")
    with plain.begin() as db:
        db.execute(sa.text("create table x (y)"))
    (tmp_path / "plain.db-wal").touch()
    assert connection._flushes(plain) is None
    server: Any = SimpleNamespace(dialect=SimpleNamespace(name="postgresql"))
    assert connection._flushes(server) is None


# -- copies ------------------------------------------------------------------------------------------------


def test_nothing_that_is_done_in_a_scratch_store_is_kept(tmp_path, store):
    store.set("a", 1)
    with Store.scratch(tmp_path / "store.db") as copy:
        assert (copy.is_scratch, copy.where, copy.setting("a")) == (True, store.where, 1)
        copy.set("a", 2)
        copy.set("b", 3)
        where = Path(copy.engine.url.database).parent
        assert where != tmp_path
        assert where.is_dir()
    assert not where.exists()
    assert (store.setting("a"), store.setting("b")) == (1, None)
    with Store.scratch(tmp_path / "none.db") as empty:
        assert empty.setting("a") is None
    assert not (tmp_path / "none.db").exists()


def read(path: Path, key: str) -> Any:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("select value from settings where key = ?", [key]).fetchone()[0]


def test_copy_holds_what_the_log_still_holds(tmp_path, store, monkeypatch):
    store.set("a", 1)
    store.copy_to(tmp_path / "copy.db")
    assert read(tmp_path / "copy.db", "a") == 1
    monkeypatch.setattr(connection, "_can_be_written", lambda path: False)
    (tmp_path / "by").mkdir()
    store.copy_to(tmp_path / "by" / "file.db")
    assert sorted(path.name for path in (tmp_path / "by").iterdir()) == ["file.db", "file.db-wal"]
    assert read(tmp_path / "by" / "file.db", "a") == 1
    connection._copy_sqlite(tmp_path / "no.db", tmp_path / "no-copy.db")
    assert not (tmp_path / "no-copy.db").exists()
    with pytest.raises(StudyError, match=r"^the store .*store\.db cannot be read: "):
        connection._copy_sqlite(tmp_path / "store.db", tmp_path / "no" / "folder.db")


def test_sqlite_can_write(tmp_path, monkeypatch):
    (tmp_path / "there.db").touch()
    assert connection._can_be_written(tmp_path / "there.db")
    assert connection._can_be_written(tmp_path / "new.db")
    assert not connection._can_be_written(tmp_path / "no" / "new.db")
    for refused, there, new in ((tmp_path, False, False), (tmp_path / "there.db", False, True)):
        monkeypatch.setattr(connection.os, "access", lambda path, mode, no=refused: path != no and mode == os.W_OK)
        assert connection._can_be_written(tmp_path / "there.db") is there
        assert connection._can_be_written(tmp_path / "new.db") is new


def test_database_is_opened_to_read_by_what_may_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "open", lambda where: ("open", where))
    monkeypatch.setattr(Store, "scratch", lambda where: ("scratch", where))
    may = [True]
    monkeypatch.setattr(connection, "_can_be_written", lambda path: may[0] and path.name == "x.db")

    def way(where: str) -> Any:
        return connection.open_to_read(a_study(tmp_path), where)

    places = (f"{tmp_path}/x.db", f"sqlite:///{tmp_path}/x.db", "postgresql://h/db")
    assert [way(where) for where in places] == [("open", where) for where in places]
    may[0] = False
    assert [way(where)[0] for where in places] == ["scratch", "scratch", "open"]
    assert connection.open_scratch(a_study(tmp_path), "y") == ("scratch", "y")


def test_answers_are_counted_in_a_database_that_is_whole(store, monkeypatch):
    assert store.checked_answers() == 0
    said: Any = SimpleNamespace(scalars=lambda: SimpleNamespace(all=lambda: ["row 3 is missing", "and more"]))
    monkeypatch.setattr(store, "_current_transaction", lambda: sa.create_engine("sqlite://").connect())
    monkeypatch.setattr(sa.Connection, "execute", lambda self, statement: said)
    with pytest.raises(StudyError, match=r"store\.db is damaged: row 3 is missing$"):
        store.checked_answers()


def test_nothing_of_deleted_rows_stays_unless_others_are_at_work(tmp_path, store):
    store.set("secret", "x" * 50 + "jkq" * 50)
    with store.writing() as db:
        db.execute(sa.delete(tables.settings))
    store.overwrite_deleted()
    assert all(b"jkqjkq" not in path.read_bytes() for path in tmp_path.glob("store.db*"))
    with closing(sqlite3.connect(tmp_path / "store.db")) as other:
        other.execute("begin")
        other.execute("select * from settings").fetchall()
        store.engine.dispose()
        with Store.open(tmp_path / "store.db", 0) as quick, pytest.raises(StudyError) as refused:
            quick.overwrite_deleted()
    assert str(refused.value).startswith("the rows are deleted, but traces stay in the files of ")
    assert str(refused.value).endswith(f"then run: sqlite3 {tmp_path}/store.db VACUUM")


# -- what is said when it fails ----------------------------------------------------------------------------


def test_database_that_fails_is_said_in_words(tmp_path):
    one: Any = SimpleNamespace(where="study.db", is_scratch=False)
    error = sa.exc.DBAPIError("insert", None, sqlite3.OperationalError("disk\n  full"))
    rest = "(space on the disk, a running server) and run the command again to continue"
    assert str(store_error(one, error)) == (
        f"the store study.db failed: disk full. Its earlier content is kept; fix the cause {rest}"
    )
    assert str(store_error(one, ValueError("odd"))).startswith("the store study.db failed: odd. Its")
    one.is_scratch = True
    assert str(store_error(one, error)).startswith(
        "copying the store study.db failed: disk full. The store is unchanged"
    )

    def failing(raised: Exception) -> None:
        with store_in_use(a_study(tmp_path)):
            raise raised

    with pytest.raises(StudyError, match="failed: disk full"):
        failing(error)
    with pytest.raises(ValueError, match="odd"):
        failing(ValueError("odd"))


def test_file_that_is_no_database_is_said_in_words(tmp_path):
    (tmp_path / "no.db").write_bytes(b"no database" * 100)
    with pytest.raises(StudyError, match=r"^the store sqlite:.*no\.db cannot be used: file is not a database"):
        Store.open(tmp_path / "no.db")
