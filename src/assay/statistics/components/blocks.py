"""How likely are labels under given variance components? Random terms as groupings of labels, and two likelihoods.

A complete table needs its mean squares alone (`Balanced`). In any other, labels that agree in the level of every term
are collapsed to their mean, and cells are cut into blocks within which most terms lie (all labels of a teacher); the
covariance of a block is a small matrix (`Blocks`). Terms that reach across blocks (raters) are added by Woodbury's
identity, in one matrix over all their levels: dense while it is small, sparse above. `reml` searches either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from assay.errors import DesignError, counted
from assay.estimation.statistic import Floats, Ints

# -- Random terms ------------------------------------------------------------------------------------
# A term is an array of codes, one a label: labels of one code share one draw of the term.

DEPENDENT = 1e-9
"""An eigenvalue of covariance matrices, as correlations, that is nothing: rounding leaves 1e-15, and a larger limit
would refuse designs that a few labels hold together."""

NAMED_PART = 0.05
"""Terms with a smaller weight in the combination that is nothing are not named in the message."""

LEAST_SQUARES = (1e-6, 1e-13)
"""Tolerances of least squares; the second only tests whether a small residual is zero."""

MOST_SEQUENTIAL = 3_000_000
"""Entries of the matrices whose singular values are computed for an analysis of variance: seconds."""

MOST_RANKED = 200_000
"""Entries of a matrix whose rank is computed (tenths of a second); of a larger one it is bounded."""


def cross_codes(*columns: Ints) -> tuple[Ints, int]:
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
        The level of each term, without gaps; the residual, in which every label is a separate level, is not included.
    """

    value: Floats
    codes: tuple[Ints, ...]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many levels each term has."""
        return tuple(int(c.max()) + 1 for c in self.codes)


def contrasts(fine: Ints, coarse: Ints) -> int | None:
    """Return the number of contrasts of ``fine`` within levels of ``coarse``; None if it is not nested."""
    both = cross_codes(coarse, fine)[1]
    n_fine, n_coarse = int(fine.max()) + 1, int(coarse.max()) + 1
    return n_fine - n_coarse if both == n_fine else None


def untold(
    value: Floats, measured: Ints, *others: Ints, least: int = 3, name: str = "item", other: str = "annotator"
) -> str | None:
    """Return the reason why the object variance cannot be separated from error; None if it can.

    Parameters
    ----------
    value : (labels,) float
    measured : (labels,) int
        The object of each label: the item of an ICC, the facet ``object`` of a G-study.
    others : sequence of (labels,) int
        Facets that each object should have several levels of, such as annotators.
    least : int
        Differences that a variance rests on, at least: a variance of fewer is that of one or two numbers.
    name, other : str
        The names of the object and of the others.
    """
    if not len(value) or np.ptp(value) == 0:
        return "the labels do not vary"
    n = cross_codes(measured)[1]
    if few := few_levels(n, least, name):
        return few
    if len(value) - n < least:
        return f"too few levels of {name} have two labels to separate its variance from error"
    for code in others:
        within = contrasts(measured, code)
        if within is not None and within < least:
            return f"each level of {other} has a separate level of {name}, so their variances are confounded"
    return None


def few_levels(n: int, least: int, name: str) -> str | None:
    """Return the reason for no interval of a variance from too few levels; None if they are enough."""
    if n - 1 >= least:
        return None
    return f"{counted(n, 'level')} of {name} have {counted(n - 1, 'difference')}, and {least} are needed at least"


def left_over(terms: Terms, most_ranked: int = MOST_RANKED) -> tuple[int, float]:
    """What no level of any term explains: how many contrasts of labels, and the sum of their squares.

    If residual degrees of freedom exist and their squares are 0, the likelihood is unbounded as the residual variance
    goes to 0. Labels that are alone in a level of a term are explained by it and are removed first. Of more labels
    times levels than ``most_ranked``, the rank of the levels is bounded, not computed.
    """
    widest = _widest(terms.codes)
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
    codes = [cross_codes(c[kept])[0] for c in widest] or [np.zeros(len(kept), dtype=np.int64)]
    y = terms.value[kept] - terms.value[kept].mean()
    return _residual_squares(y, codes, most_ranked)


def _widest(codes: Sequence[Ints]) -> list[Ints]:
    """Terms that are not contained in another term: they explain everything that the others explain."""
    kept: list[Ints] = []
    for code in sorted(codes, key=lambda c: -int(c.max())):
        if all(contrasts(other, code) is None for other in kept):
            kept.append(code)
    return kept


def _residual_squares(y: Floats, codes: Sequence[Ints], most_ranked: int) -> tuple[int, float]:
    """Degrees of freedom and squares that are left when every level has its own mean."""
    from scipy import sparse

    n = len(y)
    each = [sparse.csr_matrix((np.ones(n), (np.arange(n), c)), shape=(n, int(c.max()) + 1)) for c in codes]
    if len(codes) == 1:
        sums = np.bincount(codes[0], weights=y)
        return n - len(sums), float(max(y @ y - (sums**2 / np.bincount(codes[0])).sum(), 0.0))
    from scipy.sparse.linalg import lsmr

    design = sparse.hstack(each, format="csr")
    squares = 0.0
    for exact in LEAST_SQUARES:
        solved = lsmr(design, y, atol=exact, btol=exact, maxiter=2000)[0]
        squares = float(np.sum((y - design @ solved) ** 2))
        if squares > exact * float(y @ y):
            break  # the residual is clearly not zero
    if n * design.shape[1] <= most_ranked:
        return n - int(np.linalg.matrix_rank(design.toarray())), squares
    return max(n - design.shape[1] + len(codes) - 1, 1), squares


def anova(terms: Terms) -> Floats:
    """Variances of the terms, then of the residual, by Henderson's (1953) method 1: (terms + 1,).

    Sums of squared totals of each term, minus that of the grand total, are set equal to their expectations.
    Unbiased; can be below 0. In a balanced table they are the expected mean squares' solution. NaN if the
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
            both, level = _combinations(terms.codes[a], terms.codes[b])
            left[a, b] = float((np.bincount(both).astype(float) ** 2 / size[a][level]).sum()) - whole[b]
        left[a, k] = len(size[a]) - whole[k]
    right[k] = y @ y
    left[k] = n - whole
    if np.linalg.matrix_rank(left) <= k:
        return np.full(k + 1, np.nan)
    return np.asarray(np.linalg.solve(left, right), dtype=float)


def sequential_squares(terms: Terms, most: int = MOST_SEQUENTIAL) -> tuple[Floats, Floats]:
    """Degrees of freedom and sums of squares of each term given those before it, then of the residual: (terms + 1,).

    NaN for a table of more labels times levels than ``most``, whose rank is not computed.
    """
    df, left = [len(terms) - 1.0], [float(((terms.value - terms.value.mean()) ** 2).sum())]
    if len(terms) * sum(terms.levels) > most:
        return np.full(len(terms.codes) + 1, np.nan), np.full(len(terms.codes) + 1, np.nan)
    for k in range(1, len(terms.codes) + 1):
        columns = np.concatenate([code[:, None] == np.arange(int(code.max()) + 1) for code in terms.codes[:k]], axis=1)
        base, size, _ = np.linalg.svd(columns.astype(float), full_matrices=False)
        base = base[:, size > 1e-9 * size[0]]
        rest = terms.value - terms.value.mean()
        df.append(float(len(terms) - base.shape[1]))
        left.append(float(((rest - base @ (base.T @ rest)) ** 2).sum()))
    return -np.diff(df, append=0.0), -np.diff(left, append=0.0)


def _combinations(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """The combination of levels of two terms for each label, and the level of the first in each combination."""
    both, n = cross_codes(a, b)
    level = np.empty(n, dtype=np.int64)
    level[both] = a
    return both, level


def dependent_terms(codes: Sequence[Ints], n: int) -> list[int]:
    """Terms whose covariance matrices, without the mean, are linearly dependent; the residual is the last."""
    each = [*codes, np.arange(n)]
    size = [np.bincount(c)[c].astype(float) for c in each]
    gram = np.empty((len(each), len(each)))
    for a, one in enumerate(each):
        for b, other in enumerate(each):
            # A label has a level of the residual to itself, so that each combination with it holds one label.
            rest = len(codes) in (a, b)
            both = float(n) if rest else float((np.bincount(cross_codes(one, other)[0]).astype(float) ** 2).sum())
            gram[a, b] = both - 2 * float(size[a] @ size[b]) / n + size[a].sum() * size[b].sum() / n**2
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    if values[0] > DEPENDENT:
        return []
    return [int(k) for k in np.flatnonzero(np.abs(vectors[:, 0]) > NAMED_PART)]


# -- The likelihood of variance components in a balanced table, from its mean squares alone --------

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Balanced:
    """Independent sums of squares, each a multiple of χ² with an expected mean square that is linear in the variances.

    Attributes
    ----------
    squares, df : (strata,) float
        Without the mean's own stratum.
    weights : (strata + 1, terms + 1) float
        Expected mean squares from the variances of the terms and the residual; the last row is the mean's.
    n : int
        Labels.
    restricted : bool
        REML, or ML.
    """

    squares: Floats
    df: Floats
    weights: Floats
    n: int
    restricted: bool = True

    def deviance(self, theta: Floats) -> float:
        """Return minus twice the (restricted) log-likelihood; infinite for impossible variances."""
        expected = self.weights @ theta
        rows = expected[:-1]
        if not (expected > 0).all():
            return np.inf
        found = float(self.df @ np.log(rows) + (self.squares / rows).sum())
        if self.restricted:
            # The mean's stratum cancels, except for the number of labels.
            return found + (self.n - 1) * LOG_2PI + float(np.log(self.n))
        return found + float(np.log(expected[-1])) + self.n * LOG_2PI

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient of the deviance and its expected second derivatives."""
        expected = np.maximum(self.weights @ theta, 1e-12 * theta.sum())
        df = np.append(self.df, 0.0 if self.restricted else 1.0)
        squares = np.append(self.squares, 0.0)
        slope = df / expected - squares / expected**2
        scaled = self.weights * (np.sqrt(df) / expected)[:, None]
        return self.weights.T @ slope, scaled.T @ scaled

    def curvature(self, theta: Floats) -> Floats:
        """Expected second derivatives of the deviance."""
        return self.derivatives(theta)[1]

    def simulate(self, theta: Floats, rng: np.random.Generator) -> Balanced:
        """Sums of squares as another sample would give them, were these the variances."""
        return replace(self, squares=(self.weights[:-1] @ theta) * rng.chisquare(self.df))

    @property
    def mean_squares(self) -> Floats:
        """Of each stratum; NaN of one without differences: one level of a facet within each of another."""
        return np.asarray(self.squares / np.where(self.df > 0, self.df, np.nan))

    def anova(self) -> Floats:
        """Variances from expected mean squares; NaN where terms and strata do not match one to one."""
        there = self.df > 0
        weights, df, mean_squares = self.weights[:-1][there], self.df[there], self.mean_squares[there]
        solved, _, rank, _ = np.linalg.lstsq(weights, mean_squares, rcond=None)
        if rank < weights.shape[1]:
            return np.full(weights.shape[1], np.nan)
        if weights.shape[0] > weights.shape[1]:
            # Strata that share a mean square are pooled by their degrees of freedom.
            root = np.sqrt(df)
            solved = np.linalg.lstsq(weights * root[:, None], mean_squares * root, rcond=None)[0]
        return np.asarray(solved)


def balanced_table(
    value: Floats, axes: Sequence[Ints], strata: Sequence[frozenset[int]], terms: Sequence[frozenset[int]],
    restricted: bool = True,
) -> Balanced | None:  # fmt: skip
    """The mean squares of a complete table; None where cells are missing or differ in their number of labels.

    Parameters
    ----------
    value : (labels,) float
    axes : sequence of (labels,) int
        The level of each facet; levels of a nested facet are numbered within their parent level.
    strata : sequence of sets of axes
        Every effect of the design, by the axes that index it.
    terms : sequence of sets of axes
        The effects with a separate variance; all others are in the residual.
    """
    cells = complete_cells(value, axes)
    return None if cells is None else balanced_cells(cells, strata, terms, restricted)


def complete_cells(value: Floats, axes: Sequence[Ints]) -> Floats | None:
    """The labels of a complete table: one axis per facet, the last for the labels of a cell; None as in
    `balanced_table`."""
    sizes = tuple(int(a.max()) + 1 for a in axes)
    n_cells = math.prod(sizes)
    if n_cells > len(value) or len(value) % n_cells:
        return None
    place = np.ravel_multi_index(tuple(axes), sizes)
    each = len(value) // n_cells
    if not (np.bincount(place, minlength=n_cells) == each).all():
        return None
    return value[np.argsort(place, kind="stable")].reshape(*sizes, each)


def balanced_cells(
    cells: Floats, strata: Sequence[frozenset[int]], terms: Sequence[frozenset[int]], restricted: bool = True
) -> Balanced:
    """The mean squares of `complete_cells`; the rest as for `balanced_table`."""
    *sizes, each = cells.shape
    n = cells.size
    apart = cells - cells.mean()
    means = apart.mean(axis=-1)
    squares, df = _strata(means, sizes, strata, n)
    if each > 1:
        squares.append(float((apart**2).sum() - each * (means**2).sum()))
        df.append(float(n - means.size))
    rows = [*(frozenset(s) for s in strata), *([None] if each > 1 else []), frozenset[int]()]
    weights = np.array([[*(_share(t, row, sizes, n) for t in terms), 1.0] for row in rows])
    return Balanced(np.maximum(np.array(squares), 0.0), np.array(df), weights, n, restricted)


def _share(term: frozenset[int], row: frozenset[int] | None, sizes: Sequence[int], n: int) -> float:
    """The coefficient of a variance in an expected mean square: labels per level, if the row is within the term."""
    if row is None or not row <= term:
        return 0.0
    return n / math.prod(sizes[a] for a in term)


def _strata(
    means: Floats, sizes: Sequence[int], strata: Sequence[frozenset[int]], n: int
) -> tuple[list[float], list[float]]:
    """Sums of squares and degrees of freedom of every effect, each minus those of its inner effects."""
    squares: dict[frozenset[int], float] = {}
    df: dict[frozenset[int], float] = {}
    for one in sorted(strata, key=len):
        others = tuple(a for a in range(len(sizes)) if a not in one)
        margin = means.mean(axis=others)
        inside = [s for s in squares if s < one]
        squares[one] = float((margin**2).sum()) * n / margin.size - sum(squares[s] for s in inside)
        df[one] = margin.size - 1.0 - sum(df[s] for s in inside)
    return [squares[frozenset(s)] for s in strata], [df[frozenset(s)] for s in strata]


def nested_codes(code: Ints, nest: Ints | None) -> Ints:
    """Return levels numbered from 0, without gaps; levels of a nested facet within each parent level."""
    if nest is None:
        return cross_codes(code)[0]
    both, outer = _combinations(nest, code)
    first = np.flatnonzero(np.diff(outer, prepend=-1))
    return (np.arange(len(outer)) - first[outer])[both]


# -- The likelihood of variance components where cells are missing ---------------------------------

MOST_DENSE = 1500
"""Levels across blocks up to which their matrix is dense: its factor takes about as long as a sparse one there."""

LEAST = 1e-250
"""A sum of variances below which nothing is inverted: squares of its inverse would overflow."""

MOST_CELLS = 60_000_000
"""Numbers that the covariances of all blocks may have (half a GiB)."""

AT_ONCE = 64
"""Levels that are predicted together: a column of all cells for each, 40 MB of the largest tables."""

_SIZES = np.unique(np.rint(1.35 ** np.arange(60)).astype(np.int64))
"""Sizes to which blocks are padded: a third longer each, so that few sizes serve all and padding stays small."""


@dataclass(frozen=True, eq=False)
class Group:
    """Blocks of one size: ``cell`` is (blocks, size), padded with -1."""

    cell: Ints
    same: Floats
    """(terms within, blocks, size, size): 1 if two cells share a level."""
    across: Ints
    """(terms across, blocks, size): the level, counted over all of them; of a padding cell, one more than there are."""
    times: Floats
    """(blocks,): how often each occurs."""

    def repeated(self, times: Floats, place: Ints) -> Group:
        """The same blocks as often as ``times`` of their cells; ``place`` is the new index of each kept cell."""
        mine = times[self.cell[:, 0]]
        kept = np.flatnonzero(mine > 0)
        cell = self.cell[kept]
        return Group(np.where(cell >= 0, place[cell], -1), self.same[:, kept], self.across[:, kept], mine[kept])


@dataclass(frozen=True, eq=False)
class Blocks:
    """Cells of labels with everything that does not depend on the variances.

    Attributes
    ----------
    mean, number : (cells,) float
        Of the labels of each cell.
    inside : (cells,) float
        Squares of labels about their cell's mean.
    times : (cells,) float
        How often each cell occurs: copies of a block have other levels of the terms within, and the same across.
    codes : tuple of (cells,) int
        The level of each term.
    label : (cells,) int
        A label of each cell.
    within, across : tuple of int
        Which terms lie within blocks, and which reach across.
    """

    mean: Floats
    number: Floats
    inside: Floats
    times: Floats
    codes: tuple[Ints, ...]
    label: Ints
    within: tuple[int, ...]
    across: tuple[int, ...]
    groups: tuple[Group, ...]
    restricted: bool = True
    most_dense: int = MOST_DENSE
    """Levels across blocks up to which their matrix is inverted."""

    @classmethod
    def of(cls, terms: Terms, restricted: bool = True, most_dense: int = MOST_DENSE) -> Blocks:
        """Collapse labels to cells and cut them into the blocks that cost least; without terms all are one cell."""
        cell, n = cross_codes(np.zeros(len(terms), dtype=np.int64), *terms.codes)
        number = np.bincount(cell, minlength=n).astype(float)
        centre = terms.value.mean()
        mean = np.bincount(cell, weights=terms.value - centre, minlength=n) / number
        inside: Floats = np.zeros(n)
        if n < len(cell):
            inside = np.bincount(cell, weights=(terms.value - centre - mean[cell]) ** 2, minlength=n).astype(float)
        first = np.empty(n, dtype=np.int64)
        first[cell] = np.arange(len(cell))
        codes = tuple(c[first] for c in terms.codes)
        block, within = _cheapest_blocks(codes, n, most_dense)
        across = tuple(k for k in range(len(codes)) if k not in within)
        groups = _groups(block, codes, within, across)
        return cls(mean, number, inside, np.ones(n), codes, first, within, across, groups, restricted, most_dense)

    def repeated(self, times: Floats) -> Blocks:
        """These cells with each block as often as ``times`` (cells,) says of all its cells, as different blocks.

        Copies are not made: a block is inverted once, and counted as often as it occurs. Not for `predict`.
        """
        kept = times > 0
        place = np.cumsum(kept) - 1
        made = replace(
            self, mean=self.mean[kept], number=self.number[kept], inside=self.inside[kept], times=times[kept],
            codes=tuple(c[kept] for c in self.codes), label=self.label[kept],
            groups=tuple(group for one in self.groups if len((group := one.repeated(times, place)).times)),
        )  # fmt: skip
        vars(made).update(levels=self.levels, starts=self.starts)
        return made

    @cached_property
    def n(self) -> int:
        """Labels."""
        return round(float(self.times @ self.number))

    @property
    def spare(self) -> int:
        """Labels without the first of each cell."""
        return self.n - round(float(self.times.sum()))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many levels each term has."""
        return tuple(int(c.max()) + 1 for c in self.codes)

    @cached_property
    def starts(self) -> Ints:
        """The first index of the levels of each term across, and their number."""
        return np.cumsum([0, *(self.levels[k] for k in self.across)])

    # -- interface of the fit -----------------------------------------------------------------------

    def deviance(self, theta: Floats) -> float:
        """Return minus twice the (restricted) log-likelihood; infinite if it is impossible, as without variation."""
        if float(np.maximum(theta, 0.0).sum()) < LEAST:
            return np.inf
        try:
            return self._solution(theta).deviance
        except np.linalg.LinAlgError:
            return np.inf

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient of the deviance and its average-information second derivatives."""
        solved = self._solution(theta)
        if solved.dense:
            return solved.gradient(), solved.information()
        return self._differences(theta), solved.information()

    def _solution(self, theta: Floats) -> _Solution:
        """The covariance at a point; the last one is kept, because a step asks for its slope next."""
        last: tuple[bytes, _Solution] | None = vars(self).get("_last")
        if last is None or last[0] != theta.tobytes():
            last = theta.tobytes(), _Solution(self, theta)
            vars(self)["_last"] = last
        return last[1]

    def _differences(self, theta: Floats) -> Floats:
        """The gradient by differences, if the matrix across blocks is too large to invert."""
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
        return self._solution(theta).information()

    def predict(self, theta: Floats, term: int) -> tuple[Floats, Floats]:
        """Mean + each level of a term, best linear unbiased, and the variance of its error: (levels,)."""
        return self._solution(theta).predict(term)

    def simulate(self, theta: Floats, rng: np.random.Generator) -> Blocks:
        """The same cells with labels drawn from these variances."""
        mean = rng.normal(size=len(self.mean)) * np.sqrt(theta[-1] / self.number)
        for k, code in enumerate(self.codes):
            mean += np.sqrt(theta[k]) * rng.normal(size=self.levels[k])[code]
        inside, several = np.zeros(len(self.mean)), self.number > 1
        inside[several] = theta[-1] * rng.chisquare(self.number[several] - 1)
        made = replace(self, mean=mean, inside=inside)
        vars(made).update({k: v for k, v in vars(self).items() if k in ("n", "levels", "starts")})
        return made


class _Solution:
    """The covariance at one point, inverted block by block."""

    def __init__(self, blocks: Blocks, theta: Floats) -> None:
        self.of, self.theta = blocks, np.maximum(theta, 0.0)
        # The residual is never quite 0, so that every block has an inverse; a variance of this size is reported as 0.
        self.theta[-1] = max(self.theta[-1], 1e-11 * max(float(self.theta.sum()), 1e-300))
        self.q = int(blocks.starts[-1])
        self.dense = self.q <= blocks.most_dense
        self.log_det = 0.0
        self.inverse: list[Floats] = []
        for group in blocks.groups:
            self.inverse.append(self._invert(group))
        self._join()
        fixed, weighted = self.solve(np.stack([np.ones(len(blocks.mean)), blocks.mean], axis=1)).T
        self.fixed, self.precision = fixed, float(blocks.times @ fixed)
        self.residual = weighted - fixed * (fixed @ (blocks.times * blocks.mean)) / self.precision

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
            self.log_det += float(group.times @ np.log(cov[:, 0, 0]))
            return np.asarray(1.0 / cov)
        root = np.linalg.cholesky(cov)
        self.log_det += 2 * float(group.times @ np.log(root[:, along, along]).sum(axis=1))
        return np.asarray(np.linalg.inv(cov))

    def _join(self) -> None:
        """Woodbury's matrix over the levels across blocks: I + D½ W D½ with W = U'B⁻¹U."""
        if not self.q:
            return
        scale = np.sqrt(np.repeat(self.theta[list(self.of.across)], np.diff(self.of.starts)))
        self.scale = scale
        if self.dense:
            from scipy.linalg import cholesky

            self.w = self._w_dense()
            joined = scale[:, None] * self.w * scale
            joined[np.diag_indices(self.q)] += 1
            self.root = cholesky(joined, lower=True, check_finite=False)
            self.log_det += 2 * float(np.log(np.diag(self.root)).sum())
            return
        from scipy import sparse
        from scipy.sparse.linalg import splu

        diagonal = sparse.diags(scale)
        joined = (sparse.identity(self.q) + diagonal @ self._w_sparse() @ diagonal).tocsc()
        self.factor = splu(joined, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        self.log_det += float(np.log(np.abs(self.factor.U.diagonal())).sum())

    @cached_property
    def joined_inverse(self) -> Floats:
        """(I + D½ W D½)⁻¹, which only the slope asks for."""
        from scipy.linalg.lapack import dpotri

        found, _ = dpotri(self.root, lower=True)
        lower = np.tril(found)
        return np.asarray(lower + np.tril(found, -1).T)

    def _cross_block_squares(self) -> Floats:
        """The diagonal of U'V⁻¹U over all levels across blocks.

        W − WCW with C = D½ (I + D½ W D½)⁻¹ D½ is D^−½ (I − (I + D½ W D½)⁻¹) D^−½, wherever D is not 0.
        """
        away = self.scale > 0
        found = np.empty(self.q)
        found[away] = (1 - np.diag(self.joined_inverse)[away]) / self.scale[away] ** 2
        if not away.all():
            scaled = self.w[:, ~away] * self.scale[:, None]
            found[~away] = np.diag(self.w)[~away] - np.einsum("ij,ij->j", scaled, self.joined_inverse @ scaled)
        return found

    def _shared_levels(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Pairs of levels across blocks that cells of a block have, and the entries of its inverse, summed over its
        copies."""
        for group, inverse in zip(self.of.groups, self.inverse, strict=True):
            summed = group.times[:, None, None] * inverse
            for a, b in product(group.across, repeat=2):
                yield a[:, :, None], b[:, None, :], summed

    def _w_dense(self) -> Floats:
        """Sums of the inverse's entries over pairs of levels; padding falls off the end."""
        size = self.q + 1
        found = np.zeros(size * size)
        for a, b, inverse in self._shared_levels():
            found += np.bincount((a * size + b).ravel(), weights=inverse.ravel(), minlength=size * size)
        return found.reshape(size, size)[:-1, :-1]

    def _w_sparse(self) -> Any:
        from scipy import sparse

        entries = []
        for a, b, inverse in self._shared_levels():
            there = (a < self.q) & (b < self.q)
            entries.append([x[there] for x in (inverse, *np.broadcast_arrays(a, b))])
        values, rows, columns = map(np.concatenate, zip(*entries, strict=True))
        return sparse.coo_matrix((values, (rows, columns)), shape=(self.q, self.q)).tocsc()

    def _solve_blocks(self, x: Floats) -> Floats:
        """B⁻¹x: (cells, k)."""
        # Padding cells, -1, read and write the row after the last.
        padded = np.concatenate([x, np.zeros((1, x.shape[1]))])
        found = np.empty_like(padded)
        for group, inverse in zip(self.of.groups, self.inverse, strict=True):
            found[group.cell] = inverse @ padded[group.cell]
        return found[:-1]

    def solve(self, x: Floats) -> Floats:
        """V⁻¹x, for x that are the same in copies of a block: (cells, k)."""
        found = self._solve_blocks(x)
        if not self.q:
            return found
        of = self.of
        sums = np.array([
            np.concatenate([np.bincount(of.codes[k], weights=column, minlength=of.levels[k]) for k in of.across])
            for column in (of.times[:, None] * found).T
        ]).T  # fmt: skip
        right = self.scale[:, None] * sums
        if self.dense:
            from scipy.linalg import cho_solve

            joined = self.scale[:, None] * cho_solve((self.root, True), right, check_finite=False)
        else:
            joined = self.scale[:, None] * self.factor.solve(right)
        spread = np.zeros_like(x)
        for k, start in zip(of.across, of.starts, strict=False):
            spread += joined[start : start + of.levels[k]][of.codes[k]]
        return found - self._solve_blocks(spread)

    @property
    def deviance(self) -> float:
        """Minus twice the (restricted) log-likelihood of the labels, all constants with it."""
        of, error = self.of, self.theta[-1]
        found = self.log_det + float(self.residual @ (of.times * of.mean)) + of.n * LOG_2PI
        found += float(of.times @ np.log(of.number))
        if of.spare:
            found += of.spare * float(np.log(error)) + float(of.times @ of.inside) / error
        return found + (float(np.log(self.precision)) - LOG_2PI if of.restricted else 0.0)

    def gradient(self) -> Floats:
        """tr(PV_k) − y'PV_kPy for each term, then for the residual."""
        of = self.of
        found = np.zeros(len(of.codes) + 1)
        if self.q:
            found[list(of.across)] = np.add.reduceat(self._cross_block_squares(), of.starts[:-1])
            padded = np.zeros((self.q + 1, self.q + 1))
            padded[:-1, :-1] = self.scale[:, None] * self.joined_inverse * self.scale
        for group, inverse in zip(of.groups, self.inverse, strict=True):
            block = self._diagonal_block(group, inverse, padded) if self.q else inverse
            for same, k in zip(group.same, of.within, strict=True):
                found[k] += float(group.times @ np.einsum("bij,bij->b", block, same))
            along = np.arange(block.shape[1])
            own = np.where(group.cell >= 0, block[:, along, along] / of.number[group.cell], 0.0)
            found[-1] += float(group.times @ own.sum(axis=1))
        if of.spare:
            error = self.theta[-1]
            found[-1] += of.spare / error - float(of.times @ of.inside) / error**2
        found -= self._squares(self.residual)
        return found - self._squares(self.fixed) / self.precision if of.restricted else found

    def _diagonal_block(self, group: Group, inverse: Floats, padded: Floats) -> Floats:
        """V⁻¹ within blocks: B⁻¹ − B⁻¹UCU'B⁻¹."""
        if self.q < inverse.shape[1]:  # few levels, such as raters: the products are of narrow matrices
            levels = np.zeros((*group.cell.shape, self.q + 1))
            for across in group.across:
                np.put_along_axis(levels, across[:, :, None], 1.0, axis=2)
            reached = inverse @ levels[:, :, :-1]
            return inverse - reached @ padded[:-1, :-1] @ reached.transpose(0, 2, 1)
        middle = np.zeros_like(inverse)
        for a, b in product(group.across, repeat=2):
            middle += padded[a[:, :, None], b[:, None, :]]
        return inverse - inverse @ middle @ inverse

    def _squares(self, x: Floats) -> Floats:
        """x'V_kx for each term and the residual."""
        return self._sums(x).T @ (self.of.times * x)

    def _sums(self, x: Floats) -> Floats:
        """V_kx for each term and the residual: (cells, terms + 1)."""
        of, found = self.of, np.empty((len(x), len(self.of.codes) + 1))
        for k, (code, n) in enumerate(zip(of.codes, of.levels, strict=True)):
            found[:, k] = np.bincount(code, weights=of.times * x if k in of.across else x, minlength=n)[code]
        found[:, -1] = x / of.number
        return found

    def information(self) -> Floats:
        """y'PV_jPV_kPy: the average of observed and expected second derivatives of the deviance."""
        of = self.of
        working = self._sums(self.residual)
        solved = self.solve(working)
        repeated = of.times[:, None] * working
        if of.restricted:
            solved -= np.outer(self.fixed, self.fixed @ repeated) / self.precision
        found = repeated.T @ solved
        found[-1, -1] += of.spare / self.theta[-1] ** 2
        return np.asarray((found + found.T) / 2)

    def predict(self, term: int) -> tuple[Floats, Floats]:
        """Best linear unbiased predictions of mean + each level of a term, and variances of their errors: (levels,).

        Searle, Casella and McCulloch (1992, chapter 7); the variances are treated as known.
        """
        of, theta, code = self.of, float(self.theta[term]), self.of.codes[term]
        n = of.levels[term]
        alone = np.bincount(code, weights=self.fixed, minlength=n)
        own = np.empty(n)
        for start in range(0, n, AT_ONCE):
            levels = np.arange(start, min(start + AT_ONCE, n))
            solved = self.solve((code[:, None] == levels).astype(float))
            mine = np.flatnonzero((code >= levels[0]) & (code <= levels[-1]))
            place = code[mine] - start
            own[levels] = np.bincount(place, weights=solved[mine, place], minlength=len(levels))
        error = 1 / self.precision + theta - theta**2 * (own - alone**2 / self.precision)
        error -= 2 * theta * alone / self.precision
        mean = float(self.fixed @ of.mean) / self.precision
        found = mean + theta * np.bincount(code, weights=self.residual, minlength=n)
        return np.asarray(found), np.maximum(error, 0.0)


# -- Cutting into blocks -----------------------------------------------------------------------------


def _cheapest_blocks(codes: Sequence[Ints], n: int, most_dense: int) -> tuple[Ints, tuple[int, ...]]:
    """The term whose levels make the blocks of n cells, so that blocks and what reaches across them cost least."""
    best: tuple[float, Ints, tuple[int, ...]] | None = None
    for block in (*codes, np.arange(n)):
        size = np.bincount(block)
        within = tuple(k for k, c in enumerate(codes) if contrasts(c, block) is not None)
        across = sum(int(c.max()) + 1 for k, c in enumerate(codes) if k not in within)
        numbers = float((size.astype(float) ** 2).sum()) * (1 + len(within))
        if numbers > MOST_CELLS:
            continue
        joined = float(across) ** 3 if across <= most_dense else 400.0 * float(most_dense) ** 2.5
        # Roughly, operations: factors of the blocks, of what joins them, numpy's calls, memory that is walked.
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
        same = [_same_level(codes[k], cell) for k in within]
        level = [
            np.where(there, codes[k][cell] + first, offsets[-1]) for k, first in zip(across, offsets, strict=False)
        ]
        shape = (0, *cell.shape)
        groups.append(
            Group(cell, np.array(same) if same else np.empty((*shape, cell.shape[1])),
                  np.array(level) if level else np.empty(shape, dtype=np.int64), np.ones(len(cell)))
        )  # fmt: skip
    return tuple(groups)


def _same_level(code: Ints, cell: Ints) -> Floats:
    """1 if two cells of a block share a level, else 0; padding cells share none."""
    level = np.where(cell >= 0, code[cell], -1)
    shared = (level[:, :, None] == level[:, None, :]) & (cell >= 0)[:, :, None]
    return np.asarray(shared, dtype=float)
