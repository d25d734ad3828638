"""The verdict in words, and the sentences that a methods section needs."""

from __future__ import annotations

from collections.abc import Sequence

from assay._version import __version__
from assay.errors import counted
from assay.replacement.alt_test import AltTest
from assay.reporting.page import Card
from assay.reporting.words import interval, number

_PEOPLE = {"expert": "an expert annotator", "skilled": "a skilled annotator", "crowd": "a crowd worker"}


def card(test: AltTest) -> Card:
    """The verdict of one test in three sentences."""
    who = _PEOPLE.get(test.settings.annotators or "", "one of these annotators")
    if test.settings.gold is not None:
        who = "these people against the gold labels"
    people = counted(test.n_annotators, "annotator")
    where = f" for {test.domain.partition('=')[2]}" if test.domain else ""
    epsilon = f"ε = {number(test.epsilon, 3)}"
    rho = test.advantage_probability
    closeness = (
        f"With probability ρ = {number(rho.estimate)} {interval(rho.low, rho.high)} it is as close to the reference "
        "as a random annotator, or closer."
        if test.settings.fixed_reference
        else f"With probability ρ = {number(rho.estimate)} {interval(rho.low, rho.high)} it is as close to the other "
        "annotators as a random one of them, or closer."
    )
    if test.verdict == "replace":
        verb = "outperforms" if test.settings.gold is not None else "may replace"
        return Card(
            test.judge, test.domain, "good", f"{test.judge} {verb} {who}{where}.",
            f"It wins over {test.n_won} of {people} (winning rate ω = {number(test.winning_rate)}, at least "
            f"{number(test.settings.threshold)} is needed) at {epsilon}. {closeness}",
            " ".join(test.cautions),
        )  # fmt: skip
    if test.verdict == "do not replace":
        worse = int(test.annotators["rejected_reverse"].sum())
        return Card(
            test.judge, test.domain, "bad", f"Do not replace {who} with {test.judge}{where}.",
            f"It is shown to be worse than {worse} of {people} by more than {epsilon}, and wins over {test.n_won}. "
            f"{closeness}",
            "More items would not change this: look at its labels (below), its prompt, or another judge.",
        )  # fmt: skip
    if not test.n_annotators:
        return Card(
            test.judge, test.domain, "open", f"Cannot tell yet for {test.judge}{where}.",
            f"Nobody has the {test.settings.min_items} comparable items that the test asks for.",
            "Have the same people label more of the same items.",
        )  # fmt: skip
    return Card(
        test.judge, test.domain, "open", f"Cannot tell yet for {test.judge}{where}.",
        f"It wins over {test.n_won} of {people} (winning rate ω = {number(test.winning_rate)}; "
        f"{number(test.settings.threshold)} is needed) at {epsilon}: not shown to be as good, and not shown to be "
        f"worse either. {closeness}",
        _more_items(test) + " ".join(test.cautions),
    )  # fmt: skip


def _more_items(test: AltTest) -> str:
    needed = test.items_to_decide()
    if needed is None:
        return (
            "Even 20 times as many items like these would probably not tell: the judge is about as good as epsilon "
            "allows. Decide on epsilon by what an error costs, or improve the judge. "
        )
    more = needed - test.n_items
    if more <= 0:
        return "A repeated study of this size would tell four times in five; this one happens not to. "
    return (
        f"About {needed:,} items labelled by these {counted(test.n_annotators, 'annotator')} ({more:,} more than now) "
        "would tell, yes or no, in four studies out of five. "
    )


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
        f"{number(s.fdr, 3)} (Benjamini & Yekutieli 2001). A judge passes where H0 is rejected for at least "
        f"{number(100 * s.threshold, 0)}% of the annotators.",
    ]
    if test.interval_method:
        said.append(f"Uncertainty of ρ: {test.interval_method}.")
    if s.balance:
        said.append("Items were weighted by the inverse frequency of their majority label (inverse probability).")
    if s.normalise:
        said.append(f"Labels were normalised within each annotator ({s.normalise}).")
    return said
