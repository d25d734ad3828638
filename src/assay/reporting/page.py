"""One offline page, HTML or Markdown: the marks and a sentence per judge, then one section per analysis."""

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
    from markupsafe import Markup
    from matplotlib.axes import Axes


# -- Files that can be written --------------------------------------------------------------------


PAGES = (".html", ".htm")
"""Suffixes of a page."""

READING_MARK = "Written by assay look --write"
"""The first line of every file of reading options."""

GATE_MARK = "assay gate"
"""The first line of every gate result, in Markdown and in XML."""

REPORTS = (*PAGES, ".md")
"""Suffixes of a report."""

REPORT_MARK = "<!-- assay report"
"""The first line of every report in Markdown."""

DATA_MARK = '{"kind": "Report", "assay":'
"""The start of every report in JSON."""

_MARKS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(PAGES, ('<meta name="generator" content="assay',)), ".yaml": (READING_MARK,),
    ".yml": (READING_MARK,), ".md": (GATE_MARK, REPORT_MARK), ".xml": (GATE_MARK,), ".json": (DATA_MARK,),
}  # fmt: skip
"""The start of a file that assay wrote, by suffix."""


def writable(path: Path, *, folder: bool = False, suffixes: Sequence[str] = ()) -> Path:
    """Return the path if a file (or folder) can be written there; checked before any work is done.

    Parameters
    ----------
    path : path
    folder : bool
        Whether it is a folder.
    suffixes : sequence of str
        Allowed suffixes, the default one first; empty if any is allowed.

    Raises
    ------
    AssayError
        If a folder is given instead of a file, a file instead of a folder, or a path below a file, or if the suffix
        is of another format.
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
    """Refuse to overwrite an input file and, without ``force``, a file that assay did not write.

    Raises
    ------
    AssayError
        If the file is an input or was not written by assay.
    """
    if not path.exists() or _is_device(path):
        return
    for source in map(Path, sources):
        if source.exists() and source.samefile(path):
            raise AssayError(f"'{path}' is an input file, and its labels would be lost; write to another file")
    if not force and not _is_own_page(path):
        raise AssayError(f"'{path}' exists and is not overwritten; name another file, or use --force")


def _is_own_page(path: Path) -> bool:
    """Whether assay wrote the file: a page, reading options or a gate result."""
    marks = _MARKS.get(path.suffix.lower(), ())
    if not marks or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return any(mark.encode() in head for mark in marks)


def _is_device(path: Path) -> bool:
    """Whether it is a pipe or a device such as /dev/stdout, which is not replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces the file (or folder) only if writing succeeds.

    Files of a folder replace those of the same name; other files in it remain.
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
"""The mark of each verdict."""

_TONES: Mapping[str, str] = {sign: tone for tone, sign in SIGNS.items()}

OPEN_WORDS = 3
"""Sentences of a section that are shown at once; the others are under Details."""


@dataclass(frozen=True)
class NextStep:
    """The next step: a sentence, and the command (or call) to copy, if there is one.

    Attributes
    ----------
    ask, judge, where : str
        The function, the judge and the labels (``column=value``) of the command, which the caller writes with its
        reading options.
    """

    words: str
    ask: str = ""
    judge: str = ""
    where: str = ""
    command: str = ""


@dataclass(frozen=True)
class Card:
    """The verdict on one judge: a sentence, its evidence, the advice, and further details."""

    judge: str
    domain: str | None
    tone: Tone
    headline: str
    evidence: str
    advice: str
    details: tuple[str, ...] = ()
    folded: str = ""
    """Title of the folded evidence and details; "Evidence and limits" if empty."""
    step: NextStep | None = None
    limits: tuple[str, ...] = ()
    """What the verdict does not cover, shown under it."""

    @property
    def sign(self) -> str:
        """The mark of its verdict."""
        return SIGNS[self.tone]


@dataclass(frozen=True)
class Marks:
    """A table of marks: a row per judge, a column per criterion.

    Attributes
    ----------
    rows : tuple
        Name and marks of each.
    meaning : mapping of mark to words
        Of the marks in the table.
    needs : tuple of str
        The data that dashes require.
    definitions : mapping of column to words
        Definition of each column.
    faults : tuple of str
        Faults that probes detected, and significant differences between groups.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    meaning: Mapping[str, str]
    needs: tuple[str, ...] = ()
    definitions: Mapping[str, str] = field(default_factory=dict)
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
    """A part of a page from one analysis: sentences, frames with all digits, functions that draw pictures.

    Attributes
    ----------
    words : tuple of str
        Sentences; the first is the result.
    frames, pictures : tuple
        (caption, frame) and (caption, function that draws it); the first frame is shown, the others are under Details.
    lines : tuple of str
        Exclusions and notes.
    folded : bool
        Whether a report shows it folded, for reference.
    cautions : tuple of str
        Shown at once, after the first sentences.
    """

    title: str
    words: tuple[str, ...] = ()
    frames: tuple[tuple[str, pl.DataFrame], ...] = ()
    pictures: tuple[tuple[str, Callable[[], Axes]], ...] = ()
    lines: tuple[str, ...] = ()
    marks: Marks | None = None
    folded: bool = False
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PartOptions:
    """Options of a report that all of its parts share.

    Attributes
    ----------
    by : str or None
        Column whose values are analysed separately; None if these are the criteria.
    repeats : str
        How repeated labels are combined.
    clusters : str or None
        Item column with the clusters.
    similarity : str, callable, mapping or None
        Similarity measure of the verdict.
    intervals : mapping
        ``confidence``, ``n_resamples`` and ``seed``; also ``method`` if it is not the default.
    group : str or None
        Item column with groups of objects.
    object : str or None
        Item column with the objects of measurement.
    """

    by: str | None
    repeats: Any
    clusters: str | None
    similarity: Any
    intervals: Mapping[str, Any]
    group: str | None = None
    object: str | None = None

    def resamples(self, most: int) -> int:
        """The number of resamples, at most ``most``."""
        return min(int(self.intervals["n_resamples"]), most)

    @property
    def fit(self) -> dict[str, Any]:
        """Options of a fit, which has its own intervals: ``repeats``, ``confidence`` and ``seed``."""
        return {"repeats": self.repeats, **{name: self.intervals[name] for name in ("confidence", "seed")}}


def parts_or_reason(title: str, make: Callable[[], tuple[Part, ...]]) -> tuple[Part, ...]:
    """The parts; if the labels do not allow the analysis, one part with this title that says why."""
    try:
        return make()
    except DesignError as reason:
        return (Part(title, lines=(f"Not estimable: {reason}.",)),)


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture: the function that draws it, its alternative text, its caption; drawn when the page is written."""

    draw: Callable[[], Axes]
    title: str
    caption: str

    def svg(self, prefix: str = "picture") -> str:
        """The picture as inline SVG with this prefix of its ids; a sentence if these labels do not allow it."""
        try:
            return figures.svg(self.draw, self.title, prefix)
        except DesignError as reason:
            return f"<p>{html.escape(self.title)}: not drawn; {html.escape(str(reason))}.</p>"


@dataclass(frozen=True)
class Section:
    """A section of the page: sentences, tables, pictures, lines (exclusions, signatures), text to copy.

    Attributes
    ----------
    words, cautions : tuple of str
        The first of the words opens the section; `OPEN_WORDS` of the others are shown at once, and all cautions.
    tables, pictures : tuple
        The first table (without tables, the first picture) is shown; all others are under Details.
    folded : bool
        Whether the whole section is folded, for reference.
    """

    title: str
    words: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    lines: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()
    marks: Marks | None = None
    folded: bool = False
    cautions: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Its address on the page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-") or "part"

    @property
    def shown_words(self) -> tuple[str, ...]:
        """The sentences that are shown at once, after the first."""
        return (*self.words[1 : OPEN_WORDS + 1], *self.cautions)

    @property
    def more_words(self) -> tuple[str, ...]:
        """The sentences under Details; a folded section shows all of them at once."""
        return () if self.folded else self.words[OPEN_WORDS + 1 :]

    @property
    def shown_picture(self) -> Picture | None:
        """The picture that is shown at once, in a section without tables."""
        return self.pictures[0] if self.pictures and not self.tables and not self.folded else None

    @property
    def more_pictures(self) -> tuple[Picture, ...]:
        """The pictures under Details."""
        return self.pictures if self.shown_picture is None else self.pictures[1:]

    @property
    def wide(self) -> bool:
        """Whether its tables require the whole width."""
        return any(table.wide for table in self.tables)

    @property
    def more(self) -> str:
        """Title of the folded rest of the section: ``Details and 3 charts``; empty if there is none."""
        charts = counted(len(self.more_pictures), "chart") if self.more_pictures else ""
        if self.more_words or self.tables[1:] or self.lines:
            return f"Details and {charts}" if charts else "Details"
        return charts

    def to_dict(self) -> dict[str, Any]:
        """Words, and tables with all their digits."""
        frames = [(table.caption, table.frame) for table in self.tables if table.frame is not None]
        return {
            "title": self.title, "words": [*self.words, *self.cautions],
            "tables": [{"caption": caption, "columns": frame.to_dict(as_series=False)} for caption, frame in frames],
        }  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """Text to copy, with its caption."""

    caption: str
    text: str


@dataclass(frozen=True)
class Page:
    """The contents of a page, top-down.

    Attributes
    ----------
    source : str
        The counts and the source of the labels.
    scope : str
        The judges and annotators.
    command : str
        The command or call that reproduces the page.
    notices : tuple of str
        Notices before the verdicts, such as deviations from the plan.
    marks : Marks, optional
        The card: every judge and every criterion on one screen.
    data : str
        Every number, as JSON inside the page.
    """

    title: str
    source: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    scope: str = ""
    command: str = ""
    notices: tuple[str, ...] = ()
    marks: Marks | None = None
    data: str = ""
    rule: str = ""
    """The tests that the verdict Replace requires."""
    document: str | None = None
    """Column of the clusters, if one was named."""

    @property
    def anchored(self) -> list[tuple[str, Section]]:
        """Every section with its address on the page, which no other section has."""
        seen: dict[str, int] = {}
        found = []
        for section in self.sections:
            seen[section.anchor] = number = seen.get(section.anchor, 0) + 1
            found.append((section.anchor if number == 1 else f"{section.anchor}-{number}", section))
        return found

    @property
    def filters(self) -> list[tuple[str, list[str]]]:
        """The filters of all tables: a label, and the columns to filter."""
        found = [("criterion", ["criterion"]), ("judge", ["judge"]), ("annotator", ["annotator", "first", "second"])]
        return [*found, *([(self.document, [self.document])] if self.document else [])]

    def html(self) -> str:
        """The page: one file without external requests, light and dark, printable, complete without its script."""
        environment = _environment()
        files = {name: environment.loader.get_source(environment, f"page.{name}")[0] for name in ("css", "js")}  # type: ignore[union-attr]
        digest = base64.b64encode(hashlib.sha256(files["js"].encode()).digest()).decode()
        # Inside a script element only "<" could end it; JSON allows an escape for it.
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
            self.scope,
            *(f"- {one}" for one in self.notices),
        ]
        for card in self.cards:
            lines.append(f"- {card.sign} **{card.headline}** {card.step.words if card.step else card.advice}".rstrip())
            if card.step is not None and card.step.command:
                lines[-1] += f"\n\n      {card.step.command}\n"
            lines += [f"- Limits of the verdict: {one}" for one in card.limits]
        if self.marks is not None:
            legend = " · ".join(f"{mark} {words}" for mark, words in self.marks.meaning.items())
            notes = (*self.marks.faults, *self.marks.needs)
            lines += [tables.to_markdown(self.marks.table), f"{legend}.", *(f"- {one}" for one in notes)]
        lines.append(self.rule)
        for _, section in self.anchored:
            lines += [f"## {section.title}", *section.words, *section.cautions]
            for table in section.tables:
                lines += [f"{table.caption}", tables.to_markdown(table)]
            lines += ["\n".join(f"- {line}" for line in section.lines)]
            lines += [f"{copy.caption}:\n\n```\n{copy.text}\n```" for copy in section.copies]
        command = f"Reproduce this page:\n\n```\n{self.command}\n```" if self.command else ""
        return "\n\n".join(line for line in [*lines, command] if line) + "\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: .html, or .md for Markdown; create the folder if needed."""
        target = writable(Path(path), suffixes=REPORTS)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = self.markdown() if target.suffix.lower() == ".md" else self.html()
        with atomic_write(target) as place:
            place.write_text(content, encoding="utf-8")
        return target


BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "chromium-headless-shell",
)
"""Names of browsers that can print a page."""


@cache
def _environment() -> Environment:
    """The environment of the templates, each compiled once."""
    from jinja2 import Environment, PackageLoader

    made = Environment(loader=PackageLoader("assay.reporting"), autoescape=True, trim_blocks=True)
    made.filters["whole"] = keep_whole
    return made


def keep_whole(text: str) -> Markup:
    """A text as HTML whose words with hyphens, such as ``gpt-4o`` and ``--judges``, break only if they fit no line."""
    from markupsafe import Markup, escape

    parts = re.split(r"(\s+)", text)
    word = Markup('<span class="unbroken">{}</span>')
    return Markup("").join(
        word.format(part) if "-" in part.strip("-") or part[:2] == "--" else escape(part) for part in parts
    )


def print_page(page: Path, pdf: Path) -> Path:
    """Print a page as PDF with an installed browser.

    Raises
    ------
    AssayError
        If there is no browser, or it does not write the file.
    """
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise AssayError(
            f"a PDF requires Chromium or Chrome, and neither is installed; open {page} in your browser and print it"
        )
    with atomic_write(writable(pdf, suffixes=(".pdf",))) as place:
        # As root, the browser refuses to run inside its sandbox.
        rooted = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words = [browser, "--headless", "--disable-gpu", *rooted, "--no-pdf-header-footer", f"--print-to-pdf={place}"]
        done = subprocess.run([*words, page.resolve().as_uri()], capture_output=True, text=True, check=False)
        if not place.is_file():
            raise AssayError(f"{browser} did not print {page}: {done.stderr.strip()[-200:] or 'no message'}")
    return pdf


def section_of(part: Part) -> Section:
    """A part as a section, rounded."""
    return Section(
        part.title,
        tuple(part.words),
        tuple(tables.shown(frame, caption=caption) for caption, frame in part.frames),
        tuple(Picture(draw, caption, caption) for caption, draw in part.pictures),
        tuple(part.lines),
        folded=part.folded,
        marks=part.marks,
        cautions=tuple(f"Caution: {one}" for one in part.cautions),
    )


def page_of(title: str, source: str, parts: Sequence[Part], signature: str, command: str = "") -> Page:
    """A page of the parts of one analysis."""
    sections = [section_of(part) for part in parts]
    cite = Section("How to cite this", lines=(signature,), folded=True)
    return Page(title, source, (), (*sections, cite), command=command)
