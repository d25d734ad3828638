"""Odd ones out by loops: ranks, places, shares of pairs; ceilings against what experts really reach."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import rankdata, spearmanr
from test_round_robin import drawn, robin_of, single_choices

from assay.statistics.comparisons import odd_one_out
from assay.statistics.comparisons.odd_one_out import (
    PENALTY,
    PLACES,
    Model,
    PairChoices,
    PairModel,
    PairTable,
    Step,
    choice_probabilities,
    correlation,
    half_agreement,
    leave_groups_out,
    mean_half_correlation,
    mean_ranks,
    predicted_shares,
    spearman_brown,
    step_to_whole,
    within_triplet_icc,
)


def slowly(values: np.ndarray) -> np.ndarray:
    ranks = rankdata(values, axis=-1)
    ranks = ranks - ranks.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return ranks / np.sqrt((ranks**2).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("shape", [(7,), (1, 28), (40, 12), (3, 2, 9)])
@pytest.mark.parametrize("different", [2, 5, 1000])
def test_ranks_are_those_of_scipy_with_ties_or_without(shape, different):
    rng = np.random.default_rng(len(shape) * different)
    values = rng.integers(0, different, shape) / 7
    np.testing.assert_allclose(mean_ranks(values), slowly(values), rtol=0, atol=1e-15)


def test_mean_ranks_of_nan_or_tied_rows_are_missing():
    values = np.array([[1.0, np.nan, 2.0], [3.0, 3.0, 3.0], [np.inf, -np.inf, 0.0]])
    found = mean_ranks(values)
    assert np.isnan(found[:2]).all()
    np.testing.assert_allclose(found[2], np.array([1, -1, 0]) / np.sqrt(2))


def test_their_product_is_spearmans_correlation():
    one, other = np.random.default_rng(1).integers(0, 4, (2, 30)).astype(float)
    assert mean_ranks(one) @ mean_ranks(other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)


# -- choices ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(4)
MEMBER = np.stack([RNG.choice(7, 3, replace=False) for _ in range(60)])
MEMBER[30:40] = MEMBER[:10, [2, 0, 1]]  # asked again, in another order
ODD = RNG.integers(0, 3, 60)
TABLE = PairTable.of(MEMBER, ODD, 7)
NAMES = list(zip(TABLE.first.tolist(), TABLE.second.tolist(), strict=True))
CHOICES = PairChoices.of(TABLE, MEMBER, ODD, 7)


def kept_pair(three: np.ndarray, odd: int) -> tuple[int, int]:
    first, second = (int(text) for place, text in enumerate(three) if place != odd)
    return min(first, second), max(first, second)


def test_choices_are_counted_pair_by_pair():
    kept, n = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for k, (three, odd) in enumerate(zip(MEMBER, ODD, strict=True)):
        kept[kept_pair(three, odd)] += 1
        pairs = [(min(a, b), max(a, b)) for a, b in itertools.combinations(three.tolist(), 2)]
        assert [NAMES[p] for p in CHOICES.position[k]] == pairs
        for pair in pairs:
            n[pair] += 1
    for found, wanted in zip(CHOICES.counts(), (kept, n), strict=True):
        assert found.tolist() == list(wanted.values())
    np.testing.assert_allclose(CHOICES.shares(), [kept[p] / n[p] for p in NAMES])
    assert len(CHOICES) == 60
    assert np.isnan(CHOICES.some(np.array([0])).shares()).sum() == len(NAMES) - 3
    assert CHOICES.some(np.array([0, 0, 1])).counts()[1].sum() == 9


def test_groups_of_choices_are_left_out_in_turn():
    sizes = leave_groups_out(CHOICES, np.random.default_rng(1), lambda some: float(len(some)))
    assert sizes.tolist() == [57.0] * 20
    total = leave_groups_out(CHOICES, np.random.default_rng(1), lambda some: float(some.kept.sum()))
    assert total.sum() == pytest.approx(19 * CHOICES.kept.sum())


def test_correlation_requires_three_common_pairs():
    nan = math.nan
    assert correlation(np.array([1.0, 2, 3, nan]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.5)
    assert math.isnan(correlation(np.array([1.0, 2, nan, 3]), np.array([1.0, 2, 3, nan])))


def test_spearman_and_brown():
    assert spearman_brown(0.5, 2) == pytest.approx(2 / 3)
    assert spearman_brown(np.array([0.2, 0.8]), np.array([3.0, 0.5])).tolist() == pytest.approx([0.6 / 1.4, 0.4 / 0.6])


# -- places -------------------------------------------------------------------------------------------


def alike(x: np.ndarray, a: int, b: int) -> float:
    return math.exp(-((x[a] - x[b]) ** 2).sum())


def test_embedding_likelihood_choice_by_choice():
    """exp(−|x_i − x_j|²) of the kept pair over the sum of those of the three pairs; PENALTY times the mean square."""
    x = np.random.default_rng(2).normal(size=(7, 2))
    model = Model.of(MEMBER, ODD, 7, 2)
    assert len(model.member) < 60  # the same three texts are one triplet
    slow = 0.0
    for three, odd in zip(MEMBER, ODD, strict=True):
        weights = {p: alike(x, *p) for p in itertools.combinations(sorted(three.tolist()), 2)}
        slow += math.log(weights[kept_pair(three, odd)] / sum(weights.values())) / 60
    assert model.score(x) == pytest.approx(slow)
    assert model._loss(x.ravel())[0] == pytest.approx(PENALTY * (x**2).mean() - slow)
    assert PENALTY == 0.3
    best = model.fit(seed=3)
    assert best.shape == (7, 2)
    assert model._loss(best.ravel())[0] <= model._loss(model.fit(x).ravel())[0] + 0.02
    np.testing.assert_allclose(model._loss(best.ravel())[1], 0, atol=1e-4)


def test_foretold_shares_are_means_over_third_texts():
    x = np.random.default_rng(5).normal(size=(6, 2))
    first, second, pool = np.array([0, 1]), np.array([2, 5]), [np.arange(6), np.array([1, 3, 5])]
    for value, a, b, mine in zip(predicted_shares(x, first, second, pool), first, second, pool, strict=True):
        each = [alike(x, a, b) / (alike(x, a, b) + alike(x, a, c) + alike(x, b, c)) for c in mine if c not in (a, b)]
        assert value == pytest.approx(np.mean(each))


# -- ceilings: against what other choices of the same experts really reach --------------------------------

ROBIN, PLACE = drawn(12, 2, repeats=2)
ASKED = ROBIN.third[:, ::-1]


def chances(place, member, sharp=0.5):
    """How likely each pair of a triplet is kept together."""
    alike = -sharp * ((place[:, None] - place) ** 2).sum(axis=2)
    return choice_probabilities(np.stack([alike[member[..., i], member[..., j]] for i, j in PLACES], axis=-1))


def minds_of(robin, place):
    """Mean chance of each pair over all thirds, by loops."""
    found = []
    for a, b in zip(robin.first.tolist(), robin.second.tolist(), strict=True):
        thirds = [c for c in np.flatnonzero(robin.document == robin.document[a]).tolist() if c not in (a, b)]
        found.append(chances(place, np.array([[a, b, c] for c in thirds]))[:, 0].mean())
    return np.array(found)


def asked_again(robin, place, rng):
    """Equation 1 of the same pairs from other choices: the same design, its texts renamed within documents."""
    member = robin.third[:, ::-1]
    size = len(place) // robin.n_documents
    new = np.concatenate([d * size + rng.permutation(size) for d in range(robin.n_documents)])
    renamed = new[member]
    edges = np.cumsum(chances(place, renamed), axis=1)[:, :2]
    odd = np.array([2, 1, 0])[(rng.random(len(member))[:, None] > edges).sum(axis=1)]
    other = robin_of(renamed, odd, robin.document)
    full = np.full((len(place), len(place)), np.nan)
    full[other.first, other.second] = other.share
    return full[robin.first, robin.second]


def test_step_moves_observed_level():
    step = Step(halves=0.5, again=0.7, mind=0.8)
    assert step.again_from(0.5) == pytest.approx(0.7)
    assert step.again_from(0.3) == pytest.approx(math.tanh(math.atanh(0.3) + math.atanh(0.7) - math.atanh(0.5)))
    assert step.best_from(0.7) == pytest.approx(0.8)
    assert step.best_from(0.0) == step.best_from(-0.2) == 0.0
    assert step.best_from(0.3) < step.best_from(0.5) < step.best_from(0.9) <= 1


@pytest.mark.slow
def test_halves_are_those_of_the_ranked_pairs():
    again = mean_half_correlation(ROBIN, np.random.default_rng(0), 200)
    rng, found = np.random.default_rng(1), []
    for _ in range(200):
        half = rng.permutation(len(ROBIN.at)) < len(ROBIN.at) // 2
        shares = []
        for mine in (half, ~half):
            kept, n = np.zeros(len(ROBIN)), np.zeros(len(ROBIN))
            np.add.at(n, ROBIN.at[mine], 1)
            np.add.at(kept, ROBIN.at[mine], ROBIN.kept[mine])
            with np.errstate(invalid="ignore"):
                shares.append(kept / n)
        found.append(correlation(*shares))
    assert again == pytest.approx(np.nanmean(found), abs=0.03)


def test_pair_model_follows_its_gradient(monkeypatch):
    """The loss that is handed to the optimiser has the slope that it says."""
    import scipy.optimize

    model, seen = PairModel.of(ROBIN, ASKED), []

    def check(loss, x, **options):
        x = np.random.default_rng(len(seen)).normal(size=len(x))
        seen.append(check_grad(lambda v: loss(v)[0], lambda v: loss(v)[1], x))
        return scipy.optimize.OptimizeResult(x=np.zeros(len(x)))

    monkeypatch.setattr(scipy.optimize, "minimize", check)
    model.fit()
    assert max(seen) < 1e-3


def test_pair_model_finds_kept_pairs():
    model = PairModel.of(ROBIN, ASKED)
    model.fit()
    same, kept, _ = model.triplets
    assert kept.sum() == len(ASKED)
    assert len(same) < len(ASKED)
    theta = (model.t[model.first] + model.t[model.second] + model.u).reshape(-1)
    far = ((PLACE[model.first] - PLACE[model.second]) ** 2).sum(axis=1)
    assert np.corrcoef(theta, far)[0, 1] < -0.6


# So few studies know the mean to .02; at 10 texts x 4 the ceiling is .02 low besides (docs/coverage.md).
@pytest.mark.slow
@pytest.mark.parametrize(("texts", "documents", "repeats", "near"), [
    (10, 1, 1, 0.065), pytest.param(8, 3, 2, 0.03, marks=pytest.mark.slow)
])  # fmt: skip
def test_ceiling_is_expert_reliability(texts, documents, repeats, near):
    """On average over studies: ρ of two sets of choices, and of one with the minds behind them."""
    said, true = [], []
    for seed in range(20):
        robin, place = drawn(texts, documents, repeats=repeats, seed=seed)
        rng = np.random.default_rng(seed)
        step = step_to_whole(robin, robin.third[:, ::-1], rng)
        again = step.again_from(mean_half_correlation(robin, rng))
        said.append((again, step.best_from(again)))
        shares = [asked_again(robin, place, rng) for _ in range(8)]
        minds = minds_of(robin, place)
        both = [correlation(a, b) for a, b in zip(shares[::2], shares[1::2], strict=True)]
        true.append((np.mean(both), np.mean([correlation(one, minds) for one in shares])))
    assert np.mean(said, axis=0) == pytest.approx(np.mean(true, axis=0), abs=near)


def test_many_texts_take_a_simpler_step():
    robin, _ = drawn(16, repeats=2)
    member = robin.third[:, ::-1]
    model = step_to_whole(robin, member, np.random.default_rng(0))
    simple = step_to_whole(robin, member, np.random.default_rng(0), most_choices=10)
    assert simple.again_from(0.5) == pytest.approx(model.again_from(0.5), abs=0.08)
    assert simple.best_from(0.6) == pytest.approx(model.best_from(0.6), abs=0.08)


@pytest.mark.slow
def test_experts_by_chance_have_no_ceiling():
    found = []
    for seed in range(20):
        robin, _ = drawn(10, sharp=0.0, seed=seed)
        rng = np.random.default_rng(seed)
        found.append(step_to_whole(robin, robin.third[:, ::-1], rng).again_from(mean_half_correlation(robin, rng)))
    assert abs(np.mean(found)) < 0.08


# -- parts, one at a time -----------------------------------------------------------------------------


def test_each_pair_of_a_triplet_is_kept_as_its_exponential():
    found = choice_probabilities(np.log([[1.0, 2, 5], [3, 3, 3]]))
    np.testing.assert_allclose(found, [[1 / 8, 2 / 8, 5 / 8], [1 / 3] * 3])
    np.testing.assert_allclose(choice_probabilities(np.array([1000.0, 1000, -1000])), [0.5, 0.5, 0])


@pytest.mark.parametrize(("size", "held"), [(None, 4), (2, 2), (4, 4)])
def test_halves_share_no_choice(size, held, monkeypatch):
    nine = PairChoices(CHOICES.position[:9], np.arange(9), 9)
    seen = []
    monkeypatch.setattr(odd_one_out, "correlation", lambda one, other: seen.append((one, other)) or 0.5)
    monkeypatch.setattr(PairChoices, "shares", lambda some: some.kept.tolist())
    found = half_agreement(nine, np.random.default_rng(0), 5, size)
    assert found.tolist() == [0.5] * 5
    assert all(len(one) == len(other) == held and not set(one) & set(other) for one, other in seen)
    assert len({tuple(one) for one, _ in seen}) > 1


def test_correlations_near_one_are_clipped():
    assert odd_one_out.clipped_z(0.5) == pytest.approx(math.log(3) / 2)
    assert odd_one_out.clipped_z(1.0) == odd_one_out.clipped_z(0.9999) == -odd_one_out.clipped_z(-1.0)
    assert odd_one_out.clipped_z(0.9998) < odd_one_out.clipped_z(0.9999)


@pytest.mark.parametrize(("most", "halves"), [(len(ROBIN.at), 20), (len(ROBIN.at) - 1, 4)])
def test_fewer_halves_of_very_many_choices(most, halves):
    found = mean_half_correlation(ROBIN, np.random.default_rng(0), most=most)
    assert found == mean_half_correlation(ROBIN, np.random.default_rng(0), halves)
    assert found != mean_half_correlation(ROBIN, np.random.default_rng(0), 24 - halves)


@pytest.mark.slow
def test_model_is_limited_to_choices_and_texts():
    """Two documents of 12 texts have 66 pairs each; the step is the mean of what twelve studies of the model show."""

    def step(most_choices: int, most_pairs: int) -> Step:
        return step_to_whole(ROBIN, ASKED, np.random.default_rng(0), most_choices, most_pairs)

    rng, model = np.random.default_rng(0), PairModel.of(ROBIN, ASKED)
    model.fit()
    wanted = np.nanmean([model.draw(rng) for _ in range(12)], axis=0)
    found = step(len(ASKED), 66)
    assert (found.halves, found.again, found.mind) == pytest.approx(tuple(wanted))
    pairs = odd_one_out.step_of_pairs(ROBIN, np.random.default_rng(0))
    assert step(len(ASKED), 65) == step(len(ASKED) - 1, 66) == pairs != found


@pytest.fixture(scope="module")
def fitted() -> PairModel:
    model = PairModel.of(ROBIN, ASKED)
    model.fit()
    return model


def test_pairs_of_the_model_are_those_of_each_document():
    model = PairModel.of(ROBIN, ASKED)
    every = [(a, b) for a, b in itertools.combinations(range(24), 2) if ROBIN.document[a] == ROBIN.document[b]]
    assert list(zip(model.first.tolist(), model.second.tolist(), strict=True)) == every


def test_triplets_of_the_model_count_the_choices_that_kept_each_pair():
    model = PairModel.of(ROBIN, ASKED)
    same, kept, pairs = model.triplets
    seen = {}
    for three, which in zip(ASKED.tolist(), np.argmax(ROBIN.kept, axis=1).tolist(), strict=True):
        i, j = PLACES[which]
        key = tuple(sorted(three)), tuple(sorted((three[i], three[j])))
        seen[key] = seen.get(key, 0) + 1
    assert len({three for three, _ in seen}) == len(same)
    for three, number, place in zip(same.tolist(), kept, pairs, strict=True):
        for (i, j), count, p in zip(PLACES, number, place, strict=True):
            pair = (three[i], three[j])
            assert count == seen.get((tuple(three), pair), 0)
            assert (model.first[p], model.second[p]) == pair


def test_drawn_strengths_have_observed_spread(fitted):
    rng = np.random.default_rng(2)
    theta = fitted.draw_strengths(rng)
    assert fitted.expected_variance(theta) == pytest.approx(ROBIN.share.var(), rel=1e-3)
    # On average over drawn choices the shares vary so.
    drawn_shares = []
    for _ in range(60):
        kept, n = np.zeros(len(ROBIN)), ROBIN.counts[1]
        which = fitted.draw_kept_pairs(theta, ASKED, rng)
        assert (which.sum(axis=1) == 1).all()
        np.add.at(kept, ROBIN.at.ravel(), which.ravel())
        drawn_shares.append((kept / n).var())
    assert np.mean(drawn_shares) == pytest.approx(ROBIN.share.var(), rel=0.07)
    # Each place of a triplet is kept as often as its chance says.
    chance = choice_probabilities(theta[fitted.pair_places(ASKED)])
    often = np.mean([fitted.draw_kept_pairs(theta, ASKED, rng) for _ in range(150)], axis=0)
    assert np.abs(often - chance).max() < 0.17
    assert np.abs((often - chance).mean(axis=0)).max() < 0.01


@pytest.mark.parametrize("at_once", [200_000, 25, 1])
def test_mean_chances_are_those_over_all_thirds(at_once, fitted):
    alike = -0.5 * ((PLACE[:, None] - PLACE) ** 2).sum(axis=2)
    first, second = fitted.first, fitted.second
    theta = fitted.blocks.fill(first, second, alike[first, second])
    np.testing.assert_allclose(fitted.mean_chances(theta, at_once), minds_of(ROBIN, PLACE))


def test_texts_are_renamed_within_documents(fitted):
    new = fitted.permute_texts(np.random.default_rng(3))
    assert sorted(new.tolist()) == list(range(24))
    np.testing.assert_array_equal(ROBIN.document[new], ROBIN.document)
    assert (new != np.arange(24)).sum() > 15
    assert fitted.ranked_pairs(ASKED).tolist() == ROBIN.at.tolist()


def test_choices_about_one_triplet_count_for_less_as_far_as_they_agree():
    """Two triplets about one pair, two identical choices each: equivalent to two choices, not four."""
    position, item = np.array([[0, 1, 2]] * 2 + [[0, 3, 4]] * 2), np.array([0, 0, 1, 1])
    alike = np.array([[1.0, 0, 0]] * 2 + [[0, 1, 0]] * 2)
    icc, n = within_triplet_icc(position, alike, 5, item)
    assert icc == 1
    assert n.tolist() == [2, 1, 1, 1, 1]
    # Each triplet once kept and once parted: nothing between them beyond chance.
    mixed = np.array([[1.0, 0, 0], [0, 1, 0]] * 2)
    icc, n = within_triplet_icc(position, mixed, 5, item)
    assert icc == 0
    assert n.tolist() == [4, 2, 2, 2, 2]
    # One triplet only, or one choice each, is not sufficient.
    for some in (slice(0, 2), slice(1, 3)):
        assert within_triplet_icc(position[some], alike[some], 5 if some.start else 3, item[some])[0] == 0


def test_alikeness_within_triplets_is_that_of_one_way_analysis_of_variance():
    """One pair of three triplets with 3, 2 and 2 choices, of which 3, 1 and 0 keep it.

    Within: 2 · ¼ · ... = ½ on 4 degrees. Between: means 1, ½, 0 about 4/7, squares 3 · 9/49 + 2 · 1/196 + 2 · 16/49
    on 2. Size (7 − 17/7) / 2.
    """
    kept = np.array([1.0, 1, 1, 1, 0, 0, 0])
    others = np.arange(14).reshape(7, 2) + 1  # pairs that were compared once: no degrees within or between
    position = np.column_stack([np.zeros(7, dtype=int), others])
    item = np.array([0, 0, 0, 1, 1, 2, 2])
    rest = np.column_stack([kept, 1 - kept, np.zeros(7)])
    icc, n = within_triplet_icc(position, rest, 15, item)
    inside = 0.5 / 4
    between = 3 * 9 / 49 + 2 / 196 + 2 * 16 / 49
    outside = (between / 2 - inside) / ((7 - 17 / 7) / 2)
    assert icc == pytest.approx(outside / (outside + inside))
    assert n[0] == pytest.approx(49 / (3 * (1 + 2 * icc) + 2 * 2 * (1 + icc)))
    assert n[1:].tolist() == pytest.approx([1] * 14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # so few pairs have no correlation
@pytest.mark.parametrize(
    ("kept", "n", "strength"),
    [
        # Shares 1, 0, 1/2, 3/4: squares about 9/16 are 35/256, chance (1/4 + 3/16) / 3 / 4; (63/256) / (77/768) − 1.
        ([4, 0, 2, 3], [4, 4, 4, 4], 16 / 11),
        # Compared once each, all of it counts as chance: 1/4 / 1e-6 − 1.
        ([1, 0], [1, 1], 0.25 / 1e-6 - 1),
        # Always or never kept, there is no chance, and the shrinkage to the mean is only a thousandth.
        ([4, 0], [4, 4], 1e-3),
    ],
)
def test_pairs_are_simulated_with_the_moments_of_equation_1(kept, n, strength):
    rng, asked = np.random.default_rng(0), []

    class Recording:
        binomial = rng.binomial

        def beta(self, a, b, size):
            asked.append((a, b, size))
            return rng.beta(a, b, size)

    mean = np.mean(np.array(kept) / n)
    odd_one_out.step_of_pairs(single_choices(kept, n), Recording())
    assert len(asked) == 12
    for found in asked:
        assert found == pytest.approx((mean * strength, (1 - mean) * strength, len(n)))


def test_many_pairs_are_subsampled_in_simulation():
    robin, _ = drawn(9, 2, repeats=2)
    plain = odd_one_out.step_of_pairs(robin, np.random.default_rng(0))
    assert odd_one_out.step_of_pairs(robin, np.random.default_rng(0), most=len(robin)) == plain
    some = odd_one_out.step_of_pairs(robin, np.random.default_rng(0), most=len(robin) - 1)
    assert some != plain
    assert some.again == pytest.approx(plain.again, abs=0.1)
    assert some.halves < some.again < some.mind


@pytest.mark.parametrize(("choices", "first"), [(7, 3), (8, 4), (2, 1)])
def test_half_of_the_choices_are_held_against_the_rest(choices, first, monkeypatch):
    seen = []
    monkeypatch.setattr(odd_one_out, "pair_shares", lambda at, kept, n: seen.append((at.tolist(), kept.tolist())) or n)
    monkeypatch.setattr(odd_one_out, "correlation", lambda one, other: one + other)
    at = np.arange(choices)
    assert odd_one_out._half_correlation(at, 10.0 * at, 5, np.random.default_rng(1)) == 10
    (one, kept), (other, rest) = seen
    assert (len(one), sorted(one + other)) == (first, at.tolist())
    assert (kept, rest) == ([10.0 * k for k in one], [10.0 * k for k in other])


def test_shares_of_pairs_leave_out_choices_of_none():
    at, kept = np.array([[0, 2, -1], [2, 0, 0]]), np.array([[1.0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(odd_one_out.pair_shares(at, kept, 4), [1 / 3, np.nan, 1 / 2, np.nan])


def test_first_model_step_has_choice_variances():
    """From spreads of 1: information is Σ c (1 − c), of a text that of the pair without it; then the mean squares."""
    model = PairModel.of(ROBIN, ASKED)
    model.fit(rounds=1)
    place = {pair: k for k, pair in enumerate(zip(model.first.tolist(), model.second.tolist(), strict=True))}

    def negative_log(t, u, collect=None):
        total = (t @ t + u @ u) / 2
        for three, which in zip(ASKED.tolist(), np.argmax(ROBIN.kept, axis=1).tolist(), strict=True):
            pairs = [tuple(sorted((three[i], three[j]))) for i, j in PLACES]
            weight = [math.exp(t[a] + t[b] + u[place[a, b]]) for a, b in pairs]
            total -= math.log(weight[which] / sum(weight))
            if collect is not None:
                for (a, b), w in zip(pairs, weight, strict=True):
                    chance = w / sum(weight)
                    collect[0][next(c for c in three if c not in (a, b))] += chance * (1 - chance)
                    collect[1][place[a, b]] += chance * (1 - chance)
        return total

    of_texts, of_pairs = np.zeros(len(model.t)), np.zeros(len(model.u))
    least = negative_log(model.t, model.u, (of_texts, of_pairs))
    np.testing.assert_allclose(model.variance_t, 1 / (of_texts + 1))
    np.testing.assert_allclose(model.variance_u, 1 / (of_pairs + 1))
    assert model.spread_t == pytest.approx(np.mean(model.t**2 + model.variance_t))
    seen = of_pairs > 0
    assert model.spread_u == pytest.approx(np.mean((model.u**2 + model.variance_u)[seen]))
    rng = np.random.default_rng(0)
    for _ in range(6):  # nothing near is likelier
        away = 0.03 * rng.normal(size=len(model.t)), 0.03 * rng.normal(size=len(model.u))
        assert negative_log(model.t + away[0], model.u + away[1]) > least


def test_strengths_are_drawn_a_deviation_from_their_mode():
    model = SimpleNamespace(
        t=np.array([1.0, 2, 4]), u=np.array([0.5, 0, -1]), variance_t=np.array([4.0, 1, 9]),
        variance_u=np.array([0.25, 1, 4]), first=np.array([0, 0, 1]), second=np.array([1, 2, 2]),
        blocks=SimpleNamespace(fill=lambda first, second, value: value),
        robin=SimpleNamespace(share=np.array([0.0, 0.5])), expected_variance=lambda theta: theta[0] / 40,
    )  # fmt: skip
    rng = SimpleNamespace(normal=lambda size: np.ones(size))
    # Texts 3, 3, 7 and pairs 1, 1, 1: 7, 11, 11; the variance wanted is 1/16, which the first has at 2.5.
    found = PairModel.draw_strengths(model, rng)
    np.testing.assert_allclose(found, np.array([7, 11, 11]) * 2.5 / 7, atol=1e-4)
    model.expected_variance = lambda theta: 0.0
    np.testing.assert_allclose(PairModel.draw_strengths(model, rng), [28, 44, 44], atol=1e-3)  # four times at most


def test_strength_variance_matches_loops(fitted):
    theta = fitted.blocks.fill(fitted.first, fitted.second, fitted.t[fitted.first] + fitted.t[fitted.second])
    mean, noise, n = np.zeros(len(ROBIN)), np.zeros(len(ROBIN)), np.zeros(len(ROBIN))
    for three, at in zip(ASKED, ROBIN.at, strict=True):
        weight = [math.exp(fitted.t[three[i]] + fitted.t[three[j]]) for i, j in PLACES]
        for w, pair in zip(weight, at, strict=True):
            if pair >= 0:
                chance = w / sum(weight)
                mean[pair] += chance
                noise[pair] += chance * (1 - chance)
                n[pair] += 1
    wanted = (mean / n).var() + (noise / n**2).mean() * (1 - 1 / len(ROBIN))
    assert fitted.expected_variance(theta) == pytest.approx(wanted)


@pytest.mark.parametrize("texts", [4, 400])
def test_pair_counts_are_equal_with_and_without_table(texts):
    member, odd = np.array([[0, 1, 2], [2, 1, 0], [3, 0, 1]]), np.array([0, 2, 0])
    wanted = PairTable.of(member, odd, 4)
    assert list(zip(wanted.first, wanted.second, wanted.n, wanted.kept, strict=True)) == [
        (0, 1, 3, 1), (0, 2, 2, 0), (0, 3, 1, 0), (1, 2, 2, 2), (1, 3, 1, 0)
    ]  # fmt: skip
    found = PairTable.of(member, odd, texts, most_cells=0)
    for name in ("first", "second", "n", "kept"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
