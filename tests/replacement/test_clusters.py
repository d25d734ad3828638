"""Clusters in the tests: robust standard errors, and what they must be in cases that are known."""

import numpy as np
import polars as pl
import pytest

import assay
from assay.replacement import decision
from assay.statistics import clusters
from assay.statistics.wins import count_wins, robust_p


def table(copies: int, n_items: int = 60, seed: int = 3) -> assay.Annotations:
    """A study in which every item occurs ``copies`` times, as perfectly dependent items of one document."""
    base = assay.simulate(n_items=n_items, n_annotators=3, judges={"judge": 0.35}, prior=[0.25] * 4, seed=seed).labels
    parts = [
        base.with_columns(document=pl.col("item"), item=pl.format("{}-{}", "item", pl.lit(k))) for k in range(copies)
    ]
    return assay.Annotations.from_frame(pl.concat(parts), judges=["judge"])


@pytest.mark.parametrize("balance", [False, True])
def test_clusters_of_one_item_change_nothing(balance: bool) -> None:
    labels = table(1)
    plain = assay.alt_test(labels, "judge", epsilon=0.15, balance=balance)
    clustered = assay.alt_test(labels, "judge", epsilon=0.15, balance=balance, clusters="document")
    if not balance:
        assert np.allclose(plain.annotators["p"], clustered.annotators["p"], atol=1e-12)
    # With weights the paper's s is no sandwich, so the two differ, but by little.
    assert np.allclose(plain.annotators["p"], clustered.annotators["p"], atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [2, 5])
def test_clusters_of_copied_items_count_as_one(copies: int) -> None:
    once = assay.alt_test(table(1), "judge", epsilon=0.15)
    many = assay.alt_test(table(copies), "judge", epsilon=0.15, clusters="document")
    naive = assay.alt_test(table(copies), "judge", epsilon=0.15)
    assert np.allclose(once.annotators["p"], many.annotators["p"], atol=1e-9)
    assert np.allclose(once.annotators["statistic"], many.annotators["statistic"], atol=1e-9)
    assert (np.abs(naive.annotators["statistic"].to_numpy()) > np.abs(once.annotators["statistic"].to_numpy())).all()
    assert many.smallest_epsilon == pytest.approx(once.smallest_epsilon, abs=1e-6)
    rho, single = many.advantage_probability, once.advantage_probability
    assert (rho.low, rho.high) == pytest.approx((single.low, single.high), abs=1e-12)


def test_clusters_are_in_signature_and_summary() -> None:
    test = assay.alt_test(table(2), "judge", epsilon=0.15, clusters="document")
    assert "|clusters:document|" in test.signature
    assert "robust to clusters of 'document'" in test.summary()


def test_dependent_items_of_a_column_are_a_caution() -> None:
    """Items that are the same in each document are as many as the documents; documents drawn by lot change nothing."""
    labels = table(5)
    rng = np.random.default_rng(1)
    lot = rng.permutation(np.arange(labels.n_items) // 5)
    about = labels.items.with_columns(lot=pl.Series([f"l{k}" for k in lot]), length=rng.integers(1, 40, labels.n_items))
    test = assay.alt_test(assay.Annotations.from_frame(labels.labels, items=about, judges=["judge"]), "judge",
                          epsilon=0.15)  # fmt: skip
    effect = test.document_effect
    assert effect is not None
    assert (effect.column, effect.n_stems, effect.n_items) == ("document", 60, 300)
    assert effect.design == pytest.approx(5, rel=0.02)
    said = "300 items share 60 values of “document”; design effect 5.0"
    assert f"Caution: {said}" in test.summary()
    assert "Set clusters='document' (--clusters document)." in test.summary()
    apart = assay.Annotations.from_frame(labels.labels, items=about.drop("document"), judges=["judge"])
    other = assay.alt_test(apart, "judge", epsilon=0.15).document_effect
    assert other is None or other.column == ""
    clustered = assay.alt_test(labels, "judge", epsilon=0.15, clusters="document")
    assert clustered.document_effect is None


def test_prefixes_of_independent_items_are_no_caution() -> None:
    """Six documents of 20 items whose errors are independent were "equivalent to 45 items" in every study."""
    said = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        truth = rng.normal(3, 1, 120)
        labels = np.clip(np.round(truth + rng.normal(0, 0.7, (4, 120))), 1, 5).astype(int)
        frame = pl.DataFrame({
            "item": [f"doc{k // 20:02d}_{k % 20:02d}" for k in range(120)] * 4,
            "annotator": np.repeat(["judge", "a", "b", "c"], 120), "label": labels.ravel(),
        })  # fmt: skip
        test = assay.alt_test(assay.Annotations.from_frame(frame, judges=["judge"], scale="1-5"), "judge", epsilon=0.15)
        effect = test.document_effect
        assert effect is not None
        assert (effect.n_stems, effect.n_items, effect.column) == (6, 120, "")
        said.append(effect.design)
        assert "Caution" not in test.summary() or not effect.by_chance
    assert np.mean(said) == pytest.approx(1, abs=0.25)  # half a cluster of identical items added made it 2.7
    # Four equal items of each of 30 documents are 30 items.
    rng = np.random.default_rng(0)
    labels = np.repeat(
        np.clip(np.round(rng.normal(3, 1, 30) + rng.normal(0, 0.7, (4, 30))), 1, 5).astype(int), 4, axis=1
    )
    items = [f"doc{k // 4:02d}_{k % 4}" for k in range(120)] * 4
    frame = frame.with_columns(label=pl.Series(labels.ravel()), item=pl.Series(items))
    test = assay.alt_test(assay.Annotations.from_frame(frame, judges=["judge"], scale="1-5"), "judge", epsilon=0.15)
    assert test.document_effect is not None
    assert test.document_effect.design == pytest.approx(4 * (119 / 120) / (29 / 30))  # unbiased variances of both
    assert "Caution: 120 item ids share 30 prefixes; design effect" in test.summary()


def test_clusters_rejects_unknown_column() -> None:
    with pytest.raises(
        assay.errors.DataError, match="item column 'documnet' is not in the table of items; did you mean 'document'"
    ):
        assay.alt_test(table(2), "judge", epsilon=0.15, clusters="documnet")


def test_clustering_of_robust_error_by_hand() -> None:
    # Two clusters of two items; d of ann: cluster a (1, 1), cluster b (-1, 0); mean 1/4.
    # Residuals (d - 1/4) / 4: a sums to 6/16, b to -6/16; leverage of each 1/2, so 2 * 2 * (6/16)^2, error 0.75.
    counts = np.array([[[1.0, 1.0, 2.0]]])
    d = np.array([1, 1, -1, 0])
    found = clusters.clustering_of(
        counts, decision.t_parts(counts)[1], np.zeros(4, int), np.array([0, 0, 1, 1]), -d, None
    )
    _, plain, _ = decision.t_parts(counts)
    assert plain[0] * found.inflation[0] == pytest.approx(0.75)
    assert found.share[0] == 0.5


def test_alt_test_paired_rejects_clusters() -> None:
    with pytest.raises(assay.errors.DesignError, match="requires independent items"):
        assay.alt_test_paired(table(2), "judge", [["ann_1"], ["ann_2", "ann_3"]], epsilon=0.1, clusters="document")


# -- few clusters, and clusters of unequal size -------------------------------------------------------


def studies(sizes: list[int], ties: float, epsilon: float, alike: float, seed: int, n_studies: int = 3000):
    """Studies at the boundary, each a group of comparisons: group, cluster and sign of each.

    A cluster has separate probabilities, so that two of its items have correlation ``alike`` (a Dirichlet-
    multinomial).
    """
    rng = np.random.default_rng(seed)
    chance = np.array([(1 - ties + epsilon) / 2, ties, (1 - ties - epsilon) / 2])  # loss, tie, win
    if alike:
        own = rng.gamma(chance * (1 - alike) / alike, size=(n_studies, len(sizes), 3))
        own /= own.sum(axis=-1, keepdims=True)
    else:
        own = np.broadcast_to(chance, (n_studies, len(sizes), 3))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    sign = (rng.random((n_studies, len(cluster)))[..., None] > own[:, cluster].cumsum(axis=-1)[..., :2]).sum(
        axis=-1
    ) - 1
    group = np.repeat(np.arange(n_studies), len(cluster))
    return group, np.tile(cluster, n_studies), sign.ravel()


def p_of(group: np.ndarray, cluster: np.ndarray, sign: np.ndarray, epsilon: float):
    """The verdict's two p-values of each study, and the t-test's."""
    counts = count_wins(sign, group, int(group.max()) + 1)
    clustering = clusters.clustering_of(counts, decision.t_parts(counts)[1], group, cluster, sign, None)
    return *decision.best_p(counts, epsilon, clustering), decision.p_values(counts, epsilon, clustering)[1]


UNEQUAL = {10: [60, 30, 20, 20, 15, 15, 10, 10, 10, 10], 30: [40] * 2 + [12] * 8 + [4] * 20}


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [10, 30])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("alike", [0.0, 0.3])
def test_few_clusters_hold_the_level(n_clusters, equal, alike):
    sizes = [200 // n_clusters] * n_clusters if equal else UNEQUAL[n_clusters]
    for ties, epsilon in ((0.5, 0.15), (0.3, 0.1)):
        p, reverse, _ = p_of(*studies(sizes, ties, epsilon, alike, 5), epsilon)
        # The standard error of .05 in 3,000 studies is .004.
        assert np.mean(p <= 0.05) <= 0.06
        assert np.mean(reverse <= 0.05) <= 0.06


def test_unequal_clusters_count_for_fewer():
    # One cluster of 60 items and nine of five: alike to the last item they count as little more than one,
    # (Σ n²)² / Σ n⁴ = 3825² / 12,965,625 = 1.128 by what they add to the variance.
    sizes = [60] + [5] * 9
    cluster = np.repeat(np.arange(10), sizes)
    sign = np.where(cluster % 2 == 0, 1, -1)
    counts = np.array([[[np.sum(sign == 1), 0, np.sum(sign == -1)]]], dtype=float)
    found = clusters.clustering_of(counts, decision.t_parts(counts)[1], np.zeros(105, int), cluster, sign, None)
    assert found.share[0] * 105 == pytest.approx(3825**2 / (60**4 + 9 * 5**4), rel=0.01)
    even = np.array([[[5.0, 0, 5.0]]])
    error = decision.t_parts(even)[1]
    alone = clusters.clustering_of(even, error, np.zeros(10, int), np.arange(10), sign[-50::5], None)
    assert (alone.share[0], alone.design[0]) == pytest.approx((1.0, 1.0))


def test_fewer_than_ten_clusters_are_undecided() -> None:
    labels = assay.simulate(90, 3, prior=[0.25] * 4, judges=0.0, annotator_noise=0.2, documents=9, alike=0.2, seed=1)
    test = assay.alt_test(labels, "judge", epsilon=0.2, clusters="document")
    assert (test.verdict, test.reason) == ("undecided", "too_few_clusters")
    assert "9 clusters" in test.summary()
    assert assay.alt_test(labels, "judge", epsilon=0.2).verdict == "replace"
    more = assay.simulate(100, 3, prior=[0.25] * 4, judges=0.0, annotator_noise=0.2, documents=10, alike=0.2, seed=1)
    assert assay.alt_test(more, "judge", epsilon=0.2, clusters="document").verdict == "replace"


def test_effective_clusters_of_identical_and_independent_items() -> None:
    """Carter et al. (2017): (Σ γ)² / Σ γ² of what each cluster adds to the variance, γ = n_g² or n_g."""
    sizes = [1, 2, 3, 6, 8, 10]
    cluster = np.repeat(np.arange(6), sizes)
    alike = np.array([1, -1, 0, 1, -1, 0])[cluster]
    apart = np.tile([1, -1], 15)

    def effective(sign: np.ndarray) -> float:
        counts = np.array([[[np.sum(sign == 1), np.sum(sign == 0), np.sum(sign == -1)]]], dtype=float)
        found = clusters.clustering_of(
            counts, decision.t_parts(counts)[1], np.zeros(30, dtype=int), cluster, sign, None
        )
        assert found.n_clusters.tolist() == [6]
        return float(found.share[0]) * 30

    squares = [n**2 for n in sizes]
    assert effective(alike) == pytest.approx(sum(squares) ** 2 / sum(s**2 for s in squares))
    # Wins and losses by turns: no more alike than chance, so that items count alone.
    assert effective(apart) == pytest.approx(sum(sizes) ** 2 / sum(squares))


def test_clusters_with_too_few_items_are_undecided():
    labels = assay.simulate(20, 3, scale="1-5", documents=5, seed=1)
    found = assay.alt_test(labels, "judge", epsilon=0.2, clusters="document")
    assert found.verdict == "undecided"
    assert "no annotator has 30 comparable items" in found.summary()


@pytest.mark.parametrize(
    ("n_clusters", "share", "design", "shown"),
    [
        (10, 0.2, 1.0, True),
        (9, 0.2, 1.0, False),
        (10, 0.05, 1.0, False),  # of 20 items as much as one cluster: no degree of freedom is left
        (10, 0.06, 1.0, True),
        (10, 0.2, np.nan, False),  # a class lies in one cluster alone
    ],
)
def test_best_p_requires_ten_and_more_than_one_effective_cluster(n_clusters, share, design, shown) -> None:
    counts = np.array([[[12.0, 6.0, 2.0]]])  # 20 items
    found = clusters.Clustering(
        np.ones(1), np.array([share]), np.array([design]), np.array([design]), np.array([n_clusters])
    )
    p, reverse = decision.best_p(counts, 0.1, found)
    if shown:
        wanted = robust_p(counts, 0.1, np.array([design]), np.array([20 * share - 1]))
        assert (p[0], reverse[0]) == (wanted[0][0], wanted[1][0])
        assert p[0] < 0.5 < reverse[0]
    else:
        assert (p[0], reverse[0]) == (1, 1)


# -- the whole of it, the slow way --------------------------------------------------------------------


def slow_clustering(cluster: list[int], sign: list[int], shares: list[list[float]]) -> dict[str, float]:
    """What clusters take from one group's test, item by item, by the equations of `clusters.clustering_of`."""
    items, classes = range(len(cluster)), range(len(shares[0]))
    n = [sum(shares[i][c] for i in items) for c in classes]
    here = [c for c in classes if n[c] > 0]
    d = [-s for s in sign]
    mean = {c: sum(shares[i][c] * d[i] for i in items) / n[c] for c in here}
    each = {c: 1 / n[c] / len(here) for c in here}  # the mean difference is the mean over classes
    own = sum(
        each[c] ** 2 * sum(shares[i][c] * (d[i] - mean[c]) ** 2 for i in items) * n[c] / (n[c] - 1)
        for c in here if n[c] > 1
    )  # fmt: skip
    weight = [sum(shares[i][c] * each[c] for c in here) for i in items]
    robust = alone = 0.0
    sums, squares = [], []
    for g in sorted(set(cluster)):
        mine = [i for i in items if cluster[i] == g]
        held = {c: sum(shares[i][c] for i in mine) for c in here}
        residual = sum(shares[i][c] * each[c] * (d[i] - mean[c]) for i in mine for c in here)
        whole = sum(each[c] ** 2 * held[c] for c in here)
        taken = sum(each[c] ** 2 * held[c] ** 2 / n[c] for c in here)
        robust += residual**2 * (whole / (whole - taken) if whole > taken * (1 + 1e-9) else 1)
        alone += any(held[c] > n[c] - 1e-9 for c in here)
        sums.append(sum(weight[i] for i in mine))
        squares.append(sum(weight[i] ** 2 for i in mine))
    most = sum(s**2 for s in sums) / sum(squares)  # the design effect of clusters that are all alike
    effect = robust / own if own > 0 else most
    k = len(sums)
    within = min(max((effect - 1) / (most - 1), 0), 1) if most > 1 + 1e-9 else 0
    adds = [(1 - within) * q + within * s**2 for s, q in zip(sums, squares, strict=True)]
    return {
        "share": sum(adds) ** 2 / sum(a**2 for a in adds) / sum(n),
        "design": np.nan if alone else max(((k - 1) * effect + most / 2) / (k - 0.5), 1),
        "n_clusters": k,
        "robust": robust,
    }


ONE = [[1.0]]
CLUSTERED = {
    "alike": ([0, 0, 1, 1, 2, 2], [1, 1, -1, -1, 0, 1], ONE * 6),
    "unequal": ([0] * 5 + [1] * 3 + [3] + [2] * 4, [1, 1, 0, 1, -1, -1, -1, 0, 1, 0, -1, 1, 1], ONE * 13),
    "apart": ([0, 0, 1, 1, 2, 2], [1, -1, 1, -1, 0, 0], ONE * 6),
    "one cluster": ([4] * 5, [1, 1, 0, -1, 1], ONE * 5),
    "items": ([0, 1, 2, 3], [1, 1, -1, 0], ONE * 4),
    "all equal": ([0, 0, 0, 1, 2, 2], [1] * 6, ONE * 6),
    "classes": ([0, 0, 1, 1, 2, 2, 2], [1, 1, -1, 0, 0, 1, -1],
                [[1.0, 0], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0], [0, 1]]),
    "shares": ([0, 0, 1, 1, 2, 3], [1, -1, -1, 0, 1, 1],
               [[0.5, 0.5], [1, 0], [0, 1], [0.5, 0.5], [0.25, 0.75], [1, 0]]),
    "a class in one cluster": ([0, 0, 1, 1, 2], [1, 0, -1, 1, 1], [[0.0, 1], [0, 1], [1, 0], [1, 0], [1, 0]]),
    "a class of one item": ([0, 0, 1, 1, 2], [1, 0, -1, 1, 1], [[0.0, 1], [1, 0], [1, 0], [1, 0], [1, 0]]),
    "an empty class": ([0, 0, 1, 1, 2], [1, 0, -1, 1, 1], [[0.0, 1]] * 5),
}  # fmt: skip


@pytest.mark.parametrize("name", CLUSTERED)
def test_clustering_of_equals_reference(name: str) -> None:
    cluster, sign, shares = CLUSTERED[name]
    wanted = slow_clustering(cluster, sign, shares)
    found, error = clustered([(cluster, sign, shares)])
    assert (found.n_clusters[0], found.share[0]) == (wanted["n_clusters"], pytest.approx(wanted["share"]))
    assert found.design[0] == pytest.approx(wanted["design"], nan_ok=True)
    if name == "all equal":  # there is no error that clusters could inflate
        assert (found.inflation[0], error[0]) == (1, 0)
    else:
        assert found.inflation[0] * error[0] == pytest.approx(np.sqrt(wanted["robust"]))


def clustered(groups: list[tuple[list[int], list[int], list[list[float]]]]):
    """`clusters.clustering_of` of several groups, and their errors where items are independent."""
    group, cluster, sign, shares = (np.concatenate(part) for part in zip(
        *((np.full(len(c), i), c, s, w) for i, (c, s, w) in enumerate(groups)), strict=True))  # fmt: skip
    counts = np.zeros((len(groups), shares.shape[1], 3))
    for at, s, part in zip(group, sign, shares, strict=True):
        counts[at, :, 1 - s] += part  # wins, ties, losses
    alone = shares.shape[1] == 1
    return clusters.clustering_of(
        counts, decision.t_parts(counts)[1], group, cluster, sign, None if alone else shares
    ), decision.t_parts(counts)[1]


@pytest.mark.parametrize("names", [("alike", "unequal", "one cluster", "all equal"), ("classes", "shares")])
def test_clustering_of_treats_groups_separately(names: tuple[str, ...]) -> None:
    together, _ = clustered([CLUSTERED[name] for name in names])
    for i, name in enumerate(names):
        (alone, _), mine = clustered([CLUSTERED[name]]), together.part(np.array([i]))
        for one, other in ((mine.inflation, alone.inflation), (mine.share, alone.share), (mine.design, alone.design)):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        assert mine.n_clusters.tolist() == alone.n_clusters.tolist()


def test_clustering_of_design_effect_by_hand() -> None:
    """Three clusters of two: d is 1 1, -1 -1, 0 -1, so its mean is -1/6 and Σ (d - mean)² = 5 - 6/36 = 29/6.

    Independent items: 29/6 / 5 / 6 = .16111. Residual sums 14/6, -10/6, -4/6 make 312/36; each cluster's leverage is
    1/3, so the robust variance is 312/36 / 36 · 3/2 = .36111 and the effect 65/29 = 2.2414. Items that are all alike
    have 2, of which half a cluster is added: (2 · 2.2414 + .5 · 2) / 2.5 = 2.1931.
    """
    found, _ = clustered([CLUSTERED["alike"]])
    assert found.design[0] == pytest.approx((2 * 65 / 29 + 1) / 2.5)
    assert found.share[0] == pytest.approx(0.5)  # more alike than all alike counts as all alike: three of six
