"""Parts of a page about scores and raters: which sentences, tables and pictures each has."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from assay.psychometrics.page import d_study_parts, disattenuation_parts, g_study_parts, rasch_parts, rater_parts


def told(**more) -> SimpleNamespace:
    """What every result has: a sentence, a caution, a note, something left out, a picture."""
    return SimpleNamespace(
        sentences=lambda *_: ("said",), cautions=("careful",), notes=("note",), exclusions=(7,), plot="plot", **more
    )


ROWS = pl.DataFrame({"a": [1, 2]})


def test_a_g_study_has_coefficients_apart_from_variances():
    table = pl.DataFrame({
        "quantity": ["σ² of r", "Eρ²", "σ²", "Φ"], "estimate": [1.0, 2, 3, 4], "percent": [5.0, 6, 7, 8]
    })  # fmt: skip
    found = told(table=table, components=pl.DataFrame({"effect": ["r"]}), design="r x i", object="i")
    found.sentences = lambda: tuple(str(k) for k in range(100))
    (part,) = g_study_parts(found)
    assert part.title == "Generalizability: r x i, object i"
    assert part.words == (*(str(k) for k in range(80)), "careful")  # two for each of 40 studies
    (about, coefficients), (other, components) = part.frames
    assert about == "Reliability of a single score: Eρ² for comparing objects, Φ for absolute scores."
    assert coefficients.columns == ["quantity", "estimate"]
    assert coefficients["quantity"].to_list() == ["Eρ²", "Φ"]
    assert other == "Variance components."
    assert components["effect"].to_list() == ["r"]
    assert part.pictures == (("Variance by effect, in percent.", "plot"),)
    assert part.lines == ("7", "note")


@pytest.mark.parametrize(("studies", "columns"), [(["c", "c"], ["smallest"]), (["c", "d"], ["study", "smallest"])])
def test_a_d_study_names_its_studies_where_there_are_several(studies, columns):
    smallest = pl.DataFrame({"study": studies, "smallest": [1, 2]})
    found = told(smallest=smallest, projected=ROWS, along="r", target=0.75)
    (part,) = d_study_parts(found)
    assert part.title == "Projected reliability (D-study)"
    assert part.words == ("said", "careful")
    assert part.frames[0][0] == "Smallest number of r that reaches 0.75."
    assert part.frames[0][1].columns == columns
    assert part.frames[1][0] == "All combinations of numbers."
    assert part.pictures == (("Coefficient by the number of r.", "plot"),)
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
    each = [SimpleNamespace(families=pair) for pair in pairs]
    (part,) = disattenuation_parts(told(each=each, table=ROWS, reliabilities=ROWS, counted="objects"))
    assert part.title == title
    assert part.words == ("said", "careful")
    assert [about for about, _ in part.frames] == [
        "Observed and universe-score correlations.", "Reliability of a single score of each family."
    ]  # fmt: skip


def rater_model(fair=None, checked=0, modes=1) -> SimpleNamespace:
    rhat = pl.DataFrame({"quantity": [f"q{k}" for k in range(checked)], "rhat": [1 + k / 100 for k in range(checked)]},
                        schema={"quantity": pl.String, "rhat": pl.Float64})  # fmt: skip
    return told(
        rows=ROWS, plot_ideal="ideal", plot_fairness="unfair", fairness=fair, groups=None,
        diagnostics=SimpleNamespace(rows=rhat), modes=pl.DataFrame({"mode": range(modes)}),
        fitted=SimpleNamespace(rope=0.25), unit="points",
    )  # fmt: skip


def test_a_quick_fit_with_one_mode_has_one_part():
    (part,) = rater_parts(rater_model())
    assert part.title == "Severity and variability of raters, in points"
    assert part.words == ("said", "careful")
    assert [about for about, _ in part.frames] == [
        "Severity φ in points from the raters' mean (below 0: severe); variability ψ in points."
    ]
    assert [picture for _, picture in part.pictures] == ["plot", "ideal"]
    assert part.lines == ("7", "note")


@pytest.mark.parametrize("judges", [0, 2])
def test_groups_have_a_part_and_judges_against_people_a_table(judges):
    asked = []
    fair = SimpleNamespace(
        groups=("north", "south"), group="region", rows=ROWS, families=ROWS.head(judges),
        sentences=lambda rope, unit: asked.append((rope, unit)) or ["fair"],
    )  # fmt: skip
    _, part = rater_parts(rater_model(fair))
    assert part.title == "Differential severity by region"
    assert part.words == ("fair",)
    assert asked == [(0.25, "points")]
    words = ["Δφ compared with north, minus the mean of raters without a significant difference.",
             "Mean difference of judges minus humans."]  # fmt: skip
    assert [about for about, _ in part.frames] == words[: 2 if judges else 1]
    assert [picture for _, picture in part.pictures] == ["unfair"]


@pytest.mark.parametrize(("checked", "modes", "shown"), [(0, 2, [2]), (12, 1, [1, 10]), (3, 2, [2, 3])])
def test_several_modes_or_chains_say_whether_the_fit_can_be_trusted(checked, modes, shown):
    _, part = rater_parts(rater_model(checked=checked, modes=modes))
    assert part.title == "Convergence"
    assert part.words == ("Do not use the fit if the local optima are far apart, or if the chains have not mixed.",)
    assert [frame.height for _, frame in part.frames] == shown
    assert part.frames[0][0] == "Local optima, and the largest differences of their φ and ψ from the best."
    if checked:
        assert part.frames[1][0] == "The ten largest R-hat."
        worst = [1 + k / 100 for k in range(checked)][::-1][:10]
        assert part.frames[1][1]["rhat"].to_list() == worst


def test_a_rasch_model_has_raters_criteria_and_two_pictures():
    (part,) = rasch_parts(told(rows=ROWS, items=ROWS, plot_map="map"))
    assert part.title == "Many-facet Rasch model"
    assert [about for about, _ in part.frames] == [
        "Severity λ in logits (above 0: severe); infit and outfit have expectation 1.", "Criteria."
    ]  # fmt: skip
    assert [picture for _, picture in part.pictures] == ["plot", "map"]
    assert part.lines == ("7", "note")
