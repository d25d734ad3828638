"""Where annotators sit: by hand, planted judges, repeats, the map, what is refused."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

import assay
from assay.errors import DataError, DesignError
from assay.ideas import annotators
from assay.ideas.annotators import (
    _add_ranks,
    _classical_scaling,
    _compare_with,
    _estimate,
    _map,
    _merge_repeats,
    _rotate,
    _TextAnswers,
    positions_in_plane,
)
from assay.ideas.choices import MapSettings
from assay.reporting import pictures
from assay.similarity.topics import Topical, TopicModel

WORDS = ["red", "green", "blue", "old", "new", "small", "large", "thin", "wide", "tall"]


def study(seed: int = 1, n_items: int = 60, **judges):
    """Each item has an idea of four words; annotators use three of them and one other word."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n_items):
        idea = rng.choice(WORDS, 4, replace=False)
        says = {f"p{k}": " ".join([*rng.choice(idea, 3, replace=False), f"own{k}"]) for k in range(4)}
        says |= {name: judge(rng, idea) for name, judge in judges.items()}
        rows += [(f"i{i:02d}", who, text) for who, text in says.items()]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, scale="text", judges=list(judges))


def same_as_people(rng, idea):
    return " ".join([*rng.choice(idea, 3, replace=False), "mine"])


def all_of_it(rng, idea):
    return " ".join(idea)


def never_looks(rng, idea):
    return " ".join(rng.choice(WORDS, 4, replace=False))


def one_phrase(rng, idea):
    return "red green blue old"


def test_the_result_says_what_was_not_learned_from_these_texts():
    """Texts without a topic have similarity 0, which is reported."""

    class Colours(Topical):
        name = "colours"
        about = "topics that are colours"

        def model(self, texts):
            has = np.array([[word in text for word in ("red", "green", "blue")] for text in texts], dtype=float)
            shares = np.column_stack([has, has.sum(axis=1) == 0])
            return TopicModel(shares / shares.sum(axis=1, keepdims=True), (("red",), ("green",), ("blue",)), None)

    labels = study(n_items=20, gpt=same_as_people)
    bare = sum(not any(colour in text for colour in WORDS[:3]) for text in set(labels.labels["label"]))
    found = assay.annotator_similarity(labels, similarity=Colours(), min_items=2, method="none")
    different = labels.labels["label"].n_unique()
    assert f"3 topics; {bare} of {different} different texts have no topic and are like none" in found.summary()


def test_by_hand():
    # s(ann, bob) = s(ann, cho) = s(bob, cho) = 1/2 by words; gpt shares both words with ann, one with each other.
    says = {"ann": "x a", "bob": "x b", "cho": "x c", "gpt": "x a"}
    rows = [(f"i{i}", who, text) for i in range(3) for who, text in says.items()]
    labels = assay.read(
        pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), scale="text", judges=["gpt"]
    )
    found = assay.annotator_similarity(labels, min_items=2, method="none")
    gpt, bob = found.of("gpt"), found.of("bob")
    assert (gpt["estimate"], gpt["people"], gpt["difference"]) == pytest.approx((2 / 3, 1 / 2, 1 / 6))
    assert gpt["advantage"] == 1.0
    assert (bob["estimate"], bob["people"], bob["n"]) == pytest.approx((1 / 2, 1 / 2, 3))
    names, alike = found.matrix()
    assert alike[names.index("gpt"), names.index("ann")] == pytest.approx(1)
    with pytest.raises(DataError, match="did you mean 'gpt'"):
        found.of("gpt4")


@pytest.mark.slow
def test_planted_judges_sit_where_they_belong():
    found = assay.annotator_similarity(
        study(like=same_as_people, best=all_of_it, blind=never_looks, phrase=one_phrase), similarity="words"
    )
    place = {row["annotator"]: row for row in found.table.iter_rows(named=True)}
    assert place["best"]["difference_low"] > 0
    assert place["best"]["closer_than"] == 1.0
    assert place["like"]["difference_low"] < 0 < place["like"]["difference_high"]
    for useless in ("blind", "phrase"):
        assert place[useless]["difference_high"] < 0
        assert place[useless]["closer_than"] == 0.0
        # The same on other items: the similarity does not depend on the item.
        assert place[useless]["estimate"] == pytest.approx(place[useless]["other_items"], abs=0.05)
    assert place["like"]["estimate"] > place["like"]["other_items"] + 0.1
    assert "best: similarity to humans minus similarity among humans = +" in found.summary()
    assert "; significantly lower (" in found.summary()


@pytest.mark.slow
def test_false_positive_rate_of_a_judge_like_humans():
    told = 0
    for seed in range(15):
        found = assay.annotator_similarity(study(seed, 40, like=same_as_people)).of("like")
        told += not found["difference_low"] <= 0 <= found["difference_high"]
    assert told <= 3


def test_the_advantage_is_that_of_the_alternative_annotator_test():
    labels = study(like=same_as_people)
    mine = assay.annotator_similarity(labels, similarity="words").of("like")["advantage"]
    test = assay.alt_test(labels, "like", similarity="words", epsilon=0.1, method="none")
    assert mine == pytest.approx(test.advantage_probability.estimate)


def test_repeats_count_together():
    labels = study(like=same_as_people, n_items=12)
    twice = pl.concat([labels.labels.with_columns(repeat=pl.lit(r)) for r in (1, 2)])
    again = assay.read(twice, scale="text", judges=["like"], repeat="repeat")
    one, two = (assay.annotator_similarity(x, method="none").table for x in (labels, again))
    assert one["estimate"].to_list() == pytest.approx(two["estimate"].to_list())


@pytest.mark.slow
def test_the_map_keeps_distances_and_puts_copies_together():
    rng = np.random.default_rng(3)
    true = rng.normal(size=(9, 2))
    far = np.sqrt(((true[:, None] - true[None]) ** 2).sum(axis=2))
    found, stress = positions_in_plane(far, np.ones_like(far))
    again = np.sqrt(((found[:, None] - found[None]) ** 2).sum(axis=2))
    assert stress < 1e-3
    np.testing.assert_allclose(again, far, atol=1e-2)
    hole, weight = far.copy(), np.ones_like(far)
    hole[0, 1] = hole[1, 0] = np.nan
    weight[0, 1] = weight[1, 0] = 0
    found, stress = positions_in_plane(hole, weight)
    assert stress < 1e-2
    assert np.hypot(*(found[0] - found[1])) == pytest.approx(far[0, 1], abs=0.2)
    labels = study(best=all_of_it, copy=lambda rng, idea: " ".join(idea))
    at = {
        r["annotator"]: np.array([r["x"], r["y"]])
        for r in assay.annotator_similarity(labels).positions.iter_rows(named=True)
    }
    assert np.hypot(*(at["best"] - at["copy"])) < 0.2 * min(
        np.hypot(*(at["best"] - at[p])) for p in ("p0", "p1", "p2", "p3")
    )
    assert assay.annotator_similarity(labels).plot_closeness().figure is not None


def test_who_shares_few_items_is_left_out_by_name():
    labels = study(like=same_as_people, n_items=12)
    few = labels.labels.filter((pl.col("annotator") != "p3") | (pl.col("item") < "i05"))
    found = assay.annotator_similarity(assay.read(few, scale="text", judges=["like"]))
    assert "p3" not in found.table["annotator"]
    assert "1 annotator (p3 with 5): fewer than 10 items" in found.summary()


def test_labels_that_are_no_text_are_refused():
    stars = assay.read(pl.DataFrame({"item": ["1"], "annotator": ["a"], "label": [3]}), scale="1-5")
    with pytest.raises(DesignError, match="needs labels on the scale text"):
        assay.annotator_similarity(stars)
    with pytest.raises(DesignError, match=r"no annotator shares 10 items with two other humans \(the most is \d+\)"):
        assay.annotator_similarity(study(like=same_as_people, n_items=3))
    with pytest.raises(DesignError, match=r"\(the most is 3\); lower min_items=..., or read more labels"):
        assay.annotator_similarity(study(like=same_as_people, n_items=3))
    # A lower min_items does not help for one prompt.
    with pytest.raises(DesignError, match=r"\(the most is 1\); annotators are compared over several items"):
        assay.annotator_similarity(study(like=same_as_people, n_items=1), min_items=2)


@pytest.mark.slow
@pytest.mark.real_data
def test_kilogram(real_data):
    """The words of gpt-4o are as those of people, and gemini_pro's are not."""
    found = assay.annotator_similarity(
        assay.read(real_data / "alt_test" / "kilogram", scale="text"), similarity="words"
    )
    assert found.of("gpt-4o")["difference_low"] > 0 > found.of("gemini_pro")["difference_high"]
    assert found.table.filter(pl.col("kind") == "human").height == 50


def test_who_left_every_answer_empty_is_said_to_have():
    frame = pl.DataFrame({"item": [*"abab"], "annotator": ["m1", "m1", "m2", "m2"], "label": ["", " ", "x y", "z"]})
    with pytest.raises(
        assay.errors.DataError, match=r"annotator 'm1' has no labels.*remove the annotator from humans="
    ):
        assay.read(frame, scale="text", humans=["m1"], judges=["m2"])
    assert assay.read(frame, scale="text", judges=["m2"]).judges == ("m2",)


# -- kernels by hand ----------------------------------------------------------------------------------

ALIKE = np.array([[1.0, 0.2, 0.4, 0.6], [0.2, 1.0, 0.8, 0.0], [0.4, 0.8, 1.0, 0.5], [0.6, 0.0, 0.5, 1.0]])


def test_several_answers_of_one_annotator_are_averaged():
    who, alike = _merge_repeats(np.array([3, 5, 5, 7]), ALIKE)
    assert who.tolist() == [3, 5, 7]
    # With the first: (.2 + .4) / 2; with itself: (1 + .8 + .8 + 1) / 4; with the last: (0 + .5) / 2.
    assert alike == pytest.approx(np.array([[1, 0.3, 0.6], [0.3, 0.9, 0.25], [0.6, 0.25, 1]]))
    once = np.array([1, 2, 3, 4])
    assert _merge_repeats(once, ALIKE)[1] is ALIKE


def test_similarity_to_humans_minus_similarity_among_humans():
    theirs = ALIKE[:3, :3]
    mine = np.array([0.3, 0.5, 0.7])
    # People to each other: .2, .4 and .8. Without each person in turn, mine sums to 1.2, 1.0 and .8 with the others;
    # theirs to .6, 1.0 and 1.2: as close as two of the three.
    assert _compare_with(mine, theirs) == pytest.approx((0.5, 1.4 / 3, 2 / 3))


def answers(*items, human=(True, True, True, False)):
    """Items by (annotators, their similarities)."""
    return SimpleNamespace(
        names=tuple("abcm")[: len(human)], is_human=np.array(human), who=[np.array(who) for who, _ in items],
        similarities=[np.array(alike, dtype=float) for _, alike in items],
    )  # fmt: skip


def test_every_two_annotators_are_compared_as_if_all_had_answered_the_same_items():
    first = ([0, 1, 3], [[1, 0.2, 0.4], [0.2, 1, 0.6], [0.4, 0.6, 1]])  # people are alike by .2
    second = ([0, 1, 2], [[1, 0.6, 0.8], [0.6, 1, 1.0], [0.8, 1.0, 1]])  # by .8 on average
    found = _TextAnswers.pairs(answers(first, second), ["a", "b", "c", "m"])
    rows = {(a, b): numbers for a, b, *numbers in found.rows()}
    assert set(rows) == {("a", "b"), ("a", "c"), ("b", "c"), ("a", "m"), ("b", "m")}  # c and m share no item
    # The grand mean is .5: what lies on an easy item is lowered, on a hard one raised.
    assert rows["a", "b"] == pytest.approx([0.4, 0.4, 2])
    assert rows["a", "c"] == pytest.approx([0.8, 0.5, 1])
    assert rows["b", "c"] == pytest.approx([1.0, 0.7, 1])
    assert rows["a", "m"] == pytest.approx([0.4, 0.7, 1])
    assert rows["b", "m"] == pytest.approx([0.6, 0.9, 1])


def ranked(*rows):
    columns = ["annotator", "kind", "difference"]
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(other_items=0.1, n=9, reason=pl.lit(""))
    return _add_ranks(frame)


def test_than_how_many_people_each_is_closer():
    people = ("a", "human", 0.1), ("b", "human", 0.3), ("c", "human", 0.2)
    found = ranked(*people, ("m", "judge", 0.2), ("k", "judge", 0.4))
    assert found["annotator"].to_list() == ["k", "m", "b", "c", "a"]  # judges first, then people, the closest first
    assert found["closer_than"].to_list() == pytest.approx([1, 1 / 3, 1, 1 / 2, 0])
    assert ranked(("a", "human", 0.1), ("m", "judge", 0.2))["closer_than"].to_list() == [1, None]


def test_who_is_compared_on_which_item():
    """Whoever answered an item that two other people answered; judges are held against people alone."""
    one = ([0, 1, 3], [[1, 0.2, 0.4], [0.2, 1, 0.6], [0.4, 0.6, 1]])
    three = ([0, 1, 2, 3], ALIKE)
    given = answers(one, three)
    given.n_items, given.item = 3, np.array([0, 2])
    found = _TextAnswers.closeness.func(given)
    assert found.shape == (4, 3, 3)
    there = np.isfinite(found[:, :, 0])
    assert there.tolist() == [[False, False, True], [False, False, True], [False, False, True], [True, False, True]]
    # The judge on the first item: as alike as .4 and .6; without either, .6 and .4 against .2.
    assert found[3, 0] == pytest.approx([0.5, 0.2, 1])
    # The first person on the last one: (.2 + .4) / 2 to two others, who are alike by .8.
    assert found[0, 2] == pytest.approx([0.3, 0.8, 0])
    # The judge there: (.6 + 0 + .5) / 3; people (.2 + .4 + .8) / 3; without each .5, 1.1, .6 against .6, 1.0, 1.2.
    assert found[3, 2] == pytest.approx([1.1 / 3, 1.4 / 3, 1 / 3])


def moved(texts, annotator, human=(True, True, False), seed=0):
    """Closeness to people of other items, and the texts that were compared: the similarity is the first's number."""
    asked = []

    def pairs(one, two):
        asked.extend(zip(one, two, strict=True))
        return np.array([float(text[1:]) for text in one])

    frame = pl.DataFrame(texts, schema=["item", "who", "text"], orient="row")
    given = SimpleNamespace(texts=frame, is_human=np.array(human), fitted=SimpleNamespace(pairs=pairs))
    return _TextAnswers.similarity_to_other_items(given, annotator, seed), asked


def test_answers_are_held_against_people_of_the_next_item(monkeypatch):
    texts = [(i, who, f"{'abm'[who]}{i}") for i in range(5) for who in range(3)]
    texts += [(0, 2, "m99")]  # of several answers the first
    value, asked = moved(texts, 2)
    assert len(asked) == 10
    given = {theirs: mine for mine, theirs in asked}
    assert all(given[f"a{i}"] == given[f"b{i}"] for i in range(5))
    assert sorted(given[f"a{i}"] for i in range(5)) == [f"m{i}" for i in range(5)]
    assert all(given[f"a{i}"] != f"m{i}" for i in range(5))
    assert value == 2  # each answer is used as often as any: the mean of 0 to 4
    assert moved(texts, 2)[1] == asked
    assert any(moved(texts, 2, seed=k)[1] != asked for k in (1, 2, 3))
    _, of_a_person = moved(texts, 0)
    assert {theirs[0] for _, theirs in of_a_person} == {"b"}
    monkeypatch.setattr(annotators, "MOST_MOVED", 3)
    assert len(moved(texts, 2)[1]) == 3


def test_two_items_can_be_exchanged_and_one_cannot():
    two = [(0, 0, "a0"), (0, 2, "m0"), (1, 0, "a1"), (1, 2, "m1")]
    assert sorted(moved(two, 2)[1]) == [("m0", "a1"), ("m1", "a0")]
    assert np.isnan(moved(two[:3], 2)[0])
    assert np.isnan(moved([row for row in two if row[1] == 2], 2)[0])
    apart = [(0, 2, "m0"), (1, 2, "m1"), (2, 0, "a2")]  # people answered neither of its items
    assert np.isnan(moved(apart, 2)[0])
    assert annotators.MOST_MOVED == 4_000


def test_means_over_items_are_of_closeness_people_their_difference_and_the_advantage():
    """Differences .2, −.1, .2 and .1 in two items each of two clusters; the second item is not used."""
    mine = np.array([[0.6, 0.4, 1.0], [np.nan] * 3, [0.3, 0.4, 0.0], [0.8, 0.6, 1.0], [0.5, 0.4, 0.5]])
    used = np.array([0, 2, 3, 4])
    found = _estimate(mine, used, None, MapSettings(method="jackknife"))
    assert found.value == pytest.approx([0.55, 0.45, 0.1, 0.625])
    spread = np.array([0.1, -0.2, 0.1, 0.0])
    assert found.standard_error[2] == pytest.approx(np.sqrt((spread**2).sum() / 4 / 3))
    assert (found.n_items, found.n_units) == (4, 4)
    assert (found.low[:3] + found.high[:3]) / 2 == pytest.approx(found.value[:3])
    assert 0 <= found.low[3] < 0.625 < found.high[3] <= 1
    clustered = _estimate(mine, used, np.array([0, 0, 0, 1, 1]), MapSettings(method="jackknife"))
    assert clustered.value == pytest.approx(found.value)
    assert clustered.n_units == 2
    # Without either cluster the mean is .15 or .05.
    assert clustered.standard_error[2] == pytest.approx(np.sqrt(1 / 2 * 2 * 0.05**2))


def test_map_distances_are_1_minus_weighted_similarity():
    rows = [{"annotator": name, "kind": "human"} for name in "abc"] + [{"annotator": "m", "kind": "judge"}]
    schema = ["first", "second", "adjusted", "n"]
    pairs = [("a", "b", 0.4, 9), ("a", "c", 0.2, 9), ("b", "c", 0.0, 9), ("a", "m", 1.2, 4), ("b", "m", 0.4, 4)]
    frame, stress = _map(pl.DataFrame(pairs, schema=schema, orient="row"), rows)
    assert frame.columns == ["annotator", "kind", "x", "y"]
    assert frame.select("annotator", "kind").rows() == [("a", "human"), ("b", "human"), ("c", "human"), ("m", "judge")]
    at = {name: np.array(place) for name, *place in frame.select("annotator", "x", "y").rows()}
    for one, two, apart in (("a", "b", 0.6), ("a", "c", 0.8), ("b", "c", 1.0), ("a", "m", 0.0), ("b", "m", 0.6)):
        assert np.hypot(*(at[one] - at[two])) == pytest.approx(apart, abs=2e-3)  # more than alike is no distance
    assert stress == pytest.approx(0, abs=2e-3)


def test_places_in_a_plane_by_hand():
    """One, two and three annotators; the longest axis comes first, and its farthest end is on the right."""
    one, misfit = positions_in_plane(np.zeros((1, 1)), np.zeros((1, 1)))
    assert (one.tolist(), misfit) == ([[0, 0]], 0)
    two, misfit = positions_in_plane(np.array([[0, 3.0], [3, 0]]), np.ones((2, 2)))
    assert np.abs(two) == pytest.approx(np.array([[1.5, 0], [1.5, 0]]))
    assert two[0, 0] == -two[1, 0]
    assert misfit == pytest.approx(0, abs=1e-9)
    triangle = np.array([[0, 3.0, 4], [3, 0, 5], [4, 5, 0]])
    found, misfit = positions_in_plane(triangle, np.ones((3, 3)))
    assert np.hypot(*(found[:, None] - found).T) == pytest.approx(triangle)
    assert found.sum(axis=0) == pytest.approx([0, 0])
    assert (found**2).sum(axis=0)[0] > (found**2).sum(axis=0)[1]
    assert found[0] @ found[1] + found[1] @ found[2] + found[2] @ found[0] == pytest.approx(-25 / 3)
    assert misfit == pytest.approx(0, abs=1e-9)
    assert positions_in_plane(np.zeros((3, 3)), np.ones((3, 3)))[1] == 0


def test_three_equal_distances_on_a_line_leave_a_third_of_misfit():
    """At −a, 0 and a the misfit 2 (a − 1)² + (2a − 1)² is least at a = 2/3, where it is 1/3 of three squares of 1."""
    line, stress = positions_in_plane(1.0 - np.eye(3), np.ones((3, 3)), 1)
    assert line.shape == (3, 1)
    assert sorted(line.ravel()) == pytest.approx([-2 / 3, 0, 2 / 3], abs=1e-4)
    assert stress == pytest.approx(1 / 3, abs=1e-6)
    assert positions_in_plane(5.0 - 5 * np.eye(3), np.ones((3, 3)), 1)[1] == pytest.approx(1 / 3, abs=1e-6)


def test_the_misfit_is_weighted_and_does_not_count_what_is_not_known():
    rng = np.random.default_rng(4)
    apart, weight = (np.triu(rng.uniform(0.5, 2, (6, 6)), 1) for _ in range(2))
    apart, weight = apart + apart.T, weight + weight.T
    weight[0, 1] = weight[1, 0] = 0  # not asked
    apart[2, 3] = apart[3, 2] = np.nan  # no number
    found, stress = positions_in_plane(apart, weight)
    known = np.triu((weight > 0) & np.isfinite(apart), 1)
    assert known.sum() == 13
    on_map = np.hypot(*(found[:, None] - found).T)
    off = (weight * (apart - on_map) ** 2)[known].sum() / (weight * apart**2)[known].sum()
    assert stress == pytest.approx(np.sqrt(off), abs=1e-6)
    apart[0, 1] = apart[1, 0] = 77.0
    assert positions_in_plane(apart, weight)[1] == pytest.approx(stress, abs=1e-9)


def test_scaling_and_turning_by_hand():
    places = np.array([[0.0, 0], [3, 0], [0, 4], [3, 4]])
    far = np.hypot(*(places[:, None] - places).T)
    flat = _classical_scaling(far, 2)
    assert np.hypot(*(flat[:, None] - flat).T) == pytest.approx(far)
    assert np.abs(_classical_scaling(far, 1)).ravel() == pytest.approx([2] * 4)  # along the longer side
    corner = np.array([[0.0, 0], [3, 0], [0, 4]])
    far = np.hypot(*(corner[:, None] - corner).T)
    flat = _classical_scaling(far, 2)
    assert np.hypot(*(flat[:, None] - flat).T) == pytest.approx(far)
    assert flat.sum(axis=0) == pytest.approx([0, 0])
    column = np.array([[0.0, -4], [0, 1], [0, 1], [0, 1], [0, 1]])
    assert _rotate(column + 7)[:, 0] == pytest.approx([4, -1, -1, -1, -1])
    assert _rotate(7 - column)[:, 0] == pytest.approx([4, -1, -1, -1, -1])
    assert np.abs(_rotate(column)[:, 1]).max() == pytest.approx(0)


# -- what is said --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return assay.annotator_similarity(study(n_items=4, gpt=same_as_people), min_items=2, method="none")


def rows_said(small, *rows):
    """Of each: name, kind, difference with its ends, share that it is closer than."""
    base = {"estimate": 0.61234, "people": 0.5, "advantage": 0.75, "advantage_low": 0.7, "advantage_high": 0.8,
            "other_items": 0.25, "n": 12}  # fmt: skip
    names = ("annotator", "kind", "difference", "difference_low", "difference_high", "closer_than")
    return dataclasses.replace(small, rows=pl.DataFrame([base | dict(zip(names, row, strict=True)) for row in rows]))


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.001, 0.2, "significantly higher"),
        (0.0, 0.2, "no significant difference"),
        (-0.2, 0.0, "no significant difference"),
        (-0.2, -0.001, "significantly lower"),
    ],
)
def test_judge_similarity_significant_if_interval_excludes_0(small, low, high, words):
    found = rows_said(small, ("gpt", "judge", 0.1, low, high, None)).summary().splitlines()
    assert found[0].startswith("gpt: similarity to humans minus similarity among humans = +0.100 [")
    assert f"; {words} (0.612 and 0.500; " in found[0]
    assert found[1].startswith("Map: stress ")  # no other annotator
    assert found[1].endswith(" (interpret distances only below 0.2).")


def test_summary_compares_each_judge_with_range_of_humans(small):
    rows = [
        ("gpt", "judge", 0.1, 0.05, 0.15, 1.0), ("ann", "human", 0.02, 0, 0, 0.5), ("bob", "human", -0.03, 0, 0, 0.0),
        ("cho", "human", 0.01, 0, 0, 0.5),
    ]  # fmt: skip
    found = rows_said(small, *rows).summary().splitlines()
    assert found[0] == (
        "gpt: similarity to humans minus similarity among humans = +0.100 [+0.050, +0.150]; significantly higher "
        "(0.612 "
        "and 0.500; with responses to other items 0.250). Advantage probability 0.75 [0.70, 0.80], 12 items; higher "
        "than for 1.00 of 3 humans."
    )
    assert found[1] == "Humans: differences from −0.030 (bob) to +0.020 (ann)."


def test_the_picture_has_every_name_in_its_colour_the_closest_first_and_equals_as_in_the_table(small):
    names = [f"p{k:02d}" for k in range(pictures.MOST_ROWS - 2)]
    people = [(name, "human", 0.1 + 0.1 * (k % 2), 0.0, 0.3, None) for k, name in enumerate(names)]
    judges = [("j" * 18, "judge", 0.3, 0.2, 0.4, None), ("k" * 19, "judge", 0.0, -0.1, 0.1, None)]
    ax = rows_said(small, *judges, *people).plot_closeness()
    shown = ["j" * 18, *names[1::2], *names[::2], "k" * 16 + "…"]
    assert [one.get_text() for one in ax.get_yticklabels()] == shown
    many = [(f"p{k:03d}", "human", 0.1, 0.0, 0.3, None) for k in range(2 * pictures.MOST_ROWS)]
    shown = [one.get_text() for one in rows_said(small, *many).plot_closeness().get_yticklabels()]
    assert shown == sorted(shown)
    line = ax.get_lines()[-1]
    assert (list(line.get_xdata()), line.get_linestyle()) == ([0, 0], "--")
    colours = {one.get_color() for one in ax.get_lines()} | {
        to_hex(colour) for one in ax.collections for colour in one.get_facecolor()
    }
    assert {pictures.JUDGE.lower(), pictures.HUMAN.lower()} <= {str(one).lower() for one in colours}
