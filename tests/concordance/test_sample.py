"""Raters fixed or random: the two-way jackknife, by hand and in simulations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid, ordinal_grid, scale_study

import assay
import references
from assay.concordance.agreement import agreement
from assay.concordance.grading_scale import grading_scale_study
from assay.concordance.measures import (
    _TableCounts,
    bias,
    cohen_kappa,
    correlation,
    exact_agreement,
    icc,
    icc_table,
    krippendorff_alpha,
    mae,
)
from assay.data.annotations import Annotations
from assay.data.scales import Interval, Ordinal
from assay.errors import DesignError


def cells(n: int = 40, m: int = 5, seed: int = 2) -> np.ndarray:
    return ordinal_grid(n, m, seed)


def by_hand(y: np.ndarray) -> float:
    return references.icc(y.tolist(), "ICC(A,1)")


def variance(values) -> float:
    each = np.array(values)
    return (len(each) - 1) / len(each) * ((each - each.mean()) ** 2).sum()


def test_icc_interval_leaves_out_items_and_annotators():
    y = cells()
    found = icc(from_grid(y, Ordinal(1, 5)))
    error, *ends = references.random_raters_interval(by_hand, y, range(5), scale="z")
    assert (found.low, found.high) == pytest.approx(tuple(ends))
    assert found.standard_error == pytest.approx(error)
    assert "two-way jackknife interval on Fisher's z scale over 40 items and 5 random raters" in found.summary()
    items = variance([by_hand(np.delete(y, i, 0)) for i in range(40)])
    # Mixed: these annotators are the only ones of interest, and only items are a sample.
    mixed = icc(from_grid(y, Ordinal(1, 5)), model="mixed")
    assert mixed.standard_error == pytest.approx(np.sqrt(items))
    assert "over 40 items, raters fixed" in mixed.summary()
    assert icc(from_grid(y, Ordinal(1, 5)), raters="fixed").low == mixed.low


def test_icc_table_has_random_and_fixed_raters():
    table = icc_table(from_grid(cells(), Ordinal(1, 5))).table
    width = dict(zip(table["model"], (table["high"] - table["low"]).to_list(), strict=True))
    assert width["two-way random"] > width["two-way mixed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask",
    [
        cohen_kappa, krippendorff_alpha, lambda *a, **o: correlation(*a, kind="kendall", **o),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (exact_agreement, mae, assay.measures.gwet_ac)),
    ],
)  # fmt: skip
def test_every_coefficient_takes_annotators_for_themselves_or_for_a_sample(ask):
    labels = from_grid(cells(), Ordinal(1, 5))
    plain, these, sample = ask(labels), ask(labels, raters="fixed"), ask(labels, raters="random")
    assert (plain.low, plain.high) == (these.low, these.high)
    assert sample.low < sample.estimate == these.estimate < sample.high
    assert sample.high - sample.low > these.high - these.low
    assert "raters fixed" in these.summary()
    assert "5 random raters" in sample.summary()
    assert len({plain.signature, sample.signature}) == 2

    def by_itself(y: np.ndarray) -> float:
        return ask(from_grid(y, Ordinal(1, 5)), method="none").estimate

    few = cells(8, 4)
    error, *_ = references.random_raters_interval(by_itself, few, range(4))
    assert ask(from_grid(few, Ordinal(1, 5)), raters="random").standard_error == pytest.approx(error)


def test_raters_that_are_named_may_be_random():
    labels = from_grid(cells(), Ordinal(1, 5))
    some = ["r0", "r2", "r3", "r4"]
    found = krippendorff_alpha(labels, some, raters="random")
    alone = krippendorff_alpha(labels.where(annotator=some), raters="random")
    assert (found.estimate, found.low, found.high) == (alone.estimate, alone.low, alone.high)
    assert "4 random raters" in found.summary()


def test_pairs_of_mean_are_unchanged_by_random_raters():
    labels = from_grid(cells(), Ordinal(1, 5))
    these, sample = cohen_kappa(labels), cohen_kappa(labels, raters="random")
    assert [p[2].row() for p in these.pairs] == [p[2].row() for p in sample.pairs]


def test_two_annotators_are_no_sample():
    found = icc(from_grid(cells(m=2), Ordinal(1, 5)))
    assert np.isnan(found.low)
    assert "cannot be estimated from two annotators" in found.summary()
    assert found.f_test is not None
    assert np.isfinite(icc(from_grid(cells(m=2), Ordinal(1, 5)), raters="fixed").low)


def test_options_that_do_not_go_together_are_refused():
    labels = from_grid(cells(), Ordinal(1, 5))
    with pytest.raises(DesignError, match="an annotator who is drawn twice agrees with itself"):
        krippendorff_alpha(labels, raters="random", method="percentile")
    with pytest.raises(DesignError, match="did you mean 'random'"):
        krippendorff_alpha(labels, raters="randm")
    with pytest.raises(DesignError, match="raters must be fixed or random"):
        agreement(labels, raters="all")
    with pytest.raises(DesignError, match="annotators='sample' is now raters='random'"):
        krippendorff_alpha(labels, "sample")
    with pytest.raises(DesignError, match="is now raters='fixed' or raters='random'"):
        agreement(labels, annotators="these")
    with pytest.raises(DesignError, match="is now scale_column="):
        grading_scale_study(labels, scale="range")
    with pytest.raises(DesignError, match="is now well_aligned="):
        grading_scale_study(labels, threshold=0.2)
    with pytest.raises(DesignError, match="the names of two annotators"):
        bias(labels, "sample")
    # A bootstrap over items treats the annotators as fixed, and reports it.
    assert "raters fixed" in icc(labels, method="percentile", n_resamples=60).summary()


def test_many_annotators_are_left_out_in_groups():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(90, 1)) + 0.5 * rng.normal(size=(90, 130))
    y[rng.random(y.shape) < 0.9] = np.nan
    found = icc(from_grid(y, Interval(), names=[f"r{j:03d}" for j in range(130)]), form="ICC(1)")
    assert "and 50 groups of 130 random raters" in found.run.interval
    assert found.low < found.estimate < found.high


# -- F distributions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ICC(1)", "ICC(C,1)", "ICC(A,1)", "ICC(A,k)"])
def test_three_missing_labels_of_a_thousand_keep_the_f_interval(form):
    y = np.random.default_rng(1).normal(size=(200, 1)) + 0.7 * np.random.default_rng(2).normal(size=(200, 5))
    y += np.array([0, 0.2, -0.3, 0.1, 0.4])
    whole = icc(from_grid(y, Interval()), form=form).f_test
    y[[3, 70, 150], [0, 2, 4]] = np.nan
    found = icc(from_grid(y, Interval()), form=form)
    assert (found.f_test.low, found.f_test.high) == pytest.approx((whole.low, whole.high), abs=0.01)
    assert not found.f_test.exact
    assert "harmonic mean numbers of labels" in found.summary()


def test_icc_1_with_other_annotators_for_each_item_has_its_exact_f_interval():
    """Three of twelve annotators an item: Shrout & Fleiss's case 1, by hand."""
    rng = np.random.default_rng(4)
    y = np.full((30, 12), np.nan)
    for i in range(30):
        y[i, rng.choice(12, 3, replace=False)] = rng.normal() + 0.8 * rng.normal(size=3)
    found = icc(from_grid(y, Interval(), names=[f"r{j:02d}" for j in range(12)]), form="ICC(1)")
    f = 3 * np.nanmean(y, axis=1).var(ddof=1) / np.nanmean(np.nanvar(y, axis=1, ddof=1))
    low, high = f / stats.f.ppf(0.975, 29, 60), f * stats.f.ppf(0.975, 60, 29)
    assert (found.f_test.low, found.f_test.high) == pytest.approx(((low - 1) / (low + 2), (high - 1) / (high + 2)))
    assert found.f_test.exact


# -- comparisons --------------------------------------------------------------------------------------


def people_and_judge(seed: int = 0, people: int = 5) -> Annotations:
    y = ordinal_grid(50, people + 1, seed)
    return from_grid(y, Ordinal(1, 5), names=[*"abcde"[:people], "judge"], judges=["judge"])


def with_consensus(cells: np.ndarray) -> float:
    """The mean distance of the judge from the mean of the people."""
    return np.abs(cells[:, :-1].mean(axis=1) - cells[:, -1]).mean()


def test_two_humans_are_a_sample_for_the_distance_of_the_judge():
    """Either leaves a distance from the other; of the two from each other nothing is left."""
    labels = people_and_judge(people=2)
    rows = agreement(labels, raters="random", coefficients=["mae"]).table
    row = rows.row(by_predicate=(pl.col("who") == "consensus") & (pl.col("second") == "judge"), named=True)
    _, *ends = references.random_raters_interval(with_consensus, labels.matrix(), range(2), scale="log")
    assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
    alone = rows.row(by_predicate=pl.col("who") == "humans", named=True)
    assert "cannot be estimated from two annotators" in alone["reason"]


def test_comparisons_treat_humans_as_random():
    labels = people_and_judge()
    y = labels.matrix()
    these, sample = (agreement(labels, raters=raters, coefficients=["mae"]) for raters in ("fixed", "random"))

    def of(found, who, second=None):
        rows = found.table.filter((pl.col("who") == who) & pl.col("second").eq_missing(pl.lit(second, pl.String)))
        return rows.row(0, named=True)

    alone = mae(labels.where(kind="human"), raters="random")
    assert (of(sample, "humans")["low"], of(sample, "humans")["high"]) == pytest.approx((alone.low, alone.high))

    # The consensus loses each of the five people in turn; the judge is itself.
    row = of(sample, "consensus", "judge")
    _, *ends = references.random_raters_interval(with_consensus, y, range(5), scale="log")
    assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
    assert "5 random raters" in row["interval"]
    # Two that are named are themselves.
    pair = of(sample, "pairs", "judge")
    assert pair == of(these, "pairs", "judge")
    assert "raters fixed" in pair["interval"]
    pairs = [of(found, "human pairs", "judge") for found in (these, sample)]
    assert pairs[0]["high"] - pairs[0]["low"] < pairs[1]["high"] - pairs[1]["low"]


def test_panel_iccs_treat_annotators_as_random():
    found = agreement(people_and_judge(), coefficients=["icc(a,1)", "qwk"], who=["humans", "pairs"])
    words = found.table.filter(pl.col("who") == "humans").select("coefficient", "interval").rows()
    assert {name: "random raters" in interval for name, interval in words} == {"icc(a,1)": True, "qwk": False}
    alone = icc(people_and_judge().where(kind="human"))
    row = found.table.filter((pl.col("who") == "humans") & (pl.col("coefficient") == "icc(a,1)")).row(0, named=True)
    assert (row["low"], row["high"]) == pytest.approx((alone.low, alone.high))


# -- the study of scales ------------------------------------------------------------------------------


@pytest.mark.slow
def test_grading_scale_study_treats_raters_as_random():
    labels = scale_study(per_benchmark=12)
    sample, these = grading_scale_study(labels), grading_scale_study(labels, raters="fixed")
    assert "9 random raters" in sample.summary()
    assert "raters fixed" in these.summary()
    one = [f.differences.filter(pl.col("judge") == "judges' mean").row(0, named=True) for f in (sample, these)]
    assert one[0]["estimate"] == one[1]["estimate"]
    assert one[0]["high"] - one[0]["low"] > one[1]["high"] - one[1]["low"]


def used_differently(seed: int, spread: float, noise: float = 0.0) -> Annotations:
    """Five people and two judges who use two scales a little differently; judges are worse on 0-10 by ``noise``."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.uniform(0.1, 0.9, 60), []
    for scale, top in (("0-5", 5.0), ("0-10", 10.0)):
        for name in ("a", "b", "c", "d", "e", "gpt", "llama"):
            more = noise if scale == "0-10" and name in ("gpt", "llama") else 0.0
            value = truth + rng.normal(0, spread) + rng.normal(0, np.hypot(0.1, more), 60)
            rows += [(f"i{i:02d}", name, top * min(max(v, 0.0), 1.0), scale) for i, v in enumerate(value)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "scale"], orient="row")
    return Annotations.from_frame(frame, judges=["gpt", "llama"], scale=Interval(0, 10), conditions=["scale"])


@pytest.mark.simulation
def test_no_scale_is_better_because_these_raters_use_it_differently():
    shown = {"random": 0, "fixed": 0}
    for seed in range(30):
        labels = used_differently(seed, 0.08)
        for raters in shown:
            found = grading_scale_study(labels, raters=raters).differences
            shown[raters] += found.filter(pl.col("judge") == "judges' mean")["significant"].any()
    assert shown["random"] <= stats.binom.ppf(0.999, 30, 0.05)
    assert shown["fixed"] > 6


@pytest.mark.slow
def test_better_scale_is_still_detected():
    found = [grading_scale_study(used_differently(s, 0.03, noise=0.4)).differences for s in range(3)]
    assert all(f.filter(pl.col("judge") == "gpt")["significant"].any() for f in found)


@pytest.mark.simulation
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("m", [3, 5, 10])
def test_intervals_cover_the_icc_of_a_population_of_annotators(m, unequal):
    rng = np.random.default_rng(m)
    hits = {"random": 0, "fixed": 0}
    for _ in range(60):
        noise = 0.7 * np.exp(0.3 * rng.normal(size=m)) if unequal else np.full(m, 0.7)
        y = rng.normal(size=(60, 1)) + 0.4 * rng.normal(size=m) + noise * rng.normal(size=(60, m))
        truth = 1 / (1 + 0.16 + 0.49 * (np.exp(2 * 0.09) if unequal else 1))
        for raters in hits:
            found = icc(from_grid(y, Interval()), raters=raters)
            hits[raters] += found.low <= truth <= found.high
    assert hits["random"] >= stats.binom.ppf(0.001, 60, 0.94)
    assert hits["fixed"] < hits["random"]


@pytest.mark.slow
def test_iccs_are_drawn_with_both_intervals_on_the_same_axis():
    labels = from_grid(cells(), Ordinal(1, 5))
    whole, one = icc_table(labels).plot(), icc(labels).plot()
    assert one.get_xlim() == whole.get_xlim() == pytest.approx((-0.5, 1.02))
    assert [t.get_text() for t in one.get_legend().get_texts()] == ["jackknife", "F, equal noise"]
    # Ten forms, each with two intervals and two points.
    assert sum(len(line.get_xdata()) == 2 for line in whole.lines) == 20
    drawn = icc_table(labels, method="percentile", n_resamples=60).plot()
    assert drawn.get_legend().get_texts()[0].get_text() == "bootstrap"


def test_panels_with_many_values_are_samples_in_agreement_as_alone():
    """Ranks of labels with many values come with each pair of annotators, and the panel is the mean over them."""
    y = np.round(np.random.default_rng(3).normal(size=(25, 1)) + np.random.default_rng(4).normal(size=(25, 4)), 3)
    labels = from_grid(y, Interval(), judges=["r3"])
    table = agreement(labels, raters="random", who=["humans"], coefficients=["spearman", "kendall"]).table
    assert table.height == 2
    for row in table.iter_rows(named=True):
        alone = correlation(labels.where(kind="human"), raters="random", kind=row["coefficient"])
        assert (row["estimate"], row["low"], row["high"]) == (alone.estimate, alone.low, alone.high)
        assert "3 random raters" in row["interval"]


@pytest.mark.parametrize("raters", ["fixed", "random"])
def test_judges_only_study_has_no_human_comparison(raters):
    labels = from_grid(cells(m=3), Ordinal(1, 5), judges=["r0", "r1", "r2"])
    table = agreement(labels, raters=raters).table
    assert set(table["who"]) == {"judges", "pairs", "rest"}


def test_counts_of_an_incomplete_table_are_harmonic_means():
    """Items with 2, 4 and no labels; annotators with 1, 3 and none: those without labels are left out of both means."""
    ratings = SimpleNamespace(
        annotators=list("abc"), labels_of_item=np.array([2.0, 4.0, 0.0]), complete=False, joint=np.diag([1.0, 3.0, 0.0])
    )
    found = _TableCounts.of(ratings, 3, "A,1", "reml")
    assert (found.items, found.annotators, found.labels, found.balanced) == (2, 2, 6, False)
    assert (found.per_item, found.per_annotator) == pytest.approx((2 / (1 / 2 + 1 / 4), 2 / (1 + 1 / 3)))
    one = _TableCounts.of(ratings, 3, "1", "reml")
    assert (one.items, one.annotators, one.per_annotator, one.balanced) == (2, 3, 3, False)
    whole = _TableCounts.of(SimpleNamespace(**{**vars(ratings), "complete": True}), 5, "A,1", "reml")
    assert (whole.items, whole.labels, whole.per_item, whole.per_annotator, whole.balanced) == (5, 15, 3, 5, True)
