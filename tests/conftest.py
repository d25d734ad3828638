"""Fixtures of every test: real data if they are next to the checkout, and two Hypothesis profiles."""

from __future__ import annotations

import copy
import functools
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests run side by side, so each has one processor: on more, small matrices wait for each other, and the laws of
# disattenuation alone took five times the processor time. Numbers of threads are read when numpy is first imported.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# One thread of Polars does a small table with a seventh less processor time; .ci/run tests with several too.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# A test that plots opens no window.
os.environ["MPLBACKEND"] = "Agg"

# Derandomised, so that a run here and a run elsewhere try the same examples. `thorough` is for a day without hurry:
# pytest -m hypothesis --hypothesis-profile thorough
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", settings.get_profile("steady"), max_examples=200)
settings.load_profile("steady")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): tests that pytest-xdist gives to one worker")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as there are processors; one more for slow and served tests, which wait a good part of their time."""
    number = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return number if str(config.option.markexpr).startswith("not ") else number + 1


ENCODERS = ("test_bertscore", "test_embeddings", "test_named_in_questions")
"""Files whose tests import PyTorch, which takes seconds: one worker does, and has the trained raters too."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has the PostgreSQL cluster, and the tests of a file stay together, with ``--dist loadgroup``.

    Tests on PostgreSQL run with those that are served; the same tests on SQLite run by default. What a file imports and
    makes once is then made by one worker alone, and a worker is not asked again for each test: a quarter of the
    processor time of all tests.
    """
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "postgres" in getattr(item, "fixturenames", ()) or given.get("url") == "postgresql":
            item.add_marker(pytest.mark.xdist_group("postgres"), append=False)  # before any other group
            item.add_marker(pytest.mark.served)
        if item.get_closest_marker("xdist_group") is None:
            encoders = item.path.parent.name == "training" or item.path.stem in ENCODERS
            item.add_marker(pytest.mark.xdist_group("encoders" if encoders else item.path.stem))


def pytest_collection_finish() -> None:
    """What is collected stays to the end, and little of what tests make is garbage in circles: look for it seldom.

    Looking at the usual times was a tenth of the processor time of the tests.
    """
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command: exit status, standard output, standard error."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        from assay.cli import app as cli

        with pytest.raises(SystemExit) as stopped:
            cli.main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return command


@pytest.fixture
def real_data() -> Path:
    """Return the folder of real data sets, outside the project. If it is missing, the test is skipped with a reason."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"needs the real data sets, which are not at {REAL_DATA}")
    return REAL_DATA


@pytest.fixture(scope="session", autouse=True)
def quick_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """New SQLite stores are made as the migrations leave them, and share the statements that SQLAlchemy has compiled.

    Hundreds of tests make one; the migrations took each .08 s, the statements of a study that is served .05 s. Nor does
    a test wait for the disk, 16 ms an answer; who flushes and when, and who waits for it, is `test_promises`'.
    """
    connection = sys.modules.get("assay.study.store.connection")
    if connection is None:
        yield
        return
    migrate = connection._migrate
    made = tmp_path_factory.mktemp("stores") / "made.db"
    first = connection.Store.open(made)
    first.close()
    with closing(sqlite3.connect(made)) as db:
        statements = [row[0] for row in db.execute("select sql from sqlite_master where sql is not null")]
        (version,) = db.execute("select version_num from alembic_version").fetchone()
    statements.append(f"insert into alembic_version values ('{version}')")

    @functools.wraps(migrate)
    def quickly(db):
        if db.dialect.name == "sqlite" and not db.exec_driver_sql("select 1 from sqlite_master").first():
            for statement in statements:
                db.exec_driver_sql(statement)
        migrate(db)

    make_engine = connection._engine

    @functools.wraps(make_engine)
    def sharing_engine(*where, **options):
        engine = make_engine(*where, **options)
        if engine.dialect.name == "sqlite":  # what is compiled is found by the statement and the dialect's identity
            engine.dialect, engine._compiled_cache = first.engine.dialect, first.engine._compiled_cache
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_migrate", quickly)
        patch.setattr(connection, "_engine", sharing_engine)
        patch.setattr(connection, "flush_file", lambda file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_command_lines() -> Iterator[None]:
    """What a command takes is put together once: thousands of lines are read, and each took 0.05 s.

    Nor is what was read held against its type once more, which the parser does where pydantic happens to be imported.
    """
    if "cyclopts" not in sys.modules:
        yield
        return
    import docstring_parser
    from cyclopts import App, Argument
    from cyclopts.argument import ArgumentCollection

    assemble = App.assemble_argument_collection
    made: dict[tuple[int, bool], tuple[App, ArgumentCollection]] = {}

    def kept(app: App, *, default_parameter=None, parse_docstring: bool = False) -> ArgumentCollection:
        if default_parameter is not None:
            return assemble(app, default_parameter=default_parameter, parse_docstring=parse_docstring)
        at = id(app), parse_docstring
        if at not in made:
            made[at] = app, assemble(app, parse_docstring=parse_docstring)
        copies = {id(one): copy.copy(one) for one in made[at][1]}
        for one in copies.values():
            one.tokens = []
            one.children = ArgumentCollection(copies[id(child)] for child in one.children)
        return ArgumentCollection(copies.values())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", kept)
        patch.setattr(Argument, "validate", lambda one, value: value)
        patch.setattr(docstring_parser, "parse_from_object", functools.cache(docstring_parser.parse_from_object))
        yield


@pytest.fixture(scope="module")
def few_truths() -> Iterator[None]:
    """How many items are needed is part of every alt-test: from few draws, where a test does not look at the number."""
    from assay.replacement import studies

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "TRUTHS", 10)
        yield


@pytest.fixture
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rater models are checked by one drawn table, where a test does not read the check: half of a quick fit's time."""
    from assay.psychometrics.raters import results

    monkeypatch.setattr(results, "SIMULATED", 0)
    monkeypatch.setattr(results, "LEAST_TABLES", 1)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """pyplot keeps the figures of `plot()` open until they are closed, and warns at the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of a page are made and not written out, which is most of a report's time, if no test reads them."""

    from assay.reporting.pictures import off_screen

    def sketch(draw: Callable[[], object], title: str, prefix: str = "") -> str:
        with off_screen():
            draw()
        return f'<svg aria-label="{title}"></svg>'

    monkeypatch.setattr("assay.reporting.pictures.svg", sketch)


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn, where a test reads what a report says: drawing is a third of its time."""
    monkeypatch.setattr("assay.reporting.pictures.svg", lambda draw, title, prefix="": "<svg></svg>")


def postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL cluster made for these tests, reached by its socket."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian package: postgresql)")
    pytest.importorskip("psycopg", reason='PostgreSQL needs the extra "postgres"')
    as_user: dict[str, object] = {}
    if os.getuid() == 0:  # initdb refuses root; the Debian package brings a user
        import pwd

        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL cannot be started by root, and there is no user 'postgres'")
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="assay-postgres-", dir="/tmp"))  # the path of a socket must be short
    if as_user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"

    def do(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd="/", **as_user)  # type: ignore[call-overload]

    do(str(programs / "initdb"), "-D", str(data), "-U", "assay", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    do(str(programs / "pg_ctl"), "-D", str(data), "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://assay@/postgres?host={folder}"
    finally:
        do(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def current_store(postgres: str) -> str:
    """The name of a PostgreSQL database in which the migrations have run: what new ones are copied from."""
    from assay.study.store.connection import Store

    with _as_admin(postgres) as execute:
        execute("create database current")
    Store.open(postgres.replace("/postgres?", "/current?")).close()
    return "current"


@contextmanager
def _as_admin(root: str) -> Iterator[Callable[[str], object]]:
    """Runs statements that no transaction may hold."""
    sa = pytest.importorskip("sqlalchemy")
    engine = sa.create_engine(root.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        yield lambda statement: db.execute(sa.text(statement))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> Iterator[str]:
    """A store that is not there yet, or in PostgreSQL as the migrations leave it: theirs to run with `migrations`."""
    if request.param == "sqlite":
        yield str(tmp_path / "store.db")
        return
    root = request.getfixturevalue("postgres")
    old = "template1" if "migrations" in request.fixturenames else request.getfixturevalue("current_store")
    with _as_admin(root) as execute:
        execute("drop database if exists trial")
        execute(f"create database trial template {old}")
    yield root.replace("/postgres?", "/trial?")
    with _as_admin(root) as execute:
        execute("drop database trial with (force)")
