"""The pages about opinions and panels: titles, sentences, tables and pictures.

Numbers keep all their digits here; the layout rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.data.annotations import Annotations
from assay.data.structure.probabilities import PREFIXES
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled
from assay.variation import words
from assay.variation.labels import ensembles_of
from assay.variation.opinions import Opinions, opinions
from assay.variation.panel import JudgePanel, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_REPORTED = 3
"""Judges from which a report without ensembles has their panel."""

MOST_MAPS = 4
"""Maps of correlations on a page."""

MOST_ITEMS = 10
"""Items with the largest distance on a page."""


def opinion_parts(found: Opinions) -> tuple[Part, ...]:
    """Return how close judges are to the distribution of the annotators' labels, and the items with the largest D."""
    drawn: list[tuple[str, Callable[[], Axes]]] = [
        ("Relative distance of each judge; dotted lines are polls of 1, 2 and 5 annotators.", found.plot)
    ]
    if any(source != "label" for source in found.sources.values()):
        drawn.append(("Disagreement among annotators by the spread of the judge's distribution.", found.plot_spread))
    far = found.items.sort("D", "item", descending=[True, False]).head(MOST_ITEMS)
    far = far.select("criterion", "judge", "item", "D", "h", "s", "n")
    frames = [
        ("Relative distance, spread and slope of each judge.", filled(found.table.drop("people", "people_at_most")))
    ]
    frames.append(("Items with the largest distance D.", filled(far, "annotators")))
    if found.distances.height:
        wide = found.distances.pivot("distance", index=["criterion", "judge"], values="mean")
        frames.append(("Published distances between label shares.", filled(wide)))
    lines = (*map(str, found.exclusions), *found.notes)
    said = tuple(words.opinion_lines(found))
    return (Part("Distributions of opinions", said, tuple(frames), tuple(drawn), lines, cautions=found.cautions),)


def panel_parts(found: JudgePanel) -> tuple[Part, ...]:
    """Return the effective number of judges, the correlations of their errors, and what each judge adds."""
    criteria = found.covariances["criterion"].unique(maintain_order=True).to_list()
    drawn: list[tuple[str, Callable[[], Axes]]] = [("Effective number of judges like these.", found.plot)]
    for name in criteria[:MOST_MAPS]:
        caption = "Correlations of the judges' errors" + (f": {name}." if name else ".")
        drawn.append((caption, partial(found.heat_map, criterion=name)))
    pairs = found.covariances.filter(pl.col("judge") != pl.col("other"))
    whole = found.table.drop("judges", "judges_at_most")
    frames = (
        ("The panel as a whole, and the contribution of each judge.", filled(whole)),
        ("Covariances and correlations of the judges' errors.", filled(pairs)),
    )
    lines = (*map(str, found.exclusions), *found.notes)
    said = tuple(words.panel_lines(found))
    return (Part("Panel of judges", said, frames, tuple(drawn), lines, cautions=found.cautions),)


def report_panel(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the panel of each ensemble's members; of all judges if there are three or more and no ensemble."""
    kinds = {scale.kind for scale in labels.scales.values()}
    if len(labels.humans) < 2 or kinds & {"text", "odd-one-out"}:
        return ()
    members = {name: of for name, of in ensembles_of(labels).items() if len(of) > 1}
    if not members and len(labels.judges) < LEAST_REPORTED:
        return ()
    found: tuple[Part, ...] = ()
    for judges in members.values() or (None,):
        found += parts_or_reason("Panel of judges", partial(_panel_of, labels, judges, options))
    return _folded(found)


def _folded(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts as a report shows them: for reference, so that the page stays short on a phone."""
    return tuple(replace(part, folded=True) for part in parts)


def _panel_of(labels: Annotations, judges: tuple[str, ...] | None, options: PartOptions) -> tuple[Part, ...]:
    repeats: Any = options.repeats if options.repeats != "each" else "error"
    confidence = options.intervals["confidence"]
    found = panel(labels, judges=judges, clusters=options.clusters, repeats=repeats, confidence=confidence)
    return panel_parts(found)


def report_opinions(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the distributions of opinions if a judge has probabilities or repeated labels."""
    if not labels.judges or len(labels.humans) < 2 or not _has_distributions(labels):
        return ()
    asked = {"clusters": options.clusters, "confidence": options.intervals["confidence"]}
    repeats: Any = options.repeats if options.repeats != "each" else "error"
    found = parts_or_reason(
        "Distributions of opinions", lambda: opinion_parts(opinions(labels, repeats=repeats, **asked))
    )
    return _folded(found)


def _has_distributions(labels: Annotations) -> bool:
    kinds = {scale.kind for scale in labels.scales.values()}
    if kinds & {"text", "odd-one-out"}:
        return False
    columns = (*labels.labels.columns, *labels.items.columns)
    named = {f"{prefix}{label}" for prefix in PREFIXES for label in labels.labels["label"].cast(pl.String).unique()}
    return len(named.intersection(columns)) > 1 or labels.where(kind="judge").has_repeats
