"""Properties for any labels, and the text of errors."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies import from_grid, ordinal_grid

import assay
from assay.concordance.agreement import agreement
from assay.concordance.measures import (
    _require_few,
    bias,
    cohen_kappa,
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
from assay.data import ratings as sheets
from assay.data.annotations import Annotations
from assay.data.scales import Interval, Nominal, Ordinal, Text
from assay.errors import DataError, DesignError

COEFFICIENTS = {
    "exact": exact_agreement,
    "within": within_agreement,
    "kappa": cohen_kappa,
    "qwk": lambda labels, *a, **o: cohen_kappa(labels, *a, weights="quadratic", **o),
    "scott": scott_pi,
    "fleiss": fleiss_kappa,
    "ac1": gwet_ac,
    "ac2": lambda labels, *a, **o: gwet_ac(labels, *a, weights="ordinal", **o),
    **{
        f"alpha-{level}": lambda labels, *a, level=level, **o: krippendorff_alpha(labels, *a, level=level, **o)
        for level in ("nominal", "ordinal", "interval", "ratio")
    },
    **{
        kind: lambda labels, *a, kind=kind, **o: correlation(labels, *a, kind=kind, **o)
        for kind in ("pearson", "spearman", "kendall")
    },
    "icc": icc,
    "icc1": lambda labels, *a, **o: icc(labels, *a, form="ICC(1,k)", **o),
    "mae": mae,
    "nmae": nmae,
    "rmse": rmse,
}
ERRORS = ("mae", "nmae", "rmse")

tables = st.builds(
    ordinal_grid,
    n=st.integers(6, 25),
    m=st.integers(2, 4),
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.2]),
)


def same(one, two) -> bool:
    return np.allclose(
        [one.estimate, one.low, one.high], [two.estimate, two.low, two.high], rtol=0, atol=1e-9, equal_nan=True
    )


@pytest.mark.slow
@settings(max_examples=3, deadline=None)  # laws hold it of every question on a larger table
@given(cells=tables, seed=st.integers(0, 100))
def test_order_and_names_of_items_and_annotators_change_nothing(cells, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(cells)), rng.permutation(cells.shape[1])
    scale = Ordinal(1, 5)
    labels = from_grid(cells, scale)
    others = from_grid(cells[rows][:, columns], scale, names=[f"x{j}" for j in columns])
    for name, coefficient in COEFFICIENTS.items():
        try:
            one = coefficient(labels)
        except DesignError:
            continue
        assert same(one, coefficient(others)), name


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_slice_size_changes_nothing(name, monkeypatch):
    labels = from_grid(ordinal_grid(60, 3, 1, missing=0.1), Ordinal(1, 5))
    one = COEFFICIENTS[name](labels)
    monkeypatch.setattr(sheets, "CELLS", 200)
    assert same(one, COEFFICIENTS[name](labels))


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_perfect_agreement(name):
    column = ordinal_grid(30, 1, 4)
    found = COEFFICIENTS[name](from_grid(np.repeat(column, 3, axis=1), Ordinal(1, 5)))
    assert found.estimate == pytest.approx(0.0 if name in ERRORS else 1.0)
    if name in ("exact", "within"):
        # All of 30 items agree: the true share is at least .025 ** (1 / 30) = .884.
        assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 30), 1.0))
        return
    if name in ERRORS or name.startswith("icc"):
        assert np.isnan(found.low)
        assert "same value" in found.reason
        return
    # Of 30 items on which all agree, none says how often they do not: which true values are compatible with that.
    assert 0.5 < found.low < 1.0 == found.high
    assert "score interval" in found.run.interval


@pytest.mark.parametrize("name", [n for n in COEFFICIENTS if n not in ("exact", "within", "ac1", "ac2", *ERRORS)])
def test_one_and_the_same_label_throughout_says_nothing(name):
    found = COEFFICIENTS[name](from_grid(np.full((10, 3), 4.0), Ordinal(1, 5)))
    assert np.isnan(found.estimate)
    assert found.reason == "undefined: all labels are equal"
    json.dumps(found.to_dict())


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(cells=tables, shuffle=st.permutations(range(1, 6)))
def test_categories_without_order_may_be_renamed(cells, shuffle):
    renamed = np.array([np.nan, *map(float, shuffle)])[np.nan_to_num(cells, nan=0).astype(int)]
    labels, others = (from_grid(each, Nominal(range(1, 6))) for each in (cells, renamed))
    for name in ("kappa", "scott", "fleiss", "ac1", "alpha-nominal", "exact"):
        try:
            one = COEFFICIENTS[name](labels)
        except DesignError:
            continue
        assert same(one, COEFFICIENTS[name](others)), name


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), factor=st.floats(0.1, 50), shift=st.floats(-100, 100))
def test_interval_coefficients_do_not_care_about_units(seed, factor, shift):
    cells = np.random.default_rng(seed).normal(size=(30, 1)) + np.random.default_rng(seed + 1).normal(size=(30, 3))
    labels, others = from_grid(cells, Interval()), from_grid(cells * factor + shift, Interval())
    for name in ("alpha-interval", "pearson", "spearman", "icc", "icc1", "qwk"):
        one, two = COEFFICIENTS[name](labels), COEFFICIENTS[name](others)
        assert np.allclose([one.estimate, one.low, one.high], [two.estimate, two.low, two.high], atol=1e-6)


def test_missing_middle_category_keeps_weighted_coefficients():
    cells = np.array([[1, 1], [1, 2], [2, 2], [5, 4], [4, 4], [5, 5], [1, 1], [4, 5]], dtype=float)
    whole = from_grid(cells, Ordinal(1, 5))
    squeezed = from_grid(np.where(cells > 3, cells - 1, cells), Ordinal(1, 4))
    for weights in ("linear", "quadratic"):
        # sklearn without labels= sees four categories, 3 missing, and gives the squeezed figure.
        one, two = cohen_kappa(whole, weights=weights).estimate, cohen_kappa(squeezed, weights=weights).estimate
        assert one > two + 0.005
    assert gwet_ac(from_grid(cells, Ordinal(1, 7))).estimate > gwet_ac(whole).estimate


@pytest.mark.parametrize("method", ["percentile", "bca", "jackknife"])
def test_every_method_gives_an_interval_and_one_seed_one_number(method):
    labels = from_grid(ordinal_grid(80, 3, 2), Ordinal(1, 5))
    for name in COEFFICIENTS:
        one = COEFFICIENTS[name](labels, method=method, n_resamples=300, seed=3)
        assert one.low < one.estimate < one.high
        assert same(one, COEFFICIENTS[name](labels, method=method, n_resamples=300, seed=3))


def test_clusters_are_resampled_whole():
    cells = np.repeat(ordinal_grid(20, 3, 5), 4, axis=0)
    items = pl.DataFrame({"item": [f"i{i:06d}" for i in range(80)], "document": np.repeat(np.arange(20), 4)})
    labels = from_grid(cells, Ordinal(1, 5), items=items)
    one, many = krippendorff_alpha(labels), krippendorff_alpha(labels, clusters="document")
    assert many.estimate == one.estimate
    assert many.high - many.low > 1.7 * (one.high - one.low)
    assert "clusters" in many.run.interval
    with pytest.raises(DataError, match="did you mean 'document'"):
        krippendorff_alpha(labels, clusters="documents")


def test_repeats_are_never_averaged_in_silence():
    rng = np.random.default_rng(0)
    truth = rng.normal(3, 1, 150)
    rows = [
        {"item": i, "annotator": a, "label": truth[i] + rng.normal(0, 1.1), "repeat": r}
        for i in range(150)
        for a in ("m1", "m2")
        for r in range(1, 6)
    ]
    labels = Annotations.from_frame(pl.DataFrame(rows), scale=Interval())
    with pytest.raises(DesignError, match="repeats='first'"):
        icc(labels)
    first, mean, each = (icc(labels, repeats=how) for how in ("first", "mean", "each"))
    assert mean.estimate > first.estimate + 0.25
    assert len(each.annotators) == 10
    assert "repeats:mean" in mean.signature
    assert "Repeated labels: mean." in mean.summary()


def test_missing_cells_are_never_filled_with_means():
    rng = np.random.default_rng(1)
    cells = rng.normal(size=(300, 1)) + rng.normal(0, 0.45, (300, 5))
    whole = icc(from_grid(cells, Interval())).estimate
    cells[rng.random(cells.shape) < 0.3] = np.nan
    filled = np.where(np.isnan(cells), np.nanmean(cells, axis=0), cells)
    labels = from_grid(cells, Interval())
    assert icc(labels).estimate == pytest.approx(whole, abs=0.03)
    assert icc(from_grid(filled, Interval())).estimate < whole - 0.15
    complete = icc(labels, estimator="anova")
    assert complete.exclusions[0].reason == "a missing label"
    assert complete.n_items < 100


def test_icc_table_has_ten_forms_of_mcgraw_and_wong():
    table = icc_table(from_grid(ordinal_grid(20, 3, 3), Ordinal(1, 5))).table
    assert table["case"].to_list() == ["case 1"] * 2 + ["case 2"] * 4 + ["case 3"] * 4
    assert table.filter(pl.col("case") == "case 2")["estimate"].equals(
        table.filter(pl.col("case") == "case 3")["estimate"]
    )


def test_forms_may_be_written_as_the_field_writes_them():
    labels = from_grid(ordinal_grid(20, 3, 3), Ordinal(1, 5))
    for one, two in (("ICC(2,1)", "icc(a, 1)"), ("ICC(3,k)", "C,k"), ("ICC(k)", "ICC(1,k)"), ("1", "ICC(1,1)")):
        assert icc(labels, form=one).estimate == icc(labels, form=two).estimate
    with pytest.raises(DesignError, match="did you mean"):
        icc(labels, form="ICC(B,1)")


def test_more_labels_averaged_are_more_reliable():
    labels = from_grid(ordinal_grid(40, 4, 3), Ordinal(1, 5))
    one = icc(labels, form="ICC(A,1)").estimate
    assert icc(labels, form="ICC(A,k)", k=10).estimate == pytest.approx(10 * one / (1 + 9 * one))


@pytest.mark.parametrize(
    "ask",
    [
        exact_agreement,
        cohen_kappa,
        krippendorff_alpha,
        assay.measures.nmae,
        assay.measures.rmse,
        assay.measures.correlation,
        icc,
    ],
)
@pytest.mark.parametrize("cells", [ordinal_grid(30, 3, 4), np.tile([[1.0], [2.0], [5.0]], (4, 3))])
def test_coefficients_answer_other_levels_and_other_nulls(ask, cells):
    found = ask(from_grid(cells, Ordinal(1, 5)))
    assert found.interval(0.95) == pytest.approx((found.low, found.high), nan_ok=True)
    if np.isfinite(found.low):
        low, high = found.interval(0.8)
        assert found.low <= low <= found.estimate <= high <= found.high
        assert ask(from_grid(cells, Ordinal(1, 5)), confidence=0.8).low == pytest.approx(low)
    if np.isfinite(found.standard_error):
        assert found.p(found.estimate) == pytest.approx(1)
        assert found.p(found.low) == pytest.approx(0.05, abs=0.05)
    with pytest.raises(DesignError, match="level must lie between 0 and 1"):
        found.interval(95)


def test_custom_distance_receives_original_labels():
    rows = [(f"i{i}", who, label) for i, both in enumerate(("nn", "nf", "fp", "pp", "nn", "pn")) for who, label in
            zip("ab", both, strict=True)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, scale=Nominal(["n", "f", "p"]))
    near = {("f", "p"): 0.5, ("p", "f"): 0.5}
    found = krippendorff_alpha(labels, level=lambda a, b: near.get((a, b), float(a != b)))
    # 12 labels: 6 n, 2 f, 4 p. Items differ by 1 (nf), .5 (fp) and 1 (pn); expected over all pairs of labels.
    n, f, p = 6, 2, 4
    observed, expected = 2 * (1 + 0.5 + 1) / 12, 2 * (n * f + n * p + 0.5 * f * p) / (12 * 11)
    assert found.estimate == pytest.approx(1 - observed / expected)
    assert "custom distance" in found.title
    assert "distance:" in found.signature
    for wrong, words in ((lambda a, b: 1.0, "0 between equal"), (lambda a, b: a < b, "both ways"),
                         (lambda a, b: -float(a != b), "0 or a larger")):  # fmt: skip
        with pytest.raises(DesignError, match=words):
            krippendorff_alpha(labels, level=wrong)
    with pytest.raises(DesignError, match="did you mean 'nominal'"):
        krippendorff_alpha(labels, level="nominl")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: fleiss_kappa(t["interval"]), "categories"),
        (lambda t: cohen_kappa(t["interval"], weights="linear"), "requires ordered categories"),
        (lambda t: correlation(t["nominal"]), "requires ordered labels"),
        (lambda t: icc(t["nominal"]), "requires numeric labels"),
        (lambda t: nmae(t["open"]), "a lowest and a highest number"),
        (lambda t: exact_agreement(t["text"]), "other than free text"),
        (lambda t: icc(t["one"]), "agreement requires 2 annotators; the table has 1"),
        (lambda t: bias(t["interval"], ["r0", "r1", "r2"]), "second minus first\\); got 3"),
        (lambda t: krippendorff_alpha(t["interval"], level="cardinal"), "nominal, ordinal, interval or ratio"),
        (lambda t: krippendorff_alpha(t["open"], level="ratio"), "labels of 0 or more"),
        (lambda t: within_agreement(t["interval"], k=-1), "0 or a larger number"),
        (lambda t: correlation(t["interval"], kind="rho"), "pearson, spearman or kendall"),
        (lambda t: icc(t["interval"], estimator="ml"), "anova, components or reml"),
    ],
)
def test_coefficients_refuse_with_reason(call, words):
    cells = ordinal_grid(12, 3, 0)
    rng = np.random.default_rng(0)
    data = {
        "interval": from_grid(cells / 2, Interval(0, 5)),
        "nominal": from_grid(cells, Nominal(range(1, 6))),
        "open": from_grid(rng.normal(size=(9, 3)), Interval()),
        "one": from_grid(cells[:, :1], Ordinal(1, 5)),
        "text": Annotations.from_frame(
            pl.DataFrame({"item": ["a", "a"], "annotator": ["x", "y"], "label": ["so", "or so"]}), scale=Text()
        ),
    }
    with pytest.raises(DesignError, match=words):
        call(data)


def test_unknown_annotator_is_named():
    with pytest.raises(DataError, match="annotator 'r9' is not in the table"):
        cohen_kappa(from_grid(ordinal_grid(10, 3, 0), Ordinal(1, 5)), ["r0", "r9"])


def test_result_is_readable_citable_and_storable():
    found = cohen_kappa(from_grid(ordinal_grid(30, 3, 0), Ordinal(1, 5)), weights="quadratic")
    assert found.table["annotators"].to_list() == ["r0, r1, r2", "r0 & r1", "r0 & r2", "r1 & r2"]
    assert found.signature.startswith("qwk|items:30|annotators:3|labels:90|scale:ordinal:1-5|interval:jackknife-z")
    assert "mean over 3 pairs" in found.summary().lower()
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["estimate"] == found.estimate
    assert found.plot().get_xlabel() == "Cohen's κ, quadratic weights"


@pytest.fixture(scope="module")
def a_label_for_each() -> Annotations:
    """181,000 different labels, as if comments were read as categories."""
    n = 181_000
    labels = pl.DataFrame(
        {
            "item": np.repeat(np.arange(n // 2), 2),
            "annotator": np.tile(["x", "y"], n // 2),
            "label": [f"comment {i}" for i in range(n)],
        }
    )
    return Annotations.from_frame(labels, scale=Nominal())


@pytest.mark.parametrize("name", ["exact", "kappa", "scott", "fleiss", "ac1", "alpha-nominal"])
def test_very_many_categories_are_refused_before_any_array_is_made(name, a_label_for_each):
    with pytest.raises(DesignError, match="there are 181,000 different labels, too many to count each"):
        COEFFICIENTS[name](a_label_for_each)


def test_very_many_ordered_categories_are_refused():
    labels = from_grid(np.array([[0, 1], [5, 4], [1999, 2000]] * 5), Ordinal(0, 2_000))
    for name in ("kappa", "scott", "fleiss", "ac1", "ac2"):
        with pytest.raises(DesignError, match="there are 2,001 different labels, too many to count each"):
            COEFFICIENTS[name](labels)
    assert COEFFICIENTS["qwk"](labels).estimate > 0.9


def test_agreement_says_what_very_many_categories_leave_out(a_label_for_each):
    with pytest.raises(DesignError, match="nothing to compare: there are 181,000 different labels"):
        agreement(a_label_for_each)


def test_thousand_categories_are_accepted_and_more_refused():
    assert _require_few(np.arange(1_000.0)).tolist() == list(range(1_000))
    with pytest.raises(DesignError, match="there are 1,001 different labels, too many to count each"):
        _require_few(np.arange(1_001.0))
