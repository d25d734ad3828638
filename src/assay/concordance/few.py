"""Intervals where few items decide: a rare label, hardly any disagreement, a handful of clusters, the largest errors.

The jackknife asks the items at hand how much a coefficient varies. Where a handful of items decides, they cannot know:
one item on which a rare label was agreed and none on which it was not look as if nothing varied. The score interval
(Donner & Eliasziw 1992) asks instead which true values are compatible with the coefficient, each with the standard
error that it would have if it were the true one.
"""

from __future__ import annotations

import numpy as np

from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Label
from assay.estimation.intervals import Estimates, Score
from assay.estimation.statistic import Floats
from assay.estimation.tails import Tailed
from assay.statistics.base import PanelStatistic
from assay.statistics.categories import Alpha, ChanceCorrected, category_counts
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


def scored(
    found: Estimates, ratings: Ratings, statistic: PanelStatistic | Ranks, *, rare_label: bool, tails: bool = False
) -> Estimates:  # fmt: skip
    """The first value with a score interval where few items decide, or with the reason why it has none.

    Parameters
    ----------
    rare_label : bool
        Whether the coefficient has no interval where hardly any item has another label than the commonest.
    tails : bool
        Whether the coefficient is a root mean square, which the largest distances decide.
    """
    if tails:
        return _tailed(found, ratings)
    on_z = found.transform[0] in ("fisher", "rank")
    asks = found.method == "jackknife" and len(found.leave_one_out) > 0 and on_z and found.taken != "sample"
    if not asks or isinstance(statistic, PairRanks | AlphaRanks) or ratings.in_chunks:
        return found
    answers = ratings.answers
    values = np.unique(answers.value)
    undefined = not np.isfinite(found.value[0])
    if undefined or not 1 < len(values) <= MOST_VALUES or ratings.n_items > MOST_ITEMS:
        return found
    rare, split = _few_items(answers, values)
    if rare_label and rare < LEAST:
        return found.without_interval(_too_rare(ratings, answers, rare))
    clustered = ratings.clusters is not None and found.n_units < FEW_CLUSTERS
    if min(rare, split) >= FEW and not clustered:
        return found
    patterns = Patterns.of(answers, statistic.width, anyone=isinstance(statistic, Alpha | ChanceCorrected))
    if patterns is None:
        return found
    value, error = curve(statistic, patterns, ratings.n_items)
    return found.scored(Score(value, error, stepwise=not rare_label))


def _tailed(found: Estimates, ratings: Ratings) -> Estimates:
    """A root mean square of labels with many values, which may have tails; few values show how far they reach."""
    asks = found.method == "jackknife" and len(found.leave_one_out) > 1 and found.taken != "sample"
    if not asks or ratings.in_chunks or found.unit not in ("items", "clusters") or not np.isfinite(found.value[0]):
        return found
    values = ratings.answers.value
    if len(np.unique(values)) <= min(MOST_COUNTED, len(values) / 2):
        return found
    without, n = found.leave_one_out[:, 0], found.n_units
    bounds = ratings.scale.bounds if ratings.scale.numeric else None
    highest = np.inf if bounds is None else bounds[1] - bounds[0]
    # The jackknife's pseudovalues of the mean square are the squares themselves, where two annotators are compared.
    squares = n * found.value[0] ** 2 - (n - 1) * without**2
    return found.scored(Tailed(squares, max(len(np.unique(ratings.answers.annotator)) - 1, 1), highest))


def _few_items(answers: Answers, values: Floats) -> tuple[int, int]:
    """Items with another label than the commonest, and items with two different labels."""
    counts = category_counts(answers, values)
    number, common = counts.sum(axis=1), counts.sum(axis=0).argmax()
    return int((counts[:, common] < number).sum()), int((counts.max(axis=1) < number).sum())


def _too_rare(ratings: Ratings, answers: Answers, rare: int) -> str:
    values, number = np.unique(answers.value, return_counts=True)
    least = values[number.argmin()]
    label: Label = float(least)
    if answers.categories is not None:
        label = answers.categories[int(least)]
    elif ratings.scale.categories is not None and not ratings.scale.numeric:
        label = ratings.scale.categories[int(least)]
    name = f"{label:g}" if isinstance(label, float) else str(label)
    one = "item has" if rare == 1 else "items have"
    return (
        f"only {rare} {one} another label than the commonest, and no interval holds with fewer than {LEAST}: the label "
        f"'{name}' is too rare; have more items labelled that it fits"
    )
