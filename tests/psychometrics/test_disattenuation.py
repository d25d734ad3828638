"""Correlations corrected for error: the truth recovered, equation 3 by hand, and what cannot be told."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tables import FACETS, lessons

import assay
from assay.errors import DesignError
from assay.psychometrics.disattenuation import disattenuated_correlation


def ask(labels, **options):
    return disattenuated_correlation(labels, "r x (o:i)", "i", facets=FACETS, **{"n_resamples": 20, **options})


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


def test_a_family_without_variance_of_objects_cannot_be_told():
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
    assert found.finding == "cannot be told"
    for one in (found.published, found.dependable, found.structural):
        assert np.isnan(one.estimate)
        assert one.reason.startswith("cannot be told")
    assert np.isfinite(found.observed.estimate)
    assert "cannot be told" in found.summary()


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


def test_agreement_on_the_lesson_alone_is_called_spurious():
    found = ask(spurious())
    assert found.observed.estimate > 0.4
    assert found.structural.high < 0.5
    assert found.finding == "spurious"
    assert ask(spurious(), observed_high=0.95).finding != "spurious"
    assert ask(lessons(60, 4, 4, judges=4, seed=6)).finding == "shared"


def test_an_interval_over_16_systems_is_wider_than_that_of_pairs():
    labels = lessons(16, 6, 4, judges=3, seed=9)
    found = ask(labels, n_resamples=80)
    assert found.published.high - found.published.low > 1.3 * (found.resampled[2] - found.resampled[1])
    assert "too narrow" in found.summary()


def test_every_correlation_answers_at_another_level():
    found = ask(lessons(25, 4, 4, judges=3, seed=4), n_resamples=60)
    for one in (found.observed, found.across, found.published, found.dependable, found.structural):
        low, high = one.interval(0.5)
        assert one.low < low < high < one.high
        assert one.p(0) < 0.05 < one.p(low)


def test_objects_may_count_alike():
    labels = lessons(8, 3, 2, judges=2, missing=0.15, seed=3)
    one, other = ask(labels), ask(labels, weights="objects")
    assert one.across.estimate != other.across.estimate


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
        ({"families": ("human",)}, "two families are correlated"),
        ({"by": "annotator"}, "two families are correlated"),
        ({"annotators": ("h0", "h1")}, "two families are correlated"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(more, words):
    with pytest.raises(DesignError, match=words):
        ask(lessons(8, 3, 3, judges=2), **more)


def test_one_lesson_an_object_leaves_no_pairs():
    with pytest.raises(DesignError, match="scores of both families at different o"):
        ask(lessons(10, 1, 3, judges=2))
