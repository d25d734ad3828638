"""The sentences of corrected estimates, drift, monitoring, routing and label plans.

Results hold numbers and codes. Each function here takes a result and returns its sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from assay.errors import counted, listing
from assay.estimation.intervals import Estimate
from assay.reporting.tables import decimals, digits_of, estimated, interval, p_value, said, signed

MOST_LINES = 40
"""Estimates in a summary."""


def one_unit(clusters: bool) -> str:
    """Return the reason for a missing interval of a coefficient of a level that one labelled cluster or item has."""
    one, more = ("cluster", "items of more clusters") if clusters else ("labelled item", "more items of this level")
    return f"a single {one} determines it; label {more}"


def too_few_clusters(number: int, least: int) -> str:
    """Return the reason for missing intervals of coefficients with few labelled clusters."""
    return f"labelled items are in {counted(number, 'cluster')}; an interval of a coefficient requires {least}"


def few_clusters(number: int, most: int) -> str:
    """Return the caution for intervals of coefficients with few labelled clusters."""
    return (
        f"labelled items are in {counted(number, 'cluster')}: the 95% interval of the coefficient of a level that few "
        f"clusters have covers it in 91% to 95% of studies. Label items of {most} or more clusters."
    )


def changed(one: Estimate) -> str:
    """Return a difference with its sign and its interval."""
    return f"{signed(one.estimate)} {interval(one.low, one.high)}"


def _significant(one: Estimate) -> str:
    return "significant" if one.low > 0 or one.high < 0 else "not significant"


# -- corrected estimates -------------------------------------------------------------------------------


def estimate_lines(found: Any) -> list[str]:
    """Return each estimate with those from the judge only and from humans only, then the contrasts of systems.

    Parameters
    ----------
    found : CorrectedEstimate
    """
    settings = found.run.settings
    lines = []
    for one in found.lines[:MOST_LINES]:
        start = "" if one.slice is None else f"{settings.by or settings.contrast} {one.slice}: "
        what = _quantity(one.quantity, found.target, settings.gold)
        value, low, high = one.found.estimate, one.found.low, one.found.high
        ends = (-abs(value), abs(value)) if math.isnan(low) else (low, high)
        digits = digits_of(*ends) if found.target == "coefficients" else 2  # in any unit
        if math.isnan(low):
            what = what if settings.judges == "fixed" else what.replace("Estimated human", "Judge")
            lines.append(f"{start}{what}: {said(value, digits)}, no interval: {one.found.reason}.")
            continue
        annotators = [] if settings.gold is not None else [_annotators(found.humans, settings.raters)]
        items = "these" if settings.population == "finite" else "items like these"
        rests_on = "; ".join([
            *annotators, f"{items} {one.n_all:,}{' items' if items == 'these' else ''}", f"{one.n:,} human-labelled",
        ])  # fmt: skip
        number = estimated(value, low, high, digits)
        if settings.judges == "random":
            lines.append(f"{start}{_judges_like_these(one, found, number)}")
            continue
        lines.append(f"{start}{what}: {number} ({rests_on}). {_baselines(one, digits)}")
    return [
        *lines,
        *(contrast_sentence(one, settings.confidence, settings.adjust) for one in found.contrasts),
        f"Brackets: {settings.confidence:.0%} confidence intervals{_simultaneous(found)}.",
    ]


def _simultaneous(found: Any) -> str:
    """For how many slices the intervals hold together; empty for one."""
    slices = len({one.slice for one in found.lines}) if found.run.settings.by is not None else 1
    return f", simultaneous for the {slices} slices" if slices > 1 else ""


def _quantity(quantity: str, target: str, gold: str | None) -> str:
    what = f"share of '{quantity}'" if target == "shares" else quantity
    if target == "coefficients":
        return f"Estimated coefficient of the human label, {quantity}"
    return f"Estimated human {what}" if gold is None else f"Estimated {what} of '{gold}'"


def _annotators(humans: tuple[str, ...], raters: str) -> str:
    if len(humans) == 1:
        return f"'{humans[0]}'"
    return f"annotators like these {len(humans)}" if raters == "random" else f"these {len(humans)} annotators"


def _judges_like_these(one: Any, found: Any, number: str) -> str:
    """The mean label of judges like these, and what the interval is for."""
    what = f"share of '{one.quantity}'" if found.target == "shares" else one.quantity
    prompts = found.run.facts["prompts"]
    ways = f", prompts like these {prompts}" if prompts > 1 else ""
    return f"Judge {what}: {number} (judges like these {len(found.judges)}{ways}; items like these {one.n_all:,})."


def _baselines(one: Any, digits: int) -> str:
    """The estimates from the judge only and from humans only, and the precision that the judge adds."""
    only = estimated(one.humans_only.estimate, one.humans_only.low, one.humans_only.high, digits)
    judge = f"{said(one.judge_only, digits)} ({signed(one.judge_only - one.found.estimate, digits)})"
    if one.equivalent_labels is None:
        added = ""
    elif one.equivalent_labels >= 1:
        items = counted(one.equivalent_labels, "more human-labelled item")
        added = f" The judge adds as much precision as {items}."
    else:
        added = " The judge adds no precision here."
    return f"Judge only: {judge}. Humans only: {only}.{added}"


def contrast_sentence(one: Any, confidence: float, adjust: str) -> str:
    """Return the corrected difference of two systems, its test, and the differences of the judge and of humans only.

    Parameters
    ----------
    one : SystemContrast
    """
    lead = f"{one.first} − {one.second}{'' if one.label is None else f', share of {one.label!r}'}"
    length = ""
    if math.isfinite(one.by_length.estimate):
        length = f", of which {changed(one.by_length)} is associated with length"
    plain = "Without adjustment" if one.adjusted_for else "Humans only"
    others = f"{_also('Judge only', one.judge, length)}{_also(plain, one.humans_only)}"
    if math.isnan(one.found.low):
        return f"{lead}: {signed(one.found.estimate)}, no interval: {one.found.reason}.{others}"
    higher = one.first if one.found.estimate > 0 else one.second
    verdict = "no significant difference"
    if one.p_adjusted <= 1 - confidence:
        verdict = f"{higher} is significantly higher"
    p = f"{'' if adjust == 'none' else 'adjusted '}{p_value(one.p_adjusted)}"
    if one.n == 0:
        return f"{lead}: {changed(one.found)} for judges like these ({p}); {verdict}."
    kind = "adjusted for severity" if one.adjusted_for else "corrected"
    return f"{lead}: {changed(one.found)} {kind} ({p}); {verdict}.{others}"


def _also(what: str, one: Estimate, more: str = "") -> str:
    """Another difference, as the next sentence; empty if it is not estimable."""
    if not math.isfinite(one.estimate):
        return ""
    return f" {what}: {signed(one.estimate) if math.isnan(one.low) else changed(one)}{more}."


def without_labels(judges: Sequence[str]) -> str:
    """Return the reason for the exclusion of items without labels."""
    named = listing([f"'{one}'" for one in judges])
    return f"without a label of {named} and of the annotators"


def unjudged(number: int, n_all: int, *, imputed: bool) -> str:
    """Return how many items have no label of the judge, and what is done about it."""
    how = "its mean is imputed" if imputed else "its coefficients are those of the other items"
    return f"{counted(number, 'item')} of {n_all:,} without a judge label: {how}"


def missing_judge_labels(judge: str, here: tuple[int, int], elsewhere: tuple[int, int]) -> str:
    """Return the shares of human-labelled and of other items without a label of the judge, as counts and totals."""
    return (
        f"'{judge}' has no label for {_of(*here, 'human-labelled items')} and for {_of(*elsewhere, 'others')}: "
        "items without any label are missing from the table, or the human-labelled items are not a random sample."
    )


def _of(count: int, total: int, what: str) -> str:
    return f"{count:,} of {total:,} {what} ({100 * count / max(total, 1):.0f}%)"


def severity_caution(first: str, second: str, shift: Estimate, who: str) -> str:
    """Return how much the adjustment changes a difference, and which annotators labelled which system."""
    return (
        f"the adjustment for severity changes {first} − {second} by {changed(shift)}. Shares of the labels (effect on "
        f"the label): {who}."
    )


def severities(raters: Sequence[str], severity: Sequence[float]) -> str:
    """Return the effect of each annotator on the label."""
    each = [f"{name} {signed(float(value))}" for name, value in zip(raters, severity, strict=True)]
    return f"effect of the annotator on the label, relative to their mean: {listing(each, 8)}"


# -- drift ---------------------------------------------------------------------------------------------

JUDGE, FLIPS, WHOLE, SYSTEM = "judge drift", "changed labels", "total change", "system change"
AGREEMENT, R_BEFORE, R_AFTER, R_CHANGE = "agreement with humans", "R before", "R after", "R"
"""Names of the rows of a drift."""


def drift_lines(found: Any) -> list[str]:
    """Return the total change, the judge drift, the system change and the changes of agreement.

    Parameters
    ----------
    found : Drift
    """
    judge, total, system = (found.lines[k] for k in (JUDGE, WHOLE, SYSTEM))
    lines = [f"Total change: {changed(total)} ({counted(found.n[WHOLE], 'item')})."]
    if judge.reason is None:
        flips = found.lines[FLIPS]
        share = f"{100 * flips.estimate:.0f}% [{100 * flips.low:.0f}%, {100 * flips.high:.0f}%]"
        lines.append(
            f"Judge drift: {changed(judge)}, {_significant(judge)} ({counted(found.n[JUDGE], 'anchor item')}; {share} "
            "of labels changed)."
        )
    else:
        lines.append(f"Judge drift: not estimable: {judge.reason}.")
    if found.not_apportioned is not None:
        lines.append(f"The total change is not divided into judge drift and system change: {found.not_apportioned}.")
    elif system.reason is None:
        lines.append(f"System change after removing judge drift: {changed(system)}; {_significant(system)}.")
    for key, name in ((AGREEMENT, "Agreement with humans"), (R_CHANGE, "Agreement ratio R (not stratified here)")):
        one = found.lines.get(key)
        if one is not None and one.reason is None:
            lines.append(f"{name}: change {changed(one)}; {_significant(one)}.")
    if found.changed:
        lines.append(f"The judge's configuration differs: {'; '.join(found.changed)}.")
    return lines


# -- monitor -------------------------------------------------------------------------------------------


def monitor_lines(found: Any) -> list[str]:
    """Return the alarm or its absence, the baseline and the false-alarm probability.

    Parameters
    ----------
    found : Monitor
    """
    settings, n, what = found.run.settings, len(found.detector_values), _monitored(found)
    after = " after the baseline" if found.n_base else ""
    if found.alarm is None:
        most = float(found.detector_values.max()) if n else 0.0
        never = f" (detector never above {decimals(100 * most, 0)}% of its threshold)" if most < 0.995 else ""
        head = [f"No alarm in {counted(n, found.unit)}{after}{never}."]
    else:
        way = "increased" if found.means[found.since - 1 : found.alarm].mean() > found.base.estimate else "decreased"
        head = [
            f"Alarm at {found.unit} {found.alarm:,} of {n:,}{after}{_place(found.alarm_at, settings)}: the {what} "
            f"{way}. Estimated change point: {found.unit} {found.since:,}{after}{_place(found.since_at, settings)}"
            f"{_change_range(found)}.",
            f"Since the change point: {what} {estimated(found.now.estimate, found.now.low, found.now.high)} "
            f"({counted(found.n_now, found.unit)}{_mixed(found)}).",
        ]
    base = (
        f"{estimated(found.base.estimate, found.base.low, found.base.high)} ({found.n_base:,} {found.unit}s)"
        if found.n_base
        else f"{found.base.estimate:g} (known)"
    )
    return [
        *head,
        f"Baseline: {what} {base}.",
        f"False-alarm probability at most {settings.alpha:g} over {settings.horizon:,} {found.unit}s, valid under "
        "continuous monitoring.",
    ]


def _change_range(found: Any) -> str:
    """The range of the change point: ``; 90% range: 519–666 (week 2 to 4)``."""
    (low, high), (first, last) = found.since_range, found.range_at
    places = f" ({found.run.settings.order} {first} to {last})" if first is not None and first != last else ""
    return f"; 90% range: {low:,}–{high:,}{places}"


def _mixed(found: Any) -> str:
    """How many of the labels since the change point can be from before the change."""
    early = found.since_range[1] - found.since
    return f", of which up to {early:,} can be from before the change" if early else ""


def _monitored(found: Any) -> str:
    """What the mean is."""
    share = "mean label" if found.share_of is None else f"share of '{found.share_of}'"
    return share if found.run.settings.watch == "judge" else f"{share} (judge − humans)"


def _place(value: str | None, settings: Any) -> str:
    """The value of the order column, in parentheses."""
    return "" if value is None else f" ({settings.order} {value})"


# -- route ---------------------------------------------------------------------------------------------


_ROUTE_REASONS = {
    "margin_undecided": "the margin is not demonstrated for any share",
    "matches_one_annotator": "its labels match one annotator's more often than agreement with the others explains",
    "non-inferiority": "non-inferiority to at least half of the annotators is not demonstrated",
    "item-level agreement": "item-level agreement is not demonstrated",
    "agreement ratio": "the required agreement ratio is not demonstrated",
}


def route_reason(code: str) -> str:
    """Return why the judge has no share."""
    return _ROUTE_REASONS[code]


def route_lines(found: Any) -> list[str]:
    """Return the judge share, its test, the human queue and the cost.

    Parameters
    ----------
    found : Route
    """
    settings = found.run.settings
    if found.share == 0:
        return [f"Judge share 0%: {route_reason(found.reason)}. All items go to annotators."]
    rows = found.curve.filter(pl.col("kept"))
    row = rows.row(rows.height - 1, named=True)
    number = f"{estimated(row['estimate'], row['low'], row['high'])}, {p_value(row['p'])}"
    which = "" if found.share >= 1 else f" (items with '{settings.signal}' of at least {found.threshold:.4g})"
    return [
        f"Judge share {100 * found.share:.0f}%{which}: on these items {found.judge}'s agreement with humans is at most "
        f"{settings.epsilon:g} below agreement among humans (difference + {settings.epsilon:g}: {number}; "
        f"{counted(row['n'], 'human-labelled item')}). Probability of choosing a share that violates the margin: at "
        f"most {settings.alpha:g}.",
        f"Human queue: {round((1 - found.share) * found.n_all):,} of {found.n_all:,} items{_unsignalled(found)}. "
        f"Cost: {found.cost:,.0f} "
        f"instead of {found.cost_humans_only:,.0f}.",
    ]


def _unsignalled(found: Any) -> str:
    """How many items the judge cannot label."""
    number = found.signals["signal"].null_count()
    return f", {number:,} of them without a label or signal of the judge" if number else ""


# -- plan of labels ------------------------------------------------------------------------------------


def budget_lines(found: Any) -> list[str]:
    """Return the best design, what contributes to its error, the alternatives, and designs with annotators.

    Parameters
    ----------
    found : BudgetPlan
    """
    best, level = found.best(), f"{100 * found.confidence:g}%"
    facts = found.run.facts
    pilot = ", ".join(counted(int(facts[f"{one}s"]), one) for one in ("item", "judge", "prompt"))
    parts = found.components.filter(pl.col("share") >= 0.005).sort("share", descending=True)
    shares = ", ".join(f"{row['effect']} {100 * row['share']:.0f}%" for row in parts.iter_rows(named=True))
    lines = [
        f"Pilot: {pilot}. Standard errors are predictions, with {level} ranges.",
        f"Smallest standard error of the mean for judges and prompts like these: {_spent(best)}.",
        f"Its variance is from {shares}. With a tenth of the items it is {said(found.at_a_tenth, 3)}.",
    ]
    others = found.table.filter(pl.col("design").is_in(["crossed", "rotated"])).sort("estimate", "high")
    for design in ("crossed", "rotated"):
        row = others.filter(design=design).head(1)
        if row.height and design != best["design"]:
            lines.append(f"Alternative: {_spent(row.row(0, named=True))}.")
    lines.append("An error that all judges share is not included.")
    people = found.table.filter(target="these annotators")
    for start, design in (("For the mean of these annotators", "corrected"), ("Humans only", "humans only")):
        row = people.filter(design=design).sort("estimate").head(1)
        if row.height:
            lines.append(f"{start}: {_spent(row.row(0, named=True))}.")
    return lines


def _spent(row: Mapping[str, Any]) -> str:
    """The standard error of a design, its range, and what is labelled at which cost."""
    error = f"{said(row['estimate'], 3)} {interval(row['low'], row['high'], 3)}"
    prompts = f", {row['prompts']} prompts" if (row["prompts"] or 1) > 1 else ""
    runs = f", {row['runs']} runs" if (row["runs"] or 1) > 1 else ""
    if row["design"] == "rotated":
        what = f"{row['n']:,} items, each labelled by one of {counted(row['judges'], 'judge')}{prompts}{runs}"
    elif row["design"] == "crossed":
        what = f"{row['n']:,} items, all labelled by {counted(row['judges'], 'judge')}{prompts}{runs}"
    else:
        each = counted(row["annotators"], "annotator")
        what = f"{row['people_items']:,} items labelled by {each} each"
        if row["judges"]:
            what += f", and {row['n']:,} items by {counted(row['judges'], 'judge')}"
    return f"{error}, {what} (cost {row['cost']:,.2f})"


def plan_lines(found: Any) -> list[str]:
    """Return the assumptions, the weight of the judge, the required numbers of items and the allocation.

    Parameters
    ----------
    found : LabelPlan
    """
    settings = found.run.settings
    lines = [f"{one}." for one in found.assumptions]
    lines.append(f"Weight of the judge's labels: {decimals(found.weight, 2)}.")
    if settings.half_width is None and settings.difference is None:
        lines.append("Set half_width=... or difference=... to compute the required number of human-labelled items.")
    else:
        for row in found.smallest.iter_rows(named=True):
            each = "" if len(settings.n_people) == 1 else f" with {counted(row['n_people'], 'annotator')} per item"
            lines.append(f"{_goal(settings)}{each} {_requirement(row)}.")
    if found.allocation.height:
        shares = ", ".join(
            f"{100 * row['neyman']:.0f}% with judge label {row['stratum']}"
            for row in found.allocation.iter_rows(named=True)
        )
        lines.append(f"Neyman allocation of the items to label: {shares} (more items if human labels vary more).")
    return lines


def pilot_sample(checks: Any, found: str) -> str:
    """Return the caution about a pilot whose labelled items differ from all items."""
    return (
        f"it is likely that the {checks.n:,} labelled items of the pilot are not a random sample of the "
        f"{checks.n_all:,}: {found}. The plan is for a random sample."
    )


def _goal(settings: Any) -> str:
    if settings.difference is not None:
        averaged = "" if settings.pilot is None else ", averaged over the pilot's uncertainty,"
        return f"A difference of {settings.difference:g} with power {settings.power:g}{averaged}"
    return f"Half-width {settings.half_width:g} on average"


def _requirement(row: Mapping[str, Any]) -> str:
    if row["n"] is None:
        return "is not reached with any number of human-labelled items: the judge has too few labels"
    only = (
        "not reached without the judge"
        if row["humans_only"] is None
        else f"{row['humans_only']:,} without the judge (cost {row['cost_humans_only']:,.0f})"
    )
    return f"requires {row['n']:,} human-labelled items ({_range_of_items(row)}cost {row['cost']:,.0f}); {only}"


def _range_of_items(row: Mapping[str, Any]) -> str:
    """The 80% range of the number of items with a pilot; empty without."""
    upper = " or more" if row["n_high"] is None else f"–{row['n_high']:,}"
    return "" if row["n_low"] is None else f"80% range: {row['n_low']:,}{upper}; "


def uneven_repeats(judge: str, on: float, off: float) -> str:
    """Return the reason why a judge's majority on the labelled items cannot correct its labels of the others."""
    return (
        f"'{judge}' labelled the human-labelled items {on:.3g} times each and the others {off:.3g} times, and "
        "majorities of different numbers of labels err at different rates. Use repeats='first', or label all items "
        "equally often"
    )
