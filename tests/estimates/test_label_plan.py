"""Plans of labels: against simulated studies, by hand, and what active choice does to the estimate."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from checked_studies import checked_study
from scipy import stats

import assay
from assay.data.scales import Interval
from assay.errors import DesignError
from assay.estimates.checked import SpotChecks
from assay.estimates.plans.label_plan import (
    LEAST_ITEMS,
    LEAST_PLANNED,
    LabelMoments,
    LabelPlanSettings,
    MomentDraws,
    _allocation,
    _pilot_moments,
    _row,
    _search,
    _shared_correlation,
    _smallest,
    chances,
    strata_of,
)
from assay.estimates.words import plan_lines


def test_useless_judge_adds_nothing():
    plan = assay.plan.labels(half_width=0.05, share=0.3, correlation=0.0)
    row = plan.smallest.row(0, named=True)
    assert row["n"] == row["humans_only"]
    assert (plan.table["equivalent_labels"] == 0).all()
    assert plan.weight == 0


def test_numbers_are_those_of_the_formula():
    """n with V = σ²((1 − ρ²)/n + ρ²/N): at ρ = .8, σ = 1, N huge, 100 items have t(98) · √.0036."""
    plan = assay.plan.labels(sd=1.0, correlation=0.8, n_items=10**9, sizes=(100,), half_width=0.1)
    assert plan.table["estimate"][0] == pytest.approx(1.9845 * 0.06, abs=1e-4)
    assert plan.table["humans_only"][0] == pytest.approx(1.9845 * 0.1, abs=1e-4)
    assert plan.table["equivalent_labels"][0] in (177, 178)  # 100 / .36 − 100


@pytest.mark.slow
def test_planned_width_matches_studies():
    """The mean half-width of 20 studies is the planned one, within a tenth."""
    pilot = checked_study(400, 4000, 1, seed=5)
    plan = assay.plan.labels(pilot=pilot, judge="judge", sizes=(100,))
    found = []
    for seed in range(20):
        row = assay.estimate(checked_study(100, 4000, 1, seed=seed + 50), "judge", sampling="trust").table.row(
            0, named=True
        )
        found.append((row["high"] - row["low"]) / 2)
    assert np.mean(found) == pytest.approx(plan.table["estimate"][0], rel=0.1)


def test_more_people_an_item_need_fewer_items_and_cost_is_counted():
    plan = assay.plan.labels(half_width=0.04, n_people=(1, 3), price=0.5, judge_price=0.01, n_items=3000)
    one, three = plan.smallest.iter_rows(named=True)
    assert three["n"] < one["n"]
    assert one["cost"] == pytest.approx(0.5 * one["n"] + 30)
    assert three["cost"] == pytest.approx(1.5 * three["n"] + 30)


def test_too_much_to_ask_is_said():
    plan = assay.plan.labels(half_width=0.001, n_items=200, sizes=(50, 100))
    assert "is not reached with any number of human-labelled items" in plan.summary()
    asked = assay.plan.labels(sizes=(50,))
    assert "Set half_width=... or difference=... to compute" in asked.summary()


def test_power_is_that_of_the_t_interval():
    """Many items: the normal's 1.96 + 1.28 errors. Few: t with n − 2, and at least 20 items."""
    plan = assay.plan.labels(difference=0.01, power=0.9, share=0.5, correlation=0.6, n_items=10**8)
    n = plan.smallest["n"][0]
    assert 0.01 / math.sqrt(0.25 * (1 - 0.36) / n) == pytest.approx(1.96 + 1.2816, abs=0.002)
    assert plan.smallest.select("n_low", "n_high").row(0) == (None, None)
    few = assay.plan.labels(difference=0.3, sd=1.0, correlation=0.8, n_items=1500)
    error = math.sqrt(0.36 / 35 + 0.64 / 1500)
    assert few.smallest["n"][0] == 35  # 33 by the normal
    assert 1 - stats.nct.cdf(stats.t.ppf(0.975, 33), 33, 0.3 / error) >= 0.8
    assert assay.plan.labels(difference=1.0, sd=1.0, correlation=0.8).smallest.row(0)[1:3] == (20, 20)


def numbers_of(rng: np.random.Generator, n: int, mean: float = 0.0, n_all: int = 1500) -> assay.Annotations:
    """A judge on all items, whose labels have a correlation of .8 with those of one person on n of them."""
    judge = rng.normal(size=n_all)
    truth = mean + 0.8 * judge + 0.6 * rng.normal(size=n_all)
    names = np.array([f"i{i:05d}" for i in range(n_all)])
    some = np.sort(rng.permutation(n_all)[:n])
    frame = pl.concat([
        pl.DataFrame({"item": names, "annotator": "judge", "label": judge}),
        pl.DataFrame({"item": names[some], "annotator": "ann", "label": truth[some]}),
    ])  # fmt: skip
    return assay.Annotations.from_frame(frame, judges=["judge"], scale=assay.Interval())


def power_reached(difference: float, pilot: int, studies: int) -> tuple[float, float, float]:
    """The power of studies of the planned size, the mean planned size, and its coverage by the 80% range."""
    right = {"difference": difference}
    best = assay.plan.labels(sd=1.0, correlation=0.8, n_items=1500, **right).smallest["n"][0]
    significant, size, inside = [], [], []
    for seed in range(studies):
        rng = np.random.default_rng([seed, pilot])
        row = assay.plan.labels(pilot=numbers_of(rng, pilot), **right).smallest.row(0, named=True)
        found = assay.estimate(numbers_of(rng, row["n"], difference), "judge").lines[0].found
        significant.append(found.low > 0)
        size.append(row["n"])
        inside.append(row["n_low"] <= best <= row["n_high"])
    return float(np.mean(significant)), float(np.mean(size)), float(np.mean(inside))


def test_a_plan_from_a_small_pilot_reaches_its_power():
    """30 studies, SE .073: .67 with the normal and the pilot's moments as if they were known."""
    power, size, inside = power_reached(0.4, 20, 30)
    assert power >= 0.8 - 0.07
    assert 20 <= size < 30
    assert inside >= 0.6


@pytest.mark.simulation
@pytest.mark.parametrize(("difference", "pilot"), [(0.4, 20), (0.25, 20), (0.3, 40), (0.2, 100)])
def test_power_of_plans_from_pilots(difference: float, pilot: int):
    """200 studies per cell, SE .028."""
    power, size, inside = power_reached(difference, pilot, 200)
    print(f"{difference=} {pilot=}: power {power:.3f}, {size:.0f} items, range covers {inside:.2f}")
    assert power >= 0.8 - 0.06


def test_a_plan_from_a_pilot_has_a_range():
    plan = assay.plan.labels(pilot=two_strata(1)[0], half_width=0.06)
    row = plan.smallest.row(0, named=True)
    assert row["n_low"] < row["n"] < row["n_high"]
    ends = f"80% range: {row['n_low']}–{row['n_high']}"
    assert f"Half-width 0.06 on average requires {row['n']} human-labelled items ({ends}; cost" in plan.summary()
    power = assay.plan.labels(pilot=two_strata(1)[0], difference=0.06).summary()
    assert "A difference of 0.06 with power 0.8, averaged over the pilot's uncertainty, requires" in power
    none = assay.plan.labels(pilot=two_strata(1)[0], half_width=0.0205)
    assert " or more; cost" in none.summary() or "is not reached" in none.summary()


def two_strata(seed: int, n: int = 80, n_all: int = 1200) -> tuple[assay.Annotations, np.ndarray]:
    """People agree with the judge on 'no' and are a coin on 'yes', a quarter of the items."""
    rng = np.random.default_rng(seed)
    judge = (np.arange(n_all) % 4 == 0).astype(int)
    truth = np.where(judge == 1, rng.random(n_all) < 0.5, rng.random(n_all) < 0.03).astype(int)
    some = np.sort(rng.permutation(n_all)[:n])
    return labelled(judge, truth, some), truth


def labelled(judge, truth, some, chance=None) -> assay.Annotations:
    names = np.array([f"i{i:05d}" for i in range(len(judge))])
    frame = pl.concat([
        pl.DataFrame({"item": names, "annotator": "judge", "label": judge}),
        pl.DataFrame({"item": names[some], "annotator": "ann", "label": truth[some]}),
    ])  # fmt: skip
    items = pl.DataFrame({"item": names} | ({} if chance is None else {"chance": chance}))
    return assay.Annotations.from_frame(frame, judges=["judge"], scale="0-1", items=items)


def test_neyman_allocates_to_variable_strata():
    plan = assay.plan.labels(pilot=two_strata(1)[0], half_width=0.05)
    rows = {row["stratum"]: row for row in plan.allocation.iter_rows(named=True)}
    assert rows["1"]["neyman"] > 1.5 * rows["1"]["proportional"]
    assert plan.allocation["neyman"].sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_chosen_items_keep_the_estimate_unbiased_and_covered():
    covered, off, width = [], [], []
    for seed in range(25):
        pilot, truth = two_strata(seed)
        chosen = assay.plan.labels(pilot=pilot, seed=seed).choose(120)
        asked = np.flatnonzero(chosen["ask"].to_numpy())
        assert 80 <= len(asked) <= 165
        before = np.flatnonzero(
            pilot.items["item"].is_in(pilot.where(annotator="ann").labels["item"].implode()).to_numpy()
        )
        judge = pilot.where(annotator="judge").labels.sort("item")["label"].to_numpy()
        both = np.sort(np.concatenate([before, asked]))
        labels = labelled(judge, truth, both, chosen["chance"].to_numpy())
        row = assay.estimate(labels, "judge", probabilities="chance", population="finite").table.row(0, named=True)
        covered.append(row["low"] <= truth.mean() <= row["high"])
        off.append(row["estimate"] - truth.mean())
        width.append(row["high"] - row["low"])
    assert np.mean(covered) > 0.93 - 2 * 0.05
    assert abs(np.mean(off)) < 3 * np.std(off) / math.sqrt(len(off))


def test_choosing_needs_a_pilot_and_items_that_are_left():
    with pytest.raises(DesignError, match="items are chosen from a pilot"):
        assay.plan.labels(half_width=0.1).choose(10)
    with pytest.raises(DesignError, match="choose 1 to 1,120 items, not 5,000"):
        assay.plan.labels(pilot=two_strata(1)[0]).choose(5000)


def test_uninformative_pilot_is_refused():
    judge = np.arange(100) % 2
    with pytest.raises(DesignError, match="all human labels of the pilot are equal"):
        assay.plan.labels(pilot=labelled(judge, np.ones(100, dtype=int), np.arange(30)))


def test_chances_follow_the_spread_between_a_floor_and_one():
    sd = np.array([0.5, 0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])  # the floor is a fifth of .5
    assert chances(sd, 2, 0.0).tolist() == pytest.approx((sd.clip(0.1) * 2 / 4.3).tolist())
    assert chances(sd, 1, 0.5).tolist() == pytest.approx((sd.clip(0.1) * 2 / 4.3).tolist())  # half are labelled before
    cut = chances(sd, 5, 0.0)
    assert cut.sum() == pytest.approx(5)
    assert cut[[2, 3, 7]].tolist() == [1.0] * 3
    assert cut[0] / cut[4] == pytest.approx(5)  # the excess above 1 goes to the others in proportion
    assert chances(np.zeros(4), 1, 0.0).tolist() == [0.25] * 4


def test_pilot_strata_moments_and_allocation_by_hand():
    """Judge no on 60 items, yes on 40. People label 30 of the first (6 yes) and 20 of the second (10 yes)."""
    judge = np.repeat([0, 1], [60, 40])
    truth = np.zeros(100, dtype=int)
    truth[:6] = truth[60:70] = 1
    pilot = labelled(judge, truth, np.r_[np.arange(30), np.arange(60, 80)])
    plan = assay.plan.labels(pilot=pilot, half_width=0.05)
    rows = plan.allocation.rows(named=True)
    assert [(r["stratum"], r["items"], r["labelled"], r["proportional"]) for r in rows] == [
        ("0", 60, 30, 0.6), ("1", 40, 20, 0.4)
    ]  # fmt: skip
    pooled = (0.2 * 0.8 + 0.25) / 2
    sd = [math.sqrt((30 * 0.16 + 2 * pooled) / 31), math.sqrt((20 * 0.25 + 2 * pooled) / 21)]
    assert [r["sd"] for r in rows] == pytest.approx(sd)
    assert rows[0]["neyman"] == pytest.approx(60 * sd[0] / (60 * sd[0] + 40 * sd[1]))
    f, y = np.repeat([0, 1], [30, 20]), np.r_[truth[:30], truth[60:80]]
    r = float(np.corrcoef(f, y)[0, 1])
    assert plan.weight == pytest.approx(r * y.std() / f.std())
    words = plan.summary()
    pilot_words = "From a pilot of 50 labelled items: share 0.32, standard deviation 0.47; correlation of the judge's"
    assert f"{pilot_words} labels with an annotator's {r:.2f}." in words
    neyman = f"{100 * rows[0]['neyman']:.0f}%"
    assert f"Neyman allocation of the items to label: {neyman} with judge label 0, " in words
    chosen = plan.choose(10)
    asked = chances(np.repeat(sd, [60, 40]), 10, 0.5)
    assert chosen["chance"].to_list() == pytest.approx((0.5 + 0.5 * asked).tolist())
    assert not chosen["ask"].to_numpy()[np.r_[0:30, 60:80]].any()


def test_two_people_of_a_pilot_are_correlated_item_by_item():
    judge = np.arange(60) * 1.0
    people = {"a": judge[:40] + np.tile([0, 3], 20), "b": judge[:40] + np.tile([2, 0, 0, 0], 10)}
    names = [f"i{i:05d}" for i in range(60)]
    frame = pl.concat([pl.DataFrame({"item": names[: len(x)], "annotator": who, "label": x})
                       for who, x in (("judge", judge), *people.items())])  # fmt: skip
    pilot = assay.read(frame, judges=["judge"], scale="interval:0-70")
    moments, checks, words = _pilot_moments(LabelPlanSettings(pilot=pilot))
    known = moments.known
    assert known.shared == pytest.approx(np.corrcoef(people["a"], people["b"])[0, 1])
    y = np.r_[people["a"], people["b"]]
    assert (known.mean, known.sd) == pytest.approx((y.mean(), y.std(ddof=1)))
    assert known.judged == pytest.approx(np.corrcoef(np.tile(judge[:40], 2), y)[0, 1])
    assert not known.is_share
    assert words[0].startswith("From a pilot of 40 labelled items: mean ")
    assert words[0].endswith(f", of two annotators' labels {known.shared:.2f}")
    codes, ranges = strata_of(checks)  # 60 numbers: six ranges of ten
    assert np.bincount(codes).tolist() == [10] * 6
    assert ranges[0] == "0 to 9.83333"
    assert ranges[-1].endswith(" to 59")


def test_plan_summary_states_requirement():
    plan = assay.plan.labels(difference=0.1, power=0.9, n_people=(1, 2), n_items=2000)
    lines = plan.summary().splitlines()
    required = [line for line in lines if line.startswith("A difference of 0.1 with power 0.9 with ")]
    each = [line.split(" requires ")[0].rpartition(" with ")[2] for line in required]
    assert each == ["1 annotator per item", "2 annotators per item"]
    first = plan.table.row(0, named=True)
    error = math.sqrt(0.25 * (1 - 0.49) / 30 + 0.25 * 0.49 / 2000)
    assert first["power"] == pytest.approx(1 - stats.nct.cdf(stats.t.ppf(0.975, 28), 28, 0.1 / error))


YES_NO = LabelMoments(0.3, math.sqrt(0.21), 0.8, 0.5, 0.8, is_share=True)
NUMBERS = LabelMoments(0.0, 2.0, 0.6, 0.25, 0.6, is_share=False)
ASSUMED = MomentDraws.assumed(NUMBERS)


def test_variance_of_several_annotators_with_judge():
    """σ² = 4: of two people 4 · 1.25 / 2 = 2.5; the judge takes 4 · .36 = 1.44 to all 500 items."""
    assert NUMBERS.variance(50, 500, 1, judge=False) == pytest.approx(4 / 50)
    assert NUMBERS.variance(50, 500, 2, judge=False) == pytest.approx(2.5 / 50)
    assert NUMBERS.variance(50, 500, 2, judge=True) == pytest.approx(1.06 / 50 + 1.44 / 500)
    # A judge cannot know more than there is to know.
    sure = dataclasses.replace(NUMBERS, judged=1.0)
    assert sure.variance(50, 500, 2, judge=True) == pytest.approx(4 / 500)


def test_half_of_the_interval_that_would_be_reported():
    """t of n − 2 degrees, of at least 1; of shares Wilson's with a coin's variance, the rarer labels expected."""
    half = NUMBERS.half_width(50, 500, 2, 0.9)
    assert half == pytest.approx(stats.t.ppf(0.95, 48) * math.sqrt(1.06 / 50 + 1.44 / 500))
    assert half == NUMBERS.half_width(50, 500, 2, 0.9, judge=True)
    alone = NUMBERS.half_width(50, 500, 2, 0.9, judge=False)
    assert alone == pytest.approx(stats.t.ppf(0.95, 48) * math.sqrt(2.5 / 50))
    for n, df in ((2, 1), (3, 1), (4, 2)):
        assert NUMBERS.half_width(n, 500, 1, 0.9, judge=False) == pytest.approx(
            stats.t.ppf(0.95, df) * 2 / math.sqrt(n)
        )
    # One person without the judge has a coin's variance: Wilson's interval of 50 items with t.
    t, n = stats.t.ppf(0.95, 48), 50
    q = t**2 / n
    wilson = math.sqrt(q * 0.21 + q**2 / 4) / (1 + q)
    assert YES_NO.half_width(n, 500, 1, 0.9, judge=False) == pytest.approx(wilson)
    many = dataclasses.replace(YES_NO, mean=0.7)
    assert many.half_width(n, 500, 1, 0.9) == pytest.approx(YES_NO.half_width(n, 500, 1, 0.9))
    # With the judge κ = n V / p (1 − p) is below 1, and is pulled to 1 by one observation of the 15 rarer labels.
    kappa = n * YES_NO.variance(n, 500, 1, judge=True) / 0.21
    q = t**2 * (15 * kappa + 1) / 16 / n
    assert YES_NO.half_width(n, 500, 1, 0.9) == pytest.approx(math.sqrt(q * 0.21 + q**2 / 4) / (1 + q))


def test_power_for_difference():
    error = math.sqrt(1.06 / 50 + 1.44 / 500)
    power = NUMBERS.power(50, 500, 2, 0.9, 0.4)
    assert power == pytest.approx(1 - stats.nct.cdf(stats.t.ppf(0.95, 48), 48, 0.4 / error))
    assert power == NUMBERS.power(50, 500, 2, 0.9, 0.4, judge=True)
    alone = NUMBERS.power(50, 500, 2, 0.9, 0.4, judge=False)
    assert alone == pytest.approx(1 - stats.nct.cdf(stats.t.ppf(0.95, 48), 48, 0.4 / math.sqrt(0.05)))
    assert dataclasses.replace(NUMBERS, sd=0.0).power(50, 500, 2, 0.9, 0.4) == 1


@pytest.mark.parametrize("judge", [True, False])
@pytest.mark.parametrize("wish", [{"half_width": 0.4}, {"difference": 0.7, "power": 0.7}])
def test_smallest_is_first_sufficient_number(wish, judge):
    settings = LabelPlanSettings(**wish, confidence=0.9, sd=2.0, price=0.5, judge_price=0.1)

    def does(n: int) -> bool:
        if "half_width" in wish:
            return NUMBERS.half_width(n, 300, 1, 0.9, judge=judge) <= 0.4
        return NUMBERS.power(n, 300, 1, 0.9, 0.7, judge=judge) >= 0.7

    wanted = next(n for n in range(LEAST_PLANNED, 301) if does(n))
    assert _search(ASSUMED, 300, 1, settings, judge=judge) == wanted > LEAST_PLANNED
    assert _search(ASSUMED, wanted, 1, settings, judge=False) == (None if judge else wanted)
    row = _smallest(ASSUMED, 300, 1, settings)
    assert row["n" if judge else "humans_only"] == wanted
    assert row["cost" if judge else "cost_humans_only"] == pytest.approx(0.5 * wanted + (30 if judge else 0))


def test_smallest_is_null_without_goal_or_solution():
    none = dict.fromkeys(("n", "humans_only", "cost", "cost_humans_only", "n_low", "n_high"), None) | {"n_people": 2}
    assert _smallest(ASSUMED, 300, 2, LabelPlanSettings(sd=2.0)) == none
    far = _smallest(ASSUMED, 30, 2, LabelPlanSettings(sd=2.0, half_width=0.001))
    assert math.isnan(far.pop("cost"))
    assert far == {name: value for name, value in none.items() if name != "cost"}


def test_curve_row():
    """Of 40 items, two people each: 2.5 / 40 alone, 1.06 / 40 + 1.44 / 300 with the judge."""
    settings = LabelPlanSettings(sd=2.0, confidence=0.9, price=0.5, judge_price=0.1, difference=0.3)
    row = _row(ASSUMED, 40, 300, 2, settings)
    variances = 2.5 / 40, 1.06 / 40 + 1.44 / 300
    assert (row["n_people"], row["n"], row["cost"]) == (2, 40, pytest.approx(40 * 2 * 0.5 + 30))
    assert row["equivalent_labels"] == math.floor(40 * (variances[0] / variances[1] - 1)) == 39
    assert (row["humans_only"], row["estimate"]) == pytest.approx(
        tuple(stats.t.ppf(0.95, 38) * math.sqrt(v) for v in variances)
    )
    assert row["power"] == pytest.approx(1 - stats.nct.cdf(stats.t.ppf(0.95, 38), 38, 0.3 / math.sqrt(variances[1])))
    plain = _row(MomentDraws.assumed(dataclasses.replace(NUMBERS, sd=0.0)), 40, 300, 2, LabelPlanSettings(sd=2.0))
    assert plain["equivalent_labels"] == 0
    assert "power" not in plain


def test_single_number_option_becomes_tuple():
    one = LabelPlanSettings(sizes=50, n_people=2)
    assert (one.sizes, one.n_people) == ((50,), (2,))
    assert LabelPlanSettings(sizes=[90, 50, 90]).sizes == (50, 90)
    with pytest.raises(DesignError, match="exclude each other; omit one"):
        LabelPlanSettings(half_width=0.1, difference=0.1)


def some_checks(**given):
    return SimpleNamespace(categories=None, **given)


def judged_by(values, categories=None):
    """Items with these labels of one judge, none of them labelled by a human."""
    none, at = np.empty(0), np.empty(0, int)
    return SpotChecks(
        judges=("m",), people=("ann",), scale=Interval(0, 10), categories=categories, n_all=len(values),
        values=np.array(values, float)[:, None], counts=None, position=at, row=at, person=at, y=none, judged=none,
        weight=none, fingerprint="",
    )  # fmt: skip


def test_six_labels_of_a_judge_are_strata_and_more_are_ranges():
    six = np.array([1.0, 2, 3, 4, 5, 6, math.nan, 3])
    codes, words = strata_of(judged_by(six))
    assert codes.tolist() == [0, 1, 2, 3, 4, 5, 0, 2]  # items without a label go to the lowest stratum
    assert words == ["1", "2", "3", "4", "5", "6"]
    named = judged_by([0.0, 2.0], categories=("a", "b", "c"))
    assert strata_of(named)[1] == ["a", "c"]
    seven = np.r_[np.arange(7.0), math.nan]  # sixths of 0 to 6 end at 1, 2, 3, 4, 5; the mean is 3
    codes, words = strata_of(judged_by(seven))
    assert codes.tolist() == [0, 1, 2, 3, 4, 5, 5, 3]
    assert words == ["0 to 1", "1 to 2", "2 to 3", "3 to 4", "4 to 5", "5 to 6"]


def test_items_that_two_people_labelled_count_by_their_mean():
    """Stratum 0: means 0, 1, 1 (variance 2/9), stratum 1: .5, 1 (1/16); stratum 2 has no labelled item."""
    checks = some_checks(
        values=np.repeat([0.0, 1, 2], [10, 20, 5])[:, None], position=np.array([0, 1, 2, 10, 11]), n=5,
        row=np.array([0, 1, 2, 3, 3, 4]), y=np.array([0.0, 1, 1, 0, 1, 1]),
    )  # fmt: skip
    found = _allocation(checks)
    pooled = (2 / 9 + 1 / 16) / 2
    sd = [math.sqrt((2 / 3 + 2 * pooled) / 4), math.sqrt((1 / 8 + 2 * pooled) / 3), math.sqrt(pooled)]
    assert found["sd"].to_list() == pytest.approx(sd)
    assert found["items"].to_list() == [10, 20, 5]
    assert found["labelled"].to_list() == [3, 2, 0]
    assert found["proportional"].to_list() == pytest.approx([10 / 35, 20 / 35, 5 / 35])
    total = 10 * sd[0] + 20 * sd[1] + 5 * sd[2]
    assert found["neyman"].to_list() == pytest.approx([10 * sd[0] / total, 20 * sd[1] / total, 5 * sd[2] / total])


def test_pairs_of_people_count_from_four_items_on_which_both_vary():
    def of(*people):
        cells = np.array(people, dtype=float).T
        row, person = np.nonzero(np.isfinite(cells))
        return _shared_correlation(
            some_checks(n=len(cells), people=tuple("abc"[: cells.shape[1]]), row=row, person=person,
                        y=cells[row, person])
        )  # fmt: skip

    none = math.nan
    a, b = [1, 2, 3, 5, 4], [1, 3, 2, 4, none]
    r = np.corrcoef(a[:4], b[:4])[0, 1]
    assert of(a, b) == (pytest.approx(r), 1)
    assert of(a, [1, 3, 2, none, none]) == (0, 0)
    assert of(a, [2] * 5) == of([2] * 5, a) == (0, 0)
    assert of(a, b, [5, 4, 3, 1, 2]) == (0, 3), "on average below 0"
    c = [1, 2, 2, 5, 4]
    mean = np.mean([r, np.corrcoef(a, c)[0, 1], np.corrcoef(b[:4], c[:4])[0, 1]])
    assert of(a, b, c) == (pytest.approx(mean), 3)


# -- the public function ---------------------------------------------------------------------------


def test_summary_starts_with_assumptions():
    share, numbers = assay.plan.labels(sizes=(50,)), assay.plan.labels(sizes=(50,), sd=2.0, correlation=-0.4, share=0.2)
    assert share.assumptions == ("Assumed: a share of 0.5; correlation of the judge's labels with an annotator's 0.70",)
    assert numbers.assumptions == (
        "Assumed: numbers with a standard deviation of 2; correlation of the judge's labels with an annotator's −0.40",
    )
    assert share.summary().splitlines()[:3] == [
        f"{share.assumptions[0]}.", "Weight of the judge's labels: 0.70.",
        "Set half_width=... or difference=... to compute the required number of human-labelled items.",
    ]  # fmt: skip
    assert (share.weight, numbers.weight, share.confidence) == (0.7, -0.4, 0.95)
    # σ = 2 and ρ² = .16: 50 of 10,000 items, t of 48.
    half = stats.t.ppf(0.975, 48) * 2 * math.sqrt(0.84 / 50 + 0.16 / 10_000)
    assert numbers.table["estimate"][0] == pytest.approx(half)
    assert share.table["cost"].to_list() == [50]  # a person's label costs 1, a judge's nothing
    # A share of .5 has a standard deviation of .5.
    again = LabelMoments(0.5, 0.5, 0.7, 0.5, 0.7, is_share=True)
    assert share.table["estimate"][0] == again.half_width(50, 10_000, 1, 0.95)
    assert share.table["humans_only"][0] == again.half_width(50, 10_000, 1, 0.95, judge=False)
    assert share.allocation.height == 0
    assert "Neyman allocation" not in share.summary()


def test_every_size_and_number_of_people_up_to_the_items_there_are_has_a_row():
    plan = assay.plan.labels(sizes=(30, 50, 51), n_people=(1, 3), n_items=50, half_width=0.1)
    assert plan.table.select("n_people", "n").rows() == [(1, 30), (1, 50), (3, 30), (3, 50)]
    assert plan.smallest["n_people"].to_list() == [1, 3]
    assert plan.summary().count(" per item ") == 2
    assert "Half-width 0.1 on average with 3 annotators per item is" in plan.summary()
    with pytest.raises(DesignError, match="all sizes are above the 50 items; use smaller sizes") as refused:
        assay.plan.labels(sizes=(51,), n_items=50)
    assert refused.value.option == "sizes"
    every = assay.plan.labels(n_items=10_000).table
    assert every["n"].to_list() == [30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000]
    assert (every["n_people"] == 1).all()


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"half_width": 0.0}, "half_width"), ({"difference": 0.0}, "difference"), ({"power": 1.0}, "power"),
        ({"power": 0.0}, "power"), ({"n_items": 1}, "n_items"), ({"sizes": (LEAST_ITEMS - 1,)}, "sizes"),
        ({"n_people": (0, 1)}, "n_people"), ({"share": 0.0}, "share"), ({"share": 1.0}, "share"), ({"sd": 0.0}, "sd"),
        ({"correlation": 1.01}, "correlation"), ({"correlation": -1.01}, "correlation"),
        ({"people_correlation": -0.01}, "people_correlation"), ({"people_correlation": 1.01}, "people_correlation"),
        ({"price": -0.01}, "price"), ({"judge_price": -0.01}, "judge_price"), ({"confidence": 1.0}, "confidence"),
    ],
)  # fmt: skip
def test_label_plan_refuses_invalid_options(given, option):
    with pytest.raises(DesignError) as refused:
        LabelPlanSettings(**given)
    assert refused.value.option == option


def test_label_plan_accepts_valid_options():
    for given in (
        {"n_items": 2, "sizes": (LEAST_ITEMS,), "n_people": (1,), "price": 0.0, "judge_price": 0.0},
        {"correlation": 1.0, "people_correlation": 1.0, "power": 0.99},
        {"correlation": -1.0, "people_correlation": 0.0},
    ):  # fmt: skip
        made = LabelPlanSettings(**given)
        assert {name: getattr(made, name) for name in given} == given
    one = LabelPlanSettings()
    assert (one.power, one.n_items, one.n_people, one.share, one.correlation) == (0.8, 10_000, (1,), 0.5, 0.7)
    assert (one.people_correlation, one.price, one.judge_price, one.seed) == (0.5, 1.0, 0.0, 0)
    assert (one.half_width, one.difference, one.sd, one.pilot, one.judge) == (None,) * 5


@pytest.mark.parametrize(
    ("n", "alone", "cost", "words"),
    [
        (None, None, math.nan, "is not reached with any number of human-labelled items: the judge has too few labels"),
        (None, 90, math.nan, "is not reached with any number of human-labelled items: the judge has too few labels"),
        (40, None, 44.6, "requires 40 human-labelled items (cost 45); not reached without the judge"),
        (40, 1000, 44.6, "requires 40 human-labelled items (cost 45); 1,000 without the judge (cost 1,001)"),
    ],
)
def test_requirement_sentence(n, alone, cost, words):
    plan = assay.plan.labels(half_width=0.1)
    row = {"n_people": 1, "n": n, "humans_only": alone, "cost": cost, "cost_humans_only": 1000.6}
    row |= {"n_low": None, "n_high": None}
    smallest = pl.DataFrame([row], schema=plan.smallest.schema)
    assert f"Half-width 0.1 on average {words}." in plan_lines(dataclasses.replace(plan, smallest=smallest))


def test_items_are_chosen_by_their_seed_up_to_all_that_are_left():
    pilot = two_strata(1, n=80, n_all=400)[0]
    plan = assay.plan.labels(pilot=pilot, half_width=0.05, seed=3)
    seen = pilot.items["item"].is_in(pilot.where(annotator="ann").labels["item"].implode())
    for n in (1, 320):
        chosen = plan.choose(n)
        assert chosen["item"].to_list() == pilot.items["item"].to_list()
        assert not (chosen["ask"] & seen).any()
        # Of n / .8 chances of all items, and .2 of having been labelled before.
        assert ((chosen["chance"] - 0.2) / 0.8).sum() == pytest.approx(n / 0.8)
    assert (plan.choose(320)["ask"] == ~seen).all()  # every chance is 1
    same = assay.plan.labels(pilot=pilot, half_width=0.05, seed=3).choose(100)
    assert same.equals(plan.choose(100))
    assert not assay.plan.labels(pilot=pilot, seed=4).choose(100)["ask"].equals(same["ask"])
    for n in (0, 321):
        with pytest.raises(DesignError, match=f"320 items have no human label; choose 1 to 320 items, not {n}"):
            plan.choose(n)
    found = plan.to_dict()
    assert [row["stratum"] for row in found["allocation"]] == ["0", "1"]
    assert found["smallest"][0]["n"] == plan.smallest["n"][0]
    assert plan.run.facts == {"items": 400}
    assert plan.table["n"].max() == 300


def test_pilot_requires_one_judge_and_one_share_or_mean():
    pilot = two_strata(1)[0]
    both = pl.concat([pilot.labels, pilot.where(annotator="judge").labels.with_columns(annotator=pl.lit("other"))])
    two = assay.read(both, judges=["judge", "other"], scale="0-1")
    with pytest.raises(DesignError, match=r"specify the judge of the pilot with judge=...; it has 2") as refused:
        assay.plan.labels(pilot=two)
    assert refused.value.option == "judge"
    assert assay.plan.labels(pilot=two, judge="judge").weight == assay.plan.labels(pilot=pilot).weight
    words = pilot.labels.with_columns(pl.col("label").replace_strict({0: "no", 1: "yes"}))
    named = assay.read(words, judges=["judge"], scale="nominal:no,yes")
    assert assay.plan.labels(pilot=named).weight == pytest.approx(assay.plan.labels(pilot=pilot).weight)
    three = assay.read(words, judges=["judge"], scale="nominal:no,yes,so")
    with pytest.raises(DesignError, match="a plan is for a mean or for one share"):
        assay.plan.labels(pilot=three)


def test_constant_judge_adds_nothing():
    judge, truth = np.zeros(60, dtype=int), np.arange(60) % 2
    moments, _, words = _pilot_moments(LabelPlanSettings(pilot=labelled(judge, truth, np.arange(20))))
    known = moments.known
    assert (known.judged, known.slope, known.is_share, known.shared) == (0, 0, True, 0.5)
    assert known.sd == pytest.approx(math.sqrt(5 / 19))
    assert words == (
        "From a pilot of 20 labelled items: share 0.50, standard deviation 0.51; correlation of the judge's labels "
        "with an annotator's 0.00",
    )


@pytest.mark.parametrize("name", ["half_width", "difference"])
def test_percent_instead_of_a_share_is_refused(name):
    for value in (1.0, 3.0):
        with pytest.raises(DesignError, match=r"for a share; give it as a share, such as 0\.05") as caught:
            assay.plan.labels(share=0.8, **{name: value})
        assert caught.value.option == name
        with pytest.raises(DesignError, match="give it as a share"):
            assay.plan.labels(pilot=two_strata(1)[0], **{name: value})
    # Numbers with a standard deviation of 20 can have a half-width of 3.
    assert assay.plan.labels(sd=20.0, **{name: 3.0}).smallest["n"][0] > 10


def test_signature_of_a_pilot_has_no_assumption_that_it_replaces():
    pilot = two_strata(1)[0]
    signature = assay.plan.labels(pilot=pilot, half_width=0.05).signature
    assert f"|items:{pilot.n_items}|" in signature
    assert "share:" not in signature
    assert "correlation:" not in signature
    assert "|items:10000|share:0.50|correlation:0.70|" in assay.plan.labels(half_width=0.05).signature
