"""How much of the variance of lessons is that of their teachers?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings, in_order
from assay.errors import DataError, DesignError, unknown
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import IntervalSettings, Limits, option, question
from assay.estimation.resampling import Units, add_rows, estimate_sums
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Floats
from assay.psychometrics.design import NOTHING
from assay.reporting import pictures
from assay.reporting.tables import estimated, interval
from assay.statistics.components.blocks import Blocks, Terms, anova, left_over, untold
from assay.statistics.components.reml import Ratio, fit, profile
from assay.statistics.components.variance import OneWay, OneWayLikely

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NestedEstimator = Literal["reml", "anova"]


@dataclass(frozen=True)
class NestedSettings(IntervalSettings):
    """Options of `assay.measures.nested_icc`."""

    within: Annotated[str, Limits("Item column that units are nested in: the teacher.", always=True)]
    _: KW_ONLY
    unit: str | None = option(
        None,
        "Item column of the units, such as lessons.",
        details="A unit's score is the mean of its labels, as reported in the result. Default: every item is a unit. "
        "Ids can repeat between groups: lesson 1 of each teacher is a different lesson.",
    )
    n: float = option(
        6.0, "Number of units averaged in the adjusted ICC.", low=1, always=True, details="The paper's is 6."
    )
    estimator: NestedEstimator = option(
        "reml",
        "Estimator of the variances.",
        details="Restricted maximum likelihood, as in the paper; or the analysis of variance of unbalanced data "
        "(Searle, Casella & McCulloch 1992, section 3.6), which weights groups by their size.",
    )
    annotators: Sequence[str] | None = option(None, "Annotators to include (default: all).")
    repeats: Repeats = option("error", "How to combine repeated labels.")


@dataclass(frozen=True, eq=False)
class NestedICC(Result):
    """Nested ICC: the share of the variance of lessons that is between their teachers.

    Attributes
    ----------
    estimate, low, high : float
        ICC of one lesson.
    adjusted, adjusted_low, adjusted_high : float
        ICC of the mean of ``n`` lessons.
    n : float
        Lessons averaged in the adjusted ICC.
    variance_within, variance_between : float
        Between lessons of a teacher, and between teachers.
    n_groups, n_units, n_labels : int
        Teachers, lessons, labels.
    f_low, f_high : float
        From F distributions, exact if all groups have equally many units; NaN otherwise.
    profile_low, profile_high : float
        From the profile of the likelihood; NaN for the analysis of variance.
    """

    leads: ClassVar[bool] = True

    estimate: float
    low: float
    high: float
    adjusted: float
    adjusted_low: float
    adjusted_high: float
    n: float
    variance_between: float
    variance_within: float
    n_groups: int
    n_units: int
    n_labels: int
    within: str
    unit: str
    f_low: float
    f_high: float
    profile_low: float
    profile_high: float
    reason: str | None
    run: Run
    found: Estimates = field(repr=False, metadata={"json": False})

    def row_estimates(self) -> Sequence[Estimate]:
        """Both."""
        return tuple(self.found)

    @property
    def table(self) -> pl.DataFrame:
        """The ICC and the adjusted ICC."""
        rows = [
            ("ICC", 1.0, self.estimate, self.low, self.high, self.n_groups),
            ("adjusted ICC", float(self.n), self.adjusted, self.adjusted_low, self.adjusted_high, self.n_groups),
        ]
        return pl.DataFrame(rows, schema=["coefficient", "averaged", "estimate", "low", "high", "n"], orient="row")

    def summary(self) -> str:
        """Both ICCs, the variances and the counts."""
        others = [
            f"; from {name} {interval(low, high, 3)}"
            for name, low, high in (
                ("F distributions", self.f_low, self.f_high), ("the likelihood", self.profile_low, self.profile_high),
            )
            if np.isfinite(high)
        ]  # fmt: skip
        lines = [
            f"ICC of one {self.unit} within {self.within}: {estimated(self.estimate, self.low, self.high, 3)}"
            f"{''.join(others)}.",
            f"Adjusted ICC of the mean of {self.n:g}: "
            f"{estimated(self.adjusted, self.adjusted_low, self.adjusted_high, 3)}.",
            f"{self.n_units:,} units of {self.n_groups:,} groups; {self.run.interval}.",
        ]
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both as a forest plot."""
        ax = pictures.axes(ax, height=1.6)
        pictures.forest_of_rows(ax, [f"one {self.unit}", f"mean of {self.n:g}"], self.table)
        ax.set_xlabel("ICC")
        return ax


@question(NestedSettings)
def nested_icc(labels: Annotations | Chunks, settings: NestedSettings) -> NestedICC:
    """How much does a lesson tell about its teacher, and how much do n lessons?

    The model of Hardy, "All that glitters", appendix F (eq. 9-10): score of a lesson = mean + teacher + rest,
    ``ICC = var(teacher) / (var(teacher) + var(rest) / n)`` with n = 1, and adjusted with ``n`` lessons.
    A small G-study of lessons in teachers; `assay.g_study` supports more facets. Teachers are resampled.

    Parameters
    ----------
    labels : Annotations
        One criterion, labels that are numbers.

    Raises
    ------
    DataError
        For a column that the items do not have.
    DesignError
        If no group has two units, or there are too few groups or units (at least three contrasts each).

    Examples
    --------
    >>> import assay, numpy as np, polars as pl
    >>> draw = np.random.default_rng(1)
    >>> rows = [
    ...     (f"t{t}-{o}", f"t{t}", rater, round(skill + draw.normal(0, 0.7), 1))
    ...     for t, skill in enumerate(draw.normal(3, 1, 20)) for o in range(4) for rater in "ab"
    ... ]
    >>> columns = ["item", "teacher", "annotator", "label"]
    >>> labels = assay.read(pl.DataFrame(rows, schema=columns, orient="row"), scale="interval")
    >>> found = assay.measures.nested_icc(labels, within="teacher")
    >>> round(found.table["estimate"][0], 2)
    0.64
    """
    within, unit = settings.within, settings.unit
    labels = labels.in_memory("a nested ICC")
    ratings = Ratings.of(labels, settings.annotators, repeats=settings.repeats)
    if not ratings.scale.numeric:
        raise DesignError(
            f"a nested ICC needs labels that are numbers; these are on '{ratings.scale.spec}'. "
            "Say which scale the labels are on with scale=..."
        )
    answers = ratings.answers
    about = labels.items.filter(pl.col("item").is_in(list(answers.items)))
    for name in (within, unit):
        if name is not None and name not in about.columns:
            raise DataError(unknown("item column", name, about.columns, "the table of items"))
    nested = unit_scores(answers, about, within, unit)
    if len(nested) == len(nested.items):
        raise DesignError(f"no {within} has two of {unit or 'its items'}; the ICC needs groups with at least two units")
    if why := untold(nested.value, nested.item, name=within):
        raise DesignError(f"the ICC is not estimable: {why}")
    one_way = OneWay(ratings.centre) if settings.estimator == "anova" else OneWayLikely.of(nested, ratings.centre)
    statistic = _Nested(one_way, settings.n)
    moments = statistic.moments(nested)
    units = Units.of(len(moments))
    found = estimate_sums(
        statistic, add_rows(moments, units.of_item, units.n), settings, n_items=len(moments), unit="groups",
        transform="fisher",
    )  # fmt: skip
    return _wrap_nested(settings, ratings, nested, statistic, found, len(answers), about)


def _wrap_nested(
    settings: NestedSettings, ratings: Ratings, nested: Answers, statistic: _Nested, found: Estimates, n_labels: int,
    about: pl.DataFrame,
) -> NestedICC:  # fmt: skip
    """Wrap both numbers."""
    unit, within = settings.unit or "item", settings.within
    between, _, rest = (float(v) for v in statistic.components.value(statistic.moments(nested).sum(axis=0)))
    f_low, f_high = exact_f(nested, rest, found.confidence)
    likely = profile_interval(nested, found.confidence) if settings.estimator == "reml" else (np.nan, np.nan)
    notes = ratings.notes
    if n_labels > len(nested):
        notes = (*notes, f"a {unit}'s score is the mean of its labels ({n_labels:,} of them)")
    columns = {c: about[c].to_list() for c in (within, settings.unit) if c is not None}
    facts = {"groups": len(nested.items), "units": len(nested), "labels": n_labels}
    return NestedICC(
        estimate=found[0].estimate,
        low=found[0].low,
        high=found[0].high,
        adjusted=found[1].estimate,
        adjusted_low=found[1].low,
        adjusted_high=found[1].high,
        n=settings.n,
        variance_between=between,
        variance_within=rest,
        n_groups=len(nested.items),
        n_units=len(nested),
        n_labels=n_labels,
        within=within,
        unit=unit,
        f_low=f_low,
        f_high=f_high,
        profile_low=likely[0],
        profile_high=likely[1],
        reason=found[0].reason,
        found=found,
        run=Run(
            "nested-icc", settings, fingerprint_with(ratings.fingerprint, **columns), facts,
            found.describe_interval().replace("groups", f"groups ({within})"), notes=notes,
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class _Nested:
    """Equation 10 for one unit and for n."""

    components: OneWay | OneWayLikely
    n: float

    def moments(self, data: Answers) -> Floats:
        return self.components.moments(data)

    def value(self, sums: Floats) -> Floats:
        between, _, rest = np.moveaxis(self.components.value(sums), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.stack([between / (between + rest / n) for n in (1, self.n)], axis=-1)


def unit_scores(answers: Answers, about: pl.DataFrame, within: str, unit: str | None) -> Answers:
    """The mean label of each unit, as an answer about its group."""
    name = unit or "item"
    if about[within].null_count() or about[name].null_count():
        raise DataError(f"some items have no '{within}' or no '{name}'; fill them, or drop the items")
    number = np.bincount(answers.item, minlength=len(answers.items))
    sums = pl.DataFrame(
        {
            "item": answers.items,
            "total": np.bincount(answers.item, weights=answers.value, minlength=len(answers.items)),
            "number": number,
        }
    )
    units = (
        about.select("item", pl.col(within).alias("_group"), pl.col(name).alias("_unit"))
        .join(sums, on="item", validate="1:1")
        .group_by("_group", "_unit", maintain_order=True)  # lesson 1 of each teacher is another lesson
        .agg(pl.col("total", "number").sum())
    )
    units = units.sort("_group", "_unit", maintain_order=True)
    group = units["_group"].rank("dense").to_numpy().astype(np.int64) - 1
    names = tuple(str(g) for g in units["_group"].unique(maintain_order=True).to_list())
    value = (units["total"] / units["number"]).to_numpy()
    return in_order(Answers(group, np.arange(len(group)), value, names, ()))


def exact_f(nested: Answers, within: float, confidence: float) -> tuple[float, float]:
    """The interval from F distributions for groups of one size; there is no exact one for others."""
    from scipy.special import fdtri

    number = np.bincount(nested.item)
    groups, units, each = len(number), len(nested), int(number[0])
    if within <= 0 or units == groups or (number != each).any():
        return np.nan, np.nan
    means = np.bincount(nested.item, weights=nested.value) / each
    rest = float(((nested.value - means[nested.item]) ** 2).sum()) / (units - groups)
    f = each * means.var(ddof=1) / rest
    upper = (1 + confidence) / 2
    ends = f / fdtri(groups - 1, units - groups, upper), f * fdtri(units - groups, groups - 1, upper)
    low, high = ((e - 1) / (e - 1 + each) for e in ends)
    return float(low), float(high)


def profile_interval(nested: Answers, confidence: float) -> tuple[float, float]:
    """The interval of the ICC of one unit from the profile of the restricted likelihood."""
    terms = Terms(nested.value.astype(float), (nested.item,))
    if left_over(terms)[1] <= NOTHING * len(terms) * float(np.var(terms.value)):
        return np.nan, np.nan
    fitted = fit(Blocks.of(terms), [np.maximum(anova(terms), 0.0), np.full(2, float(np.var(terms.value)))])
    return profile(fitted, Ratio(np.array([1.0, 0.0]), np.array([0.0, 1.0])), confidence, len(nested.items) - 1)
