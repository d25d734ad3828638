"""How likely are these labels? The log posterior of the hierarchical rater model, and its gradient.

Ideal ratings are summed out, traits integrated.

    p(x | θ) = Σ_ξ p(ξ | θ) Π_r p(x_r | ξ, r)                       of a cell, the sum over categories exact
    p(x) = Σ_q w_q Π_cells p(x | θ_q)                               of what shares a trait, by Gauss–Hermite points
    p(x_r = k | ξ, r) ∝ exp(−(k − (ξ + φ))² / 2ψ²)                  the signal-detection stage, eq. 6
    p(ξ | θ) ∝ exp(ξ α·θ − Σ_{h ≤ ξ} γ_h)                           the generalized partial credit model, eq. 5

The formulas are written once for both numpy and jax; operations that gather by position are passed for each. The
gradient is by hand (`Density.value_and_gradient`), so that ``quick`` needs only the base install.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from assay.errors import DesignError, listing, unknown
from assay.estimation.statistic import Bools, Floats, Ints
from assay.psychometrics.raters.table import RaterSettings, RaterTable

# -- The parameters of the hierarchical rater model ------------------------------------------------
# Everything additive is a design matrix: φ and ln ψ of each group, criterion and rater are linear in the parameters
# (Mariano and Junker's Y η), so that centring is a matter of columns and holds exactly.

PRIORS: Mapping[str, tuple[float, float]] = {
    "phi": (0.0, 1.0),
    "eta": (0.0, 0.5),
    "ln psi": (float(np.log(0.5)), 1.0),
    "ln psi in a crowd": (0.0, 0.4),
    "ln tau": (0.0, 0.5),
    "phi by group": (0.0, 0.5),
    "ln psi by group": (0.0, 0.5),
    "ln alpha": (0.0, 0.5),
    "gamma": (0.0, 2.0),
}
"""Mean and standard deviation of each kind of parameter, in categories of the scale and their logarithms.

Weak ones: raters differ by a category or two, scatter by .5 (.07 to 3.5), and groups change that by half as much.
Raters of a crowd scatter by a factor of 1.5 around their mean, which is estimated: a few labels say little about ψ."""

MOST_TRAITS_TOGETHER = 2
"""Dimensions of a grid, at most: two traits have 14 · 14 points at the default of nodes, three would have 2,744."""


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits that criteria share, integrated over one grid.

    Attributes
    ----------
    names : tuple of str
    criteria : (c,) int
    loads : (c, traits) int
        The parameter ln α of each criterion on each trait; −1 if it does not load.
    points : (q, traits) float
    log_weights : (q,) float
    """

    names: tuple[str, ...]
    criteria: Ints
    loads: Ints
    points: Floats
    log_weights: Floats


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the parameters; ``p`` is their number.

    Attributes
    ----------
    phi, psi : (groups · criteria · raters, p) float
        φ is the product with the parameters, so is ln ψ.
    gamma : (groups · criteria, categories − 1) int
        The parameter γ of each step; −1 beyond the criterion's categories.
    traits : tuple of Traits
        Criteria without a trait are in one without points: their ideal ratings have separate shares.
    mean, sd : (p,) float
        Normal priors.
    kinds : (p,) tuple of str
        As in `PRIORS`.
    compared : (groups, raters) bool
        Raters who saw both this group and the first, and another rater who did.
    notes : tuple of str
    unit : float
        A category; of numeric labels, their standard deviation within criteria.
    """

    phi: Floats
    psi: Floats
    gamma: Ints
    traits: tuple[Traits, ...]
    mean: Floats
    sd: Floats
    kinds: tuple[str, ...]
    compared: Bools
    shape: tuple[int, int, int]
    notes: tuple[str, ...] = ()
    unit: float = 1.0

    @property
    def p(self) -> int:
        """How many parameters there are."""
        return len(self.mean)

    def severity(self, x: Floats) -> Floats:
        """φ of each group and rater, centred over raters: (..., groups, raters) of (..., p)."""
        found = (x @ self.phi.T).reshape(*x.shape[:-1], *self.shape).mean(axis=-2)
        return np.asarray(found - found.mean(axis=-1, keepdims=True))

    def variability(self, x: Floats) -> Floats:
        """ln ψ of each group and rater, of a criterion in the middle: (..., groups, raters) of (..., p)."""
        return np.asarray((x @ self.psi.T).reshape(*x.shape[:-1], *self.shape).mean(axis=-2))

    def indices(self, kind: str) -> Ints:
        """Positions of the parameters of a kind."""
        return np.flatnonzero(np.array(self.kinds) == kind)


def contrasts(n: int) -> Floats:
    """Orthonormal columns that sum to 0: (n, n − 1). Independent coefficients make independent values, centred."""
    found = np.zeros((n, n - 1))
    for k in range(1, n):
        found[:k, k - 1] = 1 / np.sqrt(k * (k + 1))
        found[k, k - 1] = -k / np.sqrt(k * (k + 1))
    return found


LEAST_COMPARED = 10
"""Smallest number of subjects per compared group: a rater's error on one subject is a third as large in the mean of
ten."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Design matrices of φ and ln ψ that are being built, a kind of parameter at a time.

    Attributes
    ----------
    shape : (groups, criteria, raters)
    kinds : list of str
        As in `PRIORS`, one a parameter.
    parts : dict
        Positions and columns of the parameters of ``phi`` and of ``psi``.
    """

    shape: tuple[int, int, int]
    kinds: list[str] = field(default_factory=list)
    parts: dict[str, list[tuple[Ints, Floats]]] = field(default_factory=lambda: {"phi": [], "psi": []})

    def add(self, kind: str, n: int) -> Ints:
        """Positions of n further parameters of a kind."""
        self.kinds.extend([kind] * n)
        return np.arange(len(self.kinds) - n, len(self.kinds))

    def add_columns(self, of: str, kind: str, columns: Floats) -> None:
        """Parameters of a kind on which φ or ln ψ depends: (..., parameters), broadcast to ``shape``."""
        wide = np.broadcast_to(columns, (*self.shape, columns.shape[-1]))
        self.parts[of].append((self.add(kind, columns.shape[-1]), wide))

    def add_variability(self, *, crowd: bool) -> None:
        """ψ of each rater; in a crowd, its mean over raters and the raters' deviations."""
        n = self.shape[2]
        self.add_columns("psi", "ln psi", np.ones((n, 1)) if crowd else np.eye(n))
        if crowd:
            self.add_columns("psi", "ln psi in a crowd", contrasts(n))

    def add_groups(self, compared: Bools) -> None:
        """Differences of each further group from the first, of the raters compared: (groups, raters)."""
        for g in range(1, self.shape[0]):
            both = np.flatnonzero(compared[g])
            if len(both):
                far, wide = np.zeros((*self.shape, len(both) - 1)), np.zeros((*self.shape, len(both)))
                far[g][:, both], wide[g][:, both] = contrasts(len(both)), np.eye(len(both))
                self.add_columns("phi", "phi by group", far)
                self.add_columns("psi", "ln psi by group", wide)

    def matrices(self) -> tuple[Floats, Floats]:
        """The matrices of φ and of ln ψ: two of (groups · criteria · raters, p)."""
        found = {of: np.zeros((*self.shape, len(self.kinds))) for of in self.parts}
        for of, columns in self.parts.items():
            for where, values in columns:
                found[of][..., where] = values
        phi, psi = (one.reshape(-1, len(self.kinds)) for one in found.values())
        return phi, psi


def compared_raters(table: RaterTable) -> Bools:
    """Raters whose difference between each group and the first these labels show: (groups, raters)."""
    compared = (table.counts > 0) & (table.counts[:1] > 0)
    large = table.group_sizes >= LEAST_COMPARED
    compared &= large[:, None] & large[0]
    return np.asarray(compared & (compared.sum(axis=1, keepdims=True) > 1))


def layout(table: RaterTable, settings: RaterSettings) -> Layout:
    """The parameters for a table.

    Raises
    ------
    DesignError
        For traits of criteria that are not there, or more than two traits on which the same criteria load.
    """
    shape = (len(table.groups), len(table.criteria), len(table.raters))
    n_groups, n_criteria, _ = shape
    columns = Columns(shape)
    columns.add_columns("phi", "phi", contrasts(shape[2]))
    columns.add_columns("phi", "eta", np.eye(n_criteria)[:, None, :])
    columns.add_variability(crowd=table.crowd)
    if n_criteria > 1:
        columns.add_columns("psi", "ln tau", contrasts(n_criteria)[:, None, :])
    compared = compared_raters(table)
    columns.add_groups(compared)
    traits, notes = _traits(table, settings, columns.add)
    gamma = np.full((n_groups, n_criteria, table.n_categories - 1), -1)
    for g in range(n_groups):
        for j, size in enumerate(table.sizes):
            gamma[g, j, : size - 1] = columns.add("gamma", size - 1)
    phi, psi = columns.matrices()
    prior = np.array([PRIORS[k] for k in columns.kinds])
    return Layout(
        phi, psi, gamma.reshape(-1, gamma.shape[-1]), traits, prior[:, 0], prior[:, 1], tuple(columns.kinds), compared,
        shape, notes,
    )  # fmt: skip


def _traits(
    table: RaterTable, settings: RaterSettings, add: Callable[[str, int], Ints]
) -> tuple[tuple[Traits, ...], tuple[str, ...]]:
    """Criteria by the traits on which they load, those that share one together."""
    loading = criterion_traits(table, settings.traits)
    found, free, notes = [], [], []
    for names, criteria in linked_traits(loading):
        if len(names) > MOST_TRAITS_TOGETHER:
            raise DesignError(
                f"criteria connect {len(names)} traits ({listing(names)}); at most {MOST_TRAITS_TOGETHER} can be "
                "connected. "
                "Let each criterion load on one trait, or on two that no other two share"
            )
        if len(criteria) == 1 and len(table.subjects) == len(table.items):
            free += criteria
            continue
        loads = np.full((len(criteria), len(names)), -1)
        for i, j in enumerate(criteria):
            loads[i, [names.index(n) for n in loading[j]]] = add("ln alpha", len(loading[j]))
        found.append(Traits(tuple(names), np.array(criteria), loads, *_grid(settings.nodes, len(names))))
    if free:
        named = [str(table.criteria[j]) for j in free if table.criteria[j] is not None]
        of = f" of {listing(named)}" if named else ""
        notes.append(f"ideal ratings{of} have no shared trait; their shares are estimated directly")
        empty = np.empty((len(free), 0), dtype=np.int64)
        found.append(Traits((), np.array(free), empty, np.zeros((1, 0)), np.zeros(1)))
    return tuple(found), tuple(notes)


def criterion_traits(table: RaterTable, traits: Mapping[str, str | Sequence[str]] | None) -> list[tuple[str, ...]]:
    """The traits of each criterion."""
    if not traits:
        return [("trait",)] * len(table.criteria)
    if table.criteria == (None,):
        raise DesignError("the labels have one criterion without a name, so it loads on one trait; name none")
    known = [str(c) for c in table.criteria]
    for name in traits:
        if name not in known:
            raise DesignError(unknown("criterion", name, known))
    if lacking := [c for c in known if c not in traits]:
        raise DesignError(f"where traits are named, every criterion needs one; {listing(lacking)} has none")
    each = ((one,) if isinstance(one := traits[name], str) else one for name in known)
    return [tuple(dict.fromkeys(map(str, names))) for names in each]


def linked_traits(loading: Sequence[tuple[str, ...]]) -> list[tuple[list[str], list[int]]]:
    """Traits that some criterion ties together, with their criteria."""
    linked: list[tuple[list[str], list[int]]] = []
    for j, names in enumerate(loading):
        merged = (list(names), [j])
        for one in [p for p in linked if set(p[0]) & set(names)]:
            linked.remove(one)
            merged = (list(dict.fromkeys([*one[0], *merged[0]])), sorted([*one[1], *merged[1]]))
        linked.append(merged)
    return sorted(linked, key=lambda p: p[1][0])


def _grid(nodes: int, n: int) -> tuple[Floats, Floats]:
    """Gauss–Hermite points and logarithms of weights of n independent standard normals."""
    x, weights = quadrature(nodes if n == 1 else max(7, (2 * nodes + 2) // 3))
    together = np.stack([g.ravel() for g in np.meshgrid(*[x] * n, indexing="ij")], axis=1)
    total = np.sum([g.ravel() for g in np.meshgrid(*[weights] * n, indexing="ij")], axis=0)
    return together, total


def quadrature(nodes: int) -> tuple[Floats, Floats]:
    """Gauss–Hermite points of a standard normal and the logarithms of their weights."""
    from numpy.polynomial.hermite_e import hermegauss

    x, w = hermegauss(nodes)
    return x, np.log(w / w.sum())


# -- The log posterior of the hierarchical rater model ---------------------------------------------

IMPOSSIBLE = -1e30
"""The logarithm of the probability of a category that a criterion does not have."""

FARTHEST = 4.0
"""ln ψ and ln α beyond this, either way, make no difference: a search may try them, and no label tells them apart."""

TINY = 1e-290
"""Added to probabilities whose logarithm is taken; smaller ones are all as good as impossible."""


@dataclass(frozen=True, eq=False)
class Stages:
    """Intermediate quantities of the likelihood; arrays of numpy or jax.

    Attributes
    ----------
    distance, spread : (blocks · raters, categories, categories), (blocks · raters,)
        k − ξ − φ by label k and ideal rating ξ, and 1 / ψ².
    detection : (blocks · raters, categories, categories)
        log p(k | ξ).
    likelihood : (cells, categories)
        p(labels | ξ), the largest of a cell 1.
    ideal : tuple of (blocks, q, categories)
        p(ξ | θ_q), one a grid.
    mixed : tuple of (cells, q)
        p(labels | θ_q), one a grid.
    unit : tuple of (units, q)
        log w_q p(labels | θ_q) of what shares a trait, one a grid.
    value : float
        The log likelihood.
    """

    distance: Any
    spread: Any
    detection: Any
    likelihood: Any
    ideal: tuple[Any, ...]
    mixed: tuple[Any, ...]
    unit: tuple[Any, ...]
    value: Any


@dataclass(frozen=True, eq=False)
class Grid:
    """One grid of traits, and the distinct units that are integrated over it, by their cells."""

    traits: Traits
    cells: Ints
    blocks: Ints
    block_of_cell: Ints
    kind: Ints
    patterns: list[Ints]
    count: Floats

    @property
    def start(self) -> Ints:
        """The first cell of each unit."""
        return np.concatenate([[0], np.cumsum([len(p) for p in self.patterns])])


Sums = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Density:
    """The log posterior of a table's parameters."""

    table: RaterTable
    layout: Layout

    @cached_property
    def valid(self) -> Floats:
        """Which categories each block has: (blocks, categories)."""
        sizes = np.tile(self.table.sizes, len(self.table.groups))
        return np.asarray(np.arange(self.table.n_categories) < sizes[:, None])

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """Each grid with its cells."""
        cells, found = self.table.cells, []
        for traits in self.layout.traits:
            mine = np.flatnonzero(np.isin(cells.block % len(self.table.criteria), traits.criteria))
            kind, patterns, count = cells.units(traits.criteria)
            if not traits.names:
                # Without a trait every cell is on its own.
                kind, patterns, count = np.arange(len(cells)), [np.array([u]) for u in mine], cells.count[mine]
            place = np.full(len(cells), -1)
            place[mine] = np.arange(len(mine))
            blocks = np.unique(cells.block[mine])
            found.append(
                Grid(traits, mine, blocks, np.searchsorted(blocks, cells.block[mine]), kind,
                     [place[p] for p in patterns], count.astype(float))
            )  # fmt: skip
        return tuple(found)

    # -- forward, numpy or jax --------------------------------------------------------------------

    def stages(self, x: Any, xp: Any, by_cell: Sums, by_unit: tuple[Sums, ...]) -> Stages:
        """The likelihood and all on the way to it.

        Parameters
        ----------
        x : (p,) array of ``xp``
        by_cell : function
            Rows by `RaterTable.column`, summed over the labels of each cell.
        by_unit : tuple of function
            Rows by cell of a grid, summed over the cells of each unit.
        """
        table = self.table
        distance, spread, detection = self.detection(x, xp)
        summed = by_cell(detection.reshape(-1, table.n_categories))
        there = self.valid[table.cells.block]
        summed = xp.where(there, summed, IMPOSSIBLE)
        top = summed.max(axis=1)
        likelihood = xp.exp(summed - top[:, None])
        value = (top * table.cells.count).sum()
        ideal, mixed, unit = [], [], []
        for grid, sums in zip(self.grids, by_unit, strict=True):
            ideal.append(self.ideal(x, xp, grid))
            mixed.append(self._mixtures(likelihood, ideal[-1], grid, xp) + TINY)
            unit.append(sums(xp.log(mixed[-1])) + xp.asarray(grid.traits.log_weights))
            value = value + (_log_sum(unit[-1], xp, 1)[:, 0] * grid.count).sum()
        return Stages(distance, spread, detection, likelihood, tuple(ideal), tuple(mixed), tuple(unit), value)

    def detection(self, x: Any, xp: Any) -> tuple[Any, Any, Any]:
        """For each block's raters and each ideal rating: the distance of labels, 1 / ψ², and ln p(label | ideal).

        The first and last are (blocks × raters, labels, ideal ratings), the second (blocks × raters,).
        """
        table, k = self.table, np.arange(self.table.n_categories)
        phi, log_psi = xp.asarray(self.layout.phi) @ x, self.log_psi(x, xp)
        distance = (k[:, None] - k[None, :])[None] - phi[:, None, None]
        spread = xp.exp(-2 * log_psi)
        there = np.repeat(self.valid, len(table.raters), axis=0)[:, :, None]
        raw = xp.where(there, -0.5 * distance**2 * spread[:, None, None], IMPOSSIBLE)
        return distance, spread, raw - _log_sum(raw, xp, 1)

    def ideal(self, x: Any, xp: Any, grid: Grid) -> Any:
        """p(ξ | θ_q) of each block on a grid: (blocks, q, categories)."""
        gamma = self.layout.gamma[grid.blocks]
        steps = xp.where(gamma >= 0, x[gamma], 0.0)
        height = xp.concatenate([xp.zeros((len(gamma), 1)), xp.cumsum(steps, axis=1)], axis=1)
        logits = -height[:, None, :]
        if grid.traits.names:
            tilt = self.slopes(x, xp, grid) @ xp.asarray(grid.traits.points.T)
            logits = logits + tilt[:, :, None] * np.arange(self.table.n_categories)
        logits = xp.where(self.valid[grid.blocks][:, None, :], logits, IMPOSSIBLE)
        return xp.exp(logits - _log_sum(logits, xp, 2))

    def slopes(self, x: Any, xp: Any, grid: Grid) -> Any:
        """α of each block on each trait: (blocks, traits)."""
        loads = self.loads(grid)
        return xp.where(loads >= 0, xp.exp(xp.clip(x[loads], -FARTHEST, FARTHEST)), 0.0)

    def loads(self, grid: Grid) -> Ints:
        """The parameter ln α of each block on each trait: (blocks, traits), −1 for none."""
        place = {int(j): i for i, j in enumerate(grid.traits.criteria)}
        n = len(self.table.criteria)
        return np.asarray(grid.traits.loads[[place[int(b) % n] for b in grid.blocks]])

    @staticmethod
    def _mixtures(likelihood: Any, ideal: Any, grid: Grid, xp: Any) -> Any:
        """p(labels | θ_q) of each cell of a grid: (cells, q)."""
        mine = likelihood[grid.cells]
        if xp is not np:
            return xp.einsum("uk,uqk->uq", mine, ideal[grid.block_of_cell])
        found = np.empty((len(mine), ideal.shape[1]))
        for b, rows in _slices(grid):
            found[rows] = mine[rows] @ ideal[b].T
        return found

    def log_psi(self, x: Any, xp: Any) -> Any:
        """ln ψ of each block and rater."""
        return xp.clip(xp.asarray(self.layout.psi) @ x, -FARTHEST, FARTHEST)

    def log_prior(self, x: Any) -> Any:
        """The log prior, up to a constant."""
        return -0.5 * (((x - self.layout.mean) / self.layout.sd) ** 2).sum()

    # -- numpy --------------------------------------------------------------------------------------

    @cached_property
    def _label_sums(self) -> Any:
        """Cells by column: how often each holds it, sparse."""
        from scipy.sparse import csr_matrix

        cells = self.table.cells
        width = self.table.n_blocks * len(self.table.raters) * self.table.n_categories
        return csr_matrix((np.ones(len(cells.column)), cells.column, cells.start), shape=(len(cells), width))

    @cached_property
    def _cell_sums(self) -> tuple[Any, ...]:
        """Units by cell of each grid, sparse."""
        from scipy.sparse import csr_matrix

        return tuple(
            csr_matrix(
                (np.ones(int(g.start[-1])), np.concatenate(g.patterns), g.start), shape=(len(g.patterns), len(g.cells))
            )
            for g in self.grids
        )

    @cached_property
    def _backward_sums(self) -> tuple[Any, tuple[Any, ...]]:
        """The same the other way round."""
        return self._label_sums.T.tocsr(), tuple(one.T.tocsr() for one in self._cell_sums)

    def evaluate(self, x: Floats) -> Stages:
        """All on the way to the likelihood, in numpy."""
        sums = tuple((lambda rows, m=m: m @ rows) for m in self._cell_sums)
        return self.stages(x, np, lambda rows: self._label_sums @ rows, sums)

    def value(self, x: Floats) -> float:
        """The log posterior, up to a constant."""
        return float(self.evaluate(x).value + self.log_prior(x))

    def rater_information(self, x: Floats) -> Floats:
        """Minus the Hessian of the log posterior, of the parameters of φ and ψ: (p, p), 0 for all others.

        By Louis (1982), for each cell minus the mean over ξ of the second derivatives, minus the covariance of the
        first. Exact without traits; with traits, covariances between cells of a subject are ignored.
        """
        s, k = self.evaluate(x), self.table.n_categories
        responsible, _ = self._responsibilities(s)
        to_label, _ = self._backward_sums
        often = np.asarray(to_label @ responsible).reshape(s.detection.shape)
        p, w = np.exp(s.detection), s.spread[:, None, None]

        def mean(values: Floats) -> Floats:
            return np.asarray((p * values).sum(axis=1, keepdims=True))

        d, d2 = s.distance, s.distance**2
        first = np.stack([(d - mean(d)) * w, (d2 - mean(d2)) * w])
        within = [
            mean(d2) - mean(d) ** 2, (mean(d**3) - mean(d2) * mean(d)) + 2 * (d - mean(d)) / w,
            mean(d**4) - mean(d2) ** 2 + 2 * (d2 - mean(d2)) / w,
        ]  # fmt: skip
        phi, both, psi = ((often * one * w**2).sum(axis=(1, 2)) for one in within)
        found = self._missing_information(first.reshape(2, -1, k), responsible)
        n = len(phi)
        at = np.arange(n)
        found[at, at], found[at + n, at + n] = found[at, at] + phi, found[at + n, at + n] + psi
        found[at, at + n], found[at + n, at] = found[at, at + n] + both, found[at + n, at] + both
        design = np.vstack([self.layout.phi, self.layout.psi])
        return np.asarray(design.T @ (found @ design))

    def _missing_information(self, first: Floats, responsible: Floats) -> Floats:
        """Minus the covariance over ξ of the first derivatives by φ and ln ψ of each block and rater, of all cells.

        Parameters
        ----------
        first : (2, columns, categories) float
            By φ and by ln ψ, of each label by ideal rating.
        responsible : (cells, categories) float
            p(ξ | labels), times the number of equal cells.
        """
        from scipy.sparse import csr_matrix, diags, hstack

        columns, k = first.shape[1:]
        rater = np.arange(columns) // k
        count = np.maximum(self.table.cells.count, 1).astype(float)
        found: Any = 0
        mean: Any = 0
        for ideal in range(k):
            place = (np.arange(columns), rater)
            score = hstack([self._label_sums @ csr_matrix((one[:, ideal], place)) for one in first]).tocsr()
            weight = responsible[:, ideal]
            found = found - score.T @ diags(weight) @ score
            mean = mean + diags(weight / count) @ score
        return np.asarray((found + mean.T @ diags(count) @ mean).todense())

    def _responsibilities(self, s: Stages) -> tuple[Floats, list[Floats]]:
        """p(ξ | labels) of each cell times its number, and derivatives of the value by `Stages.ideal` of each grid."""
        responsible, found = np.zeros_like(s.likelihood), []
        _, to_cell = self._backward_sums
        for i, grid in enumerate(self.grids):
            weight = point_probabilities(s.unit[i]) * grid.count[:, None]
            per_mixed = (to_cell[i] @ weight) / s.mixed[i]
            per_ideal = np.empty_like(s.ideal[i])
            mine = s.likelihood[grid.cells]
            for b, rows in _slices(grid):
                per_ideal[b] = per_mixed[rows].T @ mine[rows]
                responsible[grid.cells[rows]] = (per_mixed[rows] @ s.ideal[i][b]) * mine[rows]
            found.append(per_ideal)
        return responsible, found

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        """The log posterior and its gradient: (p,)."""
        s = self.evaluate(x)
        slope = -(x - self.layout.mean) / self.layout.sd**2
        to_label, _ = self._backward_sums
        responsible, of_grids = self._responsibilities(s)
        for grid, ideal, per_ideal in zip(self.grids, s.ideal, of_grids, strict=True):
            self._add_ideal_slopes(slope, x, grid, ideal, per_ideal)
        per_detection = np.asarray(to_label @ responsible).reshape(s.detection.shape)
        p = np.exp(s.detection)
        lean = per_detection - p * per_detection.sum(axis=1, keepdims=True)
        per_phi = (lean * s.distance).sum(axis=(1, 2)) * s.spread
        per_psi = (lean * s.distance**2).sum(axis=(1, 2)) * s.spread
        per_psi[np.abs(self.layout.psi @ x) >= FARTHEST] = 0.0
        slope += per_phi @ self.layout.phi + per_psi @ self.layout.psi
        return float(s.value + self.log_prior(x)), slope

    def _add_ideal_slopes(self, slope: Floats, x: Floats, grid: Grid, ideal: Floats, per_ideal: Floats) -> None:
        """Add what γ and ln α of a grid change."""
        per_logit = ideal * (per_ideal - (ideal * per_ideal).sum(axis=2, keepdims=True))
        gamma = self.layout.gamma[grid.blocks]
        # γ_h lowers every category from h up.
        per_step = -np.cumsum(per_logit.sum(axis=1)[:, ::-1], axis=1)[:, ::-1][:, 1:]
        np.add.at(slope, gamma[gamma >= 0], per_step[gamma >= 0])
        if grid.traits.names:
            loads = self.loads(grid)
            per_tilt = (per_logit * np.arange(ideal.shape[2])).sum(axis=2)
            per_slope = (per_tilt @ grid.traits.points) * self.slopes(x, np, grid)
            per_slope[np.abs(x[loads]) >= FARTHEST] = 0.0
            np.add.at(slope, loads[loads >= 0], per_slope[loads >= 0])


def point_probabilities(unit: Floats) -> Floats:
    """How likely each point is for each unit: (units, q) of `Stages.unit`."""
    top = np.exp(unit - unit.max(axis=1, keepdims=True))
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def _slices(grid: Grid) -> list[tuple[int, slice]]:
    """The cells of each block of a grid, which are contiguous."""
    ends = np.searchsorted(grid.block_of_cell, np.arange(len(grid.blocks) + 1))
    return [(b, slice(int(ends[b]), int(ends[b + 1]))) for b in range(len(grid.blocks))]


def _log_sum(values: Any, xp: Any, axis: int) -> Any:
    top = values.max(axis=axis, keepdims=True)
    return top + xp.log(xp.exp(values - top).sum(axis=axis, keepdims=True))
