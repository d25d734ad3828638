"""The guard asks the tests of the verdict of any of the items."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.statistics.guard import Guard


def study(judges: dict[str, np.ndarray], people: np.ndarray, **items) -> assay.Annotations:
    n = len(people)
    names = [f"i{k:03}" for k in range(n)]
    columns = {**{f"h{j}": people[:, j] for j in range(people.shape[1])}, **judges}
    label = pl.Series(["no", "yes"]).gather(np.concatenate(list(columns.values())).astype(int))
    frame = pl.DataFrame({"item": names * len(columns), "annotator": np.repeat(list(columns), n), "label": label})
    about = pl.DataFrame({"item": names, **items}) if items else None
    return assay.Annotations.from_frame(frame, judges=list(judges), scale="nominal:no,yes", items=about)


def world(seed: int = 0, n: int = 200, m: int = 3):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.4).astype(int)
    draw = lambda: np.where(rng.random(n) < 0.25, rng.integers(0, 2, n), truth)  # noqa: E731
    return rng, np.column_stack([draw() for _ in range(m)]), draw()


@pytest.mark.parametrize("m", [3, 5])
def test_guard_of_all_items_has_the_p_values_of_the_verdict(m):
    _, people, judge = world(m=m)
    topic = [f"t{k % 4}" for k in range(200)]
    labels = study({"m": judge}, people, topic=topic, length=np.arange(200) % 17 * 1.5)
    test = assay.alt_test(labels, "m", epsilon=0.15)
    guard = Guard.of(labels, "m", epsilon=0.15, min_agreement_ratio=0.6)
    p, tests = guard.p_values(np.ones(200, dtype=bool)), test.verdict_tests
    assert p == {
        "non-inferiority": pytest.approx(tests.p_noninferior),
        "item-level agreement": pytest.approx(tests.p_item_level),
        "agreement ratio": pytest.approx(tests.p_ratio_above),
    }
    assert guard.matched == tests.matched_annotator is None


def test_guard_of_some_items_uses_only_these():
    rng, people, judge = world()
    half = np.arange(200) < 100
    judge = np.where(half, judge, rng.permutation(judge))
    guard = Guard.of(study({"m": judge}, people), "m", epsilon=0.2, min_agreement_ratio=0.5)
    good, coin = guard.p_values(half), guard.p_values(~half)
    assert max(good.values()) <= 0.05
    assert max(coin["item-level agreement"], coin["agreement ratio"]) > 0.05
    alone = Guard.of(study({"m": judge[:100]}, people[:100]), "m", epsilon=0.2, min_agreement_ratio=0.5)
    assert alone.p_values(half[:100])["non-inferiority"] == pytest.approx(good["non-inferiority"])


def test_guard_names_the_annotator_of_a_copy():
    _, people, _ = world(3)
    labels = study({"m": people[:, 2]}, people)
    assert Guard.of(labels, "m", epsilon=0.1, min_agreement_ratio=0.6).matched == "h2"
    some = Guard.of(labels, "m", epsilon=0.1, min_agreement_ratio=0.6, annotators=["h2", "h0"])
    assert (some.matched, some.match.untestable) == (None, "two_annotators")


def test_guard_with_clusters_counts_clusters():
    _, people, judge = world()
    labels = study({"m": judge}, people, document=[f"d{k // 10}" for k in range(200)])
    keep = np.ones(200, dtype=bool)
    free, tied = (Guard.of(labels, "m", epsilon=0.15, min_agreement_ratio=0.6, clusters=c).p_values(keep)
                  for c in (None, "document"))  # fmt: skip
    assert free["non-inferiority"] != tied["non-inferiority"]
    few = Guard.of(labels, "m", epsilon=0.15, min_agreement_ratio=0.6, clusters="document").p_values(
        np.arange(200) < 90
    )
    assert few["non-inferiority"] == 1  # nine clusters
