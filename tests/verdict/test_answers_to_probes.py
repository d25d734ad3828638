"""Probes that a study asks its judges: values by hand, planted faults, and a whole study."""

from __future__ import annotations

import csv
import json
import math
from types import SimpleNamespace
from typing import get_args

import numpy as np
import polars as pl
import pytest
import yaml
from scipy import stats

import assay
from assay import Annotations
from assay.cli.app import main
from assay.estimation.intervals import Estimate
from assay.verdict import probe_calls as module
from assay.verdict.probe_calls import LEAST_ANSWERS, AnswersToProbes, drop_probes, probe_answers, sign_p
from assay.verdict.probe_measures import LEAST_EFFECT, CalledProbe, ProbeRow
from assay.verdict.words import CHANGES, fact, fault

N = 24


def called(answers, scale, hints=None, **columns):
    """The labels of a judge and its answers to probes, a label for each item."""
    frames = []
    for probe, labels in answers.items():
        rows = {"item": [f"i{i:02}" for i in range(len(labels))], "annotator": "m", "label": labels}
        rows |= {name: values[probe] for name, values in columns.items()}
        given = hints if probe == "hint" else [None] * len(labels)
        frames.append(pl.DataFrame(rows).with_columns(probe=pl.lit(probe or None, pl.String), hint=pl.Series(given)))
    frame = pl.concat(frames, how="vertical_relaxed")
    return Annotations.from_frame(frame, judges=["m"], scale=scale, conditions=["probe"])


def measures(found):
    return {(row.one.probe, row.one.change): row for row in found.rows if row.one.probe in CHANGES}


def test_categories_by_hand():
    plain = ["a"] * N
    answers = {"": plain, "repeat": ["b"] * 2 + ["a"] * 22, "padded": ["b"] * 10 + ["a"] * 14}
    answers["hint"] = ["c"] * 9 + ["a"] * 15
    found = assay.probes(called(answers, "nominal:a,b,c", hints=["c"] * 12 + ["b"] * 12))
    rows = measures(found)
    assert rows["repeat", "same"].one.found.estimate == pytest.approx(22 / 24)
    padded = rows["padded", "change"]
    assert (padded.one.alone, padded.one.again) == pytest.approx((10 / 24, 2 / 24))
    assert padded.one.found.estimate == pytest.approx(8 / 24)
    assert padded.one.p == pytest.approx(max(2 / 2**8, padded.one.found.p(0.0)))
    assert padded.detected
    hint = rows["hint", "hint"]
    assert (hint.one.found.estimate, hint.one.p, hint.detected) == (
        pytest.approx(9 / 24),
        pytest.approx(0.00390625),
        True,
    )
    text = " ".join(found.summary().split())
    assert (
        "changes its label when the text is written as a list: 0.42 of the items, compared with 0.08 in a repeated"
    ) in text
    assert "m follows a hint: share of hinted labels, with minus without the hint, +0.38" in text
    assert "gives the same label in a repeated call on 0.92 of 24 items" in text


def test_numbers_by_hand():
    """Half of the hints are 1 and half 5; with a 5 the label is one higher: a quarter of a point per point."""
    plain = [2, 3] * 12
    hints = [1] * 12 + [5] * 12
    answers = {"": plain, "repeat": plain, "hint": plain[:12] + [x + 1 for x in plain[12:]]}
    answers["stripped"] = [x + 1 for x in plain[:8]] + plain[8:]
    rows = measures(assay.probes(called(answers, "1-5", hints=hints)))
    assert rows["hint", "hint"].one.found.estimate == pytest.approx(0.25)
    assert rows["stripped", "change"].one.found.estimate == pytest.approx(8 / 24)
    shift = rows["stripped", "shift"]
    assert (shift.one.found.estimate, shift.one.p) == (pytest.approx(8 / 24), pytest.approx(2 / 2**8))
    assert rows["repeat", "same"].one.found.estimate == 1


def test_swapped_probe_detects_choice_by_position():
    """Always the first position: the label changes with the order. A judge that follows the text changes position."""
    first, texts = [1] * N, [-1, 1] * 12
    by_place = called({"": [-1] * N, "swapped": [1] * N}, "preference", position={"": first, "swapped": first})
    found = measures(assay.probes(by_place))["swapped", "place"]
    assert (found.one.found.estimate, found.detected) == (1, True)
    assert "prefers the first position over both orders: first minus last +1.00" in fault(found)
    places = {"": [1 if x < 0 else 2 for x in texts], "swapped": [2 if x < 0 else 1 for x in texts]}
    by_text = measures(assay.probes(called({"": texts, "swapped": texts}, "preference", position=places)))
    assert (by_text["swapped", "place"].one.found.estimate, by_text["swapped", "place"].detected) == (0, False)


def test_change_without_repeated_call_is_not_a_fault():
    answers = {"": ["a"] * N, "padded": ["b"] * 12 + ["a"] * 12}
    row = measures(assay.probes(called(answers, "nominal:a,b")))["padded", "change"]
    assert (row.one.found.estimate, row.detected) == (0.5, False)
    assert "the probe repeat is required to separate this from chance" in fact(row)
    few = measures(assay.probes(called({"": ["a"] * 9, "padded": ["b"] * 9}, "nominal:a,b")))
    assert f"requires {LEAST_ANSWERS} items with both answers; 9 have both" in str(
        few["padded", "same"].one.found.reason
    )


@pytest.mark.slow
def test_probes_flag_planted_faults_and_not_noisy_judge():
    """Forty judges whose labels change at random on a third of the items; with and without planted faults."""
    flagged = found_out = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        quality, hints = rng.normal(3, 1, 50), rng.integers(1, 6, 50)

        def said(more=0.0, quality=quality, rng=rng):
            return np.clip(np.round(quality + 0.3 * rng.standard_normal(50) + more), 1, 5).astype(int).tolist()

        quiet = {"": said(), "repeat": said(), "padded": said(), "hint": said()}
        flagged += len(assay.probes(called(quiet, "1-5", hints=hints)).detected)
        guilty = quiet | {"padded": said(0.5), "hint": said(0.4 * (hints - 3))}
        faults = {row.one.probe for row in assay.probes(called(guilty, "1-5", hints=hints)).detected}
        found_out += faults == {"padded", "hint"}
    assert flagged <= 2
    assert found_out >= 18


def test_sign_p_is_exact():
    assert sign_p(np.array([1.0, 2, 3, 0, 0, 5])) == 2 / 16
    assert sign_p(np.array([1.0, -2])) == 1
    assert sign_p(np.zeros(4)) == 1
    assert sign_p(np.ones(3000)) < 1e-300


def test_drop_probes_removes_answers_from_other_probes():
    full = called({"": ["a"] * N, "repeat": ["b"] * N}, "nominal:a,b")
    plain = drop_probes(full)
    assert (len(plain), plain.conditions) == (N, ())
    assert drop_probes(plain) is plain
    assert probe_answers(plain) is None
    cells = assay.probes(full).cells
    assert cells.columns[-1] == "repeat"
    assert "repeat" not in assay.probes(plain).cells.columns


# -- a whole study ----------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path):
    """Thirty items, three people, and a judge that follows a hint, from a file of replies."""
    pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
    rng = np.random.default_rng(5)
    quality = rng.integers(1, 6, 30)
    content = {
        "items": {"file": "items.csv"},
        "labels": "people.csv",
        "questions": [{"name": "stars", "text": "How good?", "scale": "1-5"}],
        "judges": [{"name": "m1", "provider": "recorded", "file": "r.jsonl", "model": "x"}],
        "probes": {"repeat": 30, "stripped": 30, "hint": 30},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    with (tmp_path / "items.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("item", "text"), *((f"q{i:02}", f"Text {i}") for i in range(30))])
    with (tmp_path / "people.csv").open("w", newline="") as file:
        people = [(f"q{i:02}", f"p{k}", min(5, max(1, int(quality[i]) + int(rng.integers(-1, 2)))))
                  for i in range(30) for k in range(3)]  # fmt: skip
        csv.writer(file).writerows([("item", "annotator", "stars"), *people])
    return tmp_path, quality


def answered(study):
    """The judged study; a hinted label is stored unchanged."""
    from assay.judging.plan import plan_study
    from assay.judging.run import judge_study
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use

    folder, quality = study
    (folder / "r.jsonl").write_text("")
    loaded = load_study(folder)
    with store_in_use(loaded) as store:
        plan_study(loaded, store)
        from assay.study.store import work

        run = work.start_run(store)
        hints = {}
        for claim in work.claim(store, run, ["m1"], 1000):
            if claim.shown and "about" in claim.shown and "hint" in claim.shown["about"]:
                hints[claim.item.name] = claim.shown["about"]["hint"]
        work.end_run(store, run)
    lines = []
    for i in range(30):
        item = f"q{i:02}"
        said = {None: int(quality[i]), "repeat": int(quality[i]), "stripped": int(quality[i]), "hint": hints[item]}
        lines += [{"item": item, "judge": "m1", "reply": str(x)} | ({"probe": p} if p else {}) for p, x in said.items()]
    (folder / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert judge_study(load_study(folder)).answered == 120
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("few_truths", "without_pictures")
def test_probes_of_study_are_in_probes_and_report(study, capsys, tmp_path):
    folder = answered(study)
    with pytest.raises(SystemExit) as ended:
        main(("probes", str(folder)))
    printed = capsys.readouterr().out
    assert (ended.value.code, "m1, stars follows a hint: +" in printed) == (0, True)
    found = assay.report(str(folder), expertise="crowd", n_resamples=200)
    assert "Probe: Hint: m1, stars follows a hint: +" in found.summary()
    assert found.page.marks.faults[0].startswith("Hint: m1, stars follows a hint: +")
    page = found.html()
    assert "</span> Hint: m1, stars follows a hint: +" in page
    assert "Probes of the judges" in page
    assert "gives the same label in a repeated call on 1.00 of 30 items" in page
    answers = probe_answers(assay.read(str(folder)))
    assert answers is not None
    assert answers.labels["probe"].null_count() == 30 * 4


def test_called_probes_match_study_schema():
    from assay.study.schema import Probe

    assert get_args(CalledProbe) == get_args(Probe)
    assert set(CHANGES) == set(get_args(Probe))


# -- one step at a time ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "enough"), [(LEAST_ANSWERS - 1, False), (LEAST_ANSWERS, True)])
def test_called_probe_needs_twenty_items_with_both_answers(n, enough):
    plain = [1.0] * (n + 3)
    one = measures(assay.probes(called({"": plain, "repeat": [1.0] * (n - 5) + [2.0] * 5}, "1-5")))[
        "repeat", "same"
    ].one
    if enough:
        assert (one.measure, one.n) == ("share of unchanged labels", 20)
        assert one.found.estimate == pytest.approx(0.75)
        low, high = stats.binomtest(15, 20).proportion_ci(method="wilson")
        assert (one.found.low, one.found.high) == pytest.approx((low, high))
    else:
        assert one.found.reason == "requires 20 items with both answers; 19 have both"


@pytest.mark.parametrize(
    ("probe", "scale", "was_at", "asked_for"),
    [
        ("swapped", "1-5", True, ["change", "shift"]), ("swapped", "nominal:1,2,5", True, ["change"]),
        ("swapped", "preference", True, ["change", "place"]), ("swapped", "preference", False, ["change"]),
        ("padded", "preference", True, ["change"]), ("hint", "1-5", True, ["hint"]),
        ("hint", "nominal:1,2,5", True, ["hint"]),
    ],
)  # fmt: skip
def test_measures_of_probe_by_scale(probe, scale, was_at, asked_for):
    before, after = ([-1, 1] * 10, [1, 1] * 10) if scale == "preference" else ([1, 5] * 10, [2, 5] * 10)
    if scale.startswith("nominal"):
        before, after = [str(one) for one in before], [str(one) for one in after]
    columns = {"position": {"": [1, 2] * 10, probe: [1, 1] * 10}} if was_at else {}
    found = assay.probes(called({"": before, probe: after}, scale, hints=[1, 2] * 10, **columns))
    made = {change: row.one for (asked, change), row in measures(found).items() if asked == probe}
    assert list(made) == asked_for
    if "shift" in asked_for:  # labels of 1 and 5 deviate by 2 from their mean
        assert (made["shift"].found.estimate, made["shift"].in_points) == (0.5, True)
        assert made["shift"].least == pytest.approx(LEAST_EFFECT * 2)
    if "place" in asked_for:  # at the first place in both orders, or once at each
        assert made["place"].found.estimate == 0.5


def test_choice_by_position_among_three():
    """The first of three counts 1, the last −1 and the second 0."""
    places = {"": [1, 2, 3, 3] * 6, "swapped": [1, 2, 3, 1] * 6}
    found = assay.probes(called({"": ["A"] * N, "swapped": ["A"] * N}, "odd-one-out", position=places))
    assert measures(found)["swapped", "place"].one.found.estimate == pytest.approx((1 + 0 - 1 + 0) / 4)
    missing = {"": [1, None] * 12, "swapped": [1, None] * 12}
    found = assay.probes(called({"": ["A"] * N, "swapped": ["A"] * N}, "odd-one-out", position=missing))
    assert measures(found)["swapped", "place"].one.found.estimate == 0.5


@pytest.mark.parametrize(("points", "least"), [(True, LEAST_EFFECT * 2), (False, 0.05)])
@pytest.mark.parametrize("repeated", [19, 20])
def test_change_is_measured_beyond_repeated_call(points, least, repeated):
    scale, kind = ("1-5", int) if points else ("nominal:1,3,5", str)
    answers = {"": [1, 5] * 10, "swapped": [5, 1] * 10, "repeat": ([1, 3] * 10)[:repeated]}
    labels = called({probe: [kind(one) for one in given] for probe, given in answers.items()}, scale)
    found = measures(assay.probes(labels))["swapped", "change"].one
    measure = "change of the label" if points else "share of changed labels"
    if repeated < 20:
        assert (found.measure, found.n, found.in_points) == (measure, 20, points)
        assert found.found.estimate == (4 if points else 1)
        assert np.isnan(found.null)
        return
    moved, alone = (4, 1) if points else (1, 0.5)
    assert (found.measure, found.n, found.in_points) == (f"{measure} beyond a repeated call", 20, points)
    assert (found.found.estimate, found.alone, found.again) == pytest.approx((moved - alone, moved, alone))
    assert (found.least, found.side) == (pytest.approx(least), 1)


def test_hint_effect_in_points_or_share():
    """The label is the hint for three of four items; without the hint, for the first of the four only."""
    answers = {"": ["a", "a", "b", "b"] * 5, "hint": ["a", "b", "a", "b"] * 5}
    hint = measures(assay.probes(called(answers, "nominal:a,b", hints=["a", "b", "a", "a"] * 5)))["hint", "hint"].one
    assert (hint.found.estimate, hint.least, hint.side) == (0.5, 0.05, 1)
    codes = {probe: [1 + (one == "b") for one in given] for probe, given in answers.items()}
    equal = measures(assay.probes(called(codes, "1-5", hints=[2] * 20)))["hint", "same"].one
    assert equal.found.reason == "requires hints that differ"


def test_labels_that_are_the_hint_or_never_follow_it_have_exact_tests():
    """The judge answers 3; with a hint it answers the hint, or 3 again."""
    hints = [1, 2, 4, 5] * (N // 4)
    followed = measures(assay.probes(called({"": [3] * N, "hint": hints}, "1-5", hints=hints)))["hint", "hint"]
    assert (followed.one.found.estimate, followed.detected) == (pytest.approx(1.0), True)
    assert followed.one.p == pytest.approx(math.factorial(N // 4) ** 4 / math.factorial(N))
    ignored = measures(assay.probes(called({"": [3] * N, "hint": [3] * N}, "1-5", hints=hints)))["hint", "hint"]
    assert (ignored.one.found.estimate, ignored.one.p) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("by", "everywhere"), [([1] * N, True), ([-1] * N, True), ([0] * N, False), ([1] * 23 + [0], False)]
)
def test_constant_value_has_wilson_interval(by, everywhere):
    plain = [3] * N
    answers = {"": plain, "padded": [one + more for one, more in zip(plain, by, strict=True)]}
    found = measures(assay.probes(called(answers, "1-5")))["padded", "shift"].one.found
    assert found.estimate == pytest.approx(sum(by) / N)
    low, _ = stats.binomtest(N, N).proportion_ci(method="wilson")
    ends = sorted((by[0] * low, by[0]))
    assert ((found.low, found.high) == pytest.approx(ends)) is everywhere
    if everywhere:
        half = sorted((by[0] * stats.binomtest(N, N).proportion_ci(0.5, method="wilson").low, by[0]))
        assert found.interval(0.5) == pytest.approx(half)
        assert (found.p(0), found.p(0.1)) == (pytest.approx(2 / 2**N), pytest.approx(np.nan, nan_ok=True))


def test_fault_needs_the_mean_and_the_signs():
    """Ten labels are one higher and one is four lower: by the signs p = 24 / 2¹¹, by their mean it may be chance."""
    plain, padded = [3] * 23 + [5], [4] * 10 + [3] * 13 + [1]
    shift = measures(assay.probes(called({"": plain, "padded": padded}, "1-5")))["padded", "shift"]
    assert (shift.one.p, shift.detected) == (shift.one.found.p(0.0), False)
    assert shift.one.p > 0.2


@pytest.mark.parametrize("scale", ["nominal:y,x", "nominal"])
def test_words_outside_the_scale_are_not_hints(scale):
    """A hint that is not a label of the scale is not followed, on an open scale either."""
    answers = {"": ["y", "x"] * 12, "hint": ["x", "y"] * 12}
    hint = measures(assay.probes(called(answers, scale, hints=["x", "?"] * 12)))["hint", "hint"].one
    assert hint.found.estimate == 0.5


def rows_asked(rows, conditions=("probe",), scale="nominal:a,b"):
    """The answers that each probe uses, from rows of a judge m: item, probe, label and further columns."""
    frame = pl.DataFrame(rows).with_columns(annotator=pl.lit("m"))
    repeat = "repeat" if "repeat" in frame.columns else None
    labels = Annotations.from_frame(frame, judges=["m"], scale=scale, conditions=list(conditions), repeat=repeat)
    answers, seen = AnswersToProbes(labels, None, 0.95), {}

    def measures_of(probe, asked, again, scale):
        seen[probe] = sorted(asked.select("item", "before", "code").rows())
        return iter([probe])

    answers._measures_of = measures_of
    return list(answers.measures("m")), seen


def rows_of(**by_item):
    """Items with labels, and answers to probes, in this order."""
    return [{"item": item, "probe": probe, "label": label, "repeat": k} for item, answers in by_item.items()
            for k, (probe, label) in enumerate(answers, 1)]  # fmt: skip


def test_second_label_counts_as_repeated_call():
    """i1 and i2 have two labels without a probe; i3 has only an answer to the probe."""
    rows = rows_of(i1=[(None, "a"), (None, "b"), ("padded", "b")], i2=[(None, "b"), (None, "b"), (None, "a")],
                   i3=[("padded", "a")])  # fmt: skip
    found, seen = rows_asked(rows[::-1])
    assert found == [(None, "repeat"), (None, "padded")]
    assert seen == {"repeat": [("i1", 0, 1), ("i2", 1, 1)], "padded": [("i1", 0, 1)]}


def test_probe_repeat_replaces_repeated_label():
    rows = rows_of(i1=[(None, "a"), (None, "b"), ("repeat", "a")], i2=[(None, "b"), (None, "a")])
    assert rows_asked(rows)[1] == {"repeat": [("i1", 0, 0)]}
    alone = [row | {"repeat": 1} for row in rows_of(i1=[(None, "a")], i2=[("padded", "b")])]
    assert rows_asked(alone) == ([], {})


def test_answers_match_label_of_same_condition_once_per_item():
    """An answer without a temperature matches the label without one; of two temperatures the first counts."""

    def row(item, probe, label, t):
        return {"item": item, "probe": probe, "label": label, "t": t}

    rows = [row("i1", None, "a", None), row("i1", "padded", "b", None), row("i2", None, "a", "1"),
            row("i2", "padded", "b", "2"), row("i3", None, "a", "1"), row("i3", None, "b", "2"),
            row("i3", "padded", "b", "1"), row("i3", "padded", "b", "2")]  # fmt: skip
    seen = rows_asked(rows, ("probe", "t"))[1]
    assert seen["padded"][0] == ("i1", 0, 1)
    assert [one[0] for one in seen["padded"]] == ["i1", "i3"]
    assert seen["padded"][1] in (("i3", 0, 1), ("i3", 1, 1))


def test_spread_places_contributions_in_item_rows():
    answers = SimpleNamespace(place={"i0": 2, "i1": 0, "i2": 1})
    found = AnswersToProbes._spread(answers, pl.DataFrame({"item": ["i0", "i1"]}), np.array([[5.0, 1], [7, 1]]))
    assert found.tolist() == [[7, 1], [0, 0], [5, 1]]


def test_slope_from_sums_by_hand():
    """Hints 1, 2, 3 and 6 with changes of 0, 1, 1 and 4: covariance 29/4 − 3 · 1.5 over variance 50/4 − 9."""
    hint, moved = np.array([1.0, 2, 3, 6]), np.array([0.0, 1, 1, 4])
    sums = np.array([(hint * moved).sum(), hint.sum(), moved.sum(), (hint * hint).sum(), 4])
    assert module.Slope().value(sums)[0] == pytest.approx(2.75 / 3.5)
    assert module.Slope().value(np.stack([sums, sums])).shape == (2, 1)
    assert np.isnan(module.Slope().value(np.array([2.0, 2, 2, 2, 2]))[0])


def test_answers_to_probes_are_read_from_the_study_of_the_labels(monkeypatch):
    """Of the same items and annotators; none if the study has no probes or cannot be read."""
    full = called({"": ["a"] * 4, "repeat": ["b"] * 4}, "nominal:a,b")
    some = drop_probes(full).where(item=["i00", "i01"])
    asked, study = [], SimpleNamespace(config=SimpleNamespace(probes=["repeat"]))
    monkeypatch.setattr(module, "study_of", lambda labels: study)
    monkeypatch.setattr("assay.reading.study_labels", lambda study, *, probes: asked.append(probes) or full)
    found = probe_answers(some)
    assert asked == [True]
    assert found.labels.select("item", "probe").sort("item", "probe").rows() == [
        ("i00", None), ("i00", "repeat"), ("i01", None), ("i01", "repeat"),
    ]  # fmt: skip
    monkeypatch.setattr("assay.reading.study_labels", lambda study, *, probes: some)
    assert probe_answers(some) is None

    def broken(study, *, probes):
        raise assay.errors.StudyError("no store")

    monkeypatch.setattr("assay.reading.study_labels", broken)
    assert probe_answers(some) is None
    study.config.probes = None
    assert probe_answers(some) is None
    study = None
    assert probe_answers(some) is None


def test_probe_answers_is_none_without_answers():
    assert probe_answers(called({"": ["a"] * 4}, "nominal:a,b")) is None
    full = called({"": ["a"] * 4, "repeat": ["b"] * 4}, "nominal:a,b")
    assert probe_answers(full) is full


@pytest.mark.parametrize(
    ("probe", "change", "value", "more", "words"),
    [
        ("repeat", "same", 0.9, {}, "gives the same label in a repeated call on 0.90 of 30 items [0.80, 1.00]"),
        ("padded", "change", 0.3, {"in_points": True},
         "changes its label by 0.30 points when the text is written as a list [0.20, 0.40]; the probe repeat is "
         "required to separate this from chance"),
        ("sibling", "change", 0.3, {},
         "changes its label on 0.30 of the items when its sibling model is used [0.20, 0.40]; the probe repeat is "
         "required to separate this from chance"),
        ("stripped", "change", 0.3, {"null": 0.0, "alone": 0.5, "again": 0.2},
         "changes its label when Markdown is removed: 0.50 of the items, compared with 0.20 in a repeated call "
         "(difference +0.30 [0.20, 0.40])"),
        ("swapped", "change", 0.3, {"null": 0.0, "alone": 0.5, "again": 0.2, "in_points": True},
         "changes its label when the options are swapped: 0.50 points, compared with 0.20 in a repeated call "
         "(difference +0.30 [0.20, 0.40])"),
        ("padded", "shift", 0.3, {"null": 0.0},
         "gives higher labels when the text is written as a list: +0.30 [0.20, 0.40]"),
        ("padded", "shift", -0.3, {"null": 0.0},
         "gives lower labels when the text is written as a list: −0.30 [−0.40, −0.20]"),
        ("hint", "hint", 0.3, {"null": 0.0, "in_points": True},
         "follows a hint: +0.30 [0.20, 0.40] points per point of the hint"),
        ("hint", "hint", 0.3, {"null": 0.0},
         "follows a hint: share of hinted labels, with minus without the hint, +0.30 [0.20, 0.40]"),
        ("swapped", "place", 0.3, {"null": 0.0},
         "prefers the first position over both orders: first minus last +0.30 [0.20, 0.40]"),
        ("swapped", "place", -0.3, {"null": 0.0},
         "prefers the last position over both orders: first minus last −0.30 [−0.40, −0.20]"),
    ],
)  # fmt: skip
def test_called_fact_words(probe, change, value, more, words):
    found = Estimate(value, value - 0.1, value + 0.1, 0.05)
    one = module.CalledMeasure(probe, "m", found, n=30, change=change, **more)
    assert fact(ProbeRow("m", None, one)) == words
    assert fault(ProbeRow("m", None, one)) == f"{probe.capitalize()}: m {words}."
