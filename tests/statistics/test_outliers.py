"""Annotators out of line with the others: scores by hand, removal, and the rate of false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.outliers import median_scores, null_scores, out_of_line


class TestScoresOfAnnotators:
    def test_score_is_the_distance_from_the_median_by_the_spread(self) -> None:
        values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
        found = median_scores(values, np.zeros(5))
        assert found == pytest.approx((values - 3) / 1.4826)

    def test_errors_are_the_least_spread(self) -> None:
        values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
        assert median_scores(values, np.full(5, 5.0)) == pytest.approx((values - 3) / 5)
        # The further error of one annotator counts for them alone.
        wide = median_scores(values, np.array([5.0, 5.0, 5.0, 5.0, 13.0]))
        assert wide[4] == pytest.approx(7 / 13)
        assert wide[0] == pytest.approx(-2 / 5)

    def test_equal_values_are_at_the_median(self) -> None:
        assert median_scores(np.ones(6), np.zeros(6)).tolist() == [0.0] * 6

    @pytest.mark.slow
    def test_simulated_scores_are_those_of_normal_studies(self) -> None:
        rng, scores = np.random.default_rng(5), []
        for _ in range(2_000):
            x = rng.standard_normal(8)
            scores += ((x - np.median(x)) / (1.4826 * np.median(np.abs(x - np.median(x))))).tolist()
        for share in (0.5, 0.9, 0.99):
            assert np.quantile(null_scores(8), share) == pytest.approx(np.quantile(scores, share), rel=0.15, abs=0.05)


class TestMarksOfAnnotators:
    def test_one_far_value_is_marked_with_the_median_of_the_others(self) -> None:
        values = np.random.default_rng(1).normal(0, 1, (20, 1))
        values[7] = 12.0
        (mark,) = out_of_line(values, np.zeros((20, 1)), [True])
        assert (mark.person, mark.measure, mark.value) == (7, 0, 12.0)
        assert mark.others == pytest.approx(np.median(np.delete(values, 7)))
        assert mark.p < 0.05

    def test_only_the_named_side_is_marked(self) -> None:
        values = np.random.default_rng(1).normal(0, 1, (20, 1))
        values[7] = 12.0
        assert out_of_line(values, np.zeros((20, 1)), [False]) == []

    def test_rest_is_compared_again_without_the_marked(self) -> None:
        # Beside an extreme value a large one is unremarkable in the same comparison only if the spread is shared.
        values = np.random.default_rng(2).normal(0, 1, (12, 2))
        values[3, 0], values[5, 1] = 40.0, 40.0
        found = out_of_line(values, np.zeros((12, 2)), [True, True])
        assert {(one.person, one.measure) for one in found} >= {(3, 0), (5, 1)}

    def test_what_may_not_be_marked_is_not(self) -> None:
        values = np.random.default_rng(1).normal(0, 1, (20, 1))
        values[7] = 12.0
        assert out_of_line(values, np.zeros((20, 1)), [True], np.zeros((20, 1), dtype=bool)) == []

    def test_four_annotators_are_too_few(self) -> None:
        assert out_of_line(np.array([[0.0], [0.1], [0.2], [99.0]]), np.zeros((4, 1)), [True]) == []

    def test_unknown_values_are_not_compared(self) -> None:
        values = np.random.default_rng(1).normal(0, 1, (20, 2))
        values[:17, 1] = np.nan  # three annotators have the second measure
        values[7, 0], values[19, 1] = 12.0, 99.0
        assert [(one.person, one.measure) for one in out_of_line(values, np.zeros((20, 2)), [True, True])] == [(7, 0)]

    @pytest.mark.slow
    @pytest.mark.parametrize(("people", "noise"), [(5, 0.0), (8, 0.5), (25, 0.5), (25, 3.0)])
    def test_studies_of_normal_annotators_are_marked_in_five_percent(self, people: int, noise: float) -> None:
        # .05 of 400 has a standard error of .011; noise beside the spread makes it conservative.
        rng, marked = np.random.default_rng(people), 0
        for _ in range(400):
            errors = np.full((people, 3), noise) * rng.uniform(0.5, 1.5, (people, 1))
            values = rng.normal(0, 1, (people, 3)) + rng.normal(0, 1, (people, 3)) * errors
            marked += bool(out_of_line(values, errors, [True, False, True]))
        assert marked / 400 <= 0.05 + 3 * 0.011
