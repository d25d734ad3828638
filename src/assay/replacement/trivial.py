"""Answers that need no look at the item: a judge must be closer to people than any of them.

A judge that always gives the same label can pass the alternative annotator test where labels are skewed, and where
people agree no better than chance anything can. So the judge is compared with every constant answer, on the same items,
pair by pair: is it more often closer to the people of an item, or the constant?

A judge that draws its labels, from people's or from any others, needs no comparison of its own where every label is
tried. Its draw does not depend on the item, so it is a mixture of constants: how often it is closer, less how often it
is farther, is an average of what its constants reach, and the best of them reaches as much.

Texts cannot all be tried. There the constants are the commonest texts and those nearest to what people say on all items
(medoids), and two more judges do not look: one gives the judge's own answers to other items, one people's. If a judge
draws its texts, from anywhere, its answer to an item and those to others are exchangeable, so it is not closer to the
people of the item than they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Label
from assay.estimation.resampling import Units
from assay.estimation.statistic import Floats, Ints
from assay.replacement.alignment import Accuracy, NegRMSE, Panel, Score
from assay.statistics.wins import LOSS, WIN, count_wins

MOST = 25
"""Constants that are tried: every label where there are no more, else the commonest; of numbers, as many evenly spaced
ones beside these."""

FEW = 3
"""Constants that are tried where each comparison calls a similarity or a function: so many of the commonest labels, and
so many medoids."""

CANDIDATES, SAMPLE = 12, 20
"""Labels among which medoids are looked for, and items on which."""


def constants_of(ratings: Ratings, score: Score, own_scale: bool) -> Floats:
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


def medoids(score: Score, panel: Panel, constants: Floats) -> Floats:
    """Labels that are nearest to what people say on all items, where each comparison calls a function: (few,).

    Candidates are the constants and labels of other people and judges, evenly spaced among all.
    """
    labels = np.unique(panel.value)
    others = _spaced(np.setdiff1d(labels, constants), max(CANDIDATES - len(constants), 0))
    candidates, items = np.union1d(constants, others), _spaced(np.flatnonzero(panel.people > 0), SAMPLE)
    asked = np.full((len(candidates), panel.n_items), np.nan)
    asked[:, items] = candidates[:, None]
    scores = score.item_scores(panel, asked)[:, items]
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    # Each item counts the same, however many people it has and however much they agree.
    rank = (scores[:, None] > scores[None]).sum(axis=(1, 2))
    return candidates[np.argsort(-rank, kind="stable")[:FEW]]


def _spaced(values: NDArray[Any], most: int) -> NDArray[Any]:
    """So many of the values, evenly spaced."""
    return values[np.unique(np.linspace(0, len(values) - 1, most).astype(int))] if len(values) else values


@dataclass(frozen=True, eq=False)
class _Frequency:
    """How often each label was given; an object, so that it travels to workers."""

    values: Floats

    def __call__(self, answers: Answers, unit: Ints) -> Floats:
        return np.bincount(np.searchsorted(self.values, answers.value), minlength=len(self.values)).astype(float)


def signs(score: Score, panel: Panel, judge: Floats, constants: Floats) -> Iterator[tuple[Ints, Ints]]:
    """For each constant, the items that can be compared, and 1 where the judge is closer, 0 for a tie, −1 where not;
    then for each of the score's drawn judges."""
    for difference in score.over_constants(panel, judge, constants):
        item = np.flatnonzero(~np.isnan(difference))
        yield item, np.sign(difference[item]).astype(np.int64)


def count_against(score: Score, panel: Panel, judge: Floats, constants: Floats, shares: Floats | None) -> Floats:
    """On how many items the judge is closer to the people than each constant, as close, farther.

    Returns
    -------
    (constants, classes, 3) float
        By class of the item's majority label where ``shares``, (items, classes), are given (C.1).
    """
    if shares is None:
        each = score.over_constants(panel, judge, constants)
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
