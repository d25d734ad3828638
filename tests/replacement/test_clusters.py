"""Clusters in the tests: robust standard errors, and what they must be in cases that are known."""

import numpy as np
import polars as pl
import pytest

import assay


def table(copies: int, n_items: int = 60, seed: int = 3) -> assay.Annotations:
    """A study in which every item stands ``copies`` times, as perfectly dependent items of one document."""
    base = assay.simulate(n_items=n_items, n_annotators=3, judges={"judge": 0.35}, seed=seed).labels
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


@pytest.mark.parametrize("copies", [2, 5])
def test_copied_items_say_no_more_than_one(copies: int) -> None:
    once = assay.alt_test(table(1), "judge", epsilon=0.15)
    many = assay.alt_test(table(copies), "judge", epsilon=0.15, clusters="document")
    naive = assay.alt_test(table(copies), "judge", epsilon=0.15)
    assert np.allclose(once.annotators["p"], many.annotators["p"], atol=1e-9)
    assert np.allclose(once.annotators["statistic"], many.annotators["statistic"], atol=1e-9)
    assert (np.abs(naive.annotators["statistic"].to_numpy()) > np.abs(once.annotators["statistic"].to_numpy())).all()
    assert many.smallest_epsilon == pytest.approx(once.smallest_epsilon, abs=1e-6)
    rho, single = many.advantage_probability, once.advantage_probability
    assert (rho.low, rho.high) == pytest.approx((single.low, single.high), abs=1e-12)


def test_the_signature_and_the_summary_say_clusters() -> None:
    test = assay.alt_test(table(2), "judge", epsilon=0.15, clusters="document")
    assert "|clusters:document|" in test.signature
    assert "robust to clusters of 'document'" in test.summary()


def test_an_unknown_cluster_column_is_refused() -> None:
    with pytest.raises(
        assay.DataError, match="item column 'documnet' is not in the table of items; did you mean 'document'"
    ):
        assay.alt_test(table(2), "judge", epsilon=0.15, clusters="documnet")


def test_the_robust_error_by_hand() -> None:
    # Two clusters of two items; d of ann: cluster a (1, 1), cluster b (-1, 0); mean 1/4.
    # Influence (d - 1/4) / 4: a sums to 6/16, b to -6/16; variance 2/1 * 2 * (6/16)^2, error 0.75.
    from assay.replacement import decision

    counts = np.array([[[1.0, 1.0, 2.0]]])
    d = np.array([1, 1, -1, 0])
    found = decision.Clustering.of(counts, np.zeros(4, int), np.array([0, 0, 1, 1]), (d - 0.25) / 4)
    _, plain, _ = decision.t_parts(counts)
    assert plain[0] * found.inflation[0] == pytest.approx(0.75)
    assert found.share[0] == 0.5


def test_paired_annotators_take_items_as_independent() -> None:
    with pytest.raises(assay.DesignError, match="takes items as independent"):
        assay.alt_test_paired(table(2), "judge", [["ann_1"], ["ann_2", "ann_3"]], epsilon=0.1, clusters="document")
