"""Agreement on numbers: correlations, and how far labels are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack

from assay.concordance.coefficient import MOST_VALUES, Coefficient, Measure, coefficient, unit_range
from assay.concordance.settings import (
    CoefficientOptions,
    CoefficientSettings,
    CorrelationKind,
    CorrelationSettings,
    asked,
)  # fmt: skip
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DesignError
from assay.estimation.options import Taken
from assay.statistics.pairs import Distance, Moments2, RankTable


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
