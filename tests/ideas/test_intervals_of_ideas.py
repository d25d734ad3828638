"""The interval of ρ holds the ρ that so many judgments of these experts give; each answers at another level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from worlds import World, noisy, pair_values

import assay
from assay.ideas import validate
from assay.ideas.estimates import jackknife_groups, map_estimate


@pytest.mark.slow
def test_intervals_of_rho_hold_the_truth(monkeypatch):
    monkeypatch.setattr(validate, "SPLITS", 2)  # the ceiling is not looked at
    world = World.of(12, sharpness=0.4)
    measure = {"good": pair_values(noisy(world, 0.7))}
    found = [
        assay.validate_similarity(world.study(floor=3, seed=seed), measure, n_resamples=150).table.row(0, named=True)
        for seed in range(60)
    ]
    true = np.mean([row["estimate"] for row in found])
    held = np.mean([row["low"] <= true <= row["high"] for row in found])
    assert held >= 0.88
    width = np.mean([row["high"] - row["low"] for row in found]) / 3.92
    assert width < 2 * np.std([row["estimate"] for row in found])


def test_groups_that_are_left_out_make_an_interval_at_any_level():
    without = np.array([0.2, 0.5, 0.4, 0.1, 0.3])  # squares of 0.01 + 0.04 + 0.01 + 0.04 + 0 around 0.3
    error = math.sqrt(4 / 5 * 0.1)
    found = jackknife_groups(0.35, without, 0.95)
    assert (found.low, found.high) == pytest.approx((0.35 - 2.7764451 * error, 0.35 + 2.7764451 * error))  # t(4)
    assert found.interval(0.5) == pytest.approx((0.35 - 0.7406971 * error, 0.35 + 0.7406971 * error))
    assert found.p(0.35 + 2.7764451 * error) == pytest.approx(0.05)
    same = jackknife_groups(0.35, np.full(5, 0.35), 0.95)
    assert (same.reason, math.isnan(same.low)) == ("every group of judgments gives the same value", True)


def test_a_function_of_an_estimate_moves_its_ends_and_brings_a_null_back():
    one = jackknife_groups(0.35, np.array([0.2, 0.5, 0.4, 0.1, 0.3]), 0.95)
    found = map_estimate(one, np.tanh, np.arctanh, slope=1 - math.tanh(0.35) ** 2)
    assert found.estimate == pytest.approx(math.tanh(0.35))
    for level, ends in ((0.95, (one.low, one.high)), (0.5, one.interval(0.5))):
        assert found.interval(level) == pytest.approx(np.tanh(ends))
        assert [found.p(end) for end in found.interval(level)] == pytest.approx([1 - level] * 2)
    assert math.isnan(found.p(1.0))
    assert found.standard_error == pytest.approx(one.standard_error * (1 - math.tanh(0.35) ** 2))


def test_the_curve_of_judgments_ends_where_the_p_value_is_one_less_the_level():
    found = assay.judgments_needed(World.of(8, sharpness=1).study(floor=6, overlap=2), n_splits=20, sizes=(500,))
    stepped = found.at(judgments=500)
    for level in (0.9, 0.6):
        assert [stepped.p(end) for end in stepped.interval(level)] == pytest.approx([1 - level] * 2)
    assert stepped.p(stepped.estimate) == 1
    assert math.isnan(stepped.p(0.0))
