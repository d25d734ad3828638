"""Strengths from votes: closed forms of two systems, the likelihood equations, and differences."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import references
from assay.statistics.comparisons import tournaments
from assay.statistics.comparisons.tournaments import CovariateVotes, bradley_terry, components, elo, newton_step


def votes(n: int, tables: int, seed: int, ties: bool = False) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(1, 9, (tables, n, n)).astype(float)
    drawn[:, np.arange(n), np.arange(n)] = 0
    return drawn + drawn.swapaxes(1, 2) if ties else drawn


# -- Bradley and Terry, Davidson --------------------------------------------------------------------


@pytest.mark.parametrize("start", [None, [0.3, -0.3], [3.0, -1.0], [np.nan, 0.0]])
def test_two_systems_lie_the_log_of_their_odds_apart(start):
    start = None if start is None else np.array(start)
    wins = np.array([[0.0, 3], [1, 0]])
    wanted = [math.log(3) / 2, -math.log(3) / 2]
    assert bradley_terry(wins, start=start).tolist() == pytest.approx(wanted)
    # With separate ties the odds are the same; half a vote each draws them together: 4 to 2.
    ties = np.array([[0.0, 2], [2, 0]])
    assert bradley_terry(wins, ties, start=start).tolist() == pytest.approx(wanted)
    half = bradley_terry(wins + ties / 2, start=start)
    assert half.tolist() == pytest.approx([math.log(2) / 2, -math.log(2) / 2])
    whole = tournaments.newton_ratings(wins[None], ties[None], np.zeros(2), whole=True)
    # ν is the ties over the geometric mean of wins.
    assert whole[0].tolist() == pytest.approx([*wanted, math.log(2 / math.sqrt(3))])


def test_strengths_of_many_systems_are_those_of_each_table():
    """Of 150 systems 11 tables are solved at once."""
    wins = votes(150, 13, 5)
    for one, theta in zip(wins, bradley_terry(wins), strict=True):
        np.testing.assert_allclose(theta, bradley_terry(one), atol=1e-8)


@pytest.mark.parametrize("tables", [1, 7, 8, 20])
def test_maximum_likelihood_reproduces_observed_votes(tables):
    """The likelihood equations: each system's expected wins and half ties, and the expected ties in all."""
    wins, ties = votes(3, tables, 1), votes(3, tables, 2, ties=True)
    for w, t, theta in zip(wins, ties, bradley_terry(wins, ties), strict=True):
        assert theta.mean() == pytest.approx(0, abs=1e-12)
        nu = math.exp(tournaments.newton_ratings(w[None], t[None], np.zeros(3), whole=True)[0, 3])
        got, ties_expected = np.zeros(3), 0.0
        for i, j in itertools.permutations(range(3), 2):
            n, apart = w[i, j] + w[j, i] + t[i, j], theta[i] - theta[j]
            up, down = math.exp(apart / 2), math.exp(-apart / 2)
            got[i] += n * (up + nu / 2) / (up + down + nu)
            ties_expected += n * nu / (up + down + nu) / 2
        np.testing.assert_allclose(got, (w + t / 2).sum(axis=1), rtol=1e-8)
        assert ties_expected == pytest.approx(t.sum() / 2)
    for w, theta in zip(wins, bradley_terry(wins), strict=True):
        chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        np.testing.assert_allclose(((w + w.T) * chance).sum(axis=1), w.sum(axis=1), rtol=1e-8)
    assert bradley_terry(wins.reshape(tables, 1, 3, 3)).shape == (tables, 1, 3)


def test_unbeaten_system_has_no_finite_strength():
    wins = np.array([[0.0, 3, 2], [0, 0, 2], [0, 1, 0]])
    assert np.isnan(bradley_terry(wins)).all()
    both = bradley_terry(np.stack([wins, wins + wins.T]))
    assert np.isnan(both[0]).all()
    assert both[1].tolist() == pytest.approx([0, 0, 0])
    assert np.isnan(bradley_terry(wins + wins.T, np.zeros((3, 3)))).all()  # no tie at all: ν goes to 0


@pytest.mark.parametrize(("wins", "finite"), [(1e10, True), (1e12, False)])
def test_strengths_beyond_limit_are_missing(wins, finite):
    # log 1e10 = 23.0, log 1e12 = 27.6; 25 is the bound.
    found = bradley_terry(np.array([[0.0, wins], [1, 0]]))
    assert np.isfinite(found).all() == finite
    if finite:
        assert np.ptp(found) == pytest.approx(math.log(wins), rel=1e-6)


def test_similar_tables_converge_jointly(monkeypatch):
    wins = votes(4, 12, 3)
    middle = tournaments._middle(wins, None, np.zeros(4))
    assert middle[0].tolist() == pytest.approx(bradley_terry(wins.mean(axis=0)).tolist())
    together = tournaments._chord(wins, None, *middle)
    alone = tournaments.newton_ratings(wins, None, np.zeros(4))
    settled = np.isfinite(together).all(axis=1)
    assert settled.sum() > 6
    np.testing.assert_allclose(together[settled], alone[settled], atol=1e-9)
    monkeypatch.setattr(tournaments, "CHORDS", 1)
    assert np.isnan(tournaments._chord(wins, None, *middle)).all()
    np.testing.assert_allclose(bradley_terry(wins), alone, atol=1e-9)
    never = np.zeros((8, 2, 2))
    never[:, 0, 1] = 1
    assert tournaments._middle(never, None, np.zeros(2)) is None


def test_equations_without_a_solution_leave_the_others():
    curvature = np.array([[[2.0, 0], [0, 4]], [[1, 1], [1, 1]], [[1, 0], [0, 1e-9]]])
    found = tournaments.solve_steps(curvature, np.array([[2.0, 2], [1, 1], [3, 1e-9]]))
    assert found[0].tolist() == [1, 0.5]
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == pytest.approx([3, 1])


# -- covariates -------------------------------------------------------------------------------------


def some_votes(seed: int = 5, n: int = 60, **changes) -> CovariateVotes:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    second = (first + rng.integers(1, 3, n)) % 3
    return replace(
        CovariateVotes(first, second, rng.choice([0.0, 0.5, 1.0], n), rng.normal(size=(n, 2)), rng.random(n) * 2, 3),
        **changes,
    )


def log_likelihood(of: CovariateVotes, point: np.ndarray) -> float:
    found, weight = 0.0, np.ones(len(of.got)) if of.weight is None else of.weight
    for a, b, got, x, w in zip(of.first, of.second, of.got, of.x, weight, strict=True):
        apart = point[a] - point[b] + x @ point[3:]
        found += w * (got * apart - math.log1p(math.exp(apart)))
    for a, b in itertools.combinations(range(of.systems), 2):
        apart = point[a] - point[b]
        found += of.prior * (apart / 2 - math.log1p(math.exp(apart)))
    return found


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("weighted", [True, False])
def test_slopes_with_covariates_are_differences_of_the_likelihood(prior, weighted):
    of = some_votes(prior=prior)
    of = of if weighted else replace(of, weight=None)
    point = np.array([0.4, -0.1, 0.2, 0.3, -0.5])
    assert of.slopes(point).shape == (1, 30)
    found = of.slopes(point)[0] + of.prior_slopes(point)
    gradient, curvature = found[:5], found[5:].reshape(5, 5)
    for k, step in enumerate(1e-5 * np.eye(5)):
        apart = log_likelihood(of, point + step) - log_likelihood(of, point - step)
        assert gradient[k] == pytest.approx(apart / 2e-5, rel=1e-6, abs=1e-6)
        above, below = (of.slopes(p)[0] + of.prior_slopes(p) for p in (point + step, point - step))
        np.testing.assert_allclose(-(above - below)[:5] / 2e-5, curvature[k], rtol=1e-6, atol=1e-6)


def test_slopes_of_units_add_to_those_of_all():
    of = some_votes()
    unit = np.arange(60) % 4
    point = np.array([0.4, -0.1, 0.2, 0.3, -0.5])
    found = of.slopes(point, unit, 5)
    assert found.shape == (5, of.width * (of.width + 1)) == (5, 30)
    np.testing.assert_allclose(found.sum(axis=0), of.slopes(point)[0])
    assert (found[4] == 0).all()
    mine = unit == 2
    alone = CovariateVotes(of.first[mine], of.second[mine], of.got[mine], of.x[mine], of.weight[mine], 3)
    np.testing.assert_allclose(found[2], alone.slopes(point)[0])


@pytest.mark.parametrize("start", [None, [1.0, 0.0, -1.0, 0.5, 0.5]])
def test_maximum_with_covariates_has_zero_slope(start):
    of = some_votes()
    found = of.fit(start)
    assert found[:3].mean() == pytest.approx(0, abs=1e-12)
    assert np.abs(of.slopes(found)[0, :5]).max() < 1e-7
    twice = replace(of, weight=of.weight * 2)
    np.testing.assert_allclose(twice.fit(), found, atol=1e-8)


def test_without_covariates_they_are_bradley_and_terry_s():
    of = some_votes(x=np.empty((60, 0)), weight=None)
    wins = np.zeros((3, 3))
    for a, b, got in zip(of.first, of.second, of.got, strict=True):
        wins[a, b] += got
        wins[b, a] += 1 - got
    np.testing.assert_allclose(of.fit(), bradley_terry(wins), atol=1e-8)
    # The prior is half a vote each way, times its size.
    added = wins + 0.7 / 2 * (1 - np.eye(3))
    np.testing.assert_allclose(replace(of, prior=0.7).fit(), bradley_terry(added), atol=1e-8)
    assert (of.prior_slopes(np.ones(3)) == 0).all()
    assert of.prior == 0


def test_undetermined_parameters_are_not_finite():
    always = some_votes(got=np.ones(60), first=np.zeros(60, dtype=int), second=np.arange(60) % 2 + 1)
    assert np.isnan(always.fit()).all()
    same = some_votes()
    confounded = replace(same, x=((same.first == 0) * 1.0 - (same.second == 0))[:, None])
    assert np.isnan(confounded.fit()).all()
    assert confounded.fit().shape == (4,)


def test_elo_step_has_mean_zero_for_any_axes():
    of = some_votes()
    slopes = of.slopes(np.zeros(5), np.arange(60) % 2, 2)
    both = newton_step(slopes.reshape(2, 1, -1), 3)
    assert both.shape == (2, 1, 5)
    np.testing.assert_allclose(both[..., :3].mean(axis=-1), 0, atol=1e-12)
    for one, step in zip(slopes, both[:, 0], strict=True):
        # H step = gradient, for any mean of the strengths.
        np.testing.assert_allclose(one[5:].reshape(5, 5) @ step, one[:5], atol=1e-9)


# -- who can be compared ----------------------------------------------------------------------------


def test_systems_that_votes_connect_are_one_group():
    met = np.zeros((5, 5))
    met[0, 3] = met[4, 1] = 1  # one way round is enough
    assert [group.tolist() for group in components(met)] == [[0, 3], [1, 4], [2]]
    met[3, 2] = 0.5
    assert [group.tolist() for group in components(met)] == [[0, 2, 3], [1, 4]]


def test_systems_without_a_finite_strength_are_apart_and_the_unbeaten_first():
    wins = np.zeros((4, 4))
    wins[1, 0] = wins[0, 1] = 1  # a and b beat each other, c beat a, and b beat d
    wins[2, 0] = wins[1, 3] = 2

    def groups(*tables):
        first, *others = ([int(one) for one in group] for group in tournaments.unbounded_groups(*tables))
        return first, sorted(others)

    assert groups(wins) == ([2], [[0, 1], [3]])
    ties = np.zeros((4, 4))
    ties[0, 2] = ties[2, 0] = 1  # a tie is a way as good as a win
    assert groups(wins, ties) == ([0, 1, 2], [[3]])
    ties[1, 3] = ties[3, 1] = 2  # as many ties as wins
    assert groups(wins, ties) == ([0, 1, 2, 3], [])


# -- Elo --------------------------------------------------------------------------------------------


def test_one_vote_by_hand():
    # Ratings 200 apart, base 10 and scale 400: E = 1 / (1 + 10^−.5) = .7597; the first loses 32 E.
    start = np.array([1100.0, 900.0, 1000.0])
    expected = 1 / (1 + 10**-0.5)
    one, none = np.array([[0]]), np.array([[-1]])
    for outcome, got in ((0.0, -expected), (1.0, 1 - expected), (0.5, 0.5 - expected)):
        found = elo(np.array([0]), np.array([1]), np.array([outcome]), np.array([32.0]), one, start, math.log(10) / 400)
        assert found[0].tolist() == pytest.approx([1100 + 32 * got, 900 - 32 * got, 1000])
        many = np.repeat(one, 16, axis=1)
        many = elo(np.array([0]), np.array([1]), np.array([outcome]), np.array([32.0]), many, start, math.log(10) / 400)
        np.testing.assert_allclose(many, np.repeat(found, 16, axis=0))
    for runs in (1, 16):
        orders = np.repeat(none, runs, axis=1)
        kept = elo(np.array([0]), np.array([1]), np.ones(1), np.array([32.0]), orders, start, math.log(10) / 400)
        np.testing.assert_allclose(kept, np.repeat(start[None], runs, axis=0))


@pytest.mark.parametrize("runs", [15, 16, 17, 14_000])
def test_ratings_of_many_runs_are_those_of_each(runs):
    """Of 14,000 runs 18 votes are laid out at once."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 4, 20)
    second = (first + rng.integers(1, 4, 20)) % 4
    outcome, weights = rng.choice([0.0, 0.5, 1.0], 20), rng.random(20) * 2
    orders = rng.permuted(np.tile(np.arange(20)[:, None], (1, runs)), axis=0)
    orders[12:, 2] = -1
    found = elo(first, second, outcome, 32 * weights, orders, np.full(4, 1000.0), math.log(10) / 400)
    assert found.shape == (runs, 4)
    for run in (0, 2, runs - 1):
        mine = [k for k in orders[:, run] if k >= 0]
        wanted = references.elo(
            [(str(first[k]), str(second[k]), float(outcome[k])) for k in mine], weights=[weights[k] for k in mine]
        )
        np.testing.assert_allclose(found[run], [wanted[str(i)] for i in range(4)], atol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_slopes_are_those_of_the_likelihood_vote_by_vote(tied):
    """Davidson (1970): a wins in e^((a − b)/2) of e^((a − b)/2) + e^((b − a)/2) + ν, a tie is ν of them."""
    rng = np.random.default_rng(3)
    wins, ties = rng.integers(0, 5, (2, 4, 4)).astype(float), rng.integers(0, 4, (2, 4, 4))
    wins[:, np.arange(4), np.arange(4)] = 0
    ties = np.triu(ties, 1) + np.triu(ties, 1).swapaxes(1, 2) if tied else None
    point = 0.5 * rng.normal(size=(2, 5 if tied else 4))

    def likelihood(table, x):
        total = 0.0
        for a, b in itertools.permutations(range(4), 2):
            if not tied:
                total += wins[table, a, b] * math.log(1 / (1 + math.exp(x[b] - x[a])))
                continue
            up, down, nu = math.exp((x[a] - x[b]) / 2), math.exp((x[b] - x[a]) / 2), math.exp(x[4])
            total += wins[table, a, b] * math.log(up / (up + down + nu))
            total += ties[table, a, b] * math.log(nu / (up + down + nu)) if a < b else 0.0
        return total

    ties = None if ties is None else ties.astype(float)
    gradient, curvature = tournaments.likelihood_slopes(wins, ties, point)
    for table in range(2):
        for k, step in enumerate(1e-5 * np.eye(point.shape[1])):
            x = point[table]
            slope = (likelihood(table, x + step) - likelihood(table, x - step)) / 2e-5
            assert gradient[table, k] == pytest.approx(slope, abs=1e-6)
            up, down = (tournaments.likelihood_slopes(wins, ties, point + s * step)[0][table] for s in (1, -1))
            np.testing.assert_allclose(curvature[table, k], (down - up) / 2e-5, atol=1e-6)
    bare, none = tournaments.likelihood_slopes(wins, ties, point, curved=False)
    np.testing.assert_array_equal(bare, gradient)
    assert none.shape == (0,)


def test_fit_without_start_limits_steps():
    """Nine of ten votes: the first step is the score over the information, (9 − 5) / (10 / 4) = 1.6 between two."""
    steps = []

    class Watched(CovariateVotes):
        def slopes(self, point, unit=None, n=1):
            steps.append(point.copy())
            return super().slopes(point, unit, n)

    watched = Watched(
        np.zeros(10, dtype=int), np.ones(10, dtype=int), np.array([1.0] * 9 + [0]), np.zeros((10, 0)), None, 2
    )
    found = watched.fit()
    assert found.tolist() == pytest.approx([math.log(9) / 2, -math.log(9) / 2])
    assert steps[1].tolist() == pytest.approx([0.8, -0.8])
    # From far away, where information is next to nothing, a step is 4 and no more.
    steps.clear()
    watched.fit(np.array([6.0, -6.0]))
    assert np.abs(steps[1] - steps[0]).max() == pytest.approx(4)
