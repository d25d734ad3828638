"""The options of a report."""

from __future__ import annotations

from dataclasses import dataclass

from assay.estimation.options import option
from assay.replacement.settings import AltTestSettings


@dataclass(frozen=True)
class ReportSettings(AltTestSettings):
    """Options of `report`: those of the alt-test, and which judges and domains."""

    judges: tuple[str, ...] | None = option(None, "The judges to report on, separated by commas.")
    by: str | None = option(None, "Column that tells domains apart; the criterion where the table has several.")
    title: str | None = option(None, "Headline of the page.", key="")
