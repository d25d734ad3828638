"""Who is closer to the others: closed forms against the definition, one label at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import references
from assay.errors import DataError, DesignError
from assay.statistics import panels as labels_compared
from assay.statistics.panels import (
    MOST_CONSTANTS,
    Accuracy,
    ConstantBaseline,
    CustomScore,
    NegRMSE,
    PairwiseScore,
    Panel,
    closest_constant,
    make_score,
)

NAMES = ("red", "green", "blue", "teal")


def panel_of(grid, quality=None, expert=None, labels=None):
    """A panel from an (items, annotators) array, NaN without a label."""
    grid = np.asarray(grid, dtype=float)
    item, annotator = np.nonzero(~np.isnan(grid))
    return Panel(
        item=item,
        annotator=annotator,
        value=grid[item, annotator],
        n_items=grid.shape[0],
        n_annotators=grid.shape[1],
        quality=np.ones(grid.shape[1]) if quality is None else np.asarray(quality, dtype=float),
        reference=expert,
        labels=labels,
    )


def slowly(panel, judge, score):
    """The sign of S(f, x_i, j) − S(h_j, x_i, j) for each answer, from the definition; None where there is none."""
    found = []
    for k in range(len(panel.item)):
        i = panel.item[k]
        if panel.reference is not None:
            others = [] if np.isnan(panel.reference[i]) else [(panel.reference[i], references.Fraction(1))]
        else:
            others = [
                (panel.value[o], references.Fraction(str(panel.quality[panel.annotator[o]])))
                for o in range(len(panel.item))
                if panel.item[o] == i and o != k
            ]
        if not others or np.isnan(judge[i]):
            found.append(None)
        else:
            of_judge, of_human = score(judge[i], others), score(panel.value[k], others)
            found.append((of_judge > of_human) - (of_judge < of_human))
    return found


def signs(difference):
    return [None if np.isnan(d) else int(np.sign(d)) for d in difference]


decimals = st.integers(-50, 50).map(lambda v: v / 10)


@st.composite
def studies(draw, labels):
    """A small table with gaps, a judge with gaps, quality weights or none, an expert or none."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    cell = st.one_of(st.none(), labels, labels, labels)
    grid = [[draw(cell) for _ in range(m)] for _ in range(n)]
    judge = np.array([draw(cell) for _ in range(n)], dtype=float)
    grid = np.array(grid, dtype=float)
    quality = draw(st.none() | st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.7, 1.0, 2.0]), min_size=m, max_size=m))
    expert = draw(st.none() | st.lists(cell, min_size=n, max_size=n))
    return panel_of(grid, quality, None if expert is None else np.array(expert, dtype=float)), judge


@given(studies(st.integers(0, 3)))
def test_accuracy_is_its_definition(study):
    panel, judge = study
    if len(panel.item):
        assert signs(Accuracy().difference(panel, judge)) == slowly(panel, judge, references.accuracy)


@given(studies(decimals))
def test_accuracy_supports_large_codes(study):
    panel, judge = study
    if len(panel.item):
        assert signs(Accuracy().difference(panel, judge)) == slowly(panel, judge, references.accuracy)


@given(studies(decimals))
def test_rmse_is_its_definition(study):
    # Decimals such as 0.1 and weights such as 0.3 are not exact in binary; ties must be ties all the same.
    panel, judge = study
    assert signs(NegRMSE().difference(panel, judge)) == slowly(panel, judge, references.neg_rmse)


@given(studies(st.integers(0, 3)), st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7]), min_size=16, max_size=16))
def test_similarity_is_its_definition(study, numbers):
    panel, judge = study
    table = {(NAMES[a], NAMES[b]): numbers[4 * a + b] for a in range(4) for b in range(4)}
    panel = dataclasses.replace(panel, labels=NAMES)
    score = make_score("similarity", table)
    by_code = references.similarity(lambda a, b: table[NAMES[int(a)], NAMES[int(b)]])
    assert signs(score.difference(panel, judge)) == slowly(panel, judge, by_code)


@given(studies(st.integers(0, 3)))
def test_custom_score_receives_labels(study):
    panel, judge = study
    panel = dataclasses.replace(panel, quality=np.ones(panel.n_annotators), labels=NAMES)

    def share(label, others):
        assert label in NAMES
        assert isinstance(others, list)
        return sum(o == label for o in others) / len(others)

    found = CustomScore(share).difference(panel, judge)
    if len(panel.item):
        assert signs(found) == signs(Accuracy().difference(panel, judge))


def test_panel_dense_and_sorted_counts_agree():
    """With 7,500 items more, each with a label of its own kind, the table of counts has more than 50 million cells."""
    rng = np.random.default_rng(0)
    grid, judge = rng.integers(0, 6, (40, 5)).astype(float), rng.integers(0, 7, 40).astype(float)
    more = np.arange(7500.0)
    others = np.full((7500, 5), np.nan)
    others[:, 0] = others[:, 1] = more + 10
    large = panel_of(np.concatenate([grid, others]))
    found = Accuracy().difference(large, np.concatenate([judge, more]))
    np.testing.assert_array_equal(found[: grid.size], Accuracy().difference(panel_of(grid), judge))
    assert large.n_items * 7506 > labels_compared.DENSE_CELLS
    assert (found[grid.size :] == -1).all()


@given(studies(st.integers(0, 3)), st.integers(0, 99))
def test_majority_beats_or_ties_all_annotators(study, seed):
    # Theorem 1: W^f is 1 for every annotator on every item, ties in the majority included.
    panel, _ = study
    panel = dataclasses.replace(panel, reference=None)
    if len(panel.item):
        best = Accuracy().optimal(panel, np.random.default_rng(seed))
        difference = Accuracy().difference(panel, best)
        assert (difference[~np.isnan(difference)] >= 0).all()


@given(studies(decimals))
def test_mean_beats_or_ties_all_annotators(study):
    panel, _ = study
    panel = dataclasses.replace(panel, reference=None)
    difference = NegRMSE().difference(panel, NegRMSE().optimal(panel, np.random.default_rng(0)))
    assert (difference[~np.isnan(difference)] >= 0).all()


def test_majority_draws_ties_uniformly():
    panel = panel_of([[0, 1, 2, np.nan]] * 3000 + [[3, 3, 1, 0]])
    drawn = labels_compared.majority(panel, np.random.default_rng(0))
    assert drawn[-1] == 3
    # Each of three labels a third of the time: 1000 ± 4·√(3000·⅓·⅔) = ± 103.
    assert (abs(np.bincount(drawn[:-1].astype(int)) - 1000) < 103).all()


def test_items_without_labels_have_no_majority():
    panel = panel_of([[np.nan, np.nan], [1, 1]])
    np.testing.assert_array_equal(labels_compared.majority(panel, np.random.default_rng(0)), [np.nan, 1])


def test_agreement_with_the_majority_counts_ties_in_shares():
    panel = panel_of([[0, 0, 1], [0, 1, 2], [0, 1, np.nan], [2, 2, 2]])
    items, credit = labels_compared.majority_share(panel, np.array([0.0, 2, 2, np.nan]))
    assert items.tolist() == [0, 1, 2]
    np.testing.assert_allclose(credit, [1, 1 / 3, 0])


@pytest.mark.parametrize("ties", ["lowest", "highest", "share"])
def test_majority_without_excludes_own_label(ties):
    panel = panel_of([[0, 2, 1, np.nan], [np.nan, 1, np.nan, 0], [2, 2, 0, 1]])
    shares, labels = labels_compared.majority_without(panel, np.random.default_rng(0), ties)
    assert labels.tolist() == [0, 1, 2]
    # What is left when each answer is taken away; in the last item the other 2 is never alone at the top
    # but where 0 or 1 goes.
    tied = [[1, 2], [0, 1], [0, 2], [0], [1], [0, 1, 2], [0, 1, 2], [2], [2]]
    for row, top in zip(shares, tied, strict=True):
        wanted = np.zeros(3)
        wanted[{"lowest": top[:1], "highest": top[-1:], "share": top}[ties]] = 1
        np.testing.assert_allclose(row, wanted / wanted.sum())


def test_majority_without_random_ties_follow_seed():
    panel = panel_of([[0, 1, 2]] * 200)
    first, again, other = (
        labels_compared.majority_without(panel, np.random.default_rng(s), "random")[0] for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    own = panel.value.astype(int)
    assert (first.sum(axis=1) == 1).all()
    assert not first[np.arange(len(own)), own].any()


def test_majority_without_rejects_unknown_ties():
    with pytest.raises(DesignError, match="ties must be random, lowest, highest or share; got 'best'"):
        labels_compared.majority_without(panel_of([[0, 1]]), np.random.default_rng(0), "best")


# -- making scores ----------------------------------------------------------------------------------


def test_scores_by_name():
    assert isinstance(make_score("accuracy"), Accuracy)
    assert isinstance(make_score("neg_rmse"), NegRMSE)
    assert make_score(NegRMSE()) == NegRMSE()
    assert make_score(max).name == "max"
    assert make_score(lambda a, b: 0).name == "<lambda>"


def test_make_score_rejects_unknown_score():
    with pytest.raises(DesignError, match="unknown score 'f1'; use accuracy, neg_rmse, similarity"):
        make_score("f1")


def test_make_score_requires_similarity():
    with pytest.raises(DesignError, match=r"the score 'similarity' needs similarity=\.\.\."):
        make_score("similarity")


def ask(score, a, b):
    return score.pairs([a], [b])[0]


def test_make_score_accepts_function_mapping_and_frame():
    def equal(a, b):
        return float(a == b)

    score = make_score("similarity", equal)
    assert isinstance(score, PairwiseScore)
    assert score.name == "similarity(equal)"
    assert ask(score, "a", "a") == 1
    pairs = {("a", "b"): 0.25}
    frame = pl.DataFrame({"x": ["a"], "y": ["b"], "s": [0.25]})
    for table in (pairs, frame, frame.to_pandas()):
        score = make_score("similarity", table)
        assert score.name == "similarity"
        # ItemLevelAgreement up in both orders; a label is wholly similar to itself.
        assert [ask(score, *p) for p in ("ab", "ba", "aa")] == [0.25, 0.25, 1]


def test_pairwise_score_names_missing_pair():
    panel = dataclasses.replace(panel_of([[0, 1]]), labels=NAMES)
    score = make_score("similarity", {("red", "blue"): 0.5})
    with pytest.raises(DataError, match=r"there is no similarity for the labels '(red|green)' and '(red|green)'"):
        score.difference(panel, np.array([0.0]))


def test_make_score_rejects_bad_similarity_tables():
    with pytest.raises(DataError, match="a table of similarities has three columns"):
        make_score("similarity", pl.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(DataError, match="column 's' of the similarities must hold numbers"):
        make_score("similarity", pl.DataFrame({"a": ["x"], "b": ["y"], "s": ["z"]}))


def test_pairwise_score_rejects_too_few_numbers():
    class Broken:
        def pairs(self, first, second):
            return np.zeros(1)

    panel = dataclasses.replace(panel_of([[0, 1, 2]]), labels=NAMES)
    with pytest.raises(DataError, match=r"the similarity returned \(1,\) numbers for \d+ pairs"):
        make_score("similarity", Broken()).difference(panel, np.array([3.0]))


def test_pairwise_score_computes_each_pair_once():
    asked = []

    def count(a, b):
        asked.append((a, b))
        return float(a == b)

    panel = dataclasses.replace(panel_of([[0, 1, 1]] * 50), labels=NAMES)
    make_score("similarity", count).difference(panel, np.zeros(50))
    assert len(asked) == len(set(asked)) <= 4


def test_custom_score_rejects_quality():
    panel = panel_of([[0, 1]], quality=[1, 2])
    with pytest.raises(DesignError, match="does not support weights of annotators"):
        CustomScore(lambda a, b: 0.0).difference(panel, np.zeros(1))


# -- constant answers -----------------------------------------------------------------------------------


class Said(CustomScore):
    """Items on which the judge is closer, equally close and further, constant by constant, as they are said."""

    def __init__(self, *each):
        object.__setattr__(self, "each", each)
        object.__setattr__(self, "asked", [])

    def constant_differences(self, panel, judge, constants):
        self.asked.append(constants.tolist())
        for closer, equal, further in self.each:
            yield np.repeat([0.5, 0.0, -0.5, np.nan], [closer, equal, further, 2])


@pytest.mark.parametrize(
    ("each", "wanted"),
    [
        ([(5, 0, 2), (4, 3, 0), (3, 1, 1)], ConstantBaseline("2.0", 3, 1, 1)),  # leads of 3, 4 and 2
        ([(2, 9, 4), (1, 0, 2), (9, 0, 10)], ConstantBaseline("0.0", 2, 9, 4)),  # the constant leads by 2, 1 and 1
        ([(1, 0, 0), (3, 7, 2), (2, 0, 1)], ConstantBaseline("0.0", 1, 0, 0)),  # equal leads: the first
        ([], None),  # texts
    ],
)
def test_closest_constant_maximises_leading_items(each, wanted):
    score = Said(*each)
    assert closest_constant(score, panel_of([[0, 1], [1, 2]]), np.array([2.0, np.nan]), str) == wanted
    assert score.asked == [[0, 1, 2]]  # every label, of people and of the judge


@pytest.mark.parametrize("n", [MOST_CONSTANTS, MOST_CONSTANTS + 1])
def test_closest_constant_tries_common_labels_and_even_steps(n):
    """Labels 0 to n − 1 once each, but 0 not again: of 26 the one that is left out is the last of the rare."""
    people = panel_of(np.arange(float(n))[:, None])
    said = Said()
    closest_constant(said, people, np.r_[np.arange(1.0, n), np.nan], str)
    assert said.asked == [list(range(1, n)) if n > MOST_CONSTANTS else list(range(n))]
    numbers = []

    class Asked(NegRMSE):
        def constant_differences(self, panel, judge, constants):
            numbers.extend(constants.tolist())
            return iter(())

    closest_constant(Asked(), people, np.r_[np.arange(1.0, n), np.nan], str)
    if n == MOST_CONSTANTS:
        assert numbers == list(range(n))
    else:  # 25 steps of 25/24 from 0 to 25: both ends, of which 25 is a label too, 23 between them, and 1 to 24
        assert len(numbers) == 25 + 24
        assert numbers[:3] == pytest.approx([0, 1, 25 / 24])
        assert numbers[-1] == 25


def test_closest_constant_by_hand():
    """People say 0 and 0, 0 and 1, 2 and nothing; the judge 0, 2 and 2. By agreement, and by squared distance."""
    panel, judge = panel_of([[0, 0], [0, 1], [2, np.nan], [np.nan, np.nan]]), np.array([0.0, 2.0, 2.0, 1.0])
    shared = [[2 - 2, 0 - 1, 1 - 0], [2 - 0, 0 - 1, 1 - 0], [2 - 0, 0 - 0, 1 - 1]]
    for row, found in zip(shared, Accuracy().constant_differences(panel, judge, np.arange(3.0)), strict=True):
        assert found.tolist() == pytest.approx([*row, np.nan], nan_ok=True)
    # Squares of the constant's distances minus the judge's: of the judge 0, 4 + 1 and 0.
    apart = [[0 - 0, 1 - 5, 4 - 0], [2 - 0, 1 - 5, 1 - 0], [8 - 0, 5 - 5, 0 - 0]]
    for row, found in zip(apart, NegRMSE().constant_differences(panel, judge, np.arange(3.0)), strict=True):
        assert found.tolist() == pytest.approx([*row, np.nan], nan_ok=True)
    assert closest_constant(Accuracy(), panel, judge, lambda label: label) == ConstantBaseline(0.0, 1, 1, 1)
    judge[2] = np.nan
    assert np.isnan(next(Accuracy().constant_differences(panel, judge, np.zeros(1)))).tolist() == [0, 0, 1, 1]
    assert np.isnan(next(NegRMSE().constant_differences(panel, judge, np.zeros(1)))).tolist() == [0, 0, 1, 1]
