"""What a page shows of the alt-test: pictures of several tests, the verdict in words, sentences for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay._version import __version__
from assay.errors import counted, listing
from assay.replacement.alt_test import AltTest, said_epsilon
from assay.replacement.decision import FEWEST, TONES, Verdict
from assay.replacement.domains import AltTestBy
from assay.replacement.panel import AltTestSettings
from assay.reporting import pictures
from assay.reporting.page import Card
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
            color=colour, linestyle=dashes, label=f"{test.judge} ({test.verdict})",
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
        named = f"{test.judge} ({test.verdict})"
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
_DOMAIN_VERDICTS: Mapping[Verdict, str] = {
    "replace": "may stand in for people",
    "people differ": "as good as some, worse than others",
    "cannot tell yet": "cannot tell yet",
    "do not replace": "do not replace people",
}
_REASONS = {
    "nobody has enough items": "nobody has enough items",
    "too few clusters": "too few clusters of items",
    "too few items": "too few items",
    "people agree no more than chance": "people agree no more than chance",
    "a trivial judge is as close": "a judge that never looks may be as close",
}


def question_words(tests: Sequence[AltTest]) -> str:
    """What is asked, and of whom: the first thing that a reader wants to know."""
    test = max(tests, key=lambda t: t.n_annotators)
    s, judges = test.settings, list(dict.fromkeys(t.judge for t in tests))
    people = test.tally.table.humans
    who = _PEOPLE.get(s.expertise or "", "one of these annotators")
    what = f"May {judges[0] if len(judges) == 1 else 'one of these judges'} stand in for {who}"
    if s.gold is not None:
        what = (
            f"Is {judges[0] if len(judges) == 1 else 'one of these judges'} as close to the gold labels as people are"
        )
    return (
        f"{what}, where its low cost is worth ε = {number(test.epsilon, 3)} of closeness? Asked of "
        f"{counted(len(judges), 'judge')} ({listing(judges, 4)}) and {counted(len(people), 'annotator')} "
        f"({listing(people, 4)}). “May replace” wants both: as good as at least {100 * s.threshold:g}% of the "
        f"annotators, and closer to them than any judge that always gives one answer; each at level {s.alpha:g}."
    )


def card(test: AltTest) -> Card:
    """The verdict of one test: what, on what grounds, and what would change it."""
    evidence, advice = " ".join(_evidence(test)), " ".join(_advice(test))
    return Card(test.judge, test.domain, TONES[test.verdict], _headline(test), evidence, advice, tuple(_beside(test)))


def _headline(test: AltTest) -> str:
    who = _PEOPLE.get(test.settings.expertise or "", "one of these annotators")
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
    label = test.trivial_answer
    answers = label if test.trivial.is_drawn else f"always answering “{label}”"
    p = g.p_worse if test.verdict in ("do not replace", "people differ") else g.p_as_good
    return [
        f"{shown}, allowing ε = {number(test.epsilon, 3)} ({p_value(p)}).",
        f"Against {answers}: closer to people on {counted(closer, 'item')}, equal on {tie}, farther on {farther} "
        f"({p_value(g.p_trivial)}).",
    ]


def _beside(test: AltTest) -> list[str]:
    """What always stands beside the verdict: closeness, the mean difference, the published outcome, people."""
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
        f"The smallest ε: {said_epsilon(test)}.",
    ]
    alpha = test.human_agreement
    if not alpha.reason:
        lines.append(f"People agree with α = {number(alpha.estimate)} {interval(alpha.low, alpha.high)}.")
    return lines


def _closer(test: AltTest) -> str:
    """Who is closer, by how much: the mean over items and annotators."""
    people = test.mean_difference
    value, low, high = people.estimate, people.low, people.high
    who = "People are closer than the judge by"
    if round(value, 2) == 0:
        who = "People and the judge are equally close, difference"
    elif value < 0:
        who, value, low, high = "The judge is closer than people by", -value, -high, -low
    return f"{who} {number(value)} {interval(low, high)}, on average over items and annotators."


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
            f"asks for at least {test.grounds.least} of them at once, with an exact test, and needs less to show it."
        )
    if test.grounds.p_as_good > test.grounds.alpha or test.verdict == "people differ":
        return (
            "The published rule lets it pass: it counts wins first, and its t-test claims more than these items show."
        )
    return "The published rule lets it pass: it does not ask whether a judge that never looks would do as well."


def _more_items(test: AltTest) -> str:
    found = test.items_needed
    if found.n_items is None:
        return (
            f"No number of items like these, up to {found.limit:,}, would probably tell: as far as these show, "
            f"{found.reason}. Decide on epsilon by what an error costs, or improve the judge."
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
    found = {v: [name for name, test in tests.items() if test.verdict == v] for v in _DOMAIN_VERDICTS}
    evidence = "; ".join(f"{_DOMAIN_VERDICTS[v]}: {', '.join(names)}" for v, names in found.items() if names)
    tones = {TONES[test.verdict] for test in tests.values()}
    advice = [] if result.correction == "within" else ["P-values are corrected for the number of domains (Holm)."]
    return Card(
        result.judge, None, tones.pop() if len(tones) == 1 else "open",
        f"{result.judge} may stand in for people in {len(found['replace'])} out of {result.n_domains} ({result.by}).",
        f"{evidence[:1].upper()}{evidence[1:]}. As published it passes in {result.passed_in}.",
        " ".join([*advice, *dict.fromkeys(c for test in tests.values() for c in test.cautions)]),
        tuple(_domain_line(name, test) for name, test in tests.items()),
    )  # fmt: skip


def _domain_line(name: str, test: AltTest) -> str:
    """One domain on a line: verdict and reason, what they rest on, and the items that would tell."""
    if not test.n_annotators:
        return f"{name}: {_REASONS['nobody has enough items']}."
    g, rho = test.grounds, test.advantage_probability
    p = {"do not replace": g.p_worse, "people differ": g.p_as_good}.get(test.verdict, g.p_replace)
    reason = f", {_REASONS[test.reason]}" if test.reason else ""
    more = " " + _more_items(test) if test.reason == "too few items" else ""
    return (
        f"{name}: {_DOMAIN_VERDICTS[test.verdict]}{reason}; ρ = {number(rho.estimate)} {interval(rho.low, rho.high)}, "
        f"ω = {number(test.winning_rate)}, {counted(test.n_items, 'item')}, {p_value(p)}.{more}"
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
    found = {
        "replace": f"was shown to be {as_good} ({p_value(g.p_as_good)}), and closer to them than any constant answer "
        f"({p_value(g.p_trivial)})",
        "do not replace": f"was shown to be worse than at least {g.least_worse} of {counted(n, 'annotator')}, even "
        f"allowing ε = {number(test.epsilon, 3)} ({p_value(g.p_worse)})",
        "people differ": f"was shown to be {as_good} ({p_value(g.p_as_good)}), and worse than at least "
        f"{g.least_worse} ({p_value(g.p_worse)})",
        "cannot tell yet": f"was shown neither to be {as_good} ({p_value(g.p_as_good)}), and closer to them than any "
        f"constant answer ({p_value(g.p_trivial)}), nor to be worse than {g.least_worse} ({p_value(g.p_worse)})",
    }[test.verdict]
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
        "calderon2025alternative", "benjamini2001control", "benjamini2008screening", "tango1998equivalence", "assay",
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
        f"{_verdict_test(s)}), and closer to them, item by item, than every constant answer.",
    ]
    if test.interval_method:
        said.append(f"Uncertainty of ρ: {test.interval_method}.")
    if s.balance:
        said.append("Items were weighted by the inverse frequency of their majority label (inverse probability).")
    if s.normalise:
        said.append(f"Labels were normalised within each annotator ({s.normalise}).")
    return said
