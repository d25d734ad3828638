"""Groups of raters (``by``): mean severity and variability of the annotators of two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from rated import rated
from scipy import stats

import assay
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError

QUICK: dict[str, Any] = {"quick": True, "starts": 1, "draws": 100}


def grouped(groups: list[str | None], **made: Any) -> Annotations:
    """Labels of people with these values of ``gender``, and of one judge."""
    labels = rated(**made).labels
    people = pl.DataFrame({"annotator": labels.humans, "gender": groups}, schema_overrides={"gender": pl.String})
    return assay.read(labels.labels, judges=["gpt"], scale="1-5", items=labels.items, annotator_table=people)


def test_groups_are_compared_by_welch_test_of_their_raters() -> None:
    phi, psi = (-0.6, -0.4, -0.5, 0.4, 0.6, 0.5, 0.0), (0.4, 0.5, 0.45, 0.8, 0.9, 0.7, 0.5)
    labels = grouped(["f"] * 3 + ["m"] * 3, n_items=200, phi=phi, psi=psi, seed=4)
    found = assay.rater_model(labels, by="gender", **QUICK)
    severity, variability = found.groups.iter_rows(named=True)
    value = found.rows["estimate"].to_numpy()
    expected = stats.ttest_ind(value[:3], value[3:6], equal_var=False)
    assert (severity["quantity"], severity["group"], severity["other"]) == ("severity", "f", "m")
    assert (severity["annotators"], severity["others"]) == (3, 3)
    assert severity["estimate"] == pytest.approx(value[:3].mean() - value[3:6].mean())
    assert severity["p"] == pytest.approx(expected.pvalue)
    assert (severity["low"], severity["high"]) == pytest.approx(tuple(expected.confidence_interval()))
    log = np.log(found.rows["psi"].to_numpy())
    assert variability["mean"] == pytest.approx(np.exp(log[:3].mean()))
    assert variability["estimate"] == pytest.approx(np.exp(log[:3].mean() - log[3:6].mean()))
    assert variability["p"] == pytest.approx(stats.ttest_ind(log[:3], log[3:6], equal_var=False).pvalue)
    assert (severity["p_adjusted"], variability["significant"]) == (2 * severity["p"], True)
    text = found.summary()
    assert "gender f is significantly more severe than m: −" in text
    assert "gender f is significantly more consistent than m: ψ 0." in text
    assert f"p = {variability['p_adjusted']:.3f} adjusted for 2 comparisons" in text


def test_group_of_one_rater_is_not_compared() -> None:
    labels = grouped(["f", "m", "m", None])
    found = assay.rater_model(labels, by="gender", **QUICK)
    assert found.groups["reason"].to_list() == ["a group has fewer than 2 annotators"] * 2
    assert found.groups["estimate"].null_count() == 2
    assert found.groups.select("annotators", "others").row(0) == (1, 2), "no value, no group"
    assert "gender f and m: severity not compared, a group has fewer than 2 annotators." in found.summary()


def test_columns_of_items_and_annotators_are_distinguished() -> None:
    labels = grouped(["f", "f", "m", "m"])
    with pytest.raises(DesignError, match=r"'gender' describes annotators, .* compare groups .* with by='gender'"):
        assay.rater_model(labels, group="gender", **QUICK)
    with pytest.raises(DesignError, match=r"'dialect' does not describe annotators; .* use group='dialect'"):
        assay.rater_model(labels, by="dialect", **QUICK)
    with pytest.raises(DataError, match="column 'sex' is not in the table"):
        assay.rater_model(labels, by="sex", **QUICK)


@pytest.mark.simulation
@pytest.mark.usefixtures("few_checks")
def test_groups_that_do_not_differ_are_significant_as_often_as_stated() -> None:
    """Eight raters of one population, in two groups; without adjustment, at the level of 5%."""
    rng = np.random.default_rng(7)
    below, n = np.zeros(2), 100
    for seed in range(n):
        phi, psi = rng.normal(0, 0.4, 9), np.exp(rng.normal(-0.6, 0.25, 9))
        labels = grouped(["f"] * 4 + ["m"] * 4, n_items=40, phi=tuple(phi), psi=tuple(psi), seed=seed)
        found = assay.rater_model(labels, by="gender", seed=seed, **QUICK)
        below += found.groups["p"].to_numpy() <= 0.05
    assert (below <= stats.binom.ppf(0.999, n, 0.05)).all(), below
