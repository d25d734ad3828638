"""Influences against leaving out in turn, variances against simulated truth, permutations against all of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import spearmanr

from assay.statistics.comparisons.odd_one_out import KEPT, PairTable, choice_probabilities
from assay.statistics.comparisons.round_robin import (
    ExpertRanks,
    Influence,
    Ordering,
    RoundRobin,
    TextBlocks,
    degrees,
    known_correlation,
    known_ranks,
    p_of_permutations,
    permuted_correlations,
)


def drawn(n_texts: int, n_documents: int = 1, repeats: int = 1, sharp: float = 0.5, seed: int = 0, floor: int = 1):
    """A round robin of random triplets, and the places of its texts."""
    rng = np.random.default_rng(seed)
    place = rng.normal(size=(n_texts * n_documents, 3))
    every = np.array(list(itertools.combinations(range(n_texts), 3)))
    some = every[rng.permutation(len(every))[: max(len(every) // 2, n_texts)]]
    member = np.concatenate([np.repeat(some, repeats, axis=0) + d * n_texts for d in range(n_documents)])
    alike = -sharp * ((place[:, None] - place) ** 2).sum(axis=2)
    pairs = np.stack([alike[member[:, i], member[:, j]] for i, j in ((0, 1), (0, 2), (1, 2))], axis=1)
    edges = np.cumsum(choice_probabilities(pairs), axis=1)[:, :2]
    odd = KEPT[(rng.random(len(member))[:, None] > edges).sum(axis=1)]
    return robin_of(member, odd, np.repeat(np.arange(n_documents), n_texts), floor), place


def robin_of(member, odd, document, floor=1):
    table = PairTable.of(member, odd, len(document))
    above = np.flatnonzero(table.n >= floor)
    where = np.full(len(table), -1)
    where[above] = np.arange(len(above))
    at = where[table.position(member, len(document))]
    kept = KEPT[odd][:, None] == np.arange(3)
    return RoundRobin(table.first[above], table.second[above], document, at, member[:, ::-1], kept)


def distances(robin, place, noise=0.0, seed=3):
    seen = place + noise * np.random.default_rng(seed).normal(size=place.shape)
    return -((seen[robin.first] - seen[robin.second]) ** 2).sum(axis=1)


ROBIN, PLACE = drawn(9, 2, repeats=2)
VALUES = distances(ROBIN, PLACE, 0.6)


def test_above_counts_match_loops():
    x, v = np.array([3.0, 1, 1, 2, 3, 3]), np.array([1.0, 2, 4, 8, 16, 32])
    order = Ordering.of(x)
    wanted = [np.mean([w * ((b > a) + 0.5 * (b == a)) for b, w in zip(x, v, strict=True)]) for a in x]
    np.testing.assert_allclose(order.above(v)[order.code], wanted)
    np.testing.assert_allclose(order.rank(), [np.mean((x < a) + 0.5 * (x == a)) - 0.5 for a in x])
    at, equal = order.place(np.array([0.0, 1.0, 1.5, 3.0, 9.0]))
    wanted = [np.mean(v * ((x > a) + 0.5 * (x == a))) for a in (0.0, 1.0, 1.5, 3.0, 9.0)]
    np.testing.assert_allclose(order.between(at, equal, order.above(v), v), wanted)


def test_pair_influence_matches_leave_one_out():
    found = ExpertRanks(ROBIN).influence(VALUES)
    x = ROBIN.share
    assert found.value == pytest.approx(spearmanr(x, VALUES).statistic)
    n = len(x)
    without = [spearmanr(np.delete(x, p), np.delete(VALUES, p)).statistic for p in range(n)]
    pseudo = ROBIN.centre(-(n - 1) * (np.array(without) - found.value))
    assert np.corrcoef(pseudo, found.pair)[0, 1] > 0.9999
    assert found.pair.std() == pytest.approx(pseudo.std(), rel=0.03)
    for d in (0, 1):
        assert found.pair[ROBIN.of_pair == d].sum() == pytest.approx(0, abs=1e-9)


def weighted_rho(x, y, weight):
    """Spearman's ρ of weighted points, by loops."""
    rank = [[(weight * ((v < a) + 0.5 * (v == a))).sum() / weight.sum() - 0.5 for a in v] for v in (x, y)]
    a, b = np.array(rank)
    return (weight * a * b).sum() / np.sqrt((weight * a * a).sum() * (weight * b * b).sum())


@pytest.mark.parametrize("pair", [0, 5, 20])
def test_removed_choice_changes_influence_like_moved_pair(pair):
    """The influence of a pair at any place is the slope of ρ in the weight of a further point there."""
    found = ExpertRanks(ROBIN).influence(VALUES)
    kept, n = ROBIN.counts
    k, m = int(kept[pair]), int(n[pair])

    def slope(share):
        x, y = np.append(ROBIN.share, share), np.append(VALUES, VALUES[pair])
        weight = np.ones(len(x))
        weight[-1] = 1e-5
        return (weighted_rho(x, y, weight) - found.value) * (len(x) - 1) / 1e-5

    here = slope(ROBIN.share[pair])
    if k:
        assert found.without_kept[pair] == pytest.approx(slope((k - 1) / (m - 1)) - here, abs=1e-3)
    if k < m:
        assert found.without_parted[pair] == pytest.approx(slope(k / (m - 1)) - here, abs=1e-3)
    up, down = min(k + 1, m), max(k - 1, 0)
    assert found.turned[pair] == pytest.approx((slope(up / m) - slope(down / m)) / (up - down), abs=1e-3)


def test_pair_with_one_choice_has_no_removed_value():
    robin, place = drawn(7)
    alone = robin.counts[1] == 1
    assert alone.any()
    found = ExpertRanks(robin).influence(distances(robin, place, 1.0))
    assert not found.without_kept[alone].any()
    assert not found.without_parted[alone].any()


def test_names_and_order_of_texts_change_no_variance():
    found = ROBIN.variance(ExpertRanks(ROBIN).influence(VALUES))
    rng = np.random.default_rng(1)
    new = np.concatenate([rng.permutation(9), 9 + rng.permutation(9)])
    robin = RoundRobin(
        new[ROBIN.first], new[ROBIN.second], ROBIN.document, ROBIN.at, new[ROBIN.third], ROBIN.kept
    )  # fmt: skip
    other = robin.variance(ExpertRanks(robin).influence(VALUES))
    assert (other.text, other.pair, other.choice) == pytest.approx((found.text, found.pair, found.choice))
    rows = rng.permutation(len(ROBIN.at))
    robin = RoundRobin(
        ROBIN.first, ROBIN.second, ROBIN.document, ROBIN.at[rows], ROBIN.third[rows], ROBIN.kept[rows]
    )  # fmt: skip
    assert robin.variance(ExpertRanks(robin).influence(VALUES)).total == pytest.approx(found.total)


def test_single_document_equals_whole():
    part, mine = ROBIN.restricted(1)
    np.testing.assert_allclose(part.share, ROBIN.share[mine])
    assert part.n_documents == 1
    assert part.texts.tolist() == [9]
    of = ExpertRanks(part).influence(VALUES[mine])
    assert of.value == pytest.approx(spearmanr(ROBIN.share[mine], VALUES[mine]).statistic)
    assert part.variance(of).total > 0


def test_difference_from_itself_has_no_variance():
    of = ExpertRanks(ROBIN).influence(VALUES)
    nothing = of.plus(of, -1.0)
    assert (nothing.value, ROBIN.variance(nothing).total, ROBIN.choice_variance(nothing)) == (0, 0, 0)
    twice = ROBIN.variance(of.times(2.0))
    assert twice.total == pytest.approx(4 * ROBIN.variance(of).total)


def test_constant_measure_has_no_influence():
    found = ExpertRanks(ROBIN).influence(np.ones(len(ROBIN)))
    assert math.isnan(found.value)
    assert np.isnan(found.pair).all()


def test_three_texts_attribute_variance_to_texts():
    robin = robin_of(np.array([[0, 1, 2]] * 4 + [[3, 4, 5]] * 4), np.array([0, 0, 1, 0, 2, 2, 1, 0]),
                     np.repeat([0, 1], 3))  # fmt: skip
    found = robin.variance(ExpertRanks(robin).influence(np.array([3.0, 1, 2, 5, 4, 6])))
    assert found.pair == 0
    assert found.text > 0


@pytest.mark.parametrize(("among", "df"), [(7, 7), (14, 7), (20, 10), (3, 3)])
def test_degrees_of_freedom_are_half_of_texts(among, df):
    assert degrees(among) == df


def test_reliability_is_the_share_of_variance_that_is_no_chance():
    x, n = ROBIN.share, ROBIN.counts[1]
    many = n > 1
    chance = (x * (1 - x))[many] / (n[many] - 1)
    found = ExpertRanks(ROBIN).reliability()
    assert found.value == pytest.approx(1 - chance.mean() / x.var())

    def weighted(weight: np.ndarray) -> float:
        within = np.average((x * (1 - x) / np.maximum(n - 1, 1))[many], weights=weight[many])
        return 1 - within / np.average((x - np.average(x, weights=weight)) ** 2, weights=weight)

    # The contribution of a pair is the slope in its weight.
    step = 1e-6
    slopes = [(weighted(1 + step * unit) - found.value) / step * len(x) for unit in np.eye(len(x))]
    assert found.pair == pytest.approx(ROBIN.centre(np.array(slopes)), abs=1e-4)
    # If no pair was compared twice, chance cannot be separated from the observed differences.
    once = robin_of(np.array([[0, 1, 2], [3, 4, 5]]), np.array([0, 1]), np.zeros(6, dtype=int))
    assert math.isnan(ExpertRanks(once).reliability().value)


# -- variances by hand --------------------------------------------------------------------------------


def whole_document(n: int, at=(), third=(), kept=()) -> RoundRobin:
    """All pairs of the given number of texts, with the given choices."""
    first, second = np.triu_indices(n, 1)
    shape = (-1, 3)
    return RoundRobin(
        first, second, np.zeros(n, dtype=int), np.array(at, dtype=int).reshape(shape),
        np.array(third, dtype=int).reshape(shape), np.array(kept, dtype=bool).reshape(shape),
    )  # fmt: skip


def influence(pair, kept=None, parted=None, turned=None) -> Influence:
    nothing = np.zeros(len(pair))
    return Influence(0.0, np.array(pair, dtype=float), *(nothing if x is None else np.array(x, dtype=float)
                                                         for x in (kept, parted, turned)))  # fmt: skip


@pytest.mark.parametrize("level", [[1.0, -1, 2, -2], [3.0, 1, 0, -4], [1.0, 2, -2, -1, 3, -3]])
def test_text_variance_matches_mean_over_pairs(level):
    """An influence a_i + a_j, mean 0: the variance is that of twice the mean of the texts, 4 var(a) / n."""
    n, a = len(level), np.array(level)
    robin = whole_document(n)
    found = robin.variance(influence(a[robin.first] + a[robin.second]))
    assert found.text == pytest.approx(4 * a.var(ddof=1) / n)
    assert (found.pair, found.choice) == (pytest.approx(0, abs=1e-12), 0)
    assert found.texts.tolist() == [n]
    assert found.total == pytest.approx(found.text)


def test_pair_variance_by_hand():
    # Of four texts, pairs (01, 02, 03, 12, 13, 23): every text has 1 − 1. Squares 4, of 6 − 4 free pairs: 2 each; 6 of
    # them over 6² pairs are 1 / 3. Texts, less what pairs add to them, (0 − 2 · 3 / 2 · 12) / 36 = −1.
    found = whole_document(4).variance(influence([1, -1, 0, 0, -1, 1]))
    assert (found.text, found.pair, found.choice) == pytest.approx((-1, 1 / 3, 0))
    assert found.total == pytest.approx(1 / 3)


CHOICES = {"at": [[0, 1, 3], [5, 4, -1]], "third": [[2, 1, 0], [1, 2, 3]], "kept": [[1, 0, 0], [0, 1, 0]]}
"""Of 0, 1 and 2 the pair 01 is kept, 02 and 12 are parted; of 1, 2 and 3, 23 is parted, 13 kept, 12 unknown."""


def test_choice_variance_by_hand():
    # Changes (1, 2, −1) of the first choice, (3, 5, 0) of the second. Sums 2 and 8, mean 5: squares 18.
    kept, parted = [1, 9, 9, 9, 5, 9], [9, 2, 9, -1, 9, 3]
    robin = whole_document(4, **CHOICES)
    found = robin.variance(influence([0] * 6, kept, parted))
    # Third texts: 0 has −1, 1 has 2 + 3, 2 has 1 + 5, 3 nothing; mean 2.5, squares 62 − 25 = 37. Each weighs
    # 4 · 3 / 2² = 3; less 3 (1 − 3 / 4) · 3 · 18.
    assert found.text == pytest.approx((3 * 37 - 9 / 4 * 18) / 36)
    assert found.pair == 0
    assert found.choice == pytest.approx(18 / 36)
    assert found.total == pytest.approx(found.text + found.choice)
    # Pairs minus the squares of single changes: 12 of the pattern above, less 1 + 4 + 1 + 9 + 25 is below 0; a tenth is
    # not: 12 − .4.
    some = np.array([1, -1, 0, 0, -1, 1])
    assert robin.variance(influence(some, kept, parted)).pair == 0
    small = robin.variance(influence(some, 0.1 * np.array(kept), 0.1 * np.array(parted)))
    assert small.pair == pytest.approx((12 - 0.4) / 36)


def test_three_texts_variance_by_hand():
    # Influences of texts: e01 + e02 − what is changed with them as third. 0: 3 + 1, 1: −2 − 2, 2: −1 − 1; mean −2 / 3,
    # squares 16 + 16 + 4 − 3 · 4 / 9. Each weighs 3 · 2 / 1².
    robin = whole_document(3, [[0, 1, 2]], [[2, 1, 0]], [[1, 0, 0]])
    found = robin.variance(influence([1, 2, -3], [1, 0, 0], [0, 2, -1]))
    assert found.text == pytest.approx(6 * (36 - 4 / 3) / 9)
    assert (found.pair, found.choice) == (0, 0)
    # A single pair of two texts: both have its influence, so that nothing is left; twice nothing.
    assert whole_document(2).variance(influence([1.5])).text == 0


def test_documents_add_by_their_share_of_pairs():
    a = np.array([1.0, -1, 2, -2])
    one = whole_document(4)
    e = a[one.first] + a[one.second]
    both = RoundRobin(
        np.append(one.first, one.first + 5), np.append(one.second, one.second + 5), np.repeat([0, 1, 2], [4, 1, 4]),
        one.at, one.third, one.kept,
    )  # fmt: skip
    found = both.variance(influence(np.append(e, 2 * e)))
    # (36 v + 36 · 4 v) / 12²; the document between has no pair.
    assert found.text == pytest.approx(5 / 4 * 4 * a.var(ddof=1) / 4)
    assert found.texts.tolist() == [4, 4]
    assert found.df == 6


def single_choices(kept, n) -> RoundRobin:
    """Pairs with the given numbers of choices; the other two pairs are not ranked."""
    at, which = [], []
    for p, (k, m) in enumerate(zip(kept, n, strict=True)):
        at += [[p, -1, -1]] * m
        which += [[1, 0, 0]] * k + [[0, 1, 0]] * (m - k)
    pairs = np.arange(len(n))
    return RoundRobin(2 * pairs, 2 * pairs + 1, np.zeros(2 * len(n), dtype=int), np.array(at), np.zeros_like(at),
                      np.array(which, dtype=bool))  # fmt: skip


def test_shares_are_drawn_to_their_mean_by_moments():
    # Shares 1, 0, 1/2, 3/4 of 4 choices each: mean 9/16, squares about it / 4 = 35/256; chance (1/4 + 3/16) / 3 / 4 =
    # 7/192. Spread 77/768; strength (63/256) / (77/768) − 1 = 16/11.
    robin = single_choices([4, 0, 2, 3], [4] * 4)
    assert robin.counts[0].tolist() == [4, 0, 2, 3]
    s = (63 / 256) / (35 / 256 - 7 / 192) - 1
    assert s == pytest.approx(16 / 11)
    assert robin.shrunk().tolist() == pytest.approx([(k + s * 9 / 16) / (4 + s) for k in (4, 0, 2, 3)])


def test_shares_that_vary_by_chance_alone_are_nearly_their_mean():
    # All a half: the spread is at least .001, the strength 1/4 / .001 − 1.
    assert single_choices([1, 2], [2, 4]).shrunk().tolist() == pytest.approx([0.5, 0.5])
    # Mean .5 over 2 and 6 choices of which 0 and 6 were kept: weighted squares 1/4, no chance, so that none is drawn.
    assert single_choices([0, 6], [2, 6]).shrunk().tolist() == [0, 1]
    # 1 of 4 and 2 of 4: mean 3/8, squares 1/64, chance (3/16 + 1/4) / 3 / 2 = 7/96 is more: strength 15/64 / .001 − 1.
    s = 15 / 64 / 0.001 - 1
    found = single_choices([1, 2], [4, 4]).shrunk().tolist()
    assert found == pytest.approx([(1 + s * 3 / 8) / (4 + s), (2 + s * 3 / 8) / (4 + s)])


def test_new_choices_about_the_same_texts_by_hand():
    # Shares 1/2 and 1/2, one pair a choice; the two that are not ranked are kept in a third each: weights 1/2, 1/3,
    # 1/3 are 3/7, 2/7, 2/7. A change v has the variance v² 3/7 · 4/7; two choices about each pair, over 2² pairs.
    robin = single_choices([1, 1], [2, 2])
    found = robin.choice_variance(influence([0, 0], turned=[1.0, 3.0]))
    assert found == pytest.approx(2 * (1 + 9) * 12 / 49 / 4)


# -- permutations -------------------------------------------------------------------------------------


def test_blocks_hold_every_two_texts_of_a_document():
    document = np.array([0, 1, 0, 1, 1])
    blocks = TextBlocks.of(document)
    assert blocks.size == 4 + 9
    first, second = np.array([0, 1, 3]), np.array([2, 4, 4])
    values = blocks.fill(first, second, np.array([5.0, 6.0, 7.0]))
    assert values[blocks.where(first, second)].tolist() == [5, 6, 7] == values[blocks.where(second, first)].tolist()
    assert np.isnan(values).sum() == 13 - 6
    every = [(i, j) for d in (0, 1) for i in np.flatnonzero(document == d) for j in np.flatnonzero(document == d)]
    places = blocks.where(*np.array(every).T)
    assert sorted(places.tolist()) == list(range(13))


def test_permutations_are_those_of_texts_within_documents():
    """Four texts have 24 orders; draws are among them, with about equal frequencies."""
    robin, place = drawn(4, repeats=3)
    values = distances(robin, place, 1.0)
    ranks, blocks = ExpertRanks(robin), TextBlocks.of(robin.document)
    every = blocks.fill(robin.first, robin.second, values)
    found, some = permuted_correlations(ranks, [every], 2400, np.random.default_rng(0))
    assert found[0] == pytest.approx(ranks.influence(values).value)
    exact = []
    for new in itertools.permutations(range(4)):
        new = np.array(new)
        moved = every[blocks.where(new[robin.first], new[robin.second])]
        exact.append(spearmanr(robin.share, moved).statistic)
    assert set(np.round(some[:, 0], 9)) <= set(np.round(exact, 9))
    for value in set(np.round(exact, 9)):
        wanted = np.mean(np.round(exact, 9) == value)
        assert np.mean(np.round(some[:, 0], 9) == value) == pytest.approx(wanted, abs=0.05)
    assert p_of_permutations(found[0], some[:, 0]) == pytest.approx(
        np.mean(np.array(exact) >= found[0] - 1e-9), abs=0.05
    )


def test_constant_within_documents_is_not_significant():
    """It ranks documents, which no permutation within them changes: p is 1 by construction."""
    level = ROBIN.of_pair.astype(float)
    every = TextBlocks.of(ROBIN.document).fill(ROBIN.first, ROBIN.second, level)
    found, some = permuted_correlations(ExpertRanks(ROBIN), [every], 50, np.random.default_rng(0))
    assert p_of_permutations(found[0], some[:, 0]) == 1


def test_values_that_are_not_known_leave_their_pairs_out():
    every = TextBlocks.of(ROBIN.document).fill(ROBIN.first[:30], ROBIN.second[:30], VALUES[:30])
    found, some = permuted_correlations(ExpertRanks(ROBIN), [every], 50, np.random.default_rng(0))
    assert np.isfinite(found).all()
    assert np.isfinite(some).all()


def test_known_correlation_matches_scipy():
    rng = np.random.default_rng(2)
    a, b = rng.random(12) + 5, rng.random(12)
    assert known_correlation(a, b) == pytest.approx(stats.pearsonr(a, b).statistic)
    b[[1, 4, 7]] = np.nan
    kept = np.isfinite(b)
    assert known_correlation(a, b) == pytest.approx(stats.pearsonr(a[kept], b[kept]).statistic)
    assert known_correlation(a[:3], np.array([1.0, 2.0, np.nan])) == 0  # two pairs tell nothing
    assert known_correlation(a, np.ones(12)) == 0
    ranks = known_ranks(b)
    assert np.isnan(ranks[~kept]).all()
    assert np.corrcoef(ranks[kept], stats.rankdata(b[kept]))[0, 1] == pytest.approx(1)


def test_permutation_uses_limited_pairs():
    every = TextBlocks.of(ROBIN.document).fill(ROBIN.first, ROBIN.second, ROBIN.share)
    found, _ = permuted_correlations(ExpertRanks(ROBIN), [every], 1, np.random.default_rng(0), most=20)
    assert 0.9 < found[0] <= 1


# -- promises -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_random_measure_has_nominal_error_rate():
    """The permutation rejects noise in 5%; an interval that leaves 0 out on either side does in 5% at most."""
    out, seen, n = 0, 0, 120
    for seed in range(n):
        robin, _ = drawn(10, seed=seed)
        noise = np.random.default_rng(seed + 1000).normal(size=(10, 3))
        values = distances(robin, noise)
        ranks = ExpertRanks(robin)
        of = ranks.influence(values)
        v = robin.variance(of)
        out += abs(math.atanh(of.value)) > 2.37 * math.sqrt(v.total) / (1 - of.value**2)  # t(7)
        every = TextBlocks.of(robin.document).fill(robin.first, robin.second, values)
        found, some = permuted_correlations(ranks, [every], 79, np.random.default_rng(seed))
        seen += p_of_permutations(found[0], some[:, 0]) <= 0.05
    assert out / n <= 0.06
    assert 0.01 <= seen / n <= 0.11


@pytest.mark.slow
def test_equal_measures_have_nominal_error_rate():
    apart, n = 0, 120
    for seed in range(n):
        robin, place = drawn(12, seed=seed)
        ranks = ExpertRanks(robin)
        one, other = (ranks.influence(distances(robin, place, 1.0, seed=k * 1000 + seed)) for k in (1, 2))
        of: Influence = one.plus(other, -1.0)
        v = robin.variance(of)
        apart += abs(of.value) > 2.36 * math.sqrt(v.total)
    assert apart / n <= 0.09


@pytest.mark.parametrize("n", [4, 5, 7])
def test_pair_variance_matches_regression_residual(n):
    """Squares that text effects do not explain, over pairs less texts; texts less what pairs add to their sums."""
    robin = whole_document(n)
    e = np.random.default_rng(n).normal(size=len(robin))
    e -= e.mean()
    held = (np.arange(n) == robin.first[:, None]) | (np.arange(n) == robin.second[:, None])
    left = e - held @ np.linalg.lstsq(held.astype(float), e, rcond=None)[0]
    p = len(robin)
    pair = p * (left @ left) / (p - n)
    sums = held.T @ e
    text = n * (n - 1) / (n - 2) ** 2 * ((sums - sums.mean()) ** 2).sum() - 2 * (n - 1) / (n - 2) * pair
    found = robin.variance(influence(e))
    assert (found.pair, found.text) == pytest.approx((pair / p**2, text / p**2))


def test_influences_are_added_and_scaled_in_every_part():
    one = Influence(2.0, *(np.array([k, -k]) for k in (1.0, 2.0, 3.0, 4.0)))
    other = Influence(5.0, *(np.array([10.0, k]) for k in (1.0, 2.0, 3.0, 4.0)))
    parts = ("pair", "without_kept", "without_parted", "turned")
    twice, sum_ = one.times(-2.0), one.plus(other, 0.5)
    assert (twice.value, sum_.value) == (-4, 4.5)
    assert [getattr(twice, part).tolist() for part in parts] == [[-2, 2], [-4, 4], [-6, 6], [-8, 8]]
    assert [getattr(sum_, part).tolist() for part in parts] == [[6, -0.5], [7, -1], [8, -1.5], [9, -2]]


def test_single_document_uses_own_choices():
    # Texts 0, 1, 2 of one document, 3 to 6 of another; the text that goes out of each triplet.
    member = np.array([[0, 1, 2], [3, 4, 5], [4, 5, 6], [0, 1, 2], [3, 5, 6]])
    odd, document = np.array([2, 0, 1, 0, 2]), np.array([0, 0, 0, 1, 1, 1, 1])
    whole = robin_of(member, odd, document)
    for d, first, mine in ((0, 0, [0, 3]), (1, 3, [1, 2, 4])):
        part, pairs = whole.restricted(d)
        alone = robin_of(member[mine] - first, odd[mine], np.zeros((document == d).sum(), dtype=int))
        assert pairs.tolist() == np.flatnonzero(document[whole.first] == d).tolist()
        for name in ("first", "second", "document", "at", "third", "kept"):
            np.testing.assert_array_equal(getattr(part, name), getattr(alone, name))
        np.testing.assert_allclose(part.share, whole.share[pairs])
