"""Who is closer to the other annotators on each item: the judge or the annotator, the judge or an answer of no thought?

Calderon, Reichart & Dror (2025), section 3.1. For annotator j on item i the alignment score S compares a label with
the labels of the others, H_i[-j]. The test asks only whether S(f, x_i, j), the judge's, is above, equal to or below
S(h_j, x_i, j), the annotator's. For accuracy and RMSE that follows in closed form from the counts of each label, or
from the number of labels and their sum, so there is no loop over items, annotators or judges.

A judge that always gives the same label can pass the test where labels are skewed, and where people agree no better
than chance anything can. So the judge is compared with every constant answer, on the same items, pair by pair: is it
more often closer to the people of an item, or the constant? A judge that draws its labels needs no comparison of its
own where every label is tried: its draw does not depend on the item, so it is a mixture of constants, and the best of
them reaches as much. Texts cannot all be tried. There the constants are the commonest texts and those nearest to what
people say on all items (medoids), and two more judges do not look: one gives the judge's own answers to other items,
one people's. If a judge draws its texts, from anywhere, its answer to an item and those to others are exchangeable, so
it is not closer to the people of the item than they are.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Label
from assay.errors import DataError, DesignError
from assay.estimation.resampling import Units
from assay.estimation.statistic import Bools, Floats, Ints
from assay.similarity.protocol import Similarity
from assay.statistics.wins import LOSS, WIN, count_wins

TIE = 1e-9
"""Score differences of at most this share of the scores' size are ties: rounding is no advantage."""

DENSE_CELLS = 50_000_000
"""Item-by-label tables up to this size (400 MB) are held whole; larger ones are looked up by sorted keys."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Human answers on the items of one question, and what each is compared with.

    Attributes
    ----------
    item, annotator : (answers,) int
        Item and annotator of each human answer.
    value : (answers,) float
        The label as a number: its value, or the position of its category or text.
    n_items, n_annotators : int
        How many there are.
    quality : (annotators,) float
        Weight of each annotator, all 1 by default (appendix C.4).
    reference : (items,) float or None
        One label an item that everybody is compared with, NaN where there is none: a single expert's
        (C.2) or gold (C.3). None compares each annotator with the others.
    labels : tuple or None
        What the positions in ``value`` stand for, where labels are categories or text.
    """

    item: Ints
    annotator: Ints
    value: Floats
    n_items: int
    n_annotators: int
    quality: Floats
    reference: Floats | None = None
    labels: tuple[Label, ...] | None = None

    def label(self, value: float) -> Any:
        """What a number stands for."""
        return float(value) if self.labels is None else self.labels[int(value)]

    @cached_property
    def weights(self) -> Floats:
        """Weight of each answer, its annotator's quality: (answers,)."""
        return np.asarray(self.quality[self.annotator])

    @cached_property
    def own(self) -> Floats:
        """Weight with which each answer stands in what it is compared with, to be taken out again."""
        return self.weights if self.reference is None else np.zeros(len(self.item))

    @cached_property
    def compared(self) -> tuple[Ints, Floats, Floats]:
        """Item, value and weight of every label that others are compared with."""
        if self.reference is None:
            return self.item, self.value, self.weights
        known = np.flatnonzero(~np.isnan(self.reference))
        return known, self.reference[known], np.ones(len(known))

    @cached_property
    def people(self) -> Ints:
        """How many human labels each item has: (items,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def companions(self) -> Ints:
        """For each answer, how many labels it is compared with: (answers,)."""
        item, _, _ = self.compared
        return np.bincount(item, minlength=self.n_items)[self.item] - (self.reference is None)

    @cached_property
    def others(self) -> Floats:
        """For each answer, the weight W of what it is compared with: (answers,)."""
        item, _, weight = self.compared
        return np.asarray(np.bincount(item, weight, self.n_items)[self.item] - self.own)

    @cached_property
    def total(self) -> Floats:
        """For each answer, the weighted sum T of the labels it is compared with: (answers,)."""
        item, value, weight = self.compared
        return np.asarray(np.bincount(item, weight * value, self.n_items)[self.item] - self.own * self.value)

    @cached_property
    def doubled(self) -> Floats:
        """2 T: (answers,)."""
        return 2 * self.total

    @cached_property
    def alone(self) -> Ints:
        """The answers that have nothing to be compared with."""
        return np.flatnonzero(self.companions == 0)

    def compared_only(self, difference: Floats) -> Floats:
        """The differences, NaN for answers that have nothing to be compared with."""
        if len(self.alone):
            difference[self.alone] = np.nan
        return difference

    @cached_property
    def item_sums(self) -> tuple[Floats, Floats]:
        """For each item, the weight W and the weighted sum T of what is compared with: (items,) each."""
        item, value, weight = self.compared
        weights, sums = (np.asarray(np.bincount(item, w, self.n_items), float) for w in (weight, weight * value))
        return weights, sums

    @cached_property
    def agreement(self) -> Floats:
        """For each answer, the weight of what it is compared with that has the same label: (answers,)."""
        item, value, weight = self.compared
        codes, labels = _codes(np.concatenate([value, self.value]))
        k = len(labels)
        theirs, mine = item * k + codes[: len(item)], self.item * k + codes[len(item) :]
        if self.n_items * k <= DENSE_CELLS:
            return np.asarray(np.bincount(theirs, weight, self.n_items * k)[mine] - self.own)
        keys, where = np.unique(np.concatenate([theirs, mine]), return_inverse=True)
        sums = np.bincount(where[: len(theirs)], weight, len(keys))
        return np.asarray(sums[where[len(theirs) :]] - self.own)

    @cached_property
    def votes(self) -> tuple[Bools, Ints, Floats]:
        """(items, labels): which labels have the most weight on each item; their number; the labels."""
        item, value, weight = self.compared
        codes, labels = _codes(value)
        if len(labels) * self.n_items > DENSE_CELLS:
            raise DesignError(f"a majority vote needs few labels; there are {len(labels)}")
        table = np.bincount(item * len(labels) + codes, weight, self.n_items * len(labels))
        table = table.reshape(self.n_items, len(labels))
        top = table.max(axis=1, keepdims=True)
        best = (table >= top - TIE * np.maximum(top, 1)) & (top > 0)
        return best, best.sum(axis=1), labels

    @cached_property
    def comparisons(self) -> tuple[Ints, Floats, Floats]:
        """Every (answer, other label on its item): the answer's row, the other's value and weight."""
        if self.reference is not None:
            reference = self.reference[self.item]
            rows = np.flatnonzero(~np.isnan(reference))
            return rows, reference[rows], np.ones(len(rows))
        order = np.argsort(self.item, kind="stable")
        size = np.bincount(self.item, minlength=self.n_items)[self.item[order]]
        start = np.searchsorted(self.item[order], self.item[order])
        rows = np.repeat(np.arange(len(order)), size)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        other = start[rows] + within
        keep = other != rows
        rows, other = order[rows[keep]], order[other[keep]]
        return rows, self.value[other], self.weights[other]


DRAWN = ("its own answers to other items", "people's answers to other items")
"""Where labels are many, these stand for all judges that draw their labels without looking at the item."""

DRAWS = 3
"""How many are drawn for each item: with one, chance decides; each more is another call of the similarity."""


class AlignmentScore(ABC):
    """An alignment score: how close a label is to the other annotators' labels of the item."""

    name: str
    drawn: ClassVar[tuple[str, ...]] = DRAWN
    """Trivial judges besides the constants; a score of which every label is tried needs none."""

    @abstractmethod
    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Judge's score less the annotator's for each human answer, as far as its sign goes: (answers,).

        ``judge`` holds the judge's label of each item, NaN where it has none. Differences within
        rounding are exactly 0; where the judge or the reference has no label the value is NaN.
        """

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats | None:
        """The labels of the optimal judge (theorem 1): (items,); None where no theorem tells."""
        return None

    def item_scores(self, panel: Panel, labels: Floats) -> Floats:
        """How close labels are to the people of each item, one left out in turn: (k, items) -> (k, items).

        Only differences within an item mean anything. NaN where there is no label or nobody to compare with.
        """
        raise NotImplementedError

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """For each constant, the judge's score with all people of an item less that of the constant, as far as its
        sign goes: (items,), NaN where the judge has no label or nobody can be compared with. Then for each of `DRAWN`,
        so far as the score has them.

        Labels that are drawn are three from other items, and the judge is closer where it is so than most of them: a
        judge that draws its labels alike stands below them as often as above.
        """
        n, fixed = panel.n_items, len(constants)
        own, people = _draw_other_items(panel, judge)
        constant = np.where(np.isnan(judge), np.nan, constants[:, None])
        scores = self.item_scores(panel, np.concatenate([judge[None], constant, own, people]))
        known = ~np.isnan(scores)
        above = _zero_rounding(scores[0] - scores[1:], np.abs(scores[0]) + np.abs(scores[1:]))
        above = np.where(known[0] & known[1:], above, np.nan)
        yield from above[:fixed]
        for drawn in above[fixed:].reshape(len(DRAWN), -1, n):
            told = np.isnan(drawn).all(axis=0)
            yield np.where(told, np.nan, np.nansum(np.sign(drawn), axis=0))


@dataclass(frozen=True)
class Accuracy(AlignmentScore):
    """ACC: the share of the others who gave the same label."""

    name: str = "accuracy"
    drawn: ClassVar[tuple[str, ...]] = ()

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Weight of the others who share the judge's label, less those who share the annotator's."""
        item, value, weight = panel.compared
        f = judge[panel.item]
        same = np.bincount(item, weight * (value == judge[item]), panel.n_items)[panel.item]
        with_judge = same - panel.own * (panel.value == f)
        difference = _zero_rounding(with_judge - panel.agreement, panel.others)
        difference[np.isnan(f)] = np.nan
        return panel.compared_only(difference)

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats:
        """The majority vote; ties are drawn."""
        return majority(panel, rng)

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Weight of the people who share the judge's label, less that of those who gave the constant."""
        item, value, weight = panel.compared
        total, n = panel.item_sums[0], panel.n_items
        mine = np.bincount(item, weight * (value == judge[item]), n)
        mine[np.isnan(judge) | (total == 0)] = np.nan
        for constant in constants:
            yield _zero_rounding(mine - np.bincount(item, weight * (value == constant), n), total)


@dataclass(frozen=True)
class NegRMSE(AlignmentScore):
    """−RMSE: minus the root mean squared distance to the others' labels.

    With f the judge's label, h the annotator's, W and T the weight and the weighted sum of the others'
    labels: SSE(f) − SSE(h) = (f − h) · (W (f + h) − 2 T), so the sign needs two sums an item.
    """

    name: str = "neg_rmse"
    drawn: ClassVar[tuple[str, ...]] = ()

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """SSE of the annotator less that of the judge: positive where the judge is closer."""
        f, h = judge[panel.item], panel.value
        leaning = panel.others * (f + h) - panel.doubled
        size = panel.others * (np.abs(f) + np.abs(h)) + np.abs(panel.doubled)
        return panel.compared_only((h - f) * _zero_rounding(leaning, size))

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats:
        """The mean of the labels."""
        weight, total = panel.item_sums
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight)

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """SSE of the constant less that of the judge, over all people of the item."""
        weight, total = panel.item_sums
        for constant in constants:
            leaning = weight * (judge + constant) - 2 * total
            size = weight * (np.abs(judge) + abs(constant)) + 2 * np.abs(total)
            yield np.where(weight == 0, np.nan, (constant - judge) * _zero_rounding(leaning, size))


@dataclass(frozen=True)
class PairwiseScore(AlignmentScore):
    """The mean over the others of a function of two labels, such as the similarity of two texts (SIM)."""

    pairs: Callable[[Sequence[Any], Sequence[Any]], Floats] = field(repr=False)
    """Two equally long lists of labels -> a number for each pair; higher is closer."""
    name: str = "similarity"
    about: str = ""
    """Which model and settings the similarity has, in words."""

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Summed similarity of the judge's label to the others' less that of the annotator's."""
        rows, value, weight = panel.comparisons
        f = judge[panel.item]
        known = ~np.isnan(f)
        use = known[rows]
        rows, value, weight = rows[use], value[use], weight[use]
        # The same others in the same order for both, so that equal labels give equal sums to the last bit.
        scores = self._similarity(panel, np.concatenate([f[rows], panel.value[rows]]), np.concatenate([value, value]))
        of_judge, of_annotator = np.split(scores, 2)
        n = len(panel.item)
        judged, annotated = (np.bincount(rows, weight * s, n) for s in (of_judge, of_annotator))
        difference = _zero_rounding(judged - annotated, np.abs(judged) + np.abs(annotated))
        return np.where(known & (panel.companions > 0), difference, np.nan)

    def item_scores(self, panel: Panel, labels: Floats) -> Floats:
        """Summed similarity to the labels that an item is compared with."""
        item, value, weight = panel.compared
        theirs = labels[:, item]
        row, use = np.nonzero(~np.isnan(theirs))
        found = self._similarity(panel, theirs[row, use], value[use])
        n = panel.n_items
        size = np.bincount(row * n + item[use], minlength=labels.size)
        sums = np.bincount(row * n + item[use], weight[use] * found, labels.size)
        return np.asarray(np.where(size > 0, sums, np.nan).reshape(labels.shape))

    def mean_with_humans(self, panel: Panel, judge: Floats) -> tuple[Ints, Floats]:
        """Similarity of the judge's label to each human answer: (items of the answers, similarities)."""
        use = ~np.isnan(judge[panel.item])
        item, value = panel.item[use], panel.value[use]
        return item, self._similarity(panel, judge[item], value)

    def _similarity(self, panel: Panel, first: Floats, second: Floats) -> Floats:
        """Similarities, each distinct pair of labels asked once."""
        distinct, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
        a, b = np.split(codes.astype(np.int64), 2)
        keys, where = np.unique(a * len(distinct) + b, return_inverse=True)
        named = [panel.label(v) for v in distinct]
        found = np.asarray(
            self.pairs([named[k // len(distinct)] for k in keys], [named[k % len(distinct)] for k in keys]), dtype=float
        )
        if found.shape != keys.shape:
            raise DataError(f"the similarity gave {found.shape} numbers for {len(keys)} pairs")
        if np.isnan(found).any():
            bad = keys[np.flatnonzero(np.isnan(found))[0]]
            pair = named[bad // len(distinct)], named[bad % len(distinct)]
            raise DataError(f"there is no similarity for the labels {pair[0]!r} and {pair[1]!r}")
        return np.asarray(found[where])


@dataclass(frozen=True)
class CustomScore(AlignmentScore):
    """Any function of a label and the list of the others' labels; higher is closer."""

    function: Callable[[Any, list[Any]], float] = field(repr=False)
    name: str = "custom"

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """The function's score of the judge's label less that of the annotator's, item by item."""
        if not np.all(panel.quality == 1):
            raise DesignError("a score that is a function of your own cannot weigh annotators by quality")
        difference = np.full(len(panel.item), np.nan)
        for row, others in self._answers(panel):
            f = judge[panel.item[row]]
            if not np.isnan(f):
                mine = self.function(panel.label(panel.value[row]), others)
                difference[row] = self.function(panel.label(f), others) - mine
        return difference

    def item_scores(self, panel: Panel, labels: Floats) -> Floats:
        """The function's scores with the others of each answer, added up."""
        found = np.full(labels.shape, np.nan)
        for row, others in self._answers(panel):
            item = panel.item[row]
            for k in np.flatnonzero(~np.isnan(labels[:, item])):
                so_far = 0.0 if np.isnan(found[k, item]) else found[k, item]
                found[k, item] = so_far + self.function(panel.label(labels[k, item]), others)
        return found

    @staticmethod
    def _answers(panel: Panel) -> Iterator[tuple[int, list[Any]]]:
        """Each answer that can be compared, and the others' labels of its item."""
        rows, value, _ = panel.comparisons
        edges = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        for start, end in itertools.pairwise(edges):
            yield int(rows[start]), [panel.label(v) for v in value[start:end]]


def _draw_other_items(panel: Panel, judge: Floats) -> tuple[Floats, Floats]:
    """The judge's labels of three other items, and a person's of each: (3, items) each, NaN where there is none."""
    asked = np.flatnonzero(~np.isnan(judge) & (panel.people > 0))
    rng = np.random.default_rng(len(asked))  # what is drawn depends on nothing that the items mean
    order, n = rng.permutation(asked), len(asked)
    first = np.full(panel.n_items, np.nan)
    shuffled = rng.permutation(len(panel.item))
    first[panel.item[shuffled]] = panel.value[shuffled]
    found = np.full((2, DRAWS, panel.n_items), np.nan)
    for draw in range(min(DRAWS, n - 1)):
        other = np.roll(order, draw + 1)
        found[:, draw, order] = judge[other], first[other]
    return found[0], found[1]


def make_score(score: str | Callable[..., float] | AlignmentScore, similarity: Any = None) -> AlignmentScore:
    """The score of that name: ``accuracy``, ``neg_rmse`` or ``similarity``; or a function of one's own.

    Parameters
    ----------
    score : str or callable
        A callable takes a label and the list of the others' labels and returns a number, higher is closer.
    similarity : callable, mapping or frame
        For ``similarity``: a function of two labels, a mapping of label pairs to numbers, or a frame with
        two columns of labels and one of numbers. Pairs are looked up in both orders.
    """
    if isinstance(score, AlignmentScore):
        return score
    if score == "accuracy":
        return Accuracy()
    if score == "neg_rmse":
        return NegRMSE()
    if score == "similarity":
        if similarity is None:
            raise DesignError(
                "the score 'similarity' needs similarity=...: a function of two labels, or a table of label pairs"
            )
        about = similarity.about if isinstance(similarity, Similarity) else ""
        return PairwiseScore(_pairs_of(similarity), name=_name_of(similarity), about=about)
    if callable(score):
        return CustomScore(score, name=getattr(score, "__name__", "custom"))
    raise DesignError(f"score '{score}' is not known; take accuracy, neg_rmse, similarity, or give a function")


def majority(panel: Panel, rng: np.random.Generator) -> Floats:
    """The most frequent label of each item, ties drawn at random: (items,), NaN where there is none."""
    best, n_best, labels = panel.votes
    choice = np.argmax(np.where(best, rng.random(best.shape), -1.0), axis=1)
    return np.where(n_best > 0, labels[choice], np.nan)


def majority_share(panel: Panel, judge: Floats) -> tuple[Ints, Floats]:
    """Does the judge give the majority's label? 1 / (number of tied labels) where it gives one of them.

    Returns the items that count, and the credit of each: the expectation over ties drawn at random.
    """
    best, n_best, labels = panel.votes
    rows = np.flatnonzero((n_best > 0) & ~np.isnan(judge))
    at = np.minimum(np.searchsorted(labels, judge[rows]), len(labels) - 1)
    hit = best[rows, at] & (labels[at] == judge[rows])
    return rows, hit / n_best[rows]


def majority_without(panel: Panel, rng: np.random.Generator, ties: str) -> tuple[Floats, Floats]:
    """The majority label of each answer's item without that answer (C.1), as class shares.

    Returns
    -------
    shares : (answers, classes) float
        1 at the class of the majority; with ``ties="share"`` split evenly between tied classes.
    labels : (classes,) float
        The label of each class.
    """
    labels = np.unique(panel.value if panel.reference is None else panel.reference[~np.isnan(panel.reference)])
    if len(labels) * len(panel.item) > DENSE_CELLS:
        raise DesignError(f"weights against imbalance need few labels; there are {len(labels)}")
    item, value, weight = panel.compared
    table = np.zeros((panel.n_items, len(labels)))
    np.add.at(table, (item, np.searchsorted(labels, value)), weight)
    each = table[panel.item]
    if panel.reference is None:
        each[np.arange(len(each)), np.searchsorted(labels, panel.value)] -= panel.weights
    top = each.max(axis=1, keepdims=True)
    best = (each >= top - TIE * np.maximum(top, 1)) & (top > 0)
    if ties == "share":
        with np.errstate(invalid="ignore"):
            return best / best.sum(axis=1, keepdims=True), labels
    if ties == "random":
        rank = rng.random(best.shape)
    elif ties == "lowest":
        rank = np.broadcast_to(np.arange(len(labels))[::-1], best.shape).astype(float)
    elif ties == "highest":
        rank = np.broadcast_to(np.arange(len(labels)), best.shape).astype(float)
    else:
        raise DesignError(f"ties must be random, lowest, highest or share; got '{ties}'")
    chosen = np.argmax(np.where(best, rank, -1.0), axis=1)
    shares = np.zeros(best.shape)
    shares[np.arange(len(best)), chosen] = best.any(axis=1)
    return shares, labels


def _codes(values: Floats) -> tuple[Ints, Floats]:
    """Each value's position among ``labels``, which hold every value and stand in order; and ``labels``."""
    if len(values):
        low, high = values.min(), values.max()
        if high - low < 1000 and np.array_equal(values, np.rint(values)):
            # Whole numbers of a short range, as nearly all labels are, need no sorting.
            return (values - low).astype(np.int64), np.arange(low, high + 1)
    labels, codes = np.unique(values, return_inverse=True)
    return codes, labels


def _zero_rounding(difference: NDArray[Any], size: NDArray[Any]) -> Floats:
    return np.where(np.abs(difference) <= TIE * size, 0.0, difference)


def _pairs_of(similarity: Any) -> Callable[[Sequence[Any], Sequence[Any]], Floats]:
    """Anything that tells the similarity of two labels, as a function of two lists."""
    if hasattr(similarity, "pairs"):
        pairs: Callable[[Sequence[Any], Sequence[Any]], Floats] = similarity.pairs
        return pairs
    if callable(similarity):
        return lambda first, second: np.array([float(similarity(a, b)) for a, b in zip(first, second, strict=True)])
    table = similarity if isinstance(similarity, Mapping) else _table_of(similarity)

    def look_up(first: Sequence[Any], second: Sequence[Any]) -> Floats:
        found = (
            1.0 if a == b and (a, b) not in table else table.get((a, b), table.get((b, a), np.nan))
            for a, b in zip(first, second, strict=True)
        )
        return np.fromiter(found, dtype=float, count=len(first))

    return look_up


def _table_of(frame: Any) -> dict[tuple[Any, Any], float]:
    from assay.data.columns import to_polars

    table = to_polars(frame)
    if table.width < 3:
        raise DataError("a table of similarities has three columns: a label, another label, their similarity")
    first, second, number = table.columns[:3]
    if not table[number].dtype.is_numeric():
        raise DataError(f"column '{number}' of the similarities must hold numbers")
    return {(a, b): float(s) for a, b, s in table.select(first, second, number).iter_rows()}


def _name_of(similarity: Any) -> str:
    name = getattr(similarity, "name", None) or getattr(similarity, "__name__", None)
    return f"similarity({name})" if name and name != "<lambda>" else "similarity"


# -- constant answers, and others that need no look at the item ---------------------------------------

MOST = 25
"""Constants that are tried: every label where there are no more, else the 25 commonest, and of numbers 25 evenly spaced
ones beside these, each 4% of the range from the next. Each one is a pass over the items."""

FEW = 3
"""Constants that are tried where each comparison calls a similarity or a function: three of the commonest labels, and
three medoids."""

CANDIDATES, SAMPLE = 12, 20
"""Labels among which medoids are looked for, and items on which: at most 240 calls for each person of an item."""


def constants_of(ratings: Ratings, score: AlignmentScore, own_scale: bool) -> Floats:
    """The labels that a judge without a look at the item might always give, as numbers: (constants,).

    The commonest are those of people and judges together, so that a judge that always gives one label meets that label.

    Parameters
    ----------
    ratings : Ratings
    score : Score
    own_scale : bool
        Whether labels were put on each annotator's own scale, so that they are no longer those of the scale.
    """
    values = np.unique(ratings.answers.value.astype(float)) if own_scale else ratings.values.astype(float)
    by_label = isinstance(score, Accuracy | NegRMSE)
    if len(values) <= MOST and by_label:
        return values
    one = Units(np.zeros(ratings.n_items, dtype=np.int64), 1, "items")
    found = ratings.add_up(_Frequency(values), one, 1)
    chosen = np.argsort(-found, kind="stable")[: MOST if by_label else FEW]
    common = values[np.sort(chosen[found[chosen] > 0])]
    return np.union1d(common, np.linspace(values[0], values[-1], MOST)) if isinstance(score, NegRMSE) else common


def medoids(score: AlignmentScore, panel: Panel, constants: Floats) -> Floats:
    """Labels that are nearest to what people say on all items, where each comparison calls a function: (few,).

    Candidates are the constants and labels of other people and judges, evenly spaced among all.
    """
    labels = np.unique(panel.value)
    others = _space_evenly(np.setdiff1d(labels, constants), max(CANDIDATES - len(constants), 0))
    candidates, items = np.union1d(constants, others), _space_evenly(np.flatnonzero(panel.people > 0), SAMPLE)
    asked = np.full((len(candidates), panel.n_items), np.nan)
    asked[:, items] = candidates[:, None]
    scores = score.item_scores(panel, asked)[:, items]
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    # Each item counts the same, however many people it has and however much they agree.
    rank = (scores[:, None] > scores[None]).sum(axis=(1, 2))
    return candidates[np.argsort(-rank, kind="stable")[:FEW]]


def _space_evenly(values: NDArray[Any], most: int) -> NDArray[Any]:
    """So many of the values, evenly spaced."""
    return values[np.unique(np.linspace(0, len(values) - 1, most).astype(int))] if len(values) else values


@dataclass(frozen=True, eq=False)
class _Frequency:
    """How often each label was given; an object, so that it travels to workers."""

    values: Floats

    def __call__(self, answers: Answers, unit: Ints) -> Floats:
        return np.bincount(np.searchsorted(self.values, answers.value), minlength=len(self.values)).astype(float)


def signs(score: AlignmentScore, panel: Panel, judge: Floats, constants: Floats) -> Iterator[tuple[Ints, Ints]]:
    """For each constant, the items that can be compared, and 1 where the judge is closer, 0 for a tie, −1 where not;
    then for each of the score's drawn judges."""
    for difference in score.constant_differences(panel, judge, constants):
        item = np.flatnonzero(~np.isnan(difference))
        yield item, np.sign(difference[item]).astype(np.int64)


def count_against(
    score: AlignmentScore, panel: Panel, judge: Floats, constants: Floats, shares: Floats | None
) -> Floats:
    """On how many items the judge is closer to the people than each constant, as close, farther.

    Returns
    -------
    (constants, classes, 3) float
        By class of the item's majority label where ``shares``, (items, classes), are given (C.1).
    """
    if shares is None:
        each = score.constant_differences(panel, judge, constants)
        outcomes = [[np.count_nonzero(o) for o in (d > 0, d == 0, d < 0)] for d in each]
        return np.array(outcomes, dtype=float).reshape(len(outcomes), 1, 3)
    found = [
        count_wins(sign, np.zeros(len(item), dtype=np.int64), 1, shares[item])
        for item, sign in signs(score, panel, judge, constants)
    ]
    return np.concatenate(found)


def class_shares(panel: Panel) -> Floats:
    """The class of each item's majority label; tied classes have equal shares: (items, classes)."""
    best, n_best, labels = panel.votes
    used = np.isin(labels, panel.compared[1])
    return np.asarray((best / np.maximum(n_best, 1)[:, None])[:, used])


@dataclass(frozen=True, eq=False)
class Trivial:
    """A judge against every constant answer, arrays (constants,), and those that are drawn, where there are any.

    Attributes
    ----------
    labels : tuple
        The constant answers; of those that are drawn, where they come from.
    counts : (constants, 3) float
        Items on which the judge is closer to the people, as close, farther.
    p : float
        One-sided, of H0: the judge is not more often closer than the constant is.
    n_drawn : int
        How many of them, the last, are drawn.
    """

    labels: tuple[Label, ...]
    counts: Floats
    p: Floats
    n_drawn: int = 0

    @property
    def best(self) -> int:
        """The constant that the judge is the least sure to be closer than."""
        lead = self.counts[:, WIN] - self.counts[:, LOSS]
        return int(np.lexsort([lead, -self.p])[0])

    @property
    def p_best(self) -> float:
        """Of H0: some constant is as close as the judge; an intersection-union test, so each has the full level."""
        return float(self.p.max())

    @property
    def label(self) -> Label:
        """The best constant, or where the best of those that are drawn comes from."""
        return self.labels[self.best]

    @property
    def is_drawn(self) -> bool:
        """Whether the best one is no constant."""
        return self.best >= len(self.labels) - self.n_drawn

    @property
    def outcome(self) -> tuple[int, int, int]:
        """Items on which the judge is closer than the best constant, as close, farther."""
        closer, tie, farther = np.rint(self.counts[self.best]).astype(int).tolist()
        return closer, tie, farther
