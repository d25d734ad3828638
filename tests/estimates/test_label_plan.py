"""Plans of labels: against simulated studies, by hand, and what active choice does to the estimate."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from checked_studies import checked_study

import assay
from assay.errors import DesignError


def test_a_useless_judge_saves_nothing():
    plan = assay.plan_labels(half_width=0.05, share=0.3, correlation=0.0)
    row = plan.smallest.row(0, named=True)
    assert row["n"] == row["people_alone"]
    assert (plan.table["saved"] == 0).all()
    assert plan.weight == 0


def test_numbers_are_those_of_the_formula():
    """n with V = σ²((1 − ρ²)/n + ρ²/N): at ρ = .8, σ = 1, N huge, 100 items have t(98) · √.0036."""
    plan = assay.plan_labels(sd=1.0, correlation=0.8, n_items=10**9, sizes=(100,), half_width=0.1)
    assert plan.table["estimate"][0] == pytest.approx(1.9845 * 0.06, abs=1e-4)
    assert plan.table["people_alone"][0] == pytest.approx(1.9845 * 0.1, abs=1e-4)
    assert plan.table["saved"][0] in (177, 178)  # 100 / .36 − 100


def test_what_is_planned_is_what_studies_have():
    """The mean half-width of 30 studies is the planned one, within a tenth."""
    pilot = checked_study(400, 4000, 1, seed=5)
    plan = assay.plan_labels(pilot=pilot, judge="judge", sizes=(100,))
    found = []
    for seed in range(30):
        row = assay.estimate(checked_study(100, 4000, 1, seed=seed + 50), "judge", sampling="trust").table.row(
            0, named=True
        )
        found.append((row["high"] - row["low"]) / 2)
    assert np.mean(found) == pytest.approx(plan.table["estimate"][0], rel=0.1)


def test_more_people_an_item_need_fewer_items_and_cost_is_counted():
    plan = assay.plan_labels(half_width=0.04, n_people=(1, 3), price=0.5, judge_price=0.01, n_items=3000)
    one, three = plan.smallest.iter_rows(named=True)
    assert three["n"] < one["n"]
    assert one["cost"] == pytest.approx(0.5 * one["n"] + 30)
    assert three["cost"] == pytest.approx(1.5 * three["n"] + 30)


def test_too_much_to_ask_is_said():
    plan = assay.plan_labels(half_width=0.001, n_items=200, sizes=(50, 100))
    assert "no number of labelled items reaches it" in plan.summary()
    asked = assay.plan_labels(sizes=(50,))
    assert "give half_width=... or difference=..." in asked.summary()


def test_power_is_that_of_the_normal():
    plan = assay.plan_labels(difference=0.1, power=0.9, share=0.5, correlation=0.6, n_items=10**8)
    n = plan.smallest["n"][0]
    error = math.sqrt(0.25 * (1 - 0.36) / n)
    assert 0.1 / error == pytest.approx(1.96 + 1.2816, abs=0.02)


def two_strata(seed: int, n: int = 80, n_all: int = 1200) -> tuple[assay.Annotations, np.ndarray]:
    """People agree with the judge on 'no' and are a coin on 'yes', a quarter of the items."""
    rng = np.random.default_rng(seed)
    judge = (np.arange(n_all) % 4 == 0).astype(int)
    truth = np.where(judge == 1, rng.random(n_all) < 0.5, rng.random(n_all) < 0.03).astype(int)
    some = np.sort(rng.permutation(n_all)[:n])
    return labelled(judge, truth, some), truth


def labelled(judge, truth, some, chance=None) -> assay.Annotations:
    names = np.array([f"i{i:05d}" for i in range(len(judge))])
    frame = pl.concat([
        pl.DataFrame({"item": names, "annotator": "judge", "label": judge}),
        pl.DataFrame({"item": names[some], "annotator": "ann", "label": truth[some]}),
    ])  # fmt: skip
    items = pl.DataFrame({"item": names} | ({} if chance is None else {"chance": chance}))
    return assay.Annotations.from_frame(frame, judges=["judge"], scale="0-1", items=items)


def test_neyman_gives_more_where_labels_vary():
    plan = assay.plan_labels(pilot=two_strata(1)[0], half_width=0.05)
    rows = {row["stratum"]: row for row in plan.allocation.iter_rows(named=True)}
    assert rows["1"]["neyman"] > 1.5 * rows["1"]["proportional"]
    assert plan.allocation["neyman"].sum() == pytest.approx(1.0)


def test_chosen_items_keep_the_estimate_unbiased_and_covered():
    covered, off, width = [], [], []
    for seed in range(40):
        pilot, truth = two_strata(seed)
        chosen = assay.plan_labels(pilot=pilot, seed=seed).choose(120)
        asked = np.flatnonzero(chosen["ask"].to_numpy())
        assert 80 <= len(asked) <= 165
        before = np.flatnonzero(
            pilot.items["item"].is_in(pilot.where(annotator="ann").labels["item"].implode()).to_numpy()
        )
        judge = pilot.where(annotator="judge").labels.sort("item")["label"].to_numpy()
        both = np.sort(np.concatenate([before, asked]))
        labels = labelled(judge, truth, both, chosen["chance"].to_numpy())
        row = assay.estimate(labels, "judge", probabilities="chance", population="finite").table.row(0, named=True)
        covered.append(row["low"] <= truth.mean() <= row["high"])
        off.append(row["estimate"] - truth.mean())
        width.append(row["high"] - row["low"])
    assert np.mean(covered) > 0.93 - 2 * 0.04
    assert abs(np.mean(off)) < 3 * np.std(off) / math.sqrt(len(off))


def test_choosing_needs_a_pilot_and_items_that_are_left():
    with pytest.raises(DesignError, match="items are chosen from a pilot"):
        assay.plan_labels(half_width=0.1).choose(10)
    with pytest.raises(DesignError, match="so 1 to 1,120 can be chosen"):
        assay.plan_labels(pilot=two_strata(1)[0]).choose(5000)


def test_a_pilot_that_cannot_tell_is_refused():
    judge = np.arange(100) % 2
    with pytest.raises(DesignError, match="people gave one label only"):
        assay.plan_labels(pilot=labelled(judge, np.ones(100, dtype=int), np.arange(30)))
