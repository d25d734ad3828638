"""The sentences of the alternative annotator test, made from codes and numbers of its results.

`summary`, the page and the command line print them; no test reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.errors import counted, listing
from assay.replacement.decision import FEWEST, NO_AGREEMENT, Reason, Verdict
from assay.reporting.tables import number

if TYPE_CHECKING:
    from assay.replacement.alt_test import AltTest

LABELS: Mapping[Verdict, str] = {
    "replace": "Replace", "do_not_replace": "Do not replace", "mixed": "Mixed", "undecided": "Undecided",
    "not_testable": "Not testable",
}  # fmt: skip
"""The label of each verdict, on every page and in every picture."""


def verdict_sentence(test: AltTest, annotator: str = "these annotators", where: str = "") -> str:
    """The verdict in a sentence that begins with its label, or would after one.

    ``annotator`` is who would be replaced, ``where`` names a domain, as in " for law".
    """
    judge, reason = test.judge, test.reason_text
    if test.verdict == "replace":
        return f"{judge} may replace {annotator}{where}."
    if test.verdict == "do_not_replace":
        return f"Do not replace {annotator} with {judge}{where}: {reason}."
    if test.verdict == "mixed":
        worse = f" ({listing(test.worse_than, 4)})" if test.worse_than else ""
        return f"{judge} is as good as some annotators and worse than others{worse}{where}."
    if test.verdict == "not_testable":
        return f"{judge} cannot be tested{where}: the annotators agree too little with each other."
    return f"Undecided for {judge}{where}: {reason}."


def verdict_line(test: AltTest) -> str:
    """The verdict by its label, and its sentence, on a line."""
    sentence, label = verdict_sentence(test), LABELS[test.verdict]
    return sentence if sentence.startswith(label) else f"{label}: {sentence}"


def share_of_annotators(threshold: float) -> str:
    """The share of the annotators that the judge must be as good as: *half of the annotators*."""
    return f"{'half' if threshold == 0.5 else f'{100 * threshold:g}%'} of the annotators"


def reason_text(test: AltTest, reason: Reason) -> str:
    """The sentence of a reason, to follow a colon."""
    s, tests, n = test.settings, test.grounds, test.n_annotators
    if reason == "worse_than_half":
        return f"it is worse than at least {tests.least_worse} of {counted(n, 'annotator')}, beyond the margin"
    if reason == "agreement_ratio_too_low":
        return f"its agreement ratio is below {number(s.least_retention)}"
    if reason == "comparison_undecided":
        settle = "does" if test.n_items == 1 else "do"
        return (
            f"{counted(test.n_items, 'item')} {settle} not settle whether it is as good as "
            f"{share_of_annotators(s.threshold)}"
        )
    if reason == "too_few_items_per_annotator":
        return f"no annotator has {s.min_items} comparable items"
    if reason == "too_few_clusters":
        clustering = test.tally.clustering
        k = 0 if clustering is None else int(clustering.n_clusters.min())
        return f"{counted(k, 'cluster')}; at least {FEWEST} are required"
    if reason == "item_level_agreement_undecided":
        return "item-level agreement is not demonstrated"
    if reason == "agreement_ratio_undecided":
        return f"an agreement ratio above {number(s.least_retention)} is not demonstrated"
    if reason == "matches_one_annotator":
        return (
            f"its labels match {tests.repeats}'s more often than agreement with the others explains; check for label "
            "leakage"
        )
    agreement = "agreement with the reference" if s.fixed_reference else "agreement among annotators"
    if reason == "human_agreement_undecided":
        return f"{agreement} is not demonstrated"
    assert reason == "human_agreement_too_low"
    return f"{agreement} is not demonstrated, and its upper confidence limit is below {number(NO_AGREEMENT)}"
