"""The protocols of a statistic: the moments of each item, and the value of their sums.

Nearly every statistic here is a smooth function of sums over items. It defines ``moments(data)``, the contribution of
each item, and ``value(sums)``, the statistic of the summed moments, broadcasting over leading axes. Everything else
follows from that: a bootstrap is one matrix product of resampling counts with the moments and one call; a jackknife is
the total less each item and one call; a paired difference is two values under the same resamples; clusters are items
summed before they are resampled; a table larger than memory is summed piece by piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Data_contra = TypeVar("Data_contra", contravariant=True)
Data = TypeVar("Data")


class Statistic(Protocol[Data_contra]):
    """What `assay.estimation.resampling.estimate` needs to know of a statistic."""

    def moments(self, data: Data_contra) -> Floats:
        """Return the contribution of each item: (items, k). Centre the labels first if squares are summed."""

    def value(self, sums: Floats) -> Floats:
        """Return the statistic of summed moments: (..., k) -> (..., q). NaN if it is undefined."""


class Estimated(Protocol):
    """A statistic whose sums are known already."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., k) -> (..., q)."""


class MultipleEstimates(Estimated, Protocol):
    """Several statistics of the same data, with concatenated sums."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of sums of each statistic."""

    def part(self, which: Sequence[int]) -> MultipleEstimates:
        """Some of them."""
