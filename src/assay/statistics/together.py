"""Several statistics of the same labels, side by side: one call for their moments, one for their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats
from assay.statistics.base import PanelStatistic, Slice


@dataclass(frozen=True, eq=False)
class Together:
    """Several statistics of the same labels under the same resamples; values stand side by side.

    Attributes
    ----------
    statistics : tuple of PanelStatistic
    first_only : bool
        Whether each gives its first value only: a coefficient of pairs of annotators the mean over pairs.
    widths : tuple of int
        How many moments each statistic has.
    of_label_pairs : tuple of bool
        Whether it meets every label of an item with every other.
    """

    statistics: tuple[PanelStatistic, ...]
    first_only: bool = False
    widths: tuple[int, ...] = field(init=False)
    of_label_pairs: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(s.width for s in self.statistics))
        object.__setattr__(self, "of_label_pairs", tuple(hasattr(s, "of_label_pairs") for s in self.statistics))

    def moments(self, data: Answers) -> Floats:
        """The moments of all, side by side; what several need of the labels is made once."""
        shared = Slice.of(data)
        each = [s.moments(shared) for s in self.statistics]
        return each[0] if len(each) == 1 else np.concatenate(each, axis=1)

    def parts(self, sums: Floats) -> list[Floats]:
        """The value of each statistic from the joint sums."""
        edges = np.cumsum((0, *self.widths))
        each = zip(self.statistics, edges[:-1], edges[1:], strict=True)
        values = [s.value(sums[..., a:b]) for s, a, b in each]
        return [v[..., :1] for v in values] if self.first_only else values

    def value(self, sums: Floats) -> Floats:
        """All values, side by side."""
        return np.concatenate(self.parts(sums), axis=-1)

    def part(self, which: Sequence[int]) -> Together:
        """Some of the statistics."""
        return Together(tuple(self.statistics[i] for i in which), self.first_only)
