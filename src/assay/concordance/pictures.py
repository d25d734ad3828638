"""The pictures of agreement: who agrees with whom, and how much scales differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.errors import DesignError, unknown
from assay.reporting import pictures as figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from assay.concordance.grading_scale import GradingScaleStudy
    from assay.concordance.summary import Agreement

MOST_ROWS = 40


def forest(found: Agreement, ax: Axes | None = None) -> Axes:
    """The headline coefficient: panels, each judge with the consensus and with any human, people with each other."""
    several = len(found.criteria) > 1
    rows = found.shown("humans", "judges", "consensus", *(() if several else ("any human",)))
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
    ax = figures.axes(ax, width=7.2, height=1.2 + 0.26 * len(names))
    ax.axvline(0, color=figures.FAINT, linewidth=1, zorder=0)
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
    top = float(np.nanmax(cells)) if error else 1.0
    text = [["" if np.isnan(v) else _short(v) for v in row] for row in cells]
    figures.shaded(ax, cells / (top or 1.0), text, colour=figures.JUDGE if error else figures.HUMAN)
    ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
    ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
    people = sum(n in found.humans for n in names)
    if 0 < people < len(names):
        ax.axvline(people, color=figures.MUTED, linewidth=1)
        ax.axhline(len(names) - people, color=figures.MUTED, linewidth=1)
    ax.set_title(rows["title"][0] + (f", {criterion}" if criterion else ""), loc="left", fontsize=10)
    return ax


def bars(study: GradingScaleStudy, ax: Axes | None = None) -> Axes:
    """Agreement of people and judges on each scale, pooled and by benchmark, with intervals."""
    rows = study.alignment.filter((pl.col("measure") == "icc") & (pl.col("judge") == "judges' mean"))
    names = rows["benchmark"].unique(maintain_order=True).to_list()
    ax = figures.axes(ax, width=max(4.8, 1.2 + 1.05 * len(names)))
    width = 0.8 / len(study.scales)
    for i, scale in enumerate(study.scales):
        mine = {r["benchmark"]: r for r in rows.filter(pl.col("scale") == scale).iter_rows(named=True)}
        place = np.arange(len(names)) + (i - (len(study.scales) - 1) / 2) * width
        colour = figures.PALETTE[i % len(figures.PALETTE)]
        heights = [np.nan if mine[n]["estimate"] is None else mine[n]["estimate"] for n in names]
        ax.bar(place, heights, width * 0.92, color=colour, label=scale)
        for x, n in zip(place, names, strict=True):
            if mine[n]["low"] is not None:
                ax.plot([x, x], [mine[n]["low"], mine[n]["high"]], color=figures.INK, linewidth=1)
    labels = [f"{n}\n(pooled)" if n == "all" and len(names) > 1 else n for n in names]
    ax.set_xticks(range(len(names)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("ICC(A,1), people and judges")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1)
    figures.legend(ax, ncols=len(study.scales), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def icc_against_nmae(study: GradingScaleStudy, ax: Axes | None = None, *, scale: str | None = None) -> Axes:
    """Each benchmark on each scale: how far apart people and judges are, and how well they agree."""
    if scale is not None and scale not in study.scales:
        raise DesignError(unknown("scale", scale, study.scales, "the study"))
    rows = study.alignment.filter(pl.col("judge") == "judges' mean")
    wide = rows.pivot("measure", index=["scale", "benchmark"], values="estimate")
    ax = figures.axes(ax)
    markers = "osD^vP"
    for i, s in enumerate(study.scales):
        part = wide.filter(pl.col("scale") == s)
        if scale is not None and s != scale:
            continue
        ax.plot(
            part["nmae"].to_numpy(), part["icc"].to_numpy(), markers[i % len(markers)],
            color=figures.PALETTE[i % len(figures.PALETTE)], label=s,
        )  # fmt: skip
        if s == (scale or study.best):
            for name, x, y in part.select("benchmark", "nmae", "icc").iter_rows():
                ax.annotate(name, (x, y), textcoords="offset points", xytext=(6, 3), fontsize=8, color=figures.MUTED)
    ax.axvline(study.threshold, color=figures.FAINT, linewidth=1, zorder=0)
    ax.set_xlabel("normalised mean absolute error (left is better)")
    ax.set_ylabel("ICC(A,1) (up is better)")
    figures.legend(ax)
    return ax


def consensus_points(
    study: GradingScaleStudy, ax: Axes | None = None, *, benchmark: str | None = None, scale: str | None = None
) -> Axes:
    """One point an item: the judges' mean against the people's mean on 0-1, with what both figures make of it."""
    chosen = scale or study.best
    if chosen not in study.scales:
        raise DesignError(unknown("scale", chosen, study.scales, "the study"))
    items = study.items.filter(pl.col("scale") == chosen)
    if benchmark is not None and study.by is not None:
        items = items.filter(pl.col(study.by).cast(pl.String) == benchmark)
    rows = study.alignment.filter(
        (pl.col("scale") == chosen)
        & (pl.col("judge") == "judges' mean")
        & (pl.col("benchmark") == (benchmark if benchmark is not None else "all"))
    )
    if not rows.height:
        raise DesignError(unknown("benchmark", benchmark, study.alignment["benchmark"].unique().to_list(), "the study"))
    ax = figures.axes(ax, width=4.4, height=4.2)
    t = study.threshold
    ax.fill_between([0, 1], [-t, 1 - t], [t, 1 + t], color=figures.FAINT, alpha=0.45, linewidth=0, zorder=0)
    ax.plot([0, 1], [0, 1], color=figures.MUTED, linewidth=1, zorder=1)
    ax.plot(items["humans"].to_numpy(), items["judges"].to_numpy(), "o", color=figures.JUDGE, markersize=4, alpha=0.6)
    values = dict(rows.select("measure", "estimate").iter_rows())
    numbers = f"ICC {values['icc']:.2f}, nMAE {values['nmae']:.2f}, r {values['pearson']:.2f}"
    ax.set_title(f"{benchmark or 'all items'}, {chosen}: {numbers}", loc="left", fontsize=9)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("people's mean, 0-1")
    ax.set_ylabel("judges' mean, 0-1")
    return ax


def _short(value: float) -> str:
    """``.75`` and ``1.0``: what a cell has room for."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.1f}"
