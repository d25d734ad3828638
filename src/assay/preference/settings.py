"""The options of the questions about preferences."""

from __future__ import annotations

from dataclasses import dataclass

from assay.estimation.options import IntervalSettings, Method, option


@dataclass(frozen=True)
class PositionSettings(IntervalSettings):
    """Options of `assay.position_bias`."""

    method: Method = option("percentile", "How intervals are made.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")
