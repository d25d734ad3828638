"""Strata from item columns, item ids, and all item columns together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.statistics.strata import (
    FOLDS,
    PENALTIES,
    Known,
    Stratification,
    design_of,
    known_columns,
    numbers_of_ids,
    predicted_parts,
    quantile_parts,
    ridge_slopes,
    strata_of_order,
)


def test_numbers_of_ids_are_those_of_one_form():
    ids = pl.Series([f"q{k}" for k in range(40)])
    assert numbers_of_ids(ids).tolist() == list(range(40))
    assert numbers_of_ids(pl.Series([str(k) for k in range(40)])).tolist() == list(range(40))
    assert numbers_of_ids(pl.Series([f"q{k}x" for k in range(40)])) is not None
    assert numbers_of_ids(ids.head(29)) is None  # too few for five parts
    for other in ("r40", "q", "q4_1", "q-4"):
        assert numbers_of_ids(pl.concat([ids, pl.Series([other])])) is None


def test_strata_of_order_are_parts_of_the_used_items():
    order = np.arange(60.0)[::-1]
    used = np.arange(60) < 50
    part = strata_of_order(order, used).part
    assert np.bincount(part[used]).tolist() == [10] * 5
    assert part[used].tolist() == sorted(part[used].tolist(), reverse=True)
    assert set(part[~used].tolist()) == {0}


def test_quantile_parts_keep_equal_values_together_and_are_numbered():
    assert np.bincount(quantile_parts(np.arange(100.0))).tolist() == [20] * 5
    tied = quantile_parts(np.r_[np.zeros(70), np.arange(1.0, 31)])
    assert len(set(tied[:70].tolist())) == 1
    assert sorted(set(tied.tolist())) == list(range(tied.max() + 1))
    assert set(quantile_parts(np.ones(10)).tolist()) == {0}


def test_design_has_numbers_their_quintiles_and_words():
    numbers = np.r_[np.nan, np.arange(1.0, 50)]
    found = design_of([numbers], [np.arange(50) % 3])
    assert found.shape == (50, 1 + 5 + 3)
    assert found.mean(axis=0) == pytest.approx(np.zeros(9), abs=1e-12)
    assert np.ptp(found[:, 0]) == pytest.approx(48 / np.where(np.isnan(numbers), np.nanmean(numbers), numbers).std())


def test_ridge_has_the_penalty_of_generalised_cross_validation():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 4))
    x -= x.mean(axis=0)
    y = x[:, :1] + rng.standard_normal((60, 1))
    y -= y.mean()
    best = min(PENALTIES, key=lambda c: _score(x, y, c))
    assert ridge_slopes(x, y) == pytest.approx(np.linalg.solve(x.T @ x + best * np.eye(4), x.T @ y))


def _score(x: np.ndarray, y: np.ndarray, penalty: float) -> float:
    hat = x @ np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T)
    return float(((y - hat @ y) ** 2).sum()) / (len(x) - 1 - np.trace(hat)) ** 2


def columns(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    system, topic = rng.integers(0, 6, n), rng.integers(0, 6, n)
    effect = rng.standard_normal(6)[system] + rng.standard_normal(6)[topic]
    return design_of([], [system, topic]), effect, rng.standard_normal(n)


def test_predicted_parts_follow_what_two_columns_tell_together():
    design, effect, noise = columns(200, 1)
    people, judge = (effect + 0.5 * noise)[:, None], effect[:, None]
    first, second = predicted_parts(design, people, judge)
    assert np.bincount(first).min() >= 20
    means = [effect[first == k].mean() for k in range(5)]
    assert means == sorted(means) or means == sorted(means, reverse=True)
    assert abs(np.corrcoef(second, effect)[0, 1]) > 0.8


def test_predicted_parts_of_columns_that_tell_nothing_are_none():
    found = [len(predicted_parts(columns(100, s)[0], columns(100, s)[2][:, None], columns(100, s)[2][:, None]))
             for s in range(20)]  # fmt: skip
    assert np.mean([k > 0 for k in found]) < 0.5
    assert predicted_parts(np.zeros((29, 1)), np.zeros((29, 1)), np.zeros((29, 1))) == []


def test_predicted_parts_do_not_depend_on_the_order_of_the_items():
    design, effect, noise = columns(150, 3)
    people, judge = (effect + noise)[:, None], (effect + noise**2)[:, None]
    order = np.random.default_rng(5).permutation(150)
    one, other = predicted_parts(design, people, judge), predicted_parts(design[order], people[order], judge[order])
    assert [part[order].tolist() for part in one] == [part.tolist() for part in other]
    assert FOLDS == 10


def test_shares_of_three_labels_are_predicted_by_their_first_component():
    design, effect, _ = columns(200, 2)
    label = np.digitize(effect, (-0.7, 0.7))
    shares = (label[:, None] == np.arange(3)).astype(float)
    found = predicted_parts(design, shares, shares)
    assert len(found) == 2
    assert abs(np.corrcoef(found[0], effect)[0, 1]) > 0.7


def test_known_of_used_items_ignores_the_others():
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal(40)
    used = np.arange(40) < 30
    words = Stratification("a", np.arange(40) % 2)
    both = Known.of((words, Stratification("b", quantile_parts(numbers), numbers=numbers)), (), {}, used)
    alone = Known.of(
        (Stratification("a", np.arange(30) % 2), Stratification("b", quantile_parts(numbers), numbers=numbers[:30])),
        (), {}, used[:30],
    )  # fmt: skip
    assert both.design[:30] == pytest.approx(alone.design)
    assert not both.design[30:].any()
    order = np.arange(30)[::-1]
    assert alone.at(order).design == pytest.approx(alone.design[order])
    assert alone.at(order).columns[0].part.tolist() == (np.arange(30) % 2)[::-1].tolist()
    assert Known.of((words,), (), {}, used).design is None


def test_known_columns_keep_columns_of_the_labels_own_words_apart():
    import assay

    n = 60
    labels = assay.simulate(n, 3, seed=1)
    first, second = labels.scale.categories[:2]
    about = labels.items.select("item").with_columns(
        has_link=pl.Series([first, second] * (n // 2)), topic=pl.Series([f"t{k % 4}" for k in range(n)])
    )
    table = assay.Annotations.from_frame(labels.labels, judges=list(labels.judges), scale=labels.scale, items=about)
    found = known_columns(table, "auto", None, np.ones(n, dtype=bool))
    assert [one.name for one in found.columns] == ["topic"]
    assert [one.name for one in found.own_words] == ["has_link"]
    assert found.unused == {"has_link": "the labels' own words"}
    asked = known_columns(table, ["has_link"], None, np.ones(n, dtype=bool))
    assert ([one.name for one in asked.columns], asked.own_words) == (["has_link"], ())
