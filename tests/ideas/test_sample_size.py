"""How many judgments are enough: the plan's promise kept, the curve, the numbers needed, what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from worlds import World

import assay
from assay.errors import DesignError


def test_truth_is_recovered_at_the_floor_that_the_plan_names():
    """Studies simulated apart from the planner, at the floor that it names, rank pairs as the truth does."""
    plan = assay.plan_triplets(12, agreement=0.62, floors=(3, 10, 20, 40), n_studies=60, seed=3)
    row = plan.smallest
    assert row["floor"] > 3
    found = []
    for seed in range(12):
        world = World.of(12, sharpness=0.45, seed=50 + seed)
        labels = world.study(floor=-(-row["floor"] // row["overlap"]), overlap=row["overlap"], people=4, seed=seed)
        truth = world.truth()
        table = assay.triplet_similarity(labels).table
        wanted = [truth[r] for r in table.select(pl.lit("d0"), "first", "second").iter_rows()]
        found.append(spearmanr(table["estimate"], wanted).statistic)
    assert np.mean(found) > 0.9
    assert np.mean(np.array(found) > 0.88) >= 0.8


def test_more_comparisons_and_more_agreement_reach_more():
    few = assay.plan_triplets(8, agreement=0.5, floors=(2, 12), n_studies=40)
    many = assay.plan_triplets(8, agreement=0.75, floors=(2, 12), n_studies=40)
    assert few.table["rho"].is_sorted()
    assert (many.table["rho"] > few.table["rho"]).all()
    assert few.table["overlap"].to_list() == [1, 2]
    assert few.smallest is None
    assert "None of these numbers reaches" in few.summary()


def test_a_pilot_gives_its_agreement():
    labels = World.of(9, sharpness=1).study(floor=4, overlap=2)
    pilot = assay.plan_triplets(9, pilot=labels, floors=(2,), n_studies=20)
    agreed = assay.odd_one_out_agreement(labels, who=["humans"]).humans["agreement"]
    assert pilot.run.settings.agreement == pytest.approx(agreed)
    with pytest.raises(DesignError, match="both say how far experts agree"):
        assay.plan_triplets(pilot=labels, agreement=0.5)


def test_judgments_at_hand_say_what_others_like_them_would_reach():
    world = World.of(10, sharpness=0.6)
    labels = world.study(floor=8, overlap=2)
    found = assay.judgments_needed(labels, n_splits=60)
    at = found.table.filter(pl.col("judgments") == len(labels)).row(0, named=True)
    again = []
    first = assay.triplet_similarity(labels).table
    for seed in range(1, 6):
        other = assay.triplet_similarity(world.study(floor=8, overlap=2, seed=seed)).table
        both = first.join(other, on=["first", "second"])
        again.append(spearmanr(both["estimate"], both["estimate_right"]).statistic)
    assert at["estimate"] == pytest.approx(np.mean(again), abs=0.1)
    assert at["published"] > at["estimate"]
    assert found.table["estimate"].to_numpy()[-1] > found.table["estimate"].to_numpy()[0]
    assert found.needed_low <= found.needed <= found.needed_high


def test_the_smallest_number_reaches_the_target():
    labels = World.of(10, sharpness=0.6).study(floor=8, overlap=2)
    need = assay.judgments_needed(labels, target=0.7, n_splits=40)
    more = assay.judgments_needed(labels, target=0.95, n_splits=40)
    assert need.needed < more.needed
    reached = assay.judgments_needed(labels, target=0.7, n_splits=40, sizes=[need.needed, 4 * need.needed])
    rows = reached.table.filter(pl.col("judgments") == 4 * need.needed)
    assert rows["estimate"][0] > 0.7
    assert rows["stepped"][0]


def test_who_does_not_look_never_agrees():
    rng = np.random.default_rng(5)
    labels = World.of(9).study(floor=5)
    blind = labels.labels.join(labels.items, on="item") if labels.items.width > 1 else labels.labels
    blind = blind.with_columns(label=pl.Series(np.array(list("ABC"))[rng.integers(0, 3, blind.height)]))
    found = assay.judgments_needed(assay.read(blind, scale="odd-one-out", humans=list(labels.humans)), n_splits=40)
    assert found.needed is None or found.needed > 1000
    assert found.needed_high is None


def test_too_few_choices_are_refused():
    with pytest.raises(DesignError, match="cannot be halved"):
        assay.judgments_needed(World.of(5).study(floor=1))
