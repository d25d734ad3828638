"""Which system is better? Bradley–Terry and Elo ratings from votes, with intervals, ranks and the table of wins.

People and judges never share a board unless that is asked for. Where both voted, each judge's board is set against the
people's: on every two systems, do both order them in the same way, and is that shown?
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, EstimateByRule, Estimates, adjust_p
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Result, Run
from assay.preference.boards import (
    HUMANS,
    Board,
    BradleyTerryRate,
    EloRate,
    Poll,
    Rate,
    boards,
    covariate_columns,
    covariate_values,
    orders_each,
    votes_with_board,
)
from assay.preference.votes import NextPairsSettings, RatingSettings, Votes
from assay.reporting import pictures
from assay.reporting.tables import estimated, p_value, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PEOPLE = "people"
"""What sentences call the board of all people."""

NAMED_PAIRS = 3
"""Pairs of systems that one sentence names; the others are in the table."""


@dataclass(frozen=True, eq=False)
class Leaderboard(Result):
    """Systems by rating, best first; a board for the people, each judge, each category, as was asked for.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a board and system: ``who`` (humans, a judge, together), ``group`` (the value of ``by``), ``component``
        (the systems that votes connect, where there are others), ``system``, ``estimate`` (points), ``low``, ``high``,
        ``rank`` (equal ones share it), ``rank_low``, ``rank_high`` (over the resamples), ``votes``, ``wins``, ``ties``,
        ``losses``, ``win_rate`` (ties are half a win), ``order_sd`` (Elo: standard deviation of the rating over random
        orders), ``plain``, ``plain_rank`` (without covariates), ``reason``.
    wins : polars.DataFrame
        One row a board and ordered pair of systems that met: ``who``, ``group``, ``first``, ``second``, ``win_rate`` of
        the first, ``wins``, ``ties``, ``votes``.
    lead : Estimate
        The best system of the first board less the next, under the same resamples.
    pairs : polars.DataFrame
        Each judge against the people, one row a pair of systems that both boards hold: ``who`` (the judge), ``group``,
        ``first``, ``second`` (the people's better one first), ``people``, ``people_low``, ``people_high`` (their
        difference in points), ``judge``, ``judge_low``, ``judge_high``, ``order`` ("same", "flipped", "equal"), ``p``
        (the larger of the two p-values that neither difference is 0), ``p_adjusted`` (Holm, over the pairs of a judge),
        ``shown``.
    moves : polars.DataFrame
        One row a judge and system: ``who``, ``group``, ``system``, ``rank_of_people``, ``rank_of_judge``, ``shown``
        (whether a pair that it is in is shown to be flipped).
    agreement : mapping of judge to Estimate
        Kendall's τ of the judge's board and the people's, with an interval from the pairs whose order is shown.
    coefficients : polars.DataFrame
        What covariates are worth: ``who``, ``group``, ``component``, ``covariate``, ``estimate`` (points a standard
        deviation), ``low``, ``high``, ``odds`` (the factor of the odds), ``p``, ``p_adjusted`` (Holm), ``sd``,
        ``reason``.
    run : Run
    """

    symbol: ClassVar[str] = "rating"

    rows: pl.DataFrame
    wins: pl.DataFrame
    lead: Estimate
    pairs: pl.DataFrame
    moves: pl.DataFrame
    agreement: dict[str, Estimate]
    coefficients: pl.DataFrame
    run: Run
    boards: tuple[Board, ...] = field(repr=False, metadata={"json": False})
    votes: Votes = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The systems of each board, best first."""
        return self.rows

    @property
    def systems(self) -> tuple[str, ...]:
        """Those of the first board, in natural order."""
        return self.boards[0].systems

    @property
    def estimates(self) -> Estimates:
        """The ratings of the first board."""
        return self.boards[0].estimates

    @property
    def whose(self) -> tuple[str, ...]:
        """Who has a board."""
        return tuple(dict.fromkeys(board.who for board in self.boards))

    def row_estimates(self) -> Sequence[Estimate]:
        """The rating of each system in each board, best first."""
        return tuple(board.estimates[i] for board in self.boards for i in board.order.tolist())

    def difference(self, first: str, second: str, who: str | None = None, group: str | None = None) -> Estimate:
        """How many points one system is ahead of another on a board (the first), under the same resamples."""
        mine = self._boards_of(who, group)
        known = [name for board in mine for name in board.systems]
        for name in (first, second):
            if name not in known:
                raise DataError(unknown("system", name, known, "the leaderboard"))
        board = next((one for one in mine if {first, second} <= set(one.systems)), None)
        if board is None:
            raise DesignError(f"no vote connects {first} with {second}, so nothing says which is better")
        return board.difference(board.systems.index(first), board.systems.index(second))

    def _boards_of(self, who: str | None = None, group: str | None = None) -> list[Board]:
        """The boards of somebody (of the first board's), one a component."""
        names = self.whose
        who = names[0] if who is None else who
        if who not in names:
            raise DesignError(unknown("who", who, names, "the leaderboard"))
        groups = [board.group for board in self.boards if board.who == who]
        if group not in groups:
            raise DesignError(unknown("group", group, [g for g in groups if g is not None], "the leaderboard"))
        return [board for board in self.boards if board.who == who and board.group == group]

    @question(NextPairsSettings)
    def next_pairs(self, settings: NextPairsSettings) -> pl.DataFrame:
        """Which pairs of systems to ask about next, those that say most first.

        Returns
        -------
        polars.DataFrame
            One row a pair: ``first``, ``second``, ``difference``, ``low``, ``high`` (points), ``width`` (of that
            interval), ``information`` (log of the factor by which one more vote shrinks the volume of the ratings'
            confidence region: q (1 − q) times the variance of the difference in log odds, plus 1; infinite where no
            vote connects the two), ``votes`` so far, ``open`` (whether their order is not shown).
        """
        mine = self._boards_of(settings.who)
        rows: list[dict[str, object]] = []
        for board in mine:
            rows += _pair_rows(board)
        for one, other in itertools.combinations(mine, 2):
            rows += [
                {"first": a, "second": b, "information": math.inf, "votes": 0, "open": True}
                for a in one.systems for b in other.systems
            ]  # fmt: skip
        schema = {
            "first": pl.String, "second": pl.String,
            **dict.fromkeys(("difference", "low", "high", "width", "information"), pl.Float64), "votes": pl.Int64,
            "open": pl.Boolean,
        }  # fmt: skip
        found = pl.DataFrame(rows, schema=schema)
        if settings.aim == "information":  # what is not known stands last, what is infinite first
            return found.sort(pl.col("information").fill_nan(None), descending=True, nulls_last=True).head(settings.n)
        return found.sort(settings.aim, "information", descending=True).head(settings.n)

    def add(self, labels: Annotations | Chunks) -> Leaderboard:
        """The board with further votes, without reading or coding those that it holds; the fit begins at its ratings.

        The ratings, intervals and ranks are those of `ratings` of all votes.

        Raises
        ------
        DesignError
            For Elo, whose ratings depend on the order of all votes, and with ``clusters``.
        """
        settings: RatingSettings = self.run.settings  # type: ignore[assignment]
        if settings.model == "elo":
            raise DesignError(
                "Elo ratings depend on the order of all votes; compute them from all votes with "
                "assay.ratings(votes, model='elo')"
            )
        if settings.clusters is not None:
            raise DesignError("votes cannot be added with clusters=...; compute the ratings again from all votes")
        further = _votes_of(labels, settings)
        known = {
            (b.who, b.group, b.component): dict(zip(b.systems, b.estimates.value.tolist(), strict=True))
            for b in self.boards
        }
        return _make_boards(self.votes.combine(further), settings, BradleyTerryRate(settings, known))

    def summary(self) -> str:
        """How each judge's order differs from the people's; who leads, by how much, and each system's place."""
        lines = [*self.headlines()]
        several = len(self.boards) > 1
        leads = _clear_leads(self.boards, self.confidence)
        if not several:
            leads = [_Lead(self.lead, _is_clear(self.lead, self.confidence))]
        for board, lead in zip(self.boards, leads, strict=True):
            if several:
                lines.append(f"{_board_name(board)} ({counted(int(board.counts.sum()), 'vote')}):")
            lines += self._board_lines(board, lead)
        lines += _covariate_lines(self.coefficients, self.confidence)
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def headlines(self) -> list[str]:
        """One line a judge: whether its order of the systems is the people's."""
        lines = []
        for judge, found in self.agreement.items():
            mine = self.pairs.filter((pl.col("who") == judge) & pl.col("group").is_null())
            lines.append(_order_words(judge, mine, found, self.run.interval != "no interval"))
            flipped = pl.col("shown") & (pl.col("order") == FLIPPED)
            within = self.pairs.filter((pl.col("who") == judge) & pl.col("group").is_not_null() & flipped)
            for group in within["group"].unique(maintain_order=True):
                pairs = within.filter(pl.col("group") == group)
                lines.append(f"Within {group}, {judge} would change the order: {_flips(pairs)}.")
        if HUMANS in self.whose:
            judges = self.votes.judges
            failed = [b for b in self.boards if b.reason is not None and b.group is None and b.who in judges]
            lines += [f"{b.who} cannot be set against people: {b.reason}." for b in failed]
        return lines

    def _board_lines(self, board: Board, lead: _Lead) -> list[str]:
        if board.reason is not None:
            return [f"No ratings of {listing(board.systems, 4)}: {board.reason}."]
        lines = []
        where = (pl.col("who") == board.who) & pl.col("group").eq_missing(board.group)
        for row in self.rows.filter(where & pl.col("component").eq_missing(board.component)).iter_rows(named=True):
            places = "" if row["rank_low"] is None else f", rank {row['rank_low']} to {row['rank_high']}"
            lines.append(
                f"{row['rank']}. {row['system']}: {estimated(row['estimate'], row['low'], row['high'], 0)}"
                f"{places}; preferred in {100 * row['win_rate']:.0f}% of {counted(row['votes'], 'vote')}."
            )
        first, second = (board.systems[i] for i in board.order[:2].tolist())
        apart = lead.found
        if abs(apart.estimate) <= board.tolerance:
            lines.append(f"{first} and {second} have the same rating.")
        else:
            words = "less" if lead.clear is None else "is ahead of" if lead.clear else "is not clearly ahead of"
            number = estimated(apart.estimate, apart.low, apart.high, 0)
            lines.append(f"{first} {words} {second}: {number}{lead.words}.")
        if board.order_sd is not None:
            worst = float(board.order_sd.max())
            lines.append(f"Another order of the same votes moves a rating by {said(worst, 1)} (standard deviation).")
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each system's rating with its interval, best on top; people and judges in their colours."""
        several = len(self.boards) > 1
        rows, names, colours = self.rows, self.rows["system"].to_list(), [pictures.JUDGE] * self.rows.height
        if several:
            best = {name: i for i, name in enumerate(rows["system"].unique(maintain_order=True))}
            place = rows["system"].replace_strict(best, return_dtype=pl.Int64)
            rows = rows.with_columns(_place=place).sort("group", "_place", maintain_order=True)
            names = [
                ", ".join(filter(None, (r["system"], r["group"], PEOPLE if r["who"] == HUMANS else r["who"])))
                for r in rows.iter_rows(named=True)
            ]
            colours = [pictures.HUMAN if who == HUMANS else pictures.JUDGE for who in rows["who"]]
        most = pictures.MOST_ROWS
        rows = rows.head(most)
        ax = pictures.axes(ax, height=1.1 + 0.28 * max(rows.height, 2))
        pictures.forest_of_rows(ax, names[:most], rows, colour=colours[:most] if several else pictures.JUDGE)
        ax.set_xlabel("rating, points")
        return ax

    def plot_wins(self, ax: Axes | None = None, who: str | None = None) -> Axes:
        """How often the row's system is preferred to the column's, in percent; a tie is half a win."""
        who = self.boards[0].who if who is None else self._boards_of(who)[0].who
        mine = (pl.col("who") == who) & pl.col("group").is_null()
        names = self.rows.filter(mine)["system"].head(pictures.MOST_ROWS).to_list()
        place = {name: i for i, name in enumerate(names)}
        cells = np.full((len(names), len(names)), np.nan)
        for one, other, share in self.wins.filter(mine).select("first", "second", "win_rate").iter_rows():
            if one in place and other in place:
                cells[place[one], place[other]] = share
        size = 1.6 + 0.5 * len(names)
        ax = pictures.axes(ax, width=size + 1.2, height=size)
        text = [["" if math.isnan(v) else f"{100 * v:.0f}" for v in row] for row in cells]
        pictures.shaded(ax, cells, text)
        ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
        ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
        return ax


@question(RatingSettings)
def ratings(labels: Annotations | Chunks, settings: RatingSettings) -> Leaderboard:
    """Rank systems from votes, with Bradley–Terry or Elo ratings, for the humans and for each judge.

    Bradley–Terry ratings do not depend on the order of the votes. Elo ratings (equation 5) do; weighted by separability
    they are SEP-Elo (equation 6).

    Parameters
    ----------
    labels : Annotations
        Votes: labels on the scale ``preference`` with columns ``first`` and ``second`` that name the systems.

    Returns
    -------
    Leaderboard
        For Elo, ``order_sd`` is the standard deviation of a rating over the random orders.

    Raises
    ------
    DesignError
        For labels that are not votes, and for an option of the other model. For Bradley–Terry, if a system won (or
        lost) every vote against the others: the likelihood then has no finite maximum. Of several leaderboards, one
        without ratings has a reason. For Elo, if ``method`` is not "percentile" or "none".
    DataError
        For a vote without a system or on a system against itself, an unknown system or column.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({
    ...     "item": [f"i{i}" for i in range(8)], "annotator": "ann", "first": "a", "second": "b",
    ...     "label": [-1, -1, -1, -1, -1, -1, 1, 0],
    ... })
    >>> found = assay.ratings(assay.read(frame, scale="preference"), method="none")
    >>> found.rows.select("system", "estimate").with_columns(pl.col("estimate").round(1)).rows()
    [('a', 1127.4), ('b', 872.6)]

    *a* won 6.5 of 8: log₁₀(6.5 / 1.5) · 400 = 254.7 points between them.
    """
    if settings.model == "bradley-terry":
        return _make_boards(_votes_of(labels, settings), settings, BradleyTerryRate(settings))
    if settings.method not in ("percentile", "none"):
        raise DesignError(
            f"method='{settings.method}' leaves out items one at a time, which gives no interval for a rating that "
            "depends on the order of votes; use method='percentile'",
            option="method",
        )
    votes = Votes.of(labels, settings, "Elo", settings.separability, settings.order, category=settings.by).sorted()
    return _make_boards(votes, settings, EloRate(settings))


def _votes_of(labels: Annotations | Chunks, settings: RatingSettings) -> Votes:
    """The votes, with the columns that weigh, part and explain them."""
    labels = labels.in_memory("Bradley-Terry")
    made_of = covariate_columns(labels, settings.covariates)
    columns = dict.fromkeys(itertools.chain(*made_of.values()))
    votes = Votes.of(labels, settings, "Bradley-Terry", settings.separability, *columns, category=settings.by)
    if settings.separability is not None or settings.grades == "shares":
        votes = votes.sorted()  # sums of fractions depend on their order, counts do not
    values = {
        f"{COVARIATE}{covariate}": pl.Series(covariate_values(covariate, [votes.columns[c] for c in columns]))
        for covariate, columns in made_of.items()
    }
    kept = {name: column for name, column in votes.columns.items() if name not in columns or name == settings.by
            or name == settings.separability}  # fmt: skip
    return replace(votes, columns={**kept, **values})


COVARIATE = "covariate "
"""Before the name of a covariate among the columns of votes."""

SAME, FLIPPED, EVEN = "same", "flipped", "equal"


def _make_boards(votes: Votes, settings: RatingSettings, rate: Rate) -> Leaderboard:
    """All boards, what they say of each other, and what made them."""
    votes = votes_with_board(votes, settings.who)
    scaled, spreads = _scale_covariates(votes)
    asked: list[Poll] = []

    def rate_one(poll: Poll) -> Board:
        asked.append(poll)
        return rate(poll)

    found = boards(scaled, settings, rate_one)
    rows = pl.concat([_board_rows(board) for board in found], how="diagonal")
    wins = pl.concat([_wins(board) for board in found])
    first = next(board for board in found if board.reason is None)
    lead = first.difference(*first.order[:2].tolist())
    pairs, agreement = _compare_with_people(found, votes, settings)
    run = _run(votes, settings, found, asked)
    return Leaderboard(
        rows, wins, lead, pairs, _moves(found, pairs), agreement, _coefficients(found, settings, spreads), run, found,
        votes,
    )  # fmt: skip


def _scale_covariates(votes: Votes) -> tuple[Votes, dict[str, float]]:
    """Covariates in units of their spread around 0 over all votes: which output is first means nothing."""
    spreads, columns = {}, dict(votes.columns)
    for name in [one for one in votes.columns if one.startswith(COVARIATE)]:
        values = votes.columns[name].to_numpy()
        spread = float(np.sqrt(np.mean(values**2)))
        spreads[name.removeprefix(COVARIATE)] = spread
        columns[name] = pl.Series(values / (spread or 1.0))
    return (replace(votes, columns=columns) if spreads else votes), spreads


def _run(votes: Votes, settings: RatingSettings, found: Sequence[Board], asked: Sequence[Poll]) -> Run:
    exclusions, notes = votes.exclusions, []
    if settings.ties == "drop" and (dropped := int((votes.label == 0).sum())):
        exclusions = (*exclusions, Exclusion("vote", dropped, "a tie, with ties='drop'"))
    if settings.model == "elo" and settings.order is None and len(found[0].estimates.replicates):
        each = min(orders_each(poll.votes, settings) for poll in asked)
        notes.append(f"each resample is the mean of {counted(each, 'random order')} of its votes")
    parted = [board for board in found if board.component is not None]
    names = list(dict.fromkeys(board.component for board in parted))
    apart = (
        f"no vote connects {'; '.join(map(str, names))}: systems that never met, not even through others, have no "
        "common leaderboard. Ranks and ratings are within each of these groups."
    )
    return Run(
        "ratings", settings, votes.data, votes.facts,
        _intervals([board.estimates for board in found if board.reason is None]), _counted_once(exclusions),
        tuple(notes),
        (apart,) if names else (),
    )  # fmt: skip


def _counted_once(exclusions: Sequence[Exclusion]) -> tuple[Exclusion, ...]:
    """What was left out of votes that came at different times, for the same reason, as one."""
    sums: dict[tuple[str, str], int] = {}
    for one in exclusions:
        sums[one.what, one.reason] = sums.get((one.what, one.reason), 0) + one.count
    return tuple(Exclusion(what, count, reason) for (what, reason), count in sums.items())


def _intervals(found: Sequence[Estimates]) -> str:
    """How intervals were made; boards that rest on different numbers of items are said together."""
    ways: dict[str, list[int]] = {}
    for one in found:
        count = f"{one.n_units:,} {one.unit}"
        before, _, after = one.describe_interval().partition(count)
        ways.setdefault(f"{before}{{}} {one.unit}{after}" if _ else before, []).append(one.n_units)
    spans = ((way, f"{min(n):,} to {max(n):,}" if min(n) < max(n) else f"{n[0]:,}") for way, n in ways.items())
    return " or ".join(way.format(span) for way, span in spans)


# -- one board ----------------------------------------------------------------------------------------


def _board_rows(board: Board) -> pl.DataFrame:
    best = board.order
    ties, met = board.tied, board.met
    wins, even, total = (table.sum(axis=1)[best] for table in (board.won, ties, met))
    low, high = board.rank_ranges()
    none: list[Any] = [None] * len(best)
    found = board.estimates
    rated = board.reason is None
    plain_rank = none if board.plain is None else board.ranks_of(board.plain)[best]
    return pl.DataFrame(
        {"who": board.who, "group": board.group, "component": board.component,
         "system": pl.Series(board.systems).gather(best), "estimate": found.value[best], "low": found.low[best],
         "high": found.high[best], "rank": board.ranks[best] if rated else none,
         "rank_low": none if low is None else low[best], "rank_high": none if high is None else high[best],
         "votes": total, "wins": wins, "ties": even, "losses": total - wins - even,
         "win_rate": (wins + even / 2) / total,
         **({} if board.order_sd is None else {"order_sd": board.order_sd[best]}),
         **({} if board.plain is None else {"plain": board.plain[best], "plain_rank": plain_rank}),
         "reason": [found.reasons[i] for i in best]},
        schema_overrides={"group": pl.String, "component": pl.String, "reason": pl.String, "rank": pl.Int64,
                          "rank_low": pl.Int64, "rank_high": pl.Int64},
    )  # fmt: skip


def _wins(board: Board) -> pl.DataFrame:
    """Of every two that met, the better one first, then the other way round."""
    best, names = board.order, pl.Series(board.systems)
    i, j = (best[at] for at in np.nonzero(board.met[np.ix_(best, best)]))
    won, tied, met = board.won, board.tied, board.met
    return pl.DataFrame(
        {"who": board.who, "group": board.group, "first": names.gather(i), "second": names.gather(j),
         "win_rate": (won[i, j] + tied[i, j] / 2) / met[i, j], "wins": won[i, j], "ties": tied[i, j],
         "votes": met[i, j]},
        schema_overrides={"group": pl.String},
    )  # fmt: skip


def _board_name(board: Board) -> str:
    """Whose board it is."""
    who = {"humans": "People", "together": "People and judges together"}.get(board.who, board.who)
    return ", ".join(filter(None, (who, board.group, board.component and f"among {board.component}")))


def _is_clear(lead: Estimate, confidence: float) -> bool | None:
    """Whether a lead is shown, by its interval and its p-value; None where it has no interval.

    Of two equal systems the percentile interval alone puts one ahead in .09 of studies of 12 to 20 items, both in .05.
    """
    return None if math.isnan(lead.low) else lead.low > 0 and not lead.p() > 1 - confidence


class _Lead(NamedTuple):
    """The best system less the next, whether that is shown, and how several boards were corrected for."""

    found: Estimate
    clear: bool | None
    words: str = ""


def _clear_leads(found: Sequence[Board], confidence: float) -> list[_Lead]:
    """The lead of each board, and whether it is shown; several boards of one rater share one correction (Holm)."""
    leads = [board.difference(*board.order[:2].tolist()) for board in found]
    who = [board.who for board in found]
    p = adjust_p(np.array([lead.p() for lead in leads]), "holm", who)
    found_leads = []
    for lead, mine, one in zip(leads, p.tolist(), who, strict=True):
        if who.count(one) == 1:
            found_leads.append(_Lead(lead, _is_clear(lead, confidence)))
        else:
            clear = None if math.isnan(lead.low) else mine <= 1 - confidence
            found_leads.append(_Lead(lead, clear, f" ({p_value(mine)}, Holm)"))
    return found_leads


def _pair_rows(board: Board) -> Iterator[dict[str, object]]:
    """What is known of every two systems of a board."""
    if board.reason is not None:
        return
    n = len(board.systems)
    both = np.array(list(itertools.combinations(range(n), 2)))
    variance = board.covariance()
    met = board.met
    for (i, j), found in zip(both.tolist(), board.differences(both), strict=True):
        q = 1 / (1 + math.exp(-found.estimate * board.slope))
        spread = math.nan if variance is None else float(variance[i, i] + variance[j, j] - 2 * variance[i, j])
        gain = math.log1p(q * (1 - q) * spread * board.slope**2) if math.isfinite(spread) else math.nan
        yield {
            "first": board.systems[i], "second": board.systems[j], "difference": found.estimate, "low": found.low,
            "high": found.high, "width": found.high - found.low, "information": gain, "votes": int(met[i, j]),
            "open": not (found.low > 0 or found.high < 0),
        }  # fmt: skip


# -- each judge against the people --------------------------------------------------------------------
# A pair is decided where both differences are shown to leave 0, by the larger of their two-sided p-values: that is a
# test of "one of the two is 0" (intersection-union), at any dependence of the two boards. Holm's correction over the
# pairs of a judge keeps all false words about its order, "flipped" or "same", at the level together. Kendall's τ is
# the mean over pairs of 1 for the same order and −1 for the other, so it lies between what the decided pairs leave
# open. A bootstrap of τ itself does not: near 1 every resample is nearer to 0.


def _compare_with_people(
    found: Sequence[Board], votes: Votes, settings: RatingSettings
) -> tuple[pl.DataFrame, dict[str, Estimate]]:
    judges = [b for b in found if b.reason is None and b.who in votes.judges]
    people = [b for b in found if b.reason is None and b.who == HUMANS]
    rows: list[dict[str, object]] = []
    for judge in judges:
        for board in (one for one in people if one.group == judge.group):
            rows += _compare_pairs(board, judge)
    pairs = pl.DataFrame(rows, schema=_PAIRS)
    p = adjust_p(pairs["p"].to_numpy(), "holm", pairs["who"].to_list()) if rows else np.empty(0)
    shown = np.nan_to_num(p, nan=1.0) <= 1 - settings.confidence
    pairs = pairs.with_columns(p_adjusted=pl.Series(p, dtype=pl.Float64), shown=pl.Series(shown, dtype=pl.Boolean))
    agreement = {}
    for name in pairs["who"].unique(maintain_order=True):
        mine = pairs.filter((pl.col("who") == name) & pl.col("group").is_null())
        if mine.height:
            agreement[name] = _kendall(mine, settings.confidence)
    return pairs, agreement


_PAIRS = {
    **dict.fromkeys(("who", "group", "first", "second"), pl.String),
    **dict.fromkeys(
        ("people", "people_low", "people_high", "judge", "judge_low", "judge_high"), pl.Float64
    ), "order": pl.String, "p": pl.Float64,
}  # fmt: skip


def _compare_pairs(people: Board, judge: Board) -> Iterator[dict[str, object]]:
    """Every two systems that both boards hold."""
    ahead = [people.systems[i] for i in people.order.tolist() if people.systems[i] in judge.systems]
    names = list(itertools.combinations(ahead, 2))
    if not names:
        return
    ours, theirs = (
        board.differences(np.array([[board.systems.index(a), board.systems.index(b)] for a, b in names]))
        for board in (people, judge)
    )
    for (first, second), one, other in zip(names, ours, theirs, strict=True):
        even = abs(one.estimate) <= people.tolerance or abs(other.estimate) <= judge.tolerance
        order = EVEN if even else SAME if one.estimate * other.estimate > 0 else FLIPPED
        yield {
            "who": judge.who, "group": judge.group, "first": first, "second": second, "people": one.estimate,
            "people_low": one.low, "people_high": one.high, "judge": other.estimate, "judge_low": other.low,
            "judge_high": other.high, "order": order, "p": math.nan if even else float(max(one.p(), other.p())),
        }  # fmt: skip


def _kendall(pairs: pl.DataFrame, confidence: float) -> Estimate:
    """Kendall's τ, and what the decided pairs leave of it."""
    order, p = pairs["order"].to_list(), np.nan_to_num(pairs["p_adjusted"].to_numpy(), nan=1.0)
    known = bool(pairs["p"].is_not_nan().any()) or EVEN in order

    def ends(level: float) -> tuple[float, float]:
        if not known:
            return math.nan, math.nan
        decided = [(o, q <= 1 - level) for o, q in zip(order, p.tolist(), strict=True)]
        same, flipped = (sum(o == kind and sure for o, sure in decided) for kind in (SAME, FLIPPED))
        left = len(order) - same - flipped
        return (same - flipped - left) / len(order), (same - flipped + left) / len(order)

    value = (order.count(SAME) - order.count(FLIPPED)) / len(order)
    reason = None if known else "no interval was asked for"
    return EstimateByRule(value, *ends(confidence), math.nan, reason, ends=ends)


def _moves(found: Sequence[Board], pairs: pl.DataFrame) -> pl.DataFrame:
    """The rank of each system by the people and by each judge, and whether a flip that it is in is shown."""
    people = {
        (b.group, b.component, name): rank
        for b in found if b.who == HUMANS and b.reason is None
        for name, rank in zip(b.systems, b.ranks.tolist(), strict=True)
    }  # fmt: skip
    flips = pairs.filter(pl.col("shown") & (pl.col("order") == FLIPPED))
    moved = {(w, g, s) for w, g, *two in flips.select("who", "group", "first", "second").iter_rows() for s in two}
    judges = set(pairs["who"])
    rows = [
        {"who": b.who, "group": b.group, "system": b.systems[i], "rank_of_judge": int(b.ranks[i]),
         "rank_of_people": people[b.group, b.component, b.systems[i]],
         "shown": (b.who, b.group, b.systems[i]) in moved}
        for b in found if b.who in judges and b.reason is None
        for i in b.order.tolist() if (b.group, b.component, b.systems[i]) in people
    ]  # fmt: skip
    schema = {"who": pl.String, "group": pl.String, "system": pl.String, "rank_of_people": pl.Int64,
              "rank_of_judge": pl.Int64, "shown": pl.Boolean}  # fmt: skip
    return pl.DataFrame(rows, schema=schema).sort("who", "group", "rank_of_people", maintain_order=True)


def _order_words(judge: str, pairs: pl.DataFrame, tau: Estimate, intervals: bool) -> str:
    """The first thing to know of a judge: would it change the people's order of the systems?"""
    shown = pairs.filter(pl.col("shown"))
    same, flips = (shown.filter(pl.col("order") == kind) for kind in (SAME, FLIPPED))
    n, seen = pairs.height, pairs.filter(pl.col("order") == FLIPPED).height
    number = f"Kendall's τ {estimated(tau.estimate, tau.low, tau.high)}"
    if not intervals:
        return (
            f"{judge} orders {counted(n - seen, 'pair')} of {n} as people do ({number}); without intervals nothing "
            "says how sure that is."
        )
    alike = f"the same order is shown for {same.height} of {counted(n, 'pair')} of systems"
    if flips.height:
        return f"{judge} would change the order: {_flips(flips)}; {alike} ({number})."
    if same.height == n:
        return f"{judge} orders the systems as people do: {alike} ({number})."
    left = pairs.filter(~pl.col("shown")).select(pl.format("{} and {}", "first", "second")).to_series()
    where = listing(left.to_list(), 1) if left.len() > NAMED_PAIRS else ", ".join(left)
    if same.height:
        return f"{judge} is not shown to change the order: {alike}, and open for {where} ({number})."
    return (
        f"These votes cannot tell whether {judge} orders the systems as people do: the order is open for {where} "
        f"({number})."
    )


def _flips(pairs: pl.DataFrame) -> str:
    """Pairs of systems that a judge turns round, the surest first."""
    rows = pairs.sort("p_adjusted", maintain_order=True).head(NAMED_PAIRS).iter_rows(named=True)
    words = "; ".join(
        f"people put {r['first']} ahead of {r['second']}, it puts {r['second']} ahead ({p_value(r['p_adjusted'])})"
        for r in rows
    )
    return words + (f"; and {counted(pairs.height - NAMED_PAIRS, 'more pair')}" if pairs.height > NAMED_PAIRS else "")


# -- covariates ---------------------------------------------------------------------------------------


def _coefficients(found: Sequence[Board], settings: RatingSettings, spreads: dict[str, float]) -> pl.DataFrame:
    rows = []
    for board in found:
        for name, one in zip(spreads, board.covariates or (), strict=False):
            rows.append(
                {"who": board.who, "group": board.group, "component": board.component, "covariate": name, **one.row(),
                 "odds": math.exp(one.estimate * board.slope), "p": one.p(), "sd": spreads[name], "reason": one.reason}
            )  # fmt: skip
    text = ("who", "group", "component", "covariate")
    schema = {**dict.fromkeys(text, pl.String), **dict.fromkeys(("estimate", "low", "high", "odds", "p"), pl.Float64),
              "sd": pl.Float64, "reason": pl.String}  # fmt: skip
    table = pl.DataFrame(rows, schema=schema)
    p = adjust_p(table["p"].to_numpy(), "holm", table["who"].to_list()) if rows else np.empty(0)
    return table.insert_column(9, pl.Series("p_adjusted", p, dtype=pl.Float64))


def _covariate_lines(table: pl.DataFrame, confidence: float) -> list[str]:
    """What each covariate is worth to whom; over all votes."""
    lines = []
    several = table["who"].n_unique() > 1
    for row in table.filter(pl.col("group").is_null()).iter_rows(named=True):
        who = f"{PEOPLE if row['who'] == HUMANS else row['who']}: " if several else ""
        number = f"{estimated(row['estimate'], row['low'], row['high'], 0)} points for one standard deviation"
        shown = math.isfinite(row["p_adjusted"]) and row["p_adjusted"] <= 1 - confidence
        more = "more" if row["estimate"] > 0 else "less"
        words = f"{more} of it is preferred" if shown else "it is not shown to matter"
        lines.append(f"{who}{row['covariate']}: {words}, {number} ({p_value(row['p_adjusted'])}, Holm).")
    if lines:
        lines.append("Ratings are of outputs that are alike in these; the column plain has them as the votes are.")
    return lines
