"""One coefficient of agreement: what it measures, what it needs, and the number with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Label, Scale
from assay.errors import DesignError, counted, listing
from assay.estimation.intervals import Estimate, EstimateByRule, Estimates, Transform, interaction_of, near_the_ends
from assay.estimation.options import Adjustment, IntervalSettings, Limits, Raters, option
from assay.estimation.resampling import Sums, Units
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.small_samples import Score, Tailed
from assay.estimation.statistic import Estimated, Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import interval, said
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


# -- The options of agreement, its coefficients and the study of grading scales, stated once -------

Who = Literal["humans", "judges", "pairs", "consensus", "rest", "human pairs", "random human"]
CorrelationKind = Literal["pearson", "spearman", "kendall"]
Estimator = Literal["anova", "components"]
Model = Literal["random", "mixed"]


@dataclass(frozen=True, kw_only=True)
class PanelSettings(IntervalSettings):
    """What every question about agreement can be asked: for whom an interval is, and which answers count."""

    raters: Raters | None = option(
        None,
        "Whether intervals are for these annotators (fixed) or for others like them (random).",
        details="With random raters each annotator is left out in turn beside each item, which takes the jackknife and "
        "three annotators; ICCs of random annotators and studies of grading scales do so when not given, all others "
        "take raters as fixed.",
    )
    repeats: Repeats = option(
        "error",
        "What repeated answers stand for.",
        details="A table with repeats is refused until this is said.",
        first=True,
    )
    clusters: str | None = option(None, "Item column whose items are resampled together.")

    def raters_for(self, *, random: bool) -> Raters:
        """What an interval takes raters for: as asked, else fixed, or random where the question speaks of others.

        Raises
        ------
        DesignError
            For a bootstrap with random raters.
        """
        if self.raters == "random" and self.method in ("percentile", "bca"):
            raise DesignError(
                f"a bootstrap ({self.method}) draws annotators with replacement, and one that is drawn twice agrees "
                "with itself; take method='jackknife', or raters='fixed'"
            )
        return self.raters or ("random" if random and self.method == "jackknife" else "fixed")


OLD_RATERS = {"these": "raters='fixed'", "sample": "raters='random'"}
"""Words that ``annotators=`` once took for what ``raters=`` says."""


@dataclass(frozen=True)
class CoefficientSettings(PanelSettings):
    """Options of every coefficient of agreement."""

    annotators: Sequence[str] | None = option(None, "Whose labels count, in this order; all when not given.")

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
            raise DesignError(f"bias compares two annotators that are named, second minus first; got {got}")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class WithinSettings(CoefficientSettings):
    """Options of `assay.measures.within_agreement`."""

    k: float = option(
        1.0,
        "Distance up to which labels count as equal.",
        low=0,
        always=True,
        details="In categories for named categories, in the scale's units for numbers.",
    )


@dataclass(frozen=True, kw_only=True)
class WeightedSettings(CoefficientSettings):
    """Options of `cohen_kappa`, `conger_kappa`, `gwet_ac` and `brennan_prediger`."""

    weights: Weights | LabelDistance = option(
        "none",
        "How much credit nearby labels earn.",
        details="linear, quadratic and ordinal need labels with an order. Or a function of two labels: 1 for equal "
        "ones, less for others, the same both ways round.",
    )


@dataclass(frozen=True, kw_only=True)
class AlphaSettings(CoefficientSettings):
    """Options of `assay.measures.krippendorff_alpha`."""

    level: Level | LabelDistance | None = option(
        None,
        "Which difference counts.",
        key="distance",
        details="nominal: any; ordinal: ranks between; interval: squared difference; ratio: squared relative "
        "difference; or a function of two labels, 0 for equal ones and the same both ways round. When not given, that "
        "of the scale: nominal for categories, ordinal for Ordinal, interval for Interval.",
    )


@dataclass(frozen=True, kw_only=True)
class CorrelationSettings(CoefficientSettings):
    """Options of `assay.measures.correlation`."""

    kind: CorrelationKind = option(
        "spearman",
        "Which correlation.",
        details="Pearson's r (labels that are numbers), Spearman's ρ from midranks, or Kendall's (1945) τ-b, which "
        "corrects for ties; the last two need an order only.",
    )


@dataclass(frozen=True, kw_only=True)
class ICCTableSettings(CoefficientSettings):
    """Options of `assay.measures.icc_table`."""

    estimator: Estimator | None = option(
        None,
        "How variances are computed.",
        details="anova is the analysis of variance of complete items; those with a missing label are left out and "
        "counted. components takes incomplete tables whole, by Henderson's (1953) method 1. When not given: anova for "
        "complete tables. g_study fits REML, which gives another value where labels are missing or a variance is "
        "below 0.",
    )


@dataclass(frozen=True, kw_only=True)
class ICCSettings(ICCTableSettings):
    """Options of `assay.measures.icc`."""

    form: str = option(
        "ICC(A,1)",
        "Which intraclass correlation.",
        details="ICC(1), ICC(1,k), ICC(C,1), ICC(C,k), ICC(A,1), ICC(A,k), or the aliases ICC(1,1), ICC(2,1), "
        "ICC(3,1), ICC(2,k), ICC(3,k), ICC(k).",
    )
    model: Model = option(
        "random",
        "Whether annotators are a sample of many, or the only ones of interest (mixed).",
        details="One number, two meanings: raters are random when not said otherwise, or fixed.",
    )
    k: float | None = option(
        None,
        "Labels that are averaged, for the forms with k.",
        low=1,
        details="When not given, the number of annotators; in an incomplete table the harmonic mean over items of "
        "their numbers of labels.",
    )


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(PanelSettings):
    """Options of `assay.agreement`."""

    coefficients: Sequence[str] | None = option(
        None,
        "Names such as cohen-kappa or icc(a,1), separated by commas; every one that the scale allows.",
        first=True,
    )
    who: Sequence[Who] | None = option(
        None,
        "Kinds of comparison, separated by commas; all when not given.",
        details="humans and judges: all of them as a panel. pairs: each two annotators. consensus: the people's "
        "consensus with each judge and with the judges' consensus: the mean for coefficients of numbers; for those of "
        "categories the median of labels that have an order (a median between two labels goes to the one nearer the "
        "middle of the scale), else the majority (an item on which two categories are tied has no consensus, and the "
        "exclusions count it). rest: each annotator with the consensus of the others of its kind. human pairs: each "
        "judge with all people, and people with each other, over the pairs of labels of an item, each item counting "
        'once. random human: each annotator with one person drawn anew for each item (Hardy, "All that glitters", '
        "figure 1); the estimate is the mean over draws, and the interval takes draws with items resampled.",
        first=True,
    )
    by: str | None = option(
        None,
        "A column whose values are analysed one by one.",
        details="Of the items (benchmark, language) or the single answer, to analyse each of its values beside all; or "
        "of the annotators (gender, expertise), to analyse the people with each of its values, with all judges.",
        first=True,
    )
    draws: int = option(
        1000, "Draws of one person an item, for 'random human'.", low=1, details="The paper's number is 1,000."
    )
    family: str | None = option(
        None,
        "Annotator column that says which family a judge is of, for 'random human'.",
        details="A random judge of each family with two or more is drawn for each item, as the human is (Hardy, "
        "section 4.1). When not given, all judges are one family. People are always one.",
    )
    adjust: Adjustment = option(
        "holm",
        "How p-values are adjusted for their number.",
        always=True,
        details="The family is all rows of one coefficient in one kind of comparison.",
    )

    renamed: ClassVar[Mapping[str, str]] = {"annotators": "raters='fixed' or raters='random'"}

    def __post_init__(self) -> None:
        for name in ("coefficients", "who"):
            # Each name once: a row that is asked for twice would count twice in the adjustment of p-values.
            names = getattr(self, name)
            if names is not None:
                object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(dict.fromkeys(names)))
        super().__post_init__()


@dataclass(frozen=True)
class GradingScaleSettings(PanelSettings):
    """Options of `assay.grading_scale_study`."""

    scale_column: str = option(
        "scale",
        "Column that names the range of each answer: 0-5, 0-100.",
        details="It is a condition of the table.",
        first=True,
    )
    _: KW_ONLY
    ranges: Mapping[str, tuple[float, float]] | None = option(
        None, "Lowest and highest number of each value of that column, where its name does not say.", hidden=True
    )
    by: str | None = option(
        None,
        "Item column (benchmark) whose values are analysed beside the pooled figure.",
        details="When not given, the one text column of the items with 2 to 12 values, of 10 items each, or one that "
        "is called benchmark, dataset, task, domain, subset or source; a note says which. none for no column.",
        first=True,
    )
    group: str | None = option(None, "Annotator column (gender, expertise) whose groups are set against the judges.")
    condition: str | None = option(None, "Another column that was varied for the judges (temperature).")
    baseline: Any = option(None, "The value of that column in the main analysis.")
    well_aligned: float = option(
        0.1, "Distance on 0-1 up to which an item counts as well aligned.", low=0, high=1, details="The paper's is 0.1."
    )

    renamed: ClassVar[Mapping[str, str]] = {
        "scale": "scale_column=...",
        "threshold": "well_aligned=...",
        "annotators": "raters='fixed' or raters='random'",
    }


# -- intervals where few items decide ---------------------------------------------------------------
# The jackknife asks the items at hand how much a coefficient varies. Where a handful of items decides, they cannot
# know: one item on which a rare label was agreed and none on which it was not look as if nothing varied. The score
# interval (Donner & Eliasziw 1992) asks instead which true values are compatible with the coefficient, each with the
# standard error that it would have if it were the true one. `benchmarks/agreement_intervals.py` shows what it moves.

FEW = 20
"""Items with another label than the commonest, or with two different labels: fewer of either, and few items decide.
A larger number would widen intervals that the jackknife gives well."""

FEW_CLUSTERS = 15
"""With fewer, the jackknife covers up to .03 less (60 items in clusters of 5 and 10)."""

LEAST = 5
"""Items with another label than the commonest, under which a coefficient corrected for chance has no interval: none
that was tried held there in both directions."""

MOST_RARE = 0.25
"""Share of labels up to which the rarer of two is rare. The jackknife of κ covers .83 at 5% and 200 items, .93 and more
from 25% on, by `benchmarks/agreement_rare.py`."""

MOST_ITEMS = 10_000
"""Among more items than this, few do not decide, or hardly; it is where items are merged into blocks, too."""

MOST_RARE_VALUES = 7
"""Different labels up to which every pattern of them is tried: three annotators have 343 patterns of seven."""


@dataclass(frozen=True, eq=False)
class Spread:
    """How the labels of a table are spread over its categories, looked at once for every coefficient of it."""

    ratings: Ratings

    @cached_property
    def answers(self) -> Answers | None:
        """The labels, where they are in memory."""
        source = self.ratings.source
        return source if isinstance(source, Answers) else None

    @cached_property
    def value_counts(self) -> tuple[Floats, Ints]:
        """The different labels, lowest first, and how often each was given."""
        return np.unique(() if self.answers is None else self.answers.value, return_counts=True)

    @cached_property
    def few(self) -> tuple[int, int]:
        """Items with another label than the commonest, and items with two different labels."""
        assert self.answers is not None
        item, value = self.answers.item, self.answers.value
        values, number = self.value_counts
        first = value[np.searchsorted(item, item)]
        rare, split = (len(np.unique(item[value != other])) for other in (values[number.argmax()], first))
        return rare, split

    def rule(
        self, measure: Measure, found: Estimates, i: int, statistic: PanelStatistic | Ranks
    ) -> Score | Tailed | str | None:
        """What the interval of a value comes from where few items decide, or why it has none; None where many do."""
        asks = found.method == "jackknife" and len(found.leave_one_out) > 0 and found.raters != "random"
        if not asks or not np.isfinite(found.value[i]) or self.answers is None:
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
        """Where one of two labels is rare: raters who give it at rates of their own, whatever the number of items."""
        number = self.value_counts[1]
        rare = self.unseen is not None or (len(number) == 2 and number.min() <= MOST_RARE * number.sum())
        if not rare or self.ratings.clusters is not None or not (measure.rare_label or measure.item_rate):
            return None
        patterns = self.item_rates if measure.item_rate else self.low_rates
        if patterns is None:
            return None
        values, errors = curve(statistic, patterns, self.ratings.n_items)
        known = np.isfinite(values) & np.isfinite(errors)
        words = "score interval for raters of their own thresholds"
        return Score(values[known], errors[known], name="score-rates", words=words) if known.any() else None

    @cached_property
    def joint_patterns(self) -> Patterns | None:
        """The patterns of these labels, whoever gave them."""
        return None if self.answers is None else Patterns.of(self.answers, anyone=True)

    @cached_property
    def separate_patterns(self) -> Patterns | None:
        """The patterns of these labels, each annotator's by itself."""
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
        """The label that nobody gave, of two that there are."""
        values = self.value_counts[0]
        if len(values) != 1 or self.ratings.scale.categories is None or len(self.ratings.scale.categories) != 2:
            return None
        return float(next(one for one in self.ratings.categories if one != values[0]))

    def _heavy_tails(self, found: Estimates, i: int, answers: Answers) -> Tailed | None:
        """A root mean square of labels with many values, which may have tails; few values show how far they reach."""
        if len(found.leave_one_out) < 2 or found.unit not in ("items", "clusters"):
            return None
        if len(self.value_counts[0]) <= min(MOST_VALUES, len(answers.value) / 2):
            return None
        n, scale = found.n_units, self.ratings.scale
        highest = span(scale) if scale.numeric and scale.bounds is not None else np.inf
        # The jackknife's pseudovalues of the mean square are the squares themselves, where two annotators are compared.
        squares = n * found.value[i] ** 2 - (n - 1) * found.leave_one_out[:, i] ** 2
        return Tailed(squares, max(len(np.unique(answers.annotator)) - 1, 1), highest)

    def _rare_label_reason(self, rare: int) -> str:
        values, number = self.value_counts
        label = label_of(self.ratings, float(values[number.argmin()]))
        name = f"{label:g}" if isinstance(label, float) else str(label)
        one = "item has" if rare == 1 else "items have"
        return (
            f"only {rare} {one} another label than the commonest, and no interval holds with fewer than {LEAST}: the "
            f"label '{name}' is too rare; have more items labelled that it fits"
        )


def label_of(ratings: Ratings, value: float) -> Label:
    """The label that a number stands for, as people wrote it."""
    names = ratings.source.categories
    if names is None and not ratings.scale.numeric and ratings.scale.kind != "preference":
        names = ratings.scale.categories
    return value if names is None else names[int(value)]


def label_word(ratings: Ratings, value: float) -> str:
    """The label that a number stands for, as a table says it."""
    label = label_of(ratings, value)
    return f"{label:g}" if isinstance(label, float) else ratings.scale.word(label)


# -- what a coefficient is --------------------------------------------------------------------------

Needs = Literal["labels", "categories", "order", "ordered categories", "numbers", "range"]

NEEDS: dict[Needs, tuple[str, Callable[[Scale], bool]]] = {
    "labels": ("labels that can be equal, not free text", lambda s: s.kind != "text"),
    "categories": ("categories that can be counted", lambda s: s.categories is not None or s.kind == "nominal"),
    "order": ("labels with an order", lambda s: s.ordered),
    "ordered categories": ("categories with an order", lambda s: s.ordered and s.categories is not None),
    "numbers": ("labels that are numbers", lambda s: s.numeric),
    "range": ("a scale with a lowest and a highest number", lambda s: s.numeric and s.bounds is not None),
}
"""What a coefficient may need of a scale, in words, and whether a scale has it."""


class Advice(NamedTuple):
    """The coefficient to report of labels on a scale, and why."""

    name: str
    title: str
    why: str


def recommend(scale: Scale) -> Advice | None:
    """Which coefficient to report: the one that counts what labels on this scale can say, for any annotators.

    None for free text and odd ones out, which have no such coefficient.
    """
    if scale.numeric and scale.categories is None:
        why = "labels are numbers, and it asks for the same number, not only the same order"
        return Advice("icc(a,1)", "ICC(A,1)", why)
    if scale.ordered:
        why = "labels have an order, which it counts, for any number of annotators and with labels missing"
        return Advice("krippendorff-alpha-ordinal", "Krippendorff's α, ordinal", why)
    if scale.kind == "nominal":
        why = "labels are categories without an order, and it takes any number of annotators, with labels missing"
        return Advice("krippendorff-alpha-nominal", "Krippendorff's α, nominal", why)
    return None


MOST_IN_PAIRS = 30
"""Annotators up to which a coefficient of two is averaged over all their pairs, 435 of them."""

MOST_VALUES = 32
"""A rank statistic takes its table of values up to this many different labels (1,024 sums an item), and weights of
items above."""

MOST_WEIGHED = 3_000
"""Up to this many items a statistic of weights is resampled, which takes the square of their number; above, its
interval comes from batches."""

BATCHES = 100
"""Of at least 30 items each; t with 99 degrees of freedom is 1% wider than a normal interval."""

MOST_SCORED = 45
"""Pairs of annotators, those of ten, up to which each is looked at for rare labels, at the cost of a curve a pair."""

INTERVAL_NAMES: dict[Transform, str] = {
    "none": "jackknife",
    "fisher": "jackknife-z",
    "rank": "jackknife-z",
    "log": "jackknife-log",
    "share": "wilson",
}


@dataclass(frozen=True, eq=False)
class Measure:
    """A coefficient before it meets data: what it is of all labels of an item (panel), or of two (pair)."""

    name: str
    title: str
    needs: Needs
    """What the scale must offer."""
    panel: Callable[[Ratings], PanelStatistic | Ranks] | None = None
    pair: Callable[[Ratings], PairStatistic | None] | None = None
    """None stands for ranks of labels that have too many values for a table."""
    ranks: Literal["spearman", "kendall"] = "spearman"
    transform: Transform = "fisher"
    """Where intervals are symmetric."""
    zero: bool = True
    """Whether 0 says "no better than chance", so that it makes sense to test it."""
    highest: float | None = None
    lower_is_better: bool = False
    directed: bool = False
    """Whether it changes when the two annotators are swapped, so that a mean over pairs says nothing."""
    takes_means: bool = False
    """Whether a consensus may be a mean, which need not be a label of the scale."""
    share: bool = False
    """Whether it is the mean of a share of each item, from 0 to 1."""
    random_raters: bool = False
    """Whether it is by its definition about others than these annotators, as the ICCs of random annotators are."""
    rare_label: bool = False
    """Whether a rare label alone decides it, so that it has no interval where hardly any item has one."""
    item_rate: bool = False
    """Whether a rare label hardly moves it, so that its interval takes the rate of that label as it is."""
    tails: bool = False
    """Whether the largest distances decide it, as they do where distances are squared."""
    note: Callable[[Ratings], str | None] | None = None
    """What a reader has to know of its values for these labels."""

    def check(self, ratings: Ratings) -> None:
        """Raise a `DesignError` where the scale does not offer what the coefficient needs."""
        if self.needs not in offers_of(ratings.scale):
            raise DesignError(
                f"{self.title} needs {NEEDS[self.needs][0]}; these are on '{ratings.scale.spec}'. "
                "Choose another coefficient, or say which scale the labels are on with scale=..."
            )

    def statistic(
        self, ratings: Ratings, first: Ints | None = None, second: Ints | None = None
    ) -> PanelStatistic | Ranks:
        """What is to be estimated; for a coefficient of two annotators over these pairs of them."""
        if self.panel is not None:
            return self.panel(ratings)
        assert self.pair is not None and first is not None and second is not None  # noqa: PT018
        pair = self.pair(ratings)
        if pair is None:
            return PairRanks(self.ranks, grid(ratings.answers), first, second)
        return MeanOfPairs(pair, first, second)

    def prepare(self, ratings: Ratings) -> tuple[PanelStatistic | Ranks, tuple[Ints, Ints] | None, int]:
        """The statistic of all annotators, which pairs of them it is the mean over, and how many pairs it leaves out.

        Raises
        ------
        DesignError
            Where the scale does not offer what the coefficient needs, or no two annotators can be compared.
        """
        self.check(ratings)
        if self.pair is None:
            return self.statistic(ratings), None, 0
        first, second, apart = pairs_of(ratings, self)
        return self.statistic(ratings, first, second), (first, second), apart


@lru_cache(maxsize=64)
def offers_of(scale: Scale) -> frozenset[Needs]:
    """What labels on a scale are."""
    return frozenset(need for need, (_, has) in NEEDS.items() if has(scale))


@dataclass(frozen=True, eq=False)
class Coefficient(Result):
    """A coefficient of agreement with its interval.

    Attributes
    ----------
    name, title : str
        Which coefficient.
    estimate, low, high, standard_error : float
        NaN where it cannot be estimated; `reason` says why.
    n_items, n_labels : int
        Items that it rests on, and labels in the table.
    annotators : tuple of str
        Who was compared.
    pairs : tuple of (annotator, annotator, Estimate)
        For a coefficient of two annotators that was averaged over pairs: each of them.
    run : Run
        Every option, how the interval was made, what does not count, what was decided on the way.
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
        """The coefficient and, where it is a mean over pairs of annotators, each pair."""
        whole = (", ".join(self.annotators) if len(self.annotators) <= 3 else f"{len(self.annotators)} annotators",)
        rows: list[tuple[object, ...]] = [(*whole, self.estimate, self.low, self.high, self.n_items, self.reason)]
        rows += [(f"{a} & {b}", i.estimate, i.low, i.high, None, i.reason) for a, b, i in self.pairs]
        numbers = dict.fromkeys(("estimate", "low", "high"), pl.Float64)
        schema: dict[str, Any] = {"annotators": pl.String, **numbers, "n": pl.Int64, "reason": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(coefficient=pl.lit(self.name))

    def summary(self) -> str:
        """Value, interval, what it rests on; which coefficient to report where this one ignores an order."""
        level = f"{100 * self.found.confidence:g}%"
        if np.isfinite(self.low):
            number = f"{said(self.estimate, 3)}, {level} interval {interval(self.low, self.high, 3)}"
        else:
            number = f"{said(self.estimate, 3)}, no interval: {self.reason}"
        lines = [f"{self.title}: {number}."]
        who = f"{len(self.annotators)} annotators" if len(self.annotators) > 2 else " and ".join(self.annotators)
        lines.append(f"{counted(self.n_items, 'item')}, {who}; {self.run.interval}.")
        if self.advice is not None and self.measure.zero and self.measure.needs in ("labels", "categories"):
            lines.append(f"Recommended for such labels: {self.advice.title}; {self.advice.why}.")
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The coefficient and its pairs of annotators as a forest plot."""
        table = self.table
        names = [self.title, *table["annotators"][1:]] if self.pairs else [self.title] * table.height
        ax = pictures.axes(ax, height=1.2 + 0.26 * len(names))
        pictures.forest_of_rows(ax, names, table)
        ax.set_xlabel(self.title)
        return ax


def coefficient(measure: Measure, labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Check, reduce the table to ratings, estimate, wrap: what every coefficient does."""
    return estimate_ratings(measure, ratings_of(labels, settings), settings)


def estimate_ratings(measure: Measure, ratings: Ratings, settings: CoefficientSettings) -> Coefficient:
    """The coefficient of ratings, with its interval."""
    statistic, ends, apart = measure.prepare(ratings)
    sums = sums_of(ratings, statistic)
    found = sums.estimate(settings, measure.transform)
    pairs = () if ends is None else _named_pairs(measure, ratings, found, *ends)
    if settings.raters_for(random=measure.random_raters) == "random":
        if ends is None:
            parts = without_each(ratings, measure.statistic, sums)
        else:
            parts = _pairs_without_each(found, ratings, ends)
        found = leave_raters_out(found, ratings, parts)
    found = small_sample_intervals([(measure, statistic)], found, Spread(ratings)).get(0, found)
    exclusions = [Exclusion("pair of annotators", apart, "fewer than two items in common")] if apart else []
    if ratings.n_items > found.n_items:
        exclusions.append(Exclusion("item", ratings.n_items - found.n_items, "no two labels to compare"))
    return wrap(measure, ratings, found, pairs, exclusions, settings)


def _pairs_without_each(
    found: Estimates, ratings: Ratings, ends: tuple[Ints, Ints]
) -> Iterator[tuple[Floats, Floats]]:  # fmt: skip
    """A mean over pairs without each annotator, and without an item besides: the mean of the pairs of the others."""
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
    """Values whose interval is another one because few items decide, by place; one coefficient may have several
    values, of which the first is meant."""
    rules = ((i, spread.rule(measure, found, i, statistic)) for i, (measure, statistic) in enumerate(each))
    several = len(each) > 1
    return {i: (found.part(np.array([i])) if several else found).scored(rule) for i, rule in rules if rule is not None}


def ratings_of(labels: Annotations | Chunks, settings: CoefficientSettings) -> Ratings:
    """The labels that a coefficient is asked of: at least two annotators."""
    found = Ratings.of(labels, settings.annotators, repeats=settings.repeats, clusters=settings.clusters)
    return found.require_annotators(2, "agreement")


WithoutEach = Iterable[tuple[Floats, Floats]]
"""Values without each rater, one rater after the other: (q,), and the same without each unit besides, (units, q)."""


def leave_raters_out(
    found: Estimates, ratings: Ratings, parts: WithoutEach
) -> Estimates:  # fmt: skip
    """The first value with annotators as a sample."""
    if found.method == "none":
        return found
    return groups_left_out(found.part(np.array([0])), [parts], len(ratings.annotators))


def groups_left_out(found: Estimates, groups: Sequence[WithoutEach], n_annotators: int | None = None) -> Estimates:
    """Values with the annotators of each group as a sample."""
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
    """The coefficient without each annotator (or group of them) in turn, NaN where there is none; see `WithoutEach`."""
    for names in ratings.left_out():
        rest = ratings.without(names)
        try:
            if len(rest.annotators) < 2:
                raise DesignError("one annotator agrees with nobody")
            value, without = sums_of(rest, statistic_of(rest), sums.units).value_and_without(sums.used)
            yield value[:1], without[:, :1]
        except DesignError:
            yield np.array([np.nan]), np.full((len(sums.used), 1), np.nan)


def sums_of(ratings: Ratings, statistic: PanelStatistic | Ranks, units: Units | None = None) -> Sums:
    """What is resampled for a statistic; in the units of other labels of the same items, where they are given."""
    if isinstance(statistic, Ranks):
        return _rank_sums(ratings, statistic)
    return ratings.sums(Together((statistic,)), units)


def _rank_sums(ratings: Ratings, statistic: Ranks) -> Sums:
    """For rank statistics of labels with many values, which are no sums over items.

    Up to `MOST_WEIGHED` items every resample weighs the items anew. Above, the statistic of each of
    `BATCHES` random batches of items shows how it varies: its mean over batches varies as it does itself.
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
    """The mean over batches, moved to where the statistic of all items is."""

    by: Floats

    def value(self, sums: Floats) -> Floats:
        """Sum over number, and the shift."""
        total, number = np.split(sums, 2, axis=-1)
        return np.asarray(total / np.maximum(number, 1) + self.by)


def wrap(
    measure: Measure, ratings: Ratings, found: Estimates, pairs: tuple[tuple[str, str, Estimate], ...],
    exclusions: Sequence[Exclusion], settings: CoefficientSettings,
) -> Coefficient:  # fmt: skip
    """An estimate as a result."""
    main, interval, _ = describe_values((measure,), found)[0]
    notes, m = [*ratings.notes], len(ratings.annotators)
    judges = [name for name in ratings.judges if name in ratings.annotators]
    if judges and m > 2:
        models = f"{listing(judges)} {'is a judge' if len(judges) == 1 else 'are judges'}"
        notes.append(f"of the {m} annotators, {models}; labels.where(kind='human') has people")
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
    """How an interval was made, for a signature."""
    if found.method != "jackknife":
        return found.method
    if found.score is not None and found.raters != "random":
        name = "score" if isinstance(found.score, str) else found.score.name
        return name if np.isfinite(found.low[0]) else "none"
    name = INTERVAL_NAMES[found.transform[0]]
    return f"two-way-{name}" if found.raters == "random" else name


def describe_values(measures: Sequence[Measure], found: Estimates) -> list[tuple[Estimate, str, float]]:
    """The first values of `found`, how each interval was made, and the two-sided p of a value of 0 on its scale.

    Also for a share of 1 or 0, in which nothing varies. A share of 1 in all n units: were the true mean m, each unit
    would be 1 with probability m at most, all of them with m ** n. So the true mean is at least (1 - confidence) / 2
    to the power 1 / n; likewise at 0.
    """
    each: list[tuple[Estimate, str, float]] = []
    words, p = found.describe_intervals(), found.p(0.0)
    lows, highs = found.low, found.high
    if found.method == "jackknife" and any(measure.share for measure in measures):
        near = near_the_ends(found.value, found.standard_error, found.confidence)
        lows, highs = np.fmin(lows, near[0]), np.fmax(highs, near[1])
    edge = ((1 - found.confidence) / 2) ** (1 / found.n_units)
    exact = f"{100 * found.confidence:g}% exact bound for {found.n_units:,} {found.unit} that all say the same"
    for i, measure in enumerate(measures):
        ends = (lows, highs) if measure.share else (found.low, found.high)
        value, low, high, error = (float(v[i]) for v in (found.value, *ends, found.standard_error))
        if measure.highest is not None and high > measure.highest:
            low, high = logit_interval(value / measure.highest, error / measure.highest, found)
            low, high = low * measure.highest, high * measure.highest
        ends_at = partial(_ends_at, measure, found, i)
        one, said = EstimateByRule(value, low, high, error, found.reasons[i], found, i, ends=ends_at), words[i]
        fixed = found.method != "none" and found.raters != "random"
        if measure.share and fixed and np.isfinite(value) and abs(value - round(value)) < 1e-12:
            low, high = (edge, 1.0) if value > 0.5 else (0.0, 1 - edge)
            one, said = EstimateByRule(float(round(value)), low, high, np.nan, ends=ends_at), exact
        each.append((one, said, float(p[i])))
    return each


def _ends_at(measure: Measure, found: Estimates, i: int, level: float) -> tuple[float, float]:
    """The interval of a value at another level, by the rules of `describe_values`."""
    other = found.part(np.array([i])).at_level(level)
    one = describe_values((measure,), other)[0][0]
    return one.low, one.high


def logit_interval(share: float, error: float, found: Estimates) -> tuple[float, float]:
    """The interval of a share that stays below 1: symmetric for log(share / (1 - share))."""
    from scipy.special import expit, logit, stdtrit

    if not 0 < share < 1:
        return share, share
    half = stdtrit(max(found.n_units - 1, 1), (1 + found.confidence) / 2) * error / (share * (1 - share))
    return float(expit(logit(share) - half)), float(expit(logit(share) + half))


def pairs_of(ratings: Ratings, measure: Measure) -> tuple[Ints, Ints, int]:
    """All pairs of annotators with two items in common, and how many pairs have fewer.

    Raises
    ------
    DesignError
        For too many annotators, for a coefficient with a direction among more than two, for no such pair.
    """
    m = len(ratings.annotators)
    if measure.directed and m > 2:
        raise DesignError(
            f"{measure.title} compares two annotators, in order; name them with annotators=('first', 'second')"
        )
    if m > MOST_IN_PAIRS:
        raise DesignError(
            f"{measure.title} compares two annotators, and {m} have too many pairs; name some with "
            "annotators=..., or take a coefficient for many, such as krippendorff_alpha"
        )
    first, second = np.triu_indices(m, 1)
    enough = ratings.joint[first, second] >= 2
    if not enough.any():
        raise DesignError(f"{measure.title} needs two annotators with two items in common; there are none")
    return first[enough], second[enough], int((~enough).sum())


def undefined_reason(ratings: Ratings) -> str:
    """Words for a coefficient that has no value."""
    if ratings.varied:
        return "undefined on these data: too few labels to compare, or no variation among them"
    return "all labels are the same, so there is no variation to agree about"


def _named_pairs(
    measure: Measure, ratings: Ratings, found: Estimates, first: Ints, second: Ints
) -> tuple[tuple[str, str, Estimate], ...]:
    """Each pair of annotators, as it would be by itself."""
    if len(found) == 1:
        return ()
    names, each = ratings.annotators, []
    look = len(first) <= MOST_SCORED and found.method == "jackknife" and ratings.n_items <= MOST_ITEMS
    for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one = found.part(np.array([i + 1]))
        if look:
            two = ratings.only((names[a], names[b]))
            statistic = measure.statistic(two, np.array([0]), np.array([1]))
            one = small_sample_intervals([(measure, statistic)], one, Spread(two)).get(0, one)
        each.append((names[a], names[b], one[0]))
    return tuple(each)


@lru_cache(maxsize=64)
def span(scale: Scale) -> float:
    """How far apart the ends of a scale are."""
    assert scale.bounds is not None
    low, high = scale.bounds
    return high - low
