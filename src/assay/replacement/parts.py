"""The verdict in words, and the sentences that a methods section needs."""

from __future__ import annotations

from collections.abc import Sequence

from assay._version import __version__
from assay.errors import counted
from assay.estimation.options import short
from assay.replacement.alt_test import AltTest
from assay.replacement.decision import FEWEST, TONES
from assay.replacement.settings import AltTestSettings
from assay.reporting.page import Card
from assay.reporting.words import interval, number, p_value

_PEOPLE = {"expert": "an expert annotator", "skilled": "a skilled annotator", "crowd": "a crowd worker"}


_REASONS = {
    "nobody has enough items": "nobody has enough items",
    "too few clusters": "too few clusters of items",
    "too few items": "too few items",
    "people agree no more than chance": "people agree no more than chance",
    "a trivial judge is as close": "a judge that never looks may be as close",
}


def card(test: AltTest) -> Card:
    """The verdict of one test: what, on what grounds, and what would change it."""
    evidence, advice = " ".join(_evidence(test)), " ".join(_advice(test))
    return Card(test.judge, test.domain, TONES[test.verdict], _headline(test), evidence, advice, tuple(_beside(test)))


def _headline(test: AltTest) -> str:
    who = _PEOPLE.get(test.settings.annotators or "", "one of these annotators")
    if test.settings.gold is not None:
        who = "these people against the gold labels"
    where = f" for {test.domain.partition('=')[2]}" if test.domain else ""
    if test.verdict == "replace":
        return f"{test.judge} {'outperforms' if test.settings.gold is not None else 'may replace'} {who}{where}."
    if test.verdict == "do not replace":
        return f"Do not replace {who} with {test.judge}{where}."
    if test.verdict == "people differ":
        return f"{test.judge} is as good as some of these annotators and worse than others{where}."
    return f"Cannot tell yet for {test.judge}{where}: {_REASONS[test.reason or 'too few items']}."


def _evidence(test: AltTest) -> list[str]:
    """What the verdict rests on."""
    g = test.grounds
    if not test.n_annotators:
        return [f"Nobody has the {test.settings.min_items} comparable items that the test asks for."]
    closer, tie, farther = test.trivial.outcome
    shown = {
        "replace": f"Shown to be as good as at least {g.least} of {test.n_annotators} annotators",
        "do not replace": f"Shown to be worse than at least {g.least_worse} of {test.n_annotators} annotators",
        "people differ": f"Shown to be as good as at least {g.least} of {test.n_annotators} annotators "
        f"({p_value(g.p_as_good)}), and worse than at least {g.least_worse}",
    }.get(test.verdict)
    if shown is None:
        so = "Shown" if g.p_as_good <= g.alpha else "Not shown"
        shown = f"{so} to be as good as at least {g.least} of {test.n_annotators} annotators"
    label = short(test.trivial.label)
    answers = f"gives {label}" if test.trivial.is_drawn else f"always answers “{label}”"
    p = g.p_worse if test.verdict in ("do not replace", "people differ") else g.p_as_good
    return [
        f"{shown}, allowing ε = {number(test.epsilon, 3)} ({p_value(p)}).",
        f"Against a judge that {answers} it is closer to people on {closer} items, "
        f"as close on {tie}, farther on {farther} ({p_value(g.p_trivial)}).",
    ]


def _beside(test: AltTest) -> list[str]:
    """What always stands beside the verdict: closeness, the mean difference, the published outcome, people."""
    s, rho, difference = test.settings, test.advantage_probability, test.mean_difference
    if not test.n_annotators:
        return []
    reference = "the reference" if s.fixed_reference else "the other annotators"
    lines = [
        f"With probability ρ = {number(rho.estimate)} {interval(rho.low, rho.high)} it is as close to {reference} as a "
        "random annotator, or closer.",
        "People are closer, on average over items and annotators, by "
        f"{number(difference.estimate)} {interval(difference.low, difference.high)}.",
        f"As published it {'passes' if test.passed else 'does not pass'}: winning rate ω = "
        f"{number(test.winning_rate)}, losing rate {number(test.losing_rate)}; {number(s.threshold)} is needed.",
    ]
    alpha = test.human_agreement
    if not alpha.reason:
        lines.append(f"People agree with α = {number(alpha.estimate)} {interval(alpha.low, alpha.high)}.")
    return lines


def _advice(test: AltTest) -> list[str]:
    """What would change the verdict, and what a reader must know."""
    found = []
    if test.verdict == "do not replace":
        found.append("More items would not change this: look at its labels (below), its prompt, or another judge.")
    elif test.verdict == "people differ":
        found.append("Whether it may stand in depends on for whom: see annotator by annotator.")
    elif test.reason == "nobody has enough items":
        found.append("Have the same people label more of the same items.")
    elif test.reason == "too few clusters":
        found.append(
            f"Label items of at least {FEWEST} of '{test.settings.clusters}': each counts as one, not its items."
        )
    elif test.reason == "people agree no more than chance":
        found.append(
            "No judge can be tested on these labels. Clearer instructions, a simpler question or trained people come "
            "first."
        )
    elif test.reason == "a trivial judge is as close":
        found.append(
            "Labels like these cannot tell a judge that looks from one that does not: balance them (--balance), add "
            "items that are harder or rarer, take a smaller ε, or normalise labels by annotator."
        )
    elif test.reason == "too few items":
        found.append(_more_items(test))
    if test.passed != (test.verdict == "replace"):
        found.append(_disagreement(test))
    return [*found, *test.cautions]


def _disagreement(test: AltTest) -> str:
    """Why the published rule and the verdict differ."""
    if not test.passed:
        return (
            "The published rule counts annotators whose test survives a correction for dependent tests; the verdict "
            "asks for at least so many of them at once, with an exact test, and needs less to show it."
        )
    if test.grounds.p_as_good > test.grounds.alpha or test.verdict == "people differ":
        return (
            "The published rule lets it pass: it counts wins first, and its t-test claims more than these items show."
        )
    return "The published rule lets it pass: it does not ask whether a judge that never looks would do as well."


def _more_items(test: AltTest) -> str:
    needed = test.items_to_decide()
    if needed is None:
        return (
            "Even 20 times as many items like these would probably not tell: the judge is about as good as epsilon "
            "allows. Decide on epsilon by what an error costs, or improve the judge."
        )
    more = needed - test.n_items
    if more <= 0:
        return "A repeated study of this size would tell four times in five; this one happens not to."
    return (
        f"About {needed:,} items labelled by these {counted(test.n_annotators, 'annotator')} ({more:,} more than now) "
        "would tell, yes or no, in four studies out of five, if they are like these."
    )


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
        f"{_verdict_test(s)}), and closer to "
        "them, item by item, than every constant answer.",
    ]
    if test.interval_method:
        said.append(f"Uncertainty of ρ: {test.interval_method}.")
    if s.balance:
        said.append("Items were weighted by the inverse frequency of their majority label (inverse probability).")
    if s.normalise:
        said.append(f"Labels were normalised within each annotator ({s.normalise}).")
    return said
