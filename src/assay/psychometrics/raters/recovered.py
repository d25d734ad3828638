"""What was summed and integrated out, found again: the ideal rating of each cell, the trait of each subject."""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import Density, Grid, Stages
from assay.psychometrics.raters.fit import Fit

AVERAGED = 40
"""Draws over which posteriors of ideal ratings are averaged."""

PIECE = 20_000
"""Cells at a time."""


def ideal_ratings(found: Fit) -> pl.DataFrame:
    """The posterior of each cell's ideal rating, as the label that the average rater gives to it.

    ξ itself is known up to a shift that η takes back; what the average rater says of it is the same in every mode.

    Returns
    -------
    polars.DataFrame
        ``item``, ``criterion``, ``ideal`` (the most probable label), ``certainty`` (its probability), ``expected`` and
        ``sd`` (in numbers, before rounding to a label, and how far it is known), ``labels``.
    """
    table, cells = found.table, found.table.cells
    p = np.zeros((len(cells.kind), table.n_categories))
    first, second = np.zeros((2, len(p)))
    draws = found.some(AVERAGED)
    for x in draws:
        mine, said = _of_cells(found.density, x), _average_label(found.density, x)
        each = said[cells.block[cells.kind]]
        p += _as_said(found.density, mine, said) / len(draws)
        first += (mine * each).sum(axis=1) / len(draws)
        second += (mine * each**2).sum(axis=1) / len(draws)
    low = np.array([c[0] if isinstance(c[0], int) else 0 for c in table.categories])[cells.criterion]
    best = p.argmax(axis=1)
    rows = {
        "item": [table.items[i] for i in cells.item],
        "criterion": pl.Series([table.criteria[j] for j in cells.criterion], dtype=pl.String),
        "ideal": pl.Series([str(table.categories[j][k]) for j, k in zip(cells.criterion, best, strict=True)]),
        "certainty": p[np.arange(len(p)), best],
        "expected": low + first,
        "sd": np.sqrt(np.maximum(second - first**2, 0)),
        "labels": np.diff(cells.start)[cells.kind],
    }
    frame = pl.DataFrame(rows)
    return frame.drop("criterion") if table.criteria == (None,) else frame


def _as_said(density: Density, p: Floats, said: Floats) -> Floats:
    """Probabilities of ideal ratings as those of the labels that the average rater gives to them."""
    k = density.table.n_categories
    to_label = (np.rint(said)[:, :, None] == np.arange(k)) & density.valid[:, :, None]
    cells = density.table.cells
    block = cells.block[cells.kind]
    found = np.zeros_like(p)
    for b in range(density.table.n_blocks):
        found[block == b] = p[block == b] @ to_label[b]
    return found


def traits(found: Fit) -> pl.DataFrame:
    """The posterior of each subject's trait: ``subject``, ``trait``, ``estimate``, ``sd``; none without traits."""
    parts = []
    draws = found.some(AVERAGED)
    total: dict[str, list[Floats]] = {}
    for x in draws:
        stages = found.density.at(x)
        for grid, unit in zip(found.density.grids, stages.unit, strict=True):
            weight = np.exp(unit - unit.max(axis=1, keepdims=True))
            weight /= weight.sum(axis=1, keepdims=True)
            for d, name in enumerate(grid.traits.names):
                point = grid.traits.points[:, d]
                kept = total.setdefault(name, [np.zeros(len(unit)), np.zeros(len(unit))])
                kept[0] += weight @ point / len(draws)
                kept[1] += weight @ point**2 / len(draws)
    for grid in found.density.grids:
        there = np.flatnonzero(grid.kind >= 0)
        for name in grid.traits.names:
            mean, square = (one[grid.kind[there]] for one in total[name])
            parts.append(
                pl.DataFrame(
                    {"subject": [str(found.table.subjects[s]) for s in there], "trait": [name] * len(there),
                     "estimate": mean, "sd": np.sqrt(square - mean**2)}
                )
            )  # fmt: skip
    types = {"subject": pl.String, "trait": pl.String, "estimate": pl.Float64, "sd": pl.Float64}
    return pl.concat(parts) if parts else pl.DataFrame(schema=types)


def _of_cells(density: Density, x: Floats) -> Floats:
    """p(ξ | all labels) of every cell: (all cells, categories)."""
    cells = density.table.cells
    stages = density.at(x)
    found = np.zeros((len(cells.kind), density.table.n_categories))
    for i, grid in enumerate(density.grids):
        mine = np.flatnonzero(np.isin(cells.criterion, grid.traits.criteria))
        for start in range(0, len(mine), PIECE):
            some = mine[start : start + PIECE]
            found[some] = _some_cells(density, stages, grid, i, some)
    return found


def _some_cells(density: Density, stages: Stages, grid: Grid, i: int, some: Ints) -> Floats:
    cells = density.table.cells
    kind = cells.kind[some]
    at = np.searchsorted(grid.cells, kind)
    if grid.traits.names:
        unit = stages.unit[i][grid.kind[cells.subject[some]]]
        weight = np.exp(unit - unit.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
    else:
        weight = np.ones((len(some), 1))
    share = stages.ideal[i][grid.block_of_cell[at]]
    found = np.einsum("uq,uqk->uk", weight / stages.mixed[i][at], share) * stages.likelihood[kind]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _average_label(density: Density, x: Floats) -> Floats:
    """The label that the average rater would give at each ideal rating, from 0: (blocks, categories)."""
    layout, k = density.layout, np.arange(density.table.n_categories)
    shape = (density.table.n_blocks, len(density.table.raters))
    phi = (layout.phi @ x).reshape(shape).mean(axis=1)
    psi = np.exp(density.log_psi(x, np).reshape(shape).mean(axis=1))
    log_p = -0.5 * ((k[None, :, None] - k[None, None, :] - phi[:, None, None]) / psi[:, None, None]) ** 2
    p = np.where(density.valid[:, :, None], np.exp(log_p - log_p.max(axis=1, keepdims=True)), 0.0)
    return np.asarray((k[None, :, None] * p).sum(axis=1) / p.sum(axis=1))


def ideal_shares(found: Fit) -> Floats:
    """How often each label is the ideal one, as the average rater says it: (criteria, categories)."""
    table, cells = found.table, found.table.cells
    total = np.zeros((len(table.criteria), table.n_categories))
    draws = found.some(AVERAGED // 4)
    for x in draws:
        mine = _of_cells(found.density, x)
        np.add.at(total, cells.criterion, _as_said(found.density, mine, _average_label(found.density, x)))
    return np.asarray(total / total.sum(axis=1, keepdims=True))
