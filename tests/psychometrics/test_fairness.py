"""Who is severer with one group: verdicts, anchors, cautions and sentences, from differences that are given."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from rated import planted

import assay
from assay.errors import DesignError
from assay.psychometrics.raters import fairness as module
from assay.psychometrics.raters import model
from assay.psychometrics.raters.fairness import Fairness, fairness, refuse_groups, verdict_of
from assay.psychometrics.raters.fit import RaterFit


@pytest.mark.parametrize(
    ("value", "p", "within", "verdict"),
    [
        (-0.5, 0.05, 0.94, "more_severe"),
        (0.5, 0.05, 0.94, "more_lenient"),
        (0.0, 0.05, 0.0, "more_lenient"),
        (-0.5, 0.051, 0.94, "undecided"),
        (-0.5, 0.05, 0.95, "negligible"),
        (0.5, 0.051, 0.95, "equivalent"),
    ],
)
def test_verdicts_at_their_limits(value, p, within, verdict):
    assert verdict_of(value, p, within, 0.05, 0.95) == verdict


# -- anchors ------------------------------------------------------------------------------------------


def groups_of(*differences, **given) -> RaterFit:
    """A fit in which raters differ by so much between each further group and the first, with errors of so much."""
    return planted([[[0.0] * len(differences[0])], *([one] for one in differences)], **given)


def gaps_of(found: RaterFit) -> list[float]:
    return fairness(found).rows["estimate"].to_list()


def test_differing_raters_are_excluded_from_the_mean():
    # From the mean of all, 1, the fifth is 4 away, the others −1 each, which is not shown; without it all are at 0.
    assert gaps_of(groups_of([0, 0, 0, 0, 5], spread=0.5)) == pytest.approx([0, 0, 0, 0, 5])
    # No rater is excluded if none differs significantly.
    assert gaps_of(groups_of([0, 0, 0, 0, 1], spread=0.5)) == pytest.approx([-0.2] * 4 + [0.8])


def test_the_most_certain_leaves_first_and_in_its_own_group():
    """One of four may leave: the third is nearer to the others and the more certain to differ."""
    errors = [[[0.02, 0.02, 0.02, 1.0]]] * 3
    assert gaps_of(groups_of([0, 0, 2, -4.0], [0, 0, 0, 0], spread=errors)) == pytest.approx(
        [4 / 3, 4 / 3, 2 + 4 / 3, -4 + 4 / 3, 0, 0, 0, 0]
    )


@pytest.mark.parametrize(("size", "left"), [(5, 3), (4, 3), (3, 2), (2, 2), (1, 1)])
def test_more_than_half_of_the_reference_stay(size, left):
    """No rater outside the reference is an anchor."""
    found = groups_of([0, 10, 20, 31, 45], spread=0.01, judges=range(size, 5), reference="humans")
    notes = " ".join(fairness(found).notes)
    assert f"the mean of {left} raters" in notes if left < size else notes == ""
    assert not set(notes.partition("without ")[2].partition(",")[0]) & set("abcde"[size:])


def test_anchors_that_left_are_named():
    found = fairness(groups_of([0, 5, 0, -6, 0], [0] * 5, spread=0.3))
    assert found.notes == (
        "Δφ with s is relative to the mean of 3 raters, without b, d, whose differences are significant",
    )


# -- who is compared ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("reference", "among"), [("all", [0, 2, 3]), ("humans", [0]), ("judges", [2, 3])])
def test_the_reference_is_of_those_who_are_compared(reference, among):
    differences = np.array([1.0, 2, 4, 8])
    found = groups_of(differences, spread=9, compared=[[1, 1, 1, 1], [1, 0, 1, 1]], judges=(2, 3), reference=reference)
    wanted = differences - differences[among].mean()
    wanted[1] = np.nan
    assert np.array(gaps_of(found), dtype=float) == pytest.approx(wanted, nan_ok=True)


def test_a_reference_without_labels_in_a_group_is_refused():
    rows = [[1, 1, 1], [0, 0, 1], [1, 1, 1]]
    with pytest.raises(DesignError, match="reference='humans' needs humans with labels in every group"):
        fairness(groups_of([0] * 3, [0] * 3, compared=rows, judges=(2,), reference="humans", spread=1))
    # A group without compared raters needs none.
    rows[1] = [0, 0, 0]
    found = fairness(groups_of([0] * 3, [3, 5, 9], compared=rows, judges=(2,), reference="humans", spread=9))
    assert found.rows["estimate"].to_list() == pytest.approx([np.nan] * 3 + [-1, 1, 5], nan_ok=True)


def test_judges_less_people_are_means_of_those_who_are_compared():
    """With s two people and two judges are compared, with t no judge is, and without judges there is no comparison."""
    compared = [[1] * 5, [1, 1, 0, 1, 1], [1, 1, 1, 0, 0]]
    found = fairness(groups_of([1, 3, 9, 4, 6], [0] * 5, compared=compared, judges=(3, 4), spread=9))
    assert found.families.select("group").rows() == [("s",)]
    assert found.families["estimate"].to_list() == pytest.approx([5 - 2])
    assert found.families["low"][0] < 3 < found.families["high"][0]
    alone = fairness(groups_of([0, 0], spread=1)).families
    assert alone.columns == ["group", "estimate", "low", "high"]
    assert alone.height == 0


def test_two_judges_less_three_people_with_the_second_group():
    compared = [[1] * 5, [0, 1, 0, 0, 0], [1] * 5]
    found = fairness(groups_of([0] * 5, [1, 3, 6, 8, 9], compared=compared, judges=(0, 3), spread=9))
    assert found.families.select("group").rows() == [("t",)]
    assert found.families["estimate"].to_list() == pytest.approx([4.5 - 6])


# -- cautions and refusals ----------------------------------------------------------------------------


def cautions(sizes, counts) -> list[str]:
    return list(fairness(groups_of([0] * len(counts[0]), sizes=sizes, counts=counts, spread=1)).cautions)


def test_small_groups_and_few_labels_are_warned_of():
    enough = [[20, 20], [20, 20]]
    assert cautions([30, 30], enough) == []
    assert cautions([29, 30], enough) == [
        "small groups: n has 29 subjects; at least 30 are recommended. Results for these groups are unreliable."
    ]
    # Of small groups few labels go without saying.
    assert len(cautions([29, 12], [[2, 1], [1, 1]])) == 1
    assert "n has 29, s has 12 subjects" in cautions([29, 12], enough)[0]
    assert cautions([30, 30], [[40, 19, 0, 40], [40, 40, 40, 1]]) == [
        "2 raters (b, d) gave fewer than 20 labels in a group; their differences are imprecise."
    ]
    assert cautions([30, 30], [[40, 19], [40, 40]])[0].startswith("1 rater (b) gave fewer")
    assert "(b, c, d, e, f, g) gave" in cautions([30, 30], [[40, *[5] * 6], [40] * 7])[0]
    assert "7 raters (b, c, d, e, f, g …) gave" in cautions([30, 30], [[40, *[5] * 7], [40] * 8])[0]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            (9, 30, 30),
            (
                "groups of 'dialect' are too small to compare: n has 9, s has 30, t has 30; each needs at least 10 "
                "subjects"
            ),
        ),
        (
            (30, 9, 9),
            "groups of 'dialect' are too small to compare: n has 30, s has 9, t has 9; each needs at least 10",
        ),
        ((10, 9, 10), "no two raters labelled subjects of the same two groups of 'dialect'"),
        ((10, 10, 9), "no two raters labelled"),
    ],
)
def test_groups_need_ten_subjects(sizes, words):
    found = groups_of([0, 0], [0, 0], sizes=sizes, compared=np.zeros((3, 2)))
    refuse = partial(refuse_groups, found.table, "dialect") if "small" in words else partial(fairness, found)
    with pytest.raises(DesignError, match=words):
        refuse()


@pytest.mark.parametrize(("n", "words"), [(21, "'column' has 21 groups"), (20, "groups of 'column' are too small")])
def test_groups_of_a_column_of_numbers_are_refused_before_the_fit(n, words, monkeypatch):
    labels = assay.simulate(80, 3, judges={"m": 0.3}, scale="1-5", seed=1)
    items = labels.items.select("item").with_columns(column=pl.int_range(80) % n * 1.5)
    labels = assay.read(labels.to_polars(), judges=["m"], scale="1-5", items=items)
    monkeypatch.setattr(model, "fit", None)
    with pytest.raises(DesignError, match=words):
        assay.rater_model(labels, "column", quick=True)


# -- sentences ----------------------------------------------------------------------------------------


def rows_of(*rows) -> pl.DataFrame:
    names = ("annotator", "group", "verdict", "estimate", "low", "high", "p_adjusted")
    return pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows], schema_overrides={"verdict": pl.String})


def said(rows, families=None, groups=("n", "s")) -> list[str]:
    types = {"group": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    families = pl.DataFrame(families or [], schema=types, orient="row")
    return list(Fairness("dialect", groups, rows, families, None, None, (), ()).sentences(0.1))


def test_sentences_name_who_differs_and_count_the_others():
    rows = rows_of(
        ("a", "s", "more_severe", -0.5, -0.8, -0.2, 0.03),
        ("b", "s", "more_lenient", 0.4, 0.2, 0.6, 0.001),
        ("c", "s", "undecided", 0.1, -0.2, 0.4, 0.9),
        ("d", "s", "equivalent", 0.0, -0.1, 0.1, 0.9),
        ("e", "s", "equivalent", 0.0, -0.1, 0.1, 0.9),
        ("f", "s", "negligible", 0.05, 0.01, 0.09, 0.01),
        ("g", "s", None, None, None, None, None),
    )
    first, second, all_of_them = said(rows)
    # The smallest p-value first.
    assert first.startswith(
        "b is significantly more lenient with s than with n, compared with the other raters: +0.40 categories"
    )
    assert second.startswith(
        "a is significantly more severe with s than with n, compared with the other raters: −0.50 categories"
    )
    assert second.endswith("adjusted for 7 comparisons.")
    assert all_of_them == (
        "Group s vs. n: 2 of 7 raters differ significantly by more than ±0.1 categories; equivalence (within ±0.1 "
        "categories) demonstrated for 2; 1 significant but within ±0.1 categories; 1 undecided; 1 not estimable (no "
        "labels in both groups, or groups too small)."
    )


def test_each_further_group_has_a_sentence_and_judges_against_people_one_more():
    rows = rows_of(
        ("a", "s", "more_severe", -0.5, -0.8, -0.2, 0.03), ("a", "t", "more_severe", -0.5, -0.8, -0.2, 0.03)
    )  # fmt: skip
    found = said(rows, [("t", 0.25, 0.05, 0.45)], ("n", "s", "t"))
    assert [one.split(":")[0] for one in found] == [
        "a is significantly more severe with s than with n, compared with the other raters", "Group s vs. n",
        "a is significantly more severe with t than with n, compared with the other raters", "Group t vs. n",
        "Judges − humans, t vs. n",
    ]  # fmt: skip
    assert found[1] == "Group s vs. n: 1 of 1 rater differs significantly."
    assert "+0.25 categories" in found[4]


def test_each_rater_and_group_is_a_row_with_its_verdict(monkeypatch):
    """Two raters, two further groups of which the second is small; who did not see a group is not compared."""
    draws = np.array([[-0.5, 0.2, 0.05, 0.3], [-0.6, 0.1, 0.02, 0.3], [0.4, -0.3, 0.01, 0.3], [-0.5, 0.2, 0.04, 0.3]])

    def gap(k, reason=None):
        ends = {"estimate": float(draws[0, k]), "low": -1.0, "high": 1.0}
        return SimpleNamespace(estimate=draws[0, k], reason=reason, row=lambda: ends)

    class Gaps(list):
        replicates = draws

    gaps = Gaps([gap(0), gap(1, "few"), gap(2), gap(3)])
    p = np.array([0.05, 0.06, 0.5, 0.01])
    monkeypatch.setattr(module, "_choose_anchors", lambda found, reference, alpha: (("anchors", alpha), gaps, p))
    monkeypatch.setattr(module, "_reference", lambda found: "reference")
    monkeypatch.setattr(module, "_notes", lambda found, reference, anchors: [reference, *map(str, anchors)])
    monkeypatch.setattr(module, "_cautions", lambda found: ["care"])
    monkeypatch.setattr(module, "_families", lambda found, gaps: "families")
    table = SimpleNamespace(
        raters=("a", "b"), kinds=("human", "judge"), groups=("n", "s", "t"), group_sizes=np.array([20, 10, 9]),
        counts=np.array([[30, 31], [20, 21], [10, 0]]),
    )  # fmt: skip
    ratios = [SimpleNamespace(estimate=1.0 + k, low=0.5, high=3.0) for k in range(4)]
    found = fairness(SimpleNamespace(
        table=table, settings=SimpleNamespace(group="g", confidence=0.95), rope=0.3, variability_ratios=ratios,
        density=SimpleNamespace(layout=SimpleNamespace(compared=np.array([[True, True], [True, True], [True, False]]))),
    ))  # fmt: skip
    columns = ["annotator", "kind", "group", "baseline", "p_adjusted", "probability", "within_rope", "ratio", "verdict"]
    assert found.rows.select(columns).rows() == [
        # Three of four draws are below 0, as the estimate is; none within .3. Then two signs; all within.
        ("a", "human", "s", "n", 0.05, 0.75, 0.0, 1.0, "more_severe"),
        ("b", "judge", "s", "n", 0.06, 0.75, 1.0, 2.0, "equivalent"),
        ("a", "human", "t", "n", 0.5, 1.0, 1.0, 3.0, "equivalent"),
        ("b", "judge", "t", "n", None, None, None, 4.0, None),
    ]
    assert found.rows.select("labels", "labels_baseline").rows() == [(20, 30), (21, 31), (10, 30), (0, 31)]
    assert found.rows["reason"].to_list() == [
        None,
        "few",
        "t has 9 subjects; at least 10 are needed",
        "t has 9 subjects; at least 10 are needed",
    ]
    assert found.notes[:2] == ("reference", "anchors")
    assert float(found.notes[2]) == pytest.approx(0.05)
    assert found.cautions == ("care",)
    table.group_sizes[2] = 10
    reasons = fairness(SimpleNamespace(
        table=table, settings=SimpleNamespace(group="g", confidence=0.95), rope=0.3, variability_ratios=ratios,
        density=SimpleNamespace(layout=SimpleNamespace(compared=np.array([[True, True], [True, True], [True, False]]))),
    )).rows["reason"]  # fmt: skip
    assert reasons.to_list() == [None, "few", None, "no labels in both n and t"]


def test_groups_that_are_texts_are_cut_in_the_error():
    """A column of answers named by mistake: the message has their beginnings, not whole texts."""
    texts = [f"answer {k}: " + "chlorophyll absorbs light energy, and water is split. " * 4 for k in range(30)]
    rows = pl.DataFrame([
        {"item": f"i{k}", "answer": text, "annotator": who, "label": 1 + (k + len(who)) % 5}
        for k, text in enumerate(texts) for who in ("a", "bb", "ccc")
    ])  # fmt: skip
    with pytest.raises(DesignError, match="'answer' has 30 groups") as error:
        assay.rater_model(assay.read(rows, scale="1-5"), group="answer", quick=True)
    assert "answer 0: chlorophyll absorbs light energy, and water is sp…, " in str(error.value)
    assert len(str(error.value)) < 450
