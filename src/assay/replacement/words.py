"""The sentences of the alternative annotator test, made from the codes and numbers of its results.

`summary`, the page and the command line print them. The results themselves hold codes and numbers.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from assay.data.words import PROVENANCE
from assay.errors import counted, listing
from assay.estimation.intervals import Estimate, partial_conjunction
from assay.replacement.decision import FEWEST, NO_AGREEMENT, Reason, Verdict
from assay.reporting.tables import estimated, interval, number, p_value, said, signed
from assay.statistics.clusters import LARGE_EFFECT
from assay.statistics.words import document_effect as document_effect

AltTest: TypeAlias = Any
"""`assay.replacement.alt_test.AltTest`. The results import this file, so that it does not import them."""

AltTestBy: TypeAlias = Any
JudgeComparison: TypeAlias = Any
SampleSize: TypeAlias = Any

LABELS: Mapping[Verdict, str] = {
    "replace": "Replace", "do_not_replace": "Do not replace", "mixed": "Mixed", "undecided": "Undecided",
    "not_testable": "Not testable",
}  # fmt: skip
"""The label of each verdict, on every page and in every picture."""

MORE_ITEMS_HELP: tuple[Reason, ...] = (
    "comparison_undecided", "item_level_agreement_undecided", "agreement_ratio_undecided",
)  # fmt: skip
"""Reasons that more items by the same annotators can remove, so that a sample size is estimated."""

_TESTS = {
    "t": "paired t-tests",
    "wilcoxon": "Wilcoxon signed-rank tests (fewer than 30 items)",
    "exact": "exact tests (all differences equal)",
    "exact score": "exact unconditional tests (Tango's score)",
    "score": "Tango's score tests (more than 300 items; error rate up to 0.06 at 0.05)",
}


# -- the verdict and its reason --------------------------------------------------------------------

_NORMALISED = {"zscore": "standard scores", "minmax": "labels from 0 to 1", "rank": "ranks"}


def verdict_sentence(test: AltTest, annotator: str = "these annotators", domain: str = "") -> str:
    """Return the verdict as a sentence. ``annotator`` is who would be replaced, ``domain`` as in " for law"."""
    judge, reason = test.judge, test.reason_text
    if test.settings.normalise is not None:
        domain += f" ({_NORMALISED[test.settings.normalise]} within each annotator, not the labels themselves)"
    if test.verdict == "replace":
        return f"{judge} may replace {annotator}{domain}."
    if test.verdict == "do_not_replace":
        return f"Do not replace {annotator} with {judge}{domain}: {reason}."
    if test.verdict == "mixed" and test.verdict_tests.p_worse > test.verdict_tests.alpha:
        groups = test.verdict_tests.groups
        good = groups.noninferior_to(test.verdict_tests.alpha)[0]
        other = groups.second if good == groups.first else groups.first
        return f"{judge} is as good as {listing(good, 4)}; not demonstrated for {listing(other, 4)}{domain}."
    if test.verdict == "mixed":
        worse = f" ({listing(test.worse_than, 4)})" if test.worse_than else ""
        return f"{judge} is as good as some annotators and worse than others{worse}{domain}."
    if test.verdict == "not_testable":
        within = _within(test.item_agreement.for_people.strata)
        return f"{judge} cannot be tested{domain}: the annotators agree too little with each other{within}."
    return f"Undecided for {judge}{domain}: {reason}."


def _within(strata: str) -> str:
    """Return the item column within which labels are compared, or nothing."""
    return f" within “{strata}”" if strata else ""


def verdict_line(test: AltTest) -> str:
    """Return the label of the verdict and its sentence, on one line."""
    sentence, label = verdict_sentence(test), LABELS[test.verdict]
    return sentence if sentence.startswith(label) else f"{label}: {sentence}"


def share_of_annotators(threshold: float) -> str:
    """Return the share of the annotators that the threshold asks for: *half of the annotators*."""
    return f"{'half' if threshold == 0.5 else f'{100 * threshold:g}%'} of the annotators"


def fewest_clusters(found: Any) -> str:
    """Return the number of clusters of the tested annotator with the fewest, who is named if others have more."""
    number: Any = found.clustering.n_clusters
    clusters = counted(int(number.min()), "cluster")
    if (number == number.min()).all():
        return clusters
    name = found.table.humans[found.tested[int(number.argmin())]]
    return f"the items of {name} are in {clusters}"


def reason_text(test: AltTest, reason: Reason) -> str:
    """Return the part of a sentence that follows the colon after a verdict."""
    s, tests, n = test.settings, test.verdict_tests, test.n_annotators
    if reason == "worse_than_half":
        return f"it is worse than at least {tests.least_worse} of {counted(n, 'annotator')}, beyond the margin"
    if reason == "agreement_ratio_too_low":
        return f"its agreement ratio is below {number(s.min_agreement_ratio)}"
    if reason == "comparison_undecided":
        settle = "does" if test.n_items == 1 else "do"
        items = counted(test.n_items, "item")
        return f"{items} {settle} not settle whether it is as good as {share_of_annotators(s.threshold)}"
    if reason == "too_few_items_per_annotator":
        if n:
            return few_tested(n, test.win_counts.n_compared, s.min_items)
        return f"no annotator has {s.min_items} comparable items"
    if reason == "too_few_clusters":
        return f"{fewest_clusters(test.win_counts)}; at least {FEWEST} are required"
    if reason == "item_level_agreement_undecided":
        return "item-level agreement is not demonstrated"
    if reason == "agreement_ratio_undecided":
        return f"an agreement ratio above {number(s.min_agreement_ratio)} is not demonstrated"
    if reason == "matches_one_annotator":
        whose = f"its labels match {tests.matched_annotator}'s more often than agreement with the others explains"
        return f"{whose}; check for label leakage"
    if reason == "depends_on_column":
        return f"it depends on whether “{tests.own_words}”, a column of the labels' own words, is known without reading"
    if reason == "annotators_differ":
        return f"{_two_groups(tests.groups)}, and it is not demonstrated to be as good as both"
    agreement = "agreement with the reference" if s.fixed_reference else "agreement among annotators"
    agreement += _within(test.item_agreement.for_people.strata)
    if reason == "human_agreement_undecided":
        return f"{agreement} is not demonstrated"
    assert reason == "human_agreement_too_low"
    return f"{agreement} is not demonstrated, and its upper confidence limit is below {number(NO_AGREEMENT)}"


CROWD_OF_VOTERS = (
    "If many people cast a few votes each (model_a, model_b, winner), read them as one crowd: annotator='place' "
    "(--annotator place) names them by their places among the votes on a pair."
)
"""The advice for voters who have too few items each."""


def few_tested(tested: int, compared: int, least: int) -> str:
    """Return how many of the annotators have enough items to be tested."""
    return f"only {tested} of {compared} annotators {'has' if tested == 1 else 'have'} {least} comparable items"


def tested_annotators(test: AltTest) -> str:
    """Return ``annotators``, or how many of them have enough items to be tested: ``the 6 tested of 60 annotators``."""
    tested, compared = test.n_annotators, test.win_counts.n_compared
    return "annotators" if tested == compared else f"the {tested} tested of {compared} annotators"


# -- the three tests -------------------------------------------------------------------------------


def evidence(test: AltTest, *, agreement: bool = True) -> list[str]:
    """Return a sentence for each test: non-inferiority, item-level agreement, agreement ratio.

    ``agreement=False`` leaves out the agreement of the annotators, for a page that shows their α elsewhere.
    """
    if not test.n_annotators:
        return [f"No annotator has the {test.settings.min_items} comparable items that the test requires."]
    return [_noninferiority(test), _item_level(test), _agreement_ratio(test, agreement)]


def _noninferiority(test: AltTest) -> str:
    """Return the result for the required number of annotators, with the p-value of that number."""
    g, n = test.verdict_tests, counted(test.n_annotators, "annotator")
    margin = f"margin ε = {test.epsilon:g}"
    if test.win_counts.few_tested:
        least = test.settings.min_items
        return f"Non-inferiority: not tested: {few_tested(test.n_annotators, test.win_counts.n_compared, least)}."
    if g.p_noninferior <= g.alpha:
        found = f"as good as at least {g.least} of {n} within the {margin} ({p_value(g.p_noninferior)})"
    elif g.p_worse <= g.alpha:
        found = f"worse than at least {g.least_worse} of {n}, beyond the {margin} ({p_value(g.p_worse)})"
    else:
        found = f"not demonstrated for at least {g.least} of {n}, {margin} ({p_value(g.p_noninferior)})"
    each = f"; worse than {listing(test.worse_than, 4)} (each, Holm-adjusted)" if test.worse_than else ""
    return f"Non-inferiority: {found}{each}."


def _item_level(test: AltTest) -> str:
    """Return whether the labels depend on the item, within the strata with the largest p-value."""
    g, strata = test.verdict_tests, test.item_agreement.for_item_level.strata
    p = p_value(g.p_item_level)
    if g.p_item_level <= g.alpha:
        same = f" with the same “{strata}”" if strata else ""
        return f"Item-level agreement: matches annotators of the same item better than of other items{same} ({p})."
    return f"Item-level agreement: not demonstrated{_within(strata)} ({p})."


def _agreement_ratio(test: AltTest, agreement: bool) -> str:
    """Return R with the p-value of the side of the required ratio on which it lies, if either is demonstrated."""
    g, annotators = test.verdict_tests, test.annotator_agreement
    least, strata = number(test.settings.min_agreement_ratio), test.item_agreement.for_ratio.strata
    within = _within(strata)
    if annotators.reason:
        return f"Agreement ratio{within}: not estimable: {annotators.reason}."
    ratio = test.agreement_ratio
    value = f"R = {number(ratio.estimate)}"
    value += f" ({ratio.reason})" if ratio.reason else f" {interval(ratio.low, ratio.high)}"
    if math.isnan(ratio.estimate):
        value = f"no estimate ({ratio.reason})"
    if g.p_ratio_above <= g.alpha:
        found = f"{value}, above the required {least} ({p_value(g.p_ratio_above)})"
    elif g.ratio_too_low:
        found = f"{value}, below the required {least} ({p_value(g.p_ratio_below)})"
    else:
        found = f"{value}; not demonstrated to exceed {least} ({p_value(g.p_ratio_above)})"
    if agreement:
        reference = "the reference" if test.settings.fixed_reference else "each other"
        a = f"A = {number(annotators.estimate)} {interval(annotators.low, annotators.high)}"
        found += f". Annotators agree with {reference} at {a}"
    return ". ".join([f"Agreement ratio{within}: {found}", *ratio_meaning(test)]) + "."


LEAST_SCALE_USE = 0.9
"""Below this the use of the scale explains a part of a low agreement ratio."""


WIDE = 25, 75
"""A range from below the first to above the second number of items is not printed."""

NEARLY_ALL = 95
"""Items from which 100 items of a judge count as worth about 100 of an annotator, so that nothing is printed."""


def ratio_meaning(test: AltTest) -> list[str]:
    """Return what the agreement ratio means: agreement lower than that of annotators, and its worth in items."""
    ratio, (low, high), found = test.agreement_ratio, test.items_worth, []
    if not math.isfinite(ratio.low + ratio.high) or test.settings.fixed_reference:
        return []
    if ratio.high < 1:
        closer = test.verdict_tests.p_noninferior <= test.verdict_tests.alpha
        measures = f" (R corrects for agreement by chance; the comparison within ε, by {test.score}, does not)"
        found.append(f"It agrees with annotators less than they agree with each other{measures if closer else ''}")
    if low < NEARLY_ALL and not (low < WIDE[0] and high > WIDE[1]):
        worth = f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"
        found.append(
            f"To find a relation with another variable, 100 items labelled by it are worth at least about {worth} "
            "labelled by one annotator"
        )
    return found


def ratio_notes(test: AltTest) -> list[str]:
    """Return the judge's use of a numeric scale, and how the margin compares with the required agreement ratio."""
    found, use, ratio = [], test.scale_use, test.agreement_ratio.estimate
    if use is not None and use.agreement < LEAST_SCALE_USE and ratio > 0:
        found.append(
            f"a part of the agreement ratio is use of the scale: its labels spread {number(use.spread)} times as far "
            f"as an annotator's and differ by {number(use.shift)} on average; apart from this, R would be about "
            f"{number(ratio / use.agreement)}"
        )
    if test.weakest_annotator is not None:
        name, p = test.weakest_annotator
        found.append(
            f"{name} agrees with the other annotators less than half as much as they agree with each other "
            f"({p_value(p)}), which raises the agreement ratio"
        )
    margin, least = test.margin_as_ratio, test.settings.min_agreement_ratio
    if not math.isnan(margin):
        implied = "no agreement ratio" if margin <= 0 else f"an agreement ratio of about {number(margin)}"
        stricter = "margin" if margin > least else "required agreement ratio"
        found.append(f"the margin ε alone requires {implied}; the {stricter} is the stricter requirement")
    return found


def limitations(test: AltTest) -> list[str]:
    """Return what a verdict does not cover or is due to: unanswered items, and each significant limitation."""
    found = []
    missing = test.win_counts.items_without_judge
    total = missing + test.n_items
    if test.verdict == "replace" and missing:
        found.append(f"it left {missing} of {total} items ({100 * missing / total:.0f}%) unanswered")
    return found + [
        _limitation(one, test.score == "neg_rmse") + _see(one, test.win_counts.table) for one in test.limitations
    ]


def _see(one: Any, table: Any) -> str:
    """Return the command for the items with one value of an item column; nothing for parts of numbers and order."""
    numeric = [known.name for known in table.known.columns if known.numbers is not None]
    if one.code != "worst_group" or one.what in numeric or table.about is None or one.what not in table.about.columns:
        return ""
    return f"; see assay alt-test --where {shlex.quote(f'{one.what}={one.value}')}"


def _limitation(one: Any, numeric: bool) -> str:
    if one.code == "unanswered_labels":
        return f"the unanswered items differ from the others in the annotators' labels ({p_value(one.p)})"
    if one.code == "unanswered_disputed":
        more = "more" if one.here > one.elsewhere else "less"
        return f"annotators disagree {more} on the unanswered items than on the others ({p_value(one.p)})"
    if one.code == "label_rarely_given":
        return (
            f"it gives “{one.what}” on {100 * one.here:.0f}% of items; annotators give it on "
            f"{100 * one.elsewhere:.0f}% ({p_value(one.p)})"
        )
    measure = (
        "squared distance among annotators minus that to the judge"
        if numeric
        else "agreement with annotators minus that among them"
    )
    numbers = f"{measure} {signed(one.here, 2)}, elsewhere {signed(one.elsewhere, 2)}; {p_value(one.p)}"
    if one.code == "decline":
        return f"its agreement decreases with “{one.what}” (in the last third, {numbers})"
    where = f"“{one.what}” is {one.value}" if one.value != "the last third" else f"the last third by “{one.what}”"
    return f"on {counted(one.n, 'item')} ({where}) it agrees less with annotators than elsewhere ({numbers})"


def notes(test: AltTest) -> list[str]:
    """Return the sentences that qualify a verdict, in lower case and without an end."""
    parts = (larger_count, strata_note, ratio_notes, groups_note, match_note, places_note, orders_note,
             provenance_note)  # fmt: skip
    return [one for part in parts for one in part(test)]


def provenance_note(test: AltTest) -> list[str]:
    """Return where the judge's labels come from, unless it is another annotator."""
    return [PROVENANCE[test.provenance]] if test.judge in test.win_counts.table.ratings.judges else []


def places_note(test: AltTest) -> list[str]:
    """Return that annotators without names are places of labels, not people; nothing if all have names."""
    table = test.win_counts.table
    places = [name for name in table.humans if name in table.reading.places]
    if not places:
        return []
    return [
        f"annotators {listing(places, 6)} have no names: each is a place of labels, which can be another person's in "
        "another item, so that results of one annotator are not those of one person"
    ]


def orders_note(test: AltTest) -> list[str]:
    """Return how the judge's votes in both orders count, and how many differ; nothing if none differs."""
    table = test.win_counts.table
    pairs, apart = table.reading.as_one_vote.get(test.judge, (0, 0))
    if not apart:
        return []
    found = f"its votes on {pairs:,} pairs in both orders count as one vote each, "
    share = f"{apart:,} ({100 * apart / pairs:.0f}%)"
    if table.settings.repeats != "majority":
        return [f"{found}in an order that is drawn for each pair; they differ on {share}"]
    found += f"and as a tie on the {share} on which they differ"
    if not any(name in table.reading.as_one_vote for name in table.humans):
        found += (
            "; annotators voted in one order and have no such ties, which lowers its agreement with them; with another "
            "rule for repeated labels, an order is drawn"
        )
    return [found]


def strata_note(test: AltTest) -> list[str]:
    """Return which item columns are strata, and which are not, each with the reason; nothing without item columns."""
    known = test.win_counts.table.known
    used = [one.name for one in known.columns]
    unused = [f"{name} ({why})" for name, why in known.unused.items()]
    parts = [f"strata: {listing(used, 6)}"] if used else []
    if unused:
        parts.append(f"item columns that are not strata: {listing(unused, 6)}")
    return ["; ".join(parts)] if parts else []


def larger_count(test: AltTest) -> list[str]:
    """Return the larger number of annotators that it is as good as, with the p-value of that number; or nothing.

    The p-value is adjusted for several verdicts (Bonferroni), as the number is.
    """
    g, k = test.verdict_tests, test.noninferior_to
    if not (test.n_annotators and g.p_noninferior <= g.alpha and k > g.least):
        return []
    p = min(1.0, test.n_verdicts * float(partial_conjunction(test.win_counts.verdict_p[0], k)))
    adjusted = f", Bonferroni-adjusted for {test.n_verdicts} verdicts" if test.n_verdicts > 1 else ""
    n = counted(test.n_annotators, "annotator")
    return [f"as good as at least {k} of {n} within the margin ε = {test.epsilon:g} ({p_value(p)}{adjusted})"]


# -- matches with one annotator, and groups of annotators ---------------------------------------------


def given_of_alone(match: Any) -> str:
    """Return how often the judge gives a label that only one annotator gives: *14 of the 15 items …*."""
    items = f"{match.n_given} of {counted(match.n_alone, 'item')}"
    if match.kind == "equal":
        return f"{items}, although two annotators rarely give equal labels"
    return f"{items} on which no other annotator gives it and several others agree on another label"


def match_note(test: AltTest) -> list[str]:
    """Return a weaker match with one annotator, which does not change the verdict, or why none can be tested."""
    found = test.win_counts.match_tests
    if found.untestable == "two_annotators":
        return ["with two annotators, label leakage of one annotator's labels is not testable"]
    if found.untestable is not None:
        return ["label leakage is not testable: equal labels of other annotators beyond chance are not demonstrated"]
    match = found.found
    if match is None or found.repeated is not None:
        return []
    name = test.win_counts.table.humans[match.annotator]
    if match.kind == "sides_with":
        return [f"it sides with {name} on {given_of_alone(match)}: it shares a view with {name}, or has seen part of "
                f"{name}'s labels"]  # fmt: skip
    return [f"it is closer to {name} than agreement with the others explains ({p_value(match.p)}). No item has labels "
            "of two other annotators, so that a shared view and label leakage cannot be distinguished"]  # fmt: skip


def _two_groups(groups: Any) -> str:
    first, second = listing(groups.first, 4), listing(groups.second, 4)
    return f"the annotators form two groups ({first}; {second}) that agree more within than between"


def groups_note(test: AltTest) -> list[str]:
    """Return the two groups of annotators and which of them the judge is as good as; nothing without groups."""
    groups = test.verdict_tests.groups
    if groups is None:
        return []
    each = [
        f"{'as good as' if p <= test.verdict_tests.alpha else 'not demonstrated to be as good as'} "
        f"{listing(group, 4)} ({p_value(p)})"
        for group, p in ((groups.first, groups.p_first), (groups.second, groups.p_second))
    ]
    return [f"{_two_groups(groups)} ({p_value(groups.p)}). Within the margin, {test.judge} is {' and '.join(each)}"]


# -- the published rule, margins and sample sizes ----------------------------------------------------


def published_rule(test: AltTest) -> str:
    """Return the result of the published rule and the advantage probability."""
    rho, averaged = test.advantage_probability, ""
    if test.n_annotators < test.win_counts.n_compared:
        averaged = f", averaged over {tested_annotators(test)}"
    return (
        f"Published rule: {'passes' if test.passed else 'does not pass'} (ω = {said(test.winning_rate)}, {test.n_won} "
        f"of {counted(test.n_annotators, 'annotator')}; required {test.settings.threshold:g}). Advantage probability "
        f"ρ = {estimated(rho.estimate, rho.low, rho.high)}{averaged}."
    )


def margins(test: AltTest) -> str:
    """Return the smallest passing margin of the published rule and the parity margin."""
    smallest, parity = test.smallest_epsilon, test.needed_epsilon
    passing = "no passing margin" if math.isnan(smallest) else f"smallest passing margin {smallest:.3f}"
    return f"{passing}; parity margin {number(parity.estimate)} {interval(parity.low, parity.high)}"


def size_range(found: SampleSize) -> str:
    """Return the range of a sample size: *75–1,300*."""
    if found.n_items is None or found.low is None:
        return "no range"
    return f"{found.low:,}–{found.high:,}" if found.high is not None else f"{found.low:,} to more than {found.limit:,}"


def sample_size(test: AltTest) -> list[str]:
    """Return the sample size of a study that is likely to give a conclusive verdict, if more items can help."""
    if test.reason not in MORE_ITEMS_HELP:
        return []
    found = test.sample_size
    if found.n_items is None:
        chances = [f"{n:,} items give one with {100 * found.chance(n):.0f}%"
                   for n in dict.fromkeys((found.even, found.limit)) if n is not None]  # fmt: skip
        return [
            f"no size up to {found.limit:,} items gives a conclusive verdict with {100 * found.power:g}% probability; "
            f"{' and '.join(chances)}: {found.reason}"
        ]
    return [
        f"a study of about {found.n_items:,} items by these annotators gives a conclusive verdict (Replace, Do not "
        f"replace or Mixed) with {100 * found.power:g}% probability (80% range: {size_range(found)})"
    ]


# -- summaries -------------------------------------------------------------------------------------


def summary(test: AltTest) -> str:
    """Return the verdict, its three tests, the published rule, the sample size and the notes."""
    s, lines = test.settings, [verdict_line(test), *evidence(test), published_rule(test)]
    lines += [f"Limits of the verdict: {one}." for one in limitations(test)]
    if test.n_annotators:
        lines += [f"Sample size: {one}." for one in sample_size(test)]
    lines.append(f"Notes: {_methods_note(test)}.")
    if test.advantage_probability.reason:
        lines.append(f"Notes: no interval for ρ: {test.advantage_probability.reason}.")
    if test.n_annotators:
        lines += [f"Notes: {one}." for one in notes(test)]
        lines.append(f"Notes, exploratory: {margins(test)}.")
        effect = test.document_effect
        if effect is not None and effect.design >= LARGE_EFFECT and not effect.by_chance and s.clusters is None:
            lines.append(document_effect(effect))
    return "\n".join([*lines, *test.run.closing()])


def _methods_note(test: AltTest) -> str:
    """Return the score, the tests of the published rule, the counts and the interval method."""
    s = test.settings
    reference = ""
    if s.fixed_reference:
        reference = f" with {'the gold labels' if s.gold is not None else f'the expert {s.expert!r}'}"
    tests = ", ".join(dict.fromkeys(_TESTS[t] for t in test.decided.tests))
    if s.clusters is not None:
        tests += f" with standard errors robust to clusters of '{s.clusters}'"
    one_sided = (
        f"one-sided {tests}, Benjamini–Yekutieli q = {s.fdr:g} (published rule)" if test.decided.tests else "no test"
    )
    parts = [
        f"score {test.score}{reference}", one_sided,
        f"{counted(test.n_items, 'item')}, {counted(test.n_labels, 'human label')}",
    ]  # fmt: skip
    if math.isfinite(test.advantage_probability.low):
        parts.append(test.interval_method)
    return "; ".join(parts)


def domains_sentence(found: AltTestBy) -> str:
    """Return how many domains have each verdict: *gpt: replace on 1, undecided on 2 of 3 criteria.*"""
    tests, n = found.tests.values(), found.n_domains
    some = "criteria" if found.by == "criterion" else f"domains ({found.by})"
    one = "criterion" if found.by == "criterion" else f"domain ({found.by})"
    numbers = {label: sum(test.verdict == v for test in tests) for v, label in LABELS.items()}
    groups = [(label.lower(), str(k)) for label, k in numbers.items() if k]
    if found.untested:
        groups.append(("not tested", f"{len(found.untested)} ({listing(list(found.untested), 4, cut=True)})"))
    if len(groups) == 1:
        every = f"the only {one}" if n == 1 else f"both {some}" if n == 2 else f"all {n} {some}"
        return f"{found.judge}: {groups[0][0]} on {every}."
    return f"{found.judge}: {', '.join(f'{label} on {k}' for label, k in groups)} of {n} {some}."


def published_by_domain(found: AltTestBy) -> str:
    """Return in how many of the tested domains the published rule passes."""
    tested = " tested" if found.untested else ""
    return f"Published rule: passes in {found.passed_in} of {len(found.tests)}{tested}"


def no_common_criterion(judge: str, humans: Sequence[str], own: Sequence[str]) -> str:
    """Return the reason why no criterion can be tested: humans and the judge answered different ones."""
    same = len(humans) == len(own) == 1
    remedy = "if they are one question, read both files with match='loose'" if same else "give both the same names"
    apart = f"humans labelled {listing(humans, 4)} and '{judge}' {listing(own, 4)}"
    return f"{apart}: no criterion has labels of both; {remedy}"


def untested_domains(found: AltTestBy) -> list[str]:
    """Return a line for each domain without a test, with the reason."""
    return [f"{name}: not tested; {why.partition('. ')[0].rstrip('.')}." for name, why in found.untested.items()]


def domains_summary(found: AltTestBy) -> str:
    """Return the verdicts by domain, the published rule, and a line for each domain."""
    one, several = ("criterion", "criteria") if found.by == "criterion" else ("domain", "domains")
    scope = {"across": f"across all {several}", "within": f"within each {one}"}[found.correction]
    lines = [
        domains_sentence(found),
        f"{published_by_domain(found)} ({found.by}; Benjamini–Yekutieli {scope}).",
    ]
    for name, test in found.tests.items():
        rho = test.advantage_probability
        line = f"  {name}: {test.verdict_text}" + (f": {reason_text(test, test.reason)}" if test.reason else "")
        if test.n_annotators:
            ratio = f"ρ = {estimated(rho.estimate, rho.low, rho.high)}"
            line += f"; ω = {said(test.winning_rate)}, {ratio}, {counted(test.n_items, 'item')}"
        lines.append(f"{line}.")
        lines += [f"    Limits of the verdict: {one}." for one in limitations(test)]
        lines += [f"    excluded: {one}." for one in test.exclusions]
    lines += [f"  {name}: not tested: {why}" for name, why in found.untested.items()]
    if any(test.reason == "too_few_items_per_annotator" and not test.n_annotators for test in found.tests.values()):
        lines.append(f"To test {several} of fewer items, lower min_items=..., or test all items together.")
    return "\n".join([*lines, found.signature])


def paired_summary(found: Any) -> str:
    """Return the mean winning rate over the pairings, and the limit of combined annotators."""
    rho = found.advantage_probability
    sentence = (
        f"{found.judge}: mean winning rate ω = {said(found.winning_rate)} (minimum {said(found.low)}, maximum "
        f"{said(found.high)}) over {found.pairings.height} pairings of {' and '.join(str(len(s)) for s in found.sets)} "
        f"annotators, margin ε = {found.epsilon:g}; advantage probability ρ = "
        f"{estimated(rho.estimate, rho.low, rho.high)}; {found.n_items} items. Combined annotators mix several "
        "annotators, which adds variance. Prefer more items by the same annotators."
    )
    return "\n".join([sentence, *found.run.closing()])


def comparison_summary(found: JudgeComparison) -> str:
    """Return the judge that is closest to the annotators, its lead, all verdicts and the published rule."""
    first = next(iter(found.tests.values()))
    best, k = found.tests[found.best].advantage_difference, len(found.tests)
    low, high = best.interval(1 - (1 - first.settings.confidence) / k)
    ends = interval(low, high)
    chosen = f" (interval adjusted for selecting the best of {k})" if k > 1 and math.isfinite(low) else ""
    ahead = (
        "Highest advantage probability minus the annotators'" if k > 1 else "Advantage probability, judge − annotators"
    )
    rho = number(found.tests[found.best].advantage_probability.estimate)
    lines = [f"{ahead}: {found.best}, {signed(best.estimate, 2)} {ends}{chosen}; ρ = {rho}."]
    if not math.isfinite(best.estimate):
        fewer = "; lower min_items=... to test them" if not first.n_annotators else ""
        lines = [f"No advantage probability is estimable: {reason_text(first, first.reason)}{fewer}."]
    elif found.next_best is not None:
        lines += [_lead(found, found.next_best), *_higher_by_ties(found)]
    for verdict in dict.fromkeys(test.verdict for test in found.tests.values()):
        names = [name for name, test in found.tests.items() if test.verdict == verdict]
        lines.append(f"{LABELS[verdict]} ({len(names)} of {k}): {', '.join(names)}.")
    passed = [name for name, test in found.tests.items() if test.passed]
    lines.append(
        f"Published rule: {len(passed)} of {k} judges pass (ε = {first.epsilon:g})"
        + (f": {', '.join(passed)}." if passed else ".")
    )
    alpha = first.settings.level
    if first.n_verdicts > 1:
        lines.append(f"Probability of any false Replace among {k} judges: at most {alpha:g} (Holm-adjusted).")
    elif k > 1:
        lines.append(
            f"Probability of any false Replace among {k} judges: up to {min(1, k * alpha):.2f} (each at {alpha:g}, not "
            "adjusted)."
        )
    if found.ceiling is not None and not found.ceiling.passed:
        lines.append(
            f"The {found.ceiling.judge} does not pass the published rule either: these data are too few to show that "
            "any judge passes."
        )
    return "\n".join([*lines, *found.run.closing()])


def _lead(found: JudgeComparison, other: str) -> str:
    """Return the difference between the best judge and the next, or why it does not rank them."""
    lead: Estimate = found.lead
    items = "same items" if found.n_shared is None else f"{counted(found.n_shared, 'item')} that both labelled"
    difference = f"{found.best} − {other}: {estimated(lead.estimate, lead.low, lead.high)}, {items}"
    if lead.low > 0 and not found.lead_is_clear and (doubt := found.lead_doubt) is not None:
        test = found.tests[found.best]
        return (
            f"{difference}. This does not rank {found.best} higher: {reason_text(test, doubt)} "
            f"({p_value(test.p_of(doubt))})."
        )
    if not math.isfinite(lead.low):
        return f"{difference}."
    ahead = "no significant difference"
    if found.lead_is_clear:
        ahead = f"{found.best} is significantly closer to the annotators"
    elif lead.high < 0:
        ahead = f"{found.best} is not closer on these items"
    return f"{difference}; {ahead}."


def _higher_by_ties(found: JudgeComparison) -> list[str]:
    """Return that ρ orders the best judge and another one differently because one of them ties more often."""
    best = found.tests[found.best]
    others = [
        (name, test) for name, test in found.tests.items()
        if test.advantage_probability.estimate > best.advantage_probability.estimate and test.tie_rate > best.tie_rate
    ]  # fmt: skip
    if not others:
        return []
    each = [
        f"{name} ρ = {number(test.advantage_probability.estimate)} with {100 * test.tie_rate:.0f}% ties"
        for name, test in [(found.best, best), *others[:3]]
    ]
    return [
        "ρ counts a tie for the judge, so that it does not order judges that tie with the annotators on different "
        f"shares of items: {', '.join(each)}."
    ]


def epsilon_curve_summary(found: Any) -> str:
    """Return the smallest margin at which the published rule passes."""
    if math.isnan(found.smallest):
        sentence = f"{found.judge}: the published rule passes at no margin ε."
    else:
        sentence = (
            f"{found.judge}: the published rule passes at ε ≥ {found.smallest:.3f} (the test used {found.chosen:g}). "
            "Exploratory; choose ε before seeing the labels."
        )
    return "\n".join([sentence, *found.run.closing()])


def size_curve_summary(found: Any) -> str:
    """Return ω, the published rule and the assurance at the smallest and the largest size."""
    a, b = 0, len(found.size) - 1
    sizes: Sequence[int] = found.size
    sentence = (
        f"{found.judge}, panels of {found.n_annotators} annotators: ω = {found.winning_rate[a]:.2f} with {sizes[a]} "
        f"items and {found.winning_rate[b]:.2f} with {sizes[b]}; the published rule passes in "
        f"{100 * found.passing[a]:.0f}% and {100 * found.passing[b]:.0f}% of {found.n_draws} draws. A study of this "
        f"size gives a conclusive verdict with probability {said(found.assurance[a])} and {said(found.assurance[b])}."
    )
    return "\n".join([sentence, *found.run.closing()])
