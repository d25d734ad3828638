"""The many-facet Rasch model: its gradient, what it finds again, its mean squares."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import assay
from assay.psychometrics.raters.rasch import Rasch
from assay.psychometrics.raters.table import RaschSettings, rater_table

SEVERE = np.array([-0.9, -0.3, 0.0, 0.4, 0.8])


def table(n: int = 200, categories: int = 4, seed: int = 0, wild: bool = False, severe=SEVERE):
    """Labels by the model; where ``wild``, the judge answers at random one time in two."""
    rng = np.random.default_rng(seed)
    theta = 1.5 * rng.normal(size=n)
    steps = np.concatenate([[0.0], np.cumsum(np.linspace(-1, 1, categories - 1))])
    rows = []
    for r, severity in enumerate(severe):
        name = "gpt" if r == len(severe) - 1 else f"ann_{r + 1}"
        logits = np.arange(categories) * (theta - severity)[:, None] - steps
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        label = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, categories - 1)
        if wild and name == "gpt":
            label = np.where(rng.random(n) < 0.5, rng.integers(0, categories, n), label)
        rows += [{"item": f"i{i:03d}", "annotator": name, "label": int(v) + 1} for i, v in enumerate(label)]
    return assay.read(pl.DataFrame(rows), judges=["gpt"], scale=f"1-{categories}")


def test_the_gradient_is_that_of_the_value():
    rasch = Rasch(rater_table(table(40), RaschSettings()), 9)
    x = rasch.start() + 0.3 * np.random.default_rng(1).normal(size=len(rasch.sd))
    _, slope = rasch.value_and_gradient(x)
    numeric = [(rasch.value(x + s) - rasch.value(x - s)) / 2e-5 for s in np.eye(len(x)) * 1e-5]
    np.testing.assert_allclose(slope, numeric, atol=1e-5)


def test_mean_squares_and_their_z_label_by_label():
    """Wright & Masters (1982, ch. 5): residuals over variances, z = (∛v − 1) · 3 / q + q / 3; θ over its points."""
    labels = table(25, seed=2).labels.filter(pl.int_range(pl.len()).mul(7).mod(5) != 0)
    rasch = Rasch(rater_table(assay.read(labels, judges=["gpt"], scale="1-4"), RaschSettings()), 9)
    x = rasch.start() + 0.3 * np.random.default_rng(3).normal(size=len(rasch.sd))
    data, (theta, log_weight) = rasch.table, rasch.grid
    severity, sigma, steps = rasch.severity @ x, np.exp(x[-1]), [0.0, *np.cumsum(x[rasch.steps[0]])]
    n = len(data.raters)
    squares, over, labelled, expected, spread = np.zeros((5, n))

    def chances(r, point):
        weights = np.array([np.exp(k * (sigma * point - severity[r]) - steps[k]) for k in range(4)])
        return weights / weights.sum()

    for i in range(len(data.items)):
        mine = np.flatnonzero(data.item == i)
        where = np.exp(log_weight)
        for at in mine:
            where = where * [chances(data.rater[at], point)[data.value[at]] for point in theta]
        where = where / where.sum()
        for at, (q, point) in itertools.product(mine, enumerate(theta)):
            r, p = data.rater[at], chances(data.rater[at], point)
            mean = sum(k * p[k] for k in range(4))
            variance, fourth = (sum(p[k] * (k - mean) ** e for k in range(4)) for e in (2, 4))
            squares[r] += where[q] * (data.value[at] - mean) ** 2
            over[r] += where[q] * (data.value[at] - mean) ** 2 / variance
            expected[r] += where[q] * variance
            spread[r] += where[q] * (fourth - variance**2)
            labelled[r] += where[q]
    infit, q = squares / expected, np.sqrt(spread) / expected
    found = rasch.mean_squares(x)
    np.testing.assert_allclose(found[0], infit, rtol=1e-9)
    np.testing.assert_allclose(found[1], over / labelled, rtol=1e-9)
    np.testing.assert_allclose(found[2], (infit ** (1 / 3) - 1) * 3 / q + q / 3, rtol=1e-9)


@pytest.fixture(scope="module")
def found():
    return assay.many_facet_rasch(table())


def test_severity_and_spread_are_found_again(found):
    np.testing.assert_allclose(found.rows["estimate"], SEVERE - SEVERE.mean(), atol=0.3)
    assert found.spread.low < 1.5 < found.spread.high
    assert found.reliability > 0.9
    order = found.rows.sort("estimate")["fair_average"].to_list()
    assert order == sorted(order, reverse=True)


def test_every_parameter_answers_at_another_level(found):
    for one in (found.severity[0], found.difficulty[0], found.spread):
        low, high = one.interval(0.5)
        assert one.low < low < high < one.high
        assert one.p(one.estimate) == 1 > one.p(one.high)
    assert found.severity[0].p(0) < 0.01


def test_severe_is_above_0_here_and_below_0_there(found):
    """Logits of severity have the other sign than φ; both say who is severe."""
    assert "Severer than the raters' mean, in logits: gpt" in found.summary()
    other = assay.rater_model(table(), quick=True, starts=1)
    assert np.corrcoef(other.rows["estimate"], found.rows["estimate"])[0, 1] < -0.95


@pytest.mark.slow
def test_intervals_of_severity_hold():
    held = []
    for seed in range(40):
        one = assay.many_facet_rasch(table(60, seed=seed)).rows
        truth = SEVERE - SEVERE.mean()
        held.append((one["low"].to_numpy() <= truth) & (truth <= one["high"].to_numpy()))
    assert 0.90 <= np.mean(held) <= 0.99


def test_mean_squares_are_1_for_who_fits_and_more_for_who_answers_at_random(found):
    np.testing.assert_allclose(found.rows["infit"], 1, atol=0.25)
    assert "does not expect" not in found.summary()
    wild = assay.many_facet_rasch(table(wild=True))
    row = wild.rows.filter(pl.col("annotator") == "gpt").row(0, named=True)
    assert row["infit"] > 1.3
    assert row["fit_p"] < 0.01
    assert "Labels that the model does not expect (infit): gpt" in wild.summary()


def test_raters_alike_earn_no_sentence():
    said = assay.many_facet_rasch(table(80, severe=np.zeros(4), seed=3)).summary()
    assert "Severer" not in said
    assert "More lenient" not in said
    assert "4 raters of 4 not shown to differ" in said


def test_a_rater_with_only_the_highest_label_has_a_finite_severity():
    labels = table(40).labels.with_columns(
        label=pl.when(pl.col("annotator") == "gpt").then(4).otherwise(pl.col("label"))
    )
    rows = assay.many_facet_rasch(assay.read(labels, judges=["gpt"], scale="1-4")).rows
    assert rows["estimate"].is_finite().all()
    assert rows.sort("estimate")["annotator"][0] == "gpt"


# -- what users of FACETS know ----------------------------------------------------------------------------


def test_a_rating_scale_is_fitted_as_by_erm():
    """eRm 1.0-2 (Debian's r-cran-erm), ``RSM`` of the same labels, conditional maximum likelihood; ours is marginal."""
    one = assay.many_facet_rasch(table(1000, seed=4))
    location = np.array([0.1359352, 0.7243499, 0.9847191, 1.4927805, 1.8007520])
    np.testing.assert_allclose(one.rows["estimate"], location - location.mean(), atol=0.01)
    steps = np.array([-0.89177217, 0.1352718, 1.164306]) - 0.1359352
    mine = [float(v.replace("−", "-")) for v in one.items["steps"][0].split(", ")]
    np.testing.assert_allclose(mine, steps, atol=0.03)  # a third of a standard error, .09


def test_separation_by_hand(found):
    """Wright and Masters (1982): variance less mean square error; (4G + 1) / 3 strata."""
    row = found.separation.row(0, named=True)
    value, error = found.severity.value, found.severity.standard_error
    true = np.var(value, ddof=1) - np.mean(error**2)
    assert row["separation"] == pytest.approx(np.sqrt(true / np.mean(error**2)))
    assert row["strata"] == pytest.approx((4 * row["separation"] + 1) / 3)
    assert found.reliability == pytest.approx(true / np.var(value, ddof=1))
    assert found.separation["reason"].to_list() == [None, "there is one of criteria", None]


def test_raters_alike_have_a_reason_in_place_of_strata():
    alike = assay.many_facet_rasch(table(80, severe=np.zeros(4), seed=3))
    assert alike.reliability == 0
    assert alike.separation["reason"][0] == "they differ by no more than their errors"
    assert "Severities are not told apart: they differ by no more than their errors." in alike.summary()


def test_subjects_are_found_again_with_their_errors(found):
    """As far from the truth as their standard errors say, over 200 subjects."""
    truth = 1.5 * np.random.default_rng(0).normal(size=200)
    gap = (found.subjects["estimate"].to_numpy() - truth) / found.subjects["standard_error"].to_numpy()
    assert np.mean(gap**2) == pytest.approx(1, abs=0.25)
    reliability = found.separation["reliability"][2]
    agree = np.corrcoef(found.subjects["estimate"], truth)[0, 1] ** 2
    assert reliability == pytest.approx(agree, abs=0.08)
    assert found.subjects["infit"].mean() == pytest.approx(1, abs=0.15)


def several(bias: float, seed: int = 0):
    """Three criteria; ann_1 severer by so many logits on the second of them alone."""
    rng = np.random.default_rng(seed)
    rows = []
    theta = 1.5 * rng.normal(size=150)
    for r, severity in enumerate([-0.4, 0.0, 0.4, 0.0]):
        for j, hard in enumerate([-0.5, 0.0, 0.5]):
            at = theta - severity - hard - (bias if (r, j) == (0, 1) else 0)
            logits = np.arange(4) * at[:, None] - np.array([0, -1.0, -1.0, 0])
            p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            label = (rng.random((150, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 3)
            rows += [{"item": f"i{i:03d}", "annotator": f"ann_{r + 1}", "criterion": f"c{j}", "label": int(v) + 1}
                     for i, v in enumerate(label)]  # fmt: skip
    return assay.read(pl.DataFrame(rows), scale="1-4")


def test_a_rater_who_is_severer_on_one_criterion_is_named():
    one = assay.many_facet_rasch(several(1.0))
    row = one.bias.filter((pl.col("annotator") == "ann_1") & (pl.col("criterion") == "c1")).row(0, named=True)
    # Against the other criteria: a bias of 1 on one of three moves the rater's mean by a third.
    assert row["estimate"] == pytest.approx(1, abs=0.4)
    assert row["p_adjusted"] < 0.01
    assert "Severer (+) or more lenient (−) on a criterion than elsewhere: ann_1 on c1" in one.summary()
    assert one.bias.height == 12


@pytest.mark.slow
def test_raters_without_bias_are_not_named():
    """The planted nothing: 12 comparisons, of 20 tables at most 3 name anybody."""
    found = [assay.many_facet_rasch(several(0.0, seed)).bias for seed in range(20)]
    assert sum(bool((one["p_adjusted"] <= 0.05).any()) for one in found) <= 3
    z = np.concatenate([(one["estimate"] / one["standard_error"]).to_numpy() for one in found])
    assert np.var(z) == pytest.approx(1, abs=0.3)


def test_the_map_has_subjects_raters_and_steps(found):
    ax = found.plot_map()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["subjects", "raters", "criteria", "steps"]
    shown = {t.get_text() for t in ax.texts}
    assert {"ann_1", "gpt", "step 1", "step 3"} <= shown
