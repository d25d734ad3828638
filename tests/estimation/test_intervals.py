"""Every interval from values without each unit, by its formula; tests of many hypotheses by loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from assay.errors import DesignError
from assay.estimation.intervals import (
    MOST_APART,
    MOST_UNDEFINED,
    NEARLY_ONE,
    TOO_FEW,
    EstimateByRule,
    Estimates,
    Pseudo,
    RaterSample,
    _hall_inverse,
    _interpolate_zero,
    _no_interval,
    ends_of,
    hall_statistic,
    interaction_of,
    jackknife_groups,
    map_estimate,
    missing,
    near_the_ends,
    partial_conjunction,
    quantile_estimate,
    simultaneous_p,
    wilson,
    wilson_estimate,
)
from assay.estimation.small_samples import Score

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
def test_value_and_t_standard_errors_on_scale(transform, value):
    """atanh and log where defined, otherwise the value itself."""
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


def test_share_has_wilson_interval_with_effective_trials():
    value, without = 0.7, 0.7 + 0.01 * RNG.normal(size=20)
    se, z, t = spread(without), stats.norm.ppf(0.95), stats.t.ppf(0.95, 17)
    n = 0.7 * 0.3 / se**2 * (z / t) ** 2
    _, low, high, _ = jackknife(value, without, "share", support=(18, 99))
    assert (low, high) == pytest.approx(tuple(wilson(0.7, n, 0.9)))
    still = np.full(20, 0.0)
    _, low, high, reason = jackknife(0.0, still, "share", support=(18, 99))
    assert (low, high, reason) == (0.0, pytest.approx(float(wilson(0.0, 18.0, 0.9)[1])), None)


def test_difference_of_shares_has_posterior_interval():
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


def test_posterior_with_small_skewness_is_gamma():
    """Twenty units in two equal halves, and a value very close to their middle."""
    value, n = 0.005, 20
    without = value + np.r_[np.full(10, 0.02), np.full(10, -0.02)]
    rows = [(value + (n - 1) * (value - x), 1.0) for x in without] + [(v, 0.5) for v in (-1, 0, 1)]
    total = sum(w for _, w in rows)
    mean = sum(w * x for x, w in rows) / total
    second, third = (sum(w * (x - mean) ** k for x, w in rows) / total for k in (2, 3))
    skewness = 2 * third / second**1.5 * math.sqrt(total + 1) / (total + 2)
    assert 2e-3 < abs(skewness) < 3e-3
    tails = stats.norm.cdf(np.array([-1, 1]) * stats.t.ppf(0.95, n - 1))
    wanted = stats.pearson3.ppf(tails, skewness, mean, math.sqrt(second / (total + 1)))
    _, low, high, _ = jackknife(value, without, "difference", support=(n, n))
    assert (low, high) == pytest.approx(wanted, rel=1e-6)


# -- raters as a sample -------------------------------------------------------------------------------


def test_interaction_is_joint_change_of_leave_outs():
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


def test_interval_reach_and_p_value_at_end():
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
        ((NAN, without, "none"), "undefined for these labels"),
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
    assert jackknife(1e6, large, "none")[3] is not None, "only rounding"


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


def test_quantile_estimate_uses_middle_of_draws():
    """Of 0 to 100 the middle nine tenths end at 5 and 95; missing draws are ignored."""
    draws = np.r_[np.random.default_rng(1).permutation(np.arange(101.0)), np.nan]
    one = quantile_estimate(40.0, draws, 0.9)
    assert (one.estimate, one.low, one.high) == pytest.approx((40, 5, 95))
    assert one.interval(0.5) == pytest.approx((25, 75))
    assert one.standard_error == pytest.approx(np.arange(101).std(ddof=1))


@pytest.mark.parametrize(("value", "error", "still"), [
    (0.0, 1.1e-12, False), (0.0, 0.9e-12, True), (4.0, 4.4e-12, False), (4.0, 3.6e-12, True), (-4.0, 3.6e-12, True),
])  # fmt: skip
def test_tiny_standard_error_is_rounding(value, error, still):
    """Of 1 where the value is smaller. Two units that move it by ± e have √(1/2 · 2 e²) = e."""
    found, low, high, reason = jackknife(value, value + np.array([-error, error]), "none")
    assert (reason is not None, np.isnan(found), np.isnan(low), np.isnan(high)) == (still,) * 4
    zero = jackknife(0.0, np.zeros(2), "none")
    assert zero[3] == "leaving out any item gives the same value, so the data cannot show how sure it is"


def test_why_resamples_give_no_interval():
    undefined = "the statistic is undefined on these data"
    same = "every resample gives the same value, so the data cannot show how sure it is"
    assert _no_interval(NAN, 1.0, 0.9) == undefined
    assert _no_interval(0.5, 1.0, MOST_UNDEFINED) is None
    assert _no_interval(0.5, 0.0, 0.07) == "the statistic is undefined in 7% of the resamples"
    assert MOST_UNDEFINED == 0.05
    for value, spread_of, reason in (
        (0.5, 0.0, same), (0.5, 1e-12, same), (0.5, 1.1e-12, None), (-8.0, 8e-12, same), (-8.0, 8.1e-12, None),
    ):  # fmt: skip
        assert _no_interval(value, spread_of, 0.0) == reason


# -- values estimated jointly -------------------------------------------------------------------------


def several(value, without, *, transform=None, level=0.9, **more):
    """Values by the jackknife, from those without each unit."""
    value, without = np.array(value, dtype=float), np.array(without, dtype=float)
    transform = transform or ("none",) * len(value)
    n = len(without)
    error, low, high, reasons = ends_of("jackknife", value, np.empty((0, len(value))), without, level, transform)
    return Estimates(
        value, error, low, high, reasons, n, n, "jackknife", level, 0, 0, np.empty((0, len(value))),
        np.zeros(len(value), dtype=np.int64), leave_one_out=without, transform=transform, **more,
    )  # fmt: skip


def two_values(**more):
    return several([0.5, 0.3], [0.5, 0.3] + 0.01 * np.random.default_rng(2).normal(size=(12, 2)), **more)


def test_missing_score_affects_only_its_value():
    found = two_values()
    refused = found.scored("too few items decide")
    assert refused.reasons == ("too few items decide", None)
    for name in ("low", "high", "standard_error"):
        assert np.isnan(getattr(refused, name)[0])
        assert getattr(refused, name)[1] == getattr(found, name)[1]
    assert refused.value.tolist() == [0.5, 0.3]
    assert refused.at_level(0.5).reasons == refused.reasons
    assert np.isnan(refused[0].interval(0.5)).all()
    assert refused[1].interval(0.5) == pytest.approx(found[1].interval(0.5))


def test_score_sets_first_interval_and_p_value_only():
    found = two_values()
    score = Score(np.linspace(0.0, 1.0, 5), np.full(5, 0.02), stepwise=True)
    one = found.scored(score)
    step, t = np.abs(found.leave_one_out[:, 0] - 0.5).max(), stats.t.ppf(0.95, 11)
    assert (one.low[0], one.high[0]) == pytest.approx(score.interval(0.5, one.standard_error[0], step, t))
    assert one.high[0] != pytest.approx(found.high[0])
    assert (one.low[1], one.high[1], one.p(0.2)[1]) == (found.low[1], found.high[1], found.p(0.2)[1])
    away = score.deviation(0.5, one.standard_error[0], step, 0.6)
    assert one.p(0.6)[0] == pytest.approx(2 * stats.t.sf(away, 11))
    wide = one.at_level(0.99)
    t = stats.t.ppf(0.995, 11)
    assert (wide.low[0], wide.high[0]) == pytest.approx(score.interval(0.5, one.standard_error[0], step, t))
    # Where no value is compatible the jackknife's interval stays; where nothing varies the score's comes in its place.
    beyond = found.scored(Score(np.array([0.9, 0.95]), np.full(2, 1e-6)))
    assert (beyond.low[0], beyond.high[0]) == (found.low[0], found.high[0])
    still = several([0.5, 0.5], np.full((12, 2), 0.5)).scored(score)
    assert (still.reasons[0], still.reasons[1] is None) == (None, False)
    assert still.low[0] < 0.5 < still.high[0]
    assert one.describe_intervals() == (f"90% {score.words} over 12 items",) * 2


def test_part_keeps_attributes_of_values():
    found = two_values(support=np.array([[12, 9], [30, 20]]))
    one = found.scored("why").with_random_raters([RNG.normal(size=(4, 2))], [np.array([[1.0, 2], [2, 5]])])
    first, second, last = one.part(slice(0, 1)), one.part(np.array([1])), one[-1]
    assert (first.score, second.score) == ("why", None)
    assert second.value.tolist() == [0.3]
    assert second.support.tolist() == [[9], [20]]
    assert second.interactions[0].tolist() == [[5]]
    assert np.array_equal(second.without_annotator[0], one.without_annotator[0][:, [1]])
    assert np.array_equal(second.leave_one_out, found.leave_one_out[:, [1]])
    assert (last.at, last.estimate, one[0].at) == (1, 0.3, 0)
    assert one.part(slice(0, 0 + 2)).support.shape == (2, 2)


def test_annotators_left_out_are_the_sample():
    """Groups of 3 and 4, or each of a given number of units."""
    found, groups = two_values(), [0.5 + 0.1 * RNG.normal(size=(m, 2)) for m in (3, 4)]
    both = [np.zeros((2, 2))] * 2
    one, other = found.with_random_raters(groups, both), found.with_random_raters(groups, both, 20)
    assert (one.raters, one.n_annotators, other.n_annotators) == ("random", 7, 20)
    assert one.describe_interval() == "90% two-way jackknife interval over 12 items and 7 random raters"
    assert other.describe_interval().endswith("over 12 items and 7 groups of 20 random raters")
    spreads = RaterSample.of(found.leave_one_out, groups, [np.zeros(2)] * 2)
    assert one.standard_error == pytest.approx(spreads.error)
    assert (one.standard_error > found.standard_error).all()
    # The p-value is the level at which an end of the interval is at the null.
    assert one.p(float(one.high[0]))[0] == pytest.approx(0.1)
    assert one.p(float(one.low[1]))[1] == pytest.approx(0.1)
    plain = Estimates(*(np.zeros(1),) * 4, ("none",), 5, 5, "none", 0.9, 0, 0, np.empty((0, 1)), np.zeros(1, dtype=int))
    assert plain.with_random_raters([np.zeros((3, 1))], [np.zeros((1, 1))]).standard_error.tolist() == [0]


def test_random_rater_contrast_matches_differences():
    found, raters = two_values(), 0.5 + 0.1 * RNG.normal(size=(5, 2))
    both = np.array([[4e-4, 1e-4], [1e-4, 9e-4]])  # of the difference: 4 + 9 − 2 × 1
    got = found.with_random_raters([raters], [both]).contrast([[1, -1], [0, 2]])
    apart = found.leave_one_out[:, 0] - found.leave_one_out[:, 1]
    wanted = several([0.2], apart[:, None]).with_random_raters([(raters[:, :1] - raters[:, 1:])], [np.array([[11e-4]])])
    assert (got.value[0], got.standard_error[0], got.low[0], got.high[0]) == pytest.approx(
        (0.2, wanted.standard_error[0], wanted.low[0], wanted.high[0])
    )
    assert got.value[1] == pytest.approx(0.6)
    assert got.interactions[0][1, 1] == pytest.approx(4 * 9e-4)
    fixed = found.contrast([1, -1])
    assert fixed.standard_error[0] == pytest.approx(spread(apart))


@pytest.mark.parametrize("transform", ["none", "fisher", "rank", "log"])
def test_p_values_are_of_t_on_the_scale_of_the_interval(transform):
    """Fisher's z where value and null lie inside −1 and 1, with slope 1 / (1 − value²); otherwise untransformed."""
    found = several([0.6, 1.4], [0.6, 1.4] + 0.02 * RNG.normal(size=(9, 2)), transform=(transform,) * 2)
    for null in (0.0, 0.2, -0.9, 1.0, 1.3):
        t = (found.value - null) / found.standard_error
        if transform in ("fisher", "rank") and null < 1:
            t[0] = (math.atanh(0.6) - math.atanh(null)) * (1 - 0.36) / found.standard_error[0]
        assert found.p(null) == pytest.approx(2 * stats.t.sf(abs(t), 8))
    assert found.p()[0] == found.p(0.0)[0]
    assert found.p(0.6)[0] == pytest.approx(1)


def test_p_value_without_error_is_missing():
    still = several([0.5, 0.5], np.column_stack([np.full(6, 0.5), [0.4, 0.5, 0.6, 0.5, 0.5, 0.5]]))
    assert np.isnan(still.p(0.0)).tolist() == [True, False]
    two = several([0.5], [[0.4], [0.6]])  # √(1/2 · 0.02) = 0.1, with one degree of freedom
    assert two.p(0.0)[0] == pytest.approx(2 * stats.t.sf(5, 1))
    lone = several([0.5], [[0.5]])
    assert np.isnan(lone.p(0.0)).all()
    assert np.isnan(missing("no labels").p(0.0))
    assert np.isnan(missing("no labels").interval(0.9)).all()
    for level in (0.0, 1.0):
        with pytest.raises(DesignError, match="level must lie between 0 and 1"):
            missing("no labels").interval(level)


def test_estimate_by_rule_uses_its_ends_and_test():
    one = EstimateByRule(0.5, 0.4, 0.6, 0.1, ends=lambda level: (0.5 - level, 0.5 + level), test=lambda null: null / 10)
    assert one.interval(0.25) == (0.25, 0.75)
    assert (one.p(), one.p(2.0)) == (0.0, 0.2)
    for level in (0.0, 1.0):
        with pytest.raises(DesignError, match="level must lie between 0 and 1"):
            one.interval(level)
    assert np.isnan(EstimateByRule(0.5, 0.4, 0.6, 0.1, ends=lambda level: (level, level)).p(0.0))


def test_share_of_trials_has_score_p_value():
    """0.3 of 21 against 0.5: z = 0.2 / √(0.25 / 21); no share of 0 or 1 could have given both answers."""
    one = wilson_estimate(0.3, 0.1, 0.5, 21)
    assert one.p(0.5) == pytest.approx(2 * stats.norm.sf(0.2 / math.sqrt(0.25 / 21)))
    assert one.p(0.1) == pytest.approx(2 * stats.norm.sf(0.2 / math.sqrt(0.09 / 21)))
    assert np.isnan([one.p(0.0), one.p(1.0), one.p(-0.1), one.p(1.1)]).all()
    assert one.standard_error == pytest.approx(0.1)  # √(0.21 / 21)
    assert one.interval(0.8) == pytest.approx([float(end) for end in wilson(np.array(0.3), 21, 0.8)])


def test_groups_of_judgments_are_left_out():
    """Squares of 0.01, 0, 0.01 around the mean 0.4: √(2/3 · 0.02) is the error; t has 2 degrees of freedom."""
    one = jackknife_groups(0.41, np.array([0.3, 0.4, 0.5]), 0.9)
    se = math.sqrt(2 / 3 * 0.02)
    half = stats.t.ppf(0.95, 2) * se
    assert (one.estimate, one.standard_error, one.low, one.high) == pytest.approx((0.41, se, 0.41 - half, 0.41 + half))
    assert one.reason is None
    every = one.among
    assert (every.n_items, every.n_units, every.n_resamples, every.seed, len(every)) == (3, 3, 0, 0, 1)
    assert every.n_undefined.tolist() == [0]
    assert every.describe_interval() == "90% jackknife interval over 3 groups"
    same = jackknife_groups(0.4, np.full(4, 0.4), 0.9)
    assert same.reason == "every group of judgments gives the same value"
    moved = map_estimate(one, lambda x: 2 * x + 1, lambda y: (y - 1) / 2, slope=2.0)
    assert (moved.estimate, moved.low, moved.high) == pytest.approx((1.82, 2 * one.low + 1, 2 * one.high + 1))
    assert moved.standard_error == pytest.approx(2 * se)
    assert moved.interval(0.5) == pytest.approx([2 * end + 1 for end in one.interval(0.5)])
    assert moved.p(1.5) == pytest.approx(one.p(0.25))


# -- skewed units -------------------------------------------------------------------------------------

SKEWED = np.column_stack([[0.1, 0.2, 0.0, 0.9, 0.4, 0.1, 0.3], [0.5, 0.9, 0.7, 1.2, 0.6, 0.4, 1.1]])


def halls_t(x, null=0.0):
    """t + a (t²/3 + 1/6) + a² t³/27, a = skewness / √n with the variance of n − 1."""
    n = len(x)
    t = (x.mean() - null) / (x.std(ddof=1) / math.sqrt(n))
    a = ((x - x.mean()) ** 3).mean() / x.std(ddof=1) ** 3 / math.sqrt(n)
    return t + a * (t * t / 3 + 1 / 6) + a * a * t**3 / 27


def test_hall_statistic_of_sums_for_any_number():
    more = np.column_stack([SKEWED, SKEWED[:, 0] ** 2])
    weights = np.array([[1.0, -0.5], [0.0, 1.0], [2.0, 0.3]])
    wanted = [halls_t(SKEWED @ w, 0.1) for w in weights]
    assert Pseudo(SKEWED).corrected_t(weights, 0.1) == pytest.approx(wanted)
    assert Pseudo(more).corrected_t(np.column_stack([weights, np.zeros(3)]), 0.1) == pytest.approx(wanted)
    assert Pseudo(more).corrected_t(np.array([[0.5, 0.2, -1.0]]))[0] == pytest.approx(halls_t(more @ [0.5, 0.2, -1.0]))
    one = np.array([1.0, -0.5])
    assert Pseudo(SKEWED).p_above(one, 0.1) == pytest.approx(stats.t.sf(wanted[0], 6))
    assert Pseudo(SKEWED).p_above(one) == pytest.approx(stats.t.sf(halls_t(SKEWED @ one), 6))


def test_constant_sums_are_certain_and_unknown_are_not_significant():
    flat = Pseudo(np.full((5, 1), 0.5))
    one = np.array([1.0])
    assert [flat.corrected_t(one[None], null)[0] for null in (0.25, 0.5, 0.75)] == [math.inf, 0, -math.inf]
    assert [flat.p_above(one, null) for null in (0.25, 0.5, 0.75)] == [0, 0.5, 1]
    assert np.isnan(flat.interval(one, 0.9)).all()
    assert Pseudo(np.array([[1.0], [NAN], [2.0]])).p_above(one) == 1
    # A variance of 1e-24 of the squared values is rounding.
    nearly, apart = (Pseudo(1e6 * (1 + off * np.array([[-1.0], [1.0], [1], [-1]]))) for off in (5e-13, 5e-12))
    assert nearly.corrected_t(one[None])[0] == math.inf
    assert 0 < apart.corrected_t(one[None], 1e6 - 1e-6)[0] < 10


def test_pseudo_values_by_hand_and_degrees_of_freedom_of_those_that_decide():
    """n · 3 − (n − 1) · (2, 3, 4) is 5, 3, 1; of 10 units 4 decide: 1.5 · 4 − 1, at least 1 and at most n − 1."""
    assert Pseudo.of(np.array([3.0]), np.array([[2.0], [3], [4]])).values.ravel().tolist() == [5, 3, 1]
    for deciding, df in ((4.0, 5), (1.0, 1), (6.0, 8), (7.0, 9), (99.0, 9), (math.inf, 9)):
        assert Pseudo(np.zeros((10, 1)), deciding).df == df
        assert Pseudo.of(np.zeros(1), np.zeros((10, 1)), deciding).df == df
    assert Pseudo.of(np.zeros(1), np.zeros((10, 1))).df == Pseudo(np.zeros((10, 1))).df == 9


@pytest.mark.parametrize("a", [0.3, -0.3, 1e-6, 0.0])
@pytest.mark.parametrize("y", [-2.0, 0.0, 1.5])
def test_halls_correction_is_taken_back(a, y):
    t = _hall_inverse(y, a)
    assert hall_statistic(t, a * 4, 16) == pytest.approx(y, abs=1e-8)
    assert float(hall_statistic(1.5, 0.8, 4)) == pytest.approx(1.5 + 0.4 * (0.75 + 1 / 6) + 0.16 * 3.375 / 27)


def test_pseudo_interval_inverts_corrected_t():
    for weights in (np.array([1.0, -0.5]), np.array([-1.0, 0.0])):
        x = SKEWED @ weights
        low, high = Pseudo(SKEWED).interval(weights, 0.9)
        assert (halls_t(x, low), halls_t(x, high)) == pytest.approx((stats.t.ppf(0.95, 6), -stats.t.ppf(0.95, 6)))
        assert low < x.mean() < high


def test_ratio_interval_contains_zero_contrasts():
    low, high = Pseudo(SKEWED).ratio_interval(0.9)
    limit = stats.t.ppf(0.95, 6)
    ratio = SKEWED[:, 0].sum() / SKEWED[:, 1].sum()
    wanted = [
        optimize.brentq(lambda r, end=end: halls_t(SKEWED[:, 0] - r * SKEWED[:, 1]) - end, *around)
        for end, around in ((limit, (-0.3, ratio)), (-limit, (ratio, 1.5)))
    ]
    assert (low, high) == pytest.approx(wanted, abs=2e-4)


def test_ratio_to_constant_has_interval_of_mean():
    """Squares of 0.3, 0.1, 0, 0.1, 0.3 are 0.2: over 5 · 4 a standard error of 0.1, and nothing is skewed."""
    first, sure = np.array([0.2, 0.4, 0.5, 0.6, 0.8]), np.ones(5)
    half = stats.t.ppf(0.95, 4) * 0.1
    one = Pseudo(np.column_stack([first, sure])).ratio_interval(0.9)
    assert one == pytest.approx((0.5 - half, 0.5 + half))
    twice = Pseudo(np.column_stack([first, 2 * sure])).ratio_interval(0.9)
    assert twice == pytest.approx((0.25 - half / 2, 0.25 + half / 2))
    for second in (-sure, np.array([-1.0, -1, 0, 1, 1])):
        assert Pseudo(np.column_stack([first, second])).ratio_interval(0.9) == (-math.inf, math.inf)
    # Beyond -3 and 5 there is no end.
    assert Pseudo(np.column_stack([first + 4.4, sure])).ratio_interval(0.9) == pytest.approx((4.9 - half, math.inf))
    assert Pseudo(np.column_stack([first - 3.4, sure])).ratio_interval(0.9) == pytest.approx((-math.inf, -2.9 + half))


def test_between_two_places_the_line_through_both_decides():
    at = np.array([0.0, 1.0, 3.0])
    for off, i, wanted in (
        ([2.0, -1.0, -5.0], 0, 2 / 3), ([9.0, 1.0, -3.0], 1, 1.5), ([-3.0, 1.0, 9.0], 0, 0.75),
        ([2.0, math.inf, 0.0], 0, 0.0), ([-math.inf, 2.0, 0.0], 0, 0.0), ([0.0, 2.0, 2.0], 1, 1.0),
        ([2.0, 1.0, -1.0], 2, 3.0), ([3.0, 2.0, 1.0], 0, 1.0), ([0.0, 1.0, 3.0], 1, 1.0),
    ):  # fmt: skip
        assert _interpolate_zero(at, np.array(off), i) == pytest.approx(wanted)
