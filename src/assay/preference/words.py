"""Sentences about votes and outputs, for summaries and pages: functions of the tables and estimates of a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from assay.errors import counted, listing
from assay.estimation.intervals import Estimate
from assay.preference.boards import HUMANS, REVERSED, SAME, TOGETHER, Board, Lead
from assay.preference.votes import SetMeasure, SetSettings
from assay.reporting.tables import decimals, estimated, interval, p_value, said, signed

NAMED_PAIRS = 3
"""Pairs of systems that one sentence names; the others are in the table."""

MEASURES: Mapping[SetMeasure, str] = {"consistency": "consistency", "strength": "preference strength"}
"""Names of the measures of a rating set."""

NAMED_ANNOTATORS = 12
"""Above this number of annotators, only judges and annotators with a position bias have sentences."""

SINGLE_VOTES = "every rating set has one vote"
"""Why a group of rating sets has no consistency."""

SWEPT = {"k": "K", "c": "C"}
"""The paper's letters for the numbers of outputs and comparisons."""


# -- ratings ------------------------------------------------------------------------------------------


def rater_name(who: str) -> str:
    """The name of a leaderboard's raters in a sentence."""
    return {HUMANS: "humans", TOGETHER: "humans and judges together"}.get(who, who)


def board_name(board: Board) -> str:
    """The raters of a leaderboard, its category and its connected systems."""
    name = rater_name(board.who) if board.who in (HUMANS, TOGETHER) else None
    who = board.who if name is None else name[:1].upper() + name[1:]
    return ", ".join(filter(None, (who, board.group, board.component and f"among {board.component}")))


def order_line(judge: str, pairs: pl.DataFrame, tau: Estimate, *, intervals: bool) -> str:
    """Whether a judge orders the systems as humans do; ``pairs`` are its rows of `Leaderboard.pairs`."""
    known = pairs.filter(pl.col("demonstrated"))
    same, reversed_ = (known.filter(pl.col("order") == kind) for kind in (SAME, REVERSED))
    n, n_same = pairs.height, pairs.filter(pl.col("order") == SAME).height
    number = f"Kendall's τ {estimated(tau.estimate, tau.low, tau.high)}."
    if not intervals:
        return f"{judge} and humans: same order for {n_same} of {counted(n, 'pair')}; not tested. {number}"
    rest = pairs.filter(~pl.col("demonstrated")).select(pl.format("{}–{}", "first", "second")).to_series().to_list()
    names = listing(rest, 1) if len(rest) > NAMED_PAIRS else ", ".join(rest)
    parts = []
    if reversed_.height:
        parts.append(reversals(reversed_))
    if same.height:
        of = f"{same.height} of {_pairs(n)}" if same.height < n else f"all {_pairs(n)}" if n > 1 else "the pair"
        parts.append(f"same order demonstrated for {of}")
    if rest and parts:
        parts.append(f"{len(rest)} undecided ({names})")
    elif rest:
        parts.append(f"order undecided for {names}")
    if rest and same.height and not reversed_.height:
        parts.append("no reversal demonstrated")
    return f"{judge} and humans: {'; '.join(parts)}. {number}"


def contradiction(pairs: pl.DataFrame) -> str:
    """A sentence on the pairs whose votes contradict the ratings; empty without one."""
    found = pairs.filter("contradicted").select(pl.format("{}–{}", "first", "second")).to_series().to_list()
    if not found:
        return ""
    return f" Votes on {listing(found, NAMED_PAIRS)} contradict the ratings (see Fit): no order is demonstrated."


def _pairs(n: int) -> str:
    return counted(n, "pair")


def reversals(pairs: pl.DataFrame) -> str:
    """Pairs of systems in reversed order, the smallest p-values first; the humans' better system is named first."""
    rows = pairs.sort("p_adjusted", maintain_order=True).head(NAMED_PAIRS).iter_rows(named=True)
    words = ", ".join(f"{r['first']}–{r['second']} ({p_value(r['p_adjusted'])})" for r in rows)
    more = f" and {counted(pairs.height - NAMED_PAIRS, 'more pair')}" if pairs.height > NAMED_PAIRS else ""
    return f"order reversed for {words}{more}"


def board_lines(board: Board, rows: pl.DataFrame, lead: Lead) -> list[str]:
    """The systems of one leaderboard, best first, and the lead of the first."""
    lines = []
    for row in rows.iter_rows(named=True) if board.reason is None else ():
        low, high = row["rank_low"], row["rank_high"]
        rank = "" if low is None else f", rank {low}" if low == high else f", rank {low}–{high}"
        lines.append(
            f"{row['rank']}. {row['system']} {estimated(row['estimate'], row['low'], row['high'], 0)}{rank}, "
            f"won {100 * row['win_rate']:.0f}% of {counted(row['votes'], 'vote')}."
        )
    return [*lines, *lead_lines(board, lead)]


def lead_lines(board: Board, lead: Lead) -> list[str]:
    """The lead of the first system of one leaderboard, or why it has no ratings."""
    if board.reason is not None:
        return [f"No ratings of {listing(board.systems, 4)}: {board.reason}."]
    lines = []
    first, second = (board.systems[i] for i in board.order[:2].tolist())
    found = lead.found
    if abs(found.estimate) <= board.tolerance:
        lines.append(f"{first} and {second} have the same rating.")
    else:
        test = "" if lead.clear is None else "; significant" if lead.clear else "; not significant"
        number = estimated(found.estimate, found.low, found.high, 0)
        lines.append(f"{first} − {second}: {number}{test}{lead.words}.")
    if board.order_sd is not None:
        lines.append(f"Elo: order sensitivity, SD {said(float(board.order_sd.max()), 1)} points.")
    return lines


def fit_lines(fit: pl.DataFrame) -> list[str]:
    """The pairs of systems whose votes differ from the ratings, else the number of pairs; nothing if none is tested."""
    tested = fit.filter(pl.col("p").is_not_nan())
    if tested.is_empty():
        return []
    lines, fine = [], []
    for (who,), rows in tested.group_by("who", maintain_order=True):
        name, off, whole = rater_name(str(who)), rows.filter("differs").sort("p_adjusted"), fit.filter(who=who).height
        some = f"{counted(rows.height, 'tested pair')} of {whole}"
        n = counted(rows.height, "pair") if rows.height == whole else some
        if off.is_empty():
            fine.append(f"{name}, {n}")
            continue
        said_pairs = "; ".join(_misfit(row) for row in off.head(NAMED_PAIRS).iter_rows(named=True))
        more = f"; and {counted(off.height - NAMED_PAIRS, 'more pair')}" if off.height > NAMED_PAIRS else ""
        lines.append(
            f"Fit, {name}: {off.height} of {n} {'differs' if off.height == 1 else 'differ'} from the Bradley–Terry "
            f"model: {said_pairs}{more}. Ratings do not describe votes on "
            f"{'this pair' if off.height == 1 else 'these pairs'}."
        )
    if fine:
        lines.append(f"Fit: no pair differs significantly from the Bradley–Terry model ({'; '.join(fine)}; Holm).")
    return lines


def _misfit(row: Mapping[str, Any]) -> str:
    """The winner of the votes on a pair, compared with the expectation."""
    votes, wins, expected, group = row["votes"], row["wins"], row["expected"], row["group"]
    first, second = row["first"], row["second"]
    if wins < votes / 2:
        first, second, wins, expected = second, first, votes - wins, votes - expected
    where = f" ({group})" if group is not None else ""
    return (
        f"{first} was preferred to {second}{where} {wins:.6g}:{votes - wins:.6g}, expected "
        f"{expected:.0f}:{votes - expected:.0f} ({p_value(row['p_adjusted'])})"
    )


def covariate_lines(table: pl.DataFrame, confidence: float) -> list[str]:
    """The effect of each covariate on the votes of each rater, over all votes."""
    lines = []
    several = table["who"].n_unique() > 1
    for row in table.filter(pl.col("group").is_null()).iter_rows(named=True):
        who = f"{rater_name(row['who'])}: " if several else ""
        number = f"{estimated(row['estimate'], row['low'], row['high'], 0)} points per standard deviation"
        found = math.isfinite(row["p_adjusted"]) and row["p_adjusted"] <= 1 - confidence
        effect = "no significant effect" if not found else f"{'more' if row['estimate'] > 0 else 'less'} is preferred"
        lines.append(f"{who}{row['covariate']}: {effect}, {number} ({p_value(row['p_adjusted'])}, Holm).")
    if lines:
        lines.append("Ratings are adjusted for these covariates; the column plain has the unadjusted ratings.")
    return lines


# -- rating sets --------------------------------------------------------------------------------------


def rating_set_lines(
    rows: pl.DataFrame, trend: Mapping[str, Estimate], saving: Mapping[str, Estimate], settings: SetSettings
) -> list[str]:
    """One line for each row, then the trend over bins and the savings of each rater."""
    name, lines = MEASURES[settings.measure], []
    for row in rows.iter_rows(named=True):
        pair = "all pairs" if row["first"] is None else f"{row['first']} and {row['second']}"
        group = f", {row['bin']}" if row["bin"] else ""
        named = settings.measure == "strength" and not row["bin"]
        first, second = row["first"] or "the first of each pair by name", row["second"] or "the second"
        sides = f" (−1 if every vote is for {first}, 1 if for {second})" if named else ""
        if not row["sets"]:
            lines.append(f"{row['who']}, {pair}{group}: {name} not estimable: {row['reason']}.")
            continue
        lines.append(
            f"{row['who']}, {pair}{group}: mean {name} {said(row['estimate'], 3)}{sides} "
            f"{interval(row['low'], row['high'])} ({counted(row['sets'], 'rating set')}; "
            f"{100 * row['mixed']:.0f}% inconsistent, {100 * row['all_ties']:.0f}% all ties)."
        )
    for who, found in trend.items():
        why = f": {found.reason}" if found.reason and math.isnan(found.low) else ""
        lines.append(
            f"{who}: {name} in the highest bin minus the lowest bin {said(found.estimate, 3)} "
            f"{interval(found.low, found.high)}{why}."
        )
    return [*lines, *(_saving_line(who, found, settings) for who, found in saving.items())]


def bin_without_interval(why: str | None) -> str:
    """Return why a difference of bins has no interval."""
    return f"of one bin, {why}"


def trend_interval(how: str) -> str:
    """Return how the intervals of bins and of their difference were computed."""
    return f"{how}; differences of bins: from the intervals of both bins"


def _saving_line(who: str, found: Estimate, settings: SetSettings) -> str:
    if math.isnan(found.estimate):
        why = SINGLE_VOTES if found.reason == SINGLE_VOTES else "no vote on the chosen items is consistent"
        return f"{who}: saving not estimable: {why}."
    clear = "" if found.low > 0 or found.high < 0 else "; not significant"
    saved, ends = 100 * found.estimate, (100 * found.low, 100 * found.high)
    how, ends = ("fewer", ends) if saved >= 0 else ("more", (-ends[1], -ends[0]))
    return (
        f"{who}: with {100 * settings.share:g}% of the items, chosen by {settings.by} ({settings.choose}), the same "
        f"number of consistent votes requires {abs(saved):.0f}% {interval(*ends, 0)} {how} ratings than with items "
        f"drawn at random{clear}."
    )


# -- outputs ------------------------------------------------------------------------------------------


def separability_lines(rows: pl.DataFrame) -> list[str]:
    """One line for each pair of systems, and value of ``by``."""
    lines = []
    for row in rows.iter_rows(named=True):
        group = f", {row['group']}" if row["group"] is not None else ""
        lines.append(
            f"{row['first']} vs. {row['second']}{group}: mean separability {said(row['estimate'], 3)} "
            f"{interval(row['low'], row['high'])} ({counted(row['n'], 'item')}), {said(row['by_chance'], 3)} if "
            f"outputs are exchanged at random ({p_value(row['p'])}). Mean similarity: within "
            f"{row['first']} {said(row['self_first'], 3)}, within {row['second']} {said(row['self_second'], 3)}, "
            f"between {said(row['cross'], 3)}."
        )
    return lines


def sweep_lines(rows: pl.DataFrame) -> list[str]:
    """Mean separability of all outputs, then of each setting with its change."""
    whole, *settings = rows.iter_rows(named=True)
    lines = [
        f"All outputs ({whole['value']}): mean separability {said(whole['estimate'], 3)} "
        f"{interval(whole['low'], whole['high'], 3)} ({counted(whole['n'], 'item')})."
    ]
    for row in settings:
        ends = interval(row["change_low"], row["change_high"], 3, "+")
        r = "" if row["correlation"] is None else f"; r = {said(row['correlation'])} over items"
        lines.append(
            f"{SWEPT.get(row['varied'], row['varied'])} = {row['value']}: {said(row['estimate'], 3)}, change "
            f"{decimals(row['change'], 3, '+')} {ends}{r}."
        )
    return lines


# -- position -----------------------------------------------------------------------------------------


def position_lines(shares: pl.DataFrame, consistency: pl.DataFrame, biased: Sequence[str]) -> tuple[str, ...]:
    """One line for each annotator and place, then one for each annotator that labelled both orders.

    Of more than `NAMED_ANNOTATORS`, only judges and biased annotators have lines.
    """
    lines, rest = [], pl.lit(value=False)
    if shares["annotator"].n_unique() > NAMED_ANNOTATORS:
        rest = (pl.col("kind") != "judge") & ~pl.col("annotator").is_in(list(biased))
    others, shares, consistency = shares.filter(rest), shares.filter(~rest), consistency.filter(~rest)
    for row in shares.iter_rows(named=True):
        ends = f" {interval(row['low'], row['high'])}" if math.isfinite(row["low"]) else ""
        lines.append(
            f"{row['annotator']}{_criterion(row)}: probability of choosing the text shown {row['place']} "
            f"{said(row['estimate'])}{ends}, {signed(row['difference'])} from {row['chance']:.2f} "
            f"({counted(row['n'], 'choice')})."
        )
    both = (
        f"{row['annotator']}{_criterion(row)}: same choice in both orders for {said(row['estimate'])} of "
        f"{counted(row['n'], 'pair')}."
        for row in consistency.iter_rows(named=True)
    )
    return (*lines, *both, *_other_annotators(others))


def _other_annotators(shares: pl.DataFrame) -> Iterator[str]:
    """One line for each place: the range of the shares of annotators that have no lines."""
    for (criterion, place), rows in shares.group_by("criterion", "place", maintain_order=True):
        low, high = rows["estimate"].min(), rows["estimate"].max()
        tested = "no bias detected; " if rows["p"].is_not_nan().any() else ""
        yield (
            f"{counted(rows.height, 'other annotator')}{_criterion({'criterion': criterion})}: {tested}"
            f"probability of choosing the text shown {place} between {said(low)} and {said(high)} "  # type: ignore[arg-type]
            f"({counted(int(rows['n'].sum()), 'choice')}). Each is in the table."
        )


def _criterion(row: Mapping[str, object]) -> str:
    return f" ({row['criterion']})" if row["criterion"] else ""


def position_verdict(biased: Sequence[str], n_tests: int) -> str:
    """Which annotators' choices depend on the place of a text."""
    tests = f"{counted(n_tests, 'share')} tested, Holm-adjusted; intervals are not adjusted"
    if not n_tests:
        return "No share was tested."
    if biased:
        return f"Position bias detected for {listing(biased)} ({tests})."
    return f"No position bias detected for any annotator ({tests})."
