"""The sentences of opinions and panels, for their summaries, their pages and the command line.

Results hold numbers and codes. Each function here takes a result and returns its sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from assay.errors import listing
from assay.reporting.tables import decimals, estimated, interval, p_value, said, signed

FEW_LABELS = 10
"""Annotators per item below which the published distances favour a judge with too little spread: with 10, the total
variation ranks a judge of temperature 0.67 above the truth in .01 to .09 of studies of 150 items."""

MOST_JUDGES = 12
"""Judges, and comparisons of judges, in a summary."""


# -- opinions -----------------------------------------------------------------------------------------


def opinion_lines(found: Any) -> list[str]:
    """Return what each judge's distribution is worth, how it spreads, and the comparisons of judges.

    Parameters
    ----------
    found : Opinions
    """
    lines: list[str] = []
    own = found.rows.filter(pl.col("other").is_null())
    for (_, judge), part in list(own.group_by("criterion", "judge", maintain_order=True))[:MOST_JUDGES]:
        rows = {row["quantity"]: row for row in part.iter_rows(named=True)}
        start = f"{rows['relative distance']['criterion']}: " if rows["relative distance"]["criterion"] else ""
        source = found.sources[judge]
        lines += [start + closeness_sentence(str(judge), rows, source, found.confidence)]
        if source != "label":
            lines += [start + one for one in spread_sentences(str(judge), rows)]
    lines += [
        difference_sentence(row, found.confidence)
        for row in found.rows.filter(quantity="difference").head(MOST_JUDGES).iter_rows(named=True)
    ]
    lines += published_sentence(found)
    return [*lines, f"Brackets: {found.confidence:.0%} confidence intervals ({found.run.interval})."]


def closeness_sentence(judge: str, rows: Mapping[str, Mapping[str, Any]], source: str, level: float) -> str:
    """Return the relative distance, and the number of annotators if its conditions are met."""
    psi, shares = rows["relative distance"], rows["against shares"]
    if psi["estimate"] is None:
        return f"{judge}: not estimable: {psi['reason']}."
    if psi["low"] is None:
        return f"{judge}: relative distance ψ = {said(psi['estimate'])}, no interval: {psi['reason']}."
    number = f"ψ = {estimated(psi['estimate'], psi['low'], psi['high'])}"
    if psi["matches"]:
        return (
            f"{judge}: relative distance {number}. Its labels match {psi['matches']}'s more often than agreement with "
            "the others explains, so the distance is not expressed as a number of annotators."
        )
    p = shares["p"]
    closer = p is not None and p < (1 - level) and shares["estimate"] < 0
    shown = p_value(math.nan if p is None else p)
    reason = f"not demonstrated to be closer to the annotators' labels than the label shares of this sample ({shown})"
    if source == "label":
        text = (
            f"{judge} (one label per item, no spread): one label is as close to the annotators' distribution as the "
            f"labels of {poll_words(psi)} ({number})"
        )
        return f"{text}." if closer else f"{text}; {reason}."
    if not closer:
        return f"{judge}: relative distance {number}; {reason}, so it is not expressed as a number of annotators."
    least = psi["people_at_least"]
    if least is None:
        return f"{judge}: no significant distance from the annotators' distribution ({number})."
    return (
        f"{judge}: its distribution is as close to the annotators' distribution as a poll of at least "
        f"{floored(least)} annotators ({number})."
    )


def poll_words(row: Mapping[str, Any]) -> str:
    """Return ``0.9 [0.8, 1.0] annotators``, or a lower limit only."""
    least, value, most = row["people_at_least"], row["people"], row["people_at_most"]
    if least is None:
        return "any number of annotators"
    if value is None or most is None:
        return f"at least {floored(least)} annotators"
    return f"{decimals(value, 1)} {interval(least, most, 1)} annotators"


def floored(value: float) -> str:
    """Return a lower limit, rounded down to one decimal, or to a whole number from 20 up."""
    return f"{math.floor(value):,}" if value >= 20 else decimals(math.floor(10 * value + 1e-9) / 10, 1)


def spread_sentences(judge: str, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return how much the judge's distribution spreads, and whether its spread follows the disagreement."""
    ratio, slope = rows["spread ratio"], rows["spread slope"]
    lines = []
    if ratio["low"] is None:
        lines.append(f"{judge}: spread not estimable: {ratio['reason']}.")
    else:
        answer = "no significant difference from the annotators"
        if ratio["high"] < 1 or ratio["low"] > 1:
            answer = f"significantly {'less' if ratio['high'] < 1 else 'more'} than the annotators"
        number = estimated(ratio["estimate"], ratio["low"], ratio["high"])
        lines.append(f"{judge}: spread {number} of the disagreement among annotators; {answer}.")
    if slope["low"] is None:
        lines.append(f"{judge}: slope of disagreement on spread not estimable: {slope['reason']}.")
        return lines
    each = [slope[c] / 10 for c in ("estimate", "low", "high")]
    if slope["low"] > 0:
        lines.append(
            f"{judge}: its spread follows the disagreement among annotators: 0.1 more spread goes with "
            f"{estimated(*each)} more disagreement."
        )
    else:
        number = f"{signed(slope['estimate'])} {interval(slope['low'], slope['high'])}"
        lines.append(
            f"{judge}: not demonstrated that its spread follows the disagreement among annotators (slope {number})."
        )
    return lines


def difference_sentence(row: Mapping[str, Any], level: float) -> str:
    """Return which of two judges is closer to the annotators' distribution."""
    start = f"{row['criterion']}: " if row["criterion"] else ""
    one, other = row["judge"], row["other"]
    if row["low"] is None:
        return f"{start}{one} and {other}: difference not estimable: {row['reason']}."
    text = f"difference in D, {one} minus {other}: {signed(row['estimate'])} {interval(row['low'], row['high'])}"
    if row["p_adjusted"] is not None and row["p_adjusted"] <= 1 - level:
        first, second = (one, other) if row["estimate"] < 0 else (other, one)
        p = p_value(row["p_adjusted"])
        return f"{start}{first} is closer to the annotators' distribution than {second} ({text}; adjusted {p})."
    return f"{start}{one} and {other}: no significant difference ({text})."


PUBLISHED = {
    "jensen-shannon": "Jensen–Shannon divergence",
    "manhattan": "Manhattan distance",
    "wasserstein": "Wasserstein distance",
    "cross-entropy": "cross-entropy",
}


def published_sentence(found: Any) -> list[str]:
    """Return the caution about distances between shares of few annotators."""
    few = found.distances.filter(pl.col("n_labels") < FEW_LABELS)
    if not few.height:
        return []
    m = few["n_labels"].min()
    return [
        f"Published distances between label shares are in the table of distances; with {m:g} labels per item "
        "Jensen–Shannon, Manhattan and Wasserstein distances favour a judge with too little spread."
    ]


# -- panels -------------------------------------------------------------------------------------------


def panel_lines(found: Any) -> list[str]:
    """Return the effective number of judges, the limit for more judges like these, families, and what judges add.

    Parameters
    ----------
    found : JudgePanel
    """
    lines: list[str] = []
    for (criterion,), part in found.rows.group_by("criterion", maintain_order=True):
        start = f"{criterion}: " if criterion else ""
        rows = {row["quantity"]: row for row in part.filter(pl.col("judge").is_null()).iter_rows(named=True)}
        lines += [start + one for one in size_sentences(len(found.judges), rows, found.next_reduction[criterion])]
        same = found.families.filter(pl.col("criterion").eq_missing(pl.lit(criterion, pl.String)))
        lines += [
            f"{start}{listing(family['judge'].to_list())}: their errors are significantly more correlated than those "
            "of the other judges."
            for _, family in same.group_by("family", maintain_order=True)
        ]
        lines += [
            start + added_sentence(row, found.confidence) for row in part.filter(quantity="added").iter_rows(named=True)
        ]
    return [*lines[: 3 * MOST_JUDGES], f"Brackets: {found.confidence:.0%} confidence intervals ({found.run.interval})."]


def size_sentences(size: int, rows: Mapping[str, Mapping[str, Any]], reduction: float) -> list[str]:
    """Return the effective number of judges, and what more judges like these can reach."""
    share, correlation = rows["error of the panel"], rows["error correlation"]
    if share["estimate"] is None:
        return [f"Effective number of judges: not estimable: {share['reason']}."]
    if share["low"] is None:
        return [f"{size} judges count as {number_of_judges(share)} independent judges, no interval: {share['reason']}."]
    lines = [f"{size} judges count as {number_of_judges(share)} independent judges."]
    rho = estimated(correlation["estimate"], correlation["low"], correlation["high"])
    if correlation["low"] > 0:
        lines[0] = f"{lines[0][:-1]}: their errors are correlated (ρ̄ = {rho})."
        limit = f"Any number of judges like these counts as at most {number_of_judges(correlation)}"
        lines.append(f"{limit}; one more judge like these decreases the panel's error variance by {reduction:.0%}.")
    else:
        lines.append(f"Their errors are not significantly correlated (ρ̄ = {rho}).")
    if share["judges_at_most"] is None:
        reach = (share["high"] - share["low"]) / 2
        needed = math.ceil(share["n"] * (reach / share["estimate"]) ** 2) + 1
        if share["estimate"] > 0 and needed < 100 * share["n"]:
            lines.append(f"No upper limit from {share['n']:,} items; about {needed:,} items would give one.")
    return lines


def number_of_judges(row: Mapping[str, Any]) -> str:
    """Return ``2.1 [1.7, 3.0]``, or ``at least 3.5``."""
    least, value, most = row["judges_at_least"], row["judges"], row["judges_at_most"]
    if value is not None and row["low"] is None:
        return decimals(value, 1)
    if value is not None and most is not None and least is not None:
        return f"{decimals(value, 1)} {interval(least, most, 1)}"
    return f"at least {floored(least)}" if least is not None else "an unknown number of"


def added_sentence(row: Mapping[str, Any], level: float) -> str:
    """Return whether a judge brings the panel's mean closer to the annotators."""
    judge = row["judge"]
    if row["low"] is None:
        return f"{judge} in the panel: contribution not estimable: {row['reason']}."
    ends = interval(-row["high"], -row["low"], 3)
    change = f"squared distance to the annotators' mean {signed(-row['estimate'], 3)} {ends}"
    if row["p_adjusted"] <= 1 - level:
        verb = "improves the panel" if row["estimate"] > 0 else "makes the panel worse"
        return f"{judge} {verb} ({change}; adjusted {p_value(row['p_adjusted'])})."
    return f"{judge} in the panel: no significant contribution ({change})."
