"""How much of the variance of lessons is that of their teachers."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.data.annotations import Annotations, Answers
from assay.data.scales import Interval, Ordinal
from assay.errors import DataError, DesignError
from assay.psychometrics import nested_icc as nested_icc_module
from assay.psychometrics.nested_icc import _Nested, exact_f, nested_icc, profile_interval, unit_scores
from assay.statistics.components.variance import OneWay


def test_nested_scores_average_what_the_result_says():
    rng = np.random.default_rng(2)
    rows, items = [], []
    for teacher in range(30):
        level = rng.normal(4, 1)
        for lesson in range(3 + teacher % 3):
            score = level + rng.normal(0, 0.8)
            for segment in range(2):
                item = f"{teacher}-{lesson}-{segment}"
                items.append({"item": item, "teacher": teacher, "lesson": f"{teacher}-{lesson}"})
                rows.append({"item": item, "annotator": f"r{segment}", "label": score + rng.normal(0, 0.3)})
    labels = Annotations.from_frame(pl.DataFrame(rows), scale=Interval(), items=pl.DataFrame(items))
    found = nested_icc(labels, within="teacher", unit="lesson", n=6)
    assert (found.n_groups, found.n_units, found.n_labels) == (30, 120, 240)
    # 1 / (1 + .64 + .045) = .59
    assert found.low < 0.59 < found.high
    assert found.adjusted == pytest.approx(
        found.variance_between / (found.variance_between + found.variance_within / 6), abs=1e-12
    )
    assert "mean of its labels" in found.summary()
    with pytest.raises(DataError, match="did you mean 'teacher'"):
        nested_icc(labels, within="teachers")
    with pytest.raises(DesignError, match="no item has two"):
        nested_icc(labels, within="item")


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.6])
def test_lessons_within_teachers_are_fitted_as_a_g_study_fits_them(spread):
    """Two methods: sums over teachers of one size, and the likelihood of the whole table."""
    rng = np.random.default_rng(3)
    rows = [
        {"item": f"{t}-{k}", "teacher": t, "annotator": "r", "label": level + e}
        for t, level in enumerate(rng.normal(0, spread, 25)) for k, e in enumerate(rng.normal(0, 1, 1 + t % 5))
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    labels = Annotations.from_frame(
        frame.drop("teacher"), scale=Interval(), items=frame.select("item", "teacher").unique(maintain_order=True)
    )
    found = nested_icc(labels, within="teacher")
    assert "mean of its labels" not in found.summary()
    study = assay.g_study(labels, "o:i", "i", facets={"o": "item", "i": "teacher"}, estimator="reml")
    assert found.estimate == pytest.approx(study.generalizability, abs=1e-5)
    assert (found.estimate > 0) == (spread > 0)
    one = study.studies[0].generalizability
    assert (found.profile_low, found.profile_high) == pytest.approx((one.low, one.high), abs=2e-3)
    assert np.isnan(found.f_low)


@pytest.mark.slow
def test_nested_icc_is_that_of_statsmodels_on_a_balanced_table():
    statsmodels = pytest.importorskip("statsmodels.formula.api")
    rng = np.random.default_rng(5)
    rows = [
        {"item": f"t{t}-l{i}", "annotator": "r", "label": v, "teacher": f"t{t}"}
        for t, mean in enumerate(rng.normal(4, 1, 40))
        for i, v in enumerate(mean + rng.normal(0, 1.2, 5))
    ]
    frame = pl.DataFrame(rows)
    labels = Annotations.from_frame(
        frame.drop("teacher"), scale=Interval(), items=frame.select("item", "teacher").unique(maintain_order=True)
    )
    found = nested_icc(labels, within="teacher")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = statsmodels.mixedlm("label ~ 1", frame.to_pandas(), groups=frame["teacher"].to_list()).fit(reml=True)
    between, rest = float(model.cov_re.iloc[0, 0]), float(model.scale)
    # On balanced tables REML and the analysis of variance agree; the optimiser stops at about 1e-5.
    assert found.estimate == pytest.approx(between / (between + rest), abs=1e-4)
    assert found.adjusted == pytest.approx(between / (between + rest / 6), abs=1e-4)
    assert found.low < found.estimate < found.high < found.adjusted_high < 1
    assert found.f_low == pytest.approx(found.low, abs=0.12)
    # Where none is named, the ICC of one unit is meant.
    assert found.interval(0.5) == found.interval(0.5, coefficient="ICC")
    low, high = found.interval(0.5, coefficient="adjusted ICC")
    assert found.adjusted_low < low < found.adjusted < high < found.adjusted_high
    assert found.p(0.0) == found.at(averaged=1.0).p(0.0) < 0.01


@pytest.mark.slow
@pytest.mark.real_data
def test_class_observation_lessons_within_teachers(real_data):
    frame = pl.read_csv(real_data / "class_observation" / "class_data.csv")
    frame = frame.with_columns(item=pl.format("{}-{}-{}", "NCTETID", "OBSID", "CHAPNUM"))
    about = frame.select("item", teacher="NCTETID", lesson="OBSID").unique("item", maintain_order=True)
    rows = frame.select("item", annotator="RATERID", label="CLINSTD").drop_nulls()
    rows = rows.unique(["item", "annotator"], maintain_order=True)
    labels = Annotations.from_frame(rows, scale=Ordinal(1, 7), items=about)
    found = nested_icc(labels, within="teacher", unit="lesson", n=6)
    assert found.n_groups > 300
    assert 0 < found.low < found.estimate < found.high < found.adjusted < 1


@pytest.mark.slow
@pytest.mark.real_data
def test_lessons_within_teachers_as_published(real_data):
    """CLNC of the CLASS table by lme4 1.1-31 (REML on lessons' means): .142, and .498 for six lessons."""
    frame = pl.read_csv(real_data / "class_observation" / "class_data.csv")
    frame = frame.with_columns(item=pl.format("{}-{}-{}-{}", "NCTETID", "OBSID", "CHAPNUM", "RATERID"))
    about = frame.select("item", teacher="NCTETID", lesson="OBSID").unique("item", maintain_order=True)
    rows = frame.select("item", annotator="RATERID", label="CLNC").drop_nulls()
    labels = Annotations.from_frame(rows, scale=Ordinal(1, 7), items=about)
    found = nested_icc(labels, within="teacher", unit="lesson", n=6)
    assert found.estimate == pytest.approx(0.1420613, abs=1e-4)
    assert found.adjusted == pytest.approx(0.4983714, abs=1e-4)
    assert found.profile_low < found.estimate < found.profile_high
    anova = nested_icc(labels, within="teacher", unit="lesson", n=6, estimator="anova")
    assert anova.estimate == pytest.approx(0.170, abs=1e-3)
    assert anova.adjusted == pytest.approx(0.552, abs=1e-3)


def test_the_f_interval_is_that_of_one_way_analysis_of_variance():
    """McGraw & Wong (1996), ICC(1): F = MS_between / MS_within, (F′ − 1) / (F′ − 1 + n) at each end F′."""
    rng = np.random.default_rng(11)
    groups, each = 9, 4
    values = rng.normal(0, 1, groups)[:, None] + rng.normal(0, 0.8, (groups, each))
    low, high = nested_icc_module.exact_f(
        Answers(np.repeat(np.arange(groups), each), np.arange(groups * each), values.ravel(), ("a",), ()), 0.64, 0.9
    )
    f, _ = stats.f_oneway(*values)
    first, second = groups - 1, groups * (each - 1)
    ends = f / stats.f.ppf(0.95, first, second), f * stats.f.ppf(0.95, second, first)
    assert (low, high) == pytest.approx([(e - 1) / (e - 1 + each) for e in ends])
    assert low < high < 1


@pytest.mark.parametrize(("teachers", "known"), [(3, False), (4, True)])
def test_three_teachers_are_two_differences(teachers, known):
    rng = np.random.default_rng(4)
    rows = [
        {"item": f"{t}-{k}", "teacher": f"t{t}", "annotator": name, "label": float(t + rng.normal())}
        for t in range(teachers) for k in range(5) for name in "ab"
    ]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), scale="interval:-50-50")
    if known:
        assert np.isfinite(nested_icc(labels, "teacher").estimate)
    else:
        with pytest.raises(DesignError, match="3 levels of teacher have 2 differences, and 3 are needed"):
            nested_icc(labels, "teacher")


def nested_of(rows) -> Answers:
    item = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return Answers(item, np.arange(len(item)), np.concatenate(rows).astype(float), tuple("abcdefgh"[: len(rows)]), ())


def test_the_f_interval_by_hand_and_where_there_is_none():
    # Means 1.5, 4.5, 9; mean squares between 2 · 14.25 and within (.5 + .5 + 2) / 3 = 1: F = 28.5 with 2 and 3.
    rows = [[1.0, 2], [4, 5], [8, 10]]
    low, high = exact_f(nested_of(rows), 1.0, 0.9)
    ends = 28.5 / stats.f.ppf(0.95, 2, 3), 28.5 * stats.f.ppf(0.95, 3, 2)
    assert (low, high) == pytest.approx([(e - 1) / (e + 1) for e in ends])
    for other, within in (([*rows, [3.0]], 1.0), ([[1.0], [2], [3]], 1.0), (rows, 0.0), (rows, -1.0)):
        assert np.isnan(exact_f(nested_of(other), within, 0.9)).all()


@pytest.mark.slow
def test_units_that_hold_no_error_have_no_profile():
    # Where no mean is a sum of powers of two, rounding leaves 1e-16.
    for rows in ([[1.0, 1], [2, 2], [4, 4]], [[0.1, 0.1], [0.2, 0.2], [0.7, 0.7]], [[1.0, 1], [2, 2], [3, 3]]):
        assert np.isnan(profile_interval(nested_of(rows), 0.95)).all()
    low, high = profile_interval(nested_of([[1.0, 2], [4, 5], [8, 10]]), 0.95)
    assert 0 <= low < high <= 1


def test_the_icc_of_one_and_of_several_units():
    nested = nested_of([[1.0, 2], [4, 5], [8, 10]])
    # Between (28.5 − 1) / 2 = 13.75, within 1.
    found = _Nested(OneWay(0.0), 4.0).value(_Nested(OneWay(0.0), 4.0).moments(nested).sum(axis=0))
    assert found.tolist() == pytest.approx([13.75 / 14.75, 13.75 / 14])


@pytest.mark.parametrize("lesson", [["1", "1", "2"] * 4, [f"{t}{o}" for t in "abcd" for o in "112"]])
def test_nested_icc_takes_lesson_one_of_each_teacher_for_another_lesson(lesson):
    """Lessons of 1 and 2, of 4 and 5, of 8 and 10, of 4 and 6, the first in two segments.

    Means 1.5, 4.5, 9, 5 about 5: 2 (12.25 + .25 + 16 + 0)/3 = 19. Within (.5 + .5 + 2 + 2)/4 = 1.25, so that 8.875 is
    between teachers.
    """
    teacher = [t for t in "abcd" for _ in range(3)]
    label = [0, 2, 2, 3, 5, 5, 8, 8, 10, 4, 4, 6]
    frame = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "annotator": "r", "label": label})
    items = frame.select("item").with_columns(teacher=pl.Series(teacher), lesson=pl.Series(lesson))
    labels = Annotations.from_frame(frame, scale=Interval(), items=items)
    found = nested_icc(labels, within="teacher", unit="lesson", estimator="anova", n=4)
    assert (found.n_groups, found.n_units) == (4, 8)
    assert (found.estimate, found.adjusted) == pytest.approx((8.875 / 10.125, 8.875 / (8.875 + 1.25 / 4)))


def test_scores_of_units_are_means_of_all_their_labels():
    about = pl.DataFrame({"item": list("pqrst"), "class": ["y", "y", "x", "x", "y"], "day": ["2", "1", "3", "3", "2"]})
    answers = Answers(np.array([0, 0, 1, 2, 3, 3, 4]), np.array([0, 1, 0, 0, 0, 1, 0]),
                      np.array([1.0, 2, 9, 4, 6, 8, 6]), tuple("pqrst"), ("a", "b"))  # fmt: skip
    found = unit_scores(answers, about, "class", "day")
    # x: day 3 is (4 + 6 + 8) / 3; y: day 1 is 9, day 2 is (1 + 2 + 6) / 3.
    assert found.items == ("x", "y")
    assert (found.item.tolist(), found.value.tolist()) == ([0, 1, 1], [6, 9, 3])
    alone = unit_scores(answers, about, "class", None)
    assert (alone.item.tolist(), alone.value.tolist()) == ([0, 0, 1, 1, 1], [4, 7, 1.5, 9, 6])
    # Day 2 of x, with t (6), is not day 2 of y, with p (1 and 2): the names of days repeat.
    apart = unit_scores(answers, about.with_columns(pl.Series("class", ["y", "y", "x", "x", "x"])), "class", "day")
    assert (apart.item.tolist(), apart.value.tolist()) == ([0, 0, 1, 1], [6, 6, 9, 1.5])
    with pytest.raises(DataError, match="some items have no 'class' or no 'day'"):
        unit_scores(answers, about.with_columns(pl.Series("day", ["2", None, "3", "3", "2"])), "class", "day")
