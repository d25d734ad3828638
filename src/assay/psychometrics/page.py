"""What does a page show of scores and raters? Titles, words, frames and pictures, for a report to lay out.

Numbers keep all their digits here; whoever lays the page out rounds them.
"""

from __future__ import annotations

import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DesignError
from assay.psychometrics.d_study import DStudy
from assay.psychometrics.disattenuation import Disattenuation, disattenuated_correlation
from assay.psychometrics.g_study import GStudy, g_study
from assay.psychometrics.raters.model import RaterModel, rater_model
from assay.psychometrics.raters.rasch import FacetRasch
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled

# -- Generalizability ------------------------------------------------------------------------------

MOST_STUDIES = 40
"""Studies with sentences of their own on a page; a table holds all."""


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
    pairs = {c.families for c in found.each}
    first, second = found.each[0].families if len(pairs) == 1 else ("these families", "each other")
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


# -- Raters ----------------------------------------------------------------------------------------


def rater_parts(found: RaterModel) -> tuple[Part, ...]:
    """Who is severe and who erratic; who is unfair, where groups were named; whether to believe it."""
    parts = [
        Part(
            "Who is severe, who is erratic?",
            (*found.sentences(), *found.cautions),
            (("φ in categories from the raters' mean, below 0 severe; ψ in categories, large erratic.",
              filled(found.rows)),),
            (("Severity against variability.", found.plot),
             ("Ideal ratings, as the average rater says them, beside the labels.", found.plot_ideal)),
            (*map(str, found.exclusions), *found.notes),
        )
    ]  # fmt: skip
    if (fair := found.fairness) is not None:
        about = f"Δφ against {fair.groups[0]}, less the mean of raters who are not shown to differ."
        frames = [(about, filled(fair.rows)), ("Judges' mean difference less people's.", fair.families)]
        pictures = (("Differences between groups of each rater.", found.plot_fairness),)
        words = tuple(fair.sentences(found.fitted.settings.rope))
        shown = tuple(frames if fair.families.height else frames[:1])
        parts.append(Part(f"Who is unfair? By {fair.group}", words, shown, pictures))
    checked = found.diagnostics.rows
    if checked.height or found.modes.height > 1:
        frames = [("Modes, and how far their φ and ψ are from the best's.", found.modes)]
        if checked.height:
            frames.append(("The ten largest R-hat.", checked.sort("rhat", descending=True).head(10)))
        trust = "A fit is not to be trusted where starts end in modes that are far apart, or chains have not mixed."
        parts.append(Part("Can the fit be trusted?", (trust,), tuple(frames)))
    return tuple(parts)


def rasch_parts(found: FacetRasch) -> tuple[Part, ...]:
    """Severity, fair averages and fit of every rater."""
    rows = filled(found.rows)
    return (
        Part(
            "How severe is each rater? The many-facet Rasch model",
            (*found.sentences(), *found.cautions),
            (("λ in logits, above 0 severe; infit and outfit are 1 as expected.", rows), ("Criteria.", found.items)),
            (
                ("Severity of every rater.", found.plot),
                ("Subjects, raters and steps on one axis (Wright map).", found.plot_map),
            ),
            (*map(str, found.exclusions), *found.notes),
        ),
    )


# -- parts of the report -----------------------------------------------------------------------------

LEAST_RATERS = 3
"""Raters that a report compares by the rater model: with two, it is not identified which one errs."""

REPORTED_STARTS = 2
"""Starts of the rater model in a report: the second shows whether the first reached the best optimum."""

MOST_RATED = 20_000
"""Labels of a table for which a report fits the rater model: with two starts it takes about ten seconds."""

MOST_REFITS = 200
"""Resamples for which variance components are estimated again: each is a separate fit, and 200 take seconds."""


def report_raters(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return severity and variability of the raters (penalized ML), if three or more gave ordered labels."""
    ordinal = all(scale.kind == "ordinal" for scale in labels.scales.values())
    if not ordinal or len(labels.humans) + len(labels.judges) < LEAST_RATERS:
        return ()
    title = "Who is severe, who is erratic?"
    if len(labels) > MOST_RATED:
        why = f"the table has more than {MOST_RATED:,} labels; run assay.rater_model(labels, quick=True)"
        return (Part(title, lines=(f"Not estimated here: {why}.",)),)
    given = {**options.fit, "repeats": "each" if options.repeats == "mean" else options.repeats}
    return parts_or_reason(title, lambda: rater_parts(rater_model(labels, quick=True, starts=REPORTED_STARTS, **given)))


def report_generalizability(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return reliability and universe-score correlations, if the clusters of items can be objects of measurement."""
    clusters = options.clusters
    if clusters is None or not all(scale.numeric for scale in labels.scales.values()):
        return ()
    design, facets = "r x (o:i)", {"r": "annotator", "o": "item", "i": clusters}
    given = {"facets": facets, **options.fit}
    both = bool(labels.humans and labels.judges)
    try:
        found = g_study_parts(g_study(labels, design, "i", by="kind" if both else None, **given))
    except DesignError as reason:
        return (Part("How far do scores carry?", lines=(f"Not estimable: {reason}.",)),)
    if not both:
        return found
    draws = options.resamples(MOST_REFITS)
    correlated = parts_or_reason(
        "Do human and judge measure the same thing?",
        lambda: disattenuation_parts(disattenuated_correlation(labels, design, "i", n_resamples=draws, **given)),
    )
    return (*found, *correlated)
