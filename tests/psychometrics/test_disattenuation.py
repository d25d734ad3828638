"""Correlations corrected for error: the truth recovered, equation 3 by hand, and missing estimates."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import stdtrit
from tables import FACETS, lessons

import assay
from assay.errors import DesignError
from assay.estimation.intervals import Estimate, EstimateByRule
from assay.estimation.result import Run
from assay.psychometrics.design import DisattenuationSettings
from assay.psychometrics.disattenuation import (
    Disattenuation,
    FamilyCorrelation,
    _Pairs,
    disattenuated_correlation,
    finding_of,
    pair_correlation,
    pair_sums,
)
from assay.reporting import pictures
from assay.statistics.components.bivariate import Family, JointBlocks, JointFit, Strata, fit_joint


def ask(labels, **options):
    return disattenuated_correlation(labels, "r x (o:i)", "i", facets=FACETS, **{"n_resamples": 20, **options})


@pytest.mark.slow
def test_every_cross_pair_by_hand():
    """The sums of pairs against a loop over them."""
    labels = lessons(8, 3, 2, judges=2, missing=0.2, seed=3)
    found = ask(labels)
    rows = labels.labels.with_columns(teacher=labels.column("teacher"), lesson=labels.column("lesson")).to_dicts()
    same, cross = [], []
    for a in rows:
        for b in rows:
            if a["annotator"][0] == "h" and b["annotator"][0] == "m" and a["teacher"] == b["teacher"]:
                (same if a["lesson"] == b["lesson"] else cross).append((a["label"], b["label"]))
    assert found.n_pairs == len(cross)
    assert found.observed.estimate == pytest.approx(np.corrcoef(np.array(same).T)[0, 1])
    assert found.across.estimate == pytest.approx(np.corrcoef(np.array(cross).T)[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["a", "z"])
def test_disattenuated_correlation_of_one_judge_does_not_depend_on_its_name(judge):
    """The only judge is one level of r, first or last by name: it has a consistency, Eρ², in both cases."""
    labels = lessons(20, 3, 3, judges=1, seed=5)
    named = {"annotator": pl.col("annotator").replace("m0", judge)}
    renamed = dataclasses.replace(labels, labels=labels.labels.with_columns(**named),
                                  annotators=labels.annotators.with_columns(**named))  # fmt: skip
    found, same = ask(renamed), ask(labels)
    assert found.cautions == ((
        "judge: r has one level and is removed from the design: results apply to that level "
        "only."
    ),)  # fmt: skip
    assert found.table.equals(same.table)
    assert found.structural.reason is None


@pytest.mark.slow
def test_equation_3_and_the_better_ones_by_hand():
    labels = lessons(25, 4, 4, judges=3, seed=4)
    found = ask(labels)
    rel = found.reliabilities
    study = assay.g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    assert rel["generalizability"].to_list() == pytest.approx(
        [s.generalizability.estimate for s in study.studies], rel=1e-6
    )
    published = found.across.estimate / np.sqrt(rel["generalizability"].product())
    assert found.published.estimate == pytest.approx(published)
    assert found.dependable.estimate == pytest.approx(found.across.estimate / np.sqrt(rel["dependability"].product()))
    # Φ is below Eρ², so that equation 3 corrects less.
    assert found.published.estimate < found.dependable.estimate


@pytest.mark.slow
def test_the_structural_estimate_finds_the_true_correlation_and_equation_3_falls_short():
    """Universe scores correlate .6; severity of raters is large, and Eρ² does not hold it."""
    variances, values = (0.6, 0.2, 0.6, 0.05, 0.3), []
    for seed in range(6):
        labels = lessons(60, 3, 4, judges=4, variances=variances, apart=0.64, seed=100 + seed)
        found = ask(labels, n_resamples=20)
        values.append((found.published.estimate, found.dependable.estimate, found.structural.estimate))
    published, dependable, structural = np.mean(values, axis=0)
    error = np.std(values, axis=0, ddof=1)[2] / np.sqrt(6)
    assert abs(structural - 0.6) < 3 * error
    assert abs(dependable - 0.6) < 0.12
    assert published < dependable
    assert published < 0.55


@pytest.mark.slow
def test_fingerprint_depends_on_labels_and_on_families():
    labels = lessons(6, 2, 2, judges=2, seed=5)
    one, same, swapped = (
        ask(labels, **more) for more in ({}, {"families": ("human", "judge")}, {"families": ("judge", "human")})
    )
    assert one.data == same.data != swapped.data
    changed = dataclasses.replace(labels, labels=labels.labels.with_columns(pl.col("label").round(2)))
    assert ask(changed).data != one.data


def test_family_without_object_variance_not_estimable():
    """Judges see lessons and nothing of teachers: not 1.7, but nothing."""
    good, none = lessons(40, 3, 3, seed=1), lessons(40, 3, 3, variances=(0.0, 0.3, 0.2, 0.1, 0.5), seed=2)
    rows = pl.concat([
        one.labels.with_columns(
            item=pl.lit(mark) + pl.col("item"), annotator=pl.lit(mark) + pl.col("annotator"),
            teacher=one.column("teacher"), lesson=one.column("lesson"),
        )
        for one, mark in ((good, "p-"), (none, "q-"))
    ])  # fmt: skip
    judges = [n for n in rows["annotator"].unique() if n.startswith("q-")]
    found = ask(assay.read(rows, judges=judges, scale="interval:-100-100"))
    assert found.finding == "not_estimable"
    for one in (found.published, found.dependable, found.structural):
        assert np.isnan(one.estimate)
        assert one.reason == "scores of judge have no variance of objects"
    assert np.isfinite(found.observed.estimate)
    assert "not estimable" in found.summary()


def spurious(seed=0):
    """Judges and people see the same lessons alike, and teachers each in their own way."""
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(120):
        own = rng.normal(size=2)
        for k in range(3):
            seen = 1.2 * rng.normal()
            rows += [
                {"item": f"{t}-{k}", "teacher": f"t{t:03d}", "lesson": f"t{t}-{k}", "annotator": f"{f}{r}",
                 "label": own[int(f == "m")] + seen + 0.4 * rng.normal()} for f in "hm" for r in range(2)
            ]  # fmt: skip
    return assay.read(pl.DataFrame(rows), judges=["m0", "m1"], scale="interval:-100-100")


@pytest.mark.slow
def test_agreement_on_the_lesson_alone_is_called_spurious():
    found = ask(spurious())
    assert found.observed.estimate > 0.4
    assert found.structural.high < 0.5
    assert found.finding == "spurious"
    assert ask(spurious(), observed_high=0.95).finding != "spurious"
    assert ask(lessons(60, 4, 4, judges=4, seed=6)).finding == "shared"


@pytest.mark.slow
def test_an_interval_over_16_systems_is_wider_than_that_of_pairs():
    labels = lessons(16, 6, 4, judges=3, seed=9)
    found = ask(labels, n_resamples=80)
    assert found.published.high - found.published.low > 1.3 * (found.resampled[2] - found.resampled[1])
    assert "too narrow" in found.summary()


def test_every_correlation_answers_at_another_level():
    found = ask(lessons(25, 4, 4, judges=3, seed=4), n_resamples=60)
    for one in (found.observed, found.across, found.published, found.dependable, found.structural):
        low, high = one.interval(0.5)
        assert one.low < low < high <= one.high
        assert one.p(0) < 0.05 < one.p(low)


@pytest.mark.slow
def test_objects_may_count_alike():
    labels = lessons(8, 3, 2, judges=2, missing=0.15, seed=3)
    one, other = ask(labels), ask(labels, weights="objects")
    assert one.across.estimate != other.across.estimate


@pytest.mark.slow
def test_families_may_be_swapped_and_named():
    labels = lessons(20, 3, 3, judges=3, seed=5)
    one, other = ask(labels), ask(labels, families=("judge", "human"))
    assert other.families == ("judge", "human")
    for name in ("observed", "across", "published", "structural"):
        assert getattr(one, name).estimate == pytest.approx(getattr(other, name).estimate)
    assert one.reliabilities["generalizability"].to_list() == other.reliabilities["generalizability"].to_list()[::-1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"different": "i"}, "facet 'i'"),
        ({"families": ("human", "robot")}, "family 'robot'"),
        ({"families": ("human",)}, "a correlation needs two families"),
        ({"annotators": ("h0", "h1")}, "a correlation needs two families"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(more, words):
    with pytest.raises(DesignError, match=words):
        ask(lessons(8, 3, 3, judges=2), **more)


def test_one_lesson_an_object_leaves_no_pairs():
    with pytest.raises(DesignError, match="scores of both families at different o"):
        ask(lessons(10, 1, 3, judges=2))


# -- the likelihood of both families ----------------------------------------------------------------------


def both_families(labels) -> tuple[np.ndarray, tuple[Family, Family], np.ndarray]:
    """Labels, both families with their terms as of an incomplete table, and the object of each label."""
    rater, lesson, teacher = (
        np.unique(column.to_numpy(), return_inverse=True)[1]
        for column in (labels.labels["annotator"], labels.column("lesson"), labels.column("teacher"))
    )
    both = np.unique(rater * len(teacher) + teacher, return_inverse=True)[1]
    terms = [(frozenset("r"), rater), (frozenset("i"), teacher), (frozenset("io"), lesson),
             (frozenset("ri"), both), (frozenset("rio"), np.arange(len(rater)))]  # fmt: skip
    theta, strata = np.array([0.2, 0.4, 0.3, 0.1, 0.5]), [index for index, _ in terms]
    judge = labels.labels["annotator"].str.starts_with("m").to_numpy()
    families = tuple(Family(mine, terms, theta, None, strata) for mine in (~judge, judge))
    return labels.labels["label"].to_numpy(), families, teacher


def joint_fit(labels) -> JointFit:
    value, families, teacher = both_families(labels)
    return fit_joint(value, families, frozenset("i"), teacher)


def test_lessons_that_both_families_rate_have_a_covariance():
    """It may be as large as the variances of lessons allow: here it is held negative."""
    blocks = joint_fit(lessons(10, 3, 2, judges=3, apart=0.4, missing=0.2, seed=3)).likelihood
    shared = {tuple(sorted(p.index)) for p in blocks.parameters if len(p.families) == 2}
    assert shared == {("i",), ("i", "o")}


def test_blocks_have_the_deviance_and_slope_of_the_whole_matrix():
    blocks = joint_fit(lessons(7, 3, 2, judges=2, apart=0.4, missing=0.25, seed=6)).likelihood
    parameters, family, x = blocks.parameters, blocks.family, blocks.fixed
    matrices = []
    for p in parameters:
        same = p.level[:, None] == p.level[None, :]
        one = (family[:, None] == p.families[0]) & (family[None, :] == p.families[0])
        matrices.append((same & (one if len(p.families) == 1 else family[:, None] != family[None, :])).astype(float))

    def whole(theta):
        v = np.tensordot(theta, np.array(matrices), 1)
        inverse = np.linalg.inv(v)
        inner = x.T @ inverse @ x
        p = inverse - inverse @ x @ np.linalg.solve(inner, x.T @ inverse)
        deviance = np.linalg.slogdet(v)[1] + np.linalg.slogdet(inner)[1] + blocks.value @ p @ blocks.value
        return deviance, [np.trace(p @ m) - blocks.value @ p @ m @ p @ blocks.value for m in matrices]

    variances = np.array([0.4 if len(p.families) == 1 else 0.1 for p in parameters]) * np.linspace(
        1, 1.5, len(parameters)
    )
    deviance, slope = whole(variances)
    assert blocks.deviance(variances) == pytest.approx(deviance)
    np.testing.assert_allclose(blocks.derivatives(variances)[0], slope, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_the_fit_is_where_the_slope_is_nothing():
    labels = lessons(25, 3, 3, judges=3, apart=0.5, missing=0.15, seed=8)
    fitted = joint_fit(labels)
    slope = fitted.likelihood.derivatives(fitted.theta)[0]
    inside = fitted.theta > 1e-4
    assert np.abs(slope[inside]).max() < 0.1
    low, high = fitted.interval(0.95, 24, -1.0, 3.0)
    for end in (low, high):
        assert fitted.root(end)[0] == pytest.approx(stdtrit(24, 0.975), abs=0.03)
    assert fitted.p(low, 24) == pytest.approx(0.05, abs=0.005)
    near = fitted.correlation + 0.01
    assert fitted.interval(0.95, 24, low - 0.1, near) == (pytest.approx(low, abs=0.01), near)
    assert fitted.interval(0.95, 24, fitted.correlation, high + 0.01)[0] == fitted.correlation


def test_correlation_may_exceed_1_with_error():
    """A start that no covariance matrix has is left for objects with less spread, until it is one."""
    labels = lessons(25, 3, 3, judges=3, apart=0.5, missing=0.15, seed=8)
    fitted = joint_fit(labels)
    roots = [fitted.root(held)[0] for held in (1.2, 1.6, 2.5)]
    assert np.isfinite(roots).all()
    assert roots == sorted(roots)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_a_variance_at_0_does_not_stop_the_others(seed, missing):
    """Where raters and teachers share nothing, every other parameter still goes to where its slope is nothing."""
    labels = lessons(12, 3, 3, judges=2, variances=(0.3, 0.0, 0.0, 0.0, 0.5), apart=0.3, missing=missing, seed=seed)
    fitted = joint_fit(labels) if missing else ask(labels).structural.fit
    first, second, between = fitted.objects
    assert isinstance(fitted.likelihood, JointBlocks if missing else Strata)
    for held in (None, 0.2, 0.7):
        theta = fitted.theta if held is None else fitted.root(held)[1]
        slope = fitted.likelihood.derivatives(theta)[0]
        if held is not None:  # the covariance of objects follows from their variances
            for one, other in ((first, second), (second, first)):
                slope[one] += slope[between] * held * np.sqrt(theta[other] / theta[one]) / 2
            slope[between] = 0.0
        gain = slope * np.where(np.arange(len(theta)) < fitted.n_variances, theta, 1.0)
        assert np.abs(gain).max() < 0.1, held


def simulated(objects, correlation, seed, **options):
    variances = options.pop("variances", (0.6, 0.3, 0.2, 0.1, 0.4))
    return lessons(objects, 3, 3, judges=3, variances=variances, apart=1 - correlation**2, seed=seed, **options)


def structural(labels):
    return ask(labels).structural


@pytest.fixture
def without_resamples(monkeypatch):
    """The other correlations are not resampled, which is two thirds of the time, where a test reads the structural."""
    monkeypatch.setattr(_Pairs, "replicates", lambda study: np.full((study.settings.n_resamples, 4), np.nan))


def test_structural_correlation_does_not_depend_on_resamples(request):
    """What the simulations below rest on."""
    labels = simulated(10, 0.7, 1)
    whole = structural(labels)
    request.getfixturevalue("without_resamples")
    found = ask(labels)
    alone = found.structural
    assert (alone.estimate, alone.low, alone.high) == (whole.estimate, whole.low, whole.high)
    assert np.isnan(found.published.estimate)


@pytest.mark.slow
@pytest.mark.usefixtures("without_resamples")
def test_true_correlation_of_1_is_recovered():
    """Six systems: by the mean over all of them, covariances were 5 / 6 of what they are."""
    found = [structural(simulated(6, 1.0, seed, variances=(1.5, 0.3, 0.2, 0.1, 0.4))) for seed in range(30)]
    values = np.array([one.estimate for one in found])
    assert np.nanmedian(values) == pytest.approx(1, abs=0.06)
    held = [one.low <= 1 <= one.high for one in found if np.isfinite(one.estimate)]
    assert np.mean(held) >= 0.9


def cases_with_own_raters(persons: int, cases: int, shared: float, seed: int) -> assay.Annotations:
    """Two raters of each case and a judge of all, a true correlation of ½; in a case, persons vary alike for both."""
    rng = np.random.default_rng(seed)
    person = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], persons)
    particular = rng.multivariate_normal([0, 0], [[0.5, shared / 2], [shared / 2, 0.5]], (persons, cases))
    score, noise = person[:, None, :] + particular, rng.normal(0, 0.6, (3, persons, cases))
    rows = [
        (f"s{p}/c{c}", f"s{p}", f"c{c}", "judge" if k == 2 else f"r{c}{k}", score[p, c, k // 2] + noise[k, p, c])
        for k in range(3) for p in range(persons) for c in range(cases)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "person", "case", "annotator", "label"], orient="row")
    return assay.read(frame, judges=["judge"], scale="interval:-9-9")


@pytest.mark.usefixtures("without_resamples")
def test_what_is_particular_to_a_case_is_no_correlation_of_persons():
    """A judge's variance of persons in a case is part of its residual; what it shares with the people's is not lost."""
    found = [
        disattenuated_correlation(
            cases_with_own_raters(90, 4, shared, seed=3), "p x (r:c)", "p", different="c", n_resamples=20,
            facets={"p": "person", "r": "annotator", "c": "case"},
        ).structural
        for shared in (0.95, 0.0)
    ]  # fmt: skip
    assert [one.estimate for one in found] == pytest.approx([0.5, 0.5], abs=0.08), "the first was .65"
    assert all(one.low < 0.5 < one.high for one in found)


@pytest.mark.simulation
@pytest.mark.usefixtures("without_resamples")
@pytest.mark.parametrize(("objects", "correlation"), [(6, 0.0), (6, 1.0), (10, 0.7), (16, 0.0), (40, 1.0)])
def test_structural_intervals_cover(objects, correlation):
    """95% in 100 tables: .93 to .97 asked, and what chance adds once in a thousand; from few objects up to .99."""
    found = [structural(simulated(objects, correlation, 1000 + seed)) for seed in range(100)]
    held = [one.low <= correlation <= one.high for one in found if np.isfinite(one.estimate)]
    assert len(held) >= 75
    assert stats.binom.ppf(0.001, len(held), 0.93) <= sum(held)
    assert sum(held) <= stats.binom.ppf(0.999, len(held), 0.99 if objects < 16 else 0.97)


@pytest.mark.slow
@pytest.mark.usefixtures("without_resamples")
def test_families_without_anything_in_common_are_not_said_to_share():
    """The planted nothing: universe scores of both families independent; 40 tables, 2.5% of one side and chance."""
    found = [structural(simulated(20, 0.0, 300 + seed)) for seed in range(40)]
    assert sum(one.low > 0 for one in found if np.isfinite(one.estimate)) <= 4
    twin = [structural(simulated(20, 0.9, 300 + seed)) for seed in range(12)]
    assert sum(one.low > 0 for one in twin) >= 10


def several():
    """Two criteria and three families: gpt shares what people see of 'clear' alone."""
    rng = np.random.default_rng(2)
    rows = []
    for t in range(40):
        for c in ("clear", "deep"):
            skill, other = rng.normal(size=2)
            for k in range(3):
                day = rng.normal(size=3) * 0.5
                for family, (name, raters) in enumerate({"human": 2, "gpt": 2, "llama": 2}.items()):
                    score = skill if name != "gpt" or c == "clear" else other
                    rows += [
                        {"item": f"{t}-{k}", "teacher": t, "lesson": f"{t}-{k}", "criterion": c, "family": name,
                         "annotator": f"{name}{r}", "label": score + day[family] + 0.6 * rng.normal()}
                        for r in range(raters)
                    ]  # fmt: skip
    judges = [f"{name}{r}" for name in ("gpt", "llama") for r in range(2)]
    return assay.read(pl.DataFrame(rows), judges=judges, scale="interval:-100-100")


@pytest.mark.slow
def test_all_criteria_and_pairs_of_families_in_one_call():
    labels = several()
    found = ask(labels, by="family")
    assert len(found.each) == 6
    assert found.table.columns[:3] == ["criterion", "families", "correlation"]
    assert found.table.height == 30
    assert found["clear", "gpt", "human"].finding == "shared"
    assert found["deep", "human", "llama"].structural.estimate == pytest.approx(1, abs=0.15)
    low = found["deep", "gpt", "human"]
    assert low.finding != "shared"
    assert low.structural.high < 0.6
    with pytest.raises(DesignError, match="there are 6 correlations"):
        _ = found.structural
    with pytest.raises(DesignError, match="correlation 'clear'"):
        _ = found["clear"]
    assert "Of 6 correlations: " in found.summary()
    alone = ask(labels.where(criterion="deep"), by="family", families=("human", "llama"))
    assert alone.structural.estimate == pytest.approx(found["deep", "human", "llama"].structural.estimate)
    ax = found.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["clear", "deep"]
    assert len(ax.get_legend().get_texts()) == 6
    assert found.reliabilities.height == 6


def test_a_correlation_of_nothing_is_not_known():
    """A variance of objects counts as nothing up to a millionth of the variance of labels."""

    def correlation(first: float, second: float, scale: float) -> float:
        theta = np.array([first, second, 0.3 * np.sqrt(first * second)])
        return JointFit(None, theta, 0.0, (0, 1, 2), 3, np.full(3, scale)).correlation

    assert correlation(4.0, 9.0, 20.0) == pytest.approx(0.3)
    assert correlation(2e-5, 2e-5, 10.0) == pytest.approx(0.3)
    assert np.isnan([correlation(9e-6, 1.0, 10.0), correlation(1.0, 9e-6, 10.0)]).all()


# -- pairs of labels by hand ----------------------------------------------------------------------------


def test_sums_over_pairs_of_labels_are_those_of_a_loop():
    value = np.array([1.0, 2, 4, 3, 5, 6, 2])
    family, group = np.array([0, 0, 1, 1, 0, 0, 1]), np.array([0, 0, 0, 0, 1, 2, 2])
    found = pair_sums(value, family, group, 4)
    slow = np.zeros((4, 6))
    for a in range(7):
        for b in range(7):
            if family[a] == 0 and family[b] == 1 and group[a] == group[b]:
                x, y = value[a], value[b]
                slow[group[a]] += [1, x, y, x * x, y * y, x * y]
    np.testing.assert_allclose(found, slow)
    pairs = [(1, 4), (1, 3), (2, 4), (2, 3), (6, 2)]
    assert pair_correlation(found) == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1])
    assert pair_correlation(found.sum(axis=0)) == pytest.approx(pair_correlation(found))
    assert np.isnan(pair_correlation(found[3]))  # no pair
    assert np.isnan(pair_correlation(found[2]))  # one pair does not vary


@pytest.mark.slow
def test_the_published_interval_is_that_of_independent_pairs_at_different_lessons():
    """Correlations of 2,000 pairs have the standard error (1 − r²) / √2,000; equation 3 divides them by √(Eρ² Eρ²).

    Half of the teachers have two lessons, in which families agree, and half have four, in which they do not: an object
    counts as often as it has pairs. Families agree on lessons.
    """
    rng, rows = np.random.default_rng(3), []
    for t in range(24):
        skill, other = rng.normal(size=2)
        for k in range(2 if t % 2 else 4):
            seen = 1.5 * rng.normal()
            rows += [
                {"item": f"{t}-{k}", "teacher": t, "lesson": f"{t}-{k}", "annotator": f"{f}{r}",
                 "label": (other if f == "m" and not t % 2 else 2 * skill) + seen + 0.3 * rng.normal()}
                for f in "hm" for r in range(2)
            ]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), judges=["m0", "m1"], scale="interval:-100-100")
    found = ask(labels, n_resamples=20, n_pairs=2_000, confidence=0.9)
    r, bottom = found.across.estimate, np.sqrt(found.reliabilities["generalizability"].product())
    mean, low, high = found.resampled
    error = (1 - r**2) / np.sqrt(2_000) / bottom
    assert mean == pytest.approx(found.published.estimate, abs=4 * error / np.sqrt(20))
    assert (high - low) / 2 == pytest.approx(1.645 * error, rel=0.5)


def estimate_of(value, low, high) -> Estimate:
    """Ends at another level are .1 farther out."""
    return EstimateByRule(
        value, low, high, 0.1, ends=lambda level: (low - 0.1, high + 0.1) if level > 0.951 else (low, high), test=None
    )


@pytest.mark.parametrize(
    ("observed", "implied", "several", "finding"),
    [
        (0.8, (0.3, 0.1, 0.39), 1, "spurious"),
        (0.8, (0.3, 0.1, 0.4), 1, "shared"),
        (0.79, (0.3, 0.1, 0.39), 1, "shared"),
        (0.8, (0.3, 0.1, 0.31), 2, "undecided"),  # an interval of .975 ends at 0 and .41
        (0.8, (0.3, 0.1, 0.29), 2, "spurious"),
        (0.5, (0.3, 0.0, 0.9), 1, "undecided"),
        (0.5, (0.3, 0.001, 0.9), 1, "shared"),
        (0.9, (np.nan, np.nan, np.nan), 1, "not_estimable"),
    ],
)
def test_findings_at_their_limits(observed, implied, several, finding):
    settings = DisattenuationSettings("r x i", "i", confidence=0.95, observed_high=0.8, implied_low=0.4)
    assert finding_of(Estimate(observed, 0, 1, 0.1, None), estimate_of(*implied), settings, several) == finding


def test_disattenuated_correlation_excludes_criterion_without_labels_of_a_family():
    rng = np.random.default_rng(4)
    rows = [
        {"item": f"{t}-{k}", "teacher": t, "lesson": f"{t}-{k}", "criterion": c, "annotator": who,
         "label": t % 5 + rng.normal()}
        for t in range(12) for k in range(2) for c in ("clear", "deep") for who in ("ann", "bob", "gpt", "llama")
        if c == "clear" or who == "ann"
    ]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), judges=["gpt", "llama"], scale="interval:-100-100")
    found = ask(labels, n_resamples=20)
    assert [c.criterion for c in found.each] == ["clear"]
    (lost,) = found.exclusions
    assert (lost.names, lost.reason) == (("deep, human, judge",), "no label has 'kind' = judge")
    (alone,) = ask(labels, annotators=["ann", "bob", "gpt"], n_resamples=20).run.cautions
    assert alone.startswith("judge: r has one level")  # one criterion needs no name
    # Labels of the annotators who count decide, too: of 'deep' ann's alone are left.
    (lost,) = ask(labels, annotators=["bob", "gpt"], n_resamples=20).exclusions
    assert lost.reason == "no label has 'kind' = human, judge"


@pytest.mark.slow
def test_several_correlations_name_the_criterion_of_each_caution():
    labels, who = several(), ["human0", "human1", "gpt0"]
    found = ask(labels, by="family", annotators=who)
    single = "gpt: r has one level and is removed from the design: results apply to that level only."
    assert found.run.cautions == (f"clear, {single}", f"deep, {single}")
    assert "20 resamples of 40 objects (i)" in found.run.interval
    # 2 people and 1 judge at 3 · 2 pairs of different lessons: 12 of each of 40 teachers, on two criteria.
    assert found.run.facts == {
        "correlations": 2, "objects": 40, "pairs": 960, "facets": "r=annotator,o=lesson,i=teacher"
    }  # fmt: skip
    fewer = labels.labels.with_columns(teacher=labels.column("teacher"), lesson=labels.column("lesson")).filter(
        (pl.col("criterion") == "clear") | (pl.col("teacher") != 7)
    )
    uneven = ask(assay.read(fewer, judges=labels.judges, scale="interval:-100-100"), annotators=who)
    assert [c.n_objects for c in uneven.each] == [40, 39]
    assert "20 resamples of the objects (i)" in uneven.run.interval
    assert (uneven.run.facts["objects"], uneven.run.facts["pairs"]) == (None, 480 + 468)
    alone = ask(labels.where(criterion="deep"), by="family", annotators=who)
    assert alone.run.cautions == (single,)
    assert alone.run.facts["correlations"] is None


def family_correlation(criterion, families=("human", "gpt"), finding="shared", **changed) -> FamilyCorrelation:
    values = {"observed": 0.8, "across": 0.5, "published": 0.6, "dependable": 0.7, "structural": 0.9, **changed}
    each = {
        name: v if isinstance(v, Estimate) else Estimate(v, v - 0.1, v + 0.1, 0.05, None) for name, v in values.items()
    }
    return FamilyCorrelation(
        criterion=criterion, families=families, resampled=(0.1, 0.0, 0.2), reliabilities=pl.DataFrame(),
        finding=finding, n_objects=10, n_pairs=30, cautions=(), **each,
    )  # fmt: skip


def test_a_correlation_is_found_by_criterion_and_families():
    each = (
        family_correlation("c1"), family_correlation("c2"), family_correlation("c1", ("human", "llama")),
    )  # fmt: skip
    found = Disattenuation(each, None)
    assert found["c2"] is each[1]
    assert found["c1", "gpt"] is found["gpt", "human", "c1"] is each[0]
    assert found["llama"] is each[2]
    for name in ("c1", "human", ("c2", "llama"), "c3"):
        with pytest.raises(DesignError, match="correlation '"):
            found[name]
    with pytest.raises(DesignError, match=r"there are 3 correlations; take one, such as found\[\.\.\.\]\.structural"):
        found.structural  # noqa: B018
    assert found.table.columns[:3] == ["criterion", "families", "correlation"]
    assert found.table.height == 15
    with pytest.raises(DesignError, match="there are 2 correlations"):
        Disattenuation(each[:2], None).finding  # noqa: B018
    one = Disattenuation(each[:1], None)
    assert one.structural is each[0].structural
    assert (one.n_objects, one.n_pairs, one.finding, one.resampled) == (10, 30, "shared", (0.1, 0.0, 0.2))
    assert one.table.columns[0] == "correlation"
    assert one.table["estimate"].to_list() == [0.8, 0.5, 0.6, 0.7, 0.9]
    assert Disattenuation(each[:2], None).table.columns[:2] == ["criterion", "correlation"]
    assert Disattenuation(each[::2], None).table.columns[:2] == ["families", "correlation"]


@pytest.mark.parametrize(("value", "beyond"), [(1.0, False), (1.001, True)])
def test_what_is_implied_is_said_with_what_it_rests_on(value, beyond):
    said = family_correlation("c1", structural=value).sentences("c1, ")
    assert said[0] == "c1, human and gpt: universe-score correlation significantly above 0."
    assert said[1].startswith("Observed correlation: 0.80 ")
    assert " on the same lesson, 0.50 " in said[1]
    assert said[2].startswith(f"Universe-score correlation (structural): {value:.2f} ")
    assert said[2].endswith(". Published equation 3: 0.60; with Φ: 0.70.")
    assert (said[3:] == ("An estimate above 1 is compatible with a correlation of about 1.",)) == beyond
    missing = Estimate(np.nan, np.nan, np.nan, np.nan, "why")
    unknown = family_correlation("c1", finding="not_estimable", structural=missing)
    assert unknown.sentences()[0] == "human and gpt: universe-score correlation not estimable: why."
    assert len(unknown.sentences()) == 2


# -- several correlations, in words and drawn -------------------------------------------------------------


def several_correlations(*each) -> Disattenuation:
    settings = DisattenuationSettings("r x (o:i)", "i", facets=FACETS)
    return Disattenuation(tuple(each), Run("disattenuated-correlation", settings, "data", interval="how"))


def test_several_findings_are_counted_first():
    found = several_correlations(
        family_correlation("c1"), family_correlation(None, finding="spurious"),
        family_correlation("c2", finding="undecided"), family_correlation("c3", finding="spurious"),
    )  # fmt: skip
    first, *lines = found.sentences()
    assert first == ("Of 4 correlations: 2 spurious, 1 shared, 1 undecided (Bonferroni-adjusted).")
    assert lines[0] == "c1, human and gpt: universe-score correlation significantly above 0."
    assert lines[3] == (
        "human and gpt: agreement on the same lesson does not extend to the object: the universe-score "
        "correlation is low "
        "(spurious)."
    )
    assert lines[6] == ("c2, human and gpt: universe-score correlation undecided.")
    assert len(lines) == 12
    assert found.summary().split("\n") == [first, *lines, "how.", found.signature]
    missing = family_correlation("c1", finding="not_estimable").sentences()
    assert missing[0] == "human and gpt: universe-score correlation not estimable."


def test_a_single_correlation_has_the_published_interval():
    one = several_correlations(family_correlation("c1"))
    lines = one.summary().split("\n")
    assert lines[0] == "human and gpt: universe-score correlation significantly above 0."
    assert lines[3].startswith("Published interval (resampled pairs): ")
    assert "0.00" in lines[3]
    assert "0.20" in lines[3]
    assert lines[3].endswith("; too narrow, because pairs of one object are not independent.")
    assert lines[4:] == ["how.", one.signature]
    without = several_correlations(dataclasses.replace(one.each[0], resampled=(np.nan, np.nan, np.nan)))
    assert without.summary().split("\n")[3:] == ["how.", one.signature]


def test_reliabilities_are_listed_once():
    def reliable(criterion, families, *values):
        frame = pl.DataFrame({"family": families, "generalizability": values})
        return dataclasses.replace(family_correlation(criterion, families), reliabilities=frame)

    each = (
        reliable("c1", ("human", "gpt"), 0.5, 0.6), reliable("c1", ("human", "llama"), 0.5, 0.7),
        reliable("c2", ("human", "gpt"), 0.1, 0.2),
    )  # fmt: skip
    assert several_correlations(*each).reliabilities.rows() == [
        ("c1", "human", 0.5), ("c1", "gpt", 0.6), ("c1", "llama", 0.7), ("c2", "human", 0.1), ("c2", "gpt", 0.2),
    ]  # fmt: skip
    assert several_correlations(each[2]).reliabilities is each[2].reliabilities
    assert len(several_correlations(*each).row_estimates()) == 15


def test_observed_is_faint_above_implied_of_each_criterion():
    each = [family_correlation("c1"), family_correlation("c2", observed=0.4, structural=0.2),
            family_correlation("c2", ("human", "llama"), observed=-0.3)]  # fmt: skip
    ax = several_correlations(*each).plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["c1", "c2"]
    assert ax.get_yticks().tolist() == [1, 0]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "human and gpt, observed", "human and gpt, universe score", "human and llama, observed", (
            "human and llama, universe "
            "score"
        )
    ]  # fmt: skip
    # Of two pairs of families the first is a quarter of half a row above the middle; observed .12 higher.
    points = [(line.get_xdata()[0], line.get_ydata()[0], line.get_color()) for line in ax.lines
              if len(line.get_xdata()) == 1]  # fmt: skip
    first, second = pictures.PALETTE[:2]
    wanted = [
        (0.8, 1.245, f"{first}66"), (0.4, 0.245, f"{first}66"), (0.9, 1.125, first), (0.2, 0.125, first),
        (-0.3, -0.005, f"{second}66"), (0.9, -0.125, second),
    ]  # fmt: skip
    assert [colour for *_, colour in points] == [colour for *_, colour in wanted]
    np.testing.assert_allclose([p[:2] for p in points], [p[:2] for p in wanted], atol=1e-9)
    assert ax.get_xlabel() == "correlation: observed on the same lesson (faint), universe score"
    across = [line.get_xdata()[0] for line in ax.lines if list(line.get_ydata()) == [0, 1]]
    assert across == [0, 1]  # no correlation, and the whole


def test_a_single_correlation_is_drawn_with_all_five():
    ax = several_correlations(family_correlation("c1")).plot()
    assert ax.get_xlabel() == "correlation of human and gpt"
    assert len(ax.get_yticks()) == 5


# -- where a correction is given -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_correction_needs_variance_of_objects_in_95_percent_of_resamples():
    """Few objects with little variance: in a share of resamples a family has none, and its correction is missing."""
    shares, kept = [], 0
    for seed in range(6):
        labels = lessons(12, 2, 2, judges=2, variances=(0.8, 0.2, 0.05, 0.02, 0.3), seed=seed)
        found = ask(labels, n_resamples=40)
        for one in (found.published, found.dependable):
            assert np.isnan(one.estimate) == (one.reason is not None)
            if one.reason is None:
                kept += 1
                assert one.low < one.estimate < one.high
            elif "of the resamples" in one.reason:
                words = r"in (\d+)% of the resamples a family's scores have no variance of objects"
                shares.append(int(re.fullmatch(words, one.reason)[1]))
    assert kept >= 4
    assert shares
    assert min(shares) > 5
    assert min(shares) < 15


@pytest.mark.slow
def test_coefficient_that_a_family_cannot_have_leaves_the_others():
    """One judge has a consistency and no dependability."""
    found = ask(lessons(40, 3, 3, judges=1, seed=5))
    assert found.dependable.reason.startswith("judge: ")
    assert np.isfinite([found.published.estimate, found.structural.estimate]).all()


# -- families and the facet in which scores differ -----------------------------------------------------------


@pytest.mark.slow
def test_each_two_families_in_the_order_of_the_column_or_as_named():
    labels = several().where(criterion="clear")
    there = [str(v) for v in labels.values_of("family")]
    found = ask(labels, by="family")
    assert [c.families for c in found.each] == [tuple(there[:2]), (there[0], there[2]), tuple(there[1:])]
    assert ask(labels, by="family", families=("llama", "gpt")).families == ("llama", "gpt")
    for twice in (("gpt", "gpt"), ("gpt",)):
        with pytest.raises(
            DesignError, match=r"a correlation needs two families; 'family' has .*\. Name two with families="
        ):
            ask(labels, by="family", families=twice)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "different"),
    [
        ("r x (o:i)", "o"),
        ("r x (s:o:i)", "o"),  # segments are nested in lessons, and only through them in the object
    ],
)
def test_scores_differ_in_the_facet_that_is_nested_in_the_object(design, different):
    labels, facets = lessons(8, 2, 2, judges=2, seed=3), FACETS
    if "s" in design:
        rows = labels.labels.with_columns(teacher=labels.column("teacher"), lesson=labels.column("lesson"))
        halves = [rows.with_columns(s=pl.lit(k), item=pl.col("item") + f"-{k}", label=pl.col("label") + k * 0.1)
                  for k in range(2)]  # fmt: skip
        labels = assay.read(pl.concat(halves), judges=["m0", "m1"], scale="interval:-100-100")
        facets = {**FACETS, "s": "s"}
    found, named = (
        disattenuated_correlation(labels, design, "i", facets=facets, n_resamples=20, **more)
        for more in ({}, {"different": different})
    )
    assert found.table.equals(named.table)


@pytest.mark.parametrize(
    ("design", "different", "words"),
    [
        ("r x o x i", None, "name the facet in which two scores must differ: different=..., one of r, o"),
        ("(o x t):i", None, "name the facet in which two scores must differ: different=..., one of o, t"),
        ("r x (o:i)", "i", "facet 'i' is not in the design"),
    ],
)
def test_the_facet_in_which_two_scores_differ_is_named(design, different, words):
    facets = {name: column for name, column in {**FACETS, "t": "item"}.items() if name in design}
    with pytest.raises(DesignError, match=words.replace(".", r"\.")):
        disattenuated_correlation(
            lessons(8, 3, 2, judges=2), design, "i", facets=facets, different=different, n_resamples=20
        )
