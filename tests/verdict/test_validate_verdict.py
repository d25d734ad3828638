"""Studies of a shape with planted judges: what is counted, what a pilot says, and that useless judges stay out."""

import json

import numpy as np
import polars as pl
import pytest

from assay import validate
from assay.cli.app import main
from assay.errors import DesignError
from assay.simulation import simulate
from assay.verdict.validate import BAD, PLANTED, JudgeRate, ValidateVerdictSettings, _planted, _shape_of_pilot

SMALL = {"n_items": 40, "n_annotators": 3, "epsilon": 0.2, "n_studies": 6}


def settings(**given):
    return ValidateVerdictSettings(**{**SMALL, **given})


def test_the_judges_are_what_they_are_said_to_be():
    """2,000 items: shares of labels that are the truth's, under p = noise · prior + (1 − noise)."""
    s = settings(n_items=2000, n_annotators=2, scale=2, skew=0.7, annotator_noise=0.2)
    labels = _planted(s, 5, np.random.default_rng(5))
    truth = labels.items.sort("item")["truth"]
    given = {name: labels.where(annotator=name).labels.sort("item")["label"] for name in labels.judges}
    right = {name: float((label == truth).mean()) for name, label in given.items()}
    chance = 0.7**2 + 0.3**2
    assert right["good"] == pytest.approx(0.8 + 0.2 * chance, abs=0.03)
    assert right["bad"] == pytest.approx(BAD * 0.8 + (1 - BAD * 0.8) * chance, abs=0.04)
    assert right["constant"] == pytest.approx(0.7, abs=0.03)
    assert right["lazy"] > right["constant"]
    assert right["blind"] == pytest.approx(chance, abs=0.04)
    assert set(given["constant"]) == {"b"}
    both = labels.items.with_columns(label=given["constant by topic"])
    assert both.group_by("topic").agg(pl.col("label").n_unique())["label"].to_list() == [1, 1]


def test_the_unfair_judge_is_a_point_stricter_with_one_group_only():
    labels = _planted(settings(n_items=400, scale="1-9"), 1, np.random.default_rng(1))
    good, unfair = (labels.where(annotator=name).labels.sort("item")["label"].to_numpy() for name in ("good", "unfair"))
    group = labels.items.sort("item")["group"].to_numpy()
    assert (unfair[group == "a"] == good[group == "a"]).all()
    assert (unfair[group == "b"] == np.maximum(good[group == "b"] - 1, 1)).all()


def test_useless_judges_stay_out_and_a_good_one_gets_in_where_the_study_is_large_enough():
    found = validate(n_items=150, n_annotators=5, scale="1-5", epsilon=0.2, n_studies=12, seed=1, annotator_noise=0.2)
    rows = {row["judge"]: row for row in found.table.iter_rows(named=True)}
    assert set(rows) == set(PLANTED)
    assert rows["good"]["estimate"] >= 0.75
    assert sum(rows[name]["wrong"] for name in PLANTED) == 0
    assert rows["constant"]["estimate"] == 1
    assert rows["copy"]["estimate"] == 1
    assert rows["unfair"]["estimate"] >= 0.6
    words = found.summary()
    assert "150 items, 5 people with noise 0.20, labels a whole number from 1 to 5" in words
    assert "No judge that should not was let in: each is in less than 24%." in words
    assert "Next:" not in words


def test_shares_and_their_intervals_by_hand():
    # 6 of 8 right: Wilson .409 to .929.
    one = JudgeRate("good", "replace", "", 6, 1, 8, 0.95)
    assert (one.found.estimate, one.found.low, one.found.high) == pytest.approx((0.75, 0.4093, 0.9285), abs=1e-4)
    assert one.amiss.estimate == 1 / 8


def test_the_same_seed_gives_the_same_studies_and_a_budget_stops():
    kept = validate(**SMALL, scale="1-5", seed=4)
    assert kept.table.equals(validate(**SMALL, scale="1-5", seed=4).table)
    seen = []
    stopped = validate(**SMALL, seconds=1e-6, progress=lambda what, done, steps: seen.append((what, done, steps)))
    assert stopped.n_studies == 1
    assert seen == [("Simulating", 1, 6)]
    assert "Stopped after 1e-06 seconds, with 1 of 6 studies" in stopped.summary()
    assert "fairness is not asked" in stopped.notes[1]  # letters have no order
    assert {row.judge for row in stopped.rates} == set(PLANTED) - {"fair", "unfair"}


def test_a_pilot_gives_the_shape():
    """Items, people, labels an item, shares and the noise that was put in come out of 3,000 items."""
    pilot = simulate(3000, 4, scale="1-3", prior=(0.2, 0.3, 0.5), annotator_noise=0.35, labels_per_item=3, documents=60,
                     seed=2)  # fmt: skip
    s, name = _shape_of_pilot(ValidateVerdictSettings(pilot=pilot, epsilon=0.1, document="document", n_annotators=6))
    assert name == pilot.fingerprint
    assert (s.n_items, s.n_annotators, s.labels_per_item, s.documents) == (3000, 6, 3, 60)
    assert s.prior == pytest.approx((0.2, 0.3, 0.5), abs=0.03)
    assert s.annotator_noise == pytest.approx(0.35, abs=0.03)
    found = validate(pilot=pilot.where(item=pilot.items["item"].head(40).to_list()), epsilon=0.2, n_studies=1)
    assert "40 items, 4 people, 3 an item with noise 0." in found.summary()
    assert found.run.data == found.settings.pilot


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": None}, "a verdict needs to know whom the judge would replace"),
        ({"expertise": "crowd"}, "give one"),
        ({"skew": 0.5, "prior": (0.5, 0.5)}, "skew=... and prior=... both say how common labels are"),
        ({"document": "lesson"}, "document=... names a column of a pilot"),
        ({"labels_per_item": 4}, "4 people cannot label each item where there are 3"),
        ({"n_items": 5}, "n_items"),
        ({"skew": 0.5, "scale": "interval:0-1"}, "skew=... needs categories"),
        ({"prior": (0.5, 0.4), "scale": 2}, "add up to 1"),
        ({"pilot": "labels.csv"}, "read the file with assay.read"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(options, words):
    with pytest.raises(DesignError, match=words.replace("(", r"\(")):
        validate(**{**SMALL, **options})


def test_a_pilot_that_shows_nothing_is_refused():
    one = simulate(20, 1, scale="1-5", seed=1)
    with pytest.raises(DesignError, match="a pilot shows how people agree, and this one has 1"):
        validate(pilot=one, epsilon=0.1)
    same = simulate(20, 3, scale=2, prior=(1.0, 0.0), seed=1)
    with pytest.raises(DesignError, match="people give one label only in this pilot"):
        validate(pilot=same, epsilon=0.1)
    several = simulate(20, 3, scale=2, criteria=["a", "b"], seed=1)
    with pytest.raises(DesignError, match="a pilot has one question; this one has 2"):
        validate(pilot=several, epsilon=0.1)
    with pytest.raises(DesignError, match="has no labels that could be counted"):
        validate(pilot=simulate(20, 3, scale="interval:0-1", seed=1), epsilon=0.1)


def test_the_command_simulates_a_shape_or_that_of_a_file(tmp_path, capsys):
    words = ["validate", "--n-items", "30", "--n-annotators", "3", "--n-studies", "2", "--expertise", "crowd"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--categories", "2", "--skew", "0.8", "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["skew"] == 0.8
    assert [row["n"] for row in told["table"]] == [2] * 7
    simulate(30, 3, scale="1-5", seed=1).labels.write_csv(tmp_path / "pilot.csv")
    with pytest.raises(SystemExit) as ended:
        main(["validate", "--pilot", str(tmp_path / "pilot.csv"), "--scale", "1-5", "--judges", "judge",
              "--n-studies", "1", "--epsilon", "0.2"])  # fmt: skip
    assert ended.value.code == 0
    assert "30 items, 3 people with noise" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main([*words, "--scale", "1-5"])
    assert ended.value.code == 2
    assert "the scale is --categories" in capsys.readouterr().err
