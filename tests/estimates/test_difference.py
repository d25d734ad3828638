"""The corrected mean by textbook formulas: of items, clusters and strata drawn at random, with a judge and without."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.estimates.difference import Checked, JudgeMean, MeanSpread, difference, slope, tune_lambda

Y = np.array([1.0, 4, 2, 5, 3, 3, 1, 5, 2, 4, 4, 2])
F = np.array([2.0, 4, 1, 5, 3, 2, 2, 4, 2, 5, 3, 1])
N = len(Y)
NOBODY = JudgeMean(np.zeros(N), 0.0, 0.0)


def checked(n_all=100, people=1, **more):
    """Every person labelled every item."""
    row, person = np.tile(np.arange(N), people), np.repeat(np.arange(people), N)
    return Checked(row, person, more.pop("weight", np.ones(N)), people, n_all, **more)


def by_hand(e, judged, weight, n_all):
    """The variance from the labelled items, from the judge's mean of all items, and twice their covariance."""
    return e @ e + weight**2 * judged.variance / n_all + 2 * weight * e @ (judged.row - judged.mean) / n_all


@pytest.mark.parametrize(("finite", "left"), [(False, 1.0), (True, 0.88)])
def test_variance_of_mean(finite, left):
    """s² / n, of 12 of 100 items times .88."""
    found = difference(checked(finite=finite), Y, NOBODY, 0.0)
    assert found.value == Y.mean()
    assert found.variance == pytest.approx(Y.var(ddof=1) / N * left)
    assert (found.n, found.weight, found.df) == (N, 0.0, pytest.approx(N - 2))
    assert np.isnan(found.between)


def test_annotators_have_equal_weights_and_item_means_vary():
    other = np.roll(Y, 1) + 0.5
    found = difference(checked(people=2), np.concatenate([Y, other]), NOBODY, 0.0)
    means = (Y + other) / 2
    assert found.by_person.tolist() == [Y.mean(), other.mean()]
    assert found.value == pytest.approx(means.mean())
    assert found.item_means == pytest.approx(means)
    assert found.variance == pytest.approx(means.var(ddof=1) / N)
    assert found.between == pytest.approx((0.5**2 / 2) / 2)
    # For a finite population, each pair's covariance over all its items is subtracted once.
    some = difference(checked(people=2, finite=True), np.concatenate([Y, other]), NOBODY, 0.0)
    assert some.variance == pytest.approx(means.var(ddof=1) * (1 / N - 1 / 100))


def test_loads_differ_and_few_shared_items_tell_no_covariance():
    """Ann labels all 12, Bob the first 4: his mean counts half, from 4 items."""
    row, person = np.r_[np.arange(N), np.arange(4)], np.r_[np.zeros(N, int), np.ones(4, int)]
    y = np.r_[Y, 5.0, 1.0, 1.0, 3.0]
    one = Checked(row, person, np.ones(N), 2, 100)
    found = difference(one, y, NOBODY, 0.0)
    assert found.value == pytest.approx((Y.mean() + 2.5) / 2)
    assert one.loads.tolist() == [12, 4]
    e = (Y - Y.mean()) / 24 * math.sqrt(12 / 11)
    e[:4] += (y[N:] - 2.5) / 8 * math.sqrt(4 / 3)
    assert found.variance == pytest.approx(e @ e)
    whole = difference(Checked(row, person, np.ones(N), 2, 100, finite=True), y, NOBODY, 0.0)
    # Four shared items are fewer than ten: only each annotator's own variance is subtracted.
    own = (Y.var(ddof=1) + y[N:].var(ddof=1)) / 4
    assert whole.variance == pytest.approx(e @ e - own / 100)


@pytest.mark.parametrize("weight", [0.0, 0.6, -0.3])
def test_difference_corrects_by_judge_error(weight):
    judged = JudgeMean(F, 3.1, 1.7)
    found = difference(checked(), Y, judged, weight)
    assert found.value == pytest.approx(Y.mean() + weight * (3.1 - F.mean()))
    residual = Y - Y.mean() - weight * (F - F.mean())
    e = residual / N * math.sqrt(N / (N - 1))
    assert found.by_label == pytest.approx(e)
    # A line through the items is less sure away from their middle.
    line = 1.0 if weight == 0 else (N - 1) / (N - 2) * (1 + (3.1 - F.mean()) ** 2 / F.var())
    assert found.variance == pytest.approx(by_hand(e, judged, weight, 100) + (line - 1) * e @ e)


def test_tune_lambda_is_regression_if_better_than_chance():
    u, v = slope(checked(), Y, F)
    assert u == pytest.approx((Y - Y.mean()) / N)
    assert v == pytest.approx((F - F.mean()) / N)
    assert tune_lambda(u, v, clip=False) == pytest.approx(stats.linregress(F, Y).slope)
    # Of 12 items r² / (1 − r²) · 10 must be above 1: r above .3015.
    x, z = np.tile([1.0, -1], 6), np.repeat([1.0, -1], 6)  # uncorrelated
    for r, counts in [(0.30, False), (0.303, True), (-0.303, True)]:
        y = r * x + math.sqrt(1 - r**2) * z
        assert tune_lambda(y, x, clip=False) == pytest.approx(r if counts else 0.0)
        assert tune_lambda(y, x, clip=True) == pytest.approx(max(r, 0.0))
    assert tune_lambda(3 * x, x, clip=True) == 1.0
    assert tune_lambda(x, 0 * x, clip=True) == tune_lambda(0 * x, x, clip=True) == 0.0


# -- clusters ----------------------------------------------------------------------------------------------

FOUR = np.repeat(np.arange(4), 3)


def test_clusters_drawn_whole_are_four_numbers():
    """s² of the four clusters' means, over 4; of 4 of 10 clusters times .6."""
    means = Y.reshape(4, 3).mean(axis=1)
    sizes = np.full(10, 3)
    for finite, left in ((False, 1.0), (True, 0.6)):
        one = checked(n_all=30, cluster=FOUR, cluster_sizes=sizes, finite=finite)
        assert (one.whole, one.scattered) == (True, False)
        assert one.loads.tolist() == [4]
        found = difference(one, Y, NOBODY, 0.0)
        assert found.variance == pytest.approx(means.var(ddof=1) / 4 * left)
        assert found.df == pytest.approx(3)


def test_clusters_include_judge_labels():
    sums = np.array([3.0, -1, 2, 0.5, -4, 1])
    judged = JudgeMean(F, 3.0, 1.7, cluster_sums=sums)
    found = difference(checked(n_all=40, cluster=FOUR, cluster_sizes=np.full(6, 7)), Y, judged, 0.5)
    residual = (Y - Y.mean() - 0.5 * (F - F.mean())) / N * math.sqrt(4 / 3)
    phi = np.r_[residual.reshape(4, 3).sum(axis=1), 0, 0] + 0.5 * sums / 40
    line = (N - 1) / (N - 2) * (1 + (3 - F.mean()) ** 2 / F.var())
    assert found.variance == pytest.approx(line * (phi[:4] ** 2).sum() + (phi[4:] ** 2).sum())


def test_items_that_lie_as_a_random_sample_does_are_no_clusters():
    """12 of 48 items: a cluster of 8 is touched with probability 1 − .75⁸ = .9, so of six 5.4."""
    sizes = np.full(6, 8)
    five, six = np.r_[np.arange(5), np.arange(5), 0, 1], np.tile(np.arange(6), 2)
    for cluster, scattered in ((five, True), (six, True), (np.repeat(np.arange(4), 3), False)):
        one = checked(n_all=48, cluster=cluster, cluster_sizes=sizes, finite=True)
        assert one.scattered is scattered
        assert (one.clustered is None) is scattered
        assert checked(n_all=48, cluster=cluster, cluster_sizes=sizes).clustered is cluster  # of items like these
    assert not checked().scattered
    assert not checked().whole
    # 1,000 clusters of one item each, all of them labelled, are labelled whole.
    alone = checked(n_all=12, cluster=np.arange(12), cluster_sizes=np.ones(12, int), finite=True)
    assert (alone.whole, alone.scattered) == (True, False)


# -- strata ------------------------------------------------------------------------------------------------


def test_strata_of_known_sizes():
    """Two strata of 20 and 60 items, six labels of each: Σ (N_h / N)² s_h² / n_h, and what strata differ by."""
    y = Y + np.repeat([0.0, 1.5], 6)
    stratum, sizes = np.repeat([0, 1], 6), np.array([20, 60])
    weight = np.repeat(sizes / 6, 6)
    one = checked(n_all=80, weight=weight, stratum=stratum, stratum_sizes=sizes, finite=True)
    found = difference(one, y, NOBODY, 0.0)
    means = np.array([y[:6].mean(), y[6:].mean()])
    share = sizes / 80
    assert found.value == pytest.approx(share @ means)
    squares = share**2 * np.array([y[:6].var(ddof=1), y[6:].var(ddof=1)]) / 6 * N / (N - 1)
    assert found.variance == pytest.approx(squares @ (1 - 6 / sizes))
    other = checked(n_all=80, weight=weight, stratum=stratum, stratum_sizes=sizes)
    between = share @ (means - share @ means) ** 2 / 80 * N / (N - 1)
    assert difference(other, y, NOBODY, 0.0).variance == pytest.approx(squares.sum() + between)
    # With a judge: what it says of the strata is of the difference, and its own mean of all items is added.
    judged = JudgeMean(F, 3.1, 1.7)
    found = difference(other, y, judged, 0.5)
    by_item = weight / weight.sum()
    residual = y - by_item @ y - 0.5 * (F - by_item @ F)
    e = by_item * residual * math.sqrt(N / (N - 1))
    inside = [(e[part] - e[part].mean()) * math.sqrt(6 / 5) for part in (slice(0, 6), slice(6, 12))]
    lies = sum(e[part].sum() ** 2 / size for part, size in zip((slice(0, 6), slice(6, 12)), sizes, strict=True))
    v = by_item * (F - by_item @ F)
    line = (N - 1) / (N - 2) * (1 + (3.1 - by_item @ F) ** 2 / (N * v @ v))
    own = 0.25 * 1.7 / 80 + 2 * 0.5 * e @ (F - 3.1) / 80
    assert found.variance == pytest.approx(line * float(np.square(inside).sum()) + lies + own)


def test_stratum_with_two_labels_has_variance():
    """4 and 10 lie 3 from their mean; a variance of two is over 1 instead of 2."""
    stratum = np.r_[np.zeros(10, int), 1, 1]
    one = checked(n_all=24, stratum=stratum, stratum_sizes=np.array([20, 4]))
    centred, _ = one.apart(np.r_[np.zeros(10), 4.0, 10.0])
    assert centred[10:] == pytest.approx([-3 * math.sqrt(2), 3 * math.sqrt(2)])


def test_stratum_with_one_label_is_unchanged():
    stratum = np.r_[np.zeros(11, int), 1]
    one = checked(n_all=24, stratum=stratum, stratum_sizes=np.array([22, 2]))
    e = np.arange(12.0)
    centred, each = one.apart(e)
    assert centred[11] == 11
    assert centred[:11] == pytest.approx((e[:11] - 5) * math.sqrt(11 / 10))
    assert each == pytest.approx([55 / 22, 11 / 2])
    assert checked().apart(e) == (pytest.approx(e), None)


# -- intervals ---------------------------------------------------------------------------------------------


def test_number_has_t_interval():
    one = MeanSpread(3.0, 0.04, 10.0, 12)
    for level in (0.8, 0.95):
        half = stats.t.ppf((1 + level) / 2, 10) * 0.2
        assert one.ends(level) == pytest.approx((3 - half, 3 + half))
    people = MeanSpread(3.0, 0.04, 10.0, 12, between=0.09, n_people=4)
    half = math.hypot(stats.t.ppf(0.975, 10) * 0.2, stats.t.ppf(0.975, 3) * 0.3)
    assert people.ends(0.95) == pytest.approx((3 - half, 3 + half))
    assert people.estimate(0.95).standard_error == pytest.approx(math.sqrt(0.13))
    assert one.p(3.5) == pytest.approx(2 * stats.t.sf(2.5, 10), rel=1e-9)
    assert one.p(2.5) == pytest.approx(one.p(3.5))
    assert one.p(3.0) == 1.0
    assert np.isnan(MeanSpread(3.0, 0.0, 10.0, 12).p(2.0))
    three = one.estimate(0.95, tests=3)
    assert (three.low, three.high) == pytest.approx(one.ends(1 - 0.05 / 3))
    assert three.p(3.5) == pytest.approx(3 * one.p(3.5))
    assert three.p(3.01) == 1.0


def wilson(p, n, t):
    """The proportions p' that are t standard errors √(p' (1 − p') / n) from p."""
    ends = np.roots([1 + t**2 / n, -(2 * p + t**2 / n), p**2])
    return tuple(sorted(ends.real))


def test_share_has_wilson_interval_with_design_effect():
    t = stats.t.ppf(0.975, 10)
    # The variance is binomial: κ = 1, for any labels.
    coin = MeanSpread(0.25, 0.25 * 0.75 / 12, 10.0, 12, (0.0, 1.0), seen=3.0, own=0.25)
    assert coin.ends(0.95) == pytest.approx(wilson(0.25, 12, t))
    # On 1 to 5 the same, four times as wide.
    points = MeanSpread(2.0, 16 * 0.25 * 0.75 / 12, 10.0, 12, (1.0, 5.0), seen=3.0, own=2.0)
    assert points.ends(0.95) == pytest.approx(1 + 4 * np.array(wilson(0.25, 12, t)))
    # Twice the variance with one seen: κ' = (1 · 2 + 2) / 2 = 2, half of the items; half of it: (1 · ½ + 1) / 2 = ¾.
    for times, pulled in ((2.0, 2.0), (0.5, 0.75)):
        one = MeanSpread(0.25, times * 0.25 * 0.75 / 12, 10.0, 12, (0.0, 1.0), seen=1.0, own=0.25)
        assert one.ends(0.95) == pytest.approx(wilson(0.25, 12 / pulled, t))
    sure = MeanSpread(0.25, 0.5 * 0.25 * 0.75 / 12, 10.0, 12, (0.0, 1.0), own=0.25)  # much was seen: κ itself
    assert sure.ends(0.95) == pytest.approx(wilson(0.25, 24, t))
    # Nothing seen, no variance: Wilson's of 12 items.
    none = MeanSpread(0.0, 0.0, 10.0, 12, (0.0, 1.0), seen=0.0, own=0.0)
    assert none.ends(0.95) == pytest.approx((0.0, t**2 / 12 / (1 + t**2 / 12)))
    beyond = MeanSpread(-0.1, 0.0, 10.0, 12, (0.0, 1.0), seen=0.0, own=0.0)
    assert beyond.ends(0.95) == pytest.approx(none.ends(0.95))
    low, high = MeanSpread(0.25, 0.25 * 0.75 / 12, 10.0, 12, (0, 1), 3.0, 0.25, 0.01, 4).ends(0.95)
    q = t**2 / 12 + stats.t.ppf(0.975, 3) ** 2 * 0.01 / (0.25 * 0.75)  # annotators also vary
    assert (low, high) == pytest.approx(wilson(0.25, 1 / q, 1.0))
    points = MeanSpread(2.0, 16 * 0.25 * 0.75 / 12, 10.0, 12, (1.0, 5.0), 3.0, 2.0, 16 * 0.01, 4)
    assert points.ends(0.95) == pytest.approx((1 + 4 * low, 1 + 4 * high))
    # At an end the coin is a quarter of people's own: κ = 12 · .01 / (.3 · .7 / 4), of which two were seen.
    kappa = 12 * 0.01 / (0.21 / 4)
    q = t**2 * (2 * kappa + kappa) / 3 / 12
    one = MeanSpread(0.0, 0.01, 10.0, 12, (0.0, 1.0), seen=2.0, own=0.3)
    assert one.ends(0.95) == pytest.approx((0.0, q / (1 + q)))
    top = MeanSpread(1.2, 0.01, 10.0, 12, (0.0, 1.0), seen=2.0, own=0.7)
    assert top.ends(0.95) == pytest.approx((1 - q / (1 + q), 1.0))


def test_numbers_near_constant_have_share_interval():
    for off, score in ((4, True), (5, False)):
        y = np.r_[np.full(N - off, 1.0), np.full(off, 3.0)]
        found = difference(checked(), y, NOBODY, 0.0)
        one = MeanSpread.of(found, (1.0, 5.0), random=False)
        assert (one.bounds is not None) is score
        assert one.own == pytest.approx(y.mean())
        assert MeanSpread.of(found, (1.0, 5.0), random=False, score=False).bounds is None
        forced = MeanSpread.of(found, (1.0, 5.0), random=False, score=True)
        assert (forced.bounds, forced.seen) == ((1.0, 5.0), pytest.approx(off / 2))  # each is half of the way up
        assert one.seen == (pytest.approx(off / 2) if score else math.inf)
        down = MeanSpread.of(difference(checked(), 6 - y, NOBODY, 0.0), (1.0, 5.0), random=False, score=True)
        assert down.seen == forced.seen  # of the rarer side
    assert MeanSpread.of(found, None, random=True).between != MeanSpread.of(found, None, random=False).between


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("between", "people"), [(0.0, 1), (0.0, 4), (0.09, 4)])
def test_people_who_are_a_sample_widen_an_interval_by_their_own_t(level, between, people):
    """Half the width is √(t² · .04 + t_p² · between), t with 28 and t_p with 3 degrees of freedom."""
    low, high = MeanSpread(2.0, 0.04, 28.0, 30, between=between, n_people=people).ends(level)
    t, t_people = (stats.t.ppf((1 + level) / 2, df) for df in (28, 3))
    half = np.sqrt(t**2 * 0.04 + t_people**2 * between)
    assert (low, high) == pytest.approx((2 - half, 2 + half))
