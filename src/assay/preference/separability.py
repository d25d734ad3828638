"""Separability of the outputs of two systems, item by item.

With K outputs of each system for an item and a similarity s (Ghosh, Srinivasan & Swayamdipta 2024),

    alignment     A(a, b) = mean of s over all pairs of an output of a and one of b    (equation 2)
    separability  δ = max(A(a, a), A(b, b)) − A(a, b)                                  (equation 3)

A(a, a) excludes each output paired with itself, and alignments are scaled to 0–1 by the smallest and largest of the
whole study (footnote 4). If δ is near 0, outputs of different systems are as similar as outputs of one system: no rater
can prefer one system consistently.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.data.ratings import cluster_codes
from assay.data.scales import Text
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, describe_together
from assay.estimation.options import question
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.preference import words
from assay.preference.votes import (
    OutputSettings,
    PairsSettings,
    SeparabilitySettings,
    Span,
    StabilitySettings,
    SweepSettings,
    chosen_items,
    pairs_of,
)
from assay.reporting import pictures
from assay.similarity.protocol import Similarity
from assay.similarity.registry import as_similarity, signed_similarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Separability(ResultOfRows):
    """Separability of the outputs of two systems, item by item.

    Attributes
    ----------
    items : polars.DataFrame
        One row per item and pair of systems: ``item``, ``first``, ``second``, ``separability`` (−1 to 1),
        ``self_first``, ``self_second``, ``cross`` (alignments), ``k_first``, ``k_second`` (outputs), and ``group``, the
        value of ``by``.
    rows : polars.DataFrame
        One row per pair (and value of ``by``): ``first``, ``second``, ``group``, ``estimate`` (mean separability),
        ``low``, ``high``, ``n`` (items), ``by_chance`` (the mean if each item's outputs are exchanged at random between
        the systems: the larger of two alignments makes it positive with few outputs), ``p`` (one-sided, of the
        exchange), mean alignments, ``reason``.
    run : Run
    """

    symbol: ClassVar[str] = "separability"

    items: pl.DataFrame
    rows: pl.DataFrame
    run: Run
    similarities: _OutputSimilarities = field(repr=False, metadata={"json": False})
    outputs: pl.DataFrame = field(repr=False, metadata={"json": False})
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def groups(self) -> tuple[str, ...]:
        """The values of ``by``; empty without it."""
        return () if "group" not in self.items.columns else natural(self.items["group"].unique().drop_nulls().to_list())

    def of(self, first: str, second: str) -> pl.DataFrame:
        """Return ``item``, ``first``, ``second`` and ``separability`` of one pair, as in ``items``.

        ``assay.read(votes, items=...)`` adds it to the votes on this pair.
        """
        pairs = self.items.select("first", "second").unique(maintain_order=True).rows()
        wanted = next((pair for pair in pairs if set(pair) == {first, second}), None)
        if wanted is None:
            known = [" and ".join(pair) for pair in pairs]
            raise DataError(unknown("pair", f"{first} and {second}", known, "the systems compared"))
        mine = self.items.filter((pl.col("first") == wanted[0]) & (pl.col("second") == wanted[1]))
        return mine.select("item", "first", "second", "separability")

    @question(PairsSettings)
    def pairs(self, settings: PairsSettings) -> pl.DataFrame:
        """Pairs of outputs for raters to compare, from items chosen by separability.

        Returns
        -------
        polars.DataFrame
            One row per pair: ``item`` (its name), ``pair_of`` (the item of the outputs), ``pair`` (1 to n), ``first``,
            ``second`` (the systems), ``separability``, ``first_output``, ``second_output`` (numbers of the outputs),
            ``first_text``, ``second_text``. ``assay.read(labels, items=pairs)`` adds these columns to the raters'
            labels. Shuffle the sides before you show them.
        """
        chosen = chosen_items(self.items, settings.n_items, settings.choose, settings.seed)
        drawn = pairs_of(self.outputs, chosen, settings.n, settings.seed)
        sides = (pl.concat_str(c, pl.lit(" "), pl.col(f"{c}_output").cast(pl.String)) for c in ("first", "second"))
        return drawn.select(pl.concat_str("pair_of", *sides, separator=" | ").alias("item"), pl.all())

    @question(StabilitySettings)
    def stability(self, settings: StabilitySettings) -> pl.DataFrame:
        """Compare separability with that from fewer or other outputs (figure 5 of the paper).

        Returns
        -------
        polars.DataFrame
            One row per setting: ``varied`` ("k", "c" or "others"), ``value``, ``correlation`` over items (Pearson, mean
            over draws), ``mean_difference`` (absolute), ``mean`` separability, ``items`` (items and pairs of systems).
        """
        rng = np.random.default_rng(settings.seed)
        for name, few, least in (("k", settings.k, 2), ("c", settings.c, 1)):
            if any(many < least for many in few):
                why = ": the similarity within a system needs two outputs" if name == "k" else ""
                raise DesignError(f"{name} must be {least} or more{why}")
        whole = self.items["separability"].to_numpy()
        ways = [("k", many, None) for many in settings.k] + [("c", None, many) for many in settings.c]
        rows = []
        for name, outputs, crossed in ways:
            drawn = np.stack([self.similarities.drawn(outputs, crossed, rng) for _ in range(settings.n_draws)])
            rows.append({"varied": name, "value": str(outputs or crossed), **_agreement(drawn, whole)})
        for name, other in (settings.others or {}).items():
            both = self.items.join(other.items, on=["item", "first", "second"])
            if not both.height:
                raise DataError(f"others['{name}'] has no item and pair of systems in common with this one")
            mine, theirs = (both[column].to_numpy() for column in ("separability", "separability_right"))
            rows.append({"varied": "others", "value": name, **_agreement(theirs[None], mine)})
        return pl.DataFrame(rows)

    def scenarios(self, high: float = 0.5) -> pl.DataFrame:
        """The share of items in each scenario of figure 2 of the paper.

        Parameters
        ----------
        high : float
            Alignments above this value are high, on the scale of the result: by default the middle of 0–1, since the
            paper states no limit.

        Returns
        -------
        polars.DataFrame
            One row per pair of systems and scenario: ``first``, ``second``, ``scenario`` (1: cross-alignment low and
            both self-alignments high; 2: all low; 3: cross-alignment low and one self-alignment high; 4: all high;
            "other": cross-alignment high and a self-alignment low), ``items``, ``share`` and mean ``separability``.
        """
        mine, cross = (pl.col(c) > high for c in ("self_first", "cross"))
        both, either = mine & (pl.col("self_second") > high), mine | (pl.col("self_second") > high)
        low = pl.when(both).then(pl.lit("1")).when(either).then(pl.lit("3")).otherwise(pl.lit("2"))
        named = pl.when(~cross).then(low).when(both).then(pl.lit("4")).otherwise(pl.lit("other")).alias("scenario")
        counts = self.items.group_by("first", "second", named, maintain_order=True).agg(
            pl.len().alias("items"), pl.col("separability").mean()
        )
        share = (pl.col("items") / pl.col("items").sum().over("first", "second")).alias("share")
        columns = ("first", "second", "scenario", "items", "share", "separability")
        return counts.with_columns(share).select(columns).sort("first", "second", "scenario", maintain_order=True)

    def summary(self) -> str:
        """One line for each pair of systems, and value of ``by``."""
        return "\n".join([*words.separability_lines(self.rows), *self.run.closing(intervals=True)])

    def plot_groups(self, ax: Axes | None = None) -> Axes:
        """Mean separability with its interval for every value of ``by`` and pair of systems, and the middle 50% and 90%
        of the items."""
        rows = self.rows.filter(pl.col("group").is_not_null()) if self.groups else self.rows
        rows = rows.head(pictures.MOST_ROWS)
        several = rows.select("first", "second").n_unique() > 1
        names, values = [], []
        for row in rows.iter_rows(named=True):
            pair = f"{row['first']} & {row['second']}"
            names.append(", ".join(filter(None, (row["group"], pair if several or not row["group"] else None))))
            mine = (pl.col("first") == row["first"]) & (pl.col("second") == row["second"])
            mine = mine if row["group"] is None else mine & (pl.col("group") == row["group"])
            values.append(self.items.filter(mine)["separability"].to_numpy())
        ax = pictures.axes(ax, height=1.3 + 0.3 * max(len(names), 2))
        return _strips(ax, names, values, rows)

    def plot(self, ax: Axes | None = None, *, group: str | None = None) -> Axes:
        """Histogram of separability over items, a line for each pair (figures 3, 4), also of one value of ``by``."""
        ax = pictures.axes(ax)
        values = self.items["separability"]
        edges = np.linspace(float(values.min()), float(values.max()) + 1e-9, 16)  # type: ignore[arg-type]
        shown = self.items if group is None else self.items.filter(pl.col("group") == group)
        if not shown.height:
            raise DataError(unknown("group", group, self.groups, "the groups"))
        pairs = shown.partition_by("first", "second", maintain_order=True)
        for i, mine in enumerate(pairs[: len(pictures.PALETTE)]):
            counts = np.histogram(mine["separability"].to_numpy(), edges)[0]
            ax.stairs(counts, edges, color=pictures.PALETTE[i], linewidth=1.6,
                      label=f"{mine['first'][0]}, {mine['second'][0]}")  # fmt: skip
        if len(pairs) > len(pictures.PALETTE):
            pictures.title(ax, f"first {len(pictures.PALETTE)} of {len(pairs)} pairs of systems", size=8)
        ax.set_xlabel("separability")
        ax.set_ylabel("items")
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return ax


def _strips(ax: Axes, names: Sequence[str], values: Sequence[Floats], rows: pl.DataFrame) -> Axes:
    """One row per name: the middle 90% and 50% of its items, and its mean with the interval."""
    ax.use_sticky_edges = False
    for y, mine in zip(range(len(names))[::-1], values, strict=True):
        for low, high, height in ((0.05, 0.95, 0.16), (0.25, 0.75, 0.44)):
            left, right = np.quantile(mine, [low, high])
            ax.barh(y, right - left, left=left, height=height, color=pictures.HUMAN, alpha=0.25, linewidth=0)
    pictures.forest_of_rows(ax, names, rows)
    ax.set_xlabel("separability")
    return ax


BENCHMARK = "benchmark"
"""The item column with the name of the table of an item."""


def combine_benchmarks(tables: Mapping[str, Annotations]) -> Annotations:
    """Outputs of several benchmarks as one table: the benchmark is a prefix of the item names, and an item column.

    Alignments are scaled to 0–1 over all of them, so that benchmarks are comparable.
    """
    if not tables:
        raise DesignError("separability of several benchmarks needs one table of outputs for each; got none")
    labels, items = [], []
    keys = ("annotator", "repeat", "label")
    for name, table in tables.items():
        if len(table.criteria) > 1 or table.scale.kind != "text":
            raise DesignError(f"'{name}' has no outputs (labels on the scale text); read it with scale='text'")
        if BENCHMARK in table.items.columns and len(tables) > 1:
            raise DesignError(f"the items of '{name}' already have a column '{BENCHMARK}'; rename it")
        before = pl.concat_str(pl.lit(f"{name}: "), pl.col("item").cast(pl.String)).alias("item")
        there = [c for c in (*keys, *table.conditions) if c in table.labels.columns]
        labels.append(table.labels.select(before, *there))
        items.append(table.items.with_columns(before, pl.lit(name).alias(BENCHMARK)))
    known = dict.fromkeys(c for table in tables.values() for c in table.conditions)
    systems = dict.fromkeys(who for table in tables.values() for who in (*table.humans, *table.judges))
    judges = {who for table in tables.values() for who in table.judges}
    return Annotations.from_frame(
        pl.concat(labels, how="diagonal_relaxed"), judges=[w for w in systems if w in judges],
        humans=[w for w in systems if w not in judges], scale=Text(), conditions=list(known),
        items=pl.concat(items, how="diagonal_relaxed"), repeat="repeat" if "repeat" in labels[0].columns else None,
    )  # fmt: skip


@question(SeparabilitySettings)
def separability(
    labels: Annotations | Chunks | Mapping[str, Annotations], settings: SeparabilitySettings
) -> Separability:
    """Measure how separable the outputs of two systems are, item by item (equations 1 to 3).

    Parameters
    ----------
    labels : Annotations or mapping of benchmark to Annotations
        Outputs: labels on the scale ``text``; an annotator is a system, a repeat one of its outputs for an item. Given
        several benchmarks by name, each is a value of ``by="benchmark"``.

    Returns
    -------
    Separability

    Raises
    ------
    DesignError
        For labels that are not text, fewer than two systems, or a similarity that is not from −1 to 1 and symmetric.
    DataError
        For a system with one output of an item. Items with outputs of only one of two systems are excluded and counted;
        empty outputs are excluded when labels are read.

    Examples
    --------
    >>> import assay, polars as pl
    >>> cat, dog = "the cat sat", "a dog ran"
    >>> rows = [("i", "m1", cat), ("i", "m1", cat), ("i", "m2", dog), ("i", "m2", dog),
    ...         ("j", "m1", cat), ("j", "m1", dog), ("j", "m2", cat), ("j", "m2", dog)]
    >>> frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    >>> frame = frame.with_columns(repeat=pl.int_range(1, pl.len() + 1).over("item", "annotator"))
    >>> labels = assay.read(frame, scale="text", repeat="repeat", humans=["m1", "m2"])
    >>> assay.separability(labels, method="none").items["separability"].to_list()
    [1.0, -0.5]

    On item i, each system always gives the same output, and the two systems differ. On item j, both systems give both
    outputs, so that outputs of different systems are more similar than outputs of one system.
    """
    if isinstance(labels, Mapping):
        labels = combine_benchmarks(labels)
        settings = settings if settings.by is not None else replace(settings, by=BENCHMARK)
    labels = labels.in_memory("separability")
    similarity = as_similarity(settings.similarity)
    # A signature names a model by its digest, and any other similarity by its name, however it was given.
    settings = replace(settings, similarity=signed_similarity(similarity))
    table, gone = _outputs(labels, settings)
    similarity = similarity.fitted(table["label"].to_list())
    similarities = _OutputSimilarities.of(table, similarity, settings.span)
    items = similarities.frame()
    if not items.height:
        raise DesignError("no item has outputs of two systems")
    columns = [c for c in (settings.by, settings.clusters) if c is not None]
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *columns))
    items = _add_group(labels, items, settings)
    rows, estimates, how = _rows(labels, items, similarities, settings)
    facts = {"items": items["item"].n_unique(), "systems": table["annotator"].n_unique(), "outputs": table.height}
    notes = (similarity.about,) if similarity.about else ()
    run = Run("separability", settings, data, facts, how, (*gone, *similarities.excluded), (*_uneven(items), *notes))
    return Separability(items, rows, run, similarities, table, tuple(estimates))


# -- K, C and temperature ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SeparabilitySweep(ResultOfRows):
    """Dependence of separability on the numbers of outputs (K) and comparisons (C), and on a condition.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per setting: ``varied`` ("all", "k", "c", or the condition), ``value``, ``estimate`` (mean
        separability), ``low``, ``high``, ``change`` (of the mean, from that of all outputs), ``change_low``,
        ``change_high``, ``correlation`` (Pearson, over items and pairs of systems, mean over draws),
        ``mean_difference`` (absolute, per item), ``sd`` (over items), ``n`` (items and pairs), ``reason``.
    items : polars.DataFrame
        ``varied``, ``value``, ``item``, ``first``, ``second``, ``separability`` (mean over draws).
    run : Run
    """

    symbol: ClassVar[str] = "separability"

    rows: pl.DataFrame
    items: pl.DataFrame
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    def summary(self) -> str:
        """Mean separability of all outputs, then one line for each setting."""
        return "\n".join([*words.sweep_lines(self.rows), *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Mean with its interval for each setting, and the middle 50% and 90% of the items (figure 5)."""
        rows = self.rows.head(pictures.MOST_ROWS)
        names, values = [], []
        for row in rows.iter_rows(named=True):
            name = words.SWEPT.get(row["varied"], row["varied"])
            names.append("all outputs" if row["varied"] == "all" else f"{name} = {row['value']}")
            mine = (pl.col("varied") == row["varied"]) & (pl.col("value") == row["value"])
            values.append(self.items.filter(mine)["separability"].to_numpy())
        ax = _strips(pictures.axes(ax, height=1.3 + 0.3 * max(len(names), 2)), names, values, rows)
        if rows["estimate"][0] is not None:
            ax.axvline(rows["estimate"][0], color=pictures.MUTED, linewidth=0.8, linestyle=":", zorder=0)
        return ax


DEFAULT_NUMBERS = 5
"""How many numbers of comparisons are used by default."""


@question(SweepSettings)
def separability_sweep(labels: Annotations | Chunks, settings: SweepSettings) -> SeparabilitySweep:
    """Measure how separability depends on K, C and a condition such as the temperature (the ablations of figure 5).

    Parameters
    ----------
    labels : Annotations
        Outputs, as for `separability`; a condition identifies outputs at several temperatures. With ``span="study"``
        all settings use the scale of all outputs (at the baseline), so that means are comparable: with few outputs
        alone, the smallest and the largest alignment would be further apart.

    Returns
    -------
    SeparabilitySweep

    Raises
    ------
    DesignError, DataError
        As in `separability`; for a number of outputs that no item has, an unknown condition or baseline.

    Examples
    --------
    >>> import assay, polars as pl
    >>> cat, dog = "the cat sat", "a dog ran"
    >>> rows = [("i", "m1", cat), ("i", "m1", cat), ("i", "m2", dog), ("i", "m2", dog),
    ...         ("j", "m1", cat), ("j", "m1", dog), ("j", "m2", cat), ("j", "m2", dog)]
    >>> frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    >>> frame = frame.with_columns(repeat=pl.int_range(1, pl.len() + 1).over("item", "annotator"))
    >>> labels = assay.read(frame, scale="text", repeat="repeat", humans=["m1", "m2"])
    >>> found = assay.separability_sweep(labels, method="none")
    >>> found.table.select("value", "estimate").row(0)
    ('K = 2, C = 4', 0.25)
    """
    labels = labels.in_memory("a sweep of separability")
    tables = _split_by_condition(labels, settings)
    own = {f.name: getattr(settings, f.name) for f in fields(OutputSettings)}
    base, *others = [(value, separability(table, **own)) for value, table in tables]
    whole = base[1]
    least = int(whole.items.select(pl.min_horizontal("k_first", "k_second").min()).item())
    most = int((whole.items["k_first"] * whole.items["k_second"]).min())  # type: ignore[arg-type]
    k = range(2, least) if settings.k is None else settings.k
    steps = np.unique(np.linspace(most / DEFAULT_NUMBERS, most, DEFAULT_NUMBERS).round().astype(int))
    c = [int(one) for one in steps if 1 <= one < most] if settings.c is None else settings.c
    for name, few, low, high in (("k", k, 2, least), ("c", c, 1, most)):
        for many in few:
            if not low <= many <= high:
                raise DesignError(f"{name}={many} must be from {low} to {high}, the smallest number over all items")
    keys = ["item", "first", "second"]
    rng, limits = np.random.default_rng(settings.seed), whole.similarities.limits()
    full = "" if base[0] is None else f"{settings.condition} = {base[0]}, "
    ways: list[tuple[str, str, pl.DataFrame, Floats | None]] = [
        ("all", f"{full}K = {least}, C = {most}", whole.items.select(*keys, "separability"), None)
    ]
    for name, few in (("k", k), ("c", c)):
        for many in few:
            drawn = np.stack([
                whole.similarities.drawn(many if name == "k" else None, many if name == "c" else None, rng, limits)
                for _ in range(settings.n_draws)
            ])  # fmt: skip
            mean = whole.items.select(*keys).with_columns(separability=pl.Series(drawn.mean(axis=0)))
            ways.append((name, str(many), mean, drawn))
    ways += [
        (str(settings.condition), str(value), one.similarities.frame(limits=limits).select(*keys, "separability"), None)
        for value, one in others
    ]
    rows, estimates, items = [], [], []
    for name, value, mine, draws in ways:
        row, found = _swept(labels, whole.items, mine, draws, settings)
        rows.append({"varied": name, "value": value, **row})
        estimates.append(found)
        items.append(mine.select(pl.lit(name).alias("varied"), pl.lit(value).alias("value"), *keys, "separability"))
    facts = {**whole.run.facts, "conditions": len(tables) if settings.condition is not None else None}
    columns = [] if settings.clusters is None else [settings.clusters]
    run = Run(
        "separability-sweep", settings, fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *columns)),
        facts, whole.run.interval, whole.run.exclusions, whole.run.notes,
    )  # fmt: skip
    return SeparabilitySweep(pl.DataFrame(rows, schema_overrides=_SWEPT), pl.concat(items), run, tuple(estimates))


_SWEPT = {
    **dict.fromkeys(("estimate", "low", "high", "change", "change_low", "change_high"), pl.Float64),
    "correlation": pl.Float64, "mean_difference": pl.Float64, "sd": pl.Float64, "reason": pl.String,
}  # fmt: skip


def _split_by_condition(labels: Annotations, settings: SweepSettings) -> list[tuple[object, Annotations]]:
    """The outputs under each value of the condition, those of the baseline first."""
    if settings.condition is None:
        if settings.baseline is not None:
            raise DesignError("baseline=... needs a condition; name its column with condition=...")
        return [(None, labels)]
    values = labels.values_of(settings.condition)
    named = {str(value): value for value in values}
    first = str(values[0] if settings.baseline is None else settings.baseline)
    if first not in named:
        raise DesignError(unknown("baseline", first, list(named), f"'{settings.condition}'"))
    ordered = [named[first], *(v for v in values if str(v) != first)]
    return [(value, labels.where(**{settings.condition: value})) for value in ordered]


def _swept(
    labels: Annotations, whole: pl.DataFrame, mine: pl.DataFrame, draws: Floats | None, settings: SweepSettings
) -> tuple[dict[str, object], Estimate]:
    """Mean separability of one setting, and its change from all outputs on the items of both."""
    codes = None if settings.clusters is None else pl.Series(cluster_codes(labels, settings.clusters))
    found = _mean_separability(mine, labels, codes, settings)[0]
    both = whole.join(mine, on=["item", "first", "second"], how="inner", maintain_order="left")
    if not both.height:
        raise DataError(f"the outputs by '{settings.condition}' have no item and pair of systems in common")
    change = both.with_columns(separability=pl.col("separability_right") - pl.col("separability"))
    difference = _mean_separability(change, labels, codes, settings)[0]
    one, other = (both[c].to_numpy() for c in ("separability", "separability_right"))
    near = _agreement(other[None] if draws is None else draws, one)
    return {
        **found.row(), "change": difference.estimate, "change_low": difference.low, "change_high": difference.high,
        "correlation": near["correlation"] if near["correlation"] == near["correlation"] else None,
        "mean_difference": near["mean_difference"],
        "sd": float(np.std(mine["separability"].to_numpy(), ddof=1)) if mine.height > 1 else None,
        "n": mine.height, "reason": found.reason,
    }, found  # fmt: skip


def check_similarity(given: Any) -> None:
    """Raise if a similarity is unknown, or its library is not installed."""
    as_similarity(given)("one text", "another")


def _outputs(labels: Annotations, settings: SeparabilitySettings) -> tuple[pl.DataFrame, tuple[Exclusion, ...]]:
    """The outputs of the systems, sorted; a single output of a system and item is an error."""
    if len(labels.criteria) > 1 or labels.scale.kind != "text":
        raise DesignError(
            "separability needs outputs: labels on the scale text, on one criterion, with systems as annotators; read "
            "them with scale='text', or give the folder of the study that has them"
        )
    systems = natural(labels.labels["annotator"].unique().to_list())
    for name in labels.conditions:
        values = labels.values_of(name)
        if len(values) > 1:
            raise DesignError(
                f"the outputs have several values of '{name}' ({listing([str(v) for v in values], 4)}); choose one "
                f"with labels.where({name}={values[0]!r}), and compare them with stability(others=...)"
            )
    table, gone = labels.labels, ()
    if settings.systems is not None:
        for name in settings.systems:
            if name not in systems:
                raise DataError(unknown("system", name, systems, "the outputs"))
        kept = table.filter(pl.col("annotator").is_in(settings.systems))
        left = table.height - kept.height
        gone = (Exclusion("output", left, "of a system that systems=... does not name"),) if left else ()  # type: ignore[assignment]
        table, systems = kept, tuple(settings.systems)
    if len(set(systems)) < 2:
        raise DesignError(f"separability needs at least two systems; got {listing(systems) or 'none'}")
    number = table.group_by("item", "annotator", maintain_order=True).len()
    single = number.filter(pl.col("len") < 2)
    if single.height:
        row = single.row(0, named=True)
        raise DataError(
            f"'{row['annotator']}' has one output of item '{row['item']}' ({counted(single.height, 'such item')} in "
            "total); separability needs at least two, numbered by repeat"
        )
    keys = [c for c in ("item", "annotator", "repeat") if c in table.columns]
    return table.sort(*keys, "label"), gone


EXCHANGES = 999
"""Random exchanges of the outputs of two systems."""


@dataclass(frozen=True, eq=False)
class _OutputSimilarities:
    """Similarities of all outputs of each item, and their systems."""

    names: tuple[str, ...]
    systems: tuple[str, ...]
    scores: tuple[Floats, ...]
    owner: tuple[Ints, ...]
    span: Span
    excluded: tuple[Exclusion, ...]

    @classmethod
    def of(cls, table: pl.DataFrame, similarity: Similarity, span: Span) -> _OutputSimilarities:
        """Score every two outputs of an item once, for all items in one call."""
        systems = tuple(natural(table["annotator"].unique().to_list()))
        place = {s: i for i, s in enumerate(systems)}
        names, texts, owner = [], [], []
        alone: list[str] = []
        for part in table.partition_by("item", maintain_order=True):
            who = part["annotator"].replace_strict(place).to_numpy().astype(np.int64)
            if len(set(who.tolist())) < 2:
                alone.append(part["item"][0])
                continue
            names.append(part["item"][0])
            texts.append(part["label"].to_list())
            owner.append(who)
        scores = similarity.matrices(texts)
        gone = (Exclusion("item", len(alone), "outputs of only one system", tuple(alone)),) if alone else ()
        return cls(tuple(names), systems, tuple(scores), tuple(owner), span, gone)

    def frame(
        self, c: int | None = None, rng: np.random.Generator | None = None, limits: tuple[float, float] | None = None
    ) -> pl.DataFrame:
        """Separability of each item and pair; cross-alignment from c comparisons drawn at random, if given.

        Alignments are scaled to 0–1 by their smallest and largest values, or by ``limits``.
        """
        rows = [
            {"item": name, "first": self.systems[a], "second": self.systems[b],
             "self_first": _alignment(s, w == a, w == a), "self_second": _alignment(s, w == b, w == b),
             "cross": _cross_alignment(s[np.ix_(w == a, w == b)], c, rng),
             "k_first": int((w == a).sum()), "k_second": int((w == b).sum())}
            for name, s, w in zip(self.names, self.scores, self.owner, strict=True)
            for a, b in itertools.combinations(sorted(set(w.tolist())), 2)
        ]  # fmt: skip
        found = pl.DataFrame(rows, schema=_ITEMS)
        if self.span == "study" and found.height:
            low, high = self._span(found) if limits is None else limits
            found = found.with_columns((pl.col(c) - low) / (high - low) for c in _ALIGNMENTS)
        delta = pl.max_horizontal("self_first", "self_second") - pl.col("cross")
        return found.with_columns(separability=delta).select(
            "item", "first", "second", "separability", *_ALIGNMENTS, "k_first", "k_second"
        )

    def _span(self, found: pl.DataFrame) -> tuple[float, float]:
        values = found.select(*_ALIGNMENTS).to_numpy()
        low, high = float(values.min()), float(values.max())
        if high - low < 1e-12:
            raise DesignError("all alignments are equal and cannot be scaled to 0–1; use span='none'")
        return low, high

    def limits(self) -> tuple[float, float] | None:
        """The smallest and the largest alignment; None if alignments are not scaled."""
        return self._span(replace(self, span="none").frame()) if self.span == "study" else None

    def exchanged(self, first: str, second: str, seed: int) -> Floats:
        """Separability of each item of a pair, with its outputs exchanged at random, unscaled: (items, `EXCHANGES`)."""
        a, b = (self.systems.index(name) for name in (first, second))
        rng, found = np.random.default_rng([seed, a, b]), []
        for s, w in zip(self.scores, self.owner, strict=True):
            mine = np.flatnonzero((w == a) | (w == b))
            n, k = len(mine), int((w[mine] == a).sum())
            if not 0 < k < n:
                continue
            part = s[np.ix_(mine, mine)] - np.diag(np.diagonal(s)[mine])
            here = np.argsort(rng.random((EXCHANGES, n)), axis=1) < k
            to = here @ part
            own = (to * here).sum(axis=1) / (k * (k - 1))
            other = (~here @ part * ~here).sum(axis=1) / ((n - k) * (n - k - 1))
            found.append(np.maximum(own, other) - (to * ~here).sum(axis=1) / (k * (n - k)))
        return np.stack(found)

    def drawn(
        self, k: int | None, c: int | None, rng: np.random.Generator, limits: tuple[float, float] | None = None
    ) -> Floats:
        """Separability of each item and pair from k outputs of each system, or c comparisons, drawn at random."""
        scores, owner = [], []
        for s, w in zip(self.scores, self.owner, strict=True):
            kept = np.sort(np.concatenate([rng.permutation(np.flatnonzero(w == a))[:k] for a in np.unique(w)]))
            scores.append(s[np.ix_(kept, kept)])
            owner.append(w[kept])
        some = _OutputSimilarities(self.names, self.systems, tuple(scores), tuple(owner), self.span, ())
        return some.frame(c, rng, limits)["separability"].to_numpy()


_ALIGNMENTS = ("self_first", "self_second", "cross")
_ITEMS = {
    "item": pl.String, "first": pl.String, "second": pl.String, **dict.fromkeys(_ALIGNMENTS, pl.Float64),
    "k_first": pl.Int64, "k_second": pl.Int64,
}  # fmt: skip


def _alignment(scores: Floats, rows: Any, columns: Any) -> float:
    """Mean similarity of outputs of two systems; an output is not compared with itself."""
    part = scores[np.ix_(rows, columns)]
    if rows is columns or (rows == columns).all():
        k = len(part)
        return float((part.sum() - np.trace(part)) / (k * (k - 1)))
    return float(part.mean())


def _cross_alignment(scores: Floats, c: int | None, rng: np.random.Generator | None) -> float:
    """Mean similarity of outputs of two systems; of c of their pairs, drawn at random."""
    return float(scores.mean() if c is None or rng is None else rng.permutation(scores.ravel())[:c].mean())


def _agreement(ways: Floats, whole: Floats) -> dict[str, object]:
    """Mean correlation and mean absolute difference of some settings, (settings, items), from all outputs."""
    flat = [one.std() < 1e-12 or whole.std() < 1e-12 for one in ways]
    r = [np.corrcoef(one, whole)[0, 1] for one, f in zip(ways, flat, strict=True) if not f]
    return {"correlation": float(np.mean(r)) if r else np.nan, "mean_difference": float(np.abs(ways - whole).mean()),
            "mean": float(ways.mean()), "items": len(whole)}  # fmt: skip


def _add_group(labels: Annotations, items: pl.DataFrame, settings: SeparabilitySettings) -> pl.DataFrame:
    """The items with the value of ``by``."""
    if settings.by is None:
        return items
    name = labels.column_name(settings.by)
    if name not in labels.items.columns:
        raise DesignError(f"by='{settings.by}' must be a column of the items")
    group = labels.items.select("item", group=pl.col(name).cast(pl.String))
    return items.join(group, on="item", how="left", maintain_order="left")


def _rows(
    labels: Annotations, items: pl.DataFrame, similarities: _OutputSimilarities, settings: SeparabilitySettings
) -> tuple[pl.DataFrame, list[Estimate], str]:  # fmt: skip
    """Mean separability of each pair, over all items and for each value of a column, and the interval method."""
    group = items["group"] if settings.by is not None else None
    codes = None if settings.clusters is None else pl.Series(cluster_codes(labels, settings.clusters))
    rows, means, limits = [], [], similarities.limits()
    width = 1.0 if limits is None else limits[1] - limits[0]
    for first, second in items.select("first", "second").unique(maintain_order=True).rows():
        is_pair = ((items["first"] == first) & (items["second"] == second)).to_numpy()
        exchanged = similarities.exchanged(first, second, settings.seed) / width
        for one in (None, *([] if group is None else natural(group.filter(pl.Series(is_pair)).unique().drop_nulls()))):
            here = is_pair if one is None else is_pair & (group == one).to_numpy()
            mine, chance = items.filter(pl.Series(here)), exchanged[here[is_pair]].mean(axis=0)
            means.append(_mean_separability(mine, labels, codes, settings))
            found = means[-1][0]
            rows.append({"first": first, "second": second, "group": one, **found.row(), "n": mine.height,
                         "by_chance": float(chance.mean()), "p": _exchange_p(chance, found.estimate),
                         **{c: mine[c].mean() for c in _ALIGNMENTS}, "reason": found.reason})  # fmt: skip
    types = dict.fromkeys(("group", "reason"), pl.String)
    return pl.DataFrame(rows, schema_overrides=types), [one[0] for one in means], describe_together(means)


def _exchange_p(chance: Floats, mean: float) -> float:
    """The probability of at least a mean if the systems' outputs are exchangeable."""
    return float((1 + (chance >= mean - 1e-12).sum()) / (1 + len(chance)))


def _mean_separability(
    mine: pl.DataFrame, labels: Annotations, codes: pl.Series | None, settings: OutputSettings
) -> Estimates:
    """The mean separability of some items."""
    clusters = None
    if codes is not None:
        clusters = mine["item"].replace_strict(labels.items["item"], codes).to_numpy().astype(np.int64)
    moments = Mean().moments(mine["separability"].to_numpy()[:, None])
    units = Units.of(len(moments), clusters, width=moments.shape[1])
    sums = add_rows(moments, units.of_item, units.n)
    return estimate_sums(Mean(), sums, settings, n_items=len(moments), unit=units.name)


def _uneven(items: pl.DataFrame) -> tuple[str, ...]:
    """Note about unequal numbers of outputs."""
    seen = sorted({*items["k_first"].to_list(), *items["k_second"].to_list()})
    if len(seen) < 2:
        return ()
    return (f"{seen[0]} to {seen[-1]} outputs per system and item; all are used",)
