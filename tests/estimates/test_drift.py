"""Two runs of a judge: decomposition of the change, coverage of the intervals, and errors."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.optimize import brentq

import assay
import references
from assay.errors import DataError, DesignError
from assay.estimates.drift import Drift, DriftSettings, ScoredRun, few_changed, tango
from assay.estimates.words import drift_lines
from assay.estimation.intervals import Estimate
from assay.estimation.result import Run
from selection import keep_rows


def runs(
    seed: int, *, shift: float = 0.0, system: float = 0.0, n: int = 600, anchors: int = 200, old_texts: bool = False
):
    """Before and after, of other texts, and anchors that the old version judged: yes or no.

    The shift is doubled on long texts, anchors are old texts, and new texts are longer: no decomposition.
    """
    rng = np.random.default_rng(seed)

    def texts(word: str, longer: float) -> tuple[list[str], np.ndarray]:
        size = np.maximum(rng.normal(60 + longer, 15, n), 12).astype(int)
        return [f"{word}{i:05d} ".ljust(s, "x") for i, s in enumerate(size)], size

    def table(names: list[str], label: np.ndarray, model: str) -> assay.Annotations:
        frame = pl.DataFrame({"item": [t[:9] for t in names], "annotator": "judge", "label": label.astype(int)})
        items = pl.DataFrame({"item": [t[:9] for t in names], "text": names})
        people = pl.DataFrame({"annotator": ["judge"], "model": [model]})
        return assay.Annotations.from_frame(frame, judges=["judge"], scale="0-1", items=items, annotator_table=people)

    old, _ = texts("old", 0)
    new, size = texts("new", 15 if old_texts else 0)
    z_old, z_new = rng.random(n), rng.random(n)
    extra = shift * (1 + (size > 60) * old_texts)
    before = table(old, z_old < 0.4, "m-1")
    after = table(new, z_new < 0.4 + system + extra, "m-2")
    mine = np.sort(rng.permutation(n)[:anchors])
    return before, after, table([new[i] for i in mine], (z_new < 0.4 + system)[mine], "m-1")


def test_judge_drift_is_separated_from_system_change():
    before, after, anchors = runs(1, shift=0.1, anchors=300)
    found = assay.drift(before, after, anchors=anchors)
    assert found.significant
    assert found.lines["judge drift"].low < 0.1 < found.lines["judge drift"].high
    words = found.summary()
    assert ", significant (300 anchor items; " in words
    assert "; not significant." in words
    assert "model m-1 → m-2" in words


@pytest.mark.simulation
def test_intervals_cover_and_the_systems_are_blamed_in_five_of_a_hundred():
    judge, system, shown = [], [], []
    for seed in range(200):
        before, after, anchors = runs(seed, shift=0.1, anchors=200, n=500)
        found = assay.drift(before, after, anchors=anchors)
        one, rest = found.lines["judge drift"], found.lines["system change"]
        judge.append(one.low <= 0.1 <= one.high)
        if rest.reason is None:
            system.append(rest.low <= 0 <= rest.high)
        shown.append(found.significant)
    error = 2 * 0.0154
    assert 0.95 - error - 0.01 < np.mean(judge)
    assert 0.93 - error < np.mean(system) < 0.97 + error
    assert len(system) > 190  # random anchors are rarely refused
    assert np.mean(shown) > 0.95


@pytest.mark.slow
def test_no_change_is_rarely_significant():
    shown = []
    for seed in range(20):
        before, after, anchors = runs(seed, anchors=150, n=300)
        shown.append(assay.drift(before, after, anchors=anchors).significant)
    assert np.mean(shown) <= 0.05


def test_without_anchors_nothing_is_divided():
    before, after, _ = runs(2, shift=0.1)
    found = assay.drift(before, after)
    assert "no text was labelled in both runs" in found.not_apportioned
    assert "The total change is not divided into judge drift and system change" in found.summary()
    assert np.isnan(found.lines["system change"].low)


@pytest.mark.slow
def test_anchors_that_are_no_sample_of_the_later_run_are_refused():
    """Short texts alone as anchors, where long ones move twice as much."""
    refused = 0
    for seed in range(10):
        before, after, anchors = runs(seed, shift=0.05, old_texts=True, anchors=600)
        short = anchors.items.filter(pl.col("text").str.len_chars() < 70)["item"]
        few = keep_rows(anchors, anchors.labels["item"].is_in(short.implode()))
        found = assay.drift(before, after, anchors=few)
        refused += found.not_apportioned is not None and "not a random sample of the later run" in found.not_apportioned
    assert refused == 10


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


def test_degraded_judge_has_lower_agreement_ratio():
    found = assay.drift(*with_people(0.6))
    assert found.lines["R"].high < 0
    assert found.lines["agreement with humans"].high < 0
    assert found.lines["R before"].low > found.lines["R after"].estimate
    assert "Agreement ratio R (not stratified here): change −" in found.summary()
    assert found.lines["system change"].reason.startswith("both runs have the same texts")


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


def test_identical_labels_have_interval_around_zero():
    labels, _ = with_people()
    found = assay.drift(labels, labels).lines["judge drift"]
    assert found.estimate == 0
    assert -0.15 < found.low < 0 < found.high < 0.15


def test_words_have_one_code_in_both_runs():
    """A run with only 'yes' is not treated as one with only 'no'."""
    names = [f"i{i:03d}" for i in range(60)]
    tables = [
        assay.read(
            pl.DataFrame({"item": names, "annotator": "judge", "label": given}), judges=["judge"], scale="nominal"
        )
        for given in (["no"] * 20 + ["yes"] * 40, ["yes"] * 60)
    ]
    found = assay.drift(*tables)
    assert found.lines["judge drift"].estimate == pytest.approx(1 / 3)
    assert found.lines["total change"].estimate == pytest.approx(1 / 3)
    # With an order that was declared that order counts, not the alphabet's; and there may be more than two.
    for scale, low, high in (("nominal:yes,no", "yes", "no"), ("ordinal:low<middling<high", "low", "high")):
        frames = [pl.DataFrame({"item": names, "annotator": "judge", "label": [low] * n + [high] * (60 - n)})
                  for n in (40, 20)]  # fmt: skip
        risen = assay.drift(*(assay.read(frame, judges=["judge"], scale=scale) for frame in frames))
        assert risen.lines["judge drift"].estimate == pytest.approx((1 if low == "yes" else 2) / 3)


def test_bad_runs_are_refused_in_words():
    before, after, _ = runs(1)
    with pytest.raises(DataError, match="did you mean 'judge'"):
        assay.drift(before, after, judge="judg")
    other = assay.read(after.labels, judges=["judge"], scale="0-2")
    with pytest.raises(DesignError, match="different scales"):
        assay.drift(before, other)
    with pytest.raises(DataError, match="column 'txt'"):
        assay.drift(before, after, text="txt")


def drifted(old, new, scale=None, **options) -> Drift:
    """The drift of a judge from labels of texts by their names."""
    tables = [
        assay.Annotations.from_frame(
            pl.DataFrame({"item": list(run), "annotator": "m", "label": list(run.values())}), judges=["m"],
            scale=scale or assay.Interval(),
        )
        for run in (old, new)
    ]  # fmt: skip
    return assay.drift(*tables, **options)


def test_the_change_of_numbers_is_tested_as_a_mean():
    rng = np.random.default_rng(3)
    d = rng.normal(0.3, 1, 25)
    old = {f"t{k:02}": float(k) for k in range(25)}
    one = drifted(old, {name: x + y for (name, x), y in zip(old.items(), d, strict=True)}, confidence=0.9)
    found = one.lines["judge drift"]
    for level in (0.9, 0.5):
        assert found.interval(level) == pytest.approx(tuple(stats.ttest_1samp(d, 0).confidence_interval(level)))
    assert found.p(0.1) == pytest.approx(stats.ttest_1samp(d, 0.1).pvalue)


def test_the_same_change_of_every_label_is_significant():
    """Zero variance: by the sign test p = 2 / 2²⁵, and the mean ends where Wilson's share of 25 in 25 changed."""
    old = {f"t{k:02}": float(k) for k in range(25)}
    for change in (0.1, -0.5):  # .1 is not exact: differences vary by rounding
        made = drifted(old, {name: x + change for name, x in old.items()})
        for key in ("judge drift", "total change"):
            found = made.lines[key]
            ends = sorted(change * end for end in references.wilson(25, 25))
            assert (found.low, found.high) == pytest.approx(ends)
            assert found.p() == pytest.approx(2 / 2**25)
        assert made.significant
        assert f"Judge drift: {'+0.10' if change > 0 else '−0.50'} [" in made.summary()
        assert "100% [87%, 100%] of labels changed" in made.summary()
    same = drifted(old, dict(old))
    assert (same.lines["judge drift"].reason, same.significant) == ("no item changed", False)


def test_few_changes_reach_as_far_as_all_that_may_have_changed():
    """Of 40 labels on a span of 4 one rose by 2: +.05, up to 4 times Wilson's end of 1 in 40, down to that of 0."""
    d = np.r_[2.0, np.zeros(39)]
    found = few_changed(d, 4.0, 0.95)
    assert (found.estimate, found.standard_error) == pytest.approx((0.05, d.std() / np.sqrt(40)))
    none, once = 0.087622, 0.128814  # Wilson's upper ends of 0 and 1 in 40
    assert (found.low, found.high) == pytest.approx((-4 * none + 0.05, 4 * once), abs=1e-4)
    turned = few_changed(-d, 4.0, 0.95)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_total_and_system_change_by_hand():
    """Old texts a to e and new ones c to g, c to e anchors; numbers without ends."""
    old = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 5.0, "e": 3.0}
    new = {"c": 5.0, "d": 7.0, "e": 3.0, "f": 2.0, "g": 4.0}
    found = drifted(old, new)
    assert found.not_apportioned.startswith("3 anchor items; ")
    n = dict(found.table.select("quantity", "n").iter_rows())
    assert n == {"total change": 7, "judge drift": 3, "changed labels": 3, "system change": 3}
    whole = found.lines["total change"]
    each = {k: (new[k] - 4.2) / 5 * (k in new) - (old[k] - 3.0) / 5 * (k in old) if k in old and k in new else
            (new[k] - 4.2) / 5 if k in new else -(old[k] - 3.0) / 5 for k in "abcdefg"}  # fmt: skip
    assert whole.estimate == pytest.approx(1.2)
    assert whole.standard_error == pytest.approx(np.sqrt(sum(v**2 for v in each.values()) * 5 / 4))
    names = [f"t{i:02}" for i in range(30)]
    old = dict.fromkeys(names, 1.0) | dict.fromkeys(names[::3], 3.0) | {"old": 2.0}
    new = {k: v + (i % 4) for i, (k, v) in enumerate(list(old.items())[:30])} | {"new": 9.0}
    whole = drifted(old, new)
    assert whole.not_apportioned is None
    found = whole.lines
    d = np.array([i % 4 for i in range(30)], dtype=float)
    assert found["judge drift"].standard_error == pytest.approx(d.std(ddof=1) / np.sqrt(30))
    assert found["changed labels"].estimate == pytest.approx(22 / 30)
    means = np.mean(list(old.values())), np.mean(list(new.values()))
    left = found["system change"]
    assert left.estimate == pytest.approx(means[1] - means[0] - d.mean())
    phi = np.array([(new[k] - means[1]) / 31 - (old[k] - means[0]) / 31 for k in names]) - (d - d.mean()) / 30
    rest = np.r_[phi, -(2.0 - means[0]) / 31, (9.0 - means[1]) / 31]
    assert left.standard_error == pytest.approx(np.sqrt((rest**2).sum() * 30 / 29))


@pytest.mark.slow
@pytest.mark.parametrize("numeric", [True, False])
def test_agreement_ratio_matches_slow_method(numeric):
    """Observed and expected distances of pairs of labels, an item at a time; the jackknife by leaving items out."""
    rng = np.random.default_rng(8)
    truth = rng.integers(1, 5, 16)
    given = [[float(t + rng.integers(0, 2)) for _ in range(2 + i % 2)] for i, t in enumerate(truth)]
    judged = [truth + rng.integers(0, k, 16).astype(float) for k in (2, 4)]
    if not numeric:  # two categories
        given, judged = [[float(v > 3) for v in labels] for labels in given], [1.0 * (run > 3) for run in judged]

    def distance(a: float, b: float) -> float:
        return (a - b) ** 2 if numeric else float(a != b)

    def retention(keep: list[int], run: np.ndarray) -> float:
        own = np.mean([np.mean([distance(a, b) for a, b in itertools.permutations(given[i], 2)]) for i in keep])
        off = np.mean([np.mean([distance(a, run[i]) for a in given[i]]) for i in keep])
        # Labels of an item weigh 1 together; expected from all pairs of items, each with itself among them.
        expected = np.mean([np.mean([distance(a, b) for a in given[i] for b in given[k]]) for i in keep for k in keep])
        among = np.mean([np.mean([distance(a, run[k]) for a in given[i]]) for i in keep for k in keep])
        return (1 - off / among) / (1 - own / expected)

    found = rated_twice(given, judged, numeric=numeric).lines
    everyone = list(range(16))
    whole = [retention(everyone, each) for each in judged]
    assert [found[name].estimate for name in ("R before", "R after", "R")] == pytest.approx(
        [*whole, whole[1] - whole[0]]
    )
    less = [[k for k in everyone if k != i] for i in everyone]
    without = np.array([np.diff([retention(keep, each) for each in judged])[0] for keep in less])
    assert found["R"].standard_error == pytest.approx(np.sqrt(15 / 16 * ((without - without.mean()) ** 2).sum()))
    few = rated_twice([*given[:9], *([x[0]] for x in given[9:])], judged, numeric=numeric).lines
    assert "R" not in few  # ten items with two labels are required
    assert "agreement with humans" in few


def rated_twice(given, judged, *, numeric) -> Drift:
    """The drift of a judge on items that each have some labels of people."""
    tables = []
    for each in judged:
        rows = [(f"i{k:02}", "m", v) for k, v in enumerate(each)]
        rows += [(f"i{k:02}", f"ann{a}", v) for k, labels in enumerate(given) for a, v in enumerate(labels)]
        if not numeric:
            rows = [(item, who, "yes" if v else "no") for item, who, v in rows]
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        tables.append(assay.Annotations.from_frame(
            frame, judges=["m"], scale=assay.Interval() if numeric else assay.Nominal(("no", "yes"))
        ))  # fmt: skip
    return assay.drift(*tables)


def test_agreement_change_and_sentences():
    before, after = with_people(0.6)
    found = assay.drift(before, after)
    people = before.where(kind="human").labels.group_by("item").agg("label").sort("item")["label"].to_list()
    x, y = (run.where(annotator="judge").labels.sort("item")["label"].to_list() for run in (before, after))
    d = [np.mean([abs(a - v) for a in each]) - np.mean([abs(a - w) for a in each])
         for each, v, w in zip(people, x, y, strict=True)]  # fmt: skip
    assert found.lines["agreement with humans"].estimate == pytest.approx(np.mean(d))
    assert found.lines["agreement with humans"].standard_error == pytest.approx(np.std(d, ddof=1) / np.sqrt(150))

    assert found.at() is next(iter(found.lines.values()))  # the first is the answer

    def words(judge: float, system: float, close: float) -> list[str]:
        lines = {name: Estimate(v, v - 0.1, v + 0.1, 0.05) for name, v in
                 (("total change", 0.3), ("judge drift", judge), ("changed labels", 0.25), ("system change", system),
                  ("agreement with humans", close), ("R", -close))}  # fmt: skip
        return drift_lines(Drift(lines, dict.fromkeys(lines, 1200), ("model a → b",), None, found.run))

    assert words(0.2, 0.05, 0.2) == [
        "Total change: +0.30 [0.20, 0.40] (1,200 items).",
        "Judge drift: +0.20 [0.10, 0.30], significant (1,200 anchor items; 25% [15%, 35%] of labels changed).",
        "System change after removing judge drift: +0.05 [−0.05, 0.15]; not significant.",
        "Agreement with humans: change +0.20 [0.10, 0.30]; significant.",
        "Agreement ratio R (not stratified here): change −0.20 [−0.30, −0.10]; significant.",
        "The judge's configuration differs: model a → b.",
    ]
    other = words(-0.05, -0.2, 0.05)
    assert other[1].startswith("Judge drift: −0.05 [−0.15, 0.05], not significant (1,200 anchor items; ")
    assert other[2].endswith("; significant.")
    assert other[3] == "Agreement with humans: change +0.05 [−0.05, 0.15]; not significant."


def changes(old, new, ends):
    """The quantities of twelve texts judged in both runs, on a scale with these ends."""
    names = [f"t{k:02}" for k in range(12)]
    scale = None if ends is None else assay.Interval(*ends)
    found = drifted(dict(zip(names, old, strict=True)), dict(zip(names, new, strict=True)), scale, confidence=0.9)
    assert (found.table.row(0, named=True)["n"], found.not_apportioned) == (12, None)
    return found.lines


def mean_ends(d):
    """Of a mean of numbers: Student's."""
    return tuple(stats.ttest_1samp(d, 0).confidence_interval(0.9))


def test_which_interval_the_judge_s_change_has():
    """Two labels: Tango's. More with ends: of fewer than five changes by what may have changed. Else a mean's."""
    two = [0.0] * 6 + [3.0] * 6
    more = [*two[:5], 3.0, *two[6:]]
    found = changes(two, more, (0, 3))["judge drift"]
    wanted = tango(np.array(two) > 0, np.array(more) > 0, 3.0, 0.9)
    assert (found.estimate, found.low, found.high) == (pytest.approx(3 / 12), wanted.low, wanted.high)
    same = changes([2.0] * 12, [2.0] * 12, (0, 3))["judge drift"]
    still = tango(np.ones(12, dtype=bool), np.ones(12, dtype=bool), 1.0, 0.9)
    assert (same.estimate, same.low, same.high) == (0, still.low, still.high)
    three = [0.0, 1.0] * 3 + [2.0] * 6
    for changed, ends in ((4, (0, 3)), (5, (0, 3)), (4, None)):
        d = np.r_[np.zeros(12 - changed), np.ones(changed)]
        found = changes(three, np.array(three) + d, ends)["judge drift"]
        few = few_changed(d, 3.0, 0.9)
        wanted = (few.low, few.high) if changed == 4 and ends else mean_ends(d)
        assert (found.low, found.high) == pytest.approx(wanted)
        assert few.low != pytest.approx(mean_ends(d)[0])
    # Of two labels without ends, as of numbers, it is a mean.
    d = np.array(more) - two
    found = changes(two, more, None)["judge drift"]
    assert (found.low, found.high) == pytest.approx(mean_ends(d))


def test_changed_labels_are_a_share_and_the_same_texts_leave_nothing_to_the_systems():
    found = changes([0.0, 1.0, 2.0] * 4, [0.0, 2.0, 2.0] * 4, (0, 2))
    flips = found["changed labels"]
    assert flips.estimate == pytest.approx(1 / 3)
    t = stats.norm.ppf(0.95)
    assert (flips.low - 1 / 3) ** 2 == pytest.approx(t**2 * flips.low * (1 - flips.low) / 12)
    assert (flips.high - 1 / 3) ** 2 == pytest.approx(t**2 * flips.high * (1 - flips.high) / 12)
    assert found["system change"].reason == "both runs have the same texts, so the total change is judge drift"
    assert found["total change"].estimate == pytest.approx(1 / 3)


def test_change_requires_ten_anchors():
    old = {f"i{k:02}": float(k % 3) for k in range(12)}
    for common, reason in ((9, "9 anchor items; 10 are required; have the earlier version label"), (10, None)):
        new = dict.fromkeys(list(old)[:common], 1.0) | {"new": 2.0}
        found = drifted(old, new, assay.Interval(0, 2))
        why = found.not_apportioned
        assert (why is None) is (reason is None)
        assert reason is None or why.startswith(reason)
        counts = dict(found.table.select("quantity", "n").iter_rows())
        assert (counts["judge drift"], found.lines["judge drift"].reason) == (common, why)
    found = drifted(old, {"new": 1.0, "other": 0.0}, assay.Interval(0, 2))
    assert found.not_apportioned.startswith("no text was labelled in both runs; have the earlier version label")
    assert np.isnan([found.lines[k].low for k in ("judge drift", "system change", "changed labels")]).all()
    assert np.isfinite(found.lines["total change"].low)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.01, 0.2, True), (0.0, 0.2, False), (-0.2, 0.0, False), (-0.2, -0.01, True), (-0.1, 0.1, False),
     (np.nan, np.nan, False)],
)  # fmt: skip
def test_significance_requires_interval_without_zero(low, high, shown):
    lines = {"judge drift": Estimate(0.1, low, high, 0.1)}
    assert Drift(lines, {}, (), None, Run("drift", DriftSettings(), "", {}, "")).significant is shown


def test_tango_s_standard_error_is_that_of_changed_labels():
    """Five up and two down of 20 on a span of 3: 3 √(7 − 9 / 20) / 20."""
    before, after = np.zeros(20, dtype=bool), np.zeros(20, dtype=bool)
    after[:5] = before[5:7] = True
    found = tango(before, after, 3.0, 0.9)
    assert (found.estimate, found.standard_error) == pytest.approx((3 * 3 / 20, 3 * np.sqrt(7 - 9 / 20) / 20))
    # The score statistic (d − n δ) / √(n var) is z at an end: for no change at all δ = z² / (n + z²).
    z2 = stats.norm.ppf(0.95) ** 2
    still = tango(before[8:], after[8:], 3.0, 0.9)
    assert (still.low, still.high) == pytest.approx((-3 * z2 / (12 + z2), 3 * z2 / (12 + z2)))


def judged_by(*judges: str, items: int = 4) -> assay.Annotations:
    rows = [(f"i{i}", who, (i + j) % 2) for i in range(items) for j, who in enumerate((*judges, "ann"))]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(frame, judges=list(judges), scale=assay.Interval(0, 1))


def test_which_judge_of_a_run_is_compared():
    """Judge m gives 0 to even items and 1 to odd ones, n the reverse."""
    one, two = judged_by("m", items=12), judged_by("m", "n", items=12)

    def changed(before, after, **options) -> float:
        return assay.drift(before, after, **options).lines["changed labels"].estimate

    assert changed(two, two, judge="m", judge_after="n") == 1
    assert changed(two, two, judge="m") == changed(two, two, judge="n") == changed(one, one) == 0
    assert changed(one, two, judge="m", judge_after="n") == 1
    with pytest.raises(DesignError, match=r"specify the judge with judge=\.\.\.; the run before has m") as found:
        assay.drift(two, one)
    assert found.value.option == "judge"
    with pytest.raises(DesignError, match=r"specify the judge with judge_after=\.\.\.; the run after has m") as found:
        assay.drift(one, two)
    assert found.value.option == "judge_after"
    with pytest.raises(DataError, match="'q'"):
        assay.drift(two, two, judge="q")


def test_runs_with_more_than_two_categories_together_are_refused():
    names = [f"i{k:02}" for k in range(12)]
    old, new = (
        assay.read(
            pl.DataFrame({"item": names, "annotator": "m", "label": [low, "yes"] * 6}), judges=["m"], scale="nominal"
        )
        for low in ("no", "maybe")
    )
    with pytest.raises(DesignError, match="drift requires two categories; the runs have maybe, no, yes"):
        assay.drift(old, new)


@pytest.mark.parametrize("said", ["yes", "no"])
def test_categories_have_one_code_in_both_runs(said):
    """People and the judge say yes to even items; then the judge has one word alone, right for half of them."""
    names = [f"i{k:02}" for k in range(12)]
    answer = ["yes", "no"] * 6
    before, after = (
        assay.read(
            pl.DataFrame({"item": names * 2, "annotator": ["m"] * 12 + ["ann"] * 12, "label": judged + people}),
            judges=["m"], scale="nominal",
        )
        for judged, people in ((answer, answer), ([said] * 12, [said] * 12))
    )  # fmt: skip
    found = assay.drift(before, after).lines
    assert found["changed labels"].estimate == 0.5
    assert found["judge drift"].estimate == (0.5 if said == "yes" else -0.5)
    alone = assay.drift(before, after.where(annotator="m")).lines
    assert alone["agreement with humans"].estimate == -0.5


# -- whether anchors are a sample of the later run -------------------------------------------------------------


END = "; have the earlier version label a random sample of its texts (anchors=...)"


def apportioned(value, anchors=range(12), names=None, text=None, **columns) -> str | None:
    """Why the change is not apportioned, if these of 24 texts of the later run were labelled before."""
    names = names or [f"i{k:02}" for k in range(24)]
    rows = pl.DataFrame({"item": names, "annotator": "m", "label": value})
    items = pl.DataFrame({"item": names, **columns})
    before, after = (
        assay.Annotations.from_frame(rows[some], judges=["m"], scale=assay.Interval(), items=items[some])
        for some in (list(anchors), list(range(24)))
    )
    return assay.drift(before, after, text=text).not_apportioned


def test_anchors_that_are_no_sample_of_the_later_run():
    """Of 24 items twelve are anchors; in the words the likelier of what differs."""
    same = [1, 2, 3] * 8
    assert apportioned(same) is None
    far = [1, 2, 3] * 4 + [6, 7, 8] * 4
    said = "anchors are not a random sample of the later run: "
    assert apportioned(far) == f"{said}the judge's mean label is 2 on anchors and 7 on the other texts{END}"
    assert apportioned(far, range(24)) is None  # every one is
    columns = {"words": [1, 2, 3] * 4 + [60, 70, 80] * 4, "kind": ["x"] * 24}
    assert apportioned(same, **columns) == f"{said}the mean of 'words' is 2 on anchors, 70 elsewhere{END}"
    gaps = [1.0, 2, 3, *[None] * 9, 70, 71, 72, *[None] * 9]
    assert "'words' is 2 on anchors, 71 else" in apportioned(same, words=gaps)
    for at in (0, 12):  # two numbers of either side are too few
        assert apportioned(same, words=[None if k == at else x for k, x in enumerate(gaps)]) is None


def test_anchors_with_short_texts_are_no_sample():
    same, long = [1, 2, 3] * 8, ["x" * k for k in (*range(1, 12), 18, *range(80, 91), 97)]
    said = "anchors have 7 characters on average, the other texts 86"
    assert apportioned(same, text="page", page=long) == f"anchors are not a random sample of the later run: {said}{END}"
    assert apportioned(same, names=long) is None  # names of items are no texts
    numbers = [*range(10, 22), *range(60, 72)]
    assert apportioned(same, page=numbers) is not None
    assert apportioned(same, text="page", page=numbers) is None  # the text's own column


@pytest.mark.parametrize("columns", [{}, {"words": [5, 6] * 12}])
def test_one_study_in_a_hundred_has_such_anchors_by_chance(columns):
    """Of the two means Welch's p, as often as there are comparisons, is to be below .01."""
    for off, said in ((0.0, False), (0.05, True)):
        shift = brentq(
            lambda by: stats.ttest_ind([1, 2, 3] * 4, np.array([1, 2, 3] * 4) + by, equal_var=False).pvalue
            - 0.01 / (1 + len(columns)),
            0.1, 5,
        ) - 0.025 + off  # fmt: skip
        why = apportioned([*[1.0, 2, 3] * 4, *(v + shift for v in [1.0, 2, 3] * 4)], **columns)
        assert (why is not None) is said


def test_items_are_matched_by_id_or_text():
    """Item c has the text z; b has none."""
    items = pl.DataFrame({"item": ["a", "b", "c"], "text": ["x", None, "z"], "size": [1, 2, 3]})
    rows = pl.DataFrame({"item": ["b", "c", "a"], "annotator": "m", "label": [2, 3, 1]})
    table = assay.Annotations.from_frame(rows, judges=["m"], scale=assay.Interval(), items=items)
    found = ScoredRun("m", table, table.scale, ["c", "b"], np.array([3.0, 2.0]), {"b": [1.0], "a": [2.0, 4.0]}, "none")
    assert (found.keys("item"), found.keys("text"), found.keys("size")) == (["c", "b"], ["z", ""], ["3", "2"])
    assert (found.labels_by("item"), found.labels_by("text")) == ({"c": 3.0, "b": 2.0}, {"z": 3.0, "": 2.0})
    assert found.people_by("item") == {"b": [1.0], "a": [2.0, 4.0]}
    assert found.people_by("text") == {"": [1.0], "x": [2.0, 4.0]}


def dependent_runs(seed: int, *, shift: float = 0.0, yes: bool = False, size: int = 10) -> list[assay.Annotations]:
    """Two runs of 300 items whose labels change together within documents, and two annotators."""
    rng = np.random.default_rng(seed)
    n, document = 300, np.arange(300) // size
    truth, names = rng.normal(3, 1, n), [f"i{i:03d}" for i in range(n)]
    items = pl.DataFrame({"item": names, "document": [f"d{k:03d}" for k in document]})
    found = []
    for move in (0.0, shift):
        noise = [rng.normal(0, 0.7, document.max() + 1)[document] + rng.normal(0, 0.4, n), *rng.normal(0, 0.7, (2, n))]
        numbers = np.array([truth + one for one in noise]) + np.array([[move], [0], [0]])
        label = (numbers > 3).astype(int) if yes else np.clip(np.round(numbers), 1, 5).astype(int)
        frame = pl.DataFrame(
            {"item": names * 3, "annotator": np.repeat(["judge", "a", "b"], n), "label": label.ravel()}
        )
        scale = "0-1" if yes else "1-5"
        found.append(assay.Annotations.from_frame(frame, judges=["judge"], scale=scale, items=items))
    return found


@pytest.mark.parametrize("yes", [False, True])
def test_changes_shared_in_documents_are_no_drift(yes):
    """Without clusters about half of equal runs differ significantly (30 documents of 10 items); with a caution."""
    plain = clustered = cautions = 0
    for seed in range(20):
        before, after = dependent_runs(seed, yes=yes)
        found = assay.drift(before, after)
        plain += found.significant
        cautions += any("values of “document”; design effect" in one for one in found.cautions)
        clustered += assay.drift(before, after, clusters="document").significant
    assert plain >= 4
    assert clustered <= 3
    assert cautions >= 19
    moved = dependent_runs(1, yes=yes, shift=0.8)
    found = assay.drift(*moved, clusters="document")
    assert found.significant
    assert found.run.facts["clusters"] == 30
    assert found.cautions == ()
    assert "Caution: 300 items share 30 values of “document”" in assay.drift(*moved).summary()


def test_drift_of_clusters_is_the_mean_of_documents():
    """Equal documents: the t interval of the document means, by hand."""
    before, after = dependent_runs(3)
    d = {run: table.to_polars().filter(pl.col("annotator") == "judge").sort("item")["label"].cast(float).to_numpy()
         for run, table in (("old", before), ("new", after))}  # fmt: skip
    means = (d["new"] - d["old"]).reshape(30, 10).mean(axis=1)
    low, high = stats.t.interval(0.95, 29, means.mean(), stats.sem(means))
    one = assay.drift(before, after, clusters="document").lines["judge drift"]
    assert (one.estimate, one.low, one.high) == pytest.approx((means.mean(), low, high))


def test_drift_with_clusters_requires_ten_and_a_known_column():
    before, after = dependent_runs(2, size=50)
    found = assay.drift(before, after, clusters="document")
    assert found.lines["judge drift"].reason == "6 clusters; 10 are required"
    assert found.lines["total change"].reason == "6 clusters; 10 are required"
    with pytest.raises(DataError, match="column 'doc' is not in the table; did you mean 'document'"):
        assay.drift(before, after, clusters="doc")


def test_independent_items_have_the_same_intervals_in_clusters_of_one():
    before, after = dependent_runs(4, size=1)
    alone = before.items.with_columns(own="item")
    tables = [assay.Annotations.from_frame(t.to_polars().select("item", "annotator", "label"), judges=["judge"],
                                           scale="1-5", items=alone) for t in (before, after)]  # fmt: skip
    plain, clustered = assay.drift(*tables), assay.drift(*tables, clusters="own")
    for name, one in plain.lines.items():
        other = clustered.lines[name]
        assert [other.estimate, other.low, other.high] == pytest.approx([one.estimate, one.low, one.high], nan_ok=True)
    assert plain.cautions == ()


@pytest.mark.parametrize("shared", [0.7, 0.0])
def test_contrast_of_dependent_sources_has_a_caution(shared):
    """Groups of whole documents: without clusters, 31% of contrasts of equal groups are significant."""
    rng, n = np.random.default_rng(7), 400
    document, names = np.arange(n) // 10, [f"i{k:03d}" for k in range(n)]
    group = rng.permutation(np.arange(40) % 2)[document]
    truth = 3 + rng.normal(0, shared, 40)[document] + rng.normal(0, 0.7, n)
    label = np.clip(np.round(truth + rng.normal(0, 0.7, (3, n))), 1, 5).astype(int)
    frame = pl.DataFrame({"item": names * 3, "annotator": np.repeat(["m", "a", "b"], n), "label": label.ravel()})
    items = pl.DataFrame({"item": names, "group": [f"g{k}" for k in group], "unit": names,
                          "document": [f"d{k:02d}" for k in document]})  # fmt: skip
    people = frame.filter((pl.col("annotator") == "m") | pl.col("item").is_in(rng.permutation(names)[:240].tolist()))
    labels = assay.read(people, judges=["m"], scale="1-5", items=items)
    found = assay.estimate(labels, "m", contrast="group", sources="unit")
    cautions = [one for one in found.cautions if "values of “document”; design effect" in one]
    assert len(cautions) == (1 if shared else 0)
    if shared:
        assert "Set clusters='document' (--clusters document)." in cautions[0]
