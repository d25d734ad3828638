"""The fitted model, by either road: the best mode, or draws around it; the same draws serve both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.estimation.intervals import Estimates
from assay.estimation.options import Method
from assay.estimation.resampling import of_replicates
from assay.estimation.statistic import Bools, Floats, Ints
from assay.psychometrics.raters.density import Density
from assay.psychometrics.raters.layout import layout
from assay.psychometrics.raters.modes import Mode, Progress, find_modes
from assay.psychometrics.raters.sampling import Chains, sample
from assay.psychometrics.raters.settings import RaterSettings
from assay.psychometrics.raters.table import RaterTable

Quantity = Callable[[Floats], Floats]
"""A function of parameters: (..., p) to (..., q)."""


@dataclass(frozen=True)
class Drawn:
    """How intervals are made: from draws."""

    n_resamples: int
    confidence: float
    seed: int
    method: Method = "percentile"


@dataclass(frozen=True, eq=False)
class Fit:
    """The model fitted to a table.

    Attributes
    ----------
    density : Density
    modes : tuple of Mode
        The one with most mass first.
    chains : Chains or None
        None by the quick road.
    draws : (s, p) float
        Of the posterior; by the quick road, of the normal that has the observed information.
    """

    density: Density
    modes: tuple[Mode, ...]
    chains: Chains | None
    draws: Floats
    settings: RaterSettings

    @property
    def table(self) -> RaterTable:
        """What it is fitted to."""
        return self.density.table

    @property
    def center(self) -> Floats:
        """The parameters that stand for all: the mode by the quick road, else the mean of the draws."""
        return self.modes[0].x if self.chains is None else self.draws.mean(axis=0)

    def some(self, n: int) -> Floats:
        """So many of the draws, evenly spread: (n, p)."""
        at: Ints = np.unique(np.linspace(0, len(self.draws) - 1, n).round().astype(int))
        return self.draws[at]

    # -- what is identified ---------------------------------------------------------------------------

    @cached_property
    def severity(self) -> Estimates:
        """φ of each rater, centred over raters, groups alike: (raters,) values."""
        return self.estimates(lambda x: self.density.layout.severity(x).mean(axis=-2))

    @cached_property
    def variability(self) -> Estimates:
        """ψ of each rater at a criterion in the middle, the geometric mean of groups: (raters,) values."""
        return self.estimates(lambda x: np.exp(self.density.layout.variability(x).mean(axis=-2)))

    def severity_gaps(self, anchors: Bools) -> Estimates:
        """φ with each further group less φ with the first, less the mean of the anchors: (groups − 1) · raters.

        Parameters
        ----------
        anchors : (groups − 1, raters) bool
        """
        weights = anchors / np.maximum(anchors.sum(axis=1, keepdims=True), 1)

        def gaps(x: Floats) -> Floats:
            phi = (x @ self.density.layout.phi.T).reshape(*x.shape[:-1], *self.density.layout.shape).mean(axis=-2)
            gap = phi[..., 1:, :] - phi[..., :1, :]
            gap = gap - (gap * weights).sum(axis=-1, keepdims=True)
            return np.where(self.density.layout.compared[1:], gap, np.nan).reshape(*x.shape[:-1], -1)

        return self.estimates(gaps)

    @cached_property
    def variability_ratios(self) -> Estimates:
        """ψ with each further group over ψ with the first: (groups − 1) · raters values."""

        def ratios(x: Floats) -> Floats:
            psi = self.density.layout.variability(x)
            found = np.exp(psi[..., 1:, :] - psi[..., :1, :])
            return np.where(self.density.layout.compared[1:], found, np.nan).reshape(*x.shape[:-1], -1)

        return self.estimates(ratios)

    def estimates(self, of: Quantity) -> Estimates:
        """Functions of the parameters with the draws as their replicates."""
        s = self.settings
        draws = of(self.draws)
        value = of(self.modes[0].x) if self.chains is None else draws.mean(axis=0)
        n = len(self.table.subjects)
        found = of_replicates(value, draws, Drawn(len(draws), s.confidence, s.seed), n_items=n, n_units=n)
        return replace(found, drawn="posterior" if self.chains else "normal")


def fit(table: RaterTable, settings: RaterSettings, progress: Progress | None = None) -> Fit:
    """The model fitted by the road that the settings name."""
    density = Density(table, layout(table, settings.dimensions, settings.nodes))
    modes = find_modes(density, settings.starts, settings.seed, progress)
    n = settings.chains * settings.draws
    if settings.quick:
        rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(9,)))
        root = np.linalg.cholesky(modes[0].covariance)
        return Fit(density, modes, None, modes[0].x + rng.normal(size=(n, len(root))) @ root.T, settings)
    if progress is not None:
        progress("sampling", settings.starts, settings.starts + 1)
    chains = sample(density, modes[0], settings.chains, settings.warmup, settings.draws, settings.seed)
    return Fit(density, modes, chains, chains.all, settings)
