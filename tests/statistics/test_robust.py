"""The score test of a mean of class means, and of a mean over clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from assay.replacement import decision
from assay.statistics.wins import restricted, robust_p, score


def test_one_class_is_tangos_score_with_n_less_one():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(30, [0.2, 0.6, 0.2], size=200).astype(float)
    z, psi = score(counts[:, 0], counts[:, 2], 30, 0.15)
    _, variance = restricted(counts[:, None], 0.15)
    np.testing.assert_allclose(variance, (psi - 0.15**2) / 29, atol=1e-8)
    p, reverse = robust_p(counts[:, None], 0.15)
    np.testing.assert_allclose(p, stats.norm.cdf(z * np.sqrt(29 / 30)), atol=1e-7)
    np.testing.assert_allclose(p + reverse, 1.0)


def test_a_rare_class_of_ties_is_granted_the_losses_that_the_hypothesis_needs():
    # 95 and 8 ties, epsilon .15: the likeliest way to a mean of .15 leaves the large class as it is and gives the
    # small one P(loss) = .3, so Var = .3 · .7 / 7 / 4 = .0075. What is seen has no variance at all.
    counts = np.array([[0, 95, 0], [0, 8, 0]], dtype=float)
    mean, variance = restricted(counts, 0.15)
    assert (mean, variance) == (0, pytest.approx(0.0075, rel=1e-6))
    assert robust_p(counts, 0.15)[0] == pytest.approx(stats.norm.cdf(-0.15 / np.sqrt(0.0075)), rel=1e-6)


@pytest.mark.parametrize("epsilon", [-0.2, 0.0, 0.15])
def test_the_variance_under_the_hypothesis_by_the_slow_road(epsilon):
    rng = np.random.default_rng(1)
    for counts in rng.integers(1, 30, (5, 3, 3)).astype(float):

        def chances(x: np.ndarray) -> np.ndarray:
            e = np.exp(np.concatenate([x.reshape(3, 2), np.zeros((3, 1))], axis=1))
            return e / e.sum(axis=1, keepdims=True)

        found = optimize.minimize(
            lambda x, counts=counts: -(counts * np.log(chances(x))).sum(), np.zeros(6), method="SLSQP",
            constraints={"type": "eq", "fun": lambda x: (chances(x)[:, 2] - chances(x)[:, 0]).mean() - epsilon},
            options={"ftol": 1e-12, "maxiter": 500},
        )  # fmt: skip
        p = chances(found.x)
        each = p[:, 0] + p[:, 2] - (p[:, 2] - p[:, 0]) ** 2
        assert restricted(counts, epsilon)[1] == pytest.approx((each / (counts.sum(axis=1) - 1)).sum() / 9, rel=1e-3)


def test_wins_and_losses_in_each_others_place_turn_the_test_round():
    counts = np.random.default_rng(2).integers(0, 20, (50, 4, 3)).astype(float)
    p, reverse = robust_p(counts, 0.1)
    turned, back = robust_p(counts[..., ::-1], -0.1)
    np.testing.assert_allclose((p, reverse), (back, turned), atol=1e-9)


def test_a_class_that_does_not_occur_changes_nothing():
    counts = np.array([[3, 10, 4], [1, 6, 2]], dtype=float)
    with_empty = np.concatenate([counts, np.zeros((1, 3))])
    assert robust_p(counts, 0.1)[0] == pytest.approx(robust_p(with_empty, 0.1)[0], abs=1e-12)
    assert np.isnan(robust_p(np.zeros((2, 3)), 0.1)).all()


# Share, share of ties and E[d] of each class: the mean of the class means is epsilon.
DESIGNS = {
    "rare class, all ties likely": (100, 0.15, (0.93, 0.07), (0.95, 0.7), (0.0, 0.3)),
    "judge never wins": (60, 0.1, (0.85, 0.15), (0.9, 0.9), (0.1, 0.1)),
    "rare class weak": (200, 0.2, (0.95, 0.05), (0.95, 0.6), (0.0, 0.4)),
    "three, two rare": (100, 0.1, (0.88, 0.06, 0.06), (0.95, 0.85, 0.85), (0.0, 0.15, 0.15)),
    "four": (100, 0.2, (0.25,) * 4, (0.8,) * 4, (0.2,) * 4),
    "one easy, one hard": (200, 0.15, (0.6, 0.4), (0.1, 0.8), (0.3, 0.0)),
}


def drawn(n: int, share: tuple[float, ...], ties: tuple[float, ...], difference: tuple[float, ...]) -> np.ndarray:
    """Counts of 6,000 studies in which each class has five items at least: (studies, classes, 3)."""
    rng = np.random.default_rng(31)
    of_class = rng.multinomial(n, share, size=6000)
    of_class = of_class[(of_class >= 5).all(axis=1)]
    chance = [np.clip([(1 - t - d) / 2, t, (1 - t + d) / 2], 0, 1) for t, d in zip(ties, difference, strict=True)]
    return np.stack([rng.multinomial(of_class[:, c], p) for c, p in enumerate(chance)], axis=1).astype(float)


@pytest.mark.parametrize("name", DESIGNS)
def test_classes_that_differ_leave_the_level_where_it_is(name):
    n, epsilon, share, ties, difference = DESIGNS[name]
    p, reverse = decision.best_p(drawn(n, share, ties, difference)[:, None], epsilon)
    # The standard error of .05 in some 4,000 studies is .0035.
    assert np.mean(p <= 0.05) <= 0.062
    assert np.mean(reverse <= 0.05) <= 0.066


def test_the_published_variance_rejects_too_often_there():
    n, epsilon, share, ties, difference = DESIGNS["rare class, all ties likely"]
    assert np.mean(decision.p_values(drawn(n, share, ties, difference)[:, None], epsilon)[1] <= 0.05) > 0.08
