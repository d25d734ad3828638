"""A real server in a separate process and a real browser in a separate thread, for the tests of the page.

Playwright leaves an event loop running in its thread, which would conflict with those of other tests; so it has a
separate thread. A test that drives the browser is marked with `in_browser`.
"""

from __future__ import annotations

import functools
import json
import os
import struct
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml
from annotating import Server, invite_people

from assay.study.definition import Study, load_study
from assay.study.store import tables
from assay.study.store.connection import Store, open_store
from chromium import launch_chromium
from waiting import wait_until

SCREENSHOTS = Path(os.environ.get("ASSAY_SCREENSHOTS") or Path(__file__).parents[2] / "build" / "screenshots")
VENDOR = Path(__file__).parent / "vendor"
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")


def in_thread(call: Callable[..., Any], **arguments: Any) -> Any:
    """The result of a call in the browser's thread."""
    return _thread.submit(call, **arguments).result()


def in_browser(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in the browser's thread; its fixtures are made in pytest's thread."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        in_thread(test, **arguments)

    return run


# -- the server -------------------------------------------------------------------------------------


class Site:
    """A study folder and the server that serves it."""

    def __init__(self, folder: Path, study: dict[str, Any], tables: dict[str, list[dict[str, Any]]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            (folder / name).write_text("".join(f"{_json(row)}\n" for row in rows), encoding="utf-8")
        (folder / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False, allow_unicode=True), encoding="utf-8")
        self.study: Study = load_study(folder)
        self.store: Store = open_store(self.study)
        self.server = Server(folder)
        self.url = self.server.url
        self.server.start()

    def close(self) -> None:
        """Close the server and the store."""
        self.server.close()
        self.store.close()

    def invite(self, name: str) -> str:
        """Add a person and return their link."""
        return self.url + invite_people(self.study, self.store, [name])[name]

    # -- contents of the database -----------------------------------------------------------------

    def answers(self, name: str) -> list[dict[str, Any]]:
        """All answers of a person, oldest first, with item and question."""
        a, s, q = tables.assignments.c, tables.answers.c, tables.questions.c
        joined = tables.answers.join(tables.assignments, s.assignment == a.id).join(
            tables.questions, q.id == a.question
        )
        columns = (a.item, q.name.label("question"), s.label, s.status, s.reason, s.comment, s.flag, s.revision)
        query = sa.select(*columns, s.seconds, s.shown).select_from(joined)
        with self.store.reading() as db:
            return [dict(row) for row in db.execute(query.where(a.annotator == name).order_by(s.id)).mappings()]

    def labels(self, name: str, question: str | None = None) -> list[Any]:
        """The labels of a person, oldest first."""
        return [row["label"] for row in self.answers(name) if question in (None, row["question"])]

    def wait_for(self, name: str, count: int) -> list[dict[str, Any]]:
        """The answers of a person, once there are this many."""
        wait_until(lambda: len(self.answers(name)) >= count, lambda: f"{name} has {self.labels(name)}, not {count}")
        found = self.answers(name)
        assert len(found) == count, f"{len(found)} answers of {name}, not {count}"
        return found

    def drafts(self) -> list[dict[str, Any]]:
        """The stored drafts."""
        with self.store.reading() as db:
            return [dict(row) for row in db.execute(sa.select(tables.drafts)).mappings()]


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def picture(path: Path, colour: tuple[int, int, int], width: int = 320, height: int = 200) -> None:
    """A PNG of one colour."""
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


# -- the browser ------------------------------------------------------------------------------------


class Browser:
    """Chromium; every visitor has a separate context, and all errors in it fail the test."""

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._browser = launch_chromium(self._playwright)
        self._contexts: list[Any] = []
        self.complaints: list[str] = []
        self.hosts: set[str] = set()

    def visit(self, link: str, *, instructions: bool = False, stopped_clock: bool = False, **options: Any) -> Any:
        """The page of a new visitor who follows their link; a stopped clock advances only on request."""
        options = {"viewport": {"width": 1200, "height": 850}, "reduced_motion": "reduce", **options}
        context = self._browser.new_context(**options)
        context.set_default_timeout(20000)  # the machine may be busy
        self._contexts.append(context)
        context.on("page", self._watch)
        if stopped_clock:
            context.clock.install(time=1_800_000_000)
            context.clock.pause_at(1_800_000_001)
        page = context.new_page()
        page.goto(link)
        if "/join/" in link:
            page.wait_for_url(lambda url: "/join/" not in url or page.locator("form").count() == 0)
        if not instructions:
            self.close_dialog(page)
        return page

    @staticmethod
    def close_dialog(page: Any) -> None:
        """Close the instructions, which open automatically at first."""
        page.evaluate("document.querySelectorAll('dialog[open]').forEach((one) => one.close())")

    def _watch(self, page: Any) -> None:
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2] if "//" in request.url else "data"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda words: self._note(words) if words.type in ("error", "warning") else None)

    def _note(self, words: Any) -> None:
        if "Failed to load resource" not in words.text:  # a status that the test asks for
            self.complaints.append(words.text)

    def leave(self) -> None:
        """Close the contexts of the last test."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()

    def close(self) -> None:
        """End the browser."""
        self._browser.close()
        self._playwright.stop()


def screenshot(page: Any, name: str, *, full: bool = True) -> None:
    """Save a screenshot of a page."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SCREENSHOTS / f"{name}.png"), full_page=full)


def no_violations(page: Any, where: str) -> None:
    """Check the page with axe: no violations."""
    page.evaluate((VENDOR / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document).then(one => one.violations)")
    said = [f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes']][:3]}" for one in found]
    assert not said, f"{where}: {said}"


def fits(page: Any) -> None:
    """Nothing is wider than the screen."""
    width = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert max(width) <= page.viewport_size["width"]
