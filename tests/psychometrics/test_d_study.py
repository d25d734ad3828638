"""D-studies: projections, the smallest numbers, prices, and adding a judge to a human."""

from __future__ import annotations

import inspect
import math

import numpy as np
import polars as pl
import pytest
from tables import FACETS, brennan, lessons

import assay
from assay.errors import DesignError
from assay.estimation.result import Run
from assay.psychometrics.d_study import DStudy
from assay.psychometrics.design import DStudySettings, GStudySettings
from assay.psychometrics.g_study import g_study
from assay.psychometrics.page import d_study_parts
from assay.reporting import pictures


@pytest.mark.parametrize(
    ("number", "design", "sizes", "generalizability", "dependability"),
    [
        # Brennan (2001): the coefficients of the synthetic data sets at their own numbers.
        (1, "p x i", {"i": 12}, 0.844, 0.773),
        (2, "i:p", {"i": 8}, 0.71, 0.71),
        (3, "p x i x o", {"i": 4, "o": 2}, 0.64, 0.55),
        (4, "p x (r:t)", {"r": 4, "t": 3}, 0.55, 0.46),
    ],
)
def test_brennan_s_coefficients(number, design, sizes, generalizability, dependability):
    found = g_study(brennan(number), design, "p", method="none").d_study(sizes).projected
    digits = 3 if number == 1 else 2
    assert found["estimate"].round(digits).to_list() == [generalizability, dependability]


def test_a_projection_by_hand():
    """Data set 4 with two tasks of five raters: each variance over the levels that it is averaged over."""
    study = g_study(brennan(4), "p x (r:t)", "p", method="none")
    p, t, rt, pt, prt = (
        study.components.filter(pl.col("effect") == e)["estimate"][0] for e in ("p", "t", "r:t", "pt", "pr:t,e")
    )
    row = study.d_study(t=2, r=5, price=3.0, prices={"t": 10.0}).projected
    relative = pt / 2 + prt / 10
    absolute = relative + t / 2 + rt / 10
    np.testing.assert_allclose(row["estimate"], [p / (p + relative), p / (p + absolute)])
    np.testing.assert_allclose(row["error"], [relative, absolute])
    assert row["cost"].to_list() == [3.0 * 10 + 10.0 * 2] * 2


def test_the_number_of_a_fixed_facet_is_not_chosen():
    study = g_study(brennan(4), "p x (r:t)", "p", fixed="t", method="none")
    with pytest.raises(DesignError, match="t is fixed"):
        study.d_study(t=[1, 2])


def test_the_smallest_number_is_the_first_that_reaches_the_target():
    study = g_study(lessons(30, 4, 5, seed=2), "r x (o:i)", "i", facets=FACETS, method="none")
    found = study.d_study(r=[1, 2, 3], o=range(1, 4), target=0.6, price=2.0)
    assert found.along == "r"
    found = study.d_study(r=[1, 3], o=range(1, 11), target=0.6, coefficient="generalizability", price=2.0)
    assert found.along == "o"
    for row in found.smallest.iter_rows(named=True):
        n = row["smallest"]
        each = study.d_study(r=row["r"], o=[max(n - 1, 1), n], target=0.6).projected
        values = each.filter(pl.col("coefficient") == "generalizability")["estimate"].to_list()
        assert values[-1] >= 0.6
        assert n == 1 or values[0] < 0.6
        assert row["cost"] == 2.0 * n * row["r"]
    assert f"Eρ² ≥ 0.6 requires {found.smallest['smallest'][0]} lessons with 1 annotator" in found.summary()


def test_a_target_that_no_number_reaches_is_said_with_the_limit():
    study = g_study(lessons(30, 4, 5, seed=2), "r x (o:i)", "i", facets=FACETS, method="none")
    found = study.d_study(r=[1], o=range(1, 11), target=0.95)
    assert found.smallest["smallest"].to_list() == [None]
    c = dict(study.components.select("effect", "estimate").iter_rows())
    limit = c["i"] / (c["i"] + c["r"] + c["ri"])
    assert found.smallest["limit"][0] == pytest.approx(limit)
    assert f"Φ ≥ 0.95 with 1 annotator is not reachable with more lessons (limit {limit:.3f})" in found.summary()


def test_merged_variance_divides_by_shared_or_named_facets():
    """One rater a lesson: o:i and ro:i are one; another rater of the same lesson may not take all of it away."""
    labels = lessons(30, 6, 4, seed=4)
    rows = labels.labels.with_columns(lesson=labels.column("lesson"), teacher=labels.column("teacher"))
    one = rows.filter(pl.int_range(pl.len()).over("lesson") == pl.col("lesson").str.tail(1).cast(pl.Int64) % 4)
    twice = pl.concat([one, one.with_columns(item=pl.col("item") + "b", label=pl.col("label") + 0.1)])
    study = g_study(assay.read(twice, scale="interval:-100-100"), "r x (o:i)", "i", facets=FACETS, method="none")
    assert study.components["effect"].to_list() == ["r", "i", "o:i,ro:i", "ri", "e"]
    nested = g_study(assay.read(twice.with_columns(s=pl.col("item").str.tail(1)), scale="interval:-100-100"),
                     "r x (s:o:i)", "i", facets={**FACETS, "s": "s"}, method="none")  # fmt: skip
    assert "o:i,ro:i" in nested.components["effect"].to_list()
    careful, usual = (
        nested.d_study(r=[4], merged=merged).projected["estimate"].to_list() for merged in ("careful", "usual")
    )
    assert usual[0] > careful[0]
    assert any("only with the facets that all of them share" in c for c in nested.d_study(r=[2]).cautions)


def test_curves_have_intervals_and_the_names_of_columns():
    study = g_study(lessons(20, 3, 4), "r x (o:i)", "i", facets=FACETS, method="delta")
    found = study.d_study(r=[1, 2], o=[1, 2, 4])
    ax = found.plot()
    assert ax.get_xlabel() == "number of lessons"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["annotator: 1", "annotator: 2"]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    first = found.projected.filter((pl.col("r") == 1) & (pl.col("coefficient") == "dependability"))
    assert band.max() == pytest.approx(first["high"].max())
    assert band.min() == pytest.approx(first["low"].min())


def test_more_of_a_facet_never_lowers_a_coefficient():
    study = g_study(lessons(20, 3, 4, missing=0.3), "r x (o:i)", "i", facets=FACETS, method="none")
    for name in ("generalizability", "dependability"):
        rows = study.d_study(r=[1, 2, 4], o=[1, 2, 4, 8]).projected.filter(pl.col("coefficient") == name)
        grid = rows.sort("r", "o")["estimate"].to_numpy().reshape(3, 4)
        assert (np.diff(grid, axis=0) >= 0).all()
        assert (np.diff(grid, axis=1) >= 0).all()


@pytest.mark.parametrize("method", ["profile", "parametric"])
def test_projections_have_intervals(method):
    study = g_study(lessons(20, 3, 4), "r x (o:i)", "i", facets=FACETS, method=method, n_resamples=40)
    rows = study.d_study(r=[1, 2], o=[1, 5]).projected
    assert ((rows["low"] < rows["estimate"]) & (rows["estimate"] < rows["high"])).all()


def test_without_levels_each_facet_is_projected_and_the_better_one_named():
    """Each number by the formula: Φ = σ²(i) / (σ²(i) + Δ) with one facet's variances divided."""
    study = g_study(lessons(30, 3, 4), "r x (o:i)", "i", facets=FACETS, method="none")
    found = study.d_study(target=0.6)
    assert set(zip(found.projected["r"], found.projected["o"], strict=True)) == {
        (1, 1), (2, 1), (3, 1), (5, 1), (10, 1), (1, 2), (1, 3), (1, 5), (1, 10)
    }  # fmt: skip
    rows = {row["facet"]: row for row in found.smallest.iter_rows(named=True)}
    assert set(rows) == {"r", "o"}
    for facet, other in (("r", "o"), ("o", "r")):
        alone = study.d_study({facet: [1]}, along=facet, target=0.6).smallest
        assert rows[facet]["smallest"] == alone["smallest"][0]
        assert rows[facet]["limit"] == pytest.approx(alone["limit"][0])
        assert (rows[facet][facet], rows[facet][other]) == (None, 1)
    better = "o" if rows["o"]["limit"] > rows["r"]["limit"] else "r"
    assert found.along == better
    assert found.sentences()[-1] == f"More {'lessons' if better == 'o' else 'annotators'} help most."
    (part,) = d_study_parts(found)
    assert part.frames[0][0] == "Smallest number of levels of each facet alone that reaches 0.6."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"levels": {"q": [1]}}, "facet 'q' is not in the design"),
        ({"levels": {"i": [1]}}, "facet 'i' is not in the design"),
        ({"levels": {"o": [0, 1]}}, "whole and at least 1; got 0"),
        ({"levels": {"o": []}}, "whole and at least 1; got none"),
        ({"levels": {"o": [1]}, "along": "x"}, "facet 'x' is not in the design"),
        ({"levels": {"o": [1]}, "target": 1.0}, "target must lie between 0 and 1"),
        ({"levels": {"o": [1]}, "prices": {"x": 2.0}}, "facet 'x'"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(options, words):
    study = g_study(lessons(8, 3, 3), "r x (o:i)", "i", facets=FACETS, method="none")
    with pytest.raises(DesignError, match=words):
        study.d_study(options.pop("levels"), **options)


# -- adding a judge to a human ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both():
    return g_study(lessons(30, 4, 4, judges=3, seed=5), "r x (o:i)", "i", facets=FACETS, by="kind", method="none")


def variances(study, group):
    found = study.components.filter(pl.col("group") == group)
    return dict(found.select("effect", "estimate").iter_rows())


def phi(universe, error):
    return universe / (universe + error)


def test_equation_8_by_hand(both):
    h, m = variances(both, "human"), variances(both, "judge")
    found = both.human_in_the_loop(sizes=[3])
    value = dict(found.projected.select("scenario", "estimate").iter_rows())

    def error(v, o, r):
        return v["r"] / r + v["o:i"] / o + v["ri"] / r + v["ro:i,e"] / (o * r)

    assert value["one human"] == pytest.approx(phi(h["i"], error(h, 3, 1)))
    assert value["human and judge"] == pytest.approx(phi(h["i"] + m["i"], error(h, 3, 1) + error(m, 3, 1)))
    assert value["human and 3 judges"] == pytest.approx(phi(h["i"] + m["i"], error(h, 3, 1) + error(m, 3, 3)))
    # Another person sees three other lessons: six lessons, each seen by one of two people.
    other = h["r"] / 2 + h["o:i"] / 6 + h["ri"] / 2 + h["ro:i,e"] / 6
    assert value["second human"] == pytest.approx(phi(h["i"], other))
    same = both.human_in_the_loop(sizes=[3], another="same").projected.filter(pl.col("scenario") == "second human")
    assert same["estimate"][0] == pytest.approx(phi(h["i"], error(h, 3, 2)))


def test_the_mean_of_both_scores_by_hand(both):
    h, m = variances(both, "human"), variances(both, "judge")
    found = both.human_in_the_loop(sizes=[2], combine="composite", correlation=0.6).projected
    error = sum(v["r"] + v["o:i"] / 2 + v["ri"] + v["ro:i,e"] / 2 for v in (h, m)) / 4
    universe = (h["i"] + m["i"] + 2 * 0.6 * np.sqrt(h["i"] * m["i"])) / 4
    assert found.filter(pl.col("scenario") == "human and judge")["estimate"][0] == pytest.approx(phi(universe, error))


def test_a_judge_that_is_noise_lowers_what_a_person_reaches():
    good, bad = lessons(30, 4, 4, seed=7), lessons(30, 4, 3, variances=(0.0, 1.0, 1.0, 0.5, 2.0), seed=8)
    rows = [
        one.labels.with_columns(
            annotator=prefix + pl.col("annotator"), teacher=one.column("teacher"), lesson=one.column("lesson"),
            item=prefix + pl.col("item"),
        )
        for one, prefix in ((good, "person "), (bad, "model "))
    ]  # fmt: skip
    table = pl.concat(rows)
    judges = [n for n in table["annotator"].unique() if n.startswith("model")]
    labels = assay.read(table, judges=judges, scale="interval:-100-100")
    found = g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none").human_in_the_loop()
    assert "Adding a judge gives a lower Φ than one human alone" in found.summary()


def test_scenarios_without_intervals_name_no_interval():
    labels = lessons(8, 3, 3, judges=2, seed=9)
    found = g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind").human_in_the_loop(sizes=[3])
    assert found.projected["low"].is_nan().all()
    assert "95%" not in found.summary()
    assert "No interval is shown; intervals need samples: method='parametric' or 'objects'." in found.summary()


def test_criteria_that_only_people_rated_have_no_scenario():
    whole = lessons(12, 3, 3, judges=2, seed=9)
    rows = [whole.labels.with_columns(criterion=pl.lit("x")),
            whole.where(kind="human").labels.with_columns(criterion=pl.lit("y"))]  # fmt: skip
    labels = assay.Annotations.from_frame(
        pl.concat(rows, how="diagonal"), judges=["m0", "m1"], items=whole.items, scale=whole.scale
    )
    study = g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    assert set(study.human_in_the_loop(sizes=[3]).projected["study"]) == {"x"}


def test_prices_of_people_and_judges(both):
    found = both.human_in_the_loop(sizes=[4], price=10.0, judge_price=0.5).projected
    cost = dict(found.select("scenario", "cost").iter_rows())
    assert cost == {"one human": 40.0, "second human": 80.0, "human and judge": 42.0, "human and 3 judges": 46.0}


@pytest.fixture(scope="module")
def segments_of_both():
    rng = np.random.default_rng(0)
    base = lessons(12, 3, 3, judges=2, seed=9)
    rows = base.labels.with_columns(teacher=base.column("teacher"), lesson=base.column("lesson"))
    segments = pl.concat([
        rows.with_columns(
            item=pl.col("item") + f"-{s}", s=pl.lit(s), label=pl.col("label") + rng.normal(size=rows.height)
        )
        for s in range(3)
    ])  # fmt: skip
    labels = assay.read(segments, judges=["m0", "m1"], scale="interval:-100-100")
    return g_study(labels, "r x (s:o:i)", "i", facets={**FACETS, "s": "s"}, by="kind", method="none")


def test_segments_that_each_sees(segments_of_both):
    """A person sees two segments of a lesson, a judge all eight: equation 12's n'."""
    study = segments_of_both
    found = study.human_in_the_loop(sizes=[2], of_human={"s": 2}, of_judge={"s": 8}).projected
    h, m = variances(study, "human"), variances(study, "judge")

    def error(v, s):
        return v["r"] + v["o:i"] / 2 + v["ri"] + v["ro:i"] / 2 + (v["s:o:i"] + v["rs:o:i,e"]) / (2 * s)

    value = dict(found.select("scenario", "estimate").iter_rows())
    assert value["human and judge"] == pytest.approx(phi(h["i"] + m["i"], error(h, 2) + error(m, 8)))


def test_rater_facet_has_its_own_option(both):
    found = both.human_in_the_loop(sizes=[3], rater_facet="r", along="o").projected
    assert found.equals(both.human_in_the_loop(sizes=range(3, 4)).projected)
    with pytest.raises(DesignError, match=r"raters=\.\.\. is now rater_facet=\.\.\."):
        both.human_in_the_loop(sizes=[3], raters="r")
    with pytest.raises(DesignError, match=r"rater_facet=\.\.\., one of r, o"):
        both.human_in_the_loop(rater_facet="x")


def test_facets_are_command_line_options():
    shown = inspect.signature(assay.psychometrics.g_study.GStudy.d_study)
    assert [*shown.parameters][:3] == ["self", "levels", "target"]
    assert shown.parameters["facets"].kind is inspect.Parameter.VAR_KEYWORD
    study = g_study(lessons(8, 3, 3), "r x (o:i)", "i", facets=FACETS, method="none")
    one, other = study.d_study({"r": [1, 2]}, o=3), study.d_study(r=(1, 2), o=[3])
    assert one.projected.equals(other.projected)
    assert one.signature == other.signature
    assert [e.estimate for e in one.estimates] == one.projected["estimate"].to_list()
    with pytest.raises(DesignError, match="facet 'targett' is not in the design"):
        study.d_study(targett=[1])


def test_without_a_study_of_each_it_is_refused():
    study = g_study(lessons(8, 3, 3), "r x (o:i)", "i", facets=FACETS, method="none")
    with pytest.raises(DesignError, match=r"no study of 'human'.*by='kind'"):
        study.human_in_the_loop()


# -- the smallest number and what it costs, from given values ------------------------------------------------


@pytest.fixture(scope="module")
def nested():
    """Eight items of each of brennan's persons: Φ of n items is σ²(p) n / (σ²(p) n + σ²(i:p))."""
    return g_study(brennan(2), "i:p", "p", method="none")


@pytest.mark.parametrize("n", [1, 2, 37, 4096, 99_999, 100_000, 100_001])
def test_halving_finds_the_first_number_that_reaches_the_target(nested, n):
    p, rest = nested.components["estimate"]
    between = (n - 0.5) * p / ((n - 0.5) * p + rest)  # what n − 1 items do not reach
    found = nested.d_study(i=[1], target=between, price=7.0).smallest
    reached = n <= 100_000  # the largest number in the search
    assert found["smallest"].to_list() == [n if reached else None]
    assert found["limit"][0] == pytest.approx(1)
    if reached:
        assert found["cost"].to_list() == [7.0 * n]


@pytest.fixture(scope="module")
def segments():
    """Raters crossed with two segments of each of two lessons of a teacher."""
    base = lessons(8, 2, 2, seed=3)
    rows = base.labels.with_columns(teacher=base.column("teacher"), lesson=base.column("lesson"))
    halves = [rows.with_columns(s=pl.lit(k), item=pl.col("item") + f"-{k}", label=pl.col("label") * (1 + k / 4))
              for k in range(2)]  # fmt: skip
    labels = assay.read(pl.concat(halves), scale="interval:-100-100")
    return g_study(labels, "r x (s:o:i)", "i", facets={**FACETS, "s": "s"}, method="none")


@pytest.mark.parametrize(
    ("price", "prices", "cost"),
    [
        (None, None, None),
        (2.0, None, 2 * 3 * 4 * 5),
        (None, {"r": 10.0}, 10 * 3),
        # A segment is one of each lesson; lessons are nested in the object, which is one.
        (None, {"s": 0.5}, 0.5 * 5 * 4),
        (2.0, {"o": 20.0, "r": 10.0}, 120 + 20 * 4 + 30),
    ],
)
def test_a_design_costs_its_ratings_and_levels(segments, price, prices, cost):
    found = segments.d_study({"r": 3, "o": 4, "s": 5}, price=price, prices=prices).projected
    assert ("cost" in found.columns) == (cost is not None)
    if cost is not None:
        assert found["cost"].to_list() == [cost] * 2


def test_facet_that_is_not_projected_has_one_level(segments):
    assert segments.d_study({"o": 4}, along="o", price=0.0, prices={"r": 9.0}).projected["cost"].to_list() == [9] * 2


def test_coefficient_not_estimable_has_a_reason():
    """One rater: Eρ² of other numbers of lessons, and no Φ."""
    study = g_study(lessons(12, 3, 1, seed=2), "r x (o:i)", "i", facets=FACETS, method="none")
    found = study.d_study(o=[2], target=0.5)
    rows = {row["coefficient"]: row for row in found.projected.iter_rows(named=True)}
    assert np.isfinite(rows["generalizability"]["estimate"])
    assert np.isnan(rows["dependability"]["estimate"])
    (row,) = found.smallest.iter_rows(named=True)
    assert (row["smallest"], row["reason"]) == (None, rows["dependability"]["reason"])
    assert np.isnan(row["limit"])
    assert "is not estimable: " in found.sentences()[0]


def test_numbers_are_options_of_their_facets():
    found = DStudySettings.of({"r": 3, "o": [1, 2], "target": 0.6, "levels": {"s": 4}})
    assert dict(found.levels) == {"s": (4,), "r": (3,), "o": (1, 2)}
    assert found.target == 0.6
    assert dict(DStudySettings.of({}).levels) == {}


@pytest.mark.parametrize(("studies", "place"), [(["c1", "c1"], ""), (["c1", "c2"], " (c2)")])
def test_the_largest_coefficient_names_its_study_where_there_are_several(studies, place):
    rows = pl.DataFrame({"study": studies, "coefficient": ["dependability"] * 2, "estimate": [0.5, 0.625],
                         "low": [0.4, 0.5], "high": [0.6, 0.75], "o": [2, 2], "r": [3, 4]})  # fmt: skip
    rows = pl.concat([rows, rows.with_columns(coefficient=pl.lit("generalizability"), estimate=0.9)])
    smallest = [{"study": name, "smallest": 2, "limit": 0.9, "reason": None} for name in dict.fromkeys(studies)]
    found = told(smallest, rows.to_dicts())
    *sentences, how, largest, last = found.summary().split("\n")
    assert tuple(sentences) == found.sentences()
    assert (how, last) == ("how.", found.signature)
    assert largest.startswith("Largest projected Φ: 0.625 ")
    assert largest.endswith(f" with 2 o, 4 r{place}.")


def test_the_largest_coefficient_names_its_scenario():
    rows = [
        {**row, "coefficient": "dependability", "low": 0.1, "high": 0.9} for row in scenario_rows((0.5, 0.7, 0.6, 0.65))
    ]
    assert told([], rows).summary().split("\n")[-2].endswith(" with 2 o (second human).")


# -- sentences, scenarios and what they cost, from given values ----------------------------------------------


def told(smallest, projected=None, coefficient="dependability", columns=None, **more):
    """A D-study of these rows, along o, with r; facets are their own columns unless named."""
    of = None if columns is None else Run("g-study", settings_of(columns), "data")
    run = Run("d-study", DStudySettings.of({}), "data", interval="how", of=of)
    given = {"projected": projected or [{"study": "all", "o": 1}], "smallest": smallest}
    rows = {k: pl.DataFrame(v, infer_schema_length=None) for k, v in given.items()}
    return DStudy(**rows, facets=("o", "r"), along="o", target=0.75, coefficient=coefficient, run=run, estimates=(),
                  **more)  # fmt: skip


def settings_of(columns):
    return GStudySettings(design="r x (o:i)", object="i", facets=columns)


NAMED = {"o": "lesson", "r": "annotator", "i": "teacher"}


@pytest.mark.parametrize(
    ("row", "columns", "sentence"),
    [
        ({"smallest": 4, "r": 1}, NAMED, "Φ ≥ 0.75 requires 4 lessons with 1 annotator."),
        ({"smallest": 1, "r": 2}, NAMED, "Φ ≥ 0.75 requires 1 lesson with 2 annotators."),
        ({"smallest": 1}, NAMED, "Φ ≥ 0.75 requires 1 lesson."),
        ({"smallest": 2}, NAMED, "Φ ≥ 0.75 requires 2 lessons."),
        ({"smallest": 1234, "cost": 1234.5}, NAMED, "Φ ≥ 0.75 requires 1,234 lessons (cost 1,234.50)."),
        ({"smallest": 1234, "r": 2}, None, "Φ ≥ 0.75 requires 1,234 o with 2 r."),  # a letter has no plural
        ({"limit": 0.61449}, NAMED, "Φ ≥ 0.75 is not reachable with more lessons (limit 0.614)."),
        (
            {"limit": 0.6, "r": 1},
            NAMED,
            "Φ ≥ 0.75 with 1 annotator is not reachable with more lessons (limit 0.600).",
        ),
        (
            {"reason": "why", "r": 3},
            NAMED,
            "Φ for other numbers of lessons with 3 annotators is not estimable: why.",
        ),
        ({"reason": "why", "smallest": 2}, None, "Φ for other numbers of o is not estimable: why."),
    ],
)  # fmt: skip
def test_the_smallest_number_in_a_sentence(row, columns, sentence):
    whole = {"study": "all", "smallest": None, "limit": None, "reason": None} | row
    assert told([whole], columns=columns).sentences() == (sentence,)


def test_studies_are_named_where_there_are_several():
    rows = [{"study": s, "smallest": n, "limit": 0.9, "reason": None} for s, n in (("c1", 2), ("c2", 3))]
    both = told(rows, coefficient="generalizability").sentences()
    assert both == ("c1: Eρ² ≥ 0.75 requires 2 o.", "c2: Eρ² ≥ 0.75 requires 3 o.")
    assert told(rows[1:]).sentences() == ("Φ ≥ 0.75 requires 3 o.",)


HIGHER = "Adding a judge gives a higher Φ than one human alone, but a lower one than a second human (point estimates)."
SCENARIOS = ("one human", "second human", "human and judge", "human and 3 judges")


def scenario_rows(values, study="all", o=2, reason=None):
    return [
        {"study": study, "scenario": name, "o": o, "estimate": value, "reason": reason if np.isnan(value) else None}
        for name, value in zip(SCENARIOS, values, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.5, 0.7, 0.4999, 0.9), "Adding a judge gives a lower Φ than one human alone (point estimates)."),
        ((0.5, 0.7, 0.5, 0.1), HIGHER),  # what one judge adds decides
        ((0.5, 0.7, 0.6999, 0.9), HIGHER),
        ((0.5, 0.7, 0.7, 0.2), "Adding a judge gives at least the Φ of a second human (point estimates)."),
        ((0.5, 0.7, 0.8, 0.2), "Adding a judge gives at least the Φ of a second human (point estimates)."),
        ((math.nan, 0.7, 0.8, 0.2), "The effect of a judge is not estimable: why."),
        ((0.5, 0.7, math.nan, 0.2), "The effect of a judge is not estimable: why."),
        ((0.5, 0.7, 0.6, math.nan), HIGHER),
    ],
)
def test_summary_of_human_and_judge_scenario(values, verdict):
    projected = [*scenario_rows((0.1, 0.2, 0.05, 0.3), o=1), *scenario_rows(values, reason="why")]
    (line,) = told([], projected, columns=NAMED).sentences()
    said = ", ".join(
        f"{name} {'nan' if np.isnan(v) else f'{v:.3f}'}" for name, v in zip(SCENARIOS, values, strict=True)
    )
    head, end = line.removesuffix(f". {verdict}"), line.endswith(f". {verdict}")
    assert end
    assert head.startswith("Φ with 2 lessons: one human ")
    if "nan" not in said:
        assert head == f"Φ with 2 lessons: {said}"


def test_scenarios_of_a_criterion_are_under_its_name_at_the_largest_number():
    projected = [row for study in ("c1", "c2") for o in (5, 1) for row in scenario_rows((0.5, 0.7, 0.6, 0.8), study, o)]
    lines = told([], projected).sentences()
    assert [line[:20] for line in lines] == ["c1: Φ with 5 o: one ", "c2: Φ with 5 o: one "]


def test_the_first_number_at_which_a_scenario_reaches_the_target(both):
    """Numbers in any order; the limit is the largest value."""
    each = both.human_in_the_loop(sizes=[4, 1, 2]).projected
    values = dict(each.filter(pl.col("scenario") == "one human").select("o", "estimate").iter_rows())
    between = (values[1] + values[2]) / 2
    found = both.human_in_the_loop(sizes=[4, 1, 2], target=between, price=10.0).smallest
    rows = {row["scenario"]: row for row in found.iter_rows(named=True)}
    assert [*rows] == list(SCENARIOS)
    assert (rows["one human"]["smallest"], rows["one human"]["cost"]) == (2, 20.0)
    for name, row in rows.items():
        mine = dict(each.filter(pl.col("scenario") == name).select("o", "estimate").iter_rows())
        assert row["smallest"] == min((o for o, value in mine.items() if value >= between), default=None)
        assert row["limit"] == pytest.approx(max(mine.values()))
    beyond = both.human_in_the_loop(sizes=[4, 1, 2], target=0.999, price=10.0).smallest
    assert beyond["smallest"].to_list() == [None] * 4
    assert beyond["cost"].null_count() == 4 if "cost" in beyond.columns else True


def test_scenarios_cost_what_each_sees(segments_of_both):
    """Humans: 3 lessons of 2 segments at 8; judges: 3 lessons of 8 segments, five times, at a quarter."""

    def cost(**options):
        options = {"sizes": [3], "of_human": {"s": 2}, "of_judge": {"s": 8}, "ensemble": 5} | options
        found = segments_of_both.human_in_the_loop(**options).projected
        return dict(found.select("scenario", "cost").iter_rows()) if "cost" in found.columns else None

    wanted = {"one human": 48, "second human": 96, "human and judge": 48 + 6, "human and 5 judges": 48 + 30}
    assert cost(another="same", price=8.0, judge_price=0.25) == wanted
    # Lessons of their own are seen by one human each: six of 2 segments at 8.
    assert cost(price=8.0, judge_price=0.25) == wanted
    assert cost(judge_price=1.0) is None
    assert cost(price=0.0, judge_price=1.0)["human and judge"] == 24


def test_composite_of_one_family_is_that_family(both):
    one, other = (
        both.human_in_the_loop(sizes=[2], combine=combine).projected["estimate"].to_list()
        for combine in ("sum", "composite")
    )
    assert one[:2] == other[:2]
    assert one[2] != other[2]


def _kinds(missing=0.0):
    """Items by three humans and three judges; the judges differ in severity."""
    rng = np.random.default_rng(4)
    rows = []
    quality = rng.normal(0, 2.0, 60)
    for kind, spread in (("h", 0.3), ("gpt", 1.0)):
        for r, severity in enumerate(rng.normal(0, spread, 3)):
            rows += [
                {"item": f"i{i}", "annotator": f"{kind}{r}", "label": round(q + severity + rng.normal(), 2)}
                for i, q in enumerate(quality) if rng.random() >= missing
            ]  # fmt: skip
    judges = ["gpt0", "gpt1", "gpt2"]
    return assay.read(pl.DataFrame(rows), scale="interval:-30-30", judges=judges)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("method", [None, "delta", "parametric"])
def test_the_projection_to_one_level_each_is_the_g_study_s_own(missing, method):
    facets = {"i": "item", "r": "annotator"}
    study = g_study(_kinds(missing), "i x r", "i", facets=facets, by="kind", method=method, n_resamples=40)
    rows = study.d_study(r=[1, 2]).projected.filter(pl.col("r") == 1)
    own = study.table.filter(pl.col("quantity").is_in(["Eρ²", "Φ"]))
    for name in ("estimate", "low", "high"):
        assert rows[name].to_list() == own[name].to_list()


def test_the_smallest_number_has_an_interval_from_those_of_the_coefficient():
    """Crossed with items, Φ of n raters increases with Φ of one rater: n Φ / (1 + (n − 1) Φ), Spearman and Brown."""
    study = g_study(_kinds(), "i x r", "i", facets={"i": "item", "r": "annotator"}, by="kind")
    found = study.d_study(r=[1, 2, 3], target=0.8)
    for one, row in zip(study.studies, found.smallest.iter_rows(named=True), strict=True):
        ends = one.dependability.low, one.dependability.estimate, one.dependability.high
        most, best, few = (math.ceil(0.8 / 0.2 * (1 - v) / v) for v in ends)
        assert (row["smallest_low"], row["smallest"], row["smallest_high"]) == (few, best, most)
    row = found.smallest.row(0, named=True)
    line = f"Φ ≥ 0.8 requires {row['smallest']} annotators [{row['smallest_low']}, {row['smallest_high']}]."
    assert line in found.summary()


def test_a_smallest_number_without_an_upper_limit():
    study = g_study(lessons(40, 4, 5), "r x (o:i)", "i", facets=FACETS)
    found = study.d_study(r=[1, 2], o=range(1, 5), target=0.6)
    one, two = found.smallest.iter_rows(named=True)
    assert one["smallest"] is None
    assert f"at the upper limit of Φ).\nΦ ≥ 0.6 requires {two['smallest']} lessons [" in found.summary()
    assert two["smallest_high"] is None
    assert f"[{two['smallest_low']}, ∞] with 2 annotators" in found.summary()
    for row in (one, two):  # the number is the first whose upper limit reaches the target
        n = row["smallest_low"]
        rows = study.d_study(r=[row["r"]], o=[n - 1, n]).projected.filter(pl.col("coefficient") == "dependability")
        assert rows["high"][0] < 0.6 <= rows["high"][1]


def test_many_labels_with_missing_cells_have_quick_intervals_with_a_caution(monkeypatch):
    monkeypatch.setattr("assay.psychometrics.d_study.MOST_PROJECTED", 1000)
    facets = {"i": "item", "r": "annotator"}
    study = g_study(_kinds(0.2), "i x r", "i", facets=facets, by="kind")
    found = study.d_study(r=range(1, 5))
    assert "delta method" in found.summary()
    assert any("they are too narrow" in c for c in found.cautions)
    named = g_study(_kinds(0.2), "i x r", "i", facets=facets, by="kind", method="profile").d_study(r=range(1, 5))
    assert not named.cautions
    assert named.projected["low"][1] < found.projected["low"][1]


def test_humans_and_judges_have_their_colours():
    study = g_study(_kinds(), "i x r", "i", facets={"i": "item", "r": "annotator"}, by="kind")
    ax = study.d_study(r=[1, 2, 3]).plot()
    colours = {line.get_label(): line.get_color() for line in ax.get_lines()}
    assert (colours["human"], colours["judge"]) == (pictures.HUMAN, pictures.JUDGE)


def test_the_numbers_are_in_the_signature():
    study = g_study(lessons(20, 3, 4), "r x (o:i)", "i", facets=FACETS, method="none")
    assert "|levels:r=1,2;o=4 of" in study.d_study(r=[1, 2], o=4).signature
