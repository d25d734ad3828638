"""Does it matter where a text stands? How often each place is chosen; whether the other order changes the answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation import Estimate, Floats, Mean, Method, Part, Result, estimate_units, shown, signature, sum_by_unit
from assay.reporting import pictures as figures

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
    left_out : tuple of (str, int)
        Answers that were not used, by reason.
    method, confidence, n_resamples, seed, clusters, data
        How the intervals were made, and from which labels.
    """

    symbol: ClassVar[str] = "share"

    shares: pl.DataFrame
    consistency: pl.DataFrame
    n_items: int
    n_labels: int
    fixed: tuple[str, ...]
    left_out: tuple[tuple[str, int], ...]
    method: Method
    confidence: float
    n_resamples: int
    seed: int
    clusters: str | None
    data: str

    @property
    def table(self) -> pl.DataFrame:
        """The shares of each place, then the consistency, one row each."""
        consistent = self.consistency.with_columns(place=pl.lit("both orders agree"))
        return pl.concat([self.shares, consistent], how="diagonal")

    @property
    def biased(self) -> tuple[str, ...]:
        """Annotators with a place whose interval does not hold its chance."""
        off = (pl.col("low") > pl.col("chance")) | (pl.col("high") < pl.col("chance"))
        known = self.shares.filter(pl.col("low").is_not_nan())
        return tuple(known.filter(off)["annotator"].unique(maintain_order=True).to_list())

    @property
    def signature(self) -> str:
        """One line by which two people see whether they computed the same thing."""
        return signature(
            "position-bias",
            items=self.n_items,
            labels=self.n_labels,
            annotators=self.shares["annotator"].n_unique(),
            clusters=self.clusters,
            method=self.method,
            seed=self.seed,
            data=self.data,
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader must know before trusting the shares."""
        words = "'{}' was always shown in one order: a share far from chance may be the texts', not the place's"
        return tuple(words.format(name) for name in self.fixed)

    def sentences(self) -> tuple[str, ...]:
        """One sentence an annotator and place, one for consistency."""
        found = []
        for row in self.shares.iter_rows(named=True):
            where = f" ({row['criterion']})" if row["criterion"] else ""
            interval = f" [{shown(row['low'])}, {shown(row['high'])}]" if np.isfinite(row["low"]) else ""
            found.append(
                f"{row['annotator']}{where} chose the text shown {row['place']} with probability "
                f"{shown(row['estimate'])}{interval}, {row['difference']:+.2f} from {row['chance']:.2f} "
                f"({counted(row['n'], 'choice')})."
            )
        for row in self.consistency.iter_rows(named=True):
            where = f" ({row['criterion']})" if row["criterion"] else ""
            found.append(
                f"{row['annotator']}{where} gave the same answer in both orders for {shown(row['estimate'])} of "
                f"{counted(row['n'], 'pair')}."
            )
        return tuple(found)

    def summary(self) -> str:
        """The finding in sentences fit to paste."""
        lines = [*self.sentences(), *(f"No interval: {reason}." for reason in self._reasons())]
        lines += [f"Left out: {what} ({count})." for what, count in self.left_out]
        lines += [f"Caution: {caution}." for caution in self.cautions]
        return "\n".join([*lines, self.signature])

    def _reasons(self) -> list[str]:
        return self.shares["reason"].drop_nulls().unique(maintain_order=True).to_list()

    def plot(self, ax: Axes | None = None, *, places: int | None = None) -> Axes:
        """Forest plot: each share with its interval, and a line at chance; of questions with so many places."""
        chances = self.shares["chance"].unique().sort(descending=True).to_list()
        chance = chances[0] if places is None else 1 / places
        rows = self.shares.filter(pl.col("chance") == chance)
        ax = figures.axes(ax, width=5.6, height=1.0 + 0.28 * max(rows.height, 2))
        several = rows["criterion"].n_unique() > 1
        names = [
            ", ".join([r["annotator"], *([str(r["criterion"])] if several else []), r["place"]])
            for r in rows.iter_rows(named=True)
        ]
        colours = [figures.JUDGE if kind == "judge" else figures.HUMAN for kind in rows["kind"]]
        figures.forest(
            ax, names, rows["estimate"].to_list(), rows["low"].to_list(), rows["high"].to_list(), colour=colours
        )
        ax.axvline(chance, color=figures.MUTED, linewidth=1, linestyle="--")
        ax.set_xlim(-0.02, 1.02)
        ax.set_xlabel("share of choices")
        return ax


def position_parts(found: PositionBias) -> tuple[Part, ...]:
    """What a page about position shows, for a report to lay out."""
    place = [c for c in ("criterion",) if found.shares["criterion"].null_count() < found.shares.height]
    columns = ("annotator", "place", "estimate", "low", "high", "chance", "difference", "n", "ties")
    frames = [("Share of choices by the place in which a text was shown.", found.shares.select(*place, *columns))]
    if found.consistency.height:
        caption = "Share of pairs that got the same answer in both orders."
        frames.append((caption, found.consistency.select(*place, "annotator", "estimate", "low", "high", "n")))
    pictures = tuple(
        (f"Share of choices by place, {places} texts side by side", partial(found.plot, places=places))
        for places in sorted({round(1 / chance) for chance in found.shares["chance"]})
    )
    biased = found.biased
    words = (
        f"The place of a text changes the answers of {listing(biased)}."
        if biased
        else "No annotator's choices are shown to hang on the place of a text."
    )
    lines = tuple(f"{what} ({count})" for what, count in found.left_out)
    return (Part("Does it matter where a text stands?", (words, *found.cautions), tuple(frames), pictures, lines),)


def position_bias(
    labels: Annotations,
    *,
    clusters: str | None = None,
    method: Method = "percentile",
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> PositionBias:
    """Does an annotator choose a text because of where it stands?

    With two texts: the probability of choosing the one shown first, against .5; and, where both orders
    were asked, the share of pairs that got the same answer. With three (odd-one-out): the share of each
    place, against 1/3. A share is choices over choices, so that ties count for neither place.

    Parameters
    ----------
    labels : Annotations
        With a column ``position``: the place that was chosen, from 1, empty for a tie or where it is not
        known; and ``order``: what was shown, in its order. Judging studies write both. All criteria on the
        scales ``preference`` and ``odd-one-out`` are used, each annotator by itself.
    clusters : str, optional
        An item column (document, subject) whose items are resampled together.
    method, n_resamples, confidence, seed
        Of the intervals over items, see `assay.estimation.estimate`.

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
    if not _has(labels, "position"):
        raise DesignError(
            "position bias needs a column 'position' of the labels: which place was chosen, 1 for the text shown "
            f"first; the table has {listing(labels.labels.columns)}"
        )
    names = [c for c in (labels.criteria or (None,)) if labels.scale_of(c).kind in PLACES]
    if not names:
        raise DesignError("position bias needs a question on the scale preference or odd-one-out; the table has none")
    settings = {"method": method, "n_resamples": n_resamples, "confidence": confidence, "seed": seed}
    shares, consistency, fixed, used = [], [], [], []
    unplaced = 0
    for name in names:
        part = labels if name is None else labels.where(criterion=name)
        places = PLACES[part.scale_of(name).kind]
        table = _placed(part, places, clusters)
        unplaced += len(part) - table.height
        used.append(table)
        if "order" in table.columns and table.height and table["order"].n_unique() == 1:
            fixed.append(name or "the question")
        for (annotator,), mine in table.group_by(["annotator"], maintain_order=True):
            who = {"criterion": name, "annotator": annotator, "kind": mine["kind"][0]}
            moments, units = _moments(mine, places, [c for c in labels.conditions if c != "order"])
            found = estimate_units(Mean(), sum_by_unit(moments, units), n_items=len(moments), **settings)  # type: ignore[arg-type]
            shares += [who | row for row in _share_rows(found, moments, mine, places)]
            pairs = int(moments[:, -1].sum())
            if pairs:
                consistency.append(who | found[len(found) - 1].row() | {"n": pairs})
    if not shares:
        raise DesignError("no answer says which place was chosen; position bias needs the column 'position' filled")
    everything = pl.concat([t.select("item") for t in used])
    text = dict.fromkeys(("criterion", "annotator", "kind", "reason"), pl.String)
    numbers = dict.fromkeys(("estimate", "low", "high"), pl.Float64)
    return PositionBias(
        shares=pl.DataFrame(shares, schema_overrides=text).select(*_SHARES, "reason"),
        consistency=pl.DataFrame(
            consistency, schema={**{c: text[c] for c in text if c != "reason"}, **numbers, "n": pl.Int64}
        ),
        n_items=everything["item"].n_unique(),
        n_labels=everything.height,
        fixed=tuple(fixed),
        left_out=(("the place that was chosen is not known", unplaced),) if unplaced else (),
        clusters=clusters,
        data=labels.fingerprint,
        **settings,  # type: ignore[arg-type]
    )


def _has(labels: Annotations, name: str) -> bool:
    return any(name in frame.columns for frame in (labels.labels, labels.items, labels.annotators))


def _placed(part: Annotations, places: int, clusters: str | None) -> pl.DataFrame:
    """Answers with a known place and ties, sorted; with ``kind`` and ``cluster``."""
    # A column that never varies may have been moved to the items or the annotators.
    found = {name: part.column(name) for name in ("kind", "position", "order") if _has(part, name)}
    table = part.labels.with_columns(**found).with_columns(chosen=pl.col("position").cast(pl.Float64))
    if clusters is not None:
        if clusters not in part.items.columns:
            raise DataError(unknown("column", clusters, part.items.columns, "the items"))
        table = table.with_columns(cluster=part.column(clusters).cast(pl.String))
        if table["cluster"].null_count():
            raise DataError(f"{counted(table['cluster'].null_count(), 'label')} of items without '{clusters}'")
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
        both = mine.group_by(cell).agg(pl.col("label").n_unique() == 1, pl.col("order").n_unique().alias("orders"))
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


def _share_rows(found: Estimate, moments: Floats, mine: pl.DataFrame, places: int) -> list[dict[str, object]]:
    """A row for each place; for the first alone where there are two."""
    n = int(moments[:, places + 1].sum())
    return [
        found[p].row()
        | {"place": _NAMES[places][p], "chance": 1 / places, "difference": found[p].estimate - 1 / places}
        | {"n": n, "ties": mine.height - n, "reason": found[p].reason}
        for p in range(1 if places == 2 else places)
    ]
