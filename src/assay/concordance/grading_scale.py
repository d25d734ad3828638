"""On which grading scale do judge and people agree best?

The same items are judged on several numeric ranges. Labels are mapped to 0-1, so that scales can be compared;
all intervals take the items as the sample, and scales are compared under the same resamples.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.concordance import plots
from assay.concordance.coefficient import GradingScaleSettings
from assay.data.annotations import Annotations, Answers
from assay.data.chunks import Chunks, in_memory
from assay.data.columns import natural
from assay.data.ratings import cluster_codes, digest_of_columns
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, Transform, adjust_p
from assay.estimation.options import question
from assay.estimation.resampling import Sums, Units
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints, add_rows
from assay.reporting.tables import decimals, said
from assay.statistics.categories import PanelStatistic, Together
from assay.statistics.pairs import Distance, MeanOfPairs, Moments2
from assay.statistics.variance import Components, Form, IntraclassCorrelation, OneWay, TwoWay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POOLED = "all"
"""What the rows over all benchmarks say in the column of the benchmark."""

COLUMNS = ("estimate", "low", "high", "n")

Fewer = Sequence[Sequence[Sequence[Floats]]]
"""Of each group of annotators, without each of them in turn, the cells of each number."""


@dataclass(frozen=True, eq=False)
class GradingScaleStudy(Result):
    """What the choice of the grading scale changes.

    Every table has ``estimate``, ``low``, ``high`` and ``n`` (items). Tables name those of Li et al., "Grading
    scale impact on LLM-as-a-judge".

    Attributes
    ----------
    best : str or None
        The scale with the highest pooled ICC(A,1) of the people's mean with the judges' mean; None of judges alone, of
        whom `reliability` and `consistency` speak (table 1), and no other table.
    alignment : polars.DataFrame
        That agreement by ``scale`` and ``benchmark`` ("all" first): ``measure`` is ``icc`` (A,1), ``nmae`` or
        ``pearson``; ``judge`` is "judges' mean" or one judge (tables 2, 4a, 4b).
    differences : polars.DataFrame
        ICC of each scale less that of another, paired, with p-values adjusted (Holm) over the pairs of scales
        of a benchmark and judge; ``shown`` says whether it differs from 0.
    reliability : polars.DataFrame
        ICC(A,k) and ICC(A,1) of the people and of the judges as panels, and ``humans - judges`` (tables 2, 3, 14, 15).
    consistency : polars.DataFrame
        ICC(A,1) of each judge with itself across scales: all jointly and each two; "average" is the mean over
        judges (table 1).
    groups, conditions : polars.DataFrame or None
        By a column of the annotators (table 5), pooled and by benchmark, with each two groups less each other; and by
        what was varied besides the scale (table 6), with each value less the baseline on the same items. Differences
        have a ``p``.
    repeats : polars.DataFrame or None
        Where answers were repeated: ICC(1) of each annotator's repeats by ``scale`` and ``benchmark``, whatever
        ``repeats=`` made of them for the other tables.
    items : polars.DataFrame
        Each item on each scale: both means on 0-1 and in the scale's own units (``humans_label``, ``judges_label``),
        their distance ``nmae``, ``aligned`` (at most `well_aligned`), and what the item table knows of it (App. G).
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
    items: pl.DataFrame = field(repr=False)
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    by: str | None
    well_aligned: float
    n_items: int
    n_labels: int
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """Pooled and by benchmark, one row a scale: the panels, their agreement and the error (tables 2 to 4a)."""
        panels = self.reliability.filter(pl.col("form") == "ICC(A,k)").select(
            "scale", "benchmark", pl.col("panel").alias("what"), *COLUMNS
        )
        if self.best is None:
            itself = pl.format("{} with itself", pl.col("judge"))
            rows = self.consistency.select(pl.col("scales").alias("scale"), "benchmark", itself.alias("what"), *COLUMNS)
            return pl.concat([panels, rows])
        both = self.alignment.filter(pl.col("judge") == JUDGES_MEAN).select(
            "scale", "benchmark", pl.col("measure").alias("what"), *COLUMNS
        )
        return pl.concat([panels, both])

    def illusion(self) -> pl.DataFrame:
        """Where the pooled figure flatters: benchmarks whose agreement on the best scale lies below the pooled one.

        Pooling adds the differences between benchmarks to the variance of items, which an ICC counts as
        agreement. ``shown``: the interval of the benchmark ends below the pooled figure.
        """
        rows = self.alignment.filter(
            (pl.col("scale") == self.best) & (pl.col("judge") == JUDGES_MEAN) & (pl.col("measure") == "icc")
        )
        pooled = rows.filter(pl.col("benchmark") == POOLED)["estimate"][0]
        below = rows.filter((pl.col("benchmark") != POOLED) & (pl.col("estimate") < pooled)).sort("estimate")
        return below.select(
            "benchmark",
            *COLUMNS,
            flatters_by=pooled - pl.col("estimate"),
            shown=(pl.col("high") < pooled).fill_null(False),
        )

    def summary(self) -> str:
        """Which scale to ask on, how sure that is, and where the pooled figure flatters."""
        if self.best is None:
            return self._of_judges_alone()
        whole = self.alignment.filter((pl.col("benchmark") == POOLED) & (pl.col("judge") == JUDGES_MEAN))
        icc = {r["scale"]: r for r in whole.filter(pl.col("measure") == "icc").iter_rows(named=True)}
        lines = [f"Ask on {self.best}: ICC(A,1) of people and judges {_words(icc[self.best])}{self._against()}."]
        if not self.alignment["low"].count():
            lines = [
                f"ICC(A,1) of people and judges is highest on {self.best}, {_words(icc[self.best])}; "
                "without intervals no scale is shown to be better than another."
            ]
        others = [f"{s} {_words(icc[s])}" for s in self.scales if s != self.best]
        lines.append(f"The other scales: {'; '.join(others)}.")
        lines.append(self._whether_pooling_flatters())
        lines += self._of_repeats()
        poor = self.items.filter((pl.col("scale") == self.best) & ~pl.col("aligned")).height
        every = self.items.filter(pl.col("scale") == self.best).height
        lines.append(
            f"On {self.best}, {poor} of {every} items are further apart than {self.well_aligned:g} of the range."
        )
        return "\n".join([*lines, f"{self.run.interval}.", *self.run.closing()])

    def _of_judges_alone(self) -> str:
        """How consistent the judges are with themselves across scales; which scale to ask on takes people."""
        joint = ", ".join(self.scales) if len(self.scales) > 2 else " vs ".join(self.scales)
        rows = self.consistency.filter((pl.col("benchmark") == POOLED) & (pl.col("scales") == joint))
        lines = [f"{r['judge']} with itself on {joint}: ICC(A,1) {_words(r)}." for r in rows.iter_rows(named=True)]
        lines += self._of_repeats()
        lines.append("On which scale to ask cannot be said without people: there is nobody to agree with.")
        return "\n".join([*lines, f"{self.run.interval}.", *self.run.closing()])

    def _of_repeats(self) -> list[str]:
        """How far repeated answers agree with each other, on the best scale or, of judges alone, on each."""
        if self.repeats is None:
            return []
        lines = []
        for scale in self.scales if self.best is None else (self.best,):
            rows = self.repeats.filter((pl.col("benchmark") == POOLED) & (pl.col("scale") == scale))
            each = "; ".join(f"{r['annotator']} {_words(r)}" for r in rows.iter_rows(named=True))
            lines += [f"Repeated answers on {scale} with each other, ICC(1): {each}."] if each else []
        return lines

    def _whether_pooling_flatters(self) -> str:
        if self.by is None:
            return "This is a pooled figure; name a column with by=... to see whether it flatters."
        by_value = self.alignment.filter(pl.col("benchmark") != POOLED)["benchmark"].n_unique()
        below = self.illusion().filter("shown")
        if not self.alignment.filter(pl.col("benchmark") != POOLED)["low"].count():
            return f"Whether pooling flatters cannot be said: no value of '{self.by}' has an interval."
        if not below.height:
            return f"Pooling does not visibly flatter: no value of '{self.by}' is shown to lie below the pooled figure."
        worst = "; ".join(f"{r['benchmark']} {_words(r)}" for r in below.iter_rows(named=True))
        return (
            f"Reliability illusion: {below.height} of {by_value} values of '{self.by}' lie below the pooled figure "
            f"({worst})."
        )

    def _against(self) -> str:
        rows = self.differences.filter(
            (pl.col("benchmark") == POOLED) & (pl.col("judge") == JUDGES_MEAN) & (pl.col("scale") == self.best)
        )
        parts = []
        for r in rows.iter_rows(named=True):
            verb = "better than" if r["shown"] else "not shown to be better than"
            parts.append(f"{verb} {r['other']} (by {_words(r)})")
        return ", " + ", ".join(parts) if parts else ""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Agreement by scale and benchmark as bars with intervals; of judges alone, each with itself."""
        if self.best is None:
            return super().plot(ax)
        rows = self.alignment.filter((pl.col("measure") == "icc") & (pl.col("judge") == JUDGES_MEAN))
        return plots.bars(rows, self.scales, ax)

    def plot_icc_nmae(self, ax: Axes | None = None, *, scale: str | None = None) -> Axes:
        """The ICC against the nMAE of each benchmark: a small error can hide a judge who tells items apart badly."""
        shown = self.scales if scale is None else (self._known(scale),)
        rows = self.alignment.filter(pl.col("judge") == JUDGES_MEAN)
        return plots.icc_against_nmae(rows, shown, scale or self._needs_people(), self.well_aligned, ax)

    def plot_consensus(self, ax: Axes | None = None, *, benchmark: str | None = None, scale: str | None = None) -> Axes:
        """The judges' mean against the people's mean, one point an item (figure 2)."""
        chosen = self._known(scale or self._needs_people())
        items = self.items.filter(pl.col("scale") == chosen)
        if benchmark is not None and self.by is not None:
            items = items.filter(pl.col(self.by).cast(pl.String) == benchmark)
        rows = self.alignment.filter(
            (pl.col("scale") == chosen)
            & (pl.col("judge") == JUDGES_MEAN)
            & (pl.col("benchmark") == (benchmark if benchmark is not None else POOLED))
        )
        if not rows.height:
            known = self.alignment["benchmark"].unique().to_list()
            raise DesignError(unknown("benchmark", benchmark, known, "the study"))
        values = dict(rows.select("measure", "estimate").iter_rows())
        return plots.consensus_points(items, values, f"{benchmark or 'all items'}, {chosen}", self.well_aligned, ax)

    def _needs_people(self) -> str:
        if self.best is None:
            raise DesignError("this picture sets people against judges, and the table has only judges")
        return self.best

    def _known(self, scale: str) -> str:
        if scale not in self.scales:
            raise DesignError(unknown("scale", scale, self.scales, "the study"))
        return scale


JUDGES_MEAN = "judges' mean"


@question(GradingScaleSettings)
def grading_scale_study(labels: Annotations | Chunks, settings: GradingScaleSettings) -> GradingScaleStudy:
    """On which of several numeric ranges should people and judges be asked?

    The design of Li et al., "Grading scale impact on LLM-as-a-judge": each annotator labels each item once on each
    scale. Labels are mapped linearly to 0-1; a consensus is the mean of those who answered.

    Parameters
    ----------
    labels : Annotations
        One criterion, people and judges, with the scale of each answer in a column that is a condition.

    Returns
    -------
    GradingScaleStudy
        Tables, ``summary()`` with the scale to ask on, ``plot()``, ``plot_icc_nmae()``, ``plot_consensus()``.

    Raises
    ------
    DataError
        For a column that is not there, a range that cannot be read, labels outside their range.
    DesignError
        For fewer than two scales, no judges, repeats, a condition without a baseline.

    Notes
    -----
    Raters are random when not said otherwise, as in the paper (section 3.1): intervals and the verdict are for others
    like these people and judges, and each of them is left out in turn beside each item. A single person or judge is
    itself. With fixed raters, or a bootstrap, a scale that suits these people alone is shown to be better.
    """
    study = _Study(in_memory(labels, "a study of grading scales"), settings)
    alignment, differences = study.alignment()
    pooled = alignment.filter(
        (pl.col("benchmark") == POOLED) & (pl.col("judge") == JUDGES_MEAN) & (pl.col("measure") == "icc")
    ).sort("estimate", descending=True, nulls_last=True)
    return GradingScaleStudy(
        best=pooled["scale"][0] if pooled.height else None,
        scales=study.scales,
        ranges=study.ranges,
        alignment=alignment,
        differences=differences,
        reliability=study.reliability(),
        consistency=study.consistency(),
        groups=None if settings.group is None else study.groups(settings.group),
        conditions=None if settings.condition is None else study.conditions(),
        repeats=study.repeats(),
        items=study.item_table(settings.well_aligned),
        humans=study.humans,
        judges=study.judges,
        by=settings.by,
        well_aligned=settings.well_aligned,
        n_items=len(study.items),
        n_labels=study.n_labels,
        run=study.run(),
    )


@dataclass(frozen=True, eq=False)
class _Estimand:
    """One number to estimate: labels as (items, columns), and the statistic of them."""

    cells: Floats
    statistic: PanelStatistic

    def moments(self) -> Floats:
        item, column = np.nonzero(~np.isnan(self.cells))
        names, items = (_numbered(size) for size in reversed(self.cells.shape))
        return self.statistic.moments(Answers(item, column, self.cells[item, column], items, names))


@lru_cache(maxsize=64)
def _numbered(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


class _Study:
    """Labels on 0-1 as one matrix a scale, and the tables made from them."""

    def __init__(self, labels: Annotations, settings: GradingScaleSettings) -> None:
        scale, by, condition = settings.scale_column, settings.by, settings.condition
        if len(labels.criteria) > 1:
            raise DesignError(
                f"the table has {len(labels.criteria)} criteria; choose one with labels.where(criterion=...)"
            )
        for name in (scale, condition):
            if name is not None and name not in labels.labels.columns:
                raise DataError(unknown("column", name, labels.labels.columns))
        if by is not None and by not in labels.items.columns:
            raise DataError(unknown("item column", by, labels.items.columns, "the table of items"))
        repeated, self.whole = labels.has_repeats, labels
        labels = labels.resolve_repeats(settings.repeats)
        self.labels, self.how, self.by, self.condition = labels, settings, by, condition
        self.humans, self.judges = labels.humans, labels.judges
        if not self.judges:
            raise DesignError("a study of grading scales is about judges; the table has only people")
        alone = [name for name, asked in (("by group", settings.group), ("by condition", condition)) if asked]
        if not self.humans and alone:
            raise DesignError(f"the tables {listing(alone)} set people against judges, and the table has only judges")
        self.items = labels.items["item"].to_list()
        self.names = (*self.humans, *self.judges)
        self.clusters: Ints | None = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
        self.exclusions: list[Exclusion] = []
        self.notes = [f"repeated answers: {settings.repeats}"] if repeated else []
        frame = labels.labels.with_columns(pl.col(scale).cast(pl.String).alias("_scale"))
        found = natural(frame["_scale"].drop_nulls().unique().to_list())
        if len(found) < 2:
            raise DesignError(f"column '{scale}' has {len(found)} value; a study of scales needs two or more")
        self.ranges = {name: _range(name, settings.ranges) for name in found}
        self.scales = tuple(sorted(found, key=lambda name: self.ranges[name][1] - self.ranges[name][0]))
        frame = self._to_unit(frame)
        self.n_labels = frame.height
        self.varied = () if condition is None else labels.where(kind="judge").values_of(condition)
        self.baseline = self._baseline(settings.baseline)
        self.cells = {s: self._matrix(frame, s, self.baseline) for s in self.scales}
        self.unit_frame = frame
        self.interval = "no interval"
        self.raters = settings.raters_for(random=True)
        self.notes += self._about_items()

    def _about_items(self) -> list[str]:
        """What is to be said of labels that are missing, of extra items and of parts without an interval."""
        found = []
        if any(np.isnan(c).any() for c in self.cells.values()):
            found.append("some annotators did not answer some items; a consensus is the mean of those who did")
        kinds = {"judges": self.judges, "people": self.humans}
        answered = {
            kind: np.any([~np.isnan(c[:, self._columns(names)]).all(axis=1) for c in self.cells.values()], axis=0)
            for kind, names in kinds.items()
        }
        both = answered["judges"] & answered["people"]
        for kind, there in answered.items() if self.humans else ():
            extra = int((there & ~both).sum())
            if extra:
                tables = "tables of reliability and consistency" if kind == "judges" else "table of reliability"
                found.append(
                    f"{counted(extra, 'item')} answered by {kind} alone: counted in the {tables}, not where people are "
                    "set against judges"
                )
        units = np.arange(len(self.items)) if self.clusters is None else self.clusters
        single = [name for name, items in self.benchmarks() if len(np.unique(units[items])) < 2]
        if single and self.how.method != "none":
            what = "item" if self.clusters is None else f"{self.how.clusters} (the clusters)"
            found.append(f"no interval for {listing(single)}: one {what} cannot show how much others would differ")
        if self.how.repeats == "each" and self.whole.has_repeats:
            found.append("each repeat counts as an annotator, so that intervals for others like these are too narrow")
        return found

    # -- the labels -----------------------------------------------------------------------------------

    def _to_unit(self, frame: pl.DataFrame) -> pl.DataFrame:
        low = pl.col("_scale").replace_strict(
            {s: r[0] for s, r in self.ranges.items()}, default=None, return_dtype=pl.Float64
        )
        high = pl.col("_scale").replace_strict(
            {s: r[1] for s, r in self.ranges.items()}, default=None, return_dtype=pl.Float64
        )
        if not frame["label"].dtype.is_numeric():
            raise DesignError("grading scales are numeric; these labels are not numbers")
        unscaled = frame.filter(pl.col("_scale").is_null()).height
        if unscaled:
            self.exclusions.append(Exclusion("label", unscaled, "no scale"))
        frame = frame.filter(pl.col("_scale").is_not_null()).with_columns(
            unit=(pl.col("label").cast(pl.Float64) - low) / (high - low)
        )
        off = frame.filter(~pl.col("unit").is_between(-1e-9, 1 + 1e-9))
        if off.height:
            shown = [
                f"item '{i}', scale {s}: {v:g}" for i, s, v in off.head(5).select("item", "_scale", "label").iter_rows()
            ]
            raise DataError(f"{off.height} labels are outside the range of their scale ({listing(shown)})")
        return frame

    def _baseline(self, baseline: Any) -> Any:
        if len(self.varied) <= 1:
            return self.varied[0] if self.varied else None
        if baseline is None:
            raise DesignError(
                f"judges answered under several values of '{self.condition}' ({listing(self.varied)}); "
                "say which one the main tables take with baseline=..."
            )
        if baseline not in self.varied:
            raise DataError(unknown(str(self.condition), baseline, self.varied))
        self.notes.append(f"judges' answers are those with {self.condition} {baseline} unless a table says otherwise")
        return baseline

    def _matrix(self, frame: pl.DataFrame, scale: str, value: Any) -> Floats:
        """(items, annotators) on one scale, people whatever the condition, judges under one value of it."""
        part = frame.filter(pl.col("_scale") == scale)
        if self.condition is not None:
            part = part.filter(pl.col("annotator").is_in(self.humans) | (pl.col(self.condition) == value))
        if part.select("item", "annotator").is_duplicated().any():
            raise DesignError(
                f"annotators answered items more than once on scale {scale}; name what was varied with condition=..., "
                "or choose with labels.where(...)"
            )
        cells = np.full((len(self.items), len(self.names)), np.nan)
        row = part["item"].replace_strict(pl.Series(self.items), pl.Series(range(len(self.items))))
        column = part["annotator"].replace_strict(pl.Series(self.names), pl.Series(range(len(self.names))))
        cells[row.to_numpy(), column.to_numpy()] = part["unit"].to_numpy()
        return cells

    def _columns(self, names: Sequence[str]) -> list[int]:
        return [self.names.index(name) for name in names]

    def _mean(self, scale: str, names: Sequence[str]) -> Floats:
        return row_means(self.cells[scale][:, self._columns(names)])

    def _pair(self, scale: str, people: Sequence[str], judges: Sequence[str]) -> Floats:
        """The two means as two columns."""
        return np.stack([self._mean(scale, people), self._mean(scale, judges)], axis=1)

    def _fewer_pairs(self, scales: Sequence[str], people: Sequence[str], judges: Sequence[str]) -> Fewer:
        """The two means without each person and without each judge, where there are several: a group each."""
        without_people = [[self._pair(s, _rest(people, p), judges) for s in scales] for p in people]
        without_judges = [[self._pair(s, people, _rest(judges, j)) for s in scales] for j in judges]
        return [group for group in (without_people, without_judges) if len(group) > 1]

    def benchmarks(self) -> Iterator[tuple[str, Ints]]:
        """All items, then those of each value of ``by``."""
        yield POOLED, np.arange(len(self.items))
        if self.by is not None:
            column = self.labels.items[self.by].cast(pl.String).fill_null("(none)")
            for value in natural(column.unique().to_list()):
                yield value, np.flatnonzero((column == value).to_numpy())

    # -- the tables -----------------------------------------------------------------------------------

    def alignment(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """People's mean with judges': each scale, benchmark and judge; and scales less each other."""
        rows, differences = [], []
        for benchmark, items in self.benchmarks() if self.humans else ():
            for judge, names in [(JUDGES_MEAN, self.judges), *((j, (j,)) for j in self.judges)]:
                pairs = [self._pair(s, self.humans, names) for s in self.scales]
                fewer = self._fewer_pairs(self.scales, self.humans, names)
                for measure, statistic, transform in _TWO_COLUMNS:
                    found, n = self._estimate([_Estimand(p, statistic) for p in pairs], items, transform, fewer)
                    place = {"benchmark": benchmark, "judge": judge}
                    for s, interval, count in zip(self.scales, found, n, strict=True):
                        rows.append({"scale": s, **place, "measure": measure, **interval.row(), "n": count})
                    if measure == "icc":
                        differences += [{**place, **row} for row in self._compare(found, min(n))]
        order = ["scale", "benchmark", "judge", "measure", *COLUMNS]
        frame = pl.DataFrame(differences, schema=_DIFFERENCES)
        schema = dict.fromkeys(order[:4], pl.String)
        return _frame(rows, schema).select(order), frame.with_columns(
            pl.col("low", "high", "p", "p_adjusted").fill_nan(None)
        )

    def _compare(self, found: Estimates, n: int) -> list[dict[str, Any]]:
        """Each scale less each other, under the same resamples."""
        pairs = list(itertools.permutations(range(len(self.scales)), 2))
        weights = np.zeros((len(pairs), len(self.scales)))
        for row, (a, b) in enumerate(pairs):
            weights[row, a], weights[row, b] = 1.0, -1.0
        difference = _less(found, weights)
        p = difference.p(0.0)
        # A difference and its mirror image are one hypothesis.
        single = np.array([a < b for a, b in pairs])
        adjusted = np.full(len(p), np.nan)
        adjusted[single] = adjust_p(p[single], "holm")
        position = {pair: i for i, pair in enumerate(pairs)}
        rows = []
        for i, (a, b) in enumerate(pairs):
            q = adjusted[position[(min(a, b), max(a, b))]]
            shown = bool(q <= 1 - difference.confidence)
            names = {"scale": self.scales[a], "other": self.scales[b]}
            rows.append({**names, **difference[i].row(), "n": n, "p": p[i], "p_adjusted": q, "shown": shown})
        return rows

    def reliability(self) -> pl.DataFrame:
        """The people and the judges as panels."""
        rows = []
        panels = {"humans": self.humans, "judges": self.judges}
        for scale in self.scales:
            for benchmark, items in self.benchmarks():
                for form in ("A,k", "A,1"):
                    cells = [self.cells[scale][:, self._columns(names)] for names in panels.values()]
                    parts = [_Estimand(c, panel_icc(c[items], form)) for c in cells if c.shape[1] > 1]
                    if not parts:
                        continue
                    found, n = self._estimate(parts, items, "fisher", without=self._fewer_members(cells, items, form))
                    named = [(p, len(x)) for p, x in panels.items() if len(x) > 1]
                    place = {"scale": scale, "benchmark": benchmark, "form": f"ICC({form})"}
                    for (panel, k), interval, count in zip(named, found, n, strict=True):
                        rows.append({**place, "panel": panel, "k": k, **interval.row(), "n": count})
                    if len(parts) == 2:
                        less, both = self._panels_apart(cells, items, form, found, n)
                        rows.append({**place, "panel": "humans - judges", "k": None, **less.row(), "n": both})
        schema = {"scale": pl.String, "benchmark": pl.String, "form": pl.String, "panel": pl.String, "k": pl.Int64}
        return _frame(rows, schema)

    def _panels_apart(
        self, cells: Sequence[Floats], items: Ints, form: Form, found: Estimates, n: Sequence[int]
    ) -> tuple[Estimate, int]:
        """The first panel less the second, on the items that both answered, and how many these are."""
        both = items[np.all([~np.isnan(c[items]).all(axis=1) for c in cells], axis=0)]
        if len(both) < len(items):
            parts = [_Estimand(c, panel_icc(c[both], form)) for c in cells]
            found, n = self._estimate(parts, both, "fisher", without=self._fewer_members(cells, both, form))
        return _less(found, np.array([[1.0, -1.0]]))[0], min(n)

    def repeats(self) -> pl.DataFrame | None:
        """How reliable repeated answers of an annotator are, on each scale: ICC(1), of labels that are exchangeable."""
        if not self.whole.has_repeats:
            return None
        asked = self.whole.labels.filter(pl.col(self.how.scale_column).is_not_null())
        if self.condition is not None:
            person = pl.col("annotator").is_in(self.humans)
            asked = asked.filter(person | (pl.col(self.condition) == self.baseline))
        frame, rows = (
            self._to_unit(asked.with_columns(pl.col(self.how.scale_column).cast(pl.String).alias("_scale"))),
            [],
        )
        several = frame.filter(pl.col("repeat").n_unique().over("annotator") > 1)
        for benchmark, items in self.benchmarks():
            for scale in self.scales:
                named, parts = [], []
                for (name,), part in several.filter(pl.col("_scale") == scale).group_by(
                    "annotator", maintain_order=True
                ):
                    cells = self._repeated(part)
                    number = (~np.isnan(cells[items])).sum(axis=1)
                    if (number > 1).sum() > 1:
                        named.append((name, cells.shape[1]))
                        parts.append(_Estimand(cells, IntraclassCorrelation(OneWay(0.5), ("1",), cells.shape[1])))
                if parts:
                    found, n = self._estimate(parts, items, "fisher")
                    place = {"scale": scale, "benchmark": benchmark}
                    for (name, k), one, count in zip(named, found, n, strict=True):
                        rows.append({**place, "annotator": name, "repeats": k, **one.row(), "n": count})
        return _frame(rows, dict.fromkeys(("scale", "benchmark", "annotator"), pl.String) | {"repeats": pl.Int64})

    def _repeated(self, part: pl.DataFrame) -> Floats:
        """One annotator's answers on one scale: (items, repeats)."""
        repeat = part["repeat"].fill_null(1).rank("dense").cast(pl.Int64).to_numpy() - 1
        row = part["item"].replace_strict(pl.Series(self.items), pl.Series(range(len(self.items))))
        cells = np.full((len(self.items), int(repeat.max()) + 1), np.nan)
        cells[row.to_numpy(), repeat] = part["unit"].to_numpy()
        return cells

    def consistency(self) -> pl.DataFrame:
        """Each judge with itself across scales, all of them and each two."""
        rows = []
        sets = [self.scales, *itertools.combinations(self.scales, 2)] if len(self.scales) > 2 else [self.scales]
        for benchmark, items in self.benchmarks():
            for scales in sets:
                words = ", ".join(scales) if len(scales) > 2 else " vs ".join(scales)
                parts = []
                for judge in self.judges:
                    column = self.names.index(judge)
                    cells = np.stack([self.cells[s][:, column] for s in scales], axis=1)
                    parts.append(
                        _Estimand(cells, IntraclassCorrelation(TwoWay(0.5, len(scales)), ("A,1",), len(scales)))
                    )
                found, n = self._estimate(parts, items, "fisher")
                place = {"benchmark": benchmark, "scales": words}
                for judge, interval, count in zip(self.judges, found, n, strict=True):
                    rows.append({**place, "judge": judge, **interval.row(), "n": count})
                if len(self.judges) > 1:
                    mean = _less(found, np.full((1, len(self.judges)), 1 / len(self.judges)))[0]
                    rows.append({**place, "judge": "average", **mean.row(), "n": min(n)})
        return _frame(rows)

    def groups(self, column: str) -> pl.DataFrame:
        """People with each value of a column of the annotators: with the judges, among each other, less each other."""
        about = self.labels.annotators
        if column not in about.columns:
            raise DataError(unknown("annotator column", column, about.columns, "the table of annotators"))
        people = about.filter((pl.col("kind") == "human") & pl.col(column).is_not_null())
        groups = {
            value: people.filter(pl.col(column).cast(pl.String) == value)["annotator"].to_list()
            for value in natural(people[column].cast(pl.String).unique().to_list())
        }
        several = {value: names for value, names in groups.items() if len(names) > 1}
        rows = []
        for benchmark, items in self.benchmarks():
            for scale in self.scales:
                place, fewer = {"benchmark": benchmark, "scale": scale}, self._fewer_groups(scale, groups)
                pairs = [self._pair(scale, names, self.judges) for names in groups.values()]
                for measure, statistic, transform in _TWO_COLUMNS[:2]:
                    found, n = self._estimate([_Estimand(pair, statistic) for pair in pairs], items, transform, fewer)
                    rows += _of_groups({**place, "measure": measure}, groups, found, n)
                panels = [self.cells[scale][:, self._columns(names)] for names in several.values()]
                if panels:
                    members, parts = (
                        self._fewer_members(panels, items, "A,k"),
                        [_Estimand(c, panel_icc(c[items], "A,k")) for c in panels],
                    )
                    found, n = self._estimate(parts, items, "fisher", without=members)
                    rows += _of_groups({**place, "measure": "icc within group"}, several, found, n)
        return _frame(rows).with_columns(pl.col("p").cast(pl.Float64).fill_nan(None))

    def _fewer_groups(self, scale: str, groups: Mapping[str, list[str]]) -> Fewer:
        """The pairs of groups with judges without each person of each group, and without each judge."""

        def pairs(left: str) -> list[Floats]:
            rests = ([n for n in names if n != left] for names in groups.values())
            judges = [j for j in self.judges if j != left]
            return [self._pair(scale, rest, judges) for rest in rests]

        people = [pairs(name) for names in groups.values() if len(names) > 1 for name in names]
        judges = [pairs(judge) for judge in self.judges] if len(self.judges) > 1 else []
        return [group for group in (people, judges) if group]

    def conditions(self) -> pl.DataFrame:
        """Each judge under each value of the condition, with the people; and less the baseline, on the same items."""
        rows = []
        for scale, judge in itertools.product(self.scales, self.judges):
            column = self.names.index(judge)
            answers = {v: self._matrix(self.unit_frame, scale, v)[:, column] for v in self.varied}
            answers = {v: cells for v, cells in answers.items() if not np.isnan(cells).all()}
            rests = [self._mean(scale, _rest(self.humans, name)) for name in self.humans]
            pairs = [np.stack([self._mean(scale, self.humans), cells], axis=1) for cells in answers.values()]
            people = [[np.stack([rest, cells], axis=1) for cells in answers.values()] for rest in rests]
            for measure, statistic, transform in _TWO_COLUMNS[:2] if pairs else ():
                parts, every = [_Estimand(pair, statistic) for pair in pairs], np.arange(len(self.items))
                found, n = self._estimate(parts, every, transform, [people] if len(people) > 1 else [])
                place = {"judge": judge, "scale": scale, "measure": measure}
                rows += self._of_conditions(place, list(answers), found, n)
        order = ("judge", "scale", str(self.condition), "measure", *COLUMNS, "p")
        return _frame(rows).with_columns(pl.col("p").cast(pl.Float64).fill_nan(None)).select(order)

    def _of_conditions(
        self, place: Mapping[str, Any], values: list[Any], found: Estimates, n: Sequence[int]
    ) -> list[dict[str, Any]]:
        """A row for each value, and for each but the baseline one of the difference."""
        name = str(self.condition)
        rows = [
            {**place, name: value, **one.row(), "n": count, "p": None}
            for value, one, count in zip(values, found, n, strict=True)
        ]
        if self.baseline not in values:
            return rows
        base = values.index(self.baseline)
        for i, value in enumerate(values):
            if i != base:
                weights = np.zeros((1, len(values)))
                weights[0, i], weights[0, base] = 1.0, -1.0
                less = _less(found, weights)
                words = {**place, "measure": f"{place['measure']}, less {self.baseline}", name: value}
                rows.append({**words, **less[0].row(), "n": min(n[i], n[base]), "p": float(less.p()[0])})
        return rows

    def item_table(self, well_aligned: float) -> pl.DataFrame:
        """Items with both means and their distance, worst first."""
        parts = []
        for scale in self.scales:
            humans, judges = self._mean(scale, self.humans), self._mean(scale, self.judges)
            low, high = self.ranges[scale]
            part = pl.DataFrame({"item": self.items, "humans": humans, "judges": judges}).with_columns(
                scale=pl.lit(scale),
                nmae=(pl.col("humans") - pl.col("judges")).abs(),
                humans_label=low + (high - low) * pl.col("humans"),
                judges_label=low + (high - low) * pl.col("judges"),
            )
            parts.append(part.filter(pl.col("nmae").is_not_nan()))
        frame = pl.concat(parts).with_columns(aligned=pl.col("nmae") <= well_aligned)
        frame = frame.join(self.labels.items, on="item", how="left").sort("nmae", descending=True, maintain_order=True)
        return frame.select(
            "item",
            "scale",
            "humans",
            "judges",
            "nmae",
            "aligned",
            "humans_label",
            "judges_label",
            pl.exclude("item", "scale", "humans", "judges", "nmae", "aligned", "humans_label", "judges_label"),
        )

    def run(self) -> Run:
        """What made the study."""
        used = digest_of_columns(self.whole, self.how.by, self.how.group, self.how.clusters)
        data = fingerprint_with(self.whole.fingerprint, **used)
        facts = {
            "scales": self.scales, "items": len(self.items), "humans": len(self.humans), "judges": len(self.judges),
            "labels": self.n_labels,
        }  # fmt: skip
        return Run(
            "grading-scales", self.how, data, facts, self.interval, tuple(self.exclusions), tuple(self.notes)
        )  # fmt: skip

    def _fewer_members(self, panels: Sequence[Floats], items: Ints, form: Form) -> list[Floats]:
        """The ICC of each panel without each of its members; what is not left out does not change."""
        panels = [cells[items] for cells in panels if cells.shape[1] > 1]
        whole = [_of_panel(cells, form, cells.shape[1]) for cells in panels]
        groups = []
        for place, cells in enumerate(panels):
            group = np.tile(np.array(whole), (cells.shape[1], 1))
            group[:, place] = [
                _of_panel(np.delete(cells, j, axis=1), form, cells.shape[1]) for j in range(cells.shape[1])
            ]
            groups.append(group)
        return groups

    def _estimate(
        self, parts: Sequence[_Estimand], items: Ints, transform: Transform, fewer: Fewer = (),
        without: Sequence[Floats] = (),
    ) -> tuple[Estimates, list[int]]:  # fmt: skip
        """Several numbers of the same items under the same resamples, and the items behind each.

        Where annotators are a sample, ``fewer`` has the cells without each of a group, ``without`` the values.
        """
        moments = [_Estimand(part.cells[items], part.statistic).moments() for part in parts]
        counts = [int((m != 0).any(axis=1).sum()) for m in moments]
        joint = Together(tuple(part.statistic for part in parts), same_labels=False)
        clusters = None if self.clusters is None else self.clusters[items]
        units = Units.of(len(items), clusters, width=sum(joint.widths))
        sums = add_rows(np.concatenate(moments, axis=1), units.of_item, units.n)
        found = Sums(joint, sums, tuple(counts), units.name).estimate(self.how, transform)
        groups = [*without, *(np.array([self._values(parts, cells, items) for cells in group]) for group in fewer)]
        sampled = self.raters == "random" and self.how.method != "none" and bool(groups)
        found = found.with_random_raters(*groups) if sampled else found
        if self.interval == "no interval":
            self.interval = found.describe_interval()
        return found, counts

    def _values(self, parts: Sequence[_Estimand], cells: Sequence[Floats], items: Ints) -> Floats:
        """The same numbers from other cells."""
        each = [replace(part, cells=c[items]) for part, c in zip(parts, cells, strict=True)]
        return np.concatenate([part.statistic.value(part.moments().sum(axis=0)) for part in each])


_DIFFERENCES = {
    **dict.fromkeys(("benchmark", "judge", "scale", "other"), pl.String),
    **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
    "n": pl.Int64,
    **dict.fromkeys(("p", "p_adjusted"), pl.Float64),
    "shown": pl.Boolean,
}

_FIRST, _SECOND = np.array([0]), np.array([1])
_TWO_COLUMNS: tuple[tuple[str, PanelStatistic, Transform], ...] = (
    ("icc", IntraclassCorrelation(TwoWay(0.5, 2), ("A,1",), 2), "fisher"),
    ("nmae", MeanOfPairs(Distance("mae"), _FIRST, _SECOND), "log"),
    ("pearson", MeanOfPairs(Moments2(0.5, "pearson"), _FIRST, _SECOND), "fisher"),
)
"""What is computed of two columns on 0-1: people and judges."""


def _of_groups(
    place: Mapping[str, Any], groups: Mapping[str, list[str]], found: Estimates, n: Sequence[int]
) -> list[dict[str, Any]]:
    """A row for each group, and one for each two, the first less the second."""
    names = list(groups)
    rows: list[dict[str, Any]] = [
        {"group": value, **place, "annotators": len(groups[value]), **one.row(), "n": count, "p": None}
        for value, one, count in zip(names, found, n, strict=True)
    ]
    for a, b in itertools.combinations(range(len(names)), 2):
        weights = np.zeros((1, len(names)))
        weights[0, a], weights[0, b] = 1.0, -1.0
        less = _less(found, weights)
        ends = {**less[0].row(), "n": min(n[a], n[b]), "p": float(less.p()[0])}
        rows.append({"group": f"{names[a]} - {names[b]}", **place, "annotators": None, **ends})
    return rows


def _less(found: Estimates, weights: Floats) -> Estimates:
    """Differences (or means) of values under the same resamples; without intervals where the values have none."""
    if len(found.replicates) or len(found.leave_one_out):
        return found.contrast(weights)
    nothing, none = np.full(len(weights), np.nan), np.empty((0, len(weights)))
    plain: Transform = "none"
    value = np.array([found.value[row != 0] @ row[row != 0] for row in weights])
    return replace(
        found, value=value, standard_error=nothing, low=nothing, high=nothing, replicates=none, leave_one_out=none,
        reasons=(found.reasons[0],) * len(weights), n_undefined=np.zeros(len(weights), dtype=np.int64),
        transform=(plain,) * len(weights), support=np.empty((2, 0), dtype=np.int64), without_annotator=(),
    )  # fmt: skip


def _rest(names: Sequence[str], left: str) -> list[str]:
    return [name for name in names if name != left]


def _of_panel(cells: Floats, form: Form, k: int) -> float:
    """The ICC of a panel, of the mean of k labels; NaN of a single annotator."""
    if cells.shape[1] < 2:
        return np.nan
    part = _Estimand(cells, replace(panel_icc(cells, form), k=k))
    return float(part.statistic.value(part.moments().sum(axis=0))[0])


def panel_icc(cells: Floats, form: Form) -> IntraclassCorrelation:
    """The ICC of a panel on 0-1: analysis of variance, or variance components where labels are missing."""
    k = cells.shape[1]
    missing = bool(np.isnan(cells).any())
    return IntraclassCorrelation(Components(0.5, k) if missing else TwoWay(0.5, k), (form,), k)


def row_means(cells: Floats) -> Floats:
    """The mean of what is there in each row; NaN where nothing is."""
    there = ~np.isnan(cells)
    number = there.sum(axis=1)
    return np.asarray(np.where(number > 0, np.where(there, cells, 0.0).sum(axis=1) / np.maximum(number, 1), np.nan))


def _range(name: str, ranges: Mapping[str, tuple[float, float]] | None) -> tuple[float, float]:
    if ranges is not None and name in ranges:
        low, high = ranges[name]
    else:
        ends = re.fullmatch(r"\s*(-?[\d.]+)\s*(?:-|–|to|\.\.)\s*(-?[\d.]+)\s*", name)
        if ends is None:
            raise DataError(
                f"'{name}' does not say its range, as '0-10' does; rename it, or name its range with "
                f"ranges={{'{name}': (lowest, highest)}}"
            )
        low, high = float(ends[1]), float(ends[2])
    if not low < high:
        raise DataError(f"the range of scale '{name}' must rise; got {low:g} to {high:g}")
    return float(low), float(high)


def _frame(rows: Iterable[dict[str, Any]], schema: dict[str, Any] | None = None) -> pl.DataFrame:
    numbers = {"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    listed = list(rows)
    if schema is not None:
        return pl.DataFrame(listed, schema={**schema, **numbers}).with_columns(pl.col(*COLUMNS[:3]).fill_nan(None))
    frame = pl.DataFrame(listed, schema_overrides=numbers, infer_schema_length=None)
    return frame.with_columns(pl.col(*COLUMNS[:3]).fill_nan(None))


def _words(row: Mapping[str, Any]) -> str:
    if row["estimate"] is None:
        return "undefined"
    if row["low"] is None or not np.isfinite(row["low"]):
        return f"{said(row['estimate'], 3)} (no interval)"
    return f"{said(row['estimate'], 3)} [{_end(row['low'])}, {_end(row['high'])}]"


def _end(value: float | None) -> str:
    return "?" if value is None or not np.isfinite(value) else decimals(value, 3)
