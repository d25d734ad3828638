"""Two runs of a judge: whose change it is, intervals that cover, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.estimates.drift import tango


def runs(
    seed: int, *, shift: float = 0.0, system: float = 0.0, n: int = 600, anchors: int = 200, old_texts: bool = False
):
    """Before and after, of other texts, and anchors that the old version judged: yes or no.

    The shift is doubled on long texts where anchors are old texts, and new texts are longer: what cannot be divided.
    """
    rng = np.random.default_rng(seed)

    def texts(word: str, longer: float) -> tuple[list[str], np.ndarray]:
        size = np.maximum(rng.normal(60 + longer, 15, n), 12).astype(int)
        return [f"{word}{i:05d} ".ljust(s, "x") for i, s in enumerate(size)], size

    def table(names: list[str], label: np.ndarray, model: str) -> assay.Annotations:
        frame = pl.DataFrame({"item": [t[:9] for t in names], "annotator": "judge", "label": label.astype(int)})
        items = pl.DataFrame({"item": [t[:9] for t in names], "text": names})
        people = pl.DataFrame({"annotator": ["judge"], "model": [model]})
        return assay.Annotations.from_frame(frame, judges=["judge"], scale="0-1", items=items, annotators=people)

    old, _ = texts("old", 0)
    new, size = texts("new", 15 if old_texts else 0)
    z_old, z_new = rng.random(n), rng.random(n)
    extra = shift * (1 + (size > 60) * old_texts)
    before = table(old, z_old < 0.4, "m-1")
    after = table(new, z_new < 0.4 + system + extra, "m-2")
    mine = np.sort(rng.permutation(n)[:anchors])
    return before, after, table([new[i] for i in mine], (z_new < 0.4 + system)[mine], "m-1")


def test_the_judge_s_change_is_told_from_the_systems():
    before, after, anchors = runs(1, shift=0.1, anchors=300)
    found = assay.drift(before, after, anchors=anchors)
    assert found.shown
    assert found.lines["judge's change"].low < 0.1 < found.lines["judge's change"].high
    words = found.summary()
    assert "the judge has changed" in words
    assert "no change of the systems is shown" in words
    assert "model m-1 → m-2" in words


@pytest.mark.slow
def test_intervals_cover_and_the_systems_are_blamed_in_five_of_a_hundred():
    judge, system, shown = [], [], []
    for seed in range(200):
        before, after, anchors = runs(seed, shift=0.1, anchors=200, n=500)
        found = assay.drift(before, after, anchors=anchors)
        one, rest = found.lines["judge's change"], found.lines["systems' change"]
        judge.append(one.low <= 0.1 <= one.high)
        if rest.reason is None:
            system.append(rest.low <= 0 <= rest.high)
        shown.append(found.shown)
    error = 2 * 0.0154
    assert 0.95 - error - 0.01 < np.mean(judge)
    assert 0.93 - error < np.mean(system) < 0.97 + error
    assert len(system) > 190  # anchors that are a sample are hardly ever refused
    assert np.mean(shown) > 0.95


def test_nothing_changed_is_hardly_ever_shown():
    shown = []
    for seed in range(40):
        before, after, anchors = runs(seed, anchors=150, n=300)
        shown.append(assay.drift(before, after, anchors=anchors).shown)
    assert np.mean(shown) <= 0.05


def test_without_anchors_nothing_is_divided():
    before, after, _ = runs(2, shift=0.1)
    found = assay.drift(before, after)
    assert "no text was judged in both runs" in found.not_apportioned
    assert "The whole change is not divided between judge and systems" in found.summary()
    assert np.isnan(found.lines["systems' change"].low)


def test_anchors_that_are_no_sample_of_the_later_run_are_refused():
    """Short texts alone as anchors, where long ones move twice as much."""
    refused = 0
    for seed in range(20):
        before, after, anchors = runs(seed, shift=0.05, old_texts=True, anchors=600)
        short = anchors.items.filter(pl.col("text").str.len_chars() < 70)["item"]
        few = anchors._keep_rows(anchors.labels["item"].is_in(short.implode()))
        found = assay.drift(before, after, anchors=few)
        refused += found.not_apportioned is not None and "no sample of the later run" in found.not_apportioned
    assert refused == 20


def with_people(noise_after: float = 0.3, seed: int = 3):
    """The same 150 items in both runs, three people."""
    labels = assay.simulate(
        n_items=150, n_annotators=3, annotator_noise=0.3, judges={"judge": 0.1}, scale="1-5", seed=seed
    )
    rng = np.random.default_rng(seed)
    flip = rng.random(len(labels)) < noise_after
    rows = labels.labels.with_columns(
        label=pl.when((pl.col("annotator") == "judge") & pl.Series(flip))
        .then(pl.Series(rng.integers(1, 6, len(labels)), dtype=labels.labels["label"].dtype))
        .otherwise(pl.col("label"))
    )
    return labels, assay.read(rows, judges=["judge"], scale="1-5")


def test_a_judge_that_got_worse_keeps_less_of_people():
    found = assay.drift(*with_people(0.6))
    assert found.lines["R"].high < 0
    assert found.lines["closeness"].high < 0
    assert found.lines["R before"].low > found.lines["R after"].estimate
    assert "R, what it keeps of people's agreement, fell" in found.summary()
    assert found.lines["systems' change"].reason.startswith("both runs have the same texts")


def test_r_is_that_of_an_exchangeable_judge():
    """A judge that errs as people do has R of about 1; a constant 0."""
    labels = assay.simulate(
        n_items=400, n_annotators=3, annotator_noise=0.3, judges={"judge": 0.3}, scale="1-5", seed=2
    )
    constant = labels.labels.with_columns(
        label=pl.when(pl.col("annotator") == "judge").then(pl.lit(3)).otherwise(pl.col("label"))
    )
    found = assay.drift(labels, assay.read(constant, judges=["judge"], scale="1-5")).lines
    assert found["R before"].low < 1 < found["R before"].high
    assert found["R after"].estimate == pytest.approx(0, abs=0.02)


def test_tango_covers_and_has_a_width_where_nothing_changed():
    none = tango(np.zeros(50, bool), np.zeros(50, bool), 1.0, 0.95)
    assert (none.low, none.high) == pytest.approx((-0.0714, 0.0714), abs=2e-4)  # z²/(n + z²)
    # With 21 changed labels of 100 the ends are near Wald's, .03 ± 1.96 · .0457.
    up, down = np.zeros(100, bool), np.zeros(100, bool)
    up[:12], down[12:21] = True, True
    found = tango(down, up, 1.0, 0.95)
    assert found.estimate == pytest.approx(0.03)
    assert found.low == pytest.approx(-0.061, abs=0.003)
    assert found.high == pytest.approx(0.122, abs=0.003)


def test_the_same_labels_twice_have_an_interval_around_nothing():
    labels, _ = with_people()
    found = assay.drift(labels, labels).lines["judge's change"]
    assert found.estimate == 0
    assert -0.15 < found.low < 0 < found.high < 0.15


def test_words_have_one_code_in_both_runs():
    """A run that holds 'yes' alone is not taken for one of 'no'."""
    names = [f"i{i:03d}" for i in range(60)]
    tables = [
        assay.read(
            pl.DataFrame({"item": names, "annotator": "judge", "label": given}), judges=["judge"], scale="nominal"
        )
        for given in (["no"] * 20 + ["yes"] * 40, ["yes"] * 60)
    ]
    found = assay.drift(*tables)
    assert found.lines["judge's change"].estimate == pytest.approx(1 / 3)
    assert found.lines["whole change"].estimate == pytest.approx(1 / 3)


def test_bad_runs_are_refused_in_words():
    before, after, _ = runs(1)
    with pytest.raises(DataError, match="did you mean 'judge'"):
        assay.drift(before, after, judge="judg")
    other = assay.read(after.labels, judges=["judge"], scale="0-2")
    with pytest.raises(DesignError, match="different scales"):
        assay.drift(before, other)
    with pytest.raises(DataError, match="column 'txt'"):
        assay.drift(before, after, text="txt")
