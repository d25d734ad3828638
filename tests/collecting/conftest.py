"""Studies that are served in this process, a clock that can be put forward, and a browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import Clock, Served, write_study
from browsing import Browser, in_thread

from assay.study.store.connection import Store


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has the browser if tests are distributed with ``--dist loadgroup``; another runs the pasted pages.

    Tests with a browser, a separate server process or a fuzzer take minutes: they run with ``-m served``.
    """
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            pasted = item.path.name == "test_pasted_pages.py"
            item.add_marker(pytest.mark.xdist_group("pasted pages" if pasted else "browser"))
            item.add_marker(pytest.mark.served)
        elif item.path.name in ("test_promises.py", "test_security.py"):
            item.add_marker(pytest.mark.served)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("time.time", found.now)
    return found


@pytest.fixture
def database_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the store, which is the server's own with PostgreSQL."""
    found = Clock()
    monkeypatch.setattr(Store, "now", lambda self, db: found.now())
    return found


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Make a study as `write_study` does, serve it, and invite ``who``."""
    made: list[Served] = []

    def make(*, who: Any = ("ana",), store: str | None = None, **study: Any) -> Served:
        made.append(Served(write_study(tmp_path / f"study{len(made)}", **study), who, store))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def chromium() -> Any:
    """The single browser of a process; without it the tests are skipped, except in complete test runs."""
    try:
        browser = in_thread(Browser)
    except Exception as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"needs Playwright and Chromium: {str(error).splitlines()[0][:200]}")
    yield browser
    in_thread(browser.close)


@pytest.fixture
def browser(chromium: Browser) -> Any:
    """The browser for one test; closes its contexts afterwards, and checks that their consoles have no errors."""
    chromium.complaints.clear()
    chromium.hosts.clear()
    yield chromium
    in_thread(chromium.leave)
    assert chromium.complaints == []
    strangers = {host for host in chromium.hosts if not host.startswith("127.0.0.1:")} - {"data"}
    assert not strangers, "no requests to other hosts"
