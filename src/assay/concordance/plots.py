"""Plots of agreement by comparison and of differences between scales."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forest(rows: pl.DataFrame, judges: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw one coefficient for panels, judges with the consensus and with humans, and humans with each other."""
    rows = rows.head(pictures.MOST_ROWS)
    names, colours = [], []
    for row in rows.iter_rows(named=True):
        place = ", ".join(v for v in (row["criterion"], row["group"]) if v)
        who = row["first"] if row["second"] is None else f"{row['second']} & {row['first']}"
        names.append(f"{place}: {who}" if place else who)
        about_judge = row["second"] in judges or "judges" in (row["first"], *(row["second"] or "").split("'"))
        colours.append(pictures.JUDGE if about_judge else pictures.HUMAN)
    ax = pictures.axes(ax, width=7.2, height=1.2 + 0.26 * len(names))
    ax.axvline(0, color=pictures.FAINT, linewidth=1, zorder=0)
    pictures.forest_of_rows(ax, names, rows, colour=colours)
    ax.set_xlabel(rows["title"][0])
    return ax


def heat_map(
    rows: pl.DataFrame, humans: Sequence[str], judges: Sequence[str], criterion: str | None, ax: Axes | None = None
) -> Axes:
    """Draw one coefficient of each pair of annotators as a grid of colours; judges come after a line.

    For a mean signed difference, a cell is how much higher the column labels than the row.
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
    text = [["" if np.isnan(v) else short_number(v) for v in row] for row in cells]
    # Errors have one colour, from none to the largest; signed differences have two.
    hue, below = (pictures.JUDGE, None) if error and not signed else (pictures.HUMAN, pictures.JUDGE)
    pictures.shaded(ax, cells / (top or 1.0), text, colour=hue, below=below)
    ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
    ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
    people = sum(n in humans for n in names)
    if 0 < people < len(names):
        ax.axvline(people, color=pictures.MUTED, linewidth=1)
        ax.axhline(len(names) - people, color=pictures.MUTED, linewidth=1)
    pictures.title(ax, rows["title"][0] + (f", {criterion}" if criterion else ""))
    return ax


def categories(rows: pl.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the specific agreement of each category, with intervals."""
    rows = rows.head(pictures.MOST_ROWS)
    names, colours = [], []
    for row in rows.iter_rows(named=True):
        start = f"{row['criterion']}: " if row["criterion"] else ""
        panel = row["who"] in ("humans", "judges")
        names.append(f"{start}{row['category']}, {row['who'] if panel else row['who'] + ' & humans'}")
        colours.append(pictures.HUMAN if row["who"] == "humans" else pictures.JUDGE)
    ax = pictures.axes(ax, width=7.2, height=1.2 + 0.26 * len(names))
    pictures.forest_of_rows(ax, names, rows, colour=colours)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("specific agreement")
    return ax


def confusion(rows: pl.DataFrame, judge: str, ax: Axes | None = None) -> Axes:
    """Draw the labels of a judge by human label, as shares of the pairs with each human label."""
    names = rows["human_label"].unique(maintain_order=True).to_list()
    shares = rows["share"].fill_null(float("nan")).to_numpy().reshape(len(names), -1)
    size = 1.8 + 0.55 * len(names)
    ax = pictures.axes(ax, width=size + 1.4, height=size)
    text = [["" if np.isnan(v) else short_number(v) for v in row] for row in shares]
    pictures.shaded(ax, shares, text, colour=pictures.JUDGE)
    ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
    ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
    ax.set_xlabel(f"label of {judge}")
    ax.set_ylabel("human label")
    return ax


def bars(rows: pl.DataFrame, scales: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw the agreement of humans and judges on each scale, pooled and by benchmark, with intervals."""
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
    ax.axhline(0, color=pictures.FAINT, linewidth=1, zorder=0)
    labels = [f"{n}\n(pooled)" if n == "all" and len(names) > 1 else n for n in names]
    ax.set_xticks(range(len(names)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("ICC(A,1), humans and judges")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1)
    pictures.legend(ax, ncols=len(scales), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def icc_against_nmae(
    rows: pl.DataFrame, scales: Sequence[str], named: str, well_aligned: float, ax: Axes | None = None
) -> Axes:
    """Draw the ICC and the nMAE of humans and judges, for each benchmark on each scale.

    One scale has names and intervals. An interval that reaches the frame continues beyond it.
    """
    wide = rows.pivot("measure", index=["scale", "benchmark"], values=["estimate", "low", "high"])
    ax = pictures.axes(ax)
    markers, points = "osD^vP", wide.select(x="estimate_nmae", y="estimate_icc").drop_nulls()
    for i, s in enumerate(scales):
        part = wide.filter(pl.col("scale") == s)
        colour = pictures.PALETTE[i % len(pictures.PALETTE)]
        ax.plot(
            part["estimate_nmae"].to_numpy(), part["estimate_icc"].to_numpy(), markers[i % len(markers)], color=colour,
            label=f"{s} (with names and intervals)" if s == named and len(scales) > 1 else s,
        )  # fmt: skip
        if s == named:
            _crosses(ax, part, colour)
    ax.axvline(well_aligned, color=pictures.FAINT, linewidth=1, zorder=0)
    if points.height:
        least = min(0.95, float(points["y"].to_numpy().min()))
        ax.set_xlim(0, 1.15 * max(well_aligned, float(points["x"].to_numpy().max())))
        ax.set_ylim(least - 0.25 * (1 - least), 1.02)
    ax.set_xlabel("normalised mean absolute error (left is better)")
    ax.set_ylabel("ICC(A,1) (up is better)")
    pictures.legend(ax, ncols=len(scales), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    mine = wide.filter(pl.col("scale") == named).drop_nulls(["estimate_nmae", "estimate_icc"])
    named_apart(ax, mine.select("benchmark", "estimate_nmae", "estimate_icc").rows(), points.rows())
    return ax


def _crosses(ax: Axes, rows: pl.DataFrame, colour: str) -> None:
    """The intervals of both figures of each point."""
    for r in rows.iter_rows(named=True):
        x, y = r["estimate_nmae"], r["estimate_icc"]
        for xs, ys, low in (((r["low_nmae"], r["high_nmae"]), (y, y), r["low_nmae"]),
                            ((x, x), (r["low_icc"], r["high_icc"]), r["low_icc"])):  # fmt: skip
            if low is not None and x is not None and y is not None:
                ax.plot(xs, ys, "-", color=colour, linewidth=1, alpha=0.45, zorder=1)


def named_apart(
    ax: Axes, named: Sequence[tuple[str, float, float]], points: Sequence[tuple[float, float]]
) -> None:  # fmt: skip
    """Write a name next to each point, at the nearest place that is free of other names, points and lines."""
    from matplotlib.figure import Figure

    if isinstance(ax.figure, Figure):
        ax.figure.draw_without_rendering()  # where the layout puts the frame
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in ax.transData.transform(np.array(points).reshape(-1, 2))]
    for line in ax.get_lines():
        ends = np.asarray(line.get_xydata())
        if len(ends) == 2 and line.get_linestyle() == "-":
            (x0, y0), (x1, y1) = line.get_transform().transform(ends)
            taken.append((x0 - 1, y0 - 1, x1 + 1, y1 + 1))
    unit = ax.figure.dpi / 72
    for name, x, y in named:
        at = ax.transData.transform((x, y))
        wide, high = 5.0 * unit * len(name), 10 * unit
        for far, (right, up) in itertools.product(range(6, 90, 7), _PLACES):
            shift = (right * far * unit, up * far * unit)
            left = at[0] + shift[0] - (0 if right > 0 else wide if right < 0 else wide / 2)
            bottom = at[1] + shift[1] - high / 2
            box = (left, bottom, left + wide, bottom + high)
            if _inside(ax, box) and not any(_meet(box, other) for other in taken):
                break
        taken.append(box)
        ax.annotate(
            name, (x, y), textcoords="offset points", xytext=(right * far, up * far), fontsize=8, va="center",
            ha="left" if right > 0 else "right" if right < 0 else "center", color=pictures.MUTED,
            arrowprops={"arrowstyle": "-", "color": pictures.FAINT, "linewidth": 0.6} if far > 6 else None,
        )  # fmt: skip


# Places of a name around its point: the sides first, then the corners.
_PLACES = ((1, 0), (0, 1), (0, -1), (-1, 0), (0.8, 0.8), (0.8, -0.8), (-0.8, 0.8), (-0.8, -0.8))
Box = tuple[float, float, float, float]


def _meet(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def _inside(ax: Axes, box: Box) -> bool:
    frame = ax.bbox
    return bool(frame.x0 <= box[0] and box[2] <= frame.x1 and frame.y0 <= box[1] and box[3] <= frame.y1)


def consensus_points(
    items: pl.DataFrame, values: Mapping[str, float | None], title: str, well_aligned: float, ax: Axes | None = None
) -> Axes:
    """Draw the judges' mean label against the humans' mean label of each item, on 0-1, with both coefficients."""
    ax = pictures.axes(ax, width=4.4, height=4.2)
    t = well_aligned
    ax.fill_between([0, 1], [-t, 1 - t], [t, 1 + t], color=pictures.FAINT, alpha=0.45, linewidth=0, zorder=0)
    ax.plot([0, 1], [0, 1], color=pictures.MUTED, linewidth=1, zorder=1)
    ax.plot(items["humans"].to_numpy(), items["judges"].to_numpy(), "o", color=pictures.JUDGE, markersize=4, alpha=0.6)
    named = {"ICC": values["icc"], "nMAE": values["nmae"], "r": values["pearson"]}
    numbers = ", ".join(f"{name} {value:.2f}" for name, value in named.items() if value is not None)
    pictures.title(ax, f"{title}: {numbers}" if numbers else title, 9)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("mean human label, 0-1")
    ax.set_ylabel("mean judge label, 0-1")
    return ax


def short_number(value: float) -> str:
    """``.75`` and ``1.0``: a number short enough for a cell."""
    short = f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.1f}"
    return short.replace("-", "−")
