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
        n = len(self.names)
        return int(self.counts[np.triu_indices(n, 1)].min()) if n > 1 else 0

    def next(self, chance: random.Random) -> Triplet | None:
        """The triplet to draw next; None where every triplet of the pool has been drawn."""
        n = len(self.names)
        if n < 3:
            return None
        upper = np.triu_indices(n, 1)
        seen = self.counts[upper]
        # Pairs from the least seen on, in a random order among equals, until one can still be completed.
        order = np.lexsort((np.random.default_rng(chance.getrandbits(64)).random(seen.size), seen))
        for pair in order:
            a, b = int(upper[0][pair]), int(upper[1][pair])
            cost = (self.counts[a] + self.counts[b]).astype(float)
            cost[[a, b]] = np.inf
            if self.counts[a, b]:
                for one in self.drawn:
                    if self.names[a] in one and self.names[b] in one:
                        other = next(name for name in one if name not in (self.names[a], self.names[b]))
                        cost[self._place[other]] = np.inf
            best = np.flatnonzero(cost == cost.min())
            if np.isfinite(cost[best[0]]):
                third = chance.choice(best.tolist())
                names = sorted((self.names[a], self.names[b], self.names[third]))
                return names[0], names[1], names[2]
        return None


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
        return sum(
            int((pool.counts[np.triu_indices(len(pool.names), 1)] < self._wanted).sum())
            for pool in self._pools.values()
        )


def name_of(triplet: Collection[str]) -> str:
    """The name under which a triplet is an item of the study."""
    return " | ".join(sorted(triplet))
