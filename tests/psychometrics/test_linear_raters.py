"""The linear rater model: its likelihood by matrices, closed forms, another package, and the truth of simulations."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from measured import measured
from rated import rated

import assay
from assay.errors import DesignError
from assay.psychometrics.raters.fit import jax_value, model_of
from assay.psychometrics.raters.linear import LinearDensity, linear_ideal, share_at_ends
from assay.psychometrics.raters.table import RaterSettings, rater_table

# -- The likelihood ---------------------------------------------------------------------------------------

TABLES = {
    "one criterion": ({}, {}),
    "three criteria, labels missing": ({"criteria": 3, "seen": 0.6}, {}),
    "items of a teacher": ({"objects": 8}, {"object": "teacher"}),
    "by group": ({"criteria": 2, "objects": 24, "gap": 9.0}, {"group": "dialect", "object": "teacher"}),
    "two traits": ({"criteria": 3}, {"traits": {"c1": "a", "c2": ("a", "b"), "c3": "b"}}),
}


def density(name: str, n_items: int = 24) -> LinearDensity:
    made, asked = TABLES[name]
    settings = RaterSettings(**asked)
    found = model_of(rater_table(measured(n_items, **made).labels, settings), settings)
    assert isinstance(found, LinearDensity)
    return found


def somewhere(found: LinearDensity, seed: int = 1) -> np.ndarray:
    return found.layout.mean + 0.4 * np.random.default_rng(seed).normal(size=found.layout.p)


def moments(found: LinearDensity, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and covariance of all labels, and the covariance of labels with ideal ratings, label by label."""
    table, plan = found.table, found.layout
    place = table.block * len(table.raters) + table.rater
    mean = found.centers[table.criterion] + plan.unit * x[plan.indices("mean")][table.block] + (plan.phi @ x)[place]
    psi = plan.unit * np.exp(plan.psi @ x)[place]
    omega = plan.unit * np.exp(x[plan.indices("ln omega")])[table.block]
    alpha = plan.unit * found.slopes(x, np)[table.criterion]
    n = len(table)
    ideal = np.zeros((n, n))
    for i in range(n):
        for k in range(n):
            if table.subject[i] == table.subject[k]:
                ideal[i, k] = alpha[i] @ alpha[k]
            if table.cell[i] == table.cell[k]:
                ideal[i, k] += omega[i] * omega[k]
    return mean, ideal + np.diag(psi**2), ideal


@pytest.mark.parametrize("name", TABLES)
def test_linear_gradient_is_the_difference_of_values(name):
    found = density(name)
    x = somewhere(found)
    value, slope = found.value_and_gradient(x)
    assert value == pytest.approx(found.value(x), rel=1e-12)
    numeric = [(found.value(x + s) - found.value(x - s)) / 2e-5 for s in np.eye(found.layout.p) * 1e-5]
    np.testing.assert_allclose(slope, numeric, atol=2e-5)


@pytest.mark.parametrize("name", TABLES)
def test_linear_likelihood_is_that_of_the_joint_normal(name):
    """The constant and the unit cancel in the difference between two points."""
    from scipy.stats import multivariate_normal

    found = density(name, 12)
    points = [somewhere(found, seed) for seed in (1, 2)]
    slow = [multivariate_normal(*moments(found, x)[:2]).logpdf(found.table.value) for x in points]
    fast = [float(found.evaluate(x).value) for x in points]
    assert fast[0] - fast[1] == pytest.approx(slow[0] - slow[1], abs=1e-7)


@pytest.mark.parametrize("name", TABLES)
def test_ideal_ratings_and_residuals_are_conditional_moments(name):
    """By the conditional normal: of the ideal ratings given all labels, and of each label given the others."""
    found = density(name, 12)
    x = somewhere(found)
    mean, covariance, ideal = moments(found, x)
    away = found.table.value - mean
    first = np.unique(found.table.cell, return_index=True)[1]
    place = found.table.block * len(found.table.raters) + found.table.rater
    shift = (found.layout.phi @ x).reshape(found.table.n_blocks, -1).mean(axis=1)[found.table.block]
    level = mean - (found.layout.phi @ x)[place] + shift
    expected = level + ideal @ np.linalg.solve(covariance, away)
    spread = np.diag(ideal - ideal @ np.linalg.solve(covariance, ideal))
    rows = linear_ideal(found, x[None])
    np.testing.assert_allclose(rows["ideal"], expected[first], atol=1e-7)
    np.testing.assert_allclose(rows["sd"], np.sqrt(spread[first]), atol=1e-6)
    slow = []
    for k in range(len(away)):
        rest = np.delete(np.arange(len(away)), k)
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, k])
        left = away[k] - weights @ away[rest]
        slow.append(left / np.sqrt(covariance[k, k] - weights @ covariance[rest, k]))
    np.testing.assert_allclose(found.standardized(x), slow, atol=1e-7)
    np.testing.assert_allclose(found.standardized(x, found.table.value), slow, atol=1e-7)


@pytest.mark.slow
def test_drawn_labels_have_the_moments_of_the_model():
    found = density("three criteria, labels missing", 10)
    x = somewhere(found)
    rng = np.random.default_rng(3)
    drawn = np.stack([found.drawn(x, rng) for _ in range(4000)])
    mean, covariance, _ = moments(found, x)
    error = np.sqrt(np.diag(covariance) / 4000)
    assert np.abs((drawn.mean(axis=0) - mean) / error).max() < 4.5
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.09 * np.diag(covariance).max())


@pytest.mark.slow
def test_linear_density_in_jax_is_that_of_the_fit():
    jax = pytest.importorskip("jax")
    found = density("two traits")
    x = somewhere(found)
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.value_and_grad(jax_value(found)))(x)
    assert float(value) == pytest.approx(found.value(x), rel=1e-10)
    np.testing.assert_allclose(np.asarray(slope), found.value_and_gradient(x)[1], atol=1e-7)


# -- Closed forms, and another package ----------------------------------------------------------------------


def wide(labels) -> np.ndarray:
    return labels.labels.pivot("annotator", index="item", values="label").drop("item").to_numpy()


@pytest.mark.slow
def test_two_complete_raters_have_the_moments_of_their_labels():
    """Saturated: ω² is the covariance, ψ² each variance minus it, the difference in φ that of the means."""
    made = measured(3000, (-2.0, 2.0), (4.0, 7.0))
    found = assay.rater_model(made.labels, quick=True, starts=1)
    both = wide(made.labels)
    covariance = np.cov(both.T, ddof=0)
    means = both.mean(axis=0)
    np.testing.assert_allclose(found.rows["estimate"], means - means.mean(), rtol=2e-3)
    # The priors move ψ² by less than a tenth of its standard error, which is 6%.
    np.testing.assert_allclose(found.rows["psi"] ** 2, np.diag(covariance) - covariance[0, 1], rtol=1e-2)
    assert found.items["sd"][0] ** 2 == pytest.approx(covariance[0, 1], rel=5e-3)
    # The error of a difference of means: (ψ₁² + ψ₂²) / n; of each severity, half of it.
    error = np.sqrt((found.rows["psi"] ** 2).sum() / 3000) / 2
    np.testing.assert_allclose(found.severity.standard_error, error, rtol=0.05)


@pytest.mark.slow
def test_severities_of_a_complete_table_are_differences_of_means():
    made = measured(400)
    found = assay.rater_model(made.labels, quick=True, starts=1)
    means = wide(made.labels).mean(axis=0)
    # The priors shrink by less than 1/100.
    np.testing.assert_allclose(found.rows["estimate"], means - means.mean(), atol=0.05)


@pytest.mark.slow
def test_linear_rater_model_agrees_with_mixedlm():
    """Equal variabilities and labels missing: statsmodels' mixed model with fixed raters and random items."""
    import statsmodels.formula.api as smf

    made = measured(300, (-4.0, -1.0, 1.0, 4.0), (6.0,) * 4, seen=0.6, seed=4)
    found = assay.rater_model(made.labels, quick=True, starts=1)
    frame = made.labels.labels.select("item", "annotator", "label").to_pandas()
    other = smf.mixedlm("label ~ 0 + annotator", frame, groups="item").fit(reml=False)
    means = np.asarray(other.fe_params)
    np.testing.assert_allclose(found.rows["estimate"], means - means.mean(), atol=0.12)
    np.testing.assert_allclose(np.exp(np.log(found.rows["psi"].to_numpy()).mean()), np.sqrt(other.scale), rtol=0.02)
    assert found.items["sd"][0] == pytest.approx(float(np.sqrt(other.cov_re.iloc[0, 0])), rel=0.02)
    centre = np.eye(4) - 0.25
    error = np.sqrt(np.diag(centre @ np.asarray(other.cov_params())[:4, :4] @ centre))
    np.testing.assert_allclose(found.severity.standard_error, error, rtol=0.12)


# -- The truth of simulations -------------------------------------------------------------------------------


def test_linear_model_recovers_severity_variability_and_ideal_ratings():
    made = measured(300, criteria=2, seen=0.9, seed=2)
    found = assay.rater_model(made.labels, quick=True, starts=2)
    assert found.converged
    np.testing.assert_allclose(found.rows["estimate"], made.phi, atol=1.2)
    np.testing.assert_allclose(found.rows["psi"], made.psi, rtol=0.12)
    ideal = found.ideal.sort("criterion", "item")
    away = (ideal["ideal"].to_numpy() - made.ideal.T.ravel()) / ideal["sd"].to_numpy()
    assert 0.93 < np.mean(np.abs(away) < 1.96) < 0.97
    assert np.mean(away**2) == pytest.approx(1, abs=0.12)
    assert len(found.traits) == 300


@pytest.mark.slow
def test_units_of_labels_change_units_of_estimates_only():
    made = measured(60, criteria=2, seed=3)
    tenth = assay.read(
        made.labels.labels.with_columns(label=pl.col("label") / 10 + 7), judges=["gpt"], scale="interval"
    )
    one, two = (assay.rater_model(t, quick=True, starts=1) for t in (made.labels, tenth))
    for column in ("estimate", "low", "high", "psi", "psi_low", "psi_high"):
        np.testing.assert_allclose(one.rows[column] / 10, two.rows[column], atol=1e-4)
    np.testing.assert_allclose(one.rows["fit_p"], two.rows["fit_p"], atol=0.02)
    np.testing.assert_allclose(one.ideal["ideal"] / 10 + 7, two.ideal["ideal"], atol=1e-3)


@pytest.mark.slow
def test_linear_model_finds_a_bias_and_not_a_real_gap():
    made = measured(240, (0.0,) * 5, (6.0,) * 5, objects=120, gap=12.0, bias={4: -5.0}, seed=1)
    found = assay.rater_model(made.labels, group="dialect", object="teacher", quick=True, starts=1)
    rows = {row["annotator"]: row for row in found.fairness.rows.iter_rows(named=True)}
    assert rows["gpt"]["verdict"] == "more_severe"
    assert rows["gpt"]["low"] < -5 < rows["gpt"]["high"]
    assert {rows[f"ann_{k}"]["verdict"] for k in (1, 2, 3, 4)} <= {"undecided", "equivalent"}
    # The margin is a tenth of the standard deviation of labels.
    assert found.fitted.rope == pytest.approx(0.1 * found.fitted.table.value.std())
    assert "gpt is significantly more severe with south than with north" in found.summary()
    assert " points [" in found.summary()


@pytest.mark.simulation
@pytest.mark.usefixtures("few_checks")
def test_intervals_of_the_linear_model_cover():
    """φ and ψ of 40 tables each, 5 raters: standard error of a share of 200 dependent intervals about .018."""
    cells = {
        "criteria, labels missing": (60, {"criteria": 3, "seen": 0.6}, {}),
        "teachers": (120, {"objects": 40, "seen": 0.5}, {"object": "teacher"}),
        "skewed ideal ratings": (100, {"shape": "exponential"}, {}),
        "a scale with ends": (100, {"scale": "interval:0-100"}, {}),
    }
    for name, (n, made, asked) in cells.items():
        held, off = [], []
        for seed in range(40):
            truth = measured(n, seed=500 + seed, **made)
            found = assay.rater_model(truth.labels, quick=True, starts=1, draws=500, **asked)
            ends = {c: found.rows[c].to_numpy() for c in ("low", "high", "psi_low", "psi_high", "estimate")}
            held.append(
                [(ends["low"] <= truth.phi) & (truth.phi <= ends["high"]),
                 (ends["psi_low"] <= truth.psi) & (truth.psi <= ends["psi_high"])]
            )  # fmt: skip
            off.append(ends["estimate"] - truth.phi)
        phi, psi = np.mean(held, axis=(0, 2))
        assert 0.9 <= phi <= 0.99, (name, phi)
        assert 0.9 <= psi <= 0.99, (name, psi)
        bias = np.abs(np.mean(off, axis=0)) / (np.std(off, axis=0, ddof=1) / np.sqrt(40))
        assert bias.max() < 4, (name, bias)


@pytest.mark.simulation
def test_chains_of_the_linear_model_agree_with_the_quick_fit():
    pytest.importorskip("numpyro")
    made = measured(80, criteria=2, seen=0.8, seed=6)
    quick = assay.rater_model(made.labels, quick=True, starts=1)
    # Of 600 draws a chain, the ends of an interval have an error of 5% of its width.
    found = assay.rater_model(made.labels, starts=1, chains=2, warmup=300, draws=3000)
    assert found.converged
    width = (quick.rows["high"] - quick.rows["low"]).to_numpy()
    np.testing.assert_allclose(found.rows["estimate"], quick.rows["estimate"], atol=0.1 * width.max())
    np.testing.assert_allclose((found.rows["high"] - found.rows["low"]).to_numpy() / width, 1, atol=0.12)
    np.testing.assert_allclose(found.rows["psi"], quick.rows["psi"], rtol=0.06)


# -- Fit ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rater_of_ends_only_is_a_misfit():
    made = measured(200, scale="interval:0-100", seed=6)
    ends = made.labels.labels.with_columns(
        label=pl.when(pl.col("annotator") == "gpt")
        .then(pl.when(pl.col("label") >= 50).then(100.0).otherwise(0.0))
        .otherwise(pl.col("label"))
    )
    found = assay.rater_model(assay.read(ends, judges=["gpt"], scale="interval:0-100"), quick=True, starts=1)
    assert any(c.startswith("misfit for gpt (predictive p") for c in found.cautions)
    good = assay.rater_model(made.labels, quick=True, starts=1)
    assert not any("misfit" in c for c in good.cautions)
    assert good.rows["fit_p"].min() > 0.01


@pytest.mark.slow
def test_labels_at_ends_of_the_scale_are_warned_of():
    def cautions(omega):
        made = measured(150, trait=0.0, omega=omega, scale="interval:0-100")
        return share_at_ends(rater_table(made.labels, RaterSettings())), " ".join(
            assay.rater_model(made.labels, quick=True, starts=1).cautions
        )

    share, few = cautions(15.0)
    assert share < 0.05
    assert "at an end of the scale" not in few
    share, many = cautions(60.0)
    assert share > 0.3
    assert f"{100 * share:.0f}% of labels are at an end of the scale" in many


def test_rater_whose_labels_are_the_ideal_ratings_is_named():
    made = measured(200, (0.0, 0.0, 0.0), (5.0, 5.0, 0.01), seed=3)
    found = assay.rater_model(made.labels, quick=True, starts=1)
    assert any("ψ of gpt is close to 0" in c for c in found.cautions)


# -- Which model ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "scale", "unit"),
    [
        (pl.col("label"), "1-5", "categories"),
        (pl.col("label") * 2, "1-10", "categories"),
        (pl.col("label") / 2, "interval:0-5", "points"),
        (pl.col("label") * 10, "interval:0-100", "points"),
    ],
)
def test_scale_chooses_the_model(change, scale, unit):
    rows = rated(40, categories=5, seed=2).labels.labels.with_columns(label=change)
    found = assay.rater_model(assay.read(rows, judges=["gpt"], scale=scale), quick=True, starts=1)
    assert found.unit == unit
    line = {"categories": "Categorical model: ", "points": "Linear model: labels are numbers from "}[unit]
    assert found.sentences()[1].startswith(line)
    assert f"({unit})" in found.summary() or "no significant difference in severity" in found.summary()


@pytest.mark.slow
def test_either_model_can_be_forced():
    truth = rated(150, seed=4)
    forced = assay.rater_model(truth.labels, quick=True, starts=1, distribution="normal")
    assert forced.unit == "points"
    assert np.corrcoef(forced.rows["estimate"], truth.phi)[0, 1] > 0.97
    numbers = measured(60, scale="interval:0-100").labels
    with pytest.raises(DesignError, match="at most 20 categories; labels go from"):
        assay.rater_model(numbers, quick=True, distribution="categories")
    with pytest.raises(DesignError, match=r"have fractions \(.*\); round the labels, or use the linear hierarchical"):
        assay.many_facet_rasch(measured(60).labels)


def test_words_in_order_are_numbered_in_the_linear_model():
    words = ["poor", "fair", "good", "very good", "excellent"]
    rows = rated(60, seed=5).labels.labels.with_columns(
        label=pl.col("label").replace_strict(dict(enumerate(words, 1)), return_dtype=pl.String)
    )
    labels = assay.read(rows, judges=["gpt"], scale=assay.Ordinal(words))
    found = assay.rater_model(labels, quick=True, starts=1, distribution="normal")
    assert "the categories are numbered 0 to 4, at equal distances" in found.notes


def test_criteria_of_different_scales_are_in_percent_of_their_ranges():
    rows = measured(80, criteria=2, scale="interval:0-100", seed=7).labels.labels
    second = pl.col("criterion") == "c2"
    mixed = rows.with_columns(label=pl.when(second).then(pl.col("label") / 20 + 1).otherwise(pl.col("label")))
    scales = {"c1": "interval:0-100", "c2": "interval:1-6"}
    found = assay.rater_model(assay.read(mixed, judges=["gpt"], scale=scales), quick=True, starts=1)
    same = assay.rater_model(assay.read(rows, judges=["gpt"], scale="interval:0-100"), quick=True, starts=1)
    assert found.unit == "percent of the range"
    np.testing.assert_allclose(found.rows["estimate"], same.rows["estimate"], atol=1e-4)
    assert found.items.select("low", "high").rows() == [(0, 100), (1, 6)]
    assert "Linear model: labels are numbers on different scales; φ and ψ are in percent of the range." in (
        found.summary()
    )


@pytest.mark.slow
def test_reversed_and_constant_criteria_of_numbers():
    rows = measured(80, criteria=2, scale="interval:0-100", seed=8).labels.labels
    turned = rows.with_columns(
        label=pl.when(pl.col("criterion") == "c2").then(100 - pl.col("label")).otherwise(pl.col("label"))
    )
    one, two = (assay.read(f, judges=["gpt"], scale="interval:0-100") for f in (rows, turned))
    first = assay.rater_model(one, quick=True, starts=1)
    second = assay.rater_model(two, quick=True, starts=1, reverse="c2")
    np.testing.assert_allclose(first.rows["estimate"], second.rows["estimate"], atol=1e-6)
    flat = rows.with_columns(label=pl.when(pl.col("criterion") == "c2").then(40.0).otherwise(pl.col("label")))
    kept = assay.rater_model(assay.read(flat, judges=["gpt"], scale="interval:0-100"), quick=True, starts=1)
    assert "every label is 40" in str(kept.run.exclusions[0])
    assert kept.items["criterion"].to_list() == ["c1"]


# -- Words and pictures -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_linear_summary_names_raters_in_points():
    found = assay.rater_model(measured(200, seed=9).labels, quick=True, starts=2)
    said = found.summary()
    assert re.search(r"Significantly more severe than the mean \(points\): ann_1 \(−", said)
    assert re.search(r"Significantly more variable than the mean \(ψ, points\): ann_4", said)
    assert re.search(r"Judges − humans, mean severity: −\d\.\d\d points \[", said)
    assert "the scale has no ends; its labels are from" in " ".join(found.notes)


def test_linear_pictures_have_the_unit():
    found = assay.rater_model(measured(120, criteria=2, seed=9).labels, quick=True, starts=1)
    ax = found.plot()
    assert ax.get_xlabel() == "← severe    φ, points from the raters' mean    lenient →"
    assert ax.get_ylabel() == "ψ, points    variable ↑"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["5", "10"]
    ax = found.plot_ideal()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["c1: ideal", "c1: labels", "c2: ideal", "c2: labels"]
    assert ax.get_xlabel() == "points: median, middle 50% and 90%"
    medians = [float(line.get_xdata()[0]) for line in ax.lines]
    given = found.fitted.table.value[found.fitted.table.criterion == 0]
    assert medians[1] == pytest.approx(np.median(given))
    assert medians[0] == pytest.approx(found.ideal.filter(pl.col("criterion") == "c1")["ideal"].median())
