"""One offline HTML page: verdicts first, then sections of words, tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay._version import __version__
from assay.reporting import pictures as figures
from assay.reporting import tables
from assay.reporting.files import writable
from assay.reporting.pictures import Tone
from assay.reporting.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


@dataclass(frozen=True)
class Picture:
    """An inline SVG and what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of the page: words, then tables, then pictures, then lines (what was left out, signatures)."""

    title: str
    words: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """What is shown, top-down."""

    title: str
    source: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]

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
    """A part, rounded and drawn."""
    return Section(
        part.title,
        tuple(part.words),
        tuple(tables.shown(frame, caption=caption) for caption, frame in part.frames),
        tuple(Picture(figures.svg(draw, caption), caption) for caption, draw in part.pictures),
        tuple(part.lines),
    )


def page_of(title: str, source: str, parts: Sequence[Part], signature: str) -> Page:
    """A page of one question's parts."""
    sections = [section_of(part) for part in parts]
    return Page(title, source, (), (*sections, Section("How to cite this", (), (), (), (signature,))))
