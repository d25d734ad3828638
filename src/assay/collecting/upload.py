"""The page of ``assay serve`` without a study: drop a file and see the result of `assay.look`.

The page is for this machine only: it listens on the loopback address, answers under no other name, saves nothing (the
file is in a temporary folder during reading) and sends nothing to other machines. It requires only the base install.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

from assay.data.words import analysis_line
from assay.errors import AssayError, DataError

if TYPE_CHECKING:
    from assay.looking import Look

LARGEST = 32 * 2**20
"""Largest file in bytes, about a hundred thousand rows; the command line reads larger files without a copy."""

_READ_ELSEWHERE = (".yaml", ".yml")
"""Suffixes of files that name other files, which this page does not read."""

TEMPLATE = Path(__file__).with_name("templates") / "upload.html"
"""The page."""

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class UploadPage:
    """The page's answer to a file.

    Attributes
    ----------
    words : function
        Puts a message in the words of the command line.
    command : function
        The command of the first analysis of a file that was read, from the result and the name of the file.
    """

    words: Callable[[str], str]
    command: Callable[[Look, str], str | None]

    def answer(self, name: str, content: bytes) -> str:
        """The result of `assay.look` as HTML; for a file that cannot be read, the reason.

        Parameters
        ----------
        name : str
            The name that the browser sends; its folders are ignored.
        content : bytes
        """
        from assay.looking import look

        plain = re.split(r"[/\\]", name)[-1].lstrip(".") or "file"
        try:
            if Path(plain).suffix.lower() in _READ_ELSEWHERE:
                raise DataError(f"{plain} states how another file is read; drop that file")
            with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as folder:
                path = Path(folder) / plain
                path.write_bytes(content)
                # The temporary folder is deleted, so its name does not appear.
                return self._html(look(str(path)), plain).replace(escape(f"{folder}/"), "")
        except AssayError as error:
            said = re.sub(r"\S*/assay-\w+/", "", self.words(str(error)))
            return f"<h2>{escape(plain)} cannot be read</h2><p>{escape(said)}.</p>"

    def _html(self, found: Look, name: str) -> str:
        rows = "".join(
            f"<tr><th scope='row'>{escape(column)}</th><td>{escape(what)}</td><td class='why'>{escape(why or '')}</td>"
            f"<td class='why'>{escape(examples or '')}</td></tr>"
            for column, what, why, examples, _ in found.table.rows()
        )
        head = "<tr><th>column</th><th>role</th><th>reason</th><th>examples</th></tr>"
        table = f"<div class='scroll'><table>{head}{rows}</table></div>" if rows else ""
        parts = [f"<h2>{escape(found.head)}</h2>{table}"]
        assumptions = [self.words(one) for one in (*found.ambiguities, *found.notes)]
        if assumptions:
            checks = "".join(f"<li>{escape(one)}</li>" for one in assumptions)
            parts.append(f"<h3>Check these assumptions</h3><ul>{checks}</ul>")
        if found.labels is None:
            errors = "".join(f"<li>{escape(self.words(one))}</li>" for one in found.errors)
            return "".join([*parts, f"<p>This file cannot be read without more options:</p><ul>{errors}</ul>"])
        command = self.command(found, name)
        if command is None:
            return "".join([*parts, "<p>No analysis is supported yet.</p>"])
        analyses = "".join(
            f"<li class='{'yes' if one.supported else 'no'}'>"
            f"{escape(analysis_line(one.name, one.supported, self.words(one.detail)))}</li>"
            for one in found.analyses
        )
        parts += [f"<h3>Supported analyses</h3><ul>{analyses}</ul>"]
        parts += [f"<h3>Next command</h3><pre>{escape(command)}</pre><h3>Python</h3><pre>{escape(found.call)}</pre>"]
        return "".join(parts)


class UploadHandler(BaseHTTPRequestHandler):
    """Serves the page and answers its requests."""

    page: UploadPage
    protocol_version = "HTTP/1.1"
    one_at_a_time = threading.Lock()

    def do_GET(self) -> None:
        """Send the page, or the health of the server."""
        if not self._is_local():
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "This page is for this machine only.")
        elif self.path == "/health":
            self._send(HTTPStatus.OK, json.dumps({"ok": True}), "application/json")
        elif self.path == "/":
            self._send(HTTPStatus.OK, TEMPLATE.read_text("utf-8"))
        else:
            self._send(HTTPStatus.NOT_FOUND, "Not found.")

    def do_POST(self) -> None:
        """Send the result of `assay.look` for a file."""
        asked, length = urlsplit(self.path), self.headers.get("Content-Length", "")
        self.close_connection = True
        if not self._is_local():
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "This page is for this machine only.")
        elif asked.path != "/look" or not length.isdecimal():
            self._send(HTTPStatus.NOT_FOUND, "Not found.")
        elif int(length) > LARGEST:
            size = f"The file is larger than {LARGEST // 2**20} MB; use the command line: assay look FILE"
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"<p>{size}</p>")
        else:
            content = self.rfile.read(int(length))
            name = parse_qs(asked.query).get("name", ["file"])[0]
            with self.one_at_a_time:
                self._send(HTTPStatus.OK, self.page.answer(name, content))

    def _is_local(self) -> bool:
        """Whether the request has this machine's own name and comes from this page, not from another site."""
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
        """Log nothing, because names of files are private."""


def upload_server(port: int, page: UploadPage) -> ThreadingHTTPServer:
    """The server of the page, listening on this machine.

    Raises
    ------
    AssayError
        If the port is in use.
    """
    handler = type("UploadHandler", (UploadHandler,), {"page": page})
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise AssayError(f"port {port} is in use ({error.strerror}); name another with --port") from None
