"""One leaderboard: Bradley–Terry ratings, also with covariates, or Elo ratings of a set of votes.

A leaderboard compares systems that votes connect, directly or through other systems; unconnected systems cannot be
compared. Votes are therefore split by rater, by category and by connected systems, and each part is fitted separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations
from assay.data.columns import natural
from assay.data.structure.orders import numbers_of, order_of
from assay.data.structure.sides import PAIR, side_names
from assay.errors import DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, leave_out_variance, without_interval
from assay.estimation.resampling import estimate_replicates, estimate_sums, resampling_counts
from assay.estimation.result import Exclusion
from assay.estimation.statistic import Bools, Floats, Ints
from assay.preference.votes import RatingSettings, Votes, weight
from assay.statistics.clusters import CHANCE, dependence, item_columns
from assay.statistics.comparisons import tournaments
from assay.statistics.words import dependent_items

RUN_CELLS = 1 << 24
"""Votes times runs of Elo that are processed together: their orders take 128 MB."""

RESAMPLED_VOTES = 2 * 10**7
"""Votes in all resamples of Elo, which take about 2 s; with more votes each resample is the mean of fewer orders."""

MOST_ORDERS = 10
"""Largest number of random orders in a resample's mean: the order then adds a tenth of its variance to an interval."""

LEAST_KNOWN = 0.95
"""Share of the resamples that must have finite ratings for a range of ranks: the same as for intervals."""

TOLERANCE = 1e-7
"""Log odds within which two ratings are equal: fits converge to a hundredth of it."""

LEAST_FITTED = 3
"""Systems from which votes on pairs can differ from the ratings."""

HUMANS, TOGETHER = "humans", "together"
"""Leaderboards of several annotators: of all humans, and of all annotators."""

SAME, REVERSED, EQUAL = "same", "reversed", "equal"
"""Orders of a pair of systems on a judge's leaderboard, compared with the humans'."""


@dataclass(frozen=True, eq=False)
class Board:
    """The ratings of some votes.

    Attributes
    ----------
    who : str
        "humans", the name of one annotator, or "together".
    group : str or None
        The value of ``by``; None for all votes.
    component : str or None
        The connected systems, if votes do not connect all of them.
    systems : tuple of str
        In natural order.
    counts : (3, systems, systems) int
        Votes by outcome (first, tie, second).
    estimates : Estimates
        Ratings, one per system.
    slope : float
        Log odds per point.
    reason : str or None
        Why there are no ratings.
    order_sd : (systems,) float or None
        Elo: standard deviation of a rating over random orders.
    plain : (systems,) float or None
        Ratings without covariates.
    covariates : Estimates or None
        Effect of each covariate, in points per standard deviation.
    fit : PairFit or None
        Bradley–Terry: the votes on each pair compared with the ratings, of at least three systems.
    """

    who: str
    group: str | None
    component: str | None
    systems: tuple[str, ...]
    counts: Floats
    estimates: Estimates
    slope: float
    reason: str | None = None
    order_sd: Floats | None = None
    plain: Floats | None = None
    covariates: Estimates | None = None
    fit: tournaments.PairFit | None = None

    @cached_property
    def won(self) -> Floats:
        """Votes for the row's system over the column's: (systems, systems)."""
        return np.asarray(self.counts[0] + self.counts[2].T)

    @cached_property
    def tied(self) -> Floats:
        """Ties, symmetric."""
        return np.asarray(self.counts[1] + self.counts[1].T)

    @property
    def met(self) -> Floats:
        """Votes on each pair of systems, symmetric."""
        return np.asarray(self.won + self.won.T + self.tied)

    @property
    def tolerance(self) -> float:
        """Points within which ratings are equal."""
        return TOLERANCE / self.slope

    @property
    def order(self) -> Ints:
        """Systems from the best; equal ones in natural order."""
        return np.asarray(np.argsort(-np.round(self.estimates.value / self.tolerance), kind="stable"))

    @property
    def ranks(self) -> Ints:
        """The rank of each system; equal ones share the better."""
        return self.ranks_of(self.estimates.value)

    def ranks_of(self, values: Floats) -> Ints:
        """Ranks by other ratings of these systems."""
        return np.asarray(self._rank_bounds(values[None])[0][0])

    def _rank_bounds(self, values: Floats) -> tuple[Ints, Ints]:
        """The best and the worst possible rank of each system, given equal ratings: (n, systems) each."""
        above = np.stack([(values > values[:, [i]] + self.tolerance).sum(axis=1) for i in range(values.shape[1])], 1)
        with_ = np.stack([(values >= values[:, [i]] - self.tolerance).sum(axis=1) for i in range(values.shape[1])], 1)
        return above + 1, with_

    def rank_ranges(self) -> tuple[Ints | None, Ints | None]:
        """The range of each rank over the resamples, at the level of the intervals; None without resamples."""
        found = self.estimates
        known = found.replicates[~np.isnan(found.replicates).any(axis=1)]
        if not len(known) or len(known) < LEAST_KNOWN * len(found.replicates):
            return None, None
        tail = (1 - found.confidence) / 2
        best, worst = self._rank_bounds(known)
        low = np.quantile(best, tail, axis=0, method="nearest").astype(np.int64)
        high = np.quantile(worst, 1 - tail, axis=0, method="nearest").astype(np.int64)
        return low, high

    def difference(self, first: int, second: int) -> Estimate:
        """Difference of two systems' ratings, in points, under the same resamples."""
        return self.differences(np.array([[first, second]]))[0]

    def differences(self, pairs: Ints) -> list[Estimate]:
        """Differences of several pairs of systems: ``pairs`` is (pairs, 2)."""
        found = self.estimates.differences(pairs)
        if not found.resampled:
            why = self.reason or "no interval was requested"
            return [without_interval(one.estimate, why) for one in found]
        return list(found)

    def covariance(self) -> Floats | None:
        """Covariance of the ratings, from resamples or the jackknife: (systems, systems); None without intervals."""
        found = self.estimates
        if len(found.replicates):
            known = found.replicates[~np.isnan(found.replicates).any(axis=1)]
            return np.atleast_2d(np.cov(known.T)) if len(known) > 1 else None
        if not len(found.leave_one_out):
            return None
        without = found.leave_one_out - found.leave_one_out.mean(axis=0)
        error = np.sqrt(leave_out_variance(found.leave_one_out))
        plain = without.T @ without
        scale = error / np.sqrt(np.maximum(np.diagonal(plain), 1e-300))
        return np.asarray(plain * scale[:, None] * scale[None, :])


class Lead(NamedTuple):
    """The best system's lead over the next, whether it is significant, and the adjustment for several leaderboards."""

    found: Estimate
    clear: bool | None
    words: str = ""


class Poll(NamedTuple):
    """The votes of one leaderboard, with its raters, category and connected systems."""

    who: str
    group: str | None
    component: str | None
    votes: Votes


Rate = Callable[[Poll], Board]


def boards(votes: Votes, settings: RatingSettings, rate: Rate) -> tuple[Board, ...]:
    """A leaderboard for every poll; one without ratings has a reason, and it is an error if none has ratings."""
    found, refused = [], []
    for poll in polls(votes, settings):
        try:
            found.append(rate(poll))
        except DesignError as reason:
            refused.append(reason)
            found.append(_no_board(poll, settings, str(reason)))
    if len(refused) == len(found):
        raise refused[0]
    return tuple(found)


def _no_board(poll: Poll, settings: RatingSettings, reason: str) -> Board:
    n = len(poll.votes.systems)
    empty = estimate_replicates(np.full(n, np.nan), np.empty((0, n)), settings, n_items=poll.votes.n_items, n_units=1)
    empty = replace(empty, reasons=(reason,) * n)
    where = poll.who, poll.group, poll.component
    return Board(*where, poll.votes.systems, poll.votes.tally, empty, _slope(settings), reason)


def polls(votes: Votes, settings: RatingSettings) -> Iterator[Poll]:
    """The votes by rater, by category and by connected systems."""
    groups: list[tuple[str | None, Bools | None]] = [(None, None)]
    if settings.by is not None:
        column = votes.columns[settings.by].cast(pl.String)
        values = natural(column.unique().drop_nulls().to_list())
        groups += [(value, (column == value).fill_null(value=False).to_numpy()) for value in values]
    drops = settings.ties == "drop"
    for who, mine in _raters(votes, settings.who):
        for group, inside in groups:
            rows = mine if inside is None else mine & inside
            if not rows.any():
                continue
            part = votes.among(rows)
            counts = part.tally
            parts = tournaments.components(counts.sum(axis=0) - (counts[1] if drops else 0))
            if len(parts) == 1:
                yield Poll(who, group, None, part)
                continue
            for systems in parts:
                inside_it = np.isin(part.first, systems) & np.isin(part.second, systems)
                names = listing([part.systems[i] for i in systems], 3)
                if inside_it.any():
                    yield Poll(who, group, names, part.among(inside_it))


def _raters(votes: Votes, who: Sequence[str] | None) -> Iterator[tuple[str, Bools]]:
    """Raters with a leaderboard, and their votes."""
    table = votes.annotators
    cast = np.bincount(votes.annotator, minlength=table.height) > 0
    names, judge = table["annotator"].to_list(), (table["kind"] == "judge").to_numpy()
    there = [name for name, is_there in zip(names, cast.tolist(), strict=True) if is_there]
    each = {"judges": natural([names[i] for i in np.flatnonzero(cast & judge)])}
    if who is None:
        who = ((HUMANS,) if (cast & ~judge).any() else ()) + (("judges",) if each["judges"] else ())
    if not {HUMANS, TOGETHER, "judges"}.issuperset(who):  # there can be many: sorted if they are asked for
        each["annotators"] = natural(there)
    asked: list[str] = []
    for one in who:
        known = (HUMANS, "judges", "annotators", TOGETHER, *each.get("annotators", ()))
        if one not in known:
            raise DesignError(unknown("who", one, known, "the votes"), option="who", value=one)
        if one == HUMANS and not (cast & ~judge).any():
            raise DesignError("who='humans' needs votes by humans; all votes are by judges")
        if one == "judges" and not each["judges"]:
            raise DesignError("who='judges' needs votes by judges; name the judges with judges=... when reading")
        asked += each.get(one, [one])
    for one in dict.fromkeys(asked):
        chosen = ~judge if one == HUMANS else cast if one == TOGETHER else np.array([n == one for n in names])
        yield one, chosen[votes.annotator]


def votes_with_board(votes: Votes, who: Sequence[str] | None) -> Votes:
    """The votes of raters with a leaderboard; the other votes are counted as excluded."""
    if who is None:
        return votes
    rows = np.logical_or.reduce([mine for _, mine in _raters(votes, who)])
    left = int((~rows).sum())
    kept = votes.among(rows)
    return replace(
        kept, exclusions=(*kept.exclusions, Exclusion("vote", left, "by a rater that who=... does not name"))
    ) if left else kept  # fmt: skip


def _slope(settings: RatingSettings) -> float:
    """Log odds per point."""
    return math.log(settings.base) / settings.rating_scale


def weights_of(votes: Votes, settings: RatingSettings) -> Floats | None:
    """The weight of each vote, equation 6; None without weights."""
    if settings.separability is None:
        changed = [name for name in ("alpha", "beta", "separability_threshold") if name in settings.changed()]
        if changed:
            raise DesignError(f"{changed[0]}=... weights votes by separability; name its column with separability=...")
        return None
    given, name = votes.columns[settings.separability], settings.separability
    column = numbers_of(given)
    if column is None:
        raise DesignError(f"separability='{name}' must be a number for every item; it is {given.dtype}")
    if missing := column.null_count() + int(column.is_nan().sum() or 0):
        raise DesignError(f"separability='{name}' must be a number for every item; {_votes_have(missing)} none")
    delta = column.cast(pl.Float64).to_numpy()
    if len(delta) and (most := delta[np.argmax(np.abs(delta))]) and abs(most) > 1:
        raise DesignError(
            f"separability must be between -1 and 1; '{name}' has {most:g}; name the column from assay separability"
        )
    return weight(delta, settings.alpha, settings.beta, settings.separability_threshold)


def _votes_have(number: int) -> str:
    return f"{counted(number, 'vote')} {'has' if number == 1 else 'have'}"


# -- Bradley-Terry ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BradleyTerryRate:
    """Rate a poll with the Bradley–Terry model.

    Attributes
    ----------
    settings : RatingSettings
    known : mapping of poll to (system to rating)
        Ratings from earlier votes, the starting values of a fit.
    """

    settings: RatingSettings
    known: dict[tuple[str, str | None, str | None], dict[str, float]] = field(default_factory=dict)

    def __call__(self, poll: Poll) -> Board:
        """Raises DesignError if a rating is infinite."""
        s, votes = self.settings, poll.votes
        weights = weights_of(votes, s)
        start = self._start(poll)
        statistic = _Strengths.of(votes, weights, s, start)
        plain = covariates = fit = None
        if s.covariates is None:
            found = _estimate(statistic, votes, weights, s)
            fit = statistic.fit(votes, weights)
        else:
            plain = statistic.value(statistic.sums(votes.counts(weights))[0])
            styled = _Styled.of(votes, weights, s, start)
            whole = estimate_sums(
                styled, styled.unit_sums(votes), s, n_items=votes.n_items, unit=votes.units(styled.width).name
            )
            n = len(votes.systems)
            found, covariates = whole.part(slice(0, n)), whole.part(slice(n, len(whole)))
        where = poll.who, poll.group, poll.component
        return Board(
            *where, votes.systems, votes.tally, found, _slope(s), plain=plain, covariates=covariates, fit=fit
        )  # fmt: skip

    def _start(self, poll: Poll) -> Floats | None:
        """Strengths from earlier votes; a new system starts at the mean."""
        before = self.known.get((poll.who, poll.group, poll.component))
        if before is None:
            return None
        rating = np.array([before.get(name, self.settings.start) for name in poll.votes.systems])
        return np.asarray(np.nan_to_num(rating - self.settings.start) * _slope(self.settings))


def _estimate(statistic: _Strengths, votes: Votes, weights: Floats | None, s: RatingSettings) -> Estimates:
    """Ratings from counts of votes, with their intervals."""
    if s.method == "none":
        sums, unit = statistic.sums(votes.counts(weights)), "items"
    else:
        units = votes.units(statistic.width)
        sums, unit = statistic.sums(votes.counts(weights, units.of_item[votes.item], units.n)), units.name
    return estimate_sums(statistic, sums, s, n_items=votes.n_items, unit=unit)


@dataclass(frozen=True, eq=False)
class _Strengths:
    """Ratings from sums over votes: wins of each system over each other, and ties if they are counted separately."""

    systems: tuple[str, ...]
    settings: RatingSettings
    first_guess: Floats

    @classmethod
    def of(
        cls, votes: Votes, weights: Floats | None, settings: RatingSettings, start: Floats | None = None
    ) -> _Strengths:
        """Raises DesignError if a rating is infinite."""
        made = cls(votes.systems, settings, np.zeros(len(votes.systems)) if start is None else start)
        wins, ties = made._tables(made.sums(votes.counts(weights))[0])
        groups = tournaments.unbounded_groups(wins, ties)
        if len(groups) > 1:
            raise DesignError(_dominance(votes, groups, wins))
        return cls(votes.systems, settings, tournaments.bradley_terry(wins, ties, made.first_guess))

    @property
    def width(self) -> int:
        """Number of sums per unit."""
        return len(self.systems) ** 2 * (2 if self.settings.ties == "davidson" else 1)

    def sums(self, counts: Floats) -> Floats:
        """Wins of the row's system over the column's, and ties if they are counted separately: (units, width)."""
        wins = counts[:, 0] + counts[:, 2].swapaxes(1, 2)
        ties = counts[:, 1] + counts[:, 1].swapaxes(1, 2)
        if self.settings.ties == "davidson":
            wins = np.stack([wins, ties], axis=1)
        elif self.settings.ties == "half":
            wins = wins + ties / 2
        return wins.reshape(len(counts), -1).astype(float, copy=False)

    def fit(self, votes: Votes, weights: Floats | None) -> tournaments.PairFit | None:
        """The votes on each pair compared with the ratings; None for two systems, Davidson's model or no tests."""
        if len(self.systems) < LEAST_FITTED or self.settings.ties == "davidson" or self.settings.method == "none":
            return None
        units = votes.units(self.width)
        sums = self.sums(votes.counts(weights, units.of_item[votes.item], units.n))
        return tournaments.pair_fit(sums.reshape(units.n, *[len(self.systems)] * 2), self.first_guess)

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


MOST_SYSTEMS = 4
"""Systems with the most votes, whose ratings are examined for dependent votes."""

LEAST_WINS = 0.1
"""Wins that each system has over each other in addition, so that its ratings are finite."""


def dependent_votes(
    found: Sequence[Board], polled: Sequence[Poll], settings: RatingSettings, labels: Annotations
) -> tuple[str, ...]:
    """Return a caution if votes of one document, or of one annotator with separate items, are dependent.

    The level is `CHANCE` for all leaderboards together.
    """
    rated = [p.votes for b, p in zip(found, polled, strict=True) if b.reason is None and b.group is None]
    left_out = (*PAIR, *TEXTS, *labels.reading.left_out, *([] if settings.scored is None else [settings.scored]))
    for votes in rated:
        parts, items = _parts_of_items(votes, settings), _voted_items(labels, votes, settings)
        effect = dependence(parts, items, left_out, CHANCE / len(rated))
        if effect is not None:
            return (dependent_items(effect),)
    return ()


def _voted_items(labels: Annotations, votes: Votes, settings: RatingSettings) -> pl.DataFrame:
    """The items of votes with their columns, and with their annotator if each has votes of one."""
    table, key = item_columns(labels), settings.sources or votes.items.name
    if key not in ("item", "", *table.columns):
        table = table.select("item").clear()
    elif key in table.columns and key != "item":  # several rows of the table are one item
        table = table.drop("item").rename({key: "item"})
        several = table.group_by("item").agg(pl.all().n_unique()).drop("item").max()
        kept = [name for name, n in several.row(0, named=True).items() if n == 1] if several.height else []
        table = table.select("item", *kept).unique("item")
    items, own = votes.items.cast(pl.String).rename("item"), table["item"].cast(pl.String)
    if not items.equals(own):
        table = items.to_frame().join(table.with_columns(own), on="item", how="left", maintain_order="left")
    annotator = np.zeros(votes.n_items, dtype=np.int64)
    annotator[votes.item] = votes.annotator
    if (annotator[votes.item] != votes.annotator).any():
        return table
    return table.with_columns(annotator=votes.annotators["annotator"].gather(annotator))


def _parts_of_items(votes: Votes, settings: RatingSettings) -> Floats:
    """The contribution of each item to the error of the ratings of the systems with most votes: (ratings, items).

    It is the item's score, Σ x (y − p), times the inverse information: what Bradley–Terry ratings change by, to first
    order, if the item is there twice. Elo ratings and those of other models change alike.
    """
    from scipy.special import expit

    wins = (votes.tally[0] + votes.tally[2].T + (votes.tally[1] + votes.tally[1].T) / 2).astype(float)
    theta = tournaments.bradley_terry(wins + LEAST_WINS * (1 - np.eye(len(wins))), None)
    p = expit(theta[votes.first] - theta[votes.second])
    weight = np.ones(len(votes)) if (given := weights_of(votes, settings)) is None else given
    weight = np.where(votes.label == 0, 0.0, weight) if settings.ties == "drop" else weight
    residual = weight * (votes.won - p)
    n = len(votes.systems)
    met = np.bincount(votes.first * n + votes.second, weight * p * (1 - p), n * n).reshape(n, n)
    information = np.diag((met + met.T).sum(axis=1)) - met - met.T
    most = np.argsort(-(wins + wins.T).sum(axis=1), kind="stable")[:MOST_SYSTEMS]
    parts = np.empty((len(most), votes.n_items))
    for part, influence in zip(parts, np.linalg.pinv(information)[most], strict=True):
        part[:] = np.bincount(votes.item, residual * (influence[votes.first] - influence[votes.second]), votes.n_items)
        part -= part.mean()
    return parts


def _dominance(votes: Votes, groups: tuple[Ints, ...], wins: Floats) -> str:
    """The systems that lost no vote, or won none, against the systems that they were compared with."""
    best = groups[0]
    others = np.setdiff1d(np.arange(len(votes.systems)), best)
    lead, rest = ([votes.systems[i] for i in group] for group in (best, others))
    won = float(wins[np.ix_(best, others)].sum())
    if len(rest) == 1 and len(lead) > 1:
        words, out, left = f"{rest[0]} won no vote against the other systems, and lost {won:,g}", rest, lead
    else:
        words, out, left = f"{listing(lead, 4)} lost no vote against the other systems, and won {won:,g}", lead, rest
    which = f", or leave {listing(out, 4)} out with systems=..." if len(left) > 1 else ""
    return f"{words}, so the maximum-likelihood ratings are infinite; add votes with prior=1{which}"


# -- Bradley-Terry with covariates ------------------------------------------------------------------

STYLE = {
    "length": "",
    "headers": r"(?m)^#{1,6}\s",
    "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
    "lists": r"(?m)^\s*(?:\d+[.)]|[-*+])\s",
}
"""Counts in texts, as in Chatbot Arena: characters; headers, bold parts and list entries in Markdown."""

TEXTS = ("first_text", "second_text")
"""Columns with the two outputs."""

SINGULAR = 1e-6
"""A covariate is confounded with the systems if the smallest curvature of the fit is below this share of the largest:
rounding leaves about 1e-12 if it is confounded."""


def covariate_columns(labels: Annotations, names: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """The columns of each covariate."""
    known = {c for frame in (labels.labels, labels.items, labels.annotators) for c in frame.columns} | set(labels.names)
    found: dict[str, tuple[str, ...]] = {}
    for name in names or ():
        there: tuple[str, ...] | None = next((pair for pair in side_names(name) if set(pair) <= known), None)
        if there is None and name in known:
            there = (name,)
        if there is None and name in STYLE and set(TEXTS) <= known:
            there = TEXTS
        if there is None:
            raise DesignError(
                f"covariates='{name}' needs columns 'first_{name}' and 'second_{name}', one column '{name}' of "
                f"differences, or (for {listing(list(STYLE))}) the texts in columns 'first_text' and 'second_text'; "
                "the table has none of these",
                option="covariates", value=name,
            )  # fmt: skip
        found[name] = there
    return found


def covariate_values(name: str, columns: Sequence[pl.Series]) -> Floats:
    """The covariate of the first output minus that of the second: (votes,)."""
    if columns[0].dtype == pl.String and len(columns) == 2 and name in STYLE:
        columns = [_count(name, column) for column in columns]
    values = []
    for column in columns:
        numbers = numbers_of(column)
        if numbers is None:
            raise DesignError(f"covariates='{name}' must be numbers; '{column.name}' is {column.dtype}")
        if missing := numbers.null_count():
            raise DesignError(f"covariates='{name}' must have a value for every vote; {_votes_have(missing)} none")
        values.append(numbers.to_numpy())
    if len(values) == 1:
        return np.asarray(values[0])
    first, second = values
    if min(first.min(), second.min()) < 0:
        return np.asarray(first - second)
    return np.asarray((first - second) / np.maximum(first + second, 1e-300))


def _count(name: str, texts: pl.Series) -> pl.Series:
    """The count of a style element in each text; equal texts are counted once."""
    different = texts.unique()
    counts = different.to_frame("t").select(n=_style_count(name))["n"]
    return texts.replace_strict(different, counts, return_dtype=pl.Float64).alias(texts.name)


def _style_count(name: str) -> pl.Expr:
    text = pl.col("t").fill_null("").str
    return (text.count_matches(STYLE[name]) if STYLE[name] else text.len_chars()).cast(pl.Float64)


@dataclass(frozen=True, eq=False)
class _Styled:
    """Ratings and covariate effects from gradients and curvatures by unit at the fit of all votes.

    A resample is one step of Newton's method from that fit: the remaining error is of second order.
    """

    settings: RatingSettings
    model: tournaments.CovariateVotes
    point: Floats

    @classmethod
    def of(cls, votes: Votes, weights: Floats | None, settings: RatingSettings, start: Floats | None) -> _Styled:
        """Raises DesignError if a covariate is confounded with the systems."""
        names = list(settings.covariates or ())
        if settings.ties == "davidson":
            raise DesignError(
                "covariates=... need ties='half' or ties='drop', which are logistic regressions; got ties='davidson'"
            )
        x = np.stack([votes.columns[f"covariate {name}"].to_numpy() for name in names], axis=1)
        kept = np.ones(len(votes), dtype=bool) if settings.ties == "half" else votes.label != 0
        for name, column in zip(names, x[kept].T, strict=True):
            if not column.any():
                raise DesignError(f"the two outputs of every vote are equal in '{name}'; remove it from covariates=...")
        won = votes.won
        if settings.ties == "drop":
            won, weights = (1 - votes.label) / 2, (1.0 if weights is None else weights) * np.where(kept, votes.share, 0)
        model = tournaments.CovariateVotes(
            votes.first, votes.second, won, x, weights, len(votes.systems), settings.prior
        )
        begin = None if start is None else np.concatenate([start, np.zeros(len(names))])
        curvature = model.slopes(np.zeros(model.width))[0, model.width :].reshape(model.width, -1)
        size = np.sqrt(np.maximum(np.diagonal(curvature), 1e-300))
        values = np.linalg.eigvalsh(curvature / size[:, None] / size[None, :])
        point = model.fit(begin)
        if values[1] < SINGULAR * values[-1] or np.isnan(point).any():
            raise DesignError(
                f"covariates={','.join(names)} are confounded with the systems, or with each other: they vary too "
                "little between votes on the same two systems; remove some of them, or add votes"
            )
        return cls(settings, model, point)

    @property
    def width(self) -> int:
        """Number of sums per unit."""
        return self.model.width + self.model.width**2

    def unit_sums(self, votes: Votes) -> Floats:
        """(units, width)."""
        units = votes.units(self.width)
        return self.model.slopes(self.point, units.of_item[votes.item], units.n)

    def value(self, sums: Floats) -> Floats:
        """Ratings, then points per standard deviation of each covariate: (..., systems + covariates)."""
        moved = tournaments.newton_step(sums + self.model.prior_slopes(self.point), self.model.systems)
        far = np.abs(moved).max(axis=-1, keepdims=True) > tournaments.FARTHEST
        found = np.where(far, np.nan, self.point + moved) / _slope(self.settings)
        found[..., : self.model.systems] += self.settings.start
        return np.asarray(found)


# -- Elo --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EloRate:
    """Rate a poll with Elo."""

    settings: RatingSettings

    def __call__(self, poll: Poll) -> Board:
        """Ratings, and their standard deviation over random orders."""
        s, votes = self.settings, poll.votes
        weights = weights_of(votes, s)
        runs = _EloRuns(votes, s, np.full(len(votes), s.k) if weights is None else s.k * weights)
        value, orders = runs.declared_order(), np.empty((0, len(votes.systems)))
        if value is None or s.n_orders > 1:
            orders = runs.random_orders()
        value = orders.mean(axis=0) if value is None else value
        units = votes.units(1)
        none = np.empty((0, len(value)))
        replicates = none if s.method == "none" else runs.resample(units.of_item, units.n)
        found = estimate_replicates(value, replicates, s, n_items=votes.n_items, n_units=units.n, unit=units.name)
        sd = orders.std(axis=0, ddof=1) if len(orders) > 1 else np.full(len(value), np.nan)
        where = poll.who, poll.group, poll.component
        return Board(*where, votes.systems, votes.tally, found, _slope(s), order_sd=sd)


def orders_each(votes: Votes, settings: RatingSettings) -> int:
    """Number of random orders in each resample's mean."""
    if settings.order is not None:
        return 1
    return int(min(MOST_ORDERS, max(1, RESAMPLED_VOTES // (len(votes) * settings.n_resamples))))


@dataclass(frozen=True, eq=False)
class _EloRuns:
    """Runs through the votes, many at a time."""

    votes: Votes
    settings: RatingSettings
    step: Floats

    def ratings(self, orders: NDArray[np.int64]) -> Floats:
        """(length, runs) -> (runs, systems)."""
        s, v = self.settings, self.votes
        start = np.full(len(v.systems), float(s.start))
        return tournaments.elo(v.first, v.second, v.won, self.step, orders, start, _slope(s))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The votes in order of time; simultaneous ones in the order of item and annotator."""
        if self.settings.order is None:
            return np.arange(len(self.votes))
        column = self.votes.columns[self.settings.order]
        if column.null_count():
            raise DesignError(
                f"{_votes_have(column.null_count())} no '{self.settings.order}', the order of the votes; fill it in"
            )
        places = order_of(column, self.settings.order)
        return places.rank("dense").to_numpy().argsort(kind="stable").astype(np.int64)

    def declared_order(self) -> Floats | None:
        """Ratings from one run through the votes in their order; None without a column of the order."""
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
        order, each, n = self.order, orders_each(self.votes, self.settings), self.settings.n_resamples
        often, unit = resampling_counts(n_units, n, self.settings.seed), of_item[self.votes.item[order]]
        runs = iter(np.repeat(np.arange(n), each).tolist())

        def draw(some: int) -> NDArray[np.int64]:
            drawn = [np.repeat(order, often[next(runs)][unit].astype(np.int64)) for _ in range(some)]
            found = np.full((max(map(len, drawn)), some), -1, dtype=np.int64)
            for i, votes in enumerate(drawn):
                found[: len(votes), i] = votes if self.settings.order is not None else rng.permutation(votes)
            return found

        return np.asarray(self._run_in_parts(n * each, draw).reshape(n, each, -1).mean(axis=1))

    def _run_in_parts(self, runs: int, draw: Callable[[int], NDArray[np.int64]]) -> Floats:
        some = max(1, RUN_CELLS // max(len(self.votes), 1))
        return np.concatenate([self.ratings(draw(min(some, runs - i))) for i in range(0, runs, some)])
