"""Equation 1 by hand and against a direct computation; places fitted to choices; intervals, what is refused."""

from __future__ import annotations

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import check_grad
from scipy.stats import spearmanr
from worlds import World, noisy

import assay
import references
from assay.errors import DataError, DesignError
from assay.estimation.intervals import wilson
from assay.ideas import triplets as module
from assay.ideas.triplets import (
    TripletEmbedding,
    TripletSimilarity,
    _all_pairs,
    _comparisons,
    _cross_validate,
    _resample,
    unseen_pairs,
)
from assay.reporting.tables import said
from assay.statistics.comparisons.odd_one_out import Model, PairTable, code_of_pair, pair_of_code


def read(rows, columns=("item", "a", "b", "c", "label", "annotator"), **options):
    frame = pl.DataFrame(rows, schema=list(columns), orient="row")
    return assay.read(frame, scale="odd-one-out", **{"humans": sorted(set(frame["annotator"])), **options})


def test_equation_1_by_hand():
    # x and y are together in three choices and kept in two; z is with x in two and kept in none.
    labels = read(
        [("1", "x", "y", "z", "C", "ann"), ("2", "z", "x", "y", "A", "bob"), ("3", "x", "w", "y", "A", "ann")]
    )
    found = assay.triplet_similarity(labels)
    assert (found.of("y", "x")["estimate"], found.of("x", "y")["n"]) == (2 / 3, 3)
    assert (found.of("x", "z")["estimate"], found.of("x", "z")["n"]) == (0.0, 2)
    assert found.of("w", "y")["estimate"] == 1.0
    assert found.n_under_floor == 4
    assert found.n_unseen == 1
    names, alike = found.matrix()
    assert np.isnan(alike[names.index("w"), names.index("z")])
    with pytest.raises(DataError, match="never compared"):
        found.of("w", "z")
    # Of each text the mean over its pairs, x: (2/3 + 0 + 0) / 3; and the share of its choices in which it is odd.
    texts = found.texts.select("text", "similarity", "estimate", "n").rows()
    assert [row[0] for row in texts] == ["z", "x", "w", "y"]
    wanted = [(0.0, 1.0, 2), (2 / 9, 1 / 3, 3), (1 / 2, 0.0, 1), (5 / 9, 0.0, 3)]
    assert [row[1:] for row in texts] == [pytest.approx(one) for one in wanted]
    low, high = wilson(np.array([1 / 3]), np.array([3.0]))
    assert found.texts.row(1)[-3:-1] == (pytest.approx(low[0]), pytest.approx(high[0]))


def test_interval_of_a_text_counts_its_triplets():
    # Three people on one triplet are one triplet; the share is of all choices.
    found = assay.triplet_similarity(read([("1", "x", "y", "z", "C", who) for who in ("ann", "bob", "cyd")]))
    assert found.texts.row(0, named=True)["n"] == 3
    assert found.texts.row(0)[-3:-1] == pytest.approx(tuple(end[0] for end in wilson(np.ones(1), np.ones(1))))


def test_counts_agree_with_direct_computation():
    labels = World.of(7, 2).study(floor=4, overlap=2, judges={"gpt": World.of(7, 2)})
    rows = labels.labels.join(labels.items, on="item").filter(pl.col("annotator") != "gpt")
    wanted: dict[tuple[str, ...], list[int]] = {}
    for row in rows.iter_rows(named=True):
        three = [row["first_item"], row["second_item"], row["third_item"]]
        odd = three["ABC".index(row["label"])]
        for pair in itertools.combinations(sorted(three), 2):
            counts = wanted.setdefault((row["document"], *pair), [0, 0])
            counts[0] += odd not in pair
            counts[1] += 1
    found = assay.triplet_similarity(labels).table
    assert {
        (r["document"], r["first"], r["second"]): [r["kept"], r["n"]] for r in found.iter_rows(named=True)
    } == wanted
    assert found["estimate"].to_numpy() @ found["n"].to_numpy() / found["n"].sum() == pytest.approx(1 / 3)


def test_every_pair_has_its_code():
    first, second = np.triu_indices(9, 1)
    codes = code_of_pair(first, second, 9)
    assert codes.tolist() == list(range(36))
    assert all(np.array_equal(a, b) for a, b in zip(pair_of_code(codes, 9), (first, second), strict=True))


def test_a_large_pool_is_counted_by_sorting_alike():
    rng = np.random.default_rng(0)
    member = np.stack([rng.choice(12, 3, replace=False) for _ in range(50)])
    odd = rng.integers(0, 3, 50)
    dense = PairTable.of(member, odd, 12)
    sorted_ = PairTable.of(member[:20], odd[:20], 12, most_cells=0)
    again = PairTable.of(np.concatenate([member, member]), np.concatenate([odd, odd]), 12, most_cells=0)
    assert np.array_equal(again.n, 2 * dense.n)
    assert np.array_equal(again.kept, 2 * dense.kept)
    assert sorted_.n.sum() == 60


def test_the_same_name_in_two_documents_is_two_texts():
    labels = World.of(4, 2).study(floor=2)
    found = assay.triplet_similarity(labels)
    assert found.table.height == 12
    assert set(found.table["document"]) == {"d0", "d1"}
    with pytest.raises(DesignError, match="there are 2 documents; name one, such as document='d0'"):
        found.matrix()
    assert found.matrix("d1")[1].shape == (4, 4)


def test_judges_choices_count_only_when_asked_for():
    world = World.of(6)
    labels = world.study(floor=3, judges={"gpt": noisy(world, 2)})
    people, judge = assay.triplet_similarity(labels), assay.triplet_similarity(labels, annotators="judges")
    assert not people.table["estimate"].equals(judge.table["estimate"])
    assert judge.table.equals(assay.triplet_similarity(labels, annotators=["gpt"]).table)
    assert "18 choices: of gpt, whose choices are not asked about" in people.summary()
    with pytest.raises(DataError, match="did you mean 'p0'"):
        assay.triplet_similarity(labels, annotators=["p00"])
    alone = labels.where(kind="judge")
    with pytest.raises(DesignError, match="no human made odd-one-out choices; set annotators='judges'"):
        assay.triplet_similarity(alone)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("1", "x", "x", "z", "A", "ann")], r"1 triplet \(1\) names a text twice \('x'\)"),
        ([("1", "x", "y", None, "A", "ann"), ("2", "x", "y", "z", "A", "ann")], r"1 triplet \(1\) has nothing in 'c'"),
    ],
)
def test_triplets_without_three_different_texts_are_refused(rows, words):
    with pytest.raises(DataError, match=words):
        assay.triplet_similarity(read(rows))


def test_columns_are_found_or_asked_for():
    columns = ("item", "one", "two", "three", "label", "annotator")
    labels = read([("1", "x", "y", "z", "C", "ann")], columns)
    with pytest.raises(DesignError, match=r"name the columns with texts=\['a', 'b', 'c'\]"):
        assay.triplet_similarity(labels)
    assert assay.triplet_similarity(labels, texts=["one", "two", "three"]).of("x", "y")["estimate"] == 1
    with pytest.raises(DesignError, match="three columns"):
        assay.triplet_similarity(labels, texts=["one", "two"])
    stars = assay.read(pl.DataFrame({"item": ["1"], "annotator": ["a"], "label": [3]}), scale="1-5")
    with pytest.raises(DesignError, match="needs odd-one-out choices"):
        assay.triplet_similarity(stars)


def test_answers_to_one_triplet_count_for_less_where_they_are_alike():
    """Ten people who follow one rule, on few thirds, do not know a pair as well as ten thirds would."""
    world = World.of(8, sharpness=5)
    many = assay.triplet_similarity(world.study(floor=3, people=10, overlap=10))
    assert many.dependence > 0.5
    row = many.table.filter((pl.col("estimate") > 0.3) & (pl.col("estimate") < 0.7)).row(0, named=True)
    low, high = wilson(row["estimate"], row["n"])
    assert row["high"] - row["low"] > 1.5 * (high - low)
    apart = assay.triplet_similarity(world.study(floor=6))
    assert np.isnan(apart.dependence)
    row = apart.table.row(3, named=True)
    assert (row["low"], row["high"]) == pytest.approx(wilson(row["estimate"], row["n"]))


@pytest.mark.slow
def test_intervals_hold_the_truth():
    world, inside = World.of(12), []
    truth = world.truth()
    for seed in range(25):
        found = assay.triplet_similarity(world.study(floor=6, seed=seed)).table
        inside += [
            r["low"] <= truth[r["document"], r["first"], r["second"]] <= r["high"] for r in found.iter_rows(named=True)
        ]
    assert 0.93 < np.mean(inside) < 0.995


def test_truth_is_recovered():
    world = World.of(15, sharpness=1.0)
    truth = world.truth()
    found = assay.triplet_similarity(world.study(floor=13, overlap=3)).table
    from scipy.stats import spearmanr

    wanted = [truth[r["document"], r["first"], r["second"]] for r in found.iter_rows(named=True)]
    assert spearmanr(found["estimate"], wanted).statistic > 0.95


@pytest.mark.parametrize("n_texts", [5, 40])
def test_intervals_of_pairs_are_wilsons_of_their_counts(n_texts):
    """One answer a triplet: choices are independent. Of many pairs each count is computed once."""
    found = assay.triplet_similarity(World.of(n_texts, sharpness=1).study(floor=3), confidence=0.9).table
    for row in found.head(40).iter_rows(named=True):
        wanted = references.wilson(row["kept"], row["n"], 0.9)
        assert (row["low"], row["high"]) == pytest.approx(wanted, abs=1e-9)


def test_answers_about_one_triplet_count_for_less():
    """One-way analysis of variance within pair and triplet, by loops; Wilson's interval of what they are worth."""
    labels = World.of(6, sharpness=1.5).study(floor=4, overlap=3)
    found = assay.triplet_similarity(labels, confidence=0.9)
    cells: dict[tuple[str, str], dict[str, list[int]]] = {}
    for row in labels.labels.join(labels.items, on="item").iter_rows(named=True):
        three = [row["first_item"], row["second_item"], row["third_item"]]
        odd = three["ABC".index(row["label"])]
        for pair in itertools.combinations(sorted(three), 2):
            cells.setdefault(pair, {}).setdefault(row["item"], []).append(int(odd not in pair))
    within = between = sizes = 0.0
    free = apart = 0
    for triplets in cells.values():
        whole = [x for xs in triplets.values() for x in xs]
        mean = sum(whole) / len(whole)
        for xs in triplets.values():
            m = sum(xs) / len(xs)
            within += sum((x - m) ** 2 for x in xs)
            free += len(xs) - 1
            between += len(xs) * (m - mean) ** 2
        apart += len(triplets) - 1
        sizes += len(whole) - sum(len(xs) ** 2 for xs in triplets.values()) / len(whole)
    inside = within / free
    outside = max(between / apart - inside, 0.0) / (sizes / apart)
    icc = outside / (outside + inside)
    assert found.dependence == pytest.approx(icc)
    assert 0 < icc < 1
    for row in found.table.iter_rows(named=True):
        xs = cells[row["first"], row["second"]].values()
        total = sum(map(len, xs))
        worth = total**2 / sum(len(x) * (1 + (len(x) - 1) * icc) for x in xs)
        kept = sum(map(sum, xs))
        assert (row["low"], row["high"]) == pytest.approx(references.wilson(kept / total * worth, worth, 0.9), abs=1e-9)


# -- places fitted to the choices ---------------------------------------------------------------------


def test_the_slope_is_that_of_the_loss():
    rng = np.random.default_rng(1)
    member = np.stack([rng.choice(6, 3, replace=False) for _ in range(30)])
    model = Model.of(member, rng.integers(0, 3, 30), 6, 2)
    assert model.kept.sum() == 30
    place = rng.normal(size=12)
    assert check_grad(lambda x: model._loss(x)[0], lambda x: model._loss(x)[1], place) < 1e-5


@pytest.mark.slow
def test_sparse_designs_are_ranked_better_than_by_counting():
    gains, foretold = [], []
    for seed in range(3):
        world = World.of(24, sharpness=0.8, seed=seed)
        labels = world.study(floor=1, seed=seed)
        some = labels.where(item=sorted(labels.items["item"].to_list(), key=int)[:80])
        truth = world.truth()
        model = assay.triplet_embedding(some, dimensions=3, n_resamples=0).table
        counts = assay.triplet_similarity(some).table
        assert model.height == 276
        both = counts.join(model, on=["first", "second"])
        wanted = [truth["d0", a, b] for a, b in both.select("first", "second").iter_rows()]
        gains.append(
            spearmanr(both["estimate_right"], wanted).statistic - spearmanr(both["estimate"], wanted).statistic
        )
        never = model.filter(pl.col("n") == 0)
        other = [truth["d0", a, b] for a, b in never.select("first", "second").iter_rows()]
        foretold.append(spearmanr(never["estimate"], other).statistic)
    assert np.mean(gains) > 0.1
    assert np.mean(foretold) > 0.3


@pytest.mark.slow
def test_blind_choices_are_foretold_no_better_than_by_chance():
    world = World.of(8)
    blind = World(world.names, world.document, np.zeros_like(world.alike))
    found = assay.triplet_embedding(blind.study(floor=6), n_resamples=0)
    assert found.folds["estimate"].max() < np.log(1 / 3) + 0.02
    assert "not higher than chance" in found.summary()
    seen = assay.triplet_embedding(World.of(8, sharpness=1).study(floor=6), n_resamples=0)
    assert seen.folds["estimate"].max() > np.log(1 / 3) + 0.1


@pytest.mark.slow
def test_intervals_come_from_resampled_triplets():
    found = assay.triplet_embedding(World.of(7).study(floor=3), dimensions=2, n_resamples=25).table
    assert (found["low"] < found["high"]).all()
    assert found.filter((pl.col("low") <= pl.col("estimate")) & (pl.col("estimate") <= pl.col("high"))).height > 15


def test_choices_left_out_are_compared_with_chance():
    found = assay.triplet_embedding(World.of(8, sharpness=1).study(floor=6), folds=2, n_resamples=0)
    mine = found.folds["estimate"].max()
    assert mine > np.log(1 / 3)
    assert f"Mean log likelihood of held-out choices: {said(mine)}, higher than chance (−1.10)." in found.summary()


def test_two_triplets_a_fold_are_enough_to_choose_dimensions():
    labels = World.of(5).study(floor=1)
    n = labels.n_items
    assert assay.triplet_embedding(labels, folds=n // 2, n_resamples=0).folds.height > 0
    with pytest.raises(DesignError, match=f"{n} triplets cannot be cross-validated"):
        assay.triplet_embedding(labels, folds=n // 2 + 1, n_resamples=0)


def test_too_few_triplets_need_their_dimensions_said():
    with pytest.raises(DesignError, match="cannot be cross-validated; give dimensions=2"):
        assay.triplet_embedding(World.of(4).study(floor=1), n_resamples=0)


@pytest.mark.parametrize(("texts", "choices"), [(4, 4), (7, 25), (9, 40)])
def test_intervals_of_counts_are_wilson_intervals(texts, choices):
    """Where there are more pairs than counts each is computed once; one choice a triplet, so no dependence."""
    rng = np.random.default_rng(texts)
    three = rng.permutation(list(itertools.combinations(range(texts), 3)))[:choices]
    rows = [(str(k), *(f"t{i}" for i in one), "ABC"[rng.integers(3)], "ann") for k, one in enumerate(three.tolist())]
    found = assay.triplet_similarity(read(rows), confidence=0.9).table
    wanted = [references.wilson(round(r["estimate"] * r["n"]), r["n"], 0.9) for r in found.iter_rows(named=True)]
    assert list(found.select("low", "high").iter_rows()) == [pytest.approx(one) for one in wanted]


@pytest.mark.parametrize(
    ("rows", "floor", "words"),
    [
        (["abc"] * 2, 2, None),
        (
            ["abc", "abc", "abd"],
            2,
            "2 pairs compared fewer than 2 times and 1 pair never compared: collect more triplets",
        ),
        (["abc"] * 2 + ["abd"] * 2, 2, "1 pair never compared: collect more triplets"),
        (["abc"], 2, "3 pairs compared fewer than 2 times: collect more triplets"),
    ],
)
def test_pairs_that_were_compared_too_seldom_are_counted(rows, floor, words):
    labels = read([(str(k), *three, "C", "ann") for k, three in enumerate(rows)])
    found = assay.triplet_similarity(labels, floor=floor)
    assert found.run.cautions == () if words is None else found.run.cautions[0].startswith(words)


# -- what is said and drawn of pairs, by hand -------------------------------------------------------------


RUN = assay.triplet_similarity(read([("1", "x", "y", "z", "C", "ann"), ("2", "x", "y", "z", "A", "bob")])).run


def similarity(*rows, dependence=np.nan, unseen=0, floor=3):
    """Pairs as (document, first, second, estimate, n)."""
    pairs = pl.DataFrame(
        [(*row[:4], row[3] - 0.1, row[3] + 0.1, row[4], row[4] >= floor) for row in rows], orient="row",
        schema={"document": pl.String, "first": pl.String, "second": pl.String, "estimate": pl.Float64,
                "low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "enough": pl.Boolean},
    )  # fmt: skip
    run = dataclasses.replace(RUN, settings=dataclasses.replace(RUN.settings, floor=floor))
    return TripletSimilarity(pairs, pl.DataFrame(), unseen, dependence, run, np.ones(len(rows)))


THREE = [("d", "a", "b", 0.5, 4), ("d", "a", "c", 0.25, 2), ("d", "b", "c", 0.75, 3), ("e", "a", "b", 1.0, 1)]


def test_the_most_and_least_alike_pair_are_of_those_compared_often_enough():
    lines = similarity(*THREE, unseen=1, dependence=0.25).summary().split("\n")
    assert lines == [
        "Most similar: b and c (d), 0.75 [0.65, 0.85] of 3. Least similar: a and b (d), 0.50 [0.40, 0.60] of 4. The "
        "mean of all pairs is 1/3.",
        "4 pairs compared 1 to 4 times (median 2.5); 2 pairs fewer than 3 times.",
        "1 pair of texts of one document never compared.",
        "Intraclass correlation of choices from one triplet: 0.25; intervals allow for it.",
        *similarity(*THREE).run.closing(intervals=True),
    ]
    few = similarity(*THREE, floor=9).summary().split("\n")
    assert few[0].startswith("Most similar: a and b (e), 1.00 [0.90, 1.10] of 1. Least similar: a and c (d), 0.25 ")
    assert few[1].endswith("; 4 pairs fewer than 9 times.")
    assert few[2:] == similarity(*THREE, floor=9).run.closing(intervals=True)
    even = similarity(("d", "a", "b", 0.5, 4), ("d", "a", "c", 0.5, 7)).summary()
    assert even.startswith("Most similar: a and c (d), 0.50 [0.40, 0.60] of 7. Least similar: a and b (d)")


@pytest.mark.parametrize(("n", "shown"), [(40, "x" * 40), (41, "x" * 38 + "…")])
def test_names_of_40_characters_are_said_whole(n, shown):
    lines = [similarity((document, "x" * n, "b", 0.5, 2)).summary() for document in (None, "d")]
    for line, where in zip(lines, ("", " (d)"), strict=True):
        assert line.startswith(
            f"Most similar: {shown} and b{where}, 0.50 [0.40, 0.60] of 2. Least similar: {shown} and"
        )


def test_pair_lookup_ignores_text_order():
    found = similarity(*THREE)
    assert (found.of("b", "a")["document"], found.of("a", "b", "e")["estimate"]) == ("d", 1.0)
    assert found.of("c", "b", document="d")["n"] == 3
    with pytest.raises(DataError, match="'b' and 'c' were never compared"):
        found.of("b", "c", "e")
    assert (found.n_under_floor, [one.estimate for one in found.row_estimates()]) == (2, [0.5, 0.25, 0.75, 1.0])


def test_the_table_of_a_document():
    found = similarity(*THREE)
    names, alike = found.matrix("d")
    assert names == ("a", "b", "c")
    np.testing.assert_array_equal(alike, [[1, 0.5, 0.25], [0.5, 1, 0.75], [0.25, 0.75, 1]])
    assert found.matrix("e")[0] == ("a", "b")
    with pytest.raises(DesignError, match="there are 2 documents; name one, such as document='d'"):
        found.matrix()
    with pytest.raises(DataError, match="'f'"):
        found.matrix("f")
    bare = similarity(*((None, *row[1:]) for row in THREE[:2]))
    names, alike = bare.matrix()
    np.testing.assert_array_equal(alike, [[1, 0.5, 0.25], [0.5, 1, np.nan], [0.25, np.nan, 1]])


@pytest.mark.parametrize(("n", "shown"), [(21, "x" * 21), (22, "x" * 20 + "…")])
def test_heatmap_shows_percent_without_diagonal(n, shown):
    found = similarity(("d", "x" * n, "b", 0.505, 4), ("d", "b", "c", 1.0, 3), ("e", "a", "b", 1.0, 1))
    ax = found.plot()
    assert [one.get_text() for one in ax.get_yticklabels()] == [shown, "b", "c"]
    assert [one.get_text() for one in ax.get_xticklabels()] == [shown, "b", "c"]
    assert (ax.get_yticks().tolist(), ax.get_xticks().tolist()) == ([2.5, 1.5, 0.5], [0.5, 1.5, 2.5])
    assert {one.get_position(): one.get_text() for one in ax.texts} == {
        (1.5, 2.5): "50", (0.5, 1.5): "50", (2.5, 1.5): "100", (1.5, 0.5): "100"
    }  # fmt: skip
    assert ax.get_xlabel() == "similarity in percent, d"
    assert found.plot(document="e").get_xlabel() == "similarity in percent, e"
    assert similarity((None, "a", "b", 0.5, 4)).plot().get_xlabel() == "similarity in percent"


def test_forty_texts_are_drawn_of_more(monkeypatch):
    assert module.MOST_TEXTS == 40
    monkeypatch.setattr(module, "MOST_TEXTS", 2)
    ax = similarity(*THREE).plot()
    assert [one.get_text() for one in ax.get_yticklabels()] == ["a", "b"]
    assert (ax.get_xlim(), len(ax.texts)) == ((0, 2), 2)


def test_pairs_of_one_document_that_no_choice_concerns_are_counted():
    """Documents of three and of two texts have 3 and 1 pairs, of which 2 were compared."""
    choices = SimpleNamespace(document=np.array([0, 0, 0, 1, 1]), pairs=[1, 2])
    assert unseen_pairs(choices) == 2


def few_choices():
    """Two documents; of the first the pairs of texts 0, 1, 2 were compared."""
    pairs = SimpleNamespace(first=np.array([0, 0]), second=np.array([1, 2]), n=np.array([3, 5]))
    return SimpleNamespace(document=np.array([0, 0, 0, 1, 1]), pairs=pairs, texts=SimpleNamespace(height=5))


def test_pairs_table_has_all_pairs_of_a_document():
    first, second, pool = _all_pairs(few_choices())
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (3, 4)]
    assert [one.tolist() for one in pool] == [[0, 1, 2]] * 3 + [[3, 4]]
    assert _comparisons(few_choices(), first, second) == [3, 5, 0, 0]


@pytest.mark.parametrize(("most", "right"), [(4, True), (3, False)])
def test_a_document_of_very_many_pairs_is_refused(monkeypatch, most, right):
    assert module.MOST_PAIRS == 20_000
    monkeypatch.setattr(module, "MOST_PAIRS", most)
    if right:
        assert len(_all_pairs(few_choices())[0]) == 4
    else:
        with pytest.raises(DesignError, match=r"more than 3 pairs.* look at fewer texts at a time"):
            _all_pairs(few_choices())


class Recorded:
    """Choices of which only the triplets are known; parts of them are recorded."""

    def __init__(self, item):
        self.item, self.texts = np.asarray(item), SimpleNamespace(height=5)
        self.member, self.odd = self.item, self.item

    def where(self, keep):
        return Recorded(self.item[keep])


def test_triplets_are_left_out_whole_and_each_once(monkeypatch):
    """Nine triplets, each of two choices, in three folds of three; the score of a fold is the sum of its triplets."""
    fits = []
    monkeypatch.setattr(module, "_fit", lambda kept, d, seed: fits.append((kept.item.tolist(), d, seed)) or d)
    monkeypatch.setattr(module.Model, "of", lambda member, odd, n, d: SimpleNamespace(
        score=lambda fitted: fitted * float(member.sum())
    ))  # fmt: skip
    item = np.repeat(np.arange(9) * 10, 2)
    found = _cross_validate(Recorded(item), SimpleNamespace(seed=5, folds=3))
    assert found == pytest.approx({d: d * item.sum() / 3 for d in (1, 2, 3, 4, 6)})
    assert [d for _, d, _ in fits] == [d for d in (1, 2, 3, 4, 6) for _ in range(3)]
    assert {seed for *_, seed in fits} == {5}
    for kept, *_ in fits:
        assert len(kept) == 12
        assert all(kept.count(k) == 2 for k in kept)
    left = [set(item.tolist()) - set(kept) for kept, *_ in fits[:3]]
    assert sorted(k for some in left for k in some) == sorted(set(item.tolist()))


def test_triplets_are_resampled_with_all_their_choices(monkeypatch):
    monkeypatch.setattr(module, "_fit", lambda some, d, seed, start: some.item)
    drawn = _resample(
        Recorded([7, 3, 7, 9, 3, 7]), 2, None, SimpleNamespace(seed=1, n_resamples=40),
        lambda item: np.bincount(item, minlength=10)[[3, 7, 9]],
    )  # fmt: skip
    assert drawn.shape == (40, 3)
    times = drawn / [2, 3, 1]  # choices of each triplet
    assert (times == np.round(times)).all()
    assert (times.sum(axis=1) == 3).all()
    assert times.mean(axis=0) == pytest.approx([1, 1, 1], abs=0.4)
    assert len({tuple(row) for row in times.tolist()}) > 3
    assert _resample(Recorded([1, 2]), 2, None, SimpleNamespace(seed=1, n_resamples=0), None).shape == (0, 0)


def embedding(n=(0, 3), folds=((1, -1.2), (2, -0.9)), dimensions=2, places=None):
    folds = pl.DataFrame(list(folds), schema={"dimensions": pl.Int64, "estimate": pl.Float64}, orient="row")
    run = dataclasses.replace(RUN, facts={"choices": 12})
    return TripletEmbedding(pl.DataFrame({"n": n}), places, dimensions, folds, run, ())


def test_choices_left_out_are_more_or_no_more_likely_than_by_chance():
    assert embedding().summary().split("\n") == [
        "2 pairs from 12 choices in 2 dimensions; 1 pair never compared.",
        "Mean log likelihood of held-out choices: −0.90, higher than chance (−1.10).",
        *embedding().run.closing(intervals=True),
    ]
    assert "held-out choices: −1.20, not higher than chance (−1.10)." in embedding(dimensions=1).summary()
    even = embedding(folds=[(2, float(np.log(1 / 3)))]).summary()
    assert "not higher than chance" in even
    assert embedding(folds=[]).summary().split("\n")[1:] == embedding().run.closing(intervals=True)


def test_texts_of_the_first_document_are_drawn_on_their_longest_axes():
    """Along (3, 4) with spreads of 5: the first axis is that one, for any second document."""
    places = pl.DataFrame({
        "document": ["d"] * 3 + ["e"], "text": ["a", "b" * 21, "c" * 22, "z"],
        "x1": [0.0, 3.0, 6.0, 99.0], "x2": [0.0, 4.0, 8.0, -99.0],
    })  # fmt: skip
    ax = embedding(places=places).plot()
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(np.abs(x - x[0]), [0, 5, 10], atol=1e-9)
    np.testing.assert_allclose(y, 0, atol=1e-9)
    assert x.mean() == pytest.approx(0)
    assert [one.get_text().strip() for one in ax.texts] == ["a", "b" * 21, "c" * 20 + "…"]
    assert (ax.get_xlabel(), len(ax.get_xticks()), len(ax.get_yticks())) == ("near: kept together", 0, 0)
    one = embedding(places=places.drop("x2")).plot().lines[0].get_data()
    np.testing.assert_allclose(np.abs(one[0] - one[0][0]), [0, 3, 6], atol=1e-9)
    assert one[1].tolist() == [0, 0, 0]
