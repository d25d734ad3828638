"""Differences of systems from human labels, adjusted for the severity of the annotators.

If severe annotators label more outputs of one system, differences of plain means are biased. Here a label is the sum of
effects of the system, the annotator and the source (least squares).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from assay.errors import DesignError, listing
from assay.estimation.intervals import TOO_FEW, Estimate, estimate_by_ends, missing, without_interval
from assay.estimation.statistic import Floats, Ints

LEAST_SOURCES = 5
"""Least sources for an interval."""

SINGULAR = 1e-9
"""Smallest eigenvalue, relative to the largest, of a solvable system of normal equations."""


@dataclass(frozen=True, eq=False)
class RatedOutputs:
    """Labels of outputs of systems.

    Attributes
    ----------
    label : (labels,) float
    output, source, system, rater : (labels,) int
        Codes from 0; an output answers a source.
    raters : tuple of str
    systems : tuple of str
    """

    label: Floats
    output: Ints
    source: Ints
    system: Ints
    rater: Ints
    raters: tuple[str, ...]
    systems: tuple[str, ...]

    def require_connected(self) -> None:
        """Refuse annotators who share no output, directly or through others: their severity cannot be compared.

        Raises
        ------
        DesignError
            It names the groups of annotators.
        """
        group = np.arange(len(self.raters))
        order = np.argsort(self.output, kind="stable")
        same = self.output[order][1:] == self.output[order][:-1]
        for one, other in zip(self.rater[order][:-1][same].tolist(), self.rater[order][1:][same].tolist(), strict=True):
            group[group == group[other]] = group[one]
        parts = [[self.raters[i] for i in np.flatnonzero(group == g)] for g in np.unique(group)]
        if len(parts) > 1:
            named = "; ".join(listing(part, 4) for part in parts[:4])
            raise DesignError(
                f"{len(parts)} groups of annotators share no output ({named}), so that their severity cannot be "
                "compared; have some outputs labelled by annotators of both, or use severity='ignored'",
                option="severity",
            )

    @property
    def n_sources(self) -> int:
        """The number of sources."""
        return int(self.source.max()) + 1

    @property
    def size(self) -> int:
        """The number of effects, of all systems and annotators but the first, and the labels."""
        return len(self.systems) + len(self.raters) - 1

    def equations(self, keep: Floats | None = None) -> Floats:
        """Return each source's products of its columns within the source: (sources, size, size).

        The columns are systems and annotators without the first, and the label. Subtracting the means of the source
        fits its effect. ``keep`` has the labels that count.
        """
        k, n = len(self.systems), len(self.label)
        x = np.zeros((n, self.size))
        rows = np.arange(n)
        later, others = self.system > 0, self.rater > 0
        x[rows[later], self.system[later] - 1] = 1.0
        x[rows[others], k - 1 + self.rater[others] - 1] = 1.0
        x[:, -1] = self.label - self.label.mean()
        w = np.ones(n) if keep is None else keep
        number = np.bincount(self.source, w, self.n_sources)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.stack([np.bincount(self.source, w * c, self.n_sources) / number for c in x.T], axis=1)
        x = (x - np.nan_to_num(mean)[self.source]) * w[:, None]
        found = np.zeros((self.n_sources, self.size, self.size))
        np.add.at(found, self.source, x[:, :, None] * x[:, None, :])
        return found

    @cached_property
    def products(self) -> Floats:
        """The equations with all labels."""
        return self.equations()


def effects(products: Floats, columns: Ints) -> Floats:
    """Return the least-squares effects of some columns: (..., columns); NaN if they cannot be separated.

    Parameters
    ----------
    products : (..., size, size) float
        Products of the columns, the label last.
    """
    a, b = products[..., columns[:, None], columns], products[..., columns, -1]
    values = np.linalg.eigvalsh(a)
    fine = values[..., 0] > SINGULAR * np.maximum(values[..., -1], 1e-300)
    safe = np.where(fine[..., None, None], a, np.eye(len(columns)))
    return np.where(fine[..., None], np.linalg.solve(safe, b[..., None])[..., 0], np.nan)


@dataclass(frozen=True, eq=False)
class SeverityFit:
    """The effects of systems with and without the effects of annotators, and their leave-outs.

    Attributes
    ----------
    adjusted, plain : (systems,) float
        Effects of systems relative to the first; ``plain`` ignores annotators.
    severity : (annotators,) float
        Effect of each annotator on the label, relative to their mean.
    without_source : (2, sources, systems) float
        Adjusted and plain effects without each source.
    without_rater : (annotators, systems) float
        Adjusted effects without each annotator; empty for fixed annotators.
    without_both : (annotators, sources, systems) float
    """

    adjusted: Floats
    plain: Floats
    severity: Floats
    without_source: Floats
    without_rater: Floats
    without_both: Floats

    @classmethod
    def of(cls, data: RatedOutputs, *, random: bool) -> SeverityFit:
        """Fit the effects; the leave-outs of annotators only if they are a sample."""
        k, r = len(data.systems), len(data.raters)
        every, own = np.arange(k + r - 2), np.arange(k - 1)
        total = data.products.sum(axis=0)
        whole = effects(total, every)
        if np.isnan(whole).any():
            raise DesignError(
                "systems and annotators cannot be separated: some system is labelled by annotators who label no other",
                option="severity",
            )
        rest = total - data.products
        without = np.stack([_systems(effects(rest, columns), k) for columns in (every, own)])
        left_rater, left_both = np.empty((0, k)), np.empty((0, data.n_sources, k))
        if random and r > 2:
            each, both = [], []
            for j in range(r):
                # Without the first annotator the second is the reference.
                gone = k - 1 + max(j, 1) - 1
                columns = every[every != gone]
                products = data.equations((data.rater != j).astype(float))
                each.append(_systems(effects(products.sum(axis=0), columns), k))
                both.append(_systems(effects(products.sum(axis=0) - products, columns), k))
            left_rater, left_both = np.stack(each), np.stack(both)
        severity = np.concatenate([[0.0], whole[k - 1 :]])
        return cls(
            _systems(whole, k), _systems(effects(total, own), k), severity - severity.mean(), without, left_rater,
            left_both,
        )  # fmt: skip

    def difference(self, one: int, other: int, confidence: float, *, random: bool) -> Estimate:
        """Return the adjusted effect of one system minus that of another."""
        value = float(self.adjusted[one] - self.adjusted[other])
        z = self.without_source[0][:, one] - self.without_source[0][:, other]
        if not random:
            return source_jackknife(value, z, confidence)
        m = len(self.without_rater)
        if m < 3:
            return missing(TOO_FEW)
        z_r = self.without_rater[:, one] - self.without_rater[:, other]
        z_b = self.without_both[..., one] - self.without_both[..., other]
        if not (np.isfinite(z).all() and np.isfinite(z_r).all() and np.isfinite(z_b).all()):
            return without_interval(value, "not estimable without one of the annotators or sources")
        n = len(z)
        v_s = (n - 1) / n * float(((z - z.mean()) ** 2).sum())
        v_r = (m - 1) / m * float(((z_r - z_r.mean()) ** 2).sum())
        centred = z_b - z_b.mean(axis=0) - z_b.mean(axis=1, keepdims=True) + z_b.mean()
        v_b = (n - 1) * (m - 1) / (n * m) * float((centred**2).sum())
        between = max(v_r - v_b, 0.0)

        def ends(level: float) -> tuple[float, float]:
            t, t_raters = (float(stdtrit(df, (1 + level) / 2)) for df in (n - 1, m - 1))
            half = math.sqrt(t**2 * v_s + t_raters**2 * between)
            return value - half, value + half

        return estimate_by_ends(value, math.sqrt(v_s + between), ends, confidence)

    def plain_difference(self, one: int, other: int, confidence: float) -> Estimate:
        """Return the difference without adjustment, for these annotators."""
        z = self.without_source[1][:, one] - self.without_source[1][:, other]
        return source_jackknife(float(self.plain[one] - self.plain[other]), z, confidence)

    def shift(self, one: int, other: int, confidence: float) -> Estimate:
        """Return the adjusted minus the plain difference."""
        z = self.without_source[0] - self.without_source[1]
        value = self.adjusted - self.plain
        return source_jackknife(float(value[one] - value[other]), z[:, one] - z[:, other], confidence)


def _systems(found: Floats, k: int) -> Floats:
    """Effects of all systems, the first 0."""
    return np.concatenate([np.zeros((*found.shape[:-1], 1)), found[..., : k - 1]], axis=-1)


def source_jackknife(value: float, without: Floats, confidence: float) -> Estimate:
    """Return a value with the t interval from its leave-outs of sources."""
    n = len(without)
    if n < LEAST_SOURCES:
        return without_interval(value, f"{n} sources; {LEAST_SOURCES} are required")
    if not np.isfinite(without).all():
        return without_interval(value, "not estimable without one of the sources")
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))

    def ends(level: float) -> tuple[float, float]:
        half = float(stdtrit(n - 1, (1 + level) / 2)) * error
        return value - half, value + half

    return estimate_by_ends(value, error, ends, confidence)


def shares_words(data: RatedOutputs, fit: SeverityFit, systems: Sequence[int]) -> str:
    """Return which annotators gave the labels of two systems: ``a: ann (−0.40) 62%, bob (+0.40) 38%; b: …``."""
    parts = []
    for k in systems:
        counts = np.bincount(data.rater[data.system == k], minlength=len(data.raters))
        order = np.argsort(-counts, kind="stable")[:3]
        each = [
            f"{data.raters[j]} ({fit.severity[j]:+.2f}) {counts[j] / counts.sum():.0%}".replace("-", "−")
            for j in order.tolist() if counts[j]
        ]  # fmt: skip
        parts.append(f"{data.systems[k]}: {', '.join(each)}")
    return "; ".join(parts)
