"""What does a page show of estimates from a judge's labels? Titles, words, frames and pictures.

Numbers keep all their digits here; whoever lays the page out rounds them.
"""

from __future__ import annotations

from assay.errors import counted
from assay.estimates.corrected import MOST_SHARES, CorrectedEstimate
from assay.estimates.drift import Drift
from assay.estimates.monitor import Monitor
from assay.estimates.route import Route
from assay.reporting.page import Part
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
