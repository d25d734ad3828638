"""Many tests at once: p-values adjusted for their number."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from functools import cache

import numpy as np

from assay.estimation.options import Adjustment, one_of
from assay.estimation.statistic import Floats, Ints

METHODS = typing.get_args(Adjustment)


def adjust_p(p: Floats, method: Adjustment = "by", family: Sequence[object] | None = None) -> Floats:
    """P-values adjusted for their number along the last axis, each within its family where they have several.

    Reject those at most q.

    ``by`` Benjamini & Yekutieli (2001), false discovery rate under any dependence; ``bh`` Benjamini &
    Hochberg (1995), under independence; ``holm`` Holm (1979), family-wise error; NaN stays NaN and does
    not count as a hypothesis.

    Raises
    ------
    DesignError
        For a method that is not known.
    """
    if method not in METHODS:
        one_of("method", method, METHODS)
    p = np.asarray(p, dtype=float)
    if family is None or method == "none":
        return _adjusted(p, method)
    members: dict[object, list[int]] = {}
    for i, one in enumerate(family):
        members.setdefault(one, []).append(i)
    adjusted = np.full(p.shape, np.nan)
    for mine in members.values():
        adjusted[mine] = _adjusted(p[mine], method)
    return adjusted


def partial_conjunction(p: Floats, least: int | Ints) -> Floats:
    """P-value of "fewer than ``least`` of these hypotheses are false" along the last axis: small where so many are.

    Benjamini & Heller (2008), section 2: of m p-values the ``least`` − 1 smallest are set aside, and Simes' test of the
    others' intersection is made, min over i of (m − u + 1) / i · p_(u − 1 + i). NaN is no hypothesis.

    Parameters
    ----------
    p : (..., m) float
    least : int or (...) int
        u, at least 1; where it is more than there are hypotheses, the answer is NaN.
    """
    u = np.asarray(least)[..., None]
    m = np.count_nonzero(~np.isnan(p), axis=-1)[..., None]
    place = np.arange(1, p.shape[-1] + 1) - (u - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(place >= 1, (m - u + 1) / place * np.sort(p, axis=-1), np.inf)  # NaN comes last
    found = np.fmin.reduce(each, axis=-1) if p.shape[-1] else np.full(p.shape[:-1], np.inf)
    return np.where((u > m)[..., 0] | (u < 1)[..., 0], np.nan, np.minimum(found, 1.0))


def simultaneous_p(value: Floats, replicates: Floats, null: float = 0.0) -> Floats:
    """Two-sided p-values of several values at once: how often the largest of all deviations is as large as each one's.

    The single-step max-T of Westfall and Young (1993), from draws around the values, so that what is dependent counts
    as such; the chance that any true null is rejected at level a is a.

    Parameters
    ----------
    value : (q,) float
        NaN is no hypothesis and stays NaN.
    replicates : (n, q) float
        Bootstrap replicates or posterior draws of the values.
    """
    known = np.isfinite(value) & np.isfinite(replicates).all(axis=0)
    found = np.full(len(value), np.nan)
    if known.any() and len(replicates) > 1:
        drawn = replicates[:, known]
        error = np.maximum(drawn.std(axis=0, ddof=1), 1e-12)
        most = np.abs((drawn - drawn.mean(axis=0)) / error).max(axis=1)
        far = np.abs((value[known] - null) / error)
        found[known] = (1 + (most[:, None] >= far).sum(axis=0)) / (1 + len(drawn))
    return found


def _adjusted(p: Floats, method: Adjustment) -> Floats:
    if method == "none" or not p.size:
        return p.copy()
    rows = p.reshape(-1, p.shape[-1])
    m = np.count_nonzero(~np.isnan(rows), axis=1)[:, None]  # NaN is no hypothesis
    rank = np.arange(1, rows.shape[1] + 1)
    place = np.arange(len(rows))[:, None], np.argsort(rows, axis=1, kind="stable")  # NaN comes last
    ranked = rows[place]
    if method == "holm":
        steps = np.maximum.accumulate((m - rank + 1) * ranked, axis=1)
    else:
        factor = _harmonic(rows.shape[1])[m] if method == "by" else 1.0
        steps = np.fmin.accumulate((factor * m / rank * ranked)[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty_like(rows)
    adjusted[place] = np.minimum(steps, 1.0)
    return adjusted.reshape(p.shape)


@cache
def _harmonic(most: int) -> Floats:
    """1 + 1/2 + … + 1/m for every m up to the most."""
    return np.array([np.sum(1.0 / np.arange(1, m + 1)) for m in range(most + 1)])
