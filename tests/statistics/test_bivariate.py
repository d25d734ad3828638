"""Variances of two families and their covariances: by dense matrices, and ends of intervals by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from assay.statistics.components import bivariate
from assay.statistics.components.bivariate import (
    Family,
    JointBlocks,
    JointFit,
    fit_joint,
    parameters_of,
    strata_of,
)
from assay.statistics.components.blocks import balanced_table

ITEM, RATER, BOTH = frozenset("i"), frozenset("r"), frozenset("ir")


def families(objects=(range(4), range(4)), balanced=(True, True)) -> tuple[np.ndarray, tuple[Family, Family]]:
    """Two raters of each family label its objects: values, and both families."""
    rows = [(k, i, 2 * k + r) for k in (0, 1) for i in objects[k] for r in (0, 1)]
    family, item, rater = map(np.array, zip(*rows, strict=True))
    value = np.random.default_rng(1).normal(size=len(rows)) + item
    made = []
    for k in (0, 1):
        mine = family == k
        place = np.unique(item[mine], return_inverse=True)[1]
        sets = [frozenset({0}), frozenset({1}), frozenset({0, 1})]
        table = balanced_table(value[mine], (place, rater[mine] % 2), sets, sets[1::-1]) if balanced[k] else None
        terms = [(RATER, rater), (ITEM, item), (BOTH, np.arange(len(rows)))]
        made.append(Family(mine, terms, np.array([0.2, 1.5, 0.8]), table, [ITEM, RATER, BOTH]))
    return value, (made[0], made[1])


def test_parameters_are_variances_of_each_family_and_then_covariances():
    _, both = families()
    found = parameters_of(*both, ITEM)
    each = [
        (RATER, (0,), (0,)),
        (ITEM, (0,), (1,)),
        (BOTH, (0,), (2,)),
        (RATER, (1,), (0,)),
        (ITEM, (1,), (1,)),
        (BOTH, (1,), (2,)),
    ]
    assert [(p.index, p.families, p.of) for p in found] == [*each, (ITEM, (0, 1), (1, 1))]
    # Two lessons that both rate as one more shared term: that of the objects comes first in any order.
    lesson = np.tile([0, 0, 0, 0, 1, 1, 1, 1], 2)
    more = [Family(f.mine, [(frozenset("o"), lesson), *f.terms], np.append(0.1, f.theta), None, f.strata) for f in both]
    last = parameters_of(*more, ITEM)[-2:]
    assert [(p.index, p.of) for p in last] == [(ITEM, (2, 2)), (frozenset("o"), (0, 0))]


@pytest.mark.parametrize(("others", "shared"), [((2, 3, 4, 5), True), ((3, 4, 5, 6), False), ((5, 6, 7, 8), False)])
def test_term_with_one_common_level_has_no_covariance(others, shared):
    value, both = families((range(4), others))
    assert any(len(p.families) == 2 for p in parameters_of(*both, ITEM)) == shared
    if not shared:
        assert fit_joint(value, both, ITEM, np.repeat(np.arange(8), 2)) is None


def dense(value, both, parameters, theta):
    """−2 log L without constants, its slope and the average information."""
    family = np.where(both[0].mine, 0, 1)
    matrices = []
    for p in parameters:
        same = p.level[:, None] == p.level[None, :]
        one = (family[:, None] == p.families[0]) & (family[None, :] == p.families[0])
        matrices.append((same & (one if len(p.families) == 1 else family[:, None] != family[None, :])).astype(float))
    x = np.stack([f.mine for f in both], axis=1).astype(float)
    v = np.tensordot(theta, np.array(matrices), 1)
    inverse = np.linalg.inv(v)
    inner = x.T @ inverse @ x
    p = inverse - inverse @ x @ np.linalg.solve(inner, x.T @ inverse)
    y = p @ value
    deviance = np.linalg.slogdet(v)[1] + np.linalg.slogdet(inner)[1] + value @ y
    slope = [np.trace(p @ m) - y @ m @ y for m in matrices]
    return deviance, slope, [[y @ a @ p @ b @ y for b in matrices] for a in matrices]


@pytest.mark.parametrize("objects", [(range(4), range(4)), (range(5), range(1, 4))])
@pytest.mark.parametrize("by", ["objects", "raters"])
def test_blocks_have_the_likelihood_of_dense_matrices(objects, by):
    """Raters reach across blocks of objects, or objects across blocks of raters."""
    value, both = families(objects)
    parameters = parameters_of(*both, ITEM)
    block = both[0].terms[1 if by == "objects" else 0][1]
    blocks = JointBlocks(value, both, parameters, block)
    theta = np.array([0.3, 1.2, 0.7, 0.4, 0.9, 0.6, 0.5])
    deviance, slope, information = dense(value, both, parameters, theta)
    assert blocks.deviance(theta) == pytest.approx(deviance)
    gradient, second = blocks.derivatives(theta)
    np.testing.assert_allclose(gradient, slope, atol=1e-9)
    np.testing.assert_allclose(second, information, atol=1e-9)


def test_invalid_covariance_matrix_has_no_likelihood():
    value, both = families()
    parameters = parameters_of(*both, ITEM)
    strata = strata_of(value, both, parameters)
    for likelihood in (JointBlocks(value, both, parameters, both[0].terms[1][1]), strata):
        # Sums of two labels of an object: variance 2 · 1 + .5 of each family, covariance 2 c, up to 1.25.
        for between, possible in ((1.24, True), (-1.24, True), (1.26, False), (-1.26, False)):
            theta = np.array([0.0, 1, 0.5, 0, 1, 0.5, between])
            assert np.isfinite(likelihood.deviance(theta)) == possible
        assert likelihood.deviance(np.array([0.0, 1, -0.5, 0, 1, 0.5, 0.1])) == np.inf
        assert likelihood.deviance(np.array([0.0, 1, 0.5, -0.2, 1, 0.5, 0.1])) == np.inf  # 4 · −.2 + .5


@pytest.mark.parametrize("theta", [[0.3, 1.2, 0.7, 0.4, 0.9, 0.6, 0.5], [0.1, 1.0, 0.5, 0.2, 2.0, 0.4, -0.8]])
def test_strata_of_complete_tables_have_the_slope_of_dense_matrices(theta):
    value, both = families()
    parameters = parameters_of(*both, ITEM)
    strata = strata_of(value, both, parameters)
    gradient, second = strata.derivatives(np.array(theta))
    np.testing.assert_allclose(gradient, dense(value, both, parameters, theta)[1], atol=1e-9)
    assert second.shape == (7, 7)
    for k, step in enumerate(1e-5 * np.eye(7)):
        apart = strata.deviance(theta + step) - strata.deviance(theta - step)
        assert gradient[k] == pytest.approx(apart / 2e-5, rel=1e-5, abs=1e-6)
    exact = bivariate.Strata(
        (strata.pair_weights @ theta) * strata.pair_df[:, None, None], strata.pair_df, strata.pair_weights,
        (strata.weights @ theta) * strata.df, strata.df, strata.weights,
    )  # fmt: skip
    # Where squares are what is expected the slope is nothing, and observed second derivatives are the expected ones.
    np.testing.assert_allclose(exact.derivatives(np.array(theta))[0], 0, atol=1e-9)
    for k, step in enumerate(1e-5 * np.eye(7)):
        moved = exact.derivatives(theta + step)[0] - exact.derivatives(theta - step)[0]
        np.testing.assert_allclose(moved / 2e-5, second[k], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("balanced", [(True, False), (False, True), (False, False)])
def test_strata_need_two_complete_tables(balanced):
    value, both = families(balanced=balanced)
    assert strata_of(value, both, parameters_of(*both, ITEM)) is None


@pytest.mark.parametrize("objects", [(range(4), range(5)), (range(4), range(1, 5)), (range(4), (0, 1, 2, 5))])
def test_strata_require_equal_levels_of_shared_terms(objects):
    value, both = families(objects)
    assert strata_of(value, both, parameters_of(*both, ITEM)) is None


def test_strata_need_something_that_is_shared():
    value, both = families()
    apart = [p for p in parameters_of(*both, ITEM) if len(p.families) == 1]
    assert strata_of(value, both, apart) is None
    unlisted = tuple(Family(f.mine, f.terms, f.theta, f.balanced, [RATER, BOTH]) for f in both)
    assert strata_of(value, unlisted, parameters_of(*both, ITEM)) is None


def test_blocks_of_about_one_size_are_laid_out_together():
    # Sizes 1, 5, 4 and 5: of 1.25 ** k, 4 and 5 are ceil(6.2) and ceil(7.2).
    block = np.array([0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 1, 1, 1])
    found = [group.tolist() for group in bivariate._blocks_by_size(block)]
    assert found == [[[0]], [[3, 4, 5, 6]], [[1, 2, 12, 13, 14], [7, 8, 9, 10, 11]]]
    # 7 and 8 are both up to 1.25 ** 10.
    padded = bivariate._blocks_by_size(np.repeat([0, 1], [8, 9]))
    assert [group.tolist() for group in padded] == [[[*range(8), -1], [*range(8, 17)]]]


def test_fit_has_zero_slope_and_large_blocks_have_none():
    value, both = families((range(5), range(1, 4)))
    block = both[0].terms[1][1]
    fitted = fit_joint(value, both, ITEM, block)
    assert isinstance(fitted.likelihood, JointBlocks)
    assert fitted.objects == (1, 4, 6)
    assert fitted.n_variances == 6
    # Each parameter relative to the variance of a label: 2.5 of each family, and √(2.5 · 2.5).
    assert fitted.scale.tolist() == pytest.approx([2.5] * 7)
    size = np.bincount(block)
    numbers = (size**2).sum() * 7
    assert fit_joint(value, both, ITEM, block, most_cells=numbers) is not None
    assert fit_joint(value, both, ITEM, block, most_cells=numbers - 1) is None


# -- the correlation --------------------------------------------------------------------------------


class Linear(JointFit):
    """A correlation of .6 whose root deviance rises by 1 for every .1."""

    standard_error = 0.1

    def root(self, value, start=None):
        self.tried.append(round(value, 6))
        return self.shape(abs(value - 0.6) / 0.1), self.theta


def linear(shape=lambda x: x) -> Linear:
    found = Linear(None, np.array([4.0, 1.0, 1.2]), 0.0, (0, 1, 2), 2, np.ones(3))
    object.__setattr__(found, "tried", [])
    object.__setattr__(found, "shape", shape)
    assert found.correlation == pytest.approx(0.6)  # 1.2 / √(4 · 1)
    return found


@pytest.mark.parametrize("shape", [lambda x: x, lambda x: x**2, lambda x: x**0.7, lambda x: 0.2 * x, lambda x: 5 * x])
def test_interval_ends_at_quantile_of_t(shape):
    found = linear(shape)
    low, high = found.interval(0.9, 12, -30.0, 30.0)
    quantile = stats.t.ppf(0.95, 12)
    for end in (low, high):
        assert shape(abs(end - 0.6) / 0.1) == pytest.approx(quantile, abs=0.01)
    assert low < 0.6 < high
    assert len(found.tried) < 20


def test_end_beyond_limits_is_limit():
    quantile = stats.t.ppf(0.95, 12)  # 1.78: ends at .42 and .78
    assert linear().interval(0.9, 12, 0.5, 0.7) == (0.5, 0.7)
    low, high = linear().interval(0.9, 12, 0.0, 1.0)
    assert (low, high) == (pytest.approx(0.6 - 0.1 * quantile), pytest.approx(0.6 + 0.1 * quantile))
    # The fit itself is beyond a limit, and nothing is searched there.
    outside = linear()
    assert outside.interval(0.9, 12, 0.6, 0.55) == (0.6, 0.55)
    assert outside.tried == []
    steep = linear(lambda x: 3 * x if x < 0.4 else 30.0)
    low, high = steep.interval(0.9, 12, 0.5, 0.65)
    assert low == pytest.approx(0.56, abs=1e-3)  # the root leaps over the quantile there
    assert high == pytest.approx(0.64, abs=1e-3)


def test_p_value_is_two_sided_t():
    assert linear().p(0.4, 12) == pytest.approx(2 * stats.t.sf(2, 12))
    assert linear().p(0.6, 12) == pytest.approx(1)


def test_correlation_error_uses_delta_method():
    value, both = families()
    fitted = fit_joint(value, both, ITEM, both[0].terms[1][1])
    theta = np.array([0.3, 1.2, 0.7, 0.4, 0.9, 0.6, 0.5])
    held = JointFit(fitted.likelihood, theta, 0.0, (1, 4, 6), 6, np.ones(7))
    covariance = 2 * np.linalg.inv(fitted.likelihood.derivatives(theta)[1])
    slope = np.zeros(7)
    root = math.sqrt(1.2 * 0.9)
    slope[[1, 4, 6]] = -0.5 / root / 2 / 1.2, -0.5 / root / 2 / 0.9, 1 / root
    assert held.standard_error == pytest.approx(math.sqrt(slope @ covariance @ slope))
    assert held.correlation == pytest.approx(0.5 / root)


@pytest.mark.parametrize(("first", "second", "known"), [(1e-6, 1, False), (1.1e-6, 1, True), (1, 1e-6, False),
                                                        (1, 1.1e-6, True)])  # fmt: skip
def test_family_without_object_variance_has_no_correlation(first, second, known):
    fitted = JointFit(None, np.array([first, second, 1e-4]), 0.0, (0, 1, 2), 2, np.ones(3))
    assert np.isfinite(fitted.correlation) == known
    larger = JointFit(None, np.array([first, second, 1e-4]), 0.0, (0, 1, 2), 2, np.array([2.0, 2.0, 2.0]))
    assert np.isnan(larger.correlation)


# -- the search ----------------------------------------------------------------------------------------


class Bowl:
    """A deviance (θ − low)' A (θ − low) + 3 of two variances, their covariance and another one; none beyond 1."""

    a = np.array([[2.0, 0.3, 0.1, 0.2], [0.3, 1.0, -0.2, 0.1], [0.1, -0.2, 3.0, 0.4], [0.2, 0.1, 0.4, 1.5]])

    def __init__(self, low, most=np.inf):
        self.low, self.most = np.array(low), most

    def deviance(self, theta):
        if abs(theta[2]) > self.most:
            return np.inf
        away = theta - self.low
        return float(away @ self.a @ away) + 3

    def derivatives(self, theta):
        return 2 * self.a @ (theta - self.low), 2 * self.a


def searched(low, start, held=None, most=np.inf):
    bowl = Bowl(low, most)
    fitted = JointFit(bowl, np.array(start), 3.0, (0, 1, 2), 2, np.ones(4))
    return bowl, *bivariate.minimize_deviance(fitted, np.array(start), held)


LOW = (4.0, 1.0, 1.2, -0.3)


@pytest.mark.parametrize("start", [(4.0, 1.0, 0.5, 0.0), (0.5, 6.0, -1.0, 2.0), (30.0, 0.1, 0.0, 0.0)])
def test_search_ends_at_least_deviance(start):
    _, theta, deviance = searched(LOW, start)
    np.testing.assert_allclose(theta, LOW, atol=2e-3)
    assert deviance == pytest.approx(3, abs=1e-5)


def test_negative_variance_is_set_to_bound():
    """Of the others the least deviance with the second at 0: A's rows without it."""
    low = np.array([4.0, -1.0, 1.2, -0.3])
    _, theta, deviance = searched(low, (2.0, 2.0, 0.0, 0.0))
    rest = [0, 2, 3]
    a = Bowl.a
    wanted = low[rest] - np.linalg.solve(a[np.ix_(rest, rest)], a[rest, 1] * (0 - low[1]))
    assert theta[1] == pytest.approx(0, abs=1e-3)
    np.testing.assert_allclose(theta[rest], wanted, atol=5e-3)
    full = np.array([wanted[0], 0, *wanted[1:]]) - low
    assert deviance == pytest.approx(full @ a @ full + 3, abs=1e-3)


@pytest.mark.parametrize("held", [0.0, 0.2, 0.4, 1.3])
def test_fixed_correlation_minimizes_deviance(held):
    bowl, theta, deviance = searched(LOW, (3.0, 2.0, 0.7, 0.1), held)
    assert theta[2] == pytest.approx(held * math.sqrt(theta[0] * theta[1]))

    def of(x):
        return bowl.deviance(np.array([x[0] ** 2, x[1] ** 2, held * abs(x[0] * x[1]), x[2]]))

    best = min(optimize.minimize(of, x).fun for x in ([2.0, 1, 0], [1.0, 1, 1], [2.0, 0.3, -1]))
    assert deviance == pytest.approx(best, abs=1e-4)
    assert deviance == pytest.approx(bowl.deviance(theta))
    fitted = JointFit(bowl, np.array(LOW), 3.0, (0, 1, 2), 2, np.ones(4))
    root, there = fitted.root(held)
    assert root == pytest.approx(math.sqrt(best - 3), abs=1e-3)
    np.testing.assert_allclose(there, theta, atol=0.02)
    # Another start leads to the same place; a deviance below the fit's has the root 0.
    assert fitted.root(held, np.array([1.0, 3.0, 0.5, 0.5]))[0] == pytest.approx(root, abs=1e-3)
    assert JointFit(bowl, np.array(LOW), 99.0, (0, 1, 2), 2, np.ones(4)).root(held)[0] == 0


def test_impossible_start_is_abandoned():
    # A covariance of 2.4 is none; without it the search goes to the least deviance that there is.
    _, theta, deviance = searched(LOW, (4.0, 1.44, 2.4, 1.0), most=1.5)
    np.testing.assert_allclose(theta, LOW, atol=2e-3)
    # Held at 1, variances of 4 and 1.44 have a covariance of 2.4; halved roots have .6.
    _, theta, deviance = searched((0.5, 0.5, 0.5, 0.0), (4.0, 1.44, 2.4, 1.0), held=1.0, most=1.5)
    assert np.isfinite(deviance)
    assert theta[2] <= 1.5
    start = (4.0, 1.0, 1.0, 0.0)
    _, theta, deviance = searched(LOW, start, held=0.5, most=-1.0)  # nothing is possible
    assert theta.tolist() == list(start)
    assert deviance == np.inf
