"""Positions of the parameters of a rater model: contrasts, grids of traits, and which raters are compared."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from rated import rated
from test_rater_table import table_of

from assay.errors import DesignError
from assay.psychometrics.raters import density as module
from assay.psychometrics.raters.density import PRIORS, Density, contrasts, layout, point_probabilities, quadrature
from assay.psychometrics.raters.table import RaterSettings, rater_table


@pytest.mark.parametrize("n", [2, 3, 6])
def test_contrasts_are_orthonormal_and_sum_to_0(n):
    found = contrasts(n)
    np.testing.assert_allclose(found.T @ found, np.identity(n - 1), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-12)
    assert contrasts(1).shape == (1, 0)


def test_points_integrate_polynomials_of_a_normal():
    x, log_w = quadrature(5)
    assert len(x) == 5
    # Moments of a standard normal: 1, 0, 1, 0, 3, ..., 105 of the 8th power.
    for power, moment in ((0, 1), (1, 0), (2, 1), (4, 3), (8, 105)):
        assert np.exp(log_w) @ x**power == pytest.approx(moment, abs=1e-9)


@pytest.mark.parametrize(
    ("nodes", "n", "each"), [(21, 1, 21), (3, 1, 3), (21, 2, 14), (9, 2, 7), (11, 2, 8), (10, 2, 7)]
)
def test_two_traits_have_two_thirds_as_many_points_each(nodes, n, each):
    points, log_weights = module._grid(nodes, n)
    assert points.shape == (each**n, n)
    assert np.exp(log_weights).sum() == pytest.approx(1)
    assert np.exp(log_weights) @ points**2 == pytest.approx(np.ones(n))
    if n == 2:
        assert np.exp(log_weights) @ points.prod(axis=1) == pytest.approx(0, abs=1e-12)
        assert np.exp(log_weights) @ (points**2).prod(axis=1) == pytest.approx(1)


def test_traits_linked_by_a_criterion_are_grouped():
    found = module.linked_traits([("a",), ("b",), ("c",), ("a", "d"), ("e",), ("c", "b")])
    found = [(sorted(names), criteria) for names, criteria in found]
    assert found == [(["a", "d"], [0, 3]), (["b", "c"], [1, 2, 5]), (["e"], [4])]
    ((names, criteria),) = module.linked_traits([("a",), ("b",), ("b", "a")])
    assert (sorted(names), criteria) == (["a", "b"], [0, 1, 2])


def criteria_of(*names) -> SimpleNamespace:
    return SimpleNamespace(criteria=names)


def test_the_traits_of_each_criterion():
    table = criteria_of("x", "y")
    assert module.criterion_traits(table, None) == [("trait",)] * 2
    assert module.criterion_traits(table, {"y": ("b", "a", "b"), "x": "a"}) == [("a",), ("b", "a")]
    with pytest.raises(DesignError, match="criterion 'z'"):
        module.criterion_traits(table, {"x": "a", "y": "a", "z": "a"})
    with pytest.raises(DesignError, match="every criterion needs one; y has none"):
        module.criterion_traits(table, {"x": "a"})
    with pytest.raises(DesignError, match="one criterion without a name"):
        module.criterion_traits(criteria_of(None), {"x": "a"})


def plan_of(labels, **options):
    settings = RaterSettings(nodes=5, **options)
    table = rater_table(labels, settings)
    return table, layout(table, settings)


def test_three_traits_together_are_refused_and_lone_criteria_share_none():
    labels = rated(12, criteria=3, categories=3).labels
    with pytest.raises(DesignError, match=r"criteria connect 3 traits \(a, b, c\); at most 2 can be connected"):
        plan_of(labels, traits={"c1": ("a", "b"), "c2": ("b", "c"), "c3": "a"})
    _, plan = plan_of(labels, traits={"c1": "a", "c2": "b", "c3": "a"})
    assert [t.names for t in plan.traits] == [("a",), ()]
    assert [t.criteria.tolist() for t in plan.traits] == [[0, 2], [1]]
    assert plan.notes == ("ideal ratings of c2 have no shared trait; their shares are estimated directly",)
    _, both = plan_of(labels, traits={"c1": "a", "c2": ("a", "b"), "c3": "b"})
    assert both.traits[0].names == ("a", "b")
    assert (both.traits[0].loads >= 0).tolist() == [[True, False], [True, True], [False, True]]
    assert sorted(both.traits[0].loads[both.traits[0].loads >= 0].tolist()) == both.indices("ln alpha").tolist()


def test_parameters_are_counted_by_kind_with_their_priors():
    table, plan = plan_of(rated(24, criteria=2, categories=4).labels, group="dialect")
    n = {kind: len(plan.indices(kind)) for kind in PRIORS}
    assert n.pop("ln psi in a crowd") == 0
    assert n == {
        "phi": 4, "eta": 2, "ln psi": 5, "ln tau": 1, "phi by group": 4, "ln psi by group": 5, "ln alpha": 2,
        "gamma": 2 * 2 * 3,
    }  # fmt: skip
    assert plan.p == sum(n.values())
    assert plan.shape == (2, 2, 5)
    assert sorted(plan.gamma.ravel().tolist()) == plan.indices("gamma").tolist()
    for kind in n:
        mean, sd = PRIORS[kind]
        assert set(plan.mean[plan.indices(kind)]) == {mean}
        assert set(plan.sd[plan.indices(kind)]) == {sd}
    rng = np.random.default_rng(0)
    x = rng.normal(size=plan.p)
    severity = plan.severity(x)
    np.testing.assert_allclose(severity.sum(axis=-1), 0, atol=1e-12)
    # Without its own parameters a group is as the first; ψ of criteria in the middle is that of raters.
    x[[*plan.indices("phi by group"), *plan.indices("ln psi by group")]] = 0
    np.testing.assert_allclose(plan.severity(x)[1], plan.severity(x)[0])
    np.testing.assert_allclose(plan.variability(x), np.tile(x[plan.indices("ln psi")], (2, 1)))
    assert plan.severity(np.stack([x, x])).shape == (2, 2, 5)
    # ψ is e^ln ψ of .07 to 3.5, around .5.
    centre, wide = PRIORS["ln psi"]
    assert [math.exp(centre + k * 1.96 * wide) for k in (-1, 0, 1)] == pytest.approx([0.07, 0.5, 3.55], abs=0.005)
    assert len(table.groups) == 2


@pytest.mark.parametrize(("second", "large"), [(10, True), (9, False)])
def test_raters_who_saw_two_large_groups_are_compared(second, large):
    # a and b saw both groups, b each of them once; c the second alone, d the first alone.
    rows = [(i, 0, r, (i + r) % 3) for i in range(10) for r in (0, 3)] + [(0, 0, 1, 1)]
    rows += [(10 + i, 0, r, (i + r) % 3) for i in range(second) for r in (0, 2)] + [(10, 0, 1, 2)]
    n = 10 + second
    table = table_of(rows, ("n", "s"), (list(range(n)), [0] * 10 + [1] * second))
    plan = layout(table, RaterSettings(group="g", nodes=5))
    assert plan.compared[1].tolist() == [large, large, False, False]
    assert len(plan.indices("phi by group")) == (1 if large else 0)
    assert len(plan.indices("ln psi by group")) == (2 if large else 0)
    alone = table_of(
        [row for row in rows if row[0] < 10 or row[2] != 1], ("n", "s"), (list(range(n)), [0] * 10 + [1] * second)
    )
    assert not layout(alone, RaterSettings(group="g", nodes=5)).compared[1].any()  # one rater is not compared


def test_steps_match_categories_of_criterion():
    rows = [(i, j, r, (i + r) % (2 + j)) for i in range(6) for j in (0, 1) for r in (0, 1)]
    plan = layout(table_of(rows), RaterSettings(nodes=5))
    assert (plan.gamma >= 0).tolist() == [[True, False], [True, True]]
    assert plan.kinds.count("gamma") == 3
    found = Density(table_of(rows), plan)
    assert found.valid.tolist() == [[True, True, False], [True, True, True]]


def test_points_are_as_likely_as_their_exponentials():
    found = point_probabilities(np.log(np.array([[1.0, 3], [2, 2]])) - 2000)
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.5, 0.5]])


def test_what_lies_beyond_the_farthest_moves_nothing():
    """ln ψ beyond 4 either way is as 4, and its slope is that of the prior alone."""
    table, plan = plan_of(rated(8, categories=3).labels)
    found = Density(table, plan)
    x = plan.mean.copy()
    at = plan.indices("ln psi")[2]
    for sign in (1, -1):
        x[at] = 4.0 * sign
        likelihood = found.evaluate(x).value
        x[at] = 5.0 * sign
        assert found.evaluate(x).value == pytest.approx(likelihood)
        slope = found.value_and_gradient(x)[1][at]
        assert slope == pytest.approx(-(x[at] - plan.mean[at]) / plan.sd[at] ** 2)
