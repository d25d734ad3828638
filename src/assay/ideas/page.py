"""What a page shows of ideas: measures against experts, pairs of texts, annotators on a map."""

from __future__ import annotations

import polars as pl

from assay.ideas.annotators import AnnotatorSimilarity
from assay.ideas.reliability import OddOneOutAgreement
from assay.ideas.triplets import TripletSimilarity
from assay.ideas.validate import SimilarityValidation
from assay.reporting.page import Part
from assay.reporting.tables import filled

SHOWN = 12
"""Pairs of texts that are shown, the most alike and the least."""


def validation_parts(found: SimilarityValidation) -> tuple[Part, ...]:
    """Measures by how well they rank pairs, the experts' ceiling, sweeps, documents."""
    frames = [
        (
            "Measures by Spearman's ρ with the experts' ranking of pairs, over new texts of these documents; then "
            "trivial measures, and what experts reach.",
            _verdicts(found),
        ),
        (
            "Beside it: over new judgments of the same texts; within documents; ρ less that of the best.",
            _other_intervals(found),
        ),
    ]
    if found.sweeps.height:
        frames.append(
            ("Every setting that was tried. The best of many is optimistic.", filled(found.sweeps, found.counted))
        )
    if found.by_document["document"].n_unique() > 1:
        frames.append(("ρ in each document.", filled(found.by_document, found.counted)))
    return (
        Part(
            "Do automatic measures see what experts see?", (*found.sentences(), *found.footnotes(), *found.cautions),
            tuple(frames),
            (("Measures against the experts", found.plot),), tuple(map(str, found.exclusions)),
        ),
    )  # fmt: skip


def _verdicts(found: SimilarityValidation) -> pl.DataFrame:
    """What is said of each measure, narrow enough for a page."""
    columns = ["measure", "kind", "verdict", "estimate", "low", "high", "n", "share", "p"]
    titles = {"estimate": "ρ", "low": "ρ_low", "high": "ρ_high", "share": "share of the best"}
    return filled(found.rows.select(columns), found.counted).rename(titles, strict=False)


def _other_intervals(found: SimilarityValidation) -> pl.DataFrame:
    """Other intervals of the measures."""
    names = [c for c in found.rows.columns if c.startswith(("same_texts", "within", "difference"))]
    return filled(found.rows.filter(pl.col("kind") != "ceiling").select("measure", *names))


def triplet_parts(found: TripletSimilarity) -> tuple[Part, ...]:
    """The most and the least alike pairs."""
    most, least = (
        filled(found.pairs.sort("estimate", "n", descending=[down, True]).head(SHOWN), found.counted)
        for down in (True, False)
    )
    return (
        Part(
            "How alike are the texts?", tuple(found.summary().splitlines()[:-1]),
            ((f"The {SHOWN} most alike pairs.", most), (f"The {SHOWN} least alike pairs.", least)),
            (("Similarities of texts, in percent", found.plot),), tuple(map(str, found.exclusions)),
        ),
    )  # fmt: skip


def reliability_parts(found: OddOneOutAgreement) -> tuple[Part, ...]:
    """Agreement on the odd one out."""
    return (
        Part(
            "Do annotators name the same odd one out?", tuple(found.summary().splitlines()[:-1]),
            (("Agreement above chance: 0 at chance, 1 where all agree.", filled(found.rows, found.counted)),),
            (("Agreement on the odd one out", found.plot),),
        ),
    )  # fmt: skip


def annotator_parts(found: AnnotatorSimilarity) -> tuple[Part, ...]:
    """Where each judge sits among the people."""
    return (
        Part(
            "Where does each judge sit among the people?", tuple(found.summary().splitlines()[:-1]),
            (("Closeness to people: judges, then people, the closest first.", filled(found.rows)),),
            (("Annotators, near each other where their answers are alike", found.plot),
             ("Closeness to people, less that of people to each other", found.plot_closeness)),
            tuple(map(str, found.exclusions)),
        ),
    )  # fmt: skip
