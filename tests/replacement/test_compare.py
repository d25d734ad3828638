"""All judges of one table."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache

import numpy as np
import polars as pl
import pytest
from panels import columns, planted_test, random_study, table

from assay.data.annotations import Annotations
from assay.data.scales import Interval, Ordinal, Text
from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimate
from assay.replacement.alt_test import alt_test
from assay.replacement.compare import SAMPLE_SIZE, JudgeComparison, compare_judges

STUDY = random_study(1, n_items=120)


@cache
def by_crowd() -> JudgeComparison:
    """Both judges of `STUDY` compared once, for every test that reads the result."""
    return compare_judges(STUDY, expertise="crowd")


@pytest.mark.parametrize(
    "options", [{}, {"score": "accuracy"}, {"balance": True}, {"quality": {"h0": 3, "h1": 1, "h2": 1, "h3": 1}}]
)
def test_each_judge_has_the_test_it_would_have_alone(options):
    found = compare_judges(STUDY, expertise="crowd", **options)
    assert list(found.tests) == ["good", "poor"]
    for judge, test in found.tests.items():
        alone = alt_test(STUDY, judge, expertise="crowd", **options)
        assert test.signature == alone.signature
        assert test.advantage_probability.estimate == pytest.approx(alone.advantage_probability.estimate, rel=1e-12)
        assert test.advantage_probability.low == pytest.approx(alone.advantage_probability.low, rel=1e-12)
        assert test.annotators.drop("low", "high").equals(alone.annotators.drop("low", "high"))


def test_compare_judges_lead_is_a_paired_difference():
    found = by_crowd()
    good, poor = (found.tests[j].advantage_difference for j in ("good", "poor"))
    assert (found.best, found.next_best) == ("good", "poor")
    assert found.lead.estimate == pytest.approx(good.estimate - poor.estimate)
    assert found.lead.low < found.lead.estimate < found.lead.high
    assert found.lead_is_clear


def test_lead_of_a_judge_that_skips_difficult_items_is_over_items_that_both_labelled():
    rng = np.random.default_rng(5)
    n, hard = 240, np.arange(240) % 3 == 0
    quality = rng.integers(1, 6, n)

    def rate(noise):
        return dict(enumerate(np.clip(np.rint(quality + rng.normal(0, np.where(hard, 3, noise))), 1, 5).tolist()))

    people = {f"h{j}": rate(0.6) for j in range(3)}
    whole = rate(0.6)
    skips = {i: label for i, label in whole.items() if not hard[i]}
    found = compare_judges(table(people, {"whole": whole, "skips": skips}, scale=Ordinal(1, 5)), expertise="crowd")
    rho = {judge: test.advantage_probability.estimate for judge, test in found.tests.items()}
    assert rho["skips"] != pytest.approx(rho["whole"], abs=1e-3)
    # The same labels where both have one.
    assert (found.lead.estimate, found.lead_is_clear) == (0, False)
    assert found.n_shared == 160
    assert "160 items that both labelled" in found.summary()


def graded(seed, *, coarse, fine, n=250, grid=99):
    """Four people on 1-5 and two judges: one on 1-5 like them, one on a finer grid of the same range."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, n)

    def on(noise, step):
        seen = quality + rng.normal(0, noise, n)
        return dict(enumerate(np.clip(np.round((seen - 1) / step) * step + 1, 1, 5).round(2).tolist()))

    people = {f"h{j}": on(0.75, 1.0) for j in range(4)}
    return table(people, {"coarse": on(coarse, 1.0), "fine": on(fine, 4 / grid)}, scale=Interval(1, 5))


def test_compare_judges_prefers_the_closer_judge_to_the_one_with_more_ties():
    found = compare_judges(graded(3, coarse=0.9, fine=0.55), expertise="crowd")
    rho = {name: test.advantage_probability.estimate for name, test in found.tests.items()}
    assert rho["coarse"] > rho["fine"] + 0.05
    assert (found.best, found.lead_is_clear) == ("fine", True)
    assert found.table["judge"][0] == "fine"
    assert found.lead.estimate == pytest.approx(
        found.table["advantage_difference"][0] - found.table["advantage_difference"][1]
    )
    assert (
        f"fine ρ = {rho['fine']:.2f} with {100 * found.table['tie_rate'][0]:.0f}% ties, coarse ρ = " in found.summary()
    )


def test_judges_with_the_same_error_and_other_scales_have_no_clear_lead():
    """By ρ the coarse judge was significantly higher in all of these studies; now either judge in few of them."""
    found = [compare_judges(graded(seed, coarse=0.7, fine=0.75, n=150, grid=9), epsilon=0.1) for seed in range(40)]
    assert sum(one.lead_is_clear for one in found) <= 5  # of 40 at 5%: 6 or more have a chance of .014
    assert sum(one.tests["coarse"].advantage_probability.low > one.tests["fine"].advantage_probability.high
               for one in found) >= 20  # fmt: skip


def test_advantage_difference_is_the_mean_difference_with_the_other_sign():
    test = by_crowd().tests["good"]
    low, high = test.mean_difference.interval(0.9)
    assert test.advantage_difference.interval(0.9) == (-high, -low)
    assert test.advantage_difference.p(0.1) == test.mean_difference.p(-0.1)
    counts = test.annotators.select((pl.col("n_judge_better") - pl.col("n_human_better")) / pl.col("n"))
    assert test.advantage_difference.estimate == pytest.approx(counts.to_series().mean())
    ties = test.annotators.select(pl.col("n_tie") / pl.col("n")).to_series().mean()
    assert test.tie_rate == pytest.approx(ties)


def piled_up(seed, other, *, share=0.9, good=0.2, n=120):
    """Three people and two judges where ``share`` of the labels are one value, of each topic another one."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 3, n)
    usual = np.array([3, 4, 2])[topic] if other == "column" else np.full(n, 3)
    truth = np.where(rng.random(n) < share, usual, rng.integers(1, 6, n))

    def noisy(noise):
        return np.where(rng.random(n) < noise, rng.integers(1, 6, n), truth)

    useless = {"constant": np.full(n, 3), "column": usual, "coin": rng.permutation(truth)}
    labels = {f"h{j}": noisy(0.2) for j in range(3)} | {"good": noisy(good)}
    labels["other"] = useless[other] if other in useless else noisy(other)
    item = [f"i{k}" for k in range(n)]
    frame = pl.concat([pl.DataFrame({"item": item, "annotator": who, "label": one}) for who, one in labels.items()])
    items = pl.DataFrame({"item": item, "topic": [f"t{t}" for t in topic]})
    return Annotations.from_frame(frame, judges=["good", "other"], scale=Ordinal(1, 5), items=items)


ALL_SEEDS = pytest.param(30, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [10, ALL_SEEDS])
@pytest.mark.parametrize(("other", "leads"), [("constant", 0.3), ("column", 0.3), ("coin", 0.0)])
def test_compare_judges_ranks_no_useless_judge_ahead(other, leads, seeds):
    """Where nine of ten labels are one value, a constant is closer to people than they are to each other.

    Its larger rho is shown in more than ``leads`` of studies; it is called ahead in at most 5% (1 of 30, 0 of 10).
    """
    found = [compare_judges(piled_up(seed, other), epsilon=0.1) for seed in range(seeds)]
    mine = [one for one in found if one.best == "other" and one.lead.low > 0]
    assert len(mine) >= leads * seeds
    assert sum(one.lead_is_clear for one in mine) <= seeds // 20
    doubtful = [one for one in mine if not one.lead_is_clear]
    assert {one.lead_doubt for one in doubtful} <= {"item_level_agreement_undecided", "agreement_ratio_too_low"}
    for one in doubtful[:2]:
        assert "ahead" not in one.summary()
        assert "This does not rank other higher: item-level agreement is not demonstrated (p = " in one.summary()
        assert one.to_dict()["lead_is_clear"] is False


def test_compare_judges_ranks_no_judge_ahead_that_repeats_an_annotator():
    """The labels of the first person again: closer to the others than a judge with 60% of random labels."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        truth = rng.integers(1, 6, 200)
        labels = {who: np.where(rng.random(200) < noise, rng.integers(1, 6, 200), truth)
                  for who, noise in (("h0", 0.25), ("h1", 0.25), ("h2", 0.25), ("good", 0.6))}  # fmt: skip
        labels["copy"] = labels["h0"]
        humans, judges = (
            {name: dict(enumerate(labels[name].tolist())) for name in names}
            for names in (("h0", "h1", "h2"), ("good", "copy"))
        )  # fmt: skip
        found = compare_judges(table(humans, judges), epsilon=0.1)
        assert found.best == "copy"
        assert found.lead.low > 0.1  # ties, which only ρ counts, are no part of the lead
        assert (found.lead_is_clear, found.lead_doubt) == (False, "matches_one_annotator")
        assert (
            "This does not rank copy higher: its labels match h0's more often than agreement with the others explains; "
            "check for label leakage (p < 0.001)."
        ) in found.summary()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [10, ALL_SEEDS])
def test_compare_judges_keeps_its_power_for_two_good_judges(seeds):
    """The lead of the better judge is called so wherever its interval shows it, in four fifths of studies or more."""
    found = [compare_judges(piled_up(seed, 0.25, share=0.8, good=0.05), epsilon=0.1) for seed in range(seeds)]
    shown = [one.best == "good" and one.lead.low > 0 for one in found]
    assert sum(shown) >= 0.8 * seeds
    assert [one.lead_is_clear for one in found] == shown


def test_pairing_sees_a_small_lead():
    # Two judges that differ on three items: each rho is uncertain, their difference much less.
    frame = STUDY.labels
    mine = frame.filter(pl.col("annotator") == "good")
    off = (
        pl.when(pl.col("item").is_in(mine["item"][:12].to_list())).then(6 - pl.col("label")).otherwise(pl.col("label"))
    )
    twin = mine.with_columns(annotator=pl.lit("twin"), label=off)
    labels = Annotations.from_frame(pl.concat([frame, twin]), judges=["good", "poor", "twin"], scale=Ordinal(1, 5))
    found = compare_judges(labels, ["twin", "good"], expertise="crowd")
    rho = found.tests["good"].advantage_probability
    assert set(found.tests) == {"twin", "good"}
    assert found.lead.standard_error < rho.standard_error
    same = Annotations.from_frame(
        pl.concat([frame, mine.with_columns(annotator=pl.lit("twin"))]), judges=["good", "poor", "twin"]
    )
    equal = compare_judges(same, ["twin", "good"], expertise="crowd")
    assert equal.lead.estimate == 0
    assert not equal.lead_is_clear
    # No item tells them apart: that says little where there are few, so the interval has a width.
    assert equal.lead.low == -equal.lead.high < 0
    assert equal.lead.high == pytest.approx(2.0 / (equal.tests["good"].n_items + 2), rel=0.05)
    # In the order of their names, when nothing else tells them apart.
    assert list(equal.tests) == ["good", "twin"]


def test_compare_judges_with_one_judge_has_no_lead():
    found = compare_judges(STUDY, ["good"], expertise="crowd")
    assert found.next_best is None
    assert math.isnan(found.lead.estimate)
    assert found.lead.reason == "there is only one judge"
    assert "It is" not in found.summary()


@pytest.mark.parametrize("method", ["jackknife", "none", "bca"])
def test_every_way_to_make_an_interval(method):
    found = compare_judges(STUDY, expertise="crowd", method=method, n_resamples=200)
    if method == "none":
        assert math.isnan(found.lead.low)
        assert found.lead.reason == "a paired difference needs an interval of both judges"
        difference = [t.advantage_difference.estimate for t in found.tests.values()]
        assert found.lead.estimate == difference[0] - difference[1]
        assert found.summary().startswith("Highest advantage probability minus the annotators': good, +0.01 (no interv")
        assert "adjusted for selecting" not in found.summary()
        assert not found.lead_is_clear
    else:
        assert found.lead.low > 0


def test_compare_judges_ceiling_is_the_optimal_judge():
    found = by_crowd()
    assert found.ceiling.judge == "optimal judge (mean of annotators; for reference)"
    assert found.ceiling.advantage_probability.estimate == 1
    by_votes = compare_judges(STUDY, expertise="crowd", score="accuracy").ceiling
    assert by_votes.judge == "optimal judge (majority vote of annotators; for reference)"
    assert compare_judges(STUDY, epsilon=0.1, expert="h0").ceiling is None


def test_compare_judges_reports_low_ceiling():
    labels = table(columns(ann="a" * 31, bob="a" * 31, cat="a" * 31), columns(judge="a" * 31))
    found = compare_judges(labels, epsilon=0, n_resamples=20)
    assert not found.ceiling.passed
    assert "for reference) does not pass the published rule either: these data are too few" in found.summary()


# -- what papers report -----------------------------------------------------------------------------


def test_mean_pearson():
    found = by_crowd()
    assert found.traditional_name == "mean_pearson"
    grid = STUDY.matrix(["h0", "h1", "h2", "h3", "good", "poor"])
    for k, judge in ((4, "good"), (5, "poor")):
        each = []
        for j in range(4):
            both = ~np.isnan(grid[:, j])
            each.append(np.corrcoef(grid[both, j], grid[both, k])[0, 1])
        assert found.traditional[judge] == pytest.approx(np.mean(each))


def test_accuracy_with_the_majority():
    found = compare_judges(STUDY, expertise="crowd", score="accuracy")
    assert found.traditional_name == "accuracy_with_majority"
    grid = STUDY.matrix(["h0", "h1", "h2", "h3", "good"])
    credit = []
    for row in grid:
        votes = Counter(v for v in row[:4] if not np.isnan(v))
        top = [v for v, n in votes.items() if n == max(votes.values())]
        if top:
            credit.append((row[4] in top) / len(top))
    assert found.traditional["good"] == pytest.approx(np.mean(credit))


def test_mean_similarity():
    labels = table(columns(ann="ab" * 20, bob="aa" * 20), columns(j="ab" * 20), scale=Text())
    found = compare_judges(labels, epsilon=0.1, similarity=lambda a, b: 0.7 if a == b else 0.2)
    # j agrees with ann always (.7), with bob every other time (.45).
    assert found.traditional_name == "mean_similarity"
    assert found.traditional["j"] == pytest.approx((0.7 + 0.45) / 2)
    assert found.ceiling is None


@pytest.mark.slow
def test_compare_judges_constant_has_no_correlation():
    frame = STUDY.labels
    flat = frame.filter(pl.col("annotator") == "good").with_columns(annotator=pl.lit("flat"), label=pl.lit(3))
    labels = Annotations.from_frame(
        pl.concat([frame, flat], how="vertical_relaxed"), judges=["good", "poor", "flat"], scale=Ordinal(1, 5)
    )
    found = compare_judges(labels, expertise="crowd")
    assert math.isnan(found.traditional["flat"])
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["traditional"]["flat"] is None


# -- edges and words --------------------------------------------------------------------------------


def test_compare_judges_without_testable_annotators():
    labels = table(columns(ann="ab", bob="ab"), columns(j="ab", k="ba"))
    found = compare_judges(labels, epsilon=0.1)
    assert math.isnan(found.lead.estimate)
    assert not found.lead_is_clear
    assert found.summary().startswith("No advantage probability is estimable: no annotator has 30 comparable items")
    json.dumps(found.to_dict(), allow_nan=False)
    found.plot().get_figure().canvas.draw()


def test_compare_judges_ranks_sparse_judge_last():
    frame = STUDY.labels
    lazy = frame.filter(pl.col("annotator") == "good").head(10).with_columns(annotator=pl.lit("lazy"))
    labels = Annotations.from_frame(pl.concat([frame, lazy]), judges=["good", "poor", "lazy"], scale=Ordinal(1, 5))
    found = compare_judges(labels, expertise="crowd")
    assert list(found.tests) == ["good", "poor", "lazy"]
    assert math.isnan(found.tests["lazy"].winning_rate)
    assert found.lead.estimate == pytest.approx(
        found.tests["good"].advantage_difference.estimate - found.tests["poor"].advantage_difference.estimate
    )
    assert found.lead_is_clear
    worse = compare_judges(labels, ["good", "lazy"], expertise="crowd")
    assert worse.lead.reason == "a paired difference needs an interval of both judges"
    assert math.isnan(worse.lead.estimate)
    assert not worse.lead_is_clear


def test_no_judges_to_compare():
    labels = Annotations.from_frame(STUDY.labels)
    with pytest.raises(DesignError, match="the table has no judge to compare"):
        compare_judges(labels, expertise="crowd")


def test_judges_named_alone_or_twice():
    assert list(compare_judges(STUDY, "good", expertise="crowd").tests) == ["good"]
    twice = compare_judges(STUDY, ["good", "poor", "good"], expertise="crowd")
    assert twice.lead == by_crowd().lead


def test_judge_code_rejects_unknown_judges():
    with pytest.raises(DataError, match="judge 'gooood' is not in the judges of the table; did you mean 'good'"):
        compare_judges(STUDY, ["gooood"], expertise="crowd")


def test_compare_judges_rejects_unknown_option():
    with pytest.raises(DesignError, match="did you mean 'min_items'"):
        compare_judges(STUDY, expertise="crowd", min_item=3)


@pytest.mark.slow
def test_it_reads_like_every_result():
    found = by_crowd()
    rows = found.table
    assert rows["judge"].to_list() == ["good", "poor", "optimal judge (mean of annotators; for reference)"]
    assert rows["kind"].to_list() == ["judge", "judge", "ceiling"]
    assert rows["estimate"].is_sorted(descending=True) is False  # the ceiling is last, with the highest rho
    assert rows["smallest_epsilon"][0] == found.tests["good"].smallest_epsilon
    made = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(made["tests"]) == ["good", "poor"]
    assert made["tests"]["good"]["verdict"] == found.tests["good"].verdict
    assert found.signature.startswith(f"compare-judges|items:{found.tests['good'].n_items}|humans:4|judges:good,poor|")
    summary = found.summary()
    assert summary.startswith("Highest advantage probability minus the annotators': good, +0.")
    assert "same items; good is significantly closer to the annotators." in summary
    assert "(interval adjusted for selecting the best of 2)" in summary
    assert "of 2 judges pass (ε = 0.1)" in summary
    for name, test in found.tests.items():
        named = next(line for line in summary.splitlines() if line.startswith(test.verdict_text))
        assert name in named
    assert "Probability of any false Replace among 2 judges: at most 0.05 (Holm-adjusted)." in summary
    each = compare_judges(STUDY, expertise="crowd", together="each").summary()
    assert "Probability of any false Replace among 2 judges: up to 0.10 (each at 0.05, not adjusted)." in each
    axes = found.plot()
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "good",
        "poor",
        "optimal judge (mean of annotators; for reference)",
    ]
    axes.get_figure().canvas.draw()


# -- in words, from numbers that are known -------------------------------------------------------------


def compared(*judges, ceiling=None, lead=None, clear=False, level=0.05, p_item_level=0.01, **more):
    """Judges by (name, verdict, passes); the first is the best, the second the next."""
    each = {"alpha": level, "n_items": 60, "p_item_level": p_item_level, **more}
    tests = {name: planted_test(name, verdict, passed=passed, **each) for name, verdict, passed in judges}
    names = list(tests)
    return JudgeComparison(
        tests=tests, traditional={}, traditional_name="mean_pearson", best=names[0], lead=lead, n_shared=None,
        lead_is_clear=clear, next_best=names[1] if len(names) > 1 else None, run=tests[names[0]].run,
        ceiling=None if ceiling is None else planted_test("mean", "replace", passed=ceiling),
    )  # fmt: skip


def lines_of(*judges, **options):
    """The sentences before the closing lines."""
    found = compared(*judges, **options)
    closing = found.run.closing()
    lines = found.summary().splitlines()
    assert lines[-len(closing) :] == closing
    return lines[: -len(closing)]


LEAD = Estimate(0.1, 0.02, 0.18, 0.04)


def test_two_judges_in_words():
    lines = lines_of(("a", "replace", True), ("b", "undecided", False), lead=LEAD, clear=True)
    assert lines == [
        # Chosen among two: an interval of level 1 - .05 / 2 = .975, which begins .1 lower.
        "Highest advantage probability minus the annotators': a, +0.10 [−0.10, 0.20] (interval adjusted for selecting "
        "the best of 2); ρ = 0.80.",
        "a − b: 0.10 [0.02, 0.18], same items; a is significantly closer to the annotators.",
        "Replace (1 of 2): a.",
        "Undecided (1 of 2): b.",
        "Published rule: 1 of 2 judges pass (ε = 0.1): a.",
        "Probability of any false Replace among 2 judges: up to 0.10 (each at 0.05, not adjusted).",
    ]


def test_a_judge_that_is_behind_on_shared_items_is_not_called_closer():
    """Nor is the other one, whose item-level agreement is not examined."""
    behind = Estimate(-0.1, -0.18, -0.02, 0.04)
    lines = lines_of(("a", "undecided", True), ("b", "do_not_replace", False), lead=behind)
    assert lines[1] == "a − b: −0.10 [−0.18, −0.02], same items; a is not closer on these items."


def test_comparison_summary_explains_doubtful_lead():
    assert lines_of(("a", "undecided", True), ("b", "replace", False), lead=LEAD, p_item_level=0.31)[1] == (
        "a − b: 0.10 [0.02, 0.18], same items. This does not rank a higher: item-level agreement is not "
        "demonstrated (p = 0.310)."
    )


def test_comparison_summary_adjusts_interval_of_best():
    judges = [(name, "replace", True) for name in "abcde"]
    # At the level 1 − .05 / 5 = .99, where it begins .16 lower.
    assert lines_of(*judges, lead=LEAD)[0].startswith(
        "Highest advantage probability minus the annotators': a, +0.10 [−0.16, 0.20]"
    )


def test_comparison_summary_of_one_judge():
    lines = lines_of(("a", "do_not_replace", False))
    assert lines == [
        "Advantage probability, judge − annotators: a, +0.10 [0.00, 0.20]; ρ = 0.80.",
        "Do not replace (1 of 1): a.",
        "Published rule: 0 of 1 judges pass (ε = 0.1).",
    ]


def test_comparison_summary_has_correction_and_ceiling():
    def lines(**more):
        judges = [(name, "replace", True) for name in "abc"]
        return lines_of(*judges, lead=LEAD, **more)

    assert lines()[1] == "a − b: 0.10 [0.02, 0.18], same items; no significant difference."
    corrected = "Probability of any false Replace among 3 judges: at most 0.05 (Holm-adjusted)."
    assert corrected in lines(n_verdicts=3)
    assert lines(level=0.4)[-1].endswith("up to 1.00 (each at 0.4, not adjusted).")
    assert lines(ceiling=False)[-1] == (
        "The mean does not pass the published rule either: these data are too few to show that any judge passes."
    )
    assert "either" not in "".join(lines(ceiling=True))


def test_comparison_table_has_sample_size_if_items_help():
    found = compared(("a", "replace", True), ("b", "undecided", False), ("c", "do_not_replace", False), lead=LEAD)
    assert [test.reason for test in found.tests.values()] == ["", "comparison_undecided", "worse_than_half"]
    needed = found.tests["b"].sample_size
    assert needed.n_items is not None
    assert found.table.select(SAMPLE_SIZE).rows() == [
        (None,) * 3, (needed.n_items, needed.low, needed.high), (None,) * 3
    ]  # fmt: skip
