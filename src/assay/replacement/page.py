"""What a page shows of the alt-test: pictures of several tests, the verdict in words, sentences for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from assay._version import __version__
from assay.errors import counted, listing
from assay.estimation.options import short
from assay.replacement import words
from assay.replacement.alt_test import MORE_ITEMS_TELL, AltTest, epsilon_words
from assay.replacement.decision import FEWEST, TONES, Verdict
from assay.replacement.domains import AltTestBy
from assay.replacement.panel import AltTestSettings
from assay.reporting import pictures
from assay.reporting.page import Card, NextStep
from assay.reporting.pictures import Tone
from assay.reporting.tables import interval, number, p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- pictures that set several tests side by side; a test's own picture is its ``plot`` --------------


def epsilon_curves(tests: Sequence[AltTest]) -> Axes:
    """omega against epsilon, one line a judge (figure 3 of the paper)."""
    ax = pictures.axes(height=3.2)
    for i, (test, (colour, dashes)) in enumerate(zip(tests, _lines(tests), strict=True)):
        curve = test.epsilon_curve()
        # Steps of equal height would hide each other; a hair's breadth keeps them apart.
        shift = (i - (len(tests) - 1) / 2) * 0.006
        ax.step(
            curve.epsilon, curve.winning_rate + shift, where="post", linewidth=1.6,
            color=colour, linestyle=dashes, label=f"{test.judge} ({test.verdict_text})",
        )  # fmt: skip
    _threshold(ax, tests[0].settings.threshold)
    ax.axvline(tests[0].epsilon, color=pictures.MUTED, linewidth=1)
    ax.set_xlabel("ε, what the judge's low cost is worth (line: the test's)")
    ax.set_ylabel("winning rate ω")
    return _legend_above(ax)


def size_curves(tests: Sequence[AltTest]) -> Axes:
    """The share of studies that would end in a verdict against the number of items, one line a judge.

    Where a line reaches the power wanted is the number of items that the judge's card gives.
    """
    ax = pictures.axes(height=3.2)
    for test, (colour, dashes) in zip(tests, _lines(tests), strict=True):
        found = test.items_needed
        named = f"{test.judge} ({test.verdict_text})"
        ax.plot(found.sizes, found.settled, marker="o", markersize=3.2, color=colour, linestyle=dashes, label=named)
    _threshold(ax, tests[0].items_needed.power)
    ax.set_xscale("log")
    ax.minorticks_off()
    ticks = [n for n in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000) if n <= tests[0].items_needed.limit]
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.set_xlabel("items, by these annotators")
    ax.set_ylabel("studies that end in a verdict")
    return _legend_above(ax)


_DASHES = ("-", "--", ":", "-.")


def _lines(tests: Sequence[AltTest]) -> list[tuple[str, str]]:
    """Colour and dashes of each judge's line: the colour is its verdict's, dashes tell judges of one verdict apart."""
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


# -- the verdict in words ------------------------------------------------------------------------------

_PEOPLE = {"expert": "an expert annotator", "skilled": "a skilled annotator", "crowd": "a crowd worker"}
LABEL_TONES: Mapping[str, Tone] = {words.LABELS[verdict]: tone for verdict, tone in TONES.items()}
"""The colour of each verdict's label, for tables that `verdict_labels` made."""


def verdict_labels(table: pl.DataFrame) -> pl.DataFrame:
    """The table with labels instead of codes in its column of verdicts."""
    return table.with_columns(pl.col("verdict").replace_strict(words.LABELS))


def question_words(tests: Sequence[AltTest]) -> str:
    """The question, which is the first thing that a reader wants to know."""
    s, judges = tests[0].settings, list(dict.fromkeys(t.judge for t in tests))
    which = judges[0] if len(judges) == 1 else "one of these judges"
    if s.gold is not None:
        return f"Is {which} as close to the gold labels as people are?"
    return f"May {which} stand in for {_PEOPLE.get(s.expertise or '', 'one of these annotators')}?"


def asked_words(tests: Sequence[AltTest]) -> str:
    """Of whom it is asked."""
    judges, people = list(dict.fromkeys(t.judge for t in tests)), tests[0].tally.table.humans
    return (
        f"Asked of {counted(len(judges), 'judge')} ({listing(judges, 4)}) beside {counted(len(people), 'annotator')} "
        f"({listing(people, 4)})."
    )


def rule_words(tests: Sequence[AltTest]) -> str:
    """What a yes wants."""
    test = max(tests, key=lambda t: t.n_annotators)
    s = test.settings
    return (
        f"The verdict “Replace” requires three tests at α = {s.level:.2g}: non-inferiority to at least "
        f"{100 * s.threshold:g}% of the annotators (margin ε = {number(test.epsilon, 3)}), item-level agreement, and "
        f"an agreement ratio above {number(s.least_retention)}."
    )


def card(test: AltTest) -> Card:
    """The verdict of one test: what, on what grounds, and what would change it."""
    evidence, advice = "\n".join(test.evidence(agreement=False)), " ".join(_advice(test))
    return Card(
        test.judge, test.domain, TONES[test.verdict], _headline(test), evidence, advice, tuple(_side_lines(test)),
        "the three tests, the published outcome, whom this speaks of", _step(test),
    )  # fmt: skip


_REPORTED = "report what people would say of all items:"
_READ = "read the items where it is farthest from people; then mend its prompt, or ask another judge."


def _step(test: AltTest) -> NextStep:
    """What to do next, in a sentence, with the question to ask."""
    kind = test.tally.table.ratings.scale.kind if test.n_annotators else "text"
    compared = "" if kind in ("text", "odd-one-out") else "disagreement"
    if test.verdict == "replace":
        corrected = kind not in ("text", "odd-one-out", "preference") and test.settings.gold is None
        said = "let it label the rest, and people a random share of it; " if corrected else "let it label the rest."
        return NextStep(said + _REPORTED, "estimate", test.judge) if corrected else NextStep(said)
    if test.verdict == "do_not_replace":
        return NextStep(_READ, compared, test.judge)
    if test.verdict == "mixed":
        worse = listing(test.worse_than, 4) or "some of them"
        return NextStep(f"decide for whom it may stand in: it loses to {worse}.", compared, test.judge)
    if test.reason in MORE_ITEMS_TELL and test.n_annotators:
        needed = test.items_needed.n_items
        if needed is None:
            return NextStep(
                "mend the judge, or ask another one: more items like these would hardly tell.", compared, test.judge
            )
        if needed > test.n_items:
            more, people = needed - test.n_items, counted(test.n_annotators, "annotator")
            return NextStep(f"have these {people} label about {counted(more, 'more item')}, and make this page again.")
    said = (_advice(test) or ["ask more people, and make this page again."])[0]
    return NextStep(f"{said[:1].lower()}{said[1:]}")


def _headline(test: AltTest) -> str:
    who = _PEOPLE.get(test.settings.expertise or "", "one of these annotators")
    if test.settings.gold is not None:
        who = "these people against the gold labels"
    where = f" for {test.domain.partition('=')[2]}" if test.domain else ""
    if test.verdict == "replace" and test.settings.gold is not None:
        return f"{test.judge} outperforms {who}{where}."
    return words.verdict_sentence(test, who, where)


def _side_lines(test: AltTest) -> list[str]:
    """What always stands beside the verdict: whom it speaks of, the published outcome, people, documents."""
    s, rho = test.settings, test.advantage_probability
    if not test.n_annotators:
        return []
    reference = "the reference" if s.fixed_reference else "the other annotators"
    lines = [
        f"With probability ρ = {number(rho.estimate)} {interval(rho.low, rho.high)} it is as close to {reference} as a "
        "random annotator, or closer.",
        _closer(test),
        f"As published it {'passes' if test.passed else 'does not pass'}: winning rate ω = "
        f"{number(test.winning_rate)}, losing rate {number(test.losing_rate)}; {number(s.threshold)} is needed.",
        f"The smallest ε: {epsilon_words(test)}; read off these labels, so for exploring: ε is chosen before.",
    ]
    lines += [f"{one[:1].upper()}{one[1:]}." for one in test.larger_count()]
    if test.speaks_of:
        lines.append(
            f"This speaks of these {test.n_annotators} annotators. If they are a random sample, the judge is as good "
            f"as at least {100 * test.speaks_of:.0f}% of annotators like them."
        )
    places = test.people_in_its_place
    if places:
        earned = [name for name, one in places.items() if one.verdict == "replace"]
        lines.append(
            f"Put in the judge's place, {len(earned)} of {len(places)} people would earn “may replace”"
            + (f": {listing(earned, 4)}." if earned else ".")
        )
    constant = test.constant
    if constant is not None and constant.farther > constant.closer:
        label, scale = constant.label, test.tally.table.ratings.scale
        named = short(label if isinstance(label, float) else scale.word(label))
        lines.append(
            f"Always “{named}” is closer to people than this judge on {constant.farther} items, as close on "
            f"{constant.equal}, farther on {constant.closer}. That decides nothing: people may be farther, too."
        )
    effect = test.document_effect
    if effect is not None:
        lines.append(effect.words())
    return lines


def _closer(test: AltTest) -> str:
    """Who is closer, by how much: the mean over items and annotators."""
    people = test.mean_difference
    value, low, high = people.estimate, people.low, people.high
    who, shown = "People are closer than the judge by", low > 0
    if value < 0:
        who, value, low, high = "The judge is closer than people by", -value, -high, -low
        shown = low > 0
    open_ = "" if shown or math.isnan(low) else ", so neither is shown to be closer"
    return f"{who} {number(value, 3)} {interval(low, high, 3)}, on average over items and annotators{open_}."


def _advice(test: AltTest) -> list[str]:
    """What would change the verdict, and what a reader must know."""
    found, g = [], test.grounds
    if test.reason == "agreement_ratio_too_low":
        within = f"Within “{test.looked.kept.structure}” it" if test.looked.kept.structure else "It"
        whom, others = "annotators", "they agree with each other"
        if test.settings.fixed_reference:
            whom, others = "the reference", "annotators do"
        found.append(
            f"{within} agrees with {whom} less than {number(test.settings.least_retention)} times as much as {others}. "
            "Check its label distribution and its prompt."
        )
    elif test.verdict == "do_not_replace":
        found.append("More items would not change this: look at its labels, its prompt, or another judge.")
    elif test.verdict == "mixed":
        found.append(f"It loses to {listing(test.worse_than, 4) or 'some of them'}: for whom may it stand in?")
    elif test.reason == "too_few_items_per_annotator":
        found.append("Have the same people label more of the same items.")
    elif test.reason == "too_few_clusters":
        found.append(
            f"Label items of at least {FEWEST} of '{test.settings.clusters}': each counts as one, not its items."
        )
    elif test.reason == "matches_one_annotator":
        found.append(_repeats(test))
    elif test.reason == "human_agreement_too_low":
        found.append(
            "No judge can be tested on these labels, however many. Clearer instructions, a simpler question or trained "
            "people come first."
        )
    elif test.reason == "human_agreement_undecided":
        found.append(
            "Whether people agree at all is open, so what a judge keeps of it is: more items with their labels, the "
            "rarer ones above all."
        )
    elif test.reason in MORE_ITEMS_TELL:
        found.append(_items_words(test))
    if test.passed != (test.verdict == "replace") and g.least:
        found.append(_disagreement(test))
    return [*found, *test.cautions]


def _repeats(test: AltTest) -> str:
    """Whose labels the judge repeats, and what would tell."""
    one = test.looked.repeated
    assert one is not None
    return (
        f"It gives {one.person}'s label on {100 * one.same:.0f}% of items, others do on {100 * one.others:.0f}% "
        f"({p_value(one.p)}): it may have been shown these labels. Ask it about items that it cannot have seen; or "
        "leave that person out (copies='leave out'), if the judge came by its labels itself."
    )


def _disagreement(test: AltTest) -> str:
    """Why the published rule and the verdict differ."""
    g = test.grounds
    if not test.passed:
        return (
            "The published rule counts annotators whose test survives a correction for dependent tests; the verdict "
            f"asks for at least {g.least} of them at once, with an exact test, and needs less to show it."
        )
    if not g.p_as_good <= g.alpha or test.verdict == "mixed":
        return "The published rule lets it pass: it counts wins and asks for no proof that they are half of the people."
    untested = "item-level agreement" if g.p_looks > g.alpha else "the agreement ratio"
    if test.reason == "matches_one_annotator":
        untested = "whether the labels match one annotator's"
    elif test.reason in ("human_agreement_too_low", "human_agreement_undecided"):
        untested = "agreement among annotators"
    return f"The published rule passes it: it does not test {untested}."


def _items_words(test: AltTest) -> str:
    found = test.items_needed
    if found.n_items is None:
        return (
            f"No number of items like these, up to {found.limit:,}, would probably tell: as far as these show, "
            f"{found.reason}. Improve the judge, or ask another one."
        )
    more = found.n_items - test.n_items
    if more <= 0:
        return "A repeated study of this size would tell four times in five; this one happens not to."
    return (
        f"About {found.n_items:,} items labelled by these {counted(test.n_annotators, 'annotator')} ({more:,} more "
        "than now) would tell, yes or no, in four studies out of five. The number itself is not sure: "
        f"{found.range}, in 80% of what these items leave open."
    )


def card_by(result: AltTestBy) -> Card:
    """The verdict of one judge over its domains: a sentence for all, then each with its figures."""
    tests = result.tests
    found = {v: [name for name, test in tests.items() if test.verdict == v] for v in words.LABELS}
    evidence = "; ".join(f"{words.LABELS[v].lower()}: {', '.join(names)}" for v, names in found.items() if names)
    tones = {TONES[test.verdict] for test in tests.values()}
    corrected = "P-values are corrected for the number of domains, and judges where there are several (Holm)."
    advice = [] if result.correction == "within" else [corrected]
    return Card(
        result.judge, None, tones.pop() if len(tones) == 1 else "open",
        f"{result.judge} may stand in for people on {_how_many(len(found['replace']), result)}.",
        f"{evidence[:1].upper()}{evidence[1:]}. As published it passes in {result.passed_in}.",
        " ".join([*advice, *dict.fromkeys(c for test in tests.values() for c in test.cautions)]),
        tuple(_domain_line(name, test) for name, test in tests.items()), f"each {result.by}", _step_by(result, found),
    )  # fmt: skip


def _how_many(passed: int, result: AltTestBy) -> str:
    """*both criteria*, *none of 4 criteria*; of domains that another column tells apart *2 of 4 domains (topic)*."""
    n = result.n_domains
    some = "criteria" if result.by == "criterion" else f"domains ({result.by})"
    if passed == n:
        return f"both {some}" if n == 2 else f"all {n} {some}"
    return f"{passed or 'none'} of {n} {some}"


def _step_by(result: AltTestBy, found: Mapping[Verdict, Sequence[str]]) -> NextStep | None:
    """What to do next with a judge of several domains: the passed ones first."""
    passed = found["replace"]
    if passed:
        step = _step(result.tests[passed[0]])
        where = "" if len(passed) == len(result.tests) else f" For {listing(passed, 4)} only:"
        # A command is about one domain: of several it says which.
        said = f"{step.words.removesuffix(':')} (here for {passed[0]}):" if step.ask and len(passed) > 1 else step.words
        return replace(step, words=f"{where} {said}".strip(), where=f"{result.by}={passed[0]}")
    # Where it fails for sure comes before what is open.
    tests = sorted(result.tests.values(), key=lambda test: test.verdict != "do_not_replace")
    return _step(tests[0]) if tests else None


def _domain_line(name: str, test: AltTest) -> str:
    """One domain on a line: verdict and reason, what they rest on, and the items that would tell."""
    if not test.n_annotators:
        return f"{name}: {test.reason_text}."
    rho = test.advantage_probability
    reason = f", {test.reason_text}" if test.reason else ""
    decisive = test.p_of(test.reason or test.verdict)
    p = f" ({p_value(decisive)})" if math.isfinite(decisive) else ""
    more = " " + _items_words(test) if test.reason in MORE_ITEMS_TELL else ""
    return (
        f"{name}: {test.verdict_text.lower()}{reason}{p}; ρ = {number(rho.estimate)} "
        f"{interval(rho.low, rho.high)}, ω = {number(test.winning_rate)}, R = {number(test.retention.estimate)}, "
        f"{counted(test.n_items, 'item')}.{more}"
    )


# -- what a paper says: results, methods, and the works they name -------------------------------------


def results(tests: Sequence[AltTest]) -> list[str]:
    """One sentence a test: what was found, with the figures that a reviewer asks for."""
    return [_result(test) for test in tests]


def _result(test: AltTest) -> str:
    where = f" ({test.domain.replace('=', ' ')})" if test.domain else ""
    if not test.n_annotators:
        return f"{test.judge}{where} could not be tested: no annotator has {test.settings.min_items} comparable items."
    g, rho, n = test.grounds, test.advantage_probability, test.n_annotators
    as_good = f"as good as at least {g.least} of {counted(n, 'annotator')}, allowing ε = {number(test.epsilon, 3)}"
    eps, r = f"even allowing ε = {number(test.epsilon, 3)}", test.retention
    kept = f"R = {number(r.estimate)} {interval(r.low, r.high)}" if not r.reason else "R not known"
    sees = (
        f"to look at the items ({p_value(g.p_looks)}), and to keep what people agree on ({kept}, {p_value(g.p_keeps)})"
    )
    if test.reason == "agreement_ratio_too_low":
        found = f"has an agreement ratio below {number(test.settings.least_retention)} ({kept}, {p_value(g.p_loses)})"
    elif test.verdict == "replace":
        found = f"was shown to be {as_good} ({p_value(g.p_as_good)}), {sees}"
    elif test.verdict == "do_not_replace":
        worse = f"worse than at least {g.least_worse} of {counted(n, 'annotator')}, {eps}"
        found = f"was shown to be {worse} ({p_value(g.p_worse)})"
    elif test.verdict == "mixed":
        found = f"was shown to be {as_good} ({p_value(g.p_as_good)}), and worse than at least {g.least_worse} "
        found += f"({p_value(g.p_worse)})"
    else:
        found = "was not shown to be one of annotators like these: " + "; ".join(
            f"{'' if p <= g.alpha else 'not '}shown {what} ({p_value(p)})"
            for what, p in (
                (f"to be {as_good}", g.p_as_good), ("to look at the items", g.p_looks),
                (f"to keep enough of what people agree on ({kept})", g.p_keeps),
            )
        )  # fmt: skip
        if g.repeats is not None:
            found += f"; it repeats {g.repeats}'s labels"
    ci = (
        f"{100 * test.settings.confidence:g}% CI {interval(rho.low, rho.high)}" if rho.low == rho.low else "no interval"
    )
    return (
        f"On {counted(test.n_items, 'item')}{where}, {test.judge} {found}; advantage probability ρ = "
        f"{number(rho.estimate)}, {ci}; winning rate ω = {number(test.winning_rate)}."
    )


def works(tests: Sequence[AltTest]) -> list[str]:
    """Keys of `assay.reporting.references` for what results and methods name."""
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
    """What the verdict's p-values are those of."""
    if settings.clusters is None and not settings.balance:
        return "exact unconditional tests, Tango 1998"
    robust = " with a design effect for clusters" if settings.clusters is not None else ""
    return f"score tests{robust}, Tango 1998, Miettinen & Nurminen 1985"


def methods(tests: Sequence[AltTest]) -> list[str]:
    """What a methods section needs to say, in sentences to paste."""
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
    said = [
        "We used the alternative annotator test (Calderon, Reichart & Dror 2025) as implemented in "
        f"assay {__version__}. Each of {test.n_annotators} annotators was left out in turn, and the judge's label and "
        f"the annotator's were each compared with {compared} by {score}.",
        f"H0 (the judge's advantage probability is at most the annotator's less ε = {number(test.epsilon, 3)}) was "
        f"tested by {' and '.join(named[k] for k in kinds) or 'no test'}, with the false discovery rate held at "
        f"{number(s.fdr, 3)} (Benjamini & Yekutieli 2001). As published, a judge passes where H0 is rejected for "
        f"at least {number(100 * s.threshold, 0)}% of the annotators.",
        f"Our verdict asks for more: at level {number(s.alpha, 3)}, the judge is as good as at least "
        f"{number(100 * s.threshold, 0)}% of the annotators (partial conjunction, Benjamini & Heller 2008, of "
        f"{_verdict_test(s)}), it looks at the items (permutations of its labels within what is known of items without "
        "reading them), and it keeps at least "
        f"{number(s.least_retention)} of people's chance-corrected agreement (jackknife pseudo-values, corrected for "
        "skewness, Hall 1992).",
    ]
    if test.interval_method:
        said.append(f"Uncertainty of ρ: {test.interval_method}.")
    if s.balance:
        said.append("Items were weighted by the inverse frequency of their majority label (inverse probability).")
    if s.normalise:
        said.append(f"Labels were normalised within each annotator ({s.normalise}).")
    return said
