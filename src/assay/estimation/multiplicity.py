"""Many tests at once: p-values adjusted for their number."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np

from assay.estimation.options import Adjustment, one_of
from assay.estimation.statistic import Floats

METHODS = typing.get_args(Adjustment)


def adjust_p(p: Floats, method: Adjustment = "by", family: Sequence[object] | None = None) -> Floats:
    """P-values adjusted for their number, each within its family where they have several: reject those at most q.

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
    if family is None:
        return _adjusted(p, method)
    members: dict[object, list[int]] = {}
    for i, one in enumerate(family):
        members.setdefault(one, []).append(i)
    adjusted = np.full(p.shape, np.nan)
    for mine in members.values():
        adjusted[mine] = _adjusted(p[mine], method)
    return adjusted


def _adjusted(p: Floats, method: Adjustment) -> Floats:
    adjusted = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    tested = p if known.all() else p[known]
    m = len(tested)
    if m == 0 or method == "none":
        return p.copy()
    order = np.argsort(tested, kind="stable")
    rank = np.arange(1, m + 1)
    ranked = tested[order]
    if method == "holm":
        steps = np.maximum.accumulate((m - rank + 1) * ranked)
    else:
        factor = np.sum(1.0 / rank) if method == "by" else 1.0
        steps = np.minimum.accumulate((factor * m / rank * ranked)[::-1])[::-1]
    back = np.empty(m)
    back[order] = np.minimum(steps, 1.0)
    adjusted[known] = back
    return adjusted
