"""What raters share: the same cells, the same traits, or nothing, and what cannot be known for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.errors import listing
from assay.estimation.statistic import Ints
from assay.psychometrics.raters.table import RaterTable

ALONE = 0.05
"""A rater with a smaller share of labels beside others in a cell has a variability that is hardly told."""


def parties(table: RaterTable, together: Sequence[Ints] = ()) -> tuple[tuple[str, ...], ...]:
    """Raters who share something, directly or through others; one party where all do.

    What is shared are cells, and of criteria that stand ``together`` in one trait whatever shares that trait.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n, shared = len(table.raters), table.cell.copy()
    first = shared.max() + 1
    for i, criteria in enumerate(together):
        mine = np.isin(table.criterion, criteria)
        shared[mine] = first + table.subject[mine] * len(together) + i
    _, shared = np.unique(shared, return_inverse=True)
    links = coo_matrix((np.ones(len(shared)), (table.rater, n + shared)), shape=(n + shared.max() + 1,) * 2)
    of = connected_components(links, directed=False)[1][:n]
    return tuple(tuple(table.raters[r] for r in np.flatnonzero(of == one)) for one in np.unique(of))


def link_cautions(table: RaterTable, together: Sequence[Ints], what: str | None, symbol: str) -> Iterator[str]:
    """Who can be compared with whom only if more is believed than the labels show.

    Parameters
    ----------
    together : sequence of (criteria,) int
        The criteria of each trait.
    what : str or None
        The column whose items share a trait.
    """
    apart, shared = parties(table, together), f"'{what}'"
    if len(apart) > 1:
        yield (
            f"raters are in {len(apart)} parties that share no {shared if what else 'items'} ({_some(apart)}); "
            f"between parties, {symbol} differs by whatever their items differ, unless items were dealt out at random."
        )
        return
    apart = parties(table)
    if len(apart) > 1:
        yield (
            f"raters are in {len(apart)} parties that share no items ({_some(apart)}); between parties they are "
            f"compared through {shared if what else 'other criteria'} that they share, as if the items that each "
            "party saw of it differed by chance alone."
        )


def _some(apart: Sequence[Sequence[str]]) -> str:
    return "; ".join(listing(p, 4) for p in apart[:3]) + (" …" if len(apart) > 3 else "")


def alone(table: RaterTable) -> tuple[str, ...]:
    """Raters whose labels hardly ever stand beside another label of the same cell."""
    n, size = len(table.raters), np.bincount(table.cell)
    beside = np.bincount(table.rater, size[table.cell] > 1, n) / np.maximum(np.bincount(table.rater, minlength=n), 1)
    return tuple(name for name, share in zip(table.raters, beside, strict=True) if share < ALONE)
