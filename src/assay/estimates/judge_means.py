"""Means of judges' labels, with intervals for judges and prompts like these.

Items, judges and prompts are crossed, or each item has one judge of several (rotated); runs are averaged. Human labels
are not used, so errors that all judges share are not in the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtrit

from assay.data.annotations import Annotations
from assay.data.names import natural
from assay.data.ratings import cluster_codes, refuse_conditions, refuse_criteria
from assay.errors import DesignError, counted, listing
from assay.estimation.intervals import Estimate, estimate_by_ends, missing
from assay.estimation.result import Exclusion
from assay.estimation.statistic import Bools, Floats, Ints

ONE_JUDGE = "the variance among judges cannot be estimated from one judge"

LEAST_CROSSED = 5
"""Least items, or clusters of items, for an interval."""


@dataclass(frozen=True, eq=False)
class CrossedLabels:
    """Labels of judges under prompts, all crossed.

    Attributes
    ----------
    values : (items, judges, prompts) float
        The mean over runs.
    unit : (items,) int
        The cluster of each item, or the item.
    """

    values: Floats
    unit: Ints

    @classmethod
    def over_items(cls, values: Floats, unit: Ints | None = None) -> CrossedLabels:
        """Number the units of these items from 0."""
        codes = np.arange(len(values)) if unit is None else np.unique(unit, return_inverse=True)[1].reshape(-1)
        return cls(values, codes.astype(np.int64))

    @property
    def mean(self) -> float:
        """The mean of all labels."""
        return float(self.values.mean())

    def variances(self) -> tuple[tuple[float, int], tuple[float, int], tuple[float, int]]:
        """Return the variance of the mean from items, judges and prompts, with degrees of freedom.

        That of judges and prompts is without the part that their interaction with items contributes, which is in the
        variance of items already; 0 for a single judge or prompt.
        """
        x, m = self.values, self.mean
        n, n_units = len(x), int(self.unit.max()) + 1
        scale = n_units / (n_units - 1) / n**2
        items = x.mean(axis=(1, 2))
        by_unit = np.bincount(self.unit, items - m, n_units)
        found = [(float((by_unit**2).sum()) * scale, n_units - 1)]
        for axis in (1, 2):
            size = x.shape[axis]
            if size < 2:
                found.append((0.0, 1))
                continue
            cells = x.mean(axis=3 - axis)
            levels = cells.mean(axis=0)
            rest = cells - items[:, None] - levels + m
            sums = np.stack([np.bincount(self.unit, column, n_units) for column in rest.T])
            shared = float((sums**2).sum()) * scale / (size * (size - 1))
            found.append((max(float(levels.var(ddof=1)) / size - shared, 0.0), size - 1))
        return found[0], found[1], found[2]

    def estimate(self, confidence: float) -> Estimate:
        """Return the mean for judges and prompts like these: half² = Σ t²_ν V over items, judges and prompts."""
        n_units, value = int(self.unit.max()) + 1, self.mean
        if self.values.shape[1] < 2:
            return Estimate(value, math.nan, math.nan, math.nan, ONE_JUDGE)
        if n_units < LEAST_CROSSED:
            found = counted(n_units, "independent item")
            return Estimate(value, math.nan, math.nan, math.nan, f"{found}; {LEAST_CROSSED} are required")
        parts = self.variances()

        def ends(level: float) -> tuple[float, float]:
            half = math.sqrt(sum(float(stdtrit(df, (1 + level) / 2)) ** 2 * v for v, df in parts))
            return value - half, value + half

        return estimate_by_ends(value, math.sqrt(sum(v for v, _ in parts)), ends, confidence)


@dataclass(frozen=True, eq=False)
class JudgeRuns:
    """The labels of several judges of all items, under every prompt.

    Attributes
    ----------
    items : tuple of str
    table : (items, judges, prompts) float
        Labels as numbers, the mean over runs; of categories (items, judges, prompts, categories), their shares.
    categories : tuple of str or None
    """

    items: tuple[str, ...]
    judges: tuple[str, ...]
    prompts: tuple[str, ...]
    table: Floats
    unit: Ints
    categories: tuple[str, ...] | None
    exclusions: tuple[Exclusion, ...]

    @classmethod
    def of(
        cls, labels: Annotations, judges: Sequence[str], prompts: str | None, clusters: str | None, *, shares: bool
    ) -> JudgeRuns:
        """Read the items that every judge labelled under every prompt.

        Raises
        ------
        DesignError
            For several criteria, labels that are not numbers (unless ``shares``), and without items that are labelled
            in every cell.
        """
        mine = labels.where(annotator=list(judges))
        refuse_criteria(mine)
        refuse_conditions(mine, set() if prompts is None else {mine.column_name(prompts)}, "name it with prompts=...")
        scale = mine.scale
        frame = mine.labels.select("item", "annotator", "label")
        prompt = pl.lit("") if prompts is None else mine.column(prompts).cast(pl.String).fill_null("none")
        frame = frame.with_columns(prompt=prompt)
        names = natural(frame["prompt"].unique().to_list())
        if shares:
            seen = scale.categories or tuple(sorted(frame["label"].unique().to_list(), key=str))
            numbers = [(frame["label"] == one).cast(pl.Float64) for one in seen]
        elif scale.numeric:
            seen, numbers = None, [pl.Series(np.asarray(scale.values(frame["label"]), dtype=float))]
        else:
            raise DesignError("a mean requires numeric labels; use target='shares'", option="target")
        items = tuple(sorted(frame["item"].unique().to_list()))
        places = [
            {name: i for i, name in enumerate(known)} for known in (items, tuple(judges), names)
        ]  # fmt: skip
        row, judge, way = (
            frame[column].replace_strict(place, return_dtype=pl.Int64).to_numpy()
            for column, place in zip(("item", "annotator", "prompt"), places, strict=True)
        )
        shape = (len(items), len(judges), len(names))
        at = np.ravel_multi_index((row, judge, way), shape)
        number = np.bincount(at, minlength=math.prod(shape))
        with np.errstate(invalid="ignore"):
            each = [np.bincount(at, v.to_numpy(), math.prod(shape)) / number for v in numbers]
        values = np.stack([one.reshape(shape) for one in each], axis=3)
        there = number.reshape(shape) > 0
        keep = np.flatnonzero(there.all(axis=(1, 2)))
        words = None if seen is None else tuple(map(str, seen))
        # Dealt items: every judge has some alone, and more are of one judge than of all. Gaps of a judge are no design.
        alone = there.any(axis=2) & (there.any(axis=2).sum(axis=1, keepdims=True) == 1)
        dealt = len(judges) > 1 and alone.any(axis=0).all() and alone.sum() > len(keep) and there.any(axis=0).all()
        if dealt:
            return RotatedRuns(items, tuple(judges), names, values, _units(mine, items, clusters), words, ())
        if not len(keep):
            raise DesignError(
                "no item has a label of every judge under every prompt"
                if prompts is not None else f"no item has labels of all judges ({listing(judges)})"
            )  # fmt: skip
        lost = len(items) - len(keep)
        excluded = (Exclusion("item", lost, "without a label of every judge and prompt"),) if lost else ()
        kept = tuple(items[i] for i in keep.tolist())
        return cls(
            kept, tuple(judges), names, values[keep], _units(mine, kept, clusters), words, excluded
        )  # fmt: skip

    def quantities(self) -> list[tuple[str, Floats]]:
        """The name and (items, judges, prompts) values of each mean or share."""
        names = ("mean",) if self.categories is None else self.categories
        return [(name, self.table[..., k]) for k, name in enumerate(names)]

    def estimate(self, values: Floats, confidence: float, keep: Ints | None = None) -> Estimate:
        """Return the mean of (items, judges, prompts) values over some items."""
        rows = np.arange(len(values)) if keep is None else keep
        if not len(rows):
            return missing("no items")
        return CrossedLabels.over_items(values[rows], self.unit[rows]).estimate(confidence)

    def _by_source(self, rows: Ints, source: Mapping[str, str | None]) -> dict[str, list[int]]:
        """The positions of some outputs by their source."""
        by: dict[str, list[int]] = {}
        for i in rows.tolist():
            if (name := source.get(self.items[i])) is not None:
                by.setdefault(name, []).append(i)
        return by

    def difference(
        self, first: Ints, second: Ints, source: Mapping[str, str | None], confidence: float
    ) -> tuple[Estimate, int]:
        """Return the mean difference of two systems, paired by source, and the number of sources of both.

        Parameters
        ----------
        first, second : (items,) int
            Positions of the outputs of each system.
        source : mapping of item to source
        """
        sums = [self._by_source(rows, source) for rows in (first, second)]
        both = sorted(sums[0].keys() & sums[1].keys())
        if not both:
            return missing("no source has outputs of both systems"), 0
        values = self.table[..., 0]
        one, other = (np.stack([values[by[name]].mean(axis=0) for name in both]) for by in sums)
        unit = np.array([self.unit[sums[0][name][0]] for name in both])
        return CrossedLabels.over_items(one - other, unit).estimate(confidence), len(both)


class RotatedRuns(JudgeRuns):
    """Labels of items that were dealt to judges, or to judges and prompts, some of them to all; NaN without a label."""

    def estimate(self, values: Floats, confidence: float, keep: Ints | None = None) -> Estimate:
        """Return the mean of the means of judges and prompts over some items."""
        rows = np.arange(len(values)) if keep is None else keep
        return _mean_of_dealt(values[rows], self.unit[rows], confidence)

    def difference(
        self, first: Ints, second: Ints, source: Mapping[str, str | None], confidence: float
    ) -> tuple[Estimate, int]:
        """Return the mean difference of two systems within judges and prompts, over sources with outputs of both."""
        sums = [self._by_source(rows, source) for rows in (first, second)]
        values = self.table[..., 0]
        apart = {
            name: _means(values[sums[0][name]]) - _means(values[sums[1][name]])
            for name in sorted(sums[0].keys() & sums[1].keys())
        }
        both = [name for name, one in apart.items() if not np.isnan(one).all()]
        if not both:
            return missing("no source has outputs of both systems that one judge labelled"), 0
        at = np.array([self.unit[sums[0][name][0]] for name in both])
        return _mean_of_dealt(np.stack([apart[name] for name in both]), at, confidence), len(both)


def _mean_of_dealt(values: Floats, unit: Ints, confidence: float) -> Estimate:
    """The mean of (items, judges, prompts) values, by the judges that have any."""
    if values.shape[2] == 1:
        return mean_of_judges(values[..., 0], unit, confidence)
    return mean_of_cells(values, unit, confidence)


def mean_of_judges(values: Floats, unit: Ints, confidence: float) -> Estimate:
    """Return the mean of the judges' means, for judges like these.

    half² = t²(J − 1) s² / J + t²(U − 1) c v: s² is the variance of the judges' means, whose spread contains the judges'
    own errors and those of their items. What units (items, or clusters of items) of several judges add to all of them
    is not in that spread: c is the mean over pairs of judges of the sum over units of the product of their shares of
    the judges' labels, and v the variance of the means of those U units, of labels centred by judge.

    Parameters
    ----------
    values : (items, judges) float
        NaN without a label.
    unit : (items,) int
    """
    there = ~np.isnan(values)
    used = np.flatnonzero(there.any(axis=0))
    values, there = values[:, used], there[:, used]
    number, n = there.sum(axis=0), len(used)
    if not n:
        return missing("no items")
    means = _means(values)
    value = float(means.mean())
    if n < 2:
        return Estimate(value, math.nan, math.nan, math.nan, ONE_JUDGE)
    if (few := int(number.min())) < LEAST_CROSSED:
        why = f"a judge has {counted(few, 'item')}; {LEAST_CROSSED} are required"
        return Estimate(value, math.nan, math.nan, math.nan, why)
    common, df = _shared_variance(values - means, there, unit)
    parts = ((float(means.var(ddof=1)) / n, n - 1), (common, df))

    def ends(level: float) -> tuple[float, float]:
        half = math.sqrt(sum(float(stdtrit(df, (1 + level) / 2)) ** 2 * v for v, df in parts if v > 0))
        return value - half, value + half

    return estimate_by_ends(value, math.sqrt(sum(v for v, _ in parts)), ends, confidence)


def mean_of_cells(values: Floats, unit: Ints, confidence: float) -> Estimate:
    """Return the mean of the means of judges and prompts, for judges and prompts like these.

    half² = t² V_jp + t²(J − 1) max(V_j − V_jp, 0) + t²(P − 1) max(V_p − V_jp, 0) + t² c v: V_j, V_p and V_jp are the
    variances of the mean from judges, prompts and their product, by the means of the cells. If each item has one judge
    and one prompt, t² V_jp is at least t² W, with W that of items within cells. c v is what units with several judges
    add, as in `mean_of_judges`, over pairs of cells of different judges.

    Parameters
    ----------
    values : (items, judges, prompts) float
        NaN without a label.
    unit : (items,) int
    """
    there = ~np.isnan(values)
    used = np.flatnonzero(there.any(axis=(0, 2)))
    values, there = values[:, used], there[:, used]
    number, (n, j, p) = there.sum(axis=0), values.shape
    if not there.any():
        return missing("no items")
    means = _means(values)
    if j < 2:
        return Estimate(float(np.nanmean(means)), math.nan, math.nan, math.nan, ONE_JUDGE)
    if (few := int(number.min())) < LEAST_CROSSED:
        why = f"a judge has {counted(few, 'item')} under a prompt; {LEAST_CROSSED} are required"
        return Estimate(float(np.nanmean(means)), math.nan, math.nan, math.nan, why)
    value = float(means.mean())
    rest = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0) + value
    of_judges, of_prompts = (float(means.mean(axis=1 - a).var(ddof=1)) / means.shape[a] for a in (0, 1))
    both, df = float((rest**2).sum()) / ((j - 1) * (p - 1) * j * p), (j - 1) * (p - 1)
    centred = np.where(there, values - means, 0)
    within = float(((centred**2).sum(axis=0) / (number - 1) / number).sum()) / (j * p) ** 2
    alone = there.reshape(n, -1).sum(axis=1) == 1
    common, shared_df = _shared_variance(centred.reshape(n, -1), there.reshape(n, -1), unit, np.repeat(np.arange(j), p))
    parts = [(max(of_judges - both, 0), j - 1), (max(of_prompts - both, 0), p - 1), (common, shared_df)]

    def ends(level: float) -> tuple[float, float]:
        t = [float(stdtrit(one, (1 + level) / 2)) ** 2 for one in (df, max(n - j * p, 1))]
        cells = t[1] * within if alone.sum() * 2 > n and within > both else t[0] * both
        half = math.sqrt(cells + sum(float(stdtrit(df, (1 + level) / 2)) ** 2 * v for v, df in parts if v > 0))
        return value - half, value + half

    error = math.sqrt(max(both, within if alone.sum() * 2 > n else 0) + sum(v for v, _ in parts))
    return estimate_by_ends(value, error, ends, confidence)


def _means(values: Floats) -> Floats:
    """The mean of each column over the labels that are there; NaN without one."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, values, 0).sum(axis=0) / there.sum(axis=0))


def _shared_variance(centred: Floats, there: Bools, unit: Ints, judge: Ints | None = None) -> tuple[float, int]:
    """The variance that units of several judges add to the mean of all, with its degrees of freedom.

    Parameters
    ----------
    judge : (columns,) int, optional
        The judge of each column, if a judge has several.
    """
    _, code = np.unique(unit, return_inverse=True)
    shape = (int(code.max()) + 1, there.shape[1])
    counts, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, code, there.astype(float))
    np.add.at(sums, code, np.where(there, centred, 0))
    shares = counts / counts.sum(axis=0)
    products = shares.T @ shares
    judge = np.arange(shape[1]) if judge is None else judge
    common = float(products[judge[:, None] != judge].mean())
    of_judge = np.stack([(counts[:, judge == one] > 0).any(axis=1) for one in np.unique(judge)], axis=1)
    several = of_judge.sum(axis=1) > 1
    if common <= 0:
        return 0.0, 1
    if several.sum() < LEAST_CROSSED:
        several = np.ones(shape[0], dtype=bool)
    means = sums[several].sum(axis=1) / counts[several].sum(axis=1)
    return common * float(means.var(ddof=1)), int(several.sum()) - 1


def _units(table: Annotations, items: Sequence[str], clusters: str | None) -> Ints:
    """The cluster of each item, or the item."""
    if clusters is None:
        return np.arange(len(items))
    at = dict(zip(table.items["item"].to_list(), cluster_codes(table, clusters).tolist(), strict=True))
    return np.array([at[name] for name in items], dtype=np.int64)
