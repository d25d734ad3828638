"""A verdict in words: the question, the headline, what stands beside it, what to do next, what a paper says."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from assay.estimation.intervals import Estimate
from assay.replacement import page
from assay.replacement.alt_test import AltTest, DocumentEffect, _cautions, epsilon_words
from assay.replacement.page import (
    _advice,
    _closer,
    _disagreement,
    _domain_line,
    _headline,
    _how_many,
    _items_words,
    _result,
    _side_lines,
    _step,
    _step_by,
    _verdict_test,
    asked_words,
    card_by,
    methods,
    question_words,
    rule_words,
    works,
)
from assay.reporting.page import NextStep

NONE = math.nan


def settings(**more):
    common = {
        "gold": None, "expertise": None, "level": 0.05, "alpha": 0.05, "threshold": 0.5, "least_retention": 0.5,
        "fixed_reference": False, "clusters": None, "balance": False, "normalise": None, "confidence": 0.95,
        "min_items": 30, "fdr": 0.05, "expert": None,
    }  # fmt: skip
    return SimpleNamespace(**common | more)


def grounds(**more):
    common = {
        "alpha": 0.05, "least": 2, "least_worse": 3, "p_as_good": 0.01, "p_worse": 0.9, "p_looks": 0.002,
        "p_keeps": 0.003, "p_loses": 0.8, "p_replace": 0.012, "repeats": None, "loses": False, "people_agree": True,
    }  # fmt: skip
    return SimpleNamespace(**common | more)


def needed(n_items, **more):
    return SimpleNamespace(**{"n_items": n_items, "limit": 3000, "range": "90 to 700", "reason": "hopeless"} | more)


def alt(verdict="undecided", reason=None, *, kind="nominal", **more):
    """A test as sentences see it: 3 people, 60 items."""
    scale = SimpleNamespace(kind=kind, word=lambda label: f"<{label}>")
    table = SimpleNamespace(humans=("ann", "bob", "cho"), ratings=SimpleNamespace(scale=scale))
    common = {
        "judge": "m", "verdict": verdict, "reason": reason, "domain": None, "settings": settings(), "n_annotators": 3,
        "n_items": 60, "tally": SimpleNamespace(table=table), "epsilon": 0.1, "grounds": grounds(), "cautions": (),
        "worse_than": (), "items_needed": needed(100), "passed": verdict == "replace", "winning_rate": 2 / 3,
        "losing_rate": 0.0, "advantage_probability": Estimate(0.8, 0.7, 0.9, 0.05), "speaks_of": 0.0,
        "mean_difference": Estimate(0.1, -0.02, 0.22, 0.06), "people_in_its_place": {}, "constant": None,
        "document_effect": None, "smallest_epsilon": 0.03, "needed_epsilon": Estimate(-0.1, -0.2, 0.01, 0.05),
        "retention": Estimate(0.9, 0.6, 1.2, 0.1), "looked": SimpleNamespace(
            kept=SimpleNamespace(structure=None, p_people=0.06), least_sure=SimpleNamespace(structure=None),
            repeated=None),
        "annotators": pl.DataFrame({"test": ["t", "t", "wilcoxon"]}), "score": "accuracy", "interval_method": "",
        "human_agreement": Estimate(0.5, 0.4, 0.6, 0.05), "larger_count": list,
    }  # fmt: skip
    test = SimpleNamespace(**common | more)
    test.reason_words = AltTest.reason_words.fget(test)
    test.p_of = lambda what: AltTest.p_of(test, what)
    return test


# -- the question and the rule ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judges", "options", "words"),
    [
        (["m"], {}, "May m stand in for one of these annotators?"),
        (["m", "m"], {"expertise": "expert"}, "May m stand in for an expert annotator?"),  # two domains of one judge
        (["m", "k"], {"expertise": "skilled"}, "May one of these judges stand in for a skilled annotator?"),
        (["m"], {"expertise": "crowd"}, "May m stand in for a crowd worker?"),
        (["m"], {"gold": "truth"}, "Is m as close to the gold labels as people are?"),
        (["m", "k"], {"gold": "truth"}, "Is one of these judges as close to the gold labels as people are?"),
    ],
)
def test_the_question_names_a_single_judge_and_whom_it_would_replace(judges, options, words):
    assert question_words([alt(judge=judge, settings=settings(**options)) for judge in judges]) == words


def test_who_is_asked_is_counted_and_named_once():
    assert asked_words([alt(), alt(), alt(judge="k")]) == (
        "Asked of 2 judges (m, k) beside 3 annotators (ann, bob, cho)."
    )
    many = [alt(judge=f"m{k}") for k in range(6)]
    assert asked_words(many).startswith("Asked of 6 judges (m0, m1, m2, m3 and 2 more) beside")


def test_the_rule_is_that_of_the_test_with_most_annotators():
    few = alt(n_annotators=2, epsilon=0.3)
    many = alt(n_annotators=3, epsilon=0.15, settings=settings(level=0.025, threshold=0.6, least_retention=0.4))
    assert rule_words([few, many]) == (
        "The verdict “Replace” requires three tests at α = 0.025: non-inferiority to at least 60% of the annotators "
        "(margin ε = 0.15), item-level agreement, and an agreement ratio above 0.40."
    )


# -- the headline -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "more", "words"),
    [
        ("replace", {}, "m may replace one of these annotators."),
        ("replace", {"settings": settings(expertise="crowd"), "domain": "topic=law"},
         "m may replace a crowd worker for law."),
        ("replace", {"settings": settings(gold="truth")}, "m outperforms these people against the gold labels."),
        ("do_not_replace", {}, "Do not replace one of these annotators with m."),
        ("do_not_replace", {"settings": settings(gold="truth"), "domain": "topic=law"},
         "Do not replace these people against the gold labels with m for law."),
        ("do_not_replace", {"reason": "agreement_ratio_too_low"},
         "Do not replace one of these annotators with m: its agreement ratio is below 0.50."),
        ("do_not_replace", {"reason": "agreement_ratio_too_low", "settings": settings(least_retention=0.6)},
         "Do not replace one of these annotators with m: its agreement ratio is below 0.60."),
        ("undecided", {"reason": "item_level_agreement_undecided"},
         "Cannot tell yet for m: item-level agreement is not demonstrated."),
        ("undecided", {"reason": "agreement_ratio_undecided"},
         "Cannot tell yet for m: an agreement ratio above 0.50 is not demonstrated."),
        ("not_testable", {"reason": "human_agreement_too_low"},
         "These labels cannot tell for m: people hardly agree with each other."),
        ("mixed", {"domain": "topic=law"},
         "m is as good as some of these annotators and worse than others for law."),
        ("undecided", {"reason": "too_few_clusters"}, "Cannot tell yet for m: too few clusters of items."),
        ("undecided", {"reason": "comparison_undecided"},
         "Cannot tell yet for m: 60 items do not settle whether it is as good as at least 2 of 3 annotators."),
    ],
)  # fmt: skip
def test_the_headline_has_the_verdict_whom_and_where(verdict, more, words):
    assert _headline(alt(verdict, **more)) == words


# -- what always stands beside it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "start", "shown"),
    [
        ((0.1, -0.02, 0.22), "People are closer than the judge by 0.10 [−0.020, 0.220]", False),
        ((0.1, 0.0, 0.2), "People are closer than the judge by 0.10 [0.000, 0.200]", False),
        ((0.1, 0.01, 0.19), "People are closer than the judge by 0.10 [0.010, 0.190]", True),
        ((-0.1, -0.19, -0.01), "The judge is closer than people by 0.10 [0.010, 0.190]", True),
        ((-0.1, -0.2, 0.0), "The judge is closer than people by 0.10 [0.000, 0.200]", False),
        ((0.0, -0.1, 0.1), "People are closer than the judge by 0.00 [−0.100, 0.100]", False),
    ],
)
def test_who_is_closer_and_whether_it_is_shown(found, start, shown):
    end = "" if shown else ", so neither is shown to be closer"
    said = _closer(alt(mean_difference=Estimate(*found, 0.05)))
    assert said == f"{start}, on average over items and annotators{end}."


def test_without_an_interval_nothing_is_said_of_what_is_shown():
    assert _closer(alt(mean_difference=Estimate(0.1, NONE, NONE, NONE, "why not"))) == (
        "People are closer than the judge by 0.10 (no interval), on average over items and annotators."
    )


def test_the_lines_beside_a_verdict():
    first, _, published, smallest = _side_lines(alt())
    assert first == (
        "With probability ρ = 0.80 [0.70, 0.90] it is as close to the other annotators as a random annotator, or "
        "closer."
    )
    assert published == ("As published it does not pass: winning rate ω = 0.67, losing rate 0.00; 0.50 is needed.")
    assert smallest.startswith("The smallest ε: passes at ε ≥ 0.030; as good as half of the annotators at ε = −0.10 ")
    gold = _side_lines(alt("replace", settings=settings(fixed_reference=True)))
    assert "as close to the reference as" in gold[0]
    assert gold[2].startswith("As published it passes: ")
    assert _side_lines(alt(n_annotators=0)) == []


def test_the_lines_beside_a_verdict_tell_of_people_in_its_place_constants_and_documents():
    places = {name: alt(verdict) for name, verdict in
              [("ann", "replace"), ("bob", "undecided"), ("cho", "replace")]}  # fmt: skip
    constant = SimpleNamespace(label="b", closer=9, equal=20, farther=31)
    effect = SimpleNamespace(words=lambda: "Documents matter.")
    lines = _side_lines(
        alt(speaks_of=0.292, people_in_its_place=places, constant=constant, document_effect=effect)
    )[4:]  # fmt: skip
    assert lines == [
        "This speaks of these 3 annotators. If they are a random sample, the judge is as good as at least 29% of "
        "annotators like them.",
        "Put in the judge's place, 2 of 3 people would earn “may replace”: ann, cho.",
        "Always “<b>” is closer to people than this judge on 31 items, as close on 20, farther on 9. That decides "
        "nothing: people may be farther, too.",
        "Documents matter.",
    ]
    (nobody,) = _side_lines(alt(people_in_its_place={"ann": alt(), "bob": alt()}))[4:]
    assert nobody == "Put in the judge's place, 0 of 2 people would earn “may replace”."
    # A number is said as a number; a constant that is closer on as many items as it is farther is not told of.
    number = SimpleNamespace(label=3.0, closer=9, equal=20, farther=10)
    (told,) = _side_lines(alt(constant=number))[4:]
    assert told.startswith("Always “3.00” is closer to people than this judge on 10 items")
    assert _side_lines(alt(constant=SimpleNamespace(label=3.0, closer=10, equal=20, farther=10)))[4:] == []


@pytest.mark.parametrize(
    ("smallest", "threshold", "words"),
    [
        (0.089, 0.5, "passes at ε ≥ 0.089; as good as half of the annotators at ε = −0.10 [−0.20, 0.01]"),
        (NONE, 0.5, "passes at no ε; as good as half of the annotators at ε = −0.10 [−0.20, 0.01]"),
        (0.0, 0.6, "passes at ε ≥ 0.000; as good as 60% of the annotators at ε = −0.10 [−0.20, 0.01]"),
    ],
)
def test_the_smallest_epsilon_in_words(smallest, threshold, words):
    assert epsilon_words(alt(smallest_epsilon=smallest, settings=settings(threshold=threshold))) == words


def test_documents_are_a_caution_from_a_design_effect_of_1_2():
    hardly = DocumentEffect(n_stems=1000, n_items=3000, design=1.19)
    assert hardly.words() == (
        "3,000 names share 1,000 stems; items that share one are hardly alike (design effect 1.19)."
    )
    # 3000 / 1.2 = 2500
    assert DocumentEffect(1000, 3000, 1.2).words() == (
        "Caution: 3,000 names share 1,000 stems, and items that share one are alike: design effect 1.20, so these "
        "items say as much as 2,500 independent ones. Keep the stem in an item column and give clusters=... its name."
    )


# -- what to do next ----------------------------------------------------------------------------------

REPORT = "report what people would say of all items:"


@pytest.mark.parametrize(
    ("kind", "options", "step"),
    [
        ("nominal", {}, NextStep(f"let it label the rest, and people a random share of it; {REPORT}", "estimate", "m")),
        ("text", {}, NextStep("let it label the rest.")),
        ("odd-one-out", {}, NextStep("let it label the rest.")),
        ("preference", {}, NextStep("let it label the rest.")),
        ("nominal", {"gold": "truth"}, NextStep("let it label the rest.")),
    ],
)
def test_a_judge_that_may_replace_labels_the_rest_and_is_corrected_where_that_is_known(kind, options, step):
    assert _step(alt("replace", kind=kind, settings=settings(**options))) == step


@pytest.mark.parametrize(("kind", "ask"), [("nominal", "disagreement"), ("text", ""), ("odd-one-out", ""),
                                           ("preference", "disagreement")])  # fmt: skip
def test_what_is_read_next_is_where_a_judge_is_farthest_if_labels_can_be_compared(kind, ask):
    assert _step(alt("do_not_replace", kind=kind)) == NextStep(
        "read the items where it is farthest from people; then mend its prompt, or ask another judge.", ask, "m"
    )
    assert _step(alt("mixed", kind=kind, worse_than=("ann", "bob"))) == NextStep(
        "decide for whom it may stand in: it loses to ann, bob.", ask, "m"
    )
    assert _step(alt("mixed", kind=kind)).words.endswith("it loses to some of them.")
    assert _step(alt(reason="comparison_undecided", kind=kind, items_needed=needed(None))) == NextStep(
        "mend the judge, or ask another one: more items like these would hardly tell.", ask, "m"
    )


def test_more_items_are_counted_from_those_there_are():
    # 1160 would tell and 60 are there.
    assert _step(alt(reason="comparison_undecided", items_needed=needed(1160))) == NextStep(
        "have these 3 annotators label about 1,100 more items, and make this page again."
    )
    assert _step(alt(reason="item_level_agreement_undecided", items_needed=needed(61))).words.startswith(
        "have these 3 annotators label about 1 more item, and"
    )
    # As many as there are: the first advice takes the place.
    assert _step(alt(reason="comparison_undecided", items_needed=needed(60))) == NextStep(
        "a repeated study of this size would tell four times in five; this one happens not to."
    )
    assert _step(alt(reason="too_few_items_per_annotator", n_annotators=0)) == NextStep(
        "have the same people label more of the same items."
    )


@pytest.mark.parametrize(
    ("verdict", "reason", "more", "start"),
    [
        ("do_not_replace", "agreement_ratio_too_low", {},
         "It agrees with annotators less than 0.50 times as much as they agree with each other. Check its label "
         "distribution and its prompt."),
        ("do_not_replace", "agreement_ratio_too_low",
         {"looked": SimpleNamespace(kept=SimpleNamespace(structure="topic"))},
         "Within “topic” it agrees with annotators less than 0.50 times as much as they agree with each other. Check"),
        ("do_not_replace", "agreement_ratio_too_low", {"settings": settings(fixed_reference=True)},
         "It agrees with the reference less than 0.50 times as much as annotators do. Check"),
        ("do_not_replace", None, {}, "More items would not change this: look at its labels, its prompt, or"),
        ("mixed", None, {"worse_than": ("ann",)}, "It loses to ann: for whom may it stand in?"),
        ("mixed", None, {}, "It loses to some of them: for whom may it stand in?"),
        ("undecided", "too_few_items_per_annotator", {}, "Have the same people label more of the same items."),
        ("undecided", "too_few_clusters", {"settings": settings(clusters="document")},
         "Label items of at least 10 of 'document': each counts as one, not its items."),
        ("not_testable", "human_agreement_too_low", {}, "No judge can be tested on these labels, however"),
        ("undecided", "human_agreement_undecided", {}, "Whether people agree at all is open, so what a"),
        ("undecided", "comparison_undecided", {}, "About 100 items labelled by these 3 annotators (40 more than now)"),
        ("undecided", "item_level_agreement_undecided", {}, "About 100 items labelled by these 3 annotators"),
        ("undecided", "agreement_ratio_undecided", {}, "About 100 items labelled by these 3 annotators"),
    ],
)  # fmt: skip
def test_each_reason_has_its_advice_and_cautions_follow(verdict, reason, more, start):
    advice, caution = _advice(alt(verdict, reason, cautions=("Mind this.",), **more))
    assert advice.startswith(start)
    assert caution == "Mind this."


def test_a_judge_that_repeats_somebody_is_asked_about_other_items():
    repeated = SimpleNamespace(person="ann", same=0.953, others=0.604, p=0.0004)
    looked = SimpleNamespace(kept=SimpleNamespace(structure=None), repeated=repeated)
    (advice,) = _advice(alt(reason="matches_one_annotator", looked=looked))
    assert advice.startswith(
        "It gives ann's label on 95% of items, others do on 60% (p < 0.001): it may have been shown these labels."
    )


def test_items_that_would_tell():
    assert _items_words(alt(items_needed=needed(1160))) == (
        "About 1,160 items labelled by these 3 annotators (1,100 more than now) would tell, yes or no, in four studies "
        "out of five. The number itself is not sure: 90 to 700, in 80% of what these items leave open."
    )
    same = "A repeated study of this size would tell four times in five; this one happens not to."
    assert [_items_words(alt(items_needed=needed(n))) == same for n in (59, 60, 61)] == [True, True, False]
    assert _items_words(alt(items_needed=needed(None))) == (
        "No number of items like these, up to 3,000, would probably tell: as far as these show, hopeless. Improve the "
        "judge, or ask another one."
    )


@pytest.mark.parametrize(
    ("passed", "verdict", "reason", "more", "start"),
    [
        (False, "replace", None, {}, "The published rule counts annotators whose test survives a correction"),
        (True, "undecided", "comparison_undecided", {"p_as_good": 0.051},
         "The published rule lets it pass: it counts wins and asks for"),
        (True, "mixed", None, {"p_as_good": 0.01},
         "The published rule lets it pass: it counts wins and asks for"),
        (True, "undecided", "item_level_agreement_undecided", {"p_as_good": 0.05, "p_looks": 0.06},
         "The published rule passes it: it does not test item-level agreement."),
        (True, "undecided", "agreement_ratio_undecided", {},
         "The published rule passes it: it does not test the agreement ratio."),
        (True, "do_not_replace", "agreement_ratio_too_low", {},
         "The published rule passes it: it does not test the agreement ratio."),
        (True, "undecided", "human_agreement_undecided", {},
         "The published rule passes it: it does not test agreement among annotators."),
    ],
)  # fmt: skip
def test_why_the_published_rule_and_the_verdict_differ(passed, verdict, reason, more, start):
    test = alt(verdict, reason, passed=passed, grounds=grounds(**more))
    assert _disagreement(test).startswith(start)
    assert [one for one in _advice(test) if one.startswith(start)]
    # Where both say the same, or nobody is compared, nothing is said of it.
    for same in ({"passed": verdict == "replace"}, {"grounds": grounds(least=0)}):
        told = _advice(SimpleNamespace(**vars(test) | same))
        assert not [one for one in told if one.startswith("The published rule")]


# -- several domains ----------------------------------------------------------------------------------


def by_domain(tests, by="topic", correction="across", n_domains=None):
    return SimpleNamespace(judge="m", by=by, tests=tests, correction=correction, n_domains=n_domains or len(tests),
                           passed_in=sum(test.passed for test in tests.values()))  # fmt: skip


@pytest.mark.parametrize(
    ("passed", "n", "by", "words"),
    [
        (2, 2, "criterion", "both criteria"), (3, 3, "criterion", "all 3 criteria"),
        (0, 4, "criterion", "none of 4 criteria"), (1, 2, "criterion", "1 of 2 criteria"),
        (2, 4, "topic", "2 of 4 domains (topic)"), (2, 2, "topic", "both domains (topic)"),
    ],
)  # fmt: skip
def test_in_how_many_domains_it_passes(passed, n, by, words):
    assert _how_many(passed, SimpleNamespace(n_domains=n, by=by)) == words


def test_the_card_of_domains():
    tests = {"art": alt("replace", cautions=("Few.",)), "law": alt("do_not_replace", cautions=("Few.", "Old."))}
    found = card_by(by_domain(tests))
    assert (found.tone, found.domain, found.folded) == ("open", None, "each topic")
    assert found.headline == "m may stand in for people on 1 of 2 domains (topic)."
    assert found.evidence == "May stand in for people: art; do not replace people: law. As published it passes in 1."
    assert found.advice == (
        "P-values are corrected for the number of domains, and judges where there are several (Holm). Few. Old."
    )
    assert [line.split(":")[0] for line in found.beside] == ["art", "law"]
    alike = card_by(by_domain({"art": tests["law"]}, correction="within"))
    assert (alike.tone, alike.advice) == ("bad", "Few. Old.")


def test_the_next_step_of_domains_is_that_of_the_passed_ones_then_of_failures():
    passed, failed, open_ = alt("replace", kind="text"), alt("do_not_replace"), alt(reason="comparison_undecided")

    def step(**tests):
        found = {"replace": [name for name, test in tests.items() if test.verdict == "replace"]}
        return _step_by(by_domain(tests), found)

    assert step(a=failed, b=passed) == NextStep("For b only: let it label the rest.", where="topic=b")
    assert step(a=passed, b=passed) == NextStep("let it label the rest.", where="topic=a")
    numbers = alt("replace")
    assert step(a=failed, b=numbers).words.endswith(f"random share of it; {REPORT}")
    assert step(a=failed, b=numbers, c=numbers).words.startswith("For b, c only: let it label the rest, and people ")
    assert step(a=numbers, b=numbers).words.endswith("what people would say of all items (here for a):")
    assert step(a=open_, b=failed).words.startswith("read the items where it is farthest from people")
    assert step(a=open_).words.startswith("have these 3 annotators label about 40 more items")
    assert step() is None


@pytest.mark.parametrize(
    ("verdict", "reason", "more", "p"),
    [
        ("replace", None, {}, " (p = 0.012)"),  # of all three tests, the largest
        ("do_not_replace", None, {"p_worse": 0.004, "p_loses": 0.02}, " (p = 0.004)"),
        # It is worse; that its agreement ratio is low has another p-value.
        ("do_not_replace", None, {"p_worse": 0.04, "p_loses": 0.003}, " (p = 0.040)"),
        ("do_not_replace", "agreement_ratio_too_low", {"p_worse": 0.2, "p_loses": 0.02},
         ", its agreement ratio is below 0.50 (p = 0.020)"),
        ("mixed", None, {"p_as_good": 0.011, "p_worse": 0.04}, " (p = 0.040)"),  # both were shown
        ("undecided", "too_few_clusters", {}, ", too few clusters of items"),  # a count, no test
        ("undecided", "human_agreement_undecided", {},
         ", people are not shown to agree with each other (p = 0.060)"),
        ("not_testable", "human_agreement_too_low", {}, ", people hardly agree with each other"),
    ],
)  # fmt: skip
def test_domain_line_has_the_p_value_of_its_verdict_or_reason(verdict, reason, more, p):
    words = page._DOMAIN_VERDICTS[verdict]
    assert _domain_line("law", alt(verdict, reason, grounds=grounds(**more))) == (
        f"law: {words}{p}; ρ = 0.80 [0.70, 0.90], ω = 0.67, R = 0.90, 60 items."
    )


@pytest.mark.parametrize(
    ("reason", "p", "words"),
    [
        ("comparison_undecided", {"p_as_good": 0.2, "p_looks": 0.3},
         "60 items do not settle whether it is as good as at least 2 of 3 annotators (p = 0.200)"),
        ("item_level_agreement_undecided", {"p_looks": 0.3, "p_keeps": 0.4},
         "item-level agreement is not demonstrated (p = 0.300)"),
        ("agreement_ratio_undecided", {"p_keeps": 0.4},
         "an agreement ratio above 0.50 is not demonstrated (p = 0.400)"),
    ],
)  # fmt: skip
def test_domain_line_of_an_open_domain_has_the_reason_its_p_value_and_a_sample_size(reason, p, words):
    assert _domain_line("law", alt(reason=reason, grounds=grounds(**p))) == (
        f"law: cannot tell yet, {words}; ρ = 0.80 [0.70, 0.90], ω = 0.67, R = 0.90, 60 items. "
        "About 100 items labelled by these 3 annotators (40 more than now) would tell, yes or no, in four studies out "
        "of five. The number itself is not sure: 90 to 700, in 80% of what these items leave open."
    )


def test_domain_line_without_annotators():
    assert _domain_line("law", alt(reason="too_few_items_per_annotator", n_annotators=0)) == (
        "law: nobody has enough items."
    )


# -- what a paper says --------------------------------------------------------------------------------

LEADS = "; advantage probability ρ = 0.80, 95% CI [0.70, 0.90]; winning rate ω = 0.67."
SEES = "to look at the items (p = 0.002), and to keep what people agree on (R = 0.90 [0.60, 1.20], p = 0.003)"


@pytest.mark.parametrize(
    ("verdict", "reason", "more", "words"),
    [
        ("replace", None, {},
         f"was shown to be as good as at least 2 of 3 annotators, allowing ε = 0.10 (p = 0.010), {SEES}"),
        ("do_not_replace", None, {"p_worse": 0.02},
         "was shown to be worse than at least 3 of 3 annotators, even allowing ε = 0.10 (p = 0.020)"),
        ("do_not_replace", "agreement_ratio_too_low", {"p_loses": 0.03},
         "has an agreement ratio below 0.50 (R = 0.90 [0.60, 1.20], p = 0.030)"),
        ("mixed", None, {"p_worse": 0.02},
         "was shown to be as good as at least 2 of 3 annotators, allowing ε = 0.10 (p = 0.010), and worse than at "
         "least 3 (p = 0.020)"),
        ("undecided", "comparison_undecided", {"p_as_good": 0.051, "p_looks": 0.05},
         "was not shown to be one of annotators like these: not shown to be as good as at least 2 of 3 annotators, "
         "allowing ε = 0.10 (p = 0.051); shown to look at the items (p = 0.050); shown to keep enough of what people "
         "agree on (R = 0.90 [0.60, 1.20]) (p = 0.003)"),
    ],
)  # fmt: skip
def test_a_result_for_a_paper(verdict, reason, more, words):
    assert _result(alt(verdict, reason, grounds=grounds(**more))) == f"On 60 items, m {words}{LEADS}"


def test_a_result_for_a_paper_names_the_domain_whom_it_repeats_and_what_is_not_known():
    test = alt(grounds=grounds(repeats="ann"), domain="topic=law")
    assert _result(test).startswith("On 60 items (topic law), m was not shown to be")
    assert "; it repeats ann's labels; advantage" in _result(test)
    bare = alt("replace", advantage_probability=Estimate(0.8, NONE, NONE, NONE, "why not"),
                  retention=Estimate(NONE, NONE, NONE, NONE, "too few"))  # fmt: skip
    assert "(R not known, p = 0.003)" in _result(bare)
    assert _result(bare).endswith("ρ = 0.80, no interval; winning rate ω = 0.67.")
    assert _result(alt(n_annotators=0, domain="topic=law")) == (
        "m (topic law) could not be tested: no annotator has 30 comparable items."
    )


@pytest.mark.parametrize(
    ("options", "agree", "more"),
    [
        ({}, "none", []),
        ({"clusters": "document"}, "none", ["miettinen1985comparative"]),
        ({"balance": True}, "none", ["miettinen1985comparative"]),
        ({}, None, ["krippendorff2004content"]),
    ],
)
def test_works_are_those_that_the_methods_name(options, agree, more):
    one = alt(settings=settings(**options), human_agreement=Estimate(0.5, 0.4, 0.6, 0.05, agree))
    other = alt(human_agreement=Estimate(NONE, NONE, NONE, NONE, "none"))
    assert works([other, one])[6:] == more


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exact unconditional tests, Tango 1998"),
        ({"balance": True}, "score tests, Tango 1998, Miettinen & Nurminen 1985"),
        ({"clusters": "document"},
         "score tests with a design effect for clusters, Tango 1998, Miettinen & Nurminen 1985"),
    ],
)  # fmt: skip
def test_the_test_behind_the_verdict_is_named(options, words):
    assert _verdict_test(settings(**options)) == words


def test_methods_are_those_of_the_test_with_most_annotators():
    first, second, third = methods([alt(n_annotators=2), alt(score="neg_rmse")])
    assert "Each of 3 annotators was left out in turn" in first
    assert first.endswith("compared with the labels of the remaining annotators by negative root mean squared error.")
    assert "tested by one-sided paired t-tests and one-sided Wilcoxon signed-rank tests (annotators with" in second
    assert second.endswith("where H0 is rejected for at least 50% of the annotators.")
    assert "as good as at least 50% of the annotators" in third
    more = methods([
        alt(settings=settings(fixed_reference=True, balance=True, normalise="zscore"), interval_method="bootstrap",
               score="mine", annotators=pl.DataFrame({"test": []}, schema={"test": pl.String}))
    ])  # fmt: skip
    assert more[0].endswith("compared with a reference label by mine.")
    assert "was tested by no test, with" in more[1]
    assert more[3:] == [
        "Uncertainty of ρ: bootstrap.",
        "Items were weighted by the inverse frequency of their majority label (inverse probability).",
        "Labels were normalised within each annotator (zscore).",
    ]


# -- why a test tells, or does not --------------------------------------------------------------------


def reason_of(verdict, clusters=None, n_annotators=3, **more):
    clustering = None if clusters is None else SimpleNamespace(n_clusters=np.array(clusters))
    return AltTest.reason.func(
        SimpleNamespace(verdict=verdict, grounds=grounds(**more), n_annotators=n_annotators,
                        tally=SimpleNamespace(clustering=clustering))
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "more", "reason"),
    [
        ("replace", {}, None),
        ("mixed", {}, None),
        ("do_not_replace", {"p_worse": 0.05}, None),
        ("do_not_replace", {"p_worse": 0.051}, "agreement_ratio_too_low"),
        ("not_testable", {}, "human_agreement_too_low"),
        ("undecided", {"n_annotators": 0}, "too_few_items_per_annotator"),
        ("undecided", {"clusters": [12, 9]}, "too_few_clusters"),
        ("undecided", {"clusters": [12, 10], "p_looks": 0.06}, "item_level_agreement_undecided"),
        ("undecided", {"p_as_good": 0.051, "repeats": "ann"}, "comparison_undecided"),
        ("undecided", {"p_as_good": math.nan}, "comparison_undecided"),
        ("undecided", {"p_as_good": 0.05, "repeats": "ann", "people_agree": False}, "matches_one_annotator"),
        ("undecided", {"people_agree": False, "p_looks": 0.06}, "human_agreement_undecided"),
        ("undecided", {"p_looks": 0.051}, "item_level_agreement_undecided"),
        ("undecided", {"p_looks": 0.05}, "agreement_ratio_undecided"),
    ],
)
def test_the_first_thing_that_is_not_shown_is_the_reason(verdict, more, reason):
    assert reason_of(verdict, **more) == reason


@pytest.mark.parametrize(
    ("people", "reference", "caution"),
    [(0, False, False), (1, False, True), (2, False, True), (3, False, False), (1, True, False)],
)
def test_fewer_than_three_people_are_no_consensus(people, reference, caution):
    found = cautions(people, reference=reference)
    assert found == (("With fewer than three annotators there is no consensus to compare with.",) if caution else ())


def cautions(people, *, tests=("t",), tolerance=0.1, balance=False, reference=False, clusters=None):
    clustering = None if clusters is None else SimpleNamespace(n_clusters=np.array(clusters))
    tally = SimpleNamespace(
        tested=np.arange(people), decided=SimpleNamespace(tests=tests), clustering=clustering
    )  # fmt: skip
    return _cautions(tally, settings(tolerance=tolerance, balance=balance, fixed_reference=reference))


def test_each_caution_has_its_cause():
    wilcoxon = "Under 30 items Wilcoxon's test is used, as published; with epsilon above 0"
    assert cautions(3, tests=("t", "wilcoxon"))[0].startswith(wilcoxon)
    assert cautions(3, tests=("wilcoxon",), tolerance=0.0) == cautions(3) == ()
    assert cautions(3, balance=True)[0].startswith("Under balance ω and its p-values take one variance")
    assert cautions(3, clusters=[25, 19])[0].startswith("With 19 clusters, one on which everything goes wrong may be")
    assert cautions(3, clusters=[25, 20]) == ()
    assert len(cautions(2, tests=("wilcoxon",), balance=True, clusters=[12])) == 4


# -- what the verdict rests on, in three sentences -----------------------------------------------------


def evidence(p=None, *, agreement=True, structure=None, **more):
    test = alt(**{"people_agreement": Estimate(0.4, 0.3, 0.5, 0.05)} | more)
    test.grounds = grounds(**(p or {}))
    test.looked = SimpleNamespace(
        kept=SimpleNamespace(structure=structure), least_sure=SimpleNamespace(structure=structure)
    )
    test._count_sentence = lambda: AltTest._count_sentence(test)
    test._item_level_sentence = lambda: AltTest._item_level_sentence(test)
    test._ratio_sentence = lambda agreement: AltTest._ratio_sentence(test, agreement)
    return AltTest.evidence(test, agreement=agreement)


@pytest.mark.parametrize(
    ("p", "more", "words"),
    [
        ({"p_as_good": 0.05}, {}, "as good as at least 2 of 3 annotators within the margin ε = 0.1 (p = 0.050)."),
        ({"p_as_good": 0.051, "p_worse": 0.05}, {"worse_than": ("ann", "bob")},
         "worse than at least 3 of 3 annotators, beyond the margin ε = 0.1 (p = 0.050); worse than ann, bob (each, "
         "Holm-adjusted)."),
        ({"p_as_good": 0.051}, {}, "not demonstrated for at least 2 of 3 annotators, margin ε = 0.1 (p = 0.051)."),
        ({"p_worse": 0.02}, {"worse_than": ("cho",)},
         "as good as at least 2 of 3 annotators within the margin ε = 0.1 (p = 0.010); worse than cho (each, "
         "Holm-adjusted)."),
    ],
)  # fmt: skip
def test_evidence_has_the_required_count_with_its_p_value(p, more, words):
    assert evidence(p, **more)[0] == f"Non-inferiority: {words}"


@pytest.mark.parametrize(
    ("p", "structure", "words"),
    [
        (0.05, None, "matches annotators of the same item better than of other items (p = 0.050)."),
        (0.051, None, "not demonstrated (p = 0.051)."),
        (0.01, "topic", "matches annotators of the same item better than of other items with the same “topic” "
                        "(p = 0.010)."),
        (0.06, "topic", "not demonstrated within “topic” (p = 0.060)."),
    ],
)  # fmt: skip
def test_evidence_of_item_level_agreement(p, structure, words):
    assert evidence({"p_looks": p}, structure=structure)[1] == f"Item-level agreement: {words}"


@pytest.mark.parametrize(
    ("p", "more", "words"),
    [
        ({"p_keeps": 0.05}, {}, ": R = 0.90 [0.60, 1.20], above the required 0.50 (p = 0.050). Annotators agree with "
                                "each other at A = 0.40 [0.30, 0.50]."),
        ({"p_keeps": 0.051, "loses": True, "p_loses": 0.02}, {"agreement": False},
         ": R = 0.90 [0.60, 1.20], below the required 0.50 (p = 0.020)."),
        ({"p_keeps": 0.051}, {"agreement": False, "structure": "topic"},
         " within “topic”: R = 0.90 [0.60, 1.20]; not demonstrated to exceed 0.50 (p = 0.051)."),
        ({}, {"settings": settings(fixed_reference=True, least_retention=0.4)},
         ": R = 0.90 [0.60, 1.20], above the required 0.40 (p = 0.003). Annotators agree with the reference at "
         "A = 0.40 [0.30, 0.50]."),
        ({}, {"agreement": False, "retention": Estimate(NONE, NONE, NONE, NONE, "why")},
         ": no estimate (why), above the required 0.50 (p = 0.003)."),
        ({"p_keeps": 1.0}, {"agreement": False, "retention": Estimate(0.0, NONE, NONE, NONE, "one label only")},
         ": R = 0.00 (one label only); not demonstrated to exceed 0.50 (p = 1.000)."),
        ({}, {"people_agreement": Estimate(NONE, NONE, NONE, NONE, "too few items decide")},
         ": not estimable: too few items decide."),
    ],
)  # fmt: skip
def test_evidence_of_the_agreement_ratio(p, more, words):
    assert evidence(p, **more)[2] == f"Agreement ratio{words}"


@pytest.mark.parametrize(
    ("as_good_as", "n_verdicts", "p_as_good", "words"),
    [
        # The conjunction of 3 of 3 is the largest p-value; of 2 of 3 it is min(2 · .015 / 1, .02 · 2 / 2) = .02.
        (3, 1, 0.02, ["as good as at least 3 of 3 annotators within the margin ε = 0.1 (p = 0.020)"]),
        (3, 2, 0.02, ["as good as at least 3 of 3 annotators within the margin ε = 0.1 (p = 0.040, Bonferroni-adjusted "
                      "for 2 verdicts)"]),
        (2, 1, 0.02, []), (0, 1, 0.02, []), (3, 1, 0.051, []),
    ],
)  # fmt: skip
def test_larger_count_has_a_p_value_of_its_own(as_good_as, n_verdicts, p_as_good, words):
    p = np.array([0.001, 0.015, 0.02])
    tally = SimpleNamespace(verdict_p=(p,), table=alt().tally.table)
    test = alt(
        "replace", as_good_as=as_good_as, n_verdicts=n_verdicts, tally=tally, grounds=grounds(p_as_good=p_as_good)
    )
    assert AltTest.larger_count(test) == words


def test_nobody_has_enough_items_for_evidence():
    assert evidence(n_annotators=0) == ["Nobody has the 30 comparable items that the test asks for."]


@pytest.mark.parametrize(
    ("reason", "found", "words"),
    [
        ("comparison_undecided", needed(1160, power=0.8),
         ["About 1,160 items (90 to 700) by these annotators would tell, yes or no, with assurance 0.8."]),
        ("item_level_agreement_undecided", needed(None),
         ["No number of items up to 3,000 would probably tell: hopeless."]),
        ("too_few_clusters", needed(100), []),
        (None, needed(100), []),
    ],
)  # fmt: skip
def test_how_many_items_would_tell_is_said_where_they_would(reason, found, words):
    assert AltTest._items_sentences(alt(reason=reason, items_needed=found)) == words


@pytest.mark.parametrize(
    ("p", "least", "level", "k"),
    [
        # Simes' test of those from the u-th smallest on: min over i of (m - u + 1) / i times the i-th of them.
        ([0.01, 0.02, 0.2], 2, 0.05, 2),  # 3 * .01 = .03, then 2 * .02 = .04, then .2
        ([0.01, 0.03, 0.2], 2, 0.05, 1),
        ([0.04, 0.045, 0.05], 2, 0.05, 3),  # all of them at once: the largest is enough
        ([0.2, 0.3, 0.4], 2, 0.05, 0),
    ],
)
def test_as_good_as_the_most_annotators_whose_conjunction_is_shown(p, least, level, k):
    test = SimpleNamespace(grounds=grounds(p_as_good=0.5, least=least), tally=SimpleNamespace(verdict_p=(np.array(p),)))
    assert AltTest._count_as_good(test, level) == k
    # Weights may show a share that no count shows.
    test.grounds = grounds(p_as_good=level, least=least)
    assert AltTest._count_as_good(test, level) == (k or least)


# -- the whole in sentences ---------------------------------------------------------------------------


def summary_of(*, tests=("t", "t"), **more):
    test = alt(**{"reason": "comparison_undecided", "winning_rate": 1 / 3, "n_won": 1, "n_labels": 1200} | more)
    test.decided = SimpleNamespace(tests=tests)
    test.run = SimpleNamespace(closing=lambda: ["the signature"])
    test.evidence = lambda: ["What it rests on."]
    test._items_sentences = lambda: ["About 90 items."]
    return AltTest.summary(test).split("\n")


def test_a_summary_is_the_verdict_its_grounds_the_published_numbers_and_what_would_tell():
    assert summary_of(tests=("t", "wilcoxon", "t"), interval_method="95% bootstrap") == [
        "m: cannot be told yet: 60 items do not settle whether it is as good as at least 2 of 3 annotators.",
        "What it rests on.",
        "As published: does not pass, winning rate 0.33 (1 of 3 annotators, epsilon = 0.1, threshold 0.5); advantage "
        "probability 0.80 [0.70, 0.90] (95% bootstrap).",
        "Score: accuracy with the other annotators; paired t-tests, Wilcoxon signed-rank tests (fewer than 30 items), "
        "one-sided, Benjamini-Yekutieli at q = 0.05; 60 items, 1,200 human labels.",
        "Smallest epsilon: passes at ε ≥ 0.030; as good as half of the annotators at ε = −0.10 [−0.20, 0.01].",
        "About 90 items.",
        "the signature",
    ]


@pytest.mark.parametrize(
    ("more", "at", "words"),
    [
        ({"verdict": "replace", "reason": None}, 0, "m: may stand in for these annotators."),
        ({"verdict": "replace", "reason": None}, 2, "As published: passes, "),
        ({"verdict": "do_not_replace", "reason": None}, 0, "m: must not stand in for these annotators."),
        ({"advantage_probability": Estimate(0.8, NONE, NONE, NONE)}, 2, "advantage probability 0.80 (no interval)."),
        ({"settings": settings(fixed_reference=True, gold="truth", expert=None)}, 3, "with the gold labels; "),
        ({"settings": settings(fixed_reference=True, expert="dr")}, 3, "with the expert 'dr'; "),
        ({"settings": settings(clusters="topic")}, 3, "t-tests with standard errors robust to clusters of 'topic', "),
        ({"tests": ()}, 3, "annotators; no test, one-sided"),
        ({"advantage_probability": Estimate(0.8, NONE, NONE, NONE, "none was wanted")}, 4,
         "No interval: none was wanted."),
    ],
)  # fmt: skip
def test_each_part_of_a_summary_has_its_cause(more, at, words):
    assert words in summary_of(**more)[at]


@pytest.mark.parametrize(("design", "said"), [(None, False), (1.19, False), (1.2, True), (3.0, True)])
def test_documents_are_in_the_summary_from_a_design_effect_of_1_2(design, said):
    effect = None if design is None else DocumentEffect(10, 60, design)
    assert (len(summary_of(document_effect=effect)) == 8) == said
    if said:
        assert summary_of(document_effect=effect)[6] == effect.words()
        assert len(summary_of(document_effect=effect, n_annotators=0)) == 5  # of nobody there is nothing more to say


def test_the_share_of_people_like_these_is_a_lower_end_at_half_of_its_level():
    """As good as all of three: the share p with p³ = .025 is the lower end; .05 / 2 verdicts have .0125 each."""

    def speaks(k, n_verdicts=1):
        asked = []
        test = SimpleNamespace(
            grounds=grounds(), n_verdicts=n_verdicts, n_annotators=3,
            _count_as_good=lambda level: asked.append(level) or k,
        )  # fmt: skip
        test._each_level = AltTest._each_level.fget(test)
        return AltTest.speaks_of.fget(test), asked

    assert speaks(3) == (pytest.approx(0.025 ** (1 / 3)), [0.025])
    assert speaks(3, 2) == (pytest.approx(0.0125 ** (1 / 3)), [0.0125])
    assert speaks(1) == (pytest.approx(1 - 0.975 ** (1 / 3)), [0.025])  # not one of three: (1 - p)³ = .975
    assert speaks(0) == (0.0, [0.025])


@pytest.mark.parametrize(
    ("p", "level", "names"),
    [
        ((0.01, 0.025, 0.05), 0.05, ("ann", "bob", "dan")),  # Holm: .03, .05, .05
        ((0.01, 0.026, 0.05), 0.05, ("ann",)),  # .03, .052, .052
        ((0.9, 0.01, 0.01), 0.05, ("bob", "dan")),
        ((0.9, 0.01, 0.01), 0.025, ()),  # .03 each
        ((0.9, 0.8, math.nan), 0.05, ()),
    ],
)
def test_it_is_worse_than_whom_it_is_shown_to_be_worse(p, level, names):
    """Of ann, bob, cho and dan, cho has too few items."""
    tally = SimpleNamespace(
        verdict_p=(None, np.array(p)), tested=np.array([0, 1, 3]),
        table=SimpleNamespace(humans=("ann", "bob", "cho", "dan")),
    )  # fmt: skip
    assert AltTest.worse_than.func(SimpleNamespace(tally=tally, _each_level=level)) == names
