"""What every picture keeps to, whatever it shows: nothing lies outside of its frame, no two names on each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

ROUNDING, PADDING = 1e-6, 10
LEAST_APART, MOST_APART, MOST_EMPTY = 12, 25, 42
"""Points from a row to the next, and what a picture may be higher than its rows are: letters have 8 or 9 points."""


def points_of(ax: Any) -> np.ndarray:
    """All points of lines and corners of bars that lie on the axes' own scales: (points, 2)."""
    lines = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    corners = [bar.get_bbox().get_points() for bar in ax.patches if hasattr(bar, "get_bbox")]
    found = np.concatenate([np.empty((0, 2)), *lines, *corners]).astype(float)
    return found[np.isfinite(found).all(axis=1)]


def assert_readable(ax: Any, *, lines: int = 1) -> None:
    """Points and bars are inside, names have room and no more of it, and what stands above covers nothing.

    ``lines`` is how many intervals stand beside each name.
    """
    ax.figure.draw_without_rendering()
    points = points_of(ax)
    for axis, (low, high) in enumerate((sorted(ax.get_xlim()), sorted(ax.get_ylim()))):
        room = ROUNDING * (high - low)
        assert points[:, axis].min() >= low - room, "a point lies outside of the frame"
        assert points[:, axis].max() <= high + room, "a point lies outside of the frame"
    for axis in (ax.xaxis, ax.yaxis):
        boxes = [one.get_window_extent() for one in axis.get_ticklabels() if one.get_text() and not one.get_rotation()]
        for one, other in itertools.pairwise(boxes):
            assert not one.overlaps(other), "names of ticks lie on each other"
    if any(one.get_text().isidentifier() for one in ax.get_yticklabels()) and len(ax.get_yticks()) > 1:
        rows = lines * len(ax.get_yticks())
        places = ax.transData.transform([(0, y) for y in ax.get_yticks()])[:, 1]
        apart = np.abs(np.diff(places)).min() * 72 / ax.figure.dpi / lines
        assert LEAST_APART <= apart <= MOST_APART + MOST_EMPTY / rows, "rows are too near, or a picture mostly empty"
    page = ax.figure.bbox
    legend = ax.get_legend()
    if legend is not None:
        box = legend.get_window_extent()
        assert page.x0 <= box.x0 < box.x1 <= page.x1, "a legend is cut off"
        assert page.y0 <= box.y0 < box.y1 <= page.y1, "a legend is cut off"
        frame = ax.bbox
        apart = [box.x0 - frame.x0, box.x1 - frame.x1, (box.x0 + box.x1 - frame.x0 - frame.x1) / 2]
        assert min(map(abs, apart)) < PADDING, "a legend is not at the left, the right or the middle of its frame"
        inside = ax.transData.transform(points)
        assert not any(box.contains(*one) for one in inside), "a legend covers points"
