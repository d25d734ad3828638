"""The pictures of generalizability: variance as stacked bars, coefficients against numbers of raters and lessons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 30
LEAST_NAMED = 6.0
"""Percent of a bar that has room for its number."""


def bars(studies: Sequence[tuple[str, Sequence[tuple[str, float]]]], ax: Axes | None = None) -> Axes:
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
    rows: pl.DataFrame, along: str, lines: Sequence[str], coefficient: str, target: float | None, ax: Axes | None = None
) -> Axes:
    """A coefficient against the number of levels of one facet, one line for each other choice."""
    ax = pictures.axes(ax)
    groups = rows.partition_by(list(lines), maintain_order=True) if lines else [rows]
    styles = ("-", "--", ":", "-.")
    for k, group in enumerate(groups[: 2 * len(pictures.PALETTE)]):
        label = ", ".join(str(group[c][0]) if c in ("scenario", "study") else f"{group[c][0]} {c}" for c in lines)
        group = group.sort(along)
        ax.plot(
            group[along].to_list(), group["estimate"].to_list(), color=pictures.PALETTE[k % len(pictures.PALETTE)],
            linestyle=styles[k // len(pictures.PALETTE) % len(styles)], marker="o", markersize=3, label=label or None,
        )  # fmt: skip
    if target is not None:
        ax.axhline(target, color=pictures.MUTED, linewidth=1, linestyle="--")
    ax.set_ylim(0, 1)
    ax.set_xlabel(f"number of {along}")
    ax.set_ylabel({"generalizability": "Eρ²", "dependability": "Φ"}.get(coefficient, coefficient))
    pictures.legend(ax)
    return ax
