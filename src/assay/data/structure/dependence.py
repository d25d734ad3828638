"""The three counts that show how a table is made: broken dependences, repeated rows, and sameness of labels.

All of them are counts of rows: they depend neither on names nor on the order of rows and columns, and nothing is drawn
at random. Columns are arrays of codes, −1 where a cell is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

LEAST_EXPECTED = 5.0
"""Rows that chance has to break (or repeat) before their absence shows anything; with fewer, the data do not decide."""

SLIPS = 0.02
"""Largest share of rows that break a dependence by mistake."""

SLIPS_OF_CHANCE = 0.10
"""Largest number of broken rows relative to chance: a label that is nearly always 1 breaks few rows by itself."""

REPEATED = 0.05
"""Largest share of rows that repeat a key by mistake."""

REPEATED_OF_CHANCE = 0.20
"""Largest number of repeated rows relative to chance."""


class Dependence(NamedTuple):
    """Whether each value of one column has a single value of another."""

    broken: int
    """Rows that differ from the most common value of their group."""
    could: int
    """Rows that could differ: all but one of each group."""
    chance: float
    """Expected number of broken rows if the second column were independent of the first."""

    @property
    def holds(self) -> bool | None:
        """Whether the second column belongs to the first; None if there are too few rows."""
        if self.chance < LEAST_EXPECTED:
            return None
        return self.broken <= SLIPS * self.could and self.broken <= SLIPS_OF_CHANCE * self.chance


def crossed(columns: Sequence[Codes]) -> Codes:
    """Return the codes of the combinations of several columns; −1 where one of them is empty."""
    return columns[0] if len(columns) == 1 else _coded(_joined(columns))


def _joined(columns: Sequence[Codes]) -> Codes:
    """A number for each combination of several columns, in their order and with gaps; −1 where one is empty."""
    found = columns[0]
    for other in columns[1:]:
        width = int(other.max(initial=0)) + 1
        if int(found.max(initial=0)) >= LARGEST_NUMBER // width:
            found = _coded(found)
        found = np.where((found < 0) | (other < 0), -1, found * width + other)
    return found


LARGEST_NUMBER = 2**62


def _coded(numbers: Codes) -> Codes:
    """Numbers without gaps, in their order; −1 stays."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1) - int((numbers < 0).any())


def dependence(of: Codes, on: Codes) -> Dependence:
    """Return whether the column ``of`` is a function of the column ``on``, in rows where both are filled."""
    there = (of >= 0) & (on >= 0)
    a, b = on[there], of[there]
    if not len(a):
        return Dependence(0, 0, 0.0)
    width = int(b.max()) + 1
    pairs, often = np.unique(a * width + b, return_counts=True)
    group = pairs // width
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    could = len(a) - len(starts)
    share = np.bincount(b) / len(b)
    return Dependence(len(a) - int(np.maximum.reduceat(often, starts).sum()), could, could * float(1 - share @ share))


class Repetition(NamedTuple):
    """How often rows repeat a combination of columns."""

    rows: int
    repeats: int
    chance: float
    """Expected number of repeats if one of the columns were permuted, for the column with the fewest."""

    @property
    def is_key(self) -> bool | None:
        """Whether the columns identify a row; None if there are too few rows."""
        if self.repeats > REPEATED * self.rows:
            return False
        if self.chance < LEAST_EXPECTED:
            return None
        return self.repeats <= REPEATED_OF_CHANCE * self.chance


def identify_rows(columns: Sequence[Codes]) -> bool | None:
    """Return whether columns identify a row, without what chance would repeat where too many rows do."""
    n, repeats = _count_repeats(_filled(columns))
    return False if repeats > REPEATED * n else repetition(columns).is_key


def _filled(columns: Sequence[Codes]) -> list[Codes]:
    there = np.logical_and.reduce([one >= 0 for one in columns])
    return [one[there] for one in columns]


def _count_repeats(columns: Sequence[Codes]) -> tuple[int, int]:
    """Return the numbers of rows and of repeats."""
    n = len(columns[0])
    return n, n - len(np.unique(_joined(columns)))


def repetition(columns: Sequence[Codes]) -> Repetition:
    """Return how often rows repeat a combination of columns, in rows where all are filled."""
    columns = _filled(columns)
    n, repeats = _count_repeats(columns)
    if not n:
        return Repetition(0, 0, 0.0)
    chances = []
    for i, member in enumerate(columns):
        others = [one for j, one in enumerate(columns) if j != i]
        sizes, often = np.unique(np.bincount(crossed(others)), return_counts=True)
        free = 1 - np.bincount(member) / n
        # A group of s rows has Σ (1 − (1 − share)^s) different members on average.
        different = sum(int(c) * float(np.sum(1 - free ** int(s))) for s, c in zip(sizes, often, strict=True) if s)
        chances.append(n - different)
    return Repetition(n, repeats, min(chances))


def sameness(unit: Codes, label: Codes, numbers: NDArray[np.float64] | None) -> float:
    """Return how much labels agree within a unit: 1 − disagreement within units / overall.

    Squared differences for ``numbers`` (the number of each label's code), unequal labels for words. NaN where no unit
    has two labels or all labels are equal.
    """
    there = (unit >= 0) & (label >= 0)
    u, v = unit[there], label[there]
    if len(u) < 2:
        return float("nan")
    size = np.bincount(u)
    if numbers is not None:
        x = numbers[v]
        finite = np.isfinite(x)
        u, x = u[finite], x[finite]
        size = np.bincount(u)
        x = x - x.mean() if len(x) else x
        total, squares = np.bincount(u, x), np.bincount(u, x * x)
        within = 2 * (size * squares - total**2).sum()
        overall = 2 * (len(x) * (x * x).sum() - x.sum() ** 2)
        pairs, every = (size * (size - 1)).sum(), len(x) * (len(x) - 1)
    else:
        width = int(v.max()) + 1
        same = np.unique(u * width + v, return_counts=True)[1]
        pairs, every = (size * (size - 1)).sum(), len(v) * (len(v) - 1)
        within = pairs - (same * (same - 1)).sum()
        often = np.bincount(v)
        overall = every - (often * (often - 1)).sum()
    if not pairs or not overall:
        return float("nan")
    return 1 - float(within / pairs) / float(overall / every)
