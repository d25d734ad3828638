"""Which system is better? Bradley–Terry and Elo ratings from votes, with intervals, ranks and the table of wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import question
from assay.estimation.resampling import estimate_sums, of_replicates, resampling_counts
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.preference.votes import BradleyTerrySettings, EloSettings, RatingSettings, Votes, weight
from assay.reporting import pictures
from assay.reporting.tables import estimated, said
from assay.statistics import tournaments

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RUN_CELLS = 1 << 24
"""Votes times runs of Elo that are gone through together: their orders take 128 MB."""

RESAMPLED_VOTES = 2 * 10**7
"""Votes that all resamples of Elo may go through together, some 2 s; beyond, each is the mean of fewer orders."""

MOST_ORDERS = 10
"""Random orders that each resample is the mean of, at most: the order adds a tenth of its variance to an interval's."""

LEAST_KNOWN = 0.95
"""Share of the resamples that must have finite ratings for ranks to have a range: the same as for intervals."""


@dataclass(frozen=True, eq=False)
class Leaderboard(Result):
    """Systems by rating, best first.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a system: ``system``, ``estimate`` (points), ``low``, ``high``, ``rank``, ``rank_low``,
        ``rank_high`` (over the resamples), ``votes``, ``wins``, ``ties``, ``losses``, ``win_rate`` (ties are half
        a win), ``order_sd`` (Elo: standard deviation of the rating over random orders), ``reason``.
    wins : polars.DataFrame
        One row an ordered pair of systems that met: ``first``, ``second``, ``win_rate`` of the first, ``wins``,
        ``ties``, ``votes``.
    lead : Estimate
        The best system less the next, under the same resamples.
    run : Run
    """

    symbol: ClassVar[str] = "rating"

    rows: pl.DataFrame
    wins: pl.DataFrame
    lead: Estimate
    run: Run
    estimates: Estimates = field(repr=False, metadata={"json": False})
    systems: tuple[str, ...] = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The systems, best first."""
        return self.rows

    def row_estimates(self) -> Sequence[Estimate]:
        """The rating of each system, best first."""
        return tuple(self.estimates[self.systems.index(name)] for name in self.rows["system"])

    def difference(self, first: str, second: str) -> Estimate:
        """How many points one system is ahead of another, under the same resamples."""
        for name in (first, second):
            if name not in self.systems:
                raise DataError(unknown("system", name, self.systems, "the leaderboard"))
        return _apart(self.estimates, self.systems.index(first), self.systems.index(second))

    def summary(self) -> str:
        """Who leads, by how much, and each system's place."""
        lines = []
        for row in self.rows.iter_rows(named=True):
            places = "" if row["rank_low"] is None else f", rank {row['rank_low']} to {row['rank_high']}"
            lines.append(
                f"{row['rank']}. {row['system']}: {estimated(row['estimate'], row['low'], row['high'], 0)}"
                f"{places}; preferred in {100 * row['win_rate']:.0f}% of {counted(row['votes'], 'vote')}."
            )
        first, second = self.rows["system"].head(2).to_list()
        clear = "is ahead of" if self.lead.low > 0 else "is not clearly ahead of"
        clear = "less" if math.isnan(self.lead.low) else clear  # without an interval nothing is claimed
        lines.append(f"{first} {clear} {second}: {estimated(self.lead.estimate, self.lead.low, self.lead.high, 0)}.")
        if "order_sd" in self.rows.columns:
            worst = max(self.rows["order_sd"].to_list())
            lines.append(f"Another order of the same votes moves a rating by {said(worst, 1)} (standard deviation).")
        lines += [f"Intervals: {self.run.interval}."] if self.run.interval else []
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each system's rating with its interval, best on top."""
        rows = self.rows.head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, height=1.1 + 0.28 * max(rows.height, 2))
        pictures.forest(
            ax, rows["system"].to_list(), *(rows[c].to_list() for c in ("estimate", "low", "high")),
            colour=pictures.JUDGE,
        )  # fmt: skip
        ax.set_xlabel("rating, points")
        return ax

    def plot_wins(self, ax: Axes | None = None) -> Axes:
        """How often the row's system is preferred to the column's, in percent; a tie is half a win."""
        names = self.rows["system"].head(pictures.MOST_ROWS).to_list()
        place = {name: i for i, name in enumerate(names)}
        cells = np.full((len(names), len(names)), np.nan)
        for one, other, share in self.wins.select("first", "second", "win_rate").iter_rows():
            if one in place and other in place:
                cells[place[one], place[other]] = share
        size = 1.6 + 0.5 * len(names)
        ax = pictures.axes(ax, width=size + 1.2, height=size)
        text = [["" if math.isnan(v) else f"{100 * v:.0f}" for v in row] for row in cells]
        pictures.shaded(ax, cells, text)
        ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
        ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
        return ax


@question(BradleyTerrySettings)
def bradley_terry(labels: Annotations | Chunks, settings: BradleyTerrySettings) -> Leaderboard:
    """Which system do raters prefer? Bradley–Terry ratings, which do not depend on the order of votes.

    Parameters
    ----------
    labels : Annotations
        Votes: labels on the scale ``preference`` with columns ``first`` and ``second`` that name the systems.

    Returns
    -------
    Leaderboard

    Raises
    ------
    DesignError
        For labels that are no votes, and where a system won (or lost) every vote against the others: then no finite
        rating is likeliest.
    DataError
        For a vote without a system or on a system against itself, an unknown system or column.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({
    ...     "item": [f"i{i}" for i in range(8)], "annotator": "ann", "first": "a", "second": "b",
    ...     "label": [-1, -1, -1, -1, -1, -1, 1, 0],
    ... })
    >>> found = assay.bradley_terry(assay.read(frame, scale="preference"), method="none")
    >>> found.rows.select("system", "estimate").with_columns(pl.col("estimate").round(1)).rows()
    [('a', 1127.4), ('b', 872.6)]

    *a* won 6.5 of 8: log₁₀(6.5 / 1.5) · 400 = 254.7 points between them.
    """
    votes = Votes.of(labels, settings, "Bradley-Terry", settings.separability)
    if settings.separability is not None:
        votes = votes.sorted()  # sums of fractions depend on their order, counts do not
    weights = _weights(votes, settings)
    statistic = _Strengths.of(votes, weights, settings)
    if settings.method == "none":
        sums, unit = statistic.sums(votes.counts(weights)), "items"
    else:
        units = votes.units(statistic.width)
        sums, unit = statistic.sums(votes.counts(weights, units.of_item[votes.item], units.n)), units.name
    found = estimate_sums(statistic, sums, settings, n_items=votes.n_items, unit=unit)
    exclusions = votes.exclusions
    if settings.ties == "drop" and (dropped := int((votes.label == 0).sum())):
        exclusions = (*exclusions, Exclusion("vote", dropped, "a tie, with ties='drop'"))
    run = Run("bradley-terry", settings, votes.data, votes.facts, found.describe_interval(), exclusions)
    return _leaderboard(votes, found, run)


@question(EloSettings)
def elo(labels: Annotations | Chunks, settings: EloSettings) -> Leaderboard:
    """Which system do raters prefer? Elo ratings, equation 5; weighted by separability they are SEP-Elo, equation 6.

    Parameters
    ----------
    labels : Annotations
        Votes, as for `bradley_terry`.

    Returns
    -------
    Leaderboard
        ``order_sd`` is the standard deviation of a rating over the random orders.

    Raises
    ------
    DesignError, DataError
        As `bradley_terry`; a system that never lost has a finite Elo rating. ``method`` is "percentile" or "none".
    """
    if settings.method not in ("percentile", "none"):
        raise DesignError(
            f"method='{settings.method}' leaves out items one at a time, which says nothing of a rating that depends "
            "on the order of votes; use method='percentile'"
        )
    votes = Votes.of(labels, settings, "Elo", settings.separability, settings.order).sorted()
    weights = _weights(votes, settings)
    runs = _EloRuns(votes, settings, np.full(len(votes), settings.k) if weights is None else settings.k * weights)
    value, orders = runs.declared_order(), np.empty((0, len(votes.systems)))
    if value is None or settings.n_orders > 1:
        orders = runs.random_orders()
    value = orders.mean(axis=0) if value is None else value
    units = votes.units(1)
    none = np.empty((0, len(value)))
    replicates = none if settings.method == "none" else runs.resample(units.of_item, units.n)
    found = of_replicates(value, replicates, settings, n_items=votes.n_items, n_units=units.n, unit=units.name)
    each = f"each resample is the mean of {counted(runs.orders_each, 'random order')} of its votes"
    run = Run(
        "elo", settings, votes.data, votes.facts, found.describe_interval(), votes.exclusions,
        (each,) if settings.order is None and len(replicates) else (),
    )  # fmt: skip
    sd = orders.std(axis=0, ddof=1) if len(orders) > 1 else np.full(len(value), np.nan)
    return _leaderboard(votes, found, run, order_sd=sd)


def _weights(votes: Votes, settings: RatingSettings) -> Floats | None:
    """The weight of each vote, equation 6; None where nothing weighs them."""
    if settings.separability is None:
        changed = [name for name in ("alpha", "beta", "separability_threshold") if name in settings.changed()]
        if changed:
            raise DesignError(f"{changed[0]}=... weighs votes by separability; name its column with separability=...")
        return None
    column = votes.columns[settings.separability]
    if not column.dtype.is_numeric() or column.null_count() or column.is_nan().any():
        raise DesignError(
            f"separability='{settings.separability}' must be a number of every item; "
            + (f"it is {column.dtype}" if not column.dtype.is_numeric() else f"{column.null_count()} votes have none")
        )
    delta = column.cast(pl.Float64).to_numpy()
    return weight(delta, settings.alpha, settings.beta, settings.separability_threshold)


# -- Bradley-Terry ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Strengths:
    """Ratings from sums over votes: wins of each system over each other, and ties where they are counted apart."""

    systems: tuple[str, ...]
    settings: BradleyTerrySettings
    first_guess: Floats

    @classmethod
    def of(cls, votes: Votes, weights: Floats | None, settings: BradleyTerrySettings) -> _Strengths:
        """Refused where there is no finite answer."""
        made = cls(votes.systems, settings, np.zeros(len(votes.systems)))
        wins, ties = made._tables(made.sums(votes.counts(weights))[0])
        groups = tournaments.unbounded_groups(wins, ties)
        if len(groups) > 1:
            best = [votes.systems[i] for i in groups[0]]
            raise DesignError(
                f"{listing(best, 4)} lost no vote against the other systems, or never met them, so no finite rating is "
                "likeliest; add votes with prior=1, or leave systems out with systems=..."
            )
        return cls(votes.systems, settings, tournaments.bradley_terry(wins, ties))

    @property
    def width(self) -> int:
        """Sums of a unit."""
        return len(self.systems) ** 2 * (2 if self.settings.ties == "davidson" else 1)

    def sums(self, counts: Floats) -> Floats:
        """Wins of the row's system over the column's, and ties where they are counted apart: (units, width)."""
        wins = counts[:, 0] + counts[:, 2].swapaxes(1, 2)
        ties = counts[:, 1] + counts[:, 1].swapaxes(1, 2)
        if self.settings.ties == "davidson":
            wins = np.stack([wins, ties], axis=1)
        elif self.settings.ties == "half":
            wins = wins + ties / 2
        return wins.reshape(len(counts), -1).astype(float, copy=False)

    def _tables(self, sums: Floats) -> tuple[Floats, Floats | None]:
        s, half = len(self.systems), self.settings.prior / 2
        cells = sums.reshape(*sums.shape[:-1], -1, s, s)
        wins = cells[..., 0, :, :] + half * (1 - np.eye(s))
        ties = cells[..., 1, :, :] if cells.shape[-3] == 2 and cells[..., 1, :, :].any() else None
        return wins, ties

    def value(self, sums: Floats) -> Floats:
        """Ratings, (..., systems)."""
        theta = tournaments.bradley_terry(*self._tables(sums), start=self.first_guess)
        return np.asarray(self.settings.start + theta * self.settings.rating_scale / math.log(self.settings.base))


# -- Elo --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _EloRuns:
    """Runs through the votes, many at a time."""

    votes: Votes
    settings: EloSettings
    step: Floats

    def ratings(self, orders: NDArray[np.int64]) -> Floats:
        """(length, runs) -> (runs, systems)."""
        s, v = self.settings, self.votes
        start = np.full(len(v.systems), float(s.start))
        slope = math.log(s.base) / s.rating_scale
        return tournaments.elo(v.first, v.second, (1 - v.label) / 2, self.step, orders, start, slope)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The votes as they came; those of one moment in the order of item and annotator."""
        if self.settings.order is None:
            return np.arange(len(self.votes))
        column = self.votes.columns[self.settings.order]
        if column.null_count():
            raise DesignError(
                f"{counted(column.null_count(), 'vote')} have no '{self.settings.order}', which says when they came"
            )
        return column.rank("dense").to_numpy().argsort(kind="stable").astype(np.int64)

    def declared_order(self) -> Floats | None:
        """Ratings by one run through the votes as they came; None where nothing says how."""
        return None if self.settings.order is None else self.ratings(self.order[:, None])[0]

    def random_orders(self) -> Floats:
        """Ratings of random orders: (n_orders, systems)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=(1,)))
        each = np.arange(len(self.votes))

        def draw(some: int) -> NDArray[np.int64]:
            found = np.empty((some, len(each)), dtype=np.int64)
            for row in found:
                row[:] = rng.permutation(each)
            return found.T

        return self._run_in_parts(self.settings.n_orders, draw)

    def resample(self, of_item: Ints, n_units: int) -> Floats:
        """Ratings of each resample of the units, with all their votes: (n_resamples, systems)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=(2,)))
        order, each, n = self.order, self.orders_each, self.settings.n_resamples
        often, unit = resampling_counts(n_units, n, self.settings.seed), of_item[self.votes.item[order]]
        runs = iter(np.repeat(np.arange(n), each).tolist())

        def draw(some: int) -> NDArray[np.int64]:
            drawn = [np.repeat(order, often[next(runs)][unit].astype(np.int64)) for _ in range(some)]
            found = np.full((max(map(len, drawn)), some), -1, dtype=np.int64)
            for i, votes in enumerate(drawn):
                found[: len(votes), i] = votes if self.settings.order is not None else rng.permutation(votes)
            return found

        return np.asarray(self._run_in_parts(n * each, draw).reshape(n, each, -1).mean(axis=1))

    @property
    def orders_each(self) -> int:
        """Random orders that each resample is the mean of."""
        if self.settings.order is not None:
            return 1
        return int(min(MOST_ORDERS, max(1, RESAMPLED_VOTES // (len(self.votes) * self.settings.n_resamples))))

    def _run_in_parts(self, runs: int, draw: Callable[[int], NDArray[np.int64]]) -> Floats:
        some = max(1, RUN_CELLS // max(len(self.votes), 1))
        return np.concatenate([self.ratings(draw(min(some, runs - i))) for i in range(0, runs, some)])


# -- the answer -------------------------------------------------------------------------------------


def _leaderboard(votes: Votes, found: Estimates, run: Run, order_sd: Floats | None = None) -> Leaderboard:
    best = np.argsort(-found.value, kind="stable")
    first, ties, second = votes.counts()[0]
    won, tied = first + second.T, ties + ties.T
    met = won + won.T + tied
    wins, even, total = (table.sum(axis=1)[best] for table in (won, tied, met))
    low, high = _ranks(found)
    names, none = pl.Series(votes.systems), [None] * len(best)
    rows = pl.DataFrame(
        {"system": names.gather(best), "estimate": found.value[best], "low": found.low[best],
         "high": found.high[best], "rank": np.arange(len(best)) + 1,
         "rank_low": none if low is None else low[best], "rank_high": none if high is None else high[best],
         "votes": total, "wins": wins, "ties": even, "losses": total - wins - even,
         "win_rate": (wins + even / 2) / total, **({} if order_sd is None else {"order_sd": order_sd[best]}),
         "reason": [found.reasons[i] for i in best]},
        schema_overrides={"reason": pl.String, "rank_low": pl.Int64, "rank_high": pl.Int64},
    )  # fmt: skip
    # Of every two that met, the better one first, then the other way round.
    i, j = (best[at] for at in np.nonzero(met[np.ix_(best, best)]))
    pairs = pl.DataFrame(
        {"first": names.gather(i), "second": names.gather(j), "win_rate": (won[i, j] + tied[i, j] / 2) / met[i, j],
         "wins": won[i, j], "ties": tied[i, j], "votes": met[i, j]}
    )  # fmt: skip
    return Leaderboard(rows, pairs, _apart(found, *best[:2].tolist()), run, found, votes.systems)


def _ranks(found: Estimates) -> tuple[Ints | None, Ints | None]:
    """The range of each system's rank over the resamples, at the level of the intervals; none where there are none."""
    known = found.replicates[~np.isnan(found.replicates).any(axis=1)]
    if not len(known) or len(known) < LEAST_KNOWN * len(found.replicates):
        return None, None
    rank = (known[:, None, :] > known[:, :, None]).sum(axis=2) + 1
    tail = (1 - found.confidence) / 2
    low, high = (np.quantile(rank, q, axis=0, method="nearest").astype(np.int64) for q in (tail, 1 - tail))
    return low, high


def _apart(found: Estimates, first: int, second: int) -> Estimate:
    weights = np.zeros(len(found))
    weights[[first, second]] = 1, -1
    if not (len(found.replicates) or len(found.leave_one_out)):
        return Estimate(float(found.value @ weights), math.nan, math.nan, math.nan, "no interval was asked for")
    return found.contrast(weights)[0]
