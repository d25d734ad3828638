"""Which system is better? Bradley–Terry and Elo ratings from votes, with intervals, ranks and the table of wins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import Intervals
from assay.estimation.resampling import estimate_sums, of_replicates, resampling_counts
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.preference.votes import BradleyTerrySettings, EloSettings, RatingSettings, Tied, Votes, listed
from assay.reporting import pictures
from assay.reporting.tables import estimated, said
from assay.statistics import tournaments

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RUN_CELLS = 1 << 24
"""Votes times runs of Elo that are gone through together."""

RESAMPLED_VOTES = 2 * 10**7
"""Votes that all resamples of Elo together may go through, before each is the mean of fewer random orders."""

MOST_ORDERS = 10
"""Random orders that each resample is the mean of, at most."""


class RatingOptions(Intervals, total=False):
    """What `elo` and `bradley_terry` share, besides intervals: the percentile bootstrap of items with all their votes.

    Attributes
    ----------
    systems : tuple of str
        Votes between these alone.
    clusters : str
        An item column whose items are resampled together.
    scale, base, start : float
        The odds that a system is preferred grow by the factor ``base`` (10) for every ``scale`` points (400) that it
        is ahead; ``start`` (1,000) is Elo's first rating and Bradley–Terry's mean.
    separability : str
        A column of the items by which votes are weighted: eq. 6, α / (1 + exp(−β (δ − T))).
    alpha, beta, threshold : float
        α, β and T of eq. 6; the paper's 2, 6 and .4.
    """

    systems: tuple[str, ...] | None
    clusters: str | None
    scale: float
    base: float
    start: float
    separability: str | None
    alpha: float
    beta: float
    threshold: float


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
            places = f"{row['rank_low']} to {row['rank_high']}" if row["rank_low"] is not None else "no interval"
            lines.append(
                f"{row['rank']}. {row['system']}: {estimated(row['estimate'], row['low'], row['high'], 0)}, "
                f"rank {places}; preferred in {100 * row['win_rate']:.0f}% of {counted(row['votes'], 'vote')}."
            )
        first, second = self.rows["system"].head(2).to_list()
        clear = "ahead of" if self.lead.low > 0 else "not clearly ahead of"
        lines.append(f"{first} is {clear} {second}: {estimated(self.lead.estimate, self.lead.low, self.lead.high, 0)}.")
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


def bradley_terry(
    labels: Annotations | Chunks, *, ties: Tied = "half", prior: float = 0.0, **options: Unpack[RatingOptions]
) -> Leaderboard:
    """Which system do raters prefer? Bradley–Terry ratings, which do not depend on the order of votes.

    Parameters
    ----------
    labels : Annotations
        Votes: labels on the scale ``preference`` with columns ``first`` and ``second`` that name the systems.
    ties : {"half", "davidson", "drop"}
        A tie is half a vote for each; or has a probability of its own (Davidson 1970), which leaves ratings farther
        apart where ties are many; or does not count.
    prior : float
        Votes added to every pair of systems, half for each. Above 0, a system that never lost has a finite rating.
    **options
        See `RatingOptions`.

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
    settings = BradleyTerrySettings.of({**listed(options), "ties": ties, "prior": prior}, "bradley_terry")
    votes = Votes.of(labels, settings, "Bradley-Terry", settings.separability)
    weights = _weights(votes, settings)
    statistic = _Strengths.of(votes, weights, settings)
    units = votes.units(statistic.width)
    found = estimate_sums(
        statistic, statistic.sums(votes, weights, units.of_item, units.n), settings, n_items=votes.n_items,
        unit=units.name,
    )  # fmt: skip
    run = Run("bradley-terry", settings, votes.data, votes.facts, found.describe_interval(), statistic.excluded(votes))
    return _leaderboard(votes, found, run)


def elo(
    labels: Annotations | Chunks,
    *,
    k: float = 32.0,
    order: str | None = None,
    n_orders: int = 100,
    **options: Unpack[RatingOptions],
) -> Leaderboard:
    """Which system do raters prefer? Elo ratings, equation 5; weighted by separability they are SEP-Elo, equation 6.

    Parameters
    ----------
    labels : Annotations
        Votes, as for `bradley_terry`.
    k : float
        How far one vote moves a rating, in points, at most.
    order : str, optional
        A column that says in which order the votes came: one run through them. Without it a rating is the mean over
        ``n_orders`` random orders, for the last votes of a run count most and no order is the right one.
    n_orders : int
        Random orders; with ``order`` they say how much it matters.
    **options
        See `RatingOptions`. Each bootstrap resample is the mean over up to ten random orders, and fewer of many
        votes, which makes the interval wider (a note says how many); with ``order`` it is one run in that order.

    Returns
    -------
    Leaderboard
        ``order_sd`` is the standard deviation of a rating over the random orders.

    Raises
    ------
    DesignError, DataError
        As `bradley_terry`; a system that never lost has a finite Elo rating. ``method`` is "percentile" or "none".
    """
    settings = EloSettings.of({**listed(options), "k": k, "order": order, "n_orders": n_orders}, "elo")
    if settings.method not in ("percentile", "none"):
        raise DesignError(
            f"method='{settings.method}' leaves out items one at a time, which says nothing of a rating that depends "
            "on the order of votes; use method='percentile'"
        )
    votes = Votes.of(labels, settings, "Elo", settings.separability, settings.order)
    runs = _Runs(votes, settings, settings.k * _weights(votes, settings))
    orders = runs.random_orders()
    value = orders.mean(axis=0) if settings.order is None else runs.ratings(runs.in_order()[:, None])[0]
    units = votes.units(1)
    none = np.empty((0, len(value)))
    replicates = none if settings.method == "none" else runs.resampled(units.of_item, units.n)
    found = of_replicates(value, replicates, settings, n_items=votes.n_items, n_units=units.n, unit=units.name)
    each = f"each resample is the mean of {counted(runs.orders_each, 'random order')} of its votes"
    run = Run(
        "elo", settings, votes.data, votes.facts, found.describe_interval(), votes.exclusions,
        (each,) if settings.order is None and len(replicates) else (),
    )  # fmt: skip
    sd = orders.std(axis=0, ddof=1) if len(orders) > 1 else np.full(len(value), np.nan)
    return _leaderboard(votes, found, run, order_sd=sd)


def _weights(votes: Votes, settings: RatingSettings) -> Floats:
    """The weight of each vote, equation 6; 1 where nothing weighs them."""
    if settings.separability is None:
        changed = [name for name in ("alpha", "beta", "threshold") if name in settings.changed()]
        if changed:
            raise DesignError(f"{changed[0]}=... weighs votes by separability; name its column with separability=...")
        return np.ones(len(votes))
    column = votes.column(settings.separability)
    if not column.dtype.is_numeric() or column.null_count() or column.is_nan().any():
        raise DesignError(
            f"separability='{settings.separability}' must be a number of every item; "
            + (f"it is {column.dtype}" if not column.dtype.is_numeric() else f"{column.null_count()} votes have none")
        )
    delta = column.cast(pl.Float64).to_numpy()
    return np.asarray(settings.alpha / (1 + np.exp(-settings.beta * (delta - settings.threshold))))


# -- Bradley-Terry ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Strengths:
    """Ratings from sums over votes: wins of each system over each other, and ties where they stand apart."""

    systems: tuple[str, ...]
    settings: BradleyTerrySettings
    first_guess: Floats

    @classmethod
    def of(cls, votes: Votes, weights: Floats, settings: BradleyTerrySettings) -> _Strengths:
        """Refused where there is no finite answer."""
        made = cls(votes.systems, settings, np.zeros(len(votes.systems)))
        whole = made.sums(votes, weights, np.zeros(votes.n_items, dtype=np.int64), 1)[0]
        wins, ties = made._tables(whole)
        groups = tournaments.unbounded(wins, ties)
        if len(groups) > 1:
            best = [votes.systems[i] for i in groups[0]]
            raise DesignError(
                f"{listing(best, 4)} lost no vote against the other systems, or never met them, so no finite rating is "
                "likeliest; add votes with prior=1, or leave systems out with systems=..."
            )
        return cls(votes.systems, settings, tournaments.bradley_terry(wins, ties))

    @property
    def apart(self) -> bool:
        """Whether ties have sums of their own."""
        return self.settings.ties == "davidson"

    @property
    def width(self) -> int:
        """Sums of a unit."""
        return len(self.systems) ** 2 * (2 if self.apart else 1)

    def sums(self, votes: Votes, weights: Floats, of_item: Ints, n: int) -> Floats:
        """(units, width): the weight of votes in each cell."""
        s, tied = len(self.systems), votes.label == 0
        one, other = votes.first * s + votes.second, votes.second * s + votes.first
        cell = np.where(votes.label > 0, other, one)
        share = np.where(tied, {"half": 0.5, "davidson": 0.0, "drop": 0.0}[self.settings.ties], 1.0) * weights
        parts = [(cell, share)]
        if self.settings.ties == "half":
            parts.append((np.where(tied, other, 0), np.where(tied, 0.5, 0.0) * weights))
        if self.apart:
            parts += [(s * s + c, np.where(tied, weights, 0.0)) for c in (one, other)]
        found = np.zeros(n * self.width)
        for where, much in parts:
            found += np.bincount(of_item[votes.item] * self.width + where, much, n * self.width)
        return found.reshape(n, self.width)

    def excluded(self, votes: Votes) -> tuple[Exclusion, ...]:
        """What does not count."""
        dropped = int((votes.label == 0).sum()) if self.settings.ties == "drop" else 0
        gone = (Exclusion("vote", dropped, "a tie, with ties='drop'"),) if dropped else ()
        return (*votes.exclusions, *gone)

    def _tables(self, sums: Floats) -> tuple[Floats, Floats | None]:
        s, half = len(self.systems), self.settings.prior / 2
        cells = sums.reshape(*sums.shape[:-1], -1, s, s)
        wins = cells[..., 0, :, :] + half * (1 - np.eye(s))
        ties = cells[..., 1, :, :] if self.apart and cells[..., 1, :, :].any() else None
        return wins, ties

    def value(self, sums: Floats) -> Floats:
        """Ratings, (..., systems)."""
        theta = tournaments.bradley_terry(*self._tables(sums), start=self.first_guess)
        return np.asarray(self.settings.start + theta * self.settings.scale / math.log(self.settings.base))


# -- Elo --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs through the votes, many at a time."""

    votes: Votes
    settings: EloSettings
    step: Floats

    def ratings(self, orders: NDArray[np.int64]) -> Floats:
        """(length, runs) -> (runs, systems)."""
        s, v = self.settings, self.votes
        start = np.full(len(v.systems), float(s.start))
        return tournaments.elo(
            v.first, v.second, (1 - v.label) / 2, self.step, orders, start, math.log(s.base) / s.scale
        )  # fmt: skip

    def in_order(self) -> NDArray[np.int64]:
        """The votes as they came; those of one moment in the order of item and annotator."""
        if self.settings.order is None:
            return np.arange(len(self.votes))
        column = self.votes.column(self.settings.order)
        if column.null_count():
            raise DesignError(
                f"{counted(column.null_count(), 'vote')} have no '{self.settings.order}', which says when they came"
            )
        return column.rank("dense").to_numpy().argsort(kind="stable").astype(np.int64)

    def random_orders(self) -> Floats:
        """Ratings of random orders: (n_orders, systems)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=(1,)))
        each = np.arange(len(self.votes))

        def draw(some: int) -> NDArray[np.int64]:
            found = np.empty((some, len(each)), dtype=np.int64)
            for row in found:
                row[:] = rng.permutation(each)
            return found.T

        return self._in_parts(self.settings.n_orders, draw)

    def resampled(self, of_item: Ints, n_units: int) -> Floats:
        """Ratings of each resample of the units, with all their votes: (n_resamples, systems)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=(2,)))
        order, each, n = self.in_order(), self.orders_each, self.settings.n_resamples
        often, unit = resampling_counts(n_units, n, self.settings.seed), of_item[self.votes.item[order]]
        runs = iter(np.repeat(np.arange(n), each).tolist())

        def draw(some: int) -> NDArray[np.int64]:
            drawn = [np.repeat(order, often[next(runs)][unit].astype(np.int64)) for _ in range(some)]
            found = np.full((max(map(len, drawn)), some), -1, dtype=np.int64)
            for i, votes in enumerate(drawn):
                found[: len(votes), i] = votes if self.settings.order is not None else rng.permutation(votes)
            return found

        return np.asarray(self._in_parts(n * each, draw).reshape(n, each, -1).mean(axis=1))

    @property
    def orders_each(self) -> int:
        """Random orders that each resample is the mean of."""
        if self.settings.order is not None:
            return 1
        return int(min(MOST_ORDERS, max(1, RESAMPLED_VOTES // (len(self.votes) * self.settings.n_resamples))))

    def _in_parts(self, runs: int, draw: Callable[[int], NDArray[np.int64]]) -> Floats:
        some = max(1, RUN_CELLS // max(len(self.votes), 1))
        return np.concatenate([self.ratings(draw(min(some, runs - i))) for i in range(0, runs, some)])


# -- the answer -------------------------------------------------------------------------------------


def _leaderboard(votes: Votes, found: Estimates, run: Run, order_sd: Floats | None = None) -> Leaderboard:
    best = np.argsort(-found.value, kind="stable")
    n = len(votes.systems)
    label, cell = votes.label, votes.first * n + votes.second
    first, second, ties = (
        np.bincount(cell[said], minlength=n * n).reshape(n, n) for said in (label < 0, label > 0, label == 0)
    )
    won, tied = first + second.T, ties + ties.T
    met = won + won.T + tied
    ranks = _ranks(found)
    rows = []
    for place, i in enumerate(best.tolist(), 1):
        wins, ties, total = won[i].sum(), tied[i].sum(), met[i].sum()
        rows.append(
            {"system": votes.systems[i], **found[i].row(), "rank": place, "rank_low": ranks[i][0],
             "rank_high": ranks[i][1], "votes": int(total), "wins": int(wins), "ties": int(ties),
             "losses": int(total - wins - ties), "win_rate": float((wins + ties / 2) / total),
             **({} if order_sd is None else {"order_sd": float(order_sd[i])}), "reason": found[i].reason}
        )  # fmt: skip
    pairs = [
        {"first": votes.systems[i], "second": votes.systems[j], "win_rate": (won[i, j] + tied[i, j] / 2) / met[i, j],
         "wins": int(won[i, j]), "ties": int(tied[i, j]), "votes": int(met[i, j])}
        for i in best.tolist() for j in best.tolist() if i != j and met[i, j]
    ]  # fmt: skip
    types = {"reason": pl.String, "rank_low": pl.Int64, "rank_high": pl.Int64}
    lead = _apart(found, *best[:2].tolist())
    return Leaderboard(
        pl.DataFrame(rows, schema_overrides=types), pl.DataFrame(pairs), lead, run, found,
        votes.systems,
    )  # fmt: skip


def _ranks(found: Estimates) -> list[tuple[int | None, int | None]]:
    """The range of each system's rank over the resamples, at the level of the intervals; none where there are none."""
    known = found.replicates[~np.isnan(found.replicates).any(axis=1)]
    if not len(known) or len(known) < (1 - 0.05) * len(found.replicates):
        return [(None, None)] * len(found)
    rank = (known[:, None, :] > known[:, :, None]).sum(axis=2) + 1
    tail = (1 - found.confidence) / 2
    low, high = (np.quantile(rank, q, axis=0, method="nearest") for q in (tail, 1 - tail))
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def _apart(found: Estimates, first: int, second: int) -> Estimate:
    weights = np.zeros(len(found))
    weights[[first, second]] = 1, -1
    if not (len(found.replicates) or len(found.leave_one_out)):
        return Estimate(float(found.value @ weights), math.nan, math.nan, math.nan, "no interval was asked for")
    return found.contrast(weights)[0]
