"""What a verdict *Replace* does not cover: missing labels, rare labels, groups of items, changes over time.

*Replace* is about all items together. A judge that is good on most items can leave some unanswered, never give a rare
label, be poor on one topic, or fail in the last quarter of a study. Each test is one-sided, and all tests of a judge
are Holm-adjusted together, so that a judge without faults has any limitation in at most about 5% of studies. A judge
that is good on easy items and guesses on hard ones cannot be recognised from the labels, unless a column tells the hard
items. With clusters, such as documents, all tests are robust to errors that the items of a cluster share. Error rates
and power: docs/type-one-error.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from assay.estimation.intervals import adjust_p
from assay.estimation.statistic import Bools, Floats, Ints
from assay.replacement.panel import AltTestTable
from assay.statistics.clusters import ClusteredSum, design_effect
from assay.statistics.panels import Panel
from assay.statistics.strata import ORDER, quantile_parts

LEVEL = 0.05
"""Level of all tests of a judge together."""

FEWEST_MISSING, FEWEST_OF_LABEL, FEWEST_OF_GROUP = 5, 8, 10
"""Unanswered items, items' worth of the annotators' shares of a label, items of a group: fewer are not tested."""

RARELY = 0.75
"""A label is rarely given if the judge's share of it is below this part of the annotators'."""

QUARTERS = 4
"""Groups by a column of numbers."""

N_PERMUTATIONS = 999
MOST_PERMUTED = 20_000
"""Items up to which the unanswered ones are permuted."""

MOST_DISTINCT = 12
"""Distinct numbers up to which each is a label that can be missing."""

LimitationCode = Literal["unanswered_labels", "unanswered_disputed", "label_rarely_given", "worst_group", "decline"]


@dataclass(frozen=True)
class Limitation:
    """A part of the items, or a label, for which *Replace* is not supported.

    Attributes
    ----------
    code : str
        ``unanswered_labels``, ``unanswered_disputed``: the unanswered items differ from the others in the annotators'
        labels, or in their disagreement. ``label_rarely_given``: the judge gives a label much more rarely than the
        annotators. ``worst_group``: it agrees less with annotators on the items with one value of a column than on the
        others. ``decline``: its agreement decreases with the place or time of the item.
    what : str
        The label, the column, or empty.
    value : str
        The value of the column.
    n : int
        The number of items with it.
    here, elsewhere : float
        The judge's and the annotators' share of the label; or agreement with annotators minus that among annotators
        on these items and on the others (for numbers, of negative squared distances).
    p : float
        Holm-adjusted for all tests of the judge.
    """

    code: LimitationCode
    what: str
    value: str
    n: int
    here: float
    elsewhere: float
    p: float


def limitations_of(table: AltTestTable, judge: Floats) -> list[Limitation]:
    """Return the significant limitations of a judge, (items,), the smallest p-value first; none for texts."""
    panel = table.panel
    if panel.reference is not None or table.score.name not in ("accuracy", "neg_rmse"):
        return []
    usable = table.rule.usable(panel.people, None)
    numeric, cluster = table.score.name == "neg_rmse", table.ratings.clusters
    found = list(_of_missing(panel, judge, usable, numeric, table.settings.seed, cluster))
    scale, names = table.ratings.scale, table.rule.label_names
    found += _of_labels(panel, judge, usable, numeric, lambda v: scale.word(names(np.array([v]))[0]), cluster)
    advantage = _advantage(panel, judge, usable, numeric)
    found += _of_groups(advantage, _groups(table), cluster)
    found += _of_order(advantage, _orders(table), cluster)
    if not found:
        return []
    adjusted = adjust_p(np.array([one.p for one in found]), "holm").tolist()
    significant = [replace(one, p=p) for one, p in zip(found, adjusted, strict=True) if p <= LEVEL]
    return sorted(significant, key=lambda one: one.p)


def _shares(panel: Panel) -> tuple[Floats, Floats]:
    """Return the annotators' share of each label, (items, labels), and the labels."""
    values, code = np.unique(panel.value, return_inverse=True)
    k = len(values)
    counts = np.bincount(panel.item * k + code.reshape(-1), minlength=panel.n_items * k).reshape(panel.n_items, k)
    return counts / np.maximum(panel.people, 1)[:, None], values


def _disagreement(panel: Panel, numeric: bool) -> Floats:
    """Return the mean distance of two annotators' labels of each item: (items,), NaN with one label."""
    n = panel.people.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        if numeric:
            total, squares = (np.bincount(panel.item, panel.value**p, panel.n_items) for p in (1, 2))
            return np.where(n > 1, 2 * (n * squares - total**2) / (n * (n - 1)), np.nan)
        shares = _shares(panel)[0]
        return np.where(n > 1, (1 - (shares**2).sum(axis=1)) * n / (n - 1), np.nan)


def _advantage(panel: Panel, judge: Floats, usable: Bools, numeric: bool) -> Floats:
    """Return the judge's agreement with annotators minus that among them: (items,), NaN if not compared."""
    mine = judge[panel.item]
    far = (mine - panel.value) ** 2 if numeric else (mine != panel.value).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.bincount(panel.item, far, panel.n_items) / panel.people
    return np.where(usable & ~np.isnan(judge), _disagreement(panel, numeric) - apart, np.nan)


def _of_missing(
    panel: Panel, judge: Floats, usable: Bools, numeric: bool, seed: int, cluster: Ints | None
) -> Iterator[Limitation]:
    """Test whether the unanswered items differ in the annotators' labels or disagreement, by permutation."""
    items = np.flatnonzero(usable)
    missing = np.isnan(judge[items])
    n, k = len(items), int(missing.sum())
    if not FEWEST_MISSING <= k < n:
        return
    rng = np.random.default_rng(seed)
    if n > MOST_PERMUTED:
        return
    if cluster is None:
        drawn = np.argsort(rng.random((N_PERMUTATIONS, n)), axis=1)[:, :k]

        def means(values: Floats) -> Floats:
            return np.asarray(values[drawn].mean(axis=1))
    else:
        weights = _missing_by_cluster(missing, cluster[items], rng)

        def means(values: Floats) -> Floats:
            return np.asarray(weights @ values)

    shares = np.bincount(panel.item, panel.value, panel.n_items)[:, None] / np.maximum(panel.people, 1)[:, None]
    if not numeric:
        shares = _shares(panel)[0]
    labels, disputed = shares[items], _disagreement(panel, numeric)[items]
    variance = labels.var(axis=0)
    varies = variance > 0
    if varies.any():
        scaled = (labels[:, varies] - labels[:, varies].mean(axis=0)) / np.sqrt(variance[varies])
        observed = float((scaled[missing].mean(axis=0) ** 2).sum())
        random = (means(scaled) ** 2).sum(axis=1)
        p = (1 + np.count_nonzero(random >= observed - 1e-12)) / (1 + N_PERMUTATIONS)
        yield Limitation("unanswered_labels", "", "", k, math.nan, math.nan, float(p))
    if np.ptp(disputed) > 0:
        centred = disputed - disputed.mean()
        observed = abs(float(centred[missing].mean()))
        p = (1 + np.count_nonzero(np.abs(means(centred)) >= observed - 1e-12)) / (1 + N_PERMUTATIONS)
        here, elsewhere = float(disputed[missing].mean()), float(disputed[~missing].mean())
        yield Limitation("unanswered_disputed", "", "", k, here, elsewhere, float(p))


def _missing_by_cluster(missing: Bools, cluster: Ints, rng: np.random.Generator) -> Floats:
    """The weights, (permutations, items), of the mean of unanswered items whose shares are permuted among clusters.

    A judge can skip whole documents. Each cluster has the share of unanswered items of a random cluster, and its
    unanswered items are random ones of its items.
    """
    _, code, size = np.unique(cluster, return_inverse=True, return_counts=True)
    share = np.bincount(code, missing) / size
    order = np.argsort(code, kind="stable")
    first = (np.cumsum(size) - size)[code[order]]
    found = np.zeros((N_PERMUTATIONS, len(missing)))
    for row in found:
        random = np.lexsort((rng.random(len(order)), code[order]))  # random places within each cluster
        place = np.empty(len(order))
        place[random] = np.arange(len(order)) - first
        number = rng.permutation(share)[code[order]] * size[code[order]]
        # A share of a cluster of another size is rounded up or down at random.
        row[order[place + rng.random(len(size))[code[order]] < number]] = 1
        row /= max(row.sum(), 1)
    return found


def _of_labels(
    panel: Panel, judge: Floats, usable: Bools, numeric: bool, named: Any, cluster: Ints | None
) -> Iterator[Limitation]:
    """Test for each label whether the judge's share is below three quarters of the annotators'.

    A number that no annotator gives counts as the nearest of theirs: annotators can round where a judge does not.
    """
    from scipy.special import bdtr, betainc, stdtr

    shares, values = _shares(panel)
    items = np.flatnonzero(usable & ~np.isnan(judge))
    n = len(items)
    if n < 2 or len(values) > MOST_DISTINCT:
        return
    mine = judge[items][:, None]
    far = np.abs(mine - values) if numeric else (mine != values).astype(float)
    nearest = far == (far.min(axis=1, keepdims=True) if numeric else 0.0)
    all_given = nearest / np.maximum(nearest.sum(axis=1, keepdims=True), 1)
    for label, share, given in zip(values.tolist(), shares[items].T, all_given.T, strict=True):
        if share.sum() < FEWEST_OF_LABEL:
            continue
        each, rare = given - RARELY * share, RARELY * float(share.mean())
        if cluster is None:
            error = each.std(ddof=1) / math.sqrt(n)
            p_mean = float(stdtr(n - 1, each.mean() / error)) if error > 0 else 1.0
            p_count = float(bdtr(given.sum(), n, rare))
        else:
            p_mean, effect = ClusteredSum.mean(each, cluster[items]).p_lower(), design_effect(each, cluster[items])
            k = float(given.sum()) / effect  # the binomial distribution of a number that is not whole
            p_count = float(betainc(n / effect - k, k + 1, 1 - rare)) if k < n / effect else 1.0
        p = max(p_mean, p_count)
        yield Limitation("label_rarely_given", named(label), "", n, float(given.mean()), float(share.mean()), p)


def _groups(table: AltTestTable) -> Iterator[tuple[str, Ints, Sequence[str]]]:
    """Yield the name, the group of each item, and the groups' names, for each item column that is a stratum."""
    cluster = table.ratings.clusters
    for one in table.strata:
        if not one.combined or not one.name or " × " in one.name or _within_clusters(one.part, cluster):
            continue
        column = None if table.about is None or one.name not in table.about.columns else table.about[one.name]
        part = one.part
        if one.numbers is not None:
            known = ~np.isnan(one.numbers)
            part = np.full(len(one.part), -1)
            part[known] = quantile_parts(one.numbers[known], QUARTERS)
            ends = [one.numbers[part == k] for k in range(int(part.max(initial=-1)) + 1)]
            yield one.name, part, [f"{e.min():g} to {e.max():g}" for e in ends]
        elif column is not None:
            names = {int(code): str(value) for code, value in zip(part.tolist(), column.to_list(), strict=True)}
            yield one.name, part, [names.get(k, "") for k in range(int(part.max(initial=-1)) + 1)]
        else:
            yield one.name, part, one.names or [str(k + 1) for k in range(int(part.max(initial=-1)) + 1)]


def _within_clusters(part: Ints, cluster: Ints | None) -> bool:
    """Whether each group is part of one cluster, such as the clusters themselves: it is not several observations."""
    if cluster is None:
        return False
    held = np.unique(np.stack([part, cluster])[:, part >= 0], axis=1)
    return bool(len(np.unique(held[0])) == held.shape[1])


def _of_groups(
    advantage: Floats, columns: Iterator[tuple[str, Ints, Sequence[str]]], cluster: Ints | None
) -> Iterator[Limitation]:
    """Test for each value of each column whether agreement is lower than elsewhere (Welch's t, or robust)."""
    known = ~np.isnan(advantage)
    for name, part, values in columns:
        for k, value in enumerate(values):
            here, elsewhere = advantage[known & (part == k)], advantage[known & (part != k)]
            if len(here) < FEWEST_OF_GROUP or len(elsewhere) < FEWEST_OF_GROUP:
                continue
            means = float(here.mean()), float(elsewhere.mean())
            p = _lower_p(advantage[known], (part == k)[known], None if cluster is None else cluster[known])
            yield Limitation("worst_group", name, value, len(here), *means, p)


def _orders(table: AltTestTable) -> Iterator[tuple[str, Floats]]:
    """Yield the name and the rank of each item in each order of the items: numbers in item ids, and dates."""
    names = table.order_of_items
    if names is not None:
        yield ORDER, names
    for one in table.known.columns:
        if one.order and one.numbers is not None:
            yield one.name, one.numbers


def _of_order(advantage: Floats, orders: Iterator[tuple[str, Floats]], cluster: Ints | None) -> Iterator[Limitation]:
    """Test whether agreement decreases with the order, or is lower in its last third."""
    from scipy.special import stdtr

    for name, place in orders:
        known = ~np.isnan(advantage) & ~np.isnan(place)
        n = int(known.sum())
        if n < 3 * FEWEST_OF_GROUP:
            continue
        each, rank = advantage[known], np.argsort(np.argsort(place[known], kind="stable"), kind="stable")
        last = rank >= n - n // 3
        here, elsewhere = each[last], each[~last]
        if each.std() > 0:
            of_known = None if cluster is None else cluster[known]
            if of_known is None:
                r = float(np.corrcoef(each, rank)[0, 1])
                p = float(stdtr(n - 2, r * math.sqrt((n - 2) / max(1 - r**2, 1e-12))))
            else:
                p = ClusteredSum.slope(each, rank.astype(float), of_known).p_lower()
            means = float(here.mean()), float(elsewhere.mean())
            yield Limitation("decline", name, "", n, *means, p)
            yield Limitation("worst_group", name, "the last third", len(here), *means, _lower_p(each, last, of_known))


def _lower_p(values: Floats, here: Bools, cluster: Ints | None) -> float:
    """Return the one-sided p-value of H0: the mean here is not lower."""
    if cluster is None:
        return _welch_p(values[here], values[~here])
    return ClusteredSum.difference(values, here, cluster).p_lower()


def _welch_p(here: Floats, elsewhere: Floats) -> float:
    """Return the one-sided p-value of H0: the mean here is not lower (Welch's t)."""
    from scipy.special import stdtr

    parts = [each.var(ddof=1) / len(each) for each in (here, elsewhere)]
    total = sum(parts)
    if not total > 0:
        return 1.0
    df = total**2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (here, elsewhere), strict=True))
    return float(stdtr(df, (here.mean() - elsewhere.mean()) / math.sqrt(total)))
