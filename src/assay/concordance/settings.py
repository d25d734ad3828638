"""The options of agreement, its coefficients and the study of grading scales, stated once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from assay.data.annotations import Repeats
from assay.errors import DesignError
from assay.estimation.options import Adjustment, Intervals, IntervalSettings, Taken, option
from assay.statistics.categories import Level, Weights

Who = Literal["humans", "judges", "pairs", "consensus", "rest", "human pairs", "random human"]
CorrelationKind = Literal["pearson", "spearman", "kendall"]
Estimator = Literal["anova", "components"]
NestedEstimator = Literal["reml", "anova"]
Model = Literal["random", "mixed"]


class CoefficientOptions(Intervals, TypedDict, total=False):
    """Options of every coefficient of agreement.

    Attributes
    ----------
    repeats : {"error", "first", "last", "mean", "majority", "each"}
        What several answers of one annotator to one item stand for; there is no default.
    clusters : str
        A column of the items whose items are resampled together.
    """

    repeats: Repeats
    clusters: str | None


@dataclass(frozen=True)
class CoefficientSettings(IntervalSettings):
    """Options of every coefficient of agreement; see `assay.exact_agreement`."""

    annotators: tuple[str, ...] | Taken | None = option(
        None, "Annotators whose labels count, in order; or what all of them are taken for."
    )
    repeats: Repeats = option("error", "What repeated answers stand for.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")

    @property
    def names(self) -> tuple[str, ...] | None:
        """Whose labels count; None stands for all."""
        return None if isinstance(self.annotators, str) else self.annotators

    @property
    def taken(self) -> Taken | None:
        """What annotators were asked to be taken for."""
        return self.annotators if isinstance(self.annotators, str) else None


@dataclass(frozen=True)
class WithinSettings(CoefficientSettings):
    """Options of `assay.within_agreement`."""

    k: float = option(1.0, "Distance up to which labels count as equal.", low=0, always=True)


@dataclass(frozen=True)
class WeightedSettings(CoefficientSettings):
    """Options of `assay.cohen_kappa` and `assay.gwet_ac`."""

    weights: Weights = option("none", "How much credit nearby labels earn.")


@dataclass(frozen=True)
class AlphaSettings(CoefficientSettings):
    """Options of `assay.krippendorff_alpha`."""

    level: Level | None = option(None, "Which difference counts.", key="distance")


@dataclass(frozen=True)
class CorrelationSettings(CoefficientSettings):
    """Options of `assay.correlation`."""

    kind: CorrelationKind = option("spearman", "Which correlation.")


@dataclass(frozen=True)
class ICCSettings(CoefficientSettings):
    """Options of `assay.icc`."""

    form: str = option("ICC(A,1)", "Which intraclass correlation.")
    model: Model = option("random", "Whether annotators are a sample of many.")
    estimator: Estimator | None = option(None, "How variances are computed.")
    k: float | None = option(None, "Labels that are averaged.", low=1)


@dataclass(frozen=True)
class ICCTableSettings(CoefficientSettings):
    """Options of `assay.icc_table`."""

    estimator: Estimator | None = option(None, "How variances are computed.")


@dataclass(frozen=True)
class NestedSettings(IntervalSettings):
    """Options of `assay.nested_icc`."""

    within: str = option("", "Item column that units are nested in.", always=True)
    unit: str | None = option(None, "Item column that says which unit an item is part of.")
    n: float = option(6.0, "Units that are averaged in the adjusted ICC.", low=1, always=True)
    estimator: NestedEstimator = option("reml", "How variances are computed.")
    annotators: tuple[str, ...] | None = option(None, "Annotators whose labels count.")
    repeats: Repeats = option("error", "What repeated answers stand for.")


@dataclass(frozen=True)
class AgreementSettings(IntervalSettings):
    """Options of `assay.agreement`."""

    coefficients: tuple[str, ...] | None = option(
        None, "Names such as cohen-kappa or icc(a,1), separated by commas; every one that the scale allows."
    )
    who: tuple[Who, ...] | None = option(None, "Kinds of comparison, separated by commas; all when not given.")
    by: str | None = option(None, "A column whose values are analysed one by one.")
    draws: int = option(1000, "Draws of one person an item, for 'random human'.", low=1)
    family: str | None = option(None, "Annotator column that says which family a judge is of, for 'random human'.")
    adjust: Adjustment = option("holm", "How p-values are adjusted for their number.", always=True)
    annotators: Taken | None = option(None, "The interval is for these annotators, or for others like them.")
    repeats: Repeats = option("error", "What repeated answers stand for.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")


@dataclass(frozen=True)
class GradingScaleSettings(IntervalSettings):
    """Options of `assay.grading_scale_study`."""

    scale: str = option("scale", "Column that names the range of each answer: 0-5, 0-100.", key="scale-column")
    ranges: Mapping[str, tuple[float, float]] | None = option(
        None, "Lowest and highest number of each value of that column.", hidden=True
    )
    by: str | None = option(None, "Item column (benchmark) whose values are analysed beside the pooled figure.")
    group: str | None = option(None, "Annotator column (gender, expertise) whose groups are set against the judges.")
    condition: str | None = option(None, "Another column that was varied for the judges (temperature).")
    baseline: Any = option(None, "The value of that column in the main analysis.")
    threshold: float = option(0.1, "Distance on 0-1 up to which an item counts as well aligned.", low=0, high=1)
    annotators: Taken | None = option(None, "The interval is for these annotators, or for others like them.")
    repeats: Repeats = option("error", "What repeated answers stand for.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")


def taken_by(how: IntervalSettings, asked: Taken | None, *, random: bool) -> Taken:
    """What an interval takes annotators for: as asked, else these, and a sample for what is random by definition.

    Raises
    ------
    DesignError
        For a bootstrap with annotators as a sample.
    """
    if asked == "sample" and how.method in ("percentile", "bca"):
        raise DesignError(
            f"a bootstrap ({how.method}) draws annotators with replacement, and one that is drawn twice agrees with "
            "itself; take method='jackknife', or annotators='these'"
        )
    if asked is None:
        return "sample" if random and how.method == "jackknife" else "these"
    return asked


def asked(options: Mapping[str, Any], annotators: Sequence[str] | None, **more: Any) -> dict[str, Any]:
    """Options of a coefficient as its settings hold them."""
    names = annotators if annotators is None or isinstance(annotators, str) else tuple(annotators)
    return {**options, **more, "annotators": names}
