"""Agreement on the odd one out of three, corrected for chance.

The places A, B and C are arbitrary, so that two random choices agree on one triplet in three:

    agreement above chance = (share of triplets on which both chose the same − 1/3) / (1 − 1/3)

(Brennan & Prediger 1981, with three categories). Repeated choices of one annotator count as the shares of the
places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.data.names import codes_in
from assay.data.ratings import cluster_codes
from assay.errors import DesignError
from assay.estimation.intervals import Estimate, map_estimate
from assay.estimation.options import question
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.result import ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.ideas import words
from assay.ideas.choices import Pairs, ReliabilitySettings, odd_one_labels
from assay.reporting import pictures
from assay.statistics.comparisons.odd_one_out import CHANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class OddOneOutAgreement(ResultOfRows):
    """Agreement on the odd one out, above chance.

    Attributes
    ----------
    rows : polars.DataFrame
        ``group`` (value of ``by``), ``who``, ``first``, ``second`` (annotators of the row, if any),
        ``estimate`` (above chance: 0 at chance, 1 if all agree), ``low``, ``high``, ``agreement`` (share of
        triplets with the same choice, chance 1/3), ``n`` (triplets), ``reason``.
    run : Run
    """

    symbol: ClassVar[str] = "above chance"
    counted: ClassVar[str] = "triplets"

    rows: pl.DataFrame = field(metadata={"json": False})
    run: Run
    judges: tuple[str, ...] = field(repr=False, metadata={"json": False})
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def humans(self) -> dict[str, Any] | None:
        """The row of all humans, over all triplets."""
        found = self.rows.filter((pl.col("who") == "humans") & pl.col("group").is_null())
        return found.row(0, named=True) if found.height else None

    def summary(self) -> str:
        """One sentence for each row."""
        lines = words.agreement_lines(self.rows.head(pictures.MOST_ROWS))
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot, with a line at chance; rows with a judge have the colour of judges."""
        rows = self.rows.head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, height=1.2 + 0.26 * max(rows.height, 2))
        names = [
            _NAMES[row["who"]].format(**row) + ("" if row["group"] is None else f", {row['group']}")
            for row in rows.iter_rows(named=True)
        ]
        about_judges = [bool({row["first"], row["second"]} & set(self.judges)) for row in rows.iter_rows(named=True)]
        colours = [pictures.JUDGE if judge else pictures.HUMAN for judge in about_judges]
        pictures.forest_of_rows(ax, names, rows, colour=colours)
        ax.axvline(0, color=pictures.MUTED, linewidth=1, linestyle="--")
        ax.set_xlabel("chance-corrected agreement on the odd one out")
        return ax


_NAMES = {
    "humans": "humans", "annotator": "{first} & humans", "pairs": "{first} & {second}", "itself": "{first}, repeated",
}  # fmt: skip


@question(ReliabilitySettings)
def odd_one_out_agreement(labels: Annotations | Chunks, settings: ReliabilitySettings) -> OddOneOutAgreement:
    """Measure agreement on the odd one out, corrected for chance.

    Parameters
    ----------
    labels : Annotations
        Labels A, B or C on the scale ``odd-one-out``; triplets with choices of two annotators, or repeated choices.

    Returns
    -------
    OddOneOutAgreement

    Raises
    ------
    DesignError
        For labels that are not odd-one-out choices, and if no triplet has two choices.

    Examples
    --------
    >>> import assay, polars as pl
    >>> who = ["ann"] * 6 + ["bob"] * 6
    >>> frame = pl.DataFrame({"item": [*range(6)] * 2, "annotator": who, "label": [*"ABCABCABCABA"]})
    >>> labels = assay.read(frame, scale="odd-one-out", humans=["ann", "bob"])
    >>> found = assay.odd_one_out_agreement(labels, who=["humans"])
    >>> found.table.select(pl.col("agreement", "estimate").round(3)).rows()
    [(0.833, 0.75)]

    Five of six choices are the same; by chance two would be.
    """
    table = odd_one_labels(labels.in_memory("odd_one_out_agreement"), "odd_one_out_agreement")
    cells = _ChoiceShares.of(table)
    clusters = None if settings.clusters is None else cluster_codes(table, settings.clusters)
    rows, estimates, how = [], [], ""
    for group, items in _groups(table, settings.by):
        for who in settings.who:
            for names, moments in cells.moments(who, items):
                found, how = _estimate(moments, clusters, settings)
                above = map_estimate(found, _correct_for_chance, _agreement, slope=1 / (1 - CHANCE))
                estimates.append(above)
                rows.append({"group": group, "who": who, **names, **above.row(), "agreement": found.estimate,
                             "n": int((moments[:, 1] > 0).sum()), "reason": found.reason})  # fmt: skip
    if not rows:
        raise DesignError(
            "agreement needs triplets with choices of two humans, or repeated choices of one annotator; assign some "
            "triplets to several annotators (people.overlap of a study)"
        )
    humans = sum(cells.is_human)
    facts = {"items": table.n_items, "choices": len(table), "humans": humans, "judges": len(cells.names) - humans}
    data = fingerprint_with(
        table.fingerprint, **digest_of_columns(table, settings.by, settings.clusters, _repeat(table))
    )
    frame = pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)
    run = Run("odd-one-out-agreement", settings, data, facts, how)
    return OddOneOutAgreement(frame, run, table.judges, tuple(estimates))


_TYPES = dict.fromkeys(("group", "who", "first", "second", "reason"), pl.String)


def _repeat(table: Annotations) -> str | None:
    return "repeat" if "repeat" in table.labels.columns else None


def _groups(table: Annotations, by: str | None) -> Iterator[tuple[str | None, Ints]]:
    """All items, then those of each value of a column."""
    everything = np.arange(table.n_items)
    yield None, everything
    if by is not None:
        name = table.column_name(by)
        if name not in table.items.columns:
            raise DesignError(f"by='{by}' must be a column of the items")
        column = table.items[name].cast(pl.String)
        for value in natural(column.drop_nulls().unique().to_list()):
            yield value, everything[(column == value).fill_null(value=False).to_numpy()]


def _correct_for_chance(agreement: float) -> float:
    return (agreement - CHANCE) / (1 - CHANCE)


def _agreement(above_chance: float) -> float:
    return CHANCE + above_chance * (1 - CHANCE)


def _estimate(moments: Floats, clusters: Ints | None, settings: ReliabilitySettings) -> tuple[Estimate, str]:
    used = np.flatnonzero(moments[:, 1] > 0)
    units = Units.of(len(moments), clusters, width=2, used=used)
    sums = add_rows(moments[used], units.of_item[used], units.n)
    found = estimate_sums(Mean(), sums, settings, n_items=len(used), unit=units.name, transform="share")
    return found[0], found.describe_interval()


@dataclass(frozen=True, eq=False)
class _ChoiceShares:
    """The choices of each annotator for each triplet, as shares."""

    names: tuple[str, ...]
    is_human: tuple[bool, ...]
    n_items: int
    item: Ints
    annotator: Ints
    counts: Floats
    """(cells, 3): how often each place was chosen."""

    @classmethod
    def of(cls, table: Annotations) -> _ChoiceShares:
        who = table.annotators["annotator"]
        item = codes_in(table.labels["item"], table.items["item"]).astype(np.int64)
        code = item * len(who) + codes_in(table.labels["annotator"], who)
        odd = codes_in(table.labels["label"].cast(pl.String), pl.Series(["A", "B", "C"])).astype(np.int64)
        cell, which = np.unique(code, return_inverse=True)
        counts = np.bincount(which * 3 + odd, minlength=3 * len(cell)).reshape(-1, 3).astype(float)
        kinds = table.annotators["kind"].to_list()
        return cls(
            tuple(who.to_list()), tuple(kind == "human" for kind in kinds), table.n_items, cell // len(who),
            cell % len(who), counts,
        )  # fmt: skip

    def moments(self, who: Pairs, items: Ints) -> Iterator[tuple[dict[str, str | None], Floats]]:
        """The annotators of a row; agreement and comparisons of each item: (items, 2)."""
        keep = np.isin(self.item, items)
        cells = _ChoiceShares(
            self.names, self.is_human, self.n_items, self.item[keep], self.annotator[keep], self.counts[keep]
        )  # fmt: skip
        for names, found in getattr(cells, f"_{who}")():
            if found[:, 1].any():
                yield {"first": None, "second": None, **names}, found

    @property
    def _shares(self) -> Floats:
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def _people(self) -> Sequence[int]:
        return [i for i, human in enumerate(self.is_human) if human]

    def _sum(self, values: Floats, item: Ints) -> Floats:
        return np.stack([np.bincount(item, column, self.n_items) for column in values.T], axis=1)

    def _humans(self) -> Iterator[tuple[dict[str, str], Floats]]:
        mine = np.isin(self.annotator, self._people)
        shares, item = self._shares[mine], self.item[mine]
        total, number = self._sum(shares, item), np.bincount(item, minlength=self.n_items).astype(float)
        own = self._sum((shares**2).sum(axis=1, keepdims=True), item)[:, 0]
        # The weight of an item is its number of pairs of humans.
        yield {}, np.stack([((total**2).sum(axis=1) - own) / 2, number * (number - 1) / 2], axis=1)

    def _annotator(self) -> Iterator[tuple[dict[str, str], Floats]]:
        shares, people = self._shares, np.isin(self.annotator, self._people)
        total = self._sum(shares[people], self.item[people])
        number = np.bincount(self.item[people], minlength=self.n_items)
        for j, name in enumerate(self.names):
            mine = np.flatnonzero(self.annotator == j)
            item, own = self.item[mine], shares[mine] if self.is_human[j] else np.zeros((len(mine), 3))
            others = number[item] - self.is_human[j]
            agree = ((total[item] - own) * shares[mine]).sum(axis=1)
            both = np.stack([np.where(others > 0, agree, 0.0), others.astype(float)], axis=1)
            yield {"first": name}, self._sum(both, item)

    def _pairs(self) -> Iterator[tuple[dict[str, str], Floats]]:
        shares = np.full((len(self.names), self.n_items, 3), np.nan)
        shares[self.annotator, self.item] = self._shares
        for a, b in itertools.combinations(range(len(self.names)), 2):
            agree = (shares[a] * shares[b]).sum(axis=1)
            there = np.isfinite(agree)
            yield (
                {"first": self.names[a], "second": self.names[b]},
                np.stack([np.where(there, agree, 0.0), there.astype(float)], axis=1),
            )

    def _itself(self) -> Iterator[tuple[dict[str, str], Floats]]:
        times = self.counts.sum(axis=1)
        again = times > 1
        same = ((self.counts**2).sum(axis=1) - times)[again] / (times * (times - 1))[again]
        for j, name in enumerate(self.names):
            mine = self.annotator[again] == j
            both = np.stack([same[mine], np.ones(int(mine.sum()))], axis=1)
            yield {"first": name}, self._sum(both, self.item[again][mine])
