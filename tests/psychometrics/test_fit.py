"""The search for modes: on quadratic surfaces, whose maximum is known, and with each step of the search given."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from rated import planted, rated

from assay.psychometrics.raters import fit as module
from assay.psychometrics.raters.density import Density, layout
from assay.psychometrics.raters.fit import Chains, Mode, RaterFit, climb, find_modes, mode_near, widths
from assay.psychometrics.raters.table import RaterSettings, rater_table

INFORMATION = np.array([[4.0, 1], [1, 9]])
TOP = np.array([0.5, -2])


class Bowl:
    """A log posterior 7 − (x − top)' I (x − top) / 2."""

    def value_and_gradient(self, x):
        away = x - TOP
        return 7 - float(away @ INFORMATION @ away) / 2, -INFORMATION @ away

    def value(self, x):
        return self.value_and_gradient(x)[0]


def mode(x=(0.0,), value=0.0, evidence=0.0, steepness=0.0, covariance=((1.0,),), found=1) -> Mode:
    return Mode(np.array(x), value, np.array(covariance), evidence, found, steepness)


# -- one climb ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", [np.identity(2), np.diag([0.5, 1 / 3]), np.array([[0.3, 0.2], [0.0, 0.5]])])
def test_optimizer_reaches_maximum_in_any_coordinates(root):
    x, value = climb(Bowl(), np.array([3.0, 3.0]), root, 1e-9)
    np.testing.assert_allclose(x, TOP, atol=1e-3)
    assert value == pytest.approx(7, abs=1e-5)


@pytest.mark.parametrize(("value", "relative"), [(0.5, 1e-4), (-1.25, 8e-5), (-50.0, 2e-6)])
def test_a_climb_ends_by_what_a_step_gains_for_its_height(value, relative, monkeypatch):
    """A step is to gain 10⁻⁴, as a share of the log posterior, if that is more than 1; and 500 steps are the most."""
    asked = {}

    def minimize(down, start, **options):
        asked.update(options, start=start.tolist(), down=down(np.array([2.0, 1])))
        return SimpleNamespace(x=np.array([2.0, 1]), fun=-9.0)

    monkeypatch.setattr("scipy.optimize.minimize", minimize)
    hill = SimpleNamespace(value=lambda x: value, value_and_gradient=lambda x: (x.sum(), np.array([3.0, 5])))
    x, top = climb(hill, np.array([10.0, 20]), np.array([[1.0, 2], [0, 4]]))
    # 10 + 2 + 2 and 20 + 4; the slope is (3, 5) times the columns (1, 0) and (2, 4).
    assert (x.tolist(), top) == ([14, 24], 9)
    down, slope = asked.pop("down")
    assert (down, slope.tolist()) == (-38, [-3, -26])
    assert asked.pop("options") == {"maxiter": 500, "maxcor": 20, "ftol": pytest.approx(relative), "gtol": 1e-3}
    assert asked == {"start": [0, 0], "jac": True, "method": "L-BFGS-B"}


def test_a_parameter_alone_may_move_by_its_curvature_or_its_prior():
    # 1 / √4 and 1 / √9; a prior that is narrower holds it.
    np.testing.assert_allclose(widths(Bowl(), np.array([1.0, 1.0]), np.array([9.0, 9.0])), [1 / 2, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(widths(Bowl(), TOP, np.array([0.1, 9.0])), [0.1, 1 / 3], rtol=1e-6)


def test_a_mode_has_the_covariance_and_the_mass_of_a_normal():
    found = mode_near(Bowl(), np.array([0.4, -1.8]), 3)
    np.testing.assert_allclose(found.x, TOP, atol=1e-3)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(INFORMATION), rtol=1e-5)
    assert found.log_posterior == pytest.approx(7, abs=1e-4)
    # 7 − log |I| / 2, with |I| = 35.
    assert found.evidence == pytest.approx(7 - math.log(35) / 2, abs=1e-4)
    assert found.found == 3
    assert found.arrived
    assert mode_near(Bowl(), TOP).found == 1


@pytest.mark.parametrize(("steps", "climbs"), [(module.MOST_POLISHED, 4), (0, 0)])
def test_what_does_not_arrive_is_climbed_so_often(steps, climbs, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "MOST_POLISHED", steps)
    monkeypatch.setattr(module, "climb", lambda density, x, root, gain: seen.append((root, gain)) or (x, 0.0))
    found = mode_near(Bowl(), TOP + np.array([0.3, 0]))
    assert len(seen) == climbs
    # The Newton decrement √(g'I⁻¹g) of (.3, 0) is .3 √4.
    assert found.steepness == pytest.approx(0.6, rel=1e-5)
    assert not found.arrived
    for root, gain in seen:
        np.testing.assert_allclose(root @ root.T, np.linalg.inv(INFORMATION), rtol=1e-5)
        assert gain == 1e-9


@pytest.mark.parametrize(("away", "climbs"), [(0.0024, 0), (0.0026, 1)])
def test_a_search_has_come_near_enough_at_half_of_what_is_steep(away, climbs, monkeypatch):
    # The decrement is 2 · away; .005 is half of .01.
    seen = []
    monkeypatch.setattr(module, "climb", lambda density, x, root, gain: seen.append(1) or (TOP, 0.0))
    mode_near(Bowl(), TOP + np.array([away, 0]))
    assert len(seen) == climbs


def test_a_flat_ridge_is_as_wide_as_priors_leave_it():
    flat = SimpleNamespace(value_and_gradient=lambda x: (0.0, np.array([-1e-4 * x[0], -4 * x[1]])))
    found = mode_near(flat, np.zeros(2))
    assert sorted(np.diag(found.covariance).tolist()) == pytest.approx([0.25, 100])
    saddle = np.diag([-4.0, 0.01])
    root = module._round_coordinates(saddle)
    np.testing.assert_allclose(np.abs(root), np.diag([1 / 2, 1 / math.sqrt(0.5)]), atol=1e-12)


@pytest.mark.parametrize(
    ("steepness", "arrived"), [(0.0099, True), (0.01, False), (math.nan, False), (math.inf, False)]
)
def test_convergence_requires_small_gradient(steepness, arrived):
    assert mode(steepness=steepness).arrived == arrived


def test_normal_draws_have_the_mode_s_covariance():
    covariance = np.linalg.inv(INFORMATION)
    drawn = mode(TOP, covariance=covariance).normal_draws(20_000, 3, 9)
    np.testing.assert_allclose(drawn.mean(axis=0), TOP, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, rtol=0.05)
    again = mode(TOP, covariance=covariance)
    np.testing.assert_array_equal(again.normal_draws(5, 3, 9), drawn[:5])
    assert (again.normal_draws(5, 3, 8) != drawn[:5]).any()


# -- several modes ------------------------------------------------------------------------------------


def test_optima_are_distinguished_and_sorted(monkeypatch):
    monkeypatch.setattr(module, "_same_mode", lambda density, x, other: abs(x - other) < 1)
    reached = [(0.0, 1.0), (5.0, 3.0), (0.5, 2.0), (5.5, 2.5), (9.0, -1.0)]
    assert module._distinct_maxima(None, reached) == [(5.0, 3.0, 2), (0.5, 2.0, 2), (9.0, -1.0, 1)]


@pytest.mark.parametrize(("gap", "same"), [(0.019, True), (0.021, False)])
@pytest.mark.parametrize("of", ["phi", "psi"])
def test_modes_are_the_same_where_no_rater_is_elsewhere(gap, same, of):
    matrices = {"phi": np.zeros((3, 2)), "psi": np.zeros((3, 2))}
    matrices[of][1] = [1, -1]
    density = SimpleNamespace(layout=SimpleNamespace(**matrices, unit=1.0))
    assert module._same_mode(density, np.array([gap + 2, 3.0]), np.array([2.0, 3])) == same
    assert module._same_mode(density, np.array([2.0, gap + 3]), np.array([2.0, 3])) == same


def test_modes_with_next_to_no_mass_are_not_measured(monkeypatch):
    measured = []
    evidence = {0: 1.0, 1: 5.0}

    def near(density, x, often):
        measured.append(x)
        return mode((x,), 3 - float(x), evidence.get(x, 0.0), covariance=((x + 1.0,),), found=often)

    monkeypatch.setattr(module, "mode_near", near)
    monkeypatch.setattr(module, "_distinct_maxima", lambda density, reached: reached)
    found = module._measure_modes(None, [(0, 3.0, 3), (1, -8.9, 2), (2, -9.0, 1)])
    assert measured == [0, 1]
    # By mass: 5, 1, and for the last that of the best less 12.
    assert [m.evidence for m in found] == [5.0, 1.0, 1.0 - 12]
    assert (found[2].steepness, found[2].found, found[2].log_posterior) == (np.inf, 1, -9.0)
    assert found[2].covariance.tolist() == [[1.0]]
    measured.clear()
    module._measure_modes(None, [(k, -0.1 * k, 1) for k in range(6)])
    assert measured == [0, 1, 2, 3]


class Numbers:
    """A density of which only the number of labels counts."""

    def __init__(self, n, layout="plan"):
        self.table = Labels(n)
        self.layout = layout


class Labels:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def every_nth_subject(self, often):
        return Labels(self.n // often)


@pytest.fixture
def steps(monkeypatch):
    """What a search asks for, one after the other."""
    seen = []
    monkeypatch.setattr(module, "Density", lambda table, plan: Numbers(len(table), plan))

    def starts(density, n, seed, progress):
        seen.append(("starts", len(density.table), n, seed))
        return [(1.0, 5.0), (2.0, 9.0), (3.0, 7.0)], np.array([6.0])

    def sweep(density, best, root, progress):
        seen.append(("sweep", len(density.table), best))
        return [(4.0, 8.0)]

    monkeypatch.setattr(module, "_climb_from_starts", starts)
    monkeypatch.setattr(module, "_sweep", sweep)
    monkeypatch.setattr(module, "_distinct_maxima", lambda density, reached: [
        (x, value, 1) for x, value in sorted(reached, key=lambda pair: -pair[1])
    ])  # fmt: skip
    monkeypatch.setattr(
        module, "climb", lambda density, x, root: seen.append(("climb", len(density.table), x, float(root[0]))) or x
    )
    monkeypatch.setattr(module, "_measure_modes", lambda density, reached: (len(density.table), reached))
    return seen


def test_a_small_table_is_searched_whole(steps):
    n, reached = find_modes(Numbers(12_000), 3, 5)
    assert steps == [("starts", 12_000, 3, 5)]
    assert (n, len(reached)) == (12_000, 3)


@pytest.mark.parametrize(
    ("labels", "starts", "some", "root"),
    [(12_001, 2, 6_000, 6 / math.sqrt(2)), (108_000, 1, 12_000, 2.0), (108_000, 2, 12_000, 2.0)],
)
def test_of_a_large_table_some_subjects_are_searched_first(labels, starts, some, root, steps):
    n, reached = find_modes(Numbers(labels), starts, 5)
    assert steps[0] == ("starts", some, starts, 5)
    swept = [("sweep", some, (2.0, 9.0))] if starts > 1 else []
    best = [2.0, 4.0] if starts > 1 else [2.0, 3.0]
    # The best two maxima are climbed with all subjects, in coordinates as much narrower.
    assert steps[1:] == [*swept, *(("climb", labels, x, pytest.approx(root)) for x in best)]
    assert (n, reached) == (labels, best)


@pytest.mark.parametrize("apart", [(("a", "b"),), (("a",), ("b",))])
def test_a_sweep_moves_each_criterion_and_subset_both_ways_from_the_best(apart, monkeypatch):
    monkeypatch.setattr(module, "disjoint_subsets", lambda table: apart)
    monkeypatch.setattr(module, "_move_criterion", lambda density, x, j, by: f"{x}c{j}{by:+d}")
    monkeypatch.setattr(module, "_move_subset", lambda density, x, subset, by: f"{x}s{subset}{by:+.0f}")
    values = {"oc0+1": 3.0, "oc0+1c1-1": 2.0}
    climbed = []
    monkeypatch.setattr(module, "climb", lambda density, x, root, gain: climbed.append(gain) or (x, values.get(x, 0.0)))
    density = SimpleNamespace(table=SimpleNamespace(raters=("a", "b"), criteria=("x", "y")))
    told = []
    reached = module._sweep(density, ("o", 1.0), None, lambda *what: told.append(what))
    moves = ["oc0-1", "oc0+1", "oc0+1c1-1", "oc0+1c1+1"]
    if len(apart) > 1:
        moves += [f"oc0+1s[{k}]{by}" for k in (0, 1) for by in ("-1", "+1")]
    assert [x for x, _ in reached] == moves
    assert set(climbed) == {1e-2}
    assert told == [("looking for other modes", i, len(moves)) for i in range(len(moves))]
    assert len(module._sweep(density, ("o", 1.0), None, None)) == len(moves)


# -- starts and moves, on a table ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def density() -> Density:
    settings = RaterSettings(nodes=5)
    table = rater_table(rated(12, criteria=2, categories=4, seen=0.7).labels, settings)
    return Density(table, layout(table, settings))


def test_an_ideal_rating_is_moved_back_by_its_criterion_s_eta(density):
    plan, x = density.layout, np.arange(1.0, density.layout.p + 1)
    for by, filled in ((1, lambda old: [*old[1:], 3.0]), (-1, lambda old: [-3.0, *old[:-1]])):
        found = module._move_criterion(density, x, 1, by)
        eta, gamma = plan.indices("eta")[1], plan.gamma[1]
        wanted = x.copy()
        wanted[eta] += by
        wanted[gamma] = filled(x[gamma].tolist())
        np.testing.assert_array_equal(found, wanted)
    assert x[0] == 1


def test_severities_are_centred(density):
    wanted = np.array([0.4, -0.3, 0.1, 0.2, -0.9])
    found = module._severities(density, wanted)
    np.testing.assert_allclose(density.layout.severity(found)[0], wanted - wanted.mean(), atol=1e-12)
    assert not np.delete(found, density.layout.indices("phi")).any()
    moved = module._move_subset(density, np.ones(density.layout.p), [1, 3], -2.0)
    away = np.array([0, -2.0, 0, -2, 0])
    np.testing.assert_allclose(density.layout.severity(moved - 1)[0], away - away.mean(), atol=1e-12)


@pytest.mark.parametrize("moved", [(0, 0), (1, -1), (-2, 2)])
def test_steps_are_those_of_the_shares_of_labels(density, moved):
    """Differences of log numbers, half a label added to each category before and after they are moved; up to 3."""
    table, x = density.table, np.full(density.layout.p, 9.0)
    module._set_steps(density, x, np.array(moved))
    for j, by in enumerate(moved):
        number = [0.5] * 4
        for k in range(4):
            labels = sum(1 for v, c in zip(table.value, table.criterion, strict=True) if c == j and v == k)
            number[min(max(k - by, 0), 3)] += labels + 0.5
        steps = [min(max(math.log(a / b), -3), 3) for a, b in itertools.pairwise(number)]
        assert x[density.layout.gamma[j]].tolist() == pytest.approx(steps)
    assert (np.delete(x, density.layout.gamma.ravel()) == 9).all()


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        # 19 + 1 labels to 1 and the other way round; 20 of 21 are more than e³.
        ([0] * 19, [math.log(20), 0]), ([0] * 20, [3, 0]), ([0] * 90, [3, 0]), ([2] * 19, [0, -math.log(20)]),
        ([2] * 20, [0, -3]), ([2] * 90, [0, -3]),
    ],
)  # fmt: skip
def test_steps_are_at_most_3_of_a_criterion_s_own_categories(values, steps):
    """The second criterion has two categories, in a table of three."""
    table = SimpleNamespace(
        criteria="xy", n_categories=3, n_blocks=2, sizes=[3, 2], value=np.array([*values, 1]),
        block=np.array([0] * len(values) + [1]),
    )  # fmt: skip
    density = SimpleNamespace(table=table, layout=SimpleNamespace(gamma=np.array([[0, 1], [2, -1]])))
    x = np.full(4, 9.0)
    module._set_steps(density, x, np.array([0, 0]))
    assert x.tolist() == pytest.approx([*steps, -math.log(2), 9])


@pytest.mark.parametrize(("j", "by", "moved"), [
    (0, 1, [2, 3, 3, 4, 5, 7]), (0, -1, [-3, 1, 3, 4, 5, 5]), (1, 1, [1, 2, 3, 4, 5, 6]), (1, -1, [1, 2, -3, 4, 5, 6]),
])  # fmt: skip
def test_the_steps_that_a_criterion_has_are_moved_and_those_of_no_other(j, by, moved):
    plan = SimpleNamespace(indices=lambda name: np.array([5, 4]), gamma=np.array([[0, 1], [2, -1]]))
    density = SimpleNamespace(layout=plan, table=SimpleNamespace(criteria="xy"))
    found = module._move_criterion(density, np.arange(1.0, 7), j, by)
    moved[[5, 4][j]] = [6, 5][j] + by
    assert found.tolist() == [*moved[:2], *([-3.0 if by < 0 else 3.0] if j else [3]), *moved[3:]]


def test_means_by_code_are_0_of_none():
    assert module.mean_by_code(np.array([0, 0, 2]), np.array([1.0, 2, 5]), 4).tolist() == [1.5, 0, 5, 0]


def test_severity_starts_as_the_distance_from_a_cell_drawn_to_its_criterion(density):
    table = density.table
    usual = [np.mean(table.value[table.criterion == j]) for j in (0, 1)]
    away = {r: [] for r in range(5)}
    for k in range(len(table)):
        cell = table.value[table.cell == table.cell[k]]
        mean = (cell.sum() + usual[table.criterion[k]]) / (len(cell) + 1)
        away[int(table.rater[k])].append(table.value[k] - mean)
    wanted = np.array([np.mean(away[r]) for r in range(5)])
    found = module._start_from_labels(density)
    np.testing.assert_allclose(density.layout.severity(found)[0], wanted - wanted.mean(), atol=1e-12)
    eta = density.layout.indices("eta")
    np.testing.assert_array_equal(found[eta], density.layout.mean[eta])


def test_rows_of_positions_are_filled_to_one_length():
    rows = [np.array([3, 1]), np.array([2]), np.array([], dtype=int)]
    assert module.padded_positions(rows, 7).tolist() == [[3, 1], [2, 7], [7, 7]]


# -- draws --------------------------------------------------------------------------------------------


def test_some_of_the_draws_are_spread_evenly():
    found = RaterFit(None, (), None, np.arange(11.0)[:, None], None)
    assert found.spread_draws(3).ravel().tolist() == [0, 5, 10]
    assert found.spread_draws(1).ravel().tolist() == [0]
    assert found.spread_draws(40).ravel().tolist() == list(range(11))


def test_the_centre_is_the_mode_or_the_mean_of_the_draws():
    draws = np.array([[1.0, 2], [3, 6]])
    assert RaterFit(None, (mode((7.0, 8.0)),), None, draws, None).center.tolist() == [7, 8]
    assert RaterFit(None, (mode((7.0, 8.0)),), None, draws, None, sampled=True).center.tolist() == [2, 4]
    chains = Chains(draws[None], 0, 1.0)
    assert RaterFit(None, (mode((7.0, 8.0)),), chains, draws, None).center.tolist() == [2, 4]
    assert Chains(np.arange(12.0).reshape(2, 3, 2), 0, 1.0).all.tolist() == np.arange(12.0).reshape(6, 2).tolist()


def test_starts_alternate_between_best_and_random(monkeypatch):
    """Values 1, 2 for the first, in its round coordinates again; then those of each further start."""
    values = {"labels": 1.0, "labels*": 2.0, "near labels*": 5.0, "random labels*": 3.0, "near near labels*": 4.0}
    climbed, told, drawn = [], [], []

    def climb(density, x, root):
        name = f"{x}*" if x == "labels" and isinstance(root, str) else x
        climbed.append((x, root if isinstance(root, str) else root.tolist()))
        return name, values[name]

    class Start(str):
        def __len__(self):
            return 2

    monkeypatch.setattr(module, "_start_from_labels", lambda density: Start("labels"))
    monkeypatch.setattr(module, "widths", lambda density, x, sd: sd)
    monkeypatch.setattr(module, "observed_information", lambda density, x: f"information at {x}")
    monkeypatch.setattr(module, "_round_coordinates", lambda information: "round")
    monkeypatch.setattr(module, "_random_start", lambda d, x, rng: drawn.append(rng.random()) or f"random {x}")
    monkeypatch.setattr(module, "_nearby_start", lambda d, x, rng: drawn.append(rng.random()) or f"near {x}")
    monkeypatch.setattr(module, "_widened", lambda d, x: x)
    monkeypatch.setattr(module, "climb", climb)
    density = SimpleNamespace(layout=SimpleNamespace(sd=np.array([2.0, 3.0])))
    reached, root = module._climb_from_starts(density, 1, 4, None)
    assert (reached, root) == ([("labels*", 2.0)], "round")
    assert climbed == [("labels", [[2, 0], [0, 3]]), ("labels", "round")]
    reached, _ = module._climb_from_starts(density, 4, 4, lambda *what: told.append(what))
    # The second is near the first, the third anywhere, the fourth near the best so far.
    assert [x for x, _ in reached] == ["labels*", "near labels*", "random labels*", "near near labels*"]
    assert told == [("fitting", 1, 4), ("fitting", 2, 4), ("fitting", 3, 4)]
    assert drawn == [np.random.default_rng(np.random.SeedSequence(4, spawn_key=(7, i))).random() for i in (1, 2, 3)]


def test_a_nearby_start_moves_one_criterion_or_two_by_a_category(density, monkeypatch):
    moved = []
    monkeypatch.setattr(module, "_move_criterion", lambda density, x, j, by: moved.append((j, by)) or x)
    rng, often = np.random.default_rng(0), []
    for _ in range(200):
        moved.clear()
        module._nearby_start(density, None, rng)
        often.append(len(moved))
        assert len({j for j, _ in moved}) == len(moved)
        assert {j for j, _ in moved} <= {0, 1}
        assert {by for _, by in moved} <= {-1, 1}
    assert set(often) == {1, 2}
    assert 60 < often.count(1) < 140


def test_of_many_criteria_two_are_moved_at_most(monkeypatch):
    monkeypatch.setattr(module, "_move_criterion", lambda density, x, j, by: [*x, j])
    rng, density = np.random.default_rng(1), SimpleNamespace(table=SimpleNamespace(criteria="abcde"))
    often = [len(module._nearby_start(density, [], rng)) for _ in range(40)]
    assert set(often) == {1, 2}


def test_a_start_elsewhere_is_0_3_deviations_away_with_ideal_ratings_moved(density):
    plan, first = density.layout, np.full(density.layout.p, 0.5)
    drawn = np.array([module._random_start(density, first, np.random.default_rng(k)) for k in range(400)])
    phi = plan.indices("phi")
    np.testing.assert_allclose(drawn[:, phi].mean(axis=0), 0.5, atol=0.08 * plan.sd[phi].max())
    np.testing.assert_allclose(drawn[:, phi].std(axis=0), 0.3 * plan.sd[phi], rtol=0.15)
    rest = np.setdiff1d(np.arange(plan.p), [*plan.indices("eta"), *plan.gamma.ravel()])
    np.testing.assert_allclose(drawn[:, rest].std(axis=0), 0.3 * plan.sd[rest], rtol=0.15)
    assert (plan.sd[rest] < 0.9).any()
    eta = drawn[:, plan.indices("eta")]
    moved = np.rint(eta)
    assert set(moved.ravel().tolist()) == {-1, 0, 1}
    assert (eta - moved).std() == pytest.approx(0.1, rel=0.1)
    for x, by in zip(drawn[:20], moved[:20].astype(int), strict=True):
        wanted = x.copy()
        module._set_steps(density, wanted, by)
        np.testing.assert_array_equal(x, wanted)


def test_no_variability_of_a_start_is_below_that_of_its_prior(density):
    plan = density.layout
    mine = plan.indices("ln psi")
    first = np.full(plan.p, -3.0)
    first[mine[0]] = plan.mean[mine[0]] + 1
    wide = module._widened(density, first)
    assert wide[mine].tolist() == [plan.mean[mine[0]] + 1, *plan.mean[mine[1:]]]
    rest = np.setdiff1d(np.arange(plan.p), mine)
    assert (wide[rest] == first[rest]).all()
    assert (first[mine[1:]] == -3.0).all()


def test_information_is_the_curvature():
    np.testing.assert_allclose(module.observed_information(Bowl(), np.array([3.0, 1.0])), INFORMATION, rtol=1e-7)


# -- quantities of raters, from parameters that are φ themselves -------------------------------------------


def fitted(draws, x, **given) -> RaterFit:
    """Two groups, two criteria, two raters: φ of each; ln ψ is a tenth of it."""
    return planted(np.reshape(x, (2, 2, 2)), log_psi=np.array(x) / 10, draws=draws, confidence=0.9, **given)


X = np.array([1.0, 3, 2, 5, 4, 4, 6, 8])
"""φ of both raters with the first group 1, 3 and 2, 5 on two criteria: 1.5 and 4; with the second 5 and 6."""
SECOND = np.array([0, 1.0] * 4)


def test_severity_and_variability_are_means_over_groups_and_criteria():
    """Severity is relative to the mean of both raters, who are 2.5 and 1 apart: ±1.25 and ±.5."""
    found = fitted([X, X + 2 * SECOND], X)
    assert found.severity.value.tolist() == pytest.approx([-0.875, 0.875])
    assert found.variability.value.tolist() == pytest.approx(np.exp([0.325, 0.5]))
    np.testing.assert_allclose(found.severity.replicates, [[-0.875, 0.875], [-1.875, 1.875]])
    assert found.variability_ratios.value.tolist() == pytest.approx(np.exp([0.35, 0.2]))
    one = fitted([X, X], X, compared=((True, True), (True, False))).variability_ratios
    assert one.value.tolist() == pytest.approx([np.exp(0.35), np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("anchors", "gaps"),
    [
        ([[True, True]], [3.5 - 2.75, 2 - 2.75]),
        ([[True, False]], [0, -1.5]),
        ([[False, True]], [1.5, 0]),
        ([[False, False]], [3.5, 2]),
    ],
)
def test_group_gaps_subtract_mean_of_anchors(anchors, gaps):
    made = fitted([X, X + np.array([0, 0, 0, 0, 1, 0, 1, 0])], X)
    vars(made.table)["widening_of_gaps"] = np.array([[3.0, 1.0]])
    found = made.severity_gaps(np.array(anchors))
    assert found.value.tolist() == pytest.approx(gaps)
    # The second draw's gap of the first rater is 1 more, three times as wide; anchors take their mean of it.
    more = np.array([3.0, 0]) - 3.0 * anchors[0][0] / max(sum(anchors[0]), 1)
    np.testing.assert_allclose(found.replicates, [gaps, gaps + more])


def test_each_further_group_has_its_own_anchors():
    """φ of two raters with three groups on one criterion: gaps 1, 3 and 4, 4; the second rater or both as anchors."""
    found = planted([[[1, 2]], [[2, 5]], [[5, 6]]])
    assert found.severity_gaps(np.array([[False, True], [True, True]])).value.tolist() == pytest.approx([-2, 0, 0, 0])
    assert found.severity_gaps(np.array([[True, False], [False, False]])).value.tolist() == pytest.approx([0, 2, 4, 4])


def test_gaps_of_raters_who_are_not_compared_are_not_known():
    found = fitted([X, X], X, compared=((True, True), (False, True))).severity_gaps(np.array([[False, True]]))
    assert found.value.tolist() == pytest.approx([np.nan, 0], nan_ok=True)


def test_draws_of_a_posterior_have_its_mean_and_those_of_a_normal_its_mode():
    draws = np.stack([X, X + 2 * SECOND])
    quick, sampled = fitted(draws, X), fitted(draws, X, chains=Chains(draws[None], 0, 1.0))
    assert quick.severity.value.tolist() == pytest.approx([-0.875, 0.875])
    assert sampled.severity.value.tolist() == pytest.approx([-1.375, 1.375])
    assert (quick.severity.drawn, sampled.severity.drawn) == ("normal", "posterior")
    many = fitted(X + np.linspace(-2, 2, 1001)[:, None] * SECOND, X).severity[1]
    assert (many.low, many.high) == pytest.approx((0.875 - 0.9, 0.875 + 0.9), abs=0.01)


# -- sampling ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("most", "product"), [(8, True), (7, False)])
def test_rows_are_summed_alike_by_a_product_and_by_gathering(most, product, monkeypatch):
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(module, "MOST_DENSE", most)
    asked = []
    grid = SimpleNamespace(patterns=[np.array([0, 2, 2]), np.array([3])], cells=np.zeros(4))

    def stages(x, numpy, by_label, by_cell):
        rows = np.arange(8.0).reshape(4, 2)
        asked.append((by_label(rows[:, :1]), by_cell[0](rows)))
        return SimpleNamespace(value=x)

    table = SimpleNamespace(
        cells=SimpleNamespace(column=np.array([1, 3, 0]), start=np.array([0, 2, 3])), n_blocks=1, raters="ab",
        n_categories=2,
    )  # fmt: skip
    density = SimpleNamespace(table=table, grids=[grid], stages=stages, log_prior=lambda x: 10 * x)
    with jax.enable_x64(True):
        assert module.jax_value(density)(3.0) == 33
    by_label, by_cell = asked[0]
    # Two rows of four numbers are no more than 8; what is gathered is jax's own.
    assert isinstance(by_label, np.ndarray) == isinstance(by_cell, np.ndarray) == product
    assert by_label.tolist() == [[2 + 6], [0]]
    assert by_cell.tolist() == [[0 + 4 + 4, 1 + 5 + 5], [6, 7]]


@pytest.mark.slow
def test_diagnostics_cover_each_varying_quantity():
    stats = pytest.importorskip("arviz_stats.base").array_stats
    rng = np.random.default_rng(1)
    moving = rng.normal(size=(2, 300, 2))
    moving[1, :, 1] += 2
    # Draws of which the tail is known worse than the bulk: the sign flips each time, the size is nearly constant.
    size = np.abs(np.convolve(rng.normal(size=700), np.ones(60) / 60, "same"))[:600].reshape(2, 300)
    flipping = size * rng.choice([-1.0, 1], size=(2, 300))
    values = np.dstack([moving, np.full((2, 300, 1), 4.0), flipping[..., None]])
    rhat, samples = module.rhat_and_samples(values)
    assert rhat[0] == pytest.approx(1, abs=0.02)
    assert rhat[1] > 1.3
    assert np.isnan(rhat[2])
    assert np.isnan(samples[2])
    assert (rhat[1], rhat[3]) == (stats.rhat(moving[..., 1]), stats.rhat(flipping))
    for k in (0, 1, 3):
        bulk, tail = stats.ess(values[..., k], method="bulk"), stats.ess(values[..., k], method="tail", prob=0.95)
        assert samples[k] == min(bulk, tail)
    assert samples[3] < stats.ess(flipping, method="bulk")
