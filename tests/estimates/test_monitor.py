"""The monitor: few false alarms over whole trajectories, changes found late, documents and not rows as looks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.estimates.monitor import baseline_ends, detector

ALPHA = 0.05


def alarm(rng, p0: float, *, baseline: int = 2000, looks: int = 5000, shift: float = 0.0, at: int = 1000, known=False):
    """The look of the alarm, or None."""
    base = (rng.random(baseline) < p0).astype(float)
    p = np.full(looks, p0)
    p[at:] += shift
    ends = (p0, p0) if known else baseline_ends(base, ALPHA)
    wealth, _ = detector((rng.random(looks) < p).astype(float), *ends, 5000)
    over = np.flatnonzero(wealth >= 1 / (ALPHA if known else ALPHA / 2))
    return int(over[0]) if len(over) else None


@pytest.mark.parametrize("p0", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("known", [True, False])
def test_false_alarms_are_few_over_whole_trajectories(p0, known):
    rng = np.random.default_rng(1)
    alarms = sum(alarm(rng, p0, known=known) is not None for _ in range(200))
    assert alarms / 200 <= 0.05 + 2 * 0.0154
    if not known:
        assert alarms <= 4  # the recipe's .000 to .003


@pytest.mark.parametrize(("p0", "most"), [(0.1, 600), (0.5, 600), (0.8, 600)])
def test_a_change_of_a_tenth_is_found_within_six_hundred_looks(p0, most):
    """In the median, after 1,000 looks, with 2,000 labels as baseline."""
    rng = np.random.default_rng(2)
    found = [alarm(rng, p0, shift=0.1) for _ in range(60)]
    delays = [np.inf if at is None else at - 1000 for at in found]
    assert np.median(delays) <= most + 60  # two Monte Carlo errors of 60 studies
    assert sum(d < 0 for d in delays) <= 2


def test_a_change_of_a_twentieth_needs_a_large_baseline():
    rng = np.random.default_rng(3)
    delays = [
        np.inf if at is None else at - 1000 for at in (alarm(rng, 0.3, shift=0.05, baseline=10_000) for _ in range(60))
    ]
    assert np.median(delays) <= 1600 + 150  # 1,502 of 200 studies; two Monte Carlo errors of 60
    assert np.mean(np.isfinite(delays)) >= 0.9


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


def test_an_alarm_says_when_and_which_way():
    found = assay.monitor(stream(1, 4000, shift=0.3, at=2500), baseline=2000)
    assert found.alarm is not None
    assert 500 < found.alarm < 900
    assert abs(found.since - 500) < 60
    assert "the mean has risen, most likely from label" in found.summary()
    assert found.now.low < 0.7 < found.now.high
    assert found.plot().figure is not None


def test_no_alarm_is_said_with_how_near_it_was():
    found = assay.monitor(stream(2), baseline=800)
    assert found.alarm is None
    assert "No alarm after 700 labels" in found.summary()


def test_more_labels_change_nothing_of_before():
    long, short = stream(3, 1500), stream(3, 1500)
    kept = short.labels["item"] < "i01200"
    one, other = assay.monitor(long, baseline=500), assay.monitor(short._keep_rows(kept), baseline=500)
    np.testing.assert_array_equal(one.evidence[:700], other.evidence)


def test_documents_are_looks():
    rows = documents = 0
    for seed in range(60):
        labels = stream(seed, 3000, documents=10)
        rows += assay.monitor(labels, baseline=1000).alarm is not None
        documents += assay.monitor(labels, baseline=100, clusters="document").alarm is not None
    assert documents <= 4
    assert rows > 20
    assert "clusters=... makes a document a look" in assay.monitor(labels, baseline=1000).summary()


def test_the_gap_to_people_and_one_label_are_watched():
    labels = stream(5, 6000, shift=0.4, at=3000)
    found = assay.monitor(labels, watch="gap", baseline=900)
    assert found.alarm is not None
    one = assay.monitor(labels, share_of=1, baseline=2000)
    assert one.alarm is not None
    assert one.base.estimate == pytest.approx(0.4, abs=0.05)


def test_the_order_is_a_column_s():
    labels = stream(6, 3000, shift=0.4, at=1500)
    forth, back = (assay.monitor(labels, order=c, baseline=1000) for c in ("time", "late"))
    assert forth.now.estimate > forth.base.estimate
    assert back.now.estimate < back.base.estimate


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(DesignError, match="the baseline takes the first 2,000"):
        assay.monitor(stream(1))
    with pytest.raises(DesignError, match="baseline_mean must lie inside the scale"):
        assay.monitor(stream(1), baseline_mean=2.0)
    with pytest.raises(DataError, match="did you mean 'judge'"):
        assay.monitor(stream(1), "juge")
    with pytest.raises(DesignError, match="label '3'"):
        assay.monitor(stream(1), share_of=3, baseline=100)
    free = assay.read(stream(1).labels, judges=["judge"], scale="interval")
    with pytest.raises(DesignError, match="needs labels with ends"):
        assay.monitor(free, baseline=100)
