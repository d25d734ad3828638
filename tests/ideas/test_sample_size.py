"""How many judgments are enough: the plan's promise kept, the curve, the numbers needed, what is refused."""

from __future__ import annotations

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from worlds import World

import assay
import references
from assay.errors import DesignError
from assay.ideas import sample_size
from assay.reporting.tables import interval, said
from assay.statistics.comparisons.odd_one_out import PairChoices


@pytest.mark.slow
def test_truth_is_recovered_at_the_floor_that_the_plan_names():
    """Studies simulated apart from the planner, at the floor that it names, rank pairs as the truth does."""
    plan = assay.plan.triplets(12, agreement=0.62, floors=(3, 10, 20, 40), n_studies=60, seed=3)
    row = plan.smallest
    assert row["floor"] > 3
    found = []
    for seed in range(12):
        world = World.of(12, sharpness=0.45, seed=50 + seed)
        labels = world.study(floor=-(-row["floor"] // row["overlap"]), overlap=row["overlap"], people=4, seed=seed)
        truth = world.truth()
        table = assay.triplet_similarity(labels).table
        wanted = [truth[r] for r in table.select(pl.lit("d0"), "first", "second").iter_rows()]
        found.append(spearmanr(table["estimate"], wanted).statistic)
    assert np.mean(found) > 0.9
    assert np.mean(np.array(found) > 0.88) >= 0.8


@pytest.mark.slow
def test_more_comparisons_and_more_agreement_reach_more():
    few = assay.plan.triplets(8, agreement=0.5, floors=(2, 12), n_studies=40)
    many = assay.plan.triplets(8, agreement=0.75, floors=(2, 12), n_studies=40)
    assert few.table["rho"].is_sorted()
    assert (many.table["rho"] > few.table["rho"]).all()
    assert few.table["overlap"].to_list() == [1, 2]
    assert few.smallest is None
    assert "None of these numbers reaches" in few.summary()


@pytest.mark.slow
def test_a_pilot_gives_its_agreement():
    labels = World.of(9, sharpness=1).study(floor=4, overlap=2)
    pilot = assay.plan.triplets(9, pilot=labels, floors=(2,), n_studies=20)
    agreed = assay.odd_one_out_agreement(labels, who=["humans"]).humans["agreement"]
    assert pilot.run.settings.agreement == pytest.approx(agreed)
    assert "Based on the agreement of the pilot, as if it were exact, so no interval." in pilot.summary()
    with pytest.raises(DesignError, match="both set the agreement of the experts"):
        assay.plan.triplets(pilot=labels, agreement=0.5)


@pytest.mark.slow
def test_judgments_estimate_correlation_with_as_many_others():
    world = World.of(10, sharpness=0.6)
    labels = world.study(floor=8, overlap=2)
    found = assay.plan.judgments(labels, n_splits=60)
    at = found.table.filter(pl.col("judgments") == len(labels)).row(0, named=True)
    again = []
    first = assay.triplet_similarity(labels).table
    for seed in range(1, 6):
        other = assay.triplet_similarity(world.study(floor=8, overlap=2, seed=seed)).table
        both = first.join(other, on=["first", "second"])
        again.append(spearmanr(both["estimate"], both["estimate_right"]).statistic)
    assert at["estimate"] == pytest.approx(np.mean(again), abs=0.1)
    assert at["published"] > at["estimate"]
    assert found.table["estimate"].to_numpy()[-1] > found.table["estimate"].to_numpy()[0]
    assert found.needed_low <= found.needed <= found.needed_high


@pytest.mark.slow
def test_the_smallest_number_reaches_the_target():
    labels = World.of(10, sharpness=0.6).study(floor=8, overlap=2)
    need = assay.plan.judgments(labels, target=0.7, n_splits=40)
    more = assay.plan.judgments(labels, target=0.95, n_splits=40)
    assert need.needed < more.needed
    reached = assay.plan.judgments(labels, target=0.7, n_splits=40, sizes=[need.needed, 4 * need.needed])
    rows = reached.table.filter(pl.col("judgments") == 4 * need.needed)
    assert rows["estimate"][0] > 0.7
    assert rows["stepped"][0]


@pytest.mark.slow
def test_who_does_not_look_never_agrees():
    rng = np.random.default_rng(5)
    labels = World.of(9).study(floor=5)
    blind = labels.labels.join(labels.items, on="item") if labels.items.width > 1 else labels.labels
    blind = blind.with_columns(label=pl.Series(np.array(list("ABC"))[rng.integers(0, 3, blind.height)]))
    found = assay.plan.judgments(assay.read(blind, scale="odd-one-out", humans=list(labels.humans)), n_splits=40)
    assert found.needed is None or found.needed > 1000
    assert found.needed_high is None


def test_too_few_choices_are_refused():
    with pytest.raises(DesignError, match="cannot be halved"):
        assay.plan.judgments(World.of(5).study(floor=1))


# -- direct computation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", [1, 3])
def test_a_simulated_study_is_its_choices_one_by_one(overlap):
    """Luce's rule for each choice, equation 1 by counting, Spearman's correlation with what endless answers give."""
    n, rng = 6, np.random.default_rng(3)
    alike = -rng.random((n, n)) * 3
    alike = alike + alike.T
    design = sample_size._design(n, 3, 5)
    assert sorted(map(tuple, design.tolist())) == sorted(set(map(tuple, design.tolist())))
    pairs = list(itertools.combinations(range(n), 2))

    def kept(a: int, b: int, c: int) -> list[float]:
        weights = [math.exp(alike[x, y]) for x, y in ((a, b), (a, c), (b, c))]
        return [w / sum(weights) for w in weights]

    truth = [np.mean([kept(a, b, c)[0] for c in range(n) if c not in (a, b)]) for a, b in pairs]
    np.testing.assert_allclose(sample_size._truth(alike), truth)
    rng = np.random.default_rng((7, 1))
    drawn = rng.random((len(design), overlap, 1))
    choices = []
    for t, triplet in enumerate(design.tolist()):
        first, second, _ = kept(*triplet)
        for o in range(overlap):
            odd = 2 if drawn[t, o] <= first else 1 if drawn[t, o] <= first + second else 0
            choices.append((triplet, odd))
    counts = references.triplet_similarity(choices)
    shares = [counts[pair][0] / counts[pair][1] for pair in pairs]
    assert len({number for _, number in counts.values()}) > 1
    found = sample_size._study(design, overlap, [(alike, sample_size.mean_ranks(sample_size._truth(alike)))], (7, 1))
    assert found == pytest.approx(references.spearman(shares, truth))


def test_random_texts_are_as_sharp_as_the_agreement_asks():
    """Two who choose by the same chances agree with Σp²: the mean over every triplet of the texts."""
    found = []
    for seed in range(30):
        alike = sample_size._random_strengths(9, 3, 0.62, np.random.default_rng(seed))
        for a, b, c in itertools.combinations(range(9), 3):
            weights = np.exp([alike[a, b], alike[a, c], alike[b, c]])
            found.append(((weights / weights.sum()) ** 2).sum())
    assert np.mean(found) == pytest.approx(0.62, abs=0.02)


@pytest.mark.slow
def test_a_plan_counts_its_studies():
    plan = assay.plan.triplets(7, 2, agreement=0.7, floors=(3, 12), target=0.8, power=0.5, n_studies=30, seed=4)
    worlds = [sample_size._worlds(plan.run.settings, 0.7, k) for k in range(30)]
    for row in plan.table.iter_rows(named=True):
        overlap = math.ceil(row["floor"] / 5)  # each pair of 7 texts has 5 thirds
        each = math.ceil(row["floor"] / overlap)
        designs = [sample_size._design(7, each, 4 + k) for k in range(4)]
        rho = [sample_size._study(designs[k % 4], overlap, worlds[k], (4, k, 1)) for k in range(30)]
        reached = sum(one >= 0.8 for one in rho)
        assert (row["overlap"], row["estimate"]) == (overlap, reached / 30)
        assert row["triplets"] == 2 * round(np.mean([len(d) for d in designs]))
        assert row["judgments"] == row["triplets"] * overlap
        assert row["rho"] == pytest.approx(np.mean(rho))
        assert row["rho_least"] == pytest.approx(references.quantile(rho, 0.1))
        assert (row["low"], row["high"]) == pytest.approx(references.wilson(reached, 30), abs=1e-9)
    assert plan.smallest["floor"] == plan.table.filter(pl.col("estimate") >= 0.5)["floor"].min()


def test_the_number_needed_is_the_first_that_reaches_the_target():
    for one, target in itertools.product((0.003, 0.02, 0.4), (0.5, 0.8, 0.95)):
        n = sample_size.judgments_for(one, target)
        reached = [k * one / (1 + (k - 1) * one) for k in (n - 1, n)]
        assert reached[0] < target <= reached[1] + 1e-12
    assert [sample_size.judgments_for(one, 0.8) for one in (0.0, -0.1, math.nan)] == [None] * 3


def test_the_range_of_one_judgment_is_a_jackknife_over_groups_in_log_odds():
    without = np.random.default_rng(1).uniform(0.02, 0.04, 20)
    logit = np.log(without / (1 - without))
    error = math.sqrt(19 / 20 * sum((x - logit.mean()) ** 2 for x in logit))
    half = 1.7291328 * error  # t with 19 degrees of freedom, 95%
    centre = math.log(0.03 / 0.97)
    wanted = [1 / (1 + math.exp(-(centre + sign * half))) for sign in (-1, 1)]
    found = sample_size.single_judgment(0.03, without, 0.9)
    assert (found.low, found.high) == pytest.approx(wanted, rel=1e-6)
    assert sample_size.single_judgment(0.03, without, 0.5).interval(0.9) == pytest.approx(wanted, rel=1e-6)
    for one, others in ((-0.01, without), (0.03, without - 0.03), (0.03, np.full(20, 0.03))):
        none = sample_size.single_judgment(one, others, 0.9)
        assert np.isnan([none.low, none.high, *none.interval(0.9)]).all()


def test_the_curve_steps_up_what_one_judgment_tells():
    labels = World.of(8, sharpness=1).study(floor=6, overlap=2)
    found = assay.plan.judgments(labels, n_splits=40, target=0.75, sizes=[len(labels) // 2, 3 * len(labels)], seed=2)
    half, at, beyond = found.table.iter_rows(named=True)
    n = len(labels)
    assert [half["stepped"], at["stepped"], beyond["stepped"]] == [False, True, True]
    assert [half["judgments"], at["judgments"], beyond["judgments"]] == [n // 2, n, 3 * n]
    # ρ of n judgments gives that of three times as many, and of one, by Spearman and Brown.
    rho = at["estimate"]
    assert beyond["estimate"] == pytest.approx(3 * rho / (1 + 2 * rho))
    assert (beyond["low"], beyond["high"]) == pytest.approx(
        [3 * end / (1 + 2 * end) for end in (at["low"], at["high"])]
    )
    one = rho / (n - (n - 1) * rho)
    assert found.needed == sample_size.judgments_for(one, 0.75)
    ends = [end / (n - (n - 1) * end) for end in (at["low"], at["high"])]
    assert (found.needed_high, found.needed_low) == (
        sample_size.judgments_for(ends[0], 0.75),
        sample_size.judgments_for(ends[1], 0.75),
    )
    # Halves of all the judgments are what the step is taken from: two sets of 28 that share none.
    assert half["estimate"] == pytest.approx(rho / (2 - rho), abs=0.06)


def test_halves_share_no_judgment():
    rng = np.random.default_rng(0)
    position = np.array([[0, 1, 2], [3, 4, 5], [0, 3, 4], [1, 2, 5], [0, 1, 5], [2, 3, 4]])
    judged = PairChoices(position, position[np.arange(6), [0, 1, 2, 0, 1, 2]], 6)
    order = np.random.default_rng(0).permutation(6)
    shares = []
    for part in (order[:3], order[3:]):
        kept, n = np.zeros(6), np.zeros(6)
        for i in part:
            kept[judged.kept[i]] += 1
            for pair in position[i]:
                n[pair] += 1
        shares.append([k / m if m else math.nan for k, m in zip(kept, n, strict=True)])
    both = [(a, b) for a, b in zip(*shares, strict=True) if math.isfinite(a) and math.isfinite(b)]
    wanted = references.spearman(*zip(*both, strict=True))
    assert sample_size.half_agreement(judged, rng, 1)[0] == pytest.approx(wanted)


def test_each_sentence_about_judgments_says_what_the_numbers_say():
    found = assay.plan.judgments(World.of(8, sharpness=1).study(floor=6, overlap=2), n_splits=20, target=0.75)
    row = found.table.filter(pl.col("judgments") == int(found.run.facts["choices"])).row(0, named=True)
    lines = found.summary().splitlines()
    assert lines[0] == (
        f"{row['judgments']} judgments: rank correlation with another {row['judgments']} judgments "
        f"ρ = {said(row['estimate'])} {interval(row['low'], row['high'])}."
    )
    assert lines[1] == (
        f"ρ = 0.75 requires about {found.needed:,} judgments (range {found.needed_low:,} to {found.needed_high:,})."
    )
    assert f"with all judgments): ρ = {said(row['published'])}; too high, because they share judgments." in lines[2]
    open_ended = dataclasses.replace(found, needed_high=None, needed_low=None).summary().splitlines()[1]
    assert open_ended == f"ρ = 0.75 requires about {found.needed:,} judgments (range not estimable)."
    never = dataclasses.replace(found, needed=None).summary().splitlines()
    assert never[1] == "These judgments do not agree more than by chance; no number of them reaches the target."
    assert [never[0], *never[2:]] == [lines[0], *lines[2:]]


def test_each_sentence_of_a_plan_says_what_its_table_says():
    plan = assay.plan.triplets(6, agreement=0.8, floors=(2, 12), target=0.6, power=0.5, n_studies=20)
    row = plan.smallest
    lines = plan.summary().splitlines()
    assert lines[0].startswith(
        "1 document of 6 texts; two experts make the same odd-one-out choice on 80% of triplets; 20 sim"
    )
    of = "" if row["overlap"] == 1 else f": {row['triplets']:,} triplets with {row['overlap']} judgments each"
    assert lines[1] == (
        f"{row['floor']} comparisons per pair ({row['judgments']:,} judgments{of}) reach ρ = 0.6 with the true "
        f"ranking in {row['estimate']:.0%} of studies; mean ρ {said(row['rho'])}."
    )
    last = dataclasses.replace(plan, outcomes=plan.outcomes.tail(1))
    row = last.smallest
    assert row["overlap"] == 3
    assert f" judgments: {row['triplets']} triplets with 3 judgments each) reach" in last.summary()
    low = dataclasses.replace(plan, outcomes=plan.outcomes.with_columns(estimate=0.49))
    assert low.smallest is None
    assert (
        low.summary().splitlines()[1]
        == "None of these numbers reaches ρ = 0.6 in 50% of studies; try larger ones (floors=...)."
    )


def test_without_sizes_the_curve_has_tenths_of_twice_the_judgments():
    found = assay.plan.judgments(World.of(8, sharpness=1).study(floor=6, overlap=2), n_splits=20)
    n = int(str(found.run.facts["choices"]))
    wanted = {max(round(n * k / 5), 10) for k in range(1, 11)} | {n}
    assert found.table["judgments"].to_list() == sorted(wanted)
    assert max(wanted) == 2 * n


# -- by hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "target", "n"),
    [
        (0.5, 0.9, 9),  # n r / (1 + (n - 1) r) = 4.5 / 5
        (0.1, 0.5, 9),  # 0.9 / 1.8
        (0.1, 0.52, 10),  # 9 reach .5, 10 reach 1 / 1.9 = .526
        (0.9, 0.5, 1),
        (0.0, 0.5, None),
        (-0.1, 0.5, None),
        (math.nan, 0.5, None),
    ],
)
def test_the_number_of_judgments_by_spearman_and_brown(one, target, n):
    assert sample_size.judgments_for(one, target) == n


PILOT = assay.plan.judgments(World.of(6, sharpness=1).study(floor=4, overlap=2), n_splits=20, sizes=(10,))
PLAN = assay.plan.triplets(5, floors=(1,), n_studies=20)


def with_target(run, **options):
    """The run of other settings."""
    return dataclasses.replace(run, settings=dataclasses.replace(run.settings, **options))


def judged(low, high, needed=40, published=None):
    """As many judgments as a row says, and the numbers needed."""
    rows = [(20, 0.5, 0.4, 0.6, None), (30, 0.62, 0.5, 0.7, published)]
    curve = pl.DataFrame(rows, schema=["judgments", "estimate", "low", "high", "published"], orient="row")
    run = dataclasses.replace(with_target(PILOT.run, target=0.9), facts={"choices": 30}, interval="")
    return dataclasses.replace(PILOT, curve=curve, run=run, needed=needed, needed_low=low, needed_high=high)


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (30, 1234, "30 to 1,234"),
        (None, 60, "not estimable"),
        (30, None, "not estimable"),
        (None, None, "not estimable"),
    ],
)
def test_range_of_judgments_needs_both_ends(low, high, ends):
    lines = judged(low, high).summary().splitlines()
    assert lines == [
        "30 judgments: rank correlation with another 30 judgments ρ = 0.62 [0.50, 0.70].",
        f"ρ = 0.9 requires about 40 judgments (range {ends}).",
        judged(low, high).run.signature,
    ]


def test_no_number_of_judgments_without_agreement():
    lines = judged(None, None, needed=None, published=0.81).summary().splitlines()
    assert lines[1] == "These judgments do not agree more than by chance; no number of them reaches the target."
    assert lines[2].startswith("Published method (bootstrap samples compared with all judgments): ρ = 0.81; too high")


@pytest.mark.parametrize(
    ("one", "without"),
    [
        (0.0, [0.1, 0.2]),
        (math.nan, [0.1, 0.2]),
        (0.1, [0.1, math.nan]),
        (0.1, [0.0, 0.2]),
        (0.1, [0.2, 0.2]),
    ],
)
def test_one_judgment_has_an_interval_where_every_group_that_is_left_out_leaves_agreement(one, without):
    found = sample_size.single_judgment(one, np.array(without), 0.95)
    assert found.estimate == pytest.approx(one, nan_ok=True)
    assert math.isnan(found.low)
    assert found.reason == "these judgments do not agree more than by chance"


def test_the_interval_of_one_judgment_is_that_of_its_log_odds():
    without = np.array([0.08, 0.1, 0.14, 0.11])
    found = sample_size.single_judgment(0.1, without, 0.9)
    logits = np.log(without / (1 - without))
    error = math.sqrt(3 / 4 * ((logits - logits.mean()) ** 2).sum())
    at = math.log(1 / 9)
    wanted = [1 / (1 + math.exp(-(at + side * 2.3533634 * error))) for side in (-1, 1)]  # t(3) at .95
    assert (found.low, found.high) == pytest.approx(wanted)
    assert found.standard_error == pytest.approx(0.1 * 0.9 * error)


def test_the_interval_of_sets_is_stepped_up_and_holds_what_was_seen():
    one = sample_size.single_judgment(0.1, np.array([0.08, 0.1, 0.14, 0.11]), 0.9)
    stepped = [9 * end / (1 + 8 * end) for end in one.interval(0.9)]
    found = sample_size.sets_of_judgments(0.5, one, 9, 0.9)  # 9 judgments: .9 / 1.8
    assert (found.low, found.high) == pytest.approx(stepped)
    assert sample_size.sets_of_judgments(0.2, one, 9, 0.9).low == 0.2
    far = sample_size.sets_of_judgments(0.9, one, 9, 0.9)
    assert far.high == 0.9
    # Between what was seen and what is stepped up nothing speaks against a null; beyond, p is that of one judgment.
    assert (far.p(0.5), far.p(0.7), far.p(0.9)) == (1, 1, 1)
    assert far.p(0.95) == pytest.approx(one.p(0.95 / (9 - 8 * 0.95)))
    assert far.p(0.95) < 1
    assert math.isnan(far.p(0.0))
    assert math.isnan(far.p(1.0))
    none = sample_size.single_judgment(0.0, np.array([0.1, 0.2]), 0.9)
    assert math.isnan(sample_size.sets_of_judgments(0.5, none, 9, 0.9).low)


@pytest.mark.slow
def test_twenty_choices_can_be_halved_and_nineteen_cannot():
    labels = World.of(6, sharpness=1).study(floor=4, overlap=2).where(kind="human")
    some = labels.labels.sort("item", "annotator").head(20)

    def of(n):
        return assay.plan.judgments(
            assay.Annotations.from_frame(some.head(n), judges=[], scale=labels.scale, items=labels.items), n_splits=20
        )

    assert of(20).run.facts["choices"] == 20
    with pytest.raises(DesignError, match="19 choices cannot be halved; 20 are the least"):
        of(19)


@pytest.mark.parametrize(("estimate", "row"), [([0.5, 0.8, 0.9], 1), ([0.5, 0.79, 0.9], 2), ([0.1, 0.2, 0.7], None)])
def test_the_smallest_floor_has_the_power_wanted(estimate, row):
    rows = pl.DataFrame({"floor": [2, 12, 40], "estimate": estimate})
    found = dataclasses.replace(PLAN, outcomes=rows, run=with_target(PLAN.run, power=0.8)).smallest
    assert found == (None if row is None else rows.row(row, named=True))


@pytest.mark.parametrize(("overlap", "of"), [(1, ""), (3, ": 1,000 triplets with 3 judgments each")])
def test_a_plan_in_words(overlap, of):
    row = {
        "floor": 12,
        "triplets": 1000,
        "overlap": overlap,
        "judgments": 1000 * overlap,
        "estimate": 0.85,
        "rho": 0.93,
    }
    run = with_target(PLAN.run, n_documents=1, n_texts=10, agreement=0.6, n_studies=200, target=0.9, power=0.8)
    plan = dataclasses.replace(PLAN, outcomes=pl.DataFrame([row]), run=run)
    lines = plan.summary().splitlines()
    assert lines[:2] == [
        "1 document of 10 texts; two experts make the same odd-one-out choice on 60% of triplets; 200 simulated "
        "studies.",
        f"12 comparisons per pair ({1000 * overlap:,} judgments{of}) reach ρ = 0.9 with the true ranking in 85% of "
        "studies; mean ρ 0.93.",
    ]
    low = dataclasses.replace(plan, outcomes=pl.DataFrame([row | {"estimate": 0.79}]))
    assert low.summary().splitlines()[1] == (
        "None of these numbers reaches ρ = 0.9 in 80% of studies; try larger ones (floors=...)."
    )


@pytest.mark.parametrize(("options", "agreement"), [({}, 0.6), ({"agreement": 0.7}, 0.7)])
def test_two_experts_agree_on_six_in_ten_where_nothing_is_said(options, agreement):
    plan = assay.plan.triplets(5, floors=(1,), n_studies=20, **options)
    assert plan.run.settings.agreement == agreement
    assert plan.summary().startswith(
        f"1 document of 5 texts; two experts make the same odd-one-out choice on {agreement:.0%}"
    )
    assert (plan.run.data, plan.run.facts, plan.confidence) == ("none", {"target": 0.9, "power": 0.8}, 0.95)
    assert [one.estimate for one in plan.row_estimates()] == plan.table["estimate"].to_list()


@pytest.mark.parametrize(
    ("answers", "taken"), [(["AA"] * 4, 0.99), (["AB"] * 4, 0.34), (["AA", "BB", "AB", "AC"], 0.5)]
)
def test_the_agreement_of_a_pilot_is_one_that_can_be_simulated(answers, taken):
    """Two experts who always, never, or on half of the triplets agree."""
    three = list(itertools.combinations("wxyz", 3))
    rows = [
        (str(k), *three[k], who, label) for k, both in enumerate(answers) for who, label in zip("pq", both, strict=True)
    ]
    columns = ["item", "first", "second", "third", "annotator", "label"]
    pilot = assay.read(pl.DataFrame(rows, schema=columns, orient="row"), scale="odd-one-out", humans=["p", "q"])
    plan = assay.plan.triplets(5, floors=(1,), n_studies=20, pilot=pilot)
    assert (plan.run.settings.agreement, plan.run.data) == (pytest.approx(taken), pilot.fingerprint)


def test_no_floor_is_none_to_look_at_and_each_is_looked_at_once():
    with pytest.raises(DesignError, match="floors is empty; give at least one number of comparisons"):
        assay.plan.triplets(5, floors=())
    assert assay.plan.triplets(5, floors=(4, 1, 4), n_studies=20).table["floor"].to_list() == [1, 4]


@pytest.mark.parametrize(
    ("halves", "one"),
    [
        ([0.5, 0.7, math.nan], 0.6 / 2.6),  # of ten judgments, halves of five, R = .6: R / (5 − 4 R)
        ([1.0, 1.0], 0.9999 / (5 - 4 * 0.9999)),  # never 1, of which no number of judgments is the least
        ([-0.1], -0.1 / 5.4),
        ([math.nan], math.nan),
    ],
)
def test_one_judgment_is_worth_what_halves_step_down_to(monkeypatch, halves, one):
    monkeypatch.setattr(sample_size, "half_agreement", lambda judged, rng, n_splits: np.array(halves))
    assert sample_size._single_reliability(range(10), None, 2) == pytest.approx(one, nan_ok=True)


class Shares:
    """Judgments of which only the number is known; a sample's size is its share."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def shares(self):
        return self.n

    def some(self, rows):
        return Shares(len(rows))


@pytest.mark.parametrize(
    ("size", "stepped", "value"), [(10, False, 0.25), (11, True, 11 * 0.1 / 2.0), (30, True, 30 * 0.1 / 3.9)]
)
@pytest.mark.parametrize(("splits", "runs"), [(40, 10), (44, 11), (20, 10)])
def test_sets_up_to_half_share_no_judgment_and_larger_ones_are_stepped_up(
    monkeypatch, size, stepped, value, splits, runs
):
    """Of 20 judgments; the published number is the mean over a quarter as many runs, ten at least."""
    monkeypatch.setattr(sample_size, "half_agreement", lambda judged, rng, n, size: np.array([0.2, 0.3, math.nan]))
    seen = []
    monkeypatch.setattr(
        sample_size, "correlation", lambda some, whole: seen.append((some, whole)) or (math.nan if len(seen) == 1 else
                                                                               len(seen))
    )  # fmt: skip
    one = sample_size.single_judgment(0.1, np.array([0.08, 0.1, 0.14, 0.11]), 0.9)
    settings = SimpleNamespace(n_splits=splits, confidence=0.9)
    found, row = sample_size._row(size, one, Shares(20), np.random.default_rng(0), settings)
    assert found.estimate == pytest.approx(value)
    assert (row["judgments"], row["stepped"], row["estimate"]) == (size, stepped, found.estimate)
    assert seen == [(size, 20)] * runs
    assert row["published"] == pytest.approx(np.mean(range(2, runs + 1)))


def test_what_never_agrees_has_no_published_number(monkeypatch):
    monkeypatch.setattr(sample_size, "half_agreement", lambda judged, rng, n, size: np.array([math.nan]))
    monkeypatch.setattr(sample_size, "correlation", lambda some, whole: math.nan)
    one = sample_size.single_judgment(0.0, np.array([0.1, 0.2]), 0.9)
    settings = SimpleNamespace(n_splits=20, confidence=0.9)
    found, row = sample_size._row(10, one, Shares(20), np.random.default_rng(0), settings)
    assert math.isnan(found.estimate)
    assert row["published"] is None


def test_the_curve_is_drawn_with_its_interval_the_published_one_and_the_target():
    curve = pl.DataFrame({
        "judgments": [10, 20, 30], "estimate": [-0.2, 0.5, math.nan], "low": [-0.4, 0.3, math.nan],
        "high": [0.1, 0.6, math.nan], "published": [0.3, 0.7, 0.9],
    })  # fmt: skip
    drawn = dataclasses.replace(PILOT, curve=curve, run=with_target(PILOT.run, target=0.8))
    ax = drawn.plot()
    names = [one.get_text() for one in ax.get_legend().get_texts()]
    assert names == ["sets that share none", "bootstrap, as published"]
    mine, published, target = (list(line.get_ydata()) for line in ax.lines)
    assert mine[:2] == [-0.2, 0.5]
    assert (published, target) == ([0.3, 0.7, 0.9], [0.8, 0.8])
    assert ax.get_ylim() == (-0.2, 1.02)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("judgments", "ρ between rankings of pairs")
    above = dataclasses.replace(drawn, curve=curve.tail(2)).plot()
    assert above.get_ylim() == (0, 1.02)


def test_a_plan_is_drawn_against_its_judgments():
    rows = pl.DataFrame({"judgments": [20, 200], "rho": [0.6, 0.9], "rho_least": [0.4, 0.8]})
    ax = dataclasses.replace(PLAN, outcomes=rows, run=with_target(PLAN.run, target=0.85)).plot()
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.6, 0.9], [0.4, 0.8], [0.85, 0.85]]
    assert [list(line.get_xdata()) for line in ax.lines[:2]] == [[20, 200]] * 2
    names = [one.get_text() for one in ax.get_legend().get_texts()]
    assert names == ["mean of studies", "reached by 90% of studies"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("judgments", "ρ with the true ranking of pairs")
