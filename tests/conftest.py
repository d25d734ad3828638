"""What every test may use: real data where they lie beside the checkout, and two Hypothesis profiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Derandomised, so that a run here and a run elsewhere try the same examples. `thorough` is for a day without hurry:
# pytest -m hypothesis --hypothesis-profile thorough
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", settings.get_profile("steady"), max_examples=200)
settings.load_profile("steady")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): tests that pytest-xdist gives to one worker")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests with servers and browsers wait a good part of their time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has the PostgreSQL cluster, where tests are spread over several with ``--dist loadgroup``."""
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "postgres" in getattr(item, "fixturenames", ()) or given.get("url") == "postgresql":
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets, outside the project; a test that needs it says so when it is not there."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"needs the real data sets, which are not at {REAL_DATA}")
    return REAL_DATA


@pytest.fixture(scope="module")
def few_truths() -> Iterator[None]:
    """How many items are needed is part of every alt-test: from few draws, where a test does not look at the number."""
    from assay.replacement import assurance

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assurance, "TRUTHS", 10)
        yield


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


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "store.db")
        return
    root = request.getfixturevalue("postgres")
    sa = pytest.importorskip("sqlalchemy")
    engine = sa.create_engine(root.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        db.execute(sa.text("drop database if exists trial"))
        db.execute(sa.text("create database trial"))
    yield root.replace("/postgres?", "/trial?")
    with engine.connect() as db:
        db.execute(sa.text("drop database trial with (force)"))
    engine.dispose()
