"""G-studies: what a table can tell, coefficients, groups, fixed facets, and the lessons of the CLASS table."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from tables import CLASS, FACETS, ITEMS, LESSONS, SEGMENTS, brennan, lessons, table

import assay
from assay.data.ratings import facet_ratings
from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimate
from assay.estimation.result import Run
from assay.psychometrics.components import Component, CriterionStudy
from assay.psychometrics.design import DesignSettings, GStudySettings, parse, resolve_confounding
from assay.psychometrics.g_study import GStudy, g_study

# -- coefficients -----------------------------------------------------------------------------------------
from assay.reporting.tables import estimated


def test_brennan_s_coefficients_of_one_score_by_hand():
    found = g_study(brennan(4), "p x (r:t)", "p", method="none")
    relative, absolute = 0.5596 + 2.3802, 0.3252 + 0.6475 + 0.5596 + 2.3802
    assert found.generalizability == pytest.approx(0.4731 / (0.4731 + relative), abs=1e-4)
    assert found.dependability == pytest.approx(0.4731 / (0.4731 + absolute), abs=1e-4)
    study = found.studies[0]
    assert study.relative_sem == pytest.approx(np.sqrt(relative), abs=1e-4)
    assert study.absolute_sem == pytest.approx(np.sqrt(absolute), abs=1e-4)
    assert sum(c.percent for c in study.components) == pytest.approx(100)


def test_a_fixed_facet_is_part_of_the_universe_score():
    """Brennan (2001), data set 4 with t fixed: p + pt/3 is the universe score, Eρ² .77 and Φ .72 for four raters."""
    found = g_study(brennan(4), "p x (r:t)", "p", fixed="t", method="none")
    row = found.d_study(r=4).projected
    assert row["estimate"].round(2).to_list() == [0.77, 0.72]
    assert found.generalizability > g_study(brennan(4), "p x (r:t)", "p", method="none").generalizability


def test_labels_multiplied_by_a_number_have_variances_of_its_square_and_the_same_coefficients():
    labels = lessons(10, 3, 3, missing=0.2, seed=8)
    rows = labels.labels.with_columns(
        teacher=labels.column("teacher"), lesson=labels.column("lesson"), label=3 * pl.col("label") + 1
    )
    one = g_study(labels, "r x (o:i)", "i", facets=FACETS, method="delta")
    other = g_study(assay.read(rows, scale="interval:-100-100"), "r x (o:i)", "i", facets=FACETS, method="delta")
    np.testing.assert_allclose(other.components["estimate"], 9 * one.components["estimate"], rtol=1e-4, atol=1e-7)
    for name in ("generalizability", "dependability"):
        mine, theirs = (getattr(x.studies[0], name) for x in (one, other))
        np.testing.assert_allclose(
            [mine.estimate, mine.low, mine.high], [theirs.estimate, theirs.low, theirs.high], rtol=2e-3
        )


# -- what the table can tell ------------------------------------------------------------------------------


def unreplicated():
    """Each lesson has one rater, who rates its segments: r x o:i is o:i, and segments are the residual."""
    rng = np.random.default_rng(1)
    rows = []
    for t in range(12):
        for k in range(4):
            rater, lesson = f"r{rng.integers(5)}", rng.normal()
            rows += [
                {"annotator": rater, "t": t, "o": k, "s": s, "label": 0.4 * t + lesson + rng.normal()} for s in range(3)
            ]
    return table(rows)


def test_confounded_effects_are_merged_and_named():
    facets = {"r": "annotator", "i": "t"}
    found = g_study(unreplicated(), "r x (s:o:i)", "i", facets=facets, method="none")
    assert "o:i,ro:i" in found.components["effect"].to_list()
    assert found.components["effect"][-1] == "s:o:i,rs:o:i,e"
    words = found.summary()
    assert "ro:i and o:i are confounded: 48 levels of o:i contain 48 levels of ro:i, 0 contrasts in total" in words
    assert "s:o:i is confounded with the residual: its 144 levels have 144 labels, 0 contrasts in total" in words
    with pytest.raises(DesignError, match=r"are confounded.*confounded='merge' merges them"):
        g_study(unreplicated(), "r x (s:o:i)", "i", facets=facets, confounded="refuse")


def test_least_contrasts_says_how_much_tells_two_effects_apart():
    """Two lessons have a second rater: enough where two differences are."""
    labels = unreplicated()
    rows = labels.labels.with_columns(**{c: labels.column(c) for c in "tos"})
    more = rows.filter((pl.col("o") == 0) & (pl.col("t") < 2)).with_columns(
        annotator=pl.lit("r9"), item=pl.col("item") + "b", label=pl.col("label") + pl.int_range(pl.len()) % 2
    )
    both = assay.read(pl.concat([rows, more]), scale="interval:-100-100")
    facets = {"r": "annotator", "i": "t"}
    strict = g_study(both, "r x (o:i)", "i", facets=facets, method="none")
    assert strict.components["effect"].to_list() == ["r", "i", "o:i,ro:i", "ri", "e"]
    full = g_study(both, "r x (s:o:i)", "i", facets=facets, method="none", least_contrasts=2)
    assert "ro:i" in full.components["effect"].to_list()
    assert "o:i,ro:i" in g_study(both, "r x (s:o:i)", "i", facets=facets, method="none").components["effect"].to_list()


def test_crossed_facets_that_are_nested_in_the_table_are_one_term():
    """Lessons written as crossed with teachers, where every teacher has separate lessons."""
    found = g_study(lessons(12, 3, 4, missing=0.2), "i x o x r", "i", facets=FACETS, method="none")
    assert "o,io" in found.components["effect"].to_list()


def test_a_facet_of_one_level_is_taken_out_and_said():
    one = lessons(15, 4, 1)
    found = g_study(one, "r x (o:i)", "i", facets=FACETS, method="none")
    assert found.components["effect"].to_list() == ["i", "o:i,e"]
    assert "r has one level and is removed from the design" in found.summary()
    with pytest.raises(DesignError, match="r has one level"):
        g_study(one, "r x (o:i)", "i", facets=FACETS, confounded="refuse")


@pytest.mark.slow
def test_confounded_object_has_no_coefficient():
    """One lesson a teacher: which of both varies cannot be known."""
    found = g_study(lessons(12, 1, 3, missing=0.2), "r x (o:i)", "i", facets=FACETS)
    assert np.isnan(found.generalizability)
    assert "the object's variance is confounded" in found.studies[0].generalizability.reason
    assert "Eρ² and Φ not estimable" in found.summary()
    assert found.d_study(o=[2]).projected["reason"].null_count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("n", "raters"), [(1, 3), (1, 1), (3, 3)])
def test_g_study_takes_lesson_one_of_each_teacher_for_another_lesson(n, raters):
    """Also if each teacher has one: lesson 1 is not the only lesson, and a teacher is not confounded with it."""
    labels = lessons(12 if n == 1 else 7, n, raters, missing=0.2 if raters > 1 else 0.0)
    named = labels.labels.select(
        "item", "annotator", "label", teacher=labels.column("teacher"), lesson=labels.column("lesson")
    )
    numbered = named.with_columns(pl.col("lesson").str.split("-").list.last())
    assert numbered["lesson"].n_unique() == n
    found, same = (
        g_study(assay.read(rows, scale="interval:-100-100"), "r x (o:i)", "i", facets=FACETS)
        for rows in (numbered, named)
    )
    assert found.table["quantity"].to_list() == same.table["quantity"].to_list()
    for column in ("estimate", "low", "high"):  # levels are summed in another order
        np.testing.assert_allclose(found.table[column].to_numpy(), same.table[column].to_numpy(), rtol=1e-9)
    assert np.isfinite(found.generalizability) == (n == 3)
    if raters == 1:
        assert found.studies[0].generalizability.reason.startswith("too few levels of i have two labels")


def two_by_two(*labels: float) -> assay.Annotations:
    rows = zip("aabb", "xyxy", labels, strict=True)
    return assay.read(pl.DataFrame(list(rows), schema=["item", "annotator", "label"], orient="row"), scale="interval")


CROSSED = {"design": "p x r", "object": "p", "facets": {"p": "item", "r": "annotator"}}
FEW = "2 levels of p have 1 difference, and 3 are needed at least"


def test_g_study_estimates_variances_of_two_objects_and_two_raters():
    # Labels 1, 2 of a and 3, 5 of b: mean 2.75, of objects 1.5 and 4, of raters 2 and 3.5.
    # SS_p = 2 (1.25² + 1.25²) = 6.25, SS_r = 2 (.75² + .75²) = 2.25, SS_total = 8.75, SS_pr = .25, each with 1 df.
    # pr,e = .25; p = (6.25 - .25) / 2 = 3; r = (2.25 - .25) / 2 = 1.
    found = g_study(two_by_two(1, 2, 3, 5), **CROSSED)
    assert found.components["effect"].to_list() == ["p", "r", "pr,e"]
    assert found.components["estimate"].to_list() == pytest.approx([3, 1, 0.25], abs=1e-6)
    wanted = [[1, 6.25, 3], [1, 2.25, 1], [1, 0.25, 0.25]]
    np.testing.assert_allclose(found.anova.select("df", "squares", "anova").to_numpy(), wanted)
    # One difference of objects shows neither how sure a variance is nor a coefficient; the residual has its interval.
    assert found.components["reason"].to_list() == [FEW, FEW, None]
    assert found.components["low"].is_nan().to_list() == [True, True, False]
    assert {found.studies[0].generalizability.reason, found.studies[0].dependability.reason} == {FEW}
    assert f"Eρ² and Φ not estimable: {FEW}." in found.summary()
    # With one contrast as the minimum: Eρ² = 3 / 3.25 and Φ = 3 / 4.25.
    asked = g_study(two_by_two(1, 2, 3, 5), **CROSSED, least_contrasts=1, method="none")
    assert (asked.generalizability, asked.dependability) == pytest.approx((3 / 3.25, 3 / 4.25), abs=1e-6)


@pytest.mark.parametrize("method", ["profile", "delta", "parametric", "objects"])
def test_g_study_has_no_interval_of_a_variance_with_two_objects(method):
    found = g_study(two_by_two(1, 2, 3, 5), **CROSSED, method=method, n_resamples=20)
    rows = found.components
    assert rows["estimate"].to_list() == pytest.approx([3, 1, 0.25], abs=1e-6)
    # Two objects drawn again say nothing of the residual either.
    assert rows["reason"].to_list() == [FEW, FEW, FEW if method == "objects" else None]


def test_g_study_of_two_nested_raters_by_hand():
    # Each object has raters of its own: p = (6.25 - 1.25) / 2 = 2.5, r:p,e = (.5 + 2) / 2 = 1.25.
    found = g_study(two_by_two(1, 2, 3, 5), "r:p", "p", facets=CROSSED["facets"], method="none")
    assert found.components["estimate"].to_list() == pytest.approx([2.5, 1.25], abs=1e-6)


@pytest.mark.parametrize("estimator", ["reml", "anova"])
def test_g_study_of_a_table_that_tells_nothing_apart_has_the_whole_variance(estimator):
    # Three of four cells: p and r have one label more than levels, so that all is one term with the variance
    # of 1, 2, 3: ((1 - 2)² + 0 + (3 - 2)²) / 2 = 1.
    rows = [("a", "x", 1), ("a", "y", 2), ("b", "x", 3)]
    labels = assay.read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), scale="interval")
    found = g_study(labels, **CROSSED, estimator=estimator, n_resamples=20)
    assert found.components["estimate"].to_list() == pytest.approx([1], abs=1e-6)
    (only,) = found.components["effect"]
    assert set(only.split(",")) == {"p", "r", "pr", "e"}
    assert found.studies[0].dependability.reason == FEW
    with pytest.raises(DesignError, match="p is confounded with the residual"):
        g_study(labels, **CROSSED, estimator=estimator, confounded="refuse")


def test_replicates_are_a_term():
    """Two labels a cell, 1 apart: ro:i is apart from error, whose variance is that of two numbers 1 apart."""
    labels = lessons(10, 3, 3)
    rows = labels.labels.with_columns(teacher=labels.column("teacher"), lesson=labels.column("lesson"))
    twice = assay.read(pl.concat([rows, rows.with_columns(item=pl.col("item") + "b", label=pl.col("label") + 1)]),
                       scale="interval:-100-100")  # fmt: skip
    found = g_study(twice, "r x (o:i)", "i", facets=FACETS, method="none")
    variances = dict(found.components.select("effect", "estimate").iter_rows())
    assert list(variances) == ["r", "i", "o:i", "ri", "ro:i", "e"]
    assert variances["e"] == pytest.approx(0.5)
    # All of them are in the error of one label; a mean over lessons and raters has less of each.
    study = found.studies[0]
    one = study.weights((), {"r": 3, "o": 4}, "careful")
    np.testing.assert_allclose(one.relative, [0, 0, 1 / 4, 1 / 3, 1 / 12, 1 / 12])
    without = g_study(twice, "r x (o:i)", "i", facets=FACETS, omit=["ro:i"], method="none")
    assert without.components["effect"].to_list() == ["r", "i", "o:i", "ri", "e"]
    few = pl.concat([rows, rows[:2].with_columns(item=pl.col("item") + "b")])
    told = g_study(assay.read(few, scale="interval:-100-100"), "r x (o:i)", "i", facets=FACETS, method="none")
    assert told.components["effect"][-1] == "ro:i,e"
    assert any("2 contrasts in total, too few to separate ro:i from error" in note for note in told.notes)


def test_omitted_effects_are_in_the_residual():
    labels = lessons(15, 3, 4)
    found = g_study(labels, "r x (o:i)", "i", facets=FACETS, omit=["ir"], method="none")
    assert found.components["effect"].to_list() == ["r", "i", "o:i", "ro:i,e"]
    with pytest.raises(DesignError, match="neither the object's effect nor the residual"):
        g_study(labels, "r x (o:i)", "i", facets=FACETS, omit=["i"])


# -- criteria and groups ----------------------------------------------------------------------------------


def criteria():
    rng = np.random.default_rng(3)
    rows = [
        {"item": f"p{p}", "p": p, "annotator": f"r{r}", "criterion": c, "label": float(np.clip(v, 1, 7))}
        for p, u in enumerate(rng.normal(size=25)) for r in range(4) for c in ("clear", "harsh")
        for v in [round(4 + (u if c == "clear" else -u) + 0.6 * rng.normal())]
    ]  # fmt: skip
    return assay.read(pl.DataFrame(rows), scale="1-7")


def test_each_criterion_has_its_study_and_all_together_where_it_is_a_facet():
    facets = {"r": "annotator"}
    found = g_study(criteria(), "r x p", "p", facets=facets, method="none")
    assert [s.criterion for s in found.studies] == ["clear", "harsh"]
    assert found["harsh"].generalizability.estimate > 0.3
    assert "|studies:2|" in found.signature
    with pytest.raises(DesignError, match=r"2 studies; take study\['clear'\]"):
        _ = found.generalizability
    facets["j"] = "criterion"
    opposed = g_study(criteria(), "j x r x p", "p", facets=facets, method="none")
    turned = g_study(criteria(), "j x r x p", "p", facets=facets, reverse=["harsh"], method="none")
    assert opposed.generalizability < 0.1 < 0.4 < turned.generalizability
    fixed = g_study(criteria(), "j x r x p", "p", facets=facets, reverse=["harsh"], fixed="j", method="none")
    assert fixed.generalizability > turned.generalizability


def test_people_and_judges_apart_and_together():
    labels = lessons(25, 3, 3, judges=3)
    apart = g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    assert [s.group for s in apart.studies] == ["human", "judge"]
    alone = g_study(labels, "r x (o:i)", "i", facets=FACETS, annotators=["h0", "h1", "h2"], method="none")
    assert apart["human"].generalizability.estimate == alone.generalizability
    together = g_study(labels, "r x (o:i)", "i", facets=FACETS, method="none")
    assert any("humans and judges are pooled as raters" in c for c in together.cautions)
    facets = {"f": "kind", **FACETS}
    random = g_study(labels, "(r:f) x (o:i)", "i", facets=facets, method="none")
    fixed = g_study(labels, "(r:f) x (o:i)", "i", facets=facets, fixed=["f"], method="none")
    assert "fi" in random.components["effect"].to_list()
    assert fixed.generalizability > random.generalizability


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("design", "measured", "more", "error", "words"),
    [
        ("r x (o:i)", "t", {}, DesignError, "object 't' is not in the design"),
        ("r x (o:i)", "i", {"facets": {**FACETS, "q": "lesson"}}, DesignError, "facet 'q' is not in the design"),
        ("r x (o:i)", "i", {"facets": {**FACETS, "o": "leson"}}, DataError, "did you mean 'lesson'"),
        ("r x (o:i)", "i", {"fixed": "i"}, DesignError, "'i' is the object of measurement"),
        ("r x (o:i)", "i", {"fixed": "q"}, DesignError, "fixed facet 'q'"),
        ("r x (o:i)", "i", {"fixed": ["r", "o"]}, DesignError, "every facet is fixed"),
        ("r x (o:i)", "i", {"estimator": "anova", "method": "profile"}, DesignError, "needs a likelihood"),
        ("r x (o:i)", "i", {"by": "kin"}, DataError, "did you mean 'kind'"),
        ("r x (o:i)", "i", {"reverse": ["x"]}, DesignError, "reverse='x' is not a criterion"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(design, measured, more, error, words):
    options = {"facets": FACETS, "method": "none", **more}
    with pytest.raises(error, match=words):
        g_study(lessons(8, 3, 3), design, measured, **options)


def test_labels_without_a_level_and_labels_that_are_no_numbers_are_refused():
    labels = lessons(5, 2, 3)
    rows = labels.labels.with_columns(
        teacher=labels.column("teacher"), lesson=pl.when(pl.int_range(pl.len()) > 2).then(labels.column("lesson"))
    )
    with pytest.raises(DataError, match="3 labels have no 'lesson', the facet o"):
        g_study(assay.read(rows, scale="interval:-100-100"), "r x (o:i)", "i", facets=FACETS)
    words = rows.with_columns(label=pl.lit("good"), lesson=labels.column("lesson"))
    with pytest.raises(DesignError, match="numeric labels"):
        g_study(assay.read(words, scale="nominal:good,bad"), "r x (o:i)", "i", facets=FACETS)


# -- intervals --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("method", [pytest.param("profile", marks=pytest.mark.slow), "delta", "parametric", "objects"])
def test_intervals_hold_their_estimates(method, missing):
    found = g_study(
        lessons(12, 3, 3, missing=missing, seed=6), "r x (o:i)", "i", facets=FACETS, method=method, n_resamples=20
    )
    rows = found.table.filter(pl.col("reason").is_null())
    assert rows.height >= 7
    assert (rows["low"] >= 0).all()
    eg = found.studies[0].generalizability
    assert 0 <= eg.low < eg.estimate < eg.high <= 1
    wide = g_study(
        lessons(12, 3, 3, missing=0.0, seed=6), "r x (o:i)", "i", facets=FACETS, method=method, n_resamples=20,
        confidence=0.99,
    ).studies[0].generalizability  # fmt: skip
    if not missing:
        assert wide.low <= eg.low
        assert wide.high > eg.high


@pytest.mark.slow
def test_a_large_unbalanced_table_has_intervals_by_the_delta_method(monkeypatch):
    monkeypatch.setattr("assay.psychometrics.components.MOST_PROFILED", 50)
    small = g_study(lessons(12, 3, 3, missing=0.2), "r x (o:i)", "i", facets=FACETS)
    assert "delta method" in small.summary()
    complete = g_study(lessons(12, 3, 3), "r x (o:i)", "i", facets=FACETS)
    assert "profile-likelihood" in complete.summary()


@pytest.mark.slow
@pytest.mark.parametrize("method", [pytest.param("profile", marks=pytest.mark.slow), "delta", "parametric"])
def test_every_number_answers_at_another_level_and_of_a_null(method):
    """The p-value at an end of an interval is 1 − level."""
    study = g_study(
        lessons(20, 3, 4, missing=0.1, seed=6), "r x (o:i)", "i", facets=FACETS, method=method, n_resamples=60
    ).studies[0]
    asked = {c.name: c.variance for c in study.components} | study.coefficients()
    for name, one in asked.items():
        assert one.interval(0.95) == pytest.approx((one.low, one.high), nan_ok=True), name
        low, high = one.interval(0.8)
        assert one.low < low < one.estimate < high < one.high, name
        assert one.p(one.estimate) == pytest.approx(1)
        if method != "parametric":
            assert [one.p(low), one.p(high)] == pytest.approx([0.2, 0.2], abs=2e-3), name
        assert np.isnan(one.p(0)) if method == "delta" else one.p(0) < one.p(low)
    assert study.components[0].variance.p(10.0) < 0.05
    with pytest.raises(DesignError, match="level must lie between 0 and 1"):
        study.generalizability.interval(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("method", [pytest.param("profile", marks=pytest.mark.slow), "delta", "parametric", "objects"])
def test_rows_at_another_level_are_those_of_asking_with_it(method):
    """Of the study's own table, and of other numbers of raters, whose level is the study's."""
    wide, narrow = (
        g_study(
            lessons(14, 3, 3, missing=0.1, seed=6), "r x (o:i)", "i", facets=FACETS, method=method, n_resamples=30,
            confidence=level,
        )
        for level in (0.95, 0.6)
    )  # fmt: skip
    for found, other in ((wide, narrow), (wide.d_study(r=[1, 2], o=[1, 5]), narrow.d_study(r=[1, 2], o=[1, 5]))):
        assert found.confidence == 0.95
        ends = np.array([one.interval(0.6) for one in found.row_estimates()])
        np.testing.assert_allclose(ends, other.table.select("low", "high").to_numpy(), rtol=1e-6, atol=1e-9)
        assert np.isfinite(ends).all(axis=1).sum() >= 7
    assert wide.interval(0.6, quantity="Φ") == wide.studies[0].dependability.interval(0.6)
    assert wide.d_study(r=[2]).p(0.5, coefficient="dependability") < 1


# -- real data --------------------------------------------------------------------------------------------

WITHOUT = {"CLPC", "CLNC", "CLTS", "CLRSP", "CLBM", "CLPRDT", "CLINSTD", "CLSTENG"}
"""Items in which five segments with two raters leave contrasts that are exactly 0."""

BY_LME4 = {
    # i, o:i, r, ri, residual, criterion: lmer(y ~ 1 + (1|i) + (1|i:o) + (1|r) + (1|r:i)), R 4.2.2, lme4 1.1-31, bobyqa
    "CLPC": (0.175915541, 0.544716372, 0.374346172, 0.011147544, 0.299077204, 13887.636945),
    "CLNC": (0.029224818, 0.088443863, 0.028079241, 0.000000000, 0.122702668, 7050.411337),
    "CLTS": (0.077470432, 0.342784127, 0.243933090, 0.029736629, 0.338228889, 13800.962849),
    "CLRSP": (0.079807119, 0.501642277, 0.319353035, 0.000000000, 0.442249847, 15467.855411),
    "CLBM": (0.185998166, 0.284786695, 0.164002966, 0.022385131, 0.310199465, 13317.308129),
    "CLPRDT": (0.053511025, 0.186358411, 0.240658181, 0.024682859, 0.261809469, 11850.463079),
    "CLILF": (0.044457931, 0.211267305, 0.195876539, 0.040106989, 0.341728484, 13308.911281),
    "CLCU": (0.035380326, 0.203200431, 0.307987452, 0.077897874, 0.358215979, 13633.626976),
    "CLAPS": (0.045162812, 0.370087105, 0.404127107, 0.000000000, 0.384508510, 14372.316425),
    "CLQF": (0.098383050, 0.373876365, 0.323528601, 0.001525972, 0.395212573, 14606.157886),
    "CLINSTD": (0.087867700, 0.346330048, 0.355384461, 0.008496241, 0.424462428, 14881.651462),
    "CLSTENG": (0.062405692, 0.219037588, 0.275797450, 0.027096145, 0.282078810, 12422.767435),
}


@pytest.fixture(scope="module")
def observed():
    if not CLASS.exists():
        pytest.skip(f"the CLASS table is not at {CLASS}")
    return assay.read(CLASS, item=["NCTETID", "OBSID", "CHAPNUM"], annotator="RATERID", label=list(ITEMS), scale="1-7")


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("items", [("CLPC", "CLNC"), pytest.param(ITEMS, marks=pytest.mark.slow)], ids=["two", "all"])
def test_lessons_of_teachers_are_fitted_as_by_lme4(observed, items):
    found = g_study(observed.where(criterion=list(items)), "r x (o:i)", "i", facets=LESSONS, method="none")
    for item in items:
        *wanted, criterion = BY_LME4[item]
        mine = {c.name: c.variance.estimate for c in found[item].components}
        # Two lessons have two raters, so that ro:i is a part of o:i; segments are replicates.
        values = [mine[n] for n in ("i", "o:i,ro:i", "r", "ri", "e")]
        np.testing.assert_allclose(values, wanted, rtol=1e-3, atol=1e-5, err_msg=item)
        assert abs(found[item].deviance - criterion) < 1e-4, item
    assert found["CLPC"].generalizability.estimate == pytest.approx(0.171, abs=5e-4)
    assert found["CLPC"].dependability.estimate == pytest.approx(0.125, abs=5e-4)


@pytest.mark.slow
@pytest.mark.real_data
def test_segments_without_solution_have_a_reason(observed):
    design, settings = parse("r x (s:o:i)"), DesignSettings(design="r x (s:o:i)", object="i")
    told = set()
    for item in ITEMS:
        rows = facet_ratings(observed.where(criterion=item), SEGMENTS)
        found = resolve_confounding(design, rows.value, rows.codes, settings)
        if any("have no solution" in c for c in found.cautions):
            told.add(item)
        last = "s:o:i,rs:o:i,e" if item in WITHOUT else "rs:o:i,e"
        assert found.terms[-1].name == last
    assert told == WITHOUT
    with pytest.raises(DesignError, match="ro:i and o:i are confounded: 1,710 levels of o:i contain 1,712"):
        g_study(observed.where(criterion="CLPC"), "r x (s:o:i)", "i", facets=SEGMENTS, confounded="refuse")


@pytest.mark.slow
@pytest.mark.real_data
def test_where_five_segments_tell_something_it_is_fitted_as_by_lme4(observed):
    found = g_study(observed.where(criterion="CLAPS"), "r x (s:o:i)", "i", facets=SEGMENTS, method="none").studies[0]
    apart = {c.name: c.variance.estimate for c in found.components}
    # lme4: s:o:i .255448277, residual .129263080, criterion 14371.288294
    assert apart["s:o:i"] == pytest.approx(0.255448277, rel=1e-3)
    assert apart["rs:o:i,e"] == pytest.approx(0.129263080, rel=1e-3)
    assert abs(found.deviance - 14371.288294) < 1e-3
    told = g_study(observed.where(criterion="CLPC"), "r x (s:o:i)", "i", facets=SEGMENTS, method="none")
    # With the segment in the residual it is the study of lessons.
    assert abs(told.studies[0].deviance - BY_LME4["CLPC"][-1]) < 1e-4
    assert "5 of 6,180 levels of s:o:i have more than one label" in told.summary()


@pytest.mark.parametrize(("fewer", "remark"), [((), "c1, c2: {}"), (("c2",), "c1: {}")])
def test_a_remark_is_made_once_with_the_studies_that_it_is_about(fewer, remark):
    """One rater is a remark about each criterion with one; two studies have two."""
    rows = [{"item": f"i{i}", "annotator": a, "criterion": c, "label": (i * (2 + k) + len(c)) % 5 + 1}
            for i in range(6) for k, a in enumerate("ab") for c in ("c1", "c2") if a == "a" or c in fewer]  # fmt: skip
    options = {"facets": {"p": "item", "r": "annotator"}, "method": "none"}
    labels = assay.read(pl.DataFrame(rows), scale="1-5")
    found = g_study(labels, "p x r", "p", **options)
    said = [one for one in found.run.cautions if one.startswith("c")]
    (alone,) = g_study(labels.where(criterion="c1"), "p x r", "p", **options).run.cautions
    assert said == [remark.format(alone)]


@pytest.mark.parametrize(
    ("criteria", "by", "kept"),
    [("a", None, []), ("ab", None, ["criterion"]), ("ab", "kind", ["criterion", "group"]), ("a", "kind", ["group"])],
)
def test_columns_of_criteria_and_groups_are_optional(criteria, by, kept):
    rows = [{"item": f"i{i}", "annotator": a, "criterion": c, "label": (i * (2 + k) + ord(c)) % 5 + 1}
            for i in range(6) for k, a in enumerate(("h", "g", "m0", "m1")) for c in criteria]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), judges=["m0", "m1"], scale="1-5")
    found = g_study(labels, "p x r", "p", facets={"p": "item", "r": "annotator"}, by=by, method="none")
    assert [c for c in found.table.columns if c in ("criterion", "group")] == kept
    assert found.table.height == len(found.studies) * 7  # three variances, two coefficients and two errors


CRITERIA = assay.read(
    pl.DataFrame([{"item": i, "annotator": a, "criterion": c, "label": 1 + (k * k + ord(i)) % 3}
                  for k, (i, a, c) in enumerate((i, a, c) for i in "xyz" for a in ("h", "gpt") for c in ("c1", "c2"))]),
    judges=["gpt"], scale="1-3",
)  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "by", "parts"),
    [
        ({"p": "item", "r": "annotator"}, None, [("c1", None, 6), ("c2", None, 6)]),
        ({"p": "item", "r": "annotator"}, "criterion", [("c1", None, 6), ("c2", None, 6)]),
        ({"p": "item", "r": "criterion"}, None, [(None, None, 12)]),
        ({"p": "item", "r": "criterion"}, "criterion", [("c1", None, 6), ("c2", None, 6)]),
        ({"p": "item", "r": "criterion"}, "kind", [(None, "human", 6), (None, "judge", 6)]),
        ({"p": "item", "r": "annotator"}, "kind",
         [("c1", "human", 3), ("c1", "judge", 3), ("c2", "human", 3), ("c2", "judge", 3)]),
    ],
)  # fmt: skip
def test_studies_are_of_each_criterion_and_group_that_the_design_does_not_hold(columns, by, parts):
    repeats = "mean" if "criterion" in columns.values() else "error"
    found = g_study(CRITERIA, "p x r", "p", facets=columns, by=by, repeats=repeats, method="none")
    assert [(s.criterion, s.group) for s in found.studies] == [(c, g) for c, g, _ in parts]


def test_one_criterion_alone_is_no_part():
    one = CRITERIA.where(criterion="c1")
    (found,) = g_study(one, "p x r", "p", facets={"p": "item", "r": "annotator"}, annotators=["h"],
                       method="none").studies  # fmt: skip
    assert (found.criterion, found.group, found.n_labels) == (None, None, 3)


def test_a_criterion_that_cannot_be_studied_is_excluded_once():
    rows = [{"item": f"i{i}", "annotator": a, "criterion": c, "label": (i * (1 + 2 * k)) % 5 + 1 if c == "c1" else 3}
            for i in range(8) for k, a in enumerate("abc") for c in ("c1", "c2")]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), scale="1-5")
    found = g_study(labels, "p x r", "p", facets={"p": "item", "r": "annotator"}, method="none")
    assert [study.criterion for study in found.studies] == ["c1"]
    (excluded,) = found.run.exclusions
    assert (excluded.what, excluded.count, excluded.names) == ("study", 1, ("c2",))
    assert excluded.reason.startswith("all labels are equal")


# -- sentences, from given studies ---------------------------------------------------------------------------


def study_of(name=None, g=0.8, d=0.6, why=None, lone=(), zero=()) -> CriterionStudy:
    """Half of the variance of r, the rest of i and ri; errors of 1.5 and 1.25."""
    percents = (("r", 50.4), ("i", 30.0), ("ri,e", 19.6))
    unknown = Estimate(np.nan, np.nan, np.nan, np.nan, None)
    return CriterionStudy(
        criterion=name, group=None, n_labels=12, levels={"r": 3, "i": 4},
        components=tuple(Component(n, unknown, percent, 3, None, n in zero, 0.0) for n, percent in percents),
        generalizability=Estimate(g, g - 0.1, g + 0.1, 0.05, why),
        dependability=Estimate(d, d - 0.1, d + 0.1, 0.05, "why not"),
        relative_error=dataclasses.replace(unknown, estimate=1.25**2),
        absolute_error=dataclasses.replace(unknown, estimate=1.5**2), balanced=True, converged=True, deviance=0.0,
        cautions=(), notes=(), uncertainty=None, lone=lone,
    )  # fmt: skip


def study_with(*studies, interval="") -> GStudy:
    settings = GStudySettings("r x i", "i")
    return GStudy("r x i", "i", (), studies, Run("g-study", settings, "data", interval=interval))


def told_of(*studies) -> tuple[str, ...]:
    return study_with(*studies).sentences()


def test_a_study_is_said_with_its_coefficients_errors_and_largest_variance():
    eight, six = estimated(0.8, 0.7, 0.9, 3), estimated(0.6, 0.5, 0.7, 3)
    assert eight.startswith("0.800 ")
    words = f"Single score: Eρ² = {eight}, Φ = {six}. SEM: absolute 1.50, relative 1.25. Largest component: r (50%)."
    assert told_of(study_of()) == (words,)
    assert told_of(study_of("c1", zero=("i", "ri,e"))) == (
        f"c1: {words}", "c1: i, ri,e: estimated as 0 (boundary)."
    )  # fmt: skip
    assert told_of(study_of(zero=("i",)))[1] == "i: estimated as 0 (boundary)."


def test_a_study_without_a_coefficient_has_its_reason():
    assert told_of(study_of("c1", g=np.nan, why="few", zero=("i",))) == ("c1: Eρ² and Φ not estimable: few.",)
    # A reason for a missing interval does not remove the coefficient.
    assert told_of(study_of(why="no interval"))[0].startswith("Single score: Eρ² = 0.800 ")


def test_a_single_rater_has_its_consistency_alone():
    found = told_of(study_of("gpt", lone=("r (gpt)",), zero=("i",)), study_of("c2"))
    assert found[0] == (
        f"gpt: Single score: Eρ² = {estimated(0.8, 0.7, 0.9, 3)}. Eρ² describes the consistency of r (gpt) alone; Φ is "
        "not estimable: why not. SEM: relative 1.25. Largest component: r (50%)."
    )
    assert found[1].startswith("c2: Single score: Eρ² = ")
    assert len(found) == 2


@pytest.mark.parametrize("interval", ["", "95% how"])
def test_a_summary_says_the_design_first_and_how_intervals_are_made(interval):
    found = study_with(study_of(), interval=interval)
    lines = found.summary().split("\n")
    assert lines[0] == "r x i, object i."
    assert lines[2:] == [*(["95% how."] if interval else []), found.signature]
    assert (found.generalizability, found.dependability) == (0.8, 0.6)
    bars = found.plot()
    assert [round(p.get_width(), 1) for p in bars.patches if p.get_width()] == [50.4, 30, 19.6]


# -- facets that are fixed, and names that occur twice -----------------------------------------------------


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        (("q",), "fixed facet 'q' is not in the design"),
        (("o", "i"), "'i' is the object of measurement and cannot be fixed; fix a facet of the conditions"),
        (("r", "o"), "every facet is fixed, so that there is no error variance; leave at least one facet random"),
        (("o",), None),
        ((), None),
    ],
)
def test_facets_that_may_be_fixed(fixed, words):
    labels = lessons(6, 2, 3, seed=1)
    if words is None:
        assert g_study(labels, "r x (o:i)", "i", facets=FACETS, fixed=fixed, method="none").fixed == fixed
        return
    with pytest.raises(DesignError, match=words):
        g_study(labels, "r x (o:i)", "i", facets=FACETS, fixed=fixed, method="none")


@pytest.mark.parametrize(("lessons_named", "said"), [([0, 1, 0, 1], True), ([0, 1, 2, 3], False), ([0, 1, 1, 2], True)])
def test_names_within_several_teachers_are_reported(lessons_named, said):
    """Two lessons of each of two teachers, and of two more whose lessons have names of their own."""
    names = [f"l{k}" for k in lessons_named] + ["l7", "l8", "l9", "l10"]
    rows = [{"i": f"t{k // 2}", "o": name, "annotator": a, "label": (k * (2 + n) + n) % 5 + n}
            for k, name in enumerate(names) for n, a in enumerate("ab")]  # fmt: skip
    found = g_study(table(rows), "r x (o:i)", "i", facets={"r": "annotator"}, method="none")
    words = "ids of o repeat across i and are treated as different levels of o"
    assert [note for note in found.run.notes if "repeat across" in note] == ([words] if said else [])


@pytest.mark.parametrize(
    ("annotators", "prompts", "wanted"),
    [("g", "pqr", True), ("g", "ppp", False), ("g", "pq-", False), ("gh", "pqr", False), ("g", "pq", True)],
)
def test_prompts_of_one_annotator_serve_as_raters(annotators, prompts, wanted):
    rows = [{"item": f"i{i}", "annotator": a, "prompt": None if c == "-" else c, "label": (i * (2 + k)) % 5 + 1}
            for i in range(6) for a in annotators for k, c in enumerate(dict.fromkeys(prompts))]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), judges=list(annotators), scale="1-5", conditions=["prompt"])
    options = {"facets": {"p": "item", "r": "annotator"}, "method": "none"}
    if not wanted and len(set(prompts)) > 1:  # they are no raters, and labels under several prompts are not one design
        with pytest.raises(DesignError, match="several values of 'prompt'"):
            g_study(labels, "p x r", "p", **options)
        return
    found = g_study(labels, "p x r", "p", **options)
    said = [one for one in found.run.cautions if "is the only annotator" in one]
    assert found.studies[0].levels["r"] == (len(prompts) if wanted else len(annotators))
    if wanted:
        assert said[0].startswith(
            f"g is the only annotator: the {len(prompts)} values of its 'prompt' are the levels of r"
        )
    else:
        assert said == []


@pytest.mark.parametrize(("repeats", "stands"), [("error", True), ("mean", False)])
def test_repeats_of_one_annotator_serve_as_raters_by_default(repeats, stands):
    rows = [{"item": f"i{i}", "annotator": "g", "repeat": k, "label": (i * (2 + k)) % 5 + 1}
            for i in range(6) for k in (1, 2)]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), scale="1-5")
    found = g_study(labels, "p x r", "p", facets={"p": "item", "r": "annotator"}, repeats=repeats, method="none")
    assert found.studies[0].levels["r"] == (2 if stands else 1)
    assert any("values of its 'repeat' are the levels of r" in one for one in found.run.cautions) == stands


def test_remarks_of_criteria_and_kinds_are_divided_by_semicolons():
    """One judge and three people on two criteria: the study of the judge has one rater on each."""
    rng = np.random.default_rng(1)
    rows = [
        {"item": f"i{k}", "annotator": who, "kind": "judge" if who == "m" else "human", "criterion": c,
         "label": int(rng.integers(1, 6))}
        for k in range(30) for who in ("a", "b", "c", "m") for c in ("content", "language")
    ]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), judges=["m"], scale="1-5")
    found = assay.g_study(labels, "i x r", "i", facets={"i": "item", "r": "annotator"}, by="kind")
    assert any(one.startswith("content, judge; language, judge: r has one level") for one in found.cautions)
