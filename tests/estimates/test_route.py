"""Routes: the share that a judge may have, how often a wrong one is offered, quiet where confidence says nothing."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.errors import DataError, DesignError
from assay.estimates.route import (
    Route,
    RouteSettings,
    _signal,
    _test_advantage,
    largest,
)
from assay.estimates.words import route_lines
from assay.estimation.result import Run


def planted(
    seed: int, n: int = 600, n_all: int = 1200, *, confidence: str = "true", judge: str = "sure"
) -> assay.Annotations:
    """Three people who agree on .82 of the items; a judge that is as accurate when confident and less otherwise.

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


@pytest.mark.slow
def test_route_gives_confident_items_to_good_judge():
    """The mean share offered at 600 labelled items is within .25 of the true .70."""
    found = np.array([assay.route(planted(seed), signal="sure", epsilon=0.1).share for seed in range(20)])
    assert found.mean() > 0.70 - 0.25
    assert np.sum(found > 0.72) <= 3  # where it does not hold: .05 of 20 studies, and two standard errors
    words = assay.route(planted(1), signal="sure", epsilon=0.1).summary()
    assert "Judge share 45%" in words
    assert "(items with 'sure' of at least" in words
    assert "Human queue" in words


def test_items_without_judge_label_are_in_the_human_queue_and_count_in_the_shares():
    """Of 1,000 items of a wide table, the judge labels 900; of the others, people label 40, and 60 have no label."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 1000)
    there = np.arange(1000) < 300
    wide = {"id": [f"i{i:04d}" for i in range(1000)]}
    wide |= {f"ann_{p}": np.where(there, truth, -1) for p in range(3)} | {"judge": truth}
    frame = pl.DataFrame(wide).with_columns(pl.col("^ann_.*$").replace(-1, None))
    gone = (np.arange(1000) >= 260) & (np.arange(1000) < 360)
    frame = frame.with_columns(judge=pl.when(pl.Series(gone)).then(None).otherwise("judge"))
    labels = assay.read(frame, layout="wide", item="id", columns=["ann_0", "ann_1", "ann_2", "judge"], judges=["judge"],
                        scale="0-1", items=pl.DataFrame({"item": wide["id"], "sure": rng.random(1000)}))  # fmt: skip
    assert (labels.n_items, labels.unlabelled.height) == (940, 60)
    found = assay.route(labels, signal="sure", epsilon=0.1)
    assert (found.share, found.n_all, found.run.facts["items"]) == (0.9, 1000, 1000)
    assert found.curve["share"].max() == 0.9
    queues = found.decide()
    assert queues.filter(queue="human")["item"].sort().to_list() == frame["id"].filter(pl.Series(gone)).to_list()
    assert "Human queue: 100 of 1,000 items, 100 of them without a label or signal of the judge." in found.summary()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [6, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("judge", "share"), [("holds", 1), ("fails", 0)])
def test_noise_and_a_judge_that_holds_has_all_and_one_that_does_not_none(judge, share, seeds):
    tables = (planted(seed, confidence="noise", judge=judge) for seed in range(seeds))
    found = [assay.route(one, signal="sure", epsilon=0.1).share for one in tables]
    assert sum(one == share for one in found) >= 0.9 * seeds


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


@pytest.mark.simulation
def test_route_error_is_at_most_alpha_without_true_difference():
    offered = [assay.route(at_the_edge(seed), signal="sure", epsilon=0.1).share > 0 for seed in range(300)]
    assert np.mean(offered) <= 0.05 + 2 * 0.0126


def test_largest_stops_at_first_failure():
    shares = np.round(np.arange(0.2, 1.01, 0.05), 10)
    p = np.full(len(shares), 0.5)
    assert largest(shares, p, 0.05) == -1
    p[:3] = 0.001
    assert shares[largest(shares, p, 0.05)] == 0.3
    p[10] = 0.001  # .7, a separate start
    assert shares[largest(shares, p, 0.05)] == 0.7
    p[7] = 0.001  # .55 is reached from no start
    assert shares[largest(shares, p, 0.05)] == 0.7
    p[-1] = 0.011  # above its fifth of .05
    assert shares[largest(shares, p, 0.05)] == 0.7
    p[-1] = 0.009
    assert shares[largest(shares, p, 0.05)] == 1.0


def test_largest_passes_error_to_next_start():
    shares = np.round(np.arange(0.2, 1.01, 0.05), 10)
    p = np.full(len(shares), 0.019)  # below .4 of .05, above a fifth
    assert shares[largest(shares, p, 0.05)] == 1.0
    p[4] = 0.029  # at .4 both parts count
    assert shares[largest(shares, p, 0.05)] == 1.0
    p[4] = 0.031
    assert shares[largest(shares, p, 0.05)] == 0.35
    p[4], p[-1] = 0.019, 0.049  # all of it, at the end
    assert shares[largest(shares, p, 0.05)] == 1.0
    p[3] = 0.021  # and none, after a share that does not hold
    assert shares[largest(shares, p, 0.05)] == 0.3


def test_write_saves_rule_and_decide_applies_it(tmp_path):
    found = assay.route(planted(1), signal="sure", epsilon=0.1, price=0.5, judge_price=0.01)
    rule = json.loads(found.write(tmp_path / "rule.json").read_text())
    assert rule["threshold"] == found.threshold
    assert rule["signal"] == "sure"
    decided = found.decide()
    assert (decided["queue"] == "judge").mean() == pytest.approx(found.share)
    assert decided.filter(pl.col("queue") == "judge")["signal"].min() == pytest.approx(found.threshold)
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


def test_route_refuses_unsuitable_labels():
    labels = planted(1)
    with pytest.raises(DataError, match="column 'shure'"):
        assay.route(labels, signal="shure", epsilon=0.1)
    with pytest.raises(DesignError, match="is not numeric"):
        assay.route(labels, signal="document", epsilon=0.1)
    with pytest.raises(DesignError, match="has no repeated labels"):
        assay.route(labels, signal="repeats", epsilon=0.1)
    with pytest.raises(DesignError, match="a route requires two human annotators"):
        assay.route(labels, signal="sure", epsilon=0.1, annotators=["ann_1"])
    with pytest.raises(DesignError, match="20 are required"):
        assay.route(planted(1, 10, 100), signal="sure", epsilon=0.1)
    flat = labels.items.with_columns(sure=pl.lit(0.5))
    table = assay.Annotations.from_frame(labels.labels, judges=["judge"], scale="0-1", items=flat)
    with pytest.raises(DesignError, match="is the same for all items"):
        assay.route(table, signal="sure", epsilon=0.1)


@pytest.mark.parametrize("write", [
    lambda x: f"{x:.3f}".replace(".", ","), lambda x: f"{100 * x:.1f}%", lambda x: f" {x:.3f}",
])  # fmt: skip
def test_route_reads_a_signal_however_its_numbers_are_written(write):
    labels = planted(3)
    given = labels.items.with_columns(sure=pl.col("sure").round(3))
    texts = given.with_columns(sure=pl.Series([write(x) for x in given["sure"]]))
    found, same = (
        assay.route(assay.read(labels.labels, judges=["judge"], scale="0-1", items=items), signal="sure", epsilon=0.1)
        for items in (texts, given)
    )
    assert 0 < found.share == same.share
    assert found.table.drop("threshold", strict=False).equals(same.table.drop("threshold", strict=False))


@pytest.mark.slow
def test_clusters_are_sampled_units():
    labels = planted(3)
    one, other = (assay.route(labels, signal="sure", epsilon=0.1, clusters=c).table for c in (None, "document"))
    np.testing.assert_allclose(one["estimate"], other["estimate"], atol=1e-12)
    assert (one["low"] != other["low"]).any()


def pairs_of(labels_of, n=24, scale="1-5", sure=lambda i: i / 10):
    """Items whose labels and signals are given by their number."""
    rows = [(f"i{i:02}", who, label, sure(i)) for i in range(n) for who, label in labels_of(i).items()]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "sure"], orient="row")
    return assay.read(frame, judges=["judge"], scale=scale)


def all_items(labels, epsilon=0.1, **options):
    """The agreement of the judge, its advantage, and the number of items, if the judge labels all items."""
    row = assay.route(labels, signal="sure", epsilon=epsilon, **options).table.row(-1, named=True)
    return row["agreement"], row["estimate"], row["n"]


def test_shares_and_thresholds_of_a_signal():
    """40 items of the signals 1 to 30, ten without one: a share of .2 is the surest eight, .75 and more are all 30."""
    labels = pairs_of(lambda i: {"judge": 3, "a": 1 + i % 2, "b": 2}, 40, sure=lambda i: i + 1.0 if i < 30 else None)
    curve = assay.route(labels, signal="sure", epsilon=0.1).curve
    shares, thresholds = curve["share"].to_list(), curve["threshold"].to_list()
    assert shares == pytest.approx([k / 20 for k in range(4, 16)])
    assert thresholds == [31 - 2.0 * k for k in range(4, 16)]


def test_one_share_is_tested_on_the_items_it_keeps():
    d, agreement = np.tile([0.1, 0.3, -0.1, 0.2], 10), np.tile([0.5, 0.7, 0.9, 0.8], 10)
    settings = RouteSettings(signal="s", epsilon=0.1)
    p, found, n, agree = _test_advantage(d, agreement, np.arange(40) < 20, None, settings)
    error = np.std(d[:20], ddof=1) / np.sqrt(20)
    assert (n, agree, found.estimate, found.standard_error) == pytest.approx((20, 0.725, 0.125, error))
    assert p == pytest.approx(stats.t.sf(0.125 / error, 19), abs=0.003)  # Hall's correction is small here
    assert found.low < 0.125 < found.high
    p, found, n, _ = _test_advantage(d, agreement, np.arange(40) < 19, None, settings)
    assert (p, n, found.reason) == (1.0, 19, "19 labelled items; 20 are required")
    assert found.estimate == pytest.approx(d[:19].mean())
    assert np.isnan(_test_advantage(d, agreement, np.zeros(40, bool), None, settings)[1].estimate)
    for value, expected in ((0.2, 0.0), (0.0, 1.0), (-0.2, 1.0)):
        p, found, _, _ = _test_advantage(np.full(40, value), agreement, np.ones(40, bool), None, settings)
        assert (p, found.estimate, found.reason) == (expected, value, "the difference is equal on all items")
    # Ten clusters of two items: sums times 10 / 20 are what varies.
    units = np.repeat(np.arange(20), 2)
    p, found, _, _ = _test_advantage(d, agreement, np.arange(40) < 20, units, settings)
    assert found.estimate == pytest.approx(0.125)
    assert found.standard_error == pytest.approx(np.std(np.tile([0.2, 0.05], 5), ddof=1) / np.sqrt(10))
    assert _test_advantage(d, agreement, np.arange(40) < 20, units // 2, settings)[1].reason == "too few clusters"
    assert _test_advantage(d * np.arange(40), agreement, np.ones(40, bool), units // 2, settings)[1].reason is None


def test_advantage_is_difference_in_agreement_plus_epsilon():
    """On a scale 1-5: judge 3, humans 1 and 5 and missing; or judge 5, people 5, 4 and 1."""
    two, three = {"judge": 3, "a": 1, "b": 5}, {"judge": 5, "a": 5, "b": 4, "c": 1}
    words = {1: "a", 3: "b", 4: "c", 5: "d"}
    # On a span of 4: with the judge, and among people.
    for given, agree, among in ((two, 0.5, 0.0), (three, (1 + 0.75 + 0) / 3, (0.75 + 0 + 0.25) / 3)):
        assert all_items(pairs_of(lambda _, given=given: given)) == pytest.approx((agree, agree - among + 0.1, 24))
        # Without ends of the scale the span is that of the labels: from 3 to 7 here, of 4.
        more = {who: label + 2 for who, label in given.items()}
        assert all_items(pairs_of(lambda _, more=more: more, scale="interval"))[0] == pytest.approx(agree)
        named = {who: words[label] for who, label in given.items()}
        table = pairs_of(lambda _, named=named: named, scale="nominal:a,b,c,d")
        assert all_items(table)[0] == pytest.approx(1 / 3 if given is three else 0)
    both = pairs_of(lambda i: two if i % 2 else three)
    assert assay.route(both, signal="sure", epsilon=0.1, price=2.0).cost_humans_only == pytest.approx(24 * 2.5 * 2)
    assert all_items(both.where(item=both.items["item"].to_list()[:20]))[2] == 20


def test_signals_made_of_labels_are_shares():
    rows = []
    for i in range(3):
        rows += [(f"i{i}", "judge", "yes" if repeat <= i else "no", repeat) for repeat in range(3)]
        rows += [(f"i{i}", who, label, 0) for who, label in (("x", "yes"), ("y", "no"), ("ann", "yes"))]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "repeat"], orient="row")
    labels = assay.read(frame, judges=["judge", "x", "y"], scale="nominal:no,yes")
    of_repeats = _signal(labels, "judge", RouteSettings(signal="repeats", epsilon=0.1))
    assert of_repeats.tolist() == pytest.approx([2 / 3, 2 / 3, 1.0])
    assert _signal(labels, "judge", RouteSettings(signal="judges", epsilon=0.1)).tolist() == [0.5] * 3
    less = labels.where(item=["i0", "i2"])
    mine = less.labels.filter((pl.col("annotator") != "judge") | (pl.col("item") == "i0"))
    table = assay.Annotations.from_frame(mine, judges=["judge", "x", "y"], scale=less.scale, items=less.items)
    assert np.isnan(_signal(table, "judge", RouteSettings(signal="judges", epsilon=0.1))[1])


def test_route_sentences_and_decisions():
    """The surest .4 of ten items is the judge's; of one item the signal is not known."""
    s = RouteSettings(signal="sure", epsilon=0.1)
    curve = pl.DataFrame({
        "share": [0.2, 0.4, 0.7], "threshold": [9.0, 7.0, 4.0], "estimate": [0.2, 0.15, 0.01], "low": [0.1, 0.05, -0.1],
        "high": [0.3, 0.25, 0.1], "n": [100, 1200, 1500], "p": [0.001, 0.004, 0.4], "kept": [True, True, False],
    })  # fmt: skip
    signals = pl.DataFrame({"item": list("abcde"), "signal": [9.0, 7.0, 6.9, None, 1.0]})

    def made(share: float, threshold: float, cost: float) -> Route:
        run = Run("route", s, "none", {})
        return Route(
            "m",
            share,
            threshold,
            None if share else "margin_undecided",
            curve,
            1500,
            3000,
            cost,
            6000.0,
            run,
            (),
            signals,
        )

    assert route_lines(made(0.4, 7.0, 3600.0)) == [
        "Judge share 40% (items with 'sure' of at least 7): on these items m's agreement with humans is at most 0.1 "
        "below agreement among humans (difference + 0.1: 0.15 [0.05, 0.25], p = 0.004; 1,200 human-labelled items). "
        "Probability of choosing a share that violates the margin: at most 0.05.",
        "Human queue: 1,800 of 3,000 items, 1 of them without a label or signal of the judge. Cost: 3,600 instead of "
        "6,000.",
    ]
    assert made(0.4, 7.0, 3600.0).decide()["queue"].to_list() == ["judge", "judge", "human", "human", "human"]
    assert route_lines(made(1.0, 1.0, 6000.0))[0].startswith("Judge share 100%: on these items m's agreement")
    signals = signals.drop_nulls()
    assert route_lines(made(1.0, 1.0, 6000.0))[1] == "Human queue: 0 of 3,000 items. Cost: 6,000 instead of 6,000."
    assert route_lines(made(0.0, np.inf, 6000.0)) == [
        "Judge share 0%: the margin is not demonstrated for any share. All items go to annotators."
    ]


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"epsilon": -0.01}, "epsilon"), ({"epsilon": 1.01}, "epsilon"), ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"), ({"price": -0.01}, "price"), ({"judge_price": -0.01}, "judge_price"),
        ({"confidence": 1.0}, "confidence"),
    ],
)  # fmt: skip
def test_route_settings_refuse_invalid_options(given, option):
    with pytest.raises(DesignError) as refused:
        RouteSettings(**{"signal": "s", "epsilon": 0.1, **given})
    assert refused.value.option == option


def test_route_settings_accept_valid_options():
    assert [RouteSettings(signal="s", epsilon=e, price=0.0, judge_price=0.0).epsilon for e in (0.0, 1.0)] == [0, 1]
    one = RouteSettings(signal="s", epsilon=0.1)
    assert (one.alpha, one.price, one.judge_price, one.repeats, one.confidence) == (0.05, 1.0, 0.0, "error", 0.95)
    assert (one.judge, one.clusters, one.annotators) == (None,) * 3


def test_twenty_items_need_the_judge_and_two_people():
    def given(without):
        return lambda i: {"judge": 3, "a": 1 + i % 2, "b": 2} if i >= without else {"a": 1, "b": 2, "c": 1}

    found = assay.route(pairs_of(given(4)), signal="sure", epsilon=0.1)
    assert found.table["n"][-1] == 20
    assert found.signals["item"].to_list() == [f"i{i:02}" for i in range(24)]
    with pytest.raises(DesignError, match=r"^19 items with the judge's label and those of two humans; 20 are required"):
        assay.route(pairs_of(given(5)), signal="sure", epsilon=0.1)
    with pytest.raises(
        DesignError, match="a route requires two human annotators for agreement among humans; the table has 1"
    ):
        assay.route(pairs_of(lambda i: {"judge": 1, "a": 1}), signal="sure", epsilon=0.1)


def test_constant_labels_agree_for_any_span():
    same = pairs_of(lambda i: {"judge": 3, "a": 3, "b": 3}, scale="interval")
    assert all_items(same) == pytest.approx((1, 0.1, 24))


def test_sides_of_a_comparison_agree_or_do_not():
    """A tie lies between two sides, but is neither."""
    for b, both in (("second", (0, 0)), ("tie", (0.5, 0.5))):
        given = {"judge": "tie", "a": "first", "b": b}
        table = pairs_of(lambda _, given=given: given, scale="preference")
        assert all_items(table, epsilon=0.0) == pytest.approx((*both, 24))


def test_route_from_labels_to_costs():
    """The judge errs on the 20 least sure of 100 items, people never; two people label each, one item a third."""
    labels = pairs_of(
        lambda i: {"judge": (i + (i < 20)) % 2, "a": i % 2, "b": i % 2, **({"c": i % 2} if i == 50 else {})},
        n=100, scale="0-1",
    )  # fmt: skip
    found = assay.route(labels, signal="sure", epsilon=0.1, price=2.0, judge_price=0.5)
    shares = np.round(np.arange(0.2, 1.01, 0.05), 10)
    assert found.table["share"].to_list() == pytest.approx(shares.tolist())
    # The surest 5 k items are those from 100 − 5 k.
    assert found.table["threshold"].to_list() == pytest.approx([(100 - 100 * share) / 10 for share in shares])
    assert found.table["n"].to_list() == [round(100 * share) for share in shares]
    wrong = np.maximum(100 * shares - 80, 0) / (100 * shares)
    assert found.table["agreement"].to_list() == pytest.approx((1 - wrong).tolist())
    assert found.table["estimate"].to_list() == pytest.approx((0.1 - wrong).tolist())
    assert found.table["p"].to_list()[:13] == [0] * 13
    assert found.table["reason"].to_list()[:13] == ["the difference is equal on all items"] * 13
    kept = [row["share"] for row in found.table.iter_rows(named=True) if row["kept"]]
    assert kept == pytest.approx([share for share in shares if share <= found.share + 1e-9])
    assert 0.8 <= found.share <= 0.85
    assert (found.n_labelled, found.n_all, found.judge) == (100, 100, "judge")
    assert found.cost_humans_only == pytest.approx(100 * 2.01 * 2)
    assert found.cost == pytest.approx((1 - found.share) * 100 * 2.01 * 2 + 50)
    assert found.run.facts == {"items": 100, "labelled": 100, "judge": "judge"}
    assert len(found.row_estimates()) == 17
    # A judge that errs on all but the surest fifth has that fifth, the first share that is tested.
    fifth = pairs_of(lambda i: {"judge": (i + (i < 240)) % 2, "a": i % 2, "b": i % 2}, n=300, scale="0-1")
    least = assay.route(fifth, signal="sure", epsilon=0.1)
    assert (least.share, least.threshold, least.reason) == (pytest.approx(0.2), pytest.approx(24.0), None)
    # On 20 items of 100, no error at all is too few for a margin of .1: .9^20 = .12.
    few = pairs_of(lambda i: {"judge": (i + (i < 80)) % 2, "a": i % 2, "b": i % 2}, n=100, scale="0-1")
    assert (assay.route(few, signal="sure", epsilon=0.1).reason) == "non-inferiority"
    # A judge that errs everywhere has none.
    never = pairs_of(lambda i: {"judge": 1 - i % 2, "a": i % 2, "b": i % 2}, n=100, scale="0-1")
    none = assay.route(never, signal="sure", epsilon=0.1)
    assert (none.share, none.threshold, none.cost) == (0, np.inf, 200)
    assert not none.table["kept"].any()
    assert (none.decide()["queue"] == "human").all()


def test_rule_without_share_has_no_threshold(tmp_path):
    s = RouteSettings(signal="sure", epsilon=0.1, alpha=0.02)
    for threshold, written in ((np.inf, None), (0.5, 0.5)):
        made = Route(
            "m", 0.25, threshold, None, pl.DataFrame(), 9, 30, 1.0, 2.0, Run("route", s, "none", {}), (), pl.DataFrame()
        )
        text = made.write(tmp_path / "rule.json").read_text(encoding="utf-8")
        rule = json.loads(text)
        assert (rule["threshold"], rule["share"], rule["epsilon"], rule["alpha"]) == (written, 0.25, 0.1, 0.02)
        assert (rule["judge"], rule["signal"], rule["assay"]) == ("m", "sure", assay.__version__)
        assert rule["signature"] == made.signature
        assert text.startswith('{\n  "judge": "m",\n')
        assert text.endswith("}\n")


def test_missing_signals_are_ignored():
    """Half of the items have none: a share of .5 and more keeps all that have one, and no item without."""
    labels = pairs_of(lambda i: {"judge": 1 + i % 2, "a": 1 + i % 2, "b": 1 + i % 3}, n=60, scale="1-3")
    frame = labels.labels.with_columns(
        sure=pl.when(pl.col("item") >= "i30").then(pl.col("item").str.slice(1).cast(pl.Float64))
    )
    half = assay.read(frame, judges=["judge"], scale="1-3")
    found = assay.route(half, signal="sure", epsilon=0.5)
    assert found.table["share"].max() == 0.5
    assert found.table["n"].max() == 30
    assert found.signals["signal"].null_count() == 30
    with pytest.raises(DesignError, match="'sure' is the same for all items; choose another signal") as refused:
        assay.route(assay.read(frame.with_columns(sure=pl.lit(None, pl.Float64)), judges=["judge"], scale="1-3"),
                    signal="sure", epsilon=0.5)  # fmt: skip
    assert refused.value.option == "signal"
    with pytest.raises(DesignError, match="'judge' is the only judge; choose another signal") as refused:
        assay.route(labels, signal="judges", epsilon=0.5)
    assert refused.value.option == "signal"


@pytest.mark.parametrize(
    ("p", "place"),
    [
        ([0.021, 1, 1, 1], -1), ([0.02, 1, 1, 1], 0), ([1, 0.0101, 1, 1], -1), ([1, 0.01, 1, 1], 1),
        ([1, 1, 0.01, 1], 2),
        ([1, 1, 0.0101, 1], -1), ([1, 1, 1, 0.01], 3), ([0.02, 0.03, 0.04, 0.05], 3), ([0.02, 0.03, 0.04, 0.0501], 2),
        ([0.02, 0.0301, 0.01, 0.02], 3), ([0.02, 0.0301, 0.01, 0.0201], 2),
    ],
)  # fmt: skip
def test_parts_of_the_error_at_the_four_starts(p, place):
    """.4, .2, .2 and .2 of .05, each handed on while shares hold."""
    assert largest(np.array([0.2, 0.4, 0.7, 1.0]), np.array(p, dtype=float) - 1e-12, 0.05) == place


@pytest.mark.slow
def test_route_requires_item_level_agreement():
    """Always 3 is within ε = .2 of people in the middle of a scale; as close as people, who look, is another thing."""
    for seed in (1, 3):
        rng = np.random.default_rng(seed)
        n = 300
        truth = rng.normal(size=n)
        says = {f"p{k}": np.clip(np.round(3 + truth + 0.7 * rng.normal(size=n)), 1, 5) for k in range(4)}
        rows = [(f"i{i:03d}", who, int(v)) for who, each in says.items() for i, v in enumerate(each)]
        rows += [(f"i{i:03d}", "always", 3) for i in range(n)]
        items = pl.DataFrame({"item": [f"i{i:03d}" for i in range(n)], "sure": rng.random(n)})
        table = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        labels = assay.Annotations.from_frame(table, judges=["always", "p3"], scale="1-5", items=items)
        found, person = (assay.route(labels, who, signal="sure", epsilon=0.2) for who in ("always", "p3"))
        assert (found.share, found.curve["kept"].any()) == (0.0, False)
        assert found.curve["p"].min() < 0.01
        assert (found.reason, person.reason) == ("item-level agreement", None)
        assert (
            "Judge share 0%: item-level agreement is not demonstrated. All items go to annotators." in found.summary()
        )
        assert "but on these items item-level agreement is not demonstrated (p = 1.000)" in found.summary()
        assert person.share > 0.5


def test_route_states_provenance():
    rng = np.random.default_rng(8)
    truth, n = rng.integers(1, 6, 400), 400
    said = {who: np.clip(truth + rng.choice([-1, 0, 0, 0, 1], n), 1, 5) for who in ("a", "b", "m")}
    frame = pl.DataFrame({
        "item": [f"i{k}" for k in range(n)] * 3, "annotator": np.repeat(list(said), n),
        "label": np.concatenate(list(said.values())),
    })  # fmt: skip
    items = pl.DataFrame({"item": [f"i{k}" for k in range(n)], "sure": rng.random(n)})
    labels = assay.Annotations.from_frame(frame, judges=["m"], scale="1-5", items=items)
    found = assay.route(labels, "m", signal="sure", epsilon=0.1)
    assert found.share > 0
    assert any(note.startswith("provenance: labels from a file") for note in found.run.notes)
    none = assay.route(labels, "m", signal="sure", epsilon=0.0, alpha=1e-9)
    assert (none.share, none.reason) == (0, "margin_undecided")
    assert "Judge share 0%: the margin is not demonstrated for any share." in none.summary()


def test_route_has_one_row_for_each_threshold():
    """A signal of two values allows two shares, however many steps are tested."""
    labels = assay.simulate(n_items=200, scale="1-5", judges={"gpt": 0.2}, seed=1)
    sure = pl.Series("sure", [float(i % 2) for i in range(200)])
    frame = labels.to_polars().join(labels.items.select("item").with_columns(sure), on="item")
    found = assay.route(assay.read(frame, scale="1-5"), "gpt", signal="sure", epsilon=0.3)
    assert found.table["threshold"].to_list() == [1, 0]
    assert found.table["share"].to_list() == [0.5, 1]
    assert (found.share, found.table["kept"].to_list()) == (1, [True, True])
    assert [one.estimate for one in found.row_estimates()] == found.table["estimate"].to_list()
