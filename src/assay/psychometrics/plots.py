"""Pictures of scores and raters: shares of variance, projections, bias against variability, ideal ratings, fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.errors import DesignError
from assay.estimation.statistic import Floats
from assay.psychometrics import words
from assay.psychometrics.raters.fairness import Fairness
from assay.psychometrics.raters.fit import RaterFit
from assay.psychometrics.raters.results import ideal_ratings, ideal_shares
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- Generalizability ------------------------------------------------------------------------------

MOST_BARS = 30
"""Studies that are drawn: more do not fit on a page."""

LEAST_NAMED = 6.0
"""Percent of a bar that has room for its number."""


def variance_bars(studies: Sequence[tuple[str, Sequence[tuple[str, float]]]], ax: Axes | None = None) -> Axes:
    """One stacked bar a study: the share of each effect in all variance."""
    shown = list(studies)[:MOST_BARS]
    names = list(dict.fromkeys(effect for _, parts in shown for effect, _ in parts))
    ax = pictures.axes(ax, width=7.0, height=1.5 + 0.34 * len(shown))
    for row, (_, parts) in enumerate(reversed(shown)):
        start = 0.0
        for effect, percent in parts:
            colour = pictures.PALETTE[names.index(effect) % len(pictures.PALETTE)]
            ax.barh([row], [percent], left=start, height=0.72, color=colour, alpha=0.85, linewidth=0)
            if percent >= LEAST_NAMED:
                ax.text(start + percent / 2, row, f"{percent:.0f}", ha="center", va="center", fontsize=8, color="white")
            start += percent
    for k, effect in enumerate(names):
        ax.barh([0], [0], color=pictures.PALETTE[k % len(pictures.PALETTE)], alpha=0.85, label=effect)
    ax.set_yticks(range(len(shown)), [name for name, _ in reversed(shown)])
    ax.set_ylim(-0.6, len(shown) - 0.4)
    ax.set_xlim(0, 100)
    ax.set_xlabel("percent of variance")
    pictures.legend(ax, ncols=min(len(names), 4), loc="lower left", bbox_to_anchor=(0, 1.0))
    return ax


def curves(
    rows: pl.DataFrame, along: str, lines: Sequence[str], label: str, target: float, names: Mapping[str, str],
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """A coefficient against the number of levels of one facet, one line with its intervals for each other choice.

    ``names`` says which column each facet is.
    """
    ax = pictures.axes(ax)
    groups = rows.partition_by(list(lines), maintain_order=True) if lines else [rows]
    styles = ("-", "--", ":", "-.")
    kinds = {"human": pictures.HUMAN, "judge": pictures.JUDGE}
    by_kind = "study" in lines and set(rows["study"]) <= set(kinds)
    drawn: dict[str, int] = {}
    for k, group in enumerate(groups[: 2 * len(pictures.PALETTE)]):
        name = ", ".join(
            str(group[c][0]) if c in ("scenario", "study") else f"{names.get(c, c)}: {group[c][0]}" for c in lines
        )
        group = group.sort(along)
        # Humans and judges have the colours that they have in every chart, and a style for each other choice.
        colour = kinds[group["study"][0]] if by_kind else pictures.PALETTE[k % len(pictures.PALETTE)]
        style = drawn[colour] = drawn.get(colour, -1) + 1
        low, high = (group[end].cast(pl.Float64).to_numpy() for end in ("low", "high"))
        ax.fill_between(group[along].to_list(), low, high, color=colour, alpha=0.12, linewidth=0)
        ax.plot(
            group[along].to_list(), group["estimate"].to_list(), color=colour,
            linestyle=styles[style % len(styles)], marker="o", markersize=3, label=name or None,
        )  # fmt: skip
    ax.axhline(target, color=pictures.MUTED, linewidth=1, linestyle="--")
    ax.set_ylim(0, 1)
    ax.set_xlabel(f"number of {words.facet_noun(along, names)}")
    ax.set_ylabel(label)
    pictures.legend(ax)
    return ax


# -- Raters ----------------------------------------------------------------------------------------

MOST_NAMED = 25
"""Largest number of raters with names: more names would overlap."""

KINDS = (("human", pictures.HUMAN, "P", "humans"), ("judge", pictures.JUDGE, "v", "judges"))


def raters(rows: pl.DataFrame, converged: bool, ax: Axes | None = None, *, unit: str = "categories") -> Axes:
    """Each rater at its φ and ψ, with both intervals."""
    ax = _bias_against_scatter(rows, "psi", ax)
    ax.set_xlabel(f"← severe    φ, {unit} from the raters' mean    lenient →")
    ax.set_ylabel(f"ψ, {unit}    variable ↑")
    if not converged:
        pictures.title(ax, "NOT CONVERGED: do not use")
    return ax


def fairness(found: Fairness | None, rope: float, ax: Axes | None = None, *, unit: str = "categories") -> Axes:
    """Each rater's difference of φ between groups, and the ratio of its ψ."""
    if found is None:
        raise DesignError("group differences need a group; name one with group=...")
    rows, several = found.rows.filter(pl.col("verdict").is_not_null()), len(found.groups) > 2
    if several:
        rows = rows.with_columns(annotator=pl.col("annotator") + ", " + pl.col("group"))
    ax = _bias_against_scatter(rows, "ratio", ax)
    ax.axvspan(-rope, rope, color=pictures.FAINT, alpha=0.4, linewidth=0, zorder=0)
    ax.axhline(1, color=pictures.FAINT, linewidth=1, zorder=0)
    other = "others" if several else found.groups[1]
    ax.set_xlabel(f"← more severe with {other}    Δφ, {unit}, compared with {found.groups[0]}    more lenient →")
    ax.set_ylabel(f"ψ with {other} / ψ with {found.groups[0]}")
    return ax


def _bias_against_scatter(rows: pl.DataFrame, up: str, ax: Axes | None) -> Axes:
    """A cross of two intervals for each rater: the estimate across, another column up, on a logarithmic axis."""
    ax = pictures.axes(ax, width=6.6, height=4.6)
    ax.axvline(0, color=pictures.FAINT, linewidth=1, zorder=0)
    columns = ("estimate", "low", "high", up, f"{up}_low", f"{up}_high")
    for kind, colour, marker, name in KINDS:
        some = rows.filter(pl.col("kind") == kind)
        if not some.height:
            continue
        x, x_low, x_high, y, y_low, y_high = (some[c].cast(pl.Float64).to_numpy() for c in columns)
        ax.hlines(y, x_low, x_high, color=colour, linewidth=1.2, alpha=0.7)
        ax.vlines(x, y_low, y_high, color=colour, linewidth=1.2, alpha=0.35)
        ax.plot(x, y, marker=marker, color=colour, linestyle="none", markersize=7, label=name)
        if some.height <= MOST_NAMED:
            for text, a, b in zip(some["annotator"].to_list(), x, y, strict=True):
                ax.annotate(text, (a, b), xytext=(5, 4), textcoords="offset points", fontsize=8, color=pictures.INK)
    ax.set_yscale("log")
    _plain_ticks(ax, [v for c in columns[4:] for v in rows[c].drop_nans().to_list()])
    pictures.legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    return ax


def ideal(found: RaterFit, ax: Axes | None = None) -> Axes:
    """The shares of ideal ratings and of all labels; of numbers, their quantiles."""
    table = found.table
    if table.linear:
        return _ideal_numbers(found, ax)
    shares = ideal_shares(found)
    names, cells = [], []
    for j, name in enumerate(table.criteria):
        place = "" if name is None else f"{name}: "
        given = np.bincount(table.value[table.criterion == j], minlength=table.n_categories)
        for what, share in (("ideal", shares[j]), ("labels", given / given.sum())):
            row = np.full(table.n_categories, np.nan)
            row[: table.sizes[j]] = share[: table.sizes[j]]
            names.append(f"{place}{what}")
            cells.append(row)
    values: Floats = np.array(cells)
    ax = pictures.axes(ax, width=2.6 + 0.55 * table.n_categories, height=1.0 + 0.32 * len(names))
    text = [["" if np.isnan(v) else f"{100 * v:.0f}" for v in row] for row in values]
    pictures.shaded(ax, values, text, colour=[pictures.PASS, pictures.MUTED] * len(table.criteria))
    same = len(set(table.categories)) == 1
    ticks = [str(c) for c in table.categories[0]] if same else [f"{k + 1}." for k in range(table.n_categories)]
    ax.set_xticks(np.arange(table.n_categories) + 0.5, ticks)
    ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
    ax.set_xlabel("category, percent of items and of labels")
    return ax


def _ideal_numbers(found: RaterFit, ax: Axes | None) -> Axes:
    """Median, middle half and middle 90% of ideal ratings and of all labels."""
    table, rows = found.table, ideal_ratings(found)
    names: list[str] = []
    ax = pictures.axes(ax, width=6.6, height=1.1 + 0.32 * 2 * len(table.criteria))
    for j, name in enumerate(table.criteria):
        place = "" if name is None else f"{name}: "
        mine = rows if name is None else rows.filter(pl.col("criterion") == name)
        given = table.value[table.criterion == j]
        for what, values, colour in (
            ("ideal", mine["ideal"].to_numpy(), pictures.PASS), ("labels", given, pictures.MUTED)
        ):  # fmt: skip
            low, first, middle, third, high = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
            at = -len(names)
            ax.hlines([at], [low], [high], color=colour, linewidth=1.2)
            ax.hlines([at], [first], [third], color=colour, linewidth=6, alpha=0.45)
            ax.plot([middle], [at], marker="o", color=colour, markersize=5)
            names.append(f"{place}{what}")
    ax.set_yticks([-k for k in range(len(names))], names)
    ax.set_ylim(0.6 - len(names), 0.6)
    ax.set_xlabel(f"{table.unit}: median, middle 50% and 90%")
    return ax


def _plain_ticks(ax: Axes, values: list[float]) -> None:
    """A few plain numbers on a logarithmic axis."""
    from matplotlib.ticker import NullFormatter, NullLocator

    if not values:
        return
    low, high = min(values), max(values)
    steps = [v for v in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50) if low * 0.9 <= v <= high * 1.1]
    ax.set_yticks(steps or [low, high], [f"{v:g}" for v in steps] or [f"{low:.2f}", f"{high:.2f}"])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_formatter(NullFormatter())
