"""Estimability: results that are not estimable have a reason; similar tables that are estimable have a number."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tables import FACETS, lessons, table

import assay
from assay.psychometrics.g_study import g_study
from assay.psychometrics.raters.table import RaterSettings, rater_table, raters_upside_down
from assay.statistics.components.blocks import untold

R_I = {"r": "annotator", "i": "teacher"}


def tidy(found):
    return [np.isfinite(v) for v in (found.generalizability, found.dependability)]


@pytest.mark.parametrize("seed", range(5))
def test_one_judge_with_one_label_a_cell_has_no_coefficient(seed):
    """The commonest table of all: r x i with one r. Nothing tells the items from error, so that nothing is 0.000."""
    one = lessons(30, 1, 1, seed=seed)
    found = g_study(one, "r x i", "i", facets=R_I)
    assert tidy(found) == [False, False]
    assert "too few levels of i have two labels to separate its variance from error" in found.summary()
    assert "0.000" not in found.summary()
    decision = found.d_study(r=[1, 2, 3])
    assert decision.projected["estimate"].is_nan().all()
    assert "no number of" not in decision.summary()
    assert tidy(g_study(lessons(30, 1, 3, seed=seed), "r x i", "i", facets=R_I)) == [True, True]


def test_one_judge_in_nested_lessons_has_its_consistency_and_no_dependability():
    """Severity has one level. Eρ² is that of the judge's own scores; Φ, which counts severity, has a reason."""
    labels = lessons(25, 3, 3, judges=1)
    found = g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="delta")
    judge, people = found["judge"], found["human"]
    assert np.isfinite(people.dependability.estimate)
    assert judge.lone == ("r (m0)",)
    assert judge.dependability.reason.startswith("r has one level, so that its variance is unknown")
    assert np.isnan(judge.absolute_sem)
    assert judge.generalizability.estimate > 0
    assert "Eρ² describes the consistency of r (m0) alone; Φ is not estimable" in found.summary()
    # Three further judges do not count as one.
    rows = found.d_study(r=[1, 3], o=[2]).projected.filter(pl.col("study") == "judge")
    kept = rows.filter(pl.col("estimate").is_finite()).select("r", "coefficient").rows()
    assert kept == [(1, "generalizability")]
    loop = found.human_in_the_loop(sizes=[2])
    assert "The effect of a judge is not estimable: judge: r has one level" in loop.summary()
    # Where it is all there is, it is fixed, and nothing is missing.
    fixed = g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", fixed="r", method="delta")["judge"]
    assert fixed.dependability.estimate == pytest.approx(judge.generalizability.estimate)
    assert not any("one level" in c for c in fixed.cautions)


def prompted(severity: float, seed: int = 0):
    """One judge under four prompts, of these severities at most, with three people who have one form."""
    rng = np.random.default_rng(seed)
    level = severity * np.array([-1.0, -0.4, 0.4, 1.0])
    rows = []
    for t in range(30):
        skill = rng.normal() * 0.6
        rows += [{"t": t, "annotator": f"h{h}", "prompt": "form", "label": skill + rng.normal()} for h in range(3)]
        rows += [{"t": t, "annotator": "m", "prompt": f"p{p}", "label": skill + level[p] + rng.normal()}
                 for p in range(4)]  # fmt: skip
    named = pl.DataFrame([{"item": f"t{row['t']}", **row} for row in rows])
    return assay.read(named, judges=["m"], conditions=["prompt"], scale="interval:-100-100")


def test_severity_of_a_single_judge_comes_from_its_prompts():
    facets = {"r": "annotator", "i": "item"}
    found = g_study(prompted(1.2), "r x i", "i", facets=facets, by="kind", method="none")
    judge = found["judge"]
    variances = {c.name: c.variance.estimate for c in judge.components}
    assert list(variances) == ["r", "i", "ri,e"]
    assert variances["r"] > 0.5
    assert judge.generalizability.estimate > 1.3 * judge.dependability.estimate
    assert any("the 4 values of its 'prompt' are the levels of r" in c for c in judge.cautions)
    assert not found["human"].cautions
    # Prompts alike: no severity is made up, and Φ is Eρ².
    alike = g_study(prompted(0.0), "r x i", "i", facets=facets, by="kind", method="none")["judge"]
    assert alike.dependability.estimate == pytest.approx(alike.generalizability.estimate, abs=0.05)


@pytest.mark.parametrize(("objects", "known"), [(2, False), (3, False), (4, True)])
def test_two_objects_have_one_difference(objects, known):
    found = g_study(lessons(objects, 5, 4), "r x (o:i)", "i", facets=FACETS, method="none")
    assert tidy(found) == [known, known]
    if not known:
        assert f"{objects} levels of i have {objects - 1} difference" in found.summary()
        assert tidy(g_study(lessons(objects, 5, 4), "r x (o:i)", "i", facets=FACETS, method="none",
                            least_contrasts=objects - 1)) == [True, True]  # fmt: skip


def test_the_rule_itself():
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8)
    value = rng.normal(size=24)
    assert untold(value, item, annotator) is None
    assert untold(np.ones(24), item, annotator) == "the labels do not vary"
    few = item < 3
    assert untold(value[few], item[few]) == "3 levels of item have 2 differences, and 3 are needed at least"
    assert untold(value[few], item[few], least=2) is None
    alone = annotator == 0
    assert "too few levels of item have two labels" in untold(value[alone], item[alone])
    # Three labels of each item by an annotator who saw no other.
    own = "each level of annotator has a separate level of item, so their variances are confounded"
    assert untold(value, item, item) == own


def test_labels_that_do_not_vary_are_no_study_and_do_not_stop_the_others():
    labels = lessons(15, 3, 3, judges=2)
    rows = labels.labels.with_columns(
        teacher=labels.column("teacher"), lesson=labels.column("lesson"),
        label=pl.when(pl.col("annotator").str.starts_with("m")).then(3.0).otherwise(pl.col("label")),
    )  # fmt: skip
    constant = assay.read(rows, judges=["m0", "m1"], scale="interval:-100-100")
    found = g_study(constant, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    assert [s.group for s in found.studies] == ["human"]
    assert "all labels are equal" in str(found.run.exclusions[0])


def test_a_facet_nested_in_a_crossing_is_in_the_error():
    """k:(p x r), as lme4 fits it: (1 | p) + (1 | r) + (1 | p:r), and the rest."""
    rng = np.random.default_rng(5)
    rows = []
    person, rater = rng.normal(size=12), 0.5 * rng.normal(size=6)
    both = rng.normal(size=(12, 6))
    for p in range(12):
        for r in range(6):
            rows += [
                {"p": p, "annotator": f"r{r}", "k": k, "label": person[p] + rater[r] + both[p, r] + 0.5 * rng.normal()}
                for k in range(4)
            ]
    found = g_study(table(rows), "k:(p x r)", "p", facets={"r": "annotator"}, method="none")
    variances = dict(found.components.select("effect", "estimate").iter_rows())
    assert list(variances) == ["p", "r", "pr", "k:pr,e"]
    error = variances["pr"] + variances["k:pr,e"]
    assert found.generalizability == pytest.approx(variances["p"] / (variances["p"] + error))
    assert variances["k:pr,e"] == pytest.approx(0.25, rel=0.2)


# -- raters -----------------------------------------------------------------------------------------------


def groups(rare: int, seed: int = 0, bias: float = 0.0):
    """Five raters, 40 subjects of four items each, some of them of a rare group with which one rater may be severer."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(40):
        base, taste = rng.normal(3, 0.8), 0.3 * rng.normal(size=5)
        taste[0] -= bias * (s < rare)
        for k in range(4):
            label = np.clip(np.rint(base + 0.5 * rng.normal() + taste + 0.4 * rng.normal(size=5)), 1, 5).astype(int)
            rows += [
                {"item": f"{s}-{k}", "subject": f"s{s:02d}", "accent": "rare" if s < rare else "common",
                 "annotator": f"a{r}", "label": int(label[r])} for r in range(5)
            ]  # fmt: skip
    return assay.read(pl.DataFrame(rows), scale="1-5")


QUICK = {"quick": True, "starts": 1, "draws": 100, "nodes": 7, "object": "subject"}


@pytest.mark.slow
def test_a_group_of_one_subject_is_not_compared():
    """What raters think of one subject is not of its group: −1.29, p < .001, came of it."""
    with pytest.raises(assay.errors.DesignError, match="common has 39, rare has 1; each needs at least 10 subjects"):
        assay.rater_model(groups(1, bias=1.5), group="accent", **QUICK)
    labels = groups(15, bias=1.5)
    found = assay.rater_model(labels, group="accent", **QUICK).fairness
    assert found.rows.filter(pl.col("annotator") == "a0")["verdict"][0] == "more_severe"


def test_severity_is_the_same_with_and_without_groups():
    """A bias of 1.5 categories with 10 of 40 subjects moves φ by a quarter of it, not by half of it."""
    labels = groups(10, bias=1.5)
    plain = assay.rater_model(labels, **QUICK).rows
    grouped = assay.rater_model(labels, group="accent", **QUICK).rows
    np.testing.assert_allclose(grouped["estimate"], plain["estimate"], atol=0.05)
    assert plain["estimate"][0] < -0.2


@pytest.mark.slow
def test_small_group_has_a_reason():
    rows = groups(15).labels.join(groups(15).items, on="item")
    third = rows.with_columns(
        accent=pl.when(pl.col("subject").is_in(["s00", "s01"])).then(pl.lit("third")).otherwise(pl.col("accent"))
    )
    found = assay.rater_model(assay.read(third, scale="1-5"), group="accent", **QUICK).fairness
    small = found.rows.filter(pl.col("group") == "third")
    assert small["reason"].to_list() == ["third has 2 subjects; at least 10 are needed"] * 5
    assert small["verdict"].null_count() == 5
    assert small["estimate"].is_nan().all()
    assert found.rows.filter(pl.col("group") == "rare")["verdict"].null_count() == 0


def test_a_baseline_without_a_group_is_refused():
    with pytest.raises(assay.errors.DesignError, match="name the column of groups with group="):
        assay.rater_model(groups(15), baseline="common", **QUICK)


def test_three_items_tell_nothing_of_raters():
    labels = groups(15)
    few = labels.where(item=["0-0", "1-0", "2-0"])
    with pytest.raises(assay.errors.DesignError, match="3 levels of item have 2 differences"):
        assay.many_facet_rasch(few)


def one_rater(kind, seed):
    """Three raters alike on 40 items, and one who turns the scale round, or answers by chance."""
    rng = np.random.default_rng(seed)
    ideal = rng.integers(1, 6, 40)
    labels = {f"a{r}": np.clip(ideal + np.rint(0.7 * rng.normal(size=40)), 1, 5).astype(int) for r in range(3)}
    labels["odd"] = 6 - labels["a0"] if kind == "turned" else rng.integers(1, 6, 40)
    rows = [
        {"item": f"{i:02d}", "annotator": name, "label": int(v)}
        for name, one in labels.items()
        for i, v in enumerate(one)
    ]
    return assay.read(pl.DataFrame(rows), scale="1-5")


def upside_down(kind, seed):
    return raters_upside_down(rater_table(one_rater(kind, seed), RaterSettings()), 0.05)


@pytest.mark.slow
def test_a_rater_upside_down_is_named_and_one_by_chance_is_not():
    """Before, the scale turned round was only erratic. Who answers by chance is named in 5% of tables at most."""
    turned = assay.rater_model(one_rater("turned", 0), quick=True, starts=1, draws=100)
    assert any("negatively correlated with the others': odd (r = −0." in c for c in turned.cautions)
    assert all(upside_down("turned", seed) and upside_down("turned", seed)[0][0] == "odd" for seed in range(20))
    assert sum(bool(upside_down("chance", seed)) for seed in range(60)) <= 6


@pytest.mark.simulation
@pytest.mark.usefixtures("few_checks")
@pytest.mark.parametrize(("studies", "most"), [(20, 3)])
def test_what_raters_think_of_subjects_is_not_of_their_group(studies, most):
    """The planted nothing: tastes of .3 categories, no bias. By labels alone half of the studies name a rater."""
    named = 0
    for seed in range(studies):
        rows = assay.rater_model(groups(15, seed), group="accent", **QUICK).fairness.rows
        named += bool(rows["verdict"].is_in(["more_severe", "more_lenient"]).any())
    assert named <= most
