"""Which items a person may take so that those who come after can still answer the rest.

Where quotas hold hardly more than the items need, whoever is last may find that what is left is what they
have answered already. So near the end each choice is held to a complete assignment of all places that are
left: a maximum flow from items (places left) to people (room left), with one unit at most between an item and
somebody who has not had it. A choice loses nothing if some maximum flow makes it: if this one does, or if
the item and the person lie on a cycle of its residual graph (in one strong component).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_PAIRS = 8_000
"""Open items times people with room, up to which one looks ahead. With more of both there is room enough to go
wherever fewest answers are."""


@dataclass
class Rest:
    """What is left of a study for one group of people; an item here may be a whole document on one page.

    Attributes
    ----------
    places : dict of str to int
        How many answers each item lacks.
    room : dict of str to int
        How many items each person may still be given.
    had : dict of str to set of str
        The items that each person has had; they are not given to them again.
    """

    places: dict[str, int]
    room: dict[str, int]
    had: dict[str, set[str]]

    def take(self, person: str, item: str) -> None:
        """A person was given an item."""
        self.places[item] -= 1
        self.room[person] -= 1
        self.had.setdefault(person, set()).add(item)

    def safe_for(self, person: str) -> set[str]:
        """The items that this person may take; as many places can be filled after it as before."""
        from scipy.sparse.csgraph import connected_components, maximum_flow

        names = [name for name, number in self.places.items() if number > 0]
        people = [one for one, number in self.room.items() if number > 0]
        if person not in people or not names:
            return set()
        open_to = _open_to(names, people, self.had)
        graph = _network(open_to, [self.places[name] for name in names], [self.room[one] for one in people])
        source, sink = graph.shape[0] - 2, graph.shape[0] - 1
        flow = maximum_flow(graph, source, sink).flow
        residual = graph - flow
        residual.eliminate_zeros()
        _, component = connected_components(residual, directed=True, connection="strong")
        column = people.index(person)
        me = len(names) + column
        mine = flow[[me], : len(names)].toarray()[0] != 0  # what comes from the items has the other sign
        safe = open_to[:, column] & (mine | (component[: len(names)] == component[me]))
        return {names[item] for item in np.flatnonzero(safe)}


def _open_to(names: list[str], people: list[str], had: Mapping[str, set[str]]) -> Any:
    """Whether each item is new to each person."""
    number_of = {name: number for number, name in enumerate(names)}
    open_to = np.ones((len(names), len(people)), dtype=bool)
    for column, one in enumerate(people):
        open_to[[number_of[name] for name in had.get(one, ()) if name in number_of], column] = False
    return open_to


def _network(open_to: Any, places: list[int], room: list[int]) -> Any:
    """The capacities: nodes are items, people, the source, the sink."""
    from scipy.sparse import csr_array

    n_items, n_people = open_to.shape
    source, sink = n_items + n_people, n_items + n_people + 1
    item_at, person_at = np.nonzero(open_to)
    tails = np.concatenate([np.full(n_items, source), item_at, n_items + np.arange(n_people)])
    heads = np.concatenate([np.arange(n_items), n_items + person_at, np.full(n_people, sink)])
    widths = np.concatenate([places, np.ones(len(item_at)), room]).astype(np.int32)
    nodes = (tails.astype(np.int32), heads.astype(np.int32))  # all that scipy before 1.15 takes
    return csr_array((widths, nodes), shape=(sink + 1, sink + 1))
