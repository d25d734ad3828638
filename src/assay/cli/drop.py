"""The page of ``assay serve`` without a study: drop a file, see what `assay.look` says of it.

It runs on this machine and for it alone: it listens on the loopback address, answers no other name, keeps nothing (the
file lies in a temporary folder while it is read), and sends nothing on. It needs no more than the base install.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

from assay.cli.labels import NAMES, command_for
from assay.cli.output import as_typed, say
from assay.errors import AssayError, DataError

if TYPE_CHECKING:
    from assay.looking import Look

LARGEST = 32 * 2**20
"""Bytes of a file, some hundred thousand rows; larger ones are for the command line, which reads them in place."""

_READ_ELSEWHERE = (".yaml", ".yml")
"""What names other files, and is not followed from here."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>assay: what is this file?</title>
<style>
:root { color-scheme: light dark; --line: #8885; --quiet: color-mix(in srgb, CanvasText 65%, Canvas); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
#drop { border: 2px dashed var(--line); border-radius: .75rem; padding: 2.5rem 1rem; text-align: center; display: block;
  cursor: pointer; }
#drop.over, #drop:focus-within { border-color: #2a6fdb; }
#file { position: absolute; opacity: 0; width: 1px; height: 1px; }
.quiet, td.why { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
li.no { color: var(--quiet); }
</style></head><body>
<main><h1>What is this file?</h1>
<label id="drop">Drop a table of labels here, or choose one.
<br><span class="quiet">CSV, a spreadsheet, JSON, Parquet, or an export of a platform. It stays on this machine, and
is not kept.</span><input id="file" type="file"></label>
<div id="answer" aria-live="polite"></div></main>
<script>
const drop = document.querySelector("#drop"), file = document.querySelector("#file");
const answer = document.querySelector("#answer");
async function look(one) {
  if (!one) return;
  answer.textContent = `Reading ${one.name} …`;
  try {
    const reply = await fetch("/look?name=" + encodeURIComponent(one.name), { method: "POST", body: one });
    answer.innerHTML = await reply.text();
  } catch (error) { answer.textContent = "The page is no longer served; start assay serve again."; }
}
file.addEventListener("change", () => { look(file.files[0]); file.value = ""; });
for (const kind of ["dragover", "dragleave", "drop"]) drop.addEventListener(kind, (event) => {
  event.preventDefault();
  drop.classList.toggle("over", kind === "dragover");
  if (kind === "drop") look(event.dataTransfer.files[0]);
});
</script></body></html>
"""

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def looked_at(name: str, content: bytes) -> str:
    """What `assay.look` says of a file, as HTML; of one that cannot be read, why.

    Parameters
    ----------
    name : str
        As the browser gives it; its folders do not count.
    content : bytes
    """
    from assay.looking import look

    plain = re.split(r"[/\\]", name)[-1].lstrip(".") or "file"
    try:
        if Path(plain).suffix.lower() in _READ_ELSEWHERE:
            raise DataError(f"{plain} says how another file is read; drop that file")
        with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / plain
            path.write_bytes(content)
            # Nobody is told of a folder that is gone when they read of it.
            return _html(look(str(path)), plain).replace(escape(f"{folder}/"), "")
    except AssayError as error:
        said = re.sub(r"\S*/assay-\w+/", "", as_typed(str(error), NAMES))
        return f"<h2>{escape(plain)} cannot be read</h2><p>{escape(said)}.</p>"


def _html(found: Look, name: str) -> str:
    rows = "".join(
        f"<tr><th scope='row'>{escape(column)}</th><td>{escape(what)}</td><td class='why'>{escape(why or '')}</td>"
        f"<td class='why'>{escape(examples or '')}</td></tr>"
        for column, what, why, examples in found.table.rows()
    )
    head = "<tr><th>column</th><th>what it is</th><th>why</th><th>e.g.</th></tr>"
    table = f"<div class='scroll'><table>{head}{rows}</table></div>" if rows else ""
    parts = [f"<h2>{escape(found.head)}</h2>{table}"]
    doubts = [as_typed(one, NAMES) for one in (*found.lacking, *found.doubts, *found.notes)]
    if doubts:
        parts.append(f"<h3>Please look</h3><ul>{''.join(f'<li>{escape(one)}</li>' for one in doubts)}</ul>")
    command = command_for(found, [name])
    if command is None:
        return "".join([*parts, "<p>It cannot be read as it is.</p>"])
    answers = "".join(
        f"<li class='{'yes' if one.yes else 'no'}'>{escape(one.question)} {'Yes' if one.yes else 'No'}"
        f"{escape(f': {as_typed(one.why, NAMES)}' if one.why else '')}</li>"
        for one in found.answers
    )
    parts += [f"<h3>What it can answer</h3><ul>{answers}</ul>"]
    parts += [f"<h3>Run</h3><pre>{escape(command)}</pre><h3>In Python</h3><pre>{escape(found.call)}</pre>"]
    return "".join(parts)


class Drop(BaseHTTPRequestHandler):
    """The page and its one question."""

    protocol_version = "HTTP/1.1"
    one_at_a_time = threading.Lock()

    def do_GET(self) -> None:
        """The page; whether it answers."""
        if not self._is_local():
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "This page answers on this machine alone.")
        elif self.path == "/health":
            self._send(HTTPStatus.OK, json.dumps({"ok": True}), "application/json")
        elif self.path == "/":
            self._send(HTTPStatus.OK, PAGE)
        else:
            self._send(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def do_POST(self) -> None:
        """What is this file?"""
        asked, length = urlsplit(self.path), self.headers.get("Content-Length", "")
        self.close_connection = True
        if not self._is_local():
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "This page answers on this machine alone.")
        elif asked.path != "/look" or not length.isdecimal():
            self._send(HTTPStatus.NOT_FOUND, "There is nothing here.")
        elif int(length) > LARGEST:
            size = f"The file is larger than {LARGEST // 2**20} MB; look at it with: assay look FILE"
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"<p>{size}</p>")
        else:
            content = self.rfile.read(int(length))
            name = parse_qs(asked.query).get("name", ["file"])[0]
            with self.one_at_a_time:
                self._send(HTTPStatus.OK, looked_at(name, content))

    def _is_local(self) -> bool:
        """Whether it was asked under this machine's own name, by its own page: no other site can have it asked."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        port = cast(ThreadingHTTPServer, self.server).server_port
        return host in (f"127.0.0.1:{port}", f"localhost:{port}") and origin in (None, f"http://{host}")

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/html") -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"), ("Content-Security-Policy", _POLICY), ("X-Content-Type-Options", "nosniff"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the server calls it
        """Nothing: what was asked is nobody's business."""


def drop_server(port: int) -> ThreadingHTTPServer:
    """The page, listening on this machine.

    Raises
    ------
    AssayError
        Where something else listens there.
    """
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), Drop)
    except OSError as error:
        raise AssayError(f"port {port} is taken ({error.strerror}); name another with --port") from None


def serve_drop(port: int) -> None:
    """Serve the page until somebody presses Ctrl-C."""
    with drop_server(port) as server:
        say(f"Drop a file at http://127.0.0.1:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
        server.serve_forever()
