"""Probes: a planted fault is found, a judge without it is left in peace, and what a table cannot say is a dash."""

import json
import math

import numpy as np
import polars as pl
import pytest

import assay
from assay import Annotations, probes
from assay.cli.app import main
from assay.errors import DataError, DesignError
from assay.estimation.resampling import Units
from assay.verdict.probe_measures import (
    LEAST_ITEMS,
    AtEqualQuality,
    EntropyDifference,
    JudgeLabels,
    OneReply,
    replies_needed,
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
    """Quality, a length that goes with it by .8, and people whose labels err as much as quality varies."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal(n)
    length = 0.8 * quality + 0.6 * rng.standard_normal(n)
    said = {f"p{k}": cut(quality + 0.3 * rng.standard_normal() + rng.standard_normal(n)) for k in range(people)}
    return rng, quality, length, said


def row_of(found, probe, judge="good"):
    return next(row for row in found.rows if row.one.probe == probe and row.judge == judge)


def test_a_judge_that_follows_length_is_found_and_one_that_follows_quality_is_not():
    """Both correlate with length by .7 and more; people's mean as a regressor accuses the second in 9 of 10 studies."""
    guilty = innocent = accused_by_the_mean = 0
    for seed in range(12):
        rng, quality, length, said = world(seed)
        good = cut(quality + 0.4 * rng.standard_normal(len(quality)))
        wordy = cut(0.5 * quality + 0.8 * length + 0.4 * rng.standard_normal(len(quality)))
        assert np.corrcoef(good, length)[0, 1] > 0.65
        found = probes(long({**said, "good": good, "wordy": wordy}, length=length), length="length")
        innocent += row_of(found, "length").shown
        guilty += row_of(found, "length", "wordy").shown
        mean = np.mean([*said.values()], axis=0)
        x = np.stack([np.ones(len(mean)), mean, length], axis=1)
        slope, residual = np.linalg.lstsq(x, good, rcond=None)[:2]
        error = math.sqrt(float(residual[0]) / (len(mean) - 3) * np.linalg.inv(x.T @ x)[2, 2])
        accused_by_the_mean += slope[2] / error > 1.96
    assert innocent <= 1
    assert guilty >= 10
    assert accused_by_the_mean >= 10


def test_own_family_is_favoured_or_only_better():
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
            labels.labels, judges=["good", "vain"], scale="1-5", items=labels.items, annotators=about
        )
        found = probes(labels, system="maker", family="house")
        better += row_of(found, "own").shown
        favoured += row_of(found, "own", "vain").shown
        if row_of(found, "own", "vain").shown:
            assert "vain favours its own: +" in found.summary()
    assert better <= 1
    assert favoured >= 8


def test_lambda_is_the_regression_on_the_ideal_label_where_people_do_not_err():
    """Two people who say the ideal label: λ is what least squares give, by another road."""
    rng = np.random.default_rng(2)
    ideal, z = rng.standard_normal((2, 300))
    z = 0.5 * ideal + z
    judge = 0.7 * ideal + 0.3 * z + 0.1 * rng.standard_normal(300)
    every = JudgeLabels(judge, np.stack([ideal, ideal], axis=1), np.unique(ideal), True, Units.of(300), 0.95)
    found = every.covariate("length", z, "points").found
    x = np.stack([np.ones(300), ideal, z], axis=1)
    assert found.estimate == pytest.approx(np.linalg.lstsq(x, judge, rcond=None)[0][2], abs=1e-10)
    assert found.low < 0.3 < found.high


def test_values_by_hand():
    # C_yz 3, C_yh 2, C_hz 1, V_z 4 over 10 items; V_ξ 6 / 4 = 1.5: λ = (3 · 1.5 − 2) / (1.5 · 4 − 1) = .5.
    assert AtEqualQuality().value(np.array([30.0, 20, 10, 40, 6, 4, 10])).tolist() == pytest.approx([0.5, 2.5])
    # One person, two levels: the judge 8 and 8 of 16, the person 16 and 0: log 2 + 1/32 less 0.
    counts = np.array([8.0, 8, 16, 0])
    assert EntropyDifference(1, 2).value(counts)[0] == pytest.approx(math.log(2) + 1 / 32)
    # 10 items: products of two replies .6 a mean, squares 1, means 0: Φ = .6; 6 replies reach .9.
    assert OneReply().value(np.array([6.0, 10, 10, 0])).tolist() == [0.6]
    assert [replies_needed(phi) for phi in (0.9, 0.6, 0.5, 0.0)] == [1, 6, 9, math.inf]


def test_every_second_level_and_shares():
    rng = np.random.default_rng(4)
    cuts = np.linspace(-2, 2, 9)
    quality = rng.standard_normal(300)
    people = {f"p{k}": cut(quality + 0.5 * rng.standard_normal(300), cuts) for k in range(3)}
    good = cut(quality + 0.5 * rng.standard_normal(300), cuts)
    found = probes(long({**people, "good": good, "coarse": (good + 1) // 2 * 2}, "1-10"))
    assert not row_of(found, "resolution").shown
    assert not any(row.shown for row in found.rows if row.judge == "good")
    coarse = row_of(found, "resolution", "coarse")
    assert coarse.shown
    assert coarse.levels == 5
    assert math.exp(coarse.one.found.estimate) == pytest.approx(0.5, abs=0.08)
    assert "coarse uses fewer levels than people: 5 in all, a person 10.0" in found.summary()
    shares = found.table.filter((pl.col("probe") == "shares") & (pl.col("judge") == "coarse"))
    assert shares.filter(pl.col("shown"))["measure"].str.contains("'1'|'3'|'5'|'7'|'9'").any()
    assert shares["estimate"].sum() == pytest.approx(0)
    assert "coarse gives labels otherwise than people: '" in found.summary()


def test_halo_is_told_from_criteria_that_go_together():
    """Qualities correlate by .8. One judge errs alike on both criteria, one by itself."""
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
        innocent += row_of(found, "halo").shown
        guilty += row_of(found, "halo", "halo").shown
        assert abs(row_of(found, "halo", "halo").one.people) < 0.15
    assert innocent == 0
    assert guilty >= 9


def test_replies_and_what_is_skipped():
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
    assert "repeated answers: first" in found.notes
    shaky, steady = (row_of(found, "consistency", name) for name in ("shaky", "steady"))
    assert shaky.shown
    assert 0.3 < shaky.one.found.estimate < 0.8
    assert "replies for Φ = .9: Φ of one reply is 0." in shaky.sentence()
    assert "gives the same label in every reply; has a label on every item." in found.summary()
    assert steady.one.found.estimate == pytest.approx(1.0)
    assert not steady.shown  # replies that are all equal: no interval, with the reason
    assert steady.one.found.reason
    skipped = [row for row in found.rows if row.judge == "shaky" and row.one.probe == "missing"]
    assert skipped[0].one.found.estimate == pytest.approx(len(high) / 300)
    assert skipped[1].shown
    assert "shaky skips items that people rate higher" in found.summary()


def test_position_is_probed_where_the_table_says_what_was_chosen():
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
    assert row_of(found, "position", "first").shown
    assert not row_of(found, "position", "fair").shown
    assert "first chooses by place: share of choices of the first place" in found.summary()


def test_pairs_in_both_orders_are_probed_once_and_their_places_all():
    """200 pairs: a judge that names the first text in .6 + .4 · .5 of them, people who answer by the texts alone."""
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
    assert row_of(found, "position", "m").shown
    assert position.found.estimate == pytest.approx(0.8, abs=0.06)
    assert position.n == 400
    assert row_of(found, "shares", "m").one.n == 200
    assert any("both orders" in note for note in found.notes)


def test_what_a_table_cannot_say_is_a_dash_with_what_it_needs():
    labels = assay.simulate(60, 1, scale="1-5", judges={"m": 0.2}, seed=1)
    found = probes(labels)
    words = found.summary()
    for needed in (
        "– length: the option length names a column of the items.",
        "– own family: the option system names the column of who made the item.",
        "– halo: needs two criteria or more.",
        "needs several replies of the judge about an item",
        "needs preferences or choices of three with a column 'position'",
    ):
        assert needed in words
    items = labels.items.with_columns(length=pl.Series(range(60)))
    alone = Annotations.from_frame(labels.labels, judges=["m"], scale="1-5", items=items)
    needs = f"needs {LEAST_ITEMS} items with the judge's label and two people's"
    assert needs in probes(alone, length="length").summary()
    assert "no item's 'truth' is the judge's name or family" in probes(alone, system="truth").summary()
    assert set(found.cells.row(0)[1:]) == {"–", "·"}
    assert json.loads(json.dumps(found.to_dict()))["table"]
    text = assay.read(
        pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "label": ["x y", "z", "w", "u"]}),
        scale="text", judges=["q"],
    )  # fmt: skip
    assert "these are texts" in probes(text).summary()


def test_one_correction_over_everything():
    rng, quality, length, said = world(1)
    judges = {f"m{k}": cut(quality + 0.1 * length + 0.4 * rng.standard_normal(len(quality))) for k in range(4)}
    labels = long({**said, **judges}, length=length)
    found, loose = probes(labels, length="length"), probes(labels, length="length", adjust=False)
    tested = found.table.drop_nulls("p")
    order = tested["p"].arg_sort()
    p = tested["p"].gather(order).to_numpy()
    holm = np.maximum.accumulate(np.minimum(1, p * (len(p) - np.arange(len(p)))))
    assert tested["p_adjusted"].gather(order).to_numpy() == pytest.approx(holm)
    assert len(found.shown) <= len(loose.shown)
    assert (found.table.filter("shown")["p_adjusted"] <= 0.05).all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"judges": "n"}, DesignError, "judge 'n'"),
        ({"length": "lenght"}, DataError, "lenght"),
        ({"system": "makr"}, DataError, "makr"),
        ({"system": "maker", "family": "hous"}, DataError, "hous"),
        ({"clusters": "doc"}, DataError, "doc"),
        ({"confidence": 1.0}, DesignError, "confidence"),
    ],
)
def test_what_is_not_there_is_refused(options, error, words):
    _, quality, length, said = world(3, 40)
    labels = long({**said, "m": cut(quality)}, length=length, maker=["a"] * 40)
    with pytest.raises(error, match=words):
        probes(labels, **options)
    people = Annotations.from_frame(labels.labels.filter(pl.col("annotator") != "m"), scale="1-5")
    with pytest.raises(DesignError, match="probes are of judges, and the table has none"):
        probes(people)


def test_texts_count_by_their_characters_and_clusters_widen():
    _, quality, length, said = world(7)
    texts = ["x" * int(n) for n in 50 + 10 * length]
    labels = long({**said, "m": cut(quality)}, length=np.round(50 + 10 * length - 0.5), text=texts,
                  document=[f"d{i // 8}" for i in range(400)])  # fmt: skip
    by_text, by_number = (row_of(probes(labels, length=name), "length", "m").one.found for name in ("text", "length"))
    assert by_text.estimate == pytest.approx(by_number.estimate, abs=0.02)
    whole = row_of(probes(labels, length="text", clusters="document"), "length", "m").one.found
    assert whole.estimate == pytest.approx(by_text.estimate)
    assert whole.low != by_text.low


def test_the_command_prints_and_writes_a_page(tmp_path, capsys):
    _, quality, length, said = world(8)
    labels = long({**said, "m": cut(0.4 * quality + length)}, length=length)
    frame = labels.labels.join(labels.items, on="item")
    frame.write_csv(tmp_path / "labels.csv")
    words = ["probes", str(tmp_path / "labels.csv"), "--judges", "m", "--scale", "1-5", "--length", "length"]
    page = tmp_path / "probes.html"
    with pytest.raises(SystemExit) as ended:
        main([*words, "--output", str(page)])
    assert ended.value.code == 0
    assert "m follows length at equal quality: +" in capsys.readouterr().out
    assert "m follows length at equal quality" in page.read_text()
    with pytest.raises(SystemExit):
        main([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert next(row for row in told["table"] if row["probe"] == "length")["shown"]
