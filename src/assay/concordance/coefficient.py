"""A coefficient of agreement: its definition, its requirements, its options, and the estimate with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from assay.concordance import words
from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Label, Scale
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimate, EstimateByRule, Estimates, Transform, interaction_of, near_the_ends
from assay.estimation.options import Adjustment, IntervalSettings, Limits, Raters, option
from assay.estimation.resampling import Sums, Units
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.small_samples import Score, Tailed
from assay.estimation.statistic import Estimated, Floats, Ints
from assay.reporting import pictures
from assay.statistics.categories import (
    Alpha,
    ChanceCorrected,
    LabelDistance,
    Level,
    PanelStatistic,
    Patterns,
    Thresholds,
    Together,
    Weights,
    curve,
    grid,
)
from assay.statistics.pairs import MeanOfPairs, PairStatistic, mean_first
from assay.statistics.ranks import PairRanks, Ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- options of agreement, its coefficients and the study of grading scales ------------------------

Who = Literal["humans", "judges", "pairs", "consensus", "rest", "human pairs", "random human"]
CorrelationKind = Literal["pearson", "spearman", "kendall"]
Estimator = Literal["anova", "components", "reml"]
Model = Literal["random", "mixed"]


@dataclass(frozen=True, kw_only=True)
class PanelSettings(IntervalSettings):
    """Options of every analysis of agreement: the population of raters, and repeated labels."""

    raters: Raters | None = option(
        None,
        "Treat annotators as fixed, or as a random sample of annotators.",
        details="With random raters each annotator is left out in turn, as well as each item; this requires the "
        "jackknife and three annotators. Default: random for ICCs of random annotators and studies of grading scales, "
        "fixed for all others.",
    )
    repeats: Repeats = option(
        "error",
        "How to combine repeated labels.",
        details="With error, a table with repeated labels is refused.",
        first=True,
    )
    clusters: str | None = option(None, "Column that groups dependent items, such as the document.")

    def raters_for(self, *, random: bool) -> Raters:
        """Return ``raters`` if it is given; else the default, random only for coefficients of a rater population.

        Raises
        ------
        DesignError
            For a bootstrap with random raters.
        """
        if self.raters == "random" and self.method in ("percentile", "bca"):
            raise DesignError(
                f"a bootstrap ({self.method}) draws annotators with replacement, and an annotator who is drawn twice "
                "agrees with itself; use method='jackknife' or raters='fixed'"
            )
        return self.raters or ("random" if random and self.method == "jackknife" else "fixed")


OLD_RATERS = {"these": "raters='fixed'", "sample": "raters='random'"}
"""Old values of ``annotators=``, which are now values of ``raters=``."""


@dataclass(frozen=True)
class CoefficientSettings(PanelSettings):
    """Options of every coefficient of agreement."""

    annotators: Sequence[str] | None = option(None, "Annotators to compare, in this order (default: all).")

    def __post_init__(self) -> None:
        if isinstance(self.annotators, str) and self.annotators in OLD_RATERS:
            new = OLD_RATERS[self.annotators]
            raise DesignError(f"annotators='{self.annotators}' is now {new}", option="annotators")
        super().__post_init__()


@dataclass(frozen=True)
class BiasSettings(CoefficientSettings):
    """Options of `assay.measures.bias`."""

    annotators: Annotated[Sequence[str], Limits("The two annotators, in order: second minus first.")] = field()

    def __post_init__(self) -> None:
        given = self.annotators
        if isinstance(given, str) or (isinstance(given, Sequence) and len(given) != 2):
            got = given if isinstance(given, str) else len(given)
            raise DesignError(f"bias requires the names of two annotators (second minus first); got {got}")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class WithinSettings(CoefficientSettings):
    """Options of `assay.measures.within_agreement`."""

    k: float = option(
        1.0,
        "Distance up to which labels count as equal.",
        low=0,
        always=True,
        details="In categories for named categories, in units of the scale for numbers.",
    )


@dataclass(frozen=True, kw_only=True)
class WeightedSettings(CoefficientSettings):
    """Options of `cohen_kappa`, `conger_kappa`, `gwet_ac` and `brennan_prediger`."""

    weights: Weights | LabelDistance = option(
        "none",
        "Credit for nearby labels.",
        details="linear, quadratic and ordinal require ordered labels. Or a symmetric function of two labels: 1 for "
        "equal labels, less for others.",
    )


@dataclass(frozen=True, kw_only=True)
class AlphaSettings(CoefficientSettings):
    """Options of `assay.measures.krippendorff_alpha`."""

    level: Level | LabelDistance | None = option(
        None,
        "Distance of two labels.",
        key="distance",
        details="nominal: any; ordinal: ranks between; interval: squared difference; ratio: squared relative "
        "difference; or a symmetric function of two labels, 0 for equal labels. Default: that of the scale (nominal "
        "for categories, ordinal for Ordinal, interval for Interval).",
    )


@dataclass(frozen=True, kw_only=True)
class CorrelationSettings(CoefficientSettings):
    """Options of `assay.measures.correlation`."""

    kind: CorrelationKind = option(
        "spearman",
        "Kind of correlation.",
        details="Pearson's r (numeric labels), Spearman's ρ from midranks, or Kendall's (1945) τ-b, which corrects for "
        "ties; the last two require only ordered labels.",
    )


@dataclass(frozen=True, kw_only=True)
class ICCTableSettings(CoefficientSettings):
    """Options of `assay.measures.icc_table`."""

    estimator: Estimator | None = option(
        None,
        "Estimator of the variances.",
        details="anova is the analysis of variance of complete items; items with a missing label are excluded and "
        "counted. components uses incomplete tables whole, by Henderson's (1953) method 1. reml is restricted maximum "
        "likelihood, as in g_study, for up to 30 annotators; it differs from the others if labels are missing or a "
        "variance would be below 0. Default: anova for complete tables, else components.",
    )


@dataclass(frozen=True, kw_only=True)
class ICCSettings(ICCTableSettings):
    """Options of `assay.measures.icc`."""

    form: str = option(
        "ICC(A,1)",
        "Form of the intraclass correlation.",
        details="ICC(1), ICC(1,k), ICC(C,1), ICC(C,k), ICC(A,1), ICC(A,k), or the aliases ICC(1,1), ICC(2,1), "
        "ICC(3,1), ICC(2,k), ICC(3,k), ICC(k).",
    )
    model: Model = option(
        "random",
        "Treat annotators as a random sample, or as the only annotators of interest (mixed).",
        details="The estimate is the same; the interval treats raters as random, or as fixed.",
    )
    k: float | None = option(
        None,
        "Number of labels that are averaged, for the forms with k.",
        low=1,
        details="Default: the number of annotators; in an incomplete table the harmonic mean number of labels per "
        "item.",
    )


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(PanelSettings):
    """Options of `assay.agreement`."""

    coefficients: Sequence[str] | None = option(
        None,
        "Names such as cohen-kappa or icc(a,1), separated by commas (default: all that the scale allows).",
        first=True,
    )
    who: Sequence[Who] | None = option(
        None,
        "Kinds of comparison, separated by commas (default: all).",
        details="humans and judges: all of them as a panel. pairs: each pair of annotators. consensus: the human "
        "consensus with each judge and with the judges' consensus. The consensus is the mean for coefficients of "
        "numbers. For coefficients of categories it is the median of ordered labels (a median between two labels "
        "becomes the one nearer the middle of the scale), else the majority (an item on which two categories are tied "
        "has no consensus and is counted in the exclusions). rest: each annotator with the consensus of the others of "
        "its kind. human pairs: each judge with all humans, and humans with each other, over the pairs of labels of an "
        "item, with equal weights for items. random human: each annotator with a human drawn for each item (Hardy, "
        '"All that glitters", figure 1). The estimate is the mean over draws; the interval uses draws with items '
        "resampled.",
        first=True,
    )
    by: str | None = option(
        None,
        "Analyse each value of this column separately.",
        details="A column of the items (benchmark, language) or of the labels adds an analysis for each of its values. "
        "A column of the annotators (gender, expertise) adds an analysis of the humans with each value and all judges.",
        first=True,
    )
    draws: int = option(
        1000, "Draws of one human per item, for 'random human'.", low=1, details="The paper's number is 1,000."
    )
    family: str | None = option(
        None,
        "Annotator column with the family of each judge, for 'random human'.",
        details="From each family with two or more judges one is drawn for each item, like the human (Hardy, section "
        "4.1). Default: all judges are one family. Humans are always one family.",
    )
    adjust: Adjustment = option(
        "holm",
        "Multiplicity adjustment of p-values.",
        always=True,
        details="Over all rows of one coefficient in one kind of comparison.",
    )

    renamed: ClassVar[Mapping[str, str]] = {"annotators": "raters='fixed' or raters='random'"}

    def __post_init__(self) -> None:
        for name in ("coefficients", "who"):
            # Each name once: a repeated row would count twice in the adjustment of p-values.
            names = getattr(self, name)
            if names is not None:
                object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(dict.fromkeys(names)))
        super().__post_init__()


@dataclass(frozen=True)
class GradingScaleSettings(PanelSettings):
    """Options of `assay.grading_scale_study`."""

    scale_column: str = option(
        "scale",
        "Column with the scale of each label: 0-5, 0-100.",
        details="It is an experimental condition of the table.",
        first=True,
    )
    _: KW_ONLY
    ranges: Mapping[str, tuple[float, float]] | None = option(
        None, "Lowest and highest number of each scale whose name is not a range.", hidden=True
    )
    by: str | None = option(
        None,
        "Item column (benchmark) for an analysis of each value, in addition to the pooled analysis.",
        details="Default: the only text column of the items with 2 to 12 values of at least 10 items each, or one "
        "named benchmark, dataset, task, domain, subset or source; a note names it. none for no column.",
        first=True,
    )
    group: str | None = option(None, "Annotator column (gender, expertise) whose groups are compared with the judges.")
    condition: str | None = option(None, "Column with another experimental condition of the judges (temperature).")
    baseline: Any = option(None, "Value of that condition in the main analysis.")
    well_aligned: float = option(
        0.1, "Largest distance on 0-1 of a well-aligned item.", low=0, high=1, details="The paper's value is 0.1."
    )

    renamed: ClassVar[Mapping[str, str]] = {
        "scale": "scale_column=...",
        "threshold": "well_aligned=...",
        "annotators": "raters='fixed' or raters='random'",
    }


# -- intervals if few items determine the coefficient -----------------------------------------------
# The jackknife estimates the variance of a coefficient from the observed items. If few items determine it, this fails:
# with one agreed item of a rare label and none without agreement, the jackknife variance is near 0. The score interval
# (Donner & Eliasziw 1992) contains instead the true values that are compatible with the coefficient, each with the
# standard error under that value. `benchmarks/agreement_intervals.py` compares both.

FEW = 20
"""Items with a label other than the most frequent one, or with two different labels: with fewer of either, few items
determine the coefficient. A larger number would widen intervals for which the jackknife is adequate."""

FEW_CLUSTERS = 15
"""With fewer, the jackknife covers up to .03 less (60 items in clusters of 5 and 10)."""

LEAST = 5
"""Items with a label other than the most frequent one, below which a chance-corrected coefficient has no interval: no
method that was tried had the stated coverage there on both sides."""

MOST_RARE = 0.25
"""Largest share of a rare label, the rarer of two. The jackknife of κ covers .83 at 5% and 200 items, and at least .93
from 25% on, by `benchmarks/agreement_rare.py`."""

MOST_ITEMS = 10_000
"""Above this number of items, few items do not determine a coefficient. Items are also merged into blocks from here."""

MOST_RARE_VALUES = 7
"""Most different labels whose patterns are enumerated: three annotators have 343 patterns of seven labels."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of the labels of a table over categories, computed once for all coefficients."""

    ratings: Ratings

    @cached_property
    def answers(self) -> Answers | None:
        """The labels, if they are in memory."""
        source = self.ratings.source
        return source if isinstance(source, Answers) else None

    @cached_property
    def value_counts(self) -> tuple[Floats, Ints]:
        """The different labels in ascending order, and their frequencies."""
        return np.unique(() if self.answers is None else self.answers.value, return_counts=True)

    @cached_property
    def few(self) -> tuple[int, int]:
        """The items with a label other than the most frequent one, and the items with two different labels."""
        assert self.answers is not None
        item, value = self.answers.item, self.answers.value
        values, number = self.value_counts
        first = value[np.searchsorted(item, item)]
        rare, split = (len(np.unique(item[value != other])) for other in (values[number.argmax()], first))
        return rare, split

    def rule(
        self, measure: Measure, found: Estimates, i: int, statistic: PanelStatistic | Ranks
    ) -> Score | Tailed | str | None:
        """The small-sample interval of a value, or the reason for none; None if many items determine the value."""
        applies = found.method == "jackknife" and len(found.leave_one_out) > 0 and found.raters != "random"
        if not applies or not np.isfinite(found.value[i]) or self.answers is None:
            return None
        if measure.tails:
            return self._heavy_tails(found, i, self.answers)
        if isinstance(statistic, Ranks) or found.transform[i] not in ("fisher", "rank"):
            return None
        if measure.item_rate and self.unseen is not None and self.ratings.n_items <= MOST_ITEMS:
            return self._own_thresholds(measure, statistic)
        if not 1 < len(self.value_counts[0]) <= MOST_RARE_VALUES or self.ratings.n_items > MOST_ITEMS:
            return None
        rates = self._own_thresholds(measure, statistic)
        if rates is not None:
            return rates
        rare, split = self.few
        if measure.rare_label and rare < LEAST:
            return self._rare_label_reason(rare)
        clustered = self.ratings.clusters is not None and found.n_units < FEW_CLUSTERS
        if min(rare, split) >= FEW and not clustered:
            return None
        patterns = self.joint_patterns if isinstance(statistic, Alpha | ChanceCorrected) else self.separate_patterns
        if patterns is None or patterns.too_many_for(statistic):
            return None
        return Score(*curve(statistic, patterns, self.ratings.n_items), stepwise=not measure.rare_label)

    def _own_thresholds(self, measure: Measure, statistic: PanelStatistic) -> Score | None:
        """The interval for a rare label of two, given by raters with different thresholds, for any number of items."""
        number = self.value_counts[1]
        rare = self.unseen is not None or (len(number) == 2 and number.min() <= MOST_RARE * number.sum())
        if not rare or self.ratings.clusters is not None or not (measure.rare_label or measure.item_rate):
            return None
        patterns = self.item_rates if measure.item_rate else self.low_rates
        if patterns is None:
            return None
        values, errors = curve(statistic, patterns, self.ratings.n_items)
        known = np.isfinite(values) & np.isfinite(errors)
        how = "score interval for raters with different thresholds"
        return Score(values[known], errors[known], name="score-rates", words=how) if known.any() else None

    @cached_property
    def joint_patterns(self) -> Patterns | None:
        """The patterns of these labels, for any annotator."""
        return None if self.answers is None else Patterns.of(self.answers, anyone=True)

    @cached_property
    def separate_patterns(self) -> Patterns | None:
        """The patterns of these labels, separately for each annotator."""
        return None if self.answers is None else Patterns.of(self.answers, anyone=False)

    @cached_property
    def low_rates(self) -> Thresholds | None:
        """The patterns of two labels, at a low rate of the rarer."""
        return None if self.answers is None else Thresholds.of(self.answers, item_rate=False)

    @cached_property
    def item_rates(self) -> Thresholds | None:
        """The same, at the rate of items."""
        return None if self.answers is None else Thresholds.of(self.answers, item_rate=True, unseen=self.unseen)

    @cached_property
    def unseen(self) -> float | None:
        """The label of two that no annotator gave."""
        values = self.value_counts[0]
        if len(values) != 1 or self.ratings.scale.categories is None or len(self.ratings.scale.categories) != 2:
            return None
        return float(next(one for one in self.ratings.categories if one != values[0]))

    def _heavy_tails(self, found: Estimates, i: int, answers: Answers) -> Tailed | None:
        """The interval for the root mean square of labels with many values, which can have heavy tails."""
        if len(found.leave_one_out) < 2 or found.unit not in ("items", "clusters"):
            return None
        if len(self.value_counts[0]) <= min(MOST_VALUES, len(answers.value) / 2):
            return None
        n, scale = found.n_units, self.ratings.scale
        highest = span(scale) if scale.numeric and scale.bounds is not None else np.inf
        # For two annotators, the jackknife pseudovalues of the mean square are the squares.
        squares = n * found.value[i] ** 2 - (n - 1) * found.leave_one_out[:, i] ** 2
        return Tailed(squares, max(len(np.unique(answers.annotator)) - 1, 1), highest)

    def _rare_label_reason(self, rare: int) -> str:
        values, number = self.value_counts
        label = label_of(self.ratings, float(values[number.argmin()]))
        name = f"{label:g}" if isinstance(label, float) else str(label)
        one = "item has" if rare == 1 else "items have"
        return (
            f"only {rare} {one} a label other than the most frequent one, and an interval requires {LEAST}: the label "
            f"'{name}' is too rare; label more items to which it applies"
        )


def label_of(ratings: Ratings, value: float) -> Label:
    """Return the label of a number, as in the file."""
    names = ratings.source.categories
    if names is None and not ratings.scale.numeric and ratings.scale.kind != "preference":
        names = ratings.scale.categories
    return value if names is None else names[int(value)]


def label_word(ratings: Ratings, value: float) -> str:
    """Return the label of a number, as in a table."""
    label = label_of(ratings, value)
    return f"{label:g}" if isinstance(label, float) else ratings.scale.word(label)


# -- the definition of a coefficient ----------------------------------------------------------------

Needs = Literal["labels", "categories", "order", "ordered categories", "numbers", "range"]

NEEDS: dict[Needs, tuple[str, Callable[[Scale], bool]]] = {
    "labels": ("labels other than free text", lambda s: s.kind != "text"),
    "categories": ("categories", lambda s: s.categories is not None or s.kind == "nominal"),
    "order": ("ordered labels", lambda s: s.ordered),
    "ordered categories": ("ordered categories", lambda s: s.ordered and s.categories is not None),
    "numbers": ("numeric labels", lambda s: s.numeric),
    "range": ("a scale with a lowest and a highest number", lambda s: s.numeric and s.bounds is not None),
}
"""Requirements of a coefficient: in words, and as a test of a scale."""


class Advice(NamedTuple):
    """The recommended coefficient for a scale, and the reasons."""

    name: str
    title: str
    why: str


def recommend(scale: Scale) -> Advice | None:
    """Return the recommended coefficient for labels on this scale and any number of annotators.

    None for free text and odd-one-out choices, which have no such coefficient.
    """
    if scale.numeric and scale.categories is None:
        return Advice("icc(a,1)", "ICC(A,1)", "numeric labels, absolute agreement")
    if scale.ordered:
        why = "ordinal labels, any number of annotators, missing labels"
        return Advice("krippendorff-alpha-ordinal", "Krippendorff's α, ordinal", why)
    if scale.kind == "nominal":
        why = "nominal labels, any number of annotators, missing labels"
        return Advice("krippendorff-alpha-nominal", "Krippendorff's α, nominal", why)
    return None


MOST_IN_PAIRS = 30
"""Most annotators for the average of a coefficient of two over all pairs: 435 pairs."""

MOST_VALUES = 32
"""Most different labels for which a rank statistic uses a table of values (1,024 sums per item); above, it weights
items."""

MOST_WEIGHED = 3_000
"""Most items for which a statistic of weights is resampled, at a cost quadratic in their number. Above, the interval
is computed from batches."""

BATCHES = 100
"""Number of batches, of at least 30 items each. t with 99 degrees of freedom is 1% wider than a normal interval."""

MOST_SCORED = 45
"""Most pairs of annotators (those of ten) that are checked for rare labels, at the cost of one curve per pair."""

INTERVAL_NAMES: dict[Transform, str] = {
    "none": "jackknife",
    "fisher": "jackknife-z",
    "rank": "jackknife-z",
    "log": "jackknife-log",
    "share": "wilson",
}


@dataclass(frozen=True, eq=False)
class Measure:
    """The definition of a coefficient, for all labels of an item (panel) or for two (pair)."""

    name: str
    title: str
    needs: Needs
    """The requirement on the scale."""
    panel: Callable[[Ratings], PanelStatistic | Ranks] | None = None
    pair: Callable[[Ratings], PairStatistic | None] | None = None
    """Returns None for ranks of labels with too many values for a table."""
    ranks: Literal["spearman", "kendall"] = "spearman"
    transform: Transform = "fisher"
    """The transform on which intervals are symmetric."""
    zero: bool = True
    """Whether 0 means agreement by chance, so that it is tested."""
    highest: float | None = None
    lower_is_better: bool = False
    directed: bool = False
    """Whether it changes when the two annotators are swapped, so that a mean over pairs has no meaning."""
    takes_means: bool = False
    """Whether a consensus can be a mean, which is not always a label of the scale."""
    share: bool = False
    """Whether it is the mean of a share of each item, from 0 to 1."""
    random_raters: bool = False
    """Whether its definition refers to a population of annotators, as for the ICCs of random annotators."""
    rare_label: bool = False
    """Whether it depends mostly on a rare label, so that it has no interval if very few items have that label."""
    item_rate: bool = False
    """Whether it depends little on a rare label, so that its interval uses the observed rate of that label."""
    tails: bool = False
    """Whether it depends mostly on the largest distances, as with squared distances."""
    note: Callable[[Ratings], str | None] | None = None
    """A note on its values for these labels."""

    def check(self, ratings: Ratings) -> None:
        """Raise a `DesignError` if the scale does not meet the requirement of the coefficient."""
        if self.needs not in offers_of(ratings.scale):
            raise DesignError(
                f"{self.title} requires {NEEDS[self.needs][0]}; these labels are on the scale '{ratings.scale.spec}'. "
                "Choose another coefficient, or set the scale with scale=..."
            )

    def statistic(
        self, ratings: Ratings, first: Ints | None = None, second: Ints | None = None
    ) -> PanelStatistic | Ranks:
        """Return the statistic; for a coefficient of two annotators over these pairs."""
        if self.panel is not None:
            return self.panel(ratings)
        assert self.pair is not None and first is not None and second is not None  # noqa: PT018
        pair = self.pair(ratings)
        if pair is None:
            return PairRanks(self.ranks, grid(ratings.answers), first, second)
        return MeanOfPairs(pair, first, second)

    def prepare(self, ratings: Ratings) -> tuple[PanelStatistic | Ranks, tuple[Ints, Ints] | None, int]:
        """Return the statistic of all annotators, the pairs that it averages, and the number of pairs left out.

        Raises
        ------
        DesignError
            If the scale does not meet the requirement, or no two annotators can be compared.
        """
        self.check(ratings)
        if self.pair is None:
            return self.statistic(ratings), None, 0
        first, second, apart = pairs_of(ratings, self)
        return self.statistic(ratings, first, second), (first, second), apart


@lru_cache(maxsize=64)
def offers_of(scale: Scale) -> frozenset[Needs]:
    """Return the requirements that a scale meets."""
    return frozenset(need for need, (_, has) in NEEDS.items() if has(scale))


@dataclass(frozen=True, eq=False)
class Coefficient(Result):
    """A coefficient of agreement with its interval.

    Attributes
    ----------
    name, title : str
        The coefficient.
    estimate, low, high, standard_error : float
        NaN if it is not estimable; see `reason`.
    n_items, n_labels : int
        Items in the estimate, and labels in the table.
    annotators : tuple of str
        The annotators.
    pairs : tuple of (annotator, annotator, Estimate)
        For a coefficient of two annotators that is averaged over pairs: each pair.
    run : Run
        Every option, the kind of interval, the exclusions and the notes.
    """

    leads: ClassVar[bool] = True

    name: str
    title: str
    estimate: float
    low: float
    high: float
    standard_error: float
    reason: str | None
    n_items: int
    n_labels: int
    annotators: tuple[str, ...]
    pairs: tuple[tuple[str, str, Estimate], ...]
    run: Run
    found: Estimates = field(repr=False, metadata={"json": False})
    measure: Measure = field(repr=False, metadata={"json": False})
    advice: Advice | None = field(repr=False, metadata={"json": False})

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The coefficient, then each pair."""
        return describe_values((self.measure,), self.found)[0][0], *(one for _, _, one in self.pairs)

    @property
    def table(self) -> pl.DataFrame:
        """The coefficient and, if it is a mean over pairs of annotators, each pair."""
        whole = (", ".join(self.annotators) if len(self.annotators) <= 3 else f"{len(self.annotators)} annotators",)
        rows: list[tuple[object, ...]] = [(*whole, self.estimate, self.low, self.high, self.n_items, self.reason)]
        rows += [(f"{a} & {b}", i.estimate, i.low, i.high, None, i.reason) for a, b, i in self.pairs]
        numbers = dict.fromkeys(("estimate", "low", "high"), pl.Float64)
        schema: dict[str, Any] = {"annotators": pl.String, **numbers, "n": pl.Int64, "reason": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(coefficient=pl.lit(self.name))

    def summary(self) -> str:
        """Return the estimate, its interval and the data; the recommended coefficient if this one ignores an order."""
        return words.lines_of(self, words.coefficient_lines(self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficient and its pairs of annotators as a forest plot."""
        table = self.table
        names = [self.title, *table["annotators"][1:]] if self.pairs else [self.title] * table.height
        ax = pictures.axes(ax, height=1.2 + 0.26 * len(names))
        pictures.forest_of_rows(ax, names, table)
        ax.set_xlabel(self.title)
        return ax


def coefficient(measure: Measure, labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Check the labels, reduce them to ratings, and estimate the coefficient."""
    return estimate_ratings(measure, ratings_of(labels, settings), settings)


def estimate_ratings(measure: Measure, ratings: Ratings, settings: CoefficientSettings) -> Coefficient:
    """Estimate the coefficient of ratings, with its interval."""
    statistic, ends, apart = measure.prepare(ratings)
    sums = sums_of(ratings, statistic)
    found = sums.estimate(settings, measure.transform)
    pairs = () if ends is None else _named_pairs(measure, ratings, found, *ends)
    if settings.raters_for(random=measure.random_raters) == "random":
        if ends is None:
            parts = without_each(ratings, measure.statistic, sums)
        else:
            parts = pairs_without_each(found, ratings, ends)
        found = leave_raters_out(found, ratings, parts)
    found = small_sample_intervals([(measure, statistic)], found, Spread(ratings)).get(0, found)
    exclusions = [Exclusion("pair of annotators", apart, "fewer than two items in common")] if apart else []
    if ratings.n_items > found.n_items:
        exclusions.append(Exclusion("item", ratings.n_items - found.n_items, "no two labels to compare"))
    return wrap(measure, ratings, found, pairs, exclusions, settings)


def pairs_without_each(
    found: Estimates, ratings: Ratings, ends: tuple[Ints, Ints]
) -> Iterator[tuple[Floats, Floats]]:  # fmt: skip
    """Yield the mean over the pairs of the others, without each annotator and also without each item."""
    each = slice(int(found.value.size > 1), None)
    for j in range(len(ratings.annotators)):
        others = (ends[0] != j) & (ends[1] != j)
        value, without = (v[..., each][..., others] for v in (found.value, found.leave_one_out))
        yield (
            mean_first(value)[:1] if others.any() else np.array([np.nan]),
            (mean_first(without)[:, :1] if others.any() else np.full((len(without), 1), np.nan)),
        )


def small_sample_intervals(
    each: Sequence[tuple[Measure, PanelStatistic | Ranks]], found: Estimates, spread: Spread
) -> dict[int, Estimates]:
    """Return the values with a small-sample interval, by position. If a coefficient has several values, the first is
    used."""
    rules = ((i, spread.rule(measure, found, i, statistic)) for i, (measure, statistic) in enumerate(each))
    several = len(each) > 1
    return {i: (found.part(np.array([i])) if several else found).scored(rule) for i, rule in rules if rule is not None}


def ratings_of(labels: Annotations | Chunks, settings: CoefficientSettings) -> Ratings:
    """Return the labels of at least two annotators."""
    found = Ratings.of(labels, settings.annotators, repeats=settings.repeats, clusters=settings.clusters)
    return found.require_annotators(2, "agreement")


WithoutEach = Iterable[tuple[Floats, Floats]]
"""Values without each rater in turn: (q,), and the same also without each unit: (units, q)."""


def leave_raters_out(
    found: Estimates, ratings: Ratings, parts: WithoutEach
) -> Estimates:  # fmt: skip
    """Return the first value with annotators as a random sample."""
    if found.method == "none":
        return found
    return groups_left_out(found.part(np.array([0])), [parts], len(ratings.annotators))


def groups_left_out(found: Estimates, groups: Sequence[WithoutEach], n_annotators: int | None = None) -> Estimates:
    """Return values with the annotators of each group as a random sample."""
    values: list[list[Floats]] = [[] for _ in groups]

    def without_both(i: int) -> Iterator[Floats]:
        for value, without in groups[i]:
            values[i].append(value)
            yield without

    interactions = [interaction_of(without_both(i)) for i in range(len(groups))]
    return found.with_random_raters([np.array(one) for one in values], interactions, n_annotators)


def without_each(
    ratings: Ratings, statistic_of: Callable[[Ratings], PanelStatistic | Ranks], sums: Sums
) -> Iterator[tuple[Floats, Floats]]:  # fmt: skip
    """The coefficient without each annotator (or group of annotators) in turn, or NaN; see `WithoutEach`."""
    for names in ratings.left_out():
        rest = ratings.without(names)
        try:
            if len(rest.annotators) < 2:
                raise DesignError("agreement requires two annotators")
            value, without = sums_of(rest, statistic_of(rest), sums.units).value_and_without(sums.used)
            yield value[:1], without[:, :1]
        except DesignError:
            yield np.array([np.nan]), np.full((len(sums.used), 1), np.nan)


def sums_of(ratings: Ratings, statistic: PanelStatistic | Ranks, units: Units | None = None) -> Sums:
    """Return the sums that are resampled for a statistic; in given units of the same items, if any."""
    if isinstance(statistic, Ranks):
        return _rank_sums(ratings, statistic)
    return ratings.sums(Together((statistic,)), units)


def _rank_sums(ratings: Ratings, statistic: Ranks) -> Sums:
    """The sums for rank statistics of labels with many values, which are not sums over items.

    Up to `MOST_WEIGHED` items, every resample has new weights of items. Above, the variance is estimated from the
    statistic of each of `BATCHES` random batches: its mean over batches has the same variance.
    """
    if ratings.n_items <= MOST_WEIGHED:
        units = Units.of(ratings.n_items, ratings.clusters)
        weights = np.zeros((units.n, ratings.n_items))
        weights[units.of_item, np.arange(ratings.n_items)] = 1.0
        return Sums(statistic, weights, (statistic.items_used,), units.name)
    units = Units.of(ratings.n_items, ratings.clusters, most=BATCHES)
    batches = np.stack([statistic.value_of_items(np.flatnonzero(units.of_item == u)) for u in range(units.n)])
    value = statistic.value_of_items(np.arange(ratings.n_items))
    weights = np.concatenate([batches, np.ones_like(batches)], axis=1)
    moving: Estimated = Shifted(value - batches.mean(axis=0))
    return Sums(moving, weights, (statistic.items_used,), "batches")


@dataclass(frozen=True, eq=False)
class Shifted:
    """The mean over batches, shifted to the statistic of all items."""

    by: Floats

    def value(self, sums: Floats) -> Floats:
        """Return the sum divided by the number, plus the shift."""
        total, number = np.split(sums, 2, axis=-1)
        return np.asarray(total / np.maximum(number, 1) + self.by)


def wrap(
    measure: Measure, ratings: Ratings, found: Estimates, pairs: tuple[tuple[str, str, Estimate], ...],
    exclusions: Sequence[Exclusion], settings: CoefficientSettings,
) -> Coefficient:  # fmt: skip
    """Return an estimate as a result."""
    main, interval, _ = describe_values((measure,), found)[0]
    notes, m = [*ratings.notes], len(ratings.annotators)
    judges = [name for name in ratings.judges if name in ratings.annotators]
    if judges and m > 2:
        models = f"{listing(judges)} {'is a judge' if len(judges) == 1 else 'are judges'}"
        notes.append(f"of the {m} annotators, {models}; select humans with labels.where(kind='human')")
    if pairs:
        notes.append(f"mean over {len(pairs)} pairs of annotators")
    if ratings.cluster_name:
        notes.append(f"items of the same {ratings.cluster_name} were resampled together")
    facts = {
        "items": found.n_items, "annotators": m, "labels": ratings.n_labels,
        "scale": ratings.scale.spec, "interval": interval_name(found),
    }  # fmt: skip
    return Coefficient(
        name=measure.name,
        title=measure.title,
        estimate=main.estimate,
        low=main.low,
        high=main.high,
        standard_error=main.standard_error,
        reason=undefined_reason(ratings) if np.isnan(main.estimate) else main.reason,
        n_items=found.n_items,
        n_labels=ratings.n_labels,
        annotators=ratings.annotators,
        pairs=pairs,
        run=Run(measure.name, settings, ratings.fingerprint, facts, interval, tuple(exclusions), tuple(notes)),
        found=found,
        measure=measure,
        advice=recommend(ratings.scale) if ratings.scale.ordered else None,
    )


def interval_name(found: Estimates) -> str:
    """Return the kind of interval, for a signature."""
    if found.method != "jackknife":
        return found.method
    if found.score is not None and found.raters != "random":
        name = "score" if isinstance(found.score, str) else found.score.name
        return name if np.isfinite(found.low[0]) else "none"
    name = INTERVAL_NAMES[found.transform[0]]
    return f"two-way-{name}" if found.raters == "random" else name


def describe_values(measures: Sequence[Measure], found: Estimates) -> list[tuple[Estimate, str, float]]:
    """Return the first values of `found`, the kind of each interval, and the two-sided p of a value of 0.

    Also for a share of 1 or 0, which has no variance. If all n units have a share of 1 and the true mean is m, each
    unit is 1 with probability at most m, and all of them with at most m ** n. So the true mean is at least
    (1 - confidence) / 2 to the power 1 / n; likewise at 0.
    """
    each: list[tuple[Estimate, str, float]] = []
    kinds, p = found.describe_intervals(), found.p(0.0)
    lows, highs = found.low, found.high
    if found.method == "jackknife" and any(measure.share for measure in measures):
        near = near_the_ends(found.value, found.standard_error, found.confidence)
        lows, highs = np.fmin(lows, near[0]), np.fmax(highs, near[1])
    edge = ((1 - found.confidence) / 2) ** (1 / found.n_units)
    exact = f"{100 * found.confidence:g}% exact bound for {found.n_units:,} {found.unit} with equal values"
    for i, measure in enumerate(measures):
        ends = (lows, highs) if measure.share else (found.low, found.high)
        value, low, high, error = (float(v[i]) for v in (found.value, *ends, found.standard_error))
        if measure.highest is not None and high > measure.highest:
            low, high = logit_interval(value, error, found, i, highest=measure.highest)
        ends_at = partial(_ends_at, measure, found, i)
        one, kind = EstimateByRule(value, low, high, error, found.reasons[i], found, i, ends=ends_at), kinds[i]
        fixed = found.method != "none" and found.raters != "random"
        if measure.share and fixed and np.isfinite(value) and abs(value - round(value)) < 1e-12:
            low, high = (edge, 1.0) if value > 0.5 else (0.0, 1 - edge)
            one, kind = EstimateByRule(float(round(value)), low, high, np.nan, ends=ends_at), exact
        each.append((one, kind, float(p[i])))
    return each


def _ends_at(measure: Measure, found: Estimates, i: int, level: float) -> tuple[float, float]:
    """The interval of a value at another level, by the rules of `describe_values`."""
    other = found.part(np.array([i])).at_level(level)
    one = describe_values((measure,), other)[0][0]
    return one.low, one.high


def logit_interval(value: float, error: float, found: Estimates, i: int, *, highest: float) -> tuple[float, float]:
    """Return the interval of a value that stays below the highest one: symmetric for log(share / (1 - share))."""
    from scipy.special import expit, logit

    share = value / highest
    if not 0 < share < 1:
        return value, value
    below, above = found.reach(i)
    step = error / highest / (share * (1 - share))
    ends = expit(logit(share) + step * np.array([-below, above]))
    return float(highest * ends[0]), float(highest * ends[1])


def bounded(found: Estimates, i: int, highest: float) -> Estimate:
    """Return a value that cannot be above the highest one, such as a mean distance as a share of the range."""
    low, high, error = (float(each[i]) for each in (found.low, found.high, found.standard_error))
    if high > highest:
        low, high = logit_interval(float(found.value[i]), error, found, i, highest=highest)

    def ends(level: float) -> tuple[float, float]:
        other = bounded(found.part(np.array([i])).at_level(level), 0, highest)
        return other.low, other.high

    return EstimateByRule(float(found.value[i]), low, high, error, found.reasons[i], found, i, ends=ends)


def pairs_of(ratings: Ratings, measure: Measure) -> tuple[Ints, Ints, int]:
    """Return all pairs of annotators with two items in common, and the number of pairs with fewer.

    Raises
    ------
    DesignError
        For too many annotators, for a directed coefficient of more than two annotators, or for no such pair.
    """
    m = len(ratings.annotators)
    if measure.directed and m > 2:
        raise DesignError(
            f"{measure.title} compares two annotators, in order; name them with annotators=('first', 'second')"
        )
    if m > MOST_IN_PAIRS:
        raise DesignError(
            f"{measure.title} compares two annotators, and {m} annotators have too many pairs; select some with "
            "annotators=..., or use a coefficient for many annotators, such as krippendorff_alpha"
        )
    first, second = np.triu_indices(m, 1)
    enough = ratings.joint[first, second] >= 2
    if not enough.any():
        raise DesignError(f"{measure.title} requires two annotators with two items in common; there are none")
    return first[enough], second[enough], int((~enough).sum())


def undefined_reason(ratings: Ratings) -> str:
    """Return the reason for a coefficient without a value."""
    if ratings.varied:
        return "undefined: too few labels to compare, or no variation"
    return "undefined: all labels are equal"


def _named_pairs(
    measure: Measure, ratings: Ratings, found: Estimates, first: Ints, second: Ints
) -> tuple[tuple[str, str, Estimate], ...]:
    """The estimate of each pair of annotators, as in a separate analysis."""
    if len(found) == 1:
        return ()
    names, each = ratings.annotators, []
    check = len(first) <= MOST_SCORED and found.method == "jackknife" and ratings.n_items <= MOST_ITEMS
    for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one = found.part(np.array([i + 1]))
        if check:
            two = ratings.only((names[a], names[b]))
            statistic = measure.statistic(two, np.array([0]), np.array([1]))
            one = small_sample_intervals([(measure, statistic)], one, Spread(two)).get(0, one)
        each.append((names[a], names[b], one[0]))
    return tuple(each)


@lru_cache(maxsize=64)
def span(scale: Scale) -> float:
    """Return the distance between the ends of a scale."""
    assert scale.bounds is not None
    low, high = scale.bounds
    return high - low
