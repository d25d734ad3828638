"""Every coefficient that can be a row of `assay.agreement`: adding one is adding a row here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack

import numpy as np

from assay.concordance.coefficient import (
    MOST_VALUES,
    AlphaSettings,
    Coefficient,
    CoefficientOptions,
    CoefficientSettings,
    CorrelationKind,
    CorrelationSettings,
    Measure,
    Needs,
    WeightedSettings,
    WithinSettings,
    asked,
    coefficient,
    unit_range,
)
from assay.concordance.icc import FORMS, intraclass
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.errors import DesignError
from assay.estimation.options import Taken, question
from assay.estimation.statistic import Floats
from assay.statistics.categories import Alpha, ChanceCorrected, Level, Weights
from assay.statistics.pairs import Distance, Kappa, Moments2, RankTable
from assay.statistics.ranks import AlphaRanks

# -- Agreement on categories -----------------------------------------------------------------------

MOST_DIFFERENT = 1_000
"""Different labels up to which they are counted one by one."""


def exact_agreement(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How often do two annotators of an item give the same label?

    The share of agreeing pairs of labels of an item, averaged over the items that have two or more
    (Fleiss 1971, eq. 2-3; with missing labels as in Gwet 2014, eq. 2.12). 0 to 1, nothing is taken off for
    chance. Where every item agrees the interval is an exact bound, since nothing varies.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion. Missing labels are no answer; they are never filled in.
    annotators : list of str, "these" or "sample", optional
        Whose labels count; all when not given. "these" takes all of them, and the interval is for these annotators (the
        default); "sample" takes all of them as a sample, and the interval is for others like them: each annotator is
        left out in turn beside each item. Both a choice and a sample: ``labels.where(annotator=[...])``.
    **options
        See `assay.concordance.coefficient.CoefficientOptions`: ``repeats``, ``clusters``, ``method``, ``n_resamples``,
        ``confidence``, ``seed``.

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
    return coefficient(exact(), labels, CoefficientSettings.of(asked(options, annotators), "exact_agreement"))


def within_agreement(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    *,
    k: float = 1,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How often are two labels of an item at most ``k`` apart?

    As `exact_agreement`, with labels counting as equal up to a distance of ``k`` (in categories for named
    categories, in the scale's units for numbers). Needs labels with an order. Other parameters, errors and
    source: see `exact_agreement`.
    """
    settings = WithinSettings.of(asked(options, annotators, k=k), "within_agreement")
    return coefficient(within(settings.k), labels, settings)


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


def scott_pi(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How far do two annotators agree beyond chance, with one distribution for both?

    Scott (1955). As `cohen_kappa`, but chance is computed from the labels of both together, so that
    annotators with different habits are not rewarded for them. Over pairs of annotators where there are more.
    """
    return coefficient(scott(), labels, CoefficientSettings.of(asked(options, annotators), "scott_pi"))


def fleiss_kappa(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How far do many annotators agree beyond chance on categories?

    Fleiss (1971, eq. 1-7). Where items have different numbers of labels: Gwet (2014, section 2.4), observed agreement
    over items with two or more labels, each category's share averaged over all items with a label. At most 1;
    0 is chance. With two annotators it is Scott's π. Parameters and errors: see `exact_agreement`.
    """
    return coefficient(fleiss(), labels, CoefficientSettings.of(asked(options, annotators), "fleiss_kappa"))


def gwet_ac(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    *,
    weights: Weights = "none",
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How far do annotators agree beyond chance, when one category is much more common than the others?

    Gwet's (2008) AC1 and, with weights, AC2 (Gwet 2014, section 4.4): chance is the probability of agreeing on
    items that are guessed, so a rare category does not push the coefficient to 0 as it does with κ.
    Categories are those of the whole scale. At most 1; 0 is chance. Missing labels as in `fleiss_kappa`.

    Parameters
    ----------
    weights : {"none", "linear", "quadratic", "ordinal"}
        ``none`` gives AC1; the others AC2 and need labels with an order.

    Other parameters and errors: see `exact_agreement`.

    Notes
    -----
    With 50 items and three labels in ten missing, the 95% interval of AC2 with quadratic weights covers 92.7%
    (jackknife), 92.6% (bca) and 89% (percentile) in our simulations: stay with the jackknife.
    """
    settings = WeightedSettings.of(asked(options, annotators, weights=weights), "gwet_ac")
    return coefficient(gwet(settings.weights), labels, settings)


def krippendorff_alpha(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    *,
    level: Level | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How reliable are the labels of any number of annotators, with any number missing?

    Krippendorff (2011): 1 - observed / expected disagreement over the labels of items that have two or
    more. 1 is perfect, 0 what labels dealt out at random would give, below 0 systematic disagreement.

    Parameters
    ----------
    level : {"nominal", "ordinal", "interval", "ratio"}, optional
        Which difference counts: any; ranks between; squared difference; squared relative difference. When
        not given, that of the scale: nominal for categories, ordinal for `Ordinal`, interval for `Interval`.

    Other parameters and errors: see `exact_agreement`.

    Notes
    -----
    The ordinal distance depends on how often each category was used, in each resample anew. Beyond 32 different
    labels it is computed from ranks, and from 3,000 items on its interval comes from 100 random batches.
    """
    settings = AlphaSettings.of(asked(options, annotators, level=level), "krippendorff_alpha")
    return coefficient(alpha(settings.level or level_of(labels.scale)), labels, settings)


def level_of(scale: Scale) -> Level:
    """The level of Krippendorff's α that a scale stands for."""
    return "nominal" if not scale.ordered else "interval" if scale.kind == "interval" else "ordinal"


# -- the measures -----------------------------------------------------------------------------------


def exact() -> Measure:
    """Exact agreement."""
    return Measure(
        "exact-agreement",
        "Exact agreement",
        "labels",
        panel=lambda s: ChanceCorrected(_few(s.values), 0.0, "none"),
        transform="share",
        zero=False,
        share=True,
    )


def within(k: float) -> Measure:
    """Agreement within k."""
    return Measure(
        f"agreement-within-{k:g}",
        f"Agreement within {k:g}",
        "order",
        panel=lambda s: ChanceCorrected(_few(s.values), k, "none"),
        transform="share",
        zero=False,
        share=True,
    )


def kappa(weights: Weights) -> Measure:
    """Cohen's κ with weights."""
    if weights == "quadratic":
        return Measure(
            "qwk",
            "Cohen's κ, quadratic weights",
            "order",
            pair=lambda s: Moments2(s.centre, "quadratic"),
            takes_means=True,
            rare_label=True,
        )
    plain = weights == "none"
    return Measure(
        "cohen-kappa" if plain else f"cohen-kappa-{weights}",
        "Cohen's κ" if plain else f"Cohen's κ, {weights} weights",
        "categories" if plain else "ordered categories",
        pair=lambda s: Kappa(_few(s.categories), weights),
        rare_label=True,
    )


def scott() -> Measure:
    """Scott's π."""
    return Measure(
        "scott-pi",
        "Scott's π",
        "categories",
        pair=lambda s: Kappa(_few(s.categories), "none", shared=True),
        rare_label=True,
    )


def fleiss() -> Measure:
    """Fleiss's κ."""
    return Measure(
        "fleiss-kappa",
        "Fleiss's κ",
        "categories",
        panel=lambda s: ChanceCorrected(_few(s.categories), "none", "fleiss"),
        rare_label=True,
    )


def gwet(weights: Weights) -> Measure:
    """Gwet's AC1 or AC2."""
    plain = weights == "none"
    return Measure(
        "gwet-ac1" if plain else f"gwet-ac2-{weights}",
        "Gwet's AC1" if plain else f"Gwet's AC2, {weights} weights",
        "categories" if plain else "ordered categories",
        panel=lambda s: ChanceCorrected(_few(s.categories), weights, "gwet"),
    )


def alpha(level: Level) -> Measure:
    """Krippendorff's α."""
    needs: dict[Level, Needs] = {"nominal": "labels", "ordinal": "order", "interval": "numbers", "ratio": "numbers"}
    return Measure(
        f"krippendorff-alpha-{level}",
        f"Krippendorff's α, {level}",
        needs[level],
        panel=lambda s: _alpha(s, level),
        rare_label=True,
        takes_means=level in ("interval", "ratio"),
    )


def _alpha(ratings: Ratings, level: Level) -> Alpha | AlphaRanks:
    if level == "interval":
        return Alpha(level, np.empty(0), ratings.centre)
    if level == "ordinal" and len(ratings.values) > MOST_VALUES:
        return AlphaRanks(ratings.answers)
    values = _few(ratings.values)
    if level == "ratio" and values[0] < 0:
        raise DesignError(f"the ratio level needs labels of 0 or more; the lowest is {values[0]:g}")
    return Alpha(level, values)


def _few(categories: Floats) -> Floats:
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


# -- Agreement on numbers --------------------------------------------------------------------------


def correlation(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    *,
    kind: CorrelationKind = "spearman",
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """Do two annotators put the items in the same order, whatever numbers they use?

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion. Items count that both labelled; nothing is filled in.
    annotators : list of str, "these" or "sample", optional
        Two of them; of more (30 at most), or of all when not given, the mean over pairs, with each in the table.
        "these" and "sample" as in `exact_agreement`.
    kind : {"pearson", "spearman", "kendall"}
        Pearson's r (labels that are numbers), Spearman's ρ from midranks, or Kendall's (1945) τ-b, which
        corrects for ties; the last two need an order only. -1 to 1.
    **options
        See `exact_agreement`.

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
    settings = CorrelationSettings.of(asked(options, annotators, kind=kind), "correlation")
    return coefficient(correlating(settings.kind), labels, settings)


def mae(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How far are two labels of an item apart on average, in units of the scale?

    Mean absolute error, 0 and up; over pairs of annotators where there are more than two. Parameters and
    errors: see `correlation`.
    """
    return coefficient(distance("mae"), labels, CoefficientSettings.of(asked(options, annotators), "mae"))


def nmae(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How far are two labels of an item apart on average, as a share of the scale?

    Mean absolute error over the range of the scale, 0 to 1 (Li et al., "Grading scale impact on
    LLM-as-a-judge", eq. 5). Needs a scale with ends. Parameters and errors: see `correlation`.
    """
    return coefficient(distance("nmae"), labels, CoefficientSettings.of(asked(options, annotators), "nmae"))


def rmse(
    labels: Annotations | Chunks,
    annotators: Sequence[str] | Taken | None = None,
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """How far are two labels of an item apart, large distances weighing more?

    Root mean squared error in units of the scale, 0 and up. Parameters and errors: see `correlation`.
    """
    return coefficient(distance("rmse"), labels, CoefficientSettings.of(asked(options, annotators), "rmse"))


def bias(
    labels: Annotations | Chunks,
    annotators: Sequence[str],
    **options: Unpack[CoefficientOptions],
) -> Coefficient:
    """By how much does the second annotator label higher than the first?

    Mean signed difference, second minus first, in units of the scale; 0 is no bias. ``annotators`` names the
    two in order. Other parameters and errors: see `correlation`.
    """
    if isinstance(annotators, str) or len(annotators) != 2:
        got = annotators if isinstance(annotators, str) else len(annotators)
        raise DesignError(f"bias compares two annotators that are named, second minus first; got {got}")
    return coefficient(distance("bias"), labels, CoefficientSettings.of(asked(options, annotators), "bias"))


# -- the measures -----------------------------------------------------------------------------------


def correlating(kind: CorrelationKind) -> Measure:
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
        pair=lambda s: Distance("mae", unit_range(s)) if kind == "nmae" else Distance(kind),
        transform="none" if kind == "bias" else "log",
        highest=1.0 if kind == "nmae" else None,
        zero=kind == "bias",
        lower_is_better=kind != "bias",
        directed=kind == "bias",
        tails=kind == "rmse",
        takes_means=True,
    )


# -- Every coefficient that can be a row of `assay.agreement` --------------------------------------


def all_measures() -> dict[str, Measure]:
    """Every coefficient that can be a row of `agreement`, by name."""
    measures = [
        exact(),
        within(1),
        kappa("none"),
        kappa("linear"),
        kappa("quadratic"),
        scott(),
        fleiss(),
        gwet("none"),
        gwet("quadratic"),
        *(alpha(level) for level in ("nominal", "ordinal", "interval", "ratio")),
        *(correlating(kind) for kind in ("pearson", "spearman", "kendall")),
        *(intraclass(form) for form in FORMS),
        *(distance(kind) for kind in ("mae", "nmae", "rmse", "bias")),
    ]
    return {measure.name: measure for measure in measures}
