"""Studies drawn from the posterior of a pilot: their laws, the sample size, the parity margin."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from panels import columns, random_study, table
from scipy import stats

import assay
from assay.estimation.intervals import Pseudo
from assay.replacement import studies
from assay.replacement.alt_test import alt_test
from assay.replacement.decision import conjunctions
from assay.replacement.page import card
from assay.replacement.panel import AltTestSettings, AltTestTable
from assay.replacement.studies import (
    AgreementRatio,
    Pilot,
    SimulatedStudies,
    is_conclusive,
    sample_size,
    score_studies,
)
from assay.replacement.words import size_range
from assay.reporting.tables import interval, number
from assay.simulation import LabelSource
from assay.statistics.panels import Panel
from assay.statistics.wins import Posterior, noninferior_p

SETTINGS = AltTestSettings(epsilon=0.15)


def items(outcomes: np.ndarray) -> np.ndarray:
    """Items by 1 (the judge is closer), 0 or −1 against each annotator."""
    found = np.zeros((*outcomes.shape, 1, 3))
    np.put_along_axis(found[:, :, 0], (1 - outcomes)[..., None], 1.0, axis=2)
    return found


def drawn(n: int, m: int, difference: float, seed: int, ties: float = 0.5) -> np.ndarray:
    """Items by annotators whom the judge is behind by so much, who are correlated."""
    rng = np.random.default_rng(seed)
    chances = [(1 - ties - difference) / 2, ties, (1 - ties + difference) / 2]
    own, joint = (rng.choice([1, 0, -1], (n, k), p=chances) for k in (m, 1))
    return np.where(rng.random((n, m)) < 0.5, own, joint)


def pilot(outcomes: np.ndarray) -> Pilot:
    return Pilot.of(items(outcomes), len(outcomes), np.ones(outcomes.shape[1]))


def test_ratio_errors_equal_those_of_pseudo_values():
    """Sums of all sizes at once equal the pseudo-values of each size."""
    rng = np.random.default_rng(4)
    values, n_items = rng.normal([0.6, 0.8], 1.0, (3, 40, 2)), np.array([40, 25, 0])
    values[1, 25:], values[2] = 0, 0
    many = studies.AgreementRatioStudies(values, n_items, np.array([30.0, 9.0, 0.0]))
    sizes, least = (10, 20, 40), 0.5
    found = studies._ratio_errors(many, sizes, least)
    for s, of in ((0, 40), (1, 25)):
        for at, size in enumerate(sizes):
            n = min(size, of)
            first = Pseudo(values[s, :n], many.deciding[s] * n / of)
            p = first.p_above(np.array([1.0, -least])), first.p_above(np.array([0.0, 1.0]))
            assert found[:, s, at] == pytest.approx(stats.norm.isf(p))
    assert not found[:, 2].any()  # not estimable


# -- the posterior of a pilot -------------------------------------------------------------------------


def test_each_annotators_rates_have_jeffreys_posterior_and_stay_correlated():
    outcomes = drawn(40, 2, 0.1, seed=1)
    left = Posterior.of(items(outcomes), 40)
    share = left.truths(40_000, np.random.default_rng(0))
    rates = (share @ left.rows.reshape(len(left.rows), -1)).reshape(-1, 2, 3)
    for j in range(2):
        counts = np.array([(outcomes[:, j] == sign).sum() for sign in (1, 0, -1)]) + 0.5
        mean = counts / counts.sum()
        # Dirichlet(counts + 1/2): mean a/A, variance p (1 − p) / (A + 1).
        assert rates[:, j].mean(axis=0) == pytest.approx(mean, abs=0.002)
        assert rates[:, j].var(axis=0) == pytest.approx(mean * (1 - mean) / (counts.sum() + 1), rel=0.05)
    between = np.corrcoef(outcomes.T)[0, 1]
    differences = rates[..., 2] - rates[..., 0]
    assert between > 0.2
    assert np.corrcoef(differences.T)[0, 1] == pytest.approx(between, abs=0.1)


def test_clusters_and_blocks_hold_as_many_items_as_there_are():
    few, many = drawn(3000, 3, 0.1, seed=2), drawn(1500, 8, 0.1, seed=2)
    assert len(Posterior.of(items(few), 3000).weight) == 27 + 3
    blocks = Posterior.of(items(many), 1500)
    assert (len(blocks.weight), blocks.per_unit) == (503, 3)
    assert blocks.weight.sum() == pytest.approx(500 + 1.5 / 3)
    for outcomes in (few, many):
        found = pilot(outcomes).studies((300,), 50, 2, np.random.default_rng(0)).counts.sum(axis=-1)
        assert found == pytest.approx(np.full(found.shape, 300.0))


def test_pilot_studies_are_nested():
    found = pilot(drawn(50, 3, 0.1, seed=3)).studies((30, 60, 90), 20, 3, np.random.default_rng(0))
    assert found.counts.shape == (60, 3, 3, 1, 3)
    assert (np.diff(found.counts, axis=1) >= 0).all()
    assert (found.counts.sum(axis=-1)[:, :, 0, 0] == [30, 60, 90]).all()


# -- how many items are enough --------------------------------------------------------------------------


def plugged_in(outcomes: np.ndarray) -> float:
    """The plug-in sample size, with the pilot as the truth."""
    by_item, m = items(outcomes), outcomes.shape[1]
    sizes = studies.sizes_up_to(2000, 30)
    rng = np.random.default_rng(0)
    told = []
    for n in sizes:
        counts = np.stack([by_item[rng.integers(0, len(by_item), n)].sum(axis=0) for _ in range(150)])[:, None]
        simulated = SimulatedStudies(counts, np.ones((150, m)), exact=False)
        told.append(is_conclusive(simulated.ends(SETTINGS, 0.15)).mean())
    return float(studies.crossing(sizes, studies.rising(np.array([told])), 0.8)[0])


@pytest.mark.slow
def test_sample_size_exceeds_plug_in_estimate():
    # 40 items on which people are exactly .0 closer: with epsilon .15, a judge that probably passes, but not surely.
    outcomes = np.concatenate([np.full((12, 3), 1), np.full((16, 3), 0), np.full((12, 3), -1)])
    found = sample_size(pilot(outcomes), 40, SETTINGS)
    assert found.n_items > 1.1 * plugged_in(outcomes)
    assert found.low < plugged_in(outcomes) < (found.high or math.inf)


def test_sample_size_range_narrows_with_larger_pilot():
    few, many = (sample_size(pilot(np.tile(drawn(40, 3, 0.0, seed=7), (k, 1))), 40 * k, SETTINGS) for k in (1, 10))
    assert many.n_items < few.n_items
    assert many.high / many.low < (few.high or few.limit) / few.low
    for found in (few, many):
        assert found.low <= found.n_items <= (found.high or found.limit)
        assert (np.diff(found.assurance) >= 0).all()
        # The number is where the curve crosses, rounded up to two digits.
        at = np.interp(np.log(found.n_items), np.log(found.sizes), found.assurance)
        assert 0.8 <= at < 0.85


@pytest.mark.slow
def test_tests_of_the_same_counts_share_the_number_of_items():
    outcomes = drawn(40, 3, 0.0, seed=7)
    found = sample_size(pilot(outcomes), 40, SETTINGS)
    assert sample_size(pilot(outcomes), 40, SETTINGS) is found
    assert sample_size(pilot(outcomes), 40, SETTINGS, power=0.7) is not found
    assert sample_size(pilot(outcomes), 40, AltTestSettings(epsilon=0.1)) is not found
    assert sample_size(pilot(-outcomes), 40, SETTINGS) is not found


@pytest.mark.parametrize("m", [3, 4])
def test_sample_size_at_epsilon_is_none_with_limit(m):
    # Behind all annotators by exactly .15: 3 wins, 6 losses, 11 ties in 20, times ten.
    outcomes = np.tile(np.array([1] * 3 + [0] * 11 + [-1] * 6)[:, None], (10, m))
    found = sample_size(pilot(outcomes), 200, SETTINGS)
    assert (found.n_items, found.low, found.high) == (None, None, None)
    assert found.limit == 4000
    assert "close to the margin ε" in found.reason


@pytest.mark.slow
def test_sample_size_includes_agreement_ratio():
    outcomes = drawn(60, 3, -0.2, seed=8)
    plain = sample_size(pilot(outcomes), 60, SETTINGS)
    sure, open_ = (
        sample_size(replace(pilot(outcomes), agreement_ratio=AgreementRatio(errors, 60)), 60, SETTINGS)
        for errors in (9.0, 0.5)
    )
    assert plain.n_items < 200
    assert sure.n_items == pytest.approx(plain.n_items, rel=0.1)
    assert (open_.n_items or 2000) > 2 * plain.n_items


def test_agreement_ratio_studies_are_random_walks():
    found = AgreementRatio(2.0, 50).studies((50, 200), 4000, 3, np.random.default_rng(0))
    assert found.shape == (12_000, 2)
    # Of 50 items: 2 ± √(1 + 1); of 200 twice as many errors, ± √(4 + 1).
    assert found.mean(axis=0) == pytest.approx([2, 4], abs=0.1)
    assert found.std(axis=0) == pytest.approx([np.sqrt(2), np.sqrt(5)], rel=0.03)
    # Studies of one truth, and the two sizes of a study, share what they share.
    truths = found.reshape(4000, 3, 2)
    assert np.corrcoef(truths[:, 0, 1], truths[:, 1, 1])[0, 1] == pytest.approx(4 / 5, abs=0.03)
    assert np.corrcoef(found.T)[0, 1] == pytest.approx((2 + 0.5) / np.sqrt(2 * 5), abs=0.03)


@pytest.mark.slow
def test_domains_are_planned_at_their_level():
    labels = random_study(8, n_items=60, n_humans=3, missing=0)
    frame = pl.concat([labels.labels.with_columns(criterion=pl.lit(c)) for c in "abcd"])
    both = assay.Annotations.from_frame(frame, judges=["good", "poor"], scale=labels.scale)
    alone = alt_test(labels, "good", epsilon=0.05)
    among = assay.alt_test_by(both, "good", epsilon=0.05).tests["a"]
    within = assay.alt_test_by(both, "good", epsilon=0.05, correction="within").tests["a"]
    assert within.sample_size.assurance.tolist() == alone.sample_size.assurance.tolist()
    assert (among.sample_size.assurance <= alone.sample_size.assurance).all()
    assert among.sample_size.assurance[3] < alone.sample_size.assurance[3]
    assert "verdicts for the number of domains" in among.size_curve(sizes=(40,), n_draws=5).notes[0]


# -- one code path: the sentence, the curve and the plan agree --------------------------------------------

LABELS = assay.simulate(60, 4, judges=0.35, prior=(0.4, 0.3, 0.2, 0.1), seed=0)
TEST = alt_test(LABELS, "judge", epsilon=0.15)


@pytest.mark.slow
def test_sample_size_curve_and_plan_agree():
    found = TEST.sample_size
    sizes = tuple(found.sizes.tolist())
    curve = TEST.size_curve(sizes=sizes, n_draws=5)
    assert curve.n_annotators == 4
    assert curve.assurance.tolist() == found.assurance.tolist()
    plan = assay.plan.alt_test(sizes, 4, epsilon=0.15, pilot=LABELS, n_studies=1200, seed=1)
    # 200 truths each: the standard error of a difference is at most .05. Below the pilot's 60 items the plan is higher,
    # because it draws other annotators, and an agreement ratio above .6 is seldom demonstrated there.
    wanted = found.assurance.tolist()
    assert plan.table["estimate"].to_list()[2:] == pytest.approx(wanted[2:], abs=0.1)
    assert plan.table["estimate"].to_list()[:2] == pytest.approx(wanted[:2], abs=0.15)
    [row] = plan.smallest.rows(named=True)
    assert 0.6 < row["n_items"] / found.n_items < 1.7
    assert row["low"] < row["n_items"] <= (row["high"] or math.inf)
    assert f"{row['n_items']:,} items (80% range: {row['low']:,}" in plan.summary()


def test_size_curve_of_smaller_panels_equals_plan():
    sizes = (100, 300)
    curve = TEST.size_curve(sizes=sizes, n_annotators=3, n_draws=40)
    plan = assay.plan.alt_test(sizes, 3, epsilon=0.15, pilot=LABELS, n_studies=1200, seed=1)
    assert plan.table["estimate"].to_list() == pytest.approx(curve.assurance.tolist(), abs=0.1)


def test_sample_size_is_printed_with_its_range():
    found = TEST.sample_size
    assert TEST.reason == "comparison_undecided"
    bounds = f"(80% range: {found.low:,}–{found.high:,})"
    start = f"a study of about {found.n_items:,} items by these"
    end = f" with 80% probability {bounds}."
    words = "annotators gives a conclusive verdict (Replace, Do not replace or Mixed)"
    assert f"Sample size: {start} {words}{end}" in TEST.summary()
    assert f"A{start[1:]} 4 annotators gives a conclusive verdict{end}" in card(TEST).advice
    made = json.loads(json.dumps(TEST.to_dict(), allow_nan=False))["sample_size"]
    assert (made["n_items"], made["low"], made["high"], made["limit"]) == (found.n_items, found.low, found.high, 2000)
    row = assay.compare_judges(LABELS, epsilon=0.15).table.row(0, named=True)
    assert [row[f"sample_size{end}"] for end in ("", "_low", "_high")] == [found.n_items, found.low, found.high]


def test_sample_size_none_is_explained():
    # Of 200 gold labels the judge misses 60 and each person 30, on other items: people are closer by exactly epsilon.
    truth, n = "ab" * 100, 200
    people = columns(ann="ba" * 15 + "ab" * 85, bob="ba" * 15 + "ab" * 85)
    labels = table(people, columns(judge="ab" * 70 + "ba" * 30))
    test = alt_test(labels, "judge", gold=dict(zip(columns(x=truth)["x"], truth, strict=True)), epsilon=0.15)
    assert test.needed_epsilon.estimate == pytest.approx(0.15)
    assert test.reason == "comparison_undecided"
    assert (test.sample_size.n_items, test.items_to_decide()) == (None, None)
    found = test.sample_size
    chances = [100 * found.chance(size) for size in (found.even, 20 * n)]
    assert 50 <= chances[0] < chances[1] < 80
    words = (
        f"o size up to {20 * n:,} items gives a conclusive verdict with 80% probability; {found.even:,} items give one "
        f"with {chances[0]:.0f}% and {20 * n:,} items give one with {chances[1]:.0f}%: the judge is close to the "
        "margin ε."
    )
    assert f"Sample size: n{words}" in test.summary()
    assert f"N{words}" in card(test).advice


def test_items_to_decide_rejects_invalid_power():
    with pytest.raises(assay.errors.AssayError, match="power must lie between 0 and 1"):
        TEST.items_to_decide(1.0)


def test_plan_without_pilot_has_no_range():
    plan = assay.plan.alt_test((30, 60), epsilon=0.1, n_studies=50)
    assert plan.smallest.columns == ["n_annotators", "epsilon", "n_items"]
    assert "Based on assumed error rates, so no interval." in plan.summary()
    assert plan.table["estimate"].to_list() == plan.table["replace"].to_list()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"balance": True}, {"gold": "truth"}, {"clusters": "document"}, {"expert": "ann_1"}, {"method": "none"},
     {"quality": {"ann_1": 3, "ann_2": 1, "ann_3": 1, "ann_4": 1}}],
)  # fmt: skip
def test_every_form_of_the_test_has_a_number(options):
    labels = assay.simulate(60, 4, judges=0.45, annotator_noise=0.3, documents=20, prior=(0.4, 0.3, 0.2, 0.1), seed=3)
    test = alt_test(labels, "judge", epsilon=0.15, **options)
    found = test.sample_size_at()
    assert (np.diff(found.assurance) >= 0).all()
    assert found.assurance[-1] > 0.3


def test_sample_size_of_folder_equals_memory(tmp_path):
    frame = LABELS.labels.join(LABELS.annotators.select("annotator", "kind"), on="annotator")
    frame.write_parquet(tmp_path / "labels.parquet")
    chunks = assay.scan(tmp_path, judges=["judge"], scale=LABELS.scale, labels_per_chunk=50)
    found = assay.alt_test(chunks, "judge", epsilon=0.15)
    assert found.sample_size.assurance.tolist() == TEST.sample_size.assurance.tolist()
    assert found.needed_epsilon == TEST.needed_epsilon


# -- the epsilon that is needed -----------------------------------------------------------------------------


def test_needed_epsilon_by_hand():
    # Gold labels are all "a". Of 40 items the judge misses 8; ann misses none, bob 4 and cat 16.
    gold = dict.fromkeys(columns(x="a" * 40)["x"], "a")
    people = columns(ann="a" * 40, bob="a" * 36 + "b" * 4, cat="a" * 24 + "b" * 16)
    labels = table(people, columns(judge="b" * 8 + "a" * 32))
    test = alt_test(labels, "judge", gold=gold, epsilon=0.1)
    # rho_h − rho_f: ann .2, bob (8 − 4) / 40 = .1, cat (8 − 16) / 40 = −.2; two of three are half or more.
    assert test.annotators["difference"].to_list() == pytest.approx([0.2, 0.1, -0.2])
    assert test.needed_epsilon.estimate == pytest.approx(0.1)
    assert test.needed_epsilon.low < 0.1 < test.needed_epsilon.high < test.smallest_epsilon + 0.05
    weighted = alt_test(labels, "judge", gold=gold, epsilon=0.1, quality={"ann": 9, "bob": 1, "cat": 1})
    assert weighted.needed_epsilon.estimate == pytest.approx(0.2)
    all_of_them = alt_test(labels, "judge", gold=gold, epsilon=0.1, threshold=1.0)
    assert all_of_them.needed_epsilon.estimate == pytest.approx(0.2)


def test_needed_epsilon_is_printed_with_the_smallest():
    needed = TEST.needed_epsilon
    words = (
        f"smallest passing margin {TEST.smallest_epsilon:.3f}; parity margin {number(needed.estimate)} "
        f"{interval(needed.low, needed.high)}"
    )
    assert words in TEST.summary()
    assert words in " ".join(card(TEST).details)
    made = json.loads(json.dumps(TEST.to_dict(), allow_nan=False))
    assert made["smallest_epsilon"] == TEST.smallest_epsilon
    assert [made["needed_epsilon"][k] for k in ("estimate", "low", "high")] == [
        needed.estimate,
        needed.low,
        needed.high,
    ]
    row = assay.compare_judges(LABELS, epsilon=0.15).table.row(0, named=True)
    assert [row[f"needed_epsilon{end}"] for end in ("", "_low", "_high")] == [needed.estimate, needed.low, needed.high]


def test_needed_epsilon_uses_interval_options():
    narrow = alt_test(LABELS, "judge", epsilon=0.15, confidence=0.8).needed_epsilon
    assert narrow.high - narrow.low < TEST.needed_epsilon.high - TEST.needed_epsilon.low
    assert TEST.needed_epsilon.interval(0.8) == pytest.approx((narrow.low, narrow.high))
    none = alt_test(LABELS, "judge", epsilon=0.15, method="none").needed_epsilon
    assert math.isnan(none.low)
    assert none.reason == "no interval requested"
    resampled = alt_test(LABELS, "judge", epsilon=0.15, method="percentile").needed_epsilon
    assert (resampled.low, resampled.high) == pytest.approx(
        (TEST.needed_epsilon.low, TEST.needed_epsilon.high), abs=0.05
    )
    assert "Bayesian bootstrap" in TEST.needed_epsilon.among.describe_interval()
    nobody = alt_test(LABELS, "judge", epsilon=0.15, min_items=1000)
    assert math.isnan(nobody.needed_epsilon.estimate)
    assert nobody.sample_size.reason == "no annotator has enough items"


@pytest.mark.simulation
@pytest.mark.parametrize(("m", "n"), [(3, 15), (3, 30), (4, 60), (5, 200)])
def test_needed_epsilon_interval_covers(m, n):
    from assay.estimation.options import IntervalSettings
    from assay.estimation.resampling import estimate_open
    from assay.statistics.wins import NeededEpsilon

    statistic, hits, studies = NeededEpsilon(np.ones(m), 0.5), 0, 800
    for seed in range(studies):
        by_item = items(drawn(n, m, 0.1, seed=10_000 + seed))
        left, rng = Posterior.of(by_item, n), np.random.default_rng(seed)
        rows = left.rows.reshape(len(left.rows), -1)
        found = estimate_open(
            statistic, by_item.reshape(n, -1), lambda k, left=left, rng=rng, rows=rows: left.truths(k, rng) @ rows,
            IntervalSettings(method="jackknife", n_resamples=500),
        )  # fmt: skip
        hits += found.low[0] <= 0.1 <= found.high[0]
    # .95 with a standard error of .008; with 15 items it is a little cautious.
    assert 0.925 < hits / studies < (0.99 if n == 15 else 0.98)


def ends_of(by_item: np.ndarray, times: int, n: int, m: int) -> np.ndarray:
    """The verdicts of consecutive studies of n items."""
    counts = by_item.reshape(times, n, *by_item.shape[1:]).sum(axis=1)[:, None]
    simulated = SimulatedStudies(counts, np.ones((times, m)), exact=False)
    return simulated.ends(SETTINGS, 0.15)[:, 0]


@pytest.mark.simulation
def test_four_in_five_of_the_studies_that_are_planned_tell():
    """For undecided pilots, the only ones with a sample size, of judges as good as annotators, worse, and between."""
    rates = []
    for difference in (0.0, 0.05, 0.10, 0.25, 0.35):
        for m, n in ((3, 30), (3, 60), (5, 60), (10, 30), (10, 120)):
            seeds = range(1000 * m + n, 1000 * m + n + 12)
            pilots = [drawn(n, m, difference, seed=seed) for seed in seeds]
            pilots = [one for one in pilots if not is_conclusive(ends_of(items(one), 1, n, m))[0]]
            for seed, one in enumerate(pilots[:4]):
                found = sample_size(pilot(one), n, SETTINGS)
                if found.n_items is not None:
                    by_item = items(drawn(40 * found.n_items, m, difference, seed=20_000 + seed))
                    rates.append(is_conclusive(ends_of(by_item, 40, found.n_items, m)).mean())
    assert len(rates) > 60
    # Standard error .03: rates of a judge that is near epsilon and of one that is not lie far apart.
    assert 0.74 < np.mean(rates) < 0.88, np.mean(rates)


# -- the arithmetic of a plan, by hand ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        (7, 7),
        (7.2, 8),
        (10, 10),
        (98.1, 99),
        (100, 100),
        (101, 110),
        (110, 110),
        (119.5, 120),
        (1234, 1300),
        (9901, 10_000),
    ],
)
def test_about_rounds_up_to_two_digits(number, rounded):
    assert studies.about(number) == rounded


def test_crossing_interpolates_between_sizes():
    """By their ratio: half of the way from 50 to 200 is 100. Never before the first size, nor after the last."""
    sizes = np.array([50, 200, 800])
    shares = np.array([[0.2, 0.6, 0.9], [0.1, 0.4, 0.9], [0.5, 0.6, 0.7], [0.1, 0.2, 0.3], [0.0, 0.5, 0.5]])
    found = studies.crossing(sizes, shares, 0.4)
    assert found.tolist() == pytest.approx([100.0, 200.0, 50.0, np.inf, 50 * 4**0.8])


def test_rising_takes_the_midpoint():
    assert studies.rising(np.array([0.1, 0.5, 0.3, 0.9, 0.8])).tolist() == pytest.approx([0.1, 0.4, 0.4, 0.85, 0.85])
    assert studies.rising(np.array([[0.1, 0.2], [0.4, 0.2]])).tolist() == [[0.1, 0.2], pytest.approx([0.3, 0.3])]


def test_range_of_excludes_a_tenth_on_each_side():
    """Truth k goes from 0 at 10 items to .8 / p at 20, so that it has .8 at 10 · 2^p items, p = .80, .81, … .99."""
    by_truth = np.array([[0.0, 0.8 / (0.8 + k / 100)] for k in range(20)])
    low, high = studies.range_of(np.array([10, 20]), by_truth[::-1], 0.8)
    assert (low, high) == pytest.approx((10 * 2**0.82, 10 * 2**0.97))
    assert studies.range_of(np.array([10, 20]), by_truth * (np.arange(20) < 10)[:, None], 0.8)[1] == np.inf


@pytest.mark.parametrize(
    ("first", "limit", "sizes"),
    [
        (100, 100, [100]),
        (100, 149, [100, 149]),
        (100, 220, [100, 148, 220]),  # two steps of √2.2 = 1.483
        (10, 2000, [10, 15, 23, 34, 51, 77, 115, 173, 260, 391, 588, 885, 1330, 2000]),  # 13 steps: 200^(1/13) = 1.503
        (2, 3, [2, 3]),
    ],
)
def test_sizes_are_in_even_ratios_of_one_and_a_half_at_most(first, limit, sizes):
    found = studies.sizes_up_to(limit, first)
    if (first, limit) == (10, 2000):
        steps = math.ceil(math.log(200) / math.log(1.5))
        sizes = [round(10 * 200 ** (i / steps)) for i in range(steps + 1)]
    assert found.tolist() == sizes


def test_each_of_several_domains_has_its_part_of_the_level():
    settings = AltTestSettings(epsilon=0.1, alpha=0.04)
    assert [studies.level_of_domain(settings, n).alpha for n in (0, 1, 2, 4)] == [0.04, 0.04, 0.02, 0.01]


def test_size_range_in_words():
    none = studies.NO_ANNOTATOR
    assert (size_range(none), none.n_items, none.limit, none.reason) == (
        "no range",
        None,
        0,
        "no annotator has enough items",
    )
    made = replace(none, n_items=1200, low=1000, high=2500, limit=4000)
    assert size_range(made) == "1,000–2,500"
    assert size_range(replace(made, high=None)) == "1,000 to more than 4,000"
    assert size_range(replace(made, low=None)) == size_range(replace(made, n_items=None)) == "no range"


def planned(monkeypatch, told, alone=0.0, *, min_items=30, n_items=60, power=0.8):
    """What is planned where the share of studies of each truth that tell is said, by truth and size."""
    asked, planned_sizes = [], []

    def power_of_truths(one, settings):
        asked.append(one)
        return np.tile(told(planned_sizes) if one.ratio_z is not None else np.full(1, alone), (10, 1))

    def drawn(sizes, truths, each, rng):
        assert (truths, each) == (240, 6)
        planned_sizes.extend(sizes)
        counts = np.arange(float(len(sizes)))[None, :, None, None, None]
        return SimulatedStudies(counts, np.ones((1, 1)), np.ones((1, len(sizes))))

    monkeypatch.setattr(studies, "power_of_truths", power_of_truths)
    found = studies._sample_size(
        SimpleNamespace(studies=drawn), n_items, SimpleNamespace(min_items=min_items, seed=0), power
    )
    return found, asked


def test_sample_size_is_where_studies_reach_power(monkeypatch):
    found, _ = planned(monkeypatch, lambda sizes: (np.array(sizes) >= 400).astype(float))
    first = next(size for size in found.sizes if size >= 400)
    last = max(size for size in found.sizes if size < 400)
    wanted = studies.about(last * (first / last) ** 0.8)
    assert (found.n_items, found.low, found.high) == (wanted, wanted, wanted)
    assert (found.power, found.reason, found.sizes[0]) == (0.8, None, 30)
    found, _ = planned(monkeypatch, lambda sizes: np.full(len(sizes), 0.75), power=0.75)
    assert (found.n_items, found.low, found.high) == (30, 30, 30)


@pytest.mark.parametrize(
    ("min_items", "n_items", "first", "limit"),
    [(30, 60, 30, 2000), (30, 100, 30, 2000), (30, 101, 30, 2020), (1, 60, 2, 2000), (1500, 60, 1500, 3000)],
)
def test_sample_size_limit_is_2000_or_20_pilots(monkeypatch, min_items, n_items, first, limit):
    found, _ = planned(monkeypatch, lambda sizes: np.zeros(len(sizes)), min_items=min_items, n_items=n_items)
    assert (found.sizes[0], found.sizes[-1], found.limit) == (first, limit, limit)
    assert (found.n_items, found.low, found.high) == (None, None, None)


@pytest.mark.parametrize(
    ("alone", "reason"),
    [
        (0.75, "the agreement ratio is close to the required one"),
        (0.74, "the judge is close to the margin ε"),
    ],
)
def test_sample_size_reason_distinguishes_ratio_from_margin(monkeypatch, alone, reason):
    found, asked = planned(monkeypatch, lambda sizes: np.zeros(len(sizes)), alone, power=0.75)
    assert found.reason == reason
    assert (asked[1].ratio_z, asked[1].counts.ravel().tolist()) == (
        None,
        [len(found.sizes) - 1],
    )  # of the largest alone


@pytest.mark.parametrize("m", [5, 8])
def test_plans_test_sums_over_annotators_as_the_verdict_does(m):
    """On complete studies of 60 items: the same p-values as the verdict's, within what is left out."""
    source, rng, n, n_studies = LabelSource.of(4, (0.25,) * 4), np.random.default_rng(1), 60, 40
    cumulative = source.priors(rng, n_studies)
    truth = source.draw(rng.random((n_studies, n)), cumulative)
    values = source.answer(rng, truth, cumulative, np.full((n_studies, 1, m), 0.3)).astype(float)
    judge = source.answer(rng, truth, cumulative, np.array([0.3]))[..., 0].astype(float)
    settings = AltTestSettings(epsilon=0.15)
    rule = AltTestTable.of(assay.simulate(2, 2, scale=source.scale, prior=(0.25,) * 4), settings).rule
    of = score_studies(rule, values, judge, np.ones((n_studies, m)), (30, n))
    whole = of.of_largest_size()
    p, reverse = whole._p(whole.counts, 0.15, None)
    simes, _, least, _ = conjunctions(p, reverse, whole.quality[:, None, :], 0.5)
    sums = whole.sums.p(whole.counts, p, least, 0.15)[:, 0]
    planned_p = np.minimum(2 * np.minimum(simes[:, 0], sums), 1)
    item, annotator = np.nonzero(np.ones((n, m), dtype=bool))
    by_verdict = []
    for study in range(n_studies):
        panel = Panel(
            item=item, annotator=annotator, value=values[study].ravel(), n_items=n, n_annotators=m, quality=np.ones(m),
            labels=rule.labels,
        )  # fmt: skip
        compared, outcome = rule.compare(panel, judge[study]), np.full((n, m), np.nan)
        outcome[item[compared.row], annotator[compared.row]] = compared.sign
        by_verdict.append(noninferior_p(p[study, 0], int(np.ravel(least)[0]), outcome, 0.15))
    assert np.abs(planned_p - by_verdict).max() < 0.02
    assert np.median(np.abs(planned_p - by_verdict)) < 0.006
    assert (planned_p < simes[:, 0]).any()


def test_pilots_of_few_and_of_many_annotators_have_no_sums():
    for m, summed in ((4, False), (5, True), (12, True), (13, False)):
        found = pilot(drawn(60, m, 0.0, seed=1)).studies([30, 60], 3, 2, np.random.default_rng(0))
        assert (found.sums is not None) == summed, m
    products = pilot(drawn(60, 5, 0.0, seed=1)).studies([30, 60], 3, 2, np.random.default_rng(0)).sums.products
    own = np.diagonal(products, axis1=-2, axis2=-1)
    assert products.shape == (6, 2, 5, 5)
    assert (own <= [[[30], [60]]]).all()
    assert (own[:, 0] <= own[:, 1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("m", [4, 8])
def test_a_pilot_with_missing_labels_needs_more_items(m):
    """Each annotator labels half of the items, so that about twice the items are needed; not none, nor the same."""
    outcomes = drawn(240, m, -0.05, seed=11)
    whole = sample_size(pilot(outcomes), 240, SETTINGS)
    counts = items(outcomes)
    counts[np.random.default_rng(12).random(outcomes.shape) < 0.5] = 0.0
    shown = counts.any(axis=(1, 2, 3))
    half = sample_size(Pilot.of(counts[shown], int(shown.sum()), np.ones(m)), int(shown.sum()), SETTINGS)
    assert 1.3 * whole.n_items < half.n_items < 3.5 * whole.n_items
    assert half.low < half.n_items <= (half.high or math.inf)
