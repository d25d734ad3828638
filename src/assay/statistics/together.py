"""Several statistics of the same labels, side by side: one call for their moments, one for their values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Floats
from assay.statistics.base import Based, PanelStatistic, Slice, based


@dataclass(frozen=True, eq=False)
class Together:
    """Several statistics of the same labels under the same resamples; values stand side by side.

    Attributes
    ----------
    statistics : tuple of PanelStatistic
    first_only : bool
        Whether each gives its first value only: a coefficient of pairs of annotators the mean over pairs.
    same_labels : bool
        Whether their sums are of the same labels, so that numbers which several are made of are made once.
    widths : tuple of int
        How many moments each statistic has.
    of_label_pairs : tuple of bool
        Whether it meets every label of an item with every other.
    """

    statistics: tuple[PanelStatistic, ...]
    first_only: bool = False
    same_labels: bool = True
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
        """The value of each statistic from the joint sums; numbers that several are made of are made once."""
        edges = np.cumsum((0, *self.widths))
        made: dict[Hashable, Floats] = {}
        values = []
        for s, shared, a, b in zip(self.statistics, self._based, edges[:-1], edges[1:], strict=True):
            if shared is None:
                values.append(s.value(sums[..., a:b]))
                continue
            basis, one = shared
            if basis not in made:
                made[basis] = one.numbers(sums[..., a:b])
            values.append(one.of(made[basis]))
        return [v[..., :1] for v in values] if self.first_only else values

    @cached_property
    def _based(self) -> list[tuple[Hashable, Based] | None]:
        """The statistics that may share numbers with others, after what these are numbers of."""
        each = map(based, self.statistics) if self.same_labels else (None for _ in self.statistics)
        return [None if one is None else (one.basis, one) for one in each]

    def value(self, sums: Floats) -> Floats:
        """All values, side by side."""
        return np.concatenate(self.parts(sums), axis=-1)

    def part(self, which: Sequence[int]) -> Together:
        """Some of the statistics."""
        return replace(self, statistics=tuple(self.statistics[i] for i in which))
