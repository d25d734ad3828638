"""The pictures of agreement: who agrees with whom, and how much scales differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay import figures
from assay.errors import DesignError, unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from assay.agreement.summary import Agreement

MOST_ROWS = 40


def forest(found: Agreement, ax: Axes | None = None) -> Axes:
    """The headline coefficient: panels, each judge with the consensus and with any human, people with each other."""
    rows = found.shown("humans", "judges", "consensus", "any human")
    if not rows.height:
        rows = found.shown()
    rows = rows.head(MOST_ROWS)
    names, colours = [], []
    for row in rows.iter_rows(named=True):
        where = ", ".join(v for v in (row["criterion"], row["group"]) if v)
        who = row["first"] if row["second"] is None else f"{row['second']} & {row['first']}"
        names.append(f"{where}: {who}" if where else who)
        about_judge = row["second"] in found.judges or "judges" in (row["first"], *(row["second"] or "").split("'"))
        colours.append(figures.JUDGE if about_judge else figures.HUMAN)
    ax = figures.axes(ax, height=1.2 + 0.26 * len(names))
    figures.forest(ax, names, *(rows[c].to_list() for c in ("estimate", "low", "high")), colour=colours)
    ax.set_xlabel(rows["title"][0])
    return ax


def heat_map(
    found: Agreement, ax: Axes | None = None, *, coefficient: str | None = None, criterion: str | None = None
) -> Axes:
    """Agreement of each two annotators; judges stand after a line.

    Raises
    ------
    DesignError
        Where the pairs were not asked for, or the table has several criteria and none was chosen.
    """
    name = coefficient or found.headline
    rows = found.rows.filter((pl.col("who") == "pairs") & pl.col("group").is_null())
    if len(found.criteria) > 1 and criterion is None:
        criterion = found.criteria[0]
    if criterion is not None:
        if criterion not in found.criteria:
            raise DesignError(unknown("criterion", criterion, found.criteria))
        rows = rows.filter(pl.col("criterion") == criterion)
    if not rows.height:
        raise DesignError("a heat map shows pairs of annotators; ask agreement for who=['pairs', ...]")
    if name not in rows["coefficient"]:
        raise DesignError(unknown("coefficient", name, rows["coefficient"].unique().to_list(), "the pairs"))
    rows = rows.filter(pl.col("coefficient") == name)
    names = [n for n in (*found.humans, *found.judges) if n in set(rows["first"]) | set(rows["second"])]
    place = {n: i for i, n in enumerate(names)}
    cells = np.full((len(names), len(names)), np.nan)
    for a, b, value in rows.select("first", "second", "estimate").iter_rows():
        cells[place[a], place[b]] = cells[place[b], place[a]] = value
    size = 1.6 + 0.5 * len(names)
    ax = figures.axes(ax, width=size + 1.2, height=size)
    error = rows["title"][0].endswith(("error", "difference"))
    # A fixed scale, so that two pictures can be compared: 0 is chance, 1 is perfect.
    ends = (0.0, float(np.nanmax(cells))) if error else (0.0, 1.0)
    ax.imshow(cells, cmap="Oranges_r" if error else "Blues", vmin=ends[0], vmax=ends[1] * (1 if error else 1.15))
    for i, j in zip(*np.nonzero(~np.isnan(cells)), strict=True):
        dark = (cells[i, j] - ends[0]) / max(ends[1] - ends[0], 1e-12) > 0.6
        text = f"{cells[i, j]:.2f}".replace("0.", ".", 1) if abs(cells[i, j]) < 1 else f"{cells[i, j]:.1f}"
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if dark != error else figures.INK)
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(names)), names)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0)
    people = sum(n in found.humans for n in names)
    if 0 < people < len(names):
        for draw in (ax.axhline, ax.axvline):
            draw(people - 0.5, color=figures.INK, linewidth=1.2)
    ax.set_title(rows["title"][0] + (f", {criterion}" if criterion else ""), loc="left", fontsize=10)
    return ax
