"""Routes: the share that a judge may have, how often a wrong one is offered, quiet where confidence says nothing."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.estimates.route import largest


def planted(
    seed: int, n: int = 600, n_all: int = 1200, *, confidence: str = "true", judge: str = "sure"
) -> assay.Annotations:
    """Three people who agree on .82 of the items; a judge that is as good where it is sure and worse where it is not.

    At ε = .1 the judge of the name ``sure`` truly holds on the surest .70: with a share g of errors
    (.4 · .08 + (g − .4) · .42) / g its advantage .18 − .8 · errors is 0 there. ``holds`` errs as a person, ``fails``
    on a third of the items.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_all)
    sure = rng.random(n_all)
    error = {"sure": np.where(sure > 0.6, 0.08, 0.42), "holds": np.full(n_all, 0.08),
             "fails": np.full(n_all, 0.34)}[judge]  # fmt: skip
    names = np.array([f"i{i:05d}" for i in range(n_all)])

    def answers(rate) -> np.ndarray:
        return np.where(rng.random(n_all) < rate, 1 - truth, truth)

    some = np.sort(rng.permutation(n_all)[:n])
    frames = [pl.DataFrame({"item": names, "annotator": "judge", "label": answers(error)})]
    frames += [
        pl.DataFrame({"item": names[some], "annotator": f"ann_{p}", "label": answers(0.1)[some]}) for p in range(3)
    ]
    says = sure if confidence == "true" else rng.random(n_all)
    items = pl.DataFrame({"item": names, "sure": says, "document": [f"d{i // 5:04d}" for i in range(n_all)]})
    return assay.Annotations.from_frame(pl.concat(frames), judges=["judge"], scale="0-1", items=items)


def test_a_judge_that_is_good_where_it_is_sure_has_those_items():
    """The mean share offered at 600 labelled items is within .25 of the true .70."""
    found = np.array([assay.route(planted(seed), signal="sure", epsilon=0.1).share for seed in range(30)])
    assert found.mean() > 0.70 - 0.25
    assert np.sum(found > 0.72) <= 4  # where it does not hold: .05 of 30 studies, and two standard errors
    words = assay.route(planted(1), signal="sure", epsilon=0.1).summary()
    assert "'judge' may have" in words
    assert "those with 'sure' of at least" in words
    assert "People would label" in words


def test_noise_and_a_judge_that_holds_has_all_and_one_that_does_not_none():
    holds = [
        assay.route(planted(s, confidence="noise", judge="holds"), signal="sure", epsilon=0.1).share for s in range(30)
    ]
    fails = [
        assay.route(planted(s, confidence="noise", judge="fails"), signal="sure", epsilon=0.1).share for s in range(30)
    ]
    assert np.sum(np.array(holds) == 1) >= 28
    assert np.sum(np.array(fails) == 0) >= 28


def at_the_edge(seed: int) -> assay.Annotations:
    """A judge whose agreement with people is theirs with each other less .1, everywhere: exactly nothing at ε = .1."""
    rng = np.random.default_rng(seed)
    n = 600
    names = [f"i{i:05d}" for i in range(n)]
    truth = rng.integers(0, 2, n)
    people = [np.where(rng.random(n) < 0.1, 1 - truth, truth) for _ in range(3)]  # agree .82 with each other
    error = (0.9 - 0.72) / 0.8  # .9 (1 − e) + .1 e = .72
    judge = np.where(rng.random(n) < error, 1 - truth, truth)
    frame = pl.concat([
        pl.DataFrame({"item": names, "annotator": who, "label": given})
        for who, given in zip(("judge", "a", "b", "c"), (judge, *people), strict=True)
    ])  # fmt: skip
    items = pl.DataFrame({"item": names, "sure": rng.random(n)})
    return assay.Annotations.from_frame(frame, judges=["judge"], scale="0-1", items=items)


@pytest.mark.slow
def test_where_the_true_advantage_is_nothing_a_route_is_offered_in_five_of_a_hundred():
    offered = [assay.route(at_the_edge(seed), signal="sure", epsilon=0.1).share > 0 for seed in range(300)]
    assert np.mean(offered) <= 0.05 + 2 * 0.0126


def test_the_sequences_stop_where_a_share_does_not_hold():
    shares = np.round(np.arange(0.2, 1.01, 0.05), 10)
    p = np.full(len(shares), 0.5)
    assert largest(shares, p, 0.05) == -1
    p[:3] = 0.001
    assert shares[largest(shares, p, 0.05)] == 0.3
    p[10] = 0.001  # .7, a start of its own
    assert shares[largest(shares, p, 0.05)] == 0.7
    p[7] = 0.001  # .55 is reached from no start
    assert shares[largest(shares, p, 0.05)] == 0.7
    p[-1] = 0.04  # above a quarter of .05
    assert shares[largest(shares, p, 0.05)] == 0.7


def test_the_rule_is_written_and_decides(tmp_path):
    found = assay.route(planted(1), signal="sure", epsilon=0.1, price=0.5, judge_price=0.01)
    rule = json.loads(found.write(tmp_path / "rule.json").read_text())
    assert rule["threshold"] == found.threshold
    assert rule["signal"] == "sure"
    decided = found.decide()
    assert (decided["who"] == "judge").mean() == pytest.approx(found.share)
    assert decided.filter(pl.col("who") == "judge")["signal"].min() == pytest.approx(found.threshold)
    assert found.cost == pytest.approx((1 - found.share) * 1200 * 3 * 0.5 + 12)


def test_repeats_and_other_judges_are_signals():
    labels = planted(2, 400, 400)
    rng = np.random.default_rng(1)
    judge = labels.where(annotator="judge").labels
    again = [
        judge.with_columns(repeat=pl.lit(k), label=pl.when(pl.Series(rng.random(400) < 0.2)).then(1 - pl.col("label"))
                           .otherwise(pl.col("label")))
        for k in (2, 3)
    ]  # fmt: skip
    other = judge.with_columns(annotator=pl.lit("other"), label=pl.Series(rng.permutation(judge["label"].to_numpy())))
    frame = pl.concat([labels.labels, other]).with_columns(repeat=pl.lit(1))
    table = assay.read(pl.concat([frame, *again]), judges=["judge", "other"], scale="0-1")
    for signal, levels in (("repeats", 2), ("judges", 2)):
        found = assay.route(table, "judge", signal=signal, epsilon=0.1, repeats="first")
        assert found.signals["signal"].n_unique() == levels


def test_what_cannot_be_routed_is_refused():
    labels = planted(1)
    with pytest.raises(DataError, match="column 'shure'"):
        assay.route(labels, signal="shure", epsilon=0.1)
    with pytest.raises(DesignError, match="is no number"):
        assay.route(labels, signal="document", epsilon=0.1)
    with pytest.raises(DesignError, match="answered every item once"):
        assay.route(labels, signal="repeats", epsilon=0.1)
    with pytest.raises(DesignError, match="a route needs two people"):
        assay.route(labels, signal="sure", epsilon=0.1, annotators=["ann_1"])
    with pytest.raises(DesignError, match="20 are needed at the least"):
        assay.route(planted(1, 10, 100), signal="sure", epsilon=0.1)
    flat = labels.items.with_columns(sure=pl.lit(0.5))
    table = assay.Annotations.from_frame(labels.labels, judges=["judge"], scale="0-1", items=flat)
    with pytest.raises(DesignError, match="orders none of them"):
        assay.route(table, signal="sure", epsilon=0.1)


def test_documents_are_what_is_drawn():
    labels = planted(3)
    one, other = (assay.route(labels, signal="sure", epsilon=0.1, clusters=c).table for c in (None, "document"))
    np.testing.assert_allclose(one["estimate"], other["estimate"], atol=1e-12)
    assert (one["low"] != other["low"]).any()
