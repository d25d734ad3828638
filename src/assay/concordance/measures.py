"""The coefficients of agreement as functions and as rows of `assay.agreement`. To add one, add it here."""

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
    """
    return coefficient(kappa(settings.weights), labels, settings)


@question(CoefficientSettings)
def scott_pi(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of two annotators with a common label distribution.

    Scott (1955). As `cohen_kappa`, but chance agreement is computed from the labels of both annotators together, so
    different label distributions do not increase the coefficient. The mean over pairs for more than two annotators.
    """
    return coefficient(scott(), labels, settings)


@question(CoefficientSettings)
def fleiss_kappa(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of many annotators on categories.

    Fleiss (1971, eq. 1-7). With different numbers of labels per item: Gwet (2014, section 2.4), observed agreement
    over items with two or more labels, each category's share averaged over all items with a label. At most 1;
    0 is chance. For two annotators it is Scott's π. Errors: see `exact_agreement`.
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
    """
    return coefficient(gwet(settings.weights), labels, settings)


@question(WeightedSettings)
def brennan_prediger(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """Estimate agreement beyond labels that are uniform over the categories.

    Brennan & Prediger (1981), with weights Gwet (2014, section 4.4): chance is 1 / q for the q categories of the
    scale, independent of their frequencies (Bennett's S for two annotators). At most 1; 0 is chance. Missing labels as
    in `fleiss_kappa`. Errors: see `exact_agreement`.
    """
    return coefficient(uniform(settings.weights), labels, settings)


@question(WeightedSettings)
def conger_kappa(labels: Annotations | Chunks, settings: WeightedSettings) -> Coefficient:
    """Estimate the chance-corrected agreement of many annotators with separate label distributions.

    Conger (1980); with weights and missing labels Gwet (2014, section 2.4). Equal to Cohen's κ for two annotators. For
    more annotators, agreement and chance are averaged over pairs before the division, while `cohen_kappa` averages κ.
    Up to 30 annotators. Errors: see `exact_agreement`.
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
    """
    return coefficient(correlation_measure(settings.kind), labels, settings)


@question(CoefficientSettings)
def concordance_correlation(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate how close the labels of two annotators are to the line of equality.

    Lin's (1989, eq. 2) concordance correlation 2 s_xy / (s_x² + s_y² + (x̄ − ȳ)²), moments over n. It equals Cohen's κ
    with quadratic weights, for any numbers. −1 to 1, and at most Pearson's r. The mean over pairs for more than two
    annotators. Errors: see `correlation`.
    """
    return coefficient(concordance_measure(), labels, settings)


@question(CoefficientSettings)
def mae(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the mean absolute difference of two labels of an item, in units of the scale.

    0 or more; the mean over pairs for more than two annotators. Errors: see `correlation`.
    """
    return coefficient(distance("mae"), labels, settings)


@question(CoefficientSettings)
def nmae(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the mean absolute difference of two labels of an item, as a share of the scale.

    Mean absolute error divided by the range of the scale, 0 to 1 (Li et al., "Grading scale impact on
    LLM-as-a-judge", eq. 5). Requires a scale with ends. Errors: see `correlation`.
    """
    return coefficient(distance("nmae"), labels, settings)


@question(CoefficientSettings)
def rmse(labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Estimate the root mean squared difference of two labels of an item, in units of the scale.

    0 or more; large differences have more weight than in `mae`. Errors: see `correlation`.
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
