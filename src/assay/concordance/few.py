"""Intervals where few items decide: a rare label, hardly any disagreement, a handful of clusters, the largest errors.

The jackknife asks the items at hand how much a coefficient varies. Where a handful of items decides, they cannot know:
one item on which a rare label was agreed and none on which it was not look as if nothing varied. The score interval
(Donner & Eliasziw 1992) asks instead which true values are compatible with the coefficient, each with the standard
error that it would have if it were the true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Label
from assay.estimation.intervals import Estimates, Score
from assay.estimation.statistic import Floats, Ints
from assay.estimation.tails import Tailed
from assay.statistics.base import PanelStatistic
from assay.statistics.categories import Alpha, ChanceCorrected
from assay.statistics.correlated import Patterns, curve
from assay.statistics.ranks import AlphaRanks, PairRanks, Ranks

FEW = 20
"""Items with another label than the commonest, or with two different labels: fewer of either, and few items decide."""

FEW_CLUSTERS = 15

LEAST = 5
"""Items with another label than the commonest, under which a coefficient corrected for chance has no interval."""

MOST_ITEMS = 10_000
"""Among more items than this, few do not decide, or hardly."""

MOST_COUNTED = 32
"""Up to so many different labels their distances have no tails."""

MOST_VALUES = 7
"""Different labels up to which every pattern of them is tried."""


@dataclass(frozen=True, eq=False)
class Spread:
    """How the labels of a table are spread over its categories, looked at once for every coefficient of it."""

    ratings: Ratings

    @cached_property
    def answers(self) -> Answers | None:
        """The labels, where they are in memory."""
        source = self.ratings.source
        return source if isinstance(source, Answers) else None

    @cached_property
    def counted(self) -> tuple[Floats, Ints]:
        """The different labels, lowest first, and how often each was given."""
        return np.unique(() if self.answers is None else self.answers.value, return_counts=True)

    @property
    def values(self) -> Floats:
        """The different labels."""
        return self.counted[0]

    @cached_property
    def few(self) -> tuple[int, int]:
        """Items with another label than the commonest, and items with two different labels."""
        assert self.answers is not None
        item, value = self.answers.item, self.answers.value
        values, number = self.counted
        first = value[np.searchsorted(item, item)]
        rare, split = (len(np.unique(item[value != other])) for other in (values[number.argmax()], first))
        return rare, split


def score_of(
    found: Estimates, i: int, spread: Spread, statistic: PanelStatistic | Ranks, *, rare_label: bool, tails: bool
) -> Score | Tailed | str | None:
    """What the interval of a value comes from where few items decide, or why it has none; None where many do.

    Parameters
    ----------
    i : int
        Where it stands among the values.
    rare_label : bool
        Whether the coefficient has no interval where hardly any item has another label than the commonest.
    tails : bool
        Whether the coefficient is a root mean square, which the largest distances decide.
    """
    asks = found.method == "jackknife" and len(found.leave_one_out) > 0 and found.taken != "sample"
    if not asks or not np.isfinite(found.value[i]) or spread.answers is None:
        return None
    if tails:
        return _tailed(found, i, spread)
    if isinstance(statistic, PairRanks | AlphaRanks) or found.transform[i] not in ("fisher", "rank"):
        return None
    ratings = spread.ratings
    if not 1 < len(spread.values) <= MOST_VALUES or ratings.n_items > MOST_ITEMS:
        return None
    rare, split = spread.few
    if rare_label and rare < LEAST:
        return _too_rare(spread, rare)
    clustered = ratings.clusters is not None and found.n_units < FEW_CLUSTERS
    if min(rare, split) >= FEW and not clustered:
        return None
    patterns = Patterns.of(spread.answers, statistic.width, anyone=isinstance(statistic, Alpha | ChanceCorrected))
    if patterns is None:
        return None
    value, error = curve(statistic, patterns, ratings.n_items)
    return Score(value, error, stepwise=not rare_label)


def _tailed(found: Estimates, i: int, spread: Spread) -> Tailed | None:
    """A root mean square of labels with many values, which may have tails; few values show how far they reach."""
    assert spread.answers is not None
    if len(found.leave_one_out) < 2 or found.unit not in ("items", "clusters"):
        return None
    if len(spread.values) <= min(MOST_COUNTED, len(spread.answers.value) / 2):
        return None
    without, n, scale = found.leave_one_out[:, i], found.n_units, spread.ratings.scale
    bounds = scale.bounds if scale.numeric else None
    highest = np.inf if bounds is None else bounds[1] - bounds[0]
    # The jackknife's pseudovalues of the mean square are the squares themselves, where two annotators are compared.
    squares = n * found.value[i] ** 2 - (n - 1) * without**2
    return Tailed(squares, max(len(np.unique(spread.answers.annotator)) - 1, 1), highest)


def _too_rare(spread: Spread, rare: int) -> str:
    ratings, categories = spread.ratings, spread.ratings.source.categories
    values, number = spread.counted
    least = values[number.argmin()]
    label: Label = float(least)
    if categories is not None:
        label = categories[int(least)]
    elif ratings.scale.categories is not None and not ratings.scale.numeric:
        label = ratings.scale.categories[int(least)]
    name = f"{label:g}" if isinstance(label, float) else str(label)
    one = "item has" if rare == 1 else "items have"
    return (
        f"only {rare} {one} another label than the commonest, and no interval holds with fewer than {LEAST}: the label "
        f"'{name}' is too rare; have more items labelled that it fits"
    )
