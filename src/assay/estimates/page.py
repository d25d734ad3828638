"""What does a page show of estimates from a judge's labels? Titles, words, frames and pictures.

Numbers keep all their digits here; whoever lays the page out rounds them.
"""

from __future__ import annotations

from functools import partial

from assay.data.annotations import Annotations
from assay.errors import counted
from assay.estimates.corrected import MOST_SHARES, CorrectedEstimate, estimate
from assay.estimates.drift import Drift
from assay.estimates.monitor import Monitor
from assay.estimates.route import Route
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled


def estimate_parts(found: CorrectedEstimate) -> tuple[Part, ...]:
    """What people would say of all items, with the judge alone and people alone beside it."""
    return (
        Part(
            f"What would people say of all items that {' and '.join(found.judges)} labelled?",
            (*found.sentences()[: 2 * MOST_SHARES], *found.cautions),
            (
                (
                    "Corrected for the judge's errors; from people's labels alone; from the judge's alone. saved: "
                    "labelled items that the judge was worth.",
                    filled(found.table, "labelled"),
                ),
            ),
            (("Corrected estimates with people alone and the judge alone.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
        ),
    )


def saving_words(found: CorrectedEstimate) -> str:
    """Which items the judge and people labelled, and what the judge's labels are worth, as the end of a sentence."""
    one, saved = found.lines[0], [one.saved for one in found.lines if one.saved is not None]
    lead = f"all {one.n_all:,} items, of which they labelled {one.n:,}"
    if not saved or max(saved) < 1:
        return lead
    least = "" if min(saved) == max(saved) else f"{min(saved):,} to "
    return f"{lead}; the judge is worth {least}{counted(max(saved), 'more labelled item')}"


def drift_parts(found: Drift) -> tuple[Part, ...]:
    """What changed between two runs, and whose change it is."""
    return (
        Part(
            "Has the judge changed?",
            (*found.sentences(), *found.cautions),
            (("After less before; R is the share of people's agreement that the judge keeps.", filled(found.table)),),
            (("Changes with their intervals.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
        ),
    )


def monitor_parts(found: Monitor) -> tuple[Part, ...]:
    """Whether something has moved, and the evidence at each look."""
    return (
        Part(
            "Has the judge moved?",
            (*found.sentences(), *found.cautions),
            (("The baseline, and the mean since it or since the change.", filled(found.table, "looks")),),
            (("Evidence at each look; the dotted line is the alarm's.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
        ),
    )


def route_parts(found: Route) -> tuple[Part, ...]:
    """Which items the judge may have, and the curve of shares."""
    return (
        Part(
            "Which items may the judge have?",
            (*found.sentences(), *found.cautions),
            (("Shares of the surest items; above 0 the judge holds.", filled(found.table, "labelled")),),
            (("The judge's advantage over people, plus ε, by the share that it has.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
        ),
    )


# -- parts of the report -----------------------------------------------------------------------------

MOST_ESTIMATED = 4
"""Judges for which a report has corrected estimates."""

MOST_CHECKED = 0.8
"""Share of a judge's items with human labels up to which a report estimates the human mean over all of its items: above
it, the human labels give that mean directly."""


def report_estimates(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the corrected estimates of judges that labelled many more items than the annotators did."""
    found: tuple[Part, ...] = ()
    for judge in judges_with_more_items(labels)[:MOST_ESTIMATED]:
        title = f"What would people say of all items that {judge} labelled?"
        found += parts_or_reason(title, partial(_report_estimate, labels, judge, options))
    return found


def judges_with_more_items(labels: Annotations) -> list[str]:
    """Return the judges that labelled many items without human labels."""
    if len(labels.criteria) > 1 or labels.scale.kind in ("text", "odd-one-out", "preference"):
        return []
    checked = labels.where(kind="human").items["item"] if labels.humans else labels.items["item"].head(0)
    items = {judge: labels.where(annotator=judge).items["item"] for judge in labels.judges}
    return [j for j, mine in items.items() if int(mine.is_in(checked.implode()).sum()) <= MOST_CHECKED * len(mine)]


def corrected_estimate(labels: Annotations, judge: str, options: PartOptions) -> CorrectedEstimate:
    """Return the corrected estimate of one judge with the options of a report."""
    confidence = options.intervals["confidence"]
    return estimate(labels, judge, confidence=confidence, clusters=options.clusters, repeats=options.repeats)


def _report_estimate(labels: Annotations, judge: str, options: PartOptions) -> tuple[Part, ...]:
    return estimate_parts(corrected_estimate(labels, judge, options))
