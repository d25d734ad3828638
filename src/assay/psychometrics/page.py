"""Parts of a report about scores and raters: titles, sentences, tables and pictures.

Numbers keep all their digits here; the layout rounds them.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DesignError
from assay.psychometrics import words
from assay.psychometrics.d_study import DStudy
from assay.psychometrics.disattenuation import Disattenuation, disattenuated_correlation
from assay.psychometrics.g_study import GStudy, g_study
from assay.psychometrics.raters.model import RaterModel, rater_model
from assay.psychometrics.raters.rasch import FacetRasch
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import filled

# -- Generalizability ------------------------------------------------------------------------------

MOST_STUDIES = 40
"""Largest number of studies with sentences on a page; a table has all."""


def _facet_columns(found: GStudy) -> str:
    """The columns of facets with other names: `` (r: annotator, i: patient)``."""
    facets = getattr(found.run.settings, "facets", None) or {}
    named = [f"{name}: {column}" for name, column in facets.items() if name != column]
    return f" ({', '.join(named)})" if named else ""


def g_study_parts(found: GStudy) -> tuple[Part, ...]:
    """Generalizability and variance components."""
    coefficients = filled(found.table.filter(~pl.col("quantity").str.starts_with("σ²")).drop("percent"))
    components = filled(found.components)
    return (
        Part(
            f"Generalizability: {found.design}, object {found.object}{_facet_columns(found)}",
            found.sentences()[: 2 * MOST_STUDIES],
            (
                ("Reliability of a single score: Eρ² for comparing objects, Φ for absolute scores.", coefficients),
                ("Variance components.", components),
            ),
            (("Variance by effect, in percent.", found.plot),),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
        ),
    )


def d_study_parts(found: DStudy) -> tuple[Part, ...]:
    """Projected reliability for other numbers of raters and lessons."""
    smallest = found.smallest.drop([c for c in ("study",) if found.smallest[c].n_unique() == 1])
    noun = words.facet_noun(found.along, found.columns)
    along = "levels of each facet alone" if "facet" in smallest.columns else noun
    return (
        Part(
            "Projected reliability (D-study)",
            found.sentences(),
            (
                (f"Smallest number of {along} that reaches {found.target:g}.", smallest),
                ("All combinations of numbers.", filled(found.projected)),
            ),
            ((f"Coefficient by the number of {noun}.", found.plot),),
            found.notes,
            cautions=found.cautions,
        ),
    )


def disattenuation_parts(found: Disattenuation) -> tuple[Part, ...]:
    """Observed and universe-score correlations of families."""
    pairs = {c.families for c in found.each}
    families = " and ".join(found.each[0].families) if len(pairs) == 1 else "families of raters"
    title = f"Universe-score correlation of {families}"
    return (
        Part(
            title,
            found.sentences(),
            (
                ("Observed and universe-score correlations.", filled(found.table, found.counted)),
                ("Reliability of a single score of each family.", found.reliabilities),
            ),
            (("Observed and universe-score correlations", found.plot),),
            found.notes,
            cautions=found.cautions,
        ),
    )


# -- Raters ----------------------------------------------------------------------------------------


def rater_parts(found: RaterModel) -> tuple[Part, ...]:
    """Severity and variability of raters; group differences, if a group was named; convergence."""
    numbers = f", in {found.unit}" if found.unit != "categories" else ""
    parts = [
        Part(
            f"Severity and variability of raters{numbers}",
            found.sentences(),
            ((f"Severity φ in {found.unit} from the raters' mean (below 0: severe); variability ψ in {found.unit}.",
              filled(found.rows)),),
            (("Severity against variability.", found.plot),
             ("Ideal ratings, on the average rater's scale, and labels.", found.plot_ideal)),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
        )
    ]  # fmt: skip
    if (fair := found.fairness) is not None:
        about = f"Δφ compared with {fair.groups[0]}, minus the mean of raters without a significant difference."
        frames = [(about, filled(fair.rows)), ("Mean difference of judges minus humans.", fair.families)]
        pictures = (("Group differences of each rater.", found.plot_fairness),)
        lines = tuple(fair.sentences(found.fitted.rope, found.unit, found.doubtful))
        tables = tuple(frames if fair.families.height else frames[:1])
        parts.append(Part(f"Differential severity by {fair.group}", lines, tables, pictures))
    if found.groups is not None:
        about = f"Mean φ in {found.unit}, and geometric mean of ψ, of the annotators of two groups."
        lines = tuple(words.group_lines(found.groups, found.fitted.settings.by or "", found.unit))
        parts.append(Part(f"Groups of annotators by {found.fitted.settings.by}", lines, ((about, found.groups),)))
    checked = found.diagnostics.rows
    if checked.height or found.modes.height > 1:
        frames = [("Local optima, and the largest differences of their φ and ψ from the best.", found.modes)]
        if checked.height:
            frames.append(("The ten largest R-hat.", checked.sort("rhat", descending=True).head(10)))
        trust = "Do not use the fit if the local optima are far apart, or if the chains have not mixed."
        parts.append(Part("Convergence", (trust,), tuple(frames)))
    return tuple(parts)


def rasch_parts(found: FacetRasch) -> tuple[Part, ...]:
    """Severity, fair averages and fit of every rater."""
    rows = filled(found.rows)
    return (
        Part(
            "Many-facet Rasch model",
            found.sentences(),
            (
                ("Severity λ in logits (above 0: severe); infit and outfit have expectation 1.", rows),
                ("Criteria.", found.items),
            ),
            (
                ("Severity of every rater.", found.plot),
                ("Subjects, raters and steps on one axis (Wright map).", found.plot_map),
            ),
            (*map(str, found.exclusions), *found.notes),
            cautions=found.cautions,
        ),
    )


# -- parts of the report -----------------------------------------------------------------------------

LEAST_RATERS = 3
"""Raters that a report compares by the rater model: with two, it is not identified which one errs."""

MOST_RATED = 20_000
"""Labels of a table for which a report fits the rater model: with one criterion, its ten starts take 2 to 3 seconds."""

MOST_REFITS = 200
"""Resamples for which variance components are estimated again: each is a separate fit, and 200 take seconds."""


def report_raters(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return severity and variability of raters (penalized ML), if three or more gave labels of one ordered kind."""
    kinds = {scale.kind for scale in labels.scales.values()}
    if kinds not in ({"ordinal"}, {"interval"}) or len(labels.humans) + len(labels.judges) < LEAST_RATERS:
        return ()
    title = "Severity and variability of raters"
    if len(labels) > MOST_RATED:
        why = f"the table has more than {MOST_RATED:,} labels; run assay.rater_model(labels, quick=True)"
        return (Part(title, lines=(f"Not estimated here: {why}.",)),)
    given = {**options.fit, "repeats": "each" if options.repeats == "mean" else options.repeats}
    by_group: dict[str, Any] = {} if options.group is None else {"group": options.group, "object": options.object}
    try:
        return rater_parts(rater_model(labels, quick=True, **given, **by_group))
    except DesignError as reason:
        if not by_group:
            return (Part(title, lines=(f"Not estimable: {reason}.",)),)
        unknown = Part(f"Differential severity by {options.group}", lines=(f"Not estimable: {reason}.",))
    return (*parts_or_reason(title, lambda: rater_parts(rater_model(labels, quick=True, **given))), unknown)


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
        return (Part("Generalizability", lines=(f"Not estimable: {reason}.",)),)
    if not both:
        return found
    draws = options.resamples(MOST_REFITS)
    correlated = parts_or_reason(
        "Universe-score correlation of human and judge",
        lambda: disattenuation_parts(disattenuated_correlation(labels, design, "i", n_resamples=draws, **given)),
    )
    return (*found, *correlated)
