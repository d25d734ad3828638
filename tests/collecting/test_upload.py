"""The page of assay serve without a study: its answer to a file, the requests it refuses, and that it saves nothing."""

from __future__ import annotations

import http.client
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest

from assay.cli.labels import NAMES, command_for
from assay.cli.output import as_typed
from assay.collecting import upload

ROWS = [(1 + i % 5, 1 + (i + i // 5) % 5, 1 + (i + i // 7) % 5, 1 + (i + i // 9) % 5) for i in range(30)]
SHEET = "ID,Ann,Bob,Cho,gpt-4o,Mean\n" + "".join(
    f"q{i},{','.join(map(str, row))},{sum(row[:3]) / 3:.2f}\n" for i, row in enumerate(ROWS)
)
Ask = Callable[..., tuple[int, str]]
PAGE = upload.UploadPage(lambda text: as_typed(text, NAMES), lambda found, name: command_for(found, [name]))


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with upload.upload_server(0, PAGE) as server:
        port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def send(method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(method, path, body or None, headers)
            reply = connection.getresponse()
            found = reply.status, reply.read().decode()
            connection.close()
            return found

        yield send
        server.shutdown()
        thread.join(10)
    assert list(tmp_path.iterdir()) == [], "nothing is saved"


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_upload_page_shows_roles_and_command(ask: Ask) -> None:
    assert "Drop a table of labels here" in ask("GET", "/")[1]
    status, said = ask("POST", "/look?name=..%2Fmy%20sheet.csv", SHEET.encode())
    assert status == 200
    plain = words(said)
    assert "my sheet.csv: 30 rows × 6 columns" in plain
    assert "Mean computed (ignored) equals the mean of Ann, Bob, Cho" in plain
    assert "✓ replacement test (gpt-4o)" in plain
    assert re.search(
        r"Next command assay report 'my sheet.csv' --wide --item ID .*--judges gpt-4o .*--expertise crowd", plain
    )
    assert "assay.read('my sheet.csv', " in plain
    assert "/assay-" not in said, "the temporary folder does not appear"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("<img src=x>.exe", b"x", "this file type is not supported"),
        ("empty.csv", b"", "empty.csv is empty"),
        ("reading.yaml", b"read: [/etc/passwd]", "states how another file is read; drop that file"),
        ("t.parquet", b"no such thing", "t.parquet is not a Parquet file"),
    ],
)
def test_upload_page_refuses_unreadable_files_and_escapes_names(ask: Ask, name: str, content: bytes, why: str) -> None:
    status, said = ask(
        "POST", "/look?name=" + name.replace(" ", "%20"), content, **{"Content-Length": str(len(content))}
    )
    assert status == 200
    assert why in words(said)
    assert f"{name} cannot be read" in unescape(said)
    assert "<img" not in said
    assert "/assay-" not in said


def test_upload_page_escapes_cells(ask: Ask) -> None:
    bold = SHEET.replace("ID,", "<b>ID</b>,").replace("q1,", "<script>1</script>,")
    said = ask("POST", "/look?name=t.csv", bold.encode())[1]
    assert "&lt;b&gt;ID" in said
    assert "<script" not in said
    assert "<b>" not in said


def test_upload_server_refuses_other_hosts_and_paths(ask: Ask) -> None:
    assert ask("GET", "/", Host="elsewhere.example")[0] == 421
    assert ask("POST", "/look?name=t.csv", SHEET.encode(), Origin="https://elsewhere.example")[0] == 421
    assert ask("GET", "/etc/passwd")[0] == 404
    assert ask("POST", "/", b"x")[0] == 404
    assert ask("POST", "/look", b"x", **{"Content-Length": "-1"})[0] == 404
    assert ask("GET", "/", Host="localhost")[0] == 421  # not under this port
    assert ask("GET", "/health") == (200, '{"ok": true}')


def test_upload_server_refuses_more_than_32_mb(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "<p>The file is larger than 32 MB; use the command line: assay look FILE</p>"
    assert ask("POST", "/look", b"x", **{"Content-Length": str(32 * 1024 * 1024 + 1)}) == (413, words)
    monkeypatch.setattr(upload, "LARGEST", len(SHEET))
    assert ask("POST", "/look?name=t.csv", SHEET.encode())[0] == 200
    assert ask("POST", "/look?name=t.csv", SHEET.encode() + b"\n")[0] == 413


def test_upload_page_without_label_column_has_no_command(ask: Ask) -> None:
    incomplete = "item,annotator\n" + "".join(f"i{i},{'ab'[i % 2]}\n" for i in range(8))
    said = words(ask("POST", "/look?name=t.csv", incomplete.encode())[1])
    assert "no column with the labels was found" in said
    assert "This file cannot be read without more options:" in said
    for name in ("", "?name=..", "?name=a/"):
        assert ask("POST", f"/look{name}", b"x")[1].startswith("<h2>file cannot be read</h2>")


def test_serve_without_study_refuses_study_options_and_used_port(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    code, _, said = run("serve", "--host", "0.0.0.0")
    assert (code, "takes only --port; name the study folder" in said) == (2, True)
    with upload.upload_server(0, PAGE) as server:
        port = server.server_address[1]
        code, _, said = run("serve", "--port", str(port))
    assert (code, f"port {port} is in use" in said) == (2, True)
