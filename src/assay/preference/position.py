"""Position bias: how often each place is chosen, and whether reversing the order changes the choice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.errors import DataError, DesignError, listing
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p, same_share
from assay.estimation.options import question
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats
from assay.preference import words
from assay.preference.votes import PositionSettings
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACES = {"preference": 2, "odd-one-out": 3}
"""Number of texts shown together, by scale."""

_NAMES = {2: ("first", "second"), 3: ("first", "second", "third")}
_SHARES = (
    "criterion", "annotator", "kind", "place", "estimate", "low", "high", "chance", "difference", "p", "n", "ties"
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class PositionBias(Result):
    """How often each place was chosen, and how often both orders gave the same choice.

    Attributes
    ----------
    shares : polars.DataFrame
        One row per annotator and place: ``criterion``, ``annotator``, ``kind``, ``place`` (first, second,
        third), ``estimate`` (the share of choices, 0-1), ``low``, ``high``, ``chance`` (1/2 or 1/3),
        ``difference`` (estimate minus chance), ``p`` (of chance), ``p_adjusted`` (Holm, over all rows; the
        intervals are not adjusted), ``n`` (choices), ``ties`` (labels without a choice), ``reason`` (for a missing
        interval). With two places only the first has a row; the second share is the complement.
    consistency : polars.DataFrame
        One row per annotator with labels of both orders: ``estimate`` is the share of ``n`` pairs of labels
        that choose the same text (or are both ties).
    n_items, n_labels : int
        Numbers of items and labels used.
    fixed : tuple of str
        Criteria whose texts were always shown in one order, so that place and text are confounded.
    run : Run
        All options and exclusions.
    """

    symbol: ClassVar[str] = "share"
    counted: ClassVar[str] = "choices"

    shares: pl.DataFrame
    consistency: pl.DataFrame
    n_items: int
    n_labels: int
    fixed: tuple[str, ...]
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The share of each place, then the consistency, one row each."""
        consistent = self.consistency.with_columns(place=pl.lit("both orders agree"))
        return pl.concat([self.shares, consistent], how="diagonal")

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimates of each share, then of each consistency."""
        return self.estimates

    @property
    def biased(self) -> tuple[str, ...]:
        """Annotators with a place whose share differs significantly from chance, adjusted for all tested shares."""
        settings: PositionSettings = self.run.settings  # type: ignore[assignment]
        # A column of NaN and null: neither is significant.
        found = self.shares.filter(pl.col("p_adjusted").fill_null(1.0) <= 1 - settings.confidence)
        return tuple(found["annotator"].unique(maintain_order=True).to_list())

    @property
    def n_tests(self) -> int:
        """Number of shares that were tested."""
        return int(self.shares["p"].is_not_nan().sum())

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each annotator and place, and one for consistency; of many annotators the notable ones."""
        return words.position_lines(self.shares, self.consistency, self.biased)

    def summary(self) -> str:
        """Who is biased, then the shares and consistency of each annotator in sentences."""
        reasons = self.shares["reason"].drop_nulls().unique(maintain_order=True)
        verdict = [words.position_verdict(self.biased, self.n_tests)] if self.n_tests else []
        lines = [*verdict, *self.sentences(), *(f"No interval: {reason}." for reason in reasons)]
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None, *, places: int | None = None) -> Axes:
        """Forest plot of the shares, with a line at chance, for questions with this number of places."""
        chances = self.shares["chance"].unique().sort(descending=True).to_list()
        chance = chances[0] if places is None else 1 / places
        rows = self.shares.filter(pl.col("chance") == chance)
        ax = pictures.axes(ax, width=5.6, height=1.0 + 0.28 * max(rows.height, 2))
        several = rows["criterion"].n_unique() > 1
        names = [
            ", ".join([r["annotator"], *([str(r["criterion"])] if several else []), r["place"]])
            for r in rows.iter_rows(named=True)
        ]
        colours = [pictures.JUDGE if kind == "judge" else pictures.HUMAN for kind in rows["kind"]]
        pictures.forest(
            ax, names, rows["estimate"].to_list(), rows["low"].to_list(), rows["high"].to_list(), colour=colours
        )
        ax.axvline(chance, color=pictures.MUTED, linewidth=1, linestyle="--")
        ax.set_xlim(-0.02, 1.02)
        ax.set_xlabel("share of choices")
        return ax


@question(PositionSettings)
def position_bias(labels: Annotations | Chunks, settings: PositionSettings) -> PositionBias:
    """Measure whether the place of a text affects an annotator's choices.

    With two texts: the probability of choosing the one shown first, compared with .5; and, if both orders were
    labelled, the share of pairs with the same choice. With three texts (odd-one-out): the share of each place,
    compared with 1/3. Shares are of choices, so that ties count for neither place.

    Parameters
    ----------
    labels : Annotations
        With a column ``position``: the chosen place, from 1, empty for a tie or if unknown; and ``order``: the
        texts in the order shown. Judging studies write both. All criteria on the scales ``preference`` and
        ``odd-one-out`` are used, each annotator separately.

    Returns
    -------
    PositionBias

    Raises
    ------
    DesignError
        Without such a column or scale, or without a label with a known place.
    DataError
        For a place that does not exist, or an unknown item column.

    Examples
    --------
    A judge that always chooses the first text, on two pairs in both orders:

    >>> import polars as pl
    >>> from assay.data.annotations import Annotations
    >>> from assay.data.scales import Preference
    >>> frame = pl.DataFrame({
    ...     "item": ["p1", "p1", "p2", "p2"], "annotator": "m", "kind": "judge", "label": [-1, 1, -1, 1],
    ...     "order": ["a>b", "b>a", "a>b", "b>a"], "position": [1, 1, 1, 1],
    ... })
    >>> found = position_bias(Annotations.from_frame(frame, scale=Preference(), conditions=["order"]))
    >>> found.shares["estimate"].to_list(), found.consistency["estimate"].to_list()
    ([1.0], [0.0])

    The first text was always chosen, and no pair had the same choice in both orders.
    """
    labels = labels.in_memory("position bias")
    if not _has(labels, "position"):
        raise DesignError(
            "position bias needs a column 'position' of the labels with the chosen place, 1 for the text shown first; "
            f"the table has {listing(labels.labels.columns)}"
        )
    names = [c for c in (labels.criteria or (None,)) if labels.scale_of(c).kind in PLACES]
    if not names:
        raise DesignError("position bias needs labels on the scale preference or odd-one-out; the table has none")
    placed: list[Row] = []
    agreed: list[Row] = []
    fixed, used, unplaced = [], [], 0
    for name in names:
        part = labels if name is None else labels.where(criterion=name)
        places = PLACES[part.scale_of(name).kind]
        table = _answers_with_place(part, places, settings.clusters)
        unplaced += len(part) - table.height
        used.append(table.select("item"))
        if "order" in table.columns and table.height and table["order"].n_unique() == 1:
            fixed.append(name or "the question")
        each = table.partition_by("annotator", maintain_order=True)
        for mine in each:
            shares_here, orders_here = _annotator_rows(mine, name, places, labels.conditions, settings)
            placed += shares_here
            agreed += orders_here
    if not placed:
        raise DesignError("no label has a chosen place; fill in the column 'position'")
    text = dict.fromkeys(("criterion", "annotator", "kind", "reason"), pl.String)
    shares = _adjusted(pl.DataFrame([row for row, _ in placed], schema_overrides=text).select(*_SHARES, "reason"))
    numbers: dict[str, Any] = {**dict.fromkeys(("estimate", "low", "high"), pl.Float64), "n": pl.Int64}
    both = {**{c: text[c] for c in text if c != "reason"}, **numbers, "reason": pl.String}
    items = pl.concat(used)
    n_items, n_annotators = items["item"].n_unique(), shares["annotator"].n_unique()
    caution = "'{}' was always shown in one order: place and text are confounded."
    columns = [c for c in ("position", "order", settings.clusters) if c is not None and _has(labels, c)]
    run = Run(
        "position-bias", settings, fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *columns)),
        {"items": n_items, "labels": items.height, "annotators": n_annotators},
        exclusions=(Exclusion("label", unplaced, "unknown chosen place"),) if unplaced else (),
        cautions=tuple(caution.format(name) for name in fixed),
    )  # fmt: skip
    consistency = pl.DataFrame([row for row, _ in agreed], schema=both)
    estimates = tuple(one for _, one in (*placed, *agreed))
    return PositionBias(shares, consistency, n_items, items.height, tuple(fixed), run, estimates)


def _adjusted(shares: pl.DataFrame) -> pl.DataFrame:
    """The rows with p-values that are adjusted for all of them: every annotator is accused by the same page."""
    adjusted = pl.Series("p_adjusted", adjust_p(shares["p"].to_numpy(), "holm"))
    return shares.insert_column(shares.columns.index("p") + 1, adjusted)


Row = tuple[dict[str, object], Estimate]
"""A row of a table, and the estimate in it."""


def _annotator_rows(
    mine: pl.DataFrame, name: str | None, places: int, conditions: Sequence[str], settings: PositionSettings
) -> tuple[list[Row], list[Row]]:
    """One annotator's shares of the places; and the consistency over both orders, if both were labelled."""
    who = {"criterion": name, "annotator": mine["annotator"][0], "kind": mine["kind"][0]}
    moments, clusters = _moments(mine, places, [c for c in conditions if c != "order"])
    units = Units.of(len(moments), clusters, width=moments.shape[1])
    sums = add_rows(moments, units.of_item, units.n)
    each = estimate_sums(Mean(), sums, settings, n_items=len(moments), unit=units.name, transform="share")
    found = [_of_equal_units(one, sums[:, [i, len(each) + i]], settings) for i, one in enumerate(each)]
    last, pairs = found[-1], int(moments[:, -1].sum())
    both = [(who | last.row() | {"n": pairs, "reason": last.reason}, last)] if pairs else []
    return [(who | row, one) for row, one in _share_rows(found, moments, mine, places)], both


def _of_equal_units(one: Estimate, sums: Floats, settings: PositionSettings) -> Estimate:
    """A share with a test that has a correct level for few units; if it is the same in every unit, an exact one.

    The test is the score test, as in Wilson's interval: the variance is that under the null. The variance at the
    observed share is too small if a share is extreme, as the most extreme one of many annotators is.
    """
    used = sums[sums[:, 1] > 0]
    shares = used[:, 0] / used[:, 1]
    if settings.method == "none" or len(used) < 2:
        return one
    if np.ptp(shares) <= 1e-12:
        return same_share(float(shares[0]), len(used), settings.confidence)
    if one.reason is not None:
        return one
    n, value = len(used), float(used[:, 0].sum() / used[:, 1].sum())
    error = math.sqrt(n / (n - 1) * ((used[:, 0] - value * used[:, 1]) ** 2).sum()) / used[:, 1].sum()

    def test(null: float) -> float:
        from scipy.special import stdtr

        if not 0 < null < 1:
            return math.nan
        t = (value - null) / error * math.sqrt(value * (1 - value) / (null * (1 - null)))
        return float(2 * stdtr(n - 1, -abs(t)))

    return EstimateByRule(one.estimate, one.low, one.high, one.standard_error, one.reason, one.among, one.at,
                          ends=one.interval, test=test)  # fmt: skip


def _has(labels: Annotations, name: str) -> bool:
    return any(name in frame.columns for frame in (labels.labels, labels.items, labels.annotators))


def _answers_with_place(part: Annotations, places: int, clusters: str | None) -> pl.DataFrame:
    """Labels with a known place and ties, sorted; with ``kind`` and ``cluster``."""
    # A column that never varies may have been moved to the items or the annotators.
    found = {name: part.column(name) for name in ("kind", "position", "order") if _has(part, name)}
    table = part.labels.with_columns(**found).with_columns(chosen=pl.col("position").cast(pl.Float64))
    if clusters is not None:
        codes = pl.Series(cluster_codes(part, clusters))
        cluster = part.labels["item"].replace_strict(part.items["item"], codes)
        table = table.with_columns(cluster=cluster)
    strange = table.filter(
        pl.col("chosen").is_not_null() & ~pl.col("chosen").is_in([float(p + 1) for p in range(places)])
    )
    if strange.height:
        row = strange.row(0, named=True)
        raise DataError(f"item '{row['item']}': position {row['position']} is not among the {places} texts shown")
    shown_order = pl.col("order").is_not_null() if "order" in table.columns else pl.lit(value=True)
    tie = (pl.col("label") == 0) & shown_order if places == 2 else pl.lit(value=False)
    keep = [c for c in ("repeat", "order") if c in table.columns]
    return table.filter(pl.col("chosen").is_not_null() | tie).sort("item", "annotator", *keep)


def _moments(mine: pl.DataFrame, places: int, conditions: list[str]) -> tuple[Floats, NDArray[np.int64] | None]:
    """(items, 2q): counts of chosen places and agreeing pairs, then their denominators; and clusters."""
    items = mine.group_by("item", maintain_order=True).agg(
        *(_chosen(p).sum().alias(f"place {p}") for p in range(places)),
        pl.col("chosen").is_not_null().sum().alias("choices"),
        *([pl.col("cluster").first()] if "cluster" in mine.columns else []),
    )
    agreed = np.zeros((items.height, 2))
    if places == 2 and "order" in mine.columns:
        cell = ["item", *(c for c in ("repeat", *conditions) if c in mine.columns)]
        same = pl.col("label").sign().n_unique() == 1  # the same side, for any grade
        both = mine.group_by(cell).agg(same, pl.col("order").n_unique().alias("orders"))
        both = both.filter(pl.col("orders") > 1).group_by("item").agg(pl.col("label").sum(), pl.len())
        joined = items.join(both, on="item", how="left", maintain_order="left").select("label", "len").fill_null(0)
        agreed = joined.to_numpy().astype(float)
    chosen_at = items.select(f"place {p}" for p in range(places)).to_numpy().astype(float)
    choices = np.repeat(items["choices"].to_numpy().astype(float)[:, None], places, axis=1)
    units = items["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1 if "cluster" in items.columns else None
    return np.concatenate([chosen_at, agreed[:, :1], choices, agreed[:, 1:]], axis=1), units


def _chosen(place: int) -> pl.Expr:
    """Whether this place, from 0, was chosen."""
    return pl.col("chosen") == place + 1


def _share_rows(found: Sequence[Estimate], moments: Floats, mine: pl.DataFrame, places: int) -> Iterator[Row]:
    """A row for each place; only for the first if there are two."""
    n = int(moments[:, places + 1].sum())
    for p, one in enumerate(found[i] for i in range(1 if places == 2 else places)):
        place = {"place": _NAMES[places][p], "chance": 1 / places, "difference": one.estimate - 1 / places,
                 "p": one.p(1 / places)}  # fmt: skip
        yield one.row() | place | {"n": n, "ties": mine.height - n, "reason": one.reason}, one
