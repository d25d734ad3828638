"""The table of a test: which score fits a scale, which items are compared, what needs the whole table at once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.annotations import Answers
from assay.data.names import Coded, NameParts
from assay.data.scales import Interval, Nominal, Ordinal, Preference, Text
from assay.replacement.panel import (
    AltTestSettings,
    AltTestTable,
    Rule,
    labels_of,
)
from assay.similarity.registry import as_similarity
from assay.statistics.panels import Accuracy, NegRMSE
from assay.statistics.strata import Stratification, all_strata, known_columns

WORDS = Nominal(("bad", "good"))
NUMBERS = Nominal((1, 2))
STEPS = Ordinal(1, 5)
GRADES = Ordinal(["low", "mid", "high"])
SIDES = Preference()
GRADED = Preference(("slightly", "clearly"))
SHARE = Interval(0, 1)


EXAMPLES = {
    WORDS: ["bad", "good"], NUMBERS: [1, 2], STEPS: [1, 5], GRADES: ["low", "high"],
    SIDES: [-1, 1], GRADED: [-2, 1], SHARE: [0.0, 1.0], Text(): ["red", "blue"],
}  # fmt: skip
"""Two labels on each scale."""


def labels_on(scale, humans=("ann", "bob"), judges=("m",), labels=None, **options):
    """Four items with labels by everyone, the same two labels in turn."""
    one, two = EXAMPLES[scale] if labels is None else labels
    rows = [(f"i{k}", who, (one, two)[k % 2]) for who in (*humans, *judges) for k in range(4)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(frame, judges=list(judges), scale=scale, **options)


def table_of(scale, labels=None, **options):
    return AltTestTable.of(labels or labels_on(scale), AltTestSettings(**{"epsilon": 0.1} | options))


def score_of(scale, **options):
    return table_of(scale, **options).score.name


# -- which score --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "options", "name"),
    [
        (WORDS, {}, "accuracy"),
        (SIDES, {}, "accuracy"),
        (GRADED, {}, "neg_rmse"),
        (STEPS, {}, "neg_rmse"),
        (GRADES, {}, "neg_rmse"),
        (SHARE, {}, "neg_rmse"),
        (SIDES, {"normalise": "zscore"}, "neg_rmse"),  # an order of two sides counts once labels are normalised
        (SIDES, {"score": "neg_rmse"}, "neg_rmse"),
        (STEPS, {"score": "accuracy"}, "accuracy"),
        (SHARE, {"score": "accuracy"}, "accuracy"),
    ],
)
def test_score_follows_scale_by_default(scale, options, name):
    assert score_of(scale, **options) == name


def test_score_is_similarity_if_given():
    words = as_similarity("words")
    assert score_of(Text(), similarity=words) == "similarity(words)"
    assert score_of(WORDS, similarity=words) == "similarity(words)"  # categories that are words are texts
    assert score_of(STEPS, similarity={(1, 2): 0.5}) not in ("accuracy", "neg_rmse")  # a table needs no texts
    # Another score is named: the similarity is ignored for all labels.
    assert score_of(STEPS, similarity=words, score="accuracy") == "accuracy"
    assert score_of(STEPS, similarity=words, score="neg_rmse") == "neg_rmse"


@pytest.mark.parametrize(
    ("scale", "options", "words"),
    [
        (WORDS, {"score": "neg_rmse"}, "score 'neg_rmse' requires numbers; the labels are"),
        (Text(), {}, "text labels require similarity="),
        (WORDS, {"score": "similarity"}, "text labels require similarity="),
        (STEPS, {"similarity": "words"}, "the similarity 'words' compares texts; the labels are"),
        (SIDES, {"similarity": "words"}, "the similarity 'words' compares texts; the labels are"),
        (WORDS, {"normalise": "rank"}, "normalise='rank' requires ordered labels; these are"),
        (
            STEPS,
            {"normalise": "rank", "score": "accuracy"},
            "normalised labels are rarely equal: use score='neg_rmse'",
        ),
    ],
)
def test_scores_that_a_scale_does_not_have_are_refused(scale, options, words):
    if "similarity" in options:
        options = options | {"similarity": as_similarity(options["similarity"])}
    with pytest.raises(assay.errors.DesignError, match=words):
        score_of(scale, **options)


@pytest.mark.parametrize(
    ("scale", "texts"),
    [(WORDS, True), (Text(), True), (GRADES, True), (NUMBERS, False), (STEPS, False), (SHARE, False),
     (SIDES, False)],
)  # fmt: skip
def test_similarity_of_texts_requires_text_labels(scale, texts):
    words = as_similarity("words")
    if texts:
        assert score_of(scale, similarity=words) == "similarity(words)"
        return
    with pytest.raises(assay.errors.DesignError, match="the similarity 'words' compares texts; the labels are"):
        score_of(scale, similarity=words)


# -- which items --------------------------------------------------------------------------------------


def rule(labels=None, **options):
    score = Accuracy() if labels else NegRMSE()
    return Rule(AltTestSettings(**{"epsilon": 0.1} | options), score, np.array([0, 1]), np.ones(2), None, labels)


def test_items_with_enough_people_and_a_reference_are_compared():
    people, reference = np.array([0, 1, 2, 3]), np.array([1.0, 1.0, np.nan, 1.0])
    assert rule().usable(people, None).tolist() == [False, False, True, True]
    assert rule(min_humans=3).usable(people, None).tolist() == [False, False, False, True]
    # With a fixed reference one annotator is enough, for any min_humans.
    gold = rule(gold="truth", min_humans=3)
    assert gold.usable(people, reference).tolist() == [False, True, False, True]


def test_numbers_are_named_by_their_labels_or_as_whole_as_they_are():
    assert rule().label_names(np.array([2.0, 2.5, -1.0])) == (2, 2.5, -1)
    assert isinstance(rule().label_names(np.array([2.0]))[0], int)
    assert rule(("x", "y")).label_names(np.array([1.0, 0.0])) == ("y", "x")


@pytest.mark.parametrize(
    ("options", "whole"),
    [({}, False), ({"balance": True}, True), ({"gold": "truth"}, True), ({"expert": "ann"}, True),
     ({"clusters": "document"}, True)],
)  # fmt: skip
def test_table_whole_with_classes_references_or_clusters(options, whole):
    items = pl.DataFrame({"item": [f"i{k}" for k in range(4)], "truth": [1, 5, 1, 5], "document": ["x", "x", "y", "z"]})
    labels = labels_on(STEPS, ("ann", "bob", "cho"), items=items)
    assert table_of(STEPS, labels, **options).whole is whole


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [({"expertise": "expert"}, 0.2), ({"expertise": "skilled"}, 0.15), ({"expertise": "crowd"}, 0.1),
     ({"epsilon": 0.0}, 0.0), ({"gold": "truth"}, 0.0), ({"gold": "truth", "expertise": "crowd"}, 0.1)],
)  # fmt: skip
def test_epsilon_is_that_of_the_expertise_and_0_against_gold(options, tolerance):
    # Appendix B.1 of the paper for whom is replaced, C.3 for gold labels.
    assert AltTestSettings(**options).tolerance == tolerance


# -- people -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("humans", "judges", "options", "words"),
    [
        (("a",), ("m",), {}, "at least 2 human annotators; the table has 1. With a single expert, recruit others"),
        (("a",), (), {}, "the table has 1 and no judge; read it with judges="),
        ((), ("m",), {"gold": "truth"}, "the table has 0. With"),
        (("a", "b"), (), {}, None),
        (("a",), ("m",), {"gold": "truth"}, None),
    ],
)
def test_alt_test_requires_two_annotators(humans, judges, options, words):
    items = pl.DataFrame({"item": [f"i{k}" for k in range(4)], "truth": [1, 5, 1, 5]})
    labels = labels_on(STEPS, humans, judges, items=items)
    if words is None:
        assert table_of(STEPS, labels, **options).humans == humans
        return
    with pytest.raises(assay.errors.DesignError, match=words):
        table_of(STEPS, labels, **options)


def answers(value, who, item=None):
    names = tuple(f"i{k}" for k in range(4))
    item = np.arange(len(value)) % 4 if item is None else np.array(item)
    return Answers(item, np.array(who), np.array(value, dtype=float), names, ("ann", "bob"), None)


@pytest.mark.parametrize(
    ("how", "ann", "bob"),
    [
        # Ann has 1, 1, 3, 3: mean 2, standard deviation 1. Bob always says 4.
        ("zscore", [-1, -1, 1, 1], [0, 0]),
        ("minmax", [0, 0, 1, 1], [0, 0]),
        # Ranks 1.5, 1.5, 3.5, 3.5 of four, less a half: 1/4 and 3/4; bob's are 1.5 of two.
        ("rank", [0.25, 0.25, 0.75, 0.75], [0.5, 0.5]),
    ],
)
def test_each_annotators_own_scale_by_hand(how, ann, bob):
    rows = [*((f"i{k}", "ann", v) for k, v in enumerate([1, 1, 3, 3])), ("i0", "bob", 4), ("i1", "bob", 4)]
    frame = pl.DataFrame([*rows, ("i0", "m", 1)], schema=["item", "annotator", "label"], orient="row")
    labels = assay.Annotations.from_frame(frame, judges=["m"], scale=STEPS)
    found = table_of(STEPS, labels, normalise=how).ratings
    values = {
        (found.answers.items[i], found.annotators[a]): v
        for i, a, v in zip(found.answers.item, found.answers.annotator, found.answers.value, strict=True)
    }
    assert [values[item, who] for item, who, _ in rows] == pytest.approx([*ann, *bob])
    assert found.answers.categories is None


def test_labels_of_are_at_their_items():
    found = labels_of(answers([5, 6, 7], [0, 1, 1], [2, 2, 0]), 1)
    assert found.tolist() == pytest.approx([7, np.nan, 6, np.nan], nan_ok=True)


@pytest.mark.parametrize("bad", [0, -1, np.inf, np.nan, "much", None])
def test_quality_is_a_number_above_0(bad):
    assert table_of(STEPS).rule.quality.tolist() == [1, 1]
    assert table_of(STEPS, quality={"bob": 0.5, "ann": 2, "cho": -1}).rule.quality.tolist() == [2, 0.5]
    with pytest.raises(assay.errors.DataError, match="quality of annotator 'bob' must be a number above 0"):
        table_of(STEPS, quality={"ann": 1, "bob": bad})


def test_alt_test_rejects_two_criteria():
    rows = [(f"i{k}", who, criterion, k % 2 + 1)
            for k in range(4) for who in ("ann", "bob", "m") for criterion in ("clear", "true")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    both = assay.Annotations.from_frame(frame, judges=["m"], scale=STEPS)
    settings = AltTestSettings(epsilon=0.1)
    with pytest.raises(assay.errors.DesignError, match=r"the table has 2 criteria \(clear, true\); test each with"):
        AltTestTable.of(both, settings)
    one = assay.Annotations.from_frame(frame.filter(pl.col("criterion") == "true"), judges=["m"], scale=STEPS)
    made = AltTestTable.of(one, settings)
    assert (one.criteria, made.humans, made.ratings.n_items) == (("true",), ("ann", "bob"), 4)
    assert made.fingerprint
    with pytest.raises(assay.errors.DataError, match=r"expert 'anna'.*did you mean 'ann'"):
        AltTestTable.of(one, AltTestSettings(epsilon=0.1, expert="anna"))


# -- what is known of items without reading them ------------------------------------------------------


def parts_of(codes):
    stem = Coded(pl.Series([f"s{k}" for k in sorted(set(codes))]), np.array(codes))
    return NameParts("_", stem, stem), stem


def structures(columns=(), documents=None, suffix=None, wanted="auto"):
    given = columns[0].part if columns else suffix.codes if suffix else documents.stem.codes if documents else ()
    return all_strata(tuple(columns), documents, suffix, wanted, np.ones(len(given), dtype=bool))


def column(name, *codes):
    return Stratification(name, np.array(codes))


def test_strata_stem_requires_two_items():
    for codes, there in (([0, 0, 1], False), ([0, 0, 1, 1], True)):
        documents, _ = parts_of(codes)
        assert [one.name for one in structures(documents=documents)] == ["stem"] * there
        (asked,) = structures(documents=documents, wanted="stem")
        assert (asked.name, asked.by_stem, asked.part.tolist()) == ("stem", False, codes)
    assert structures(documents=documents)[0].by_stem  # found by itself
    assert structures(documents=documents, wanted="suffix", suffix=parts_of([0, 1] * 3)[1])[0].name == "suffix"
    assert structures(documents=documents, wanted="none") == structures() == ()


def test_strata_suffix_requires_five_items():
    for codes, there in (([0] * 5 + [1] * 4, False), ([0] * 5 + [1] * 5, True)):
        _, suffix = parts_of(codes)
        assert [one.name for one in structures(suffix=suffix)] == ["suffix"] * there
        (asked,) = structures(suffix=suffix, wanted=["suffix"])
        assert asked.part.tolist() == codes
        assert structures(suffix=suffix, wanted="none") == ()


def test_strata_are_combined_with_five_items_per_cell():
    documents, _ = parts_of([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    a, b = column("a", *[0] * 5, *[1] * 5), column("b", *[2] * 5, *[0] * 5)
    found = structures([a, b], documents)
    assert [one.name for one in found] == ["a", "b", "a × b", "stem"]
    assert found[2].part.tolist() == [0] * 5 + [1] * 5
    third = column("b", *[0] * 5, 1, 1, 0, 0, 0)  # ten items in three cells
    assert [one.name for one in structures([a, third], documents)] == ["a", "b", "stem"]
    assert [one.name for one in structures([a])] == ["a"]  # one alone is crossed with nothing
    _, suffix = parts_of([0] * 5 + [1] * 5)
    assert [one.name for one in structures([a], suffix=suffix, wanted=["a", "suffix"])] == ["a", "suffix", "a × suffix"]


def test_names_that_share_nothing_cannot_be_asked_for():
    for wanted in ("stem", "suffix", ["a", "stem"]):
        with pytest.raises(assay.errors.DesignError, match="the item ids share no prefix or suffix"):
            structures([column("a", 0, 1)], wanted=wanted)
    assert structures([column("stem", 0, 1)], wanted="stem")[0].part.tolist() == [0, 1]  # a column of that name


def test_strata_columns_require_five_items_per_value():
    """Of ten items; not label columns, or columns with only labels. With fewer items per value, they are documents."""
    n = 10
    halves = [k % 2 for k in range(n)]
    items = pl.DataFrame({
        "item": [f"i{k}" for k in range(n)], "topic": ["law", "art"] * 5, "thirds": [min(k // 3, 2) for k in range(n)],
        "same": ["x"] * n, "share": [float(k) for k in halves], "gold_label": halves, "Target": halves,
        "target_language": ["de", "fr"] * 5, "mean": halves, "meaning": halves, "says": ["good", "BAD"] * 5,
        "gaps": [None if k else "x" for k in halves],
    })  # fmt: skip
    rows = [
        (f"i{k}", who, label)
        for who in ("ann", "bob")
        for k, label in enumerate(["bad", "good", "worse"] * 3 + ["bad"])
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")

    def asked(scale=None, **options):
        labels = assay.Annotations.from_frame(
            frame, items=items, scale=Nominal(("bad", "good", "worse")) if scale is None else scale
        )  # fmt: skip
        given = (options.get(k, default) for k, default in (("strata", "auto"), ("gold", None)))
        return [(one.name, one.part.tolist()) for one in known_columns(labels, *given, np.ones(n, bool)).columns]

    found = asked()
    assert [name for name, _ in found] == ["topic", "thirds", "share", "target_language", "meaning", "gaps"]
    assert dict(found)["topic"] == [1, 0] * 5  # by name
    assert dict(found)["gaps"] == [1, 0] * 5  # no value is a value
    assert "says" in [name for name, _ in asked(Text())]
    assert "topic" not in [name for name, _ in asked(gold="topic")]
    assert [name for name, _ in asked(strata="says")] == ["says"]
    assert [name for name, _ in asked(strata=["thirds", "same", "stem"])] == ["thirds", "same"]
    assert asked(strata="none") == asked(strata="stem") == []
