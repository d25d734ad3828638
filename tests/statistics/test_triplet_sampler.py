"""The sampler draws the least-seen pairs first: by hand, and against a search over all pairs."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from assay.statistics.comparisons import triplets
from assay.statistics.comparisons.triplets import PairCounts, Sampler, name_of

FIVE = ("a", "b", "c", "d", "e")


def test_triplet_counts_once_for_three_pairs():
    counts = PairCounts(FIVE)
    assert counts.least() == 0
    assert counts.seen.tolist() == [0] * 10
    counts.add(("b", "d", "e"))
    counts.add(("b", "d", "e"))  # again, which adds nothing
    counts.add(("a", "b", "x"))  # x is of no interest
    assert counts.counts.tolist() == [
        [0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 1, 0, 1, 0],
    ]  # fmt: skip
    assert counts.drawn == {("b", "d", "e")}
    assert (counts.short(1), counts.short(2), counts.short(0)) == (7, 10, 0)
    counts.add(("a", "b", "d"))
    # In the order of pairs: ab ac ad ae bc bd be cd ce de.
    assert counts.seen.tolist() == [1, 0, 1, 0, 0, 2, 1, 0, 0, 1]
    assert (counts.least(), counts.short(1), counts.short(2), counts.short(3)) == (0, 5, 9, 10)


@pytest.mark.parametrize("large", [5, 4])
def test_draws_prefer_fewest_appearances(large):
    """The rarest pairs with the rarest items; then the third item with the rarest pairs."""
    for seed in range(8):
        chance, counts = random.Random(seed), PairCounts(FIVE, large=large)
        pairs, appeared, drawn = Counter(), Counter(), []
        for _ in range(10):
            found = counts.next(chance)
            assert list(found) == sorted(found)
            assert found not in drawn
            least = min(pairs[p] for p in itertools.combinations(FIVE, 2))
            if large == 5:
                rare = [p for p in itertools.combinations(FIVE, 2) if pairs[p] == least]
                fewest = min(appeared[a] + appeared[b] for a, b in rare)
                starts = [p for p in rare if appeared[p[0]] + appeared[p[1]] == fewest]
            else:
                fewest = min(appeared[a] for a in FIVE)
                starts = []
                for a in FIVE:
                    others = {b: pairs[tuple(sorted((a, b)))] for b in FIVE if b != a}
                    open_ = {b: n for b, n in others.items() if n < 3}
                    if appeared[a] == fewest and open_:
                        best = [b for b, n in open_.items() if n == min(open_.values())]
                        starts += [(a, b) for b in best if appeared[b] == min(appeared[x] for x in best)]
            allowed = set()
            for a, b in starts:
                cost = {c: pairs[tuple(sorted((a, c)))] + pairs[tuple(sorted((b, c)))] for c in FIVE
                        if c not in (a, b) and tuple(sorted((a, b, c))) not in drawn}  # fmt: skip
                thirds = [c for c, n in cost.items() if n == min(cost.values())]
                thirds = [c for c in thirds if appeared[c] == min(appeared[x] for x in thirds)]
                allowed |= {tuple(sorted((a, b, c))) for c in thirds}
            assert found in allowed
            counts.add(found)
            drawn.append(found)
            pairs.update(itertools.combinations(found, 2))
            appeared.update(found)
        assert counts.next(chance) is None  # all ten were drawn
        assert counts.least() == 3
    assert counts.seen.tolist() == [3] * 10


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b")])
def test_two_items_are_no_triplet(names):
    assert PairCounts(names).next(random.Random(0)) is None


def test_ties_prefer_item_with_fewest_appearances():
    cost, appeared = np.array([2.0, 1, 1, 1]), np.array([0, 3, 2, 2])
    found = {triplets._one_of_least(cost, appeared, random.Random(seed)) for seed in range(30)}
    assert found == {2, 3}


def test_pools_are_served_in_turn_until_every_pair_was_seen_often_enough():
    sampler = Sampler({"one": FIVE[:4], "two": ("p", "q", "r"), "small": ("x", "y")}, 2)
    assert sampler.short() == 6 + 3
    chance, drawn = random.Random(3), []
    while (found := sampler.next(chance)) is not None:
        sampler.add([found])
        drawn.append(found)
    # Four items have four triplets, each pair in two of them; three have one, which cannot be drawn twice.
    assert sorted(drawn) == [*itertools.combinations(FIVE[:4], 3), ("p", "q", "r")]
    assert drawn.index(("p", "q", "r")) < 3
    assert sampler.short() == 3
    once = Sampler({"one": FIVE[:4], "two": ("p", "q", "r")}, 1)
    once.add([("a", "b", "c"), ("x", "y", "z"), ("p", "q", "r")])
    assert once.short() == 3
    assert set(once.next(chance)) >= {"d"}


def test_pool_with_rarest_pairs_comes_first():
    for seed in range(6):
        sampler = Sampler({"one": FIVE[:3], "two": ("p", "q", "r")}, 5)
        sampler.add([("a", "b", "c")])
        assert sampler.next(random.Random(seed)) == ("p", "q", "r")
    firsts = {Sampler({"one": FIVE[:3], "two": ("p", "q", "r")}, 5).next(random.Random(s))[0] for s in range(12)}
    assert firsts == {"a", "p"}


def test_triplet_name_is_independent_of_order():
    assert name_of(("c", "a", "b")) == name_of({"b", "c", "a"}) == "a | b | c"
