"""Simulated studies: their documented properties, measured, and the text of each error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import DesignError
from assay.simulation import LabelSource

# -- promises -----------------------------------------------------------------------------------------


def wrong(labels: assay.Annotations, name: str) -> float:
    """Share of an annotator's labels that are not the truth."""
    mine = labels.where(annotator=name)
    return float((mine.labels["label"] != mine.column("truth")).mean())


def test_labels_are_the_prior_times_the_noise_and_the_truth_otherwise():
    # An annotator errs visibly when it draws (noise) and does not draw the truth (1 − its prior):
    # noise · Σ prior (1 − prior) = noise · (1 − .16 − .09 − .04 − .01) = .7 · noise, give or take 4 / sqrt(n).
    noise = {"sure": 0.0, "fair": 0.3, "lost": 1.0}
    labels = assay.simulate(20_000, 1, prior=(0.4, 0.3, 0.2, 0.1), annotator_noise=0.5, judges=noise, seed=1)
    truth = labels.items["truth"].value_counts(normalize=True).sort("truth")["proportion"].to_list()
    assert truth == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.015)
    assert wrong(labels, "sure") == 0
    assert wrong(labels, "fair") == pytest.approx(0.21, abs=0.015)
    assert wrong(labels, "lost") == pytest.approx(0.7, abs=0.015)
    assert wrong(labels, "ann_1") == pytest.approx(0.35, abs=0.015)
    assert labels.annotators.select("annotator", "noise", "kind").sort("annotator").rows() == [
        ("ann_1", 0.5, "human"),
        ("fair", 0.3, "judge"),
        ("lost", 1.0, "judge"),
        ("sure", 0.0, "judge"),
    ]


def test_annotators_err_independently():
    labels = assay.simulate(20_000, 3, scale=2, prior=(0.5, 0.5), annotator_noise=0.4, seed=2)
    missed = (labels.matrix() != np.unique(labels.items["truth"], return_inverse=True)[1][:, None]).astype(float)
    off_diagonal = np.corrcoef(missed.T)[np.triu_indices(4, 1)]
    assert np.abs(off_diagonal).max() < 0.03


def test_priors_are_from_a_flat_dirichlet():
    # Of 3 categories, flat: each probability has mean 1/3 and variance 2 / (9 · 4) = 1/18.
    priors = np.diff(LabelSource.of(3).priors(np.random.default_rng(0), 20_000), prepend=0, axis=1)
    assert priors.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.01)
    assert priors.var(axis=0) == pytest.approx(np.full(3, 1 / 18), abs=0.003)


def test_many_studies_draw_each_from_its_own_prior():
    rng = np.random.default_rng(3)
    source = LabelSource.of(4)
    cumulative = source.priors(rng, 50)
    drawn = source.draw(rng.random((50, 4000)), cumulative)
    found = np.stack([(drawn == c).mean(axis=1) for c in range(4)], axis=1)
    assert np.abs(found - np.diff(cumulative, prepend=0, axis=1)).max() < 0.04
    # Two methods: one study after the other.
    each = [source.draw(np.array([[0.1, 0.5, 0.9]]), c[None])[0] for c in cumulative]
    assert np.array_equal(source.draw(np.tile([0.1, 0.5, 0.9], (50, 1)), cumulative), each)


def test_bias_moves_mean_even_by_half_points():
    labels = assay.simulate(
        20_000, 1, scale="1-9", prior=(0, 0, 0, 0.3, 0.4, 0.3, 0, 0, 0), annotator_noise=0.2,
        judges={"low": 0.2, "high": 0.2}, bias={"low": -1.5, "high": 0.25}, seed=4,
    )  # fmt: skip
    means = dict(labels.labels.group_by("annotator").agg(pl.col("label").mean()).iter_rows())
    assert means["high"] - means["ann_1"] == pytest.approx(0.25, abs=0.03)
    assert means["low"] - means["ann_1"] == pytest.approx(-1.5, abs=0.03)
    assert dict(labels.annotators.select("annotator", "bias").iter_rows()) == {"ann_1": 0, "low": -1.5, "high": 0.25}


def test_spread_is_a_gaussian_error_on_an_interval():
    labels = assay.simulate(20_000, 1, scale="interval:0-1000", annotator_noise=0, spread=10, judges={}, seed=5)
    error = labels.labels["label"].to_numpy() - labels.items["truth"].to_numpy()
    inside = (labels.items["truth"].to_numpy() > 50) & (labels.items["truth"].to_numpy() < 950)
    assert error[inside].mean() == pytest.approx(0, abs=0.4)
    assert error[inside].std() == pytest.approx(10, abs=0.3)
    assert labels.labels["label"].min() >= 0
    assert labels.labels["label"].max() <= 1000


def test_documents_keep_item_margins_and_correlate_items():
    options = {"scale": 2, "prior": (0.5, 0.5), "annotator_noise": 0.4, "judges": {}, "seed": 6}
    alike = assay.simulate(20_000, 1, documents=2000, alike=0.6, **options)
    assert alike.items["document"].n_unique() == 2000
    assert wrong(alike, "ann_1") == pytest.approx(0.2, abs=0.02)
    missed = (alike.labels.sort("item")["label"] != alike.items["truth"]).to_numpy().reshape(2000, 10)
    apart = assay.simulate(20_000, 1, documents=2000, alike=0.0, **options)
    other = (apart.labels.sort("item")["label"] != apart.items["truth"]).to_numpy().reshape(2000, 10)
    # The mean of 10 independent items has variance .16 / 10; alike ones vary more from document to document.
    assert other.mean(axis=1).var() == pytest.approx(0.016, rel=0.15)
    assert missed.mean(axis=1).var() > 1.5 * 0.016


def test_incomplete_design_and_missing_judge_labels():
    labels = assay.simulate(400, 6, labels_per_item=3, judges={"a": 0.1, "b": 0.1}, missing={"b": 0.25}, seed=7)
    people = labels.where(kind="human").labels.group_by("item").len()["len"]
    assert people.unique().to_list() == [3]
    share = labels.where(kind="human").labels["annotator"].value_counts(normalize=True)["proportion"]
    assert share.to_numpy() == pytest.approx(np.full(6, 1 / 6), abs=0.04)
    assert len(labels.where(annotator="a")) == 400
    assert len(labels.where(annotator="b")) == pytest.approx(300, abs=30)


def test_criteria_have_independent_truths():
    labels = assay.simulate(300, 2, criteria=["clear", "true"], annotator_noise=0, judges=0.0, seed=8)
    assert labels.criteria == ("clear", "true")
    assert labels.items["truth_clear"].to_list() != labels.items["truth_true"].to_list()
    one = labels.where(criterion="true", annotator="ann_2")
    assert (one.labels["label"] == one.column("truth_true")).all()


@pytest.mark.parametrize(
    ("scale", "spec"),
    [
        (3, "nominal:a,b,c"),
        ("1-5", "ordinal:1-5"),
        (assay.Ordinal(["low", "mid", "high"]), "ordinal:low<mid<high"),
        (assay.Preference(), "preference"),
        (assay.Interval(0, 1), "interval:0-1"),
    ],
)
def test_scales(scale, spec):
    labels = assay.simulate(60, 3, scale=scale, seed=9)
    assert labels.scale.spec == spec
    assert labels.scale.valid(labels.labels["label"]).all()
    assert labels.scale.valid(labels.items["truth"]).all()
    assert assay.alt_test(labels, "judge", epsilon=0.2).n_annotators == 3


def test_more_than_26_categories_have_names():
    labels = assay.simulate(10, 2, scale=30, seed=0)
    assert labels.scale.categories[25:28] == ("z", "ba", "bb")


# -- laws ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    n_items=st.integers(1, 40),
    n_annotators=st.integers(1, 5),
    noise=st.floats(0, 1),
    scale=st.sampled_from([2, 5, "1-5", "interval:0-1"]),
    documents=st.one_of(st.none(), st.just(1)),
)
def test_seed_determines_labels(seed, n_items, n_annotators, noise, scale, documents):
    made = [
        assay.simulate(
            n_items, n_annotators, annotator_noise=noise, judges=noise, scale=scale, documents=documents, seed=seed
        )
        for _ in range(2)
    ]
    assert made[0].labels.equals(made[1].labels)
    assert made[0].items.equals(made[1].items)
    assert len(made[0]) == n_items * (n_annotators + 1)
    assert made[0].items["item"].to_list() == sorted(made[0].items["item"])


def test_small_study():
    """Every kind of draw, in the order of drawing: moving one changes all seeds."""
    study = assay.simulate(
        6, 3, seed=5, judges={"m": 0.2}, missing=0.4, scale="1-5", documents=2, annotator_noise=[0.1, 0.2, 0.3],
        spread=0.3, bias={"ann_1": 0.5}, labels_per_item=2,
    )  # fmt: skip
    found = {(item[-1], who[-1]): label for item, who, label in study.labels.rows()}
    assert found == {
        ("1", "1"): 1, ("1", "2"): 1, ("2", "2"): 1, ("2", "3"): 1, ("3", "2"): 1, ("3", "3"): 1, ("4", "2"): 1,
        ("4", "3"): 3, ("5", "1"): 3, ("5", "2"): 2, ("5", "m"): 3, ("6", "2"): 3, ("6", "3"): 3,
    }  # fmt: skip
    assert study.items.rows() == [
        ("item_1", "document_1", 1), ("item_2", "document_1", 1), ("item_3", "document_1", 1),
        ("item_4", "document_2", 2), ("item_5", "document_2", 2), ("item_6", "document_2", 3),
    ]  # fmt: skip
    pages = assay.simulate(5, 2, seed=2, judges={}, scale="interval:0-10", documents=3, criteria=["a", "b"], alike=0.9)
    assert pages.items["document"].to_list() == [f"document_{n}" for n in [1, 1, 2, 2, 3]]
    assert [round(v, 3) for v in pages.items["truth_a"]] == [7.286, 7.286, 1.879, 1.879, 0.551]
    assert [round(v, 3) for v in pages.labels.filter(annotator="ann_2", criterion="b")["label"]] == [
        8.046,
        8.046,
        2.961,
        2.961,
        4.06,
    ]


def test_another_seed_gives_other_labels():
    assert not assay.simulate(seed=1).labels.equals(assay.simulate(seed=2).labels)


def test_table_is_marked_as_simulated():
    assert assay.simulate(seed=3).reading.source == "a simulated study (seed 3)"


# -- edges --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_items": 0}, "n_items must be a whole number of at least 1; got 0"),
        ({"scale": 1}, "scale must be a whole number of at least 2; got 1"),
        ({"scale": assay.Text()}, "labels that are text cannot be simulated"),
        ({"scale": assay.Interval()}, "two ends such as '1-5'"),
        ({"prior": (0.5, 0.5)}, "2 probabilities for 4 labels"),
        ({"prior": (0.5, 0.5, 0.5, 0.5)}, "add up to 1"),
        ({"prior": (1.5, -0.5, 0, 0)}, "prior must lie between 0 and 1; got 1.5"),
        ({"scale": "interval:0-1", "prior": (1,)}, "leave prior=... out"),
        ({"annotator_noise": 1.2}, "the noise of ann_1 must lie between 0 and 1; got 1.2"),
        ({"annotator_noise": [0.1, 0.2]}, "2 numbers for 3 annotators"),
        ({"judges": {"ann_2": 0.1}}, "'ann_2' is the name of a simulated person"),
        ({"bias": {"jugde": 1}, "scale": "1-5"}, "did you mean 'judge'"),
        ({"bias": {"judge": 1}}, "bias needs an ordered scale"),
        ({"spread": 1}, "spread needs an ordered scale"),
        ({"spread": -1, "scale": "1-5"}, "spread must be 0 or a larger number; got -1"),
        ({"labels_per_item": 4}, "labels_per_item must lie between 1 and 3; got 4"),
        ({"labels_per_item": 1.5}, "labels_per_item must be a whole number; got 1.5"),
        ({"documents": 1.5}, "documents must be a whole number; got 1.5"),
        ({"documents": 101}, "documents must lie between 1 and 100; got 101"),
        ({"alike": 2}, "alike must lie between 0 and 1; got 2"),
        ({"missing": 1}, "missing must lie between 0 and 1 but not be 1; got 1"),
        ({"seed": -1}, "seed must be 0 or a larger whole number; got -1"),
        ({"seed": 1.5}, "seed must be 0 or a larger whole number; got 1.5"),
        ({"n_annotators": 0}, "n_annotators must be a whole number of at least 1; got 0"),
        ({"n_items": "ten"}, "n_items must be a whole number of at least 1; got 'ten'"),
        ({"judges": {"gpt": float("nan")}}, "the noise of gpt must be a number from 0 to 1; got nan"),
        ({"spread": float("inf"), "scale": "1-5"}, "spread must be a number of at least 0; got inf"),
        ({"bias": {"judge": "high"}, "scale": "1-5"}, "the bias of judge must be a number; got 'high'"),
        ({"missing": {"gpt": 0.5}}, "judge 'gpt' is not in missing"),
    ],
)
def test_words_of_each_error(options, words):
    with pytest.raises(DesignError) as error:
        assay.simulate(**options)
    assert words in str(error.value)


# -- labels and their numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "ends", "labels", "values"),
    [
        ("1-5", (0, 4), [1, 5, 3], [1, 5, 3]), ("ordinal:2-4", (0, 2), [2, 4, 4], [2, 6, 4]),
        (3, (0, 2), ["a", "c", "c"], [0, 4, 2]), ("ordinal:low<mid<high", (0, 2), ["low", "high", "high"], [0, 4, 2]),
        ("interval:-1-3", (-1, 3), [0.0, 4.0, 2.0], [0, 4, 2]),
    ],
)  # fmt: skip
def test_positions_are_labels_and_labels_are_numbers(scale, ends, labels, values):
    source = LabelSource.of(scale)
    assert source.ends == ends
    positions = np.array([0.0, 4.0, 2.0])
    assert source.labels(np.minimum(positions, ends[1]) if source.categories else positions).to_list() == labels
    assert source.values(positions).tolist() == values


def test_labels_are_drawn_from_the_prior_of_their_study():
    source = LabelSource.of(3)
    cumulative = np.array([[0.5, 0.75, 1.0], [0.0, 0.25, 1.0]])
    uniform = np.array([[[0.0, 0.49], [0.5, 0.74], [0.76, 0.999]]] * 2)
    assert source.draw(uniform, cumulative).tolist() == [[[0, 0], [1, 1], [2, 2]], [[1, 2], [2, 2], [2, 2]]]
    interval = LabelSource.of("interval:-1-3")
    assert interval.draw(np.array([[0.0, 0.25, 1.0]]), np.empty((1, 0))).tolist() == [[-1, 0, 3]]
    assert interval.priors(np.random.default_rng(0), 4).shape == (4, 0)
    given = LabelSource.of(3, (0.2, 0.3, 0.5)).priors(np.random.default_rng(0), 2)
    np.testing.assert_allclose(given, [[0.2, 0.5, 1.0]] * 2)
    drawn = source.priors(np.random.default_rng(0), 5)
    np.testing.assert_allclose(drawn, np.cumsum(np.random.default_rng(0).dirichlet([1, 1, 1], 5), axis=1))


def test_errors_are_draws_on_the_scale():
    source, truth = LabelSource.of("1-3"), np.array([[0.0, 2.0, 1.0]])
    cumulative = np.array([[0.5, 0.75, 1.0]])
    errs = np.array([[[0.1, 0.3], [0.2, 0.1], [0.9, 0.9]]])
    instead = np.array([[[0.9, 0.9], [0.1, 0.6], [0.9, 0.9]]])
    options = {"errs": errs, "instead": instead}
    rng = np.random.default_rng(0)
    found = source.answer(rng, truth, cumulative, np.array([0.2, 0.2]), **options)
    # Only below the noise: .2 is no error.
    assert found.tolist() == [[[2, 0], [2, 1], [1, 1]]]
    moved = source.answer(rng, truth, cumulative, np.array([0.2, 0.2]), bias=np.array([0.0, 1.0]), **options)
    assert moved.tolist() == [[[2, 1], [2, 2], [1, 2]]]
    far = source.answer(rng, truth, cumulative, np.array([0.2, 0.2]), bias=np.array([-5.0, 5.0]), **options)
    assert far.tolist() == [[[0, 2], [0, 2], [0, 2]]]
    interval = LabelSource.of("interval:0-2").answer(
        rng, truth, np.empty((1, 0)), np.array([0.2, 0.2]), bias=np.array([0.25, 0.0]), **options
    )
    np.testing.assert_allclose(interval, [[[2, 0], [2, 1.2], [1.25, 1]]])
