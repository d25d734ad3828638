"""The likelihood of variance components where cells are missing: blocks of labels, joined by a few shared levels.

Labels that agree in the level of every term are collapsed to their mean. Cells are cut into blocks within which most
terms lie (all labels of a teacher); the covariance of a block is a small matrix. Terms that reach across blocks
(raters) are added by Woodbury's identity, in one matrix over all their levels: dense while it is small, sparse above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.errors import DesignError
from assay.estimation.statistic import Floats, Ints
from assay.statistics.balanced import LOG_2PI
from assay.statistics.terms import Terms, contrasts, grouped

MOST_DENSE = 1500
"""Levels across blocks up to which their matrix is dense."""

LEAST = 1e-250
"""A sum of variances below which nothing is inverted."""

MOST_CELLS = 60_000_000
"""Numbers that the covariances of all blocks may have (half a GiB)."""

_SIZES = np.unique(np.rint(1.35 ** np.arange(60)).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Group:
    """Blocks of one size, padded: ``cell`` is (blocks, size), with -1 where a block has no such cell."""

    cell: Ints
    same: Floats
    """(terms within, blocks, size, size): 1 where two cells share a level."""
    across: Ints
    """(terms across, blocks, size): the level, counted over all of them; of a padding cell, one more than there are."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Cells of labels with everything that does not depend on the variances.

    Attributes
    ----------
    mean, number : (cells,) float
        Of the labels of each cell.
    inside : float
        Squares of labels about their cell's mean.
    codes : tuple of (cells,) int
        The level of each term.
    within, across : tuple of int
        Which terms lie within blocks, and which reach across.
    """

    mean: Floats
    number: Floats
    inside: float
    codes: tuple[Ints, ...]
    within: tuple[int, ...]
    across: tuple[int, ...]
    groups: tuple[Group, ...]
    restricted: bool = True

    @classmethod
    def of(cls, terms: Terms, restricted: bool = True) -> Blocks:
        """Collapse labels to cells and cut them into the blocks that cost least."""
        cell, n = grouped(*terms.codes)
        number = np.bincount(cell, minlength=n).astype(float)
        centre = terms.value.mean()
        mean = np.bincount(cell, weights=terms.value - centre, minlength=n) / number
        inside = float(((terms.value - centre - mean[cell]) ** 2).sum())
        first = np.empty(n, dtype=np.int64)
        first[cell] = np.arange(len(cell))
        codes = tuple(c[first] for c in terms.codes)
        block, within = _cheapest(codes)
        across = tuple(k for k in range(len(codes)) if k not in within)
        groups = _groups(block, codes, within, across)
        return cls(mean, number, inside if n < len(cell) else 0.0, codes, within, across, groups, restricted)

    def with_values(self, mean: Floats, inside: float) -> Blocks:
        """The same cells with other means."""
        made = replace(self, mean=mean, inside=inside)
        vars(made).update({k: v for k, v in vars(self).items() if k in ("n", "levels", "starts")})
        return made

    @cached_property
    def n(self) -> int:
        """Labels."""
        return round(float(self.number.sum()))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many levels each term has."""
        return tuple(int(c.max()) + 1 for c in self.codes)

    @cached_property
    def starts(self) -> Ints:
        """Where the levels of each term across begin, and their number."""
        return np.cumsum([0, *(self.levels[k] for k in self.across)])

    # -- what the fit asks for ----------------------------------------------------------------------

    def deviance(self, theta: Floats) -> float:
        """Minus twice the (restricted) log-likelihood; infinite where the variances are impossible or all 0."""
        if float(np.maximum(theta, 0.0).sum()) < LEAST:
            return np.inf
        try:
            return self._solved(theta).deviance
        except np.linalg.LinAlgError:
            return np.inf

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient of the deviance and its average-information second derivatives."""
        solved = self._solved(theta)
        if solved.dense:
            return solved.gradient(), solved.information()
        return self._differences(theta), solved.information()

    def _solved(self, theta: Floats) -> _Solved:
        """The covariance at a point; the last one is kept, because a step asks for its slope next."""
        last: tuple[bytes, _Solved] | None = vars(self).get("_last")
        if last is None or last[0] != theta.tobytes():
            last = theta.tobytes(), _Solved(self, theta)
            vars(self)["_last"] = last
        return last[1]

    def _differences(self, theta: Floats) -> Floats:
        """The gradient by differences, where the matrix across blocks is too large to be inverted."""
        step = 1e-4 * np.maximum(theta, 1e-3 * theta.sum())
        found = np.empty(len(theta))
        for k, h in enumerate(step):
            up, down = theta.copy(), theta.copy()
            up[k] += h
            down[k] = max(down[k] - h, 0.0)
            found[k] = (self.deviance(up) - self.deviance(down)) / (up[k] - down[k])
        return found

    def curvature(self, theta: Floats) -> Floats:
        """Average-information second derivatives of the deviance."""
        return self._solved(theta).information()

    def simulated(self, theta: Floats, rng: np.random.Generator) -> Blocks:
        """The same cells with labels drawn from these variances."""
        mean = rng.normal(size=len(self.mean)) * np.sqrt(theta[-1] / self.number)
        for k, code in enumerate(self.codes):
            mean += np.sqrt(theta[k]) * rng.normal(size=self.levels[k])[code]
        spare = self.n - len(self.mean)
        return self.with_values(mean, float(theta[-1] * rng.chisquare(spare)) if spare else 0.0)


class _Solved:
    """The covariance at one point, inverted block by block."""

    def __init__(self, blocks: Blocks, theta: Floats) -> None:
        self.of, self.theta = blocks, np.maximum(theta, 0.0)
        # The residual is never quite 0, so that every block has an inverse; a variance of this size is reported as 0.
        self.theta[-1] = max(self.theta[-1], 1e-11 * max(float(self.theta.sum()), 1e-300))
        self.q = int(blocks.starts[-1])
        self.dense = self.q <= MOST_DENSE
        self.log_det = 0.0
        self.inverse: list[Floats] = []
        for group in blocks.groups:
            self.inverse.append(self._invert(group))
        self._join()
        fixed, weighted = self.solve(np.stack([np.ones(len(blocks.mean)), blocks.mean], axis=1)).T
        self.fixed, self.precision = fixed, float(fixed.sum())
        self.residual = weighted - fixed * (fixed @ blocks.mean) / self.precision

    def _invert(self, group: Group) -> Floats:
        """Each block's inverse, and its determinant on the way."""
        theta = self.theta
        # Padding cells have variance 1 and no part in anything.
        diagonal = np.where(group.cell >= 0, theta[-1] / self.of.number[group.cell], 1.0)
        cov = np.zeros((*group.cell.shape, group.cell.shape[1]))
        for same, k in zip(group.same, self.of.within, strict=True):
            if theta[k] > 0:
                cov += theta[k] * same
        along = np.arange(cov.shape[1])
        cov[:, along, along] += diagonal
        if cov.shape[1] == 1:
            self.log_det += float(np.log(cov).sum())
            return np.asarray(1.0 / cov)
        root = np.linalg.cholesky(cov)
        self.log_det += 2 * float(np.log(root[:, along, along]).sum())
        return np.asarray(np.linalg.inv(cov))

    def _join(self) -> None:
        """Woodbury's matrix over the levels across blocks: I + D½ W D½ with W = U'B⁻¹U."""
        if not self.q:
            return
        scale = np.sqrt(np.repeat(self.theta[list(self.of.across)], np.diff(self.of.starts)))
        if self.dense:
            self.w = self._w_dense()
            root = np.linalg.cholesky(np.eye(self.q) + scale[:, None] * self.w * scale)
            self.log_det += 2 * float(np.log(np.diag(root)).sum())
            half = np.linalg.solve(root, np.diag(scale))
            self.c = half.T @ half
            return
        from scipy import sparse
        from scipy.sparse.linalg import splu

        diagonal = sparse.diags(scale)
        joined = (sparse.identity(self.q) + diagonal @ self._w_sparse() @ diagonal).tocsc()
        self.factor = splu(joined, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        self.log_det += float(np.log(np.abs(self.factor.U.diagonal())).sum())
        self.scale = scale

    def _w_dense(self) -> Floats:
        """Sums of the inverse's entries over pairs of levels; padding falls off the end."""
        size = self.q + 1
        found = np.zeros(size * size)
        for group, inverse in zip(self.of.groups, self.inverse, strict=True):
            for a in group.across:
                for b in group.across:
                    place = a[:, :, None] * size + b[:, None, :]
                    found += np.bincount(place.ravel(), weights=inverse.ravel(), minlength=size * size)
        return found.reshape(size, size)[:-1, :-1]

    def _w_sparse(self) -> Any:
        from scipy import sparse

        rows, columns, values = [], [], []
        for group, inverse in zip(self.of.groups, self.inverse, strict=True):
            for a in group.across:
                for b in group.across:
                    there = (a[:, :, None] < self.q) & (b[:, None, :] < self.q)
                    rows.append(np.broadcast_to(a[:, :, None], there.shape)[there])
                    columns.append(np.broadcast_to(b[:, None, :], there.shape)[there])
                    values.append(inverse[there])
        flat = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.coo_matrix(flat, shape=(self.q, self.q)).tocsc()

    def _by_blocks(self, x: Floats) -> Floats:
        """B⁻¹x: (cells, k)."""
        found = np.empty_like(x)
        for group, inverse in zip(self.of.groups, self.inverse, strict=True):
            there = group.cell >= 0
            part = np.where(there[:, :, None], x[group.cell], 0.0)
            found[group.cell[there]] = np.matmul(inverse, part)[there]
        return found

    def solve(self, x: Floats) -> Floats:
        """V⁻¹x: (cells, k)."""
        found = self._by_blocks(x)
        if not self.q:
            return found
        of = self.of
        sums = np.array([
            np.concatenate([np.bincount(of.codes[k], weights=column, minlength=of.levels[k]) for k in of.across])
            for column in found.T
        ]).T  # fmt: skip
        joined = self.c @ sums if self.dense else (self.scale * self.factor.solve(self.scale[:, None] * sums).T).T
        spread = np.zeros_like(x)
        for k, start in zip(of.across, of.starts, strict=False):
            spread += joined[start : start + of.levels[k]][of.codes[k]]
        return found - self._by_blocks(spread)

    @property
    def deviance(self) -> float:
        """Minus twice the (restricted) log-likelihood of the labels, all constants with it."""
        of, error = self.of, self.theta[-1]
        spare = of.n - len(of.mean)
        found = self.log_det + float(self.residual @ of.mean) + of.n * LOG_2PI
        found += float(np.log(of.number).sum()) + (spare * float(np.log(error)) + of.inside / error if spare else 0.0)
        return found + (float(np.log(self.precision)) - LOG_2PI if of.restricted else 0.0)

    def gradient(self) -> Floats:
        """tr(PV_k) − y'PV_kPy for each term, then for the residual."""
        of = self.of
        found = np.zeros(len(of.codes) + 1)
        if self.q:
            middle = self.w - self.w @ self.c @ self.w
            sums = np.add.reduceat(np.diag(middle), of.starts[:-1])
            found[list(of.across)] = sums
        for group, inverse in zip(of.groups, self.inverse, strict=True):
            block = self._diagonal_block(group, inverse)
            for same, k in zip(group.same, of.within, strict=True):
                found[k] += float(np.vdot(block, same))
            along = np.arange(block.shape[1])
            own = np.where(group.cell >= 0, block[:, along, along] / of.number[group.cell], 0.0)
            found[-1] += float(own.sum())
        error, spare = self.theta[-1], of.n - len(of.mean)
        if spare:
            found[-1] += spare / error - of.inside / error**2
        found -= self._squares(self.residual)
        return found - self._squares(self.fixed) / self.precision if of.restricted else found

    def _diagonal_block(self, group: Group, inverse: Floats) -> Floats:
        """V⁻¹ within blocks: B⁻¹ − B⁻¹UCU'B⁻¹."""
        if not self.q:
            return inverse
        padded = np.zeros((self.q + 1, self.q + 1))
        padded[:-1, :-1] = self.c
        middle = np.zeros_like(inverse)
        for a in group.across:
            for b in group.across:
                middle += padded[a[:, :, None], b[:, None, :]]
        return inverse - inverse @ middle @ inverse

    def _squares(self, x: Floats) -> Floats:
        """x'V_kx for each term and the residual."""
        of = self.of
        each = [np.bincount(c, weights=x, minlength=n) for c, n in zip(of.codes, of.levels, strict=True)]
        return np.array([*(s @ s for s in each), (x * x / of.number).sum()])

    def information(self) -> Floats:
        """y'PV_jPV_kPy: the average of observed and expected second derivatives of the deviance."""
        of, x = self.of, self.residual
        each = [np.bincount(c, weights=x, minlength=n)[c] for c, n in zip(of.codes, of.levels, strict=True)]
        working = np.stack([*each, x / of.number], axis=1)
        solved = self.solve(working)
        if of.restricted:
            solved -= np.outer(self.fixed, self.fixed @ working) / self.precision
        found = working.T @ solved
        found[-1, -1] += (of.n - len(of.mean)) / self.theta[-1] ** 2
        return np.asarray((found + found.T) / 2)


# -- cutting ----------------------------------------------------------------------------------------


def _cheapest(codes: Sequence[Ints]) -> tuple[Ints, tuple[int, ...]]:
    """The term whose levels make the blocks, so that blocks and what reaches across them cost least."""
    n = len(codes[0])
    best: tuple[float, Ints, tuple[int, ...]] | None = None
    for block in (*codes, np.arange(n)):
        size = np.bincount(block)
        within = tuple(k for k, c in enumerate(codes) if contrasts(c, block) is not None)
        across = sum(int(c.max()) + 1 for k, c in enumerate(codes) if k not in within)
        numbers = float((size.astype(float) ** 2).sum()) * (1 + len(within))
        if numbers > MOST_CELLS:
            continue
        joined = float(min(across, MOST_DENSE)) ** 3 if across <= MOST_DENSE else 400.0 * float(MOST_DENSE) ** 2.5
        cost = 4 * float((size.astype(float) ** 3).sum()) + joined + 2000 * len(size) ** 0.5 + numbers * 8
        if best is None or cost < best[0]:
            best = cost, block, within
    if best is None:
        raise DesignError("this design has too many levels that reach across each other to be fitted here")
    return best[1], best[2]


def _groups(block: Ints, codes: Sequence[Ints], within: Sequence[int], across: Sequence[int]) -> tuple[Group, ...]:
    """Blocks of about one size together, each as long as the longest."""
    size = np.bincount(block)
    order = np.argsort(block, kind="stable")
    start = np.cumsum(size) - size
    padded = _SIZES[np.searchsorted(_SIZES, size)]
    offsets = np.cumsum([0, *(int(codes[k].max()) + 1 for k in across)])
    groups = []
    for width in np.unique(padded):
        mine = np.flatnonzero(padded == width)
        place = np.arange(size[mine].max())
        there = place < size[mine][:, None]
        cell = np.where(there, order[np.minimum(start[mine][:, None] + place, len(order) - 1)], -1)
        same = [_same(codes[k], cell) for k in within]
        level = [
            np.where(there, codes[k][cell] + first, offsets[-1]) for k, first in zip(across, offsets, strict=False)
        ]
        shape = (0, *cell.shape)
        groups.append(
            Group(cell, np.array(same) if same else np.empty((*shape, cell.shape[1])),
                  np.array(level) if level else np.empty(shape, dtype=np.int64))
        )  # fmt: skip
    return tuple(groups)


def _same(code: Ints, cell: Ints) -> Floats:
    """1 where two cells of a block share a level; a padding cell shares none."""
    level = np.where(cell >= 0, code[cell], -1)
    shared = (level[:, :, None] == level[:, None, :]) & (cell >= 0)[:, :, None]
    return np.asarray(shared, dtype=float)
