"""Pictures that set several tests side by side; a test's own picture is its ``plot``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.replacement.alt_test import AltTest
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def epsilon_curves(tests: Sequence[AltTest]) -> Axes:
    """omega against epsilon, one line a judge (figure 3 of the paper)."""
    ax = pictures.axes(height=3.2)
    for i, test in enumerate(tests):
        curve = test.epsilon_curve()
        # Steps of equal height would hide each other; a hair's breadth keeps them apart.
        shift = (i - (len(tests) - 1) / 2) * 0.006
        ax.step(
            curve.epsilon, curve.winning_rate + shift, where="post", linewidth=1.6,
            color=pictures.PALETTE[i % len(pictures.PALETTE)], label=test.judge,
        )  # fmt: skip
    _threshold(ax, tests[0].settings.threshold)
    ax.axvline(tests[0].epsilon, color=pictures.MUTED, linewidth=1)
    ax.set_xlabel("ε, what the judge's low cost is worth (line: the test's)")
    ax.set_ylabel("winning rate ω")
    return _outside_legend(ax)


def size_curves(tests: Sequence[AltTest]) -> Axes:
    """omega against the number of items, one line a judge (figure 2 of the paper)."""
    ax = pictures.axes(height=3.2)
    k = 3
    for i, test in enumerate(tests):
        curve = test.size_curve()
        k = curve.n_annotators
        colour = pictures.PALETTE[i % len(pictures.PALETTE)]
        ax.plot(curve.size, curve.winning_rate, marker="o", markersize=3.2, color=colour, label=test.judge)
    _threshold(ax, tests[0].settings.threshold)
    ax.set_xlabel(f"items, drawn for random panels of {k} annotators")
    ax.set_ylabel("mean winning rate ω")
    return _outside_legend(ax)


def _threshold(ax: Axes, threshold: float) -> None:
    ax.axhline(threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
    ax.set_ylim(-0.04, 1.06)


def _outside_legend(ax: Axes) -> Axes:
    pictures.legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
