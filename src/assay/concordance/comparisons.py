"""The comparisons of annotators: panels, pairs, consensus, the rest, a random human."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from assay.concordance.coefficient import Who
from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Interval
from assay.estimation.resampling import Units, add_rows, gather
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.categories import Slice, Together, answers_of, grid
from assay.statistics.pairs import LabelPairs

A_HUMAN = "a human"
"""The name of any human in the table."""

A_RANDOM_HUMAN = "a random human"
"""The name of a human who is drawn for each item."""

Families = Sequence[tuple[str, tuple[str, ...]]]
"""The name of a random annotator of each family, and the annotators to draw from."""

WHO: tuple[Who, ...] = typing.get_args(Who)

MOST_DRAWN_PAIRS = 2**24
"""Draws times pairs of labels in memory at one time: 128 MB. Another number changes digits."""


@dataclass(frozen=True, eq=False)
class Pairing:
    """A comparison of two or more annotators, or of a consensus with an annotator.

    Attributes
    ----------
    who : str
        The kind of comparison.
    first, second : str
        The two sides; for a panel its name and None.
    ratings : function of bool
        The labels for coefficients that accept means (True) and for those that do not; a consensus depends on it. All
        ratings of a table have the same items, so that comparisons can be paired.
    masks : (annotators,) bool, twice, optional
        For ``human pairs`` and ``random human``: the annotators of the first and of the second labels.
    tied : mapping of text to int
        The number of items on which a consensus of categories is tied; these have no majority and no label. Each
        consensus is reported with one comparison only.
    fewer : function, optional
        The same comparison without each annotator of a group in turn, for random raters: each member of a panel, and
        each human of a consensus or of human pairs. Named annotators are fixed.
    """

    who: Who
    first: str
    second: str | None
    ratings: Callable[[bool], Ratings]
    masks: tuple[Bools, Bools] | None = None
    tied: Mapping[str, int] = field(default_factory=dict)
    fewer: Callable[[], list[Pairing]] | None = None


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The comparisons of a table, by kind."""

    table: Ratings
    families: Families = ()

    def of(self, kinds: Sequence[Who]) -> list[Pairing]:
        """Return all comparisons of these kinds that the table has annotators for."""
        humans, judges = self.table.humans, self.table.judges
        makers: dict[Who, Callable[[], Iterator[Pairing]]] = {
            "humans": lambda: self._panel("humans", humans),
            "judges": lambda: self._panel("judges", judges),
            "pairs": self._pairs,
            "consensus": self._consensus,
            "rest": self._rest,
            "human pairs": self._human_pairs,
            "random human": self._random_human,
        }
        return [pairing for kind in kinds for pairing in makers[kind]()]

    def _panel(self, who: Who, names: tuple[str, ...]) -> Iterator[Pairing]:
        if len(names) > 1:
            panel = self.table.only(names)

            def fewer() -> list[Pairing]:
                return [Pairing(who, who, None, _same(panel.without(left))) for left in panel.left_out()]

            yield Pairing(who, who, None, _same(panel), fewer=fewer)

    def _pairs(self) -> Iterator[Pairing]:
        joint, position = self.table.joint, {name: i for i, name in enumerate(self.table.annotators)}
        for a, b in itertools.combinations((*self.table.humans, *self.table.judges), 2):
            if joint[position[a], position[b]] >= 2:
                yield Pairing("pairs", a, b, _same(self.table.only((a, b))))

    def _consensus(self) -> Iterator[Pairing]:
        humans, judges, people = self.table.humans, self.table.judges, "humans' consensus"
        if len(humans) < 2:
            return
        tied = {people: self._ties(humans)}
        for judge in judges:
            yield self._groups("consensus", people, judge, humans, (judge,), tied)
            tied = {}
        if len(judges) > 1:
            second = "judges' consensus"
            yield self._groups("consensus", people, second, humans, judges, {second: self._ties(judges)})

    def _rest(self) -> Iterator[Pairing]:
        for kind, names in (("humans", self.table.humans), ("judges", self.table.judges)):
            for name in names if len(names) > 2 else ():
                rest = tuple(n for n in names if n != name)
                others = f"other {kind}' consensus"
                tied = {f"{others} (added up over {len(names)} annotators)": self._ties(rest)}
                yield self._groups("rest", others, name, rest, (name,), tied)

    def _human_pairs(self) -> Iterator[Pairing]:
        """Put the rater of interest second, so that a signed difference is how much higher it labels."""
        table, people = self.table, self._mask(self.table.humans)

        def pairing(first: str, second: str, one: Bools | None) -> Pairing:
            def fewer() -> list[Pairing]:
                found = []
                for left in table.only(table.humans).left_out():
                    rest = people & ~self._mask(left)
                    found.append(replace(whole, masks=(rest, rest if one is None else one), fewer=None))
                return found

            masks = (people, people if one is None else one)
            whole = Pairing("human pairs", first, second, _same(table), masks, fewer=fewer)
            return whole

        if len(table.humans) > 1:
            yield pairing("another human", A_HUMAN, None)
        for name in table.judges if table.humans else ():
            yield pairing("a human", name, self._mask((name,)))

    def _random_human(self) -> Iterator[Pairing]:
        """Each annotator with a human drawn for each item, then a random annotator of each family likewise."""
        table, people = self.table, self._mask(self.table.humans)
        if not table.humans:
            return
        for name in (*(table.humans if len(table.humans) > 1 else ()), *table.judges):
            first = "another random human" if name in table.humans else A_RANDOM_HUMAN
            yield Pairing("random human", first, name, _same(table), (people, self._mask((name,))))
        for name, members in self.families:
            here = self._mask(members)
            own = bool(people[here].all())
            if here.sum() > 1 and not (own and people.sum() < 2):
                first = "another random human" if own else A_RANDOM_HUMAN
                yield Pairing("random human", first, name, _same(table), (people, here))

    def _mask(self, names: Sequence[str]) -> Bools:
        return np.isin(self.table.annotators, names)

    # -- groups of annotators as annotators ---------------------------------------------------------

    def _groups(
        self, who: Who, named: str, second: str, first: tuple[str, ...], other: tuple[str, ...],
        tied: Mapping[str, int],
    ) -> Pairing:  # fmt: skip
        """Two groups, and the same without each annotator of the first."""

        def fewer() -> list[Pairing]:
            lefts = self.table.only(first).left_out()
            rests = [tuple(n for n in first if n not in left) for left in lefts]
            return [Pairing(who, named, second, self._two(rest, other)) for rest in rests if rest]

        return Pairing(who, named, second, self._two(first, other), tied=tied, fewer=fewer)

    def _two(self, first: tuple[str, ...], second: tuple[str, ...]) -> Callable[[bool], Ratings]:
        """Two groups as two annotators, each the mean, the median or the majority of its group.

        A group of one is itself. Means if the coefficient accepts them; else ordered labels have a median, and others a
        majority. An item on which two categories are tied has no label (see `_ties`).
        """
        scale = self.table.scale
        names = (" + ".join(first) if len(first) < 3 else f"{len(first)} annotators", " + ".join(second))

        @cache
        def consensus(mean: bool) -> Ratings:
            if not scale.ordered:
                combine = majorities
            else:
                combine = partial(_medians, centre=None if scale.categories is None else self.table.centre)
            places = tuple(map(self._places, (first, second)))
            make = partial(_two_annotators, places=places, combine=row_means if mean else combine, names=names)
            return self.table.derive(make, names, Interval(*(scale.bounds or ())) if mean else None)

        return lambda takes_means: consensus(scale.numeric and takes_means)

    def _ties(self, group: tuple[str, ...]) -> int:
        """Items that the group has labelled without a majority; none where labels have an order."""
        if self.table.scale.ordered:
            return 0
        slices = self.table.slices(len(self.table.annotators))
        return sum(gather(partial(_divided_items, read, self._places(group)) for read, _, _ in slices))

    def _places(self, group: tuple[str, ...]) -> list[int]:
        return [self.table.annotators.index(name) for name in group]


def _same(ratings: Ratings) -> Callable[[bool], Ratings]:
    return lambda _: ratings


def _two_annotators(
    answers: Answers, places: tuple[list[int], ...], combine: Callable[[Floats], Floats], names: tuple[str, ...]
) -> Answers:  # fmt: skip
    """The labels of two groups of annotators, one an item and group."""
    cells = grid(answers)
    columns = [cells[:, group] for group in places]
    pair = answers_of(np.stack([combine(c) if c.shape[1] > 1 else c[:, 0] for c in columns], axis=1))
    return replace(answers, item=pair.item, annotator=pair.annotator, value=pair.value, annotators=names)


def _divided_items(read: Callable[[], Answers], group: list[int]) -> int:
    """Items with labels of the group that are divided."""
    cells = grid(read())[:, group]
    return int((~np.isnan(cells).all(axis=1) & np.isnan(majorities(cells))).sum())


def row_means(cells: Floats) -> Floats:
    """Return the mean of each row, ignoring NaN; NaN for an empty row."""
    there = ~np.isnan(cells)
    number = there.sum(axis=1)
    total = np.where(there, cells, 0.0).sum(axis=1)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


def _medians(cells: Floats, centre: float | None) -> Floats:
    """The median label of each row; NaN where there is none.

    With a ``centre`` labels are whole steps of a scale. A median between two steps becomes the one nearer the centre,
    so that a reversed scale gives the same; at the centre the lower.
    """
    ordered = np.sort(cells, axis=1)
    number, rows = (~np.isnan(cells)).sum(axis=1), np.arange(len(cells))
    lower, upper = ordered[rows, np.maximum(number - 1, 0) // 2], ordered[rows, number // 2]
    median = (lower + upper) / 2
    if centre is None:
        return np.asarray(median)
    return np.asarray(np.where(median < centre, np.ceil(median), np.floor(median)))


def majorities(cells: Floats) -> Floats:
    """The one most frequent label of each row; NaN where there is none or several are."""
    ordered = np.sort(cells, axis=1)  # NaN comes last
    place = np.arange(cells.shape[1])
    new = np.ones(cells.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # The number of equal labels up to this place.
    run = place - np.maximum.accumulate(np.where(new, place, 0), axis=1) + 1
    run[np.isnan(ordered)] = 0
    most = run.max(axis=1, keepdims=True)
    single = (run == most).sum(axis=1) == 1
    label = ordered[np.arange(len(cells)), run.argmax(axis=1)]
    return np.asarray(np.where((most[:, 0] > 0) & single, label, np.nan))


def draw_humans(
    pairs: LabelPairs, moments: Floats, value: Callable[[Floats], Floats], draws: int, seed: int, *, items: bool
) -> Floats:
    """A statistic of one label pair drawn for each item, many times: the published procedure, (draws, q).

    Parameters
    ----------
    moments : (kinds of pairs, k) float
    items : bool
        Whether items are also resampled.
    """
    first, number, kind = pairs.starts, pairs.number, pairs.kind
    n_items, n_kinds = len(first), len(moments)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(items),)))
    found = []
    block = max(1, MOST_DRAWN_PAIRS // max(1, len(kind)))
    for done in range(0, draws, block):
        rows = min(block, draws - done)
        each = np.arange(n_items)[None].repeat(rows, 0)
        which = rng.integers(0, n_items, size=each.shape) if items else each
        pair = first[which] + np.floor(rng.random(which.shape) * number[which]).astype(np.int64)
        cell = kind[pair] + n_kinds * np.arange(rows)[:, None]
        counts = np.bincount(cell.ravel(), minlength=rows * n_kinds).reshape(rows, -1)
        found.append(value(counts @ moments))
    return np.concatenate(found)


# -- permutation test: is a judge closer to humans than they are to each other? ---------------------
# If the judge were one of the humans, its label of an item would be exchangeable with theirs. So the difference between
# its agreement with humans and the agreement among humans is compared with its distribution when the judge's label is
# swapped with a human's within items. The test is exact for labels that are exchangeable within items, even if they are
# few or rare.
#
# Labels of one cluster depend on each other, by its annotators too: a person who misreads a document labels all of its
# items so. The judge then swaps all labels of a cluster with one of the humans who labelled it, which is exact if each
# of them labelled the items that the judge did. If humans labelled parts of a cluster, the swapped rows would be pieces
# of two raters, which are not exchangeable with whole ones; and swaps of few labels leave the difference as it is.
# `agreement` then uses the larger p-value of that of the interval, from the values without each cluster, and that of
# swaps within items.

MOST_ITEMS = 3_000
"""Above this number of items the difference is close to normal, and a t-test replaces the permutation test."""

MOST_NUMBERS = 2**25
"""Largest size of the sums of all items for every human label that replaces the judge's: 256 MB."""

MOST_SUMS = 2**22
"""Sums of permutations that are evaluated together: 32 MB."""

PERMUTATIONS_PER_BLOCK = 256
"""Permutations that share one random stream. Another number changes digits."""

LEAST_WHOLE = 0.9
"""Share of the labels of a cluster that the judge and its humans share, from which clusters are permuted. With 30
clusters of six items, three humans and 3% or 10% missing labels the test rejects 4–5% of true nulls at level 5%."""

LEAST_DIFFERENT = 1e-10
"""Differences closer than this are equal up to rounding."""


def permutation_p(ratings: Ratings, joint: Together, judge: str, *, permutations: int, seed: int) -> Floats | None:
    """Two-sided p-values of differences under an exchangeable judge: (k,), or None.

    None if the table is too large, or if humans labelled parts of the clusters: then swaps are not exact.

    Parameters
    ----------
    joint : Together
        k coefficients of the judge with humans, then the same of humans with each other.
    permutations : int
        How many times labels are swapped, separately for each item or for each cluster.
    """
    if ratings.in_chunks or ratings.n_items > MOST_ITEMS:
        return None
    labels = Slice.of(ratings.answers)
    slot = swap_slots(ratings, labels, judge)
    if ratings.clusters is not None and _swapped_share(ratings, labels, slot) < LEAST_WHOLE:
        return None
    most = int(slot.max(initial=0))
    if (most + 1) * ratings.n_items * sum(joint.widths) > MOST_NUMBERS:
        return None
    units = Units.of(ratings.n_items, ratings.clusters, most=None)
    moments = [add_rows(joint.moments(_swap_labels(labels, slot, c)), units.of_item, units.n) for c in range(most + 1)]
    places = _places(labels, slot, units)
    total = moments[0].sum(axis=0)
    observed = _difference(joint, total)
    changes = Changes.of(moments)
    above, below = np.ones((2, len(observed)))
    # The number of blocks at one time follows from the moments of one permutation.
    some = max(1, MOST_SUMS // (PERMUTATIONS_PER_BLOCK * len(total)))
    for first in range(0, permutations, some * PERMUTATIONS_PER_BLOCK):
        starts = range(first, min(first + some * PERMUTATIONS_PER_BLOCK, permutations), PERMUTATIONS_PER_BLOCK)
        sums = [changes.sums(_draw_places(places, start, permutations, seed)) for start in starts]
        found = _difference(joint, total + np.concatenate(sums))
        # A value that is undefined after a permutation counts for both sides.
        above += (~(found < observed - LEAST_DIFFERENT)).sum(axis=0)
        below += (~(found > observed + LEAST_DIFFERENT)).sum(axis=0)
    p = 2 * np.minimum(above, below) / (permutations + 1)
    return np.where(np.isnan(observed), np.nan, np.minimum(p, 1.0))


def closest_human(ratings: Ratings, judge: str) -> str:
    """Return the human whose labels are closest to the judge's, relative to other humans' labels of the same items."""
    labels = Slice.of(ratings.answers)
    own = labels.annotator == ratings.annotators.index(judge)
    mine = np.full(labels.n_items, np.nan)
    mine[labels.item[own]] = labels.value[own]
    both = np.isin(ratings.annotators, ratings.humans)[labels.annotator] & ~np.isnan(mine[labels.item])
    item, who, other = labels.item[both], labels.annotator[both], labels.value[both]
    away = np.abs(other - mine[item]) if ratings.scale.ordered else (other != mine[item]).astype(float)
    mean = np.bincount(item, away, labels.n_items) / np.maximum(np.bincount(item, minlength=labels.n_items), 1)
    lead = np.bincount(who, mean[item] - away, len(ratings.annotators))
    return max(ratings.humans, key=lambda name: float(lead[ratings.annotators.index(name)]))


def _draw_places(places: Ints, start: int, permutations: int, seed: int) -> Ints:
    """The place whose label is swapped with the judge's, for a block of permutations: (permutations, units)."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(start // PERMUTATIONS_PER_BLOCK,)))
    drawn = rng.random((min(PERMUTATIONS_PER_BLOCK, permutations - start), len(places))) * places
    return np.asarray(drawn.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Changes:
    """The changes of the sums by the swaps of each item. Items and sums with equal changes are stored once.

    Attributes
    ----------
    items, kind : (changing items,) int
        Items that any swap changes, and the kind of each.
    columns : (k,) int
        The index of each sum among the different sums.
    added : (places * kinds, different sums) float
        The change for the label of each place, for each kind of item, without the judge's own place.
    """

    items: Ints
    kind: Ints
    columns: Ints
    added: Floats

    @classmethod
    def of(cls, moments: Sequence[Floats]) -> Changes:
        """From the moments with the label of each place swapped with the judge's: (items, k) each, unchanged first."""
        changed = np.stack([m - moments[0] for m in moments], axis=1)[:, 1:]
        items = np.flatnonzero((changed != 0).any(axis=(1, 2)))
        sums, columns = _different(np.moveaxis(changed[items], 2, 0))
        kinds, kind = _different(np.moveaxis(sums, 0, 2))
        return cls(items, kind, columns, np.moveaxis(kinds, 1, 0).reshape(-1, len(sums)))

    def sums(self, drawn: Ints) -> Floats:
        """Sum the changes of the drawn places over items: (draws, items) -> (draws, k)."""
        n_kinds = int(self.kind.max(initial=-1)) + 1
        if not n_kinds:
            return np.zeros((len(drawn), len(self.columns)))
        n_cells = len(self.added) + n_kinds
        cells = drawn[:, self.items] * n_kinds + self.kind + n_cells * np.arange(len(drawn))[:, None]
        often = np.bincount(cells.ravel(), minlength=n_cells * len(drawn)).reshape(len(drawn), n_cells)
        return np.asarray((often[:, n_kinds:].astype(float) @ self.added)[:, self.columns])


def _different(rows: Floats) -> tuple[Floats, Ints]:
    """The different rows in order of appearance, and the index of each row among them."""
    place: dict[bytes, int] = {}
    which = np.array([place.setdefault(row.tobytes(), len(place)) for row in rows], dtype=np.int64)
    return rows[np.unique(which, return_index=True)[1]], which


def _difference(joint: Together, sums: Floats) -> Floats:
    value = joint.value(sums)
    k = value.shape[-1] // 2
    return np.asarray(value[..., :k] - value[..., k:])


def swap_slots(ratings: Ratings, labels: Slice, judge: str) -> Ints:
    """The place of each label of an item: 0 for the judge, from 1 for humans, −1 for others or if the judge has none.

    Humans are numbered within each item; if clusters are swapped whole, within each cluster.
    """
    people = np.isin(ratings.annotators, ratings.humans)
    own = labels.annotator == ratings.annotators.index(judge)
    judged = np.zeros(labels.n_items, dtype=bool)
    judged[labels.item[own]] = True
    slot = np.where(own, 0, -1)
    here = people[labels.annotator] & judged[labels.item]
    if not here.any():
        return slot
    unit = labels.item if ratings.clusters is None else ratings.clusters[labels.item]
    pair, place = np.unique(np.stack([unit[here], labels.annotator[here]]), axis=1, return_inverse=True)
    slot[here] = (np.arange(pair.shape[1]) - np.searchsorted(pair[0], pair[0]) + 1)[place.ravel()]  # from 1 per unit
    return slot


def _places(labels: Slice, slot: Ints, units: Units) -> Ints:
    """The number of raters of each item or cluster, with the judge, whose labels can become the judge's."""
    found = np.ones(units.n, dtype=np.int64)
    some = slot > 0
    np.maximum.at(found, units.of_item[labels.item[some]], slot[some] + 1)
    return found


def _swapped_share(ratings: Ratings, labels: Slice, slot: Ints) -> float:
    """The share of the labels of a cluster that the judge and a human both gave, over all such pairs."""
    assert ratings.clusters is not None
    cluster = ratings.clusters[labels.item]
    shared, human = slot > 0, np.isin(ratings.annotators, ratings.humans)[labels.annotator]
    judged = np.bincount(ratings.clusters[np.unique(labels.item[shared])], minlength=int(ratings.clusters.max()) + 1)
    raters = np.unique(np.stack([cluster[shared], labels.annotator[shared]]), axis=1)
    code = cluster * len(ratings.annotators) + labels.annotator
    own = np.isin(code, raters[0] * len(ratings.annotators) + raters[1]) & human
    either = judged[raters[0]].sum() + (own & ~shared).sum()
    return float(shared.sum() / max(either, 1))


def _swap_labels(labels: Slice, slot: Ints, place: int) -> Slice:
    """The labels with the judge's and that of a place swapped, for each item that has both."""
    where = np.full((2, labels.n_items), -1)
    for row, c in enumerate((0, place)):
        found = np.flatnonzero(slot == c)
        where[row, labels.item[found]] = found
    judge, other = where[:, (where >= 0).all(axis=0)]
    value = labels.value.copy()
    value[judge], value[other] = labels.value[other], labels.value[judge]
    return replace(labels, value=value)
