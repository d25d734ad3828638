"""Places fitted to odd ones out: better than counting where pairs are sparse, slopes, intervals, what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import check_grad
from scipy.stats import spearmanr
from worlds import World

import assay
from assay.errors import DesignError
from assay.reporting.tables import said
from assay.statistics.odd_one_out import Model


def test_the_slope_is_that_of_the_loss():
    rng = np.random.default_rng(1)
    member = np.stack([rng.choice(6, 3, replace=False) for _ in range(30)])
    model = Model.of(member, rng.integers(0, 3, 30), 6, 2)
    assert model.kept.sum() == 30
    place = rng.normal(size=12)
    assert check_grad(lambda x: model._loss(x)[0], lambda x: model._loss(x)[1], place) < 1e-5


def test_sparse_designs_are_ranked_better_than_by_counting():
    gains, foretold = [], []
    for seed in range(3):
        world = World.of(24, sharpness=0.8, seed=seed)
        labels = world.study(floor=1, seed=seed)
        some = labels.where(item=sorted(labels.items["item"].to_list(), key=int)[:80])
        truth = world.truth()
        model = assay.triplet_embedding(some, dimensions=3, n_resamples=0).table
        counts = assay.triplet_similarity(some).table
        assert model.height == 276
        both = counts.join(model, on=["first", "second"])
        wanted = [truth["d0", a, b] for a, b in both.select("first", "second").iter_rows()]
        gains.append(
            spearmanr(both["estimate_right"], wanted).statistic - spearmanr(both["estimate"], wanted).statistic
        )
        never = model.filter(pl.col("n") == 0)
        other = [truth["d0", a, b] for a, b in never.select("first", "second").iter_rows()]
        foretold.append(spearmanr(never["estimate"], other).statistic)
    assert np.mean(gains) > 0.1
    assert np.mean(foretold) > 0.3


@pytest.mark.slow
def test_blind_choices_are_foretold_no_better_than_by_chance():
    world = World.of(8)
    blind = World(world.names, world.document, np.zeros_like(world.alike))
    found = assay.triplet_embedding(blind.study(floor=6), n_resamples=0)
    assert found.folds["estimate"].max() < np.log(1 / 3) + 0.02
    assert "no more than chance" in found.summary()
    seen = assay.triplet_embedding(World.of(8, sharpness=1).study(floor=6), n_resamples=0)
    assert seen.folds["estimate"].max() > np.log(1 / 3) + 0.1


def test_intervals_come_from_triplets_drawn_anew():
    found = assay.triplet_embedding(World.of(7).study(floor=3), dimensions=2, n_resamples=25).table
    assert (found["low"] < found["high"]).all()
    assert found.filter((pl.col("low") <= pl.col("estimate")) & (pl.col("estimate") <= pl.col("high"))).height > 15


def test_choices_left_out_are_compared_with_chance():
    found = assay.triplet_embedding(World.of(8, sharpness=1).study(floor=6), folds=2, n_resamples=0)
    mine = found.folds["estimate"].max()
    assert mine > np.log(1 / 3)
    assert f"a mean log likelihood of {said(mine)}: more than chance (−1.10)." in found.summary()


def test_too_few_triplets_need_their_dimensions_said():
    with pytest.raises(DesignError, match="cannot be cross-validated; give dimensions=2"):
        assay.triplet_embedding(World.of(4).study(floor=1), n_resamples=0)
