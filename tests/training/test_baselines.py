"""Baselines and measures: against scikit-learn, by hand, and against the alternative annotator test's own R."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from teaching import quick, reviews

import assay
from assay.data.annotations import Annotations
from assay.estimation.options import IntervalSettings
from assay.training.baselines import (
    PENALTIES,
    RaterMeasures,
    cross_fitted,
    features,
    fit_odds,
    increasing_thresholds,
    measure,
    odds_shares,
    ordinal_regression,
    ridge,
    ridges,
    step_derivatives,
)
from assay.training.documents import Folds, Texts, targets_of


def test_ridge_equals_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is the oracle")
    rng = np.random.default_rng(0)
    for n, d in ((40, 6), (10, 30)):
        x, new = rng.normal(size=(n, d)), rng.normal(size=(5, d))
        y = x[:, :2] @ rng.normal(size=(2, 3)) + rng.normal(size=(n, 3)) + 7
        for penalty in (0.01, 1.0, 50.0):
            wanted = linear.Ridge(alpha=penalty).fit(x, y).predict(new)
            np.testing.assert_allclose(ridges(x, y, new, np.array([penalty]))[0], wanted, atol=1e-8)


def test_penalty_is_chosen_on_held_out_documents():
    """Features of a whole document help if single items are left out, and hurt if documents are."""
    rng = np.random.default_rng(1)
    document = np.repeat(np.arange(20), 5)
    x = rng.normal(size=(20, 30))[document] + 0.01 * rng.normal(size=(100, 30))
    y = rng.normal(size=20)[document][:, None] + 0.1 * rng.normal(size=(100, 1))
    by_document = ridge(x, y, x, document % 4)
    by_item = ridge(x, y, x, np.arange(100) % 4)
    assert by_item.std() > 0.8 * y.std()
    assert by_document.std() < 0.2 * y.std()
    assert len(PENALTIES) == 13


def test_ordinal_regression_recovers_proportional_odds():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(4000, 3))
    slope, cuts = np.array([1.0, -0.5, 0.0]), np.array([-1.0, 0.5, 1.5])
    latent = z @ slope + rng.logistic(size=4000)
    share = np.eye(4)[(latent[:, None] > cuts).sum(1)]
    found = fit_odds(z, share, 0.1)
    np.testing.assert_allclose(found[0], slope, atol=0.12)
    np.testing.assert_allclose(found[1], cuts, atol=0.12)
    p = odds_shares(found, z)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p.mean(axis=0), share.mean(axis=0), atol=0.01)


def test_label_that_was_never_given_has_no_share():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 4))
    share = np.zeros((60, 5))
    share[np.arange(60), np.where(x[:, 0] > 0, 3, 1)] = 1
    found = ordinal_regression(x, share, x, np.arange(60) % 3)
    assert found[:, [0, 2, 4]].max() == 0
    assert (found.argmax(1) == np.where(x[:, 0] > 0, 3, 1)).mean() > 0.9
    only = ordinal_regression(x, np.eye(5)[np.full(60, 2)], x, np.arange(60) % 3)
    assert (only[:, 2] == 1).all()


def test_r_and_rmse_by_hand():
    rows = [("a", "x", 1), ("a", "y", 3), ("b", "x", 5), ("b", "y", 5), ("c", "x", 2)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    (target,) = targets_of(Annotations.from_frame(frame, scale="1-5", judges=[]), ["x", "y"], ["a", "b", "c"])
    value = np.array([2.5, 4.0, 2.0])
    statistic = RaterMeasures(1, 2, 1, False)
    moments = statistic.moments(target, [value], [np.array([[2.0], [4.0], [2.0]])])
    r, rmse, kept = statistic.value(moments.sum(axis=0))
    assert r == pytest.approx(np.corrcoef(value, [2, 5, 2])[0, 1])
    assert rmse == pytest.approx(np.sqrt((0.25 + 1 + 0) / 3))
    # R is of a and b, which two people answered. Rater 2, 4: observed ((1 + 1)/2 + (1 + 1)/2)/2 = 1; expected of a's
    # label with b's people 9, of b's with a's (9 + 1)/2 = 5: 7. People: observed (4 + 0)/2 = 2; of different people on
    # different items |1−5|², |3−5|²: 16, 4: 10.
    assert kept == pytest.approx((1 - 1 / 7) / (1 - 2 / 10))


def test_agreement_shares_and_agreement_ratio_of_categories_by_hand():
    rows = [("a", "x", "no"), ("a", "y", "no"), ("b", "x", "yes"), ("b", "y", "yes"), ("c", "x", "no"),
            ("d", "x", "no"), ("d", "y", "yes")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, scale="nominal:no,yes", judges=[])
    (target,) = targets_of(labels, ["x", "y"], ["a", "b", "c", "d", "e"])  # e has no labels
    value = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6], [0.5, 0.5]])
    point = target.coordinates([0, 1, 1, 1, 0])
    statistic = RaterMeasures(1, 2, 2, True)
    agreement, rmse, kept = statistic.value(statistic.moments(target, [value], [point]).sum(axis=0))
    assert agreement == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert rmse == pytest.approx(np.sqrt((0.02 + 0.08 + 0.98 + 0.02) / 4))
    # R is of a, b and d. Rater: observed (0 + 0 + 1/2) / 3; expected of no with b and d, yes with a and d, yes with a
    # and b: (1 + 1/2 + 1 + 1/2 + 1 + 0) / 6. People: observed 1 / 3; x of an item with y of another: 4 of 6 differ.
    assert kept == pytest.approx((1 - (1 / 6) / (2 / 3)) / (1 - (1 / 3) / (2 / 3)))


def test_inestimable_measures_are_nan():
    rows = [("a", "x", 1), ("a", "y", 3), ("b", "x", 3), ("b", "y", 1)]  # annotators agree less than by chance
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    (target,) = targets_of(Annotations.from_frame(frame, scale="1-5", judges=[]), ["x", "y"], ["a", "b"])
    statistic = RaterMeasures(1, 2, 1, False)
    value = np.array([2.0, 2.0])  # and the rater does not vary
    r, rmse, kept = statistic.value(statistic.moments(target, [value], [value[:, None]]).sum(axis=0))
    assert np.isnan(r)
    assert np.isnan(kept)
    assert rmse == 0


def test_features_are_means_of_the_whole_and_of_thirds():
    rows = np.arange(1.0, 9.0)[:, None] * [1, 10]
    said = [["x"], ["x"] * 8]
    texts = Texts(("a", "b", "c"), said, np.array([1, 1, 0]), np.array([0, 5, 0]), np.array([5, 8, 1]))
    one, three = features(texts, [rows[:1], rows])
    np.testing.assert_allclose(one[:, 0], [3, 7, 1])
    # Of five sentences the thirds are 1 and 2, 3 and 4, 5; of a single one the others are its mean.
    np.testing.assert_allclose(three[:, 0::2], [[1.5, 3.5, 5], [6, 7, 8], [1, 1, 1]])
    np.testing.assert_allclose(three, np.repeat(three[:, 0::2], 2, axis=1) * np.tile([1, 10], 3))


def test_thresholds_increase_and_shares_are_their_differences():
    at = np.array([-1.0, np.log(2.0), np.log(0.5)])
    np.testing.assert_allclose(increasing_thresholds(at), [-1, 1, 1.5])
    p = odds_shares((np.array([1.0]), np.array([0.0, 1.0])), np.array([[0.0], [100.0]]))
    low, mid = 0.5, 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(p[0], [low, mid - low, 1 - mid])
    np.testing.assert_allclose(p[1], [1e-12, 1e-12, 1], rtol=1e-9)  # never 0, whose logarithm is not finite
    weight, small = np.array([0.3, -0.7, 2.0]), 1e-6
    slow = [
        (increasing_thresholds(at + small * e) - increasing_thresholds(at - small * e)) @ weight / (2 * small)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(step_derivatives(at, weight), slow, rtol=1e-6)


@pytest.mark.parametrize("penalty", [0.5, 5.0])
def test_proportional_odds_minimize_the_penalized_likelihood(penalty):
    rng = np.random.default_rng(4)
    z = rng.normal(size=(30, 2))
    share = np.eye(3)[np.clip(np.round(z[:, 0] + 1 + rng.normal(size=30)), 0, 2).astype(int)]
    slope, cuts = fit_odds(z, share, penalty)

    def loss(at):  # the penalty is half of the squared slopes
        p = odds_shares((at[:2], at[2:]), z)
        return -(share * np.log(p)).sum() + penalty * (at[:2] ** 2).sum() / 2

    found, small = np.concatenate([slope, cuts]), 1e-5
    slow = [(loss(found + small * e) - loss(found - small * e)) / (2 * small) for e in np.eye(4)]
    np.testing.assert_allclose(slow, 0, atol=2e-3)


@pytest.mark.parametrize(
    ("label", "inner", "penalties"),
    [
        ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [0.1, 0.1, 1, 1, 10, 10]),
        ([0, 1, 2, 0, 1, 0], [0, 0, 0, 1, 1, 1], [0.1, 1, 10]),  # without the first fold, the third label never occurs
        ([0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 0, 0], []),  # with one fold there are no training items
    ],
)
def test_penalty_is_chosen_on_folds_with_all_labels_in_training(monkeypatch, label, inner, penalties):
    asked = []

    def fit(z, share, penalty):
        asked.append((penalty, len(z)))
        return penalty, None

    def odds(fit, z):  # of the true label the more, the nearer the penalty is to 1
        far = abs(np.log10(fit[0]))
        return np.full((len(z), 3), 1 / 3) * (1 - far / 2)

    monkeypatch.setattr("assay.training.baselines.fit_odds", fit)
    monkeypatch.setattr("assay.training.baselines.odds_shares", odds)
    x = np.random.default_rng(0).normal(size=(6, 2))
    ordinal_regression(x, np.eye(3)[label], x[:1], np.array(inner))
    assert [penalty for penalty, _ in asked[:-1]] == penalties
    assert {n for _, n in asked[:-1]} <= {3}
    assert asked[-1] == (1.0 if penalties else 0.1, 6)


class HalvesAndQuarters:
    """Two folds of four items each, with inner folds in turn."""

    fold = np.array([0, 1] * 4)

    def __len__(self) -> int:
        return 2

    def inner(self, train, parts, *seed):
        self.asked = (parts, seed)
        return np.arange(len(train)) % 2


@pytest.mark.parametrize("scale", ["1-5", "interval", "nominal:1,2,3,4"])
def test_baselines_are_out_of_fold(scale):
    label = [1, 2, 3, 4, 1, 2, 3, None]  # the last is unlabelled
    rows = [(f"i{k}", "x", str(one) if scale.startswith("nominal") else one) for k, one in enumerate(label) if one]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    (target,) = targets_of(Annotations.from_frame(frame, scale=scale, judges=[]), ["x"], [f"i{k}" for k in range(8)])
    rng = np.random.default_rng(0)
    texts = Texts(tuple("abcdefgh"), [["x"] * 3] * 8, np.arange(8), np.zeros(8, dtype=int), np.full(8, 3))
    folds = HalvesAndQuarters()
    found = cross_fitted(texts, [rng.normal(size=(3, 2)) for _ in range(8)], target, folds)
    assert folds.asked == (4, (7, 1))
    names = ["mean", "ridge", "ridge on thirds"] + (["ordinal regression"] if scale == "1-5" else [])
    assert list(found) == names
    assert all(np.isfinite(one).all() for one in found.values())
    even, odd = (1 + 3 + 1 + 3) / 4, (2 + 4 + 2) / 3  # the means of one fold are predicted in the other
    if scale.startswith("nominal"):
        np.testing.assert_allclose(found["mean"][:2], [[0, 2 / 3, 0, 1 / 3], [1 / 2, 0, 1 / 2, 0]])
    else:
        np.testing.assert_allclose(found["mean"], [odd, even] * 4)


def slow_agreement_ratio(labels: Annotations, judge: str) -> float:
    """A(judge, people) / A(people, people) from every pair of labels."""
    where = {name: k for k, name in enumerate(labels.scale.categories)}
    rows = [(i, who, where[label]) for i, who, label in labels.labels.select("item", "annotator", "label").iter_rows()]
    people = [row for row in rows if row[1] in labels.humans]
    judged = [row for row in rows if row[1] == judge]
    n = {i: sum(row[0] == i for row in people) for i, _, _ in people}

    def chance_corrected(mine):
        total = np.zeros((2, 2))
        for i, who, a in mine:
            for j, other, b in people:
                if who == other or n[j] < 2 or n[i] < 2:
                    continue
                weight = (1 if who == judge else 1 / n[i]) / (n[j] - (who != judge and i == j))
                apart = (a - b) ** 2 if labels.scale.kind == "ordinal" else float(a != b)
                if i != j:
                    weight = (1 if who == judge else 1 / n[i]) / n[j]
                total[int(i != j)] += weight * np.array([apart, 1])
        return 1 - total[0, 0] / total[0, 1] / (total[1, 0] / total[1, 1])

    return chance_corrected(judged) / chance_corrected(people)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1-5", "nominal:no,yes"])
def test_agreement_ratio_equals_that_of_alt_test(scale):
    found = quick(reviews(scale=scale, noise=0.8), document="document", epochs=6, learning_rate=0.02)
    both = found.annotations(baselines=True)
    bare = Annotations.from_frame(
        both.labels.select("item", "annotator", "label"), judges=both.judges, scale=both.scale, exclude=[]
    )
    for judge in ("encoder", "ridge"):
        wanted = assay.alt_test(bare, judge, epsilon=0.1).agreement_ratio.estimate
        mine = found.table.filter((pl.col("rater") == judge) & (pl.col("measure") == "R"))["estimate"][0]
        assert mine == pytest.approx(wanted, abs=0.01), "its jackknife corrects a bias of the order 1/n"
        assert mine == pytest.approx(slow_agreement_ratio(bare, judge)), judge


def test_linear_relation_is_learnt_and_reported():
    """Stars are a sum over the words: ridge is as good as can be, and a network of two epochs is not."""
    found = quick(reviews(), document="document")
    row = found.table.filter((pl.col("rater") == "ridge") & (pl.col("measure") == "r"))
    assert row["estimate"][0] > 0.9
    best = found.table["baseline"][0]
    assert f"{best}, the best baseline" in found.summary()
    assert "significantly worse in r and RMSE" in found.summary()
    assert found.lead("encoder", "RMSE").high < 0


# -- several raters, and intervals over documents -----------------------------------------------------------


def rated(scale, seed=3, n=9, people="xyz"):
    """Labels of three annotators for nine items; the last is unlabelled, and one annotator skips every fourth."""
    rng = np.random.default_rng(seed)
    rows = [(f"i{k}", who, int(rng.integers(1, 4))) for k in range(n - 1) for p, who in enumerate(people)
            if (k + p) % 4]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    if scale.startswith("nominal"):
        frame = frame.with_columns(pl.col("label").cast(pl.String))
    labels = Annotations.from_frame(frame, scale=scale, judges=[])
    return targets_of(labels, list(people), [f"i{k}" for k in range(n)])[0], rng


@pytest.mark.parametrize("scale", ["1-3", "nominal:1,2,3"])
def test_joint_measures_equal_single_measures(scale):
    target, rng = rated(scale)
    nominal = scale.startswith("nominal")
    values = [rng.dirichlet(np.ones(3), 9) if nominal else rng.uniform(1, 3, 9) for _ in range(3)]
    labels = [target.coordinates(v.argmax(axis=1) if nominal else np.round(v)) for v in values]
    width = labels[0].shape[1]
    both = RaterMeasures(3, 3, width, nominal)
    moments = both.moments(target, values, labels)
    found = both.value(moments.sum(axis=0))
    for k in range(3):
        one = RaterMeasures(1, 3, width, nominal)
        alone = one.value(one.moments(target, [values[k]], [labels[k]]).sum(axis=0))
        np.testing.assert_allclose(found[3 * k : 3 * k + 3], alone)
    stacked = both.value(np.stack([moments.sum(axis=0), moments[:6].sum(axis=0)]))
    assert stacked.shape == (2, 9)
    np.testing.assert_allclose(stacked[0], found)


def test_unlabelled_items_are_excluded_and_documents_are_resampled():
    target, rng = rated("1-3", n=13)
    values = {"ridge": rng.uniform(1, 3, 13), "mean": np.linspace(1, 3, 13)}
    group = np.array([7, 7, 0, 0, 0, 3, 3, 9, 9, 4, 4, 4, 9])
    folds = Folds(group, 0 * group, ("1",), ())
    found = measure(target, values, folds, 3, IntervalSettings(method="jackknife"))
    assert (found.n_items, len(found)) == (12, 6)

    def slow(keep):
        rows = []
        for value in values.values():
            known = keep & np.isfinite(target.mean)
            error = value[known] - target.mean[known]
            rows += [np.corrcoef(value[known], target.mean[known])[0, 1], np.sqrt(np.mean(error**2))]
        return np.array(rows)

    every = np.ones(13, dtype=bool)
    np.testing.assert_allclose(found.value[[0, 1, 3, 4]], slow(every))
    without = [slow(group != one) for one in np.unique(group)]
    np.testing.assert_allclose(np.sort(found.leave_one_out[:, [0, 1, 3, 4]], axis=0), np.sort(without, axis=0))
    worse = dict(values, ridge=np.where(np.isfinite(target.mean), values["ridge"], 99.0))
    again = measure(target, worse, folds, 3, IntervalSettings(method="none"))
    np.testing.assert_array_equal(again.value, found.value)
