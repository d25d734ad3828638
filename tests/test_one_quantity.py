"""One quantity by two methods: the ICCs of `icc` and the coefficients of `g_study` on items crossed with annotators.

ICC(A,1) and Φ, ICC(C,1) and Eρ² are the same shares of variances. Both methods give the same number by REML, and if no
label is missing and the analysis of variance has no variance below 0; otherwise each result names its estimator.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import optimize

import assay
import references
from assay.concordance.page import agreement_parts
from assay.psychometrics.page import g_study_parts

Grid = list[list[float | None]]

NOT_REML = (
    "ICC: labels are missing, so variances are estimated by Henderson's method 1; REML (g_study) gives different values"
)
REML = "variances by restricted maximum likelihood (REML)"

# Six items, three annotators, four labels missing.
INCOMPLETE: Grid = [[1, 2, None], [3, 3, 4], [2, None, 3], [5, 4, 5], [None, 1, 2], [4, None, 3]]


def table(grid: Grid) -> assay.Annotations:
    rows = [(f"i{i}", f"a{j}", v) for i, line in enumerate(grid) for j, v in enumerate(line) if v is not None]
    return assay.read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), scale="interval")


def test_a_human_and_another_one_of_two_have_the_interval_of_the_pair():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, 40)
    labels = assay.read(pl.DataFrame({"item": [f"d{i}" for i in range(40)], **{
        who: np.clip(truth + rng.integers(-1, 2, 40) * (rng.random(40) < 0.4), 1, 4) for who in ("ann", "bob", "m")
    }}), layout="wide", judges=["m"], scale="1-4")  # fmt: skip
    found = assay.agreement(labels).table.filter(pl.col("second").is_in(["a human", "bob"]))
    same = found.filter(pl.col("who") == "human pairs", second="a human").join(
        found.filter(pl.col("who") == "pairs", pl.col("first") == "ann"), on="coefficient"
    )
    equal = same.filter((pl.col("estimate") - pl.col("estimate_right")).abs() < 1e-9)
    assert {"krippendorff-alpha-ordinal", "exact-agreement", "fleiss-kappa"} <= {*equal["coefficient"]}
    assert equal.select("low", "high").rows() == equal.select("low_right", "high_right").rows()


def study(labels: assay.Annotations) -> assay.results.GStudy:
    return assay.g_study(labels, "p x r", "p", facets={"p": "item", "r": "annotator"}, method="none")


def test_icc_equals_g_study_in_complete_table() -> None:
    rng = np.random.default_rng(5)
    grid = rng.normal(size=(12, 1)) + 0.5 * rng.normal(size=(1, 4)) + 0.7 * rng.normal(size=(12, 4))
    labels = table(grid.tolist())
    found = study(labels)
    absolute, consistent = (assay.measures.icc(labels, form=form) for form in ("ICC(A,1)", "ICC(C,1)"))
    assert min(absolute.variance_items, absolute.variance_annotators, absolute.variance_error) > 0
    assert absolute.estimate == pytest.approx(found.dependability, abs=1e-7)
    assert consistent.estimate == pytest.approx(found.generalizability, abs=1e-7)
    assert "(two-way random, analysis of variance, k = 4)" in absolute.summary()
    assert NOT_REML not in absolute.notes


def test_icc_is_below_0_where_g_study_is_0() -> None:
    # Item means are all 2, those of annotators 1.5 and 2.5. SS_item = 0 (df 3), SS_annotator = 8 × .5² = 2 (df 1),
    # SS_total = 4, so SS_rest = 2 (df 3). ANOVA: rest 2/3, items (0 - 2/3) / 2 = -1/3, annotators (2 - 2/3) / 4 = 1/3;
    # ICC(A,1) = -1/3 / (-1/3 + 1/3 + 2/3) = -1/2. REML holds items at 0 and pools them with the rest:
    # (0 + 2) / (3 + 3) = 1/3, and annotators are (2 - 1/3) / 4 = 5/12.
    labels = table([[1, 3], [2, 2], [1, 3], [2, 2]])
    found = assay.measures.icc(labels)
    assert (found.variance_items, found.variance_annotators, found.variance_error) == pytest.approx(
        (-1 / 3, 1 / 3, 2 / 3)
    )
    assert found.estimate == pytest.approx(-0.5)
    assert study(labels).components["estimate"].to_list() == pytest.approx([0, 5 / 12, 1 / 3], abs=1e-6)
    assert study(labels).dependability == 0


def henderson(grid: Grid) -> tuple[float, float, float]:
    """Variances of items, annotators and error by Henderson's (1953) method 1, from plain sums."""
    cells = {(i, j): float(v) for i, line in enumerate(grid) for j, v in enumerate(line) if v is not None}
    n, total = len(cells), sum(cells.values())
    margins = []
    for axis in (0, 1):
        levels = {key[axis] for key in cells}
        margins.append({one: [v for key, v in cells.items() if key[axis] == one] for one in levels})
    squares = [sum(sum(v) ** 2 / len(v) for v in margin.values()) - total**2 / n for margin in margins]
    squares.append(sum(v * v for v in cells.values()) - total**2 / n)
    # A level's label is in a level of the other facet once, so that Σ_j n_ij² / n_i. = 1 for each level.
    k = [sum(len(v) ** 2 for v in margin.values()) / n for margin in margins]
    a, b = (len(margin) for margin in margins)
    left = [[n - k[0], a - k[1], a - 1], [b - k[0], n - k[1], b - 1], [n - k[0], n - k[1], n - 1]]
    return tuple(np.linalg.solve(left, squares))


def restricted(grid: Grid) -> tuple[float, float, float]:
    """The same by REML: the dense restricted likelihood of references.py, minimised over standard deviations."""
    at = [(i, j) for i, line in enumerate(grid) for j, v in enumerate(line) if v is not None]
    value = np.array([grid[i][j] for i, j in at], dtype=float)
    codes = [[i for i, _ in at], [j for _, j in at]]
    best = optimize.minimize(
        lambda sd: references.deviance(value, codes, sd**2, True), np.ones(3), method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 10_000, "maxfev": 10_000},
    )  # fmt: skip
    return tuple(best.x**2)


def test_icc_and_g_study_name_estimators_with_missing_labels() -> None:
    labels = table(INCOMPLETE)
    found, fitted = assay.measures.icc(labels), study(labels)
    items, annotators, error = henderson(INCOMPLETE)
    assert found.estimate == pytest.approx(items / (items + annotators + error), abs=1e-12)
    items, annotators, error = restricted(INCOMPLETE)
    assert fitted.dependability == pytest.approx(items / (items + annotators + error), abs=1e-5)
    assert fitted.generalizability == pytest.approx(items / (items + error), abs=1e-5)
    assert abs(found.estimate - fitted.dependability) > 0.005, "two values of one quantity"
    assert NOT_REML in found.notes
    assert NOT_REML in found.to_dict()["notes"]
    assert (
        "(two-way random, Henderson's method 1, k = 2.25, the harmonic mean number of labels per item)"
        in found.summary()
    )
    assert NOT_REML in assay.measures.icc_table(labels).notes
    assert REML in fitted.notes
    assert REML in fitted.to_dict()["notes"]
    assert NOT_REML in assay.measures.icc(labels, estimator="components").notes
    assert NOT_REML not in assay.measures.icc(labels, form="ICC(1)").notes, "one-way"
    # The two complete items alone, by the analysis of variance.
    assert "analysis of variance" in assay.measures.icc(labels, estimator="anova").summary()
    assert NOT_REML not in assay.measures.icc(labels, estimator="anova").notes


@pytest.mark.slow
@pytest.mark.parametrize(
    "grid",
    [
        INCOMPLETE,
        [[1, 3], [2, 2], [1, 3], [2, 2]],  # no variance between items
        [[5, 3, 4], [2, 1, None], [4, None, 4], [1, 1, 2], [3, 2, None]],
    ],
)
def test_icc_by_reml_equals_g_study(grid: Grid) -> None:
    labels = table(grid)
    absolute, consistent = (assay.measures.icc(labels, form=f, estimator="reml") for f in ("ICC(A,1)", "ICC(C,1)"))
    fitted = study(labels)
    assert absolute.estimate == pytest.approx(fitted.dependability, abs=1e-6)
    assert consistent.estimate == pytest.approx(fitted.generalizability, abs=1e-6)
    variances = [absolute.variance_items, absolute.variance_annotators, absolute.variance_error]
    assert variances == pytest.approx(fitted.components["estimate"].to_list(), abs=1e-5)
    assert variances == pytest.approx(restricted(grid), abs=1e-5)
    assert "restricted maximum likelihood (REML)" in absolute.summary()
    assert NOT_REML not in absolute.notes
    assert absolute.f_test is None
    assert "estimator:reml" in absolute.signature


def test_icc_by_reml_equals_g_study_in_many_tables() -> None:
    rng = np.random.default_rng(3)
    for n, m, missing, severity in ((40, 4, 0.3, 0.5), (30, 6, 0.6, 0.0), (25, 3, 0.2, 2.0), (15, 5, 0.0, 0.1)):
        cells = rng.normal(size=(n, 1)) + severity * rng.normal(size=(1, m)) + 0.7 * rng.normal(size=(n, m))
        there = rng.random((n, m)) >= missing
        labels = table([[float(v) if known else None for v, known in zip(row, one, strict=True)]
                        for row, one in zip(cells, there, strict=True)])  # fmt: skip
        found = assay.measures.icc(labels, estimator="reml", method="none")
        assert found.estimate == pytest.approx(study(labels).dependability, abs=1e-6)


@pytest.mark.slow
def test_icc_by_reml_has_intervals_and_limits() -> None:
    rng = np.random.default_rng(4)
    cells = rng.normal(size=(30, 1)) + 0.7 * rng.normal(size=(30, 4))
    labels = table(cells.tolist())
    whole, likely = (assay.measures.icc(labels, estimator=e) for e in ("anova", "reml"))
    assert likely.estimate == pytest.approx(whole.estimate, abs=0.02)
    assert (likely.low, likely.high) == pytest.approx((whole.low, whole.high), abs=0.05)
    fixed = assay.measures.icc(labels, estimator="reml", raters="fixed", method="percentile", n_resamples=200)
    assert fixed.low < fixed.estimate < fixed.high
    one = assay.measures.icc(labels, form="ICC(1)", estimator="reml")
    assert one.estimate == pytest.approx(assay.measures.icc(labels, form="ICC(1)").estimate, abs=1e-6), "balanced"
    assert "one-way random, restricted maximum likelihood" in one.summary()
    equal = table([[float(k)] * 3 for k in range(6)])
    assert assay.measures.icc(equal, estimator="reml").estimate == pytest.approx(1)
    table_ = assay.measures.icc_table(labels, estimator="reml")
    assert table_.table["f_low"].null_count() == 10
    many = table(rng.normal(size=(3, 31)).tolist())
    with pytest.raises(assay.errors.DesignError, match="an ICC by REML allows 30 annotators, not 31"):
        assay.measures.icc(many, estimator="reml")


def test_g_study_names_henderson_with_missing_labels() -> None:
    facets = {"p": "item", "r": "annotator"}
    for grid, words in (
        (INCOMPLETE, "Henderson's method 1"),
        ([[1, 2], [3, 3], [5, 4], [2, 4]], "analysis of variance"),
    ):
        found = assay.g_study(table(grid), "p x r", "p", facets=facets, estimator="anova", method="none")
        assert f"variances by {words}" in found.notes
    ml = assay.g_study(table(INCOMPLETE), "p x r", "p", facets=facets, estimator="ml", method="none")
    assert "variances by full maximum likelihood" in ml.notes


def test_pages_name_both_estimators() -> None:
    labels = table(INCOMPLETE)
    agreed = assay.agreement(labels, coefficients=["icc(a,1)"])
    assert NOT_REML in agreement_parts(agreed)[0].lines
    assert REML in g_study_parts(study(labels))[0].lines
    alpha = assay.agreement(labels, coefficients=["krippendorff-alpha-interval"])
    assert NOT_REML not in alpha.notes, "a page without an ICC"


def test_icc_averages_the_harmonic_mean_of_labels() -> None:
    # Items have 2, 3, 2, 3, 2 and 2 labels: 6 / (4/2 + 2/3) = 6 / (8/3) = 2.25. ICC(A,k) of it is Spearman and Brown's.
    labels = table(INCOMPLETE)
    one, mean = assay.measures.icc(labels).estimate, assay.measures.icc(labels, form="ICC(A,k)")
    assert mean.k == pytest.approx(2.25)
    assert mean.estimate == pytest.approx(2.25 * one / (1 + 1.25 * one))
    given = assay.measures.icc(labels, form="ICC(A,k)", k=2.5)
    assert "k = 2.5)" in given.summary(), "a k that was given is no harmonic mean"


def test_icc_of_means_has_no_f_interval_below_minimum() -> None:
    """ICC of one label below -1/(k-1) has no value for means of k: k x / (1 + (k-1) x) has its pole there."""
    labels = table([[None, 3, 2], [None, 2, 5], [1, 2, 1]])
    single = assay.measures.icc(labels).f_test
    assert single is not None
    mean = assay.measures.icc(labels, form="ICC(A,k)")
    assert single.low < -1 / (mean.k - 1)
    assert mean.f_test is None
    assert all(
        row["low"] is None or math.isnan(row["low"]) or row["low"] < row["high"] for row in mean.table.to_dicts()
    )
