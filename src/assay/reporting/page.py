"""One offline HTML page: verdicts first, then sections of words, tables and pictures."""

from __future__ import annotations

import html
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay._version import __version__
from assay.errors import AssayError, DesignError, listing
from assay.reporting import pictures as figures
from assay.reporting import tables
from assay.reporting.pictures import Tone
from assay.reporting.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- Where something may be written ----------------------------------------------------------------


PAGES = (".html", ".htm")
"""What a page's name ends in."""

READING_MARK = "Written by assay look --write"
"""Stands at the head of every file that says how a table is read."""

GATE_MARK = "assay gate"
"""Stands at the head of every answer of a gate, in Markdown and in XML."""

_MARKS = {
    **dict.fromkeys(PAGES, '<meta name="generator" content="assay'), **dict.fromkeys((".yaml", ".yml"), READING_MARK),
    **dict.fromkeys((".md", ".xml"), GATE_MARK),
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
    mark = _MARKS.get(path.suffix.lower(), "")
    if not mark or not path.is_file():
        return False
    with path.open("rb") as file:
        return mark.encode() in file.read(4096)


def _is_device(path: Path) -> bool:
    """Whether it is a pipe or a device such as /dev/stdout, which nothing replaces."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
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


# -- One offline HTML page -------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Part:
    """A part of a page as a question hands it over: words, frames with all their digits, pictures not yet drawn.

    Attributes
    ----------
    frames, pictures : tuple
        (caption, frame) and (caption, what draws the picture).
    lines : tuple of str
        What does not count, and why.
    """

    title: str
    words: tuple[str, ...] = ()
    frames: tuple[tuple[str, pl.DataFrame], ...] = ()
    pictures: tuple[tuple[str, Callable[[], Axes]], ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Picture:
    """What draws a picture, what a screen reader says of it, and what it shows; drawn when the page is written."""

    draw: Callable[[], Axes]
    title: str
    caption: str

    @cached_property
    def svg(self) -> str:
        """The picture as inline SVG; a sentence where these labels do not allow it."""
        try:
            return figures.svg(self.draw, self.title)
        except DesignError as reason:
            return f"<p>{html.escape(self.title)}: not drawn; {html.escape(str(reason))}.</p>"


@dataclass(frozen=True)
class Section:
    """A part of the page: words, tables, pictures, lines (what was left out, signatures), text to copy as it is."""

    title: str
    words: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    lines: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()


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
    """

    title: str
    source: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    asked: str = ""
    again: str = ""
    first: tuple[str, ...] = ()

    def html(self) -> str:
        """The page: one file, no script, no outside request, light and dark, fit to print."""
        from jinja2 import Environment, PackageLoader

        environment = Environment(
            loader=PackageLoader("assay.reporting"), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        return environment.get_template("page.html").render(page=self, version=__version__)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, a file whose name ends in .html; the folder is made where it is missing."""
        target = writable(Path(path), suffixes=PAGES)
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(target) as place:
            place.write_text(self.html(), encoding="utf-8")
        return target


def section_of(part: Part) -> Section:
    """A part, rounded."""
    return Section(
        part.title,
        tuple(part.words),
        tuple(tables.shown(frame, caption=caption) for caption, frame in part.frames),
        tuple(Picture(draw, caption, caption) for caption, draw in part.pictures),
        tuple(part.lines),
    )


def page_of(title: str, source: str, parts: Sequence[Part], signature: str, again: str = "") -> Page:
    """A page of one question's parts."""
    sections = [section_of(part) for part in parts]
    cite = Section("How to cite this", lines=(signature,))
    return Page(title, source, (), (*sections, cite), again=again)
