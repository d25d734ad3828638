"""The same figures as libraries that compute one point at a time, on random tables."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid, ordinal_grid

import references
from assay.concordance.measures import (
    bias,
    brennan_prediger,
    cohen_kappa,
    concordance_correlation,
    conger_kappa,
    correlation,
    exact_agreement,
    fleiss_kappa,
    gwet_ac,
    icc,
    icc_table,
    krippendorff_alpha,
    mae,
    nmae,
    rmse,
    scott_pi,
    within_agreement,
)
from assay.data.scales import Interval, Nominal, Ordinal
from assay.errors import DesignError

EXACT = 1e-9
POINT = {"method": "none"}
SEEDS = range(6)
RECORDED = json.loads((Path(__file__).parent / "irrcac.json").read_text())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_against_krippendorff(seed, missing, level):
    krippendorff = pytest.importorskip("krippendorff")
    cells = ordinal_grid(40, 4, seed, missing=missing)
    other = krippendorff.alpha(cells.T, level_of_measurement=level, value_domain=[1, 2, 3, 4, 5])
    assert krippendorff_alpha(from_grid(cells, Ordinal(1, 5)), level=level, **POINT).estimate == pytest.approx(
        other, abs=EXACT
    )


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_with_a_distance_of_ones_own_against_krippendorff(missing):
    krippendorff = pytest.importorskip("krippendorff")
    cells = ordinal_grid(50, 4, 6, missing=missing)
    other = krippendorff.alpha(
        cells.T, level_of_measurement=lambda a, b, *_, **__: np.abs(a - b) ** 1.5, value_domain=[1, 2, 3, 4, 5]
    )
    labels = from_grid(cells, Ordinal(1, 5))
    found = krippendorff_alpha(labels, level=lambda a, b: abs(a - b) ** 1.5)
    assert found.estimate == pytest.approx(other, abs=EXACT)
    assert found.low < found.estimate < found.high
    squared = krippendorff_alpha(labels, level=lambda a, b: (a - b) ** 2)
    interval = krippendorff_alpha(labels, level="interval")
    assert (squared.estimate, squared.low) == pytest.approx((interval.estimate, interval.low), abs=EXACT)
    assert found.signature != squared.signature


@pytest.mark.parametrize("seed", SEEDS)
def test_ordinal_alpha_of_many_values_against_krippendorff(seed):
    krippendorff = pytest.importorskip("krippendorff")
    cells = np.round(np.random.default_rng(seed).uniform(0, 100, (50, 3)))
    cells[:, 1:] = np.clip(cells[:, :1] + np.random.default_rng(seed + 1).integers(-9, 10, (50, 2)), 0, 100)
    cells[seed, 0] = np.nan
    other = krippendorff.alpha(cells.T, level_of_measurement="ordinal")
    found = krippendorff_alpha(from_grid(cells, Interval(0, 100)), level="ordinal", **POINT)
    assert found.estimate == pytest.approx(other, abs=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_against_scikit_learn(seed, weights):
    metrics = pytest.importorskip("sklearn.metrics")
    cells = ordinal_grid(40, 2, seed, missing=0.15)
    both = cells[~np.isnan(cells).any(axis=1)].astype(int)
    name = None if weights == "none" else weights
    other = metrics.cohen_kappa_score(both[:, 0], both[:, 1], labels=[1, 2, 3, 4, 5], weights=name)
    found = cohen_kappa(from_grid(cells, Ordinal(1, 5)), weights=weights, **POINT)
    assert found.estimate == pytest.approx(other, abs=EXACT)
    assert found.n_items == len(both)


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_against_statsmodels(seed):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    cells = ordinal_grid(40, 5, seed)
    counts, _ = inter_rater.aggregate_raters(cells.astype(int))
    assert fleiss_kappa(from_grid(cells, Ordinal(1, 5)), **POINT).estimate == pytest.approx(
        inter_rater.fleiss_kappa(counts), abs=EXACT
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_kappa_against_statsmodels(seed):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    cells = ordinal_grid(60, 2, seed).astype(int)
    table = np.zeros((5, 5))
    np.add.at(table, (cells[:, 0] - 1, cells[:, 1] - 1), 1)
    for weights, name in (("linear", "linear"), ("quadratic", "fc")):
        other = inter_rater.cohens_kappa(table, wt=name, return_results=False)
        found = cohen_kappa(from_grid(cells, Ordinal(1, 5)), weights=weights, **POINT)
        assert found.estimate == pytest.approx(other, abs=EXACT)


@pytest.mark.parametrize("recorded", RECORDED["tables"], ids=range(len(RECORDED["tables"])))
def test_against_figures_recorded_from_irrcac(recorded):
    cells = np.array([[np.nan if v is None else v for v in row] for row in recorded["cells"]])
    labels = from_grid(cells, Ordinal(1, 5))
    for weights in ("none", "linear", "quadratic", "ordinal"):
        assert gwet_ac(labels, weights=weights, **POINT).estimate == pytest.approx(
            recorded[f"gwet-{weights}"], abs=EXACT
        )
        if cells.shape[1] == 2:
            conger = conger_kappa(labels, weights=weights, **POINT)
            assert conger.estimate == pytest.approx(recorded[f"conger-{weights}"], abs=EXACT)
            assert cohen_kappa(labels, weights=weights, **POINT).estimate == pytest.approx(
                recorded[f"conger-{weights}"], abs=EXACT
            )
    assert fleiss_kappa(labels, **POINT).estimate == pytest.approx(recorded["fleiss-none"], abs=EXACT)
    assert exact_agreement(labels, **POINT).estimate == pytest.approx(recorded["agreement-none"], abs=EXACT)
    assert krippendorff_alpha(labels, level="nominal", **POINT).estimate == pytest.approx(
        recorded["alpha-none"], abs=EXACT
    )
    assert krippendorff_alpha(labels, level="interval", **POINT).estimate == pytest.approx(
        recorded["alpha-quadratic"], abs=EXACT
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_icc_and_its_f_intervals_against_pingouin(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pingouin = pytest.importorskip("pingouin")
        cells = ordinal_grid(30, 4, seed)
        long = pl.DataFrame(
            {"item": np.repeat(np.arange(30), 4), "annotator": np.tile(np.arange(4), 30), "label": cells.ravel()}
        ).to_pandas()
        other = pingouin.intraclass_corr(data=long, targets="item", raters="annotator", ratings="label")
    other = other.reset_index() if "Type" not in other.columns else other
    ours = {r.form: r for r in icc_table(from_grid(cells, Ordinal(1, 5))).rows[:6]}
    for row in other.to_dict("records"):
        mine = ours[{"ICC(1,1)": "ICC(1)"}.get(row["Type"], row["Type"])]
        assert mine.estimate == pytest.approx(row["ICC"], abs=EXACT)
        assert (mine.f_test.f, mine.f_test.df1, mine.f_test.df2) == pytest.approx((row["F"], row["df1"], row["df2"]))
        low, high = row["CI95"]
        assert (mine.f_test.low, mine.f_test.high) == pytest.approx((low, high), abs=0.005 + EXACT)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_correlations_against_scipy(seed, missing):
    cells = ordinal_grid(50, 2, seed, missing=missing)
    x, y = cells[~np.isnan(cells).any(axis=1)].T
    labels = from_grid(cells, Ordinal(1, 5))
    for kind, other in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        assert correlation(labels, kind=kind, **POINT).estimate == pytest.approx(other(x, y).statistic, abs=EXACT)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("n", [200, 3_500])
def test_rank_correlations_of_many_values_against_scipy(kind, n):
    rng = np.random.default_rng(n)
    x = np.round(rng.normal(size=n), 2)
    cells = np.stack([x, np.round(0.6 * x + rng.normal(size=n), 2)], axis=1)
    other = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind](*cells.T).statistic
    found = correlation(from_grid(cells, Interval()), kind=kind)
    assert found.estimate == pytest.approx(other, abs=EXACT)
    # Bonett & Wright (2000) for rho, Fieller, Hartley & Pearson (1957) for tau: widths within a fifth.
    variance = (1 + other**2 / 2) / (n - 3) if kind == "spearman" else 0.437 / (n - 4)
    width = np.arctanh(found.high) - np.arctanh(found.low)
    assert width == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.2)
    assert ("batches" in found.run.interval) == (n > 3_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_errors_by_numpy(seed):
    cells = ordinal_grid(50, 2, seed, missing=0.1)
    d = np.diff(cells[~np.isnan(cells).any(axis=1)], axis=1)
    labels = from_grid(cells, Ordinal(1, 5))
    assert mae(labels, **POINT).estimate == pytest.approx(np.abs(d).mean(), abs=EXACT)
    assert nmae(labels, **POINT).estimate == pytest.approx(np.abs(d).mean() / 4, abs=EXACT)
    assert rmse(labels, **POINT).estimate == pytest.approx(np.sqrt((d**2).mean()), abs=EXACT)
    assert bias(labels, ["r0", "r1"], **POINT).estimate == pytest.approx(d.mean(), abs=EXACT)
    assert bias(labels, ["r1", "r0"], **POINT).estimate == pytest.approx(-d.mean(), abs=EXACT)
    assert within_agreement(labels, k=1, **POINT).estimate == pytest.approx((np.abs(d) <= 1).mean(), abs=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_scott_is_fleiss_of_two(seed):
    labels = from_grid(ordinal_grid(50, 2, seed), Nominal(range(1, 6)))
    assert scott_pi(labels, **POINT).estimate == pytest.approx(fleiss_kappa(labels, **POINT).estimate, abs=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["ICC(A,1)", "ICC(C,k)", "ICC(A,k)"])
def test_components_equal_anova_on_complete_tables(seed, form):
    labels = from_grid(ordinal_grid(30, 4, seed), Ordinal(1, 5))
    one, two = (icc(labels, form=form, estimator=e, **POINT).estimate for e in ("anova", "components"))
    assert one == pytest.approx(two, abs=EXACT)


def test_components_by_brute_force_on_an_incomplete_table():
    """Henderson's expectations, computed here from the design matrices themselves."""
    cells = ordinal_grid(25, 4, 3, missing=0.3)
    item, annotator = np.nonzero(~np.isnan(cells))
    y = cells[item, annotator]
    designs = [np.ones((len(y), 1)), np.eye(25)[item], np.eye(4)[annotator], np.eye(len(y))]
    designs[1] = designs[1][:, designs[1].any(axis=0)]
    projections = [z @ np.linalg.pinv(z) for z in designs]
    left, right = [], []
    for p in projections[1:]:
        q = p - projections[0]
        right.append(y @ q @ y)
        left.append([np.trace(q @ z @ z.T) for z in designs[1:]])
    item_variance, annotator_variance, error = np.linalg.solve(left, right)
    found = icc(from_grid(cells, Ordinal(1, 5)), form="ICC(A,1)")
    assert found.estimator == "components"
    assert found.variance_items == pytest.approx(item_variance, abs=EXACT)
    assert found.variance_annotators == pytest.approx(annotator_variance, abs=EXACT)
    assert found.variance_error == pytest.approx(error, abs=EXACT)
    assert found.estimate == pytest.approx(item_variance / (item_variance + annotator_variance + error), abs=EXACT)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic", "ordinal"])
def test_brennan_prediger_is_agreement_beyond_even_chance(weights):
    """Gwet's observed agreement; chance is the mean weight of all pairs of categories."""
    cells = ordinal_grid(40, 4, 3, missing=0.2)
    table = [[None if np.isnan(v) else int(v) for v in row] for row in cells]
    found = brennan_prediger(from_grid(cells, Ordinal(1, 5)), weights=weights, **POINT).estimate
    observed, items = 0.0, 0
    for line in table:
        given = [v - 1 for v in line if v is not None]
        if len(given) > 1:
            pairs = [
                references.weight(weights, a, b, 5) for i, a in enumerate(given) for j, b in enumerate(given) if i != j
            ]
            observed, items = observed + sum(pairs) / len(pairs), items + 1
    chance = sum(references.weight(weights, a, b, 5) for a in range(5) for b in range(5)) / 25
    assert found == pytest.approx((observed / items - chance) / (1 - chance), abs=EXACT)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_conger_averages_agreement_and_chance_over_pairs_of_annotators(weights, missing):
    """Conger (1980, eq. 5): chance of each two annotators from their own labels, one pair after the other."""
    cells = ordinal_grid(40, 4, 7, missing=missing)
    observed, items = 0.0, 0
    for line in cells:
        given = [int(v) - 1 for v in line if not np.isnan(v)]
        if len(given) > 1:
            each = [
                references.weight(weights, a, b, 5) for i, a in enumerate(given) for j, b in enumerate(given) if i != j
            ]
            observed, items = observed + sum(each) / len(each), items + 1
    shares = [[np.nanmean(np.where(np.isnan(c), np.nan, c == k)) for k in range(1, 6)] for c in cells.T]
    chance = np.mean([
        sum(shares[i][a] * shares[j][b] * references.weight(weights, a, b, 5) for a in range(5) for b in range(5))
        for i in range(4) for j in range(4) if i != j
    ])  # fmt: skip
    found = conger_kappa(from_grid(cells, Ordinal(1, 5)), weights=weights, **POINT).estimate
    assert found == pytest.approx((observed / items - chance) / (1 - chance), abs=EXACT)


def test_lins_concordance_is_his_formula_and_quadratic_kappa():
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    y = 0.8 * x + 0.4 + 0.3 * rng.normal(size=40)
    found = concordance_correlation(from_grid(np.c_[x, y], Interval()))
    lin = 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert found.estimate == pytest.approx(lin, abs=EXACT)
    assert found.low < lin < found.high
    stars = from_grid(ordinal_grid(40, 2, 1), Ordinal(1, 5))
    assert concordance_correlation(stars).estimate == pytest.approx(cohen_kappa(stars, weights="quadratic").estimate)


def test_weights_of_ones_own_are_those_of_their_name():
    labels = from_grid(ordinal_grid(40, 3, 2), Ordinal(1, 5))

    def linear(a, b):
        return 1 - abs(a - b) / 4

    for ask in (cohen_kappa, gwet_ac, conger_kappa, brennan_prediger):
        own, named = ask(labels, weights=linear), ask(labels, weights="linear")
        assert (own.estimate, own.low, own.high) == pytest.approx((named.estimate, named.low, named.high), abs=EXACT)
        assert own.signature != named.signature
    for wrong, words in (
        (lambda a, b: 0.5, "must be 1 between equal labels"),
        (lambda a, b: 1.0 if a == b else 2.0, "must be a number up to 1"),
        (lambda a, b: 1.0 if a == b else a / 10, "must be the same both ways round"),
    ):
        with pytest.raises(DesignError, match=words):
            cohen_kappa(labels, weights=wrong)
