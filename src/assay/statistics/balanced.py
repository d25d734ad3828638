"""The likelihood of variance components in a balanced table, from its mean squares alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.estimation.statistic import Floats, Ints
from assay.statistics.terms import grouped

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
        """Minus twice the (restricted) log-likelihood; infinite outside of what is possible."""
        expected = self.weights @ theta
        rows = expected[:-1]
        if not (expected > 0).all():
            return np.inf
        found = float(self.df @ np.log(rows) + (self.squares / rows).sum())
        if self.restricted:
            # The mean's stratum cancels but for the number of labels.
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

    def simulated(self, theta: Floats, rng: np.random.Generator) -> Balanced:
        """Sums of squares as another sample would give them, were these the variances."""
        return replace(self, squares=(self.weights[:-1] @ theta) * rng.chisquare(self.df))

    @property
    def mean_squares(self) -> Floats:
        """Of each stratum."""
        return self.squares / self.df

    def anova(self) -> Floats:
        """Variances from expected mean squares; NaN where terms and strata do not match one to one."""
        weights = self.weights[:-1]
        solved, _, rank, _ = np.linalg.lstsq(weights, self.mean_squares, rcond=None)
        if rank < weights.shape[1]:
            return np.full(weights.shape[1], np.nan)
        if weights.shape[0] > weights.shape[1]:
            # Strata that share a mean square are pooled by their degrees of freedom.
            root = np.sqrt(self.df)
            solved = np.linalg.lstsq(weights * root[:, None], self.mean_squares * root, rcond=None)[0]
        return np.asarray(solved)


def balanced(
    value: Floats, axes: Sequence[Ints], strata: Sequence[frozenset[int]], terms: Sequence[frozenset[int]],
    restricted: bool = True,
) -> Balanced | None:  # fmt: skip
    """The mean squares of a complete table; None where cells are missing or differ in their number of labels.

    Parameters
    ----------
    value : (labels,) float
    axes : sequence of (labels,) int
        The level of each facet; of a nested facet, numbered within what it is nested in.
    strata : sequence of sets of axes
        Every effect of the design, by the axes that index it.
    terms : sequence of sets of axes
        The effects that have a variance of their own; all others are in the residual.
    """
    sizes = tuple(int(a.max()) + 1 for a in axes)
    cells = int(np.prod([float(s) for s in sizes]))
    if cells > len(value) or len(value) % cells:
        return None
    place = np.ravel_multi_index(tuple(axes), sizes)
    each = len(value) // cells
    if not (np.bincount(place, minlength=cells) == each).all():
        return None
    mean = value.mean()
    means = np.bincount(place, weights=value - mean, minlength=cells).reshape(sizes) / each
    squares, df = _strata(means, sizes, strata, len(value))
    if each > 1:
        squares.append(float(((value - mean) ** 2).sum() - each * (means**2).sum()))
        df.append(float(len(value) - cells))
    n = len(value)
    rows = [*(frozenset(s) for s in strata), *([None] if each > 1 else []), frozenset[int]()]
    weights = np.array([[*(_share(t, row, sizes, n) for t in terms), 1.0] for row in rows])
    return Balanced(np.maximum(np.array(squares), 0.0), np.array(df), weights, n, restricted)


def _share(term: frozenset[int], row: frozenset[int] | None, sizes: Sequence[int], n: int) -> float:
    """How often a variance counts in an expected mean square: labels of a level, where the row is within the term."""
    if row is None or not row <= term:
        return 0.0
    return n / float(np.prod([sizes[a] for a in term]))


def _strata(
    means: Floats, sizes: Sequence[int], strata: Sequence[frozenset[int]], n: int
) -> tuple[list[float], list[float]]:
    """Sums of squares and degrees of freedom of every effect, each less those within it."""
    squares: dict[frozenset[int], float] = {}
    df: dict[frozenset[int], float] = {}
    for one in sorted(strata, key=len):
        others = tuple(a for a in range(len(sizes)) if a not in one)
        margin = means.mean(axis=others)
        inside = [s for s in squares if s < one]
        squares[one] = float((margin**2).sum()) * n / margin.size - sum(squares[s] for s in inside)
        df[one] = margin.size - 1.0 - sum(df[s] for s in inside)
    return [squares[frozenset(s)] for s in strata], [df[frozenset(s)] for s in strata]


def within(code: Ints, nest: Ints | None) -> Ints:
    """Levels numbered from 0, without gaps; of a nested facet within each level of what it is nested in."""
    if nest is None:
        return grouped(code)[0]
    both, n = grouped(nest, code)
    outer = np.empty(n, dtype=np.int64)
    outer[both] = nest
    first = np.flatnonzero(np.diff(outer, prepend=-1))
    return (np.arange(n) - first[outer])[both]
