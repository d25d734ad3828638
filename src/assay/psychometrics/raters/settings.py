"""The options of the rater models, stated once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from assay.estimation.options import Settings, option

Kept = Literal["error", "first", "last", "majority", "each"]
Reference = Literal["all", "humans", "judges"]


class FacetOptions(TypedDict, total=False):
    """Which labels a rater model is fitted to.

    Attributes
    ----------
    annotators : tuple of str
        Whose labels count; all when not given.
    repeats : {"error", "first", "last", "majority", "each"}
        What several answers of one annotator to one item stand for; ``each`` counts every one.
    reverse : tuple of str
        Criteria that are worded negatively: their labels are turned round on the scale.
    object : str
        The item column whose items share a trait: the teacher of several lessons. Each item has its own when not given.
    """

    annotators: tuple[str, ...] | None
    repeats: Kept
    reverse: tuple[str, ...] | None
    object: str | None


def as_given(options: FacetOptions) -> dict[str, Any]:
    """The options with names as tuples, one name alone too."""
    given: dict[str, Any] = dict(options)
    for name in ("annotators", "reverse"):
        one = given.get(name)
        given[name] = None if one is None else (one,) if isinstance(one, str) else tuple(one)
    return given


@dataclass(frozen=True)
class FacetSettings(Settings):
    """Which labels a rater model is fitted to; see `FacetOptions`."""

    annotators: tuple[str, ...] | None = option(None, "Annotators whose labels count, separated by commas.")
    repeats: Kept = option("error", "What repeated answers stand for.")
    reverse: tuple[str, ...] | None = option(None, "Criteria that are worded negatively, separated by commas.")
    object: str | None = option(None, "Item column whose items share a trait, such as a teacher's lessons.")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class RaterSettings(FacetSettings):
    """Options of `assay.rater_model`."""

    group: str | None = option(None, "Item column with the group of the subject: is anybody severer with one?")
    baseline: str | None = option(None, "The group that others are compared with; the largest when not given.")
    reference: Reference = option(
        "all", "Raters whose mean difference between groups counts as no bias, but for who is shown to differ."
    )
    rope: float = option(0.1, "Differences up to so many categories do not matter in practice.", low=0)
    dimensions: Mapping[str, Any] | None = option(None, "The trait of each criterion.", hidden=True)
    quick: bool = option(False, "Penalised maximum likelihood in place of sampling.")
    starts: int = option(10, "Fits from other starts, of which the best counts.", low=1)
    nodes: int = option(21, "Points at which each trait is evaluated.", low=3)
    chains: int = option(4, "Chains that are sampled.", low=2)
    warmup: int = option(500, "Draws of each chain that are thrown away.", low=50)
    draws: int = option(1000, "Draws of each chain that count; quick: of all together.", low=100)


@dataclass(frozen=True)
class RaschSettings(FacetSettings):
    """Options of `assay.many_facet_rasch`."""

    nodes: int = option(31, "Points at which the trait is evaluated.", low=5)
