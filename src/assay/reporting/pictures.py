"""How every picture of assay is drawn: axes, colours, forest plots, inline SVG. Knows no statistics.

Matplotlib is imported where a picture is drawn, never with assay. A new figure is pyplot's, so that a notebook
and ``plt.show()`` display it. Inside `off_screen`, as in `svg`, it is a bare `Figure`: pages need no display, keep no
global state and leave no figure open.
"""

from __future__ import annotations

import html
import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1f2328"
MUTED = "#6e7781"
FAINT = "#d0d7de"
HUMAN = "#0b6e99"
JUDGE = "#c2410c"
PASS = "#1a7f37"
FAIL = "#cf222e"
PALETTE = ("#c2410c", "#0b6e99", "#6f42c1", "#1a7f37", "#b8860b", "#d6336c", "#4b5563", "#0d9488")
"""Colours that stay apart in print and for colour-blind readers, for what has no verdict."""

Tone = Literal["good", "bad", "split", "open"]

TONES: Mapping[Tone, str] = {"good": PASS, "bad": FAIL, "split": "#6f42c1", "open": "#9a6700"}
"""What a verdict is drawn in."""

MOST_ROWS = 40
"""Rows of a forest plot that can still be read."""

_THEMED = {
    INK: "var(--ink)", MUTED: "var(--muted)", FAINT: "var(--faint)", HUMAN: "var(--human)", JUDGE: "var(--judge)",
    **{colour: f"var(--{tone})" for tone, colour in TONES.items()},
}  # fmt: skip


_OFF_SCREEN: ContextVar[bool] = ContextVar("_OFF_SCREEN", default=False)


@contextmanager
def off_screen() -> Iterator[None]:
    """Make new figures without pyplot: for pictures that are written to a file, not displayed."""
    token = _OFF_SCREEN.set(True)
    try:
        yield
    finally:
        _OFF_SCREEN.reset(token)


def axes(ax: Axes | None = None, width: float = 5.6, height: float = 3.6) -> Axes:
    """The axes given, or new ones in a figure of their own, with assay's quiet look.

    pyplot knows the new figure, except inside `off_screen`. It is white, because the ink is dark in every style.
    """
    if ax is None:
        size: Any = {"figsize": (width, height), "layout": "constrained", "facecolor": "white"}
        if _OFF_SCREEN.get():
            from matplotlib.figure import Figure

            figure = Figure(**size)
        else:
            from matplotlib import pyplot as plt

            figure = plt.figure(**size)
        ax = figure.add_subplot()
    ax.patch.set_alpha(0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=9, length=3)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(INK)
        text.set_fontsize(10)
    return ax


def forest(
    ax: Axes,
    names: Sequence[str],
    estimate: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    colour: str | Sequence[str] = JUDGE,
    marker: str = "o",
    offset: float = 0.0,
    label: str | None = None,
) -> None:
    """Points with their intervals, one row a name, the first on top."""
    rows = np.arange(len(names))[::-1] + offset
    colours = [colour] * len(names) if isinstance(colour, str) else list(colour)
    for y, e, lo, hi, c in zip(rows, estimate, low, high, colours, strict=True):
        if np.isfinite(lo) and np.isfinite(hi):
            ax.plot([lo, hi], [y, y], color=c, linewidth=1.6, solid_capstyle="butt", zorder=2)
        if np.isfinite(e):
            ax.plot([e], [y], marker=marker, color=c, markersize=5.5, linestyle="none", zorder=3)
    if label:
        ax.plot([], [], marker=marker, color=colours[0] if colours else INK, linestyle="none", label=label)
    ax.set_yticks(np.arange(len(names))[::-1], list(names))
    ax.set_ylim(-0.7, len(names) - 0.3)


def forest_of_rows(ax: Axes, names: Sequence[str], rows: pl.DataFrame, *, colour: str | Sequence[str] = JUDGE) -> None:
    """A forest plot of the columns ``estimate``, ``low`` and ``high`` of a table."""
    columns = (rows[c].cast(pl.Float64).fill_null(math.nan).to_list() for c in ("estimate", "low", "high"))
    forest(ax, names, *columns, colour=colour)


def shaded(
    ax: Axes, shade: Any, text: Sequence[Sequence[str]], *, colour: str | Sequence[str] = HUMAN,
    below: str | None = None,
) -> None:  # fmt: skip
    """A table of cells whose colour is the stronger, the nearer ``shade`` (rows, columns) is to 1; NaN is blank.

    With a colour ``below``, cells under 0 have that one, the stronger, the nearer to -1.

    Colours are laid over whatever the page is, with the page's own ink on top, so they read in light and dark.
    """
    from matplotlib.patches import Rectangle

    values = np.asarray(shade, dtype=float)
    n_rows, n_columns = values.shape
    colours = [colour] * n_rows if isinstance(colour, str) else list(colour)
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        depth, face = (values[i, j], colours[i]) if below is None or values[i, j] >= 0 else (-values[i, j], below)
        corner, strength = (j + 0.04, n_rows - 1 - i + 0.06), 0.06 + 0.6 * min(max(depth, 0.0), 1.0)
        ax.add_patch(Rectangle(corner, 0.92, 0.88, facecolor=face, alpha=strength, linewidth=0))
        if text[i][j]:
            ax.text(j + 0.5, n_rows - 0.5 - i, text[i][j], ha="center", va="center", fontsize=8, color=INK)
    ax.set_xlim(0, n_columns)
    ax.set_ylim(0, n_rows)
    ax.tick_params(length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def shade(value: float, low: float, high: float) -> tuple[float, float, float]:
    """The colour of a value: paler toward 0; of two colours where values lie on both sides of it."""
    from matplotlib.colors import to_rgb

    full = to_rgb(JUDGE if value < 0 else HUMAN)
    depth = 0.1 + 0.9 * abs(value) / max(abs(low), abs(high))
    red, green, blue = (1 - depth * (1 - part) for part in full)
    return red, green, blue


def legend(ax: Axes, **options: Any) -> None:
    """A legend without a box, in the report's ink."""
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        ax.legend(frameon=False, fontsize=9, labelcolor=INK, **options)


def tones_legend(ax: Axes, verdicts: Mapping[str, Tone]) -> None:
    """Above the picture, which verdict each colour means."""
    for verdict, tone in verdicts.items():
        ax.plot([], [], marker="o", color=TONES[tone], linestyle="none", label=verdict)
    legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(verdicts), 3), handletextpad=0.2)


def title(ax: Axes, text: str, size: float = 10) -> None:
    """What stands above the picture, in the page's ink."""
    ax.set_title(text, loc="left", fontsize=size, color=INK)


def svg(draw: Callable[[], Axes], title: str, prefix: str = "picture") -> str:
    """What ``draw`` draws, as an ``<svg>`` element to put into a page.

    The same picture gives the same bytes. Ink, muted and faint become CSS variables, so that the page
    sets them for light and dark; ``title`` is what a screen reader says. Ids begin with ``prefix``: give
    each picture of a page another one.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with (
        mpl.rc_context({"svg.hashsalt": "assay", "svg.fonttype": "none", "font.family": "sans-serif"}),
        warnings.catch_warnings(),
        off_screen(),
    ):
        # Letters are written as text, and the reader's browser has those that Matplotlib's font lacks.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        figure = draw().figure
        assert isinstance(figure, Figure)
        for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
            patch.set(facecolor="none", edgecolor="none")
        buffer = io.StringIO()
        # Figure.savefig draws twice, the first time for the layout alone, which the second draw makes by itself.
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # Only inside tags: a label of the picture may itself read like an id or a colour.
    text = re.sub(r"<[^>]*>", lambda tag: _for_page(tag[0], prefix), text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title)}" ', 1)


def _for_page(tag: str, prefix: str) -> str:
    """One tag of an SVG with the page's colours, and with ids that no other picture of the page has."""
    for colour, variable in _THEMED.items():
        tag = tag.replace(colour, variable)
    return re.sub(r'( id="|href="#|url\(#)', lambda start: f"{start[0]}{prefix}-", tag)
