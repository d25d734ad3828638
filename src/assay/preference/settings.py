"""The options of the questions about preferences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from assay.estimation.options import IntervalSettings, Method, option
from assay.preference.pairs import Choose
from assay.similarity.registry import FOR_HELP

Who = Literal["humans", "judges", "annotators"]
Bins = Literal["width", "count"]
Tied = Literal["half", "davidson", "drop"]
Span = Literal["study", "none"]


@dataclass(frozen=True)
class PositionSettings(IntervalSettings):
    """Options of `assay.position_bias`."""

    method: Method = option("percentile", "How intervals are made.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")


@dataclass(frozen=True)
class VotesSettings(IntervalSettings):
    """Which votes count, and how intervals are made."""

    systems: tuple[str, ...] | None = option(None, "The systems to look at, separated by commas; all when not given.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")


@dataclass(frozen=True)
class SetSettings(VotesSettings):
    """Options of `assay.consistency` and `assay.preference_strength`."""

    by: str | None = option(None, "Column that tells sets apart: a number is cut into bins, such as separability.")
    bins: int = option(4, "Into how many bins a column of numbers is cut.", low=1)
    binning: Bins = option("width", "Bins of equal width, or of equally many sets.")
    who: tuple[Who, ...] = option(("humans", "judges"), "Whose votes: people together, each judge, each annotator.")
    choose: Choose | None = option(None, "How many ratings are saved where items are chosen so by separability.")
    share: float = option(0.5, "With choose: the share of the items that is rated.", above=0, below=1)


@dataclass(frozen=True)
class RatingSettings(VotesSettings):
    """What `assay.elo` and `assay.bradley_terry` share."""

    method: Method = option("percentile", "How intervals are made.")
    scale: float = option(400.0, "Points by which the odds grow by the factor base.", above=0)
    base: float = option(10.0, "Factor of the odds that scale points are worth.", above=1)
    start: float = option(1000.0, "Elo: every system's first rating. Bradley-Terry: the mean rating.")
    separability: str | None = option(None, "Column by which votes are weighted: eq. 6 with alpha, beta and threshold.")
    alpha: float = option(2.0, "The weight of a vote on an item that is very separable.", above=0)
    beta: float = option(6.0, "How fast weights grow with separability.", above=0)
    threshold: float = option(0.4, "Separability at which a vote weighs half of alpha.")


@dataclass(frozen=True)
class EloSettings(RatingSettings):
    """Options of `assay.elo`."""

    k: float = option(32.0, "How far one vote moves a rating.", above=0)
    order: str | None = option(None, "Column that says in which order votes came; random orders when not given.")
    n_orders: int = option(100, "Random orders of the votes; ratings are their mean.", low=1)


@dataclass(frozen=True)
class BradleyTerrySettings(RatingSettings):
    """Options of `assay.bradley_terry`."""

    ties: Tied = option("half", "A tie is half a vote for each, has a chance of its own, or counts for none.")
    prior: float = option(0.0, "Votes added to every pair, half for each: finite ratings for who never lost.", low=0)


@dataclass(frozen=True)
class SeparabilitySettings(VotesSettings):
    """Options of `assay.separability`."""

    similarity: Any = option("rouge-1", f"How alike texts are: {FOR_HELP}.")
    by: str | None = option(None, "Item column, such as a benchmark, for each of whose values means are given.")
    span: Span = option("study", "Put alignments on 0 to 1 by the least and largest of the study, or leave them.")
