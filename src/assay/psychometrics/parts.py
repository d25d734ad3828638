"""What a page about generalizability shows: titles, words, frames and pictures, for a report to lay out.

Numbers keep all their digits here; whoever lays the page out rounds them.
"""

from __future__ import annotations

import polars as pl

from assay.psychometrics.decisions import DStudy
from assay.psychometrics.disattenuation import Disattenuation
from assay.psychometrics.generalizability import GStudy
from assay.reporting.page import Part
from assay.reporting.tables import filled

MOST_STUDIES = 40


def g_study_parts(found: GStudy) -> tuple[Part, ...]:
    """How far scores carry, and of what their variance is made."""
    coefficients = filled(found.table.filter(~pl.col("quantity").str.starts_with("σ²")).drop("percent"))
    components = filled(found.components)
    return (
        Part(
            f"How far do scores carry? {found.design}, object {found.object}",
            (*found.sentences()[: 2 * MOST_STUDIES], *found.cautions),
            (
                ("Eρ²: is the order of objects kept? Φ: the score itself? Both of one score.", coefficients),
                ("Variance of each effect; at the bound where none is seen.", components),
            ),
            (("Variance by effect, in percent.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
        ),
    )


def d_study_parts(found: DStudy) -> tuple[Part, ...]:
    """What other numbers of raters and lessons would reach."""
    smallest = found.smallest.drop([c for c in ("study",) if found.smallest[c].n_unique() == 1])
    return (
        Part(
            "What would another rater or lesson buy?",
            (*found.sentences(), *found.cautions),
            (
                (f"The least number of {found.along} that reaches {found.target:g}.", smallest),
                ("Every choice of numbers.", filled(found.projected)),
            ),
            ((f"The coefficient against the number of {found.along}.", found.plot),),
            found.notes,
        ),
    )


def disattenuation_parts(found: Disattenuation) -> tuple[Part, ...]:
    """Whether people and judges measure the same thing."""
    first, second = found.families
    return (
        Part(
            f"Do {first} and {second} measure the same thing?",
            (*found.sentences(), *found.cautions),
            (
                ("Correlations, as observed and as implied without error.", filled(found.table, found.counted)),
                ("Reliability of one score of each family.", found.reliabilities),
            ),
            (("Observed and implied correlations.", found.plot),),
            found.notes,
        ),
    )
