"""Consistency and preference strength of one rater's votes on one item.

A *rating set* contains one rater's votes on one item and one pair of systems, over several pairs of their outputs
(Ghosh, Srinivasan & Swayamdipta 2024). With r = −1 for one system, 1 for the other and 0 for a tie,

    consistency  c = 0 if the set contains −1 and 1, the mean of |r| otherwise      (equation 4)
    strength     the mean of r                                                       (equation 7)

Sets with only ties have c = 0, as inconsistent sets do; they are counted separately. A set with a single vote cannot be
inconsistent, so that it has no consistency.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.errors import DesignError, counted
from assay.estimation.intervals import (
    Estimate,
    Estimates,
    Transform,
    ends_of_difference,
    estimate_by_ends,
    missing,
    without_interval,
)
from assay.estimation.options import question
from assay.estimation.resampling import Mean, add_rows, estimate_sums
from assay.estimation.result import Exclusion, ResultOfRows, Run
from assay.estimation.statistic import Floats
from assay.preference import words
from assay.preference.votes import STRATA, Choose, SetMeasure, SetSettings, Votes, Who, strata, weight
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KINDS = ("one-sided", "mixed", "all ties")
"""Kinds of rating sets: no two opposite votes, opposite votes (inconsistent), or only ties."""

_SCALES: dict[SetMeasure, Transform] = {"consistency": "share", "strength": "fisher"}
"""Transformation in which each jackknife interval is symmetric, so that it stays in the range of the measure."""


@dataclass(frozen=True, eq=False)
class RatingSets(ResultOfRows):
    """Consistency, or preference strength, of rating sets, by rater and by a column of the items.

    Attributes
    ----------
    measure : {"consistency", "strength"}
    rows : polars.DataFrame
        One row per pair of systems, rater (humans together, each judge, or each annotator) and bin: ``first``,
        ``second`` (the pair), ``who``, ``bin``, ``estimate``, ``low``, ``high``, ``sets`` (their number; of consistency
        those with at least two votes), ``votes``, ``one_sided``, ``mixed``, ``all_ties`` (shares of the sets),
        ``unanimous`` (share of the sets with every vote for the same system: perfectly consistent), ``reason``.
        Strength is −1 if every vote is for the first of the
        pair, 1 if every vote is for the second.
    sets : polars.DataFrame
        One row per rating set: ``item``, ``annotator``, ``kind``, ``first``, ``second``, ``n``, ``consistency``
        (null for one vote), ``strength``, ``set`` (one of "one-sided", "mixed", "all ties"), and ``bin``.
    trend : mapping of who to Estimate
        The value in the highest bin minus that in the lowest, over all pairs, from the intervals of both bins.
    saving : mapping of who to Estimate
        The share of ratings saved, for the same number of consistent votes, if items are chosen by separability
        (``choose``); empty without ``choose``.
    run : Run
    """

    symbol: ClassVar[str] = "estimate"

    measure: SetMeasure
    rows: pl.DataFrame
    sets: pl.DataFrame
    trend: dict[str, Estimate]
    saving: dict[str, Estimate]
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def headlines(self) -> pl.DataFrame:
        """The main rows: each pair over all bins, each bin over all pairs."""
        several = self.rows["first"].null_count() > 0
        return self.rows.filter(pl.col("first").is_null() | pl.col("bin").is_null()) if several else self.rows

    def summary(self) -> str:
        """One line for each main row, then the trend over bins and the savings of each rater."""
        settings: SetSettings = self.run.settings  # type: ignore[assignment]
        lines = words.rating_set_lines(self.headlines, self.trend, self.saving, settings)
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    @property
    def values(self) -> pl.DataFrame:
        """Distribution of the values of rating sets, by rater and bin (figures 6, 7, 11, 12 of the paper).

        One row per pair of systems, rater, bin and value: ``first``, ``second``, ``who``, ``bin``, ``value``, ``sets``,
        ``share`` (of the sets of that pair, rater and bin).
        """
        judge = pl.col("kind") == "judge"
        settings: SetSettings = self.run.settings  # type: ignore[assignment]
        raters = set(settings.who)
        separate = pl.lit(value="annotators" in raters)
        who = pl.when(judge | separate).then("annotator").otherwise(pl.lit("humans"))
        included = (
            pl.when(judge)
            .then(bool(raters & {"judges", "annotators"}))
            .otherwise(bool(raters & {"humans", "annotators"}))
        )
        sets = self.sets.filter(included & pl.col(self.measure).is_not_null()).with_columns(
            who=who, value=pl.col(self.measure).round(9)
        )
        key = ["first", "second", "who", "bin"]
        found = sets.group_by(*key, "value").agg(sets=pl.len().cast(pl.Int64))
        found = found.with_columns(share=pl.col("sets") / pl.col("sets").sum().over(key))
        place = {name: i for i, name in enumerate(self.rows["bin"].drop_nulls().unique(maintain_order=True))}
        order = found["bin"].replace_strict(place, default=0) if place else pl.Series([0] * found.height)
        return found.with_columns(_order=order).sort("first", "second", "who", "_order", "value").drop("_order")

    def plot_values(self, ax: Axes | None = None) -> Axes:
        """Bar chart of the share of rating sets with each value, for each pair, rater and bin."""
        values = self.values
        key = ["first", "second", "who", "bin"]
        bars = values.select(key).unique(maintain_order=True).head(pictures.MOST_ROWS)
        several = self.sets.select("first", "second").n_unique() > 1
        ax = pictures.axes(ax, height=1.6 + 0.27 * max(bars.height, 2))
        levels = values["value"].unique().sort().to_list()
        left = np.zeros(bars.height)
        for value in levels:
            mine = bars.join(values.filter(pl.col("value") == value), on=key, how="left", nulls_equal=True,
                             maintain_order="left")  # fmt: skip
            share = mine["share"].fill_null(0.0).to_numpy()
            colour = pictures.shade(value, -1.0 if self.measure == "strength" else 0.0, 1.0)
            ax.barh(np.arange(bars.height)[::-1], share, left=left, color=colour, height=0.8, edgecolor="white",
                    linewidth=0.4, label=f"{value:.2g}")  # fmt: skip
            left += share
        names = [
            ", ".join([r["who"], *([f"{r['first']} & {r['second']}"] if several else []),
                       *([r["bin"]] if r["bin"] else [])])
            for r in bars.iter_rows(named=True)
        ]  # fmt: skip
        ax.set_yticks(np.arange(bars.height)[::-1], names)
        ax.set_xlim(0, 1)
        ax.set_xlabel(f"share of rating sets, by {words.MEASURES[self.measure]}")
        pictures.legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(levels), 6))
        return ax

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of the main rows; humans and judges in different colours."""
        rows = self.headlines.head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, height=1.2 + 0.27 * max(rows.height, 2))
        several = rows["first"].n_unique() > 1
        names = [
            ", ".join(
                [r["who"], *([f"{r['first']} & {r['second']}" if r["first"] else "all"] if several else []),
                 *([r["bin"]] if r["bin"] else [])]
            )
            for r in rows.iter_rows(named=True)
        ]  # fmt: skip
        judges = set(self.sets.filter(pl.col("kind") == "judge")["annotator"])
        colours = [pictures.JUDGE if who in judges else pictures.HUMAN for who in rows["who"]]
        pictures.forest_of_rows(ax, names, rows, colour=colours)
        ax.set_xlim((-0.02, 1.02) if self.measure == "consistency" else (-1.04, 1.04))
        ax.set_xlabel(f"mean {words.MEASURES[self.measure]}")
        return ax


@question(SetSettings)
def consistency(labels: Annotations | Chunks, settings: SetSettings) -> RatingSets:
    """Measure how consistently, or how strongly, each rater prefers one of two systems, item by item.

    Consistency is equation 4, preference strength equation 7. Strength is −1 if every vote is for the first system of
    the pair (in natural order of names), 1 if every vote is for the second.

    Parameters
    ----------
    labels : Annotations
        Votes: labels on the scale ``preference``, with columns ``first`` and ``second`` that name the systems. One
        criterion.

    Returns
    -------
    RatingSets

    Raises
    ------
    DesignError
        For labels that are not votes, or if no requested rater has voted.
    DataError
        For a vote without a system or on a system against itself, an unknown system or column.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({
    ...     "item": ["i"] * 3 + ["j"] * 3, "annotator": "ann", "repeat": [1, 2, 3] * 2,
    ...     "first": ["a", "b", "a", "a", "a", "a"], "second": ["b", "a", "b", "b", "b", "b"],
    ...     "label": [-1, 1, 0, -1, 1, 0],
    ... })
    >>> found = assay.consistency(assay.read(frame, scale="preference", repeat="repeat"), method="none")
    >>> found.sets["consistency"].round(3).to_list(), found.sets["set"].to_list()
    ([0.667, 0.0], ['one-sided', 'mixed'])

    On item i, *a* was preferred twice, in both orders, with one tie; on j, both were.
    """
    measure = settings.measure
    named = words.MEASURES[measure]
    votes = Votes.of(labels, settings, named, settings.by)
    whole = _sets(votes, settings.by)
    sets, bins = _bin(whole, settings)
    saving = _savings(whole, votes, settings)
    low_to_high = bins if settings.by is not None and votes.columns[settings.by].dtype.is_numeric() else []
    groups = list(_groups(sets, settings.who, bins))
    if not groups:
        raise DesignError(f"no votes by who={settings.who}")
    known = sets[measure].is_not_null().to_numpy()
    value = sets[measure].fill_null(0.0).to_numpy()
    inside = np.stack([g.inside & known for g in groups], axis=1)
    some = [i for i in range(len(groups)) if inside[:, i].any()]
    moments = np.concatenate([np.where(inside, value[:, None], 0.0), inside], axis=1).astype(float)
    units = votes.units(moments.shape[1])
    sums = add_rows(moments, units.of_item[sets["_item"].to_numpy()], units.n)
    # Each mean is resampled over its own items; the same resamples of both bins give the correlation of their errors.
    alone = [_group_mean(sums[:, [i, i + len(groups)]], settings, measure, units.name) for i in range(len(groups))]
    rows = [_row(g, sets.filter(pl.Series(g.inside & known))) | one.row() | {"reason": one.reason}
            for g, one in zip(groups, alone, strict=True)]  # fmt: skip
    trends: dict[str, Estimate] = {}
    how = ""
    if some:
        columns = [*some, *(i + len(groups) for i in some)]
        found = estimate_sums(
            Mean(), sums[:, columns], settings, n_items=votes.n_items, unit=units.name, transform=_SCALES[measure]
        )
        of_bins = {(g.who, g.bin): (alone[i], some.index(i)) for i, g in enumerate(groups)
                   if i in some and g.pair == groups[0].pair}  # fmt: skip
        trends, how = _trends(of_bins, found, low_to_high), found.describe_interval()
    how = words.trend_interval(how) if any(math.isfinite(one.low) for one in trends.values()) else how
    run = Run("consistency", settings, votes.data, votes.facts, how, (*votes.exclusions, *_single_votes(sets, measure)))
    return RatingSets(
        measure, pl.DataFrame(rows, schema=_SCHEMA), sets.drop("_item"), trends, saving, run, tuple(alone)
    )


def _group_mean(sums: Floats, settings: SetSettings, measure: SetMeasure, unit: str) -> Estimate:
    """The mean of one group, from the items with a set in it."""
    mine = sums[sums[:, 1] > 0]
    if not len(mine):
        return missing(words.SINGLE_VOTES)
    return estimate_sums(Mean(), mine, settings, unit=unit, transform=_SCALES[measure])[0]


def _savings(sets: pl.DataFrame, votes: Votes, settings: SetSettings) -> dict[str, Estimate]:
    """The share of ratings that each rater saves if items are chosen by separability."""
    if settings.choose is None:
        if "share" in settings.changed():
            raise DesignError("share=... is the share of items for choose=...; set choose=... as well")
        return {}
    if settings.by is None or not sets["_by"].dtype.is_numeric():
        raise DesignError(
            "choose=... chooses items by a numeric column; name it with by=..., such as by='separability'"
        )
    most = float(np.abs(sets["_by"].to_numpy()).max())
    if most > 1:
        raise DesignError(f"choose=... needs separability between -1 and 1; '{settings.by}' has {most:g}")
    statistic, units, found = Saving(), votes.units(4), {}
    for group in _groups(sets.with_columns(bin=pl.lit(None, pl.String)), settings.who, []):
        if group.who in found:
            continue
        mine = sets.filter(pl.Series(group.inside) & (pl.col("n") > 1))
        if not mine.height:
            found[group.who] = missing(words.SINGLE_VOTES)
            continue
        items = mine.select("_item", "first", "second", "_by").unique(maintain_order=True)
        chance = items.with_columns(chance=pl.Series(chances(items["_by"].to_numpy(), settings.share, settings.choose)))
        mine = mine.join(chance, on=["_item", "first", "second", "_by"], maintain_order="left")
        moments = statistic.moments(mine["consistency"].to_numpy(), mine["chance"].to_numpy())
        sums = add_rows(moments, units.of_item[mine["_item"].to_numpy()], units.n)
        sums = sums[sums[:, 1] > 0]
        found[group.who] = estimate_sums(statistic, sums, settings, unit=units.name)[0]
    return found


_SCHEMA = {
    "first": pl.String, "second": pl.String, "who": pl.String, "bin": pl.String, "estimate": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "sets": pl.Int64, "votes": pl.Int64, "one_sided": pl.Float64,
    "mixed": pl.Float64, "all_ties": pl.Float64, "unanimous": pl.Float64, "reason": pl.String,
}  # fmt: skip


def _sets(votes: Votes, by: str | None) -> pl.DataFrame:
    """One row per rating set, sorted; r is −1 for the pair's first system in natural order."""
    low, high = np.minimum(votes.first, votes.second), np.maximum(votes.first, votes.second)
    r = np.where(votes.first == low, votes.label, -votes.label).astype(float)
    name = pl.Series(votes.systems)
    column = {} if by is None else {"_by": votes.columns[by]}
    who = votes.annotators.select(pl.all().gather(votes.annotator))
    table = who.with_columns(
        item=votes.items.gather(votes.item), first=name.gather(low), second=name.gather(high), r=pl.Series(r),
        _item=pl.Series(votes.item), **column,
    )  # fmt: skip
    key = ["_item", "item", "annotator", "kind", "first", "second", *(["_by"] if by is not None else [])]
    mixed = (pl.col("r").min() < 0) & (pl.col("r").max() > 0)
    ties = (pl.col("r") == 0).all()
    return (
        table.group_by(key, maintain_order=True)
        .agg(
            n=pl.len().cast(pl.Int64),
            consistency=pl.when(pl.len() > 1).then(pl.when(mixed).then(0.0).otherwise(pl.col("r").abs().mean())),
            strength=pl.col("r").mean(),
            set=pl.when(mixed).then(pl.lit("mixed")).when(ties).then(pl.lit("all ties")).otherwise(pl.lit("one-sided")),
        )
        .sort("_item", "annotator", "first", "second")
    )  # fmt: skip


def _bin(sets: pl.DataFrame, settings: SetSettings) -> tuple[pl.DataFrame, list[str]]:
    """The sets with their bins, and the bins from low to high; no bins without ``by``."""
    if settings.by is None:
        return sets.with_columns(bin=pl.lit(None, pl.String)), []
    column = sets["_by"]
    if column.null_count():
        raise DesignError(
            f"{counted(column.null_count(), 'rating set')} (item '{sets.filter(column.is_null())['item'][0]}') has no "
            f"'{settings.by}'; fill it in, or exclude those items"
        )
    if not column.dtype.is_numeric():
        bins = [str(v) for v in natural(column.unique().to_list())]
        return sets.drop("_by").with_columns(bin=column.cast(pl.String)), bins
    x = column.cast(pl.Float64).to_numpy()
    if settings.binning == "width":
        edges = np.linspace(x.min(), x.max(), settings.bins + 1)
    else:
        edges = np.quantile(x, np.linspace(0, 1, settings.bins + 1))
    edges = np.unique(edges)
    names = [f"{settings.by} {a:.3g} to {b:.3g}" for a, b in itertools.pairwise(edges)]
    names = names or [f"{settings.by} {edges[0]:.3g}"]
    code = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(names) - 1)
    return sets.drop("_by").with_columns(bin=pl.Series(names).gather(code)), names


class _SetGroup(NamedTuple):
    """A group of rating sets: of a pair (or all pairs), of the humans or one rater, in a bin."""

    pair: tuple[str, str] | None
    who: str
    bin: str | None
    inside: np.ndarray


def _groups(sets: pl.DataFrame, who: Sequence[Who], bins: list[str]) -> Iterator[_SetGroup]:
    pairs: list[tuple[str, str] | None] = list(sets.select("first", "second").unique(maintain_order=True).rows())
    pairs = sorted(pairs) if len(pairs) == 1 else [None, *sorted(pairs)]  # type: ignore[type-var]
    raters: list[tuple[str, pl.Expr]] = []
    for kind in who:
        if kind == "humans":
            raters.append(("humans", pl.col("kind") == "human"))
        else:
            chosen = sets if kind == "annotators" else sets.filter(pl.col("kind") == "judge")
            raters += [(name, pl.col("annotator") == name) for name in natural(chosen["annotator"].unique().to_list())]
    for pair in pairs:
        of_pair = pl.lit(value=True) if pair is None else (pl.col("first") == pair[0]) & (pl.col("second") == pair[1])
        for name, is_rater in raters:
            for one in (None, *bins):
                in_bin = pl.lit(value=True) if one is None else pl.col("bin") == one
                inside = sets.select((of_pair & is_rater & in_bin).alias("in"))["in"].to_numpy()
                if inside.any():
                    yield _SetGroup(pair, name, one, inside)


def _row(group: _SetGroup, mine: pl.DataFrame) -> dict[str, object]:
    """The counts and shares of a group from the sets that count; NaN if there is none."""
    first, second = group.pair or (None, None)

    def share(of: pl.Series) -> float:
        return float(of.mean()) if mine.height else math.nan  # type: ignore[arg-type]

    shares = {k.replace("-", "_").replace(" ", "_"): share(mine["set"] == k) for k in KINDS}
    return {"first": first, "second": second, "who": group.who, "bin": group.bin, "sets": mine.height,
            "votes": int(mine["n"].sum()), **shares, "unanimous": share(mine["strength"].abs() == 1)}  # fmt: skip


def _trends(
    of_bins: dict[tuple[str, str | None], tuple[Estimate, int]], found: Estimates, bins: list[str]
) -> dict[str, Estimate]:
    """Highest bin minus lowest, for each rater over all pairs.

    A bin of equal width often has few items: from the ends of both intervals, which keep to the range of the measure.
    Intervals of the difference itself contained the true one in 53% of studies with two items in the highest bin.
    """
    if len(bins) < 2 or not found.resampled:
        return {}
    trends = {}
    for who in dict.fromkeys(who for who, _ in of_bins):
        top, bottom = of_bins.get((who, bins[-1])), of_bins.get((who, bins[0]))
        if top is not None and bottom is not None:
            trends[who] = _difference_of_bins(*top, *bottom, found)
    return trends


def _difference_of_bins(high: Estimate, i: int, low: Estimate, j: int, found: Estimates) -> Estimate:
    """The difference of two bins; ``i`` and ``j`` are their places in ``found``."""
    value = high.estimate - low.estimate
    for one in (high, low):
        if math.isnan(one.low):
            return without_interval(value, words.bin_without_interval(one.reason))
    x, y, error = *found.standard_error[[i, j]], found.differences([(i, j)]).standard_error[0]
    r = (x**2 + y**2 - error**2) / (2 * x * y) if x > 0 and y > 0 else 0.0
    r = min(max(float(r), -1.0), 1.0) if math.isfinite(r) else 0.0
    ends = ends_of_difference((high.estimate, high.interval), (low.estimate, low.interval), r)
    return estimate_by_ends(value, float(error), ends, found.confidence)


def _single_votes(sets: pl.DataFrame, measure: SetMeasure) -> tuple[Exclusion, ...]:
    """The sets without a consistency."""
    if measure != "consistency":
        return ()
    single = sets.filter(pl.col("n") == 1)
    kinds = {"humans": single.filter(kind="human").height, "judges": single.filter(kind="judge").height}
    of = ", ".join(f"{n:,} of {whose}" for whose, n in kinds.items() if n)
    found = Exclusion("rating set", single.height, f"one vote cannot be inconsistent ({of})")
    return (found,) if single.height else ()


# -- Ratings saved if items are chosen by separability ---------------------------------------------
# The yield of a rating set is its consistency c. With items drawn at random, the mean yield is Σ c / n. With items
# drawn by separability, with inclusion probabilities π, it is Σ π c / Σ π. The ratio of the two is the share of the
# ratings
# that gives the same number of consistent votes, and the rest is saved:
#
#     saving = 1 − (Σ c / n) / (Σ π c / Σ π)
#
# With weights w (equation 6), π = 1 − exp(−t w): the probability that an exponential time with rate w is below t; t is
# set so that the requested share of items is drawn. `assay.preference.votes.chosen_items` draws in this way.


@dataclass(frozen=True)
class Saving:
    """1 − mean(c) / (Σ π c / Σ π), from sums of c, 1, π c and π of each unit."""

    def moments(self, consistency: Floats, chance: Floats) -> Floats:
        """(sets, 4)."""
        return np.stack([consistency, np.ones(len(consistency)), chance * consistency, chance], axis=1)

    def value(self, sums: Floats) -> Floats:
        """NaN if no vote on the chosen items is consistent."""
        c, n, chosen, chance = (sums[..., [i]] for i in range(4))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = 1 - (c / n) / (chosen / chance)
        return np.asarray(np.where(np.isfinite(found), found, np.nan))


def chances(separability: Floats, share: float, choose: Choose) -> Floats:
    """Inclusion probability of each item if a share is chosen by separability: (items,), with mean ``share``."""
    n = len(separability)
    wanted = share * n
    if choose == "top":
        return _first(-separability, wanted)
    if choose == "stratified":
        group = strata(separability)
        sizes = np.bincount(group, minlength=STRATA).astype(float)
        return np.asarray((_even(sizes, wanted) / np.maximum(sizes, 1))[group])
    w, low, high = weight(separability), 0.0, 1.0
    while (1 - np.exp(-high * w)).sum() < wanted and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-middle * w)).sum() < wanted else (low, middle)
    return np.asarray(1 - np.exp(-high * w))


def _first(place: Floats, wanted: float) -> Floats:
    """One for the first items up to the number wanted; tied items share the remainder."""
    found = np.zeros(len(place))
    for value in np.unique(place):
        equal = place == value
        found[equal] = min(1.0, max(0.0, wanted) / equal.sum())
        wanted -= equal.sum()
    return found


def _even(sizes: Floats, wanted: float) -> Floats:
    """Equal numbers from each group; a shortfall of small groups comes from the others."""
    taken = np.zeros(len(sizes))
    while wanted > 1e-9 and (taken < sizes).any():
        available = taken < sizes
        more = np.where(available, np.minimum(sizes - taken, wanted / available.sum()), 0.0)
        taken += more
        wanted -= more.sum()
    return taken
