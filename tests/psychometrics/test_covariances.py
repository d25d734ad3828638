"""Mean products of labels, and the same without each object, person and cell, compared with loops over all pairs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.psychometrics import covariances
from assay.psychometrics.covariances import Contrast, JudgeMoments, LabelTables, Leftout, Products, RaterSide, contrast


def rows(seed=0, objects=5, lessons=2, segments=2, people=3, judges=2, missing=0.3, d=1):
    """One row a label: object, lesson, item, rater and a vector."""
    rng = np.random.default_rng(seed)
    found = []
    item = 0
    for i in range(objects):
        for o in range(lessons):
            for _ in range(segments):
                there = [r for r in range(people + judges) if r >= people or rng.random() > missing]
                found += [(i, i * lessons + o, item, r, rng.normal(size=d) + 3) for r in there]
                item += 1
    return found


def tables(found, people=3, judges=2, lessons=True, n_items=20):
    """The same rows as tables; items keep their places where labels were left out."""
    lesson_of, object_of = np.zeros((2, n_items), dtype=int)
    for i, o, s, _, _ in found:
        lesson_of[s], object_of[s] = o, i
    mine = np.arange(people + judges) < people
    value = np.array([x for *_, x in found])
    item, rater = (np.array([row[k] for row in found]) for k in (2, 3))
    return LabelTables.of(value, item, rater, lesson_of, object_of, mine, lessons=lessons)


def centred(found, people=3):
    """Labels less the grand mean of people, or of their own judge."""

    def side(r):
        return -1 if r < people else r

    means = {s: np.mean([x for *_, r, x in found if side(r) == s], axis=0) for s in {side(r[3]) for r in found}}
    return [(i, o, s, r, x - means[side(r)]) for i, o, s, r, x in found]


def mean_product(found, one, two, *, same_object, lessons=True, itself=False):
    """Sum and number of products over ordered pairs of different raters (or of a judge with itself)."""
    total, number = 0.0, 0
    for a, b in itertools.product(found, repeat=2):
        if a[3] not in one or b[3] not in two or (a[3] == b[3] and not itself):
            continue
        if same_object and (a[0] != b[0] or (lessons and a[1] == b[1])):
            continue
        if not same_object and a[0] == b[0]:
            continue
        total += float(a[4] @ b[4])
        number += 1
    return total, number


PEOPLE, JUDGES = {0, 1, 2}, {3, 4}


@pytest.mark.slow
@pytest.mark.parametrize("lessons", [True, False])
@pytest.mark.parametrize("d", [1, 3])
def test_sums_over_pairs_agree_with_loops(lessons, d):
    found = centred(rows(d=d))
    products = Products(tables(found, lessons=lessons))
    h, m = RaterSide(products.people, sampled=True), RaterSide(~products.people, sampled=False)
    there = [(u, r) for u, r in np.argwhere(products.there)]
    for one, two, names in ((h, h, (PEOPLE, PEOPLE)), (h, m, (PEOPLE, JUDGES)), (m, m, (JUDGES, JUDGES))):
        for same, sums in ((True, products.same_object(one, two)), (False, products.other_objects(one, two))):
            ask = {"same_object": same, "lessons": lessons}
            assert sums.whole == pytest.approx(mean_product(found, *names, **ask))
            for u in range(5):
                rest = [row for row in found if row[0] != u]
                assert sums.units[u] == pytest.approx(mean_product(rest, *names, **ask))
            for r in range(3):
                rest = [row for row in found if row[3] != r]
                assert sums.persons[r] == pytest.approx(mean_product(rest, *names, **ask))
            for k, (u, r) in enumerate(there):
                rest = [row for row in found if (row[0], row[3]) != (u, r)]
                assert sums.cells[k] == pytest.approx(mean_product(rest, *names, **ask))


def test_a_single_judge_is_paired_with_itself_in_other_lessons():
    found = centred(rows(judges=1))
    products = Products(tables(found, judges=1))
    m = RaterSide(~products.people, sampled=False, itself=True)
    expected = mean_product(found, {3}, {3}, same_object=True, itself=True)
    assert products.same_object(m, m).whole == pytest.approx(expected)
    expected = mean_product(found, {3}, {3}, same_object=False, itself=True)
    assert products.other_objects(m, m).whole == pytest.approx(expected)


def test_spreads_are_squares_and_products_of_one_rater():
    found = centred(rows())
    products = Products(tables(found))
    there = [(u, r) for u, r in np.argwhere(products.there)]

    def slow(rest, names):
        mine = [row for row in rest if row[3] in names]
        pairs = [(a, b) for a, b in itertools.product(mine, repeat=2) if a[3] == b[3] and a[0] != b[0]]
        return [sum(float(x @ x) for *_, x in mine), len(mine), sum(float(a[4] @ b[4]) for a, b in pairs), len(pairs)]

    h = products.spread(RaterSide(products.people, sampled=True))
    assert h.whole == pytest.approx(slow(found, PEOPLE))
    assert h.units[2] == pytest.approx(slow([row for row in found if row[0] != 2], PEOPLE))
    assert h.persons[1] == pytest.approx(slow([row for row in found if row[3] != 1], PEOPLE))
    u, r = there[4]
    assert h.cells[4] == pytest.approx(slow([row for row in found if (row[0], row[3]) != (u, r)], PEOPLE))
    m = products.spread(RaterSide(~products.people, sampled=False))
    assert m.whole == pytest.approx(slow(found, JUDGES))
    assert m.units[0] == pytest.approx(slow([row for row in found if row[0] != 0], JUDGES))
    assert m.persons[0] == pytest.approx(m.whole)


def test_covariances_and_variances_are_those_of_pairs():
    found = centred(rows())
    products = Products(tables(found))
    moments = JudgeMoments(products, ~products.people)

    def mean(*names, **pairs):
        total, number = mean_product(found, *names, **pairs)
        return total / number

    sides = (PEOPLE, PEOPLE), (PEOPLE, JUDGES), (JUDGES, JUDGES)
    for which, names in enumerate(sides):
        wanted = mean(*names, same_object=True) - mean(*names, same_object=False)
        assert moments.covariance(moments.sums.whole, which) == pytest.approx(wanted)
    for which, names in ((0, PEOPLE), (1, JUDGES)):
        square = np.mean([float(x @ x) for *_, rater, x in found if rater in names])
        own = [float(a[4] @ b[4]) for a, b in itertools.product(found, repeat=2)
               if a[3] == b[3] in names and a[0] != b[0]]  # fmt: skip
        wanted = square - np.mean(own), square - mean(names, names, same_object=False)
        assert moments.variances(moments.sums.whole, which) == pytest.approx(wanted)


def test_agreement_on_the_same_item_is_that_of_all_pairs():
    found = centred(rows())
    products = Products(tables(found))
    moments = JudgeMoments(products, ~products.people)

    def slow(rest, one, two):
        pairs = [(a[4][0], b[4][0]) for a, b in itertools.product(rest, repeat=2)
                 if a[2] == b[2] and a[3] != b[3] and a[3] in one and b[3] in two]  # fmt: skip
        x, y = np.array(pairs).T
        expected = np.mean((x[:, None] - y[None]) ** 2)
        return np.corrcoef(x, y)[0, 1], 1 - np.mean((x - y) ** 2) / expected

    sums = moments.on_items
    for left, kept in ((sums.whole, found), (sums.units[1], [r for r in found if r[0] != 1]),
                       (sums.persons[2], [r for r in found if r[3] != 2])):  # fmt: skip
        people, judge = slow(kept, PEOPLE, PEOPLE), slow(kept, PEOPLE, JUDGES)
        assert moments.agreements(left) == pytest.approx((*people, *judge))


def test_many_objects_are_left_out_in_blocks_without_changing_the_sums(monkeypatch):
    found = centred(rows(objects=5))
    whole = Products(tables(found))
    monkeypatch.setattr(covariances, "MOST_UNITS", 2)
    blocks = Products(tables(found))
    h = RaterSide(whole.people, sampled=True)
    assert blocks.other_objects(h, h).whole == pytest.approx(whole.other_objects(h, h).whole)
    assert len(blocks.other_objects(h, h).units) == 2
    gone = np.flatnonzero(blocks.tables.unit_of == 0)
    rest = [row for row in found if row[0] not in gone]
    assert blocks.other_objects(h, h).units[0] == pytest.approx(mean_product(rest, PEOPLE, PEOPLE, same_object=False))
    assert blocks.same_object(h, h).units[0] == pytest.approx(mean_product(rest, PEOPLE, PEOPLE, same_object=True))


def test_a_contrast_takes_its_bias_off_over_objects_and_adds_what_people_vary():
    units, persons, cells = np.array([[1.0], [2.0], [3.0]]), np.array([[2.5], [1.5]]), np.array([[2.1], [1.9]])
    found = contrast(Leftout(np.array([2.5]), units, persons, cells), lambda s: s[..., 0])
    assert found.value == pytest.approx(3 * 2.5 - 2 * 2.0)
    of_units, of_people, of_cells = 2 / 3 * 2.0, 1 / 2 * 0.5, 1 / 2 * 0.02
    assert found.error**2 == pytest.approx(of_units + of_people - of_cells)
    assert found.df == pytest.approx(found.error**4 / (of_units**2 / 2 + of_people**2 / 1))
    assert found.above() < 0.5 < found.below()
    assert found.above() + found.below() == pytest.approx(1)
    low, high = found.estimate(0.9).interval(0.9)
    assert found.estimate(0.9).p(low) == pytest.approx(0.1)
    assert (low + high) / 2 == pytest.approx(found.value)
    flat = contrast(Leftout(np.ones(1), np.ones((3, 1)), np.ones((2, 1)), np.ones((2, 1))), lambda s: s[..., 0])
    assert flat.reason == "no object or annotator changes the value"
    assert np.isnan(flat.above())


def test_lessons_as_items_have_mean_labels():
    found = centred(rows(seed=4))
    lesson = tables(rows(seed=4)).lesson_means
    for o in range(10):
        for r in range(5):
            mine = [x for _, of, _, rater, x in found if of == o and rater == r]
            assert lesson.labelled[o, r] == (1 if mine else 0)
            np.testing.assert_allclose(lesson.item[o, r], np.mean(mine, axis=0) if mine else 0)
    assert lesson.object_of.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert lesson.lesson_of.tolist() == list(range(10))
    assert lesson.object_of_lesson.tolist() == lesson.object_of.tolist()
    assert (lesson.n_objects, lesson.lessons) == (5, True)


def test_a_contrast_is_judged_by_t():
    found = Contrast(0.6, 0.3, 7.0)
    assert found.above() == pytest.approx(stats.t.sf(2, 7))
    assert found.below() == pytest.approx(stats.t.cdf(2, 7))
    one = found.estimate(0.9)
    half = stats.t.ppf(0.95, 7) * 0.3
    assert (one.estimate, one.low, one.high, one.standard_error) == pytest.approx((0.6, 0.6 - half, 0.6 + half, 0.3))
    assert one.interval(0.5) == pytest.approx((0.6 - stats.t.ppf(0.75, 7) * 0.3, 0.6 + stats.t.ppf(0.75, 7) * 0.3))
    for null in (0.0, 1.2):
        assert one.p(null) == pytest.approx(2 * stats.t.sf(2, 7))
    unknown = Contrast(np.nan, np.nan, np.nan, "why")
    assert np.isnan([unknown.above(), unknown.below()]).all()
    assert unknown.estimate(0.9).reason == "why"


def test_a_contrast_without_people_has_the_variance_of_objects():
    units = np.array([[1.0], [2.0], [4.0]])
    sums = Leftout(np.array([2.5]), units, np.array([[9.0], [1.0]]), np.array([[9.0], [1.0]]))
    found = contrast(sums, lambda s: s[..., 0], people=False)
    of_units = 2 / 3 * 14 / 3  # squares about 7/3: 16/9 + 1/9 + 25/9
    assert found.error**2 == pytest.approx(of_units)
    assert found.df == pytest.approx(2)
    assert found.value == pytest.approx(3 * 2.5 - 2 * 7 / 3)
    # People who vary less than their cells add nothing.
    less = Leftout(np.array([2.5]), units, np.array([[1.1], [1.0]]), np.array([[9.0], [1.0]]))
    assert contrast(less, lambda s: s[..., 0]).error ** 2 == pytest.approx(of_units)
    nowhere = contrast(sums, lambda s: np.where(s[..., 0] == 4, np.nan, s[..., 0]))
    assert nowhere.reason == "not estimable: too few pairs of labels, or no variance"
    # Of people as a sample: the contrast without one of them does not exist.
    pair = Leftout(np.array([2.5]), units, np.array([[np.nan], [1.0]]), np.array([[9.0], [1.0]]))
    assert contrast(pair, lambda s: s[..., 0]).reason.startswith("not estimable without one of the annotators")
    assert contrast(pair, lambda s: s[..., 0], people=False).reason is None


def test_a_severe_judge_agrees_less_than_its_correlation():
    """Two people say 1, 2, 4, 7, the judge 2 more: r is 1; squared distances are 4 of 4 + 2 (17.5 − 3.5²) = 14.5."""
    said = np.array([1.0, 2, 4, 7])
    item, rater = np.repeat(np.arange(4), 3), np.tile([0, 1, 2], 4)
    value = (said[item] + 2 * (rater == 2))[:, None]
    people = np.array([True, True, False])
    made = LabelTables.of(value, item, rater, np.arange(4), np.arange(4), people, lessons=False)
    found = JudgeMoments(Products(made), ~people)
    among, alike, judge, distance = (float(v) for v in found.agreements(found.on_items.whole))
    assert (among, alike, judge) == pytest.approx((1, 1, 1))
    assert distance == pytest.approx(1 - 4 / 14.5)
