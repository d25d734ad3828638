"""The coefficients of agreement as functions and as rows of `assay.agreement`. To add one, add it here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from assay.concordance import words
from assay.concordance.coefficient import (
    MOST_IN_PAIRS,
    MOST_VALUES,
    AlphaSettings,
    BiasSettings,
    Coefficient,
    CoefficientSettings,
    CorrelationKind,
    CorrelationSettings,
    Estimator,
    ICCSettings,
    ICCTableSettings,
    Measure,
    Model,
    Needs,
    WeightedSettings,
    WithinSettings,
    coefficient,
    label_of,
    leave_raters_out,
    ratings_of,
    span,
    without_each,
    wrap,
)
from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.errors import DesignError, unknown
from assay.estimation.intervals import Estimate, EstimateByRule
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.statistic import Floats
from assay.reporting import pictures
from assay.statistics.categories import (
    Alpha,
    ChanceCorrected,
    Conger,
    FixedDistance,
    LabelDistance,
    Level,
    Together,
    Weights,
    credits_of,
    distances_of,
)
from assay.statistics.components.variance import (
    Components,
    Form,
    IntraclassCorrelation,
    OneWay,
    OneWayLikely,
    TwoWay,
    TwoWayLikely,
)
from assay.statistics.pairs import Distance, Kappa, Moments2, RankTable
from assay.statistics.ranks import AlphaRanks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DIFFERENT = 1_000
"""Most different labels that are counted one by one: a matrix of all pairs has a million numbers (8 MB)."""

# -- agreement on categories ------------------------------------------------------------------------


@question(CoefficientSettings)
def exact_agreement(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate how often two annotators of an item give the same label.

    The share of agreeing pairs of labels of an item, averaged over the items with two or more labels (Fleiss 1971,
    eq. 2-3; with missing labels as in Gwet 2014, eq. 2.12). 0 to 1, without correction for chance. If all items agree,
    the interval is an exact bound, because there is no variance.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion. Missing labels are never imputed.

    Raises
    ------
    DesignError
        For fewer than two annotators, several criteria, unresolved repeated labels, or free text.

    Examples
    --------
    >>> import assay
    >>> votes = {"item": ["a", "a", "b", "b", "c", "c"], "annotator": ["x", "y"] * 3, "label": [1, 1, 2, 3, 4, 4]}
    >>> import polars as pl
    >>> labels = assay.Annotations.from_frame(pl.DataFrame(votes), scale=assay.Ordinal(1, 5))
    >>> round(exact_agreement(labels).estimate, 2)
    0.67

    Two of three items have equal labels.
    """
    return coefficient(exact(), labels, settings)


@question(WithinSettings)
def within_agreement(labels: Annotations | Chunks, settings: WithinSettings) -> Coefficient:
    """Estimate how often two labels of an item are at most ``k`` apart.

    As `exact_agreement`, with labels counted as equal up to a distance of ``k``. Requires ordered labels. Errors and
    source: see `exact_agreement`.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.within_agreement([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5], k=1)), 3)
    1.0
    """
    return coefficient(near_agreement(settings.k), labels, settings)


@question(WeightedSettings)
def cohen_kappa(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of two annotators with separate label distributions.

    Cohen (1960, eq. 1); with weights Cohen (1968, eq. 8). ``weights="quadratic"`` is the QWK of essay scoring.
    At most 1; 0 for independent annotators. Uses the items that both labelled. Weights refer to the whole scale, so
    an unused category changes nothing. For more than two annotators: the mean over their pairs (Light 1971), with each
    pair in the table. A pair without variation in its labels has no κ and is excluded from the mean.

    Errors: see `exact_agreement`.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.cohen_kappa([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5], weights="quadratic")), 3)
    0.917
    """
    return coefficient(kappa(settings.weights), labels, settings)


@question(CoefficientSettings)
def scott_pi(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of two annotators with a common label distribution.

    Scott (1955). As `cohen_kappa`, but chance agreement is computed from the labels of both annotators together, so
    different label distributions do not increase the coefficient. The mean over pairs for more than two annotators.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.scott_pi([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5])), 3)
    0.579
    """
    return coefficient(scott(), labels, settings)


@question(CoefficientSettings)
def fleiss_kappa(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of many annotators on categories.

    Fleiss (1971, eq. 1-7). With different numbers of labels per item: Gwet (2014, section 2.4), observed agreement
    over items with two or more labels, each category's share averaged over all items with a label. At most 1;
    0 is chance. For two annotators it is Scott's π. Errors: see `exact_agreement`.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> round(float(assay.measures.fleiss_kappa(labels)), 3)
    0.574
    """
    return coefficient(fleiss(), labels, settings)


@question(WeightedSettings)
def gwet_ac(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """Estimate chance-corrected agreement if one category is much more frequent than the others.

    Gwet's (2008) AC1 and, with weights, AC2 (Gwet 2014, section 4.4): chance is the probability of agreeing on
    guessed items, so a rare category does not reduce the coefficient to 0 as it does with κ.
    Categories are those of the whole scale. At most 1; 0 is chance. Missing labels as in `fleiss_kappa`. Errors: see
    `exact_agreement`.

    Notes
    -----
    With 50 items and three labels in ten missing, the 95% interval of AC2 with quadratic weights covers 92.7%
    (jackknife), 92.6% (bca) and 89% (percentile) in simulations. Use the jackknife.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> round(float(assay.measures.gwet_ac(labels)), 3)
    0.795
    """
    return coefficient(gwet(settings.weights), labels, settings)


@question(WeightedSettings)
def brennan_prediger(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """Estimate agreement beyond labels that are uniform over the categories.

    Brennan & Prediger (1981), with weights Gwet (2014, section 4.4): chance is 1 / q for the q categories of the
    scale, independent of their frequencies (Bennett's S for two annotators). At most 1; 0 is chance. Missing labels as
    in `fleiss_kappa`. Errors: see `exact_agreement`.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> round(float(assay.measures.brennan_prediger(labels)), 3)
    0.771
    """
    return coefficient(uniform(settings.weights), labels, settings)


@question(WeightedSettings)
def conger_kappa(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of many annotators with separate label distributions.

    Conger (1980); with weights and missing labels Gwet (2014, section 2.4). Equal to Cohen's κ for two annotators. For
    more annotators, agreement and chance are averaged over pairs before the division, while `cohen_kappa` averages κ.
    Up to 30 annotators. Errors: see `exact_agreement`.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> round(float(assay.measures.conger_kappa(labels)), 3)
    0.575
    """
    return coefficient(conger(settings.weights), labels, settings)


@question(AlphaSettings)
def krippendorff_alpha(labels: Annotations | Chunks, settings: AlphaSettings) -> Coefficient:
    """Estimate the reliability of the labels of any number of annotators, with any number missing.

    Krippendorff (2011): 1 - observed / expected disagreement over the labels of items with two or more labels. 1 is
    perfect agreement, 0 is agreement by chance, and below 0 is systematic disagreement. Errors: see `exact_agreement`.

    Notes
    -----
    The ordinal distance depends on the category frequencies, and is recomputed in each resample. Above 32 different
    labels it is computed from ranks, and above 3,000 items its interval comes from 100 random batches.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> round(float(assay.measures.krippendorff_alpha(labels)), 3)
    0.647
    """
    return coefficient(alpha(settings.level or level_of(labels.scale)), labels, settings)


def level_of(scale: Scale) -> Level:
    """Return the level of Krippendorff's α for a scale."""
    return "nominal" if not scale.ordered else "interval" if scale.kind == "interval" else "ordinal"


# -- agreement on numbers ---------------------------------------------------------------------------


@question(CorrelationSettings)
def correlation(labels: Annotations | Chunks, settings: CorrelationSettings) -> Coefficient:
    """Estimate the correlation of the labels of two annotators.

    For more than two annotators (30 at most) the mean over pairs, with each pair in the table. -1 to 1.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion. Uses the items that both labelled; nothing is imputed.

    Raises
    ------
    DesignError
        For unordered labels, fewer than two annotators, no items in common, several criteria, or unresolved repeated
        labels.

    Notes
    -----
    Up to 32 different labels, ρ and τ-b are functions of the cross table, which sums over items. Above, ranks have
    new weights in every resample (or jackknifed item) for up to 3,000 items; for more items the interval comes from 100
    random batches of items. The result reports which.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.correlation([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5])), 3)
    0.971
    """
    return coefficient(correlation_measure(settings.kind), labels, settings)


@question(CoefficientSettings)
def concordance_correlation(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate how close the labels of two annotators are to the line of equality.

    Lin's (1989, eq. 2) concordance correlation 2 s_xy / (s_x² + s_y² + (x̄ − ȳ)²), moments over n. It equals Cohen's κ
    with quadratic weights, for any numbers. −1 to 1, and at most Pearson's r. The mean over pairs for more than two
    annotators. Errors: see `correlation`.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.concordance_correlation([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5])), 3)
    0.917
    """
    return coefficient(concordance_measure(), labels, settings)


@question(CoefficientSettings)
def mae(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the mean absolute difference of two labels of an item, in units of the scale.

    0 or more; the mean over pairs for more than two annotators. Errors: see `correlation`.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.mae([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5])), 3)
    0.333
    """
    return coefficient(distance("mae"), labels, settings)


@question(CoefficientSettings)
def nmae(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the mean absolute difference of two labels of an item, as a share of the scale.

    Mean absolute error divided by the range of the scale, 0 to 1 (Li et al., "Grading scale impact on
    LLM-as-a-judge", eq. 5). Requires a scale with ends. Errors: see `correlation`.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.nmae([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5])), 3)
    0.083
    """
    return coefficient(distance("nmae"), labels, settings)


@question(CoefficientSettings)
def rmse(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the root mean squared difference of two labels of an item, in units of the scale.

    0 or more; large differences have more weight than in `mae`. Errors: see `correlation`.

    Examples
    --------
    >>> import assay
    >>> round(float(assay.measures.rmse([1, 2, 3, 3, 5, 4], [1, 2, 4, 3, 5, 5])), 3)
    0.577
    """
    return coefficient(distance("rmse"), labels, settings)


@question(BiasSettings)
def bias(labels: Annotations | Chunks, settings: BiasSettings) -> Coefficient:
    """Estimate how much higher the second annotator labels than the first.

    Mean signed difference, second minus first, in units of the scale; 0 is no bias. Errors: see `correlation`.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={"gpt": 0.2}, seed=1)
    >>> round(float(assay.measures.bias(labels, ("ann_1", "gpt"))), 3)
    0.15
    """
    return coefficient(distance("bias"), labels, settings)


# -- definitions ------------------------------------------------------------------------------------


def exact() -> Measure:
    """Exact agreement."""
    return _share("exact-agreement", "Exact agreement", "labels", 0.0)


def near_agreement(k: float) -> Measure:
    """Agreement within k."""
    return _share(f"agreement-within-{k:g}", f"Agreement within {k:g}", "order", k)


def _share(name: str, title: str, needs: Needs, k: float) -> Measure:
    def panel(ratings: Ratings) -> ChanceCorrected:
        return ChanceCorrected(_require_few(ratings.values), k, "none")

    return Measure(name, title, needs, panel=panel, transform="share", zero=False, share=True)


def _credit(ratings: Ratings, weights: Weights | LabelDistance) -> Weights | Floats:
    """Weights by name, or a function's values as a matrix of pairs of categories."""
    if not callable(weights):
        return weights
    return credits_of(weights, [label_of(ratings, v) for v in _require_few(ratings.categories)])


def _name_weights(weights: Weights | LabelDistance, name: str, title: str) -> tuple[str, str, Needs]:
    """Name, title and needs of a coefficient with weights."""
    if callable(weights):
        return f"{name}-custom", f"{title}, custom weights", "categories"
    if weights == "none":
        return name, title, "categories"
    return f"{name}-{weights}", f"{title}, {weights} weights", "ordered categories"


def kappa(weights: Weights | LabelDistance) -> Measure:
    """Cohen's κ with weights."""
    if weights == "quadratic":

        def moments(ratings: Ratings) -> Moments2:
            return Moments2(ratings.centre, "quadratic")

        title = "Cohen's κ, quadratic weights"
        return Measure("qwk", title, "order", pair=moments, takes_means=True, rare_label=True)
    return Measure(
        *_name_weights(weights, "cohen-kappa", "Cohen's κ"),
        pair=lambda s: Kappa(_require_few(s.categories), _credit(s, weights)),
        rare_label=True,
    )


def conger(weights: Weights | LabelDistance) -> Measure:
    """Conger's κ."""

    def panel(ratings: Ratings) -> Conger:
        m = len(ratings.annotators)
        if m > MOST_IN_PAIRS:
            raise DesignError(
                f"Conger's κ compares the label distributions of each pair of annotators, and {m} annotators are too "
                "many; select some with annotators=..., or use fleiss_kappa"
            )
        return Conger(_require_few(ratings.categories), _credit(ratings, weights), m)

    return Measure(*_name_weights(weights, "conger-kappa", "Conger's κ"), panel=panel, rare_label=True)


def uniform(weights: Weights | LabelDistance) -> Measure:
    """Brennan and Prediger's coefficient."""
    return Measure(
        *_name_weights(weights, "brennan-prediger", "Brennan and Prediger's coefficient"),
        panel=lambda s: ChanceCorrected(_require_few(s.categories), _credit(s, weights), "uniform"),
        item_rate=True,
    )


def scott() -> Measure:
    """Scott's π."""

    def pair(ratings: Ratings) -> Kappa:
        return Kappa(_require_few(ratings.categories), "none", shared=True)

    return Measure("scott-pi", "Scott's π", "categories", pair=pair, rare_label=True)


def fleiss() -> Measure:
    """Fleiss's κ."""

    def panel(ratings: Ratings) -> ChanceCorrected:
        return ChanceCorrected(_require_few(ratings.categories), "none", "fleiss")

    return Measure("fleiss-kappa", "Fleiss's κ", "categories", panel=panel, rare_label=True)


def gwet(weights: Weights | LabelDistance) -> Measure:
    """Gwet's AC1 or AC2."""
    plain = weights == "none"
    return Measure(
        *_name_weights(weights, "gwet-ac1" if plain else "gwet-ac2", "Gwet's AC1" if plain else "Gwet's AC2"),
        panel=lambda s: ChanceCorrected(_require_few(s.categories), _credit(s, weights), "gwet"),
        item_rate=True,
    )


def alpha(level: Level | LabelDistance) -> Measure:
    """Krippendorff's α."""
    needs: dict[str, Needs] = {"ordinal": "order", "interval": "numbers", "ratio": "numbers"}
    name = level if isinstance(level, str) else "custom"
    return Measure(
        f"krippendorff-alpha-{name}",
        f"Krippendorff's α, {name}{' distance' if name == 'custom' else ''}",
        needs.get(name, "labels"),
        panel=lambda s: _alpha(s, level),
        rare_label=True,
        takes_means=level in ("interval", "ratio"),
    )


def _alpha(ratings: Ratings, level: Level | LabelDistance) -> Alpha | AlphaRanks:
    if level == "interval":
        return Alpha.of(level, np.empty(0), ratings.centre)
    if level == "ordinal" and len(ratings.values) > MOST_VALUES:
        return AlphaRanks(ratings.answers)
    values = _require_few(ratings.values)
    if level == "ratio" and values[0] < 0:
        raise DesignError(f"the ratio level requires labels of 0 or more; the lowest is {values[0]:g}")
    if callable(level):
        return Alpha(FixedDistance(values, distances_of(level, [label_of(ratings, v) for v in values])))
    return Alpha.of(level, values)


def _require_few(categories: Floats) -> Floats:
    """Return the categories if they are few enough to count each, before any matrix of pairs is allocated.

    Raises
    ------
    DesignError
        For more categories.
    """
    if len(categories) > MOST_DIFFERENT:
        raise DesignError(
            f"there are {len(categories):,} different labels, too many to count each; use a coefficient for numbers "
            "(interval alpha, icc, nmae), or a coarser scale"
        )
    return categories


def concordance_measure() -> Measure:
    """Lin's concordance correlation."""
    return Measure(
        "ccc", "Lin's concordance correlation", "numbers", pair=lambda s: Moments2(s.centre, "quadratic"),
        takes_means=True,
    )  # fmt: skip


def correlation_measure(kind: CorrelationKind) -> Measure:
    """A correlation."""
    if kind == "pearson":
        return Measure(
            "pearson", "Pearson's r", "numbers", pair=lambda s: Moments2(s.centre, "pearson"), takes_means=True
        )
    return Measure(
        kind,
        "Spearman's ρ" if kind == "spearman" else "Kendall's τ-b",
        "order",
        pair=lambda s: RankTable(s.values, kind) if len(s.values) <= MOST_VALUES else None,
        ranks=kind,
        transform="rank",
        takes_means=True,
    )


def distance(kind: Literal["mae", "nmae", "rmse", "bias"]) -> Measure:
    """An error."""
    titles = {
        "mae": "Mean absolute error",
        "nmae": "Normalised mean absolute error",
        "rmse": "Root mean squared error",
        "bias": "Mean signed difference",
    }
    return Measure(
        kind,
        titles[kind],
        "range" if kind == "nmae" else "numbers",
        pair=lambda s: Distance("mae", span(s.scale)) if kind == "nmae" else Distance(kind),
        transform="none" if kind == "bias" else "log",
        highest=1.0 if kind == "nmae" else None,
        zero=kind == "bias",
        lower_is_better=kind != "bias",
        directed=kind == "bias",
        tails=kind == "rmse",
        takes_means=True,
    )


# -- intraclass correlations -----------------------------------------------------------------------

FORMS: dict[Form, tuple[str, str]] = {
    "1": ("ICC(1)", "ICC(1,1)"),
    "k": ("ICC(1,k)", "ICC(1,k)"),
    "C,1": ("ICC(C,1)", "ICC(3,1)"),
    "C,k": ("ICC(C,k)", "ICC(3,k)"),
    "A,1": ("ICC(A,1)", "ICC(2,1)"),
    "A,k": ("ICC(A,k)", "ICC(2,k)"),
}
"""The name in assay (McGraw & Wong 1996; they write ICC(k) for ICC(1,k)) and that of Shrout & Fleiss (1979)."""

TEN: tuple[tuple[str, Form, str], ...] = (
    ("one-way random", "1", "case 1"),
    ("one-way random", "k", "case 1"),
    *(("two-way random", form, "case 2") for form in ("C,1", "C,k", "A,1", "A,k")),
    *(("two-way mixed", form, "case 3") for form in ("C,1", "C,k", "A,1", "A,k")),
)
"""The ten ICCs of McGraw & Wong (1996, table 4). Cases 2 and 3 have the same formula for different populations."""


ANOVA = "analysis of variance"

ESTIMATORS: Mapping[Estimator, str] = {
    "anova": ANOVA,
    "components": "Henderson's method 1",
    "reml": "restricted maximum likelihood (REML)",
}
"""Names of the estimators of variances. In a complete table all give the same values if none is below 0."""

MOST_REML = 30
"""Annotators up to which an ICC is estimated by REML: its sums are pairs of annotators."""

MOST_ALONE = 10
"""There is no ICC with fewer items with several labels than this and at least this number of items with one label: the
error variance would depend on very few items."""


@dataclass(frozen=True)
class FTest:
    """The F test of no variance between items, and the interval from F distributions."""

    low: float
    high: float
    f: float
    df1: float
    df2: float
    p: float
    exact: bool
    """False for absolute agreement, whose interval uses Satterthwaite's degrees of freedom, and for unequal numbers."""
    balanced: bool = True
    """False if items have different numbers of labels; each is replaced by the harmonic mean."""
    at_level: Callable[[float], FTest | None] = field(
        default=lambda _: None, repr=False, compare=False, metadata={"json": False}
    )
    """Returns the same test at another level."""

    @property
    def words(self) -> str:
        """The kind of interval and its assumptions."""
        if self.exact:
            made = "exact F"
        elif self.balanced:
            made = "F with Satterthwaite's degrees of freedom"
        else:
            made = "F with harmonic mean numbers of labels"
        return f"{made}, assuming equal rater noise and normal labels"

    def ends(self, level: float) -> tuple[float, float]:
        """Return the interval at a level."""
        other = self.at_level(level)
        return (np.nan, np.nan) if other is None else (other.low, other.high)


@dataclass(frozen=True, eq=False)
class ICC(Coefficient):
    """An intraclass correlation with its interval.

    Attributes
    ----------
    form, alias : str
        ``ICC(A,1)`` and, in the notation of Shrout & Fleiss, ``ICC(2,1)``.
    model : str
        One-way random, two-way random or two-way mixed.
    k : float
        Number of labels that are averaged in the forms for means. Default: the number of annotators, or, if labels are
        missing, the harmonic mean number of labels per item.
    variance_items, variance_annotators, variance_error : float
        The variance components; that of annotators is 0 in the one-way model. Estimates can be below 0 by chance.
    estimator : {"anova", "components", "reml"}
        Their estimator: the analysis of variance of complete items or, for two-way models with missing labels,
        Henderson's (1953) method 1; or REML, as in `g_study`.
    f_test : FTest or None
        The interval from F distributions, which assumes equal rater noise and normal labels. It is exact for forms 1
        and C if all items have the same number of labels; otherwise it uses the harmonic mean of the numbers. None if
        there is no error variance, if its lower end is below the least possible ICC, or with REML, which has no mean
        squares.
    """

    form: str
    alias: str
    model: str
    k: float
    variance_items: float
    variance_annotators: float
    variance_error: float
    estimator: Estimator
    f_test: FTest | None

    @property
    def estimator_words(self) -> str:
        """The name of the estimator of the components."""
        one_way = self.model.startswith("one-way") and self.estimator != "reml"
        return ANOVA if one_way else ESTIMATORS[self.estimator]

    @property
    def table(self) -> pl.DataFrame:
        """The estimate with its interval and, if available, the interval from F distributions."""
        row = {"coefficient": self.form, "estimate": self.estimate}
        rows = [{**row, "low": self.low, "high": self.high, "n": self.n_items, "interval": self.run.interval}]
        if self.f_test is not None:
            f = self.f_test
            rows.append({**row, "low": f.low, "high": f.high, "n": self.n_items, "interval": f.words})
        return pl.DataFrame(rows)

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The ICC with each of its intervals."""
        first, f = super().row_estimates()[0], self.f_test
        if f is None:
            return (first,)
        return first, EstimateByRule(self.estimate, f.low, f.high, np.nan, ends=f.ends)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the ICC with both of its intervals, on a fixed axis."""
        return _draw_forest([self], [self.form], ax)

    def summary(self) -> str:
        """Return the estimate, both intervals and the variance components."""
        return words.lines_of(self, words.icc_lines(self))


@question(ICCSettings)
def icc(labels: Annotations | Chunks, settings: ICCSettings) -> ICC:
    """Estimate the share of the variance of a label, or of the mean of k labels, that is due to the items.

    McGraw & Wong (1996, table 4), Shrout & Fleiss (1979). ``A``: absolute agreement. ``C``: consistency, which ignores
    differences in severity between annotators. ``1``: a single label. ``k``: the mean of k labels. ``ICC(1)`` and
    ``ICC(1,k)`` ignore which annotator gave which label. At most 1; below 0 if items vary less than by chance.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion, labels that are numbers.

    Returns
    -------
    ICC
        ``low`` and ``high`` treat annotators as a random sample, without a distribution of the labels; they require
        three annotators. With ``model="mixed"``, ``raters="fixed"`` or a bootstrap the annotators are fixed. ``f_test``
        has the interval from F distributions, which assumes random annotators, normal labels and equal noise of all
        annotators. If these do not hold, a 95% interval can cover .58 to .83, so it is not the reported interval.

    Raises
    ------
    DesignError
        For an unknown form, labels that are not numbers, repeats, several criteria, one annotator.

    Notes
    -----
    For the ICC of a population of annotators, an interval over items alone is too narrow for any number of items.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> round(float(assay.measures.icc(labels)), 3)
    0.629
    """
    form = parse_form(settings.form)
    settings = replace(settings, form=FORMS[form][0])
    ratings = ratings_of(labels, settings)
    intraclass(form).check(ratings)
    return intraclass_measure(ratings, form, settings)


def _draw_forest(rows: Sequence[ICC], names: Sequence[str], ax: Axes | None) -> Axes:
    """Draw ICCs with their interval and, below it, the interval from F distributions, on a fixed axis."""
    ax = pictures.axes(ax, width=7.2, height=1.4 + 0.34 * len(rows))
    values = [r.estimate for r in rows]
    method = "jackknife" if rows[0].found.method == "jackknife" else "bootstrap"
    pictures.forest(ax, names, values, [r.low for r in rows], [r.high for r in rows], offset=0.12, label=method)
    f = [r.f_test for r in rows]
    low, high = ([np.nan if one is None else getattr(one, end) for one in f] for end in ("low", "high"))
    pictures.forest(
        ax, names, values, low, high, colour=pictures.HUMAN, marker="s", offset=-0.12, label="F, equal noise"
    )
    ax.set_xlim(-0.5, 1.02)
    ax.set_xlabel("ICC")
    pictures.legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


@dataclass(frozen=True, eq=False)
class ICCTable(Result):
    """The ten intraclass correlations of McGraw & Wong."""

    rows: tuple[ICC, ...]
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row per correlation."""
        tests = {"f_low": "low", "f_high": "high", "f": "f", "df1": "df1", "df2": "df2", "p": "p"}
        rows = [
            {
                **{"coefficient": r.form, "alias": r.alias, "model": r.model, "case": case},
                **{"estimate": r.estimate, "low": r.low, "high": r.high},
                **{column: getattr(r.f_test, name, None) for column, name in tests.items()},
                "n": r.n_items,
            }
            for r, (_, _, case) in zip(self.rows, TEN, strict=True)
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        # If no form has an F test, its columns are empty but numeric.
        return frame.with_columns(pl.col(pl.Null).cast(pl.Float64))

    def row_estimates(self) -> Sequence[Estimate | None]:
        """Each correlation."""
        return [r.row_estimates()[0] for r in self.rows]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every form with both of its intervals, on a fixed axis."""
        return _draw_forest(self.rows, [f"{r.form}, {r.model}" for r in self.rows], ax)

    def summary(self) -> str:
        """Return a line for each correlation."""
        return words.lines_of(self, words.icc_table_lines(self))


@question(ICCTableSettings)
def icc_table(labels: Annotations | Chunks, settings: ICCTableSettings) -> ICCTable:
    """Estimate all ten intraclass correlations of McGraw & Wong (1996); errors as in `icc`.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={}, seed=1)
    >>> assay.measures.icc_table(labels).table["coefficient"].unique(maintain_order=True).to_list()
    ['ICC(1)', 'ICC(1,k)', 'ICC(C,1)', 'ICC(C,k)', 'ICC(A,1)', 'ICC(A,k)']
    """
    ratings = ratings_of(labels, settings)
    intraclass("A,1").check(ratings)
    each = {f.name: getattr(settings, f.name) for f in fields(settings)}
    kinds = {(form, _kind(model)): None for model, form, _ in TEN}
    found = {
        (form, kind): intraclass_measure(ratings, form, ICCSettings(**each, form=FORMS[form][0], model=kind))
        for form, kind in kinds
    }
    one = found["A,1", "random"].run
    return ICCTable(
        tuple(replace(found[form, _kind(model)], model=model) for model, form, _ in TEN),
        Run("icc-table", settings, one.data, one.facts, one.interval, one.exclusions, one.notes),
    )


def _kind(model: str) -> Model:
    return "mixed" if model.endswith("mixed") else "random"


def parse_form(form: str) -> Form:
    """Return the form for a name, in any common spelling."""
    key_of_name = re.sub(r"[\s\[\]()]|icc", "", form.lower())
    names: dict[str, Form] = {
        re.sub(r"[\s()]|icc", "", name.lower()): key for key, both in FORMS.items() for name in both
    }
    # The names in pingouin and psych are those of Shrout & Fleiss without brackets: ICC2, ICC2k.
    names |= {"k": "k", "2": "A,1", "3": "C,1", "1k": "k", "2k": "A,k", "3k": "C,k"}
    if key_of_name not in names:
        raise DesignError(unknown("form", form, sorted({n for both in FORMS.values() for n in both}), "the ICCs"))
    return names[key_of_name]


def intraclass(form: Form) -> Measure:
    """Return an ICC as a row of `agreement`."""
    return Measure(
        FORMS[form][0].lower(),
        FORMS[form][0],
        "numbers",
        panel=lambda s: intraclass_statistic(s, (form,), default_estimator(s), labels_per_item(s)),
        takes_means=True,
        random_raters=True,
        note=None if form in ("1", "k") else lambda s: _estimator_note(default_estimator(s)),
    )


def _estimator_note(estimator: Estimator) -> str | None:
    """The note on the estimator of a two-way ICC if labels are missing."""
    if estimator != "components":
        return None
    return (
        f"{words.ICC_NOTE}labels are missing, so variances are estimated by {ESTIMATORS[estimator]}; REML (g_study) "
        "gives different values"
    )


def default_estimator(ratings: Ratings) -> Estimator:
    """Return ANOVA for complete tables."""
    return "anova" if ratings.complete else "components"


def intraclass_statistic(
    ratings: Ratings, forms: tuple[Form, ...], estimator: Estimator, k: float
) -> IntraclassCorrelation:
    """Return the statistic of one or more forms of one model.

    Raises
    ------
    DesignError
        If nearly every item has only one label: the error variance would depend on the few others. Or for REML with
        more annotators than `MOST_REML`.
    """
    m = len(ratings.annotators)
    number = ratings.labels_of_item
    single, several = np.count_nonzero(number == 1), np.count_nonzero(number > 1)
    if several < MOST_ALONE <= single:
        raise DesignError(
            f"an ICC requires items with two labels or more; only {several} of {single + several} items have them. "
            "Label more items twice, or use a coarser item (the lesson instead of its segments)"
        )
    components: OneWay | OneWayLikely | TwoWay | Components | TwoWayLikely
    sizes = tuple(int(n) for n in np.unique(number[number > 0]))
    if forms[0] in ("1", "k"):
        components = OneWayLikely(ratings.centre, sizes) if estimator == "reml" else OneWay(ratings.centre)
    elif estimator == "reml":
        if m > MOST_REML:
            raise DesignError(
                f"an ICC by REML allows {MOST_REML} annotators, not {m}; use assay.g_study, or estimator='components'",
                option="estimator",
            )
        components = TwoWayLikely(ratings.centre, m, sizes)
    else:
        components = TwoWay(ratings.centre, m) if estimator == "anova" else Components(ratings.centre, m)
    return IntraclassCorrelation(components, forms, k)


def labels_per_item(ratings: Ratings) -> float:
    """Return the harmonic mean number of labels per item: the number of annotators in a complete table."""
    if ratings.complete:
        return len(ratings.annotators)
    number = ratings.labels_of_item
    return float(1 / np.mean(1 / number[number > 0]))


def intraclass_measure(ratings: Ratings, form: Form, settings: ICCSettings) -> ICC:
    """An intraclass correlation with its interval: by F for an analysis of variance, otherwise by Fisher's z."""
    one_way = form in ("1", "k")
    estimator = settings.estimator or default_estimator(ratings)
    averaged = labels_per_item(ratings) if settings.k is None else settings.k
    if estimator == "anova" and not one_way and settings.k is None:
        averaged = len(ratings.annotators)
    statistic = intraclass_statistic(ratings, (form,), estimator, averaged)
    sums = ratings.sums(Together((statistic,)))
    found = sums.estimate(settings, "fisher")
    if settings.raters_for(random=one_way or settings.model == "random") == "random":

        def one_less(rest: Ratings) -> IntraclassCorrelation:
            """The ICC of the other annotators, for means of the same number of labels."""
            return intraclass_statistic(rest, (form,), settings.estimator or default_estimator(rest), averaged)

        found = leave_raters_out(found, ratings, without_each(ratings, one_less, sums))
    n_items = sums.n_items[0]
    exclusions = []
    if n_items < ratings.n_items:
        exclusions.append(Exclusion("item", ratings.n_items - n_items, "a missing label"))
    components = statistic.components.value(sums.sums.sum(axis=0))
    items, annotators, error = (float(v) for v in components)
    base = wrap(intraclass(form), ratings, found, (), exclusions, settings)
    note = None if one_way or ratings.complete else _estimator_note(estimator)
    run = replace(base.run, notes=(*base.run.notes, note)) if note else base.run
    name, alias = FORMS[form]
    counts = _TableCounts.of(ratings, n_items, form, estimator)
    f_test = None if estimator == "reml" else _f_test(form, components, counts, averaged, found.confidence)
    return ICC(
        **{f.name: getattr(base, f.name) for f in fields(Coefficient) if f.name != "run"},
        run=run,
        form=name,
        alias=alias,
        model="one-way random" if one_way else f"two-way {settings.model}",
        k=averaged,
        variance_items=items,
        variance_annotators=annotators,
        variance_error=error,
        estimator=estimator,
        f_test=f_test,
    )


@dataclass(frozen=True)
class _TableCounts:
    """The numbers of items, annotators and labels for the F distributions.

    If labels are missing, the numbers of labels per item and per annotator are harmonic means (Thomas & Hultquist
    1978), and the interval is not exact.
    """

    items: int
    annotators: int
    labels: int
    per_item: float
    per_annotator: float
    balanced: bool

    @classmethod
    def of(cls, ratings: Ratings, n_items: int, form: Form, estimator: Estimator) -> _TableCounts:
        m, number = len(ratings.annotators), ratings.labels_of_item
        number = number[number > 0]
        if form in ("1", "k"):
            equal = len(number) > 0 and bool((number == number[0]).all())
            return cls(len(number), m, int(number.sum()), float(1 / np.mean(1 / number)), n_items, equal)
        if ratings.complete or estimator == "anova":
            return cls(n_items, m, n_items * m, m, n_items, True)
        answered = np.diagonal(ratings.joint)
        each = float(1 / np.mean(1 / answered[answered > 0]))
        per_item = float(1 / np.mean(1 / number))
        return cls(len(number), int((answered > 0).sum()), int(number.sum()), per_item, each, False)


def _f_test(form: Form, components: Floats, counts: _TableCounts, k: float, confidence: float) -> FTest | None:
    """The interval of McGraw & Wong (1996, table 7) for single labels, transformed for means of k."""
    from scipy.special import fdtrc, fdtri

    of_items, of_annotators, error = (float(v) for v in components)
    n, m, each = counts.items, counts.per_item, counts.per_annotator
    item, annotator = m * of_items + error, each * of_annotators + error
    one_way = form in ("1", "k")
    df1 = n - 1
    df2 = counts.labels - n if one_way else counts.labels - n - counts.annotators + 1
    if not error > 0 or df1 < 1 or df2 < 1 or not item > 0:
        return None
    f = item / error
    upper = (1 + confidence) / 2
    if form.startswith("A"):
        low, high = _absolute_interval(item, annotator, error, counts, upper)
    else:
        f_low, f_high = f / fdtri(df1, df2, upper), f * fdtri(df2, df1, upper)
        low, high = float((f_low - 1) / (f_low + m - 1)), float((f_high - 1) / (f_high + m - 1))
    if form.endswith("k"):
        low, high = (k * x / (1 + (k - 1) * x) for x in (low, high))
    if not low < high <= 1:
        return None  # an end is beyond the pole of its formula, below the least possible ICC
    exact = counts.balanced and not form.startswith("A")
    again = partial(_f_test, form, components, counts, k)
    return FTest(float(low), float(high), f, df1, df2, float(fdtrc(df1, df2, f)), exact, counts.balanced, again)


def _absolute_interval(
    item: float, annotator: float, error: float, counts: _TableCounts, upper: float
) -> tuple[float, float]:
    """The ends for absolute agreement of single labels, from mean squares."""
    from scipy.special import fdtri

    n, m = counts.per_annotator, counts.per_item
    of_annotators, left = counts.annotators - 1, counts.labels - counts.items - counts.annotators + 1
    r = (item - error) / (item + (m - 1) * error + m * (annotator - error) / n)
    a, b = m * r / (n * (1 - r)), 1 + m * r * (n - 1) / (n * (1 - r))
    v = (a * annotator + b * error) ** 2 / ((a * annotator) ** 2 / of_annotators + (b * error) ** 2 / left)
    down, up = fdtri(counts.items - 1, v, upper), fdtri(v, counts.items - 1, upper)
    rest = m * annotator + (m * n - m - n) * error
    low, high = n * (item - down * error) / (down * rest + n * item), n * (up * item - error) / (rest + n * up * item)
    return float(low), float(high)


def all_measures() -> dict[str, Measure]:
    """Return every coefficient that can be a row of `agreement`, by name."""
    measures = [
        exact(),
        near_agreement(1),
        kappa("none"),
        kappa("linear"),
        kappa("quadratic"),
        scott(),
        fleiss(),
        gwet("none"),
        gwet("quadratic"),
        uniform("none"),
        conger("none"),
        *(alpha(level) for level in ("nominal", "ordinal", "interval", "ratio")),
        *(correlation_measure(kind) for kind in ("pearson", "spearman", "kendall")),
        concordance_measure(),
        *(intraclass(form) for form in FORMS),
        *(distance(kind) for kind in ("mae", "nmae", "rmse", "bias")),
    ]
    return {measure.name: measure for measure in measures}
