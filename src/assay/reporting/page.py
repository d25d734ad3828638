"""One offline page: one screen with the marks and a sentence a judge, then a section a question; HTML or Markdown."""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay._version import __version__
from assay.errors import AssayError, DesignError, counted, listing
from assay.reporting import pictures as figures
from assay.reporting import tables
from assay.reporting.pictures import Tone
from assay.reporting.tables import Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes


# -- Where something may be written ----------------------------------------------------------------


PAGES = (".html", ".htm")
"""What a page's name ends in."""

READING_MARK = "Written by assay look --write"
"""Stands at the head of every file that says how a table is read."""

GATE_MARK = "assay gate"
"""Stands at the head of every answer of a gate, in Markdown and in XML."""

REPORTS = (*PAGES, ".md")
"""What a report's name ends in."""

REPORT_MARK = "<!-- assay report"
"""Stands at the head of every report in Markdown."""

DATA_MARK = '{"kind": "Report", "assay":'
"""Stands at the head of every report in JSON."""

_MARKS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(PAGES, ('<meta name="generator" content="assay',)), ".yaml": (READING_MARK,),
    ".yml": (READING_MARK,), ".md": (GATE_MARK, REPORT_MARK), ".xml": (GATE_MARK,), ".json": (DATA_MARK,),
}  # fmt: skip
"""What stands at the head of a file that was written here, by the end of its name."""


def writable(path: Path, *, folder: bool = False, suffixes: Sequence[str] = ()) -> Path:
    """The path, where a file (or a folder) can be written; asked before any work is done.

    Parameters
    ----------
    path : path
    folder : bool
        Whether it is a folder.
    suffixes : sequence of str
        What its name may end in, the usual one first; anything where there is none.

    Raises
    ------
    AssayError
        For a folder in place of a file, a file in place of a folder, a place below a file, and a name that promises
        something else than is written.
    """
    if path.is_dir() and not folder:
        raise AssayError(f"'{path}' is a folder; name a file in it")
    for place in (path, *path.parents) if folder else path.parents:
        if place.is_file():
            below = "" if place == path else f"'{path}' cannot be written, because "
            raise AssayError(f"{below}'{place}' is a file; name another folder")
    if suffixes and path.suffix.lower() not in suffixes and not _is_device(path):
        what = "a page" if suffixes == PAGES else "a table" if ".csv" in suffixes else "this"
        raise AssayError(f"{what} is written as {listing(suffixes, 8)}, not as '{path.name}'; "
                         f"name {path.with_suffix(suffixes[0])}")  # fmt: skip
    return path


def refuse_overwriting(path: Path, sources: Iterable[str | Path], *, force: bool) -> None:
    """Refuse to write over what is read, and, unless ``force`` says so, over what was not written here.

    Raises
    ------
    AssayError
        With another name as the remedy.
    """
    if not path.exists() or _is_device(path):
        return
    for source in map(Path, sources):
        if source.exists() and source.samefile(path):
            raise AssayError(f"'{path}' is what is read; write to another file: its labels would be lost")
    if not force and not _is_own_page(path):
        raise AssayError(f"'{path}' is there already and is not written over; name another file, or say --force")


def _is_own_page(path: Path) -> bool:
    """Whether a file is a page, how a table is read, or a gate's answer, and was written here."""
    marks = _MARKS.get(path.suffix.lower(), ())
    if not marks or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return any(mark.encode() in head for mark in marks)


def _is_device(path: Path) -> bool:
    """Whether it is a pipe or a device such as /dev/stdout, which nothing replaces."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A place beside a file (or folder), which takes its name when all is written, and not at all where that fails.

    Files of a folder take the place of those of their names; others in it stay.
    """
    if _is_device(path):
        yield path
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{uuid.uuid4().hex[:12]}.part{target.suffix}")
    try:
        yield part
        if not part.is_dir():
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        elif not target.exists():
            part.rename(target)
        else:
            for file in part.iterdir():
                file.replace(target / file.name)
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)


# -- One offline page --------------------------------------------------------------------------------


SIGNS: Mapping[Tone, str] = {"good": "✓", "bad": "✗", "open": "?", "split": "≠"}
"""The mark of a verdict, wherever it is meant."""

_TONES: Mapping[str, str] = {sign: tone for tone, sign in SIGNS.items()}

OPEN_WORDS = 3
"""Sentences of a section that are read at once; the others are unfolded."""


@dataclass(frozen=True)
class NextStep:
    """What to do next: the words, and the command (or call) to copy, where there is one.

    Attributes
    ----------
    ask, judge, where : str
        The question that the command asks, of which judge, of which labels (``column=value``): whoever knows how the
        labels were read makes the command.
    """

    words: str
    ask: str = ""
    judge: str = ""
    where: str = ""
    command: str = ""


@dataclass(frozen=True)
class Card:
    """One judge's verdict: a sentence, what it rests on, what to do, and what always stands beside it."""

    judge: str
    domain: str | None
    tone: Tone
    headline: str
    evidence: str
    advice: str
    beside: tuple[str, ...] = ()
    folded: str = ""
    """What the lines beside it are called, where a reader opens them; empty where they are always shown."""
    step: NextStep | None = None

    @property
    def sign(self) -> str:
        """The mark of its verdict."""
        return SIGNS[self.tone]


@dataclass(frozen=True)
class Marks:
    """A table of marks: a row a judge, a column a question.

    Attributes
    ----------
    rows : tuple
        Name and marks of each.
    meaning : mapping of mark to words
        Of the marks that there are.
    needs : tuple of str
        What this table lacks, where a cell is a dash.
    asks : mapping of column to words
        What each column asks.
    faults : tuple of str
        What is shown amiss besides.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    meaning: Mapping[str, str]
    needs: tuple[str, ...] = ()
    asks: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def tone(self, mark: str) -> str:
        """The class of a mark's colour."""
        return _TONES.get(mark, "none")

    @property
    def table(self) -> Table:
        """The marks as any other table."""
        rows = tuple((name, *marks) for name, marks in self.rows)
        return Table(("", *self.columns), rows, (False,) * (len(self.columns) + 1))


@dataclass(frozen=True)
class Part:
    """A part of a page as a question hands it over: words, frames with all their digits, pictures not yet drawn.

    Attributes
    ----------
    words : tuple of str
        The first is the answer, which opens the section.
    frames, pictures : tuple
        (caption, frame) and (caption, what draws the picture); the first frame is shown, the others are unfolded.
    lines : tuple of str
        What does not count, and why.
    """

    title: str
    words: tuple[str, ...] = ()
    frames: tuple[tuple[str, pl.DataFrame], ...] = ()
    pictures: tuple[tuple[str, Callable[[], Axes]], ...] = ()
    lines: tuple[str, ...] = ()
    marks: Marks | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """What draws a picture, what a screen reader says of it, and what it shows; drawn when the page is written."""

    draw: Callable[[], Axes]
    title: str
    caption: str

    def svg(self, prefix: str = "picture") -> str:
        """The picture as inline SVG with this prefix of its ids; a sentence where these labels do not allow it."""
        try:
            return figures.svg(self.draw, self.title, prefix)
        except DesignError as reason:
            return f"<p>{html.escape(self.title)}: not drawn; {html.escape(str(reason))}.</p>"


@dataclass(frozen=True)
class Section:
    """A part of the page: words, tables, pictures, lines (what was left out, signatures), text to copy as it is.

    Attributes
    ----------
    words : tuple of str
        The first opens the section; of the others `OPEN_WORDS` are read at once.
    tables, pictures : tuple
        The first table is shown (where there is none, the first picture); all others are unfolded.
    folded : bool
        Whether the whole section is: what is looked up, not read.
    """

    title: str
    words: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    lines: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()
    marks: Marks | None = None
    folded: bool = False

    @property
    def place(self) -> str:
        """Its address on the page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-") or "part"

    @property
    def shown_words(self) -> tuple[str, ...]:
        """What is read at once, after the sentence that opens the section."""
        return self.words[1 : OPEN_WORDS + 1]

    @property
    def more_words(self) -> tuple[str, ...]:
        """What is unfolded."""
        return self.words[OPEN_WORDS + 1 :]

    @property
    def shown_picture(self) -> Picture | None:
        """A picture that is seen at once: where no table is."""
        return self.pictures[0] if self.pictures and not self.tables and not self.folded else None

    @property
    def more_pictures(self) -> tuple[Picture, ...]:
        """Those that are unfolded."""
        return self.pictures if self.shown_picture is None else self.pictures[1:]

    @property
    def wide(self) -> bool:
        """Whether its tables need the whole width."""
        return any(table.wide for table in self.tables)

    @property
    def more(self) -> str:
        """What unfolding shows, in a few words; nothing where there is nothing."""
        kinds = (
            (len(self.more_words), "sentence"), (len(self.tables[1:]), "table"), (len(self.more_pictures), "picture"),
            (len(self.lines), "note"),
        )  # fmt: skip
        return listing([counted(number, what) for number, what in kinds if number])

    def to_dict(self) -> dict[str, Any]:
        """Words, and tables with all their digits."""
        frames = [(table.caption, table.frame) for table in self.tables if table.frame is not None]
        return {
            "title": self.title, "words": list(self.words),
            "tables": [{"caption": caption, "columns": frame.to_dict(as_series=False)} for caption, frame in frames],
        }  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """Text that a reader copies as it is, and what it is."""

    caption: str
    text: str


@dataclass(frozen=True)
class Page:
    """What is shown, top-down.

    Attributes
    ----------
    source : str
        What was read.
    asked : str
        The question, and of whom; empty where the title says it.
    again : str
        What makes this page again.
    first : tuple of str
        What has to be known before the cards are read.
    marks : Marks, optional
        The card: every judge and every question on one screen.
    data : str
        Every number, as JSON, which the page keeps inside.
    changes : Section, optional
        What changed since an older report.
    """

    title: str
    source: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    asked: str = ""
    again: str = ""
    first: tuple[str, ...] = ()
    marks: Marks | None = None
    data: str = ""
    changes: Section | None = None
    rule: str = ""
    """What a yes wants, for those who ask."""
    document: str | None = None
    """Column of tables that tells documents apart, where one was named."""

    @property
    def placed(self) -> list[tuple[str, Section]]:
        """Every section, what changed first, with its address on the page, which no other has."""
        seen: dict[str, int] = {}
        found = []
        for section in (*((self.changes,) if self.changes else ()), *self.sections):
            seen[section.place] = number = seen.get(section.place, 0) + 1
            found.append((section.place if number == 1 else f"{section.place}-{number}", section))
        return found

    @property
    def filters(self) -> list[tuple[str, list[str]]]:
        """What a reader may narrow all tables to: words, and the columns that hold it."""
        found = [("criterion", ["criterion"]), ("judge", ["judge"]), ("annotator", ["annotator", "first", "second"])]
        return [*found, *([(self.document, [self.document])] if self.document else [])]

    def html(self) -> str:
        """The page: one file, no outside request, light and dark, fit to print, whole without its script."""
        environment = _environment()
        files = {name: environment.loader.get_source(environment, f"page.{name}")[0] for name in ("css", "js")}  # type: ignore[union-attr]
        digest = base64.b64encode(hashlib.sha256(files["js"].encode()).digest()).decode()
        # Inside a script element only "<" could end it: JSON may write it as an escape.
        data = self.data.replace("<", "\\u003c")
        numbers = itertools.count(1)
        return environment.get_template("page.html").render(
            page=self,
            version=__version__,
            signs=SIGNS,
            css=files["css"],
            js=files["js"],
            digest=digest,
            data=data,
            filters=json.dumps(self.filters, ensure_ascii=False),
            next_prefix=lambda: f"picture-{next(numbers)}",
        )

    def markdown(self) -> str:
        """The same in Markdown: words and tables, no pictures."""
        lines = [
            f"{REPORT_MARK} -->",
            f"# {self.title}",
            self.source,
            self.asked,
            self.rule,
            *(f"- {one}" for one in self.first),
        ]
        if self.marks is not None:
            said = "; ".join(f"{mark} {words}" for mark, words in self.marks.meaning.items())
            beside = (*self.marks.faults, *self.marks.needs)
            lines += [tables.to_markdown(self.marks.table), f"{said}.", *(f"- {one}" for one in beside)]
        for card in self.cards:
            lines.append(f"- {card.sign} **{card.headline}** {card.step.words if card.step else card.advice}".rstrip())
            if card.step is not None and card.step.command:
                lines[-1] += f"\n\n      {card.step.command}\n"
        for _, section in self.placed:
            lines += [f"## {section.title}", *section.words]
            for table in section.tables:
                lines += [f"{table.caption}", tables.to_markdown(table)]
            lines += ["\n".join(f"- {line}" for line in section.lines)]
            lines += [f"{copy.caption}:\n\n```\n{copy.text}\n```" for copy in section.copies]
        again = f"This report is made again by\n\n```\n{self.again}\n```" if self.again else ""
        return "\n\n".join(line for line in [*lines, again] if line) + "\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: .html, or .md for Markdown; the folder is made where it is missing."""
        target = writable(Path(path), suffixes=REPORTS)
        target.parent.mkdir(parents=True, exist_ok=True)
        said = self.markdown() if target.suffix.lower() == ".md" else self.html()
        with atomic_write(target) as place:
            place.write_text(said, encoding="utf-8")
        return target


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
"""What can print a page, by its name."""


@cache
def _environment() -> Environment:
    """Where templates are: each is compiled once, however many pages are made."""
    from jinja2 import Environment, PackageLoader

    return Environment(loader=PackageLoader("assay.reporting"), autoescape=True, trim_blocks=True)


def print_page(page: Path, pdf: Path) -> Path:
    """A page as PDF, printed by a browser of this machine.

    Raises
    ------
    AssayError
        Where there is none, or where it writes nothing.
    """
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise AssayError(
            f"a PDF is printed by Chromium or Chrome, and neither is on this machine; open {page} in your browser and "
            "print it"
        )
    with atomic_write(writable(pdf, suffixes=(".pdf",))) as place:
        # A browser of the superuser's refuses to run inside its sandbox.
        rooted = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words = [browser, "--headless", "--disable-gpu", *rooted, "--no-pdf-header-footer", f"--print-to-pdf={place}"]
        done = subprocess.run([*words, page.resolve().as_uri()], capture_output=True, text=True, check=False)
        if not place.is_file():
            raise AssayError(f"{browser} did not print {page}: {done.stderr.strip()[-200:] or 'it said nothing'}")
    return pdf


def section_of(part: Part) -> Section:
    """A part, rounded."""
    return Section(
        part.title,
        tuple(part.words),
        tuple(tables.shown(frame, caption=caption) for caption, frame in part.frames),
        tuple(Picture(draw, caption, caption) for caption, draw in part.pictures),
        tuple(part.lines),
        marks=part.marks,
    )


def page_of(title: str, source: str, parts: Sequence[Part], signature: str, again: str = "") -> Page:
    """A page of one question's parts."""
    sections = [section_of(part) for part in parts]
    cite = Section("How to cite this", lines=(signature,), folded=True)
    return Page(title, source, (), (*sections, cite), again=again)
