"""May a fit be trusted, and what does it say? Problems at their limits, modes, ideal labels, from given parts."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from rated import planted
from test_rater_table import table_of

from assay.psychometrics.raters import results as module
from assay.psychometrics.raters.density import Density, layout
from assay.psychometrics.raters.fit import Chains, Mode, RaterFit
from assay.psychometrics.raters.results import Diagnostics, convergence_problems, diagnose, modes_frame
from assay.psychometrics.raters.table import RaterSettings
from assay.psychometrics.words import no_difference_line, severity_lines


def chains(divergences=0, shape=(2, 1000, 1)) -> Chains:
    return Chains(np.zeros(shape), divergences, 1.0)


def problems(rows, divergences=0) -> list[str]:
    """From quantity, annotator, R-hat and effective draws."""
    names = ("quantity", "annotator", "rhat", "effective_draws")
    frame = pl.DataFrame(rows, schema=dict(zip(names, (pl.String, pl.String, pl.Float64, pl.Float64), strict=True)),
                         orient="row")  # fmt: skip
    return convergence_problems(chains(divergences), frame)


GOOD = ("severity", "a", 1.01, 200.0)


def test_draws_that_are_enough_have_no_problems():
    assert problems([GOOD, ("variability", "b", 1.0, 900.0)], 2) == []
    assert problems([], 2) == []
    assert Diagnostics(pl.DataFrame(), 0, ()).converged
    assert not Diagnostics(pl.DataFrame(), 0, ("one",)).converged


def test_the_worst_r_hat_is_named_and_others_counted():
    assert problems([GOOD, ("variability", "b", 1.0101, 300.0)]) == ["R-hat is 1.010 for the variability of b"]
    rows = [("severity", "a", 1.02, 300.0), ("variability", "b", 1.25, 300.0), ("severity", "c", 1.011, 300.0), GOOD]
    assert problems(rows) == ["R-hat is 1.250 for the variability of b and above 1.01 for 2 more"]


def test_a_hundred_effective_draws_a_chain_are_wanted():
    assert problems([GOOD, ("variability", "b", 1.0, 199.4)]) == [
        "the variability of b has 199 effective draws, and 200 are wanted"
    ]
    assert problems([GOOD, ("severity", "c", None, None)]) == [
        "the severity of c has 0 effective draws, and 200 are wanted"
    ]


def test_one_draw_in_a_thousand_may_diverge():
    assert problems([GOOD], 3) == ["3 of 2,000 draws diverged"]
    assert len(problems([("severity", "a", 1.5, 10.0)], 3)) == 3


@pytest.mark.parametrize(("steepness", "words"), [(0.5, ("the fit stopped before a maximum: a gradient of 0.5 is left, "
                                                         "and 0.01 may be",)), (0.001, ())])  # fmt: skip
def test_quick_method_reports_convergence(steepness, words):
    best = Mode(np.zeros(1), 0.0, np.eye(1), 0.0, 1, steepness)
    found = diagnose(RaterFit(planted([[[0.0]]]).density, (best,), None, np.zeros((2, 2)), RaterSettings()))
    assert found.problems == words
    assert found.divergences is None
    assert found.rows.columns == ["quantity", "annotator", "rhat", "effective_draws"]
    assert found.rows.height == 0


def test_quantities_by_group_are_differences_from_the_first(monkeypatch):
    """Draws of φ and ln ψ, (chains, draws, groups, raters); the diagnostics are asked of what is reported."""
    rng = np.random.default_rng(0)
    phi, psi = rng.normal(size=(2, 2, 5, 3, 2))
    layout = SimpleNamespace(severity=lambda x: phi, variability=lambda x: psi)
    asked = []

    def diagnostics(values):
        asked.append(values)
        return np.array([1.0, np.nan]), np.array([len(asked) * 1000.0, np.nan])

    monkeypatch.setattr(module, "rhat_and_samples", diagnostics)
    found = diagnose(SimpleNamespace(
        chains=chains(1), density=SimpleNamespace(layout=layout),
        table=SimpleNamespace(raters=("a", "b"), groups=("n", "s", "t")),
    ))  # fmt: skip
    wanted = [phi.mean(axis=2), psi.mean(axis=2), phi[:, :, 1] - phi[:, :, 0], psi[:, :, 1] - psi[:, :, 0],
              phi[:, :, 2] - phi[:, :, 0], psi[:, :, 2] - psi[:, :, 0]]  # fmt: skip
    for one, other in zip(asked, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    names = ["severity", "variability", "severity, s", "variability, s", "severity, t", "variability, t"]
    assert found.rows["quantity"].to_list() == [name for name in names for _ in range(2)]
    assert found.rows["annotator"].to_list() == ["a", "b"] * 6
    assert found.rows["rhat"].to_list() == [1.0, None] * 6
    assert found.rows["effective_draws"][::2].to_list() == [1000.0 * k for k in range(1, 7)]
    assert found.divergences == 1


def test_modes_are_compared_with_the_best():
    """φ of two raters, then their ln ψ."""
    modes = (
        Mode(np.array([0.2, -0.2, math.log(1.5), math.log(2)]), -10.0, np.eye(4), -8.0, 3, 0.0),
        Mode(np.array([0.5, -0.5, math.log(1.1), math.log(2)]), -12.0, np.eye(4), -8.0 - math.log(3), 1, 0.0),
    )
    found = modes_frame(replace(planted([[[0.2, -0.2]]]), modes=modes))
    assert found["mode"].to_list() == [1, 2]
    assert found["log_posterior"].to_list() == [0, -2]
    assert found["share"].to_list() == pytest.approx([3 / 4, 1 / 4])
    assert found["starts"].to_list() == [3, 1]
    assert found["severity_apart"].to_list() == pytest.approx([0, 0.3])
    assert found["variability_apart"].to_list() == pytest.approx([0, 0.4])


# -- the predictive check -----------------------------------------------------------------------------


def test_counts_are_as_far_from_what_is_expected_as_chi_square_says():
    counts, mean = np.array([[4.0, 6, 0], [0, 0, 1]]), np.array([[5.0, 4, 1], [0, 0, 1]])
    assert module._distance(counts, mean).tolist() == pytest.approx([1 / 5 + 4 / 4 + 1 / 1, 0])
    assert module._distance(np.array([[1.0]]), np.array([[0.0]]))[0] == pytest.approx(1e9)


def test_labels_are_counted_by_rater_and_category():
    found = module._tally(np.array([0, 2, 2, 0]), np.array([1, 0, 0, 1]), 3, 2)
    assert found.tolist() == [[0, 2], [0, 0], [2, 0]]


def test_simulated_categories_match_probabilities():
    p = np.array([[0.5, 0.25, 0.25], [0, 2, 0], [0, 0, 1e-9]])  # for any sum
    rng = np.random.default_rng(0)
    drawn = np.array([module._draw_categories(p, rng) for _ in range(1500)])
    assert set(drawn[:, 1]) == {1}
    assert set(drawn[:, 2]) == {2}
    np.testing.assert_allclose(np.bincount(drawn[:, 0]) / 1500, p[0], atol=0.05)


@pytest.mark.parametrize(("labels", "tables"), [(20_000, 120), (16_000, 125), (10_000, 200), (100, 200), (0, 200)])
def test_the_predictive_check_draws_as_many_tables_as_time_allows(labels, tables, monkeypatch):
    """A rater with labels as expected, one whose labels are all of the other category."""
    expected = np.array([[60.0, 40], [60, 40]])
    observed = np.array([[60.0, 40], [0, 100]])
    asked = []
    draws = iter([np.array([[61.0, 39], [70, 30]])] * 9 + [np.array([[60.0, 40], [0, 100]])])
    monkeypatch.setattr(module, "_simulate", lambda density, x, rng: (expected, next(draws)))
    monkeypatch.setattr(module, "_tally", lambda *_: observed)

    class Table:
        raters, n_categories, rater, value = ("a", "b"), 2, None, None

        def __len__(self):
            return labels

    found = module.predictive(SimpleNamespace(
        table=Table(), density=None, settings=SimpleNamespace(seed=1),
        spread_draws=lambda n: asked.append(n) or np.zeros((10, 1)),
    ))  # fmt: skip
    assert asked == [tables]
    # Ten tables: the first rater's are all as far or farther, of the second's one is.
    assert found["p"].to_list() == pytest.approx([11 / 11, 2 / 11])
    assert found["misfit"].to_list() == pytest.approx([0, 0.6])


# -- ideal labels -------------------------------------------------------------------------------------


def density_of(phi, log_psi, valid) -> SimpleNamespace:
    """One block of so many raters, whose φ and ln ψ are the parameters themselves."""
    n = len(phi)
    return SimpleNamespace(
        table=SimpleNamespace(n_categories=len(valid), n_blocks=1, raters=tuple("abc"[:n])),
        layout=SimpleNamespace(phi=np.diag(phi)), log_psi=lambda x, xp: np.array(log_psi),
        valid=np.array([valid], dtype=bool),
    )  # fmt: skip


def test_the_average_rater_s_label_is_the_mean_of_what_it_may_say():
    # φ .2 on average, ψ e^−.1 on average; of categories 0, 1 and 2 the last does not exist.
    density = density_of([0.5, -0.1], [0.3, -0.5], [True, True, False])
    found = module._average_label(density, np.ones(2))
    psi = math.exp(-0.1)
    for ideal in (0, 1):
        weight = [math.exp(-((k - ideal - 0.2) ** 2) / (2 * psi**2)) for k in (0, 1)]
        assert found[0, ideal] == pytest.approx(weight[1] / sum(weight))


def test_ideal_ratings_count_for_the_label_that_is_given_to_them():
    valid = np.array([[True, True, True], [True, True, False]])
    cells = SimpleNamespace(block=np.array([0, 1]), kind=np.array([0, 1, 0]))
    density = SimpleNamespace(table=SimpleNamespace(n_categories=3, n_blocks=2, cells=cells), valid=valid)
    p = np.array([[0.5, 0.3, 0.2], [0.6, 0.4, 0.0], [0.1, 0.2, 0.7]])
    said = np.array([[0.4, 0.8, 1.2], [0.9, 1.1, 0.0]])
    found = module._label_shares(density, p, said)
    # In the first block ideal ratings 1 and 2 are both called 1; in the second both are.
    np.testing.assert_allclose(found, [[0.5, 0.5, 0], [0, 1, 0], [0.1, 0.9, 0]])


# -- words --------------------------------------------------------------------------------------------


def test_severe_and_lenient_raters_are_named_the_farthest_first():
    rows = pl.DataFrame({
        "annotator": list("abcde"), "estimate": [-0.2, 0.5, -0.7, 0.1, 0.3], "low": [-0.3, 0.4, -0.9, -0.1, 0.1],
        "high": [-0.1, 0.6, -0.5, 0.3, 0.5], "p_adjusted": [0.05, 0.01, 0.001, 0.4, 0.051],
    })  # fmt: skip
    apart, others = severity_lines(rows, 0.05, "categories", 1)
    assert apart == (
        "Significantly more severe than the mean (categories): b (+0.50 [0.40, 0.60]); more lenient: "
        "c (−0.70 [−0.90, −0.50]), a (−0.20 [−0.30, −0.10])."
    )
    assert others == "2 of 5 raters: no significant difference in severity."
    turned = list(severity_lines(rows, 0.05, "logits", -1))
    assert turned[0].startswith("Significantly more severe than the mean (logits): c (−0.70 [")
    assert turned[0].index("c (") < turned[0].index("a (")
    assert turned[0].endswith("; more lenient: b (+0.50 [0.40, 0.60]).")
    below = rows.filter(pl.col("estimate") < 0)
    assert next(severity_lines(below, 0.05, "x", 1)).startswith("Significantly more lenient than the mean (x): c (")
    assert list(severity_lines(rows, 1e-9, "x", 1)) == ["5 of 5 raters: no significant difference in severity."]
    assert list(no_difference_line(1, 4, "scatter")) == ["1 of 4 raters: no significant difference in scatter."]


# -- replicated labels, label by label ------------------------------------------------------------------


def test_replicated_labels_match_model_probabilities():
    """Two criteria that share a trait: of each label Σ p(θ) p(ξ | θ) p(k | ξ), whatever its subject's own labels."""
    rng = np.random.default_rng(2)
    table = table_of([(i, j, r, int(rng.integers(0, 3))) for i in range(8) for j in range(2) for r in range(3)
                      if (i + j + r) % 4])  # fmt: skip
    plan = layout(table, RaterSettings(nodes=5))
    density = Density(table, plan)
    x = plan.mean + 0.4 * rng.normal(size=plan.p)
    (grid,) = density.grids
    points, weight = grid.traits.points[:, 0], np.exp(grid.traits.log_weights)
    phi, psi = (plan.phi @ x).reshape(2, 3), np.exp(plan.psi @ x).reshape(2, 3)
    expected = np.zeros((3, 3))
    for j, r in zip(table.criterion, table.rater, strict=True):
        slope = math.exp(x[grid.traits.loads[j, 0]])
        height = np.concatenate([[0], np.cumsum(x[plan.gamma[j]])])
        for point, share in zip(points, weight, strict=True):
            ideal = np.exp(slope * point * np.arange(3) - height)
            for xi, p in enumerate(ideal / ideal.sum()):
                said = np.exp(-((np.arange(3) - xi - phi[j, r]) ** 2) / (2 * psi[j, r] ** 2))
                expected[r] += share * p * said / said.sum()
    drawn = []
    for _ in range(200):
        mean, counts = module._simulate(density, x, rng)
        drawn.append(counts)
    np.testing.assert_allclose(mean, expected)
    np.testing.assert_array_equal(drawn[0].sum(axis=1), np.bincount(table.rater))
    np.testing.assert_allclose(np.mean(drawn, axis=0), expected, atol=0.5)


# -- means over draws ----------------------------------------------------------------------------------


def test_ideal_labels_are_means_over_draws(monkeypatch):
    """Two draws; a cell of labels 1 to 3, and one of words. Ideal ratings are said to be 0, 1, 2, then 0, 2, 2."""
    posteriors = {0: [[0.5, 0.3, 0.2], [0.1, 0.9, 0]], 1: [[0.1, 0.1, 0.8], [0.3, 0.7, 0]]}
    means = {0: [[0, 1, 2.0]], 1: [[0, 2, 2.0]]}
    monkeypatch.setattr(module, "_cell_posteriors", lambda density, x: np.array(posteriors[x]))
    monkeypatch.setattr(module, "_average_label", lambda density, x: np.array(means[x]))
    monkeypatch.setattr(module, "_label_shares", lambda density, p, said: p)
    cells = SimpleNamespace(kind=np.array([0, 1]), block=np.array([0, 0]), criterion=np.array([0, 1]),
                            item=np.array([1, 0]), start=np.array([0, 3, 5]))  # fmt: skip
    table = SimpleNamespace(
        cells=cells, n_categories=3, categories=((1, 2, 3), ("no", "yes")), items=("i", "k"), criteria=("c", "d")
    )
    found = module.ideal_ratings(SimpleNamespace(table=table, density=None, spread_draws=lambda n: [0, 1][:n]))
    assert found.select("item", "criterion", "ideal", "labels").rows() == [("k", "c", "3", 3), ("i", "d", "yes", 2)]
    assert found["certainty"].to_list() == pytest.approx([0.5, 0.8])
    # Draw 1 .3 + .4 and .9; draw 2 .2 + 1.6 and 1.4; squares .3 + .8, .9 and .4 + 3.2, 2.8.
    mean, square = np.array([(0.7 + 1.8) / 2, (0.9 + 1.4) / 2]), np.array([(1.1 + 3.6) / 2, (0.9 + 2.8) / 2])
    assert found["expected"].to_list() == pytest.approx([1 + mean[0], mean[1]])
    assert found["sd"].to_list() == pytest.approx(np.sqrt(square - mean**2).tolist())
    table.criteria = (None,)
    cells.criterion = np.array([0, 0])
    alone = module.ideal_ratings(SimpleNamespace(table=table, density=None, spread_draws=lambda n: [0, 1]))
    assert "criterion" not in alone.columns


def test_traits_have_their_mean_and_deviation_over_draws(monkeypatch):
    """Points 0, 1 and 4 of two traits, the other way round; three subjects, of which the second has no label."""
    chances = {0: [[0.5, 0.5, 0], [0, 0, 1]], 1: [[0.25, 0.25, 0.5], [0, 1, 0]]}
    points = np.array([[0.0, 4], [1, 1], [4, 0]])
    grid = SimpleNamespace(traits=SimpleNamespace(names=("t", "u"), points=points), patterns=[0, 1],
                           kind=np.array([1, -1, 0]))  # fmt: skip
    none = SimpleNamespace(traits=SimpleNamespace(names=(), points=None), patterns=[0], kind=np.array([0, 0, 0]))
    monkeypatch.setattr(module, "point_probabilities", lambda unit: np.array(chances[unit]))
    density = SimpleNamespace(grids=[grid, none], evaluate=lambda x: SimpleNamespace(unit=[x, x]))
    table = SimpleNamespace(subjects=("p", "q", "r"))
    found = module.traits(SimpleNamespace(density=density, table=table, spread_draws=lambda n: [0, 1]))
    assert found.select("subject", "trait").rows() == [("p", "t"), ("r", "t"), ("p", "u"), ("r", "u")]
    # p: 4 and 1, squares 16 and 1; r: .5 and 2.25, squares .5 and 8.25. The other trait: 0, 1; 2.5, 1.25.
    mean = [2.5, 1.375, 0.5, 1.875]
    square = [8.5, 4.375, 0.5, (8.5 + 4.25) / 2]
    assert found["estimate"].to_list() == pytest.approx(mean)
    assert found["sd"].to_list() == pytest.approx([math.sqrt(s - m * m) for s, m in zip(square, mean, strict=True)])
