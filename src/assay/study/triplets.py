"""Which three items to show next, so that every pair is seen together often enough.

The rule of IDEAlign (section 4.1): what has been seen least comes first. A pair that has been drawn least
often is completed by the third item whose pairs with both have been drawn least often; chance breaks ties.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Triplet = tuple[str, str, str]


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

    def __post_init__(self) -> None:
        self.counts = np.zeros((len(self.names), len(self.names)), dtype=np.int32)
        self._place = {name: number for number, name in enumerate(self.names)}
        self._pairs = np.triu_indices(len(self.names), 1)

    def add(self, triplet: Triplet) -> None:
        """Count a triplet that was drawn; one that holds an item of no interest any more is left out."""
        places = [self._place[name] for name in triplet if name in self._place]
        if len(places) == 3 and triplet not in self.drawn:
            self.drawn.add(triplet)
            for a, b in ((0, 1), (0, 2), (1, 2)):
                self.counts[places[a], places[b]] += 1
                self.counts[places[b], places[a]] += 1

    def least(self) -> int:
        """How often the pair that has been drawn least often has been drawn."""
        return int(self.seen.min()) if len(self.names) > 1 else 0

    @property
    def seen(self) -> NDArray[np.int32]:
        """How often each pair has been drawn, each pair once."""
        found: NDArray[np.int32] = self.counts[self._pairs]
        return found

    def next(self, chance: random.Random) -> Triplet | None:
        """The triplet to draw next; None where every triplet of the pool has been drawn."""
        if len(self.names) < 3:
            return None
        seen = self.seen
        for level in np.unique(seen):
            equal = np.flatnonzero(seen == level).tolist()
            while equal:
                # A random one of the pairs that are left, moved to the end and taken off.
                at = chance.randrange(len(equal))
                equal[at], equal[-1] = equal[-1], equal[at]
                pair = equal.pop()
                triplet = self._completed(int(self._pairs[0][pair]), int(self._pairs[1][pair]), chance)
                if triplet is not None:
                    return triplet
        return None

    def _completed(self, a: int, b: int, chance: random.Random) -> Triplet | None:
        """The pair with the third item that has been seen least beside both; None where all have been."""
        cost = (self.counts[a] + self.counts[b]).astype(float)
        cost[[a, b]] = np.inf
        pair = {self.names[a], self.names[b]}
        if self.counts[a, b]:
            for one in self.drawn:
                if pair < set(one):
                    cost[self._place[next(iter(set(one) - pair))]] = np.inf
        least = cost.min()
        if not np.isfinite(least):
            return None
        third = chance.choice(np.flatnonzero(cost == least).tolist())
        first, second, last = sorted((*pair, self.names[third]))
        return first, second, last


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
        return sum(int((pool.seen < self._wanted).sum()) for pool in self._pools.values())


def name_of(triplet: Collection[str]) -> str:
    """The name under which a triplet is an item of the study."""
    return " | ".join(sorted(triplet))
