"""Which three items to show next, so that every pair is seen together often enough.

The rule of IDEAlign (Nam et al. 2025, section 4.1) prefers items with the fewest appearances. A pair with the fewest
draws, among the items with the fewest appearances, is completed by the third item whose pairs with both have the fewest
draws; ties are broken at random. Sequential annotators and judges that receive all triplets at once use the same rule.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Triplet = tuple[str, str, str]

LARGE_POOL = 300
"""In larger pools the item with the fewest appearances comes first, with its rarest partner, because pairs are too
many."""


@dataclass
class PairCounts:
    """How often each two items of one pool have been drawn together.

    Attributes
    ----------
    names : list of str
        The items of the pool.
    counts : array (items, items)
        Triplets that hold both; symmetric, zero on the diagonal.
    """

    names: Sequence[str]
    counts: NDArray[np.int32] = field(init=False)
    drawn: set[Triplet] = field(init=False, default_factory=set)
    large: int = LARGE_POOL
    """Items of a pool above which pairs are drawn by their items, not from a list of all."""

    def __post_init__(self) -> None:
        n = len(self.names)
        self.counts = np.zeros((n, n), dtype=np.int32)
        self._place = {name: number for number, name in enumerate(self.names)}
        self._appeared = np.zeros(n, dtype=np.int64)
        self._thirds: dict[tuple[int, int], list[int]] = {}
        self._levels = Counter({0: n * (n - 1) // 2})
        self._pairs = np.triu_indices(n, 1) if n <= self.large else None

    def add(self, triplet: Triplet) -> None:
        """Count a triplet that was drawn; one that holds an item of no interest any more is left out."""
        places = sorted(self._place[name] for name in triplet if name in self._place)
        if len(places) != 3 or triplet in self.drawn:
            return
        self.drawn.add(triplet)
        self._appeared[places] += 1
        for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
            a, b = places[i], places[j]
            level = int(self.counts[a, b])
            self._levels[level] -= 1
            self._levels[level + 1] += 1
            self.counts[a, b] = self.counts[b, a] = level + 1
            self._thirds.setdefault((a, b), []).append(places[k])

    def least(self) -> int:
        """How often the pair that has been drawn least often has been drawn."""
        return min((level for level, pairs in self._levels.items() if pairs), default=0)

    def short(self, wanted: int) -> int:
        """Pairs that have been drawn less often than wanted."""
        return sum(pairs for level, pairs in self._levels.items() if level < wanted)

    @property
    def seen(self) -> NDArray[np.int32]:
        """How often each pair has been drawn, each pair once."""
        found: NDArray[np.int32] = self.counts[
            np.triu_indices(len(self.names), 1) if self._pairs is None else self._pairs
        ]
        return found

    def next(self, chance: random.Random) -> Triplet | None:
        """The triplet to draw next; None where every triplet of the pool has been drawn."""
        n = len(self.names)
        if n < 3 or self.least() >= n - 2:
            return None
        a, b = self._pair(chance) if self._pairs is not None else self._pair_of_least_item(chance)
        cost = (self.counts[a] + self.counts[b]).astype(float)
        cost[[a, b, *self._thirds.get((min(a, b), max(a, b)), ())]] = np.inf
        third = _one_of_least(cost, self._appeared, chance)
        first, second, last = sorted(self.names[place] for place in (a, b, third))
        return first, second, last

    def _pair(self, chance: random.Random) -> tuple[int, int]:
        """Of the pairs that were drawn least, one whose items appeared least."""
        assert self._pairs is not None
        equal = np.flatnonzero(self.seen == self.least())
        first, second = self._pairs[0][equal], self._pairs[1][equal]
        appeared = self._appeared[first] + self._appeared[second]
        at = chance.choice(np.flatnonzero(appeared == appeared.min()).tolist())
        return int(first[at]), int(second[at])

    def _pair_of_least_item(self, chance: random.Random) -> tuple[int, int]:
        """An item with the fewest appearances that is not exhausted, and its rarest partner."""
        n = len(self.names)
        open_ = np.where(self._appeared < (n - 1) * (n - 2) // 2, self._appeared, np.iinfo(np.int64).max)
        a = chance.choice(np.flatnonzero(open_ == open_.min()).tolist())
        seen = self.counts[a].astype(float)
        seen[seen >= n - 2] = np.inf
        seen[a] = np.inf
        return a, _one_of_least(seen, self._appeared, chance)


def _one_of_least(cost: NDArray[np.float64], appeared: NDArray[np.int64], chance: random.Random) -> int:
    """A place of least cost; of several the one that appeared least, then by chance."""
    best = np.flatnonzero(cost == cost.min())
    least = appeared[best]
    return int(chance.choice(best[least == least.min()].tolist()))


class Sampler:
    """Draws triplets within pools, such as the items of one document, one after the other.

    Parameters
    ----------
    pools : dict
        Items by pool; three items of one triplet come from one pool.
    wanted : int
        How often each pair is to be drawn.
    """

    def __init__(self, pools: Mapping[str, Sequence[str]], wanted: int) -> None:
        self._pools = {name: PairCounts(items) for name, items in pools.items() if len(items) > 2}
        self._pool_of = {item: name for name, items in pools.items() for item in items}
        self._wanted = wanted

    def add(self, triplets: Iterable[Triplet]) -> None:
        """Count triplets that have been drawn already."""
        for triplet in triplets:
            pool = self._pools.get(self._pool_of.get(triplet[0], ""))
            if pool is not None:
                pool.add(triplet)

    def next(self, chance: random.Random) -> Triplet | None:
        """A triplet from the pool whose pairs have been seen least; None once every pair has been seen enough."""
        least = {name: pool.least() for name, pool in self._pools.items()}
        for name in sorted(least, key=lambda name: (least[name], chance.random())):
            if least[name] < self._wanted:
                triplet = self._pools[name].next(chance)
                if triplet is not None:
                    return triplet
        return None

    def short(self) -> int:
        """Pairs that have been drawn less often than wanted."""
        return sum(pool.short(self._wanted) for pool in self._pools.values())


def name_of(triplet: Collection[str]) -> str:
    """The name under which a triplet is an item of the study."""
    return " | ".join(sorted(triplet))
