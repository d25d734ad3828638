"""The search for variances: balanced tables by hand, and each step against all sets of bounds."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, minimize

from assay.statistics.components import reml
from assay.statistics.components.blocks import Balanced
from assay.statistics.components.reml import (
    Ratio,
    RemlFit,
    bounded_step,
    fit,
    profile,
    profile_p,
    replicates,
    standard_error,
)

START = [np.array([1.0, 1.0])]


def one_way(between: float, within: float, items: int = 6, labels: int = 3) -> Balanced:
    """Items with the given numbers of labels, by their sums of squares."""
    weights = np.array([[labels, 1.0], [0, 1], [labels, 1]])
    df = np.array([items - 1.0, items * (labels - 1)])
    return Balanced(np.array([between, within]), df, weights, items * labels)


# -- the fit ----------------------------------------------------------------------------------------


def test_variances_of_a_complete_table_solve_its_mean_squares():
    # Mean squares 40 / 5 = 8 and 24 / 12 = 2; (8 − 2) / 3 = 2.
    found = fit(one_way(40, 24), START)
    assert found.theta.tolist() == pytest.approx([2, 2], rel=1e-5)
    assert found.converged
    assert found.at_zero == (False, False)
    assert found.deviance == pytest.approx(one_way(40, 24).deviance(np.array([2.0, 2.0])))
    # Of the residual 2 · 2² / 12; of items (2 · 8² / 5 + 2 · 2² / 12) / 3²; together −(2 · 2² / 12) / 3.
    residual, items = 8 / 12, 128 / 5
    wanted = [[(items + residual) / 9, -residual / 3], [-residual / 3, residual]]
    np.testing.assert_allclose(found.covariance(), wanted, rtol=1e-4)


@pytest.mark.parametrize("start", [[1.0, 1.0], [0.0, 1.0], [0.001, 9.0], [50.0, 0.0]])
def test_items_that_differ_less_than_labels_have_no_variance(start):
    # Mean squares 1 and 3: pooled, (5 + 36) / 17.
    found = fit(one_way(5, 36), [np.array(start)])
    assert found.theta[0] == 0
    assert found.theta[1] == pytest.approx(41 / 17, rel=1e-5)
    assert found.at_zero == (True, False)
    covariance = found.covariance()
    assert np.isnan([covariance[0, 0], covariance[0, 1], covariance[1, 0]]).all()
    assert covariance[1, 1] == pytest.approx(2 * (41 / 17) ** 2 / 17, rel=1e-4)


def test_missing_start_is_skipped():
    starts = [np.array([np.nan, 1.0]), np.array([0.0, 0.0]), np.array([np.inf, 1.0]), np.array([-1.0, 1.0]), *START]
    assert fit(one_way(40, 24), starts).theta.tolist() == pytest.approx([2, 2], rel=1e-5)
    with pytest.raises(AssertionError, match="one start at least is finite"):
        fit(one_way(40, 24), starts[:4])


def test_singular_covariance_is_unknown():
    flat = SimpleNamespace(curvature=lambda theta: np.ones((2, 2)))
    assert np.isnan(RemlFit(np.array([1.0, 1.0]), 0.0, True, flat).covariance()).all()


class Wells:
    """x (x − 4)² − x / 2, which has a minimum of 0 at the bound and one of −2.0155 at (16 + √70) / 6, plus (y − 1)²."""

    def __init__(self) -> None:
        self.points: list[float] = []

    def deviance(self, theta):
        x, y = theta
        return x * (x - 4) ** 2 - x / 2 + (y - 1) ** 2

    def derivatives(self, theta):
        x, y = theta
        self.points.append(float(x))
        return np.array([(x - 4) ** 2 + 2 * x * (x - 4) - 0.5, 2 * (y - 1)]), np.diag([max(6 * x - 16, 1.0), 2])


INNER = (16 + np.sqrt(70)) / 6
AT_BOUND, INSIDE = np.array([0.5, 1.0]), np.array([3.5, 1.0])


@pytest.mark.parametrize("starts", [[AT_BOUND, INSIDE], [INSIDE, AT_BOUND], [INSIDE]])
def test_bound_solution_triggers_another_start(starts):
    wells = Wells()
    found = fit(wells, starts)
    assert found.theta.tolist() == pytest.approx([INNER, 1], rel=1e-4)
    # Where the first ends inside, no other is tried.
    assert (0.5 in wells.points) == (starts[0] is AT_BOUND)


def test_first_best_bound_solution_is_kept():
    found = fit(Wells(), [AT_BOUND, np.array([0.4, 1.0])])
    assert found.theta.tolist() == pytest.approx([0, 1], abs=1e-4)
    assert found.theta[0] == 0
    assert found.deviance == pytest.approx(0, abs=1e-6)


def test_too_few_steps_do_not_converge():
    found = fit(one_way(40, 24), [np.array([20.0, 0.5])], most_steps=1)
    assert not found.converged
    assert found.deviance == pytest.approx(one_way(40, 24).deviance(found.theta))


@pytest.mark.parametrize(("slope", "converged"), [(3e-3, True), (3.3e-3, False), (1e-5, True)])
def test_small_expected_gain_counts_as_converged(slope, converged):
    """A step of −slope promises slope²: 1e-5 is little, and below the tolerance no step is tried."""
    calls = []

    class Flat:
        """A likelihood without a hill that says it has a slope."""

        def deviance(self, theta):
            calls.append(theta)
            return 0.0

        def derivatives(self, theta):
            return np.array([0.0, slope]), np.identity(2)

    found = fit(Flat(), START)
    assert found.theta.tolist() == [1, 1]
    assert found.converged == converged
    assert len(calls) == (1 if slope == 1e-5 else 41)


class Hollow:
    """A deviance that is least, 3, at some variances; with a first variance of 0 it is worse."""

    def __init__(self, least, worse=0.0):
        self.least, self.worse = np.array(least), worse

    def deviance(self, theta):
        return 3.0 + float(((theta - self.least) ** 2).sum()) + self.worse * (theta[0] == 0)

    def derivatives(self, theta):
        return 2 * (theta - self.least), 2 * np.identity(len(theta))


@pytest.mark.parametrize(("worse", "kept"), [(0.0, 0.0), (9e-7, 0.0), (1.1e-6, 5e-9)])
def test_variances_near_zero_are_set_to_zero_if_no_worse(worse, kept):
    found = fit(Hollow([5e-9, 1.0], worse), START)
    assert found.theta.tolist() == pytest.approx([kept, 1], rel=0.05)
    assert (found.theta[0] == 0) == (kept == 0)
    assert found.deviance == pytest.approx(3.0 + worse * (kept == 0), abs=1e-9)


@pytest.mark.parametrize(("small", "kept"), [(3.1e-8, True), (2.9e-8, False), (0.0, False)])
def test_a_hundred_millionth_of_the_total_is_zero(small, kept):
    """Of a total of 3."""
    assert (fit(Hollow([small, 3.0]), START).theta[0] > 0) == kept


# -- steps within the bounds ------------------------------------------------------------------------


def slow_step(curvature, gradient, theta, along=None, target=0.0):
    """The best of all sets of variances at the bound."""
    k = len(theta)
    best = np.inf, None
    for held in itertools.product([False, True], repeat=k):
        rows = [np.eye(k)[i] for i in range(k) if held[i]]
        right = [-theta[i] for i in range(k) if held[i]]
        if along is not None:
            rows, right = [*rows, along], [*right, target]
        n = len(rows)
        a = np.array(rows).reshape(n, k)
        system = np.block([[curvature, a.T], [a, np.zeros((n, n))]])
        solved = np.linalg.lstsq(system, np.concatenate([-gradient, right]), rcond=None)[0]
        move = solved[:k]
        if not np.allclose(a @ move, right, atol=1e-9) or (theta + move < -1e-9).any():
            continue
        value = move @ curvature @ move / 2 + gradient @ move
        if value < best[0] - 1e-12:
            best = value, move
    return best[1]


@pytest.mark.parametrize("seed", range(25))
def test_step_is_best_within_bounds(seed):
    rng = np.random.default_rng(seed)
    k = 2 + seed % 3
    root = rng.normal(size=(k, k))
    curvature = root @ root.T + 0.1 * np.identity(k)
    theta = np.maximum(rng.normal(size=k), 0.0)
    theta[-1] += 0.05
    gradient = 3 * rng.normal(size=k)
    found = bounded_step(curvature, gradient, theta)
    np.testing.assert_allclose(found, slow_step(curvature, gradient, theta), atol=1e-6)
    along, theta = rng.random(k) + 0.1, theta + 0.05
    target = float(rng.uniform(-0.5, 0.5) * (along @ theta))
    found = bounded_step(curvature, gradient, theta, along, target)
    np.testing.assert_allclose(found, slow_step(curvature, gradient, theta, along, target), atol=1e-6)
    assert along @ found == pytest.approx(target, abs=1e-8)


def test_step_is_complete_if_all_variances_vanish():
    theta = np.array([0.5, 0.2])
    assert bounded_step(np.identity(2), np.array([9.0, 9.0]), theta).tolist() == [-0.5, -0.2]
    held = np.array([True, True])
    move, multiplier = reml.equality_step(np.identity(2), np.ones(2), theta, held, np.ones(2), 0.0)
    assert (move.tolist(), multiplier) == ([-0.5, -0.2], 0.0)


def test_condition_on_fixed_variance_leaves_others_free():
    held, along = np.array([True, False]), np.array([1.0, 0.0])
    move, multiplier = reml.equality_step(np.diag([1.0, 4.0]), np.array([1.0, 2.0]), np.ones(2), held, along, 0.3)
    assert (move.tolist(), multiplier) == ([-1.0, -0.5], 0.0)


# -- quantities -------------------------------------------------------------------------------------

SHARE = Ratio(np.array([1.0, 0.0]), np.array([0.0, 0.5]))
"""Of items in means of two labels: a / (a + e / 2)."""


def test_ratio_value_and_slope():
    theta = np.array([[2.0, 2.0], [0.0, 1.0], [0.0, 0.0]])
    assert SHARE.value(theta).tolist() == pytest.approx([2 / 3, 0, np.nan], nan_ok=True)
    assert Ratio(np.array([1.0, 0.5])).value(theta).tolist() == [3, 0.5, 0]
    # a / (a + e / 2): by a, (e / 2) / 3² = 1 / 9; by e, −a / 2 / 3² = −1 / 9.
    assert SHARE.slope(theta[0]).tolist() == pytest.approx([1 / 9, -1 / 9])
    assert Ratio(np.array([1.0, 0.5])).slope(theta[0]).tolist() == [1, 0.5]


def test_ratio_constraint_is_linear():
    along, target = SHARE.constraint(0.25)
    assert along.tolist() == pytest.approx([0.75, -0.125])
    assert target == 0
    assert along @ np.array([1.0, 6.0]) == 0  # 1 / (1 + 3)
    along, target = Ratio(np.array([1.0, 0.5])).constraint(3.0)
    assert (along.tolist(), target) == ([1, 0.5], 3.0)


def test_standard_error_uses_delta_method():
    found = fit(one_way(40, 24), START)
    slope = np.array([1, -1]) / 9
    wanted = np.sqrt(slope @ found.covariance() @ slope)
    assert standard_error(found, SHARE) == pytest.approx(wanted, rel=1e-4)
    assert standard_error(found, Ratio(np.array([0.0, 1.0]))) == pytest.approx(np.sqrt(8 / 12), rel=1e-4)
    bound = fit(one_way(5, 36), START)
    assert np.isnan(standard_error(bound, Ratio(np.array([1.0, 0.0]))))


def slow_end(table: Balanced, fitted: RemlFit, level: float, inside: float, outside: float) -> float:
    """Where a / (a + e / 2) has a deviance of level² above the fit's: along each share, the best size by a search."""

    def above(share):
        # a = share · s, e / 2 = (1 − share) · s
        def deviance(log_size):
            size = np.exp(log_size[0])
            return table.deviance(np.array([share * size, 2 * (1 - share) * size]))

        return minimize(deviance, [np.log(3.0)], method="Nelder-Mead").fun - fitted.deviance - level**2

    return brentq(above, inside, outside, xtol=1e-5)


@pytest.mark.parametrize("df", [None, 5.0])
def test_interval_ends_at_deviance_quantile(df):
    table = one_way(100, 24)
    found = fit(table, START)  # mean squares 20 and 2: a = 6, e / 2 = 1
    level = stats.norm.ppf(0.95) if df is None else stats.t.ppf(0.95, df)
    low, high = profile(found, SHARE, 0.9, df)
    assert low == pytest.approx(slow_end(table, found, level, 6 / 7, 1e-6), abs=3e-3)
    assert high == pytest.approx(slow_end(table, found, level, 6 / 7, 1 - 1e-6), abs=3e-3)
    for end in (low, high):
        assert profile_p(found, SHARE, end, df) == pytest.approx(0.1, abs=1e-3)
    assert profile_p(found, SHARE, 6 / 7, df) == pytest.approx(1, abs=1e-2)


def test_residual_interval_without_items_uses_deviance():
    # Pooled, s² = 41 / 17 with 17 df: 17 (log(e / s²) + s² / e − 1) = z².
    found = fit(one_way(5, 36), START)
    s2, z = 41 / 17, stats.norm.ppf(0.975)

    def above(e):
        return 17 * (np.log(e / s2) + s2 / e - 1) - z**2

    low, high = profile(found, Ratio(np.array([0.0, 1.0])), 0.95)
    assert high == pytest.approx(brentq(above, s2, 20), rel=5e-3)
    # Below s² items share in it: mean squares (1, 3) are fitted with a variance of items at 0 as before.
    assert low == pytest.approx(brentq(above, 0.2, s2), rel=5e-3)


def test_items_without_a_variance_have_a_lower_end_of_0():
    found = fit(one_way(5, 36), START)
    low, high = profile(found, SHARE, 0.95)
    assert low == 0
    assert 0 < high < 1
    assert profile_p(found, SHARE, high) == pytest.approx(0.05, abs=2e-3)


def test_unreached_lower_end_is_zero_and_share_ends_at_one():
    found = fit(one_way(7.5, 12), START)  # mean squares 1.5 and 1: items may well not differ
    assert found.theta[0] == pytest.approx(1 / 6, rel=1e-4)
    assert profile(found, SHARE, 0.95)[0] == 0
    # If labels of an item differ very little, only 1 bounds the share of means: e = 1e-12.
    assert profile(fit(one_way(40, 1e-9), START), SHARE, 0.95)[1] == pytest.approx(1, abs=1e-6)


def test_share_of_zero_has_no_interval():
    nothing = RemlFit(np.zeros(2), 0.0, True, one_way(0, 0))
    assert np.isnan(profile(nothing, SHARE, 0.95)).all()


# -- the ends, one step at a time -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("along", "target", "wanted"),
    [
        ([1.0, 0.0], 2.0, [2, 3]),
        ([1.0, 1.0], 4.0, [1, 3]),
        # δ is in the ratio of θ² a = (.5, −4.5), and a'δ = 1: (.2, −1.8).
        ([0.5, -0.5], 0.0, [1.2, 1.2]),
        # All but the share 1e-3 that the residual keeps: 4 · .001.
        ([1.0, 1.0], 0.004, [0, 0.004]),
        ([0.0, 1.0], 0.0, [1, 0]),  # only if necessary; here it is not
        ([1.0, 0.0], -1.0, None),
        ([0.0, 1.0], -1e-3, None),
    ],
)
def test_variances_are_moved_as_little_as_a_condition_asks(along, target, wanted):
    found = reml.project_variances(np.array([1.0, 3.0]), np.array(along), target)
    assert (None if found is None else found.tolist()) == (wanted and pytest.approx(wanted, abs=1e-6))


@pytest.mark.parametrize(
    ("inner", "inner_root", "outer", "outer_root", "step", "level", "wanted"),
    [
        (3, 1, 4, np.inf, 1, 2, 3.5),
        # No end outside: 2 from the value the root is 1, so that it may be 2 at twice as far.
        (3, 1, np.inf, np.nan, 1, 2, 5),
        (-1, 1, 0, np.nan, -1, 2, -3),
        (3, 1, np.inf, np.nan, 1, 1.001, 1 + 1.02 * 2),
        (3, 1, np.inf, np.nan, 1, 20, 1 + 5 * 2),
        (3, 1, np.inf, np.nan, 3, 20, 1 + 5 * 3),
        (1, 0, np.inf, np.nan, 0.5, 2, 1 + 2 * 0.5),
        (3, 0, np.inf, np.nan, 0.5, 2, 1 + 2 * 2),
        # Between two ends by a straight line, a tenth away from either.
        (1, 1, 3, 3, 1, 2.5, 2.5),
        (1, 1, 3, 3, 1, 1.01, 1.2),
        (1, 1, 3, 3, 1, 2.99, 2.8),
    ],
)
def test_next_trial_of_end(inner, inner_root, outer, outer_root, step, level, wanted):
    assert reml.next_trial(inner, inner_root, outer, outer_root, 1, step, level) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("root", "step", "level", "bound", "wanted"),
    [
        (lambda v: 2 * abs(v - 1), 0.5, 2, np.inf, 2),
        (lambda v: 2 * abs(v - 1), -0.5, 1.5, 0.0, 0.25),
        (lambda v: 4 * (v - 1) ** 2, 0.1, 2, np.inf, 1 + np.sqrt(0.5)),
        (lambda v: 4 * (v - 1) ** 2, 9.0, 2, np.inf, 1 + np.sqrt(0.5)),
        (lambda v: 4 * (v - 1) ** 2, -0.1, 2, 0.0, 1 - np.sqrt(0.5)),
        (lambda v: 2 * abs(v - 1), -1.0, 2, 0.0, 0),  # the level is reached at the bound itself
        (lambda v: 1.9 * abs(v - 1), -0.2, 2, 0.0, 0),
        (lambda v: 2.5 * abs(v - 1), -3.0, 2, 0.0, 0.2),
        (lambda v: 1 - v if v > 0.3 else np.inf, -0.2, 0.9, 0.0, 0.3),
    ],
)
def test_end_is_root_at_level(root, step, level, bound, wanted):
    found = reml.find_end(root, 1.0, step, level, bound)
    assert found == pytest.approx(wanted, abs=2e-3)
    if wanted == bound:
        assert found == bound


def test_share_near_one_ends_at_one():
    asked = []
    assert reml.find_end(lambda v: asked.append(v) or 0.5, 0.6, 0.5, 2.0, 1.0) == 1.0
    assert asked == [1 - 1e-9]


# -- samples ----------------------------------------------------------------------------------------


def test_samples_of_the_fit_have_its_variances_on_average():
    # Unbiased by mean squares, which are rarely at the bound.
    found = fit(one_way(40 * 20, 24 * 20, 101), START)
    drawn = replicates(found, 60, 3)
    assert drawn.shape == (60, 2)
    np.testing.assert_allclose(drawn.mean(axis=0), found.theta, rtol=0.1)
    spread = np.sqrt(np.diag(found.covariance()))
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.3)
    np.testing.assert_array_equal(replicates(found, 3, 3), drawn[:3])
    assert (replicates(found, 3, 4) != drawn[:3]).all()


@pytest.mark.parametrize(
    ("error", "rest", "theta", "step"),
    [
        (0.3, None, [2.0, 6.0], 0.3),
        (np.nan, None, [2.0, 6.0], 2.0),  # the value itself, where a twentieth of all is less
        (np.nan, None, [0.1, 5.9], 0.3),  # a twentieth of 6
        (np.nan, [0.0, 1.0], [0.1, 9.9], 0.05),  # of a share, a twentieth of 1
        (np.nan, [0.0, 1.0], [3.0, 7.0], 0.3),
    ],
)
def test_end_search_starts_one_error_away(error, rest, theta, step, monkeypatch):
    asked = []
    monkeypatch.setattr(reml, "standard_error", lambda fitted, quantity: error)
    monkeypatch.setattr(reml, "find_end", lambda side, *given: asked.append(given) or 0.0)
    fitted = SimpleNamespace(theta=np.array(theta), likelihood=None, deviance=0.0)
    profile(fitted, Ratio(np.array([1.0, 0.0]), None if rest is None else np.array(rest)), 0.9, 7)
    value, level = theta[0] if rest is None else theta[0] / sum(theta), stats.t.ppf(0.95, 7)
    assert asked == [
        pytest.approx((value, -step, level, 0.0)),
        pytest.approx((value, step, level, np.inf if rest is None else 1.0)),
    ]
    asked.clear()
    profile(
        SimpleNamespace(theta=np.array([0.0, 1.0]), likelihood=None, deviance=0.0), Ratio(np.array([1.0, 0.0])), 0.9
    )
    # From 0 there is no way down; without degrees of freedom the quantile is the normal's.
    assert len(asked) == 1
    assert asked[0][2:] == (pytest.approx(stats.norm.ppf(0.95)), np.inf)
