"""Many tests at once: p-values adjusted for their number."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from functools import cache

import numpy as np

from assay.estimation.options import Adjustment, one_of
from assay.estimation.statistic import Floats

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
