"""`assay serve --check`: what it finds, on a machine where the server would come up and where it would not."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen

import pytest
from annotating import Served, write_study

from assay.cli.app import main
from assay.collecting.hosting import readiness
from assay.collecting.hosting.readiness import ReadinessCheck, check_server
from assay.study.definition import load_study
from assay.study.store.connection import Store

NAMES = ["store", "clock", "study", "disk", "secret", "port", "address", "workers"]
LONG = "x" * 32


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


def checked(folder: Path, last: str = "address", **more: Any) -> dict[str, ReadinessCheck]:
    """The checks up to the last that a test needs: workers, which take seconds to start, come after the address."""
    found = {}
    with closing(check_server(load_study(folder), **{"port": free_port(), **more})) as checks:
        for one in checks:
            found[one.name] = one
            if one.name == last:
                break
    return found


def answered(folder: Path) -> None:
    with Served(folder) as page:
        ana = page.annotator()
        assert ana.answer(ana.work()[0]).status == 200


@contextmanager
def proxy(port: int, *, proto: str = "", status: int = 200, body: bytes | None = None) -> Iterator[str]:
    """A proxy that passes requests to a port, or gives its own answer."""

    class Pass(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = body
            if content is None and status == 200:
                request = f"http://127.0.0.1:{port}{self.path}"
                with urlopen(request) as reply:
                    content = reply.read()
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Pass)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_check_of_a_study_that_can_be_served(tmp_path):
    folder = write_study(tmp_path / "study")
    answered(folder)
    before = (folder / "study.db").read_bytes()
    found = checked(folder, "workers", workers=2)
    assert list(found) == NAMES
    assert {one.name: one.state for one in found.values() if one.state != "ok" and one.name != "workers"} == {}
    assert found["workers"].state in ("ok", "warning"), "a busy machine loads the application late"
    assert found["store"].found.endswith("(1 answer)")
    assert found["workers"].found.startswith("2 worker processes loaded the application in ")
    assert found["address"].found.endswith(", only on this machine")
    assert (folder / "study.db").read_bytes() == before


def test_check_keeps_nothing_of_a_new_study(tmp_path):
    folder = write_study(tmp_path / "study")
    names = {path.name for path in folder.iterdir()}
    assert checked(folder)["study"].state == "ok"
    assert {path.name for path in folder.iterdir()} == names


def test_check_finds_a_study_that_cannot_be_shown(tmp_path):
    folder = write_study(tmp_path / "study", people={"instructions": "![x](gone.png)"})
    found = checked(folder)
    assert found["study"].state == "problem"
    assert "the image 'gone.png' in people.instructions does not exist" in found["study"].found


@pytest.mark.parametrize("store", ["study", "missing/study.db"])
def test_check_finds_a_store_that_cannot_be_made(tmp_path, store):
    found = checked(write_study(tmp_path / "study"), store=str(tmp_path / store))["store"]
    assert (found.state, "is not a file, or its folder is missing" in found.found) == ("problem", True)


def test_check_finds_a_store_of_a_newer_version(tmp_path):
    folder = write_study(tmp_path / "study")
    answered(folder)
    with sqlite3.connect(folder / "study.db") as db:
        db.execute("update alembic_version set version_num = '9999'")
    found = checked(folder)
    assert found["store"].state == "problem"
    assert "newer" in found["store"].found
    assert "study" not in found


def test_check_finds_a_clock_that_was_set_back(tmp_path, monkeypatch):
    folder = write_study(tmp_path / "study")
    answered(folder)
    behind = time.time() - 4000
    monkeypatch.setattr("time.time", lambda: behind)
    clock = checked(folder)["clock"]
    assert clock.state == "problem"
    assert "s behind the last answer" in clock.found
    assert 3990 < float(clock.found.split()[3]) <= 4000


def test_check_finds_a_database_with_another_clock(tmp_path, monkeypatch):
    folder = write_study(tmp_path / "study")
    monkeypatch.setattr(Store, "now", lambda self, db: time.time() + 60)
    clock = checked(folder)["clock"]
    assert (clock.state, "differs by 60 s" in clock.found) == ("warning", True)


@pytest.mark.parametrize(("free", "state"), [(5e7, "problem"), (5e8, "warning"), (5e9, "ok")])
def test_check_of_the_disk(tmp_path, monkeypatch, free, state):
    folder = write_study(tmp_path / "study")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda where: usage(1e12, 1e12 - free, free))
    disk = checked(folder)["disk"]
    assert (disk.state, disk.found.startswith(f"{free / 1e9:.1f} GB free at ")) == (state, True)


def test_check_finds_a_missing_secret_and_a_used_port(tmp_path):
    folder = write_study(tmp_path / "study")
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        found = checked(folder, port=port, base_url="https://label.example.org")
        assert (
            found["port"].found == f"port {port} of 127.0.0.1 is already in use; choose another with --host and --port"
        )
        assert (found["address"].state, "was not tried" in found["address"].found) == ("warning", True)
    open_to_all = checked(folder, host="0.0.0.0")
    assert "requires a secret: set the environment variable ASSAY_SECRET" in open_to_all["secret"].found
    assert (open_to_all["secret"].state, open_to_all["address"].state) == ("problem", "problem")
    assert "give the public address with --base-url" in open_to_all["address"].found


@pytest.mark.parametrize(("limit", "state"), [(0.01, "problem"), pytest.param(60, "ok", marks=pytest.mark.slow)])
def test_check_of_the_workers(tmp_path, monkeypatch, limit, state):
    monkeypatch.setattr(readiness, "SIGN_OF_LIFE", limit)
    assert checked(write_study(tmp_path / "study"), "workers")["workers"].state == state


def test_check_of_the_address_goes_through_the_proxy(tmp_path):
    folder, port = write_study(tmp_path / "study"), free_port()
    with proxy(port) as url:
        found = checked(folder, port=port, base_url=url, secret=LONG)["address"]
        assert (found.state, found.found) == ("ok", f"{url} reaches this port")
    with proxy(port, status=502) as url:
        found = checked(folder, port=port, base_url=url)["address"]
        assert (found.state, "answers with status 502" in found.found) == ("problem", True)
    with proxy(port, body=b"welcome") as url:
        found = checked(folder, port=port, base_url=url)["address"]
        assert (found.state, "reaches another server" in found.found) == ("problem", True)
    found = checked(folder, port=port, base_url=f"http://127.0.0.1:{free_port()}")["address"]
    assert (found.state, "cannot be reached" in found.found) == ("problem", True)
    with socket.create_server(("127.0.0.1", port)):
        pass  # the check has closed its server


@pytest.mark.slow
def test_command_prints_each_check_and_its_status(tmp_path, capsys):
    folder, port = write_study(tmp_path / "study"), str(free_port())
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["serve", str(folder), "--check", "--port", port])
    lines = capsys.readouterr().out.splitlines()
    states = [line.split()[:2] for line in lines]
    busy = "warning" if ["warning", "workers"] in states else "ok"  # a busy machine loads the application late
    assert states == [[busy if name == "workers" else "ok", name] for name in NAMES]
    with pytest.raises(SystemExit, match=r"^1$"):
        main(["serve", str(folder), "--check", "--quiet", "--host", "0.0.0.0", "--port", port])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["problem", "secret"], ["problem", "address"]]
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["serve", "--check"])
    assert "serve requires a study: assay serve STUDY" in capsys.readouterr().err
