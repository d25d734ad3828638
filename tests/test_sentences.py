"""Each sentence of a result says what its numbers say: both directions, 'not shown', and where there is no interval.

A result is made once; its numbers are then set to each case, so that the sentence is held against numbers that the test
knows.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.cli.output import _whole as whole_table
from assay.concordance import words as sentences
from assay.concordance.grading_scale import grading_scale_study
from assay.concordance.measures import cohen_kappa, krippendorff_alpha
from assay.errors import counted
from assay.estimation.intervals import Estimate, missing
from assay.ideas.validate import MeasureVerdict
from assay.reporting.tables import decimals, estimated, interval, said, signed

EXAMPLES = Path(__file__).parents[1] / "examples"
NONE = float("nan")


def put(frame: pl.DataFrame, row: int, **values: Any) -> pl.DataFrame:
    """The frame with other values in one row."""
    at = pl.int_range(pl.len()) == row
    return frame.with_columns(**{c: pl.when(at).then(pl.lit(v)).otherwise(pl.col(c)) for c, v in values.items()})


def judged(seed: int = 5) -> assay.Annotations:
    """Three people and two judges, one of them poor."""
    return assay.simulate(n_items=60, scale="1-5", judges={"good": 0.1, "poor": 0.9}, seed=seed)


# -- agreement ----------------------------------------------------------------------------------------


def test_a_coefficient_names_two_annotators_and_counts_more():
    labels = judged()
    two, three = cohen_kappa(labels, ["ann_1", "ann_2"]), krippendorff_alpha(labels, ["ann_1", "ann_2", "ann_3"])
    for found, who in ((two, "ann_1 and ann_2"), (three, "3 annotators")):
        first, second, *_ = found.summary().splitlines()
        ends = interval(found.low, found.high, 3)
        assert first == f"{found.title}: {said(found.estimate, 3)}, 95% confidence interval {ends}."
        assert second == f"60 items, {who}; {found.run.interval}."
    bare = dataclasses.replace(two, low=NONE, high=NONE, reason="why not")
    assert bare.summary().splitlines()[0] == f"{two.title}: {said(two.estimate, 3)}, no interval: why not."


@pytest.mark.slow
def test_judge_comparisons_distinguish_better_worse_and_undecided():
    found = assay.agreement(judged(), who=["human pairs"], n_resamples=200)
    assert found.differences.filter(pl.col("coefficient") == found.headline)["judge"].to_list() == ["good", "poor"]
    words = {
        "yes": "it agrees more with humans than they do with each other",
        "no": "it agrees less with humans than they do with each other",
        "undecided": "no significant difference",
    }
    for closer, wanted in words.items():
        rows = found.differences.with_columns(closer=pl.lit(closer), without=pl.lit("a"))
        lines = sentences.judge_comparisons(dataclasses.replace(found, differences=rows))
        for line, judge in zip(lines, ("good", "poor"), strict=True):
            assert line.startswith(f"{judge}: Krippendorff's α (ordinal) with humans minus that among humans = ")
            assert f"; {wanted}" in line
        known = rows.filter(pl.col("coefficient") == found.headline).iter_rows(named=True)
        for line, row in zip(lines, known, strict=True):
            excludes_0 = row["low"] > 0 or row["high"] < 0
            unlike = "; the interval is not adjusted)." if excludes_0 else "; the interval is not that of the test)."
            assert line.endswith(unlike if excludes_0 == (closer == "undecided") else f"; {wanted}.")
    # The verdict in the table is that of the adjusted p and the sign of the difference.
    for row in found.differences.iter_rows(named=True):
        shown = row["p_adjusted"] is not None and row["p_adjusted"] <= 0.05
        lower = found.rows.filter(pl.col("coefficient") == row["coefficient"])["title"][0].lower()
        errors = any(word in lower for word in ("error", "difference"))
        better = (row["estimate"] < 0) if errors else (row["estimate"] > 0)
        assert row["closer"] == (("yes" if better else "no") if shown else "undecided"), row
    assert set(found.differences["closer"]) >= {"no"}
    plain = assay.agreement(judged(), who=["human pairs"], n_resamples=20, adjust="none", coefficients=["cohen-kappa"])
    assert "p-values not adjusted" in sentences.interval_sentence(plain)
    assert " test, not adjusted; intervals are not adjusted." in sentences.interval_sentence(plain)
    assert "(holm). Judge minus human differences: " in sentences.interval_sentence(found)
    assert " test, adjusted for 2 comparisons (holm); " in sentences.interval_sentence(found)


def test_scales_are_described_by_their_own_rows():
    rng = np.random.default_rng(2)
    rows = []
    for i, truth in enumerate(rng.random(24)):
        for who in ("p1", "p2", "p3", "gpt"):
            for top, noise in ((5, 0.05), (10, 0.2 if who == "gpt" else 0.05)):
                value = np.clip(truth + noise * rng.normal(), 0, 1) * top
                rows.append((f"i{i:02d}", who, round(float(value), 1), f"0-{top}"))
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "scale"], orient="row")
    labels = assay.read(frame, judges=["gpt"], scale="interval:0-10", conditions=["scale"])
    study = grading_scale_study(labels, method="jackknife", well_aligned=0.1)
    assert study.best == "0-5"
    of = {r["scale"]: r for r in study.alignment.filter(pl.col("measure") == "icc").iter_rows(named=True)}
    lines = study.summary().splitlines()
    best = of["0-5"]
    assert lines[0].startswith(f"Use scale 0-5. ICC(A,1) of humans and judges: {said(best['estimate'], 3)} [")
    assert lines[1].startswith(f"Other scales: 0-10 {said(of['0-10']['estimate'], 3)} ")
    mine = study.items.filter(pl.col("scale") == "0-5")
    far = sum(not aligned for aligned in mine["aligned"])
    assert 0 < far < 24
    assert f"On 0-5, the means of humans and judges differ by more than 0.1 of the range on {far} of 24 items." in lines


# -- judges -------------------------------------------------------------------------------------------


def test_a_lead_is_clear_only_where_its_interval_is():
    found = assay.compare_judges(judged(), epsilon=0.1)
    good = found.tests["good"]
    for low, words in ((0.02, "good is significantly closer to the annotators"), (-0.02, "no significant difference")):
        lead = Estimate(0.1, low, 0.2, 0.05)
        text = dataclasses.replace(found, lead=lead, lead_is_clear=low > 0).summary()
        assert f"good − poor: 0.10 {interval(low, 0.2)}, same items; {words}." in text
    lines = found.summary().splitlines()
    ahead = signed(good.advantage_difference.estimate, 2)
    assert lines[0].startswith(f"Highest advantage probability minus the annotators': good, {ahead} ")
    assert lines[0].endswith(f"; ρ = {said(good.advantage_probability.estimate)}.")
    assert "adjusted for selecting the best of 2" in lines[0]
    for verdict in {test.verdict_text for test in found.tests.values()}:
        names = [name for name, test in found.tests.items() if test.verdict_text == verdict]
        assert f"{verdict} ({len(names)} of 2): {', '.join(names)}." in lines
    for passes in itertools.product((True, False), repeat=2):
        tests = {
            name: dataclasses.replace(test, passed=passed)
            for (name, test), passed in zip(found.tests.items(), passes, strict=True)
        }
        names = [name for name, test in tests.items() if test.passed]
        listed = f": {', '.join(names)}." if names else "."
        text = dataclasses.replace(found, tests=tests).summary()
        assert f"Published rule: {len(names)} of 2 judges pass (ε = 0.1){listed}" in text
    assert "any false Replace among 2 judges: at most 0.05 (Holm-adjusted)" in found.summary()
    alone = assay.compare_judges(judged(), ["good"], epsilon=0.1).summary()
    assert "selecting the best" not in alone
    assert "any false Replace" not in alone
    for passed in (True, False):
        ceiling = dataclasses.replace(found.ceiling, passed=passed)
        text = dataclasses.replace(found, ceiling=ceiling).summary()
        assert ("does not pass the published rule either" in text) == (not passed)
    assert "published rule either" not in dataclasses.replace(found, ceiling=None).summary()


# -- votes --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def votes() -> assay.Annotations:
    return assay.read(EXAMPLES / "votes.csv", scale="preference", repeat="repeat", judges=["gpt-4o"])


def test_a_system_leads_where_the_difference_leaves_0_out(votes):
    found = assay.ratings(votes, n_resamples=60, who="together")
    lines = found.summary().splitlines()
    for line, row in zip(lines, found.rows.iter_rows(named=True), strict=False):
        low, high = row["rank_low"], row["rank_high"]
        ranks = f"{low}" if low == high else f"{low}–{high}"
        votes_of = f"{100 * row['win_rate']:.0f}% of {row['votes']:,} votes"
        assert line == (
            f"{row['rank']}. {row['system']} {estimated(row['estimate'], row['low'], row['high'], 0)}, rank "
            f"{ranks}, won {votes_of}."
        )
    first, second = found.rows["system"].head(2)
    for low, words in ((1.0, "; significant"), (-1.0, "; not significant"), (NONE, "")):
        lead = Estimate(10.0, low, 20.0 if low == low else NONE, 5.0)
        number = estimated(10.0, lead.low, lead.high, 0)
        assert f"{first} − {second}: {number}{words}." in dataclasses.replace(found, lead=lead).summary()
    bare = assay.ratings(votes, method="none", who="together").summary()
    assert "(no interval), won " in bare


def test_savings_are_fewer_more_or_not_clear(votes):
    found = assay.consistency(votes, by="separability", choose="weighted", share=0.25, n_resamples=60)
    cases = {
        (0.2, 0.1, 0.3): "requires 20% [10, 30] fewer ratings than with items drawn at random.",
        (0.2, -0.1, 0.3): "requires 20% [−10, 30] fewer ratings than with items drawn at random; not significant.",
        (-0.2, -0.3, -0.1): "requires 20% [10, 30] more ratings than with items drawn at random.",
        (-0.2, -0.3, 0.1): "requires 20% [−10, 30] more ratings than with items drawn at random; not significant.",
    }
    for (value, low, high), words in cases.items():
        saving = {"humans": Estimate(value, low, high, 0.1)}
        (line,) = [
            one
            for one in dataclasses.replace(found, saving=saving).summary().splitlines()
            if "consistent votes requires" in one
        ]
        assert line.startswith("humans: with 25% of the items, chosen by separability (weighted), the same number")
        assert line.endswith(words)
    none = dataclasses.replace(found, saving={"humans": missing("why")}).summary()
    assert "humans: saving not estimable: no vote on the chosen items is consistent." in none
    for line, row in zip(found.summary().splitlines(), found.headlines.iter_rows(named=True), strict=False):
        pair = "all pairs" if row["first"] is None else f"{row['first']} and {row['second']}"
        where = f", {row['bin']}" if row["bin"] else ""
        assert line.startswith(f"{row['who']}, {pair}{where}: mean consistency {said(row['estimate'], 3)} ")
        assert line.endswith(
            f" ({counted(row['sets'], 'rating set')}; {100 * row['mixed']:.0f}% inconsistent, "
            f"{100 * row['all_ties']:.0f}% all ties)."
        )


def test_position_bias_is_detected_by_adjusted_p(votes):
    rows = [(f"p{i}", order, -1 if order == "a>b" else 1, 1) for i in range(12) for order in ("a>b", "b>a")]
    frame = pl.DataFrame(rows, schema=["item", "order", "label", "position"], orient="row")
    labels = assay.Annotations.from_frame(
        frame.with_columns(annotator=pl.lit("m"), kind=pl.lit("judge")), scale=assay.Preference(), conditions=["order"]
    )
    found = assay.position_bias(labels)
    for low, high, p, biased in ((0.6, 0.9, 0.05, ("m",)), (0.6, 0.9, 0.051, ()), (NONE, NONE, NONE, ())):
        shares = put(found.shares.head(1), 0, estimate=0.5, low=low, high=high, difference=0.0, p_adjusted=p)
        one = dataclasses.replace(found, shares=shares)
        assert one.biased == biased
        ends = "" if low != low else f" {interval(low, high)}"
        assert one.sentences()[0].startswith(
            f"m: probability of choosing the text shown first 0.50{ends}, +0.00 from 0.50 ("
        )


# -- variances ----------------------------------------------------------------------------------------


def test_a_g_study_says_each_group_and_what_is_at_0():
    rng = np.random.default_rng(1)
    rows = []
    for k, (p, i) in enumerate(itertools.product(range(8), range(5))):
        rows += [(f"x{k}", who, float(p + (who == "m") * i + rng.normal()), f"p{p}", f"i{i}") for who in ("h", "m")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "p", "i"], orient="row")
    labels = assay.read(frame, judges=["m"], scale="interval:-100-100")
    found = assay.g_study(labels, "p x i", "p", by="kind", method="delta")
    lines = list(found.sentences())
    for study in found.studies:
        g, d = study.generalizability, study.dependability
        largest = max(study.components, key=lambda c: c.percent)
        line = next(one for one in lines if one.startswith(f"{study.name}: Single score: Eρ² = "))
        assert line == (
            f"{study.name}: Single score: Eρ² = {estimated(g.estimate, g.low, g.high, 3)}, Φ = "
            f"{estimated(d.estimate, d.low, d.high, 3)}. SEM: absolute {study.absolute_sem:.2f}, relative "
            f"{study.relative_sem:.2f}. Largest component: {largest.name} ({largest.percent:.0f}%)."
        )
        zero = [c.name for c in study.components if c.at_zero]
        assert any(one.startswith(f"{study.name}: ") and "estimated as 0 (boundary)" in one for one in lines) == bool(
            zero
        )
    whole = assay.g_study(labels.where(kind="human"), "p x i", "p", method="delta")
    assert whole.sentences()[0].startswith("Single score: Eρ² = ")
    reached = whole.d_study(i=[1, 2, 40], target=0.5, price=2.0)
    n = reached.smallest["smallest"][0]
    assert reached.sentences()[0] == f"Φ ≥ 0.5 requires {n} i (cost {2 * n:,.2f})."
    top = reached.projected.filter(pl.col("coefficient") == "dependability").sort("estimate").row(-1, named=True)
    value = estimated(top["estimate"], top["low"], top["high"], 3)
    untargeted = whole.d_study(i=[1, 2, 40])
    assert f"Largest projected Φ: {value} with {top['i']} i" in untargeted.summary()


def test_what_both_share_is_one_of_four_findings():
    rng = np.random.default_rng(3)
    rows = []
    for t in range(12):
        truth = rng.normal()
        for k in range(3):
            rows += [
                {"item": f"{t}-{k}-{who}", "teacher": f"t{t}", "lesson": f"t{t}-{k}", "annotator": who,
                 "label": truth + 0.5 * rng.normal()}
                for who in ("h1", "h2", "m1", "m2")
            ]  # fmt: skip
    labels = assay.read(pl.DataFrame(rows), judges=["m1", "m2"], scale="interval:-100-100")
    facets = {"r": "annotator", "o": "lesson", "i": "teacher"}
    found = assay.disattenuated_correlation(labels, "r x (o:i)", "i", facets=facets, n_resamples=20)
    first, second = found.families
    words = {
        "spurious": "agreement on the same lesson does not extend to the object: the universe-score correlation is low "
        "(spurious)",
        "shared": "universe-score correlation significantly above 0",
        "undecided": "universe-score correlation undecided",
        "not_estimable": "universe-score correlation not estimable",
    }

    def changed(**changes):
        return dataclasses.replace(found, each=(dataclasses.replace(found.each[0], **changes),))

    for finding, wanted in words.items():
        assert changed(finding=finding).sentences()[0] == f"{first} and {second}: {wanted}."
    for value, above in ((0.9, False), (1.2, True)):
        lines = changed(structural=Estimate(value, 0.5, 1.3, 0.2)).sentences()
        assert lines[2].startswith(
            f"Universe-score correlation (structural): {value:.2f} [0.50, 1.30]. Published equation 3"
        )
        assert (lines[-1] == "An estimate above 1 is compatible with a correlation of about 1.") == above
    unknown = changed(structural=missing("why"), finding="not_estimable").sentences()
    assert unknown[0] == f"{first} and {second}: universe-score correlation not estimable: why."
    assert len(unknown) == 2
    for low, high in ((0.1, 0.4), (NONE, NONE)):
        text = changed(resampled=(0.2, low, high)).summary()
        assert (f"Published interval (resampled pairs): {interval(low, high)}; too narrow" in text) == (low == low)


# -- raters -------------------------------------------------------------------------------------------


def test_raters_are_severe_lenient_or_not_told_apart_and_fit_or_do_not():
    found = assay.many_facet_rasch(assay.simulate(n_items=30, n_annotators=3, scale="1-4", seed=2), nodes=9)
    assert found.rows.height == 4
    names = found.rows["annotator"].to_list()
    rows = found.rows.with_columns(
        estimate=pl.Series([0.5, -0.4, 0.9, 0.0]), p_adjusted=pl.Series([0.01, 0.02, 0.2, 0.5]),
        infit=pl.Series([2.0, 0.4, 1.0, 2.5]), fit_p=pl.Series([0.01, 0.01, 0.01, 0.5]),
    )  # fmt: skip
    parts = pl.DataFrame(
        {"facet": ["raters"], "reliability": [0.812], "separation": [2.08], "strata": [3.1], "reason": [None]},
        schema_overrides={"reason": pl.String},
    )
    bias = found.bias.head(0)
    lines = list(dataclasses.replace(found, rows=rows, separation=parts, bias=bias).sentences())
    severity, apart, unexpected, predictable, last = lines
    assert severity.startswith(f"Significantly more severe than the mean (logits): {names[0]} (")
    assert f"; more lenient: {names[1]} (" in severity
    assert names[2] not in severity
    assert names[3] not in severity
    assert apart == "2 of 4 raters: no significant difference in severity."
    assert unexpected == f"Misfit (infit > 1.3): {names[0]} (2.00)."
    assert predictable == f"Overfit (infit < 0.77): {names[1]} (0.40)."
    assert last == "Reliability of severities 0.81: separation 2.1, 3.1 strata."
    alike = rows.with_columns(p_adjusted=pl.lit(0.5), fit_p=pl.lit(0.5))
    told = parts.with_columns(reason=pl.lit("they are alike"))
    assert list(dataclasses.replace(found, rows=alike, separation=told, bias=bias).sentences()) == [
        "4 of 4 raters: no significant difference in severity.",
        "Reliability of severities not estimable: they are alike.",
    ]  # fmt: skip


# -- ideas --------------------------------------------------------------------------------------------


def test_a_judge_among_people_is_closer_farther_or_not_shown():
    rng = np.random.default_rng(1)
    vocabulary = ["red", "green", "blue", "old", "new", "small"]
    rows = [
        (f"i{i:02d}", who, " ".join(rng.choice(vocabulary, 3, replace=False)))
        for i in range(20) for who in ("p0", "p1", "p2", "gpt")
    ]  # fmt: skip
    labels = assay.read(
        pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), scale="text", judges=["gpt"]
    )
    found = assay.annotator_similarity(labels, n_resamples=40)
    at = found.rows["kind"].to_list().index("judge")
    for low, high, words in (
        (0.1, 0.3, "significantly higher"),
        (-0.3, -0.1, "significantly lower"),
        (-0.1, 0.3, "no significant difference"),
    ):
        mean = (low + high) / 2
        rows_now = put(found.rows, at, difference=mean, difference_low=low, difference_high=high)
        line = dataclasses.replace(found, rows=rows_now).summary().splitlines()[0]
        number = f"{signed(mean, 3)} {interval(low, high, 3, '+')}"
        assert line.startswith(f"gpt: similarity to humans minus similarity among humans = {number}; {words} (")
    people = found.rows.filter(pl.col("kind") == "human").sort("difference")
    ends = [
        f"{signed(r['difference'], 3)} ({r['annotator']})"
        for r in (people.row(0, named=True), people.row(-1, named=True))
    ]
    assert f"Humans: differences from {ends[0]} to {ends[1]}." in found.summary()


def test_a_measure_beats_another_only_where_the_difference_leaves_0_out():
    labels = assay.read(EXAMPLES / "odd_ones.csv", scale="odd-one-out", judges=["gpt-4o"])
    found = assay.validate_similarity(labels, ["words", "characters"], n_resamples=40, with_judges=False)
    top, other = found.rows["measure"].head(2)
    sees = MeasureVerdict("partly_valid_undecided", 0.5, 0.01)
    found = dataclasses.replace(found, verdicts=dict.fromkeys((top, other, f"gpt{top}", f"gpt{other}"), sees))
    for low, high, words in ((-0.3, -0.1, "significant"), (-0.3, 0.1, "not significant")):
        rows = put(found.rows, 1, estimate=0.4, difference=-0.2, difference_low=low, difference_high=high)
        lines = dataclasses.replace(found, rows=rows).sentences()
        assert lines[0].startswith(
            f"{top}: partly valid (beats the baselines; 80% of the noise ceiling undecided): ρ = "
        )
        assert lines[2] == f"{top} − {other} (0.40): 0.20 {interval(-high, -low)}; {words}."
    rows = put(found.rows, 1, difference=0.0)
    assert dataclasses.replace(found, rows=rows).sentences()[2] == f"{other} has the same ρ as {top}."
    # Of another kind, the best is named too, and no other.
    judges = found.rows.head(2).with_columns(
        measure=pl.format("gpt{}", "measure"), kind=pl.lit("judge"), difference=-0.2, difference_low=-0.3,
        difference_high=-0.1,
    )  # fmt: skip
    rows = pl.concat([found.rows.head(2), judges, found.rows.slice(2)])
    lines = dataclasses.replace(found, rows=rows).sentences()
    assert sum(f"gpt{top} (" in line for line in lines) == 1
    assert not any(f"gpt{other} (" in line for line in lines)
    # What sees nothing beats nothing.
    blind = dict.fromkeys((top, other), MeasureVerdict("undecided", 0.5, 0.4))
    rows = put(found.rows, 1, estimate=0.4, difference=-0.2, difference_low=-0.3, difference_high=-0.1)
    assert f"{top} − " not in " ".join(dataclasses.replace(found, rows=rows, verdicts=blind).sentences())


def test_pairs_are_most_and_least_alike_among_those_that_are_known():
    labels = assay.read(EXAMPLES / "odd_ones.csv", scale="odd-one-out", judges=["gpt-4o"])
    found = assay.triplet_similarity(labels, floor=2)
    pairs = found.pairs.head(4).with_columns(
        estimate=pl.Series([0.5, 0.9, 0.1, 1.0]), low=pl.Series([0.3, 0.7, 0.0, 0.4]),
        high=pl.Series([0.7, 1.0, 0.3, 1.0]), n=pl.Series([5, 6, 7, 1]), enough=pl.Series([True, True, True, False]),
    )  # fmt: skip
    line = dataclasses.replace(found, pairs=pairs).summary().splitlines()[0]
    of = [f"{r['first']} and {r['second']}" for r in pairs.iter_rows(named=True)]
    assert f"Most similar: {of[1]}, 0.90 [0.70, 1.00] of 6." in line
    assert f"Least similar: {of[2]}, 0.10 [0.00, 0.30] of 7." in line
    few = dataclasses.replace(found, pairs=pairs.with_columns(enough=pl.lit(False))).summary()
    assert f"Most similar: {of[3]}, 1.00 [0.40, 1.00] of 1." in few
    assert "4 pairs compared 1 to 7 times (median 5.5); 4 pairs fewer than 2 times." in few


def test_choices_are_foretold_more_than_by_chance_or_not():
    labels = assay.read(EXAMPLES / "odd_ones.csv", scale="odd-one-out", judges=["gpt-4o"])
    found = assay.triplet_embedding(labels, dimensions=1, n_resamples=0)
    chance = np.log(1 / 3)
    for value, words in ((chance + 0.1, "higher than chance"), (chance - 0.1, "not higher than chance")):
        folds = pl.DataFrame({"dimensions": [2, 1], "estimate": [chance, value]})
        text = dataclasses.replace(found, folds=folds).summary()
        assert f"Mean log likelihood of held-out choices: {said(value)}, {words} ({said(chance)})." in text


# -- tables -------------------------------------------------------------------------------------------


def test_the_interval_that_is_named_is_that_of_rho():
    """The mean difference beside it is no share and has another."""
    found = assay.alt_test(judged(), "good", epsilon=0.1)
    assert found.run.interval == "95% Wilson interval, effective sample size by the jackknife over 60 items"
    assert f"[{decimals(found.advantage_probability.low, 2)}, " in found.summary()


def test_tables_of_several_results_say_whose_they_are():
    one, other = (assay.alt_test(judged(), name, epsilon=0.1) for name in ("good", "poor"))
    both = whole_table([one, other])
    assert both.columns.count("judge") == 1
    assert both["judge"].unique(maintain_order=True).to_list() == ["good", "poor"]
    assert both.height == one.table.height + other.table.height
    found = assay.measures.krippendorff_alpha(judged())
    assert "judge" not in whole_table([found, found]).columns
    assert whole_table([one]).equals(one.table)
