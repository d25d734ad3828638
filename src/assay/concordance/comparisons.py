"""Who is compared with whom: panels, pairs, consensus, the rest, a human drawn at random."""

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
from assay.statistics.categories import Slice, Together, grid
from assay.statistics.pairs import LabelPairs

A_HUMAN = "a human"
"""What the table says for any of the people."""

A_RANDOM_HUMAN = "a random human"
"""What it says for one who is drawn for each item."""

Families = Sequence[tuple[str, tuple[str, ...]]]
"""What a random annotator of each family is called, and who may be drawn."""

WHO: tuple[Who, ...] = typing.get_args(Who)

MOST_DRAWN_PAIRS = 2**24
"""Draws times pairs of labels that are held at a time: 128 MB; another number would change digits."""


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two or more annotators, or what stands for several, side by side.

    Attributes
    ----------
    who : str
        The kind of comparison.
    first, second : str
        Who is compared with whom; of a panel, its name and nobody.
    ratings : function of bool
        The labels, for coefficients that take means (True) and for those that do not, on which a consensus depends. All
        ratings of a table have the same items, so that comparisons can be paired.
    masks : (annotators,) bool, twice, optional
        For ``human pairs`` and ``random human``: whose labels are first and second.
    tied : mapping of text to int
        Which consensus of categories is divided, and on how many items: these have no majority, and no label. Each is
        said with one comparison only.
    fewer : function, optional
        The same comparison without each person of a group in turn, where they may be a sample: a panel loses each of
        its members, a consensus and human pairs each of the people. Named annotators are themselves.
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
    """Everybody in a table who can be compared, as kinds of comparison."""

    table: Ratings
    families: Families = ()

    def of(self, kinds: Sequence[Who]) -> list[Pairing]:
        """All comparisons of the kinds asked for that the table has annotators for."""
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
        """The second is the one in question, so that a signed difference says how much higher it labels."""
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
        """Each annotator with a person drawn for each item, then a random annotator of each family likewise."""
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

        A group of one stands for itself. Means where the coefficient takes them; else labels with an order have a
        median, others a majority, and an item whose group is divided between categories has no label (see `_ties`).
        """
        scale = self.table.scale
        names = (" + ".join(first) if len(first) < 3 else f"{len(first)} annotators", " + ".join(second))

        @cache
        def consensus(mean: bool) -> Ratings:
            if not scale.ordered:
                combine = _majorities
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
    pair = np.stack([combine(c) if c.shape[1] > 1 else c[:, 0] for c in columns], axis=1)
    item, annotator = np.nonzero(~np.isnan(pair))
    return replace(answers, item=item, annotator=annotator, value=pair[item, annotator], annotators=names)


def _divided_items(read: Callable[[], Answers], group: list[int]) -> int:
    """Items with labels of the group that are divided."""
    cells = grid(read())[:, group]
    return int((~np.isnan(cells).all(axis=1) & np.isnan(_majorities(cells))).sum())


def row_means(cells: Floats) -> Floats:
    """The mean of what is there in each row; NaN where nothing is."""
    there = ~np.isnan(cells)
    number = there.sum(axis=1)
    total = np.where(there, cells, 0.0).sum(axis=1)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


def _medians(cells: Floats, centre: float | None) -> Floats:
    """The median label of each row; NaN where there is none.

    With a ``centre`` labels are whole steps of a scale. A median between two steps goes to the one nearer the centre,
    so that a scale read from its other end gives the same; at the centre itself to the lower.
    """
    ordered = np.sort(cells, axis=1)
    number, rows = (~np.isnan(cells)).sum(axis=1), np.arange(len(cells))
    lower, upper = ordered[rows, np.maximum(number - 1, 0) // 2], ordered[rows, number // 2]
    median = (lower + upper) / 2
    if centre is None:
        return np.asarray(median)
    return np.asarray(np.where(median < centre, np.ceil(median), np.floor(median)))


def _majorities(cells: Floats) -> Floats:
    """The one most frequent label of each row; NaN where there is none or several are."""
    ordered = np.sort(cells, axis=1)  # NaN comes last
    place = np.arange(cells.shape[1])
    new = np.ones(cells.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # How many labels of the same kind stand here and before.
    run = place - np.maximum.accumulate(np.where(new, place, 0), axis=1) + 1
    run[np.isnan(ordered)] = 0
    most = run.max(axis=1, keepdims=True)
    single = (run == most).sum(axis=1) == 1
    label = ordered[np.arange(len(cells)), run.argmax(axis=1)]
    return np.asarray(np.where((most[:, 0] > 0) & single, label, np.nan))


def draw_humans(
    pairs: LabelPairs, moments: Floats, value: Callable[[Floats], Floats], draws: int, seed: int, *, items: bool
) -> Floats:
    """A statistic of one label pair drawn for each item, over and over: the published procedure, (draws, q).

    Parameters
    ----------
    moments : (kinds of pairs, k) float
    items : bool
        Whether items are resampled, too.
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


# -- is a judge closer to people than they are to each other? ---------------------------------------
# Were the judge one of the people, any label of an item could as well have been its own. So the difference between its
# agreement with people and theirs with each other is set against what it would be with another label of each item in
# the judge's place. The test is exact for labels that are exchangeable within items, however few or rare they are.

MOST_ITEMS = 3_000
"""Among more items than this the difference is close to normal, and its t-test takes the place of swapping."""

MOST_NUMBERS = 2**25
"""Numbers that the sums of all items, with each person's label in the judge's place, may have: 256 MB."""

MOST_SUMS = 2**22
"""Sums of swaps that are valued together: 32 MB."""

SWAPS_PER_BLOCK = 256
"""Swaps that share one random stream; another number would change digits."""

LEAST_DIFFERENT = 1e-10
"""Differences closer than this are equal up to rounding."""


def swapping_p(ratings: Ratings, joint: Together, judge: str, *, swaps: int, seed: int) -> Floats | None:
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
    moments = [add_rows(joint.moments(_swap_labels(labels, slot, c)), units.of_item, units.n) for c in range(most + 1)]
    places = np.full(units.n, most + 1) if ratings.clusters is not None else _people_beside(labels, slot) + 1
    total = moments[0].sum(axis=0)
    observed = _difference(joint, total)
    changes = Changes.of(moments)
    above, below = np.ones((2, len(observed)))
    # As many blocks of swaps at a time as the moments of one swap allow.
    some = max(1, MOST_SUMS // (SWAPS_PER_BLOCK * len(total)))
    for first in range(0, swaps, some * SWAPS_PER_BLOCK):
        starts = range(first, min(first + some * SWAPS_PER_BLOCK, swaps), SWAPS_PER_BLOCK)
        sums = [changes.sums(_draw_places(places, start, swaps, seed)) for start in starts]
        found = _difference(joint, total + np.concatenate(sums))
        # What is undefined after a swap speaks for neither side.
        above += (~(found < observed - LEAST_DIFFERENT)).sum(axis=0)
        below += (~(found > observed + LEAST_DIFFERENT)).sum(axis=0)
    p = 2 * np.minimum(above, below) / (swaps + 1)
    return np.where(np.isnan(observed), np.nan, np.minimum(p, 1.0))


def closest_person(ratings: Ratings, judge: str) -> str:
    """The person whose labels are closer to the judge's than other people's of the same items, over all items."""
    labels = Slice.of(ratings.answers)
    own = labels.annotator == ratings.annotators.index(judge)
    mine = np.full(labels.n_items, np.nan)
    mine[labels.item[own]] = labels.value[own]
    beside = np.isin(ratings.annotators, ratings.humans)[labels.annotator] & ~np.isnan(mine[labels.item])
    item, who, other = labels.item[beside], labels.annotator[beside], labels.value[beside]
    away = np.abs(other - mine[item]) if ratings.scale.ordered else (other != mine[item]).astype(float)
    mean = np.bincount(item, away, labels.n_items) / np.maximum(np.bincount(item, minlength=labels.n_items), 1)
    lead = np.bincount(who, mean[item] - away, len(ratings.annotators))
    return max(ratings.humans, key=lambda name: float(lead[ratings.annotators.index(name)]))


def _draw_places(places: Ints, start: int, swaps: int, seed: int) -> Ints:
    """The place whose label stands in the judge's, for a block of swaps: (swaps, units)."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(start // SWAPS_PER_BLOCK,)))
    drawn = rng.random((min(SWAPS_PER_BLOCK, swaps - start), len(places))) * places
    return np.asarray(drawn.astype(np.int64))


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


def _swap_labels(labels: Slice, slot: Ints, place: int) -> Slice:
    """The labels with that of a place in the judge's, and the judge's there, of each item that has both."""
    where = np.full((2, labels.n_items), -1)
    for row, c in enumerate((0, place)):
        found = np.flatnonzero(slot == c)
        where[row, labels.item[found]] = found
    judge, other = where[:, (where >= 0).all(axis=0)]
    value = labels.value.copy()
    value[judge], value[other] = labels.value[other], labels.value[judge]
    return replace(labels, value=value)
