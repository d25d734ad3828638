"""The pictures of agreement: who agrees with whom, and how much scales differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forest(rows: pl.DataFrame, judges: Sequence[str], ax: Axes | None = None) -> Axes:
    """Rows of one coefficient: panels, each judge with the consensus and with people, people with each other."""
    rows = rows.head(pictures.MOST_ROWS)
    names, colours = [], []
    for row in rows.iter_rows(named=True):
        where = ", ".join(v for v in (row["criterion"], row["group"]) if v)
        who = row["first"] if row["second"] is None else f"{row['second']} & {row['first']}"
        names.append(f"{where}: {who}" if where else who)
        about_judge = row["second"] in judges or "judges" in (row["first"], *(row["second"] or "").split("'"))
        colours.append(pictures.JUDGE if about_judge else pictures.HUMAN)
    ax = pictures.axes(ax, width=7.2, height=1.2 + 0.26 * len(names))
    ax.axvline(0, color=pictures.FAINT, linewidth=1, zorder=0)
    pictures.forest(ax, names, *(rows[c].to_list() for c in ("estimate", "low", "high")), colour=colours)
    ax.set_xlabel(rows["title"][0])
    return ax


def heat_map(
    rows: pl.DataFrame, humans: Sequence[str], judges: Sequence[str], criterion: str | None, ax: Axes | None = None
) -> Axes:
    """One coefficient of each two annotators as a grid of colours; judges stand after a line.

    Of a mean signed difference a cell says how much higher the column labels than the row.
    """
    names = [n for n in (*humans, *judges) if n in set(rows["first"]) | set(rows["second"])]
    place, signed = {n: i for i, n in enumerate(names)}, rows["coefficient"][0] == "bias"
    cells = np.full((len(names), len(names)), np.nan)
    for a, b, value in rows.select("first", "second", "estimate").iter_rows():
        cells[place[a], place[b]] = value
        # The bias of b against a is that of a against b with the other sign.
        cells[place[b], place[a]] = -value if signed else value
    size = 1.6 + 0.5 * len(names)
    ax = pictures.axes(ax, width=size + 1.2, height=size)
    error = rows["title"][0].endswith(("error", "difference"))
    # A fixed scale, so that two pictures can be compared: 0 is chance, 1 is perfect.
    top = float(np.nanmax(np.abs(cells))) if error else 1.0
    text = [["" if np.isnan(v) else _short(v) for v in row] for row in cells]
    pictures.shaded(ax, np.abs(cells) / (top or 1.0), text, colour=pictures.JUDGE if error else pictures.HUMAN)
    ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
    ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
    people = sum(n in humans for n in names)
    if 0 < people < len(names):
        ax.axvline(people, color=pictures.MUTED, linewidth=1)
        ax.axhline(len(names) - people, color=pictures.MUTED, linewidth=1)
    pictures.title(ax, rows["title"][0] + (f", {criterion}" if criterion else ""))
    return ax


def bars(rows: pl.DataFrame, scales: Sequence[str], ax: Axes | None = None) -> Axes:
    """Agreement of people and judges on each scale, pooled and by benchmark, with intervals."""
    names = rows["benchmark"].unique(maintain_order=True).to_list()
    ax = pictures.axes(ax, width=max(4.8, 1.2 + 1.05 * len(names)))
    width = 0.8 / len(scales)
    for i, scale in enumerate(scales):
        mine = {r["benchmark"]: r for r in rows.filter(pl.col("scale") == scale).iter_rows(named=True)}
        place = np.arange(len(names)) + (i - (len(scales) - 1) / 2) * width
        colour = pictures.PALETTE[i % len(pictures.PALETTE)]
        heights = [np.nan if mine[n]["estimate"] is None else mine[n]["estimate"] for n in names]
        ax.bar(place, heights, width * 0.92, color=colour, label=scale)
        for x, n in zip(place, names, strict=True):
            if mine[n]["low"] is not None:
                ax.plot([x, x], [mine[n]["low"], mine[n]["high"]], color=pictures.INK, linewidth=1)
    labels = [f"{n}\n(pooled)" if n == "all" and len(names) > 1 else n for n in names]
    ax.set_xticks(range(len(names)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("ICC(A,1), people and judges")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1)
    pictures.legend(ax, ncols=len(scales), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def icc_against_nmae(
    rows: pl.DataFrame, scales: Sequence[str], named: str, threshold: float, ax: Axes | None = None
) -> Axes:
    """Each benchmark on each scale: how far apart people and judges are, and how well they agree."""
    wide = rows.pivot("measure", index=["scale", "benchmark"], values="estimate")
    ax = pictures.axes(ax)
    markers = "osD^vP"
    for i, s in enumerate(scales):
        part = wide.filter(pl.col("scale") == s)
        ax.plot(
            part["nmae"].to_numpy(), part["icc"].to_numpy(), markers[i % len(markers)],
            color=pictures.PALETTE[i % len(pictures.PALETTE)], label=s,
        )  # fmt: skip
        if s == named:
            for name, x, y in part.select("benchmark", "nmae", "icc").iter_rows():
                ax.annotate(name, (x, y), textcoords="offset points", xytext=(6, 3), fontsize=8, color=pictures.MUTED)
    ax.axvline(threshold, color=pictures.FAINT, linewidth=1, zorder=0)
    ax.set_xlabel("normalised mean absolute error (left is better)")
    ax.set_ylabel("ICC(A,1) (up is better)")
    pictures.legend(ax)
    return ax


def consensus_points(
    items: pl.DataFrame, values: Mapping[str, float], title: str, threshold: float, ax: Axes | None = None
) -> Axes:
    """One point an item: the judges' mean against the people's mean on 0-1, with what both figures make of it."""
    ax = pictures.axes(ax, width=4.4, height=4.2)
    t = threshold
    ax.fill_between([0, 1], [-t, 1 - t], [t, 1 + t], color=pictures.FAINT, alpha=0.45, linewidth=0, zorder=0)
    ax.plot([0, 1], [0, 1], color=pictures.MUTED, linewidth=1, zorder=1)
    ax.plot(items["humans"].to_numpy(), items["judges"].to_numpy(), "o", color=pictures.JUDGE, markersize=4, alpha=0.6)
    numbers = f"ICC {values['icc']:.2f}, nMAE {values['nmae']:.2f}, r {values['pearson']:.2f}"
    pictures.title(ax, f"{title}: {numbers}", 9)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("people's mean, 0-1")
    ax.set_ylabel("judges' mean, 0-1")
    return ax


def _short(value: float) -> str:
    """``.75`` and ``1.0``: what a cell has room for."""
    return f"{value:.2f}".replace("0.", ".", 1).replace("-", "−") if abs(value) < 1 else f"{value:.1f}"
