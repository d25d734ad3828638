"""The page of the alternative annotator test: pictures of several tests, verdict cards, text for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay._version import __version__
from assay.errors import counted, listing
from assay.estimation.options import short
from assay.replacement import words
from assay.replacement.alt_test import AltTest
from assay.replacement.decision import FEWEST, TONES, Verdict
from assay.replacement.domains import AltTestBy
from assay.replacement.panel import AltTestSettings
from assay.reporting import pictures
from assay.reporting.page import Card, NextStep
from assay.reporting.pictures import Tone
from assay.reporting.tables import interval, number, p_value, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- pictures of several tests; the picture of one test is its ``plot`` ----------------------------------


def epsilon_curves(tests: Sequence[AltTest]) -> Axes:
    """Draw ω against ε, one line for each judge (figure 3 of the paper)."""
    ax = pictures.axes(height=3.2)
    for i, (test, (colour, dashes)) in enumerate(zip(tests, _lines(tests), strict=True)):
        curve = test.epsilon_curve()
        # Steps of equal height would hide each other, so that lines are shifted slightly.
        shift = (i - (len(tests) - 1) / 2) * 0.006
        ax.step(
            curve.epsilon, curve.winning_rate + shift, where="post", linewidth=1.6,
            color=colour, linestyle=dashes, label=f"{test.judge} ({test.verdict_text})",
        )  # fmt: skip
    _threshold(ax, tests[0].settings.threshold)
    ax.axvline(tests[0].epsilon, color=pictures.MUTED, linewidth=1)
    ax.set_xlabel("margin ε (line: the test's)")
    ax.set_ylabel("winning rate ω")
    return _legend_above(ax)


def size_curves(tests: Sequence[AltTest]) -> Axes:
    """Draw the probability of a conclusive verdict against the number of items, one line for each judge.

    A line crosses the requested power at the sample size on the judge's card.
    """
    ax = pictures.axes(height=3.2)
    for test, (colour, dashes) in zip(tests, _lines(tests), strict=True):
        found = test.sample_size
        named = f"{test.judge} ({test.verdict_text})"
        ax.plot(found.sizes, found.assurance, marker="o", markersize=3.2, color=colour, linestyle=dashes, label=named)
    _threshold(ax, tests[0].sample_size.power)
    ax.set_xscale("log")
    ax.minorticks_off()
    ticks = [n for n in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000) if n <= tests[0].sample_size.limit]
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.set_xlabel("items labelled by these annotators")
    ax.set_ylabel("P(conclusive verdict)")
    return _legend_above(ax)


_DASHES = ("-", "--", ":", "-.")


def _lines(tests: Sequence[AltTest]) -> list[tuple[str, str]]:
    """Return the colour of each judge's verdict, and dashes that distinguish judges with the same verdict."""
    seen: dict[str, int] = {}
    found = []
    for test in tests:
        place = seen[test.verdict] = seen.get(test.verdict, -1) + 1
        found.append((pictures.TONES[TONES[test.verdict]], _DASHES[place % len(_DASHES)]))
    return found


def _threshold(ax: Axes, threshold: float) -> None:
    ax.axhline(threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
    ax.set_ylim(-0.04, 1.06)


def _legend_above(ax: Axes) -> Axes:
    pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


# -- verdict cards ---------------------------------------------------------------------------------

FEWEST_PLACES = 3
"""Labels of an item from which their places can replace the people of a crowd: a judge is compared with two others."""

LABEL_TONES: Mapping[str, Tone] = {words.LABELS[verdict]: tone for verdict, tone in TONES.items()}
"""The colour of each verdict's label, for tables that `verdict_labels` made."""

_ANNOTATORS = {"expert": "an expert annotator", "skilled": "a skilled annotator", "crowd": "a crowd worker"}


def verdict_labels(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with labels instead of codes in its column of verdicts."""
    return table.with_columns(pl.col("verdict").replace_strict(words.LABELS))


def question_words(tests: Sequence[AltTest]) -> str:
    """Return the question of the page."""
    s, judges = tests[0].settings, list(dict.fromkeys(t.judge for t in tests))
    which = judges[0] if len(judges) == 1 else "one of these judges"
    if s.gold is not None:
        return f"Is {which} as close to the gold labels as the annotators are?"
    return f"Can {which} replace {_ANNOTATORS.get(s.expertise or '', 'one of these annotators')}?"


def asked_words(tests: Sequence[AltTest]) -> str:
    """Return the names of the judges and of the annotators."""
    judges, humans = list(dict.fromkeys(t.judge for t in tests)), tests[0].win_counts.table.humans
    return (
        f"{counted(len(judges), 'judge')} ({listing(judges, 4)}) compared with {counted(len(humans), 'annotator')} "
        f"({listing(humans, 4)})."
    )


def rule_words(tests: Sequence[AltTest]) -> str:
    """Return the requirements of the verdict *Replace*."""
    test = max(tests, key=lambda t: t.n_annotators)
    s = test.settings
    return (
        f"The verdict “Replace” requires three tests at α = {s.level:.2g}: non-inferiority to at least "
        f"{100 * s.threshold:g}% of the annotators (margin ε = {number(test.epsilon, 3)}), item-level agreement, and "
        f"an agreement ratio above {number(s.min_agreement_ratio)}."
    )


def card(test: AltTest) -> Card:
    """Return the card of one test: the verdict, its three tests, the advice and the notes."""
    evidence, advice = "\n".join(words.evidence(test, agreement=False)), " ".join(_advice(test))
    return Card(
        test.judge, test.domain, TONES[test.verdict], _headline(test), evidence, advice, tuple(_notes(test)),
        "published rule, population, baselines", _step(test),
        tuple(f"{one[:1].upper()}{one[1:]}." for one in words.limitations(test)),
    )  # fmt: skip


def _step(test: AltTest) -> NextStep:
    """Return the next step, with the question whose command carries it out."""
    kind = test.win_counts.table.ratings.scale.kind if test.n_annotators else "text"
    compared = "" if kind in ("text", "odd-one-out") else "disagreement"
    end = ":" if compared else "."
    if test.verdict == "replace":
        corrected = kind not in ("text", "odd-one-out", "preference") and test.settings.gold is None
        items = "the remaining items" if test.win_counts.items_without_humans else "further items"
        label = f"let the judge label {items}"
        if corrected:
            return NextStep(
                f"{label}, have annotators check a random sample, and report corrected estimates:", "estimate",
                test.judge,
            )  # fmt: skip
        return NextStep(f"{label}.")
    if test.verdict == "do_not_replace":
        return NextStep(
            f"review the items with the largest disagreement; revise the prompt or test another judge{end}", compared,
            test.judge,
        )  # fmt: skip
    if test.verdict == "mixed":
        worse = listing(test.worse_than, 4) or "some of them"
        return NextStep(f"decide whose labels it can replace; it is worse than {worse}{end}", compared, test.judge)
    if test.reason in words.MORE_ITEMS_HELP and test.n_annotators:
        needed = test.sample_size.n_items
        if needed is None:
            return NextStep(
                "revise the judge or test another one, or add items as a planned interim analysis (assay plan alt-test)"
                + end, compared, test.judge,
            )  # fmt: skip
        if needed > test.n_items:
            return NextStep(
                f"plan a new study of about {counted(needed, 'item')}, or add items as a planned interim analysis "
                "(assay plan alt-test)."
            )
    advice = (_advice(test) or ["label more items and make this page again."])[0]
    return NextStep(f"{advice[:1].lower()}{advice[1:]}")


def _headline(test: AltTest) -> str:
    annotator = _ANNOTATORS.get(test.settings.expertise or "", "one of these annotators")
    domain = f" for {test.domain.partition('=')[2]}" if test.domain else ""
    if test.settings.gold is not None:
        annotator = "these annotators against the gold labels"
        if test.verdict == "replace":
            return f"{test.judge} outperforms {annotator}{domain}."
    return words.verdict_sentence(test, annotator, domain)


def _notes(test: AltTest) -> list[str]:
    """Return the advantage probability, the published rule, the population, the baselines and shared prefixes."""
    if not test.n_annotators:
        return []
    lines = [
        _advantage(test),
        _difference(test),
        f"Published rule: {'passes' if test.passed else 'does not pass'} (winning rate ω = "
        f"{number(test.winning_rate)}, losing rate {number(test.losing_rate)}; required "
        f"{number(test.settings.threshold)}).",
        f"Exploratory; choose ε before seeing the labels: {words.margins(test)}.",
    ]
    further = words.notes(test)
    lines += [f"{one[:1].upper()}{one[1:]}." for one in further]
    if test.population_share:
        lines.append(
            f"Applies to these {test.n_annotators} annotators. If they are a random sample, with "
            f"{100 * (1 - test.level):.3g}% confidence the judge is as good (within ε) as at least "
            f"{100 * test.population_share:.0f}% of such annotators."
        )
    if test.human_baseline:
        lines.append(_human_baseline(test.human_baseline))
    constant = test.constant_baseline
    if constant is not None and constant.further > constant.closer:
        label, scale = constant.label, test.win_counts.table.ratings.scale
        named = f"“{short(label if isinstance(label, float) else scale.word(label))}”"
        # Reading gives the two systems of a pair the same sides in all votes, so that a side is no position.
        named += " (the same side of each pair as read, in any position)" if scale.kind == "preference" else ""
        lines.append(
            f"Constant baseline: always answering {named} is closer to the annotators on "
            f"{counted(constant.further, 'item')}, equal on {constant.equal}, further away on {constant.closer}. Not "
            "part of the verdict."
        )
    if test.document_effect is not None:
        lines.append(words.document_effect(test.document_effect))
    return lines


def _human_baseline(baseline: Mapping[str, AltTest]) -> str:
    """Return how many annotators pass the test of a judge, of those who have items with two others."""
    tested = {name: one for name, one in baseline.items() if one.n_annotators}
    if not tested:
        return f"Human baseline: not testable; {_baseline_needs(baseline)}."
    passed = [name for name, one in tested.items() if one.verdict == "replace"]
    names = f" ({listing(passed, 4)})" if passed else ""
    rest = [name for name in baseline if name not in tested]
    return (
        f"Human baseline: tested in the same way, {len(passed)} of {counted(len(tested), 'annotator')} "
        f"{'passes' if len(passed) == 1 else 'pass'}{names}{f'; not testable: {listing(rest, 4)}' if rest else ''}."
    )


def _baseline_needs(baseline: Mapping[str, AltTest]) -> str:
    """Return what the test of an annotator as the judge of the others requires, and what these labels have."""
    each = [one.win_counts for one in baseline.values()]
    least = max(each[0].table.settings.min_items, 2)
    most = max(int(one.n.max()) for one in each)
    return (
        "an annotator is tested like a judge, against others who each share "
        f"{counted(least, 'item')} with that annotator and a third one; here two annotators share at most {most} such "
        f"{'item' if most == 1 else 'items'}"
    )


def _advantage(test: AltTest) -> str:
    """Return the advantage probability as a share of items."""
    rho = test.advantage_probability
    ends = "(no interval)"
    if math.isfinite(rho.low) and math.isfinite(rho.high):
        ends = f"[{100 * rho.low:.0f}%, {100 * rho.high:.0f}%]"
    reference = "reference" if test.settings.fixed_reference else "others"
    return (
        f"On {100 * rho.estimate:.0f}% {ends} of items, averaged over {words.tested_annotators(test)}, it is at least "
        f"as close to the {reference} as the annotator left out (advantage probability ρ)."
    )


def _difference(test: AltTest) -> str:
    """Return the advantage probability of the judge minus that of the annotators, averaged over annotators."""
    d = test.mean_difference
    value, low, high = -d.estimate, -d.high, -d.low
    found = "no significant difference"
    if low > 0:
        found = "the judge is significantly closer"
    elif high < 0:
        found = "the annotators are significantly closer"
    ends = interval(low, high, 3) if math.isfinite(low) and math.isfinite(high) else "(no interval)"
    found = f"; {found}" if math.isfinite(low) else ""
    if low > 0 and test.agreement_ratio.high < 1:
        found += (
            ". It is closer on more items and nevertheless agrees less beyond chance, as a judge does that avoids rare "
            "or extreme labels"
        )
    whom = words.tested_annotators(test)
    return f"Advantage probability, judge − {whom}: {signed(value, 3)} {ends}{found}."


def _advice(test: AltTest) -> list[str]:
    """Return the remedy for the reason, the difference from the published rule, and the cautions."""
    found, g = [], test.verdict_tests
    if test.reason == "agreement_ratio_too_low":
        within = f"Within “{test.item_agreement.for_ratio.strata}” it" if test.item_agreement.for_ratio.strata else "It"
        whom, others = "annotators", "they agree with each other"
        if test.settings.fixed_reference:
            whom, others = "the reference", "annotators do"
        found.append(
            f"{within} agrees with {whom} less than {number(test.settings.min_agreement_ratio)} times as much as "
            f"{others}. Check its label distribution and its prompt."
        )
    elif test.verdict == "do_not_replace":
        found.append(
            "More items are unlikely to change this. Check its label distribution and its prompt, or test another "
            "judge."
        )
    elif test.verdict == "mixed":
        worse = listing(test.worse_than, 4) or "some annotators"
        found.append(f"It is worse than {worse}. Decide whose labels it can replace.")
    elif test.reason == "too_few_items_per_annotator":
        found.append(_more_items(test))
    elif test.reason == "too_few_clusters":
        found.append(
            f"Label items of at least {FEWEST} values of '{test.settings.clusters}': the test counts clusters, not "
            "items."
        )
    elif test.reason == "matches_one_annotator":
        found.append(_match(test))
    elif test.reason == "depends_on_column":
        column = g.own_words
        found.append(
            f"If “{column}” is known without reading the items, use it as a stratum: strata=['{column}'] (--strata "
            f"{column}). If it has labels of the items, name it as the reference (gold='{column}'), or leave it out."
        )
    elif test.reason == "annotators_differ":
        found.append("Decide which group of annotators the judge would replace, and test it with their labels.")
    elif test.reason == "human_agreement_too_low" and (column := test.item_agreement.for_people.strata):
        found.append(
            f"The annotators' agreement is that of “{column}”: among items with the same value they do not agree. "
            f"Label items that differ within “{column}”, or omit this column if it is no property of the items that is "
            "known without reading them (--strata)."
        )
    elif test.reason == "human_agreement_too_low":
        found.append(
            "More labels of this kind will not help. Revise the instructions, simplify the question or train the "
            "annotators."
        )
    elif test.reason == "human_agreement_undecided":
        found.append(
            "Agreement among annotators is not demonstrated. Label more items, especially with the rarer labels."
        )
    elif test.reason in words.MORE_ITEMS_HELP:
        found.append(_sample_size(test))
    if test.passed != (test.verdict == "replace") and g.least:
        found.append(_published_difference(test))
    return [*found, *test.cautions]


def _more_items(test: AltTest) -> str:
    """Return the remedy for annotators with few items: more of them or, in a crowd, places of labels."""
    table = test.win_counts.table
    labels = table.people_of_item[table.people_of_item > 0]
    places = len(labels) and np.median(labels) >= FEWEST_PLACES and len(table.humans) >= 2 * labels.max()
    if not places or table.reading.places or table.settings.fixed_reference:
        voters = table.ratings.scale.kind == "preference" and not table.reading.places
        more = f" {words.CROWD_OF_VOTERS}" if voters else ""
        return f"Have the same annotators label more of the same items.{more}"
    return (
        f"These annotators are a crowd: {len(table.humans)} people, and at most {labels.max()} labels of an item. If "
        "it does not matter who labels an item, test the places of labels instead of people: annotator='place' "
        "(--annotator place). Otherwise have the same annotators label more of the same items."
    )


def _match(test: AltTest) -> str:
    """Return how often the judge gives the annotator's label where no other annotator does, and the remedy."""
    one, name = test.win_counts.match_tests.found, test.win_counts.matched
    assert one is not None
    return (
        f"It gives {name}'s label on {words.given_of_alone(one)} ({p_value(one.p)}). If {name}'s labels were in its "
        f"prompt or training data, test it on new items. Otherwise exclude {name} from the comparison: copies='leave "
        f"out' (--copies 'leave out'). This can also happen if the judge and {name} share a view that no other "
        "annotator has."
    )


def _published_difference(test: AltTest) -> str:
    """Return why the published rule and the verdict differ."""
    g = test.verdict_tests
    if not test.passed:
        return (
            "The published rule does not pass it because it counts annotators one by one, corrected for their number; "
            f"the verdict tests at least {g.least} of them together, which requires less evidence."
        )
    if test.verdict == "mixed":
        return "The published rule passes it because it does not test whether the judge is worse than other annotators."
    if not g.p_noninferior <= g.alpha:
        return (
            "The published rule passes it because it counts wins without testing that they amount to "
            f"{words.share_of_annotators(test.settings.threshold)}."
        )
    untested = "item-level agreement" if g.p_item_level > g.alpha else "the agreement ratio"
    if test.reason == "matches_one_annotator":
        untested = "whether the labels match one annotator's"
    elif test.reason in ("human_agreement_too_low", "human_agreement_undecided"):
        untested = "agreement among annotators"
    return f"The published rule passes it because it does not test {untested}."


def _sample_size(test: AltTest) -> str:
    """Return the size of a new study, or that no size helps."""
    found = test.sample_size
    if found.n_items is None:
        (sentence,) = words.sample_size(test)
        return f"{sentence[:1].upper()}{sentence[1:]}."
    if found.n_items <= test.n_items:
        return (
            f"Studies of this size give a conclusive verdict with {100 * found.power:g}% probability; this one did not."
        )
    return (
        f"A study of about {counted(found.n_items, 'item')} by these {counted(test.n_annotators, 'annotator')} gives a "
        f"conclusive verdict with {100 * found.power:g}% probability (80% range: {words.size_range(found)}). This is "
        "the total of a new study: adding items to these labels is a second analysis."
    )


def card_by(result: AltTestBy) -> Card:
    """Return the card of one judge over its domains: the number with each verdict, then a line for each domain."""
    tests = result.tests
    found = {v: [name for name, test in tests.items() if test.verdict == v] for v in words.LABELS}
    evidence = "; ".join(f"{words.LABELS[v]}: {', '.join(names)}" for v, names in found.items() if names)
    tones = {TONES[test.verdict] for test in tests.values()}
    several = "criteria" if result.by == "criterion" else "domains"
    adjusted = f"P-values are Holm-adjusted for the number of {several}, and of judges if there are several."
    advice = [] if result.correction == "within" else [adjusted]
    return Card(
        result.judge, None, tones.pop() if len(tones) == 1 else "open", words.domains_sentence(result),
        f"{evidence}. {words.published_by_domain(result)}.",
        " ".join([*advice, *_cautions_by(tests)]),
        (*(_domain_line(name, test) for name, test in tests.items()), *words.untested_domains(result)),
        f"each {result.by}", _step_by(result, found),
        tuple(f"{name}: {one}." for name, test in tests.items() for one in words.limitations(test)),
    )  # fmt: skip


def _cautions_by(tests: Mapping[str, AltTest]) -> list[str]:
    """Return the cautions of all domains; those of some domains name them."""
    found: dict[str, list[str]] = {}
    for name, test in tests.items():
        for caution in test.cautions:
            found.setdefault(caution, []).append(name)
    return [c if len(names) == len(tests) else f"{listing(names, 4)}: {c}" for c, names in found.items()]


def _step_by(result: AltTestBy, found: Mapping[Verdict, Sequence[str]]) -> NextStep | None:
    """Return the next step with a judge of several domains: domains that pass first, then those that fail."""
    passed = found["replace"]
    if passed:
        step = _step(result.tests[passed[0]])
        domains = "" if len(passed) == len(result.tests) else f" For {listing(passed, 4, cut=True)} only:"
        # A command is about one domain; with several, the step names it.
        sentence = (
            f"{step.words.removesuffix(':')} (here for {passed[0]}):" if step.ask and len(passed) > 1 else step.words
        )
        return replace(step, words=f"{domains} {sentence}".strip(), where=f"{result.by}={passed[0]}")
    failed = [test for test in result.tests.values() if test.verdict == "do_not_replace"]
    if failed or not result.tests:
        return _step(failed[0]) if failed else None
    return _step(max(result.tests.values(), key=_needed))


def _needed(test: AltTest) -> float:
    """Return the sample size, of which the largest is planned: infinite if no size is likely to be conclusive."""
    if test.reason not in words.MORE_ITEMS_HELP or not test.n_annotators:
        return 0
    needed = test.sample_size.n_items
    return math.inf if needed is None else needed


def _domain_line(name: str, test: AltTest) -> str:
    """Return one domain on a line: verdict, reason, their p-value, the estimates and the sample size."""
    if not test.n_annotators:
        return f"{name}: {test.reason_text}."
    rho = test.advantage_probability
    reason = f", {test.reason_text}" if test.reason else ""
    decisive = test.p_of(test.reason or test.verdict)
    p = f" ({p_value(decisive)})" if math.isfinite(decisive) else ""
    more = " " + _sample_size(test) if test.reason in words.MORE_ITEMS_HELP else ""
    return (
        f"{name}: {test.verdict_text}{reason}{p}; ρ = {number(rho.estimate)} "
        f"{interval(rho.low, rho.high)}, ω = {number(test.winning_rate)}, R = {number(test.agreement_ratio.estimate)}, "
        f"{counted(test.n_items, 'item')}.{more}"
    )


# -- text for a paper: results, methods and the works that they cite ------------------------------------


def results(tests: Sequence[AltTest]) -> list[str]:
    """Return a sentence for each test, with the numbers that a reviewer asks for; of many domains one for a verdict."""
    of_judge: dict[str, list[AltTest]] = {}
    for test in tests:
        of_judge.setdefault(test.judge, []).append(test)
    found = []
    for mine in of_judge.values():
        found += [_result(test) for test in mine] if len(mine) <= MOST_SENTENCES else [_results_by_verdict(mine)]
    return found


MOST_SENTENCES = 3
"""Domains of a judge up to which each has a sentence; with more, one paragraph has their verdicts and ranges."""


def _results_by_verdict(tests: Sequence[AltTest]) -> str:
    """Return the verdicts of one judge on many domains, with the ranges of their estimates."""
    by = str(tests[0].domain).partition("=")[0]
    some = "criteria" if by == "criterion" else f"domains ({by})"
    lines = []
    for verdict, label in words.LABELS.items():
        mine = [test for test in tests if test.verdict == verdict]
        if not mine:
            continue
        parts = [
            _range("ρ", [test.advantage_probability.estimate for test in mine]),
            _range("ω", [test.winning_rate for test in mine]),
            _range("R", [test.agreement_ratio.estimate for test in mine]),
        ]
        if verdict == "replace":
            largest = p_value(max(test.verdict_tests.p_replace for test in mine)).replace("=", "≤")
            parts.append(f"each of the three tests {largest}")
        names = listing([str(test.domain).partition("=")[2] for test in mine], 40)
        lines.append(f"{label} on {len(mine)} ({names}; {', '.join(filter(None, parts))})")
    items = _range("", [float(test.n_items) for test in tests], 0)
    alpha = _range("", [test.human_agreement.estimate for test in tests])
    agreed = f" The annotators' agreement was Krippendorff's α = {alpha}." if alpha else ""
    return (
        f"On {items} items of each of {len(tests)} {some}, {tests[0].judge} had the verdict {'; '.join(lines)}.{agreed}"
    )


def _range(symbol: str, values: Sequence[float], digits: int = 2) -> str:
    """Return the smallest and the largest value, such as *ρ from 0.81 to 0.95*; nothing if none is known."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return ""
    low, high = number(min(known), digits), number(max(known), digits)
    text = low if low == high else f"{low} to {high}"
    return f"{symbol} {'=' if low == high else 'from'} {text}" if symbol else text


def _result(test: AltTest) -> str:
    domain = f" ({test.domain.replace('=', ' ')})" if test.domain else ""
    if not test.n_annotators:
        return f"{test.judge}{domain} could not be tested: no annotator has {test.settings.min_items} comparable items."
    g, rho, n, r = test.verdict_tests, test.advantage_probability, test.n_annotators, test.agreement_ratio
    margin = f"margin ε = {number(test.epsilon, 3)}"
    as_good = f"non-inferior to at least {g.least} of {counted(n, 'annotator')} ({margin}, {p_value(g.p_noninferior)})"
    ratio = f"R = {number(r.estimate)} {interval(r.low, r.high)}" if not r.reason else "R not estimable"
    if r.reason and math.isfinite(r.estimate):
        ratio = f"R = {number(r.estimate)}, no interval"
    least = number(test.settings.min_agreement_ratio)
    if test.reason == "agreement_ratio_too_low":
        found = f"had an agreement ratio below {least} ({ratio}, {p_value(g.p_ratio_below)})"
    elif test.verdict == "replace":
        found = (
            f"was {as_good}, agreed with annotators at the level of items ({p_value(g.p_item_level)}), and had an "
            f"agreement ratio above {least} ({ratio}, {p_value(g.p_ratio_above)})"
        )
    elif test.verdict == "do_not_replace":
        found = f"was worse than at least {g.least_worse} of {counted(n, 'annotator')} ({margin}, {p_value(g.p_worse)})"
    elif test.verdict == "mixed":
        found = f"was {as_good} and worse than at least {g.least_worse} ({p_value(g.p_worse)})"
    else:
        found = "had an undecided result: " if test.verdict == "undecided" else "could not be tested: "
        found += f"{test.reason_text}; " if test.reason == "too_few_items_per_annotator" else ""
        found += "; ".join(
            f"{what} {'was' if p <= g.alpha else 'was not'} demonstrated ({more}{p_value(p)})"
            for what, p, more in (
                (f"non-inferiority to at least {g.least} of {counted(n, 'annotator')}", g.p_noninferior, f"{margin}, "),
                ("item-level agreement", g.p_item_level, ""),
                (f"an agreement ratio above {least}", g.p_ratio_above, f"{ratio}, "),
            )
        )  # fmt: skip
        if g.matched_annotator is not None:
            found += f"; its labels matched {g.matched_annotator}'s unusually often"
    ci = (
        f"{100 * test.settings.confidence:g}% CI {interval(rho.low, rho.high)}" if rho.low == rho.low else "no interval"
    )
    return (
        f"On {counted(test.n_items, 'item')}{domain}, {test.judge} {found}; advantage probability ρ = "
        f"{number(rho.estimate)}, {ci}; winning rate ω = {number(test.winning_rate)}."
    )


def works(tests: Sequence[AltTest]) -> list[str]:
    """Return the keys of `assay.reporting.references` that the results and methods cite."""
    named = [
        "calderon2025alternative", "benjamini2001control", "benjamini2008screening", "tango1998equivalence",
        "hall1992removal", "assay",
    ]  # fmt: skip
    if any(test.settings.clusters or test.settings.balance for test in tests):
        named.append("miettinen1985comparative")
    if any(not test.human_agreement.reason for test in tests):
        named.append("krippendorff2004content")
    return named


def _verdict_test(settings: AltTestSettings) -> str:
    """Return the tests behind the verdict's p-values."""
    if settings.clusters is None and not settings.balance:
        return "exact unconditional tests, Tango 1998"
    robust = " with a design effect for clusters" if settings.clusters is not None else ""
    return f"score tests{robust}, Tango 1998, Miettinen & Nurminen 1985"


def methods(tests: Sequence[AltTest]) -> list[str]:
    """Return the sentences of a methods section."""
    test = max(tests, key=lambda t: t.n_annotators)
    s = test.settings
    kinds = sorted({t for one in tests for t in one.annotators["test"]})
    named = {
        "t": "one-sided paired t-tests",
        "wilcoxon": "one-sided Wilcoxon signed-rank tests (annotators with fewer than 30 items)",
        "exact": "an exact bound (annotators whose differences are all equal)",
        "exact score": "one-sided exact unconditional tests of wins, ties and losses, ordered by Tango's (1998) score",
        "score": "one-sided score tests of wins, ties and losses (Tango 1998; annotators with more than 300 items)",
    }
    score = {
        "accuracy": "exact agreement (accuracy)",
        "neg_rmse": "negative root mean squared error",
    }.get(test.score, test.score)
    compared = "a reference label" if s.fixed_reference else "the labels of the remaining annotators"
    lines = [
        "We used the alternative annotator test (Calderon, Reichart & Dror 2025) as implemented in "
        f"assay {__version__}. Each of {test.n_annotators} annotators was left out in turn, and the judge's label and "
        f"the annotator's were each compared with {compared} by {score}.",
        f"H0 (the judge's advantage probability is at most the annotator's minus ε = {number(test.epsilon, 3)}) was "
        f"tested by {' and '.join(named[k] for k in kinds) or 'no test'}, with the false discovery rate controlled at "
        f"{number(s.fdr, 3)} (Benjamini & Yekutieli 2001). In the published rule, a judge passes if H0 is rejected for "
        f"at least {number(100 * s.threshold, 0)}% of the annotators.",
        f"Our verdict requires three tests at level {number(s.alpha, 3)}: non-inferiority to at least "
        f"{number(100 * s.threshold, 0)}% of the annotators (partial conjunction, Benjamini & Heller 2008, of "
        f"{_verdict_test(s)}), item-level agreement (permutations of the judge's labels within strata of items), and "
        f"an agreement ratio above {number(s.min_agreement_ratio)} (chance-corrected agreement of the judge with the "
        "annotators over that among annotators; jackknife pseudo-values, corrected for skewness, Hall 1992).",
    ]
    if test.n_verdicts > 1:
        lines.append(
            f"The p-values of the verdicts are Holm-adjusted for {test.n_verdicts} verdicts (judges and domains "
            "together)."
        )
    if s.clusters is not None:
        clusters = int(test.win_counts.clustering.n_clusters.max()) if test.win_counts.clustering is not None else 0
        lines.append(
            f"Items with the same value of “{s.clusters}” ({clusters} clusters) depend on each other, and are "
            "resampled together."
        )
    if s.repeats != "error":
        how = {"each": "counted as separate raters"}.get(s.repeats, f"combined (the {s.repeats} of a rater's labels)")
        lines.append(f"Repeated labels of an item were {how}.")
    if test.interval_method:
        lines.append(f"Uncertainty of ρ: {test.interval_method}.")
    if s.balance:
        lines.append("Items were weighted by the inverse frequency of their majority label (inverse probability).")
    if s.normalise:
        lines.append(f"Labels were normalised within each annotator ({s.normalise}).")
    return lines
