"""Random terms of a linear model as groupings of the same labels: which are the same, which lie within which.

A term is an array of codes, one a label: labels of one code share one draw of the term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.estimation.statistic import Floats, Ints


def grouped(*columns: Ints) -> tuple[Ints, int]:
    """The code of each combination of columns that occurs, from 0 in their order, and how many there are."""
    code, n = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max()) + 1 if len(column) else 1
        code, n = _dense(code * width + column, n * width)
    return code, n


def _dense(code: Ints, width: int) -> tuple[Ints, int]:
    """Codes without gaps, in the same order."""
    if width <= 4 * len(code) + 1024:
        there = np.bincount(code, minlength=width) > 0
        place = np.cumsum(there) - 1
        return place[code], int(there.sum())
    seen, place = np.unique(code, return_inverse=True)
    return place.astype(np.int64), len(seen)


@dataclass(frozen=True, eq=False)
class Terms:
    """Labels and the random terms behind them.

    Attributes
    ----------
    value : (labels,) float
    codes : tuple of (labels,) int
        The level of each term, without gaps; the residual, in which every label is a level of its own, is not among
        them.
    """

    value: Floats
    codes: tuple[Ints, ...]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many levels each term has."""
        return tuple(int(c.max()) + 1 for c in self.codes)

    def with_values(self, value: Floats) -> Terms:
        """The same labels with other values."""
        return Terms(value, self.codes)

    def without(self, which: int) -> Terms:
        """Without one term."""
        return Terms(self.value, self.codes[:which] + self.codes[which + 1 :])

    def rows(self, keep: Ints) -> Terms:
        """Some labels, or some of them several times; levels are numbered anew."""
        return Terms(self.value[keep], tuple(grouped(c[keep])[0] for c in self.codes))


def contrasts(fine: Ints, coarse: Ints) -> int | None:
    """How many differences of levels of ``fine`` lie within levels of ``coarse``; None where it does not lie within."""
    both = grouped(coarse, fine)[1]
    n_fine, n_coarse = int(fine.max()) + 1, int(coarse.max()) + 1
    return n_fine - n_coarse if both == n_fine else None


def left_over(terms: Terms) -> tuple[int, float]:
    """What no level of any term explains: how many contrasts of labels, and the sum of their squares.

    Where there are some and their squares are nothing, the likelihood grows without bound as the residual goes to 0.
    Labels that have a level of a term to themselves are explained by it, so that they are put aside first.
    """
    widest = _outermost(terms.codes)
    kept = np.arange(len(terms))
    while True:
        alone = np.zeros(len(kept), dtype=bool)
        for code in widest:
            alone |= np.bincount(code[kept])[code[kept]] == 1
        if not alone.any():
            break
        kept = kept[~alone]
    if not len(kept):
        return 0, 0.0
    codes = [grouped(c[kept])[0] for c in widest] or [np.zeros(len(kept), dtype=np.int64)]
    y = terms.value[kept] - terms.value[kept].mean()
    return _rest_of(y, codes)


def _outermost(codes: Sequence[Ints]) -> list[Ints]:
    """Terms within which no other term lies twice: what they explain holds what the others explain."""
    kept: list[Ints] = []
    for code in sorted(codes, key=lambda c: -int(c.max())):
        if all(contrasts(other, code) is None for other in kept):
            kept.append(code)
    return kept


def _rest_of(y: Floats, codes: Sequence[Ints]) -> tuple[int, float]:
    """Degrees of freedom and squares that are left when every level has its own mean."""
    from scipy import sparse

    n = len(y)
    each = [sparse.csr_matrix((np.ones(n), (np.arange(n), c)), shape=(n, int(c.max()) + 1)) for c in codes]
    if len(codes) == 1:
        sums = np.bincount(codes[0], weights=y)
        return n - len(sums), float(max(y @ y - (sums**2 / np.bincount(codes[0])).sum(), 0.0))
    from scipy.sparse.linalg import lsmr

    design = sparse.hstack(each, format="csr")
    solved = lsmr(design, y, atol=1e-13, btol=1e-13, maxiter=2000)[0]
    squares = float(np.sum((y - design @ solved) ** 2))
    if n * design.shape[1] <= 200_000:
        return n - int(np.linalg.matrix_rank(design.toarray())), squares
    return max(n - design.shape[1] + len(codes) - 1, 1), squares


def anova(terms: Terms) -> Floats:
    """Variances of the terms, then of the residual, by Henderson's (1953) method 1: (terms + 1,).

    Sums of squared totals of each term, less the one of the whole, are set equal to what they are expected to be.
    Unbiased; may be below 0. In a balanced table they are the expected mean squares' solution. NaN where the
    equations have none.
    """
    n = len(terms)
    y = terms.value - terms.value.mean()
    size = [np.bincount(c).astype(float) for c in terms.codes]
    k = len(size)
    left, right = np.empty((k + 1, k + 1)), np.empty(k + 1)
    whole = np.array([*((s**2).sum() / n for s in size), 1.0])
    for a in range(k):
        total = np.bincount(terms.codes[a], weights=y)
        right[a] = (total**2 / size[a]).sum()
        for b in range(k):
            left[a, b] = _shared(terms.codes[a], terms.codes[b], size[a]) - whole[b]
        left[a, k] = len(size[a]) - whole[k]
    right[k] = y @ y
    left[k] = n - whole
    if np.linalg.matrix_rank(left) <= k:
        return np.full(k + 1, np.nan)
    return np.asarray(np.linalg.solve(left, right), dtype=float)


def _shared(a: Ints, b: Ints, size: Floats) -> float:
    """Sum over levels of a of the squared numbers of labels with each level of b, per label of a."""
    both, n = grouped(a, b)
    number = np.bincount(both, minlength=n).astype(float)
    of = np.empty(n, dtype=np.int64)
    of[both] = a
    return float((number**2 / size[of]).sum())
