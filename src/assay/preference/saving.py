"""How many ratings are saved where items are chosen by separability, for as many consistent votes.

A rating set on an item is worth its consistency c. Of items drawn alike, votes bring Σ c / n a set on average; of
items drawn by separability, with chances π, they bring Σ π c / Σ π. As many consistent votes then come from the first
over the second of the ratings, and the rest is saved:

    saving = 1 − (Σ c / n) / (Σ π c / Σ π)

With weights w (equation 6) π = 1 − exp(−t w): the chance that an exponential time with rate w is over at t, where t is
such that the share of items that is wanted is drawn. So `assay.preference.pairs.chosen_items` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.estimation.statistic import Floats
from assay.preference.pairs import STRATA, Choose, strata, weight


@dataclass(frozen=True)
class Saving:
    """1 − mean(c) / (Σ π c / Σ π), from sums of c, 1, π c and π of each unit."""

    def moments(self, consistency: Floats, chance: Floats) -> Floats:
        """(sets, 4)."""
        return np.stack([consistency, np.ones(len(consistency)), chance * consistency, chance], axis=1)

    def value(self, sums: Floats) -> Floats:
        """NaN where no vote of the items chosen is consistent."""
        c, n, chosen, chance = (sums[..., [i]] for i in range(4))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = 1 - (c / n) / (chosen / chance)
        return np.asarray(np.where(np.isfinite(found), found, np.nan))


def chances(separability: Floats, share: float, choose: Choose) -> Floats:
    """The chance of each item to be among a share of them, chosen by separability: (items,), with mean ``share``."""
    n = len(separability)
    wanted = share * n
    if choose == "top":
        return _first(-separability, wanted)
    if choose == "stratified":
        group = strata(separability)
        sizes = np.bincount(group, minlength=STRATA).astype(float)
        return np.asarray((_even(sizes, wanted) / np.maximum(sizes, 1))[group])
    w, low, high = weight(separability), 0.0, 1.0
    while (1 - np.exp(-high * w)).sum() < wanted and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-middle * w)).sum() < wanted else (low, middle)
    return np.asarray(1 - np.exp(-high * w))


def _first(place: Floats, wanted: float) -> Floats:
    """One for those that come first, until as many are there; items that stand equal share what is left."""
    found = np.zeros(len(place))
    for value in np.unique(place):
        equal = place == value
        found[equal] = min(1.0, max(0.0, wanted) / equal.sum())
        wanted -= equal.sum()
    return found


def _even(sizes: Floats, wanted: float) -> Floats:
    """As many of each group; what a small one lacks comes from the others."""
    taken = np.zeros(len(sizes))
    while wanted > 1e-9 and (taken < sizes).any():
        open_ = taken < sizes
        more = np.where(open_, np.minimum(sizes - taken, wanted / open_.sum()), 0.0)
        taken += more
        wanted -= more.sum()
    return taken
