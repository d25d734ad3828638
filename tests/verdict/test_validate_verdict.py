"""Simulated studies with planted judges: the counts, the shape of a pilot, and the rejection of useless judges."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import assay
from assay import Annotations
from assay.cli.app import main
from assay.data.scales import Interval, Text, scale_of
from assay.errors import DesignError
from assay.estimation.intervals import wilson_estimate
from assay.estimation.result import Run
from assay.plan import validate
from assay.reporting.tables import said as rounded
from assay.simulation import simulate
from assay.verdict import validate as verdict_validation
from assay.verdict import words
from assay.verdict.validate import (
    BAD,
    PLANTED,
    JudgeRate,
    ValidateVerdictSettings,
    VerdictValidation,
    _point,
    most_common,
    noise_of_agreement,
    plant_copy,
    plant_judges,
)

SMALL = {"n_items": 40, "n_annotators": 3, "epsilon": 0.2, "n_studies": 6}


def settings(**given):
    return ValidateVerdictSettings(**{**SMALL, **given})


def studies(**given):
    """What the summary says of simulated studies, for one study."""
    size = {} if "pilot" in given else {"n_items": 40, "n_annotators": 3}
    found = validate(**{"epsilon": 0.2, "n_studies": 1, **size, **given})
    first, _, said = found.summary().splitlines()[0].partition(": ")
    assert first == "1 simulated studies"
    return said


@pytest.mark.slow
def test_planted_judges_label_as_described():
    """2,000 items: shares of true labels, under p = noise · prior + (1 − noise)."""
    s = settings(n_items=2000, n_annotators=2, categories=2, skew=0.7, annotator_noise=0.2)
    labels = plant_judges(s, 5, np.random.default_rng((5, 1)))
    truth = labels.items.sort("item")["truth"]
    given = {name: labels.where(annotator=name).labels.sort("item")["label"] for name in labels.judges}
    right = {name: float((label == truth).mean()) for name, label in given.items()}
    chance = 0.7**2 + 0.3**2
    assert right["good"] == pytest.approx(0.8 + 0.2 * chance, abs=0.03)
    assert right["bad"] == pytest.approx(BAD * 0.8 + (1 - BAD * 0.8) * chance, abs=0.04)
    assert right["constant"] == pytest.approx(0.7, abs=0.03)
    assert right["lazy"] > right["constant"]
    assert right["lazy"] == pytest.approx(0.9 * 0.7 + 0.1 * (0.8 + 0.2 * chance), abs=0.03)
    # Topic b holds b at .6 + .4 · .7 and topic a holds a at .6 + .4 · .3: each topic's label is its own.
    assert right["constant by topic"] == pytest.approx(0.7 * 0.88 + 0.3 * 0.72, abs=0.03)
    assert right["blind"] == pytest.approx(chance, abs=0.04)
    assert set(given["constant"]) == {"b"}
    both = labels.items.with_columns(label=given["constant by topic"])
    assert both.group_by("topic").agg(pl.col("label").n_unique())["label"].to_list() == [1, 1]


def test_unfair_judge_is_more_severe_with_one_group():
    labels = plant_judges(settings(n_items=400, categories="1-9"), 1, np.random.default_rng(1))
    good, unfair = (labels.where(annotator=name).labels.sort("item")["label"].to_numpy() for name in ("good", "unfair"))
    group = labels.items.sort("item")["group"].to_numpy()
    assert (unfair[group == "a"] == good[group == "a"]).all()
    assert (unfair[group == "b"] == np.maximum(good[group == "b"] - 1, 1)).all()


def test_groups_of_documents_take_turns():
    labels = plant_judges(settings(n_items=400, categories="1-9", documents=40), 1, np.random.default_rng(1))
    items = labels.items.sort("item")
    assert items["group"].to_list() == [group for group in "ab" * 20 for _ in range(10)]
    good, unfair = (labels.where(annotator=name).labels.sort("item")["label"].to_numpy() for name in ("good", "unfair"))
    assert (unfair == np.where(items["group"] == "b", np.maximum(good - 1, 1), good)).all()


@pytest.mark.slow
def test_validate_rejects_useless_judges_and_accepts_good_one():
    found = validate(
        n_items=150, n_annotators=5, categories="1-5", epsilon=0.2, n_studies=8, seed=1, annotator_noise=0.2
    )
    rows = {row["judge"]: row for row in found.table.iter_rows(named=True)}
    assert set(rows) == set(PLANTED)
    assert rows["good"]["estimate"] >= 0.75
    assert sum(rows[name]["wrong"] for name in PLANTED) == 0
    assert rows["constant"]["estimate"] == 1
    assert rows["copy"]["estimate"] == 1
    assert rows["unfair"]["estimate"] >= 0.6
    text = found.summary()
    assert "150 items, 5 annotators with noise 0.20, labels a whole number from 1 to 5" in text
    assert "No unsuitable judge got Replace in 8 studies (upper limit 32% each)." in text
    assert "Next:" not in text


def test_shares_and_their_intervals_by_hand():
    # 6 of 8 right: Wilson .409 to .929.
    one = JudgeRate("good", "replace", "", 6, 1, 8, 0.95)
    assert (one.found.estimate, one.found.low, one.found.high) == pytest.approx((0.75, 0.4093, 0.9285), abs=1e-4)
    assert one.failure.estimate == 1 / 8


def validation(n: int = 100, seconds: float | None = None, **counts: tuple[int, int]) -> VerdictValidation:
    """The result for studies in which each judge got these numbers of right and wrong verdicts."""
    rates = tuple(JudgeRate(name.replace("_", " "), *PLANTED[name.replace("_", " ")], *both, n, 0.95)
                  for name, both in counts.items())  # fmt: skip
    s = settings(seconds=seconds)
    return VerdictValidation(
        rates, n, "40 items, 3 annotators", Run("validate", s, "none", {}, "95% intervals of simulation")
    )


def test_validation_sentences_and_summary():
    found = validation(good=(60, 3), bad=(90, 1), lazy=(70, 4), blind=(95, 0), copy=(65, 2), unfair=(50, 0),
                       fair=(99, 2))  # fmt: skip
    # Wilson of 60, 4, 65, 50 and 2 of 100.
    assert found.sentences() == [
        "A judge with human-level errors gets Replace in 60% [50%, 69%] of such studies.",
        "Of the unsuitable judges, lazy (gives the most common label to 90% of the items) gets Replace most often: in "
        "4% [2%, 10%] of studies.",
        "The unsuitable judge detected least often is copy: in 65% [55%, 74%] of studies.",
        "Fairness: the unfair judge fails in 50% [40%, 60%] of studies, and the fair judge in 2% [1%, 7%].",
        "Next: estimate the number of items that the verdict needs with assay.plan.alt_test (assay plan alt-test).",
    ]
    lines = found.summary().splitlines()
    assert lines[0] == "100 simulated studies: 40 items, 3 annotators."
    assert " ".join(lines[3].split()) == "good replace 0.60 [0.50, 0.69] 0.03 [0.01, 0.08] 0.37"
    row = found.table.row(0, named=True)
    assert (row["estimate"], row["wrong"], row["undecided"], row["n"]) == pytest.approx((0.6, 0.03, 0.37, 100))
    assert (row["low"], row["high"], row["wrong_low"]) == pytest.approx((0.5020, 0.6906, 0.0103), abs=1e-4)
    widths = [bar.get_width() for bar in found.plot().patches]  # right, undecided, wrong; the last judge first
    assert (widths[6], widths[13], widths[20]) == pytest.approx((0.6, 0.37, 0.03))
    assert widths[0] == pytest.approx(0.99)
    kept = validation(good=(75, 0), constant=(99, 0)).sentences()
    assert kept[1] == "No unsuitable judge got Replace in 100 studies (upper limit 4% each)."
    assert len(kept) == 3  # Wilson's upper end of 75 in 100 is .825: not often missed


@pytest.mark.slow
def test_summary_describes_the_studies():
    assert studies() == (
        "40 items, 3 annotators with noise 0.30, labels one of a, b, c, d, shares drawn for each study."
    )
    assert studies(categories="1-3", prior=(0.25, 0.25, 0.5), labels_per_item=2, documents=10) == (
        "40 items of 10 documents, 3 annotators, 2 per item with noise 0.30, labels a whole number from 1 to 3, "
        "shares 0.25, 0.25, 0.5."
    )  # fmt: skip
    assert studies(categories="interval:0-1", n_items=1234) == (
        "1,234 items, 3 annotators with noise 0.30, labels a number from 0 to 1, uniform."
    )
    assert settings(categories="1-5", skew=0.6).shares == pytest.approx((0.1, 0.1, 0.1, 0.1, 0.6))


def test_noise_of_observed_agreement():
    """Four items of two annotators: three pairs agree, so A = .75; shares .5 and .5 give chance .5: noise 1 − √.5."""
    values = np.array([[1, 1, np.nan], [2, 2, np.nan], [1, np.nan, 1], [2, 1, np.nan], [2, np.nan, np.nan]])
    assert noise_of_agreement(values, np.array([1.0, 2.0]), np.array([0.5, 0.5])) == pytest.approx(1 - np.sqrt(0.5))
    # An item of three labels has three pairs: 3 + 1 of 6 agree, 1 − √((2/3 − .5) / .5).
    values = np.array([[1, 1, 1], [2, 2, np.nan], [1, np.nan, 2], [2, 1, np.nan]])
    assert noise_of_agreement(values, np.array([1.0, 2.0]), np.array([0.5, 0.5])) == pytest.approx(1 - np.sqrt(1 / 3))
    assert (
        noise_of_agreement(values[3:], np.array([1.0, 2.0]), np.array([0.5, 0.5])) == 0.99
    )  # less often than by chance


def test_most_common_label_or_median():
    assert most_common(np.array([[3, 1, 3], [np.nan, 1, 1]])) == 1
    assert most_common(np.array([3.0, 1, 1, 3, 3, 1])) == 1  # the lowest of several
    assert most_common(np.array([3.0, 1, 3, 2])) == 2.5  # at least half of the numbers differ: the median
    assert most_common(np.array([4.0, 1, 4, 1, 4])) == 4
    assert np.isnan(most_common(np.array([np.nan])))


@pytest.mark.slow
def test_validate_is_reproducible_and_stops_on_time():
    few = SMALL | {"categories": "1-5", "n_studies": 2, "seed": 4}
    assert validate(**few).table.equals(validate(**few).table)
    seen = []
    stopped = validate(**SMALL, seconds=1e-6, progress=lambda what, done, steps: seen.append((what, done, steps)))
    assert stopped.n_studies == 1
    assert seen == [("Simulating", 1, 6)]
    assert "Stopped after 1e-06 seconds, with 1 of 6 studies" in stopped.summary()
    assert "fairness is not tested" in stopped.notes[1]  # letters have no order
    assert {row.judge for row in stopped.rates} == set(PLANTED) - {"fair", "unfair"}


@pytest.mark.slow
def test_shape_of_pilot():
    """3,000 items recover the simulated numbers, shares and noise."""
    pilot = simulate(3000, 4, scale="1-3", prior=(0.2, 0.3, 0.5), annotator_noise=0.35, labels_per_item=3, documents=60,
                     seed=2)  # fmt: skip
    found = validate(pilot=pilot, epsilon=0.1, document="document", n_annotators=6, n_items=60, n_studies=1)
    assert found.run.data == pilot.fingerprint
    said = re.fullmatch(
        r"1 simulated studies: 60 items of 60 documents, 6 annotators, 3 per item with noise (.+), labels a whole "
        r"number from 1 to 3, shares (.+), (.+), (.+)\.",
        found.summary().splitlines()[0],
    )
    assert [float(number) for number in said.groups()] == pytest.approx([0.35, 0.2, 0.3, 0.5], abs=0.03)
    found = validate(pilot=pilot.where(item=pilot.items["item"].head(40).to_list()), epsilon=0.2, n_studies=1)
    assert "40 items, 4 annotators, 3 per item with noise 0." in found.summary()
    assert found.run.data == found.settings.pilot


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": None}, "a verdict requires a margin"),
        ({"expertise": "crowd"}, "give one"),
        ({"skew": 0.5, "prior": (0.5, 0.5)}, "skew=... and prior=... both set the label distribution"),
        ({"document": "lesson"}, "document=... names a column of a pilot"),
        ({"labels_per_item": 4}, "labels_per_item=4 exceeds n_annotators=3"),
        ({"n_items": 5}, "n_items"),
        ({"skew": 0.5, "categories": "interval:0-1"}, "skew=... requires categories"),
        ({"prior": (0.5, 0.4), "categories": 2}, "add up to 1"),
        ({"pilot": "labels.csv"}, "read the file with assay.read"),
    ],
)
def test_validate_rejects_impossible_shape(options, words):
    with pytest.raises(DesignError, match=words.replace("(", r"\(")):
        validate(**{**SMALL, **options})


def test_pilot_requires_two_annotators():
    said = studies(pilot=simulate(20, 2, scale="1-5", seed=1))
    assert re.fullmatch(r"20 items, 2 annotators with noise .+ from 1 to 5, shares [\d.]+(, [\d.]+){4}\.", said)


def test_validate_rejects_uninformative_pilot():
    one = simulate(20, 1, scale="1-5", seed=1)
    with pytest.raises(DesignError, match="a pilot requires two annotators; this one has 1"):
        validate(pilot=one, epsilon=0.1)
    same = simulate(20, 3, scale=2, prior=(1.0, 0.0), seed=1)
    with pytest.raises(DesignError, match="all human labels of this pilot are equal"):
        validate(pilot=same, epsilon=0.1)
    several = simulate(20, 3, scale=2, criteria=["a", "b"], seed=1)
    with pytest.raises(DesignError, match="a pilot has one criterion; this one has 2"):
        validate(pilot=several, epsilon=0.1)
    with pytest.raises(DesignError, match="cannot be counted"):
        validate(pilot=simulate(20, 3, scale="interval:0-1", seed=1), epsilon=0.1)


@pytest.mark.slow
def test_validate_command_uses_options_or_pilot(tmp_path, capsys):
    words = ["plan", "validate", "--n-items", "30", "--n-annotators", "3", "--n-studies", "2", "--expertise", "crowd"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--categories", "2", "--skew", "0.8", "--json"])
    assert ended.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["settings"]["skew"] == 0.8
    assert [row["n"] for row in printed["table"]] == [2] * 7
    simulate(30, 3, scale="1-5", seed=1).labels.write_csv(tmp_path / "pilot.csv")
    with pytest.raises(SystemExit) as ended:
        main(["plan", "validate", "--pilot", str(tmp_path / "pilot.csv"), "--scale", "1-5", "--judges", "judge",
              "--n-studies", "1", "--epsilon", "0.2"])  # fmt: skip
    assert ended.value.code == 0
    assert "30 items, 3 annotators with noise" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main([*words, "--scale", "1-5"])
    assert ended.value.code == 2
    assert "for a simulation use --categories" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scale", "point"),
    [("1-9", 1.0), (3, 1.0), (Interval(0, 10), 2.0), (Interval(-1, 0), 0.2), (Text(), 1.0)],
)
def test_point_is_a_step_or_a_fifth(scale, point):
    assert _point(scale_of(scale)) == pytest.approx(point)


def test_topics_reveal_three_of_five_labels():
    """1,000 items: .6 have their truth as topic, the others a truth at random, the same with probability Σ p²."""
    s = settings(n_items=1000, n_annotators=2, categories=4, prior=[0.4, 0.3, 0.2, 0.1])
    items = plant_judges(s, 5, np.random.default_rng(6)).items
    topic = items["topic"].str.slice(1).cast(pl.Int64)
    truth = items["truth"].replace_strict(dict(zip("abcd", range(4), strict=True)))
    assert float((topic == truth).mean()) == pytest.approx(0.6 + 0.4 * 0.3, abs=0.05)  # 3.5 standard errors


@pytest.mark.slow
def test_topics_reveal_rare_and_common_labels_equally(monkeypatch):
    """Topics are drawn from another stream than true labels: label d, one in ten, has .6 + .4 · .1."""
    studies = []

    def spied(*arguments):
        studies.append(plant_judges(*arguments).items)

    monkeypatch.setattr(verdict_validation, "plant_judges", spied)
    s = settings(n_items=2000, n_annotators=2, categories=4, prior=[0.4, 0.3, 0.2, 0.1])
    for seed in range(3):
        with pytest.raises(AttributeError):  # no judges: nothing is tested
            next(verdict_validation._verdicts(s, seed))
    items = pl.concat(studies)
    right = items["topic"].str.slice(1).cast(pl.Int64).replace_strict(dict(enumerate("abcd"))) == items["truth"]
    for label, prior in zip("abcd", s.prior, strict=True):
        # 600 items of the rarest: a standard error of .02.
        assert float(right.filter(items["truth"] == label).mean()) == pytest.approx(0.6 + 0.4 * prior, abs=0.07)


def test_topics_of_many_labels_are_four_ranges():
    for scale, prior, topics in ((10, [1 / 10] * 10, 10), (11, [1 / 11] * 11, 4), (Interval(0, 1), None, 4)):
        s = settings(n_items=150, categories=scale, prior=prior)
        found = plant_judges(s, 5, np.random.default_rng(6)).items["topic"]
        assert found.n_unique() == topics


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "documents", "scale", "asked"),
    [(20, None, "1-5", True), (19, None, "1-5", False), (90, 20, "1-5", True), (90, 19, "1-5", False),
     (90, None, 3, False), (90, None, Interval(0, 1), True)],
)  # fmt: skip
def test_fairness_requires_numbers_and_ten_units_per_group(items, documents, scale, asked):
    found = validate(**SMALL | {"n_items": items, "documents": documents, "categories": scale, "n_studies": 1})
    assert ({"fair", "unfair"} <= {one.judge for one in found.rates}) is asked
    units = "items" if documents is None else "documents"
    said = f"fairness is not tested: it requires an ordered scale of numbers, and 10 {units} in each of two groups"
    assert found.notes == (() if asked else (said,))


@pytest.mark.parametrize(
    ("good", "next_"), [(0.79, True), (0.8, False), (0.95, False)]
)  # no advice if a good judge can get Replace in four of five studies
def test_advice_if_good_judge_is_often_missed(good, next_):
    rates = [
        SimpleNamespace(judge=name, expected=expected, behaviour="", right=1, wrong=0, found=share, failure=share)
        for name, expected, high in (("bad", "do_not_replace", 0.1), ("good", "replace", good))
        for share in (SimpleNamespace(estimate=0.0, low=0.0, high=high),)
    ]
    sentences = VerdictValidation.sentences(SimpleNamespace(rates=rates, n_studies=200))
    assert any(line.startswith("Next:") for line in sentences) is next_


def rate(judge, expected, right, wrong, n=200):
    return JudgeRate(judge, expected, f"does {judge}", right, wrong, n, 0.95)


def test_validation_sentences_name_worst_judges():
    rates = [rate("good", "replace", 180, 0), rate("bad", "do_not_replace", 150, 4),
             rate("lazy", "do_not_replace", 120, 1), rate("copy", "match_detected", 100, 2)]  # fmt: skip
    found = VerdictValidation(tuple(rates), 200, "", None)
    lines = found.sentences()
    assert lines[0].startswith("A judge with human-level errors gets Replace in 90% [")
    assert lines[1].startswith("Of the unsuitable judges, bad (does bad) gets Replace most often: in 2% [")
    assert lines[2].startswith("The unsuitable judge detected least often is copy: in 50% [")
    assert len(lines) == 3
    none = VerdictValidation((rates[0], rate("bad", "do_not_replace", 150, 0)), 200, "", None).sentences()
    # Wilson: 0 of 200 has an upper end of z² / (n + z²) = 3.8415 / 203.84 = 1.9%.
    assert none[1] == "No unsuitable judge got Replace in 200 studies (upper limit 2% each)."
    fair = (*found.rates, rate("unfair", "unfair", 40, 3), rate("fair", "fair", 150, 10))
    rates_of_fairness = VerdictValidation(fair, 200, "", None).sentences()[3]
    assert rates_of_fairness.startswith("Fairness: the unfair judge fails in 20% [")
    assert ", and the fair judge in 5% [" in rates_of_fairness


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "requires a margin"),
        ({"expertise": "crowd", "epsilon": 0.0}, "epsilon"),
        ({"expertise": "crowd", "skew": 0.5, "prior": (0.5, 0.5)}, "both set the label distribution"),
        ({"expertise": "crowd", "document": "d"}, "names a column of a pilot"),
        ({"epsilon": 1.01}, "epsilon"),
        ({"epsilon": -0.01}, "epsilon"),
    ],
)
def test_validate_settings_reject_conflicting_options(options, words):
    with pytest.raises(DesignError, match=words):
        ValidateVerdictSettings(**options)


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({}, None),
        ({"skew": 0.4}, (0.2, 0.2, 0.2, 0.4)),
        ({"skew": 0.7, "categories": 2}, (0.3, 0.7)),
        ({"prior": (0.1, 0.9)}, (0.1, 0.9)),
    ],
)
def test_validate_settings_shares(options, shares):
    found = ValidateVerdictSettings(epsilon=0.0, **options).shares
    assert found is None if shares is None else found == pytest.approx(shares)


@pytest.mark.parametrize(
    ("judge", "verdict", "repeats", "answer"),
    [
        ("good", "replace", None, "replace"),
        ("lazy", "undecided", "ann_1", "undecided"),  # a match counts as detected only for the copy
        ("copy", "do_not_replace", "ann_1", "match_detected"),
        ("copy", "undecided", "ann_1", "match_detected"),
        ("copy", "undecided", "ann_2", "undecided"),
        ("copy", "replace", "ann_1", "replace"),
        ("copy", "do_not_replace", None, "do_not_replace"),
    ],
)
def test_verdicts_of_planted_judges(monkeypatch, judge, verdict, repeats, answer):
    studies = {
        "plant_judges": SimpleNamespace(judges=("good", "bad", "lazy", "constant", "unfair")),
        "plant_copy": SimpleNamespace(judges=("copy",)),
    }
    for name, study in studies.items():
        monkeypatch.setattr(verdict_validation, name, lambda s, seed, rng, study=study: study)
    asked = []

    def test(labels, name, **options):
        asked.append((name, labels, options))
        mine = (verdict, repeats) if name == judge else ("undecided", None)
        return SimpleNamespace(verdict=mine[0], verdict_tests=SimpleNamespace(matched_annotator=mine[1]))

    monkeypatch.setattr(verdict_validation, "alt_test", test)
    monkeypatch.setattr(verdict_validation, "without_columns", lambda study: study)
    marks = {"unfair": "✗", "good": "✓"}
    monkeypatch.setattr(verdict_validation, "fairness_mark", lambda study, judge, **options: marks[judge])
    s = settings(categories="1-5", documents=20, alpha=0.1)
    found = {name: (expected, said) for name, expected, said in verdict_validation._verdicts(s, 3)}
    # The unfair judge is not tested by the verdict, and the copy is in another study.
    assert [(name, labels) for name, labels, _ in asked] == [
        *((name, studies["plant_judges"]) for name in ("good", "bad", "lazy", "constant")),
        ("copy", studies["plant_copy"]),
    ]
    wanted = {"expertise": None, "epsilon": 0.2, "alpha": 0.1, "clusters": "document", "method": "none"}
    assert all(options == wanted for *_, options in asked)
    assert found[judge] == (PLANTED[judge][0], answer)
    assert (found["unfair"], found["fair"]) == (("unfair", "unfair"), ("fair", "fair"))
    marks |= {"unfair": "✓", "good": "?"}
    found = {name: said for name, _, said in verdict_validation._verdicts(s, 3)}
    assert (found["unfair"], found["fair"]) == ("fair", "undecided")
    assert "fair" not in {name for name, *_ in verdict_validation._verdicts(settings(categories=3), 3)}
    assert asked[-1][2]["clusters"] is None


def test_only_the_judge_of_topics_has_their_column(monkeypatch):
    """A column that predicts labels is a stratum and lowers the power: .88 instead of .92 for the good judge."""
    columns = {}

    def test(labels, name, **options):
        columns[name] = labels.items.columns
        return SimpleNamespace(verdict="undecided", verdict_tests=SimpleNamespace(matched_annotator=None))

    monkeypatch.setattr(verdict_validation, "alt_test", test)
    found = {name for name, *_ in verdict_validation._verdicts(settings(categories="1-5"), 3)}
    assert {name for name, those in columns.items() if "topic" in those} == {"constant by topic"}
    assert columns["good"] == ["item", "truth"]
    assert {"fair", "unfair"} <= found  # their groups are in the study of the card


@pytest.mark.simulation
def test_good_judge_has_the_power_of_the_plan():
    """Both commands simulate the same studies: 300 of each differ by less than 3.5 standard errors."""
    shape = {"n_annotators": 3, "categories": 3, "prior": [0.7, 0.2, 0.1], "epsilon": 0.1}
    planned = assay.plan.alt_test(n_items=[200], annotator_noise=0.3, n_studies=1000, **shape)
    found = validate(n_items=200, n_studies=300, **shape)
    power, good = planned.table["estimate"][0], found.table["estimate"][0]
    assert abs(power - good) < 3.5 * math.sqrt(power * (1 - power) * (1 / 1000 + 1 / 300))


def test_percentages_are_rounded_as_the_table():
    """.835 is a binary number below it: 0.83 in the table, not 84% in the sentence."""
    assert words.good_judge(wilson_estimate(0.835, 0.785, 0.884, 200)).endswith("in 83% [79%, 88%] of such studies.")
    assert [rounded(v) for v in (0.835, 0.785, 0.884)] == ["0.83", "0.79", "0.88"]


def test_copy_matches_guessing_annotator():
    """1,500 items with 2 of 3 labels each; a guess is right by chance, 1 in 4, other labels mostly."""
    s = settings(n_items=1500, labels_per_item=2, annotator_noise=0.2, prior=[0.25] * 4)
    labels = plant_copy(s, 2, np.random.default_rng(2))
    assert (labels.judges, labels.humans) == (("copy",), ("ann_1", "ann_2", "ann_3"))
    first, other, copy = labels.matrix(["ann_1", "ann_2", "copy"]).T
    truth = verdict_validation._positions(labels)
    known = ~np.isnan(first)
    assert 0.6 < known.mean() < 0.73
    assert (copy[known] == first[known]).all()
    assert not np.isnan(copy).any()
    assert (first[known] == truth[known]).mean() == pytest.approx(0.25, abs=0.05)
    assert (copy[~known] == truth[~known]).mean() == pytest.approx(0.25, abs=0.07)
    given = ~np.isnan(other)
    assert (other[given] == truth[given]).mean() == pytest.approx(0.8 + 0.2 / 4, abs=0.04)


def test_rates_count_right_and_opposite_verdicts(monkeypatch):
    answers = iter([
        [("good", "replace", "replace"), ("bad", "do_not_replace", "replace"), ("copy", "match_detected", "replace")],
        [("good", "replace", "do_not_replace"), ("bad", "do_not_replace", "undecided"),
         ("copy", "match_detected", "match_detected")],
        [("good", "replace", "undecided"), ("bad", "do_not_replace", "do_not_replace"),
         ("copy", "match_detected", "do_not_replace")],
    ])  # fmt: skip
    monkeypatch.setattr(verdict_validation, "_verdicts", lambda s, seed: next(answers))
    found = validate(**SMALL | {"n_studies": 3})
    rates = {one.judge: (one.right, one.wrong, one.n) for one in found.rates}
    assert (rates["good"], rates["bad"], rates["copy"]) == ((1, 1, 3), (1, 1, 3), (1, 1, 3))
    assert rates["blind"] == (0, 0, 3)
    assert found.run.facts["simulated"] == 3
    assert found.notes == (
        "fairness is not tested: it requires an ordered scale of numbers, and 10 items in each of two groups",
    )
    assert found.run.data == "none"
    unfair = iter([[("unfair", "unfair", "fair"), ("fair", "fair", "unfair")]])
    monkeypatch.setattr(verdict_validation, "_verdicts", lambda s, seed: next(unfair))
    rates = {
        one.judge: (one.right, one.wrong) for one in validate(**SMALL | {"n_studies": 1, "categories": "1-5"}).rates
    }
    assert (rates["unfair"], rates["fair"]) == ((0, 1), (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answered", "each"),
    [
        ((3, 3, 3, 2), None),  # half of the items have labels of all annotators
        ((3, 2, 2, 2), 2),
        ((3, 2, 2, 1, 1, 1), 2),  # items with one label do not show the planned number
        ((3, 3, 3, 1, 1, 1, 1), None),
        ((2, 2, 2), 2),
    ],
)
def test_labels_per_item_is_median_of_items_with_several(answered, each):
    rows = [(f"i{i}", who, 1 + (i + k) % 2) for i, n in enumerate(answered * 4) for k, who in enumerate("abc"[:n])]
    rows += [("x", "c", 1)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    pilot = Annotations.from_frame(frame, judges=[], scale="1-2")
    said = studies(pilot=pilot)
    size = f"{4 * len(answered) + 1} items, 3 annotators" + ("" if each is None else f", {each} per item")
    assert said.startswith(f"{size} with noise ")
    ones = sum(row[2] == 1 for row in rows) / len(rows)
    assert said.endswith(f", shares {ones:.2g}, {1 - ones:.2g}.")
    assert studies(pilot=pilot, skew=0.6).endswith(", shares 0.4, 0.6.")
