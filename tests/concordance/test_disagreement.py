"""Disagreement by item and category, and the confusion of judge and human labels."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import from_grid, row

import assay
import references
from assay.concordance import words
from assay.concordance.groups.disagreement import (
    CategoryShares,
    DisagreementSettings,
    KappaOfCategories,
    _compare_categories,
    _groups,
    _items_with,
    distance_unit,
    farthest_items,
    mean_distance,
)
from assay.concordance.page import MOST_CHARACTERS, _cut, _is_text
from assay.data.annotations import Annotations
from assay.data.ratings import Ratings
from assay.data.scales import Interval, Nominal, Ordinal
from assay.errors import DesignError
from assay.estimation.resampling import Sums

ROWS = [
    ("q1", "ann", "harm"), ("q1", "bob", "fine"), ("q1", "cho", "harm"), ("q1", "gpt", "fine"),
    ("q2", "ann", "fine"), ("q2", "bob", "fine"), ("q2", "cho", "fine"), ("q2", "gpt", "fine"),
    ("q3", "ann", "harm"), ("q3", "bob", "harm"), ("q3", "cho", "harm"), ("q3", "gpt", "fine"),
    ("q4", "ann", "fine"), ("q4", "gpt", "harm"),
    ("q5", "ann", "fine"),
]  # fmt: skip


def labelled(rows=ROWS, **options) -> Annotations:
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    items = pl.DataFrame({"item": ["q1", "q2", "q3", "q4", "q5"], "text": [f"text of q{i}" for i in range(1, 6)]})
    return Annotations.from_frame(
        frame, judges=["gpt"], scale=Nominal(["fine", "harm"]), items=items, **options
    )  # fmt: skip


def test_items_are_ranked_with_their_texts_and_who_said_what():
    """q4: one pair, apart. q1: people 2 of 3 pairs apart; all four labels 4 of 6. q3: 3 of 6, all by the judge."""
    found = assay.disagreement(labelled())
    assert found.items["item"].to_list() == ["q4", "q1", "q3", "q2"]
    first, second = row(found.items, item="q4"), row(found.items, item="q1")
    assert (first["disagreement"], first["people"], first["judges"], first["n"]) == (1.0, None, 1.0, 2)
    assert second["disagreement"] == pytest.approx(4 / 6)
    assert second["people"] == second["judges"] == pytest.approx(2 / 3)
    assert second["labels"] == "ann harm, bob fine, cho harm, gpt fine"
    assert second["text"] == "text of q1"
    text = found.summary()
    assert text.startswith("All labels agree on 1 of 4 items with two or more labels.")
    assert "q4 “text of q4”: 1.00 of the scale (ann fine, gpt harm)" in text
    assert "Excluded: 1 item: no two labels to compare." in text
    judges = assay.disagreement(labelled(), first="judges").items
    assert judges["item"][0] == "q3"
    assert judges["excess"][0] == 1
    assert assay.disagreement(labelled(), first="people").items["item"][0] == "q1"


def test_distances_are_shares_of_the_scale():
    cells = np.array([[1, 5, np.nan], [2, 3, 3]], dtype=float)
    found = assay.disagreement(from_grid(cells, Ordinal(1, 5))).items
    assert found["disagreement"].to_list() == pytest.approx([1.0, (1 + 1 + 0) / 3 / 4])
    free = assay.disagreement(from_grid(cells, Interval())).items
    assert free["disagreement"].to_list() == pytest.approx([1.0, 2 / 3 / 4])
    low = pl.DataFrame({"item": ["a", "a"], "annotator": ["x", "y"], "label": ["low", "high"]})
    ordered = assay.disagreement(Annotations.from_frame(low, scale=Ordinal(["low", "mid", "high"])))
    assert ordered.items["disagreement"].to_list() == [1.0]


@pytest.mark.parametrize("ordered", [True, False])
def test_mean_distance_averages_all_pairs(ordered):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 4, (30, 5)).astype(float)
    cells[rng.random(cells.shape) < 0.3] = np.nan
    for line, found in zip(cells, mean_distance(cells, ordered=ordered), strict=True):
        there = line[~np.isnan(line)]
        pairs = [abs(a - b) if ordered else float(a != b) for a, b in itertools.combinations(there, 2)]
        assert found == pytest.approx(np.mean(pairs)) if pairs else np.isnan(found)


def test_agreement_for_each_category_is_fleiss_s_and_specific():
    """People of q1 to q3: harm 5 of 9 labels. Matched: q1 2 · 1/2, q3 3 · 2/2: 4 of 5; fine: q2 3, of 4."""
    found = assay.disagreement(labelled()).table
    people = row(found, who="humans", category="harm", coefficient="specific-agreement")
    assert people["estimate"] == pytest.approx(4 / 5)
    assert people["n"] == 2
    assert row(found, who="humans", category="fine", coefficient="specific-agreement")["estimate"] == pytest.approx(
        3 / 4
    )
    kappa = row(found, who="humans", category="harm", coefficient="category-kappa")["estimate"]
    p = 5 / 9
    assert kappa == pytest.approx((4 / 5 - p) / (1 - p))
    # Of two categories each has the κ of both.
    three = [[r[2] for r in ROWS[i : i + 3]] for i in (0, 4, 8)]
    assert kappa == pytest.approx(references.fleiss_kappa(three, ["fine", "harm"]))
    # The judge with people: harm is said by it on q4 alone, by 2/3, 0, 1, 0 of people: never by both.
    judge = row(found, who="gpt", category="harm", coefficient="specific-agreement")
    assert judge["estimate"] == 0
    fine = row(found, who="gpt", category="fine", coefficient="specific-agreement")
    assert fine["estimate"] == pytest.approx(2 * (1 / 3 + 1 + 0 + 0) / (3 + 1 / 3 + 1 + 0 + 1))
    beyond = row(found, who="gpt", category="fine", coefficient="category-kappa")["estimate"]
    p = (3 + 1 / 3 + 1 + 1) / 8
    assert beyond == pytest.approx((fine["estimate"] - p) / (1 - p))


def test_confusion_counts_pairs_of_the_judge_and_a_person():
    found = assay.disagreement(labelled())
    pairs = {(r["human_label"], r["judge_label"]): r["pairs"] for r in found.confusion.iter_rows(named=True)}
    assert pairs == {("fine", "fine"): 4, ("fine", "harm"): 1, ("harm", "fine"): 5, ("harm", "harm"): 0}
    assert row(found.confusion, human_label="harm", judge_label="fine")["share"] == 1
    assert "Most frequent confusion: human harm, gpt fine (5 of 6 disagreements)." in str(found)
    shown = found.confusion_map("gpt")
    assert [t.get_text() for t in shown.get_xticklabels()] == ["fine", "harm"]
    with pytest.raises(DesignError, match="did you mean 'gpt'"):
        found.confusion_map("gtp")


def test_share_has_interval_or_reason():
    row = {"estimate": 0.5, "low": 0.4, "high": 0.6, "reason": None}
    assert words._number(row, 2) == "0.50 [0.40, 0.60]"
    assert (
        words._number({**row, "low": None, "high": None, "reason": "two items"}, 2) == "0.50 (no interval: two items)"
    )


def test_disagreement_explains_missing_parts():
    numbers = from_grid(np.random.default_rng(0).normal(size=(30, 3)), Interval())
    found = assay.disagreement(numbers)
    assert found.table.height == 0
    assert found.items.height == 30
    assert "more than 20 different labels" in found.summary()
    with pytest.raises(DesignError, match="too many values"):
        found.plot()
    with pytest.raises(DesignError, match="requires a judge, humans and few different labels"):
        found.confusion_map()
    with pytest.raises(DesignError, match="free text"):
        assay.disagreement(Annotations.from_frame(labelled().labels, judges=["gpt"], scale=assay.Text()))
    with pytest.raises(DesignError, match="2 annotators"):
        assay.disagreement(labelled().where(annotator="ann"))


def test_criteria_are_looked_at_one_by_one():
    frame = pl.concat([labelled().labels.with_columns(criterion=pl.lit(c)) for c in ("tone", "truth")])
    found = assay.disagreement(Annotations.from_frame(frame, judges=["gpt"], scale=Nominal(["fine", "harm"])))
    assert found.items["criterion"].value_counts().sort("criterion")["count"].to_list() == [4, 4]
    assert found.summary().startswith("All labels agree on 2 of 8 pairs of item and criterion with two or more labels.")
    assert "tone: q4" in found.summary()
    one = assay.disagreement(labelled()).table.drop("criterion")
    assert found.table.filter(criterion="tone").drop("criterion").equals(one)


# -- a category on which people agree less than on others ---------------------------------------------


def four_categories(seed: int, n: int, noise) -> Annotations:
    """Three people give an item's category or, with the probability that is its noise, any of the four."""
    rng, share = np.random.default_rng(seed), [0.4, 0.3, 0.15, 0.15]
    truth = rng.choice(4, n, p=share)
    lost = rng.random((n, 3)) < np.broadcast_to(noise, 4)[truth][:, None]
    return from_grid(np.where(lost, rng.choice(4, (n, 3), p=share), truth[:, None]) + 1, Ordinal(1, 4))


def named_less(seeds: int, n: int, noise) -> list[set[str]]:
    found = (assay.disagreement(four_categories(seed, n, noise)).table for seed in range(seeds))
    return [set(table.filter(than_all="less")["category"]) for table in found]


@pytest.mark.slow
def test_guessed_category_is_detected_and_equal_ones_are_not():
    assert sum("2" in named for named in named_less(8, 150, np.array([0.2, 0.9, 0.2, 0.2]))) >= 7
    assert sum(bool(named) for named in named_less(15, 60, 0.4)) <= 3
    found = assay.disagreement(four_categories(0, 150, np.array([0.2, 0.9, 0.2, 0.2]))).summary()
    lower = "Humans: significantly lower chance-corrected agreement on '2' ("
    (line,) = [line for line in found.splitlines() if line.startswith(lower)]
    # First what is tested, which is not the specific agreement.
    chance_corrected, specific = line.removeprefix(lower).split("; specific agreement ")
    assert float(chance_corrected.split()[0]) < float(specific.split()[0])
    equal = assay.disagreement(four_categories(1, 60, 0.4)).summary()
    assert "Humans: no category has significantly lower agreement than the others." in equal


@pytest.mark.simulation
@pytest.mark.parametrize("n", [30, 60, 200])
def test_equal_categories_are_seldom_called_worse(n):
    assert sum(bool(named) for named in named_less(100, n, 0.4)) <= stats.binom.ppf(0.999, 100, 0.05)


@pytest.mark.simulation
@pytest.mark.parametrize("n", [30, 60, 200])
def test_intervals_of_specific_agreement_hold(n):
    """Each of a pair gives the category itself with .6, else one by its share: P = p + .36 (1 − p)."""
    truth, held = {str(k + 1): p + 0.36 * (1 - p) for k, p in enumerate([0.4, 0.3, 0.15, 0.15])}, []
    for seed in range(75):
        table = assay.disagreement(four_categories(seed, n, 0.4)).table.filter(coefficient="specific-agreement")
        held += [r["low"] <= truth[r["category"]] <= r["high"] for r in table.drop_nulls("low").iter_rows(named=True)]
    assert 0.92 <= np.mean(held) <= 0.985


# -- step by step ----------------------------------------------------------------------------------------


def test_farthest_items_lists_items_and_labels():
    """gpt's mean distance from people less theirs from each other: q3 1 − 0, q4 1, q1 2/3 − 2/3, q2 0."""
    found = farthest_items(labelled(), "gpt", 5)
    assert found.columns == [
        "criterion",
        "judge",
        "item",
        "human_labels",
        "judge_label",
        "distance",
        "human_distance",
        "text",
    ]
    assert found.drop("criterion", "judge").rows() == [
        ("q3", "harm (3 of 3)", "fine", 1.0, 0.0, "text of q3"), ("q4", "fine", "harm", 1.0, None, "text of q4"),
    ]  # fmt: skip
    assert found["judge"].to_list() == ["gpt", "gpt"]
    assert farthest_items(labelled(), "gpt", 1)["item"].to_list() == ["q3"]
    assert farthest_items(labelled(), "ann", 5).is_empty()


def test_farthest_items_orders_by_excess_then_distance():
    cells = {"a": (1, 1, 5, 2), "b": (1, 1, 5, 2), "c": (1, 2, 5, 1), "d": (1, 1, 5, 1)}
    rows = [(item, who, label, criterion) for criterion in ("x", "y") for item, labels in cells.items()
            for who, label in zip(("p", "q", "j", "k"), labels, strict=True)
            if (criterion, who) != ("y", "j")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "criterion"], orient="row")
    labels = Annotations.from_frame(frame, judges=["j", "k"], scale=Ordinal(1, 5))
    found = farthest_items(labels, "j", 3)
    # a, b, d: 1 − 0; c: 7/8 − 1/4. On y the judge said nothing.
    assert found.select("criterion", "item", "distance", "human_distance").rows() == [
        ("x", "a", 1, 0), ("x", "b", 1, 0), ("x", "d", 1, 0),
    ]  # fmt: skip
    assert farthest_items(labels, "j", 9).filter(item="c").select("human_labels", "judge_label").rows() == [
        ("1 (1 of 2), 2 (1 of 2)", "5")
    ]
    assert farthest_items(labels, "k", 9)["item"].to_list() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("cells", "scale", "unit"),
    [
        ([[1, 2]], Ordinal(1, 5), 4), ([[1, 2]], Nominal([1, 2, 3]), 1), ([[1, 4.5]], Interval(), 3.5),
        ([[1, 2]], Interval(0, 10), 10), ([[2, 2]], Interval(), np.finfo(float).tiny),
    ],
)  # fmt: skip
def test_distance_unit_is_scale_range_or_observed_range(cells, scale, unit):
    assert distance_unit(Ratings.of(from_grid(cells, scale))) == unit


def test_kappa_of_categories_by_hand():
    """Given 50, 30 and 20 times of 100, matched 40, 18 and 10 times."""
    each = [(0.8 - 0.5) / 0.5, (0.6 - 0.3) / 0.7, (0.5 - 0.2) / 0.8]
    whole = (0.25 * each[0] + 0.21 * each[1] + 0.16 * each[2]) / 0.62
    found = KappaOfCategories().value(np.array([[40.0, 18, 10, 50, 30, 20]] * 2))
    np.testing.assert_allclose(found, [[one - whole for one in each]] * 2)
    unseen = KappaOfCategories().value(np.array([40.0, 18, 0, 60, 40, 0]))
    first, second = (40 / 60 - 0.6) / 0.4, (18 / 40 - 0.4) / 0.6
    np.testing.assert_allclose(unseen[:2], [first - (first + second) / 2, second - (first + second) / 2])


def test_items_with_a_category_have_labels_to_compare():
    cells = [[1, 2, np.nan], [1, np.nan, np.nan], [2, 2, 1], [np.nan, 1, 2], [3, np.nan, 3]]
    ratings = Ratings.of(from_grid(cells, Nominal([1, 2, 3]), names=["a", "b", "j"], judges=["j"]))
    value = {v: float(i) if ratings.source.categories else float(v) for i, v in enumerate((1, 2, 3))}
    people, judge = np.array([True, True, False]), np.array([False, False, True])
    assert [_items_with(ratings, value[v], None, None) for v in (1, 2, 3)] == [3, 3, 1]
    assert [_items_with(ratings, value[v], judge, people) for v in (1, 2, 3)] == [2, 2, 1]


def test_shares_of_a_panel_and_of_a_judge_with_people():
    cells = [[1, 2, 1], [1, np.nan, np.nan], [2, 2, np.nan], [np.nan, 1, 2]]
    ratings = Ratings.of(from_grid(cells, Ordinal(1, 2), names=["a", "b", "j"], judges=["j"]))
    values = np.array([1.0, 2])
    # Of three labels two are 1, each matched by one of the two others; a single label has no other.
    panel = CategoryShares(values)
    assert panel.width == 4
    np.testing.assert_allclose(panel.moments(ratings.answers), [[1, 0, 2, 1], [0, 0, 0, 0], [0, 2, 0, 2], [0, 0, 1, 1]])
    people = np.array([True, True, False])
    beside = CategoryShares(values, ~people, people).moments(ratings.answers)
    # On the first item half of people say 1, and the judge does; on the last people 1, the judge 2.
    np.testing.assert_allclose(beside, [[1, 0, 1.5, 0.5], [0] * 4, [0] * 4, [0, 0, 1, 1]])
    np.testing.assert_allclose(panel.value(np.array([3.0, 1, 6, 4])), [0.5, 0.25])


@pytest.mark.parametrize(("given", "tested"), [(9, False), (10, True)])
def test_categories_with_ten_items_are_tested(given, tested):
    rng = np.random.default_rng(3)
    sums = np.zeros((40, 4))
    sums[:, 2] = 2
    sums[:, 0] = 2
    sums[:given, 3], sums[:given, 2] = 2, 0
    sums[:given, 0], sums[:given, 1] = 0, rng.integers(0, 2, given) * 2
    both = Sums(CategoryShares(np.array([0.0, 1])), sums, (40,), "items")
    found = _compare_categories(both, DisagreementSettings(), [])
    assert set(found) == ({0, 1} if tested else set())
    assert _compare_categories(both, DisagreementSettings(method="none"), []) == {}


@pytest.mark.parametrize(("people", "judges", "groups"), [
    (2, 2, ["humans", "j", "k"]), (1, 2, ["j", "k"]), (0, 2, ["judges"]), (3, 0, ["humans"]), (1, 0, []),
])  # fmt: skip
def test_panels_of_people_or_judges_and_each_judge_with_people(people, judges, groups):
    names = [*"abc"[:people], *"jk"[:judges]]
    ratings = Ratings.of(from_grid(np.ones((2, len(names))), Ordinal(1, 2), names=names, judges=names[people:]))
    found = list(_groups(ratings))
    assert [who for who, *_ in found] == groups
    for who, part, first, second in found:
        if first is None:
            assert (second, len(part.annotators)) == (None, people or judges)
        else:
            assert [name for name, mine in zip(names, first, strict=True) if mine] == [who]
            assert second.tolist() == [True] * people + [False] * judges


def test_long_texts_of_a_page_end_in_an_ellipsis_and_short_ones_are_no_texts():
    texts = pl.DataFrame({"text": ["x" * MOST_CHARACTERS, "y" * (MOST_CHARACTERS + 1), None]})
    assert _cut(texts, ["text", "no column"])["text"].to_list() == ["x" * 200, "y" * 200 + "…", None]
    assert _is_text(pl.Series(["a" * 12, "b" * 12]))
    assert not _is_text(pl.Series(["a" * 12, "b" * 11]))
    assert not _is_text(pl.Series([None], dtype=pl.String))


def test_disagreement_without_two_labels_of_any_item_has_no_items():
    rows = [("i0", "ann", 1), ("i1", "bob", 1)]
    labels = assay.read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), scale="1-5")
    found = assay.disagreement(labels)
    assert (found.items.height, found.items.schema["item"]) == (0, pl.String)
    assert [(one.count, one.reason) for one in found.exclusions] == [(2, "no two labels to compare")]


@pytest.mark.parametrize("fraction", [True, False])
def test_categories_leave_out_judges_with_numbers_between_those_of_humans(fraction):
    """2.33 is no category that humans can agree with: its agreement is 0 by design, and no finding."""
    rng = np.random.default_rng(4)
    truth = rng.integers(1, 6, 80)

    def near(step):
        return np.clip(truth + rng.integers(-1, 2, 80) * step, 1, 5)

    columns = {name: near(1).astype(float) for name in ("ann", "bob", "cho", "whole")}
    columns["fine"] = near(1 / 3).round(2) if fraction else near(1).astype(float)
    frame = pl.DataFrame({"item": [f"i{k}" for k in range(80)], **columns})
    labels = assay.read(frame, layout="wide", item="item", columns=list(columns), judges=["whole", "fine"],
                        scale="interval:1-5")  # fmt: skip
    found = assay.disagreement(labels)
    assert set(found.rows["who"]) == ({"humans", "whole"} if fraction else {"humans", "whole", "fine"})
    assert set(found.confusion["judge"]) == ({"whole"} if fraction else {"whole", "fine"})
    assert set(found.rows["category"]) == {"1", "2", "3", "4", "5"}
    left = [str(one) for one in found.exclusions if "between those that humans give" in str(one)]
    assert left == (
        ["1 judge (fine): numbers between those that humans give, so that categories are compared without it"]
        if fraction else []
    )  # fmt: skip
    assert found.items["judges"].null_count() == 0  # its distances are those of all judges
