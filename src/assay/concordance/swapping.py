"""Is a judge closer to people than they are to each other? Swap its label with a person's, item by item.

Were the judge one of the people, any label of an item could as well have been its own. So the difference between its
agreement with people and theirs with each other is set against what it would be with another label of each item in the
judge's place. The test is exact for labels that are exchangeable within items, however few or rare they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.data.ratings import Ratings
from assay.estimation.resampling import Units
from assay.estimation.statistic import Floats, Ints, add_rows
from assay.statistics.base import Slice
from assay.statistics.together import Together

MOST_ITEMS = 3_000
"""Among more items than this the difference is close to normal, and its t-test takes the place of swapping."""

MOST_NUMBERS = 2**25
"""Numbers that the sums of all items, with each person's label in the judge's place, may have."""

SWAPS_PER_BLOCK = 256
"""Swaps that share one random stream."""

LEAST_DIFFERENT = 1e-10


def p_by_swapping(ratings: Ratings, joint: Together, judge: str, *, swaps: int, seed: int) -> Floats | None:
    """Two-sided p-values of differences that an exchangeable judge would have: (k,); None where swapping is too much.

    Parameters
    ----------
    joint : Together
        k coefficients of the judge with people, then the same of people with each other.
    swaps : int
        How many times the judge's place is drawn anew, for each item by itself, or for each cluster.
    """
    if ratings.in_chunks or ratings.n_items > MOST_ITEMS:
        return None
    labels = Slice.of(ratings.answers)
    slot = _slots(ratings, labels, judge)
    most = int(slot.max(initial=0))
    if (most + 1) * ratings.n_items * sum(joint.widths) > MOST_NUMBERS:
        return None
    units = Units.of(ratings.n_items, ratings.clusters, most=None)
    moments = [add_rows(joint.moments(_swapped(labels, slot, c)), units.of_item, units.n) for c in range(most + 1)]
    places = np.full(units.n, most + 1) if ratings.clusters is not None else _people_beside(labels, slot) + 1
    total = moments[0].sum(axis=0)
    observed = _difference(joint, total)
    changes = Changes.of(moments)
    above, below = np.ones((2, len(observed)))
    for block, start in enumerate(range(0, swaps, SWAPS_PER_BLOCK)):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
        drawn = (rng.random((min(SWAPS_PER_BLOCK, swaps - start), units.n)) * places).astype(np.int64)
        found = _difference(joint, total + changes.sums(drawn))
        # What is undefined after a swap speaks for neither side.
        above += (~(found < observed - LEAST_DIFFERENT)).sum(axis=0)
        below += (~(found > observed + LEAST_DIFFERENT)).sum(axis=0)
    p = 2 * np.minimum(above, below) / (swaps + 1)
    return np.where(np.isnan(observed), np.nan, np.minimum(p, 1.0))


@dataclass(frozen=True, eq=False)
class Changes:
    """What each item's swaps change. Items that change alike are counted, and sums that change alike are added up once.

    Attributes
    ----------
    items, kind : (changing items,) int
        Items that any swap changes, and the kind of each.
    columns : (k,) int
        Which of the different sums each sum is.
    added : (places * kinds, different sums) float
        What a label of a place adds in the judge's, for each kind of item; places without the judge's own.
    """

    items: Ints
    kind: Ints
    columns: Ints
    added: Floats

    @classmethod
    def of(cls, moments: Sequence[Floats]) -> Changes:
        """From the moments with the label of each place in the judge's: (items, k) each, the judge's own first."""
        changed = np.stack([m - moments[0] for m in moments], axis=1)[:, 1:]
        items = np.flatnonzero((changed != 0).any(axis=(1, 2)))
        sums, columns = _different(np.moveaxis(changed[items], 2, 0))
        kinds, kind = _different(np.moveaxis(sums, 0, 2))
        return cls(items, kind, columns, np.moveaxis(kinds, 1, 0).reshape(-1, len(sums)))

    def sums(self, drawn: Ints) -> Floats:
        """What draws of a place for each item add up to: (draws, items) -> (draws, k)."""
        n_kinds = int(self.kind.max(initial=-1)) + 1
        if not n_kinds:
            return np.zeros((len(drawn), len(self.columns)))
        n_cells = len(self.added) + n_kinds
        cells = drawn[:, self.items] * n_kinds + self.kind + n_cells * np.arange(len(drawn))[:, None]
        often = np.bincount(cells.ravel(), minlength=n_cells * len(drawn)).reshape(len(drawn), n_cells)
        return np.asarray((often[:, n_kinds:].astype(float) @ self.added)[:, self.columns])


def _different(rows: Floats) -> tuple[Floats, Ints]:
    """The different rows as they come, and which of them each row is."""
    place: dict[bytes, int] = {}
    which = np.array([place.setdefault(row.tobytes(), len(place)) for row in rows], dtype=np.int64)
    return rows[np.unique(which, return_index=True)[1]], which


def _difference(joint: Together, sums: Floats) -> Floats:
    value = joint.value(sums)
    k = value.shape[-1] // 2
    return np.asarray(value[..., :k] - value[..., k:])


def _slots(ratings: Ratings, labels: Slice, judge: str) -> Ints:
    """The place of each label of an item: 0 the judge's, 1 and up people's, −1 of others and where the judge has none.

    People are counted as they come, or, where clusters are swapped whole, each has the same place throughout.
    """
    people = np.isin(ratings.annotators, ratings.humans)
    own = labels.annotator == ratings.annotators.index(judge)
    asked = np.zeros(labels.n_items, dtype=bool)
    asked[labels.item[own]] = True
    slot = np.where(own, 0, -1)
    here = people[labels.annotator] & asked[labels.item]
    if ratings.clusters is not None:
        slot[here] = np.cumsum(people)[labels.annotator[here]]
        return slot
    item = labels.item[here]
    first = np.searchsorted(item, np.arange(labels.n_items))
    slot[here] = np.arange(len(item)) - first[item] + 1
    return slot


def _people_beside(labels: Slice, slot: Ints) -> Ints:
    """How many people's labels could stand in the judge's place, of each item."""
    return np.bincount(labels.item[slot > 0], minlength=labels.n_items)


def _swapped(labels: Slice, slot: Ints, place: int) -> Slice:
    """The labels with that of a place in the judge's, and the judge's there, of each item that has both."""
    where = np.full((2, labels.n_items), -1)
    for row, c in enumerate((0, place)):
        found = np.flatnonzero(slot == c)
        where[row, labels.item[found]] = found
    judge, other = where[:, (where >= 0).all(axis=0)]
    value = labels.value.copy()
    value[judge], value[other] = labels.value[other], labels.value[judge]
    return replace(labels, value=value)
