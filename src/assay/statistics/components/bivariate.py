"""How do the true scores of two families correlate? Variance components of both at once, with their covariances.

Labels of two families (people and judges) share levels of some terms: objects, lessons. Such a term has a variance in
each family and a covariance between them, so that V = Σ θₖ Vₖ with Vₖ = 1 where two labels share a level, and are both
of that family or one of each. The restricted likelihood has a mean for each family. Of complete tables it needs sums of
squares and products alone (`Strata`); any other is cut into blocks by object (`JointBlocks`).

`JointFit` searches either: variances as squares, which keeps them at 0 or above; covariances are free, so that an
estimated correlation is not stopped at 1 and has no bias from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.estimation.statistic import Floats, Ints
from assay.statistics.components.blocks import MOST_CELLS, Balanced, contrasts, nested_codes
from assay.statistics.components.reml import INSIDE

MOST_STEPS = 100
"""Most scoring steps of a search; a search takes ten or twenty."""

GAIN = 1e-6
"""Least expected gain in deviance of another step: ends of intervals then move by less than a ten-thousandth."""

CLOSE, MOST_TRIALS = 0.01, 30
"""How near the root deviance is to its quantile at an end, half a percent of the way; and how many trials find it."""

MOST_HALVES = 20
"""Most halvings of the variance of objects until a correlation beyond 1 is possible with the given error variance."""

FLAT = 1e-6
"""A share of all variance below which a variance of objects is nothing: a correlation divides by its root."""

FURTHEST = 3.0
"""A fitted correlation of more than this size is none: the variance of objects is nothing."""


@dataclass(frozen=True, eq=False)
class Family:
    """One family's labels among all, and its terms.

    Attributes
    ----------
    mine : (all labels,) bool
    terms : sequence of (set of facets, (all labels,) int)
        The facets of each term, the residual last, and its levels, coded for both families.
    theta : (terms,) float
        Its variances, the start of the search.
    balanced : Balanced or None
        The mean squares of a complete table.
    strata : sequence of sets of facets
        What indexes each of its strata but the one of replicates.
    """

    mine: Floats
    terms: Sequence[tuple[frozenset[str], Ints]]
    theta: Floats
    balanced: Balanced | None
    strata: Sequence[frozenset[str]]


@dataclass(frozen=True, eq=False)
class Parameter:
    """A variance of one family's term (``families`` (0,) or (1,)), or the covariance of a term of both."""

    index: frozenset[str]
    families: tuple[int, ...]
    level: Ints
    of: tuple[int, ...]
    """The position of the term in each family's list."""


def parameters_of(first: Family, second: Family, measured: frozenset[str]) -> list[Parameter]:
    """Variances of the first family, of the second, then covariances, that of the objects first."""
    found = [
        Parameter(index, (k,), level, (i,))
        for k, family in enumerate((first, second)) for i, (index, level) in enumerate(family.terms)
    ]  # fmt: skip
    shared = [
        Parameter(index, (0, 1), level, (i, j))
        for i, (index, level) in enumerate(first.terms) for j, (other, _) in enumerate(second.terms)
        if index == other and len(np.intersect1d(level[first.mine], level[second.mine])) > 1
    ]  # fmt: skip
    return [*found, *sorted(shared, key=lambda p: p.index != measured)]


class JointLikelihood(Protocol):
    """A restricted likelihood of labels whose covariance matrix is linear in its parameters."""

    def deviance(self, theta: Floats) -> float:
        """Return minus twice its logarithm up to a constant; infinite if the covariance matrix is not valid."""

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient, and expected or average second derivatives."""


# -- Complete tables ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Strata:
    """Independent sums: of squares and products in strata that both families have, of squares in those of one.

    Attributes
    ----------
    products : (pairs, 2, 2) float
    pair_df : (pairs,) float
    pair_weights : (pairs, 2, 2, parameters) float
        Expected mean products.
    squares, df : (strata,) float
    weights : (strata, parameters) float
    """

    products: Floats
    pair_df: Floats
    pair_weights: Floats
    squares: Floats
    df: Floats
    weights: Floats

    def deviance(self, theta: Floats) -> float:
        """Return minus twice the restricted log-likelihood up to a constant."""
        pairs, own = self.pair_weights @ theta, self.weights @ theta
        det = pairs[:, 0, 0] * pairs[:, 1, 1] - pairs[:, 0, 1] ** 2
        if not ((det > 0).all() and (pairs[:, 0, 0] > 0).all() and (own > 0).all()):
            return np.inf
        found = float(self.pair_df @ np.log(det)) + float(np.einsum("sij,sij->", np.linalg.inv(pairs), self.products))
        return found + float(self.df @ np.log(own) + (self.squares / own).sum())

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and expected second derivatives."""
        inverse, own = np.linalg.inv(self.pair_weights @ theta), self.weights @ theta
        slope = self.pair_df[:, None, None] * inverse - inverse @ self.products @ inverse
        gradient = np.einsum("sij,sijk->k", slope, self.pair_weights)
        gradient += self.weights.T @ (self.df / own - self.squares / own**2)
        moved = np.einsum("sij,sjlk->silk", inverse, self.pair_weights)
        information = np.einsum("s,silk,slim->km", self.pair_df, moved, moved)
        scaled = self.weights * (np.sqrt(self.df) / own)[:, None]
        return gradient, information + scaled.T @ scaled


def strata_of(
    value: Floats, families: tuple[Family, Family], parameters: Sequence[Parameter]
) -> Strata | None:  # fmt: skip
    """The strata of two complete tables; None if a cell is missing or families share only some levels of a term."""
    first, second = families
    if first.balanced is None or second.balanced is None:
        return None
    levels = {p.index: p.level for p in parameters if len(p.families) == 2}
    for level in levels.values():
        if not np.array_equal(np.unique(level[first.mine]), np.unique(level[second.mine])):
            return None
    shared = [s for s in first.strata if s in levels and s in second.strata]
    if len(shared) < len(levels) or not shared:
        return None
    if not all(s in levels for f in families for s in f.strata for index in levels if s < index):
        return None
    totals = _products(value, families, shared, levels)
    size = {index: len(np.unique(level[first.mine])) for index, level in levels.items()}
    root = np.sqrt(float(first.mine.sum()) * float(second.mine.sum()))
    pair_df, pairs = np.empty(len(shared)), np.zeros((len(shared), 2, 2))
    weights = np.zeros((len(shared), 2, 2, len(parameters)))
    squares, df, own = [], [], []
    for k, family in enumerate(families):
        assert family.balanced is not None
        place = [n for n, p in enumerate(parameters) if p.families == (k,)]
        for row, (total, n) in enumerate(zip(family.balanced.squares, family.balanced.df, strict=True)):
            expected = np.zeros(len(parameters))
            expected[place] = family.balanced.weights[row]
            index = family.strata[row] if row < len(family.strata) else None
            if index in shared:
                at = shared.index(index)
                pairs[at, k, k], pair_df[at], weights[at, k, k] = total, n, expected
            else:
                squares.append(total)
                df.append(n)
                own.append(expected)
    for at, index in enumerate(shared):
        pairs[at, 0, 1] = pairs[at, 1, 0] = root * totals[at]
        for n, p in enumerate(parameters):
            if len(p.families) == 2 and index <= p.index:
                weights[at, 0, 1, n] = weights[at, 1, 0, n] = root / size[p.index]
    return Strata(
        pairs, pair_df, weights, np.array(squares), np.array(df), np.array(own).reshape(len(df), len(parameters))
    )


def _products(
    value: Floats, families: tuple[Family, Family], shared: Sequence[frozenset[str]], levels: dict[frozenset[str], Ints]
) -> Floats:
    """Sums of products of means of the finest shared cells, by stratum and cell: (strata,).

    Those of squares of sums minus those of differences, over 4; of each term's margin minus its inner terms.
    """
    cell = nested_codes(levels[max(shared, key=len)], None)
    means = [np.bincount(cell[f.mine], weights=value[f.mine]) / np.bincount(cell[f.mine]) for f in families]
    at = np.empty(len(means[0]), dtype=np.int64)
    at[cell] = np.arange(len(cell))
    found: dict[frozenset[str], float] = {}
    for index in sorted(shared, key=len):
        level = nested_codes(levels[index][at], None)
        margins = [np.bincount(level, weights=m - m.mean()) / np.bincount(level) for m in means]
        found[index] = float(np.mean(margins[0] * margins[1])) - sum(v for s, v in found.items() if s < index)
    return np.array([found[index] for index in shared])


# -- Any table ---------------------------------------------------------------------------------------


class JointBlocks:
    """Labels in blocks by object, with everything that does not depend on the parameters.

    What lies within blocks is a matrix of each; what reaches across them (raters) is added by Woodbury's identity.
    """

    def __init__(
        self, value: Floats, families: tuple[Family, Family], parameters: Sequence[Parameter], block: Ints
    ) -> None:  # fmt: skip
        self.value, self.parameters = value, parameters
        self.family = np.where(families[0].mine, 0, 1)
        self.fixed = np.stack([f.mine for f in families], axis=1).astype(float)
        self.value = value - self.fixed @ [value[f.mine].mean() for f in families]
        self.within = [n for n, p in enumerate(parameters) if contrasts(p.level, block) is not None]
        self.across = [n for n in range(len(parameters)) if n not in self.within]
        # Each level of a family is a column of what reaches across.
        self.columns: dict[tuple[frozenset[str], int], tuple[int, Ints]] = {}
        self.q = 0
        for n in self.across:
            p = parameters[n]
            if len(p.families) == 1:
                code = nested_codes(p.level, None)
                self.columns[p.index, p.families[0]] = self.q, code
                self.q += int(code.max()) + 1
        self.groups = [self._group(cells) for cells in _blocks_by_size(block)]
        self._last: tuple[bytes, _JointSolution] | None = None

    def _group(self, cell: Ints) -> tuple[Ints, list[Floats], list[Ints]]:
        """Blocks of about one size: labels (−1 for padding), a matrix of each parameter within, columns across."""
        there, family = cell >= 0, self.family[cell]
        both = there[:, :, None] & there[:, None, :]
        matrices = []
        for n in self.within:
            p = self.parameters[n]
            same = (p.level[cell][:, :, None] == p.level[cell][:, None, :]) & both
            if len(p.families) == 1:
                mine = family == p.families[0]
                same &= mine[:, :, None] & mine[:, None, :]
            else:
                same &= family[:, :, None] != family[:, None, :]
            matrices.append(same.astype(float))
        levels = [
            np.where(there & (family == k), start + code[cell], self.q)
            for (_, k), (start, code) in self.columns.items()
        ]
        return cell, matrices, levels

    def _solution(self, theta: Floats) -> _JointSolution:
        if self._last is None or self._last[0] != theta.tobytes():
            self._last = theta.tobytes(), _JointSolution(self, theta)
        return self._last[1]

    def deviance(self, theta: Floats) -> float:
        """Return minus twice the restricted log-likelihood up to a constant."""
        try:
            return self._solution(theta).deviance
        except np.linalg.LinAlgError:
            return np.inf

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and average-information second derivatives."""
        solved = self._solution(theta)
        moved = np.stack([self.times(n, solved.residual) for n in range(len(self.parameters))], axis=1)
        projected = solved.project(moved)
        information = moved.T @ projected
        return solved.traces() - moved.T @ solved.residual, (information + information.T) / 2

    def times(self, n: int, x: Floats) -> Floats:
        """Vₙx."""
        p, found = self.parameters[n], np.zeros_like(x)
        size = int(p.level.max()) + 1
        sums = [np.bincount(p.level[m], weights=x[m], minlength=size) for m in (self.family == 0, self.family == 1)]
        for k in p.families:
            mine = self.family == k
            found[mine] = sums[k if len(p.families) == 1 else 1 - k][p.level[mine]]
        return found

    def pairs(self, n: int) -> tuple[Ints, Ints]:
        """Return the positions of a parameter across blocks in the matrix over columns, on both sides of the
        diagonal."""
        p = self.parameters[n]
        ends = []
        for k in p.families if len(p.families) == 2 else p.families * 2:
            start, code = self.columns[p.index, k]
            ends.append(start + np.arange(int(code.max()) + 1))
        return ends[0], ends[1]


class _JointSolution:
    """The covariance matrix at one point, inverted block by block."""

    def __init__(self, of: JointBlocks, theta: Floats) -> None:
        self.of, self.log_det = of, 0.0
        self.inverse = []
        for cell, matrices, _ in of.groups:
            cov = np.tensordot(theta[of.within], np.array(matrices), 1)
            along = np.arange(cell.shape[1])
            cov[:, along, along] += cell < 0
            root = np.linalg.cholesky(cov)
            self.log_det += 2 * float(np.log(root[:, along, along]).sum())
            self.inverse.append(np.linalg.inv(cov))
        self.middle = np.zeros((of.q + 1, of.q + 1))
        if of.q:
            self._join(theta)
        weighted = self.solve(np.column_stack([of.fixed, of.value]))
        self.half = weighted[:, :2]
        self.precision = of.fixed.T @ self.half
        self.mean = np.linalg.solve(self.precision, self.half.T @ of.value)
        self.residual = weighted[:, 2] - self.half @ self.mean
        sign, size = np.linalg.slogdet(self.precision)
        self.deviance = self.log_det + float(size) + float(self.residual @ of.value) if sign > 0 else np.inf

    def _join(self, theta: Floats) -> None:
        of = self.of
        size = of.q + 1
        w, g = np.zeros(size * size), np.zeros((of.q, of.q))
        for (_, _, levels), inverse in zip(of.groups, self.inverse, strict=True):
            for a in levels:
                for b in levels:
                    at = (a[:, :, None] * size + b[:, None, :]).ravel()
                    w += np.bincount(at, weights=inverse.ravel(), minlength=size * size)
        self.w = w.reshape(size, size)[:-1, :-1]
        for n in of.across:
            rows, columns = of.pairs(n)
            g[rows, columns] = g[columns, rows] = theta[n]
        joined = np.eye(of.q) + g @ self.w
        sign, log_det = np.linalg.slogdet(joined)
        if sign <= 0:
            raise np.linalg.LinAlgError("no covariance matrix")
        self.log_det += float(log_det)
        self.middle[:-1, :-1] = np.linalg.solve(joined, g)

    def _solve_blocks(self, x: Floats) -> Floats:
        found = np.empty_like(x)
        for (cell, _, _), inverse in zip(self.of.groups, self.inverse, strict=True):
            there = cell >= 0
            found[cell[there]] = (inverse @ np.where(there[:, :, None], x[cell], 0.0))[there]
        return found

    def solve(self, x: Floats) -> Floats:
        """V⁻¹x."""
        found, of = self._solve_blocks(x), self.of
        if not of.q:
            return found
        sums, spread = np.zeros((of.q, x.shape[1])), np.zeros_like(x)
        for (_, k), (start, code) in of.columns.items():
            np.add.at(sums, start + code[of.family == k], found[of.family == k])
        joined = self.middle[:-1, :-1] @ sums
        for (_, k), (start, code) in of.columns.items():
            mine = of.family == k
            spread[mine] += joined[start + code[mine]]
        return found - self._solve_blocks(spread)

    def project(self, x: Floats) -> Floats:
        """Return Px: V⁻¹x minus its component along the means."""
        return self.solve(x) - self.half @ np.linalg.solve(self.precision, self.half.T @ x)

    def traces(self) -> Floats:
        """tr(PVₙ) of each parameter."""
        of = self.of
        found = np.zeros(len(of.parameters))
        if of.q:
            around = self.w - self.w @ self.middle[:-1, :-1] @ self.w
            for n in of.across:
                rows, columns = of.pairs(n)
                found[n] = float(around[rows, columns].sum()) * len(of.parameters[n].families)
        for (_, matrices, levels), inverse in zip(of.groups, self.inverse, strict=True):
            between = np.zeros_like(inverse)
            for a in levels:
                for b in levels:
                    between += self.middle[a[:, :, None], b[:, None, :]]
            part = inverse - inverse @ between @ inverse if levels else inverse
            for n, matrix in zip(of.within, matrices, strict=True):
                found[n] += float(np.vdot(part, matrix))
        spread = np.linalg.inv(self.precision)
        for n in range(len(found)):
            moved = np.stack([of.times(n, column) for column in self.half.T], axis=1)
            found[n] -= float(np.sum(spread * (self.half.T @ moved)))
        return found


def _blocks_by_size(block: Ints) -> list[Ints]:
    """Labels of blocks of similar size, one row per block, padded with −1."""
    size = np.bincount(block)
    order = np.argsort(block, kind="stable")
    start = np.cumsum(size) - size
    # A quarter longer each: few matrices, and little of them is padding.
    kind = np.ceil(np.log(size) / np.log(1.25)).astype(np.int64)
    groups = []
    for one in np.unique(kind):
        mine = np.flatnonzero(kind == one)
        place = np.arange(size[mine].max())
        at = np.minimum(start[mine][:, None] + place, len(order) - 1)
        groups.append(np.where(place < size[mine][:, None], order[at], -1))
    return groups


# -- The correlation ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointFit:
    """The maximum-likelihood parameters, and the profile likelihood of the objects' correlation.

    Attributes
    ----------
    likelihood : Strata or JointBlocks
    theta : (parameters,) float
    deviance : float
    objects : (int, int, int)
        The positions of the variances of objects in both families, and of their covariance.
    scale : (parameters,) float
        The variance of labels, as a scale for each parameter.
    """

    likelihood: JointLikelihood
    theta: Floats
    deviance: float
    objects: tuple[int, int, int]
    n_variances: int
    scale: Floats

    @property
    def correlation(self) -> float:
        """Correlation of the objects' scores; NaN if a family has no variance of objects. Can exceed 1."""
        first, second, between = (float(self.theta[k]) for k in self.objects)
        if first <= FLAT * self.scale[self.objects[0]] or second <= FLAT * self.scale[self.objects[1]]:
            return np.nan
        return between / float(np.sqrt(first * second))

    def root(self, value: float, start: Floats | None = None) -> tuple[float, Floats]:
        """Return √(deviance with this correlation minus that of the fit), and the parameters there."""
        theta, deviance = minimize_deviance(self, self.theta if start is None else start, value)
        return float(np.sqrt(max(deviance - self.deviance, 0.0))), theta

    def interval(self, level: float, df: float, lowest: float, highest: float) -> tuple[float, float]:
        """Return the profile-likelihood interval, with the quantile of t instead of the normal's for few objects.

        An end beyond ``lowest`` or ``highest`` is not looked for: it is that.
        """
        from scipy.special import stdtrit

        quantile = float(stdtrit(df, (1 + level) / 2))
        return self._end(-1.0, quantile, lowest), self._end(1.0, quantile, highest)

    @property
    def standard_error(self) -> float:
        """Standard error of the correlation by the delta method; parameters at 0 are treated as fixed."""
        first, second, between = self.objects
        kept = np.abs(self.theta) > FLAT * self.scale
        kept[[first, second, between]] = True
        curvature = self.likelihood.derivatives(self.theta)[1][np.ix_(kept, kept)]
        slope, value = np.zeros(len(self.theta)), self.correlation
        slope[[first, second]] = -value / 2 / self.theta[[first, second]]
        slope[between] = 1 / np.sqrt(self.theta[first] * self.theta[second])
        found = 2 * float(slope[kept] @ np.linalg.lstsq(curvature, slope[kept], rcond=1e-12)[0])
        return float(np.sqrt(found)) if found > 0 else np.nan

    def _end(self, side: float, quantile: float, limit: float) -> float:
        """The value at which the root reaches the quantile on one side, by secants; the limit if there is none."""
        value, error = self.correlation, self.standard_error
        if side * value >= side * limit:
            return limit
        inner, inner_root, outer, outer_root = value, 0.0, np.nan, np.nan
        theta, at = self.theta, value + side * quantile * (error if 0 < error < 1 else 0.3)
        for _ in range(MOST_TRIALS):
            at = side * min(side * at, side * limit)
            root, there = self.root(at, theta)
            if abs(root - quantile) < CLOSE:
                return at
            if root < quantile:
                if at == limit:
                    return limit
                inner, inner_root, theta = at, root, there
            else:
                outer, outer_root = at, root
            if np.isnan(outer):
                at = value + (at - value) * min(1.1 * quantile / max(root, 0.01), 3.0)
            else:
                share = (quantile - inner_root) / (outer_root - inner_root)
                at = inner + min(max(share, 0.1), 0.9) * (outer - inner)
        return at

    def p(self, null: float, df: float) -> float:
        """Two-sided p-value of a true correlation of ``null``."""
        from scipy.special import stdtr

        return float(2 * stdtr(df, -self.root(null)[0]))


def fit_joint(
    value: Floats, families: tuple[Family, Family], measured: frozenset[str], block: Ints, most_cells: int = MOST_CELLS
) -> JointFit | None:  # fmt: skip
    """Fit both families jointly; None if they share no object, or blocks are too large.

    Parameters
    ----------
    measured : set of facets
        What indexes the objects.
    block : (labels,) int
        The object of each label, coarse enough to contain all nested facets.
    most_cells : int
        Numbers in the matrices of all blocks above which nothing is fitted.
    """
    parameters = parameters_of(*families, measured)
    between = next((n for n, p in enumerate(parameters) if len(p.families) == 2 and p.index == measured), None)
    if between is None:
        return None
    own = [n for n, p in enumerate(parameters) if len(p.families) == 1 and p.index == measured]
    likelihood: JointLikelihood | None = strata_of(value, families, parameters)
    if likelihood is None:
        size = np.bincount(block).astype(float)
        if float((size**2).sum()) * len(parameters) > most_cells:
            return None
        likelihood = JointBlocks(value, families, parameters, block)
    each = [np.maximum(f.theta, INSIDE * f.theta.sum()) for f in families]
    covariances = np.zeros(len(parameters) - sum(map(len, each)))
    theta = np.concatenate([*each, covariances])
    totals = [float(f.theta.sum()) for f in families]
    scale = np.array([
        totals[p.families[0]] if len(p.families) == 1 else float(np.sqrt(totals[0] * totals[1])) for p in parameters
    ])  # fmt: skip
    fitted = JointFit(likelihood, theta, np.inf, (own[0], own[1], between), sum(map(len, each)), scale)
    best: tuple[Floats, float] | None = None
    for guess in (0.5, -0.5):
        start = theta.copy()
        start[between] = guess * np.sqrt(theta[own[0]] * theta[own[1]])
        found = minimize_deviance(fitted, start, None)
        best = found if best is None or found[1] < best[1] else best
        if best[0][between] > 0:
            break
    assert best is not None
    return JointFit(likelihood, *best, fitted.objects, fitted.n_variances, scale)


def minimize_deviance(fit: JointFit, theta: Floats, held: float | None = None) -> tuple[Floats, float]:
    """Return the parameters of the least deviance from a start, and it; with ``held``, of those with this correlation.

    Scoring steps in roots of variances; with ``held``, the objects' covariance follows from their variances.
    """
    n = fit.n_variances
    first, second, between = fit.objects
    x = np.concatenate([np.sqrt(np.maximum(theta[:n], 0.0)), theta[n:]])
    free = np.ones(len(x), dtype=bool)
    free[between] = held is None

    def parameters(x: Floats) -> Floats:
        found = np.concatenate([x[:n] ** 2, x[n:]])
        if held is not None:
            found[between] = held * abs(x[first] * x[second])
        return found

    deviance = fit.likelihood.deviance(parameters(x))
    if not np.isfinite(deviance):
        # An impossible start: set all covariances to 0 except the fixed one, and reduce that one.
        x[n:] = 0.0
        for _ in range(MOST_HALVES):
            if np.isfinite(deviance := fit.likelihood.deviance(parameters(x))):
                break
            x[[first, second]] /= 2
        else:
            return theta, np.inf
    damping = 1e-8
    for _ in range(MOST_STEPS):
        gradient, curvature = fit.likelihood.derivatives(parameters(x))
        slope = np.diag(np.concatenate([2 * x[:n], np.ones(len(x) - n)]))
        if held is not None:
            slope[between, first], slope[between, second] = held * x[second], held * x[first]
        g, h = slope.T @ gradient, slope.T @ curvature @ slope
        # A root near 0 bends with the variance's own slope: without it a step leaps over 0, and damping stops the rest.
        h[np.arange(n), np.arange(n)] += 2 * np.maximum(gradient[:n], 0.0)
        g, h = g[free], h[np.ix_(free, free)]
        ridge = np.maximum(np.diag(h), 1e-10 * np.diag(h).max())
        move = np.zeros(len(x))
        for _ in range(40):
            move[free] = step = -np.linalg.solve(h + np.diag((damping + 1e-9) * ridge), g)
            if -float(g @ step + step @ h @ step / 2) < GAIN:
                return parameters(x), deviance
            value = fit.likelihood.deviance(parameters(x + move))
            if value <= deviance:
                break
            damping = max(10 * damping, 1e-3)
        else:
            return parameters(x), deviance
        gain, deviance = deviance - value, value
        x = x + move
        x[:n] = np.abs(x[:n])
        damping = damping / 10
        if gain < GAIN:
            break
    return parameters(x), deviance
