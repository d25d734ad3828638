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
from assay.estimates.difference import tune_lambda
from assay.estimation.intervals import Estimate, estimate_by_ends
from assay.estimation.statistic import Floats, Ints

ITEMS_A_COLUMN = 10
"""Least labelled items for each coefficient."""

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
class LinearFit:
    """Least squares: coefficients, and the influence of each row with leave-one-out residuals (HC3).

    Attributes
    ----------
    values : (columns,) float
    influence : (rows, columns) float
        Contributions to the errors of the coefficients.
    """

    values: Floats
    influence: Floats

    @classmethod
    def of(cls, x: Floats, y: Floats) -> LinearFit:
        """Fit y, (rows,), on x, (rows, columns)."""
        inverse = np.linalg.pinv(x.T @ x)
        values = inverse @ (x.T @ y)
        lever = np.einsum("ij,jk,ik->i", x, inverse, x)
        residual = (y - x @ values) / np.maximum(1 - lever, 1e-9)
        return cls(values, (x * residual[:, None]) @ inverse)


@dataclass(frozen=True, eq=False)
class CorrectedCoefficient:
    """A coefficient, corrected, from human labels only, and from the judge's labels only."""

    name: str
    corrected: Estimate
    humans_only: Estimate
    judge_only: float
    weight: float
    equivalent_labels: int
    influence: Floats
    """Of each item, (items,), on the corrected coefficient."""


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
    everywhere = LinearFit.of(x[there], judged[there])
    here, own = LinearFit.of(x[position[both]], judged[position[both]]), LinearFit.of(x[position], human)
    units = np.arange(len(x)) if unit is None else unit
    n_units = len(np.unique(units[position]))
    df = n - p if unit is None else n_units - 1
    found = []
    for k, name in enumerate(regressors.names):
        u, v = own.influence[:, k], np.zeros(n)
        v[both] = here.influence[:, k]
        weight = tune_lambda(*(_sums(units[position], one) for one in (u, v)), clip=False)
        whole = np.zeros(len(x))
        whole[there] = weight * everywhere.influence[:, k]
        whole[position] += u - weight * v
        value = float(weight * everywhere.values[k] + own.values[k] - weight * here.values[k])
        corrected = _estimate(value, _sums(units, whole), df, confidence)
        humans = _estimate(float(own.values[k]), _sums(units[position], u), df, confidence)
        ratio = (humans.standard_error / corrected.standard_error) ** 2 if corrected.standard_error > 0 else 1.0
        found.append(
            CorrectedCoefficient(
                name, corrected, humans, float(everywhere.values[k]), weight, max(int(n * (ratio - 1)), 0), whole
            )
        )
    return found


def _sums(unit: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(np.unique(unit, return_inverse=True)[1].reshape(-1), values), dtype=float)


def _estimate(value: float, contributions: Floats, df: float, confidence: float) -> Estimate:
    """A value with the t interval from the contributions of its units."""
    error = math.sqrt(float((contributions**2).sum()))

    def ends(level: float) -> tuple[float, float]:
        half = float(stdtrit(df, (1 + level) / 2)) * error
        return value - half, value + half

    return estimate_by_ends(value, error, ends, confidence)
