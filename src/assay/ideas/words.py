"""Sentences about similarity measures, odd-one-out choices and text annotators, from the tables of a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.errors import counted
from assay.estimation.intervals import Estimate
from assay.reporting.tables import estimated, interval, p_value, said, signed

SimilarityVerdict = Literal[
    "valid", "partly_valid", "partly_valid_undecided", "low", "undecided", "not_testable", "baseline"
]
"""Codes for the validity of a similarity measure."""

BEATS_BASELINES: tuple[SimilarityVerdict, ...] = ("valid", "partly_valid", "partly_valid_undecided")
"""Verdicts of measures that beat the baseline measures."""

CEILINGS = {"again": "expert test–retest", "best": "noise ceiling"}
"""Names of the rows of the ceilings."""

MOST_SENTENCES = 6
"""Largest number of measures with a sentence; the table has all."""


# -- measures compared with experts -------------------------------------------------------------------


def verdict_line(
    row: Mapping[str, Any], verdict: SimilarityVerdict, share: float, reasons: Sequence[str], needed: str,
    bound: float, *, constant: bool, same: str | None = None, compared: bool = True,
) -> str:  # fmt: skip
    """The verdict on one measure, with the numbers of its row.

    ``bound`` is the share of the ceiling to exceed, ``same`` the baseline that the measure equals, ``compared`` whether
    there are baselines.
    """
    name, percent = row["measure"], f"{100 * bound:g}%"
    rho = f"ρ = {estimated(row['estimate'], row['low'], row['high'])} ({counted(row['n'], 'pair')})"
    ceiling = f"{said(share)} of the noise ceiling"
    why = f"; {' and '.join(reasons)}" if reasons else ""
    more = f" {needed}" if needed else ""
    beats = "beats the baselines" if compared else "without a baseline"
    if constant:
        return f"{name}: low: it gives all pairs the same value."
    if verdict == "valid":
        return f"{name}: valid (at least {percent} of the noise ceiling): {rho}, {ceiling}."
    if verdict == "partly_valid":
        return f"{name}: partly valid ({beats}, below {percent} of the noise ceiling): {rho}, {ceiling}."
    if verdict == "partly_valid_undecided":
        undecided = f"{percent} of the noise ceiling undecided"
        return f"{name}: partly valid ({beats}; {undecided}): {rho}, {ceiling}.{more}"
    if verdict == "baseline":
        return f"{name}: baseline (it equals {same}, so that its validity is not tested): {rho}, {ceiling}."
    if same is not None:
        why += f"; not compared with {same}, which it equals"
    if verdict == "low":
        below = f"{'baselines not beaten' if compared else beats}, at most half of the noise ceiling"
        return f"{name}: low ({below}): {rho}{why}."
    return f"{name}: undecided: {rho}{why}.{more}"


def verdict_reasons(p: float, alpha: float, baselines: Sequence[str]) -> list[str]:
    """Why a measure does not beat the baselines."""
    reasons = [f"not better than permuted texts ({p_value(p)})"] if p > alpha else []
    if baselines:
        reasons.append(f"not significantly better than {' or '.join(baselines)}")
    return reasons


def needed_line(texts: int | None, judgments: int | None, most_times: int) -> str:
    """The further texts or judgments for a conclusive verdict."""
    parts = [
        *([] if texts is None else [f"about {counted(texts, 'more text')} with as many judgments each"]),
        *([] if judgments is None else [f"about {counted(judgments, 'more judgment')} of these texts"]),
    ]
    if not parts:
        return f"Up to {most_times} times as many texts or judgments are unlikely to give a conclusive verdict."
    one = len(parts) == 1 and 1 in (texts, judgments)
    return f"{' or '.join(parts)} {'is' if one else 'are'} needed.".capitalize()


def inseparable_line(baselines: Sequence[str], most_times: int) -> str:
    """No number of texts or judgments would demonstrate that a measure is better than these baselines."""
    return (
        f"Up to {most_times} times as many texts or judgments are unlikely to show that it is better than "
        f"{' or '.join(baselines)}."
    )


def no_agreement_line(again: Mapping[str, Any], *, low: bool) -> str:
    """Measures cannot be tested because agreement among experts is not demonstrated."""
    if np.isfinite(again["low"]):
        why = f"test–retest agreement ρ = {estimated(again['estimate'], again['low'], again['high'])}"
    else:
        why = again["reason"] or "too few judgments"
    advice = "More judgments of this kind will not help." if low else "Collect more judgments."
    return f"Not testable: agreement among the experts is not demonstrated ({why}). {advice}"


def ceiling_line(again: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[str]:
    """The noise ceiling and the experts' test–retest agreement, if the latter is demonstrated."""
    if again["low"] > 0:
        ceiling, retest = (estimated(row["estimate"], row["low"], row["high"]) for row in (best, again))
        yield f"Noise ceiling: ρ = {ceiling}. Expert test–retest agreement: ρ = {retest}."


def comparison_lines(top: Mapping[str, Any], others: pl.DataFrame) -> Iterator[str]:
    """ρ of the best measure minus that of the next one, and of the next one of another kind."""
    kinds = others.filter(pl.col("kind") != top["kind"]).head(1)
    for row in pl.concat([others.head(1), kinds]).unique(maintain_order=True).iter_rows(named=True):
        if row["difference"] == 0:
            yield f"{row['measure']} has the same ρ as {top['measure']}."
            continue
        low, high = -row["difference_high"], -row["difference_low"]
        test = "significant" if low > 0 else "not significant"
        yield (
            f"{top['measure']} − {row['measure']} ({said(row['estimate'])}): {said(-row['difference'])} "
            f"{interval(low, high)}; {test}."
        )


def variant_line(best: str, other: str, difference: Mapping[str, float]) -> str:
    """ρ of one variant of a judge minus that of another, and in percent of the other's (table 4 of the paper)."""
    ends = interval(difference["low"], difference["high"])
    percent = ""
    if math.isfinite(difference["percent"]):
        size, low, high = (difference[name] for name in ("percent", "percent_low", "percent_high"))
        percent = f", {signed(size, 1)}% {interval(low, high, 1)}"
    return f"Same judge: ρ of {best} − ρ of {other}: {said(difference['difference'])} {ends}{percent}."


def validation_notes(rows: pl.DataFrame, published: Estimate) -> tuple[str, ...]:
    """Reasons for missing intervals, and the published ceiling."""
    lines = [f"No interval: {why}." for why in rows["reason"].drop_nulls().unique(maintain_order=True)]
    if np.isfinite(published.estimate):
        lines.append(
            f"Published ceiling (bootstrap samples compared with all judgments): ρ = {said(published.estimate)}; too "
            "high, because they share judgments."
        )
    return tuple(lines)


# -- text annotators ----------------------------------------------------------------------------------


def annotator_lines(rows: pl.DataFrame, stress: float) -> list[str]:
    """Each judge's similarity to humans compared with that among humans; the range of humans; the map's stress."""
    humans = rows.filter(pl.col("kind") == "human")
    lines = []
    for row in rows.filter(pl.col("kind") == "judge").iter_rows(named=True):
        low, high = row["difference_low"], row["difference_high"]
        test = "significantly higher" if low > 0 else "significantly lower" if high < 0 else "no significant difference"
        share = row["closer_than"]
        rank = "" if share is None else f"; higher than for {said(share)} of {counted(humans.height, 'human')}"
        lines.append(
            f"{row['annotator']}: similarity to humans minus similarity among humans = {signed(row['difference'], 3)} "
            f"{interval(low, high, 3, '+')}; {test} ({said(row['estimate'], 3)} and {said(row['people'], 3)}; with "
            f"responses to other items {said(row['other_items'], 3)}). Advantage probability {said(row['advantage'])} "
            f"{interval(row['advantage_low'], row['advantage_high'])}, {counted(row['n'], 'item')}{rank}."
        )
    if humans.height:
        ends = humans.sort("difference")
        first, last = ends.row(0, named=True), ends.row(-1, named=True)
        lines.append(
            f"Humans: differences from {signed(first['difference'], 3)} ({first['annotator']}) to "
            f"{signed(last['difference'], 3)} ({last['annotator']})."
        )
    lines.append(f"Map: stress {said(stress)} (interpret distances only below 0.2).")
    return lines


# -- odd-one-out choices ------------------------------------------------------------------------------

AGREEING = {
    "humans": "Two humans", "annotator": "{first} and a human", "pairs": "{first} and {second}", "itself": "{first} "
    "and itself, repeated",
}  # fmt: skip


def agreement_lines(rows: pl.DataFrame) -> list[str]:
    """Agreement on the odd one out, one line for each row."""
    lines = []
    for row in rows.iter_rows(named=True):
        group = "" if row["group"] is None else f" ({row['group']})"
        lines.append(
            f"{AGREEING[row['who']].format(**row)}: same odd-one-out choice on {said(row['agreement'])} of "
            f"{counted(row['n'], 'triplet')}{group}, chance-corrected agreement "
            f"{estimated(row['estimate'], row['low'], row['high'])}."
        )
    return lines


def similarity_lines(
    top: str, last: str, counts: pl.Series, under: int, floor: int, unseen: int, dependence: float
) -> list[str]:
    """The most and the least similar pair of texts, and the numbers of comparisons."""
    many: Any = counts
    lines = [
        f"Most similar: {top}. Least similar: {last}. The mean of all pairs is 1/3.",
        f"{counted(len(counts), 'pair')} compared {many.min()} to {many.max()} times (median {many.median():g}); "
        f"{counted(under, 'pair')} fewer than {floor} times.",
    ]
    if unseen:
        lines.append(f"{counted(unseen, 'pair')} of texts of one document never compared.")
    if np.isfinite(dependence):
        lines.append(f"Intraclass correlation of choices from one triplet: {said(dependence)}; intervals allow for it.")
    return lines


def embedding_lines(
    pairs: int, choices: object, dimensions: int, unseen: int, log_likelihood: float | None, chance: float
) -> list[str]:
    """The size of a fit, and how well it predicts choices in cross-validation."""
    lines = [
        f"{counted(pairs, 'pair')} from {choices} choices in {counted(dimensions, 'dimension')}; "
        f"{counted(unseen, 'pair')} never compared."
    ]
    if log_likelihood is not None:
        better = "higher" if log_likelihood > chance else "not higher"
        lines.append(
            f"Mean log likelihood of held-out choices: {said(log_likelihood)}, {better} than chance ({said(chance)})."
        )
    return lines


def judgments_lines(
    n: int, row: Mapping[str, Any], target: float, needed: int | None, ends: tuple[int | None, int | None]
) -> list[str]:
    """The rank correlation of these judgments with as many others, and the number for the target."""
    lines = [
        f"{counted(n, 'judgment')}: rank correlation with another {n:,} judgments ρ = {said(row['estimate'])} "
        f"{interval(row['low'], row['high'])}."
    ]
    if needed is None:
        lines.append("These judgments do not agree more than by chance; no number of them reaches the target.")
    else:
        low, high = ends
        limits = f"{low:,} to {high:,}" if low is not None and high is not None else "not estimable"
        lines.append(f"ρ = {target:g} requires about {needed:,} judgments (range {limits}).")
    if row["published"] is not None:
        lines.append(
            f"Published method (bootstrap samples compared with all judgments): ρ = {said(row['published'])}; too "
            "high, because they share judgments."
        )
    return lines


def plan_lines(settings: Any, row: Mapping[str, Any] | None) -> list[str]:
    """The assumptions of a plan, and the smallest sufficient number of comparisons."""
    s = settings
    lines = [
        f"{counted(s.n_documents, 'document')} of {s.n_texts} texts; two experts make the same odd-one-out choice on "
        f"{s.agreement:.0%} of triplets; {s.n_studies} simulated studies."
    ]
    if row is None:
        lines.append(
            f"None of these numbers reaches ρ = {s.target:g} in {s.power:.0%} of studies; try larger ones (floors=...)."
        )
    else:
        each = "" if row["overlap"] == 1 else f": {row['triplets']:,} triplets with {row['overlap']} judgments each"
        lines.append(
            f"{row['floor']} comparisons per pair ({row['judgments']:,} judgments{each}) reach ρ = {s.target:g} with "
            f"the true ranking in {row['estimate']:.0%} of studies; mean ρ {said(row['rho'])}."
        )
    source = "an assumed agreement" if s.pilot is None else "the agreement of the pilot, as if it were exact"
    lines.append(f"Based on {source}, so no interval.")
    return lines


def sample_lines(triplets: int, texts: object, documents: int, times: pl.Series) -> list[str]:
    """The numbers of triplets, and of comparisons of each pair."""
    n: Any = times
    return [
        f"{counted(triplets, 'triplet')} of {texts} texts in {counted(documents, 'document')}; each pair occurs "
        f"{n.min()} to {n.max()} times, {n.mean():.2f} on average."
    ]


def style_lines(rows: pl.DataFrame) -> list[str]:
    """The change of each measure with the style of the texts."""
    lines = []
    for row in rows.iter_rows(named=True):
        if not np.isfinite(row["estimate"]):
            lines.append(f"{row['measure']}: change not estimable: {row['reason']}.")
            continue
        if np.isfinite(row["low"]):
            test = "significant" if row["low"] > 0 or row["high"] < 0 else "not significant"
        else:
            test = row["reason"] if row["reason"].startswith("no interval") else f"no interval: {row['reason']}"
        ends = f" {interval(row['low'], row['high'], 1)}" if np.isfinite(row["low"]) else ""
        lines.append(
            f"{row['measure']}: {signed(row['estimate'], 1)}%{ends} with the style; "
            f"{test} ({row['before']:.3f} to {row['after']:.3f}, {counted(row['n'], 'pair')})."
        )
    return lines
