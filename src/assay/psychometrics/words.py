"""Sentences about generalizability, reliability and raters, for summaries and pages, from the tables of a result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.errors import counted, listing, plural
from assay.estimation.intervals import Estimate
from assay.estimation.statistic import Ints
from assay.psychometrics.components import CriterionStudy
from assay.psychometrics.design import CoefficientName
from assay.reporting.tables import estimated, interval, p_value, said, signed

COEFFICIENTS: Mapping[CoefficientName, str] = {"generalizability": "Eρ²", "dependability": "Φ"}

Finding = Literal["spurious", "shared", "undecided", "not_estimable"]
"""Codes for the universe-score correlation of two families."""

FairnessVerdict = Literal["more_severe", "more_lenient", "equivalent", "negligible", "undecided"]
"""Codes for one rater's difference between two groups: `negligible` is significant, but within the rope."""

MISFIT = 1.3
"""Mean squares above this, or below its inverse, are reported if they are significant (Wright and Linacre 1994)."""

# -- G- and D-studies ---------------------------------------------------------------------------------


def study_lines(studies: Sequence[CriterionStudy]) -> tuple[str, ...]:
    """One line for each study, and one for its variances estimated as 0."""
    lines = []
    for s in studies:
        name = "" if s.name == "all" else f"{s.name}: "
        g, d = s.generalizability, s.dependability
        if g.reason and not np.isfinite(g.estimate):
            lines.append(f"{name}Eρ² and Φ not estimable: {g.reason}.")
            continue
        largest = max(s.components, key=lambda c: c.percent)
        most = f"Largest component: {largest.name} ({largest.percent:.0f}%)."
        single = f"{name}Single score: Eρ² = {estimated(g.estimate, g.low, g.high, 3)}"
        if s.lone:
            lines.append(
                f"{single}. Eρ² describes the consistency of {listing(s.lone)} alone; Φ is not estimable: {d.reason}. "
                f"SEM: relative {s.relative_sem:.2f}. {most}"
            )
            continue
        lines.append(
            f"{single}, Φ = {estimated(d.estimate, d.low, d.high, 3)}. "
            f"SEM: absolute {s.absolute_sem:.2f}, relative {s.relative_sem:.2f}. {most}"
        )
        if zero := [c.name for c in s.components if c.at_zero]:
            lines.append(f"{name}{listing(zero)}: estimated as 0 (boundary).")
    return tuple(lines)


def facet_noun(facet: str, columns: Mapping[str, str], number: int = 2) -> str:
    """A facet by its column, in the plural for several: ``annotators``; a letter if that is its only name."""
    column = columns.get(facet, facet)
    return column if number == 1 or len(column) == 1 else plural(column)


def facet_count(number: int, facet: str, columns: Mapping[str, str]) -> str:
    """``3 annotators``."""
    return f"{number:,} {facet_noun(facet, columns, number)}"


QUICK_INTERVALS = (
    "the table has missing cells and many labels, so that intervals use the delta method. With few levels of a facet "
    "they are too narrow; method='profile' in the G-study (--method profile) takes longer."
)


def target_lines(
    smallest: pl.DataFrame, facets: Sequence[str], along: str, target: float, coefficient: CoefficientName,
    columns: Mapping[str, str],
) -> tuple[str, ...]:  # fmt: skip
    """The smallest number of the facet ``along`` that reaches the target, for each choice of the other facets."""
    lines, several = [], "study" in smallest.columns and smallest["study"].n_unique() > 1
    symbol, most = COEFFICIENTS[coefficient], along
    for row in smallest.iter_rows(named=True):
        along = row.get("facet") or most
        noun = facet_noun(along, columns)
        others = [facet_count(row[c], c, columns) for c in facets if c != along and row.get(c) is not None]
        name = f"{row['study']}: " if several else ""
        given = f" with {', '.join(others)}" if others else ""
        if row["reason"] is not None:
            lines.append(f"{name}{symbol} for other numbers of {noun}{given} is not estimable: {row['reason']}.")
        elif row["smallest"] is None:
            limit = said(row["limit"], 3)
            few = row.get("smallest_low")
            ends = "" if few is None else f"; {facet_count(few, along, columns)} at the upper limit of {symbol}"
            lines.append(f"{name}{symbol} ≥ {target:g}{given} is not reachable with more {noun} (limit {limit}{ends}).")
        else:
            cost = f" (cost {row['cost']:,.2f})" if row.get("cost") is not None else ""
            number = facet_count(row["smallest"], along, columns)
            lines.append(f"{name}{symbol} ≥ {target:g} requires {number}{_ends(row)}{given}{cost}.")
    if "facet" in smallest.columns and smallest["limit"].drop_nans().len():
        lines.append(f"More {facet_noun(most, columns)} help most.")
    return tuple(lines)


def _ends(row: Mapping[str, Any]) -> str:
    """The interval of a number of levels: `` [2, 29]``; ∞ if no number reaches the target at the lower limit."""
    if row.get("smallest_low") is None or row["smallest_low"] == row["smallest_high"]:
        return ""
    return f" [{row['smallest_low']:,}, {'∞' if row['smallest_high'] is None else format(row['smallest_high'], ',')}]"


def scenario_lines(projected: pl.DataFrame, along: str, columns: Mapping[str, str]) -> tuple[str, ...]:
    """Φ of each scenario at the largest number, and the effect of adding a judge."""
    most = projected.filter(pl.col(along) == pl.col(along).max())
    lines = []
    for one in most.partition_by("study", maintain_order=True):
        values = dict(zip(one["scenario"].to_list(), one["estimate"].to_list(), strict=True))
        each = ", ".join(f"{name} {said(value, 3)}" for name, value in values.items())
        alone, second, added, *_ = values.values()
        name = f"{one['study'][0]}: " if one["study"][0] != "all" else ""
        if np.isnan(alone) or np.isnan(added):
            effect = f"The effect of a judge is not estimable: {one.filter(pl.col('estimate').is_nan())['reason'][0]}."
        elif added < alone:
            effect = "Adding a judge gives a lower Φ than one human alone (point estimates)."
        elif added < second:
            effect = "Adding a judge gives a higher Φ than one human alone, but a lower one than a second human (point "
            effect += "estimates)."
        else:
            effect = "Adding a judge gives at least the Φ of a second human (point estimates)."
        lines.append(f"{name}Φ with {facet_count(one[along][0], along, columns)}: {each}. {effect}")
    return tuple(lines)


# -- correlations of families -------------------------------------------------------------------------

FINDINGS: Mapping[Finding, str] = {
    "spurious": "agreement on the same {lesson} does not extend to the object: the universe-score correlation is low "
    "(spurious)",
    "shared": "universe-score correlation significantly above 0",
    "undecided": "universe-score correlation undecided",
    "not_estimable": "universe-score correlation not estimable",
}


def correlation_lines(
    name: str, families: tuple[str, str], finding: Finding, estimates: Sequence[Estimate], lesson: str = "lesson"
) -> tuple[str, ...]:
    """The finding about two families, then its correlations, in the order of `FamilyCorrelation.estimates`.

    ``lesson`` is the column of what both families scored.
    """
    observed, across, published, dependable, implied = estimates
    first, second = families
    missing = implied.reason is not None and not np.isfinite(implied.estimate)
    why = f": {implied.reason}" if missing and finding == "not_estimable" else ""
    same, other = (estimated(e.estimate, e.low, e.high) for e in (observed, across))
    lines = [
        f"{name}{first} and {second}: {FINDINGS[finding].format(lesson=lesson)}{why}.",
        f"Observed correlation: {same} on the same {lesson}, {other} on different {plural(lesson)}.",
    ]
    if missing:
        return tuple(lines)
    lines.append(
        f"Universe-score correlation (structural): {estimated(implied.estimate, implied.low, implied.high)}. Published "
        f"equation 3: {said(published.estimate)}; with Φ: {said(dependable.estimate)}."
    )
    if implied.estimate > 1:
        lines.append("An estimate above 1 is compatible with a correlation of about 1.")
    return tuple(lines)


# -- raters -------------------------------------------------------------------------------------------


def model_line(unit: str, categories: Sequence[Sequence[Any]]) -> str:
    """Which rater model was fitted; ``categories`` are those of each criterion, or in the linear model its ends."""
    if unit == "categories":
        sizes = sorted({len(one) for one in categories})
        number = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return f"Categorical model: {number} ordered categories."
    ends = sorted({(one[0], one[-1]) for one in categories})
    scale = f" from {ends[0][0]:g} to {ends[0][1]:g}" if len(ends) == 1 else " on different scales"
    return f"Linear model: labels are numbers{scale}; φ and ψ are in {unit}."


def crowd_line(labels: Sequence[int]) -> str:
    """That ψ is partially pooled, because raters have few ``labels`` each."""
    return (
        f"Few labels per rater (median {np.median(labels):g}): variability is partially pooled over raters, and "
        "intervals are from draws of the posterior."
    )


Doubt = Literal["edge", "misfit", "reversed"]
"""Why the φ of a rater is not to be interpreted."""

DOUBTS: Mapping[Doubt, str] = {
    "edge": "Severity of {} not interpreted: ψ is close to 0, so that φ is at the edge between two categories.",
    "misfit": "Severity and variability of {} not interpreted: misfit.",
    "reversed": "Severity and variability of {} not interpreted: labels are negatively correlated with the others'.",
}


def doubtful_lines(doubtful: Mapping[str, Doubt]) -> Iterator[str]:
    """Raters without a statement on severity, by the reason."""
    for reason, line in DOUBTS.items():
        if who := [name for name, why in doubtful.items() if why == reason]:
            yield line.format(listing(who, 6))


def severity_lines(rows: pl.DataFrame, alpha: float, unit: str, severe: int) -> Iterator[str]:
    """Raters who differ significantly in severity; ``severe`` is the sign of a severe rater's estimate."""
    estimate = pl.col("estimate") * severe
    differing = rows.filter(pl.col("p_adjusted") <= alpha).sort(estimate)
    columns = ("estimate", "low", "high")
    sides = {
        "more severe": differing.filter(estimate > 0).reverse(),
        "more lenient": differing.filter(estimate < 0),
    }
    named = {
        how: [f"{who} ({signed(x)} {interval(*ends)})" for who, x, *ends in some.select("annotator", *columns).rows()]
        for how, some in sides.items()
    }
    yield from _differing_line(named, f" than the mean ({unit})")
    yield from no_difference_line(rows.height - differing.height, rows.height, "severity")


def variability_lines(rows: pl.DataFrame, unit: str = "categories") -> Iterator[str]:
    """Raters who differ significantly in ψ; ``rows`` are all raters, with ``different`` and ``away`` from the mean."""
    differing = rows.filter("different").sort("psi")
    columns = ("psi", "psi_low", "psi_high")
    sides = {"more": differing.filter(pl.col("away") > 0).reverse(), "less": differing.filter(pl.col("away") < 0)}
    named = {
        f"{how} variable": [f"{who} ({estimated(*found)})" for who, *found in some.select("annotator", *columns).rows()]
        for how, some in sides.items()
    }
    yield from _differing_line(named, f" than the mean (ψ, {unit})")
    yield from no_difference_line(rows.height - differing.height, rows.height, "variability")


def _differing_line(sides: Mapping[str, Sequence[str]], than: str) -> Iterator[str]:
    """Raters with a significant difference from the mean on either side, if there are any: in one sentence, so that a
    page with room for some sentences never shows one side alone."""
    each = [(how, listing(raters, 6)) for how, raters in sides.items() if raters]
    if each:
        parts = [f"{how}{'' if n else than}: {who}" for n, (how, who) in enumerate(each)]
        yield f"Significantly {'; '.join(parts)}."


def approximation_line(labels: Ints, few: int) -> str:
    """The normal approximation of a quick fit, with its error rates for raters with few labels."""
    line = "Penalized ML approximation. Use MCMC for publication (assay raters without --quick)."
    if (median := float(np.median(labels))) >= few:
        return line
    return (
        f"{line} With {median:.0f} labels per rater (median) it finds differences of equal raters in more than 5% of "
        "studies: in up to 14% (severity) and 18% (variability)."
    )


def no_difference_line(number: int, n: int, what: str) -> Iterator[str]:
    """The number of raters without a significant difference from the mean."""
    if number:
        yield f"{number} of {counted(n, 'rater')}: no significant difference in {what}."


def judge_line(one: Estimate, unit: str = "categories", doubtful: Collection[str] = ()) -> str:
    """The mean severity of judges minus that of humans, unless some of them have a ``doubtful`` φ."""
    if doubtful:
        return f"Judges − humans, mean severity: not interpreted (includes {listing(list(doubtful), 6)})."
    return f"Judges − humans, mean severity: {signed(one.estimate)} {unit} {interval(one.low, one.high)}."


def optima_line(optima: pl.DataFrame, starts: int, rival: float, *, partial: bool) -> str:
    """How many local optima the starts reached; ``optima`` are the rows of `RaterModel.modes`."""
    begin = f"{counted(starts, 'start')}{' on a part of the subjects' if partial else ''}"
    if optima.height == 1:
        return f"{begin}, 1 local optimum."
    line = f"{begin}, {optima.height} local optima; the best holds {100 * optima['share'][0]:.0f}% of the mass"
    near = optima.filter((pl.col("mode") > 1) & (pl.col("share") >= rival))
    if near.height:
        phi, psi = near.select("severity_apart", "variability_apart").max().row(0)
        line += f"; those with at least {100 * rival:.0f}% differ by up to {phi:.2f} in φ and {psi:.2f} in ψ"
    return line + "."


def fairness_lines(
    rows: pl.DataFrame, families: pl.DataFrame, groups: Sequence[str], rope: float, unit: str = "categories"
) -> Iterator[str]:
    """Raters with a significant difference between groups, and the numbers of the others."""
    for group in groups[1:]:
        mine = rows.filter(pl.col("group") == group)
        differing = mine.filter(pl.col("verdict").is_in(["more_severe", "more_lenient"]))
        if mine.is_empty():
            continue
        for row in differing.sort("p_adjusted", "annotator").iter_rows(named=True):
            yield (
                f"{row['annotator']} is significantly {row['verdict'].replace('_', ' ')} with {group} than with "
                f"{groups[0]}, compared with the other raters: {signed(row['estimate'])} {unit} "
                f"{interval(row['low'], row['high'])}, {p_value(row['p_adjusted'])} adjusted for "
                f"{counted(rows.height, 'comparison')}."
            )
        yield f"Group {group} vs. {groups[0]}: {_group_counts(mine, differing.height, rope, unit)}."
    for row in families.iter_rows(named=True):
        yield (
            f"Judges − humans, {row['group']} vs. {groups[0]}: {signed(row['estimate'])} {unit} "
            f"{interval(row['low'], row['high'])}."
        )


def _group_counts(rows: pl.DataFrame, differing: int, rope: float, unit: str) -> str:
    n: dict[Any, int] = dict(rows["verdict"].value_counts().iter_rows())
    size = f"±{rope:.3g} {unit}"
    beyond = f" by more than {size}" if "negligible" in n else ""
    who = f"{differing} of {counted(rows.height, 'rater')}" if differing else "no rater"
    parts = [f"{who} {'differ' if differing > 1 else 'differs'} significantly{beyond}"]
    if "equivalent" in n:
        parts.append(f"equivalence (within {size}) demonstrated for {n['equivalent']}")
    if "negligible" in n:
        parts.append(f"{n['negligible']} significant but within {size}")
    if n.get("undecided") == rows.height:
        parts.append(f"equivalence is not demonstrated for any of {rows.height}")
    elif "undecided" in n:
        parts.append(f"{n['undecided']} undecided")
    if None in n:
        parts.append(f"{n[None]} not estimable (no labels in both groups, or groups too small)")
    return "; ".join(parts)


def group_lines(rows: pl.DataFrame, by: str, unit: str = "categories") -> Iterator[str]:
    """Whether two groups of annotators differ in mean severity and in variability."""
    n = rows["p"].drop_nulls().len()
    for row in rows.iter_rows(named=True):
        pair = f"{by} {row['group']} and {row['other']}"
        if row["p"] is None:
            yield f"{pair}: {row['quantity']} not compared, {row['reason']}."
            continue
        ends, p = interval(row["low"], row["high"]), p_value(row["p_adjusted"])
        if row["quantity"] == "severity":
            apart = f"{signed(row['estimate'])} {unit} {ends}"
            how = "severe" if row["estimate"] < 0 else "lenient"
        else:
            apart = f"ψ {row['estimate']:.2f} times as large {ends}"
            how = "variable" if row["estimate"] > 1 else "consistent"
        several = f" adjusted for {n} comparisons" if n > 1 else ""
        if row["significant"]:
            yield f"{by} {row['group']} is significantly more {how} than {row['other']}: {apart}, {p}{several}."
        else:
            yield f"{pair}: no significant difference in {row['quantity']} ({apart}, {p}{several})."


def rasch_lines(rows: pl.DataFrame, bias: pl.DataFrame, separation: pl.DataFrame, alpha: float) -> Iterator[str]:
    """Severity, fit and bias of raters in a many-facet Rasch model, and reliabilities of separation."""
    yield from severity_lines(rows, alpha, "logits", 1)
    off = rows.filter(pl.col("fit_p") <= alpha)
    for how, some in (
        (f"Misfit (infit > {MISFIT:g})", off.filter(pl.col("infit") > MISFIT)),
        (f"Overfit (infit < {1 / MISFIT:.2f})", off.filter(pl.col("infit") < 1 / MISFIT)),
    ):
        if some.height:
            each = [f"{r['annotator']} ({r['infit']:.2f})" for r in some.sort("infit").iter_rows(named=True)]
            yield f"{how}: {listing(each, 6)}."
    differing = bias.filter(pl.col("p_adjusted") <= alpha).sort("p_adjusted", "annotator")
    if differing.height:
        each = [
            f"{r['annotator']} on {r['criterion']} ({signed(r['estimate'])} logits)"
            for r in differing.iter_rows(named=True)
        ]
        yield f"Significantly more severe (+) or more lenient (−) on one criterion: {listing(each, 6)}."
    for row in separation.iter_rows(named=True):
        name = {"raters": "severities", "subjects": "subjects"}.get(row["facet"])
        if name == "severities" and not row["reason"] and not (rows["p_adjusted"] <= alpha).any():
            # Of equal severities a reliability above .5 is observed in a fifth of studies.
            yield "Reliability of severities not demonstrated: no rater differs significantly from the mean."
        elif name and row["reason"]:
            yield f"Reliability of {name} not estimable: {row['reason']}."
        elif name:
            yield (
                f"Reliability of {name} {row['reliability']:.2f}: separation "
                f"{row['separation']:.1f}, {row['strata']:.1f} strata."
            )
