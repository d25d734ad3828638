"""One offline HTML page: verdicts first, then sections of words, tables and pictures."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay._version import __version__
from assay.errors import AssayError, DesignError
from assay.reporting import pictures as figures
from assay.reporting import tables
from assay.reporting.pictures import Tone
from assay.reporting.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- Where something may be written ----------------------------------------------------------------


def writable(path: Path, *, folder: bool = False) -> Path:
    """The path, where a file (or a folder) can be written; asked before any work is done.

    Raises
    ------
    AssayError
        For a folder in place of a file, a file in place of a folder, and a place below a file.
    """
    if path.is_dir() and not folder:
        raise AssayError(f"'{path}' is a folder; name a file in it")
    for place in (path, *path.parents) if folder else path.parents:
        if place.is_file():
            below = "" if place == path else f"'{path}' cannot be written, because "
            raise AssayError(f"{below}'{place}' is a file; name another folder")
    return path


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
        """Write the page; the folder is made where it is missing."""
        target = writable(Path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html(), encoding="utf-8")
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
