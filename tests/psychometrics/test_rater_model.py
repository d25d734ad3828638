"""The hierarchical rater model: its likelihood, what it finds again, what it says."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re

import numpy as np
import polars as pl
import pytest
from rated import crowd, lessons, rated
from tables import ITEMS

import assay
from assay.errors import AssayError, DesignError, MissingExtra
from assay.psychometrics.raters.density import Density, contrasts, layout
from assay.psychometrics.raters.fit import RaterFit
from assay.psychometrics.raters.results import diagnose, ideal_ratings, ideal_shares, traits
from assay.psychometrics.raters.table import RaterSettings, rater_table

# -- the likelihood -----------------------------------------------------------------------------------


def density(labels, group=None, nodes=9, traits=None, **options) -> Density:
    settings = RaterSettings(group=group, nodes=nodes, traits=traits, **options)
    table = rater_table(labels, settings)
    return Density(table, layout(table, settings))


def somewhere(found: Density, seed: int = 1) -> np.ndarray:
    return found.layout.mean + 0.4 * np.random.default_rng(seed).normal(size=found.layout.p)


TABLES = {
    "one criterion": ({}, {}),
    "three criteria": ({"criteria": 3}, {}),
    "by group": ({"criteria": 2, "gap": 0.5}, {"group": "dialect"}),
    "some labels": ({"criteria": 2, "seen": 0.6}, {}),
    "two traits": ({"criteria": 3}, {"traits": {"c1": "a", "c2": ("a", "b"), "c3": "b"}}),
    "items of a group share a trait": ({"criteria": 1}, {"object": "dialect"}),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_gradient_is_that_of_the_value(name):
    made, asked = TABLES[name]
    found = density(rated(24, categories=3, **made).labels, **asked)
    x = somewhere(found)
    value, slope = found.value_and_gradient(x)
    assert value == pytest.approx(found.value(x), rel=1e-12)
    steps = np.eye(found.layout.p) * 1e-5
    numeric = [(found.value(x + s) - found.value(x - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(slope, numeric, atol=2e-5)


@pytest.mark.parametrize("asked", [{}, {"group": "dialect"}])
def test_information_about_raters_is_that_of_the_gradient(asked):
    found = density(rated(40, categories=4).labels, **asked)
    x = somewhere(found)
    mine = found.layout.phi.any(axis=0) | found.layout.psi.any(axis=0)
    steps = np.eye(found.layout.p)[mine] * 1e-5
    each = [found.value_and_gradient(x - s)[1] - found.value_and_gradient(x + s)[1] for s in steps]
    numeric = np.array(each)[:, mine] / 2e-5 - np.diag(found.layout.sd[mine] ** -2)
    np.testing.assert_allclose(found.rater_information(x)[np.ix_(mine, mine)], numeric, atol=1e-4)


@pytest.mark.slow  # half a minute of compiling
@pytest.mark.parametrize("name", ["by group", "two traits"])
def test_numpy_and_jax_have_one_likelihood(name):
    jax = pytest.importorskip("jax")
    from assay.psychometrics.raters.fit import jax_value

    made, asked = TABLES[name]
    found = density(rated(24, categories=3, **made).labels, **asked)
    x = somewhere(found)
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.value_and_grad(jax_value(found)))(x)
    assert float(value) == pytest.approx(found.value(x), rel=1e-10)
    np.testing.assert_allclose(np.asarray(slope), found.value_and_gradient(x)[1], atol=1e-8)


def test_the_likelihood_is_the_sum_over_all_that_is_hidden():
    """Eq. 4 to 6 as published: every ideal rating and a fine grid of θ, cell by cell, label by label."""
    labels = rated(12, criteria=2, categories=3, seen=0.8).labels
    found = density(labels, nodes=41)
    x = somewhere(found)
    table, plan = found.table, found.layout
    shape = (len(table.criteria), len(table.raters))
    phi, psi = (plan.phi @ x).reshape(shape), np.exp((plan.psi @ x).reshape(shape))
    alpha = np.exp(x[plan.indices("ln alpha")])
    theta = np.linspace(-6, 6, 2001)
    weight = np.exp(-(theta**2) / 2)
    weight /= weight.sum()
    total = 0.0
    for i in range(len(table.items)):
        of_item = np.ones_like(theta)
        for j in range(2):
            up = np.concatenate([[0.0], np.cumsum(x[plan.gamma[j]])])
            ideal = np.exp(np.arange(3) * alpha[j] * theta[:, None] - up)
            ideal /= ideal.sum(axis=1, keepdims=True)
            given = np.ones(3)
            for at in np.flatnonzero((table.item == i) & (table.criterion == j)):
                r, k = table.rater[at], table.value[at]
                p = np.exp(-((np.arange(3)[:, None] - np.arange(3) - phi[j, r]) ** 2) / (2 * psi[j, r] ** 2))
                given = given * (p / p.sum(axis=0))[k]
            of_item = of_item * (ideal @ given)
        total += np.log(weight @ of_item)
    assert found.evaluate(x).value == pytest.approx(total, abs=1e-5)


def test_ideal_ratings_and_traits_are_what_is_left_when_all_else_is_summed_out():
    """Bayes' rule by loops, at two points of the parameters: θ on a fine grid, then each ideal rating, then its label.

    The ideal rating is reported as the label that the average rater gives to it: mean severity, geometric mean of ψ.
    Nobody gives the second criterion a 1, so that its labels begin at 2.
    """
    labels = rated(9, criteria=2, categories=3, seen=0.8, phi=(-0.7, 0.1, 0.6), psi=(0.4, 0.7, 0.5)).labels
    made = density(labels, nodes=41)
    table, plan = made.table, made.layout
    assert [list(c) for c in table.categories] == [[1, 2, 3], [2, 3]]
    draws = np.stack([somewhere(made, seed) for seed in (1, 2)])
    theta = np.linspace(-6, 6, 801)
    label = {(item, c): np.zeros(3) for item in table.items for c in table.criteria}
    moments = {cell: np.zeros(2) for cell in label}
    trait = np.zeros((len(table.items), 2))
    for x, (i, item) in itertools.product(draws, enumerate(table.items)):
        phi, log_psi = ((rows @ x).reshape(2, len(table.raters)) for rows in (plan.phi, plan.psi))
        alpha = np.exp(x[plan.indices("ln alpha")])
        of_theta, shares, given = np.exp(-(theta**2) / 2), [], []
        for j in range(2):
            k = np.arange(len(table.categories[j]))
            up = np.concatenate([[0.0], np.cumsum(x[plan.gamma[j][: len(k) - 1]])])
            share = np.exp(k * alpha[j] * theta[:, None] - up)
            shares.append(share / share.sum(axis=1, keepdims=True))
            given.append(np.ones(len(k)))
            for at in np.flatnonzero((table.item == i) & (table.criterion == j)):
                r = table.rater[at]
                p = np.exp(-0.5 * ((k[:, None] - k - phi[j, r]) / np.exp(log_psi[j, r])) ** 2)
                given[j] *= (p / p.sum(axis=0))[table.value[at]]
            of_theta = of_theta * (shares[j] @ given[j])
        of_theta = of_theta / of_theta.sum()
        trait[i] += np.array([of_theta @ theta, of_theta @ theta**2]) / 2
        for j, criterion in enumerate(table.criteria):
            k = np.arange(len(given[j]))
            each = shares[j] * given[j]
            ideal = of_theta @ (each / each.sum(axis=1, keepdims=True))
            for one in k:
                p = np.exp(-0.5 * ((k - one - phi[j].mean()) / np.exp(log_psi[j].mean())) ** 2)
                mean = float(k @ p / p.sum())
                label[item, criterion][round(mean)] += ideal[one] / 2
                moments[item, criterion] += ideal[one] * np.array([mean, mean**2]) / 2
    found = RaterFit(made, (), None, draws, RaterSettings())
    rows = ideal_ratings(found)
    assert rows.height == len({*zip(table.item.tolist(), table.criterion.tolist(), strict=True)})
    for row in rows.iter_rows(named=True):
        cell = row["item"], row["criterion"]
        lowest = {"c1": 1, "c2": 2}[row["criterion"]]
        first, second = moments[cell]
        assert int(row["ideal"]) == lowest + label[cell].argmax()
        assert row["certainty"] == pytest.approx(label[cell].max(), abs=1e-5)
        assert row["expected"] == pytest.approx(lowest + first, abs=1e-5)
        assert row["sd"] == pytest.approx(np.sqrt(second - first**2), abs=1e-4)
        there = (table.item == table.items.index(cell[0])) & (table.criterion == table.criteria.index(cell[1]))
        assert row["labels"] == there.sum()
    for row in traits(found).iter_rows(named=True):
        first, second = trait[table.items.index(row["subject"])]
        assert row["estimate"] == pytest.approx(first, abs=1e-5)
        assert row["sd"] == pytest.approx(np.sqrt(second - first**2), abs=1e-5)
    # How often each label is the ideal one: the mean over cells.
    for j, criterion in enumerate(table.criteria):
        cells = [label[row["item"], criterion] for row in rows.filter(pl.col("criterion") == criterion).to_dicts()]
        np.testing.assert_allclose(ideal_shares(found)[j], np.mean(cells, axis=0), atol=1e-5)


def test_items_that_were_labelled_alike_are_computed_once_and_count_each():
    found = density(rated(400, categories=2, phi=(0.0, 0.2), psi=(0.5, 0.5)).labels)
    cells = found.table.cells
    assert len(cells) <= 4
    assert cells.count.sum() == 400


def test_contrasts_are_centred_and_orthonormal():
    made = contrasts(7)
    np.testing.assert_allclose(made.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(made.T @ made, np.eye(6), atol=1e-12)


# -- what it finds again --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick():
    truth = rated(200, criteria=2, seed=4)
    return truth, assay.rater_model(truth.labels, quick=True, starts=3)


@pytest.mark.slow
def test_severity_and_variability_are_found_again(quick):
    truth, found = quick
    assert np.corrcoef(found.rows["estimate"], truth.phi)[0, 1] > 0.98
    np.testing.assert_allclose(found.rows["estimate"], truth.phi, atol=0.12)
    np.testing.assert_allclose(found.rows["psi"], truth.psi, rtol=0.25)


def test_severity_is_centred_in_every_draw(quick):
    _, found = quick
    np.testing.assert_allclose(found.severity.replicates.sum(axis=1), 0, atol=1e-9)


def test_the_ideal_ratings_are_found_again(quick):
    truth, found = quick
    ideal = found.ideal.sort("criterion", "item")
    close = ideal["ideal"].cast(pl.Int64).to_numpy() - 1 == truth.ideal.T.ravel()
    assert close.mean() > 0.85
    sure = (ideal["certainty"] > 0.95).to_numpy()
    assert close[sure].mean() > 0.93
    assert 0.6 < ideal["certainty"].mean() - 0 < 1
    assert len(found.traits) == 200


@pytest.mark.slow
def test_reversed_criteria_are_turned_round():
    truth = rated(80, criteria=2, seed=3)
    turned = truth.labels.labels.with_columns(
        label=pl.when(pl.col("criterion") == "c2").then(6 - pl.col("label")).otherwise(pl.col("label"))
    )
    other = assay.read(turned, judges=["gpt"], scale="1-5")
    one = assay.rater_model(truth.labels, quick=True, starts=1)
    two = assay.rater_model(other, quick=True, starts=1, reverse="c2")
    np.testing.assert_allclose(one.rows["estimate"], two.rows["estimate"], atol=1e-6)


def test_ordered_words_and_criteria_of_different_lengths():
    truth = rated(60, criteria=2, seed=5)
    words = ["poor", "fair", "good", "very good", "excellent"]
    frame = truth.labels.labels.with_columns(
        label=pl.when(pl.col("criterion") == "c1")
        .then(pl.col("label").replace_strict(dict(enumerate(words, 1)), return_dtype=pl.String))
        .otherwise(pl.min_horizontal("label", 3).cast(pl.String))
    )
    scales = {"c1": assay.Ordinal(words), "c2": assay.Ordinal(["1", "2", "3"])}
    found = assay.rater_model(assay.read(frame, judges=["gpt"], scale=scales), quick=True, starts=1)
    assert found.items["categories"].to_list() == [5, 3]
    assert set(found.ideal.filter(pl.col("criterion") == "c1")["ideal"]) <= set(words)


# -- crowds ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_crowd():
    """60 raters with two to eleven labels each."""
    truth = crowd(seed=1)
    return truth, assay.rater_model(truth.labels, quick=True)


def test_intervals_of_a_crowd_contain_the_severity(of_crowd):
    """Normal intervals at the mode, with separate ψ from .27 to 1.55, contain it in 50; 8 raters are significant."""
    truth, found = of_crowd
    inside = (found.rows["low"].to_numpy() <= truth.phi) & (truth.phi <= found.rows["high"].to_numpy())
    assert inside.sum() >= 54  # P(< 54) = .03 with 95%
    assert found.rows["psi"].is_between(0.5, 1.5).all()
    assert not (found.rows["p_adjusted"].to_numpy() <= 0.05)[found.rows["estimate"].to_numpy() * truth.phi < 0].any()


def test_no_rater_of_a_crowd_of_equals_is_significant():
    """Normal intervals at the mode, with separate ψ, make 2, 2 and 4 of 60 raters significant with seeds 1 to 3."""
    found = assay.rater_model(crowd(sd=0, seed=2).labels, quick=True)
    assert found.rows["p_adjusted"].min() > 0.05
    assert "60 of 60 raters: no significant difference in severity." in found.summary()


def test_numbers_of_a_crowd_have_pooled_variability_too():
    truth = crowd(30, 60, seed=4)
    rows = assay.rater_model(truth.labels, quick=True, distribution="normal").rows
    inside = (rows["low"].to_numpy() <= truth.phi) & (truth.phi <= rows["high"].to_numpy())
    assert inside.sum() >= 26  # P(< 26) = .02 with 95%
    assert rows["psi"].is_between(0.5, 1.3).all()


def test_the_summary_of_a_crowd_says_how_it_was_fitted(of_crowd):
    _, found = of_crowd
    said = found.summary()
    assert said.startswith("Few labels per rater (median 5")
    assert "800 draws of the posterior (Hamiltonian Monte Carlo)" in said
    assert "Penalized ML" not in said
    assert "optim" not in said
    assert found.converged
    np.testing.assert_allclose(found.rows["estimate"].sum(), 0, atol=1e-9)


def test_the_same_seed_draws_the_same_crowd():
    labels = crowd(10, 12, seed=1).labels
    one, again, other = (assay.rater_model(labels, quick=True, seed=seed).rows for seed in (0, 0, 1))
    assert again.equals(one)
    assert not other.equals(one)


@pytest.mark.parametrize(
    ("raters", "items", "each", "pooled"), [(12, 40, 4, True), (11, 40, 4, False), (12, 160, 4, False)]
)
def test_variability_is_pooled_over_many_raters_with_few_labels(raters, items, each, pooled):
    found = density(crowd(raters, items, each).labels)
    assert bool(len(found.layout.indices("ln psi in a crowd"))) == pooled
    assert len(found.layout.indices("ln psi")) == (1 if pooled else raters)


def test_a_crowd_that_does_not_mix_is_not_converged(of_crowd):
    _, found = of_crowd
    moving = np.linspace(0, 1, len(found.fitted.draws))[:, None]
    stuck = dataclasses.replace(found.fitted, draws=found.fitted.draws + moving)
    assert diagnose(stuck).problems[0].startswith("the two halves of the draws of ")


# -- modes ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_modes_a_category_apart_are_found_and_say_the_same_of_raters():
    """A criterion whose ideal ratings may be 1 and 2 or 2 and 3: η takes the difference back."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(80):
        ideal = rng.integers(2, 4)
        for name, lean in (("ann", -0.3), ("bob", 0.0), ("gpt", 0.3)):
            for j in (1, 2):
                label = int(np.clip(np.rint(ideal + lean + 0.4 * rng.normal()), 1, 4))
                rows.append({"item": f"i{i}", "annotator": name, "criterion": f"c{j}", "label": label})
    found = assay.rater_model(assay.read(pl.DataFrame(rows), judges=["gpt"], scale="1-4"), quick=True, starts=12)
    assert found.modes.height > 1
    assert found.modes["share"].sum() == pytest.approx(1)
    near = found.modes.filter(pl.col("share") > 0.05)
    assert near["severity_apart"].max() < 0.1
    assert "local optima; the best holds" in found.summary()


def test_nothing_uncentred_is_printed(quick):
    """η, which the modes trade against ideal ratings, is in no table and in no sentence."""
    _, found = quick
    assert "η" not in found.summary()
    assert not [c for f in (found.rows, found.items, found.modes, found.ideal) for c in f.columns if "eta" in c]


# -- words ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_equal_raters_have_no_sentence():
    """Four raters without a difference: none is called severe or erratic."""
    found = assay.rater_model(rated(60, (0, 0, 0, 0), (0.5,) * 4, seed=11).labels, quick=True, starts=2)
    said = found.summary()
    assert "more severe" not in said
    assert "more lenient" not in said
    assert "4 of 4 raters: no significant difference in severity" in said
    assert "labels per rater" not in said
    few = assay.rater_model(rated(24, (0, 0, 0, 0), (0.5,) * 4, seed=11).labels, quick=True, starts=1).summary()
    assert "With 24 labels per rater (median) it finds differences of equal raters" in few


def test_the_severe_and_the_erratic_are_named(quick):
    _, found = quick
    said = found.summary()
    assert re.search(r"Significantly more severe.*ann_1", said)
    assert re.search(r"Significantly more variable.*ann_4", said)
    assert said.splitlines()[0].startswith("Penalized ML approximation")


@pytest.mark.slow
@pytest.mark.parametrize("simulated", [2_000_000, 100])  # as of a small table, as of one of a million labels
def test_a_rater_who_uses_only_the_ends_is_not_described(simulated, monkeypatch):
    from assay.psychometrics.raters import results

    truth = rated(150, seed=6)
    monkeypatch.setattr(results, "SIMULATED", simulated)
    ends = truth.labels.labels.with_columns(
        label=pl.when(pl.col("annotator") == "gpt")
        .then(pl.when(pl.col("label") >= 3).then(5).otherwise(1))
        .otherwise(pl.col("label"))
    )
    found = assay.rater_model(assay.read(ends, judges=["gpt"], scale="1-5"), quick=True, starts=2)
    assert any("misfit for gpt" in c for c in found.cautions)
    assert not any("misfit for" in c for c in assay.rater_model(truth.labels, quick=True, starts=2).cautions)


@pytest.mark.slow
def test_disjoint_groups_of_raters_are_reported():
    labels = rated(60, seed=7).labels
    number = pl.col("item").str.slice(1).cast(pl.Int64)
    mine = pl.when(pl.col("annotator").is_in(["ann_1", "ann_2"])).then(number < 30).otherwise(number >= 30)
    apart = assay.read(labels.labels.filter(mine), judges=["gpt"], scale="1-5")
    found = assay.rater_model(apart, quick=True, starts=2)
    assert any("2 disjoint subsets that share no items (ann_1, ann_2; ann_3, ann_4, gpt)" in c for c in found.cautions)
    assert not any("disjoint subsets" in c for c in assay.rater_model(labels, quick=True, starts=1).cautions)


@pytest.mark.slow
def test_a_large_table_of_raters_who_share_teachers_alone_arrives(monkeypatch):
    """Each lesson has one rater. Of the part that is fitted first, one rater and one criterion have no label."""
    from assay.psychometrics.raters import fit

    truth = lessons(seed=1)
    rows = truth.labels.labels
    first = pl.col("item").str.slice(1, 2).cast(pl.Int64) % 7 == 0
    rows = rows.filter(~first | ((pl.col("annotator") != "r6") & (pl.col("criterion") != "c3")))
    labels = assay.read(rows, scale="1-4", items=truth.labels.items)
    asked = {"quick": True, "starts": 3, "repeats": "each", "object": "teacher"}
    whole = assay.rater_model(labels, **asked)
    monkeypatch.setattr(fit, "MANY_LABELS", len(labels) // 7 + 1)
    found = assay.rater_model(labels, **asked)
    assert found.converged
    assert found.fitted.modes[0].steepness < fit.STEEP
    np.testing.assert_allclose(found.rows["estimate"], whole.rows["estimate"], atol=1e-3)
    np.testing.assert_allclose(found.rows["estimate"], truth.phi, atol=0.2)
    np.testing.assert_allclose(found.rows["psi"], truth.psi, rtol=0.2)
    said = [c for c in found.cautions if "disjoint subsets" in c]
    assert len(said) == 1
    assert "6 disjoint subsets that share no items (r1; r2; r3 …)" in said[0]
    assert "between subsets, comparisons use shared 'teacher'" in said[0]
    # Other maxima are looked for from a maximum only by who asks for several starts.
    monkeypatch.setattr(fit, "_sweep", None)
    assert len(assay.rater_model(labels, **asked | {"starts": 1}).fitted.modes) == 1


@pytest.mark.simulation
@pytest.mark.real_data
def test_classroom_observations_arrive(real_data):
    """The CLASS table: 19 raters, 1,710 lessons with one rater each, teachers shared."""
    labels = assay.read(
        real_data / "class_observation" / "class_data.csv", item=["NCTETID", "OBSID"], repeat="CHAPNUM",
        annotator="RATERID", label=list(ITEMS), scale="1-7",
    )  # fmt: skip
    found = assay.rater_model(labels, quick=True, object="NCTETID", repeats="each", reverse="CLNC")
    assert found.converged
    phi = dict(found.rows.select("annotator", "estimate").iter_rows())
    assert phi["5"] == pytest.approx(-1.19, abs=0.05)
    assert phi["17"] == pytest.approx(0.01, abs=0.05)
    assert any("17 disjoint subsets that share no items" in c for c in found.cautions)


@pytest.mark.slow
def test_parties_that_share_no_teacher_are_named_and_right_within():
    truth = lessons(parties=2, seed=0)
    found = assay.rater_model(truth.labels, quick=True, starts=3, repeats="each", object="teacher")
    assert found.converged
    assert any("2 disjoint subsets that share no 'teacher' (r1, r3, r5; r2, r4, r6)" in c for c in found.cautions)
    for subset in (["r1", "r3", "r5"], ["r2", "r4", "r6"]):
        one = found.compare(subset[1], subset[0])
        gap = truth.phi[int(subset[1][1]) - 1] - truth.phi[int(subset[0][1]) - 1]
        assert one.low < gap < one.high


def test_a_search_that_has_not_arrived_goes_on_in_round_coordinates():
    """A ridge a million times longer than wide, and bent: the Newton decrement ends below a hundredth."""
    from assay.psychometrics.raters.fit import STEEP, climb, mode_near

    class Ridge:
        def value(self, x):
            return self.value_and_gradient(x)[0]

        def value_and_gradient(self, x):
            off = x[1] - x[0] ** 2
            value = -0.5 * (1e4 * off**2 + 1e-2 * (x[0] - 3) ** 2)
            return value, np.array([2e4 * off * x[0] - 1e-2 * (x[0] - 3), -1e4 * off])

    start = np.array([-1.0, 1.0])
    rough, _ = climb(Ridge(), start, np.eye(2))
    found = mode_near(Ridge(), rough)
    assert found.arrived
    np.testing.assert_allclose(found.x, [3, 9], atol=STEEP * 10 * 6)


@pytest.mark.slow
def test_raters_without_shared_items_are_named():
    """With one label per cell ψ is not separable from the spread of ideal ratings; with repeats it is."""
    truth = lessons(seed=1)
    single = truth.labels.labels.filter(pl.col("repeat") == 0).drop("repeat")
    single = assay.read(single, scale="1-4", items=truth.labels.items)
    alone = assay.rater_model(single, quick=True, starts=1, object="teacher").cautions
    assert any("almost every label of all raters is the only one of its item" in c for c in alone)
    beside = assay.rater_model(truth.labels, quick=True, starts=1, object="teacher", repeats="each").cautions
    assert not any("the only one of its item" in c for c in beside)


@pytest.mark.slow
def test_a_rater_without_scatter_has_a_severity_known_to_half_a_category(monkeypatch):
    from assay.psychometrics.raters import model

    labels = rated(80, (-0.4, 0.0, 0.4, 0.2), (0.6, 0.6, 0.6, 0.05), seed=3).labels
    found = assay.rater_model(labels, quick=True, starts=2)
    row = found.rows.filter(pl.col("annotator") == "gpt").row(0, named=True)
    assert row["low"] < -0.35
    assert row["high"] > 0.35
    assert not any("is below" in c for c in found.cautions)
    monkeypatch.setattr(model, "EXACT", 0.3)
    found = assay.rater_model(labels, quick=True, starts=2)
    assert any("ψ of gpt is below 0.3" in c for c in found.cautions)


def _twice(labels, column="criterion", **options):
    """Every label twice, distinguished by a column."""
    name = "{}" if column == "repeat" else "c{}"
    both = [labels.labels.with_columns(pl.lit(name.format(n)).alias(column)) for n in (1, 2)]
    return assay.read(pl.concat(both), judges=["gpt"], scale="1-5", **options)


REFUSED = {
    "one rater": (lambda t: t.where(annotator=["ann_1"]), {}, "the only one is ann_1"),
    "fractions": (
        lambda t: assay.read(t.labels.with_columns(pl.col("label") + 0.5), judges=["gpt"]),
        {"distribution": "categories"},
        "labels have fractions",
    ),
    "categories without order": (
        lambda t: assay.read(t.labels.with_columns(label="x" + pl.col("label").cast(pl.String)), judges=["gpt"]),
        {},
        "raters require ordered labels",
    ),
    "one label": (
        lambda t: assay.read(t.labels.with_columns(label=3), judges=["gpt"], scale="1-5"),
        {},
        "every label is the same",
    ),
    "a group of one value": (lambda t: t.where(dialect="north"), {"group": "dialect"}, "has one value only"),
    "no such baseline": (lambda t: t, {"group": "dialect", "baseline": "east"}, "there are north, south"),
    "a trait without criteria": (lambda t: t, {"traits": {"c9": "a"}}, "one criterion without a name"),
    "a trait for nobody": (lambda t: _twice(t), {"traits": {"c9": "a"}}, "criterion 'c9' is not in.*has c1, c2"),
    "a trait for some": (lambda t: _twice(t), {"traits": {"c1": "a"}}, "every criterion needs one; c2 has none"),
    "repeats": (
        lambda t: _twice(t, "repeat"),
        {},
        "use all with repeats=.each., or one with .first., .last. or .majority.$",
    ),
    "conditions": (
        lambda t: _twice(t, "heat", conditions=["heat"]),
        {},
        "several values of 'heat'.*count each answer with repeats='each'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_answered_is_refused(name):
    change, options, words = REFUSED[name]
    with pytest.raises(AssayError, match=words):
        assay.rater_model(change(rated(20).labels), quick=True, starts=1, **options)


def test_missing_extra_error_names_method_quick(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] in ("jax", "numpyro"):
            raise ImportError(name)
        return real(name, *rest, **more)

    import importlib

    monkeypatch.setattr(importlib, "import_module", lambda name, *rest: without(name))
    with pytest.raises(MissingExtra, match=r"quick=True fits it without.*\[raters\]"):
        assay.rater_model(rated(20).labels, starts=1)


@pytest.mark.slow
def test_every_parameter_answers_at_another_level(quick, unfair):
    _, found = quick
    assert unfair.fairness.gaps[2].p(0) < 0.01
    assert unfair.fairness.ratios[2].p(1) > 0.01
    for one in (found.severity[0], found.variability[3], unfair.fairness.gaps[2], unfair.fairness.ratios[2]):
        low, high = one.interval(0.5)
        assert one.low < low < high < one.high
        assert one.p(one.estimate) == 1
        assert one.p(low) > 0.2 > one.p(one.estimate + 2 * (one.high - one.estimate))


def test_two_raters_are_compared_by_name(quick):
    _, found = quick
    gap = found.compare("ann_3", "ann_1")
    rows = dict(found.rows.select("annotator", "estimate").iter_rows())
    assert gap.estimate == pytest.approx(rows["ann_3"] - rows["ann_1"])
    assert gap.low < 1.0 < gap.high
    with pytest.raises(AssayError, match="rater 'ann_33' is not in the table; did you mean 'ann_3'"):
        found.compare("ann_33", "ann_1")


# -- sampling -------------------------------------------------------------------------------------------


def chains_of(kind: str):
    """A sampler that draws from the normal around the mode, 2 chains of 1,000, but for what is planted."""
    from assay.psychometrics.raters.fit import Chains

    def sample(density, mode, settings):
        draws = settings.draws
        z = np.random.default_rng(1).normal(size=(settings.chains, draws, len(mode.x)))
        if kind == "slow":
            # Autocorrelated draws: each is .95 of the one before.
            for i in range(1, draws):
                z[:, i] = 0.95 * z[:, i - 1] + np.sqrt(1 - 0.95**2) * z[:, i]
        if kind == "apart":
            z[1] += 1.5
        return Chains(mode.x + z @ np.linalg.cholesky(mode.covariance).T, 5 if kind == "diverged" else 0, 1.0)

    return sample


PLANTED = {
    "apart": r"NOT CONVERGED: R-hat is 1\.\d+ for the (severity|variability) of",
    "slow": r"NOT CONVERGED: .*effective draws, and 200 are wanted",
    "diverged": r"NOT CONVERGED: 5 of 2,000 draws diverged\.",
    "none": r"Converged: R-hat at most 1\.0\d+, at least [\d,]+ effective draws, 0 divergences\.",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_too_few_draws_are_reported_first(kind, monkeypatch):
    pytest.importorskip("arviz_stats")
    from assay.psychometrics.page import rater_parts
    from assay.psychometrics.raters import fit

    monkeypatch.setattr(fit, "sample", chains_of(kind))
    labels = rated(40, (-0.6, 0.0, 0.6), (0.5, 0.5, 0.8), categories=3, seed=2).labels
    found = assay.rater_model(labels, starts=1, chains=2, draws=1000)
    assert found.converged is (kind == "none")
    assert re.match(PLANTED[kind], found.summary())
    assert re.match(PLANTED[kind], rater_parts(found)[0].words[0])
    assert ("NOT CONVERGED" in found.plot().get_title(loc="left")) is (kind != "none")
    assert {"rhat", "effective_draws"} <= set(found.rows.columns)
    assert np.abs(found.severity.replicates.sum(axis=1)).max() < 1e-9


def hundred_draws(draws: int = 100, **more):
    """Ten seconds of compiling."""
    truth = rated(40, (-0.6, 0.0, 0.6), (0.5, 0.5, 0.8), categories=3, seed=2)
    return assay.rater_model(truth.labels, starts=1, chains=2, warmup=50, draws=draws, **more)


first_hundred_draws = functools.cache(hundred_draws)


@pytest.mark.slow
def test_a_hundred_draws_of_the_sampler_are_not_enough():
    pytest.importorskip("numpyro")
    found = first_hundred_draws()
    assert not found.converged
    assert found.summary().startswith("NOT CONVERGED: ")


def test_quick_fit_reports_nonconvergence(monkeypatch):
    from assay.psychometrics.raters import fit

    monkeypatch.setattr(fit, "MOST_STEPS", 1)
    monkeypatch.setattr(fit, "MOST_POLISHED", 0)
    found = assay.rater_model(rated(40, seed=2).labels, quick=True, starts=1)
    assert found.summary().startswith("NOT CONVERGED: the fit stopped before a maximum")


@pytest.mark.slow
def test_both_methods_agree():
    pytest.importorskip("numpyro")
    # Raters who err now and then: near a variability of 0 chains mix slowly, and 600 draws are rightly called too few.
    truth = rated(120, (-0.6, 0.0, 0.3, 0.6), (0.7, 0.7, 0.8, 0.9), criteria=2, categories=4, seed=2)
    found = assay.rater_model(truth.labels, starts=3, chains=2, warmup=300, draws=600)
    quick = assay.rater_model(truth.labels, quick=True, starts=3)
    assert found.converged, found.summary()
    assert found.summary().startswith("Converged: R-hat at most")
    np.testing.assert_allclose(found.rows["estimate"], quick.rows["estimate"], atol=0.05)
    np.testing.assert_allclose(found.severity.standard_error, quick.severity.standard_error, rtol=0.25)


@pytest.mark.slow
def test_one_seed_gives_the_same_draws():
    pytest.importorskip("numpyro")
    one, two = first_hundred_draws(), hundred_draws()
    np.testing.assert_array_equal(one.severity.replicates, two.severity.replicates)


@pytest.mark.slow
def test_sampler_tells_its_progress_and_stops_at_any_number_of_draws():
    pytest.importorskip("numpyro")
    reported = []
    found = hundred_draws(130, progress=lambda what, done, n: reported.append((what, done, n)))
    assert [one for one in reported if one[0] == "sampling"] == [
        ("sampling", min(50 * n, 360), 360) for n in range(1, 9)
    ]
    few, many = (one.severity.replicates.reshape(2, n, -1) for one, n in ((first_hundred_draws(), 100), (found, 130)))
    np.testing.assert_allclose(few, many[:, :100], rtol=1e-12)


# -- fairness -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unfair():
    truth = rated(160, criteria=2, gap=0.8, bias={2: -0.6}, seed=9)
    return assay.rater_model(truth.labels, "dialect", quick=True, starts=2)


def test_the_rater_with_a_bias_is_the_one_found(unfair):
    rows = unfair.fairness.rows
    told = rows.filter(pl.col("verdict").is_in(["more_severe", "more_lenient"]))
    assert told["annotator"].to_list() == ["ann_3"]
    row = told.row(0, named=True)
    assert row["estimate"] == pytest.approx(-0.6, abs=0.2)  # −.6 against four raters without a bias
    assert row["probability"] > 0.99
    assert row["baseline"] == "north"
    assert re.search(
        "ann_3 is significantly more severe with south than with north.*p < 0.001 adjusted for 5 comparisons",
        unfair.summary(),
    )


@pytest.mark.slow
def test_true_group_gap_is_not_bias():
    truth = rated(160, criteria=2, gap=1.5, seed=10)
    found = assay.rater_model(truth.labels, "dialect", quick=True, starts=2)
    assert not found.fairness.rows["verdict"].is_in(["more_severe", "more_lenient"]).any()
    assert np.abs(found.fairness.rows["estimate"].to_numpy()).max() < 0.3


@pytest.mark.slow
def test_the_reference_moves_all_differences_alike(unfair):
    people = assay.rater_model(
        rated(160, criteria=2, gap=0.8, bias={2: -0.6}, seed=9).labels,
        "dialect",
        reference="humans",
        quick=True,
        starts=2,
    )
    moved = people.fairness.rows["estimate"].to_numpy() - unfair.fairness.rows["estimate"].to_numpy()
    np.testing.assert_allclose(moved, moved[0], atol=1e-6)
    others = people.fairness.rows.filter(pl.col("annotator").is_in(["ann_1", "ann_2", "ann_4"]))
    assert others["estimate"].mean() == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_a_bias_does_not_make_others_look_biased_the_other_way():
    """−1.2 less the mean of four raters leaves +.3 to each of the others, until the one who differs leaves it."""
    truth = rated(300, (0.0,) * 4, (0.6,) * 4, bias={2: -1.2}, seed=21)
    found = assay.rater_model(truth.labels, "dialect", quick=True, starts=1)
    rows = found.fairness.rows
    assert rows.filter(pl.col("verdict").is_in(["more_severe", "more_lenient"]))["annotator"].to_list() == ["ann_3"]
    assert rows["estimate"][2] == pytest.approx(-1.2, abs=0.3)
    assert any("to the mean of 3 raters, without ann_3" in n for n in found.notes)
    # With half of the raters biased, the biased ones are not identified; at most one leaves the mean.
    truth = rated(300, (0.0,) * 4, (0.6,) * 4, bias={1: -1.0, 2: -1.0}, seed=21)
    found = assay.rater_model(truth.labels, "dialect", quick=True, starts=1)
    assert sum("from the mean of" in n for n in found.notes) <= 1
    told = found.fairness.rows.filter(pl.col("verdict").is_in(["more_severe", "more_lenient"]))
    assert told.height >= 2


def test_small_groups_are_warned_of(unfair):
    small = assay.rater_model(rated(30, seed=12).labels, "dialect", quick=True, starts=1)
    assert any("small groups: north has 15, south has 15" in c for c in small.cautions)
    assert not any("small groups" in c for c in unfair.cautions)


@pytest.mark.slow
def test_a_rater_of_one_group_has_no_difference_and_a_reason():
    truth = rated(80, seed=13)
    number = pl.col("item").str.slice(1).cast(pl.Int64)
    rows = truth.labels.labels.filter((pl.col("annotator") != "ann_1") | (number % 2 == 0))
    labels = assay.read(rows, judges=["gpt"], scale="1-5", items=truth.labels.items)
    found = assay.rater_model(labels, "dialect", quick=True, starts=1).fairness.rows
    row = found.filter(pl.col("annotator") == "ann_1").row(0, named=True)
    assert np.isnan(row["estimate"])
    assert row["reason"] == "no labels in both north and south"
    assert found["estimate"].drop_nans().sum() == pytest.approx(0, abs=1e-9)


# -- where people meet it -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_report_says_who_is_severe():
    labels = rated(60, (-0.8, 0.0, 0.3, 0.5), (0.5,) * 4, seed=14).labels
    page = assay.report(labels, expertise="skilled", n_resamples=60)
    titles = [s.title for s in page.page.sections]
    assert "Severity and variability of raters" in titles
    words = next(s for s in page.page.sections if s.title == "Severity and variability of raters").words
    assert any("Significantly more severe" in w and "ann_1" in w for w in words)


def test_the_command_prints_raters_and_fairness(tmp_path, capsys):
    from assay.cli.app import main

    truth = rated(160, criteria=1, bias={2: -0.9}, seed=9)
    truth.labels.labels.write_csv(tmp_path / "labels.csv")
    truth.labels.items.write_csv(tmp_path / "items.csv")
    words = ["raters", str(tmp_path / "labels.csv"), "--judges", "gpt", "--items", str(tmp_path / "items.csv")]
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        main([*words, "--scale", "1-5", "--group", "dialect", "--quick", "--starts", "1", "-o", str(page)])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "Δφ" in said
    assert re.search(r"ann_3 is significantly more severe with south", said)
    assert "Differential severity by dialect" in page.read_text()


@pytest.mark.simulation
@pytest.mark.usefixtures("few_checks")
def test_familywise_error_rate_without_bias():
    """A real gap between groups, six raters alike: family-wise error at 5%, with the error of 30 studies."""
    accused = 0
    for seed in range(30):
        labels = rated(100, (0.0,) * 6, (0.6,) * 6, gap=1.0, seed=500 + seed).labels
        rows = assay.rater_model(labels, "dialect", quick=True, starts=1).fairness.rows
        accused += rows["verdict"].is_in(["more_severe", "more_lenient"]).any()
    assert accused <= 5  # P(more | .05) = .3%


# -- what is not interpreted ---------------------------------------------------------------------------


def three_findings(constant: str | None, seed: int = 11, n: int = 160) -> assay.Annotations:
    """Three humans and a judge on three findings of ordered labels; with ``constant``, one finding is always absent."""
    rng = np.random.default_rng(seed)
    trait, rows = rng.normal(size=n), []
    for finding, share in {"effusion": 0.5, "nodule": 0.37, "air": 0.12}.items():
        z = 0.7 * trait + 0.7 * rng.normal(size=n)
        truth = np.digitize(z, np.quantile(z, [1 - share, 1 - 0.7 * share]))
        for who in ("Adler", "Brandt", "Chen", "LLM"):
            label = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), truth)
            if who == "LLM" and finding == constant:
                label = np.zeros(n, int)
            rows += [(f"i{i:03}", who, finding, int(x)) for i, x in enumerate(label)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    return assay.read(frame, scale="0-2", judges=["LLM"])


def test_a_rater_whose_severity_must_not_be_interpreted_has_no_sentence_about_it():
    found = assay.rater_model(three_findings("air"), quick=True)
    told = found.cautions
    forbidden = {name for name in found.doubtful if any(name in c and "Do not interpret" in c for c in told)}
    assert forbidden == set(found.doubtful) >= {"LLM"}
    said = found.sentences()
    for line in said:
        if re.search("more (severe|lenient)", line):
            assert not any(name in line for name in found.doubtful), line
    assert any("LLM" in line and "not interpreted" in line for line in said)
    assert any(line.startswith("Judges − humans, mean severity: not interpreted (includes ") for line in said)


def test_a_report_fits_the_rater_model_as_the_command_does():
    from assay.psychometrics.page import report_raters
    from assay.reporting.page import PartOptions

    labels = three_findings("air")
    intervals = {"confidence": 0.95, "n_resamples": 1000, "seed": 0}
    options = PartOptions(by=None, repeats="error", clusters=None, similarity=None, intervals=intervals)
    alone = assay.rater_model(labels, quick=True)
    parts = report_raters(labels, options)
    assert (alone.sentences(), alone.cautions) in [(part.words, part.cautions) for part in parts]


@pytest.mark.parametrize("ordered", [False, True])
def test_criterion_of_words_is_named_with_codes_that_make_it_numbers(ordered):
    rng = np.random.default_rng(4)
    rows = [
        (f"t{k}", who, c, int(rng.integers(1, 4)) if c == "clear" else "ny"[int(rng.integers(2))])
        for k in range(30) for who in ("ann", "bob", "cho") for c in ("clear", "rude")
    ]  # fmt: skip
    rows = [(*row[:3], str(row[3])) for row in rows]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    words = "ordinal:n<y" if ordered else "nominal:n,y"
    labels = assay.read(frame, scale={"clear": "1-3", "rude": words})
    said = (
        rf"those of 'rude' are on the scale '{words}'; choose other criteria with "
        r"labels.where\(criterion=\['clear'\]\), or read the words as numbers from 0 to 1 with "
        r"codes=\{'n': '0', 'y': '1'\}"
    )
    design = {"design": "i x a x c", "object": "i", "facets": {"i": "item", "a": "annotator", "c": "criterion"}}
    with pytest.raises(DesignError, match=f"variances require numeric labels; {said}"):
        assay.g_study(labels, **design)
    if not ordered:
        with pytest.raises(DesignError, match=f"raters require ordered labels; {said}"):
            assay.rater_model(labels, quick=True)
    followed = assay.read(frame, scale={"clear": "1-3", "rude": "0-1"}, codes={"n": "0", "y": "1"})
    assert assay.rater_model(followed, quick=True).rows.height == 3
    assert assay.g_study(followed, **design).table.height
