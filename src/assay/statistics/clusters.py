"""Items that are dependent: errors of sums over clusters, and groups of items whose labels depend on one another.

Several items of one document, patient or lesson share errors. Tests that assume independent items then find
differences that are not there: up to half of all studies without a difference (documents of 10 items).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.columns import KEY
from assay.data.names import stems
from assay.data.ratings import level_codes
from assay.data.structure.role_names import ENDS_IN_ID, plain_name
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.wins import LOSS, WIN

LEAST_GROUPS = 10
"""Groups of items, such as documents, from which their effect on the tests is estimated."""

LEAST_ANNOTATORS = 3
"""Annotators with separate items from which the same is estimated: fewer are usual, and each has many items."""

FEW_CLUSTERS = 20
"""With fewer clusters the level of a test depends on their correlation; see docs/type-one-error.md. 95% intervals of
the coefficient of a level with three of twelve clusters cover .91 to .95."""

LARGE_EFFECT = 1.2
"""A design effect from which a caution is printed: standard errors that ignore it are 10% too small."""

CHANCE = 0.05
"""Probability up to which an effect of groups of items is not one of chance; for all item columns together."""

BATCHES = (10, 30, 100)
"""Consecutive labels that are examined together: labels of one document, and of one day."""

FLAT = 1e-12
"""Variances up to this are rounding."""


@dataclass(frozen=True)
class DocumentEffect:
    """The effect of shared prefixes of item ids, or values of an item column, if items are assumed independent.

    Attributes
    ----------
    n_stems, n_items : int
    design : float
        The variance of the comparison with annotators, or of the estimate, over that of independent items.
    column : str
        The item column, such as that of documents; empty for prefixes of item ids.
    by_chance : bool
        Whether an effect of this size is not significant.
    df : float, optional
        Degrees of freedom of the effect of independent items, if it is not that of groups of equal size.
    """

    n_stems: int
    n_items: int
    design: float
    column: str = ""
    by_chance: bool = False
    df: float | None = None

    @classmethod
    def of(cls, part: Floats, code: Ints, column: str) -> DocumentEffect:
        """Return the effect of groups on the contributions of items, (n,) each.

        If signs of independent items change at random, the variance of the effect is twice the sum of the squared
        products of two items of a group, over the squared sum of squares: few groups of large contributions vary more.
        It is at least that of equal contributions.
        """
        df = math.inf
        for square in (part**2, np.ones(len(part))):
            within = np.bincount(code, square) ** 2 - np.bincount(code, square**2)
            df = min(df, float(square.sum()) ** 2 / max(float(within.sum()), FLAT**2))
        return cls(int(code.max()) + 1, len(code), _raw_effect(part, code), column, df=df)

    @property
    def p(self) -> float:
        """The probability of at least this effect if the items are independent: χ² of the groups' sums."""
        from scipy.special import chdtrc

        df = self.n_stems - 1 if self.df is None else self.df
        return float(chdtrc(df, self.design * df))


def largest_effect(
    of_columns: Sequence[DocumentEffect], n_columns: int, level: float = CHANCE
) -> DocumentEffect | None:
    """Return the largest effect that is not one of chance, at a level for all columns."""
    found = [one for one in of_columns if one.p < level / n_columns]
    return max(found, key=lambda effect: effect.design, default=None)


def grouped_items(items: pl.DataFrame | None, left_out: Sequence[str] = ()) -> Mapping[str, Ints]:
    """Return the groups of items that share a value of an item column, such as a document: (items,) each.

    Numbers are no groups, unless their name is that of ids.
    """
    found: dict[str, Ints] = {}
    for one in () if items is None else items.iter_columns():
        if one.name in ("item", *left_out) or one.dtype.is_nested() or one.null_count():
            continue
        least = LEAST_ANNOTATORS if one.name == "annotator" else LEAST_GROUPS
        grouped = least <= one.n_unique() <= len(one) / 2
        if grouped and (not one.dtype.is_numeric() or ENDS_IN_ID.search(plain_name(one.name))):
            found[one.name] = level_codes(one)
    return found


def groups_without(code: Ints, taken: Ints, stratum: Ints | None = None) -> tuple[float, float]:
    """Return the expected groups in a random sample of items, and P(so many groups as in this one are not in it).

    A group is not in the sample with hypergeometric probability; the number of these groups has at most the tail of the
    binomial, since groups take items from one another. In strata, each has its own sample and its part of a group.

    Parameters
    ----------
    code, stratum : (items,) int
    taken : (n,) int
        The items in the sample.

    Examples
    --------
    >>> import numpy as np
    >>> expected, p = groups_without(np.repeat(np.arange(3), 2), np.array([0, 1]))
    >>> round(expected, 6), round(p, 6)
    (1.8, 0.352)
    """
    from scipy.special import bdtrc, gammaln

    of = np.zeros_like(code) if stratum is None else stratum
    (home, group), part = np.unique(np.stack([of, code]), axis=1, return_inverse=True)
    part = part.reshape(-1)
    n, n_all = (np.bincount(one, minlength=of.max() + 1)[home] for one in (of[taken], of))
    left = n_all - np.bincount(part)  # items of the stratum in other groups
    rest = np.maximum(left, n)
    none = np.exp(gammaln(rest + 1) + gammaln(n_all - n + 1) - gammaln(rest - n + 1) - gammaln(n_all + 1))
    none = np.where(left < n, 0.0, none)
    without = int((np.bincount(part[taken], minlength=len(none)) == 0).sum())
    p = float(bdtrc(without - 1, len(none), float(none.mean()))) if without else 1.0
    nowhere = np.ones(int(code.max()) + 1)
    np.multiply.at(nowhere, group, none)
    return float((1 - nowhere).sum()), p


def item_columns(labels: Annotations) -> pl.DataFrame:
    """Return the items with the columns in which groups of them are sought.

    If every item has one label, as in a file of one judge, any column of the labels can be one of the items; but not
    one that determines the label, such as the label in other words.
    """
    items = labels.items
    if len(labels) != labels.n_items:
        return items
    known = (*KEY, *items.columns, *labels.conditions, "label")
    rows = items.select("item").join(labels.labels, on="item", how="left", maintain_order="left")
    more = [one for one in rows.drop(known, strict=False).iter_columns() if not one.dtype.is_nested()
            and rows.select(one.name, "label").n_unique() > one.n_unique()]  # fmt: skip
    return items.with_columns(more)


def by_items(labels: Annotations, names: Sequence[str], values: Floats) -> Floats:
    """Return the values of some items, (names,), for each item of the table; NaN for the others."""
    known = dict(zip(names, values.tolist(), strict=True))
    return np.array([known.get(item, np.nan) for item in labels.items["item"].to_list()], dtype=float)


def dependence(
    parts: Floats, items: pl.DataFrame, left_out: Sequence[str] = (), level: float = CHANCE
) -> DocumentEffect | None:
    """Return the effect of documents on estimates whose errors are assumed independent; None without a large one.

    Parameters
    ----------
    parts : (items,) or (estimates, items) float
        The contribution of each item to the error of each estimate; NaN without one.
    items : DataFrame
        The items, with their columns: each is examined, and shared prefixes of item ids.
    left_out : sequence of str
        Columns that are no groups, such as the text; empty for the prefixes.
    level : float
        Of the test, for all estimates and groups.
    """
    found, known, rows = list[DocumentEffect](), dict[bytes, Mapping[str, Ints]](), np.atleast_2d(parts)
    for part in rows:
        there = ~np.isnan(part)
        if there.sum() < 2 * LEAST_GROUPS:
            continue
        if (key := there.tobytes()) not in known:
            known[key] = groups_of(items.filter(pl.Series(there)), left_out)
        each = [DocumentEffect.of(part[there], code, name) for name, code in known[key].items()]
        # A column with the same groups as the ids is named: it can be given as clusters.
        best = largest_effect(each, max(len(each), 1) * len(rows), level)
        found += [best] if best is not None and best.design >= LARGE_EFFECT else []
    return max(found, key=lambda effect: effect.design, default=None)


def consecutive_effect(values: Floats, level: float = CHANCE) -> DocumentEffect | None:
    """Return the effect of batches of consecutive labels, if it is large and not one of chance; else None.

    Parameters
    ----------
    values : (labels,) float
        In the order of the labels.
    """
    sizes = [size for size in BATCHES if len(values) >= LEAST_GROUPS * size]
    part = values - values.mean() if sizes else values
    best = largest_effect(
        [DocumentEffect.of(part, np.arange(len(part)) // size, "") for size in sizes], len(sizes), level
    )
    return best if best is not None and best.design >= LARGE_EFFECT else None


def groups_of(items: pl.DataFrame, left_out: Sequence[str]) -> Mapping[str, Ints]:
    """Return the groups of item columns, and of shared prefixes of item ids, whose name is empty."""
    groups, shared = dict(grouped_items(items, left_out)), stems(items["item"].cast(pl.String))
    if "" not in left_out and shared is not None and LEAST_GROUPS <= len(shared.stem.names) <= len(items) / 2:
        groups[""] = shared.stem.codes.astype(np.int64)
    return groups


def _raw_effect(part: Floats, cluster: Ints) -> float:
    """The squared sums of clusters over the squares of items, corrected for the clusters' number."""
    own, sums = float(part @ part), np.bincount(cluster, part)
    size = np.bincount(cluster)
    held = size > 0
    free = (1 - float((size.astype(float) ** 2).sum()) / len(part) ** 2) / (1 - 1 / len(part))
    return 1.0 if own <= FLAT**2 or held.sum() < 2 else float(sums @ sums) / own / free


def design_effect(part: Floats, cluster: Ints | None) -> float:
    """Return the variance of a sum over that of independent items: at least 1.

    With few clusters it can be underestimated, especially if nothing varies, so that half a cluster of identical items
    is added, as in the tests of the verdict.
    """
    if cluster is None:
        return 1.0
    size = np.bincount(cluster).astype(float)
    number, alike = int((size > 0).sum()), float((size**2).sum()) / len(part)
    centred = part - part.mean()
    effect = alike if float(centred @ centred) <= FLAT**2 or number < 2 else _raw_effect(centred, cluster)
    return float(_steadied(effect, alike, number))


def _steadied(effect: Floats | float, alike: Floats | float, number: Ints | int) -> Floats:
    """A design effect with half a cluster of identical items added, whose effect is ``alike``: at least 1."""
    return np.maximum(((number - 1) * effect + 0.5 * alike) / (number - 0.5), 1.0)


def _leverage(variance: Floats, taken: Floats) -> Floats:
    """What a cluster's squared sum of residuals is multiplied by (CR2), from its variance and that of the means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > taken * (1 + 1e-9), variance / (variance - taken), 1.0)


def _effective(squares: Floats, weight: Floats, effect: Floats | float, alike: Floats | float) -> Floats:
    """Effective clusters, at the within-cluster correlation of a design effect: of (clusters, ...) the number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.where(np.greater(alike, 1 + 1e-9), np.clip(np.subtract(effect, 1) / np.subtract(alike, 1), 0, 1), 0)
    adds = (1 - within) * squares + within * weight**2
    return np.asarray(adds.sum(axis=0) ** 2 / (adds**2).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Clustering:
    """The effect of clusters on the tests of each annotator: arrays (annotators,).

    Attributes
    ----------
    inflation : float
        Cluster-robust standard error of the mean difference over the one for independent items.
    share : float
        Effective clusters per item: one cluster of 60 items and nine of five count less than ten.
    design : float
        The design effect of the verdict's test; see `clustering_of`. NaN if a class lies in a single cluster.
    effect : float
        The design effect as observed. NaN if a class lies in a single cluster.
    n_clusters : int
        The number of clusters.
    """

    inflation: Floats
    share: Floats
    design: Floats
    effect: Floats
    n_clusters: Ints

    def part(self, which: Ints) -> Clustering:
        """Return the values of some of the groups."""
        return Clustering(
            self.inflation[which], self.share[which], self.design[which], self.effect[which], self.n_clusters[which]
        )


def clustering_of(
    counts: Floats, error: Floats, group: Ints, cluster: Ints, sign: Ints, shares: Floats | None
) -> Clustering:
    """Return the effect of clusters on the tests of several groups of comparisons.

    The standard error is CR2 (Bell & McCaffrey 2002): squared sums over clusters, each divided by one minus its
    leverage, so that the variance is unbiased for independent items. Degrees of freedom are effective clusters minus
    one: the squared sum of the clusters' contributions to the variance over the sum of their squares (Carter, Schnepel
    & Steigerwald 2017), at the estimated within-cluster correlation.

    The design effect is the robust variance over the variance of independent items, at least 1. With few clusters it
    can be underestimated, especially if no difference is observed, so that half a cluster of identical items is added.

    Parameters
    ----------
    counts : (groups, classes, 3) float
        Wins, ties and losses.
    error : (groups,) float
        The standard error of each mean difference for independent items.
    group, cluster, sign : (n,) int
        Of each comparison; the sign is 1 if the judge is closer.
    shares : (n, classes) float or None
        Class of the majority label (C.1).
    """
    m, k = counts.shape[:2]
    n = counts.sum(axis=2)
    place, size = cluster * m + group, (int(cluster.max()) + 1 if len(cluster) else 0) * m
    part = np.ones((len(group), 1)) if shares is None else shares

    def by_cluster(value: Floats) -> Floats:
        return np.asarray(np.bincount(place, value, size).reshape(-1, m), dtype=float)

    with np.errstate(invalid="ignore", divide="ignore"):
        # The mean difference as a weighted sum: an item's weight by class, and the variance of independent items.
        means = np.where(n > 0, (counts[..., LOSS] - counts[..., WIN]) / n, 0.0)
        each = np.where(n > 0, 1 / n, 0.0) / (n > 0).sum(axis=1)[:, None]
        squared = (counts[..., LOSS] + counts[..., WIN]) - n * means**2
        own = (each**2 * np.maximum(squared, 0.0) * n / np.maximum(n - 1, FLAT)).sum(axis=1)
        residual = by_cluster((part * each[group] * (-sign[:, None] - means[group])).sum(axis=1))
        # Variance of a cluster's sum of residuals for independent items, without and with that of the means.
        held = np.stack([by_cluster(part[:, c]) for c in range(k)], axis=-1)
        whole = (each**2 * held).sum(axis=-1)
        taken = (each**2 * held**2 * np.where(n > 0, 1 / n, 0.0)).sum(axis=-1)
        robust = (residual**2 * _leverage(whole, taken)).sum(axis=0)
        # The design effect: for identical items in each cluster, as observed, and as used by the verdict's test.
        of_item = (part * each[group]).sum(axis=1)
        weight, squares = by_cluster(of_item), by_cluster(of_item**2)
        alike = (weight**2).sum(axis=0) / squares.sum(axis=0)
        effect = np.where(own > FLAT**2, robust / own, alike)
        number = (np.bincount(place, minlength=size).reshape(-1, m) > 0).sum(axis=0)
        design = _steadied(effect, alike, number)
        share = _effective(squares, weight, effect, alike) / n.sum(axis=1)
        inflation = np.where(error <= FLAT, 1.0, np.sqrt(robust) / error)
        # If a class lies in a single cluster, the variance between clusters cannot be estimated.
        alone = ((held >= n * (1 - 1e-9)) & (n > 0)).any(axis=(0, 2))
        design, effect = (np.where(alone, np.nan, one) for one in (design, effect))
        return Clustering(inflation, share, design, effect, number)


def _freedom(total: Floats, squares: Floats, means: Floats, ones: Floats, within: float) -> float:
    """Degrees of freedom of a sum of squared sums over clusters: Satterthwaite (Bell & McCaffrey 2002).

    Parameters
    ----------
    total, squares : (clusters,) float
        Sums of the items' weights and of their squares, times the root of the leverage.
    means : (clusters, columns) float
        Products of the weights, so multiplied, with an orthonormal basis; ``ones`` the sums of the basis.
    within : float
        The within-cluster correlation of the errors (Imbens & Kolesár 2016).
    """
    p = means.shape[1]
    # The sums' covariance, diag(own) + wide · inner · wide', in a form that requires no matrix of clusters.
    own = (1 - within) * squares + within * total**2
    wide = np.concatenate([means, total[:, None] * ones], axis=1)
    inner = np.zeros((2 * p, 2 * p))
    inner[:p, :p] = within * (ones.T @ ones) - (1 - within) * np.eye(p)
    inner[:p, p:] = inner[p:, :p] = -within * np.eye(p)
    product = inner @ (wide.T @ wide)
    trace = own.sum() + np.trace(product)
    squared = (own**2).sum() + 2 * (own * ((wide @ inner) * wide).sum(axis=1)).sum() + np.trace(product @ product)
    return float(trace**2 / squared) if squared > 0 else 1.0


@dataclass(frozen=True, eq=False)
class ClusteredSum:
    """A weighted sum of the values of items, such as a difference of two means, with an error robust to clusters.

    The standard error is CR2 (Bell & McCaffrey 2002), as in the tests of the verdict: squared sums over clusters, each
    divided by one minus its leverage, so that the variance is unbiased for independent items. Degrees of freedom are
    those of Bell & McCaffrey at the estimated within-cluster correlation (Imbens & Kolesár 2016): of a difference of
    three clusters and nine 3.5.

    Attributes
    ----------
    estimate, error, df : float
        The error is NaN if a part of the items is in a single cluster.
    parts : (clusters,) float
        The contribution of each cluster to the error.
    even : float
        The error if all items vary alike, as of a usual regression: from the variance of all residuals.
    """

    estimate: float
    error: float
    df: float
    parts: Floats
    even: float = math.nan

    @classmethod
    def mean(cls, values: Floats, cluster: Ints) -> ClusteredSum:
        """Return the mean of all items."""
        n = len(values)
        return cls._of(values, np.full(n, 1 / n), np.full((n, 1), 1 / math.sqrt(n)), cluster)

    @classmethod
    def difference(cls, values: Floats, here: Bools, cluster: Ints) -> ClusteredSum:
        """Return the mean of the items that are here (boolean) minus that of the others.

        Examples
        --------
        >>> import numpy as np
        >>> values, here = np.array([1.0, 2, 3, 4, 5, 6]), np.array([True] * 3 + [False] * 3)
        >>> found = ClusteredSum.difference(values, here, np.arange(6))
        >>> round(found.estimate, 6), round(found.error**2, 6)  # of independent items: 1 / 3 + 1 / 3
        (-3.0, 0.666667)
        """
        inside = np.stack([here, ~here], axis=1).astype(float)
        number = inside.sum(axis=0)
        weight = inside[:, 0] / number[0] - inside[:, 1] / number[1]
        return cls._of(values, weight, inside / np.sqrt(number), cluster)

    @classmethod
    def slope(cls, values: Floats, place: Floats, cluster: Ints) -> ClusteredSum:
        """Return the slope of the values on a number of each item."""
        centred = place - place.mean()
        squares, n = float(centred @ centred), len(values)
        basis = np.stack([np.full(n, 1 / math.sqrt(n)), centred / math.sqrt(squares)], axis=1)
        return cls._of(values, centred / squares, basis, cluster)

    @classmethod
    def coefficients(cls, values: Floats, x: Floats, cluster: Ints) -> list[ClusteredSum]:
        """Return the least-squares coefficient of the values on each column of x, (items, columns) of full rank.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.stack([np.ones(6), [0, 0, 0, 1, 1, 1]], axis=1)
        >>> found = ClusteredSum.coefficients(np.array([1.0, 2, 3, 4, 5, 6]), x, np.arange(6))[1]
        >>> round(found.estimate, 6), round(found.error**2, 6), round(found.df, 6)
        (3.0, 0.666667, 4.0)
        """
        basis, triangle = np.linalg.qr(x)
        return [cls._of(values, basis @ row, basis, cluster) for row in np.linalg.inv(triangle)]

    @classmethod
    def _of(cls, values: Floats, weight: Floats, basis: Floats, cluster: Ints) -> ClusteredSum:
        """The sum of weight · value, whose residuals are those from an orthonormal basis, (items, columns)."""
        _, code = np.unique(cluster, return_inverse=True)
        residual = values - basis @ (basis.T @ values)

        def by_cluster(each: Floats) -> Floats:
            return np.asarray(np.bincount(code, each), dtype=float)

        squares, total = by_cluster(weight**2), by_cluster(weight)
        means, ones = (
            np.stack([by_cluster(each * column) for column in basis.T], axis=1) for each in (weight, np.ones(len(code)))
        )
        taken = (means**2).sum(axis=1)
        free = max(len(values) - basis.shape[1], 1)
        if bool(((squares > FLAT * squares.sum()) & (squares <= taken * (1 + 1e-9))).any()):
            return cls(float(weight @ values), math.nan, math.nan, np.full(len(squares), math.nan))
        lever = _leverage(squares, taken)
        parts = by_cluster(weight * residual) * np.sqrt(lever)
        robust = float((parts**2).sum())
        own = float((weight**2 * residual**2).sum()) * len(values) / free
        alike = float((total**2).sum() / squares.sum())
        within = min(max((robust / own - 1) / (alike - 1), 0.0), 1.0) if own > FLAT**2 and alike > 1 + 1e-9 else 0.0
        root = np.sqrt(lever)
        df = _freedom(total * root, squares * lever, means * root[:, None], ones, within)
        even = math.sqrt(float(squares.sum()) * float(residual @ residual) / free)
        return cls(float(weight @ values), math.sqrt(robust), max(df, 1.0), parts, even)

    def p_lower(self) -> float:
        """The one-sided p-value of H0: the sum is not below 0; 1 without a standard error."""
        from scipy.special import stdtr

        return float(stdtr(self.df, self.estimate / self.error)) if self.error > 0 else 1.0

    def p(self) -> float:
        """The two-sided p-value of H0: the sum is 0; 1 without a standard error."""
        from scipy.special import stdtr

        return float(2 * stdtr(self.df, -abs(self.estimate) / self.error)) if self.error > 0 else 1.0
