"""Bradley–Terry and Elo ratings of systems from votes, with intervals, ranks and a table of wins.

Humans and judges have separate leaderboards unless ``who`` pools them. If both voted, each judge's leaderboard is
compared with the humans': for every pair of systems, whether both order it in the same way, and whether that is
demonstrated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.structure.sides import PAIR_OF
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimation.intervals import Estimate, EstimateByRule, Estimates, adjust_p, describe_together
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Result, Run
from assay.preference import words
from assay.preference.boards import (
    EQUAL,
    HUMANS,
    REVERSED,
    SAME,
    Board,
    BradleyTerryRate,
    EloRate,
    Lead,
    Poll,
    Rate,
    boards,
    covariate_columns,
    covariate_values,
    dependent_votes,
    orders_each,
    votes_with_board,
)
from assay.preference.votes import NextPairsSettings, RatingSettings, Votes, votes_of_scores
from assay.reporting import pictures
from assay.reporting.tables import p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Leaderboard(Result):
    """Systems by rating, best first: one leaderboard for the humans, each judge and each category, as requested.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per leaderboard and system: ``who`` (humans, a judge, together), ``group`` (the value of ``by``),
        ``component`` (the connected systems, if votes do not connect all of them), ``system``, ``estimate`` (points),
        ``low``, ``high``, ``rank`` (shared by equal ratings), ``rank_low``, ``rank_high`` (over the resamples),
        ``votes``, ``wins``, ``ties``, ``losses``, ``win_rate`` (a tie is half a win), ``order_sd`` (Elo: standard
        deviation of the rating over random orders), ``plain``, ``plain_rank`` (without covariates), ``reason``.
    wins : polars.DataFrame
        One row per leaderboard and ordered pair of systems with votes: ``who``, ``group``, ``first``, ``second``,
        ``win_rate`` of the first, ``wins``, ``ties``, ``votes``.
    lead : Estimate
        Rating of the best system minus that of the next, on the first leaderboard, under the same resamples.
    pairs : polars.DataFrame
        Each judge compared with the humans, one row per pair of systems on both leaderboards: ``who`` (the judge),
        ``group``, ``first``, ``second`` (the humans' better one first), ``humans``, ``humans_low``, ``humans_high``
        (their difference in points), ``judge``, ``judge_low``, ``judge_high``, ``order`` ("same", "reversed",
        "equal"), ``p`` (the larger of the p-values of the two differences), ``p_adjusted`` (Holm, over the pairs of a
        judge), ``demonstrated`` (whether the order, same or reversed, is significant), ``contradicted`` (whether the
        votes on the pair itself, of humans or judge, contradict the ratings, see ``fit``; p is then 1).
    ranks : polars.DataFrame
        One row per judge and system: ``who``, ``group``, ``system``, ``rank_humans``, ``rank_judge``, ``demonstrated``
        (whether the reversal of a pair with this system is significant).
    agreement : mapping of judge to Estimate
        Kendall's τ of the judge's leaderboard and the humans', with an interval from the demonstrated orders.
    coefficients : polars.DataFrame
        Effects of covariates: ``who``, ``group``, ``component``, ``covariate``, ``estimate`` (points per standard
        deviation), ``low``, ``high``, ``odds`` (the factor of the odds), ``p``, ``p_adjusted`` (Holm), ``sd``,
        ``reason``.
    fit : polars.DataFrame
        Bradley–Terry, at least three systems: each pair's votes compared with the ratings: ``who``, ``group``,
        ``component``, ``first`` (the better rated), ``second``, ``votes``, ``wins`` of the first (a tie is half a
        win), ``expected`` wins, ``residual`` (standardised), ``p``, ``p_own`` (of as many votes for each),
        ``p_adjusted`` (of ``p``; Holm, over the pairs of a rater), ``differs`` (whether that is significant),
        ``contradicts`` (whether most votes are for ``second``, and significantly: by ``p_own`` or by ``p_adjusted``).
    run : Run
    """

    symbol: ClassVar[str] = "rating"

    rows: pl.DataFrame
    wins: pl.DataFrame
    lead: Estimate
    pairs: pl.DataFrame
    ranks: pl.DataFrame
    agreement: dict[str, Estimate]
    coefficients: pl.DataFrame
    fit: pl.DataFrame
    run: Run
    boards: tuple[Board, ...] = field(repr=False, metadata={"json": False})
    votes: Votes = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The systems of each board, best first."""
        return self.rows

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems of the first leaderboard, in natural order."""
        return self.boards[0].systems

    @property
    def estimates(self) -> Estimates:
        """The ratings of the first board."""
        return self.boards[0].estimates

    @property
    def raters(self) -> tuple[str, ...]:
        """Raters with a leaderboard: humans, names of judges or annotators, together."""
        return tuple(dict.fromkeys(board.who for board in self.boards))

    def row_estimates(self) -> Sequence[Estimate]:
        """The rating of each system in each board, best first."""
        return tuple(board.estimates[i] for board in self.boards for i in board.order.tolist())

    def difference(self, first: str, second: str, who: str | None = None, group: str | None = None) -> Estimate:
        """Difference of two systems' ratings, in points, under the same resamples (default: the first leaderboard)."""
        mine = self._boards_of(who, group)
        known = [name for board in mine for name in board.systems]
        for name in (first, second):
            if name not in known:
                raise DataError(unknown("system", name, known, "the leaderboard"))
        board = next((one for one in mine if {first, second} <= set(one.systems)), None)
        if board is None:
            raise DesignError(f"no vote connects {first} with {second}, so their ratings cannot be compared")
        return board.difference(board.systems.index(first), board.systems.index(second))

    def _boards_of(self, who: str | None = None, group: str | None = None) -> list[Board]:
        """The leaderboards of one rater (default: the first), one per component."""
        names = self.raters
        who = names[0] if who is None else who
        if who not in names:
            raise DesignError(unknown("who", who, names, "the leaderboard"))
        groups = [board.group for board in self.boards if board.who == who]
        if group not in groups:
            raise DesignError(unknown("group", group, [g for g in groups if g is not None], "the leaderboard"))
        return [board for board in self.boards if board.who == who and board.group == group]

    @question(NextPairsSettings)
    def next_pairs(self, settings: NextPairsSettings) -> pl.DataFrame:
        """Pairs of systems for the next votes, the most informative first.

        Returns
        -------
        polars.DataFrame
            One row per pair: ``first``, ``second``, ``difference``, ``low``, ``high`` (points), ``width`` (of that
            interval), ``information`` (log of the factor by which one more vote shrinks the volume of the ratings'
            confidence region: q (1 − q) times the variance of the difference in log odds, plus 1; infinite if no
            vote connects the two), ``votes`` so far, ``undecided`` (whether their order is not
            significant, Holm-adjusted over the pairs of the leaderboard).
        """
        mine = self._boards_of(settings.who)
        rows: list[dict[str, object]] = []
        for board in mine:
            rows += _pair_rows(board, self.run.settings.confidence)  # type: ignore[attr-defined]
        for one, other in itertools.combinations(mine, 2):
            rows += [
                {"first": a, "second": b, "information": math.inf, "votes": 0, "undecided": True}
                for a in one.systems for b in other.systems
            ]  # fmt: skip
        schema = {
            "first": pl.String, "second": pl.String,
            **dict.fromkeys(("difference", "low", "high", "width", "information"), pl.Float64), "votes": pl.Int64,
            "undecided": pl.Boolean,
        }  # fmt: skip
        found = pl.DataFrame(rows, schema=schema)
        if settings.aim == "information":  # infinite values first, missing ones last
            return found.sort(pl.col("information").fill_nan(None), descending=True, nulls_last=True).head(settings.n)
        return found.sort(settings.aim, "information", descending=True).head(settings.n)

    def add(self, labels: Annotations | Chunks) -> Leaderboard:
        """Return the leaderboard with further votes added; earlier votes are not read again.

        The ratings, intervals and ranks equal those of `ratings` of all votes; the fit starts at the present ratings.

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
        """Compare each judge's order with the humans', and list the systems of each leaderboard, best first."""
        lines = [*self.headlines()]
        for board, lead in self._leads():
            if len(self.boards) > 1:
                lines.append(f"{words.board_name(board)} ({counted(int(board.counts.sum()), 'vote')}):")
            mine = (pl.col("who") == board.who) & pl.col("group").eq_missing(board.group)
            mine &= pl.col("component").eq_missing(board.component)
            lines += words.board_lines(board, self.rows.filter(mine), lead)
        return "\n".join([*lines, *self._closing()])

    def lead_lines(self) -> list[str]:
        """The same without the systems, for a page that has them in a table; the last line is the signature."""
        lines = [*self.headlines()]
        for board, lead in self._leads():
            of = f"{words.board_name(board)}: " if len(self.boards) > 1 else ""
            lines += [f"{of}{line}" for line in words.lead_lines(board, lead)]
        return [*lines, *self._closing()]

    def _leads(self) -> list[tuple[Board, Lead]]:
        """The lead on each leaderboard."""
        several = len(self.boards) > 1
        leads = _clear_leads(self.boards, self.confidence) if several else [_lead(self.lead, self.confidence)]
        return list(zip(self.boards, leads, strict=True))

    def _closing(self) -> list[str]:
        lines = [*words.fit_lines(self.fit), *words.covariate_lines(self.coefficients, self.confidence)]
        return [*lines, *self.run.closing(intervals=True)]

    def headlines(self) -> list[str]:
        """One line per judge: whether it orders the systems as humans do."""
        lines = []
        for judge, found in self.agreement.items():
            mine = self.pairs.filter((pl.col("who") == judge) & pl.col("group").is_null())
            order = words.order_line(judge, mine, found, intervals=self.run.interval != "no interval")
            lines.append(order + words.contradiction(mine))
            is_reversed = pl.col("demonstrated") & (pl.col("order") == REVERSED)
            within = self.pairs.filter((pl.col("who") == judge) & pl.col("group").is_not_null() & is_reversed)
            for group in within["group"].unique(maintain_order=True):
                pairs = within.filter(pl.col("group") == group)
                lines.append(f"{judge} and humans, {group}: {words.reversals(pairs)}.")
        if HUMANS in self.raters:
            judges = self.votes.judges
            failed = [b for b in self.boards if b.reason is not None and b.group is None and b.who in judges]
            lines += [f"{b.who} cannot be compared with humans: {b.reason}." for b in failed]
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of the ratings with their intervals, best on top; humans and judges in different colours."""
        several = len(self.boards) > 1
        rows, names, colours = self.rows, self.rows["system"].to_list(), [pictures.JUDGE] * self.rows.height
        if several:
            best = {name: i for i, name in enumerate(rows["system"].unique(maintain_order=True))}
            place = rows["system"].replace_strict(best, return_dtype=pl.Int64)
            rows = rows.with_columns(_place=place).sort("group", "_place", maintain_order=True)
            names = [
                ", ".join(filter(None, (r["system"], r["group"], words.rater_name(r["who"]))))
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
        """Heat map of how often the row's system is preferred to the column's, in percent; a tie is half a win."""
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
        return _make_boards(_votes_of(labels, settings), settings, BradleyTerryRate(settings), labels)
    if settings.method not in ("percentile", "none"):
        raise DesignError(
            f"method='{settings.method}' leaves out items one at a time, which gives no interval for a rating that "
            "depends on the order of votes; use method='percentile'",
            option="method",
        )
    return _make_boards(_votes_of(labels, settings), settings, EloRate(settings), labels)


def _votes_of(labels: Annotations | Chunks, settings: RatingSettings) -> Votes:
    """The votes, also those of scores."""
    take = _votes_of_elo if settings.model == "elo" else _votes_of_bradley_terry
    if settings.scored is None or settings.sources is None:
        return take(labels, settings)
    made, gone, data = votes_of_scores(labels.in_memory("scored"), settings.scored, settings.sources)
    votes = take(made, settings)
    return replace(votes, exclusions=(*gone, *votes.exclusions), data=data)


def _votes_of_elo(labels: Annotations | Chunks, settings: RatingSettings) -> Votes:
    return Votes.of(labels, settings, "Elo", settings.separability, settings.order, category=settings.by).sorted()


def _votes_of_bradley_terry(labels: Annotations | Chunks, settings: RatingSettings) -> Votes:
    """The votes, with columns of weights, categories and covariates."""
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
"""Prefix of a covariate's name among the columns of votes."""


def _make_boards(
    votes: Votes, settings: RatingSettings, rate: Rate, labels: Annotations | Chunks | None = None
) -> Leaderboard:
    """All leaderboards, the comparison of judges with humans, and the record of the run.

    With the table of the votes, cautions about dependent ones are sought; without it, those of the votes stay.
    """
    votes = votes_with_board(votes, settings.who)
    scaled, spreads = _scale_covariates(votes)
    polled: list[Poll] = []

    def rate_one(poll: Poll) -> Board:
        polled.append(poll)
        return rate(poll)

    found = boards(scaled, settings, rate_one)
    rows = pl.concat([board_rows(board) for board in found], how="diagonal")
    wins = pl.concat([board_wins(board) for board in found])
    first = next(board for board in found if board.reason is None)
    lead = first.difference(*first.order[:2].tolist())
    fit = _fit(found, settings.confidence)
    pairs, agreement = _compare_with_humans(found, votes, settings, fit)
    if labels is not None and settings.clusters is None and settings.method != "none":
        cautions = dependent_votes(found, polled, settings, labels.in_memory("ratings"))
        votes = replace(votes, cautions=cautions)
    run = _run(votes, settings, found, polled)
    return Leaderboard(
        rows, wins, lead, pairs, _ranks(found, pairs), agreement, _coefficients(found, settings, spreads),
        fit, run, found, votes,
    )  # fmt: skip


def _scale_covariates(votes: Votes) -> tuple[Votes, dict[str, float]]:
    """Covariates in units of their spread around 0 over all votes; the order of the two outputs is arbitrary."""
    spreads, columns = {}, dict(votes.columns)
    for name in [one for one in votes.columns if one.startswith(COVARIATE)]:
        values = votes.columns[name].to_numpy()
        spread = float(np.sqrt(np.mean(values**2)))
        spreads[name.removeprefix(COVARIATE)] = spread
        columns[name] = pl.Series(values / (spread or 1.0))
    return (replace(votes, columns=columns) if spreads else votes), spreads


def _run(votes: Votes, settings: RatingSettings, found: Sequence[Board], polled: Sequence[Poll]) -> Run:
    exclusions, notes = votes.exclusions, []
    if settings.ties == "drop" and (dropped := int((votes.label == 0).sum())):
        exclusions = (*exclusions, Exclusion("vote", dropped, "a tie, with ties='drop'"))
    if settings.model == "elo" and settings.order is None and len(found[0].estimates.replicates):
        each = min(orders_each(poll.votes, settings) for poll in polled)
        notes.append(f"each resample is the mean of {counted(each, 'random order')} of its votes")
    if settings.scored is not None:
        notes.append(f"a vote compares an annotator's scores of two systems on one value of '{settings.sources}'")
    if votes.items.name == PAIR_OF:
        notes.append(f"the votes on all pairs of one question are one item (column {PAIR_OF})")
    names = list(dict.fromkeys(board.component for board in found if board.component is not None))
    disconnected = (
        f"no vote connects {'; '.join(map(str, names))}: these groups of systems have no common leaderboard. Ranks and "
        "ratings are within each group."
    )
    return Run(
        "ratings", settings, votes.data, votes.facts,
        describe_together([board.estimates for board in found if board.reason is None]), _counted_once(exclusions),
        tuple(notes),
        (*((disconnected,) if names else ()), *votes.cautions),
    )  # fmt: skip


def _counted_once(exclusions: Sequence[Exclusion]) -> tuple[Exclusion, ...]:
    """Exclusions summed by reason, over votes that were added at different times."""
    sums: dict[tuple[str, str], int] = {}
    for one in exclusions:
        sums[one.what, one.reason] = sums.get((one.what, one.reason), 0) + one.count
    return tuple(Exclusion(what, count, reason) for (what, reason), count in sums.items())


# -- one board ----------------------------------------------------------------------------------------


def board_rows(board: Board) -> pl.DataFrame:
    """The rows of one leaderboard, the best system first; see `Leaderboard`."""
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


def board_wins(board: Board) -> pl.DataFrame:
    """Every ordered pair of systems with votes, the better one first."""
    best, names = board.order, pl.Series(board.systems)
    i, j = (best[at] for at in np.nonzero(board.met[np.ix_(best, best)]))
    won, tied, met = board.won, board.tied, board.met
    return pl.DataFrame(
        {"who": board.who, "group": board.group, "first": names.gather(i), "second": names.gather(j),
         "win_rate": (won[i, j] + tied[i, j] / 2) / met[i, j], "wins": won[i, j], "ties": tied[i, j],
         "votes": met[i, j]},
        schema_overrides={"group": pl.String},
    )  # fmt: skip


_FIT = {
    **dict.fromkeys(("who", "group", "component", "first", "second"), pl.String),
    **dict.fromkeys(("votes", "wins", "expected", "residual", "p", "p_own"), pl.Float64),
}


def _fit(found: Sequence[Board], confidence: float) -> pl.DataFrame:
    """The votes on each pair of every board, compared with the ratings."""
    rows: list[tuple[object, ...]] = []
    for board in found:
        if board.fit is None:
            continue
        for i, j, votes, wins, expected, residual, *p in zip(*(one.tolist() for one in board.fit), strict=True):
            turn = board.estimates.value[i] < board.estimates.value[j]
            first, second = (board.systems[at] for at in ((j, i) if turn else (i, j)))
            ahead = (votes - wins, votes - expected, -residual) if turn else (wins, expected, residual)
            rows.append((board.who, board.group, board.component, first, second, votes, *ahead, *p))
    table = pl.DataFrame(rows, schema=_FIT, orient="row")
    adjusted = adjust_p(table["p"].to_numpy(), "holm", table["who"].to_list()) if rows else np.empty(0)
    differs, own = (np.nan_to_num(p, nan=1.0) <= 1 - confidence for p in (adjusted, table["p_own"].to_numpy()))
    behind = (table["wins"] < table["votes"] / 2).to_numpy()
    more = {"differs": differs, "contradicts": behind & (differs | own)}
    marks = (pl.Series(name, values, dtype=pl.Boolean) for name, values in more.items())
    return table.with_columns(pl.Series("p_adjusted", adjusted, dtype=pl.Float64), *marks)


def _is_clear(lead: Estimate, confidence: float) -> bool | None:
    """Whether a lead is significant, by its interval and its p-value; None without an interval.

    With two equal systems and 12 to 20 items, the percentile interval alone excludes 0 in .09 of studies, the interval
    and the p-value together in .05.
    """
    return None if math.isnan(lead.low) else lead.low > 0 and not lead.p() > 1 - confidence


def _lead(found: Estimate, confidence: float) -> Lead:
    """A lead with its p-value, if its interval excludes 0 and its p-value is above the level."""
    clear = _is_clear(found, confidence)
    return Lead(found, clear, f" ({p_value(found.p())})" if clear is False and found.low > 0 else "")


def _clear_leads(found: Sequence[Board], confidence: float) -> list[Lead]:
    """The lead on each leaderboard, and whether it is significant; Holm-adjusted over the leaderboards of one rater."""
    leads = [board.difference(*board.order[:2].tolist()) for board in found]
    who = [board.who for board in found]
    p = adjust_p(np.array([lead.p() for lead in leads]), "holm", who)
    found_leads = []
    for lead, mine, one in zip(leads, p.tolist(), who, strict=True):
        if who.count(one) == 1:
            found_leads.append(_lead(lead, confidence))
        else:
            clear = None if math.isnan(lead.low) else mine <= 1 - confidence
            found_leads.append(Lead(lead, clear, f" ({p_value(mine)}, Holm)"))
    return found_leads


def _pair_rows(board: Board, confidence: float) -> Iterator[dict[str, object]]:
    """The difference, its interval and its information for every two systems of a leaderboard."""
    if board.reason is not None:
        return
    n = len(board.systems)
    both = np.array(list(itertools.combinations(range(n), 2)))
    variance = board.covariance()
    met = board.met
    differences = list(board.differences(both))
    adjusted = adjust_p(np.array([one.p() for one in differences]), "holm").tolist()
    for (i, j), found, p in zip(both.tolist(), differences, adjusted, strict=True):
        q = 1 / (1 + math.exp(-found.estimate * board.slope))
        spread = math.nan if variance is None else float(variance[i, i] + variance[j, j] - 2 * variance[i, j])
        gain = math.log1p(q * (1 - q) * spread * board.slope**2) if math.isfinite(spread) else math.nan
        yield {
            "first": board.systems[i], "second": board.systems[j], "difference": found.estimate, "low": found.low,
            "high": found.high, "width": found.high - found.low, "information": gain, "votes": int(met[i, j]),
            "undecided": not ((found.low > 0 or found.high < 0) and p <= 1 - confidence),
        }  # fmt: skip


# -- judges compared with humans ----------------------------------------------------------------------
# The order of a pair is demonstrated if both differences are significant, by the larger of their two-sided p-values:
# this intersection-union test of "one of the two is 0" is valid at any dependence of the two leaderboards. Holm's
# adjustment over the pairs of a judge bounds the probability of any false "reversed" or "same". Ratings of votes that
# run in a circle contradict the votes on a pair; no order of it is then demonstrated. Kendall's τ is the mean
# over pairs of 1 for the same order and −1 for the other, so the demonstrated pairs bound it. A bootstrap of τ itself
# fails: near 1 every resample is nearer to 0.


def _compare_with_humans(
    found: Sequence[Board], votes: Votes, settings: RatingSettings, fit: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, Estimate]]:
    judges = [b for b in found if b.reason is None and b.who in votes.judges]
    humans = [b for b in found if b.reason is None and b.who == HUMANS]
    doubt = fit.filter("contradicts").select("who", "group", "first", "second")
    against = {(who, group, frozenset(pair)) for who, group, *pair in doubt.iter_rows()}
    rows: list[dict[str, object]] = []
    for judge in judges:
        for board in (one for one in humans if one.group == judge.group):
            rows += _compare_pairs(board, judge, against)
    pairs = pl.DataFrame(rows, schema=_PAIRS)
    p = adjust_p(pairs["p"].to_numpy(), "holm", pairs["who"].to_list()) if rows else np.empty(0)
    significant = np.nan_to_num(p, nan=1.0) <= 1 - settings.confidence
    pairs = pairs.with_columns(
        p_adjusted=pl.Series(p, dtype=pl.Float64), demonstrated=pl.Series(significant, dtype=pl.Boolean)
    )
    agreement = {}
    for name in pairs["who"].unique(maintain_order=True):
        mine = pairs.filter((pl.col("who") == name) & pl.col("group").is_null())
        if mine.height:
            agreement[name] = _kendall(mine, settings.confidence)
    return pairs, agreement


_PAIRS = {
    **dict.fromkeys(("who", "group", "first", "second"), pl.String),
    **dict.fromkeys(
        ("humans", "humans_low", "humans_high", "judge", "judge_low", "judge_high"), pl.Float64
    ), "order": pl.String, "p": pl.Float64,
    "contradicted": pl.Boolean,
}  # fmt: skip


def _compare_pairs(humans: Board, judge: Board, contradicted: AbstractSet[Any]) -> Iterator[dict[str, object]]:
    """Every two systems on both leaderboards."""
    ahead = [humans.systems[i] for i in humans.order.tolist() if humans.systems[i] in judge.systems]
    names = list(itertools.combinations(ahead, 2))
    if not names:
        return
    ours, theirs = (
        board.differences(np.array([[board.systems.index(a), board.systems.index(b)] for a, b in names]))
        for board in (humans, judge)
    )
    for (first, second), one, other in zip(names, ours, theirs, strict=True):
        equal = abs(one.estimate) <= humans.tolerance or abs(other.estimate) <= judge.tolerance
        order = EQUAL if equal else SAME if one.estimate * other.estimate > 0 else REVERSED
        against = not equal and any(
            (b.who, b.group, frozenset((first, second))) in contradicted for b in (humans, judge)
        )
        p = math.nan if equal else float(max(one.p(), other.p()))
        yield {
            "who": judge.who, "group": judge.group, "first": first, "second": second, "humans": one.estimate,
            "humans_low": one.low, "humans_high": one.high, "judge": other.estimate, "judge_low": other.low,
            "judge_high": other.high, "order": order,
            "p": 1.0 if against and not math.isnan(p) else p, "contradicted": against,
        }  # fmt: skip


def _kendall(pairs: pl.DataFrame, confidence: float) -> Estimate:
    """Kendall's τ, with its bounds from the demonstrated pairs."""
    order, p = pairs["order"].to_list(), np.nan_to_num(pairs["p_adjusted"].to_numpy(), nan=1.0)
    known = bool(pairs["p"].is_not_nan().any()) or EQUAL in order

    def ends(level: float) -> tuple[float, float]:
        if not known:
            return math.nan, math.nan
        decided = [(o, q <= 1 - level) for o, q in zip(order, p.tolist(), strict=True)]
        same, turned = (sum(o == kind and known for o, known in decided) for kind in (SAME, REVERSED))
        rest = len(order) - same - turned
        if not rest:  # the bounds are the value itself
            return math.nan, math.nan
        return (same - turned - rest) / len(order), (same - turned + rest) / len(order)

    value = (order.count(SAME) - order.count(REVERSED)) / len(order)
    low, high = ends(confidence)
    reason = "no interval was requested" if not known else "the orders of all pairs are demonstrated"
    return EstimateByRule(value, low, high, math.nan, reason if math.isnan(low) else None, ends=ends)


def _ranks(found: Sequence[Board], pairs: pl.DataFrame) -> pl.DataFrame:
    """The rank of each system by the humans and by each judge, and whether a reversal with it is demonstrated."""
    humans = {
        (b.group, b.component, name): rank
        for b in found if b.who == HUMANS and b.reason is None
        for name, rank in zip(b.systems, b.ranks.tolist(), strict=True)
    }  # fmt: skip
    turned = pairs.filter(pl.col("demonstrated") & (pl.col("order") == REVERSED))
    moved = {(w, g, s) for w, g, *two in turned.select("who", "group", "first", "second").iter_rows() for s in two}
    judges = set(pairs["who"])
    rows = [
        {"who": b.who, "group": b.group, "system": b.systems[i], "rank_judge": int(b.ranks[i]),
         "rank_humans": humans[b.group, b.component, b.systems[i]],
         "demonstrated": (b.who, b.group, b.systems[i]) in moved}
        for b in found if b.who in judges and b.reason is None
        for i in b.order.tolist() if (b.group, b.component, b.systems[i]) in humans
    ]  # fmt: skip
    schema = {"who": pl.String, "group": pl.String, "system": pl.String, "rank_humans": pl.Int64,
              "rank_judge": pl.Int64, "demonstrated": pl.Boolean}  # fmt: skip
    return pl.DataFrame(rows, schema=schema).sort("who", "group", "rank_humans", maintain_order=True)


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
