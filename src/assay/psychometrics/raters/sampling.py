"""Draws from the posterior of the hierarchical rater model by NUTS, in numpyro and jax.

Chains run around the best mode in coordinates in which the posterior there is a standard normal, so that few draws are
needed to find the step and the mass matrix. Each has a thread of its own and the same compiled program, so digits do
not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from assay.errors import require
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import Density
from assay.psychometrics.raters.modes import Mode

PURPOSE = "sampling the rater model (quick=True fits it without)"
MOST_RHAT = 1.01
MOST_DEPTH = 8
MOST_DENSE = 4_000_000
"""Entries of a matrix of zeros and ones by which labels are summed; beyond, they are gathered."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws from the posterior.

    Attributes
    ----------
    x : (chains, draws, p) float
    divergences : int
    seconds : float
        That sampling took, compiling excluded.
    """

    x: Floats
    divergences: int
    seconds: float

    @property
    def all(self) -> Floats:
        """Every draw: (chains · draws, p)."""
        return self.x.reshape(-1, self.x.shape[-1])


def sample(density: Density, mode: Mode, chains: int, warmup: int, draws: int, seed: int) -> Chains:
    """Draws around a mode.

    Raises
    ------
    MissingExtra
        Without numpyro and jax.
    """
    jax = require("jax", "raters", PURPOSE)
    require("numpyro", "raters", PURPOSE)
    with jax.enable_x64(True):
        return _sampled(density, mode, chains, warmup, draws, seed)


def _sampled(density: Density, mode: Mode, chains: int, warmup: int, draws: int, seed: int) -> Chains:
    import jax
    from numpyro.infer import NUTS

    root = np.linalg.cholesky(mode.covariance)
    value = jax_value(density)

    def potential(z: Any) -> Any:
        return -value(mode.x + root @ z)

    kernel = NUTS(potential_fn=potential, dense_mass=True, max_tree_depth=MOST_DEPTH, target_accept_prob=0.85)
    keys = jax.random.split(jax.random.PRNGKey(seed), chains)
    starts = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(8,))).normal(size=(chains, len(mode.x)))

    def step(state: Any, _: Any) -> tuple[Any, Any]:
        state = kernel.sample(state, (), {})
        return state, (state.z, state.diverging)

    def run(key: Any, start: Any) -> Any:
        state = kernel.init(key, warmup, start, (), {})
        return jax.lax.scan(step, state, None, length=warmup + draws)[1]

    compiled = jax.jit(run).lower(keys[0], starts[0]).compile()
    began = perf_counter()

    def chain(key: Any, start: Any) -> tuple[Any, ...]:
        with jax.enable_x64(True):
            return tuple(np.asarray(one) for one in compiled(key, start))

    with ThreadPoolExecutor(chains) as pool:
        found = list(pool.map(chain, keys, starts))
    seconds = perf_counter() - began
    z, diverging = (np.stack(part)[:, warmup:] for part in zip(*found, strict=True))
    return Chains(mode.x + z @ root.T, int(diverging.sum()), seconds)


def jax_value(density: Density) -> Callable[[Any], Any]:
    """The log posterior as a function that jax differentiates."""
    import jax.numpy as jnp

    cells = density.table.cells
    width = density.table.n_blocks * len(density.table.raters) * density.table.n_categories
    by_label = _padded([cells.column[a:b] for a, b in zip(cells.start[:-1], cells.start[1:], strict=True)], width)
    by_cell = [_padded(g.patterns, len(g.cells)) for g in density.grids]

    def summing(place: Ints, blank: int) -> Callable[[Any], Any]:
        if len(place) * blank <= MOST_DENSE:
            # A product with zeros and ones is faster than gathering, whose gradient scatters.
            often = np.zeros((len(place), blank + 1))
            np.add.at(often, (np.arange(len(place))[:, None], place), 1.0)
            return lambda rows: often[:, :blank] @ rows
        return lambda rows: jnp.concatenate([rows, jnp.zeros((1, rows.shape[1]))])[place].sum(axis=1)

    sums = (
        summing(by_label, width),
        tuple(summing(p, len(g.cells)) for p, g in zip(by_cell, density.grids, strict=True)),
    )

    def value(x: Any) -> Any:
        return density.stages(x, jnp, *sums).value + density.log_prior(x)

    return value


def _padded(rows: Sequence[Ints], blank: int) -> Ints:
    """Rows of positions of the same length, filled with a position that holds nothing."""
    found = np.full((len(rows), max(map(len, rows))), blank)
    for i, row in enumerate(rows):
        found[i, : len(row)] = row
    return found


def rhat_and_samples(values: Floats) -> tuple[Floats, Floats]:
    """Rank-normalised R-hat and effective draws (the smaller of bulk and tail): two (q,) of (chains, draws, q)."""
    stats = require("arviz_stats.base", "raters", PURPOSE).array_stats
    columns = np.moveaxis(values, -1, 0)
    rhat = np.array([float(stats.rhat(c)) if np.ptp(c) > 0 else np.nan for c in columns])
    bulk = [float(stats.ess(c, method="bulk")) if np.ptp(c) > 0 else np.nan for c in columns]
    tail = [float(stats.ess(c, method="tail", prob=0.95)) if np.ptp(c) > 0 else np.nan for c in columns]
    return rhat, np.minimum(bulk, tail)
