"""Plans: the verdicts of the test, laws of power, sentences, and the text of each error."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import assay
from asking import differences_from_kept, each_kept, questions_of
from assay import planning
from assay.cli.app import main
from assay.errors import DataError, DesignError
from assay.estimation.intervals import wilson
from assay.planning import AltTestPlan
from assay.replacement.decision import VERDICTS
from assay.replacement.studies import EACH, OPEN, SimulatedStudies
from assay.statistics.panels import Panel
from readable import assert_readable

# -- two methods: every study of a plan, tested separately --------------------------------------------


def table_of(values: np.ndarray, judge: np.ndarray, scale: assay.Ordinal | assay.Nominal) -> assay.Annotations:
    """One study of a plan as a separate table."""
    item, member = np.nonzero(~np.isnan(values))
    labels = pl.DataFrame(
        {
            "item": [f"i{i:04d}" for i in (*item, *range(len(judge)))],
            "annotator": [f"h{m}" for m in member] + ["judge"] * len(judge),
            "label": np.concatenate([values[item, member], judge]).astype(int),
        }
    )
    if scale.kind == "nominal":
        labels = labels.with_columns(pl.Series(scale.categories).gather(labels["label"]).alias("label"))
    return assay.Annotations.from_frame(labels, judges=["judge"], scale=scale)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "options"),
    [
        ({}, {}),
        pytest.param({"categories": "1-5", "spread": 0.8}, {}, marks=pytest.mark.slow),
        pytest.param({"labels_per_item": 3}, {"min_items": 12}, marks=pytest.mark.slow),
        ({"categories": "1-5", "labels_per_item": 2}, {"min_items": 5, "test": "t"}),
        ({"labels_per_item": 3}, {"min_items": 2, "min_humans": 3, "test": "wilcoxon", "threshold": 0.8}),
        pytest.param({"labels_per_item": 3}, {"min_items": 2, "test": "exact"}, marks=pytest.mark.slow),
        ({"annotator_noise": [0.1, 0.5]}, {"balance": True, "ties": "lowest", "fdr": 0.2, "min_class": 0}),
    ],
)
def test_plan_counts_verdicts_of_alt_test(world, options):
    sizes, epsilons, n_studies = (30, 60), (0.05, 0.2), 7
    plan = assay.plan.alt_test(
        sizes, 4, epsilon=epsilons, judge_noise=0.35, n_studies=n_studies, seed=3, **world, **options
    )
    source = planning.TruthSource.of(
        planning.PlanSettings(n_annotators=4, epsilon=0.1, judge_noise=0.35, seed=3, **world, **options)
    )
    tables = {
        n: [
            table_of(v[:n], j[:n], source.source.scale)
            for values, judge in source.labels(4, sizes[-1], n_studies, 3)
            for v, j in zip(values, judge, strict=True)
        ]
        for n in sizes
    }
    for row in plan.table.iter_rows(named=True):
        tests = [
            assay.alt_test(table, "judge", epsilon=row["epsilon"], method="none", strata="none", **options)
            for table in tables[row["n_items"]]
        ]
        # Plans have no strata, and do not test for label leakage and groups of annotators.
        plain = {"matched_annotator": None, "groups": None}
        verdicts = [dataclasses.replace(t.verdict_tests, **plain).verdict for t in tests]
        # The agreement ratio of a smaller study is that of the first items of the largest, so that one study with a
        # p-value of .059 has one below .05.
        off = 1 / n_studies if row["n_items"] < sizes[-1] else 0
        assert row["estimate"] == pytest.approx(verdicts.count("replace") / n_studies, abs=off + 1e-9)
        assert row["undecided"] == pytest.approx(verdicts.count("undecided") / n_studies, abs=off + 1e-9)
        assert row["do_not_replace"] == pytest.approx(verdicts.count("do_not_replace") / n_studies)
        assert row["mixed"] == pytest.approx(verdicts.count("mixed") / n_studies)
        assert row["passes"] == pytest.approx(np.mean([t.passed for t in tests]))
        assert row["winning_rate"] == pytest.approx(np.nanmean([t.winning_rate for t in tests]))
        rho = [t.advantage_probability.estimate for t in tests]
        assert row["advantage_probability"] == pytest.approx(np.nanmean(rho))


def test_plan_counts_no_study_without_human_agreement():
    counts = np.zeros((1, 1, 3, 1, 3))
    counts[..., 0, 0] = 60  # the judge is closer on every item
    settings = planning.PlanSettings(n_annotators=3, categories="1-5", judge_noise=0.3)
    found = {}
    for kept, agree in ((9, 9), (9, 1), (-9, 9), (-9, 1)):
        shown = [np.full((1, 1), one, dtype=float) for one in (kept, agree)]
        studies = SimulatedStudies(counts, np.ones((1, 3)), *shown)
        found[kept, agree] = VERDICTS[studies.ends(settings, 0.1)[0, 0]]
    open_ = "undecided"
    assert found == {(9, 9): "replace", (9, 1): open_, (-9, 9): "do_not_replace", (-9, 1): open_}


@pytest.mark.slow
def test_studies_whose_classes_are_too_small_to_balance_tell_nothing():
    world = {"prior": (0.9, 0.05, 0.05), "categories": 3, "epsilon": 0.1, "balance": True, "n_studies": 40, "seed": 1,
             "annotator_noise": 0.05, "judge_noise": 0.95}  # fmt: skip
    refused = assay.plan.alt_test((40,), 3, **world).table
    assert refused["undecided"].to_list() == [1.0]
    assert assay.plan.alt_test((40,), 3, min_class=0, **world).table["undecided"][0] < 1
    assert assay.plan.alt_test((2000,), 3, **world).table["undecided"][0] < 1


@pytest.mark.slow
def test_very_large_pilot_gives_simulated_power():
    options = {"prior": (0.1, 0.2, 0.4, 0.2, 0.1), "spread": 0.7, "annotator_noise": 0.2}
    pilot = assay.simulate(10_000, 3, judges=0.3, seed=5, scale="1-5", **options)
    sizes = (50, 150)
    drawn = assay.plan.alt_test(sizes, epsilon=0.1, pilot=pilot, n_studies=1500, seed=1)
    assumed = {"categories": "1-5", "epsilon": 0.1, "judge_noise": 0.3, "n_studies": 1500, "seed": 2}
    simulated = assay.plan.alt_test(sizes, **assumed, **options)
    # The standard error of a difference of two shares of 1,500 is at most .018, and the pilot's own is smaller.
    for name in ("replace", "undecided", "advantage_probability"):
        assert drawn.table[name].to_list() == pytest.approx(simulated.table[name].to_list(), abs=0.06)


def test_pilot_keeps_quality_weights_and_incomplete_designs():
    pilot = assay.simulate(120, 5, labels_per_item=3, missing=0.1, seed=4)
    weights = {f"ann_{j}": 10.0 if j == 1 else 1.0 for j in range(1, 6)}
    plain = assay.plan.alt_test((100, 200), 5, epsilon=0.1, pilot=pilot, seed=1)
    weighted = assay.plan.alt_test((100, 200), 5, epsilon=0.1, pilot=pilot, quality=weights, seed=1)
    assert plain.table["estimate"].to_list() != weighted.table["estimate"].to_list()
    assert plain.table["undecided"].is_between(0, 1).all()


# -- laws ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_power_grows_with_items_with_epsilon_and_with_a_better_judge():
    def power(noise: float) -> np.ndarray:
        plan = assay.plan.alt_test((50, 100, 200), epsilon=(0.05, 0.1, 0.2), judge_noise=noise, n_studies=400, seed=1)
        return plan.table["estimate"].to_numpy().reshape(3, 3)

    good, middling = power(0.2), power(0.35)
    assert (np.diff(good, axis=0) >= 0).all()
    assert (np.diff(good, axis=1) >= 0).all()
    assert (good >= middling).all()
    assert good[0, 0] > middling[0, 0]


@pytest.mark.slow
def test_hopeless_judge_is_never_replace():
    options = {"annotator_noise": 0.05, "judge_noise": 0.9, "categories": 2, "prior": (0.5, 0.5)}
    row = assay.plan.alt_test(300, epsilon=0.1, n_studies=400, seed=1, **options).table.row(0, named=True)
    assert row["estimate"] == 0
    assert row["do_not_replace"] > 0.8
    assert 0 < row["high"] < 0.01


@pytest.mark.slow
def test_shares_sum_to_one_and_are_in_intervals():
    table = assay.plan.alt_test((30, 80), (2, 3, 6), n_studies=200, seed=2).table
    assert table.height == 2 * 3 * 3
    total = table["estimate"] + table["do_not_replace"] + table["undecided"]
    assert total.to_list() == pytest.approx([1.0] * table.height)
    assert (table["low"] <= table["estimate"]).all()
    assert (table["estimate"] <= table["high"]).all()
    assert (table["low"] < table["high"]).all()


def test_plan_interval_is_wilson():
    # 8 of 10: Wilson's 95% interval is .490 to .943 (Wilson 1927; scipy.stats.binomtest(8, 10)).
    from scipy.stats import binomtest

    low, high = wilson(np.array([0.8]), 10)
    expected = binomtest(8, 10).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))
    assert (low[0], high[0]) == pytest.approx((0.490, 0.943), abs=5e-4)


@pytest.mark.slow
def test_smaller_study_is_prefix_of_larger():
    alone = assay.plan.alt_test(50, 3, epsilon=0.1, n_studies=100, seed=4)
    # 600,000 labels are drawn at once, so 100 studies of 200 items by 3 are one block in both.
    beside = assay.plan.alt_test((50, 200), (3,), epsilon=0.1, n_studies=100, seed=4)
    again = assay.plan.alt_test((50, 200), (3,), epsilon=0.1, n_studies=100, seed=4)
    assert beside.table.equals(again.table)
    assert alone.table["n_items"].to_list() == [50]
    assert beside.table["n_items"].to_list() == [50, 200]


@pytest.mark.slow
def test_blocks_do_not_change_counts(monkeypatch):
    whole = assay.plan.alt_test((30, 60), n_studies=500, seed=5).table
    monkeypatch.setattr(planning, "CELLS", 60 * 3 * 7)
    parts = assay.plan.alt_test((30, 60), n_studies=500, seed=5).table
    assert (parts["n"] == 500).all()
    assert parts["estimate"].to_numpy() == pytest.approx(whole["estimate"].to_numpy(), abs=0.12)
    pilot = assay.simulate(90, 4, seed=6)
    drawn = assay.plan.alt_test((30, 60), pilot=pilot, n_studies=50, seed=5).table
    monkeypatch.undo()
    assert drawn.height == assay.plan.alt_test((30, 60), pilot=pilot, n_studies=50, seed=5).table.height


# -- the result ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_smallest_is_the_first_size_with_the_power_wanted():
    plan = assay.plan.alt_test(
        (30, 50, 100, 300), epsilon=(0.0, 0.2), judge_noise=0.2, power=0.7, n_studies=200, seed=1
    )
    for row in plan.smallest.iter_rows(named=True):
        of = plan.table.filter(pl.col("epsilon") == row["epsilon"])
        enough = of.filter(pl.col("estimate") >= 0.7)["n_items"].to_list()
        assert row["n_items"] == (min(enough) if enough else None)
    never = assay.plan.alt_test(30, epsilon=0.0, judge_noise=0.9, n_studies=200)
    assert never.smallest["n_items"].to_list() == [None]
    assert "None of these sizes gives power 0.80 or more (ε = 0, 3 annotators)." in never.summary()


def test_smallest_includes_exact_power():
    rows = [(3, 0.2, 30, 0.79), (3, 0.2, 60, 0.8), (3, 0.2, 90, 0.9), (3, 0.1, 30, 0.5), (3, 0.1, 90, 0.7999)]
    columns = ["n_annotators", "epsilon", "n_items", "estimate"]
    plan = SimpleNamespace(outcomes=pl.DataFrame(rows, schema=columns, orient="row"), power=0.8, ranges=())
    assert AltTestPlan.smallest.fget(plan).rows() == [(3, 0.2, 60), (3, 0.1, None)]


def test_plan_intervals_use_effective_studies():
    """Ten studies of one truth each are ten trials; from a pilot EACH share a truth, of which OPEN are independent."""
    row = pl.DataFrame({"estimate": [0.8], "low": [0.49], "high": [0.943], "n": [10]})
    for pilot, trials in ((None, 10), ("labels", 10 * OPEN / EACH)):
        (found,) = AltTestPlan.row_estimates(SimpleNamespace(settings=SimpleNamespace(pilot=pilot), outcomes=row))
        assert (found.estimate, found.low, found.high) == (0.8, 0.49, 0.943)
        assert found.standard_error == pytest.approx(np.sqrt(0.8 * 0.2 / trials))


def test_studies_are_drawn_in_blocks_that_fit_in_memory(monkeypatch):
    source = planning.TruthSource.of(planning.PlanSettings(n_annotators=(3, 4), epsilon=0.1))
    for cells, blocks in ((10 * 4 * 7, [7, 7, 6]), (10 * 4 * 20, [20]), (1, [1] * 20)):
        monkeypatch.setattr(planning, "CELLS", cells)
        found = list(source.labels(3, 10, 20, 0))
        assert [values.shape for values, _ in found] == [(n, 10, 3) for n in blocks]
        assert [judge.shape for _, judge in found] == [(n, 10) for n in blocks]


def test_untested_annotators_are_noted():
    plan = assay.plan.alt_test((30, 60), 5, epsilon=0.2, labels_per_item=3, n_studies=50)
    assert plan.table["estimate"][0] == 0
    assert plan.table["undecided"][0] == 1
    assert np.isnan(plan.table["advantage_probability"][0])
    assert np.isnan(plan.table["winning_rate"][0])
    assert "fewer than 30 comparable items and are not tested (100% at 30 items" in plan.summary()


def test_threshold_zero_requires_tested_annotators():
    few, enough = assay.plan.alt_test((20, 40), epsilon=0.9, threshold=0.01, n_studies=50).table["estimate"]
    assert few == 0
    assert enough > 0.5


def test_signed_rank_tests_are_said():
    plan = assay.plan.alt_test((20, 40), epsilon=0.2, min_items=10, n_studies=50)
    assert "tudies with 20 items use signed-rank tests" in plan.summary()
    assert not assay.plan.alt_test((20, 40), epsilon=0.2, min_items=10, test="t", n_studies=50).notes


def test_pilot_size_requires_two_annotators_and_judge():
    item = np.array([0, 0, 1, 1, 1, 2, 3, 3])
    who = np.array([0, 1, 0, 1, 2, 0, 1, 2])
    judge = np.array([1.0, 1.0, 1.0, np.nan])  # two annotators: items 0, 1; item 3: no judge label
    table = SimpleNamespace(
        panel=Panel(item, who, np.ones(8), 4, 3, np.ones(3)), humans=("a", "b", "c"), judge_labels=lambda name: judge
    )
    (words,) = planning.PilotSource.assumptions(SimpleNamespace(table=table, judge="m"))
    assert words.startswith("Panels and items drawn from a pilot of 2 items by 3 annotators, judge m; assumes that ")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({}, ""),
        ({"low": None, "high": None}, " (80% range: above these sizes)"),
        ({"low": 90, "high": 1200}, " (80% range: 90–1,200)"),
        ({"low": 90, "high": None}, " (80% range: 90 or more)"),
        ({"low": 50, "high": 220}, " (80% range: up to 220)"),  # 50 is the smallest size of the plan, not an estimate
        ({"low": 50, "high": None}, " (80% range: beyond these sizes at both ends)"),
    ],
)
def test_range_words(row, words):
    assert planning._range(row, 50) == words


def test_power_below_the_required_is_not_rounded_up_to_it():
    """.796 of 0.8 is not 0.80: 300 items, the next size, are the smallest that reach it."""
    assert planning._below(0.796, 0.8) == "0.796"
    assert planning._below(0.7999, 0.8) == "0.799"
    assert [planning._below(v, 0.8) for v in (0.80, 0.794, 0.804)] == ["0.80", "0.79", "0.80"]


def test_verdicts_of_a_pilot_add_up_with_the_assurance():
    """All columns of a row are of the same truths: 0.89 next to 0.84 and 0.16 were two averages."""
    pilot = assay.simulate(60, 4, seed=5, judges={"m": 0.25}, scale="1-5")
    rows = assay.plan.alt_test([40, 80, 160], pilot=pilot, n_studies=200, epsilon=0.15).table
    conclusive = rows["replace"] + rows["do_not_replace"] + rows["mixed"]
    np.testing.assert_allclose(conclusive, rows["estimate"])
    np.testing.assert_allclose(rows["undecided"], 1 - rows["estimate"])


def test_prior_on_the_command_line(capsys):
    call = ["plan", "alt-test", "--n-items", "60", "--n-studies", "50", "--epsilon", "0.1", "--categories", "3"]
    with pytest.raises(SystemExit) as ended:
        main([*call, "--prior", "0.7,0.2,0.1"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    found = assay.plan.alt_test([60], n_studies=50, epsilon=0.1, categories=3, prior=[0.7, 0.2, 0.1])
    assert f"{found.table['estimate'][0]:.2f}" in out


def ends(*, pilot=None, **more):
    """Four studies of two sizes at two epsilons: how each ends is the position in `VERDICTS`."""
    verdicts = np.array([[[3, 0], [3, 0], [3, 1], [0, 2]], [[0, 0], [0, 0], [1, 0], [0, 0]]])
    settings = planning.PlanSettings(n_items=[20, 400], epsilon=[0.1, 0.2], pilot=pilot, min_items=30, power=0.5)
    common = {
        "settings": settings, "each": 2, "ends": verdicts, "winning": np.where(verdicts == 0, 1.0, 0.0),
        "passing": verdicts == 0, "rho": np.array([[0.5, 0.9], [0.7, 0.9], [np.nan, 0.8], [0.9, 0.6]]),
        "tested": np.ones((4, 2)), "ranked": np.zeros((4, 2), dtype=bool),
    }  # fmt: skip
    return planning.StudyEnds(**common | more)


def test_study_ends_shares_by_hand():
    table = ends().frame(3)
    assert VERDICTS == ("replace", "do_not_replace", "mixed", "undecided")
    assert table.select("epsilon", "n_items").rows() == [(0.1, 20), (0.1, 400), (0.2, 20), (0.2, 400)]
    assert table["replace"].to_list() == table["estimate"].to_list() == [0.25, 0.5, 0.75, 1.0]
    assert table["do_not_replace"].to_list() == [0, 0.25, 0.25, 0]
    assert table["mixed"].to_list() == [0, 0.25, 0, 0]
    assert table["undecided"].to_list() == [0.75, 0, 0, 0]
    # omega and rho are means over the studies with a tested annotator: three of 20 items, four of 400.
    assert table["winning_rate"].to_list() == pytest.approx([1 / 3, 0.5, 1.0, 1.0])
    assert table["advantage_probability"].to_list() == pytest.approx([0.7, 0.8, 0.7, 0.8])
    assert table["low"].to_list() == pytest.approx(wilson(np.array([0.25, 0.5, 0.75, 1.0]), 4, 0.95)[0].tolist())
    assert table["n"].to_list() == [4] * 4
    assert ends().ranges(3) == []


def test_studies_of_one_truth_are_counted_together():
    # Truths of two studies each: of the first, none of 20 items and both of 400 tell at epsilon .1.
    assert ends().by_truth.tolist() == [[[0, 1], [0.5, 1]], [[1, 1], [1, 1]]]
    assert not ends().assured
    assert ends(pilot="labels").assured


def test_notes_name_untested_annotators_and_signed_rank_tests():
    assert ends().notes(3) == []
    tested = np.array([[2 / 3, 1], [1 / 3, 1], [0, 1], [1, 1]])  # a half at 20 items
    (few,) = ends(tested=tested).notes(3)
    assert few == "some of 3 annotators have fewer than 30 comparable items and are not tested (50% at 20 items)"
    ranked = np.array([[False, False], [True, False], [False, False], [False, False]])
    (by_rank,) = ends(ranked=ranked).notes(3)
    assert by_rank.startswith("studies with 20 items use signed-rank tests (fewer than 30 items of an annotator)")


@pytest.mark.slow
def test_summary_states_assumptions():
    plan = assay.plan.alt_test(
        (40, 80), (3, 4), expertise="crowd", categories="1-5", prior=(0.1, 0.2, 0.3, 0.3, 0.1), spread=0.5,
        judge_bias=0.5, annotator_noise=(0.1, 0.3), labels_per_item=3, n_studies=20, seed=9,
    )  # fmt: skip
    text = plan.summary()
    for words in (
        "20 studies", "whole number from 1 to 5", "annotator noise 0.1,0.3, judge noise 0.2", "judge bias +0.5",
        "Prior of the labels 0.1,0.2,0.3,0.3,0.1", "standard deviation 0.5", "labelled by 3 annotators",
        "3 annotators\n", "4 annotators\n", "ε = 0.1",
    ):  # fmt: skip
        assert words in text
    assert plan.signature.startswith(
        "plan-alt-test|score:neg_rmse|of:ordinal:1-5 noise 0.1,0.3 vs 0.2|items:40,80|humans:3,4|eps:0.10|"
    )
    as_json = json.loads(json.dumps(plan.to_dict()))
    assert as_json["kind"] == "AltTestPlan"
    assert len(as_json["table"]) == 4
    assert as_json["settings"]["seed"] == 9
    assert as_json["settings"]["fdr"] == 0.05
    assert as_json["settings"]["epsilon"] == [0.1]
    assert [row["n_annotators"] for row in as_json["smallest"]] == [3, 4]
    assert not {"outcomes", "ranges"} & set(as_json), "said once, in the table and in smallest"


def rounded(table: pl.DataFrame) -> list[tuple[object, ...]]:
    return [tuple(round(v, 3) if isinstance(v, float) else v for v in row) for row in table.rows()]


def test_small_plan_summary():
    plan = assay.plan.alt_test(
        [40, 30], [4, 3], n_studies=60, seed=3, annotator_noise=0.3, judge_noise=0.2, epsilon=[0.2, 0.1],
        categories="1-5",
        judge_bias=0.1, spread=0.2, prior=[0.1, 0.2, 0.3, 0.2, 0.2], power=0.3,
    )  # fmt: skip
    assert rounded(plan.table) == [
        (3, 0.1, 30, 0.05, 0.017, 0.137, 60, 0.05, 0, 0, 0.95, 0.083, 0.106, 0.828),
        (3, 0.1, 40, 0.117, 0.058, 0.222, 60, 0.117, 0, 0, 0.883, 0.1, 0.111, 0.825),
        (3, 0.2, 30, 0.233, 0.144, 0.354, 60, 0.233, 0, 0, 0.767, 0.317, 0.372, 0.828),
        (3, 0.2, 40, 0.4, 0.286, 0.526, 60, 0.4, 0, 0, 0.6, 0.533, 0.533, 0.825),
        (4, 0.1, 30, 0.067, 0.026, 0.159, 60, 0.067, 0, 0, 0.933, 0.067, 0.071, 0.814),
        (4, 0.1, 40, 0.133, 0.069, 0.242, 60, 0.133, 0, 0, 0.867, 0.133, 0.117, 0.812),
        (4, 0.2, 30, 0.3, 0.199, 0.425, 60, 0.3, 0, 0, 0.7, 0.333, 0.329, 0.814),
        (4, 0.2, 40, 0.383, 0.271, 0.51, 60, 0.383, 0, 0, 0.617, 0.483, 0.454, 0.812),
    ]
    assert plan.smallest.rows() == [(3, 0.1, None), (3, 0.2, 40), (4, 0.1, None), (4, 0.2, 30)]
    *text, signature = plan.summary().splitlines()
    assert signature == plan.signature
    assert (
        "\n".join(text)
        == """\
Power: the share of 60 studies with the verdict Replace.
Simulated studies, labels a whole number from 1 to 5; annotator noise 0.3, judge noise 0.2, judge bias +0.1.
Prior of the labels 0.1,0.2,0.3,0.2,0.2.
Every label has a Gaussian error with standard deviation 0.2.
Verdict at α = 0.05: non-inferior to 50% of annotators and agreement ratio above 0.6; score neg_rmse. \
Monte Carlo error at most 0.13.

3 annotators
  items   ε = 0.1   ε = 0.2
     30      0.05      0.23
     40      0.12      0.40

4 annotators
  items   ε = 0.1   ε = 0.2
     30      0.07      0.30
     40      0.13      0.38

None of these sizes gives power 0.30 or more (ε = 0.1, 3 annotators).
40 items give power 0.40, at least 0.30 (ε = 0.2, 3 annotators); Do not replace 0.00, Undecided 0.60.
None of these sizes gives power 0.30 or more (ε = 0.1, 4 annotators).
30 items give power 0.30, at least 0.30 (ε = 0.2, 4 annotators); Do not replace 0.00, Undecided 0.70.
Based on assumed error rates, so no interval.
A judge exactly at the margin ε is Undecided in most studies, of any size: a study without Replace is seldom one with \
Do not replace."""
    )


def test_small_pilot_plan_summary():
    pilot = assay.simulate(40, 4, seed=1, judges={"m": 0.2}, scale="1-5")
    plan = assay.plan.alt_test([30, 40], pilot=pilot, n_studies=40, seed=3, epsilon=[0.2, 0.1], power=0.35)
    assert rounded(plan.table) == [
        (3, 0.1, 30, 0.067, 0.005, 0.48, 42, 0.067, 0.0, 0, 0.933, 0.048, 0.063, 0.837),
        (3, 0.1, 40, 0.1, 0.012, 0.514, 42, 0.1, 0.0, 0, 0.9, 0.095, 0.135, 0.839),
        (3, 0.2, 30, 0.367, 0.109, 0.733, 42, 0.333, 0.033, 0, 0.633, 0.357, 0.349, 0.837),
        (3, 0.2, 40, 0.4, 0.126, 0.756, 42, 0.4, 0.0, 0, 0.6, 0.381, 0.421, 0.839),
    ]
    assert plan.smallest.rows() == [(3, 0.1, None, None, None), (3, 0.2, 30, 30, None)]
    *text, _ = plan.summary().splitlines()
    assert (
        "\n".join(text)
        == """\
Assurance: the share of 42 studies with a conclusive verdict, averaged over the middle four fifths of the pilot's \
posterior.
Panels and items drawn from a pilot of 40 items by 4 annotators, judge m; assumes that further items and annotators \
are like these.
Verdict at α = 0.05: non-inferior to 50% of annotators and agreement ratio above 0.6; score neg_rmse. \
Monte Carlo error at most 0.15.

3 annotators
  items   ε = 0.1   ε = 0.2
     30      0.07      0.37
     40      0.10      0.40

None of these sizes gives assurance 0.35 or more (ε = 0.1, 3 annotators).
30 items (80% range: beyond these sizes at both ends) give assurance 0.37, at least 0.35 (ε = 0.2, 3 annotators); \
Do not replace 0.03, Undecided 0.63."""
    )


def test_plan_defaults():
    assert planning.SIZES == (30, 50, 75, 100, 150, 200, 300, 500)
    assert planning.EPSILONS == (0.1, 0.15, 0.2)
    assert (planning.LEVEL, planning.PlanSettings().epsilons) == (0.95, (0.1, 0.15, 0.2))
    assert planning.PlanSettings().sizes == planning.SIZES
    said = {one: planning.PlanSettings(expertise=one).epsilons for one in ("crowd", "skilled", "expert")}
    assert said == {"crowd": (0.1,), "skilled": (0.15,), "expert": (0.2,)}
    plan = assay.plan.alt_test([30, 40], n_studies=20, seed=3, annotator_noise=[0.1, 0.3], min_items=10,
                               labels_per_item=2)  # fmt: skip
    assert plan.summary().splitlines()[1:4] == [
        "Simulated studies, labels one of a, b, c, d; annotator noise 0.1,0.3, judge noise 0.2.",
        "The prior of the labels is drawn for each study from a flat Dirichlet.",
        "Each item is labelled by 2 annotators, drawn at random.",
    ]
    assert plan.notes == (
        "studies with 30, 40 items use signed-rank tests (fewer than 30 items of an annotator), whose error rate is "
        "far above the level and which depend little on epsilon; test='exact' has the stated error rate "
        "(docs/type-one-error.md)",
    )


@pytest.mark.slow
def test_different_assumptions_have_different_signatures():
    plans = [
        assay.plan.alt_test(40, n_studies=5, **options)
        for options in (
            {}, {"annotator_noise": 0.2}, {"judge_noise": 0.1}, {"categories": 5}, {"labels_per_item": 2}, {"seed": 1},
            {"balance": True}, {"test": "t"}, {"pilot": assay.simulate(seed=1)}, {"pilot": assay.simulate(seed=2)},
            {"categories": "1-5"}, {"categories": "1-5", "spread": 1}, {"categories": "1-5", "judge_bias": 1},
        )
    ]  # fmt: skip
    assert len({p.signature for p in plans}) == len(plans)


def test_plot_has_line_per_epsilon_and_panel():
    ax = assay.plan.alt_test((30, 60), (3, 5), epsilon=(0.1, 0.2), n_studies=20).plot()
    assert len([line for line in ax.lines if line.get_label().startswith("ε")]) == 4


@pytest.mark.slow
def test_plot_draws_power_interval_and_required_power():
    rows = [(k, e, n, n / 100 + e) for k in (3, 5) for e in (0.1, 0.2) for n in (60, 30)]
    outcomes = pl.DataFrame(rows, schema=["n_annotators", "epsilon", "n_items", "estimate"], orient="row")
    outcomes = outcomes.with_columns(low=pl.col("estimate") - 0.05, high=pl.col("estimate") + 0.1)
    ax = AltTestPlan.plot(SimpleNamespace(outcomes=outcomes, power=0.8, ranges=()))
    shown = {line.get_label(): line.get_xydata() for line in ax.lines[:4]}
    assert shown == {
        f"ε = {e}, {k} annotators": pytest.approx(np.array([[30, 0.3 + e], [60, 0.6 + e]]))
        for k in (3, 5) for e in (0.1, 0.2)
    }  # fmt: skip
    looks = [(line.get_color(), line.get_linestyle()) for line in ax.lines[:4]]
    assert [looks[0][0], looks[1][0]] == [looks[2][0], looks[3][0]]  # a colour an epsilon
    assert len(set(looks)) == 4  # a style a panel
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == pytest.approx((0.35, 0.8))
    assert list(ax.lines[4].get_ydata()) == [0.8, 0.8]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("items", "power: P(Replace)")
    low, high = ax.get_ylim()
    assert -0.041 < low < 0
    assert 1 < high < 1.061
    assert_readable(ax)
    assert ax.get_legend()._ncols == 3  # of four lines: three abreast at most
    alone = outcomes.filter(n_annotators=3, epsilon=0.2)
    ax = AltTestPlan.plot(SimpleNamespace(outcomes=alone, power=0.8, ranges=({"low": 1},)))
    assert ax.lines[0].get_label() == "ε = 0.2"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("items, 3 annotators", "assurance: P(conclusive verdict)")


# -- edges --------------------------------------------------------------------------------------------

PILOT = assay.simulate(40, 3, judges={"a": 0.1, "b": 0.4}, seed=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 1.5}, "epsilon must lie between 0 and 1"),
        ({"epsilon": 0.1, "expertise": "crowd"}, "both set epsilon"),
        ({"expertise": "experts"}, "did you mean 'expert'"),
        ({"n_items": 1}, "n_items must be whole numbers of at least 2"),
        ({"n_annotators": ()}, "n_annotators is empty"),
        ({"n_annotators": (1, 3)}, "n_annotators must be whole numbers of at least 2"),
        ({"power": 1}, "power must lie between 0 and 1"),
        ({"n_studies": 0}, "n_studies must be a whole number of at least 1"),
        ({"annotator_noise": 1.5}, "annotator_noise must lie between 0 and 1"),
        ({"annotator_noise": ()}, "annotator_noise is empty"),
        ({"judge_noise": -0.1}, "judge_noise must lie between 0 and 1"),
        ({"judge_bias": 1}, "bias needs an ordered scale"),
        ({"labels_per_item": 1}, "labels_per_item must be a whole number of at least 2"),
        ({"judge": "a"}, "judge=... requires a pilot"),
        ({"gold": "truth"}, "omit gold=..."),
        ({"clusters": "document"}, "omit clusters=..."),
        ({"n_resamples": 100}, "no intervals of rho; omit n_resamples=..."),
        ({"normalise": "zscore"}, "require real annotators"),
        ({"fdrr": 0.1}, "did you mean 'fdr'"),
        ({"pilot": PILOT}, "2 judges (a, b); specify one"),
        ({"pilot": "labels.csv"}, "pilot=... requires labels from assay.read(...)"),
        ({"pilot": PILOT, "judge": "a", "n_annotators": 4}, "the pilot has 3 annotators"),
        ({"pilot": PILOT, "judge": "a", "judge_noise": 0.2}, "judge_noise=... is for simulated labels"),
        ({"pilot": PILOT, "judge": "a", "categories": 3}, "categories=... is for simulated labels"),
    ],
)
def test_words_of_each_error(options, words):
    with pytest.raises(DesignError) as error:
        assay.plan.alt_test(**options)
    assert words in str(error.value)


def test_unknown_judge_of_pilot_is_refused():
    with pytest.raises(DataError, match="judge 'c' is not in"):
        assay.plan.alt_test(pilot=PILOT, judge="c")


# -- pinned answers ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("few_truths")
@pytest.mark.parametrize(("name", "further"), each_kept(questions_of("planning")))
def test_answers_are_those_of_before(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)


def test_holm_adjusted_plan_tests_at_alpha_by_number():
    options = {"n_items": (60, 120), "epsilon": 0.2, "judge_noise": 0.25, "n_studies": 300, "seed": 2}
    adjusted = assay.plan.alt_test(**options, n_verdicts=4)
    at_level = assay.plan.alt_test(**options, alpha=0.05 / 4)
    # The agreement of the annotators is tested at alpha in both.
    assert adjusted.table.equals(at_level.table)
    assert (adjusted.table["estimate"] < assay.plan.alt_test(**options).table["estimate"]).all()
    assert "; Holm-adjusted for 4 verdicts." in adjusted.summary()
    assert "|verdicts:4|" in adjusted.signature


def test_plan_of_two_annotators_has_the_note_of_the_test():
    note = "with fewer than three annotators there is no consensus to compare with"
    plans = {n: assay.plan.alt_test(40, n_annotators=n, epsilon=0.2, n_studies=20) for n in (2, 3)}
    assert [note in plan.run.notes for plan in plans.values()] == [True, False]
