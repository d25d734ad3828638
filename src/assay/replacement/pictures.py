"""Pictures that set several tests side by side; a test's own picture is its ``plot``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.replacement.alt_test import AltTest
from assay.replacement.decision import TONES
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def epsilon_curves(tests: Sequence[AltTest]) -> Axes:
    """omega against epsilon, one line a judge (figure 3 of the paper)."""
    ax = pictures.axes(height=3.2)
    for i, (test, (colour, dashes)) in enumerate(zip(tests, _lines(tests), strict=True)):
        curve = test.epsilon_curve()
        # Steps of equal height would hide each other; a hair's breadth keeps them apart.
        shift = (i - (len(tests) - 1) / 2) * 0.006
        ax.step(
            curve.epsilon, curve.winning_rate + shift, where="post", linewidth=1.6,
            color=colour, linestyle=dashes, label=f"{test.judge} ({test.verdict})",
        )  # fmt: skip
    _threshold(ax, tests[0].settings.threshold)
    ax.axvline(tests[0].epsilon, color=pictures.MUTED, linewidth=1)
    ax.set_xlabel("ε, what the judge's low cost is worth (line: the test's)")
    ax.set_ylabel("winning rate ω")
    return _legend_above(ax)


def size_curves(tests: Sequence[AltTest]) -> Axes:
    """The share of studies that would end in a verdict against the number of items, one line a judge.

    Where a line reaches the power wanted is the number of items that the judge's card gives.
    """
    ax = pictures.axes(height=3.2)
    for test, (colour, dashes) in zip(tests, _lines(tests), strict=True):
        found = test.items_needed
        named = f"{test.judge} ({test.verdict})"
        ax.plot(found.sizes, found.settled, marker="o", markersize=3.2, color=colour, linestyle=dashes, label=named)
    _threshold(ax, tests[0].items_needed.power)
    ax.set_xscale("log")
    ax.minorticks_off()
    ticks = [n for n in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000) if n <= tests[0].items_needed.limit]
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.set_xlabel("items, by these annotators")
    ax.set_ylabel("studies that end in a verdict")
    return _legend_above(ax)


_DASHES = ("-", "--", ":", "-.")


def _lines(tests: Sequence[AltTest]) -> list[tuple[str, str]]:
    """Colour and dashes of each judge's line: the colour is its verdict's, dashes tell judges of one verdict apart."""
    seen: dict[str, int] = {}
    found = []
    for test in tests:
        place = seen[test.verdict] = seen.get(test.verdict, -1) + 1
        found.append((pictures.TONES[TONES[test.verdict]], _DASHES[place % len(_DASHES)]))
    return found


def _threshold(ax: Axes, threshold: float) -> None:
    ax.axhline(threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
    ax.set_ylim(-0.04, 1.06)


def _legend_above(ax: Axes) -> Axes:
    pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax
