"""Every interval from values without each unit, by its formula; tests of many hypotheses by loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from assay.estimation.intervals import (
    MOST_APART,
    NEARLY_ONE,
    TOO_FEW,
    RaterSample,
    ends_of,
    interaction_of,
    near_the_ends,
    partial_conjunction,
    quantile_estimate,
    simultaneous_p,
    wilson,
)

RNG = np.random.default_rng(8)
NAN = math.nan


def spread(without: np.ndarray) -> float:
    n = len(without)
    return math.sqrt((n - 1) / n * sum((x - without.mean()) ** 2 for x in without))


def jackknife(value, without, transform, *, level=0.9, support=None, annotators=None):
    none = np.empty((0, 1))
    support = None if support is None else np.array(support)[:, None]
    groups = None if annotators is None else tuple(group[:, None] for group in annotators)
    error, low, high, (reason,) = ends_of(
        "jackknife", np.array([value]), none, without[:, None], level, (transform,), support, groups
    )
    return error[0], low[0], high[0], reason


@pytest.mark.parametrize("transform", ["none", "fisher", "rank", "log"])
@pytest.mark.parametrize("value", [0.6, -0.4, 1.7, -1.7])
def test_the_value_and_t_standard_errors_on_its_scale(transform, value):
    """atanh and log where the value has one; else as it is."""
    without = value + 0.02 * RNG.normal(size=12)
    error, low, high, reason = jackknife(value, without, transform)
    se = spread(without)
    half = stats.t.ppf(0.95, 11) * se
    wanted = (value - half, value + half)
    if transform in ("fisher", "rank") and abs(value) < 1:
        wide = half / (1 - value**2)
        wanted = (math.tanh(math.atanh(value) - wide), math.tanh(math.atanh(value) + wide))
    if transform == "log" and value > 0:
        wanted = (value * math.exp(-half / value), value * math.exp(half / value))
    assert (error, low, high, reason) == (pytest.approx(se), *map(pytest.approx, wanted), None)


def test_ranks_near_1_reach_to_the_interval_of_the_value_corrected_for_bias():
    for value, wider in ((0.95, True), (NEARLY_ONE, False), (-0.95, True)):
        without = value - math.copysign(0.01, value) + 0.004 * np.random.default_rng(1).normal(size=15)
        _, low, high, _ = jackknife(value, without, "rank")
        _, plain_low, plain_high, _ = jackknife(value, without, "fisher")
        z = np.arctanh(without)
        centre = 15 * math.atanh(value) - 14 * z.mean()
        half = stats.t.ppf(0.95, 14) * math.sqrt(14 / 15 * ((z - z.mean()) ** 2).sum())
        ends = (math.tanh(centre - half), math.tanh(centre + half))
        wanted = (min(plain_low, ends[0]), max(plain_high, ends[1])) if wider else (plain_low, plain_high)
        assert (low, high) == pytest.approx(wanted)
        assert ((low, high) != (plain_low, plain_high)) == wider


def test_a_share_has_wilsons_interval_of_as_many_trials_as_its_error_tells():
    value, without = 0.7, 0.7 + 0.01 * RNG.normal(size=20)
    se, z, t = spread(without), stats.norm.ppf(0.95), stats.t.ppf(0.95, 17)
    n = 0.7 * 0.3 / se**2 * (z / t) ** 2
    _, low, high, _ = jackknife(value, without, "share", support=(18, 99))
    assert (low, high) == pytest.approx(tuple(wilson(0.7, n, 0.9)))
    still = np.full(20, 0.0)
    _, low, high, reason = jackknife(0.0, still, "share", support=(18, 99))
    assert (low, high, reason) == (0.0, pytest.approx(float(wilson(0.0, 18.0, 0.9)[1])), None)


def test_a_difference_of_shares_has_the_interval_of_its_posterior():
    """Pseudo-values of weight 1 and three rows of half an item: a gamma distribution with their moments."""
    value, n = 0.1, 20
    for items, without in ((20, 0.1 + 0.01 * RNG.normal(size=n)), (40, 0.1 - 0.004 * RNG.gamma(0.3, size=n))):
        value = float(without.mean())
        added = 0.5 * n / items
        rows = [(value + (n - 1) * (without.mean() - x), 1.0) for x in without] + [(v, added) for v in (-1, 0, 1)]
        total = sum(w for _, w in rows)
        mean = sum(w * x for x, w in rows) / total
        second, third = (sum(w * (x - mean) ** k for x, w in rows) / total for k in (2, 3))
        skewness = 2 * third / second**1.5 * math.sqrt(total + 1) / (total + 2)
        tails = stats.norm.cdf(np.array([-1, 1]) * stats.t.ppf(0.95, n - 1))
        wanted = stats.pearson3.ppf(tails, skewness, mean, math.sqrt(second / (total + 1)))
        _, low, high, reason = jackknife(value, without, "difference", support=(n, items))
        assert (low, high, reason) == (
            pytest.approx(min(wanted[0], value)), pytest.approx(max(wanted[1], value)), None,
        )  # fmt: skip
    _, low, high, reason = jackknife(0.0, np.zeros(n), "difference", support=(n, 40))
    half = stats.t.ppf(0.95, n - 1) * math.sqrt(0.5 / 20.75 / 21.75)
    assert (low, high, reason) == (pytest.approx(-half), pytest.approx(half), None)


# -- raters as a sample -------------------------------------------------------------------------------


def test_an_interaction_is_what_both_leave_outs_change_beyond_each():
    both = RNG.normal(size=(4, 7, 2))  # raters, items, values
    alone = both - both.mean(axis=1, keepdims=True) - both.mean(axis=0) + both.mean(axis=(0, 1))
    wanted = 6 / 7 * 3 / 4 * np.einsum("jik,jil->kl", alone, alone)
    np.testing.assert_allclose(interaction_of(iter(both)), wanted, atol=1e-12)
    assert interaction_of(iter([])).size == 0


def leave_out_degrees(x: np.ndarray) -> float:
    n, squares = len(x), (x - x.mean()) ** 2
    kurtosis = n * (squares**2).sum() / squares.sum() ** 2
    return (n - 1) * min(1.0, 2 / (kurtosis * (n + 1) / (n - 1) - 1))


def test_variances_of_items_and_raters_without_what_single_labels_add_to_both():
    items = 0.5 + 0.01 * RNG.gamma(0.5, size=30)
    one, two = 0.5 + 0.05 * RNG.normal(size=5), 0.5 + 0.001 * RNG.normal(size=4)
    both = 0.3 * spread(one) ** 2, 2 * spread(two) ** 2  # more than the raters vary: their variance is none
    found = RaterSample.of(items[:, None], [one[:, None], two[:, None]], [np.array([b]) for b in both])
    v = spread(items) ** 2, spread(one) ** 2, spread(two) ** 2
    total = v[0] + (v[1] - both[0])
    below = (
        v[0] ** 2 / leave_out_degrees(items) + v[1] ** 2 / leave_out_degrees(one) + v[2] ** 2 / leave_out_degrees(two)
        + both[0] ** 2 / (29 * 4) + both[1] ** 2 / (29 * 3)
    )  # fmt: skip
    influence = items.mean() - items
    skewness = (influence**3).sum() / (influence**2).sum() ** 1.5 * (v[0] / total) ** 1.5
    assert (found.error[0], found.degrees[0], found.skewness[0]) == pytest.approx(
        (math.sqrt(total), max(total**2 / below, 2), skewness)
    )
    unknown = RaterSample.of(items[:, None], [one[:, None]], [np.array([NAN])])
    assert unknown.error[0] == pytest.approx(math.hypot(spread(items), spread(one)))
    still = RaterSample.of(np.full((5, 1), 0.5), [np.full((3, 1), 0.5)], [np.zeros(1)])
    assert (still.error[0], still.degrees[0], still.skewness[0]) == (0, 2, 0)


def test_how_far_an_interval_reaches_and_the_p_value_of_its_end():
    """Hall's transformation of the normal quantile for the skewness; what t has beyond the normal is added."""
    sample = RaterSample(np.array([1.0, 1.0]), np.array([4.0, 30.0]), np.array([0.4, 0.0]))
    tail = np.array([0.05, 0.01])
    below, above = sample.reach(tail)
    z, t = stats.norm.ppf(1 - tail), stats.t.ppf(1 - tail, [4, 30])

    def hall(y, g):
        return 3 / g * (np.cbrt(1 + g * (y - g / 6)) - 1)

    assert below == pytest.approx([t[0] - z[0] + hall(z[0], 0.4), t[1]])
    assert above == pytest.approx([t[0] - z[0] - hall(-z[0], 0.4), t[1]])
    assert sample.p(below) == pytest.approx(2 * tail)
    assert sample.p(-above) == pytest.approx(2 * tail)
    assert sample.p(np.zeros(2))[1] == pytest.approx(1.0)


def test_random_raters_have_the_ends_of_their_sample_on_the_scale_of_the_value():
    value, without, one = 0.5, 0.5 + 0.01 * RNG.normal(size=30), 0.5 + 0.05 * RNG.normal(size=5)
    spreads = RaterSample.of(without[:, None], [one[:, None]], [np.zeros(1)])
    below, above = (float(end[0]) for end in spreads.reach(np.array([0.05])))
    se = float(spreads.error[0])
    for transform, there, back, slope in (
        ("none", lambda x: x, lambda x: x, 1.0), ("fisher", np.arctanh, np.tanh, 1 / 0.75),
        ("log", np.log, np.exp, 2.0),
    ):  # fmt: skip
        error, low, high, _ = ends_of(
            "jackknife", np.array([value]), np.empty((0, 1)), without[:, None], 0.9, (transform,), None,
            (one[:, None],), spreads,
        )  # fmt: skip
        assert (error[0], low[0], high[0]) == pytest.approx(
            (se, back(there(value) - below * slope * se), back(there(value) + above * slope * se))
        )


def test_why_there_is_no_interval():
    without = 0.5 + 0.01 * RNG.normal(size=6)
    gone = without.copy()
    gone[2] = NAN
    lone = np.array([0.4, NAN, 0.6])
    for arguments, words in (
        ((0.5, gone, "none"), "the statistic is undefined without some of the items"),
        ((NAN, without, "none"), "the statistic is undefined without some of the items"),
        ((0.5, np.full(6, 0.5), "fisher"),
         "leaving out any item gives the same value, so the data cannot show how sure it is"),
    ):  # fmt: skip
        error, low, high, reason = jackknife(*arguments)
        assert (reason, math.isnan(error), math.isnan(low), math.isnan(high)) == (words, True, True, True)
    assert jackknife(0.5, without, "none", annotators=(lone[:2],))[3] == TOO_FEW
    assert jackknife(0.5, without, "none", annotators=(lone,))[3] == (
        "the statistic is undefined without some of the annotators"
    )
    assert jackknife(0.5, without, "none", annotators=(lone[:1],))[3] == TOO_FEW
    large = 1e6 + np.array([-1.0, 1, 0, 0, 0, 0]) * 1e-9
    assert jackknife(1e6, large, "none")[3] is not None, "no more than rounding"


@pytest.mark.parametrize(("share", "n", "level"), [(0.3, 20, 0.95), (0.0, 8, 0.9), (1.0, 8, 0.9), (0.93, 5.5, 0.8)])
def test_wilsons_interval_holds_the_shares_whose_score_test_does_not_reject(share, n, level):
    z = stats.norm.ppf((1 + level) / 2)

    def score(p):
        return (share - p) ** 2 * n - z**2 * p * (1 - p)

    low, high = (float(end) for end in wilson(share, n, level))
    assert low == pytest.approx(0 if share == 0 else optimize.brentq(score, 1e-12, share - 1e-12), abs=1e-9)
    assert high == pytest.approx(1 if share == 1 else optimize.brentq(score, share + 1e-12, 1 - 1e-12), abs=1e-9)


def test_shares_a_few_items_from_an_end_have_poisson_ends():
    """Up to three items that differ, of n = p (1 − p) / se²: the lower end is a gamma quantile over n."""
    n = 40
    share = np.array([2 / n, 3 / n, 3.1 / n, 1 - 2 / n, 0.0, 0.5])
    error = np.sqrt(share * (1 - share) / n)
    low, high = near_the_ends(share, error, 0.9)
    wanted = [stats.gamma.ppf(0.1, 2) / n, stats.gamma.ppf(0.1, 3) / n, NAN, NAN, NAN, NAN]
    np.testing.assert_allclose(low, wanted)
    np.testing.assert_allclose(high, [NAN, NAN, NAN, 1 - stats.gamma.ppf(0.1, 2) / n, NAN, NAN])
    assert MOST_APART == 3


# -- many hypotheses ----------------------------------------------------------------------------------


def test_partial_conjunctions_are_simes_of_the_larger_p_values():
    rows = RNG.random((6, 5)) ** 2
    rows[1, 2] = rows[2, :4] = NAN
    rows[3] = NAN
    for u in (1, 2, 3, 5, 6, 0):
        for row, found in zip(rows, partial_conjunction(rows, u), strict=True):
            p = sorted(x for x in row if not math.isnan(x))
            m = len(p)
            if u > m or u < 1:
                assert math.isnan(found)
                continue
            wanted = min((m - u + 1) / i * p[u - 2 + i] for i in range(1, m - u + 2))
            assert found == pytest.approx(min(wanted, 1.0))
    each = partial_conjunction(rows[:2], np.array([1, 4]))
    assert each.tolist() == [partial_conjunction(rows[0], 1), partial_conjunction(rows[1], 4)]
    assert np.isnan(partial_conjunction(np.empty((2, 0)), 1)).all()


def test_simultaneous_p_values_by_the_largest_deviation():
    value = np.array([0.5, 0.1, NAN, -0.3])
    replicates = value + RNG.normal(size=(400, 4)) * [0.2, 0.2, 1, 0.1]
    found = simultaneous_p(value - 0.05, replicates)
    known = [0, 1, 3]
    error = replicates[:, known].std(axis=0, ddof=1)
    most = [max(abs(x) for x in row) for row in (replicates[:, known] - replicates[:, known].mean(axis=0)) / error]
    for j, e in zip(known, error, strict=True):
        far = abs(value[j] - 0.05) / e
        assert found[j] == pytest.approx((1 + sum(m >= far for m in most)) / 401)
    assert math.isnan(found[2])
    assert np.isnan(simultaneous_p(value, replicates[:1])).all()
    assert np.isnan(simultaneous_p(value[2:3], replicates[:, 2:3])).all()


def test_the_middle_of_draws_is_an_interval():
    """Of 0 to 100 the middle nine tenths end at 5 and 95; what is no draw counts for nothing."""
    draws = np.r_[np.random.default_rng(1).permutation(np.arange(101.0)), np.nan]
    one = quantile_estimate(40.0, draws, 0.9)
    assert (one.estimate, one.low, one.high) == pytest.approx((40, 5, 95))
    assert one.interval(0.5) == pytest.approx((25, 75))
    assert one.standard_error == pytest.approx(np.arange(101).std(ddof=1))
