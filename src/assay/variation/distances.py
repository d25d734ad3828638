"""Unbiased distances between a judge's distribution of labels and that of the annotators, item by item.

All formulas use pairs of different annotators (and of different repeats of the judge), so that two labels per item are
enough. Labels are numbers here; of categories the distance is 0 or 1, of ordered labels their difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.estimation.statistic import Floats, Ints

CELLS = 2**24
"""Largest number of distances in memory at once (128 MiB)."""

MOST_VALUES = 50
"""Most different labels of which the published distances between shares are computed."""


@dataclass(frozen=True, eq=False)
class LabelSlots:
    """The annotators' labels of each item, packed to the left.

    Attributes
    ----------
    label : (items, w) float
        NaN after the last label of an item; w is the largest number of labels of an item.
    person : (items, w) int
        Codes of the annotators; −1 after the last label.
    """

    label: Floats
    person: Ints

    @classmethod
    def of(cls, item: Ints, person: Ints, value: Floats, n_items: int) -> LabelSlots:
        """Pack labels that are sorted by item."""
        number = np.bincount(item, minlength=n_items)
        start = np.cumsum(number) - number
        place = np.arange(len(item)) - start[item]
        shape = (n_items, int(number.max()) if len(number) else 0)
        label, who = np.full(shape, np.nan), np.full(shape, -1, dtype=np.int64)
        label[item, place], who[item, place] = value, person
        return cls(label, who)

    @cached_property
    def number(self) -> Ints:
        """The number of labels of each item."""
        return np.asarray((self.person >= 0).sum(axis=1), dtype=np.int64)

    def at(self, items: Ints) -> LabelSlots:
        """The labels of some items."""
        return LabelSlots(self.label[items], self.person[items])


@dataclass(frozen=True, eq=False)
class JudgeDistribution:
    """What a judge gives for each item: a probability of each label, or labels.

    Attributes
    ----------
    values : (k,) float
        The labels that have probabilities; for labels without probabilities (items, repeats), NaN if missing.
    shares : (items, k) float or None
        Probabilities, which sum to 1; None for labels without probabilities.
    """

    values: Floats
    shares: Floats | None = None

    @property
    def repeats(self) -> Ints:
        """The number of labels of each item, if there are no probabilities."""
        assert self.shares is None
        return np.asarray((~np.isnan(self.values)).sum(axis=1), dtype=np.int64)

    def at(self, items: Ints) -> JudgeDistribution:
        """The labels of some items."""
        if self.shares is None:
            return JudgeDistribution(self.values[items])
        return JudgeDistribution(self.values, self.shares[items])


@dataclass(frozen=True, eq=False)
class ItemDistances:
    """The distances of each item, all (items,); an item has two or more annotators, and the judge's labels.

    Attributes
    ----------
    cross : a, the mean distance of the judge's distribution from a label of an annotator.
    human : h, the mean distance between labels of two annotators.
    spread : s, the mean distance between two labels drawn from the judge's distribution; 0 for one label.
    constant : D of the label shares of this sample, the same for all items.
    quadruples : the product of two distances of four different repeats of the judge, NaN for fewer than four repeats.
    left_item, left_person : (labels,) int
        One entry per label: its item, and the annotator who is left out.
    left_cross, left_human, left_constant : (labels,)
        The same distances without this annotator; NaN if fewer than two annotators are left.
    """

    cross: Floats
    human: Floats
    spread: Floats
    constant: Floats
    quadruples: Floats
    left_item: Ints
    left_person: Ints
    left_cross: Floats
    left_human: Floats
    left_constant: Floats

    @property
    def energy(self) -> Floats:
        """D = 2a − h − s, unbiased for the energy distance of the two distributions; it can be negative."""
        return 2 * self.cross - self.human - self.spread


def item_distances(people: LabelSlots, judge: JudgeDistribution, *, ordered: bool) -> ItemDistances:
    """Return the distances of each item.

    Parameters
    ----------
    people : LabelSlots
        At least two labels per item.
    judge : JudgeDistribution
        Probabilities or at least one label per item.
    ordered : bool
        Whether the distance is the difference of numbers; otherwise it is 0 or 1.
    """
    each = [_slice_distances(people.at(i), judge.at(i), ordered=ordered) for i in _slices(people, judge)]
    human, rows, to_judge, spread, quadruples = (np.concatenate([one[k] for one in each]) for k in range(5))
    m = people.number
    baseline, own = constant_distance(people, ordered=ordered)
    item, slot = np.nonzero(people.person >= 0)
    few = (m[item] < 3).astype(bool)
    others = np.where(few, np.nan, m[item] - 1.0)
    total, sums = rows.sum(axis=1), np.nansum(to_judge, axis=1)
    base = np.nansum(baseline, axis=1)
    left_human = (total[item] - 2 * rows[item, slot]) / (others * (others - 1))
    left_base = (base[item] - baseline[item, slot]) / others
    return ItemDistances(
        sums / m, human, spread, 2 * base / m - human - own, quadruples, item, people.person[item, slot],
        (sums[item] - to_judge[item, slot]) / others, left_human, 2 * left_base - left_human - own,
    )  # fmt: skip


def _slices(people: LabelSlots, judge: JudgeDistribution) -> Iterator[Ints]:
    """Items whose distances fit in memory together."""
    wide = people.label.shape[1]
    width = len(judge.values) if judge.shares is not None else judge.values.shape[1]
    step = max(1, CELLS // max(1, max(wide, width) * max(wide, 1, 1 if judge.shares is not None else width)))
    for start in range(0, len(people.label), step):
        yield np.arange(start, min(start + step, len(people.label)))


def _slice_distances(
    people: LabelSlots, judge: JudgeDistribution, *, ordered: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """h, the summed distance of each label from the others, that from the judge, s, and the quadruples."""
    y, m = people.label, people.number
    rows = np.nansum(distance(y[:, :, None], y[:, None, :], ordered=ordered), axis=2)
    human = rows.sum(axis=1) / (m * (m - 1.0))
    if judge.shares is not None:
        far = distance(judge.values[None, None, :], y[:, :, None], ordered=ordered)
        to_judge = (far * judge.shares[:, None, :]).sum(axis=2)
        spread = _expected(judge.values, judge.shares, ordered=ordered)
        return human, rows, to_judge, spread, np.full(len(y), np.nan)
    f, r = judge.values, judge.repeats
    to_judge = np.nansum(distance(f[:, None, :], y[:, :, None], ordered=ordered), axis=2) / r[:, None]
    to_judge = np.where(people.person >= 0, to_judge, np.nan)
    own = np.nan_to_num(distance(f[:, :, None], f[:, None, :], ordered=ordered))
    spread = own.sum(axis=(1, 2)) / np.maximum(r * (r - 1.0), 1.0)
    return human, rows, to_judge, spread, disjoint_products(own, r)


def distance(one: Floats, other: Floats, *, ordered: bool) -> Floats:
    """Return the distance of labels; NaN if one is missing."""
    if ordered:
        return np.abs(one - other)
    return np.where(np.isnan(one) | np.isnan(other), np.nan, (one != other).astype(float))


def _expected(values: Floats, shares: Floats, *, ordered: bool) -> Floats:
    """The expected distance of two labels drawn from each distribution: (items,)."""
    if not ordered:
        return np.asarray(1 - (shares**2).sum(axis=1))
    order = np.argsort(values)
    below = np.cumsum(shares[:, order], axis=1)[:, :-1]
    return np.asarray(2 * (below * (1 - below) * np.diff(values[order])).sum(axis=1))


def disjoint_products(far: Floats, number: Ints) -> Floats:
    """Return the mean of d(1, 2) d(3, 4) over four different labels; NaN for fewer than four.

    Parameters
    ----------
    far : (items, r, r)
        Distances of an item's labels, 0 if one is missing.
    number : (items,) int
        Labels of each item.
    """
    total, row, square = far.sum(axis=(1, 2)), far.sum(axis=2), (far**2).sum(axis=(1, 2))
    # Of all products of two pairs, those that share a label do not count.
    products = total**2 - 4 * (row**2).sum(axis=1) + 2 * square
    r = number.astype(float)
    ways = r * (r - 1) * (r - 2) * (r - 3)
    return np.where(ways > 0, products / np.where(ways > 0, ways, 1.0), np.nan)


def constant_distance(people: LabelSlots, *, ordered: bool) -> tuple[Floats, float]:
    """Return the distance of each label from the label shares of this sample, (items, w), and their spread.

    Items have equal weights, so that no other constant distribution has a smaller mean D.
    """
    there = people.person >= 0
    values, code = np.unique(people.label[there], return_inverse=True)
    item = np.nonzero(there)[0]
    share = np.bincount(code.reshape(-1), 1 / people.number[item], minlength=len(values)) / max(len(there), 1)
    if ordered:
        below, first = np.cumsum(share), np.cumsum(share * values)
        far = values * below - first + (first[-1] - first) - values * (1 - below)
    else:
        far = 1 - share
    found = np.full(people.label.shape, np.nan)
    found[there] = far[code.reshape(-1)]
    return found, float(share @ far)


# -- distances between shares, as published --------------------------------------------------------------


def share_distances(people: LabelSlots, judge: JudgeDistribution, *, ordered: bool) -> dict[str, float]:
    """Return mean distances between the annotators' label shares and the judge's; biased with few annotators.

    Returns
    -------
    dict
        ``jensen-shannon`` (divergence in bits, 0 to 1), ``manhattan`` (summed absolute differences, 0 to 2),
        ``wasserstein`` (ordered labels) and ``cross-entropy`` (nats; infinite if the judge excludes a label that was
        given). Empty for more than 50 different labels.
    """
    seen = people.label[people.person >= 0]
    mine = judge.values[~np.isnan(judge.values)] if judge.shares is None else judge.values
    values = np.unique(np.concatenate([seen, mine]))
    if len(values) > MOST_VALUES:
        return {}
    p = _shares_of(people.label, values)
    if judge.shares is None:
        q = _shares_of(judge.values, values)
    else:
        q = np.zeros(p.shape)
        q[:, np.searchsorted(values, judge.values)] = judge.shares
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x > 0, x * np.log2(x / middle), 0.0).sum(axis=1) for x in (p, q)]
        entropy = -np.where(p > 0, p * np.log(q), 0.0).sum(axis=1)
    found = {
        "jensen-shannon": float((parts[0] + parts[1]).mean() / 2),
        "manhattan": float(np.abs(p - q).sum(axis=1).mean()),
    }
    if ordered and len(values) > 1:
        apart = np.abs(np.cumsum(p - q, axis=1))[:, :-1]
        found["wasserstein"] = float((apart @ np.diff(values)).mean())
    return found | {"cross-entropy": float(entropy.mean())}


def _shares_of(labels: Floats, values: Floats) -> Floats:
    """The share of each value among the labels of each item."""
    counts = np.stack([(labels == value).sum(axis=1) for value in values], axis=1).astype(float)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
