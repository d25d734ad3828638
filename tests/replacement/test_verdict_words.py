"""The verdict in sentences: question, headline, tests, notes, next step, text for a paper."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.estimation.intervals import Estimate
from assay.replacement import words
from assay.replacement.alt_test import AltTest, DocumentEffect
from assay.replacement.decision import VerdictTests
from assay.replacement.page import asked_words, card, card_by, methods, question_words, results, rule_words, works
from assay.replacement.studies import SampleSize

NONE = math.nan
NAMES = {"ann_1": "ann", "ann_2": "bob", "ann_3": "cho"}


@cache
def study(n_annotators: int = 3) -> assay.Annotations:
    """60 items with a topic, three annotators and a judge."""
    made = assay.simulate(n_items=60, n_annotators=n_annotators, seed=3)
    rows = made.labels.join(made.annotators, on="annotator").with_columns(
        annotator=pl.col("annotator").replace(NAMES | {"judge": "m"})
    )
    topics = made.items.select("item").with_columns(topic=pl.Series(["law", "art", "war"] * 20))
    return assay.Annotations.from_frame(rows, items=topics, scale=made.scale)


@cache
def real_test(**options: Any) -> AltTest:
    """The real test of judge m."""
    given = {"epsilon": 0.1, "strata": "none"} | options
    if "expertise" in given or "gold" in given:
        given.pop("epsilon")
    return assay.alt_test(study(), "m", **given)


def p_values(**more: Any) -> VerdictTests:
    common = {
        "p_noninferior": 0.01, "p_worse": 0.9, "p_item_level": 0.002, "p_ratio_above": 0.003, "p_ratio_below": 0.8,
        "annotators_agree": True, "matched_annotator": None, "least": 2, "least_worse": 3, "alpha": 0.05,
    }  # fmt: skip
    return VerdictTests(**common | more)


def size(n_items: int | None, low: int | None = 90, high: int | None = 700) -> SampleSize:
    at = real_test().sample_size
    return replace(at, n_items=n_items, low=low, high=high, limit=3000, power=0.8, reason="the judge is close")


REPLACE: dict[str, Any] = {}
WORSE = {"p_noninferior": 0.9, "p_worse": 0.01}
MIXED = {"p_worse": 0.02}
UNDECIDED = {"p_noninferior": 0.2}
LOW_RATIO = {"p_ratio_above": 0.9, "p_ratio_below": 0.02}


def alt(p: dict[str, Any] | None = None, options: dict[str, Any] | None = None, **known: Any) -> AltTest:
    """The test of m with the p-values given, and ``known`` estimates instead of the computed ones."""
    tests = p_values(**p or {})
    fields = {"judge", "domain", "passed", "epsilon", "n_verdicts", "advantage_probability", "mean_difference"}
    made = {name: known.pop(name) for name in fields & set(known)}
    test = replace(real_test(**options or {}), corrected=lambda: tests, **made)
    # Estimates that take long, or whose value the sentence needs: results keep them once they are computed.
    vars(test).update({"worse_than": (), "sample_size": size(100), "human_baseline": {}} | known)
    return test


# -- the question and the rule ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judges", "options", "question"),
    [
        (["m"], {}, "Can m replace one of these annotators?"),
        (["m", "m"], {"expertise": "expert"}, "Can m replace an expert annotator?"),  # two domains of one judge
        (["m", "k"], {"expertise": "skilled"}, "Can one of these judges replace a skilled annotator?"),
        (["m"], {"expertise": "crowd"}, "Can m replace a crowd worker?"),
        (["m"], {"gold": "topic_gold"}, "Is m as close to the gold labels as the annotators are?"),
    ],
)
def test_question_words_names_judge_and_annotator(judges, options, question):
    tests = [alt(judge=judge, options=options if "gold" not in options else None) for judge in judges]
    if "gold" in options:
        gold = dict.fromkeys(study().items["item"].to_list(), "a")
        tests = [replace(assay.alt_test(study(), "m", gold=gold), judge=judge) for judge in judges]
    assert question_words(tests) == question


def test_asked_words_counts_and_names_each_judge_once():
    assert asked_words([alt(), alt(), alt(judge="k")]) == "2 judges (m, k) compared with 3 annotators (ann, bob, cho)."
    many = [alt(judge=f"m{k}") for k in range(6)]
    assert asked_words(many).startswith("6 judges (m0, m1, m2, m3 and 2 more) compared with")


def test_rule_words_states_three_tests():
    test = alt(epsilon=0.15, options={"alpha": 0.025, "threshold": 0.6, "min_agreement_ratio": 0.4})
    assert rule_words([test]) == (
        "The verdict “Replace” requires three tests at α = 0.025: non-inferiority to at least 60% of the annotators "
        "(margin ε = 0.15), item-level agreement, and an agreement ratio above 0.40."
    )


# -- the verdict -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "options", "more", "code", "reason", "headline"),
    [
        (REPLACE, {}, {}, "replace", "", "m may replace one of these annotators."),
        (REPLACE, {"expertise": "crowd"}, {"domain": "topic=law"}, "replace", "",
         "m may replace a crowd worker for law."),
        (WORSE, {}, {}, "do_not_replace", "worse_than_half",
         "Do not replace one of these annotators with m: it is worse than at least 3 of 3 annotators, beyond the "
         "margin."),
        (LOW_RATIO, {}, {}, "do_not_replace", "agreement_ratio_too_low",
         "Do not replace one of these annotators with m: its agreement ratio is below 0.60."),
        (LOW_RATIO, {"min_agreement_ratio": 0.6}, {}, "do_not_replace", "agreement_ratio_too_low",
         "Do not replace one of these annotators with m: its agreement ratio is below 0.60."),
        (MIXED, {}, {"worse_than": ("ann", "bob")}, "mixed", "",
         "m is as good as some annotators and worse than others (ann, bob)."),
        (MIXED, {}, {"domain": "topic=law"}, "mixed", "",
         "m is as good as some annotators and worse than others for law."),
        (UNDECIDED, {}, {}, "undecided", "comparison_undecided",
         "Undecided for m: 60 items do not settle whether it is as good as half of the annotators."),
        (UNDECIDED | {"matched_annotator": "ann"}, {}, {}, "undecided", "comparison_undecided",
         "Undecided for m: 60 items do not settle whether it is as good as half of the annotators."),
        ({"p_noninferior": NONE}, {"threshold": 0.6}, {}, "undecided", "comparison_undecided",
         "Undecided for m: 60 items do not settle whether it is as good as 60% of the annotators."),
        ({"p_item_level": 0.051}, {}, {}, "undecided", "item_level_agreement_undecided",
         "Undecided for m: item-level agreement is not demonstrated."),
        ({"p_ratio_above": 0.051}, {}, {}, "undecided", "agreement_ratio_undecided",
         "Undecided for m: an agreement ratio above 0.60 is not demonstrated."),
        ({"annotators_agree": False, "p_item_level": 0.06}, {}, {}, "undecided", "human_agreement_undecided",
         "Undecided for m: agreement among annotators is not demonstrated."),
        ({"annotators_agree": None}, {}, {}, "not_testable", "human_agreement_too_low",
         "m cannot be tested: the annotators agree too little with each other."),
    ],
)  # fmt: skip
def test_card_headline_has_verdict_and_reason(p, options, more, code, reason, headline):
    test = alt(p, options, **more)
    assert (test.verdict, test.reason) == (code, reason)
    assert card(test).headline == headline
    line = words.verdict_line(test)
    assert line.startswith(test.verdict_text)
    assert test.reason_text == "" or test.reason_text in line or code == "not_testable"


@pytest.mark.parametrize(
    ("how", "said"), [("zscore", "standard scores"), ("minmax", "labels from 0 to 1"), ("rank", "ranks")]
)
def test_headline_names_normalised_labels(how, said):
    rng = np.random.default_rng(0)
    truth = rng.integers(10, 90, 40)
    rows = {who: truth + rng.integers(-9, 10, 40) for who in ("ann", "bob", "cho", "m")}
    frame = pl.DataFrame({"item": [f"d{i}" for i in range(40)], **rows})
    labels = assay.read(frame, layout="wide", judges=["m"], scale="interval:0-100")
    test = assay.alt_test(labels, epsilon=0.3, normalise=how)
    assert f"({said} within each annotator, not the labels themselves)" in test.summary().splitlines()[0]
    assert f"({said} within each annotator, not the labels themselves)" in card(test).headline


def test_reason_text_of_a_match_names_the_annotator():
    test = alt({"matched_annotator": "ann", "annotators_agree": False})
    assert test.reason == "matches_one_annotator"
    assert words.verdict_line(test) == (
        "Undecided for m: its labels match ann's more often than agreement with the others explains; check for label "
        "leakage."
    )


def test_reason_text_of_human_agreement_has_the_limit():
    assert alt({"annotators_agree": None}).reason_text == (
        "agreement among annotators is not demonstrated, and its upper confidence limit is below 0.20"
    )


def test_reason_of_few_items_and_few_clusters():
    few = assay.alt_test(study(), "m", epsilon=0.1, min_items=61)
    assert few.reason == "too_few_items_per_annotator"
    assert words.verdict_line(few) == "Undecided for m: no annotator has 61 comparable items."
    assert words.evidence(few) == ["No annotator has the 61 comparable items that the test requires."]
    assert card(few).details == ()
    assert card(few).step.words == "have the same annotators label more of the same items."
    clustered = assay.alt_test(study(), "m", epsilon=0.1, clusters="topic")
    assert clustered.reason == "too_few_clusters"
    assert clustered.reason_text == "3 clusters; at least 10 are required"
    labels = assay.simulate(120, 3, judges={"m": 0.3}, scale="1-5", seed=3)
    items = labels.items.select("item").with_columns(place=pl.when(pl.int_range(120) < 60).then(1).otherwise(2))
    rows = labels.to_polars().select("item", "annotator", "label").join(items, on="item")
    rows = rows.filter((pl.col("annotator") != "ann_3") | (pl.col("place") == 1)).drop("place")
    uneven = assay.alt_test(
        assay.read(rows, judges=["m"], scale="1-5", items=items), "m", epsilon=0.1, clusters="place"
    )
    assert uneven.reason_text == "the items of ann_3 are in 1 cluster; at least 10 are required"
    assert any(one.startswith("With 1 cluster, a fault") for one in uneven.cautions)
    assert (
        "Label items of at least 10 values of 'topic': the test counts clusters, not items." in card(clustered).advice
    )


def test_headline_with_gold_labels():
    gold = dict(study().labels.filter(annotator="m").select("item", "label").iter_rows())
    test = assay.alt_test(study(), "m", gold=gold)
    assert card(test).headline == "m outperforms these annotators against the gold labels."
    assert "at least as close to the reference as the annotator left out" in card(test).details[0]
    assert "score accuracy with the gold labels; " in test.summary()
    assert "Annotators agree with the reference at A = " in words.evidence(test)[2]
    expert = assay.alt_test(study(), "m", expert="ann", epsilon=0.1)
    assert "score accuracy with the expert 'ann'; " in expert.summary()


# -- the three tests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "more", "sentence"),
    [
        ({"p_noninferior": 0.05}, {}, "as good as at least 2 of 3 annotators within the margin ε = 0.1 (p = 0.050)."),
        ({"p_noninferior": 0.051, "p_worse": 0.05}, {"worse_than": ("ann", "bob")},
         "worse than at least 3 of 3 annotators, beyond the margin ε = 0.1 (p = 0.050); worse than ann, bob (each, "
         "Holm-adjusted)."),
        ({"p_noninferior": 0.051}, {}, "not demonstrated for at least 2 of 3 annotators, margin ε = 0.1 (p = 0.051)."),
        (MIXED, {"worse_than": ("cho",)},
         "as good as at least 2 of 3 annotators within the margin ε = 0.1 (p = 0.010); worse than cho (each, "
         "Holm-adjusted)."),
    ],
)  # fmt: skip
def test_evidence_has_the_required_count_with_its_p_value(p, more, sentence):
    assert words.evidence(alt(p, **more))[0] == f"Non-inferiority: {sentence}"


@pytest.mark.parametrize(
    ("p", "options", "sentence"),
    [
        (0.05, {}, "matches annotators of the same item better than of other items (p = 0.050)."),
        (0.051, {}, "not demonstrated (p = 0.051)."),
        (0.01, {"strata": ("topic",)},
         "matches annotators of the same item better than of other items with the same “topic” (p = 0.010)."),
        (0.06, {"strata": ("topic",)}, "not demonstrated within “topic” (p = 0.060)."),
    ],
)  # fmt: skip
def test_evidence_of_item_level_agreement(p, options, sentence):
    assert words.evidence(alt({"p_item_level": p}, options))[1] == f"Item-level agreement: {sentence}"


def test_evidence_of_the_agreement_ratio():
    r, a = real_test().agreement_ratio, real_test().annotator_agreement
    value = f"R = {r.estimate:.2f} [{r.low:.2f}, {r.high:.2f}]"
    worth = (
        f" To find a relation with another variable, 100 items labelled by it are worth at least about "
        f"{100 * r.low**2:.0f} to 100 labelled by one annotator."
    )
    among = f" Annotators agree with each other at A = {a.estimate:.2f} [{a.low:.2f}, {a.high:.2f}]."

    def said(p, agreement=False, **options):
        return words.evidence(alt(p, options), agreement=agreement)[2]

    assert said({}, True) == f"Agreement ratio: {value}, above the required 0.60 (p = 0.003).{among}{worth}"
    assert said(LOW_RATIO) == f"Agreement ratio: {value}, below the required 0.60 (p = 0.020).{worth}"
    undecided = f"Agreement ratio: {value}; not demonstrated to exceed 0.60 (p = 0.051).{worth}"
    assert said({"p_ratio_above": 0.051}) == undecided
    assert "above the required 0.40" in said({}, min_agreement_ratio=0.4)
    assert said({}, strata=("topic",)).startswith("Agreement ratio within “topic”: R = ")


def test_lower_agreement_of_a_judge_as_close_as_annotators_names_both_measures():
    rng = np.random.default_rng(0)
    quality = rng.normal(size=300)
    people = [np.clip(np.rint(3 + 1.3 * (quality + rng.normal(size=300))), 1, 5) for _ in range(3)]
    careful = np.clip(np.rint(3 + 0.45 * quality + 0.3 * rng.normal(size=300)), 2, 4)
    rows = [(f"k{k:04}", who, int(v)) for who, each in (*zip("abc", people, strict=True), ("m", careful))
            for k, v in enumerate(each)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = assay.Annotations.from_frame(frame, judges=["m"], scale=assay.Ordinal(1, 5))
    test = assay.alt_test(labels, "m", epsilon=0.1)
    assert test.agreement_ratio.high < 1
    evidence = words.evidence(test)
    assert "as good as at least 2 of 3 annotators" in evidence[0]
    said = "It agrees with annotators less than they agree with each other (R corrects for agreement by chance; the"
    assert f"{said} comparison within ε, by neg_rmse, does not)." in evidence[2]
    strict = assay.alt_test(labels, "m", epsilon=0.01)
    assert strict.verdict_tests.p_noninferior > strict.verdict_tests.alpha
    assert "less than they agree with each other." in words.evidence(strict)[2], "no second measure to name"


def test_evidence_of_a_constant_judge_has_a_ratio_without_an_interval():
    labels = study().labels.join(study().annotators, on="annotator")
    one = pl.when(pl.col("annotator") == "m").then(pl.lit("a")).otherwise(pl.col("label"))
    constant = assay.Annotations.from_frame(labels.with_columns(label=one), scale=study().scale)
    test = assay.alt_test(constant, "m", epsilon=0.1)
    assert ": R = 0.00 (" in words.evidence(test)[2]
    assert words.evidence(test)[2].count("[") == 1  # the interval of A alone


def test_evidence_without_agreement_that_can_be_estimated():
    rows = study().labels.join(study().annotators, on="annotator").with_columns(label=pl.lit("a"))
    test = assay.alt_test(assay.Annotations.from_frame(rows, scale=study().scale), "m", epsilon=0.1)
    assert words.evidence(test)[2] == "Agreement ratio: not estimable: labels do not vary within strata of items."


@pytest.mark.slow
def test_larger_count_has_its_own_p_value():
    test = real_test(epsilon=0.5)
    assert (test.verdict_tests.least, test.noninferior_to) == (2, 3)
    p = test.win_counts.verdict_p[0].max()  # the conjunction of 3 of 3 is the largest p-value
    assert p < 0.001
    one = "as good as at least 3 of 3 annotators within the margin ε = 0.5 (p < 0.001"
    assert words.larger_count(test) == [f"{one})"]
    assert words.larger_count(replace(test, n_verdicts=2)) == [f"{one}, Bonferroni-adjusted for 2 verdicts)"]
    assert words.larger_count(alt(UNDECIDED)) == []
    assert f"Notes: {one})." in test.summary()
    assert f"A{one[1:]})." in card(test).details


# -- notes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ((0.1, -0.02, 0.22), "−0.100 [−0.220, 0.020]; no significant difference."),
        ((0.1, 0.0, 0.2), "−0.100 [−0.200, 0.000]; no significant difference."),
        ((0.1, 0.01, 0.19), "−0.100 [−0.190, −0.010]; the annotators are significantly closer."),
        ((-0.1, -0.19, -0.01), "+0.100 [0.010, 0.190]; the judge is significantly closer."),
        ((-0.1, -0.2, 0.0), "+0.100 [0.000, 0.200]; no significant difference."),
        ((0.1, NONE, NONE), "−0.100 (no interval)."),
    ],
)
def test_notes_have_the_difference_of_advantage_probabilities(found, line):
    lines = card(alt(mean_difference=Estimate(*found, 0.05))).details
    assert lines[1] == f"Advantage probability, judge − annotators: {line}"


def test_notes_have_the_published_rule_and_the_margins():
    test = alt(advantage_probability=Estimate(0.8, 0.7, 0.9, 0.05), smallest_epsilon=0.089,
               needed_epsilon=Estimate(-0.1, -0.2, 0.01, 0.05))  # fmt: skip
    first, _, published, exploratory, *_ = card(test).details
    assert first == (
        "On 80% [70%, 90%] of items, averaged over annotators, it is at least as close to the others as the annotator "
        "left out (advantage probability ρ)."
    )
    assert published == (
        f"Published rule: {'passes' if test.passed else 'does not pass'} (winning rate ω = {test.winning_rate:.2f}, "
        f"losing rate {test.losing_rate:.2f}; required 0.50)."
    )
    margins = "smallest passing margin 0.089; parity margin −0.10 [−0.20, 0.01]"
    assert exploratory == f"Exploratory; choose ε before seeing the labels: {margins}."
    assert f"Notes, exploratory: {margins}." in test.summary()
    assert words.margins(alt(smallest_epsilon=NONE)).startswith("no passing margin; parity margin ")


def test_notes_have_population_baselines_and_prefixes():
    baseline = {"ann": alt(), "bob": alt(UNDECIDED), "cho": alt()}
    effect = DocumentEffect(10, 60, 1.1)
    lines = card(alt(n_verdicts=1, human_baseline=baseline, document_effect=effect)).details
    assert "Human baseline: tested in the same way, 2 of 3 annotators pass (ann, cho)." in lines
    assert "60 item ids share 10 prefixes; design effect 1.10." in lines
    none = card(alt(human_baseline={"ann": alt(UNDECIDED)})).details
    assert "Human baseline: tested in the same way, 0 of 1 annotator pass." in none
    alone = SimpleNamespace(n_annotators=0, verdict="undecided")
    some = card(alt(human_baseline={"ann": alt(), "bob": alone})).details
    assert "Human baseline: tested in the same way, 1 of 1 annotator passes (ann); not testable: bob." in some
    test = real_test(epsilon=0.5)
    # As good as all of three: the share p with p³ = .025 is the lower limit, .05 / 2 verdicts have .0125 each.
    assert test.population_share == pytest.approx(0.025 ** (1 / 3))
    assert replace(test, n_verdicts=2).population_share == pytest.approx(0.0125 ** (1 / 3))
    assert (
        "Applies to these 3 annotators. If they are a random sample, with 95% confidence the judge is as good (within "
        "ε) as at least 29% of such annotators."
    ) in card(test).details
    assert "with 97.5% confidence" in " ".join(card(replace(test, n_verdicts=2)).details)


def test_document_effect_is_a_caution_from_1_2():
    assert words.document_effect(DocumentEffect(1000, 3000, 1.19)) == (
        "3,000 item ids share 1,000 prefixes; design effect 1.19."
    )
    # 3000 / 1.2 = 2500
    assert words.document_effect(DocumentEffect(1000, 3000, 1.2)) == (
        "Caution: 3,000 item ids share 1,000 prefixes; design effect 1.20, equivalent to 2,500 independent items. Keep "
        "the prefix in an item column and name that column with clusters=... (--clusters)."
    )


# -- the next step and the advice ------------------------------------------------------------------


def test_step_after_replace_reports_corrected_estimates():
    step = card(alt()).step
    assert step.words == (
        "let the judge label further items, have annotators check a random sample, and report corrected estimates:"
    )
    assert (step.ask, step.judge) == ("estimate", "m")
    rows = study().labels.join(study().annotators, on="annotator")
    some = rows.filter((pl.col("annotator") == "m") | (pl.col("item") < "item_55"))
    part = assay.alt_test(assay.Annotations.from_frame(some, scale=study().scale), "m", epsilon=0.6, strata="none")
    assert part.verdict == "replace"
    assert card(part).step.words.startswith("let the judge label the remaining items, have annotators check")


@pytest.mark.parametrize(
    ("p", "more", "step", "ask"),
    [
        (WORSE, {}, "review the items with the largest disagreement; revise the prompt or test another judge:",
         "disagreement"),
        (MIXED, {"worse_than": ("ann", "bob")}, "decide whose labels it can replace; it is worse than ann, bob:",
         "disagreement"),
        (MIXED, {}, "decide whose labels it can replace; it is worse than some of them:", "disagreement"),
        (UNDECIDED, {"sample_size": size(None)},
         "revise the judge or test another one, or add items as a planned interim analysis (assay plan alt-test):",
         "disagreement"),
        (UNDECIDED, {"sample_size": size(1160)},
         "plan a new study of about 1,160 items, or add items as a planned interim analysis (assay plan alt-test).",
         ""),
        (UNDECIDED, {"sample_size": size(60)},
         "studies of this size give a conclusive verdict with 80% probability; this one did not.", ""),
    ],
)  # fmt: skip
def test_step_follows_verdict_and_sample_size(p, more, step, ask):
    found = card(alt(p, **more)).step
    assert (found.words, found.ask) == (step, ask)


@pytest.mark.parametrize(
    ("p", "options", "more", "advice"),
    [
        (LOW_RATIO, {}, {}, "It agrees with annotators less than 0.60 times as much as they agree with each other. "
                            "Check its label distribution and its prompt."),
        (LOW_RATIO, {"strata": ("topic",)}, {},
         "Within “topic” it agrees with annotators less than 0.60 times as much "),
        (WORSE, {}, {}, "More items are unlikely to change this. Check its label distribution and its prompt, or test "
                        "another judge."),
        (MIXED, {}, {"worse_than": ("ann",)}, "It is worse than ann. Decide whose labels it can replace."),
        (MIXED, {}, {}, "It is worse than some annotators. Decide whose labels it can replace."),
        ({"annotators_agree": None}, {}, {}, "More labels of this kind will not help. Revise the instructions, "
                                             "simplify the question or train the annotators."),
        ({"annotators_agree": False}, {}, {}, "Agreement among annotators is not demonstrated. Label more items, "
                                              "especially with the rarer labels."),
        (UNDECIDED, {}, {"sample_size": size(270, 75, 1300)},
         "A study of about 270 items by these 3 annotators gives a conclusive verdict with 80% probability (80% range: "
         "75–1,300). This is the total of a new study: adding items to these labels is a second analysis."),
        (UNDECIDED, {}, {"sample_size": size(None)},
         "No size up to 3,000 items gives a conclusive verdict with 80% probability; 30 items give one with 53% and "
         "3,000 items give one with 100%: the judge is close."),
    ],
)  # fmt: skip
def test_advice_follows_the_reason(p, options, more, advice):
    assert card(alt(p, options, **more)).advice.startswith(advice)


def test_advice_on_a_match_with_one_annotator():
    rows = study().labels.join(study().annotators, on="annotator")
    copied = rows.filter(annotator="bob").with_columns(annotator=pl.lit("copy"), kind=pl.lit("judge"))
    labels = assay.Annotations.from_frame(pl.concat([rows, copied.select(rows.columns)]), scale=study().scale)
    test = assay.alt_test(labels, "copy", epsilon=0.5)
    assert test.reason == "matches_one_annotator"
    match = test.win_counts.match_tests.found
    assert (test.win_counts.matched, match.n_given) == ("bob", match.n_alone)
    assert card(test).advice.startswith(
        f"It gives bob's label on {match.n_alone} of {match.n_alone} items on which no other annotator gives it and "
        "several others agree on another label (p"
    )
    assert "exclude bob from the comparison: copies='leave out'" in card(test).advice
    assert "its labels matched bob's unusually often" in results([test])[0]


@pytest.mark.parametrize(
    ("p", "passed", "sentence"),
    [
        (REPLACE, False, "The published rule does not pass it because it counts annotators one by one, corrected for "
                         "their number; the verdict tests at least 2 of them together"),
        (UNDECIDED, True, "The published rule passes it because it counts wins without testing that they amount to "
                          "half of the annotators."),
        (MIXED, True, "because it does not test whether the judge is worse than other annotators."),
        ({"p_item_level": 0.06}, True, "The published rule passes it because it does not test item-level agreement."),
        ({"p_ratio_above": 0.06}, True, "The published rule passes it because it does not test the agreement ratio."),
        ({"annotators_agree": False}, True, "because it does not test agreement among annotators."),
    ],
)  # fmt: skip
def test_advice_explains_a_different_published_result(p, passed, sentence):
    assert sentence in card(alt(p, passed=passed)).advice
    assert "published rule" not in card(alt(p, passed=not passed)).advice


# -- sample sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "found", "sentences"),
    [
        (UNDECIDED, size(1160), ["a study of about 1,160 items by these annotators gives a conclusive verdict "
                                 "(Replace, Do not replace or Mixed) with 80% probability (80% range: 90–700)"]),
        ({"p_item_level": 0.06}, size(None),
         ["no size up to 3,000 items gives a conclusive verdict with 80% probability; 30 items give one with 53% and "
          "3,000 items give one with 100%: the judge is close"]),
        ({"annotators_agree": False}, size(100), []),
        (REPLACE, size(100), []),
    ],
)  # fmt: skip
def test_sample_size_is_given_if_more_items_can_help(p, found, sentences):
    test = alt(p, sample_size=found)
    assert words.sample_size(test) == sentences
    assert [line for line in test.summary().splitlines() if line.startswith("Sample size: ")] == [
        f"Sample size: {one}." for one in sentences
    ]


def test_size_range_ends_beyond_the_limit_or_nowhere():
    assert words.size_range(size(100, 90, None)) == "90 to more than 3,000"
    assert words.size_range(size(None)) == words.size_range(size(100, None)) == "no range"


# -- summaries -------------------------------------------------------------------------------------


def test_summary_has_verdict_tests_rule_size_and_notes_in_order():
    lines = alt(UNDECIDED).summary().splitlines()
    starts = (
        "Undecided for m: ", "Non-inferiority: ", "Item-level agreement: ", "Agreement ratio: ", "Published rule: ",
        "Sample size: ", "Notes: score accuracy; one-sided paired t-tests, Benjamini–Yekutieli q = 0.05 (published "
        "rule); 60 items, 180 human labels; 95% ", "Notes: the margin ε alone requires an agreement ratio of about ",
        "Notes: provenance: labels from a file; ", "Notes, exploratory: smallest passing margin ",
    )  # fmt: skip
    for line, start in zip(lines, starts, strict=False):
        assert line.startswith(start)
    assert lines[-1].startswith("alt-test|items:60|")
    rho = real_test().advantage_probability
    assert f"Advantage probability ρ = {rho.estimate:.2f} [{rho.low:.2f}, {rho.high:.2f}]." in lines[4]


def test_summary_names_clusters_and_missing_intervals():
    test = assay.alt_test(study(), "m", epsilon=0.1, clusters="topic", method="none")
    assert "t-tests with standard errors robust to clusters of 'topic', Benjamini" in test.summary()
    assert "(no interval)." in test.summary()
    assert "Notes: no interval for ρ: no interval requested." in test.summary()
    effect = DocumentEffect(10, 60, 3.0)
    assert words.document_effect(effect) in alt(document_effect=effect).summary()
    assert "design effect" not in alt(document_effect=DocumentEffect(10, 60, 1.19)).summary()


@pytest.mark.parametrize(
    ("annotators", "caution"), [(["ann", "bob"], True), (["ann", "bob", "cho"], False)]
)  # fmt: skip
def test_summary_cautions_if_two_annotators_have_no_consensus(annotators, caution):
    test = assay.alt_test(study().where(annotator=[*annotators, "m"]), "m", epsilon=0.1)
    assert any("no consensus" in one for one in test.cautions) == caution


# -- several domains -------------------------------------------------------------------------------


def domains(**verdicts: dict[str, Any]) -> assay.results.AltTestBy:
    by = assay.alt_test_by(study(), "m", by="topic", epsilon=0.1, min_items=2)
    tests = {name: alt(p, domain=f"topic={name}") for name, p in verdicts.items()}
    return replace(by, tests=tests)


@pytest.mark.slow
def test_card_by_counts_the_domains_with_each_verdict():
    found = card_by(domains(law=REPLACE, art=UNDECIDED, war=WORSE))
    assert found.headline == "m: replace on 1, do not replace on 1, undecided on 1 of 3 domains (topic)."
    assert found.evidence.startswith("Replace: law; Do not replace: war; Undecided: art. Published rule: passes in ")
    assert found.tone == "open"
    assert found.step.words.startswith("For law only: let the judge label")
    assert found.step.where == "topic=law"
    assert found.advice.startswith("P-values are Holm-adjusted for the number of domains, and of judges if there are")
    both = card_by(domains(law=UNDECIDED, art=UNDECIDED))
    assert both.headline == "m: undecided on both domains (topic)."
    assert card_by(domains(law=WORSE)).headline == "m: do not replace on the only domain (topic)."
    assert card_by(domains(a=REPLACE, b=REPLACE, c=REPLACE)).headline == "m: replace on all 3 domains (topic)."
    assert card_by(domains(a=REPLACE, b=REPLACE)).step.words.endswith("corrected estimates (here for a):")


@pytest.mark.slow
def test_card_by_plans_the_largest_size():
    found = domains(law=UNDECIDED, art=UNDECIDED)
    vars(found.tests["art"])["sample_size"] = size(500)
    assert card_by(found).step.words.startswith("plan a new study of about 500 items, or add")
    assert card_by(domains(law=UNDECIDED, art=WORSE)).step.words.startswith("review the items with the largest")


@pytest.mark.parametrize(
    ("p", "start"),
    [
        (WORSE, "law: Do not replace, it is worse than at least 3 of 3 annotators, beyond the margin (p = 0.010); "),
        (LOW_RATIO, "law: Do not replace, its agreement ratio is below 0.60 (p = 0.020); ρ = "),
        (MIXED, "law: Mixed (p = 0.020); ρ = "),
        (UNDECIDED, "law: Undecided, 60 items do not settle whether it is as good as half of the annotators (p = "),
        ({"annotators_agree": None}, "law: Not testable, agreement among annotators is not demonstrated, and its upper "
                                     "confidence limit is below 0.20; ρ = "),
    ],
)  # fmt: skip
def test_domain_line_has_verdict_reason_and_p_value(p, start):
    line = card_by(domains(law=p)).details[0]
    assert line.startswith(start)
    assert ("A study of about 100 items" in line) == (p is UNDECIDED)


# -- text for a paper ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "sentence"),
    [
        (REPLACE, "On 60 items, m was non-inferior to at least 2 of 3 annotators (margin ε = 0.10, p = 0.010), agreed "
                  "with annotators at the level of items (p = 0.002), and had an agreement ratio above 0.60 (R = "),
        (WORSE, "On 60 items, m was worse than at least 3 of 3 annotators (margin ε = 0.10, p = 0.010); advantage "),
        (LOW_RATIO, "On 60 items, m had an agreement ratio below 0.60 (R = "),
        (MIXED, "On 60 items, m was non-inferior to at least 2 of 3 annotators (margin ε = 0.10, p = 0.010) and worse "
                "than at least 3 (p = 0.020); advantage probability ρ = "),
        (UNDECIDED, "On 60 items, m had an undecided result: non-inferiority to at least 2 of 3 annotators was not "
                    "demonstrated (margin ε = 0.10, p = 0.200); item-level agreement was demonstrated (p = 0.002); an "
                    "agreement ratio above 0.60 was demonstrated (R = "),
    ],
)  # fmt: skip
def test_results_are_a_sentence_for_each_test(p, sentence):
    assert results([alt(p)])[0].startswith(sentence)


def test_results_name_the_domain():
    assert results([alt(domain="topic=law")])[0].startswith("On 60 items (topic law), m was non-inferior")


def test_methods_describe_the_options_that_were_used():
    plain = methods([real_test()])
    assert "by exact agreement (accuracy)." in plain[0]
    assert (
        "minus ε = 0.10) was tested by one-sided paired t-tests, with the false discovery rate controlled" in plain[1]
    )
    assert plain[2].startswith("Our verdict requires three tests at level 0.05: non-inferiority to at least 50% of the")
    assert "exact unconditional tests, Tango 1998)" in plain[2]
    more = methods([assay.alt_test(study(), "m", epsilon=0.1, clusters="topic", balance=True, min_class=0)])
    assert "score tests with a design effect for clusters, Tango 1998, Miettinen & Nurminen 1985)" in more[2]
    assert more[-1] == "Items were weighted by the inverse frequency of their majority label (inverse probability)."


def test_works_are_those_that_methods_cite():
    assert "miettinen1985comparative" not in works([real_test()])
    assert "krippendorff2004content" in works([real_test()])
    assert "miettinen1985comparative" in works([assay.alt_test(study(), "m", epsilon=0.1, clusters="topic")])


def test_leakage_note_does_not_deny_agreement_among_annotators():
    """Two of three annotators use one half of the scale each: they agree in order, and rarely give equal labels."""
    rng = np.random.default_rng(0)
    level = rng.normal(size=100)

    def within(low: int, high: int) -> np.ndarray:
        own = level + 0.4 * rng.normal(size=100)
        return np.clip(np.round((low + high) / 2 + (high - low) / 4 * own), low, high)

    columns = {"h0": within(1, 3), "h1": within(3, 5), "h2": within(1, 5), "m": within(1, 5)}
    frame = pl.DataFrame({
        "item": [f"i{k:02}" for k in range(100)] * 4, "annotator": np.repeat(list(columns), 100),
        "label": np.concatenate(list(columns.values())),
    })  # fmt: skip
    labels = assay.Annotations.from_frame(frame, judges=["m"], scale=assay.Ordinal(1, 5))
    test = assay.alt_test(labels, "m", epsilon=0.15)
    assert test.annotator_agreement.low > 0
    note = "label leakage is not testable: equal labels of other annotators beyond chance are not demonstrated"
    assert note in test.summary()
    assert "agreement among the other annotators" not in test.summary()


def test_ratio_without_an_interval_is_its_value_in_the_results():
    """A judge with one label has R = 0 without an interval, and the table shows this 0."""
    labels = assay.simulate(80, 3, annotator_noise=0.1, judges={"m": 0.3}, scale="1-5", seed=3)
    rows = labels.to_polars().with_columns(
        label=pl.when(pl.col("annotator") == "m").then(3).otherwise(pl.col("label").cast(int))
    )
    test = assay.alt_test(assay.read(rows, judges=["m"], scale="1-5"), "m", epsilon=0.9)
    assert test.agreement_ratio.estimate == 0
    (said,) = results([test])
    assert "R = 0.00, no interval" in said
    assert "not estimable" not in said


# -- crowds: few of many annotators are tested ---------------------------------------------------------


def crowd(n_people: int = 24, busy: int = 3, per_item: int = 4, n_items: int = 120) -> assay.Annotations:
    """Each item has labels of some people of a crowd; only the first ones label much of it."""
    rng = np.random.default_rng(5)
    made = assay.simulate(n_items=n_items, n_annotators=n_people, judges={"m": 0.2}, scale="1-5", seed=2)
    weight = np.where(np.arange(n_people) < busy, 12.0, 1.0)
    drawn = [rng.choice(n_people, per_item, replace=False, p=weight / weight.sum()) for _ in range(n_items)]
    people = made.humans
    rows = pl.DataFrame({"item": np.repeat(made.items["item"].to_numpy(), per_item),
                         "annotator": [people[j] for one in drawn for j in one]})  # fmt: skip
    labels = made.labels.select("item", "annotator", "label")
    kept = pl.concat([labels.join(rows, on=["item", "annotator"]), labels.filter(pl.col("annotator") == "m")])
    return assay.Annotations.from_frame(kept, judges=["m"], scale=made.scale)


def test_sentences_say_how_many_annotators_are_tested():
    test = assay.alt_test(crowd(), "m", epsilon=0.2)
    assert (test.n_annotators, test.win_counts.n_compared) == (3, 24)
    assert words.tested_annotators(test) == "the 3 tested of 24 annotators"
    lines = card(test).details
    assert any("of items, averaged over the 3 tested of 24 annotators, it is at least" in line for line in lines)
    assert any(line.startswith("Advantage probability, judge − the 3 tested of 24 annotators: ") for line in lines)
    assert words.published_rule(test).endswith(", averaged over the 3 tested of 24 annotators.")


def test_crowd_is_advised_to_use_places_of_labels():
    test = assay.alt_test(crowd(busy=0), "m", epsilon=0.2)
    assert test.reason == "too_few_items_per_annotator"
    advice = card(test).advice
    assert advice.startswith("These annotators are a crowd: 24 people, and at most 4 labels of an item. ")
    assert "annotator='place' (--annotator place)" in advice
    two = assay.alt_test(crowd(busy=0, per_item=2), "m", epsilon=0.2)  # a judge would be compared with one other place
    assert two.reason == "too_few_items_per_annotator"
    assert "place" not in card(two).advice
    few = assay.alt_test(study(), "m", epsilon=0.1, min_items=61)  # three people who label all items
    assert card(few).advice == "Have the same annotators label more of the same items."


def test_advice_of_a_crowd_works():
    frame = crowd().to_polars()
    humans, judge = frame.filter(pl.col("annotator") != "m"), frame.filter(pl.col("annotator") == "m")
    places = assay.read(humans.select("item", "label"), annotator="place", scale="1-5")
    model = assay.read(judge.select("item", "annotator", "label"), judges=["m"], scale="1-5")
    assert assay.alt_test(places.join(model), "m", epsilon=0.2).n_annotators == 4


def test_human_baseline_says_what_it_requires_and_what_there_is():
    test = assay.alt_test(crowd(busy=0), "m", epsilon=0.2, min_items=9)
    (line,) = [one for one in card(test).details if one.startswith("Human baseline: ")]
    most = max(int(one.win_counts.n.max()) for one in test.human_baseline.values())
    assert 0 < most < 9
    assert line == (
        "Human baseline: not testable; an annotator is tested like a judge, against others who each share 9 items with "
        f"that annotator and a third one; here two annotators share at most {most} such items."
    )


def test_size_that_is_as_likely_as_not_is_at_most_the_limit():
    sizes = np.array([60, 1000, 5760])
    found = SampleSize(None, None, None, 5760, 0.8, sizes, np.array([0.1, 0.3, 0.67]), "the judge is close")
    assert found.even == 5760  # 5,800 in two digits
    (sentence,) = words.sample_size(alt(UNDECIDED, sample_size=found))
    assert sentence == (
        "no size up to 5,760 items gives a conclusive verdict with 80% probability; 5,760 items give one with 67%: the "
        "judge is close"
    )


# -- text for a paper with many domains -----------------------------------------------------------------


@cache
def by_topic() -> assay.AltTestBy:
    made = assay.simulate(n_items=240, n_annotators=3, judges={"m": 0.25}, seed=3)
    items = made.items.select("item").with_columns(topic=pl.Series(["law", "art", "war", "sea"] * 60))
    return assay.alt_test_by(replace(made, items=items), "m", by="topic", epsilon=0.2, repeats="majority")


def test_results_of_many_domains_are_one_paragraph():
    tests = list(by_topic().tests.values())
    (text,) = results(tests)
    assert text.startswith("On 60 items of each of 4 domains (topic), m had the verdict ")
    for verdict in {test.verdict for test in tests}:
        mine = [test for test in tests if test.verdict == verdict]
        names = ", ".join(test.domain.removeprefix("topic=") for test in mine)
        rho = sorted(test.advantage_probability.estimate for test in mine)
        ends = f"from {rho[0]:.2f} to {rho[-1]:.2f}" if len(mine) > 1 else f"= {rho[0]:.2f}"
        assert f"{words.LABELS[verdict]} on {len(mine)} ({names}; ρ {ends}, " in text
    alpha = sorted(test.human_agreement.estimate for test in tests)
    assert text.endswith(f" The annotators' agreement was Krippendorff's α = {alpha[0]:.2f} to {alpha[-1]:.2f}.")
    assert len(results(tests[:3])) == 3


def test_methods_name_the_adjustment_repeats_and_clusters():
    text = " ".join(methods(list(by_topic().tests.values())))
    assert "The p-values of the verdicts are Holm-adjusted for 4 verdicts (judges and domains together)." in text
    assert "Repeated labels of an item were combined (the majority of a rater's labels)." in text
    clustered = " ".join(methods([assay.alt_test(study(), "m", epsilon=0.1, clusters="topic")]))
    assert "Items with the same value of “topic” (3 clusters) depend on each other, and are resampled together." in (
        clustered
    )
    assert "Holm-adjusted" not in clustered
    assert "Repeated" not in clustered
