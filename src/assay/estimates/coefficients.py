"""Regression coefficients of human labels, from a judge's labels of all items and human labels of a random sample.

A regression on the judge's labels alone is biased if the judge's errors depend on the regressors. Here the coefficients
of the judge's labels of all items are corrected by the difference of the coefficients of human and judge labels on the
labelled items (predict-then-debias), with a tuned weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtrit

from assay.data.names import natural
from assay.errors import DataError, DesignError, counted
from assay.estimates import words
from assay.estimates.difference import tune_lambda
from assay.estimation.intervals import Estimate, estimate_by_ends, without_interval
from assay.estimation.statistic import Floats, Ints
from assay.statistics.clusters import ClusteredSum

ITEMS_A_COLUMN = 10
"""Least labelled items for each coefficient."""

LEAST_CLUSTERS = 6
"""Least clusters with labelled items for an interval."""

FEW_FREE = 15
"""With fewer degrees of freedom an interval is at least that of equal variances: four labelled items of a level often
have one label, and then no variance. Of intervals of a level with 2, 4, 6 and 10 of 60 labelled items, .07, .17, .13
and .08 are wrong without this rule, of humans only .02, .31, .16 and .09 (share .2); with it at most .04."""

MOST_LEVERAGE = 0.9
"""The largest leverage of a unit on λ, so that a unit that determines λ does not have an infinite residual."""

INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False)
class Regressors:
    """The columns of a regression: (items, columns), the intercept first."""

    names: tuple[str, ...]
    x: Floats

    @classmethod
    def of(cls, columns: Mapping[str, pl.Series], items: Sequence[str]) -> Regressors:
        """Return numbers as they are, and an indicator for each level of a text column but the first.

        Raises
        ------
        DataError
            For empty cells.
        DesignError
            For columns that others determine.
        """
        names, found = [INTERCEPT], [np.ones(len(items))]
        for name, column in columns.items():
            values = column.fill_nan(None) if column.dtype.is_float() else column
            if values.null_count():
                item = items[values.is_null().arg_max() or 0]
                raise DataError(f"item '{item}' has no '{name}'; fill in the values, or drop those items")
            if values.dtype.is_numeric():
                names.append(name)
                found.append(values.cast(pl.Float64).to_numpy())
                continue
            text = values.cast(pl.String)
            for level in natural(text.unique().to_list())[1:]:
                names.append(f"{name} = {level}")
                found.append((text == level).to_numpy().astype(float))
        x = np.column_stack(found)
        scale = np.maximum(np.abs(x).max(axis=0), 1e-300)
        if np.linalg.matrix_rank(x / scale) < x.shape[1]:
            raise DesignError("a column of regress=... is constant, or determined by the others", option="regress")
        return cls(tuple(names), x)


@dataclass(frozen=True, eq=False)
class CorrectedCoefficient:
    """A coefficient, corrected, from human labels only, and from the judge's labels only."""

    name: str
    corrected: Estimate
    humans_only: Estimate
    judge_only: float
    weight: float
    equivalent_labels: int | None


def corrected_coefficients(
    regressors: Regressors, judged: Floats, position: Ints, human: Floats, unit: Ints | None, confidence: float
) -> list[CorrectedCoefficient]:
    """Return β = λ β_judge(all) + β_human(labelled) − λ β_judge(labelled) of each column.

    Parameters
    ----------
    judged : (items,) float
        The judge's label of every item; NaN if it is missing.
    position : (n,) int
        The labelled items, a random sample.
    human : (n,) float
        The mean human label of each.
    unit : (items,) int, optional
        Cluster of each item.

    Raises
    ------
    DesignError
        For too few labelled items, or columns that they cannot separate.
    """
    x, n, p = regressors.x, len(position), regressors.x.shape[1]
    if n < ITEMS_A_COLUMN * p:
        raise DesignError(
            f"{counted(p, 'coefficient')} require {ITEMS_A_COLUMN * p} labelled items ({ITEMS_A_COLUMN} each); there "
            f"are {n}", option="regress",
        )  # fmt: skip
    # Of a random sample, the items with a judge's label are a random sample of all items with one.
    there = np.isfinite(judged)
    both = there[position]
    if int(both.sum()) < ITEMS_A_COLUMN * p:
        raise DesignError(
            f"{counted(p, 'coefficient')} require {ITEMS_A_COLUMN * p} labelled items that the judge labelled; there "
            f"are {int(both.sum())}", option="regress",
        )  # fmt: skip
    if np.linalg.matrix_rank(x[position[both]] / np.maximum(np.abs(x).max(axis=0), 1e-300)) < p:
        raise DesignError("the labelled items have too few different values of the columns", option="regress")
    units = np.arange(len(x)) if unit is None else np.unique(unit, return_inverse=True)[1].reshape(-1)
    n_clusters = None if unit is None else len(np.unique(units[position]))
    fits = [
        ClusteredSum.coefficients(values, x[rows], units[rows])
        for values, rows in ((judged[there], np.flatnonzero(there)), (judged[position[both]], position[both]),
                             (human, position))
    ]  # fmt: skip
    places = [np.unique(units[rows]) for rows in (there, position[both], position)]
    y = np.stack([human, np.where(both, judged[position], judged[position[both]].mean())])
    residuals = y - (x[position] @ np.linalg.lstsq(x[position], y.T, rcond=None)[0]).T
    found = []
    for name, *three in zip(regressors.names, *fits, strict=True):
        whole, _, own = three
        few = n_clusters is not None and n_clusters < LEAST_CLUSTERS
        if few or np.isnan([one.error for one in three]).any():
            of_one = words.one_unit(unit is not None)
            reason = words.too_few_clusters(n_clusters or 0, LEAST_CLUSTERS) if few else of_one
            none = without_interval(own.estimate, reason)
            found.append(CorrectedCoefficient(name, none, none, whole.estimate, 0.0, None))
            continue
        corrected, weight = _combined(three, places, int(units.max()) + 1, (residuals, n - p), confidence)
        humans = _estimate(own.estimate, [(own.error, own.df), (own.even, n - p)], own, confidence)
        ratio = (humans.standard_error / corrected.standard_error) ** 2 if corrected.standard_error > 0 else 1.0
        found.append(
            CorrectedCoefficient(name, corrected, humans, whole.estimate, weight, max(int(n * (ratio - 1)), 0))
        )
    return found


def _combined(
    fits: Sequence[ClusteredSum], places: Sequence[Ints], n_units: int, alike: tuple[Floats, int], confidence: float
) -> tuple[Estimate, float]:
    """The corrected coefficient and λ, from those of the judge on all items and on the labelled ones, and of humans.

    ``alike`` has the residuals of human and judge labels of the labelled items, (2, n), and their degrees of freedom.
    """
    whole, here, own = fits
    parts = np.zeros((3, n_units))
    for row, place, one in zip(parts, places, fits, strict=True):
        row[place] = one.parts
    f, v, u = parts
    weight = tune_lambda(u[places[2]], v[places[2]], clip=False)
    # λ is tuned on the labelled units: a residual is that with the λ of the others, and λ takes a degree of freedom.
    used = v**2 / float(v @ v) if weight else np.zeros(n_units)
    residual = (u - weight * v) / (1 - np.minimum(used, MOST_LEVERAGE))
    variance = np.array([residual @ residual, weight**2 * (f @ f)])
    each = [max(own.df - (weight != 0), 1.0), whole.df]
    df = float(variance.sum() ** 2 / (variance**2 / each).sum()) if variance.sum() > 0 else own.df
    value = weight * whole.estimate + own.estimate - weight * here.estimate
    (human, judged), free = alike
    total, rest = (float(np.linalg.norm(one)) for one in (human, human - weight * judged))
    even = math.hypot(own.even * rest / total if total > 0 else 0.0, weight * whole.error)
    robust = float(np.linalg.norm(weight * f + residual))
    return _estimate(value, [(robust, df), (even, free - (weight != 0))], own, confidence), weight


def _estimate(value: float, errors: Sequence[tuple[float, float]], own: ClusteredSum, confidence: float) -> Estimate:
    """A value with its t interval: of the robust error, or of the larger one if human labels have few degrees."""
    known = errors[:1] if own.df >= FEW_FREE else errors

    def ends(level: float) -> tuple[float, float]:
        half = max(float(stdtrit(df, (1 + level) / 2)) * error for error, df in known)
        return value - half, value + half

    return estimate_by_ends(value, max(error for error, _ in known), ends, confidence)


def coefficient_errors(x: Floats, human: Floats, judged: Floats, weights: Sequence[float]) -> list[Floats]:
    """Return the contributions of labelled items to the errors of the coefficients: (n,) each."""
    filled = np.where(np.isfinite(judged), judged, np.nanmean(judged))
    inverse = np.linalg.pinv(x)
    z = [human - weight * filled for weight in weights]
    return [row * (one - x @ (inverse @ one)) for row, one in zip(inverse, z, strict=True)]
