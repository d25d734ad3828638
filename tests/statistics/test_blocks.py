"""Terms, their squares and the two likelihoods, by hand and by dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import references
from assay.statistics.components.blocks import (
    Balanced,
    Blocks,
    Terms,
    anova,
    balanced_table,
    contrasts,
    cross_codes,
    dependent_terms,
    left_over,
    nested_codes,
    sequential_squares,
    untold,
)


@pytest.mark.parametrize(
    ("fine", "coarse", "left"),
    [
        ([0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], 1),  # two of one group, one of the other
        ([0, 1, 2, 3], [0, 0, 1, 1], 2),
        ([0, 1, 2], [0, 1, 2], 0),
        ([0, 0, 1, 1], [0, 0, 0, 0], 1),
        ([0, 1, 0, 1], [0, 0, 1, 1], None),  # crossed
        ([0, 0, 1, 1], [0, 0, 0, 1], None),
    ],
)
def test_differences_within_levels_of_another_term(fine, coarse, left):
    assert contrasts(np.array(fine), np.array(coarse)) == left


LONG = [1.0, 2, 3, 4, 6]
"""Two levels, {1, 2, 3} and {4, 6}: squares within 2 + 2 = 4, between 3 (3.2 − 2)² + 2 (5 − 3.2)² = 10.8."""

ROWS, COLUMNS = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
CROSSED = Terms(np.array([1.0, 2, 3, 2, 3, 7]), (ROWS, COLUMNS))
"""Means of rows 2, 4, of columns 1.5, 2.5, 5: squares of rows 3 · 2 = 6, of columns 2 (2.25 + .25 + 4) = 13; the whole
22, so that 3 are left."""


def test_codes_count_the_combinations_that_occur_in_their_order():
    code, n = cross_codes(np.array([1, 0, 1, 1]), np.array([0, 2, 0, 5]))
    assert (code.tolist(), n) == ([1, 0, 1, 2], 3)
    wide, n = cross_codes(np.array([9_000_000, 3, 9_000_000]))
    assert (wide.tolist(), n) == ([1, 0, 1], 2)
    nothing, n = cross_codes(np.array([], dtype=int))
    assert (len(nothing), n) == (0, 0)


def test_nested_codes_number_levels_within_parents():
    assert nested_codes(np.array([7, 3, 7]), None).tolist() == [1, 0, 1]
    assert nested_codes(np.array([5, 6, 5, 9, 8]), np.array([0, 0, 1, 1, 1])).tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    ("value", "measured", "others", "why"),
    [
        ([], [], [], "the labels do not vary"),
        ([2.0] * 8, [0, 0, 1, 1, 2, 2, 3, 3], [], "the labels do not vary"),
        (range(6), [0, 0, 1, 1, 2, 2], [], "3 levels of item have 2 differences, and 3 are needed at least"),
        (range(4), [0, 0, 1, 1], [], "2 levels of item have 1 difference, and 3 are needed at least"),
        (range(6), [0, 0, 1, 1, 2, 3], [], "too few levels of item have two labels to separate its "
         "variance from error"),
        (range(7), [0, 0, 1, 1, 2, 2, 3], [], None),
        (range(8), [0, 0, 1, 1, 2, 2, 3, 3], [[0, 0, 0, 0, 1, 1, 1, 1]], "each level of annotator has a separate "
         "level of item, so their variances are confounded"),
        (range(8), [0, 0, 1, 1, 2, 2, 3, 3], [[0] * 8], None),
        (range(8), [0, 0, 1, 1, 2, 2, 3, 3], [[0, 1] * 4], None),
    ],
)  # fmt: skip
def test_inseparable_reports_confounded_terms(value, measured, others, why):
    found = untold(np.array(value, dtype=float), np.array(measured, dtype=int), *map(np.array, others))
    assert found == why


def test_other_names_and_another_least_number_of_differences_are_used():
    value, measured = np.arange(6.0), np.array([0, 0, 1, 1, 2, 2])
    assert untold(value, measured, least=2) is None
    assert untold(value, measured, least=3, name="t").startswith("3 levels of t have")
    each = np.array([0, 0, 1, 1, 2, 2])
    assert "each level of r has a separate level of t" in untold(value, measured, each, least=1, name="t", other="r")


@pytest.mark.parametrize(
    ("value", "codes", "left"),
    [
        (LONG, [[0, 0, 0, 1, 1]], (3, 4.0)),
        ([*LONG, 100.0], [[0, 0, 0, 1, 1, 2]], (3, 4.0)),  # a label with a level to itself is explained by it
        ([1.0, 2, 3], [[0, 1, 2]], (0, 0.0)),
        (CROSSED.value, [ROWS, COLUMNS], (2, 3.0)),
        (CROSSED.value, [COLUMNS, ROWS, ROWS], (2, 3.0)),
        (CROSSED.value, [COLUMNS, [0] * 6], (3, 9.0)),  # 22 − 13
        (CROSSED.value, [], (5, 22.0)),
        # Who is alone in one term leaves, then who is alone without them: of rows (0, 0), (1,), (1, 0, 0) none remains.
        ([5.0, 6, 7], [[0, 0, 1], [0, 1, 1]], (0, 0.0)),
    ],
)
def test_squares_that_no_level_explains(value, codes, left):
    n, squares = left_over(Terms(np.array(value), tuple(map(np.array, codes))))
    assert n == left[0]
    assert squares == pytest.approx(left[1], abs=1e-9)


def test_rank_of_large_table_is_bounded():
    """A Latin square of two: 4 labels, 6 levels, rank 4. Nothing is left; the bound says 4 − 6 + 3 − 1, at least 1."""
    one, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    square = Terms(np.array([1.0, 2, 3, 9]), (one, other, one ^ other))
    assert left_over(square, most_ranked=4 * 6)[0] == 0
    assert left_over(square, most_ranked=4 * 6 - 1)[0] == 1
    n, squares = left_over(CROSSED, most_ranked=4 * 6 - 1)
    assert n == 6 - 5 + 2 - 1
    assert squares == pytest.approx(3)


def test_analysis_of_variance_of_unequal_groups():
    # Mean squares 10.8 and 4 / 3; a level counts (5 − (9 + 4) / 5) / 1 = 2.4 times.
    one_way = Terms(np.array(LONG), (np.array([0, 0, 0, 1, 1]),))
    assert anova(one_way).tolist() == pytest.approx([(10.8 - 4 / 3) / 2.4, 4 / 3])
    df, squares = sequential_squares(one_way)
    assert df.tolist() == [1, 3]
    assert squares.tolist() == pytest.approx([10.8, 4])


def test_analysis_of_variance_of_crossed_terms():
    # Mean squares 6 / 1, 13 / 2 and 3 / 2; a row has 3 labels, a column 2.
    assert anova(CROSSED).tolist() == pytest.approx([(6 - 1.5) / 3, (6.5 - 1.5) / 2, 1.5])


def test_terms_that_are_one_have_no_analysis_of_variance():
    found = anova(Terms(CROSSED.value, (ROWS, ROWS)))
    assert found.shape == (3,)
    assert np.isnan(found).all()


def test_squares_in_sequence_are_left_out_of_a_large_table():
    df, squares = sequential_squares(CROSSED, most=6 * 5)
    assert df.tolist() == [1, 2, 2]
    assert squares.tolist() == pytest.approx([6, 13, 3])
    for one in sequential_squares(CROSSED, most=6 * 5 - 1):
        assert one.shape == (3,)
        assert np.isnan(one).all()


TWO = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("codes", "n", "named"),
    [
        ([ROWS, COLUMNS], 6, []),
        ([ROWS, COLUMNS, ROWS], 6, [0, 2]),
        ([COLUMNS, np.arange(6)], 6, [1, 2]),  # the residual is the last
        ([ROWS], 6, []),
        # Rows, columns and their product each have one contrast of four labels, twice; together they are the residual.
        ([*TWO, TWO[0] ^ TWO[1]], 4, [0, 1, 2, 3]),
    ],
)
def test_terms_that_add_to_nothing_are_named(codes, n, named):
    assert dependent_terms(codes, n) == named


@pytest.mark.parametrize("restricted", [True, False])
def test_mean_square_likelihood_equals_label_likelihood(restricted):
    strata = [frozenset({0}), frozenset({1}), frozenset({0, 1})]
    found = balanced_table(CROSSED.value, (ROWS, COLUMNS), strata, strata[:2], restricted)
    assert found.squares.tolist() == pytest.approx([6, 13, 3])
    assert found.df.tolist() == [1, 2, 2]
    assert found.weights.tolist() == [[3, 0, 1], [0, 2, 1], [0, 0, 1], [3, 2, 1]]
    assert found.mean_squares.tolist() == pytest.approx([6, 6.5, 1.5])
    assert found.anova().tolist() == pytest.approx([1.5, 2.5, 1.5])
    theta = np.array([0.7, 2.0, 1.3])
    codes = [c.tolist() for c in (ROWS, COLUMNS)]
    assert found.deviance(theta) == pytest.approx(references.deviance(CROSSED.value, codes, theta, restricted))
    gradient, information = found.derivatives(theta)
    for k, step in enumerate(1e-6 * np.eye(3)):
        apart = found.deviance(theta + step) - found.deviance(theta - step)
        assert gradient[k] == pytest.approx(apart / 2e-6, rel=1e-5, abs=1e-6)
    # Expected second derivatives: Σ df w w' / (expected mean square)², the mean's own stratum among them by ML.
    expected, df = found.weights @ theta, [1, 2, 2, 0 if restricted else 1]
    slow = sum(n * np.outer(w, w) / e**2 for n, w, e in zip(df, found.weights, expected, strict=True))
    np.testing.assert_allclose(information, slow)
    np.testing.assert_allclose(found.curvature(theta), slow)


def test_likelihood_is_infinite_for_impossible_variances():
    strata = [frozenset({0}), frozenset({1}), frozenset({0, 1})]
    found = balanced_table(CROSSED.value, (ROWS, COLUMNS), strata, strata[:2])
    assert found.restricted
    assert found.deviance(np.array([-0.1, 1.0, 0.3])) == np.inf  # 3 · −.1 + .3 = 0
    assert np.isfinite(found.deviance(np.array([-0.09, 1.0, 0.3])))
    assert found.deviance(np.zeros(3)) == np.inf


def test_labels_of_one_cell_form_a_stratum():
    # Cells (1, 3), (2, 4) in one row, (5, 5), (6, 10) in the other: squares within 2 + 2 + 0 + 8.
    value = np.array([1.0, 3, 2, 4, 5, 5, 6, 10])
    rows, columns = np.repeat([0, 1], 4), np.repeat([0, 1, 0, 1], 2)
    strata = [frozenset({0}), frozenset({1}), frozenset({0, 1})]
    found = balanced_table(value, (rows, columns), strata, strata)
    # Means of cells 2, 3, 5, 8 and 4.5 of all; rows 2.5, 6.5; columns 3.5, 5.5. Squares 8 · 2², 8 · 1², 8 · .5².
    assert found.squares.tolist() == pytest.approx([32, 8, 2, 12])
    assert found.df.tolist() == [1, 1, 1, 4]
    assert found.weights.tolist() == [[4, 0, 2, 1], [0, 4, 2, 1], [0, 0, 2, 1], [0, 0, 0, 1], [4, 4, 2, 1]]
    assert found.n == 8


@pytest.mark.parametrize("kept", [[0, 1, 2], [0, 1, 2, 3, 3], [0, 1, 2, 2, 3, 3, 3, 3], [0, 0, 1, 1, 2, 2, 2, 3]])
def test_incomplete_table_has_no_mean_squares(kept):
    axes = tuple(axis[kept] for axis in TWO)
    assert balanced_table(np.arange(float(len(kept))), axes, [frozenset({0})], [frozenset({0})]) is None


def test_strata_that_share_a_mean_square_are_pooled():
    # (3 + 5) / (1 + 4) = 1.6 is the residual, (20 / 2 − 1.6) / 2 = 4.2 the term.
    weights = np.array([[2.0, 1], [0, 1], [0, 1], [2, 1]])
    pooled = Balanced(np.array([20.0, 3, 5]), np.array([2.0, 1, 4]), weights, 8)
    assert pooled.anova().tolist() == pytest.approx([4.2, 1.6])


def test_strata_that_do_not_tell_terms_apart_have_no_solution():
    weights = np.array([[2.0, 2, 1], [0, 0, 1], [2, 2, 1]])
    found = Balanced(np.array([20.0, 3]), np.array([2.0, 1]), weights, 4).anova()
    assert found.shape == (3,)
    assert np.isnan(found).all()


def test_samples_of_mean_squares_vary_as_chi_squares():
    """Of a stratum with expected mean square e: e χ² with df, whose mean is e df and variance 2 e² df."""
    weights = np.array([[2.0, 1], [0, 1], [2, 1]])
    table = Balanced(np.array([20.0, 3]), np.array([4.0, 9]), weights, 14)
    rng = np.random.default_rng(0)
    drawn = np.array([table.simulate(np.array([1.0, 3]), rng).squares for _ in range(2000)])
    np.testing.assert_allclose(drawn.mean(axis=0), [5 * 4, 3 * 9], rtol=0.05)
    np.testing.assert_allclose(drawn.var(axis=0), [2 * 25 * 4, 2 * 9 * 9], rtol=0.12)


# -- any table --------------------------------------------------------------------------------------

GAPS = Terms(
    np.array([1.0, 2, 4, 3, 5, 9, 5, 6]),
    (np.array([0, 0, 1, 1, 2, 2, 0, 3]), np.array([0, 1, 0, 1, 1, 2, 1, 2])),
)


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("most_dense", [1500, 0])
@pytest.mark.parametrize("theta", [[1.5, 0.8, 0.6], [0.0, 0.8, 0.6], [1.5, 0.0, 0.6]])
def test_blocks_have_the_likelihood_of_dense_matrices(theta, most_dense, restricted):
    cells = Blocks.of(GAPS, restricted, most_dense)
    assert (cells.n, cells.levels, len(cells.mean)) == (8, (4, 3), 7)  # labels 1 and 6 are of one cell
    codes = [c.tolist() for c in GAPS.codes]

    def slow(x):
        return references.deviance(GAPS.value, codes, x, restricted)

    theta = np.array(theta)
    assert cells.deviance(theta) == pytest.approx(slow(theta))
    gradient, information = cells.derivatives(theta)
    for k, step in enumerate(1e-5 * np.eye(3)):
        if theta[k] > 0:
            assert gradient[k] == pytest.approx((slow(theta + step) - slow(theta - step)) / 2e-5, rel=1e-4, abs=1e-5)
    wanted = references.average_information(GAPS.value, codes, theta, restricted)
    # Of labels within a cell, whose squares are (5 − 2)² / 2, the expected derivative is taken, not the average one.
    wanted[2, 2] += 1 / theta[2] ** 2 - 4.5 / theta[2] ** 3
    np.testing.assert_allclose(information, wanted, rtol=1e-7)
    np.testing.assert_allclose(cells.curvature(theta), wanted, rtol=1e-7)


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("lost", [0.0, 0.4])
def test_repeated_blocks_have_the_likelihood_of_copies(lost, restricted):
    """Raters reach across objects; a copy of an object is another object with the same raters."""
    draw = np.random.default_rng(3)
    thing, lesson, rater = (code.ravel() for code in np.indices((70, 2, 4)))
    rows = np.repeat(np.flatnonzero(draw.random(len(thing)) >= lost), 2 if lost else 1)
    rows = rows[draw.random(len(rows)) < 0.8]  # cells of one label and of two
    times, value = np.tile([2, 0, 1, 3, 1, 0, 1], 10), draw.normal(size=len(rows))
    thing, lesson, rater = thing[rows], lesson[rows], rater[rows]
    blocks = Blocks.of(Terms(value, (cross_codes(thing)[0], cross_codes(thing, lesson)[0], rater)), restricted)
    found = blocks.repeated(times[thing[blocks.label]].astype(float))

    again = np.repeat(np.arange(len(rows)), times[thing])
    copy = np.concatenate([np.arange(n) for n in times[thing]])
    codes = cross_codes(thing[again], copy)[0], cross_codes(thing[again], copy, lesson[again])[0], rater[again]
    copied = Blocks.of(Terms(value[again], codes), restricted)
    assert blocks.within == (0, 1)  # blocks are objects
    assert found.n == copied.n
    for theta in np.array([[1.5, 0.8, 0.3, 0.6], [1.5, 0.8, 0.0, 0.6], [0.0, 0.8, 0.3, 0.6]]):
        assert found.deviance(theta) == pytest.approx(copied.deviance(theta))
        assert replace(found, most_dense=0).deviance(theta) == pytest.approx(copied.deviance(theta))
        for one, other in zip(found.derivatives(theta), copied.derivatives(theta), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-5)


def test_nothing_that_varies_has_no_likelihood():
    cells = Blocks.of(GAPS)
    assert cells.restricted
    assert cells.deviance(np.zeros(3)) == np.inf
    assert cells.deviance(np.array([1e-251, 0, 1e-252])) == np.inf
    assert np.isfinite(cells.deviance(np.array([1.0, -0.5, 0.5])))  # below 0 counts as 0


LONGER = Terms(
    np.tile(GAPS.value, 20) + np.arange(160) % 7,
    (np.concatenate([GAPS.codes[0] + 4 * k for k in range(20)]), np.tile(GAPS.codes[1], 20)),
)
"""Eighty levels of the first term."""


@pytest.mark.parametrize("table", [GAPS, LONGER], ids=["few", "many levels"])
def test_predictions_are_best_linear_unbiased(table):
    """û = θ Z'P y about the mean by generalised least squares; its error by brute force over V."""
    theta = np.array([1.5, 0.8, 0.6])
    n = len(table)
    v = references.covariance([c.tolist() for c in table.codes], theta)
    inverse, one = np.linalg.inv(v), np.ones(n)
    for term, levels in enumerate(table.levels):
        z = (table.codes[term][:, None] == np.arange(levels)).astype(float)
        weights = inverse @ one / (one @ inverse @ one)  # of the mean
        # The prediction of mean + level is linear in labels, A'y; its error has variance of A'y − level.
        a = weights[:, None] + theta[term] * (np.eye(n) - np.outer(weights, one)) @ inverse @ z
        error = np.diag(a.T @ v @ a - 2 * theta[term] * a.T @ z) + theta[term]
        found, variance = Blocks.of(table).predict(theta, term)
        centre = table.value.mean()
        np.testing.assert_allclose(found + centre, a.T @ table.value)
        np.testing.assert_allclose(variance, error)


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (1, 2, 3), (1, 2, 2, 5)])
def test_blocks_of_one_cell_two_and_more_have_the_likelihood_of_dense_matrices(sizes, restricted):
    """Lessons nested in teachers, with one or two labels each: the matrix is block-diagonal."""
    teacher = np.repeat(np.arange(len(sizes)), sizes)
    lesson = np.repeat(np.arange(len(teacher)), 1 + np.arange(len(teacher)) % 2)
    value = np.array([2.0, 5, 3, 7, 1, 4, 6, 2, 9, 3, 5, 8, 1, 2, 6])[: len(lesson)]
    codes = (teacher[lesson], lesson)
    theta = np.array([1.2, 0.7, 0.4])
    cells = Blocks.of(Terms(value, codes), restricted)
    assert {group.cell.shape[1] for group in cells.groups} == set(sizes)
    assert (cells.across, cells.within, cells.starts.tolist()) == ((), (0, 1), [0])

    def slow(x):
        return references.deviance(value, [c.tolist() for c in codes], x, restricted)

    assert cells.deviance(theta) == pytest.approx(slow(theta))
    gradient, _ = cells.derivatives(theta)
    slopes = [(slow(theta + step) - slow(theta - step)) / 2e-5 for step in 1e-5 * np.eye(3)]
    assert gradient.tolist() == pytest.approx(slopes, rel=1e-4, abs=1e-5)


def test_labels_of_variances_that_are_0_do_not_vary_within_a_level():
    cells, rng = Blocks.of(GAPS), np.random.default_rng(0)
    nothing = cells.simulate(np.zeros(3), rng)
    assert (nothing.mean.tolist(), nothing.inside.tolist()) == ([0] * 7, [0] * 7)
    for k in range(2):
        theta = np.zeros(3)
        theta[k] = 4.0
        mean, code = cells.simulate(theta, rng).mean, cells.codes[k]
        assert len(set(mean.tolist())) == len(set(code.tolist()))
        assert all(len(set(mean[code == level].tolist())) == 1 for level in code)


def test_drawn_labels_have_specified_variance():
    """A cell's mean has θ₀ + θ₁ + θ₂ / labels; squares within the one cell of two labels are θ₂ χ² with 1 df."""
    cells, rng, theta = Blocks.of(GAPS), np.random.default_rng(0), np.array([4.0, 1.0, 9.0])
    drawn = [cells.simulate(theta, rng) for _ in range(2000)]
    number = cells.number
    assert sorted(number.tolist()) == [1] * 6 + [2]
    np.testing.assert_allclose(np.var([one.mean for one in drawn], axis=0), 5 + 9 / number, rtol=0.12)
    inside = np.array([one.inside for one in drawn])
    assert (inside[:, number == 1] == 0).all()
    assert inside.sum(axis=1).mean() == pytest.approx(9, rel=0.12)
    assert inside.sum(axis=1).var() == pytest.approx(2 * 81, rel=0.3)
    assert (drawn[0].n, drawn[0].levels, drawn[0].starts.tolist()) == (8, (4, 3), cells.starts.tolist())
    single = Blocks.of(Terms(GAPS.value[:6], tuple(c[:6] for c in GAPS.codes)))
    assert not single.simulate(theta, rng).inside.any()


@pytest.mark.parametrize("theta", [[1.5, 0.8, 0.6], [1e-9, 0.8, 0.6]])
def test_numerical_slope_matches_formula(theta):
    """A matrix across blocks that is too large to invert has its slope by differences."""
    found, wanted = (Blocks.of(GAPS, most_dense=most).derivatives(np.array(theta))[0] for most in (0, 1500))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    assert (found != wanted).any()


@pytest.mark.parametrize(("most", "dense"), [(3, False), (4, True), (5, True)])
def test_matrix_across_blocks_is_inverted_up_to_a_size(most, dense):
    cells, theta = Blocks.of(GAPS), np.array([1.0, 1, 1])
    assert int(cells.starts[-1]) == 4  # the levels of the first term reach across the three of the second
    found = replace(cells, most_dense=most).derivatives(theta)[0]
    assert np.array_equal(found, cells.derivatives(theta)[0]) == dense
