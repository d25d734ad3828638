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
