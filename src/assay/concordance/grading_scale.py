"""Human–judge agreement on several grading scales.

The same items are labelled on several numeric ranges. Labels are mapped to 0-1 to compare the scales. All intervals
treat the items as the sample, and scales are compared under the same resamples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from assay.concordance import plots, words
from assay.concordance.coefficient import GradingScaleSettings, bounded, groups_left_out
from assay.concordance.comparisons import row_means
from assay.concordance.words import JUDGES_MEAN, ONE_JUDGE, POOLED
from assay.data.annotations import Annotations, Answers, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.data.ratings import cluster_codes
from assay.data.scales import range_of
from assay.data.structure.groups import annotator_groups
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, Transform, adjust_p
from assay.estimation.options import question
from assay.estimation.resampling import Sums, Units, add_rows
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.statistics.categories import PanelStatistic, Together, answers_of, grid
from assay.statistics.components.variance import Components, Form, IntraclassCorrelation, OneWay, TwoWay
from assay.statistics.pairs import Distance, MeanOfPairs, Moments2
from assay.statistics.words import dependence_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BENCHMARK_NAMES = ("benchmark", "dataset", "task", "domain", "subset", "source")
"""Item columns that are tried first if ``by`` is not given."""

MOST_BENCHMARKS, LEAST_OF_BENCHMARK = 12, 10
"""Most values of a column of benchmarks, and least items of each value: an ICC of fewer items is not informative."""

NO_SPLIT = "none"
"""Value of ``by`` for no split of the items."""

MAIN = (POOLED, JUDGES_MEAN, "icc")
"""The benchmark, judge and measure by which scales are ranked."""

COLUMNS = ("estimate", "low", "high", "n")
"""The columns of an estimate."""

TABLES: dict[str, tuple[str, ...]] = {
    "alignment": ("scale", "benchmark", "judge", "measure", *COLUMNS),
    "differences": ("benchmark", "judge", "scale", "other", *COLUMNS, "p", "p_adjusted", "significant"),
    "reliability": ("scale", "benchmark", "form", "panel", "k", *COLUMNS),
    "consistency": ("benchmark", "scales", "judge", *COLUMNS),
    "groups": ("group", "benchmark", "scale", "measure", "annotators", *COLUMNS, "p"),
    "conditions": ("judge", "scale", "condition", "measure", *COLUMNS, "p"),
    "repeats": ("scale", "benchmark", "annotator", "repeats", *COLUMNS),
    "rows": ("scale", "benchmark", "what", "form", *COLUMNS),
    "pooling": ("what", "benchmark", *COLUMNS, "pooled", "inflation", "p", "p_adjusted", "significant"),
}
"""The columns of each table."""

TYPES: dict[str, Any] = {
    **dict.fromkeys((*COLUMNS[:3], "pooled", "inflation", "p", "p_adjusted"), pl.Float64),
    **dict.fromkeys(("n", "k", "annotators", "repeats"), pl.Int64),
    "significant": pl.Boolean,
}
"""The types of columns that are not text."""


@dataclass(frozen=True, eq=False)
class GradingScaleStudy(ResultOfRows):
    """Agreement, reliability and consistency on each grading scale.

    Every table has ``estimate``, ``low``, ``high`` and ``n`` (items). Table numbers refer to Li et al., "Grading scale
    impact on LLM-as-a-judge".

    Attributes
    ----------
    table : polars.DataFrame
        Pooled and by benchmark, one row per scale: the panels, their agreement and the error (tables 2 to 4a); ``form``
        of an ICC is ICC(A,k) of a panel's mean label, or ICC(A,1).
    best : str or None
        The scale with the highest pooled ICC(A,1) of the mean human label with the mean judge label. None without
        humans; then only `reliability` and `consistency` (table 1) have rows.
    alignment : polars.DataFrame
        That agreement by ``scale`` and ``benchmark`` ("all" first): ``measure`` is ``icc`` (A,1), ``nmae`` or
        ``pearson``; ``judge`` is "judges' mean", "one judge" (the ICC of humans with a single judge, averaged over
        judges) or a judge's name (tables 2, 4a, 4b).
    differences : polars.DataFrame
        ICC of each scale minus that of another, paired, with p-values adjusted (Holm) over the pairs of scales
        of a benchmark and judge; ``significant`` if it differs from 0.
    reliability : polars.DataFrame
        ICC(A,k) and ICC(A,1) of the panels of humans and of judges on the items that both labelled, ``humans -
        judges``, and "judges, all items" if judges labelled more (tables 2, 3, 14, 15).
    pooling : polars.DataFrame
        For the best scale and each benchmark: ``what`` is "humans and judges" (A,1) or "judges' panel" (A,k), its ICC,
        the ``pooled`` ICC, their difference ``inflation``, ``p`` (of equal ICCs, on Fisher's z), ``p_adjusted`` (Holm),
        ``significant``.
    consistency : polars.DataFrame
        ICC(A,1) of each judge across scales: all scales jointly and each pair; "average" is the mean over judges
        (table 1).
    groups, conditions : polars.DataFrame or None
        By a column of the annotators (table 5), pooled and by benchmark, with differences of each pair of groups; and
        by another experimental condition (table 6), with each value minus the baseline on the same items. Differences
        have a ``p``.
    repeats : polars.DataFrame or None
        If there are repeated labels: ICC(1) of each annotator's repeats by ``scale`` and ``benchmark``. It does not
        depend on ``repeats=``, which combines them for the other tables.
    items : polars.DataFrame
        Each item on each scale: both means on 0-1 and in units of the scale (``humans_label``, ``judges_label``), their
        distance ``nmae``, ``aligned`` (at most `well_aligned`), and the item metadata (App. G).
    """

    best: str | None
    scales: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    alignment: pl.DataFrame
    differences: pl.DataFrame
    reliability: pl.DataFrame
    consistency: pl.DataFrame
    groups: pl.DataFrame | None
    conditions: pl.DataFrame | None
    repeats: pl.DataFrame | None
    pooling: pl.DataFrame
    items: pl.DataFrame = field(repr=False)
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    by: str | None
    well_aligned: float
    n_items: int
    n_labels: int
    run: Run
    rows: pl.DataFrame = field(repr=False, metadata={"json": False})
    estimates: Sequence[Estimate] = field(repr=False, metadata={"json": False})

    def illusion(self) -> pl.DataFrame:
        """Return the benchmarks whose ICC on the best scale is below the pooled ICC.

        Pooling adds the differences between benchmarks to the variance of items, which an ICC counts as
        agreement. ``significant``: pooled minus benchmark, under the same resamples, is above 0 (adjusted p).
        """
        return self.pooling.filter(pl.col("estimate") < pl.col("pooled")).sort("what", "estimate")

    def summary(self) -> str:
        """Return the best scale, its differences from the others, and whether pooling inflates the agreement."""
        return words.lines_of(self, [*words.grading_scale_lines(self), f"{self.run.interval}."])

    @property
    def raters(self) -> str:
        """Whether humans and judges are ``fixed`` or ``random``."""
        settings = self.run.settings
        assert isinstance(settings, GradingScaleSettings)
        return settings.raters_for(random=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw agreement by scale and benchmark as bars with intervals; without humans, the consistency of judges."""
        if self.best is None:
            return super().plot(ax)
        return plots.bars(self.alignment.filter(measure="icc", judge=JUDGES_MEAN), self.scales, ax)

    def plot_icc_nmae(self, ax: Axes | None = None, *, scale: str | None = None) -> Axes:
        """Draw the ICC against the nMAE of each benchmark: a small error does not imply a high ICC."""
        drawn = self.scales if scale is None else (self._check_scale(scale),)
        rows = self.alignment.filter(judge=JUDGES_MEAN)
        return plots.icc_against_nmae(rows, drawn, scale or self._require_humans(), self.well_aligned, ax)

    def plot_consensus(self, ax: Axes | None = None, *, benchmark: str | None = None, scale: str | None = None) -> Axes:
        """Draw the judges' mean label against the humans' mean label of each item (figure 2)."""
        chosen = self._check_scale(scale or self._require_humans())
        items = self.items.filter(scale=chosen)
        if benchmark is not None and self.by is not None:
            items = items.filter(pl.col(self.by).cast(pl.String) == benchmark)
        rows = self.alignment.filter(
            scale=chosen, judge=JUDGES_MEAN, benchmark=POOLED if benchmark is None else benchmark
        )
        if not rows.height:
            known = self.alignment["benchmark"].unique().to_list()
            raise DesignError(unknown("benchmark", benchmark, known, "the study"))
        values = dict(rows.select("measure", "estimate").iter_rows())
        return plots.consensus_points(items, values, f"{benchmark or 'all items'}, {chosen}", self.well_aligned, ax)

    def _require_humans(self) -> str:
        if self.best is None:
            raise DesignError("this plot compares humans and judges; the table has only judges")
        return self.best

    def _check_scale(self, scale: str) -> str:
        if scale not in self.scales:
            raise DesignError(unknown("scale", scale, self.scales, "the study"))
        return scale


@question(GradingScaleSettings)
def grading_scale_study(labels: Annotations | Chunks, settings: GradingScaleSettings) -> GradingScaleStudy:
    """Compare rating scales by human–judge agreement.

    The design is that of Li et al., "Grading scale impact on LLM-as-a-judge": each annotator labels each item once on
    each scale. Labels are mapped linearly to 0-1. A consensus is the mean of the available labels.

    Parameters
    ----------
    labels : Annotations
        One criterion, humans and judges, with the scale of each label in a column that is an experimental condition.

    Returns
    -------
    GradingScaleStudy
        Tables, ``summary()`` with the best scale, ``plot()``, ``plot_icc_nmae()``, ``plot_consensus()``.

    Raises
    ------
    DataError
        For an unknown column, an unreadable range, or labels outside their range.
    DesignError
        For fewer than two scales, no judges, repeats, a condition without a baseline.

    Notes
    -----
    Raters are random by default, as in the paper (section 3.1): intervals and comparisons are for other humans and
    judges of the same populations. Each rater is left out in turn as well as each item. A single human or judge is
    fixed. With fixed raters, or a bootstrap, a scale can be significantly better only for these raters. Scales are
    compared twice: for the mean of the judges, and for a single judge, which requires three judges. Both variances
    include the items; otherwise the errors that judges share on an item would count as an effect of the scale.

    Examples
    --------
    >>> import assay, polars as pl
    >>> short = assay.simulate(n_items=40, scale="1-5", judges={"gpt": 0.2}, seed=1).to_polars()
    >>> long = short.with_columns(label=pl.col("label") * 2, range=pl.lit("0-10"))
    >>> frame = pl.concat([short.with_columns(range=pl.lit("0-5")), long])
    >>> labels = assay.read(frame, scale="interval:0-10", conditions=["range"])
    >>> found = assay.grading_scale_study(labels, scale_column="range")
    >>> found.table.filter(what="icc").select("scale", pl.col("estimate").round(2)).rows()
    [('0-5', 0.67), ('0-10', 0.67)]
    """
    study = ScaleTables(labels.in_memory("a study of grading scales"), settings)
    alignment, differences = study.alignment()
    pooled = {r["scale"]: r["estimate"] for r in alignment if (r["benchmark"], r["judge"], r["measure"]) == MAIN}
    best = max(pooled, key=lambda scale: np.nan_to_num(pooled[scale], nan=-np.inf), default=None)
    reliability, consistency = study.reliability(), study.consistency()
    rows = main_rows(alignment, reliability, consistency)
    tables: dict[str, list[Row] | None] = {
        "alignment": alignment, "differences": differences, "reliability": reliability, "consistency": consistency,
        "groups": None if settings.group is None else study.groups(settings.group),
        "conditions": None if settings.condition is None else study.conditions(settings.condition),
        "repeats": study.repeats(), "pooling": study.pooling(best), "rows": rows,
    }  # fmt: skip
    frames: dict[str, Any] = {name: study.frame_of(name, each) for name, each in tables.items()}
    return GradingScaleStudy(
        **frames, best=best, scales=study.scales, ranges=study.ranges, items=study.item_table(), humans=study.humans,
        judges=study.judges, by=study.by, well_aligned=settings.well_aligned, n_items=len(study.items),
        n_labels=study.frame.height, run=study.run(), estimates=[row["found"] for row in rows],
    )  # fmt: skip


class ScaleTables:
    """Labels on 0-1 as one matrix per scale, and the rows of the tables computed from them."""

    def __init__(self, labels: Annotations, settings: GradingScaleSettings) -> None:
        self.whole, self.how = labels, settings
        self._check(labels, settings)
        labels = self.labels = labels.resolve_repeats(settings.repeats)
        self.humans, self.judges = labels.humans, labels.judges
        self.items = labels.items["item"].to_list()
        # With repeats as annotators, the whole table has other names.
        self.names = tuple(dict.fromkeys((*self.humans, *self.judges, *self.whole.humans, *self.whole.judges)))
        self.clusters: Ints | None = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
        self.by = self._guess_by() if settings.by is None else None if settings.by == NO_SPLIT else settings.by
        self.benchmarks = self._benchmarks()
        found = natural(labels.labels[settings.scale_column].cast(pl.String).drop_nulls().unique().to_list())
        if len(found) < 2:
            raise DesignError(
                f"column '{settings.scale_column}' has {len(found)} value; a study of scales requires two or more"
            )
        self.ranges = {name: _range(name, settings.ranges) for name in found}
        self.scales = tuple(sorted(found, key=lambda name: self.ranges[name][1] - self.ranges[name][0]))
        self.frame = self._unit_labels(labels)
        unscaled = labels.labels.height - self.frame.height
        self.exclusions = [Exclusion("label", unscaled, "no scale")] if unscaled else []
        self.varied = () if settings.condition is None else labels.where(kind="judge").values_of(settings.condition)
        self.baseline = self._baseline(settings.baseline)
        self.cells = self._matrices(self._at_baseline(self.frame))
        self.interval = "no interval"
        self.raters = settings.raters_for(random=True)
        self.notes = self._notes()
        self.errors: list[Floats] = []

    def _check(self, labels: Annotations, settings: GradingScaleSettings) -> None:
        """Refuse a table without the requested columns and annotators."""
        if len(labels.criteria) > 1:
            raise DesignError(
                f"the table has {len(labels.criteria)} criteria; choose one with labels.where(criterion=...)"
            )
        for name in (settings.scale_column, settings.condition):
            if name is not None and name not in labels.labels.columns:
                raise DataError(unknown("column", name, labels.labels.columns))
        if settings.by not in (None, NO_SPLIT, *labels.items.columns):
            raise DataError(unknown("item column", settings.by, labels.items.columns, "the table of items"))
        if not labels.judges:
            raise DesignError("a study of grading scales requires judges; the table has only humans")
        requested = {"by group": settings.group, "by condition": settings.condition}
        tables = [name for name, column in requested.items() if column]
        if not labels.humans and tables:
            raise DesignError(f"the tables {listing(tables)} compare humans and judges; the table has only judges")

    def _guess_by(self) -> str | None:
        """The only column with few values that can split the items, or the first with a name of benchmarks."""
        items, found = self.labels.items.drop("item", *self.labels.technical_columns, strict=False), []
        for name, kind in items.schema.items():
            if kind in (pl.String, pl.Categorical, pl.Enum) and self.humans:
                values = items[name].alias("value").value_counts()["count"]
                if 2 <= len(values) <= MOST_BENCHMARKS and min(values) >= LEAST_OF_BENCHMARK:
                    found.append(name)
        named = [name for name in BENCHMARK_NAMES if name in found]
        single = found if len(found) == 1 else []
        return next(iter(named or single), None)

    def _benchmarks(self) -> list[tuple[str, Ints]]:
        """All items, then those of each value of ``by``."""
        found = [(POOLED, np.arange(len(self.items)))]
        if self.by is not None:
            column = self.labels.items[self.by].cast(pl.String).fill_null("(none)")
            found += [(value, (column == value).arg_true().to_numpy()) for value in natural(column.unique().to_list())]
        return found

    def _baseline(self, baseline: Any) -> Any:
        """The condition of the main tables."""
        if len(self.varied) <= 1:
            return self.varied[0] if self.varied else None
        condition = self.how.condition
        if baseline is None:
            raise DesignError(
                f"the judges' labels have several values of '{condition}' ({listing(self.varied)}); "
                "choose the value for the main tables with baseline=..."
            )
        if baseline not in self.varied:
            raise DataError(unknown(str(condition), baseline, self.varied))
        return baseline

    def _notes(self) -> list[str]:
        """Notes on decisions, missing labels, additional items, and benchmarks without an interval."""
        found = [f"repeated labels: {self.how.repeats}"] if self.whole.has_repeats else []
        if len(self.varied) > 1:
            found.append(f"judges' labels have {self.how.condition} {self.baseline}, except in the table by condition")
        if self._at_baseline(self.frame).height < len(self.scales) * len(self.items) * len(self.humans + self.judges):
            found.append("some labels are missing; a consensus is the mean of the available labels")
        answered = {
            kind: np.any([~np.isnan(self._mean(s, names)) for s in self.scales], axis=0)
            for kind, names in (("judges", self.judges), ("humans", self.humans))
        }
        for kind, there in answered.items() if self.humans else ():
            extra = int((there & ~np.all([*answered.values()], axis=0)).sum())
            if extra:
                tables = "tables of reliability and consistency" if kind == "judges" else "table of reliability"
                found.append(
                    f"{counted(extra, 'item')} labelled only by {kind}: used in the {tables}, not in comparisons of "
                    "humans with judges"
                )
        units = np.arange(len(self.items)) if self.clusters is None else self.clusters
        single = [name for name, items in self.benchmarks if len(np.unique(units[items])) < 2]
        if single and self.how.method != "none":
            what = "item" if self.clusters is None else f"{self.how.clusters} (the clusters)"
            found.append(f"no interval for {listing(single)}: the variance cannot be estimated from one {what}")
        if self.how.repeats == "each" and self.whole.has_repeats:
            found.append("each repeat counts as an annotator, so intervals for random raters are too narrow")
        two = [who for who, names in (("humans", self.humans), ("judges", self.judges)) if len(names) == 2]
        if two and self.raters == "random" and self.how.method == "jackknife":
            found.append(
                f"intervals are for other {' and '.join(two)} of the same kind; two are too few, so that they can span "
                "the whole range: use raters='fixed' for these"
            )
        if self.by is not None and self.how.by is None:
            found.append(
                f"items are split by their column '{self.by}'; choose another with by=..., or none with by='{NO_SPLIT}'"
            )
        return found

    # -- the labels -----------------------------------------------------------------------------------

    def _unit_labels(self, labels: Annotations) -> pl.DataFrame:
        """The labels with a scale, on 0-1."""
        scale = pl.col(self.how.scale_column).cast(pl.String)
        frame = labels.labels.with_columns(_scale=scale).drop_nulls("_scale")
        if not frame["label"].dtype.is_numeric():
            raise DesignError("grading scales are numeric; these labels are not numbers")
        low, high = (
            pl.col("_scale").replace_strict({s: ends[i] for s, ends in self.ranges.items()}, return_dtype=pl.Float64)
            for i in (0, 1)
        )
        frame = frame.with_columns(_unit=(pl.col("label").cast(pl.Float64) - low) / (high - low))
        off = frame.filter(~pl.col("_unit").is_between(-1e-9, 1 + 1e-9))
        if off.height:
            rows = off.head(5).select("item", "_scale", "label").iter_rows()
            shown = listing([f"item '{i}', scale {s}: {v:g}" for i, s, v in rows])
            raise DataError(f"{off.height} labels are outside the range of their scale ({shown})")
        return frame

    def _at_baseline(self, frame: pl.DataFrame) -> pl.DataFrame:
        """All labels of humans, and those of judges under the condition of the main tables."""
        if self.how.condition is None:
            return frame
        humans = (*self.humans, *self.whole.humans)
        return frame.filter(pl.col("annotator").is_in(humans) | (pl.col(self.how.condition) == self.baseline))

    def _matrices(self, frame: pl.DataFrame, by: str | None = None) -> dict[Hashable, Floats]:
        """(items, annotators) on 0-1, NaN if missing: by scale, or by scale and the value of another column."""
        keys = itertools.product(self.scales, [None] if by is None else frame[by].unique(maintain_order=True))
        found: dict[Hashable, Floats] = {}
        for scale, value in keys:
            part = frame.filter(pl.col("_scale") == scale, True if by is None else pl.col(by).eq_missing(value))
            if part.select("item", "annotator").is_duplicated().any():
                raise DesignError(
                    f"annotators labelled items more than once on scale {scale}; name the experimental condition with "
                    "condition=..., or select labels with labels.where(...)"
                )
            cells = np.full((len(self.items), len(self.names)), np.nan)
            place = (
                part[column].replace_strict(pl.Series(names), pl.Series(range(len(names)))).to_numpy()
                for column, names in (("item", self.items), ("annotator", self.names))
            )
            cells[tuple(place)] = part["_unit"].to_numpy()
            found[scale if by is None else (scale, value)] = cells
        return found

    def _mean(self, key: Hashable, names: Sequence[str]) -> Floats:
        """The mean label of some annotators in one matrix: (items,)."""
        return row_means(self.cells[key][:, [self.names.index(name) for name in names]])

    # -- estimating -----------------------------------------------------------------------------------

    def _panel(self, scale: str, names: Sequence[str], form: Form) -> Value:
        """The ICC of a panel on a scale, for its number of annotators."""
        return Value([(scale, [name]) for name in names], partial(panel_icc, form=form, k=len(names)))

    def _estimate(
        self, values: Sequence[Value], items: Ints, transform: Transform, groups: Sequence[Sequence[str]] = ()
    ) -> Found:
        """Estimate several values of the same items under the same resamples.

        If raters are random, each annotator of a group is left out in turn. A group of one is fixed.
        """
        joint, moments = self._moments(values, items)
        clusters = None if self.clusters is None else self.clusters[items]
        units = Units.of(len(items), clusters, width=sum(joint.widths))
        n = tuple(map(_number_of_items, joint.statistics, moments))

        def sums(joint: Together, moments: list[Floats]) -> Sums:
            rows = add_rows(np.concatenate(moments, axis=1), units.of_item, units.n)
            return Sums(joint, rows, n, units.name, units)

        whole = sums(joint, moments)
        found = whole.estimate(self.how, transform)
        several = [group for group in groups if len(group) > 1]
        if self.raters == "random" and self.how.method != "none" and several:
            parts = [
                (sums(*self._moments(values, items, name)).value_and_without(whole.used) for name in group)
                for group in several
            ]
            found = groups_left_out(found, parts)
        if self.interval == "no interval":
            self.interval = found.describe_interval()
        return Found(found, n)

    def _moments(self, values: Sequence[Value], items: Ints, left: str | None = None) -> tuple[Together, list[Floats]]:
        """The statistics of values and the moments of each item, without one of the annotators if it is named."""
        statistics, moments = [], []
        for value in values:
            cells = self._columns(value, left)[items]
            statistic = value.statistic(cells)
            if value.items is not None:
                cells = np.where(np.isin(items, value.items)[:, None], cells, np.nan)
            statistics.append(statistic)
            moments.append(statistic.moments(answers_of(cells)))
        return Together(tuple(statistics), same_labels=False), moments

    def _columns(self, value: Value, left: str | None = None) -> Floats:
        """The columns of a value: (items, columns), without those of an annotator who is left out alone."""
        rest = [(key, [name for name in names if name != left]) for key, names in value.columns]
        return np.stack([self._mean(key, names) for key, names in rest if names], axis=1)

    # -- the tables -----------------------------------------------------------------------------------

    def alignment(self) -> tuple[list[Row], list[Row]]:
        """Agreement of the mean human label with judges by scale, benchmark and judge; differences between scales."""
        rows, differences = [], []
        judges = (JUDGES_MEAN, *self.judges, *([ONE_JUDGE] if len(self.judges) > 1 else []))
        for (benchmark, items), judge in itertools.product(self.benchmarks if self.humans else (), judges):
            place = {"benchmark": benchmark, "judge": judge}
            for measure, found in self.align(judge, items).items():
                places = [{**place, "scale": scale, "measure": measure} for scale in self.scales]
                rows += found.rows(places, HIGHEST.get(measure))
                if measure == "icc":
                    differences += self.compare(found, place)
                    if benchmark == POOLED and judge in (JUDGES_MEAN, ONE_JUDGE):
                        self.errors += self._item_errors(found)
        return rows, differences

    def align(self, judge: str, items: Ints) -> dict[str, Found]:
        """The agreement of the mean human label with the judges' mean, one judge of the sample, or a judge by name."""
        each = [(name,) for name in self.judges]
        groups = [self.judges] if judge == JUDGES_MEAN else each if judge == ONE_JUDGE else [(judge,)]
        left_out = self.humans, tuple(itertools.chain(*groups))
        return {
            measure: self._estimate(
                [Value([(s, self.humans), *((s, group) for group in groups)], statistic) for s in self.scales],
                items, transform, left_out,
            )
            for measure, statistic, transform in (OF_ONE_JUDGE if judge == ONE_JUDGE else OF_TWO_MEANS)
        }  # fmt: skip

    def compare(self, found: Found, place: Row) -> list[Row]:
        """The differences between scales, in both orders, which are one hypothesis."""
        pairs = list(itertools.combinations(range(len(self.scales)), 2))
        names = [{**place, "scale": self.scales[a], "other": self.scales[b]} for a, b in pairs]
        rows = self._adjust(found.minus(pairs, names))
        for row in list(rows):
            turned = {"scale": row["other"], "other": row["scale"], "estimate": 0.0 - row["estimate"]}
            rows.append({**row, **turned, "low": 0.0 - row["high"], "high": 0.0 - row["low"]})
        return sorted(rows, key=lambda row: (self.scales.index(row["scale"]), self.scales.index(row["other"])))

    def _adjust(self, rows: Sequence[Row]) -> list[Row]:
        """Rows with Holm's p-values over all of them."""
        adjusted = adjust_p(np.array([row["p"] for row in rows], dtype=float), "holm")
        shown = adjusted <= 1 - self.how.confidence
        return [{**rows[i], "p_adjusted": adjusted[i], "significant": bool(shown[i])} for i in range(len(rows))]

    def _item_errors(self, found: Found) -> list[Floats]:
        """The influence of each item on the differences between scales; none of units of several items."""
        without, pairs = found.values.leave_one_out, itertools.combinations(range(len(self.scales)), 2)
        if self.clusters is not None or len(without) != len(self.items):
            return []
        each = [without[:, a] - without[:, b] for a, b in pairs]
        return [one - one.mean() for one in each if np.isfinite(one).all()]

    def reliability(self) -> list[Row]:
        """The panels of humans and of judges, and their difference on the items that both labelled."""
        rows = []
        panels = {k: names for k, names in (("humans", self.humans), ("judges", self.judges)) if len(names) > 1}
        forms: tuple[Form, ...] = ("A,k", "A,1") if panels else ()
        for scale, (benchmark, items), form in itertools.product(self.scales, self.benchmarks, forms):
            place = {"scale": scale, "benchmark": benchmark, "form": f"ICC({form})"}
            answered = {k: items[~np.isnan(self._mean(scale, names)[items])] for k, names in panels.items()}
            both = items if len(panels) == 1 else np.intersect1d(answered["humans"], answered["judges"])
            values = [self._panel(scale, names, form) for names in panels.values()]
            found = self._estimate(values, both, "fisher", list(panels.values()))
            rows += found.rows([{**place, "panel": k, "k": len(names)} for k, names in panels.items()])
            if len(panels) == 1:
                continue
            rows += found.minus([(0, 1)], [{**place, "panel": "humans - judges"}])
            for (panel, names), value in zip(panels.items(), values, strict=True):
                if len(answered[panel]) > len(both):
                    more = self._estimate([value], items, "fisher", [names])
                    rows += more.rows([{**place, "panel": f"{panel}, all items", "k": len(names)}])
        return rows

    def pooling(self, scale: str | None) -> list[Row]:
        """The ICC of each benchmark on a scale, the pooled ICC, and their difference, on the same items."""
        if scale is None or self.by is None:
            return []
        both = Value([(scale, self.humans), (scale, self.judges)], absolute_icc)
        kinds = {"humans and judges": (both, [self.humans, self.judges])}
        if len(self.judges) > 1:
            kinds["judges' panel"] = self._panel(scale, self.judges, "A,k"), [self.judges]
        rows = []
        for what, (value, groups) in kinds.items():
            parts = [value._replace(items=items) for _, items in self.benchmarks]
            found = self._estimate(parts, self.benchmarks[0][1], "fisher", groups)
            pooled, *each = found.rows([{"what": what, "benchmark": name} for name, _ in self.benchmarks])
            p = _fisher_scale(found.values).differences([(0, i + 1) for i in range(len(each))]).p()
            for row, p_value in zip(each, p.tolist(), strict=True):
                inflation = pooled["estimate"] - row["estimate"]
                rows.append({**row, "pooled": pooled["estimate"], "inflation": inflation, "p": p_value})
        return [row | {"significant": row["significant"] and row["inflation"] > 0} for row in self._adjust(rows)]

    def repeats(self) -> list[Row] | None:
        """The reliability of repeated labels of an annotator on each scale: ICC(1) of exchangeable labels."""
        if not self.whole.has_repeats:
            return None
        frame = self._at_baseline(self._unit_labels(self.whole))
        place = pl.col("repeat").fill_null(1).rank("dense").over("annotator", "_scale").cast(pl.Int64)
        several = frame.filter(pl.col("repeat").n_unique().over("annotator") > 1).with_columns(_repeat=place)
        self.cells |= self._matrices(several, "_repeat")
        names, repeats = several["annotator"].unique(maintain_order=True), several["_repeat"].unique()
        rows = []
        for (benchmark, items), scale in itertools.product(self.benchmarks, self.scales):
            values, places = [], []
            for name in names:
                one = Value([((scale, repeat), [name]) for repeat in repeats], repeats_icc)
                labelled = ~np.isnan(self._columns(one))
                if (labelled[items].sum(axis=1) > 1).sum() > 1:
                    values.append(one)
                    number = int(labelled.any(axis=0).sum())
                    places.append({"scale": scale, "benchmark": benchmark, "annotator": name, "repeats": number})
            rows += self._estimate(values, items, "fisher").rows(places) if values else []
        return rows

    def consistency(self) -> list[Row]:
        """The consistency of each judge across scales: all scales and each pair."""
        rows = []
        sets = [self.scales, *itertools.combinations(self.scales, 2)] if len(self.scales) > 2 else [self.scales]
        for (benchmark, items), scales in itertools.product(self.benchmarks, sets):
            each = [Value([(s, [judge]) for s in scales], absolute_icc) for judge in self.judges]
            found = self._estimate(each, items, "fisher")
            place = {"benchmark": benchmark, "scales": ", ".join(scales) if len(scales) > 2 else " vs ".join(scales)}
            rows += found.rows([{**place, "judge": judge} for judge in self.judges])
            if len(self.judges) > 1:
                mean = Found(found.values.contrast(np.full(len(each), 1 / len(each))), (min(found.n),))
                rows += mean.rows([{**place, "judge": "average"}])
        return rows

    def groups(self, column: str) -> list[Row]:
        """Humans by a column of the annotators: with the judges, among each other, and differences between groups."""
        members = annotator_groups(self.labels, column, of_items=f"use by='{column}'")
        several = {value: names for value, names in members.items() if len(names) > 1}
        left_out = [name for names in several.values() for name in names]
        rows = []
        for (benchmark, items), scale in itertools.product(self.benchmarks, self.scales):
            place = {"benchmark": benchmark, "scale": scale}
            for measure, statistic, transform in OF_TWO_MEANS[:2]:
                values = [Value([(scale, names), (scale, self.judges)], statistic) for names in members.values()]
                found = self._estimate(values, items, transform, (left_out, self.judges))
                rows += _group_rows({**place, "measure": measure}, members, found, HIGHEST.get(measure))
            if several:
                panels = [self._panel(scale, names, "A,k") for names in several.values()]
                found = self._estimate(panels, items, "fisher", list(several.values()))
                rows += _group_rows({**place, "measure": "icc within group"}, several, found)
        return rows

    def conditions(self, name: str) -> list[Row]:
        """Each judge under each value of the condition with the humans, and minus the baseline, on the same items."""
        rows, every = [], self.benchmarks[0][1]
        self.cells |= self._matrices(self.frame.filter(pl.col("annotator").is_in(self.judges)), name)
        for scale, judge in itertools.product(self.scales, self.judges):
            varied = [v for v in self.varied if not np.isnan(self._mean((scale, v), (judge,))).all()]
            for measure, statistic, transform in OF_TWO_MEANS[:2] if varied else ():
                values = [Value([(scale, self.humans), ((scale, v), [judge])], statistic) for v in varied]
                found = self._estimate(values, every, transform, (self.humans,))
                place = {"judge": judge, "scale": scale, "measure": measure}
                rows += found.rows([{**place, name: value} for value in varied], HIGHEST.get(measure))
                if self.baseline in varied:
                    others = [value for value in varied if value != self.baseline]
                    pairs = [(varied.index(value), varied.index(self.baseline)) for value in others]
                    place["measure"] = f"{measure}, minus {self.baseline}"
                    rows += found.minus(pairs, [{**place, name: value} for value in others])
        return rows

    def item_table(self) -> pl.DataFrame:
        """Items with both mean labels and their distance, the largest first."""
        parts = []
        for scale in self.scales:
            humans, judges = (self._mean(scale, names) for names in (self.humans, self.judges))
            low, high = self.ranges[scale]
            distance = (pl.col("humans") - pl.col("judges")).abs()
            part = pl.DataFrame({"item": self.items, "scale": scale, "humans": humans, "judges": judges})
            parts.append(
                part.with_columns(
                    nmae=distance,
                    aligned=distance <= self.how.well_aligned,
                    humans_label=low + (high - low) * pl.col("humans"),
                    judges_label=low + (high - low) * pl.col("judges"),
                ).filter(pl.col("nmae").is_not_nan())
            )
        frame = pl.concat(parts).join(self.labels.items, on="item", how="left")
        return frame.sort("nmae", descending=True, maintain_order=True)

    def frame_of(self, table: str, rows: Sequence[Row] | None) -> pl.DataFrame | None:
        """Return the rows of a table as a frame; None if it was not requested."""
        if rows is None:
            return None
        condition = self.how.condition or ""
        names = [condition if name == "condition" else name for name in TABLES[table]]
        types = TYPES | {name: kind for name, kind in self.labels.labels.schema.items() if name == condition}
        frame = pl.DataFrame(rows, schema={name: types.get(name, pl.String) for name in names})
        return frame.with_columns(pl.col(pl.Float64).fill_nan(None))

    def run(self) -> Run:
        """The settings, data, interval, exclusions and notes of the study."""
        used = digest_of_columns(self.whole, self.by, self.how.group, self.how.clusters)
        data = fingerprint_with(self.whole.fingerprint, **used)
        facts = {
            "scales": self.scales, "items": len(self.items), "humans": len(self.humans), "judges": len(self.judges),
            "labels": self.frame.height,
        }  # fmt: skip
        return Run(
            "grading-scales", self.how, data, facts, self.interval, tuple(self.exclusions), tuple(self.notes),
            dependence_cautions(self.errors, self.labels),
        )  # fmt: skip


# -- values and rows ----------------------------------------------------------------------------------

Row = dict[str, Any]
"""A row of a table: its place, its estimate (``found``), and the columns of the estimate."""

StatisticOf = Callable[[Floats], PanelStatistic]
"""The statistic of the columns on 0-1 of some items, (items, columns)."""


def main_rows(alignment: Sequence[Row], reliability: Sequence[Row], consistency: Sequence[Row]) -> list[Row]:
    """The panels and their agreement; without humans, each judge with itself."""
    panels = [{**row, "what": row["panel"]} for row in reliability if row["form"] == "ICC(A,k)"]
    single = "ICC(A,1)"
    both = [
        {**row, "what": row["measure"], "form": single if row["measure"] == "icc" else None}
        for row in alignment
        if row["judge"] == JUDGES_MEAN
    ]
    alone = [
        {**row, "scale": row["scales"], "what": f"{row['judge']} with itself", "form": single} for row in consistency
    ]
    return panels + (both or alone)


class Value(NamedTuple):
    """What is estimated: a statistic of columns of labels, each the mean label of some annotators in one matrix."""

    columns: Sequence[tuple[Hashable, Sequence[str]]]
    statistic: StatisticOf
    items: Ints | None = None
    """The only items that count, if not all do."""


@dataclass(frozen=True, eq=False)
class Found:
    """Values of the same items under the same resamples, and the number of items of each."""

    values: Estimates
    n: tuple[int, ...]

    def rows(self, places: Sequence[Row], highest: float | None = None) -> list[Row]:
        """Return a row for each value; no interval is above the highest possible value."""
        each = self.values if highest is None else [bounded(self.values, i, highest) for i in range(len(self.n))]
        return [
            {**place, "found": one, **one.row(), "n": n} for place, one, n in zip(places, each, self.n, strict=True)
        ]

    def minus(self, pairs: Sequence[tuple[int, int]], places: Sequence[Row]) -> list[Row]:
        """Return a row for each two values: the first minus the second, with the p-value of no difference."""
        if not pairs:
            return []
        less = Found(self.values.differences(pairs), tuple(min(self.n[a], self.n[b]) for a, b in pairs))
        return [{**row, "p": p} for row, p in zip(less.rows(places), less.values.p().tolist(), strict=True)]


def absolute_icc(cells: Floats) -> IntraclassCorrelation:
    """The ICC(A,1) of columns, on the items that all of them have."""
    return IntraclassCorrelation(TwoWay(0.5, cells.shape[1]), ("A,1",), cells.shape[1])


def panel_icc(cells: Floats, form: Form, k: float) -> IntraclassCorrelation:
    """The ICC of a panel: analysis of variance, or variance components if labels are missing."""
    components = (Components if np.isnan(cells).any() else TwoWay)(0.5, cells.shape[1])
    return IntraclassCorrelation(components, (form,), k)


def repeats_icc(cells: Floats) -> IntraclassCorrelation:
    """The ICC(1) of exchangeable labels."""
    return IntraclassCorrelation(OneWay(0.5), ("1",), cells.shape[1])


@dataclass(frozen=True)
class MeanICC:
    """The ICC(A,1) of the first column with each of ``k`` others, averaged over a sample of these.

    A single one does not estimate the variation among them: NaN.
    """

    k: int

    @property
    def width(self) -> int:
        """How many moments there are."""
        return self.k * PAIR_ICC.width

    def moments(self, data: Answers) -> Floats:
        """Return those of each pair of columns, side by side."""
        cells = grid(data)
        return np.concatenate([PAIR_ICC.moments(answers_of(cells[:, [0, j + 1]])) for j in range(self.k)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """The mean: (..., 1)."""
        each = PAIR_ICC.value(sums.reshape(*sums.shape[:-1], self.k, -1))
        return each.mean(axis=-2) if self.k > 1 else np.full((*each.shape[:-2], 1), np.nan)


PAIR_ICC = IntraclassCorrelation(TwoWay(0.5, 2), ("A,1",), 2)
PAIR_NMAE, PAIR_R = (
    MeanOfPairs(one, np.array([0]), np.array([1])) for one in (Distance("mae"), Moments2(0.5, "pearson"))
)
OF_TWO_MEANS: tuple[tuple[str, StatisticOf, Transform], ...] = (
    ("icc", absolute_icc, "fisher"),
    ("nmae", lambda _: PAIR_NMAE, "log"),
    ("pearson", lambda _: PAIR_R, "fisher"),
)
"""The measures of the mean human label and the mean label of judges."""

HIGHEST = {"nmae": 1.0}
"""The highest value of a measure: a distance of labels is at most the range."""


def _number_of_items(statistic: PanelStatistic, moments: Floats) -> int:
    """The items of a value; of an average over judges those of the judge with the fewest."""
    parts = np.split(moments, statistic.k if isinstance(statistic, MeanICC) else 1, axis=1)
    return min(int((part != 0).any(axis=1).sum()) for part in parts)


OF_ONE_JUDGE: tuple[tuple[str, StatisticOf, Transform], ...] = (
    ("icc", lambda cells: MeanICC(cells.shape[1] - 1), "fisher"),
)
"""The measure of the mean human label and a single judge."""

NEARLY_ONE = 0.9999
"""The largest ICC for Fisher's z, which is infinite at 1."""


def _fisher_scale(found: Estimates) -> Estimates:
    """Jackknifed ICCs as Fisher's z, whose differences are closer to symmetric than those of ICCs near 1.

    The variance of single labels remains in both variances, of items and of raters, which increases standard errors.
    """
    if not len(found.leave_one_out):
        return found

    def z(values: Floats) -> Floats:
        return np.asarray(np.arctanh(np.clip(values, -NEARLY_ONE, NEARLY_ONE)))

    raters, nothing = tuple(map(z, found.without_annotator)), tuple(map(np.zeros_like, found.interactions))
    return replace(
        found, value=z(found.value), leave_one_out=z(found.leave_one_out), without_annotator=raters,
        interactions=nothing,
    )  # fmt: skip


def _group_rows(
    place: Row, groups: Mapping[str, list[str]], found: Found, highest: float | None = None
) -> list[Row]:  # fmt: skip
    """A row for each group, and one for each pair: the first minus the second."""
    names = list(groups)
    pairs = list(itertools.combinations(range(len(names)), 2))
    each = [{**place, "group": name, "annotators": len(groups[name])} for name in names]
    return found.rows(each, highest) + found.minus(
        pairs, [{**place, "group": f"{names[a]} - {names[b]}"} for a, b in pairs]
    )


def _range(name: str, ranges: Mapping[str, tuple[float, float]] | None) -> tuple[float, float]:
    ends = (ranges or {}).get(name) or range_of(name)
    if ends is None:
        raise DataError(
            f"the name of scale '{name}' is not a range such as '0-10'; rename it, or give the range with "
            f"ranges={{'{name}': (lowest, highest)}}"
        )
    low, high = ends
    if not low < high:
        raise DataError(f"the range of scale '{name}' must be ascending; got {low:g} to {high:g}")
    return float(low), float(high)
