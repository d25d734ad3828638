"""The interval of a coefficient at another level equals that of a new analysis with this level."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid

import assay
from assay.concordance import coefficient as module
from assay.concordance.coefficient import (
    AgreementSettings,
    BiasSettings,
    CoefficientSettings,
    Measure,
    Shifted,
    Spread,
    interval_name,
    label_of,
    logit_interval,
    offers_of,
    pairs_of,
    pairs_without_each,
    recommend,
    small_sample_intervals,
    sums_of,
    without_each,
)
from assay.data.annotations import Annotations
from assay.data.ratings import Ratings
from assay.data.scales import Interval, Nominal, Ordinal, Text
from assay.errors import DesignError
from assay.estimation.intervals import Estimates
from assay.estimation.resampling import Units
from assay.estimation.small_samples import Score
from assay.statistics.categories import Alpha
from assay.statistics.ranks import AlphaRanks
from references import krippendorff_alpha

KAPPA = Alpha.of("nominal", np.array([0.0, 1.0]))
"""Any coefficient that is corrected for chance."""

TABLES = {
    "few items differ": from_grid([[1, 1]] * 37 + [[1, 0]] * 2 + [[0, 0]] * 6, Ordinal(0, 1)),
    "all agree": from_grid([[1, 1]] * 20 + [[0, 0]] * 20, Ordinal(0, 1)),
    "no agreement": from_grid([[1, 0]] * 20 + [[0, 1]] * 20, Ordinal(0, 1)),
    "three": assay.simulate(40, 3, scale="1-5", judges={"gpt": 0.3}, seed=2, missing=0.1),
    "heavy tails": from_grid(np.cumsum(np.random.default_rng(1).standard_t(3, (60, 3)), axis=1), Interval()),
    "with ends": from_grid(np.clip(np.random.default_rng(4).normal(0.5, 1, (25, 3)), 0, 1), Interval(0, 1)),
}
ASKED = [
    (name, table)
    for table, names in {
        "few items differ": ["krippendorff_alpha", "cohen_kappa", "exact_agreement", "gwet_ac"],
        "all agree": ["exact_agreement", "krippendorff_alpha", "nmae"],
        "no agreement": ["exact_agreement", "nmae"],
        "three": ["exact_agreement", "correlation", "nmae", "icc", "cohen_kappa"],
        "heavy tails": ["rmse", "correlation", "krippendorff_alpha", "icc"],
        "with ends": ["nmae", "rmse", "mae"],
    }.items()
    for name in names
]


@pytest.mark.parametrize(("name", "table"), ASKED)
@pytest.mark.parametrize("method", ["jackknife", "percentile", "none"])
def test_every_rule_is_the_same_at_another_level(name, table, method):
    options = {"method": method, "n_resamples": 100}
    found = getattr(assay.measures, name)(TABLES[table], **options)
    other = getattr(assay.measures, name)(TABLES[table], **options, confidence=0.7)
    for one, row in zip(found.row_estimates(), other.table.iter_rows(named=True), strict=True):
        assert one.interval(0.7) == pytest.approx((row["low"], row["high"]), nan_ok=True)
    assert found.interval(0.7) == pytest.approx((other.low, other.high), nan_ok=True)


def test_coefficient_has_intervals_for_all_annotators_and_pairs():
    found = assay.measures.cohen_kappa(TABLES["three"])
    assert found.interval(0.95) == pytest.approx((found.low, found.high))
    first, second, one = found.pairs[0]
    assert found.interval(0.8, annotators=f"{first} & {second}") == one.interval(0.8)
    assert found.p(0.2, annotators=f"{first} & {second}") == one.p(0.2) != found.p(0.2)
    with pytest.raises(DesignError, match="no row of this Coefficient"):
        found.interval(0.8, annotators="nobody")


def test_icc_table_has_separate_row_for_f_interval():
    table = from_grid(np.random.default_rng(1).normal(0, 1, (30, 1)) + np.ones((1, 3)), Interval())
    assert assay.measures.icc(table).row_estimates()[0].estimate == pytest.approx(1)  # no error, no F
    labels = TABLES["three"]
    found, other = (
        assay.measures.icc(labels, form="ICC(C,1)"),
        assay.measures.icc(labels, form="ICC(C,1)", confidence=0.6),
    )
    low, high = found.interval(0.6, interval=found.f_test.words)
    assert (low, high) == pytest.approx((other.f_test.low, other.f_test.high))
    assert found.interval(0.6) == pytest.approx((other.low, other.high))
    assert math.isnan(found.p(0.1, interval=found.f_test.words))


@pytest.mark.slow
def test_rows_of_agreement_keep_no_resamples_and_answer():
    labels = TABLES["three"]
    options = {"coefficients": ["nmae", "cohen-kappa", "exact-agreement"], "draws": 50}
    found, other = assay.agreement(labels, **options), assay.agreement(labels, **options, confidence=0.7)
    for one, row in zip(found.row_estimates(), other.table.iter_rows(named=True), strict=True):
        assert one.interval(0.7) == pytest.approx((row["low"], row["high"]), nan_ok=True)
        assert one.among is None
    row = {"who": "pairs", "first": "ann_1", "second": "gpt", "coefficient": "cohen-kappa"}
    assert found.p(**row) == pytest.approx(found.table.filter(**row)["p"][0])
    with pytest.raises(DesignError, match=r"rows of this Agreement could be meant; name one by its columns: first"):
        found.interval(0.9, who="pairs")


def test_grading_scale_study_without_humans_has_intervals():
    rng = np.random.default_rng(3)
    rows = [
        (f"i{i}", judge, scale, round(top * rng.beta(1 + i % 4, 2)))
        for i in range(20)
        for judge in ("gpt", "llama")
        for scale, top in (("0-5", 5), ("0-10", 10))
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "scale", "label"], orient="row")
    labels = Annotations.from_frame(frame, judges=["gpt", "llama"], conditions=["scale"], scale=Interval(0, 10))
    found, other = assay.grading_scale_study(labels), assay.grading_scale_study(labels, confidence=0.7)
    assert found.best is None
    for one, row in zip(found.row_estimates(), other.table.iter_rows(named=True), strict=True):
        if one.reason is None:  # of two random raters there is none
            assert one.interval(0.7) == pytest.approx((row["low"], row["high"]))
    assert other.consistency["low"].count()


def test_labels_on_many_names_answer():
    labels = assay.simulate(50, 3, scale=Nominal(["a", "b", "c"]), seed=3)
    found = assay.measures.scott_pi(labels)
    assert found.interval(0.5)[0] > found.low


def test_without_each_equals_coefficient_of_other_annotators():
    """Two of three annotators agree with each other; with two, there is no pair left."""
    ratings = Ratings.of(TABLES["heavy tails"])
    statistic = Alpha.of("interval", ratings.values)
    sums = sums_of(ratings, statistic)
    found = list(without_each(ratings, lambda rest: Alpha.of("interval", rest.values), sums))
    for (value, without), names in zip(found, ratings.left_out(), strict=True):
        rest = ratings.without(names)
        wanted = krippendorff_alpha([[row[n] for n in rest.annotators] for row in rows_of(ratings)], "interval")
        assert value.tolist() == pytest.approx([wanted])
        assert without.shape == (60, 1)
        fewer = [[row[n] for n in rest.annotators] for i, row in enumerate(rows_of(ratings)) if i != 7]
        assert without[7, 0] == pytest.approx(krippendorff_alpha(fewer, "interval"))
    two = ratings.without(("r0",))
    ends = list(without_each(two, lambda rest: Alpha.of("interval", rest.values), sums_of(two, statistic)))
    assert all(np.isnan(value).all() and np.isnan(without).all() for value, without in ends)
    assert [(value.shape, without.shape) for value, without in ends] == [((1,), (60, 1))] * 2


def rows_of(ratings) -> list[dict[str, float]]:
    rows = [{} for _ in range(ratings.n_items)]
    answers = ratings.answers
    for item, annotator, value in zip(answers.item, answers.annotator, answers.value, strict=True):
        rows[item][ratings.annotators[annotator]] = float(value)
    return rows


def test_shifted_moves_mean_over_batches():
    """Sums 4 and 9 over 2 and 3 batches are 2 and 3; without a batch there is the shift alone."""
    moved = Shifted(np.array([0.5, -1.0]))
    assert moved.value(np.array([4.0, 9, 2, 3])).tolist() == [2.5, 2.0]
    assert moved.value(np.array([[4.0, 9, 2, 3], [0, 0, 0, 0]])).tolist() == [[2.5, 2.0], [0.5, -1.0]]


def estimates(**given) -> Estimates:
    """A value of 0.5 from a jackknife over 40 items, or as given."""
    given = {"value": np.array([0.5]), "leave_one_out": np.zeros((40, 1))} | given
    q = len(given["value"])
    usual = {name: np.full(q, np.nan) for name in ("standard_error", "low", "high")} | {
        "reasons": (None,) * q, "n_items": 40, "n_units": 40, "method": "jackknife", "confidence": 0.95,
        "n_resamples": 0, "seed": 0, "replicates": np.empty((0, q)), "n_undefined": np.zeros(q, dtype=int),
        "transform": ("fisher",) * q, "raters": "fixed",
    }  # fmt: skip
    return Estimates(**usual | given)


def test_logit_interval_of_share_below_one():
    """log(.8 / .2) ± t · .05 / (.8 · .2), t with a degree of freedom fewer than there are units."""
    for units, df in ((12, 11), (2, 1), (1, 1)):
        half = stats.t.ppf(0.95, df) * 0.05 / 0.16
        low, high = logit_interval(0.8, 0.05, estimates(n_units=units, confidence=0.9), 0, highest=1.0)
        assert math.log(low / (1 - low)) == pytest.approx(math.log(4) - half)
        assert math.log(high / (1 - high)) == pytest.approx(math.log(4) + half)
    for end in (0.0, 1.0):
        assert logit_interval(end, 0.05, estimates(n_units=12, confidence=0.9), 0, highest=1.0) == (end, end)


# -- rules, one by one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "method", "random", "raters"),
    [
        (None, "jackknife", True, "random"), (None, "jackknife", False, "fixed"), (None, "percentile", True, "fixed"),
        (None, "none", True, "fixed"), ("fixed", "jackknife", True, "fixed"), ("random", "jackknife", False, "random"),
        ("random", "none", False, "random"),
    ],
)  # fmt: skip
def test_raters_for_is_random_for_rater_populations(asked, method, random, raters):
    assert CoefficientSettings(raters=asked, method=method).raters_for(random=random) == raters


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_raters_for_refuses_bootstrap_with_random_raters(method):
    with pytest.raises(DesignError, match="drawn twice agrees"):
        CoefficientSettings(raters="random", method=method).raters_for(random=False)


@pytest.mark.parametrize(
    ("scale", "advised", "offers"),
    [
        (Interval(), "icc(a,1)", {"labels", "order", "numbers"}),
        (Interval(0, 1), "icc(a,1)", {"labels", "order", "numbers", "range"}),
        (Ordinal(1, 5), "krippendorff-alpha-ordinal",
         {"labels", "categories", "order", "ordered categories", "numbers", "range"}),
        (Ordinal(["bad", "good"]), "krippendorff-alpha-ordinal",
         {"labels", "categories", "order", "ordered categories"}),
        (Nominal(["a", "b"]), "krippendorff-alpha-nominal", {"labels", "categories"}),
        (Nominal(), "krippendorff-alpha-nominal", {"labels", "categories"}),
        (Text(), None, set()),
    ],
)  # fmt: skip
def test_scale_requirements_and_recommended_coefficient(scale, advised, offers):
    assert offers_of(scale) == offers
    advice = recommend(scale)
    assert (advice and advice.name) == advised


def spread(cells, scale=None, **options) -> Spread:
    return Spread(Ratings.of(from_grid(cells, scale or Ordinal(0, 1), **options)))


def test_items_with_a_rare_label_and_divided_items_are_counted():
    # 0 is the most common (6 of 10); another label is on the last four items, and two labels on two of them.
    found = spread([[0, 0], [0, 0], [1, 1], [1, 0], [0, 1]])
    assert found.few == (3, 2)
    assert [v.tolist() for v in found.value_counts] == [[0, 1], [6, 4]]
    three = found.rule(RARE, estimates(), 0, KAPPA)
    assert three.startswith("only 3 items have a label other than the most frequent one, and an interval requires 5: ")
    assert "the label '1' is too rare" in three
    one = spread([[0, 0], [1, 1]]).rule(RARE, estimates(), 0, KAPPA)
    assert one.startswith("only 1 item has a label other than the most frequent one, and an interval ")
    named = spread([[0, 0], [1, 0]], Ordinal(0, 1))
    assert label_of(named.ratings, 1.0) == 1.0


@pytest.mark.parametrize(
    ("cells", "scale", "unseen"),
    [
        ([[0, 0], [0, 0]], Ordinal(0, 1), 1), ([[1, 1], [1, 1]], Ordinal(0, 1), 0),
        ([[0, 1], [0, 0]], Ordinal(0, 1), None), ([[1, 1], [1, 1]], Ordinal(0, 2), None),
        ([[1, 1], [1, 1]], Interval(0, 1), None),
    ],
)  # fmt: skip
def test_one_of_two_labels_may_be_unseen(cells, scale, unseen):
    assert spread(cells, scale).unseen == unseen


KAPPA_OF_THREE = Alpha.of("nominal", np.array([0.0, 1.0, 2.0]))
RARE, PLAIN = Measure("kappa", "κ", "labels", rare_label=True), Measure("kappa", "κ", "labels")
RATE, SQUARES = Measure("ac1", "AC1", "labels", item_rate=True), Measure("rmse", "RMSE", "numbers", tails=True)


def rated(rare: int, split: int, n: int = 200):
    """Given numbers of items with the labels 1 and 2, in turn, and of divided items; the rest is 0."""
    return (
        [[1 + k % 2, 0] for k in range(split)] + [[1 + k % 2] * 2 for k in range(rare - split)] + [[0, 0]] * (n - rare)
    )


@pytest.mark.parametrize(
    ("rare", "split", "found", "measure", "kind"),
    [
        (19, 19, {}, RARE, "score"), (40, 19, {}, RARE, "score"), (20, 20, {}, RARE, None), (40, 20, {}, RARE, None),
        (5, 5, {}, RARE, "score"), (4, 4, {}, RARE, "reason"), (4, 4, {}, PLAIN, "score"),
        (19, 19, {"method": "percentile"}, RARE, None), (19, 19, {"raters": "random"}, RARE, None),
        (19, 19, {"leave_one_out": np.zeros((0, 1))}, RARE, None), (19, 19, {"value": np.array([np.nan])}, RARE, None),
        (19, 19, {"transform": ("none",)}, RARE, None), (19, 19, {"transform": ("rank",)}, RARE, "score"),
        (0, 0, {}, RARE, None),
    ],
)  # fmt: skip
def test_few_items_decide_where_fewer_than_20_have_a_rare_label_or_two(rare, split, found, measure, kind):
    rule = spread(rated(rare, split), Ordinal(0, 2)).rule(measure, estimates(**found), 0, KAPPA_OF_THREE)
    assert (rule is None, isinstance(rule, str)) == (kind is None, kind == "reason")
    if kind == "score":
        assert rule.stepwise == (measure is PLAIN)


@pytest.mark.parametrize(("units", "kind"), [(14, "score"), (15, "none")])
def test_few_clusters_decide_too(units, kind):
    items = pl.DataFrame({"item": [f"i{i:06d}" for i in range(200)], "text": [str(i % units) for i in range(200)]})
    ratings = Ratings.of(from_grid(rated(60, 30), Ordinal(0, 2), items=items), clusters="text")
    rule = Spread(ratings).rule(RARE, estimates(n_units=units), 0, KAPPA_OF_THREE)
    assert ("none" if rule is None else rule.name) == kind


@pytest.mark.parametrize(("labels", "kind"), [(3, "score"), (7, "score"), (8, "none")])
def test_spread_skips_patterns_for_many_labels(labels, kind):
    cells = [[1, 1]] * 60 + [[k % (labels - 1) + 2] * 2 for k in range(18)]
    statistic = Alpha.of("nominal", np.arange(1.0, labels + 1))
    rule = spread(cells, Ordinal(1, 9)).rule(RARE, estimates(), 0, statistic)
    assert ("none" if rule is None else rule.name) == kind


@pytest.mark.parametrize(
    ("share", "measure", "clusters", "name"),
    [
        # Of 80 labels 20 are a quarter.
        (20, RARE, False, "score-rates"), (21, RARE, False, "score"), (20, PLAIN, False, "score"),
        (20, RATE, False, "score-rates"), (20, RARE, True, "score"),
    ],
)  # fmt: skip
def test_spread_uses_thresholds_for_rare_label_of_two(share, measure, clusters, name):
    cells = np.zeros(80)
    cells[:share] = 1
    items = pl.DataFrame({"item": [f"i{i:06d}" for i in range(40)], "text": ["a", "b"] * 20})
    ratings = Ratings.of(
        from_grid(cells.reshape(40, 2), Ordinal(0, 1), items=items), clusters="text" if clusters else None
    )
    rule = Spread(ratings).rule(measure, estimates(n_units=2 if clusters else 40), 0, KAPPA)
    assert rule.name == name
    if name == "score-rates":
        assert rule.words == "score interval for raters with different thresholds"
        assert np.isfinite([rule.values, rule.errors]).all()


def test_labels_with_many_values_may_have_tails():
    """Forty items of two: squares are n times the mean square minus that of the others."""
    cells = np.arange(80.0).reshape(40, 2)
    found = estimates(value=np.array([3.0]), leave_one_out=np.full((40, 1), 2.0))
    tailed = spread(cells, Interval()).rule(SQUARES, found, 0, KAPPA)
    assert tailed.squares.tolist() == [40 * 9 - 39 * 4] * 40
    bounded = spread(cells, Interval(-10, 90)).rule(SQUARES, found, 0, KAPPA)
    assert (tailed.highest, bounded.highest) == (np.inf, 100)
    assert spread(cells // 4, Interval()).rule(SQUARES, found, 0, KAPPA) is None
    for other in ({"unit": "batches"}, {"leave_one_out": np.zeros((1, 1))}):
        assert spread(cells, Interval()).rule(SQUARES, replace(found, **other), 0, KAPPA) is None


@pytest.mark.parametrize(("different", "tails"), [(10, False), (11, True)])
def test_heavy_tails_require_many_different_labels(different, tails):
    values = np.r_[np.arange(different), np.zeros(20 - different)]
    found = estimates(value=np.array([3.0]), leave_one_out=np.full((10, 1), 2.0), n_units=10)
    rule = spread(values.reshape(10, 2), Interval()).rule(SQUARES, found, 0, KAPPA)
    assert (rule is not None) == tails


def test_pairs_without_each_averages_pairs_of_others():
    pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    found = estimates(value=np.array([0.5, 0.3, 0.4, 0.8]), leave_one_out=np.array([[0.5, 0.1, 0.2, 0.6]]))
    left = list(pairs_without_each(found, Ratings.of(from_grid([[1, 0, 1]], Ordinal(0, 1))), pairs))
    assert [(v.tolist(), w.tolist()) for v, w in left] == [([0.8], [[0.6]]), ([0.4], [[0.2]]), ([0.3], [[0.1]])]
    alone = estimates(value=np.array([0.5]), leave_one_out=np.array([[0.4], [0.6]]))
    two = Ratings.of(from_grid([[1, 0]], Ordinal(0, 1)))
    for value, without in pairs_without_each(alone, two, (np.array([0]), np.array([1]))):
        assert (value.shape, without.shape) == ((1,), (2, 1))
        assert np.isnan(value).all()
        assert np.isnan(without).all()


def test_small_sample_interval_applies_to_its_value():
    few = spread(rated(19, 19), Ordinal(0, 2))
    found = estimates(leave_one_out=np.full((40, 1), 0.5))
    alone = small_sample_intervals([(RARE, KAPPA_OF_THREE)], found, few)
    assert {i: (one.value.tolist(), one.score.name) for i, one in alone.items()} == {0: ([0.5], "score")}
    both = estimates(value=np.array([0.3, 0.5]), leave_one_out=np.full((40, 2), 0.5), transform=("none", "fisher"))
    second = small_sample_intervals([(RARE, KAPPA_OF_THREE)] * 2, both, few)
    assert {i: (one.value.tolist(), one.score.name) for i, one in second.items()} == {1: ([0.5], "score")}


@pytest.mark.parametrize("n", [20, module.MOST_WEIGHED + 1])
def test_ranks_of_many_items_come_from_batches(n):
    ratings = Ratings.of(from_grid(np.random.default_rng(1).normal(size=(n, 1)) + np.arange(2), Interval()))
    statistic = AlphaRanks(ratings.answers)
    found = sums_of(ratings, statistic)
    whole = statistic.value_of_items(np.arange(n))
    assert found.statistic.value(found.sums.sum(axis=0)) == pytest.approx(whole)
    if n == 20:
        assert (found.name, found.sums.tolist()) == ("items", np.identity(n).tolist())
    else:
        # Batches are random parts of all items, each with the value of its items.
        units = Units.of(n, most=module.BATCHES)
        assert (found.name, len(found.sums)) == ("batches", units.n)
        first = statistic.value_of_items(np.flatnonzero(units.of_item == 0))
        assert found.sums[0].tolist() == [*first, 1]


@pytest.mark.parametrize(("cells", "value", "low", "high"), [
    # ((1 - .9) / 2) to the power 1/20, and 1 minus that.
    ([[1, 1]] * 20, 1, 0.05 ** (1 / 20), 1), ([[1, 0]] * 20, 0, 0, 1 - 0.05 ** (1 / 20)),
])  # fmt: skip
def test_share_of_all_or_none_has_exact_bound(cells, value, low, high):
    found = assay.measures.exact_agreement(from_grid(cells, Ordinal(0, 1)), confidence=0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx((value, low, high))
    assert "90% exact bound for 20 items with equal values" in found.summary()
    assert math.isnan(assay.measures.exact_agreement(from_grid(cells, Ordinal(0, 1)), method="none").low)


def test_pairs_are_those_with_two_items_in_common():
    cells = [[1, 1, np.nan], [2, 2, 2], [3, np.nan, 3]]
    ratings = Ratings.of(from_grid(cells, Ordinal(1, 5)))
    both, directed = Measure("kappa", "κ", "labels"), Measure("bias", "bias", "numbers", directed=True)
    first, second, apart = pairs_of(ratings, both)
    assert (first.tolist(), second.tolist(), apart) == ([0, 0], [1, 2], 1)
    with pytest.raises(DesignError, match="name them with annotators"):
        pairs_of(ratings, directed)
    two = Ratings.of(from_grid([[1, 2], [1, 2]], Ordinal(1, 5)))
    assert pairs_of(two, directed)[2] == 0
    assert len(pairs_of(Ratings.of(from_grid([[1] * 30] * 2, Ordinal(1, 5))), both)[0]) == 435
    with pytest.raises(DesignError, match="31 annotators have too many pairs"):
        pairs_of(Ratings.of(from_grid([[1] * 31] * 2, Ordinal(1, 5))), both)
    with pytest.raises(DesignError, match="two items in common; there are none"):
        pairs_of(Ratings.of(from_grid([[1, 2], [1, np.nan]], Ordinal(1, 5))), both)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "jackknife-z"), ({"method": "none"}, "none"), ({"raters": "random"}, "two-way-jackknife-z"),
        ({"score": "few"}, "none"), ({"score": "few", "low": np.array([0.1])}, "score"),
        ({"score": Score(np.zeros(1), np.zeros(1), name="score-rates"), "low": np.array([0.1])}, "score-rates"),
        ({"score": "few", "raters": "random"}, "two-way-jackknife-z"), ({"transform": ("share",)}, "wilson"),
    ],
)  # fmt: skip
def test_interval_name_matches_method(given, name):
    assert interval_name(estimates(**{"transform": ("rank",)} | given)) == name


@pytest.mark.parametrize(("m", "who", "row"), [(2, "r0 and r1", "r0, r1"), (3, "3 annotators", "r0, r1, r2"),
                                              (4, "4 annotators", "4 annotators")])  # fmt: skip
def test_up_to_three_annotators_are_named(m, who, row):
    cells = np.random.default_rng(1).integers(1, 4, (12, m))
    found = assay.measures.krippendorff_alpha(from_grid(cells, Ordinal(1, 3), judges=["r0"]), level="nominal")
    assert found.table["annotators"][0] == row
    assert f"12 items, {who}; " in found.summary()
    assert ("r0 is a judge" in found.summary()) == (m > 2)
    assert ("Recommended coefficient for these labels: Krippendorff's α (ordinal labels" in found.summary()) is True


def test_names_of_coefficients_and_comparisons_count_once():
    assert AgreementSettings(coefficients="rmse", who="pairs").who == ("pairs",)
    found = AgreementSettings(coefficients=["rmse", "mae", "rmse"], who=["rest", "rest"])
    assert (found.coefficients, found.who) == (("rmse", "mae"), ("rest",))


@pytest.mark.parametrize(("given", "got"), [("ann", "ann"), (["ann"], "1"), (["a", "b", "c"], "3"), (["a", "b"], None)])
def test_bias_requires_two_annotators(given, got):
    if got is None:
        assert BiasSettings(given).annotators == ("a", "b")
    else:
        with pytest.raises(DesignError, match=f"second minus first\\); got {got}$"):
            BiasSettings(given)


@pytest.mark.parametrize(("word", "now"), [("these", "raters='fixed'"), ("sample", "raters='random'")])
def test_words_of_before_name_those_of_today(word, now):
    with pytest.raises(DesignError, match=f"annotators='{word}' is now {now}"):
        CoefficientSettings(word)


def test_items_without_two_labels_to_compare_are_counted():
    rows = [(f"i{k}", who, k % 3 + 1) for k in range(9) for who in ("p", "q") if who == "p" or k > 3]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    found = assay.measures.exact_agreement(Annotations.from_frame(frame, judges=[], scale=Ordinal(1, 3)), method="none")
    assert [(one.what, one.count, one.reason) for one in found.run.exclusions] == [
        ("item", 4, "no two labels to compare")
    ]  # fmt: skip
    whole = Annotations.from_frame(frame.filter(pl.col("item") > "i3"), judges=[], scale=Ordinal(1, 3))
    assert assay.measures.exact_agreement(whole, method="none").run.exclusions == ()


def test_two_arrays_can_be_named_as_in_scikit_learn():
    by_name = assay.measures.cohen_kappa(y1=[1, 2, 2, 1], y2=[1, 2, 1, 1])
    assert by_name.estimate == assay.measures.cohen_kappa([1, 2, 2, 1], [1, 2, 1, 1]).estimate
    with pytest.raises(assay.errors.DesignError, match="option 'y1' is not in the options"):
        assay.measures.cohen_kappa(y1=[1, 2])
