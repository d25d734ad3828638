"""Parts of a page about scores and raters: which sentences, tables and pictures each has."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from rated import facet_rasch_of, model_of, planted
from tables import FACETS, brennan, lessons

from assay.estimation.result import Exclusion
from assay.psychometrics.disattenuation import disattenuated_correlation
from assay.psychometrics.g_study import g_study
from assay.psychometrics.page import d_study_parts, disattenuation_parts, g_study_parts, rasch_parts, rater_parts
from assay.psychometrics.raters.fairness import fairness


def excluded(result, *names: str):
    """A result with a criterion left out, a note and a caution."""
    gone = tuple(Exclusion("study", 1, "few labels", (name,)) for name in names)
    return dataclasses.replace(
        result, run=dataclasses.replace(result.run, exclusions=gone, notes=("note",), cautions=("careful",))
    )


def test_a_g_study_has_coefficients_apart_from_variances():
    study = excluded(g_study(brennan(4), "p x (r:t)", "p", method="none"), "c9")
    found = dataclasses.replace(study, studies=study.studies * 100)
    (part,) = g_study_parts(found)
    assert part.title == "Generalizability: p x (r:t), object p"
    assert (part.words, part.cautions) == ((*found.sentences()[:80],), ("careful",))  # two for each of 40 studies
    (about, coefficients), (other, components) = g_study_parts(study)[0].frames
    assert about == "Reliability of a single score: Eρ² for comparing objects, Φ for absolute scores."
    assert "percent" not in coefficients.columns
    assert coefficients["quantity"].to_list() == ["Eρ²", "Φ", "SEM (relative)", "SEM (absolute)"]
    assert other == "Variance components."
    assert components["effect"].to_list() == ["p", "t", "r:t", "pt", "pr:t,e"]
    assert [about for about, _ in part.pictures] == ["Variance by effect, in percent."]
    assert part.lines == (str(found.run.exclusions[0]), "note")


@pytest.mark.parametrize("several", [False, True])
def test_a_d_study_names_its_studies_where_there_are_several(several):
    study = g_study(brennan(4), "p x (r:t)", "p", method="none")
    both = tuple(dataclasses.replace(one, criterion=c) for one in study.studies for c in ("c", "d"))
    study = dataclasses.replace(study, studies=both) if several else study
    found = excluded(study.d_study(r=[1, 2], t=[1, 2, 3], target=0.75), "c9")
    (part,) = d_study_parts(found)
    assert part.title == "Projected reliability (D-study)"
    assert (part.words, part.cautions) == (found.sentences(), ("careful",))
    assert part.frames[0][0] == "Smallest number of t that reaches 0.75."
    assert ("study" in part.frames[0][1].columns) == several
    assert part.frames[1][0] == "All combinations of numbers."
    assert [about for about, _ in part.pictures] == ["Coefficient by the number of t."]
    assert part.lines == ("note",)


@pytest.mark.parametrize(
    ("pairs", "title"),
    [
        ([("people", "gpt")] * 2, "Universe-score correlation of people and gpt"),
        ([("people", "gpt")], "Universe-score correlation of people and gpt"),
        ([("people", "gpt"), ("people", "llama")], "Universe-score correlation of families of raters"),
    ],
)
def test_a_page_names_two_families_where_there_are_no_others(pairs, title):
    one = disattenuated_correlation(
        lessons(8, 2, 2, judges=2), "r x (o:i)", "i", facets=FACETS, n_resamples=20
    )  # fmt: skip
    each = tuple(dataclasses.replace(one.each[0], families=pair) for pair in pairs)
    found = excluded(dataclasses.replace(one, each=each), "c9")
    (part,) = disattenuation_parts(found)
    assert part.title == title
    assert (part.words, part.cautions) == (found.sentences(), ("careful",))
    assert [about for about, _ in part.frames] == [
        "Observed and universe-score correlations.", "Reliability of a single score of each family."
    ]  # fmt: skip


def test_a_quick_fit_with_one_mode_has_one_part():
    found = model_of(planted([[[0.0, 1.0]]]))
    (part,) = rater_parts(found)
    assert part.title == "Severity and variability of raters"
    assert (part.words, part.cautions) == (found.sentences(), ("careful",))
    assert [about for about, _ in part.frames] == [
        "Severity φ in categories from the raters' mean (below 0: severe); variability ψ in categories."
    ]
    assert [picture for _, picture in part.pictures] == [found.plot, found.plot_ideal]
    assert part.lines == ("7", "note")
    points = dataclasses.replace(found.fitted.table, unit="points")
    fit = dataclasses.replace(found.fitted, density=dataclasses.replace(found.fitted.density, table=points))
    assert rater_parts(dataclasses.replace(found, fitted=fit))[0].title.endswith(" raters, in points")


@pytest.mark.parametrize("judges", [0, 2])
def test_groups_have_a_part_and_judges_against_people_a_table(judges):
    fit = planted([[[0.0] * 4], [[1.0, 0, 0, 0]]], spread=1, judges=range(judges), rope=0.25, group="region")
    fair = fairness(fit)
    found = model_of(fit, fair=fair)
    _, part = rater_parts(found)
    assert part.title == "Differential severity by region"
    assert part.words == tuple(fair.sentences(0.25, "categories"))
    words = ["Δφ compared with n, minus the mean of raters without a significant difference.",
             "Mean difference of judges minus humans."]  # fmt: skip
    assert [about for about, _ in part.frames] == words[: 2 if judges else 1]
    assert [picture for _, picture in part.pictures] == [found.plot_fairness]


@pytest.mark.parametrize(("checked", "modes", "shown"), [(0, 2, [2]), (12, 1, [1, 10]), (3, 2, [2, 3])])
def test_several_modes_or_chains_say_whether_the_fit_can_be_trusted(checked, modes, shown):
    rhat = pl.DataFrame(
        {"quantity": [f"q{k}" for k in range(checked)], "rhat": [1 + k / 100 for k in range(checked)]},
        schema={"quantity": pl.String, "rhat": pl.Float64},
    )
    several = {"mode": [*range(1, modes + 1)], "share": [1 / modes] * modes}
    optima = pl.DataFrame(several).with_columns(severity_apart=0.0, variability_apart=0.0)
    _, part = rater_parts(model_of(planted([[[0.0, 1.0]]]), checked=rhat, modes=optima))
    assert part.title == "Convergence"
    assert part.words == ("Do not use the fit if the local optima are far apart, or if the chains have not mixed.",)
    assert [frame.height for _, frame in part.frames] == shown
    assert part.frames[0][0] == "Local optima, and the largest differences of their φ and ψ from the best."
    if checked:
        assert part.frames[1][0] == "The ten largest R-hat."
        worst = [1 + k / 100 for k in range(checked)][::-1][:10]
        assert part.frames[1][1]["rhat"].to_list() == worst


def test_a_rasch_model_has_raters_criteria_and_two_pictures():
    found = facet_rasch_of()
    (part,) = rasch_parts(found)
    assert part.title == "Many-facet Rasch model"
    assert (part.words, part.cautions) == (found.sentences(), ("careful",))
    assert [about for about, _ in part.frames] == [
        "Severity λ in logits (above 0: severe); infit and outfit have expectation 1.", "Criteria."
    ]  # fmt: skip
    assert [picture for _, picture in part.pictures] == [found.plot, found.plot_map]
    assert part.lines == ("7", "note")
