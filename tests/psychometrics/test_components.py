"""Variance components: published tables, lme4, two methods, the bound, and what has no solution.

Figures of lme4 are of version 1.1-31 (Debian's r-cran-lme4), ``lmer`` with the optimiser bobyqa, on the tables that
`tables` makes.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from tables import FACETS, brennan, lessons, table

import references
from assay.errors import DesignError
from assay.estimation.intervals import Estimate, EstimateByRule
from assay.psychometrics.components import (
    CriterionStudy,
    DesignStudies,
    Fitted,
    RootEstimate,
    VarianceEstimate,
    delta_interval,
    fit_components,
    uncertainty,
)
from assay.psychometrics.design import DesignSettings, parse
from assay.psychometrics.g_study import g_study
from assay.statistics.components.blocks import Balanced, Blocks, Terms, anova, cross_codes, sequential_squares
from assay.statistics.components.reml import Ratio, fit, profile

# -- published ----------------------------------------------------------------------------------------

PUBLISHED = [
    (1, "p x i", {"p": 0.0574, "i": 0.0754, "pi,e": 0.1269}),
    (2, "i:p", {"p": 0.6108, "i:p,e": 2.0250}),
    (
        3,
        "p x i x o",
        {"p": 0.5528, "i": 0.4417, "o": 0.0074, "pi": 0.5750, "po": 0.1009, "io": 0.1565, "pio,e": 0.9352},
    ),
    (4, "p x (r:t)", {"p": 0.4731, "t": 0.3252, "r:t": 0.6475, "pt": 0.5596, "pr:t,e": 2.3802}),
]
"""Brennan (2001), synthetic data sets 1 to 4: estimated variance components."""


@pytest.mark.parametrize(("number", "design", "wanted"), PUBLISHED)
@pytest.mark.parametrize("estimator", ["reml", "anova"])
def test_brennan_s_components(number, design, wanted, estimator):
    study = g_study(brennan(number), design, "p", method="none", estimator=estimator).studies[0]
    assert study.balanced
    found = {c.name: c.variance.estimate for c in study.components}
    assert found.keys() == wanted.keys()
    assert all(abs(found[name] - value) <= 0.5001e-4 for name, value in wanted.items()), found


# -- lme4 ---------------------------------------------------------------------------------------------

LME4 = [
    # i, o:i, r, ri, residual; the criterion
    ({"seed": 3, "missing": 0.4}, "reml",
     (0.546607099, 0.413534073, 0.086016046, 0.087151962, 0.504692729), 1360.031949),
    ({"seed": 3, "missing": 0.4}, "ml", (0.536946799, 0.413413583, 0.075353677, 0.087252031, 0.504720862), 1358.486047),
    ({"seed": 4, "missing": 0.4, "variances": (0.4, 0.3, 0.2, 0, 0.5), "n": 15, "per": 3}, "reml",
     (0.484857074, 0.245823168, 0.061698345, 0.0, 0.572805638), 368.535487),
    ({"seed": 4, "missing": 0.4, "variances": (0.4, 0.3, 0.2, 0, 0.5), "n": 15, "per": 3}, "ml",
     (0.452632098, 0.242762524, 0.055390504, 0.0, 0.574415370), 367.437945),
]  # fmt: skip


@pytest.mark.parametrize(("how", "estimator", "wanted", "criterion"), LME4)
def test_unbalanced_tables_are_fitted_as_by_lme4(how, estimator, wanted, criterion):
    study = g_study(lessons(**how), "r x (o:i)", "i", facets=FACETS, estimator=estimator, method="none").studies[0]
    assert not study.balanced
    found = {c.name: c.variance.estimate for c in study.components}
    np.testing.assert_allclose([found[n] for n in ("i", "o:i", "r", "ri", "ro:i,e")], wanted, rtol=1e-3, atol=1e-5)
    assert abs(study.deviance - criterion) < 1e-4


def test_a_crossed_table_with_missing_cells_is_fitted_as_by_lme4():
    rng = np.random.default_rng(11)
    p, i, o = rng.normal(size=20) * 0.8, rng.normal(size=6) * 0.5, rng.normal(size=5) * 0.3
    pi, po, io = rng.normal(size=(20, 6)) * 0.4, rng.normal(size=(20, 5)) * 0.3, rng.normal(size=(6, 5)) * 0.2
    rows = []
    for a in range(20):
        for b in range(6):
            for c in range(5):
                value = p[a] + i[b] + o[c] + pi[a, b] + po[a, c] + io[b, c] + rng.normal() * 0.7
                if rng.random() < 0.6:
                    rows.append({"annotator": "a", "p": a, "i": b, "o": c, "label": round(float(value), 3)})
    study = g_study(table(rows), "p x i x o", "p", method="none").studies[0]
    found = {c.name: c for c in study.components}
    wanted = {"p": 0.368728274, "i": 0.197940472, "o": 0.053233312, "pi": 0.161625247, "po": 0.0, "io": 0.058211759,
              "pio,e": 0.559588534}  # fmt: skip
    np.testing.assert_allclose([found[n].variance.estimate for n in wanted], [*wanted.values()], rtol=1e-3, atol=1e-5)
    assert abs(study.deviance - 994.067497) < 1e-4
    assert found["po"].at_zero
    assert not found["pi"].at_zero


# -- two methods --------------------------------------------------------------------------------------


def coded(labels, facets=FACETS):
    names = {f: labels.column(c).rank("dense").to_numpy().astype(np.int64) - 1 for f, c in facets.items()}
    return labels.labels["label"].to_numpy().astype(float), names


def dense_deviance(terms: Terms, theta, restricted=True) -> float:
    return references.deviance(terms.value, terms.codes, theta, restricted)


@pytest.mark.slow
@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("most_dense", [1500, 0], ids=["dense", "sparse"])
def test_blocks_give_the_deviance_and_slope_of_the_whole_matrix(restricted, most_dense):
    value, c = coded(lessons(12, 3, 4, missing=0.35, seed=1))
    # Two labels of some cells.
    value = np.concatenate([value, value[:20] + 0.3])
    c = {f: np.concatenate([x, x[:20]]) for f, x in c.items()}
    codes = [
        cross_codes(c["i"])[0],
        cross_codes(c["i"], c["o"])[0],
        cross_codes(c["r"])[0],
        cross_codes(c["i"], c["r"])[0],
    ]
    terms = Terms(value, tuple(codes))
    blocks = Blocks.of(terms, restricted, most_dense)
    theta = np.array([0.3, 0.2, 0.15, 0.1, 0.4])
    assert blocks.deviance(theta) == pytest.approx(dense_deviance(terms, theta, restricted), abs=1e-8)
    assert blocks.deviance(np.zeros(5)) == np.inf, "a search may come there, and nothing overflows"
    gradient, information = blocks.derivatives(theta)
    for k in range(5):
        step = np.eye(5)[k] * 1e-5
        slope = (
            dense_deviance(terms, theta + step, restricted) - dense_deviance(terms, theta - step, restricted)
        ) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=2e-3)
    assert (np.linalg.eigvalsh(information) > 0).all()
    # Raters reach across blocks; where their variance is 0, the slope is that to one side.
    theta[2] = 0.0
    up = theta + np.eye(5)[2] * 1e-6
    slope = (dense_deviance(terms, up, restricted) - dense_deviance(terms, theta, restricted)) / 1e-6
    assert blocks.derivatives(theta)[0][2] == pytest.approx(slope, rel=2e-3, abs=2e-2)


def test_a_complete_table_has_the_same_fit_in_blocks_and_from_mean_squares():
    value, c = coded(lessons(20, 3, 4, seed=2))
    settings = DesignSettings(design="r x (o:i)", object="i")
    fitted = fit_components(parse("r x (o:i)"), value, c, settings)
    assert isinstance(fitted.likelihood, Balanced)
    blocks = Blocks.of(fitted.terms)
    theta = np.array([0.2, 0.1, 0.3, 0.05, 0.4])
    assert blocks.deviance(theta) == pytest.approx(fitted.likelihood.deviance(theta), abs=1e-7)
    np.testing.assert_allclose(blocks.derivatives(theta)[0], fitted.likelihood.derivatives(theta)[0], rtol=1e-8)
    again = fit(blocks, [np.full(5, 0.2)])
    np.testing.assert_allclose(again.theta, fitted.theta, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(anova(fitted.terms), fitted.likelihood.anova(), rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_grid_is_likelier_than_the_fit(seed):
    """Bounds and all: nothing near the fit, and nothing on the faces, has a lower deviance."""
    value, c = coded(lessons(8, 3, 3, variances=(0.2, 0.0, 0.1, 0.0, 0.5), missing=0.2, seed=seed))
    fitted = fit_components(parse("r x (o:i)"), value, c, DesignSettings(design="r x (o:i)", object="i"))
    assert fitted.fit is not None
    assert fitted.fit.converged
    rng = np.random.default_rng(seed)
    for scale in (0.001, 0.02, 0.3, 1.0):
        for _ in range(40):
            other = np.maximum(fitted.theta + rng.normal(size=5) * scale * fitted.theta.max(), 0.0)
            other[-1] = max(other[-1], 1e-3)
            assert fitted.likelihood.deviance(other) >= fitted.fit.deviance - 1e-7


# -- the bound ------------------------------------------------------------------------------------------


def negative():
    """Items that vary less than chance: the analysis of variance gives them a variance below 0."""
    rows = [
        {"annotator": f"r{r}", "p": p, "label": (r + p) % 3 + 0.1 * p * (r == 0)} for p in range(6) for r in range(3)
    ]
    return table(rows)


def test_negative_variance_is_reported_by_each_estimator():
    reml = g_study(negative(), "p x r", "p", facets={"r": "annotator"})
    assert reml.studies[0].components[0].at_zero
    assert reml.generalizability == 0
    assert "p, r: estimated as 0 (boundary)" in reml.summary()
    anova = g_study(negative(), "p x r", "p", facets={"r": "annotator"}, estimator="anova", n_resamples=40)
    assert anova.studies[0].components[0].raw < 0
    assert anova.generalizability == 0
    assert any("negative ANOVA estimates set to 0: p (−" in note for note in anova.notes)


@pytest.mark.slow
def test_a_bound_ends_where_the_likelihood_ends():
    """Profile of a balanced one-way table against the exact criterion, by a fine grid."""
    rng = np.random.default_rng(5)
    rows = [{"annotator": "a", "p": p, "i": k, "label": u + e} for p, u in enumerate(rng.normal(size=15))
            for k, e in enumerate(rng.normal(size=4))]  # fmt: skip
    study = g_study(table(rows), "i:p", "p")
    fitted = study.studies[0].fitted.fit
    low, high = study.studies[0].components[0].variance.low, study.studies[0].components[0].variance.high
    for end in (low, high):
        least = min(fitted.likelihood.deviance(np.array([end, e])) for e in np.linspace(0.4, 2.5, 4001))
        assert least - fitted.deviance == pytest.approx(4.6001, abs=0.03)  # t with 14 degrees of freedom, squared
    ends = profile(fitted, Ratio(np.array([1.0, 0.0])), 0.5)
    assert low < ends[0] < ends[1] < high


@pytest.mark.slow
def test_the_lower_end_is_0_or_above():
    """Of few raters in a small complete table, where the likelihood at 0 is nearly that of the fit."""
    for seed in range(2):
        found = g_study(lessons(8, 2, 3, seed=seed), "r x (o:i)", "i", facets=FACETS, confidence=0.99)
        rows = found.table.filter(found.table["reason"].is_null())
        assert (rows["low"] >= 0).all()
        assert (rows["low"] < rows["high"]).all()


def test_a_table_whose_objects_hold_one_label_each_has_no_solution():
    rows = [{"annotator": "a", "p": p, "i": k, "label": p} for p in range(5) for k in range(3)]
    with pytest.raises(DesignError, match="labels of each object are all equal"):
        g_study(table(rows), "i:p", "p")
    with pytest.raises(DesignError, match="all labels are equal"):
        g_study(table([{**row, "label": 1} for row in rows]), "i:p", "p")


# -- how sure -------------------------------------------------------------------------------------------


def test_a_delta_interval_is_symmetric_in_log_odds_or_in_logs_by_dense_matrices():
    """Var(θ) = 2 AI⁻¹, the slope of each quantity by differences, ends on the logit and the log scale by hand."""
    labels = lessons(10, 3, 4, missing=0.25, seed=6)
    found = g_study(labels, "r x (o:i)", "i", facets=FACETS, method="delta", confidence=0.9).studies[0]
    theta, terms = found.fitted.theta, found.fitted.terms
    assert (theta > 0).all()
    variance = 2 * np.linalg.inv(references.average_information(terms.value, terms.codes, theta))
    names = [t.name for t in found.fitted.confounding.terms]

    def shares(t):
        v = dict(zip(names, t, strict=True))
        relative, absolute = v["ri"] + v["o:i"] + v["ro:i,e"], v["r"] + v["ri"] + v["o:i"] + v["ro:i,e"]
        return v["i"] / (v["i"] + relative), v["i"] / (v["i"] + absolute)

    for k, quantity in enumerate((found.generalizability, found.dependability)):
        steps = np.eye(5) * 1e-6
        slope = np.array([(shares(theta + s)[k] - shares(theta - s)[k]) / 2e-6 for s in steps])
        error = np.sqrt(slope @ variance @ slope)
        share = shares(theta)[k]
        assert quantity.estimate == pytest.approx(share)
        assert quantity.standard_error == pytest.approx(error, rel=1e-5)
        # d logit(p) = dp / (p (1 − p)); the 95% point of the normal is 1.6449.
        half = 1.6448536 * error / (share * (1 - share))
        ends = [np.log(share / (1 - share)) + sign * half for sign in (-1, 1)]
        assert [quantity.low, quantity.high] == pytest.approx([1 / (1 + np.exp(-end)) for end in ends], rel=1e-5)
    for k, component in enumerate(found.components):
        value, error = theta[k], np.sqrt(variance[k, k])
        one = component.variance
        assert one.standard_error == pytest.approx(error, rel=1e-5)
        wide = 1.6448536 * error / value
        assert [one.low, one.high] == pytest.approx([value * np.exp(-wide), value * np.exp(wide)], rel=1e-5)


@pytest.mark.slow
def test_drawn_tables_have_the_covariance_that_they_are_drawn_from():
    """Cell means of 6,000 drawn tables: their covariance is V, with the residual over the labels of each cell."""
    value, c = coded(lessons(4, 2, 3, seed=1))
    value, c = np.concatenate([value, value[:9]]), {f: np.concatenate([x, x[:9]]) for f, x in c.items()}
    codes = (
        cross_codes(c["i"])[0],
        cross_codes(c["r"])[0],
        cross_codes(c["i"], c["r"])[0],
        cross_codes(c["i"], c["o"], c["r"])[0],
    )
    blocks = Blocks.of(Terms(value, codes))
    theta = np.array([0.9, 0.4, 0.25, 0.1, 0.6])
    rng = np.random.default_rng(2)
    drawn = [blocks.simulate(theta, rng) for _ in range(6000)]
    cells = [list(code) for code in blocks.codes]
    wanted = references.covariance(cells, [*theta[:-1], 0.0]) + np.diag(theta[-1] / blocks.number)
    seen = np.cov(np.array([one.mean for one in drawn]).T)
    # The standard error of a covariance of 6,000 is at most √(2 / 6000) · 2 = .037.
    np.testing.assert_allclose(seen, wanted, atol=0.16)
    assert np.abs(seen - wanted).mean() < 0.04
    # Nine labels are second ones of their cell: the squares within are θ_e χ² with nine degrees of freedom.
    assert blocks.n - len(blocks.mean) == 9
    assert np.mean([one.inside for one in drawn]) == pytest.approx(9 * 0.6, rel=0.02)


# -- scores and the analysis of variance ----------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_scores_are_the_mixed_model_equations_solution(missing):
    """Henderson's equations, dense: solutions are the predictions, the inverse holds the variances of their errors."""
    labels = lessons(12, 3, 4, missing=missing, seed=3)
    found = g_study(labels, "r x (o:i)", "i", facets=FACETS, method="none")
    fitted = found.studies[0].fitted
    terms, theta = fitted.terms, fitted.theta
    z = [code[:, None] == np.arange(n) for code, n in zip(terms.codes, terms.levels, strict=True)]
    kept = [k for k in range(len(z)) if theta[k] > 0]
    x = np.concatenate([np.ones((len(terms), 1)), *(z[k] for k in kept)], axis=1).astype(float)
    prior = np.concatenate([[0.0], *(np.full(terms.levels[k], 1 / theta[k]) for k in kept)])
    inverse = np.linalg.inv(x.T @ x / theta[-1] + np.diag(prior))
    solved = inverse @ (x.T @ terms.value / theta[-1])
    own = next(k for k, t in enumerate(fitted.confounding.terms) if t.name == "i")
    first = 1 + sum(terms.levels[k] for k in kept if k < own)
    pick = np.zeros((terms.levels[own], len(prior)))
    pick[:, 0] = 1
    pick[np.arange(len(pick)), first + np.arange(len(pick))] = 1
    frame = found.scores
    np.testing.assert_allclose(frame["estimate"], pick @ solved, rtol=1e-6)
    np.testing.assert_allclose(frame["standard_error"], np.sqrt(np.diag(pick @ inverse @ pick.T)), rtol=1e-6)
    assert frame["object"].to_list() == [f"t{t:03d}" for t in range(12)]
    assert (frame["estimate"].std() or 0) < (frame["mean"].std() or 0)  # drawn to the mean


@pytest.mark.slow
def test_scores_are_as_far_from_the_truth_as_they_say():
    """Four raters of error 1 on 40 people of variance 1: errors of variance .2, √.8 with the truth."""
    away, agree = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=40)
        rows = [{"p": f"{p:02d}", "annotator": f"r{r}", "label": 3 + truth[p] + rng.normal()}
                for r in range(4) for p in range(40)]  # fmt: skip
        frame = g_study(table(rows), "r x p", "p", facets={"r": "annotator"}, method="none").scores
        away.append((frame["estimate"].to_numpy() - 3 - truth) / frame["standard_error"].to_numpy())
        agree.append(np.corrcoef(frame["estimate"], truth)[0, 1])
    assert np.mean(np.square(away)) == pytest.approx(1, abs=0.12)
    assert np.mean(agree) == pytest.approx(np.sqrt(0.8), abs=0.02)


def test_the_analysis_of_variance_by_hand():
    """Brennan (2001), synthetic data set 1: mean squares from his variances, .1269 + 12 × .0574 of persons and
    .1269 + 10 × .0754 of items; and the same from singular values."""
    found = g_study(brennan(1), "p x i", "p", method="none")
    frame = found.anova
    assert frame["effect"].to_list() == ["p", "i", "pi,e"]
    np.testing.assert_allclose(frame["df"], [9, 11, 99])
    np.testing.assert_allclose(frame["mean_square"], [0.8157, 0.8809, 0.1269], atol=1e-3)
    np.testing.assert_allclose(frame["anova"], frame["estimate"], rtol=1e-5)
    assert frame["percent"].sum() == pytest.approx(100)
    assert frame["squares"].sum() == pytest.approx(120 * found.studies[0].fitted.value.var())
    df, squares = sequential_squares(found.studies[0].fitted.terms)
    np.testing.assert_allclose(df, frame["df"])
    np.testing.assert_allclose(squares, frame["squares"])
    two = g_study(brennan(1).where(i=[0, 1]), "p x i", "p", method="none").anova.row(1, named=True)
    assert two["effect"] == "i"
    assert two["df"] == 1
    assert two["mean_square"] == two["squares"] > 0, "one degree of freedom is enough"


def test_squares_of_a_table_with_missing_cells_are_those_of_each_term_given_the_others_before():
    """Against least squares with dummies, term after term."""
    found = g_study(lessons(8, 3, 4, missing=0.25, seed=1), "r x (o:i)", "i", facets=FACETS, method="none")
    terms, left, columns = found.studies[0].fitted.terms, [], np.ones((found.studies[0].n_labels, 1))
    for code in (None, *terms.codes):
        if code is not None:
            columns = np.concatenate([columns, code[:, None] == np.arange(code.max() + 1)], axis=1)
        solved = np.linalg.lstsq(columns, terms.value, rcond=None)[0]
        left.append(((terms.value - columns @ solved) ** 2).sum())
    np.testing.assert_allclose(found.anova["squares"], [*-np.diff(left), left[-1]], atol=1e-9)
    assert found.anova["df"].sum() == len(terms) - 1


def test_p_values_by_the_delta_method_are_on_the_scale_of_the_value():
    """A share on the logit's, a variance on the logarithm's; a null at a bound has no value there."""

    def estimate(value: float, error: float, rest: np.ndarray | None) -> VarianceEstimate:
        return VarianceEstimate(value, np.nan, np.nan, error, None, fit=None, quantity=Ratio(np.ones(1), rest),
                                profiled=False, df=None)  # fmt: skip

    share, variance = estimate(0.8, 0.05, np.ones(1)), estimate(2.0, 0.5, None)
    z = (np.log(0.8 / 0.2) - np.log(0.6 / 0.4)) / (0.05 / (0.8 * 0.2))
    assert share.p(0.6) == pytest.approx(2 * stats.norm.sf(z))
    assert variance.p(1.0) == pytest.approx(2 * stats.norm.sf(np.log(2) / (0.5 / 2)))
    assert np.isnan([share.p(1.0), share.p(0.0), variance.p(0.0), estimate(1.0, 0.1, np.ones(1)).p(0.5)]).all()


# -- objects drawn again --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "missing"), [("reml", 0.0), ("reml", 0.25), ("ml", 0.25), ("anova", 0.0), ("anova", 0.25)]
)
def test_objects_that_occur_twice_are_two_objects(estimator, missing):
    """Refitting with counts is fitting a table in which copies of an object have names of their own."""
    labels = lessons(6, 2, 3, missing=missing, seed=2)
    options = {"facets": FACETS, "method": "none", "estimator": estimator}
    fitted = g_study(labels, "r x (o:i)", "i", **options).studies[0].fitted
    same = fitted.refit_objects(np.ones(6, dtype=int))
    np.testing.assert_allclose(same, fitted.theta, rtol=1e-3, atol=1e-4)
    counts = np.array([2, 1, 0, 1, 3, 1])
    rows = []
    for row in labels.labels.join(labels.items, on="item").iter_rows(named=True):
        for copy in range(counts[int(row["teacher"][1:])]):
            names = {name: f"{row[name]}/{copy}" for name in ("teacher", "lesson")}
            rows.append({"annotator": row["annotator"], "label": row["label"], **names})
    wanted = g_study(table(rows), "r x (o:i)", "i", **options).studies[0].fitted.theta
    np.testing.assert_allclose(fitted.refit_objects(counts), wanted, rtol=2e-3, atol=2e-4)


def test_counts_are_of_all_objects_also_of_those_without_labels():
    fitted = g_study(lessons(6, 2, 3, seed=2), "r x (o:i)", "i", facets=FACETS, method="none").studies[0].fitted
    codes = fitted.codes | {"i": fitted.codes["i"] + (fitted.codes["i"] >= 2)}  # the third object is another family's
    found = dataclasses.replace(fitted, codes=codes).refit_objects(np.array([2, 1, 5, 0, 1, 3, 1]))
    np.testing.assert_array_equal(found, fitted.refit_objects(np.array([2, 1, 0, 1, 3, 1])))


def test_a_single_object_has_no_variance():
    fitted = g_study(lessons(5, 2, 3, seed=2), "r x (o:i)", "i", facets=FACETS, method="none").studies[0].fitted
    assert np.isnan(fitted.refit_objects(np.array([0, 1, 0, 0, 0]))).all()
    assert np.isfinite(fitted.refit_objects(np.array([0, 2, 0, 0, 0]))).all()  # its copies are two


def test_a_bootstrap_draws_as_many_objects_as_there_are():
    drawn = []
    fake = SimpleNamespace(
        codes={"i": np.array([0, 0, 3, 2, 1, 3])}, settings=SimpleNamespace(object="i"),
        refit_objects=lambda counts: drawn.append(counts) or counts,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(400):
        Fitted.bootstrap(fake, rng)
    assert {(len(c), int(c.sum())) for c in drawn} == {(4, 4)}
    np.testing.assert_allclose(np.mean(drawn, axis=0), 1, atol=0.15)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_samples_of_an_analysis_of_variance_have_its_variances_on_average(missing):
    labels = lessons(20, 2, 5, variances=(2.0, 1.5, 1.0, 0.8, 0.5), missing=missing, seed=4)
    options = {"facets": FACETS, "method": "none", "estimator": "anova"}
    fitted = g_study(labels, "r x (o:i)", "i", **options).studies[0].fitted
    rng = np.random.default_rng(1)
    drawn = np.array([fitted.anova_of_sample(rng) for _ in range(60)])
    assert (drawn >= 0).all()
    error = drawn.std(axis=0) / np.sqrt(60)
    assert (np.abs(drawn.mean(axis=0) - fitted.theta) < 3.5 * error).all()


# -- rows and names ------------------------------------------------------------------------------------


def test_rows_of_scores_have_ends_means_and_labels():
    found = g_study(lessons(6, 2, 3, missing=0.3, seed=5), "r x (o:i)", "i", facets=FACETS, method="none").studies[0]
    fitted = found.fitted
    score, error = fitted.scores()
    for k, row in enumerate(found.score_rows(0.9)):
        mine = fitted.codes["i"] == k
        assert row["object"] == f"t{k:03d}"
        assert (row["estimate"], row["standard_error"]) == (score[k], error[k])
        assert (row["low"], row["high"]) == pytest.approx(
            (score[k] - 1.6448536 * error[k], score[k] + 1.6448536 * error[k])
        )
        assert row["mean"] == pytest.approx(fitted.value[mine].mean())
        assert row["labels"] == mine.sum()
        assert row["reason"] is None


def named(criterion, group) -> CriterionStudy:
    (study,) = g_study(brennan(2), "i:p", "p", method="none").studies
    return dataclasses.replace(study, criterion=criterion, group=group)


class Studies(DesignStudies):
    """Studies by their names alone."""

    table = summary = None


def test_a_study_is_found_by_criterion_or_group_where_that_names_one():
    several = [named("c1", "human"), named("c1", "judge"), named("c2", "human")]
    found = Studies("p x r", "p", (), tuple(several), None)
    assert found["c1, judge"] is found["judge"] is several[1]
    assert found["c2"] is several[2]
    for name in ("c1", "human", "c3"):
        with pytest.raises(DesignError, match=f"study '{name}'"):
            found[name]
    with pytest.raises(
        DesignError, match=r"there are 3 studies; take study\['c1, human'\]\.curve, or one of c1, judge"
    ):
        found.one("curve")
    alone = Studies("p x r", "p", (), (several[0],), None)
    assert alone.one("curve") is several[0]


# -- kinds of intervals ----------------------------------------------------------------------------------


def test_a_standard_error_of_measurement_is_the_root_of_a_variance():
    variance = Estimate(4.0, 1.0, 9.0, 0.8, None)
    found = RootEstimate.of(variance)
    assert (found.estimate, found.low, found.high) == (2, 1, 3)
    assert found.standard_error == pytest.approx(0.8 / (2 * 2))  # d√v = dv / (2 √v)
    nothing = RootEstimate.of(Estimate(0.0, -1.0, np.nan, 0.8, "why"))
    assert (nothing.estimate, nothing.low, nothing.reason) == (0, 0, "why")
    assert np.isnan([nothing.high, nothing.standard_error]).all()
    asked = EstimateByRule(4.0, 1.0, 9.0, 0.8, None, ends=lambda level: (level, 4 * level), test=lambda null: null)
    other = RootEstimate(2.0, 1.0, 3.0, 0.2, None, variance=asked)
    assert other.interval(0.81) == pytest.approx((0.9, 1.8))
    assert other.p(3.0) == 9
    assert other.p() == 0


@pytest.mark.parametrize(
    ("value", "error", "share"), [(0.5, np.nan, True), (0.0, 0.1, True), (1.0, 0.1, True), (0.0, 0.1, False)]
)
def test_a_value_at_a_bound_has_no_delta_interval(value, error, share):
    assert np.isnan(delta_interval(value, error, share, 0.9)).all()
    assert np.isfinite(delta_interval(1.0, 0.1, False, 0.9)).all()


def unsure(labels: int, *, balanced: bool, likelihood: bool) -> SimpleNamespace:
    return SimpleNamespace(
        is_balanced=balanced, value=np.zeros(labels), fit=SimpleNamespace() if likelihood else None, theta=np.ones(2),
        bootstrap=lambda rng: rng.random(2), anova_of_sample=lambda rng: 5 + rng.random(2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "balanced", "likelihood", "how"),
    [
        (20_000, False, True, "profile"),
        (20_001, False, True, "delta"),
        (20_001, True, True, "profile"),
        (20_001, False, False, "parametric"),
        (10, True, False, "parametric"),
    ],
)
def test_intervals_are_profiles_unless_that_takes_minutes_or_there_is_no_likelihood(labels, balanced, likelihood, how):
    found = uncertainty(unsure(labels, balanced=balanced, likelihood=likelihood), None, 7, 0.9, 3)
    assert found.how == how
    assert len(found.samples) == (7 if how == "parametric" else 0)
    assert found.samples.shape[1] == 2


def test_samples_are_of_the_model_or_of_objects_drawn_again():
    without = unsure(10, balanced=True, likelihood=False)
    drawn = uncertainty(without, "objects", 5, 0.9, 3).samples
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert len(np.unique(drawn)) == 10
    model = uncertainty(without, "parametric", 5, 0.9, 3).samples
    np.testing.assert_allclose(model, 5 + drawn)
    np.testing.assert_array_equal(uncertainty(without, "objects", 3, 0.9, 3).samples, drawn[:3])
    assert uncertainty(unsure(10, balanced=True, likelihood=True), "none", 5, 0.9, 3).samples.shape == (0, 2)
    for how in ("profile", "delta"):
        with pytest.raises(DesignError, match=f"method='{how}' needs a likelihood; with estimator='anova'"):
            uncertainty(without, how, 5, 0.9, 3)
