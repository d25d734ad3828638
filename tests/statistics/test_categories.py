"""Several statistics side by side are what each is alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Ordinal
from assay.estimation.intervals import wilson
from assay.estimation.options import IntervalSettings
from assay.statistics.categories import (
    LOW_RATE,
    Alpha,
    ChanceCorrected,
    Slice,
    Together,
    _low_rate,
    _own_rates,
    grid,
)
from assay.statistics.pairs import Distance, Kappa, MeanOfPairs, WithinItems, label_pairs
from assay.statistics.variance import IntraclassCorrelation, OneWay, TwoWay

CATEGORIES = np.arange(1.0, 6.0)
FIRST, SECOND = np.triu_indices(3, 1)
PEOPLE, JUDGE = np.array([True, True, False]), np.array([False, False, True])
STATISTICS = (
    ChanceCorrected(CATEGORIES, "none", "fleiss"),
    ChanceCorrected(CATEGORIES, 1.0, "none"),
    ChanceCorrected(CATEGORIES, "quadratic", "gwet"),
    Alpha.of("ordinal", CATEGORIES),
    Alpha.of("nominal", CATEGORIES),
    MeanOfPairs(Kappa(CATEGORIES, "none"), FIRST, SECOND),
    MeanOfPairs(Distance("mae"), FIRST, SECOND),
    IntraclassCorrelation(TwoWay(3.0, 3), ("A,1",), 3),
    IntraclassCorrelation(OneWay(3.0), ("1",), 3),
    WithinItems(MeanOfPairs(Distance("bias"), np.array([0]), np.array([1])), PEOPLE, JUDGE),
    WithinItems(MeanOfPairs(Kappa(CATEGORIES, "linear"), np.array([0]), np.array([1])), PEOPLE, PEOPLE),
)


@pytest.fixture
def labels() -> Answers:
    rng = np.random.default_rng(4)
    cells = np.clip(rng.integers(1, 6, (40, 1)) + rng.integers(-1, 2, (40, 3)), 1, 5).astype(float)
    cells[rng.random(cells.shape) < 0.15] = np.nan
    item, annotator = np.nonzero(~np.isnan(cells))
    return Answers(item, annotator, cells[item, annotator], tuple(map(str, range(40))), ("a", "b", "c"))


def ratings_of(answers: Answers) -> Ratings:
    return Ratings(answers, ("a", "b", "c"), ("a", "b"), ("c",), Ordinal(1, 5), 40, len(answers), "")


def test_side_by_side_is_one_after_the_other(labels):
    joint = Together(STATISTICS)
    moments = joint.moments(labels)
    alone = [statistic.moments(labels) for statistic in STATISTICS]
    np.testing.assert_array_equal(moments, np.concatenate(alone, axis=1))
    assert joint.widths == tuple(m.shape[1] for m in alone)
    total = moments.sum(axis=0)
    values = [s.value(m.sum(axis=0)) for s, m in zip(STATISTICS, alone, strict=True)]
    np.testing.assert_allclose(joint.value(total), np.concatenate(values), rtol=1e-12)
    np.testing.assert_allclose(Together(STATISTICS, first_only=True).value(total), [v[0] for v in values], rtol=1e-12)
    some = joint.part([5, 1])
    both = np.concatenate([alone[5], alone[1]], axis=1).sum(axis=0)
    np.testing.assert_allclose(some.value(both), np.concatenate([values[5], values[1]]), rtol=1e-12)


@pytest.mark.parametrize("method", ["jackknife", "percentile", "bca"])
def test_each_is_resampled_over_its_own_items(labels, method):
    how, ratings = IntervalSettings(method=method, n_resamples=100), ratings_of(labels)
    sums = ratings.sums(Together(STATISTICS, first_only=True))
    assert len(set(sums.n_items)) > 2
    scales = ["fisher", "log", "none", "fisher", "none", "fisher", "log", "fisher", "none", "none", "fisher"]
    seen = []
    for chosen, found, _ in sums.estimate_apart(how, scales):
        seen += chosen
        for at, i in enumerate(chosen):
            alone = ratings.sums(Together((STATISTICS[i],))).estimate(how, scales[i])
            assert (alone.n_items, alone.n_units) == (found.n_items, found.n_units)
            for name in ("value", "low", "high", "standard_error"):
                np.testing.assert_allclose(getattr(found, name)[at], getattr(alone, name)[0], rtol=1e-9)
    assert sorted(seen) == list(range(len(STATISTICS)))


def test_what_several_are_made_of_is_made_once(labels, monkeypatch):
    """Forms of one model have the same components; other annotators and other numbers have components of their own."""
    forms = ("A,1", "A,k", "C,1", "C,k")
    one, other = (tuple(IntraclassCorrelation(TwoWay(c, 2), (form,), 2) for form in forms) for c in (3.0, 2.0))
    masks = (PEOPLE, JUDGE), (PEOPLE, PEOPLE)
    statistics = tuple(WithinItems(s, *m) for some in (one, other) for m in masks for s in some)
    alone = np.concatenate([s.value(s.moments(labels).sum(axis=0)) for s in statistics])
    calls = []
    for name in ("moments", "value"):
        plain = getattr(TwoWay, name)
        monkeypatch.setattr(TwoWay, name, lambda s, x, name=name, plain=plain: calls.append(name) or plain(s, x))
    joint = Together(statistics)
    np.testing.assert_array_equal(joint.value(joint.moments(labels).sum(axis=0)), alone)
    assert sorted(calls) == ["moments"] * 4 + ["value"] * 4
    np.testing.assert_allclose(alone[:8], alone[8:])  # which number is subtracted first changes no value
    assert len(set(alone[:8].tolist())) == 8


def test_what_statistics_share_is_made_once(labels):
    shared = Slice.of(labels)
    assert grid(shared) is grid(shared)
    assert grid(labels) is not grid(labels)
    np.testing.assert_array_equal(grid(shared), grid(labels))
    assert Slice.of(shared) is shared
    assert grid(replace(shared, value=shared.value + 1)) is not grid(shared)


def test_pairs_of_labels_are_items_of_two(labels):
    found = label_pairs(labels, PEOPLE, JUDGE)
    cells = grid(labels)
    slow = [(i, cells[i, j], cells[i, 2]) for i in range(40) for j in (0, 1) if not np.isnan(cells[i, [j, 2]]).any()]
    fast = zip(np.repeat(found.item, found.number), *grid(found.labels)[found.kind].T, strict=True)
    assert list(fast) == slow
    assert found.labels.n_items == len({pair[1:] for pair in slow}) < len(slow)
    few = label_pairs(labels.select(labels.item < 5), PEOPLE, JUDGE)
    assert few.labels.n_items == len(few.kind) == len([i for i, _, _ in slow if i < 5])  # hardly any are alike
    assert found.starts.tolist() == np.flatnonzero(np.diff([i for i, _, _ in slow], prepend=-1)).tolist()


def test_the_rate_of_a_rare_label_is_the_lower_end_of_wilsons_interval():
    for share, n in ((0.1, 40), (0.0, 12), (0.5, 7)):
        low, _ = wilson(np.array(share), n, 1 - 2 * stats.norm.sf(LOW_RATE))
        assert _low_rate(share, n) == pytest.approx(float(low), abs=1e-12)


def test_each_rater_has_a_rate_of_its_own_as_far_as_rates_differ_beyond_chance():
    """30 items, three raters who gave the label 15, 3 and 0 times: Cochran's Q is that of the table."""
    rare = np.zeros((30, 3), dtype=bool)
    rare[:15, 0] = rare[:3, 1] = True
    given, rows = rare.sum(axis=0), rare.sum(axis=1)
    q = 2 * (3 * (given**2).sum() - given.sum() ** 2) / (3 * rows.sum() - (rows**2).sum())
    kept, common = 1 - 2 / q, 0.15
    own = common + kept * (given - 6) / 30 * (common / 0.2)  # at a common rate below what was seen, less by as much
    assert _own_rates(rare, common) == pytest.approx(np.maximum(own, 0.2 * common))
    assert _own_rates(rare, 0.4)[0] == pytest.approx(0.4 + kept * 9 / 30)
    alike = np.zeros((30, 3), dtype=bool)
    alike[[0, 1, 2], [0, 1, 2]] = True
    assert _own_rates(alike, 0.1).tolist() == pytest.approx([0.1] * 3)
    assert _own_rates(alike & False, 0.1).tolist() == pytest.approx([0.1] * 3)
