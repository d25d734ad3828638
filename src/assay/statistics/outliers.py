"""Annotators whose way of working is out of line with that of the others, with a controlled rate of false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assay.estimation.intervals import adjust_p
from assay.estimation.statistic import Bools, Floats

LEAST_PEOPLE = 5
"""Least annotators, among whom a median and a spread are known."""

SIMULATED = 400_000
"""Values of the simulated studies under the null hypothesis."""

NORMAL = 1.4826
"""The standard deviation of normal values, by their median absolute deviation."""


@dataclass(frozen=True)
class Mark:
    """One annotator marked for one measure.

    Attributes
    ----------
    person, measure : int
        Positions.
    value, others : float
        The annotator's value, and the median of the others.
    p : float
        Adjusted (Holm) over annotators and measures.
    """

    person: int
    measure: int
    value: float
    others: float
    p: float


def out_of_line(
    values: Floats, errors: Floats, high: Sequence[bool], far: Bools | None = None, level: float = 0.05
) -> list[Mark]:
    """Return the annotators whose values are out of line with those of the others.

    The score of a value is its distance from the median, divided by the larger of the spread of all values and of their
    errors (and by the further error of an annotator with fewer items). Its p-value is from simulated normal studies of
    as many annotators, and adjusted by Holm over annotators and measures. Marked annotators are removed, and the rest
    compared again, until none is marked.

    Parameters
    ----------
    values, errors : (annotators, measures) float
        With standard errors; NaN if it is not known.
    high : sequence of bool
        For each measure, whether high values are out of line, or low ones.
    far : (annotators, measures) bool, optional
        Where a value may be marked at all.
    level : float
        Largest probability of marking any annotator of a study without such annotators.

    Returns
    -------
    list of Mark
        In the order of their p-values; empty with fewer than `LEAST_PEOPLE` annotators.
    """
    sign = np.where(np.asarray(high, dtype=bool), 1.0, -1.0)
    allowed = np.ones(values.shape, dtype=bool) if far is None else far
    rest, found = np.ones(len(values), dtype=bool), list[Mark]()
    while rest.sum() >= LEAST_PEOPLE:
        p = np.full(values.shape, np.nan)
        for k, towards in enumerate(sign):
            known = rest & ~np.isnan(values[:, k])
            if known.sum() >= LEAST_PEOPLE:
                p[known, k] = _p_values(towards * values[known, k], errors[known, k])
        adjusted = adjust_p(p.reshape(-1), "holm").reshape(p.shape)
        marked = np.argwhere((adjusted <= level) & allowed)
        if not len(marked):
            break
        for i, k in marked.tolist():
            others = rest & ~np.isnan(values[:, k]) & (np.arange(len(values)) != i)
            found.append(Mark(i, k, float(values[i, k]), float(np.median(values[others, k])), float(adjusted[i, k])))
        rest[marked[:, 0]] = False
    return sorted(found, key=lambda one: (one.p, one.person, one.measure))


def _p_values(values: Floats, errors: Floats) -> Floats:
    """One-sided p-values of large values."""
    null = null_scores(len(values))
    reached = len(null) - np.searchsorted(null, median_scores(values, errors) - 1e-12, side="left")
    return np.asarray((1 + reached) / (1 + len(null)))


def median_scores(values: Floats, errors: Floats) -> Floats:
    """Distances from the median, as multiples of the spread: (..., annotators)."""
    middle = np.median(values, axis=-1, keepdims=True)
    spread = (NORMAL * np.median(np.abs(values - middle), axis=-1, keepdims=True)) ** 2
    usual = np.median(errors**2, axis=-1, keepdims=True)
    scale = np.sqrt(np.maximum(spread, usual) + np.maximum(errors**2 - usual, 0))
    return np.asarray(np.where(scale > 0, (values - middle) / np.where(scale > 0, scale, 1), 0.0))


@lru_cache(maxsize=128)
def null_scores(people: int) -> Floats:
    """The sorted scores of normal values without errors in studies of this many annotators."""
    rng = np.random.default_rng(people)
    drawn = rng.standard_normal((max(SIMULATED // people, 500), people))
    scores = np.sort(median_scores(drawn, np.zeros_like(drawn)).reshape(-1))
    scores.setflags(write=False)
    return np.asarray(scores)
