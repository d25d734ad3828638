"""The page of ``assay look --browser``: drop files, answer the questions about their columns, make the report.

The page is for this machine only: it listens on the loopback address, under an address that contains a random key, and
sends nothing to other machines. Files that are dropped lie in a temporary folder until the page is closed. The report
is made by the command that the page shows. Only the base install is required.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, quote, unquote, urlsplit

from assay.collecting.report_process import REPORT_POLICY, ReportProcess
from assay.data.joining import Match
from assay.data.structure.roles import IGNORED
from assay.data.words import ROLES, analysis_line
from assay.errors import AssayError

if TYPE_CHECKING:
    from jinja2 import Template

    from assay.looking import Look

LARGEST = 32 * 2**20
"""Largest file in bytes that is dropped, about a hundred thousand rows; a file named in the command can be larger."""

LARGEST_FORM = 2**20
"""Largest form in bytes: the names of some hundred annotators."""

MOST_FILES = 4
"""Files that are joined."""

MOST_ANNOTATORS = 300
"""Annotators up to which each has a tick for being a judge."""

_READ_ELSEWHERE = (".yaml", ".yml")
"""Suffixes of files that name other files, which this page does not read."""

_ROOM = Path(__file__).parent
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_OPTION = r"--(wide|[a-z-]+ (?:'[^']*'|\.\.\.|[^\s;]*[^\s;,.)](?:,?\.\.\.)?))"
_OPTIONS = re.compile(rf"(?:\b(set|use|with|in|the same) )?({_OPTION}(?:(?:, and|,| and) {_OPTION})*)", re.IGNORECASE)
"""Options of the command in a message, and the word before them."""

_ROLES = "change the roles of columns", "the roles of columns"
_TICKS = "tick the judges", "the ticks of judges"
_SCALE = "set the scale", "the scale"
_CONTROLS = {
    **dict.fromkeys(
        ("wide", "layout", "columns", "item", "annotator", "label", "criterion", "repeat", "kind", "exclude"), _ROLES
    ),
    **dict.fromkeys(("judges", "humans"), _TICKS), "scale": _SCALE,
}  # fmt: skip
"""The control of the page that does the same as an option: what to do with it, and what it is."""

REPORT, NUMBERS = "report.html", "report.json"


@dataclass
class DroppedFile:
    """A file, and how it is read.

    Attributes
    ----------
    name : str
    path : Path
        In the temporary folder.
    reading : str
        The name of its file of reading options.
    stated : dict
        The options of `assay.read` that the user has stated.
    found : Look or None
        None for a file that cannot be read.
    problem : str
        Why it cannot be read, or why the last change was refused.
    """

    name: str
    path: Path
    reading: str
    stated: dict[str, Any] = field(default_factory=dict)
    found: Look | None = None
    problem: str = ""

    def read(self, stated: Mapping[str, Any]) -> None:
        """Read the file with these options; if they are refused, the previous reading stays."""
        from assay.looking import look

        self.problem = ""
        try:
            self.found, self.stated = look(str(self.path), **stated), dict(stated)
        except AssayError as error:
            self.problem = str(error)


class LookPage:
    """The files, what the user has stated about them, and the report.

    Parameters
    ----------
    folder : Path
        A temporary folder.
    words : function
        Puts a message in the words of the command line.
    command : function
        The command of the first analysis of a table that was read, from the result, the names of its files and the type
        of annotator; None if no analysis is supported.
    """

    def __init__(
        self,
        folder: Path,
        words: Callable[[str], str],
        command: Callable[[Look, Sequence[str], str], str | None],
    ) -> None:
        self.folder, self._words, self._command = folder, words, command
        self.sheets: dict[str, DroppedFile] = {}
        self.match: Match = "exact"
        self.expertise, self.refused = "crowd", ""
        self.run: ReportProcess | None = None
        self.lock = threading.Lock()
        self.version = 0
        """Counts the changes of what the report is made of."""

    # -- what the user does ------------------------------------------------------------------------------------

    def add(self, name: str, content: bytes | Path, stated: Mapping[str, Any] | None = None) -> None:
        """Add a file; one of the same name is replaced.

        Parameters
        ----------
        name : str
            Its folders are ignored.
        content : bytes or Path
            A path is copied.
        stated : mapping, optional
            Options of `assay.read`.
        """
        plain = re.split(r"[/\\]", name)[-1].lstrip(".") or "file"
        self.refused = ""
        if Path(plain).suffix.lower() in _READ_ELSEWHERE:
            self.refused = f"{plain} states how another file is read; drop that file"
        elif plain in (REPORT, NUMBERS):
            self.refused = f"rename {plain}: the report has this name here"
        elif plain not in self.sheets and len(self.sheets) == MOST_FILES:
            self.refused = f"at most {MOST_FILES} files are joined; remove one first"
        else:
            path = self.folder / plain
            try:
                if isinstance(content, Path):
                    shutil.copyfile(content, path)
                else:
                    path.write_bytes(content)
            except (OSError, ValueError) as error:  # the name is too long, or the disk is full
                self.refused = f"{plain[:80]} cannot be written: {getattr(error, 'strerror', None) or error}"
                return
            taken = {one.reading for one in self.sheets.values() if one.name != plain}
            names = (f"{path.stem}.yaml", f"{plain}.yaml", *(f"{plain}-{i}.yaml" for i in range(2, MOST_FILES + 2)))
            sheet = DroppedFile(plain, path, next(one for one in names if one not in taken))
            if plain in self.sheets and self.sheets[plain].stated:
                self.refused = f"{plain} replaces the file of this name, and is read without your changes to it"
            sheet.read(stated or {})
            if stated and (sheet.found is None or sheet.found.labels is None):  # they are for another file
                sheet.read({})
            self.sheets[plain] = sheet
            self._changed()

    def do(self, act: str, given: Mapping[str, list[str]]) -> None:
        """Act on a form of the page.

        Raises
        ------
        KeyError
            If there is no such act, file, column or answer (the page in the browser is an old one).
        """
        acts: Mapping[str, Callable[[Mapping[str, list[str]]], None]] = {
            "answer": self._answer, "role": self._role, "judges": self._judges, "scale": self._scale,
            "again": self._again, "remove": self._remove, "match": self._match, "report": self._report,
            "stop": lambda _: self._changed(),
        }  # fmt: skip
        take = acts[act]
        self.refused = ""
        take(given)

    def _sheet(self, given: Mapping[str, list[str]]) -> tuple[DroppedFile, Look]:
        sheet = self.sheets[given["file"][0]]
        if sheet.found is None:
            raise KeyError(sheet.name)
        return sheet, sheet.found

    def _state(self, sheet: DroppedFile, stated: Mapping[str, Any], *, whole: bool = False) -> None:
        """Read a file again; a ``whole`` statement is refused if it makes a table unreadable."""
        before, kept = sheet.found, sheet.stated
        sheet.read(stated)
        readable = before is not None and before.labels is not None
        if whole and readable and sheet.found is not None and sheet.found.labels is None:
            sheet.problem, sheet.found, sheet.stated = "; ".join(sheet.found.errors), before, kept
        self._changed()

    def _answer(self, given: Mapping[str, list[str]]) -> None:
        """Take one of the readings that are left."""
        sheet, found = self._sheet(given)
        options = {said: more for said, more in found.readings if more}[given["answer"][0]]
        self._state(sheet, {**sheet.stated, **options})

    def _role(self, given: Mapping[str, list[str]]) -> None:
        sheet, found = self._sheet(given)
        column = {one.name: one for one in found.columns}[given["column"][0]]
        kind = {one: one for one in found.roles_of(column)}[cast(Any, given["role"][0])]
        if kind == column.kind:
            return
        kept = sheet.stated
        self._state(sheet, found.with_role(column.name, kind, kept))
        if sheet.found is None or sheet.problem:
            return
        now = next((one.kind for one in sheet.found.columns if one.name == column.name), kind)
        same = _content(sheet.found) == _content(found)
        if same or (now in IGNORED and kind not in IGNORED):
            sheet.found, sheet.stated = found, kept
            still = "still be read" if same else "be read"
            other = "" if same else f", not as {ROLES[kind]}"
            sheet.problem = (
                f"column '{column.name}' would {still} as {ROLES[column.kind if same else now]}{other}; "
                "change the roles of other columns first"
            )

    def _judges(self, given: Mapping[str, list[str]]) -> None:
        """State which annotators are judges; without any, that all are human."""
        from assay.looking import who_answered

        sheet, found = self._sheet(given)
        if found.labels is None:
            raise KeyError(sheet.name)
        everyone = [*found.labels.humans, *found.labels.judges]
        judges = [one for one in everyone if one in given.get("judge", ())]
        rest = {name: value for name, value in sheet.stated.items() if name not in ("judges", "humans")}
        humans = [one for one in everyone if one not in judges]
        self._state(sheet, {**rest, **who_answered(judges, humans)}, whole=True)

    def _scale(self, given: Mapping[str, list[str]]) -> None:
        sheet, _ = self._sheet(given)
        rest = {name: value for name, value in sheet.stated.items() if name != "scale"}
        scale = given.get("scale", [""])[0].strip()
        self._state(sheet, {**rest, **({"scale": scale} if scale else {})}, whole=True)

    def _again(self, given: Mapping[str, list[str]]) -> None:
        """Forget what the user has stated about a file."""
        self._state(self._sheet(given)[0], {})

    def _remove(self, given: Mapping[str, list[str]]) -> None:
        sheet = self.sheets.pop(given["file"][0])
        sheet.path.unlink(missing_ok=True)
        self.match = "exact"
        self._changed()

    def _match(self, given: Mapping[str, list[str]]) -> None:
        choices: dict[str, Match] = {"loose": "loose", "exact": "exact"}
        self.match = choices[given["match"][0]]
        self._changed()

    def _report(self, given: Mapping[str, list[str]]) -> None:
        kinds = ("crowd", "skilled", "expert")
        self.expertise = dict(zip(kinds, kinds, strict=True))[given.get("expertise", [self.expertise])[0]]
        if given.get("version", [str(self.version)])[0] != str(self.version):
            self.refused = "the files were changed in another window; check them, and make the report again"
            return
        self._changed(joined=False)
        command = self.command
        if command is None:
            raise KeyError("report")
        self.run = ReportProcess(shlex.split(command)[1:], self.folder / REPORT, self.folder)

    def _changed(self, *, joined: bool = True) -> None:
        """Forget the report, and read the joined files again."""
        if self.run is not None:
            self.run.stop()
            self.run = None
        for name in (REPORT, NUMBERS):
            (self.folder / name).unlink(missing_ok=True)
        self.version += joined
        for name in ("whole", "command") if joined else ("command",):
            self.__dict__.pop(name, None)

    # -- the whole table ---------------------------------------------------------------------------------------

    @cached_property
    def whole(self) -> tuple[Look | None, str, bool]:
        """The one file, or all files joined; why they cannot be joined; and whether ids would match loosely."""
        from assay.looking import look

        sheets = list(self.sheets.values())
        if not sheets or any(one.found is None or one.found.labels is None for one in sheets):
            return None, "", False
        paths = [cast("Look", one.found).write(self.folder / one.reading) for one in sheets]
        if len(sheets) == 1:
            return sheets[0].found, "", False
        try:
            return look([str(path) for path in paths], match=self.match), "", False
        except AssayError as error:
            return None, str(error), error.advised == {"match": "loose"}

    @cached_property
    def command(self) -> str | None:
        """The command that makes the report."""
        whole, sheets = self.whole[0], list(self.sheets.values())
        names = [sheets[0].name] if len(sheets) == 1 else [one.reading for one in sheets]
        return None if whole is None else self._command(whole, names, self.expertise)

    # -- the page ----------------------------------------------------------------------------------------------

    @cached_property
    def _template(self) -> Template:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        rooms = FileSystemLoader(_ROOM / "templates")
        return Environment(loader=rooms, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                           lstrip_blocks=True).get_template("look.html")  # fmt: skip

    def html(self, base: str) -> str:
        """The page.

        Parameters
        ----------
        base : str
            The start of its addresses.
        """
        whole, problem, loose = self.whole
        joined = None if whole is None or len(self.sheets) < 2 else _in_words(whole.labels)
        analyses = [] if whole is None else [
            (one.supported, analysis_line(one.name, one.supported, self._said(one.detail))) for one in whole.analyses
        ]  # fmt: skip
        return self._template.render(
            base=base, files=[self._file(sheet) for sheet in self.sheets.values()], refused=self._said(self.refused),
            whole=whole is not None, joined=joined, joined_notes=[] if joined is None or whole is None else whole.notes,
            problem=self._said(problem), loose=loose, match=self.match, analyses=analyses, command=self.command,
            asks_expertise=(self.command or "").startswith("assay report"), expertise=self.expertise,
            has_judge=whole is not None and whole.labels is not None and bool(whole.labels.judges), run=self.run,
            has_data=(self.folder / NUMBERS).exists(), version=self.version,
        )  # fmt: skip

    def _file(self, sheet: DroppedFile) -> dict[str, Any]:
        """What the page shows of a file."""
        found = sheet.found
        shown: dict[str, Any] = {"name": sheet.name, "address": quote(sheet.name), "found": found is not None,
                                 "problem": self._said(sheet.problem, sheet)}  # fmt: skip
        if found is None:
            return shown
        labels = found.labels
        people = [] if labels is None else [*labels.humans, *labels.judges]
        return shown | {
            "head": self._said(found.head).partition(": ")[2],
            "stated": bool(sheet.stated),
            "reading": quote(sheet.reading),
            "columns": [(one, [(kind, ROLES[kind]) for kind in found.roles_of(one)]) for one in found.columns],
            "checks": [self._said(one, sheet) for one in (*found.ambiguities, *found.notes)],
            "errors": [self._said(one, sheet) for one in found.errors],
            "answers": [(said, True) if more else (self._said(said, sheet), False) for said, more in found.readings],
            "labels": None if labels is None else _in_words(labels),
            "people": people if len(people) <= MOST_ANNOTATORS else [],
            "judges": () if labels is None else labels.judges,
            "scale": "" if labels is None else " | ".join(sorted({scale.spec for scale in labels.scales.values()})),
        }

    def _said(self, text: str, sheet: DroppedFile | None = None) -> str:
        """A message without the temporary folder, in the words of this page.

        An option is the control that does the same, or, if there is none, a part of the command with which the page
        can be opened. ``sheet`` is the file that the message is about, if it is about one.
        """
        sheets = list(self.sheets.values()) if sheet is None else [sheet]
        name = shlex.quote(sheets[0].name) if len(sheets) == 1 else "FILE"
        controls = {one for each in sheets for one in _controls_of(each)}
        plain = self._words(text).replace(f"{self.folder}/", "").replace(str(self.folder), "")
        return _OPTIONS.sub(lambda match: _in_page(match, controls, name), plain)

    def download(self, name: str) -> bytes:
        """A file that the page offers: the report, its numbers, or the reading options of a file.

        Raises
        ------
        KeyError
            If it offers no such file.
        """
        made = [REPORT, NUMBERS] if self.run is not None and self.run.made else []
        if name not in (*made, *(one.reading for one in self.sheets.values())) or not (self.folder / name).exists():
            raise KeyError(name)
        return (self.folder / name).read_bytes()


def _controls_of(sheet: DroppedFile) -> Iterator[tuple[str, str]]:
    """The controls that the page shows for a file."""
    if sheet.found is None:
        return
    if sheet.found.columns:
        yield from (_ROLES, _SCALE)
    if sheet.found.labels is not None:
        yield from (_SCALE, _TICKS)


def _in_page(match: re.Match[str], controls: Collection[tuple[str, str]], name: str) -> str:
    """Options of the command in words of the page: for its controls, or else the command."""
    before, options = match[1] or "", re.findall(_OPTION, match[2])
    each = dict.fromkeys(_CONTROLS.get(one.partition(" ")[0], ("", "")) for one in options)
    shown, noun = set(each) <= set(controls), before.casefold() in ("with", "in")
    if before.casefold() == "the same":
        return " and ".join(what.replace("the", before, 1) for _, what in each) if shown else match[0]
    if shown:
        value = options[0].partition(" ")[2].strip("'")
        to = f" to {value}" if list(each) == [_SCALE] and value.strip(".") else ""
        said = " and ".join(what if noun else f"{act}{to}" for act, what in each)
    else:
        said = f"assay look {name} --browser {' '.join(f'--{one}' for one in options)}"
        said = said if noun else f"run {said}"
    start = said[0].upper() if before[:1].isupper() else said[0]
    return f"{before} {said}" if noun else start + said[1:]


def _content(found: Look) -> tuple[str, ...]:
    """The roles of the columns, and what the table contains."""
    return (*(one.kind for one in found.columns), repr(found.labels), *found.errors)


def _in_words(labels: Any) -> str:
    """What a table contains."""
    return repr(labels).partition("(")[2].removesuffix(")")


class LookHandler(BaseHTTPRequestHandler):
    """Serves the page and takes its forms."""

    page: LookPage
    key: str
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the page, its style and script, the state of the report, or a file."""
        name = self._name()
        if name is None:
            return
        room, _, rest = name.partition("/")
        with self.page.lock:
            if name == "":
                self._send(HTTPStatus.OK, self.page.html(f"/{self.key}").encode())
            elif name == "running":
                run = self.page.run
                state = {"running": run is not None and run.running,
                         "seconds": 0 if run is None else int(time.monotonic() - run.started)}  # fmt: skip
                self._send(HTTPStatus.OK, json.dumps(state).encode(), "application/json")
            elif room == "static" and rest in ("assay.css", "look.css", "look.js", "icon.svg"):
                path = _ROOM / "static" / rest
                self._send(HTTPStatus.OK, path.read_bytes(), _KINDS[path.suffix])
            elif room in ("download", "open"):
                self._send_file(unquote(rest), attached=room == "download")
            else:
                self._send(HTTPStatus.NOT_FOUND, b"Not found.")

    def _send_file(self, name: str, *, attached: bool) -> None:
        try:
            content = self.page.download(name if attached else REPORT)
        except KeyError:
            self._send(HTTPStatus.NOT_FOUND, b"Not found.")
            return
        if attached:
            more = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
            self._send(HTTPStatus.OK, content, "application/octet-stream", **more)
        else:
            self._send(HTTPStatus.OK, content, policy=REPORT_POLICY)

    def do_POST(self) -> None:
        """Take a file or a form, and lead back to the page."""
        name, length = self._name(), self.headers.get("Content-Length", "")
        self.close_connection = True
        if name is None:
            return
        most = LARGEST if name == "files" else LARGEST_FORM
        if not length.isdecimal():
            self._send(HTTPStatus.LENGTH_REQUIRED, b"The length is missing.")
            return
        if int(length) > most:
            with self.page.lock:
                self.page.refused = (
                    f"the file is larger than {LARGEST // 2**20} MB; name it in the command: assay look FILE --browser"
                )
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self.page.refused.encode())
            return
        content = self.rfile.read(int(length))
        with self.page.lock:
            try:
                if name == "files":
                    self.page.add(parse_qs(urlsplit(self.path).query).get("name", ["file"])[0], content)
                else:
                    self.page.do(name, parse_qs(content.decode("utf-8", "replace"), keep_blank_values=True))
            except KeyError:
                pass  # an old page: the reader sees the present one
        self._send(HTTPStatus.SEE_OTHER, b"", Location=f"/{self.key}/")

    def _name(self) -> str | None:
        """What is requested, below the key; None after refusing a request from elsewhere."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        port = cast(ThreadingHTTPServer, self.server).server_port
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}") or origin not in (None, f"http://{host}"):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"This page is for this machine only.")
            return None
        _, key, *rest = f"{urlsplit(self.path).path}/".split("/", 2)
        if not secrets.compare_digest(key.encode(), self.key.encode()):
            self._send(HTTPStatus.NOT_FOUND, b"Open the address that assay look --browser has printed.")
            return None
        return "".join(rest).strip("/")

    def _send(
        self, status: HTTPStatus, body: bytes, kind: str = "text/html", *, policy: str = _POLICY, **more: str
    ) -> None:
        self.send_response(status)
        charset = "; charset=utf-8" if kind.startswith("text/") else ""
        headers = {
            "Content-Type": f"{kind}{charset}", "Content-Length": str(len(body)), "Cache-Control": "no-store",
            "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
            **more,
        }  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the server calls it
        """Log nothing, because names of files are private."""


@contextmanager
def serving(
    port: int, words: Callable[[str], str], command: Callable[[Look, Sequence[str], str], str | None]
) -> Iterator[tuple[ThreadingHTTPServer, LookPage, str]]:
    """The server of the page, the page and its address; the files are deleted in the end.

    Raises
    ------
    AssayError
        If the port is in use.
    """
    with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as folder:
        page, key = LookPage(Path(folder), words, command), secrets.token_urlsafe(16)
        handler = type("LookHandler", (LookHandler,), {"page": page, "key": key})
        try:
            server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError as error:
            raise AssayError(f"port {port} is in use ({error.strerror}); name another with --port") from None
        with server:
            try:
                yield server, page, f"http://127.0.0.1:{server.server_port}/{key}/"
            finally:
                if page.run is not None:
                    page.run.stop()
