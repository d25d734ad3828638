"""Do the intervals hold the true value as often as they say? The table in full is made by benchmarks/coverage.py."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from panels import columns, table
from scipy.special import ndtr, stdtrit

from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import estimate_sums
from assay.replacement.alt_test import alt_test
from assay.replacement.compare import compare_judges
from assay.statistics.wins import AdvantageProbability

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "coverage.py"


def test_interval_of_rho_f_uses_the_annotators_items():
    # Everybody says a, so no item moves any rho from 1. Wilson's lower end is then 1 / (1 + z² / n): with the 12 items
    # of cat .757, with the 40 of the others .912.
    labels = table(columns(ann="a" * 40, bob="a" * 40, cat="a" * 12 + "." * 28), columns(judge="a" * 40))
    test = alt_test(labels, "judge", epsilon=0.1, min_items=2)
    low = dict(test.annotators.select("annotator", "low").iter_rows())
    assert low["cat"] == pytest.approx(1 / (1 + 1.959964**2 / 12), abs=1e-6)
    assert low["ann"] == pytest.approx(1 / (1 + 1.959964**2 / 40), abs=1e-6)


def test_mean_difference_interval_has_positive_width():
    labels = table(columns(ann="a" * 40, bob="a" * 40, cat="a" * 40), columns(judge="a" * 40))
    difference = alt_test(labels, "judge", epsilon=0.1).mean_difference
    # Half a win and half a loss among 41.5: variance 1 / 41.5, over 42.5; t with 39 degrees of freedom.
    half = 2.022691 / math.sqrt(41.5 * 42.5)
    assert (difference.low, difference.high) == pytest.approx((-half, half), rel=1e-5)
    assert difference.reason is None
    wider = difference.interval(0.99)
    assert wider[0] < difference.low


def per_item(rng: np.random.Generator, n: int, m: int, judge: float, person: float) -> np.ndarray:
    """Wins, ties and losses by item and annotator, (n, m, 3), where each errs alone and there are two labels."""
    fails, wrong = rng.random(n) < judge, rng.random((n, m)) < person
    right = (~wrong).sum(axis=1, keepdims=True)
    mine = np.where(wrong, m - right - 1, right - 1)  # how many others the person agrees with
    theirs = np.where(fails[:, None], m - right - wrong, right - ~wrong)
    sign = np.sign(theirs - mine)
    return np.stack([sign > 0, sign == 0, sign < 0], axis=-1).astype(float)


def difference_of(counts: np.ndarray, how: IntervalSettings) -> tuple[float, float, float]:
    statistic = AdvantageProbability(counts.shape[1])
    found = estimate_sums(statistic, counts.reshape(len(counts), -1), how, transform=statistic.transforms)
    return float(found.value[-1]), float(found.low[-1]), float(found.high[-1])


@pytest.mark.slow
def test_mean_difference_interval_is_from_its_posterior():
    """Reference: weights of items drawn from their Dirichlet distribution, half an item each added."""
    how, rng = IntervalSettings(method="jackknife"), np.random.default_rng(5)
    for n, m, judge, person in ((30, 3, 0.05, 0.05), (60, 5, 0.2, 0.05), (60, 3, 0.02, 0.1), (200, 10, 0.3, 0.3)):
        counts = per_item(rng, n, m, judge, person)
        each = np.append((counts[:, :, 2] - counts[:, :, 0]).mean(axis=1), [1.0, 0.0, -1.0])
        weight = rng.standard_gamma(np.append(np.ones(n), [0.5] * 3), (40_000, n + 3))
        drawn = weight @ each / weight.sum(axis=1)
        # With t instead of the normal distribution the quantiles are slightly wider.
        tail = float(ndtr(stdtrit(n - 1, 0.025)))
        value, low, high = difference_of(counts, how)
        assert (low, high) == pytest.approx(np.quantile(drawn, [tail, 1 - tail]), abs=0.012)
        assert low < value < high


def test_mean_difference_interval_includes_estimate():
    how = IntervalSettings(method="jackknife")
    for sign in (0, 2):
        counts = np.zeros((15, 3, 3))
        counts[:, :, sign] = 1.0
        value, low, high = difference_of(counts, how)
        assert value == sign - 1
        assert -1 <= low < high <= 1
        assert value in (low, high)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m", "judge", "person"), [(30, 10, 0.08, 0.04), (60, 3, 0.04, 0.04), (60, 10, 0.15, 0.04)]
)
def test_mean_difference_interval_covers_on_easy_tasks(n, m, judge, person):
    how, studies = IntervalSettings(method="jackknife"), 400
    rng = np.random.default_rng(n + m)
    many = per_item(rng, 100_000, m, judge, person)
    truth = float((many[:, :, 2] - many[:, :, 0]).mean())
    ends = np.array([difference_of(per_item(rng, n, m, judge, person), how) for _ in range(studies)])
    below, above = (truth < ends[:, 1]).mean(), (truth > ends[:, 2]).mean()
    # Standard error .011; the tail on the judge's side was .10 while the interval was symmetric.
    assert 0.92 <= 1 - below - above <= 0.995, (below, above)
    assert max(below, above) <= 0.07


def test_human_agreement_equals_agreement():
    import assay

    labels = assay.simulate(60, 3, judges={"judge": 0.3}, prior=[0.25] * 4, seed=4)
    mine = compare_judges(labels, epsilon=0.1).tests["judge"].human_agreement
    theirs = assay.measures.krippendorff_alpha(labels, annotators=labels.humans)
    assert (mine.estimate, mine.low, mine.high) == pytest.approx((theirs.estimate, theirs.low, theirs.high), abs=1e-9)


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    [
        "4 categories, 30 items",
        "easy (people err 4%), 60 items",
        "8 people, 3 an item, 60 items",
        "30 clusters, 200 items",
    ],
)
def test_intervals_cover_neither_less_nor_much_more_than_they_say(name):
    spec = importlib.util.spec_from_file_location("coverage_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.N_TRUE = 100_000  # the error of the truth is a twentieth of that of 200 items
    design = next(design for design in script.designs() if design.name == name)
    found = script.coverage(design, n_studies=250, seed=77)
    for interval in ("ρ", "ρ of an annotator", "mean difference", "human agreement"):
        # The standard error of .95 in 250 studies is .014.
        assert 0.91 <= found[interval][0] <= 0.985, (interval, found)
    assert found["leader"][0] >= 0.95
