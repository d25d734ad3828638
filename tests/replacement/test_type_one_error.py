"""A judge exactly at the boundary of the null, rho_h − rho_f = epsilon: how often is it rejected?

Where counts of wins, ties and losses decide, the error rate is a sum over all counts, exact. The rest is
simulated; ``-m simulation`` runs the longest versions. ``benchmarks/type_one_error.py`` prints the tables of the docs.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import multinomial

import assay
from assay.replacement import decision
from assay.replacement.panel import AltTestSettings, AltTestTable
from assay.replacement.studies import score_studies
from assay.simulation import LabelSource

LEVEL = 0.05


def outcomes(ties: float, difference: float) -> np.ndarray:
    """P(win), P(tie), P(loss) of the judge with E[d] = P(loss) − P(win)."""
    return np.array([(1 - ties - difference) / 2, ties, (1 - ties + difference) / 2]).clip(0)


def level(n: int, ties: float, epsilon: float, test: str = "t", reverse: bool = False) -> float:
    """P(p <= .05) at the boundary, summed over all counts of n items; p as `decision.decide` takes it."""
    counts = np.array([(w, t, n - w - t) for w in range(n + 1) for t in range(n + 1 - w)], dtype=float)
    one = counts[:, None, None, :]
    p = decision.one_sided(one, epsilon, "exact" if test == "exact" else "t")[2 if reverse else 1][:, 0]
    if test == "wilcoxon":
        flat = decision.t_parts(one)[1][:, 0] <= 1e-12
        p = np.where(flat, p, decision.wilcoxon_p(counts, epsilon)[1 if reverse else 0])
    return float(multinomial.pmf(counts, n, outcomes(ties, epsilon))[p <= LEVEL].sum())


# -- one test -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [30, 50, 100, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2])
@pytest.mark.parametrize("ties", [0.0, 0.3, 0.5, 0.7])
def test_t_test_rejects_at_about_its_level(n, epsilon, ties):
    # Counts are discrete, so no test is at .05 exactly; with half a dozen possible values it is off by most.
    assert 0.03 < level(n, ties, epsilon) < 0.065
    assert 0.03 < level(n, ties, epsilon, reverse=True) < 0.07


@pytest.mark.parametrize("epsilon", [0.1, 0.2])
def test_t_test_rejects_too_often_if_judge_never_wins(epsilon):
    # The most ties that leave E[d] = epsilon: then d is 0 or 1 and as skewed as it can be. Said in the docs.
    few, many = level(30, 1 - epsilon, epsilon), level(200, 1 - epsilon, epsilon)
    assert 0.1 < few < 0.2
    assert LEVEL < many < 0.1
    assert level(100, 1 - epsilon, epsilon, reverse=True) < LEVEL


@pytest.mark.parametrize("n", [10, 20, 29, 30, 50])
@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2])
def test_exact_test_holds_its_level(n, epsilon):
    for ties in (0.0, 0.3, 0.5, 0.7, 1 - epsilon):
        assert level(n, ties, epsilon, "exact") <= LEVEL
        assert level(n, ties, epsilon, "exact", reverse=True) <= LEVEL


@pytest.mark.parametrize("n", [10, 20, 29])
@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2])
def test_signed_rank_test_does_not_test_the_mean(n, epsilon):
    # d − epsilon is not symmetric about 0 at the boundary, as the test supposes: a tie counts for the judge with
    # a separate rank, for any epsilon above 0. The error grows with n. The t-test has none of this.
    assert level(n, 0.7, epsilon, "wilcoxon") > 0.2
    assert level(n, 0.3, epsilon, "wilcoxon") > 0.07
    assert level(n, 0.7, epsilon) < 0.09
    assert level(n, 0.3, epsilon) < 0.06
    assert level(29, 0.5, 0.1, "wilcoxon") > level(10, 0.5, 0.1, "wilcoxon")


def test_exact_p_value_of_equal_differences_is_valid():
    # Only ties: H0 allows at most P(tie) = 1 − epsilon, and (1 − epsilon)^n is the p-value.
    ties = np.array([[[[0.0, 40.0, 0.0]]]])
    assert decision.p_values(ties, 0.1)[1].item() == pytest.approx(0.9**40)
    assert multinomial.pmf([0, 40, 0], 40, outcomes(0.9, 0.1)) == pytest.approx(0.9**40)


# -- balanced (C.1) -----------------------------------------------------------------------------------


def balanced(n: int, share: tuple[float, ...], ties: tuple[float, ...], n_simulated: int) -> float:
    """P(p <= .05) with inverse probability weights, every class at the boundary."""
    rng = np.random.default_rng(n)
    of_class = rng.multinomial(n, share, size=n_simulated)
    counts = np.stack([rng.multinomial(of_class[:, c], outcomes(t, 0.15)) for c, t in enumerate(ties)], axis=1)
    return float(np.mean(decision.p_values(counts[:, None].astype(float), 0.15)[1] <= LEVEL))


@pytest.mark.parametrize("n", [50, 200])
def test_balanced_tests_hold_level_with_equal_variances(n):
    # The standard error of a share of .05 in 20,000 is .0015.
    assert balanced(n, (1 / 3, 1 / 3, 1 / 3), (0.5, 0.5, 0.5), 20_000) == pytest.approx(LEVEL, abs=0.01)
    assert balanced(n, (0.9, 0.1), (0.5, 0.5), 20_000) == pytest.approx(LEVEL, abs=0.015)


def test_balanced_tests_miss_level_with_unequal_variances():
    # C.1 takes one variance for all classes. The mean of class means has variance Σ σ_c² / n_c / classes²,
    # which the rare class determines; its own variance would be right.
    assert 0.06 < balanced(200, (0.9, 0.1), (0.75, 0.25), 20_000) < 0.1
    assert balanced(200, (0.9, 0.1), (0.3, 0.7), 20_000) < 0.035


# -- several annotators -------------------------------------------------------------------------------


def independent(m: int, beaten: int, n: int, n_simulated: int, ties: float = 0.5) -> tuple[float, float]:
    """False discovery rate and P(omega >= .5), ``beaten`` annotators clearly worse than the judge."""
    rng = np.random.default_rng(100 * m + n)
    chances = [outcomes(ties, -0.25 if j < beaten else 0.15) for j in range(m)]
    counts = np.stack([rng.multinomial(n, chance, size=n_simulated) for chance in chances], axis=1)
    rejected = decision.by_rejects(decision.p_values(counts[:, :, None].astype(float), 0.15)[1], LEVEL)
    false = rejected[:, beaten:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
    return float(false.mean()), float(np.mean(rejected.mean(axis=1) >= 0.5))


@pytest.mark.slow
@pytest.mark.parametrize(("m", "beaten"), [(3, 0), (3, 1), (5, 0), (5, 2), (10, 5), (10, 9)])
def test_by_keeps_the_false_discovery_rate_of_independent_annotators(m, beaten):
    # Under independence it is q · (true nulls / m) / (1 + 1/2 + … + 1/m) for exact p-values; .05 is the promise.
    rate, _ = independent(m, beaten, 100, 20_000)
    exact = LEVEL * (m - beaten) / m / sum(1 / k for k in range(1, m + 1))
    assert rate == pytest.approx(exact, abs=0.006)
    assert rate < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "n", "ties"),
    [(2, 30, 0.3), (3, 200, 0.5), (5, 30, 0.7), (10, 200, 0.3), (20, 30, 0.5), (20, 200, 0.7)],
)  # the whole table is made by benchmarks/type_one_error.py
def test_by_keeps_the_false_discovery_rate_long(m, n, ties):
    for beaten in {0, m // 2, m - 1}:
        assert independent(m, beaten, n, 20_000, ties)[0] < LEVEL


@pytest.mark.slow
def test_published_rule_error_rates():
    for m in (3, 5, 10):
        assert independent(m, 0, 100, 20_000)[1] < 0.005
        # One short of half truly beaten: one lucky rejection among the others is enough.
        assert 0.01 < independent(m, (m + 1) // 2 - 1, 100, 20_000)[1] < 0.06


# -- the whole test, from labels ----------------------------------------------------------------------

PRIOR = np.array([0.4, 0.3, 0.2, 0.1])


def true_difference(judge: float, human: float, m: int) -> float:
    """rho_h − rho_f for accuracy and m like annotators: the sum over every truth and all labels."""

    def answer(noise: float) -> np.ndarray:
        return (1 - noise) * np.eye(4) + noise * PRIOR

    f, h, *others = np.array(list(itertools.product(range(4), repeat=m + 1))).T
    lead = sum((o == f).astype(int) - (o == h) for o in others)
    p = [
        PRIOR[t] * answer(judge)[t, f] * np.prod([answer(human)[t, label] for label in (h, *others)], axis=0)
        for t in range(4)
    ]
    return float((np.sum(p, axis=0) * -np.sign(lead)).sum())


def boundary(epsilon: float, human: float = 0.3, m: int = 3) -> float:
    """The judge's noise at which rho_h − rho_f = epsilon."""
    low, high = human, 1.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if true_difference(middle, human, m) < epsilon else (low, middle)
    return low


@pytest.mark.slow
def test_boundary_is_as_calculated():
    # Reference: 100,000 simulated items, on which the standard error of the mean of d is below .002.
    noise = boundary(0.15)
    labels = assay.simulate(100_000, 3, prior=PRIOR.tolist(), annotator_noise=0.3, judges=noise, seed=1)
    found = assay.alt_test(labels, "judge", epsilon=0.15, method="none")
    assert found.annotators["difference"].to_list() == pytest.approx([0.15] * 3, abs=0.007)


def p_values_of(people: np.ndarray, judge: np.ndarray, epsilon: float) -> np.ndarray:
    """The p-value against each annotator, (studies, m), of labels (studies, items, m) and (studies, items)."""
    table = AltTestTable.of(assay.simulate(2, 2, prior=PRIOR.tolist()), AltTestSettings(epsilon=epsilon))
    n_studies, n, m = people.shape
    counts = score_studies(table.rule, people, judge, np.ones((n_studies, m)), (n,)).counts[:, 0]
    return decision.p_values(counts, epsilon)[1]


def at_the_boundary(epsilon: float, m: int, n: int, n_studies: int) -> tuple[float, float, float]:
    """From labels: P(one test rejects), P(any does), P(the judge passes)."""
    source = LabelSource.of(4, PRIOR.tolist())
    rng = np.random.default_rng(n)
    cumulative = source.priors(rng, n_studies)
    truth = source.draw(rng.random((n_studies, n)), cumulative)
    judge = source.answer(rng, truth, cumulative, np.array([boundary(epsilon, m=m)]))[..., 0]
    people = source.answer(rng, truth, cumulative, np.full(m, 0.3))
    p = p_values_of(people, judge, epsilon)
    rejected = decision.by_rejects(p, LEVEL)
    return float((p <= LEVEL).mean()), float(rejected.any(axis=1).mean()), float((rejected.mean(axis=1) >= 0.5).mean())


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 100])
def test_alt_test_from_labels_holds_its_level(n):
    one, some, passes = at_the_boundary(0.15, 3, n, 4000)
    # Three tests of the same items: the standard error of the share of 12,000 is below .0035.
    assert one == pytest.approx(LEVEL, abs=0.012)
    assert some < 0.035
    assert passes < 0.02


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("epsilon", "m", "n"),
    [(0.1, 3, 30), (0.15, 5, 50), (0.2, 3, 100), (0.1, 5, 200), (0.2, 5, 30), (0.15, 3, 200)],
)
def test_alt_test_from_labels_holds_its_level_in_many_studies(epsilon, m, n):
    one, some, passes = at_the_boundary(epsilon, m, n, 10_000)
    assert one == pytest.approx(LEVEL, abs=0.008)
    assert some < 0.035
    assert passes < 0.02


@pytest.mark.simulation
def test_clustered_items_inflate_errors_without_clusters():
    """100 items of 10 documents, half of them alike, at the boundary; unlike ones are those of the tests above."""
    noise = boundary(0.15)
    rejected: dict[str | None, list[bool]] = {None: [], "document": []}
    for seed in range(150):
        labels = assay.simulate(
            100, 3, prior=PRIOR.tolist(), annotator_noise=0.3, judges=noise, documents=10, seed=seed
        )
        for clusters, found in rejected.items():
            test = assay.alt_test(labels, "judge", epsilon=0.15, method="none", clusters=clusters, strata="none")
            found += (test.annotators["p"] <= LEVEL).to_list()
    assert np.mean(rejected[None]) > 0.09
    # Three tests of the same items: the standard error of the share of 450 is below .0178.
    assert np.mean(rejected["document"]) == pytest.approx(LEVEL, abs=0.035)


@pytest.mark.simulation
def test_alt_test_one_study_at_a_time():
    """A table has the p-values and verdict of the arrays, whose level the tests above hold in thousands of studies."""
    passed = []
    for seed in range(40):
        noise = boundary(0.2) if seed % 2 else 0.3  # as good as the annotators
        labels = assay.simulate(50, 3, prior=PRIOR.tolist(), annotator_noise=0.3, judges=noise, seed=seed)
        test = assay.alt_test(labels, "judge", epsilon=0.2, method="none")
        codes = labels.labels["label"].replace_strict({name: k for k, name in enumerate("abcd")}, return_dtype=pl.Int64)
        wide = labels.labels.with_columns(code=codes).pivot("annotator", index="item", values="code").sort("item")
        people, judge = (wide.select(who).to_numpy().astype(float)[None] for who in (labels.humans, labels.judges))
        (p,) = p_values_of(people, judge[..., 0], 0.2)
        assert test.annotators["p"].to_list() == pytest.approx(p.tolist())
        assert test.passed == (decision.by_rejects(p, LEVEL).mean() >= 0.5)
        passed.append(test.passed)
    assert 10 <= sum(passed) <= 30
