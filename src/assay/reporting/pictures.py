"""The drawing functions of all pictures: axes, colours, forest plots, inline SVG. No statistics.

Matplotlib is imported when a picture is drawn, not with assay. A new figure is created with pyplot, so that a notebook
and ``plt.show()`` display it. Inside `off_screen`, as in `svg`, it is a bare `Figure`: pages require no display, keep
no global state and leave no figure open.
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
"""Colours that can be distinguished in print and by colour-blind readers, for anything without a verdict."""

Tone = Literal["good", "bad", "split", "open"]

TONES: Mapping[Tone, str] = {"good": PASS, "bad": FAIL, "split": "#6f42c1", "open": "#9a6700"}
"""The colour of each verdict."""

MOST_ROWS = 40
"""Rows of a forest plot, at most."""

_THEMED = {
    INK: "var(--ink)", MUTED: "var(--muted)", FAINT: "var(--faint)", HUMAN: "var(--human)", JUDGE: "var(--judge)",
    **{colour: f"var(--{tone})" for tone, colour in TONES.items()},
}  # fmt: skip


_OFF_SCREEN: ContextVar[bool] = ContextVar("_OFF_SCREEN", default=False)


@contextmanager
def off_screen() -> Iterator[None]:
    """Create new figures without pyplot, for pictures that are written to a file and not displayed."""
    token = _OFF_SCREEN.set(True)
    try:
        yield
    finally:
        _OFF_SCREEN.reset(token)


def axes(ax: Axes | None = None, width: float = 5.6, height: float = 3.6) -> Axes:
    """Return the given axes, or new ones in a new figure, in the style of assay.

    pyplot manages the new figure, except inside `off_screen`. It is white, because the ink is dark in every style.
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
    """Draw points with their intervals, one row per name, the first on top."""
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
    """Draw a forest plot of the columns ``estimate``, ``low`` and ``high`` of a table."""
    columns = (rows[c].cast(pl.Float64).fill_null(math.nan).to_list() for c in ("estimate", "low", "high"))
    forest(ax, names, *columns, colour=colour)


def shaded(
    ax: Axes, shade: Any, text: Sequence[Sequence[str]], *, colour: str | Sequence[str] = HUMAN,
    below: str | None = None,
) -> None:  # fmt: skip
    """Draw a table of cells shaded by ``shade`` (rows, columns), strongest at 1; NaN is blank.

    With a colour ``below``, negative cells have that colour, strongest at -1.

    Colours are transparent over the page, with the page's ink on top, so that they are legible in light and dark.
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
    """The colour of a value: paler toward 0, with another colour for negative values."""
    from matplotlib.colors import to_rgb

    full = to_rgb(JUDGE if value < 0 else HUMAN)
    depth = 0.1 + 0.9 * abs(value) / max(abs(low), abs(high))
    red, green, blue = (1 - depth * (1 - part) for part in full)
    return red, green, blue


def legend(ax: Axes, **options: Any) -> None:
    """Draw a legend without a box, in the ink of the report."""
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        ax.legend(frameon=False, fontsize=9, labelcolor=INK, **options)


def tones_legend(ax: Axes, verdicts: Mapping[str, Tone]) -> None:
    """Draw a legend of the verdict colours above the picture."""
    for verdict, tone in verdicts.items():
        ax.plot([], [], marker="o", color=TONES[tone], linestyle="none", label=verdict)
    legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(verdicts), 3), handletextpad=0.2)


def title(ax: Axes, text: str, size: float = 10) -> None:
    """Set the title above the picture, in the ink of the page."""
    ax.set_title(text, loc="left", fontsize=size, color=INK)


def svg(draw: Callable[[], Axes], title: str, prefix: str = "picture") -> str:
    """Return the picture that ``draw`` draws as an ``<svg>`` element for a page.

    The same picture gives the same bytes. Ink, muted and faint become CSS variables, so that the page
    sets them for light and dark; ``title`` is the alternative text. Ids begin with ``prefix``, which must be different
    for each picture of a page.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with (
        mpl.rc_context({"svg.hashsalt": "assay", "svg.fonttype": "none", "font.family": "sans-serif"}),
        warnings.catch_warnings(),
        off_screen(),
    ):
        # Letters are written as text; the browser has those that are missing in the font of Matplotlib.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        figure = draw().figure
        assert isinstance(figure, Figure)
        for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
            patch.set(facecolor="none", edgecolor="none")
        buffer = io.StringIO()
        # Figure.savefig draws twice, first only for the layout, which the second drawing repeats.
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # Only inside tags: a label of the picture can look like an id or a colour.
    text = re.sub(r"<[^>]*>", lambda tag: _for_page(tag[0], prefix), text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title)}" ', 1)


def _for_page(tag: str, prefix: str) -> str:
    """One tag of an SVG with the colours of the page, and with ids that are unique on the page."""
    for colour, variable in _THEMED.items():
        tag = tag.replace(colour, variable)
    return re.sub(r'( id="|href="#|url\(#)', lambda start: f"{start[0]}{prefix}-", tag)
