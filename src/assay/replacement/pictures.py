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
    """The share of studies that would end in a verdict against the number of items, one line a judge.

    Where a line reaches the power wanted is the number of items that the judge's card gives.
    """
    ax = pictures.axes(height=3.2)
    for i, test in enumerate(tests):
        found = test.items_needed
        colour = pictures.PALETTE[i % len(pictures.PALETTE)]
        ax.plot(found.sizes, found.settled, marker="o", markersize=3.2, color=colour, label=test.judge)
    _threshold(ax, tests[0].items_needed.power)
    ax.set_xscale("log")
    ax.set_xlabel("items, by these annotators")
    ax.set_ylabel("studies that end in a verdict")
    return _outside_legend(ax)


def _threshold(ax: Axes, threshold: float) -> None:
    ax.axhline(threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
    ax.set_ylim(-0.04, 1.06)


def _outside_legend(ax: Axes) -> Axes:
    pictures.legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
