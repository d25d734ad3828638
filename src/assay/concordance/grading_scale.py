"""Human–judge agreement on several grading scales.

The same items are labelled on several numeric ranges. Labels are mapped to 0-1 to compare the scales. All intervals
treat the items as the sample, and scales are compared under the same resamples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.concordance import plots, words
from assay.concordance.coefficient import GradingScaleSettings, groups_left_out
from assay.concordance.comparisons import row_means
from assay.concordance.words import JUDGES_MEAN, ONE_JUDGE, POOLED
from assay.data.annotations import Annotations, Answers, digest_of_columns
from assay.data.chunks import Chunks
from assay.data.columns import natural
from assay.data.ratings import cluster_codes
from assay.data.scales import range_of
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, Transform, adjust_p
from assay.estimation.options import question
from assay.estimation.resampling import Sums, Units, add_rows, estimate_replicates
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.statistics.categories import PanelStatistic, Together
from assay.statistics.components.variance import Components, Form, IntraclassCorrelation, OneWay, TwoWay
from assay.statistics.pairs import Distance, MeanOfPairs, Moments2

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BENCHMARK_NAMES = ("benchmark", "dataset", "task", "domain", "subset", "source")
"""Item columns that are tried first if ``by`` is not given."""

MOST_BENCHMARKS, LEAST_OF_BENCHMARK = 12, 10
"""Most values of a column of benchmarks, and least items of each value: an ICC of fewer items is not informative."""

NO_SPLIT = "none"
"""Value of ``by`` for no split of the items."""

COLUMNS = ("estimate", "low", "high", "n")


@dataclass(frozen=True, eq=False)
class GradingScaleStudy(Result):
    """Agreement, reliability and consistency on each grading scale.

    Every table has ``estimate``, ``low``, ``high`` and ``n`` (items). Table numbers refer to Li et al., "Grading scale
    impact on LLM-as-a-judge".

    Attributes
    ----------
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
    estimates: Mapping[str, Sequence[Estimate]] = field(repr=False, metadata={"json": False})
    """The estimates in the rows of `alignment`, `reliability` and `consistency`."""

    @property
    def table(self) -> pl.DataFrame:
        """Pooled and by benchmark, one row per scale: the panels, their agreement and the error (tables 2 to 4a)."""
        return pl.concat([rows.select("scale", "benchmark", "what", *COLUMNS) for _, rows in self._table_parts()])

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The estimates of both parts of `table`."""
        return [self.estimates[name][i] for name, rows in self._table_parts() for i in rows["_row"]]

    def _table_parts(self) -> list[tuple[str, pl.DataFrame]]:
        """The source of the rows of `table`: a table and its rows."""
        panels = self.reliability.with_row_index("_row").filter(form="ICC(A,k)").rename({"panel": "what"})
        if self.best is None:
            itself = pl.format("{} with itself", pl.col("judge"))
            others = self.consistency.with_row_index("_row").with_columns(scale="scales", what=itself)
            return [("reliability", panels), ("consistency", others)]
        others = self.alignment.with_row_index("_row").filter(judge=JUDGES_MEAN).rename({"measure": "what"})
        return [("reliability", panels), ("alignment", others)]

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
    pooled = alignment.filter(benchmark=POOLED, judge=JUDGES_MEAN, measure="icc")
    pooled = pooled.sort("estimate", descending=True, nulls_last=True)
    best = pooled["scale"][0] if pooled.height else None
    return GradingScaleStudy(
        best=best,
        scales=study.scales,
        ranges=study.ranges,
        alignment=alignment,
        differences=differences,
        reliability=study.reliability(),
        consistency=study.consistency(),
        groups=None if settings.group is None else study.groups(settings.group),
        conditions=None if settings.condition is None else study.conditions(),
        repeats=study.repeats(),
        pooling=study.pooling(best),
        items=study.item_table(),
        humans=study.humans,
        judges=study.judges,
        by=study.by,
        well_aligned=settings.well_aligned,
        n_items=len(study.items),
        n_labels=study.n_labels,
        run=study.run(),
        estimates=study.estimates,
    )


Number = tuple[Floats, PanelStatistic]
"""The labels of one estimate as (items, columns), and its statistic."""

Numbers = Callable[[str | None], Sequence[Number]]
"""Several estimates of the same items, for all annotators or without one of them."""


class ScaleTables:
    """Labels on 0-1 as one matrix per scale, and the tables computed from them."""

    def __init__(self, labels: Annotations, settings: GradingScaleSettings) -> None:
        self.whole, self.how = labels, settings
        self._check(labels, settings)
        labels = self.labels = labels.resolve_repeats(settings.repeats)
        self.humans, self.judges = labels.humans, labels.judges
        self.items = labels.items["item"].to_list()
        self.names = (*self.humans, *self.judges)
        self.clusters: Ints | None = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
        self.exclusions: list[Exclusion] = []
        self.by = self._guess_by() if settings.by is None else None if settings.by == NO_SPLIT else settings.by
        self.notes = [f"repeated labels: {settings.repeats}"] if self.whole.has_repeats else []
        scale, condition = settings.scale_column, settings.condition
        frame = labels.labels.with_columns(pl.col(scale).cast(pl.String).alias("_scale"))
        found = natural(frame["_scale"].drop_nulls().unique().to_list())
        if len(found) < 2:
            raise DesignError(f"column '{scale}' has {len(found)} value; a study of scales requires two or more")
        self.ranges = {name: _range(name, settings.ranges) for name in found}
        self.scales = tuple(sorted(found, key=lambda name: self.ranges[name][1] - self.ranges[name][0]))
        self.frame = self._unit_labels(frame)
        self.n_labels = self.frame.height
        self.varied = () if condition is None else labels.where(kind="judge").values_of(condition)
        self.baseline = self._baseline(settings.baseline)
        self.cells = {s: self._matrix(s, self.baseline) for s in self.scales}
        self.interval = "no interval"
        self.estimates: dict[str, list[Estimate]] = {"alignment": [], "reliability": [], "consistency": []}
        self.raters = settings.raters_for(random=True)
        self.notes += self._item_notes()
        if self.by is not None and settings.by is None:
            self.notes.append(
                f"items are split by their column '{self.by}'; choose another with by=..., or none with by='{NO_SPLIT}'"
            )

    def _guess_by(self) -> str | None:
        """The only column with few values that can split the items, or the first with a name of benchmarks."""
        items, found = self.labels.items, []
        for name, kind in items.schema.items():
            if name != "item" and kind in (pl.String, pl.Categorical, pl.Enum) and self.humans:
                values = items[name].value_counts()["count"]
                if 2 <= len(values) <= MOST_BENCHMARKS and min(values) >= LEAST_OF_BENCHMARK:
                    found.append(name)
        named = [name for name in BENCHMARK_NAMES if name in found]
        single = found if len(found) == 1 else []
        return next(iter(named or single), None)

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

    def _item_notes(self) -> list[str]:
        """Notes on missing labels, additional items and benchmarks without an interval."""
        found = []
        if any(np.isnan(c).any() for c in self.cells.values()):
            found.append("some labels are missing; a consensus is the mean of the available labels")
        answered = {
            kind: np.any([~np.isnan(self._labels_of(s, names)).all(axis=1) for s in self.scales], axis=0)
            for kind, names in (("judges", self.judges), ("humans", self.humans))
        }
        both = answered["judges"] & answered["humans"]
        for kind, there in answered.items() if self.humans else ():
            extra = int((there & ~both).sum())
            if extra:
                tables = "tables of reliability and consistency" if kind == "judges" else "table of reliability"
                found.append(
                    f"{counted(extra, 'item')} labelled only by {kind}: used in the {tables}, not in comparisons of "
                    "humans with judges"
                )
        units = np.arange(len(self.items)) if self.clusters is None else self.clusters
        single = [name for name, items in self.benchmarks() if len(np.unique(units[items])) < 2]
        if single and self.how.method != "none":
            what = "item" if self.clusters is None else f"{self.how.clusters} (the clusters)"
            found.append(f"no interval for {listing(single)}: the variance cannot be estimated from one {what}")
        if self.how.repeats == "each" and self.whole.has_repeats:
            found.append("each repeat counts as an annotator, so intervals for random raters are too narrow")
        return found

    # -- the labels -----------------------------------------------------------------------------------

    def _unit_labels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The labels with a scale, on 0-1."""
        if not frame["label"].dtype.is_numeric():
            raise DesignError("grading scales are numeric; these labels are not numbers")
        low, high = (
            pl.col("_scale").replace_strict(
                {s: ends[i] for s, ends in self.ranges.items()}, default=None, return_dtype=pl.Float64
            )
            for i in (0, 1)
        )
        unscaled = frame["_scale"].null_count()
        if unscaled:
            self.exclusions.append(Exclusion("label", unscaled, "no scale"))
        frame = frame.drop_nulls("_scale").with_columns(unit=(pl.col("label").cast(pl.Float64) - low) / (high - low))
        off = frame.filter(~pl.col("unit").is_between(-1e-9, 1 + 1e-9))
        if off.height:
            rows = off.head(5).select("item", "_scale", "label").iter_rows()
            shown = listing([f"item '{i}', scale {s}: {v:g}" for i, s, v in rows])
            raise DataError(f"{off.height} labels are outside the range of their scale ({shown})")
        return frame

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
        self.notes.append(f"judges' labels have {condition} {baseline}, except in the table by condition")
        return baseline

    def _matrix(self, scale: str, value: Any) -> Floats:
        """(items, annotators) on one scale: all human labels, and judges' labels under one value of the condition."""
        part = self._answers_under(self.frame.filter(pl.col("_scale") == scale), value)
        if part.select("item", "annotator").is_duplicated().any():
            raise DesignError(
                f"annotators labelled items more than once on scale {scale}; name the experimental condition with "
                "condition=..., or select labels with labels.where(...)"
            )
        column = part["annotator"].replace_strict(pl.Series(self.names), pl.Series(range(len(self.names))))
        return self._cells(part, column.to_numpy(), len(self.names))

    def _answers_under(self, frame: pl.DataFrame, value: Any) -> pl.DataFrame:
        """Labels of humans, and of judges under one value of the condition."""
        if self.how.condition is None:
            return frame
        return frame.filter(pl.col("annotator").is_in(self.humans) | (pl.col(self.how.condition) == value))

    def _cells(self, part: pl.DataFrame, column: Ints, width: int) -> Floats:
        """Labels on 0-1 as (items, columns), NaN if missing."""
        cells = np.full((len(self.items), width), np.nan)
        row = part["item"].replace_strict(pl.Series(self.items), pl.Series(range(len(self.items))))
        cells[row.to_numpy(), column] = part["unit"].to_numpy()
        return cells

    def _labels_of(self, scale: str, names: Sequence[str]) -> Floats:
        """The labels of some annotators on a scale: (items, annotators)."""
        return self.cells[scale][:, [self.names.index(name) for name in names]]

    def _pair(self, scale: str, people: Sequence[str], judges: Sequence[str]) -> Floats:
        """The mean labels of humans and of judges as two columns."""
        return np.stack([row_means(self._labels_of(scale, people)), row_means(self._labels_of(scale, judges))], axis=1)

    def benchmarks(self) -> Iterator[tuple[str, Ints]]:
        """All items, then those of each value of ``by``."""
        yield POOLED, np.arange(len(self.items))
        if self.by is not None:
            column = self.labels.items[self.by].cast(pl.String).fill_null("(none)")
            for value in natural(column.unique().to_list()):
                yield value, np.flatnonzero((column == value).to_numpy())

    # -- estimating -----------------------------------------------------------------------------------

    def _estimate(
        self, numbers: Numbers, items: Ints, transform: Transform, groups: Sequence[Sequence[str]] = ()
    ) -> tuple[Estimates, list[int]]:
        """Estimate several numbers of the same items under the same resamples, with the number of items of each.

        If raters are random, each annotator of a group is left out in turn. A group of one is fixed.
        """
        every = numbers(None)
        units = self._units(every, items)
        whole = _sums(every, items, units)
        found = whole.estimate(self.how, transform)
        several = [group for group in groups if len(group) > 1]
        if self.raters == "random" and self.how.method != "none" and several:
            parts = [
                (_sums(numbers(name), items, units).value_and_without(whole.used) for name in group)
                for group in several
            ]
            found = groups_left_out(found, parts)
        if self.interval == "no interval":
            self.interval = found.describe_interval()
        return found, list(whole.n_items)

    def _units(self, numbers: Sequence[Number], items: Ints) -> Units:
        """The resampled units: the items, or their clusters."""
        clusters = None if self.clusters is None else self.clusters[items]
        return Units.of(len(items), clusters, width=sum(statistic.width for _, statistic in numbers))

    def _panels(self, panels: Sequence[Sequence[str]], scale: str, items: Ints, form: Form) -> Numbers:
        """The ICC of each panel, for the mean label of its annotators."""

        def numbers(left: str | None) -> list[Number]:
            cells = [self._labels_of(scale, _rest(names, left)) for names in panels]
            return [(c, panel_icc(c[items], form, len(names))) for c, names in zip(cells, panels, strict=True)]

        return numbers

    def _means(
        self, sides: Sequence[tuple[str, Sequence[str], Sequence[str]]], statistic: PanelStatistic
    ) -> Numbers:  # fmt: skip
        """The mean labels of humans and of judges on a scale, as two columns."""
        return lambda left: [
            (self._pair(scale, _rest(people, left), _rest(judges, left)), statistic) for scale, people, judges in sides
        ]

    def _means_with(self, scale: str, answers: Sequence[Floats], statistic: PanelStatistic) -> Numbers:
        """The mean human label paired with each of these labels."""

        def numbers(left: str | None) -> list[Number]:
            people = row_means(self._labels_of(scale, _rest(self.humans, left)))
            return [(np.stack([people, cells], axis=1), statistic) for cells in answers]

        return numbers

    # -- the tables -----------------------------------------------------------------------------------

    def alignment(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Agreement of the mean human label with judges by scale, benchmark and judge; differences between scales."""
        rows, differences = [], []
        for benchmark, items in self.benchmarks() if self.humans else ():
            for judge, names in [(JUDGES_MEAN, self.judges), *((j, (j,)) for j in self.judges)]:
                place = {"benchmark": benchmark, "judge": judge}
                sides = [(s, self.humans, names) for s in self.scales]
                for measure, statistic, transform in TWO_COLUMNS:
                    numbers = self._means(sides, statistic)
                    found, n = self._estimate(numbers, items, transform, (self.humans, names))
                    rows += [
                        {"scale": s, **place, "measure": measure, **one.row(), "n": count}
                        for s, one, count in zip(self.scales, found, n, strict=True)
                    ]
                    self.estimates["alignment"] += found
                    if measure == "icc":
                        differences += [{**place, **row} for row in self._compare(found, min(n))]
            if len(self.judges) > 1:
                found, n = self._one_judge(items)
                place = {"benchmark": benchmark, "judge": ONE_JUDGE}
                rows += [
                    {"scale": s, **place, "measure": "icc", **one.row(), "n": count}
                    for s, one, count in zip(self.scales, found, n, strict=True)
                ]
                self.estimates["alignment"] += found
                differences += [{**place, **row} for row in self._compare(found, min(n))]
        return _frame(rows, "scale", "benchmark", "judge", "measure"), _frame(
            differences, "benchmark", "judge", "scale", "other", p=pl.Float64, p_adjusted=pl.Float64,
            significant=pl.Boolean,
        )  # fmt: skip

    def _one_judge(self, items: Ints) -> tuple[Estimates, list[int]]:
        """The ICC of the mean human label with a single judge on each scale, averaged over a sample of judges."""
        n_judges, (_, statistic, transform) = len(self.judges), TWO_COLUMNS[0]
        numbers = self._means([(s, self.humans, (j,)) for s in self.scales for j in self.judges], statistic)
        found, counts = self._estimate(numbers, items, transform)
        n = [min(counts[i : i + n_judges]) for i in range(0, len(counts), n_judges)]
        weights: Floats = np.kron(np.eye(len(self.scales)), np.full(n_judges, 1 / n_judges))
        each, left_out = found.value, found.leave_one_out
        if self.how.method == "none" or not (len(left_out) or len(found.replicates)):
            means = [dict(zip(np.flatnonzero(row).tolist(), row[row > 0].tolist(), strict=True)) for row in weights]
            return _combine(found, means), n
        mean = found.contrast(weights, transform)
        if self.raters != "random":
            return mean, n
        units = self._units(numbers(None), items)
        whole = _sums(numbers(None), items, units)

        def without_people() -> Iterator[tuple[Floats, Floats]]:
            for name in self.humans:
                value, without = _sums(numbers(name), items, units).value_and_without(whole.used)
                yield weights @ value, without @ weights.T

        def without_judges() -> Iterator[tuple[Floats, Floats]]:
            for j in range(n_judges):
                others = np.where(np.arange(len(each)) % n_judges == j, 0.0, weights) * n_judges / (n_judges - 1)
                # One of two judges does not estimate the variation among judges.
                others = others if n_judges > 2 else others * np.nan
                yield others @ each, left_out @ others.T

        people = [without_people()] if len(self.humans) > 1 else []
        return groups_left_out(mean, [*people, without_judges()]), n

    def _compare(self, found: Estimates, n: int) -> list[dict[str, Any]]:
        """The differences between scales, under the same resamples."""
        pairs = list(itertools.permutations(range(len(self.scales)), 2))
        difference = _combine(found, [{a: 1.0, b: -1.0} for a, b in pairs])
        p = difference.p(0.0)
        # A difference and its mirror image are one hypothesis.
        single = [pair for pair in pairs if pair[0] < pair[1]]
        adjusted = dict(zip(single, adjust_p(p[[pairs.index(pair) for pair in single]], "holm"), strict=True))
        rows = []
        for (a, b), one, p_one in zip(pairs, difference, p, strict=True):
            q = adjusted[min(a, b), max(a, b)]
            names = {"scale": self.scales[a], "other": self.scales[b]}
            significant = bool(q <= 1 - difference.confidence)
            rows.append({**names, **one.row(), "n": n, "p": p_one, "p_adjusted": q, "significant": significant})
        return rows

    def reliability(self) -> pl.DataFrame:
        """The panels of humans and of judges, and their difference on the items that both labelled."""
        rows = []
        panels = {k: names for k, names in (("humans", self.humans), ("judges", self.judges)) if len(names) > 1}
        forms: tuple[Form, ...] = ("A,k", "A,1") if panels else ()
        for scale, (benchmark, items), form in itertools.product(self.scales, self.benchmarks(), forms):
            groups, both = list(panels.values()), items
            if len(panels) == 2:
                answered = [~np.isnan(self._labels_of(scale, names)[items]).all(axis=1) for names in groups]
                both = items[np.all(answered, axis=0)]
            place = {"scale": scale, "benchmark": benchmark, "form": f"ICC({form})"}
            found, n = self._estimate(self._panels(groups, scale, both, form), both, "fisher", groups)
            each: list[tuple[str, int | None, Estimate, int]] = [
                (panel, len(names), one, count)
                for (panel, names), one, count in zip(panels.items(), found, n, strict=True)
            ]
            if len(panels) == 2:
                each.append(("humans - judges", None, _combine(found, [{0: 1.0, 1: -1.0}])[0], min(n)))
                for (panel, names), there in zip(panels.items(), answered, strict=True):
                    if there.sum() > len(both):
                        more, m = self._estimate(self._panels([names], scale, items, form), items, "fisher", [names])
                        each.append((f"{panel}, all items", len(names), more[0], m[0]))
            rows += [{**place, "panel": panel, "k": k, **one.row(), "n": count} for panel, k, one, count in each]
            self.estimates["reliability"] += [one for _, _, one, _ in each]
        return _frame(rows, "scale", "benchmark", "form", "panel", k=pl.Int64)

    def pooling(self, scale: str | None) -> pl.DataFrame:
        """The ICC of each benchmark on a scale, the pooled ICC, and their difference, on the same items."""
        rows: list[dict[str, Any]] = []
        names, parts = zip(*self.benchmarks(), strict=True)
        every, scale = parts[0], scale or ""
        kinds: dict[str, tuple[Numbers, list[Sequence[str]]]] = {}
        if scale and len(names) > 1:
            pair = self._means([(scale, self.humans, self.judges)], TWO_COLUMNS[0][1])
            kinds["humans and judges"] = pair, [self.humans, self.judges]
            if len(self.judges) > 1:
                kinds["judges' panel"] = self._panels([self.judges], scale, every, "A,k"), [self.judges]
        for what, (one, groups) in kinds.items():
            found, n = self._estimate(_each_part(one, parts), every, "fisher", groups)
            p = _combine(_fisher_scale(found), [{0: 1.0, i: -1.0} for i in range(1, len(names))]).p(0.0)
            pooled = found[0].estimate
            for i, name in enumerate(names[1:], 1):
                place = {"what": what, "benchmark": name, **found[i].row(), "n": n[i], "pooled": pooled}
                rows.append(place | {"inflation": pooled - found[i].estimate, "p": p[i - 1]})
        q = adjust_p(np.array([row["p"] for row in rows], dtype=float), "holm")
        alpha = 1 - self.how.confidence
        for row, adjusted in zip(rows, q, strict=True):
            row |= {"p_adjusted": adjusted, "significant": bool(adjusted <= alpha and row["inflation"] > 0)}
        numbers = dict.fromkeys(("pooled", "inflation"), pl.Float64)
        frame = _frame(
            rows, "what", "benchmark", **numbers, p=pl.Float64, p_adjusted=pl.Float64, significant=pl.Boolean
        )  # fmt: skip
        return frame.select("what", "benchmark", *COLUMNS, *numbers, "p", "p_adjusted", "significant")

    def repeats(self) -> pl.DataFrame | None:
        """The reliability of repeated labels of an annotator on each scale: ICC(1) of exchangeable labels."""
        if not self.whole.has_repeats:
            return None
        scale_of = pl.col(self.how.scale_column).cast(pl.String)
        scaled = self.whole.labels.with_columns(scale_of.alias("_scale")).drop_nulls("_scale")
        frame = self._unit_labels(self._answers_under(scaled, self.baseline))
        several, rows = frame.filter(pl.col("repeat").n_unique().over("annotator") > 1), []
        for (benchmark, items), scale in itertools.product(self.benchmarks(), self.scales):
            named: dict[str, Number] = {}
            for (name,), part in several.filter(pl.col("_scale") == scale).group_by("annotator", maintain_order=True):
                repeat = part["repeat"].fill_null(1).rank("dense").cast(pl.Int64).to_numpy() - 1
                cells = self._cells(part, repeat, int(repeat.max()) + 1)
                if ((~np.isnan(cells[items])).sum(axis=1) > 1).sum() > 1:
                    named[str(name)] = cells, IntraclassCorrelation(OneWay(0.5), ("1",), cells.shape[1])
            if named:
                found, n = self._estimate(_unchanged_numbers([*named.values()]), items, "fisher")
                for (name, (cells, _)), one, count in zip(named.items(), found, n, strict=True):
                    place = {"scale": scale, "benchmark": benchmark, "annotator": name, "repeats": cells.shape[1]}
                    rows.append({**place, **one.row(), "n": count})
        return _frame(rows, "scale", "benchmark", "annotator", repeats=pl.Int64)

    def consistency(self) -> pl.DataFrame:
        """The consistency of each judge across scales: all scales and each pair."""
        rows = []
        sets = [self.scales, *itertools.combinations(self.scales, 2)] if len(self.scales) > 2 else [self.scales]
        for (benchmark, items), scales in itertools.product(self.benchmarks(), sets):
            statistic = IntraclassCorrelation(TwoWay(0.5, len(scales)), ("A,1",), len(scales))
            each = [
                (np.concatenate([self._labels_of(s, (j,)) for s in scales], axis=1), statistic) for j in self.judges
            ]
            found, n = self._estimate(_unchanged_numbers(each), items, "fisher")
            place = {"benchmark": benchmark, "scales": ", ".join(scales) if len(scales) > 2 else " vs ".join(scales)}
            for judge, one, count in zip(self.judges, found, n, strict=True):
                rows.append({**place, "judge": judge, **one.row(), "n": count})
            self.estimates["consistency"] += found
            if len(self.judges) > 1:
                mean = _combine(found, [dict.fromkeys(range(len(self.judges)), 1 / len(self.judges))])[0]
                rows.append({**place, "judge": "average", **mean.row(), "n": min(n)})
                self.estimates["consistency"].append(mean)
        return _frame(rows, "benchmark", "scales", "judge")

    def groups(self, column: str) -> pl.DataFrame:
        """Humans by a column of the annotators: with the judges, among each other, and differences between groups."""
        about = self.labels.annotators
        if column not in about.columns:
            raise DataError(unknown("annotator column", column, about.columns, "the table of annotators"))
        people = about.filter((pl.col("kind") == "human") & pl.col(column).is_not_null())
        value = pl.col(column).cast(pl.String)
        groups = {
            one: people.filter(value == one)["annotator"].to_list()
            for one in natural(people[column].cast(pl.String).unique().to_list())
        }
        several = {one: names for one, names in groups.items() if len(names) > 1}
        rows = []
        for (benchmark, items), scale in itertools.product(self.benchmarks(), self.scales):
            place = {"benchmark": benchmark, "scale": scale}
            sides = [(scale, names, self.judges) for names in groups.values()]
            left_out = [name for names in several.values() for name in names]
            for measure, statistic, transform in TWO_COLUMNS[:2]:
                numbers = self._means(sides, statistic)
                found, n = self._estimate(numbers, items, transform, (left_out, self.judges))
                rows += _group_rows({**place, "measure": measure}, groups, found, n)
            if several:
                panels = list(several.values())
                found, n = self._estimate(self._panels(panels, scale, items, "A,k"), items, "fisher", panels)
                rows += _group_rows({**place, "measure": "icc within group"}, several, found, n)
        return _frame(rows, "group", "benchmark", "scale", "measure", annotators=pl.Int64, p=pl.Float64)

    def conditions(self) -> pl.DataFrame:
        """Each judge under each value of the condition with the humans, and minus the baseline, on the same items."""
        rows, every = [], np.arange(len(self.items))
        name = str(self.how.condition)
        matrices = {(s, v): self._matrix(s, v) for s in self.scales for v in self.varied}
        for scale, judge in itertools.product(self.scales, self.judges):
            column = self.names.index(judge)
            answers = {v: matrices[scale, v][:, column] for v in self.varied}
            answers = {v: cells for v, cells in answers.items() if not np.isnan(cells).all()}
            for measure, statistic, transform in TWO_COLUMNS[:2] if answers else ():
                numbers = self._means_with(scale, list(answers.values()), statistic)
                found, n = self._estimate(numbers, every, transform, (self.humans,))
                place, values = {"judge": judge, "scale": scale, "measure": measure}, list(answers)
                for value, one, count in zip(values, found, n, strict=True):
                    rows.append({**place, name: value, **one.row(), "n": count, "p": None})
                place["measure"] = f"{measure}, minus {self.baseline}"
                for i, value in enumerate(values):
                    if self.baseline in values and value != self.baseline:
                        ends = _difference(found, n, i, values.index(self.baseline))
                        rows.append({**place, name: value, **ends})
        frame = _frame(rows, "judge", "scale", "measure", **{name: self.labels.labels.schema[name]}, p=pl.Float64)
        return frame.select("judge", "scale", name, "measure", *COLUMNS, "p")

    def item_table(self) -> pl.DataFrame:
        """Items with both mean labels and their distance, the largest first."""
        parts = []
        for scale in self.scales:
            humans, judges = self._pair(scale, self.humans, self.judges).T
            low, high = self.ranges[scale]
            part = pl.DataFrame({"item": self.items, "humans": humans, "judges": judges})
            distance = (pl.col("humans") - pl.col("judges")).abs()
            parts.append(
                part.select(
                    "item",
                    pl.lit(scale).alias("scale"),
                    "humans",
                    "judges",
                    nmae=distance,
                    aligned=distance <= self.how.well_aligned,
                    humans_label=low + (high - low) * pl.col("humans"),
                    judges_label=low + (high - low) * pl.col("judges"),
                ).filter(pl.col("nmae").is_not_nan())
            )
        frame = pl.concat(parts).join(self.labels.items, on="item", how="left")
        return frame.sort("nmae", descending=True, maintain_order=True)

    def run(self) -> Run:
        """The settings, data, interval, exclusions and notes of the study."""
        used = digest_of_columns(self.whole, self.by, self.how.group, self.how.clusters)
        data = fingerprint_with(self.whole.fingerprint, **used)
        facts = {
            "scales": self.scales, "items": len(self.items), "humans": len(self.humans), "judges": len(self.judges),
            "labels": self.n_labels,
        }  # fmt: skip
        return Run(
            "grading-scales", self.how, data, facts, self.interval, tuple(self.exclusions), tuple(self.notes)
        )  # fmt: skip


_FIRST, _SECOND = np.array([0]), np.array([1])
TWO_COLUMNS: tuple[tuple[str, PanelStatistic, Transform], ...] = (
    ("icc", IntraclassCorrelation(TwoWay(0.5, 2), ("A,1",), 2), "fisher"),
    ("nmae", MeanOfPairs(Distance("mae"), _FIRST, _SECOND), "log"),
    ("pearson", MeanOfPairs(Moments2(0.5, "pearson"), _FIRST, _SECOND), "fisher"),
)
"""The statistics of two columns on 0-1: humans and judges."""


def panel_icc(cells: Floats, form: Form, k: float) -> IntraclassCorrelation:
    """The ICC of a panel on 0-1: analysis of variance, or variance components if labels are missing."""
    components = (Components if np.isnan(cells).any() else TwoWay)(0.5, cells.shape[1])
    return IntraclassCorrelation(components, (form,), k)


def _moments(cells: Floats, statistic: PanelStatistic) -> Floats:
    item, column = np.nonzero(~np.isnan(cells))
    names, items = (_place_names(size) for size in reversed(cells.shape))
    return statistic.moments(Answers(item, column, cells[item, column], items, names))


@lru_cache(maxsize=64)
def _place_names(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


def _sums(numbers: Sequence[Number], items: Ints, units: Units) -> Sums:
    """The moments of numbers of the same items, summed by unit."""
    moments = [_moments(cells[items], statistic) for cells, statistic in numbers]
    counts = tuple(int((m != 0).any(axis=1).sum()) for m in moments)
    joint = Together(tuple(statistic for _, statistic in numbers), same_labels=False)
    return Sums(joint, add_rows(np.concatenate(moments, axis=1), units.of_item, units.n), counts, units.name, units)


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


def _each_part(numbers: Numbers, parts: Sequence[Ints]) -> Numbers:
    """A number for each part of the items; other items have no labels."""

    def each(left: str | None) -> list[Number]:
        ((cells, statistic),) = numbers(left)
        found = []
        for items in parts:
            masked = np.full(cells.shape, np.nan)
            masked[items] = cells[items]
            found.append((masked, statistic))
        return found

    return each


def _unchanged_numbers(numbers: Sequence[Number]) -> Numbers:
    """Numbers without leave-one-out of annotators."""
    return lambda _: numbers


def _rest(names: Sequence[str], left: str | None) -> list[str]:
    return [name for name in names if name != left]


def _group_rows(
    place: Mapping[str, Any], groups: Mapping[str, list[str]], found: Estimates, n: Sequence[int]
) -> list[dict[str, Any]]:
    """A row for each group, and one for each pair: the first minus the second."""
    names = list(groups)
    rows: list[dict[str, Any]] = [
        {"group": value, **place, "annotators": len(groups[value]), **one.row(), "n": count, "p": None}
        for value, one, count in zip(names, found, n, strict=True)
    ]
    for a, b in itertools.combinations(range(len(names)), 2):
        rows.append(
            {"group": f"{names[a]} - {names[b]}", **place, "annotators": None, **_difference(found, n, a, b)}
        )  # fmt: skip
    return rows


def _difference(found: Estimates, n: Sequence[int], a: int, b: int) -> dict[str, Any]:
    """The columns of one value minus another."""
    difference = _combine(found, [{a: 1.0, b: -1.0}])[0]
    return {**difference.row(), "n": min(n[a], n[b]), "p": difference.p()}


def _combine(found: Estimates, weights: Sequence[Mapping[int, float]]) -> Estimates:
    """Weighted sums of values under the same resamples; without intervals if the values have none."""
    rows = np.zeros((len(weights), len(found)))
    for row, one in zip(rows, weights, strict=True):
        row[list(one)] = list(one.values())
    if len(found.replicates) or len(found.leave_one_out):
        return found.contrast(rows)
    value = np.array([found.value[list(one)] @ list(one.values()) for one in weights])
    empty = np.empty((0, len(weights)))
    return estimate_replicates(value, empty, found, n_items=found.n_items, n_units=found.n_units)


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


def _frame(rows: Sequence[dict[str, Any]], *names: str, **more: Any) -> pl.DataFrame:
    """Rows as a table: names, further columns, the estimate, then its tests."""
    tests = ("p", "p_adjusted", "significant")
    schema = {
        **dict.fromkeys(names, pl.String),
        **{name: kind for name, kind in more.items() if name not in tests},
        **dict.fromkeys(COLUMNS[:3], pl.Float64),
        "n": pl.Int64,
        **{name: kind for name, kind in more.items() if name in tests},
    }
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))
