"""The options of generalizability: G-studies, D-studies and disattenuated correlations, stated once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from assay.data.annotations import Repeats
from assay.estimation.options import Settings, option

Estimator = Literal["reml", "ml", "anova"]
How = Literal["profile", "delta", "parametric", "objects", "none"]
Confounded = Literal["merge", "refuse"]
Merged = Literal["careful", "usual"]
Coefficient = Literal["generalizability", "dependability"]
Reading = Literal["sum", "composite"]
Another = Literal["other", "same"]
Weights = Literal["pairs", "objects"]


class DesignOptions(TypedDict, total=False):
    """Which labels a design is fitted to, and how.

    Attributes
    ----------
    facets : mapping of facet to column
        Columns of the answers, the items or the annotators; a facet that is not named is a column of that name.
    annotators : tuple of str
        Whose labels count; all when not given.
    repeats : {"error", "first", "last", "mean", "majority", "each"}
        What several answers of one annotator to one item stand for, where ``repeat`` is no facet.
    omit : tuple of str
        Effects that are taken to be nothing: their variance, if there is any, is in the residual.
    reverse : tuple of str
        Criteria that are worded negatively: their labels are turned round on the scale.
    confounded : {"merge", "refuse"}
        What becomes of effects that these labels cannot tell apart.
    least_contrasts : int
        Effects are told apart by at least so many differences; 3 by default.
    estimator : {"reml", "ml", "anova"}
        Restricted or full maximum likelihood, or the analysis of variance (Henderson's method 1).
    """

    facets: Mapping[str, str] | None
    annotators: tuple[str, ...] | None
    repeats: Repeats
    omit: tuple[str, ...] | None
    reverse: tuple[str, ...] | None
    confounded: Confounded
    least_contrasts: int
    estimator: Estimator


@dataclass(frozen=True)
class DesignSettings(Settings):
    """Which labels a design is fitted to, and how; see `DesignOptions`."""

    design: str = option("", "Facets crossed (x) and nested (:), such as 'r x (o:i)'.", always=True)
    object: str = option("", "The facet whose levels are measured.", always=True)
    facets: Mapping[str, str] | None = option(None, "The column of each facet.", key="", hidden=True)
    annotators: tuple[str, ...] | None = option(None, "Annotators whose labels count.")
    repeats: Repeats = option("error", "What repeated answers stand for.")
    omit: tuple[str, ...] | None = option(None, "Effects taken to be nothing, separated by commas: ro:i.")
    reverse: tuple[str, ...] | None = option(None, "Criteria that are worded negatively, separated by commas.")
    confounded: Confounded = option("merge", "What becomes of effects that cannot be told apart.")
    least_contrasts: int = option(3, "Differences that tell two effects apart, at least.", low=1)
    estimator: Estimator = option("reml", "How variances are estimated.")


@dataclass(frozen=True)
class GStudySettings(DesignSettings):
    """Options of `assay.g_study`."""

    fixed: tuple[str, ...] | None = option(None, "Facets whose levels are all there are, separated by commas.")
    by: str | None = option(None, "A column whose values are studied one by one: kind for people and judges apart.")
    method: How | None = option(
        None, "How intervals are made; by profile where variances come from a likelihood, by delta for large tables."
    )
    n_resamples: int = option(200, "Samples drawn, where intervals come from some.", low=20, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class DStudySettings(Settings):
    """Options of `GStudy.d_study`."""

    sizes: Mapping[str, tuple[int, ...]] | None = option(None, "How many levels of each facet.", hidden=True)
    target: float = option(0.7, "The coefficient that is to be reached.", above=0, below=1)
    coefficient: Coefficient = option("dependability", "Which coefficient is to reach it.")
    along: str | None = option(None, "The facet whose smallest number is looked for.")
    price: float | None = option(None, "What one rating costs.", low=0)
    prices: Mapping[str, float] | None = option(None, "What one level of a facet costs.", hidden=True)
    merged: Merged = option(
        "careful", "Whether merged variance shrinks only with facets that all of its effects share."
    )


class LoopOptions(TypedDict, total=False):
    """Options of `GStudy.human_in_the_loop`; see `assay.psychometrics.decisions.human_in_the_loop`."""

    sizes: Sequence[int]
    along: str | None
    raters: str | None
    human: str | None
    judge: str | None
    of_human: Mapping[str, int] | None
    of_judge: Mapping[str, int] | None
    ensemble: int
    reading: Reading
    another: Another
    correlation: float
    target: float
    merged: Merged
    price: float | None
    judge_price: float


@dataclass(frozen=True)
class LoopSettings(Settings):
    """Options of `GStudy.human_in_the_loop`."""

    sizes: tuple[int, ...] = option((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "Numbers of lessons, or whatever is shared.")
    along: str | None = option(None, "The facet that people and judges share.")
    raters: str | None = option(None, "The facet of raters, which they do not share.")
    human: str | None = option(None, "The study of people.")
    judge: str | None = option(None, "The study of judges.")
    of_human: Mapping[str, int] | None = option(None, "Levels of further facets that a person sees.", hidden=True)
    of_judge: Mapping[str, int] | None = option(None, "Levels of further facets that a judge sees.", hidden=True)
    ensemble: int = option(3, "Judges of an ensemble.", low=2)
    reading: Reading = option("sum", "Equation 8 as printed, or the variance of the mean of both.")
    another: Another = option("other", "Whether the other person sees other lessons, or the same.")
    correlation: float = option(1.0, "Of people's and judges' universe scores, for the mean of both.", low=-1, high=1)
    target: float = option(0.7, "The Φ that is to be reached.", above=0, below=1)
    merged: Merged = option(
        "careful", "Whether merged variance shrinks only with facets that all of its effects share."
    )
    price: float | None = option(None, "What a person's rating costs.", low=0)
    judge_price: float = option(0.0, "What a judge's rating costs.", low=0)


@dataclass(frozen=True)
class DisattenuationSettings(DesignSettings):
    """Options of `assay.disattenuated_correlation`."""

    different: str | None = option(None, "The facet in which two scores of an object must differ.")
    by: str = option("kind", "The column that tells the two families apart.")
    families: tuple[str, ...] | None = option(None, "The two values of that column.")
    weights: Weights = option("pairs", "Whether every pair of scores counts alike, or every object.")
    n_resamples: int = option(200, "Resamples of the objects.", low=20, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)
    n_pairs: int = option(1500, "Pairs of each published resample.", low=20)
    observed_high: float = option(0.3, "An observed correlation of this size looks good.", low=0, high=1)
    implied_low: float = option(0.5, "An implied correlation below this is spurious agreement.", low=0, high=1)
