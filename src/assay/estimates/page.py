"""The pages about corrected estimates, drift, monitoring and routing: titles, sentences, tables and pictures.

Numbers keep all their digits here; the layout rounds them.
"""

from __future__ import annotations

from functools import partial

from assay.data.annotations import Annotations
from assay.errors import counted
from assay.estimates import words
from assay.estimates.corrected import MOST_SHARES, CorrectedEstimate, estimate
from assay.estimates.drift import Drift
from assay.estimates.monitor import Monitor
from assay.estimates.route import Route
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled


def estimate_parts(found: CorrectedEstimate) -> tuple[Part, ...]:
    """Return the corrected estimates with the judge-only and human-only estimates."""
    return (
        Part(
            f"Corrected estimates from the labels of {' and '.join(found.judges)}",
            tuple(words.estimate_lines(found)[: 2 * MOST_SHARES]),
            (
                (
                    "Corrected, human-only and judge-only estimates. Equivalent labels: additional human-labelled "
                    "items that give the same precision without the judge.",
                    filled(found.table, "human-labelled"),
                ),
            ),
            (("Corrected, human-only and judge-only estimates.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
        ),
    )


def saving_words(found: CorrectedEstimate) -> str:
    """Return the numbers of items and the precision that the judge adds, as the end of a sentence."""
    one = found.lines[0]
    added = [one.equivalent_labels for one in found.lines if one.equivalent_labels is not None]
    lead = f"all {one.n_all:,} items ({one.n:,} human-labelled)"
    if not added or max(added) < 1:
        return lead
    least = "" if min(added) == max(added) else f"{min(added):,} to "
    return f"{lead}; the judge adds as much precision as {least}{counted(max(added), 'more human-labelled item')}"


def drift_parts(found: Drift) -> tuple[Part, ...]:
    """Return the total change, the judge drift and the system change."""
    return (
        Part(
            "Judge drift",
            tuple(words.drift_lines(found)),
            (("Changes, after minus before; R is the agreement ratio.", filled(found.table)),),
            (("Changes with their intervals.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
        ),
    )


def monitor_parts(found: Monitor) -> tuple[Part, ...]:
    """Return the alarm or its absence, and the detector at each observation."""
    return (
        Part(
            "Monitoring of the judge",
            tuple(words.monitor_lines(found)),
            (
                (
                    "The baseline, and the mean since then or since the change point.",
                    filled(found.table, "observations"),
                ),
            ),
            (("Detector at each observation; the dotted line is the alarm threshold.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
        ),
    )


def route_parts(found: Route) -> tuple[Part, ...]:
    """Return the judge share and the test of each share."""
    return (
        Part(
            "Judge share and human queue",
            tuple(words.route_lines(found)),
            (
                (
                    "Shares of the most confident items; above 0 is within the margin.",
                    filled(found.table, "human-labelled"),
                ),
            ),
            (("Difference of judge and human agreement plus the margin, by judge share.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
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
        title = f"Corrected estimates from the labels of {judge}"
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
