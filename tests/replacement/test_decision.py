"""From win counts to the verdict: each test against the library that has it, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DesignError
from assay.estimation.intervals import adjust_p
from assay.replacement import decision
from assay.statistics import clusters, wins
from assay.statistics.wins import exact_p, score
from references import benjamini_yekutieli


def outcomes(wins, ties, losses):
    """The differences d = W^h − W^f of the counts."""
    return np.repeat([-1, 0, 1], [wins, ties, losses])


def counts_of(*annotators):
    return np.array([[list(a)] for a in annotators], dtype=float)


some_counts = st.tuples(*[st.integers(0, 40)] * 3).filter(lambda c: sum(c) >= 2)
epsilons = st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.2, 0.5, 1.0])


# -- advantage probabilities ------------------------------------------------------------------------


def test_advantage_by_hand():
    # 5 wins, 3 ties, 2 losses: the judge is as close or closer in 8 of 10, the annotator in 5 of 10.
    judge, human = wins.advantage(counts_of((5, 3, 2)))
    assert (judge[0], human[0]) == (0.8, 0.5)


def test_balanced_advantage_is_the_mean_over_classes_that_occur():
    # Class a: 9 of 10 as good; class b: 1 of 2; class c does not occur. (.9 + .5) / 2 = .7.
    judge, human = wins.advantage(np.array([[[4, 5, 1], [0, 1, 1], [0, 0, 0]]], dtype=float))
    assert judge[0] == pytest.approx(0.7)
    assert human[0] == pytest.approx((6 / 10 + 2 / 2) / 2)


def test_rho_is_the_mean_over_annotators_that_have_items():
    counts = counts_of((5, 3, 2), (0, 0, 4), (0, 0, 0))
    assert wins.average_advantage(counts) == pytest.approx((0.8 + 0) / 2)
    assert math.isnan(wins.average_advantage(counts_of((0, 0, 0))))


@given(some_counts)
def test_both_advantages_sum_to_one_and_the_share_of_ties(counts):
    judge, human = wins.advantage(counts_of(counts))
    assert judge[0] + human[0] == pytest.approx(1 + counts[1] / sum(counts))


# -- the t-test -------------------------------------------------------------------------------------


@given(some_counts, epsilons)
def test_p_values_agree_with_scipy(counts, epsilon):
    d = outcomes(*counts)
    statistic, p, reverse = (x[0] for x in decision.p_values(counts_of(counts), epsilon))
    if len(set(d)) == 1:
        assert math.isnan(statistic)
        return
    less, greater = (stats.ttest_1samp(d, epsilon, alternative=a) for a in ("less", "greater"))
    assert statistic == pytest.approx(less.statistic, rel=1e-9, abs=1e-9)
    assert p == pytest.approx(less.pvalue, rel=1e-9, abs=1e-15)
    assert reverse == pytest.approx(greater.pvalue, rel=1e-9, abs=1e-15)


@given(some_counts, epsilons)
def test_swapping_judge_and_annotator_swaps_the_hypotheses(counts, epsilon):
    _, p, reverse = decision.p_values(counts_of(counts), epsilon)
    _, swapped_p, swapped_reverse = decision.p_values(counts_of(counts[::-1]), -epsilon)
    assert reverse[0] == pytest.approx(swapped_p[0], rel=1e-9)
    assert p[0] == pytest.approx(swapped_reverse[0], rel=1e-9)


@given(some_counts, st.floats(0, 1), st.floats(0, 1))
def test_p_values_decrease_with_epsilon(counts, a, b):
    a, b = sorted((a, b))
    assert decision.p_values(counts_of(counts), b)[1][0] <= decision.p_values(counts_of(counts), a)[1][0] + 1e-12


@pytest.mark.parametrize(
    ("counts", "epsilon", "p", "reverse"),
    [
        # n ties: under the null E[d] >= ε, and P(d > 0) >= E[d], so a tie has probability 1 − ε at most.
        ((0, 30, 0), 0.1, 0.9**30, 1),
        ((0, 30, 0), 0.0, 1, 1),
        # n wins: P(d = 1) − P(d = −1) >= ε and both sum to 1 at most, so P(d = −1) <= (1 − ε)/2.
        ((30, 0, 0), 0.0, 0.5**30, 1),
        ((30, 0, 0), 0.2, 0.4**30, 1),
        # n losses: the same the other way round, P(d = 1) <= (1 + ε)/2 when E[d] <= ε.
        ((0, 0, 30), 0.0, 1, 0.5**30),
        ((0, 0, 30), 0.2, 1, 0.6**30),
        ((0, 0, 30), 1.0, 1, 1),
        ((0, 30, 0), 1.0, 0, 1),
    ],
)
def test_differences_that_are_all_equal_have_an_exact_p_value(counts, epsilon, p, reverse):
    statistic, found, found_reverse = decision.p_values(counts_of(counts), epsilon)
    assert math.isnan(statistic[0])
    assert found[0] == pytest.approx(p, rel=1e-12)
    assert found_reverse[0] == pytest.approx(reverse, rel=1e-12)


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0)])
def test_fewer_than_two_items_have_no_p_value(counts):
    assert all(np.isnan(x[0]) for x in decision.p_values(counts_of(counts), 0.1))


def test_p_values_broadcast_over_resamples_and_epsilons():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 20, (7, 3, 1, 3)).astype(float)
    grid = np.array([0.0, 0.1, 0.3])
    together = decision.p_values(counts[None], grid[:, None, None])[1]
    assert together.shape == (3, 7, 3)
    for e, epsilon in enumerate(grid):
        for b in range(7):
            np.testing.assert_array_equal(together[e, b], decision.p_values(counts[b], epsilon)[1])


def test_balanced_t_by_hand():
    # Class a has 8 items (4 wins, 4 losses), class b 2 (1 tie, 1 win): n = 10, weights 10/8 and 10/2.
    # Sum of weights 8·1.25 + 2·5 = 20. Mean d: (1.25·0 + 5·(−1)) / 20 = −.25.
    # s² = (1.25·8 + 5·1)/20 − .0625 = .75 − .0625 = .6875; n_eff = 400 / (8·1.5625 + 2·25) = 6.4.
    counts = np.array([[[4, 0, 4], [1, 1, 0]]], dtype=float)
    mean, error, df = decision.t_parts(counts)
    assert mean[0] == pytest.approx(-0.25)
    assert error[0] == pytest.approx(math.sqrt(0.6875 / 6.4))
    assert df[0] == pytest.approx(5.4)
    statistic, p, _ = decision.p_values(counts, 0.1)
    assert statistic[0] == pytest.approx(-0.35 / math.sqrt(0.6875 / 6.4))
    assert p[0] == pytest.approx(stats.t.cdf(statistic[0], 5.4))


def test_balance_of_equal_classes_changes_nothing():
    one = counts_of((6, 4, 8))
    split = np.array([[[3, 2, 4], [3, 2, 4]]], dtype=float)
    np.testing.assert_allclose(wins.advantage(split), wins.advantage(one))
    # C.1 divides the variance by n and not by n − 1.
    (mean, error, df), (mean_1, error_1, df_1) = decision.t_parts(split), decision.t_parts(one)
    assert (mean[0], df[0]) == pytest.approx((mean_1[0], df_1[0]))
    assert error[0] == pytest.approx(error_1[0] * math.sqrt(17 / 18))


# -- Wilcoxon ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sample size too small for normal approximation")  # scipy before 1.14
@given(some_counts, st.sampled_from([0.0, 0.1, 0.2, 0.5]))
def test_wilcoxon_agrees_with_scipy(counts, epsilon):
    shifted = outcomes(*counts) - epsilon
    p, reverse = decision.wilcoxon_p(np.array(counts, dtype=float), epsilon)
    if not shifted.any():
        assert (p, reverse) == (1, 1)
        return
    for alternative, found in (("less", p), ("greater", reverse)):
        # scipy 1.15 calls it "asymptotic" too.
        wanted = stats.wilcoxon(shifted, alternative=alternative, method="approx").pvalue
        assert found == pytest.approx(wanted, rel=1e-9)


def test_wilcoxon_by_hand():
    # Without epsilon: 6 wins and 2 losses, ties dropped; ranks 1–8 are all tied at 4.5, so T+ = 9, mean 18,
    # variance 8·9·17/24 − (8³ − 8)/48 = 51 − 10.5 = 40.5.
    p, _ = decision.wilcoxon_p(np.array([6.0, 5.0, 2.0]), 0.0)
    assert p == pytest.approx(stats.norm.cdf((9 - 18) / math.sqrt(40.5)))


@given(some_counts, st.floats(0, 1), st.floats(0, 1))
def test_wilcoxon_p_decreases_with_epsilon(counts, a, b):
    a, b = sorted((a, b))
    first, second = (decision.wilcoxon_p(np.array(counts, dtype=float), e)[0] for e in (a, b))
    # At epsilon = .5 ties and losses are equally large, and the tie correction of the variance jumps there: that
    # may raise a p-value by a tenth of itself. Above .5, far from any decision, it may do more.
    assert second <= first * 1.1 + 1e-12 or second > 0.5


# -- which test, and the correction -----------------------------------------------------------------


def test_decide_selects_test_by_number_of_items():
    counts = counts_of((10, 10, 9), (10, 10, 10), (0, 40, 0), (1, 0, 0))
    assert decision.decide(counts, 0.1, 0.05, "published").tests == ("wilcoxon", "t", "exact", "wilcoxon")
    assert decision.decide(counts, 0.1, 0.05, "t").tests[:3] == ("t", "t", "exact")
    assert decision.decide(counts, 0.1, 0.05, "wilcoxon").tests[:3] == ("wilcoxon", "wilcoxon", "exact")


def test_decide_wilcoxon_has_no_t_statistic():
    found = decision.decide(counts_of((12, 5, 3)), 0.1, 0.05, "published")
    p, reverse = decision.wilcoxon_p(np.array([12.0, 5.0, 3.0]), 0.1)
    assert (found.p[0], found.p_reverse[0]) == (p, reverse)
    assert math.isnan(found.statistic[0])


def test_exact_tests_of_all_annotators_and_their_names():
    counts = counts_of((12, 5, 3), (0, 40, 0), (90, 150, 70), (0, 0, 0))
    found = decision.decide(counts, 0.1, 0.05, "exact")
    assert found.tests == ("exact score", "exact score", "score", "exact score")
    p, reverse = exact_p(counts[:, 0], 0.1)
    np.testing.assert_array_equal(found.p, p)
    np.testing.assert_array_equal(found.p_reverse, reverse)
    np.testing.assert_array_equal(decision.winning_p(counts, 0.1, "exact"), p)
    assert found.statistic[0] == pytest.approx(score(np.array(12.0), np.array(3.0), 20, 0.1)[0])
    # All ties: no less than the bound of equal differences, as some outcomes with wins and losses are as strong.
    assert 0.9**40 < found.p[1] < 1.1 * 0.9**40
    # Without an item there is no p.
    assert math.isnan(found.p[3])
    assert not found.rejected[3]


p_lists = st.lists(st.one_of(st.floats(0, 1), st.floats(0, 0.02)), min_size=1, max_size=9)


@given(p_lists, st.sampled_from([0.01, 0.05, 0.2]))
def test_rejections_follow_algorithm_1(p, fdr):
    wanted = benjamini_yekutieli({str(i): v for i, v in enumerate(p)}, fdr)
    found = decision.by_rejects(np.array(p), fdr)
    assert {str(i) for i in np.flatnonzero(found)} == wanted
    assert set(np.flatnonzero(adjust_p(np.array(p)) <= fdr)) == {int(i) for i in wanted}


def test_rejections_leave_out_what_is_undefined():
    p = np.array([[0.004, np.nan, 0.5], [np.nan, np.nan, np.nan], [0.04, 0.045, np.nan]])
    # Two hypotheses, c = 1.5: thresholds .05/3 = .0167 and .0333.
    np.testing.assert_array_equal(decision.by_rejects(p, 0.05), [[1, 0, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("test", ["t", "exact"])
def test_rates_are_decisions_many_at_a_time(test):
    rng = np.random.default_rng(2)
    counts = rng.multinomial(50, [0.4, 0.35, 0.25], size=(20, 5))[:, :, None, :].astype(float)
    quality = np.array([1, 2, 1, 3, 1.0])
    _, p, reverse = decision.one_sided(counts, 0.1, test)
    wins, losses = (decision.by_rejects(one, 0.05) @ (quality / quality.sum()) for one in (p, reverse))
    for b in range(20):
        found = decision.decide(counts[b], 0.1, 0.05, test)
        assert wins[b] == pytest.approx(decision.winning_rate(found.rejected, quality))
        assert losses[b] == pytest.approx(decision.winning_rate(found.rejected_reverse, quality))
    assert 0 < wins.mean() < 1


def test_winning_rate_weights_annotators_by_quality():
    assert decision.winning_rate(np.array([True, False, False]), np.array([2.0, 1, 1])) == 0.5
    assert math.isnan(decision.winning_rate(np.array([], dtype=bool), np.array([])))


@pytest.mark.parametrize(
    ("p_noninferior", "p_worse", "p_item_level", "p_ratio_above", "p_ratio_below", "verdict"),
    [
        (0.05, 0.9, 0.05, 0.05, 0.9, "replace"),
        (0.05, 0.9, 0.06, 0.01, 0.9, "undecided"),
        (0.05, 0.9, 0.01, 0.06, 0.9, "undecided"),
        (0.06, 0.9, 0.01, 0.01, 0.9, "undecided"),
        (0.9, 0.05, 0.9, 0.9, 0.9, "do_not_replace"),
        (0.01, 0.9, 0.01, 0.9, 0.05, "do_not_replace"),
        (0.01, 0.01, 0.01, 0.9, 0.01, "do_not_replace"),
        (0.01, 0.01, 0.01, 0.01, 0.9, "mixed"),
        (0.01, 0.01, 0.9, 0.9, 0.9, "mixed"),
        (math.nan, math.nan, 0.01, 0.01, 0.9, "undecided"),
        (0.01, 0.9, math.nan, 0.01, 0.9, "undecided"),
    ],
)
def test_verdicts_from_p_values(p_noninferior, p_worse, p_item_level, p_ratio_above, p_ratio_below, verdict):
    found = decision.VerdictTests(
        p_noninferior, p_worse, p_item_level, p_ratio_above, p_ratio_below, True, None, 2, 2, 0.05
    )
    assert found.verdict == verdict
    copied = replace(found, matched_annotator="ann")
    assert copied.verdict == ("undecided" if verdict == "replace" else verdict)
    hardly = replace(found, annotators_agree=None)
    if p_worse <= 0.05:
        assert hardly.verdict == ("mixed" if p_noninferior <= 0.05 else "do_not_replace")
    else:
        assert hardly.verdict == "not_testable"
        assert replace(found, annotators_agree=False).verdict == "undecided"


@pytest.mark.parametrize(
    ("weights", "threshold", "least"),
    [
        ([1, 1, 1], 0.5, 2),
        ([1, 1, 1, 1], 0.5, 2),
        ([1, 1, 1, 1], 0.75, 3),
        # In rounded numbers these three are less than half of the weight; they are half.
        ([0.1, 0.1, 0.1, 0.3], 0.5, 3),
        ([5, 1, 1], 0.25, 2),
    ],
)
def test_conjunctions_count_annotators_with_half_the_weight(weights, threshold, least):
    p = np.full(len(weights), 0.5)
    _, _, found, worse = decision.conjunctions(p, p, np.array(weights, dtype=float), threshold)
    assert found == least
    assert worse == decision.conjunctions(p, p, np.array(weights, dtype=float), max(threshold, 0.5))[2]
    # Annotators who are not tested have no weight and no vote.
    more = np.append(p, np.nan)
    assert decision.conjunctions(more, more, np.append(weights, 9.0), threshold)[2] == least


def item_agreement_of(p_agreement=0.01, high=None):
    """Item-level agreement with three p-values; ``high`` is the upper limit of the annotators' agreement."""
    asked = []
    ratio = SimpleNamespace(
        p_agreement=p_agreement, pseudo=None if high is None else 1,
        agreement=lambda which, level: asked.append((which, level)) or SimpleNamespace(high=high),
    )  # fmt: skip
    return SimpleNamespace(
        for_people=ratio, p_item_level=0.11, p_ratio_above=0.12, p_ratio_below=0.13, by_own_words=(0.0, ""), asked=asked
    )


@pytest.mark.parametrize(
    ("p_agreement", "high", "agree"),
    [
        (0.05, 0.1, True), (0.051, None, False), (0.051, 0.2, False), (0.051, 0.199, None), (0.9, -0.1, None),
        (0.9, math.nan, False),
    ],
)  # fmt: skip
def test_verdict_tests_of_classify_agreement_among_annotators(p_agreement, high, agree):
    """Demonstrated at the level itself; None if the upper limit of the agreement is below .2."""
    item_agreement = item_agreement_of(p_agreement, high)
    found = decision.verdict_tests_of(
        np.array([0.01, 0.02]), np.array([0.9, 0.8]), item_agreement, np.ones(2), 0.5, 0.05
    )
    assert found.annotators_agree is agree
    assert item_agreement.asked == ([] if agree is True or high is None else [(1, 0.9)])  # one-sided, of people


def test_verdict_tests_of_has_all_p_values():
    p, reverse = np.array([0.01, 0.02, 0.6]), np.array([0.9, 0.3, 0.2])
    found = decision.verdict_tests_of(p, reverse, item_agreement_of(), np.ones(3), 0.6, 0.05, matched="ann")
    as_good, worse, least, least_worse = decision.conjunctions(p, reverse, np.ones(3), 0.6)
    assert (found.p_noninferior, found.p_worse, found.least, found.least_worse) == (as_good, worse, least, least_worse)
    # Two of three have .6 of the weight: of the larger two, .02 and .6, Simes' p is the least of 2 · .02 and .6.
    assert found.p_noninferior == pytest.approx(0.04)
    assert found.p_worse == pytest.approx(0.6)  # of .3 and .9: 2 · .3 and .9
    assert (found.p_item_level, found.p_ratio_above, found.p_ratio_below) == (0.11, 0.12, 0.13)
    assert (found.matched_annotator, found.alpha, found.least, found.least_worse) == ("ann", 0.05, 2, 2)
    nobody = decision.verdict_tests_of(p[:0], p[:0], item_agreement_of(), np.ones(0), 0.5, 0.05)
    assert np.isnan([nobody.p_noninferior, nobody.p_worse]).all()
    assert (nobody.least, nobody.least_worse, nobody.matched_annotator) == (0, 0, None)


def test_verdict_tests_ratio_too_low_requires_agreement():
    found = decision.VerdictTests(0.01, 0.9, 0.03, 0.02, 0.05, True, None, 1, 1, 0.05)
    assert (found.p_replace, found.ratio_too_low) == (0.03, True)
    assert not replace(found, p_ratio_below=0.051).ratio_too_low
    assert not replace(found, annotators_agree=False).ratio_too_low
    assert not replace(found, annotators_agree=None).ratio_too_low
    assert replace(found, p_noninferior=0.04).p_replace == 0.04
    assert replace(found, p_ratio_above=0.05).p_replace == 0.05


def test_adjust_verdict_tests_adjusts_the_largest_p_value_of_each_judge():
    """Two judges that each fail another test: Holm of .04 and .03 is .06 for both, so that neither replaces."""
    one = decision.VerdictTests(0.001, 0.9, 0.04, 0.001, 0.9, True, None, 1, 1, 0.05)
    other = decision.VerdictTests(0.03, 0.9, 0.001, 0.002, 0.9, True, None, 1, 1, 0.05)
    first, second = decision.adjust_verdict_tests([one, other])
    assert (one.verdict, other.verdict) == ("replace", "replace")
    assert (first.p_replace, second.p_replace) == pytest.approx((0.06, 0.06))
    assert (first.p_ratio_above, second.p_ratio_above) == pytest.approx((0.0015, 0.004))
    assert (first.verdict, second.verdict) == ("undecided", "undecided")


def test_adjust_verdict_tests_adjusts_each_other_p_value():
    """Holm of two: twice the smaller, and the larger no less than that; NaN is none, and is not counted."""
    one = decision.VerdictTests(0.01, 0.2, 0.02, 0.5, 0.9, True, None, 1, 2, 0.05)
    other = decision.VerdictTests(0.03, 0.15, math.nan, 0.6, 0.01, None, "ann", 3, 4, 0.1)
    first, second = decision.adjust_verdict_tests([one, other])
    names = ("p_noninferior", "p_worse", "p_item_level", "p_ratio_above", "p_ratio_below")
    assert [getattr(first, name) for name in names] == pytest.approx([0.02, 0.3, 0.02, 0.5, 0.9])
    assert [getattr(second, name) for name in names] == pytest.approx([0.03, 0.3, math.nan, 0.6, 0.02], nan_ok=True)
    assert replace(
        second, **{name: getattr(other, name) for name in names if name != "p_item_level"}, p_item_level=0
    ) == replace(other, p_item_level=0)


@pytest.mark.parametrize(("verdict", "p_first", "p_second"), [
    ("replace", 0.01, 0.05), ("mixed", 0.01, 0.06), ("mixed", 0.2, 0.01), ("undecided", 0.06, 0.06),
])  # fmt: skip
def test_two_groups_of_annotators_require_both(verdict, p_first, p_second):
    found = decision.VerdictTests(0.01, 0.9, 0.01, 0.01, 0.9, True, None, 2, 2, 0.05)
    groups = decision.GroupTests(("ann", "bob"), ("cho", "dan"), 0.001, p_first, p_second)
    assert found.verdict == "replace"
    assert replace(found, groups=groups).verdict == verdict
    assert replace(found, groups=groups, p_worse=0.01).verdict == "mixed"
    assert replace(found, groups=groups, p_item_level=0.2).verdict == "undecided"


def test_a_column_of_the_labels_own_words_leaves_replace_undecided():
    found = decision.VerdictTests(0.01, 0.9, 0.01, 0.01, 0.9, True, None, 2, 2, 0.05, None, 0.05, "has_link")
    assert found.verdict == "replace"
    assert replace(found, p_own_words=0.051).verdict == "undecided"
    assert replace(found, p_own_words=0.051, p_ratio_below=0.01).verdict == "do_not_replace"


# -- what a win_counts says ------------------------------------------------------------------------------


def tally_of(n, facts, *, min_items=30, names="abcd", **settings):
    """Everybody wins all: n items of each annotator."""
    counts = np.array([[[[k, 0, 0]] for k in n]], dtype=float)
    s = SimpleNamespace(min_items=min_items, **{"min_humans": 2, "fixed_reference": False} | settings)
    return decision.WinCounts(
        SimpleNamespace(settings=s, humans=tuple(names), n_copied=0), "m", 0, counts, np.array(facts)
    )


def test_annotators_with_enough_items_are_tested():
    made = tally_of((30, 29, 45), (0, 0, 0, 60, 75))
    assert (made.n.tolist(), made.tested.tolist(), made.n_labels) == ([30, 29, 45], [0, 2], 75)
    assert (made.counts.shape, made.units.tolist()) == ((2, 1, 3), [[30, 0, 0, 45, 0, 0]])
    assert tally_of((30, 31), (0, 0, 0, 31, 61)).units.shape == (1, 6)
    assert tally_of((1, 2), (0,) * 5, min_items=1).tested.tolist() == [1]  # two at least
    assert tally_of((29, 3), (0,) * 5).n_items == 0
    assert tally_of((30, 0), (0, 0, 0, 41, 30)).n_items == 41  # who is compared on nothing is no other
    assert tally_of((29, 3), (0,) * 5).estimate() is None
    assert math.isnan(decision.smallest_epsilon(tally_of((29, 3), (0,) * 5)))


def test_exclusions_are_counted_with_reason():
    found = tally_of((30, 29, 3), (4, 5, 6, 30, 62)).exclusions()
    assert [(one.what, one.count, one.reason) for one in found] == [
        ("item", 4, "a label of one annotator only"), ("item", 5, "no label of the judge"),
        ("item", 6, "no human label"),
        ("annotator", 2, "fewer than 30 comparable items; not tested, but among the others"),
    ]  # fmt: skip
    assert found[-1].names == ("b with 29", "c with 3")
    few = tally_of((30,), (1, 0, 0, 30, 30), min_humans=3).exclusions()
    assert [one.reason for one in few] == ["fewer than 3 human labels"]
    gold = tally_of((30,), (1, 0, 2, 30, 30), min_humans=3, fixed_reference=True).exclusions()
    assert [(one.count, one.reason) for one in gold] == [(1, "no reference label"), (2, "no human label")]


@pytest.mark.parametrize("least", [5, 6])
def test_win_counts_balance_rejects_small_classes(least):
    """Items of two annotators by class: 5 and 9, 7 and 30; an empty class is not a class."""
    counts = np.array([[[5, 0, 0], [3, 3, 3], [0, 0, 0]], [[7, 0, 0], [10, 10, 10], [0, 0, 0]]], dtype=float)
    table = SimpleNamespace(
        settings=SimpleNamespace(min_class=least), classes=("x", "y", "z"), humans=("ann", "bob", "cat")
    )
    made = SimpleNamespace(table=table, counts=counts, tested=np.array([1, 2]))
    if least == 5:
        decision._refuse_small_classes(made)
        return
    with pytest.raises(DesignError, match=r"at least 6 items per label.* have 'x': 'x' .* on 5 items of 'bob'\."):
        decision._refuse_small_classes(made)
    table.settings.min_class = 10
    with pytest.raises(DesignError, match=r"have 'x', 'y': 'x' .* on 5 items of 'bob'\."):
        decision._refuse_small_classes(made)
    counts[0, 0, 0] = 0  # an annotator without items of a class that others have
    with pytest.raises(DesignError, match=r"on 0 items of 'bob'\."):
        decision._refuse_small_classes(made)


def test_arrays_behind_each_other_are_views_of_one():
    flat = np.arange(10.0)
    first, second = decision._parts(flat, ((2, 3), (4,)))
    assert (first.tolist(), second.tolist()) == ([[0, 1, 2], [3, 4, 5]], [6, 7, 8, 9])
    second += 1
    assert flat[6:].tolist() == [7, 8, 9, 10]


def test_answers_are_kept_by_their_key_until_there_are_too_many():
    known = {}
    assert decision.remember(known, b"a", lambda: 1) == 1
    assert decision.remember(known, b"a", lambda: 2) == 1
    full = {bytes([i]): i for i in range(decision.REMEMBERED)}
    assert decision.remember(full, bytes([7]), lambda: -1) == 7
    assert decision.remember(full, b"new", lambda: -1) == -1
    assert full == {b"new": -1}
    almost = {bytes([i]): i for i in range(decision.REMEMBERED - 1)}
    decision.remember(almost, b"new", lambda: -1)
    assert len(almost) == decision.REMEMBERED


def test_keys_are_of_values_shapes_and_kinds():
    a = np.arange(6.0)
    same = decision.content_key(a, 1, ("t", None))
    assert decision.content_key(a.copy(), 1, ("t", None)) == same
    others = [
        (a.reshape(2, 3), 1, ("t", None)), (a.astype(int), 1, ("t", None)), (a[::-1].copy(), 1, ("t", None)),
        (a, 2, ("t", None)), (a, 1, ("t", 0)), (a, 1),
    ]  # fmt: skip
    assert same not in [decision.content_key(*other) for other in others]
    first, second = (clusters.Clustering(a, a, a + shift, a, a) for shift in (0, 1))
    assert decision.content_key(first) != decision.content_key(second)
    assert decision.content_key(first) == decision.content_key(replace(second, design=a))


# -- promises ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "epsilon", "ties"), [(60, 0.1, 0.4), (100, 0.2, 0.3), (200, 0.15, 0.5)])
def test_t_test_holds_level_at_the_boundary(n, epsilon, ties):
    loss = (1 - ties + epsilon) / 2
    rng = np.random.default_rng(n)
    trials = 20_000
    counts = rng.multinomial(n, [loss - epsilon, ties, loss], size=trials)[:, None, None, :].astype(float)
    share = np.mean(decision.p_values(counts, epsilon)[1] <= 0.05)
    # Discrete outcomes: within 1 point of 5%, and 4 standard errors of the simulation.
    assert abs(share - 0.05) < 0.01 + 4 * math.sqrt(0.05 * 0.95 / trials), share


def test_exact_p_value_is_valid():
    # Under the null that makes n equal outcomes likeliest, P(p <= α) <= α over the flat outcomes.
    for n in (5, 30):
        for epsilon in (0.05, 0.1, 0.3):
            p = decision.p_values(counts_of((0, n, 0)), epsilon)[1][0]
            assert p >= stats.binom.pmf(n, n, 1 - epsilon) * (1 - 1e-12)
            p = decision.p_values(counts_of((n, 0, 0)), epsilon)[1][0]
            assert p >= stats.binom.pmf(n, n, (1 - epsilon) / 2) * (1 - 1e-12)


@pytest.mark.slow
def test_decide_controls_false_discovery_rate():
    # Six annotators, four at the boundary of the null and two over whom the judge truly wins.
    rng = np.random.default_rng(0)
    trials, n, epsilon = 20_000, 80, 0.1
    null, true = [0.25, 0.4, 0.35], [0.5, 0.3, 0.2]
    each = [rng.multinomial(n, null if j < 4 else true, trials) for j in range(6)]
    counts = np.stack(each, axis=1)[:, :, None, :].astype(float)
    rejected = decision.by_rejects(decision.p_values(counts, epsilon)[1], 0.05)
    false, total = rejected[:, :4].sum(axis=1), rejected.sum(axis=1)
    rate = np.mean(false / np.maximum(total, 1))
    # BY is conservative under independence: q · (m0/m) / c_m = .05 · 4/6 / 2.45 = .0136.
    assert rate < 0.05
    assert rate == pytest.approx(0.05 * 4 / 6 / 2.45, abs=0.006)
