"""Position bias: how often each place is chosen, and whether the other order changes the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.errors import DataError, DesignError, counted, listing
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import question
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats
from assay.preference.votes import PositionSettings
from assay.reporting import pictures
from assay.reporting.tables import interval, said, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACES = {"preference": 2, "odd-one-out": 3}
"""How many texts are shown side by side, by scale."""

_NAMES = {2: ("first", "second"), 3: ("first", "second", "third")}
_SHARES = ("criterion", "annotator", "kind", "place", "estimate", "low", "high", "chance", "difference", "n", "ties")


@dataclass(frozen=True, eq=False)
class PositionBias(Result):
    """How often each place was chosen, and how often both orders gave the same answer.

    Attributes
    ----------
    shares : polars.DataFrame
        One row an annotator and place: ``criterion``, ``annotator``, ``kind``, ``place`` (first, second,
        third), ``estimate`` (the share of choices, 0-1), ``low``, ``high``, ``chance`` (1/2 or 1/3),
        ``difference`` (estimate less chance), ``n`` (choices), ``ties`` (answers without a choice), ``reason``
        (why there is no interval). Of two places only the first has a row; the second is the rest.
    consistency : polars.DataFrame
        One row an annotator that was asked in both orders: ``estimate`` is the share of ``n`` pairs of
        answers that name the same text (or are both ties).
    n_items, n_labels : int
        Items and answers it rests on.
    fixed : tuple of str
        Criteria whose texts were always shown in one order, so that place and text cannot be told apart.
    run : Run
        Every option, and the answers that were not used.
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
        """The shares of each place, then the consistency, one row each."""
        consistent = self.consistency.with_columns(place=pl.lit("both orders agree"))
        return pl.concat([self.shares, consistent], how="diagonal")

    def row_estimates(self) -> Sequence[Estimate]:
        """Of each share, then of each consistency."""
        return self.estimates

    @property
    def biased(self) -> tuple[str, ...]:
        """Annotators with a place whose interval does not hold its chance."""
        off = (pl.col("low") > pl.col("chance")) | (pl.col("high") < pl.col("chance"))
        known = self.shares.filter(pl.col("low").is_not_nan())
        return tuple(known.filter(off)["annotator"].unique(maintain_order=True).to_list())

    def sentences(self) -> tuple[str, ...]:
        """One sentence an annotator and place, one for consistency."""
        found = []
        for row in self.shares.iter_rows(named=True):
            where = f" ({row['criterion']})" if row["criterion"] else ""
            ends = f" {interval(row['low'], row['high'])}" if np.isfinite(row["low"]) else ""
            found.append(
                f"{row['annotator']}{where} chose the text shown {row['place']} with probability "
                f"{said(row['estimate'])}{ends}, {signed(row['difference'])} from {row['chance']:.2f} "
                f"({counted(row['n'], 'choice')})."
            )
        for row in self.consistency.iter_rows(named=True):
            where = f" ({row['criterion']})" if row["criterion"] else ""
            found.append(
                f"{row['annotator']}{where} gave the same answer in both orders for {said(row['estimate'])} of "
                f"{counted(row['n'], 'pair')}."
            )
        return tuple(found)

    def summary(self) -> str:
        """The finding in sentences fit to paste."""
        lines = [*self.sentences(), *(f"No interval: {reason}." for reason in self._reasons())]
        return "\n".join([*lines, *self.run.closing()])

    def _reasons(self) -> list[str]:
        return self.shares["reason"].drop_nulls().unique(maintain_order=True).to_list()

    def plot(self, ax: Axes | None = None, *, places: int | None = None) -> Axes:
        """Forest plot: each share with its interval, and a line at chance; of questions with this number of places."""
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
    """Does an annotator choose a text because of its place?

    With two texts: the probability of choosing the one shown first, against .5; and, where both orders
    were asked, the share of pairs that got the same answer. With three (odd-one-out): the share of each
    place, against 1/3. A share is choices over choices, so that ties count for neither place.

    Parameters
    ----------
    labels : Annotations
        With a column ``position``: the place that was chosen, from 1, empty for a tie or where it is not
        known; and ``order``: what was shown, in its order. Judging studies write both. All criteria on the
        scales ``preference`` and ``odd-one-out`` are used, each annotator by itself.

    Returns
    -------
    PositionBias

    Raises
    ------
    DesignError
        Where there is no such column, no such scale, or no answer with a known place.
    DataError
        For a place that the question does not have, or an unknown item column.

    Examples
    --------
    A judge who names the first text whatever the order, asked about two pairs in both orders:

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

    The first text was always chosen, and no pair got the same answer in both orders.
    """
    labels = labels.in_memory("position bias")
    if not _has(labels, "position"):
        raise DesignError(
            "position bias needs a column 'position' of the labels: which place was chosen, 1 for the text shown "
            f"first; the table has {listing(labels.labels.columns)}"
        )
    names = [c for c in (labels.criteria or (None,)) if labels.scale_of(c).kind in PLACES]
    if not names:
        raise DesignError("position bias needs a question on the scale preference or odd-one-out; the table has none")
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
        raise DesignError("no answer says which place was chosen; position bias needs the column 'position' filled")
    text = dict.fromkeys(("criterion", "annotator", "kind", "reason"), pl.String)
    shares = pl.DataFrame([row for row, _ in placed], schema_overrides=text).select(*_SHARES, "reason")
    numbers: dict[str, Any] = {**dict.fromkeys(("estimate", "low", "high"), pl.Float64), "n": pl.Int64}
    both = {**{c: text[c] for c in text if c != "reason"}, **numbers, "reason": pl.String}
    items = pl.concat(used)
    n_items, n_annotators = items["item"].n_unique(), shares["annotator"].n_unique()
    words = "'{}' was always shown in one order: a share far from chance may be the texts', not the place's."
    columns = [c for c in ("position", "order", settings.clusters) if c is not None and _has(labels, c)]
    run = Run(
        "position-bias", settings, fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *columns)),
        {"items": n_items, "labels": items.height, "annotators": n_annotators},
        exclusions=(Exclusion("answer", unplaced, "the place that was chosen is not known"),) if unplaced else (),
        cautions=tuple(words.format(name) for name in fixed),
    )  # fmt: skip
    consistency = pl.DataFrame([row for row, _ in agreed], schema=both)
    estimates = tuple(one for _, one in (*placed, *agreed))
    return PositionBias(shares, consistency, n_items, items.height, tuple(fixed), run, estimates)


Row = tuple[dict[str, object], Estimate]
"""A row of a table, and the estimate in it."""


def _annotator_rows(
    mine: pl.DataFrame, name: str | None, places: int, conditions: Sequence[str], settings: PositionSettings
) -> tuple[list[Row], list[Row]]:
    """One annotator's shares of the places; and whether the other order changes the answer, where it was asked."""
    who = {"criterion": name, "annotator": mine["annotator"][0], "kind": mine["kind"][0]}
    moments, clusters = _moments(mine, places, [c for c in conditions if c != "order"])
    units = Units.of(len(moments), clusters, width=moments.shape[1])
    sums = add_rows(moments, units.of_item, units.n)
    found = estimate_sums(Mean(), sums, settings, n_items=len(moments), unit=units.name)
    last, pairs = found[len(found) - 1], int(moments[:, -1].sum())
    both = [(who | last.row() | {"n": pairs, "reason": last.reason}, last)] if pairs else []
    return [(who | row, one) for row, one in _share_rows(found, moments, mine, places)], both


def _has(labels: Annotations, name: str) -> bool:
    return any(name in frame.columns for frame in (labels.labels, labels.items, labels.annotators))


def _answers_with_place(part: Annotations, places: int, clusters: str | None) -> pl.DataFrame:
    """Answers with a known place and ties, sorted; with ``kind`` and ``cluster``."""
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
        raise DataError(f"item '{row['item']}': place {row['position']} was chosen, but {places} texts are shown")
    shown_order = pl.col("order").is_not_null() if "order" in table.columns else pl.lit(value=True)
    tie = (pl.col("label") == 0) & shown_order if places == 2 else pl.lit(value=False)
    keep = [c for c in ("repeat", "order") if c in table.columns]
    return table.filter(pl.col("chosen").is_not_null() | tie).sort("item", "annotator", *keep)


def _moments(mine: pl.DataFrame, places: int, conditions: list[str]) -> tuple[Floats, NDArray[np.int64] | None]:
    """(items, 2q): how often each place was chosen and pairs agree, then out of how many; and clusters."""
    items = mine.group_by("item", maintain_order=True).agg(
        *(_chosen(p).sum().alias(f"place {p}") for p in range(places)),
        pl.col("chosen").is_not_null().sum().alias("choices"),
        *([pl.col("cluster").first()] if "cluster" in mine.columns else []),
    )
    agreed = np.zeros((items.height, 2))
    if places == 2 and "order" in mine.columns:
        cell = ["item", *(c for c in ("repeat", *conditions) if c in mine.columns)]
        alike = pl.col("label").sign().n_unique() == 1  # the same side, whatever the grade
        both = mine.group_by(cell).agg(alike, pl.col("order").n_unique().alias("orders"))
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


def _share_rows(found: Estimates, moments: Floats, mine: pl.DataFrame, places: int) -> Iterator[Row]:
    """A row for each place; for the first alone where there are two."""
    n = int(moments[:, places + 1].sum())
    for p, one in enumerate(found[i] for i in range(1 if places == 2 else places)):
        place = {"place": _NAMES[places][p], "chance": 1 / places, "difference": one.estimate - 1 / places}
        yield one.row() | place | {"n": n, "ties": mine.height - n, "reason": one.reason}, one
