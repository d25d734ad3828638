"""Probes: a planted fault is detected, a judge without it is not flagged, and missing data give a dash."""

import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

import assay
import references
from assay import Annotations, probes
from assay.cli.app import main
from assay.data.scales import Interval, scale_of
from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimate
from assay.estimation.resampling import Units
from assay.estimation.result import Run
from assay.verdict import words
from assay.verdict.probe_measures import (
    LEAST_ITEMS,
    AtEqualQuality,
    EntropyDifference,
    HaloStatistic,
    JudgeLabels,
    OneResponse,
    ProbeMeasure,
    ProbeRow,
    _pairs,
    halo_of,
    larger,
    responses_needed,
)
from assay.verdict.probes import (
    JudgeProbes,
    ProbeSettings,
    _decide_faults,
    _ProbedTable,
    _sign,
    probe_parts,
)

CUTS = (-1.2, -0.4, 0.4, 1.2)


def cut(x, cuts=CUTS):
    return 1 + np.digitize(x, cuts)


def long(columns, scale="1-5", **items):
    n = len(next(iter(columns.values())))
    names = [f"i{i:04}" for i in range(n)]
    frames = [pl.DataFrame({"item": names, "annotator": who, "label": label}) for who, label in columns.items()]
    judges = [who for who in columns if not who.startswith("p")]
    about = pl.DataFrame({"item": names, **items})
    return Annotations.from_frame(pl.concat(frames), judges=judges, scale=scale, items=about)


def world(seed, n=400, people=4):
    """Quality, a length correlated with it by .8, and annotators whose error variance equals that of quality."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal(n)
    length = 0.8 * quality + 0.6 * rng.standard_normal(n)
    said = {f"p{k}": cut(quality + 0.3 * rng.standard_normal() + rng.standard_normal(n)) for k in range(people)}
    return rng, quality, length, said


def row_of(found, probe, judge="good"):
    return next(row for row in found.rows if row.one.probe == probe and row.judge == judge)


@pytest.mark.slow
def test_length_probe_detects_length_and_not_quality():
    """Both correlate with length by .7 or more; with the mean human label the second is flagged in 9 of 10 studies."""
    guilty = innocent = accused_by_the_mean = 0
    for seed in range(12):
        rng, quality, length, said = world(seed)
        good = cut(quality + 0.4 * rng.standard_normal(len(quality)))
        wordy = cut(0.5 * quality + 0.8 * length + 0.4 * rng.standard_normal(len(quality)))
        assert np.corrcoef(good, length)[0, 1] > 0.65
        found = probes(long({**said, "good": good, "wordy": wordy}, length=length), length="length")
        innocent += row_of(found, "length").detected
        guilty += row_of(found, "length", "wordy").detected
        mean = np.mean([*said.values()], axis=0)
        x = np.stack([np.ones(len(mean)), mean, length], axis=1)
        slope, residual = np.linalg.lstsq(x, good, rcond=None)[:2]
        error = math.sqrt(float(residual[0]) / (len(mean) - 3) * np.linalg.inv(x.T @ x)[2, 2])
        accused_by_the_mean += slope[2] / error > 1.96
    assert innocent <= 1
    assert guilty >= 10
    assert accused_by_the_mean >= 10


def by_length(seed, n=200):
    """Severe annotators mostly label the short items, lenient ones the long items, which are better."""
    rng = np.random.default_rng(seed)
    length = rng.standard_normal(n)
    quality = 0.6 * length + 0.8 * rng.standard_normal(n)
    people = np.full((n, 6), math.nan)
    for i in range(n):
        own = np.arange(3) + 3 * (rng.random() > 1 / (1 + math.exp(-2.4 * length[i])))
        two = rng.choice(own, 2, replace=False) if rng.random() < 0.85 else [rng.integers(3), 3 + rng.integers(3)]
        people[i, two] = cut(quality[i] + np.array([-0.6, -0.3, 0, 0.3, 0.6, 0.1])[two] + 0.5 * rng.standard_normal(2))
    good = cut(quality + 0.5 * rng.standard_normal(n))
    said = {f"p{k}": [None if math.isnan(v) else int(v) for v in people[:, k]] for k in range(6)}
    return long({**said, "good": good}, length=length)


def test_length_probe_does_not_take_the_severity_of_annotators_for_quality():
    """With labels minus the mean of their annotator, 6 of 10 faultless judges are flagged."""
    assert sum(row_of(probes(by_length(seed), length="length"), "length").detected for seed in range(10)) <= 1


@pytest.mark.slow
def test_own_family_probe_detects_preference_and_not_quality():
    better = favoured = 0
    for seed in range(10):
        rng, quality, _, _ = world(seed, 500)
        own = rng.random(500) < 0.4
        quality = quality + 0.6 * own
        said = {f"p{k}": cut(quality + rng.standard_normal(500)) for k in range(4)}
        fair = cut(quality + 0.4 * rng.standard_normal(500))
        vain = cut(quality + 0.6 * own + 0.4 * rng.standard_normal(500))
        labels = long({**said, "good": fair, "vain": vain}, maker=np.where(own, "acme", "other"))
        about = pl.DataFrame({"annotator": ["good", "vain"], "house": ["acme", "acme"]})
        labels = Annotations.from_frame(
            labels.labels, judges=["good", "vain"], scale="1-5", items=labels.items, annotator_table=about
        )
        found = probes(labels, system="maker", family="house")
        better += row_of(found, "own").detected
        favoured += row_of(found, "own", "vain").detected
        if row_of(found, "own", "vain").detected:
            assert "vain's labels increase by" in found.summary()
    assert better <= 1
    assert favoured >= 8


def test_covariate_equals_regression_without_label_errors():
    """Two annotators who give the ideal label: λ equals the least-squares coefficient."""
    rng = np.random.default_rng(2)
    ideal, z = rng.standard_normal((2, 300))
    z = 0.5 * ideal + z
    judge = 0.7 * ideal + 0.3 * z + 0.1 * rng.standard_normal(300)
    every = JudgeLabels(judge, np.stack([ideal, ideal], axis=1), np.unique(ideal), True, Units.of(300), 0.95)
    found = every.covariate("length", z, "points").found
    x = np.stack([np.ones(300), ideal, z], axis=1)
    assert found.estimate == pytest.approx(np.linalg.lstsq(x, judge, rcond=None)[0][2], abs=1e-10)
    assert found.low < 0.3 < found.high


def test_probe_statistics_by_hand():
    # C_yz 3, C_yh 2, C_hz 1, V_z 4 over 10 items; V_ξ 6 / 4 = 1.5: λ = (3 · 1.5 − 2) / (1.5 · 4 − 1) = .5.
    assert AtEqualQuality().value(np.array([30.0, 20, 10, 40, 6, 4, 10])).tolist() == pytest.approx([0.5, 2.5])
    # One annotator, two levels: the judge 8 and 8 of 16, the annotator 16 and 0: log 2 + 1/32 minus 0.
    counts = np.array([8.0, 8, 16, 0])
    assert EntropyDifference(1, 2).value(counts)[0] == pytest.approx(math.log(2) + 1 / 32)
    # 10 items: products of two responses .6 on average, squares 1, means 0: Φ = .6; 6 responses reach .9.
    assert OneResponse().value(np.array([6.0, 10, 10, 0])).tolist() == [0.6]
    assert [responses_needed(phi) for phi in (0.9, 0.6, 0.5, 0.0)] == [1, 6, 9, math.inf]


def test_resolution_and_shares_probes_detect_coarse_judge():
    rng = np.random.default_rng(4)
    cuts = np.linspace(-2, 2, 9)
    quality = rng.standard_normal(300)
    people = {f"p{k}": cut(quality + 0.5 * rng.standard_normal(300), cuts) for k in range(3)}
    good = cut(quality + 0.5 * rng.standard_normal(300), cuts)
    found = probes(long({**people, "good": good, "coarse": (good + 1) // 2 * 2}, "1-10"))
    assert not row_of(found, "resolution").detected
    assert not any(row.detected for row in found.rows if row.judge == "good")
    coarse = row_of(found, "resolution", "coarse")
    assert coarse.detected
    assert coarse.levels == 5
    assert math.exp(coarse.one.found.estimate) == pytest.approx(0.5, abs=0.08)
    text = " ".join(found.summary().split())
    assert "coarse uses fewer levels than the annotators: 5 in all (one annotator: 10.0)" in text
    shares = found.table.filter((pl.col("probe") == "shares") & (pl.col("judge") == "coarse"))
    assert shares.filter(pl.col("detected"))["measure"].str.contains("'1'|'3'|'5'|'7'|'9'").any()
    assert shares["estimate"].sum() == pytest.approx(0)
    assert "Label shares: coarse minus the annotators: '" in text


def test_pairs_match_slow_reference():
    """Means, and mean products over all pairs of different annotators, item by item."""
    nan = np.nan
    first = np.array([[1.0, 2.0, 4.0], [3.0, nan, 5.0], [nan, nan, 2.0], [nan, nan, nan]])
    second = np.array([[2.0, 2.0, 1.0], [nan, 4.0, 5.0], [nan, nan, 3.0], [1.0, nan, nan]])
    mean, there, product, pairs = _pairs(first, second)
    for i in range(4):
        known = [v for v in first[i] if v == v]
        assert (mean[i], there[i]) == (pytest.approx(np.mean(known) if known else 0.0), bool(known))
        each = [first[i, j] * second[i, k] for j in range(3) for k in range(3) if j != k]
        each = [v for v in each if v == v]
        assert (product[i], pairs[i]) == (pytest.approx(np.mean(each) if each else 0.0), float(bool(each)))


def test_halo_contributions_by_hand():
    def of(judge, people):
        return JudgeLabels(np.array(judge), np.array(people), np.arange(1, 6.0), True, Units.of(3), 0.95)

    nan = np.nan
    one = of([1.0, 3.0, nan], [[1.0, 2.0], [3.0, nan], [5.0, 5.0]])
    two = of([2.0, 4.0, 3.0], [[2.0, 2.0], [nan, nan], [4.0, 5.0]])
    found = one.halo(two)
    a, b = one.ideal, two.ideal
    assert found.shape == (3, 14)
    y = np.array([1.0, 3.0]) - 2
    assert found[:2, 0] == pytest.approx(y * np.nanmean(a[:2], axis=1))
    assert found[:, 1].tolist() == [1, 1, 0]
    assert found[:, 5].tolist() == [1, 0, 1]
    assert found[:, 4] == pytest.approx([(2 - 3) * np.mean(b[0]), 0, 0])
    assert found[:, 3].tolist() == [1, 0, 1]
    assert found[:, 2] == pytest.approx([a[0, 0] * a[0, 1], 0, a[2, 0] * a[2, 1]])
    assert found[:, 7].tolist() == [1, 0, 1]
    assert found[:, 8] == pytest.approx([(1 - 2) * (2 - 3), (3 - 2) * (4 - 3), 0])
    assert found[:, 9].tolist() == [1, 1, 0]
    assert found[:, 10] == pytest.approx(
        [(a[0, 0] * b[0, 1] + a[0, 1] * b[0, 0]) / 2, 0, (a[2, 0] * b[2, 1] + a[2, 1] * b[2, 0]) / 2]
    )
    assert found[:, 11].tolist() == [1, 0, 1]
    assert found[:, 12] == pytest.approx([np.mean(a[0] * b[0]), 0, np.mean(a[2] * b[2])])
    assert found[:, 13].tolist() == [1, 0, 1]


def test_larger_requires_both_tests():
    assert (larger(0.1, 0.2), larger(0.3, 0.2)) == (0.2, 0.3)
    assert math.isnan(larger(math.nan, 0.1))
    assert math.isnan(larger(0.1, math.nan))


@pytest.mark.slow
def test_halo_probe_detects_halo_and_not_correlated_criteria():
    """Qualities correlate by .8. The errors of one judge are equal on both criteria, those of the other independent."""
    innocent = guilty = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        shared, bad = rng.standard_normal((2, 400))
        frames = []
        for criterion in ("fluent", "correct"):
            quality = np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.standard_normal(400)
            said = {f"p{k}": cut(quality + rng.standard_normal(400)) for k in range(3)}
            said |= {"good": cut(quality + 0.6 * rng.standard_normal(400)), "halo": cut(quality + 0.7 * bad)}
            frames.append(long(said).labels.with_columns(criterion=pl.lit(criterion)))
        found = probes(Annotations.from_frame(pl.concat(frames), judges=["good", "halo"], scale="1-5"))
        innocent += row_of(found, "halo").detected
        guilty += row_of(found, "halo", "halo").detected
        assert abs(row_of(found, "halo", "halo").one.human) < 0.15
    assert innocent == 0
    assert guilty >= 9


def test_response_and_missing_probes():
    rng = np.random.default_rng(5)
    quality = rng.standard_normal(300)
    frames = [
        long({f"p{k}": cut(quality + 0.6 * rng.standard_normal(300)) for k in range(3)}).labels.with_columns(repeat=1)
    ]
    for repeat in (1, 2, 3):
        said = {"steady": cut(quality), "shaky": cut(quality + 0.8 * rng.standard_normal(300))}
        frames.append(long(said).labels.with_columns(repeat=repeat))
    labels = pl.concat([f.with_columns(pl.col("repeat").cast(pl.Int64)) for f in frames])
    high = pl.Series([f"i{i:04}" for i in np.flatnonzero(quality > 1)])
    labels = labels.filter(~((pl.col("annotator") == "shaky") & pl.col("item").is_in(high.to_list())))
    found = probes(Annotations.from_frame(labels, judges=["steady", "shaky"], scale="1-5", repeat="repeat"))
    assert "repeated labels: first" in found.notes
    shaky, steady = (row_of(found, "consistency", name) for name in ("shaky", "steady"))
    assert shaky.detected
    assert 0.3 < shaky.one.found.estimate < 0.8
    assert "responses for Φ = 0.9 (Φ of one response = 0." in words.fault(shaky)
    assert "gives the same label in every response; has a label on every item." in found.summary()
    assert steady.one.found.estimate == pytest.approx(1.0)
    assert not steady.detected  # equal responses: no interval, with the reason
    assert steady.one.found.reason
    skipped = [row for row in found.rows if row.judge == "shaky" and row.one.probe == "missing"]
    assert skipped[0].one.found.estimate == pytest.approx(len(high) / 300)
    assert skipped[1].detected
    assert "shaky skips items that the annotators rate higher" in found.summary()


def test_position_probe_uses_chosen_positions():
    rng = np.random.default_rng(6)
    rows = []
    for i in range(200):
        for who, lean in (("first", 0.8), ("fair", 0.5), ("p1", 0.5)):
            place = 1 if rng.random() < lean else 2
            order = "a>b" if rng.random() < 0.5 else "b>a"
            label = (-1 if place == 1 else 1) * (1 if order == "a>b" else -1)
            rows.append({"item": f"i{i:03}", "annotator": who, "label": label, "order": order, "position": place})
    labels = Annotations.from_frame(
        pl.DataFrame(rows), judges=["first", "fair"], scale=assay.Preference(), conditions=["order"]
    )
    found = probes(labels)
    assert row_of(found, "position", "first").detected
    assert not row_of(found, "position", "fair").detected
    assert "Position: first, share of choices of the first position" in found.summary()


def test_probes_use_one_order_except_position():
    """200 pairs: a judge that names the first text in .6 + .4 · .5 of them; annotators who follow only the texts."""
    rng = np.random.default_rng(9)
    rows = []
    for i in range(200):
        better = -1 if rng.random() < 0.5 else 1
        for order in ("a>b", "b>a"):
            for who in ("m", "p1", "p2"):
                fair = (better if rng.random() < 0.8 else -better) * (1 if order == "a>b" else -1)
                place = 1 if (who == "m" and rng.random() < 0.6) or fair < 0 else 2
                label = (-1 if place == 1 else 1) * (1 if order == "a>b" else -1)
                rows.append((f"i{i:03}", who, label, order, place))
    names = ["item", "annotator", "label", "order", "position"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    found = probes(Annotations.from_frame(frame, judges=["m"], scale=assay.Preference(), conditions=["order"]))
    position = row_of(found, "position", "m").one
    assert row_of(found, "position", "m").detected
    assert position.found.estimate == pytest.approx(0.8, abs=0.06)
    assert position.n == 400
    assert row_of(found, "shares", "m").one.n == 200
    named = {row.share_of for row in found.rows if row.one.probe == "shares"}
    assert named == {"'first'", "'second'"}
    assert any("both orders" in note for note in found.notes)


def test_probes_explain_missing_data():
    labels = assay.simulate(60, 1, scale="1-5", judges={"m": 0.2}, seed=1)
    found = probes(labels)
    text = " ".join(found.summary().split())
    for needed in (
        "– length: requires a column with the length (--length).",
        "– own family: requires a column with the system that produced the item (--system).",
        "– halo: requires two or more criteria.",
        "requires several responses of the judge per item",
        "requires preferences or choices of three with a column 'position'",
    ):
        assert needed in text
    items = labels.items.with_columns(length=pl.Series(range(60)))
    alone = Annotations.from_frame(labels.labels, judges=["m"], scale="1-5", items=items)
    needs = f"requires {LEAST_ITEMS} items with labels of the judge and two annotators"
    assert needs in probes(alone, length="length").summary()
    assert "no item has the judge's name or family in 'truth'" in probes(alone, system="truth").summary()
    assert set(found.cells.row(0)[1:]) == {"–", "·"}
    assert json.loads(json.dumps(found.to_dict()))["table"]
    texts = assay.read(
        pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "label": ["x y", "z", "w", "u"]}),
        scale="text", judges=["q"],
    )  # fmt: skip
    assert "not texts or choices of three" in probes(texts).summary()


def test_probes_adjust_over_all_checks():
    rng, quality, length, said = world(1)
    judges = {f"m{k}": cut(quality + 0.1 * length + 0.4 * rng.standard_normal(len(quality))) for k in range(4)}
    labels = long({**said, **judges}, length=length)
    found, loose = probes(labels, length="length"), probes(labels, length="length", adjust=False)
    tested = found.table.drop_nulls("p")
    order = tested["p"].arg_sort()
    p = tested["p"].gather(order).to_numpy()
    holm = np.maximum.accumulate(np.minimum(1, p * (len(p) - np.arange(len(p)))))
    assert tested["p_adjusted"].gather(order).to_numpy() == pytest.approx(holm)
    assert len(found.detected) <= len(loose.detected)
    assert (found.table.filter("detected")["p_adjusted"] <= 0.05).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"judges": "n"}, DesignError, "judge 'n'"),
        ({"length": "lenght"}, DataError, "lenght"),
        ({"system": "makr"}, DataError, "makr"),
        ({"system": "maker", "family": "hous"}, DataError, "hous"),
        ({"clusters": "doc"}, DataError, "doc"),
        ({"confidence": 1.0}, DesignError, "confidence"),
    ],
)
def test_probes_reject_unknown_names(options, error, message):
    _, quality, length, said = world(3, 40)
    labels = long({**said, "m": cut(quality)}, length=length, maker=["a"] * 40)
    with pytest.raises(error, match=message):
        probes(labels, **options)
    people = Annotations.from_frame(labels.labels.filter(pl.col("annotator") != "m"), scale="1-5")
    with pytest.raises(DesignError, match="the table has no judge to probe"):
        probes(people)


@pytest.mark.slow
def test_length_of_texts_is_characters_and_clusters_change_interval():
    _, quality, length, said = world(7)
    texts = ["x" * int(n) for n in 50 + 10 * length]
    labels = long({**said, "m": cut(quality)}, length=np.round(50 + 10 * length - 0.5), text=texts,
                  document=[f"d{i // 8}" for i in range(400)])  # fmt: skip
    by_text, by_number = (row_of(probes(labels, length=name), "length", "m").one.found for name in ("text", "length"))
    assert by_text.estimate == pytest.approx(by_number.estimate, abs=0.02)
    whole = row_of(probes(labels, length="text", clusters="document"), "length", "m").one.found
    assert whole.estimate == pytest.approx(by_text.estimate)
    assert whole.low != by_text.low


def test_probes_command_prints_and_writes_page(tmp_path, capsys):
    _, quality, length, said = world(8)
    labels = long({**said, "m": cut(0.4 * quality + length)}, length=length)
    frame = labels.labels.join(labels.items, on="item")
    frame.write_csv(tmp_path / "labels.csv")
    command = ["probes", str(tmp_path / "labels.csv"), "--judges", "m", "--scale", "1-5", "--length", "length"]
    page = tmp_path / "probes.html"
    with pytest.raises(SystemExit) as ended:
        main([*command, "--output", str(page)])
    assert ended.value.code == 0
    assert "Length: m's labels increase by" in capsys.readouterr().out
    assert "points per SD of length at equal quality" in page.read_text()
    with pytest.raises(SystemExit):
        main([*command, "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert next(row for row in printed["table"] if row["probe"] == "length")["detected"]


def probed(probe, measure, value, low, high, *, null=0.0, criterion=None, levels=0, detected=False, **more):
    one = ProbeMeasure(probe, measure, Estimate(value, low, high, 0.1), null, 0.5, n=50, **more)
    return ProbeRow("m", criterion, one, levels, "words", detected=detected)


@pytest.mark.parametrize(
    ("row", "fault", "undetected"),
    [
        (
            probed("length", "points", 0.3, 0.1, 0.5),
            "Length: m's labels increase by 0.30 [0.10, 0.50] points per SD of words at equal quality.",
            "length (+0.30 [0.10, 0.50])",
        ),
        (
            probed("own", "points", -0.3, -0.5, -0.1),
            "Own family: m's labels decrease by 0.30 [0.10, 0.50] points for outputs of its family at equal quality.",
            "own family (−0.30 [−0.50, −0.10])",
        ),
        (
            probed("halo", "r", 0.4, 0.2, 0.6, human=-0.05),
            "Halo: m's labels of different criteria correlate beyond quality: +0.40 [0.20, 0.60] (annotators: −0.05).",
            "halo (+0.40 [0.20, 0.60])",
        ),
        (
            probed("resolution", "log", math.log(0.5), math.log(0.4), math.log(0.6), levels=3, human=4.5),
            "Levels used: m uses fewer levels than the annotators: 3 in all (one annotator: 4.5); the effective number "
            "is 0.50 [0.40, 0.60] times the annotators'.",
            "levels used (0.50 [0.40, 0.60])",
        ),
        (
            probed("shares", "share of '4' minus annotators'", 0.1, 0.05, 0.15),
            "Label shares: m gives '4' more often than the annotators: +0.10 [0.05, 0.15].",
            "label shares of '4' (+0.10 [0.05, 0.15])",
        ),
        (
            probed("shares", "share of '4' minus annotators'", -0.1, -0.15, -0.05),
            "Label shares: m gives '4' less often than the annotators: −0.10 [−0.15, −0.05].",
            "label shares of '4' (−0.10 [−0.15, −0.05])",
        ),
        (
            probed("position", "share of choices of the first position", 0.6, 0.55, 0.65, null=0.5),
            "Position: m, share of choices of the first position: 0.60 [0.55, 0.65]; chance 0.50.",
            "position (0.60 [0.55, 0.65])",
        ),
        (
            probed("missing", "people's label", -0.4, -0.6, -0.2),
            "Missing: m skips items that the annotators rate lower: −0.40 [−0.60, −0.20] points.",
            "missing (−0.40 [−0.60, −0.20])",
        ),
        (
            probed("missing", "share", 0.25, 0.2, 0.3, null=math.nan),
            "Missing: m has no label on 0.25 of the items [0.20, 0.30].",
            "missing (+0.25 [0.20, 0.30])",
        ),
        (
            probed("consistency", "Φ", 0.6, 0.5, 0.7, null=0.9),
            "Responses: m needs 6 (up to 9) responses for Φ = 0.9 (Φ of one response = 0.60 [0.50, 0.70]).",
            "responses (+0.60 [0.50, 0.70])",
        ),
        (
            probed("consistency", "Φ", 0.6, -0.1, 0.7, null=0.9),
            "Responses: m needs 6 (possibly no number is sufficient) responses for Φ = 0.9 (Φ of one response = 0.60 "
            "[−0.10, 0.70]).",
            "responses (+0.60 [−0.10, 0.70])",
        ),
        (
            probed("consistency", "Φ", 0.92, 0.91, 0.93, null=0.9),
            "Responses: m reaches Φ = 0.9 with one response (Φ of one response = 0.92 [0.91, 0.93]).",
            "responses (+0.92 [0.91, 0.93])",
        ),
        (
            probed("consistency", "Φ", -0.1, -0.2, 0.1, null=0.9),
            "Responses: m does not reach Φ = 0.9 with any number of responses (Φ of one response = −0.10 [−0.20, "
            "0.10]).",
            "responses (−0.10 [−0.20, 0.10])",
        ),
    ],
    ids=lambda value: value.one.probe if isinstance(value, ProbeRow) else "",
)
def test_probe_words_with_numbers(row, fault, undetected):
    assert words.fault(row) == fault
    assert words.undetected(row) == undetected


def test_probe_summary_lists_faults_then_others_then_needs():
    """Two detected label shares are one line; of undetected shares only the largest is listed."""
    several = [(f"share of '{k}' minus annotators'", value) for k, value in ((1, 0.05), (2, -0.2), (3, 0.15))]
    rows = (
        probed("length", "points", 0.3, 0.1, 0.5, detected=True, criterion="x"),
        *(probed("shares", name, v, v - 0.1, v + 0.1, criterion="x") for name, v in several),
        probed("consistency", "Φ", 0.92, 0.91, 0.93, null=0.9, criterion="x"),
        ProbeRow("m", "x", ProbeMeasure.absent("own", "the option")),
        *(probed("shares", name, v, v - 0.1, v + 0.1, criterion="y", detected=v > 0) for name, v in several),
        ProbeRow("m", "y", ProbeMeasure.absent("own", "the option")),
        ProbeRow("m", None, ProbeMeasure.absent("halo", "two criteria")),
    )
    found = JudgeProbes(rows, 1234, 1, Run("probes", ProbeSettings(), "none", {}, "95% intervals"))
    lines = found.summary().splitlines()
    assert lines[0] == "3 faults detected in 8 checks; 1,234 items, 1 annotator."
    assert lines[4].split() == ["m,", "x", *"–!––·–·–"]
    assert lines[5].split() == ["m,", "y", *"––––!–––"]
    assert lines[6].split() == ["m", *"––––––––"]
    assert found.sentences() == [
        "Length: m, x's labels increase by 0.30 [0.10, 0.50] points per SD of words at equal quality.",
        "Label shares: m, y minus the annotators: '1' +0.05 [−0.05, 0.15], '3' +0.15 [0.05, 0.25].",
        "m, x: no fault detected in label shares of '2' (−0.20 [−0.30, −0.10]); reaches Φ = 0.9 with one response (Φ "
        "of one response = 0.92 [0.91, 0.93]).",
        "– own family: the option.",
        "– halo: two criteria.",
    ]
    part = probe_parts(found)[0]
    assert part.words[:2] == tuple(found.sentences()[:2])
    ax = found.plot()
    assert len(ax.collections) == 4  # dots; one of them full for each fault's cell
    assert sum(len(dot.get_facecolor()) for dot in ax.collections) == 2
    assert sum(text.get_text() == "–" for text in ax.texts) == 24 - 4
    assert [text.get_text() for text in ax.get_yticklabels()] == ["m", "m, y", "m, x"]


def judge_labels(judge, *people, numeric=True, levels=None):
    judge = np.asarray(judge, dtype=float)
    people = np.stack([np.asarray(p, dtype=float) for p in people], axis=1)
    levels = np.unique(judge[~np.isnan(judge)]) if levels is None else np.asarray(levels, dtype=float)
    return JudgeLabels(judge, people, levels, numeric, Units.of(len(judge)), 0.95)


def test_probe_measure_side_and_size():
    value = Estimate(0.25, 0.2, 0.3, 0.05)
    one = ProbeMeasure.of("own", "", value, 0.5, 0.01, n=9, least=0.25)
    assert (one.p, one.large_enough) == (0.01, True)
    assert not ProbeMeasure.of("own", "", value, 0.5, 0.01, n=9, least=0.26).large_enough
    below = ProbeMeasure.of("resolution", "", value, 0.5, 0.01, n=9, side=-1)
    assert (below.p, below.large_enough) == (0.01, True)
    above = ProbeMeasure.of("halo", "", value, 0.5, 0.01, n=9, side=1)  # on the other side: no evidence
    assert (above.p, above.large_enough) == (1.0, False)
    assert ProbeMeasure.of("halo", "", value, 0.25, 0.01, n=9, side=1).p == 1.0
    assert math.isnan(ProbeMeasure.of("own", "", Estimate(0.25, 0.25, 0.25, 0, "why"), 0.5, 0.01, n=9).p)


def test_ideal_centres_annotators_with_enough_labels():
    first = np.r_[np.ones(10), np.full(10, 3.0), np.full(5, np.nan)]  # 20 labels: by its own mean, 2
    few = np.r_[np.full(19, 4.0), np.full(6, np.nan)]  # 19 labels, together with the next: mean of 19 4s and 1 24
    one = np.r_[24.0, np.full(24, np.nan)]
    ideal = judge_labels(np.zeros(25), first, few, one, np.full(25, np.nan)).ideal
    assert ideal[[0, 19], 0].tolist() == [-1.0, 1.0]
    assert ideal[0, 1:3].tolist() == [-1.0, 19.0]
    assert np.isnan(ideal[:, 3]).all()
    assert judge_labels(np.zeros(25), few, one).deviation == pytest.approx(math.sqrt(19 * 1 + 19**2) / math.sqrt(20))


def test_resolution_requires_thirty_items_and_five_per_level():
    for levels, least in ((4, 30), (8, 40)):
        first = np.arange(least) % levels
        found = judge_labels(first, first).resolution()
        assert (found.found.estimate, found.n, found.human) == (pytest.approx(0.0), least, levels)
        assert judge_labels(first[1:], first[1:]).resolution().found.reason == (
            f"requires an annotator with {least} items that the judge also labelled (5 per level)"
        )
    # Half of the levels: minus log 2; two annotators, each on other items.
    four = np.arange(60) % 4
    half = judge_labels(
        four // 2 * 2, np.where(np.arange(60) < 32, four, np.nan), np.where(np.arange(60) < 28, np.nan, four)
    )
    # Each side has half a label more for each level but one that it uses, over its 32 labels (Miller and Madow).
    assert half.resolution().found.estimate == pytest.approx(-math.log(2) + (1 - 3) / 64)
    assert (half.resolution().n, half.resolution().human) == (60, 4)


def test_shares_and_missing_labels_by_hand():
    """40 items; the judge labels 10 with 1, 20 with 2, 10 not; one annotator 20 with 1, another the first 15 with 2."""
    judge = np.r_[np.full(10, 1.0), np.full(20, 2.0), np.full(10, np.nan)]
    first = np.r_[np.full(20, 1.0), np.full(20, 2.0)]
    other = np.r_[np.full(15, 2.0), np.full(25, np.nan)]
    one = judge_labels(judge, first, other, levels=[1, 2, 3])
    shares = one.shares(["a", "b", "c"])
    assert [s.measure for s in shares] == ["share of 'a' minus annotators'", "share of 'b' minus annotators'"]  # no c
    assert [s.human for s in shares] == pytest.approx([(15 * 0.5 + 5) / 30, (15 * 0.5 + 10) / 30])
    assert shares[0].found.estimate == pytest.approx((10 - 12.5) / 30)
    assert (shares[0].n, shares[0].null, shares[0].least) == (30, 0.0, 0.0)
    gone, rated = one.missing()
    assert gone.found.estimate == 0.25
    assert (gone.found.low, gone.found.high) == pytest.approx((0.1419, 0.4019), abs=1e-4)  # Wilson of 10 in 40
    # The first person's mean is 1.5; the other's 15 labels are all their mean. Skipped items: +.5; the others: on 15
    # the mean of −.5 and 0, on 5 −.5, on 10 +.5.
    assert rated.found.estimate == pytest.approx(0.5 - (15 * -0.25 + 5 * -0.5 + 10 * 0.5) / 30)
    assert (rated.n, rated.least) == (10, pytest.approx(0.1 * np.std(np.r_[first, other[:15]])))
    assert judge_labels(judge[:34], first[:34]).missing()[1].found.reason.startswith("requires 5 items without a label")
    assert len(judge_labels(judge[:35], first[:35]).missing()) == 2
    assert len(judge_labels(judge, first, numeric=False).missing()) == 1
    assert judge_labels(judge[1:], first[1:], levels=[1, 2]).shares("ab")[0].found.reason is not None  # 29 items
    assert judge_labels(judge, first, levels=range(26)).shares(range(26))[0].found.reason == (
        "requires a scale of at most 25 labels"
    )
    rare = np.r_[np.ones(9), np.full(31, 2.0)]
    assert len(judge_labels(rare, rare, levels=[1, 2]).shares("ab")) == 1  # 9 items with a 1
    rare[9] = 1
    assert len(judge_labels(rare, rare, levels=[1, 2]).shares("ab")) == 2


def test_shares_and_missing_labels_without_exceptions_have_exact_tests():
    """The judge answers 1 wherever the annotator answers 2; and it skips all items that annotators label 2."""
    theirs = np.full(40, 2.0)
    one = judge_labels(np.ones(40), theirs, levels=[1, 2])
    for share, difference in zip(one.shares("ab"), (1.0, -1.0), strict=True):
        assert share.found.estimate == difference
        assert sorted((abs(share.found.low), abs(share.found.high))) == pytest.approx(references.wilson(40, 40))
        assert share.p == pytest.approx(2 / 2**40)
    equal = judge_labels(theirs, theirs, levels=[1, 2]).shares("ab")[0]
    assert (equal.found.estimate, equal.p, equal.untested) == (0.0, 1.0, False)
    theirs = np.repeat([1.0, 2.0], [30, 10])
    skipped = judge_labels(np.where(theirs == 2, np.nan, theirs), theirs).missing()[1]
    assert skipped.found.estimate == 1.0
    assert skipped.p == pytest.approx(2 / math.comb(40, 10))


def test_labels_that_depend_on_the_column_alone_are_detected():
    """The labels are the length, or tell the judge's own outputs from the others, without any exception."""
    rng, _, _, said = world(3, n=100)
    length = rng.permutation(100) / 25
    own = np.arange(100) % 2
    for label, name, probe in ((length, "length", "length"), (1.0 + own, "maker", "own")):
        columns = {who: 1.0 * one for who, one in {**said, "gpt": label}.items()}
        labels = long(columns, scale=Interval(), length=length, maker=np.where(own, "gpt", "other"))
        found = probes(labels, length="length", system="maker")
        row = row_of(found, probe, "gpt")
        assert row.one.found.reason is not None, name
        assert row.detected, name
        assert row.adjusted < 0.01
    constant = probes(long({**said, "gpt": np.full(100, 3)}, scale=Interval(), length=length), length="length")
    assert row_of(constant, "length", "gpt").one.found.reason == "requires labels of the judge that vary"
    assert constant.cells["length"][0] == "–"


def test_one_label_against_balanced_labels_is_detected():
    """Each annotator gives both labels equally often, so that no item changes the entropy."""
    theirs = np.tile([1.0, 2.0], 30)
    one = judge_labels(np.ones(60), theirs, levels=[1, 2]).resolution()
    assert one.found.reason is not None
    # Labels of two kinds with .8 · 2 effective levels: the most frequent label has a share q of entropy log 1.6.
    q = optimize.brentq(lambda q: stats.entropy([q, 1 - q]) - one.null + one.found.estimate, 0.5, 1 - 1e-9)
    assert one.p == pytest.approx(2 * q**60)
    assert one.p < 1e-3
    same = judge_labels(theirs, theirs, levels=[1, 2]).resolution()
    assert (same.found.estimate, same.p) == (0.0, 1.0)  # not fewer levels


def test_responses_that_always_contradict_are_detected():
    first = np.tile([1.0, 2.0], 20)
    replies = np.stack([first, 3 - first], axis=1)
    for numeric, most in ((True, 0.05), (False, 0.1)):  # two responses differ with at most this probability if Φ = .9
        found = judge_labels(first, first, numeric=numeric).consistency(replies)
        assert (found.found.estimate, found.found.reason is None) == (pytest.approx(-1.0), False)
        assert found.p == pytest.approx(most**40)
    steady = judge_labels(first, first).consistency(np.stack([first, first], axis=1))
    assert (steady.found.estimate, steady.p) == (pytest.approx(1.0), 1.0)


def test_a_value_without_a_test_is_named_and_not_counted():
    value = ProbeMeasure.of(
        "own", "points", Estimate(0.4, math.nan, math.nan, math.nan, "one cluster"), 0.0, 0.01, n=40
    )
    assert (value.untested, math.isnan(value.p)) == (True, True)
    rows = (ProbeRow("gpt", None, value),)
    found = JudgeProbes(rows, 40, 2, Run("probes", ProbeSettings(), "0" * 12, {"items": 40}))
    assert found.cells["own family"][0] == "–"
    assert "in 0 checks" in found.summary()
    assert "no fault detected" not in found.summary()
    assert "– own family (+0.40 (no interval)): not tested: one cluster." in found.summary()


def test_halo_by_hand():
    # Judge: covariances with human means 2 and 3, variances of the ideal 4 and 2, covariance 1.75; human across
    # criteria 1, on one annotator's labels 1.5. Halo (1.75 − 2 · 3 / 8) / 2 = .5; over 1.75 · 8 − 6; human .5 / 4.
    means = np.array([2.0, 4, 3, 2, 1.75, 1, 1.5])
    counts = np.array([10.0, 8, 10, 9, 7, 6, 5])
    sums = np.stack([means * counts, counts], axis=1).ravel()
    assert HaloStatistic(np.array([2.0]), np.array([4.0])).value(sums).tolist() == pytest.approx([0.5, 8.0, 0.125])
    rng = np.random.default_rng(3)
    quality, bad = rng.standard_normal((2, 60))
    people = [[quality + rng.standard_normal(60) for _ in range(2)] for _ in range(2)]
    criteria = [judge_labels(quality + bad, *people[j]) for j in range(2)]
    for j, k in ((29, False), (30, True)):
        cut_off = [judge_labels(np.where(np.arange(60) < j, one.judge, np.nan), *one.humans.T) for one in criteria]
        assert (halo_of(cut_off).found.reason is None) == k
    assert halo_of(criteria).n == 60
    # One pair of criteria by a slow reference: every pair of different annotators, item by item.
    a, b = (one.humans - one.humans.mean(axis=0) for one in criteria)
    y = [one.judge - one.judge.mean() for one in criteria]
    c = [(y[j] * p.mean(axis=1)).mean() for j, p in enumerate((a, b))]
    v = [(p[:, 0] * p[:, 1]).mean() for p in (a, b)]
    cross = ((a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0]) / 2).mean()
    same = (a * b).mean()
    spread, theirs = (np.prod([np.std(getattr(one, w)) for one in criteria]) for w in ("judge", "humans"))
    found = halo_of(criteria)
    assert found.found.estimate == pytest.approx(((y[0] * y[1]).mean() - c[0] * c[1] * cross / (v[0] * v[1])) / spread)
    assert found.human == pytest.approx((same - cross) / theirs)
    assert (
        halo_of([judge_labels(np.ones(60), *people[0]), criteria[1]]).found.reason
        == "requires labels of the judge that vary"
    )


def test_consistency_of_numbers_and_of_categories_by_hand():
    """Two responses on 30 items, equal on 24: as categories, and as numbers, from products of pairs."""
    first = np.tile([1.0, 2.0, 2.0], 10)
    second = np.r_[3 - first[:6], first[6:]]
    replies = np.vstack([np.stack([first, second], axis=1), [[1.0, np.nan]]])
    numbers = judge_labels(np.r_[first, 1.0], np.r_[first, 1.0]).consistency(replies)
    kept = replies[:30] - replies[:30].mean()
    phi = (kept[:, 0] * kept[:, 1]).mean() - kept.mean() ** 2
    assert numbers.found.estimate == pytest.approx(phi / ((kept**2).mean() - kept.mean() ** 2))
    categories = judge_labels(np.r_[first, 1.0], np.r_[first, 1.0], numeric=False).consistency(replies)
    one = (replies[:30] == 1).mean()
    chance = one**2 + (1 - one) ** 2
    assert categories.found.estimate == pytest.approx((24 / 30 - chance) / (1 - chance))
    assert (categories.n, categories.null, categories.side) == (30, 0.9, -1)
    assert judge_labels(np.r_[first, 1.0], np.r_[first, 1.0]).consistency(replies[1:]).found.reason is not None  # 29


@pytest.mark.parametrize(
    ("scale", "levels", "ordered"),
    [
        ("1-5", [1, 2, 3, 4, 5], True),
        ("ordinal:low<mid<high", [0, 1, 2], True),  # ordered words, by their positions
        ("nominal:a,b", [0, 1], True),  # two categories have an order
        ("nominal:a,b,c", [0, 1, 2], False),
        ("preference", [-1, 0, 1], True),
    ],
)
def test_judge_labels_have_levels_of_scale(scale, levels, ordered):
    scale = scale_of(scale)
    grid = {"m": np.array([0.0, 1.0, np.nan]), "p": np.array([1.0, 1.0, 0.0]), "q": np.array([np.nan, 1.0, 0.0])}
    table = SimpleNamespace(
        grids={"c": (grid, ("p", "q"))}, scales={"c": scale}, items=["a", "b", "c"], units=Units.of(3),
        settings=SimpleNamespace(confidence=0.9),
    )  # fmt: skip
    found = _ProbedTable.judge_labels(table, "m", "c")
    assert (found.levels.tolist(), found.numeric, found.level) == (levels, ordered, 0.9)
    assert found.humans[:, 1].tolist() == pytest.approx([np.nan, 1, 0], nan_ok=True)
    gone = _ProbedTable.judge_labels(table, "unknown", "c")
    assert np.isnan(gone.judge).all()
    assert gone.humans.shape == (3, 2)
    assert _ProbedTable.judge_labels(table, "m", "text") is None
    table.grids["c"] = (grid, ())
    assert _ProbedTable.judge_labels(table, "m", "c").humans.shape == (3, 0)


def test_judge_labels_of_interval_have_given_levels():
    grid = {"m": np.array([0.5, 0.1, np.nan]), "p": np.array([0.1, 0.9, 0.5])}
    table = SimpleNamespace(
        grids={None: (grid, ("p",))}, scales={None: Interval(0, 1)}, items=["a", "b", "c"], units=Units.of(3),
        settings=SimpleNamespace(confidence=0.95),
    )  # fmt: skip
    found = _ProbedTable.judge_labels(table, "m", None)
    assert (found.levels.tolist(), found.numeric) == ([0.1, 0.5, 0.9], True)


# -- decisions and marks -----------------------------------------------------------------------------------


def decided(p, large=True, estimate=0.5) -> ProbeRow:
    one = ProbeMeasure(
        "own", "points", Estimate(estimate, math.nan, math.nan, math.nan), 0.0, p, least=0 if large else 1
    )
    return ProbeRow("j", None, one, 3)


@pytest.mark.parametrize(
    ("p", "large", "adjust", "adjusted", "detected"),
    [
        # Holm for two: twice the smaller, then the larger, but not below the first.
        ((0.02, 0.04), True, True, (0.04, 0.04), (True, True)), ((0.02, 0.06), True, True, (0.04, 0.06), (True, False)),
        ((0.03, 0.05), True, True, (0.06, 0.06), (False, False)),
        ((0.05, 0.051), True, False, (0.05, 0.051), (True, False)),
        ((0.01, 0.01), False, True, (0.02, 0.02), (False, False)),
    ],
)  # fmt: skip
def test_decide_faults_requires_significance_and_size(p, large, adjust, adjusted, detected):
    settings = SimpleNamespace(adjust=adjust, alpha=0.05)
    found = _decide_faults([decided(one, large) for one in p], settings)
    assert tuple(row.adjusted for row in found) == pytest.approx(adjusted)
    assert tuple(row.detected for row in found) == detected


def test_sign_of_detected_undetected_and_missing():
    fault = dataclasses.replace(decided(0.01), detected=True)
    unknown = decided(math.nan, estimate=math.nan)
    assert [_sign(rows) for rows in ([fault, unknown], [unknown, decided(0.5)], [unknown], [])] == ["!", "·", "–", "–"]
    assert _sign([decided(math.nan)]) == "–"  # a value without a test is not "not detected"


@pytest.mark.parametrize(("criteria", "where"), [(("x",), "x"), (("x", "y"), None)])
def test_halo_is_the_last_row(criteria, where, monkeypatch):
    kept = []
    monkeypatch.setattr("assay.verdict.probes.halo_of", lambda every: kept.append(len(every)) or "halo")
    labels = {"x": SimpleNamespace(judge=np.array([1.0]), levels_used=4), "y": None}
    table = SimpleNamespace(
        criteria=criteria, judge_labels=lambda judge, c: labels[c], settings=SimpleNamespace(length=None),
        _position=lambda judge, c: ["place"], _measures=lambda judge, c, mine: ["one", "two"],
    )  # fmt: skip
    found = list(_ProbedTable.rows(table, "j"))
    assert [(row.criterion, row.one) for row in found[:2]] == [("x", "one"), ("x", "two")]
    assert [row.levels for row in found if row.criterion == "x"][:2] == [4, 4]
    assert [row.levels for row in found if row.criterion == "y"] == [0] * (len(found) - 3)
    assert (found[-1].criterion, found[-1].one, kept) == (where, "halo", [1])


def test_family_is_read_from_annotators():
    about = pl.DataFrame({"annotator": ["j", "k", "l"], "maker": ["lab", "firm", None]})
    table = SimpleNamespace(labels=SimpleNamespace(annotators=about), settings=SimpleNamespace(family="maker"))
    assert [_ProbedTable._family(table, judge) for judge in "jkl"] == [("lab",), ("firm",), ()]
    table.settings.family = None
    assert _ProbedTable._family(table, "j") == ()
    table.settings.family = "makers"
    with pytest.raises(DataError, match="maker"):
        _ProbedTable._family(table, "j")
