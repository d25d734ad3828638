"""Coefficients of categories by hand and by loops; several at once equal each one separately."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Ordinal
from assay.errors import DesignError
from assay.estimation.intervals import wilson
from assay.estimation.options import IntervalSettings
from assay.statistics import categories
from assay.statistics.categories import (
    LOW_RATE,
    Alpha,
    ChanceCorrected,
    Conger,
    Patterns,
    Slice,
    Thresholds,
    Together,
    agreement_weights,
    credits_of,
    curve,
    distances_of,
    grid,
    low_rate,
    own_rates,
    ratio,
)
from assay.statistics.components.variance import IntraclassCorrelation, OneWay, TwoWay
from assay.statistics.pairs import Distance, Kappa, MeanOfPairs, WithinItems, label_pairs

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


def test_shared_numbers_are_computed_once(labels, monkeypatch):
    """Forms of one model have the same components; other annotators and other numbers have separate components."""
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


def test_shared_parts_of_statistics_are_computed_once(labels):
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
    assert few.labels.n_items == len(few.kind) == len([i for i, _, _ in slow if i < 5])  # very few are equal
    assert found.starts.tolist() == np.flatnonzero(np.diff([i for i, _, _ in slow], prepend=-1)).tolist()


def test_rare_label_rate_is_lower_wilson_limit():
    for share, n in ((0.1, 40), (0.0, 12), (0.5, 7)):
        low, _ = wilson(np.array(share), n, 1 - 2 * stats.norm.sf(LOW_RATE))
        assert low_rate(share, n) == pytest.approx(float(low), abs=1e-12)


def test_own_rates_are_shrunk_by_chance_variation():
    """30 items, three raters who gave the label 15, 3 and 0 times: Cochran's Q is that of the table."""
    rare = np.zeros((30, 3), dtype=bool)
    rare[:15, 0] = rare[:3, 1] = True
    given, rows = rare.sum(axis=0), rare.sum(axis=1)
    q = 2 * (3 * (given**2).sum() - given.sum() ** 2) / (3 * rows.sum() - (rows**2).sum())
    kept, common = 1 - 2 / q, 0.15
    own = common + kept * (given - 6) / 30 * (common / 0.2)  # at a common rate below what was seen, less by as much
    assert own_rates(rare, common) == pytest.approx(np.maximum(own, 0.2 * common))
    assert own_rates(rare, 0.4)[0] == pytest.approx(0.4 + kept * 9 / 30)
    alike = np.zeros((30, 3), dtype=bool)
    alike[[0, 1, 2], [0, 1, 2]] = True
    assert own_rates(alike, 0.1).tolist() == pytest.approx([0.1] * 3)
    assert own_rates(alike & False, 0.1).tolist() == pytest.approx([0.1] * 3)


# -- coefficients by hand ---------------------------------------------------------------------------


def answers_of(rows: list[list[float | None]]) -> Answers:
    there = [(i, j, v) for i, row in enumerate(rows) for j, v in enumerate(row) if v is not None]
    item, annotator, value = map(np.array, zip(*there, strict=True))
    names = tuple("abcdefghijklm"[: len(rows[0])])
    return Answers(item, annotator, value.astype(float), tuple(map(str, range(len(rows)))), names)


def value_of(statistic, rows) -> float:
    moments = statistic.moments(answers_of(rows))
    assert moments.shape == (len(rows), statistic.width)
    return float(statistic.value(moments.sum(axis=0))[0])


def test_ratio_of_zero_is_nan():
    found = ratio(np.array([1.0, 1, 1, 1, 1]), np.array([2.0, 0.5, -0.5, -0.51, 0]), 0.5)
    assert found.tolist() == pytest.approx([0.5, np.nan, np.nan, -1 / 0.51, np.nan], nan_ok=True)
    assert ratio(np.array([3.0, 1]), np.array([1e-9, 0.0])).tolist() == pytest.approx([3e9, np.nan], nan_ok=True)


FOUR = np.array([1.0, 2, 4, 5])


@pytest.mark.parametrize(
    ("weights", "first_row"),
    [
        ("none", [1, 0, 0, 0]),
        ("linear", [1, 3 / 4, 1 / 4, 0]),
        ("quadratic", [1, 15 / 16, 7 / 16, 0]),
        ("ordinal", [1, 5 / 6, 1 / 2, 0]),  # 1 − s (s + 1) / (4 · 3) of s steps
        (1.0, [1, 1, 0, 0]),
        (3, [1, 1, 1, 0]),
        (2.9, [1, 1, 0, 0]),
        (0, [1, 0, 0, 0]),
    ],
)
def test_credit_of_two_categories(weights, first_row):
    found = agreement_weights(FOUR, weights)
    assert found[0].tolist() == pytest.approx(first_row)
    np.testing.assert_array_equal(found, found.T)
    assert (np.diag(found) == 1).all()


def test_credit_of_a_single_category_and_of_decimals():
    for weights in ("none", "linear", "quadratic", "ordinal", 0.5):
        assert agreement_weights(np.array([3.0]), weights).tolist() == [[1]]
    assert agreement_weights(np.array([0.0, 0.1 + 0.2]), 0.3)[0, 1] == 1
    own = np.array([[1.0, 0.3], [0.3, 1]])
    assert agreement_weights(FOUR[:2], own) is own


def test_chance_by_labels_dealt_out_evenly():
    # Pairs agree on 1 of 1, 1 of 3 and none of 1: (1 + 1/3 + 0) / 3 = 4/9. Of 4 categories a quarter agree by chance.
    rows = [[1, 1, None], [2, 2, 4], [5, None, 1], [None, 2, None]]
    assert value_of(ChanceCorrected(FOUR, "none", "none"), rows) == pytest.approx(4 / 9)
    assert value_of(ChanceCorrected(FOUR, "none", "uniform"), rows) == pytest.approx((4 / 9 - 1 / 4) / (3 / 4))
    # A credit of 1 within a distance of 1: pairs 12, 21, 45, 54 and the four equal ones, 8 of 16.
    assert value_of(ChanceCorrected(FOUR, 1.0, "uniform"), rows) == pytest.approx((4 / 9 - 1 / 2) / (1 / 2))


def conger(rows, categories, weights="none") -> float:
    """Conger (1980, eq. 7): agreement of pairs; chance is the mean over pairs of annotators of their distributions'."""
    credit = agreement_weights(categories, weights)
    at = {c: k for k, c in enumerate(categories.tolist())}
    each = []
    for row in rows:
        labels = [at[v] for v in row if v is not None]
        if len(labels) > 1:
            each.append(np.mean([credit[a, b] for k, a in enumerate(labels) for m, b in enumerate(labels) if k != m]))
    shares = []
    for column in zip(*rows, strict=True):
        labels = [at[v] for v in column if v is not None]
        if labels:
            shares.append(np.bincount(labels, minlength=len(categories)) / len(labels))
    chance = np.mean([a @ credit @ b for k, a in enumerate(shares) for m, b in enumerate(shares) if k != m])
    return float((np.mean(each) - chance) / (1 - chance))


TABLE = [[1, 1, 2, None], [2, 2, 2, None], [4, 5, None, None], [None, 1, 1, None], [5, 5, 4, None], [1, 2, 1, None]]


@pytest.mark.parametrize("weights", ["none", "linear", 1.0])
def test_conger_s_chance_is_that_of_each_two_annotators(weights):
    rows = [row[:3] for row in TABLE]
    wanted = conger(rows, FOUR, weights)
    assert value_of(Conger(FOUR, weights, 3), rows) == pytest.approx(wanted)
    # One of four who gave no label has no distribution, and takes no part.
    assert value_of(Conger(FOUR, weights, 4), TABLE) == pytest.approx(wanted)
    two = [row[:2] for row in rows if None not in row[:2]]
    kappa = MeanOfPairs(Kappa(FOUR, agreement_weights(FOUR, weights)), np.array([0]), np.array([1]))
    assert value_of(Conger(FOUR, weights, 2), two) == pytest.approx(value_of(kappa, two))  # Cohen's


def test_conger_s_value_of_several_tables():
    rows = [row[:3] for row in TABLE]
    statistic = Conger(FOUR, "none", 3)
    moments = statistic.moments(answers_of(rows))
    together = statistic.value(np.stack([moments.sum(axis=0), moments[:4].sum(axis=0)]))
    assert together.shape == (2, 1)
    assert together[:, 0].tolist() == pytest.approx([conger(rows, FOUR), conger(rows[:4], FOUR)])


LABELS = ("x", "y", "z")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[1, 0, 0.5], [0, 1, -2], [0.5, -2, 1]], None),
        ([[1, 0, 0.5], [0, 1, 2], [0.5, 2, 1]], "must be a number up to 1; credit('y', 'z') is 2"),
        ([[1, 0, 0], [0, 1, float("nan")], [0, 0, 1]], "must be a number up to 1; credit('y', 'z') is nan"),
        ([[1, 0, 0], [0, 0.9, 0], [0, 0, 0.5]], "must be 1 between equal labels; credit('y', 'y') is 0.9"),
        ([[1, 0, 0.5], [0, 1, 0], [0.4, 0, 1]], "must be the same both ways round; credit('x', 'z') is 0.5"),
    ],
)
def test_credits_of_checks_function(table, words):
    def credit(a, b):
        return table[LABELS.index(a)][LABELS.index(b)]

    if words is None:
        assert credits_of(credit, LABELS).tolist() == table
        return
    with pytest.raises(DesignError, match=re.escape(f"a weight {words}")) as refused:
        credits_of(credit, LABELS)
    assert refused.value.option == "weights"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[0, 3, 0.5], [3, 0, 0], [0.5, 0, 0]], None),
        ([[0, 3, 0.5], [3, 0, -1], [0.5, -1, 0]], "must be 0 or a larger number; apart('y', 'z') is -1"),
        ([[0, 3, float("inf")], [3, 0, 1], [0, 1, 0]], "must be 0 or a larger number; apart('x', 'z') is inf"),
        ([[0, 3, 1], [3, 0.5, 1], [1, 1, 0.2]], "must be 0 between equal labels; apart('y', 'y') is 0.5"),
        ([[0, 3, 1], [3, 0, 1], [1, 1.5, 0]], "must be the same both ways round; apart('y', 'z') is 1"),
    ],
)
def test_distances_of_checks_function(table, words):
    def apart(a, b):
        return table[LABELS.index(a)][LABELS.index(b)]

    if words is None:
        assert distances_of(apart, LABELS).tolist() == table
        return
    with pytest.raises(DesignError, match=re.escape(f"a distance {words}")) as refused:
        distances_of(apart, LABELS)
    assert refused.value.option == "level"


def test_no_labels_have_no_credit_and_no_distance():
    assert credits_of(lambda a, b: 0, ()).shape == distances_of(lambda a, b: 1, ()).shape == (0, 0)


# -- how often each pattern of labels occurs ----------------------------------------------------------


def test_two_labels_agree_as_correlation_implies():
    """P(both v) = p² + ρ p (1 − p), P(v, w) = (1 − ρ) p q, with p = 5/8 of the eight labels."""
    rows = [[1, 1], [1, 2], [2, 2], [1, 1]]
    found = Patterns.of(answers_of(rows), anyone=False)
    assert grid(found.answers).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    p, rho = 5 / 8, np.array([0.001, 0.4])
    for often, r in zip(found.probabilities(rho), rho, strict=True):
        cross = (1 - r) * p * (1 - p)
        assert often.tolist() == pytest.approx([p**2 + r * p * (1 - p), cross, cross, (1 - p) ** 2 + r * p * (1 - p)])
    anyone = Patterns.of(answers_of(rows), anyone=True)
    assert anyone.counts.tolist() == [[2, 0], [1, 1], [0, 2]]
    joined = anyone.probabilities(rho)
    np.testing.assert_allclose(joined[:, 1], 2 * (1 - rho) * p * (1 - p))
    np.testing.assert_allclose(joined.sum(axis=1), 1)
    assert anyone.often.shape == (92, 3)


def test_patterns_are_as_frequent_as_those_who_answer():
    rows = [[1, 1, None], [1, 2, None], [2, 2, 1], [None, 1, 1]]
    found = Patterns.of(answers_of(rows), anyone=False)
    cells = grid(found.answers)
    often = found.probabilities(np.array([0.3]))[0]
    there = ~np.isnan(cells)
    for who, share in (([True, True, False], 1 / 2), ([True, True, True], 1 / 4), ([False, True, True], 1 / 4)):
        mine = (there == who).all(axis=1)
        assert mine.sum() == 2 ** sum(who)
        assert often[mine].sum() == pytest.approx(share)
    # Whoever they are, two answered three items and three one: 3 + 4 patterns of two labels.
    anyone = Patterns.of(answers_of(rows), anyone=True)
    sizes = anyone.counts.sum(axis=1)
    assert sorted(sizes.tolist()) == [2] * 3 + [3] * 4
    often = anyone.probabilities(np.array([0.3]))[0]
    assert often[sizes == 2].sum() == pytest.approx(3 / 4)
    # Of three labels two are 1 in three orders: three times as often as in one.
    three = anyone.probabilities(np.array([1e-6]))[0][sizes == 3]
    p, q = 6 / 9, 3 / 9
    np.testing.assert_allclose(sorted(three * 4), sorted([p**3, 3 * p**2 * q, 3 * p * q**2, q**3]), rtol=1e-4)


def test_patterns_are_tried_up_to_a_number():
    rows = [[1, 1], [1, 2]]
    statistic = ChanceCorrected(np.array([1.0, 2]), "none", "fleiss")
    found = Patterns.of(answers_of(rows), anyone=False, most_cells=4 * 92)
    assert len(found.log_share) == 4
    assert not found.too_many_for(statistic, 4 * 92 * 4)
    assert found.too_many_for(statistic, 4 * 92 * 4 - 1)
    assert Patterns.of(answers_of(rows), anyone=False, most_cells=4 * 92 - 1) is None
    assert len(Patterns.of(answers_of(rows), anyone=True, most_cells=4 * 92 - 1).log_share) == 3
    assert Patterns.of(answers_of(rows), anyone=True, most_cells=3 * 92 - 1) is None
    assert Patterns.of(answers_of([[1, 1]]), anyone=False) is None


@pytest.mark.parametrize("anyone", [True, False])
@pytest.mark.parametrize("many", [200, 1])
def test_agreement_of_patterns_has_the_error_of_a_share(anyone, many):
    rows = [[1, 1], [1, 2], [2, 2], [1, 1]]
    patterns = Patterns.of(answers_of(rows), anyone=anyone)
    value, error = curve(ChanceCorrected(np.array([1.0, 2]), "none", "none"), patterns, 50, many)
    agreed = 1 - 2 * (1 - categories.CORRELATIONS) * 15 / 64
    np.testing.assert_allclose(value, agreed)
    np.testing.assert_allclose(error, np.sqrt(agreed * (1 - agreed) / 50), rtol=1e-4)


def test_patterns_that_a_statistic_does_not_tell_apart_are_one():
    moments = np.array([[1.0, 0], [0.1 + 0.2, 5], [1, 0], [0.3, 5], [1, 1]])
    often = np.arange(10.0).reshape(2, 5)
    assert categories.merge_patterns(moments, often) == (moments, often)
    assert categories.merge_patterns(moments, often, 5)[0] is moments
    merged, together = categories.merge_patterns(moments, often, 4)
    assert len(merged) == 3
    np.testing.assert_allclose(together @ merged, often @ moments)
    assert sorted(together[0].tolist()) == [0 + 2, 1 + 3, 4]


# -- raters with different rates -----------------------------------------------------------------------


def test_patterns_of_a_rare_label():
    rows = [[1, 1], [1, 2], [1, 1], [1, 1], [1, 1]]
    found = Thresholds.of(answers_of(rows), item_rate=True)
    assert found.given.tolist() == [[False, False], [False, True], [True, False], [True, True]]
    assert grid(found.answers).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    # One of ten labels: (.5 + .5) / 6 of items; one rate, as one label in five is no difference.
    assert found.rates.tolist() == pytest.approx([1 / 6] * 2)
    low = Thresholds.of(answers_of(rows), item_rate=False)
    assert low.rates.tolist() == pytest.approx([low_rate(0.1, 5)] * 2)
    turned = Thresholds.of(answers_of([[3 - v for v in row] for row in rows]), item_rate=True)
    assert grid(turned.answers).tolist() == [[2, 2], [2, 1], [1, 2], [1, 1]]
    # Of two labels as frequent the lower counts as the rare one.
    even = Thresholds.of(answers_of([[1, 1], [1, 2], [2, 2]]), item_rate=True)
    assert grid(even.answers).tolist() == [[2, 2], [2, 1], [1, 2], [1, 1]]
    assert even.rates.tolist() == pytest.approx([0.5, 0.5])


def test_unused_label_is_the_rare_one():
    same = answers_of([[3, 3], [3, 3]])
    assert Thresholds.of(same, item_rate=True) is None
    found = Thresholds.of(same, item_rate=True, unseen=2.0)
    assert grid(found.answers).tolist() == [[3, 3], [3, 2], [2, 3], [2, 2]]
    assert found.rates.tolist() == pytest.approx([1 / 6] * 2)  # (0 + .5) / (2 + 1)
    two = Thresholds.of(answers_of([[3, 3], [3, 1]]), item_rate=True, unseen=2.0)
    assert np.unique(two.answers.value).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("rows", "known"),
    [
        ([[1] * 10, [2] * 10], True),
        ([[1] * 11, [2] * 11], False),
        ([[1], [2]], False),
        ([[1, 2], [1, None]], False),
        ([[1, 2], [1, 3]], False),
    ],
)
def test_thresholds_require_two_labels_and_complete_tables(rows, known):
    assert (Thresholds.of(answers_of(rows), item_rate=True) is not None) == known


def test_raters_with_a_common_trait_agree_as_normal_shadows_do():
    """Without correlation as chance; at any, each pair as the bivariate normal distribution says."""
    found = Thresholds(None, np.zeros((4, 2), dtype=bool), np.array([0.1, 0.3]))
    often = found.often
    assert often.shape == (33, 4)
    np.testing.assert_allclose(often.sum(axis=1), 1)
    assert often[0].tolist() == pytest.approx([0.9 * 0.7, 0.9 * 0.3, 0.1 * 0.7, 0.1 * 0.3])
    np.testing.assert_allclose(often[:, 2] + often[:, 3], 0.1, atol=1e-6)
    np.testing.assert_allclose(often[:, 1] + often[:, 3], 0.3, atol=1e-6)
    at = stats.norm.ppf([0.1, 0.3])
    for k in (5, 15):
        rho = categories.TRAIT_CORRELATIONS[k]
        both = stats.multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf(at)
        assert often[k, 3] == pytest.approx(both, abs=1e-6)


def test_small_sums_are_distinguished():
    moments, often = np.array([[1e-14, 0], [2e-14, 0], [2e-14, 0]]), np.ones((1, 3))
    merged, together = categories.merge_patterns(moments, often, 2)
    assert merged.tolist() == [[1e-14, 0], [2e-14, 0]]
    assert together.tolist() == [[1, 2]]
