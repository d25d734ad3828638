"""The monitor: false alarms over whole trajectories, detection delays, and documents as observations."""

from __future__ import annotations

import math
from math import comb
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.errors import DataError, DesignError
from assay.estimates import monitor as monitoring
from assay.estimates.monitor import CHANGE_LOSS, baseline_ends, change_point, change_range, detector, sequence
from selection import keep_rows

ALPHA = 0.05


def alarm(rng, p0: float, *, baseline: int = 2000, looks: int = 5000, shift: float = 0.0, at: int = 1000, known=False):
    """The observation of the alarm, or None."""
    base = (rng.random(baseline) < p0).astype(float)
    p = np.full(looks, p0)
    p[at:] += shift
    wealth, _ = detector((rng.random(looks) < p).astype(float), p0 if known else base, 5000)
    over = np.flatnonzero(wealth >= 1 / ALPHA)
    return int(over[0]) if len(over) else None


@pytest.mark.slow
@pytest.mark.parametrize("p0", [0.05, 0.5, 0.8])
def test_false_alarms_are_few_over_whole_trajectories(p0):
    """Of a known baseline: one candidate, so hundreds of trajectories are quick."""
    rng = np.random.default_rng(1)
    assert sum(alarm(rng, p0, known=True) is not None for _ in range(200)) / 200 <= 0.05 + 2 * 0.0154


@pytest.mark.simulation
@pytest.mark.parametrize("p0", [0.02, 0.3, 0.5])
@pytest.mark.parametrize("baseline", [300, 2000])
def test_false_alarms_are_rare_for_any_baseline(p0, baseline):
    rng = np.random.default_rng(1)
    found = [alarm(rng, p0, baseline=baseline) is not None for _ in range(100)]
    assert np.mean(found) <= 0.05 + 2 * 0.0218


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.1, 0.45])
def test_on_average_wealth_never_grows_where_nothing_changes(p):
    """All baselines of 12 observations and all streams of 6, with their probabilities: the mean never exceeds 1."""
    streams = np.array([[(i >> j) & 1 for j in range(6)] for i in range(64)], dtype=float)
    mean = np.zeros(6)
    for ones in range(13):
        base = np.r_[np.ones(ones), np.zeros(12 - ones)]
        chance = comb(12, ones) * p**ones * (1 - p) ** (12 - ones)
        for x in streams:
            mean += chance * p ** x.sum() * (1 - p) ** (6 - x.sum()) * detector(x, base, 6)[0]
    assert (mean <= 1).all()


@pytest.mark.slow
def test_wealth_is_the_least_over_candidates_of_a_double_sum(monkeypatch):
    """Every start and observation separately, compared with the accumulated form, for real labels and a horizon."""
    monkeypatch.setattr(monitoring, "CANDIDATES", 5)
    monkeypatch.setattr(monitoring, "LAP", 8)
    monkeypatch.setattr(monitoring, "PIECE", 16)
    rng = np.random.default_rng(4)
    base, x, horizon = rng.beta(2, 4, 400), rng.beta(3, 4, 50), 30
    p, mean, spread, n = monitoring._candidates(base)
    worst = np.full(len(x), np.inf)
    for one in p:
        wealth = np.zeros(len(x))
        for change in (max(0.05, 2 / math.sqrt(n)), max(0.1, 4 / math.sqrt(n))):
            for sign in (1, -1):
                cap = 0.9 / max(one, 1 - one)
                odds = np.prod(1 - sign * min(10 / (n * change), cap) * (base - one))
                off = max(sign * (mean + sign * change - one), 0)
                bet = sign * min(off / (spread * one * (1 - one) + (1 - spread) * off**2), cap)
                for t in range(len(x)):
                    first = t // horizon * horizon
                    made = sum(np.prod(1 + bet * (x[k : t + 1] - one)) for k in range(first, t + 1)) / horizon
                    wealth[t] += odds / 4 * (made + 1 - (t - first + 1) / horizon)
        worst = np.minimum(worst, wealth)
    np.testing.assert_allclose(detector(x, base, horizon)[0], worst, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("p0", [0.1, 0.5])
def test_change_of_a_tenth_is_found_within_600_observations(p0):
    """In the median, after 1,000 observations, with 2,000 labels as baseline: about 420 at a share of .5."""
    rng = np.random.default_rng(2)
    found = [alarm(rng, p0, shift=0.1, looks=2000) for _ in range(40)]
    delays = [np.inf if at is None else at - 1000 for at in found]
    assert np.median(delays) <= 500
    assert sum(d < 0 for d in delays) <= 2


@pytest.mark.slow
def test_change_of_a_twentieth_requires_large_baseline():
    """Half of the changes, .05 at a share of .3, are detected within about 1,100 observations."""
    rng = np.random.default_rng(3)
    found = [alarm(rng, 0.3, shift=0.05, baseline=10_000, looks=2800) for _ in range(40)]
    delays = np.array([np.inf if at is None else at - 1000 for at in found])
    assert np.median(delays) <= 1300
    assert np.mean(delays <= 1600) >= 0.6
    few = [alarm(rng, 0.3, shift=0.05, baseline=300, looks=3000) is not None for _ in range(20)]
    assert np.mean(few) <= 0.3


def stream(seed: int, n: int = 1500, *, shift: float = 0.0, at: int = 1000, documents: int = 0) -> assay.Annotations:
    """A judge's yes and no, a person's on every third item."""
    rng = np.random.default_rng(seed)
    p = np.full(n, 0.4)
    if documents:
        p = np.clip(np.repeat(rng.beta(0.6, 0.9, n // documents + 1), documents)[:n], 0.02, 0.98)
    p[at:] = np.minimum(p[at:] + shift, 1)
    judge = (rng.random(n) < p).astype(int)
    names = [f"i{i:05d}" for i in range(n)]
    ann = np.where(rng.random(n) < 0.9, judge, 1 - judge) if not shift else (rng.random(n) < 0.4).astype(int)
    frame = pl.concat([
        pl.DataFrame({"item": names, "annotator": "judge", "label": judge}),
        pl.DataFrame({"item": names[::3], "annotator": "ann", "label": ann[::3]}),
    ])  # fmt: skip
    columns = {"item": names, "time": np.arange(n), "late": -np.arange(n)}
    if documents:
        columns["document"] = [f"d{i // documents:04d}" for i in range(n)]
    items = pl.DataFrame(columns)
    return assay.Annotations.from_frame(frame, judges=["judge"], scale="0-1", items=items)


def test_alarm_reports_time_and_direction():
    found = assay.monitor(stream(1, 4000, shift=0.3, at=2500), baseline=2000)
    assert found.alarm is not None
    assert 500 < found.alarm < 900
    assert abs(found.since - 500) < 60
    assert found.summary().startswith(
        f"Alarm at label {found.alarm} of 2,000 after the baseline: the mean label increased. Estimated change point: "
        f"label {found.since} after the baseline; 90% range: {found.since_range[0]}–{found.since_range[1]}.\n"
        "Since the change point: mean label "
    )
    low, high = found.since_range
    assert low <= found.since <= high
    assert low <= 501 <= high
    assert high - low < 150
    assert f", of which up to {high - found.since} can be from before the change)" in found.summary()
    # All labels since then, not only those up to the alarm, which are those that raised it.
    assert found.n_now == 2000 - found.since + 1
    assert found.now.estimate == pytest.approx(found.means[found.since - 1 :].mean())
    assert found.now.estimate == pytest.approx(0.7, abs=0.04)
    assert found.detector_values[found.alarm - 1] >= 1 > found.detector_values[found.alarm - 2]
    assert found.now.low < 0.7 < found.now.high
    assert (found.alarm_at, found.since_at, found.share_of) == (None, None, None)
    assert found.plot().figure is not None


def test_range_of_the_change_point_by_hand():
    """Six baseline labels of 0, then 0 0 1 1: only a change before the third label leaves no residual."""
    x = np.array([0.0, 0.0, 1.0, 1.0])
    assert change_range(x, np.zeros(6), 2, 5000) == (2, 2)
    # The deviance of a change at k: n log-likelihoods of residual sums of squares over the same variance.
    rng = np.random.default_rng(1)
    base, x = rng.random(50), rng.random(40) + 0.3 * (np.arange(40) >= 20)
    y = np.concatenate([base, x])
    residual = np.array([y[:k].var() * k + y[k:].var() * (90 - k) for k in range(50, 90)])
    inside = np.flatnonzero((residual - residual.min()) / (2 * residual.min() / 88) <= CHANGE_LOSS)
    assert change_range(x, base, 20, 5000) == (min(20, inside[0]), max(20, inside[-1]))
    # A known mean of the baseline is not estimated.
    residual = np.array([((x[:k] - 0.5) ** 2).sum() + x[k:].var() * (40 - k) for k in range(40)])
    inside = np.flatnonzero((residual - residual.min()) / (2 * residual.min() / 38) <= CHANGE_LOSS)
    assert change_range(x, 0.5, 20, 5000) == (min(20, inside[0]), max(20, inside[-1]))


@pytest.mark.simulation
def test_range_of_the_change_point_has_the_change():
    """At the alarm and with more labels: of 80 alarms at least 90% minus 3 standard errors."""
    inside = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        base, x = rng.random(300) < 0.5, rng.random(1600) < np.where(np.arange(1600) < 600, 0.5, 0.7)
        values, bets = detector(x.astype(float), base.astype(float), 5000)
        alarm = int(np.flatnonzero(values >= 20)[0])
        if alarm < 600:
            continue
        since = change_point(bets, alarm, 5000)
        for end in (alarm + 1, 1600):
            low, high = change_range(x[:end].astype(float), base.astype(float), since, 5000)
            inside.append(low <= 600 <= high)
    assert len(inside) > 140
    assert np.mean(inside) > 0.9 - 3 * np.sqrt(0.09 / 80)


def test_no_alarm_is_said_with_how_near_it_was():
    found = assay.monitor(stream(2), baseline=800)
    assert found.alarm is None
    assert "No alarm in 700 labels after the baseline" in found.summary()


def test_more_labels_change_nothing_of_before():
    long, short = stream(3, 1500), stream(3, 1500)
    kept = short.labels["item"] < "i01200"
    one, other = assay.monitor(long, baseline=500), assay.monitor(keep_rows(short, kept), baseline=500)
    np.testing.assert_array_equal(one.detector_values[:700], other.detector_values)


@pytest.mark.slow
def test_clusters_are_observations():
    rows = documents = 0
    for seed in range(16):
        labels = stream(seed, 3000, documents=10)
        rows += assay.monitor(labels, baseline=1000).alarm is not None
        documents += assay.monitor(labels, baseline=100, clusters="document").alarm is not None
    assert documents <= 2
    assert rows > 5
    assert "Set clusters='document' (--clusters document)." in assay.monitor(labels, baseline=1000).summary()


def test_gap_and_share_are_monitored():
    labels = stream(5, 6000, shift=0.4, at=3000)
    found = assay.monitor(labels, watch="gap", baseline=900)
    assert found.alarm is not None
    one = assay.monitor(labels, share_of=1, baseline=2000)
    assert one.alarm is not None
    assert one.base.estimate == pytest.approx(0.4, abs=0.05)


def test_alarm_names_the_label_and_its_place_in_the_order_column():
    labels = stream(1, 4000, shift=0.3, at=2500)
    words = labels.labels.with_columns(label=pl.when(pl.col("label") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")))
    weeks = labels.items.select("item", week=pl.lit("week ") + (pl.col("time") // 500 + 10).cast(pl.String))
    named = assay.read(words, judges=["judge"], scale="nominal:no,yes", items=weeks)
    found = assay.monitor(named, baseline=2000, order="week")
    changed = "week 15" if found.since > 500 else "week 14"
    assert (found.share_of, found.alarm_at, found.since_at) == ("yes", "week 15", changed)
    text = found.summary()
    assert f"Alarm at label {found.alarm} of 2,000 after the baseline (week week 15): the share of 'yes' " in text
    low, high = found.since_range
    weeks = ["week 14" if k <= 500 else "week 15" for k in (low, high)]
    assert found.range_at == tuple(weeks) == ("week 14", "week 15")
    assert (
        f"Estimated change point: label {found.since} after the baseline (week {changed}); 90% range: {low}–{high} "
        "(week week 14 to week 15)." in text
    )
    assert f"Since the change point: share of 'yes' {found.now.estimate:.2f} [" in text
    assert f"Baseline: share of 'yes' {found.base.estimate:.2f} [" in text
    no = assay.monitor(named, baseline=2000, share_of="no")
    assert "the share of 'no' decreased." in no.summary()
    gap = assay.monitor(named, baseline=600, watch="gap")
    assert "share of 'yes' (judge − humans) " in gap.summary()


def test_order_of_documents_is_that_of_their_first_item():
    labels = stream(1, 4000, shift=0.3, at=2500, documents=2)
    found = assay.monitor(labels, baseline=1000, order="time", clusters="document")
    assert found.alarm is not None
    assert (found.unit, found.alarm_at) == ("document", str(2 * (1000 + found.alarm - 1)))


def test_order_uses_column():
    labels = stream(6, 3000, shift=0.4, at=1500)
    forth, back = (assay.monitor(labels, order=c, baseline=1000) for c in ("time", "late"))
    assert forth.now.estimate > forth.base.estimate
    assert back.now.estimate < back.base.estimate


def test_monitor_refuses_unbounded_labels():
    with pytest.raises(DesignError, match="the baseline uses the first 2,000"):
        assay.monitor(stream(1))
    with pytest.raises(DesignError, match="baseline_mean must be inside the scale"):
        assay.monitor(stream(1), baseline_mean=2.0)
    with pytest.raises(DataError, match="did you mean 'judge'"):
        assay.monitor(stream(1), "juge")
    with pytest.raises(DesignError, match="label '3'"):
        assay.monitor(stream(1), share_of=3, baseline=100)
    free = assay.read(stream(1).labels, judges=["judge"], scale="interval")
    with pytest.raises(DesignError, match="requires bounded labels"):
        assay.monitor(free, baseline=100)


def test_change_point_is_minimum_of_best_bet():
    falling, rising = np.array([-1.0, -2, -3, -1, 1, 3]), np.array([1.0, 2, 1, 2, 3, 4])
    assert change_point(np.array([rising, falling]), 5, 100) == 3  # 6 made from look 3 on, against 4 from the start
    assert change_point(np.array([rising]), 5, 100) == 0
    assert change_point(np.array([rising, falling]), 5, 5) == 5  # watching began again at 5


def test_baseline_interval():
    # Clopper and Pearson of 7 in 20: .1539 to .5922.
    assert baseline_ends(np.repeat([1.0, 0.0], [7, 13]), 0.05) == pytest.approx((0.15391, 0.59219), abs=1e-5)
    assert baseline_ends(np.zeros(20), 0.05) == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))
    assert baseline_ends(np.ones(20), 0.05) == pytest.approx((0.025 ** (1 / 20), 1.0))
    # 400 numbers of mean .5 and variance .08354; log(4 / α) is 4.382.
    x = np.tile([0.125, 0.375, 0.625, 0.875], 100)
    x = 0.5 + (x - 0.5) * np.sqrt(0.25 / 3 / x.var())
    half = np.sqrt(2 * 0.08354 * 4.38203 / 400) + 7 * 4.38203 / 1197
    assert baseline_ends(x, 0.05) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)
    assert baseline_ends(np.tile([0.2, 0.1], 10), 0.05)[0] == 0  # never below the scale
    assert baseline_ends(np.tile([0.8, 0.9], 10), 0.05)[1] == 1


def test_sequence_by_hand():
    # 1,000 observations with mean .25, scale from 1 to 5, narrowest at 500: √(2 · 3 · 500 / 10⁶ · ¼ · log(√3 / .025)).
    one = sequence(np.repeat([0.0, 1.0], [750, 250]), 0.95, 1.0, 4.0)
    half = 4 * np.sqrt(2 * 3 * 500 / 1e6 / 4 * np.log(np.sqrt(3) / 0.025))
    assert (one.estimate, one.low, one.high) == pytest.approx((2.0, 2 - half, 2 + half))
    assert one.standard_error == pytest.approx(4 * np.sqrt(0.1875 / 1000))
    assert one.interval(0.8)[1] < one.high
    early = sequence(np.array([0.0, 1.0]), 0.95, 1.0, 4.0)
    assert (early.low, early.high) == (1.0, 5.0)
    assert sequence(np.array([]), 0.95, 0.0, 1.0).reason == "no observation after the baseline"


def test_values_of_a_known_baseline_and_of_the_gap():
    labels = stream(7, 900)
    found = assay.monitor(labels, baseline_mean=0.4, baseline=500)
    judge = labels.where(annotator="judge").labels.sort("item")["label"].to_numpy()
    np.testing.assert_allclose(found.detector_values, detector(judge.astype(float), 0.4, 5000)[0] * 0.05)
    assert (found.base.estimate, found.base.reason, found.n_base, found.n_now) == (0.4, "known value", 0, 900)
    assert found.now.estimate == pytest.approx(judge.mean())
    words = found.summary()
    assert "Baseline: mean label 0.4 (known)." in words
    assert "False-alarm probability at most 0.05 over 5,000 labels, valid under continuous monitoring." in words
    assert f"(detector never above {100 * found.detector_values.max():.0f}% of its threshold)." in words
    gap = assay.monitor(labels, watch="gap", baseline=100)
    person = labels.where(annotator="ann").labels.sort("item")["label"].to_numpy()
    np.testing.assert_allclose(gap.means, (judge[::3] - person)[100:])
    x = (gap.means + 1) / 2
    base = ((judge[::3] - person)[:100] + 1) / 2
    np.testing.assert_allclose(gap.detector_values, detector(x, base, 5000)[0] * 0.05)
    assert gap.now.estimate == pytest.approx((judge[::3] - person)[100:].mean())
    five = assay.read(labels.labels.with_columns(pl.col("label") * 2 + 1), judges=["judge"], scale="1-5")
    wide = assay.monitor(five, baseline=400)
    assert wide.base.estimate == pytest.approx(1 + 2 * judge[:400].mean())
    assert wide.now.estimate == pytest.approx(1 + 2 * judge[400:].mean())


def test_known_baseline_is_tested_by_likelihood_ratios():
    """Of shares .05 and .1 above and below .4: each start k ≤ t counts 1/T of the ratio of its labels, later ones 1."""
    labels, horizon = stream(7, 60), 50
    judge = labels.where(annotator="judge").labels.sort("item")["label"].to_list()
    wanted = []
    for t in range(60):
        first = 0 if t < horizon else horizon
        ratios = [
            np.prod([q / 0.4 if label else (1 - q) / 0.6 for label in judge[k : t + 1]])
            for q in (0.3, 0.35, 0.45, 0.5)
            for k in range(first, t + 1)
        ]
        wanted.append(sum(ratios) / 4 / horizon + 1 - (t - first + 1) / horizon)
    found = assay.monitor(labels, baseline_mean=0.4, horizon=horizon)
    np.testing.assert_allclose(found.detector_values, np.array(wanted) * 0.05, rtol=1e-9)


def numbers(values, *, scale, categories=None, **options):
    answers = SimpleNamespace(value=np.array(values), categories=categories)
    ratings = SimpleNamespace(answers=answers, scale=scale)
    value, low, span = monitoring._numbers(ratings, monitoring.MonitorSettings(**options))
    return value.tolist(), low, span


def test_observations_and_bounds_of_labels():
    yes_no, three = assay.Nominal(["no", "yes"]), assay.Nominal(["a", "b", "c"])
    assert numbers([0, 1, 1], scale=yes_no, categories=("no", "yes")) == ([0, 1, 1], 0, 1)
    assert numbers([0, 2, 1], scale=three, categories=("a", "b", "c"), share_of="c") == ([0, 1, 0], 0, 1)
    assert numbers([2, 4, 5], scale=assay.Ordinal(1, 5)) == ([2, 4, 5], 1, 4)
    assert numbers([2, 4, 5], scale=assay.Ordinal(1, 5), share_of="4") == ([0, 1, 0], 0, 1)
    assert numbers([2.5, 4, 2.5], scale=assay.Interval(), share_of="2.5") == ([1, 0, 1], 0, 1)
    with pytest.raises(DesignError, match="label 'd' is not in the scale"):
        numbers([0], scale=three, categories=("a", "b", "c"), share_of="d")
    for scale, categories in ((three, ("a", "b", "c")), (assay.Interval(), None)):
        with pytest.raises(DesignError, match="a monitor requires bounded labels"):
            numbers([0, 2, 1], scale=scale, categories=categories)


@pytest.mark.parametrize("column", ["document", "chat", ""])
def test_monitor_cautions_about_groups_whose_labels_depend_on_one_another(column):
    """Groups by any column, or by prefixes of the ids, as in drift and estimates; not the order column itself."""
    labels = stream(2, 1500, documents=10)
    items = labels.items.rename({"document": column or "gone"})
    rows = labels.labels
    if not column:
        new = {name: f"{document}-{name[-1]}" for name, document in labels.items.select("item", "document").rows()}
        items, rows = (one.with_columns(pl.col("item").replace_strict(new)) for one in (items.drop("gone"), rows))
    table = assay.Annotations.from_frame(rows, judges=["judge"], scale="0-1", items=items)
    (caution,) = assay.monitor(table, baseline=1000, order="time").cautions
    shared = "item ids share 150 prefixes" if not column else f"items share 150 values of “{column}”"
    assert shared in caution
    assert "design effect" in caution
    if column:
        assert assay.monitor(table, baseline=100, order="time", clusters=column).cautions == ()
        (consecutive,) = assay.monitor(table, baseline=1000, order=column).cautions
        assert consecutive.startswith("consecutive labels are alike")


def test_monitor_cautions_about_consecutive_labels_that_are_alike():
    """No column names the documents: in 57 of 60 studies of unchanged judges there is an alarm."""
    labels = stream(2, 1500, documents=10)
    table = assay.Annotations.from_frame(
        labels.labels, judges=["judge"], scale="0-1", items=labels.items.drop("document")
    )
    (caution,) = assay.monitor(table, baseline=1000, order="time").cautions
    assert caution.startswith("consecutive labels are alike (1,500 in 150 batches: design effect")
    assert caution.endswith("Name the column of what they share, such as a document, with clusters=... (--clusters).")


def test_monitor_cautions_about_documents_longer_than_the_baseline():
    """An unchanged judge, documents of 300 labels: an alarm in .93 of studies, after one or two documents."""
    found = assay.monitor(stream(2, 3000, documents=300), baseline=300, order="time")
    assert found.alarm < 600
    (caution,) = found.cautions
    assert caution.startswith("3,000 items share 10 values of “document”; design effect")


def test_monitor_has_no_caution_about_documents_within_which_a_judge_fails_for_a_while():
    """Documents before the change are independent; the failure ends, so that documents of it are alike."""
    failed = stream(4, 4000, shift=0.4, at=1500).labels.filter(pl.col("annotator") == "judge")
    usual = stream(5, 4000).labels.filter(pl.col("annotator") == "judge")
    rows = pl.concat([failed[:2100], usual[2100:]])
    items = pl.DataFrame(
        {"item": rows["item"], "time": np.arange(4000), "document": [f"d{i // 10}" for i in range(4000)]}
    )
    table = assay.Annotations.from_frame(rows, judges=["judge"], scale="0-1", items=items)
    found = assay.monitor(table, baseline=1000, order="time")
    assert found.alarm is not None
    assert found.cautions == ()


def test_monitor_has_no_caution_about_groups_without_an_effect_or_about_a_change():
    for labels in (stream(3, 1500), stream(4, 3000, shift=0.3, at=2000)):
        items = labels.items.with_columns(document=pl.format("d{}", pl.arange(labels.n_items) // 10))
        table = assay.Annotations.from_frame(labels.labels, judges=["judge"], scale="0-1", items=items)
        assert assay.monitor(table, baseline=1000, order="time").cautions == ()


def test_baseline_estimate_in_scale_units():
    """On 1 to 5 the mean of 2, 3, 3, 4 is 3; the ends move with it; a known one has none."""
    base = np.tile([0.25, 0.5, 0.5, 0.75], 10)
    frame = pl.DataFrame({"item": [f"i{k:02}" for k in range(60)], "annotator": "judge", "label": [2, 3, 3, 4] * 15})
    labels = assay.read(frame, judges=["judge"], scale="1-5")
    found = assay.monitor(labels, baseline=40, alpha=0.1).base
    assert (found.estimate, found.standard_error) == (3, pytest.approx(4 * math.sqrt(0.125 / 4 / 40)))
    assert (found.low, found.high) == tuple(1 + 4 * end for end in baseline_ends(base, 0.1))
    assert found.interval(0.99) == pytest.approx([1 + 4 * end for end in baseline_ends(base, 0.01)])
    known = assay.monitor(labels, baseline_mean=2.0).base
    assert (known.estimate, known.reason, math.isnan(known.low)) == (2.0, "known value", True)


def test_baseline_ends_match_formulas():
    """Clopper and Pearson's of yes and no; of other numbers Maurer and Pontil's, α/2 at each end."""
    for k in (0, 3, 10):
        low, high = baseline_ends(np.r_[np.ones(k), np.zeros(10 - k)], 0.1)
        exact = stats.binomtest(k, 10).proportion_ci(0.9, method="exact")
        assert (low, high) == pytest.approx((exact.low, exact.high))
    x = np.tile([0.25, 0.5, 0.75], 200)
    half = math.sqrt(2 * x.var(ddof=1) * math.log(40) / 600) + 7 * math.log(40) / (3 * 599)
    assert baseline_ends(x, 0.1) == pytest.approx((0.5 - half, 0.5 + half))
    assert baseline_ends(np.array([0.25, 0.5, 0.75]), 0.1) == (0, 1)
