"""Parts of a report about ideas: similarity measures, pairs of texts, annotators."""

from __future__ import annotations

import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DesignError
from assay.ideas.annotators import AnnotatorSimilarity, annotator_similarity
from assay.ideas.choices import has_choices
from assay.ideas.reliability import OddOneOutAgreement, odd_one_out_agreement
from assay.ideas.style import StyleEffect
from assay.ideas.triplets import TripletSimilarity, triplet_similarity
from assay.ideas.validate import SimilarityValidation, validate_similarity
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled

SHOWN = 12
"""Number of most similar, and of least similar, pairs of texts in tables."""


def validation_parts(found: SimilarityValidation) -> tuple[Part, ...]:
    """Validity of measures, ceilings, sweeps, documents."""
    frames = [
        (
            "Spearman's ρ of measures with the experts' ranking of pairs, over new texts of these documents; then "
            "baseline measures and ceilings.",
            _verdicts(found),
        ),
        (
            "Intervals over new judgments of the same texts; ρ within documents; ρ minus that of the best.",
            _other_intervals(found),
        ),
    ]
    if found.sweeps.height:
        frames.append(("All settings of sweeps. The best of many is optimistic.", filled(found.sweeps, found.counted)))
    if found.by_document["document"].n_unique() > 1:
        frames.append(("ρ in each document.", filled(found.by_document, found.counted)))
    if found.by_authors.height:
        words = "Experts' mean similarity of texts by their authors, and differences, over new texts by these authors."
        frames.append((words, filled(found.by_authors, found.counted)))
    return (
        Part(
            "Validity of similarity measures", (*found.sentences(), *found.footnotes()),
            tuple(frames),
            (("Rank correlations of measures with the experts", found.plot),), tuple(map(str, found.exclusions)),
            cautions=found.cautions,
        ),
    )  # fmt: skip


def _verdicts(found: SimilarityValidation) -> pl.DataFrame:
    """Verdicts on measures, narrow enough for a page."""
    columns = ["measure", "kind", "verdict", "estimate", "low", "high", "n", "share", "p"]
    titles = {"estimate": "ρ", "low": "ρ_low", "high": "ρ_high", "share": "share of the ceiling"}
    return filled(found.rows.select(columns), found.counted).rename(titles, strict=False)


def _other_intervals(found: SimilarityValidation) -> pl.DataFrame:
    """Other intervals of the measures."""
    names = [c for c in found.rows.columns if c.startswith(("same_texts", "within", "difference"))]
    return filled(found.rows.filter(pl.col("kind") != "ceiling").select("measure", *names))


def style_parts(found: StyleEffect) -> tuple[Part, ...]:
    """The change of each measure if only the style changes."""
    return (
        Part(
            "Change of similarity with style", tuple(found.summary().splitlines()[:-1]),
            (("Mean similarity before and after, and its change in percent.", filled(found.rows, found.counted)),),
            (("Change of each measure, in percent", found.plot),), tuple(map(str, found.exclusions)),
        ),
    )  # fmt: skip


def triplet_parts(found: TripletSimilarity) -> tuple[Part, ...]:
    """The most and the least similar pairs."""
    most, least = (
        filled(found.pairs.sort("estimate", "n", descending=[down, True]).head(SHOWN), found.counted)
        for down in (True, False)
    )
    return (
        Part(
            "Similarity of texts", tuple(found.summary().splitlines()[:-1]),
            (
                (f"The {SHOWN} most similar pairs.", most), (f"The {SHOWN} least similar pairs.", least),
                (f"The {SHOWN} texts least similar to the others: mean similarity of their pairs, and share of choices "
                 "in which they are the odd one out.", filled(found.texts.head(SHOWN), found.counted)),
            ),
            (("Similarities of texts, in percent", found.plot),), tuple(map(str, found.exclusions)),
        ),
    )  # fmt: skip


def reliability_parts(found: OddOneOutAgreement) -> tuple[Part, ...]:
    """Agreement on the odd one out."""
    return (
        Part(
            "Agreement on the odd one out", tuple(found.summary().splitlines()[:-1]),
            (("Chance-corrected agreement: 0 at chance, 1 if all agree.", filled(found.rows, found.counted)),),
            (("Agreement on the odd one out", found.plot),),
        ),
    )  # fmt: skip


def annotator_parts(found: AnnotatorSimilarity) -> tuple[Part, ...]:
    """Similarity of judges to humans, and among humans."""
    return (
        Part(
            "Similarity of judges to humans", tuple(found.summary().splitlines()[:-1]),
            (("Similarity to humans: judges, then humans.", filled(found.rows)),),
            (("Map of annotators, similar ones close together", found.plot),
             ("Similarity to humans minus similarity among humans", found.plot_closeness)),
            tuple(map(str, found.exclusions)),
        ),
    )  # fmt: skip


# -- parts of the report -----------------------------------------------------------------------------

MOST_PERMUTATIONS = 1000
"""Resamples of the validation of measures in a report, at most."""


def report_ideas(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the validation of measures for odd-one-out choices, and for texts the similarity of annotators."""
    if has_choices(labels):
        return _report_choices(labels, options)
    if len(labels.criteria) > 1 or labels.scale.kind != "text":
        return ()
    # The similarity of the test, if it compares any two texts.
    given = options.similarity
    shared = {"similarity": given if isinstance(given, str) or callable(given) else "words", **options.intervals}
    return parts_or_reason(
        "Similarity of judges to humans",
        lambda: annotator_parts(annotator_similarity(labels, clusters=options.clusters, **shared)),
    )


def _report_choices(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    found: tuple[Part, ...] = ()
    level, seed = options.intervals["confidence"], options.intervals["seed"]
    draws = options.resamples(MOST_PERMUTATIONS)
    try:
        found += validation_parts(validate_similarity(labels, n_resamples=draws, seed=seed, confidence=level))
        found += reliability_parts(odd_one_out_agreement(labels, clusters=options.clusters, **options.intervals))
    except DesignError as reason:
        found += (Part("Validity of similarity measures", lines=(f"Not estimable: {reason}.",)),)
    try:
        return (*found, *triplet_parts(triplet_similarity(labels, confidence=level)))
    except DesignError:
        return found
