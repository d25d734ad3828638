"""The sentences of the card, the probes, the gate, the validation and the report, from their codes and numbers.

Only ``summary``, the page and the command line print them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from assay.errors import counted, listing
from assay.estimation.intervals import Estimate
from assay.replacement.alt_test import AltTest
from assay.replacement.words import evidence, limitations, verdict_line
from assay.reporting.page import Card
from assay.reporting.tables import decimals, digits_of, estimated, interval, p_value, said, signed
from assay.verdict.cells import DIMENSIONS, TOWARD, Boundaries, CardRow, Dimension
from assay.verdict.probe_calls import CALLED, CalledMeasure
from assay.verdict.probe_measures import WANTED, CalledProbe, Probe, ProbeRow, responses_needed

# -- the report ------------------------------------------------------------------------------------------

LARGEST_DISAGREEMENTS = "Largest disagreements with annotators"

DISTRIBUTIONS = "How often the annotators together, and each judge, give each label."

COMPARISON_CAPTION = (
    "ρ: advantage probability with its interval; it counts ties for the judge. Judges are in the order of their "
    "advantage difference, ρ of the judge minus ρ of the annotators, for which ties count on neither side. ω: winning "
    "rate. Exploratory: the smallest passing margin (published "
    "rule), and the parity margin, the ε at which the judge equals half of the annotators. The sample size for a "
    "conclusive verdict, with its 80% range, if more items can settle it."
)

ANNOTATORS_CAPTION = (
    "Each annotator is left out in turn. ρ: how often the judge is at least as close to the other annotators as the "
    "annotator left out, next to that annotator's own ρ; p-values of non-inferiority within the margin ε, and of "
    "being worse."
)


def provenance_once(cards: Sequence[Card]) -> tuple[Card, ...]:
    """The verdicts of several judges, with one sentence on the provenance of labels that come from the same place."""
    first: dict[str, str] = {}
    found = []
    for card in cards:
        details = [f"Provenance: as for {first[one]}." if one in first else one for one in card.details]
        first = {one: card.judge for one in card.details if one.startswith("Provenance: ")} | first
        found.append(replace(card, details=tuple(details)))
    return tuple(found)


def published_wins(wins: Iterable[tuple[str, int, int]]) -> str:
    """How many annotators each judge wins against by the published rule: (judge, wins, annotators)."""
    each = "; ".join(f"{judge} wins against {won} of {counted(n, 'annotator')}" for judge, won, n in wins)
    return f"Published rule: {each}."


def published_domains(passed: Iterable[tuple[str, int, int]], by: str, *, across: bool) -> tuple[str, str]:
    """In how many of the tested domains, values of ``by``, each judge passes: (judge, passed, domains)."""
    each = "; ".join(f"{judge} passes in {m} of {n}" for judge, m, n in passed)
    one, several = ("criterion", "criteria") if by == "criterion" else ("domain", "domains")
    scope = f"all {several} together" if across else f"each {one} separately"
    return f"Published rule: {each}.", f"The false discovery rate is controlled over {scope}."


def corrected_step(saving: str) -> str:
    """The next step of a judge that may replace and labelled items without human labels."""
    return f"report corrected estimates for {saving}:"


def no_estimate(reason: str) -> str:
    """Why the judge's other labels have no corrected estimate."""
    return f"Corrected estimates: not estimable: {reason}."


# -- the card ----------------------------------------------------------------------------------------------

CRITERIA: Mapping[Dimension, str] = {dimension: dimension.capitalize() for dimension in DIMENSIONS}
"""The criteria of the card as column titles."""

_FRACTIONS: Mapping[float, str] = {0.25: "¼", 0.5: "½", 0.75: "¾"}


def definitions(at: Boundaries) -> Mapping[Dimension, str]:
    """The requirements of a pass with these boundaries."""
    r, e, v, fair = (_FRACTIONS.get(x, f"{x:g}") for x in (at.concordance, at.confidence, at.validity, at.fairness))
    return {
        "replacement": "verdict Replace",
        "concordance": f"human–judge agreement at least {r} of human–human agreement",
        "confidence": f"reliability (Eρ², Φ) of its family's labels at least {e} of the annotators'",
        "validity": (
            f"universe-score correlation with annotators at least {v}, with positive universe-score variance in both"
        ),
        "bias": f"severity within {at.bias:g} SDs of the annotators' severities",
        "fairness": f"group differences within {fair} SD of labels from the annotators'",
        "helpfulness": "the mean of one annotator and the judge predicts the panel better than the annotator alone",
    }


MEANING: Mapping[str, str] = {"✓": "pass", "✗": "fail", "?": "undecided", "–": "insufficient data"}

MIXED = "mixed: as good as some annotators and worse than others"


def legend(meaning: Mapping[str, str]) -> str:
    """``✓ pass · ✗ fail``: the marks with their meaning."""
    return " · ".join(f"{mark} {words}" for mark, words in meaning.items())


def card_method(confidence: float, alpha: float, *, adjusted: bool) -> str:
    """How the intervals and marks of a card are computed."""
    level = f"{100 * alpha:g}%"
    corrected = "Holm-adjusted over judges and criteria" if adjusted else "not adjusted"
    return (
        f"{100 * confidence:g}% intervals, objects and annotators as samples; pass and fail are each demonstrated at "
        f"the one-sided {level} level, {corrected}"
    )


def card_sentence(row: CardRow, alpha: float) -> str:
    """The criteria that a judge passes and fails."""
    known = [
        f"{verb} {listing([CRITERIA[d] for d in DIMENSIONS if row.marks[d] == mark])}"
        for mark, verb in (("✓", "passes"), ("✗", "fails"))
        if mark in row.marks.values()
    ]
    if known:
        found = "; ".join(known)
    elif "–" not in row.marks.values():
        found = "all criteria undecided"
    elif "?" in row.marks.values():
        found = "all criteria with sufficient data undecided"
    else:
        found = "insufficient data for all criteria"
    largest = f"; fairness: {difference}" if (difference := _largest_difference(row)) else ""
    return f"{row.label}: {found}{largest}{_exclusion(row)}{_contrary(row)}{_toward(row, alpha)}."


def unfair(row: CardRow, group: str) -> str:
    """Return the largest difference between groups of a judge, as a limit of its verdict.

    Empty if the judge passes fairness, or if no difference is significant.
    """
    of = f" on {row.criterion}" if row.criterion else ""
    if found := _largest_difference(row):
        return f"it fails fairness by “{group}”{of}: {found}"
    if row.marks["fairness"] != "?" or not row.unequal:
        return ""
    one, p = max(row.unequal, key=lambda each: abs(each[0].judge))
    ends = interval(*one.difference_ends(0.95))
    return (
        f"its severity differs significantly by “{group}”{of}: judge minus annotators, {one.measure}: "
        f"{signed(one.judge)} {ends} ({p_value(p)}); fairness is undecided: the difference is not demonstrated "
        f"to be within the margin of {said(one.margin)} or beyond it"
    )


def _largest_difference(row: CardRow) -> str:
    """Return the group with the largest difference of a judge that fails fairness, and the difference; or nothing."""
    measured = [one for one in row.parts["fairness"] if math.isfinite(one.judge)]
    if row.marks["fairness"] != "✗" or not measured:
        return ""
    one = max(measured, key=lambda each: abs(each.judge))
    return f"judge minus annotators, {one.measure}: {signed(one.judge)}"


def _exclusion(row: CardRow) -> str:
    if row.repeats is None:
        return ""
    return f"; {row.repeats} excluded from its comparison (labels match unusually often)"


def _contrary(row: CardRow) -> str:
    """A judge that agrees on labels but not on scores."""
    if not (row.marks["replacement"] == "✓" and row.marks["validity"] == "✗"):
        return ""
    return "; its labels agree with single annotators, but its scores of objects do not measure the same construct"


def _toward(row: CardRow, alpha: float) -> str:
    """For a single judge, whose confidence has no value: the correlation of its labels with the annotators' scores."""
    one = next((part for part in row.parts["confidence"] if part.measure == TOWARD), None)
    if one is None or not (one.above <= alpha or one.below <= alpha) or math.isnan(one.human):
        return ""
    side = "above" if one.above <= alpha else "below"
    return (
        f"; its single labels correlate {one.judge:.2f} with the annotators' scores (one annotator's: "
        f"{one.human:.2f}), {side} the required share (not adjusted)"
    )


def card_needs(rows: Iterable[CardRow]) -> list[str]:
    """The data that the criteria marked – require, each once."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for dimension in DIMENSIONS:
            for one in row.parts[dimension]:
                if one.found.reason is not None and math.isnan(one.above) and one.measure != TOWARD:
                    found.setdefault(one.found.reason, []).append(CRITERIA[dimension])
    return [f"{listing(list(dict.fromkeys(names)))}: {why}." for why, names in found.items()]


def card_steps(rows: Iterable[CardRow]) -> list[str]:
    """What to do with judges that pass or fail the replacement."""
    judges = [row for row in rows if row.kind == "judge"]
    found = []
    for mark, words in (
        ("✓", "let {} label further items, and report corrected estimates with assay.estimate (assay estimate)"),
        ("✗", "review the largest disagreements of {} with assay.disagreement (assay disagreement)"),
    ):
        names = dict.fromkeys(row.name for row in judges if row.marks["replacement"] == mark)
        if names:
            found.append(f"Next: {words.format(listing(list(names)))}.")
    return found


CONTRASTS = (
    "Replacement is the verdict of the alternative annotator test. Each other mark rests on a contrast: above 0 the "
    "judge is within the boundary, below 0 it is not."
)


# -- the probes --------------------------------------------------------------------------------------------

PROBE_TITLES: Mapping[Probe | CalledProbe, str] = {
    "position": "position", "length": "length", "own": "own family", "resolution": "levels used",
    "shares": "label shares", "halo": "halo", "consistency": "responses", "missing": "missing",
    **{one: one for one in CALLED},
}  # fmt: skip
"""A probe's name over its column."""

PROBE_LEGEND = "! detected; · not detected; – insufficient data."

NO_FAULT = "No fault detected."

PROBE_PICTURE = "A full dot: fault detected. An open dot: not detected. A dash: insufficient data."

UNCHANGED = "Each probe repeats a question with one change that should not affect the label."


def probe_counts(detected: int, checks: int, n_items: int, n_annotators: int) -> str:
    """The first line of the probes."""
    return (
        f"{counted(detected, 'fault')} detected in {counted(checks, 'check')}; {counted(n_items, 'item')}, "
        f"{counted(n_annotators, 'annotator')}."
    )


def probe_method(confidence: float, unit: str, *, adjusted: bool) -> str:
    """How the intervals and tests of probes are computed."""
    corrected = "Holm-adjusted over all checks" if adjusted else "not adjusted"
    return f"{100 * confidence:g}% intervals, jackknife over {unit}, annotators fixed; tests {corrected}"


def _title(row: ProbeRow) -> str:
    title = PROBE_TITLES[row.one.probe]
    return f"{title[:1].upper()}{title[1:]}"


def fault(row: ProbeRow) -> str:
    """A detected fault with its number."""
    if isinstance(row.one, CalledMeasure):
        return f"{_title(row)}: {row.label} {_called_fact(row.one)}."
    e, judge = row.one.found, row.label
    match row.one.probe:
        case "length":
            words = f"{judge}'s labels {_direction(e)} points per SD of {row.covariate} at equal quality"
        case "own":
            words = f"{judge}'s labels {_direction(e)} points for outputs of its family at equal quality"
        case "halo":
            found = f"{signed(e.estimate)} {interval(e.low, e.high)}"
            words = f"{judge}'s labels of different criteria correlate beyond quality: {found} (annotators: "
            words += f"{signed(row.one.human)})"
        case "resolution":
            words = f"{judge} uses fewer levels than the annotators: {row.levels} in all (one annotator: "
            words += f"{row.one.human:.1f}); the effective number is {_times(row)} times the annotators'"
        case "shares":
            side = "more" if e.estimate > 0 else "less"
            words = f"{judge} gives {row.share_of} {side} often than the annotators: {_number(row)}"
        case "consistency" | "missing":
            words = f"{judge} {fact(row)}"
        case _:
            words = f"{judge}, {row.one.measure}: {estimated(e.estimate, e.low, e.high)}; chance "
            words += f"{row.one.null:.2f}"
    return f"{_title(row)}: {words}."


def _direction(e: Estimate) -> str:
    """``increase by 0.34 [0.25, 0.43]`` or ``decrease by …``."""
    if e.estimate > 0:
        return f"increase by {estimated(e.estimate, e.low, e.high)}"
    return f"decrease by {estimated(-e.estimate, -e.high, -e.low)}"


def _number(row: ProbeRow) -> str:
    e = row.one.found
    return f"{signed(e.estimate)} {interval(e.low, e.high)}"


def _times(row: ProbeRow) -> str:
    """The judge's effective number of levels as a multiple of the annotators'."""
    e = row.one.found
    return estimated(math.exp(e.estimate), math.exp(e.low), math.exp(e.high))


def fact(row: ProbeRow) -> str:
    """A finding that is not a fault, as a clause after the judge's name: responses, missing labels, repeated calls."""
    if isinstance(row.one, CalledMeasure):
        return _called_fact(row.one)
    return _responses(row.one.found) if row.one.probe == "consistency" else _missing(row)


def _responses(e: Estimate) -> str:
    """How many responses reach Φ = `WANTED`."""
    if e.estimate > 1 - 1e-12:
        return "gives the same label in every response"
    phi = f"Φ of one response = {estimated(e.estimate, e.low, e.high)}"
    likely = responses_needed(e.estimate)
    if not math.isfinite(likely):
        return f"does not reach Φ = {WANTED:g} with any number of responses ({phi})"
    most = responses_needed(e.low) if math.isfinite(e.low) else likely
    upto = (
        "" if most == likely else f" (up to {most:g})" if math.isfinite(most) else " (possibly no number is sufficient)"
    )
    needs = "reaches" if likely == 1 else f"needs {likely:g}{upto} responses for"
    return f"{needs} Φ = {WANTED:g}{' with one response' if likely == 1 else ''} ({phi})"


def _missing(row: ProbeRow) -> str:
    """Items without a label: how many, and whether the annotators rate them differently."""
    e = row.one.found
    if math.isnan(row.one.null):
        if e.estimate == 0:
            return "has a label on every item"
        return f"has no label on {said(e.estimate)} of the items {interval(e.low, e.high)}"
    side = "higher" if e.estimate > 0 else "lower"
    return f"skips items that the annotators rate {side}: {_number(row)} points"


CHANGES: Mapping[CalledProbe, str] = {
    "repeat": "the call is repeated", "swapped": "the options are swapped", "padded": "the text is written as a list",
    "stripped": "Markdown is removed", "hint": "the prompt names another label",
    "sibling": "its sibling model is used",
}  # fmt: skip
"""The change of each probe, to follow "when"."""


def _called_fact(one: CalledMeasure) -> str:
    """The result of a probe of a study, as a clause after the judge's name."""
    e, when = one.found, CHANGES[one.probe]  # type: ignore[index]
    ends = interval(e.low, e.high)
    unit = "points" if one.in_points else "of the items"
    if one.change == "same":
        return f"gives the same label in a repeated call on {said(e.estimate)} of {one.n} items {ends}"
    if one.change == "change" and math.isnan(one.null):
        how = "changes its label by" if one.in_points else "changes its label on"
        return (
            f"{how} {said(e.estimate)} {unit} when {when} {ends}; the probe repeat is required to separate this from "
            "chance"
        )
    if one.change == "change":
        return (
            f"changes its label when {when}: {said(one.alone)} {unit}, compared with {said(one.again)} in a repeated "
            f"call (difference {signed(e.estimate)} {ends})"
        )
    if one.change == "shift":
        return f"gives {'higher' if e.estimate > 0 else 'lower'} labels when {when}: {signed(e.estimate)} {ends}"
    if one.change == "hint":
        number = f"{signed(e.estimate)} {ends}"
        if one.in_points:
            return f"follows a hint: {number} points per point of the hint"
        return f"follows a hint: share of hinted labels, with minus without the hint, {number}"
    place = "first" if e.estimate > 0 else "last"
    return f"prefers the {place} position over both orders: first minus last {signed(e.estimate)} {ends}"


def undetected(row: ProbeRow) -> str:
    """A measure without a detected fault, with its number."""
    e = row.one.found
    number = _times(row) if row.one.probe == "resolution" else _number(row)
    if row.one.probe == "position":
        number = estimated(e.estimate, e.low, e.high)
    name = PROBE_TITLES[row.one.probe] + (f" of {row.share_of}" if row.one.probe == "shares" else "")
    if isinstance(row.one, CalledMeasure) and row.one.change in ("shift", "place"):
        name += f", {'position' if row.one.change == 'place' else row.one.change}"
    return f"{name} ({number})"


Grouped = Mapping[tuple[str, str | None], Mapping[Probe | CalledProbe, Sequence[ProbeRow]]]
"""The measures of each probe, by judge and criterion."""


def fault_sentences(grouped: Grouped) -> list[str]:
    """A line per detected fault; the label shares of a judge together."""
    lines = []
    for by_probe in grouped.values():
        for probe, rows in by_probe.items():
            faults = [row for row in rows if row.detected]
            if probe == "shares" and len(faults) > 1:
                each = ", ".join(f"{row.share_of} {_number(row)}" for row in faults)
                lines.append(f"Label shares: {rows[0].label} minus the annotators: {each}.")
            else:
                lines += [fault(row) for row in faults]
    return lines


def probe_sentences(grouped: Grouped) -> list[str]:
    """The detected faults, a line each; then a line per judge without a fault, of label shares only the largest."""
    lines = fault_sentences(grouped)
    for by_probe in grouped.values():
        facts: list[ProbeRow] = []
        quiet: list[ProbeRow] = []
        for probe, rows in by_probe.items():
            known = [row for row in rows if not row.detected and math.isfinite(row.one.found.estimate)]
            facts += [row for row in known if probe == "consistency" or math.isnan(row.one.null)]
            tested = [row for row in known if row not in facts and not row.one.untested]
            quiet += tested if probe != "shares" else sorted(tested, key=_size)[-1:] * (len(tested) == len(rows))
        words = [fact(row) for row in facts]
        if quiet:
            words.insert(0, f"no fault detected in {listing([undetected(row) for row in quiet], 12)}")
        if words:
            lines.append(f"{next(iter(by_probe.values()))[0].label}: {'; '.join(words)}.")
    return lines


def _size(row: ProbeRow) -> float:
    return abs(row.one.found.estimate)


def probe_needs(rows: Iterable[ProbeRow]) -> list[str]:
    """The data that the probes marked – require, or why a value is not tested."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.one.measure == "" and row.one.found.reason is not None:
            found.setdefault(row.one.found.reason, []).append(PROBE_TITLES[row.one.probe])
        elif row.one.untested:
            why = f"not tested: {row.one.found.reason or 'the test is undefined on these data'}"
            found.setdefault(why, []).append(undetected(row))
    return [f"– {listing(list(dict.fromkeys(names)))}: {why}." for why, names in found.items()]


# -- the gate ----------------------------------------------------------------------------------------------


def gate_headline(status: str, code: int) -> str:
    """``Pass (exit 0).``"""
    return f"{status.capitalize()} (exit {code})."


def drift_check(one: Estimate, most: float) -> str:
    """The judge drift and the change that the policy allows."""
    return f"change {signed(one.estimate)} {interval(one.low, one.high)}, allowed ±{most:g}."


def more_anchors(n: int) -> str:
    """How many anchor items are likely to settle the check."""
    return f"With about {n:,} anchor items the check is conclusive with 80% probability, if the estimate is true."


def verdict_check(test: AltTest) -> str:
    """Return a verdict with its tests, and what *Replace* does not cover."""
    limits = [f"Limits of the verdict: {one}." for one in limitations(test)]
    return " ".join([verdict_line(test), *evidence(test), *limits])


def estimate_check(quantity: str, one: Estimate, bounds: Iterable[tuple[str, float]]) -> str:
    """A corrected estimate and the bounds of the policy."""
    required = " and ".join(f"{what} {bound:g}" for what, bound in bounds)
    digits = max(digits_of(one.low, one.high), 3)  # a coefficient is in any unit
    return f"{quantity} {estimated(one.estimate, one.low, one.high, digits)}; required: {required}."


def more_labels(n: int | None, *, likely: bool) -> str:
    """How many more human-labelled items settle the check, if only a width is undecided, or are likely to settle it.

    None if more than there are items.
    """
    if n is None:
        what = "A check that is conclusive with 80% probability" if likely else "A conclusive check"
        return f"{what} requires more human-labelled items than the table has items."
    more = f"about {counted(n, 'more human-labelled item')} the check is conclusive"
    return f"With {more}{' with 80% probability, if the estimate is true' if likely else ''}."


# -- the validation of the verdict -------------------------------------------------------------------------


def percent(share: Estimate) -> str:
    """``25% [9%, 53%]``, rounded as ``0.25 [0.09, 0.53]`` in a table."""
    value, low, high = (f"{100 * float(decimals(one, 2)):.0f}%" for one in (share.estimate, share.low, share.high))
    return f"{value} [{low}, {high}]"


def good_judge(found: Estimate) -> str:
    """How often a judge with human-level errors gets *Replace*."""
    return f"A judge with human-level errors gets Replace in {percent(found)} of such studies."


def unsuitable_judges(judge: str, behaviour: str, wrong: Estimate, n_studies: int) -> str:
    """How often an unsuitable judge gets *Replace*: the worst of them."""
    if wrong.estimate:
        return (
            f"Of the unsuitable judges, {judge} ({behaviour}) gets Replace most often: in {percent(wrong)} of studies."
        )
    studies = "1 study" if n_studies == 1 else f"{n_studies:,} studies"
    return f"No unsuitable judge got Replace in {studies} (upper limit {100 * wrong.high:.0f}% each)."


def detected_least(judge: str, found: Estimate) -> str:
    """Which unsuitable judge is detected least often."""
    return f"The unsuitable judge detected least often is {judge}: in {percent(found)} of studies."


def fairness_rates(unfair: Estimate, fair: Estimate) -> str:
    """How often the card's fairness is right for a biased judge, and wrong for an unbiased one."""
    return f"Fairness: the unfair judge fails in {percent(unfair)} of studies, and the fair judge in {percent(fair)}."


MORE_POWER = "Next: estimate the number of items that the verdict needs with assay.plan.alt_test (assay plan alt-test)."
