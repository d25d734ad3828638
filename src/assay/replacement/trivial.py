"""Answers that need no look at the item: a judge must be closer to people than any of them.

A judge that always gives the same label can pass the alternative annotator test where labels are skewed, and where
people agree no better than chance anything can. So the judge is compared with every constant answer, on the same items,
pair by pair: is it more often closer to the people of an item, or the constant?

A judge that draws its labels, from people's or from any others, needs no comparison of its own. Its draw does not
depend on the item, so it is a mixture of constants: how often it is closer, less how often it is farther, is an average
of what its constants reach, and the best of them reaches as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
"""Constants that are tried where each comparison calls a similarity or a function: the commonest labels."""


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


@dataclass(frozen=True, eq=False)
class _Frequency:
    """How often each label was given; an object, so that it travels to workers."""

    values: Floats

    def __call__(self, answers: Answers, unit: Ints) -> Floats:
        return np.bincount(np.searchsorted(self.values, answers.value), minlength=len(self.values)).astype(float)


def signs(score: Score, panel: Panel, judge: Floats, constants: Floats) -> Iterator[tuple[Ints, Ints]]:
    """For each constant, the items that can be compared, and 1 where the judge is closer, 0 for a tie, −1 where not."""
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
    found = [
        count_wins(sign, np.zeros(len(item), dtype=np.int64), 1, None if shares is None else shares[item])
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
    """A judge against every constant answer, arrays (constants,).

    Attributes
    ----------
    labels : tuple
        The constant answers.
    counts : (constants, 3) float
        Items on which the judge is closer to the people, as close, farther.
    p : float
        One-sided, of H0: the judge is not more often closer than the constant is.
    """

    labels: tuple[Label, ...]
    counts: Floats
    p: Floats

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
        """The best constant."""
        return self.labels[self.best]

    @property
    def outcome(self) -> tuple[int, int, int]:
        """Items on which the judge is closer than the best constant, as close, farther."""
        closer, tie, farther = np.rint(self.counts[self.best]).astype(int).tolist()
        return closer, tie, farther
