"""The sums behind every coefficient: each kernel by its slow reference, and its sums over parts of a table.

`tests/test_references.py` tests the public functions in the same way; here the formula is compared with the loop.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import references
from assay.data.annotations import Answers
from assay.statistics.categories import Alpha, ChanceCorrected, agreement_weights
from assay.statistics.comparisons import tournaments
from assay.statistics.comparisons.odd_one_out import code_of_pair, pair_of_code, spearman_brown
from assay.statistics.components.variance import Components, IntraclassCorrelation, OneWay, TwoWay
from assay.statistics.pairs import Distance, Kappa, MeanOfPairs, Moments2, RankTable, WithinItems
from assay.statistics.ranks import AlphaRanks, PairRanks
from assay.statistics.wins import advantage, average_advantage, count_wins

CATEGORIES = np.arange(1.0, 5.0)
NAMES = tuple("abcd")


def cells_of(n: int, m: int, seed: int, missing: float) -> list[list[float | None]]:
    """Labels 1 to 4, some missing; items with one label, or none, among them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 5, (n, 1))
    cells = np.clip(truth + rng.integers(-1, 2, (n, m)), 1, 4)
    gone = rng.random((n, m)) < missing
    return [[None if gone[i, j] else float(cells[i, j]) for j in range(m)] for i in range(n)]


def answers_of(rows: list[list[float | None]]) -> Answers:
    """As the kernels read them: label by label, items in order."""
    there = [(i, j, v) for i, row in enumerate(rows) for j, v in enumerate(row) if v is not None]
    item, annotator, value = map(np.array, zip(*there, strict=True))
    return Answers(
        item, annotator, value.astype(float), tuple(f"i{i}" for i in range(len(rows))), NAMES[: len(rows[0])]
    )


def value_of(statistic, rows) -> np.ndarray:
    """From all sums at once, which are those of the two halves of the table together."""
    whole = statistic.moments(answers_of(rows)).sum(axis=0)
    half = len(rows) // 2
    parts = [
        statistic.moments(answers_of([*rows[:half], *[[None] * len(rows[0])] * (len(rows) - half)])).sum(axis=0),
        statistic.moments(answers_of([*[[None] * len(rows[0])] * half, *rows[half:]])).sum(axis=0),
    ]
    np.testing.assert_allclose(parts[0] + parts[1], whole, rtol=1e-12, atol=1e-12)
    assert len(whole) == statistic.width
    return np.asarray(statistic.value(whole))


ROWS = cells_of(30, 4, 1, 0.35)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("rows", [ROWS, cells_of(25, 3, 2, 0.0)], ids=["missing", "complete"])
def test_alpha(level, rows):
    pairable = [row for row in rows if sum(v is not None for v in row) > 1]
    wanted = references.krippendorff_alpha(pairable, level)
    for centre in (0.0, 2.5):
        assert value_of(Alpha.of(level, CATEGORIES, centre), rows)[0] == pytest.approx(wanted)
    if level == "ordinal":
        assert AlphaRanks(answers_of(pairable)).value_of_items(np.arange(len(pairable)))[0] == pytest.approx(wanted)
        assert AlphaRanks(answers_of(rows)).items_used == len(pairable)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic", "ordinal"])
def test_chance_corrected(weights):
    wanted = references.gwet_ac(ROWS, list(CATEGORIES), weights)
    assert value_of(ChanceCorrected(CATEGORIES, weights, "gwet"), ROWS)[0] == pytest.approx(wanted)
    credit = agreement_weights(CATEGORIES, weights)
    slow = [[references.weight(weights, a, b, 4) for b in range(4)] for a in range(4)]
    np.testing.assert_allclose(credit, slow, atol=1e-12)
    if weights == "none":
        wanted = references.fleiss_kappa(ROWS, list(CATEGORIES))
        assert value_of(ChanceCorrected(CATEGORIES, weights, "fleiss"), ROWS)[0] == pytest.approx(wanted)


PAIR = {
    **{
        f"kappa {w}": (Kappa(CATEGORIES, w), lambda two, w=w: references.cohen_kappa(two, list(CATEGORIES), w))
        for w in ("none", "linear", "quadratic", "ordinal")
    },
    "scott": (Kappa(CATEGORIES, "none", shared=True), lambda two: references.fleiss_kappa(two, list(CATEGORIES))),
    "quadratic by moments": (
        Moments2(2.0, "quadratic"), lambda two: references.cohen_kappa(two, list(CATEGORIES), "quadratic")
    ),
    "pearson": (Moments2(2.0, "pearson"), lambda two: references.pearson(*zip(*two, strict=True))),
    "spearman": (RankTable(CATEGORIES, "spearman"), lambda two: references.spearman(*zip(*two, strict=True))),
    "kendall": (RankTable(CATEGORIES, "kendall"), lambda two: references.kendall(*zip(*two, strict=True))),
    "mae": (Distance("mae"), lambda two: sum(abs(a - b) for a, b in two) / len(two)),
    "nmae": (Distance("mae", 3.0), lambda two: sum(abs(a - b) for a, b in two) / len(two) / 3),
    "rmse": (Distance("rmse"), lambda two: math.sqrt(sum((a - b) ** 2 for a, b in two) / len(two))),
    "bias": (Distance("bias"), lambda two: sum(b - a for a, b in two) / len(two)),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIR)
def test_mean_over_pairs_of_annotators(name):
    """Each pair on the items that both labelled; then the mean over pairs, first of all values."""
    statistic, slow = PAIR[name]
    first, second = np.triu_indices(4, 1)
    each = []
    for a, b in zip(first, second, strict=True):
        both = [(row[a], row[b]) for row in ROWS if row[a] is not None and row[b] is not None]
        each.append(slow(both))
    found = value_of(MeanOfPairs(statistic, first, second), ROWS)
    np.testing.assert_allclose(found, [np.mean(each), *each], rtol=1e-9)
    if isinstance(statistic, RankTable):
        ranks = PairRanks(
            statistic.kind, np.array([[np.nan if v is None else v for v in row] for row in ROWS]), first, second
        )
        np.testing.assert_allclose(ranks.value_of_items(np.arange(len(ROWS))), found, rtol=1e-6)


@pytest.mark.parametrize("among", [False, True])
def test_labels_of_the_same_item_by_one_drawn_from_each_group(among):
    """Each item's pairs count 1 over their number: agreement, and chance from the shares of each side."""
    people, judge = np.array([True, True, True, False]), np.array([False, False, False, True])
    other = people if among else judge
    agreed, items = 0.0, 0
    sides = np.zeros((2, 4))
    distance = 0.0
    for row in ROWS:
        pairs = [
            (row[a], row[b]) for a, b in itertools.permutations(range(4), 2)
            if people[a] and other[b] and row[a] is not None and row[b] is not None
        ]  # fmt: skip
        if not pairs:
            continue
        items += 1
        agreed += sum(a == b for a, b in pairs) / len(pairs)
        distance += sum(b - a for a, b in pairs) / len(pairs)
        for a, b in pairs:
            sides[0, int(a) - 1] += 1 / len(pairs)
            sides[1, int(b) - 1] += 1 / len(pairs)
    chance = float(sides[0] @ sides[1]) / items**2
    two = np.array([0]), np.array([1])
    kappa = WithinItems(MeanOfPairs(Kappa(CATEGORIES, "none"), *two), people, other)
    assert value_of(kappa, ROWS)[0] == pytest.approx((agreed / items - chance) / (1 - chance))
    bias = WithinItems(MeanOfPairs(Distance("bias"), *two), people, other)
    assert value_of(bias, ROWS)[0] == pytest.approx(distance / items, abs=1e-12)


def test_variances_of_items_annotators_and_the_rest():
    rows = cells_of(20, 3, 5, 0.0)
    for form in ("1", "k"):
        found = value_of(IntraclassCorrelation(OneWay(2.0), (form,), 3), rows)
        assert found[0] == pytest.approx(references.icc(rows, f"ICC({form})"))
    forms = ("C,1", "C,k", "A,1", "A,k")
    wanted = [references.icc(rows, f"ICC({form})") for form in forms]
    for components in (TwoWay(2.0, 3), Components(2.0, 3)):
        np.testing.assert_allclose(value_of(IntraclassCorrelation(components, forms, 3), rows), wanted)


def test_unequal_numbers_of_labels_have_the_expected_squares_of_their_design():
    """Henderson's method 1 by traces of projections: E[y'Qy] = Σ σ² tr(Q ZZ')."""
    item, annotator, y = zip(
        *[(i, j, v) for i, r in enumerate(ROWS) for j, v in enumerate(r) if v is not None], strict=True
    )
    y, one = np.array(y), np.ones((len(y), 1))
    designs = [np.array([[float(a == b) for b in sorted(set(code))] for a in code]) for code in (item, annotator)]
    mean = one @ np.linalg.pinv(one)
    left, right = [], []
    for z in (*designs, np.eye(len(y))):
        q = z @ np.linalg.pinv(z) - mean
        right.append(y @ q @ y)
        left.append([np.trace(q @ w @ w.T) for w in (*designs, np.eye(len(y)))])
    np.testing.assert_allclose(value_of(Components(2.0, 4), ROWS), np.linalg.solve(left, right))
    # One way: items alone.
    z = designs[0]
    q, e = z @ np.linalg.pinv(z) - mean, np.eye(len(y)) - z @ np.linalg.pinv(z)
    within = y @ e @ y / np.trace(e)
    between = (y @ q @ y - within * np.trace(q)) / np.trace(q @ z @ z.T)
    np.testing.assert_allclose(value_of(OneWay(2.0), ROWS), [between, 0.0, within])


def test_advantage_probabilities_by_counting():
    """The mean over the classes that occur, then over the annotators who have items."""
    rng = np.random.default_rng(3)
    n = 60
    sign, group, majority = rng.integers(-1, 2, n), rng.integers(0, 3, n), rng.integers(0, 3, n)
    group[group == 2], majority[group == 1] = 0, np.minimum(majority[group == 1], 1)
    counts = count_wins(sign.copy(), group, 3, np.eye(3)[majority])
    judge, human = advantage(counts)
    each = []
    for j in range(2):
        of_class = []
        for c in range(3):
            mine = [s for s, g, k in zip(sign, group, majority, strict=True) if g == j and k == c]
            if mine:
                of_class.append((sum(s >= 0 for s in mine) / len(mine), sum(s <= 0 for s in mine) / len(mine)))
        each.append([sum(x) / len(of_class) for x in zip(*of_class, strict=True)])
    np.testing.assert_allclose(np.stack([judge, human], axis=1)[:2], each)
    assert np.isnan([judge[2], human[2]]).all()
    assert average_advantage(counts) == pytest.approx((each[0][0] + each[1][0]) / 2)
    plain = count_wins(sign.copy(), np.minimum(group, 1), 2, None)
    assert average_advantage(plain) == pytest.approx(
        np.mean([np.mean(sign[np.minimum(group, 1) == j] >= 0) for j in range(2)])
    )


def test_table_without_votes_on_two_systems_is_nan_and_others_are_kept():
    tables = np.stack([1.0 - np.eye(4), np.zeros((4, 4))])
    tables[1, 0, 1] = tables[1, 1, 0] = 2
    found = tournaments.bradley_terry(tables)
    assert (found[0] == 0).all()
    assert np.isnan(found[1]).all()


def test_bradley_terry_of_several_tables_by_iterations():
    rng = np.random.default_rng(6)
    tables = rng.integers(1, 9, (80, 4, 4)).astype(float)
    tables[:, np.arange(4), np.arange(4)] = 0
    found = tournaments.bradley_terry(tables)
    for wins, strengths in zip(tables[:4], found, strict=False):
        votes = [(str(i), str(j), 1.0) for i in range(4) for j in range(4) for _ in range(int(wins[i, j]))]
        wanted = references.bradley_terry(votes)
        np.testing.assert_allclose(strengths, [wanted[str(i)] for i in range(4)], atol=1e-7)
    # From far away, and one at a time, they are the same.
    far = np.array([5.0, -5.0, 3.0, 0.0])
    np.testing.assert_allclose(tournaments.bradley_terry(tables[7], start=far), found[7], atol=1e-7)


@pytest.mark.parametrize("ties", [False, True])
def test_vote_curvature_is_derivative_of_slope(ties):
    """Minus the second derivatives, by differences; Newton's method would arrive with others too, later."""
    rng = np.random.default_rng(7)
    wins = rng.integers(1, 9, (2, 4, 4)).astype(float)
    wins[:, np.arange(4), np.arange(4)] = 0
    even = rng.integers(1, 6, (2, 4, 4)).astype(float)
    even = np.tril(even, -1) + np.tril(even, -1).swapaxes(1, 2) if ties else None
    point = rng.normal(size=(2, 5 if ties else 4))
    curvature = tournaments.likelihood_slopes(wins, even, point)[1]
    for k, step in enumerate(1e-5 * np.eye(point.shape[1])):
        above, below = (tournaments.likelihood_slopes(wins, even, point + s, curved=False)[0] for s in (step, -step))
        np.testing.assert_allclose(-(above - below) / 2e-5, curvature[:, :, k], rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_few_votes_are_fitted_from_the_strengths_of_other_votes():
    """Wherever ways of wins lead from each system to every other, strengths are finite (Ford 1957), from any start."""
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(300):
        wins, other = rng.poisson(0.6, (2, 5, 5)) * (1.0 - np.eye(5))
        if len(tournaments.unbounded_groups(wins)) > 1 or len(tournaments.unbounded_groups(other)) > 1:
            continue
        tried += 1
        from_zero = tournaments.bradley_terry(wins)
        assert np.isfinite(from_zero).all()
        start = tournaments.bradley_terry(other)
        np.testing.assert_allclose(tournaments.bradley_terry(wins, start=start), from_zero, atol=1e-7)
    assert tried > 30


@pytest.mark.parametrize("runs", [3, 20_000])
def test_elo_by_one_vote_after_the_other(runs):
    """Of 20,000 runs 13 votes are laid out at once."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 4, 30)
    second = (first + rng.integers(1, 4, 30)) % 4
    outcome, weights = rng.choice([0.0, 0.5, 1.0], 30), rng.random(30) * 2
    orders = rng.permuted(np.tile(np.arange(30)[:, None], (1, runs)), axis=0)
    orders[20:, 2] = -1  # this run has fewer votes
    start = np.full(4, 1000.0)
    found = tournaments.elo(first, second, outcome, 32 * weights, orders, start, math.log(10) / 400)
    for run in range(3):
        votes = [k for k in orders[:, run] if k >= 0]
        wanted = references.elo(
            [(str(first[k]), str(second[k]), float(outcome[k])) for k in votes], weights=[weights[k] for k in votes]
        )
        np.testing.assert_allclose(found[run], [wanted[str(i)] for i in range(4)], atol=1e-9)


def test_codes_of_pairs_count_through_the_triangle():
    pairs = list(itertools.combinations(range(7), 2))
    first, second = map(np.array, zip(*pairs, strict=True))
    assert code_of_pair(first, second, 7).tolist() == list(range(len(pairs)))
    assert list(zip(*(x.tolist() for x in pair_of_code(np.arange(len(pairs)), 7)), strict=True)) == pairs


def test_twice_as_many_choices_by_spearman_and_brown():
    assert float(spearman_brown(0.5, 2)) == pytest.approx(2 / 3)
    assert float(spearman_brown(2 / 3, 0.5)) == pytest.approx(0.5)
    assert spearman_brown(np.array([0.2, 0.8]), 3).tolist() == pytest.approx([0.6 / 1.4, 2.4 / 2.6])


def test_groups_without_a_finite_strength():
    """Each group beats the next and loses to none of it; a tie is a way to and fro."""
    beats = np.zeros((5, 5))
    beats[0, 1] = beats[1, 0] = beats[1, 2] = beats[2, 3] = beats[3, 2] = 1.0
    found = [group.tolist() for group in tournaments.unbounded_groups(beats)]
    assert sorted(found[:2]) == [[0, 1], [4]]  # 4 has no votes: no system beats it
    assert found[2] == [2, 3]
    ties = np.zeros((5, 5))
    ties[1, 2] = ties[2, 1] = 2.0
    assert [group.tolist() for group in tournaments.unbounded_groups(beats, ties)] == [[0, 1, 2, 3], [4]]
    ties[0, 4] = ties[4, 0] = 0.5
    assert len(tournaments.unbounded_groups(beats, ties)) == 1
