"""Every coefficient of agreement as a function, and as a row of `assay.agreement`: adding one is adding a row here."""

from __future__ import annotations

from typing import Literal

import numpy as np

from assay.concordance.coefficient import (
    MOST_IN_PAIRS,
    MOST_VALUES,
    AlphaSettings,
    BiasSettings,
    Coefficient,
    CoefficientSettings,
    CorrelationKind,
    CorrelationSettings,
    Measure,
    Needs,
    WeightedSettings,
    WithinSettings,
    coefficient,
    label_of,
    span,
)
from assay.concordance.icc import FORMS, intraclass
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.errors import DesignError
from assay.estimation.options import question
from assay.estimation.statistic import Floats
from assay.statistics.categories import (
    Alpha,
    ChanceCorrected,
    Conger,
    FixedDistance,
    LabelDistance,
    Level,
    Weights,
    credits_of,
    distances_of,
)
from assay.statistics.pairs import Distance, Kappa, Moments2, RankTable
from assay.statistics.ranks import AlphaRanks

MOST_DIFFERENT = 1_000
"""Different labels up to which they are counted one by one: a matrix of every two has a million numbers (8 MB)."""

# -- agreement on categories ------------------------------------------------------------------------


@question(CoefficientSettings)
def exact_agreement(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """How often do two annotators of an item give the same label?

    The share of agreeing pairs of labels of an item, averaged over the items that have two or more
    (Fleiss 1971, eq. 2-3; with missing labels as in Gwet 2014, eq. 2.12). 0 to 1, nothing is taken off for
    chance. Where every item agrees the interval is an exact bound, since nothing varies.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion. Missing labels are no answer; they are never filled in.

    Raises
    ------
    DesignError
        For fewer than two annotators, several criteria, repeats, or labels that are free text.

    Examples
    --------
    >>> import assay
    >>> votes = {"item": ["a", "a", "b", "b", "c", "c"], "annotator": ["x", "y"] * 3, "label": [1, 1, 2, 3, 4, 4]}
    >>> import polars as pl
    >>> labels = assay.Annotations.from_frame(pl.DataFrame(votes), scale=assay.Ordinal(1, 5))
    >>> round(exact_agreement(labels).estimate, 2)
    0.67

    Two of three items got the same label from both.
    """
    return coefficient(exact(), labels, settings)


@question(WithinSettings)
def within_agreement(labels: Annotations | Chunks, settings: WithinSettings) -> Coefficient:
    """How often are two labels of an item at most ``k`` apart?

    As `exact_agreement`, with labels counting as equal up to a distance of ``k``. Needs labels with an order. Errors
    and source: see `exact_agreement`.
    """
    return coefficient(near_agreement(settings.k), labels, settings)


@question(WeightedSettings)
def cohen_kappa(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """How far do two annotators agree beyond chance, each with a distribution of their own?

    Cohen (1960, eq. 1); with weights Cohen (1968, eq. 8). ``weights="quadratic"`` is the QWK of essay scoring.
    At most 1; 0 is what independent annotators get. Items count that both labelled. Weights span the whole
    scale: a category that nobody used changes nothing. For more than two annotators the mean over
    their pairs (Light 1971), with each pair in the table; a pair that always gives one and the same label
    has no κ and is left out of the mean.

    Errors: see `exact_agreement`.
    """
    return coefficient(kappa(settings.weights), labels, settings)


@question(CoefficientSettings)
def scott_pi(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """How far do two annotators agree beyond chance, with one distribution for both?

    Scott (1955). As `cohen_kappa`, but chance is computed from the labels of both together, so that
    annotators with different habits are not rewarded for them. Over pairs of annotators where there are more.
    """
    return coefficient(scott(), labels, settings)


@question(CoefficientSettings)
def fleiss_kappa(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """How far do many annotators agree beyond chance on categories?

    Fleiss (1971, eq. 1-7). Where items have different numbers of labels: Gwet (2014, section 2.4), observed agreement
    over items with two or more labels, each category's share averaged over all items with a label. At most 1;
    0 is chance. With two annotators it is Scott's π. Errors: see `exact_agreement`.
    """
    return coefficient(fleiss(), labels, settings)


@question(WeightedSettings)
def gwet_ac(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """How far do annotators agree beyond chance, when one category is much more common than the others?

    Gwet's (2008) AC1 and, with weights, AC2 (Gwet 2014, section 4.4): chance is the probability of agreeing on
    items that are guessed, so a rare category does not push the coefficient to 0 as it does with κ.
    Categories are those of the whole scale. At most 1; 0 is chance. Missing labels as in `fleiss_kappa`. Errors: see
    `exact_agreement`.

    Notes
    -----
    With 50 items and three labels in ten missing, the 95% interval of AC2 with quadratic weights covers 92.7%
    (jackknife), 92.6% (bca) and 89% (percentile) in our simulations: stay with the jackknife.
    """
    return coefficient(gwet(settings.weights), labels, settings)


@question(WeightedSettings)
def brennan_prediger(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """How far do annotators agree beyond labels that are dealt out evenly over the categories?

    Brennan & Prediger (1981), with weights Gwet (2014, section 4.4): chance is 1 / q for q categories of the whole
    scale, however often each is used (Bennett's S for two annotators). At most 1; 0 is chance. Missing labels as in
    `fleiss_kappa`. Errors: see `exact_agreement`.
    """
    return coefficient(uniform(settings.weights), labels, settings)


@question(WeightedSettings)
def conger_kappa(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """How far do many annotators agree beyond chance, each with a distribution of their own?

    Conger (1980); with weights and missing labels Gwet (2014, section 2.4). Cohen's κ of two annotators; of more,
    agreement and chance are averaged over pairs before they are divided, where `cohen_kappa` averages κ. Up to 30
    annotators. Errors: see `exact_agreement`.
    """
    return coefficient(conger(settings.weights), labels, settings)


@question(AlphaSettings)
def krippendorff_alpha(labels: Annotations | Chunks, settings: AlphaSettings) -> Coefficient:
    """How reliable are the labels of any number of annotators, with any number missing?

    Krippendorff (2011): 1 - observed / expected disagreement over the labels of items that have two or
    more. 1 is perfect, 0 what labels dealt out at random would give, below 0 systematic disagreement.
    Errors: see `exact_agreement`.

    Notes
    -----
    The ordinal distance depends on how often each category was used, in each resample anew. Beyond 32 different
    labels it is computed from ranks, and from 3,000 items on its interval comes from 100 random batches.
    """
    return coefficient(alpha(settings.level or level_of(labels.scale)), labels, settings)


def level_of(scale: Scale) -> Level:
    """The level of Krippendorff's α that a scale stands for."""
    return "nominal" if not scale.ordered else "interval" if scale.kind == "interval" else "ordinal"


# -- agreement on numbers ---------------------------------------------------------------------------


@question(CorrelationSettings)
def correlation(labels: Annotations | Chunks, settings: CorrelationSettings) -> Coefficient:
    """Do two annotators put the items in the same order, whatever numbers they use?

    Of more than two annotators (30 at most) the mean over pairs, with each in the table. -1 to 1.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion. Items count that both labelled; nothing is filled in.

    Raises
    ------
    DesignError
        For labels without order, fewer than two annotators or no items in common, criteria, repeats.

    Notes
    -----
    Up to 32 different labels ρ and τ-b are functions of the cross table, which sums over items. Beyond that every
    resample (or jackknifed item) weighs the ranks anew up to 3,000 items; above, the interval comes
    from 100 random batches of items. The result says which.
    """
    return coefficient(correlation_measure(settings.kind), labels, settings)


@question(CoefficientSettings)
def concordance_correlation(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Do two annotators give the same numbers: how close do their labels lie to the line of equality?

    Lin's (1989, eq. 2) concordance correlation 2 s_xy / (s_x² + s_y² + (x̄ − ȳ)²), moments over n; the κ of Cohen with
    quadratic weights, for numbers of any kind. −1 to 1, and at most Pearson's r. Over pairs of annotators where there
    are more than two. Errors: see `correlation`.
    """
    return coefficient(concordance_measure(), labels, settings)


@question(CoefficientSettings)
def mae(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """How far are two labels of an item apart on average, in units of the scale?

    Mean absolute error, 0 and up; over pairs of annotators where there are more than two. Errors: see `correlation`.
    """
    return coefficient(distance("mae"), labels, settings)


@question(CoefficientSettings)
def nmae(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """How far are two labels of an item apart on average, as a share of the scale?

    Mean absolute error over the range of the scale, 0 to 1 (Li et al., "Grading scale impact on
    LLM-as-a-judge", eq. 5). Needs a scale with ends. Errors: see `correlation`.
    """
    return coefficient(distance("nmae"), labels, settings)


@question(CoefficientSettings)
def rmse(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """How far are two labels of an item apart, large distances weighing more?

    Root mean squared error in units of the scale, 0 and up. Errors: see `correlation`.
    """
    return coefficient(distance("rmse"), labels, settings)


@question(BiasSettings)
def bias(labels: Annotations | Chunks, settings: BiasSettings) -> Coefficient:
    """By how much does the second annotator label higher than the first?

    Mean signed difference, second minus first, in units of the scale; 0 is no bias. Errors: see `correlation`.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion.
    """
    return coefficient(distance("bias"), labels, settings)


# -- what each of them is ---------------------------------------------------------------------------


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
    """Weights by name, or a caller's as a matrix of each two categories."""
    if not callable(weights):
        return weights
    return credits_of(weights, [label_of(ratings, v) for v in _require_few(ratings.categories)])


def _name_weights(weights: Weights | LabelDistance, name: str, title: str) -> tuple[str, str, Needs]:
    """Name, title and needs of a coefficient with weights."""
    if callable(weights):
        return f"{name}-custom", f"{title}, own weights", "categories"
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
                f"Conger's κ sets each two annotators' distributions beside each other, and {m} are too many; name "
                "some with annotators=..., or take fleiss_kappa"
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
        raise DesignError(f"the ratio level needs labels of 0 or more; the lowest is {values[0]:g}")
    if callable(level):
        return Alpha(FixedDistance(values, distances_of(level, [label_of(ratings, v) for v in values])))
    return Alpha.of(level, values)


def _require_few(categories: Floats) -> Floats:
    """The categories, where they are few enough to count each; before anything is made for each two of them.

    Raises
    ------
    DesignError
        Where there are more.
    """
    if len(categories) > MOST_DIFFERENT:
        raise DesignError(
            f"there are {len(categories):,} different labels, too many to count each; take a coefficient for "
            "numbers (interval alpha, icc, nmae), or put the labels on a coarser scale"
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


def all_measures() -> dict[str, Measure]:
    """Every coefficient that can be a row of `agreement`, by name."""
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
