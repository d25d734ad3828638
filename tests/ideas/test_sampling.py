"""Triplets: what was seen least comes first, places are even, many who ask at once get different ones."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.statistics.comparisons.triplets import LARGE_POOL, PairCounts, Sampler, name_of


@pytest.mark.parametrize("seed", range(5))
def test_no_pair_is_more_than_two_comparisons_behind_the_mean(seed):
    """At any time, of 15 texts, until every triplet has been drawn."""
    chance, counts = random.Random(seed), PairCounts([f"t{i}" for i in range(15)])
    while (triplet := counts.next(chance)) is not None:
        counts.add(triplet)
        assert counts.seen.min() >= counts.seen.mean() - 2
        assert counts.least() == counts.seen.min()
    assert len(counts.drawn) == 455


def test_drawing_at_random_would_leave_pairs_behind():
    """The property is no matter of course."""
    rng, seen, behind = np.random.default_rng(0), Counter(), 0.0
    for n in range(1, 200):
        seen.update(itertools.combinations(sorted(rng.choice(15, 3, replace=False).tolist()), 2))
        behind = max(behind, 3 * n / 105 - min(seen[p] for p in itertools.combinations(range(15), 2)))
    assert behind > 3


def least_of(values, places):
    low = min(values[p] for p in places)
    return {p for p in places if values[p] == low}


@pytest.mark.parametrize("large", [300, 5])
def test_a_triplet_is_of_what_was_seen_least_by_counting(large):
    """A pair seen least whose texts appeared least (in a large pool: a text that appeared least, and what it was seen
    with least), and the third text that was seen least with both."""
    names, chance = [f"t{i}" for i in range(7)], random.Random(3)
    counts, together, appeared, drawn = PairCounts(names, large=large), Counter(), Counter(), set()
    pairs = [frozenset(p) for p in itertools.combinations(names, 2)]
    while (found := counts.next(chance)) is not None:
        assert found == tuple(sorted(found))
        assert found not in drawn
        ways = 0
        for a, b in itertools.permutations(found, 2):
            if large == 300:
                least = least_of(together, pairs)
                mine = {
                    p for p in least if sum(appeared[t] for t in p) == min(sum(appeared[t] for t in q) for q in least)
                }
                begins = frozenset((a, b)) in mine
            else:
                free = [t for t in names if appeared[t] < 15]
                beside = [t for t in names if t != a and together[frozenset((a, t))] < 5]
                few = least_of({t: together[frozenset((a, t))] for t in beside}, beside)
                begins = a in least_of(appeared, free) and b in least_of(appeared, few)
            (third,) = set(found) - {a, b}
            rest = [t for t in names if t not in (a, b) and tuple(sorted((a, b, t))) not in drawn]
            cost = {t: together[frozenset((a, t))] + together[frozenset((b, t))] for t in rest}
            ways += begins and third in least_of(appeared, least_of(cost, rest))
        assert ways, found
        counts.add(found)
        counts.add(found)  # a second time counts for nothing
        drawn.add(found)
        together.update(frozenset(p) for p in itertools.combinations(found, 2))
        appeared.update(found)
        assert counts.least() == min(together[p] for p in pairs)
        for wanted in (1, 3):
            assert counts.short(wanted) == sum(together[p] < wanted for p in pairs)
        assert sorted(counts.seen.tolist()) == sorted(together[p] for p in pairs)
    assert len(drawn) == 35


def test_pools_are_drawn_from_by_turns():
    sampler, chance = (
        Sampler({"a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"], "c": ["c1", "c2"]}, wanted=1),
        random.Random(0),
    )
    assert sampler.short() == 6
    sampler.add([("a1", "a2", "a3"), ("c1", "c2", "x")])
    assert sampler.short() == 3
    assert sampler.next(chance) == ("b1", "b2", "b3")
    sampler.add([("b1", "b2", "b3")])
    assert (sampler.short(), sampler.next(chance)) == (0, None)
    assert name_of(("b", "a", "c")) == "a | b | c"


def test_texts_appear_equally_often_in_a_large_pool():
    counts, chance = PairCounts([f"t{i}" for i in range(LARGE_POOL + 60)]), random.Random(1)
    for _ in range(500):
        triplet = counts.next(chance)
        assert triplet not in counts.drawn
        counts.add(triplet)
    appeared = Counter(name for one in counts.drawn for name in one)
    assert max(appeared.values()) - min(appeared[n] for n in counts.names) <= 1
    assert counts.seen.max() == 1


def test_every_pair_of_a_document_reaches_the_floor_and_places_are_even():
    pools = {"one": [f"a{i}" for i in range(9)], "two": [f"b{i}" for i in range(5)], "small": ["x", "y"]}
    found = assay.sample_triplets(pools, floor=3, seed=2)
    assert found.pairs["estimate"].min() >= 3
    assert found.pairs.filter(pl.col("document") == "two")["estimate"].to_list() == [3] * 10
    assert "1 document (small): fewer than three texts" in str(found.exclusions[0])
    names = ("first_item", "second_item", "third_item")
    places = Counter((row[c], c) for row in found.triplets.iter_rows(named=True) for c in names)
    for text in (*pools["one"], *pools["two"]):
        stood = [places[text, c] for c in names]
        assert max(stood) - min(stood) <= 2, text
    assert found.triplets.equals(assay.sample_triplets(pools, floor=3, seed=2).triplets)
    assert not found.triplets.equals(assay.sample_triplets(pools, floor=3, seed=3).triplets)


def test_texts_of_a_frame_come_with_what_they_say():
    frame = pl.DataFrame({"item": [1, 2, 3, 4], "text": ["w", "x", "y", "z"], "essay": ["e"] * 4})
    found = assay.sample_triplets(frame, document="essay", n_triplets=1)
    row = found.triplets.row(0, named=True)
    assert row["document"] == "e"
    assert {row["first_item"]: row["first"]}.items() <= {"1": "w", "2": "x", "3": "y", "4": "z"}.items()
    assert assay.sample_triplets(frame, document="essay", n_triplets=3).triplets["item"].to_list() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (["a", "b"], {}, "no document has three texts"),
        (["a", "b", "c", "c"], {}, "text 'c' occurs twice"),
        (["a", "b", "c", "d"], {"floor": 3}, "in 2 different triplets at most .* take floor=2"),
        (["a", "b", "c"], {"n_triplets": 2}, "there are 1 different triplet; n_triplets=2 is more"),
        (pl.DataFrame({"x": [1]}), {}, "which column names the texts"),
        (pl.DataFrame({"item": [1]}), {"document": "essay"}, "column 'essay' is not in the texts"),
        (pl.DataFrame({"item": ["a", None, "c"]}), {}, "row 2 of the texts has nothing in 'item'"),
        ([f"t{i}" for i in range(5000)], {}, "about 12,497,500 triplets would be drawn"),
    ],
)
def test_what_cannot_be_drawn_is_refused(texts, options, words):
    with pytest.raises((DesignError, DataError), match=words):
        assay.sample_triplets(texts, **options)


@pytest.mark.slow
def test_a_hundred_who_ask_at_once_get_a_hundred_triplets(tmp_path):
    pytest.importorskip("sqlalchemy")
    from assay.study.definition import load_study
    from assay.study.store.connection import open_store
    from assay.study.store.intake import sync_study
    from assay.study.store.work import TripletDrawer

    (tmp_path / "items.csv").write_text("item,text\n" + "".join(f"t{i},text {i}\n" for i in range(15)))
    (tmp_path / "study.yaml").write_text(
        "questions: [{name: odd, text: Least like the others, scale: odd-one-out, options: [text]}]\n"
    )
    study = load_study(tmp_path)
    store = open_store(study)
    given: list[str | None] = []

    def ask() -> None:
        drawer = TripletDrawer(store, "text", wanted=5, seed=0)
        with store.exclusive() as db:
            given.append(drawer.draw(db))

    try:
        sync_study(store, study)
        threads = [threading.Thread(target=ask) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        store.close()
    assert len(set(given)) == 100
    assert None not in given


def test_repeated_name_error_names_its_document():
    rows = [("d1", "x", "1"), ("d2", "y", "2"), ("d1", "x", "3"), ("d2", "y", "4"), ("d1", "z", "5")]
    frame = pl.DataFrame(rows, schema=["document", "name", "text"], orient="row")
    with pytest.raises(DataError, match="text 'x' occurs twice in document 'd1'; names of texts must be unique"):
        assay.sample_triplets(frame, document="document", name="name", text="text", floor=1)
