"""Variances of items and of the rest by restricted likelihood: by hand where tables are balanced, else step by step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from assay.data.annotations import Answers
from assay.statistics.components.variance import Components, IntraclassCorrelation, OneWay, OneWayLikely, TwoWay


def answers_of(rows: list[list[float]]) -> Answers:
    """Labels of each item, by whomever."""
    item = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    annotator = np.concatenate([np.arange(len(row)) for row in rows])
    names = tuple("abcdef"[: annotator.max() + 1])
    return Answers(item, annotator, np.concatenate(rows).astype(float), tuple(map(str, range(len(rows)))), names)


def found_of(rows: list[list[float]], centre: float = 0.0) -> list[float]:
    data = answers_of(rows)
    model = OneWayLikely.of(data, centre)
    sums = model.moments(data).sum(axis=0)
    assert len(sums) == model.width
    return model.value(sums).tolist()


def restricted_deviance(rows: list[list[float]], between: float, within: float) -> float:
    """From whole matrices: log |V| + log |1'V⁻¹1| + the residual of y from its weighted mean."""
    y = np.concatenate(rows)
    item = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    v = between * (item[:, None] == item) + within * np.eye(len(y))
    inverse, one = np.linalg.inv(v), np.ones(len(y))
    total = one @ inverse @ one
    away = y - one @ inverse @ y / total
    return float(np.linalg.slogdet(v)[1] + np.log(total) + away @ inverse @ away)


BALANCED = [[1.0, 2.0], [4.0, 4.0], [6.0, 8.0]]
UNEQUAL = [[1.0, 2.0, 1.5], [4.0], [6.0, 8.0], [3.0, 3.5, 5.0, 4.0], [7.0], [2.0, 2.0]]


def test_in_a_balanced_table_they_are_those_of_the_analysis_of_variance():
    """Means 1.5, 4 and 7 around 25/6; within (.5 + 0 + 2) / 3. Half of what lies between and within is the items'."""
    between, within = 2 * ((1.5 - 25 / 6) ** 2 + (4 - 25 / 6) ** 2 + (7 - 25 / 6) ** 2) / 2, 2.5 / 3
    for centre in (0.0, 5.0):
        assert found_of(BALANCED, centre) == pytest.approx([(between - within) / 2, 0.0, within], rel=1e-6)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_in_another_table_nothing_near_is_likelier(scale):
    rows = [[scale * label for label in row] for row in UNEQUAL]
    between, none, within = found_of(rows, 4.0 * scale)
    assert none == 0.0
    least = restricted_deviance(rows, between, within)
    for one, other in itertools.product((0.99, 1.0, 1.01), repeat=2):
        assert restricted_deviance(rows, one * between, other * within) >= least - 1e-9
    # And nothing far: for any ratio of both, the best variance within has a closed form; here it is searched for.
    grid = [minimize_scalar(lambda w, r=r: restricted_deviance(rows, r * np.exp(w), np.exp(w)), bounds=(-5, 10)).fun
            for r in (0.0, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0)]  # fmt: skip
    assert min(grid) >= least - 1e-6


def test_items_that_differ_less_than_chance_have_no_variance():
    """All means are 2: the variance is that of all six labels, over 5."""
    between, _, within = found_of([[1.0, 3.0], [0.0, 4.0], [2.0, 2.0]])
    assert between == 0.0
    assert within == pytest.approx((1 + 1 + 4 + 4) / 5)


@pytest.mark.parametrize("apart", [1.0, 1e-1, 1e-2, 1e-3, 1e-4])
def test_labels_of_an_item_may_be_as_good_as_equal(apart):
    """As complete tables have by mean squares: the variance of the means 1, 4, 6 is 19/3, within it is apart² / 2."""
    between, _, within = found_of([[low, low + apart] for low in (1.0, 4.0, 6.0)])
    assert within == pytest.approx(apart**2 / 2, rel=1e-3)
    assert between == pytest.approx(19 / 3 - apart**2 / 4, rel=1e-3)


@pytest.mark.parametrize("rows", [[[1.0], [2.0], [3.0]], [[1.0, 2.0, 3.0]], [[1.0, 1.0], [1.0, 1.0]]])
def test_without_labels_of_one_item_or_items_or_differences_nothing_is_known(rows):
    assert np.isnan(found_of(rows)[0])


def test_several_tables_are_estimated_side_by_side():
    data = answers_of(UNEQUAL)
    model = OneWayLikely.of(data, 0.0)
    moments = model.moments(data)
    counts = np.array([[1, 1, 1, 1, 1, 1], [2, 0, 1, 1, 0, 2], [0, 1, 1, 2, 1, 1]], dtype=float)
    together = model.value((counts @ moments).reshape(3, 1, -1))
    assert together.shape == (3, 1, 3)
    for k, often in enumerate(counts):
        rows = [row for row, n in zip(UNEQUAL, often, strict=True) for _ in range(int(n))]
        assert together[k, 0] == pytest.approx(found_of(rows), rel=1e-5)


# -- by mean squares ----------------------------------------------------------------------------------

NA = np.nan


def components_of(model, rows: list[list[float]]) -> list[float]:
    cells = np.array(rows, dtype=float)
    item, annotator = np.nonzero(~np.isnan(cells))
    names = tuple("abcdef"[: cells.shape[1]])
    data = Answers(item, annotator, cells[item, annotator], tuple(map(str, range(len(rows)))), names)
    moments = model.moments(data)
    assert moments.shape == (len(rows), model.width)
    return model.value(moments.sum(axis=0)).tolist()


COMPLETE = [[1.0, 2], [3, 5], [5, 8]]
"""Means of items 1.5, 4, 6.5 and of annotators 3, 5 about 4: squares 2 (6.25 + 6.25) = 25, 3 (1 + 1) = 6, and of
9 + 4 + 1 + 1 + 1 + 16 = 32 in all 1 is left. Mean squares 12.5, 6, .5."""


@pytest.mark.parametrize("centre", [0.0, 3.5])
def test_variances_of_a_complete_table_by_hand(centre):
    wanted = [(12.5 - 0.5) / 2, (6 - 0.5) / 3, 0.5]
    for model in (TwoWay(centre, 2), Components(centre, 2)):
        assert components_of(model, COMPLETE) == pytest.approx(wanted)
    # An item with a missing label is excluded from the analysis of a complete table.
    assert components_of(TwoWay(centre, 2), [*COMPLETE, [9.0, NA]]) == pytest.approx(wanted)
    # Within items (.5 + 2 + 4.5) / 3 = 7/3.
    assert components_of(OneWay(centre), COMPLETE) == pytest.approx([(12.5 - 7 / 3) / 2, 0, 7 / 3])


@pytest.mark.parametrize(
    ("rows", "known"),
    [
        ([[1.0, 2], [3, NA], [4, NA], [NA, 7]], False),  # 5 labels, 4 items and 2 annotators: 0 left over
        ([[1.0, 2], [3, 4], [4, NA], [NA, 7]], True),  # one is
        ([[1.0, 2]], False),
        ([[1.0, NA], [3, NA], [4, NA]], False),
    ],
)
def test_variances_need_labels_beyond_items_and_annotators(rows, known):
    assert np.isfinite(components_of(Components(0.0, 2), rows)).all() == known


def test_forms_of_the_intraclass_correlation_by_hand():
    # Items 6, annotators 11/6, error 1/2, two annotators.
    forms = ("C,1", "C,k", "A,1", "A,k")
    a, e = 11 / 6, 1 / 2
    wanted = [6 / (6 + e), 6 / (6 + e / 2), 6 / (6 + a + e), 6 / (6 + (a + e) / 2)]
    assert components_of(IntraclassCorrelation(TwoWay(0.0, 2), forms, 2), COMPLETE) == pytest.approx(wanted)
    one = IntraclassCorrelation(OneWay(0.0), ("1", "k"), 3)
    i, e = (12.5 - 7 / 3) / 2, 7 / 3
    assert components_of(one, COMPLETE) == pytest.approx([i / (i + e), i / (i + e / 3)])


@pytest.mark.parametrize("apart", [1e-4, 1e-7, 0.0])
def test_nearly_equal_labels_attribute_variance_to_items(apart):
    """Also where they differ by less than the last share that is tried, or not at all. 1, 4 and 7 have variance 9."""
    between, _, within = found_of([[1 - apart, 1 + apart], [4.0, 4.0], [7.0, 7.0]])
    assert between / (between + within) == pytest.approx(1, abs=1e-8)
    if apart == 1e-4:
        assert between == pytest.approx(9, rel=1e-5)
        assert within == pytest.approx(2 * apart**2 / 3, rel=1e-3)
