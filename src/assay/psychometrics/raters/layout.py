"""The parameters of the hierarchical rater model: which there are, where each stands, their priors.

Everything additive is a design matrix: φ and ln ψ of each group, criterion and rater are linear in the parameters
(Mariano and Junker's Y η), so that centring is a matter of columns and holds exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DesignError, listing, unknown
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.table import RaterTable

PRIORS: Mapping[str, tuple[float, float]] = {
    "phi": (0.0, 1.0),
    "eta": (0.0, 0.5),
    "ln psi": (float(np.log(0.5)), 1.0),
    "ln tau": (0.0, 0.5),
    "phi by group": (0.0, 0.5),
    "ln psi by group": (0.0, 0.5),
    "ln alpha": (0.0, 0.5),
    "gamma": (0.0, 2.0),
}
"""Mean and standard deviation of each kind of parameter, in categories of the scale and their logarithms."""

MOST_TRAITS_TOGETHER = 2
"""Traits on which the same criteria load are integrated over a grid of so many dimensions at most."""


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits that criteria share, integrated over one grid.

    Attributes
    ----------
    names : tuple of str
    criteria : (c,) int
    loads : (c, traits) int
        The parameter ln α of each criterion on each trait; −1 where it does not load.
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
    """Where each parameter stands; ``p`` is their number.

    Attributes
    ----------
    phi, psi : (groups · criteria · raters, p) float
        φ is the product with the parameters, so is ln ψ.
    gamma : (groups · criteria, categories − 1) int
        The parameter γ of each step; −1 beyond the criterion's categories.
    traits : tuple of Traits
        Criteria that load on none stand in one without points: their ideal ratings have shares of their own.
    mean, sd : (p,) float
        Normal priors.
    kinds : (p,) tuple of str
        As in `PRIORS`.
    compared : (groups, raters) bool
        Raters who saw both this group and the first, and another rater who did.
    notes : tuple of str
    """

    phi: Floats
    psi: Floats
    gamma: Ints
    traits: tuple[Traits, ...]
    mean: Floats
    sd: Floats
    kinds: tuple[str, ...]
    compared: Floats
    shape: tuple[int, int, int]
    notes: tuple[str, ...] = ()

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

    def of_kind(self, kind: str) -> Ints:
        """Where the parameters of a kind stand."""
        return np.flatnonzero(np.array(self.kinds) == kind)


def contrasts(n: int) -> Floats:
    """Orthonormal columns that sum to 0: (n, n − 1). Independent coefficients make independent values, centred."""
    found = np.zeros((n, n - 1))
    for k in range(1, n):
        found[:k, k - 1] = 1 / np.sqrt(k * (k + 1))
        found[k, k - 1] = -k / np.sqrt(k * (k + 1))
    return found


class _Columns:
    """Parameters as they are added."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def add(self, kind: str, n: int) -> Ints:
        start = len(self.kinds)
        self.kinds += [kind] * n
        return np.arange(start, start + n)


def layout(table: RaterTable, dimensions: Mapping[str, str | Sequence[str]] | None, nodes: int) -> Layout:
    """The parameters for a table.

    Raises
    ------
    DesignError
        For traits of criteria that are not there, or more than two traits on which the same criteria load.
    """
    shape = (len(table.groups), len(table.criteria), len(table.raters))
    n_groups, n_criteria, n_raters = shape
    columns, phi, psi = _Columns(), [], []
    centred = contrasts(n_raters)
    phi.append((columns.add("phi", n_raters - 1), np.broadcast_to(centred, (*shape, n_raters - 1))))
    of_criterion = np.broadcast_to(np.eye(n_criteria)[:, None, :], (*shape, n_criteria))
    phi.append((columns.add("eta", n_criteria), of_criterion))
    psi.append((columns.add("ln psi", n_raters), np.broadcast_to(np.eye(n_raters), (*shape, n_raters))))
    if n_criteria > 1:
        apart = np.broadcast_to(contrasts(n_criteria)[:, None, :], (*shape, n_criteria - 1))
        psi.append((columns.add("ln tau", n_criteria - 1), apart))
    compared = _compared(table)
    for g in range(1, n_groups):
        both = np.flatnonzero(compared[g])
        if not len(both):
            continue
        far, wide = np.zeros((*shape, len(both) - 1)), np.zeros((*shape, len(both)))
        far[g][:, both], wide[g][:, both] = contrasts(len(both)), np.eye(len(both))
        phi.append((columns.add("phi by group", len(both) - 1), far))
        psi.append((columns.add("ln psi by group", len(both)), wide))
    traits, notes = _traits(table, dimensions, nodes, columns)
    gamma = np.full((n_groups, n_criteria, table.n_categories - 1), -1)
    for g in range(n_groups):
        for j, size in enumerate(table.sizes):
            gamma[g, j, : size - 1] = columns.add("gamma", size - 1)
    p = len(columns.kinds)
    prior = np.array([PRIORS[k] for k in columns.kinds])
    return Layout(
        _matrix(phi, shape, p), _matrix(psi, shape, p), gamma.reshape(-1, gamma.shape[-1]), traits, prior[:, 0],
        prior[:, 1], tuple(columns.kinds), compared, shape, notes,
    )  # fmt: skip


def _matrix(parts: Sequence[tuple[Ints, Floats]], shape: tuple[int, int, int], p: int) -> Floats:
    found = np.zeros((*shape, p))
    for where, columns in parts:
        found[..., where] = columns
    return found.reshape(-1, p)


def _compared(table: RaterTable) -> Floats:
    """Raters whose difference between each group and the first these labels show."""
    found = (table.seen > 0) & (table.seen[:1] > 0)
    return np.asarray(np.where(found.sum(axis=1, keepdims=True) > 1, found, False))


# -- traits -------------------------------------------------------------------------------------------


def _traits(
    table: RaterTable, dimensions: Mapping[str, str | Sequence[str]] | None, nodes: int, columns: _Columns
) -> tuple[tuple[Traits, ...], tuple[str, ...]]:
    """Criteria by the traits on which they load, those that share one together."""
    loading = _loading(table, dimensions)
    found, free, notes = [], [], []
    for names, criteria in _together(loading):
        if len(names) > MOST_TRAITS_TOGETHER:
            raise DesignError(
                f"criteria tie {len(names)} traits together ({listing(names)}); a grid is made of at most "
                f"{MOST_TRAITS_TOGETHER}. Let each criterion load on one trait, or on two that no other two share"
            )
        if len(criteria) == 1 and len(table.subjects) == len(table.items):
            free += criteria
            continue
        loads = np.full((len(criteria), len(names)), -1)
        for i, j in enumerate(criteria):
            mine = [names.index(n) for n in loading[j]]
            loads[i, mine] = columns.add("ln alpha", len(mine))
        found.append(Traits(tuple(names), np.array(criteria), loads, *_grid(nodes, len(names))))
    if free:
        named = [str(table.criteria[j]) for j in free if table.criteria[j] is not None]
        of = f" of {listing(named)}" if named else ""
        notes.append(f"ideal ratings{of} share no trait with others, so their shares are estimated as they are")
        empty = np.empty((len(free), 0), dtype=np.int64)
        found.append(Traits((), np.array(free), empty, np.zeros((1, 0)), np.zeros(1)))
    return tuple(found), tuple(notes)


def _loading(
    table: RaterTable, dimensions: Mapping[str, str | Sequence[str]] | None
) -> list[tuple[str, ...]]:  # fmt: skip
    if not dimensions:
        return [("trait",)] * len(table.criteria)
    if table.criteria == (None,):
        raise DesignError("the labels have one criterion without a name, so it loads on one trait; name none")
    known = [str(c) for c in table.criteria]
    for name in dimensions:
        if name not in known:
            raise DesignError(unknown("criterion", name, known))
    lacking = [c for c in known if c not in dimensions]
    if lacking:
        raise DesignError(f"where traits are named, every criterion needs one; {listing(lacking)} has none")
    found = []
    for name in known:
        given = dimensions[name]
        found.append(tuple(dict.fromkeys((given,) if isinstance(given, str) else map(str, given))))
    return found


def _together(loading: Sequence[tuple[str, ...]]) -> list[tuple[list[str], list[int]]]:
    """Traits that some criterion ties together, with their criteria."""
    parties: list[tuple[list[str], list[int]]] = []
    for j, names in enumerate(loading):
        mine = [p for p in parties if set(p[0]) & set(names)]
        merged = (list(names), [j])
        for one in mine:
            parties.remove(one)
            merged = (list(dict.fromkeys([*one[0], *merged[0]])), sorted([*one[1], *merged[1]]))
        parties.append(merged)
    return sorted(parties, key=lambda p: p[1][0])


def _grid(nodes: int, n: int) -> tuple[Floats, Floats]:
    """Gauss–Hermite points and logarithms of weights of n independent standard normals."""
    x, weights = points(nodes if n == 1 else max(7, (2 * nodes + 2) // 3))
    together = np.stack([g.ravel() for g in np.meshgrid(*[x] * n, indexing="ij")], axis=1)
    total = np.sum([g.ravel() for g in np.meshgrid(*[weights] * n, indexing="ij")], axis=0)
    return together, total


def points(nodes: int) -> tuple[Floats, Floats]:
    """Gauss–Hermite points of a standard normal and the logarithms of their weights."""
    from numpy.polynomial.hermite_e import hermegauss

    x, w = hermegauss(nodes)
    return x, np.log(w / w.sum())
