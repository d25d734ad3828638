"""What a paper says of the alt-test: results and methods in sentences to paste, and the works they name."""

from __future__ import annotations

from collections.abc import Sequence

from assay._version import __version__
from assay.errors import counted
from assay.replacement.alt_test import AltTest
from assay.replacement.settings import AltTestSettings
from assay.reporting.words import interval, number, p_value


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
