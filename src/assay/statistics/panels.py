"""Human labels of items, the labels that each is compared with, and alignment scores.

An alignment score compares a label with the labels of the other annotators of the item (Calderon, Reichart & Dror
2025, section 3.1). For accuracy and RMSE the sign of a difference of scores follows from the counts of each label, or
from the number of labels and their sum, without a loop over items, annotators or judges.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.scales import Label
from assay.errors import DataError, DesignError
from assay.estimation.statistic import Bools, Floats, Ints
from assay.similarity.protocol import Similarity

# -- human labels, and the score of a label against them ------------------------------------------------

TIE = 1e-9
"""Score differences up to this share of the scores' size are rounding, and count as ties."""

DENSE_CELLS = 50_000_000
"""Item-by-label tables up to this size (400 MB) are held whole; larger ones are looked up by sorted keys."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Human labels of the items of one criterion, and the labels that each is compared with.

    Attributes
    ----------
    item, annotator : (answers,) int
        Item and annotator of each human label.
    value : (answers,) float
        The label as a number: its value, or the position of its category or text.
    n_items, n_annotators : int
        Their numbers.
    quality : (annotators,) float
        Weight of each annotator, all 1 by default (appendix C.4).
    reference : (items,) float or None
        One label for each item that all raters are compared with, NaN if missing: a single expert's (C.2) or gold
        (C.3). None compares each annotator with the others.
    labels : tuple or None
        The labels at the positions in ``value``, if labels are categories or text.
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
        """Return the label of a number."""
        return float(value) if self.labels is None else self.labels[int(value)]

    @cached_property
    def weights(self) -> Floats:
        """Weight of each answer, its annotator's quality: (answers,)."""
        return np.asarray(self.quality[self.annotator])

    @cached_property
    def own(self) -> Floats:
        """Weight of each answer within the labels that it is compared with, to be subtracted."""
        return self.weights if self.reference is None else np.zeros(len(self.item))

    @cached_property
    def compared(self) -> tuple[Ints, Floats, Floats]:
        """Item, value and weight of every label that serves as a comparison."""
        if self.reference is None:
            return self.item, self.value, self.weights
        known = np.flatnonzero(~np.isnan(self.reference))
        return known, self.reference[known], np.ones(len(known))

    @cached_property
    def people(self) -> Ints:
        """The number of human labels of each item: (items,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def companions(self) -> Ints:
        """For each answer, the number of labels that it is compared with: (answers,)."""
        item, _, _ = self.compared
        return np.bincount(item, minlength=self.n_items)[self.item] - (self.reference is None)

    @cached_property
    def others(self) -> Floats:
        """For each answer, the weight W of the labels that it is compared with: (answers,)."""
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
        """The answers without any label to compare with."""
        return np.flatnonzero(self.companions == 0)

    def compared_only(self, difference: Floats) -> Floats:
        """Return the differences, NaN for answers without any label to compare with."""
        if len(self.alone):
            difference[self.alone] = np.nan
        return difference

    @cached_property
    def item_sums(self) -> tuple[Floats, Floats]:
        """For each item, the weight W and the weighted sum T of the comparison labels: (items,) each."""
        item, value, weight = self.compared
        weights, sums = (np.asarray(np.bincount(item, w, self.n_items), float) for w in (weight, weight * value))
        return weights, sums

    @cached_property
    def agreement(self) -> Floats:
        """For each answer, the weight of the comparison labels that equal it: (answers,)."""
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
        """The labels with the most weight on each item, (items, labels); their number; the labels."""
        item, value, weight = self.compared
        codes, labels = _codes(value)
        if len(labels) * self.n_items > DENSE_CELLS:
            raise DesignError(f"a majority vote requires few distinct labels; there are {len(labels)}")
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


class AlignmentScore(ABC):
    """An alignment score: agreement of a label with the other annotators' labels of the item."""

    name: str

    def of_pairs(self, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
        """Return the score of labels against one other label each, for scores that call a function: (pairs,)."""
        raise NotImplementedError

    @abstractmethod
    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the judge's score minus the annotator's for each human label, up to a positive factor: (answers,).

        ``judge`` has the judge's label of each item, NaN if missing. Differences within rounding are exactly 0. The
        value is NaN if the judge or the reference has no label.
        """

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats | None:
        """Return the labels of the optimal judge (theorem 1): (items,); None for scores without a theorem."""
        return None

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Yield for each constant the judge's score with all annotators of an item minus that of the constant.

        Arrays (items,), up to a positive factor; NaN if the judge or the annotators have no label. Nothing for scores
        that call a function, as there is no constant text.
        """
        del panel, judge, constants
        return iter(())


@dataclass(frozen=True)
class Accuracy(AlignmentScore):
    """ACC: the share of the others with the same label."""

    name: str = "accuracy"

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the weight of the others with the judge's label, minus those with the annotator's."""
        item, value, weight = panel.compared
        f = judge[panel.item]
        same = np.bincount(item, weight * (value == judge[item]), panel.n_items)[panel.item]
        with_judge = same - panel.own * (panel.value == f)
        difference = _zero_rounding(with_judge - panel.agreement, panel.others)
        difference[np.isnan(f)] = np.nan
        return panel.compared_only(difference)

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats:
        """Return the majority vote; ties are drawn."""
        return majority(panel, rng)

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Yield the weight of the annotators with the judge's label, minus those with the constant."""
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

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the SSE of the annotator minus that of the judge: positive if the judge is closer."""
        f, h = judge[panel.item], panel.value
        leaning = panel.others * (f + h) - panel.doubled
        size = panel.others * (np.abs(f) + np.abs(h)) + np.abs(panel.doubled)
        return panel.compared_only((h - f) * _zero_rounding(leaning, size))

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats:
        """Return the mean of the labels."""
        weight, total = panel.item_sums
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight)

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Yield the SSE of the constant minus that of the judge, over all annotators of the item."""
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
    """Model and settings of the similarity."""

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the summed similarity of the judge's label to the others', minus that of the annotator's."""
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

    def mean_with_humans(self, panel: Panel, judge: Floats) -> tuple[Ints, Floats]:
        """Return the similarity of the judge's label to each human label: (items of the labels, similarities)."""
        use = ~np.isnan(judge[panel.item])
        item, value = panel.item[use], panel.value[use]
        return item, self._similarity(panel, judge[item], value)

    def _similarity(self, panel: Panel, first: Floats, second: Floats) -> Floats:
        return self.of_pairs(panel.label, first, second)

    def of_pairs(self, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
        """Return the similarities; each distinct pair is computed once."""
        distinct, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
        a, b = np.split(codes.astype(np.int64), 2)
        keys, where = np.unique(a * len(distinct) + b, return_inverse=True)
        named = [label(v) for v in distinct]
        found = np.asarray(
            self.pairs([named[k // len(distinct)] for k in keys], [named[k % len(distinct)] for k in keys]), dtype=float
        )
        if found.shape != keys.shape:
            raise DataError(f"the similarity returned {found.shape} numbers for {len(keys)} pairs")
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
        """Return the function's score of the judge's label minus that of the annotator's, item by item."""
        if not np.all(panel.quality == 1):
            raise DesignError("a custom score does not support weights of annotators; omit quality=...")
        difference = np.full(len(panel.item), np.nan)
        for row, others in self._answers(panel):
            f = judge[panel.item[row]]
            if not np.isnan(f):
                mine = self.function(panel.label(panel.value[row]), others)
                difference[row] = self.function(panel.label(f), others) - mine
        return difference

    def of_pairs(self, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
        """Return the function's scores of labels with one other label."""
        return np.array([float(self.function(label(a), [label(b)])) for a, b in zip(first, second, strict=True)])

    @staticmethod
    def _answers(panel: Panel) -> Iterator[tuple[int, list[Any]]]:
        """Yield each answer that can be compared, and the others' labels of its item."""
        rows, value, _ = panel.comparisons
        edges = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        for start, end in itertools.pairwise(edges):
            yield int(rows[start]), [panel.label(v) for v in value[start:end]]


def make_score(score: str | Callable[..., float] | AlignmentScore, similarity: Any = None) -> AlignmentScore:
    """Return the score with this name: ``accuracy``, ``neg_rmse`` or ``similarity``; or of a function.

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
    raise DesignError(f"unknown score '{score}'; use accuracy, neg_rmse, similarity or a function")


def majority(panel: Panel, rng: np.random.Generator) -> Floats:
    """Return the most frequent label of each item, ties drawn at random: (items,), NaN without any."""
    best, n_best, labels = panel.votes
    choice = np.argmax(np.where(best, rng.random(best.shape), -1.0), axis=1)
    return np.where(n_best > 0, labels[choice], np.nan)


def majority_share(panel: Panel, judge: Floats) -> tuple[Ints, Floats]:
    """Return whether the judge gives the majority label: 1 / (number of tied labels) if it gives one of them.

    Items with a majority and a label of the judge, and the credit of each: the expectation over random ties.
    """
    best, n_best, labels = panel.votes
    rows = np.flatnonzero((n_best > 0) & ~np.isnan(judge))
    at = np.minimum(np.searchsorted(labels, judge[rows]), len(labels) - 1)
    hit = best[rows, at] & (labels[at] == judge[rows])
    return rows, hit / n_best[rows]


def majority_without(panel: Panel, rng: np.random.Generator, ties: str) -> tuple[Floats, Floats]:
    """Return the majority label of each answer's item without that answer (C.1), as class shares.

    Returns
    -------
    shares : (answers, classes) float
        1 at the class of the majority; with ``ties="share"`` split evenly between tied classes.
    labels : (classes,) float
        The label of each class.
    """
    labels = np.unique(panel.value if panel.reference is None else panel.reference[~np.isnan(panel.reference)])
    if len(labels) * len(panel.item) > DENSE_CELLS:
        raise DesignError(f"balance=True requires few distinct labels; there are {len(labels)}")
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
    """Return each value's position among the sorted ``labels``, which include every value; and ``labels``."""
    if len(values):
        low, high = values.min(), values.max()
        if high - low < 1000 and np.array_equal(values, np.rint(values)):
            # Whole numbers of a short range, as almost all labels are, do not require sorting.
            return (values - low).astype(np.int64), np.arange(low, high + 1)
    labels, codes = np.unique(values, return_inverse=True)
    return codes, labels


def _zero_rounding(difference: NDArray[Any], size: NDArray[Any]) -> Floats:
    return np.where(np.abs(difference) <= TIE * size, 0.0, difference)


def _pairs_of(similarity: Any) -> Callable[[Sequence[Any], Sequence[Any]], Floats]:
    """Return a function of two lists from a similarity, a function of two labels or a table."""
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


# -- the constant baseline ---------------------------------------------------------------------------

MOST_CONSTANTS = 25
"""Constants that are tried: every label if there are no more, otherwise the 25 most common, and for numbers also 25
evenly spaced ones, 4% of the range apart. Each requires a pass through the items."""


@dataclass(frozen=True)
class ConstantBaseline:
    """The constant label that is closest to the annotators, and the items on which it or the judge is closer."""

    label: Label
    closer: int
    equal: int
    further: int
    """Items on which the judge is further from the annotators than the constant."""


def closest_constant(
    score: AlignmentScore, panel: Panel, judge: Floats, name: Callable[[float], Label]
) -> ConstantBaseline | None:
    """Return the constant with the most items closer than the judge, minus those further away; None for texts."""
    labels, often = np.unique(np.concatenate([panel.value, judge[~np.isnan(judge)]]), return_counts=True)
    if len(labels) > MOST_CONSTANTS:
        common = labels[np.sort(np.argsort(-often, kind="stable")[:MOST_CONSTANTS])]
        spaced = np.linspace(labels[0], labels[-1], MOST_CONSTANTS) if isinstance(score, NegRMSE) else common
        labels = np.union1d(common, spaced)
    outcomes = [
        (np.count_nonzero(d > 0), np.count_nonzero(d == 0), np.count_nonzero(d < 0))
        for d in score.constant_differences(panel, judge, labels)
    ]
    if not outcomes:
        return None
    best = min(range(len(outcomes)), key=lambda i: outcomes[i][0] - outcomes[i][2])
    return ConstantBaseline(name(float(labels[best])), *map(int, outcomes[best]))


FEWEST_OF_MANY = 3
"""Annotators on whom a verdict can rest if they are fewer than half, but gave at least half of the labels."""


def are_few(n: Ints | Floats, tested: Bools) -> Bools:
    """Return whether the tested annotators are too few of those with comparable items for a verdict on all of them.

    They are fewer than half, and fewer than three or with less than half of the comparable labels. In a crowd, most
    workers can have few items.

    Parameters
    ----------
    n : (..., annotators) int
        Comparable items.
    tested : (..., annotators) bool
    """
    of = np.count_nonzero(tested, axis=-1)
    fewer = 2 * of < np.count_nonzero(n > 0, axis=-1)
    return np.asarray(fewer & ((of < FEWEST_OF_MANY) | (2 * (n * tested).sum(axis=-1) < n.sum(axis=-1))))


@dataclass(frozen=True)
class ScaleUse:
    """How a judge uses a numeric scale, compared with the annotators of the same items, within strata.

    Attributes
    ----------
    spread : float
        Standard deviation of the judge's labels over that of an annotator's.
    shift : float
        The root mean square over strata of the judge's mean label minus the annotators'.
    agreement : float
        2 √(V_J V_X) / (V_J + V_X + shift²), at most 1: the part of R that is lost by the use of the scale alone. R over
        it is the judge's validity relative to that of an annotator, if one truth causes the agreement.
    """

    spread: float
    shift: float
    agreement: float


def scale_use_of(panel: Panel, judge: Floats, part: Ints) -> ScaleUse | None:
    """Return the use of the scale by a judge, (items,), within strata; None if labels do not vary."""
    row = np.flatnonzero(~np.isnan(judge[panel.item]))
    if not len(row):
        return None
    stratum = np.unique(part[panel.item[row]], return_inverse=True)[1]
    size, values = np.bincount(stratum), (judge[panel.item[row]], panel.value[row])
    means = [np.bincount(stratum, value) / size for value in values]
    v_judge, v_people = (float(((v - m[stratum]) ** 2).mean()) for v, m in zip(values, means, strict=True))
    squared = float(size @ (means[0] - means[1]) ** 2 / len(row))
    if min(v_judge, v_people) <= 0:
        return None
    together = 2 * math.sqrt(v_judge * v_people) / (v_judge + v_people + squared)
    return ScaleUse(math.sqrt(v_judge / v_people), math.sqrt(squared), together)
