"""Measures against experts: ranks, differences, ceilings, sweeps, documents, what is refused."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from worlds import World, noisy, pair_values

import assay
import references
from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimate, jackknife_groups, map_estimate
from assay.ideas import validate, words
from assay.statistics.comparisons.odd_one_out import Step
from assay.statistics.comparisons.round_robin import ExpertRanks, Influence, TextVariance

QUICK = {"n_resamples": 100}
WORLD = World.of(10, 2, sharpness=0.7)
LABELS = WORLD.study(floor=8, overlap=2, judges={"gpt": noisy(WORLD, 0.2), "llama": noisy(WORLD, 2)}, repeats=3)
MEASURES = {"good": pair_values(noisy(WORLD, 0.3)), "bad": pair_values(noisy(WORLD, 4))}
FOUND = assay.validate_similarity(LABELS, MEASURES, n_resamples=300)


def row(found, name):
    return found.table.filter(pl.col("measure") == name).row(0, named=True)


def test_it_is_spearman_s_rho_of_equation_1():
    experts = assay.triplet_similarity(LABELS).table
    values = {(d, *sorted((a, b))): v for d, a, b, v in MEASURES["good"].iter_rows()}
    mine = [values[r["document"], r["first"], r["second"]] for r in experts.iter_rows(named=True)]
    assert row(FOUND, "good")["estimate"] == pytest.approx(spearmanr(experts["estimate"], mine).statistic)
    by = [
        spearmanr(
            part["estimate"], [values[r["document"], r["first"], r["second"]] for r in part.iter_rows(named=True)]
        )
        for part in experts.partition_by("document", maintain_order=True)
    ]
    assert row(FOUND, "good")["within"] == pytest.approx(np.mean([r.statistic for r in by]))
    documents = FOUND.by_document.filter(pl.col("measure") == "good")
    assert documents["estimate"].to_list() == pytest.approx([r.statistic for r in by])
    assert documents["n"].to_list() == [45, 45]


@pytest.mark.slow
def test_a_judge_is_a_measure_by_its_own_choices():
    judge = assay.triplet_similarity(LABELS, annotators=["gpt"]).table
    experts = assay.triplet_similarity(LABELS).table
    both = experts.join(judge, on=["document", "first", "second"])
    assert row(FOUND, "gpt")["estimate"] == pytest.approx(spearmanr(both["estimate"], both["estimate_right"]).statistic)
    assert row(FOUND, "gpt")["kind"] == "judge"
    without = assay.validate_similarity(LABELS, MEASURES, with_judges=False, **QUICK)
    assert "gpt" not in without.table["measure"]


def test_measures_are_sorted_by_rho_with_paired_differences():
    measures = FOUND.table.filter(pl.col("kind") != "ceiling")
    assert measures["estimate"].is_sorted(descending=True)
    assert measures["measure"].to_list()[:2] == ["gpt", "good"]
    assert FOUND.best == "gpt"
    assert FOUND.run.facts["measures"] == 4  # two judges and two given measures; baselines are not counted
    bad = row(FOUND, "bad")
    assert bad["difference"] == pytest.approx(bad["estimate"] - row(FOUND, "gpt")["estimate"])
    assert bad["difference_high"] < 0
    assert bad["difference"] - bad["difference_low"] == pytest.approx(bad["difference_high"] - bad["difference"])
    apart = FOUND.difference("gpt", "bad")
    assert (apart["difference"], apart["low"]) == pytest.approx((-bad["difference"], -bad["difference_high"]))
    assert "good − bad (" in assay.validate_similarity(LABELS, MEASURES, with_judges=False, **QUICK).summary()
    with pytest.raises(DataError, match="did you mean 'good'"):
        FOUND.difference("god", "bad")


@pytest.mark.slow
def test_paired_intervals_are_narrower_than_two_apart():
    twin = {"one": pair_values(noisy(WORLD, 0.5)), "other": pair_values(noisy(noisy(WORLD, 0.5), 0.1, seed=11))}
    found = assay.validate_similarity(LABELS, twin, with_judges=False, **QUICK)
    apart = found.difference("one", "other")
    alone = row(found, "one")
    assert apart["high"] - apart["low"] < 0.8 * (alone["high"] - alone["low"])
    assert "; not significant." in found.summary()


def test_the_order_of_values_alone_matters():
    steps = MEASURES["good"].with_columns(pl.col("value").exp().alias("value"))
    found = assay.validate_similarity(LABELS, {"good": MEASURES["good"], "steps": steps}, with_judges=False, **QUICK)
    assert row(found, "good")["estimate"] == row(found, "steps")["estimate"]
    assert row(found, "steps")["difference"] in (0.0, None)


def test_a_measure_that_says_which_document_loses_over_all_pairs_only():
    """Experts' similarities have the mean 1/3 in every document."""
    level = MEASURES["good"].with_columns(
        value=pl.col("value") + pl.when(pl.col("document") == "d0").then(50).otherwise(0)
    )
    found = assay.validate_similarity(LABELS, {"good": MEASURES["good"], "level": level}, with_judges=False, **QUICK)
    assert row(found, "level")["estimate"] < row(found, "good")["estimate"] - 0.2
    assert row(found, "level")["within"] == pytest.approx(row(found, "good")["within"])


def test_the_ceiling_is_what_other_experts_reach():
    """Halves, with the step to the whole, say what an equally large study of the same experts would have."""
    truth = WORLD.truth()
    experts = assay.triplet_similarity(LABELS).table
    other = assay.triplet_similarity(WORLD.study(floor=8, overlap=2, seed=77)).table
    both = experts.join(other, on=["document", "first", "second"])
    again = spearmanr(both["estimate"], both["estimate_right"]).statistic
    assert FOUND.ceiling["estimate"] == pytest.approx(again, abs=0.08)
    mind = spearmanr(experts["estimate"], [truth[r] for r in experts.select("document", "first", "second").iter_rows()])
    assert row(FOUND, "noise ceiling")["estimate"] == pytest.approx(mind.statistic, abs=0.06)
    # As published, bootstrap samples share judgments with what they are held against.
    assert FOUND.published_ceiling.estimate > FOUND.ceiling["estimate"]


def test_experts_who_do_not_look_have_no_ceiling_and_no_measure_is_good():
    blind = World(WORLD.names, WORLD.document, np.zeros_like(WORLD.alike))
    found = assay.validate_similarity(blind.study(floor=8, overlap=2), MEASURES, **QUICK)
    assert found.ceiling["estimate"] < 0.3
    assert found.table["low"][0] < 0 < found.table["high"][0]


@pytest.mark.slow
def test_the_best_of_many_is_said_to_be_optimistic():
    """Thirty measures of pure noise: the best looks good, and nested choice leaves little of it."""
    rng = np.random.default_rng(8)
    noise = {k: MEASURES["good"].with_columns(value=pl.Series(rng.normal(size=90))) for k in range(30)}
    found = assay.validate_similarity(LABELS, {"sweep": noise}, with_judges=False, **QUICK)
    best = found.sweeps.filter("best")
    assert found.sweeps.height == 30
    assert best["estimate"][0] == found.sweeps["estimate"].max() > 0.15
    nested = found.table.row(0, named=True)
    assert nested["kind"] == "nested choice"
    assert nested["estimate"] < best["estimate"][0] - 0.1
    assert "best of 30 settings, which is optimistic" in found.summary()


@pytest.mark.slow
def test_a_sweep_with_a_true_winner_keeps_it():
    settings = {"a": pair_values(noisy(WORLD, 0.1)), "b": pair_values(noisy(WORLD, 3, seed=6))}
    found = assay.validate_similarity(LABELS, {"sweep": settings}, with_judges=False, **QUICK)
    assert found.table["measure"][0] == "sweep a"
    assert found.table["estimate"][0] > found.sweeps["estimate"].max() - 0.03


@pytest.mark.slow
def test_a_judge_s_answers_about_pairs_are_averaged_over_repeats_and_orders():
    pairs = MEASURES["good"].with_row_index("item")
    value = (pairs["value"] - pairs["value"].min()) / (pairs["value"].max() - pairs["value"].min())
    rows = pairs.select("item", "document", first_item="first", second_item="second").with_columns(label=value)
    swapped = rows.rename({"first_item": "second_item", "second_item": "first_item"}).select(rows.columns)
    frame = pl.concat(
        [rows.with_columns(repeat=pl.lit(1)), swapped.with_columns(item=pl.col("item") + 1000, repeat=pl.lit(2))]
    ).with_columns(annotator=pl.lit("gpt4"))
    asked = assay.read(frame, scale="interval:0-1", judges=["gpt4"])
    found = assay.validate_similarity(LABELS, {"continuous": asked}, with_judges=False, **QUICK)
    assert row(found, "gpt4")["estimate"] == pytest.approx(row(FOUND, "good")["estimate"])
    assert row(found, "gpt4")["kind"] == "judge"


@pytest.mark.slow
def test_measures_with_equal_rank_share_a_position():
    found = assay.validate_similarity(LABELS, {"b": MEASURES["good"], "a": MEASURES["good"]}, **QUICK)
    assert found.table["measure"][1:3].to_list() == ["a", "b"]
    found = assay.validate_similarity(
        LABELS, {"b": MEASURES["good"], "a": MEASURES["good"]}, with_judges=False, **QUICK
    )
    assert found.table["measure"][:2].to_list() == ["a", "b"]
    assert found.table["difference"].to_list()[:2] == [None, 0.0]
    assert "b has the same ρ as a." in found.summary()


@pytest.mark.slow
def test_orders_and_constant_columns_are_not_measures():
    frame = LABELS.labels.join(LABELS.items, on="item").filter(pl.col("annotator") != "llama")
    frame = frame.with_columns(order=pl.format("{}", pl.int_range(pl.len()) % 2), prompt=pl.lit("plain"))
    labels = assay.read(
        frame, scale="odd-one-out", judges=["gpt"], conditions=["order", "prompt"], humans=["p0", "p1", "p2"],
        repeat="repeat",
    )  # fmt: skip
    found = assay.validate_similarity(labels, MEASURES, **QUICK)
    assert found.rows.filter(pl.col("kind") == "judge")["measure"].to_list() == ["gpt"]
    assert row(found, "gpt")["estimate"] == pytest.approx(row(FOUND, "gpt")["estimate"])


@pytest.mark.slow
def test_texts_that_read_differently_in_two_triplets_are_refused():
    frame = LABELS.labels.join(LABELS.items, on="item").filter(pl.col("document") == "d0")
    said = {f"t{k:02d}": f"text {k}" for k in range(10)}
    names = dict(zip(("first", "second", "third"), ("first_item", "second_item", "third_item"), strict=True))
    frame = frame.with_columns(**{c: pl.col(n).replace(said) for c, n in names.items()})
    options = {"scale": "odd-one-out", "judges": ["gpt", "llama"], "repeat": "repeat", "humans": ["p0", "p1", "p2"]}
    found = assay.validate_similarity(assay.read(frame, **options), ["characters"], with_judges=False, **QUICK)
    alike = assay.similarity_matrix([said["t00"], said["t01"]], "characters")[0, 1]
    assert 0 < alike < 1
    assert row(found, "characters")["n"] == 45
    wrong = pl.when(pl.col("item") == frame["item"][0]).then(pl.lit("else")).otherwise("first")
    name = frame["first_item"][0]
    with pytest.raises(DataError, match=f"text '{name}' has different contents in two triplets"):
        assay.validate_similarity(assay.read(frame.with_columns(first=wrong), **options), ["characters"], **QUICK)


def test_a_judge_under_two_prompts_is_two_measures():
    frame = LABELS.labels.join(LABELS.items, on="item")
    told = frame.filter(pl.col("annotator") == "gpt").with_columns(prompt=pl.lit("plain"))
    more = frame.filter(pl.col("annotator") == "llama").with_columns(
        prompt=pl.lit("with-topic"), annotator=pl.lit("gpt")
    )
    people = frame.filter(pl.col("annotator").str.starts_with("p")).with_columns(prompt=pl.lit(None, pl.String))
    both = assay.read(
        pl.concat([people, told, more]), scale="odd-one-out", judges=["gpt"], conditions=["prompt"],
        humans=["p0", "p1", "p2"],
    )  # fmt: skip
    found = assay.validate_similarity(both, **QUICK)
    apart = found.difference("gpt (prompt=with-topic)", "gpt (prompt=plain)")
    told = f"gpt (prompt=plain) − ρ of gpt (prompt=with-topic): {-apart['difference']:.2f} [{-apart['high']:.2f}, "
    assert f"Same judge: ρ of {told}" in found.summary()
    assert "choices" not in "".join(map(str, found.exclusions)), "judges are measures here, and not left out"
    assert apart["high"] < 0
    assert apart["percent"] == pytest.approx(100 * apart["difference"] / row(found, "gpt (prompt=plain)")["estimate"])
    assert apart["percent_low"] < apart["percent"] < apart["percent_high"] < 0


@pytest.mark.slow
def test_measures_of_the_texts_read_their_contents():
    texts = {"a": "red red", "b": "red blue", "c": "blue blue", "d": "green"}
    triplets = {"abc": "C", "abd": "C", "acd": "C", "bcd": "C"}
    rows = [(t, *t, *(texts[x] for x in t), label, "ann") for t, label in triplets.items()]
    names = ["item", "first_item", "second_item", "third_item", "first", "second", "third", "label", "annotator"]
    labels = assay.read(pl.DataFrame(rows, schema=names, orient="row"), scale="odd-one-out", humans=["ann"])
    calls: list[list[str]] = []

    class Counting:
        name = "counting"

        def matrix(self, given):
            calls.append(list(given))
            return np.array([[len({*a.split()} & {*b.split()}) for a in given] for b in given], dtype=float)

        def __call__(self, a, b):
            raise AssertionError("pairs one by one, where all can be had at once")

    found = assay.validate_similarity(labels, ["words", Counting()], **QUICK)
    assert set(found.table["measure"][:2].to_list()) == {"words", "counting"}
    assert calls == [["red red", "red blue", "blue blue", "green"]], "each text once"
    bare = assay.read(pl.DataFrame(rows, schema=names, orient="row").drop("first"), scale="odd-one-out", humans=["ann"])
    with pytest.raises(DesignError, match="reads the texts; name the three columns"):
        assay.validate_similarity(bare, "words")


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        (None, "validate_similarity needs measures"),
        ("rouge", "did you mean 'rouge-"),
        ({"x": 3}, "measure 'x' is int; give a name"),
        ({"x": {("t00", "other"): 1.0}}, "has no value for any of the 90 pairs"),
        ({"x": pl.DataFrame({"first": ["a"], "value": [1]})}, "needs columns 'first', 'second' and one of numbers"),
        ({"x": {("t00", "t01"): 1.0, ("t01", "t00"): 2.0}}, "two values for"),
        (["words", "words"], "two measures are called 'words'"),
    ],
)
def test_what_is_no_measure_is_refused(measures, words):
    with pytest.raises((DesignError, DataError), match=words):
        assay.validate_similarity(LABELS, measures, with_judges=False, **QUICK)


def test_a_measure_that_is_the_same_everywhere_has_no_rho_and_a_reason():
    flat = MEASURES["good"].with_columns(value=pl.lit(1.0))
    found = assay.validate_similarity(LABELS, {"good": MEASURES["good"], "flat": flat}, with_judges=False, **QUICK)
    assert np.isnan(row(found, "flat")["estimate"])
    assert row(found, "flat")["reason"] == "all pairs have the same value"


def test_pairs_that_a_measure_does_not_know_are_counted():
    some = MEASURES["good"].head(60)
    found = assay.validate_similarity(LABELS, {"good": MEASURES["bad"], "some": some}, with_judges=False, **QUICK)
    assert "30 pairs: no value of a measure ('some' has 60)" in found.summary()
    assert found.table["n"][0] == 60


def test_pairs_under_the_floor_are_counted():
    """Pairs that were compared less often than the floor, counted by hand; the others rank as themselves."""
    labels = World.of(7, sharpness=1).study(floor=2)
    drawn = labels.labels.join(labels.items, on="item")
    seen = references.triplet_similarity(
        ((row["first_item"], row["second_item"], row["third_item"]), "ABC".index(row["label"]))
        for row in drawn.iter_rows(named=True)
    )
    few = sum(number < 3 for _, number in seen.values())
    assert 0 < few < len(seen)
    values = {pair: kept / number for pair, (kept, number) in seen.items()}
    found = assay.validate_similarity(labels, {"itself": values}, floor=3, with_judges=False, **QUICK)
    (gone,) = found.exclusions
    assert str(gone).startswith(f"{few} pairs: compared fewer than 3 times")
    assert row(found, "itself")["n"] == len(seen) - few
    assert row(found, "itself")["estimate"] == pytest.approx(1)


# -- intervals ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_over_the_same_texts_hold_the_truth():
    """New judgments of one world: too wide rather than too narrow."""
    world = World.of(12, sharpness=0.4)
    measure = {"good": pair_values(noisy(world, 0.7))}
    found = [
        assay.validate_similarity(world.study(floor=3, seed=seed), measure, n_resamples=20).table.row(0, named=True)
        for seed in range(40)
    ]
    true = np.mean([row["estimate"] for row in found])
    held = np.mean([row["same_texts_low"] <= true <= row["same_texts_high"] for row in found])
    assert held >= 0.92
    width = np.mean([row["same_texts_high"] - row["same_texts_low"] for row in found]) / 3.92
    assert width < 2.2 * np.std([row["estimate"] for row in found])


@pytest.mark.slow
def test_intervals_over_new_texts_hold_the_truth():
    """New texts of one kind, each with experts of their own: .93 to .98 from 15 texts on (docs/coverage.md)."""
    found = []
    for seed in range(60):
        world = World.of(15, sharpness=0.5, seed=seed)
        measure = {"good": pair_values(noisy(world, 0.5, seed=seed))}
        one = assay.validate_similarity(world.study(floor=4, seed=seed % 4), measure, n_resamples=20)
        found.append(one.table.row(0, named=True))
    true = np.mean([row["estimate"] for row in found])
    held = np.mean([row["low"] <= true <= row["high"] for row in found])
    assert 0.9 <= held <= 1


def test_groups_that_are_left_out_make_an_interval_at_any_level():
    without = np.array([0.2, 0.5, 0.4, 0.1, 0.3])  # squares of 0.01 + 0.04 + 0.01 + 0.04 + 0 around 0.3
    error = math.sqrt(4 / 5 * 0.1)
    found = jackknife_groups(0.35, without, 0.95)
    assert (found.low, found.high) == pytest.approx((0.35 - 2.7764451 * error, 0.35 + 2.7764451 * error))  # t(4)
    assert found.interval(0.5) == pytest.approx((0.35 - 0.7406971 * error, 0.35 + 0.7406971 * error))
    assert found.p(0.35 + 2.7764451 * error) == pytest.approx(0.05)
    same = jackknife_groups(0.35, np.full(5, 0.35), 0.95)
    assert (same.reason, math.isnan(same.low)) == ("every group of judgments gives the same value", True)


def test_a_function_of_an_estimate_moves_its_ends_and_brings_a_null_back():
    one = jackknife_groups(0.35, np.array([0.2, 0.5, 0.4, 0.1, 0.3]), 0.95)
    found = map_estimate(one, np.tanh, np.arctanh, slope=1 - math.tanh(0.35) ** 2)
    assert found.estimate == pytest.approx(math.tanh(0.35))
    for level, ends in ((0.95, (one.low, one.high)), (0.5, one.interval(0.5))):
        assert found.interval(level) == pytest.approx(np.tanh(ends))
        assert [found.p(end) for end in found.interval(level)] == pytest.approx([1 - level] * 2)
    assert math.isnan(found.p(1.0))
    assert found.standard_error == pytest.approx(one.standard_error * (1 - math.tanh(0.35) ** 2))


def test_interval_end_has_p_value_of_1_minus_level():
    found = assay.plan.judgments(World.of(8, sharpness=1).study(floor=6, overlap=2), n_splits=20, sizes=(500,))
    stepped = found.at(judgments=500)
    for level in (0.9, 0.6):
        assert [stepped.p(end) for end in stepped.interval(level)] == pytest.approx([1 - level] * 2)
    assert stepped.p(stepped.estimate) == 1
    assert math.isnan(stepped.p(0.0))


# -- ceilings and contrasts, by hand ------------------------------------------------------------------


ROBIN = FOUND.inference.robin
"""Two documents of ten texts, each of 90 pairs compared."""

STEP = Step(halves=0.5, again=0.7, mind=0.8)


def influence(value, error=0.1, shape=None):
    """A statistic of these pairs, with this standard error over new texts."""
    nothing = np.zeros(len(ROBIN))
    one = Influence(value, ROBIN.centre(np.linspace(-1, 1, len(ROBIN)) if shape is None else shape), *[nothing] * 3)
    return Influence(value, one.pair * error / math.sqrt(ROBIN.variance(one).total), *[nothing] * 3)


def ceiling_of(halves, share, error=0.1):
    return validate.Ceiling.of(halves, STEP, influence(share, error), ROBIN, 0.95)


def test_a_ceiling_has_its_interval_on_fishers_scale():
    found = ceiling_of(0.4, 0.6)
    again = STEP.again_from(0.4)
    width, t = 0.1 / (1 - 0.36), 2.2621572  # t(9): half of twice ten texts less one
    ends = [math.tanh(math.atanh(again) + side * t * width) for side in (-1, 1)]
    assert (found.again.estimate, found.best.estimate) == (again, STEP.best_from(again))
    assert (found.again.low, found.again.high) == pytest.approx(ends)
    assert (found.best.low, found.best.high) == pytest.approx([STEP.best_from(end) for end in ends])
    assert found.again.standard_error == pytest.approx(width * (1 - again**2))
    assert [found.again.p(end) for end in ends] == pytest.approx([0.05, 0.05])
    assert [found.best.p(STEP.best_from(end)) for end in ends if end > 0] == pytest.approx([0.05] * 2, abs=1e-4)
    assert math.isnan(found.again.p(1.0))
    assert [math.isnan(found.best.p(null)) for null in (0.0, 1.0)] == [True, True]


def test_the_best_moves_with_what_halves_show_to_first_order():
    """Two methods: the chain rule, and the ceiling a little further up on Fisher's scale."""
    for share in (0.6, -0.5):
        found = ceiling_of(0.4, share)
        h = 1e-6 / (1 - share**2)
        z = math.atanh(STEP.again_from(0.4))
        slope = (STEP.best_from(math.tanh(z + h)) - STEP.best_from(math.tanh(z - h))) / 2e-6
        assert found.mind.value == found.best.estimate
        assert found.mind.pair == pytest.approx(slope * influence(share).pair, rel=1e-5)
        assert found.best.standard_error == pytest.approx(slope * 0.1, rel=1e-5)


@pytest.mark.parametrize(("share", "within"), [(1.0, 0.99), (-1.0, -0.99), (0.995, 0.99), (-0.999, -0.99)])
def test_halves_that_are_all_alike_leave_an_interval(share, within):
    found, wanted = ceiling_of(0.4, share), ceiling_of(0.4, within)
    assert (found.again.low, found.again.high) == (wanted.again.low, wanted.again.high)
    assert (found.mind.pair == wanted.mind.pair).all()


def test_a_ceiling_without_halves_or_variance_says_why():
    assert ceiling_of(math.nan, 0.6).again.reason == "too few judgments to be halved"
    unknown = ceiling_of(0.4, math.nan)
    assert unknown.again.estimate == STEP.again_from(0.4)
    assert (
        unknown.best.reason == "no pair was compared twice, so that chance is not separable from the experts' agreement"
    )
    assert math.isnan(ceiling_of(0.4, 0.6, error=0.0).again.low)


@pytest.mark.parametrize(
    ("low", "high", "demonstrated", "low_agreement"),
    [(0.01, 0.6, True, False), (0.0, 0.3, False, False), (-0.1, 0.29, False, True), (0.05, 0.2, True, True)],
)
def test_agreement_demonstrated_above_0_and_low_below_3_tenths(low, high, demonstrated, low_agreement):
    one = Estimate(0.1, low, high, 0.05)
    found = validate.Ceiling(one, one, None)
    assert (found.demonstrated, found.low_agreement) == (demonstrated, low_agreement)


def parts(variance, texts=17):
    """A variance with the degrees of freedom of so many texts of one document: t(8) for 17."""
    return TextVariance(0.0, variance, 0.0, np.array([texts]))


def test_a_contrast_is_symmetric_and_its_variance_is_made_where_none_is_given():
    inference = validate.TextInference(ROBIN, 0.95)
    t = 2.2621572  # t(9)
    found = inference.difference(influence(0.3))
    assert (found.low, found.high) == pytest.approx((0.3 - t * 0.1, 0.3 + t * 0.1))
    assert found.p(0.3 + t * 0.1) == pytest.approx(0.05)
    wide = inference.difference(influence(0.3), parts(0.04))
    assert (wide.low, wide.high) == pytest.approx((0.3 - 2.3060041 * 0.2, 0.3 + 2.3060041 * 0.2))
    assert inference.lower(influence(0.3)) == pytest.approx(0.3 - 1.8331129 * 0.1)  # one-sided, t(9)
    assert inference.difference(influence(0.3), parts(0.0)).reason == "no variance"


def test_a_correlation_is_symmetric_on_fishers_scale_and_may_be_shifted():
    inference = validate.TextInference(ROBIN, 0.95)

    def correlated(value, variance=0.01, shift=0.0):
        return inference.correlation(influence(value), parts(variance), shift=shift)

    width = 2.3060041 * 0.1 / (1 - 0.25)
    ends = [math.tanh(math.atanh(0.5) + side * width) for side in (-1, 1)]
    assert (correlated(0.5).low, correlated(0.5).high) == pytest.approx(ends)
    moved = correlated(0.5, shift=0.2)
    assert (moved.estimate, moved.low, moved.high) == pytest.approx((0.3, ends[0] - 0.2, ends[1] - 0.2))
    assert moved.p(ends[1] - 0.2) == pytest.approx(0.05)
    assert math.isnan(moved.p(0.8))
    assert correlated(math.nan).reason == "all pairs have the same value"
    alike = "it ranks all pairs exactly as these judgments do"
    reasons = [correlated(*one).reason for one in ((0.99995,), (-0.99995,), (0.5, 0.0), (0.9999,))]
    assert reasons == [alike] * 3 + [None]


def measures(*rows):
    """Measures with their ρ, each compared with the first one's of .5."""
    return pl.DataFrame(
        [(name, kind, value, value - 0.5, -0.2, 0.1) for name, kind, value in rows],
        schema=["measure", "kind", "estimate", "difference", "difference_low", "difference_high"], orient="row",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([("b", "judge", 0.4), ("c", "judge", 0.3), ("d", "lexical", 0.2), ("e", "lexical", 0.1)], "bd"),
        ([("b", "lexical", 0.4), ("c", "judge", 0.3), ("d", "lexical", 0.2)], "b"),
        ([("b", "judge", math.nan), ("c", "judge", 0.3), ("d", "judge", 0.2)], "c"),
        ([], ""),
    ],
)
def test_the_best_measure_is_held_against_the_next_and_the_next_of_another_kind(rows, named):
    found = measures(("a", "judge", 0.5), *rows)
    others = found.slice(1).filter(pl.col("estimate").is_not_nan())
    lines = list(words.comparison_lines(found.row(0, named=True), others))
    assert [line.split(" − ")[1][0] for line in lines] == list(named)


@pytest.mark.parametrize(
    ("low", "high", "line"),
    [
        (-0.2, -0.05, "a − b (0.40): 0.10 [0.05, 0.20]; significant."),
        (-0.2, 0.0, "a − b (0.40): 0.10 [0.00, 0.20]; not significant."),
        (-0.3, 0.1, "a − b (0.40): 0.10 [−0.10, 0.30]; not significant."),
    ],
)
def test_measure_difference_significant_if_interval_excludes_0(low, high, line):
    found = measures(("a", "judge", 0.5), ("b", "judge", 0.4)).with_columns(
        difference_low=pl.lit(low), difference_high=pl.lit(high)
    )
    assert list(words.comparison_lines(found.row(0, named=True), found.slice(1))) == [line]


# -- sweeps and documents, computed directly ---------------------------------------------------------------


def rho(one, other):
    return math.nan if np.ptp(one) == 0 or np.ptp(other) == 0 else float(spearmanr(one, other).statistic)


def by_pair(robin, measures):
    """Values of measures for each compared pair, (measures, pairs)."""
    number = np.arange(len(robin.document)) - np.searchsorted(robin.document, robin.document)
    of = [(f"d{robin.document[a]}", *(f"t{number[i]:02d}" for i in sorted((a, b))))
          for a, b in zip(robin.first, robin.second, strict=True)]  # fmt: skip
    known = [{(d, *sorted((a, b))): v for d, a, b, v in one.iter_rows()} for one in measures]
    return np.array([[one[pair] for pair in of] for one in known])


def optimism(found, settings, *, whole):
    """What choice on one half loses on the other, the mean of both directions of 50 splits; noise is 1 / √pairs."""
    robin = found.inference.robin
    values, rng = by_pair(robin, settings), np.random.default_rng((0, 1))
    lost, sizes = [], []
    for _ in range(50):
        if whole:
            half = (rng.permutation(robin.n_documents) % 2 == 0)[robin.of_pair]
            halves = half, ~half
        else:
            half = rng.permutation(len(robin.document)) % 2 == 0
            halves = half[robin.first] & half[robin.second], ~half[robin.first] & ~half[robin.second]
        if min(part.sum() for part in halves) < 3:
            continue
        here, there = (np.array([rho(robin.share[part], one[part]) for one in values]) for part in halves)
        lost += [here[np.nanargmax(here)] - there[np.nanargmax(here)]]
        lost += [there[np.nanargmax(there)] - here[np.nanargmax(there)]]
        sizes.append(sum(part.sum() for part in halves) / 2)
    return max(np.nanmean(lost) * math.sqrt(np.mean(sizes) / len(robin)), 0.0)


def noise(pairs, n, seed=5):
    rng = np.random.default_rng(seed)
    return [pairs.with_columns(value=pl.Series(rng.normal(size=pairs.height))) for _ in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize(("world", "whole"), [(WORLD, False), (World.of(6, 6), True), (World.of(6, 5), False)])
def test_what_is_lost_by_choosing_the_best_of_a_sweep_is_scaled_to_all_pairs(world, whole):
    """Six documents are halved whole, fewer by their texts; one setting ranks the pairs of some halves alone."""
    pairs = pair_values(world)
    some = pairs.with_columns(value=pl.when(pl.int_range(pl.len()) < 4).then(-pl.int_range(pl.len())).otherwise(0.0))
    settings = [some, *noise(pairs, 3)]
    found = assay.validate_similarity(
        world.study(floor=4, overlap=2), {"x": dict(enumerate(settings)), "y": noise(pairs, 1, seed=9)[0]}, **QUICK
    )
    nested = found.rows.filter(pl.col("kind") == "nested choice").row(0, named=True)
    best = found.sweeps.filter("best").row(0, named=True)
    assert found.sweeps.height == 4
    assert best["estimate"] == found.sweeps["estimate"].max()
    lost = optimism(found, settings, whole=whole)
    assert lost > 0
    assert best["estimate"] - nested["estimate"] == pytest.approx(lost)


@pytest.mark.parametrize(("texts", "told"), [(6, True), (5, False)])
def test_halves_of_three_pairs_say_what_is_lost_and_smaller_ones_nothing(texts, told):
    world = World.of(texts)
    settings = dict(enumerate(noise(pair_values(world), 4)))
    found = assay.validate_similarity(world.study(floor=3, overlap=2), {"x": settings}, **QUICK)
    lost = found.sweeps.filter("best")["estimate"][0] - found.measures["estimate"][0]
    assert (lost > 0) is told


@pytest.mark.slow
def test_a_setting_that_does_not_vary_is_never_the_best():
    flat = MEASURES["good"].with_columns(value=pl.lit(1.0))
    away = MEASURES["good"].with_columns(value=-pl.col("value"))
    found = assay.validate_similarity(LABELS, {"x": {"flat": flat, "away": away}}, with_judges=False, **QUICK)
    (best,) = found.sweeps.filter("best").iter_rows(named=True)
    assert best["measure"].endswith("away")
    assert best["estimate"] < 0
    nested = found.measures.row(0, named=True)
    assert (nested["estimate"], nested["kind"]) == (best["estimate"], "nested choice")


def test_the_mean_within_documents_has_the_mean_of_their_variances_over_their_number():
    """Texts, pairs and choices of both documents are a quarter of their sums; t has 9 degrees of freedom."""
    for name, values in zip(MEASURES, by_pair(ROBIN, MEASURES.values()), strict=True):
        parts, each = [], []
        for d in range(2):
            one, mine = ROBIN.restricted(d)
            of = ExpertRanks(one).influence(values[mine])
            parts.append(one.variance(of))
            each.append(of.value)
        variance = max(sum(v.text for v in parts), 0) + sum(v.pair + v.choice for v in parts)
        width = 2.2621572 * math.sqrt(variance / 4) / (1 - np.mean(each) ** 2)
        ends = [math.tanh(math.atanh(np.mean(each)) + side * width) for side in (-1, 1)]
        found = row(FOUND, name)
        assert found["within"] == pytest.approx(np.mean(each))
        assert [found["within_low"], found["within_high"]] == pytest.approx(ends, rel=1e-5)


@pytest.mark.slow
def test_the_mean_within_documents_is_of_those_in_which_a_measure_varies():
    """With one document there is no mean."""
    level = MEASURES["good"].with_columns(
        value=pl.when(pl.col("document") == "d0").then(1.0).otherwise(pl.col("value"))
    )
    apart = MEASURES["good"].with_columns(value=pl.when(pl.col("document") == "d0").then(1.0).otherwise(0.0))
    found = assay.validate_similarity(LABELS, {"level": level, "apart": apart}, with_judges=False, **QUICK)
    alone = found.by_document.filter((pl.col("measure") == "level") & (pl.col("document") == "d1")).row(0, named=True)
    assert row(found, "level")["within"] == pytest.approx(alone["estimate"])
    assert row(found, "level")["within_low"] == pytest.approx(alone["low"])
    assert np.isnan(row(found, "apart")["within"])
    small = World.of(4)
    one = assay.validate_similarity(small.study(floor=2), {"good": pair_values(small)}, **QUICK)
    assert row(one, "good")["within"] is None


@pytest.mark.slow
def test_a_difference_is_less_by_what_choosing_gave_either():
    settings = {
        "a": pair_values(noisy(WORLD, 2)),
        "b": noise(MEASURES["good"], 1)[0],
        "c": noise(MEASURES["good"], 1, 6)[0],
    }
    flat = MEASURES["good"].with_columns(value=pl.lit(1.0))
    given = {"good": MEASURES["good"], "flat": flat, "x": settings}
    found = assay.validate_similarity(LABELS, given, with_judges=False, **QUICK)
    nested = found.rows.filter(pl.col("kind") == "nested choice").row(0, named=True)
    best = found.sweeps.filter("best").row(0, named=True)
    raw = found.difference(nested["measure"], "good")
    lost = best["estimate"] - nested["estimate"]
    assert lost > 0
    assert nested["difference"] == pytest.approx(nested["estimate"] - row(found, "good")["estimate"])
    assert nested["difference_low"] == pytest.approx(raw["low"] - lost)
    assert nested["difference_high"] == pytest.approx(raw["high"] - lost)
    assert row(found, "good")["difference"] is row(found, "flat")["difference"] is None


@pytest.mark.slow
def test_a_sweep_is_permuted_as_the_best_of_its_settings_and_what_does_not_vary_sees_nothing():
    """The same permutations: a setting twice has the p of one, and of two it is more often as good as the best."""
    one, other = noise(MEASURES["good"], 2, seed=4)
    flat = MEASURES["good"].with_columns(value=pl.lit(1.0))
    alone = assay.validate_similarity(LABELS, {"a": one, "b": other, "flat": flat}, with_judges=False, n_resamples=999)
    p = {name: row(alone, name)["p"] for name in ("a", "b")}
    assert row(alone, "flat")["p"] == 1
    top = max(p, key=lambda name: row(alone, name)["estimate"])
    twice = assay.validate_similarity(LABELS, {"x": {"a": one, "b": one}}, with_judges=False, n_resamples=999)
    assert twice.measures["p"][0] == p["a"]
    both = assay.validate_similarity(LABELS, {"x": {"a": one, "b": other}}, with_judges=False, n_resamples=999)
    assert p[top] < both.measures["p"][0] < 2.5 * p[top]


def test_percent_of_another_rho_to_first_order():
    """ρ of .6 and .5: 20%, with the errors of the one / .5 minus those of the other · .6 / .25."""
    rng = np.random.default_rng(2)
    known = {
        name: influence(value, error, shape=rng.normal(size=len(ROBIN)))
        for name, value, error in (("one", 0.6, 0.1), ("other", 0.5, 0.1), ("none", 0.1, 0.2), ("less", -0.5, 0.1))
    }
    made = dataclasses.replace(FOUND, influences=known)
    found = made.difference("one", "other")

    def half(first, second):
        both = Influence(0.0, first * known["one"].pair - second * known["other"].pair, *[np.zeros(len(ROBIN))] * 3)
        return 2.2621572 * math.sqrt(ROBIN.variance(both).total)  # t(9)

    assert [found["percent"], found["percent_low"], found["percent_high"]] == pytest.approx(
        [20, 20 - 100 * half(2, 2.4), 20 + 100 * half(2, 2.4)], rel=1e-5
    )
    assert found["difference"] == pytest.approx(0.1)
    assert found["high"] - found["difference"] == pytest.approx(half(1, 1))
    nothing = made.difference("one", "none")
    assert math.isnan(nothing["percent"])
    assert math.isnan(nothing["percent_low"])
    assert made.difference("one", "less")["percent"] == pytest.approx(220)  # 1.1 more than −.5, of .5


def test_the_best_of_many_measures_is_not_valid_by_chance():
    """Eight measures at .88 of the ceiling: one alone is valid in an eighth of the cases, the best of them is not."""
    world = World.of(15, 1, sharpness=0.7, seed=2)
    alone, together = 0, 0
    for seed in range(3):
        study = world.study(floor=6, seed=seed)
        each = {f"m{k}": pair_values(noisy(world, 0.4, seed=10 * seed + k)) for k in range(8)}
        for name, values in each.items():
            alone += assay.validate_similarity(study, {name: values}, n_resamples=100).verdicts[name].verdict == "valid"
        found = assay.validate_similarity(study, each, n_resamples=400).verdicts
        together += sum(one.verdict == "valid" for one in found.values())
    assert alone >= 3
    assert together == 0
