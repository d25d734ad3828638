"""True shares from a judge's shares and its errors: by hand, by numerical derivatives, and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import DesignError
from assay.statistics.rogan_gladen import true_shares

# Of 40 gold items that are 1 the judge calls 32 so, of 60 that are 0 it calls 54 so; elsewhere it says 1 of 90 of 200.
GOLD = np.r_[np.ones(40), np.zeros(60)]
JUDGED = np.r_[np.ones(32), np.zeros(8), np.zeros(54), np.ones(6)]
ELSEWHERE = np.r_[np.ones(90), np.zeros(110)]


def test_two_labels_by_hand():
    """p = (q + specificity − 1) / (sensitivity + specificity − 1) = (.45 + .9 − 1) / (.8 + .9 − 1) = .5."""
    zero, one = true_shares([0.0, 1.0], GOLD, JUDGED, ELSEWHERE, 0.9)
    assert (zero.estimate, one.estimate) == pytest.approx((0.5, 0.5))
    # Errors of q, of the sensitivity and of the specificity, which have half an observation of each kind added.
    sensitivity, specificity = (32 + 0.5) / 41, (54 + 0.5) / 61
    variance = 0.45 * 0.55 / 200
    variance += 0.5**2 * sensitivity * (1 - sensitivity) / 40 + 0.5**2 * specificity * (1 - specificity) / 60
    error = math.sqrt(variance) / 0.7
    assert one.standard_error == pytest.approx(error)
    for level in (0.9, 0.5):
        half = stats.norm.ppf((1 + level) / 2) * error
        assert one.interval(level) == pytest.approx((0.5 - half, 0.5 + half))
    assert (one.low, one.high) == pytest.approx(one.interval(0.9))


def test_true_shares_skip_absent_labels():
    gone = JUDGED.copy()
    gone[:20] = np.nan  # 20 of the 40 that are 1: of the others it calls 12 so
    found = true_shares([0.0, 1.0, 2.0], GOLD, gone, ELSEWHERE, 0.9)
    assert found[1].estimate == pytest.approx((0.45 + 0.9 - 1) / (0.6 + 0.9 - 1))
    assert found[2].reason == "no gold label and no label of the judge"


def test_true_shares_of_three_labels_reproduce_judge_shares():
    errors = np.array([[8, 1, 1], [2, 14, 4], [0, 5, 25]])  # rows: true labels
    gold = np.repeat([1.0, 2.0, 3.0], errors.sum(axis=1))
    judged = np.concatenate([np.repeat([1.0, 2.0, 3.0], row) for row in errors])
    m = (errors / errors.sum(axis=1, keepdims=True)).T
    wanted = np.array([0.5, 0.3, 0.2])
    counts = (m @ wanted * 6000).round().astype(int)
    found = true_shares([1.0, 2.0, 3.0], gold, judged, np.repeat([1.0, 2.0, 3.0], counts), 0.95)
    assert [one.estimate for one in found] == pytest.approx(wanted, abs=1e-3)
    assert sum(one.estimate for one in found) == pytest.approx(1)
    # The delta method with derivatives by steps; a column has a third of an observation added to each label.
    q, p = counts / counts.sum(), np.array([one.estimate for one in found])

    def slope(change: np.ndarray, share: np.ndarray) -> np.ndarray:
        step = 1e-6
        return (np.linalg.solve(m + step * change, q + step * share) - np.linalg.solve(m, q)) / step

    cov = np.zeros((3, 3))
    by_q = np.array([slope(np.zeros((3, 3)), unit) for unit in np.eye(3)]).T
    cov += by_q @ (np.diag(q) - np.outer(q, q)) @ by_q.T / counts.sum()
    for k, number in enumerate(errors.sum(axis=1)):
        column = (errors[k] + 1 / 3) / (number + 1)
        by_column = np.array([slope(np.outer(unit, np.eye(3)[k]), np.zeros(3)) for unit in np.eye(3)]).T
        cov += by_column @ (np.diag(column) - np.outer(column, column)) @ by_column.T / number
    assert [one.standard_error for one in found] == pytest.approx(np.sqrt(np.diag(cov)), rel=1e-3)
    assert p == pytest.approx(np.linalg.solve(m, q))


def test_ends_are_cut_to_0_and_1_and_shares_beyond_have_none():
    few = np.r_[np.ones(24), np.zeros(176)]  # q = .12: p = .02 / .7
    low = true_shares([0.0, 1.0], GOLD, JUDGED, few, 0.95)[1]
    assert low.estimate == pytest.approx(0.02 / 0.7)
    assert low.low == 0.0
    assert 0 < low.high < 0.2
    high = true_shares([0.0, 1.0], GOLD, JUDGED, few, 0.95)[0]  # the other label's share is 1 minus that
    assert (high.low, high.high) == (pytest.approx(1 - low.high), 1.0)
    for none in true_shares([0.0, 1.0], GOLD, JUDGED, np.zeros(20_000), 0.5):  # p = −.1 / .7, and 1 minus that
        assert none.reason == "the judge's shares are incompatible with its error rates"
        assert np.isnan(none.low)


def test_too_few_gold_items_or_a_judge_that_guesses_is_refused():
    def found(ones: int, right: int) -> object:
        gold = np.r_[np.ones(ones), np.zeros(60)]
        return true_shares([0.0, 1.0], gold, np.r_[np.ones(right), np.zeros(ones - right), JUDGED[40:]], ELSEWHERE, 0.9)

    found(5, 4)
    with pytest.raises(DesignError, match="label 1 has 4 gold items; 5 are required"):
        found(4, 4)

    # Youden's index is 3 of its errors or more: r/60 + .9 − 1 over √(r/60 (1 − r/60) / 60 + .09 / 60).
    def told(right: int) -> float:
        s = right / 60
        return (s - 0.1) / math.sqrt(s * (1 - s) / 60 + 0.09 / 60)

    least = next(right for right in range(6, 60) if told(right) >= 3)
    found(60, least)
    with pytest.raises(DesignError, match="does not distinguish the labels"):
        found(60, least - 1)
    gold = np.repeat([1.0, 2.0, 3.0], 40)
    same = np.tile(np.repeat([1.0, 2.0, 3.0], [10, 10, 20]), 3)
    with pytest.raises(DesignError, match="does not distinguish the labels"):
        true_shares([1.0, 2.0, 3.0], gold, same, gold, 0.9)


@pytest.mark.parametrize(("right", "told"), [(30, True), (28, False)])
def test_true_shares_refuse_nearly_singular_rates(right, told):
    """Of 1,000 items that are 3 the judge calls 30 or 28 so and half of the rest each of the others: the matrix of its
    errors has the condition 49.0 or 52.6 (NumPy), and 50 is the most."""
    half = (1000 - right) // 2
    gold, judged = np.repeat([1.0, 2, 3], [10, 10, 1000]), np.repeat([1.0, 2, 1, 2, 3], [10, 10, half, half, right])
    if told:
        found = true_shares([1.0, 2.0, 3.0], gold, judged, np.repeat([1.0, 2.0, 3.0], [90, 90, 3]), 0.9)
        assert found[2].estimate == pytest.approx(3 / 183 / (right / 1000))
    else:
        with pytest.raises(DesignError, match="does not distinguish the labels"):
            true_shares([1.0, 2.0, 3.0], gold, judged, np.repeat([1.0, 2.0, 3.0], [90, 90, 3]), 0.9)
