"""How a command shows what it found: a table and sentences, or JSON, CSV or LaTeX and nothing else; pages; a bar."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.group import Group

from assay.errors import AssayError

if TYPE_CHECKING:
    from polars import DataFrame

    from assay.estimation.result import Result

_GROUP = Group("Output", sort_key=9)

Page = Annotated[Path | None, Parameter(name=["--output", "-o"], group=_GROUP, help="Also write a page here.")]
"""Where a command also writes a page."""

PATIENCE = 1.0
"""Seconds that work may take before a bar is drawn."""


TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())
"""The words of the command that runs, without the program's name."""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class Output:
    """How the result is printed."""

    json: Annotated[bool, Parameter(help="Print everything as JSON and nothing else.", show_default=False)] = False
    csv: Annotated[bool, Parameter(help="Print the table as CSV, all digits.", show_default=False)] = False
    latex: Annotated[bool, Parameter(help="Print the table as LaTeX.", show_default=False)] = False

    def __post_init__(self) -> None:
        named = [f"--{name}" for name in ("json", "csv", "latex") if getattr(self, name)]
        if len(named) > 1:
            raise AssayError(f"{' and '.join(named)} exclude each other; give one")

    @property
    def for_people(self) -> bool:
        """Whether a person reads it; otherwise standard output holds the one thing that was asked for."""
        return not (self.json or self.csv or self.latex)

    def show(
        self, *results: Result, drop: Sequence[str] = (), rows: DataFrame | None = None, width: int | None = None,
        symbol: str | None = None,
    ) -> None:  # fmt: skip
        """Print results in the form asked for; ``rows`` are those of a table too long to be read whole.

        A table is as wide as ``width`` at most; ``symbol`` is the name of its number, where it is not the result's.
        """
        from assay.reporting import tables

        if self.json:
            found = [result.to_dict() for result in results]
            print_json(found[0] if len(found) == 1 else found)
            return
        if self.csv:
            print(tables.to_csv(_whole(results)), end="")
            return
        for i, result in enumerate(results):
            frame = result.table if rows is None else rows
            shown = tables.shown(frame, drop=drop, symbol=symbol or result.symbol, counted=result.counted)
            if self.latex:
                print(tables.to_latex(shown), end="")
            else:
                print(("\n" if i else "") + tables.to_text(shown, width) + "\n\n" + result.summary())

    def rows(self, frame: DataFrame) -> None:
        """Print a table that is no result's."""
        from assay.reporting import tables

        if self.json:
            print_json(frame.to_dicts())
        elif self.csv:
            print(tables.to_csv(frame), end="")
        else:
            shown = tables.plain(frame)
            print(tables.to_latex(shown) if self.latex else tables.to_text(shown) + "\n", end="")

    def words(self, result: Any) -> None:
        """Print a result that is read as sentences, without its table."""
        if self.for_people:
            print(result.summary())
        else:
            self.show(result)


FOR_PEOPLE = Output()
"""A table and sentences."""


def print_json(found: Any) -> None:
    """JSON, in letters that standard output can take."""
    narrow = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    print(json.dumps(found, ensure_ascii=narrow, indent=2))


def command_line() -> str:
    """The command that runs, as a shell takes it."""
    return shlex.join(["assay", *TYPED.get()])


def note(line: object) -> None:
    """Something to know beside the answer, on standard error."""
    print(line, file=sys.stderr)


def target(path: Path | None) -> None:
    """Refuse, before any work, a place that cannot be written to; see `assay.reporting.page.writable`."""
    from assay.reporting.page import writable

    if path is not None:
        writable(path)


def write_page(out: Path | None, title: str, found: Any, parts: Callable[[Any], Any]) -> None:
    """The result as a page, where one was asked for."""
    if out is not None:
        from assay.reporting.page import page_of

        page = page_of(title, "", parts(found), found.signature, command_line())
        note(f"written to {page.save(out)}")


@contextmanager
def progress_bar(what: str = "") -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal, for work that takes longer than a second; None elsewhere.

    The function that is given is told what is being done, how many steps are done and how many there are. Until it is
    called, the bar says that something goes on.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, visible=False)
        late = threading.Timer(PATIENCE, lambda: bar.update(task, visible=True))
        late.daemon = True
        late.start()

        def tell(what: str, done: int, steps: int) -> None:
            bar.update(task, description=what, completed=done, total=steps)

        try:
            yield tell
        finally:
            late.cancel()


def _whole(results: Sequence[Result]) -> DataFrame:
    """The tables of several results as one; the judge tells them apart."""
    if len(results) == 1:
        return results[0].table
    import polars as pl

    frames = []
    for result in results:
        frame, judge = result.table, getattr(result, "judge", None)
        if judge is not None and "judge" not in frame.columns:
            frame = frame.select(pl.lit(str(judge)).alias("judge"), pl.all())
        frames.append(frame)
    return pl.concat(frames, how="diagonal_relaxed")
