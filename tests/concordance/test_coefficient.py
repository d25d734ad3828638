"""Another level of a coefficient, whatever rule its interval comes from, is what asking with that level gives."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid

import assay
from assay.concordance.coefficient import Shifted, logit_interval, sums_of, without_each
from assay.data.annotations import Annotations
from assay.data.ratings import Ratings
from assay.data.scales import Interval, Nominal, Ordinal
from assay.errors import DesignError
from assay.statistics.categories import Alpha
from references import krippendorff_alpha

TABLES = {
    "few items differ": from_grid([[1, 1]] * 37 + [[1, 0]] * 2 + [[0, 0]] * 6, Ordinal(0, 1)),
    "all agree": from_grid([[1, 1]] * 20 + [[0, 0]] * 20, Ordinal(0, 1)),
    "nobody agrees": from_grid([[1, 0]] * 20 + [[0, 1]] * 20, Ordinal(0, 1)),
    "three": assay.simulate(40, 3, scale="1-5", judges={"gpt": 0.3}, seed=2, missing=0.1),
    "heavy tails": from_grid(np.cumsum(np.random.default_rng(1).standard_t(3, (60, 3)), axis=1), Interval()),
    "with ends": from_grid(np.clip(np.random.default_rng(4).normal(0.5, 1, (25, 3)), 0, 1), Interval(0, 1)),
}
ASKED = [
    (name, table)
    for table, names in {
        "few items differ": ["krippendorff_alpha", "cohen_kappa", "exact_agreement", "gwet_ac"],
        "all agree": ["exact_agreement", "krippendorff_alpha", "nmae"],
        "nobody agrees": ["exact_agreement", "nmae"],
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
    found = getattr(assay, name)(TABLES[table], **options)
    other = getattr(assay, name)(TABLES[table], **options, confidence=0.7)
    for one, row in zip(found.row_estimates(), other.table.iter_rows(named=True), strict=True):
        assert one.interval(0.7) == pytest.approx((row["low"], row["high"]), nan_ok=True)
    assert found.interval(0.7) == pytest.approx((other.low, other.high), nan_ok=True)


def test_a_coefficient_answers_for_all_its_annotators_or_for_a_pair():
    found = assay.cohen_kappa(TABLES["three"])
    assert found.interval(0.95) == pytest.approx((found.low, found.high))
    first, second, one = found.pairs[0]
    assert found.interval(0.8, annotators=f"{first} & {second}") == one.interval(0.8)
    assert found.p(0.2, annotators=f"{first} & {second}") == one.p(0.2) != found.p(0.2)
    with pytest.raises(DesignError, match="no row of this Coefficient"):
        found.interval(0.8, annotators="nobody")


def test_the_interval_from_f_distributions_is_a_row_of_its_own():
    table = from_grid(np.random.default_rng(1).normal(0, 1, (30, 1)) + np.ones((1, 3)), Interval())
    assert assay.icc(table).row_estimates()[0].estimate == pytest.approx(1)  # no error, no F
    labels = TABLES["three"]
    found, other = assay.icc(labels, form="ICC(C,1)"), assay.icc(labels, form="ICC(C,1)", confidence=0.6)
    low, high = found.interval(0.6, interval=found.f_test.words)
    assert (low, high) == pytest.approx((other.f_test.low, other.f_test.high))
    assert found.interval(0.6) == pytest.approx((other.low, other.high))
    assert math.isnan(found.p(0.1, interval=found.f_test.words))


def test_rows_of_agreement_keep_no_resamples_and_answer():
    labels = TABLES["three"]
    options = {"coefficients": ["nmae", "cohen-kappa", "exact-agreement"], "draws": 50}
    found, other = assay.agreement(labels, **options), assay.agreement(labels, **options, confidence=0.7)
    for one, row in zip(found.row_estimates(), other.table.iter_rows(named=True), strict=True):
        assert one.interval(0.7) == pytest.approx((row["low"], row["high"]), nan_ok=True)
        assert one.among is None
    row = {"who": "pairs", "first": "ann_1", "second": "gpt", "coefficient": "cohen-kappa"}
    assert found.p(**row) == pytest.approx(found.table.filter(**row)["p"][0])
    with pytest.raises(DesignError, match=r"rows of this Agreement are meant; name one by its columns: first"):
        found.interval(0.9, who="pairs")


def test_a_study_of_grading_scales_without_people_answers():
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
    found = assay.scott_pi(labels)
    assert found.interval(0.5)[0] > found.low


def test_what_is_left_without_each_annotator_is_that_of_the_others():
    """Two of three annotators agree with each other; of two, one agrees with nobody."""
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


def test_a_mean_over_batches_is_moved_to_the_value_of_all():
    """Sums 4 and 9 over 2 and 3 batches are 2 and 3; without a batch there is the shift alone."""
    moved = Shifted(np.array([0.5, -1.0]))
    assert moved.value(np.array([4.0, 9, 2, 3])).tolist() == [2.5, 2.0]
    assert moved.value(np.array([[4.0, 9, 2, 3], [0, 0, 0, 0]])).tolist() == [[2.5, 2.0], [0.5, -1.0]]


def test_a_share_that_stays_below_1_has_an_interval_on_the_logit_scale():
    """log(.8 / .2) ± t · .05 / (.8 · .2), t with a degree of freedom fewer than there are units."""
    for units, df in ((12, 11), (2, 1), (1, 1)):
        half = stats.t.ppf(0.95, df) * 0.05 / 0.16
        low, high = logit_interval(0.8, 0.05, SimpleNamespace(n_units=units, confidence=0.9))
        assert math.log(low / (1 - low)) == pytest.approx(math.log(4) - half)
        assert math.log(high / (1 - high)) == pytest.approx(math.log(4) + half)
    for end in (0.0, 1.0):
        assert logit_interval(end, 0.05, SimpleNamespace(n_units=12, confidence=0.9)) == (end, end)
