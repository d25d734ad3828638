"""Disagreement between groups of annotators, and within them.

Two groups that see the same truth, one with less care, differ more from each other than the careful one does within:
the distance between them minus the mean of those within is positive for any difference in care. Groups therefore
disagree only if two tests agree. The assignments of annotators to groups show more distance between them than chance
explains. And a difference in care does not explain it: the groups agree less on the items than the care of each
allows, or one gives higher labels, or a label more often, both on the items that often have it and on the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assay.data.ratings import Ratings
from assay.errors import listing
from assay.estimation.intervals import adjust_p
from assay.estimation.statistic import Bools, Floats
from assay.statistics.copies import Labels, PairSums, jackknife_p
from assay.statistics.means import WelchDifference

DRAWS = 9_999
"""Random assignments of annotators to two groups."""

MOST_PRODUCTS = 2e10
"""Most multiplications for all assignments, which are fewer for hundreds of annotators."""

SCHEMA: Mapping[str, Any] = {
    **dict.fromkeys(("criterion", "group", "other"), pl.String),
    **dict.fromkeys(("annotators", "others"), pl.Int64),
    **dict.fromkeys(("within", "within_other", "between", "difference"), pl.Float64),
    "n": pl.Int64, "p": pl.Float64, "reason": pl.String, "p_adjusted": pl.Float64, "significant": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class DistancesOfPairs:
    """Distances of the labels of each two annotators, summed over the items that both labelled.

    Attributes
    ----------
    distance, centred, number : (annotators, annotators) float
        Sums of distances; of distances minus the mean of all pairs of the item, so that an item on which all annotators
        disagree counts for no group; and the number of items.
    labelled : (annotators, items) bool
        Which annotator labelled which item.
    """

    distance: Floats
    centred: Floats
    number: Floats
    labelled: Bools

    @classmethod
    def of(cls, ratings: Ratings, unit: float) -> DistancesOfPairs:
        """Sum the distances of labels, as a share of the scale."""
        answers, m = ratings.answers, len(ratings.annotators)
        distance, centred, number = (np.zeros((m, m)) for _ in range(3))
        labelled = np.zeros((m, answers.n_items), dtype=bool)
        order = np.argsort(answers.item, kind="stable")
        ends = np.flatnonzero(np.diff(answers.item[order])) + 1
        for rows in np.split(order, ends):
            value, who = answers.value[rows], answers.annotator[rows]
            labelled[who, answers.item[rows[:1]]] = True
            if len(rows) < 2:
                continue
            far = np.abs(value[:, None] - value) / unit if ratings.scale.ordered else value[:, None] != value
            mean = far.sum() / (len(rows) * (len(rows) - 1))
            place, apart = np.ix_(who, who), 1.0 - np.eye(len(rows))
            distance[place] += far
            centred[place] += (far - mean) * apart
            number[place] += apart
        return cls(distance, centred, number, labelled)

    def between(self, sums: Floats, one: Floats, other: Floats) -> Floats:
        """The mean over pairs of an annotator of one group and one of the other: (...,) of (..., annotators)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(((one @ sums) * other).sum(axis=-1) / ((one @ self.number) * other).sum(axis=-1))

    def difference(self, one: Floats, other: Floats) -> Floats:
        """The mean distance between two groups minus the mean of those within them, within items: (...,)."""
        within = (self.between(self.centred, one, one) + self.between(self.centred, other, other)) / 2
        return np.asarray(self.between(self.centred, one, other) - within)


def group_rows(ratings: Ratings, groups: Mapping[str, Sequence[str]], unit: float, seed: int
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Compare the labels of each two groups with those within them.

    Parameters
    ----------
    ratings : Ratings
        Of one criterion.
    groups : mapping of str to sequence of str
        Names of the annotators of each group.
    unit : float
        The distance that counts as 1.

    Yields
    ------
    dict
        The columns of `SCHEMA` but those of the adjusted p-value.
    """
    sums = DistancesOfPairs.of(ratings, unit)
    masks = {name: np.isin(ratings.annotators, who) & (sums.number.sum(axis=1) > 0) for name, who in groups.items()}
    for group, other in itertools.combinations(masks, 2):
        one, two = masks[group], masks[other]
        a, b = one.astype(float), two.astype(float)
        within, within_other, between = (float(sums.between(sums.distance, *pair)) for pair in ((a, a), (b, b), (a, b)))
        place = {
            "group": group, "other": other, "annotators": int(one.sum()), "others": int(two.sum()),
            "within": within, "within_other": within_other, "between": between,
            "n": int((sums.labelled[one].any(axis=0) & sums.labelled[two].any(axis=0)).sum()),
        }  # fmt: skip
        estimate = float(sums.difference(a, b))
        if math.isnan(estimate):
            empty = [name for name, distance in ((group, within), (other, within_other)) if math.isnan(distance)]
            reason = f"no two annotators of {listing(empty)} labelled the same item" if empty else "no item in common"
            yield {**place, "reason": reason}
            continue
        p, why_not = _by_assignment(sums, one, two, estimate, seed)
        if p is not None:
            p = max(p, beyond_care(ratings, one, two))
        yield {**place, "difference": estimate, "p": p, "reason": why_not}


def beyond_care(ratings: Ratings, one: Bools, two: Bools) -> float:
    """Return the p-value of H0: annotators of two groups, (annotators,) each, differ in care alone.

    The smaller of two p-values: of agreement on the items, and of the level of labels. It is not doubled: with the test
    by assignments, groups of different care disagree in .01 to .06 of studies (150 each; .00 to .03 if doubled, with
    two thirds of the power).
    """
    answers = ratings.answers
    in_common = np.ones(answers.n_items, dtype=bool)
    for group in (one, two):
        in_common[np.bincount(answers.item[group[answers.annotator]], minlength=answers.n_items) == 0] = False
    rows = np.flatnonzero((one | two)[answers.annotator] & in_common[answers.item])
    unit = np.arange(answers.n_items) if ratings.clusters is None else ratings.clusters
    labels = Labels(answers.item[rows], answers.annotator[rows], answers.value[rows].astype(float), unit, len(one))
    ordered = ratings.scale.ordered
    found = min(_p_of_agreement(labels, one, ordered), _p_of_level(labels, one, two, ordered))
    return round(found, 12)  # sums in another order differ by rounding


def _p_of_agreement(labels: Labels, one: Bools, ordered: bool) -> float:
    """The p-value of H0: W₁ W₂ <= B², of the mean agreement beyond chance within and between, by the jackknife.

    One truth gives B² = W₁ W₂ for errors of any size.
    """
    sums = PairSums.of_numbers(labels) if ordered else PairSums.of(labels)
    inside = one[sums.first].astype(int) + one[sums.second]
    parts = [sums.agreement(inside == k) for k in (2, 0, 1)]
    within, other, between = parts
    if not (within[0] > 0 and other[0] > 0):
        return 1.0
    return jackknife_p(within * other - between * np.abs(between))


def _p_of_level(labels: Labels, one: Bools, two: Bools, ordered: bool) -> float:
    """The p-value of H0: no group gives higher labels, or a label more often, on both halves of the items.

    The halves are the items with high and low mean labels, or shares of the label: less care moves them in opposite
    directions. The mean of each annotator is one observation (Welch's t).
    """
    values = np.unique(labels.value)
    values = values[1:] if len(values) == 2 else values
    columns = [labels.value] if ordered else [(labels.value == k).astype(float) for k in values]
    found = []
    number = np.bincount(labels.item, minlength=len(labels.unit))[labels.item]
    for x in columns:
        total = np.bincount(labels.item, x, len(labels.unit))[labels.item]
        # Of the others: an annotator's own errors do not choose the half.
        others = np.where(number > 1, (total - x) / np.maximum(number - 1, 1), np.nan)
        middle = np.nanmedian(others) if ordered else np.nanmean(others)
        sides = []
        for half in (others >= middle, others < middle):
            held = np.bincount(labels.annotator[half], minlength=labels.n_annotators)
            with np.errstate(invalid="ignore", divide="ignore"):
                own = np.bincount(labels.annotator[half], (x - others)[half], labels.n_annotators) / held
            a, b = own[one & (held > 0)], own[two & (held > 0)]
            if min(len(a), len(b)) < 2:
                break
            sides.append(WelchDifference.of(a, b))
        if len(sides) == 2 and (sides[0].estimate > 0) == (sides[1].estimate > 0):
            # Two-sided: a one-sided test of each half in either direction.
            found.append(max(side.p() for side in sides))
    return min(1.0, len(columns) * min(found, default=1.0))


def _by_assignment(
    sums: DistancesOfPairs, one: Bools, two: Bools, estimate: float, seed: int
) -> tuple[float | None, str | None]:
    """The share of random assignments of the annotators to groups of these sizes with this difference or more."""
    # In an order that does not depend on the annotators' names.
    key = np.lexsort((sums.centred.sum(axis=1).round(9), sums.distance.sum(axis=1).round(9), sums.number.sum(axis=1)))
    who, size, rng = key[(one | two)[key]], int(one.sum()), np.random.default_rng(seed)
    different = math.comb(len(who), size) // (2 if size == two.sum() else 1)
    if different < 20:
        return None, f"{size} and {int(two.sum())} annotators are too few: the smallest possible p is 1/{different}"
    draws = int(np.clip(MOST_PRODUCTS / (3 * len(sums.number) ** 2), 499, DRAWS))
    reached = 0
    for chunk in np.array_split(np.arange(draws), max(draws // 1_000, 1)):
        drawn = np.zeros((len(chunk), len(sums.number)))
        mixed = rng.permuted(np.broadcast_to(who, (len(chunk), len(who))), axis=1)[:, :size]
        np.put_along_axis(drawn, mixed, 1.0, axis=1)
        found = sums.difference(drawn, np.where(one | two, 1.0 - drawn, 0.0))
        # An assignment in which a group has no two labels of one item has no difference: it counts against the claim.
        reached += int(np.count_nonzero(~(found < estimate - 1e-12)))
    return (1 + reached) / (1 + draws), None


def group_frame(rows: Sequence[Mapping[str, Any]], confidence: float) -> pl.DataFrame:
    """Return the rows as a table, with p-values adjusted (Holm) over the pairs of groups and the criteria."""
    kept = {name: kind for name, kind in SCHEMA.items() if name not in ("p_adjusted", "significant")}
    frame = pl.DataFrame(rows, schema=kept).with_columns(pl.col(pl.Float64).fill_nan(None))
    adjusted = adjust_p(frame["p"].to_numpy().astype(float), "holm")
    frame = frame.with_columns(p_adjusted=pl.Series(adjusted, dtype=pl.Float64).fill_nan(None))
    return frame.with_columns(significant=pl.col("p_adjusted") <= 1 - confidence).select(*SCHEMA)
