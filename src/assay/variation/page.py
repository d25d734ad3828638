"""The pages about opinions and panels: titles, sentences, tables and pictures.

Numbers keep all their digits here; the layout rounds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.data.annotations import Annotations
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled
from assay.variation import words
from assay.variation.opinions import PREFIXES, Opinions, opinions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    return (Part("Distributions of opinions", tuple(words.opinion_lines(found)), tuple(frames), tuple(drawn), lines),)


def report_opinions(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the distributions of opinions if a judge has probabilities or repeated labels."""
    if not labels.judges or len(labels.humans) < 2 or not _has_distributions(labels):
        return ()
    asked = {"clusters": options.clusters, "confidence": options.intervals["confidence"]}
    repeats: Any = options.repeats if options.repeats != "each" else "error"
    return parts_or_reason(
        "Distributions of opinions", lambda: opinion_parts(opinions(labels, repeats=repeats, **asked))
    )


def _has_distributions(labels: Annotations) -> bool:
    kinds = {scale.kind for scale in labels.scales.values()}
    if kinds & {"text", "odd-one-out"}:
        return False
    columns = (*labels.labels.columns, *labels.items.columns)
    named = {f"{prefix}{label}" for prefix in PREFIXES for label in labels.labels["label"].cast(pl.String).unique()}
    return len(named.intersection(columns)) > 1 or labels.where(kind="judge").has_repeats
