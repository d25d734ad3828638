"""The many-facet Rasch model: its gradient, what it finds again, its mean squares."""

from __future__ import annotations

import dataclasses
import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgba
from rated import facet_rasch_of
from scipy import stats
from test_rater_table import table_of

import assay
import references
from assay.errors import DesignError
from assay.psychometrics.raters import rasch as module
from assay.psychometrics.raters.rasch import FacetRasch, Rasch, separation_statistics
from assay.psychometrics.raters.table import RaschSettings, rater_table
from assay.reporting import pictures

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


def halo_study(seed: int, shared: float):
    """Raters of equal severity label four criteria of 60 texts; ``shared``: the error of a rater on all of a text."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 0.8, 60)[:, None] + rng.normal(0, 0.4, (60, 4))
    rows = []
    for r in range(4):
        seen = quality + rng.normal(0, shared, (60, 1)) + rng.normal(0, 0.6, (60, 4))
        label = np.clip(np.rint(seen), 1, 5).astype(int)
        rows += [(f"t{t}", f"c{c}", f"r{r}", label[t, c]) for t in range(60) for c in range(4)]
    frame = pl.DataFrame(rows, schema=["item", "criterion", "annotator", "label"], orient="row")
    return assay.read(frame, scale="1-5")


def test_raters_who_err_on_whole_texts_do_not_seem_to_differ_in_severity():
    """A halo: without wider intervals, a false difference in a quarter of such studies."""
    found = [assay.many_facet_rasch(halo_study(seed, 0.5)) for seed in range(16)]
    assert sum((one.rows["p_adjusted"] < 0.05).any() for one in found) <= 2
    assert "allow for errors that a rater's labels of the same item share" in found[0].summary()
    assert "allow for errors" not in assay.many_facet_rasch(halo_study(0, 0.0)).summary()


@pytest.mark.parametrize("shared", [0.5, 0.0])
def test_items_of_one_teacher_are_cautioned_if_no_object_is_named(shared):
    rng = np.random.default_rng(2)
    quality, whim = rng.normal(3, 0.7, (15, 8)), rng.normal(0, shared, (4, 15, 1))
    label = np.clip(np.rint(quality + whim + rng.normal(0, 0.6, (4, 15, 8))), 1, 5).astype(int)
    rows = [(f"x{8 * t + k}", f"T{t}", f"r{r}", label[r, t, k]) for r, t, k in np.ndindex(4, 15, 8)]
    labels = assay.read(pl.DataFrame(rows, schema=["item", "teacher", "annotator", "label"], orient="row"), scale="1-5")
    advice = "Set object='teacher' (--object teacher)."
    for model in (assay.many_facet_rasch, partial(assay.rater_model, quick=True, starts=1)):
        assert any(one.endswith(advice) for one in model(labels).cautions) == (shared > 0)
        assert not any(one.endswith(advice) for one in model(labels, object="teacher").cautions)


def with_constant(share: float, seed: int = 3, label: int = 3):
    """Three people, and a judge with one label for this share of 120 items and others at random."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1.1, 120)
    severe = {"ann_0": -0.6, "ann_1": 0.0, "ann_2": 0.2}
    said = {who: np.clip(np.rint(quality + d + rng.normal(0, 0.6, 120)), 1, 5) for who, d in severe.items()}
    said["gpt"] = np.where(rng.random(120) < share, label, rng.integers(1, 6, 120))
    rows = [(f"i{i}", who, int(labels[i])) for who, labels in said.items() for i in range(120)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    people = assay.read(frame.filter(pl.col("annotator") != "gpt"), scale="1-5")
    return assay.read(frame, judges=["gpt"], scale="1-5"), people


def refused(labels) -> bool:
    with pytest.raises(DesignError, match="two raters whose labels vary with the items; those of gpt do not"):
        assay.many_facet_rasch(labels)
    return True


@pytest.mark.parametrize(("share", "label"), [(1.0, 3), (0.95, 3), (1.0, 5)])
def test_a_rater_that_repeats_one_label_is_left_out(share, label):
    """A fit would take its labels as the ideal ratings, or place its severity beyond the ends of the scale."""
    labels, people = with_constant(share, label=label)
    assert assay.many_facet_rasch(labels).rows.equals(assay.many_facet_rasch(people).rows)
    found = assay.rater_model(labels, quick=True, starts=1)
    assert found.rows.equals(assay.rater_model(people, quick=True, starts=1).rows)
    assert "1 rater (gpt): labels barely vary and do not follow the items" in found.summary()
    assert share < 1 or refused(labels.where(annotator=["ann_1", "gpt"]))


def test_a_rater_with_few_other_labels_is_kept_where_few_subjects_show_no_relation():
    """Of four teachers no correlation is known, so that one label on nine of ten lessons is no reason."""
    rng = np.random.default_rng(5)
    label = np.clip(np.rint(3 + np.repeat([-1, 0, 0, 1], 10) + rng.normal(0, 0.9, (3, 40))), 1, 5).astype(int)
    rare = np.where(np.arange(40) % 12 == 11, label[0], 3)
    rows = [(f"x{i}", f"T{i // 10}", f"r{r}", int(one[i])) for r, one in enumerate((*label, rare)) for i in range(40)]
    frame = pl.DataFrame(rows, schema=["item", "teacher", "annotator", "label"], orient="row")
    found = assay.many_facet_rasch(assay.read(frame, scale="1-5"), object="teacher")
    assert found.rows["annotator"].to_list() == ["r0", "r1", "r2", "r3"]


def test_raters_of_a_rare_label_and_severe_raters_are_kept():
    labels, _ = with_constant(0.5)
    assert "gpt" in assay.many_facet_rasch(labels).rows["annotator"]
    rng = np.random.default_rng(1)
    rare = rng.random(60) < 0.05
    rows = [(i, who, int(rare[i] and who != "c")) for i in range(60) for who in "abc"]
    found = assay.many_facet_rasch(assay.read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")))
    assert found.rows["annotator"].to_list() == ["a", "b", "c"]


def test_a_reversed_rater_is_cautioned():
    frame = with_constant(0.5)[1].to_polars()
    turned = pl.when(pl.col("annotator") == "ann_2").then(6 - pl.col("label")).otherwise("label")
    labels = assay.read(frame.with_columns(label=turned), scale="1-5")
    assert "labels are negatively correlated with the others': ann_2" in assay.many_facet_rasch(labels).summary()


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


@pytest.mark.slow
def test_severe_is_above_0_here_and_below_0_there(found):
    """Logits of severity have the other sign than φ; both say who is severe."""
    assert "Significantly more severe than the mean (logits): gpt" in found.summary()
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
    assert "Misfit (infit > 1.3): gpt" in wild.summary()


def test_equal_raters_have_no_sentence():
    found = assay.many_facet_rasch(table(80, severe=np.zeros(4), seed=3)).summary()
    assert "Severer" not in found
    assert "More lenient" not in found
    assert "4 of 4 raters: no significant difference" in found


def test_a_rater_with_only_the_highest_label_has_a_finite_severity():
    labels = table(12, severe=SEVERE - 2.5).labels.with_columns(  # most labels of the others are the highest, too
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
    assert found.separation["reason"].to_list() == [None, "only one of criteria", None]


def test_equal_raters_have_a_reason_instead_of_strata():
    alike = assay.many_facet_rasch(table(80, severe=np.zeros(4), seed=3))
    assert alike.reliability == 0
    assert alike.separation["reason"][0] == "their differences do not exceed their standard errors"
    assert (
        "Reliability of severities not estimable: their differences do not exceed their standard errors."
        in alike.summary()
    )


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
    assert "Significantly more severe (+) or more lenient (−) on one criterion: ann_1 on c1" in one.summary()
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


# -- parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", [False, True])
def test_separation_of_given_estimates(drawn):
    # Values 1, 2, 6 have variance 7, errors 1, 1, 2 a mean square of 2; a posterior's variance is taken as it is.
    found = separation_statistics("raters", np.array([1.0, 2, 6]), np.array([1.0, 1, 2]), drawn=drawn)
    true = 7 if drawn else 5
    assert (found["facet"], found["n"], found["reason"]) == ("raters", 3, None)
    assert (found["rmse"], found["sd"]) == pytest.approx((np.sqrt(2), np.sqrt(true)))
    assert found["separation"] == pytest.approx(np.sqrt(true / 2))
    assert found["strata"] == pytest.approx((4 * np.sqrt(true / 2) + 1) / 3)
    assert found["reliability"] == pytest.approx(true / (true + 2))


def test_separation_not_estimable_has_a_reason():
    one = separation_statistics("criteria", np.array([1.0]), np.array([1.0]))
    assert one["reason"] == "only one of criteria"
    unknown = separation_statistics("raters", np.array([1.0, 2]), np.array([1.0, np.nan]))
    assert unknown["reason"] == "standard errors are not estimable"
    assert np.isnan([one["sd"], unknown["reliability"]]).all()
    # Variance 2, errors of 2: nothing else.
    alike = separation_statistics("raters", np.array([1.0, 3]), np.array([2.0, 0.0]))
    assert alike["reason"] == "their differences do not exceed their standard errors"
    assert (alike["sd"], alike["separation"], alike["reliability"]) == (0, 0, 0)
    exact = separation_statistics("raters", np.array([1.0, 3]), np.zeros(2))
    assert exact["reliability"] == 1
    assert np.isnan(exact["separation"])
    nothing = separation_statistics("raters", np.ones(2), np.zeros(2))
    assert np.isnan(nothing["reliability"])


def rasch_of(values, criteria=1) -> Rasch:
    rows = [(i, j, r, int(v)) for (i, j, r), v in np.ndenumerate(np.array(values))]
    return Rasch(table_of(rows), 7)


def test_a_fit_starts_at_the_shares_of_labels_and_no_farther_than_3():
    # Of the first criterion 2, 4 and 0 labels would be 0, 1, 2 but for the halves; the second has two categories.
    values = np.zeros((40, 2, 2), dtype=int)
    values[:3, 0, 0] = 1
    values[0, 0, 1] = 2
    values[1:, 1] = 1
    found = rasch_of(values)
    assert found.steps.tolist() == [[1, 2], [3, -1]]
    x = found.start()
    assert x[[1, 2]].tolist() == pytest.approx([3, np.log(3.5 / 1.5)])  # log(76.5 / 3.5) = 3.08
    assert x[3] == -3  # log(2.5 / 78.5) = −3.4
    assert (x[[0, 4]] == 0).all()
    # Weak priors: 3 of severities, 5 of steps, 1 of ln σ.
    assert found.sd.tolist() == [3, 5, 5, 5, 1]
    np.testing.assert_allclose(found.severity.sum(axis=0), 0, atol=1e-12)


def test_biases_are_looked_for_between_so_many_raters_and_criteria(monkeypatch):
    rng = np.random.default_rng(1)
    several, best = rasch_of(rng.integers(0, 3, (12, 2, 3))), SimpleNamespace(x=None)
    found, error = np.array([[0.5, -1, 0.1], [0.2, 2.0, np.nan]]), np.array([[0.25, 0.4, 1], [0.4, 0.5, np.nan]])
    monkeypatch.setattr(Rasch, "biases", lambda self, x: (found, error))
    rows = module._bias(several, best)
    assert rows["annotator"].to_list() == ["a", "b", "c"] * 2
    assert rows["criterion"].to_list() == ["c0"] * 3 + ["c1"] * 3
    assert rows["estimate"].to_list() == pytest.approx(found.ravel().tolist(), nan_ok=True)
    z = np.abs(found / error).ravel()[:5]
    wanted = references.holm((2 * stats.norm.sf(z)).tolist())
    assert rows["p_adjusted"].to_list()[:5] == pytest.approx(wanted)
    assert np.isnan(rows["p_adjusted"][5])
    monkeypatch.setattr(module, "MOST_BIASES", 6)
    assert module._bias(several, best).height == 6
    monkeypatch.setattr(module, "MOST_BIASES", 5)
    assert module._bias(several, best).height == 0
    assert module._bias(rasch_of(rng.integers(0, 3, (12, 1, 3))), best).height == 0


def said(rows=(), bias=(), separation=(), converged=True) -> list[str]:
    names = ("annotator", "estimate", "low", "high", "p_adjusted", "infit", "fit_p")
    types = {"annotator": pl.String, **dict.fromkeys(names[1:], pl.Float64)}
    of_bias = {"annotator": pl.String, "criterion": pl.String, "estimate": pl.Float64, "p_adjusted": pl.Float64}
    found = facet_rasch_of(
        pl.DataFrame(list(rows), schema=types, orient="row"), converged=converged,
        bias=pl.DataFrame(list(bias), schema=of_bias, orient="row"),
        separation=pl.DataFrame(list(separation) or {"facet": []}),
    )  # fmt: skip
    return list(found.sentences())


def test_raters_who_do_not_fit_are_named_beyond_the_limits():
    rows = [
        ("a", 0.0, -1.0, 1.0, 1.0, 1.31, 0.05), ("b", 0.0, -1.0, 1.0, 1.0, 1.3, 0.01),
        ("c", 0.0, -1.0, 1.0, 1.0, 2.5, 0.001), ("d", 0.0, -1.0, 1.0, 1.0, 1.9, 0.051),
        ("e", 0.0, -1.0, 1.0, 1.0, 0.76, 0.01), ("f", 0.0, -1.0, 1.0, 1.0, 0.78, 0.01),
    ]  # fmt: skip
    found = said(rows)
    assert found == [
        "6 of 6 raters: no significant difference in severity.",
        "Misfit (infit > 1.3): a (1.31), c (2.50).",
        "Overfit (infit < 0.77): e (0.76).",  # 1 / 1.3 = .769
    ]
    assert said(converged=False)[0] == ("NOT CONVERGED: the fit stopped before a maximum. Do not use these numbers.")


def test_biases_and_separations_are_said():
    bias = [("b", "x", 0.5, 0.05), ("a", "y", -1.0, 0.01), ("c", "x", 3.0, 0.051)]
    separation = [
        {"facet": "raters", "reliability": 0.912, "separation": 3.21, "strata": 4.61, "reason": None},
        {"facet": "criteria", "reliability": 0.5, "separation": 1.0, "strata": 1.7, "reason": None},
        {"facet": "subjects", "reliability": 0.0, "separation": 0.0, "strata": 0.3, "reason": "why"},
    ]
    severe = [("a", 1.0, 0.5, 1.5, 0.01, 1.0, 1.0)]
    assert "Reliability of severities not demonstrated: no rater differs significantly from the mean." in said(
        separation=separation
    )
    assert said(severe, bias=bias, separation=separation) == [
        "Significantly more severe than the mean (logits): a (+1.00 [0.50, 1.50]).",
        (
            "Significantly more severe (+) or more lenient (−) on one criterion: a on y (−1.00 logits), b on x "
            "(+0.50 logits)."
        ),
        "Reliability of severities 0.91: separation 3.2, 4.6 strata.",
        "Reliability of subjects not estimable: why.",
    ]


def test_a_fair_average_counts_from_the_lowest_label_or_from_0_of_words():
    """λ 0.5 and −0.5, no spread, one step at 0: at θ = 0 a label is 1 / (1 + e^λ) above the lowest."""
    rasch = rasch_of(np.array([[[0, 1]], [[1, 1]], [[0, 0]], [[1, 0]]]))
    at = np.linalg.lstsq(rasch.severity, np.array([0.5, -0.5]), rcond=None)[0]
    x = np.array([at[0], 0.0, -50.0])
    severity = rasch.severity @ x
    assert severity.tolist() == pytest.approx([0.5, -0.5])

    class Severity(list):
        value, replicates = severity, np.tile(severity, (20, 1)) + np.random.default_rng(0).normal(size=(20, 2))

    each = Severity(SimpleNamespace(row=lambda: {"estimate": 0.0}, reason=None) for _ in range(2))
    above = [1 / (1 + np.exp(one)) for one in severity]
    for categories, low in (((1, 2), 1), ((4, 5), 4), (("bad", "good"), 0)):
        table = dataclasses.replace(rasch.table, categories=(categories,))
        rows = module._rows(Rasch(table, 7), SimpleNamespace(x=x), each)
        assert rows["fair_average"].to_list() == pytest.approx([low + a for a in above])
        assert rows["labels"].to_list() == [4, 4]


# -- label by label ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_criteria():
    """Six subjects, three raters, a criterion of three categories and one of two; a few labels are missing."""
    rng = np.random.default_rng(5)
    rows = [(i, j, r, int(rng.integers(0, 3 - j))) for i in range(6) for j in range(2) for r in range(3)]
    rows += [(6, 0, 0, 2), (6, 1, 0, 1), (6, 1, 2, 0)]
    rasch = Rasch(table_of([row for k, row in enumerate(rows) if k % 11 != 3]), 7)
    return rasch, rasch.start() + 0.3 * rng.normal(size=len(rasch.sd))


def slow_chances(rasch, x, j, r, point, bias=0.0):
    """P of each category, from ln p(k) / p(k − 1) = σ θ − λ − δ − τ."""
    steps = x[[k for k in rasch.steps[j] if k >= 0]]
    tilt = np.exp(x[-1]) * point - float(rasch.severity[r] @ x) - bias
    logits = np.concatenate([[0], np.cumsum(tilt - steps)])
    return np.exp(logits) / np.exp(logits).sum()


def slow_posterior(rasch, x, subject):
    """The subject's labels as (criterion, rater, value), and how likely each point is."""
    data, (points, log_weight) = rasch.table, rasch.grid
    mine = [(int(data.criterion[k]), int(data.rater[k]), int(data.value[k]))
            for k in np.flatnonzero(data.subject == subject)]  # fmt: skip
    where = np.exp(log_weight)
    for j, r, v in mine:
        where = where * [slow_chances(rasch, x, j, r, point)[v] for point in points]
    return mine, where / where.sum()


def residual_of(rasch, x, j, r, v, point):
    """Square of a label's distance from its mean, its variance, and the variance of the square."""
    p = slow_chances(rasch, x, j, r, point)
    k = np.arange(len(p))
    mean = float(p @ k)
    variance, fourth = (float(p @ (k - mean) ** e) for e in (2, 4))
    return (v - mean) ** 2, variance, fourth - variance**2


def test_subjects_are_means_and_deviations_of_what_may_be(two_criteria):
    rasch, x = two_criteria
    mean, sd, infit, outfit = rasch.subjects(x)
    points = rasch.grid[0]
    at = np.exp(x[-1]) * points
    for subject in range(7):
        mine, where = slow_posterior(rasch, x, subject)
        assert mean[subject] == pytest.approx(where @ at)
        assert sd[subject] == pytest.approx(np.sqrt(where @ at**2 - (where @ at) ** 2))
        each = np.array([[residual_of(rasch, x, *label, point)[:2] for point in points] for label in mine])
        squares, variance = each[..., 0], each[..., 1]
        assert infit[subject] == pytest.approx((squares @ where).sum() / (variance @ where).sum())
        assert outfit[subject] == pytest.approx(((squares / variance) @ where).mean())


@pytest.mark.parametrize("of", [0, 1])
def test_mean_squares_of_criteria_and_of_raters(of, two_criteria):
    rasch, x = two_criteria
    found = rasch.mean_squares(x, of) if of == 0 else rasch.mean_squares(x)
    sums = np.zeros((len(found[0]), 5))
    for subject in range(7):
        mine, where = slow_posterior(rasch, x, subject)
        for label in mine:
            for share, point in zip(where, rasch.grid[0], strict=True):
                square, variance, fourth = residual_of(rasch, x, *label, point)
                sums[label[of]] += share * np.array([square, variance, square / variance, 1, fourth])
    infit, q = sums[:, 0] / sums[:, 1], np.sqrt(sums[:, 4]) / sums[:, 1]
    np.testing.assert_allclose(found[0], infit)
    np.testing.assert_allclose(found[1], sums[:, 2] / sums[:, 3])
    np.testing.assert_allclose(found[2], (infit ** (1 / 3) - 1) * 3 / q + q / 3)


def slow_value(rasch, x, bias):
    """The log posterior, subject by subject."""
    points, log_weight = rasch.grid
    data = rasch.table
    total = -0.5 * float(((x / rasch.sd) ** 2).sum())
    for subject in range(7):
        where = np.exp(log_weight)
        for k in np.flatnonzero(data.subject == subject):
            j, r = data.criterion[k], data.rater[k]
            where = where * [slow_chances(rasch, x, j, r, point, bias[j, r])[data.value[k]] for point in points]
        total += np.log(where.sum())
    return total


@pytest.mark.slow
def test_the_log_posterior_and_its_slopes_subject_by_subject(two_criteria):
    rasch, x = two_criteria
    bias = np.array([[0.3, 0.0, -0.2], [0.0, 0.5, 0.1]])
    value, slope, by_bias = rasch.slopes(x, bias)
    assert value == pytest.approx(slow_value(rasch, x, bias))
    assert rasch.value(x) == pytest.approx(slow_value(rasch, x, 0 * bias))
    numeric = [(slow_value(rasch, x + s, bias) - slow_value(rasch, x - s, bias)) / 2e-5 for s in 1e-5 * np.eye(len(x))]
    np.testing.assert_allclose(slope, numeric, atol=1e-6)
    steps = 1e-5 * np.eye(6).reshape(6, 2, 3)
    numeric = [(slow_value(rasch, x, bias + s) - slow_value(rasch, x, bias - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(by_bias.ravel(), numeric, atol=1e-6)


def test_a_bias_is_its_score_over_the_information_that_the_others_leave(two_criteria):
    rasch, x = two_criteria
    shape, n = (2, 3), len(x)

    def slopes(step):
        _, slope, by_bias = rasch.slopes(x + step[:n], step[n:].reshape(shape))
        return np.concatenate([slope, by_bias.ravel()])

    h = 1e-3
    information = -np.array([(slopes(s) - slopes(-s)) / (2 * h) for s in h * np.eye(n + 6)])
    # Inverses of corners of the inverse: of one bias next to the parameters alone.
    left = [1 / np.linalg.inv(information[np.ix_([*range(n), k], [*range(n), k])])[-1, -1] for k in range(n, n + 6)]
    found, error = rasch.biases(x)
    np.testing.assert_allclose(error.ravel(), 1 / np.sqrt(left), rtol=1e-4)
    np.testing.assert_allclose(found.ravel(), rasch.slopes(x)[2].ravel() / left, rtol=1e-4)


# -- pictures ------------------------------------------------------------------------------------------


def pictured(n_criteria: int = 2, n_raters: int = 3, n_subjects: int = 41) -> FacetRasch:
    steps = ["−1.00, +0.00, +1.00", "+0.50"]
    items = [{"criterion": f"c{j}", "difficulty": 0.25 + j, "steps": steps[j]} for j in range(n_criteria)]
    rows = [{"annotator": f"r{k}", "kind": "judge" if k == 1 else "human", "estimate": 0.5 * k - 0.5,
             "low": 0.5 * k - 1.5, "high": 0.5 * k + 0.5, "reason": None} for k in range(n_raters)]  # fmt: skip
    subjects = pl.DataFrame({"estimate": np.linspace(-2, 2, n_subjects)})
    return facet_rasch_of(pl.DataFrame(rows), items=pl.DataFrame(items), subjects=subjects)


def test_the_severest_rater_is_on_top():
    ax = pictured().plot()
    order = sorted(zip(ax.get_yticks(), [t.get_text() for t in ax.get_yticklabels()], strict=True), reverse=True)
    assert [name for _, name in order] == ["r2", "r1", "r0"]
    assert ax.get_xlabel() == "← lenient    λ, logits    severe →"
    # r1 is a judge: each dot has the colour of who it is.
    colours = {tuple(c) for one in ax.lines for c in [to_rgba(one.get_color())]}
    assert to_rgba(pictures.JUDGE) in colours
    of = {y: to_rgba(one.get_color()) for one in ax.lines if len(set(one.get_ydata())) == 1 for y in one.get_ydata()}
    judge = next(y for y, name in order if name == "r1")
    assert {y for y, colour in of.items() if colour == to_rgba(pictures.JUDGE)} == {judge}
    assert [list(line.get_xdata()) for line in ax.lines if list(line.get_ydata()) == [0, 1]] == [[0, 0]]


@pytest.mark.parametrize("n", [1, 2])
def test_places_on_the_map(n):
    ax = pictured(n).plot_map()
    at = {t.get_text(): (t.xy[0] - 0.06, t.xy[1]) for t in ax.texts}
    wanted = {"r0": (1.1, -0.5), "r1": (1.1, 0), "r2": (1.1, 0.5)}
    if n == 1:
        wanted |= {"step 1": (3.1, -0.75), "step 2": (3.1, 0.25), "step 3": (3.1, 1.25)}
    else:
        wanted |= {"c0": (2.1, 0.25), "c1": (2.1, 1.25), "c0 step 1": (3.1, -0.75), "c0 step 2": (3.1, 0.25),
                   "c0 step 3": (3.1, 1.25), "c1 step 1": (3.1, 1.75)}  # fmt: skip
    assert {*at} == {*wanted}
    for name, place in wanted.items():
        assert at[name] == pytest.approx(place)
    marks = sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines)
    np.testing.assert_allclose(marks, sorted(wanted.values()))
    # Of 41 subjects from −2 to 2 a histogram of 10 bars, the longest .9 wide, next to the first column.
    assert len(ax.patches) == 41 // 4
    assert max(bar.get_width() for bar in ax.patches) == pytest.approx(0.9)
    assert min(bar.get_y() for bar in ax.patches) == pytest.approx(-2, abs=0.05)
    assert sum(bar.get_width() for bar in ax.patches) * 5 / 0.9 == pytest.approx(41)  # the longest holds five
    assert ax.get_xlim() == (0, 4)
    assert ax.get_xticks().tolist() == [0.45, 1.4, 2.4, 3.4]
    assert ax.get_ylabel() == "logits: able, severe, hard ↑"


@pytest.mark.parametrize(("subjects", "bars"), [(1, 6), (24, 6), (28, 7), (96, 24), (400, 24)])
def test_a_quarter_as_many_bars_as_subjects_from_6_to_24(subjects, bars):
    assert len(pictured(n_subjects=subjects).plot_map().patches) == bars
