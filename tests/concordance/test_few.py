"""Intervals if few items determine a coefficient: rare labels, very little disagreement, few items, the ends."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid

import assay
from assay.concordance.agreement import agreement
from assay.concordance.coefficient import LEAST
from assay.concordance.measures import (
    cohen_kappa,
    correlation,
    exact_agreement,
    gwet_ac,
    krippendorff_alpha,
    nmae,
    rmse,
)
from assay.data.annotations import Annotations
from assay.data.scales import Interval, Nominal, Ordinal
from assay.estimation.intervals import near_the_ends
from assay.estimation.small_samples import EXACTLY, GROUPS, group_squares


def two(both: int, apart: int, neither: int) -> np.ndarray:
    """Items on which both, one or neither of two annotators gave the rare label."""
    rows = [[1, 1]] * both + [[1, 0]] * ((apart + 1) // 2) + [[0, 1]] * (apart // 2) + [[0, 0]] * neither
    return np.array(rows, dtype=float)


def test_score_interval_matches_donner_and_eliasziw():
    """Two annotators, two labels: values from which the estimate is not far, by Bloch & Kraemer's variance."""
    found = krippendorff_alpha(from_grid(two(12, 3, 25), Ordinal(0, 1)), level="nominal")
    n, p = 40, (12 + 1.5) / 40
    k = np.linspace(0.001, 0.999, 9_999)
    error = np.sqrt((1 - k) / n * ((1 - k) * (1 - 2 * k) + k * (2 - k) / (2 * p * (1 - p))))
    wider = max(1.0, found.standard_error / error[np.abs(k - found.estimate).argmin()])
    inside = k[np.abs(found.estimate - k) <= stats.t.ppf(0.975, n - 1) * wider * error]
    assert (found.low, found.high) == pytest.approx((inside[0], inside[-1]), abs=0.006)
    assert "score interval under common correlation over 40 items" in found.run.interval


KAPPAS = [krippendorff_alpha, cohen_kappa, assay.measures.scott_pi, assay.measures.fleiss_kappa]


def with_words(cells: np.ndarray, words: list[str]) -> Annotations:
    rows = [(f"i{i:02d}", "abc"[j], words[int(v)]) for (i, j), v in np.ndenumerate(cells) if not np.isnan(v)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return Annotations.from_frame(frame, scale=Nominal(words))


@pytest.mark.parametrize("ask", KAPPAS)
def test_rare_label_of_two_has_wide_interval(ask):
    found = ask(with_words(two(1, 2, 40), ["fine", "harm"]))
    assert found.low < 0 < found.estimate < 0.9 < found.high
    assert "score interval for raters with different thresholds over 43 items" in found.run.interval
    # Agreement is significantly above chance if and only if the interval is above 0.
    assert found.p(0) > 0.05
    many = ask(from_grid(two(20, 20, 360), Ordinal(0, 1)))
    assert many.low > 0
    assert many.p(0) < 0.05
    level = 1 - many.p(0.45)
    assert many.interval(level)[0 if many.estimate > 0.45 else 1] == pytest.approx(0.45, abs=0.02)


@pytest.mark.parametrize("ask", KAPPAS)
def test_rare_label_of_three_or_with_missing_labels_has_no_interval(ask):
    third = two(1, 2, 40)
    third[1] = [2, 2]
    gap = np.c_[two(1, 2, 40), np.r_[np.full(20, np.nan), np.zeros(23)]]
    for cells, label in ((third, "'spam'"), (gap, "'harm'")):
        found = ask(with_words(cells, ["fine", "harm", "spam"]))
        assert np.isnan(found.low)
        assert "only 3 items have a label other than the most frequent one" in found.reason
        assert label in found.reason
        assert "no interval: only 3 items" in found.summary()
    two_kinds = two(2, LEAST - 2, 40)
    two_kinds[2] = [1, 2]
    enough = ask(from_grid(two_kinds, Ordinal(0, 2)))
    assert enough.low < enough.estimate < enough.high <= 1


def test_unused_label_allows_some_disagreement():
    """Of 15 items none has the other label: AC1 is 1, and lower values are compatible with that."""
    found = gwet_ac(from_grid(np.zeros((15, 3)), Ordinal(0, 1)))
    assert found.estimate == found.high == 1
    assert 0.5 < found.low < 0.95
    assert found.low < gwet_ac(from_grid(np.zeros((60, 3)), Ordinal(0, 1))).low < 1
    assert np.isnan(krippendorff_alpha(from_grid(np.zeros((15, 3)), Ordinal(0, 1))).estimate)


def test_own_rates_are_drawn_to_the_common_one_as_far_as_they_differ_by_chance():
    from assay.statistics.categories import Thresholds

    cells = np.zeros((60, 3))
    cells[:4, 0] = cells[2:6, 1] = cells[3:7, 2] = 1  # equal frequencies: no separate rates
    alike = Thresholds.of(from_grid(cells, Ordinal(0, 1)).answers(), item_rate=True)
    assert alike.rates == pytest.approx(np.full(3, (12 / 3 + 0.5) / 61))
    cells[:, 2] = 0
    cells[:20, 2] = 1
    apart = Thresholds.of(from_grid(cells, Ordinal(0, 1)).answers(), item_rate=False)
    assert apart.rates[2] > 2 * apart.rates[0]
    assert apart.often.sum(axis=1) == pytest.approx(1)
    # The rates are those of the patterns, for any correlation; at .998 the integral is coarse.
    each = np.tile(apart.rates, (len(apart.often), 1))
    np.testing.assert_allclose((apart.often @ apart.given)[:-1], each[:-1], atol=1e-4)
    np.testing.assert_allclose((apart.often @ apart.given)[-1], each[-1], atol=0.003)


@pytest.mark.parametrize(("anyone", "size"), [(True, 6 + 10), (False, 3**2 + 3**3)])
def test_patterns_are_all_ways_to_label_an_item(anyone, size):
    """Of two annotators and of three: how often each occurs adds to one, and a label to its share."""
    from assay.statistics.categories import Patterns

    cells = np.random.default_rng(3).integers(0, 3, (40, 3)).astype(float)
    cells[:15, 2] = np.nan
    found = Patterns.of(from_grid(cells, Ordinal(0, 2)).answers(), anyone=anyone)
    assert found.often.shape[1] == found.answers.n_items == size
    assert found.often.sum(axis=1) == pytest.approx(1)
    of_label = found.often @ (found.counts / found.counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(of_label, np.tile(found.prevalence, (len(of_label), 1)), atol=1e-9)
    complete = found.counts.sum(axis=1) == 3
    np.testing.assert_allclose(found.often[:, complete].sum(axis=1), 25 / 40)


def test_patterns_of_hundreds_of_annotators_have_probabilities():
    """300 labels of an item can be in more orders than a float can count; 171 annotators have no factorial."""
    from assay.statistics.categories import Patterns

    cells = np.zeros((6, 300))
    cells[:2, :9] = 1.0
    found = Patterns.of(from_grid(cells, Ordinal(0, 1)).answers(), anyone=True)
    assert found.answers.n_items == 301
    assert found.often.sum(axis=1) == pytest.approx(1)
    assert found.often @ found.counts[:, 1] == pytest.approx(3.0)  # 18 of 1,800 labels
    sparse = np.full((200, 200), np.nan)
    for k in range(200):
        sparse[k, [k, (k + 1) % 200, (k + 2) % 200]] = k < 6
    agreed = assay.agreement(from_grid(sparse, Ordinal(0, 1)), coefficients=["krippendorff-alpha-ordinal"])
    assert agreed.table["low"].is_finite().all()


def test_patterns_that_a_statistic_does_not_tell_apart_are_one():
    """Of 4,096 patterns of six annotators 35 differ in how often each label is given by four of them."""
    from assay.statistics import categories
    from assay.statistics.pairs import WithinItems

    cells = np.random.default_rng(4).integers(0, 4, (50, 6)).astype(float)
    patterns = categories.Patterns.of(from_grid(cells, Ordinal(0, 3)).answers(), anyone=False)
    four = np.arange(6) < 4
    kappa = WithinItems(categories.ChanceCorrected(np.arange(4.0), "linear", "fleiss"), four, four)
    moments, _ = categories.merge_patterns(kappa.moments(patterns.answers), patterns.often)
    assert (len(kappa.moments(patterns.answers)), len(moments)) == (4096, 35)
    merged = categories.curve(kappa, patterns, 50)
    np.testing.assert_allclose(merged, categories.curve(kappa, patterns, 50, many=5000), rtol=1e-7)


@pytest.mark.simulation
@pytest.mark.parametrize("items", [15, 200])
@pytest.mark.parametrize("rate", [0.05, 0.1])
def test_intervals_of_a_rare_label_hold_where_raters_differ(items, rate):
    """Three raters with different thresholds on a normal trait; undefined coefficients claim nothing."""
    rng, asked = np.random.default_rng(9), {"κ": cohen_kappa, "α": krippendorff_alpha, "AC1": gwet_ac}
    rates = rate * np.array([0.5, 1.0, 1.6])

    def drawn(n: int) -> np.ndarray:
        score = 1.3 * rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))
        return (score > -stats.norm.ppf(rates) * np.hypot(1.3, 1)).astype(float)

    many = from_grid(drawn(100_000), Ordinal(0, 1))  # its error is 1/20 of that of 200 items
    truth = {k: ask(many, method="none").estimate for k, ask in asked.items()}
    held = dict.fromkeys(asked, 0)
    for _ in range(60):
        labels = from_grid(drawn(items), Ordinal(0, 1))
        for name, ask in asked.items():
            found = ask(labels)
            held[name] += np.isnan(found.low) or found.low <= truth[name] <= found.high
    assert min(held.values()) >= stats.binom.ppf(0.001, 60, 0.93)


def test_intervals_at_15_items_hold_the_larger_truths_that_were_missed():
    """One of five rare labels was agreed on; the jackknife ends at .73, and .8 is not surprising."""
    labels = from_grid(two(2, 3, 10), Ordinal(0, 1))
    found = krippendorff_alpha(labels, level="nominal")
    assert found.high > 0.8
    assert found.low < 0.1
    other = found.found[0].interval(0.8)
    assert found.low < other[0] < other[1] < found.high


def test_common_labels_keep_the_jackknife():
    rng = np.random.default_rng(1)
    y = (rng.random((80, 1)) < 0.5).astype(float)
    cells = np.where(rng.random((80, 3)) < 0.4, rng.random((80, 3)) < 0.5, y).astype(float)
    assert "jackknife interval" in krippendorff_alpha(from_grid(cells, Ordinal(0, 1))).run.interval


def test_rows_of_a_table_and_pairs_have_the_same_intervals():
    rng = np.random.default_rng(2)
    y = (rng.random((30, 1)) < 0.3).astype(float)
    cells = np.where(rng.random((30, 3)) < 0.2, rng.random((30, 3)) < 0.3, y).astype(float)
    labels = from_grid(cells, Ordinal(0, 1), names=["a", "b", "c"])
    row = agreement(labels, who=["humans"], coefficients=["cohen-kappa"]).table.row(0, named=True)
    alone = cohen_kappa(labels)
    assert (row["low"], row["high"]) == pytest.approx((alone.low, alone.high))
    assert "score" in row["interval"]
    pair = cohen_kappa(labels, ["a", "b"])
    first = alone.pairs[0][2]
    assert (first.low, first.high) == pytest.approx((pair.low, pair.high))


def test_shares_stay_between_0_and_1():
    cells = np.array([[1, 1]] + [[0, 1]] * 29, dtype=float)
    found = exact_agreement(from_grid(cells, Ordinal(0, 1)))
    assert found.estimate == pytest.approx(1 / 30)
    assert 0 < found.low < 1 / 30 < found.high < 0.2
    # Brown, Cai & DasGupta: one success has the lower limit of a Poisson count of one.
    n = found.estimate * (1 - found.estimate) / found.standard_error**2
    x = n * found.estimate
    limit = stats.chi2.ppf(0.05, 2 * x) / 2 / n
    assert near_the_ends(np.array([found.estimate]), np.array([found.standard_error]), 0.95)[0] == pytest.approx(limit)
    assert found.low == pytest.approx(limit)


def test_normalised_errors_stay_below_1():
    cells = np.array([[1, 5]] * 4 + [[1, 1]] * 1, dtype=float)
    found = nmae(from_grid(cells, Ordinal(1, 5)))
    assert found.low < 0.8 < found.high < 1


def test_perfect_agreement_of_few_items_is_no_certainty():
    found = gwet_ac(from_grid(two(7, 0, 8), Ordinal(0, 1)))
    assert found.estimate == 1.0 == found.high
    assert 0.3 < found.low < 0.9


@pytest.mark.slow
def test_rank_interval_near_one_reaches_bias_corrected_value():
    rng = np.random.default_rng(3)
    hits = {"jackknife": 0, "here": 0}
    truth = 6 / np.pi * np.arcsin(0.995 / 2)
    for _ in range(60):
        x = rng.normal(size=15)
        labels = from_grid(np.stack([x, 0.995 * x + np.sqrt(1 - 0.995**2) * rng.normal(size=15)], axis=1), Interval())
        found = correlation(labels)
        if found.estimate == 1:  # no item is out of order, and nothing varies
            continue
        half = 2.145 * found.standard_error / (1 - found.estimate**2)
        hits["jackknife"] += abs(np.arctanh(found.estimate) - np.arctanh(truth)) <= half
        hits["here"] += found.low <= truth <= found.high
    assert hits["here"] > hits["jackknife"]
    assert hits["here"] >= 50


@pytest.mark.simulation
@pytest.mark.parametrize(("m", "share"), [(2, 0.5), (2, 0.05), (5, 0.2), (5, 0.05)])
def test_intervals_of_few_items_hold(m, share):
    """A few cells of docs/coverage.md, from the script that makes it."""
    import argparse
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "benchmarks" / "agreement_intervals.py"
    spec = importlib.util.spec_from_file_location("agreement_intervals", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    how = argparse.Namespace(missing=False, clusters=False, studies=100, seed=3)
    for name in ("krippendorff-alpha-nominal", "gwet-ac1"):
        held, given = script.cover(name, 60, m, share, 0.3, how)
        assert given == 0 or held >= 0.87, (name, held, given)


def of_errors(errors: np.ndarray, **options) -> assay.results.Coefficient:
    """The root mean squared error of two annotators, the second as far from the first as `errors` say."""
    first = np.random.default_rng(0).normal(0, 3, len(errors))
    return rmse(from_grid(np.stack([first, first + errors], axis=1), Interval()), **options)


def test_rmse_interval_covers_t3_tails():
    """The upper end by the likelihood of t with any degrees of freedom from 3 up, on a fine grid."""
    errors = np.random.default_rng(4).normal(size=40)
    found, x = of_errors(errors), errors**2
    spread = np.linspace(0.3, 40, 4_000)  # standard deviations
    best = np.full(len(spread), -np.inf)
    for degrees in (3.0, 3.5, 4.0, 5.0, 7.0, 10.0, 20.0, 1e4):
        scale = spread * np.sqrt((degrees - 2) / degrees)
        best = np.maximum(best, stats.t.logpdf(np.sqrt(x)[:, None] / scale, degrees).sum(axis=0) - 40 * np.log(scale))
    inside = spread[best >= best.max() - stats.t.ppf(0.975, 39) ** 2 / 2]
    by_log = found.estimate * np.exp(stats.t.ppf(0.975, 39) * found.standard_error / found.estimate)
    assert inside[-1] > by_log
    assert found.high == pytest.approx(inside[-1], rel=0.01)
    assert found.low == pytest.approx(found.estimate**2 / by_log)
    assert "interval for tails as heavy as t(3) over 40 items" in found.run.interval
    narrow = found.found[0].interval(0.8)
    assert found.low < narrow[0] < narrow[1] < found.high


# Of 80 intervals that cover 95% fewer than 90% do in one study of 30, of 400 fewer than 93% in one of 30 as well.
@pytest.mark.simulation
@pytest.mark.parametrize(("degrees", "studies", "least"), [(3, 80, 0.9), (1e6, 400, 0.93)])
def test_root_mean_squares_hold_where_tails_are_heavy(degrees, studies, least):
    rng = np.random.default_rng(11)
    truth = np.sqrt(degrees / (degrees - 2))
    each = [of_errors(rng.standard_t(degrees, size=60)) for _ in range(studies)]
    assert np.mean([one.low <= truth <= one.high for one in each]) >= least


def test_tailed_interval_is_bounded_by_scale_and_few_labels():
    errors = np.append(np.random.default_rng(1).normal(0, 1, 14), 60)
    first = np.linspace(10, 40, 15)
    ends = rmse(from_grid(np.stack([first, first + errors], axis=1), Interval(0, 100)))
    assert ends.low < ends.estimate < ends.high == 100
    few = np.random.default_rng(2).integers(1, 6, (30, 2)).astype(float)
    assert "on the log scale" in rmse(from_grid(few, Ordinal(1, 5))).run.interval
    assert "percentile" in of_errors(errors, method="percentile", n_resamples=50).run.interval


def test_many_squares_are_taken_in_groups():
    """The upper end of 6,000 squares does not depend on grouping those that are no part of the tail."""
    errors = np.random.default_rng(8).standard_t(5, size=6_000)
    squares, often = group_squares(errors**2)
    assert len(squares) == EXACTLY + GROUPS
    assert often.sum() == 6_000
    assert often @ squares == pytest.approx((errors**2).sum())
    found = of_errors(errors)
    assert found.estimate < found.high < 1.1 * found.estimate
