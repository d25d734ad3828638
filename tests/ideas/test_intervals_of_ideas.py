"""The interval of ρ holds the ρ that so many judgments of these experts give."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import World, noisy, pair_values

import assay
from assay.ideas import validate


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
